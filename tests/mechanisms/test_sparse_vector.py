"""The sparse vector technique: exact losses, the known broken variants caught by the same enumeration, and the watch."""

import copy
import math
import os
import pickle
import threading
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting import calibrate
from tacit.accounting.events import AboveThreshold
from tacit.errors import InvalidBudget, InvalidInput, InvalidSensitivity, InvalidValue, Refused
from tacit.mechanisms import sparse_vector
from tacit.mechanisms.mechanism import Listed
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.privacy.law import ARITHMETIC, worst_log_ratio
from tacit.privacy.loss import Pure
from tacit.privacy.sealed import Sealed

TINY = Decimal("1e-25")
HALF = Fraction(1, 2)


def mechanism(positives=1, threshold_share=HALF, answer_share=HALF):
    return SparseVector(1, threshold_share, answer_share, positives, threshold=0, step=1)


# ---- the law by another road ----


def chance(answers, scores, threshold_scale, answer_scale, reach=400):
    """P[answers] for a threshold at 0: the sum over its noise of the product over the answers. A scale of 0 is no noise."""
    threshold, fresh = DiscreteLaplaceLaw(threshold_scale), DiscreteLaplaceLaw(answer_scale) if answer_scale else None

    def one(answer, distance):
        if fresh is None:
            return Decimal(answer == (distance <= 0))
        return fresh.at_least(distance) if answer else fresh.below(distance)

    with localcontext(ARITHMETIC):
        return sum(
            threshold.mass(move) * math.prod((one(a, move - s) for a, s in zip(answers, scores, strict=False)), start=Decimal(1))
            for move in range(-reach, reach + 1)
        )


def log_ratio(one, other):
    return (one / other).ln() if other else Decimal("Infinity")


@pytest.mark.parametrize("positives", [1, 2])
def test_the_law_is_the_definition(positives):
    tested = mechanism(positives)
    law = tested.law([1, -2, 3]).probabilities
    for answers, listed in law.items():
        direct = chance(answers, [1, -2, 3], tested.threshold_scale, tested.answer_scale)
        assert abs(direct - listed) < Decimal("1e-30")
    stopped = {answers for answers in law if len(answers) < 3}
    assert all(sum(answers) == positives and answers[-1] for answers in stopped)
    assert len(law) == {1: 4, 2: 7}[positives]


# ---- privacy ----


def worst_loss(law, numbers, levels=(0, 1)):
    known = cache(lambda scores: law(list(scores)))
    return max(
        worst_log_ratio(known(scores), known(tuple(s + m for s, m in zip(scores, moves, strict=True))))
        for scores in product(levels, repeat=numbers)
        for moves in product((-1, 0, 1), repeat=numbers)
    )


@pytest.mark.parametrize(("positives", "shares"), [(1, ("1/2", "1/2")), (2, ("1/2", "1/2")), (2, ("1/4", 2)), (3, (1, 3))])
def test_loss_over_all_neighbours(positives, shares):
    tested = mechanism(positives, *shares)
    claim = Fraction(shares[0]) + Fraction(shares[1])
    assert tested.loss == Pure(claim)
    assert worst_loss(tested.law, numbers=3) <= Decimal(float(claim)) + TINY


RISING, FALLING = [6] * 10 + [-6], [7] * 10 + [-7]  # ten below that rise, then one above that falls


def test_the_bound_is_nearly_attained_so_a_tenth_less_noise_is_seen():
    honest = mechanism()
    assert Decimal("0.99") < worst_log_ratio(honest.law(RISING), honest.law(FALLING)) <= 1
    for planted in (mechanism(threshold_share="11/20"), mechanism(answer_share="11/20")):
        assert worst_log_ratio(planted.law(RISING), planted.law(FALLING)) > 1


def test_planted_no_noise_on_the_numbers_is_seen():
    """(below, above) is possible for 0, 1 and impossible for 1, 0: an infinite loss."""
    answers = (False, True)
    assert chance(answers, [0, 1], Fraction(2), 0) > Decimal("0.1")
    assert log_ratio(chance(answers, [0, 1], Fraction(2), 0), chance(answers, [1, 0], Fraction(2), 0)) == Decimal("Infinity")


def test_planted_one_noise_for_all_numbers_is_seen():
    """Noise drawn once and used for every number moves the threshold and nothing else: the same infinite loss."""
    noise = DiscreteLaplaceLaw(Fraction(4))

    def planted(scores):
        shifts = [(noise.mass(shift), [score + shift for score in scores]) for shift in range(-60, 61)]
        return sum(weight * chance((False, True), moved, Fraction(2), 0, reach=60) for weight, moved in shifts)

    assert log_ratio(planted([0, 1]), planted([1, 0])) == Decimal("Infinity")


