"""Randomized response: the loss exactly, the estimator against the swapped one, the error bounds of a lecture, bad input."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import CHANCE
from tacit.accounting.events import RandomizedAnswer
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.noise import bits
from tacit.mechanisms.randomized_response import BOUNDS, RandomizedResponse, _error_curve, posterior
from tacit.privacy.law import ARITHMETIC, Law, worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours, Pure
from tacit.privacy.rounding import exp_up
from tacit.privacy.sealed import Sealed

QUARTER = RandomizedResponse.with_flip("1/4")
FLIP = Fraction(1, 4)
TINY = Decimal("1e-30")
EPSILONS = st.fractions(min_value=Fraction(1, 1000), max_value=20).filter(bool)


def decimal(fraction: Fraction) -> Decimal:
    return ARITHMETIC.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


@given(EPSILONS)
def test_the_loss_of_one_bit_is_epsilon_and_no_more(epsilon):
    mechanism = RandomizedResponse(epsilon)
    assert mechanism.loss == Pure(epsilon, CHANGE_ONE)
    assert mechanism.event == RandomizedAnswer(epsilon, CHANGE_ONE)
    assert (1 - mechanism.flip) / mechanism.flip <= exp_up(epsilon)
    for one, other in ((0, 1), (1, 0)):
        worst = worst_log_ratio(mechanism.law(one), mechanism.law(other))
        assert abs(worst - decimal(epsilon)) < TINY


@given(EPSILONS)
def test_epsilon_to_flip_and_back(epsilon):
    mechanism = RandomizedResponse(epsilon)
    back = RandomizedResponse.with_flip(mechanism.flip)
    assert back.flip == mechanism.flip
    assert abs(back.epsilon - epsilon) < Fraction(1, 10**50)
    assert abs(float(mechanism.flip) - 1 / (1 + math.exp(epsilon))) < 1e-15


def test_the_loss_of_a_database_of_three_bits_over_all_neighbours():
    mechanism = RandomizedResponse(epsilon="0.7")
    laws = {bits: mechanism.law(bits) for bits in product((0, 1), repeat=3)}
    worst = max(
        worst_log_ratio(laws[one], laws[other])
        for one, other in product(laws, repeat=2)
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1
    )
    assert abs(worst - Decimal("0.7")) < TINY
    apart = worst_log_ratio(laws[0, 0, 0], laws[1, 1, 1])
    assert abs(apart - Decimal("2.1")) < TINY  # a group of three


def test_a_flip_rounded_down_is_caught_by_the_law():
    """The planted bug: a flip of 0.26 where epsilon 1 needs 0.26894..."""
    planted = RandomizedResponse.with_flip("0.26")
    assert worst_log_ratio(planted.law(0), planted.law(1)) > 1
    assert planted.epsilon > 1


@given(st.integers(1, 6), st.sampled_from(["1/4", "0.1", "0.49"]))
def test_the_estimator_is_unbiased_with_the_stated_variance_exactly(people, flip):
    """Expectation and variance over all reports, for a database of each number of ones."""
    mechanism = RandomizedResponse.with_flip(flip)
    for ones in range(people + 1):
        truth = (1,) * ones + (0,) * (people - ones)
        law = mechanism.law(truth).probabilities
        estimates = {reports: Decimal(mechanism.estimate(reports)) for reports in law}
        mean = sum(weight * estimates[reports] for reports, weight in law.items())
        assert abs(mean - Decimal(ones) / people) < Decimal("1e-14")
        variance = sum(weight * (estimates[reports] - mean) ** 2 for reports, weight in law.items())
        assert float(variance) == pytest.approx(float(mechanism.variance(people)), rel=1e-12)


def test_swapping_flip_and_its_complement_is_caught():
    """The planted bug, printed in a lecture: it converges to one minus the truth. Truth 0.3, exactly in expectation."""
    share = Fraction(3, 10)
    reported = QUARTER.flip + (1 - 2 * QUARTER.flip) * share
    right = (reported - QUARTER.flip) / (1 - 2 * QUARTER.flip)
    swapped = (reported - (1 - QUARTER.flip)) / (2 * QUARTER.flip - 1)
    assert (right, swapped) == (share, 1 - share)

    class Swapped(RandomizedResponse):
        __slots__ = ()

        def estimate(self, reports):
            return (float(np.mean(reports)) - (1 - float(self.flip))) / (2 * float(self.flip) - 1)

    truth = np.repeat([1, 0], [6_000, 14_000])
    reports = QUARTER.release(truth)
    reach = QUARTER.error(20_000, 1 - CHANCE).above
    assert abs(QUARTER.estimate(reports) - 0.3) <= reach
    planted = object.__new__(Swapped)
    planted._set(QUARTER.epsilon, QUARTER.flip, CHANGE_ONE)
    assert abs(planted.estimate(reports) - 0.3) > reach


def test_releasing_follows_the_injected_bits(monkeypatch):
    """A word below flip * 2^64 flips; at or above it does not."""
    words = np.array([0, 2**62 - 1, 2**62, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(bits, "random_words", lambda count: words[:count])
    assert QUARTER.release(np.array([0, 1, 0, 1])).tolist() == [1, 0, 0, 1]


def test_reports_keep_the_shape_and_say_nothing_of_the_input_type():
    for bits_in in ([0, 1], (False, True), np.array([0.0, 1.0]), np.array([0, 1], dtype=object), Sealed([1, 0])):
        reports = QUARTER.release(bits_in)
        assert reports.dtype == np.int8
        assert reports.shape == (2,)
        assert set(reports.tolist()) <= {0, 1}
    for bit in (0, True, 1.0, np.int64(1), Sealed(1), np.array(0)):
        assert type(QUARTER.release(bit)) is int
    assert QUARTER.release(np.zeros((3, 4))).shape == (3, 4)


@pytest.mark.parametrize(
    "bad", [2, -1, 0.5, [], [0, 2], [0, math.nan], ["0", "1"], None, [None], np.zeros(0), [1j], "1", [Decimal("sNaN")]]
)
def test_only_bits_are_accepted(bad):
    with pytest.raises(InvalidValue):
        QUARTER.release(bad)
    with pytest.raises(InvalidValue):
        QUARTER.estimate(bad)


def test_the_half_widths_of_the_lecture():
    """n = 20000, flip 1/4, 95 %."""
    found = {bound: round(QUARTER.error(20_000, 0.95, bound).above, 6) for bound in BOUNDS}
    assert found == {"chebyshev as printed": 0.031623, "chebyshev": 0.027386, "hoeffding": 0.019206, "normal": 0.012002}
    assert QUARTER.error(20_000) == QUARTER.error(20_000, 0.95, "hoeffding")


@pytest.mark.parametrize("bound", ["chebyshev as printed", "chebyshev", "hoeffding"])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_the_guaranteed_bounds_cover_exactly_as_often_as_they_say(bound, confidence):
    """By the law of the reports of eight people, for each number of ones; half the width is shown not to cover."""
    mechanism = RandomizedResponse.with_flip("0.2")
    reach = mechanism.error(8, confidence, bound).above

    def missed(ones: int, reach: float) -> Decimal:
        law = mechanism.law((1,) * ones + (0,) * (8 - ones)).probabilities
        return sum(
            (weight for reports, weight in law.items() if abs(mechanism.estimate(reports) - ones / 8) > reach + 1e-12),
            start=Decimal(0),
        )

    assert max(missed(ones, reach) for ones in range(9)) <= 1 - Decimal(confidence)
    assert max(missed(ones, reach / 8) for ones in range(9)) > 1 - Decimal(confidence)


@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
def test_the_guaranteed_bounds_are_their_formulas_rounded_up(confidence):
    """In 50 digits: at least the formula, and hardly more."""
    answers, people, miss = RandomizedResponse.with_flip("1/5"), 1234, 1 - Decimal(confidence)
    with localcontext(prec=50):
        slope = Decimal("0.6")
        expected = {
            "chebyshev as printed": (1 / (4 * people * slope**2 * miss)).sqrt(),
            "chebyshev": (Decimal("0.16") / (people * slope**2 * miss)).sqrt(),
            "hoeffding": ((2 / miss).ln() / (2 * people)).sqrt() / slope,
        }
        for bound, width in expected.items():
            assert 0 <= Decimal(answers.error(people, confidence, bound).above) / width - 1 < Decimal("1e-14"), bound
    normal = {"0.5": 0.6744897501960817, "0.95": 1.959963984540054}[confidence]
    assert answers.error(people, confidence, "normal").above == pytest.approx(normal * math.sqrt(0.16 / (people * 0.36)), rel=1e-12)


def test_an_error_is_hoeffdings_at_95_percent_by_default():
    answers = RandomizedResponse(1)
    assert answers.error(100) == answers.error(100, "0.95", "hoeffding")
    assert answers.error(1).above > answers.error(2).above


def test_the_law_of_twelve_bits_is_listed():
    assert len(RandomizedResponse(1).law([0] * 12).probabilities) == 4096
    with pytest.raises(InvalidInput, match="at most 12 bits"):
        RandomizedResponse(1).law([0] * 13)


def test_ranges_take_in_their_ends():
    assert RandomizedResponse.two_coin(1).flip == Fraction(1, 2)
    assert [posterior("1/4", prior, 1) for prior in (0, 1)] == [0, 1]
    for second in (0, "1.001", -1):
        with pytest.raises(InvalidInput, match="second"):
            RandomizedResponse.two_coin(second)
    for prior in ("-0.001", "1.001"):
        with pytest.raises(InvalidInput, match="prior"):
            posterior("1/4", prior, 1)
    for confidence in (0, 1):
        with pytest.raises(InvalidInput, match="confidence"):
            RandomizedResponse(1).error(10, confidence)


def test_posteriors_of_the_lecture():
    for prior in ("0", "0.3", "1"):
        assert posterior("1/2", prior, 1) == posterior("1/2", prior, 0) == Fraction(prior)
    assert posterior(0, "0.3", 1) == 1
    assert posterior(0, "0.3", 0) == 0
    assert QUARTER.posterior(0.5, 1) == Fraction(3, 4)
    with pytest.raises(InvalidInput, match="cannot occur"):
        posterior(0, 0, 1)


@given(st.fractions(0, 1), EPSILONS)
def test_no_report_moves_the_odds_by_more_than_epsilon(prior, epsilon):
    mechanism = RandomizedResponse(epsilon)
    for report in (0, 1):
        after = mechanism.posterior(prior, report)
        odds, before = after * (1 - prior), prior * (1 - after)
        assert odds <= exp_up(epsilon) * before
        assert before <= exp_up(epsilon) * odds


def test_the_two_coin_form_has_the_law_of_its_coins():
    for second in ("1/2", "1", "0.3"):
        mechanism = RandomizedResponse.two_coin(second)
        lie = Fraction(second)
        assert mechanism.flip == lie / 2
        coins = Law({0: decimal(Fraction(1, 2) + Fraction(1, 2) * (1 - lie)), 1: decimal(lie / 2)})
        assert mechanism.law(0).probabilities == coins.probabilities
    assert float(RandomizedResponse.two_coin("1/2").epsilon) == pytest.approx(math.log(3), abs=1e-15)


def test_perfect_privacy_has_no_estimate():
    useless = RandomizedResponse.with_flip("1/2")
    assert useless.loss == Pure(0, CHANGE_ONE)
    for attempt in (lambda: useless.estimate([1]), lambda: useless.variance(5), lambda: useless.error(5)):
        with pytest.raises(InvalidInput, match="no information"):
            attempt()


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None])
def test_an_epsilon_is_a_finite_number_above_zero(bad):
    with pytest.raises(InvalidBudget):
        RandomizedResponse(epsilon=bad)


@pytest.mark.parametrize("bad", [0, 0.6, -0.1, math.nan, None])
def test_a_flip_is_above_zero_and_at_most_one_half(bad):
    with pytest.raises(InvalidInput):
        RandomizedResponse.with_flip(bad)


def test_other_arguments_out_of_range():
    for attempt in (
        lambda: RandomizedResponse.two_coin(0),
        lambda: RandomizedResponse.two_coin(1.5),
        lambda: QUARTER.error(0),
        lambda: QUARTER.error(10, 1),
        lambda: QUARTER.error(10, 0.9, "magic"),
        lambda: QUARTER.posterior(2, 1),
        lambda: QUARTER.posterior(0.5, 3),
        lambda: QUARTER.law([0] * 13),
        lambda: RandomizedResponse(1, ADD_REMOVE),
    ):
        with pytest.raises(InvalidInput):
            attempt()
    assert RandomizedResponse(1, Neighbours("change-one", "unit")).loss.neighbours.of == "unit"


def test_another_epsilon_has_another_flip():
    assert replace(RandomizedResponse(1), epsilon=2) == RandomizedResponse(2)


@pytest.mark.parametrize("reach", [0.2, 0.7, 3.0])
def test_a_curve_is_the_law_of_the_estimate_within_reach(reach):
    """Of twelve people whose bits are 0, k report 1 with a binomial chance; the estimate is then (k/12 - flip) / (1 - 2 flip)."""
    law = {float((Fraction(k, 12) - FLIP) / (1 - 2 * FLIP)): math.comb(12, k) * FLIP**k * (1 - FLIP) ** (12 - k) for k in range(13)}
    errors, densities = _error_curve(FLIP, 12, reach)
    assert errors == pytest.approx([error for error in law if abs(error) <= reach])
    assert [density / (12 * (1 - 2 * FLIP)) for density in densities] == pytest.approx(
        [float(chance) for error, chance in law.items() if abs(error) <= reach]
    )


def test_the_chart_shows_three_epsilons_and_the_interval(tmp_path):
    chart = RandomizedResponse(epsilon=1).chart(str(tmp_path / "answers.svg"), people=50)
    drawn = [row for rows in chart.to_dict()["datasets"].values() for row in rows]
    assert {row["curve"] for row in drawn if "curve" in row} == {"epsilon 0.5", "epsilon 1", "epsilon 2"}
    assert [row["high"] for row in drawn if "high" in row] == [RandomizedResponse(epsilon=1).error(50).above]
    assert (tmp_path / "answers.svg").read_text().startswith("<svg")
