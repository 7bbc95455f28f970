"""Exact answers: what engine and assembly give is the brute force over the rows, for every group, empty ones too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from listed import counted
from questions import clinic_questions, clinic_units
from stored import catalog, category, days, number, table
from tacit.privacy.catalog import Source, Table
from tacit.query.engines.exact import Answers, assemble
from tacit.query.question import Question, domain, private
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

LENGTHS = pytest.mark.parametrize("examples", [30, pytest.param(600, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("exact")
    with world_in_memory(clinic(folder), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def by_brute_force(question: Question, made: World) -> list[Any]:
    """The same by the definition of every moment, in the order of the public groups, or of the keys that occur."""
    found = reference.groups(question.group, made.tables)
    if private(question):
        keys = sorted(found, key=lambda key: tuple((part is None, part or 0) for part in key))
    else:
        keys = list(product(*(domain(key) for key in question.group.keys)))
        assert set(found) <= set(keys)
    moments = [[reference.moment(moment, found.get(key, [])) for key in keys] for moment in question.group.moments]
    return [*moments, tuple(keys)] if private(question) else moments


def plain(moment: Any) -> Any:
    """Arrays as lists of integers; (values, counts), or one value for each row, as a dictionary."""
    if isinstance(moment, np.ndarray):
        return [int(number) for number in moment]
    if isinstance(moment, list):
        return [dict(counted(listed)) for listed in moment]
    return moment


@LENGTHS
def test_moments_are_the_brute_force_over_the_rows(place: World, tmp_path: Any, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(clinic_questions(private_keys=True), clinic_units(), st.sampled_from([None, 1, 2]), st.sampled_from([5, 10**5]))
    @example("SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward", [], None, 5)
    @example("SELECT COUNT(*), SUM(cost), MEDIAN(cost), COUNT(DISTINCT person) FROM visits", [], None, 10**5)
    def check(text: str, units: Any, per_group: int | None, rows_at_most: int) -> None:
        declared = clinic(tmp_path, max_rows_per_group=per_group, rows_at_most=rows_at_most)
        made = place.with_rows("visits", ranked(units)).with_catalog(declared)
        made.engine._compiled.clear()
        question = made.plan(text)
        assert [plain(moment) for moment in made.exact(question)] == by_brute_force(question, made)

    check()


def test_lists_are_sorted_and_from_the_low_end(place: World) -> None:
    row = {"ward": 0, "day": 0, "diagnosis": None, "scan": None}
    ages = [7, 0, 10, 7]
    made = place.with_rows("visits", ranked([[{**row, "cost": None, "age": age}] for age in ages]))
    ((values, counts),) = made.exact(made.plan("SELECT MEDIAN(age) FROM visits"))[0]
    assert (values.tolist(), counts.tolist()) == ([0, 7, 10], [1, 2, 1])


@pytest.mark.parametrize(("rows_at_most", "row_by_row"), [(10, True), (11, False)])
def test_lists_come_row_by_row_if_there_can_be_as_many_values_as_rows(
    place: World, tmp_path: Any, rows_at_most: int, row_by_row: bool
) -> None:
    """By what is declared: ages are from 0 to 10, and whoever is there changes nothing."""
    row = {"ward": 0, "day": 0, "diagnosis": None, "scan": None, "cost": None}
    for ages in ([], [7], [7, 0, 10, 7]):
        made = place.with_rows("visits", ranked([[{**row, "age": age}] for age in ages]))
        asked = made.with_catalog(clinic(tmp_path, rows_at_most=rows_at_most))
        asked.engine._compiled.clear()  # one plan has one text, whatever is declared: either form answers it
        ((values, counts),) = asked.exact(asked.plan("SELECT MEDIAN(age) FROM visits"))[0]
        assert (counts is None) == row_by_row
        assert counted((values, counts)) == Counter(ages)


# --- the largest bounds ----------------------------------------------------------------------------------------------------------

WIDEST = (
    number("whole", 0, 2**53 - 2, nulls="drop"),
    number("signed", -(2**52), 2**52 - 1),
    number("fine", 0, 2**29, "1"),
    number("finer", 0, 2**29 - 1),
    number("below", -(2**53) + 2, -1, nulls="drop"),
    category("odd", "x", "y"),
)


@pytest.fixture(scope="module")
def widest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("widest")
    declared = catalog(folder, table("big", folder / "big.csv", *WIDEST))
    rows = [
        {column.name: (column.points - 1 if at % 3 else 0) if at != 7 or not column.nullable else None for column in WIDEST}
        for at in range(23)
    ]
    for at, row in enumerate(rows):
        row["odd"] = at % 2
    with world_in_memory(declared, {"big": ranked([[row] for row in rows])}) as made:
        yield made


@pytest.mark.parametrize(
    "column", ["whole", "signed", "fine", "finer", "below", "below + whole", "fine * 16777215", "below + fine"]
)
@pytest.mark.parametrize("group", ["", " GROUP BY odd"])
def test_sums_and_squares_at_the_largest_bounds(widest: World, column: str, group: str) -> None:
    """Limbs of 28 bits, put together as exact integers: no row, and no number of rows, overflows."""
    question = widest.plan(
        f"SELECT SUM({column}), VAR_POP({column}), AVG({column}), COUNT({column}), COVAR_POP({column}, signed) FROM big{group}"
    )
    assert {moment.kind for moment in question.group.moments} >= {"centred", "squares", "products"}
    found = [plain(moment) for moment in widest.exact(question)]
    assert found == by_brute_force(question, widest)
    alone = widest.plan(f"SELECT SUM({column}), MEDIAN({column}) FROM big{group}")
    assert [plain(moment) for moment in widest.exact(alone)] == by_brute_force(alone, widest)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.integers(0, 2**54),
    st.lists(st.integers(0, 2**54), max_size=6),
    st.integers(1, 2**33 - 1),
)
def test_parts_are_put_together_exactly_for_billions_of_rows(low: int, spread: int, offsets: list[int], times: int) -> None:
    """As an engine would give the parts: int64 sums, each row `times` times, for every width of the range."""
    from tacit.query.engines import compile as compiled
    from tacit.query.plan import Column, Group, Moment, Scan

    node = Column(0, "x", low, low + spread, False)
    offsets = [min(offset, spread) for offset in offsets]
    many = times if not offsets else min(times, 2**33 // len(offsets))
    for kind in ("sum", "centred", "squares"):
        parts = {"m0_rows": np.array([many * len(offsets)], dtype=np.int64)}
        for name, limbs in (("sum", compiled._limbs), ("square", compiled._square_limbs)):
            for weight in [weight for weight, _ in limbs(0, spread)]:
                total = many * sum(dict_of(limbs(offset, spread))[weight] for offset in offsets)
                assert total < 2**63
                parts[f"m0_{name}{weight}"] = np.array([total], dtype=np.int64)
        moment = Moment(kind, node)  # type: ignore[arg-type]
        found = assemble(Group(Scan(None), (), (moment,)), Answers(parts, {})).moments[0].unseal()  # type: ignore[arg-type, union-attr]
        assert int(found[0]) == many * reference.moment(moment, [{"0.x": offset} for offset in offsets])


def dict_of(limbs: list[tuple[int, int]]) -> dict[int, int]:
    found = dict(limbs)
    assert len(found) == len(limbs)
    return found


# --- joins of every kind ---------------------------------------------------------------------------------------------------------

JOINED = {
    "diagnosis": "SELECT grade, COUNT(*), SUM(age) FROM visits LEFT JOIN codes ON codes.name = visits.diagnosis GROUP BY grade",
    "day": "SELECT grade, COUNT(*) FROM visits JOIN codes ON visits.day = codes.since GROUP BY grade",
    "shifted day": "SELECT grade, COUNT(*) FROM visits JOIN codes ON DATE_TRUNC('month', visits.day) = since GROUP BY grade",
    "number": "SELECT grade, COUNT(*) FROM visits LEFT JOIN codes ON half = age / 2 GROUP BY grade",
    "constant": "SELECT grade, COUNT(*) FROM visits JOIN codes ON name = 'flu' GROUP BY grade",
    "twice": "SELECT a.grade, b.grade, COUNT(*) FROM visits LEFT JOIN codes a ON a.name = diagnosis "
    "LEFT JOIN codes b ON b.grade = a.grade GROUP BY a.grade, b.grade",
}


@pytest.fixture(scope="module")
def coded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The clinic with a public table of other grids: dates from another day on, halves, and text as categories."""
    folder = tmp_path_factory.mktemp("coded")
    columns = (
        category("name", "cold", "flu", "plague"),
        days("since", "2020-02-01", "2020-06-01"),
        number("half", -1, 3, "0.5"),
        category("grade", "x", "y"),
    )
    codes = Table("codes", Source("csv", "codes.csv"), {column.name: column for column in columns}, public=True)
    declared = clinic(folder)
    rows = [(0, 0, 2, 0), (1, 28, None, 1), (1, 0, 3, None), (None, 60, 8, 0), (2, None, 0, 1), (1, 29, 2, 1)]
    public = [dict(zip(("name", "since", "half", "grade"), row, strict=True)) for row in rows]
    with world_in_memory(
        replace(declared, tables={**declared.tables, "codes": codes}), {"visits": [], "wards": PUBLIC, "codes": public}
    ) as made:
        yield made


