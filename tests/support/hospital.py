"""The hospital of docs/guides/catalog.md with a few made-up people in it, prepared, and a session on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import pages
from guide import PAGE
from tacit.session import DataSet, Session
from tacit.session import open as open_data

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
WARDS = """ward,floor,beds,fee,opened
north,1,42,1.50,2001-02-03
south,1,60,0.25,1999-12-31
east,2,24,10.00,2020-02-29
west,3,36,,
"""
PEOPLE = 40


def files(folder: Path) -> Path:
    """The catalog, which anybody may ask without a cap of an analyst, and its files."""
    block = next(block for block in pages.blocks(PAGE.read_text(encoding="utf-8")) if block.title == "tacit.toml")
    catalog = folder / "tacit.toml"
    catalog.write_text(block.text.replace("epsilon_per_query = 0.5\n", ""), "utf-8")
    (folder / "wards.csv").write_text(WARDS, "utf-8")
    people = range(PEOPLE)
    patients = {"id": list(people), "age": [at * 7 % 100 for at in people], "sex": ["FM"[at % 2] for at in people]}
    pq.write_table(pa.table(patients), folder / "patients.parquet")
    rows = range(PEOPLE * 3)
    wards, kinds = ["north", "south", "east", "west"], ["planned", "emergency", "check-up"]
    visits = {
        "patient_id": [at % PEOPLE for at in rows],
        "ward": [wards[at % 4] for at in rows],
        "kind": [kinds[at % 3] for at in rows],
        "urgent": [at % 5 == 0 for at in rows],
        "day": [date(2020, 1, 1) + timedelta(at * 15) for at in rows],
        "cost": [at * 37.25 % 5000 for at in rows],
        "pulse": [None if at % 7 == 0 else 60 + at % 50 for at in rows],
        "diagnosis": [["flu", "cold", "injury"][at % 3] for at in rows],
        "note": [None if at % 2 else "x" for at in rows],
    }
    pq.write_table(pa.table(visits), folder / "visits.parquet")
    return catalog


@contextmanager
def hospital_session(folder: Path) -> Iterator[Session]:
    """A session of ana on the prepared hospital; its clock stands at the first of January 2025."""
    with open_data(files(folder), own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        yield session_at(data)


def session_at(data: DataSet) -> Session:
    session = data.session("ana")
    session.clock = lambda: NOW
    return session
