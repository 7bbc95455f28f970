"""A small hospital of several private tables: its rows, whose they are, the store that is made of them, and questions that join.

    patients  a unit each, by their key        visits  of patients            labs  of those of their visit
    cards     of whoever they name, by the column that visits have, too       wards  public, several rows for a ward

Keys are small numbers that may repeat, be missing, lead nowhere, and be claimed by several people.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
from hypothesis import strategies as st

from stored import catalog, category, number, table, write_parquet
from tacit.data.dialect import name as quoted
from tacit.data.prepare import prepare
from tacit.data.store import store_file
from tacit.privacy.catalog import Catalog, Column, Owner, Table
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import StoredFacts
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.question import Question
from worlds import opened

KEY = "0123456789abcdef" * 2
WARDS = ("a", "b", "c")
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "patients": {"id": pa.int64(), "sex": pa.string(), "age": pa.int64()},
    "visits": {"id": pa.int64(), "patient_id": pa.int64(), "ward": pa.string(), "cost": pa.int64()},
    "labs": {"visit_id": pa.int64(), "x": pa.int64(), "kind": pa.string()},
    "cards": {"patient_id": pa.int64(), "points": pa.int64()},
    "wards": {"ward": pa.string(), "site": pa.string(), "beds": pa.int64()},
}
PUBLIC = [
    {"ward": "a", "site": "N", "beds": 4},
    {"ward": "a", "site": "S", "beds": 9},
    {"ward": "b", "site": "N", "beds": None},
    {"ward": None, "site": "S", "beds": 2},
]
Row = Mapping[str, Any]
Unit = int | tuple[str, int]


@dataclass(frozen=True)
class Hospital:
    """The rows of all private tables, and what is declared of them."""

    rows: Mapping[str, Sequence[Row]]
    limits: Mapping[str, int] = field(default_factory=lambda: {"visits": 2, "labs": 2, "cards": 2})
    own: frozenset[str] = frozenset()  # tables with no_unit = "own"
    keyed: bool = True  # whether visits.id is declared as a key
    referenced: bool = True  # whether visits.patient_id references patients.id

    def of(self, name: str) -> Sequence[Row]:
        return self.rows.get(name, ())


def hospital(**rows: Sequence[tuple[Any, ...]]) -> Hospital:
    """Rows written as tuples, in the order of the columns."""
    return Hospital({name: [dict(zip(COLUMNS[name], row, strict=True)) for row in rows.get(name, ())] for name in PRIVATE})


PRIVATE = ("patients", "visits", "labs", "cards")


# --- whose rows they are ---------------------------------------------------------------------------------------------------------


def owners(data: Hospital, name: str, place: int) -> frozenset[Unit]:
    """All units that a row belongs to, from the raw rows."""
    row = data.of(name)[place]
    if name == "labs":
        leading = (each for each in data.of("visits") if row["visit_id"] is not None and each["id"] == row["visit_id"])
        return frozenset(each["patient_id"] for each in leading if each["patient_id"] is not None)
    named = row["id" if name == "patients" else "patient_id"]
    if named is not None:
        return frozenset({named})
    return frozenset({(name, place)}) if name in data.own else frozenset()


def units(data: Hospital) -> list[Unit]:
    found = {unit for name in data.rows for place in range(len(data.of(name))) for unit in owners(data, name, place)}
    return sorted(found, key=repr)


def without(data: Hospital, unit: Unit) -> Hospital:
    """The neighbour: every row that belongs to this unit and to no other is gone."""
    kept = {
        name: [row for place, row in enumerate(rows) if owners(data, name, place) != {unit}] for name, rows in data.rows.items()
    }
    return replace(data, rows=kept)


# --- rows of all kinds -----------------------------------------------------------------------------------------------------------

SMALL = st.one_of(st.none(), st.integers(0, 2))
CLASH = st.sampled_from([0, 0, 1, 1, 2, None])
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "sex": st.sampled_from(["F", "M"]),
    "age": st.integers(0, 3),
    "ward": st.sampled_from([*WARDS, None]),
    "cost": st.one_of(st.none(), st.integers(-2, 5)),
    "x": st.one_of(st.none(), st.integers(1, 3)),
    "kind": st.sampled_from(["s", "t"]),
    "points": st.integers(0, 4),
}
SIZES = {"patients": 4, "visits": 8, "labs": 7, "cards": 4}


def _rows(name: str) -> st.SearchStrategy[list[Row]]:
    columns = {column: VALUES.get(column, CLASH) for column in COLUMNS[name]}
    return st.lists(st.fixed_dictionaries(columns), max_size=SIZES[name])


HOSPITALS = st.builds(
    Hospital,
    st.fixed_dictionaries({name: _rows(name) for name in PRIVATE}),
    st.fixed_dictionaries({name: st.sampled_from([1, 2, 3]) for name in ("visits", "labs", "cards")}),
    st.sets(st.sampled_from(["patients", "visits", "cards"])).map(frozenset),
    st.booleans(),
    st.booleans(),
)


@st.composite
def clean_hospitals(draw: st.DrawFn) -> Hospital:
    """Rows in which plain SQL and a store agree: keys are unique, every row has one owner, and no limit is reached."""
    people = draw(st.integers(0, 4))
    visits = draw(st.lists(st.integers(0, 4), max_size=8)) if people else []
    given = {
        "patients": [{"id": at, **_drawn(draw, "sex", "age")} for at in range(people)],
        "visits": [{"id": at, "patient_id": who % people, **_drawn(draw, "ward", "cost")} for at, who in enumerate(visits)],
        "labs": [
            {"visit_id": at % len(visits), **_drawn(draw, "x", "kind")}
            for at in draw(st.lists(st.integers(0, 7), max_size=6))
            if visits
        ],
        "cards": [{"patient_id": who, **_drawn(draw, "points")} for who in draw(st.lists(st.integers(0, 5), max_size=4))],
    }
    return Hospital(given, {"visits": 8, "labs": 8, "cards": 8})


def _drawn(draw: st.DrawFn, *columns: str) -> dict[str, Any]:
    return {column: draw(VALUES[column]) for column in columns}


# --- the store -------------------------------------------------------------------------------------------------------------------


def declared(folder: Path, data: Hospital, **more: Any) -> Catalog:
    """The catalog of a hospital, with its rows in files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in COLUMNS.items():
        rows = PUBLIC if name == "wards" else data.of(name)
        held = {column: pa.array([row[column] for row in rows], kind) for column, kind in columns.items()}
        write_parquet(folder / f"{name}.parquet", held)
    shared: dict[str, Any] = {"rows_at_most": 1000} | more
    made = [_table(folder, data, name, shared) for name in PRIVATE]
    wards = (category("ward", *WARDS), category("site", "N", "S"), number("beds", 0, 9))
    return catalog(folder, *made, table("wards", folder / "wards.parquet", *wards, public=True))


