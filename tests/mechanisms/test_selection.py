"""Keys by threshold: the threshold's vectors, the exact (epsilon, delta) over small worlds, and the bugs that it would see."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting import calibrate
from tacit.accounting.calibrate import discrete_laplace_error
from tacit.accounting.events import ThresholdedKeys
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms import selection
from tacit.mechanisms.mechanism import Listed, WithError
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.selection import KeyThreshold, ends_of_shown
from tacit.privacy.law import hockey_stick
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Approximate, Neighbours
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import Universe

VECTORS = [((1, 1e-6, 1), 15), ((1, 1e-6, 8), 124), ((0.5, 1e-7, 8), 282), ((0.1, 1e-7, 1), 156)]
KEYS = ("a", "b", "c")


# ---- the threshold ----


@pytest.mark.parametrize(("parameters", "threshold"), VECTORS)
def test_the_vectors(parameters, threshold):
    assert KeyThreshold(*parameters).threshold == threshold


@pytest.mark.parametrize("epsilon", ["1/10", 1, 5])
@pytest.mark.parametrize("delta", ["0.5", 1e-3, 1e-9])
@pytest.mark.parametrize("max_groups", [1, 3, 40])
def test_it_is_the_least_threshold(epsilon, delta, max_groups):
    mechanism = KeyThreshold(epsilon, delta, max_groups)
    ratio = math.exp(-1 / float(mechanism.scale))

    def some_shown(threshold):
        return -math.expm1(max_groups * math.log1p(-(ratio ** (threshold - 1)) / (1 + ratio)))

    assert some_shown(mechanism.threshold) <= float(mechanism.delta) * (1 + 1e-12)
    assert mechanism.threshold == 1 or some_shown(mechanism.threshold - 1) > float(mechanism.delta) * (1 - 1e-12)


@pytest.mark.parametrize("max_groups", [1, 8])
def test_every_rounding_of_the_threshold_is_against_us(monkeypatch, max_groups):
    """Much coarser bounds than the real ones must raise it, where they are used, and never lower it."""
    deltas = [Fraction(1, 2**power) for power in range(1, 30)]

    def thresholds():
        return np.array([KeyThreshold(1, delta, max_groups).threshold for delta in deltas])

    honest, exp_up, log_down = thresholds(), selection.exp_up, selection.log_down
    for name, coarse in {
        "exp_up": lambda x: 50 * exp_up(x),
        "exp_down": lambda x: Fraction(0),
        "log_down": lambda x: 2 * log_down(x),  # a number below 0
    }.items():
        monkeypatch.setattr(selection, name, coarse)
        assert (thresholds() >= honest).all(), name
        assert name == "log_down" or (thresholds() > honest).any(), name
        monkeypatch.undo()


def test_without_noise_to_speak_of_one_unit_is_shown():
    """So that a threshold of 1 would show a key with certainty, however large delta is."""
    assert KeyThreshold(10**9, 0.6, 1).threshold == 2


def test_a_key_may_require_just_as_many_units_as_are_allowed(monkeypatch):
    """2 + ceil(ln(10^6)), the number up to which a threshold is looked for."""
    assert selection.MOST_UNITS == 2**60, "with noise, counts are then exact in 64 bits"
    monkeypatch.setattr(selection, "MOST_UNITS", 16)
    assert KeyThreshold(1, "1e-6", 1).threshold == 15
    monkeypatch.setattr(selection, "MOST_UNITS", 15)
    with pytest.raises(InvalidBudget):
        KeyThreshold(1, "1e-6", 1)


def test_what_does_not_equal_itself_is_found_in_a_tuple_beside_plain_keys():
    with pytest.raises(InvalidValue, match="does not equal itself"):
        KeyThreshold(1, 1e-6, 1).release({("a", math.nan): 5, "b": 3})


def test_extreme_parameters_end():
    assert KeyThreshold(10**9, 1e-6, 5).threshold == 2
    assert KeyThreshold(1, Fraction(1, 10**400), 1).threshold == 922
    assert KeyThreshold(1, 0.9, 1).threshold == 1
    with pytest.raises(InvalidBudget, match="2\\^60"):
        KeyThreshold(Fraction(1, 10**30), 1e-6, 1)


def test_min_people_raises_the_threshold():
    assert KeyThreshold(1, 1e-6, 1, min_people=50).threshold == 50
    assert KeyThreshold(1, 1e-6, 1, min_people=3).threshold == 15
    assert KeyThreshold(1, 1e-6, 1, min_people=50).release({"a": 10**6})


# ---- privacy ----


def counted(database):
    """How many units each key has; a unit is a set of keys."""
    return {key: sum(key in unit for unit in database.rows) for key in KEYS}


def worst_delta(mechanism, max_groups, relation, units, count=counted):
    """The largest delta at the claimed epsilon over all small worlds, exactly up to the 1e-12 that a law may miss."""
    universe = Universe(tuple(unit for size in range(1, max_groups + 1) for unit in combinations(KEYS, size)))
    epsilon = Decimal(mechanism.epsilon.numerator) / Decimal(mechanism.epsilon.denominator)
    law = cache(lambda counts: mechanism.law(dict(counts)))
    of = cache(lambda database: law(tuple(sorted(count(database).items()))))
    return max(
        hockey_stick(of(one), of(other), epsilon)
        for database in universe.databases_up_to(units)
        for neighbour in database.neighbours(relation)
        for one, other in ((database, neighbour), (neighbour, database))
    )


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE], ids=str)
@pytest.mark.parametrize(("epsilon", "delta", "max_groups"), [(3, "0.01", 1), (1, "0.2", 1), (6, "0.02", 2)])
def test_loss_over_small_worlds(epsilon, delta, max_groups, relation):
    mechanism = KeyThreshold(epsilon, delta, max_groups, neighbours=relation)
    units = 2 if max_groups == 1 else 1
    assert worst_delta(mechanism, max_groups, relation, units) <= Decimal(str(delta)) + Decimal("1e-10")


def test_planted_lower_threshold_is_seen():
    mechanism = KeyThreshold(3, "0.01", 1)
    object.__setattr__(mechanism, "threshold", mechanism.threshold - 1)
    assert worst_delta(mechanism, 1, ADD_REMOVE, 2) > Decimal("0.0101")


def test_planted_threshold_for_one_group_is_seen():
    """A unit in two groups, with the noise of two but the threshold of one: either of two new keys may show."""
    mechanism = KeyThreshold(6, "0.06", 2)
    assert worst_delta(mechanism, 2, ADD_REMOVE, 1) <= Decimal("0.06")
    object.__setattr__(mechanism, "threshold", selection._least_threshold(mechanism.scale, mechanism.delta, 1))
    assert worst_delta(mechanism, 2, ADD_REMOVE, 1) > Decimal("0.09")


def test_planted_noise_for_one_group_is_seen():
    """Scale 1/epsilon though a unit is in two groups."""
    planted = KeyThreshold(12, "1e-9", 2)  # claims epsilon 6
    one, other = {"a": 9, "b": 9}, {"a": 8, "b": 8}
    assert planted.threshold <= 9
    assert hockey_stick(planted.law(one), planted.law(other), Decimal(6)) > Decimal("0.1")


def test_planted_rows_instead_of_units_is_seen():
    """One person with eight rows in one group, counted as eight: shown with probability 6.7e-4 where 1e-6 is claimed."""
    mechanism = KeyThreshold(1, 1e-6, 1)
    nobody, units, rows = (mechanism.law(groups, missing=1e-20) for groups in ({}, {"ward": 1}, {"ward": 8}))
    assert hockey_stick(units, nobody, Decimal(1)) <= Decimal("1e-6")
    assert float(hockey_stick(rows, nobody, Decimal(1))) == pytest.approx(6.7e-4, rel=0.01)


def test_groups_without_units_are_not_drawn():
    """A key that nobody has is never shown, whatever the noise."""
    mechanism = KeyThreshold("1/10", "0.9", 1)
    assert mechanism.threshold == 1
    assert all(mechanism.release({"nobody": 0}) == () for _ in range(50))
    assert mechanism.law({"nobody": 0}).probabilities == {(): 1}


# ---- the release ----


@pytest.fixture
def no_noise(monkeypatch):
    monkeypatch.setattr(selection.discrete, "draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))


@pytest.mark.usefixtures("no_noise")
def test_shown_keys_are_sorted_whatever_their_type():
    mechanism = KeyThreshold(1, 1e-6, 1)
    assert mechanism.release({"b": 20, "a": 15, "c": 14}) == (("a", 15), ("b", 20))
    assert mechanism.release(Sealed(([None, "x", 3, 2.5], [99, 98, 97, 96]))) == ((2.5, 96), (3, 97), ("x", 98), (None, 99))
    mixed = {(1, None): 20, (1, "a"): 21, (0, "z"): 22}
    assert [key for key, _ in mechanism.release(mixed)] == [(0, "z"), (1, "a"), (1, None)]


@pytest.mark.usefixtures("no_noise")
def test_keys_have_one_spelling():
    [(key, _)] = KeyThreshold(1, 1e-6, 1).release({-0.0: 50})
    assert math.copysign(1, key) == 1
    [(key, _)] = KeyThreshold(1, 1e-6, 1).release((np.array([7]), np.array([50])))
    assert type(key) is int
    [(key, count)] = KeyThreshold(1, 1e-6, 1).release({(np.int64(2), "x"): np.int64(50)})
    assert (type(key[0]), type(count)) == (int, int)


@pytest.mark.usefixtures("no_noise")
def test_of_many_keys_those_with_the_largest_noisy_counts_are_shown():
    keys, counts = ["d", "a", "c", "b", "e"], [500, 300, 400, 300, 300]
    mechanism = KeyThreshold(1, 1e-6, 1)
    found = [mechanism.release_with(keys, counts, (np.arange(5),), most) for most in (None, 5, 3, 1)]
    assert [kept.keys for kept in found] == [("a", "b", "c", "d", "e"), ("a", "b", "c", "d", "e"), ("a", "c", "d"), ("d",)]
    assert found[2].counts == (300, 400, 500)
    assert found[2].others[0].unseal().tolist() == [1, 2, 0]


@pytest.mark.usefixtures("no_noise")
def test_what_else_is_known_stays_sealed():
    keys, counts = Sealed((("b",), ("x",), ("a",))), Sealed(np.array([30, 2, 20]))
    sums, lists = Sealed(np.array([7, 8, 9])), Sealed([("list of b",), ("list of x",), ("list of a",)])
    kept = KeyThreshold(1, 1e-6, 1).release_with(keys, counts, (sums, lists))
    assert kept.keys == (("a",), ("b",))
    assert kept.counts == (20, 30)
    assert isinstance(kept.others[0], Sealed)
    assert kept.others[0].unseal().tolist() == [9, 7]
    assert [each.unseal() for each in kept.others[1]] == [("list of a",), ("list of b",)]


def test_the_release_follows_the_law():
    mechanism, groups, size = KeyThreshold(2, "0.05", 1), {"a": 4, "b": 1, "c": 0}, 20_000
    drawn = [tuple(key for key, _ in mechanism.release(groups)) for _ in range(size)]
    shown = mechanism.law(groups).map(lambda outcome: tuple(key for key, _ in outcome)).probabilities
    assert follows_law(drawn, shown)


def test_noise_of_the_right_scale_is_drawn_for_present_groups_alone(monkeypatch):
    """And for two of nobody, which even out the time of few groups."""
    asked = []
    monkeypatch.setattr(selection.discrete, "draw_laplace", lambda scale, size: asked.append((scale, size)) or np.zeros(size, int))
    KeyThreshold("1/2", 1e-6, 3).release({"a": 4, "b": 0, "c": 1})
    KeyThreshold("1/2", 1e-6, 3, neighbours=CHANGE_ONE).release({"a": 4})
    assert asked == [(6, 2 + 2), (12, 1 + 2)]


def test_the_interval_of_a_count():
    mechanism = KeyThreshold(1, 1e-6, 2)
    half = int(mechanism.interval(0.95).above)
    law = mechanism.law({"a": 1000}, missing=1e-9).probabilities
    covered = sum(p for outcome, p in law.items() if outcome and abs(outcome[0][1] - 1000) <= half)
    assert covered >= Decimal("0.95")
    assert sum(p for outcome, p in law.items() if outcome and abs(outcome[0][1] - 1000) <= half - 1) < Decimal("0.95")


# ---- as a value ----


def test_it_is_a_mechanism():
    relation = Neighbours("add-remove", "unit")
    mechanism = KeyThreshold(1, 1e-6, 8, neighbours=relation)
    assert isinstance(mechanism, Listed)
    assert isinstance(mechanism, WithError)
    assert mechanism.event == ThresholdedKeys(Fraction(1), Fraction(1, 10**6), 8, 124, relation)
    assert mechanism.loss == Approximate(1, 1e-6, relation)
    assert hash(mechanism) == hash(KeyThreshold("1", "1e-6", 8, 0, relation))


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ((0, 1e-6, 1), InvalidBudget),
        ((1, 0, 1), InvalidBudget),
        ((1, 1, 1), InvalidBudget),
        ((1, math.nan, 1), InvalidBudget),
        ((1, 1e-6, 0), InvalidInput),
        ((1, 1e-6, 1.5), InvalidInput),
        ((1, 1e-6, 1, -1), InvalidInput),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameters, error):
    with pytest.raises(error):
        KeyThreshold(*parameters)


@pytest.mark.parametrize(
    "groups",
    [
        {"secret": -1},
        {"secret": 1.5},
        {"secret": "x"},
        (["secret", "secret"], [1, 2]),
        ([0.0, -0.0], [1, 2]),
        ([math.nan], [5]),
        ([("secret", math.nan)], [5]),
        (["secret"], [1, 2]),
        (["secret"], [[1]]),
        7,
    ],
    ids=str,
)
def test_bad_groups_are_refused_without_being_quoted(groups):
    for call in (KeyThreshold(1, 1e-6, 1).release, KeyThreshold(1, 1e-6, 1).law):
        with pytest.raises(InvalidValue) as caught:
            call(groups)
        assert "secret" not in str(caught.value)


def test_too_many_outcomes_are_not_listed():
    with pytest.raises(InvalidInput, match="too many outcomes"):
        KeyThreshold("1/10", 1e-6, 1).law(dict.fromkeys(range(5), 500))


def test_a_law_lists_as_many_outcomes_as_are_allowed(monkeypatch):
    mechanism, groups = KeyThreshold(3, "0.01", 1), {"a": 2, "b": 3}
    listed = mechanism.law(groups, "0.01").probabilities
    reach = discrete_laplace_error(mechanism.scale, Fraction(1, 100))
    hidden, counts = [()], {key: range(mechanism.threshold, units + reach + 1) for key, units in groups.items()}
    each = [hidden + [((key, count),) for count in counts[key]] for key in "ab"]
    assert set(listed) == {one + other for one in each[0] for other in each[1]}
    monkeypatch.setattr(selection, "MOST_OUTCOMES", len(listed))
    assert mechanism.law(groups, "0.01").probabilities == listed
    monkeypatch.setattr(selection, "MOST_OUTCOMES", len(listed) - 1)
    with pytest.raises(InvalidInput, match="too many outcomes"):
        mechanism.law(groups, "0.01")


def test_every_group_may_leave_out_what_is_missing():
    mechanism, groups = KeyThreshold(3, "0.01", 1), {"a": 2, "b": 3}
    assert mechanism.law(groups, "0.01").missing == Decimal("0.02")
    assert mechanism.law(groups, "0.9").missing == 1


def test_keys_of_all_types_have_one_order():
    keys = [True, 2.5, 3, "bytes", "zebra", b"a", b"b", ("a", 1), ("a", None), (None,), None]
    mixed = keys[::-1]
    mixed.sort(key=selection.order)
    assert mixed == keys


# --- the ends of a shown count -----------------------------------------------------------------------------------------------


Ends = Callable[[np.ndarray, int, Fraction, Fraction], tuple[Any, Any]]
SCALES = [Fraction(1, 3), Fraction(1), Fraction(2), Fraction(8), Fraction(24), Fraction(100)]
MISSED = [Fraction(1, 20), Fraction(1, 2), Fraction(1, 10**6)]


def least_coverage(ends: Ends, threshold: int, scale: Fraction, missed: Fraction) -> float:
    """The least chance, given that the group is shown, that the ends enclose the truth: by the law of the noise, without a draw.

    Over truths from one unit to far above the threshold; what lies beyond 50 scales weighs less than 1e-20.
    """
    far, width = threshold + math.ceil(15 * scale) + 20, float(scale)
    counts = np.arange(threshold, far + math.ceil(50 * width) + 40)
    low, high = ends(counts, threshold, scale, missed)

    def coverage(truth: int) -> float:
        weights = np.exp(-(np.abs(counts - truth) - max(threshold - truth, 0)) / width)
        return float(weights[(low <= truth) & (truth <= high)].sum() / weights.sum())

    truths = {*range(1, far, max(1, math.ceil(width) // 4)), *range(max(1, threshold - 3), threshold + 4)}
    return min(map(coverage, truths))


@pytest.mark.parametrize("missed", MISSED, ids=str)
@pytest.mark.parametrize("threshold", [1, 2, 15, 130])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_ends_enclose_every_truth_as_often_as_they_say_given_shown(scale: Fraction, threshold: int, missed: Fraction) -> None:
    assert least_coverage(ends_of_shown, threshold, scale, missed) >= 1 - missed


def symmetric(counts: np.ndarray, threshold: int, scale: Fraction, missed: Fraction) -> tuple[Any, Any]:
    """The usual interval, for a group named in advance."""
    half = calibrate.discrete_laplace_error(scale, missed)
    return counts - half, counts + half


def low_end_not_conditioned(counts: np.ndarray, threshold: int, scale: Fraction, missed: Fraction) -> tuple[Any, Any]:
    return symmetric(counts, threshold, scale, missed)[0], ends_of_shown(counts, threshold, scale, missed)[1]


def threshold_that_did_not_decide(counts: np.ndarray, threshold: int, scale: Fraction, missed: Fraction) -> tuple[Any, Any]:
    return ends_of_shown(counts, threshold - math.ceil(3 * scale), scale, missed)


@pytest.mark.parametrize("planted", [symmetric, low_end_not_conditioned, threshold_that_did_not_decide])
@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
def test_planted_ends_are_caught(planted: Ends, scale: Fraction) -> None:
    """Noise that is conditioned wrongly; the symmetric one hardly ever covers a truth well below the threshold."""
    assert least_coverage(planted, 130, scale, Fraction(1, 20)) < 0.95
    if planted is symmetric and scale <= 8:
        assert least_coverage(planted, 130, scale, Fraction(1, 20)) < 0.001


def ratio(law: DiscreteLaplaceLaw, truth: int, low: int, high: int | None, threshold: int) -> float:
    """Pr[low <= Y <= high] / Pr[Y >= threshold], to many digits."""
    below = [law.below(end - truth) for end in (low, threshold)]
    top = 1 if high is None else law.below(high + 1 - truth)
    return float((top - below[0]) / (1 - below[1]))


@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 3)], ids=str)
@pytest.mark.parametrize(("threshold", "scale"), [(6, Fraction(1, 2)), (9, Fraction(2)), (20, Fraction(7))])
def test_the_ends_are_those_of_the_rule(threshold: int, scale: Fraction, missed: Fraction) -> None:
    """The least truth for which so high a count is not rare, and the largest for which so low a one is not."""
    law, half = DiscreteLaplaceLaw(scale), float(missed / 2)
    counts = np.arange(threshold, threshold + math.ceil(12 * scale))
    for count, low, high in zip(counts.tolist(), *ends_of_shown(counts, threshold, scale, missed), strict=True):
        accepted = [n for n in range(1, count + math.ceil(9 * scale)) if ratio(law, n, count, None, threshold) > half]
        assert low == min(accepted)
        not_too_low = [n for n in range(1, count + math.ceil(9 * scale)) if ratio(law, n, threshold, count, threshold) > half]
        assert high == max([*not_too_low, count])


def test_the_ends_grow_with_the_count_and_hold_it() -> None:
    counts = np.arange(124, 700)
    low, high = KeyThreshold(1, 1e-6, 8).ends(counts, 0.95)
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert ((low <= counts) & (counts <= high)).all()
    assert (low[-1], high[-1]) == tuple(counts[-1] + np.array([-1, 1]) * KeyThreshold(1, 1e-6, 8).interval(0.95).above)


@pytest.mark.parametrize("scale", [4, 8, 32])
def test_ends_are_moved_outward_by_the_slack_of_a_scale(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of a scale instead of a millionth: a whole number, which both ends must be farther out by."""
    assert selection.SLACK == 1e-6, "ten times what doubles are off by"
    counts, threshold, missed = np.arange(200, 200 + 9 * scale), 200, Fraction(1, 20)

    def ends(slack: float) -> tuple[Any, Any]:
        monkeypatch.setattr(selection, "SLACK", slack)
        return ends_of_shown(counts, threshold, Fraction(scale), missed)

    (plain_low, plain_high), (low, high) = ends(0.0), ends(0.25)
    beyond = counts - threshold + scale * math.log(missed / 2)  # below 0, a single unit is as likely as many
    assert (low == np.where(beyond < scale / 4, 1, np.maximum(plain_low - scale // 4, threshold))).all()
    assert (plain_low[beyond < 0] == 1).all()
    farther = high - plain_high
    assert (farther[plain_high > counts] == scale // 4).all()
    assert (farther >= 0).all()


def test_a_raised_threshold_is_the_one_that_counts() -> None:
    raised = KeyThreshold(1, 1e-6, 1, min_people=500)
    assert raised.ends([501], 0.95)[0].tolist() == [1]


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(2**58)])
@pytest.mark.parametrize("missed", [Fraction(1, 10**200), Fraction(1, 20), 1 - Fraction(1, 10**9)])
def test_extreme_numbers_have_ends(scale: Fraction, missed: Fraction) -> None:
    counts = [2**60, 2**60 + 1, 2**62, 2**63 - 1, 2**70]
    low, high = ends_of_shown(counts, 2**60, scale, missed)
    assert all(1 <= int(one) <= count <= int(two) for one, count, two in zip(low, counts, high, strict=True))


def test_no_shown_groups_have_no_ends() -> None:
    assert [len(end) for end in KeyThreshold(1, 1e-6, 1).ends([], 0.95)] == [0, 0]
