"""A stream: the price of all measurements for a period and for a person, by exact laws of small ones; planted prices are caught."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit.accounting.composition import cost_under
from tacit.errors import InvalidInput
from tacit.evidence.verify.contract import Effort, contract
from tacit.mechanisms import stream as module
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.running import Running, strategy
from tacit.mechanisms.stream import Measurement, Stream
from tacit.privacy.sealed import Sealed

HALF = Fraction(1, 2)
SMALL = Stream(most=1, horizon=3, rho=HALF, bits=1)
LIVE = Stream(most=2, horizon=12, rho=HALF, before=2, after=2)


def renyi(shift: int, scale: float, order: float) -> float:
    """The divergence of discrete Gaussian noise moved by a whole number, summed from its law."""
    reach = range(-60 * math.ceil(scale) - abs(shift), 60 * math.ceil(scale) + abs(shift) + 1)
    weight = sum(math.exp(-(at**2) / (2 * scale**2)) for at in reach)
    moved = (order * -(at**2) / (2 * scale**2) + (1 - order) * -((at - shift) ** 2) / (2 * scale**2) for at in reach)
    return math.log(sum(map(math.exp, moved)) / weight) / (order - 1)


def lost(stream: Stream, move: tuple[int, ...], order: float) -> float:
    """What all measurements together lose to a move of the periods: independent noise, so that divergences add up."""
    shifts = (int(stream.weights(at) @ np.array(move[: at + 1])) for at in range(stream.horizon))
    return sum(renyi(shift, float(stream.scale), order) for shift in shifts)


def rho(event: Any, stream: Stream) -> float:
    return float(cost_under(event, stream.neighbours).rho)


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_a_period_pays_for_every_measurement_that_will_read_it(order):
    worst = 0.0
    for at in range(SMALL.horizon):
        move = tuple(int(each == at) for each in range(SMALL.horizon))
        loss = lost(SMALL, move, order)
        assert loss <= order * rho(SMALL.column(at), SMALL) * (1 + 1e-12)
        worst = max(worst, loss)
        row = renyi(int(SMALL.weights(at)[at]), float(SMALL.scale), order)
        if at < SMALL.horizon - 1:
            assert loss > row * 1.05, "planted: the price of the first measurement alone is too little"
    assert worst > 0.9 * order * float(HALF)


@pytest.mark.parametrize("order", [2.0])
def test_a_person_in_every_period_pays_row_by_row(order):
    paid = sum(rho(SMALL.lifetime(at), SMALL) for at in range(SMALL.horizon))
    for move in product((-1, 0, 1), repeat=3):
        assert lost(SMALL, move, order) <= order * paid * (1 + 1e-12)
    assert lost(SMALL, (1, 1, 1), order) == pytest.approx(order * paid, rel=1e-6)
    independent = 3 * float(HALF)
    assert paid > independent * 1.05, "planted: the sum of the periods' own prices is too little"


def test_a_measurement_that_is_lost_is_paid_by_every_period_that_it_reads():
    for at in range(SMALL.horizon):
        for period in range(at + 1):
            row = renyi(int(SMALL.weights(at)[period]), float(SMALL.scale), 2.0)
            assert row <= 2 * rho(SMALL.again(at), SMALL) * (1 + 1e-12)


def test_prices_of_several_series_by_hand():
    """A person's two rows of a period move one series by two; what truncation leaves out is counted for every number drawn."""
    cut = module.discrete.gaussian_truncation(LIVE.scale)
    columns = strategy(12)
    squared = 4 * int((columns**2).sum(axis=0).max())
    for at in range(12):
        whole, again, lifetime = LIVE.column(at), LIVE.again(at), LIVE.lifetime(at)
        assert whole.sensitivity - 1 < math.sqrt(squared) <= whole.sensitivity
        assert (again.sensitivity, lifetime.sensitivity) == (2 * max(columns[at]), 2 * sum(columns[at]))
        assert (whole.delta, again.delta, lifetime.delta) == (4 * (12 - at) * cut, 4 * cut, 4 * cut)


