"""A generated hospital: patients, visits, public wards, and the catalog that declares them.

The people are fictional. The generator is seeded on purpose, so that every demonstration is about the same people: it makes data,
not noise. Nothing that tacit releases is drawn from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.files import write

PATIENTS = 50_000
STAFF = 128
SEED = 1854  # when nurses in Scutari began to count

DIAGNOSES = ("chronic", "infection", "injury", "cancer", "other")
WRITTEN = {  # a diagnosis as doctors write it
    "chronic": ("diabetes", "asthma", "heart failure"),
    "infection": ("influenza", "pneumonia"),
    "injury": ("fracture", "burn"),
    "cancer": ("breast cancer", "lung cancer"),
    "other": ("migraine", "anaemia"),
}
RARE = ("Gaucher disease", "Wilson disease", "Behcet disease")  # of every 2,000th patient: too few to be shown
WARDS = {  # where, beds, usual cost, share of visits
    "cardiology": ("north", 42, 1100, 0.12),
    "emergency": ("north", 60, 420, 0.2),
    "surgery": ("north", 55, 2300, 0.12),
    "intensive care": ("north", 24, 3900, 0.04),
    "maternity": ("south", 38, 1400, 0.08),
    "paediatrics": ("south", 44, 380, 0.1),
    "oncology": ("south", 36, 2600, 0.08),
    "geriatrics": ("south", 50, 700, 0.12),
    "psychiatry": ("park", 40, 520, 0.06),
    "rehabilitation": ("park", 64, 300, 0.08),
}
FIRST_DAY, DAYS = np.datetime64("2022-01-01"), 1096
MOST_VISITS, MOST_COST = 15, 8000
NOTES = ("none", "allergic to penicillin", "pacemaker", "insulin", "interpreter needed", "lives alone", "second opinion")
LONGEST_NOTE, FAR_TOO_LONG = 64, 20_000  # bytes; every sixteenth of those who work here has a note that is far too long

CATALOG = f"""\
# Everything declared here is public; none of it is taken from the data.
[budget]                     # the guarantee over all releases to all analysts together
epsilon = 3
delta = 1e-7

[analysts.ana]               # policy, within the guarantee
epsilon = 2
epsilon_per_query = 0.5

[analysts.mallory]
epsilon = 1
delta = 0

[tables.patients]
source = "patients.parquet"
unit = "row"                 # every row is one person
rows_at_most = {2 * PATIENTS}        # a public fact that limits the work of a query

[tables.patients.columns]
id        = {{ key = true }}
age       = {{ bounds = [0, 110] }}
sex       = {{ values = ["F", "M"], unknown = "drop" }}
diagnosis = {{ values = {list(DIAGNOSES)}, unknown = "drop" }}
written   = {{ keys = "private" }}                       # the diagnosis in the doctor's words; which ones there are is private
badge     = {{ bounds = [1, {STAFF}], outside = "null" }}     # of the staff; known to their colleagues
weight    = {{ type = "number" }}                        # no bounds yet
note      = {{ keys = "private", longest = {LONGEST_NOTE} }}       # notes are not public; longer ones count as missing

[tables.visits]
source = "visits.parquet"
unit = {{ column = "patient_id", references = "patients.id" }}
max_rows = {MOST_VISITS}                # an answer uses at most this many visits per patient
rows_at_most = {2 * PATIENTS * MOST_VISITS}

[tables.visits.columns]
ward = {{ values = {list(WARDS)}, unknown = "drop" }}
day  = {{ type = "date", bounds = ["2022-01-01", "2024-12-31"], nulls = "drop" }}
cost = {{ bounds = [0, {MOST_COST}], nulls = "drop" }}

