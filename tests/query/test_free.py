"""Free answers: exact, of public tables and the catalog alone, without an entry; no private row has a part in any of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from guide import Wards, hospital
from hospital import WARDS, hospital_session
from tacit.errors import NotAllowed, Refused, TooMuchWork
from tacit.query import free
from tacit.query.engines.public import asked_of_public
from tacit.query.free import ALLOWED, nodes_in, public_tables
from tacit.query.language.sql import parse
from tacit.query.language.syntax import From
from tacit.query.passes import rewrite
from tacit.query.question import canonical_plan
from tacit.session import Session


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with hospital_session(tmp_path_factory.mktemp("free")) as session:
        yield session


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    file = tmp_path_factory.mktemp("plain") / "wards.csv"
    file.write_text(WARDS)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE wards AS SELECT * REPLACE (fee::DECIMAL(18, 2) AS fee) FROM read_csv('{file}')")
        yield connection


def entries(session: Session) -> int:
    return len(list(session.data.ledger.entries()))


FREE = [
    "SELECT * FROM wards",
    "SELECT w.* FROM wards AS w ORDER BY w.ward DESC LIMIT 2 OFFSET 1",
    "SELECT ward, beds * 2 AS twice FROM public.wards WHERE floor = 1 OR beds < 30 ORDER BY beds",
    "SELECT floor, COUNT(*) AS n, SUM(beds) AS beds, AVG(fee) AS fee FROM wards GROUP BY floor HAVING COUNT(*) > 0 ORDER BY floor",
    "SELECT COUNT(*) AS n, MIN(opened) AS first, MAX(fee) AS most, SUM(fee) AS fees, COUNT(fee) AS known FROM wards",
    "SELECT DISTINCT floor FROM wards ORDER BY floor",
    "SELECT a.ward, b.ward AS other FROM wards a JOIN wards b ON a.floor = b.floor AND a.ward < b.ward",
    "SELECT ward FROM wards WHERE floor IN (SELECT floor FROM wards WHERE beds > 50) ORDER BY 1",
    "SELECT ward FROM wards w WHERE NOT EXISTS (SELECT 1 FROM wards v WHERE v.beds > w.beds)",
    "WITH large AS (SELECT * FROM wards WHERE beds > 30) SELECT floor, COUNT(*) AS n FROM large GROUP BY ALL ORDER BY 1",
    "SELECT COUNT(*) AS n FROM (SELECT ward FROM wards UNION ALL SELECT ward FROM wards) AS t",
    "SELECT ward, floor AS n FROM wards UNION ALL SELECT ward, beds FROM wards WHERE beds > 30 ORDER BY 2 LIMIT 3",
    "SELECT 'wards' AS what, COUNT(*) AS n FROM wards UNION ALL SELECT 'beds', SUM(beds) FROM wards",
    "SELECT ward, beds, (SELECT SUM(beds) FROM wards) AS total FROM wards WHERE beds > (SELECT AVG(beds) FROM wards)",
    "SELECT ward || '!' AS ward, STRFTIME(opened, '%Y-%m') AS month, YEAR(opened) AS year FROM wards WHERE STARTS_WITH(ward, 'n')",
    "SELECT ward FROM wards WHERE ward ~ 'th$' AND fee IS NOT NULL AND opened > DATE '2000-01-01'",
    "SELECT UPPER(ward) AS ward, CASE WHEN beds > 40 THEN 'large' ELSE 'small' END AS size FROM wards ORDER BY beds",
]


@pytest.mark.parametrize("text", FREE)
def test_public_tables_are_answered_exactly_and_for_nothing(ana: Session, plain: duckdb.DuckDBPyConnection, text: str) -> None:
    before = entries(ana)
    answer = ana.sql(text)
    said = plain.execute(text.replace("public.", "").replace("ward ~ 'th$'", "regexp_matches(ward, 'th$')"))
    names = [each[0] for each in said.description or ()]
    assert [column.name for column in answer.columns] == names
    ours = sorted(zip(*(column.values for column in answer.columns), strict=True), key=str)
    theirs = sorted((tuple(map(simple, row)) for row in said.fetchall()), key=str)
    assert [tuple(map(simple, row)) for row in ours] == theirs
    assert (answer.receipt.epsilon, answer.receipt.delta, answer.receipt.entry) == (0, 0, None)
    assert entries(ana) == before
    assert "Nothing was spent" in str(answer)
    assert "price: epsilon 0" in str(ana.explain(text))


def simple(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return str(value)[:10]
    return float(value) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else value


def test_what_is_not_a_number_is_null_and_a_name_stands_once(ana: Session) -> None:
    assert ana.sql("SELECT 1 / (beds - beds) AS x, POWER(beds, 999) AS y FROM wards LIMIT 1").rows() == [{"x": None, "y": None}]
    assert [column.name for column in ana.sql("SELECT ward, ward, ward FROM wards").columns] == ["ward", "ward_2", "ward_3"]
    with pytest.raises(Refused, match="unknown column 'bedz'") as refused:
        ana.sql("SELECT ward FROM wards WHERE bedz > 3")
    assert refused.value.at == (1, 30)


def test_values_that_are_declared_are_told(ana: Session) -> None:
    assert ana.sql("SELECT DISTINCT ward FROM visits")["ward"] == ("north", "south", "east", "west")
    assert ana.sql("SELECT DISTINCT v.kind AS what FROM public.visits v")["what"] == ("planned", "emergency", "other")
    assert ana.table("wards").agg("count(*)").release().receipt.entry is None


def test_the_catalog_is_described(ana: Session) -> None:
    tables = ana.sql("SHOW TABLES;")
    assert tables["table"] == ("patients", "visits", "wards")
    assert tables["public"] == (False, False, True)
    assert tables["unit"] == ("row", "patient_id -> patients.id", None)
    visits = ana.sql("DESCRIBE visits")
    rows = {row["column"]: (row["type"], row["values"]) for row in visits.rows()}
    assert rows["ward"] == ("category", "north, south, east, west")
    assert rows["cost"] == ("number", "0 to 5000, step 0.01")
    assert rows["day"] == ("date", "2020-01-01 to 2024-12-31")
    assert rows["diagnosis"] == ("private text", None)
    assert rows["patient_id"][0] == "privacy unit"
    assert visits.receipt.entry is None
    assert ana.sql('DESC "wards"')["column"] == ("ward", "floor", "beds", "fee", "opened")
    with pytest.raises(Refused, match="unknown table 'vists'"):
        ana.sql("DESCRIBE vists")


CONSTANTS = [
    ("SELECT 1", {"1": 1}),
    ("SELECT 1 AS x, 2, 1", {"x": 1, "2": 2, "1": 1}),
    ("SELECT version()", {"version": "tacit 0.1.0"}),
    ("SELECT CURRENT_DATE", {"current_date": "2025-01-01"}),
    ("SELECT CURRENT_DATE - INTERVAL 1 MONTH AS a, NOW()::date AS b", {"a": "2024-12-01", "b": "2025-01-01"}),
    ("SELECT CAST(NOW() + INTERVAL '-30 day' AS DATE) AS x", {"x": "2024-12-02"}),
    ("SELECT 'a' || 'b' AS x, 'a' || NULL AS y, CONCAT('a', NULL, 3) AS z", {"x": "ab", "y": None, "z": "a3"}),
    ("SELECT 1 + 2 * 3 AS x, -1.5 AS y", {"x": 7, "y": Decimal("-1.5")}),
    ("SELECT TO_DATE('31.01.2024', 'DD.MM.YYYY') AS x", {"x": "2024-01-31"}),
    ("SELECT TO_TIMESTAMP('2024-01-31 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AS x", {"x": "2024-01-31"}),
    ("SELECT PARSE_DATE('%Y-%m-%d', '2024-01-31') AS x", {"x": "2024-01-31"}),
    ("SELECT '5'::int + 1 AS x, '-2.5'::double AS y, 't'::boolean AS z", {"x": 6, "y": Decimal("-2.5"), "z": True}),
    (
        "SELECT CAST('2024-01-31 00:00:00' AS TIMESTAMP) AS x, CAST(1.25 AS NUMERIC(4, 2)) AS y",
        {"x": "2024-01-31", "y": Decimal("1.25")},
    ),
    ("SELECT * FROM (SELECT 1 AS x, 'b' AS y) AS virtual_table LIMIT 100", {"x": 1, "y": "b"}),
    ("SELECT COUNT(*) AS n FROM (SELECT 1 AS x UNION ALL SELECT 2)", {"n": 2}),
    ("SELECT (SELECT COUNT(*) FROM wards) AS n", {"n": 4}),
]


@pytest.mark.parametrize(("text", "row"), CONSTANTS)
def test_constants_are_free(ana: Session, text: str, row: dict[str, Any]) -> None:
    before = entries(ana)
    answer = ana.sql(text)
    assert answer.rows() == [row]
    assert (answer.receipt.epsilon, answer.receipt.entry) == (0, None)
    assert ana.explain(text).epsilon == 0
    assert entries(ana) == before


@pytest.mark.parametrize(
    "text",
    [
        "SELECT TO_DATE('2024-13-01', 'YYYY-MM-DD')",
        "SELECT TO_DATE('2024-01-01', 'YYYY')", "SELECT TO_DATE(day, 'YYYY-MM-DD') FROM visits",
        "SELECT TO_TIMESTAMP('2024-01-01 12:30:00', 'YYYY-MM-DD HH24:MI:SS')",
        "SELECT DATE '2024-01-01 12:30:00'", "SELECT '1.5'::int",
        "SELECT 'x'::boolean", "SELECT 'nan'::double",
        "SELECT DATE_TRUNC('day', NOW() - INTERVAL '5 hour')", "SELECT CURRENT_TIMESTAMP",
    ],
)  # fmt: skip
def test_a_constant_that_cannot_be_read_is_refused(ana: Session, text: str) -> None:
    with pytest.raises(Refused) as refused:
        ana.sql(text)
    assert refused.value.remedy


LISTS = [
    ("SELECT DISTINCT ward AS ward FROM visits ORDER BY 1 LIMIT 10000", [("east",), ("north",), ("south",), ("west",)]),
    ("SELECT DISTINCT ward AS w FROM visits ORDER BY w DESC LIMIT 2 OFFSET 1", [("south",), ("north",)]),
    ("SELECT ward FROM visits GROUP BY ward", [("north",), ("south",), ("east",), ("west",)]),
    ("SELECT ward FROM visits GROUP BY ALL ORDER BY visits.ward LIMIT 1", [("east",)]),
    ("SELECT DISTINCT ward FROM visits LIMIT 0", []),
    ("SELECT ward AS a, ward AS b FROM visits GROUP BY 1 LIMIT 1", [("north", "north")]),
    (
        "SELECT ward, urgent FROM visits GROUP BY urgent, 1 ORDER BY urgent DESC, ward DESC LIMIT 2",
        [("west", True), ("south", True)],
    ),
    ('SELECT "public"."visits"."ward" AS "x" FROM "public"."visits" GROUP BY "public"."visits"."ward" LIMIT 1', [("north",)]),
]


@pytest.mark.parametrize(("text", "rows"), LISTS)
def test_declared_values_are_listed_whatever_rows_have(ana: Session, text: str, rows: list[tuple[Any, ...]]) -> None:
    answer = ana.sql(text)
    assert list(zip(*(column.values for column in answer.columns), strict=True)) == rows
    assert (answer.receipt.epsilon, answer.receipt.entry) == (0, None)


def test_a_list_of_declared_values_is_the_same_on_neighbouring_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug narrows the list by data: it would read the store, which is not even opened here."""
    with hospital_session(tmp_path) as session:
        monkeypatch.setattr(type(session.data), "runner", property(lambda _: pytest.fail("private data was opened")))
        assert session.sql("SELECT ward FROM visits GROUP BY ward")["ward"] == ("north", "south", "east", "west")
        with pytest.raises(pytest.fail.Exception, match="private data was opened"):
            session.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)


