"""Simulated surveys: the exact error, trials that agree with it, and a chart."""

from fractions import Fraction

import numpy as np
import pytest

from chance import mean_limit, variance_limits
from tacit.errors import InvalidInput
from tacit.publish.local.estimates.estimate import Tally, unbiased_share
from tacit.publish.local.estimates.simulate import population, simulate
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.numeric import Numeric, OneBit
from tacit.publish.local.randomizers.unary import Unary


def test_populations_have_the_shares():
    assert np.bincount(population(["0.7", "0.3"], 20_000)).tolist() == [14_000, 6_000]
    assert np.bincount(population(["1/3"] * 3, 100)).tolist() == [34, 33, 33]
    assert len(population(["1/7"] * 7, 12345)) == 12345


def test_the_theory_is_exact():
    cell = simulate(Binary, ["0.7", "0.3"], [1], [400], runs=1).cells[0]
    flip = Binary(1).flip
    assert cell.theory == pytest.approx(float(flip * (1 - flip) / (400 * (1 - 2 * flip) ** 2)) ** 0.5)
    number = simulate(lambda epsilon: OneBit(0, 10, epsilon), [0, 4], [1], [3], runs=1).cells[0]
    of = OneBit(0, 10, 1)
    assert number.theory == pytest.approx(float((2 * of.variance(0) + of.variance(4)) / 9) ** 0.5)


@pytest.mark.parametrize(
    ("make", "truth"),
    [(Binary, ["0.7", "0.3"]), (lambda e: Unary(4, e), ["1/4"] * 4), (lambda e: Numeric.best(0, 100, e), [20, 30, 77])],
    ids=["binary", "unary", "number"],
)
def test_trials_agree_with_theory(make, truth):
    """The mean of 400 squared errors, each nearly normal; those of several categories together stray less."""
    low, high = variance_limits(400, among=2)
    for cell in simulate(make, truth, [1, 3], [500], runs=400).cells:
        assert low < (cell.simulated / cell.theory) ** 2 < high


def test_the_printed_estimator_would_be_seen():
    """Planted: with p and 1 - p exchanged a truth of 0.3 is estimated as 0.7."""
    oracle, values = Binary.with_flip("1/4"), population(["0.7", "0.3"], 20_000)
    tally = Tally.of(oracle, oracle.randomize(values))
    right, printed = (unbiased_share(tally.supports[1] / 20_000, *rates) for rates in ((0.75, 0.25), (0.25, 0.75)))
    assert abs(right - 0.3) < mean_limit(20_000, width=2) < abs(printed - 0.3), "a bit counts for 1 / (1 - 2/4)"


def test_how_it_is_shown(tmp_path):
    found = simulate(lambda epsilon: KAry(3, epsilon), ["1/2", "1/4", "1/4"], [1, "1/2"], [100, 1000], runs=3)
    assert [(cell.epsilon, cell.people) for cell in found.cells] == [
        (1, 100),
        (1, 1000),
        (Fraction(1, 2), 100),
        (Fraction(1, 2), 1000),
    ]
    assert found.to_csv(tmp_path / "s.csv") == (tmp_path / "s.csv").read_text()
    assert "typical error of a share, 3 runs each" in str(found)
    found.chart(tmp_path / "s.svg")
    drawn = (tmp_path / "s.svg").read_text()
    assert "epsilon 0.5" in drawn
    assert "lines: exact" in drawn


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="sum to exactly 1"):
        simulate(Binary, ["0.7", "0.2"], [1], [100])
    with pytest.raises(InvalidInput, match="2 categories"):
        simulate(Binary, ["0.7", "0.2", "0.1"], [1], [100])
    with pytest.raises(InvalidInput, match="at least one"):
        simulate(Binary, ["0.7", "0.3"], [1], [])
