"""A prepared store in Parquet: a small description, replaced as a whole, and a folder of tables that it names.

The folder may lie wherever the cluster reads; the description lies with what tacit keeps. The tables hold the same columns and
integers as the embedded engine's file (store.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import StoreUnusable

FILE_ROWS = 2**20  # of one file at most: the largest task of a question is known, however well the rows compress
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
        known = {"version": self.version, "prepared_at": self.prepared_at, "folder": self.folder, "details": self.details}
        return json.dumps(known | {"file_rows": self.file_rows}, indent=1) + "\n"


def parquet_store(file: Path) -> ParquetStore:
    """The store that a description names."""
    if not file.exists():
        raise StoreUnusable("the data has not been prepared", remedy="run: tacit prepare")
    try:
        known = json.loads(file.read_text("utf-8"))
        version, prepared_at, folder, details = (known[name] for name in ("version", "prepared_at", "folder", "details"))
        return ParquetStore(version, prepared_at, folder, details, known.get("file_rows"))
    except (OSError, ValueError, KeyError, TypeError):
        raise StoreUnusable("cannot read the prepared store", remedy="run `tacit prepare`") from None