def _table(folder: Path, data: Hospital, name: str, shared: Mapping[str, Any]) -> Table:
    own = "own" if name in data.own else "drop"
    source, limit = folder / f"{name}.parquet", data.limits.get(name, 1)
    columns: dict[str, list[Column]] = {
        "patients": [Column("id", "key"), category("sex", "F", "M", nulls="drop"), number("age", 0, 3, nulls="drop")],
        "visits": [*([Column("id", "key")] if data.keyed else []), category("ward", *WARDS), number("cost", -2, 5)],
        "labs": [number("x", 1, 3), category("kind", "s", "t", nulls="drop")],
        "cards": [number("points", 0, 4, nulls="drop")],
    }
    unit = {
        "patients": None,
        "visits": Owner("patient_id", ("patients", "id") if data.referenced else None),
        "labs": Owner("visit_id", ("visits", "id")),
        "cards": Owner("patient_id"),
    }[name]
    return table(name, source, *columns[name], unit=unit, max_rows=limit, no_unit=own, **shared)


class Asked:
    """A prepared hospital that can be asked, in memory: a unit can be taken away."""

    def __init__(self, prepared: Catalog) -> None:
        self.catalog = prepared
        self.engine = DuckDBEngine(Path())
        self.engine._connection = duckdb.connect()
        self.engine._connection.execute(f"ATTACH '{store_file(prepared)}' AS kept (READ_ONLY)")
        for name in prepared.tables:
            self.engine._connection.execute(f"CREATE TABLE {quoted(name)} AS FROM kept.{quoted(name)}")
        self.engine._backend = ibis.duckdb.from_connection(self.engine._connection)
        public = {each.name: each.columns for each in prepared.tables.values() if each.public}
        self.facts = StoredFacts(public, self.engine)

    def plan(self, text: str) -> Question:
        return rewrite(parse(text), self.catalog, self.facts)

    def exact(self, question: Question) -> list[Any]:
        """The exact moments; private keys come last."""
        return opened(self.engine.run(question.group))

    def codes(self) -> list[int]:
        """The codes of all units."""
        private = [name for name, each in self.catalog.tables.items() if not each.public]
        every = " UNION ".join(f"SELECT tacit_unit FROM {quoted(name)}" for name in private)
        return [code for (code,) in self.engine._connection.execute(f"{every} ORDER BY 1").fetchall()]

    def take(self, unit: int) -> None:
        """Take the rows of a unit away, until `put_back`."""
        self.engine._connection.execute("BEGIN")
        for name, each in self.catalog.tables.items():
            if not each.public:
                self.engine._connection.execute(f"DELETE FROM {quoted(name)} WHERE tacit_unit = {unit}")

    def put_back(self) -> None:
        self.engine._connection.execute("ROLLBACK")

    def close(self) -> None:
        self.engine.close()


def asked_of(folder: Path, data: Hospital, **declared_too: Any) -> Asked:
    """A hospital, prepared with one ranking key."""
    shutil.rmtree(folder, ignore_errors=True)
    made = declared(folder, data, **declared_too)
    made.kept.mkdir(exist_ok=True)
    (made.kept / "rank.key").write_text(KEY)
    prepare(made)
    return Asked(made)


class Stores:
    """Hospitals, each prepared once: what is asked is a copy in memory, so a check changes nothing for the next one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prepared: dict[str, Catalog] = {}

    def asked(self, data: Hospital) -> Asked:
        """A fresh copy of the store of these rows."""
        if repr(data) not in self.prepared:
            first = asked_of(self.folder / str(len(self.prepared)), data)
            first.close()
            self.prepared[repr(data)] = first.catalog
        return Asked(self.prepared[repr(data)])


def in_plain_sql(data: Hospital) -> duckdb.DuckDBPyConnection:
    """The raw rows as tables of an engine of their own."""
    plain = duckdb.connect()
    for name, columns in COLUMNS.items():
        rows = PUBLIC if name == "wards" else data.of(name)
        plain.register(
            "given", pa.table({column: pa.array([row[column] for row in rows], kind) for column, kind in columns.items()})
        )
        plain.execute(f"CREATE TABLE {quoted(name)} AS FROM given")
        plain.unregister("given")
    return plain
