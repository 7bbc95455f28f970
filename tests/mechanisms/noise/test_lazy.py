"""A lazily drawn number answers exactly, and draws further bits when, and only when, the known ones leave a doubt."""

import math
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.mechanisms.noise import bits, lazy
from tacit.mechanisms.noise.lazy import Draw, draw_of, extended, sign_of, uniform_from


def plain(known):
    return known[0], known[0] + 1


def injected(monkeypatch, words):
    """Put `words`, then ones, in place of random words; the calls that were made."""
    calls, left = [], iter(words)

    def chosen(number):
        calls.append(number)
        return np.array([next(left, 1) for _ in range(number)], dtype=np.uint64)

    monkeypatch.setattr(bits, "random_words", chosen)
    return calls


fractions = st.fractions(max_denominator=10**6)
scales = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**9)


@given(st.sampled_from([-1, 1]), st.integers(0, 2**128 - 1), fractions, scales)
def test_rounds_as_the_definition_says(sign, prefix, centre, scale):
    ends = [math.floor(centre + sign * scale * Fraction(prefix + more, 2**128) + Fraction(1, 2)) for more in (0, 1)]
    draw = Draw.of(sign, plain, (prefix, 128))
    assert draw.rounded(centre, scale) in (ends if ends[0] != ends[1] else ends[:1])


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("eighth", [1, 3, 7])
@pytest.mark.parametrize(("centre", "scale"), [("0", "1000"), ("1/3", "1000/7"), ("-22/7", "99/101"), ("10/9", "123456789/1000")])
def test_a_draw_far_from_zero_is_stretched_and_shifted(sign, eighth, centre, scale):
    """Eighths, which no example near 0 stands for: all four terms of the two fractions count."""
    draw = Draw.of(sign, plain, (eighth << 125 | 12345, 128))
    exact = Fraction(centre) + sign * Fraction(scale) * Fraction(eighth << 125 | 12345, 2**128)
    assert draw.rounded(Fraction(centre), Fraction(scale)) == math.floor(exact + Fraction(1, 2))


def test_what_is_carried_has_one_length_whatever_was_drawn():
    """In digits of 30 bits, as Python keeps integers: the time of the arithmetic says nothing of the draw."""
    sizes = [0, 1, 2**64, 2**127, 2**128 + 5, 2**160, 2**190]
    drawn = [Draw.of(sign, lambda known, size=size: (size, size + 1), (1, 128)) for sign in (-1, 1) for size in sizes]
    assert len({-(-end.bit_length() // 30) for draw in drawn for end in draw.carried}) == 1


def test_no_bits_are_drawn_without_need(monkeypatch):
    calls = injected(monkeypatch, [])
    assert Draw.of(1, plain, (1 << 126, 128)).rounded(Fraction(7), Fraction(1)) == 7
    assert calls == []


@pytest.mark.parametrize(("words", "expected"), [([2**63], -1), ([0] * 64 + [0] * 64 + [2**63], -1)])
def test_a_doubt_takes_more_bits_for_as_long_as_it_lasts(monkeypatch, words, expected):
    """-1/2 exactly rounds to 0, and anything below it to -1: zeros decide nothing."""
    calls = injected(monkeypatch, words)
    half = Draw.of(-1, plain, (1 << 127, 128))
    assert half.rounded(Fraction(0), Fraction(1)) == expected
    assert len(calls) == (1 if words[0] else 3)


def test_a_rounding_that_trusts_the_known_bits_is_caught(monkeypatch):
    """Planted: the lower end is taken for the number. The test above then sees 0 where -1 is right."""
    injected(monkeypatch, [2**63])
    half = Draw.of(-1, plain, (1 << 127, 128))
    assert half._round(half.carried[0], Fraction(0), Fraction(1)) == 0


def test_at_least_two_words_are_known_and_never_only_zeros(monkeypatch):
    draw = draw_of(1, plain, (0, 64), iter([0, 0, 5, 7]))
    assert draw.known == (5, 256)
    assert extended((3, 64), iter([9])) == (3 << 64 | 9, 128)


def test_two_words_are_enough_where_they_say_anything():
    """128 bits exactly: heavy.md counts on them for the rarity of a second look, and no more are drawn."""
    assert draw_of(1, plain, (3, 128), iter([])).known == (3, 128)
    assert draw_of(1, plain, (3, 64), iter([9])).known == (3 << 64 | 9, 128)
    assert draw_of(1, plain, (0, 128), iter([9])).known == (9, 192)


def test_uniform_integers_pass_over_the_incomplete_round():
    last = 2**64 // 3 * 3
    assert uniform_from(3, iter([last, 2**64 - 1, 7])) == 1
    assert uniform_from(3, iter([last - 1])) == 2  # the last word of the last full round
    assert [uniform_from(5, iter([word])) for word in range(7)] == [0, 1, 2, 3, 4, 0, 1]
    assert {sign_of(word) for word in range(4)} == {-1, 1}


def test_words_come_from_the_one_door(monkeypatch):
    numbers = count()
    monkeypatch.setattr(bits, "random_words", lambda size: np.array([next(numbers) for _ in range(size)], dtype=np.uint64))
    source = lazy.words()
    assert [next(source) for _ in range(100)] == list(range(100))
