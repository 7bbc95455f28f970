"""The material of a contract: listed laws of every pair of neighbours, and draws from the pairs that need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.verify.claims import measured_both_ways
from tacit.evidence.verify.score import label_of
from tacit.mechanisms.mechanism import Listed, Mechanism
from tacit.privacy.law import Law

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """How many draws from each side of a pair, and the largest chance that one sampled check fails a sound mechanism."""

    samples: int = 8_000
    false_alarm: float = 1e-9

    @property
    def confidence(self) -> float:
        """The confidence of one check."""
        return 1 - self.false_alarm


@dataclass(frozen=True, slots=True)
class PairDraws:
    """Outputs for the neighbours a and b, drawn two by two: first a then b, and first b then a."""

    forth: Sequence[Pair]
    back: Sequence[Pair]

    @property
    def one(self) -> list[Any]:
        """All outputs for a."""
        return [first for first, _ in self.forth] + [second for _, second in self.back]

    @property
    def other(self) -> list[Any]:
        """All outputs for b."""
        return [second for _, second in self.forth] + [first for first, _ in self.back]


@dataclass(frozen=True)
class Trial:
    """A mechanism, the neighbours on which its promise is checked, and the laws and draws for them."""

    mechanism: Mechanism
    pairs: tuple[Pair, ...]
    effort: Effort

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InvalidInput("a contract requires at least one pair of neighbouring values, for example [(0, 1)]")

    @cached_property
    def laws(self) -> tuple[tuple[Law, Law], ...]:
        """The laws of every pair; none where the mechanism cannot list them."""
        if not isinstance(self.mechanism, Listed):
            return ()
        names = [(repr(label_of(a)), repr(label_of(b))) for a, b in self.pairs]
        values = {name: value for pair, both in zip(names, self.pairs, strict=True) for name, value in zip(pair, both, strict=True)}
        listed = {name: self.mechanism.law(value) for name, value in values.items()}
        return tuple((listed[one], listed[other]) for one, other in names)

    @cached_property
    def measures(self) -> tuple[Decimal, ...]:
        """The exact measure of every listed pair."""
        return tuple(measured_both_ways(self.mechanism.loss, one, other) for one, other in self.laws)

    @cached_property
    def worst(self) -> int:
        """The pair with the largest exact measure; the first one where nothing is listed."""
        return max(range(len(self.measures)), key=self.measures.__getitem__, default=0)

    @cached_property
    def draws(self) -> dict[int, PairDraws]:
        """Draws by pair: from the worst one alone where the laws are listed, else from all."""
        needed = [self.worst] if self.laws else range(len(self.pairs))
        return {place: draw_pairs(self.mechanism, self.pairs[place], self.effort.samples) for place in needed}


def draw_pairs(mechanism: Mechanism, pair: Pair, samples: int) -> PairDraws:
    """`samples` outputs for each of the two neighbours, in both orders of asking."""
    a, b = pair
    turns = range(samples // 2)
    return PairDraws(
        [(mechanism.release(a), mechanism.release(b)) for _ in turns],
        [(mechanism.release(b), mechanism.release(a)) for _ in turns],
    )
