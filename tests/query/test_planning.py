"""The size of the SQL is known before anything is paid for: what both engines are given is never longer than what was counted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Event
from typing import Any

import ibis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tacit
from generated import Generated, Parts, asked, tables
from stored import catalog as catalog_of
from stored import category, days, number
from stored import table as table_of
from tacit.doors.server.engine import derived
from tacit.errors import TimedOut, TooMuchWork
from tacit.privacy.catalog import Catalog, Column, Owner
from tacit.query import named_parts, planning
from tacit.query.engines import compile as compiled
from tacit.query.engines import duckdb as engines
from tacit.query.engines import rows as compiled_rows
from tacit.query.engines.engine import Limits
from tacit.query.engines.exact import statements_of
from tacit.query.engines.spark.like import spark_compiler
from tacit.query.engines.spark.shared_parts import share_parts
from tacit.query.language.sql import parse
from tacit.query.named_parts import Named, _Parts
from tacit.query.passes import rewrite
from tacit.query.plan import Group
from tacit.query.planning import size_of, statements
from tacit.query.price import work
from tacit.query.price.price import price, request
from tacit.query.question import Question
from tacit.query.trees import below, expressions_of
from worlds import Stored, World, ranked, world, world_in_memory

LENGTHS = pytest.mark.parametrize("examples", [2, pytest.param(250, marks=pytest.mark.slow)], ids=["few", "many"])
TERM = "SUM(t.cost / LOG10(GREATEST(t.cost, {})))"
ATTACK = f"SELECT {TERM.format(1)} FROM visits t"
THREE = f"SELECT {', '.join(TERM.format(least) for least in (1, 2, 3))} FROM visits t"
MEDIANS = f"SELECT {', '.join(f'MEDIAN(LN(age + {more}))' for more in range(1, 13))} FROM visits"
REPEATING = [
    ATTACK,
    THREE,
    MEDIANS,
    f"SELECT SUM({'ABS(' * 6}cost{' - 1)' * 6}) FROM visits",
    f"SELECT COUNT(*) FROM visits WHERE {'(' * 7}age > 3{''.join(f' = (age > {least}))' for least in range(7))}",
    "SELECT site, SUM(LN(v.age + beds + 1)) FROM visits v JOIN wards w ON w.beds = ABS(ABS(ABS(v.age - 9) - 5) - 2) GROUP BY site",
    "SELECT AVG(s.much) FROM (SELECT person, SUM(cost / LN(age + 2)) AS much FROM visits GROUP BY person) s WHERE s.much / 3 > 1",
    "SELECT COUNT(*) FROM visits v WHERE person IN (SELECT person FROM visits WHERE LN(age + 1) / LOG10(cost + 9) > 2)",
    f"SELECT CASE ward {' '.join(f'WHEN {at} THEN {at % 3}' for at in range(30))} END AS w, COUNT(*) FROM visits GROUP BY w",
    "SELECT YEAR(day) AS y, SUM(ABS(YEAR(day) - 1950)), SUM(MONTH(day)) FROM visits GROUP BY y",
    "SELECT COUNT(*) FROM visits v JOIN wards w ON w.beds = EXTRACT(MONTH FROM v.day)",
    "SELECT COUNT(*) FROM visits a LEFT JOIN visits b ON a.person = b.person AND YEAR(a.day) = YEAR(b.day)",
    "SELECT SUBSTRING(code, 2, 1) AS k, SUM(LENGTH(code)) FROM visits WHERE code > 'c0100' GROUP BY k",
    "SELECT COUNT(*) FROM visits v WHERE SUBSTRING(code, 3, 1) IN (SELECT SUBSTRING(place, 3, 1) FROM wards)",
    "SELECT ward, SUM(cost, contribution_bounds_per_group => (0, 1)), COUNT(*, contribution_bounds_per_group => (0, 1)) "
    "FROM visits GROUP BY ward",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2) ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) a.ward, YEAR(b.day) AS y, COUNT(*), SUM(a.cost) "
    "FROM visits a JOIN visits b ON a.person = b.person WHERE b.age > 3 GROUP BY a.ward, y",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A table of one row, and few rows at most: what takes long here is not the data."""
    folder = tmp_path_factory.mktemp("planning")
    codes = category("code", *(f"c{at:04d}" for at in range(2000)))
    columns = (number("cost", -2, 5, Fraction(1, 2)), number("age", 0, 110), number("ward", 0, 29), codes)
    columns = (*columns, days("day", "1900-01-01", "2024-12-31"))
    visits = table_of(
        "visits", folder / "v.csv", Column("person", "key"), *columns, unit=Owner("person"), max_rows=3, rows_at_most=3
    )
    wards = table_of(
        "wards", folder / "w.csv", category("site", "N", "S"), number("beds", 0, 9), replace(codes, name="place"), public=True
    )
    rows = {"visits": ranked([[{"cost": 9, "age": 40, "ward": 7, "code": 12, "day": 9999}]])}
    rows["wards"] = [{"site": 0, "beds": 2, "place": 12}]
    with world(folder, catalog_of(folder, visits, wards), rows) as made:
        yield made


