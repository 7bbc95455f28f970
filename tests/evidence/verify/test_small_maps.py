"""Small maps: neighbours, weights of bad outputs, and worlds in which the planted claims are passed."""

from __future__ import annotations

from fractions import Fraction

from tacit.evidence.verify import small_maps
from tacit.evidence.verify.small_maps import exhaustive, laws, neighbours_of, pairs, plant_cases, worst_weight
from tacit.evidence.verify.trial import Effort
from tacit.mechanisms.dirichlet.calibration import PublicFacts
from tacit.mechanisms.noise.urn import BlockClass

ONE_WORKER = PublicFacts(1, 6, (BlockClass(2),))


def test_a_neighbour_is_one_worker_who_moved():
    assert set(neighbours_of((2, 1, 0))) == {(1, 2, 0), (1, 1, 1), (3, 0, 0), (2, 0, 1)}
    assert len(pairs(PublicFacts(2, 1, (BlockClass(3),)))) == 9


def test_the_weight_of_outputs_beyond_a_ratio():
    """One worker, six draws, one fake worker: only all six in one block is told by as much as 7."""
    known = laws(ONE_WORKER, Fraction(1))
    assert worst_weight(known, Fraction(7)) == 0
    assert worst_weight(known, Fraction(699, 100)) == known[1, 0][6, 0] + known[1, 0][0, 6]


def test_sound_worlds_hold_and_planted_ones_do_not():
    assert all(not case.run(Effort()).broken for case in exhaustive())
    assert {plant for plant, _ in plant_cases()} == {"fakes", "occupied", "counted", "tails", "prior"}
    assert all(case.run(Effort(samples=16)).broken for _, (_, case) in plant_cases())


def test_the_sound_claims_say_something():
    """A delta of one would hold in every world."""
    assert all(claim.delta < Fraction(1, 2) for claim in (small_maps._two_blocks(), small_maps._sparse()))
