"""A question as SQL: what is written is read as the same question, whatever it holds, and ends in the same plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from questions import AGGREGATES, COLUMNS, conditions, keys, numbers
from stored import catalog as catalog_of
from stored import table as table_of
from tacit.errors import InvalidInput, InvalidSQL, NotAllowed, Refused
from tacit.privacy.catalog import Source, Table
from tacit.query.functions import FORMS
from tacit.query.language import nodes, writer
from tacit.query.language.frame import Frame, start
from tacit.query.language.sql import Ordinary, parse, quoted_name
from tacit.query.language.syntax import (
    MODEL_WORDS,
    Apply,
    Constant,
    Exists,
    Expression,
    From,
    InQuery,
    Item,
    Joined,
    Name,
    Nested,
    Ordering,
    Select,
    Star,
    UnionAll,
    without_places,
)
from tacit.query.language.writer import CASTS, written
from tacit.query.passes import rewrite
from tacit.query.question import canonical_plan
from worlds import PUBLIC, WARDS, World, clinic, world_in_memory

# --- every tree that can be read ---------------------------------------------------------------------------------------------

ONE = sorted(
    {
        *nodes.UNARY.values(),
        *(name for name in nodes.CALLS.values() if FORMS[name].most == 1),
        *(f"cast_{kind}" for kind in CASTS),
        "is_null",
        "is_true",
        "is_false",
        "isodow",
    }
)
TWO = sorted(
    {
        *nodes.BINARY.values(),
        *(name for name in nodes.CALLS.values() if FORMS[name].least == FORMS[name].most == 2),
        *("like", "ilike", "quantile", "round", "substring"),
    }
)
OTHERS = [
    "between",
    "in",
    "case",
    "coalesce",
    "least",
    "greatest",
    "count",
    "count_distinct",
    "width_bucket",
    "date_trunc",
    "interval",
    "log10",
    "cast_decimal",
    "over",
    *MODEL_WORDS,
]

words = st.sampled_from(sorted(Ordinary.Tokenizer.KEYWORDS)) | st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp")), min_size=1, max_size=6
)
names = st.sampled_from(["cost", "ward", "Day", "_x1"]) | words
numbers_read = st.builds(lambda digits, tens: Fraction(digits) * Fraction(10) ** tens, st.integers(0, 10**20), st.integers(-20, 19))
constants = st.one_of(
    st.none(), st.booleans(), numbers_read, st.dates(), st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp")))
)
leaves = st.builds(Name, st.tuples(names) | st.tuples(names, names)) | st.builds(Constant, constants)


def _grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def applied(functions: list[str], least: int, most: int) -> st.SearchStrategy[Expression]:
        return st.builds(Apply, st.sampled_from(functions), st.lists(inner, min_size=least, max_size=most).map(tuple))

    unit = st.sampled_from(["day", "week", "month"]).map(Constant)
    return st.one_of(
        applied(ONE, 1, 1),
        applied(TWO, 2, 2),
        applied(["substring", "between"], 3, 3),
        applied(["round", "count"], 1, 1),
        applied(["coalesce", "least", "greatest", "count_distinct"], 1, 3),
        applied(["in"], 2, 4),
        applied(["width_bucket"], 4, 4),
        st.builds(lambda tests, last: Apply("case", (*sum(tests, ()), last)), st.lists(st.tuples(inner, inner), min_size=1), inner),
        st.builds(lambda part, value: Apply("date_trunc", (part, value)), unit, inner),
        st.builds(lambda count, part: Apply("interval", (Constant(count), part)), st.integers(-99, 99).map(Fraction), unit),
        st.just(Apply("count", (Star(),))),
        applied(["log10"], 1, 1),
        applied(list(MODEL_WORDS), 3, 4),
    )


expressions = st.recursive(leaves, _grown, max_leaves=12)
tables = st.builds(lambda name, alias: From(name, alias or name), names, st.none() | names)
kinds = st.sampled_from(["inner", "left"])


def _joins(sources: st.SearchStrategy[From | Nested]) -> st.SearchStrategy[Joined]:
    return st.one_of(
        st.builds(lambda table, kind, using: Joined(table, kind, using=tuple(using)), sources, kinds, st.lists(names, min_size=1)),
        st.builds(Joined, sources, kinds, expressions),
        st.builds(lambda table, kind: Joined(table, kind, natural=True), sources, kinds),
        st.builds(lambda table: Joined(table, "inner"), sources),
    )


def _queries(sources: st.SearchStrategy[From | Nested], where: st.SearchStrategy[Expression]) -> st.SearchStrategy[Select]:
    """One level of a question: its tables, and what its condition may hold."""
    return st.builds(
        Select,
        items=st.lists(st.builds(Item, expressions, st.none() | names), min_size=1, max_size=2).map(tuple),
        table=sources,
        joins=st.lists(_joins(sources), max_size=2).map(tuple),
        where=st.none() | where,
        group_by=st.lists(expressions, max_size=1).map(tuple),
        having=st.none() | expressions,
        distinct=st.booleans(),
    )


inner_queries = _queries(tables, expressions)
unions = inner_queries | st.builds(lambda parts: UnionAll(tuple(parts)), st.lists(inner_queries, min_size=2, max_size=3))
nested = tables | st.builds(Nested, unions, names)
with_queries = expressions | st.builds(Exists, inner_queries) | st.builds(InQuery, expressions, inner_queries)
conditions_with_queries = st.one_of(
    with_queries,
    st.builds(lambda held: Apply("not", (held,)), with_queries),
    st.builds(lambda kind, one, two: Apply(kind, (one, two)), st.sampled_from(["and", "or", "="]), with_queries, with_queries),
)
selects = st.builds(
    replace,
    _queries(nested, conditions_with_queries).map(lambda query: replace(query, distinct=False)),
    order_by=st.lists(st.builds(Ordering, expressions, st.booleans()), max_size=2).map(tuple),
    limit=st.none() | st.integers(0, 10**18 - 1),
    offset=st.integers(0, 10**18 - 1),
    options=st.sampled_from([(), (("epsilon", Fraction(1, 2)), ("delta", Fraction(1, 10**9)))]),
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(selects)
def test_what_is_written_is_read_as_the_same_question(select: Select) -> None:
    assert without_places(parse(written(select))) == without_places(select)


def over(call: Expression, partition: list[Expression], orders: list[tuple[str, Expression]], frame: Expression) -> Expression:
    sorts = Apply("order by", tuple(Apply(word, (order,)) for word, order in orders))
    return Apply("over", (call, Apply("partition by", tuple(partition)), sorts, frame))


short = st.recursive(leaves, _grown, max_leaves=3)
away = st.none() | st.integers(-3, 3).map(Fraction)
windows = st.builds(
    over,
    st.sampled_from(["rank", "dense_rank", "row_number"]).map(lambda name: Apply(name, ()))
    | st.builds(
        lambda name, part: Apply(name, (part,)), st.sampled_from(["sum", "lag", "lead", "first_value", "last_value"]), short
    ),
    st.lists(short, max_size=2),
    st.lists(st.tuples(st.sampled_from(["asc", "desc"]), short), max_size=2),
    st.just(Apply("default frame", ())) | st.builds(lambda *ends: Apply("rows", tuple(map(Constant, ends))), away, away),
)


@given(windows, short, st.sampled_from([(10, 2), (3, 0), (38, 12)]))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_windows_qualify_and_casts_with_digits_are_written_as_they_are_read(
    window: Expression, value: Expression, digits: tuple[int, int]
) -> None:
    cast = Apply("cast_decimal", (value, *(Constant(Fraction(number)) for number in digits)))
    select = Select((Item(window, None), Item(cast, None)), From("t", "t"), qualify=Apply("<", (window, value)))
    try:
        text = written(select)
    except (NotAllowed, InvalidSQL) as refusal:
        assume("too large" not in str(refusal))
        raise
    assert without_places(parse(text)) == without_places(select)


def test_every_function_that_can_be_read_is_among_those_that_are_tried() -> None:
    tried = {*ONE, *TWO, *OTHERS}
    assert tried >= {
        *nodes.TAKES,
        *nodes.CALLS.values(),
        *nodes.CASTS.values(),
        *nodes.DATE_PARTS,
        *nodes.NAMED.values(),
    }


ODD_NAMES = ["any_value", "array", "at", "date", "first", "if", "left", "next", "row", "top", "x", "year"]  # nearly words of SQL
SQL_WORDS = sorted({*Ordinary.Tokenizer.KEYWORDS, *Ordinary.parser_class.NO_PAREN_FUNCTION_PARSERS, *ODD_NAMES})


def misread(names: list[str]) -> list[str]:
    """The names that cannot name a column, a table and a result, in both cases: written and read, the question is another one."""
    failing = []
    for name in names:
        column = Name((name.lower(),))
        items = Item(column, name), Item(Apply("+", (Name((name, name)), Apply("negate", (column,)))), name), Item(column, None)
        asked = Select(items, From(name, name), group_by=(column,))
        try:
            failing += [] if without_places(parse(written(asked))) == asked else [name]
        except Refused:
            failing.append(name)
    return failing


def test_a_word_of_sql_can_name_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: names that are never quoted."""
    assert misread(SQL_WORDS) == []
    monkeypatch.setattr(writer, "quoted_name", lambda name: name)
    assert {"SELECT", "GROUP BY", "!=", "CASE"} <= set(misread(SQL_WORDS))


