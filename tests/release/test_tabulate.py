"""From released numbers to the table: HAVING, ORDER BY, LIMIT and arithmetic are SQL's, on released values alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.quantile.interval import Enclosed, QuantileWithInterval
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote, price, request
from tacit.release.answer import Answer, Receipt, cell_text
from tacit.release.tabulate import answer
from worlds import PUBLIC, World, clinic, world_in_memory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("tabulate")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def tabulated(place: World, text: str, *released: Any) -> Answer:
    """The answer where these numbers were released: one list per sum, and triples for each quantile."""
    from itertools import product

    from tacit.query.question import domain

    (quote,) = price(place.plan(text), request(epsilon=1))
    groups = tuple(product(*(domain(key) for key in quote.question.group.keys)))
    lists = iter(released)
    sums = {part.place: (part, np.array(next(lists), dtype=np.float64)) for part in quote.sums}
    ranks = {rank.call: tuple(np.array(next(lists), dtype=np.float64).reshape(3, -1)) for rank in quote.ranks}
    return answer(quote, Noisy(groups, sums, ranks), Receipt(quote.epsilon, quote.delta))  # type: ignore[arg-type]


WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"  # a, b, c and NULL


@pytest.mark.parametrize(
    ("rest", "wards"),
    [
        ("", ["a", "b", "c", None]),
        (" HAVING COUNT(*) > 5", ["b", None]),
        (" HAVING NOT COUNT(*) > 5", ["a", "c"]),
        (" HAVING ward <> 'a'", ["b", "c"]),
        (" HAVING NOT ward = 'a'", ["b", "c"]),
        (" HAVING ward = 'a' OR COUNT(*) = 9", ["a", None]),
        (" HAVING ward = 'a' AND COUNT(*) = 9", []),
        (" HAVING NOT (ward = 'a' AND COUNT(*) = 3)", ["b", "c", None]),
        (" HAVING COUNT(*) BETWEEN 3 AND 7", ["a", "b"]),
        (" HAVING COUNT(*) IN (3, 9)", ["a", None]),
        (" HAVING COUNT(*) / 0 > 1 OR COUNT(*) > 8", [None]),
        (" HAVING NOT COUNT(*) / 0 <> 1", []),
        (" HAVING COUNT(*) = NULL", []),
        (" HAVING ward > 'a'", ["b", "c"]),
        (" ORDER BY n", ["c", "a", "b", None]),
        (" ORDER BY n DESC", [None, "b", "a", "c"]),
        (" ORDER BY ward DESC", ["c", "b", "a", None]),
        (" ORDER BY ward", ["a", "b", "c", None]),
        (" ORDER BY 2 DESC LIMIT 2 OFFSET 1", ["b", "a"]),
        (" ORDER BY COUNT(*) / 0, n", ["c", "a", "b", None]),
        (" LIMIT 0", []),
        (" LIMIT 1", ["a"]),
        (" LIMIT 9 OFFSET 9", []),
    ],
)
def test_having_order_and_limit_work_on_released_numbers(place: World, rest: str, wards: list[str | None]) -> None:
    assert list(tabulated(place, WARDS + rest, [3, 7, -1, 9])["ward"]) == wards


def test_orders_are_stable_and_from_the_last_to_the_first(place: World) -> None:
    found = tabulated(place, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward DESC", [5, 5, 1, 5])
    assert list(found["ward"]) == ["b", "a", None, "c"]


def test_dates_are_compared_as_dates(place: World) -> None:
    text = "SELECT age > 0 AS old, MAX(day) AS last FROM visits GROUP BY old"
    days = [[18300, 18330], [18300, 18330], [18384, 18384]]
    assert list(tabulated(place, text, days)["last"]) == ["2020-02-08", "2020-03-09"]
    for test in ("MAX(day) > DATE '2020-02-20'", "MAX(day) > '2020-02-20'", "'2020-02-20' < MAX(day)"):
        assert list(tabulated(place, f"{text} HAVING {test}", days)["old"]) == [True]
    assert list(tabulated(place, f"{text} ORDER BY MAX(day) DESC", days)["old"]) == [True, False]


def test_days_between_two_dates_are_a_number(place: World) -> None:
    found = tabulated(place, "SELECT MAX(day) - MIN(day) AS span FROM visits", [18384, 18384, 18384], [18300, 18291, 18300])
    assert found["span"] == (84.0,)
    assert found.column("span").kind == "expression"


def test_keys_in_arithmetic_stand_for_their_values(place: World, tmp_path: Any) -> None:
    """A number by its value on the grid, a category of numbers by its numbers, and never by a code."""
    found = tabulated(place, "SELECT age, age * 10 + COUNT(*) AS x FROM visits GROUP BY age", list(range(11)))
    assert found["age"] == tuple(range(-3, 8))
    assert found["x"] == tuple(float(10 * age + at) for at, age in enumerate(range(-3, 8)))
    beds = tabulated(place, "SELECT beds, beds + COUNT(*) AS x FROM visits JOIN wards USING (ward) GROUP BY beds", [0] * 11)
    assert beds["x"] == (*(float(at) for at in range(10)), None)


def test_division_by_a_released_zero_is_null(place: World) -> None:
    found = tabulated(place, "SELECT SUM(age) / COUNT(*) AS mean, COUNT(*) AS n FROM visits", [12], [0])
    assert found["mean"] == (None,)
    assert found.column("mean").low == (None,)


def test_counts_stay_whole_and_may_be_negative(place: World) -> None:
    found = tabulated(place, "SELECT COUNT(*) AS n FROM visits", [-7])
    assert found["n"] == (-7,)
    assert isinstance(found["n"][0], int)
    assert found.column("n").kind == "count"


def test_names_are_unique_whatever_is_asked(place: World) -> None:
    text = "SELECT COUNT(*) AS n, SUM(age) AS n_2, SUM(age * 2) AS n, COUNT(*), COUNT(cost), SUM(age) + 1 FROM visits"
    found = tabulated(place, text, [1], [2], [3], [4])
    assert [column.name for column in found.columns] == ["n", "n_2", "n_3", "count", "count_cost", "sum_age"]


# --- what is released decides all of it ------------------------------------------------------------------------------------------

REPLAYED = [
    "SELECT ward, COUNT(*), AVG(cost), STDDEV(age) FROM visits GROUP BY ward HAVING COUNT(*) > 0 ORDER BY 2 DESC",
    "SELECT MEDIAN(cost), MAX(day), SUM(age) / COUNT(*) FROM visits",
    "SELECT site, SUM(cost), MIN(age) FROM visits LEFT JOIN wards USING (ward) GROUP BY site",
    "SELECT ward, RANK() OVER (ORDER BY AVG(cost)), SUM(MEDIAN(age)) OVER (), LAG(COUNT(*)) OVER (ORDER BY ward) FROM visits "
    "GROUP BY ward HAVING MAX(age) > -9 QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) < 9 ORDER BY 2 LIMIT 3",
    "SELECT ward, CASE WHEN COUNT(*) > 3 THEN 'large' END, SQRT(-COUNT(*)), COALESCE(NULLIF(COUNT(*), 2), 0), 1 FROM visits "
    "GROUP BY ward",
]


def released_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanisms that release the same whatever they are given: all else must then be the same too."""
    monkeypatch.setattr(Laplace, "release_units", lambda self, units: np.arange(self.dimension) * 3 - 1)
    monkeypatch.setattr(Laplace, "release_each", lambda self, counts: np.arange(len(counts)) * 3 - 1)  # several quantiles: a tree
    monkeypatch.setattr(QuantileWithInterval, "draw_from", lambda self, blocks: Enclosed(5, 3, 9))


