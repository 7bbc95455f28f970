"""How many released numbers an output is made of: what the chance of a miss is divided by, so that all of them hold together.

A number of an answer is made from released numbers ("cells": one moment in one group). If each of n cells misses its ends with a
chance of at most b / n, all ends hold together with 1 - b, and so does every number that interval arithmetic makes of them. A mean,
a variance, a sum or a ratio of several cells counts as one: one statement about all of its cells holds it (statements.py). A
window draws on many rows: on the sum of their noises, whose own law is known, or on a box around all cells.

Where released numbers choose the rows (HAVING, QUALIFY, ORDER BY with LIMIT), a row may be there because its noise was high. The
ends then hold for all rows before the choice together, so for those that are left, however they were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tacit.query.groups import private
from tacit.query.plan import Call, Moment, Question
from tacit.query.price.aggregates import moments_of, weights_of
from tacit.query.price.statements import Statement, statement_of
from tacit.query.results import Beside, Out, Result, Window, inner, is_noisy, nodes

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
    """What one output draws on: cells and statements of its own row, of other rows, sums over rows, and those of all rows."""

    question: Question
    own: set[Cell] = field(default_factory=set)
    others: set[tuple[Window, Cell]] = field(default_factory=set)
    sums: set[tuple[Window, Moment]] = field(default_factory=set)
    everywhere: set[Cell] = field(default_factory=set)
    beside: set[int] = field(default_factory=set)

    def look(self, node: object) -> None:
        """Adds what a node draws on."""
        if isinstance(node, Result) or statement_of(node, self.question) is not None:
            self.own.update(_held(node, self.question))
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
            self.everywhere.update(cells, _held(having, self.question) if having is not None else ())
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


def _held(node: object, question: Question) -> Iterator[Cell]:
    """What holds the numbers inside a node: statements as high up as there are, else cells. A window counts all of its cells."""
    if (statement := statement_of(node, question)) is not None:
        yield statement
    elif isinstance(node, Result):
        yield from _cells(node, question)
    else:
        yield from _inside(node, question)


def _inside(node: object, question: Question) -> Iterator[Cell]:
    for part in inner(node):
        yield from _held(part, question)
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
