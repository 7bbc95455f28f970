"""A prepared store of the embedded engine, copied to Parquet: for tests and benchmarks without a preparation on Spark."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import duckdb

from tacit.data.dialect import name, text
from tacit.data.store import FILE_ROWS, ParquetStore, open_store

ABOUT = "tacit_store"
ROWS_TOGETHER = 122_880  # of a row group, as the engine writes them by default


def to_parquet(file: Path, folder: Path) -> ParquetStore:
    """Write every table of a store in a DuckDB file to a folder, which must exist; returns the description to keep."""
    with closing(open_store(file)) as engine:
        version, prepared_at, details = engine.execute(f"SELECT * FROM {ABOUT}").fetchone() or ()
        for (table,) in engine.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'store'").fetchall():
            if table != ABOUT:
                place = text(str(folder / f"{table.lower()}.parquet"))
                engine.execute(f"COPY store.{name(table)} TO {place} (FORMAT parquet{_in_files(engine, name(table))})")
    return ParquetStore(version, prepared_at, str(folder), dict(json.loads(details)), FILE_ROWS)


def _in_files(engine: duckdb.DuckDBPyConnection, table: str) -> str:
    """The option that makes a folder of files of a table that has more rows than one file may have."""
    ((rows,),) = engine.execute(f"SELECT count(*) FROM store.{table}").fetchall()
    return "" if rows <= FILE_ROWS else f", ROW_GROUP_SIZE {ROWS_TOGETHER}, ROW_GROUPS_PER_FILE {FILE_ROWS // ROWS_TOGETHER}"
