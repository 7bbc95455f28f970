"""The ends of a shown count, given that it is shown: exact coverage for every truth, the rule itself, and planted bugs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.accounting import calibrate
from tacit.mechanisms import shown_counts
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.selection import KeyThreshold
from tacit.mechanisms.shown_counts import ends_of_shown

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
    assert shown_counts.SLACK == 1e-6, "ten times what doubles are off by"
    counts, threshold, missed = np.arange(200, 200 + 9 * scale), 200, Fraction(1, 20)

    def ends(slack: float) -> tuple[Any, Any]:
        monkeypatch.setattr(shown_counts, "SLACK", slack)
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
