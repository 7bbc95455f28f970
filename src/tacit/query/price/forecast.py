"""The error of an answer before anything is released: its forecast, and the least epsilon for an error that is asked for.

The number of rows is private; `min_rows` of a table says for which size a forecast of a mean or a variance is wanted. It decides
nothing else: noise is scaled to the sensitivity and the epsilon that is charged, the released count is used as it is, and a smaller
group has a wider interval. Proof in forecast.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from tacit.accounting import calibrate
from tacit.accounting.calibrate import short_up
from tacit.accounting.weighted import Draws, weighted_error
from tacit.errors import ErrorNotPublic
from tacit.mechanisms.residual import Estimated
from tacit.query.intervals.aggregates import CHOICES, moments_of, row_of, spread, step_of
from tacit.query.intervals.bands import Added, Sum
from tacit.query.intervals.linear_models import MODEL_PARTS
from tacit.query.intervals.misses import SPREADS, calls_of, declared, missed_for
from tacit.query.plan import Moment, NumberType
from tacit.query.price.needs import additive
from tacit.query.price.quote import LEAST_EPSILON, Quote, Request, laplace, together
from tacit.query.price.stability import Reach, l1_sensitivity, tables_of
from tacit.query.question import Call, Out, Question, Result, pause, private

ROUNDS = 12
EXAMPLE_ROWS = 1000  # of a group for which an error is forecast, where the catalog names no size
LEAST_ROWS = 3  # of a group for which the error of a variance is forecast
FORECAST = frozenset({"avg"}) | SPREADS
OF_THE_MEAN, OF_BOUNDS, OF_ROWS = Fraction(1, 25), Fraction(2, 5), Fraction(1, 100)  # of the chance that a variance misses
Noises = tuple[Draws, ...]  # those of the sum and of the count of a mean, in this order; of a variance, first that of the squares
Shares = Callable[[Fraction], Noises]  # for an epsilon of each


def declared_rows(question: Question) -> int | None:
    """The smallest `min_rows` that the private tables of a question declare."""
    return min((table.min_rows for table in tables_of(question.group) if table.min_rows), default=None)


def has_forecast(call: Call, question: Question) -> bool:
    """Whether the catalog names a size for which the error of a call can be forecast."""
    return call.name in FORECAST and (declared_rows(question) or 0) >= (LEAST_ROWS if call.name in SPREADS else 1)


def noises_in(call: Call, question: Question, noise: Callable[[Moment], Draws]) -> Noises:
    """The noises of a call's sums, in the order of `Noises`."""
    return tuple(noise(moment) for moment in reversed(moments_of(call, question.calls)))


