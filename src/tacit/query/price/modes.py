"""The most frequent value of every group, by the exponential mechanism over the declared values. Proof in modes.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting.events import Event
from tacit.mechanisms.exponential import Exponential
from tacit.privacy.loss import Loss
from tacit.privacy.rounding import Number
from tacit.query.groups import values_of
from tacit.query.plan import Call, Question
from tacit.query.price.aggregates import moments_of
from tacit.query.price.stability import Reach


@dataclass(frozen=True, slots=True)
class Mode:
    """One value in every group, chosen by how many rows have it, from the list of a moment."""

    place: int
    call: Call
    mechanism: Exponential

    @property
    def event(self) -> Event:
        """The event for all groups together: the mechanism is priced for the rows that a unit has in all of them."""
        return self.mechanism.event

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss

    @property
    def offsets(self) -> tuple[int, ...]:
        """The values that can be chosen, as the engine lists them: counted from the least that the expression can be."""
        low = getattr(self.call.over.node, "low", 0) if self.call.over else 0
        return tuple(value - low for value in candidates(self.call))

    def rows_short(self, missed: Number) -> float:
        """How many rows fewer than the most frequent value the chosen one has, at most; more with the chance `missed`."""
        return self.mechanism.utility_error(1 - Fraction(missed))


def candidates(call: Call) -> tuple[int, ...]:
    """The values among which a mode is chosen: those that are declared, present or not; never NULL."""
    return values_of(call.over) if call.over is not None else ()


def modes_of(question: Question) -> list[tuple[int, Call]]:
    """The modes that are asked for, each with the place of its list among the moments."""
    moments = question.group.moments
    return [(moments.index(moments_of(call, question.calls)[0]), call) for call in question.calls if call.name == "mode"]


def priced_modes(question: Question, epsilon: Callable[[Call], Fraction], touched: Reach) -> tuple[Mode, ...]:
    """Every mode of a part at its `epsilon` for all of its groups together."""
    return tuple(Mode(place, call, _mechanism(call, epsilon(call), touched)) for place, call in modes_of(question))


def _mechanism(call: Call, epsilon: Fraction, touched: Reach) -> Exponential:
    """The factor is epsilon / R for a unit of R rows: it raises counts only. One that changes lowers some: epsilon / (2 R)."""
    half = Fraction(touched.l1, 2)
    moved = half if touched.change == "add-remove" else 2 * half
    return Exponential(moved, epsilon, candidates(call), touched.neighbours)
