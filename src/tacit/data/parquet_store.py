"""A prepared store in Parquet: a small description, replaced as a whole, and a folder of tables that it names.

The folder may lie wherever the cluster reads; the description lies with what tacit keeps. The tables hold the same columns and
integers as the embedded engine's file (store.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tacit.errors import StoreUnusable

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
        known = {"version": self.version, "prepared_at": self.prepared_at, "folder": self.folder, "details": self.details}
        return json.dumps(known | {"file_rows": self.file_rows}, indent=1) + "\n"


def still_here(place: str, files: Collection[str]) -> bool:
    """Whether a table on this disk has exactly these files, of which Spark has listed the addresses; no file is opened.

    False also where that cannot be seen from here: then Spark has to list them again.

    >>> still_here("s3a://bucket/visits.parquet", {"s3a://bucket/visits.parquet/part-0.parquet"})
    False
    """
    known = [urlsplit(each) for each in files]
    if not known or any(each.scheme != "file" or each.netloc for each in known):
        return False
    try:
        inside = [place] if os.path.isfile(place) else [each.path for each in os.scandir(place)]
    except OSError:
        return False
    shown = {each for each in inside if not os.path.basename(each).startswith(HIDDEN)}
    return {unquote(each.path) for each in known} == shown and all(map(os.path.isfile, shown))


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
