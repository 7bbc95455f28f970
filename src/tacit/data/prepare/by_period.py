"""The period of a row in SQL, from its packed values: ranks count within it, and rows of periods that have begun are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tacit.data.prepare.packing import packing_of
from tacit.data.prepare.staging import kept_condition, stored_columns
from tacit.data.store import PERIOD
from tacit.privacy.catalog import Table
from tacit.privacy.periods import Calendar

__all__ = ["PERIOD", "begun_condition", "known_period_sql", "number_sql", "period_sql", "stored_condition"]
FAR = 10**6  # periods, by which numbers are shifted so that division rounds down: no day is so far from 1970


def _of_month(day: str) -> str:
    return f"(CAST(year({day}) AS BIGINT) * 12 + month({day}) - 1)"


def _of_quarter(day: str) -> str:
    return f"(CAST(year({day}) AS BIGINT) * 4 + quarter({day}) - 1)"


def _floor(number: str, days: int) -> str:
    return f"(({number} + {days * FAR}) // {days} - {FAR})"


PARTS: Mapping[str, Callable[[str], str]] = {
    "month": _of_month,
    "quarter": _of_quarter,
    "year": lambda day: f"CAST(year({day}) AS BIGINT)",
}


def number_sql(calendar: Calendar, days: str) -> str:
    """SQL of the embedded engine for the period of a day number since 1970-01-01: `Calendar.number`."""
    if calendar.kind in PARTS:
        return PARTS[calendar.kind](f"(DATE '1970-01-01' + CAST({days} AS INTEGER))")
    if calendar.kind == "week":
        return _floor(f"({days} + 3)", 7)
    if calendar.kind == "days":
        return _floor(f"({days} - ({calendar.start}))", calendar.days)
    return f"CAST({days} AS BIGINT)"


def period_sql(table: Table) -> str:
    """SQL for the period of a packed row of a table with periods; of a ranked row, where it is that of the row it leads to."""
    if table.period_of is not None:
        return PERIOD
    if table.per is None or table.period is None:
        raise TypeError(f"{table.name} has no periods")
    column = table.columns[table.period]
    low = int(column.bounds[0]) if column.bounds else 0
    return number_sql(table.per.calendar, f"(({packing_of(stored_columns(table)).unpack()[table.period]}) + {low})")


def known_period_sql(table: Table) -> str:
    """SQL for the period of any staged row of a table with a period column: NULL where the day is missing or out of bounds.

    Other columns that drop the row do not matter: rows that are led through it have its period in any case.
    """
    columns = stored_columns(table)
    return f"CASE WHEN {kept_condition({key: columns[key] for key in columns if key == table.period})} THEN {period_sql(table)} END"


def begun_condition(table: Table) -> str:
    """SQL that is true for packed rows of periods that have begun."""
    begun = None if table.per is None else table.per.begun
    return "FALSE" if begun is None else f"{period_sql(table)} BETWEEN {begun[0]} AND {begun[1]}"


def stored_condition(table: Table) -> str:
    """SQL that is true for staged rows of a table with periods that no value drops, of periods that have begun.

    A row that has the period of another one shows it only when that one is looked up.
    """
    if table.period_of is not None:
        return kept_condition(stored_columns(table))
    return f"CASE WHEN {kept_condition(stored_columns(table))} THEN {begun_condition(table)} ELSE FALSE END"