def forecast(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """How far an answer over at least `rows` rows is from the exact one, except with a chance of `missed`."""
    return (mean_error if call.name == "avg" else spread_error)(call, noises, rows, missed)


def mean_error(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """How far a mean over at least `rows` rows is from the exact one, except with a chance of `missed`; at most its range."""
    unit = _unit(call)
    error = _of_mean(noises, _largest(call), rows, missed, 2 * spread(call.over))
    return min(error * unit, spread(call.over) * step_of(call.over))


def _of_mean(noises: Noises, largest: float, rows: int, missed: Fraction, enough: float) -> float:
    """The error of a mean in the units of its sum, as soon as it is `enough`."""
    error = 0.0
    for _ in range(ROUNDS):
        needed = _reach(noises, largest + error, missed) / rows
        if needed <= error:
            break
        error = needed * 1.0001
        if error >= enough:
            break
    return error


def spread_error(call: Call, noises: Noises, rows: int, missed: Fraction) -> float:
    """The same for a variance or a deviation: at most its range, and that for fewer than `LEAST_ROWS` rows."""
    most, divided, units = spread(call.over), rows - int(call.name.endswith("samp")), step_of(call.over) ** 2 / 4
    if rows < LEAST_ROWS:
        return declared(call)[1]
    error = _of_variance(noises, most, divided, missed) * (1 + 1e-9)
    if error > most**2 / 2:
        return declared(call)[1]
    return float(np.sqrt(error * units)) if call.name.startswith("stddev") else error * units


def _of_variance(noises: Noises, most: float, divided: int, missed: Fraction) -> float:
    """The error of a variance in half steps, R = `most` being the range in steps; infinite where the proof does not hold."""
    of_mean, counted = noises[1:], noises[-1]
    mean = _of_mean(of_mean, most, divided, missed * OF_THE_MEAN, most)
    if mean > most * 2 / 3:
        return np.inf
    rest = missed * (1 - OF_THE_MEAN - OF_BOUNDS - OF_ROWS)
    weights = np.array([[0.5, 2 * most, 1.5 * most**2]])
    inside = mean**2 + float(weighted_error(noises, weights, rest, (0.5, 0.0, 0.0))[0]) / divided
    at_bounds = 2 * most * _reach(of_mean, most, 2 * missed * OF_BOUNDS) / divided
    in_middle = (most + mean / 2) * _reach(of_mean, most, missed * OF_BOUNDS) / divided
    by_rows = most**2 * counted.error(missed * OF_ROWS) / divided**2 if counted.scale else 0.0
    return max(inside, at_bounds, in_middle, by_rows)


def forecast_text(call: Call, quote: Quote, missed: Fraction, group_rows: int | None = None) -> tuple[str, float | None]:
    """The forecast of a mean, a variance or a deviation in words, with its half width; without a group's size, how to give one.

    `group_rows` is an assumption of the analyst; else the size is the one that the catalog declares.
    """
    parts = {part.moment: part.mechanism for part in quote.noisy_sums}

    def noise(moment: Moment) -> Draws:
        part = parts[moment]
        assert not isinstance(part, Estimated)  # noqa: S101  # parts with means do not share measurements
        alone, count = (part.mechanism, part.count) if isinstance(part, Added) else (part, 1)
        return Draws(alone.name, alone.scale, count)

    rows = group_rows or (declared_rows(quote.question) if has_forecast(call, quote.question) else None)
    error = forecast(call, noises_in(call, quote.question, noise), rows or EXAMPLE_ROWS, missed)
    sure = f"at {float(quote.request.confidence):.4g} confidence"
    if rows is None:
        return f"needs the size of a group: --group-rows {EXAMPLE_ROWS} gives ± {error:.6g}, {sure}", None
    return f"at most ± {error:.6g} in a group of at least {rows:,} rows, {sure}", error


def holds(call: Call, noises: Noises, rows: int, error: Fraction, missed: Fraction) -> bool:
    """Whether an answer over at least `rows` rows is within `error`, except with a chance of `missed`."""
    if call.name != "avg":
        return spread_error(call, noises, rows, missed) <= float(error) * (1 - 1e-12)
    units = float(error) / _unit(call) * (1 - 1e-12)
    return _reach(noises, _largest(call) + units, missed) <= units * rows * (1 - 1e-12)


def least_share(call: Call, shares: Shares, rows: int, error: Fraction, missed: Fraction) -> Fraction:
    """The least epsilon, to 6 digits, with which `holds`, where `shares` says what each sum gets of it."""
    low, high = Fraction(1, 10**9), Fraction(1)
    while not holds(call, shares(high), rows, error, missed):
        low, high = high, 4 * high
    while high > low * Fraction(1_000_001, 1_000_000):
        middle = short_up((low + high) / 2, 9)
        low, high = (low, middle) if holds(call, shares(middle), rows, error, missed) else (middle, high)
    share = short_up(high, 6)
    while not holds(call, shares(share), rows, error, missed):
        share = short_up(share * Fraction(1001, 1000), 6)
    return share


@lru_cache(maxsize=1024)
def _reach(noises: Noises, weight: float, missed: Fraction) -> float:
    return float(weighted_error(noises, np.array([[1.0, weight]]), missed)[0])


def _unit(call: Call) -> float:
    """The size of one unit of the sum in the answer: half a step, if the sum is centered."""
    return step_of(call.over) / (1 if call.together is not None else 2)


def _largest(call: Call) -> float:
    """The largest mean in these units."""
    node = row_of(call.over)
    return float(max(abs(node.low), abs(node.high))) if call.together is not None else spread(call.over)


# --- the least epsilon with which every number of an answer has the error that was asked for ---------------------------------


PARTS = {"squares": Fraction(2, 5), "centred": Fraction(1), "rows": Fraction(4, 5)}  # of a variance, for its least epsilon


def for_error(question: Question, asked: Request, touched: Sequence[Reach], factor: int) -> Quote:
    """The least epsilon with which every number of the answer has the wanted error; each sum gets what it needs."""
    if any(map(private, question.parts)):
        raise ErrorNotPublic("with private keys, the error of a group cannot be set in advance", remedy="give epsilon and delta")
    needed = [_least_costs(part, asked, reached) for part, reached in zip(question.parts, touched, strict=True)]
    number = sum(share > 0 for part in needed for share in part.values())  # what no unit can change needs none
    if factor * sum(share for part in needed for share in part.values()) < LEAST_EPSILON:
        least = calibrate.short_up(LEAST_EPSILON / (factor * number), 6)  # then the error is smaller than was asked for
        needed = [{moment: max(share, least) if share else share for moment, share in part.items()} for part in needed]
    epsilon = factor * sum((share for part in needed for share in part.values()), start=Fraction(0))
    quotes = []
    for part, reached, shares in zip(question.parts, touched, needed, strict=True):
        noise = {each: laplace(part, each, reached, share or LEAST_EPSILON) for each, share in shares.items()}
        sums = tuple(Sum(place, each, noise[each]) for place, each in additive(part))
        quotes.append(Quote(part, asked, reached, sums, (), None, epsilon, Fraction(0)))
    return together(quotes)


def _least_costs(question: Question, asked: Request, touched: Reach) -> dict[Moment, Fraction]:
    """The least cost of every sum of one part."""
    needed: dict[Moment, Fraction] = {}
    for output in question.outputs:
        for call in calls_of(output.value, question):
            pause()
            if isinstance(output.value, Result) and has_forecast(call, question):
                continue
            moment, step = _one_sum(output.value, call, question)
            steps = int((asked.error or Fraction(0)) / step)
            missed = missed_for(question, asked, call)
            least = calibrate.discrete_laplace_epsilon_up(l1_sensitivity(moment, touched), steps, missed)
            needed[moment] = max(needed.get(moment, Fraction(0)), calibrate.short_up(least, 6))
    _with_forecasts(needed, question, asked, touched)
    spare = [moment for _, moment in additive(question) if moment not in needed]
    if spare or not needed:
        raise ErrorNotPublic(
            "with --error, every aggregate in HAVING or ORDER BY must also be in SELECT", remedy="add it to SELECT"
        )
    return needed


def _with_forecasts(needed: dict[Moment, Fraction], question: Question, asked: Request, touched: Reach) -> None:
    """Raises what sums and counts must cost, until the forecast of each call for a group of `min_rows` rows is the error."""
    rows, error = declared_rows(question) or 0, asked.error or Fraction(0)

    def noise(moment: Moment, share: Fraction) -> Draws:
        """Scaled to what one unit can change, whatever the number of rows."""
        least = max(share, needed.get(moment, share))
        return Draws("Laplace", calibrate.laplace_scale(l1_sensitivity(moment, touched), least))

    def noises(call: Call, share: Fraction) -> Noises:
        return noises_in(call, question, lambda moment: noise(moment, share * _part(call, moment)))

    calls = [call for call in question.calls if has_forecast(call, question)]
    shares = [least_share(call, partial(noises, call), rows, error, missed_for(question, asked, call)) for call in calls]
    for call, share in zip(calls, shares, strict=True):
        for moment in moments_of(call, question.calls):
            moves = l1_sensitivity(moment, touched) > 0
            needed[moment] = max(needed.get(moment, Fraction(0)), share * _part(call, moment) if moves else Fraction(0))


def _part(call: Call, moment: Moment) -> Fraction:
    """The share of a sum for each unit of epsilon of a call's largest: in a variance, about as weight^(2/3) (forecast.md)."""
    return PARTS[moment.kind] if call.name in SPREADS else Fraction(1)


def _one_sum(out: Out, call: Call, question: Question) -> tuple[Moment, Fraction]:
    """The single moment behind a number whose error is public, and the size of one of its units in the answer."""
    moments = moments_of(call, question.calls)
    if call.name in CHOICES:
        raise ErrorNotPublic("MODE is a chosen value, which has no error", remedy="give epsilon")
    if not isinstance(out, Result) or len(moments) != 1 or moments[0].kind == "list":
        raise ErrorNotPublic(
            f"the error of {_word(out, call)} depends on how many people there are, which is private",
            remedy=_remedy(out, call, question),
        )
    meaning = call.over.type if call.over is not None and call.name == "sum" else None
    return moments[0], meaning.step if isinstance(meaning, NumberType) else Fraction(1)


def _remedy(out: Out, call: Call, question: Question) -> str:
    """The remedy for the analyst, and for a forecast also that for the data owner."""
    sums = "ask for its SUM and its COUNT with an error each, or "
    if call.name not in FORECAST or not isinstance(out, Result):
        return f"{sums if call.name in ('sum', 'avg') else ''}give epsilon instead"
    table = tables_of(question.group)[0].name
    owner = f"the data owner can declare the group size to forecast for: min_rows = 1000 in table {table} of the catalog"
    return f"{sums if call.name == 'avg' else ''}give epsilon instead; {owner}"


def _word(out: Out, call: Call) -> str:
    names = {"avg": "an average", "quantile": "a quantile", "corr": "a correlation"}
    names |= dict.fromkeys(("covar_pop", "covar_samp"), "a covariance")
    names |= dict.fromkeys(("regr_slope", "regr_intercept", *MODEL_PARTS), "a regression")
    return names.get(call.name, "a variance") if isinstance(out, Result) else "an expression"
