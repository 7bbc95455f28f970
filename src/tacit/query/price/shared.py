"""Noise shaped to several grouping sets: measurements that all parts of a question share (mechanisms/residual.md).

The parts must be margins of one table: over the same rows, with public keys, and of counts and sums alone. Then each number can be
estimated from measurements of all sets of keys. Whether that is better than noise for each part follows from public parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from tacit.accounting.gaussian_curve import Moves, calibrated_rho
from tacit.mechanisms.ranges import Cumulated
from tacit.mechanisms.residual import Axes, Contribution, Estimated, Measurement, Residual, cells, closure
from tacit.mechanisms.residual_shares import (
    CUMULATIVE,
    MOST_SETS,
    Loss,
    Wanted,
    gaussian_shares,
    gaussian_strategy,
    laplace_shares,
    laplace_strategy,
)
from tacit.query.intervals.bands import Shared, Workload
from tacit.query.plan import (
    All,
    BooleanType,
    Bound,
    Choose,
    Column,
    Condition,
    Group,
    Key,
    Literal,
    Moment,
    PublicRows,
    Rows,
    Term,
    Where,
)
from tacit.query.price.needs import epsilon_shares, rho_shares
from tacit.query.price.quote import Quote, Request, together
from tacit.query.price.stability import Reach, l1_sensitivity, row_range
from tacit.query.question import End, Fixed, KeyValue, Number, Question, Result, domain, pause, private
from tacit.query.trees import nodes_of

FORMED = frozenset({"count", "sum"})
SHARED = frozenset({"rows", "sum"})
PLAIN = KeyValue | Result | Fixed | Number | End
FEWEST_PARTS = 2
MOST_SHARED_CELLS = 10**6  # of all parts
MOST_SOURCE_CELLS = 1_500  # of one statement of the engine, which serves several parts: more cost more than they save


Important = Mapping[tuple[int, Moment], Fraction]
"""How much the squared error of one number counts, by part and moment."""


@dataclass(frozen=True)
class Sharing:
    """The margins of a question: its keys as axes, with their sizes, and the axes and sums (`measured`) of every part."""

    keys: tuple[Key, ...]
    sizes: tuple[int, ...]
    parts: tuple[Axes, ...]
    moments: tuple[Moment, ...]
    measured: tuple[tuple[Moment, ...], ...]
    rows: Rows
    conditions: tuple[Key | None, ...]

    @classmethod
    def of(cls, question: Question, touched: Sequence[Reach], fewest: int = FEWEST_PARTS) -> Sharing | None:
        """The margins of a question; None where its parts are not margins of one table, or fewer than `fewest` are asked for."""
        if len(question.below) + 1 < fewest or question.beside or not all(map(is_margin, question.parts, touched)):
            return None
        rows, conditions = common_rows([part.group.child for part in question.parts])
        if rows is None or (any(conditions) and not question.listed):
            return None
        keys: dict[Term, Key] = {}
        own = [
            (*part.group.keys, *([] if condition is None else [condition]))
            for part, condition in zip(question.parts, conditions, strict=True)
        ]
        for key in (each for part in own for each in part):
            if keys.setdefault(key.term, key).kept != key.kept:
                return None
        places = {term: at for at, term in enumerate(keys)}
        sizes = tuple(len(domain(key)) for key in keys.values())
        parts = tuple(tuple(sorted(places[key.term] for key in part)) for part in own)
        moments = tuple(dict.fromkeys(moment for part in question.parts for moment in part.group.moments))
        if any(len(set(axes)) < len(axes) for axes in parts) or sum(cells(axes, sizes) for axes in set(parts)) > MOST_SHARED_CELLS:
            return None
        known = set[Axes]()
        for axes in set(parts):
            if 2 ** len(axes) > MOST_SETS or len(known := known | set(closure([axes]))) > MOST_SETS:
                return None
        measured = tuple(part.group.moments for part in question.parts)
        return cls(tuple(keys.values()), sizes, parts, moments, measured, rows, conditions)

    @cached_property
    def sources(self) -> tuple[Axes, ...]:
        """Sets of axes that contain every part, few and not too large together: what the engine counts by."""
        waiting = [axes for axes in dict.fromkeys(self.parts) if not any(set(axes) < set(other) for other in self.parts)]
        blocks = []
        while waiting:
            block = set(waiting[0])
            while (more := self._joining(block, waiting)) is not None:
                block.add(more)
            blocks.append(tuple(sorted(block)))
            waiting = [axes for axes in waiting if not set(axes) <= block]
        return tuple(blocks)

    def _joining(self, block: set[int], waiting: Sequence[Axes]) -> int | None:
        """The axis with which a block contains the most further parts, if any; the first of several."""
        gains = {}
        for axis in range(len(self.sizes)):
            larger = block | {axis}
            if axis not in block and cells(tuple(larger), self.sizes) <= MOST_SOURCE_CELLS:
                gains[axis] = sum(set(axes) <= larger for axes in waiting)
        best = max(gains, key=lambda axis: (gains[axis], -axis), default=None)
        return best if best is not None and gains[best] > sum(set(axes) <= block for axes in waiting) else None

    def groups(self) -> tuple[Group, ...]:
        """The plans of the sources: each with its keys in the order of the axes, and the sums of the parts that it contains."""
        return tuple(Group(self.rows, tuple(self.keys[axis] for axis in axes), self._moments_of(axes)) for axes in self.sources)

    def _moments_of(self, source: Axes) -> tuple[Moment, ...]:
        pairs = zip(self.parts, self.measured, strict=True)
        held = {moment for axes, measured in pairs if set(axes) <= set(source) for moment in measured}
        return tuple(moment for moment in self.moments if moment in held)

    def as_run(self, question: Question) -> Question:
        """A question with the sources as its parts: what answering it costs in work."""
        first, *others = (replace(question, group=group, below=()) for group in self.groups())
        return replace(first, below=tuple(others))

    def wanted(self, moment: Moment, important: Important | None, loss: str | None = None) -> tuple[Wanted, ...]:
        """The cells of every part with this sum: all count alike, or those of each part together as much as is said.

        For the loss "cumulative", keys of one column are its digits, in their order, and a part counts along them.
        """
        own = [(at, axes) for at, axes in enumerate(self.parts) if moment in self.measured[at]]
        if loss == CUMULATIVE:
            return tuple(self._cumulative_numbers(axes) for axes in dict.fromkeys(axes for _, axes in own))
        shares = {axes: Fraction(0) for _, axes in own}
        for at, axes in own:
            shown = Fraction(1, 1 if self.conditions[at] is None else 2)  # of the cells: those where the condition is true
            shares[axes] += shown if important is None else important[at, moment] / cells(axes, self.sizes)
        return tuple(Wanted.cells_of(axes, self.sizes, share) for axes, share in shares.items())

    def _cumulative_numbers(self, axes: Axes) -> Wanted:
        """The numbers of a part, along the digits that it has of every column."""
        columns: dict[object, tuple[int, ...]] = {}
        for axis in axes:
            read = frozenset(node for node in nodes_of(self.keys[axis].term.node) if isinstance(node, Column))
            columns[read] = (*columns.get(read, ()), axis)
        ordered = tuple(digits for digits in columns.values() if len(digits) > 1)
        return Cumulated.along(axes, ordered, self.sizes) if ordered else Wanted.cells_of(axes, self.sizes)


# --- rows that parts have in common, and what else each part asks of a row ---------------------------------------------------


def common_rows(children: Sequence[Rows]) -> tuple[Rows | None, tuple[Key | None, ...]]:
    """The rows that all parts have in common, with the condition of each part on them; no rows where parts differ by more.

    A condition is a key of two values, the second where it is true. Parts of the same rows have none, whatever these are.
    """
    if all(child == children[0] for child in children):
        return children[0], (None,) * len(children)
    split = [_with_condition(child) for child in children]
    base = split[0][0]
    if not isinstance(base, Bound) or any(rows != base for rows, _ in split):
        return None, ()
    common = [each for each in split[0][1] if all(each in other for _, other in split)]
    rows: Rows = Where(base, _all(common)) if common else base
    return rows, tuple(_key_of([each for each in tests if each not in common]) for _, tests in split)


def _with_condition(rows: Rows) -> tuple[Rows | PublicRows, tuple[Condition, ...]]:
    """The rows below a WHERE, and its parts."""
    if not isinstance(rows, Where):
        return rows, ()
    return rows.child, rows.condition.parts if isinstance(rows.condition, All) else (rows.condition,)


def _all(tests: Sequence[Condition]) -> Condition:
    return tests[0] if len(tests) == 1 else All(tuple(tests))


def _key_of(tests: Sequence[Condition]) -> Key | None:
    """A key that is 1 where all of these are true, and 0 where they are false or unknown."""
    if not tests:
        return None
    return Key("", Term(Choose(((_all(tests), Literal(1)),), Literal(0), 0, 1, False), BooleanType()))


def is_margin(part: Question, touched: Reach) -> bool:
    """Whether a part is counts and sums over public groups, as they are, of all rows that a unit has."""
    plain = all(isinstance(output.value, PLAIN) for output in part.outputs)
    summed = all(
        moment.kind in SHARED and moment.together is None and l1_sensitivity(moment, touched) for moment in part.group.moments
    )
    return (
        plain
        and summed
        and not private(part)
        and part.qualify is None
        and part.group.per_group is None
        and all(call.name in FORMED for call in part.calls)
        and not touched.fixed
    )


def contribution(moment: Moment, touched: Reach) -> Contribution:
    """The part of one unit in a moment."""
    return Contribution(touched.rows, *row_range(moment), touched.neighbours)


# --- quotes ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sharer:
    """A question whose parts share measurements, and the request. Without `important`, all cells of all parts count alike."""

    question: Question
    asked: Request
    touched: tuple[Reach, ...]
    sharing: Sharing
    weights: Mapping[int, Fraction]
    important: Important | None = None

    @property
    def loss(self) -> Loss:
        """Whose error is made small: that of all cells together, or the largest."""
        return "largest" if self.asked.loss == "largest" else "squares"

    def _wanted(self, moment: Moment) -> tuple[Wanted, ...]:
        return self.sharing.wanted(moment, self.important, self.asked.loss)

    def with_laplace(self) -> Quote:
        """Every moment has its share of epsilon, and within that every measurement."""
        epsilon = self.asked.epsilon or Fraction(0)
        strategies = {}
        for moment, share in self._of_moments(concentrated=False).items():
            pause()
            shares = laplace_shares(self._wanted(moment), self.sharing.sizes, self.loss)
            strategies[moment] = laplace_strategy(shares, self.sharing.sizes, self._unit(moment), epsilon * share)
        return self._quote(strategies, Fraction(0))

    def with_gaussian(self, fallback: Fraction) -> Iterator[Quote]:
        """The least noise, stated with its epsilon and delta, and as rho alone; and noise within a rho that any cap admits."""
        parts = self._of_moments(concentrated=True)
        shares = {moment: gaussian_shares(self._wanted(moment), self.sharing.sizes, self.loss) for moment in parts}
        moves, weights = list[Moves](), list[Fraction]()
        for moment, listed in shares.items():
            for axes, share in listed:
                moves.append(self._moves(moment, axes))
                weights.append(parts[moment] * share)
        epsilon, delta = self.asked.epsilon or Fraction(0), self.asked.delta

        def quote(rho: Fraction) -> Quote:
            made = {
                moment: gaussian_strategy(listed, self.sharing.sizes, self._unit(moment), rho * parts[moment])
                for moment, listed in shares.items()
            }
            return self._quote(made, delta)

        least = quote(calibrated_rho(tuple(moves), tuple(weights), epsilon, delta))
        yield replace(least, stated=(epsilon, delta))
        yield least
        yield quote(fallback)

    def _of_moments(self, concentrated: bool) -> dict[Moment, Fraction]:
        """The share of every moment: what it would have in all parts together, if each were measured by itself."""
        if len(self.sharing.moments) == 1:
            return {self.sharing.moments[0]: Fraction(1)}
        split = rho_shares if concentrated else epsilon_shares
        each = split(self.question, self.touched, {}, self.weights)
        return {moment: sum(share for item, share in each.items() if item.what == moment) for moment in self.sharing.moments}  # type: ignore[misc]

    def _unit(self, moment: Moment) -> Contribution:
        return contribution(moment, self.touched[0])

    def _moves(self, moment: Moment, axes: Axes) -> Moves:
        unit, sizes = self._unit(moment), self.sharing.sizes
        alone = Measurement.of(axes, True, sizes, unit, None, Fraction(1)).noise
        length = unit.l2(axes, True, sizes)
        total, farthest = unit.l1(axes, True, sizes), unit.farthest(axes, True, sizes)
        return Moves(Fraction(int(length)) if alone.dimension == 1 else length, alone.dimension, total, min(total, farthest))

    def _quote(self, strategies: Mapping[Moment, Residual], delta: Fraction) -> Quote:
        parts = self.question.parts
        quotes = []
        for at, (part, axes) in enumerate(zip(parts, self.sharing.parts, strict=True)):
            shared = tuple(
                Shared(place, moment, Estimated(strategies[moment], axes, (1,) * len(axes), 0.0))
                for place, moment in enumerate(part.group.moments)
            )
            priced = self.asked.epsilon or Fraction(0)
            quotes.append(Quote(part, self.asked, self.touched[at], (), (), None, priced, delta, shared=shared))
        workloads = tuple(self._workload(moment, strategy) for moment, strategy in strategies.items())
        return replace(together(quotes), workloads=workloads, sources=self.sharing.groups())

    def _workload(self, moment: Moment, strategy: Residual) -> Workload:
        places = tuple(
            (at, part.group.moments.index(moment), self._order(at, part, axes))
            for at, (part, axes) in enumerate(zip(self.question.parts, self.sharing.parts, strict=True))
            if moment in part.group.moments
        )
        return Workload(moment, strategy, places, self.sharing.sources)

    def _order(self, at: int, part: Question, axes: Axes) -> tuple[int, ...]:
        """The places of the keys of a part, and of its condition after them, in the order of their axes."""
        terms, condition = [key.term for key in self.sharing.keys], self.sharing.conditions[at]
        own = [terms.index(key.term) for key in (*part.group.keys, *([] if condition is None else [condition]))]
        return tuple(own.index(axis) for axis in axes)


def deviations(quote: Quote) -> list[float]:
    """The deviation of one number of every part and sum, for a comparison of many parts that share measurements."""
    return [each.mechanism.variance**0.5 for part in quote.parts for each in part.shared]


def total_error(quote: Quote, widths: Sequence[float], loss: str) -> float:
    """The error by which quotes are compared where a loss is asked for: of all cells together, or the largest."""
    counted = [part.cells or 1 for part in quote.parts for _ in part.question.calls]
    if loss == "largest":
        return max(widths)
    return sum(count * width**2 for count, width in zip(counted, widths, strict=True))
