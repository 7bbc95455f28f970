"""Texts of events: one of each kind, for ever; and back without loss."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given

from ledgers import UNIT, events
from tacit.accounting.events import (
    AboveThreshold,
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
    NoisyMax,
    Parallel,
    RandomizedAnswer,
    Resampling,
    SmoothNoise,
    ThresholdedKeys,
)
from tacit.accounting.ledger.entries import KINDS, event_from, event_text
from tacit.errors import InvalidInput, UnknownEvent
from tacit.privacy.loss import CHANGE_ONE

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)

# A text here is never changed: ledgers hold it. A new meaning is a new kind.
TEXTS = {
    '{"kind":"laplace","neighbours":"add-remove unit","scale":"4","sensitivity":"1/2"}': LaplaceNoise(HALF, Fraction(4), UNIT),
    '{"delta":"1/1000","kind":"gaussian","neighbours":"add-remove unit","scale":"4","sensitivity":"2"}': GaussianNoise(
        Fraction(2), Fraction(4), Fraction(1, 1000), UNIT
    ),
    '{"delta":"1/1000","epsilon":"1/3","kind":"gaussian-one","neighbours":"add-remove unit","scale":"9","sensitivity":"1"}': (
        GaussianNoiseOne(Fraction(1), Fraction(9), THIRD, Fraction(1, 1000), UNIT)
    ),
    '{"epsilon":"1/3","kind":"exponential","neighbours":"change-one row"}': ExponentialChoice(THIRD, CHANGE_ONE),
    '{"epsilon":"1/3","kind":"bounded-range","neighbours":"add-remove unit"}': BoundedRangeChoice(THIRD, UNIT),
    '{"epsilon":"1/3","kind":"noisy-max","neighbours":"add-remove row"}': NoisyMax(THIRD),
    '{"epsilon_answers":"1/3","epsilon_threshold":"1/2","kind":"above-threshold","neighbours":"add-remove row","positives":5}': (
        AboveThreshold(HALF, THIRD, 5)
    ),
    '{"epsilon":"1/3","kind":"randomized-answer","neighbours":"change-one row"}': RandomizedAnswer(THIRD),
    '{"alpha":"1/9","beta":"1/8","delta":"0","epsilon":"1/3","gamma":null,"kind":"smooth","neighbours":"add-remove row"}': (
        SmoothNoise(THIRD, Fraction(0), Fraction(1, 9), Fraction(1, 8), None)
    ),
    '{"delta":"1/1000","epsilon":"1/3","kind":"thresholded-keys","max_groups":3,"neighbours":"add-remove row","threshold":40}': (
        ThresholdedKeys(THIRD, Fraction(1, 1000), 3, 40)
    ),
    '{"delta":"1/1000","kind":"gaussian-keys","max_groups":4,"neighbours":"add-remove row","scale":"9","sensitivity":"2",'
    '"threshold":40}': (GaussianKeys(Fraction(2), Fraction(9), Fraction(1, 1000), 4, 40)),
    '{"delta":"1/1000","epsilon":"1/3","kind":"resampling","neighbours":"change-one row"}': Resampling(THIRD, Fraction(1, 1000)),
    '{"events":[{"epsilon":"1/3","kind":"noisy-max","neighbours":"add-remove row"}],"kind":"batch"}': Batch((NoisyMax(THIRD),)),
    '{"delta":"1/1000","epsilon":"1/3","events":[{"delta":"0","kind":"gaussian","neighbours":"add-remove unit","scale":"9",'
    '"sensitivity":"1"}],"kind":"calibrated-gaussian"}': (
        CalibratedGaussian((GaussianNoise(Fraction(1), Fraction(9), Fraction(0), UNIT),), THIRD, Fraction(1, 1000))
    ),
    '{"delta":"1/1000","epsilon":null,"kind":"adaptive-rounds","neighbours":"add-remove unit","rho":"1/3"}': (
        AdaptiveRounds(None, THIRD, Fraction(1, 1000), UNIT)
    ),
    '{"events":[{"epsilon":"1/3","kind":"noisy-max","neighbours":"add-remove row"}],"kind":"parallel"}': (
        Parallel((NoisyMax(THIRD),))
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_each_kind_stays(text):
    assert event_text(TEXTS[text]) == text
    assert event_from(text) == TEXTS[text]


def test_every_event_has_a_kind_and_a_text_here():
    assert set(KINDS.values()) == set(get_args(Event))
    assert {type(event) for event in TEXTS.values()} == set(get_args(Event))


@given(events)
def test_a_text_and_back(event):
    assert event_from(event_text(event)) == event


def test_equal_events_have_equal_texts():
    assert event_text(LaplaceNoise(1, 4, UNIT)) == event_text(LaplaceNoise(Fraction(1), Fraction(4), UNIT))


def test_a_float_is_no_exact_number():
    with pytest.raises(InvalidInput, match="exact numbers, not float"):
        event_text(LaplaceNoise(0.5, Fraction(4), UNIT))
    with pytest.raises(InvalidInput, match="whole numbers"):
        event_text(ThresholdedKeys(THIRD, THIRD, Fraction(1, 2), 4))


@pytest.mark.parametrize(
    "change",
    [{"kind": "laplas"}, {"kind": None}, {"more": "1"}, {"scale": None, "kind": "exponential"}],
    ids=["unknown kind", "no kind", "a field too many", "unexpected fields"],
)
def test_what_was_not_written_here_is_no_event(change):
    known = json.loads(next(iter(TEXTS)))
    with pytest.raises(UnknownEvent, match="newer version"):
        event_from(json.dumps(known | change))


def test_a_class_of_its_own_has_no_text():
    @dataclass(frozen=True)
    class Foreign:
        epsilon: Fraction

    with pytest.raises(UnknownEvent, match="Foreign cannot be stored"):
        event_text(Foreign(THIRD))
