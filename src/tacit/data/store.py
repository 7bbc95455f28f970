"""The prepared store on disk, as a file or in Parquet: where it is, how it is replaced as a whole, its description (store.md).

A store in Parquet is a small description, replaced as a whole, and a folder of tables that it names. The folder may lie wherever
the cluster reads; the description lies with what tacit keeps. The tables hold the same columns and integers as the embedded
engine's file (store.md).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb

from tacit.data.dialect import name, text
from tacit.errors import StoreUnusable
from tacit.files import files_of_the_owner, opened, put_private, write
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog, Column, fingerprint, fingerprint_of_format_1, prepared_under
from tacit.privacy.periods import Run, Runs, Versions, both, minus

FILE_ROWS = 2**20  # of one file at most: the largest task of a question is known, however well the rows compress
HIDDEN = ("_", ".")  # how names begin that Spark does not list
TABLES = "tables-"  # how the name of a folder of tables begins


@dataclass(frozen=True, slots=True)
class ParquetStore:
    """Which version lies where, with the description of itself (`details` of store.py).

    `file_rows` is the most rows of a file of a private table; None in stores of before, whose files have no limit.
    """

    version: str
    prepared_at: str
    folder: str
    details: dict[str, Any]
    file_rows: int | None = None

    def table(self, name: str) -> str:
        """The place of a stored table."""
        return f"{self.folder.rstrip('/')}/{name}.parquet"

    def written(self) -> str:
        """The description as text."""
        document = {"version": self.version, "prepared_at": self.prepared_at, "folder": self.folder, "details": self.details}
        return json.dumps(document | {"file_rows": self.file_rows}, indent=1) + "\n"


def still_here(place: str, files: Collection[str]) -> bool:
    """Whether a table on this disk has exactly these files, by the addresses that Spark has listed; no file is opened.

    False also where that cannot be seen from here: then Spark has to list them again.

    >>> still_here("s3a://bucket/visits.parquet", {"s3a://bucket/visits.parquet/part-0.parquet"})
    False
    """
    addresses = [urlsplit(each) for each in files]
    if not addresses or any(each.scheme != "file" or each.netloc for each in addresses):
        return False
    try:
        inside = [place] if os.path.isfile(place) else [each.path for each in os.scandir(place)]
    except OSError:
        return False
    shown = {each for each in inside if not os.path.basename(each).startswith(HIDDEN)}
    return {unquote(each.path) for each in addresses} == shown and all(map(os.path.isfile, shown))


def parquet_store(file: Path) -> ParquetStore:
    """The store that a description names."""
    if not file.exists():
        raise StoreUnusable("the data has not been prepared", remedy="run: tacit prepare")
    try:
        document = json.loads(file.read_text("utf-8"))
        version, prepared_at, folder, details = (document[name] for name in ("version", "prepared_at", "folder", "details"))
        return ParquetStore(version, prepared_at, folder, details, document.get("file_rows"))
    except (OSError, ValueError, KeyError, TypeError):
        raise StoreUnusable("cannot read the prepared store", remedy="run `tacit prepare`") from None


# --- the store of either engine ----------------------------------------------------------------------------------------------


BEGINNING, LOCK = "preparing-", "prepare.lock"
NAMES: Mapping[str, str] = {"duckdb": "store.duckdb", "spark": "store.json"}  # the file name of the store in its folder, by engine
LARGE = 1 << 24  # bytes copied at a time
FORMAT = 5  # store.md describes the earlier ones

PublicColumns = Mapping[str, Mapping[str, Column]]


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """A store's description of itself: nothing in it comes from private rows.

    `ledger` and `head` name the ledger, and its last entry, at the time of preparation. `limits` says for each private table how
    many rows of a unit it holds at most; stores that were written before it was kept do not say it. Where the budget is one of
    each period, `begun` are the first and the last that have begun, `closed` is the last that was closed, `versions` are those of
    the periods' rows, and `added` says how often rows were added beside the first ones.
    """

    version: str
    prepared_at: str
    fingerprint: str
    ledger: str | None = None
    head: str | None = None
    public: PublicColumns = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    begun: Run | None = None
    closed: int | None = None
    versions: Versions = ()
    added: int = 0


def new_info(
    catalog: Catalog, ledger: str | None, head: str | None, public: PublicColumns, version: str | None = None
) -> StoreInfo:
    """The description of a new store: its version is random, since a hash of the data would let an attacker test guesses.

    That nothing has changed would also be a fact about the data, so only its owner can declare it, by giving the old `version`.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    limits = {name.lower(): table.max_rows for name, table in catalog.tables.items() if not table.public}
    made = StoreInfo(version or bits.random_bytes(16).hex(), now, fingerprint(catalog), ledger, head, public, limits)
    if catalog.per is None or catalog.per.begun is None:
        return made
    begun = catalog.per.begun
    return replace(made, begun=begun, closed=catalog.per.closed, versions=((*begun, made.version),))


