"""Finds other ledgers over the sources of a catalog, so that the same people do not silently get a second budget.

The register belongs to one operating-system user (register.md): it does not see other users and other machines. If it cannot be
kept, `word` says why, and nothing is refused for that reason. It recognizes the sources of private tables by keyed marks.

A file is marked by its place and by samples of its content, so that a copy is recognized at once, whatever its size. A CSV file is
also marked by how its rows begin, so that it is recognized after rows are added, compressed or not. A DuckDB table is marked by its
file with the table's name, and by its first rows; a PostgreSQL table by the server, the database and the table's name, without user
and password. A table given in Python has no place, so it is marked by the catalog with the table's name, and by its first rows.

Every mark is an HMAC under the register's key and goes to the register alone: a hash of data that left it could confirm a guess.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import duckdb

from tacit.accounting.ledger.register import (
    FILE,
    Register,
    Registered,
    ledger_place,
    mark_of,
    open_register,
    server_places,
    state_folder,
)
from tacit.data.declaration import folded
from tacit.data.dialect import name, text
from tacit.errors import InvalidCatalog, RegisterUnavailable, StoreUnusable
from tacit.files import replace_file
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog, Source, Table, fingerprint

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.data.files.sources import Given

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Registration:
    """The sources of a catalog as the register marks them; without a register, the reason."""

    catalog: Catalog
    place: str
    register: Register | None
    marks: frozenset[str] = frozenset()
    word: str = ""

    def require_alone(self, ledger: str | None, reason: str) -> None:
        """Refuse sources that another ledger already covers, unless the data owner gives a reason now or gave one before."""
        others = [] if reason or self.register is None else self._others(self.register, ledger or "")
        if others:
            raise _already_covered(
                others[0],
                "use that catalog, or declare its ledger in [ledger] url and data_set; for a second budget over the same "
                "people, give a reason: --reason WHY",
            )

    def _others(self, register: Register, ledger: str) -> list[Registered]:
        """Other ledgers over these sources that this one has not shared a source with before; and copies of this ledger."""
        sharing = register.sharing(self.marks)
        own = {mark for one in sharing if one.ledger == ledger for mark in one.marks}
        return [
            *(one for one in sharing if one.ledger != ledger and own.isdisjoint(one.marks)),
            *(register.copies(ledger, self.place) if ledger else ()),
        ]

    def record(self, ledger: str) -> None:
        """Record that a ledger covers these sources."""
        if self.register is not None:
            told = str(self.catalog.path.absolute()) if self.catalog.path else ""
            self.register.record(Registered(ledger, self.place, self.catalog.name, told, tuple(sorted(self.marks))))


def require_no_copy(ledger: str, address: str, environment: Mapping[str, str]) -> None:
    """Refuse the copy of a ledger's file if the original still exists: each of the two would admit the remaining budget.

    tacit cannot know whether the original of a ledger on a server still exists: `require_alone` asks the data owner for a reason.
    """
    folder, place = state_folder(environment), ledger_place(address, environment)
    if folder is None or not (folder / FILE).exists() or not os.path.isabs(place):
        return
    try:
        copies = open_register(environment, lambda: bits.random_bytes(KEY_BYTES)).copies(ledger, place)
    except RegisterUnavailable:
        return
    for one in copies:
        if os.path.isabs(one.place) and not _same_file(one.place, place):
            raise _already_covered(one, f"use that catalog; if this is where the data set lies from now on, move {one.place} away")


def _same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file, even through two mounts of one folder; False if one of them cannot be read."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _already_covered(other: Registered, remedy: str) -> StoreUnusable:
    return StoreUnusable(f"these sources are already behind the ledger of '{other.name}' ({other.catalog})", remedy=remedy)


def registration(catalog: Catalog, environment: Mapping[str, str], given: Given | None = None) -> Registration:
    """The registration of a catalog's sources, which are read in samples. `given` has the tables given in Python."""
    place = ledger_place(catalog.ledger_address(environment), environment)
    try:
        register = open_register(environment, lambda: bits.random_bytes(KEY_BYTES))
    except RegisterUnavailable as error:
        return Registration(catalog, place, None, word=str(error))
    return Registration(catalog, place, register, source_marks(catalog, register.key, environment, given))


# --- the keyed marks of the sources of private tables ------------------------------------------------------------------------


SAMPLE, SAMPLES = 1 << 16, 16  # bytes of one sample, and the number of samples of a larger file
BEGINNING, LONGEST_HEADER = 1 << 20, 1 << 24  # bytes of CSV read to see how its rows begin, and the most bytes before them
LENGTHS = tuple(1 << power for power in range(12, 21))  # bytes of rows; fewer than 4 KiB may coincide by chance
FEWEST_ROWS, MOST_ROWS = 64, 2048  # the same for rows of a DuckDB table
UNREADABLE = (OSError, EOFError, zlib.error, duckdb.Error)  # preparation reads the source too, and reports what is wrong with it

