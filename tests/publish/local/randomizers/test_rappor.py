"""RAPPOR: however many reports, no more than the permanent answer; one report alone; the formulas of the paper."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from chance import plausible_hits
from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import exp_down
from tacit.publish.local.randomizers.rappor import Rappor, reported_bits
from tacit.publish.local.randomizers.unary import noise_bits, unpack


def many_reports(answer, value, times):
    """The exact law of several reports of one permanent answer: each of its bits is set once and reported `times` times."""
    law = {}
    for bits in product((0, 1), repeat=answer.size * times):
        weight = Fraction(1)
        for category in range(answer.size):
            seen = bits[category * times : (category + 1) * times]
            kept = answer.permanent.hit if category == value else answer.permanent.false_hit
            weight *= sum(
                chance * math.prod(one if bit else 1 - one for bit in seen)
                for chance, one in ((kept, answer.one), (1 - kept, answer.zero))
            )
        law[bits] = weight
    assert sum(law.values()) == 1
    return law


@pytest.mark.parametrize("times", [1, 2, 4])
def test_any_number_of_reports_is_within_epsilon_and_more_tell_more(times):
    answer = Rappor(size=2, epsilon=1, one="9/10", zero="1/10")
    one, other = many_reports(answer, 0, times), many_reports(answer, 1, times)
    worst = max(one[bits] / other[bits] for bits in one)
    assert worst <= exp_down(Fraction(1))
    if times == 1:
        assert worst == answer.once.ratio
        assert float(answer.epsilon_once) == pytest.approx(math.log(worst))
    else:
        assert worst > answer.once.ratio


def test_fresh_permanent_answers_would_not_be_within_epsilon():
    """The planted bug: the permanent answer drawn anew for every report, so that the losses of reports add up."""
    answer = Rappor(size=2, epsilon=1, one="9/10", zero="1/10")
    assert answer.once.ratio**4 > exp_down(Fraction(1))


def test_the_formulas_of_the_paper():
    """Erlingsson, Pihur and Korolova 2014: f/2 is a lie of the permanent answer; q* and p* are what one report comes to."""
    answer = Rappor(size=10, epsilon=2)
    f, q, p = 2 * float(answer.permanent.false_hit), 0.75, 0.25
    assert 2 * math.log((1 - f / 2) / (f / 2)) == pytest.approx(2)
    q_star, p_star = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    assert (float(answer.hit), float(answer.false_hit)) == pytest.approx((q_star, p_star))
    assert float(answer.epsilon_once) == pytest.approx(math.log(q_star * (1 - p_star) / (p_star * (1 - q_star))))


def test_a_report_depends_on_the_kept_bits_alone():
    kept = np.array([[0b11110000], [0b00000000]], dtype=np.uint8)
    assert reported_bits(kept, 8, Fraction(1), Fraction(0)).tolist() == kept.tolist()
    assert reported_bits(kept, 8, Fraction(0), Fraction(1)).tolist() == [[0b00001111], [0b11111111]]


def test_reports_of_one_permanent_answer_differ_and_average_to_it():
    answer, people = Rappor(size=8, epsilon=2), 20_000
    kept = answer.permanent.randomize(3)
    reports = answer.report(np.repeat(kept[None], people, axis=0))
    expected = np.where(unpack(kept, 8), 0.75, 0.25)
    assert plausible_hits(answer.supports(reports), people, expected)
    assert len(np.unique(reports)) > 1
    assert answer.report(kept).shape == kept.shape


@pytest.mark.parametrize(("one", "zero"), [(1, 0), ("1/2", "1/2"), ("1/4", "3/4"), (1, "1/4")])
def test_reports_that_tell_all_or_nothing_are_refused(one, zero):
    with pytest.raises(InvalidInput, match="one and zero"):
        Rappor(5, 1, one, zero)


def test_a_permanent_answer_of_another_size_is_refused():
    with pytest.raises(InvalidValue):
        Rappor(5, 1).report(noise_bits(Fraction(1, 2), 1, 20))
