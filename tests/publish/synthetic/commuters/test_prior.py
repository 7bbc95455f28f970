"""A prior of fake workers is priced by its smallest value, destinations with few jobs are joined, and maps need no coordinates."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chance import follows_law
from tacit.errors import InvalidInput
from tacit.evidence.verify.small_maps import neighbours_of
from tacit.mechanisms.dirichlet.calibration import PublicFacts, pure_noise
from tacit.mechanisms.dirichlet.law import urn_chances
from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.universe import Universe
from tacit.publish.synthetic.commuters import model
from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.flows import homes_of, joined_totals, totals_of
from tacit.publish.synthetic.commuters.geography import ELSEWHERE, made_blocks, read_blocks
from tacit.publish.synthetic.commuters.model import SyntheticMap, Terms, draw_map, offered
from tacit.publish.synthetic.commuters.prior import Even, Listed, Near, read_prior, whole_weights
from tacit.publish.synthetic.commuters.release import publish_map
from tacit.publish.synthetic.commuters.sources import FlowsFile

F = Fraction
STATE = made_state(blocks=400, workplaces=10, jobs=2000)
TRACTS = STATE.blocks.zones("tract")
TOTALS = STATE.totals(TRACTS)


def worst_ratio(workers: int, draws: int, masses: tuple[Fraction, ...]) -> Fraction:
    """The largest ratio of the law of cells with these fake workers, over all neighbours and outputs."""
    everybody = Universe(tuple(range(len(masses)))).databases(workers)
    law = {
        homes.counts: urn_chances([count + mass for count, mass in zip(homes.counts, masses, strict=True)], draws)
        for homes in everybody
    }
    return max(
        chance / law[other][output]
        for homes, chances in law.items()
        for other in neighbours_of(homes)
        for output, chance in chances.items()
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.lists(st.integers(1, 4), min_size=2, max_size=3), st.sampled_from([2, 5, 20]))
def test_a_prior_is_priced_by_its_smallest_value(workers, draws, weights, ratio):
    noise = pure_noise(draws, ratio)
    worst = worst_ratio(workers, draws, tuple(weight * noise for weight in weights))
    assert worst <= ratio
    assert (worst == ratio) == (min(weights) == 1), "attained at a cell of weight 1"


def test_the_prior_s_mean_is_seen():
    """The planted bug: noise for which the mean of the prior would do."""
    weights = (1, 1, 4)
    for_mean = pure_noise(4, 5) / F(sum(weights), len(weights))
    assert worst_ratio(2, 4, tuple(weight * for_mean for weight in weights)) > 5
    assert worst_ratio(2, 4, tuple(weight * pure_noise(4, 5) for weight in weights)) == 5


def test_the_offer_is_calibrated_for_the_smallest_value():
    for delta in (0, 1e-5):
        plain, likely = (offered(TOTALS, TRACTS, Terms(20, delta, prior=prior)) for prior in ("even", "distance"))
        assert likely.loss == plain.loss
        for even, mechanism, domain, name in zip(plain.mechanisms, likely.mechanisms, likely.domains(), TOTALS.names, strict=True):
            weights = Near().weights(domain, name)
            assert mechanism.facts.blocks == int(weights.sum())
            assert weights.min() == 1
            if not delta:
                assert mechanism.noise == even.noise, "and nothing less where the prior has more"
        assert likely.cells == plain.cells
        assert likely.fake > plain.fake
    assert "(epsilon, delta)-differential privacy" in likely.promise()[0]
    assert "prior distance, up to 10" in str(likely.terms)


@pytest.mark.parametrize("weights", [(1, 3), (2, 1)])
def test_cells_of_pieces_have_the_law_of_their_masses(weights):
    facts = PublicFacts(2, 3, (BlockClass(sum(weights)),))
    mechanism = ProbableDirichlet(facts, F(3, 2), F(3))
    from tacit.privacy.sealed import Sealed

    seen = Counter()
    for _ in range(3000):
        cells, jobs = model._in_pieces(mechanism, Sealed((np.array([0]), np.array([2]))), np.array(weights))
        dense = np.zeros(2, dtype=int)
        dense[cells] = jobs
        seen[tuple(dense.tolist())] += 1
    law = urn_chances([2 + weights[0] * F(3, 2), weights[1] * F(3, 2)], 3)
    assert follows_law(seen, law, among=2)


def test_every_destination_gets_its_jobs_from_its_cells():
    offer = offered(TOTALS, TRACTS, Terms(20, 1e-5, prior="distance"))
    made = SyntheticMap(offer, tuple(draw_map(offer, STATE.homes(TOTALS))))
    assert [int(jobs.sum()) for _, jobs in made.cells] == TOTALS.jobs.tolist()
    for (cells, _), domain in zip(made.cells, offer.domains(), strict=True):
        assert (np.diff(cells) > 0).all()
        assert 0 <= cells[0] <= cells[-1] < len(domain)


def test_weights_follow_the_public_prior(tmp_path):
    domain = next(iter(offered(TOTALS, TRACTS, Terms(20)).domains()))
    near = Near(50).weights(domain, "any")
    assert near[int(np.nanargmin(domain.distances))] == 50
    assert near[-1] == 1, "elsewhere"
    order = np.argsort(domain.distances[:-1])
    assert (np.diff(near[:-1][order]) <= 0).all()
    place = tmp_path / "last.csv"
    first, second = str(domain.names[0]), str(domain.names[1])
    place.write_text(f"origin,destination,jobs\n{first},W,30\n{second},W,15\n{first},V,0\n{ELSEWHERE},W,3\n")
    prior = read_prior(f"file:{place}", 11)
    assert isinstance(prior, Listed)
    assert prior.weights(domain, "W")[[0, 1, -1]].tolist() == [11, 6, 2]
    assert prior.weights(domain, "V").tolist() == [1] * len(domain)
    assert prior.weights(domain, "a new one")[0] == 11, "the sum over all destinations"
    assert whole_weights(np.zeros(3), 10).tolist() == [1, 1, 1]
    assert Even().weights(domain, "W").sum() == len(domain)
    place.write_text("origin,weight\n1,-3\n")
    for wrong in (f"file:{place}", "file:", "distance:3", "near"):
        with pytest.raises(InvalidInput):
            read_prior(wrong)
    with pytest.raises(InvalidInput):
        read_prior("distance", 0)
    with pytest.raises(InvalidInput, match="dropped cells"):
        Terms(20, 1e-5, "uniform:0.5", prior="distance")


# --- joined destinations -----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), min_size=1, max_size=9).filter(any), st.integers(1, 200), st.booleans())
def test_joined_destinations_keep_all_jobs(jobs, least, located):
    places = np.arange(len(jobs), dtype=float)
    where = places if located else np.full(len(jobs), np.nan)
    blocks = made_blocks([f"b{at}" for at in range(len(jobs))], where, where, {})
    totals = totals_of(np.arange(len(jobs)), np.array(jobs), blocks.zones("block"))
    joined, members = joined_totals(totals, least)
    assert joined.jobs.sum() == sum(jobs)
    assert (joined.jobs >= min(least, sum(jobs))).all()
    assert set(members) <= set(joined.names) <= set(totals.names)
    inside = {name: members.get(name, [name]) for name in joined.names}
    assert sorted(each for names in inside.values() for each in names) == sorted(totals.names)
    for name, total in zip(joined.names, joined.jobs.tolist(), strict=True):
        assert total == sum(jobs[int(each[1:])] for each in inside[name])
    at = homes_of(np.arange(len(jobs)), np.zeros(len(jobs), dtype=int), np.array(jobs), joined)
    domains = [blocks.zones("block").around(0.0, 0.0)] * len(joined)
    assert [int(counted.unseal()[1].sum()) for counted in at.counts(domains)] == joined.jobs.tolist()


def test_joining_lowers_the_share_of_fake_workers(tmp_path):
    flows, blocks = STATE.write(tmp_path)
    before = publish_map(
        FlowsFile(flows, tmp_path / "a.csv"), read_blocks(blocks), (None, "block"), Terms(20, 1e-5), tmp_path / "a.csv"
    )
    after = publish_map(
        FlowsFile(flows, tmp_path / "b.csv"), read_blocks(blocks), (None, "block"), Terms(20, 1e-5), tmp_path / "b.csv", join=300
    )
    assert after.offer.fake < before.offer.fake
    assert min(after.offer.totals.jobs) >= 300
    told = after.receipt["joined destinations"]
    assert told
    assert all(name in names for name, names in told.items())
    assert "joined destinations" not in before.receipt


# --- without coordinates -----------------------------------------------------------------------------------------------------


def test_a_map_needs_no_coordinates(tmp_path: Path):
    flows, blocks = STATE.write(tmp_path)
    import csv

    with blocks.open() as file:
        rows = list(csv.DictReader(file))
    chart = tmp_path / "plain.csv"
    chart.write_text("block,tract\n" + "".join(f"{row['block']},{row['tract']}\n" for row in rows))
    plain = read_blocks(chart)
    assert not plain.located
    source = FlowsFile(flows, tmp_path / "made.csv")
    made = publish_map(source, plain, (None, None), Terms(20, 1e-5), source.out, join=50)
    assert int(made.made.table()["jobs"].sum()) == int(made.offer.totals.jobs.sum())
    assert made.offer.ratio == 20
    for terms in (Terms(20, 1e-5, "distance:0.1"), Terms(20, 1e-5, prior="distance")):
        with pytest.raises(InvalidInput, match="need coordinates"):
            publish_map(source, plain, (None, None), terms, source.out)
    with pytest.raises(InvalidInput, match="rings need"):
        publish_map(source, plain, ("rings", None), Terms(20, 1e-5), source.out)
    chart.write_text("block,tract,lat\n1,A,3\n")
    with pytest.raises(InvalidInput):
        read_blocks(chart)
