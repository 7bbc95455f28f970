"""Envelopes of weights: above every true weight and close to it, with the rest decided exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidInput, LawViolated
from tacit.mechanisms.noise import bits, choice, costs, envelope
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.noise.costs import FAR, MixedCosts, NumberCosts
from tacit.mechanisms.noise.envelope import Envelope, is_below, negative_exponentials
from tacit.privacy.rounding import exp_down, exp_up

lengths_and_costs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**62)), min_size=n, max_size=n).filter(any),
        st.one_of(
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n),
            st.lists(st.integers(0, 3000), min_size=n, max_size=n),
            st.lists(st.floats(-1e300, 1e300), min_size=n, max_size=n),
            st.lists(st.fractions(), min_size=n, max_size=n),
        ),
    )
)
extreme_factors = st.sampled_from([Fraction(1, 10**300), Fraction(1, 10**18), Fraction(10**300)])
factors = st.one_of(st.fractions(min_value=0, max_value=10), extreme_factors)
mixed = st.integers(0, 10**30).flatmap(
    lambda part: st.tuples(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**62), st.integers(0, 2)), max_size=20),
        st.just((0, 10**30 - part, part)),
    )
)


def enveloped(lengths, costs, factor=1):
    known = choice._read_lengths(lengths)
    return Envelope.above(known, NumberCosts.read(costs, known > 0), Fraction(factor))


def true_weight_bounds(made, index):
    """2^shift * length * e^-exponent from below and from above; far exponents are cut at 4096, which only raises them."""
    exponent = min(made.costs.exponent(index, made.factor), FAR)
    scaled = int(made.lengths[index]) * Fraction(2) ** made.shift
    return scaled * exp_down(-exponent), scaled * exp_up(-exponent)


def is_close_above(made):
    """Every true weight lies under its envelope, and not below the part of it that is kept without a look at the true weight."""
    for index, length in enumerate(made.lengths):
        weight = made.weight(index)
        low, high = true_weight_bounds(made, index) if length else (0, 0)
        if not (high <= weight and weight - (weight >> envelope.DOUBT) - 2 <= low and (length or not weight)):
            return False
    return True


@given(lengths_and_costs, factors)
@settings(max_examples=150, deadline=None)
def test_the_envelope_is_above_every_weight(given_pair, factor):
    made = enveloped(*given_pair, factor)
    assert is_close_above(made)
    assert 2**50 < made.weights.max() < 2**53
    assert made.ends[-1] == made.total == sum(made.weights.reshape(-1).tolist()) < made.most


@given(mixed, factors)
@settings(max_examples=100, deadline=None)
def test_the_envelope_of_mixed_numbers(drawn, factor):
    rows, parts = drawn
    lengths, wholes, kinds = (np.array(column) for column in zip((1, 0, 0), *rows, strict=True))
    assert is_close_above(Envelope.above(lengths, MixedCosts(wholes, kinds.astype(np.int8), parts, 10**30), factor))


@pytest.mark.parametrize("bug", [{"SLACK": 1 - 2.0**-38}, {"SLACK": 1 + 2.0**-30}, {"SERIES": envelope.SERIES[:-2]}])
def test_planted_bugs_of_the_envelope_are_seen(monkeypatch, bug):
    """Slack that is missing, slack beyond the part that is looked at, and a series with two terms too few."""
    for name, value in bug.items():
        monkeypatch.setattr(envelope, name, value)
    exponents = np.linspace(0, 30, 301)
    assert not is_close_above(enveloped(np.ones(301, dtype=np.int64), exponents))


def test_lengths_larger_than_words_are_exact():
    lengths = [2**900, 2**999, 1]
    assert is_close_above(enveloped(lengths, [0, 100, 0]))
    # 2^999 e^-100 is 2^45 times smaller than 2^900: false alarm 2e-13
    assert choose(lengths, [0, 100, 0], Fraction(1), size=5).tolist() == [0] * 5


def test_exponentials_by_additions_and_multiplications():
    """Against 60 digits, over all exponents that are used: within 2^-46, and never far from 1 before the halvings."""
    points = np.concatenate([np.linspace(0, 1, 301), np.linspace(0, 4096, 1500), np.arange(1, 60) * math.log(2) / 2, [1e-300]])
    decays, halvings = np.empty((2, points.size))
    negative_exponentials(points.copy(), decays, halvings)
    assert decays.min() > 0.7
    assert decays.max() < 1.4143
    for point, decay, halving in zip(points.tolist(), decays.tolist(), halvings.tolist(), strict=True):
        found = Fraction(decay) / 2 ** int(halving)
        assert abs(found / exp_down(-Fraction(point)) - 1) < Fraction(1, 2**46)


def test_the_sum_of_weights_is_below_a_public_limit():
    """Also where they are largest: a mantissa of nearly 1 makes a weight above 2^52."""
    made = enveloped([2**40 - 1] * 3, [0] * 3)
    assert made.weight(0) > 2**52
    assert 3 * 2**52 < made.total < made.most <= 4 * 2**53


def test_candidates_some_at_a_time_have_the_weights_of_all_at_once(monkeypatch):
    lengths, exponents = [1, 2, 3, 4, 5], [0, 7, 1, 0, 3]
    together = enveloped(lengths, exponents).weights.tolist()
    for module in (costs, envelope):
        monkeypatch.setattr(module, "TOGETHER", 2)
    assert enveloped(lengths, exponents).weights.tolist() == together


# ---- proposing ----


def listed(weights):
    """An envelope with these weights, in one row."""
    costs = NumberCosts.read(weights, weights > 0)
    return Envelope(weights, costs, Fraction(1), weights.reshape(1, -1), 0, [int(weights.sum())])


def test_proposals_follow_the_weights():
    one = listed(np.array([3, 0, 2, 5, 0, 1], dtype=np.int64))
    proposed = [one.proposed(target) for target in range(11)]
    assert [index for index, _ in proposed] == [0] * 3 + [2] * 2 + [3] * 5 + [5]
    assert [depth for _, depth in proposed] == [0, 1, 2, 0, 1, 0, 1, 2, 3, 4, 0]


@pytest.mark.parametrize("size", [1, 2, 1023, 1024, 1025, 3 * 1024 + 5])
def test_proposals_cross_rows_of_one_length(size):
    made = enveloped(np.ones(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
    each = made.weight(0)
    assert made.total == size * each
    for index in {0, size // 3, size // 2, size - 1}:
        assert made.proposed(index * each) == (index, 0)
        assert made.proposed((index + 1) * each - 1) == (index, each - 1)


# ---- keeping ----


def forbidden(*_):
    raise AssertionError("nothing was to be drawn or computed")


@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("cost", [1, 5, 30])
def test_what_is_kept_lies_below_the_true_weight(words, cost, length):
    """Around the end of the true weight: the unit before is kept, the unit after is not, the last one by the bits that follow."""
    made = enveloped([1, length], [0, cost])
    low, high = true_weight_bounds(made, 1)
    last = math.floor(low)
    assert last == math.floor(high)
    part = math.floor((low - last) * 2**64)
    left = words([part - 2, part + 2])
    assert made.keeps(1, last - 1)
    assert not made.keeps(1, last + 1)
    assert len(left) == 2
    assert made.keeps(1, last)
    assert not made.keeps(1, last)
    assert not left


def test_every_depth_of_a_small_weight():
    """All depths of weights with few units: those that end below the true weight are kept, those that begin above it are not."""
    made = enveloped([1, 1, 1], [0, 33, 35])
    for index in (1, 2):
        low, high = true_weight_bounds(made, index)
        for depth in range(made.weight(index)):
            if not low - 1 < depth < high:
                assert made.keeps(index, depth) == (depth + 1 <= low)


def test_what_is_kept_without_a_look_lies_below_the_true_weight(monkeypatch):
    """Around the end of that part, for weights of 2^20 to 2^52 units, where the slack reaches across a unit now and then."""
    monkeypatch.setattr(Envelope, "decides", lambda self, index, depth: False)
    made = enveloped(np.ones(600, dtype=np.int64), np.concatenate([[0.0], np.linspace(0.01, 22, 599)]))
    reached = 0
    for index in range(600):
        weight, (low, _) = made.weight(index), true_weight_bounds(made, index)
        for depth in range(weight - (weight >> 36) - 5, weight):
            if made.keeps(index, depth):
                assert depth + 1 <= low
            if depth > weight - (weight >> 36) + 3:
                break
        reached += weight - 1 > low  # a whole unit is above the true weight
    assert reached > 100


def test_nearly_every_draw_is_kept_without_computing(monkeypatch):
    """The exact weight is computed once in 2^36 draws and less often for each candidate: 1e-7 over 5,000 draws."""
    monkeypatch.setattr(Envelope, "decides", forbidden)
    choose([1, 1, 3, 0], [0, 1, 5, 9], Fraction(1, 2), size=5_000)


def test_keeping_refines_until_it_is_sure(words):
    half = exp_down(Fraction(-1), 400)  # the first words agree with e^-1, the last one decides
    first, second = divmod(math.floor(half * 2**128), 2**64)
    left = words([first, second - 1, first, second + 1])
    assert is_below(0, Fraction(1), Fraction(1))
    assert not is_below(0, Fraction(1), Fraction(1))
    assert not left


def test_keeping_refines_beyond_the_first_digits(words):
    """The first 320 bits, more than 90 digits, agree with e^-1."""
    exact = exp_down(Fraction(-1), 400)
    digits = [math.floor(exact * 2 ** (64 * place)) % 2**64 for place in range(1, 6)]
    left = words([*digits[:4], digits[4] - 1, *digits[:4], digits[4] + 1])
    assert is_below(0, Fraction(1), Fraction(1))
    assert not is_below(0, Fraction(1), Fraction(1))
    assert not left


@pytest.mark.parametrize(("drawn", "word", "below"), [(0, 0, True), (1, 2**64 - 1, False)])
def test_a_weight_that_ends_at_a_whole_number_is_refined(drawn, word, below, words):
    """The first digits of e^-1 leave open on which side of 1 the weight ends: nothing is decided before the next word."""
    scaled = 2 / (exp_down(Fraction(-1), envelope.DIGITS) + exp_up(Fraction(-1), envelope.DIGITS))
    left = words([word])
    assert is_below(drawn, scaled, Fraction(1)) is below
    assert not left


def test_a_sure_event_survives_without_a_word(words):
    words([])
    assert envelope.survives(Fraction(0))


def test_far_exponents_are_products(monkeypatch):
    asked = []
    monkeypatch.setattr(envelope, "is_below", lambda *event: asked.append(event) or True)
    made = enveloped([1, 1], [0, 10_000])
    assert made.keeps(1, 0)
    assert sum(exponent for _, _, exponent in asked) == 10_000
    assert max(exponent for _, _, exponent in asked) == FAR
    assert math.prod(scaled for _, scaled, _ in asked) == Fraction(2) ** made.shift
    assert {drawn for drawn, _, _ in asked} == {0}


def test_an_enormous_exponent_costs_nothing():
    made = enveloped([1, 1], [0, 2**62])
    assert not made.keeps(1, 0)  # happens with probability e^-4096 * ...: false alarm far below 1e-1000


def test_a_low_envelope_stops():
    good = enveloped([1, 1], [0, 1])
    low = Envelope(good.lengths, good.costs, good.factor, good.weights // 2, good.shift, good.ends)
    with pytest.raises(LawViolated, match="envelope"):
        low.keeps(0, low.weight(0) - 1)


def test_nothing_is_drawn_but_the_proposal(monkeypatch):
    monkeypatch.setattr(bits, "random_words", forbidden)
    made = enveloped([1, 1, 1], [0, 1, 2])
    assert all(made.keeps(index, depth) for index in range(3) for depth in (0, 1, made.weight(index) // 2))


def test_a_factor_below_zero_is_refused():
    with pytest.raises(InvalidInput, match="factor of at least 0"):
        enveloped([1, 1], [0, 1], Fraction(-1, 10**9))


def test_a_length_without_a_cost_is_refused():
    with pytest.raises(InvalidInput, match="per candidate"):
        Envelope.above(np.array([1, 1]), MixedCosts(np.zeros(3, np.int64), np.zeros(3, np.int8), (0,), 1), Fraction(1))