def test_a_list_is_limited(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free, "MOST_LISTED", 11)
    with pytest.raises(TooMuchWork, match="12 combinations of declared values"):
        ana.sql("SELECT DISTINCT ward, kind FROM visits")


def test_unions_of_constants_are_limited_when_they_meet(ana: Session) -> None:
    two = "(SELECT 1 AS x UNION ALL SELECT 2)"
    assert ana.sql(" UNION ALL ".join(f"SELECT {number}" for number in range(40))).rows()[39] == {"0": 39}
    with pytest.raises(TooMuchWork, match="33,554,432 combinations of rows"):
        ana.sql(f"SELECT COUNT(*) FROM {', '.join(f'{two} t{at}' for at in range(25))}")


def test_explain_is_a_free_list_of_lines(ana: Session) -> None:
    before, question = entries(ana), "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > :least GROUP BY ward"
    answer = ana.sql(f"-- what does it cost?\nexplain {question}", params={"least": 3}, epsilon=1)
    assert answer["explanation"] == tuple(str(ana.explain(question, params={"least": 3}, epsilon=1)).splitlines())
    price, rung = answer["explanation"][-2:]
    assert price.startswith("price: epsilon 1; remaining")
    assert rung.startswith("rung: ")
    assert ana.explain(f"EXPLAIN {question}").epsilon == 0
    assert (answer.receipt.epsilon, answer.receipt.entry, entries(ana)) == (0, None, before)
    with pytest.raises(Refused) as refused:
        ana.sql("EXPLAIN SELECT SUM(nothing) FROM visits")
    assert refused.value.at == (1, 20)


