"""tacit.toml: parses text into a `Catalog` with its tables, or reports every problem with its key, its line and a remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tacit.data.catalog.columns import (
    KEYS,
    KIND_WORDS,
    PARTS,
    Claim,
    owners,
    read_column,
    read_encoding,
    read_notation,
    read_rule,
)
from tacit.data.catalog.periods import NEED_PER, with_periods
from tacit.data.declaration import (
    BROKEN,
    MOST_PARTS,
    LawViolated,
    Reading,
    Wrong,
    folded,
    has_endless_key,
    key_lines,
    shaped,
    value_text,
)
from tacit.data.declaration import Path as KeyPath
from tacit.errors import InvalidCatalog, Problem
from tacit.privacy.catalog import (
    AS_WRITTEN,
    CLUSTER,
    MEMORY,
    PACE,
    PLAIN,
    QUESTIONS_AT_MOST,
    REACH_SECONDS,
    WAIT_DAYS,
    Analyst,
    Budget,
    Catalog,
    Column,
    KeyRule,
    Notation,
    Source,
    Table,
    analyst_name,
)
from tacit.privacy.rounding import exact

NAME = "tacit.toml"
Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """A value that changes when a file is rewritten; None if the file does not exist."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # a path with a NUL is a ValueError; reading it reports that
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_catalog(path: Path) -> Catalog:
    """The catalog in a file."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise InvalidCatalog(f"file not found: {path}; draft one from column names with `tacit init FILE...`") from None
    except OSError as error:
        raise InvalidCatalog(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidCatalog(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except ValueError:
        raise InvalidCatalog("the path of the catalog contains a character that no path can have; correct it") from None
    return parse_catalog(text, path)


def parse_catalog(text: str, path: Path | None = None) -> Catalog:
    r"""The catalog that a text declares; raises `InvalidCatalog` with all problems, and no other exception.

    >>> people = '[budget]\nepsilon = 8\n[tables.people]\nsource = "people.csv"\nunit = "row"'
    >>> parse_catalog(people).tables["people"].max_rows
    1
    """
    name = NAME if path is None else path.name
    try:
        return _read(text, name, path)
    except RecursionError:
        raise InvalidCatalog(f"{name} is nested too deeply for a catalog") from None


def _read(text: str, name: str, path: Path | None) -> Catalog:
    document, reading = read_toml(text, name), Reading(key_lines(text))
    declared = shaped(document, reading.report)
    analysts = declared.get("analysts", {})
    names = _analyst_names({} if analysts is BROKEN else analysts, reading)
    folder = None if path is None else path.absolute().parent
    tables = read_tables({} if declared["tables"] is BROKEN else declared["tables"], folder, reading)
    _check_cores(declared.get("store", {}), reading)
    if reading.problems:
        raise reading.unusable(name)
    budget, store = _budget(declared["budget"]), declared.get("store", {})
    catalog = Catalog(
        budget=budget,
        tables=tables,
        analysts={name: _analyst(name, analysts[written], budget) for name, written in names.items()},
        change=declared.get("neighbours", "add-remove"),
        path=path,
        ledger_url=declared.get("ledger", {}).get("url"),
        **{f"store_{key}": store.get(key) for key in ("path", "master", "parquet", "cores")},
        store_engine=store.get("engine", "duckdb"),
        changes=store.get("changes", "private"),
        reach_seconds=store.get("reach_seconds", REACH_SECONDS),
        questions_at_most=declared["budget"].get("questions_at_most", QUESTIONS_AT_MOST),
        data_set=declared.get("ledger", {}).get("data_set"),
        show_left=declared["budget"].get("show_left", "tenths"),
        pace=exact(declared.get("server", {}).get("pace", PACE)),
        declared_split=None if (split := declared["budget"].get("split")) is None else exact(split),
        approve_above=None if (above := declared["budget"].get("approve_above")) is None else exact(above),
        wait_days=declared["budget"].get("wait_days", WAIT_DAYS),
    )
    plain = not {"per", *NEED_PER} & declared["budget"].keys() and not any(table.period for table in tables.values())
    return catalog if plain else with_periods(declared, catalog, reading)


def _check_cores(store: Any, reading: Reading) -> None:
    """Cores are those of a cluster; a master that names its own number of them has no more."""
    if store is not BROKEN and "reach_seconds" in store and store.get("engine", "duckdb") != CLUSTER:
        remedy = f'remove it, or declare engine = "{CLUSTER}"'
        reading.report(("store", "reach_seconds"), "is for a cluster: the engine duckdb runs on this machine", remedy)
    if store is BROKEN or not isinstance(cores := store.get("cores"), int):
        return
    if store.get("engine", "duckdb") != CLUSTER:
        remedy = f'remove it, or declare engine = "{CLUSTER}"'
        reading.report(("store", "cores"), "is for a cluster: the engine duckdb runs on this machine", remedy)
    named = re.fullmatch(r"local(?:\[([0-9]+)\])?", store["master"]) if isinstance(store.get("master"), str) else None
    if named and cores > int(named[1] or 1):
        reading.report(("store", "cores"), f"is {cores}, and {store['master']} has fewer cores", f"declare at most {named[1] or 1}")


def _analyst_names(declared: Mapping[str, Any], reading: Reading) -> dict[str, str]:
    """Maps the normal form of each analyst's name to the name as written; two spellings of one name are a problem."""
    reading.check_names(("analysts",), declared)
    names: dict[str, str] = {}
    for name in declared:
        if twin := names.get(analyst_name(name)):
            reading.report(("analysts", name), f"is the same analyst as {twin!r}", "names match without case; remove one of them")
        names.setdefault(analyst_name(name), name)
    return names


