"""Smooth sensitivity of order statistics and trimmed means: how far one unit can move the answer, on these data and near them.

A smooth bound S has two properties, for every pair of neighbours x and y: the answers differ by at most S(x), and
S(x) <= e^beta S(y) (Nissim, Raskhodnikova and Smith 2007). Everything here is in whole units of a grid, and is private:
only a mechanism may use what comes back. Derivations in smooth.md.

The number that comes back lies between the formula's value at beta - 2^-40 and that value times 1 + 2^-40, so it is smooth
at `beta` itself. It is at least 2^-100 units: the larger of a smooth bound and a constant is smooth.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.smooth.decayed_gap import Gap, Stairs, largest_decayed_gap
from tacit.mechanisms.sorted_rows import SortedRows
from tacit.privacy.loss import Neighbours
from tacit.privacy.rounding import as_text, exp_down, exp_up

SLACK = Fraction(1, 2**40)
ROUNDING = 1 + Fraction(1, 2**41)
LEAST = Fraction(1, 2**100)
DENOMINATOR = 2**192
STEEP = Fraction(300)  # 2^62 units decay below 2^-100 in one step of 200 already: at steeper rates the same pair wins


def order_place(q: Fraction, size: int) -> int:
    """The place of the q-quantile among `size` rows: max(1, ceil(q size))."""
    return max(1, -(-q.numerator * size // q.denominator))


def order_statistic(rows: SortedRows, q: Fraction) -> Fraction:
    """The q-quantile of the rows; of none, the middle of the bounds.

    >>> from tacit.mechanisms.sorted_rows import sorted_rows
    >>> int(order_statistic(sorted_rows([1, 5, 7, 8], 0, 10), Fraction(1, 2)))
    5
    """
    return Fraction(rows.at(order_place(q, rows.size)) if rows.size else (rows.lower + rows.upper) // 2)


def smooth_order_statistic(rows: SortedRows, q: Fraction, beta: Fraction, max_rows: int = 1) -> Fraction:
    """A beta-smooth bound on the q-quantile for units of up to `max_rows` rows that come, go or change.

    The maximum of (x_j - x_i) exp(-beta (ceil((j - i) / max_rows) - 1)) over i <= m <= j, i < j; m is the quantile's place.

    >>> from tacit.mechanisms.sorted_rows import sorted_rows
    >>> float(smooth_order_statistic(sorted_rows(range(1, 11), 0, 1000), Fraction(1, 2), Fraction(1, 2)))
    81.674573...
    """
    rate = smoothness(beta)
    if not rows.size:
        return Fraction(rows.upper - rows.lower)
    place = order_place(q, rows.size)
    width = min(max_rows, rows.size + 1)  # the widest pair spans this many places: more rows in a unit change nothing
    return _value(_widest(rows, Window(place, place, free=1, width=width), rate), rate)


def trimmed_mean(rows: SortedRows, trim: int) -> Fraction:
    """The mean without the `trim` least and the `trim` largest rows; where none are left, the middle of the bounds."""
    kept = rows.size - 2 * trim
    if kept < 1:
        return Fraction((rows.lower + rows.upper) // 2)
    return Fraction(rows.sum_between(trim + 1, rows.size - trim), kept)


def smooth_trimmed_mean(rows: SortedRows, trim: int, beta: Fraction, max_rows: int, neighbours: Neighbours) -> Fraction:
    """A beta-smooth bound on the trimmed mean, for units of up to `max_rows` rows.

    By rows first, at beta / max_rows: a unit's change is at most `max_rows` changes of a row, and the bounds met on the way
    sum to at most the first times 1 + e^(beta/r) + ... + e^((r-1) beta/r).
    """
    share = smoothness(beta) / max_rows
    by_row = _changed_row(rows, trim, share) if neighbours.size_is_public else _added_row(rows, trim, share)
    return by_row * units_passed(beta, max_rows)


def units_passed(beta: Fraction, max_rows: int) -> Fraction:
    """1 + e^(beta/r) + ... + e^((r-1) beta/r) for r = max_rows, rounded up."""
    return Fraction(1) if max_rows == 1 else (exp_up(beta) - 1) / (exp_down(beta / max_rows) - 1)


def smoothness(beta: Fraction) -> Fraction:
    """The rest of beta after the rounding of the bound is taken out of it.

    >>> smoothness(Fraction(1, 2**41))
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidBudget: beta must be above 2^-39, not 4.54747e-13; use a larger epsilon
    """
    if beta <= 2 * SLACK:
        raise InvalidBudget(f"beta must be above 2^-39, not {as_text(beta)}; use a larger epsilon", argument="beta")
    return beta - SLACK


def _changed_row(rows: SortedRows, trim: int, rate: Fraction) -> Fraction:
    kept = rows.size - 2 * trim
    if kept < 1:
        raise InvalidInput(f"trimming {trim} rows at each end leaves no row of {rows.size}; trim fewer rows")
    one = _widest(rows, Window(trim, rows.size - trim, free=kept), rate)
    other = _widest(rows, Window(trim + 1, rows.size - trim + 1, free=kept), rate)
    return max(_value(one, rate, kept), _value(other, rate, kept))


def _added_row(rows: SortedRows, trim: int, rate: Fraction) -> Fraction:
    kept = rows.size - 2 * trim
    emptied = _value(Gap(rows.upper - rows.lower, max(kept - 2, 0)), rate)
    if kept < 1:
        return emptied
    widest = _widest(rows, Window(trim, rows.size + 1 - trim, free=kept + 1), rate)
    return max(emptied, _value(widest, rate, kept))


class Window(NamedTuple):
    """The pairs of places i <= down and j >= up; a pair decays once for each `width` places beyond the `free` ones."""

    down: int
    up: int
    free: int
    width: int = 1

    def decays(self, i: int, j: int) -> int:
        """How often the gap of two places decays."""
        return (j - i - self.free) // self.width


def _widest(rows: SortedRows, window: Window, rate: Fraction) -> Gap:
    """The largest (x_j - x_i) exp(-rate decays(i, j)) of the window's pairs."""
    start = max(_probe(rows, window), key=lambda gap: _log_weight(gap, rate))
    reach = _reach(rows, start, rate, window.width)
    left = rows.down_from(window.down, reach)
    right = rows.up_from(window.up, reach, pivot=rows.at(window.down))
    nearest = window.up - window.down - window.free
    return largest_decayed_gap(Stairs(left.places + nearest, left.gaps), right, float(min(rate, STEEP)), window.width, start)


