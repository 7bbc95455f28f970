"""A budget of each month under attack: the weaker ways lose more than they claim, tacit does not, and planted bugs show."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest

from tacit.data.catalog.periods import begun_through
from tacit.data.prepare import prepare
from tacit.data.store import store_info
from tacit.errors import InvalidInput
from tacit.evidence.attacks import periods as attacks
from tacit.evidence.attacks import scratch
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.law import worst_log_ratio
from tacit.query import periods as planned
from tacit.query.price import lifetime


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setattr("tacit.data_set.OWN_PROCESS", False)


def by_name(**more):
    return {way.name: way for way in attacks.periods(**{"months": 4, **more}).ways}


def test_the_weaker_ways_lose_more_than_they_claim_and_tacit_does_not():
    ways = by_name(epsilon="0.5", lifetime=1)
    assert {name: (way.weaker, way.tacit, way.claim) for name, way in ways.items()} == {
        "many months": (2, 1, 1),
        "late row": (inf, Fraction(1, 2), Fraction(1, 2)),
        "anti-join": (1.5, Fraction(1, 2), Fraction(1, 2)),
        "totals": (1, Fraction(1, 2), Fraction(1, 2)),
    }
    assert all(way.holds for way in ways.values())
    assert "AND DATE_TRUNC('month', visits.day) = DATE_TRUNC('month', labs.taken)" in ways["anti-join"].said


def test_losses_are_those_of_the_laws():
    """How far a count moves, over the scale, is what the exact law of its noise loses."""
    for moved in (1, 3):
        one, other = (Laplace(1, 1, step=1, on_grid=True).law(value) for value in (0, moved))
        assert float(worst_log_ratio(one, other)) == pytest.approx(moved, abs=1e-6)


SMALL = attacks._Clinic(3, Fraction(1), Fraction(2))


def attacked(attack):
    with SMALL.open() as data:
        return attack(SMALL, data.session())


def test_a_lifetime_that_is_charged_one_period_is_caught(monkeypatch):
    real = lifetime.whole_person
    monkeypatch.setattr(lifetime, "whole_person", lambda quote: replace(real(quote), epsilon=Fraction(1, 100)))
    way = attacked(attacks._many_months)
    assert way.tacit > way.claim


def test_an_anti_join_on_the_person_alone_is_caught(monkeypatch, disagreeing):
    monkeypatch.setattr(planned, "_same_period", lambda *_: True)
    way = attacked(attacks._anti_join)
    assert (way.said, way.holds) == ("Answered.", False)


def test_totals_over_two_months_at_the_price_of_a_removal_are_caught(monkeypatch, disagreeing):
    monkeypatch.setattr(planned, "_determined", lambda *_: True)
    way = attacked(attacks._totals)
    assert (way.said, way.tacit) == ("Answered.", 2)


def test_a_version_that_moves_only_where_a_row_came_is_caught(monkeypatch):
    """Planted: what was prepared before keeps its version unless its rows changed."""
    before: list[bytes] = []

    def prepared(data, through):
        rows = (data.catalog.kept.parent / "visits.csv").read_bytes()
        prepare(begun_through(data.catalog, through, None), keep_version=rows in before and store_info(data.catalog) is not None)
        before[:] = [rows]

    monkeypatch.setattr(scratch, "_prepare", prepared)
    way = attacks._late_row(SMALL)
    assert (way.tacit, way.holds) == (inf, False)


@pytest.mark.parametrize(("more", "what"), [({"months": 2}, "months must be"), ({"lifetime": 9}, "lifetime must be")])
def test_what_cannot_be_attacked_is_said(more, what):
    with pytest.raises(InvalidInput, match=what):
        by_name(**more)
