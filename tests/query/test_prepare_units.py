"""Whose a row is, and which of a unit's rows are used: as a short model in Python says it, and the same for neighbours."""

import base64
import hashlib
import random
from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import by_unit, catalog, category, number, stored, table, write_csv, write_parquet

from tacit.errors import CatalogUnusable
from tacit.privacy.catalog import Column, Owner
from tacit.query.prepare import ownership, prepare, ranking

# --- the model: three tables of (keys..., value), visits and labs with at most two rows of a patient -----------------------------

MOST = 2
KEY = "0123456789abcdef" * 2
KEYS = st.one_of(st.none(), st.integers(0, 3))
DATABASES = st.fixed_dictionaries(
    {
        "patients": st.lists(st.tuples(KEYS, st.integers(0, 9)), max_size=4),
        "visits": st.lists(st.tuples(KEYS, KEYS, st.integers(0, 9)), max_size=7),
        "labs": st.lists(st.tuples(KEYS, st.integers(0, 9)), max_size=7),
    }
)


def unit_of(database, name, row):
    """The patient whose row it is, or None."""
    if name == "patients":
        return row[0]
    if name == "visits":
        return row[1]
    return min(
        (patient for visit, patient, _ in database["visits"] if visit == row[0] and None not in (visit, patient)), default=None
    )


def place(key, unit, value):
    """Where a row with one number stands among those of its unit: four bits hold 0 to 9 and NULL."""
    text = f"{base64.b64encode(bytes.fromhex(key)).decode().rstrip('=')}{unit},{value}"
    return int.from_bytes(hashlib.md5(text.encode(), usedforsecurity=False).digest()[8:], "little")


def expected(database, name, key):
    """The stored values of every unit, in the order of their ranks; rows without a unit are dropped."""
    units = defaultdict(list)
    for row in database[name]:
        if (unit := unit_of(database, name, row)) is not None:
            units[unit].append((place(key, unit, row[-1]), row))
    limit = 1 if name == "patients" else MOST
    kept = {unit: without_repeats(sorted(rows, key=lambda each: each[0]), name)[:limit] for unit, rows in units.items()}
    return {unit: tuple((row[-1],) for row in rows) for unit, rows in kept.items()}


def without_repeats(rows, name):
    """Of the rows of one unit with one key, the first."""
    if name != "visits":
        return [row for _, row in rows]
    seen, kept = set(), []
    for _, row in rows:
        if row[0] is None or row[0] not in seen:
            kept.append(row)
        seen.add(row[0])
    return kept


def without(database, unit):
    """The database without one patient: none of their rows in any table."""
    return {name: [row for row in rows if unit_of(database, name, row) != unit] for name, rows in database.items()}


def hospital(folder, database, **visits):
    names = {"patients": ("id",), "visits": ("id", "patient_id"), "labs": ("visit_id",)}
    for name, keys in names.items():
        columns = [pa.array(values, pa.int64()) for values in zip(*database[name], strict=True)] or [pa.array([], pa.int64())] * 3
        write_parquet(folder / f"{name}.parquet", dict(zip((*keys, "x"), columns, strict=False)))
    x, identity = number("x", 0, 9), Column("id", "key")
    return catalog(
        folder,
        table("patients", folder / "patients.parquet", identity, x),
        table(
            "visits",
            folder / "visits.parquet",
            identity,
            x,
            **{"unit": Owner("patient_id", ("patients", "id")), "max_rows": MOST} | visits,
        ),
        table("labs", folder / "labs.parquet", x, unit=Owner("visit_id", ("visits", "id")), max_rows=MOST),
    )


