"""The curve of discrete Gaussian noise: against sums over whole worlds, and what a calibration promises."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest

from tacit.accounting import events, gaussian_curve
from tacit.accounting.calibrate import gaussian_scale_up
from tacit.accounting.composition import Cost, cost, loss
from tacit.accounting.gaussian_curve import (
    Moves,
    calibrated_rho,
    delta_up,
    listed_delta_up,
    maximal_moves,
    normal_delta_up,
    rounded_delta_up,
)
from tacit.accounting.gaussian_sums import Bounds, normal_tail
from tacit.errors import InvalidInput
from tacit.privacy.conversion import largest_rho_down
from tacit.privacy.loss import Approximate
from tacit.privacy.rounding import sqrt_up

F = Fraction
ONE = (F(1),)
PRECISE = Context(prec=50)


def weights(scale: Fraction, reach: int = 12) -> dict[int, Decimal]:
    """The discrete Gaussian, to 45 digits, as far as it matters."""
    far = math.ceil(reach * scale) + 1
    square = Decimal(scale.numerator) ** 2 / Decimal(scale.denominator) ** 2
    terms = {k: PRECISE.exp(-(Decimal(k * k) / (2 * square))) for k in range(-far, far + 1)}
    whole = sum(terms.values())
    return {k: PRECISE.divide(term, whole) for k, term in terms.items()}


def exact_delta(moves: Sequence[int], scales: Sequence[Fraction], epsilon: Fraction) -> Fraction:
    """The sum over all outcomes of P - e^epsilon Q where it is positive: the definition, outcome by outcome, to e^-72."""
    with localcontext(PRECISE):
        ratio = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        laws = [weights(scale) for scale in scales]
        total = Decimal(0)
        for place in product(*laws):
            steps = list(zip(laws, place, moves, strict=True))
            here = math.prod((law[k] for law, k, _ in steps), start=Decimal(1))
            there = math.prod((law.get(k + move, Decimal(0)) for law, k, move in steps), start=Decimal(1))
            total += max(Decimal(0), here - ratio * there)
        return Fraction(total)


@pytest.mark.parametrize("moves", [(1,), (2,), (1, 1), (2, 1)])
@pytest.mark.parametrize(("scale", "epsilon"), [(F(1, 2), F(3)), (F(3, 2), F(1)), (F("2.7"), F(1, 2))])
def test_a_listed_move_has_the_delta_of_its_definition(moves: tuple[int, ...], scale: Fraction, epsilon: Fraction) -> None:
    found, truth = listed_delta_up(moves, scale, epsilon), exact_delta(moves, [scale] * len(moves), epsilon)
    assert truth <= found + F(1, 10**25), "the oracle leaves out e^-72"
    assert found <= truth * (1 + F(1, 10**10)) + F(1, 10**25)


def test_a_covered_move_has_no_more_delta() -> None:
    for large, small in (((2, 1), (1, 1)), ((2, 1), (2,)), ((1, 1, 1), (1, 1)), ((3,), (2,))):
        for epsilon in (F(1, 10), F(1), F(4)):
            assert listed_delta_up(small, F(2), epsilon) <= listed_delta_up(large, F(2), epsilon)


@pytest.mark.parametrize(("square", "entries", "total", "largest"), [(5, 3, 3, 2), (9, 4, 6, 3), (10, 2, 4, 3), (8, 8, 2, 2)])
def test_lists_of_moves_are_all_that_the_limits_allow(square: int, entries: int, total: int, largest: int) -> None:
    within = [
        move
        for move in product(range(largest + 1), repeat=entries if entries < 5 else 4)
        if sum(k * k for k in move) <= square and sum(move) <= total
    ]
    lists = maximal_moves(square, entries, total, largest)
    padded = [tuple(sorted(each, reverse=True)) + (0,) * entries for each in lists]
    for move in within:
        ordered = sorted(move, reverse=True)
        assert any(all(a >= b for a, b in zip(each, ordered, strict=False)) for each in padded), move
    assert all(sum(k * k for k in each) <= square and sum(each) <= total and len(each) <= entries for each in lists)


@pytest.mark.parametrize("rounding", gaussian_curve.ROUNDINGS)
def test_the_bound_by_rounding_is_above_the_law(rounding: Fraction) -> None:
    """One vector, and two with noise of different widths: a move of both at once."""
    for moves, scales, epsilon in (((2,), (F(3),), F(1)), ((1, 1), (F(3), F(3)), F(1)), ((1, 3), (F("2.9"), F(7, 2)), F(2))):
        if 2 * rounding**2 >= min(scales) ** 2:
            continue
        found = rounded_delta_up([Moves(F(move), 1) for move in moves], scales, epsilon, rounding)
        assert found >= exact_delta(moves, scales, epsilon)


def test_the_bound_by_rounding_is_near_where_noise_is_wide() -> None:
    moves = Moves(sqrt_up(F(5)), entries=2)
    exact, found = listed_delta_up((2, 1), F(15), F(1, 2)), rounded_delta_up([moves], [F(15)], F(1, 2), F(1))
    assert exact <= found <= exact * F("1.06")


def test_a_density_that_is_not_narrowed_is_caught() -> None:
    """The planted bug: the analytic formula for continuous noise, with the scale of the whole numbers."""
    planted = normal_delta_up(F(1) / F("1.4452"), F(2))
    assert planted < exact_delta((1,), (F("1.4452"),), F(2))


# --- calibration -------------------------------------------------------------------------------------------------------------

SMALL = [
    (Moves(F(1), 1), F(2), F(1, 100)),
    (Moves(F(2), 1), F(3), F(1, 100)),
    (Moves(sqrt_up(F(2)), 2), F(3), F(1, 100)),
    (Moves(sqrt_up(F(5)), 2, total=3), F(4), F(1, 20)),
    (Moves(F(2), 2, total=2), F(3), F(1, 20)),
]


def worst_of(moves: Moves, scale: Fraction, epsilon: Fraction) -> Fraction:
    """The largest delta over every whole move within the limits, by definition."""
    reach = range(math.isqrt(moves.square) + 1)
    lists = [
        move
        for move in product(reach, repeat=moves.entries)
        if sum(k * k for k in move) <= moves.square and sum(move) <= (moves.total or moves.square) and list(move) == sorted(move)
    ]
    return max(exact_delta(move, [scale] * moves.entries, epsilon) for move in lists)


@pytest.mark.parametrize(("moves", "epsilon", "delta"), SMALL)
def test_a_calibration_keeps_its_promise_for_every_move(moves: Moves, epsilon: Fraction, delta: Fraction) -> None:
    rho = calibrated_rho((moves,), ONE, epsilon, delta)
    scale = gaussian_scale_up(moves.length, rho)
    assert worst_of(moves, scale, epsilon) <= delta
    assert rho > largest_rho_down(epsilon, delta), "less noise than the conversion"
    assert worst_of(moves, scale * F(49, 50), epsilon) > delta, "and 2 % less noise would not do"


def test_the_axis_alone_is_caught() -> None:
    """The planted bug: a vector of squared length 2 priced by the longest move of one entry, which is 1."""
    moves, epsilon, delta = Moves(sqrt_up(F(2)), 2), F(3), F(1, 100)
    planted = calibrated_rho((Moves(F(1), 1),), ONE, epsilon, delta)
    scale = gaussian_scale_up(1, planted)
    assert worst_of(Moves(F(1), 1), scale, epsilon) <= delta
    assert worst_of(moves, scale, epsilon) > 3 * delta


def test_two_vectors_keep_one_promise_together() -> None:
    moves, weights_of = (Moves(F(1), 1), Moves(F(2), 1)), (F(1, 3), F(2, 3))
    rho = calibrated_rho(moves, weights_of, F(2), F(1, 100))
    scales = [gaussian_scale_up(each.length, weight * rho) for each, weight in zip(moves, weights_of, strict=True)]
    assert max(exact_delta(move, scales, F(2)) for move in ((1, 0), (0, 2), (1, 1), (1, 2))) <= F(1, 100)


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1)])
@pytest.mark.parametrize(
    "moves",
    [
        (Moves(F(1), 1),),
        (Moves(sqrt_up(F(2)), 8, 2),),
        (Moves(F(8), 8, 8),),
        (Moves(F(500_000), 8),),
        (Moves(F(1), 1), Moves(F(5000), 1)),
    ],
)
def test_noise_is_within_a_hundredth_of_the_analytic_gaussian(epsilon: Fraction, moves: tuple[Moves, ...]) -> None:
    """The least noise of continuous Gaussian mechanisms, by bisection on Balle and Wang's formula."""
    delta = F(1, 10**6)
    low, high = 0.0, 10.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        start = float(epsilon) / middle - middle / 2
        excess = math.erfc(start / math.sqrt(2)) - math.exp(epsilon) * math.erfc((start + middle) / math.sqrt(2))
        low, high = (middle, high) if excess / 2 <= delta else (low, middle)
    rho = calibrated_rho(moves, tuple(F(1, len(moves)) for _ in moves), epsilon, delta)
    assert math.sqrt(low**2 / 2 / float(rho)) <= 1.01
    scales = [gaussian_scale_up(each.length, rho / len(moves)) for each in moves]
    assert delta_up(moves, scales, epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(F(600), F(1, 10**6)), (F(1), F(1, 10**300)), (F(1, 10**4), F(1, 2))])
