"""The adversary finds the longest commute on a true and on a naive map, not on a private one; too little noise is caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.longest_commute import attack_naive_map, attack_private_map, longest_commute, naive, targets
from tacit.mechanisms.noise.urn import polya_urn
from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.geography import Domain
from tacit.publish.synthetic.commuters.model import Offer, Terms, draw_map, offered

STATE = made_state(blocks=2000, workplaces=30, jobs=8000)
TOTALS = STATE.totals(STATE.blocks.zones("tract"))
HOMES = STATE.homes(TOTALS)
ZONES = STATE.blocks.zones("blockgroup")
DELTA = 1e-9  # of each map: with at most 100 targets and 10 maps a false alarm comes once in a million times


def offer(terms: Terms) -> Offer:
    return offered(TOTALS, ZONES, terms)


def test_bob_is_alone_in_the_farthest_origin():
    domain = Domain(np.array(list("abcde"), dtype=object), np.array([0.0, 5.0, 9.0, 12.0, np.nan]), np.arange(5))
    (bob,) = targets([domain], [(np.array([0, 1, 2, 4]), np.array([3, 4, 1, 2]))])
    assert (bob.home, bob.candidates.tolist()) == (2, [2, 3])
    assert not list(targets([domain], [(np.array([0, 2]), np.array([3, 2]))])), "two workers there: nobody is alone"
    assert not list(targets([domain], [(np.array([2, 3]), np.array([3, 1]))])), "nowhere else is as far: nothing is left to learn"


def test_found_on_the_true_and_the_naive_map_and_not_on_the_private_one():
    found = longest_commute(offer(Terms(20, DELTA)), HOMES, maps=10)
    true, careless, private = found.outcomes
    assert 10 <= found.targets <= 100
    assert (true.found, true.certain, true.odds) == (1.0, 1.0, float("inf"))
    assert careless.certain > 0.5, "a worker is drawn more often than not: 1 - 2^-(1 + noise) of the time"
    assert careless.odds == float("inf")
    assert private.certain == 0
    assert private.found < 0.5
    assert private.odds <= 20
    assert found.holds
    assert "with certainty" in found.summary()
    assert found.to_dict()["against"]["true map"]["odds"] == "infinite"


def test_pure_maps_hide_bob_better_still():
    found = longest_commute(offer(Terms(2)), HOMES, maps=2)
    assert found.outcomes[-1].odds <= 2, "for every output, without exception"


def test_noise_that_is_too_small_is_caught():
    """The planted bug: a tenth of the noise under the same claim. The adversary knows the noise, as it is public."""
    sound = offer(Terms(20, DELTA))

    def too_little(made: Offer, homes):
        for mechanism, truth in zip(made.mechanisms, homes.counts(made.domains()), strict=True):
            yield polya_urn(truth.unseal(), mechanism.noise / 10, mechanism.facts.classes, mechanism.facts.draws)

    domains = list(sound.domains())
    looked_for = tuple(targets(domains, [counted.unseal() for counted in HOMES.counts(domains)]))
    shown = [list(too_little(sound, HOMES)) for _ in range(10)]
    tenth = [noise / 10 for noise in sound.noises]
    caught = attack_private_map(looked_for * 10, [maps[bob.destination] for maps in shown for bob in looked_for], tenth, "planted")
    assert caught.odds > 20
    honest = [list(draw_map(sound, HOMES)) for _ in range(10)]
    assert (
        attack_private_map(
            looked_for * 10, [maps[bob.destination] for maps in honest for bob in looked_for], sound.noises, "sound"
        ).odds
        <= 20
    )


def test_a_naive_map_shows_occupied_origins_only():
    truth = (np.array([3, 7, 9]), np.array([5, 2, 1]))
    for _ in range(20):
        cells, jobs = naive(Fraction(1), draws=13)(truth)
        assert set(cells.tolist()) <= {3, 7, 9}
        assert int(jobs.sum()) == 13
    domain = Domain(np.array([str(i) for i in range(11)], dtype=object), np.append(np.arange(10.0), np.nan), np.arange(11))
    (bob,) = targets([domain], [(np.array([0, 2, 8]), np.array([5, 2, 1]))])
    nothing = attack_naive_map([bob], [(np.array([0, 2]), np.array([6, 2]))], "not drawn")
    assert (nothing.certain, nothing.found, nothing.odds) == (0, nothing.guessing, 1)


def test_dropping_and_maps_without_a_bob_are_refused():
    with pytest.raises(InvalidInput, match="keep-chances"):
        longest_commute(offer(Terms(20, DELTA, "uniform:0.5")), HOMES)
    with pytest.raises(InvalidInput, match="a prior"):
        longest_commute(offer(Terms(20, 1e-9, prior="distance")), HOMES)
    one = made_state(blocks=30, workplaces=1, jobs=3000)
    totals = one.totals(one.blocks.zones("county"))
    with pytest.raises(InvalidInput, match="no target found"):
        longest_commute(offered(totals, one.blocks.zones("county"), Terms(20)), one.homes(totals))


def test_a_broken_claim_does_not_hold():
    found = longest_commute(offer(Terms(20, DELTA)), HOMES, maps=1)
    assert not replace(found, ratio=1.0).holds