def test_a_derived_table_without_a_name_gets_one(ana: Session) -> None:
    rows = "(SELECT * FROM visits WHERE urgent)"
    text = f"SELECT COUNT(*) AS n FROM {rows} JOIN (SELECT id FROM patients) AS derived_1 ON patient_id = id"
    assert ana.explain(text, epsilon=1).epsilon == 1
    named = text.replace("urgent)", "urgent) AS t")
    assert canonical_plan(rewrite(parse(text), hospital(), Wards())) == canonical_plan(rewrite(parse(named), hospital(), Wards()))


def test_concat_is_not_the_plan_of_two_bars(ana: Session) -> None:
    """A part that can be NULL is empty in CONCAT, and makes || NULL: no answer kept for one is that of the other."""

    def plan(text: str) -> str:
        whole = f"SELECT {text} AS x, COUNT(*) AS n FROM patients GROUP BY 1"
        return canonical_plan(rewrite(parse(whole), hospital(), Wards()))

    assert plan("CONCAT(NULLIF(sex, 'F'), '!')") != plan("NULLIF(sex, 'F') || '!'")
    assert plan("CONCAT(NULLIF(sex, 'F'), '!')") == plan("COALESCE(NULLIF(sex, 'F'), '') || '!'")

    def paid(text: str) -> bool:
        before = entries(ana)
        ana.sql(f"SELECT {text} AS x, COUNT(*) AS n FROM visits GROUP BY 1", epsilon="0.01")
        return entries(ana) > before

    assert [paid("ward || '!'"), paid("CONCAT(ward, '!')"), paid("COALESCE(ward, '') || '!'"), paid("ward || '!'")] == [
        True, True, False, False,
    ]  # fmt: skip


