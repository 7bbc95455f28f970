"""Examples of a blackboard: by the laws of the mechanisms themselves, and by listing what there is to list."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.evidence.attacks.exponential_adversary import HalfWay
from tacit.evidence.lessons.blackboard import colours, counties, difference, thresholds, urn, weeding
from tacit.mechanisms.dirichlet.law import urn_chances
from tacit.mechanisms.laplace import Laplace


def test_the_urn_is_that_of_the_mechanism() -> None:
    first, second = (urn_chances([Fraction(red), Fraction(10 - red)], 6)[6, 0] for red in (1, 2))
    found = urn().to_dict()
    assert (found["first"], found["second"]) == (float(first), float(second))
    assert (first, second / first, found["ratio"]) == (Fraction(720, 3603600), 7, 7.0)


@pytest.mark.parametrize(("noise", "draws"), [("1/2", 3), (2, 4), ("0.3", 5)])
def test_no_outcome_of_the_urn_has_a_larger_ratio(noise: str, draws: int) -> None:
    weight = Fraction(noise)
    laws = [urn_chances([weight + at, weight + 1 - at, weight + 2], draws) for at in (0, 1)]
    worst = max(one / other for outcome in laws[0] for one, other in [(laws[1][outcome], laws[0][outcome])])
    assert float(worst) == urn(3 * weight + 3, weight, draws).to_dict()["ratio"]


def test_counties_by_listing_the_urns() -> None:
    for empty, key in ((0, "occupied"), (1, "every")):
        found = counties(noise=1, others=3, draws=4).to_dict()[key]
        seen = []
        for somerset, fayette in ((2, empty), (empty, 2)):
            masses = [Fraction(mass) for mass in (somerset, fayette, 4) if mass]
            place = 0 if somerset else None
            law = urn_chances(masses, 4)
            seen.append(float(sum(chance for counts, chance in law.items() if place is not None and counts[place])))
        assert [found["on_d1"], found["on_d2"]] == pytest.approx(seen)
    assert found["ratio"] == 5
    assert counties().to_dict()["occupied"]["belief"] == 1


def test_colours_by_the_laws_of_the_noise() -> None:
    found = colours(rows=3, epsilon=1).to_dict()
    assert (found["databases"], found["pairs"], found["distance"]) == (27, 81, 2)
    noise = Laplace(2, 1, step=1, on_grid=True)
    laws = [[noise.law(count).probabilities for count in counts] for counts in ((2, 1, 0), (2, 0, 1))]
    ratios = [
        float(laws[0][1][green] * laws[0][2][red] / (laws[1][1][green] * laws[1][2][red]))
        for green, red in product(range(-5, 6), repeat=2)
    ]
    assert max(ratios) == pytest.approx(found["ratio"])


@pytest.mark.parametrize("epsilon", [0.2, 1, 4])
def test_the_guess_from_two_noisy_counts_is_right_as_often_as_the_laws_say(epsilon: float) -> None:
    law = Laplace(2, epsilon, step=1, on_grid=True).law(0).probabilities
    shifts = [(shift, float(chance)) for shift, chance in law.items() if chance > 1e-12]
    right = sum(one * other for shift, one in shifts for back, other in shifts if shift - back >= 0)
    found = difference("101", 1, epsilon).to_dict()
    assert found["right"] == pytest.approx(right, abs=1e-9)
    assert found["right"] <= found["at_most"] == pytest.approx(exp(epsilon) / (1 + exp(epsilon)))
    assert found["bit"] == 1


def test_thresholds_hold_for_the_answers_that_hide_most() -> None:
    found = {row["alpha"]: row for row in thresholds(40).to_dict()["rows"]}
    assert (found[1]["right"], found[20]["right"]) == (0.9, 0)
    for alpha in (1, 2, 4):
        answers = HalfWay.worst(np.arange(40) % 2, alpha)
        assert int((answers.other != answers.truth).sum()) == found[alpha]["wrong"]


def test_weeding_agrees_with_all_subsets() -> None:
    assert weeding().to_dict() == {"differ": 3, "largest": 2, "ruled_out": True}
    assert not weeding(alpha=1).to_dict()["ruled_out"]
    for candidate in map("".join, product("01", repeat=4)):
        gaps = [
            abs(sum(int(candidate[at]) - int("0110"[at]) for at, chosen in enumerate(subset) if chosen))
            for subset in product((0, 1), repeat=4)
        ]
        assert weeding("0110", candidate, "0.5").to_dict()["ruled_out"] == (max(gaps) > 1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: urn(mass=1, noise=1),
        lambda: urn(noise=0),
        lambda: urn(draws=0),
        lambda: counties(noise=0),
        lambda: colours(rows=8),
        lambda: difference("012"),
        lambda: difference("01", person=3),
        lambda: thresholds(1),
        lambda: weeding("01", "011"),
        lambda: weeding(alpha=-1),
    ],
)
def test_wrong_numbers_are_refused(wrong) -> None:
    with pytest.raises(InvalidInput):
        wrong()
