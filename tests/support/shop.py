"""A shop of several private tables, for joins in any order: customers, their orders, lines of orders, what came back, and cards.

customers  a unit each           orders   of customers, with a key     lines    of those of their order, with a key
cards      of customers          returns  of those of their line       regions  public, two rows for a region
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stored import catalog, category, number, table
from tacit.privacy.catalog import Catalog, Column, Owner
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.question import Question

LIMITS = {"customers": 1, "orders": 12, "lines": 60, "returns": 20, "cards": 3}
KEYS = {"customers": "id", "orders": "customer_id", "cards": "customer_id"}  # columns that name the unit
TIED = {  # columns with one another's values: of which tables, and where preparation keeps one row of a unit for each
    "unit": KEYS,
    "order": {"orders": "order_id", "lines": "order_id"},
    "line": {"lines": "line_id", "returns": "line_id"},
}
UNIQUE = {"orders": "order", "lines": "line"}


class Regions:
    """The facts of the public table: two rows for each region."""

    def columns(self, table: str) -> Mapping[str, Column]:
        return {"region": category("region", "n", "s"), "agent": category("agent", "a", "b", "c")}

    def fan_out(self, table: str, column: str) -> int:
        return {"region": 2, "agent": 1}[column]

    def size(self, table: str) -> int:
        return 3


def shop(limits: Mapping[str, int] = LIMITS, per_group: int | None = None) -> Catalog:
    def made(name: str, *columns: Column, unit: Owner | None = None) -> object:
        limited = per_group if name == "lines" else None
        most = {"max_rows": limits[name], "max_rows_per_group": limited, "rows_at_most": 10**4, "max_joined_rows": 10**6}
        return table(name, Path(f"{name}.csv"), *columns, unit=unit, **most)

    region, agent = category("region", "n", "s"), category("agent", "a", "b", "c")
    return catalog(
        Path(),
        made("customers", Column("id", "key"), region, agent, unit=Owner("id") if limits["customers"] > 1 else None),
        made(
            "orders", Column("order_id", "key"), category("state", "open", "paid"), unit=Owner("customer_id", ("customers", "id"))
        ),
        made("lines", Column("line_id", "key"), number("price", 0, 500), unit=Owner("order_id", ("orders", "order_id"))),
        made("returns", number("refund", 0, 500), unit=Owner("line_id", ("lines", "line_id"))),
        made("cards", number("points", 0, 9), unit=Owner("customer_id", ("customers", "id"))),
        table("regions", Path("regions.csv"), region, agent, public=True),
    )  # type: ignore[arg-type]


def planned(text: str, declared: Catalog) -> Question:
    return rewrite(parse(text), declared, Regions())
