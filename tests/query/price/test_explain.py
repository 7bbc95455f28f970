"""Explanations: the plan as a tree, noise in the units of the answer, errors where they are public; they spend and read nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.query.price.explain import explained
from tacit.query.price.explanation import Explanation
from tacit.query.price.price import price, request
from worlds import PUBLIC, World, clinic, ranked, world_in_memory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("explain"), 8, 3), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def told(place: World, text: str, **budget: float) -> Explanation:
    return explained(price(place.plan(text), request(**(budget or {"epsilon": 1})))[0], "remaining: epsilon 7, delta 0")  # type: ignore[arg-type]


def test_the_tree_says_how_many_rows_of_one_unit_there_are_at_each_step(place: World) -> None:
    text = "SELECT site, COUNT(*) AS n, SUM(cost) AS total FROM visits LEFT JOIN wards USING (ward) WHERE age > 2 GROUP BY site"
    assert (
        str(told(place, text))
        == """\
group by site (3)
  where: at most 24 rows per unit
    left join wards, at most 3 matches per row: at most 24 rows per unit
      keep at most 8 rows per unit
        scan visits
groups: 3, all of them public; one unit touches at most 3, with at most 3 rows in each

count: Laplace, sensitivity 9 (l1), scale 18, pure epsilon 0.5 (add or remove one unit)
    50 % of epsilon, for n
sum of cost: Laplace, sensitivity 450 (l1), scale 900, pure epsilon 0.5 (add or remove one unit)
    50 % of epsilon, for total

n: ± 54 at 0.95 confidence
total: ± 2696.16 at 0.95 confidence

