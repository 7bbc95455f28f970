"""Whose a row is, and which of a unit's rows are used: as a short model in Python says it, and the same for neighbours."""

import random
import re
from collections import defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import joined
import tacit.data.prepare as preparation
from chance import plausible_hits
from owned import RAWS, expected, holdings, owners, prepared_from, raw, shared, stored_units, units, without
from stored import by_unit, catalog, category, number, stored, table, write_csv, write_parquet
from tacit.data.ownership import Link, own_key
from tacit.data.prepare import prepare, ranking
from tacit.data.prepare.ranking import Ranking
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Column, Owner

# --- the model -------------------------------------------------------------------------------------------------------------------

LENGTHS = pytest.mark.parametrize("examples", [6, pytest.param(100, marks=pytest.mark.slow)])
DENSE = raw(
    patients=[(unit, unit, unit) for unit in range(4)],
    visits=[(unit, unit, unit) for unit in range(4)]
    + [(7, 1, 5), (7, 2, 4), (7, 1, 6), (6, None, 6), (5, 3, 9), (8, 1, 1), (8, 3, 2)],
    labs=[(place % 6, place % 9, place % 8) for place in range(30)],
    samples=[(None, place % 6, place // 6) for place in range(30)],
    tags=[(visit, visit, x) for visit in (7, 7, 8, 1) for x in (1, 2)],
    cards=[(None, place % 5, place) for place in range(8)] + [(None, None, 3)],
    notes=[(None, None, 1), (None, None, 1), (None, None, 2)],
    own=("visits", "cards"),
)


@LENGTHS
def test_units_and_ranks_are_those_of_the_model(examples, tmp_path):
    """In any order of rows: so the order of rows, like the engine, has no say."""

    @given(data=RAWS, seed=st.integers(0, 100))
    @settings(max_examples=examples)
    def inner(data, seed):
        shuffled = {name: random.Random(seed).sample(list(rows), len(rows)) for name, rows in data.rows.items()}
        agrees(prepared_from(tmp_path, replace(data, rows=shuffled)), data)

    inner()


def agrees(prepared, data):
    found = stored_units(prepared)
    assert holdings(found) == holdings(expected(data))
    assert sorted(found) == list(range(len(found))), "one numbering for all tables, without gaps"


@given(data=RAWS)
@settings(max_examples=150)
def test_taking_a_unit_away_changes_no_other(data):
    """The heart of the promise: what is stored of all others is the same with and without any one unit."""
    assert all(neighbours(data, unit, expected) for unit in units(data))


def neighbours(data, unit, model):
    whole = model(data)
    own = holdings({each: has for each, has in whole.items() if each == unit})
    return holdings(whole) - own == holdings(model(without(data, unit)))


def least_owner(data):
    """The planted bug: a row of several owners belongs to the least of them, and the others have nothing of it."""
    found = defaultdict(lambda: defaultdict(list))
    for name in data.rows:
        for place, row in enumerate(data.of(name)):
            if (of := owners(data, name, place)) and row.x < 9:
                found[min(of, key=repr)][name].append(row.x)
    return {unit: {name: sorted(values)[: data.limit(name)] for name, values in tables.items()} for unit, tables in found.items()}


def nobody(data):
    """The planted bug: a row of several owners belongs to none."""
    single = {
        name: [row for place, row in enumerate(rows) if len(owners(data, name, place)) < 2] for name, rows in data.rows.items()
    }
    return expected(replace(data, rows=single))


@pytest.mark.parametrize("bug", [least_owner, nobody])
def test_planted_bugs_of_a_model_change_others(bug):
    data = raw(visits=[(7, 1, 3), (7, 2, 4)], labs=[(None, 7, 5)])
    assert all(neighbours(data, unit, expected) for unit in (1, 2))
    assert not all(neighbours(data, unit, bug) for unit in (1, 2))


# --- the engine keeps neighbours too ---------------------------------------------------------------------------------------------


def check_neighbours(folder, data, *leaving):
    """The store without a unit is the store without its copies: one holding is gone, and all others have what they had."""
    whole = holdings(stored_units(prepared_from(folder / "whole", data)))
    for unit in leaving or units(data):
        less = holdings(stored_units(prepared_from(folder / "less", without(data, unit))))
        assert not less - whole, f"others have something else without {unit}"
        assert whole - less == holdings({each: has for each, has in expected(data).items() if each == unit}), unit


@pytest.mark.parametrize("crowd", [0, ranking.CROWD])
def test_the_engine_keeps_neighbours_too(crowd, tmp_path, monkeypatch):
    """Whether or not the rows of a key with many owners are reduced before they are copied."""
    monkeypatch.setattr(ranking, "CROWD", crowd)
    check_neighbours(tmp_path, DENSE, 1, ("notes", 1))


@pytest.mark.slow
@given(data=RAWS, crowd=st.sampled_from([0, ranking.CROWD]))
@settings(max_examples=25)
def test_the_engine_keeps_neighbours_of_many_worlds(data, crowd, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ranking, "CROWD", crowd)
        check_neighbours(tmp_path_factory.mktemp("worlds"), data)


def the_least_owner(patched):
    honest = Link.pairs
    least = "SELECT tacit_link, min(tacit_holder) AS tacit_holder FROM ({}) GROUP BY tacit_link"
    patched.setattr(Link, "pairs", lambda link, *given: least.format(honest(link, *given)))


def a_key_once_for_all_units(patched):
    honest = Ranking._first
    patched.setattr(Ranking, "_first", lambda *given: honest(*given).replace("PARTITION BY tacit_holder, ", "PARTITION BY "))


def tables_without_keys_from_0(patched):
    honest = preparation.stored_rows
    from_0 = lambda words, table, units, *more: honest(words, table, units if own_key(table) else units._replace(most=0), *more)  # noqa: E731
    patched.setattr(preparation, "stored_rows", from_0)


@pytest.mark.parametrize("bug", [the_least_owner, a_key_once_for_all_units, tables_without_keys_from_0])
def test_planted_bugs_of_the_engine_change_others(bug, tmp_path, monkeypatch):
    bug(monkeypatch)
    with pytest.raises(AssertionError, match="others have something else"):
        check_neighbours(tmp_path, DENSE, 1, 2)


def a_limit_before_the_owners(patched):
    """Whose a lab is would then depend on which visits `max_rows` keeps."""
    honest = Link.pairs
    few = "SELECT * FROM ({}) QUALIFY row_number() OVER (PARTITION BY tacit_holder ORDER BY tacit_link) <= {}"
    patched.setattr(Link, "pairs", lambda link, *given: few.format(honest(link, *given), link.table.max_rows))


def ways_instead_of_owners(patched):
    """A row that leads to one unit on two ways would be there twice."""
    honest = Ranking._join_owners
    patched.setattr(Ranking, "_join_owners", lambda ranking, rows, pairs, once: honest(ranking, rows, pairs, once=False))


@pytest.mark.parametrize("bug", [the_least_owner, a_limit_before_the_owners, ways_instead_of_owners])
def test_planted_bugs_of_the_engine_are_not_the_model(bug, tmp_path, monkeypatch):
    data = raw(
        visits=[(unit, 1, 0) for unit in (5, 6, 7)] + [(7, 2, 0)],
        labs=[(0, 6, 0), (0, 7, 0), (1, 7, 3)],
        samples=[(None, 0, x) for x in range(5)],
    )
    agrees(prepared_from(tmp_path, data), data)
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        agrees(prepared_from(tmp_path, data), data)


def test_a_key_with_a_crowd_of_owners_is_not_copied_for_each_of_them(tmp_path, monkeypatch):
    """A key that stands for "unknown" in two tables: its rows are reduced to what one owner can keep, and then copied."""
    data = raw(visits=[(0, unit, 1) for unit in range(40)], labs=[(None, 0, place % 9) for place in range(50)])
    honest, copied = Ranking._join_owners, []
    monkeypatch.setattr(
        Ranking, "_join_owners", lambda ranking, rows, *more, **how: copied.append(rows) or honest(ranking, rows, *more, **how)
    )
    agrees(prepared_from(tmp_path, data), data)
    (rows,) = copied
    assert rows.endswith("WHERE tacit_rank < 8"), "four times max_rows, of which the data owner is told"


# --- rows of several owners ------------------------------------------------------------------------------------------------------


def test_the_report_says_how_many_rows_are_shared(tmp_path):
    prepared = prepared_from(tmp_path, DENSE)
    reports = {report.name: report for report in prepare(prepared).tables}
    for name, report in reports.items():
        assert report.shared == shared(DENSE, name)
        assert report.copies == len(stored(prepared, name))
        assert report.read == report.kept + sum(report.dropped.values())
        assert (report.kept <= report.copies) == (report.shared > 0) or report.kept == report.copies
    assert (reports["labs"].most_owners, reports["visits"].most_owners) == (2, 1)
    assert reports["labs"].shared > 0
    assert reports["samples"].shared > 0


def test_one_more_person_moves_no_more_than_max_rows(tmp_path):
    """1,000 labs of visit 7, which is nobody's; then one person more, with visit 7."""
    labs = [(None, 7, place % 9) for place in range(1000)]
    counted = []
    for visits in ([], [(7, 1, 0)], [(7, 1, 0), (7, 2, 0)]):
        prepared = prepared_from(tmp_path, raw(visits=visits, labs=labs))
        counted.append(len(stored(prepared, "labs")))
    assert counted == [0, 2, 4]


def test_rows_of_their_own_are_refused_where_units_are_looked_up(tmp_path, monkeypatch):
    """One person with visit 7 would take 998 units away: that is what the planted bug, which lets it pass, does."""
    data = raw(visits=[(7, 1, 0)], labs=[(None, 7, place % 9) for place in range(1000)], own=["labs"])
    with pytest.raises(InvalidCatalog, match=r'labs has no_unit = "own"'):
        prepared_from(tmp_path, data)
    honest = preparation.links
    monkeypatch.setattr(preparation, "links", lambda catalog, table: honest(catalog, replace(table, no_unit="drop")))
    monkeypatch.setattr("tacit.data.ownership.links", preparation.links)
    unclaimed = '"tacit_key visit_id" NOT IN (SELECT tacit_link FROM tacit_pairs_0)'
    monkeypatch.setattr(preparation, "without_key", lambda table: unclaimed if table.name == "labs" else "FALSE")
    with_person = len(stored(prepared_from(tmp_path / "with", data), "labs"))
    nobodys = replace(data, rows={**data.rows, "visits": []})
    assert (with_person, len(stored(prepared_from(tmp_path / "less", nobodys), "labs"))) == (2, 1000)


# --- ranks -----------------------------------------------------------------------------------------------------------------------


def wide_rows(count, seed=0):
    draw = random.Random(seed)
    return [
        [draw.choice("abcde"), draw.choice(["x", "y", None]), draw.randint(-5, 120), draw.choice(["é", "e\u0301", "", "z"])]
        for _ in range(count)
    ]


def wide_table(source, **declared):
    columns = (category("sex", "x", "y"), number("age", 0, 110), Column("note", "text"))
    return table("people", source, *columns, unit=Owner("id"), **{"max_rows": 4} | declared)


@pytest.mark.parametrize("form", ["csv", "parquet", "parquet in row groups"])
def test_ranks_do_not_depend_on_order_or_layout(form, tmp_path):
    found = []
    for seed in range(3):
        rows = random.Random(seed).sample(wide_rows(300), 300)
        if form == "csv":
            source = write_csv(tmp_path / "people.csv", ["id", "sex", "age", "note"], rows)
        else:
            source = write_parquet(
                tmp_path / "people.parquet", dict(zip(["id", "sex", "age", "note"], zip(*rows, strict=True), strict=True))
            )
        if form.endswith("groups"):
            pa.parquet.write_table(pa.parquet.read_table(source), source, row_group_size=17 + seed)
        prepared = catalog(tmp_path, wide_table(source))
        prepare(prepared)
        found.append(by_unit(prepared, "people", "sex", "age", "note"))
    assert found[0] == found[1] == found[2]
    assert [len(rows) for rows in found[0]] == [4] * 5


def test_ranks_that_follow_the_order_of_rows_are_caught(tmp_path, monkeypatch):
    honest = Ranking._first
    monkeypatch.setattr(Ranking, "_first", lambda *given: honest(*given).replace(" ORDER BY tacit_place", ""))
    with pytest.raises(AssertionError, match="=="):
        test_ranks_do_not_depend_on_order_or_layout("parquet", tmp_path)


def test_the_order_of_declaration_has_no_say(tmp_path):
    source = write_csv(tmp_path / "people.csv", ["id", "sex", "age", "note"], wide_rows(200))
    prepared = catalog(tmp_path, wide_table(source))
    prepare(prepared)
    before = by_unit(prepared, "people", "sex", "age", "note")
    turned = wide_table(source)
    turned = table("people", source, *reversed(turned.columns.values()), unit=turned.unit, max_rows=4)
    prepare(catalog(tmp_path, turned))
    assert by_unit(prepared, "people", "sex", "age", "note") == before


def test_a_larger_limit_keeps_what_a_smaller_one_kept(tmp_path):
    source = write_csv(tmp_path / "people.csv", ["id", "sex", "age", "note"], wide_rows(200))
    few, many = (catalog(tmp_path, wide_table(source, max_rows=most)) for most in (2, 200))
    prepare(few)
    kept = by_unit(few, "people", "sex", "age", "note")
    report = prepare(many).tables[0]
    more = by_unit(many, "people", "sex", "age", "note")
    assert kept == sorted((rows[:2] for rows in more), key=repr)
    assert (report.read, report.kept) == (200, 200)


def test_units_are_ordered_differently_from_each_other(tmp_path):
    """Else a limit would keep the same values of everybody, and every answer would lean the same way."""
    rows = [[unit, value] for unit in range(200) for value in range(3)]
    source = write_csv(tmp_path / "people.csv", ["id", "age"], rows)
    prepared = catalog(tmp_path, table("people", source, number("age", 0, 110), unit=Owner("id"), max_rows=1))
    prepare(prepared)
    kept = [value for _, value in stored(prepared, "people", "tacit_unit", "age")]
    assert plausible_hits([kept.count(value) for value in range(3)], 200, 1 / 3)


# --- rows without a unit, keys of all types --------------------------------------------------------------------------------------


@pytest.mark.parametrize("no_unit", ["drop", "own"])
def test_rows_without_a_unit(no_unit, tmp_path):
    source = write_csv(tmp_path / "visits.csv", ["who", "x"], [["a", 1], ["", 2], ["  ", 3], ["a", 4], [None, 2]])
    prepared = catalog(tmp_path, table("visits", source, number("x", 0, 9), unit=Owner("who"), max_rows=9, no_unit=no_unit))
    report = prepare(prepared).tables[0]
    own = [((2,),), ((2,),), ((3,),)] if no_unit == "own" else []
    assert sorted(by_unit(prepared, "visits", "x"), key=len)[: len(own)] == own
    assert {unit for (unit,) in stored(prepared, "visits", "tacit_unit")} == set(range(1 + len(own)))
    assert (report.unnamed, report.dropped["no unit"]) == (3, 0 if own else 3)


def test_own_units_of_several_tables_are_different_people(tmp_path):
    for name in ("a", "b"):
        write_csv(tmp_path / f"{name}.csv", ["who", "x"], [["p", 1], [None, 2], [None, 3]])
    dropped = table("c", tmp_path / "a.csv", number("x", 0, 9), unit=Owner("who"), max_rows=9)
    prepared = catalog(
        tmp_path,
        dropped,
        *(
            table(name, tmp_path / f"{name}.csv", number("x", 0, 9), unit=Owner("who"), max_rows=9, no_unit="own")
            for name in ("a", "b")
        ),
    )
    prepare(prepared)
    codes = [unit for name in ("a", "b") for (unit,) in stored(prepared, name, "tacit_unit")]
    assert sorted(codes) == [0, 0, 1, 2, 3, 4]


def test_every_row_a_unit(tmp_path):
    source = write_csv(tmp_path / "people.csv", ["x"], [[1], [1], [2]])
    prepared = catalog(tmp_path, table("people", source, number("x", 0, 9)))
    prepare(prepared)
    assert stored(prepared, "people", "tacit_unit", "tacit_rank") == [(0, 0), (1, 0), (2, 0)]
    assert stored(prepared, "people", "x") == [(1,), (1,), (2,)]


def test_a_table_with_no_columns_can_be_counted(tmp_path):
    source = write_csv(tmp_path / "people.csv", ["x"], [[1], [1], [2]])
    for unit, count in ((None, 3), (Owner("x"), 2)):
        prepared = catalog(tmp_path, table("people", source, unit=unit, max_rows=1))
        prepare(prepared)
        assert len(stored(prepared, "people")) == count


def test_a_repeated_key_is_one_unit_with_one_row(tmp_path):
    source = write_csv(tmp_path / "people.csv", ["id", "x"], [[1, 5], [1, 6], [2, 7], ["", 8], ["", 9]])
    for no_unit, own in (("drop", 0), ("own", 2)):
        prepared = catalog(tmp_path, table("people", source, Column("id", "key"), number("x", 0, 9), no_unit=no_unit))
        report = prepare(prepared).tables[0]
        assert [len(rows) for rows in by_unit(prepared, "people", "x")] == [1] * (2 + own)
        assert report.dropped == {"value": 0, "no unit": 2 - own, "limit": 1}


def test_a_key_that_names_people_is_left_to_the_limit(tmp_path):
    source = write_csv(tmp_path / "visits.csv", ["who", "x"], [["a", 1], ["a", 2], ["a", 3], ["b", 4]])
    visits = table("visits", source, Column("who", "key"), number("x", 0, 9), unit=Owner("who"), max_rows=2)
    prepare(prepared := catalog(tmp_path, visits))
    assert sorted(len(rows) for rows in by_unit(prepared, "visits", "x")) == [1, 2]


KEYS_ALIKE = {
    "texts": ["1", " 1.0 ", "2", "1", None],
    "small": pa.array([1, 1, 2, 1, None], pa.int8()),
    "huge": pa.array([1, 1, 2, 1, None], pa.uint64()),
    "doubles": pa.array([1.0, 1.0, 2.0, 1.0, float("nan")]),
    "decimals": pa.array([1, 1, 2, 1, None], pa.decimal128(10, 2)),
    "bytes": pa.array([b"1", b"1", b"2", b"1", b""]),
}


@pytest.mark.parametrize("first", KEYS_ALIKE)
@pytest.mark.parametrize("second", ["texts", "small", "huge"])
def test_keys_are_one_whatever_their_type(first, second, tmp_path):
    for name, keys in (("a", KEYS_ALIKE[first]), ("b", KEYS_ALIKE[second])):
        write_parquet(tmp_path / f"{name}.parquet", {"who": keys, "x": [1, 2, 3, 4, 5]})
    prepared = catalog(
        tmp_path,
        *(table(name, tmp_path / f"{name}.parquet", number("x", 0, 9), unit=Owner("who"), max_rows=9) for name in ("a", "b")),
    )
    prepare(prepared)
    for name in ("a", "b"):
        found = defaultdict(set)
        for unit, x in stored(prepared, name, "tacit_unit", "x"):
            found[unit].add(x)
        assert sorted(map(sorted, found.values())) == [[1, 2, 4], [3]]
    assert {unit for name in "ab" for (unit,) in stored(prepared, name, "tacit_unit")} == {0, 1}


def test_keys_that_differ_stay_apart(tmp_path):
    keys = ["a", "A", "é", "e", "01", "1", "1.5", "1e0", "x" * 1_000_000, "x" * 1_000_000 + "y", "1.0.0"]
    write_parquet(tmp_path / "a.parquet", {"who": keys, "x": [1] * len(keys)})
    prepared = catalog(tmp_path, table("a", tmp_path / "a.parquet", number("x", 0, 9), unit=Owner("who"), max_rows=9))
    prepare(prepared)
    assert len({unit for (unit,) in stored(prepared, "a", "tacit_unit")}) == len(keys)


def test_a_value_that_drops_its_row_still_owns_what_refers_to_it(tmp_path):
    """Whose a lab is does not depend on the cost of the visit."""
    prepared = prepared_from(tmp_path, raw(visits=[(7, 1, 9)], labs=[(None, 7, 5)]))
    report = {each.name: each for each in prepare(prepared).tables}
    assert stored(prepared, "visits") == []
    assert stored(prepared, "labs", "x") == [(5,)]
    assert report["visits"].dropped == {"value": 1, "no unit": 0, "limit": 0}


def test_references_may_go_through_columns_that_own(tmp_path):
    """A reference to the column that owns its table is that column's value: beds of visits are those of patients."""
    write_csv(tmp_path / "beds.csv", ["id", "patient"], [["b1", "p"], ["b2", "q"], ["b3", "q"]])
    write_csv(tmp_path / "stays.csv", ["bed", "x"], [["b1", 1], ["b2", 2], ["b9", 3]])
    write_csv(tmp_path / "meals.csv", ["bed", "x"], [["b2", 4], ["b3", 5], ["b9", 6]])
    bed = number("x", 0, 9)
    prepared = catalog(
        tmp_path,
        table("beds", tmp_path / "beds.csv", Column("id", "key"), unit=Owner("patient"), max_rows=9),
        table("stays", tmp_path / "stays.csv", bed, unit=Owner("bed", ("beds", "id")), max_rows=9),
        table("meals", tmp_path / "meals.csv", bed, unit=Owner("bed", ("stays", "bed")), max_rows=9),
    )
    prepare(prepared)
    owner = dict(stored(prepared, "stays", "tacit_unit", "x"))
    assert sorted(owner.values()) == [1, 2]
    assert {(owner[code], x) for code, x in stored(prepared, "meals", "tacit_unit", "x")} == {(2, 4), (2, 5)}


def test_catalogs_whose_units_lead_nowhere_are_refused(tmp_path):
    write_csv(tmp_path / "a.csv", ["id", "other"], [])
    x = (Column("id", "key"),)
    circle = [table(a, tmp_path / "a.csv", *x, unit=Owner("other", (b, "id")), max_rows=1) for a, b in ("ab", "ba")]
    with pytest.raises(InvalidCatalog, match="leads back to itself"):
        prepare(catalog(tmp_path, *circle))
    keyless = [table("a", tmp_path / "a.csv"), table("b", tmp_path / "a.csv", unit=Owner("other", ("a", "id")), max_rows=1)]
    with pytest.raises(InvalidCatalog, match=r"a\.id is not a key"):
        prepare(catalog(tmp_path, *keyless))


# --- keys that are kept as codes -------------------------------------------------------------------------------------------------


def kept_visits(folder, seed):
    """Which of forty visits that are alike but for their key a limit of one keeps: its lab says so."""
    visits = [(at, 0, "a", 3) for at in range(40)]
    labs = [(at, 1 + at % 3, "st"[at // 3 % 2]) for at in range(40)]
    rows = joined.hospital(visits=random.Random(seed).sample(visits, 40), labs=labs)
    asked = joined.asked_of(folder, replace(rows, limits={"visits": 1, "labs": 40}))
    found = asked.exact(asked.plan("SELECT x, kind, COUNT(*) FROM labs l JOIN visits v ON l.visit_id = v.id GROUP BY x, kind"))
    asked.close()
    return [count.tolist() for count in found]


def test_a_limit_among_rows_that_differ_in_their_key_alone_does_not_depend_on_the_order_of_rows(tmp_path, monkeypatch):
    """Rows with the same values are interchangeable only while nothing else of them is stored: their codes lead to others."""
    assert len({repr(kept_visits(tmp_path, seed)) for seed in range(4)}) == 1
    honest, placed = Ranking._first, Ranking._rows_with_places
    among_ties = re.compile(r'(ORDER BY tacit_place), "tacit_key id"')
    monkeypatch.setattr(Ranking, "_first", lambda *given: among_ties.sub(r"\1, tacit_at", honest(*given)))
    monkeypatch.setattr(
        Ranking, "_rows_with_places", lambda *given: f"SELECT *, row_number() OVER () AS tacit_at FROM ({placed(*given)})"
    )
    assert len({repr(kept_visits(tmp_path, seed)) for seed in range(8)}) > 1, "the planted bug: ties in the order of the file"


def test_a_code_is_the_same_for_a_key_and_what_leads_to_it(tmp_path):
    """Of a visit and its labs. Two people who claim a visit have a code each, so that a code implies the unit."""
    rows = joined.hospital(visits=[(5, 1, "a", 0), (5, 2, "b", 0), (6, 2, "c", 1)], labs=[(5, 1, "s"), (6, 2, "t"), (9, 3, "s")])
    asked = joined.asked_of(tmp_path, rows)
    visits = {(unit, code) for unit, code in stored(asked.catalog, "visits", "tacit_unit", "tacit_code id")}
    labs = {(unit, code) for unit, code in stored(asked.catalog, "labs", "tacit_unit", "tacit_code visit_id")}
    assert visits == labs
    assert len(visits) == 3
    assert len({code for _, code in visits}) == 3, "a code stands for a key and the unit that claims it"
    asked.close()


def test_codes_along_a_chain_are_of_a_key_and_a_unit(tmp_path):
    """Samples of labs of visits, some claimed by several people: whatever the number of steps, equal codes are of one unit."""
    prepared = prepared_from(tmp_path, DENSE)
    prepare(prepared)
    joined_rows = 0
    for child, parent, own, key in (("labs", "visits", "visit_id", "id"), ("samples", "labs", "lab_id", "id")):
        left = stored(prepared, child, "tacit_unit", f"tacit_code {own}")
        right = stored(prepared, parent, "tacit_unit", f"tacit_code {key}")
        units_of = defaultdict(set)
        for unit, code in left + right:
            units_of[code].add(unit)
        assert {len(found) for code, found in units_of.items() if code is not None} == {1}
        assert all(code is not None for _, code in left), "what leads to a unit has a code"
        joined_rows += sum(one == other for one in left for other in right)
    assert joined_rows > 10
