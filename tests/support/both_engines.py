"""Preparation on both engines: what each store has, without the names of units and codes, which mean nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from equality import EQUAL
from tacit.data.ownership import code_name, coded_keys
from tacit.data.prepare import prepare
from tacit.data.prepare.ranking import KEY_FILE
from tacit.data.prepare.verdict import Prepared
from tacit.data.store import open_store, parquet_store, store_file
from tacit.privacy.catalog import Catalog

Rows = list[dict[str, Any]]
MASTER = "local[2]"
LIGHT = {  # for a few rows, compiling a plan costs more than running it
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
}


def keyed(declared: Catalog) -> Catalog:
    """The catalog, with a known ranking key: both engines keep the same rows."""
    declared.kept.mkdir(exist_ok=True)
    (declared.kept / KEY_FILE).write_text("0123456789abcdef" * 2)
    return declared


def on_spark(catalog: Catalog) -> Catalog:
    """The same catalog, prepared by a cluster that is this machine."""
    return replace(catalog, store_engine="spark", store_master=MASTER)


def in_duckdb(catalog: Catalog) -> dict[str, Rows]:
    """The rows of every table of a store in a DuckDB file."""
    with open_store(store_file(catalog)) as engine:
        return {name: engine.sql(f'SELECT * FROM "{name}"').to_arrow_table().to_pylist() for name in catalog.tables}


def in_parquet(catalog: Catalog) -> dict[str, Rows]:
    """The rows of every table of a store in Parquet; the types of columns are those of the embedded engine's store."""
    store = parquet_store(store_file(catalog))
    found = {name: pq.read_table(store.table(name)) for name in catalog.tables}
    for table in found.values():
        assert {str(kind) for kind in table.schema.types} <= {"int64", "string"}, table.schema
    return {name: table.to_pylist() for name, table in found.items()}


def holdings(catalog: Catalog, rows: dict[str, Rows]) -> Counter[Any]:
    """What every unit has in all private tables, in the order of ranks; codes are named in the order in which they appear there.

    A code belongs to one unit, so that order is the same whatever the codes are called.
    """
    spaces = coded_keys(catalog)
    named = {name: {code_name(column): space for column, space in columns.items()} for name, columns in spaces.items()}
    units: dict[int, list[Any]] = defaultdict(list)
    labels: dict[int, dict[Any, int]] = defaultdict(dict)
    owners: dict[Any, int] = {}
    for name in sorted(spaces):
        for row in sorted(rows[name], key=lambda row: (row["tacit_unit"], row["tacit_rank"])):
            unit, held = row["tacit_unit"], {}
            for column, value in row.items():
                if column in named[name] and value is not None:
                    code = (named[name][column], value)
                    assert owners.setdefault(code, unit) == unit, "a code belongs to one unit"
                    held[column] = labels[unit].setdefault(code, len(labels[unit]))
                elif column != "tacit_unit":
                    held[column] = value
            units[unit].append((name, tuple(sorted(held.items()))))
    assert sorted(units) == list(range(len(units))), "units have one numbering, without gaps"
    return Counter(map(tuple, units.values()))


def public(catalog: Catalog, rows: dict[str, Rows]) -> dict[str, list[str]]:
    return {table.name: sorted(map(repr, rows[table.name])) for table in catalog.tables.values() if table.public}


def compare(catalog: Catalog, **how: Any) -> tuple[Prepared, Prepared]:
    """Prepare on both engines, and require the same stores and reports."""
    cluster = on_spark(catalog)
    expected, found = prepare(catalog, **how), prepare(cluster, **how)
    one, other = in_duckdb(catalog), in_parquet(cluster)
    for name in catalog.tables:
        assert len(one[name]) == len(other[name]), name
        assert sorted({key for row in one[name] for key in row}) == sorted({key for row in other[name] for key in row}), name
    assert public(catalog, other) == public(catalog, one)
    assert holdings(catalog, other) == holdings(catalog, one)
    assert found.tables == tuple(replace(each, alike={}) for each in expected.tables)  # a cluster does not look for spellings
    assert (found.sharing, found.alarms) == (expected.sharing, expected.alarms)
    EQUAL["preparations"] += 1
    return expected, found


def columns_of(file: Path) -> list[tuple[str, str]]:
    """The names and types of the columns of a Parquet file or folder, as the embedded engine says them."""
    source = str(file / "*.parquet") if file.is_dir() else str(file)
    return [(name, kind) for name, kind, *_ in duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{source}')").fetchall()]
