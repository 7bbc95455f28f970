"""A request and its quote: the budget or the error asked for, and all that will be done for it, with every mechanism and its price.

A group-by-group mechanism (a quantile) gets the whole share of epsilon in every group, with the unit counted as the most rows that
it has over all groups together: row by row, one unit moves the groups' losses by at most its rows times the loss of one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from tacit.accounting.events import Batch, CalibratedGaussian, Event, GaussianKeys, GaussianNoise
from tacit.errors import InvalidBudget, InvalidInput, NoBudget
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Additive
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.residual_shares import read_loss
from tacit.mechanisms.selection import GaussianKeyThreshold, Keys, KeyThreshold
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.mechanisms.tree.shape import Tree, fitting
from tacit.privacy.arguments import truth_of
from tacit.privacy.loss import Loss, Neighbours, positive_budget, probability
from tacit.privacy.rounding import Number, brief, decimal_text, exact, exp_up
from tacit.query.intervals.bands import Added, Margin, Released, Shared, Sum, Workload
from tacit.query.intervals.misses import missed_in
from tacit.query.plan import UNSAID, Group, Moment
from tacit.query.price.needs import ADDITIVE, Item, Summed, charged_sums, measured, modes_of, quantiles
from tacit.query.price.stability import Reach, l1_sensitivity, l2_sensitivity, tables_of
from tacit.query.question import Call, Question, cells_of, pause, private, values_of

# --- a request: a budget or an error, and the confidence of the intervals ----------------------------------------------------


LEAST_MISS = Fraction(1, 10**200)
LEAST = Fraction(1, 10**30)
LEAST_EPSILON = Fraction(1, 10**4)  # of a query: what a query reveals besides its answer counts per query, not per epsilon


HEAVIEST = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """The analyst's budget, or the required error; and the confidence of the intervals. Those of quantiles can be left out."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    error: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    simultaneous: bool = False
    groups: int | None = field(default=None, repr=False, metadata=UNSAID)  # does not affect what is answered, only what is refused
    interval: bool = field(default=True, metadata=UNSAID)
    weights: tuple[tuple[str, Fraction], ...] = field(default=(), metadata=UNSAID)
    loss: str | None = field(default=None, metadata=UNSAID)


def request(
    epsilon: Number | None = None,
    delta: Number = 0,
    error: Number | None = None,
    confidence: Number = Fraction(95, 100),
    simultaneous: bool = False,
    groups: int | None = None,
    interval: bool = True,
    weights: Mapping[str, Number] | None = None,
    loss: str | None = None,
) -> Request:
    """A request from plain numbers: a budget or an error, not both. More than 10,000 groups require `groups`.

    Without `interval`, a quantile is its value alone, to which then all of its epsilon goes. `weights` says how much more than
    others the error of a column counts when epsilon is split. `loss` says which error of several grouping sets is made small.
    """
    if epsilon is None and error is None:
        raise NoBudget(
            "missing budget",
            remedy="give epsilon=0.5, or error=50 with confidence=0.95",
            argument=("epsilon", "error", "confidence"),
        )
    if epsilon is not None and error is not None:
        raise NoBudget("both epsilon and error are given: the error determines the epsilon", remedy="leave one of them out")
    sure = exact(confidence, "confidence", InvalidBudget)
    if not 0 < sure <= 1 - LEAST_MISS:
        raise InvalidBudget(
            f"confidence must be above 0 and below 1, not {brief(confidence)}; give for example confidence=0.95",
            argument="confidence",
        )
    if weights and error is not None:
        raise InvalidInput("weights split a given epsilon; with error, every column gets what it needs: leave out weights")
    return Request(
        None if epsilon is None else _enough(_usual(positive_budget(epsilon), "epsilon")),
        probability(delta),
        None if error is None else _usual(positive_budget(error, "error"), "error"),
        sure,
        truth_of(simultaneous, "simultaneous"),
        None if groups is None else _whole(groups),
        truth_of(interval, "interval"),
        read_weights(weights),
        None if loss is None else read_loss(loss),
    )


