"""The run over all destinations: claims from public things, draws with the law of the mechanism, in the right cells."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting.ledger.caps import at_least
from tacit.errors import InvalidBudget, InvalidInput
from tacit.privacy.loss import Approximate, Pure
from tacit.privacy.rounding import log_up
from tacit.publish.synthetic.commuters import model as commuters
from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.flows import homes_of, totals_of
from tacit.publish.synthetic.commuters.geography import made_blocks
from tacit.publish.synthetic.commuters.model import SyntheticMap, Terms, draw_map, offered, ratio_text, undropped

STATE = made_state(blocks=600, workplaces=12, jobs=3000)
TRACTS = STATE.blocks.zones("tract")
TOTALS = STATE.totals(TRACTS)
HOMES = STATE.homes(TOTALS)


def made(level: str, terms: Terms) -> SyntheticMap:
    offer = offered(TOTALS, STATE.blocks.origins(level), terms)
    return SyntheticMap(offer, tuple(draw_map(offer, HOMES)))


@pytest.mark.parametrize("level", ["block", "blockgroup", "tract", "county", "rings"])
@pytest.mark.parametrize("terms", [Terms(20), Terms(20, 1e-5), Terms(50, 1e-5, "distance:0.1"), Terms(50, 0, "uniform:0.5")])
def test_every_destination_gets_its_public_number_of_jobs(level, terms):
    found = made(level, terms)
    assert [int(jobs.sum()) for _, jobs in found.cells] == TOTALS.jobs.tolist()
    for (cells, jobs), domain in zip(found.cells, found.offer.domains(), strict=True):
        assert (np.diff(cells) > 0).all(), "in the public order, which says nothing of the draws"
        assert 0 <= cells[0] <= cells[-1] < len(domain)
        assert (jobs > 0).all()
    table = found.table()
    assert list(table) == ["origin", "destination", "jobs"]
    assert int(table["jobs"].sum()) == int(TOTALS.jobs.sum())
    assert set(table["destination"]) == set(TOTALS.names)


def test_the_claim_is_of_the_worst_destination_and_says_ratio_and_epsilon():
    offer = offered(TOTALS, TRACTS, Terms(20, 1e-5, "distance:0.1"))
    ratios = [mechanism.ratio for mechanism in offer.mechanisms]
    assert offer.ratio == max(ratios) > 20 * 10, "at least 1 over the smallest chance on top"
    assert offer.loss.epsilon >= log_up(Fraction(20)) + max(mechanism.extra for mechanism in offer.mechanisms)
    assert isinstance(offer.loss, Approximate)
    said = " ".join(offer.claim())
    assert ratio_text(offer.ratio) in said
    assert "ratio 20 (epsilon 2.99574)" in said
    assert "one job moves its home" in said
    assert isinstance(offered(TOTALS, TRACTS, Terms(20)).loss, Pure)


def test_what_delta_is_for_is_said_where_there_is_one():
    """For a pair of neighbours it is that of a destination; over all of them at once they add up; for j jobs it grows."""
    said = " ".join(offered(TOTALS, TRACTS, Terms(20, 1e-5)).claim())
    assert f"all {len(TOTALS)} destinations at once it is {at_least(len(TOTALS) * Fraction('1e-5'))}" in said
    assert "1 + ratio + ... + ratio^(j-1)" in said
    assert "elta" not in " ".join(offered(TOTALS, TRACTS, Terms(20)).claim())
    assert "probability at most 1e-300" in offered(TOTALS, TRACTS, Terms(20, "1e-400")).claim()[0], "and is never 0"


def test_without_dropping_the_ratio_is_the_one_asked_for():
    offer = offered(TOTALS, TRACTS, Terms(20, 1e-5))
    assert offer.ratio == 20
    assert {mechanism.within for mechanism in offer.mechanisms} == {20}
    assert all(Fraction(noise * 19).denominator == 1 for noise in offer.noises), "t / (r - 1), never rounded down"
    dropping = offered(TOTALS, TRACTS, Terms(20, 1e-5, "distance:0.1"))
    plain = undropped(dropping)
    assert dropping.ratio - Fraction(1, 1000) <= plain.ratio <= dropping.ratio


def test_fake_jobs_are_those_expected():
    """k alpha / (n + k alpha), weighed by jobs."""
    offer = offered(TOTALS, TRACTS, Terms(20, 1e-5))
    shares = [
        float(len(TRACTS.names) * noise / (jobs + len(TRACTS.names) * noise))
        for noise, jobs in zip(offer.noises, TOTALS.jobs.tolist(), strict=True)
    ]
    assert offer.fake == pytest.approx(float(np.average(shares, weights=TOTALS.jobs)))


# --- the law of the whole run, on a small world ------------------------------------------------------------------------------

SMALL = made_blocks(["near", "far"], [41.0, 41.5], [-71.0, -71.0], {"tract": ["near", "far"]})
ZONES = SMALL.zones("block")
SMALL_TOTALS = totals_of(np.array([0]), np.array([3]), ZONES)
SMALL_HOMES = homes_of(np.array([0, 0]), np.array([0, 2]), np.array([2, 1]), SMALL_TOTALS)


def sampled(offer, runs: int) -> Counter:
    seen: Counter = Counter()
    for _ in range(runs):
        ((cells, jobs),) = draw_map(offer, SMALL_HOMES)
        dense = np.zeros(3, dtype=np.int64)
        dense[cells] = jobs
        seen[tuple(dense.tolist())] += 1
    return seen


@pytest.mark.parametrize("keep", ["all", "distance:0.25"])
def test_draws_have_the_law_of_the_mechanism_with_cells_in_their_places(keep, monkeypatch):
    """The far block is the second cell and, kept by chance, the last of the urn; elsewhere is the last cell."""
    offer = offered(SMALL_TOTALS, ZONES, Terms(20, 1e-5, keep))
    (domain,), (mechanism,) = offer.domains(), offer.mechanisms
    order = offer.terms.keeping.chances(domain).order
    workers = np.array([2, 0, 1])
    listed = mechanism.law(workers[order]).probabilities
    law = {tuple(int(outcome[order.tolist().index(cell)]) for cell in range(3)): float(p) for outcome, p in listed.items()}
    assert len(law) == 10
    assert follows_law(sampled(offer, 4000), law)
    if keep != "all":  # the planted bug: the urn's numbers are taken for cells
        monkeypatch.setattr(commuters, "in_cells", lambda blocks, order: blocks)
        assert not follows_law(sampled(offer, 4000), law)


# --- terms -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "delta"), [(1, 0), (0.5, 0), ("x", 0), (20, 1), (20, -1), (float("inf"), 0)])
def test_terms_that_promise_nothing_are_refused(ratio, delta):
    with pytest.raises(InvalidInput):
        Terms(ratio, delta)


@pytest.mark.parametrize(("ratio", "delta", "keep"), [(2, 0, "uniform:0.1"), ("1e60", 0, "all"), ("1e400", 1e-5, "all")])
def test_a_release_that_promises_nothing_is_refused_before_it_is_paid_for(ratio, delta, keep):
    """The first: pure noise on cells that are dropped, where whoever enters one changes the mass of the urn by a third."""
    with pytest.raises(InvalidBudget, match=r"meaningful guarantee|no privacy"):
        offered(TOTALS, TRACTS, Terms(ratio, delta, keep))


def test_a_ratio_is_above_one():
    with pytest.raises(InvalidBudget, match="epsilon"):
        Terms(1)


@pytest.mark.parametrize(
    "number",
    [Fraction(1, 3), Fraction(2, 3), Fraction(10**9 + 1, 7), Fraction(1, 10**9), Fraction(123456789, 1000), Fraction(1, 10**300)],
)
def test_a_claim_is_never_rounded_down(number):
    assert number <= Fraction(at_least(number)) <= number * (1 + Fraction(1, 10**5))


def test_single_jobs_and_empty_origins_are_no_special_case():
    totals = totals_of(np.array([0, 1]), np.array([1, 2]), ZONES)
    homes = homes_of(np.array([0, 1]), np.array([2, 2]), np.array([1, 2]), totals)
    for terms in (Terms(2), Terms(20, 1e-5), Terms(20, 1e-5, "uniform:0.01")):
        offer = offered(totals, ZONES, terms)
        assert [int(jobs.sum()) for _, jobs in draw_map(offer, homes)] == [1, 2]
