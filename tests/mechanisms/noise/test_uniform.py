"""Uniform integers with a bound each, and choices without repetition."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import plausible_hits
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits, uniform
from tacit.mechanisms.noise.uniform import distinct_integers, uniform_below

WORDS = st.integers(0, 2**64 - 1)
BOUNDS = st.integers(1, 2**64 - 1) | st.integers(1, 100)


@given(WORDS, BOUNDS)
def test_the_product_has_both_halves(word, bound):
    upper, lower = uniform._product(np.array([word], dtype=np.uint64), np.array([bound], dtype=np.uint64))
    assert (int(upper[0]) << 64) + int(lower[0]) == word * bound


@given(st.lists(st.tuples(WORDS, BOUNDS), min_size=1, max_size=5))
def test_a_word_is_kept_unless_it_falls_into_what_is_left_over(pairs):
    """2^64 mod bound words are refused, so that every integer has equally many: Lemire 2019, and choice.md."""
    with pytest.MonkeyPatch.context() as patch:
        queue = [[word for word, _ in pairs]]
        asked: list[int] = []

        def words(count):
            asked.append(count)
            return np.array(queue.pop(0) if queue else [2**64 - 1] * count, dtype=np.uint64)

        patch.setattr(bits, "random_words", words)
        drawn = uniform_below(np.array([bound for _, bound in pairs], dtype=np.uint64)).tolist()
    refused = [(word * bound) % 2**64 < 2**64 % bound for word, bound in pairs]
    assert (asked[1] if len(asked) > 1 else 0) == sum(refused)
    for (word, bound), again, value in zip(pairs, refused, drawn, strict=True):
        assert value == ((2**64 - 1 if again else word) * bound) >> 64


@pytest.mark.parametrize("bound", [3, 7, 11, 2**33 + 1, 2**63 + 1, 2**64 - 59])
def test_the_last_word_that_is_refused_and_the_first_that_is_kept(bound, words):
    """An odd bound has an inverse: a word for every lower half, those at 2^64 mod bound and just below it among them."""
    left_over = 2**64 % bound
    refused, kept = (lower * pow(bound, -1, 2**64) % 2**64 for lower in (left_over - 1, left_over))
    waiting = words([refused, kept])
    assert uniform_below(np.array([bound], dtype=np.uint64)).tolist() == [kept * bound >> 64]
    assert waiting == []


def test_large_bounds_have_no_bias():
    """floor(3 w / 4) without refusals is a multiple of 3 every second time; with them every third time."""
    size = 60_000
    thirds = int((uniform_below(np.full(size, 3 * 2**62, dtype=np.uint64)) % np.uint64(3) == 0).sum())
    assert plausible_hits(thirds, size, 1 / 3)
    unrefused = int(
        (uniform._product(bits.random_words(size), np.full(size, 3 * 2**62, dtype=np.uint64))[0] % np.uint64(3) == 0).sum()
    )
    assert not plausible_hits(unrefused, size, 1 / 3)


def test_bounds_beyond_a_word_are_python_integers():
    drawn = uniform_below(np.array([2**100, 1], dtype=object))
    assert 0 <= drawn[0] < 2**100
    assert drawn[1] == 0


@pytest.mark.parametrize(
    "bounds", [np.array([0], dtype=np.uint64), np.array([3, 0, 5], dtype=np.uint64), np.array([3], dtype=np.int64)]
)
def test_a_bound_is_a_word_of_at_least_one(bounds):
    with pytest.raises(InvalidInput, match="at least 1"):
        uniform_below(bounds)


@pytest.mark.parametrize(("below", "size"), [(3, 2), (5, 2)])  # by order of words, and by first occurrence
def test_every_ordered_choice_is_equally_likely(below, size):
    runs, choices = 12_000, math.perm(below, size)
    seen = Counter(tuple(distinct_integers(below, size).tolist()) for _ in range(runs))
    assert len(seen) == choices
    assert plausible_hits(list(seen.values()), runs, 1 / choices)


def test_equal_words_are_drawn_again(words):
    waiting = words([5, 5, 7, 3, 9, 1])
    assert uniform._shuffle(3).tolist() == [2, 0, 1]
    assert not waiting


@given(st.integers(0, 40), st.data())
def test_chosen_integers_differ(below, data):
    size = data.draw(st.integers(0, below))
    chosen = distinct_integers(below, size).tolist()
    assert len(set(chosen)) == len(chosen) == size
    assert all(0 <= each < below for each in chosen)


def test_more_than_there_are_is_refused():
    with pytest.raises(InvalidInput, match="do not exist"):
        distinct_integers(3, 4)


def orders_of(shuffle, count, monkeypatch):
    """How often each order comes out, for different words in every order."""
    seen = Counter()
    for words in permutations([1, 2**20, 2**33, 2**63 + 1, 2**64 - 1][:count]):
        monkeypatch.setattr(bits, "random_words", lambda size, words=words: np.array(words[:size], dtype=np.uint64))
        seen[tuple(shuffle(count).tolist())] += 1
    return seen


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_different_words_in_every_order_give_every_order_once(monkeypatch, count):
    """Independent words are equally likely in each of their orders, so this is the law of a shuffle, without a statistic."""
    assert orders_of(uniform._shuffle, count, monkeypatch) == dict.fromkeys(permutations(range(count)), 1)


def test_a_shuffle_by_fewer_bits_is_caught(monkeypatch):
    def coarse(count):
        return np.argsort(bits.random_words(count) >> np.uint64(62), kind="stable")

    assert max(orders_of(coarse, 4, monkeypatch).values()) > 1
