"""How good a map is: averages by hand, shares that sum to one, and the tutorial's 6/7 and 1/7."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.synthetic.commuters.geography import Domain
from tacit.publish.synthetic.commuters.utility import FEW_JOBS, compare_maps, fake_share, measure_utility, suppression_loss

NAMES = np.array(["own", "near", "far", "elsewhere"], dtype=object)
DOMAIN = Domain(NAMES, np.array([0.0, 4.0, 30.0, np.nan]), np.arange(4))


def cells(*jobs: int) -> tuple[np.ndarray, np.ndarray]:
    counts = np.array(jobs)
    return np.flatnonzero(counts), counts[counts > 0]


def test_averages_by_hand():
    found = measure_utility(compare_maps([DOMAIN], [cells(100, 200, 100, 50)], [cells(100, 100, 200, 10)]))
    assert found.mean_truth == pytest.approx([(200 * 4 + 100 * 30) / 400]), "jobs from elsewhere are in no average"
    assert found.mean_synthetic == pytest.approx([(100 * 4 + 200 * 30) / 400])
    assert found.error == pytest.approx((6400 - 3800) / 3800)
    groups = {group.name: group for group in found.groups}
    short = groups["short commutes, up to 10 km"]
    assert (short.truth, short.synthetic) == (pytest.approx(300 / 450), pytest.approx(200 / 410))
    assert short.error == pytest.approx(abs(400 / 200 - 800 / 300) / (800 / 300))
    assert groups["long commutes, beyond 10 km"].error == 0, "all of them come from one cell"


def test_the_own_zone_counts_nothing_in_both():
    """The planted bug would count a job inside its own zone in one of the two averages only."""
    found = measure_utility(compare_maps([DOMAIN], [cells(300, 100, 0, 0)], [cells(300, 100, 0, 0)]))
    assert found.mean_truth == found.mean_synthetic == pytest.approx([1.0])
    assert found.error == 0
    assert found.variation == 0


def test_small_destinations_are_in_no_median():
    truth, bad = cells(0, FEW_JOBS, 0, 0), cells(0, 0, FEW_JOBS, 0)
    few = cells(0, FEW_JOBS - 1, 0, 0)
    assert measure_utility(compare_maps([DOMAIN] * 2, [few, truth], [bad, truth])).error == 0
    assert measure_utility(compare_maps([DOMAIN] * 2, [truth, truth], [bad, bad])).error == pytest.approx(6.5)
    assert np.isnan(measure_utility(compare_maps([DOMAIN], [few], [few])).error), "no destination is large enough"


def test_impossible_commutes_are_counted():
    found = measure_utility(compare_maps([DOMAIN], [cells(5, 5, 0, 0)], [cells(4, 3, 2, 1)]))
    assert found.from_nowhere == pytest.approx(0.2), "elsewhere has no place to be from"
    assert found.too_far == pytest.approx(0.2)


counts = st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any)


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=4))
def test_bands_sum_to_one_and_their_variation_to_the_whole(pairs):
    truth, made = ([cells(*pair[side]) for pair in pairs] for side in (0, 1))
    found = measure_utility(compare_maps([DOMAIN] * len(pairs), truth, made))
    assert sum(band.truth for band in found.bands) == pytest.approx(1)
    assert sum(band.synthetic for band in found.bands) == pytest.approx(1)
    weights = np.array([sum(real) for real, _ in pairs], dtype=float)
    apart = [np.abs(np.array(real) / sum(real) - np.array(fake) / sum(fake)).sum() / 2 for real, fake in pairs]
    assert found.variation == pytest.approx(np.average(apart, weights=weights))


def test_rings_have_no_dense_origins():
    other = Domain(NAMES.copy(), DOMAIN.distances, DOMAIN.of_block)
    truth = [cells(300, 0, 20, 0)] * 2
    assert len(measure_utility(compare_maps([DOMAIN, DOMAIN], truth, truth)).groups) == 4
    assert len(measure_utility(compare_maps([DOMAIN, other], truth, truth)).groups) == 2


def test_short_and_long_commutes_to_dense_and_sparse_destinations_by_hand():
    """Two large destinations and two small ones; noise far away makes the long commutes of the small ones longer."""
    wide = Domain(np.array(["near", "mid", "far", "elsewhere"], dtype=object), np.array([4.0, 20.0, 60.0, np.nan]), np.arange(4))
    dense, sparse = cells(300, 100, 0, 0), cells(30, 10, 0, 5)
    synthetic = [dense, dense, cells(30, 8, 8, 0), cells(30, 4, 4, 1)]
    found = {
        each.name: each for each in measure_utility(compare_maps([wide] * 4, [dense, dense, sparse, sparse], synthetic)).crossed
    }
    assert list(found) == [
        f"{length}, to {kind} destinations"
        for length in ("short commutes, up to 10 km", "long commutes, beyond 10 km")
        for kind in ("dense", "sparse")
    ]
    assert [each.signed for each in found.values()] == [0, 0, 0, pytest.approx(1.0)], "40 km where 20 are true"
    long = found["long commutes, beyond 10 km, to sparse destinations"]
    assert (long.truth, long.synthetic) == (pytest.approx(20 / 890), pytest.approx(24 / 885))
    assert long.error == pytest.approx(1.0)


def test_the_sign_is_that_of_the_error():
    """The planted bug would lose it: both maps are off by the same share."""
    truth = [cells(0, 200, 200, 0)]
    longer, shorter = ([cells(0, 100, 300, 0)], [cells(0, 300, 100, 0)])
    averages = [measure_utility(compare_maps([DOMAIN], truth, made), near=50).groups[0] for made in (longer, shorter)]
    assert [each.error for each in averages] == [pytest.approx(6.5 / 17)] * 2
    assert [each.signed for each in averages] == [pytest.approx(6.5 / 17), pytest.approx(-6.5 / 17)]


def test_the_tutorials_shares():
    """8 million blocks, 0.74 fake workers each, a million real: 5.92 of 6.92 are fake. The slides say 6/7, and 1/7 from afar."""
    fake = fake_share(8_000_000, "0.74", 1_000_000)
    assert fake == pytest.approx(5.92 / 6.92)
    assert float(fake) == pytest.approx(6 / 7, abs=0.002)
    assert float(fake / 6) == pytest.approx(1 / 7, abs=0.0004), "a million of seven million, if a sixth of the blocks is there"
    for wrong in ((-1, 1, 1), (0, 0, 0)):
        with pytest.raises(InvalidInput):
            fake_share(*wrong)


def test_suppression_costs_the_jobs_of_rare_cells():
    truth = [cells(1, 2, 7, 0), cells(0, 0, 9, 1)]
    assert [suppression_loss(truth, fewest) for fewest in (1, 2, 3, 100)] == pytest.approx([0, 0.1, 0.2, 1])


def test_what_is_private_does_not_show():
    both = compare_maps([DOMAIN], [cells(1, 2, 3, 4)], [cells(4, 3, 2, 1)])
    assert repr(both) == "Comparison(...)"
    assert repr(measure_utility(both)) == "Utility(...)"
