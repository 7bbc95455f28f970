"""A Spark cluster that makes a store: SQL over whole tables, whose rows the embedded engine has cleaned.

Every intermediate table is written as Parquet before it is used. So a task that the cluster repeats reads the same rows again, and
a number that a row was given stays its own, whichever executors come and go.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import accumulate, count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb

from tacit.data.dialect import SPARK, Dialect, name, text
from tacit.data.engine import SETTINGS as EMBEDDED
from tacit.data.engine import ByHolder, Parameters, Workshop, watched
from tacit.data.spark.executors import CODE, KEPT, ROWS, Batches, Work, finished_batches
from tacit.data.spark.session import functions_of
from tacit.data.store import FILE_ROWS
from tacit.errors import StoreUnusable

QUOTED = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")*)\"")


def spell_for_spark(query: str, views: Mapping[str, str]) -> str:
    """SQL with names as Spark quotes them, and with the names of its views.

    >>> print(spell_for_spark('SELECT "a ""b" FROM "tacit_staged x" WHERE c <> "d"', {"tacit_staged x": "tacit_view_0"}))
    SELECT `a "b` FROM tacit_view_0 WHERE c <> `d`
    """

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        identifier = match[1].replace('""', '"')
        return views.get(identifier) or f"`{identifier.replace('`', '``')}`"

    return QUOTED.sub(one, query)


# --- failures, in words for the data owner -----------------------------------------------------------------------------------


LONGEST_ALONE = 300.0  # seconds without executors: a cluster that grows on demand needs minutes to start some


class Gone:
    """A watch over a cluster while it works: a driver whose executors are all lost would wait for new ones for ever."""

    def __init__(self, session: Any) -> None:
        self._session, self._view_at, self._looked = session, time.monotonic(), time.monotonic()

    def look(self) -> None:
        """Raises an error if there has been no executor for a long time; looks once a second."""
        now = time.monotonic()
        if now - self._looked < 1.0:
            return
        self._looked = now
        if self._has_executors():
            self._view_at = now
        elif now - self._view_at > LONGEST_ALONE:
            raise StoreUnusable(
                "the Spark cluster has no executors left; the old store stays",
                remedy="check that its master and workers run, then run tacit prepare again",
            )

    def _has_executors(self) -> bool:
        """Whether there is one beside the driver; also true where the session cannot say, as with Spark Connect."""
        try:
            context = self._session.sparkContext
            return context.master.startswith("local") or len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1
        except Exception:  # the job itself says what is wrong
            return True


class TaskFailed(Exception):
    """An executor failed, with a code of its own."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def failure(message: str) -> Exception:
    """The error for the data owner after a failure of the cluster, whose own message may quote rows and hosts."""
    code = re.search(rf"{CODE}([a-z]+)", message)
    if "ModuleNotFoundError" in message or (code and code[1] == "version"):
        import duckdb

        return StoreUnusable(
            "the executors lack a Python package that preparation needs, or have another version of it",
            remedy=f"install in their Python: duckdb=={duckdb.__version__}, pyarrow and numpy",
        )
    if code and code[1] != "memory":
        return TaskFailed(code[1])
    if code or "OutOfMemoryError" in message:
        return StoreUnusable(
            "out of memory on an executor while preparing; the old store stays",
            remedy="give executors more memory, for example spark.executor.memoryOverhead=2g, or fewer cores each",
        )
    if "No space left on device" in message:
        return StoreUnusable(
            "a disk of the cluster is full; the old store stays", remedy="free disk space for spark.local.dir and the store"
        )
    return StoreUnusable(
        "the Spark cluster failed while preparing; the old store stays",
        remedy="check that it runs, and that its workers can read the sources and write the store",
    )


# --- the cluster -------------------------------------------------------------------------------------------------------------


Result = TypeVar("Result")

SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
    "spark.sql.adaptive.enabled": "true",  # the owner alone waits for it; it joins small parts, and parts what one unit makes large
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.parquet.mergeSchema": "true",
}
STATEMENTS = ("SET threads = 1", *(f"SET {setting}" for setting in EMBEDDED))  # of the embedded engine on executors
NUMBERED = (  # with the number of a row's holder among those of the same file
    "WITH ranked AS MATERIALIZED ({}), holders AS (SELECT tacit_holder, row_number() OVER () - 1 AS tacit_at FROM ranked "
    "WHERE tacit_rank = 0) SELECT ranked.*, tacit_at FROM ranked JOIN holders ON ranked.tacit_holder = holders.tacit_holder"
)
CHUNK = 1_000_000  # rows sent to the cluster at a time


@dataclass(frozen=True, slots=True)
class Made:
    """The work of executors on the rows of a frame, the function of batches that does it, and the result's schema."""

    frame: Any
    work: Work
    make: Callable[[Work], Callable[[Batches], Batches]]
    schema: Any


class Kept(NamedTuple):
    """A file that an executor has written."""

    file: str
    rows: int
    counted: int


class Cluster:
    """A session on a cluster, the folder of what it keeps while it works, and the folder of the store's tables."""

    words: Dialect = SPARK

    def __init__(self, bench: Workshop, session: Any, working: str, tables: str) -> None:
        self._bench, self.session, self.working, self.tables = bench, session, working, tables
        self.remote: Mapping[str, Any] = {}  # sources that this machine does not reach, by table
        self._views: dict[str, str] = {}
        self._places = count()
        for setting, value in SETTINGS.items():
            session.conf.set(setting, value)

    @property
    def bench(self) -> Workshop:
        """The embedded engine of this process, which plans the cleaning and reads what only this machine reaches."""
        return self._bench

    def rows(self, query: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """All rows of a small result. SQL on a cluster has no parameters: the ranking key is that of the hash alone."""
        return [tuple(row) for row in self.done(lambda: self._frame(query).collect())]

    def keep(self, table: str, query: str, parameters: Parameters = None, step: str = "") -> None:
        """Keep the rows of a query as Parquet in the working folder, under the name of a table."""
        self.keep_frame(table, self._frame(query), step)

    def keep_frame(self, table: str, frame: Any, step: str = "") -> None:
        """The same for rows of a frame of the session."""
        self._view_at(table, self._write_frame(frame, self._place(), step), frame.schema)

    def keep_made(self, table: str, made: Made, step: str) -> list[Kept]:
        """Keep what executors make of rows; where the working folder is a path they write the files themselves.

        Of a task that is repeated, or that two executors run, one attempt hands over its file, and only that is read.
        """
        place, work = self._place(), replace(made.work, statements=(*STATEMENTS, *made.work.statements))
        cloudpickle = import_module("pyspark.cloudpickle")
        cloudpickle.register_pickle_by_value(sys.modules["tacit"])  # tacit is not installed on executors
        if "://" in place:
            self.keep_frame(table, made.frame.mapInArrow(made.make(work), made.schema), step)
            return []
        Path(place).mkdir(parents=True)
        frame = made.frame.mapInArrow(made.make(replace(work, folder=place)), KEPT)
        kept = [Kept(*row) for row in self.done(frame.collect, step)]
        self._step_done()
        self._view_of(table, self._read([each.file for each in kept], made.schema))
        return kept

    def keep_by_holder(self, table: str, query: ByHolder, parameters: Parameters, step: str) -> int | None:
        """Keep the result of a query by holders, which executors finish; they number the holders of each of their files."""
        from pyspark.sql import types as spark

        rows = self._frame(query.rows).repartition("tacit_holder")
        kept = [each for each in rows.schema.fields if each.name != "tacit_place"]
        numbers = [spark.StructField(each, spark.LongType()) for each in ("tacit_rank", "tacit_at")]
        numbered = NUMBERED.format(query.finished(ROWS))
        work = Work(duckdb.__version__, (), numbered, dict(parameters or {}), counted="coalesce(max(tacit_at) + 1, 0)")
        files = self.keep_made(table, Made(rows, work, finished_batches, spark.StructType([*kept, *numbers])), step)
        if not files:
            return None
        *starts, end = accumulate((each.counted for each in files), initial=0)
        read = self._read([each.file for each in files], spark.StructType([*kept, *numbers]))
        self._view_of(
            table, self._with_start_numbers(read, {Path(each.file).name: start for each, start in zip(files, starts, strict=True)})
        )
        return end

    def _with_start_numbers(self, read: Any, starts: Mapping[str, int]) -> Any:
        """The rows of files with `tacit_number`: the place of their holder in its file, after the holders of the files before."""
        import pyarrow as pa

        spark = functions_of(self.session)
        offsets = pa.table({"tacit_file": pa.array(starts, pa.string()), "tacit_start": pa.array(starts.values(), pa.int64())})
        placed = read.withColumn("tacit_file", spark.col("_metadata.file_name"))
        joined = placed.join(spark.broadcast(self.session.createDataFrame(offsets)), "tacit_file")
        number = (spark.col("tacit_start") + spark.col("tacit_at")).alias("tacit_number")
        return joined.select(*(f"`{each.replace('`', '``')}`" for each in read.columns), number)

    def load(self, table: str, query: str, parameters: Parameters, schema: Any) -> None:
        """Let the cluster have the rows of a query of the embedded engine."""
        place = self._place()
        self.bench.keep("tacit_loaded", query, parameters, step="sending")
        self.bench.done -= 1
        if "://" not in place:
            Path(place).mkdir(parents=True)
            self.bench.run(f"COPY tacit_loaded TO {text(f'{place}/part-0.parquet')} (FORMAT parquet)")
        else:
            for batch in self.bench.engine.sql("SELECT * FROM tacit_loaded").to_arrow_reader(CHUNK):
                self.done(partial(self._send, batch, schema, place))
        self.bench.run("DROP TABLE tacit_loaded")
        self._view_at(table, place)

    def copy(self, table: str) -> None:
        """Copy a public table from the embedded engine's store."""
        place, stored = f"{self.tables}/{table.lower()}.parquet", self.bench.stored(table)
        if "://" not in place:
            self.bench.run(f"COPY {stored} TO {text(place)} (FORMAT parquet)")
            return
        rows = self.bench.engine.sql(f"SELECT * FROM {stored}").to_arrow_table()  # a name, quoted
        self.done(lambda: self.session.createDataFrame(rows).write.parquet(place))

    def remove(self, place: str | None) -> None:
        """Remove a folder that this or an earlier preparation wrote, if the session can; Spark Connect cannot remove from a URL."""
        if place is None:
            return
        if "://" not in place:
            shutil.rmtree(place, ignore_errors=True)
            return
        with suppress(Exception):  # it is no longer named by any description
            context = self.session.sparkContext
            path = context._jvm.org.apache.hadoop.fs.Path(place)
            path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)

    def write(self, table: str, query: str, step: str) -> None:
        """Write the rows of a query as a table of the store."""
        frame = self._frame(query)
        place = self._write_frame(frame, f"{self.tables}/{table.lower()}.parquet", step, FILE_ROWS)
        self._view_at(self.stored(table), place, frame.schema)

    def stored(self, table: str) -> str:
        """SQL for a table of the store."""
        return name(f"tacit_stored {table}")

    def numbered(self, query: str, column: str, first: int = 0) -> str:
        """SQL for the rows of a query, each with a number of its own from `first` on, without gaps."""
        view = f"tacit_numbered_{next(self._places)}"
        numbered, _ = self._number(query, column, first)
        numbered.createOrReplaceTempView(view)
        return f"SELECT * FROM {view}"  # a name of its own

    def keep_numbered(self, table: str, query: str, column: str, step: str = "") -> int:
        """The same, from 0 on, under the name of a table; returns how many they are."""
        numbered, rows = self._number(query, column, 0, step)
        numbered.createOrReplaceTempView(self._view(table))
        return rows

    def _number(self, query: str, column: str, first: int, step: str = "") -> tuple[Any, int]:
        """The number of a row is its place in its file, after the rows of the files before it; also the number after the last.

        Both are facts of files that are written, so every task that is repeated gives the same numbers.
        """
        frame = self._frame(query)
        read = self._read([self._write_frame(frame, self._place(), step)], frame.schema)
        return self.done(lambda: self._with_numbers(read, column, first))

    def _with_numbers(self, read: Any, column: str, first: int) -> tuple[Any, int]:
        import pyarrow as pa

        spark = functions_of(self.session)
        columns = [f"`{each.replace('`', '``')}`" for each in read.columns]
        file, at = (spark.col(f"_metadata.{fact}") for fact in ("file_path", "row_index"))
        placed = read.select(*columns, file.alias("tacit_file"), at.alias("tacit_at"))
        sizes = placed.groupBy("tacit_file").agg(spark.count("*").alias("rows"))
        files = sorted(tuple(row) for row in sizes.collect())
        *starts, end = accumulate((rows for _, rows in files), initial=first)
        starts_of = pa.table(
            {"tacit_file": pa.array([file for file, _ in files], pa.string()), "tacit_start": pa.array(starts, pa.int64())}
        )
        offsets = self.session.createDataFrame(starts_of)  # as Arrow, since lists of rows would start Python on the executors
        number = (spark.col("tacit_start") + spark.col("tacit_at")).cast("bigint").alias(column)
        return placed.join(spark.broadcast(offsets), "tacit_file").select(*columns, number), end

    def _frame(self, query: str) -> Any:
        """A frame of a query; nothing of the query is run."""
        return self.done(lambda: self.session.sql(spell_for_spark(query, self._views)))

    def _send(self, batch: Any, schema: Any, place: str) -> None:
        import pyarrow as pa

        self.session.createDataFrame(pa.Table.from_batches([batch]), schema).write.mode("append").parquet(place)

    def _place(self) -> str:
        return f"{self.working}/{next(self._places)}"

    def _write_frame(self, frame: Any, place: str, step: str = "", file_rows: int = 0) -> str:
        """The place of what is written, in files of at most `file_rows` rows; 0 means no limit."""
        self.done(lambda: frame.write.option("maxRecordsPerFile", file_rows).parquet(place), step)
        if step:
            self._step_done()
        return place

    def _step_done(self) -> None:
        self.bench.done, self.bench.share = self.bench.done + 1, 0.0

    def _read(self, places: list[str], schema: Any = None) -> Any:
        """The rows of files; with their schema, no task has to look for it."""
        if not places:
            return self.done(lambda: _empty(self.session, schema))
        reader = self.session.read if schema is None else self.session.read.schema(schema)
        return self.done(lambda: reader.parquet(*places))

    def _view_at(self, table: str, place: str, schema: Any = None) -> None:
        self._view_of(table, self._read([place], schema))

    def _view_of(self, table: str, frame: Any) -> None:
        self.done(lambda: frame.createOrReplaceTempView(self._view(table)))

    def _view(self, table: str) -> str:
        """The name of a view, which has no characters that Spark would parse."""
        quoted = QUOTED.fullmatch(table)
        if quoted is None:
            return table
        return self._views.setdefault(quoted[1].replace('""', '"'), f"tacit_view_{len(self._views)}")

    def done(self, work: Callable[[], Result], step: str = "") -> Result:
        """The result of work on the cluster; what it says about a failure stays here."""
        gone = Gone(self.session)

        def look() -> None:
            gone.look()
            self.bench.tell_share(self._share())
            self.bench.tell_progress(step)

        def in_words() -> Result:
            try:
                return work()
            except Exception as error:
                raise failure(str(error)) from None

        return watched(in_words, look, self.session.interruptAll)

    def _share(self) -> float:
        """How much of the tasks of the running stages is done, where the session says so; Spark Connect does not."""
        try:
            tracker = self.session.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # it is for a bar on a screen
            return 0.0
        tasks = [(int(stage.numCompletedTasks), int(stage.numTasks)) for stage in stages if stage is not None]
        return sum(done for done, _ in tasks) / max(sum(most for _, most in tasks), 1)


def _empty(session: Any, schema: Any) -> Any:
    """A frame without rows."""
    spark = functions_of(session)
    return session.range(0).select(*(spark.lit(None).cast(each.dataType).alias(each.name) for each in schema.fields))
