"""The beliefs of several adversaries about one group, their verdicts, and the limits that follow; for the command line and
reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact
from tacit.publish.tables.adversary.beliefs import (
    Belief,
    ClassI,
    ClassII,
    ClassIII,
    ClassIV,
    Extended,
    Prior,
    Verdict,
    belief_before,
    belief_with_known,
    beliefs,
    group_size,
    shape_of,
)


@dataclass(frozen=True, slots=True)
class Implied:
    """For each value the largest share that the ratio allows; the largest distance t; the largest upper side of delta."""

    shares: tuple[Fraction, ...]
    closeness: Fraction
    delta_above: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A group beside a shape: its largest share, its distance, and both sides of delta-disclosure."""

    largest_share: Fraction
    closeness: Fraction
    delta_above: float
    delta_below: float


def implied_limits(shape: Sequence[Fraction], ratio: Fraction) -> Implied:
    """The limits that hold for every group that is private for the ratio against independent entries.

    >>> implied_limits((Fraction(1, 10), Fraction(9, 10)), Fraction(2)).closeness
    Fraction(1, 2)
    """
    shares = tuple(min(ratio * share, 1 - (1 - share) / ratio) for share in shape)
    return Implied(shares, 1 - 1 / ratio, log(ratio))


def measure_group(counts: Sequence[int], shape: Sequence[Fraction]) -> Measured:
    """The same figures of one group."""
    size = group_size(counts)
    shares = [Fraction(count, size) for count in counts]
    pairs = [(share, of) for share, of in zip(shares, shape, strict=True) if of]
    return Measured(
        max(shares),
        sum((abs(share - of) for share, of in zip(shares, shape, strict=True)), start=Fraction(0)) / 2,
        max(log(share / of) if share else -inf for share, of in pairs),
        max(-log(share / of) if share else inf for share, of in pairs),
    )


ABSENT_COUNTS = (5, 5, 0)
ABSENT_SHAPE = (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))
ABSENT_RATIO = Fraction(5, 4)


def absent_value() -> tuple[bool, Measured]:
    """The counterexample to the lower side of delta-disclosure: private for the ratio 5/4, and delta is infinite.

    >>> passes, figures = absent_value()
    >>> passes, round(figures.delta_above, 3), figures.delta_below
    (True, 0.223, inf)
    """
    passes = ClassIII(ABSENT_SHAPE).judge(ABSENT_COUNTS, ABSENT_RATIO).passes
    return passes, measure_group(ABSENT_COUNTS, ABSENT_SHAPE)


# --- both limits of epsilon-privacy side by side -----------------------------------------------------------------------------


POINTS = 120
ROOM = 1.25  # above the largest finite ratio, where those that are infinite are marked


def picture(counts: Sequence[int], shape: tuple[Fraction, ...], stubbornness: Fraction, path: str | Path | None = None) -> Any:
    """The ratios of the first value against the stubbornness, and against the number of known rows for one stubbornness."""
    from tacit.chart import charting, save

    alt = charting()
    by_stubbornness, by_known = _over_stubbornness(counts, shape), _over_known(counts, shape, stubbornness)
    limit = float(beliefs(counts, Prior(shape, inf))[0].ratio)
    top = ROOM * max(row["y"] for row in [*by_stubbornness, *by_known, {"y": limit}] if row["y"] < inf)
    left = _panel(alt, by_stubbornness, alt.X("x:Q", title="stubbornness (rows seen before)").scale(type="log", nice=False), top)
    right = _panel(alt, by_known, alt.X("x:Q", title="known rows of the group").scale(nice=False), top)
    left = alt.layer(left, *_limit(alt, limit))
    right = alt.layer(right, *_end(alt, sum(counts) - 1))
    titled = [
        panel.properties(width=330, height=250, title=alt.TitleParams(title, anchor="start", fontSize=12))
        for panel, title in (
            (left, ["Stubbornness to infinity: independent entries", "(l-diversity, t-closeness)"]),
            (right, ["All other rows known: differential privacy", f"(stubbornness {float(stubbornness):g})"]),
        )
    ]
    words = f"epsilon-privacy of counts {', '.join(map(str, counts))}, first value with prior {float(shape[0]):g}"
    title = alt.TitleParams(words, anchor="start")
    return save(alt.hconcat(*titled).properties(title=title).configure_view(stroke=None), path)


def _over_stubbornness(counts: Sequence[int], shape: tuple[Fraction, ...]) -> list[dict[str, Any]]:
    rows = []
    for step in range(POINTS + 1):
        sigma = Fraction(10 ** (5 * step / POINTS - 1)).limit_denominator(10**6)
        belief = beliefs(counts, Prior(shape, sigma))[0]
        rows += _rows(float(sigma), belief.ratio, belief.other_ratio)
    return rows


def _over_known(counts: Sequence[int], shape: tuple[Fraction, ...], stubbornness: Fraction) -> list[dict[str, Any]]:
    prior = Prior(shape, stubbornness)
    rows = []
    for known in range(sum(counts)):
        belief = belief_with_known(counts, prior, 0, known)
        rows += _rows(known, belief.ratio, belief.other_ratio)
    return rows


SERIES = ("belief in the value, with the row / without", "belief in another, without / with")


