"""The beliefs of several adversaries about one group, their verdicts, and what follows; for the command line and for reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact
from tacit.publish.tables.adversary.beliefs import Belief, Extended, Prior, beliefs, shape_of
from tacit.publish.tables.adversary.classes import ClassI, ClassII, ClassIII, ClassIV, Verdict
from tacit.publish.tables.adversary.known_rows import belief_with_known
from tacit.publish.tables.adversary.limits import Implied, implied
from tacit.publish.tables.adversary.picture import picture


@dataclass(frozen=True, slots=True)
class Line:
    """One adversary: the stubbornness, and the belief in the first value."""

    stubbornness: Extended
    belief: Belief


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group against adversaries of several stubbornnesses, all with the same shape of the prior."""

    counts: tuple[int, ...]
    shape: tuple[Fraction, ...]
    ratio: Fraction
    known: int
    lines: tuple[Line, ...]

    @property
    def data_share(self) -> Fraction:
        """The share of the first value in the group: what the data says."""
        return Fraction(self.counts[0], sum(self.counts))

    def verdicts(self) -> dict[str, Verdict]:
        """What each class of adversaries says of the group; with known rows, Class I alone."""
        found: dict[str, Verdict] = {}
        for line in self.lines:
            words = f"stubbornness {told(line.stubbornness)}"
            one = ClassI(Prior(self.shape, line.stubbornness), known=self.known)
            found[f"Class I, {words}"] = one.judge(self.counts, self.ratio)
            if not self.known:
                found[f"Class II, {words}"] = ClassII(line.stubbornness).judge(self.counts, self.ratio)
        if self.known:
            return found
        found["Class III"] = ClassIII(self.shape).judge(self.counts, self.ratio)
        found["Class IV"] = ClassIV().judge(self.counts, self.ratio)
        return found

    def implied(self) -> Implied:
        """What privacy against independent entries would say in the words of other models."""
        return implied(self.shape, self.ratio)

    def summary(self) -> str:
        """The limits, in sentences."""
        follows = self.implied()
        lines = [
            f"Private for the ratio {told(self.ratio)} against independent entries (stubbornness inf) implies a share of at most "
            f"{told(follows.shares[0])} for the first value, t-closeness with t = {told(follows.closeness)}, and the upper side "
            f"of delta-disclosure with delta = {follows.delta_above:.3f}. The lower side does not: a value may be absent.",
            f"With all rows known except one ({sum(self.counts) - 1} of {sum(self.counts)}), exact counts tell the last value: "
            "this is the adversary of differential privacy, and no ratio is kept.",
        ]
        if any(line.stubbornness == inf for line in self.lines):
            lines.insert(
                0,
                f"Independent entries learn nothing from the others: the belief without the row stays at the prior "
                f"{told(self.shape[0])} where the data says {self.data_share} = {told(self.data_share)}.",
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The beliefs as exact fractions (text) and as numbers."""
        follows = self.implied()
        return {
            "counts": list(self.counts),
            "prior": [str(share) for share in self.shape],
            "known": self.known,
            "adversaries": [
                {
                    "stubbornness": told(line.stubbornness),
                    "with_row": str(line.belief.with_row),
                    "without": str(line.belief.without),
                    "ratio": _number(line.belief.ratio),
                    "other_ratio": _number(line.belief.other_ratio),
                }
                for line in self.lines
            ],
            "data_share": str(self.data_share),
            "ratio_limit": str(self.ratio),
            "verdicts": {name: {"passes": each.passes, "needs": each.needs} for name, each in self.verdicts().items()},
            "implied": {"share": str(follows.shares[0]), "t": str(follows.closeness), "delta_above": follows.delta_above},
        }

    def chart(self, path: str | Path | None = None) -> Any:
        """Both limits side by side; the right panel is for the first finite stubbornness."""
        finite = next((line.stubbornness for line in self.lines if isinstance(line.stubbornness, Fraction)), Fraction(10))
        return picture(self.counts, self.shape, finite, path)


def group_report(
    counts: Sequence[int], prior: Sequence[Number], stubbornness: Sequence[str], ratio: Number = 2, known: int = 0
) -> GroupReport:
    """Adversaries with the same shape of the prior against one group.

    >>> found = group_report([8, 2, 2], [0.1], ["10", "inf"])
    >>> [str(line.belief.without) for line in found.lines]
    ['9/22', '1/10']
    >>> found.verdicts()["Class II, stubbornness 10"].needs
    'n >= 10 and a share of at most 0.6875'
    """
    if not counts or not stubbornness:
        raise InvalidInput("give the counts of at least one value, and at least one stubbornness")
    shape = shape_of(prior, len(counts))
    sigmas: list[Extended] = [inf if each.strip() == "inf" else exact(each.strip(), "stubbornness") for each in stubbornness]
    lines = []
    for sigma in sigmas:
        against = Prior(shape, sigma)
        found = belief_with_known(counts, against, 0, known) if known else beliefs(counts, against)[0]
        lines.append(Line(sigma, found))
    return GroupReport(tuple(counts), shape, exact(ratio, "ratio"), known, tuple(lines))


def told(number: Extended) -> str:
    """A number as people read it; infinity is `inf`."""
    return "inf" if number == inf else f"{float(number):.6g}"


def _number(ratio: Extended) -> float | str:
    return "infinite" if ratio == inf else float(ratio)
