"""The price of a quote for a whole person, over all periods that it reads, at the noise that runs (accounting/periods.md)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

from tacit.accounting.composition import Cost, cost, cost_under, moved_weight_up
from tacit.accounting.events import GaussianNoise, LaplaceNoise
from tacit.accounting.ledger.units import restated_price
from tacit.mechanisms.running import Running
from tacit.query.intervals.bands import Sum
from tacit.query.periods import periods_of_group
from tacit.query.price.quote import UNIT, Quote
from tacit.query.price.stability import Reach, l1_sensitivity, l2_sensitivity, largest_move
from tacit.query.question import cells_of, private


def whole_person(quote: Quote) -> Cost:
    """The cost of a question to a person with rows in every one of its periods: sums by their sensitivity to those rows.

    All else is priced as that many steps from neighbour to neighbour, each of them one period.
    """
    reached = [_reach(part) for part in quote.parts]
    if all(touched == part.reach for touched, part in zip(reached, quote.parts, strict=True)) and _alone(quote):
        return cost_under(quote.event, UNIT)
    costs: list[Cost] = []
    for part, touched in zip(quote.parts, reached, strict=True):
        times = periods_of_group(part.question.group)[0]
        costs += [_of_sum(each, part, touched, times) for each in part.sums]
        shared = [event for workload in part.workloads for event in workload.strategy.event.events]
        others = [*([part.keys.event] if part.keys else []), *part.drawn_events, *shared]
        costs += [restated_price(event, cost_under(event, UNIT), times) for event in others]
    return reduce(add, costs) if costs else Cost(Fraction(0), Fraction(0), Fraction(0), UNIT)


def _alone(quote: Quote) -> bool:
    return all(periods_of_group(part.question.group)[0] == 1 for part in quote.parts)


def _reach(quote: Quote) -> Reach:
    """The reach of a whole person: the rows of all periods, in as many groups as they can be in."""
    touched, (times, in_one) = quote.reach, periods_of_group(quote.question.group)
    rows = touched.rows * times
    if not quote.question.group.keys:
        return replace(touched, rows=rows, per_group=rows)
    cells = rows if private(quote.question) else cells_of(quote.question)
    return replace(touched, rows=rows, groups=min(rows, cells), per_group=min(rows, touched.per_group * in_one))


def _of_sum(part: Sum, quote: Quote, touched: Reach, times: int) -> Cost:
    """The cost of one noisy sum, whose noise stays what it is."""
    moment, event = part.moment, part.mechanism.event
    moment = moment if moment.together is None else replace(moment, together=times * moment.together)
    if isinstance(part.mechanism, Running):
        wider = replace(part.mechanism, total=l1_sensitivity(moment, touched), largest=largest_move(moment, touched))
        measured = part.mechanism.event
        return _gaussian(measured, max(measured.sensitivity, wider.units), times)
    if isinstance(event, LaplaceNoise):
        before = l1_sensitivity(part.moment, quote.reach)
        return cost(replace(event, sensitivity=_grown(event.sensitivity, l1_sensitivity(moment, touched), before)))
    if isinstance(event, GaussianNoise) and event.scale:
        return _gaussian(
            event, _grown(event.sensitivity, l2_sensitivity(moment, touched), l2_sensitivity(part.moment, quote.reach)), times
        )
    return restated_price(event, cost_under(event, UNIT), times)


def _gaussian(event: GaussianNoise, moved: Fraction, times: int) -> Cost:
    """The cost of Gaussian noise to a person who moves the numbers that far; what is left out of its law counts for each period."""
    rho, delta = (moved / event.scale) ** 2 / 2, times * event.delta
    return Cost(None, rho, delta + moved_weight_up(delta, rho), event.neighbours)


def _grown(sensitivity: Fraction, now: Fraction | int, before: Fraction | int) -> Fraction:
    """A sensitivity in grid units, as much larger as the moment moves more; never smaller."""
    return max(sensitivity, Fraction(sensitivity) * Fraction(now) / Fraction(before)) if before else Fraction(sensitivity)
