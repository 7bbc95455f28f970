"""The law that comes out of blocks, wedges and tails, against the definition; and every decision that leads to it."""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mechanisms.noise import sampler as module
from tacit.mechanisms.noise.enclosure import exponential, rise
from tacit.mechanisms.noise.sampler import Decay, Sampler, gaussian, geometric, laplace, sampler

FINE = Context(prec=80)
NARROW = [Fraction(1, 10), Fraction(1, 2), Fraction(3), Fraction(127)]
WIDE = [Fraction(128), Fraction(1000, 3), Fraction(1000)]
LAWS = [law(scale) for law in (laplace, gaussian) for scale in NARROW + WIDE]
TOLERANCE = Fraction(1, 10**30)


def e_to_minus(x: Fraction) -> Fraction:
    return Fraction(FINE.exp(FINE.divide(Decimal(-x.numerator), Decimal(x.denominator))))


def middle(enclosure: tuple[int, int], precision: int) -> Fraction:
    return Fraction(sum(enclosure), 2 << precision)


def listed(law: Sampler) -> tuple[list[Fraction], Fraction]:
    """The weights of all outcomes, fine enough for the tail, and what 0 gets of them: its block and its wedge, all kept."""
    weights = [middle(weight, 0) for weight in law.weights(256 + 8 * int(law.decay.exponent(law.blocks * law.width)))]
    return weights, weights[0] + (weights[law.wedges] if law.width > 1 else 0)


