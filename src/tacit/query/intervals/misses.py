"""The statements by which the numbers of an answer hold, and the chance with which each of them may miss.

A number of an answer is made from released numbers ("cells": one moment in one group). If each of n cells misses its ends with a
chance of at most b / n, all ends hold together with 1 - b, and so does every number that interval arithmetic makes of them.

A mean is a sum over a count: that both lie between their ends is two statements, and their box is wider than the mean needs. That
the released sum less m times the released count is as small as its noise is one, and it is about the mean alone (ratios.md). So a
mean, a variance, a sum or a ratio of several cells counts as one. A window draws on many rows: on the sum of their noises, whose
own law is known, or on a box around all cells.

Where released numbers choose the rows (HAVING, QUALIFY, ORDER BY with LIMIT), a row may be there because its noise was high. The
ends then hold for all rows before the choice together, so for those that are left, however they were chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from tacit.errors import NotAllowed
from tacit.query.intervals.aggregates import moments_of, row_of, shown_at_most, spread, step_of, weights_of
from tacit.query.intervals.bands import Asked
from tacit.query.intervals.linear_models import MODEL_PARTS
from tacit.query.plan import Moment
from tacit.query.question import (
    Arithmetic,
    Beside,
    Call,
    End,
    Number,
    Out,
    Question,
    Result,
    Window,
    cells_of,
    inner,
    is_noisy,
    nodes,
    private,
)

SPREADS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp"})
COVARIANCES = frozenset({"covar_pop", "covar_samp"})
REGRESSIONS = frozenset({"corr", "regr_slope", "regr_intercept", *MODEL_PARTS})
DECLARED = frozenset({"avg"}) | SPREADS | COVARIANCES  # their range follows from the bounds of a column
Weights = tuple[tuple[Moment, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """A constant, and released sums times constants."""

    weights: Weights
    constant: Fraction

    def plus(self, other: Linear, factor: Fraction) -> Linear:
        """The sum of it and of another one times a factor."""
        return _linear([*self.weights, *((moment, factor * weight) for moment, weight in other.weights)], self, other, factor)

    def times(self, factor: Fraction) -> Linear:
        """Every weight times a factor."""
        return NOTHING.plus(self, factor)


NOTHING = Linear((), Fraction(0))


def _linear(weights: Iterable[tuple[Moment, Fraction]], one: Linear, other: Linear, factor: Fraction) -> Linear:
    """Weights of the same moment added up; those that come to nothing are left out."""
    total: dict[Moment, Fraction] = {}
    for moment, weight in weights:
        total[moment] = total.get(moment, Fraction(0)) + weight
    kept = tuple((moment, weight) for moment, weight in total.items() if weight)
    return Linear(kept, one.constant + factor * other.constant)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One of them divided by another."""

    above: Linear
    below: Linear


@dataclass(frozen=True, slots=True)
class Moments:
    """A mean, a variance, a covariance or a regression; a deviation is the root of a variance, and holds with it."""

    call: Call


Statement = Linear | Ratio | Moments


def statement_of(node: object, question: Question) -> Statement | None:
    """The one statement by which an output holds; None where its parts hold each by itself, or it has one part only."""
    if isinstance(node, Result):
        call = question.calls[node.index]
        if call.name in SPREADS:
            return Moments(_variance(call))
        if call.name == "avg" or call.name in COVARIANCES | REGRESSIONS:
            return Moments(call)
    if not isinstance(node, Result | Arithmetic):
        return None
    if (whole := linear(node, question)) is not None:
        return whole if len(whole.weights) > 1 else None
    if isinstance(node, Arithmetic) and node.operator == "/":
        above, below = linear(node.left, question), linear(node.right, question)
        if above is not None and below is not None and above.weights and below.weights:
            several = len({moment for part in (above, below) for moment, _ in part.weights}) > 1
            return Ratio(above, below) if several else None
    return None


def _variance(call: Call) -> Call:
    return replace(call, name=call.name.replace("stddev", "var"))


def linear(node: object, question: Question) -> Linear | None:
    """An output as a weighted sum of released sums, if it is one; numbers of units that came with private keys are not."""
    if isinstance(node, Number):
        return Linear((), node.value)
    if isinstance(node, Result):
        call = question.calls[node.index]
        weights = weights_of(call, question.calls)
        moments = moments_of(call, question.calls)
        if weights is None or (private(question) and any(moment.kind == "units" for moment in moments)):
            return None
        summed = Linear(tuple(zip(moments, weights, strict=True)), Fraction(0))
        return summed if len(weights) == 1 and weights[0] else NOTHING.plus(summed, Fraction(1))
    if not isinstance(node, Arithmetic):
        return None
    left, right = linear(node.left, question), linear(node.right, question)
    if left is None or right is None:
        return None
    return _combine(node.operator, left, right)


