"""A prepared store moves between engines: the embedded engine's file becomes Parquet, and Parquet becomes such a file.

The integers stay as they are, and so do the version and the mark of the ledger: it is the same prepared data.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import duckdb

from tacit.data.parquet_store import ParquetStore
from tacit.data.quoting import name as quoted
from tacit.data.quoting import text
from tacit.data.store import open_store

ABOUT = "tacit_store"


def to_parquet(file: Path, folder: Path) -> ParquetStore:
    """Write every table of a store in a DuckDB file to a folder, which must exist; returns the description to keep."""
    with closing(open_store(file)) as engine:
        version, prepared_at, details = engine.execute(f"SELECT * FROM {ABOUT}").fetchone() or ()  # noqa: S608  # a constant
        for (table,) in engine.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'").fetchall():
            if table != ABOUT:
                engine.execute(f"COPY store.{quoted(table)} TO {text(str(folder / f'{table.lower()}.parquet'))} (FORMAT parquet)")
    return ParquetStore(version, prepared_at, str(folder), dict(json.loads(details)))


def from_parquet(store: ParquetStore, file: Path) -> None:
    """Write a store in Parquet, on a disk that this machine reads, to a new DuckDB file."""
    with closing(duckdb.connect(str(file))) as engine:
        for part in sorted(Path(store.folder).glob("*.parquet")):
            inside = str(part / "*.parquet") if part.is_dir() else str(part)
            read = f"SELECT * FROM read_parquet({text(inside)})"  # noqa: S608  # a path, quoted
            engine.execute(f"CREATE TABLE {quoted(part.stem)} AS {read}")
        engine.execute(f"CREATE TABLE {ABOUT} (version VARCHAR, prepared_at VARCHAR, details VARCHAR)")
        row = [store.version, store.prepared_at, json.dumps(store.details)]
        engine.execute(f"INSERT INTO {ABOUT} VALUES (?, ?, ?)", row)  # noqa: S608  # a constant
