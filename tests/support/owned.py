"""Raw rows with no, one or several owners: what the rules of store.md make of them in plain Python, and what is stored of them.

    patients   a unit each, by their key         visits    of patients                    cards   of whoever they name
    labs       of those of their visit           samples   of those of their lab          tags    of those of the visit they repeat
    notes      a unit each, without a key

All keys are small numbers that mean different things in different tables, may repeat and may be missing. x = 9 drops its row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from keyed import place_of
from stored import catalog, number, stored_tables, table, write_parquet
from tacit.data.prepare import prepare
from tacit.privacy.catalog import Catalog, Column, Owner, Table

KEY = "0123456789abcdef" * 2
DROPPING = 9

Unit = int | tuple[str, int]  # a patient's key, or the place of a row that is a unit of its own


class Row(NamedTuple):
    key: int | None
    own: int | None  # the value that is the unit, or leads to it
    x: int


class Shape(NamedTuple):
    """The names of the columns of a table's key and own key, and the table whose key leads to its units."""

    key: str | None
    own: str | None
    parent: str | None = None


SHAPES = {
    "patients": Shape("id", "id"),
    "visits": Shape("id", "patient_id"),
    "cards": Shape(None, "who"),
    "labs": Shape("id", "visit_id", "visits"),
    "samples": Shape(None, "lab_id", "labs"),
    "tags": Shape("visit_id", "visit_id", "visits"),
    "notes": Shape(None, None),
}
REFERENCES = {"visits": ("patients", "id"), "labs": ("visits", "id"), "samples": ("labs", "id"), "tags": ("visits", "id")}


@dataclass(frozen=True)
class Raw:
    """The raw rows of all tables, and what is declared of them."""

    rows: Mapping[str, Sequence[Row]]
    most: int = 2
    own: frozenset[str] = field(default_factory=frozenset)  # the tables with no_unit = "own"

    def of(self, name: str) -> Sequence[Row]:
        return self.rows.get(name, ())

    def limit(self, name: str) -> int:
        return 1 if name in ("patients", "notes") else self.most


def raw(most: int = 2, own: Sequence[str] = (), **rows: Sequence[tuple[int | None, int | None, int]]) -> Raw:
    return Raw({name: [Row(*row) for row in given] for name, given in rows.items()}, most, frozenset(own))


KEYS = st.one_of(st.none(), st.integers(0, 3))
VALUES = st.integers(0, DROPPING)


def _rows(name: str, most: int) -> st.SearchStrategy[list[Row]]:
    shape = SHAPES[name]
    key, own = (KEYS if column else st.none() for column in (shape.key, shape.own))
    if shape.key == shape.own and shape.key:
        return st.lists(st.builds(lambda key, x: Row(key, key, x), KEYS, VALUES), max_size=most)
    return st.lists(st.builds(Row, key, own, VALUES), max_size=most)


SIZES = {"patients": 4, "visits": 7, "cards": 4, "labs": 7, "samples": 7, "tags": 5, "notes": 2}
RAWS = st.builds(
    Raw,
    st.fixed_dictionaries({name: _rows(name, size) for name, size in SIZES.items()}),
    st.sampled_from([1, 2, 3]),
    st.sets(st.sampled_from(["patients", "visits", "cards"])).map(frozenset),
)


# --- what is stored of whom ------------------------------------------------------------------------------------------------------


def owners(data: Raw, name: str, place: int) -> frozenset[Unit]:
    """O(r): the unit whose key the row carries, or all units to which its key leads; read from the raw rows."""
    row, parent = data.of(name)[place], SHAPES[name].parent
    if parent is not None:
        leading = (at for at, other in enumerate(data.of(parent)) if row.own is not None and other.key == row.own)
        return frozenset().union(*(_named(data, parent, at) for at in leading))
    if row.own is not None:
        return frozenset({row.own})
    return frozenset({(name, place)}) if name == "notes" or name in data.own else frozenset()


def _named(data: Raw, name: str, place: int) -> frozenset[Unit]:
    """The owners that have a name: a row that is a unit of its own passes nothing on."""
    return frozenset(unit for unit in owners(data, name, place) if isinstance(unit, int))


