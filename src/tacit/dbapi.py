"""A driver by PEP 249, for pandas, Polars, SQLAlchemy and other programs that expect a database.

An address names a catalog or a server, and the epsilon of each question; docs/guides/connect.md shows it with each program.

>>> from tacit import dbapi
>>> dbapi.apilevel, dbapi.paramstyle
('2.0', 'named')
>>> dbapi.connect("mysql://localhost")
Traceback (most recent call last):
tacit.doors.driver.dbapi.ProgrammingError: unsupported address; expected tacit:///tacit.toml or tacit+https://stats.example.org
"""

from __future__ import annotations

from tacit.doors.driver.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,  # noqa: A004  # a name of PEP 249
    apilevel,
    connect,
    paramstyle,
    threadsafety,
)

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