# --- what is written -----------------------------------------------------------------------------------------------------------


def on_duckdb(place: World, group: Group) -> list[str]:
    """The statements of a plan, as the embedded engine is given them."""
    place.engine._compiled.clear()
    return [place.engine._sql(build, key) for _, build, key in statements_of(group)]


def on_spark(place: World, group: Group) -> list[str]:
    """The same on Spark, without a cluster."""
    _ = ibis.pyspark  # which has options that its compiler reads
    compiler = spark_compiler()
    views = {name.lower(): ibis.table(place.engine._table(name.lower()).schema(), f"tacit_123_{name}") for name in place.tables}
    tables = compiled.Tables(lambda name: views[name], place.engine._limits)
    return [
        share_parts(compiler.to_sqlglot(build(tables))).sql(dialect=compiler.dialect)
        for _, build, _ in statements_of(group, singly=False)
    ]


def parts_of(question: Question) -> int:
    """What a question is made of: distinct nodes of its expressions, constants in lists, and columns of its queries."""
    found = 0
    for part in question.parts:
        numbered = _Parts()
        for node in expressions_of(part.group):
            numbered.number(node)
        constants = sum(
            len(value) for node in numbered.nodes for value in map(node.__getattribute__, node.__slots__) if _long(value)
        )
        steps = sum(1 for _ in below(part.group)) + len(numbered.nodes)
        columns = 2 + len(part.group.keys) + sum(not inside for inside in numbered.inside)
        lists = sum(moment.kind == "list" for moment in part.group.moments)
        found += (1 + lists) * (len(numbered.nodes) + constants + columns * steps) + 4 * len(part.group.moments)
    return found


def _long(value: Any) -> bool:
    return isinstance(value, tuple | str)


PER_PART = 120  # characters of SQL for each part, at most


def faults(place: World, question: Question) -> set[str]:
    """What is wrong with the size that was counted for a question."""
    wrong = set[str]()
    for on in (on_duckdb, on_spark):
        written = [text for part in question.parts for text in on(place, part.group)]
        if sum(map(len, written)) > size_of(question).characters:
            wrong.add("more characters than were counted")
        if sum(map(len, written)) > PER_PART * parts_of(question):
            wrong.add("more characters than its parts account for")
        if len(written) != size_of(question).statements:
            wrong.add("another number of statements")
    return wrong


