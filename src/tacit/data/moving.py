"""A prepared store moves between engines: the embedded engine's file becomes Parquet, and Parquet becomes such a file.

The integers stay as they are, and so do the version and the mark of the ledger: it is the same prepared data.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import duckdb

from tacit.data.dialect import name as quoted
from tacit.data.dialect import text
from tacit.data.store import FILE_ROWS, ParquetStore, open_store

ABOUT = "tacit_store"
ROWS_TOGETHER = 122_880  # of a row group, as the engine writes them by default


def to_parquet(file: Path, folder: Path) -> ParquetStore:
    """Write every table of a store in a DuckDB file to a folder, which must exist; returns the description to keep."""
    with closing(open_store(file)) as engine:
        version, prepared_at, details = engine.execute(f"SELECT * FROM {ABOUT}").fetchone() or ()  # noqa: S608  # a constant
        for (table,) in engine.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'").fetchall():
            if table != ABOUT:
                place = text(str(folder / f"{table.lower()}.parquet"))
                engine.execute(f"COPY store.{quoted(table)} TO {place} (FORMAT parquet{_in_files(engine, quoted(table))})")
    return ParquetStore(version, prepared_at, str(folder), dict(json.loads(details)), FILE_ROWS)


def _in_files(engine: duckdb.DuckDBPyConnection, table: str) -> str:
    """The option that makes a folder of files of a table that has more rows than one file may have."""
    ((rows,),) = engine.execute(f"SELECT count(*) FROM store.{table}").fetchall()  # noqa: S608  # a name, quoted
    return "" if rows <= FILE_ROWS else f", ROW_GROUP_SIZE {ROWS_TOGETHER}, ROW_GROUPS_PER_FILE {FILE_ROWS // ROWS_TOGETHER}"


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