def read_toml(text: str, name: str) -> Any:
    """The document, with dates as texts and decimal numbers as they are written."""
    if has_endless_key(text):
        raise InvalidCatalog(f"{name} is nested too deeply: a key has more than {MOST_PARTS} parts; check its dots")
    try:
        return _plain(tomllib.loads(text, parse_float=_decimal))
    except ValueError as error:  # also raised for an integer of thousands of digits
        raise _not_toml(text, name, str(error)) from None


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("inf")  # an exponent beyond every bound: refused together with infinities


def _plain(value: Any) -> Any:
    """The value with dates as texts, so that quoted and unquoted dates are read alike."""
    if isinstance(value, str) and "\0" in value:
        problem = Problem("a text", "has the character NUL (\\u0000), which no path, name or value can have", "remove it")
        raise InvalidCatalog("the catalog has a problem:", (problem,))
    if isinstance(value, dict):
        return {_plain(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def _not_toml(text: str, name: str, error: str) -> InvalidCatalog:
    message, _, place = error.rstrip(")").partition(" (at ")
    line = re.match(r"line (\d+)", place)
    at = int(line[1]) if line else len(text.splitlines()) if place == "end of document" else None
    problem = Problem("the text", f"is not TOML: {message}", "correct it there", at)
    return InvalidCatalog(f"{name} has a problem:", (problem,))


def _budget(declared: Mapping[str, Any]) -> Budget:
    return Budget(exact(declared["epsilon"]), exact(declared.get("delta", 0)))


def _analyst(name: str, declared: Mapping[str, Any], whole: Budget) -> Analyst:
    """An analyst's caps; where epsilon or delta is not declared, the data set's own applies."""
    caps: dict[str, Fraction] = {key: exact(value) for key, value in declared.items()}
    budget = Budget(caps.get("epsilon", whole.epsilon), caps.get("delta", whole.delta))
    own = budget if caps.keys() & {"epsilon", "delta"} else None
    return Analyst(name, own, caps.get("epsilon_per_query"), caps.get("delta_per_query"), caps.get("approve_above"))


# --- the declared tables -----------------------------------------------------------------------------------------------------


Declared = Mapping[str, Any]
Columns = dict[str, Column | LawViolated]

OF_ROWS = ("max_rows", "max_rows_per_group")
OF_UNITS = ("unit", "period", *OF_ROWS, "rows_at_most", "max_joined_rows", "no_unit", "min_people", "min_rows", "never")
OF_CSV = ("encoding", "separator")
READ_APART = ("source", "columns", "unit", "never", *OF_CSV, *KEYS)
EXAMPLES = {
    "csv": '{ csv = "visits.csv", multiline = true }',
    "parquet": '{ parquet = "visits" }',
    "xlsx": '{ xlsx = "hospital.xlsx", sheet = "visits" }',
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
            never=tuple([never] if isinstance(never := body.get("never", ()), str) else never),
            **{key: value for key, value in body.items() if key not in READ_APART},
        )
        for name, body in bodies.items()
    }


def _notation(body: Declared, path: KeyPath, reading: Reading) -> Notation:
    sound = {key: value for key, value in body.items() if value is not BROKEN}
    notation = reading.attempt(path, partial(read_notation, sound))
    return PLAIN if notation is BROKEN else notation


def _encoded_source(body: Declared, folder: Path | None) -> Source | LawViolated:
    source, declared = read_source(body["source"], folder), {key: body[key] for key in OF_CSV if key in body}
    if source is BROKEN or not declared or BROKEN in declared.values():
        return source
    if source.kind != "csv":
        remedy = {"encoding": "take it away: other sources say themselves how texts are encoded", "separator": "take it away"}
        raise next(Wrong(key, "is supported for CSV files only", remedy[key]) for key in declared)
    encoding = read_encoding(declared["encoding"]) if "encoding" in declared else None
    return replace(source, encoding=encoding, separator=declared.get("separator"))


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
    kinds = declared.keys() & EXAMPLES.keys()
    if len(kinds) != 1:
        raise Wrong("source", "must name exactly one file or database", f"write for example source = {EXAMPLES['duckdb']}")
    return _source_in(declared, kinds.pop(), folder)


def _source_in(declared: Declared, kind: Any, folder: Path | None) -> Source:
    """A source declared as a TOML table."""
    location, part, example = declared[kind], PARTS.get(kind), f"write for example source = {EXAMPLES[kind]}"
    for other in {*PARTS.values()} - {part}:
        if other in declared:
            raise Wrong("source", f"names a {other}, which {KIND_WORDS[kind]} does not have", example)
    if part is not None and part not in declared:
        raise Wrong("source", f"names {KIND_WORDS[kind]} without a {part}", example)
    if kind != "csv" and "multiline" in declared:
        raise Wrong("source", "says multiline, which is supported for CSV files only", "take it away")
    path = location if kind == "postgres" else _path(location, folder)
    return Source(kind, path, declared.get(part or ""), location, declared.get("multiline"))


def _path(declared: str, folder: Path | None) -> str:
    return declared if folder is None or "://" in declared else str(folder / declared)


def _columns(body: Declared, notation: Notation, path: KeyPath, reading: Reading) -> Columns:
    path = (*path, "columns")
    declared = {} if body.get("columns", BROKEN) is BROKEN else body["columns"]
    columns: Columns = {}
    for name, written in reading.folded(path, declared).items():
        own = (*path, written)
        column, public = declared[written], body.get("public") is True
        broken = column is BROKEN or BROKEN in column.values()
        read = partial(_public_column if public else read_column, name, column, reading.line(own), notation)
        columns[name] = BROKEN if broken else reading.attempt(own, read)
    return columns


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
        rule=read_rule(owned),
        key_rule=_rule_of_key(columns, keys),
        sound=sound and BROKEN not in columns.values(),
    )


def _rule_of_key(columns: Columns, keys: list[str]) -> KeyRule:
    column = columns[keys[0]] if keys else BROKEN
    return AS_WRITTEN if column is BROKEN else column.rule


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
