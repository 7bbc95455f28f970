"""The declared tables: where their rows come from, whose they are, and which queries they allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.data.catalog.columns import read_column
from tacit.data.catalog.notation import KEYS, read_encoding, read_notation
from tacit.data.catalog.units import Claim, owners
from tacit.data.declaration.lines import Path as KeyPath
from tacit.data.declaration.lines import value_text
from tacit.data.declaration.problems import Reading, Wrong, folded
from tacit.data.declaration.shape import BROKEN, LawViolated
from tacit.privacy.catalog import MEMORY, PLAIN, Column, Notation, Source, Table

Declared = Mapping[str, Any]
Columns = dict[str, Column | LawViolated]

OF_UNITS = ("unit", "max_rows", "max_rows_per_group", "rows_at_most", "max_joined_rows", "no_unit", "min_people", "min_rows")
OF_ROWS = ("max_rows", "max_rows_per_group")
READ_APART = ("source", "columns", "unit", "encoding", *KEYS)
EXAMPLES = {
    "csv": '{ csv = "visits.csv", multiline = true }',
    "duckdb": '{ duckdb = "hospital.duckdb", table = "visits" }',
    "postgres": '{ postgres = "postgresql://reader:$PASSWORD@db/hospital", table = "visits" }',
}
SAY_WHOSE = 'say whose a row is: unit = "row", or unit = { column = "..." } with max_rows = 8; or public = true'


def read_tables(declared: Declared, folder: Path | None, reading: Reading) -> dict[str, Table]:
    """Every table by its folded name; empty if a problem was reported."""
    names = reading.folded(("tables",), declared)
    paths = {name: ("tables", written) for name, written in names.items() if declared[written] is not BROKEN}
    bodies: dict[str, Declared] = {name: declared[path[1]] for name, path in paths.items()}
    notations = {name: _notation(body, paths[name], reading) for name, body in bodies.items()}
    columns = {name: _columns(body, notations[name], paths[name], reading) for name, body in bodies.items()}
    claims = {name: _claim(body, columns[name], paths[name], reading) for name, body in bodies.items()}
    units = owners(claims, lambda name, check: reading.attempt(paths[name], check))
    sources = {name: reading.attempt(paths[name], partial(_encoded_source, body, folder)) for name, body in bodies.items()}
    if reading.problems:
        return {}
    return {
        name: Table(
            name=name,
            source=sources[name],  # type: ignore[arg-type]  # nothing was reported, so nothing is broken
            columns=columns[name],  # type: ignore[arg-type]
            unit=units[name],
            line=reading.line(paths[name]),
            notation=notations[name],
            **{key: value for key, value in body.items() if key not in READ_APART},
        )
        for name, body in bodies.items()
    }


def _notation(body: Declared, path: KeyPath, reading: Reading) -> Notation:
    sound = {key: value for key, value in body.items() if value is not BROKEN}
    found = reading.attempt(path, partial(read_notation, sound))
    return PLAIN if found is BROKEN else found


def _encoded_source(body: Declared, folder: Path | None) -> Source | LawViolated:
    source, encoding = read_source(body["source"], folder), body.get("encoding")
    if source is BROKEN or encoding is None or encoding is BROKEN:
        return source
    if source.kind != "csv":
        raise Wrong(
            "encoding", "is supported for CSV files only", "take it away: other sources say themselves how texts are encoded"
        )
    return replace(source, encoding=read_encoding(encoding))


def read_source(declared: Any, folder: Path | None) -> Source | LawViolated:
    """Where the rows come from; relative paths start at the folder of the catalog.

    >>> read_source("visits.csv.gz", Path("/data"))
    Source(kind='csv', location='/data/visits.csv.gz', table=None, declared='visits.csv.gz')
    """
    if declared is BROKEN or (isinstance(declared, Mapping) and BROKEN in declared.values()):
        return BROKEN
    if declared == MEMORY:
        return Source("memory", MEMORY, None, MEMORY)
    if isinstance(declared, str):
        return Source("parquet" if declared.lower().endswith(".parquet") else "csv", _path(declared, folder), None, declared)
    kinds = declared.keys() & {"csv", "duckdb", "postgres"}
    if len(kinds) != 1:
        raise Wrong("source", "must name exactly one file or database", f"write for example source = {EXAMPLES['duckdb']}")
    return _source_in(declared, kinds.pop(), folder)


def _source_in(declared: Declared, kind: Any, folder: Path | None) -> Source:
    """A source declared as a TOML table."""
    location = declared[kind]
    if kind == "csv" and "table" in declared:
        raise Wrong("source", "names a table, which a CSV file does not have", f"write for example source = {EXAMPLES['csv']}")
    if kind != "csv" and "table" not in declared:
        raise Wrong("source", "names a database without a table", f"write for example source = {EXAMPLES[kind]}")
    if kind != "csv" and "multiline" in declared:
        raise Wrong("source", "says multiline, which is supported for CSV files only", "take it away")
    path = location if kind == "postgres" else _path(location, folder)
    return Source(kind, path, declared.get("table"), location, declared.get("multiline"))


def _path(declared: str, folder: Path | None) -> str:
    return declared if folder is None or "://" in declared else str(folder / declared)


def _columns(body: Declared, notation: Notation, path: KeyPath, reading: Reading) -> Columns:
    path = (*path, "columns")
    declared = {} if body.get("columns", BROKEN) is BROKEN else body["columns"]
    found: Columns = {}
    for name, written in reading.folded(path, declared).items():
        own = (*path, written)
        column, public = declared[written], body.get("public") is True
        broken = column is BROKEN or BROKEN in column.values()
        read = partial(_public_column if public else read_column, name, column, reading.line(own), notation)
        found[name] = BROKEN if broken else reading.attempt(own, read)
    return found


def _public_column(name: str, declared: Declared, line: int | None, notation: Notation) -> Column:
    column = read_column(name, declared, line, notation)
    if column.kind in ("key", "text", "presence"):
        raise Wrong("", "has no meaning for a column of a public table", "declare bounds or values, or leave it to the data")
    if column.bins:
        raise Wrong("bins", "is for synthetic rows, and a public table needs none", "take it away")
    return column


def _claim(body: Declared, columns: Columns, path: KeyPath, reading: Reading) -> Claim:
    keys = [name for name, column in columns.items() if column is not BROKEN and column.kind == "key"]
    unit = body.get("unit")
    sound = reading.attempt(path, partial(_check_unit, body, keys)) is not BROKEN
    sound = sound and unit is not BROKEN and BROKEN not in (unit.values() if isinstance(unit, Mapping) else ())
    owned = unit if sound and isinstance(unit, Mapping) else {}
    return Claim(
        columns=frozenset(columns),
        key=keys[0] if keys else None,
        column=folded(owned["column"]) if owned else None,
        references=folded(owned["references"]) if "references" in owned else None,
        public=body.get("public") is True,
        own=body.get("no_unit") == "own",
        sound=sound and BROKEN not in columns.values(),
    )


def _check_unit(body: Declared, keys: list[str]) -> None:
    """Check that the keys of a table about units do not contradict each other."""
    if body.get("public") is True:
        _refuse(body, OF_UNITS, "means nothing for a public table", "take it away, or take public = true away")
    elif "unit" not in body:
        raise Wrong("unit", "is missing", SAY_WHOSE)
    elif len(keys) > 1:
        raise Wrong("columns", f"has {len(keys)} keys: {', '.join(keys)}", "keep key = true on the one that identifies a row")
    elif body["unit"] == "row":
        _check_rows(body, bool(keys))
    elif body["unit"] is not BROKEN:
        _check_owned(body)


def _check_rows(body: Declared, has_key: bool) -> None:
    several = [key for key in OF_ROWS if body.get(key, 1) not in (1, BROKEN)]
    _refuse(body, several, 'means nothing with unit = "row", where a unit has one row', "take it away")
    if not has_key:
        _refuse(body, ["no_unit"], "has no effect here, where every row is a unit", "take it away")


def _check_owned(body: Declared) -> None:
    if "max_rows" not in body:
        raise Wrong("max_rows", "is missing: without it one unit could change an answer by any amount", "add max_rows = 8")
    most, in_one_group = body["max_rows"], body.get("max_rows_per_group", 1)
    if BROKEN not in (most, in_one_group) and in_one_group > most:
        raise Wrong("max_rows_per_group", f"is {in_one_group}, above max_rows", f"write at most {value_text(most)}")
    joined = body.get("max_joined_rows", most)
    if BROKEN not in (most, joined) and joined < most:
        raise Wrong("max_joined_rows", f"is {joined}, below max_rows", f"write at least {value_text(most)}")


def _refuse(body: Declared, keys: tuple[str, ...] | list[str], what: str, remedy: str) -> None:
    for key in keys:
        if key in body:
            raise Wrong(key, what, remedy)
