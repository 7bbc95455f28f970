"""How a cluster fails while it prepares a store, and what that means to the data owner."""

from __future__ import annotations

import re
import time
from typing import Any

from tacit.data.prepare.executors import CODE
from tacit.errors import StoreUnusable

LONGEST_ALONE = 300.0  # seconds without executors: a cluster that grows on demand needs minutes to start some


class Gone:
    """A watch over a cluster while it works: a driver whose executors are all lost would wait for new ones for ever."""

    def __init__(self, session: Any) -> None:
        self._session, self._seen, self._looked = session, time.monotonic(), time.monotonic()

    def look(self) -> None:
        """Raises an error if there has been no executor for a long time; looks once a second."""
        now = time.monotonic()
        if now - self._looked < 1.0:
            return
        self._looked = now
        if self._has_executors():
            self._seen = now
        elif now - self._seen > LONGEST_ALONE:
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
    """What a failure of the cluster means to its owner. The message may quote rows and hosts, so it is not passed on."""
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