def test_planted_threshold_without_noise_is_seen():
    """Each number then tells by itself: the loss grows with how many are asked, though all are below."""
    fresh = DiscreteLaplaceLaw(Fraction(4))
    loss = 12 * (fresh.below(0 - 6) / fresh.below(0 - 7)).ln()
    assert loss > Decimal("2.9")


def test_planted_unlimited_positives_are_seen():
    """Noise for one positive, but no stop: every positive answer costs again."""
    one_positive = mechanism()
    scales = one_positive.threshold_scale, one_positive.answer_scale
    answers = (False,) * 6 + (True,) * 4
    rising, falling = [6] * 6 + [-6] * 4, [7] * 6 + [-7] * 4
    assert log_ratio(chance(answers, rising, *scales), chance(answers, falling, *scales)) > Decimal("2.4")


def test_planted_noise_that_forgets_the_positives_is_seen():
    """Scale 2 sensitivity / epsilon_answers though two positives are given."""
    honest, forgetful = mechanism(2), mechanism(1)
    answers, rising, falling = (False,) * 6 + (True,) * 2, [6] * 6 + [-6] * 2, [7] * 6 + [-7] * 2
    right, wrong = (
        log_ratio(*(chance(answers, scores, each.threshold_scale, each.answer_scale) for scores in (rising, falling)))
        for each in (honest, forgetful)
    )
    assert right <= 1
    assert wrong > Decimal("1.4")


def test_planted_release_of_the_noisy_value_is_seen():
    """Ten below, then the positive number's own noisy value: it bounds the threshold, and the ten speak for themselves again."""
    tested = mechanism()
    threshold, fresh = DiscreteLaplaceLaw(tested.threshold_scale), DiscreteLaplaceLaw(tested.answer_scale)

    def planted(scores, value):
        with localcontext(ARITHMETIC):
            return fresh.mass(value - scores[-1]) * sum(
                threshold.mass(limit) * math.prod((fresh.below(limit - s) for s in scores[:-1]), start=Decimal(1))
                for limit in range(-400, value + 1)
            )

    assert log_ratio(planted([6] * 10 + [0], -20), planted([7] * 10 + [0], -20)) > 2


# ---- the release ----