def test_budgets_beyond_floats_fall_back_on_the_conversion(epsilon: Fraction, delta: Fraction) -> None:
    assert calibrated_rho((Moves(F(3), 4),), ONE, epsilon, delta) >= largest_rho_down(epsilon, delta) - F(1, 10**24)


def test_shares_of_rho_that_exceed_it_are_refused() -> None:
    moves = Moves(F(1), 1)
    for shares in ((F(1, 2), F(3, 4)), (F(1),), (F(1), F(0))):
        with pytest.raises(InvalidInput, match="shares of rho must be"):
            calibrated_rho((moves, moves), shares, F(1), F(1, 10**6))


def normal_tail_of(position: Fraction) -> Fraction:
    """By the series of the integral, to 60 digits and more."""
    with localcontext(Context(prec=90)):
        at = Decimal(position.numerator) / Decimal(position.denominator)
        term, total, odd = at, at, 1
        while abs(term) > Decimal("1e-85"):
            odd += 2
            term = term * at * at / odd
            total += term
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211")
        return Fraction(Decimal("0.5") - (-at * at / 2).exp() * total / (2 * pi).sqrt())


@pytest.mark.parametrize("position", ["-6.5", "-1", "0", "0.25", "2", "4.5", "9"])
def test_the_normal_tail_lies_between_its_bounds(position: str) -> None:
    found, truth = normal_tail(F(position)), normal_tail_of(F(position))
    assert found.down - F(1, 10**60) <= truth <= found.up + F(1, 10**60)
    assert found.up - found.down < F(1, 10**60)


