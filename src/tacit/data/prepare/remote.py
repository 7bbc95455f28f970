"""Sources that only the cluster reaches, such as s3a:// URLs: Spark reads their Parquet files, and executors clean the rows.

This machine gets the rows of public tables, and of a private table the first rows, for the examples of the data owner's report.
They lie in the folder of the preparation, which only the owner can open and which is removed afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tacit.data.engine import Workshop
from tacit.data.files.raw import Raw
from tacit.data.files.sources import arrow_columns
from tacit.data.prepare.cluster import Cluster
from tacit.data.prepare.staging import MOST_LOOKED_AT
from tacit.errors import InvalidCatalog, StoreUnusable
from tacit.files import write_scratch
from tacit.privacy.catalog import Catalog, Source, Table


@dataclass(frozen=True, slots=True)
class Remote:
    """The rows of a source as a frame of the cluster, with its columns by case-folded names."""

    frame: Any
    schema: Any

    def columns(self, bench: Workshop) -> dict[str, Raw]:
        """The columns as the embedded engine will see them on an executor."""
        return dict(arrow_columns(bench, self.schema.empty_table()))


def remote_sources(cluster: Cluster, catalog: Catalog) -> dict[str, Remote]:
    """The frames of all tables whose source is a URL; no row is read."""
    return {table.name: _opened(cluster, table) for table in catalog.tables.values() if table.source.remote}


def copied_here(cluster: Cluster, catalog: Catalog, remote: dict[str, Remote], folder: Path) -> Catalog:
    """The catalog with local files as the sources of what is read here."""
    from pyarrow import parquet

    tables = dict(catalog.tables)
    for name, source in remote.items():
        frame = source.frame if tables[name].public else source.frame.limit(MOST_LOOKED_AT)
        place = folder / f"remote-{len(list(folder.iterdir()))}.parquet"
        write_scratch(place, partial(parquet.write_table, cluster.done(frame.toArrow)))
        tables[name] = replace(tables[name], source=Source("parquet", str(place), declared=tables[name].source.declared))
    return replace(catalog, tables=tables)


def _opened(cluster: Cluster, table: Table) -> Remote:
    try:
        frame = cluster.done(lambda: cluster.session.read.parquet(table.source.location))
        return Remote(frame, cluster.done(lambda: frame.limit(0).toArrow().schema))
    except StoreUnusable:
        raise InvalidCatalog(
            f"the cluster cannot read the source of {table.name} as parquet; check `source`, and the rights and types of its files"
        ) from None
