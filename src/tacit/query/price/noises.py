"""The mechanism of every released number, once its share of the budget is known.

A group-by-group mechanism (a quantile) gets the whole share of epsilon in every group, with the unit counted as the most rows that
it has over all groups together: row by row, one unit moves the groups' losses by at most its rows times the loss of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

from tacit.accounting.gaussian_curve import Moves
from tacit.errors import InvalidBudget, NoBudget
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.quantile import Quantile
from tacit.mechanisms.quantile_interval import QuantileWithInterval
from tacit.mechanisms.selection import KeyThreshold
from tacit.mechanisms.smooth import SmoothQuantile
from tacit.privacy.rounding import exp_up
from tacit.query.groups import private
from tacit.query.pauses import pause
from tacit.query.plan import Call, Moment, Question
from tacit.query.price.chances import missed_in
from tacit.query.price.margins import ADDITIVE, Added, Margin, Summed
from tacit.query.price.modes import priced_modes
from tacit.query.price.needs import Item
from tacit.query.price.quote import UNIT, Quote, Rank, Sum, cells_of, together
from tacit.query.price.released import charged, measured, quantiles
from tacit.query.price.request import Request
from tacit.query.price.several import shared
from tacit.query.price.stability import Reach, entries_moved, l1_sensitivity, l2_sensitivity, largest_move, tables_of

LARGEST_EPSILON = 1000  # beyond it e^epsilon takes long to compute and means nothing
FINEST_GRID = 2**40  # points from which a quantile is released by smooth sensitivity


def _dimension(question: Question, touched: Reach) -> int:
    """How many numbers get noise: the public groups; for private keys, those that one unit can touch (gaussian.md)."""
    return touched.groups if private(question) else cells_of(question)


def laplace(question: Question, moment: Moment, touched: Reach, epsilon: Fraction) -> Laplace:
    """The noise of one moment over all groups, for a share of epsilon."""
    return Laplace(l1_sensitivity(moment, touched), epsilon, 1, _dimension(question, touched), True, touched.neighbours)


def gaussian(question: Question, moment: Moment, touched: Reach, rho: Fraction) -> Gaussian:
    """The same for a concentrated loss."""
    return Gaussian(l2_sensitivity(moment, touched), rho, 1, _dimension(question, touched), True, touched.neighbours)


Noises = list[tuple[tuple[Sum, ...], tuple[Margin, ...]]]


@dataclass(frozen=True, slots=True)
class Shares:
    """What every item gets of `whole`, the epsilon of the question; for a unit that changes, each counts `factor` times."""

    of: Mapping[Item, Fraction]
    whole: Fraction
    factor: int

    def epsilon(self, part: int, what: Moment | Call | Literal["keys"]) -> Fraction:
        """The epsilon of an item; of a sum that no unit can change, the whole, since it costs nothing."""
        return self.whole * self.of.get(Item(part, what), Fraction(1)) / self.factor


def moves_of(question: Question, moment: Moment, touched: Reach) -> Moves:
    """How far one unit moves the vector of a moment over the groups, in what `gaussian` calls its units."""
    length, dimension = l2_sensitivity(moment, touched), _dimension(question, touched)
    entries = min(dimension, entries_moved(moment, touched))
    total, largest = l1_sensitivity(moment, touched), largest_move(moment, touched)
    return Moves(Fraction(int(length)) if dimension == 1 else length, entries, total, largest)


def noised(question: Question, added: Summed, noise: Callable[[int, Moment], Additive]) -> Noises:
    """For every part the sums that get noise, and those that are added up from the sums of another part."""

    def made(at: int, place: int, moment: Moment) -> Sum:
        pause()
        return Sum(place, moment, noise(at, moment))

    sums = [
        tuple(made(at, place, moment) for place, moment in measured(part, at in added)) for at, part in enumerate(question.parts)
    ]
    margins: list[tuple[Margin, ...]] = [()] * len(sums)
    for at, (source, count) in added.items():
        known = {part.moment: part for part in sums[source]}
        wanted = [(place, moment) for place, moment in charged(question.parts[at]) if moment.kind in ADDITIVE]
        margins[at] = tuple(
            Margin(place, moment, source, known[moment].place, Added(known[moment].mechanism, count)) for place, moment in wanted
        )
    return list(zip(sums, margins, strict=True))


def quote_of(question: Question, asked: Request, touched: Sequence[Reach], noises: Noises, shares: Shares) -> Quote:
    """The quote of a question whose sums have their noise; all else that is released has its epsilon by `shares`."""
    concentrated = any(part.mechanism.concentrated for sums, _ in noises for part in sums)
    private_parts = sum(map(private, question.parts))
    for_keys = (asked.delta / 2 if concentrated else asked.delta) / max(1, private_parts)
    spent = asked.delta if concentrated or private_parts else Fraction(0)
    quotes = []
    for at, (part, (sums, margins)) in enumerate(zip(question.parts, noises, strict=True)):
        reached = touched[at]
        rows = reached.l1 if reached.groups > 1 else 1
        sure = {call: 1 - missed_in(at, call, question, asked) for _, call in quantiles(part)}
        ranks = [
            Rank(place, call, rows, _rank(call, shares.epsilon(at, call), sure[call], reached, asked.interval))
            for place, call in quantiles(part)
        ]
        keys = _keys(part, reached, shares.epsilon(at, "keys"), for_keys, shares.factor) if private(part) else None
        modes = priced_modes(part, partial(shares.epsilon, at), reached)
        mine = tuple((item.what, share) for item, share in shares.of.items() if item.part == at)
        priced = asked.epsilon or Fraction(0)
        quotes.append(Quote(part, asked, reached, sums, shared(ranks), keys, priced, spent, margins, modes, shares=mine))
    return together(quotes)


def _rank(
    call: Call, epsilon: Fraction, confidence: Fraction, touched: Reach, interval: bool
) -> Quantile | QuantileWithInterval | SmoothQuantile:
    """The exponential mechanism, whose interval comes from draws of its own; on a very fine grid, smooth sensitivity.

    The error of the exponential mechanism in ranks grows with the logarithm of the grid. The noise of smooth sensitivity follows
    the gaps between values instead, but its scale is private, so it has no interval. It is priced for add/remove, and gets half of
    its share if a unit changes.
    """
    node = call.over.node if call.over else None
    low, high = (getattr(node, "low", 0), getattr(node, "high", 0))
    share = call.share or Fraction(0)
    if high - low < FINEST_GRID and not interval:
        return Quantile(share, 0, high - low, 1, epsilon, touched.l1, neighbours=touched.neighbours)
    if high - low < FINEST_GRID:
        return QuantileWithInterval(share, 0, high - low, 1, epsilon, confidence, touched.l1, touched.neighbours)
    rows, parts = 1 if touched.groups > 1 else touched.l1, 2 if touched.change == "change-one" else 1
    return SmoothQuantile(share, 0, high - low, 1, epsilon * rows / (parts * touched.l1), max_rows=rows, neighbours=UNIT)


def _keys(question: Question, touched: Reach, share: Fraction, delta: Fraction, factor: int) -> KeyThreshold:
    """`delta` is for the keys; a unit that changes passes it along two neighbours, so it counts 1 + e^epsilon times."""
    if not delta:
        raise NoBudget(
            "private keys require a delta: groups are released through a noisy threshold",
            remedy="give for example delta=1e-7",
        )
    if factor == 2 and share > LARGEST_EPSILON:
        raise InvalidBudget(f"epsilon is too large for private keys; the limit is {LARGEST_EPSILON} per number")
    passed = 1 + exp_up(share) if factor == 2 else 1
    return KeyThreshold(share, delta / passed, touched.units_l1, max(table.min_people for table in tables_of(question.group)), UNIT)