[tables.wards]
source = "wards.csv"
public = true
""".replace("'", '"')


def build(folder: Path) -> Path:
    """Writes patients.parquet, visits.parquet, wards.csv and the catalog into a folder; returns the path of the catalog."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(SEED)
    people = _patients(generator, PATIENTS)
    for name, columns in (("patients", people), ("visits", _visits(generator, people))):
        made = pa.table(columns)
        write(folder / f"{name}.parquet", partial(pq.write_table, made))
    lines = [f"{ward},{site},{beds}" for ward, (site, beds, _, _) in WARDS.items()]
    write(folder / "wards.csv", "\n".join(["ward,site,beds", *lines, ""]))
    return write(folder / "tacit.toml", CATALOG)


def _patients(generator: np.random.Generator, count: int) -> dict[str, Any]:
    """Patients by column; the first `STAFF` of them work here and have a badge, and half of those are chronically ill."""
    works = np.arange(count) < STAFF
    age = np.where(generator.random(count) < 0.35, generator.normal(74, 9, count), generator.normal(38, 20, count))
    age = np.where(works, generator.uniform(22, 65, count), age.clip(0, 104)).astype(np.int64)
    chronic = generator.random(count) < np.where(works, 0.5, 0.15 + 0.006 * age)
    acute = generator.choice(np.array(DIAGNOSES[1:]), count, p=[0.35, 0.3, 0.1, 0.25])
    shuffled = generator.permutation(count)
    badge = np.where(works, 1 + np.arange(count), 0)
    places = age + np.arange(count)
    diagnosis = np.where(chronic, DIAGNOSES[0], acute)
    names = [WRITTEN[kind][place % len(WRITTEN[kind])] for kind, place in zip(diagnosis.tolist(), places.tolist(), strict=True)]
    rare = np.array(RARE, dtype=object)[np.arange(count) // 2000 % len(RARE)]
    note = np.array(NOTES, dtype=object)[places % len(NOTES)]
    columns: dict[str, NDArray[Any]] = {
        "id": 100_000 + generator.permutation(count),
        "age": age,
        "sex": np.where(generator.random(count) < 0.53, "F", "M"),
        "diagnosis": diagnosis,
        "written": np.where(np.arange(count) % 2000 == 1999, rare, np.array(names, dtype=object)),
        "badge": badge,
        "weight": np.round(generator.normal(72, 14, count).clip(3, 220), 1),
        "note": np.where(badge % 16 == 4, "a" * FAR_TOO_LONG, note),
    }
    return {name: values[shuffled] for name, values in columns.items()}


def _visits(generator: np.random.Generator, patients: dict[str, Any]) -> dict[str, Any]:
    """One to fifteen visits of each patient, eight on average; more in winter, at a cost that depends on the ward."""
    whose = np.repeat(patients["id"], 1 + generator.binomial(MOST_VISITS - 1, 0.5, len(patients["id"])))
    season = 1 + 0.3 * np.cos(2 * np.pi * (np.arange(DAYS) - 20) / 365.25)
    ward = generator.choice(len(WARDS), len(whose), p=[share for _, _, _, share in WARDS.values()])
    usual = np.array([cost for _, _, cost, _ in WARDS.values()])
    return {
        "patient_id": whose,
        "ward": np.array(list(WARDS))[ward],
        "day": FIRST_DAY + generator.choice(DAYS, len(whose), p=season / season.sum()),
        "cost": np.round(usual[ward] * generator.lognormal(-0.1, 0.45, len(whose))).clip(0, MOST_COST).astype(np.int64),
    }


class Plain:
    """The hospital in an engine without any protection: the exact answers that the demonstration compares with."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The exact answer."""
        return list(self._connection.execute(sql).fetchall())


@contextmanager
def plainly(folder: Path) -> Iterator[Plain]:
    """The files of a folder as tables of plain DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        connection.read_parquet(str(folder / "patients.parquet")).create("patients")
        connection.read_parquet(str(folder / "visits.parquet")).create("visits")
        connection.read_csv(str(folder / "wards.csv")).create("wards")
        yield Plain(connection)
