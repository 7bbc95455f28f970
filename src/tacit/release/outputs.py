"""Published files: a table of origin, destination and jobs, and next to it the receipt with its guarantee and its cost.

Both are written whole or not at all, and contain only public parameters and released numbers: no wall time, no row count of the
input, no hash of it. In CSV no text is a formula to a spreadsheet, and the receipt explains how to read back a text that was
changed for this. Parquet keeps every text unchanged.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.files import check, check_links, write_together
from tacit.privacy.catalog import Catalog
from tacit.untrusted import csv_text, for_csv, for_json

FORMATS = (".parquet", ".csv", ".csv.gz")
Table = Mapping[str, NDArray[Any]]
SPENT = "what was spent stays spent, and nothing is released"
IN_CSV = (
    "A text that a spreadsheet would take for a formula has an apostrophe before it, and a character that is not seen is written "
    "as its escape; tacit.untrusted.from_csv takes the apostrophe off. A Parquet file holds every text as it is."
)


def check_output(out: Path, inputs: Iterable[Path] = ()) -> Path:
    """The path, if its extension is a supported format, a file can be created there, and it is not one of the inputs.

    Refuses before anything is spent; creates the folder if it is missing.
    """
    if not out.name.endswith(FORMATS):
        raise InvalidInput(f"the name of the output ends in one of {', '.join(FORMATS)}, and not as {out.name} does")
    check_links(out)
    if out.resolve() in {read.resolve() for read in inputs}:
        raise InvalidInput(f"{out} is read, and would be lost; give the output a name of its own")
    check(receipt_beside(out))
    return check(out)


def check_apart(catalog: Catalog, out: Path) -> None:
    """Refuse, before anything is spent, an output that would replace real rows or later be prepared as if it were real."""
    from tacit.data.files.sources import reader_of

    check_links(out)
    if read := reader_of(catalog, out):
        raise InvalidInput(f"{out} is, or would be, read as the table {read.name}; write to another folder or under another name")


def receipt_beside(out: Path) -> Path:
    """The path of the receipt."""
    return out.with_name(f"{out.name}.receipt.json")


def write_output(table: Table, receipt: Mapping[str, Any], out: Path, after: str = SPENT) -> Path:
    """Write the receipt and the table, and return the receipt's path; a Parquet file also carries the receipt in its metadata.

    Neither file replaces an earlier one before both are written. `after` states in an error what has happened before.
    """
    told = for_json(receipt if out.suffix == ".parquet" else {**receipt, "csv": in_csv(table)}, indent=2)
    content = _parquet(table, told) if out.suffix == ".parquet" else _csv(table, out.suffix)
    write_together({receipt_beside(out): f"{told}\n", out: content}, after=after)
    return receipt_beside(out)


def in_csv(table: Table) -> dict[str, Any]:
    """The words of a CSV file's receipt about its texts: the rule, and the columns in which some were changed.

    >>> in_csv({"band": ["<5", "-5 to 0"], "n": [1, 2]})["changed"]
    ['band']
    """
    texts = {name: {value for value in column if isinstance(value, str)} | {name} for name, column in table.items()}
    return {"texts": IN_CSV, "changed": [name for name, values in texts.items() if any(for_csv(each) != each for each in values)]}


def _parquet(table: Table, receipt: str) -> Callable[[BinaryIO], object]:
    import pyarrow as arrow
    from pyarrow import parquet

    made = arrow.table({name: arrow.array(column) for name, column in table.items()})
    return lambda file: parquet.write_table(made.replace_schema_metadata({"tacit.receipt": receipt}), file)


def _csv(table: Table, suffix: str) -> bytes:
    text = csv_text(table).encode()
    return gzip.compress(text, mtime=0) if suffix == ".gz" else text
