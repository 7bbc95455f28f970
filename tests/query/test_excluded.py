"""Groups that WHERE excludes: of a store that holds every value that can be stored, no row is in a group that is left out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tacit
from stored import catalog as catalog_of
from stored import category, number, table
from tacit.data.store import store_file
from tacit.errors import NeverTrue, TooManyGroups
from tacit.privacy.catalog import Column as Declared
from tacit.query import passes
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.plan import Column, UnitJoin
from tacit.query.price.explain import explained
from tacit.query.price.price import price, request
from tacit.query.question import Question, canonical_plan, cells_of, domain, key_value
from worlds import PUBLIC, World, clinic, opened, ranked, world_in_memory

code = sys.modules["tacit.query.excluded"]  # the package has the function by that name

CATALOG = """
[budget]
epsilon = 1000

[tables.t]
source = "t.csv"
unit = "row"
rows_at_most = 100000

[tables.t.columns]
ward = { values = ["a", "b", "c"] }
code = { values = ["w", "u", "v"], unknown = "other" }
age = { bounds = [-3, 7] }
size = { bounds = [0, 2], step = 0.5, outside = "null", nulls = 1 }
day = { type = "date", bounds = ["2020-01-30", "2020-02-05"], nulls = "drop" }
flag = { values = [true, false], nulls = "drop", unknown = "drop" }
note = { keys = "private" }
"""
RAW = {  # every declared value, a missing one, an unknown one, and one on each side of the bounds
    "ward": ["a", "b", "c", "elsewhere", ""],
    "code": ["w", "u", "v", "q", ""],
    "age": [*map(str, range(-3, 8)), "-400", "400", ""],
    "size": ["0", "0.5", "1", "1.5", "2", "-1", "3", ""],
    "day": ["2019-01-01", *(f"{date(2020, 1, 30) + timedelta(each)}" for each in range(7)), "2021-01-01"],
    "flag": ["true", "false"],
}
OPERATORS = st.sampled_from(["<", "<=", "=", "<>", ">", ">="])
OF = {
    "ward": st.sampled_from([
        "ward = 'a'", "ward <> 'b'", "ward IN ('a', 'c')", "ward NOT IN ('a', 'c')", "ward IS NULL", "ward IS NOT NULL",
        "ward > 'a'", "ward LIKE '%b%'", "ward NOT LIKE '%b%'", "COALESCE(ward, 'none') = 'none'",
        "CASE WHEN ward = 'a' THEN 1 ELSE 2 END = 2", "(ward = 'a') IS NOT TRUE",
        "NULLIF(ward, 'a') = 'b'", "UPPER(ward) || '!' = 'B!'",
    ]),
    "code": st.sampled_from([
        "code = 'other'", "code <> 'other'", "code = 'v'", "code IS NULL", "code IN ('u', 'other')", "code NOT IN ('u', 'other')",
        "CASE code WHEN 'u' THEN 5 WHEN 'v' THEN 6 END > 5", "COALESCE(code, 'u') = 'u'", "code > 'u'",
    ]),
    "age": st.builds("{} {} {}".format, st.sampled_from([
        "age", "ABS(age)", "age * age", "FLOOR(age / 2)", "-age", "age * 0.3", "SIGN(age)", "COALESCE(age, 9)", "LEAST(age, 2)",
        "CASE WHEN age > 3 THEN 1 WHEN age > 5 THEN 7 ELSE age END", "WIDTH_BUCKET(age, 0, 6, 3)", "ROUND(age / 3)",
    ]), OPERATORS, st.sampled_from(["-3", "-1", "0", "2", "4", "7", "2.5"]))
    | st.sampled_from(["age BETWEEN 1 AND 4", "age NOT BETWEEN 1 AND 6", "age IN (2, 7, 99)", "age IS NULL", "(age + 3) % 2 = 1"]),
    "size": st.builds("size {} {}".format, OPERATORS, st.sampled_from(["0", "0.5", "0.7", "2"]))
    | st.sampled_from(["size IS NULL", "SQRT(size) < 1", "size * size = size"]),
    "day": st.builds("{} {} {}".format, st.sampled_from(["day", "DATE_TRUNC('month', day)", "DATE_TRUNC('week', day)"]),
        OPERATORS, st.sampled_from(["DATE '2020-01-30'", "DATE '2020-02-01'", "DATE '2020-02-05'"]))
    | st.sampled_from(["EXTRACT(MONTH FROM day) = 1", "EXTRACT(DOW FROM day) IN (0, 6)",
        "day + INTERVAL 3 DAY < DATE '2020-02-04'"]),
    "flag": st.sampled_from(["flag", "NOT flag", "flag = FALSE", "flag IS TRUE"]),
}  # fmt: skip
MIXED = [
    "note LIKE 'x%'",
    "note IS NULL",
    "age > size",
    "age = size * 2",
    "age / size > 2",
    "ward = 'a' AND flag OR code = 'v' AND NOT flag",
]
KEYS = {
    "ward": ["ward", "COALESCE(ward, 'none')", "ward IS NULL", "ward || '!'", "CASE WHEN ward = 'b' THEN 'x' ELSE ward END"],
    "code": ["code", "COALESCE(code, 'none')", "CASE WHEN code = 'other' THEN 1 WHEN code > 'u' THEN 2 END"],
    "age": ["age", "FLOOR(age / 3)", "age > 2", "SIGN(age)", "WIDTH_BUCKET(age, 0, 6, 3)", "ABS(age - 1)", "age * age"],
    "size": ["size", "size > 1", "FLOOR(size)"],
    "day": ["day", "DATE_TRUNC('month', day)", "DATE_TRUNC('week', day)", "EXTRACT(DOW FROM day)", "CAST(day AS TEXT)"],
    "flag": ["flag", "NOT flag"],
    "": ["ward || CAST(code AS TEXT)", "age + size", "CASE WHEN note LIKE 'x%' THEN ward ELSE 'a' END", "age > size"],
}


def joined(leaves: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    """Tests, joined by AND, OR and NOT."""
    both = st.sampled_from(["AND", "OR"])
    return st.recursive(
        leaves, lambda one: st.builds("({} {} {})".format, one, both, one) | st.builds("NOT ({})".format, one), max_leaves=most
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A store, prepared as any other, that holds every combination of values which preparation can make of these columns."""
    folder, notes = tmp_path_factory.mktemp("every value"), cycle(["x", "xy", "", "z", "apple"])
    rows = [",".join([*row, next(notes)]) for row in product(*RAW.values())]
    (folder / "t.csv").write_text("\n".join([",".join([*RAW, "note"]), *rows]))
    (folder / "tacit.toml").write_text(CATALOG)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        data.prepare(new_ledger=True, yes=True)
        engine = DuckDBEngine(store_file(data.catalog))
        try:
            yield World(data.catalog, {}, engine, data.public)  # type: ignore[arg-type]
        finally:
            engine.close()


