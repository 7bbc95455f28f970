"""SQL by allow-list: hostile and mistaken questions are refused before the engine, with a code of the closed list and a place."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from questions import clinic_questions
from stored import catalog, number, table
from tacit import errors
from tacit.errors import InvalidInput, InvalidSQL, NotAllowed, Refused
from tacit.query.language.sql import LONGEST_TEXT, parse, parse_expression, parse_item
from tacit.query.language.syntax import Apply, Constant, Name
from tacit.query.price.price import price, request
from tacit.query.question import canonical_plan
from worlds import PUBLIC, World, clinic, world_in_memory

LENGTHS = pytest.mark.parametrize("examples", [500, pytest.param(30_000, marks=pytest.mark.slow)])
CODES = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Refused)} - {"refused"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("sql")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def refusal(place: World, text: str) -> Refused:
    with pytest.raises(Refused) as caught:
        price(place.plan(text), request(epsilon=1))
    assert caught.value.code in CODES
    return caught.value


HOSTILE = [
    # functions of an engine, and ways to read what is not asked
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM 'visits.parquet'",
    "SELECT COUNT(*) FROM read_parquet('visits.parquet') AS visits",
    "SELECT read_text('/etc/passwd') FROM visits",
    "SELECT COUNT(*) FROM duckdb_tables()",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SELECT COUNT(*) FROM store.visits",
    "SELECT COUNT(*) FROM secret.visits",
    "SELECT COUNT(*) FROM tacit_store",
    "SELECT SUM(tacit_unit) FROM visits",
    "SELECT SUM(rowid) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'",
    "SELECT COUNT(*) FROM visits WHERE error('x') IS NULL",
    "SELECT SUM(random()) FROM visits",
    "SELECT SUM(setseed(0.5)) FROM visits",
    "SELECT query('SELECT 1') FROM visits",
    "SELECT COUNT(*) FROM glob('*')",
    "SELECT \"read_csv\"('x') FROM visits",
    "SELECT `pg_sleep`(5) FROM visits",
    "SELECT SUM(sleep(5)) FROM visits",
    "SELECT regexp_matches(diagnosis, '(a+)+$') FROM visits",
    "SELECT COUNT(*) FROM visits WHERE diagnosis SIMILAR TO '(a|a)*b'",
    "SELECT COUNT(*) FROM visits WHERE diagnosis GLOB '*'",
    "SELECT LIST(cost), COUNT(*) FROM visits",
    "SELECT STRING_AGG(diagnosis, ',') FROM visits",
    "SELECT FIRST(cost), ANY_VALUE(diagnosis) FROM visits",
    "SELECT HISTOGRAM(cost) FROM visits",
    "SELECT APPROX_QUANTILE(cost, 0.5) FROM visits",
    # statements
    "PRAGMA database_list",
    "COPY visits TO 'out.csv'",
    "ATTACH 'other.db'",
    "DETACH store",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '1TB'",
    "CALL pragma_version()",
    "EXPLAIN SELECT COUNT(*) FROM visits",
    "SUMMARIZE visits",
    "DESCRIBE visits",
    "SHOW TABLES",
    "CALL",
    "SHOW",
    "DESCRIBE",
    "DESCRIBE visits AS v",
    "EXPLAIN",
    "SET",
    "EXPORT DATABASE 'x'",
    "CREATE TABLE t AS SELECT * FROM visits",
    "DROP TABLE visits",
    "DELETE FROM visits",
    "UPDATE visits SET cost = 0",
    "INSERT INTO visits VALUES (1)",
    "VACUUM",
    "CHECKPOINT",
    "BEGIN",
    "FROM visits",
    "VALUES (1)",
    "TABLE visits",
    "PIVOT visits ON ward USING COUNT(*)",
    "SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits",
    "SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits",
    "WITH RECURSIVE v AS (SELECT * FROM visits) SELECT COUNT(*) FROM v",
    "SELECT COUNT(*) FROM (SELECT ward FROM visits GROUP BY ward)",
    "SELECT (SELECT 1) AS x, COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits JOIN (SELECT 'north' AS ward) USING (ward)",
    "SELECT COUNT(*) AS n FROM visits UNION ALL SELECT 1",
    "SELECT (SELECT MAX(cost) FROM visits) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits)",
    "SELECT COUNT(*) FROM visits WHERE cost IN (SELECT cost FROM visits)",
    "SELECT COUNT(*) FROM visits WHERE cost > ALL (SELECT cost FROM visits)",
    # rows, single people, and shapes of an answer that depend on the data
    "SELECT * FROM visits",
    "SELECT visits.* FROM visits",
    "SELECT cost FROM visits",
    "SELECT person, COUNT(*) FROM visits GROUP BY person",
    "SELECT COUNT(*) FROM visits WHERE person = 5",
    "SELECT MAX(person) FROM visits",
    "SELECT DISTINCT ward FROM visits",
    "SELECT COUNT(DISTINCT 1) FROM visits",
    "SELECT COUNT(DISTINCT person, ward) FROM visits",
    "SELECT SUM(DISTINCT cost) FROM visits",
    "SELECT COUNT(*) OVER () FROM visits",
    "SELECT ROW_NUMBER() OVER (ORDER BY cost) FROM visits",
    "SELECT COUNT(*) FROM visits QUALIFY cost > 1",
    "SELECT COUNT(*) FROM visits TABLESAMPLE 10 PERCENT",
    "SELECT COUNT(*) FROM visits USING SAMPLE 10",
    "SELECT MAX(diagnosis) FROM visits",
    "SELECT ARG_MAX(diagnosis, cost) FROM visits",
    "SELECT LENGTH(diagnosis), COUNT(*) FROM visits GROUP BY 1",
    "SELECT COUNT(*) FROM visits GROUP BY ward WITH ROLLUP",
    "SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), (ward))",
    "SELECT SUM(scan) FROM visits",
    "SELECT SUM(cost) INTO x FROM visits",
    "SELECT COUNT(*) FROM visits FOR UPDATE",
    # joins
    "SELECT COUNT(*) FROM visits, wards",
    "SELECT COUNT(*) FROM visits CROSS JOIN wards",
    "SELECT COUNT(*) FROM visits JOIN visits v ON v.ward = visits.ward",
    "SELECT COUNT(*) FROM visits JOIN wards ON visits.ward < wards.ward",
    "SELECT COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward AND cost > 3",
    "SELECT COUNT(*) FROM visits RIGHT JOIN wards ON visits.ward = wards.ward",
    "SELECT COUNT(*) FROM visits FULL JOIN wards ON visits.ward = wards.ward",
    "SELECT COUNT(*) FROM visits SEMI JOIN wards ON visits.ward = wards.ward",
    "SELECT COUNT(*) FROM visits ASOF JOIN wards ON visits.ward = wards.ward",
    "SELECT COUNT(*) FROM visits LEFT JOIN LATERAL wards ON TRUE",
    "SELECT COUNT(*) FROM visits JOIN wards USING (ward, site)",
    "SELECT COUNT(*) FROM visits AS v(a, b)",
    "SELECT COUNT(*) FROM wards",
    # constructs that would be answered other than they are asked
    "SELECT EXTRACT(sum FROM cost) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(interval FROM cost) = 3",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(case FROM day) = 3",
    "SELECT SUM(CAST(cost AS DECIMAL(3, 1))) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE CAST(ward AS VARCHAR(1)) = 'a'",
    "SELECT SUM(CAST(cost AS INTEGER[])) FROM visits",
    "SELECT SUM(TRY_CAST(cost AS INTEGER)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE 'a!%' ESCAPE '!'",
    "SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'a\\%'",
    "SELECT COUNT(*) FROM visits WHERE ward LIKE diagnosis",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n NULLS FIRST",
    "SELECT SUM(ABS(cost) FILTER (WHERE age > 1)) FROM visits",
    "SELECT SUM(cost IGNORE NULLS) FROM visits",
    "SELECT COUNT(*) FROM visits LIMIT 5 PERCENT",
    "SELECT COUNT(*) FROM visits LIMIT (SELECT 1)",
    "SELECT COUNT(*) FROM visits WHERE SUBSTRING(ward, age) = 'a'",
    "SELECT COUNT(*) FROM visits WHERE ward IS DISTINCT FROM 'a'",
    "SELECT COUNT(*) FROM visits WHERE ward = 5",
    "SELECT COUNT(*) FROM visits WHERE ward = DATE '2020-01-01'",
    "SELECT ward, COUNT(*) * ward FROM visits GROUP BY ward",
    "SELECT MAX(day) + 1 FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward = 5",
    "SELECT COUNT(*) FROM visits HAVING MAX(day) > 'yesterday'",
    "SELECT cost, COUNT(*) FROM visits GROUP BY cost, cost + 1, cost + 2",
    "SELECT SUM(cost) FROM visits WHERE cost = :parameter",
    "SELECT SUM(cost) FROM visits WHERE cost = ?",
    "SELECT SUM(cost) FROM visits WHERE cost = $1",
    "SELECT SUM(cost::STRUCT(a INT)) FROM visits",
    "SELECT MEDIAN(cost), QUANTILE(cost, 2) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE cost BETWEEN 'a' AND 'b'",
    "SELECT COUNT(*) FROM visits WHERE cost",
    "SELECT SUM(1) FROM visits",
    "SELECT 1 FROM visits",
    "SELECT COUNT(*)",
    "SELECT FROM visits",
    "SELECT COUNT(*), FROM visits WHERE",
    # text that is not what it seems
    "",
    " \n\t",
    ";",
    "SELECT COUNT(*) FROM visits WHERE note = $$it's$$",
    "SELECT COUNT(*) FROM visits WHERE ward = 'a",
    'SELECT COUNT(*) FROM visits WHERE "ward = 1',
    "SELECT COUNT(*) FROM visits /* never closed",
    "SELECT COUNT(*) FROM visits\x00",
    "SELECT COUNT(*) FROM visits\x1b[2J",
    "SELECT COUNT(*) FROM vi\u200bsits",
    "SELECT COUNT(*) FROM ｖｉｓｉｔｓ",
    "SELECT COUNT(*) FROM visits WHERE ward = ‘a’",
    "ＳＥＬＥＣＴ COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE cost > ١٢",
    "SELECT COUNT(*) FROM visits\ud800",
    "SELECT " + "(" * 500 + "1" + ")" * 500 + " FROM visits",
    "SELECT SUM(" + "-(" * 70 + "cost" + ")" * 70 + ") FROM visits",
    "SELECT SUM(" + "ABS(" * 30 + "age" + " - 1)" * 30 + ") FROM visits",
    "SELECT SUM(" + "GREATEST(age, " * 40 + "1" + ")" * 40 + ") FROM visits",
    "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(["age > 1"] * 900),
    "SELECT SUM(cost + " + "9" * 400 + ") FROM visits",
    "SELECT SUM(cost * 1e40) + SUM(cost * 1e-40 + 1) FROM visits",
    "SELECT SUM(cost) FROM visits LIMIT " + "9" * 5000,
    "SELECT COUNT(*) FROM visits WHERE cost > 1e999999999",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e999999999) COUNT(*) FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = nan) COUNT(*) FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rows = 5) COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits GROUP BY " + ", ".join(f"cost + {at}" for at in range(300)),
    "SELECT " + "x" * (LONGEST_TEXT + 1) + " FROM visits",
]


def not_refused(place: World, texts: Iterable[str]) -> list[str]:
    """The questions that are not refused with a code of the list, a message and a place in the text, or that fail otherwise."""
    failing = []
    for text in texts:
        try:
            price(place.plan(text), request(epsilon=1))
        except Refused as found:
            line, column = found.at or (1, 1)
            within = 1 <= line <= text.count("\n") + 1 and 1 <= column <= len(text) + 1
            failing += [] if found.code in CODES and found.message and within else [text]
        except Exception:
            failing.append(text)
        else:
            failing.append(text)
    return failing


def test_hostile_and_mistaken_questions_are_refused_with_a_code(place: World) -> None:
    assert not_refused(place, HOSTILE) == []


def test_planted_answers_codes_places_and_failures_are_seen(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT COUNT(*) FROM vistis"
    assert not_refused(place, [text, "SELECT COUNT(*) FROM visits"]) == ["SELECT COUNT(*) FROM visits"]
    for planted in (Refused("x"), NotAllowed(""), NotAllowed("x", at=(2, 1)), NotAllowed("x", at=(1, 99)), KeyError("x")):

        def fail(*_: object, planted: Exception = planted) -> None:
            raise planted

        monkeypatch.setattr(World, "plan", fail)
        assert not_refused(place, [text]) == [text], planted


PLACES = [
    ("SELECT COUNT(*) FROM visits WHERE csot > 5", "csot"),
    ("SELECT COUNT(*)\nFROM visits\nWHERE age > 1 AND read_csv('x') = 1", "read_csv"),
    ("SELECT COUNT(*) FROM vistis", "vistis"),
    ("SELECT COUNT(*),\n  SUM(ward) FROM visits", "SUM"),
    ("SELECT 'é🙂', COUNT(*),\nSUM(nothing) FROM visits", "nothing"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis = 'é🙂' AND nothing = 1", "nothing"),
    ("SELECT COUNT(*) FROM visits -- a comment\nWHERE nothing > 1", "nothing"),
    ("SELECT /* a\ncomment */ SUM(nothing) FROM visits", "nothing"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) SUM(nothing) FROM visits", "nothing"),
    ("SELECT COUNT(*) FROM visits WHERE day = 'never'", "day"),
    ("SELECT SUM(age + GREATEST(age, 1e30)) FROM visits", "GREATEST"),
    ("SELECT COUNT(*) FROM visits\tWHERE\n\t\tnothing > 1", "nothing"),
    ("SELECT age, COUNT(*) FROM visits GROUP BY age ORDER BY nothing", "nothing"),
    ("SELECT COUNT(*) FROM visits JOIN visits AS v ON v.age = visits.age", "visits AS v"),
    ("SELECT COUNT(*) FRM visits", "visits"),
    ("SELECT COUNT(*) FROM visits WHERE age >", None),
]


def place_of(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def test_a_refusal_points_at_its_place(place: World) -> None:
    for text, word in PLACES:
        found = refusal(place, text)
        assert found.at == (place_of(text, text.index(word)) if word else found.at), text
        assert found.at is not None
        assert str(found).startswith(f"line {found.at[0]}, column {found.at[1]}: "), text


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("SELECT COUNT(*) FROM visits WHERE csot > 5", "did you mean cost?"),
        ("SELECT COUNT(*) FROM vsits", "declared are: visits, wards"),
        ("SELECT AVG(cost (eur)) FROM visits", "a column name with parentheses needs double quotes"),
        ("SELECT SUM(scan) FROM visits", "scan = { bounds = [0, 100] }"),
        ("SELECT MAX(cost) OVER () FROM visits", "GROUP BY"),
        ("SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis", "delta=1e-7"),
        ("SELECT cost, COUNT(*) FROM visits GROUP BY cost, cost * 2, day, age", "FLOOR(x / 10) * 10"),
    ],
)
def test_a_refusal_says_what_to_do(place: World, text: str, remedy: str) -> None:
    assert remedy in refusal(place, text).remedy


NEVER = [
    ("ward = 'aa'", "'aa' is not a declared value", "did you mean 'a'?", "ward"),
    ("ward <> 'B '", "'B ' is not a declared value", "did you mean 'b'?", "ward"),
    ("ward IN ('x', 'y')", "'x' is not a declared value", "declared are: 'a', 'b', 'c'", "ward"),
    ("age > 2 AND\nward = 'zzz'", "'zzz' is not a declared value", "declared are: 'a', 'b', 'c'", "ward"),
    ("UPPER(ward) = 'a'", "'a' is not a declared value", "did you mean 'A'?", "UPPER"),
    ("age > 500", "the condition is never true: age is from -3 to 7", "can occur", "age"),
    ("500 < age", "the condition is never true: age is from -3 to 7", "can occur", "500"),
    ("cost = 1.005", "the condition is never true: cost is from 0 to 50 in steps of 0.01", "can occur", "cost"),
    ("day > '2021-01-01'", "day is from 2020-01-30 to 2020-05-02", "can occur", "day"),
    ("age > 2 AND cost > 51", "cost is from 0 to 50", "can occur", "cost"),
    ("NOT age <= 7", "the condition is never true", "can occur", "age"),
    ("age + 3 < 0", "the condition is never true: age", "can occur", "age"),
    ("age > 8 OR cost < 0", "age is from -3 to 7, cost is from 0 to 50", "can occur", "age"),
    ("ward LIKE 'q%'", "ward is one of 'a', 'b', 'c'", "can occur", "ward"),
    ("cost = NULL", "a comparison with NULL is never true", "use IS NULL", "cost"),
    ("age IS NULL", "the condition is never true: age", "can occur", "age"),
    ("FALSE", "the condition is never true", "can occur", "FALSE"),
    ("cost > 10 AND cost < 5", "the conditions exclude each other", "borders", "cost"),
    ("cost > 10 AND age = 2 AND NOT cost >= 10.01", "the conditions exclude each other", "borders", "cost"),
    ("cost BETWEEN 9 AND 8", "the condition is never true", "can occur", "cost"),
    ("ward = 'a' AND ward = 'b'", "the conditions exclude each other", "borders", "ward"),
    ("ward <> 'a' AND ward NOT IN ('b', 'c')", "the conditions exclude each other", "borders", "ward"),
    ("age IN (1, 2) AND age > 2", "the conditions exclude each other", "borders", "age"),
]


def test_a_condition_that_the_catalog_alone_decides_is_refused(place: World) -> None:
    for condition, message, remedy, word in NEVER:
        text = f"SELECT COUNT(*) FROM visits WHERE {condition}"
        found = refusal(place, text)
        assert found.code == "never_true", condition
        assert message in found.message, condition
        assert remedy in found.remedy, condition
        offset = text.index(word, text.index("WHERE"))
        assert found.at == (None if word == "FALSE" else place_of(text, offset)), "a constant has no place"


VALUES = {"cost": range(51), "age": range(-3, 8)}  # as declared; costs between them change no comparison with whole numbers
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne}


def agrees(
    place: World, comparison: tuple[str, str, int], negated: bool, values: Mapping[str, range] = MappingProxyType(VALUES)
) -> bool:
    """Whether a comparison is refused exactly where no declared value meets it, by trying them."""
    column, sign, right = comparison
    condition = f"{column} {sign} {right}"
    text = f"SELECT COUNT(*) FROM visits WHERE {f'NOT ({condition})' if negated else condition}"
    met = any(SIGNS[sign](value, right) != negated for value in values[column])
    return is_never_true(place, text) == (not met)


@settings(max_examples=100, deadline=None)
@given(st.tuples(st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(SIGNS)), st.integers(-20, 70)), st.booleans())
@example(("cost", ">", 50), False)
@example(("age", ">=", -3), True)
def test_a_comparison_is_refused_exactly_where_no_value_meets_it(
    place: World, comparison: tuple[str, str, int], negated: bool
) -> None:
    assert agrees(place, comparison, negated)


def test_planted_bounds_that_are_one_off_are_seen(place: World) -> None:
    assert not agrees(place, ("cost", ">", 50), False, {"cost": range(52)})
    assert not agrees(place, ("age", ">=", -3), True, {"age": range(-4, 8)})


def is_never_true(place: World, text: str) -> bool:
    try:
        price(place.plan(text), request(epsilon=1))
    except Refused as found:
        return found.code == "never_true"
    return False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT COUNT(*) FILTER (WHERE age > 500) FROM visits", "COUNT covers no possible row"),
        ("SELECT SUM(CASE WHEN age > 500 THEN cost END) FROM visits", "SUM covers no possible row"),
        ("SELECT COUNT(NULL) FROM visits", "COUNT covers no possible row"),
        ("SELECT SUM(CASE WHEN ward = 'aa' THEN 1 ELSE 0 END) FROM visits", "'aa' is not a declared value"),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward = 'aa'", "'aa' is not a declared value"),
        (
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 3 AND ward IN ('aa')",
            "'aa' is not a declared value",
        ),
        ("SELECT COUNT(*) FROM visits JOIN wards USING (ward) WHERE site = 'W'", "'W' is not a declared value"),
    ],
)
def test_so_is_one_inside_an_aggregate_or_on_a_key(place: World, text: str, message: str) -> None:
    found = refusal(place, text)
    assert (found.code, message in found.message) == ("never_true", True)
    assert found.at is not None


POSSIBLE = [
    "age < 500", "age >= -3", "age <= -3", "cost BETWEEN 5 AND 5", "ward IN ('a', 'zzz')", "ward NOT IN ('a', 'zzz')",
    "ward <> 'a' AND ward <> 'b'", "age > 500 OR age < 3", "CASE WHEN age > 500 THEN 1 ELSE 2 END = 2", "cost IS NULL",
    "diagnosis = 'flu' AND diagnosis = 'cold'", "NOT (cost > 10 AND cost < 5)", "cost > age", "age > 1 AND age < 3",
    "day = '2020-01-30'", "TRUE", "ward >= 'c'", "diagnosis LIKE 'q%'",
    "TRUE GROUP BY ward HAVING ward IN ('a', 'zzz')", "TRUE GROUP BY ward HAVING ward > 'zzz' OR COUNT(*) > 1",
]  # fmt: skip


def test_what_some_row_can_meet_is_answered(place: World) -> None:
    assert [condition for condition in POSSIBLE if is_never_true(place, f"SELECT COUNT(*) FROM visits WHERE {condition}")] == []
    for condition in POSSIBLE:
        assert price(place.plan(f"SELECT COUNT(*) FROM visits WHERE {condition}"), request(epsilon=1)), condition


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        ("MEDIAN(CASE WHEN age > 2 THEN 5 END)", "MEDIAN of an expression that has one possible value does not depend on the data"),
        ("AVG(CASE WHEN age > 2 THEN 5 END)", "AVG of an expression that has one possible value does not depend on the data"),
        ("SUM(cost * 0)", "SUM of an expression that is always 0 does not depend on the data"),
        ("SUM(age * 0)", "SUM of a constant does not depend on the data"),
        ("STDDEV(cost * 0)", "STDDEV_SAMP of an expression that has one possible value"),
    ],
)
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"error": 5}])
def test_an_aggregate_whose_value_is_known_is_refused_in_its_own_words(
    place: World, aggregate: str, said: str, budget: dict[str, float]
) -> None:
    with pytest.raises(Refused, match=said) as caught:
        price(place.plan(f"SELECT {aggregate} FROM visits"), request(**budget))  # type: ignore[arg-type]
    assert caught.value.code == "not_allowed"


def test_a_sum_of_ones_is_a_count_and_stays(place: World) -> None:
    assert price(place.plan("SELECT SUM(CASE WHEN age > 2 THEN 1 END) FROM visits"), request(error=5))


# --- what may be asked -----------------------------------------------------------------------------------------------------------

ALLOWED = [
    "select count(*) from VISITS where Ward = 'a'",
    'SELECT COUNT(*) AS "n b" FROM "visits" WHERE `ward` = \'a\'',
    "SELECT COUNT(*) FROM visits -- and a comment",
    "SELECT COUNT(*) /* and */ FROM visits;",
    "SELECT COUNT(*) n FROM visits v WHERE v.age IN (1, -2, 3.5) AND v.day >= '2020-02-01'",
    "SELECT COUNT(*) FROM visits WHERE ward NOT IN ('a', 'b') OR NOT (age BETWEEN 1 AND 3)",
    "SELECT CASE ward WHEN 'a' THEN 'first' ELSE 'rest' END AS w, COUNT(*) FROM visits GROUP BY w",
    "SELECT IF(age > 2, 1, 0) AS old, COUNT(*) FROM visits GROUP BY old",
    "SELECT QUANTILE(cost, 0.9), PERCENTILE_DISC(0.1) WITHIN GROUP (ORDER BY cost DESC) FROM visits",
    "SELECT YEAR(day) y, MONTH(day) m, COUNT(*) c FROM visits GROUP BY 1, 2 ORDER BY c DESC, 1 LIMIT 3 OFFSET 1",
    "SELECT COUNT(*) FILTER (WHERE age > 1), SUM(cost) FILTER (WHERE ward = 'a') FROM visits",
    "SELECT ROUND(AVG(cost), 2) FROM visits",
    "SELECT w.site, COUNT(*) FROM visits v LEFT JOIN wards w ON w.ward = v.ward GROUP BY site HAVING COUNT(*) > 5 AND site <> 'N'",
    "SELECT ward, site, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY ward, site",
    "SELECT COUNT(DISTINCT person), COUNT(DISTINCT v.person) FROM visits v",
    "SELECT STDDEV(cost), STDDEV_POP(cost), VARIANCE(cost), VAR_POP(cost), MIN(cost), MAX(day), MEDIAN(age) FROM visits",
    "SELECT CAST(AVG(cost) AS INTEGER), -COUNT(*), 2 * (COUNT(*) + 1) - 0.5 FROM visits",
    "SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%flu_' AND diagnosis IS NOT NULL",
    "SELECT DATE_TRUNC('month', day + INTERVAL 1 WEEK) AS m, COUNT(*) FROM visits GROUP BY m",
]


def test_ordinary_sql_is_answered(place: World) -> None:
    for text in ALLOWED:
        assert price(place.plan(text), request(epsilon=1, delta=1e-6)), text


def test_a_budget_written_in_the_question_is_read() -> None:
    options = parse(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-6, confidence=0.9) COUNT(*) FROM visits"
    ).options
    assert options == (("epsilon", Fraction(1, 2)), ("delta", Fraction(1, 10**6)), ("confidence", Fraction(9, 10)))


def test_comments_and_case_change_nothing() -> None:
    def bare(expression: Any) -> Any:
        return re.sub(r"at=\(\d+, \d+\)", "", repr(expression))

    assert bare(parse("SELECT SUM(cost) FROM visits WHERE age > 1")) == bare(
        parse("select /* x */ sum(cost) -- y\nfrom visits where age>1;")
    )


def test_a_column_may_be_called_alter_and_the_statement_is_refused() -> None:
    """The German word for age."""
    asked = parse("SELECT Alter, AVG(t.alter) AS mean FROM t WHERE alter > 17 GROUP BY Alter ORDER BY Alter")
    assert asked.items[0].expression == Name(("Alter",), at=(1, 8))
    assert asked.where is not None
    with pytest.raises(NotAllowed, match="ALTER is not supported"):
        parse("ALTER TABLE t ADD COLUMN x INT")


def test_a_table_may_be_declared_under_its_schema() -> None:
    """As `tacit init` writes it for a PostgreSQL schema that is not public."""
    people = table("clinic.people", Path("p.csv"), number("age", 0, 9))
    with world_in_memory(catalog(Path(), people), {"clinic.people": []}) as made:
        asked = ["clinic.people", "Clinic.People p", '"clinic.people"', "`clinic.people`"]
        plans = {canonical_plan(made.plan(f"SELECT SUM(age) AS s FROM {name} WHERE age > 3")) for name in asked}
        assert len(plans) == 1
        assert made.plan("SELECT SUM(people.age) AS s FROM clinic.people").parts
        for wrong in ("people", "ward.people"):
            assert refusal(made, f"SELECT COUNT(*) FROM {wrong}").remedy == "write clinic.people"
        assert "a schema 'clinic' before a column" in refusal(made, "SELECT SUM(clinic.people.age) FROM clinic.people").message


# --- expressions of the builder --------------------------------------------------------------------------------------------------


def test_an_expression_is_one_and_keeps_its_place() -> None:
    assert parse_expression("cost > 10 -- why not") == Apply(">", (Name(("cost",), (1, 1)), Constant(Fraction(10), (1, 8))), (1, 1))
    assert parse_item("AVG(cost) AS mean").name == "mean"
    with pytest.raises(Refused) as caught:
        parse_expression("cost > 1 AND\n read_csv('x') = 2")
    assert caught.value.at == (2, 2)


@pytest.mark.parametrize(
    "text",
    [
        "cost, age",
        "cost FROM visits",
        "cost WHERE age > 1",
        "cost) FROM visits --",
        "cost AS c",
        "",
        "a; b",
        "*",
        "cost ORDER BY 1",
    ],
)
def test_nothing_hides_behind_an_expression(text: str) -> None:
    with pytest.raises((NotAllowed, InvalidSQL)):
        parse_expression(text)


# --- anything at all -------------------------------------------------------------------------------------------------------------


def only_refused(place: World, text: str) -> None:
    """Nothing but a refusal is ever raised, whatever is asked."""
    try:
        price(place.plan(text), request(epsilon=1, delta=1e-6))
    except Refused as found:
        assert found.code in CODES  # noqa: PT017  # most are refused, some are answered, and nothing else may happen
    except InvalidInput:
        pass


WORDS = sorted({word for text in (*HOSTILE, *ALLOWED) if len(text) < 300 for word in re.findall(r"\w+|[^\w\s]|'[^']*'", text)})


@LENGTHS
def test_whatever_is_asked_only_refusals_are_raised(place: World, examples: int) -> None:
    pieces = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=25).map(" ".join)

    @settings(max_examples=examples, deadline=None)
    @given(
        st.text(max_size=80)
        | pieces
        | pieces.map("SELECT {} FROM visits".format)
        | pieces.map("SELECT COUNT(*) FROM visits WHERE {}".format)
    )
    @example("SELECT COUNT(*) FROM visits WHERE LOWER() = 1")
    @example("SELECT ROUND(COUNT(*), age) FROM visits")
    @example("SELECT POWER(age, 2.5), LEFT(ward, -1), SUBSTRING(ward, 0) FROM visits")
    @example("SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('century', day) = day")
    def check(text: str) -> None:
        only_refused(place, text)

    check()


@LENGTHS
def test_mutated_questions_only_raise_refusals(place: World, examples: int) -> None:
    @st.composite
    def mutated(draw: st.DrawFn) -> str:
        text = draw(
            st.sampled_from([*ALLOWED, *(text for text in HOSTILE if len(text) < 300)]) | clinic_questions(private_keys=True)
        )
        for _ in range(draw(st.integers(1, 4))):
            at = draw(st.integers(0, len(text)))
            length = draw(st.sampled_from([0, 0, 1, 3, 8]))
            text = text[:at] + draw(st.sampled_from(["", *WORDS]) | st.characters()) + text[at + length :]
        return text

    @settings(max_examples=examples, deadline=None)
    @given(mutated())
    def check(text: str) -> None:
        only_refused(place, text)

    check()


UNSEEN = st.sampled_from("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") | st.characters(
    categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\t\n\r"
)
PLACED = [
    "SELECT COUNT(*) FROM visits WHERE ward = 'a{}'",
    'SELECT COUNT(*) AS "n{}" FROM visits',
    "SELECT COUNT(*) -- {}\nFROM visits",
]


def shown_place(text: str, mark: str) -> tuple[int, int] | None:
    """Where a text with the mark is refused for what is not seen."""
    try:
        parse(text.format(mark))
    except InvalidSQL as found:
        return found.at
    return None


@given(st.sampled_from(PLACED), UNSEEN)
@example(PLACED[0], "\x00")
@example(PLACED[1], "\x1b")
@example(PLACED[2], "\x85")
@example(PLACED[0], "\u2028")
@example(PLACED[1], "\ud800")
def test_what_is_not_seen_where_it_stands_is_refused_quoted_or_not(text: str, mark: str) -> None:
    """A record of what was asked must read as it was asked: no control, and nothing that turns the direction of a line."""
    assert shown_place(text, mark) == (1, text.index("{") + 1)


def test_a_planted_reader_of_every_mark_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.query.language.sql.readable", lambda text: text)
    assert [shown_place(text, "\u202e") for text in PLACED] == [None] * 3


def test_letters_of_every_script_may_stand_in_a_question() -> None:
    joined = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert isinstance(parse(f"SELECT COUNT(*) FROM visits WHERE ward = 'naïve 東京 ❤️ {joined}'").where, Apply)


# --- how long a text may be --------------------------------------------------------------------------------------------------


def test_a_long_text_of_few_words_is_read() -> None:
    names = ", ".join(f"'{at:0>600}'" for at in range(100))
    assert parse(f"SELECT COUNT(*) FROM visits WHERE ward IN ({names})").where is not None
    assert parse("SELECT COUNT(*) FROM visits -- " + "x" * 65_000).where is None


def test_a_text_of_too_many_words_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser's work follows the number of tokens; planted: texts that reach it."""
    reached: list[str] = []
    monkeypatch.setattr("tacit.query.language.sql.sqlglot.parse", lambda text, **_: reached.append(text) or [])
    pieces = ["a,", "1+", "a<", "(", "NOT ", "''", '""', "/*", "/**/", "- ", "`a`", "::int", "?,", "é ", ";"]
    texts = ["SELECT " + piece * (65_000 // len(piece)) for piece in pieces]
    for text in texts:
        with pytest.raises(NotAllowed):
            parse(text)
    assert not reached
    monkeypatch.setattr("tacit.query.language.sql.MOST_TOKENS", 10**9)
    for text in texts:
        with pytest.raises(NotAllowed):
            parse(text)
    assert reached == texts


def test_a_question_of_nearly_all_nodes_has_few_enough_tokens() -> None:
    text = "SELECT COUNT(*) FROM visits WHERE age IN (" + ", ".join(["1"] * 1_900) + ")"
    assert parse(text).where is not None
