"""Two neighbouring laws: equal to formulas written here, and a set, a ratio and delta that follow from them."""

from __future__ import annotations

import math
import re
from statistics import NormalDist

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.lessons.laws import MECHANISMS, neighbouring_laws, read_set
from tacit.release.plots import svg

E = math.e


def test_geometric_noise_is_the_formula() -> None:
    two = neighbouring_laws("geometric", [10, 11], 1, "x >= 12")
    ratio = math.exp(-1)
    tail = [ratio**steps / (1 + ratio) for steps in (2, 1)]  # P[k >= steps]
    assert list(map(float, two.of_set)) == pytest.approx(tail, rel=1e-9)
    assert float(two.ratio) == pytest.approx(E, rel=1e-12)
    assert two.excess == 0
    assert f"{100 * two.belief:.1f}" == "73.1"


def test_laplace_noise_is_near_the_continuous_one() -> None:
    two = neighbouring_laws("laplace", [10, 11], 1)
    assert list(map(float, two.of_set)) == pytest.approx([math.exp(-1) / 2, 0.5], rel=2e-3)
    assert float(two.ratio) == pytest.approx(E, rel=1e-9)


def test_delta_of_gaussian_noise_is_its_area() -> None:
    two = neighbouring_laws("gaussian", [0, 1], 1, delta="0.05")
    deviation = float(re.search(r"[\d.]+$", two.noise)[0])
    far, near = (NormalDist(mean, deviation) for mean in (0, 1))
    edge = 0.5 + deviation**2  # where the ratio is e
    area = (1 - near.cdf(edge)) - E * (1 - far.cdf(edge))
    assert float(two.excess) == pytest.approx(area, rel=2e-2)
    assert 0.04 < float(two.excess) <= 0.05 + 1e-9
    assert "area delta" in " ".join(two.explanation())
    assert two.belief is None


def test_randomized_response_and_a_choice_are_the_formulas() -> None:
    two = neighbouring_laws("randomized-response", [0, 1], 1)
    assert list(map(float, two.of_set)) == pytest.approx([1 / (1 + E), E / (1 + E)])
    drinks = {"candidates": ("tea", "coffee"), "others": [4, 4], "sensitivity": 1}
    chosen = neighbouring_laws("exponential", [3, 5], 1, "x = tea", **drinks)
    assert list(map(float, chosen.of_set)) == pytest.approx([1 / (1 + E), 0.5])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_keeps_its_promise_and_has_a_picture(mechanism: str) -> None:
    values = {"randomized-response": [0, 1], "exponential": [3, 5, 2]}.get(mechanism, [10, 11])
    two = neighbouring_laws(mechanism, values, "1/2")
    assert two.delta or two.ratio <= two.bound * (1 + two.bound.__class__("1e-20"))
    assert float(two.excess) <= float(two.delta) + 1e-9
    low, high = sorted(two.of_set)
    assert float(high) <= float(two.bound) * float(low) + float(two.delta) + 1e-9
    picture = svg(two.drawing())
    assert "ln of the ratio" in picture
    assert 'class="shade"' in picture
    assert two.to_dict()["set_ratio"] == pytest.approx(float(high) / float(low))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("x >= 11", [11, 12.5], [10.9]),
        ("x > 11", [12], [11]),
        ("x<=-2", [-2, -3], [0]),
        ("10 <= x < 12", [10, 11], [12, 9]),
        ("10 < x", [11], [10]),
        ("x = 3", [3], [2]),
        ("x in tea, coffee", ["tea", "coffee"], ["water", 3]),
    ],
)
def test_sets_are_read(text: str, inside: list, outside: list) -> None:
    chosen = read_set(text)
    assert all(each in chosen for each in inside)
    assert not any(each in chosen for each in outside)


@pytest.mark.parametrize("text", ["", "x", "y > 3", "3 < x > 2", "x >= two", "11"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="invalid set"):
        read_set(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cauchy", [1, 2], 1), "unknown mechanism"),
        (("laplace", [1, 1], 1), "two different numbers"),
        (("laplace", [1, 2, 3], 1), "two different numbers"),
        (("geometric", ["0.5", 1], 1), "whole"),
        (("randomized-response", [0, 2], 1), "one bit"),
        (("exponential", [3], 1), "candidates"),
        (("laplace", [1, 2], 0), "epsilon"),
    ],
)
def test_wrong_values_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        neighbouring_laws(*arguments)


def test_values_beyond_the_sensitivity_are_not_neighbours() -> None:
    with pytest.raises(InvalidInput, match="at most the sensitivity"):
        neighbouring_laws("laplace", [1, 5], 1, sensitivity=2)
    with pytest.raises(InvalidInput, match="one utility for each"):
        neighbouring_laws("exponential", [1, 5], 1, others=[1, 9])
