"""The search finds the best pair: against all pairs, on random and on hostile inputs, in one piece and in many."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mechanisms.smooth import decayed_gap
from tacit.mechanisms.smooth.decayed_gap import Gap, Stairs, largest_decayed_gap

SELECTION = 2.0**-42  # the loss that the search may have, see smooth.md


def stairs(steps, rises, start=0):
    return Stairs(np.cumsum([start, *steps]), np.cumsum([0, *rises]))


sides = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 10**6) | st.integers(0, 2**55)), max_size=30).map(
    lambda pairs: stairs([step for step, _ in pairs], [rise for _, rise in pairs])
)
rates = st.sampled_from([1e-9, 1e-4, 0.01, 0.1, 1.0, 5.0])


def best_by_looking_at_all(left, right, rate, width):
    return max(
        (int(a) + int(b)) * math.exp(-rate * ((int(d) + int(e)) // width))
        for d, a in zip(left.places, left.gaps, strict=True)
        for e, b in zip(right.places, right.gaps, strict=True)
    )


@settings(max_examples=300, deadline=None)
@given(sides, sides, rates, st.integers(1, 12), st.sampled_from([0, -1]))
def test_finds_the_best_of_all_pairs(left, right, rate, width, start):
    left = Stairs(left.places + start, left.gaps)
    found = largest_decayed_gap(left, right, rate, width, Gap(0, 0))
    best = best_by_looking_at_all(left, right, rate, width)
    assert found.size * math.exp(-rate * found.decays) >= best * (1 - SELECTION - 1e-13)


@settings(max_examples=60, deadline=None)
@given(sides, sides, rates, st.integers(1, 12))
def test_pieces_and_their_sizes_change_nothing(left, right, rate, width):
    whole = largest_decayed_gap(left, right, rate, width, Gap(0, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decayed_gap, "PART", 4)
        patch.setattr(decayed_gap, "LONG", 2)
        pieces = largest_decayed_gap(left, right, rate, width, Gap(0, 0))
    assert pieces.weight(rate) == pytest.approx(whole.weight(rate), rel=1e-12, abs=0)


@pytest.mark.parametrize("width", [1, 2, 7, 400])
@pytest.mark.parametrize("rate", [1e-5, 1e-3, 1 / 3000])
def test_long_stairs_against_all_pairs(rate, width):
    draws = np.random.default_rng(7)
    for rises in (np.ones(2500, dtype=int), draws.integers(0, 1000, 2500), (np.exp(np.arange(2500) * rate) * 9).astype(int)):
        left, right = stairs(np.ones(2500, dtype=int), rises), stairs(np.ones(2500, dtype=int), rises[::-1])
        decays = (left.places[:, None] + right.places[None, :]) // width
        best = float(((left.gaps[:, None] + right.gaps[None, :]) * np.exp(-rate * decays)).max())
        found = largest_decayed_gap(left, right, rate, width, Gap(0, 0))
        assert found.weight(rate) >= best * (1 - SELECTION - 1e-13)


def test_what_is_known_stays_if_nothing_is_better():
    side = stairs([1, 1], [1, 1])
    assert largest_decayed_gap(side, side, 0.5, 1, Gap(100, 0)) == Gap(100, 0)


def test_a_search_that_keeps_the_wrong_range_is_caught(monkeypatch):
    """Planted: the nearest column is taken for the best one, so that the ranges beyond the middle shrink to it."""
    left, right = stairs([1] * 40, [0] * 34 + [10_000] + [0] * 5), stairs([1] * 40, [0] * 4 + [5_000] + [0] * 35)
    best = best_by_looking_at_all(left, right, 0.01, 1)
    assert largest_decayed_gap(left, right, 0.01, 1, Gap(0, 0)) == Gap(15_000, 40)
    true_search = decayed_gap._best_entries
    monkeypatch.setattr(decayed_gap, "_best_entries", lambda board, gaps, low, high: (low, true_search(board, gaps, low, high)[1]))
    assert largest_decayed_gap(left, right, 0.01, 1, Gap(0, 0)).weight(0.01) < best * 0.999


def test_the_doubles_that_numpy_gives_for_exp_are_as_near_as_the_proof_assumes():
    """smooth.md, "The search", assumes a relative error below 2^-48 for arguments from -300 to 300."""
    from decimal import Context, Decimal

    arguments = np.random.default_rng(3).uniform(-300, 300, 3000)
    precise = Context(prec=40)
    for argument, value in zip(arguments.tolist(), np.exp(arguments).tolist(), strict=True):
        assert abs(Decimal(value) / precise.exp(Decimal(argument)) - 1) < Decimal(2) ** -48


def ridge(size):
    """Evenly spaced values with a decay of one over the count: every left entry has a partner as good as the best."""
    places = np.arange(size)
    return Stairs(places, places), 1 / size


def test_a_million_ties_end():
    """A search that takes quadratic time would not come back: 2.5 * 10^11 pairs."""
    side, rate = ridge(500_000)
    found = largest_decayed_gap(side, side, rate, 1, Gap(0, 0))
    assert found.weight(rate) == pytest.approx(500_000 / math.e, rel=1e-6)


def test_a_pair_that_decays_less_than_none_is_not_dropped():
    """The nearest left place may be -1: its gap counts e times its size here, which beats one that is larger by itself."""
    left, right = Stairs(np.array([-1]), np.array([5])), Stairs(np.array([0]), np.array([0]))
    assert largest_decayed_gap(left, right, 1.0, 1, Gap(6, 0)) == Gap(5, -1)


@pytest.mark.parametrize("part", [1, 1 << 17])
def test_of_pairs_that_doubles_cannot_tell_apart_the_nearest_is_kept(monkeypatch, part):
    """At a rate of 1e-30 nothing decays; the first of them is larger than all others in exact arithmetic."""
    monkeypatch.setattr(decayed_gap, "PART", part)
    alone, level = Stairs(np.array([0]), np.array([0])), Stairs(np.array([0, 1, 2]), np.array([10, 10, 10]))
    assert largest_decayed_gap(level, alone, 1e-30, 1, Gap(0, 0)) == Gap(10, 0)
    assert largest_decayed_gap(alone, level, 1e-30, 1, Gap(0, 0)) == Gap(10, 0)


@pytest.mark.parametrize("part", [1, 2, 3, 1 << 17])
def test_a_scan_sees_its_own_range_and_all_of_it(monkeypatch, part):
    """Columns beyond the range belong to another residue; its two ends count, also where they are one."""
    monkeypatch.setattr(decayed_gap, "PART", part)
    none = np.zeros(0, dtype=np.int64)
    decay, decayed = np.array([1.0, 0.5, 0.25, 1.0, 0.5, 0.25]), np.array([0.0, 3.0, 1.0, 4.0, 5.0, 9.0])
    board = decayed_gap._Board(none, 3, None, none, decay, decayed)
    for low in range(6):
        for high in range(low, 6):
            weights = (2 * decay + decayed)[low : high + 1]
            assert decayed_gap._scan(board, 2.0, low, high) == (low + int(weights.argmax()), float(weights.max()))


STEPS = ([1] * 11, [1, 2, 1, 1, 3, 1, 1, 1, 2, 1, 1], [5, 1, 9, 2, 2, 7, 1, 1, 30, 1, 4])
RISES = ([1] * 11, [0, 0, 0, 900, 0, 0, 1, 0, 5, 0, 3000], [2**k for k in range(11)])


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("rate", [1e-3, 0.1, 1.0])
def test_the_gap_that_comes_back_is_a_pairs_with_all_of_its_decays(rate, width):
    """One that counts fewer decays than its places have would pass for a larger one."""
    sides = [stairs(steps, rises) for steps in STEPS for rises in RISES]
    for left in sides:
        for right in sides:
            gaps, places = left.gaps[:, None] + right.gaps, left.places[:, None] + right.places
            pairs = {Gap(*pair) for pair in zip(gaps.ravel().tolist(), (places // width).ravel().tolist(), strict=True)}
            found = largest_decayed_gap(left, right, rate, width, Gap(0, 0))
            assert found in pairs
            assert found.weight(rate) >= max(pair.weight(rate) for pair in pairs) * (1 - SELECTION - 1e-13)


def test_gaps_that_decay_below_one_unit_are_compared_too():
    left, right = Stairs(np.array([0, 4]), np.array([0, 3])), Stairs(np.array([0]), np.array([0]))
    assert largest_decayed_gap(left, right, 1.0, 1, Gap(3, 5)) == Gap(3, 4)


def test_the_last_entry_at_or_before_a_place():
    wanted = np.arange(10)
    for count in range(7):
        for others in combinations(range(1, 8), count):
            places = np.array([0, *others])
            expected = [max(k for k, place in enumerate(places) if place <= limit) for limit in wanted]
            assert decayed_gap._last_at(places, wanted).tolist() == expected
