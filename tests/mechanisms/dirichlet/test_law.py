"""The listed law: of no draws too, and as long as it may be."""

from fractions import Fraction

import pytest

from tacit.errors import InvalidInput
from tacit.mechanisms.dirichlet import law as module
from tacit.mechanisms.dirichlet.calibration import PublicFacts
from tacit.mechanisms.dirichlet.law import urn_chances
from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
from tacit.mechanisms.noise.urn import BlockClass


def test_no_draws_have_one_output():
    assert urn_chances([Fraction(1), Fraction(3)], 0) == {(0, 0): 1}


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
