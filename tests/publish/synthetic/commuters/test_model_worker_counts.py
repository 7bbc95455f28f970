"""How many synthetic workers a destination gets: public, and priced."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidBudget, InvalidInput
from tacit.evidence.verify.small_maps import laws, worst_weight
from tacit.mechanisms.dirichlet.calibration import PublicFacts, probable_noise
from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.flows import MOST_JOBS, homes_of, totals_of
from tacit.publish.synthetic.commuters.geography import made_blocks
from tacit.publish.synthetic.commuters.model import Each, Share, Terms, draw_map, draws_at, offered, read_workers, undropped

STATE = made_state(blocks=600, workplaces=12, jobs=3000)
TRACTS = STATE.blocks.zones("tract")
TOTALS = STATE.totals(TRACTS)
JOBS = TOTALS.jobs.tolist()
RULES = {
    "same": lambda jobs: jobs,
    "each:40": lambda _: 40,
    "each:1e3": lambda _: 1000,
    "share:0.1": lambda jobs: -(-jobs // 10),
    "share:3/2": lambda jobs: -(-3 * jobs // 2),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("terms", [(20,), (20, 1e-5), (50, 1e-5, "distance:0.1")])
def test_every_destination_gets_as_many_as_the_rule_says(rule, terms):
    offer = offered(TOTALS, TRACTS, Terms(*terms, workers=rule))
    wanted = [RULES[rule](jobs) for jobs in JOBS]
    assert list(offer.draws) == wanted
    assert [int(jobs.sum()) for _, jobs in draw_map(offer, STATE.homes(TOTALS))] == wanted
    assert all(mechanism.facts.workers == jobs for mechanism, jobs in zip(offer.mechanisms, JOBS, strict=True))
    assert list(undropped(offer).draws) == wanted, "what it is measured against draws as many"


def test_the_noise_is_that_of_the_draws():
    """Pure: m / (r - 1). And fewer draws never need more noise here, with a delta or without."""
    pure = offered(TOTALS, TRACTS, Terms(20, workers="each:40"))
    assert set(pure.noises) == {Fraction(40, 19)}
    for delta in (0, 1e-5):
        few, same, many = (offered(TOTALS, TRACTS, Terms(20, delta, workers=rule)) for rule in ("share:0.1", "same", "share:3"))
        assert all(a <= b <= c for a, b, c in zip(few.noises, same.noises, many.noises, strict=True))
        assert few.fake < same.fake < many.fake


def test_noise_for_as_many_as_there_are_jobs_would_not_do_for_more():
    """The planted bug: the noise of m = n where twice as many are drawn. The mechanism refuses it, and the listed law shows why."""
    chart = made_blocks(["a", "b"], [41.0, 41.5], [-71.0, -71.0], {"tract": ["a", "b"]})
    totals = totals_of(np.array([0]), np.array([3]), chart.zones("block"))
    ratio, delta = Fraction(3), Fraction(1, 20)
    (sound,) = offered(totals, chart.zones("block"), Terms(ratio, delta, workers="share:2")).mechanisms
    assert worst_weight(laws(sound.facts, sound.noise), ratio) <= delta
    wrong = probable_noise(PublicFacts(3, 3, sound.facts.classes, count_noise=True), ratio, delta)
    assert worst_weight(laws(sound.facts, wrong), ratio) > delta
    with pytest.raises(InvalidBudget, match="not shown to be enough"):
        ProbableDirichlet(sound.facts, wrong, ratio, delta)


def test_one_synthetic_worker_of_one_job_is_no_special_case():
    chart = made_blocks(["a", "b"], [41.0, 41.5], [-71.0, -71.0], {"tract": ["a", "b"]})
    totals = totals_of(np.array([0]), np.array([1]), chart.zones("block"))
    homes = homes_of(np.array([0]), np.array([1]), np.array([1]), totals)
    for rule in ("each:1", "share:0.001", "each:7"):
        offer = offered(totals, chart.zones("block"), Terms(20, 1e-5, workers=rule))
        ((_, jobs),) = draw_map(offer, homes)
        assert int(jobs.sum()) == offer.draws[0] >= 1


@pytest.mark.parametrize("rule", ["", "500", "0.1", "same:1", "each", "each:", "each:0", "each:1.5", "each:-3", "each:1e10"])
def test_a_rule_that_is_none_is_refused(rule):
    with pytest.raises(InvalidInput, match="synthetic workers"):
        read_workers(rule)


@pytest.mark.parametrize("rule", ["share:0", "share:-1", "share:x", "share:1e9"])
def test_a_share_that_is_none_is_refused(rule):
    with pytest.raises(InvalidInput, match="share"):
        read_workers(rule)


def test_a_rule_is_the_same_however_it_is_made_and_none_draws_nobody():
    assert (Each(500), Share("0.1")) == (read_workers("each:500"), read_workers("share:1/10"))
    for rule, none in ((Each, 0), (Each, 1.5), (Share, 0), (Share, -1)):
        with pytest.raises(InvalidInput, match="synthetic workers"):
            rule(none)


def test_more_than_can_be_drawn_are_refused_by_public_figures():
    assert draws_at(read_workers("share:2"), MOST_JOBS // 2) == MOST_JOBS
    with pytest.raises(InvalidInput, match="smaller share"):
        draws_at(read_workers("share:2"), MOST_JOBS // 2 + 1)