Parts = Iterator[tuple[bytes, ...]]


def source_marks(catalog: Catalog, key: bytes, environment: Mapping[str, str], given: Given | None = None) -> frozenset[str]:
    """The marks of all sources of private tables. Two catalogs that share a mark are over the same data."""
    return frozenset[str]().union(*marks_by_table(catalog, key, environment, given).values())


def marks_by_table(
    catalog: Catalog, key: bytes, environment: Mapping[str, str], given: Given | None = None
) -> dict[str, frozenset[str]]:
    """The marks of the source of each private table. Public tables have none: no one's budget is spent on them."""
    return {
        table.name: frozenset(mark_of(key, *parts) for parts in _identifying_parts(catalog, table, environment, given or {}))
        for table in catalog.tables.values()
        if not table.public
    }


def _identifying_parts(catalog: Catalog, table: Table, environment: Mapping[str, str], given: Given) -> Parts:
    """The bytes that identify a source, before they are keyed."""
    if table.source.kind != "memory":
        yield from _parts_of_stored(catalog, table.source, environment)
        return
    if catalog.path is not None:
        yield b"memory", _path(catalog.path), table.name.encode()
    if table.name in given:
        yield from _readable(_given_rows, given[table.name])


def _parts_of_stored(catalog: Catalog, source: Source, environment: Mapping[str, str]) -> Parts:
    """The same for a source stored in a file or a database."""
    if source.kind == "postgres":
        table = [part.encode() for part in qualified_name(source.table or "", "public")]
        yield from ((b"postgres", place.encode(), *table) for place in server_places(source.url(environment), environment))
        return
    if source.remote:
        yield b"remote", source.location.encode()
        return
    from tacit.data.files.sources import source_files  # with all that reads files, which no query does

    files = source_files(catalog, source)
    if source.kind == "duckdb":
        yield b"duckdb", _path(files[0]), *(part.encode() for part in qualified_name(source.table or "", "main"))
        yield from _readable(_first_rows, files[0], source.table or "")
        return
    yield b"files", _path(catalog.folder / source.location)  # a folder or a pattern is the same source, whichever files it contains
    for file in files:
        yield b"file", _path(file)
        if file.is_file():  # bytes read from a pipe here would be missing in preparation
            yield from _readable(_beginnings if source.kind == "csv" else _content, file)


def _readable(look: Callable[..., Parts], *given: object) -> list[tuple[bytes, ...]]:
    try:
        return list(look(*given))
    except UNREADABLE:
        return []


def _path(file: Path) -> bytes:
    return os.fsencode(file.resolve())