def request_of(options: Sequence[tuple[str, Any]], budget: Mapping[str, Any]) -> Request:
    """The request of a budget that was given, else of the options written in the query; giving both is an error."""
    if unknown := sorted(set(budget) - set(Request.__dataclass_fields__)):
        raise InvalidInput(
            f"unknown argument {unknown[0]!r}; a budget is epsilon and delta, or error, with confidence, simultaneous, "
            "interval and weights"
        )
    given = {name: value for name, value in budget.items() if value is not None and (value is not False or name == "interval")}
    if options and {"epsilon", "delta", "error"} & set(given):
        raise NoBudget("the budget is given twice: in the question and as an argument", remedy="leave one of them out")
    return request(**{**dict(options), **given})


def or_one(options: Sequence[tuple[str, Any]], budget: Mapping[str, Any]) -> dict[str, Any]:
    """A budget, by default epsilon 1, for what is not paid for."""
    given = {name: value for name, value in budget.items() if value is not None}
    return given if options or {"epsilon", "error"} & set(given) else {"epsilon": 1, **given}


def weights_comment(asked: Request) -> str:
    """The weights as a comment of the SQL that a ledger records; empty without weights."""
    if not asked.weights:
        return ""
    words = ", ".join(f"{name} = {decimal_text(weight)}" for name, weight in asked.weights)
    return f" /* weights: {words.replace('*/', '* /').replace('/*', '/ *')} */"  # comments nest: neither sign may stand in a name


def _whole(groups: int) -> int:
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise InvalidInput(
            f"groups must be a whole number of at least 1, not {str(groups)[:40]}; give for example groups=100000",
            argument="groups",
        )
    return groups


def read_weights(weights: Mapping[str, Number] | None) -> tuple[tuple[str, Fraction], ...]:
    """The weights in the order of their names."""
    if weights is None:
        return ()
    if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
        raise InvalidInput("weights must be a mapping from column names to numbers; give for example weights={'cost': 3}")
    exact_weights = {name: exact(weight, "weight") for name, weight in weights.items()}
    for name, weight in exact_weights.items():
        if not Fraction(1, HEAVIEST) <= weight <= HEAVIEST:
            raise InvalidInput(f"the weight of {brief(name)} must lie between 0.001 and {HEAVIEST}; give for example 3")
    return tuple(sorted(exact_weights.items()))


def _usual(number: Fraction, name: str) -> Fraction:
    """A number that keeps noise and intervals within the range of a float."""
    if not LEAST <= number <= 1 / LEAST:
        raise InvalidBudget(f"{name} must lie between 1e-30 and 1e30; give for example {name}=0.5", argument=name)
    return number


def _enough(epsilon: Fraction) -> Fraction:
    if epsilon < LEAST_EPSILON:
        raise InvalidBudget("epsilon of a question must be at least 0.0001; give for example epsilon=0.1", argument="epsilon")
    return epsilon


UNIT = Neighbours("add-remove", "unit")


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
    `workloads` of the first part are measurements that parts share, from the exact cells of `sources`.
    """

    question: Question
    request: Request
    reach: Reach
    sums: tuple[Sum, ...]
    ranks: tuple[Rank, ...]
    keys: Keys | None
    epsilon: Fraction
    delta: Fraction
    margins: tuple[Margin, ...] = ()
    modes: tuple[Mode, ...] = ()
    beside: tuple[Quote, ...] = ()
    below: tuple[Quote, ...] = ()
    shares: tuple[tuple[object, Fraction], ...] = ()
    stated: tuple[Fraction, Fraction] | None = None
    shared: tuple[Shared, ...] = field(default=(), metadata=UNSAID)
    workloads: tuple[Workload, ...] = field(default=(), metadata=UNSAID)
    sources: tuple[Group, ...] = field(default=(), metadata=UNSAID)

    @property
    def event(self) -> Event:
        """Where `stated`, all that has Gaussian noise is one event with that epsilon and delta; else each has its rho alone."""
        events = [event for part in self.parts for event in part._events]
        if self.stated is None:
            return Batch(tuple(events))
        gaussian = tuple(event for event in events if isinstance(event, GaussianNoise | GaussianKeys))
        rest = tuple(event for event in events if not isinstance(event, GaussianNoise | GaussianKeys))
        return Batch((*rest, CalibratedGaussian(gaussian, *self.stated)))

    @property
    def _events(self) -> tuple[Event, ...]:
        """The releases for this part alone."""
        shared = [event for each in self.workloads for event in each.strategy.event.events]
        events: list[Event] = [*shared, *(part.mechanism.event for part in self.sums), *self.drawn_events]
        return (self.keys.event, *events) if self.keys else tuple(events)

    @property
    def drawn_events(self) -> tuple[Event, ...]:
        """The events of what is drawn group by group; of a tree, one for all of its quantiles."""
        trees = {part.place: part.event for part in self.ranks if isinstance(part.mechanism, FromTree)}
        return *trees.values(), *(part.event for part in self.drawn if not isinstance(part.mechanism, FromTree))

    @property
    def parts(self) -> tuple[Quote, ...]:
        """The quotes of all parts, in the order of the question's."""
        return self, *self.beside, *self.below

    @property
    def noisy_sums(self) -> tuple[Released, ...]:
        """The sums of this part, measured, added up and estimated."""
        return self.sums + self.margins + self.shared

    @property
    def measured(self) -> bool:
        """Whether anything is asked of the engine for this part."""
        return bool(self.sums or self.drawn or self.keys)

    @property
    def drawn(self) -> tuple[Rank | Mode, ...]:
        """The mechanisms that draw group by group from lists of values."""
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