@LENGTHS
def test_what_is_written_is_never_longer_than_what_was_counted(tmp_path: Path, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
    @given(tables(), st.lists(asked(), min_size=1, max_size=2))
    def check(made: Generated, questions: list[Parts]) -> None:
        with world_in_memory(made.catalog(tmp_path), {"t": ranked(made.units)}) as place:
            for parts in questions:
                if (question := parts.admitted(place.plan)) is not None:
                    assert faults(place, question) == set()

    check()


@pytest.mark.parametrize("text", REPEATING)
def test_an_argument_that_is_used_again_is_written_once(place: World, text: str) -> None:
    question = place.plan(text)
    assert faults(place, question) == set()
    assert place.engine.run(question.group)


@pytest.mark.parametrize(("text", "most"), [(ATTACK, 2_600), (THREE, 6_500)])
def test_a_short_question_has_short_sql(place: World, text: str, most: int) -> None:
    """They were 816,202 and 2,354,204 characters."""
    question = place.plan(text)
    assert sum(map(len, on_duckdb(place, question.group))) < most
    assert size_of(question).characters < 3 * most


@pytest.mark.parametrize("text", [ATTACK, REPEATING[4]])
def test_a_plant_that_repeats_arguments_is_caught(place: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(compiled_rows, "named", lambda nodes, mark="": Named(tuple(nodes), (), 0))
    assert faults(place, place.plan(text)) >= {"more characters than were counted"}


def test_a_plant_that_counts_no_lists_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(list(statements(place.plan(MEDIANS).group))) == 12
    monkeypatch.setattr(planning, "statements", lambda group: list(statements(group))[:1])
    assert faults(place, place.plan(MEDIANS)) == {"more characters than were counted", "another number of statements"}


def test_ordinary_sql_has_no_names(place: World) -> None:
    for text in ("SELECT ward, AVG(cost), MEDIAN(age) FROM visits GROUP BY ward", "SELECT SUM(ABS(cost - age)) FROM visits"):
        assert not any(named_parts.NAME in written for written in on_duckdb(place, place.plan(text).group))


# --- how long planning takes -----------------------------------------------------------------------------------------------------

FULL = 50_000  # rows of a store that is full
TIMED = pytest.mark.parametrize("examples", [1, pytest.param(60, marks=pytest.mark.slow)], ids=["one", "many"])


def planning_seconds(place: World, question: Question) -> float:
    """Processor time to make all statements and to plan each twice, before they run and as they run; the least of three."""

    def once() -> float:
        place.engine._compiled.clear()
        begun = time.process_time()
        for _ in range(2):
            place.engine._planned.clear()
            for part in question.parts:
                place.engine._plan(part.group)
        return time.process_time() - begun

    return min(once() for _ in range(3))


def is_beyond_the_model(place: World, question: Question) -> bool:
    return planning_seconds(place, question) > size_of(question).steps / 10**9


@contextmanager
def empty_and_full(folder: Path, catalog: Catalog, tables: Mapping[str, Stored], private: str) -> Iterator[list[World]]:
    """Two stores: one without private rows, and one with copies of those given."""
    times = -(-FULL // max(1, len(tables[private])))
    copies = [{**row, "tacit_unit": at * FULL + row["tacit_unit"]} for at in range(times) for row in tables[private]]
    with ExitStack() as stack:
        stores = []
        for kind, rows in (("empty", []), ("full", copies)):
            (folder / kind).mkdir(exist_ok=True)
            stores.append(stack.enter_context(world(folder / kind, catalog, {**tables, private: rows})))
            stores[-1].engine.open()
        yield stores


@TIMED
def test_planning_takes_at_most_its_model_on_an_empty_and_on_a_full_store(tmp_path: Path, examples: int) -> None:
    """An optimizer reads statistics of the data, so planning may take longer where there are rows."""

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
    @given(tables(), st.lists(asked(), min_size=1, max_size=2))
    def check(made: Generated, questions: list[Parts]) -> None:
        with empty_and_full(tmp_path, made.catalog(tmp_path), {"t": ranked(made.units)}, "t") as stores:
            for place in stores:
                for parts in questions:
                    if (question := parts.admitted(place.plan)) is not None:
                        assert not is_beyond_the_model(place, question)

    check()


@pytest.mark.slow
def test_planning_of_repeated_arguments_takes_at_most_its_model(place: World, tmp_path: Path) -> None:
    with empty_and_full(tmp_path, place.catalog, place.tables, "visits") as stores:
        beyond = [text for text in REPEATING for store in stores if is_beyond_the_model(store, store.plan(text))]
    assert beyond == []


def test_a_plant_that_prices_planning_by_statements_alone_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    many = place.plan(f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(f'age * {at} > cost' for at in range(1, 41))}")
    assert not is_beyond_the_model(place, many)
    for name in ("CHARACTER", "CHARACTER_LISTED", "PART"):
        monkeypatch.setattr(planning, name, 0)
    assert is_beyond_the_model(place, many)


# --- before the ledger -----------------------------------------------------------------------------------------------------------


def test_sql_that_is_too_long_is_refused_before_it_is_paid_for(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All statements of all parts together, lists among them."""
    question, asked = place.plan(MEDIANS), request(epsilon=1)
    whole = size_of(question)
    assert price(question, asked)
    monkeypatch.setattr(work, "MOST_CHARACTERS", whole.characters - 1)
    with pytest.raises(TooMuchWork, match=f"{whole.characters:,} characters of SQL"):
        price(question, asked)
    several = place.plan("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)")
    monkeypatch.setattr(work, "MOST_CHARACTERS", size_of(several).characters - 1)
    assert len(several.parts) > 1
    assert all(sum(size.characters for size in statements(part.group)) < size_of(several).characters for part in several.parts)
    with pytest.raises(TooMuchWork, match="characters of SQL"):
        price(several, asked)


def test_planning_that_takes_too_long_is_refused(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    question = place.plan(ATTACK)
    monkeypatch.setattr(work, "MOST_PLANNING", size_of(question).steps - 1)
    with pytest.raises(TooMuchWork, match="planning the question takes"):
        price(question, request(epsilon=1))


def test_planning_is_in_the_work_of_a_question(place: World) -> None:
    """On a table of three rows, planning is nearly all of it; it is not divided between cores."""
    for text in (ATTACK, MEDIANS):
        question = place.plan(text)
        planned = size_of(question).steps
        assert planned < work.worst(question).alone <= work.worst(question).steps
    assert size_of(place.plan(MEDIANS)).steps > 10 * size_of(place.plan("SELECT MEDIAN(LN(age + 1)) FROM visits")).steps
    longer = place.plan(f"SELECT COUNT(*) FROM visits WHERE age IN ({', '.join(map(str, range(0, 100, 2)))})")
    assert size_of(longer).characters > size_of(place.plan("SELECT COUNT(*) FROM visits WHERE age IN (1, 3)")).characters


CATALOG = """
[budget]
epsilon = 5

[tables.visits]
source = "visits.csv"
unit = "row"
rows_at_most = 100
[tables.visits.columns]
cost = { bounds = [-2, 5], step = 0.5 }
"""


def test_every_door_refuses_long_sql_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question, a free explanation, and what a server's engine derives from the text of one; nothing is spent."""
    (tmp_path / "visits.csv").write_text("cost\n1\n2\n3\n")
    (tmp_path / "tacit.toml").write_text(CATALOG)
    with tacit.open(tmp_path / "tacit.toml", own_process=False) as data:
        data.prepare(new_ledger=True)
        session, budget = data.session(), request(epsilon="0.5")
        size = size_of(rewrite(parse(ATTACK), data.catalog, data.public))
        doors = [
            lambda: session.sql(ATTACK, epsilon="0.5"),
            lambda: session.explain(ATTACK, epsilon="0.5"),
            lambda: session.table("visits").agg(n="SUM(cost / LOG10(GREATEST(cost, 1)))").release(epsilon="0.5"),
            lambda: derived(ATTACK, budget, data.catalog, data.public),
        ]
        left = data.accounts()
        monkeypatch.setattr(work, "MOST_CHARACTERS", size.characters - 1)
        said = set[str]()
        for door in doors:
            with pytest.raises(TooMuchWork) as refused:
                door()
            said.add(str(refused.value))
        assert len(said) == 1
        assert data.accounts() == left
        monkeypatch.undo()
        assert len(session.sql(ATTACK, epsilon="0.5")) == 1


# --- the clock -------------------------------------------------------------------------------------------------------------------


def watched(monkeypatch: pytest.MonkeyPatch, engine: Any, late: bool = False) -> list[str]:
    """Records the order of events and the limits that are set; nothing is stopped."""
    happened: list[str] = []

    @contextmanager
    def within(seconds: float | None, _: Any, again: float = 0.05) -> Iterator[Event]:
        event = Event()
        if late:
            event.set()
        happened.append("begin")
        limits.append(seconds)
        yield event
        happened.append("end")

    limits: list[float | None] = []
    monkeypatch.setattr(engines, "stopped_after", within)
    fetch, sql = engine._fetch, engine._sql
    monkeypatch.setattr(engine, "_fetch", lambda build, key: (happened.append("run"), fetch(build, key))[1])
    monkeypatch.setattr(engine, "_sql", lambda build, key: (happened.append("make"), sql(build, key))[1])
    monkeypatch.setattr(engine, "limits_seen", limits, raising=False)
    engine._compiled.clear()
    return happened


def test_the_clock_of_a_question_starts_after_planning(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All statements are planned in a time of their own, before the first of them runs; what planning takes is not the rows'."""
    engine, question = place.engine, place.plan("SELECT COUNT(*), MEDIAN(age), MEDIAN(cost) FROM visits")
    monkeypatch.setattr(engine, "limits", Limits(seconds=7.0, planning=5.0))
    happened = watched(monkeypatch, engine)
    engine.run(question.group)
    assert happened == ["begin", *["make"] * 3, "end", "begin", *["run", "make"] * 3, "end"]
    again = size_of(question).steps / 10**9
    assert 0 < again < 5.0
    assert engine.limits_seen == [5.0, 7.0 + again]
    assert Limits(seconds=7.0, planning=5.0).together == 17.0
    happened.clear()
    engine.run(question.group)
    assert happened == ["begin", *["run", "make"] * 3, "end"], "what is cached was planned before"
    assert engine.limits_seen[2:] == [7.0 + again]
    monkeypatch.setattr(engine, "limits", Limits(seconds=7.0, planning=again / 2))
    engine.run(question.group)
    assert engine.limits_seen[3:] == [7.0 + again / 2], "never more than the process is given (`Limits.together`)"


@pytest.mark.parametrize("slow", [False, True])
def test_no_deadline_follows_how_long_planning_took(place: World, monkeypatch: pytest.MonkeyPatch, slow: bool) -> None:
    """An optimizer reads statistics of the data, so what planning took may follow them: the limits are those of the plan."""
    engine, question = place.engine, place.plan("SELECT COUNT(*), MEDIAN(cost) FROM visits")
    watched(monkeypatch, engine)
    sql = engine._sql
    monkeypatch.setattr(engine, "_sql", lambda build, key: (time.sleep(0.05 if slow else 0), sql(build, key))[1])
    engine.run(question.group)
    limits = engine.limits
    assert engine.limits_seen == [limits.planning, limits.seconds + size_of(question).steps / 10**9]


def test_planning_beyond_its_limit_ends_the_question(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB does not hear a stop everywhere; then no row is read."""
    happened = watched(monkeypatch, place.engine, late=True)
    with pytest.raises(TimedOut, match="exceeded its limits"):
        place.engine.run(place.plan("SELECT COUNT(*), MEDIAN(age) FROM visits").group)
    assert happened == ["begin", "make"]


def test_what_is_no_longer_cached_is_planned_again(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "MOST_COMPILED", 2)
    place.engine._compiled.clear()
    place.engine._planned.clear()
    for least in range(5):
        place.engine.run(place.plan(f"SELECT COUNT(*) FROM visits WHERE age > {least}").group)
    assert len(place.engine._planned) <= len(place.engine._compiled) <= 2
