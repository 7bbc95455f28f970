"""The listed law: of no draws too, and as long as it may be."""

from fractions import Fraction

import pytest

from tacit.errors import InvalidInput
from tacit.mechanisms.dirichlet import law as module
from tacit.mechanisms.dirichlet.calibration import PublicFacts
from tacit.mechanisms.dirichlet.law import resampling_chances, urn_chances
from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
from tacit.mechanisms.noise.urn import BlockClass


def test_no_draws_have_one_output():
    assert urn_chances([Fraction(1), Fraction(3)], 0) == {(0, 0): 1}


def test_an_empty_block_has_its_noise_as_often_as_it_is_kept():
    """One worker, noise 1, one draw: of the kept empty block with 1 of 3 shares, and never of one that is left out."""
    third = Fraction(1, 3)
    assert resampling_chances([1, 0], Fraction(1), [third, third], 1) == {(1, 0): Fraction(8, 9), (0, 1): Fraction(1, 9)}
    assert resampling_chances([1, 0], Fraction(1), [third, Fraction(1)], 1) == {(1, 0): 2 * third, (0, 1): third}
    two = resampling_chances([1, 0, 0], Fraction(1), [third, third, Fraction(1)], 1)
    assert two == {(1, 0, 0): Fraction(11, 18), (0, 1, 0): Fraction(1, 12), (0, 0, 1): Fraction(11, 36)}
    assert sum(two.values()) == 1


def test_blocks_that_are_kept_for_certain_need_no_worker():
    """There is no set without them, from which nothing could be drawn."""
    half = Fraction(1, 2)
    assert resampling_chances([0, 0], Fraction(3), [Fraction(1)] * 2, 1) == {(1, 0): half, (0, 1): half}


def test_as_many_outputs_as_there_may_be_are_listed(monkeypatch):
    """Three draws of three blocks have ten outputs."""
    masses = [Fraction(1)] * 3
    monkeypatch.setattr(module, "MOST_OUTPUTS", 10)
    assert len(urn_chances(masses, 3)) == 10
    monkeypatch.setattr(module, "MOST_OUTPUTS", 9)
    with pytest.raises(InvalidInput, match="too many outputs"):
        urn_chances(masses, 3)


def test_the_law_is_pure_unless_a_delta_is_given():
    """Beside no module that makes such a mechanism when it is loaded: all of those would fail before a test is run."""
    mechanism = ProbableDirichlet(PublicFacts(2, 1, (BlockClass(2),)), Fraction(1), Fraction(2))
    assert mechanism.delta == 0
    assert mechanism.law((2, 0)).probabilities[1, 0] == 3 * mechanism.law((2, 0)).probabilities[0, 1]
