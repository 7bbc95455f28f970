"""Tidied answers: counts that are whole and not negative, totals that agree with their parts. Post-processing, so free.

Everything here is a function of a released answer: it can be applied to one that was kept, and spends nothing. Proof in tidy.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tacit.release.answer import Answer, Column

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

COUNTED = frozenset({"count", "units", "distinct"})
TIDIED = (
    "tidied: counts are whole and not negative, and totals agree with their parts; "
    "the intervals are what the released ones leave to such numbers"
)
NOT_TIDIED = "tidy has no effect: the answer has no counts, and no totals with their parts"
ROUNDS = 20  # of setting counts to zero that would be negative
STEPS = 300  # of the least squares
PASSES = 3  # of narrowing the ends of totals and parts by each other


@dataclass(frozen=True, slots=True)
class Totals:
    """Which rows of an answer are sums of others: for every margin, the row of the total of each of the `parts`, in their order.

    This is true of the counts and sums at the places `columns`.
    """

    parts: tuple[int, ...]
    margins: tuple[tuple[int, ...], ...]
    columns: tuple[int, ...]


def tidy_answer(answer: Answer) -> Answer:
    """The same answer with its counts and sums tidy_answer, and a note that says so."""
    if answer.tidied:
        return answer
    columns = tuple(_column(column, place, answer) for place, column in enumerate(answer.columns))
    possible = answer.totals is not None or any(column.kind in COUNTED for column in answer.columns)
    return replace(answer, columns=columns, notes=(*answer.notes, TIDIED if possible else NOT_TIDIED), tidied=True)


def _column(column: Column, place: int, answer: Answer) -> Column:
    totals = answer.totals if answer.totals is not None and place in answer.totals.columns else None
    counted = column.kind in COUNTED
    if not (counted or totals) or not column.values or column.low is None or column.high is None:
        return column
    if not all(_is_plain(number) for numbers in (column.values, column.low, column.high) for number in numbers):
        return column  # a number that is missing, or too large for a double
    value, low, high = (np.array(numbers, dtype=np.float64) for numbers in (column.values, column.low, column.high))
    whole = _agree(value, (high - low) / 2, totals, counted) if totals else np.rint(np.maximum(value, 0.0))
    ends = _within(low, high, totals if answer.simultaneous else None, counted)
    low, high = np.minimum(ends[0], whole), np.maximum(ends[1], whole)  # the value is always in its interval
    kind = int if counted else float
    return replace(column, values=_in_list(whole, kind), low=_in_list(low, kind), high=_in_list(high, kind))


def _is_plain(number: Any) -> bool:
    return isinstance(number, int | float) and abs(number) < 2**53


def _in_list(numbers: Floats, kind: type) -> tuple[Any, ...]:
    return tuple(kind(number) for number in (numbers + 0.0).tolist())


# --- values ------------------------------------------------------------------------------------------------------------------


def _agree(value: Floats, width: Floats, totals: Totals, counted: bool) -> Floats:
    """The numbers that agree, nearest to the released ones in squares over squared widths; counts are rounded part by part."""
    parts, margins = np.array(totals.parts), [np.array(margin) for margin in totals.margins]
    largest = float(width.max()) or 1.0
    weights = np.maximum(width / largest, 1e-6) ** -2.0
    free, nearest = np.ones(len(parts), dtype=np.bool_), value[parts]
    for _ in range(ROUNDS if counted else 1):
        nearest = _nearest(value, weights, parts, margins, free)
        if not counted or not (nearest < 0).any():
            break
        free &= nearest >= 0
    nearest = np.rint(np.maximum(nearest, 0.0)) if counted else nearest
    whole = value.copy()
    whole[parts] = nearest
    for margin in margins:
        added = np.bincount(margin, nearest, minlength=len(value))
        whole[np.unique(margin)] = added[np.unique(margin)]
    return whole


def _nearest(value: Floats, weights: Floats, parts: Places, margins: Sequence[Places], free: NDArray[np.bool_]) -> Floats:
    """Weighted least squares over the parts that are free; the others are zero. By conjugate gradients: nothing is stored."""
    size = len(value)

    def spread(rows: Floats) -> Floats:
        """For numbers of all rows: what each part gets from its own row and from its totals."""
        return np.asarray(np.where(free, np.sum([rows[parts], *(rows[margin] for margin in margins)], axis=0), 0.0))

    def gather(numbers: Floats) -> Floats:
        """For numbers of the parts: those of all rows."""
        rows: Floats = np.sum([np.zeros(size), *(np.bincount(margin, numbers, minlength=size) for margin in margins)], axis=0)
        rows[parts] = numbers
        return rows

    scale = np.maximum(spread(weights), 1e-300)  # the diagonal
    parts_now = np.where(free, value[parts], 0.0)
    rest = spread(weights * (value - gather(parts_now)))
    step = move = rest / scale
    size_of_rest = float(rest @ step)
    first = size_of_rest
    for _ in range(STEPS):
        if size_of_rest <= 1e-24 * max(first, 1e-300):
            break
        turned = spread(weights * gather(move))
        length = size_of_rest / float(move @ turned)
        parts_now, rest = parts_now + length * move, rest - length * turned
        step = rest / scale
        now = float(rest @ step)
        move, size_of_rest = step + now / size_of_rest * move, now
    return parts_now


# --- ends --------------------------------------------------------------------------------------------------------------------


def _within(low: Floats, high: Floats, totals: Totals | None, counted: bool) -> tuple[Floats, Floats]:
    """The ends that whole, non-negative numbers leave; with totals, those that agree. Where none is left, the released ones."""
    least, most = (np.maximum(np.ceil(low), 0.0), np.floor(high)) if counted else (low.copy(), high.copy())
    if totals is not None:
        parts, margins = np.array(totals.parts), [np.array(margin) for margin in totals.margins]
        for _ in range(PASSES):
            for margin in margins:
                _narrow(least, most, parts, margin)
        if (least > most).any():
            return low, high  # the box holds no numbers that agree: it has missed, and nothing follows from it
    none = least > most
    return np.where(none, low, least), np.where(none, high, most)


def _narrow(least: Floats, most: Floats, parts: Places, margin: Places) -> None:
    """A total lies between the sums of the ends of its parts; a part between what its total and the other parts leave."""
    shown = np.unique(margin)
    lows, highs = (np.bincount(margin, ends[parts], minlength=len(ends)) for ends in (least, most))
    least[shown], most[shown] = np.maximum(least, lows)[shown], np.minimum(most, highs)[shown]
    lowest, highest = least[margin] - (highs[margin] - most[parts]), most[margin] - (lows[margin] - least[parts])
    least[parts], most[parts] = np.maximum(least[parts], lowest), np.minimum(most[parts], highest)