def kept_version(catalog: Catalog) -> str:
    """The version of the store; raises if it is missing, or belongs to another catalog or format."""
    info = store_info(catalog)
    if info is None:
        raise StoreUnusable("there is no store whose version can be kept", remedy="leave keep_version out")
    if prepared_under(catalog, info.fingerprint) is None:
        raise StoreUnusable("the catalog has changed, so the prepared data will too", remedy="leave keep_version out")
    return info.version


def store_file(catalog: Catalog) -> Path:
    """The path of a catalog's prepared store. Only this chapter and the engines use it."""
    return catalog.store_folder / NAMES[catalog.store_engine]


def read_files(catalog: Catalog) -> tuple[Path, ...]:
    """The files behind the prepared data: no output may overwrite them."""
    return (*sorted(catalog.store_folder.glob(f"{ROWS}-*")), store_file(catalog))


def copy_store(catalog: Catalog, copy: Catalog) -> None:
    """Copy the prepared store of a catalog to the place of another catalog's store, which only its owner can read."""
    for each in read_files(catalog):
        with each.open("rb") as real:
            write(copy.store_folder / each.name, partial(shutil.copyfileobj, real, length=LARGE), private=True)


def store_info(catalog: Catalog) -> StoreInfo | None:
    """A store's description of itself; None if there is no store. A store of another format is not used."""
    file = store_file(catalog)
    if not file.exists():
        return None
    version, prepared_at, document = _read_description(file)
    if (version_of_format := document.get("format", 1)) != FORMAT:
        raise StoreUnusable(
            f"the prepared store has format {version_of_format}, and this version of tacit reads format {FORMAT}",
            remedy="run: tacit prepare",
        )
    try:
        public = {
            table: {key: column_from(key, one) for key, one in columns.items()} for table, columns in document["public"].items()
        }
        named = (document["catalog"], document["ledger"], document["head"])
        return _with_periods(StoreInfo(version, prepared_at, *named, public, limits_of(document)), document)
    except (AttributeError, TypeError, KeyError, ValueError):
        raise _unreadable() from None


def require_small_files(catalog: Catalog) -> None:
    """Refuses to divide work among cores if one file, and so one task, may have all rows (query/price/work.md)."""
    file = store_file(catalog)
    if (catalog.cores or 1) > 1 and file.exists() and (parquet_store(file).file_rows or FILE_ROWS + 1) > FILE_ROWS:
        raise StoreUnusable("[store] cores needs a store of small files, and this one is older", remedy="run: tacit prepare")


def ledger_mark(catalog: Catalog) -> tuple[str | None, str | None]:
    """The ledger and its last entry that a store of any format names; None if there is no store."""
    file = store_file(catalog)
    document = _read_description(file)[2] if file.exists() else {}
    return document.get("ledger"), document.get("head")


