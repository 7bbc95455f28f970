"""Randomizers in the suite: what is planted is wrong in the way it says, and drawn as it is listed."""

from fractions import Fraction
from itertools import product
from math import prod

import pytest

from chance import CHANCE
from tacit.evidence.verify.contract import disagreement
from tacit.evidence.verify.local_answers import Told, cases, draw, every_ratio, plant_cases, randomizers, several_reports
from tacit.evidence.verify.trial import Effort
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.rappor import Rappor
from tacit.publish.local.randomizers.unary import Unary, pack

PLANTS = {name: case for name, (_, case) in plant_cases()}


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
    mechanism, (spoiled, _) = PLANTS[plant].mechanism, dict(plant_cases())[plant]
    assert isinstance(mechanism, Told)
    assert mechanism.loss.epsilon == 1
    assert not mechanism.channel.within(1)
    assert randomizers(Fraction(1))[spoiled].channel.within(1)


def test_a_plant_draws_what_it_lists():
    """10,000 draws."""
    channel = PLANTS["keep"].mechanism.channel
    drawn = [draw(channel, 1) for _ in range(10_000)]
    assert disagreement(drawn, channel.law(1), CHANCE) is None
    assert disagreement(drawn, KAry(4, 1).law(1), CHANCE) is not None


def test_names_are_different():
    assert len(randomizers(Fraction(1))) == len(cases()) == len({case.name for case in cases()})


@pytest.mark.parametrize("times", [1, 4])
def test_several_reports_of_one_answer(times):
    """By all permanent answers and all reports of them, one by one; more reports tell more, and never more than the answer."""
    answer = Rappor(2, 1)
    kept, report = answer.permanent, Unary.with_chances(2, answer.one, answer.zero)
    slow = {}
    for bits in product((0, 1), repeat=2):
        weight = kept.channel.law(0).probabilities[tuple(pack(bits).tolist())]
        for reports in product(product((0, 1), repeat=2), repeat=times):
            counts = tuple(sum(column) for column in zip(*reports, strict=True))
            chance = prod(
                (report.hit if bit else report.false_hit) if one else 1 - (report.hit if bit else report.false_hit)
                for each in reports
                for bit, one in zip(bits, each, strict=True)
            )
            slow[counts] = slow.get(counts, 0) + float(weight) * float(chance)
    listed = several_reports(answer, times).law(0).probabilities
    assert {counts: float(chance) for counts, chance in listed.items()} == pytest.approx(slow, abs=1e-12)
    assert several_reports(answer, times).within(1)
    assert several_reports(answer, times).epsilon >= answer.epsilon_once * Fraction(999, 1000)


def test_fresh_permanent_answers_pass_the_claim():
    """Planted: four reports, each of a permanent answer of its own."""
    once = Rappor(3, 1).once
    worst = once.channel.worst_ratio**4
    assert worst > several_reports(Rappor(3, 1), 4).worst_ratio
    assert float(worst) > 2.7183
