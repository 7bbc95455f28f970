"""The day of a moment in the declared zone is the one that the zone's own clock shows, from every source, at every border."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

from by_month import CATALOG, KEY, Clinic, declared, prepared
from stored import stored, write_parquet
from tacit.data.catalog import parse_catalog
from tacit.data.catalog.periods import begun_through, is_zone
from tacit.data.dialect import DUCKDB
from tacit.data.prepare import cleaning, prepare
from tacit.data.prepare.cleaning import day_in_zone, has_offset, offsets, plain, seconds_of
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import day_number, day_of, fingerprint
from tacit.privacy.periods import Calendar

ZONES = ("UTC", "Europe/Zurich", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu", "Africa/Monrovia", "Pacific/Kiritimati")
LOW, HIGH = day_number(date(1970, 6, 1)), day_number(date(2030, 12, 31))


@pytest.mark.parametrize("zone", ZONES)
def test_the_day_in_a_zone_is_what_its_clock_shows(zone):
    """At every change of the offset, at midnights, and at random instants: also where a day is skipped, as on Samoa in 2011."""
    drawn, there = random.Random(zone), ZoneInfo(zone)
    changes = [at for at, _ in offsets(zone, LOW, HIGH)[1:]]
    midnights = [
        day * 86_400 - int(offset) for day in range(LOW, HIGH, 501) for offset in {0, *(by for _, by in offsets(zone, day, day))}
    ]
    instants = [at + by for at in changes + midnights for by in (-86_400, -1, 0, 1, 43_200)]
    instants = [at for at in instants if LOW * 86_400 < at < HIGH * 86_400] + drawn.choices(
        range(LOW * 86_400, HIGH * 86_400), k=500
    )
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE given AS SELECT unnest($1) AS i", [instants])
        found = dict(engine.execute(f"SELECT i, {day_in_zone('i', zone, LOW, HIGH)} FROM given").fetchall())
    wanted = {at: (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)).astimezone(there).date() for at in instants}
    assert found == wanted


def test_moments_outside_of_the_bounds_stay_outside():
    low, high = day_number(date(2025, 1, 1)), day_number(date(2025, 1, 31))
    moments = ["infinity", "-infinity", "290000-01-01", "0044-03-15 (BC)", "2024-12-30 23:00:00+00", "2025-02-02 00:00:00+00"]
    days = [f"{day_in_zone(seconds_of(f'TIMESTAMPTZ {each!r}'), 'Pacific/Kiritimati', low, high)}" for each in moments]
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        (found,) = engine.execute(
            f"SELECT {', '.join(f'{day} BETWEEN $1 AND $2' for day in days)}", [day_of(low), day_of(high)]
        ).fetchall()
    assert not any(found)


WRITTEN = {
    "2025-01-31T23:30:00Z": "2025-02-01",
    "2025-01-31 23:30:00+00": "2025-02-01",
    "2025-01-31 23:30+0000": "2025-02-01",
    "2025-01-31T23:30:00.123456+00:00": "2025-02-01",
    "2025-01-31 23:30:00 +00:00": "2025-02-01",
    "2025-01-31 23:30:00 UTC": "2025-02-01",
    "2025-01-31 22:59:59Z": "2025-01-31",
    "2025-02-01T00:30:00+05:30": "2025-01-31",
    "2025-01-31T23:30:00": "2025-01-31",
    "2025-01-31": "2025-01-31",
    "2025-1-31 23:30": "2025-01-31",
    "2025-07-31T22:30:00Z": "2025-08-01",
    "25-01-31T23:30:00Z": None,
}


def test_texts_with_an_offset_are_instants_and_others_are_of_the_zone():
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        for written, wanted in WRITTEN.items():
            t = plain(f"'{written}'", DUCKDB)
            instant = day_in_zone(seconds_of(DUCKDB.cast_or_null(t, "TIMESTAMPTZ")), "Europe/Zurich", LOW, HIGH)
            sql = f"CASE WHEN {has_offset(t, DUCKDB)} THEN {instant} ELSE {cleaning.written_day(t, None, DUCKDB)} END"
            assert engine.execute(f"SELECT {sql}").fetchall() == [(None if wanted is None else date.fromisoformat(wanted),)], (
                written
            )


MOMENTS = (
    "2025-01-31T23:30:00Z",
    "2025-02-01T00:30:00+05:30",
    "2025-03-31T22:30:00Z",
    "2025-01-31 23:59:59",
    "2025-02-28T23:00:00Z",
)
BORDERS = Clinic(((1, 3),), tuple((1, moment, place) for place, moment in enumerate(MOMENTS)), ())
MONTH = Calendar("month")


def months_of(folder: Path, zone: str | None) -> dict[int, int]:
    made = prepared(folder, BORDERS, line="" if zone is None else f'zone = "{zone}"')
    return {cost: month % 12 + 1 for cost, month in stored(made, "visits", "cost", "tacit_period")}


def test_borders_are_at_midnight_in_the_zone(tmp_path, monkeypatch):
    monkeypatch.setattr("by_month.CATALOG", CATALOG.replace("max_rows = 2", "max_rows = 9"))
    assert months_of(tmp_path / "zurich", "Europe/Zurich") == {0: 2, 1: 1, 2: 4, 3: 1, 4: 3}
    assert months_of(tmp_path / "utc", "UTC") == {0: 1, 1: 1, 2: 3, 3: 1, 4: 2}
    assert months_of(tmp_path / "written", None) == {0: 1, 1: 2, 2: 3, 3: 1, 4: 2}, (
        "without a zone texts have the day that is written"
    )


def test_the_month_in_utc_is_caught(tmp_path, monkeypatch):
    """Planted: a zone is declared, and the day is that in UTC."""
    real = cleaning.day_in_zone
    monkeypatch.setattr(cleaning, "day_in_zone", lambda instant, zone, low, high: real(instant, "UTC", low, high))
    with pytest.raises(AssertionError):
        test_borders_are_at_midnight_in_the_zone(tmp_path, monkeypatch)


def test_a_parquet_file_says_the_same_as_a_text(tmp_path):
    folder = tmp_path / "clinic"
    declared(folder, Clinic(((1, 3),)))
    moments = [datetime.fromisoformat(each).astimezone(UTC) for each in MOMENTS if each != MOMENTS[3]]
    kind = pa.timestamp("us", "America/New_York")
    write_parquet(folder / "v.parquet", {"patient": [1] * 4, "day": pa.array(moments, kind), "cost": [0, 1, 2, 4]})
    text = (
        CATALOG.format(line='zone = "Europe/Zurich"', budget="", visits="")
        .replace("visits.csv", "v.parquet")
        .replace("max_rows = 2", "max_rows = 9")
    )
    made = begun_through(parse_catalog(text, folder / "tacit.toml"), "2025-04", None)
    made.kept.mkdir(exist_ok=True)
    (made.kept / "rank.key").write_text(KEY)
    prepare(made)
    assert {cost: at % 12 + 1 for cost, at in stored(made, "visits", "cost", "tacit_period")} == {0: 2, 1: 1, 2: 4, 4: 3}


def test_another_zone_is_another_declaration(tmp_path):
    catalogs = [declared(tmp_path / zone.replace("/", "-"), Clinic(), line=f'zone = "{zone}"') for zone in ("UTC", "Europe/Zurich")]
    assert fingerprint(catalogs[0]) != fingerprint(catalogs[1])
    assert is_zone("Europe/Zurich")
    for wrong in ("localtime", "../etc", "Europe/Zurich ", "right/UTC", "Mars/Olympus", "", "Europe"):
        assert not is_zone(wrong), wrong
    with pytest.raises(InvalidCatalog) as told:
        declared(tmp_path / "wrong", Clinic(), line='zone = "Europe/Zürich"')
    assert "is not a time zone" in told.value.problems[0].what
