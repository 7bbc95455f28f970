"""How many units the private tables have in common, for the data owner alone: a mistyped key has no unit in common.

The counts are of units with a row that no value drops. They do not affect what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from tacit.data.engine import Maker
from tacit.data.ownership import own_key
from tacit.data.prepare.verdict import Sharing
from tacit.privacy.catalog import Catalog, Table


def sharing(workshop: Maker, catalog: Catalog, ranked: Mapping[str, str]) -> tuple[Sharing, ...]:
    """Every pair of tables with named units; `ranked` are the engine's tables of their rows, by table name."""
    if len(ranked) < 2:
        return ()
    units = {table: f"SELECT tacit_holder FROM {rows} WHERE tacit_rank = 0" for table, rows in ranked.items()}
    counts = {table: int(workshop.rows(f"SELECT count(*) FROM ({holders})")[0][0]) for table, holders in units.items()}
    found = []
    for one, other in combinations(ranked, 2):
        both = f"SELECT count(*) FROM ({units[one]}) JOIN ({units[other]}) USING (tacit_holder)"
        shared, because = int(workshop.rows(both)[0][0]), _because(catalog, catalog.tables[one], catalog.tables[other])
        found.append(Sharing((one, other), (counts[one], counts[other]), shared, because))
    return tuple(found)


def _because(catalog: Catalog, one: Table, other: Table) -> str:
    """Why two tables should have units in common, according to the catalog alone."""
    for here, there in ((one, other), (other, one)):
        if there.name in _led_to(catalog, here):
            return f"{here.name} refers to {there.name}"
    return f"both have the key {own_key(one)}" if own_key(one) == own_key(other) else ""


def _led_to(catalog: Catalog, table: Table) -> set[str]:
    """The tables that a table refers to, directly or through others."""
    found: set[str] = set()
    while table.unit is not None and table.unit.references is not None and table.unit.references[0] not in found:
        table = catalog.tables[table.unit.references[0]]
        found.add(table.name)
    return found