def test_a_list_stops_at_the_last_positive(monkeypatch):
    monkeypatch.setattr(sparse_vector.discrete, "draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))
    two = SparseVector(1, 1, 1, positives=2, threshold=10, step=1)
    assert two.release([1, 10, 9, 11, 50]) == (False, True, False, True)
    assert two.release([1, 2]) == (False, False)
    assert two.release(Sealed([2**80, 3])) == (True, False)


def test_noise_of_the_right_scales_is_drawn(monkeypatch):
    asked = []
    monkeypatch.setattr(
        sparse_vector.discrete, "draw_laplace", lambda scale, size: asked.append((scale, size)) or np.zeros(size, dtype=np.int64)
    )
    SparseVector("1/3", "1/2", "1/4", positives=3, threshold=0, step="1/4").release([1, 2, 3, 4])
    assert asked == [(4, 1), (48, 4)]  # 1/3 is two quarters, rounded up: 2 / (1/2) and 2 * 3 * 2 / (1/4)
    asked.clear()
    watch = SparseVector(1, 1, 1, positives=3, threshold=0, step=1).start()
    watch.ask(1)
    watch.ask(1)
    assert asked == [(1, 1), (6, 1), (6, 1)]  # the threshold once, each number afresh


@pytest.mark.parametrize("by_watch", [False, True])
def test_the_release_follows_the_law(by_watch):
    tested, scores, size = mechanism(2, 1, 2), [1, -1, 2], 6000
    law = tested.law(scores).probabilities

    def watched():
        watch, answers = tested.start(), []
        while watch.positives_left and len(answers) < len(scores):
            answers.append(watch.ask(scores[len(answers)]))
        return tuple(answers)

    drawn = [watched() if by_watch else tested.release(scores) for _ in range(size)]
    assert follows_law(drawn, law)


def test_the_margin_holds():
    tested = mechanism(1, 2, 2)
    margin = tested.margin(3, 0.9)
    far = int(margin) + 1
    law = tested.law([-far, -far, far]).probabilities
    assert law[(False, False, True)] >= Decimal("0.9")
    assert tested.law([-far // 4, -far // 4, far // 4]).probabilities[(False, False, True)] < Decimal(
        "0.9"
    )  # a bound, and not an idle one


# ---- the watch ----


@pytest.mark.parametrize(
    ("parameters", "smaller"),
    [((3, "1/10", "1/2", 1), 12), ((3, 2, "1/2", 5), "3/2"), ((3, "1/100", 1, 3), 18), ((3, "1/100", 4, 2), 3)],
    ids=str,
)
def test_the_step_is_a_thousandth_of_the_smaller_noise(parameters, smaller):
    """The largest power of two up to that, so rounding is felt in neither of the two."""
    made = SparseVector(*parameters, threshold=0)
    assert made.step * min(made.threshold_scale, made.answer_scale) == Fraction(smaller)
    assert 1000 * made.step <= Fraction(smaller) < 2000 * made.step


def test_a_margin_is_in_the_unit_of_the_numbers():
    coarse, fine = (SparseVector(1, HALF, HALF, 1, threshold=100, step=step) for step in (1, "1/64"))
    error = calibrate.discrete_laplace_error
    missed = calibrate.miss("0.95", 11)
    steps = error(fine.threshold_scale, missed) + error(fine.answer_scale, missed) + 1
    assert fine.margin(10, "0.95") == steps / 64 < coarse.margin(10, "0.95") == 33


def test_the_answers_to_twelve_numbers_are_listed():
    made = mechanism(threshold_share=Fraction(8), answer_share=Fraction(8))
    assert len(made.law([0] * 12).probabilities) == 13
    with pytest.raises(InvalidInput, match="more than 12 numbers"):
        made.law([0] * 13)


def test_a_watch_ends_after_its_positives():
    watch = SparseVector(1, 50, 50, positives=2, threshold=0).start()  # wrong by 100 with probability e^-1000
    assert [watch.ask(value) for value in (-100, 100, -100)] == [False, True, False]
    assert watch.positives_left == 1
    assert watch.ask(Sealed(100))
    with pytest.raises(Refused, match="paid for"):
        watch.ask(-100)


def test_a_watch_cannot_be_copied_or_looked_into():
    watch = mechanism().start()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(Refused, match="copied"):
            copied(watch)
    assert repr(watch) == "Watch(positives_left=1)"
    assert not hasattr(watch, "__dict__")


def test_a_watch_does_not_cross_a_fork(monkeypatch):
    watch = mechanism().start()
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(Refused, match="process"):
        watch.ask(0)


def test_many_threads_get_no_more_positives():
    watch = SparseVector(1, 50, 50, positives=5, threshold=0).start()
    answers = []

    def ask():
        for _ in range(20):
            try:
                answers.append(watch.ask(1000))
            except Refused:
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answers) == 5


def test_a_refused_number_costs_nothing():
    watch = mechanism().start()
    with pytest.raises(InvalidValue):
        watch.ask(math.nan)
    assert watch.positives_left == 1


# ---- as a value ----


def test_it_is_a_mechanism():
    tested = mechanism(3)
    assert isinstance(tested, Listed)
    assert tested.event == AboveThreshold(HALF, HALF, 3)
    assert hash(tested) == hash(mechanism(3))
    fine = SparseVector(1, 1, 1, 1, 0)
    assert fine.units * fine.step == 1
    assert fine.step <= Fraction(1, 1000)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"sensitivity": 0}, InvalidSensitivity),
        ({"sensitivity": math.nan}, InvalidSensitivity),
        ({"epsilon_threshold": 0}, InvalidBudget),
        ({"epsilon_answers": -1}, InvalidBudget),
        ({"epsilon_answers": math.inf}, InvalidBudget),
        ({"positives": 0}, InvalidInput),
        ({"positives": True}, InvalidInput),
        ({"threshold": math.inf}, InvalidInput),
        ({"step": 0}, InvalidInput),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, error):
    usual = {"sensitivity": 1, "epsilon_threshold": 1, "epsilon_answers": 1, "positives": 1, "threshold": 0}
    with pytest.raises(error):
        SparseVector(**(usual | parameters))


def test_bad_values_are_refused():
    for values in ([], [[1, 2]], [math.nan], ["x"], 3):
        with pytest.raises(InvalidValue):
            mechanism().release(values)
    with pytest.raises(InvalidInput, match="too many to list"):
        mechanism().law([0] * 13)
    with pytest.raises(InvalidInput, match="larger step"):
        SparseVector(1, 1, 1, 1, 0).law([1])
