"""Which engine makes a catalog's store, and the folder in which its tables lie: nothing half written becomes a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tacit.data.engine import Maker, Workshop
from tacit.data.parquet_store import FILE_ROWS, TABLES, ParquetStore, parquet_store
from tacit.data.prepare.cluster import Cluster
from tacit.data.prepare.remote import copied_here, remote_sources
from tacit.data.spark_session import Reach, cores, started
from tacit.data.store import BEGINNING, StoreInfo, details_of, store_file, write_info
from tacit.errors import StoreUnusable
from tacit.files import replace_file
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Making:
    """The engine that makes a store, and what it does besides.

    `describe` writes the description of the finished store, `near` gives the catalog with sources that this machine reads, and
    `replaced` removes what the new store has replaced. `notes` are for the data owner.
    """

    maker: Maker
    describe: Callable[[StoreInfo], None]
    near: Callable[[Catalog], Catalog]
    replaced: Callable[[], object] = lambda: None
    notes: tuple[str, ...] = ()


@contextmanager
def made_here(bench: Workshop, catalog: Catalog, folder: Path) -> Iterator[Making]:
    """By the embedded engine, in one file."""
    with bench.store(folder / store_file(catalog).name):
        yield Making(bench, lambda info: write_info(bench.engine, "store", info), lambda given: given)


@contextmanager
def made_on_spark(bench: Workshop, catalog: Catalog, folder: Path) -> Iterator[Making]:
    """By a cluster, in a new folder of Parquet tables, which its description names; the description is written last.

    If anything fails, the folder is removed. Public tables are prepared here and copied.
    """
    session, mark = started(catalog.store_master, reach=Reach(catalog.reach_seconds)), bits.random_bytes(8).hex()
    base = str(catalog.store_folder) if catalog.store_parquet is None else _place(catalog, catalog.store_parquet)
    working = str(folder / "spark") if catalog.store_parquet is None else f"{base}/{BEGINNING}{mark}"
    cluster, old = Cluster(bench, session, working, f"{base}/{TABLES}{mark}"), _described_folder(catalog)
    if "://" not in base:
        for place in (cluster.tables, working):
            Path(place).mkdir(mode=0o700, parents=True)
    try:
        with bench.store(folder / "public.duckdb"):
            cluster.remote = remote = remote_sources(cluster, catalog)
            near = partial(copied_here, cluster, remote=remote, folder=folder)
            notes = _missing_cores(catalog, cores(session))
            yield Making(cluster, partial(_described, cluster, catalog, folder), near, partial(cluster.remove, old), notes)
    except BaseException:
        cluster.remove(cluster.tables)
        raise
    finally:
        cluster.remove(working)


def _missing_cores(catalog: Catalog, found: int) -> tuple[str, ...]:
    """A note if more cores are declared than the cluster has now; questions are admitted by what is declared all the same."""
    if (catalog.cores or 1) <= found:
        return ()
    what = f"[store] cores declares {catalog.cores}, and the cluster has {found} now"
    return (f"{what}: large questions can time out; declare what the cluster always has",)


def _place(catalog: Catalog, declared: str) -> str:
    return (declared if "://" in declared else str(catalog.folder / declared)).rstrip("/")


def _described_folder(catalog: Catalog) -> str | None:
    """The folder of the tables that the new ones will replace, if a preparation wrote it."""
    with suppress(StoreUnusable):
        folder = parquet_store(store_file(catalog)).folder
        return folder if folder.rpartition("/")[2].startswith(TABLES) else None
    return None


MAKING: Mapping[str, Callable[[Workshop, Catalog, Path], AbstractContextManager[Making]]] = {
    "duckdb": made_here,
    "spark": made_on_spark,
}


def _described(cluster: Cluster, catalog: Catalog, folder: Path, info: StoreInfo) -> None:
    """Copy the public tables, and write what names the folder."""
    for table in (table.name for table in catalog.tables.values() if table.public):
        cluster.copy(table)
    described = ParquetStore(info.version, info.prepared_at, cluster.tables, details_of(info), FILE_ROWS)
    replace_file(folder / store_file(catalog).name, described.written())
