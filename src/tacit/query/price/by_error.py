"""The least epsilon with which every number of an answer has the error that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from tacit.accounting import calibrate
from tacit.accounting.weighted import Draws
from tacit.errors import ErrorNotPublic
from tacit.query.groups import private
from tacit.query.pauses import pause
from tacit.query.plan import Call, Moment, NumberType, Question
from tacit.query.price.aggregates import moments_of
from tacit.query.price.chances import missed_for
from tacit.query.price.forecast import FORECAST, Noises, declared_rows, has_forecast, least_share, noises_in
from tacit.query.price.misses import calls_of
from tacit.query.price.noises import laplace
from tacit.query.price.quote import Quote, Sum, together
from tacit.query.price.released import additive
from tacit.query.price.request import LEAST_EPSILON, Request
from tacit.query.price.stability import Reach, l1_sensitivity, tables_of
from tacit.query.price.statements import SPREADS
from tacit.query.results import Out, Result

PARTS = {"squares": Fraction(2, 5), "centred": Fraction(1), "rows": Fraction(4, 5)}  # of a variance, for its least epsilon


def for_error(question: Question, asked: Request, touched: Sequence[Reach], factor: int) -> Quote:
    """The least epsilon with which every number of the answer has the wanted error; each sum gets what it needs."""
    if any(map(private, question.parts)):
        raise ErrorNotPublic("with private keys, the error of a group cannot be set in advance", remedy="give epsilon and delta")
    needed = [_needed(part, asked, reached) for part, reached in zip(question.parts, touched, strict=True)]
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


def _needed(question: Question, asked: Request, touched: Reach) -> dict[Moment, Fraction]:
    """What every sum of one part must cost at least."""
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
    """What a sum gets for each unit of epsilon of a call's largest: in a variance, about as weight^(2/3) (forecast.md)."""
    return PARTS[moment.kind] if call.name in SPREADS else Fraction(1)


def _one_sum(out: Out, call: Call, question: Question) -> tuple[Moment, Fraction]:
    """The single moment behind a number whose error is public, and the size of one of its units in the answer."""
    moments = moments_of(call, question.calls)
    if call.name == "mode":
        raise ErrorNotPublic("MODE is a chosen value, which has no error", remedy="give epsilon")
    if not isinstance(out, Result) or len(moments) != 1 or moments[0].kind == "list":
        raise ErrorNotPublic(
            f"the error of {_word(out, call)} depends on how many people there are, which is private",
            remedy=_remedy(out, call, question),
        )
    meaning = call.over.type if call.over is not None and call.name == "sum" else None
    return moments[0], meaning.step if isinstance(meaning, NumberType) else Fraction(1)


def _remedy(out: Out, call: Call, question: Question) -> str:
    """What the analyst can do, and for what can be forecast also what the data owner can do."""
    sums = "ask for its SUM and its COUNT with an error each, or "
    if call.name not in FORECAST or not isinstance(out, Result):
        return f"{sums if call.name in ('sum', 'avg') else ''}give epsilon instead"
    table = tables_of(question.group)[0].name
    owner = f"the data owner can declare the group size to forecast for: min_rows = 1000 in table {table} of the catalog"
    return f"{sums if call.name == 'avg' else ''}give epsilon instead; {owner}"


def _word(out: Out, call: Call) -> str:
    names = {"avg": "an average", "quantile": "a quantile", "corr": "a correlation"}
    names |= dict.fromkeys(("covar_pop", "covar_samp"), "a covariance")
    names |= dict.fromkeys(("regr_slope", "regr_intercept"), "a regression")
    return names.get(call.name, "a variance") if isinstance(out, Result) else "an expression"
