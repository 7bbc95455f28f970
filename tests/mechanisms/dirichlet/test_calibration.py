"""Noise per block: the whole table of our values, small worlds by exhaustion, and the two conditions that are not enough."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidBudget, InvalidInput
from tacit.evidence.verify.small_maps import laws, worst_weight
from tacit.mechanisms.dirichlet import calibration as module
from tacit.mechanisms.dirichlet.calibration import (
    PublicFacts,
    allowed_ratio,
    bad_weight_up,
    excess_up,
    is_enough,
    probable_noise,
    pure_noise,
)
from tacit.mechanisms.noise.urn import BlockClass

F = Fraction
MILLION, DELTA = 10**6, F(1, 10**5)
RATIOS = (5, 10, 20, 50)
# t of noise = t / (ratio - 1), for a million workers and as many draws, delta 1e-5: not counted, and counted
TABLE = {
    10**3: ((67, 40, 32, 28), (65, 40, 32, 28)),
    10**4: ((76, 46, 37, 32), (62, 44, 36, 32)),
    10**5: ((86, 51, 41, 36), (37, 37, 35, 34)),
    10**6: ((95, 57, 45, 40), (18, 21, 24, 28)),
    8 * 10**6: ((103, 62, 49, 43), (10, 12, 14, 18)),
}


def facts(workers, draws, blocks, count_noise=False):
    return PublicFacts(workers, draws, (BlockClass(blocks),), count_noise)


@pytest.mark.parametrize("blocks", TABLE)
@pytest.mark.parametrize("counted", [False, True])
def test_the_table(blocks, counted):
    known = facts(MILLION, MILLION, blocks, counted)
    for ratio, steps in zip(RATIOS, TABLE[blocks][counted], strict=True):
        noise = probable_noise(known, ratio, DELTA)
        assert noise == F(steps, ratio - 1)
        assert bad_weight_up(known, noise, F(ratio)) <= DELTA < bad_weight_up(known, F(steps - 1, ratio - 1), F(ratio))


def test_pure_noise():
    assert [math.ceil(pure_noise(MILLION, ratio)) for ratio in RATIOS] == [250_000, 111_112, 52_632, 20_409]
    assert pure_noise(4, F(47, 7)) == F(7, 10)
    assert 8 * MILLION * 20_000 == 160_000 * MILLION  # the tutorial's 160 billion fake workers
    assert probable_noise(facts(10, 4, 3), 3, delta=0) == pure_noise(4, 3)


def test_a_later_tail_may_be_the_largest():
    known = facts(10**4, 10**3, 1)
    tails = [excess_up(known, F(10), F(3, 2), workers) for workers in range(4)]
    assert [f"{tail:.2e}" for tail in tails[1:3]] == ["1.99e-03", "2.85e-03"]
    assert bad_weight_up(known, F(10), F(3, 2)) == F(max(tails))


def test_several_counts_at_once_are_bounded_together():
    known = facts(300, 200, 5, count_noise=True)
    for first, last in ((1, 1), (1, 4), (3, 40), (250, 300)):
        together = excess_up(known, F(5), F(3, 2), first, last)
        assert all(excess_up(known, F(5), F(3, 2), workers) <= together for workers in range(first, last + 1))


@pytest.mark.parametrize("ratio", [F(3, 2), F(2), F(5)])
def test_passing_over_many_counts_changes_nothing(ratio):
    """One by one to the last worker, beside what stops early and takes several at once."""
    known = facts(60, 80, 4)
    noise = probable_noise(known, ratio, F(1, 100))
    assert bad_weight_up(known, noise, ratio) == 4 * F(max(excess_up(known, noise, ratio, workers) for workers in range(61)))


def test_more_noise_is_not_always_safer():
    """Between two teeth the threshold stays and the chance grows: 51/9 is enough for ratio 10, and 51.9/9 is not."""
    known = facts(MILLION, MILLION, 10**5)
    assert is_enough(known, F(51, 9), F(10), DELTA)
    assert not is_enough(known, F(519, 90), F(10), DELTA)


WORLDS = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.booleans())


@settings(max_examples=60, deadline=None)
@given(WORLDS, st.sampled_from([F(5, 4), F(3, 2), F(7, 4), F(2), F(3), F(5)]), st.integers(1, 12))
def test_bad_outputs_weigh_no_more_than_is_said(world, ratio, steps):
    """Every way to live, every output, all neighbours at once, both orders; the noise on a tooth or between two."""
    known, noise = facts(*world), F(steps, 2) / (ratio - 1)
    assert worst_weight(laws(known, noise), ratio) <= bad_weight_up(known, noise, ratio)


@pytest.mark.parametrize("ratio", [F(3, 2), F(2), F(4)])
@pytest.mark.parametrize("delta", [F(1, 3), F(1, 10), F(1, 100)])
def test_calibrated_noise_keeps_its_delta(ratio, delta):
    known = facts(4, 6, 3, count_noise=True)
    noise = probable_noise(known, ratio, delta)
    assert worst_weight(laws(known, noise), ratio) <= delta


def test_the_first_two_tails_are_not_enough():
    """The planted bug: max of T_0 and T_1 only. The delta that it claims is passed by nearly twice as much."""
    known, noise, ratio = facts(4, 4, 2, count_noise=True), F(4), F(7, 4)
    claimed = 2 * F(max(excess_up(known, noise, ratio, workers) for workers in (0, 1)))
    assert worst_weight(laws(known, noise), ratio) > F(7, 4) * claimed
    assert worst_weight(laws(known, noise), ratio) <= bad_weight_up(known, noise, ratio)


def test_noise_that_may_be_dropped_is_not_counted():
    """The planted bug: the fake workers of all blocks are counted on, and most are dropped (section 5 of the proof)."""
    claimed = bad_weight_up(facts(4, 8, 3, count_noise=True), F(7), F(2))
    sparse = PublicFacts(4, 8, (BlockClass(1), BlockClass(2, "1/20")), count_noise=True)
    assert sparse.mass_besides(F(7)) == 4
    from tacit.mechanisms.dirichlet.dropping import dropping
    from tacit.privacy.rounding import exp_up

    found = worst_weight(laws(sparse, F(7)), 2 * exp_up(dropping(sparse, F(7)).epsilon))
    assert 3 * claimed < found <= bad_weight_up(sparse, F(7), F(2))


@pytest.mark.parametrize("ratio", RATIOS)
def test_counting_what_is_dropped_misses_delta_by_far(ratio):
    """Eight million blocks, none kept for certain: with the noise that counts on them all, the bound is far beyond delta."""
    steps = TABLE[8 * 10**6][True][RATIOS.index(ratio)]
    weight = bad_weight_up(facts(MILLION, MILLION, 8 * MILLION), F(steps, ratio - 1), F(ratio))
    assert weight > 10**4 * DELTA


def test_guards():
    assert bad_weight_up(facts(10, 5, 3), F(0), F(2)) == 1
    assert bad_weight_up(facts(0, 5, 3), F(1, 2), F(2)) == 0  # nobody to protect
    assert bad_weight_up(facts(10, 0, 3), F(1, 2), F(2)) == 0  # nothing is drawn
    assert probable_noise(facts(1, 5, 10), 5, DELTA) == pure_noise(5, 5)  # one worker alone: all or nothing
    with pytest.raises(InvalidBudget, match="ln 20"):
        allowed_ratio(1)
    for wrong in ((-1, 3), (3, -1), (True, 3)):
        with pytest.raises(InvalidInput):
            PublicFacts(*wrong, (BlockClass(2),))
    for wrong in ((10**400, 3, 2), (3, 10**16, 2), (3, 3, 10**30)):
        with pytest.raises(InvalidInput, match="at most 1,000,000,000,000,000"):
            facts(*wrong)
    for ratio in (1 + F(1, 10**400), "1e400"):
        with pytest.raises(InvalidBudget, match="from 1 \\+ 1e-9"):
            allowed_ratio(ratio)
    with pytest.raises(InvalidInput, match="at least one block"):
        PublicFacts(1, 1, ())


def test_only_certain_blocks_are_counted():
    mixed = PublicFacts(10, 10, (BlockClass(3), BlockClass(5, "1/2")), count_noise=True)
    assert (mixed.blocks, mixed.certain, mixed.mass_besides(F(2))) == (8, 3, 14)
    assert PublicFacts(10, 10, mixed.classes).mass_besides(F(2)) == 10


def test_the_noise_is_looked_for_once(monkeypatch):
    known = facts(500, 500, 77)
    first = probable_noise(known, 9, 1e-4)
    monkeypatch.setattr(module, "is_enough", None)
    assert probable_noise(known, 9, 1e-4) == first


@pytest.mark.parametrize(
    ("world", "noise", "ratio"),
    [((3, 30, 10), 1, 5), ((6, 100, 3), 1, 5), ((1, 30, 50), 3, F(3, 2)), ((10, 100, 10), 1, 2), ((200, 50, 9), 6, F(3, 2))],
)
def test_every_count_is_looked_at_or_bounded(monkeypatch, world, noise, ratio):
    """Beside one by one: where even the last count is not bounded by those before it, and where draws are many for the urn."""
    known, looks = facts(*world, count_noise=True), []

    def look(known, noise, ratio, workers, last=None):
        looks.append((workers, last))
        return excess_up(known, noise, ratio, workers, last)

    monkeypatch.setattr(module, "excess_up", look)
    worst = max(excess_up(known, F(noise), F(ratio), workers) for workers in range(known.workers + 1))
    assert bad_weight_up(known, F(noise), F(ratio)) == min(F(1), known.blocks * F(worst))
    assert all(isinstance(last, int) for _, last in looks[1:]), "a threshold in floats could be on the wrong side of a tooth"


def test_the_limits_themselves_are_allowed():
    assert facts(10**15, 10**15, 10**15).blocks == 10**15
    nearest, largest = 1 + F(1, 10**9), F(10**100)
    assert (allowed_ratio(nearest), allowed_ratio(largest)) == (nearest, largest)
    for ratio in (1 + F(999, 10**12), largest + F(10**97)):
        with pytest.raises(InvalidBudget, match="from 1 \\+ 1e-9"):
            allowed_ratio(ratio)


def test_one_step_of_noise_is_tried_and_none_is_never_returned():
    assert (pure_noise(0, 3), pure_noise(1, 3), pure_noise(2, 3)) == (F(1, 2), F(1, 2), F(1))
    assert [probable_noise(facts(5, draws, 3), 3, F(1, 100)) for draws in (0, 1)] == [F(1, 2), F(1, 2)]
    assert probable_noise(facts(1000, 3, 1), 2, F(1, 2)) == 1
