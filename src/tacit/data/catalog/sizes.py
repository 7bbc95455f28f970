"""The most rows that a table can ever have: a ladder to choose from, and the line that declares it in tacit.toml.

No number that was counted from rows is ever offered, at any rounding: it would tell how many people are in the data. The data owner
chooses from public knowledge.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tacit.data.declaration import folded, has_endless_key, key_lines, key_text
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.files import write
from tacit.privacy.catalog import ASSUMED_ROWS, Catalog

LADDER = (10**5, 10**6, 10**7, 10**8, 10**9)
MOST = 2**33  # sums of more rows are not exact (store.md)
KEY = "rows_at_most"
AFTER = ("max_rows_per_group", "max_rows", "unit", "source")  # keys after which the line is written, the first that is there
QUESTION = (
    f"The most rows that {{}} can ever have, from public knowledge ({', '.join(f'{step:,}' for step in LADDER[:3])}, ...; "
    f"empty: not declared, {ASSUMED_ROWS:,} are assumed)"
)


def undeclared(catalog: Catalog) -> list[str]:
    """The private tables without `rows_at_most`."""
    return [table.name for table in catalog.tables.values() if not table.public and table.rows_at_most is None]


def rows_from(text: str, table: str) -> int:
    """The number of rows that a data owner writes, with or without signs between thousands, or as a power of ten.

    >>> rows_from("1,000,000", "visits"), rows_from("10^7", "visits"), rows_from("1e6", "visits")
    (1000000, 10000000, 1000000)
    """
    said = re.sub(r"(?<=\d)[,_' ](?=\d{3})", "", text.strip())
    power = re.fullmatch(r"(?:10\^|1e)(\d{1,2})", said)
    rows = 10 ** int(power[1]) if power else int(said) if re.fullmatch(r"[0-9]{1,12}", said) else 0
    if not 1 <= rows <= MOST:
        raise InvalidInput(
            f"rows of {table} must be a whole number from 1 to {MOST:,}; give for example {table}=1000000", argument="declare"
        )
    return rows


def declarations(given: list[str], catalog: Catalog) -> dict[str, int]:
    """The tables and numbers of `visits=1000000 ...`; raises if a table is unknown, public or declared."""
    found: dict[str, int] = {}
    for each in given:
        name, sign, rows = each.partition("=")
        table = catalog.tables.get(folded(name.strip()))
        if not sign or table is None or table.public:
            private = ", ".join(table.name for table in catalog.tables.values() if not table.public)
            raise InvalidInput(
                f"--declare needs the name of a private table and a number; declared are: {private}", argument="declare"
            )
        if table.rows_at_most is not None or table.name in found:
            raise InvalidInput(f"{table.name} already has {KEY}; change the line in {catalog.file}", argument="declare")
        found[table.name] = rows_from(rows, table.name)
    return found


def declare(path: Path, rows: Mapping[str, int]) -> None:
    """Write the lines into a catalog, whole or not at all; all else in it, comments included, stays byte for byte."""
    if not rows:
        return
    text = path.read_bytes().decode("utf-8")
    for table, most in rows.items():
        text = with_rows(text, table, most)
    write(path, text.encode())


def with_rows(text: str, table: str, rows: int) -> str:
    r"""The text of a catalog with the line of one table.

    >>> with_rows('[tables.visits]\nsource = "visits.csv"  # all\nunit = "row"\n', "visits", 1000000)
    '[tables.visits]\nsource = "visits.csv"  # all\nunit = "row"\nrows_at_most = 1000000\n'
    """
    line = f"{KEY} = {rows}"
    for place in () if has_endless_key(text) else _places(text, table):
        lines = text.splitlines(keepends=True)
        end = "\r\n" if lines[place - 1].endswith("\r\n") else "\n"
        before = lines[place - 1] if lines[place - 1].endswith("\n") else lines[place - 1] + end
        made = "".join([*lines[: place - 1], before, f"{_indent(before)}{line}{end}", *lines[place:]])
        if _adds_only(text, made, table, rows):
            return made
    raise InvalidCatalog(
        f"cannot find where {table} is declared line by line; add {line} to {key_text(('tables', table))} yourself"
    )


def _places(text: str, table: str) -> Iterator[int]:
    """The lines after which the declaration can stand, the best first."""
    lines = key_lines(text)
    path = next((path for path in lines if len(path) == 2 and path[0] == "tables" and folded(path[1]) == table), None)
    if path is not None:
        yield from (lines[(*path, key)] for key in AFTER if (*path, key) in lines)
        yield lines[path]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _adds_only(text: str, made: str, table: str, rows: int) -> bool:
    """Whether the new text says what the old one says, and the declaration."""
    try:
        wanted, found = tomllib.loads(text), tomllib.loads(made)
    except ValueError:
        return False
    (own,) = (each for name, each in wanted["tables"].items() if folded(name) == table)
    own[KEY] = rows
    return wanted == found
