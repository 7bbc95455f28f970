"""Knowledge from elsewhere gives a salary away, in or out of the data; the difference is within epsilon."""

from __future__ import annotations

import pytest

from chance import heavy_mean_limit
from tacit.errors import InvalidInput
from tacit.evidence.attacks import posterior as module
from tacit.evidence.attacks.posterior import auxiliary
from tacit.mechanisms.laplace import Laplace

SALARIES = [45, 55, 60, 40, 50] * 200


@pytest.mark.parametrize("epsilon", ["0.25", "1", "2"])
def test_the_difference_is_within_the_claim(epsilon):
    found = auxiliary(SALARIES, (0, 200), epsilon)
    assert found.holds
    assert 0.5 * found.epsilon < found.log_odds <= found.epsilon


def test_the_salary_is_found_in_and_out_alike():
    """The error of an average is at most that of its noise, of deviation 0.32, and the 0.05 that one salary may move it."""
    found = auxiliary(SALARIES, (0, 200), 1)
    luck = heavy_mean_limit(0.32, 0.32, 400, among=2)
    assert max(found.error_in, found.error_out) < 0.37 + luck < 1 < 20 < found.prior_error
    assert abs(found.error_in - found.error_out) < 0.05 + 2 * luck


def test_noise_that_is_too_small_is_seen(monkeypatch):
    """The planted bug: the sum's sensitivity taken for half of what it is."""
    sound = module._mechanisms
    planted = Laplace(sensitivity=50, epsilon="1/2", step="1/2", on_grid=True)
    monkeypatch.setattr(module, "_mechanisms", lambda bounds, epsilon: (planted, sound(bounds, epsilon)[1]))
    assert not auxiliary([1] * 50, (0, 200), 1, less=1).holds


def test_figures_and_chart(tmp_path):
    found = auxiliary(SALARIES, (0, 200), 1)
    assert "log odds" in found.summary()
    assert found.to_dict()["predicted"] == 1
    found.chart(tmp_path / "salary.svg")
    assert "person not in it" in (tmp_path / "salary.svg").read_text()


@pytest.mark.parametrize(
    ("less", "known"), [(10, "10 below the average"), (-2, "2 above the average"), (0, "exactly average"), (3, "3 below")]
)
def test_it_says_what_was_given(less, known, tmp_path):
    found = auxiliary([66, 70, 68, 72] * 50, (48, 96), less=less, of="height")
    assert f"the height of somebody who is known to be {known}" in found.summary()
    assert "A height from 48 to 96" in found.summary()
    assert (found.to_dict()["less"], found.to_dict()["of"]) == (less, "height")
    found.chart(tmp_path / "height.svg")
    assert known in (tmp_path / "height.svg").read_text()


@pytest.mark.parametrize("values", [[], [300], [100]])
def test_values_beyond_the_bounds_are_refused(values):
    with pytest.raises(InvalidInput, match="within the bounds"):
        auxiliary(values, (0, 200), less=150)