PRIVATE = "SELECT ward FROM visits WHERE patient_id = 7"
HIDDEN = [  # the planted bug is a check that looks at the outer FROM alone
    "SELECT ward FROM wards WHERE ward IN ({})",
    "SELECT ward FROM wards WHERE ward NOT IN ({})",
    "SELECT ward FROM wards w WHERE EXISTS (SELECT 1 FROM visits v WHERE v.ward = w.ward AND v.patient_id = 7)",
    "WITH hidden AS ({}) SELECT ward FROM wards WHERE ward IN (SELECT ward FROM hidden)",
    "WITH wards AS ({}) SELECT ward FROM wards",
    "WITH a AS (SELECT * FROM wards), b AS (SELECT * FROM visits) SELECT a.ward FROM a JOIN b ON a.ward = b.ward",
    "SELECT ward FROM wards UNION ALL {}",
    "SELECT ward FROM wards UNION {}",
    "SELECT ward FROM wards EXCEPT {}",
    "SELECT ward FROM (SELECT ward FROM wards UNION ALL {}) AS t",
    "SELECT (SELECT COUNT(*) FROM visits) AS n FROM wards",
    "SELECT ward FROM wards WHERE beds > (SELECT MAX(cost) FROM visits)",
    "SELECT ward FROM wards ORDER BY (SELECT MAX(cost) FROM visits)",
    "SELECT ward FROM wards LIMIT (SELECT COUNT(*) FROM visits)",
    "SELECT COUNT(*) FILTER (WHERE ward IN ({})) FROM wards",
    "SELECT CASE WHEN EXISTS ({}) THEN 1 ELSE 0 END AS x FROM wards",
    "SELECT ward FROM wards GROUP BY ward HAVING ward IN ({})",
    "SELECT w.ward FROM wards w LEFT JOIN visits v ON v.ward = w.ward",
    "SELECT w.ward FROM wards w, visits v",
    "SELECT w.ward FROM wards w CROSS JOIN LATERAL ({}) AS t",
    "SELECT w.ward FROM wards w NATURAL JOIN visits",
    "EXPLAIN SELECT DISTINCT diagnosis FROM visits",
    "DESCRIBE SELECT * FROM visits",
    'SELECT ward FROM wards WHERE ward IN (SELECT ward FROM "visits" WHERE patient_id = 7)',
    "SELECT ward FROM wards WHERE ward IN (SELECT ward FROM `VISITS`)",
    "SELECT ward FROM wards WHERE ward IN (SELECT ward FROM public.visits)",
    "SELECT ward FROM wards WHERE ward IN (SELECT ward FROM main.Visits AS wards)",
    "SELECT ward FROM wards WHERE ward IN (SELECT ward FROM store.visits)",
    "SELECT ward FROM wards WHERE ward IN (TABLE visits)",
    "SELECT ward FROM wards AS visits WHERE ward IN (SELECT ward FROM visits)",
    "SELECT DISTINCT ward FROM visits WHERE patient_id = 7",
    "SELECT DISTINCT ward FROM visits ORDER BY cost",
    # the planted bugs: a list of declared values that data narrows, and constants with a private table inside
    "SELECT DISTINCT ward FROM visits WHERE urgent LIMIT 1",
    "SELECT DISTINCT ward FROM visits WHERE 1 = 1",
    "SELECT DISTINCT ward, cost FROM visits",
    "SELECT DISTINCT ward FROM visits ORDER BY 2",
    "SELECT DISTINCT ward FROM visits ORDER BY UPPER(ward)",
    "SELECT DISTINCT v.ward FROM visits v JOIN patients p ON v.patient_id = p.id",
    "SELECT DISTINCT ward FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY ward) = 1",
    "SELECT DISTINCT ward FROM visits UNION ALL SELECT ward FROM visits GROUP BY ward",
    "SELECT DISTINCT ward FROM visits GROUP BY ward, cost",
    "SELECT DISTINCT ward FROM (SELECT * FROM visits WHERE urgent) AS t",
    "SELECT ward FROM visits",
    "SELECT ward FROM visits LIMIT 3",
    "SELECT TRUE FROM visits WHERE 1 <> 1 LIMIT 1",
    "SELECT TRUE FROM visits WHERE EXISTS ({}) LIMIT 0",
    "SELECT ward FROM visits WHERE urgent GROUP BY ward",
    "SELECT ward FROM visits GROUP BY ward HAVING ward <> 'north'",
    "SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 3",
    "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*)",
    "SELECT ward FROM visits GROUP BY ward, kind",
    "SELECT ward FROM visits GROUP BY ROLLUP (ward)",
    "SELECT ward, kind FROM visits GROUP BY ward",
    "SELECT ward, ward = 'north' AS x FROM visits GROUP BY ward",
    "SELECT ward AS kind FROM visits GROUP BY kind",
    "SELECT diagnosis FROM visits GROUP BY diagnosis",
    "SELECT patient_id FROM visits GROUP BY patient_id",
    "SELECT (SELECT COUNT(*) FROM visits)",
    "SELECT 1 WHERE EXISTS ({})",
    "SELECT 'north' IN ({}) AS x",
    "SELECT CASE WHEN EXISTS ({}) THEN 1 ELSE 0 END",
    "SELECT 1 AS x UNION ALL SELECT COUNT(*) FROM visits",
    "SELECT 1 LIMIT (SELECT COUNT(*) FROM visits)",
    "SELECT 1 ORDER BY (SELECT COUNT(*) FROM visits)",
    "WITH a AS ({}) SELECT 1 WHERE EXISTS (SELECT 1 FROM a)",
    "SELECT x FROM (SELECT 1 AS x UNION ALL SELECT cost FROM visits) AS t",
    "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1)",
    "SELECT",
    "SELECT UNION ALL SELECT",
    "SELECT COUNT(*)",
    "SELECT *",
    "SELECT ward",
    "SELECT DISTINCT UPPER(ward) FROM visits",
    "SELECT DISTINCT diagnosis FROM visits",
    "SELECT DISTINCT patient_id FROM visits",
    "SELECT DISTINCT cost FROM visits",
    "SELECT DISTINCT visits.ward FROM visits, wards",
    "SELECT * FROM visits",
    # ways out of the tables
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT read_text('/etc/passwd') AS x FROM wards",
    "SELECT getenv('HOME') AS x FROM wards",
    "SELECT * FROM wards, duckdb_settings()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM wards, range(1000000000) AS t(x)",
    "SELECT * FROM wards, generate_series(1, 1000000000)",
    "SELECT REPEAT(ward, 1000000000) AS x FROM wards",
    "SELECT query('SELECT 1') AS x FROM wards",
    "SELECT * FROM query_table('visits')",
    "SELECT nextval('x') AS x FROM wards",
    "SELECT pg_sleep(10) AS x FROM wards",
    "SELECT * FROM wards; SELECT * FROM visits",
    "SUMMARIZE visits",
    "SHOW ALL TABLES",
    "SHOW visits",
    "PRAGMA table_info('visits')",
    "SELECT getenv('HOME')",
    "SELECT read_text('/etc/passwd')",
    "SELECT pg_sleep(10)",
    "SELECT current_setting('TimeZone')",
    "SELECT NOW()",
    "SELECT REPEAT('a', 1000000000)",
    "SELECT (SELECT * FROM duckdb_settings())",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM visits",
    "EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM visits",
    "EXPLAIN EXPLAIN SELECT 1",
    "EXPLAIN DELETE FROM visits",
]  # fmt: skip