def test_a_stream_of_one_period_is_one_measurement():
    once = Stream(most=3, horizon=1, rho=HALF, bits=1)
    assert strategy(1, 1).tolist() == [[2]]
    assert (once.column(0).sensitivity, once.scale) == (6, 6)
    assert Measurement(once, 0).concentrated


def test_the_price_of_a_person_is_that_of_the_page():
    """About 30 times that of independent answers at 120 months."""
    months = Stream(1, 120, HALF)
    whole = sum(rho(months.lifetime(at), months) for at in range(120))
    assert 25 < whole / (120 * 0.5) < 35


def test_totals_are_as_accurate_as_those_of_one_question():
    periods = 120
    stream = Stream(1, 120, HALF).running(periods)
    totals = stream.deviations([(0, last) for last in range(1, periods + 1)])
    alone = Gaussian(1, HALF, step=1, dimension=periods, on_grid=True)
    added = float(alone.scale) * np.sqrt(np.arange(1, periods + 1))
    assert math.sqrt(float((totals**2).sum() / (added**2).sum())) <= 0.305


def test_the_estimates_of_a_stream_are_those_of_its_series(monkeypatch):
    """Measured one after the other, without noise: exact cells, for several series at once, as many periods as there are so far."""
    monkeypatch.setattr(module.discrete, "draw_gaussian", lambda scale, size: np.zeros(size, dtype=np.int64))
    cells = np.arange(2 * 5 * 2).reshape(2, 5, 2).astype(object) ** 3 + 10**20
    numbers = [
        Measurement(LIVE, at).numbers(Measurement(LIVE, at).release_units(Sealed(cells[:, : at + 1, :].reshape(-1))))
        for at in range(5)
    ]
    assert LIVE.running(5).estimated(np.array(numbers, dtype=object)).tolist() == cells.reshape(-1).tolist()
    assert LIVE.running(12) == replace(Running(2, 2, HALF, (2, 12, 2)), horizon=12)


def test_the_first_rows_of_a_strategy_are_those_of_the_horizon():
    assert (LIVE.running(5)._weights() == strategy(12)[:5, :5]).all()
    assert (LIVE.running(5)._weights() != strategy(5)).any()


def test_a_measurement_keeps_its_shape():
    assert Measurement(LIVE, 2).resized(12) == Measurement(LIVE, 2)
    with pytest.raises(InvalidInput, match="cannot be resized"):
        Measurement(LIVE, 2).resized(4)


def test_the_law_of_two_series_is_discrete_gaussian_noise_on_each():
    stream = Stream(1, 1, Fraction(1, 3), after=2, bits=1)
    listed = Measurement(stream, 0).law((2, -1), missing=Fraction(1, 10**6)).probabilities
    scale = float(stream.scale)
    weight = sum(math.exp(-(at**2) / (2 * scale**2)) for at in range(-60, 61))
    for first, second in product(range(-3, 4), repeat=2):
        expected = math.exp(-(first**2 + second**2) / (2 * scale**2)) / weight**2
        assert float(listed[4 + first, -2 + second]) == pytest.approx(expected, rel=1e-4)


PAIRS = (((0, 0), (1, 0)), ((0, 0), (0, -1)), ((5, 3), (5, 2)))


def test_the_law_of_a_measurement_obeys_the_contract_and_less_noise_does_not():
    mechanism = Measurement(Stream(1, 2, HALF, bits=1), 1)
    contract(mechanism, PAIRS, Effort(samples=4_000)).require()
    assert "draws" in {breach.law for breach in contract(LessNoise(mechanism), PAIRS[:1], Effort(samples=4_000)).broken}  # type: ignore[arg-type]


class LessNoise:
    """Planted: a third of the noise that is recorded."""

    def __init__(self, inside: Measurement) -> None:
        self.inside, self.event, self.loss = inside, inside.event, inside.loss

    def release(self, value: Any) -> Any:
        louder = replace(self.inside, stream=replace(self.inside.stream, rho=9 * self.inside.stream.rho))
        return louder.release(value)

    def law(self, value: Any) -> Any:
        return self.inside.law(value)


def test_a_stream_ends_at_its_horizon():
    with pytest.raises(InvalidInput, match="ends after 3"):
        Measurement(SMALL, 3)
    with pytest.raises(InvalidInput, match="horizon must have"):
        SMALL.running(4)
