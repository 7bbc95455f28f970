"""Sessions on a Spark cluster, for preparation and for questions: quiet, and with the settings on which exactness rests.

Spark's own messages quote SQL, plans and hosts. They are silenced, and none of them reaches the caller.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from tacit.errors import StoreUnusable

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # PySpark's, which print SQL whatever the level of Spark
START = {
    "spark.ui.enabled": "false",  # its pages show SQL and sizes
    "spark.eventLog.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # no expression raises; ranges are known beforehand, so none overflows either
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "false",  # by what the rows hold it chooses another plan
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.charVarcharAsString": "true",
}


def started(master: str | None) -> Any:
    """A session on a cluster, or on this machine; `sc://` is Spark Connect."""
    _silence()
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise StoreUnusable("the engine 'spark' needs PySpark", remedy="run: pip install 'tacit[spark]'") from None
    place = master or "local[*]"
    try:
        builder = SparkSession.builder.appName("tacit")
        for name, value in START.items():
            builder = builder.config(name, value)
        made = builder.remote(place).getOrCreate() if place.startswith("sc://") else builder.master(place).getOrCreate()
        if place.startswith("local"):
            made.sparkContext.pythonExec = sys.executable  # what runs on the executors is this Python, not the first on the path
        return quiet(made)
    except Exception:  # its message may name hosts and users
        raise unreachable() from None


def quiet(session: Any) -> Any:
    """A session of its own on the same cluster, with the settings on which exactness rests."""
    _silence()
    own = session.newSession()
    for name, value in SETTINGS.items():
        own.conf.set(name, value)
    return own


def _silence() -> None:
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def unreachable() -> StoreUnusable:
    """The one message for a cluster that does not answer."""
    return StoreUnusable("the Spark cluster cannot be reached", remedy="check [store] master, and that the cluster runs")
