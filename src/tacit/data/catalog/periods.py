"""Periods in tacit.toml: `per`, `closed`, `zone` and `lifetime` of [budget], and the `period` of each private table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tacit.data.declaration import BROKEN, Reading, Wrong, folded, key_text
from tacit.data.ownership import links
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.privacy.arguments import text_of
from tacit.privacy.catalog import Catalog, Column, Table, day_number, day_of, having_begun
from tacit.privacy.periods import MOST_PERIODS, Calendar, Per, Run
from tacit.privacy.rounding import exact

NEED_PER = ("closed", "zone", "lifetime")
ADD_PER = 'add per = "month" to [budget], or take this line away'
LINKS = ("localtime", "posixrules", "Factory")  # names that mean another zone on another machine, or none

Declared = Mapping[str, Any]


def with_periods(declared: Declared, catalog: Catalog, reading: Reading) -> Catalog:
    """The catalog with its periods; problems are reported."""
    budget = declared["budget"]
    if "per" not in budget:
        for key in (key for key in NEED_PER if key in budget):
            reading.report(("budget", key), "needs per", ADD_PER)
        for name in (name for name, table in catalog.tables.items() if table.period is not None):
            reading.report(("tables", name, "period"), "needs per in [budget]", ADD_PER)
        if reading.problems:
            raise reading.unusable(catalog.file)
        return catalog
    per = reading.attempt(("budget",), partial(_per, budget))
    _check_catalog(catalog, reading)
    if per is BROKEN:
        raise reading.unusable(catalog.file)
    tables = {
        name: replace(table, period=None if table.period is None else folded(table.period))
        for name, table in catalog.tables.items()
    }
    tables = {name: _in_zone(table, per.zone) for name, table in tables.items()}
    catalog = replace(catalog, tables=tables)
    tables = {name: replace(table, period_of=_led_by(table, catalog)) for name, table in tables.items()}
    whole = having_begun(replace(catalog, tables=tables), per)
    for name, table in tables.items():
        reading.attempt(("tables", name), partial(_check_table, table, per))
    if not any(table.period for table in tables.values()):
        reading.report(("budget", "per"), "needs a table with a period", 'write period = "day" in a private table, its date column')
    if reading.problems:
        raise reading.unusable(catalog.file)
    return whole


def _per(budget: Declared) -> Per:
    calendar = _calendar(budget["per"])
    zone = budget.get("zone")
    if zone is not None and not is_zone(zone):
        what = "is not a time zone of the IANA database as this machine has it"
        raise Wrong("zone", what, 'write for example zone = "Europe/Zurich"; where no zone is known, install the package tzdata')
    try:
        closed = calendar.numbered(budget["closed"]) if "closed" in budget else None
    except InvalidInput as wrong:
        raise Wrong("closed", str(wrong).partition("; ")[0], f"name a {calendar.word}") from None
    lifetime = budget.get("lifetime")
    caps = None if lifetime is None else (exact(lifetime["epsilon"]), exact(lifetime.get("delta", 0)))
    return Per(calendar, caps, closed, zone=zone)


def is_zone(name: str) -> bool:
    """Whether a name is one of the IANA database, and means the same zone everywhere.

    >>> is_zone("Europe/Zurich"), is_zone("localtime"), is_zone("../etc/passwd")
    (True, False, False)
    """
    if (
        name in LINKS
        or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", name)
        or name.startswith(("posix/", "right/"))
    ):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return False
    return True


def _in_zone(table: Table, zone: str | None) -> Table:
    """A private table whose moments become days in the declared zone."""
    if table.public or zone is None:
        return table
    return replace(
        table, columns={key: replace(each, zone=zone) if each.kind == "date" else each for key, each in table.columns.items()}
    )


def _calendar(declared: Any) -> Calendar:
    if isinstance(declared, str):
        return Calendar(declared)  # type: ignore[arg-type]  # the schema lists them
    try:
        return Calendar("days", declared["days"], day_number(date.fromisoformat(declared["from"])))
    except ValueError:
        raise Wrong("per", "does not begin at a day", 'write for example per = { days = 30, from = "2024-01-01" }') from None


def _check_catalog(catalog: Catalog, reading: Reading) -> None:
    """Combinations that have no proof, or would tell more than they cost."""
    if catalog.change == "change-one":
        what = 'cannot be "change-one" with per: a changed row may change its period'
        reading.report(("neighbours",), what, 'write neighbours = "add-remove"')
    if catalog.changes == "public":
        what = 'cannot be "public" with per: that a late row came would show in the version of its period'
        reading.report(("store", "changes"), what, 'write changes = "private"')
    if catalog.store_engine != "duckdb":
        what = "is not supported with per: periods are prepared and read by the embedded engine alone"
        reading.report(("store", "engine"), what, 'write engine = "duckdb", or take per away')


def _led_by(table: Table, catalog: Catalog) -> Table | None:
    """The table with a period in which the unit is looked up: then a row has the period of the row that it leads to."""
    way = () if table.public else links(catalog, table)
    return next((link.table for link in way if link.table.period), None)


def _check_table(table: Table, per: Per) -> None:
    if table.period is None:
        return
    if table.period_of is not None:
        led = key_text([table.period_of.name])
        what = f"cannot be declared: the unit is looked up in {led}, so a row has the period of the row of {led} that it leads to"
        raise Wrong("period", what, "take this line away; the date stays a column like others")
    column = table.columns.get(table.period)
    if column is None or column.kind != "date":
        line = f'{key_text([table.period])} = {{ type = "date", bounds = ["2024-01-01", "2033-12-31"], outside = "drop", ... }}'
        raise Wrong("period", "must name a declared date column", f"declare for example {line}")
    _check_column(column, per)


def _check_column(column: Column, per: Per) -> None:
    if column.outside != "drop" or column.nulls != "drop":
        what = "must be a column whose every stored row has a day within its bounds"
        raise Wrong("period", what, f'write outside = "drop" and nulls = "drop" for {key_text([column.name])}')
    low, high = (day_of(int(bound)) for bound in column.bounds or ())
    if per.calendar.number(high) - per.calendar.number(low) >= MOST_PERIODS:
        raise Wrong("period", f"has bounds of more than {MOST_PERIODS:,} periods", "declare tighter bounds, or longer periods")


def begun_through(catalog: Catalog, through: str | None, before: Run | None) -> Catalog:
    """The catalog after the owner's word that periods have begun through a named one; by default those that had begun `before`.

    The first one is that of the least lower bound of a period column. Periods that have begun stay begun.
    """
    per = catalog.per
    if per is None:
        if through is not None:
            raise InvalidInput('through needs per in [budget]; add per = "month", or leave it out', argument="through")
        return catalog
    calendar, first = per.calendar, first_period(catalog)
    example = calendar.name(first)
    if through is None and before is None:
        raise InvalidInput(f"say which periods have begun: give the last one, for example through={example!r}", argument="through")
    last = before[1] if through is None and before is not None else calendar.numbered(text_of(through, "through"))
    if before is not None and last < before[1]:
        raise InvalidInput(
            f"{calendar.name(before[1])} has begun, and periods that have begun stay begun; give it or a later one",
            argument="through",
        )
    if not first <= last < first + MOST_PERIODS:
        raise InvalidInput(
            f"through must name a period from {example} on, the first by the bounds of period columns; correct it, or the bounds",
            argument="through",
        )
    if per.closed is not None and per.closed > last:
        raise InvalidCatalog(
            f"{calendar.name(per.closed)} is closed and has not begun; lower closed in [budget], or begin it: through"
        )
    return having_begun(catalog, replace(per, begun=(first, last)))


def first_period(catalog: Catalog) -> int:
    """The first period that a table can have a row of: it and all later ones begin by the owner's word."""
    dated = [
        (table.per.calendar, table.columns[table.period].bounds) for table in catalog.tables.values() if table.per and table.period
    ]
    return min(calendar.number(day_of(int(bounds[0]))) for calendar, bounds in dated if bounds is not None)