def _combine(operator: str, left: Linear, right: Linear) -> Linear | None:
    match operator:
        case "+":
            return left.plus(right, Fraction(1))
        case "-":
            return left.plus(right, Fraction(-1))
        case "*" if not left.weights:
            return right.times(left.constant)
        case "*" if not right.weights:
            return left.times(right.constant)
        case "/" if not right.weights and right.constant:
            return left.times(1 / right.constant)
        case _:
            return None


def declared(call: Call) -> tuple[float, float]:
    """The range of a mean, a variance, a deviation or a covariance, whatever the data: from the declared bounds."""
    node, step = row_of(call.over), step_of(call.over)
    if call.name in REGRESSIONS:
        ranges = {"corr": (-1.0, 1.0), "linreg_r2": (0.0, 1.0)}
        return ranges.get(call.name, (-float("inf"), float("inf")))
    if call.name == "avg":
        return float(node.low) * step, float(node.high) * step
    widest = spread(call.over) * step
    factor = 2 if call.name.endswith("samp") else 1
    if call.name in COVARIANCES:
        most = widest * spread(call.other) * step_of(call.other) * factor / 4
        return -most, most
    variance = widest**2 * factor / 4
    return 0.0, variance**0.5 if call.name.startswith("stddev") else variance


# --- how many statements an output is made of --------------------------------------------------------------------------------


Cell = tuple[Moment, Fraction | None] | Statement


def calls_of(node: object, question: Question) -> Iterator[Call]:
    """The aggregates inside an output, a test or a window."""
    for each in nodes(node):
        if isinstance(each, Result):
            yield question.calls[each.index]


def beside_in(node: object) -> set[int]:
    """The questions beside this one whose numbers are in an output, a test or a window."""
    return {each.index for each in nodes(node) if isinstance(each, Beside)}


def calls_behind(out: Out, question: Question) -> Iterator[Call]:
    """The aggregates that decide an output: those inside it, and of a window also those by which HAVING chooses its rows."""
    yield from calls_of(out, question)
    if question.having is not None and any(isinstance(node, Window) for node in nodes(out)):
        yield from calls_of(question.having, question)


def of_quantiles(out: Out, question: Question, beside: Sequence[Question]) -> bool:
    """Whether a quantile is behind an output, of this question or of one beside it."""
    calls = [*calls_behind(out, question), *(call for index in beside_in(out) for call in beside[index].calls)]
    return any(call.name == "quantile" for call in calls)


def chooses(question: Question) -> bool:
    """Whether released numbers decide which rows are shown."""
    tests = [test for test in (question.having, question.qualify) if test is not None]
    cut = question.limit is not None or question.offset > 0
    return any(map(is_noisy, tests)) or (cut and any(map(is_noisy, question.order)))


def is_exact(out: Out, question: Question) -> bool:
    """Whether keys and constants alone decide a column; a window sees the rows that HAVING leaves."""
    if isinstance(out, End):
        return False
    having = question.having is not None and is_noisy(question.having)
    return not is_noisy(out) and not (having and any(isinstance(node, Window) for node in nodes(out)))


def window_kind(window: Window, question: Question) -> Literal["exact", "linear", "moved", "box"]:
    """How a window gets its ends.

    exact   keys alone decide it
    linear  a sum of released sums over rows that keys decide: by the law of the sum of their noises
    moved   the value of another row that keys decide
    box     all else: by ends of all rows that hold together
    """
    if any(map(is_noisy, window.order)) or (question.having is not None and is_noisy(question.having)):
        return "box"
    if not is_noisy(window):
        return "exact"
    if window.function in ("shift", "first", "last"):
        return "moved"
    return "linear" if window.function in ("sum", "avg") and _is_sum(window.child, question) else "box"


