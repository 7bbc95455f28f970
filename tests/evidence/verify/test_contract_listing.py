"""Draws against a listed law."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

import toys
from chance import CHANCE
from tacit.evidence.verify.contract import disagreement
from tacit.privacy.law import Law


def outputs(mechanism, value, count=20_000):
    return [mechanism.release(value) for _ in range(count)]


def test_a_sound_sampler_agrees():
    assert disagreement(outputs(toys.Toy(), 4), toys.Toy().law(4), CHANCE) is None


def test_a_tenth_less_noise_is_found():
    assert disagreement(outputs(toys.LyingLaw(), 4), toys.LyingLaw().law(4), CHANCE)


def test_an_output_that_the_law_does_not_list_is_found():
    law = Law({0: Decimal("0.5"), 1: Decimal("0.5")})
    assert "does not list" in (disagreement([0, 1] * 500 + [2] * 30, law, CHANCE) or "")


def test_unlisted_outputs_are_allowed_as_far_as_the_law_misses_some():
    law = Law({0: Decimal("0.5"), 1: Decimal("0.4")}, missing=Decimal("0.1"))
    assert disagreement([0] * 500 + [1] * 400 + [2] * 100, law, CHANCE) is None
    assert disagreement([0] * 200 + [1] * 400 + [2] * 400, law, CHANCE)


def test_outcomes_that_cannot_be_ordered_are_compared_one_by_one():
    law = Law({"yes": Decimal("0.5"), 1: Decimal("0.25"), (1, 2): Decimal("0.25")})
    assert disagreement(["yes", 1, "yes", (1, 2)] * 100, law, CHANCE) is None
    assert disagreement(["yes", 1, 1, np.array([1, 2])] * 100, law, CHANCE)


def test_many_rare_outcomes_are_compared_by_their_class():
    """A thousand cells of one cost, drawn a fifth too often: no cell by itself shows it, nor do ends of the order."""
    cells = {k: Decimal("0.0004") if k % 2 else Decimal("0.0006") for k in range(2000)}
    odd, even = [k for k in cells if k % 2], [k for k in cells if not k % 2]
    drawn = [odd[k % 1000] for k in range(1040)] + [even[k % 1000] for k in range(960)]
    assert "probability 0.6000 came 960 times" in (disagreement(drawn, Law(cells), CHANCE) or "")
