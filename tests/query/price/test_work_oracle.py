"""A hunt for questions whose fate one person's row decides: random plans near every limit, asked of neighbouring stores.

Three stores of one catalog: in the first nobody matches, in the second one unit does (the neighbour of the first), in the third
everybody. A question has the same status, code, text and shape on all of them; the rows that the real engine's operators processed
are never more than the worst work that was computed before the ledger; no unit has more rows after joins than the catalog says; and
what is answered is within the limits. Each of these catches a planted bug.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stored import catalog as catalog_of
from stored import category, number
from stored import table as table_of
from tacit.errors import Refused, TooMuchWork
from tacit.privacy.catalog import Catalog, Column, Owner, Source, Table
from tacit.query.engines import compile as compiled
from tacit.query.plan import Join, Semi, Where
from tacit.query.price import price as pricing
from tacit.query.price import stability, work
from tacit.query.price.price import Quote, price, request
from tacit.query.trees import canonical_text
from tacit.release.answer import Receipt
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from worlds import World, ranked, world

UNITS, ROWS_EACH, LONGEST = 30, 3, 48
STEPS = 10**7  # a limit that plans of this size come near to; the rules do not depend on it
CODES = 3000
WARDS = ("a", "b", "none")
PUBLIC = {
    "wards": (category("ward", *WARDS[:2]), category("site", "N", "S"), number("beds", 0, 9)),
    "codes": (number("code", 0, CODES - 1), number("chapter", 0, 99)),
    "empty": (category("ward", *WARDS), number("beds", 0, 9)),
}
SHOWN = {"PROJECTION", "CTE", "CTE_SCAN", "RESULT_COLLECTOR", "EXPLAIN_ANALYZE"}  # pass rows on that are counted below them


def declared(folder: Path) -> Catalog:
    columns = (
        Column("person", "key"),
        category("ward", *WARDS, nulls="drop"),
        number("badge", 0, 50),
        number("cost", 0, 5000, nulls="drop"),
        number("age", 0, 110, nulls="drop"),
        Column("note", "text", longest=LONGEST),
    )
    limits = {"max_rows": ROWS_EACH, "rows_at_most": UNITS * ROWS_EACH, "max_joined_rows": 100}
    visits = table_of("visits", folder / "visits.csv", *columns, unit=Owner("person"), **limits)
    limited = table_of("limited", folder / "visits.csv", *columns, unit=Owner("person"), max_rows_per_group=2, **limits)
    public = [
        Table(name, Source("csv", f"{name}.csv"), {column.name: column for column in found}, public=True)
        for name, found in PUBLIC.items()
    ]
    return catalog_of(folder, visits, limited, *public)


def stored(matching: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables, of whom the first `matching` units match in every filter and join, as often as they can."""
    match = {"ward": 0, "badge": 7, "cost": 2500, "age": 40, "note": "a" * LONGEST}
    miss = {"ward": 2, "badge": None, "cost": 0, "age": 0, "note": "b"}
    visits = ranked([[match if unit < matching else miss] * ROWS_EACH for unit in range(UNITS)])
    wards = [{"ward": at % 5 // 4, "site": at % 2, "beds": at % 10} for at in range(10)]
    codes = [{"code": at, "chapter": at // 30} for at in range(CODES)]
    return {"visits": visits, "limited": visits, "wards": wards, "codes": codes, "empty": []}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    made = {name: tmp_path_factory.mktemp(name) for name in ("nobody", "one", "all")}
    with (
        world(made["nobody"], declared(made["nobody"]), stored(0)) as nobody,
        world(made["one"], declared(made["one"]), stored(1)) as one,
        world(made["all"], declared(made["all"]), stored(UNITS)) as everybody,
    ):
        yield {"nobody": nobody, "one": one, "all": everybody}


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MOST_STEPS", STEPS)
    monkeypatch.setattr(work, "_planning_work", lambda size: work.Work())  # which has no rows, and would be most of so few steps


# --- questions ---------------------------------------------------------------------------------------------------------------

ON = [
    "wards {0} ON {0}.ward = {1}.ward",  # eight rows for each
    "wards {0} ON {0}.beds = FLOOR({1}.age / 10)",  # one row for each
    "codes {0} ON {0}.code = {1}.cost",
    "codes {0} ON {0}.chapter = {1}.age",  # thirty rows for each
    "codes {0} ON {0}.code = CASE WHEN {1}.badge = 7 THEN 40 END",
    "empty {0} ON {0}.ward = {1}.ward",
]
REFUSED_ON = [
    "codes {0} ON {0}.code = CASE WHEN {1}.badge = 7 AND {1}.age = 40 THEN 40 END",  # two columns decide
    "codes {0} ON {0}.code = CASE WHEN {1}.note LIKE 'a%' THEN 40 END",  # private text decides
    "wards {0} ON {0}.site = 'N' OR TRUE",
]
AGGREGATES = [
    "COUNT(*)",
    "SUM(cost)",
    "AVG(age)",
    "COUNT(DISTINCT person)",
    "COUNT(DISTINCT note)",
    "COUNT(DISTINCT cost)",
    "MEDIAN(age)",
    "MAX(cost)",
    "STDDEV(cost)",
]
KEYS = ["", "", "{0}.ward", "age", "note", "cost", "age, cost", "{0}.ward, badge"]
LIMITED = ("visits", "limited")


def asked(choose: random.Random) -> str:
    """A question near some limit."""
    table, joins = choose.choice(LIMITED), choose.choice([0, 0, 1, 1, 2, 3, 4, 8, 9])
    on = [choose.choice(REFUSED_ON if choose.random() < 0.04 else ON).format(f"j{at}", table) for at in range(joins)]
    if joins > 1 and choose.random() < 0.3:
        on[-1] = f"wards j{joins - 1} ON j{joins - 1}.ward = j0.ward"
    kinds = [choose.choice(["", "LEFT "]) for _ in on]
    keys = choose.choice(KEYS).format(table)
    aggregates = choose.sample(AGGREGATES, choose.choice([1, 1, 2, 4]))
    return " ".join(
        [
            f"SELECT {', '.join([*filter(None, [keys]), *aggregates])} FROM {table}",
            *(f"{kind}JOIN {part}" for kind, part in zip(kinds, on, strict=True)),
            f"WHERE {' AND '.join(filters(choose, table))}",
            f"GROUP BY {keys}" if keys else "",
            choose.choice(["", "", f"HAVING COUNT(*) > 1 ORDER BY {len(aggregates)} DESC LIMIT 3"]),
        ]
    )


SEVERAL = [  # rows of several private tables, as v
    "visits v JOIN limited l ON l.person = v.person",
    "visits v LEFT JOIN limited l ON l.person = v.person AND l.badge = 7",
    "limited v JOIN visits l ON v.person = l.person AND v.ward = l.ward",
    "limited v JOIN visits l ON v.person = l.person JOIN wards w ON w.ward = l.ward",
    "visits v LEFT JOIN (SELECT person, COUNT(*) AS n, SUM(age) AS age FROM limited WHERE badge = 7 GROUP BY person) l"
    " ON l.person = v.person",
    "visits v JOIN limited l ON l.person = v.person JOIN visits k ON k.person = l.person JOIN limited m ON m.person = k.person",
    "(SELECT person, ward, SUM(cost) AS cost, MAX(age) AS age, COUNT(DISTINCT badge) AS badge FROM visits GROUP BY person, ward) v",
    "(SELECT person, AVG(cost) AS cost, MIN(age) AS age, COUNT(*) AS badge, MAX(1) AS ward FROM visits GROUP BY person) v",
    "(SELECT DISTINCT person, ward, cost, age, badge FROM visits) v",
    "(SELECT person, ward, cost, age, badge FROM visits UNION ALL SELECT person, ward, cost, age, badge FROM limited) v",
    "(SELECT person, MAX(n) AS cost, SUM(n) AS age, COUNT(*) AS badge FROM (SELECT person, ward, COUNT(*) AS n FROM visits"
    " GROUP BY person, ward) u GROUP BY person) v",
]
LOOKED_UP = [
    "v.person {}IN (SELECT person FROM limited WHERE badge = 7)",
    "v.person {}IN (SELECT person FROM limited GROUP BY person HAVING COUNT(*) > 1)",
    "{}EXISTS (SELECT 1 FROM limited z WHERE z.person = v.person AND z.cost = v.cost)",
    "{}EXISTS (SELECT 1 FROM visits z JOIN limited y ON y.person = z.person WHERE z.person = v.person AND z.badge = 7)",
    "v.ward {}IN (SELECT ward FROM wards WHERE beds > 3)",
    "{}EXISTS (SELECT 1 FROM codes z WHERE z.chapter = v.age)",
]


def asked_of_several(choose: random.Random) -> str:
    """A question over several private tables, or over rows that are made of each unit's."""
    rows, key = choose.choice(SEVERAL), choose.choice(["", "", "v.ward", "v.age", "v.badge"])
    numbers = [
        "COUNT(*)",
        "SUM(v.cost)",
        "AVG(v.age)",
        "COUNT(DISTINCT v.person)",
        "COUNT(DISTINCT v.cost)",
        "MEDIAN(v.age)",
        "VAR_POP(v.cost)",
    ]
    aggregates = choose.sample(numbers, choose.choice([1, 1, 2, 3]))
    tests = [choose.choice(["v.age >= 0", "v.badge = 7", "v.badge IS NULL", "v.cost + v.age > 5"])]
    tests += [choose.choice(LOOKED_UP).format(choose.choice(["", "NOT "])) for _ in range(choose.choice([0, 0, 1, 2]))]
    grouped = f" GROUP BY {key}" if key else ""
    return f"SELECT {', '.join([*filter(None, [key]), *aggregates])} FROM {rows} WHERE {' AND '.join(tests)}{grouped}"


def filters(choose: random.Random, table: str) -> Iterator[str]:
    yield choose.choice(
        ["badge = 7", "badge IS NULL", f"{table}.ward = 'a'", "age >= 0", "cost + age > 5109", "badge = 7 AND cost < 2"]
    )
    if choose.random() < 0.4:
        length = choose.choice([1, 5, 40, 300, 900])
        yield choose.choice([f"note LIKE '%{'_' * length}b'", f"note LIKE '{'a' * length}%'", f"note LIKE '%{'a%' * length}b'"])
    if choose.random() < 0.2:
        yield f"cost IN ({', '.join(map(str, range(choose.choice([3, 300]))))})"
    if choose.random() < 0.2:
        yield f"note IN ({', '.join(repr('a' * length) for length in range(1, choose.choice([4, 60])))})"


# --- what is heard, and what was done ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heard:
    """All that is heard of a question but for its numbers, and the quote where there is one."""

    said: tuple[Any, ...]
    quote: Quote | None = None


def heard(place: World, text: str) -> Heard:
    try:
        quote = price(place.plan(text), request(epsilon=1, delta="1e-6"))[0]
    except Refused as refusal:
        return Heard((refusal.code, str(refusal)))
    released = answer(quote, noised(quote, place.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))
    shape = [(column.name, column.kind) for column in released.columns]
    public = quote.question.having is None and quote.keys is None
    return Heard(("answered", shape, len(released) if public else None, released.notes), quote)


def fated(place: World, text: str) -> str:
    """What becomes of a question, without asking it."""
    try:
        price(place.plan(text), request(epsilon=1, delta="1e-6"))
    except Refused as refusal:
        return refusal.code
    return "answered"


def processed(place: World, quote: Quote) -> int:
    """The rows that the engine's operators read and made, by its own profile."""
    group, engine = quote.question.group, place.engine
    summed = [partial(compiled.sums, group)] if any(moment.kind != "list" for moment in group.moments) else []
    listed = [partial(compiled.lists, group, at) for at, moment in enumerate(group.moments) if moment.kind == "list"]
    return sum(_profiled(engine, build) for build in (*summed, *listed))


def _profiled(engine: Any, build: Callable[[Any], Any]) -> int:
    written = engine._sql(build, repr(build))
    ((_, profile),) = engine._connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {written}").fetchall()
    return sum(map(_rows, json.loads(profile).get("operator", ())))  # none where statistics alone have the answer


def _rows(operator: dict[str, Any]) -> int:
    own = 0 if _passes_on(operator) else operator["intermediate_rows"] + operator.get("rows_scanned", 0)
    return own + sum(map(_rows, operator.get("children", ())))


def _passes_on(operator: dict[str, Any]) -> bool:
    """Whether the rows of an operator are those below it; a list is put beside them as a product with one row."""
    if operator["type"] == "CROSS_PRODUCT":
        return bool(operator["intermediate_rows"] <= max(child["intermediate_rows"] for child in operator["children"]))
    return operator["type"] in SHOWN


def rows_of_a_unit(place: World, quote: Quote) -> int:
    """The most rows that one unit has after the joins, counted by the engine."""
    relation = quote.question.group.child
    while isinstance(relation, Where | Semi):  # what only drops rows
        relation = relation.child  # type: ignore[assignment]

    def build(tables: Any) -> Any:
        rows = compiled.relation(relation, compiled.Reading.of(quote.question.group, tables))
        counted = rows.group_by(rows[compiled.UNIT]).aggregate(n=rows.count())
        return counted.aggregate(most=counted["n"].max())

    return int(
        np.ma.filled(place.engine._fetch(build, f"most {canonical_text(relation)}")["most"], 0)[0]
    )  # no row is left where nobody matches


def faults(stores: dict[str, World], text: str) -> list[str]:
    """What is wrong with how a question fares: nothing, if its fate is the same whatever one unit's rows are."""
    nobody, one = (heard(stores[name], text) for name in ("nobody", "one"))
    wrong = ["its fate depends on the rows"] if repr(nobody.said) != repr(one.said) else []
    if one.quote is None:
        return wrong
    question = one.quote.question
    worst, most = work.worst(question), min(table.most_joined_rows for table in stability.tables_of(question.group))
    if any(processed(stores[name], one.quote) > worst.rows for name in ("one", "all")):
        wrong.append("operators processed more rows than the worst case has")
    if worst.steps > STEPS or worst.bytes > work.MOST_BYTES:
        wrong.append("it was answered above the limits")
    if " JOIN " in text and rows_of_a_unit(stores["one"], one.quote) > most:
        wrong.append("a unit has more rows after joins than are declared")
    return wrong


def hunt(
    stores: dict[str, World], count: int, until_found: bool = False, asking: Callable[[random.Random], str] = asked
) -> tuple[set[str], Counter[str]]:
    """All faults of random questions, and how often each thing was heard."""
    choose, found, fates = random.Random(1), set[str](), Counter[str]()
    for _ in range(count):
        text = asking(choose)
        fate = fated(stores["nobody"], text)
        fates[fate] += 1
        found |= set(faults(stores, text))
        if until_found and found:
            break
    return found, fates


# --- the hunt ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [40, pytest.param(1500, marks=pytest.mark.slow)])
def test_no_persons_row_decides_the_fate_of_a_question(stores: dict[str, World], count: int) -> None:
    found, fates = hunt(stores, count)
    assert found == set()
    assert fates["answered"] > count // 5, "plans are not so large that none is answered"
    assert fates["too_much_work"] > count // 10, "and some are beyond the limits"


@pytest.mark.parametrize("count", [30, pytest.param(600, marks=pytest.mark.slow)])
def test_no_persons_row_decides_the_fate_of_a_join(stores: dict[str, World], count: int) -> None:
    found, fates = hunt(stores, count, asking=asked_of_several)
    assert found == set()
    assert fates["answered"] > count // 2


LARGE = "SELECT COUNT(*) FROM visits JOIN codes j0 ON j0.code = visits.cost WHERE badge = 7"
MANY = (
    "SELECT COUNT(*) FROM visits JOIN codes j0 ON j0.chapter = visits.age JOIN codes j1 ON j1.chapter = visits.age WHERE badge = 7"
)
SLOW = f"SELECT COUNT(*) FROM visits JOIN wards j0 ON j0.ward = visits.ward WHERE badge = 7 AND note LIKE '%{'_' * 900}b'"
DISTINCT = "SELECT ward, COUNT(*), COUNT(DISTINCT person) FROM visits GROUP BY ward"


def test_the_rows_of_the_engine_come_near_the_worst_case(stores: dict[str, World]) -> None:
    """So that the comparison has teeth: where everybody matches, a third of the worst case is really done."""
    for text in (
        LARGE,
        DISTINCT,
        "SELECT COUNT(DISTINCT note) FROM visits",
        "SELECT MEDIAN(cost) FROM visits WHERE age + cost > 5",
    ):
        quote = heard(stores["all"], text).quote
        assert quote is not None
        assert work.worst(quote.question).rows <= 3 * processed(stores["all"], quote)


def test_a_worst_work_without_the_side_that_an_empty_join_skips_is_caught(
    stores: dict[str, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody matches, the engine never reads the public table; one person makes it read all of it."""
    nobody, one = (heard(stores[name], LARGE).quote for name in ("nobody", "one"))
    assert nobody is not None
    assert one is not None
    assert processed(stores["one"], one) > processed(stores["nobody"], nobody) + CODES // 2
    honest = work.flow

    def skipping(relation: Any, expressions: Any) -> work.Flow:
        whole = honest(relation, expressions)
        return work.Flow(whole.rows, whole.work + work.Work(-2 * relation.size)) if isinstance(relation, Join) else whole

    monkeypatch.setattr(work, "flow", skipping)
    assert hunt(stores, 200, until_found=True)[0] == {"operators processed more rows than the worst case has"}


def test_a_worst_work_without_the_rows_that_are_looked_up_is_caught(
    stores: dict[str, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same between private tables: the side that is looked up is read and held."""
    looked_up = work._looked_up
    free = work.Flow(0, work.Work())
    monkeypatch.setattr(work, "_looked_up", lambda relation, before, other, *more: looked_up(relation, before, free, *more))
    found, _ = hunt(stores, 200, until_found=True, asking=asked_of_several)
    assert found == {"operators processed more rows than the worst case has"}


def test_rows_after_joins_without_a_limit_are_caught(stores: dict[str, World], monkeypatch: pytest.MonkeyPatch) -> None:
    """As `rows_of` was once: fan-outs multiplied without end, and priced without complaint."""
    assert heard(stores["one"], MANY).said[0] == "too_much_work"
    monkeypatch.setattr(work, "check_joined_rows", lambda relation: None)
    assert "a unit has more rows after joins than are declared" in faults(stores, MANY)


def test_a_plan_above_the_limits_that_is_answered_is_caught(stores: dict[str, World], monkeypatch: pytest.MonkeyPatch) -> None:
    """The time-out oracle: work that one person's row brings about, and no check that refuses it for everybody."""
    assert [heard(place, SLOW).said[0] for place in stores.values()] == ["too_much_work"] * 3
    monkeypatch.setattr(pricing, "afford", lambda *_: None)
    assert faults(stores, SLOW) == ["it was answered above the limits"]


def test_a_limit_that_looks_at_the_rows_is_caught(stores: dict[str, World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusing what really takes long, in place of what could: the refusal then says whether one person is there."""
    asking: list[World] = []
    honest = heard

    def looking(question: Any, _: int | None) -> None:
        quote = Quote(question, request(epsilon=1), stability.reach(question), (), (), None, Fraction(1), Fraction(0))
        if processed(asking[-1], quote) > 3 * CODES // 2:
            raise TooMuchWork("this takes too long")

    def noted(place: World, text: str) -> Heard:
        asking.append(place)
        return honest(place, text)

    monkeypatch.setattr(sys.modules[__name__], "heard", noted)
    monkeypatch.setattr(pricing, "afford", looking)
    assert "its fate depends on the rows" in faults(stores, LARGE)


def test_work_is_known_without_a_row(stores: dict[str, World]) -> None:
    """The same work, or the same refusal, on every store: the plan is a function of the catalog and of public tables."""
    choose = random.Random(2)
    for text in [asked(choose) for _ in range(40)]:
        found = set()
        for place in stores.values():
            try:
                found.add(repr(work.worst(place.plan(text))))
            except Refused as refusal:
                found.add(str(refusal))
        assert len(found) == 1