def prepared_for(catalog: Catalog) -> str | None:
    """The version of a store that was prepared for the tables and units of a catalog; None if there is no such store."""
    file = store_file(catalog)
    if not file.exists():
        return None
    version, _, document = _read_description(file)
    stored = document.get("catalog")
    if document.get("format", 1) == 1:
        return version if stored == fingerprint_of_format_1(catalog) else None
    return version if isinstance(stored, str) and prepared_under(catalog, stored) is not None else None


def _read_description(file: Path) -> tuple[str, str, dict[str, Any]]:
    """The one row of `tacit_store`, with its details; or what the description of a store in Parquet says."""
    if file.suffix == ".json":
        store = parquet_store(file)
        return store.version, store.prepared_at, store.details
    try:
        with open_store(file) as engine:
            version, prepared_at, details = engine.execute("SELECT version, prepared_at, details FROM tacit_store").fetchone() or ()
        return version, prepared_at, dict(json.loads(details))
    except (duckdb.Error, TypeError, ValueError):
        raise _unreadable() from None


def _unreadable() -> StoreUnusable:
    return StoreUnusable("cannot read the prepared store", remedy="run `tacit prepare`")


def open_store(file: Path) -> duckdb.DuckDBPyConnection:
    """A new read-only connection to the current store.

    The file is attached, not opened by its path: the engine keeps one instance per path in a process, and would return the old
    store as long as any connection there has it open.
    """
    settings: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    engine = duckdb.connect(config={**settings, "threads": 1})  # a row is read; to start threads takes longer
    engine.execute(f"ATTACH {text(str(file))} AS store (READ_ONLY)")
    engine.execute("USE store")
    return engine


def write_info(engine: duckdb.DuckDBPyConnection, database: str, info: StoreInfo) -> None:
    """Put the one row of `tacit_store` into a database that is being written."""
    engine.execute(f"CREATE TABLE {database}.tacit_store (version VARCHAR, prepared_at VARCHAR, details VARCHAR)")
    row = [info.version, info.prepared_at, json.dumps(details_of(info), ensure_ascii=False)]
    engine.execute(f"INSERT INTO {database}.tacit_store VALUES (?, ?, ?)", row)


def details_of(info: StoreInfo) -> dict[str, Any]:
    """The description of a store beside its version, as JSON."""
    public = {table: {key: column_json(column) for key, column in columns.items()} for table, columns in info.public.items()}
    named = {"catalog": info.fingerprint, "ledger": info.ledger, "head": info.head}
    versions = [list(each) for each in info.versions]
    told = (
        {} if info.begun is None else {"begun": list(info.begun), "closed": info.closed, "versions": versions, "added": info.added}
    )
    return {"format": FORMAT, **named, "public": public, "limits": dict(info.limits), **told}


def added_in(details: str) -> int:
    """How often rows were added to the store of these details: above 0, it is in parts."""
    document = json.loads(details)
    return int(document.get("added", 0)) if isinstance(document, dict) else 0


def _with_periods(info: StoreInfo, document: Mapping[str, Any]) -> StoreInfo:
    """A description with the periods that its details name: those that have begun, the last closed one, versions, additions."""
    if (said := document.get("begun")) is None:
        return info
    closed = document.get("closed")
    versions = tuple((int(low), int(high), str(version)) for low, high, version in document.get("versions", ()))
    told = replace(info, begun=(int(said[0]), int(said[1])), versions=versions, added=int(document.get("added", 0)))
    return told if closed is None else replace(told, closed=int(closed))


def limits_of(document: Mapping[str, Any]) -> Mapping[str, int]:
    """How many rows of a unit each private table of a store holds at most, if its details say it.

    >>> limits_of({"format": 5, "limits": {"visits": 10}})
    {'visits': 10}
    >>> limits_of({"format": 5})
    {}
    """
    said = document.get("limits")
    return {table: most for table, most in said.items() if isinstance(most, int)} if isinstance(said, Mapping) else {}