@given(database=DATABASES, seed=st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_units_and_ranks_are_those_of_the_model(database, seed, tmp_path_factory):
    """In any order of rows: so the order of rows, like the engine, has no say."""
    shuffled = {name: random.Random(seed).sample(rows, len(rows)) for name, rows in database.items()}
    prepared = hospital(tmp_path_factory.mktemp("hospital"), shuffled)
    prepare(prepared)
    key = (prepared.kept / "rank.key").read_text().strip()
    for name in database:
        assert by_unit(prepared, name, "x") == sorted(expected(database, name, key).values(), key=repr)
    assert one_code_for_each_unit(prepared, database, key)


def one_code_for_each_unit(prepared, database, key):
    """Codes are dense, and a patient has the same in every table."""
    codes = {code for name in database for (code,) in stored(prepared, name, "tacit_unit")}
    units = {unit for name in database for unit in expected(database, name, key)}
    several = defaultdict(set)
    for name in database:
        for code, *rows in stored(prepared, name, "tacit_unit", "x"):
            several[code].add((name, *rows))
    wanted = defaultdict(set)
    for name in database:
        for unit, rows in expected(database, name, key).items():
            wanted[unit] |= {(name, *row) for row in rows}
    return codes == set(range(len(units))) and sorted(map(sorted, several.values())) == sorted(map(sorted, wanted.values()))


@given(database=DATABASES, unit=st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_taking_a_unit_away_changes_no_other(database, unit):
    """The heart of the promise: what is stored of all others is the same with and without any one patient."""
    assert neighbours(database, unit, expected)


def neighbours(database, unit, model):
    for name in database:
        with_all, with_one_less = model(database, name, KEY), model(without(database, unit), name, KEY)
        with_all.pop(unit, None)
        if with_all != with_one_less:
            return False
    return True


def test_planted_bugs_change_others():
    """A key that is kept once for all units, and a reference that is nobody's where it is ambiguous: both are caught."""
    database = {"patients": [], "visits": [(7, 1, 3), (7, 2, 4)], "labs": [(7, 5)]}

    def once_for_all(database, name, key):
        rows = sorted((place(key, unit_of(database, name, row), row[-1]), row) for row in database[name])
        kept = {row[0]: row for _, row in reversed(rows)} if name == "visits" else {}
        return {row[1]: ((row[-1],),) for row in kept.values()}

    def nobody(database, name, key):
        owners = {patient for _, patient, _ in database["visits"]}
        return expected(database, name, key) if name != "labs" or len(owners) == 1 else {}

    assert all(neighbours(database, unit, expected) for unit in (1, 2))
    assert not all(neighbours(database, unit, once_for_all) for unit in (1, 2))
    assert not all(neighbours(database, unit, nobody) for unit in (1, 2))


def test_the_engine_keeps_neighbours_too_and_a_planted_bug_is_caught(tmp_path, monkeypatch):
    database = {
        "patients": [(unit, unit) for unit in range(4)],
        "visits": [(unit, unit, unit) for unit in range(4)] + [(7, 1, 5), (7, 2, 4), (6, None, 6)],
        "labs": [(visit % 9, visit % 7) for visit in range(30)],
    }

    def kept_of_others(folder, rows):
        folder.mkdir(exist_ok=True)
        prepared = hospital(folder, rows)
        prepared.kept.mkdir(exist_ok=True)
        (prepared.kept / "rank.key").write_text(KEY)
        prepare(prepared)
        return {name: by_unit(prepared, name, "x") for name in rows}

    def same_for_others():
        whole = kept_of_others(tmp_path / "whole", database)
        for unit in (1, 2):
            less = kept_of_others(tmp_path / "less", without(database, unit))
            own = {name: [rows for each, rows in expected(database, name, KEY).items() if each == unit] for name in database}
            if any(sorted([*less[name], *own[name]], key=repr) != whole[name] for name in database):
                return False
        return True

    assert same_for_others()
    genuine = ranking.ranked
    monkeypatch.setattr(
        "tacit.query.prepare.ranked", lambda *given: genuine(*given).replace("PARTITION BY tacit_unit, ", "PARTITION BY ")
    )
    assert not same_for_others(), "a key that is kept once for all units is caught"
    monkeypatch.setattr("tacit.query.prepare.ranked", genuine)
    owned = ownership.owned
    ambiguous = "CASE WHEN count(DISTINCT tacit_unit) = 1 THEN min(tacit_unit) END"
    monkeypatch.setattr("tacit.query.prepare.owned", lambda *given: owned(*given).replace("min(tacit_unit)", ambiguous))
    assert not same_for_others(), "references that are nobody's where they are ambiguous are caught"


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
    genuine = ranking.ranked
    monkeypatch.setattr("tacit.query.prepare.ranked", lambda *given: genuine(*given).replace(" ORDER BY tacit_place", ""))
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
    # each value is kept by 200/3 units; below 25 or above 115 of 200: below 1e-9 for a fair order, by Chernoff's bound
    assert all(25 < kept.count(value) < 115 for value in range(3))


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
    for unit, units in ((None, 3), (Owner("x"), 2)):
        prepared = catalog(tmp_path, table("people", source, unit=unit, max_rows=1))
        prepare(prepared)
        assert len(stored(prepared, "people")) == units


def test_a_repeated_key_is_one_unit_with_one_row(tmp_path):
    source = write_csv(tmp_path / "people.csv", ["id", "x"], [[1, 5], [1, 6], [2, 7], ["", 8], ["", 9]])
    for no_unit, own in (("drop", 0), ("own", 2)):
        prepared = catalog(tmp_path, table("people", source, Column("id", "key"), number("x", 0, 9), no_unit=no_unit))
        report = prepare(prepared).tables[0]
        assert [len(rows) for rows in by_unit(prepared, "people", "x")] == [1] * (2 + own)
        assert report.dropped == {"value": 0, "no unit": 2 - own, "limit": 1}


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
    database = {"patients": [], "visits": [(7, 1, 9)], "labs": [(7, 5)]}
    prepared = hospital(tmp_path, database)
    visits = prepared.tables["visits"]
    visits = table("visits", visits.source, Column("id", "key"), number("x", 0, 5, outside="drop"), unit=visits.unit, max_rows=MOST)
    prepared = catalog(tmp_path, prepared.tables["patients"], visits, prepared.tables["labs"])
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
    with pytest.raises(CatalogUnusable, match="leads back to itself"):
        prepare(catalog(tmp_path, *circle))
    keyless = [table("a", tmp_path / "a.csv"), table("b", tmp_path / "a.csv", unit=Owner("other", ("a", "id")), max_rows=1)]
    with pytest.raises(CatalogUnusable, match=r"a\.id is not a key"):
        prepare(catalog(tmp_path, *keyless))
