"""The rows of a file that has no header, such as a hierarchy of values: one value and its coarser forms on each line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tacit.data.files.kinds import existing
from tacit.errors import InvalidInput

LARGEST = 1 << 26  # bytes: a hierarchy is read whole


def level_rows(path: str | Path, delimiter: str = ";") -> list[tuple[str, ...]]:
    """The cells of each line, trimmed; blank lines are skipped, and quotes are read as in CSV."""
    file = existing(path)
    if file.stat().st_size > LARGEST:
        raise InvalidInput(f"{file.name} is too large for a hierarchy: at most {LARGEST:,} bytes; check the path")
    try:
        text = file.read_text("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"{file.name} cannot be read as a hierarchy; expected UTF-8 text with levels separated by ;") from None
    return [tuple(cell.strip() for cell in row) for row in rows if any(cell.strip() for cell in row)]
