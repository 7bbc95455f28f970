"""The protocol of every mechanism: the seam between noise, accounting, release and evidence."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from tacit.accounting.events import Event
from tacit.privacy.interval import Interval
from tacit.privacy.law import Law
from tacit.privacy.loss import Loss
from tacit.privacy.rounding import Number

Norm = Literal["l1", "l2"]


@runtime_checkable
class Mechanism(Protocol):
    """A frozen value: parameters in, everything else follows from them."""

    @property
    def event(self) -> Event:
        """The event that the ledger records."""

    @property
    def loss(self) -> Loss:
        """The privacy loss of one release, by the theorem in the .md beside the mechanism."""

    def release(self, value: Any) -> Any:
        """The private output for an exact value (or a `Sealed` one)."""


@runtime_checkable
class Listed(Mechanism, Protocol):
    """A mechanism whose output law can be written down, so that its loss is checked exactly and not by sampling."""

    def law(self, value: Any) -> Law:
        """The law of `release(value)`, from the definition."""


@runtime_checkable
class WithError(Mechanism, Protocol):
    """A mechanism whose error does not depend on the data."""

    def interval(self, confidence: float) -> Interval:
        """Where the exact value lies around a released one, with at least `confidence`, for one number."""


class Additive(Mechanism, Protocol):
    """Independent noise on each of `dimension` numbers of a public grid: what a price, a release and an explanation ask of it."""

    name: ClassVar[str]
    """Of the noise, for people."""

    norm: ClassVar[Norm]
    """In which the sensitivity is measured."""

    concentrated: ClassVar[bool]
    """Whether the loss is concentrated, so that a budget in epsilon needs a delta beside it."""

    @property
    def sensitivity(self) -> Fraction:
        """The largest distance between the exact values of neighbours."""

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in units of the grid."""

    @property
    def deviation(self) -> float:
        """The standard deviation of one number in units of the grid, to a few digits: for weights, not for promises."""

    def interval(self, confidence: Number) -> Interval:
        """Where the exact value lies around a released one, with at least `confidence`, for each number by itself."""

    def resized(self, dimension: int) -> Self:
        """The same noise on another number of numbers, for the same sensitivity and budget of all of them."""

    def release_units(self, units: Any) -> Any:
        """Whole units with noise, `dimension` of them."""

    def release_each(self, units: Any) -> Any:
        """The same on any number of units; neighbours differ in at most `dimension` of them."""
