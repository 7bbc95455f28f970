import tracemalloc
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import goodness
from goodness import suspicions
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import sampler as module
from tacit.mechanisms.noise.discrete import (
    CHUNK,
    discrete_gaussian,
    discrete_laplace,
    draw_gaussian,
    draw_laplace,
    gaussian_truncation,
)
from tacit.mechanisms.noise.sampler import Sampler, gaussian, laplace, sampler

SCALES = [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(10), Fraction(1000), Fraction(10**6), Fraction(2**20)]
NOISES = [(discrete_laplace, laplace, goodness.Laplace), (discrete_gaussian, gaussian, goodness.Gaussian)]
ALL = [discrete_laplace, discrete_gaussian, draw_laplace, draw_gaussian]
MILLION = 10**6


def enough(scale: Fraction) -> int:
    """Draws that show a wrong slope inside blocks, where there are any wide ones."""
    return 16 * MILLION if scale >= 2**20 else 4 * MILLION


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_noise_has_its_law(noise, decay, law, scale: Fraction) -> None:
    """Up to six checks of one sample."""
    assert suspicions(noise(scale, enough(scale)), law(float(scale)), sampler(decay(scale)).width) == []


@pytest.mark.slow
@pytest.mark.parametrize("scale", [*SCALES, Fraction(100), Fraction(129), Fraction(12345, 7), Fraction(2**30)], ids=str)
@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_noise_has_its_law_in_hundreds_of_millions(noise, decay, law, scale: Fraction) -> None:
    """Five samples of 2e7, with six checks each."""
    for _ in range(5):
        assert suspicions(noise(scale, 20 * MILLION), law(float(scale)), sampler(decay(scale)).width, among=5) == []


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_noise_too_small_is_caught(noise, decay, law, scale: Fraction) -> None:
    assert suspicions(noise(scale * 9 / 10, MILLION), law(float(scale)))


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_a_biased_sign_is_caught(noise, decay, law, scale: Fraction) -> None:
    """One value in fifty loses its minus."""
    values = noise(scale, 4 * MILLION)
    values[::50] = np.abs(values[::50])
    assert "sign" in suspicions(values, law(float(scale)))


@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_a_table_off_by_one_is_caught(noise, decay, law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell holds the outcome after its own; cells that are off by one are caught in test_table.py."""
    table = sampler(decay(Fraction(10))).table
    monkeypatch.setattr(table, "cells", np.where(table.cells < 0, table.cells, table.cells + np.int16(1)))
    assert suspicions(noise(Fraction(10), MILLION), law(10.0))


@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_wedges_that_are_always_kept_are_caught(noise, decay, law, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sampler, "_keep", lambda self, magnitudes, outcomes: np.ones(len(magnitudes), dtype=bool))
    scale = Fraction(2**20)
    assert "inside blocks" in suspicions(noise(scale, enough(scale)), law(2.0**20), sampler(decay(scale)).width)


@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_a_tail_cut_off_is_caught(noise, decay, law) -> None:
    """Cut where one value in 40,000 lies beyond."""
    values = noise(Fraction(10), 4 * MILLION)
    far = law(10.0).far(100 / values.size)
    assert "tail" in suspicions(np.where(np.abs(values) > far, 0, values), law(10.0))


def test_low_digits_that_repeat_are_caught() -> None:
    values = discrete_laplace(Fraction(10**6), MILLION)
    assert "low digits" in suspicions(values & ~3 | values >> 1 & 2, goodness.Laplace(1e6))


@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_the_tail_has_its_law(noise, decay, law, monkeypatch: pytest.MonkeyPatch) -> None:
    """With blocks that end at one scale, a third of all values come through the tail."""
    scale = Fraction(20)
    near = Sampler(module.Decay(decay(scale).quadratic, decay(scale).linear, scale, reach=scale))
    assert suspicions(near.draw(60_000), law(20.0)) == []
    monkeypatch.setattr(Sampler, "_tail", lambda self, side: -31 if side else 30)
    assert suspicions(near.draw(60_000), law(20.0))


@pytest.mark.parametrize(("noise", "decay", "law"), NOISES, ids=["laplace", "gaussian"])
def test_huge_scales_give_python_integers_with_the_law(noise, decay, law) -> None:
    scale = Fraction(10**20)
    values = noise(scale, 100_000)
    assert values.dtype == object
    assert {type(value) for value in values} == {int}
    assert goodness.follows(values, law(1e20))
    assert not goodness.follows(values, law(1.1e20))
    assert goodness.digits_fit(np.array([value % 2**40 for value in values]))


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(10**400), Fraction(10**25, 3)], ids=["tiny", "vast", "large"])
def test_extreme_scales(scale: Fraction) -> None:
    for noise in (discrete_laplace, discrete_gaussian):
        drawn = noise(scale, 50)
        assert len(drawn) == 50
        assert max(abs(int(value)) for value in drawn) <= 100 * scale


@pytest.mark.parametrize("noise", ALL)
@pytest.mark.parametrize("size", [0, 1, 5, 1000, CHUNK + 1])
def test_as_many_as_asked_for(noise, size: int) -> None:
    for scale in (Fraction(0), Fraction(3)):
        drawn = noise(scale, size)
        assert drawn.shape == (size,)
        assert drawn.dtype == np.int64
        assert scale or not drawn.any()


@pytest.mark.parametrize("noise", ALL)
@pytest.mark.parametrize("scale", [-1, Fraction(-1, 10**9), float("nan"), float("inf"), "wide", None, True, [1], 1j])
def test_a_scale_is_a_number_of_at_least_zero(noise, scale: object) -> None:
    with pytest.raises(InvalidInput, match="scale"):
        noise(scale, 1)


@pytest.mark.parametrize("noise", ALL)
@pytest.mark.parametrize("size", [-1, 1.0, True, "3", None, Fraction(3)])
def test_a_size_is_a_count(noise, size: object) -> None:
    with pytest.raises(InvalidInput, match="size must be an integer"):
        noise(Fraction(1), size)


@pytest.mark.parametrize("scale", [-1, float("nan")])
def test_truncation_is_none_and_is_checked(scale: float) -> None:
    assert gaussian_truncation(Fraction(10**6)) == 0
    with pytest.raises(InvalidInput, match="scale"):
        gaussian_truncation(scale)


@pytest.mark.parametrize("noise", [discrete_laplace, discrete_gaussian])
def test_memory_beyond_the_result_is_bounded(noise) -> None:
    noise(Fraction(1000), 1)
    beyond = []
    for size in (MILLION, 4 * MILLION):
        tracemalloc.start()
        drawn = noise(Fraction(1000), size)
        beyond.append(tracemalloc.get_traced_memory()[1] - drawn.nbytes)
        tracemalloc.stop()
    assert max(beyond) < 12e6
    assert all(later < earlier * 1.2 for earlier, later in pairwise(beyond))
