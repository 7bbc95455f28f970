"""Small families: the loss of a unit with its rows in both tables is near the claim, and planted bugs exceed it."""

from __future__ import annotations

from tacit.evidence.verify.small_families import _sound, plant_cases
from tacit.evidence.verify.trial import Effort


def test_the_loss_of_a_family_is_near_its_claim_and_that_of_the_plants_above() -> None:
    check = _sound().check()
    assert check.holds
    assert 0.9 < (check.measured or 0) <= 1, "all but the choice between one pair is noise, which is told in full"
    plants = dict(plant_cases())
    assert set(plants) == {"child", "unlimited"}
    assert all(case.run(Effort(samples=16)).broken for _, case in plants.values())
