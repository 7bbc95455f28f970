"""Noise scaled to local sensitivity settles which neighbour it was; smooth noise does not; its scale would settle it again."""

from __future__ import annotations

import numpy as np
import pytest

from chance import plausible_hits
from tacit.evidence.attacks.local_sensitivity import LocalSensitivity, local_sensitivity
from tacit.mechanisms.smooth.estimates import SmoothQuantile


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_local_noise_is_broken_and_smooth_noise_holds(epsilon):
    found = local_sensitivity(epsilon)
    assert found.local > 0.98
    assert found.local_loss == float("inf")
    assert found.smooth_loss <= found.epsilon
    assert 0.5 < found.smooth <= found.most_allowed
    assert found.shown_scale == 1


def test_the_smooth_scales_differ_by_the_rate_at_most():
    one, other = local_sensitivity(1).scales
    assert one < other
    assert other / one <= np.exp(1 / 6) * (1 + 1e-9)


def test_released_medians_are_told_apart_no_better_than_computed():
    """The guess that the laws call best, on 4,000 real releases."""
    mechanism = SmoothQuantile(0.5, lower=0, upper=1000, step=10, epsilon=1)
    data = [[0] * zeros + [1000] * (10 - zeros) for zeros in (6, 5)]
    laws = [mechanism.law(rows).probabilities for rows in data]
    right = 0
    for turn in range(4_000):
        released = mechanism.release(data[turn % 2])
        right += (laws[1].get(released, 0) > laws[0].get(released, 0)) == (turn % 2 == 1)
    assert plausible_hits(right, 4_000, local_sensitivity(1).smooth)


def test_a_scale_that_does_not_differ_tells_nothing():
    assert LocalSensitivity(1, 1, 1, 0.5, 0.1, (5.0, 5.0)).shown_scale == 0.5


def test_figures_and_chart(tmp_path):
    found = local_sensitivity(1, top=200)
    assert "infinite" in found.summary()
    assert found.to_dict()["loss"] == "infinite"
    found.chart(tmp_path / "median.svg")
    assert "smooth, scale shown" in (tmp_path / "median.svg").read_text()