def _rows(x: float, ratio: Any, other: Any) -> list[dict[str, Any]]:
    return [{"x": x, "y": float(y), "series": name} for name, y in zip(SERIES, (ratio, other), strict=True)]


def _panel(alt: Any, rows: list[dict[str, Any]], across: Any, top: float) -> Any:
    """Both ratios as lines; one that is infinite is a triangle at the top."""
    from tacit.chart import COLOURS

    colour = alt.Color("series:N", title=None, scale=alt.Scale(domain=list(SERIES), range=[COLOURS[2], COLOURS[1]]))
    up = alt.Y("y:Q", title="ratio").scale(domain=[0, top], nice=False)
    encoding = {"x": across.axis(grid=False), "y": up, "color": colour.legend(orient="bottom", direction="vertical")}
    finite = alt.Chart(alt.InlineData(values=[row for row in rows if row["y"] < inf])).mark_line(strokeWidth=2)
    beyond = [{**row, "y": top * 0.97} for row in rows if row["y"] == inf]
    marks = alt.Chart(alt.InlineData(values=beyond)).mark_point(shape="triangle-up", filled=True, size=50)
    return alt.layer(finite.encode(**encoding), marks.encode(**encoding))


def _limit(alt: Any, at: float) -> list[Any]:
    data = alt.InlineData(values=[{"at": at, "words": f"limit: {at:.3f}", "x": 0.1}])
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3]).encode(y="at:Q")
    text = alt.Chart(data).mark_text(align="left", dy=-7, dx=4).encode(y="at:Q", x="x:Q", text="words:N")
    return [rule, text]


def _end(alt: Any, last: int) -> list[Any]:
    data = alt.InlineData(values=[{"x": last, "words": "▲ infinite: the value is certain"}])
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3]).encode(x="x:Q")
    text = alt.Chart(data).mark_text(align="right", baseline="top", dx=-4).encode(x="x:Q", y=alt.value(16), text="words:N")
    return [rule, text]


# --- the beliefs of several adversaries about one group, their verdicts, and their limits ------------------------------------


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

    def before(self) -> tuple[Belief, ...]:
        """The beliefs in the first value by the reading of the tutorial, in which known rows tell nothing of the target."""
        return tuple(belief_before(self.counts, Prior(self.shape, line.stubbornness), 0, self.known) for line in self.lines)

    @property
    def data_share(self) -> Fraction:
        """The share of the first value in the group, which is the belief that the data gives."""
        return Fraction(self.counts[0], sum(self.counts))

    def verdicts(self) -> dict[str, Verdict]:
        """The verdict of each class of adversaries on the group; with known rows, Class I alone."""
        verdicts_of_classes: dict[str, Verdict] = {}
        for line in self.lines:
            words = f"stubbornness {number_text(line.stubbornness)}"
            one = ClassI(Prior(self.shape, line.stubbornness), known=self.known)
            verdicts_of_classes[f"Class I, {words}"] = one.judge(self.counts, self.ratio)
            if not self.known:
                verdicts_of_classes[f"Class II, {words}"] = ClassII(line.stubbornness).judge(self.counts, self.ratio)
        if self.known:
            return verdicts_of_classes
        verdicts_of_classes["Class III"] = ClassIII(self.shape).judge(self.counts, self.ratio)
        verdicts_of_classes["Class IV"] = ClassIV().judge(self.counts, self.ratio)
        return verdicts_of_classes

    def implied(self) -> Implied:
        """The limits of other models that follow from privacy against independent entries."""
        return implied_limits(self.shape, self.ratio)

    def summary(self) -> str:
        """The limits, in sentences."""
        follows = self.implied()
        lines = [
            f"Private for the ratio {number_text(self.ratio)} against independent entries (stubbornness inf) implies a share of "
            f"at most {number_text(follows.shares[0])} for the first value, t-closeness with "
            f"t = {number_text(follows.closeness)}, and the upper side of delta-disclosure with "
            f"delta = {follows.delta_above:.3f}. The lower side does not: a value may be absent.",
            f"With all rows known except one ({sum(self.counts) - 1} of {sum(self.counts)}), exact counts tell the last value: "
            "this is the adversary of differential privacy, and no ratio is kept.",
        ]
        if any(line.stubbornness == inf for line in self.lines):
            lines.insert(
                0,
                f"Independent entries learn nothing from the others: the belief without the row stays at the prior "
                f"{number_text(self.shape[0])} where the data says {self.data_share} = {number_text(self.data_share)}.",
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
                    "stubbornness": number_text(line.stubbornness),
                    "with_row": str(line.belief.with_row),
                    "without": str(line.belief.without),
                    "ratio": _number(line.belief.ratio),
                    "other_ratio": _number(line.belief.other_ratio),
                    "as_in_the_tutorial": {"without": str(before.without), "ratio": _number(before.ratio)},
                }
                for line, before in zip(self.lines, self.before(), strict=True)
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
        belief = belief_with_known(counts, against, 0, known) if known else beliefs(counts, against)[0]
        lines.append(Line(sigma, belief))
    return GroupReport(tuple(counts), shape, exact(ratio, "ratio"), known, tuple(lines))


def number_text(number: Extended) -> str:
    """A number as people read it; infinity is `inf`."""
    return "inf" if number == inf else f"{float(number):.6g}"


def _number(ratio: Extended) -> float | str:
    return "infinite" if ratio == inf else float(ratio)