def test_a_name_is_quoted_only_where_it_must_be() -> None:
    assert [quoted_name(name) for name in ("cost", "a b", 'a"b', "select")] == ["cost", '"a b"', '"a""b"', '"select"']


def test_days_of_few_digits_are_whole() -> None:
    for day in (date(1, 1, 1), date(9999, 12, 31)):
        asked = Select((Item(Constant(day), "d"),), From("t", "t"))
        assert without_places(parse(written(asked))) == asked


def test_a_question_larger_than_sql_may_be_is_refused() -> None:
    large: Expression = Name(("cost",))
    for _ in range(200):
        large = Apply("negate", (large,))
    with pytest.raises(NotAllowed):
        written(Select((Item(large, None),), From("visits", "visits")))


# --- frames, to their plans ----------------------------------------------------------------------------------------------------


def frame(table: str) -> Frame[Any]:
    return start(table, lambda select, **_: select, lambda select, **_: select)


ROW_AGGREGATES = [
    "count(*)",
    "sum({})",
    "avg({})",
    "var_pop({})",
    "stddev({})",
    "median({})",
    "quantile_cont({}, 0.25)",
    "count({})",
]


@st.composite
def frames(draw: st.DrawFn) -> Frame[Any]:
    """A question on the table of all kinds of columns, joined, filtered, grouped, tested, ordered and cut."""
    built = frame("all")
    for how in draw(st.lists(st.sampled_from([{"on": "LOWER(fruit) = wards.ward"}, {"on": "wards.beds = small"}]), max_size=1)):
        built = built.join("wards", **how)
    for condition in draw(st.lists(conditions(), max_size=3)):
        built = built.where(condition)
    grouped = draw(st.lists(keys(), max_size=2, unique=True))
    built = built.group_by(*grouped[:1], **{f"key {place}": key for place, key in enumerate(grouped[1:])})
    asked = [draw(st.sampled_from(ROW_AGGREGATES)).format(draw(numbers(leaves_at_most=3))) for _ in range(draw(st.integers(1, 2)))]
    built = built.agg(*asked[:1], **{f'Größe "{place}"': text for place, text in enumerate(asked[1:])})
    for test in draw(st.lists(st.sampled_from(["count(*) > 5", "COUNT(*) BETWEEN 2 AND 9 OR NOT (SUM(small) = 3)"]), max_size=2)):
        built = built.having(test)
    for order in draw(st.lists(st.sampled_from(["1", "count(*)", "-sum(small) / 2"]), max_size=2)):
        built = built.order_by(order, descending=draw(st.booleans()))
    return built.limit(draw(st.integers(0, 9))) if draw(st.booleans()) else built


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("writer")
    all_kinds = table_of("all", folder / "all.csv", *COLUMNS, rows_at_most=1000)
    wards = Table("wards", Source("csv", "wards.csv"), {column.name: column for column in WARDS}, public=True)
    with world_in_memory(catalog_of(folder, all_kinds, wards), {"all": [], "wards": PUBLIC}) as made:
        yield made


