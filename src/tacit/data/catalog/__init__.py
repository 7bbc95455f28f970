"""tacit.toml: parses text into a `Catalog`, or reports every problem with its key, its line and a remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.data.catalog.tables import read_tables
from tacit.data.declaration import BROKEN, MOST_PARTS, Reading, has_endless_key, key_lines, shaped
from tacit.errors import InvalidCatalog, Problem
from tacit.privacy.catalog import CLUSTER, QUESTIONS_AT_MOST, REACH_SECONDS, Analyst, Budget, Catalog, analyst_name
from tacit.privacy.rounding import exact

NAME = "tacit.toml"
Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """A value that changes when a file is rewritten; None if the file does not exist."""
    try:
        known = path.stat()
    except (OSError, ValueError):  # a path with a NUL is a ValueError; reading it reports that
        return None
    return known.st_mtime_ns, known.st_size, known.st_ino


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
    budget = _budget(declared["budget"])
    return Catalog(
        budget=budget,
        tables=tables,
        analysts={name: _analyst(name, analysts[written], budget) for name, written in names.items()},
        change=declared.get("neighbours", "add-remove"),
        path=path,
        ledger_url=declared.get("ledger", {}).get("url"),
        store_path=declared.get("store", {}).get("path"),
        store_engine=declared.get("store", {}).get("engine", "duckdb"),
        store_master=declared.get("store", {}).get("master"),
        store_parquet=declared.get("store", {}).get("parquet"),
        store_cores=declared.get("store", {}).get("cores"),
        reach_seconds=declared.get("store", {}).get("reach_seconds", REACH_SECONDS),
        questions_at_most=declared["budget"].get("questions_at_most", QUESTIONS_AT_MOST),
        data_set=declared.get("ledger", {}).get("data_set"),
        show_left=declared["budget"].get("show_left", "tenths"),
        declared_split=None if (split := declared["budget"].get("split")) is None else exact(split),
    )


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
    found: dict[str, str] = {}
    for name in declared:
        if twin := found.get(analyst_name(name)):
            reading.report(("analysts", name), f"is the same analyst as {twin!r}", "names match without case; remove one of them")
        found.setdefault(analyst_name(name), name)
    return found


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
    return Analyst(name, own, caps.get("epsilon_per_query"), caps.get("delta_per_query"))