def worst_weight_error(law: Sampler) -> Fraction:
    """The largest relative error of P[x] / P[0] against e^-E(|x|), over all x in blocks, as the sampler puts them together.

    An integer of a block gets the block's weight over its width, plus that of the wedge times the share kept there.
    """
    weights, unit = listed(law)
    worst = Fraction(0)
    for outcome in {0, 1, 2, 3, law.wedges // 2, law.wedges - 2, law.wedges - 1}:
        top = (outcome >> 1) * law.width + (outcome & 1)
        lowest, highest = law.decay.exponent(top + law.width - 1), law.decay.exponent(top)
        for magnitude in {top, top + 1, top + law.width // 3, top + law.width - 1}:
            if magnitude >= top + law.width:
                continue
            part = lowest - law.decay.exponent(magnitude)
            wedge = weights[law.wedges + outcome] * middle(rise(part, lowest - highest, 200), 200) if law.width > 1 else 0
            ratio = (weights[outcome] + wedge) / unit / e_to_minus(law.decay.exponent(magnitude))
            worst = max(worst, abs(ratio - 1))
    return worst


def worst_tail_error(law: Sampler) -> Fraction:
    """The same for x in a tail: its weight, times the geometric law, times the share kept by `_tail`."""
    weights, unit = listed(law)
    worst = Fraction(0)
    step = 1 - e_to_minus(law.slope)
    for side in (0, 1):
        start = law.blocks * law.width + side
        for beyond in {0, 1, 2, law.width, 3 * law.width}:
            excess = law.decay.exponent(start + beyond) - law.decay.exponent(start) - law.slope * beyond
            assert excess >= 0
            proposed = weights[law.tails + side] * law.width * step * e_to_minus(law.slope * beyond)
            ratio = proposed * e_to_minus(excess) / unit / e_to_minus(law.decay.exponent(start + beyond))
            worst = max(worst, abs(ratio - 1))
    return worst


@given(st.fractions(Fraction(1, 10**6), 10**6), st.integers(0, 10**9))
def test_the_exponents_are_those_of_the_definitions(scale: Fraction, magnitude: int) -> None:
    assert laplace(scale).exponent(magnitude) == magnitude / scale
    assert gaussian(scale).exponent(magnitude) == magnitude**2 / (2 * scale**2)
    assert laplace(scale).slope(magnitude) == 1 / scale
    assert gaussian(scale).slope(magnitude) == magnitude / scale**2


@pytest.mark.parametrize("decay", [*LAWS, laplace(Fraction(10**40)), gaussian(Fraction(10**40))])
def test_every_outcome_has_one_weight_known_to_its_precision(decay: Decay) -> None:
    """Two for each block, as many for its wedges, and two tails: one weight more would be drawn, too."""
    law = Sampler(decay)
    weights = law.weights(128)
    assert len(weights) == law.tails + 2
    assert law.tails == (2 if law.width == 1 else 4) * law.blocks
    if decay.scale >= 128:  # of smaller scales, weights of e^-1000 and less are below any unit
        assert all(high - low <= low >> 90 for low, high in weights)


@pytest.mark.parametrize("decay", LAWS)
def test_blocks_wedges_and_tails_add_up_to_the_law(decay: Decay) -> None:
    law = Sampler(decay)
    assert worst_weight_error(law) < TOLERANCE
    assert worst_tail_error(law) < TOLERANCE


def test_weights_off_by_one_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    law, right = Sampler(laplace(Fraction(1000))), Sampler.weights
    monkeypatch.setattr(law, "weights", lambda precision: right(law, precision)[1:] + right(law, precision)[:1])
    assert worst_weight_error(law) > TOLERANCE
    assert worst_tail_error(law) > TOLERANCE


@pytest.mark.parametrize("decay", LAWS)
def test_blocks_tile_the_axis(decay: Decay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every integer between the tails lies in one block, and in that block's wedge, with one choice of low bits."""
    law = Sampler(decay)
    outcomes = np.repeat(np.arange(law.wedges, dtype=np.int16), law.width)
    low = np.tile(np.arange(law.width), law.wedges)
    monkeypatch.setattr(module, "_short_words", lambda count, width: low)
    placed = law._place(outcomes)
    reach = law.blocks * law.width
    assert sorted(placed.tolist()) == list(range(-reach, reach))
    side, block = outcomes & 1, outcomes >> 1
    assert np.array_equal(placed < 0, side == 1)
    assert np.array_equal((np.abs(placed) - side) // law.width, block)
    if law.width > 1:
        assert np.array_equal(law._place(outcomes + np.int16(law.wedges)), placed)


def test_wide_blocks_hold_python_integers(words) -> None:
    """Scale 2^60: blocks of 2^54 integers, on either side of 0."""
    law = Sampler(laplace(Fraction(2**60)))
    assert law.shift == 54
    words([low << 10 for low in (0, 2**54 - 1, 5, 7)])
    placed = law._place(np.array([0, 1, 2, 3 + law.wedges], dtype=np.int16))
    assert placed.tolist() == [0, -1, 2**54 + 5, -(2**55) + 7]
    assert {type(value) for value in placed} == {int}


def test_low_bits_are_all_used(words) -> None:
    """A block of 8 values at scale 1000 takes the top 3 of 16 bits, each value for one eighth of them."""
    law = sampler(laplace(Fraction(1000)))
    assert law.shift == 3
    words(np.arange(1 << 16, dtype=np.uint16).view(np.uint64).tolist())
    assert np.bincount(module._short_words(1 << 16, law.shift)).tolist() == [1 << 13] * 8


@pytest.mark.parametrize(("width", "count"), [(1, 5), (16, 5), (17, 3), (32, 3), (33, 3), (46, 4)])
def test_short_words_have_their_width(width: int, count: int, words) -> None:
    for fill, expected in ((0, 0), (2**64 - 1, 2**width - 1)):
        words([fill] * count)
        drawn = np.zeros(count, dtype=np.int64)
        drawn += module._short_words(count, width)
        assert drawn.tolist() == [expected] * count


@pytest.mark.parametrize("width", [47, 64, 65, 1000])
def test_long_words_have_their_width(width: int, words) -> None:
    each = -(-width // 64)
    words([2**64 - 1] * each + [0] * each)
    assert module._long_words(2, width).tolist() == [2**width - 1, 0]


scales = st.fractions(min_value=128, max_value=2**50, max_denominator=1000)


@settings(max_examples=40, deadline=None)
@given(scales, st.sampled_from([laplace, gaussian]), st.data())
def test_floating_point_is_within_its_margin(scale: Fraction, law_of, data) -> None:
    """`_share` against its enclosure, at random places and at the ends: error at most 2^-46, the margin is 2^-40."""
    law = Sampler.__new__(Sampler)  # without the table, which this does not use
    law.decay = law_of(scale)
    law.shift = int(scale / module.BLOCKS_PER_SCALE).bit_length() - 1
    law.width = 1 << law.shift
    blocks = int(-(-law.decay.reach // law.width))
    outcome = data.draw(st.integers(0, 2 * blocks - 1))
    top = (outcome >> 1) * law.width + (outcome & 1)
    low = data.draw(st.integers(0, law.width - 1))
    lowest, highest = law.decay.exponent(top + law.width - 1), law.decay.exponent(top)
    assert lowest - highest <= Fraction(1, 8)
    for magnitude in (top, top + low, top + law.width - 1):
        share = law._share(np.array([magnitude]), np.array([outcome]))[0]
        exact_share = middle(rise(lowest - law.decay.exponent(magnitude), lowest - highest, 128), 128)
        assert abs(Fraction(float(share)) - exact_share) <= Fraction(1, 2**46)


def wrong_keeps(law: Sampler, words) -> int:
    """Wrong decisions on values of wedges whose uniform number ties with the share kept in its first 64 bits."""
    wrong = 0
    for outcome in (0, 1, 7, law.wedges - 1):
        top = (outcome >> 1) * law.width + (outcome & 1)
        lowest, highest = law.decay.exponent(top + law.width - 1), law.decay.exponent(top)
        for magnitude in range(top + 1, top + law.width - 1):
            at = law.decay.exponent(magnitude)
            share = (e_to_minus(at) - e_to_minus(lowest)) / (e_to_minus(highest) - e_to_minus(lowest))
            first, following = divmod(int(share * 2**128), 2**64)
            for drawn, further, kept in ((first, following - 1, True), (first, following + 1, False)):
                words([drawn, further])
                wrong += bool(law._keep(np.array([magnitude]), np.array([outcome], dtype=np.int16))[0]) != kept
    return wrong


@pytest.mark.parametrize("decay", [laplace(Fraction(1000)), gaussian(Fraction(1000))])
def test_a_tie_in_a_wedge_is_refined(decay: Decay, words) -> None:
    assert wrong_keeps(sampler(decay), words) == 0


def test_a_wedge_decided_by_floats_alone_is_caught(monkeypatch: pytest.MonkeyPatch, words) -> None:
    monkeypatch.setattr(module, "MARGIN", -1.0)
    assert wrong_keeps(sampler(gaussian(Fraction(1000))), words) > 0


def test_a_wedge_keeps_its_peak_and_drops_its_floor(words) -> None:
    law = sampler(laplace(Fraction(1000)))
    words([2**64 - 1, 0, 1, 1])  # certain and impossible, but both tie with their 64 bits
    magnitudes, outcomes = np.array([0, law.width - 1]), np.array([0, 0], dtype=np.int16)
    assert law._keep(magnitudes, outcomes).tolist() == [True, False]


def test_a_wedge_is_decided_where_floats_are_sure(monkeypatch: pytest.MonkeyPatch, words) -> None:
    """Far from a tie: kept below the share of its value, dropped above it, and nothing is computed exactly."""
    law = sampler(laplace(Fraction(1000)))
    monkeypatch.setattr(law, "keeps", lambda *_: pytest.fail("the floats are sure"))
    share = float(law._share(np.array([3]), np.array([0]))[0])
    assert 0.4 < share < 0.7
    words([int((share - 0.01) * 2**64), int((share + 0.01) * 2**64)])
    assert law._keep(np.array([3, 3]), np.array([0, 0], dtype=np.int16)).tolist() == [True, False]


def test_a_rejected_wedge_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three wedges the second is rejected; each is decided by its magnitude and by the block that it belongs to."""
    law, asked = Sampler(laplace(Fraction(1000))), []
    outcomes = np.array([law.wedges, law.wedges + 3, 1, law.wedges + 4], dtype=np.int16)
    draws = iter([outcomes, np.array([6], dtype=np.int16)])
    monkeypatch.setattr(law.table, "draw", lambda count: next(draws))
    monkeypatch.setattr(module, "_short_words", lambda count, width: np.arange(count))

    def kept(magnitudes: np.ndarray, wedges: np.ndarray) -> np.ndarray:
        asked.append((magnitudes.tolist(), wedges.tolist()))
        return np.array([True, False, True])

    monkeypatch.setattr(law, "_keep", kept)
    assert law.draw(4).tolist() == [0, 24, -8 + 2, 16 + 3]
    assert asked == [([0, 15, 19], [0, 3, 4])]


@pytest.mark.parametrize("side", [0, 1])
def test_a_tail_begins_after_the_last_block(side: int) -> None:
    """Of one integer, and of many: at least 25 at scale 2, at least 12,504 at scale 1000, and on its side."""
    for law, least in ((Sampler(laplace(Fraction(2))), 25), (Sampler(laplace(Fraction(1000))), 12_504)):
        assert law.blocks * law.width == least
        drawn = [law._tail(side) for _ in range(20)]
        assert all(value is not None and (-value if side else value) >= least + side for value in drawn)


def test_a_value_fits_in_a_word_up_to_its_limits() -> None:
    assert [module._integers(value).dtype for value in (-(2**63), 2**63 - 1)] == [np.int64, np.int64]
    assert [module._integers(value).dtype for value in (-(2**63) - 1, 2**63)] == [object, object]


@pytest.mark.parametrize("side", [0, 1])
def test_a_tail_is_kept_with_its_probability(side: int, monkeypatch: pytest.MonkeyPatch, words) -> None:
    """Gaussian of scale 10: 50 + s + G, kept with probability e^-(G (G + 2 s) / 200); Laplace: always kept."""
    monkeypatch.setattr(module, "geometric", lambda slope, count: np.array([7]))
    law = Sampler(gaussian(Fraction(10)))
    assert (law.blocks, law.slope) == (50, Fraction(1, 2))
    low, _ = exponential(Fraction(7 * (7 + 2 * side), 200), 64)
    words([low - 1, low + 2])
    assert law._tail(side) == (-(50 + side + 7) if side else 57)
    assert law._tail(side) is None
    words([2**64 - 1])
    assert Sampler(laplace(Fraction(2)))._tail(side) == (-(25 + side + 7) if side else 32)


def test_a_rejected_tail_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    law = Sampler(gaussian(Fraction(10)))
    draws = iter([np.array([0, law.tails, 3, law.tails + 1], dtype=np.int16), np.array([2, 4], dtype=np.int16)])
    monkeypatch.setattr(law.table, "draw", lambda count: next(draws))
    monkeypatch.setattr(law, "_tail", lambda side: None)
    assert law.draw(4).tolist() == [0, 1, -2, 2]


@pytest.mark.parametrize("beyond", [2**62, 2**63, 2**64 - 1, 2**70])
def test_a_value_that_does_not_fit_becomes_a_python_integer(beyond: int, monkeypatch: pytest.MonkeyPatch) -> None:
    law = Sampler(laplace(Fraction(2)))
    draws = iter([np.array([0, law.tails, law.tails + 1, 5], dtype=np.int16)])
    monkeypatch.setattr(law.table, "draw", lambda count: next(draws))
    monkeypatch.setattr(module, "geometric", lambda slope, count: np.array([beyond], dtype=object))
    drawn = law.draw(4)
    assert drawn.tolist() == [0, 25 + beyond, -(26 + beyond), ~2]
    assert drawn.dtype == (np.int64 if beyond < 2**63 - 26 else object)


def test_geometric_is_folded_laplace(monkeypatch: pytest.MonkeyPatch) -> None:
    law = sampler(laplace(Fraction(2)))
    monkeypatch.setattr(law, "draw", lambda count: np.array([0, -1, 1, -2, 5, -6]))
    assert geometric(Fraction(1, 2), 6).tolist() == [0, 0, 1, 1, 5, 5]


def test_tables_are_few() -> None:
    for scale in range(1, 100):
        sampler(laplace(Fraction(scale, 100)))
    assert sampler.cache_info().currsize == sampler.cache_info().maxsize == 64
