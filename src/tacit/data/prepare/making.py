"""Which engine makes a catalog's store, and the folder in which its tables lie: nothing half written becomes a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tacit.data.engine import Maker, Workshop
from tacit.data.parquet_store import TABLES, ParquetStore
from tacit.data.prepare.cluster import Cluster
from tacit.data.quoting import text
from tacit.data.spark_session import started
from tacit.data.store import StoreInfo, details_of, store_file, write_info
from tacit.files import replace_file
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Making:
    """The engine that makes a store, and how the finished store is described."""

    maker: Maker
    describe: Callable[[StoreInfo], None]


@contextmanager
def made_here(bench: Workshop, catalog: Catalog, folder: Path) -> Iterator[Making]:
    """By the embedded engine, in one file."""
    with bench.store(folder / store_file(catalog).name):
        yield Making(bench, lambda info: write_info(bench.engine, "store", info))


@contextmanager
def made_on_spark(bench: Workshop, catalog: Catalog, folder: Path) -> Iterator[Making]:
    """By a cluster, in a new folder of Parquet tables, which its description names; the description is written last.

    A folder that no description names is removed, at the end or by the next preparation. Public tables are prepared here and
    copied.
    """
    session = started(catalog.store_master)
    tables = catalog.store_folder / f"{TABLES}{bits.random_bytes(8).hex()}"
    tables.mkdir(mode=0o700)
    cluster = Cluster(bench, session, str(folder / "spark"), str(tables))
    with bench.store(folder / "public.duckdb"):
        yield Making(cluster, lambda info: _described(cluster, catalog, folder, info))


MAKING: Mapping[str, Callable[[Workshop, Catalog, Path], AbstractContextManager[Making]]] = {
    "duckdb": made_here,
    "spark": made_on_spark,
}


def _described(cluster: Cluster, catalog: Catalog, folder: Path, info: StoreInfo) -> None:
    """Copy the public tables, and write what names the folder."""
    for table in (table.name for table in catalog.tables.values() if table.public):
        place = text(f"{cluster.tables}/{table.lower()}.parquet")
        cluster.bench.run(f"COPY {cluster.bench.stored(table)} TO {place} (FORMAT parquet)")
    described = ParquetStore(info.version, info.prepared_at, cluster.tables, details_of(info))
    replace_file(folder / store_file(catalog).name, described.written())
