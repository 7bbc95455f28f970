"""Work that the declared cores of a cluster share: what is divided among them and what is not; it changes refusals alone."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit.data.spark.session as sessions
from questions import clinic_questions
from tacit.data.declaration import schema
from tacit.data.store import FILE_ROWS
from tacit.doors.server.engine import derived
from tacit.errors import TooMuchWork
from tacit.privacy.catalog import MOST_CORES, MOST_PARTS, Catalog
from tacit.query.engines.engine import Limits
from tacit.query.language.sql import parse
from tacit.query.offers import offered
from tacit.query.planning import SLOWER, Work, size_of
from tacit.query.price import work
from tacit.query.price.price import price, request
from tacit.query.price.work import MOST_STEPS, TASK_ROWS, afford, afford_counts, worst
from tacit.release.elsewhere.quotes import pricing_of
from worlds import PUBLIC, World, clinic, world_in_memory

ROWS = 2**33
COUNT = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("cores")), {"visits": [], "wards": PUBLIC}) as made:
        yield made.with_catalog(changed(made.catalog, rows_at_most=ROWS))


def changed(catalog: Catalog, **declared: Any) -> Catalog:
    return replace(catalog, tables={**catalog.tables, "visits": replace(catalog.tables["visits"], **declared)})


def on_cluster(place: World, cores: int | None) -> World:
    return place.with_catalog(replace(place.catalog, store_engine="spark", store_cores=cores))


# --- what is divided ------------------------------------------------------------------------------------------------------------

DIVIDED = [
    COUNT,
    "SELECT SUM(cost), AVG(age), STDDEV(cost) FROM visits WHERE day < '2020-03-01'",
    "SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'f%'",
    "SELECT site, COUNT(*) FROM visits JOIN wards ON wards.ward = visits.ward GROUP BY site",
    "SELECT site, COUNT(*) FROM visits LEFT JOIN wards ON wards.ward = visits.ward WHERE age > 2 GROUP BY site",
    "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 3)",
    "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward",
    "SELECT COUNT(*) FROM (SELECT person, cost FROM visits UNION ALL SELECT person, age AS cost FROM visits) v",
]
BROUGHT_TOGETHER = {  # what moves rows to others by what they hold, and the steps of each row that one core then has at least
    "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward": work.UNIT,
    "SELECT COUNT(DISTINCT cost) FROM visits": work.UNIT,
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis": work.OWN_GROUP,
    "SELECT diagnosis, MEDIAN(cost) FROM visits GROUP BY diagnosis": work.OWN_GROUP,
    "SELECT COUNT(*) FROM visits v JOIN visits w ON v.person = w.person": work.PROBE + work.BUILD,
    "SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) v": work.INTO_MANY,
    "SELECT COUNT(*) FROM visits v WHERE v.person IN (SELECT person FROM visits WHERE age > 3)": work.PROBE + work.BUILD,
    "SELECT MEDIAN(n) FROM (SELECT person, SUM(cost) AS n FROM visits GROUP BY person) v": work.INTO_MANY,
}


def faults(place: World) -> list[str]:
    """Questions that the model lets finish before a cluster can: one core has all rows that were brought together."""
    together = [text for text, each in BROUGHT_TOGETHER.items() if worst(place.plan(text)).on(MOST_CORES) < ROWS * each]
    numbered = place.with_catalog(changed(place.catalog, max_rows_per_group=2))
    together += ["numbered"] if worst(numbered.plan(COUNT)).on(MOST_CORES) < ROWS * work.NUMBERED else []
    cells = "SELECT cost, age, COUNT(*) FROM visits GROUP BY cost, age"
    small = place.with_catalog(changed(place.catalog, rows_at_most=10**5))
    shown = 5001 * 11 * (work.GROUP + work.NOISE + work.CELL)
    return together + (["cells"] if worst(small.plan(cells)).alone < shown else [])


@pytest.mark.parametrize("text", DIVIDED)
def test_rows_that_stay_where_they_are_read_are_divided(place: World, text: str) -> None:
    found = worst(place.plan(text))
    assert found.steps > MOST_STEPS
    assert found.alone + found.task + found.gathered < ROWS * 5, "of some tens to hundreds of steps for each row"
    assert found.on(1) == found.steps
    assert found.on(1000) < found.steps // 8


def test_rows_that_are_brought_together_are_not(place: World) -> None:
    assert faults(place) == []


def test_a_public_table_that_is_not_copied_brings_rows_together(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = [text for text in DIVIDED if "wards" in text]
    spread = [worst(place.plan(text)).task for text in looked_up]
    monkeypatch.setattr(work, "COPIED_ROWS", 5)
    for text, before in zip(looked_up, spread, strict=True):
        assert worst(place.plan(text)).task >= ROWS * work.PROBE > before


def test_dividing_what_one_core_does_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(work, "_by_driver", lambda steps: Work(steps=steps))
        assert "cells" in faults(place)
    with monkeypatch.context() as patch:
        patch.setattr(work, "_by_task", lambda steps: Work(steps=steps))
        assert "numbered" in faults(place)
    with monkeypatch.context() as patch:
        patch.setattr(work.Flow, "largest", property(lambda rows: min(rows.rows, TASK_ROWS)))
        assert len(faults(place)) >= 2
    assert faults(place) == []


def test_a_count_by_hand(place: World) -> None:
    """Each of the 2^33 rows is read with its ward and goes into one of four groups; a task has 2^22 of them, a file 2^20."""
    found, each = worst(place.plan(COUNT)), (5 + 2) + 2 + 20 + 4
    after = 4 * (work.GROUP + work.NOISE + 2 * work.CELL) + size_of(place.plan(COUNT)).steps
    assert found.steps == ROWS * each + after
    assert (found.alone, found.task) == (after, 2**22 * each)
    assert (found.gathered, found.moved) == (2**13 * 4 * (20 + 4), 0), "each task adds up what it has, and one task those sums"
    assert found.tasks == 2**13 + MOST_PARTS


def test_many_groups_are_added_up_by_all_parts_of_a_shuffle(place: World) -> None:
    """Those of which a task may have as many as rows are brought together by what the rows hold."""
    by_day, by_both = (f"SELECT {keys}, COUNT(*) FROM visits GROUP BY {keys}" for keys in ("cost, ward", "cost, age, ward"))
    few, many = worst(place.plan(by_day)), worst(place.plan(by_both))
    assert (few.gathered, few.moved) == (0, 2**13 * 20_008 * (60 + 4))
    assert few.task < ROWS < many.moved
    assert few.on(64) - few.on(4096) > work.FILE_ROWS
    listed = worst(place.plan("SELECT MEDIAN(cost) FROM visits"))
    assert (listed.gathered, listed.moved) == (2**13 * 5_001 * 20, 0)
    smaller = place.with_catalog(changed(place.catalog, rows_at_most=10**9))
    assert worst(smaller.plan("SELECT MEDIAN(cost) FROM visits")).gathered == 954 * 5_001 * 20


# --- the bound ------------------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=40), min_size=1, max_size=4), st.integers(1, 50))
def test_no_order_of_tasks_takes_longer(stages: Sequence[Sequence[int]], cores: int) -> None:
    """Graham 1966: each stage begins after the one before; a core that is free takes the next task, whatever the order."""
    took = 0
    for tasks in stages:
        free = [0] * cores
        for task in tasks:
            heapq.heappush(free, heapq.heappop(free) + task)
        took += max(free)
    found = Work(steps=sum(map(sum, stages)), task=sum(map(max, stages)))
    assert took <= found.task + (found.steps - found.task) / cores
    assert found.on(cores) >= min(found.steps, took)


STEPS = st.integers(0, 10**15)


@given(STEPS, STEPS, STEPS, STEPS, st.integers(1, MOST_CORES), st.integers(1, MOST_CORES))
def test_more_cores_are_never_slower(alone: int, task: int, rest: int, moved: int, fewer: int, more: int) -> None:
    steps = alone + task + rest
    found = Work(steps=steps, alone=alone, task=task, moved=moved, gathered=moved // 100, tasks=moved % 1000)
    fewer, more = sorted((fewer, more))
    assert min(steps, alone) <= found.on(more) <= found.on(fewer) <= found.on(1) == steps
    enough = found.cores_for(MOST_STEPS)
    if enough is None:
        assert found.on(MOST_CORES) > MOST_STEPS
    else:
        assert found.on(enough) <= MOST_STEPS
        assert enough == 1 or found.on(enough - 1) > MOST_STEPS


def test_a_question_at_its_limit_has_time_to_spare() -> None:
    """Spark takes up to 3.5 times the model where cores share it; the rest of a minute is for the start and for stragglers."""
    assert SLOWER == 3.5
    assert 10**9 * Limits().seconds >= MOST_STEPS * 6 // 5


# --- what it changes ------------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(clinic_questions(private_keys=True), st.sampled_from([10**5, 10**7, 10**9, ROWS]), st.integers(1, MOST_CORES))
def test_what_one_core_affords_more_cores_afford(place: World, text: str, rows: int, cores: int) -> None:
    """And only refusals change: prices, noise and the key of the answer are the same."""
    declared = changed(place.catalog, rows_at_most=rows)
    question, asked = place.with_catalog(declared).plan(text), request(epsilon=1, delta="1e-6", groups=10**7)
    try:
        alone = price(question, asked)
    except TooMuchWork:
        return
    assert price(question, asked, cores=cores) == alone
    shared = replace(declared, store_engine="spark", store_cores=cores)
    one, many = (offered(parse(text), asked, each, place.facts, "version") for each in (declared, shared))
    assert (one.key, one.events, one.quotes) == (many.key, many.events, many.quotes)


def test_a_question_is_answered_at_its_cores_and_refused_below_them(place: World) -> None:
    made = place.plan(COUNT)
    enough = worst(made).cores_for(MOST_STEPS)
    assert enough is not None
    assert 20 < enough < 40
    afford(made, enough)
    for cores in (None, 1, enough - 1):
        with pytest.raises(TooMuchWork) as caught:
            afford(made, cores)
        advised = f"have [store] cores = {enough} declared if the cluster has that many, or ask for less at once"
        assert (advised in str(caught.value)) == (cores is not None)
    assert f"seconds on {enough - 1} cores, where 50 are allowed" in str(caught.value)


def test_no_cores_are_advised_that_would_not_help(place: World) -> None:
    dear = f"SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%{'_' * 450}b'"
    for text in (dear, *BROUGHT_TOGETHER):
        with pytest.raises(TooMuchWork) as caught:
            afford(place.plan(text), 4)
        assert "cores =" not in str(caught.value)


def test_counts_of_synthetic_rows_are_divided_too(place: World) -> None:
    from tacit.publish.synthetic.rows.cells import Axis

    table = place.catalog.tables["visits"]
    cells = [Axis.of(table.columns[name]).cell() for name in ("ward", "age")]
    with pytest.raises(TooMuchWork, match="cores = "):
        afford_counts(table, cells, 2, 1)
    afford_counts(table, cells, 2, 200)


def test_every_door_knows_the_declared_cores(place: World) -> None:
    asked = request(epsilon=1)
    for door in (
        lambda known: offered(parse(COUNT), asked, known, place.facts, "version"),
        lambda known: derived(COUNT, asked, known, place.facts),
    ):
        door(on_cluster(place, 64).catalog)
        for cores in (None, 2):
            with pytest.raises(TooMuchWork):
                door(on_cluster(place, cores).catalog)
    one, other, same = (pricing_of(on_cluster(place, cores).catalog) for cores in (2, 64, 64))
    assert one != other == same


def test_numbers_that_stand_in_two_places_are_the_same() -> None:
    assert schema()["properties"]["store"]["properties"]["cores"]["maximum"] == MOST_CORES
    most, opened = (int(sessions.SETTINGS[f"spark.sql.files.{name}"]) for name in ("maxPartitionBytes", "openCostInBytes"))
    assert most // opened * FILE_ROWS == TASK_ROWS


def test_the_page_names_the_same_numbers() -> None:
    page = (Path(work.__file__).parent / "work.md").read_text("utf-8")
    for said in (f"{float(SLOWER)} times", f"{FILE_ROWS:,} rows", f"{TASK_ROWS:,} rows"):
        assert said in page
