"""The price of a whole person over all periods: the vectors of the rules, and never less than that of one period."""

from fractions import Fraction

import numpy as np
import pytest

from by_month import Clinic, declared
from tacit.accounting.composition import cost_under
from tacit.mechanisms.running import Running, strategy
from tacit.query import passes
from tacit.query.language.sql import parse
from tacit.query.price.lifetime import whole_person
from tacit.query.price.price import price, request
from tacit.query.price.quote import UNIT
from tacit.query.price.stability import Reach


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    return declared(tmp_path_factory.mktemp("lifetime") / "clinic", Clinic())


def quotes(catalog, text: str, **budget):
    return price(passes.rewrite(parse(text), catalog, None), request(**budget))


BY_MONTH = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m"
VECTORS = {
    BY_MONTH: 4,
    "SELECT COUNT(*) FROM visits": 4,
    "SELECT COUNT(DISTINCT patient) FROM visits": 1,
    "SELECT COUNT(*) FROM visits WHERE day < '2025-02-01'": 1,
    "SELECT COUNT(*) FROM visits WHERE day < '2025-03-01'": 2,
    "SELECT MEDIAN(cost) FROM visits WHERE day < '2025-03-01'": 2,
    "SELECT COUNT(*) FROM patients": 1,
    "SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient = p.id)": 1,
    "SELECT COUNT(*) FROM visits v JOIN patients p ON p.id = v.patient WHERE p.age > 3": 4,
}


@pytest.mark.parametrize("text", VECTORS)
def test_laplace_noise_of_one_in_each_month_costs_a_person_the_months(catalog, text):
    (quote,) = quotes(catalog, text, epsilon=1)
    assert cost_under(quote.event, UNIT).epsilon == 1
    assert whole_person(quote).epsilon == VECTORS[text]


def test_gaussian_noise_of_rho_in_each_month_costs_the_months_where_a_group_is_of_one(catalog):
    """COUNT by month: 4 rho; COUNT in all: 16 rho. Planted: the price of one period once."""

    def ratio(text: str) -> Fraction:
        found = [
            each
            for each in quotes(catalog, text, epsilon=1, delta=Fraction(1, 10**6))
            if each.event.events[0].__class__.__name__ == "GaussianNoise"
        ]
        quote = next(each for each in found if each.stated is None)
        return whole_person(quote).rho / cost_under(quote.event, UNIT).rho

    assert 4 <= ratio(BY_MONTH) < Fraction(4001, 1000)
    spread = "SELECT EXTRACT(DAY FROM day) AS d, COUNT(*) FROM visits GROUP BY d"
    assert 4 <= ratio(spread) <= 16


SHARED = "SELECT cost, EXTRACT(DAY FROM day), COUNT(*), SUM(cost) FROM visits GROUP BY CUBE (cost, EXTRACT(DAY FROM day))"
TREND = (
    """SELECT DATE_TRUNC('month', day) AS m, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS t FROM visits GROUP BY m"""
)
OTHERS = [SHARED, TREND, "SELECT age, COUNT(*) FROM patients GROUP BY age", "SELECT cost, MEDIAN(cost) FROM visits GROUP BY cost"]


@pytest.mark.parametrize("text", [*VECTORS, *OTHERS])
def test_a_whole_person_never_costs_less_than_one_period(catalog, text):
    for quote in quotes(catalog, text, epsilon=1, delta=Fraction(1, 10**6)):
        one, whole = cost_under(quote.event, UNIT), whole_person(quote)
        assert whole.rho >= one.rho
        assert whole.epsilon is None or one.epsilon is None or whole.epsilon >= one.epsilon


def test_measurements_that_parts_share_are_priced_for_every_month(catalog):
    """Planted: they are no sum of any part, and were left out."""
    for quote in quotes(catalog, SHARED, epsilon=1, delta=Fraction(1, 10**6)):
        assert quote.workloads
        assert whole_person(quote).rho >= 4 * cost_under(quote.event, UNIT).rho


def test_running_totals_move_by_all_rows_of_a_person_together():
    """A row in each of 36 months, against the move of the measurements themselves. Planted: the l2 of the counts alone."""
    periods = 36
    one, every = Running(1, 1, Fraction(1), (1, periods, 1)), Running(periods, 1, Fraction(1), (1, periods, 1))
    moved = (strategy(periods).astype(object) @ np.ones(periods, dtype=object)).tolist()
    assert sum(each * each for each in moved) <= every.units**2
    assert every.units**2 > 10 * periods * one.units**2, "36 times the square of one month is far too little"


def test_the_lifetime_price_of_running_totals_is_that_of_the_measurements(catalog):
    found = [quote for quote in quotes(catalog, TREND, epsilon=1, delta=Fraction(1, 10**6)) if _running(quote)]
    assert found
    for quote in found:
        event = _running(quote).mechanism.event
        rows = strategy(4).astype(object) @ np.full(4, 2, dtype=object)  # two rows of one person in each month
        moved = sum(int(each) ** 2 for each in rows)
        assert whole_person(quote).rho >= Fraction(moved) / (2 * event.scale**2)


def _running(quote):
    return next((part for part in quote.sums if isinstance(part.mechanism, Running)), None)


def test_l2_of_many_rows_in_one_group_grows_with_their_square():
    assert (Reach(8, 4, 2).l2_squared, Reach(8, 1, 8).l2_squared) == (16, 64)
