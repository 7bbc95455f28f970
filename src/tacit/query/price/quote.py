"""A quote: all that will be done to answer a question, and its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from tacit.accounting.events import Batch, CalibratedGaussian, Event, GaussianNoise
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.mechanisms.selection import KeyThreshold
from tacit.mechanisms.smooth import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.privacy.loss import Neighbours
from tacit.query.groups import size
from tacit.query.plan import Call, Moment, Question
from tacit.query.price.margins import Margin
from tacit.query.price.modes import Mode
from tacit.query.price.request import Request
from tacit.query.price.stability import Reach

UNIT = Neighbours("add-remove", "unit")


@dataclass(frozen=True, slots=True)
class Sum:
    """Noise for one moment over all groups; `units` of the moment make one unit of the answer."""

    place: int
    moment: Moment
    mechanism: Additive


@dataclass(frozen=True, slots=True)
class Rank:
    """One quantile in every group, from the list of a moment; the mechanism is priced for 1 / `rows` of what a unit has there."""

    place: int
    call: Call
    rows: int
    mechanism: Quantile | QuantileWithInterval | SmoothQuantile | FromTree

    @property
    def event(self) -> Event:
        """The event for all groups together. All rows of a unit may be in one group, a chain of neighbours there: one loss, not
        several. That of a tree is one for all quantiles of the list.
        """
        if not isinstance(self.mechanism, SmoothQuantile):
            return self.mechanism.event
        alone = self.mechanism.event
        return replace(alone, epsilon=alone.epsilon * self.rows)


@dataclass(frozen=True, slots=True)
class Quote:
    """All that will be done to answer, and its price; `event` is what the ledger records.

    Of a question with several parts there is a quote for each, `beside` and `below` as in the question; the price is that of all
    parts together. `margins` are sums that are not measured, but added up from those of another part. `shares` says what part of
    epsilon each thing released has, `stated` what all Gaussian sums of the question are together, (epsilon, delta).
    """

    question: Question
    request: Request
    reach: Reach
    sums: tuple[Sum, ...]
    ranks: tuple[Rank, ...]
    keys: KeyThreshold | None
    epsilon: Fraction
    delta: Fraction
    margins: tuple[Margin, ...] = ()
    modes: tuple[Mode, ...] = ()
    beside: tuple[Quote, ...] = ()
    below: tuple[Quote, ...] = ()
    shares: tuple[tuple[object, Fraction], ...] = ()
    stated: tuple[Fraction, Fraction] | None = None

    @property
    def event(self) -> Event:
        """Where `stated`, all Gaussian sums are one event with that epsilon and delta; else each has its rho alone."""
        events = [event for part in self.parts for event in part._events]
        if self.stated is None:
            return Batch(tuple(events))
        gaussian = tuple(event for event in events if isinstance(event, GaussianNoise))
        rest = tuple(event for event in events if not isinstance(event, GaussianNoise))
        return Batch((*rest, CalibratedGaussian(gaussian, *self.stated)))

    @property
    def _events(self) -> tuple[Event, ...]:
        """What is released for this part alone."""
        trees = {part.place: part.event for part in self.ranks if isinstance(part.mechanism, FromTree)}
        alone = [part.event for part in self.drawn if not isinstance(part.mechanism, FromTree)]
        events: list[Event] = [*(part.mechanism.event for part in self.sums), *trees.values(), *alone]
        return (self.keys.event, *events) if self.keys else tuple(events)

    @property
    def parts(self) -> tuple[Quote, ...]:
        """The quotes of all parts, in the order of the question's."""
        return self, *self.beside, *self.below

    @property
    def noisy_sums(self) -> tuple[Sum | Margin, ...]:
        """The sums of this part, measured and added up."""
        return self.sums + self.margins

    @property
    def measured(self) -> bool:
        """Whether anything is asked of the engine for this part."""
        return bool(self.sums or self.drawn or self.keys)

    @property
    def drawn(self) -> tuple[Rank | Mode, ...]:
        """What is drawn group by group from lists of values."""
        return *self.ranks, *self.modes

    @property
    def cells(self) -> int | None:
        """How many groups the answer has; None if that is private."""
        return None if self.keys else cells_of(self.question)


def together(quotes: Sequence[Quote]) -> Quote:
    """The quote of the first part, with those of the others in their places."""
    first, number = quotes[0], len(quotes[0].question.beside)
    beside = tuple(quotes[1 : 1 + number])
    return replace(first, beside=beside, below=tuple(replace(part, beside=beside) for part in quotes[1 + number :]))


def cells_of(question: Question) -> int:
    """How many groups there are with public keys."""
    return prod(size(key) for key in question.group.keys)
