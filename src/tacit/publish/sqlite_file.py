"""A SQLite file that its owner alone reads, and in which one writes at a time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def owned(path: Path) -> Path:
    """The path, made so that its owner alone reads it; folders that are missing are made so too."""
    for folder in reversed(path.absolute().parents):
        folder.mkdir(exist_ok=True, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # also where another process makes it at this moment
    return path


@contextmanager
def turn(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction that nobody else writes in: durable at the end, undone by an exception.

    Also one that cannot be ended (the disk is full, somebody reads for too long) is undone: an open one would stop all that follow.

    >>> database = sqlite3.connect(":memory:", isolation_level=None)
    >>> with turn(database):
    ...     _ = database.execute("CREATE TABLE seen (number)")
    >>> database.in_transaction, database.execute("SELECT count(*) FROM seen").fetchone()
    (False, (0,))
    >>> database.close()
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")
