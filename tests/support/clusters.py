"""Spark for tests: one session on this machine, as light as Java allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from services import Missing, java_program

INSTALL_SPARK = "install PySpark (pip install 'tacit[spark]') and run the tests again"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # half of the processor time of a short life
SPARK = [  # py4j leaves its sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def quick_session(master: str = "local[2]") -> Iterator[Any]:
    """A Spark session that starts and runs short questions with little processor time; stopped at the end."""
    java_program()
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise Missing(INSTALL_SPARK) from None
    from tacit.data.spark_session import STACK, started

    session = started(master, {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": f"{LIGHT} {STACK}"})
    try:
        yield session
    finally:
        session.stop()