price: epsilon 1; remaining: epsilon 7, delta 0"""
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT COUNT(*) FROM visits", "groups: one; one unit has at most 8 rows in it"),
        (
            "SELECT MEDIAN(cost) FROM visits",
            "quantile 0.5: exponential mechanism, one draw of both ends, and one of the value for few rows, sensitivity 4 ranks",
        ),
        ("SELECT MAX(cost) FROM visits", "quantile 1: exponential mechanism, one draw, sensitivity 8 ranks"),
        ("SELECT MEDIAN(age * 1000000000000 + cost) FROM visits", "smooth sensitivity, sensitivity private, scale private"),
        ("SELECT AVG(cost) AS mean FROM visits", "needs the size of a group: --group-rows 1000 gives ± "),
        ("SELECT STDDEV(cost) AS spread FROM visits", "needs the size of a group: --group-rows 1000 gives ± "),
        ("SELECT CORR(cost, age) AS r FROM visits", "r: not known in advance; it is reported with the answer"),
        ("SELECT SUM(age * age) FROM visits", "sum of an expression: Laplace, sensitivity 392 (l1)"),
        ("SELECT VAR_POP(age) FROM visits", "centred sum of squares of age: Laplace, sensitivity 100 (l1)"),
    ],
)
def test_what_is_done_and_why_is_said(place: World, text: str, said: str) -> None:
    assert said in str(told(place, text))


def test_private_keys_say_their_threshold(place: World) -> None:
    found = told(place, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis", epsilon=1, delta=1e-6)
    assert found.tree[0] == "group by diagnosis (private)"
    assert "shown where the noisy number of units reaches" in found.groups
    assert found.noise[0].scale == "23.6331610638"
    assert found.noise[0].mechanism == "threshold on numbers of units with Gaussian noise"
    assert "delta 1e-06" in str(found)


@pytest.mark.parametrize("keys", ["ward", "diagnosis"])
@pytest.mark.parametrize("noise", ["Laplace", "Gaussian"])
def test_the_error_that_is_told_is_the_error_that_comes(place: World, keys: str, noise: str) -> None:
    """Public and private keys, both kinds of noise. 200 people with three diagnoses each, which a unit of eight rows may have."""
    from tacit.release.answer import Receipt
    from tacit.release.noisy import noised
    from tacit.release.tabulate import answer

    row = {"ward": 0, "cost": 100, "age": 3, "day": 4, "scan": 0}
    ill = [[{**row, "diagnosis": name} for name in ("flu", "cold", "fever")] for _ in range(200)]
    made = place.with_rows("visits", ranked(ill))
    text = f"SELECT {keys}, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY {keys}"
    quotes = price(made.plan(text), request(epsilon=3, delta=1e-3))
    quote = next(quote for quote in quotes if type(quote.sums[0].mechanism).__name__ == noise)
    released = answer(quote, noised(quote, made.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    place.with_rows("visits", [])
    assert len(explained(quote).errors) == 2
    for expected in explained(quote).errors:
        column = released.column(expected.column)
        width = float(column.high[0]) - float(column.values[0])  # type: ignore[index, arg-type]
        assert expected.error == f"± {width:.6g} at 0.95 confidence"
        assert expected.half_width is not None
        assert float(expected.half_width) == pytest.approx(width, rel=1e-11)


def test_bars_over_all_shown_keys_together_are_known_with_the_keys_alone(place: World) -> None:
    text = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
    (quote, *_) = price(place.plan(text), request(epsilon=1, delta=1e-6, simultaneous=True))
    assert [expected.error for expected in explained(quote).errors] == ["not known in advance; it is reported with the answer"]


def test_plain_values_hold_the_same(place: World) -> None:
    found = told(place, "SELECT COUNT(*) AS n FROM visits").to_dict()
    assert found["price"] == {"epsilon": "1", "delta": "0"}
    assert found["noise"][0]["mechanism"] == "Laplace"
    assert found["errors"] == [{"column": "n", "error": "± 24 at 0.95 confidence", "half_width": "24"}]
    assert found["left"] == "remaining: epsilon 7, delta 0"


def test_the_split_is_said_for_each_noise_with_its_columns(place: World) -> None:
    text = "SELECT AVG(age) AS mean, COUNT(*) AS n, MEDIAN(age) AS middle FROM visits"
    shares = {noise.what: noise.share for noise in told(place, text).noise}
    assert shares["count"].endswith("% of epsilon, for mean, n")
    assert shares["centred sum of age"].endswith("% of epsilon, for mean")
    assert shares["quantile 0.5"].endswith("% of epsilon, for middle")
    assert sum(float(share.split(" ")[0]) for share in shares.values()) == 100
    assert [noise.share for noise in told(place, "SELECT COUNT(*) FROM visits").noise] == [""]


def test_private_keys_and_the_columns_of_other_parts_have_their_shares(place: World) -> None:
    text = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"
    assert [noise.share for noise in told(place, text, epsilon=1, delta=1e-6).noise] == [
        "50 % of epsilon",
        "50 % of epsilon, for n",
    ]


@pytest.mark.parametrize("aggregate", ["AVG(cost)", "STDDEV(cost)", "VAR_POP(age)"])
def test_the_error_of_a_ratio_needs_the_size_of_a_group_and_is_then_a_number(place: World, aggregate: str) -> None:
    """Without a size no number is told as the error; the size that is named in the words gives the number beside it."""
    quote = price(place.plan(f"SELECT {aggregate} AS x FROM visits"), request(epsilon=1))[0]
    (needed,) = explained(quote).errors
    assert needed.half_width is None
    assert needed.error.startswith("needs the size of a group: --group-rows 1000 gives ± ")
    told = needed.error.split("± ")[1].split(",")[0]
    widths = [explained(quote, group_rows=rows).errors[0] for rows in (1000, 100_000, 10_000_000)]
    assert float(widths[0].half_width or "nan") == pytest.approx(float(told), rel=1e-5)
    assert widths[2].error.startswith("at most ± ")
    assert "in a group of at least 10,000,000 rows" in widths[2].error
    numbers = [float(each.half_width or "nan") for each in widths]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[2] < numbers[0] / 10


def test_the_forecast_for_a_size_holds_in_groups_of_that_size(place: World) -> None:
    """A released mean over 4,000 rows is within the half width: at confidence 1 - 1e-7, so that bad luck is not a failure."""
    from tacit.release.answer import Receipt
    from tacit.release.noisy import noised
    from tacit.release.tabulate import answer

    row = {"ward": 0, "cost": 5000, "age": 3, "day": 4, "scan": 0, "diagnosis": None}
    made = place.with_rows("visits", ranked([[row] * 8 for _ in range(500)]))
    quote = price(made.plan("SELECT AVG(cost) AS x FROM visits"), request(epsilon=1, confidence="0.9999999"))[0]
    released = answer(quote, noised(quote, made.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    place.with_rows("visits", [])
    away = abs(float(released["x"][0]) - 50)
    assert away <= float(explained(quote, group_rows=4000).errors[0].half_width or "nan")