@pytest.mark.parametrize("form", HIDDEN)
def test_a_private_table_hidden_in_a_free_question_is_refused(ana: Session, form: str) -> None:
    before = entries(ana)
    text = form.format(PRIVATE)
    with pytest.raises(Refused):
        ana.sql(text)
    with suppress(Refused):
        assert "epsilon 0" not in str(ana.explain(text))
    assert entries(ana) == before


def test_a_check_of_the_outer_from_alone_is_caught(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug lets the question through; the engine that would run it does not have the table, and the walk does see it."""
    select = parse(HIDDEN[0].format("SELECT ward FROM visits WHERE urgent"))
    assert public_tables(select, hospital()) is None
    assert {node.table for node in nodes_in(select) if isinstance(node, From)} == {"wards", "visits"}
    monkeypatch.setattr(free, "nodes_in", lambda value: iter([value.table]) if hasattr(value, "table") else iter(()))
    assert public_tables(select, hospital()) is not None
    with pytest.raises(NotAllowed, match="cannot be asked in this way"):
        ana.sql(HIDDEN[0].format("SELECT ward FROM visits WHERE urgent"))


def test_an_engine_gives_no_rows_of_a_private_table(ana: Session) -> None:
    with pytest.raises(TypeError, match="sealed"):
        ana.data.engine.public_rows("visits")
    with pytest.raises(KeyError):
        ana.data.public.rows("visits")


def queries(depth: int = 3) -> st.SearchStrategy[tuple[str, bool]]:
    """A query that gives wards, and whether a private table stands anywhere in it."""
    tables = st.sampled_from([("wards", False), ("visits", True), ('"wards"', False), ("public.visits", True), ("Visits", True)])
    leaf = tables.map(lambda table: (f"SELECT ward FROM {table[0]}", table[1]))
    return st.recursive(leaf, _grown, max_leaves=depth)


def _grown(inner: st.SearchStrategy[tuple[str, bool]]) -> st.SearchStrategy[tuple[str, bool]]:
    two = st.tuples(inner, inner)
    forms = [
        "SELECT ward FROM ({0}) AS t WHERE ward IN ({1})",
        "SELECT ward FROM wards WHERE ward NOT IN ({0}) AND EXISTS ({1})",
        "SELECT ward FROM ({0} UNION ALL {1}) AS u",
        "WITH a AS ({0}), wards AS ({1}) SELECT a.ward FROM a JOIN wards ON a.ward = wards.ward",
        "SELECT a.ward FROM ({0}) AS a JOIN ({1}) AS b ON a.ward = b.ward",
        "SELECT ward FROM ({0}) AS t GROUP BY ward HAVING COUNT(*) > 0 AND ward IN ({1})",
    ]
    return st.builds(
        lambda form, pair: (form.format(pair[0][0], pair[1][0]), pair[0][1] or pair[1][1]), st.sampled_from(forms), two
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(queries(5))
@example(("SELECT ward FROM wards WHERE ward IN (SELECT ward FROM visits)", True))
def test_no_private_table_hides_anywhere(found: tuple[str, bool]) -> None:
    text, private = found
    with suppress(Refused):
        assert (public_tables(parse(text), hospital()) is None) == private


def test_the_work_and_the_answer_are_limited(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    many = ", ".join(f"wards w{at}" for at in range(12))
    with pytest.raises(TooMuchWork, match="16,777,216 combinations of rows"):
        ana.sql(f"SELECT COUNT(*) FROM {many}")
    tables = {"wards": ana.data.public.rows("wards")}
    with pytest.raises(TooMuchWork, match="seconds or 1GB of memory"):
        asked_of_public("SELECT COUNT(*) FROM range(100000) a, range(100000) b, wards WHERE a.range % 7 < b.range % 5", tables, 0.2)
    with pytest.raises(NotAllowed, match="cannot be asked in this way"):
        asked_of_public("SELECT * FROM read_csv('/etc/passwd')", tables)
    monkeypatch.setattr("tacit.query.engines.public.MOST_ROWS", 3)
    with pytest.raises(TooMuchWork, match="more than 3 rows"):
        ana.sql("SELECT * FROM wards")
    assert len(ana.sql("SELECT * FROM wards LIMIT 3")) == 3


def test_every_listed_function_is_one_of_sql(plain: duckdb.DuckDBPyConnection, ana: Session) -> None:
    """What is listed has a form in DuckDB: none of them is a way to something else."""
    calls = {
        "quantile": "QUANTILE_CONT(beds, 0.5)", "regexp_matches": "ward ~ 'x'", "interval": "opened + INTERVAL 3 DAY",
        "date_trunc": "DATE_TRUNC('month', opened)", "strftime": "STRFTIME(opened, '%Y')", "isodow": "EXTRACT(ISODOW FROM opened)",
        "power": "POWER(beds, 2)", "ends_with": "ENDS_WITH(ward, 'th')", "contains": "CONTAINS(ward, 'or')",
        "dayofyear": "DAYOFYEAR(opened)", "sign": "SIGN(beds)", "substring": "SUBSTRING(ward, 2, 2)",
        "is_true": "(beds > 3) IS TRUE",
        "stddev_pop": "STDDEV_POP(beds)", "var_samp": "VAR_SAMP(beds)", "count_distinct": "COUNT(DISTINCT floor)",
        "cast_boolean": "CAST(beds > 3 AS BOOLEAN)", "cast_text": "CAST(beds AS TEXT)", "median": "MEDIAN(beds)",
    }  # fmt: skip
    assert set(calls) <= ALLOWED
    for call in calls.values():
        assert len(ana.sql(f"SELECT {call} AS x FROM wards")) >= 1


# --- LIMIT 0 -------------------------------------------------------------------------------------------------------------------

SHAPES = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, AVG(cost) AS mean, SUM(cost) + 1 AS more, MEDIAN(cost) FROM visits GROUP BY ward",
    "SELECT ward, MODE(ward), COUNT(*) > 3, CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END, 7 AS seven FROM visits GROUP BY 1",
    "SELECT MIN(cost) AS a, STDDEV(cost) AS b, RANK() OVER (ORDER BY COUNT(*)) AS place FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL SELECT 'all', COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) * 100 / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward",
    "SELECT MEDIAN(cost) - (SELECT AVG(cost) FROM visits) AS a FROM visits UNION ALL SELECT SUM(cost) FROM visits",
]


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("end", [" LIMIT 0", " FETCH FIRST 0 ROWS ONLY", " FETCH NEXT 0 ROWS", " LIMIT 0 OFFSET 3"])
def test_no_rows_cost_nothing_and_have_the_columns_of_a_real_answer(ana: Session, text: str, end: str) -> None:
    real = ana.sql(text, epsilon="0.01")
    before, left = entries(ana), ana.data.accounts()
    found = ana.sql(text + end)
    assert len(found) == 0
    shape = [(each.name, each.kind, each.has_interval, list(each.values)) for each in found.columns]
    assert shape == [(each.name, each.kind, each.has_interval, []) for each in real.columns]
    assert list(found.flat()) == list(real.flat())
    assert (entries(ana), ana.data.accounts()) == (before, left)
    assert "Nothing was spent" in found.footer()
    assert found.to_dict()["columns"]
    assert found.to_csv().splitlines() == real.to_csv().splitlines()[:1]
    assert (ana.explain(text + end).epsilon, ana.explain(text).epsilon) == (0, 1)


def test_no_rows_have_no_interval_where_a_real_answer_has_none(ana: Session) -> None:
    for text in (
        "SELECT MEDIAN(cost) FROM visits",
        "SELECT COUNT(*) - (SELECT MEDIAN(cost) FROM visits) AS n, COUNT(*) FROM visits",
    ):
        real, found = (ana.sql(text + end, epsilon="0.01", interval=False) for end in ("", " LIMIT 0"))
        assert list(found.flat()) == list(real.flat())


def test_no_rows_of_what_the_catalog_decides_cost_nothing(ana: Session) -> None:
    before = entries(ana)
    for test in ("1 <> 1", "FALSE", "1 = 0 AND cost > 3", "ward = 'nowhere'"):
        found = ana.sql(f"SELECT ward, COUNT(*) AS n FROM visits WHERE {test} GROUP BY ward LIMIT 0")
        assert [each.name for each in found.columns] == ["ward", "n"]
    found = ana.sql("SELECT COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) FROM visits WHERE 1 = 0 LIMIT 0")
    assert [each.name for each in found.columns] == ["n"]
    assert entries(ana) == before


VISITS = ["patient_id", "ward", "kind", "urgent", "day", "cost", "pulse", "diagnosis", "note"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM visits LIMIT 0", VISITS),
        ("SELECT * FROM visits WHERE 1 <> 1 LIMIT 0", VISITS),
        ("SELECT * FROM (SELECT * FROM visits WHERE urgent) AS virtual_table FETCH FIRST 0 ROWS ONLY", VISITS),
        (
            "SELECT v.ward AS W, cost * 2 AS c, p.age FROM visits v JOIN patients p ON v.patient_id = p.id LIMIT 0",
            ["W", "c", "age"],
        ),
        ("SELECT DISTINCT diagnosis FROM visits LIMIT 0", ["diagnosis"]),
        ("SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id LIMIT 0", ["patient_id", "s"]),
        ("SELECT ward FROM visits UNION ALL SELECT ward FROM visits WHERE 1 = 0 LIMIT 0", ["ward"]),
        (
            "SELECT v.ward, w.* FROM visits v JOIN wards w ON v.ward = w.ward LIMIT 0",
            ["ward", "ward_2", "floor", "beds", "fee", "opened"],
        ),
    ],
)
def test_rows_are_described_by_their_declarations(
    ana: Session, text: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of private tables are never returned, but LIMIT 0 asks for none: the catalog has their columns."""
    before = entries(ana)
    monkeypatch.setattr(type(ana.data.runner), "open", lambda *_: 1 / 0)  # nothing that could read a row
    found, explained = ana.sql(text), ana.explain(text)
    assert ([column.name for column in found.columns], len(found)) == (names, 0)
    assert ([each.name for each in explained.columns], explained.epsilon) == (names, 0)
    assert "LIMIT 0 returns the columns only" in found.footer()
    assert entries(ana) == before


def test_a_public_table_without_rows_has_the_types_of_its_columns(ana: Session) -> None:
    shown = ana.explain("SELECT *, beds * 2 AS twice FROM wards WHERE floor = 77 LIMIT 0").columns
    assert [(each.name, each.kind, each.type) for each in shown] == [
        ("ward", "public", "text"), ("floor", "public", "integer"), ("beds", "public", "integer"), ("fee", "public", "number"),
        ("opened", "public", "date"), ("twice", "public", "integer"),
    ]  # fmt: skip
    for text in ("SELECT a.ward FROM wards a JOIN wards b ON a.ward = b.ward LIMIT 0", "SELECT MAX(fee) AS fee FROM wards LIMIT 0"):
        assert [each.type for each in ana.explain(text).columns] == [None]


def test_the_types_of_rows_are_those_that_are_declared(ana: Session) -> None:
    columns = {each.name: each for each in ana.explain("SELECT * FROM visits LIMIT 0").columns}
    assert [columns[name].type for name in VISITS] == [
        None, "text", "text", "boolean", "date", "number", "integer", "text", None,
    ]  # fmt: skip
    assert (columns["cost"].low, columns["cost"].high) == (0, 5000)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM nowhere LIMIT 0",
        "SELECT SUM(nothing) FROM visits LIMIT 0",
        "SELECT ward FROM visits",
        "SELECT nothing FROM visits LIMIT 0",
        "SELECT * FROM visits v JOIN visits w ON v.day = w.day LIMIT 0",
        "SELECT ward FROM visits WHERE ward IN (SELECT ward FROM visits) LIMIT 0",
        "SELECT ward, ROW_NUMBER() OVER (ORDER BY cost) FROM visits LIMIT 0",
        "SELECT SUM(cost FROM visits LIMIT 0",
        "SELECT COUNT(*) FROM visits WHERE nothing = 1 LIMIT 0",
        "SELECT COUNT(*) FROM visits FETCH FIRST 5 PERCENT ROWS ONLY",
        "SELECT COUNT(*) FROM visits FETCH FIRST 5 ROWS WITH TIES",
    ],
)
def test_refusals_stay_without_rows(ana: Session, text: str) -> None:
    with pytest.raises(Refused):
        ana.sql(text)
    with pytest.raises(Refused):
        ana.explain(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM (SELECT * FROM visits LIMIT 0) v",
        "(SELECT COUNT(*) AS n FROM visits LIMIT 0) UNION ALL SELECT COUNT(*) FROM visits",
        "SELECT COUNT(*) AS n FROM visits LIMIT 1",
    ],
)
def test_limit_0_inside_is_not_free(ana: Session, text: str) -> None:
    with pytest.raises(Refused):
        ana.sql(text)  # without a budget; a limit inside is refused in any case
