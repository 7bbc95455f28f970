"""The findings of attacks on a session, pooled over seeds, and the verdict: failed, succeeded, or too few to tell.

An attack fails if its figure is within the luck of an attacker whose answers have the noise that was paid for, a limit that
such luck passes once in a million. With few people that limit is everything there is to find: such an attack cannot succeed, so
that its failure says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from math import sqrt
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, json_figures, lucky_share

NORMAL = 4.9  # deviations that a normal number passes once in a million, on both sides together
FAILED, SUCCEEDED, TOO_FEW = "failed", "succeeded", "too few to tell"


@dataclass(frozen=True, slots=True)
class Tries:
    """`tries` guesses, `hits` of them right, each with this chance if nothing leaks; `enough` of them to tell."""

    attack: str
    measure: str
    hits: int
    tries: int
    chance: float
    predicted: float
    enough: bool


@dataclass(frozen=True, slots=True)
class Correlation:
    """A rank correlation over a number of answers, with a random sign if nothing leaks."""

    attack: str
    measure: str
    value: float
    answers: int
    enough: bool


@dataclass(frozen=True, slots=True)
class Never:
    """A figure that no luck moves: above `limit` once is too often, on however few people."""

    attack: str
    measure: str
    figure: float
    limit: float


Part = Tries | Correlation | Never


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one attack, as a figure, and the `limit` that luck may reach."""

    attack: str
    measure: str
    figure: float
    limit: float
    predicted: float | None = None
    enough: bool = True

    @property
    def verdict(self) -> str:
        """One of three. An attack on too few people can succeed, but not fail."""
        if self.figure > self.limit:
            return SUCCEEDED
        return FAILED if self.enough else TOO_FEW

    def summary(self) -> str:
        """The finding in one line."""
        verdict = self.verdict.upper() if self.verdict == SUCCEEDED else self.verdict
        return f"{self.attack}: {verdict}; {self.measure} {self.figure:.3g}, where chance may reach {self.limit:.3g}"


def pool(parts: Iterable[Part]) -> tuple[Finding, ...]:
    """One finding for each attack, over all its parts.

    >>> few = Tries("tracing", "members recognized", hits=0, tries=3, chance=0.03, predicted=0.01, enough=False)
    >>> [found.summary() for found in pool([few])]
    ['tracing: too few to tell; members recognized 0, where chance may reach 1']
    """
    by_attack: dict[str, list[Any]] = {}
    for part in parts:
        by_attack.setdefault(part.attack, []).append(part)
    return tuple(_pool_parts(same[0], same) for same in by_attack.values())


@singledispatch
def _pool_parts(first: Part, parts: list[Any]) -> Finding:
    raise InvalidInput(f"unknown type of finding: {type(first).__name__}")


@_pool_parts.register
def _(first: Never, parts: list[Never]) -> Finding:
    """The worst of all."""
    return Finding(first.attack, first.measure, max(part.figure for part in parts), first.limit, first.limit)


@_pool_parts.register
def _(first: Tries, parts: list[Tries]) -> Finding:
    """All guesses together; a limit that is all there is cannot be passed."""
    hits, tries = sum(part.hits for part in parts), sum(part.tries for part in parts)
    limit = lucky_share(tries, first.chance) if tries else 1.0
    enough = all(part.enough for part in parts) and limit < 1
    return Finding(first.attack, first.measure, hits / max(tries, 1), limit, first.predicted, enough)


@_pool_parts.register
def _(first: Correlation, parts: list[Correlation]) -> Finding:
    """The mean with its signs, so that chances cancel and a leak does not."""
    mean = sum(part.value for part in parts) / len(parts)
    spread = sqrt(sum(1 / (part.answers - 1) for part in parts)) / len(parts)
    return Finding(first.attack, first.measure, abs(mean), NORMAL * spread, 0.0, all(part.enough for part in parts))


@dataclass(frozen=True, slots=True)
class SessionReport:
    """The findings of every attack on `people`, `members` of whom have the secret. Not for publication."""

    people: int
    members: int
    epsilon: float
    seeds: int
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether no attack succeeded."""
        return not any(finding.verdict == SUCCEEDED for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The verdict of all attacks together, in a sentence."""
        verdicts = [finding.verdict for finding in self.findings]
        if SUCCEEDED in verdicts:
            return "An attack succeeded: publish nothing until you know the cause."
        undecided = verdicts.count(TOO_FEW)
        if undecided:
            return f"No attack succeeded, but {undecided} of {len(verdicts)} had too few people or members for a verdict."
        return "Every attack failed."

    @property
    def setting(self) -> str:
        """The people, the budget and the seeds, in a sentence."""
        seeds = "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
        return f"{self.people} people, {self.members} of them with the secret; epsilon {self.epsilon:g} for each attack; {seeds}."

    def summary(self) -> str:
        """A line for each attack."""
        head = f"Attacks on a copy: {self.setting} For the data owner only; not for publication."
        return "\n".join([head, *(finding.summary() for finding in self.findings), self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        listed = [
            json_figures(
                attack=one.attack,
                measure=one.measure,
                recovered=one.figure,
                limit=one.limit,
                predicted=one.predicted,
                failed=one.verdict == FAILED,
                verdict=one.verdict,
            )
            for one in self.findings
        ]
        figures = json_figures(people=self.people, members=self.members, epsilon=self.epsilon, seeds=self.seeds, holds=self.holds)
        return {"for": "the data owner only; not for publication", **figures, "attacks": listed}

    def chart(self, path: str | Path | None = None) -> Any:
        """Each figure beside its limit."""
        rows = [
            {"x": one.attack, "y": min(1.0, value), "series": series}
            for one in self.findings
            for series, value in (("found", one.figure), ("chance limit", one.limit))
        ]
        return bars(rows, Axes("", "figure", share=True), "Attacks on a session (not for publication)", path)