def test_a_curve_rounded_the_wrong_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the bounds of the tails change places. Bounds of 12 digits show it; those in use have 80."""
    length, epsilon = F(1, 4), F(1)
    start = epsilon / length - length / 2
    truth = normal_tail_of(start) - Fraction(Context(prec=80).exp(Decimal(1))) * normal_tail_of(start + length)
    assert 0 <= normal_delta_up(length, epsilon) - truth < F(1, 10**50)

    def rough(position: Fraction) -> Bounds:
        found = normal_tail(position)
        return Bounds(found.down * (1 - F(1, 10**12)), found.up * (1 + F(1, 10**12)))

    monkeypatch.setattr(gaussian_curve, "normal_tail", rough)
    assert normal_delta_up(length, epsilon) > truth
    monkeypatch.setattr(gaussian_curve, "normal_tail", lambda position: Bounds(*reversed(rough(position))))
    assert normal_delta_up(length, epsilon) < truth


# --- what a ledger records ---------------------------------------------------------------------------------------------------


def test_an_event_is_charged_with_all_three_numbers() -> None:
    noise = events.GaussianNoise(F(1), F("4.231"))
    stated = events.CalibratedGaussian((noise, noise), F(1), F(1, 10**6))
    assert loss(stated) == Approximate(1, 1e-6)
    assert cost(stated) == Cost(F(1), 2 * cost(noise).rho, F(1, 10**6))
    assert cost(noise) == Cost(None, 1 / (2 * F("4.231") ** 2), F(0))


def test_an_epsilon_without_its_delta_is_caught() -> None:
    """The planted bug: (1, rho, 0) is recorded. The noise has outcomes beyond the ratio, as many as the delta of its curve."""
    rho = calibrated_rho((Moves(F(1), 1),), ONE, F(1), F(1, 10**6))
    scale = gaussian_scale_up(1, rho)
    planted = Cost(F(1), rho, F(0))
    honest = cost(events.CalibratedGaussian((events.GaussianNoise(F(1), scale),), F(1), F(1, 10**6)))
    lost = exact_delta((1,), (scale,), F(1))
    assert planted.delta < F("9e-7") < lost <= honest.delta