# --- the mechanism of every released number, once its share of the budget is known -------------------------------------------


LARGEST_EPSILON = 1000  # beyond it e^epsilon takes long to compute and means nothing
FINEST_GRID = 2**40  # points from which a quantile is released by smooth sensitivity


def dimension_of(question: Question, touched: Reach) -> int:
    """How many numbers get noise: the public groups; for private keys, those that one unit can touch (gaussian.md)."""
    return touched.groups if private(question) else cells_of(question)


def laplace(question: Question, moment: Moment, touched: Reach, epsilon: Fraction) -> Laplace:
    """The noise of one moment over all groups, for a share of epsilon."""
    return Laplace(l1_sensitivity(moment, touched), epsilon, 1, dimension_of(question, touched), True, touched.neighbours)


def gaussian(question: Question, moment: Moment, touched: Reach, rho: Fraction) -> Gaussian:
    """The same for a concentrated loss."""
    return Gaussian(l2_sensitivity(moment, touched), rho, 1, dimension_of(question, touched), True, touched.neighbours)


Noises = list[tuple[tuple[Sum, ...], tuple[Margin, ...]]]


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of every item in `whole`, the epsilon of the question; for a unit that changes, each counts `factor` times."""

    of: Mapping[Item, Fraction]
    whole: Fraction
    factor: int
    rhos: Mapping[int, Fraction] = field(default_factory=dict)  # of private keys with Gaussian noise, by their part

    def epsilon(self, part: int, what: Moment | Call | Literal["keys"]) -> Fraction:
        """The epsilon of an item; of a sum that no unit can change, the whole, since it costs nothing."""
        return self.whole * self.of.get(Item(part, what), Fraction(1)) / self.factor


def with_noise(question: Question, added: Summed, noise: Callable[[int, Moment], Additive]) -> Noises:
    """For every part the sums that get noise, and those that are added up from the sums of another part."""

    def made(at: int, place: int, moment: Moment) -> Sum:
        pause()
        return Sum(place, moment, noise(at, moment))

    sums = [
        tuple(made(at, place, moment) for place, moment in measured(part, at in added)) for at, part in enumerate(question.parts)
    ]
    margins: list[tuple[Margin, ...]] = [()] * len(sums)
    for at, (source, count) in added.items():
        parts = {part.moment: part for part in sums[source]}
        wanted = [(place, moment) for place, moment in charged_sums(question.parts[at]) if moment.kind in ADDITIVE]
        margins[at] = tuple(
            Margin(place, moment, source, parts[moment].place, Added(parts[moment].mechanism, count)) for place, moment in wanted
        )
    return list(zip(sums, margins, strict=True))


def quote_of(question: Question, asked: Request, touched: Sequence[Reach], noises: Noises, shares: Shares) -> Quote:
    """The quote of a question whose sums have their noise; all else that is released has its epsilon by `shares`."""
    concentrated = bool(shares.rhos) or any(part.mechanism.concentrated for sums, _ in noises for part in sums)
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
        keys = _keys(at, part, reached, shares, for_keys) if private(part) else None
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


def _keys(at: int, question: Question, touched: Reach, shares: Shares, delta: Fraction) -> Keys:
    """`delta` is for the keys; a unit that changes passes it along two neighbours, so it counts 1 + e^epsilon times."""
    share, factor = shares.epsilon(at, "keys"), shares.factor
    if not delta:
        raise NoBudget(
            "private keys require a delta: groups are released through a noisy threshold",
            remedy="give for example delta=1e-7",
            argument="delta",
        )
    if factor == 2 and share > LARGEST_EPSILON:
        raise InvalidBudget(f"epsilon is too large for private keys; the limit is {LARGEST_EPSILON} per number", argument="epsilon")
    people = max(question.group.people or 0, *(table.min_people for table in tables_of(question.group)))
    if at in shares.rhos:
        return GaussianKeyThreshold(shares.rhos[at], delta, touched.units_l1, people, UNIT)
    passed = 1 + exp_up(share) if factor == 2 else 1
    return KeyThreshold(share, delta / passed, touched.units_l1, people, UNIT)


# --- several quantiles of one list: draws of their own, or one tree of counts (mechanisms/tree/tree.md) ----------------------


MOST_LEVELS = 5  # of a tree: a quantile that is read from more takes longer than its worst case is priced (work.md)
USUALLY = 3.0  # spreads over epsilon by which one draw misses its rank at most, 19 times of 20


def shared(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """The quantiles of a part; those of one list from a tree with all of their epsilon, where that is expected to miss by less."""
    trees: dict[int, Tree] = {}
    for place in {rank.place for rank in ranks}:
        drawn = [rank.mechanism for rank in ranks if rank.place == place]
        alike = [each for each in drawn if isinstance(each, Quantile | QuantileWithInterval)]
        if 1 < len(alike) == len(drawn) and _serves(tree := _tree(alike), alike):
            trees[place] = tree
    return tuple(replace(rank, mechanism=_of(rank.mechanism, trees[rank.place])) if rank.place in trees else rank for rank in ranks)


def _serves(tree: Tree, drawn: Sequence[Quantile | QuantileWithInterval]) -> bool:
    return tree.levels <= MOST_LEVELS and _missed_by(tree, drawn) < _missed_by(None, drawn)


def _tree(drawn: Sequence[Quantile | QuantileWithInterval]) -> Tree:
    epsilon = sum((each.epsilon for each in drawn), start=Fraction(0))
    return fitting(drawn[0].grid.points, epsilon, drawn[0].max_rows, drawn[0].neighbours)


def _of(drawn: object, tree: Tree) -> FromTree:
    if isinstance(drawn, QuantileWithInterval):
        return FromTree(drawn.q, drawn.confidence, tree)
    assert isinstance(drawn, Quantile)  # noqa: S101  # the caller has looked
    return FromTree(drawn.q, None, tree)


def _missed_by(tree: Tree | None, drawn: Sequence[Quantile | QuantileWithInterval]) -> float:
    """The expected errors of all quantiles, as a logarithm: the errors, times the half widths where there are intervals.

    Each counts by its part of epsilon, which is larger where the analyst gave it more weight.
    """
    return sum(float(each.epsilon) * sum(map(math.log, _figures(tree, each))) for each in drawn)


def _figures(tree: Tree | None, drawn: Quantile | QuantileWithInterval) -> Iterable[float]:
    if isinstance(drawn, Quantile):
        usual = USUALLY * float(drawn.spread / drawn.epsilon)
        return [usual + float(abs(drawn.shift)) if tree is None else tree.error(drawn.q)]
    if tree is not None:
        width = tree.half_width(drawn.q, 1 - drawn.confidence)
        return [width, width] if drawn.extreme else [tree.error(drawn.q), width]
    aside = float(max(drawn.margins))
    if drawn.extreme:
        return [aside, aside]
    return [USUALLY * float(drawn.of_many.low.spread / drawn.of_many.epsilon), aside]


# --- modes: the most frequent value of every group, among the declared ones (modes.md) ---------------------------------------


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


def priced_modes(question: Question, epsilon: Callable[[Call], Fraction], touched: Reach) -> tuple[Mode, ...]:
    """Every mode of a part at its `epsilon` for all of its groups together."""
    return tuple(Mode(place, call, _mechanism(call, epsilon(call), touched)) for place, call in modes_of(question))


def _mechanism(call: Call, epsilon: Fraction, touched: Reach) -> Exponential:
    """The factor is epsilon / R for a unit of R rows: it raises counts only. One that changes lowers some: epsilon / (2 R)."""
    half = Fraction(touched.l1, 2)
    moved = half if touched.change == "add-remove" else 2 * half
    return Exponential(moved, epsilon, candidates(call), touched.neighbours)
