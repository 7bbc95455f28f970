"""The catalog as analysts see it: tables, columns, units and limits as plain values; no source, and no number of private rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from tacit.privacy.catalog import Catalog, Column, Table, day_of
from tacit.privacy.rounding import decimal_text
from tacit.untrusted import table_for_html


class Held(Protocol):
    """The public tables as they are held."""

    def columns(self, table: str) -> Any:
        """The columns of a public table, by name."""

    def size(self, table: str) -> int:
        """The rows of a public table."""


def declared_tables(catalog: Catalog, public: Held) -> list[dict[str, Any]]:
    """Every table with all that is declared of it, by name.

    The column of the privacy unit is one of the columns, of kind "key", so that a reader finds what its references start from.
    """
    return [_table(table, public) for _, table in sorted(catalog.tables.items())]


def _table(table: Table, public: Held) -> dict[str, Any]:
    if table.public:
        columns = [_column(each) for each in public.columns(table.name).values()]
        return {"name": table.name, "public": True, "rows": public.size(table.name), "columns": columns}
    own = table.unit
    unit = None if own is None else {"column": own.column, "references": own.references}
    limits = {name: getattr(table, name) for name in ("max_rows", "rows_at_most", "min_people")}
    limits |= {"period": table.period} if table.per is not None else {}
    limits |= {"period_of": table.period_of.name} if table.period_of is not None else {}
    limits |= {"max_rows_per_group": table.rows_per_group, "max_joined_rows": table.most_joined_rows}
    columns = [_column(each) for each in table.columns.values()]
    if own is not None and all(column["name"].lower() != own.column.lower() for column in columns):
        columns.insert(0, _unit_column(own.column))
    return {"name": table.name, "public": False, "unit": unit, **limits, "no_unit": table.no_unit, "columns": columns}


def _unit_column(name: str) -> dict[str, Any]:
    return {"name": name, "kind": "key", "bounds": None, "step": None, "values": None, "nullable": False, "longest": None}


def _column(column: Column) -> dict[str, Any]:
    number = column.kind in ("number", "date")
    return {
        "name": column.name,
        "kind": column.kind,
        "bounds": None if column.bounds is None else [_bound(column, bound) for bound in column.bounds],
        "step": None if column.step is None or not number else decimal_text(column.step),
        "values": list(column.domain) if column.kind == "category" else None,
        "nullable": column.nullable,
        "longest": column.longest if column.kind == "text" else None,
    }


def _bound(column: Column, bound: Fraction) -> str:
    return day_of(int(bound)).isoformat() if column.kind == "date" else decimal_text(bound)


# --- in a notebook -----------------------------------------------------------------------------------------------------------


def tables_for_html(title: str, tables: Sequence[Mapping[str, Any]]) -> str:
    """The declarations of tables for a notebook; never a number of rows."""
    rows = [(str(table["name"]), _unit_words(table), _column_words(table["columns"])) for table in tables]
    return table_for_html([("table", False), ("one unit", False), ("columns", False)], rows, [title])


def _unit_words(table: Mapping[str, Any]) -> str:
    if table["public"]:
        return "public"
    unit = table.get("unit")
    return (
        "a row" if unit is None else f"{unit['column']}, at most {table['max_rows']} rows" if table["max_rows"] else unit["column"]
    )


def _column_words(columns: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(_one_column(column) for column in columns)


def _one_column(column: Mapping[str, Any]) -> str:
    if column["bounds"]:
        return f"{column['name']} [{column['bounds'][0]}, {column['bounds'][1]}]"
    values = column["values"]
    return f"{column['name']} ({len(values)} values)" if values else str(column["name"])
