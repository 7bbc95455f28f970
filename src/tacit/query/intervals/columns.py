"""From released numbers to the columns of an answer, with their ends: from public parameters and released values only.

A column is computed for all groups at once: its values, and the range of the exact ones while every released number that it is made
of lies between its ends. `misses.py` says how many those are; each misses with the chance that it leaves to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.accounting.weighted import Draws, weighted_error
from tacit.query.functions import FUNCTIONS
from tacit.query.intervals import functions
from tacit.query.intervals.aggregates import finish_call, moments_of, row_of, spread, step_of
from tacit.query.intervals.bands import (
    Band,
    Cells,
    Floats,
    Noisy,
    Numbers,
    Priced,
    Truths,
    Words,
    all_of,
    always,
    any_of,
    certain,
    chosen_words,
    ends_of,
    known_as,
    missing,
    negated,
    noises_of,
    settle,
)
from tacit.query.intervals.linear_models import model_ends
from tacit.query.intervals.misses import (
    COVARIANCES,
    REGRESSIONS,
    Linear,
    Moments,
    Ratio,
    declared,
    is_exact,
    missed_by,
    statement_of,
)
from tacit.query.intervals.ratios import ROUNDING, Ends, Quotient, Released, covariance_ends, mean_ends, ratio_ends, variance_ends
from tacit.query.intervals.regressions import correlation_ends, intercept_ends, slope_ends
from tacit.query.intervals.windows import Members, window_ends
from tacit.query.plan import DateType, Moment
from tacit.query.question import (
    Arithmetic,
    Beside,
    Call,
    Chosen,
    Coalesced,
    Day,
    Extreme,
    Fitted,
    Fixed,
    KeyValue,
    Mapped,
    NullIf,
    Number,
    Out,
    Power,
    Result,
    Rounded,
    Test,
    Window,
    key_value,
)

NEVER_NULL = ("count", "units", "distinct", "sum")  # the others have no value in a group without one


def band_of(out: Out, quote: Priced, noisy: Noisy) -> Band:
    """An output of the question for every group; all of its released parts miss together with at most 1 - confidence."""
    numbers = Columns(quote, noisy, missed_in(out, quote, noisy)).numbers(out)
    return numbers.band


def missed_in(out: Out, quote: Priced, noisy: Noisy) -> Fraction:
    """The probability with which each released number of an output may miss."""
    return missed_by(out, quote.question, quote.request, max(1, len(noisy.groups)))


def cells_of(out: Out, quote: Priced, noisy: Noisy) -> Cells:
    """A column that may be text, with the ends of its own chance of a miss."""
    return Columns(quote, noisy, missed_in(out, quote, noisy)).of(out)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Computes columns from released numbers; each may miss its ends with the chance `missed`."""

    quote: Priced
    noisy: Noisy
    missed: Fraction
    _members: list[Members] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many rows there are before any is left out."""
        return len(self.noisy.groups)

    def of(self, out: Out) -> Cells:
        """Any column."""
        return COMPUTED[type(out)](self, out)

    def numbers(self, out: Out) -> Numbers:
        """A column of numbers; a NULL is one that is missing."""
        cells = self.of(out)
        if isinstance(cells, Numbers):
            return cells
        assert all(value is None for value in cells.values)  # noqa: S101  # the binder has looked at kinds
        return certain(np.full(self.size, np.nan))

    def test(self, test: Out) -> Truths:
        """Whether a test holds, in every row."""
        assert isinstance(test, Test)  # noqa: S101  # as the binder makes them
        match test.operator:
            case "and":
                return all_of([self.test(part) for part in test.parts])
            case "or":
                return any_of([self.test(part) for part in test.parts])
            case "not":
                return negated(self.test(test.parts[0]))
            case "is_true" | "is_false":
                return known_as(self.test(test.parts[0]), test.operator == "is_true")
            case "is_null":
                return missing(self.of(test.parts[0]))
            case operator:
                left, right = (self.of(part) for part in test.parts)
                return functions.compare(operator, left, right)

    @property
    def members(self) -> Members:
        """Which rows a window sees: those that HAVING leaves, certainly or perhaps."""
        if not self._members:
            having = self.quote.question.having
            held = always(True, self.size) if having is None else self.test(having)
            self._members.append(Members(held.value == 1, held.true & ~held.false & ~held.unknown, held.true))
        return self._members[0]

    # --- of keys, released numbers and constants ---

    def key(self, index: int) -> Cells:
        """A key: numbers and dates as numbers, else as they are."""
        term = self.quote.question.group.keys[index].term
        if isinstance(term.type, DateType):
            return certain(np.array([np.nan if group[index] is None else float(group[index]) for group in self.noisy.groups]))
        values = [key_value(term, group[index]) for group in self.noisy.groups]
        if all(value is None or (not isinstance(value, str | bool)) for value in values):
            return certain(np.array([np.nan if value is None else float(value) for value in values]))
        return Words(tuple(values), certain=True)

    def sortable(self, out: Out) -> Cells:
        """A column to sort by: keys exactly as they are, however large."""
        if not isinstance(out, KeyValue):
            return self.of(out)
        term = self.quote.question.group.keys[out.index].term
        return Words(tuple(key_value(term, group[out.index]) for group in self.noisy.groups), certain=True)

    def result(self, call: Call) -> Numbers:
        """A released aggregate."""
        if call.name == "quantile":
            band = finish_call(call, self.quote.question.calls, (Band(*self.noisy.ranks[call]),))
            return settle(band, np.ones(self.size, dtype=np.bool_))
        bands = [self.moment(place) for place in self.places(call)]
        band = finish_call(call, self.quote.question.calls, tuple(bands))
        null = np.zeros(self.size, dtype=np.bool_) if call.name in NEVER_NULL else bands[0].low <= 0
        match statement_of(Result(self.quote.question.calls.index(call)), self.quote.question):
            case Moments():
                band = self.statements.moments(call, band)
            case Linear() as form:
                band = self.statements.linear(form, band)
        return settle(band, null)

    def arithmetic(self, out: Arithmetic) -> Numbers:
        """The four operators."""
        made = functions.arithmetic(out.operator, self.numbers(out.left), self.numbers(out.right))
        match statement_of(out, self.quote.question):
            case Linear() as form:
                return settle(self.statements.linear(form, made.band), made.null, made.empty)
            case Ratio() as form:
                return settle(self.statements.ratio(form, made.band), made.null, made.empty)
            case _:
                return made

    @property
    def statements(self) -> Stated:
        """The ends of what one statement holds."""
        return Stated(self.quote, self.noisy, self.missed)

    def places(self, call: Call) -> list[int]:
        """The places of the moments that a call is made of."""
        moments = self.quote.question.group.moments
        return [moments.index(moment) for moment in moments_of(call, self.quote.question.calls)]

    def moment(self, place: int) -> Band:
        """One released sum in every group."""
        if place not in self.noisy.sums:
            return _counted_units(self.quote, self.noisy, self.missed)
        _, released = self.noisy.sums[place]
        return Band(_floats(released), *ends_of(self.noisy, place, self.missed))

    def constant_cells(self, value: str | bool | None) -> Cells:
        """A constant text or truth in every row; NULL is a number that is missing."""
        return certain(np.full(self.size, np.nan)) if value is None else Words((value,) * self.size, certain=True)

    def beside(self, index: int) -> Numbers:
        """The one number of a question beside this one, in every row."""
        other = self.quote.beside[index]
        alone = Columns(other, self.noisy.beside[index], self.missed).numbers(other.question.outputs[0].value)
        return alone.at(np.zeros(self.size, dtype=np.int64))

    # --- of several, one ---

    def choose(self, tests: Sequence[Truths], parts: Sequence[Out], out: Out) -> Cells:
        """CASE over numbers, or over texts and truths."""
        values = [self.of(part) for part in parts]
        numbers = [each for each in values if isinstance(each, Numbers)]
        if len(numbers) == len(values):
            return functions.choose(tests, numbers)
        return chosen_words(tests, values, is_exact(out, self.quote.question))

    def coalesce(self, out: Coalesced) -> Cells:
        """COALESCE."""
        values = [self.of(part) for part in out.parts]
        numbers = [each for each in values if isinstance(each, Numbers)]
        if len(numbers) == len(values):
            return functions.coalesce(numbers)
        tests = [negated(missing(each)) for each in values[:-1]]
        return chosen_words(tests, values, is_exact(out, self.quote.question))

    def truth(self, out: Test) -> Words:
        """A test as a column."""
        words = {1: True, 0: False, -1: None}
        return Words(tuple(words[value] for value in self.test(out).value.tolist()), is_exact(out, self.quote.question))


def _power(columns: Columns, out: Power) -> Cells:
    constant = out.exponent.value if isinstance(out.exponent, Number) else None
    return functions.power(columns.numbers(out.base), columns.numbers(out.exponent), constant)


def _ends(function: str) -> Callable[..., Numbers]:
    ends = FUNCTIONS[function].ends
    assert ends is not None  # noqa: S101  # as the binder makes them
    return ends


COMPUTED: Mapping[type, Callable[[Columns, Any], Cells]] = {
    KeyValue: lambda columns, out: columns.key(out.index),
    Result: lambda columns, out: columns.result(columns.quote.question.calls[out.index]),
    Beside: lambda columns, out: columns.beside(out.index),
    Number: lambda columns, out: functions.constant(float(out.value), columns.size),
    Day: lambda columns, out: functions.constant(float(out.number), columns.size),
    Fixed: lambda columns, out: columns.constant_cells(out.value),
    Arithmetic: Columns.arithmetic,
    Rounded: lambda columns, out: functions.round_to(columns.numbers(out.child), out.decimals),
    Mapped: lambda columns, out: _ends(out.function)(columns.numbers(out.child)),
    Power: _power,
    Extreme: lambda columns, out: _ends(out.function)([columns.numbers(part) for part in out.parts]),
    Coalesced: Columns.coalesce,
    NullIf: lambda columns, out: columns.choose([columns.test(out.test)], [Fixed(None), out.child], out),
    Fitted: lambda columns, out: functions.fit_digits(columns.numbers(out.child), out.limit),
    Chosen: lambda columns, out: columns.choose(
        [columns.test(test) for test, _ in out.branches], [*(value for _, value in out.branches), out.otherwise], out
    ),
    Test: Columns.truth,
    Window: window_ends,
}


def _counted_units(quote: Priced, noisy: Noisy, missed: Fraction) -> Band:
    """The numbers of units released with private keys; their intervals hold given that the group is shown."""
    assert quote.keys is not None  # noqa: S101  # only then are units not among the sums
    assert noisy.units is not None  # noqa: S101
    return Band(_floats(noisy.units), *map(_floats, quote.keys.ends(noisy.units, 1 - missed)))


def _floats(numbers: Any) -> Floats:
    return np.asarray(numbers, dtype=np.float64)


# --- the ends of an output that one statement about several released numbers holds -------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """The released sums of one part of a question; each statement about them may miss with the chance `missed`."""

    quote: Priced
    noisy: Noisy
    missed: Fraction

    def released(self, moment: Moment) -> Released:
        """A released sum in every group, with its noise."""
        part, values = self.noisy.sums[self.quote.question.group.moments.index(moment)]
        mechanism, count = noises_of(part)
        return Released(np.asarray(values, dtype=np.float64), Draws(mechanism.name, mechanism.scale, count))

    # --- sums and ratios ---

    def linear(self, form: Linear, made: Band) -> Band:
        """A weighted sum, by the law of the weighted sum of the noises."""
        value, rounding = self._sum_of(form)
        parts = [(self.released(moment).noise, float(weight)) for moment, weight in form.weights]
        parts.sort(key=lambda part: part[0].scale, reverse=True)
        width = weighted_error([noise for noise, _ in parts], np.array([[weight for _, weight in parts]]), self.missed)[0]
        return _around(made.value, value - width - rounding, value + width + rounding)

    def _sum_of(self, form: Linear) -> Ends:
        """The released value, and a bound on what doubles lose."""
        parts = [float(weight) * self.released(moment).value for moment, weight in form.weights]
        value = np.sum(parts, axis=0) + float(form.constant)
        return value, ROUNDING * np.sum(np.abs(parts), axis=0) * any(
            self.released(moment).noise.scale for moment, _ in form.weights
        )

    def ratio(self, form: Ratio, made: Band) -> Band:
        """A ratio of two such sums."""
        divided = sorted(form.below.weights, key=lambda part: self.released(part[0]).noise.scale)
        moments = list(dict.fromkeys(moment for moment, _ in (divided[0], *form.above.weights, *divided[1:])))[::-1]
        above, below = (tuple(float(dict(part.weights).get(each, 0)) for each in moments) for part in (form.above, form.below))
        noise = Quotient(tuple(self.released(moment).noise for moment in moments), above, below)
        low, high = ratio_ends(self._sum_of(form.above)[0], self._sum_of(form.below)[0], noise, self.missed)
        return _around(made.value, low, high)

    # --- means, variances, covariances ---

    def moments(self, call: Call, made: Band) -> Band:
        """A mean, a variance, a deviation, a covariance or a regression, within its declared range."""
        sums = [self.released(moment) for moment in moments_of(call, self.quote.question.calls)]
        least, most = declared(call)
        if call.name == "avg":
            low, high = self._mean(call, sums)
        elif call.name in COVARIANCES:
            ends = covariance_ends(sums, (spread(call.over), spread(call.other)), call.name == "covar_samp", self.missed)
            low, high = (end * (step_of(call.over) * step_of(call.other) / 4) for end in ends)
        elif call.name in REGRESSIONS:
            return _around(made.value, *_regression(call, sums, self.missed))
        else:
            ends = variance_ends(sums, spread(call.over), call.name.endswith("samp"), self.missed)
            low, high = (end * (step_of(call.over) ** 2 / 4) for end in ends)
            if call.name.startswith("stddev"):
                low, high = np.sqrt(low), np.sqrt(high)
        spare = 1e-15 * max(abs(least), abs(most))
        return _around(made.value, np.maximum(low - spare, least), np.minimum(high + spare, most))

    def _mean(self, call: Call, sums: list[Released]) -> Ends:
        rows, summed = sums
        node, step = row_of(call.over), step_of(call.over)
        if call.together is not None:
            low, high = mean_ends(summed, rows, (float(node.low), float(node.high)), self.missed)
            return low * step, high * step
        most = spread(call.over)
        low, high = mean_ends(summed, rows, (-most, most), self.missed)
        return (low + (node.low + node.high)) * (step / 2), (high + (node.low + node.high)) * (step / 2)


def _regression(call: Call, sums: list[Released], missed: Fraction) -> Ends:
    """A correlation, a slope, an intercept or a part of a linear model, in the units of the answer."""
    if call.others:
        return model_ends(call, sums, missed)
    spreads, node = (spread(call.over), spread(call.other)), row_of(call.other)
    if call.name == "corr":
        return correlation_ends(sums, spreads, missed)
    if call.name == "regr_slope":
        low, high = slope_ends(sums, spreads, missed)
        factor = step_of(call.over) / step_of(call.other)
        return _outward(low * factor, high * factor)
    low, high = intercept_ends(sums, spreads, float(node.low + node.high), missed)
    shift = row_of(call.over).low + row_of(call.over).high
    return _outward((low + shift) * (step_of(call.over) / 2), (high + shift) * (step_of(call.over) / 2))


def _outward(low: Floats, high: Floats) -> Ends:
    """Both ends, further out by the most that doubles lose."""
    return low - 1e-15 * np.abs(low), high + 1e-15 * np.abs(high)


def _around(value: Floats, low: Floats, high: Floats) -> Band:
    """The ends, with the released value between them."""
    finite = np.isfinite(value)
    return Band(value, np.where(finite, np.fmin(low, value), low), np.where(finite, np.fmax(high, value), high))