def _probe(rows: SortedRows, window: Window) -> list[Gap]:
    """The gaps at distances 0, 1, 2, 4, 8, ... on each side: how far it is worth looking follows from the best of them."""
    below = [(place, rows.at(place)) for place in (window.down - d for d in _doubling_distances(window.down))]
    above = [(place, rows.at(place)) for place in (window.up + d for d in _doubling_distances(rows.size + 1 - window.up))]
    return [Gap(high - low, window.decays(i, j)) for i, low in below for j, high in above]


def _doubling_distances(end: int) -> list[int]:
    """0, 1, 2, 4, ... below `end`, and `end`."""
    return [0, *(1 << power for power in range(max(end - 1, 0).bit_length())), end]


def _reach(rows: SortedRows, start: Gap, rate: Fraction, width: int) -> int:
    """How many places away a row can matter: beyond, the whole range decays below `start` or below the least bound."""
    worth = max(_log_weight(start, rate), math.log(LEAST)) - 1e-9
    decays = math.ceil((math.log(rows.upper - rows.lower) - worth) / float(rate)) + 1
    return min((decays + 1) * width, rows.size + 1)


def _log_weight(gap: Gap, rate: Fraction) -> float:
    return math.log(gap.size) - float(rate) * gap.decays if gap.size else -math.inf


def _value(gap: Gap, rate: Fraction, divisor: int = 1) -> Fraction:
    """The decayed gap over `divisor`, rounded up to a multiple of 2^-192, and at least 2^-100."""
    if not gap.size or rate * gap.decays > STEEP:
        return LEAST
    exact = gap.size * exp_up(-rate * gap.decays) * ROUNDING / divisor
    return max(Fraction(math.ceil(exact * DENOMINATOR), DENOMINATOR), LEAST)
