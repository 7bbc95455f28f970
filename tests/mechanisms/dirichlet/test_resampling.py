"""Dirichlet resampling: the worked example, every pair of small worlds, its contract, and what it refuses."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting.composition import loss
from tacit.accounting.events import Resampling
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.evidence.verify import contract
from tacit.evidence.verify.small_maps import laws, pairs, worst_weight
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.dirichlet.calibration import PublicFacts, probable_noise, pure_noise
from tacit.mechanisms.dirichlet.law import resampling_chances, urn_chances
from tacit.mechanisms.dirichlet.resampling import DirichletResampling, ProbableDirichlet
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Probabilistic, Pure
from tacit.privacy.sealed import Sealed
from tacit.privacy.universe import Universe

F = Fraction
SPARSE = PublicFacts(2, 3, (BlockClass(1), BlockClass(2, "1/2")))


def worst_ratio(known):
    return max(
        chance / known[other][output]
        for homes, chances in known.items()
        for other in known
        if sum(abs(a - b) for a, b in zip(homes, other, strict=True)) == 2
        for output, chance in chances.items()
    )


def test_the_worked_example_of_the_tutorial():
    """Six draws of one block: 1/10 2/11 ... 6/15 without its worker, 2/10 ... 7/15 with him; the ratio is exactly 7."""
    without, having = (urn_chances([mass, 10 - mass], 6)[6, 0] for mass in (F(1), F(2)))
    assert (without, having) == (F(720, 3603600), 7 * F(720, 3603600))
    assert DirichletResampling(blocks=2, noise=1, draws=6).ratio == having / without == 7


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(2, 3), st.fractions(F(1, 5), 3, max_denominator=5))
def test_the_ratio_is_attained_and_never_passed(workers, draws, blocks, noise):
    facts = PublicFacts(workers, draws, (BlockClass(blocks),))
    assert worst_ratio(laws(facts, noise)) == DirichletResampling(blocks, noise, draws).ratio


def test_a_noise_a_little_under_the_bound_passes_the_ratio():
    """The planted bug: one part in a thousand less."""
    facts, enough = PublicFacts(2, 4, (BlockClass(3),)), pure_noise(4, 5)
    assert worst_ratio(laws(facts, enough)) == 5
    assert worst_ratio(laws(facts, enough * F(999, 1000))) > 5


def test_noise_on_occupied_blocks_only_has_no_finite_ratio():
    """The planted bug that the tool refuses: what one neighbour gives, the other never does."""
    keeps = (F(0),) * 3
    here, there = (resampling_chances(homes, F(1), keeps, 2) for homes in ((1, 1, 0), (1, 0, 1)))
    assert here[0, 2, 0] > 0
    assert there[0, 2, 0] == 0


def test_adding_or_removing_a_job_is_within_the_same_ratio():
    """With the draws fixed; neighbours of different sizes, every output."""
    mechanism = DirichletResampling(3, F(2, 3), draws=4, neighbours=ADD_REMOVE)
    bound = mechanism.ratio
    for database in Universe((0, 1, 2)).databases_up_to(2):
        one = resampling_chances(database.counts, mechanism.noise, [F(1)] * 3, 4)
        for other in database.neighbours(ADD_REMOVE):
            two = resampling_chances(other.counts, mechanism.noise, [F(1)] * 3, 4)
            assert all(one[output] <= bound * two[output] and two[output] <= bound * one[output] for output in one)
    assert mechanism.loss.neighbours == ADD_REMOVE


def test_loss_and_event():
    pure = DirichletResampling.for_ratio(blocks=10, draws=1000, ratio=20)
    assert pure.noise == F(1000, 19)
    assert isinstance(pure.loss, Pure)
    assert loss(pure.event) == pure.loss
    probable = ProbableDirichlet.for_ratio(PublicFacts(1041, 1041, (BlockClass(244),)), 20, 1e-5)
    assert probable.loss == Probabilistic(probable.epsilon, 1e-5, CHANGE_ONE)
    assert loss(probable.event) == probable.loss.approximate()
    assert probable.event == Resampling(probable.epsilon, F(1, 10**5), CHANGE_ONE)
    assert float(probable.epsilon) == pytest.approx(2.995732, abs=1e-6)
    assert probable.ratio == 20


def test_dropping_comes_on_top_or_is_held_within():
    facts = PublicFacts(1041, 1041, (BlockClass(44), BlockClass(200, "1/5")))
    on_top = ProbableDirichlet.calibrated(facts, 100, 1e-5)
    assert on_top.noise == probable_noise(facts, 100, 1e-5)
    assert float(on_top.ratio) == pytest.approx(100 * float(np.exp(float(on_top.extra))))
    assert on_top.ratio > 500
    inside = ProbableDirichlet.for_ratio(facts, 1000, 1e-5)
    assert inside.ratio <= 1000
    assert float(inside.ratio) > 999


@pytest.mark.parametrize(
    "mechanism",
    [
        ProbableDirichlet(SPARSE, F(3, 4), F(5)),
        ProbableDirichlet.calibrated(PublicFacts(3, 4, (BlockClass(2),), count_noise=True), 2, F(1, 5)),
    ],
    ids=["dropped", "probable"],
)
def test_the_contract(mechanism):
    """False alarms: 1e-9 a sampled check."""
    contract(mechanism, pairs(mechanism.facts), Effort(samples=400)).require()


def test_a_pure_claim_with_dropping_holds_on_every_output():
    mechanism = ProbableDirichlet(SPARSE, F(3, 4), F(5))
    assert mechanism.loss == Pure(mechanism.epsilon, CHANGE_ONE)
    assert worst_weight(laws(SPARSE, F(3, 4)), mechanism.ratio) == 0
    assert worst_ratio(laws(SPARSE, F(3, 4))) > 5  # without the price of dropping the claim is broken


def test_the_law_is_that_of_the_release():
    mechanism = DirichletResampling(2, 1, draws=2)
    assert mechanism.law((1, 0)).probabilities[2, 0] == Decimal("0.5")
    assert worst_log_ratio(mechanism.law((1, 0)), mechanism.law((0, 1))) <= mechanism.epsilon


def test_release_takes_sealed_counts_and_gives_a_count_for_each_block():
    drawn = DirichletResampling(3, F(1, 2), draws=50).release(Sealed(np.array([4, 0, 1])))
    assert drawn.shape == (3,)
    assert drawn.sum() == 50
    blocks, times = ProbableDirichlet(SPARSE, F(3, 4), F(5)).resample(Sealed((np.array([2]), np.array([2]))))
    assert times.sum() == 3
    assert set(blocks.tolist()) <= {0, 1, 2}


def test_what_does_not_fit_is_refused():
    mechanism = ProbableDirichlet(SPARSE, F(3, 4), F(5))
    with pytest.raises(InvalidValue, match="do not sum to the"):
        mechanism.release((1, 0, 0))
    for wrong in ((1, 1), (0.5, 0.5, 1), ((1, 1, 0),)):
        with pytest.raises(InvalidValue, match="3 whole numbers"):
            mechanism.release(wrong)
    with pytest.raises(InvalidValue, match="a whole number"):
        mechanism.resample(([0], [float("nan")]))
    with pytest.raises(InvalidValue, match="do not sum"):
        mechanism.resample(([0, 1, 2], [2**63 - 1, 2**63 - 1, 4]))  # 2 in words of 64 bits
    with pytest.raises(InvalidBudget, match="not shown to be enough"):
        ProbableDirichlet(SPARSE, F(749, 1000), F(5))
    with pytest.raises(InvalidInput, match="nothing to draw from"):
        ProbableDirichlet(PublicFacts(0, 3, (BlockClass(3, "1/2"),)), F(1), F(5))
    with pytest.raises(InvalidBudget, match="noise must be"):
        DirichletResampling(2, 0, 3)
    with pytest.raises(InvalidInput, match="draws must be a whole number"):
        DirichletResampling(2, 1, -1)
    with pytest.raises(InvalidInput, match="too many outputs"):
        DirichletResampling(50, 1, 50).law([0] * 50)


def test_what_is_not_said_is_pure():
    assert ProbableDirichlet(SPARSE, F(3, 4), F(5)).delta == 0
    assert ProbableDirichlet.calibrated(SPARSE, 5) == ProbableDirichlet.calibrated(SPARSE, 5, 0)
    assert ProbableDirichlet.for_ratio(SPARSE, 20) == ProbableDirichlet.for_ratio(SPARSE, 20, 0)
    assert ProbableDirichlet.for_ratio(SPARSE, 20).delta == ProbableDirichlet.calibrated(SPARSE, 5).delta == 0


def test_a_worker_or_a_certain_block_is_enough_to_draw_from():
    for facts in (PublicFacts(2, 3, (BlockClass(3, "1/2"),)), PublicFacts(0, 3, (BlockClass(1), BlockClass(2, "1/2")))):
        assert ProbableDirichlet(facts, F(3, 4), F(5)).facts == facts