def column_json(column: Column) -> dict[str, Any]:
    """A column as JSON; numbers are exact texts."""
    bounds = None if column.bounds is None else [str(bound) for bound in column.bounds]
    nulls = {"number": str(column.nulls)} if isinstance(column.nulls, Fraction) else column.nulls
    step = None if column.step is None else str(column.step)
    document = {"kind": column.kind, "bounds": bounds, "step": step, "values": list(column.values)}
    return {**document, "outside": column.outside, "unknown": column.unknown, "nulls": nulls}


def column_from(name: str, document: Mapping[str, Any]) -> Column:
    """The column that `column_json` wrote.

    >>> cost = Column("cost", "number", (Fraction(0), Fraction(5)), Fraction(1, 100), nulls=Fraction(0))
    >>> column_from("cost", column_json(cost)) == cost
    True
    """
    bounds = None if document["bounds"] is None else (Fraction(document["bounds"][0]), Fraction(document["bounds"][1]))
    nulls = Fraction(document["nulls"]["number"]) if isinstance(document["nulls"], Mapping) else document["nulls"]
    step = None if document["step"] is None else Fraction(document["step"])
    return Column(name, document["kind"], bounds, step, tuple(document["values"]), document["outside"], document["unknown"], nulls)


@contextmanager
def new_store_folder(catalog: Catalog) -> Iterator[Path]:
    """A private folder in which a new store is written, under its name; it replaces the old store at the end, if nothing failed.

    One process at a time. Only the owner can read what is written there, from the beginning. `swept` removes what a killed process
    left behind.
    """
    beside = catalog.store_folder
    with ExitStack() as held:
        with _writable(beside):
            for folder in (catalog.kept, beside):
                _make_private(folder, within=catalog.kept)
            held.enter_context(_only_one(beside / LOCK))
            held.enter_context(files_of_the_owner())
            _remove_from(beside)
            own = beside / f"{BEGINNING}{bits.random_bytes(8).hex()}"
            own.mkdir(mode=0o700)
        held.callback(_remove_from, beside)
        yield own
        with _writable(beside):
            for made in sorted(each for kind in KINDS for each in own.glob(f"{kind}-*")):
                put_private(made, beside / made.name)
            put_private(own / store_file(catalog).name, store_file(catalog))


def swept(catalog: Catalog) -> Catalog:
    """The catalog itself, after removing what a killed preparation left behind: raw rows, in a folder next to the store.

    Everything that opens a catalog begins with this. A preparation in progress is left alone, and so is what this user may not
    remove.
    """
    beside = catalog.store_folder
    with suppress(OSError, StoreUnusable):
        if any(beside.glob(f"{BEGINNING}*")):
            with _only_one(beside / LOCK):
                _remove_from(beside)
    return catalog


def _remove_from(beside: Path) -> None:
    """Remove everything that preparations wrote next to the store; the caller holds the lock."""
    for left in beside.glob(f"{BEGINNING}*"):
        shutil.rmtree(left)
    described = beside / NAMES["spark"]
    named = parquet_store(described).folder if described.exists() else None
    for left in beside.glob(f"{TABLES}*"):
        if str(left) != named:
            shutil.rmtree(left)
    parts = [each for kind in KINDS for each in beside.glob(f"{kind}-*")]
    used = _files_named(beside / NAMES["duckdb"]) if parts else frozenset[str]()
    for left in (each for each in parts if used is not None and each.name not in used):
        left.unlink()


def _files_named(file: Path) -> frozenset[str] | None:
    """The names of the files that a store consists of, beside its own; None if it cannot be read."""
    if not file.exists():
        return frozenset()
    try:
        with open_store(file) as engine:
            return frozenset(each.file for each in stored_files(engine))
    except duckdb.Error:
        return None


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Turns an error of the file system, such as a read-only disk, into one with a remedy."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise StoreUnusable(
            f"the store cannot be written in {folder} ({why})",
            remedy="make the folder writable and make room on its disk, or declare another one in [store] path",
        ) from None


def _make_private(folder: Path, within: Path) -> None:
    """Makes a new folder readable for the data owner alone; and everything inside `.tacit`, even if it already existed."""
    there = folder.is_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not there or folder.is_relative_to(within):
        folder.chmod(0o700)