@pytest.mark.parametrize("examples", [15, pytest.param(300, marks=pytest.mark.slow)])
def test_a_frame_and_its_text_have_one_plan(every_kind: World, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    @given(built=frames())
    def same(built: Frame[Any]) -> None:
        try:
            plan = rewrite(built.select, every_kind.catalog, every_kind.facts)
        except Refused:
            assume(False)
        assert canonical_plan(every_kind.plan(written(built.select))) == canonical_plan(plan)

    same()


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("clinic")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def of_two_plans(place: World, write: Callable[[Select], str]) -> list[str]:
    """The aggregates whose frame has another plan than its text."""
    failing = []
    for asked in AGGREGATES:
        built = frame("visits").join("wards", using="ward").group_by("site").agg(asked)
        plan = rewrite(built.select, place.catalog, place.facts)
        failing += [] if canonical_plan(place.plan(write(built.select))) == canonical_plan(plan) else [asked]
    return failing


def test_every_aggregate_of_a_frame_and_its_text_have_one_plan(hospital: World) -> None:
    """Planted: a writer that makes every join a left one."""
    assert of_two_plans(hospital, written) == []
    assert of_two_plans(hospital, lambda select: written(select).replace(" JOIN", " LEFT JOIN")) == list(AGGREGATES)


def test_a_plan_that_was_written_otherwise_would_be_noticed(hospital: World) -> None:
    texts = ["SELECT COUNT(*) FROM visits WHERE (age > 1 OR age < 0) AND cost > 2", "SELECT COUNT(*) FROM visits WHERE age > 1"]
    assert len({canonical_plan(hospital.plan(text)) for text in texts}) == len(texts)


MARKS = ["\x80", "\x85", "\x9b", "\u061c", "\u200e", "\u202a", "\u202e", "\u2028", "\u2066", "\u2069"]
BUILDS = [
    lambda mark: frame(f"visits{mark}"),
    lambda mark: frame("visits").where(f"ward = 'a{mark}'"),
    lambda mark: frame("visits").join("wards", using=f"ward{mark}"),
    lambda mark: frame("visits").agg(**{f"n{mark}": "count(*)"}),
]


def test_no_frame_holds_what_a_reader_does_not_see() -> None:
    """Every build takes a letter in the place of the mark."""
    assert all(build("x") for build in BUILDS)
    for mark, build in product(MARKS, BUILDS):
        with pytest.raises((InvalidSQL, InvalidInput)):
            build(mark)