def _content(file: Path) -> Parts:
    """The size, and the whole content of a small file, or samples of a larger one: the first, the last, evenly spaced between.

    Two files that differ only outside the samples count as one: such a file is a copy with one person's data changed.
    """
    size, digest = file.stat().st_size, sha256()
    with file.open("rb") as opened:
        if size <= SAMPLE * SAMPLES:
            digest.update(opened.read(size))
        else:
            for place in range(SAMPLES):
                opened.seek((size - SAMPLE) * place // (SAMPLES - 1))
                digest.update(opened.read(SAMPLE))
    yield b"content", size.to_bytes(8, "big"), digest.digest()


def _beginnings(file: Path) -> Parts:
    """How the rows of a CSV file begin: their first 4 KiB, 8 KiB, 16 KiB, ...; all rows of a small file, samples of a larger one.

    Neither rows added at the end nor compression change the beginnings. The header is left out: unrelated files may share it.
    """
    with _plain(file) as opened:
        opened.readline(LONGEST_HEADER)
        rows = opened.read(BEGINNING)
    for length in LENGTHS:
        if length <= len(rows):
            yield b"beginning", sha256(rows[:length]).digest()
    if len(rows) == BEGINNING:
        yield from _content(file)
    elif rows:
        yield b"rows", sha256(rows).digest()


def _plain(file: Path) -> BinaryIO:
    import gzip

    from tacit.data.files.kinds import is_compressed  # no query reads files

    return gzip.open(file) if is_compressed(file) else file.open("rb")  # type: ignore[return-value]  # both are read as binary


def _first_rows(file: Path, table: str) -> Parts:
    """How a DuckDB table begins: its first 64, 128, 256, ... rows; all of them if there are few."""
    with closing(_engine()) as engine:
        engine.execute(f"ATTACH {text(str(file))} AS source (READ_ONLY)")
        yield from _begin_with(engine, f"source.{'.'.join(name(part) for part in table.split('.'))}")


def _given_rows(table: pa.Table) -> Parts:
    """How a table given in Python begins: described as a DuckDB table with the same rows would be."""
    with closing(_engine()) as engine:
        engine.register("given", table.slice(0, MOST_ROWS))
        yield from _begin_with(engine, "given")


def _engine() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    engine.execute("SET memory_limit = '512MB'")
    return engine


def _begin_with(engine: duckdb.DuckDBPyConnection, relation: str) -> Parts:
    rows = engine.execute(f"SELECT sha256(CAST(rows AS VARCHAR)) FROM {relation} AS rows LIMIT {MOST_ROWS}").fetchall()  # noqa: S608  # a name, quoted
    digest = sha256()
    for number, (row,) in enumerate(rows, start=1):
        digest.update(row.encode())
        if number >= FEWEST_ROWS and number & (number - 1) == 0:
            yield b"first rows", number.to_bytes(8, "big"), digest.digest()
    if 0 < len(rows) < MOST_ROWS:
        yield b"all rows", digest.digest()


def qualified_name(table: str, schema: str) -> list[str]:
    """The parts of a table's name, with the default schema if none is named; names match case-insensitively.

    >>> qualified_name("Visits", "public"), qualified_name('ward."Visits"', "public")
    (['public', 'visits'], ['ward', 'visits'])
    """
    parts = [folded(part.strip().strip('"')) for part in table.split(".")]
    return [schema, *parts] if len(parts) == 1 else parts


# --- whether anything has changed since the last preparation, for the data owner alone ----------------------------------------

# A keyed digest beside the store covers every byte of every file and what the catalog declares. Its key is drawn anew each time and
# lies with it, readable by the owner alone, so that it tells nothing to anyone who guesses at rows. Whether anything has changed is
# a fact about the data: by itself it decides nothing, unless the data owner declares `[store] changes = "public"`.


DIGEST = "sources.digest"
READ = 1 << 20  # bytes at a time
OPAQUE = ("postgres", "memory")  # sources without bytes to compare
UNCHANGED = (
    "sources and catalog are those of the last preparation: `tacit prepare --keep-version` would keep the data version, and the "
    "answers released under it"
)
KEPT = 'nothing has changed since the last preparation, so the data version is kept: [store] changes = "public"'

Seen = tuple[tuple[str, int, int, int], ...]


def digest_of(catalog: Catalog, key: bytes) -> str | None:
    """The keyed digest of sources and declarations; None if a source cannot be compared by its bytes."""
    from tacit.data.files.sources import source_files

    digest = hashlib.blake2b(fingerprint(catalog).encode(), key=key)
    for named, table in sorted(catalog.tables.items()):
        if table.source.kind in OPAQUE or table.source.remote:
            return None
        digests = sorted(
            _file_digest(file, key) for file in source_files(catalog, table.source)
        )  # the order of files means nothing
        digest.update(repr((named, digests)).encode())
    return digest.hexdigest()


def _file_digest(file: Path, key: bytes) -> str:
    digest = hashlib.blake2b(file.name.lower().rpartition(".")[2].encode(), key=key)
    with file.open("rb") as opened:
        while chunk := opened.read(READ):
            digest.update(chunk)
    return digest.hexdigest()


def seen_files(catalog: Catalog) -> Seen | None:
    """The stamps of all files of a catalog, to see whether one is written to during a preparation; None if one is missing."""
    try:
        return tuple(_stamps(catalog))
    except (OSError, InvalidCatalog):
        return None


def _stamps(catalog: Catalog) -> Iterator[tuple[str, int, int, int]]:
    from tacit.data.files.sources import source_files

    for table in catalog.tables.values():
        if table.source.kind not in OPAQUE and not table.source.remote:
            for file in source_files(catalog, table.source):
                status = file.stat()
                yield str(file), status.st_mtime_ns, status.st_size, status.st_ino


def is_unchanged(catalog: Catalog) -> bool | None:
    """Whether sources and catalog are those of the store; None if that is not known."""
    try:
        kept = json.loads((catalog.store_folder / DIGEST).read_text("ascii"))
        found = digest_of(catalog, bytes.fromhex(kept["key"]))
        return None if found is None else bool(found == kept["digest"])
    except (OSError, ValueError, KeyError, TypeError, InvalidCatalog):
        return None


def remember_sources(catalog: Catalog, before: Seen | None) -> None:
    """Keep the digest of what has been prepared, if no file changed since `before`; else forget the old one."""
    key, place = bits.random_bytes(KEY_BYTES), catalog.store_folder / DIGEST
    try:
        digest = digest_of(catalog, key) if before is not None else None
    except (OSError, InvalidCatalog):
        digest = None
    if digest is None or seen_files(catalog) != before:
        place.unlink(missing_ok=True)
        return
    replace_file(place, json.dumps({"key": key.hex(), "digest": digest}) + "\n")
