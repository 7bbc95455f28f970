"""The training of a small world: the sound designs nearly reach their claims, and every planted one passes its own."""

from __future__ import annotations

from tacit.evidence.verify.small_training import exhaustive, plant_cases
from tacit.evidence.verify.trial import Effort


def test_the_sound_designs_hold_and_nearly_reach_their_claims() -> None:
    """All but half of the first step, which begins at a chance of one half."""
    for case in exhaustive():
        row = case.run(Effort(samples=16))
        assert not row.broken
        assert 0.93 < row.share <= 1


def test_planted_designs_are_caught() -> None:
    planted = dict(plant_cases())
    assert set(planted) == {"rows", "step", "column"}
    for name, (_, case) in planted.items():
        row = case.run(Effort(samples=16))
        assert row.broken, name
        assert row.share > 1.4, name
