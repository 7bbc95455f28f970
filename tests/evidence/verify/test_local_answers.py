"""Randomizers in the suite: what is planted is wrong in the way it says, and drawn as it is listed."""

from fractions import Fraction

import pytest

from tacit.evidence.verify.listing import disagreement
from tacit.evidence.verify.local_answers import PlantedChannel, cases, draw, every_ratio, planted, randomizers
from tacit.evidence.verify.trial import Effort
from tacit.publish.local.categories import KAry

PLANTS = {name: case for name, (_, case) in planted()}


def test_every_kind_is_tried_on_its_worst_pair():
    for case in cases():
        channel = case.mechanism.channel
        listed = [channel.row(value) for pair in case.pairs[:1] for value in pair] if len(channel.inputs) > 6 else channel.rows
        worst = max(max(column) / min(column) for column in zip(*listed, strict=True))
        assert worst == channel.worst_ratio


def test_every_ratio_is_looked_at():
    row = every_ratio().run(Effort(samples=1))
    assert row.broken == ()
    assert row.measured == "1.0000"


@pytest.mark.parametrize("plant", PLANTS)
def test_a_plant_is_above_its_claim(plant):
    mechanism = PLANTS[plant].mechanism
    assert isinstance(mechanism, PlantedChannel)
    assert mechanism.loss.epsilon == 1
    assert not mechanism.actual.within(1)
    assert mechanism.claim.channel.within(1)


def test_a_plant_draws_what_it_lists():
    """10,000 draws, false alarm 1e-9."""
    channel = PLANTS["keep"].mechanism.actual
    drawn = [draw(channel, 1) for _ in range(10_000)]
    assert disagreement(drawn, channel.law(1), 1e-9) is None
    assert disagreement(drawn, KAry(4, 1).law(1), 1e-9) is not None


def test_names_are_different():
    assert len(randomizers(Fraction(1))) == len(cases()) == len({case.name for case in cases()})
