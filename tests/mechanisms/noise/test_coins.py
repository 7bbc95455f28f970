"""Packed coins: every digit against its definition, on chosen words; many draws; ties."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import plausible_hits
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits, coins
from tacit.mechanisms.noise.coins import packed_coins


@settings(max_examples=60)
@given(st.fractions(min_value=0, max_value=1), st.integers(0, 2**32))
def test_a_coin_is_the_comparison_of_a_uniform_number_with_the_probability(probability, seed):
    """With recorded words: a bit is one exactly if the number of its digits, those of the words turned round, is below p."""
    generator, drawn = np.random.default_rng(seed), []

    def recorded(count):
        drawn.append(generator.integers(0, 2**64, count, dtype=np.uint64))
        return drawn[-1].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "random_words", recorded)
        tossed = coins._toss(1, probability)[0] if probability < 1 else np.uint64(2**64 - 1)
    words = [int(word) for words in drawn for word in words]
    digits, rest = [], probability
    for _ in words:
        digit, rest = divmod(2 * rest, 1)
        digits.append(int(digit))
    for place in range(64):
        uniform = [1 - (word >> place & 1) for word in words]
        assert bool(int(tossed) >> place & 1) == (probability == 1 or uniform < digits)


def test_certain_coins_need_no_words(words):
    words([])
    assert packed_coins(Fraction(1), 9).tolist() == [255] * 9
    assert packed_coins(Fraction(0), 9).tolist() == [0] * 9
    assert packed_coins(Fraction(1, 3), 0).size == 0


def test_a_probability_of_few_digits_ends(words):
    """As many rows of words as there are digits: one for 1/2, three for 3/8 = 0.011."""
    left = words([2**64 - 2])
    assert packed_coins(Fraction(1, 2), 8).tolist() == [254, *[255] * 7]
    assert left == []
    left = words([2**64 - 1, 0b01, 0b10])  # all tie at 0; then the first coin is settled; then the second one is
    assert packed_coins(Fraction(3, 8), 8).tolist() == [0b11, *[0] * 7]
    assert left == []


@pytest.mark.parametrize(
    "probability", [Fraction(1, 2), Fraction(1, 3), Fraction(269, 1000), Fraction(1, 2**12), 1 - Fraction(1, 5000)]
)
def test_coins_fall_as_often_as_they_should(probability):
    """Every place of a byte."""
    size = 3 * 8 * coins.BLOCK // 4
    counts = np.unpackbits(packed_coins(probability, size).reshape(-1, 1), axis=1).sum(axis=0)
    assert plausible_hits(counts, size, probability)


@pytest.mark.parametrize("size", [0, 1, 8, 31, 32, 33, 64, 79])
def test_coins_of_several_blocks_are_all_tossed(size, monkeypatch):
    """Blocks of four words: a whole number of them, and a last one that is shorter."""
    counts = []
    monkeypatch.setattr(coins, "BLOCK", 4)
    monkeypatch.setattr(coins, "_toss", lambda count, probability: counts.append(count) or np.full(count, coins.ALL))
    assert packed_coins(Fraction(1, 3), size).tolist() == [255] * size
    words = -(-size // 8)
    assert counts == [4] * (words // 4) + [words % 4] * (words % 4 > 0)


def test_coins_of_ten_digits_only_are_seen():
    """The planted bug: the digits after the tenth left out, at a probability that lives in them."""
    probability, digits = Fraction(1, 2**12), coins._digits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coins, "_digits", lambda p: (digits(p)[0], Fraction(0)))
        heads = int(np.unpackbits(packed_coins(probability, 10**5)).sum())
    assert not plausible_hits(heads, 800_000, probability)


@pytest.mark.parametrize("probability", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_coin_needs_a_probability(probability):
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        packed_coins(probability, 1)


def settled_by_ten_digits(toss, probability, monkeypatch):
    """Of all 1,024 ways of ten digits: how many are ones, how many go on, and the probability with which those do."""
    went_on, lanes = [], np.arange(1024)

    def patterns(count):
        digits = count // 16
        rows = [np.packbits(lanes >> (digits - 1 - place) & 1, bitorder="little") for place in range(digits)]
        return np.concatenate(rows).view(np.uint64)

    def rest_of(count, rest):
        went_on.append((count, rest))
        return np.zeros(count, dtype=np.uint64)

    with monkeypatch.context() as patch:
        patch.setattr(coins.bits, "random_words", patterns)
        patch.setattr(coins, "_toss", rest_of)
        ones = toss(16, probability)
    return int(np.unpackbits(ones.view(np.uint8)).sum()), went_on


@pytest.mark.parametrize(
    "probability", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**6), 1 - Fraction(1, 3**20), Fraction(5, 8)]
)
def test_ten_digits_settle_a_coin_exactly_as_often_as_they_should(monkeypatch, probability):
    """P = (ones + rest) / 2^10 at each step, so by induction a coin whose bias does not end in binary has exactly its bias."""
    ones, went_on = settled_by_ten_digits(coins._toss, probability, monkeypatch)
    rests = [rest for _, rest in went_on]
    assert Fraction(ones) + sum(rests) == probability * 1024
    assert all(count == 1 for count, _ in went_on)  # in one word of 64 coins, the one that tied


def test_a_digit_that_settles_the_wrong_way_is_caught(monkeypatch):
    honest = coins._digits
    monkeypatch.setattr(coins, "_digits", lambda p: (honest(p)[0][::-1], honest(p)[1]))
    ones, went_on = settled_by_ten_digits(coins._toss, Fraction(1, 3), monkeypatch)
    assert Fraction(ones) + sum(rest for _, rest in went_on) != Fraction(1024, 3)