def _is_sum(child: object, question: Question) -> bool:
    """Whether a child is a count or a sum with noise of its own; numbers of units that came with private keys have none."""
    if not isinstance(child, Result):
        return False
    call = question.calls[child.index]
    counted = private(question) and any(moment.kind == "units" for moment in moments_of(call, question.calls))
    return weights_of(call, question.calls) is not None and not counted


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The sources of one output: cells and statements of its own row, of other rows, sums over rows, and those of all rows."""

    question: Question
    own: set[Cell] = field(default_factory=set)
    others: set[tuple[Window, Cell]] = field(default_factory=set)
    sums: set[tuple[Window, Moment]] = field(default_factory=set)
    everywhere: set[Cell] = field(default_factory=set)
    beside: set[int] = field(default_factory=set)

    def look(self, node: object) -> None:
        """Adds what a node draws on."""
        if isinstance(node, Result) or statement_of(node, self.question) is not None:
            self.own.update(_cells_in(node, self.question))
        elif isinstance(node, Window):
            self._window(node)
        elif isinstance(node, Beside):
            self.beside.add(node.index)
        else:
            for part in inner(node):
                self.look(part)

    def _window(self, window: Window) -> None:
        kind = window_kind(window, self.question)
        cells = set(_inside(window, self.question))
        self.beside.update(beside_in(window))
        if kind == "linear":
            self.sums.update((window, moment) for moment, _ in _cells(window, self.question))
        elif kind == "moved":
            self.others.update((window, cell) for cell in cells)
        elif kind == "box":
            having = self.question.having
            self.everywhere.update(cells, _cells_in(having, self.question) if having is not None else ())
            self.beside.update(beside_in(having) if having is not None else ())

    def count(self, groups: int, together: bool) -> int:
        """How many released numbers that is: for one row, or for all rows `together`."""
        others = {(None if together else window, cell) for window, cell in self.others}
        cells = {(None, cell) for cell in self.own} | others
        single = sum(cell not in self.everywhere for _, cell in cells)
        sums = sum(groups if together and (window.order or window.partition) else 1 for window, _ in self.sums)
        asked = [self.question.beside[index] for index in self.beside]
        alone = sum(pieces(other.outputs[0].value, other, 1, together) for other in asked)
        return len(self.everywhere) * groups + single * (groups if together else 1) + sums + alone


def _cells_in(node: object, question: Question) -> Iterator[Cell]:
    """The statements inside a node, as high up as there are, else its cells. A window counts all of its cells."""
    if (statement := statement_of(node, question)) is not None:
        yield statement
    elif isinstance(node, Result):
        yield from _cells(node, question)
    else:
        yield from _inside(node, question)


def _inside(node: object, question: Question) -> Iterator[Cell]:
    for part in inner(node):
        yield from _cells_in(part, question)
        if isinstance(part, Window):
            yield from _cells(part, question)


def _cells(node: object, question: Question) -> Iterator[tuple[Moment, Fraction | None]]:
    for call in calls_of(node, question):
        for moment in moments_of(call, question.calls):
            yield moment, call.share


def pieces(out: object, question: Question, groups: int, together: bool) -> int:
    """How many released numbers an output is made of, at least one: in one row, or in all rows together."""
    drawn = _Drawn(question)
    drawn.look(out)
    return max(1, drawn.count(groups, together))


# --- the chance of a miss that is left to each -------------------------------------------------------------------------------


def missed_by(out: Out, question: Question, asked: Asked, groups: int) -> Fraction:
    """The chance that each released number of an output may miss, so that the output misses with at most 1 - confidence.

    Where released numbers choose the rows, or where it is asked for, all rows hold together; then also all columns, and of a list
    all questions.
    """
    together = asked.simultaneous or chooses(question)
    columns = sum(1 for output in question.outputs if is_noisy(output.value)) if asked.simultaneous else 1
    parts = question.among * (question.questions if asked.simultaneous else 1) if together else 1
    return (1 - asked.confidence) / (pieces(out, question, groups, together) * max(1, columns) * parts)


def missed_for(question: Question, asked: Asked, call: Call) -> Fraction:
    """The strictest chance of a miss among the outputs that use a call; private keys count as many groups as can be shown."""
    if asked.simultaneous and private(question):
        raise NotAllowed("with private keys, intervals hold per value only", remedy="leave out simultaneous")
    outs = [output.value for output in question.outputs if call in calls_behind(output.value, question)]
    return min((missed_by(out, question, asked, most_groups(question)) for out in outs), default=1 - asked.confidence)


def missed_in(at: int, call: Call, question: Question, asked: Asked) -> Fraction:
    """The same for the call of a part; where it stands beside the question, among the outputs that use its number."""
    part, index = question.parts[at], at - 1
    if not 0 <= index < len(question.beside):
        return missed_for(part, asked, call)
    if asked.simultaneous and any(map(private, question.shown)):
        raise NotAllowed("with private keys, intervals hold per value only", remedy="leave out simultaneous")
    used = [(each, out.value) for each in question.shown for out in each.outputs if index in beside_in(out.value)]
    return min((missed_by(out, each, asked, most_groups(each)) for each, out in used), default=1 - asked.confidence)


def most_groups(question: Question) -> int:
    """How many groups an answer can have."""
    return shown_at_most(question) if private(question) else cells_of(question)
