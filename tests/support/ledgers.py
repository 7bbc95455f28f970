"""Policies, events and fresh places for the tests of the ledger."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from hypothesis import strategies as st

from tacit.accounting.events import (
    AdaptiveRounds,
    Batch,
    BoundedRangeChoice,
    CalibratedGaussian,
    Event,
    ExponentialChoice,
    GaussianKeys,
    GaussianNoise,
    GaussianNoiseOne,
    LaplaceNoise,
    Resampling,
    SmoothNoise,
    ThresholdedKeys,
)
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.units import Policy
from tacit.errors import InvalidInput, NoLedger
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.loss import Neighbours

UNIT = Neighbours("add-remove", "unit")
IDENTITY = "ab" * 16
OTHER_IDENTITY = "cd" * 16


def policy(epsilon: object = 1, delta: object = 0, *analysts: Analyst, change: str = "add-remove", **more) -> Policy:
    named = {analyst.name: analyst for analyst in analysts}
    return Policy(Budget(Fraction(str(epsilon)), Fraction(str(delta))), named, Neighbours(change, "unit"), **more)


def opened(address: str, declared: Policy, identity: str = IDENTITY) -> Ledger:
    """The ledger at an address, begun where there is none."""
    try:
        return open_ledger(address, declared)
    except NoLedger:
        with suppress(InvalidInput):  # another thread or process was first
            return begin_ledger(address, declared, identity)
        return open_ledger(address, declared)


def pure(epsilon: object) -> Event:
    """An event that costs a pure epsilon."""
    return ExponentialChoice(Fraction(str(epsilon)), UNIT)


def spend(ledger, event: Event, analyst: str = "curator"):
    return ledger.spend(event, analyst, question="q", data_version="v")


small = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(1, 2), max_denominator=300)
tiny = st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(3, 10**8), Fraction(1, 7 * 10**7)])
single_events = st.one_of(
    st.builds(LaplaceNoise, st.integers(1, 3).map(Fraction), st.integers(4, 40).map(Fraction), st.just(UNIT)),
    st.builds(GaussianNoise, st.integers(1, 3).map(Fraction), st.integers(8, 90).map(Fraction), tiny, st.just(UNIT)),
    st.builds(GaussianNoiseOne, st.just(Fraction(1)), st.just(Fraction(9)), small, tiny, st.just(UNIT)),
    st.builds(CalibratedGaussian, st.just((GaussianNoise(Fraction(1), Fraction(9), Fraction(0), UNIT),)), small, tiny),
    st.builds(ExponentialChoice, small, st.just(UNIT)),
    st.builds(BoundedRangeChoice, small, st.just(UNIT)),
    st.builds(SmoothNoise, small, tiny, small, small, st.none() | st.just(Fraction(4)), st.just(UNIT)),
    st.builds(AdaptiveRounds, st.none() | small, small, tiny, st.just(UNIT)),
    st.builds(Resampling, small, tiny, st.just(UNIT)),
    st.builds(GaussianKeys, st.just(Fraction(2)), st.integers(9, 90).map(Fraction), tiny, st.just(4), st.just(60), st.just(UNIT)),
    st.builds(ThresholdedKeys, small, tiny, st.integers(1, 5), st.integers(1, 50), st.just(UNIT)),
)
events = single_events | st.lists(single_events, min_size=1, max_size=3).map(lambda parts: Batch(tuple(parts)))
