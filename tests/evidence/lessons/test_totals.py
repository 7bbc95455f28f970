"""Totals of many releases: the formulas written here, and their order."""

from __future__ import annotations

import math

import pytest

from tacit.errors import InvalidInput
from tacit.evidence.lessons.totals import compare_totals
from tacit.release.plots import svg


def test_the_totals_are_the_formulas() -> None:
    found = {name: float(total) for name, total in compare_totals(0.1, 100, 1e-6).totals.items()}
    assert found["basic"] == pytest.approx(10)
    assert found["advanced"] == pytest.approx(0.1 * math.sqrt(200 * math.log(1e6)) + 10 * (math.exp(0.1) - 1))
    assert found["tight"] < found["zCDP"] < found["advanced"] < found["basic"]
    assert found["tight"] == pytest.approx(4.77457, abs=1e-5)


def test_the_tight_total_is_that_of_two_coins() -> None:
    """Two releases, by all pairs of likely and unlikely answers (the worst mechanism answers one bit)."""
    epsilon, delta = 0.5, 0.05
    total = float(compare_totals(epsilon, 2, delta).totals["tight"])
    likely = math.exp(epsilon) / (1 + math.exp(epsilon))
    pairs = [(likely**2, (1 - likely) ** 2), (2 * likely * (1 - likely),) * 2, ((1 - likely) ** 2, likely**2)]
    assert sum(max(0.0, one - math.exp(total) * other) for one, other in pairs) == pytest.approx(delta, rel=1e-9)


def test_few_releases_cost_least_by_the_sum_and_the_picture_has_every_theorem() -> None:
    few = compare_totals(0.1, 1, 1e-6)
    assert few.totals["basic"] < few.totals["advanced"]
    assert few.totals["tight"] <= few.totals["basic"]
    picture = svg(compare_totals(0.1, 100, 1e-6).drawing())
    assert all(f">{name}</text>" in picture for name in ("basic", "advanced", "zCDP", "tight"))


@pytest.mark.parametrize("arguments", [(0.1, 0, 1e-6), (0.1, 10**6, 1e-6), (0, 10, 1e-6), (0.1, 10, 0), (0.1, 10, 2)])
def test_wrong_budgets_are_refused(arguments: tuple) -> None:
    with pytest.raises(InvalidInput):
        compare_totals(*arguments)
