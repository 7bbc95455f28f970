"""Polya's urn: the exact law by listing every draw, the blocks by listing every choice, and large urns by what is known of them."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import classes_fit, distance_limit, plausible_hits
from every_path import exact_law
from tacit.errors import InvalidInput, InvalidValue, NotAllowed
from tacit.mechanisms.dirichlet.law import resampling_chances
from tacit.mechanisms.noise import urn
from tacit.mechanisms.noise.urn import BlockClass, binomial, fair_heads, polya_urn

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def spread(drawn, blocks):
    counts = [0] * blocks
    for block, times in zip(*(part.tolist() for part in drawn), strict=True):
        counts[block] += times
    return tuple(counts)


def law_of(monkeypatch, homes, noise, classes, draws):
    occupied = [block for block, count in enumerate(homes) if count]
    counts = [count for count in homes if count]
    return exact_law(lambda: spread(polya_urn((occupied, counts), noise, classes, draws), len(homes)), monkeypatch)


def chances(homes, noise, classes, draws):
    keeps = [each.keep for each in classes for _ in range(each.blocks)]
    return {output: chance for output, chance in resampling_chances(homes, noise, keeps, draws).items() if chance}


WORLDS = [
    ((1, 0), HALF, [BlockClass(2)], 3),
    ((2, 1, 0), Fraction(2), [BlockClass(3)], 2),
    ((0, 1, 0), Fraction(1, 3), [BlockClass(1), BlockClass(2, HALF)], 2),
    ((1, 0, 0), HALF, [BlockClass(3, QUARTER)], 2),
    ((0, 0, 1, 0), Fraction(1), [BlockClass(2, HALF), BlockClass(2)], 2),
    ((0, 0), Fraction(3, 2), [BlockClass(2)], 3),
    ((3,), HALF, [BlockClass(1, HALF)], 2),
]


@pytest.mark.parametrize(("homes", "noise", "classes", "draws"), WORLDS, ids=lambda value: str(value)[:24])
def test_the_law_is_exactly_the_definition(monkeypatch, homes, noise, classes, draws):
    assert law_of(monkeypatch, homes, noise, classes, draws) == chances(homes, noise, classes, draws)


PLANTS = {
    "copies of copies end after one step": ("_first_of", lambda copied: copied),
    "kept blocks are always the first ones": ("_empty_at", lambda ranks, occupied: np.arange(ranks.size)),
    "kept by chance, all the same": ("binomial", lambda coins, bias: coins),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_wrong_urn_would_be_seen(monkeypatch, plant):
    name, wrong = PLANTS[plant]
    monkeypatch.setattr(urn, name, wrong)
    found = [law_of(monkeypatch, *world) == chances(*world) for world in WORLDS]
    assert not all(found)


@pytest.mark.parametrize("together", [1, 2, 3])
@pytest.mark.parametrize("world", [*WORLDS[:6], ((1, 0), Fraction(1), [BlockClass(2)], 4)], ids=lambda world: str(world)[:24])
def test_rounds_have_the_law_of_one(monkeypatch, world, together):
    monkeypatch.setattr(urn, "TOGETHER", together)
    assert law_of(monkeypatch, *world) == chances(*world)


def test_rounds_that_forget_would_be_seen(monkeypatch):
    """The planted bugs: a round begins with the real workers alone, or with the draws of the last round in the place of all."""
    world, honest = ((1, 0), HALF, [BlockClass(2)], 3), urn._drawn_together
    first = (np.arange(1), np.array([1]))
    for wrong in (lambda _: first, lambda held: (held[0], np.minimum(held[1], 1))):
        monkeypatch.setattr(urn, "TOGETHER", 1)
        monkeypatch.setattr(urn, "_drawn_together", lambda held, *rest, wrong=wrong: honest(wrong(held), *rest))
        assert law_of(monkeypatch, *world) != chances(*world)


def test_no_more_is_picked_at_once_than_a_round(monkeypatch):
    """Memory does not grow with the draws."""
    asked, honest = [], urn.uniform_below
    monkeypatch.setattr(urn, "TOGETHER", 50)
    monkeypatch.setattr(urn, "uniform_below", lambda bounds: asked.append(len(bounds)) or honest(bounds))
    assert polya_urn(([2], [9]), HALF, [BlockClass(40), BlockClass(40, HALF)], draws=1020)[1].sum() == 1020
    assert asked == [50] * 20 + [20]


def test_the_worked_example(monkeypatch):
    """Six draws of one block of ten: 1/5005 with one fake worker, 1/715 with a real one beside it; the ratio is 7."""
    only, more = (
        urn_law[6, 0]
        for urn_law in (chances((0, 8), Fraction(1), [BlockClass(2)], 6), chances((1, 7), Fraction(1), [BlockClass(2)], 6))
    )
    assert (only, more, more / only) == (Fraction(1, 5005), Fraction(1, 715), 7)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(0, 60), st.integers(1, 29), st.data())
def test_what_comes_out_is_a_map(counts, draws, cut, data):
    """Blocks in order, each once, each on the map, and as many workers as were asked for."""
    first = min(cut, len(counts))
    classes = [BlockClass(first), BlockClass(len(counts) - first, data.draw(st.sampled_from([HALF, Fraction(1, 3), Fraction(1)])))]
    noise = data.draw(st.fractions(Fraction(1, 50), 5, max_denominator=50))
    blocks, times = polya_urn((np.arange(len(counts)), np.array(counts)), noise, classes, draws)
    assert times.sum() == draws
    assert np.all(times > 0)
    assert np.all(np.diff(blocks) > 0)
    assert blocks.size == 0 or 0 <= blocks[0] <= blocks[-1] < len(counts)


def test_the_order_in_which_blocks_are_named_is_nothing():
    """A block named late and an empty one named at all change nothing: the arrays are sorted, zeros left out."""
    for blocks, counts in (([5, 2, 9], [3, 1, 0]), ([2, 5], [1, 3])):
        read = urn._read((blocks, counts), [BlockClass(10)])
        assert [part.tolist() for part in read] == [[2, 5], [1, 3]]


def test_ranks_among_empty_blocks_pass_over_the_occupied_ones():
    assert urn._empty_at(np.arange(6), np.array([0, 3, 4, 8])).tolist() == [1, 2, 5, 6, 7, 9]
    assert urn._empty_at(np.arange(2), np.array([], dtype=np.int64)).tolist() == [0, 1]


def test_shares_too_fine_for_a_word_are_drawn_with_python_integers():
    assert polya_urn(([0], [3]), Fraction(1, 3**50), [BlockClass(2)], draws=4)[1].sum() == 4


def test_nothing_to_draw_and_nothing_to_draw_from():
    blocks, times = polya_urn(([0], [3]), HALF, [BlockClass(2)], draws=0)
    assert blocks.size == times.size == 0
    assert polya_urn(([], []), HALF, [BlockClass(1)], draws=4)[1].tolist() == [4]
    assert polya_urn(([], []), Fraction(1, 3**50), [BlockClass(0)], draws=0)[0].size == 0
    with pytest.raises(InvalidInput, match="nothing to draw from"):
        polya_urn(([], []), HALF, [BlockClass(0)], draws=1)


@pytest.mark.parametrize(
    "workers",
    [
        ([0, 0], [1, 1]),
        ([0], [-1]),
        ([0, 1], [-1, 5]),
        ([7], [1]),
        ([0, 7], [1, 1]),
        ([-1], [1]),
        ([0], [1, 2]),
        ([0.5], [1]),
        ([[0]], [[1]]),
    ],
    ids=str,
)
def test_workers_off_the_map_or_counted_twice_are_refused(workers):
    with pytest.raises(InvalidValue):
        polya_urn(workers, HALF, [BlockClass(7)], draws=1)


def test_workers_that_a_word_cannot_count_are_refused():
    """Their sum would wrap around, and the draws would follow another law."""
    with pytest.raises(InvalidValue, match="64 bits"):
        polya_urn(([0, 1, 2, 3, 4], [2**62, 2**62, 2**62, 2**62, 5]), HALF, [BlockClass(7)], draws=1)

    with pytest.raises(InvalidValue, match="64 bits"):
        polya_urn(([0], [2**62]), HALF, [BlockClass(7)], draws=1)
    assert polya_urn(([0, 1], [2**61, 2**61 - 2**10]), HALF, [BlockClass(7)], draws=3)[1].sum() == 3


@pytest.mark.parametrize(
    ("whole", "share", "draws"), [(2**60, 2**60, 20), (5, 2**62, 3), (2**63 - 9, 8, 1), (2**63 - 9, 8, 4), (7, 3**50, 2)]
)
def test_draw_number_i_is_one_of_the_shares_that_the_urn_then_holds(monkeypatch, whole, share, draws):
    """Exactly, also where the shares together pass a word: none wraps around."""
    bounds = []
    monkeypatch.setattr(urn, "uniform_below", lambda given: bounds.extend(given.tolist()) or given)
    urn._pick(whole, share, draws)
    assert bounds == [whole + number * share for number in range(draws)]


def test_slots_of_one_class_are_not_those_of_the_next():
    """All empty blocks of a class that is kept by chance, and the first of the next one."""
    nobody = np.array([], dtype=np.int64)
    placed = urn._place(np.arange(3), [2, 1], [nobody, nobody], [BlockClass(2, HALF), BlockClass(1)]).tolist()
    assert sorted(placed[:2]) == [0, 1]
    assert placed[2] == 2


def test_noise_on_occupied_blocks_only_is_refused_with_the_reason():
    with pytest.raises(NotAllowed, match="proves that a real one"):
        BlockClass(5, 0)
    for blocks, keep in ((5, 1.5), (5, -0.1), (-1, 1), (True, 1)):
        with pytest.raises(InvalidInput):
            BlockClass(blocks, keep)


def maps_follow(runs):
    """Whether `runs` maps follow the exact law: every output a class, rare ones merged."""
    homes, noise, classes, draws = (2, 1, 0, 0), Fraction(3, 4), [BlockClass(2), BlockClass(2, QUARTER)], 5
    law = chances(homes, noise, classes, draws)
    places = {output: place for place, output in enumerate(sorted(law, key=law.__getitem__, reverse=True))}
    seen = np.zeros(len(law))
    for _ in range(runs):
        seen[places[spread(polya_urn(([0, 1], [2, 1]), noise, classes, draws), 4)]] += 1
    return classes_fit(seen, np.array([float(law[output]) for output in places]))


def test_draws_follow_the_exact_law():
    assert maps_follow(6_000)


@pytest.mark.slow
def test_many_draws_follow_the_exact_law():
    assert maps_follow(300_000)


def test_draws_that_are_not_copied_would_be_seen(monkeypatch):
    """The planted bug: every draw is from the urn as it was at first, so that the counts are multinomial."""
    honest = urn._pick
    monkeypatch.setattr(urn, "_pick", lambda mass, share, draws: np.concatenate([honest(mass, share, 1) for _ in range(draws)]))
    assert not maps_follow(6_000)


@pytest.mark.slow
def test_a_large_urn_follows_the_beta_binomial_law():
    """How often the first 300 of 20,000 blocks are drawn, 4,000 times."""
    from scipy.stats import betabinom

    counts, noise, runs = np.full(1000, 2), Fraction(3, 10), 4_000
    mass, rest = 300 * (2 + float(noise)), 700 * (2 + float(noise)) + 19_000 * float(noise)
    seen = np.empty(runs, dtype=np.int64)
    for run in range(runs):
        blocks, times = polya_urn((np.arange(1000), counts), noise, [BlockClass(20_000)], draws=1500)
        seen[run] = times[blocks < 300].sum()
    below = np.cumsum(np.bincount(seen, minlength=1501)) / runs
    assert np.abs(below - betabinom.cdf(np.arange(1501), 1500, mass, rest)).max() < distance_limit(runs)


LARGE = """
import resource, time
import numpy as np
from fractions import Fraction
from tacit.mechanisms.noise.urn import BlockClass, polya_urn
begin = time.perf_counter()
blocks, counts = np.unique(np.random.default_rng(1).integers(0, 8_000_000, 1_000_000), return_counts=True)
classes = [BlockClass(4_000_000, "1/2"), BlockClass(4_000_000, "0.0378")]
drawn, times = polya_urn((blocks, counts), Fraction(49, 19), classes, 1_000_000)
assert times.sum() == 1_000_000
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_a_million_workers_among_eight_million_blocks_fit_in_time_and_memory():
    seconds, kilobytes = map(float, subprocess.run([sys.executable, "-c", LARGE], capture_output=True, check=True).stdout.split())
    assert seconds < 60
    assert kilobytes < 4 * 2**20


