"""Totals for events that are all fixed in advance: inside one question, never in the ledger's filter.

Many small losses add up to less than their sum, at the price of a delta. batches.md proves each form; for a hundred events of
epsilon 0.1 at delta 1e-6 they give:

>>> forms = {"advanced": advanced, "tighter": advanced_tighter, "concentrated": concentrated, "exact": exact_pure}
>>> {name: round(float(form(0.1, 100, 1e-6).epsilon), 5) for name, form in forms.items()}
{'advanced': 6.30823, 'tighter': 5.75611, 'concentrated': 5.21908, 'exact': 4.77457}
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from tacit.accounting.composition import cost, loss, sequential
from tacit.accounting.events import Batch, Event
from tacit.errors import InvalidBudget, InvalidInput
from tacit.privacy.conversion import pure_rho_up
from tacit.privacy.loss import ADD_REMOVE, Approximate, Concentrated, Loss, Neighbours, not_negative, positive_budget, probability
from tacit.privacy.rounding import DIGITS, Number, exp_down, exp_up, float_down, log_down, log_up, sqrt_up

UP = Context(prec=DIGITS, rounding=ROUND_CEILING)
DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR)
GRID_POINTS = 50_000  # of a privacy-loss distribution, from 0 to the sum of all epsilons
FLOAT_WEIGHT = Fraction(1, 2**48)  # what a Fourier transform may lose of a weight, for each point and event (batches.md, 5)
FLOAT_LOSS = Fraction(1, 10**9)  # and what floats may lose of an epsilon, relative to the sum


def advanced(epsilon: Number, count: int, delta: Number, neighbours: Neighbours = ADD_REMOVE) -> Approximate:
    """epsilon sqrt(2 k ln(1/delta)) + k epsilon (e^epsilon - 1) (Dwork, Rothblum and Vadhan 2010)."""
    each = positive_budget(epsilon)
    return _advanced_total(each, count, delta, exp_up(each) - 1, neighbours)


def advanced_tighter(epsilon: Number, count: int, delta: Number, neighbours: Neighbours = ADD_REMOVE) -> Approximate:
    """The same with the mean loss epsilon (e^epsilon - 1) / (e^epsilon + 1), which no pure mechanism exceeds."""
    each = positive_budget(epsilon)
    return _advanced_total(each, count, delta, 1 - 2 / (exp_up(each) + 1), neighbours)


def concentrated(epsilon: Number, count: int, delta: Number, neighbours: Neighbours = ADD_REMOVE) -> Approximate:
    """Through k epsilon tanh(epsilon / 2) concentrated, and the tight conversion (Canonne, Kamath and Steinke 2020)."""
    return Concentrated(_times(count) * pure_rho_up(positive_budget(epsilon)), 0, neighbours).approximate(delta)


def exact_pure(epsilon: Number, count: int, delta: Number, neighbours: Neighbours = ADD_REMOVE) -> Approximate:
    """The least total epsilon at `delta` that holds for every `count` mechanisms of pure `epsilon`.

    With A_j and B_j the weights of "at most j answers are unlikely" under the two neighbours, delta at total E is the largest
    A_j - e^E B_j (Kairouz, Oh and Viswanath 2015), so e^E is the largest (A_j - delta) / B_j.
    """
    each, rest = positive_budget(epsilon), probability(delta)
    total = _times(count) * each
    if rest == 0 or total > 10**5:  # e^total would be a number of 40,000 digits
        return Approximate(total, rest, neighbours)
    taken = UP.subtract(Decimal(0), _decimal(rest, DOWN))
    largest = max(UP.divide(UP.add(above, taken), below) for above, below in _tails(each, count))
    least = log_up(Fraction(largest)) if largest > 1 else Fraction(0)
    return Approximate(min(total, least), rest, neighbours)


def exact_pure_delta_up(epsilon: Number, count: int, total: Number) -> Fraction:
    """The least delta at total epsilon `total`, rounded up, for every `count` mechanisms of pure `epsilon`.

    >>> float(exact_pure_delta_up(0.1, 100, 4.77457)) < 1e-6 < float(exact_pure_delta_up(0.1, 100, 4.7745))
    True
    """
    each, limit = positive_budget(epsilon), not_negative(total, "total")
    ratio = _decimal(exp_down(limit), DOWN)
    lines = (UP.subtract(above, DOWN.multiply(ratio, below)) for above, below in _tails(each, _times(count)))
    return max(Fraction(0), Fraction(max(lines))) if limit < count * each else Fraction(0)


def batch_loss(events: Sequence[Event], delta: Number) -> Approximate:
    """The smallest epsilon at `delta`, among the theorems used here, for events that are all fixed in advance.

    Sum, concentrated total, and privacy-loss distributions by dp-accounting in which each event is the worst one of its
    (epsilon, delta); noise is discrete, so no formula for continuous noise enters. batches.md, section 5.

    >>> from tacit.accounting.events import ExponentialChoice
    >>> round(float(batch_loss([ExponentialChoice(Fraction(1, 10))] * 100, delta=1e-6).epsilon), 4)
    4.7746
    """
    parts = _flat(events)
    losses = [loss(event) for event in parts]
    whole = sequential(losses)
    limit = probability(delta)
    candidates = [_at(whole, limit)] if isinstance(whole, Concentrated) or whole.delta <= limit else []
    candidates += [_at(_all_concentrated(parts), limit), _by_distributions(losses, limit)]
    possible = [epsilon for epsilon in candidates if epsilon is not None]
    if not possible:
        raise InvalidBudget(
            f"delta must exceed the delta of the events themselves, not be {delta}; give a larger delta", argument="delta"
        )
    return Approximate(min(possible), limit, whole.neighbours)


def _advanced_total(each: Fraction, count: int, delta: Number, mean_ratio: Fraction, neighbours: Neighbours) -> Approximate:
    rest = positive_budget(delta, "delta")
    spread = each * sqrt_up(2 * _times(count) * log_up(1 / probability(rest)))
    return Approximate(spread + count * each * mean_ratio, rest, neighbours)


def _tails(each: Fraction, count: int) -> Iterator[tuple[Decimal, Decimal]]:
    """For j = 0..count: P[at most j of count are unlikely], rounded up, and the same under the neighbour, rounded down."""
    up, down = exp_up(-each), exp_down(-each)
    unlikely, likely_again = _decimal(up, UP), _decimal(1 / up, DOWN)
    term_above = _decimal(exp_up(-count * log_down(1 + down)), UP)
    term_below = _decimal(exp_down(-count * (each + log_up(1 + up))), DOWN)
    above, below = term_above, term_below
    yield above, below
    for j in range(count):
        step = Decimal(count - j), Decimal(j + 1)
        term_above = UP.divide(UP.multiply(UP.multiply(term_above, unlikely), step[0]), step[1])
        term_below = DOWN.divide(DOWN.multiply(DOWN.multiply(term_below, likely_again), step[0]), step[1])
        above, below = UP.add(above, term_above), DOWN.add(below, term_below)
        yield above, below


def _by_distributions(losses: Sequence[Loss], delta: Fraction) -> Fraction | None:
    """Epsilon by privacy-loss distributions; None where floating point cannot resolve `delta`."""
    pairs = Counter((each.epsilon, each.delta) for each in losses if not isinstance(each, Concentrated))
    gaussian = [each for each in losses if isinstance(each, Concentrated)]
    if gaussian:
        block = _at(sequential(gaussian), delta / 2)
        if block is None:
            return None
        pairs[block, delta / 2] += 1
    total = sum((epsilon * count for (epsilon, _), count in pairs.items()), start=Fraction(0))
    step = _grid(pairs, total)
    usable = delta - len(losses) * (2 * total / step + 1) * FLOAT_WEIGHT
    if total == 0 or usable <= sum(own * count for (_, own), count in pairs.items()):
        return None
    bound = _composed_distribution(pairs, step).get_epsilon_for_delta(float_down(usable))
    return min(total, Fraction(float(bound)) + total * FLOAT_LOSS) if math.isfinite(bound) else None


def _composed_distribution(pairs: Counter[tuple[Fraction, Fraction]], step: Fraction) -> Any:
    """The composition of the worst mechanism of each (epsilon, delta), losses rounded up to the grid."""
    try:
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, identity
    except ImportError:
        raise InvalidInput(
            "the tight total of a batch requires dp-accounting, which is not installed; run: pip install 'tacit[accounting]'"
        ) from None

    composed = identity(float(step))
    for (epsilon, own), count in pairs.items():
        likely = float((1 - own) / (1 + exp_up(-epsilon)))
        losses = {-math.floor(epsilon / step): 1 - float(own) - likely}
        losses[math.ceil(epsilon / step)] = losses.get(math.ceil(epsilon / step), 0.0) + likely
        one = PrivacyLossDistribution.create_from_rounded_probability(losses, float(own), float(step))
        composed = composed.compose(one.self_compose(count))
    return composed


def _grid(pairs: Counter[tuple[Fraction, Fraction]], total: Fraction) -> Fraction:
    """A step that divides every epsilon where that gives few enough points, else the total in `GRID_POINTS` steps."""
    denominator = math.lcm(*(epsilon.denominator for epsilon, _ in pairs))
    common = Fraction(math.gcd(*(int(epsilon * denominator) for epsilon, _ in pairs)), denominator)
    return common if common * GRID_POINTS >= total > 0 else max(total, Fraction(1)) / GRID_POINTS


def _at(stated: Loss, delta: Fraction) -> Fraction | None:
    """The epsilon of a loss at `delta`; None where its own delta leaves no room."""
    if isinstance(stated, Concentrated):
        return stated.approximate(delta).epsilon if stated.delta < delta else None
    return stated.epsilon if stated.delta <= delta else None


def _all_concentrated(events: Sequence[Event]) -> Concentrated:
    whole = cost(Batch(tuple(events)))
    return Concentrated(whole.rho, whole.delta, whole.neighbours)


def _flat(events: Sequence[Event]) -> list[Event]:
    return [part for event in events for part in (_flat(event.events) if isinstance(event, Batch) else [event])]


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _times(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInput(f"count must be a whole number of at least 1, not {count!r}", argument="count")
    return count