@pytest.mark.parametrize("text", REPLAYED)
def test_with_the_same_released_numbers_a_full_and_an_empty_table_give_one_answer(
    place: World, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differ(place, text, monkeypatch) is False


def test_an_interval_that_prints_a_private_scale_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: ends as far away as the data's own spread."""
    from tacit.release import noisy

    honest = noisy._quantiles

    def leaky(parts: Any, cells: Any) -> Any:
        drawn = honest(parts, cells)
        for part in parts:
            value, low, high = drawn[part.call]
            lists = (cell.unseal() for cell in cells[part.place])
            spread = [float(np.ptp(values)) if len(values) else 0.0 for values, _ in lists]
            drawn[part.call] = value, low - spread, high + spread
        return drawn

    monkeypatch.setattr(noisy, "_quantiles", leaky)
    assert differ(place, REPLAYED[1], monkeypatch) is True


def differ(place: World, text: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether two answers with the same released numbers differ, on full and on empty data."""
    from tacit.release.noisy import noised
    from worlds import ranked

    row = {"ward": 0, "cost": 4000, "age": 9, "day": 40, "diagnosis": "flu", "scan": 0}
    released_alike(monkeypatch)

    def asked(rows: Any) -> tuple[Quote, Answer]:
        made = place.with_rows("visits", rows)
        (quote,) = price(made.plan(text), request(epsilon=1))
        return quote, answer(quote, noised(quote, made.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))

    full = asked(ranked([[row, {**row, "cost": 1, "age": 0, "day": 3}], [row]] * 5))
    return full != asked([])


@pytest.mark.parametrize("quantile", ["MEDIAN(cost)", "MIN(age)", "MAX(day)", "MEDIAN(cost * 3 - 7)", "QUANTILE_CONT(cost, 0.1)"])
def test_a_quantile_of_which_nothing_is_known_is_unknown(place: World, quantile: str) -> None:
    """Of a few rows, the interval is the declared range: its middle would look like an answer."""
    text = f"SELECT {quantile} AS x FROM visits"
    (quote,) = price(place.plan(text), request(epsilon=1))
    low = quote.ranks[0].call.over.node.low  # type: ignore[union-attr]
    high = low + int(quote.ranks[0].mechanism.upper)
    whole, less = (tabulated(place, text, [low, low, high - cut]).column("x") for cut in (0, 1))
    assert cell_text(whole, 0).startswith("unknown [")
    assert not cell_text(less, 0).startswith("unknown")
