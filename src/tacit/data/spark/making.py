"""A store that a cluster makes: sources that only it reaches, private tables cleaned on its executors, its folder of tables.

Parquet files are read and cleaned on the executors, each part of a file by the SQL that this machine would run, with the hash of
every row. CSV files, databases and frames, which only this machine reaches, are cleaned here, and the cluster gets the rows.

Of sources that only the cluster reaches, such as s3a:// URLs, Spark reads the Parquet files, and executors clean the rows.
This machine gets the rows of public tables, and of a private table the first rows, for the examples of the data owner's report.
They lie in the folder of the preparation, which only the owner can open and which is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tacit.data.dialect import DUCKDB
from tacit.data.engine import EngineError, OutOfMemory, Workshop
from tacit.data.files.raw import Raw
from tacit.data.files.sources import (
    Rows,
    arrow_columns,
    check_parquet_columns,
    mended_columns,
    mended_types,
    parquet_columns,
    source_files,
)
from tacit.data.ownership import key_name, key_sql, own_key, staged_name
from tacit.data.prepare import Making
from tacit.data.prepare.packing import KeyForm, Keys, Packing, packing_of, settle_keys
from tacit.data.prepare.ranking import Ranking
from tacit.data.prepare.staging import (
    MOST_LOOKED_AT,
    UNREADABLE,
    fate_name,
    private_tables,
    stage,
    stage_all,
    staged_rows,
    stored_columns,
    unusable,
    wanted_kinds,
)
from tacit.data.spark.cluster import Cluster, Made, TaskFailed
from tacit.data.spark.executors import ROWS, Part, Work, cleaned_batches, cleaned_parts
from tacit.data.spark.session import Reach, cores, started
from tacit.data.store import (
    BEGINNING,
    FILE_ROWS,
    TABLES,
    ParquetStore,
    StoreInfo,
    details_of,
    parquet_store,
    store_file,
)
from tacit.errors import InvalidCatalog, StoreUnusable
from tacit.files import replace_file, write_scratch
from tacit.mechanisms.noise import bits
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
    return {table.name: _open_remote(cluster, table) for table in catalog.tables.values() if table.source.remote}


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


def _open_remote(cluster: Cluster, table: Table) -> Remote:
    try:
        frame = cluster.done(lambda: cluster.session.read.parquet(table.source.location))
        return Remote(frame, cluster.done(lambda: frame.limit(0).toArrow().schema))
    except StoreUnusable:
        raise InvalidCatalog(
            f"the cluster cannot read the source of {table.name} as parquet; check `source`, and the rights and types of its files"
        ) from None


# --- private tables, cleaned on the executors --------------------------------------------------------------------------------


PART_BYTES = 1 << 27  # of a Parquet file, before compression, that one task cleans


@stage_all.register
def _(maker: Cluster, catalog: Catalog, reach: frozenset[str], key: str) -> Keys:
    """The type of all keys is known before any row is read on the cluster, since its files are typed; the hash depends on it."""
    plans: dict[str, Plan] = {}
    forms: dict[str, dict[str, KeyForm]] = {}
    for table, keys in private_tables(catalog):
        if table.name in reach:
            plans[table.name] = plan = _plan_table(maker, catalog, table, keys)
            forms[table.name] = dict(plan.forms)
        else:
            forms[table.name] = stage(maker.bench, catalog, table, keys)
    held = settle_keys(maker.bench, catalog.tables, forms)
    for table, _ in private_tables(catalog):
        finishing = Finishing(table, held, forms[table.name])
        if table.name in reach:
            _cleaned_on_executors(maker, plans[table.name], finishing, key)
        else:
            query = finishing.query(staged_name(table))
            maker.load(staged_name(table), query, finishing.secrets(key), finishing.schema())
    types = maker.words.types
    texts = held.as_text or held.type == DUCKDB.types.text
    return Keys(types.text if texts else types.wide if held.type == DUCKDB.types.wide else types.whole)


@dataclass(frozen=True, slots=True)
class Finishing:
    """The form in which a staged row goes to the cluster: keys, fates, packed values, and its place in the order of its unit."""

    table: Table
    keys: Keys
    forms: Mapping[str, KeyForm]

    def query(self, staged: str) -> str:
        """SQL of the embedded engine for the rows of a staged table, or of a query in parentheses.

        A key keeps its type, by which ties are ordered; a number that stands for a text is that text.
        """
        texts, types = self.keys.texts_of(self.table), DUCKDB.types
        kinds = {key_name(key): types.text if key in texts else form.type for key, form in self.forms.items()}
        keys = [f"CAST({key} AS {_type_to_send(kind)}) AS {key}" for key, kind in kinds.items()]
        fates = [fate_name(key) for key in stored_columns(self.table)]
        small, packed = [f"CAST({fate} AS SMALLINT) AS {fate}" for fate in fates], self._row_packing.names
        if own_key(self.table) is None:
            return f"SELECT {', '.join([*keys, *small, *packed]) or '0 AS tacit_row'} FROM {staged}"
        rows = f"SELECT *, {self._row_ranking.own_key} AS tacit_holder FROM {staged}"
        placed = self._row_ranking.places(rows, [*kinds, *fates, *packed])
        return f"SELECT {', '.join([*keys, *small, *packed, 'tacit_place'])} FROM ({placed})"

    def secrets(self, key: str) -> Mapping[str, int | str]:
        """The parameters of that query, derived from the ranking key."""
        return self._row_ranking.secrets(key) if own_key(self.table) else {}

    def schema(self) -> Any:
        """The columns of that query as Spark names their types."""
        from pyspark.sql import types as spark

        texts = self.keys.texts_of(self.table)
        of_key = {"BIGINT": spark.LongType(), "HUGEINT": spark.DecimalType(38, 0), "VARCHAR": spark.StringType()}
        keys = {key_name(key): of_key["VARCHAR" if key in texts else form.type] for key, form in self.forms.items()}
        fates = {fate_name(key): spark.ShortType() for key in stored_columns(self.table)}
        numbers = len(self._row_packing.numbers)
        packed = {
            column: spark.LongType() if place < numbers else spark.StringType()
            for place, column in enumerate(self._row_packing.names)
        }
        place = {"tacit_place": spark.LongType()} if own_key(self.table) else {}
        columns = {**keys, **fates, **packed, **place} or {"tacit_row": spark.IntegerType()}
        return spark.StructType([spark.StructField(_bare_name(column), kind) for column, kind in columns.items()])

    @property
    def _row_packing(self) -> Packing:
        return packing_of(stored_columns(self.table), DUCKDB)

    @property
    def _row_ranking(self) -> Ranking:
        """How the embedded engine finds the place of a row; the cluster does the rest."""
        return Ranking(self._row_packing, key_sql(own_key(self.table), self.keys.type), self.keys, None, self.table.max_rows)


def _type_to_send(kind: str) -> str:
    """The type in which a key goes to the cluster: Parquet and Arrow have no integers of 128 bits."""
    return "DECIMAL(38, 0)" if kind == DUCKDB.types.wide else kind


def _bare_name(column: str) -> str:
    return column[1:-1].replace('""', '"') if column.startswith('"') else column


@dataclass(frozen=True, slots=True)
class Plan:
    """How the files of a table are cleaned on executors: the columns that they read, the SQL, and what it needs."""

    table: Table
    files: tuple[Path, ...]
    raws: Mapping[str, Raw]
    query: str
    listings: tuple[str, ...]
    forms: Mapping[str, KeyForm]
    keys: tuple[str, ...]
    mended: tuple[tuple[str, ...], Mapping[str, str]] | None = None


def _plan_table(cluster: Cluster, catalog: Catalog, table: Table, keys: tuple[str, ...]) -> Plan:
    bench, remote = cluster.bench, cluster.remote.get(table.name)
    with _in_words_of(table):
        if remote is not None:
            return _plan(bench, table, keys, ((), remote.columns(bench)), None)
        files = source_files(catalog, table.source)
        check_parquet_columns(files, wanted_kinds(table, keys))
        raws = parquet_columns(bench, files)
        return _plan(bench, table, keys, (tuple(files), raws), None)


def _mended_plan(bench: Workshop, plan: Plan) -> Plan:
    """The same with texts and moments from the reader that accepts all of them."""
    with _in_words_of(plan.table):
        wanted = wanted_kinds(plan.table, plan.keys)
        texts, moments = mended_columns(list(plan.files), plan.raws, wanted)
        mended = {key: replace(plan.raws[key], type=kind) for key, kind in mended_types(bench, texts, moments).items()}
        return _plan(bench, plan.table, plan.keys, (plan.files, {**plan.raws, **mended}), (tuple(texts), moments))


def _plan(bench: Workshop, table: Table, keys: tuple[str, ...], source: Any, mended: Any) -> Plan:
    files, raws = source
    bench.listings.clear()
    query, forms = staged_rows(bench, table, keys, Rows(ROWS, raws))
    read = {key: raws[key] for key in wanted_kinds(table, keys)}
    return Plan(table, files, read, query, tuple(bench.listings.values()), forms, keys, mended)


@contextmanager
def _in_words_of(table: Table) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except OutOfMemory:
        raise
    except EngineError as error:
        raise unusable(table, error) from None
    except (*UNREADABLE, pa.ArrowException):
        raise InvalidCatalog(f"the source of {table.name} cannot be read as parquet; check its files") from None


def _cleaned_on_executors(cluster: Cluster, plan: Plan, finishing: Finishing, key: str) -> None:
    try:
        _clean(cluster, plan, finishing, key)
    except TaskFailed as failed:
        if failed.code != "value" or plan.mended is not None or not plan.files:
            raise _task_error(plan.table, failed.code) from None
        mended = _mended_plan(cluster.bench, plan)
        _cleaned_on_executors(cluster, mended, finishing, key)


def _clean(cluster: Cluster, plan: Plan, finishing: Finishing, key: str) -> None:
    import pyarrow as pa

    columns = {column: (_bare_name(raw.sql), raw.type) for column, raw in plan.raws.items()}
    texts, moments = plan.mended or (None, {})
    query = finishing.query(f"({plan.query})")
    work = Work(duckdb.__version__, plan.listings, query, finishing.secrets(key), columns, texts, moments)
    if remote := cluster.remote.get(plan.table.name):
        chosen = remote.frame.select(*(f"`{column.replace('`', '``')}`" for column, _ in columns.values()))
        schema = pa.schema([remote.schema.field(column) for column, _ in columns.values()])
        frame, make = chosen, partial(cleaned_batches, schema=schema)
    else:
        with _in_words_of(plan.table):
            parts = _parts(plan)
        frame, make = cluster.session.range(0, len(parts), 1, len(parts)), partial(cleaned_parts, parts=parts)
    cluster.keep_made(staged_name(plan.table), Made(frame, work, make, finishing.schema()), f"reading {plan.table.name}")


def _parts(plan: Plan) -> list[Part]:
    """The files in parts for tasks: whole row groups; where texts are mended whole files, which are read from the beginning."""
    import pyarrow.parquet as pq

    parts: list[Part] = []
    for file in plan.files:
        about, first, last, size = pq.read_metadata(file), 0, 0, 0
        for place in range(about.num_row_groups if plan.mended is None else 0):
            group = about.row_group(place)
            last, size = last + group.num_rows, size + group.total_byte_size
            if size >= PART_BYTES:
                parts.append(Part(str(file), first, last))
                first, size = last, 0
        if first < about.num_rows or not about.num_rows:
            parts.append(Part(str(file), first, about.num_rows))
    return parts


def _task_error(table: Table, code: str) -> Exception:
    if code == "file":
        return InvalidCatalog(
            f"the executors cannot read the source of {table.name}; put it where every worker reads it under the same path"
        )
    if code in ("value", "engine"):
        return InvalidCatalog(f"the source of {table.name} cannot be read as parquet; check its files")
    return StoreUnusable("the executors failed while preparing; the old store stays", remedy="check the logs of the cluster")


# --- the folder of tables ----------------------------------------------------------------------------------------------------


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
            yield Making(cluster, partial(_describe_store, cluster, catalog, folder), near, partial(cluster.remove, old), notes)
    except BaseException:
        cluster.remove(cluster.tables)
        raise
    finally:
        cluster.remove(working)


def _missing_cores(catalog: Catalog, available: int) -> tuple[str, ...]:
    """A note if more cores are declared than the cluster has now; questions are admitted by what is declared all the same."""
    if (catalog.cores or 1) <= available:
        return ()
    what = f"[store] cores declares {catalog.cores}, and the cluster has {available} now"
    return (f"{what}: large questions can time out; declare what the cluster always has",)


def _place(catalog: Catalog, declared: str) -> str:
    return (declared if "://" in declared else str(catalog.folder / declared)).rstrip("/")


def _described_folder(catalog: Catalog) -> str | None:
    """The folder of the tables that the new ones will replace, if a preparation wrote it."""
    with suppress(StoreUnusable):
        folder = parquet_store(store_file(catalog)).folder
        return folder if folder.rpartition("/")[2].startswith(TABLES) else None
    return None


def _describe_store(cluster: Cluster, catalog: Catalog, folder: Path, info: StoreInfo) -> None:
    """Copy the public tables, and write what names the folder."""
    for table in (table.name for table in catalog.tables.values() if table.public):
        cluster.copy(table)
    described = ParquetStore(info.version, info.prepared_at, cluster.tables, details_of(info), FILE_ROWS)
    replace_file(folder / store_file(catalog).name, described.written())
