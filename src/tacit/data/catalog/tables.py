"""The declared tables: where their rows come from, who owns them, and which queries they allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.data.catalog.columns import KEYS, read_column, read_encoding, read_notation
from tacit.data.declaration import BROKEN, LawViolated, Reading, Wrong, folded, key_text, nearest, value_text
from tacit.data.declaration import Path as KeyPath
from tacit.privacy.catalog import MEMORY, PLAIN, Column, Notation, Owner, Source, Table

Attempt = Callable[[str, Callable[[], Owner | None]], Owner | LawViolated | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """What one table declares about its rows; `column` is None if every row is a unit, and for public tables.

    `own` says whether rows without a unit are units of their own. `sound` is False if another problem with the table was found:
    then references to it are not checked.
    """

    columns: frozenset[str] = frozenset()
    key: str | None = None
    column: str | None = None
    references: str | None = None
    public: bool = False
    own: bool = False
    sound: bool = True


def owners(claims: Mapping[str, Claim], attempt: Attempt) -> dict[str, Owner | None]:
    """The owner of the rows of every table; `attempt` runs the check of a table and keeps what it raises.

    A reference names a column that identifies rows (`key = true`) and means their units, or a column that is itself the owner of
    its table. Circular references are refused, so following them ends.

    >>> patients, visits = Claim(frozenset({"id"}), key="id"), Claim(column="patient_id", references="patients.id")
    >>> owners({"patients": patients, "visits": visits}, lambda table, check: check())["visits"]
    Owner(column='patient_id', references=('patients', 'id'))
    """
    tried = {table: attempt(table, partial(_owner, claim, claims)) for table, claim in claims.items()}
    found = {table: None if owner is BROKEN else owner for table, owner in tried.items()}
    for table in found:
        attempt(table, partial(_check_circle, table, found))
        attempt(table, partial(_check_own, table, claims, found))
    return found


def _owner(claim: Claim, claims: Mapping[str, Claim]) -> Owner | None:
    if claim.column is None:
        return None
    if claim.references is None:
        return Owner(claim.column)
    target, column = _target(claim.references, claims)
    led_to = claims[target]
    if led_to.public:
        raise Wrong("unit", f"references {key_text([target])}, which is public", "leave references out: the value is the unit")
    if led_to.sound and column not in (led_to.key, led_to.column):
        where = key_text(("tables", target, "columns", column))
        raise Wrong("unit", f"references {key_text((target, column))}, which is not a key", f"declare {where} with key = true")
    return Owner(claim.column, (target, column))


def _target(references: str, claims: Mapping[str, Claim]) -> tuple[str, str]:
    """The referenced table and column; both names may contain dots."""
    places = [place for place, character in enumerate(references) if character == "."]
    pairs = [(references[:place], references[place + 1 :]) for place in places]
    if not pairs:
        raise Wrong("unit", "references a table without its column", f'write for example references = "{references}.id"')
    declared = [(table, column) for table, column in pairs if table in claims]
    if not declared:
        raise Wrong("unit", f"references {key_text(pairs[0][:1])}, which is not declared", nearest(pairs[0][0], claims))
    for table, column in declared:
        if column in claims[table].columns or column == claims[table].column:
            return table, column
    table, column = declared[0]
    what = f"references {key_text([column])}, which {key_text([table])} does not declare"
    raise Wrong("unit", what, f"add {key_text([column])} = {{ key = true }} to [{key_text(('tables', table, 'columns'))}]")


def _check_circle(table: str, found: Mapping[str, Owner | None]) -> None:
    seen: set[str] = set()
    owner = found[table]
    while owner is not None and owner.references is not None and owner.references[0] not in seen:
        seen.add(owner.references[0])
        owner = found[owner.references[0]]
    if table in seen:
        circle = ", ".join(key_text([name]) for name in sorted(seen))
        raise Wrong("unit", f"leads in a circle through {circle}", "let one of them say whose its rows are")


def _check_own(table: str, claims: Mapping[str, Claim], found: Mapping[str, Owner | None]) -> None:
    """Refuse `own` where units are looked up in another table: one new row there could claim any number of such rows."""
    if claims[table].own and (parent := _looked_up_in(table, found)):
        what = f'is "own", but the unit is looked up in {key_text([parent])}, where one new row could claim many such rows'
        raise Wrong("no_unit", what, 'write no_unit = "drop"')


def _looked_up_in(table: str, found: Mapping[str, Owner | None]) -> str | None:
    """The table in which the unit is looked up; None if the value itself is the unit."""
    owner, seen = found[table], {table}
    while owner is not None and owner.references is not None and owner.references[0] not in seen:
        parent, column = owner.references
        seen.add(parent)
        owner = found[parent]
        if owner is not None and owner.column != column:
            return parent
    return None


# --- the declared tables -----------------------------------------------------------------------------------------------------


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
