"""What every mechanism is: the protocol at the seam between noise, accounting, release and evidence."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from tacit.accounting.events import Event
from tacit.privacy.interval import Interval
from tacit.privacy.law import Law
from tacit.privacy.loss import Loss


@runtime_checkable
class Mechanism(Protocol):
    """A frozen value: parameters in, everything else follows from them."""

    @property
    def event(self) -> Event:
        """What runs, for the ledger."""

    @property
    def loss(self) -> Loss:
        """What it costs, by the theorem in the .md beside the mechanism."""

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
