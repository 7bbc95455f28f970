"""Keys by threshold with Gaussian noise: exact over small worlds, order by order, and the bugs that this would see."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting import calibrate
from tacit.accounting.events import GaussianKeys
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms import selection
from tacit.mechanisms.mechanism import Listed, WithError
from tacit.mechanisms.selection import GaussianKeyThreshold, KeyThreshold, gaussian_ends_of_shown
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Concentrated, Neighbours
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import Universe

KEYS = ("a", "b", "c")
ORDERS = (1.1, 2.0, 4.0, 16.0)


# ---- the threshold ----


@pytest.mark.parametrize(
    ("parameters", "threshold"), [(("0.0279", 5e-7, 1), 23), (("0.0279", 5e-7, 8), 65), (("0.0279", 5e-7, 64), 193)]
)
def test_the_vectors(parameters: Any, threshold: int) -> None:
    assert GaussianKeyThreshold(*parameters).threshold == threshold


@pytest.mark.parametrize("rho", ["1/1000", "0.0279", 2, 50])
@pytest.mark.parametrize(("delta", "groups"), [("0.4", 1), ("1e-3", 3), ("1e-9", 40)])
def test_it_is_the_least_threshold_whose_groups_together_show_with_at_most_delta(rho: Any, delta: str, groups: int) -> None:
    mechanism = GaussianKeyThreshold(rho, delta, groups)
    width = float(mechanism.scale)
    weights = np.exp(-((np.arange(-math.ceil(40 * width) - 2, math.ceil(40 * width) + 3) / width) ** 2) / 2)
    tails = weights[::-1].cumsum()[::-1] / weights.sum()

    def shows(threshold: int) -> float:
        return groups * float(tails[threshold - 1 + math.ceil(40 * width) + 2])

    assert shows(mechanism.threshold) <= float(delta) * (1 + 1e-9)
    assert mechanism.threshold == 2 or shows(mechanism.threshold - 1) > float(delta) * (1 - 1e-9)


def test_it_is_below_that_of_laplace_noise_where_a_unit_is_in_many_groups() -> None:
    """At (1, 1e-6), with half of delta for the threshold; in one group or two Laplace noise is better."""
    gaussian = [GaussianKeyThreshold("0.0262", 5e-7, groups).threshold for groups in (1, 4, 16, 64, 256)]
    laplace = [KeyThreshold(1, 1e-6, groups).threshold for groups in (1, 4, 16, 64, 256)]
    assert [one < other for one, other in zip(gaussian, laplace, strict=True)] == [False, True, True, True, True]
    assert laplace[-1] > 10 * gaussian[-1]


def test_min_people_raises_the_threshold() -> None:
    assert GaussianKeyThreshold("0.0279", 5e-7, 1, min_people=50).threshold == 50
    assert GaussianKeyThreshold("0.0279", 5e-7, 1, min_people=3).threshold == 23


# ---- privacy: the parts of composition.md, section 1, listed ----


def counted(database: Any) -> dict[str, int]:
    return {key: sum(key in unit for unit in database.rows) for key in KEYS}


def between(mechanism: GaussianKeyThreshold, one: Any, other: Any) -> set[str]:
    """Which of the three claims of a triple fail for a pair of laws: the weight of a part, and its Renyi divergence at some order.

    p is P where Q can be, scaled down to the weight that Q has where P can be; q is Q there.
    """
    common = [(float(p), float(q)) for key, p in one.items() if float(p) and float(q := other.get(key, 0))]
    mine, theirs = (sum(pair[side] for pair in common) for side in (0, 1))
    shrunk = min(1.0, theirs / mine)
    found = {"weight"} if mine * shrunk < 1 - float(mechanism.event.delta) - 1e-9 else set()
    for order in ORDERS:
        total = sum(math.exp(order * math.log(shrunk * p) + (1 - order) * math.log(q)) for p, q in common)
        if math.log(total) > order * (order - 1) * float(mechanism.rho) * (1 + 1e-9) + 1e-7:
            found.add("order")
    return found


def broken(mechanism: GaussianKeyThreshold, groups: int, relation: Neighbours, units: int, count: Any = counted) -> set[str]:
    """The claims that fail for some pair of neighbours."""
    universe = Universe(tuple(unit for size in range(1, groups + 1) for unit in combinations(KEYS, size)))
    law = cache(lambda counts: mechanism.law(dict(counts)).probabilities)
    of = {database: law(tuple(sorted(count(database).items()))) for database in universe.databases_up_to(units + 1)}
    pairs = [(one, other) for one in universe.databases_up_to(units) for other in one.neighbours(relation)]
    return {claim for pair in pairs for one, other in (pair, pair[::-1]) for claim in between(mechanism, of[one], of[other])}


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
@pytest.mark.parametrize(("rho", "delta", "groups"), [(2, "0.01", 1), ("1/2", "0.2", 1), (3, "0.02", 2)])
def test_the_triple_over_small_worlds(rho: Any, delta: str, groups: int, relation: Neighbours) -> None:
    mechanism = GaussianKeyThreshold(rho, delta, groups, neighbours=relation)
    assert broken(mechanism, groups, relation, 2 if groups == 1 else 1) == set()


def planted(**parts: Any) -> GaussianKeyThreshold:
    mechanism = GaussianKeyThreshold("1/2", "0.0075", 2)
    for name, value in parts.items():
        object.__setattr__(mechanism, name, value)
    return mechanism


def test_planted_noise_and_thresholds_are_seen() -> None:
    honest = planted()
    assert broken(honest, 2, ADD_REMOVE, 1) == set()
    assert broken(planted(scale=honest.scale * 9 / 10), 2, ADD_REMOVE, 2) >= {"order"}
    assert broken(planted(scale=calibrate.gaussian_scale_up(1, "1/2")), 2, ADD_REMOVE, 2) >= {"order"}, "noise for one group"
    low = selection._gaussian_threshold(honest.scale, honest.delta, 1)
    assert broken(planted(threshold=low), 2, ADD_REMOVE, 1) == {"weight"}, "a threshold for one group"
    rows = broken(honest, 2, ADD_REMOVE, 1, lambda database: {key: 4 * n for key, n in counted(database).items()})
    assert rows >= {"weight"}, "rows instead of units"
    moved = [{"a": 9, "b": 8}, {"a": 8, "b": 9}]
    for relation, failed in ((CHANGE_ONE, set()), (ADD_REMOVE, {"order"})):  # the second for a unit that only comes or goes
        mechanism = GaussianKeyThreshold("1/2", "0.0075", 1, neighbours=relation)
        assert between(mechanism, *(mechanism.law(groups).probabilities for groups in moved)) == failed


# ---- the release ----


def test_the_release_follows_the_law() -> None:
    mechanism, groups, size = GaussianKeyThreshold(1, "0.05", 1), {"a": 4, "b": 1, "c": 0}, 20_000
    drawn = [tuple(key for key, _ in mechanism.release(groups)) for _ in range(size)]
    shown = mechanism.law(groups).map(lambda outcome: tuple(key for key, _ in outcome)).probabilities
    assert follows_law(drawn, shown)


def test_gaussian_noise_of_its_scale_is_drawn_for_present_groups_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        selection.discrete, "draw_gaussian", lambda scale, size: asked.append((scale, size)) or np.zeros(size, dtype=np.int64)
    )
    mechanism = GaussianKeyThreshold("1/2", "1e-3", 4)
    groups, other = {"a": 40, "b": 0, "c": 1}, Sealed(np.array([7, 8, 9]))
    assert mechanism.release(groups) == (("a", 40),)
    kept = mechanism.release_with(Sealed(tuple(groups)), Sealed(np.array([40, 0, 1])), (other,))
    assert (kept.keys, kept.others[0].unseal().tolist()) == (("a",), [7])
    assert asked == [(Fraction(2), 2 + 2)] * 2


def test_it_is_a_mechanism() -> None:
    relation = Neighbours("add-remove", "unit")
    mechanism = GaussianKeyThreshold("1/2", 1e-6, 4, neighbours=relation)
    assert isinstance(mechanism, Listed)
    assert isinstance(mechanism, WithError)
    assert mechanism.event == GaussianKeys(Fraction(2), Fraction(2), Fraction(1, 10**6), 4, mechanism.threshold, relation)
    assert mechanism.loss == Concentrated("1/2", 1e-6, relation)
    assert hash(mechanism) == hash(GaussianKeyThreshold("0.5", "1e-6", 4, 0, relation))
    law = mechanism.law({"a": 1000}, missing=1e-9).probabilities
    half = int(mechanism.interval(0.95).above)
    assert sum(p for outcome, p in law.items() if outcome and abs(outcome[0][1] - 1000) <= half) >= Decimal("0.95")


@pytest.mark.parametrize(
    ("parameters", "error"),
    [((0, 1e-6, 1), InvalidBudget), ((1, 0, 1), InvalidBudget), ((1, 1e-6, 0), InvalidInput), ((1, 1e-6, 1, -1), InvalidInput)],
    ids=str,
)
def test_bad_parameters_are_refused(parameters: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        GaussianKeyThreshold(*parameters)
    with pytest.raises(InvalidValue):
        GaussianKeyThreshold(1, 1e-6, 1).release({"secret": -1})
    with pytest.raises(InvalidBudget, match="2\\^60"):
        GaussianKeyThreshold(Fraction(1, 10**40), 1e-6, 1)


# ---- the ends of a shown count ----


def least_coverage(ends: Any, threshold: int, scale: Fraction, missed: Fraction) -> float:
    """The least chance, given that the group is shown, that the ends enclose the truth, over truths on both sides."""
    width = float(scale)
    far = threshold + math.ceil(8 * width) + 20
    counts = np.arange(threshold, far + math.ceil(12 * width) + 40)
    low, high = ends(counts, threshold, scale, missed)

    def coverage(truth: int) -> float:
        nearest = max(threshold - truth, 0)
        weights = np.exp(-(((counts - truth) ** 2 - nearest**2) / (2 * width**2)))
        return float(weights[(low <= truth) & (truth <= high)].sum() / weights.sum())

    truths = {*range(1, far, max(1, math.ceil(width) // 4)), *range(max(1, threshold - 3), threshold + 4)}
    return min(map(coverage, truths))


SCALES = [Fraction(1, 3), Fraction(2), Fraction(25), Fraction(300), Fraction(700)]


@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 2), Fraction(1, 10**6)], ids=str)
@pytest.mark.parametrize("threshold", [2, 15, 130, 4000])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_ends_enclose_every_truth_as_often_as_they_say_given_shown(scale: Fraction, threshold: int, missed: Fraction) -> None:
    assert least_coverage(gaussian_ends_of_shown, threshold, scale, missed) >= 1 - missed - 1e-9


def symmetric(counts: Any, threshold: int, scale: Fraction, missed: Fraction) -> Any:
    half = calibrate.gaussian_error(scale, missed)
    return counts - half, counts + half


def threshold_that_did_not_decide(counts: Any, threshold: int, scale: Fraction, missed: Fraction) -> Any:
    return gaussian_ends_of_shown(counts, threshold - math.ceil(2 * scale), scale, missed)


@pytest.mark.parametrize("planted_ends", [symmetric, threshold_that_did_not_decide])
@pytest.mark.parametrize("scale", SCALES[1:4], ids=str)
def test_planted_ends_are_caught(planted_ends: Any, scale: Fraction) -> None:
    assert least_coverage(planted_ends, 130, scale, Fraction(1, 20)) < 0.95


@pytest.mark.parametrize(("threshold", "scale"), [(6, Fraction(1, 2)), (20, Fraction(5)), (90, Fraction(16))])
def test_the_ends_are_those_of_the_rule(threshold: int, scale: Fraction) -> None:
    """Within the slack of a ratio's logarithm, which lets a truth in whose chance is a five-hundredth too small."""
    width, half = float(scale), 0.025
    counts = np.arange(threshold, threshold + math.ceil(8 * width))
    places = np.arange(-2000, 2001)
    weights = np.exp(-((places / width) ** 2) / 2)
    tails = np.append(weights[::-1].cumsum()[::-1] / weights.sum(), 0)

    def tail(of: int) -> float:
        return float(tails[of + 2000])

    for count, low, high in zip(counts.tolist(), *gaussian_ends_of_shown(counts, threshold, scale, Fraction(1, 20)), strict=True):
        truths = range(max(1, threshold - math.ceil(20 * width)), count + math.ceil(9 * width))
        least = [n for n in truths if tail(count - n) / tail(threshold - n) > half * math.exp(-0.002)]
        most = [n for n in truths if (tail(threshold - n) - tail(count + 1 - n)) / tail(threshold - n) > half * math.exp(-0.002)]
        assert (low, high) == (min(least) if min(least) > truths[0] else low, max([*most, count]))


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(511), Fraction(10**6), Fraction(2**56)])
@pytest.mark.parametrize("missed", [Fraction(1, 10**200), Fraction(1, 20), 1 - Fraction(1, 10**9)])
def test_extreme_numbers_have_ends(scale: Fraction, missed: Fraction) -> None:
    counts = [2**59, 2**59 + 1, 2**60]
    low, high = gaussian_ends_of_shown(counts, 2**59, scale, missed)
    assert all(1 <= int(one) <= count <= int(two) for one, count, two in zip(low, counts, high, strict=True))
    assert [len(end) for end in GaussianKeyThreshold(1, 1e-6, 1).ends([], 0.95)] == [0, 0]
