"""The worst work of a plan: what it grows with, what is refused for it, and in which words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from questions import FILTERS, clinic_questions
from tacit.errors import NotAllowed, TooMuchWork
from tacit.privacy.catalog import PACE, Catalog
from tacit.query import named_parts, planning
from tacit.query.engines.exact import statements_of
from tacit.query.named_parts import LONGEST_BRANCHES
from tacit.query.plan import Add, Choose, Column, Compare, Literal, Lookup, Row
from tacit.query.planning import Expressions, size_of
from tacit.query.price import work
from tacit.query.price.price import price, request
from tacit.query.price.stability import reach
from tacit.query.price.work import MOST_BYTES, MOST_STEPS, Work, afford_counts, worst
from tacit.query.question import Question, cells_of
from tacit.query.trees import nodes_of
from worlds import PUBLIC, World, clinic, world_in_memory


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("work")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def changed(catalog: Catalog, **declared: Any) -> Catalog:
    """The clinic with another declaration of its visits."""
    tables = {**catalog.tables, "visits": replace(catalog.tables["visits"], **declared)}
    return replace(catalog, tables=tables)


def priced(place: World, text: str) -> None:
    price(place.plan(text), request(epsilon=1, delta="1e-6", groups=10**7))


def at_most(one: Work, other: Work) -> bool:
    return one.rows <= other.rows and one.steps <= other.steps and one.bytes <= other.bytes


# --- what it grows with --------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(clinic_questions(private_keys=True), st.sampled_from(FILTERS))
def test_more_of_anything_is_never_less_work(place: World, text: str, condition: str) -> None:
    question = place.plan(text)
    whole = worst(question)
    head, _, tail = text.partition(" FROM visits")
    where = tail.replace("WHERE ", f"WHERE {condition} AND ") if "WHERE" in tail else _before_group(tail, f" WHERE {condition}")
    longer = [
        f"{head} FROM visits{where}",
        f"{head}, SUM(cost * age + 1) FROM visits{tail}",
        f"{head}, COUNT(DISTINCT person), MEDIAN(day) FROM visits{tail}",
        *([f"{head} FROM visits JOIN wards ON wards.ward = visits.ward{tail}"] if "JOIN" not in tail else []),
    ]
    for other in longer:
        more = place.plan(other)
        assert at_most(whole, worst(more)) or cells_of(more) < cells_of(question), other  # a filter may leave out groups
    larger = place.with_catalog(changed(place.catalog, rows_at_most=2 * 10**5))
    assert at_most(whole, worst(larger.plan(text)))


def _before_group(tail: str, added: str) -> str:
    rows, found, groups = tail.partition(" GROUP BY ")
    return f"{rows}{added}{found}{groups}"


def test_a_pattern_costs_its_length_times_that_of_a_text(place: World) -> None:
    def steps(pattern: str, longest: int = 256) -> int:
        columns = {**place.catalog.tables["visits"].columns}
        columns["diagnosis"] = replace(columns["diagnosis"], longest=longest)
        made = place.with_catalog(changed(place.catalog, columns=columns))
        plain = worst(made.plan("SELECT COUNT(*) FROM visits WHERE diagnosis IS NOT NULL"))
        return worst(made.plan(f"SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '{pattern}'")).steps - plain.steps

    assert steps("%" + "_" * 400 + "b") > 9 * steps("%" + "_" * 40 + "b")
    assert steps("%" + "_" * 40 + "b", 2560) > 9 * steps("%" + "_" * 40 + "b", 256)
    assert steps("a" * 40 + "%", 2560) == steps("a" * 40 + "%", 256), "a fixed beginning is compared once, however long the text"


# --- lookups and CASE ----------------------------------------------------------------------------------------------------------

AGE = Column(0, "age", 0, 110, nullable=False)
LENGTHS = st.integers(1, 160_000)
PER_ENTRY, PER_BRANCH, ENTRIES_OF_A_STEP = 3_500, 5, 2_000  # as work.md states them


def looked_up(entries: int) -> Lookup:
    return Lookup(AGE, tuple(range(entries)), 0, entries - 1, nullable=False)


def asking(place: World, node: Row, rows: int) -> Question:
    """The sum of an expression over visits, of which there are at most some."""
    question = place.with_catalog(changed(place.catalog, rows_at_most=rows)).plan("SELECT SUM(age) FROM visits")
    moments = tuple(replace(moment, value=node) for moment in question.group.moments)
    return replace(question, group=replace(question.group, moments=moments))


def steps_of(place: World, node: Row, rows: int) -> int:
    """Steps without those of planning, whose price by characters would hide the others."""
    question = asking(place, node, rows)
    return worst(question).steps - size_of(question).steps


def costs_by_length(place: World, shorter: int, longer: int, rows: int) -> bool:
    """Whether a longer list costs as much more as work.md says, for the entries and for the rows."""
    found = steps_of(place, looked_up(longer), rows) - steps_of(place, looked_up(shorter), rows)
    if shorter > LONGEST_BRANCHES:
        return found >= PER_ENTRY * (longer - shorter) + rows * (longer // ENTRIES_OF_A_STEP - shorter // ENTRIES_OF_A_STEP)
    branches = rows * PER_BRANCH * (longer - shorter)
    return found >= branches if longer <= LONGEST_BRANCHES else steps_of(place, looked_up(longer), rows) >= PER_ENTRY * longer


@settings(max_examples=40, deadline=None)
@given(st.tuples(LENGTHS, LENGTHS).map(sorted), st.sampled_from([1, 10**6, 10**8]))
@example([3, 32], 10**6)
@example([33, 160_000], 1)
@example([33, 160_000], 10**8)
def test_a_lookup_costs_by_the_length_of_its_list(place: World, lengths: list[int], rows: int) -> None:
    assert costs_by_length(place, *lengths, rows)


@pytest.mark.parametrize("entries", [1, LONGEST_BRANCHES, LONGEST_BRANCHES + 1])
def test_a_lookup_is_priced_as_it_is_written(place: World, monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    """Both follow one number: a list that an engine makes is one that is paid for."""
    for longest in (0, LONGEST_BRANCHES, 10**9):
        monkeypatch.setattr(named_parts, "LONGEST_BRANCHES", longest)
        group = asking(place, looked_up(entries), 1).group
        place.engine._compiled.clear()
        (written,) = (place.engine._sql(build, key) for _, build, key in statements_of(group))
        assert ("STR_SPLIT" in written) == (Expressions.of(group).entries == entries) == (entries > longest)


def test_a_plant_that_prices_every_list_alike_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        planted.setitem(planning.OWN, Lookup, lambda node, _: 20)
        assert not costs_by_length(place, 8_192, 160_000, 10**8)
        assert not costs_by_length(place, 3, 32, 10**6)
    with monkeypatch.context() as planted:
        planted.setattr(work, "ENTRY", 0)
        assert not costs_by_length(place, 8_192, 160_000, 1)
    assert costs_by_length(place, 8_192, 160_000, 10**8)


def choice(least: int, then: Row, otherwise: Row) -> Choose:
    test = Compare("<", AGE, Literal(least))
    return Choose(((test, then),), otherwise, min(then.low, otherwise.low), max(then.high, otherwise.high), nullable=False)


LEAVES = st.integers(0, 9).map(lambda more: Add(AGE, Literal(more), more, 110 + more, nullable=False))
TREES = st.recursive(LEAVES, lambda inner: st.builds(choice, st.integers(0, 110), inner, inner), max_leaves=12)
CASES = st.builds(choice, st.integers(0, 110), TREES, TREES)


def of_one_row(node: Row) -> int:
    """Steps for one row, without planning and without what all values have in common."""
    return Expressions({}, frozenset()).steps(node)


def leaves_of(node: Row) -> list[Row]:
    return [*leaves_of(node.branches[0][1]), *leaves_of(node.otherwise)] if isinstance(node, Choose) else [node]


def way_to_the_dearest(node: Row) -> int:
    """Conditions and a result, as a row meets them: the most of any row."""
    if not isinstance(node, Choose):
        return of_one_row(node)
    ((test, then),) = node.branches
    return of_one_row(test) + max(way_to_the_dearest(then), way_to_the_dearest(node.otherwise))


def results_are_paid(node: Choose) -> bool:
    results = (node.branches[0][1], node.otherwise)
    return of_one_row(node) >= way_to_the_dearest(node) + sum(len(list(nodes_of(each))) for each in results)


def deepened(node: Row, leaf: Row, into: Row) -> Row:
    """The same tree with one leaf in the place of another expression."""
    if not isinstance(node, Choose):
        return into if node is leaf else node
    ((test, then),) = node.branches
    branches = ((test, deepened(then, leaf, into)),)
    return replace(node, branches=branches, otherwise=deepened(node.otherwise, leaf, into))


@settings(max_examples=100, deadline=None)
@given(CASES)
def test_a_case_costs_all_its_results(node: Choose) -> None:
    assert results_are_paid(node)


@settings(max_examples=100, deadline=None)
@given(CASES, st.data(), CASES)
def test_a_case_that_is_nested_deeper_costs_more(place: World, node: Choose, data: st.DataObject, inner: Choose) -> None:
    """By each part at least that was put into it, for every row."""
    leaf = data.draw(st.sampled_from(leaves_of(node)))
    deeper = deepened(node, leaf, inner)
    added = len(list(nodes_of(deeper))) - len(list(nodes_of(node)))
    assert added > 0
    assert of_one_row(deeper) >= of_one_row(node) + added
    assert steps_of(place, deeper, 10**6) >= steps_of(place, node, 10**6) + 10**6 * added


def test_a_plant_that_leaves_out_results_of_a_case_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def tree(depth: int, least: int = 0) -> Row:
        return choice(least, tree(depth - 1, 2 * least), tree(depth - 1, 2 * least + 1)) if depth else AGE

    dear: Row = AGE
    for _ in range(50):
        dear = Add(dear, Literal(0), 0, 110, nullable=False)
    wide, uneven = choice(1, tree(5), tree(5)), choice(1, AGE, dear)
    assert results_are_paid(wide)
    assert results_are_paid(uneven)
    with monkeypatch.context() as planted:
        planted.setattr(planning, "CHOSEN", 0)
        assert not results_are_paid(wide)
    with monkeypatch.context() as planted:
        planted.setattr(planning, "max", min, raising=False)
        assert not results_are_paid(uneven)


# --- what is refused -----------------------------------------------------------------------------------------------------------


def test_ordinary_questions_need_no_declared_size(place: World) -> None:
    """Of a table of which 100 million rows are assumed."""
    unknown = place.with_catalog(changed(place.catalog, rows_at_most=None))
    for text in (
        "SELECT ward, COUNT(*), AVG(cost), STDDEV(age) FROM visits WHERE day < '2020-03-01' GROUP BY ward",
        "SELECT site, SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY site",
        "SELECT COUNT(DISTINCT person) FROM visits WHERE diagnosis LIKE 'f%'",
        "SELECT MEDIAN(age), MAX(cost) FROM visits WHERE cost > age",
    ):
        priced(unknown, text)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            None,
            "with 2,000,000 rows of visits (assumed, since rows_at_most is not declared); "
            "have rows_at_most declared for visits, or ask for less at once: fewer joins, groups, aggregates or shorter patterns",
        ),
        (
            10**8,
            "with 100,000,000 rows of visits (declared as rows_at_most); "
            "ask for less at once: fewer joins, groups, aggregates or shorter patterns",
        ),
    ],
)
def test_too_much_is_refused_with_numbers_and_a_remedy(place: World, declared: int | None, said: str) -> None:
    made = place.with_catalog(changed(place.catalog, rows_at_most=declared))
    with pytest.raises(TooMuchWork) as caught:
        priced(made, f"SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%{'_' * 450}b'")
    assert caught.value.code == "too_much_work"
    assert str(caught.value).startswith(f"the worst case takes {'34,' if declared else '696 seconds'}")
    assert str(caught.value).endswith(said)
    large = place.with_catalog(changed(place.catalog, rows_at_most=declared or 10**8))
    with pytest.raises(TooMuchWork, match=r"GB of memory, where 8"):
        priced(large, "SELECT COUNT(DISTINCT person), COUNT(*) FROM visits GROUP BY ward, age > 0, cost > 3, cost > 4")


def test_nine_million_cells_of_public_keys_are_refused(place: World) -> None:
    """They took 69 seconds and 2.3 GB after the engine."""
    keys = "cost, age, EXTRACT(MONTH FROM day), ward, scan IS NULL, diagnosis IS NULL, age > 2"
    with pytest.raises(TooMuchWork, match="seconds of one core"):
        priced(place, f"SELECT COUNT(*), SUM(age), AVG(age) FROM visits GROUP BY {keys}")
    with pytest.raises(TooMuchWork, match="seconds of one core"):
        priced(place, f"SELECT COUNT(*) FROM visits GROUP BY {keys} HAVING {' AND '.join(f'COUNT(*) > {at}' for at in range(9))}")


def test_a_question_at_the_limit_is_answered_and_one_above_it_is_not(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.query.price import work

    text = "SELECT ward, AVG(cost) FROM visits GROUP BY ward"
    whole = worst(place.plan(text))
    assert whole.steps < MOST_STEPS
    assert whole.bytes < MOST_BYTES
    monkeypatch.setattr(work, "MOST_STEPS", whole.steps)
    monkeypatch.setattr(work, "MOST_BYTES", whole.bytes)
    priced(place, text)
    for limit, most in (("MOST_STEPS", whole.steps - 1), ("MOST_BYTES", whole.bytes - 1)):
        with monkeypatch.context() as patch:
            patch.setattr(work, limit, most)
            with pytest.raises(TooMuchWork):
                priced(place, text)


# --- joins ---------------------------------------------------------------------------------------------------------------------


def joined(count: int, on: str = "w{0}.ward = visits.ward") -> str:
    return "SELECT COUNT(*) FROM visits" + "".join(f" JOIN wards w{at} ON {on.format(at)}" for at in range(count))


def test_the_twenty_joins_are_refused_for_each_of_their_reasons(place: World) -> None:
    deciding = "w{0}.ward = CASE WHEN age = 4 AND cost > 3 THEN 'a' END"
    with pytest.raises(TooMuchWork, match="the question has 20 joins"):
        priced(place, joined(20, deciding))
    with pytest.raises(NotAllowed, match="ON compares a CASE over"):
        priced(place, joined(8, deciding))
    with pytest.raises(TooMuchWork) as caught:
        priced(place, joined(8))
    assert str(caught.value) == (
        "one unit of visits can have 19,683 rows after the join with wards: the limit is 1,000; "
        "join fewer tables or on a column with fewer matches, or have max_joined_rows raised in the catalog"
    )
    raised = place.with_catalog(changed(place.catalog, max_joined_rows=3**8))
    with pytest.raises(TooMuchWork, match="one unit of visits can"):
        priced(raised, joined(8))


def test_rows_of_a_unit_reach_the_limit_and_no_further(place: World) -> None:
    exactly = place.with_catalog(changed(place.catalog, max_joined_rows=27))
    assert reach(exactly.plan(joined(2))).rows == 27
    priced(exactly, joined(2))
    with pytest.raises(TooMuchWork):
        priced(place.with_catalog(changed(place.catalog, max_joined_rows=26)), joined(2))


@pytest.mark.parametrize(
    "on",
    [
        "w0.ward = visits.ward",
        "w0.beds = age + 2",
        "w0.beds = FLOOR(cost / 10) + 3 * age",
        "w0.beds = EXTRACT(MONTH FROM day)",
        "w0.ward = CASE WHEN age > 3 THEN 'a' ELSE 'b' END",
        "w0.ward = LOWER(visits.ward)",
        "w0.ward = diagnosis",
        "w0.beds = ABS(age)",
    ],
)
def test_a_private_side_of_on_maps_declared_values(place: World, on: str) -> None:
    priced(place, joined(1, on))


@pytest.mark.parametrize(
    "on",
    [
        "w0.ward = CASE WHEN age > 3 THEN visits.ward END",
        "w0.ward = CASE WHEN diagnosis = 'flu' THEN 'a' END",
        "w0.ward = CASE WHEN diagnosis LIKE 'f%' THEN 'a' ELSE 'b' END",
        "w0.beds = LEAST(age, cost)",
        "w0.beds = COALESCE(cost, age)",
        "w0.beds = age + CASE WHEN scan IS NULL AND age > 2 THEN 1 ELSE 2 END",
    ],
)
def test_a_private_side_of_on_that_decides_by_several_columns_or_text_is_refused(place: World, on: str) -> None:
    with pytest.raises(NotAllowed, match="put the condition into WHERE") as caught:
        priced(place, joined(1, on))
    assert caught.value.at == (1, 34)


def test_public_columns_may_be_chosen_between(place: World) -> None:
    priced(place, joined(1) + " JOIN wards more ON more.beds = COALESCE(w0.beds, CASE WHEN w0.site = 'N' THEN 1 END)")


# --- counts of synthetic rows --------------------------------------------------------------------------------------------------


def test_counts_of_many_dear_keys_are_refused(place: World) -> None:
    from tacit.publish.synthetic.rows.cells import Axis

    table = place.catalog.tables["visits"]
    cells = [Axis.of(table.columns[name]).cell() for name in ("ward", "age")]
    afford_counts(table, cells, 2)
    dear = [Axis.of(replace(table.columns["cost"], bins=tuple(range(50)))).cell()] * 14  # type: ignore[arg-type]
    afford_counts(table, dear, 14)
    with pytest.raises(TooMuchWork, match="of one core"):
        afford_counts(replace(table, rows_at_most=10**8), dear, 14)


# --- rungs -------------------------------------------------------------------------------------------------------------------


@given(steps=st.integers(0, 10**13), pace=st.fractions(Fraction(1, 10), 1000))
def test_a_rung_is_the_least_of_a_doubling_ladder_that_is_long_enough(steps: int, pace: Fraction) -> None:
    ladder, needed = [work.LOWEST * 2**place for place in range(12)], (steps + work.BESIDE) * pace / 10**6
    assert ladder[-1] == work.HIGHEST
    assert work.rung_above(steps, pace) == next((rung for rung in ladder if rung >= needed), work.HIGHEST)


def test_all_admitted_work_is_within_the_ladder_at_the_usual_pace() -> None:
    assert (MOST_STEPS + work.BESIDE) * PACE / 10**6 <= work.HIGHEST


@settings(max_examples=20)
@given(text=clinic_questions())
def test_the_rung_is_that_of_the_worst_work_and_of_the_pace(place: World, text: str) -> None:
    question = place.plan(text)
    slower = replace(place.catalog, pace=Fraction(50))
    assert work.rung_of(question, place.catalog) == work.rung_above(worst(question).steps, PACE)
    assert work.rung_of(question, slower) == work.rung_above(worst(question).steps, Fraction(50)) > work.LOWEST