@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED.keys())
def test_joins_match_values_and_not_codes(coded: World, text: str) -> None:
    row = {"ward": 0, "cost": 7, "scan": None}
    visits = [
        {**row, "age": at % 11, "day": (at * 5) % 94, "diagnosis": ["flu", "cold", None, "plague", "other"][at % 5]}
        for at in range(40)
    ]
    made = coded.with_rows("visits", ranked([visits[at : at + 3] for at in range(0, 40, 3)]))
    question = made.plan(text)
    found = [plain(moment) for moment in made.exact(question)]
    assert found == by_brute_force(question, made)
    assert any(sum(moment) for moment in found)


def test_a_group_that_is_not_public_counts_nowhere_and_fails_nothing() -> None:
    """Not even if a proof of the possible keys were wrong: a failure would tell of the row that has such a key."""
    from tacit.query.plan import BooleanType, Column, Group, Key, Moment, NumberType, Scan, Term

    keys = (
        Key("a", Term(Column(0, "a", 2, 4, True), NumberType(Fraction(1)))),
        Key("b", Term(Column(0, "b", 0, 1, False), BooleanType())),
    )
    group = Group(Scan(None), keys, (Moment("rows"), Moment("list", Column(0, "x", 0, 9, False))))  # type: ignore[arg-type]
    given = np.ma.MaskedArray([2, 5, 1, 4, 3, 0], mask=[False, False, False, False, False, True])
    sums = {"key_0": given, "key_1": np.ma.MaskedArray([0, 1, 0, 2, 1, 1], mask=[0, 0, 0, 0, 0, 0]), "m0_rows": np.arange(1, 7)}
    lists = {"key_0": given, "key_1": sums["key_1"], "value": np.arange(6), "rows": np.arange(1, 7)}
    found = assemble(group, Answers(sums, {1: lists}))
    assert found.moments[0].unseal().tolist() == [1, 0, 0, 5, 0, 0, 0, 6]  # type: ignore[union-attr]
    assert [each.unseal()[0].tolist() for each in found.moments[1]] == [[0], [], [], [4], [], [], [], [5]]  # type: ignore[union-attr]
