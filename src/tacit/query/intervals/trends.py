"""Questions about a series: which of them running totals answer best, and how far sums of its periods miss (mechanisms/running.md).

Everything follows from the question: which numbers of the answer are sums of periods, and how the noise of either mechanism adds up
in them. No released number decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.mechanisms.running import MOST_PERIODS, Running, recovery
from tacit.query.intervals.aggregates import moments_of, weights_of
from tacit.query.intervals.bands import Floats, half_width_of_sum
from tacit.query.intervals.misses import statement_of, window_kind
from tacit.query.intervals.ranges import Places
from tacit.query.plan import DateType, Moment, NumberType
from tacit.query.question import Arithmetic, KeyValue, Number, Out, Question, Result, Window, inner, is_noisy, nodes, private, size

MOST_WORK = 4_000_000  # cells times periods: a second of measuring at most


@dataclass(frozen=True, slots=True)
class Trend:
    """A series for every combination of the other keys: the place of its key, and the shape of the table of cells."""

    key: int
    shape: tuple[int, int, int]

    @property
    def periods(self) -> int:
        """How many periods a series has."""
        return self.shape[1]


def trend_of(question: Question) -> Trend | None:
    """The series over which a question adds up released numbers, if it does, and if every number of it has noise of one sum."""
    keys = question.group.keys
    if question.beside or question.below or not keys or private(question) or not _alone(question):
        return None
    asked = [node for out in question.outputs for node in nodes(out.value) if isinstance(node, Window) and node.order]
    linear = {_axis(window, len(keys)) for window in asked if window_kind(window, question) == "linear"}
    if len(linear) != 1 or (key := linear.pop()) is None or not isinstance(keys[key].term.type, DateType | NumberType):
        return None
    sizes = [size(each) for each in keys]
    before, after = (int(np.prod(part, dtype=object)) for part in (sizes[:key], sizes[key + 1 :]))
    trend = Trend(key, (before, sizes[key], after))
    fits = 2 <= trend.periods <= MOST_PERIODS and before * trend.periods**2 * after <= MOST_WORK
    return trend if fits else None


def _alone(question: Question) -> bool:
    """Whether every call is one sum, and no number of the answer states something about several sums together."""
    if any(weights_of(call, question.calls) is None or len(moments_of(call, question.calls)) != 1 for call in question.calls):
        return False
    parts = [out.value for out in question.outputs] + [each for each in (question.having, question.qualify) if each is not None]
    listed = [node for part in (*parts, *question.order) for node in nodes(part)]
    return all(statement_of(node, question) is None for node in listed)


def _axis(window: Window, keys: int) -> int | None:
    """The key along which a window adds up, each combination of the others by itself."""
    by = window.order[0].by if len(window.order) == 1 else None
    if not isinstance(by, KeyValue) or {each.index for each in window.partition} != set(range(keys)) - {by.index}:
        return None
    return by.index


# --- which mechanism is better for what is asked, by the total squared error --------------------------------------------------


@dataclass(frozen=True, slots=True)
class Squares:
    """Of the numbers that one sum is asked for: the mean squared factor of the noise, alone and by running totals, row by row."""

    alone: float
    running: float


def squares_of(question: Question, trend: Trend, moment: Moment) -> Mapping[int, Squares]:
    """The same for each column that uses a sum, in units of a noise of scale one on a period, or on a measurement."""
    recovered, same = recovery(trend.periods), np.eye(trend.periods)
    found: dict[int, Squares] = {}
    for place, output in enumerate(question.outputs):
        made = list(_linear_parts(output.value, question, trend, moment, (same, recovered)))
        if made:
            alone, running = (sum(float((part[at] ** 2).sum()) / trend.periods for part in made) for at in (0, 1))
            found[place] = Squares(alone, running)
    return found


def is_better(squares: Mapping[int, Squares], weights: Mapping[int, Fraction], alone: Fraction, running: Running) -> bool:
    """Whether the total squared error is less by running totals; `alone` is the l2 sensitivity without them."""
    one, other = (
        sum(float(weights.get(place, 1)) ** 2 * getattr(each, name) for place, each in squares.items())
        for name in ("alone", "running")
    )
    return bool(float(running.units) ** 2 * other < float(alone) ** 2 * one)


Pair = tuple[Floats, Floats]


def _linear_parts(node: object, question: Question, trend: Trend, moment: Moment, pair: Pair) -> list[Pair]:
    """The rows of weights of every number inside that is a sum of periods, as high up as there are."""
    made = _linear(node, question, trend, moment, pair)
    if made is not None:
        return [made] if made[0].any() else []
    return [each for part in inner(node) for each in _linear_parts(part, question, trend, moment, pair)]


def _linear(node: object, question: Question, trend: Trend, moment: Moment, pair: Pair) -> Pair | None:
    """A number as weights on periods in each row, and on the noise of measurements; None where it is not linear."""
    match node:
        case Result():
            mine = moments_of(question.calls[node.index], question.calls)[0] == moment
            return pair if mine else (np.zeros_like(pair[0]), np.zeros_like(pair[1]))
        case Window() if _axis(node, len(question.group.keys)) == trend.key and not any(is_noisy(each.by) for each in node.order):
            child = _linear(node.child, question, trend, moment, pair)
            return None if child is None else _over(node, child)
        case Arithmetic():
            return _combined(node, question, trend, moment, pair)
        case _:
            return None


def _combined(node: Arithmetic, question: Question, trend: Trend, moment: Moment, pair: Pair) -> Pair | None:
    if node.operator in ("*", "/") and isinstance(node.right, Number) and node.right.value:
        factor = float(node.right.value if node.operator == "*" else 1 / node.right.value)
        child = _linear(node.left, question, trend, moment, pair)
        return None if child is None else (child[0] * factor, child[1] * factor)
    left, right = (_linear(each, question, trend, moment, pair) for each in (node.left, node.right))
    if node.operator not in ("+", "-") or left is None or right is None:
        return None
    sign = 1.0 if node.operator == "+" else -1.0
    return left[0] + sign * right[0], left[1] + sign * right[1]


def _over(window: Window, child: Pair) -> Pair | None:
    """The rows of weights of a window, in the order of the key or against it."""
    turned = window.order[0].descending
    rows = [each[::-1] if turned else each for each in child]
    periods = len(rows[0])
    here = np.arange(periods)
    if window.function == "shift":
        made = [
            np.where(_inside(here + window.offset, periods)[:, None], np.roll(each, -window.offset, axis=0), 0) for each in rows
        ]
    elif window.function in ("sum", "avg"):
        frame = window.frame
        start = here * 0 if frame is None or frame.start is None else np.clip(here + frame.start, 0, periods)
        end = here + 1 if frame is None else np.full(periods, periods) if frame.end is None else here + frame.end + 1
        end = np.maximum(start, np.clip(end, 0, periods))
        over = np.maximum(1, end - start)[:, None] if window.function == "avg" else 1
        added = [np.concatenate([np.zeros((1, each.shape[1])), np.cumsum(each, axis=0)]) for each in rows]
        made = [(each[end] - each[start]) / over for each in added]
    else:
        return None
    one, other = (each[::-1] if turned else each for each in made)
    return one, other


def _inside(places: Places, periods: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.asarray((places >= 0) & (places < periods))


# --- how far sums of released cells miss -------------------------------------------------------------------------------------


def sums_of_cells(noise: Running, cells: Places, spans: Sequence[tuple[int, int]], missed: Fraction) -> Floats:
    """How far the sum of the cells from the first to before the last place of each span misses; `cells` are in sorted order.

    Cells of one series, in its order or against it, have the law of their sum. Of all others each holds by itself, so that their
    ends add up.
    """
    after, periods = noise.shape[2], noise.periods
    period, series = cells // after % periods, cells // (after * periods) * after + cells % after
    steps = np.diff(period)
    breaks = np.concatenate([[0], np.cumsum((np.diff(series) != 0) | (np.abs(steps) != 1))])
    widths = np.zeros(len(spans))
    known = [at for at, (first, last) in enumerate(spans) if last > first and breaks[last - 1] == breaks[first]]
    ends = [sorted((int(period[first]), int(period[last - 1]))) for first, last in (spans[at] for at in known)]
    if known:
        widths[known] = noise.widths([(low, high + 1) for low, high in ends], missed)
    for at, (first, last) in enumerate(spans):
        if last > first and breaks[last - 1] != breaks[first]:
            widths[at] = half_width_of_sum(noise, int(last - first), missed)
    return widths


def widest_sum(noise: Running, window: Out, missed: Fraction) -> float:
    """The largest error of a column: of one period, or of a window over the series."""
    if not isinstance(window, Window):
        return float(noise.interval(1 - missed).above)
    pair = np.eye(noise.periods), recovery(noise.periods, noise.bits)
    made = _over(window, pair) if window.order else (np.ones((1, 1)), pair[1].sum(axis=0, keepdims=True))
    if made is None:
        return float(noise.interval(1 - missed).above)
    return float((noise.widths_of(made[1], missed) + 1).max())
