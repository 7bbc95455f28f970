"""The contract: a sound mechanism passes every law, and each law has a mechanism that breaks it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

import toys
from tacit.accounting.events import ExponentialChoice
from tacit.errors import InvalidInput, LawViolated
from tacit.evidence.verify.contract import LAWS, Check, Effort, Report, contract
from tacit.privacy.law import Law
from tacit.privacy.loss import Approximate, Loss, Probabilistic

GENERATOR = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _same_draws():
    """Each test has the same draws, whichever tests run before it."""
    GENERATOR.bit_generator.state = np.random.default_rng(5).bit_generator.state


NEIGHBOURS = [(3, 4), (0, 1), (10, 9)]
EFFORT = Effort(samples=6_000)  # false alarms: 1e-9 a check, some twenty checks a contract

BREAKS = {
    "loss": toys.TooLittleNoise,
    "price": toys.TooCheap,
    "draws": toys.LyingLaw,
    "post-processing": toys.TellingType,
    "composition": toys.NoiseUsedTwice,
    "coverage": toys.NarrowInterval,
    "grid": toys.OffTheGrid,
    "purity": toys.Impure,
}


def test_a_sound_mechanism_passes_every_law():
    report = contract(toys.Toy(), NEIGHBOURS, EFFORT)
    report.require()
    assert {check.law for check in report.checks} == set(LAWS)


@cache
def report_of_the_breaker(law: str) -> Report:
    return contract(BREAKS[law](), NEIGHBOURS, Effort(samples=20_000 if law == "draws" else 6_000))


@pytest.mark.parametrize("law", LAWS)
def test_each_law_has_a_mechanism_that_breaks_it(law):
    assert law in {breach.law for breach in report_of_the_breaker(law).broken}


@pytest.mark.parametrize("law", ["price", "post-processing", "composition", "coverage"])
def test_what_no_other_law_sees(law):
    assert {breach.law for breach in report_of_the_breaker(law).broken} == {law}


def test_an_event_with_less_epsilon_than_is_claimed_is_seen():
    broken = contract(toys.HalfRecorded(), NEIGHBOURS, EFFORT).broken
    assert {breach.law for breach in broken} == {"price"}
    assert "1 where epsilon 0.5 is claimed" in str(broken[-1])


def test_require_raises_with_the_name_of_the_law():
    with pytest.raises(LawViolated, match=r"loss: TooLittleNoise: 1\.1.* where epsilon"):
        contract(toys.TooLittleNoise(), NEIGHBOURS, EFFORT).require()


def test_a_contract_needs_neighbours():
    with pytest.raises(InvalidInput, match="at least one pair"):
        contract(toys.Toy(), [])


@dataclass(frozen=True)
class Unlisted:
    """A mechanism of somebody else: no law, no interval, no step; only releases."""

    inner: Any

    @property
    def event(self) -> ExponentialChoice:
        return ExponentialChoice(self.inner.epsilon)

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    def release(self, value: int) -> Any:
        return self.inner.release(value)


def test_without_a_law_the_loss_is_measured_on_every_pair_from_draws():
    report = contract(Unlisted(toys.Toy()), NEIGHBOURS, EFFORT)
    assert report.holds
    assert [check.law for check in report.checks].count("loss") == len(NEIGHBOURS)


def test_without_a_law_a_doubled_epsilon_is_found_from_draws():
    report = contract(Unlisted(toys.OffTheGrid()), NEIGHBOURS, EFFORT)
    assert "loss" in {breach.law for breach in report.broken}


@dataclass(frozen=True)
class BadOutputs:
    """(0, 0.1): one output in ten comes from one neighbour alone; the others are alike."""

    loss: Loss

    @property
    def event(self) -> ExponentialChoice:
        return ExponentialChoice(self.loss.epsilon)

    def law(self, value: int) -> Law:
        return Law({"bad" if value else "good": Decimal("0.1"), "left": Decimal("0.45"), "right": Decimal("0.45")})

    def release(self, value: int) -> Any:
        return str(GENERATOR.choice(list(self.law(value).probabilities), p=[0.1, 0.45, 0.45]))


def test_a_probabilistic_claim_passes_since_only_its_approximate_form_need_survive_functions():
    contract(BadOutputs(Probabilistic(0, 0.1)), [(0, 1)], Effort(samples=200)).require()


def test_the_same_outputs_break_a_smaller_delta():
    report = contract(BadOutputs(Approximate(0, 0.05)), [(0, 1)], Effort(samples=100))
    assert {"loss", "grid"} <= {breach.law for breach in report.broken}


def test_checks_say_what_was_found():
    report = contract(toys.Toy(), [(3, 4)], EFFORT)
    assert Check("purity", True, "every ratio is finite") in report.checks
    assert all(check.found for check in report.checks)
