"""The builder asks the same questions as SQL: step by step it ends in the same plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tacit.errors import InvalidInput, NotAllowed, NotUnderstood, Refused
from tacit.query.language.frame import Frame, start
from tacit.query.passes import rewrite
from worlds import PUBLIC, World, clinic, world_in_memory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("frame")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def frame(table: str = "visits") -> Frame[Any]:
    return start(table, lambda select, *_, **budget: (select, budget), lambda select, **budget: ("told", select, budget))


PAIRS = [
    (frame().agg(n="count(*)"), "SELECT COUNT(*) AS n FROM visits"),
    (
        frame().where("cost > 10").where("age < 3 OR ward = 'a'").agg("avg(cost) AS mean", total="sum(cost)"),
        "SELECT AVG(cost) AS mean, SUM(cost) AS total FROM visits WHERE cost > 10 AND (age < 3 OR ward = 'a')",
    ),
    (
        frame()
        .join("wards", using="ward")
        .group_by("site", month="EXTRACT(MONTH FROM day)")
        .agg(n="count(*)")
        .having("count(*) > 5"),
        "SELECT site, EXTRACT(MONTH FROM day) AS month, COUNT(*) AS n FROM visits JOIN wards USING (ward) "
        "GROUP BY site, EXTRACT(MONTH FROM day) HAVING COUNT(*) > 5",
    ),
    (
        frame()
        .join("wards", on="visits.ward = wards.ward")
        .group_by("beds")
        .agg(n="count(*)")
        .order_by("n", descending=True)
        .limit(3),
        "SELECT beds, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY beds ORDER BY n DESC LIMIT 3",
    ),
]


@pytest.mark.parametrize(("built", "text"), PAIRS)
def test_the_same_plan_as_sql(place: World, built: Frame[Any], text: str) -> None:
    select, *_ = built.release(epsilon=1)
    assert rewrite(select, place.catalog, place.facts) == place.plan(text)


def test_every_step_is_a_new_question() -> None:
    first = frame().agg(n="count(*)")
    assert first.where("cost > 1").select.where is not None
    assert first.select.where is None


def test_the_budget_goes_on_to_release_and_explain() -> None:
    asked = frame().agg(n="count(*)")
    assert asked.release(epsilon=0.5)[1] == {"epsilon": 0.5}
    assert asked.explain(error=5)[2] == {"error": 5}


@pytest.mark.parametrize(
    "build",
    [
        lambda: frame().where(""),
        lambda: frame().where("cost > 1; DROP TABLE visits"),
        lambda: frame().where("cost > 1 FROM visits --"),
        lambda: frame().group_by("ward, age"),
        lambda: frame().agg("count(*), sum(cost)"),
        lambda: frame().join("wards"),
        lambda: frame().join("wards", using="ward", how="right"),
        lambda: frame().join("wards", on="visits.ward = wards.ward", using="ward"),
        lambda: frame().agg(n="(SELECT 1)"),
    ],
)
def test_what_is_no_expression_is_refused_at_once(build: Any) -> None:
    with pytest.raises((NotAllowed, NotUnderstood)):
        build()


@pytest.mark.parametrize("rows", [-1, 1.5, "3", True])
def test_a_limit_is_a_whole_number(rows: Any) -> None:
    with pytest.raises((InvalidInput, Refused)):
        frame().limit(rows)


def test_a_refusal_in_an_expression_points_into_it(place: World) -> None:
    select, *_ = frame().where("cost > 1 AND nothing = 2").agg(n="count(*)").release(epsilon=1)
    with pytest.raises(Refused) as caught:
        rewrite(select, place.catalog, place.facts)
    assert caught.value.at == (1, 14)