@contextmanager
def _only_one(file: Path) -> Iterator[None]:
    with opened(file, os.O_RDWR | os.O_CREAT) as descriptor:
        _lock(descriptor)
        yield


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreUnusable("this catalog is being prepared by another process", remedy="wait for it to end") from None


# --- a store in parts: rows that were added beside the first ones --------------------------------------------------------------


ROWS, WAITING, UNITS = KINDS = ("rows", "waiting", "units")  # of files, and how their names begin
PERIOD = "tacit_period"


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of a table in a file that count: of `runs` of periods, or all if it has none; `cut` if others are in the file."""

    runs: Runs | None
    cut: bool = False

    def without(self, runs: Runs) -> Held | None:
        """The same after these periods were written anew elsewhere; None if nothing is left."""
        if self.runs is None:
            return None
        left = minus(self.runs, runs)
        return None if not left else Held(left, self.cut or left != self.runs)

    def within(self, runs: Runs, but: Runs) -> Held | None:
        """The same of these periods alone, without others; None if nothing is left."""
        left = minus(both(self.runs or (), runs), but)
        return Held(left, self.cut or left != self.runs) if left else None

    @property
    def condition(self) -> str:
        """SQL that is true for the rows that count."""
        tests = [f"{PERIOD} BETWEEN {low} AND {high}" for low, high in self.runs or ()]
        return f"({' OR '.join(tests)})" if self.cut else "TRUE"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a store in parts, never changed once it is written: its kind, and what of it counts, by table.

    Questions read "rows". "units" and "waiting" are the owner's: the codes of units by their keys, and the rows of periods
    that are not closed, as they were before limits. `weight` is the number of additions in it, 0 for the first ones.
    """

    file: str
    kind: str
    weight: int
    holds: Mapping[str, Held] = field(default_factory=dict)


def write_files(engine: duckdb.DuckDBPyConnection, database: str, files: Collection[StoredFile]) -> None:
    """Put the list of its files into the database that describes a store."""
    engine.execute(f"CREATE TABLE {database}.tacit_files (file VARCHAR, kind VARCHAR, weight BIGINT, holds VARCHAR)")
    for each in files:
        holds = {table: [held.cut, held.runs] for table, held in each.holds.items()}
        engine.execute(
            f"INSERT INTO {database}.tacit_files VALUES (?, ?, ?, ?)", [each.file, each.kind, each.weight, json.dumps(holds)]
        )


def stored_files(engine: duckdb.DuckDBPyConnection) -> tuple[StoredFile, ...]:
    """The files of the store that an engine has attached, in the order in which they were written; empty if it is one file."""
    known = engine.execute("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'store' AND table_name = 'tacit_files'")
    if known.fetchall() == [(0,)]:
        return ()
    found = engine.execute("SELECT file, kind, weight, holds FROM store.tacit_files ORDER BY rowid").fetchall()
    return tuple(StoredFile(file, kind, weight, _held_in(json.loads(holds))) for file, kind, weight, holds in found)


def _held_in(holds: Mapping[str, Any]) -> dict[str, Held]:
    return {
        table: Held(None if runs is None else tuple((int(low), int(high)) for low, high in runs), bool(cut))
        for table, (cut, runs) in holds.items()
    }


def attach_parts(engine: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Let an engine that has a store in parts attached read its tables by their names."""
    parts: dict[str, list[str]] = {}
    for place, each in enumerate(file for file in stored_files(engine) if file.kind == ROWS):
        engine.execute(f"ATTACH {text(str(folder / each.file))} AS part_{place} (READ_ONLY)")
        for table, held in each.holds.items():
            parts.setdefault(table, []).append(f"SELECT * FROM part_{place}.{name(table)} WHERE {held.condition}")
    for table, selects in parts.items():
        engine.execute(f"CREATE VIEW memory.main.{name(table)} AS {' UNION ALL '.join(selects)}")
    engine.execute("USE memory.main")