def written(keys: Sequence[str], where: str) -> str:
    return f"SELECT COUNT(*) AS n FROM t WHERE {where} GROUP BY {', '.join(keys)}"


def with_all_groups(place: World, text: str) -> Question:
    """The plan as it is without the pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "PASSES", tuple(each for each in passes.PASSES if each is not passes.without_excluded))
        return place.plan(text)


def occupied(place: World, question: Question) -> dict[tuple[Any, ...], int]:
    """The groups that have a row, with how many."""
    (counts,) = opened(place.engine.run(question.group))
    groups = product(*(domain(key) for key in question.group.keys))
    return {group: int(count) for group, count in zip(groups, counts, strict=True) if count}


def lost(place: World, text: str) -> bool:
    """Whether some row of the store is in a group that is left out."""
    whole = occupied(place, with_all_groups(place, text))
    try:
        return occupied(place, place.plan(text)) != whole
    except NeverTrue:
        return bool(whole)


def test_the_store_holds_every_value(place: World) -> None:
    for name, raw in RAW.items():
        question = place.plan(written([name], "flag OR NOT flag"))
        assert len(occupied(place, question)) == cells_of(question) <= len(raw)


LEAVES = st.one_of(*OF.values(), st.sampled_from(MIXED))
EVERY_KEY = st.sampled_from([key for keys in KEYS.values() for key in keys])


@settings(max_examples=150)
@given(st.lists(EVERY_KEY, min_size=1, max_size=2, unique=True), joined(LEAVES, 5))
def test_no_row_is_in_a_group_that_is_left_out(place: World, keys: list[str], where: str) -> None:
    try:
        with_all_groups(place, written(keys, where))
    except (NeverTrue, TooManyGroups):
        assume(False)
    assert not lost(place, written(keys, where))


@settings(max_examples=120)
@given(st.sampled_from(list(OF)).flatmap(lambda name: st.tuples(st.sampled_from(KEYS[name]), joined(OF[name], 3))))
def test_a_filter_on_the_column_of_a_key_leaves_no_other_group(place: World, asked: tuple[str, str]) -> None:
    """Of tests that are computed here exactly, which roots are not."""
    key, where = asked
    assume("SQRT" not in where)
    try:
        whole = occupied(place, with_all_groups(place, written([key], where)))
    except NeverTrue:
        return
    if not whole:
        with pytest.raises(NeverTrue, match="exclude every value"):
            place.plan(written([key], where))
    else:
        assert [(value,) for value in domain(place.plan(written([key], where)).group.keys[0])] == list(whole)


# --- bugs that these tests are shown to catch ------------------------------------------------------------------------------------

ASKED = [
    (["ward"], "NOT ward = 'a' OR ward IS NULL"),
    (["code"], "code NOT IN ('u', 'v')"),
    (["age"], "age > 3"),
    (["age"], "age < 3"),
    (["COALESCE(ward, 'none')"], "CASE WHEN ward = 'a' THEN 1 ELSE 2 END = 2"),
]


def test_questions_that_show_bugs_lose_nothing(place: World) -> None:
    assert not any(lost(place, written(*asked)) for asked in ASKED)


PLANTS = {
    "NULL": lambda node, found: replace(found, null=found.null & False),
    "other": lambda node, found: replace(found, known=found.known & ~((node.name == "code") & (found.low == node.high))),
    "clamped above": lambda node, found: replace(found, known=found.known & ~((node.name == "age") & (found.low == node.high))),
    "clamped below": lambda node, found: replace(found, known=found.known & ~((node.name == "age") & (found.high == node.low))),
}


@pytest.mark.parametrize("forgotten", PLANTS)
def test_a_plant_that_forgets_a_stored_value_is_caught(place: World, monkeypatch: pytest.MonkeyPatch, forgotten: str) -> None:
    real = code.ends_of

    def ends_of(node: Any, boxes: Any) -> Any:
        found = real(node, boxes)
        return PLANTS[forgotten](node, found) if isinstance(node, Column) else found

    monkeypatch.setattr(code, "ends_of", ends_of)
    assert any(lost(place, written(*asked)) for asked in ASKED)


def test_a_plant_in_which_unknown_does_not_reach_else_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = code.Outcome
    monkeypatch.setattr(code, "Outcome", lambda true, false, unknown: real(true, false, unknown & False))
    assert any(lost(place, written(*asked)) for asked in ASKED)


# --- where a filter applies to every row of a group ------------------------------------------------------------------------------

PUBLIC_LEFT = "visits LEFT JOIN wards ON wards.ward = visits.ward"
OLDER = "JOIN (SELECT person, age AS older FROM visits WHERE age > 3) AS o ON o.person = visits.person"
SHAPES = [
    ("visits", "visits.ward = 'a'", "visits.ward", 1),
    ("visits", "TRUE", "visits.ward", 4),
    (PUBLIC_LEFT, "visits.ward = 'a'", "site", 3),
    (PUBLIC_LEFT, "site = 'N'", "site", 1),
    (PUBLIC_LEFT, "site IS NULL OR site = 'S'", "site", 2),
    (f"visits {OLDER}", "TRUE", "older", 4),
    (f"visits LEFT {OLDER}", "TRUE", "older", 12),
    (f"visits LEFT {OLDER}", "older < 6 OR older IS NULL", "older", 10),
    (f"visits LEFT {OLDER}", "age = 2", "older", 12),
    ("(SELECT person, age FROM visits WHERE age > 1) AS v", "age <> 4", "age", 5),
    ("(SELECT person, age, COUNT(*) AS n FROM visits WHERE age > 1 GROUP BY person, age) AS v", "n < 3", "age", 6),
    ("(SELECT person, age, COUNT(*) AS n FROM visits WHERE age > 1 GROUP BY person, age) AS v", "n < 3", "n", 2),
    ("(SELECT person, age FROM visits WHERE age > 1 UNION ALL SELECT person, age FROM visits) AS v", "TRUE", "age", 11),
    ("visits", "person IN (SELECT person FROM visits WHERE age > 3)", "age", 11),
]


@pytest.fixture(scope="module")
def small() -> Iterator[World]:
    values = product((0, 1, 2, None), (None, 7), (0, 2, 5, 9, 10))
    row = {"day": 0, "diagnosis": None, "scan": None}
    people = [[{**row, "ward": ward, "cost": cost, "age": age}] for ward, cost, age in values]
    with world_in_memory(
        clinic(Path()), {"visits": ranked([*people, people[1] + people[6], people[3] + people[3]]), "wards": PUBLIC}
    ) as made:
        yield made


@pytest.mark.parametrize(("rows", "where", "key", "left"), SHAPES)
def test_a_filter_that_every_row_of_a_group_meets_leaves_out_groups(
    small: World, rows: str, where: str, key: str, left: int
) -> None:
    text = f"SELECT COUNT(*) AS n FROM {rows} WHERE {where} GROUP BY {key}"
    assert cells_of(small.plan(text)) == left
    assert not lost(small, text)


def test_a_plant_that_takes_a_left_join_for_an_inner_one_is_caught(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = code._conditions_of
    monkeypatch.setattr(
        code,
        "_conditions_of",
        lambda relation: real(replace(relation, kind="inner") if isinstance(relation, UnitJoin) else relation),
    )
    assert lost(small, f"SELECT COUNT(*) AS n FROM visits LEFT {OLDER} GROUP BY older")


def test_filter_and_having_leave_out_no_group(small: World) -> None:
    for text in (
        "SELECT ward, COUNT(*) FILTER (WHERE ward = 'a') AS n FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING ward = 'a'",
        "SELECT diagnosis, ward, COUNT(*) AS n FROM visits WHERE ward = 'a' GROUP BY diagnosis, ward",
    ):
        assert all(key.kept is None for key in small.plan(text).group.keys)


def test_each_grouping_set_and_each_part_has_its_own_groups(small: World) -> None:
    levels = small.plan("SELECT ward, age, COUNT(*) AS n FROM visits WHERE ward = 'a' AND age > 4 GROUP BY CUBE (ward, age)")
    assert sorted(map(cells_of, levels.parts)) == [1, 1, 3, 3]
    whole, other = "SELECT ward, COUNT(*) AS n FROM visits", "GROUP BY ward"
    parts = small.plan(f"{whole} WHERE ward <> 'a' {other} UNION ALL {whole} {other}")
    assert list(map(cells_of, parts.parts)) == [2, 4]


@pytest.mark.parametrize(
    "where",
    ["age > 4", "NOT age <= 4", "age IN (5, 6, 7)", "4 < age", "age BETWEEN 4.5 AND 100", "age >= 5 AND (cost > 3 OR cost <= 3)",
     "age * 2 > 9", "CASE WHEN age > 4 THEN TRUE END", "(age = 5 OR age > 5) AND diagnosis LIKE 'f%'"],
)  # fmt: skip
def test_other_words_for_the_same_filter_leave_the_same_groups(small: World, where: str) -> None:
    (key,) = small.plan(f"SELECT COUNT(*) AS n FROM visits WHERE {where} GROUP BY age").group.keys
    assert [key_value(key.term, value) for value in domain(key)] == [5, 6, 7]


# --- price, explanation, plan ---------------------------------------------------------------------------------------------------


def test_the_price_is_that_of_the_groups_that_are_left(small: World) -> None:
    text = "SELECT ward, COUNT(DISTINCT person) AS n FROM visits WHERE ward = 'a' GROUP BY ward"
    quote, whole = (price(each, request(epsilon=1))[0] for each in (small.plan(text), with_all_groups(small, text)))
    assert (quote.cells, quote.reach.groups, quote.sums[0].mechanism.scale) == (1, 1, 1)
    assert (whole.cells, whole.reach.groups, whole.sums[0].mechanism.scale) == (4, 3, 3)
    assert "group by ward (1)" in str(explained(quote))


def test_an_older_answer_with_more_rows_is_not_this_one(small: World) -> None:
    """Answers are recalled by the text of a plan: it changes with the groups, and stays as it was where none is left out."""
    less, same = (f"SELECT ward, COUNT(*) AS n FROM visits WHERE {where} GROUP BY ward" for where in ("ward = 'a'", "age > 3"))
    assert canonical_plan(small.plan(less)) != canonical_plan(with_all_groups(small, less))
    assert canonical_plan(small.plan(same)) == canonical_plan(with_all_groups(small, same))
    assert "kept" not in canonical_plan(small.plan(same))


def test_what_takes_too_long_to_find_leaves_all_groups(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM visits WHERE ward = 'a' GROUP BY ward"
    for limit in ("MOST_STEPS", "MOST_LISTED"):
        with monkeypatch.context() as patch:
            patch.setattr(code, limit, 0)
            assert cells_of(small.plan(text)) == 4


def test_groups_of_a_wide_range_are_few_under_a_filter() -> None:
    wide = table("t", Path("t.csv"), Declared("id", "key"), number("income", 0, 10**9, "0.01"), category("ward", "a", "b"))
    with world_in_memory(catalog_of(Path(), wide), {"t": []}) as made:
        for where, key, left in (
            ("income < 1", "income", 100),
            ("income < 5000000", "FLOOR(income / 1000000)", 5),
            ("income >= 5000000 AND ward = 'a'", "FLOOR(income / 1000000)", 996),
            ("SQRT(income) < 0 OR ward = 'b'", "ward", 1),
        ):
            assert cells_of(made.plan(f"SELECT COUNT(*) AS n FROM t WHERE {where} GROUP BY {key}")) == left


def test_the_answer_has_the_groups_that_are_left(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["ward,code,age,size,day,flag,note", "a,9,400,1,2020-02-01,true,x"]))
    (tmp_path / "tacit.toml").write_text(CATALOG)
    with tacit.open(tmp_path / "tacit.toml", own_process=False) as data:
        data.prepare(new_ledger=True, yes=True)
        answer = data.session("ana").sql(
            "SELECT code, COUNT(*) AS n FROM t WHERE code = 'other' OR code = 'v' GROUP BY code", epsilon=400
        )
        assert [column.values for column in answer.columns] == [("v", "other"), (0, 1)]
        levels = "SELECT ward, code, COUNT(*) AS n FROM t WHERE code > 'u' AND ward = 'a' GROUP BY ROLLUP (ward, code)"
        rows = data.session("ana").sql(levels, epsilon=400).columns
        assert [column.values for column in rows[:2]] == [("a", "a", "a", None), ("w", "v", None, None)]
        with pytest.raises(NeverTrue, match="exclude every value of month"):
            data.session("ana").sql(
                "SELECT COUNT(*) FROM t WHERE day < '2020-02-01' AND MONTH(day) = 2 GROUP BY MONTH(day)", epsilon=1
            )
