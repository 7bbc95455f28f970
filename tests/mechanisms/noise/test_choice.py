"""Exact choices: every step is checked against its definition, by listing all draws where that is possible."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import follows_law, plausible_hits
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits, choice
from tacit.mechanisms.noise.choice import FARTHEST, bernoulli, choose, choose_listed, reach, uniform_integer, uniform_integers
from tacit.mechanisms.noise.costs import MixedCosts, NumberCosts
from tacit.mechanisms.noise.envelope import Envelope
from tacit.privacy.rounding import exp_up


def inject(monkeypatch, *words):
    """Let `bits.random_words` give these words, in order."""
    queue = [np.uint64(word) for word in words]
    monkeypatch.setattr(bits, "random_words", lambda count: np.array([queue.pop(0) for _ in range(count)], dtype=np.uint64))
    return queue


# ---- coins ----


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(1, 2), Fraction(2, 7), Fraction(1, 2**70)])
def test_a_coin_compares_with_the_binary_digits(monkeypatch, probability):
    digits = math.floor(probability * 2**64)
    words = [0, max(digits - 1, 0), digits + 1, 2**64 - 1]
    inject(monkeypatch, *words, 2**64 - 1, 2**64 - 1)  # the last two answer a tie with 0 at small probabilities
    assert bernoulli(probability, size=4).tolist() == [word < digits for word in words]


def test_a_tie_goes_on(monkeypatch):
    third = (2**64 - 1) // 3  # 1/3 = 0.010101..., so what follows the first word is 1/3 again
    queue = inject(monkeypatch, third, third, third - 1)
    assert bernoulli(Fraction(1, 3), size=1).tolist() == [True]
    assert not queue
    inject(monkeypatch, third, third + 1)
    assert bernoulli(Fraction(1, 3), size=1).tolist() == [False]
    queue = inject(monkeypatch, 0, third, third + 1, third, third - 1, third + 1)  # those that tie go on, and only those
    assert bernoulli(Fraction(1, 3), size=4).tolist() == [True, True, False, False]
    assert not queue


def test_a_tie_with_the_last_digit_is_not_below(monkeypatch):
    """Half of all words are below 1/2 = 0.1000..., and the word that has its digits is not."""
    inject(monkeypatch, 2**63 - 1, 2**63, 2**63 + 1)
    assert bernoulli(Fraction(1, 2), size=3).tolist() == [True, False, False]


def test_coins_of_bias_0_and_1_are_certain():
    assert bernoulli(Fraction(1), 1000).all()
    assert not bernoulli(Fraction(0), 1000).any()


def test_coins_fall_as_often_as_they_should():
    size, bias = 400_000, Fraction(1, 5)
    heads = int(bernoulli(bias, size).sum())
    assert plausible_hits(heads, size, bias)


@pytest.mark.parametrize("probability", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_coin_needs_a_probability(probability):
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        bernoulli(probability, 1)


# ---- uniform integers ----


@pytest.mark.parametrize("below", [1, 2, 3, 5, 7, 10, 64, 100, 200, 255, 256])
def test_folding_is_uniform(below):
    folded = [choice._fold(drawn, below, 256) for drawn in range(256)]
    counts = [folded.count(value) for value in range(below)]
    assert counts == [256 // below] * below
    assert folded.count(None) == 256 % below


def test_the_textbook_remainder_is_not_uniform():
    counts = np.bincount([drawn % 100 for drawn in range(256)])
    assert set(counts) == {2, 3}  # what `test_folding_is_uniform` would have seen


@pytest.mark.parametrize("below", [2, 3, 5, 6, 7, 100])
def test_every_integer_has_equally_many_numbers(below, words):
    """The least and the largest 32-bit number that gives an integer: as many lie between them for each integer."""
    unfair = 2**32 % below
    for integer in range(below):
        least, largest = -(-(integer * 2**32 + unfair) // below), ((integer + 1) * 2**32 - 1) // below
        assert largest - least + 1 == (2**32 - unfair) // below
        words([least | largest << 32])
        assert uniform_integers(below, 2).tolist() == [integer, integer]


@pytest.mark.parametrize("below", [3, 5, 100, 1000, 2**20 - 1])
def test_an_integer_is_the_upper_half_and_unfair_ones_are_drawn_again(below, words):
    unfair = next(low for low in range(2**32) if (low * below) % 2**32 < 2**32 % below)
    fair = 2**31 + 12345
    assert (fair * below) % 2**32 >= 2**32 % below
    left = words([unfair | fair << 32, fair])
    assert uniform_integers(below, 2).tolist() == [fair * below >> 32] * 2
    assert left == []


def test_powers_of_two_are_never_drawn_again(words):
    left = words([0, 2**64 - 1])
    assert uniform_integers(8, 4).tolist() == [0, 0, 7, 7]
    assert left == []


@pytest.mark.parametrize("below", [2, 3, 99, 1000, 2**20 + 7])
def test_integers_are_uniform(below):
    """Sixteen parts of the range, or each integer."""
    size, parts = 100_000, min(below, 16)
    counts = np.bincount(uniform_integers(below, size) * parts // below, minlength=parts)
    shares = np.diff([-(-below * part // parts) for part in range(parts + 1)]) / below
    assert plausible_hits(counts, size, shares)


@pytest.mark.parametrize("below", [2, 3, 5, 12, 16])
def test_words_are_uniform(monkeypatch, below):
    """The road of large numbers, shown on small ones."""
    monkeypatch.setattr(choice, "SMALL", 0)
    width = (below - 1).bit_length()
    every = [top << (64 - width) for top in range(2**width)]
    monkeypatch.setattr(bits, "random_words", lambda count: np.resize(np.array(every, dtype=np.uint64), 4096 * len(every)))
    drawn = uniform_integers(below, size=2048 * below)
    assert np.bincount(drawn).tolist() == [2048] * below


@given(below=st.integers(1, 2**200), size=st.integers(0, 5))
def test_uniform_integers_are_in_range(below, size):
    drawn = uniform_integers(below, size)
    assert drawn.shape == (size,)
    assert drawn.dtype == (np.int64 if below <= 2**63 else object)
    assert all(0 <= value < below for value in drawn)
    assert 0 <= uniform_integer(below) < below


def test_the_end_of_a_large_range_is_reached():
    largest = max(uniform_integers(2**63, size=64).tolist())  # false alarm 2^-64
    assert largest >= 2**62
    assert max(uniform_integers(2**80, size=64)) >= 2**79


@pytest.mark.parametrize("below", [1, 3, 2**40 - 1, 2**61])
def test_a_public_limit_sets_the_work(monkeypatch, below):
    """Whatever `below` is, as many bytes are asked for, and one is folded in integers of one length."""
    asked = []
    monkeypatch.setattr(bits, "random_bytes", lambda size: asked.append(size) or b"\x80" + bytes(size - 2) + b"\x01")
    assert uniform_integer(below, most=2**62) == below // 2
    assert asked == [16]  # 63 bits of the limit, and 64 to spare


def test_a_word_with_a_sign_holds_integers_below_its_limit():
    assert uniform_integers(2**63, 1).dtype == np.int64
    assert uniform_integers(2**63 + 1, 1).dtype == object


@pytest.mark.parametrize("below", [0, -3])
def test_nothing_to_choose_from(below):
    with pytest.raises(InvalidInput, match="must be at least 1"):
        uniform_integers(below, 1)


# ---- the whole ----

LENGTHS, COSTS = np.array([5, 1, 0, 20, 7, 3, 100, 4]), np.array([0, 1, 0, 4, 2, 9, 12, 3])


def law(lengths, costs, factor):
    weights = lengths * np.exp(-factor * costs)
    return weights / weights.sum()


def test_choose_follows_its_law():
    size = 20_000
    counts = np.bincount(choose(LENGTHS, COSTS, Fraction(1, 2), size), minlength=8)
    assert counts[2] == 0
    assert plausible_hits(counts, size, law(LENGTHS, COSTS, 0.5))


def test_one_index_is_chosen_with_the_costs_as_they_are(monkeypatch):
    """Without a factor it is 1, and without a size one index comes back."""
    drawn = []
    monkeypatch.setattr(choice, "_draw", lambda envelope: drawn.append(envelope) or 7)
    assert choose([1, 2], [0, 3]).tolist() == [7]
    assert [envelope.factor for envelope in drawn] == [1]


def test_one_of_length_1_is_as_possible_as_any():
    """Another index has a chance of 9 e^-40 a draw, in all below 1e-14."""
    assert choose([1, 9], costs=[0, 40], size=50).tolist() == [0] * 50


def test_lengths_are_whole_numbers_below_2_to_the_1000():
    assert choose([0, 2**1000 - 1], costs=[0, 0]).tolist() == [1]
    with pytest.raises(InvalidInput, match="from 0 to"):
        choose([0, 2**1000], costs=[0, 0])


def test_rounded_weights_would_be_seen():
    """Planted: the factor is a tenth too large. The same number of draws sees it."""
    size = 20_000
    counts = np.bincount(choose(LENGTHS, COSTS, Fraction(6, 10), size), minlength=8)
    assert not plausible_hits(counts, size, law(LENGTHS, COSTS, 0.5))  # cell 0 is 20 deviations off


def test_costs_of_every_kind_give_one_law():
    kinds = [COSTS, COSTS.astype(np.uint8), COSTS.astype(float), COSTS - 2.0, COSTS - 2**62]
    kinds += [[Fraction(int(cost)) for cost in COSTS], [int(cost) + 2**70 for cost in COSTS]]
    envelopes = [Envelope.above(LENGTHS, NumberCosts.read(kind, LENGTHS > 0), Fraction(1, 2)) for kind in kinds]
    for envelope in envelopes:
        assert [envelope.costs.exponent(i, Fraction(1, 2)) for i in range(8)] == [Fraction(int(c), 2) for c in COSTS]
        assert envelope.weights.tolist() == envelopes[0].weights.tolist()


@pytest.mark.parametrize(
    ("lengths", "costs"),
    [
        ([], []),
        ([0, 0], [1, 2]),
        ([1, 2], [1]),
        ([1.5], [0]),
        ([-1, 2], [0, 0]),
        ([1], [float("nan")]),
        ([1], ["x"]),
        ([2**1000], [0]),
        ([1, Fraction(1, 2)], [0, 0]),
        ([[1, 2]], [[0, 0]]),
    ],
)
def test_bad_choices_are_refused(lengths, costs):
    with pytest.raises(InvalidInput):
        choose(lengths, costs)


@pytest.mark.slow
def test_ten_million_candidates():
    lengths, costs = np.ones(10**7, dtype=np.int64), np.arange(10**7) % 1000
    index = int(choose(lengths, costs, Fraction(1, 10))[0])
    assert 0 <= index < 10**7


# --- candidates that are not listed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [1, 10**4, 2**62])
@pytest.mark.parametrize("factor", [Fraction(1, 10**4), Fraction(2, 7), Fraction(30)])
def test_what_is_not_listed_is_rare(candidates, factor):
    """In plain numbers: choice.md counts on 2^-64."""
    farthest = reach(candidates, factor)
    assert candidates * exp_up(-factor * farthest) <= Fraction(1, 2**64)
    assert candidates * exp_up(-factor * (farthest - 1)) > Fraction(1, 2**64)


@pytest.mark.parametrize("factor", [Fraction(0), Fraction(1, 10**30)])
def test_a_list_ends_within_64_bits(factor):
    assert reach(10, factor) == FARTHEST


def test_what_is_listed_costs_no_more_than_the_farthest():
    """By the exact cost: a whole number that is just within reach may have a part that leads beyond it."""
    costs = MixedCosts(np.array([0, 2, 2, 3, 9]), np.array([2, 0, 2, 2, 2], dtype=np.int8), (1, 2, 0), 3)
    size, factor, others = 3000, Fraction(1, 2), 4
    weights = [5.0, 0, 3 * math.exp(-1), 0, 0, others * math.exp(-1)]
    drawn = Counter(choose_listed(np.array([5, 7, 3, 9, 9]), costs, factor, others, farthest=2) for _ in range(size))
    assert follows_law(drawn, {index: weight / sum(weights) for index, weight in enumerate(weights)})


def test_the_choice_is_between_what_is_listed_and_all_others_at_the_farthest(monkeypatch):
    """Exactly: whole numbers with a part are listed up to the farthest, and the others cost no part more than it."""
    given = []
    monkeypatch.setattr(choice, "choose", lambda *arguments: given.append(arguments) or [4])
    costs = MixedCosts(np.array([0, 1, 1, 2]), np.array([2, 0, 1, 1], dtype=np.int8), (1, 2, 0), 3)
    assert choose_listed(np.array([5, 7, 3, 9]), costs, Fraction(1, 2), others=4, farthest=2) == 4
    [(lengths, chosen, factor)] = given
    assert lengths.tolist() == [5, 7, 3, 0, 4]
    assert [chosen.exponent(index, factor) for index in range(5)] == [0, Fraction(2, 3), Fraction(5, 6), Fraction(4, 3), 1]


def test_the_farthest_cost_fits_in_64_bits():
    assert 2 * FARTHEST < 2**63
    one = MixedCosts(np.array([0]), np.array([0], dtype=np.int8), (0,), 1)
    assert choose_listed(np.array([1]), one, Fraction(0), others=0, farthest=reach(10, Fraction(0))) == 0
