"""The answer to a SELECT from answers: made of released answers and public tables, so it is public already and costs nothing more.

A released number that is shown unchanged keeps its interval. One that is made of several has the range of all of them while each
lies between its ends, which then miss with a smaller chance each; where noisy numbers choose the rows, the ends of all rows hold
together, before the choice. The ends follow from the noise that was paid for. If an answer was kept without its parts, or nothing
is known of what the exact numbers would give, the interval is open, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.privacy.catalog import day_number
from tacit.query.answers.plan import Derivation, Draw, Draws, Field
from tacit.query.answers.rows import Held, Law, numbers_of, rows_of
from tacit.query.intervals.aggregates import weights_of
from tacit.query.intervals.bands import Cells, Noisy, Numbers, Shared, Words, noises_of
from tacit.query.intervals.columns import Columns
from tacit.query.intervals.misses import chooses, missed_in, of_quantiles, pieces
from tacit.query.price.price import Quote
from tacit.query.price.quote import Request
from tacit.query.question import Result
from tacit.release.answer import CHOSEN, MODE, PUBLIC, TEXT, UNKNOWN, Answer, Column, Receipt
from tacit.release.elsewhere.packed import parts_read
from tacit.release.tabulate import kept_rows

if TYPE_CHECKING:
    from tacit.accounting.ledger.selling import Sale
    from tacit.query.offers import Offer
    from tacit.release.once import Sold


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """One question of the statement: its answer, and the quote and the numbers from which its intervals follow."""

    answer: Answer
    quote: Quote
    noisy: Noisy | None

    @property
    def parts(self) -> list[tuple[Quote, Noisy]]:
        """The parts that have rows."""
        if self.noisy is None:
            return []
        return list(zip((self.quote, *self.quote.below), (self.noisy, *self.noisy.below), strict=True))

    def weight(self, output: int, together: bool) -> int:
        """How many released numbers an output is made of, in one row or in all of them."""
        together = together or any(map(chooses, self.quote.question.shown))
        groups = [len(noisy.groups) for _, noisy in self.parts] or [len(self.answer)] * len(self.quote.question.shown)
        each = (
            pieces(part.outputs[output].value, part, max(1, size), together)
            for part, size in zip(self.quote.question.shown, groups, strict=True)
        )
        return max(each) * (self.quote.question.among if together else 1)

    def cells(self, output: int, missed: Fraction) -> Cells:
        """An output in every row of the answer, each released number of it within its ends except with a chance of `missed`."""
        if not self.parts or not self._is_drawn_for(output, missed):
            return self._as_kept(output, missed)
        columns = [Columns(quote, noisy, missed).of(quote.question.outputs[output].value) for quote, noisy in self.parts]
        rows = kept_rows(self.parts)
        numbers = [each for each in columns if isinstance(each, Numbers)]
        starts = np.concatenate([[0], np.cumsum([len(noisy.groups) for _, noisy in self.parts])])
        places = np.array([int(starts[part]) + at for part, at in rows], dtype=np.int64)
        if len(numbers) < len(columns):
            return self._as_kept(output, missed)
        joined = (np.concatenate([getattr(each, name) for each in numbers])[places] for name in ("value", "low", "high", "null"))
        return Numbers(*joined)

    def _is_drawn_for(self, output: int, missed: Fraction) -> bool:
        """Whether the ends hold with that chance; those of a quantile were drawn with one of their own."""
        question, request = self.quote.question, self.quote.request
        if not any(of_quantiles(part.outputs[output].value, part, part.beside) for part in question.shown):
            return True
        drawn = [
            missed_in(at, call, question, request)
            for at, part in enumerate(question.parts)
            for call in part.calls
            if call.name == "quantile"
        ]
        return request.interval and all(each <= missed for each in drawn)

    def _as_kept(self, output: int, missed: Fraction) -> Cells:
        """The column of the answer; its ends hold if no smaller chance of a miss is asked for than they have there."""
        column = self.answer.columns[output]
        if not all(each is None or _is_number(each) or _is_date(each) for each in column.values):
            return Words(column.values, certain=False)
        value = _as_floats(column.values)
        usual = (1 - self.answer.confidence) / self.weight(output, together=False)
        holds = missed >= usual and column.low is not None and column.high is not None
        low = _as_floats(column.low or ()) if holds else np.full(len(value), np.nan)
        high = _as_floats(column.high or ()) if holds else np.full(len(value), np.nan)
        low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
        return Numbers(value, low, high, np.isnan(value) | np.isinf(low) | np.isinf(high))

    def law(self, output: int) -> Law | None:
        """The noise of an output that is one released sum."""
        question, out = self.quote.question, self.quote.question.outputs[output].value
        if len(self.parts) != 1 or not isinstance(out, Result):
            return None
        ((_, noisy),) = self.parts
        call = question.calls[out.index]
        weights = weights_of(call, question.calls)
        places = Columns(self.quote, noisy, Fraction(1)).places(call)
        if weights is None or len(weights) != 1 or places[0] not in noisy.sums:
            return None
        if isinstance(noisy.sums[places[0]][0], Shared):
            return None
        mechanism, draws = noises_of(noisy.sums[places[0]][0])
        return Law(mechanism, draws, abs(float(weights[0])))


def _is_number(value: object) -> bool:
    from decimal import Decimal

    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_date(value: object) -> bool:
    from datetime import date

    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _as_floats(values: Sequence[Any]) -> Any:
    from datetime import date

    numbers = [
        np.nan if each is None else float(day_number(date.fromisoformat(each))) if isinstance(each, str) else float(each)
        for each in values
    ]
    return np.array(numbers, dtype=np.float64)


# --- the answer --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Deriving:
    """The released answers of a statement, as its rows are computed from them."""

    released: tuple[Released, ...]
    request: Request

    def size(self, question: int) -> int:
        """The rows of an answer."""
        return len(self.released[question].answer)

    def values(self, question: int, output: int) -> Sequence[Any]:
        """The values of a column."""
        return self.released[question].answer.columns[output].values

    def cells(self, question: int, output: int, missed: Fraction) -> Cells:
        """The numbers of a column with their ends."""
        return self.released[question].cells(output, missed)

    def law(self, question: int, output: int) -> Law | None:
        """The noise of a column that is a sum."""
        return self.released[question].law(output)

    def missed(self, draws: Draws, together: bool, columns: int) -> Fraction:
        """The chance that each released number behind a column may miss."""
        alone = {(each.question, each.output) for each in draws if isinstance(each, Draw) and each.source is None}
        number = sum(self.released[question].weight(output, together=True) for question, output in alone)
        for each in draws:
            if not isinstance(each, Draw):
                number += max(1, self.size(each.question)) if together else 1
            elif each.source is not None and (each.question, each.output) not in alone:
                number += self.released[each.question].weight(each.output, together)
        return (1 - self.request.confidence) / (max(1, number) * max(1, columns))


def derived_answer(derivation: Derivation, deriving: Deriving, receipt: Receipt) -> Answer:
    """The answer to the statement."""
    level, request = derivation.level, deriving.request
    together = request.simultaneous or level.chosen
    noisy = sum(not each.exact for each in level.fields) if request.simultaneous else 1
    missed = [deriving.missed(_everywhere(each.draws) if together else each.draws, together, noisy) for each in level.fields]
    held: dict[int, Held] = {}
    for chance in dict.fromkeys(missed):
        places = [at for at, each in enumerate(missed) if each == chance]
        held |= zip(places, rows_of(level, deriving, chance, places).held, strict=True)
    columns = [_column(each, held[at], deriving, together) for at, each in enumerate(level.fields)]
    inner = [released.answer for released in deriving.released]
    notes = dict.fromkeys(note for each in inner for note in each.notes if note not in (CHOSEN, TEXT, MODE))
    said = [
        *notes,
        *([CHOSEN] if level.chosen else []),
        *([TEXT] if any(column.kind == "text" for column in columns) else []),
        *([MODE] if any(column.kind == "mode" for column in columns) else []),
        *([UNKNOWN] if any(map(_is_open, columns)) else []),
    ]
    limits = dict.fromkeys(limit for each in inner for limit in each.limits)
    return Answer(tuple(columns), request.confidence, receipt, request.simultaneous, tuple(said), tuple(limits))


def _everywhere(draws: Draws) -> Draws:
    return frozenset(Draw(each.question, each.output) if isinstance(each, Draw) else each for each in draws)


def _is_open(column: Column) -> bool:
    return column.is_number and any(
        value is not None and (not column.low or not column.high or column.low[at] is None or column.high[at] is None)
        for at, value in enumerate(column.values)
    )


def _column(each: Field, held: Held, deriving: Deriving, together: bool) -> Column:
    """A column of the answer; one that shows a column of an answer unchanged has its kind, its values and its labels."""
    together = together or any(isinstance(draw, Draw) and draw.source is None for draw in each.draws)
    source = None if each.shows is None else deriving.released[each.shows[0]].answer.columns[each.shows[1]]
    rows = held.rows
    if source is not None and rows is not None:
        kept = _rows_of(source, rows, each.name)
        if source.low is None or not together:
            return kept
        if isinstance(held.cells, Numbers):
            return replace(kept, low=_ends(held.cells.low, each), high=_ends(held.cells.high, each))
    if each.exact:
        return Column(each.name, PUBLIC, held.values or ())
    if each.alone or isinstance(held.cells, Words):
        return Column(each.name, "text", held.values or ())
    value, low, high = (_ends(numbers, each) for numbers in (held.cells.value, held.cells.low, held.cells.high))
    return Column(each.name, "expression", value, low, high)


def _ends(numbers: Any, each: Field) -> tuple[Any, ...]:
    return tuple(numbers_of(numbers, each.type))


def _rows_of(column: Column, rows: Any, name: str) -> Column:
    """Some rows of a column, under a name."""

    def chosen(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
        return None if values is None else tuple(None if at < 0 else values[at] for at in rows.tolist())

    return replace(column, name=name, values=chosen(column.values) or (), low=chosen(column.low), high=chosen(column.high))


def empty_answer(derivation: Derivation, request: Request) -> Answer:
    """The answer to a statement that asks for no row: its columns, of price 0."""
    columns = []
    for each in derivation.level.fields:
        column = Column(each.name, each.shown.kind, ())
        columns.append(replace(column, low=(), high=()) if column.is_number else column)
    return Answer(tuple(columns), request.confidence, Receipt(Fraction(0), Fraction(0)), request.simultaneous)


def together(sold: Sequence[tuple[Offer, Sale, Sold[Answer]]], version: str) -> tuple[tuple[Released, ...], Receipt]:
    """The released answers of a statement, and one receipt over all of them."""
    released, receipts = [], [each.value.receipt for _, _, each in sold]
    for offer, sale, each in sold:
        quote = offer.quotes[each.offer]
        parts = each.value.parts if sale.key == offer.key else None  # else its plan was another
        released.append(Released(each.value, quote, parts_read(quote, parts, offer.version)))
    epsilon, delta = sum((each.epsilon for each in receipts), Fraction(0)), sum((each.delta for each in receipts), Fraction(0))
    left, entries = sold[-1][2].left, tuple(each.entry for _, _, each in sold)
    again = all(each.repeated for _, _, each in sold)
    return tuple(released), Receipt(epsilon, delta, left.epsilon, left.delta, max(entries), version, again, entries)
