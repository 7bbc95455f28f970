"""SQL as Spark spells it, and what a failure of a cluster means to the data owner."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tacit.data.prepare.executors import CODE
from tacit.errors import StoreUnusable

QUOTED = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")*)\"")


class TaskFailed(Exception):
    """An executor failed, with a code of its own."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def spelled(query: str, views: Mapping[str, str]) -> str:
    """SQL with names as Spark quotes them, and with the names of its views.

    >>> print(spelled('SELECT "a ""b" FROM "tacit_staged x" WHERE c <> "d"', {"tacit_staged x": "tacit_view_0"}))
    SELECT `a "b` FROM tacit_view_0 WHERE c <> `d`
    """

    def one(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        known = found[1].replace('""', '"')
        return views.get(known) or f"`{known.replace('`', '``')}`"

    return QUOTED.sub(one, query)


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
