"""The SQL of the margins of a table: counts and sums by every set of a few of some columns, as one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from tacit.errors import InvalidInput
from tacit.privacy.arguments import text_of, whole_of
from tacit.privacy.rounding import brief

MOST_COLUMNS, MOST_WAYS = 60, 6
MOST_SETS, MOST_MARGINS = 64, 1_500  # of a GROUP BY; with MARGINS, whose sets a text need not list


def margins_sql(table: str, columns: Sequence[str], ways: int = 2, sums: Sequence[str] = (), where: str = "") -> str:
    """A SELECT of counts and sums by every set of at most `ways` columns.

    >>> margins_sql("visits", ["ward", "sex"], where="age > 64")
    'SELECT "ward", "sex", COUNT(*) AS n FROM "visits" WHERE age > 64 GROUP BY MARGINS (2, "ward", "sex")'
    """
    names, added = _names(columns, "columns"), _names(sums, "sums") if sums else ()
    most = whole_of(ways, "ways", 1, MOST_WAYS)
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise InvalidInput(
            f"margins have 1 to {MOST_COLUMNS} columns, not {len(names)}; give for example columns=['ward', 'sex']",
            argument="columns",
        )
    most = min(most, len(names))
    number = sum(comb(len(names), size) for size in range(1, most + 1))
    if number > MOST_MARGINS:
        raise InvalidInput(
            f"{len(names)} columns have {number:,} margins of at most {most} columns; the limit is {MOST_MARGINS:,}: lower ways",
            argument="ways",
        )
    summed = "".join(f", SUM({name}) AS {quoted(f'sum_{plain}')}" for name, plain in zip(added, sums, strict=True))
    kept = f" WHERE {text_of(where, 'where')}" if where else ""
    listed = ", ".join(names)
    return f"SELECT {listed}, COUNT(*) AS n{summed} FROM {quoted(table)}{kept} GROUP BY MARGINS ({most}, {listed})"  # noqa: S608  # names are quoted


def in_intervals(columns: Sequence[str], more: Mapping[str, Any]) -> bool:
    """Whether margins ask for columns in intervals, or for cumulative counts (query/ranges.py).

    >>> in_intervals(["age:10", "ward"], {}), in_intervals(["age", "ward"], {})
    (True, False)
    """
    return bool(more.get("prefixes")) or any(isinstance(each, str) and ":" in each for each in columns)


def of_plain_margins(more: Mapping[str, Any]) -> dict[str, Any]:
    """The budget of margins without intervals, which have no cumulative counts: an empty list of them is left out.

    >>> of_plain_margins({"epsilon": 1, "prefixes": []})
    {'epsilon': 1}
    """
    return {name: value for name, value in more.items() if name != "prefixes" or value}


def _names(columns: Sequence[str], argument: str) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InvalidInput(f"{argument} must be a list of names; give for example {argument}=['ward', 'sex']", argument=argument)
    given = [text_of(each, argument).strip() for each in columns]
    if len({each.casefold() for each in given}) < len(given):
        raise InvalidInput(f"a column is given twice in {argument}: {brief(', '.join(given))}; give each once", argument=argument)
    return tuple(map(quoted, given))


def quoted(name: str) -> str:
    """A name as an identifier of SQL, whatever signs it has."""
    escaped = text_of(name, "table").replace('"', '""')
    return f'"{escaped}"'