# --- heads among coins -------------------------------------------------------------------------------------------------------


HALF = Fraction(1, 2)


def pmf(coins, bias):
    return {k: math.comb(coins, k) * bias**k * (1 - bias) ** (coins - k) for k in range(coins + 1)}


@pytest.mark.parametrize("bias", [HALF, Fraction(5, 8), Fraction(3, 16), Fraction(1, 8)])
@pytest.mark.parametrize("coins", [1, 2, 4])
def test_the_law_is_the_binomial_one(monkeypatch, coins, bias):
    assert exact_law(lambda: binomial(coins, bias), monkeypatch) == pmf(coins, bias)


def test_a_bias_without_an_end_is_followed_as_far_as_coins_are_tied(monkeypatch):
    """1/3 = 0.010101...: a coin whose bits are 0, 1, 0, 0 is below it at the fourth."""
    answers = iter([0, 1, 0, 0])
    monkeypatch.setattr(urn, "fair_heads", lambda coins: next(answers))
    assert binomial(1, Fraction(1, 3)) == 1
    assert next(answers, None) is None


def test_a_bias_cut_after_a_few_digits_would_be_seen(monkeypatch):
    """The planted bug: five digits of the bias where it has six."""
    assert exact_law(lambda: binomial(4, Fraction(10, 32)), monkeypatch) != pmf(4, Fraction(21, 64))


def test_fair_heads_counts_exactly_as_many_bits(words):
    words([2**64 - 1, 2**63])
    assert fair_heads(65) == 65
    words([2**63 - 1])
    assert fair_heads(1) == 0
    words([])
    assert fair_heads(0) == 0


def test_heads_of_many_coins():
    """Half a million coins of bias 1/3."""
    coins, bias = 500_000, Fraction(1, 3)
    assert plausible_hits(binomial(coins, bias), coins, bias)


@pytest.mark.slow
def test_the_spread_of_many_draws():
    """The distribution function of 20,000 draws against the binomial one."""
    from scipy.stats import binom

    coins, bias, runs = 300, Fraction(2, 7), 20_000
    drawn = np.array([binomial(coins, bias) for _ in range(runs)])
    below = np.cumsum(np.bincount(drawn, minlength=coins + 1)) / runs
    assert np.abs(below - binom.cdf(np.arange(coins + 1), coins, float(bias))).max() < distance_limit(runs)


@pytest.mark.parametrize(("coins", "bias"), [(3, Fraction(-1, 2)), (3, Fraction(3, 2)), (-1, HALF)])
def test_what_is_no_coin_is_refused(coins, bias):
    with pytest.raises(InvalidInput):
        binomial(coins, bias)
