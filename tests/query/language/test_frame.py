"""The builder asks the same questions as SQL: step by step it ends in the same plan."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import pages
from guide import Wards, hospital
from tacit.errors import InvalidInput, InvalidSQL, NotAllowed, Refused
from tacit.query.language.frame import Frame, start
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.stability import tables_of
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
        lambda: frame().agg(n="(SELECT)"),
    ],
)
def test_what_is_no_expression_is_refused_at_once(build: Any) -> None:
    with pytest.raises((NotAllowed, InvalidSQL)):
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


TIED = "visits.patient_id = patients.id"


@pytest.mark.parametrize(
    ("build", "sql"),
    [
        (
            lambda: frame("visits").join("patients", on=TIED).where("age >= 65").group_by("sex", "ward").agg(n="count(*)"),
            f"SELECT sex, ward, COUNT(*) AS n FROM visits JOIN patients ON {TIED} WHERE age >= 65 GROUP BY sex, ward",
        ),
        (
            lambda: frame("patients").join("visits", on=TIED, how="left").group_by("sex").agg(n="count(cost)"),
            f"SELECT sex, COUNT(cost) AS n FROM patients LEFT JOIN visits ON {TIED} GROUP BY sex",
        ),
        (
            lambda: frame("visits").join("patients", on=TIED).join("wards", using="ward").group_by("floor").agg(c="avg(cost)"),
            f"SELECT floor, AVG(cost) AS c FROM visits JOIN patients ON {TIED} JOIN wards USING (ward) GROUP BY floor",
        ),
    ],
)
def test_private_tables_are_joined_as_in_sql(build: Any, sql: str) -> None:
    select, *_ = build().release(epsilon=1)
    assert rewrite(select, hospital(), Wards()) == rewrite(parse(sql), hospital(), Wards())


def test_a_join_of_rows_of_different_people_is_refused() -> None:
    select, *_ = frame("visits").join("patients", on="visits.pulse = patients.age").agg(n="count(*)").release(epsilon=1)
    with pytest.raises(NotAllowed, match="join on the unit"):
        rewrite(select, hospital(), Wards())


def test_the_example_of_the_guide_is_such_a_join() -> None:
    (block,) = [block for block in pages.blocks((pages.ROOT / "docs/guides/questions.md").read_text()) if block.language == "py"]
    select, *_ = eval(block.text, {"ana": SimpleNamespace(table=frame)})  # noqa: S307  # a line of the guide
    question = rewrite(select, hospital(), Wards())
    assert [table.name for table in tables_of(question.group)] == ["visits", "patients"]
    assert [key.name for key in question.group.keys] == ["sex", "ward"]