def units(data: Raw) -> list[Unit]:
    found = {unit for name in data.rows for place in range(len(data.of(name))) for unit in owners(data, name, place)}
    return sorted(found, key=repr)


def without(data: Raw, unit: Unit) -> Raw:
    """The neighbour: every row that belongs to this unit and to no other is gone."""
    kept = {
        name: [row for place, row in enumerate(rows) if owners(data, name, place) != {unit}] for name, rows in data.rows.items()
    }
    return replace(data, rows=kept)


def hashed(row: Row) -> int:
    """Where a row stands among those of its unit: four bits hold 0 to 8."""
    return place_of(KEY, row.own, [(row.x, 4)])


def expected(data: Raw) -> dict[Unit, dict[str, list[int]]]:
    """The values of every unit's copies in every table, in the order of their ranks."""
    found: dict[Unit, dict[str, list[int]]] = defaultdict(dict)
    for name in data.rows:
        copies: dict[Unit, list[Row]] = defaultdict(list)
        for place, row in enumerate(data.of(name)):
            for unit in owners(data, name, place) if row.x != DROPPING else ():
                copies[unit].append(row)
        for unit, rows in copies.items():
            found[unit][name] = [row.x for row in _once(sorted(rows, key=hashed))][: data.limit(name)]
    return found


def _once(rows: Sequence[Row]) -> Iterator[Row]:
    """Of the rows of one unit that repeat a key, the first."""
    seen: set[int] = set()
    for row in rows:
        if row.key is None or row.key not in seen:
            yield row
        seen |= {row.key} - {None}


def shared(data: Raw, name: str) -> int:
    """How many rows that no value drops have several owners."""
    return sum(len(owners(data, name, place)) > 1 for place, row in enumerate(data.of(name)) if row.x != DROPPING)


# --- the same from a store -------------------------------------------------------------------------------------------------------

Holdings = Counter[tuple[tuple[str, tuple[int, ...]], ...]]


def holdings(of_units: Mapping[Any, Mapping[str, Sequence[int]]]) -> Holdings:
    """What each unit has in all tables, without the name of the unit, which means nothing."""
    return Counter(tuple(sorted((name, tuple(values)) for name, values in tables.items())) for tables in of_units.values())


def stored_units(prepared: Catalog) -> dict[int, dict[str, list[int]]]:
    """The stored values of every code in every table, in the order of their ranks, which are 0, 1, 2, ..."""
    found: dict[int, dict[str, list[int]]] = defaultdict(dict)
    for name, rows in stored_tables(prepared, prepared.tables, "tacit_unit", "tacit_rank", "x").items():
        for unit, rank, x in sorted(rows):
            values = found[unit].setdefault(name, [])
            assert rank == len(values), f"{name} has a unit with the rank {rank} after {len(values)} rows"
            values.append(x)
    return found


def prepared_from(folder: Path, data: Raw) -> Catalog:
    """A catalog over these rows, prepared with the ranking key of the model."""
    folder.mkdir(exist_ok=True)
    declared = catalog(folder, *(_table(folder, data, name) for name in data.rows))
    declared.kept.mkdir(exist_ok=True)
    (declared.kept / "rank.key").write_text(KEY)
    prepare(declared)
    return declared


def _table(folder: Path, data: Raw, name: str) -> Table:
    shape, rows = SHAPES[name], data.of(name)
    columns = {"x": [row.x for row in rows]}
    columns |= {shape.key: [row.key for row in rows]} if shape.key else {}
    columns |= {shape.own: [row.own for row in rows]} if shape.own else {}
    source = write_parquet(folder / f"{name}.parquet", {key: pa.array(values, pa.int64()) for key, values in columns.items()})
    declared = [number("x", 0, DROPPING - 1, outside="drop"), *([Column(shape.key, "key")] if shape.key else [])]
    references = REFERENCES.get(name)
    unit = Owner(shape.own or "", references if references and references[0] in data.rows else None)
    unit = None if name in ("patients", "notes") else unit
    no_unit = "own" if name in data.own else "drop"
    return table(name, source, *declared, unit=unit, max_rows=data.limit(name), no_unit=no_unit)
