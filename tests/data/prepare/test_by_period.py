"""The period of a row in SQL is that of the calendar, ranks count within it, and what has not begun is left out."""

from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest

from by_month import Clinic, prepared
from stored import stored, write_csv
from tacit.data.catalog import parse_catalog
from tacit.data.catalog.periods import begun_through
from tacit.data.prepare import prepare
from tacit.data.prepare.by_period import number_sql
from tacit.errors import InvalidCatalog, InvalidInput
from tacit.privacy.periods import Calendar

CALENDARS = (*map(Calendar, ("day", "week", "month", "quarter", "year")), Calendar("days", 30, 19723), Calendar("days", 7, -3))


@pytest.mark.parametrize("calendar", CALENDARS, ids=lambda each: each.text)
def test_the_engine_numbers_days_as_the_calendar_does(calendar):
    days = [*range(-1000, 1000, 7), *range(19_000, 21_000)]
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE days (d BIGINT)")
        engine.executemany("INSERT INTO days VALUES (?)", [[day] for day in days])
        found = engine.execute(f"SELECT d, {number_sql(calendar, 'd')} FROM days").fetchall()
    assert dict(found) == {day: calendar.number(date(1970, 1, 1) + timedelta(day)) for day in days}


@pytest.mark.parametrize("calendar", CALENDARS, ids=lambda each: each.text)
def test_names_and_days_of_a_period_are_its_own(calendar):
    first = calendar.number(date(2019, 12, 20))
    for number in range(first, first + 60):
        assert calendar.numbered(calendar.name(number)) == number
        assert calendar.number(calendar.first_day(number)) == calendar.number(calendar.last_day(number)) == number
        assert calendar.last_day(number) + timedelta(1) == calendar.first_day(number + 1)
    with pytest.raises(InvalidInput, match="is not the name"):
        calendar.numbered("2026-13")


MANY = tuple((1, f"2025-{month:02}-{day:02}", day % 10) for month in (1, 2, 3) for day in (1, 11, 21, 28))


def test_a_person_keeps_max_rows_in_each_period_and_another_period_has_no_say(tmp_path):
    whole = prepared(tmp_path / "whole", Clinic(((1, 3),), MANY), through="2025-03")
    less = prepared(tmp_path / "less", Clinic(((1, 3),), MANY).without(1, 2), through="2025-03")
    rows = [stored(each, "visits", "tacit_period", "tacit_rank", "day", "cost") for each in (whole, less)]
    assert sorted(period for period, *_ in rows[0]) == [24300, 24300, 24301, 24301, 24302, 24302]
    assert [row for row in rows[0] if row[0] != 24301] == rows[1]


def test_ranks_over_all_periods_are_caught(tmp_path, monkeypatch):
    """Planted: limits that count the rows of all periods together."""
    from tacit.data.prepare.ranking import Ranking

    first = Ranking._first

    def planted(self, rows):
        object.__setattr__(self, "period", "")
        return first(self, rows)

    monkeypatch.setattr(Ranking, "_first", planted)
    with pytest.raises(AssertionError):
        test_a_person_keeps_max_rows_in_each_period_and_another_period_has_no_say(tmp_path)


ALONE = """[budget]
epsilon = 1
per = "month"
[tables.visits]
source = "visits.csv"
unit = { column = "patient" }
period = "day"
max_rows = 2
[tables.visits.columns]
day = { type = "date", bounds = ["2025-01-01", "2025-12-31"], outside = "drop", nulls = "drop" }
"""


def test_a_person_in_several_periods_of_the_only_table_has_one_code(tmp_path, monkeypatch):
    """A unit has a first row in each period, and is counted once; else its rows would be stored as often."""
    write_csv(tmp_path / "visits.csv", ["patient", "day"], [(who, f"2025-{month:02}-01") for who in (7, 8) for month in (1, 2, 3)])
    made = begun_through(parse_catalog(ALONE, tmp_path / "tacit.toml"), "2025-03", None)
    wanted = {(unit, rank, period) for unit in (0, 1) for rank in (0,) for period in (24300, 24301, 24302)}
    prepare(made)
    assert sorted(stored(made, "visits", "tacit_unit", "tacit_rank", "tacit_period")) == sorted(wanted)
    monkeypatch.setattr("tacit.data.prepare.holder_of", lambda table: "tacit_holder")
    prepare(made)
    assert len(stored(made, "visits", "tacit_unit")) > len(wanted), "the planted bug is seen"


def test_what_has_not_begun_is_left_out(tmp_path):
    made = prepared(tmp_path / "clinic", Clinic(((1, 3),), MANY), through="2025-02")
    assert {period for (period,) in stored(made, "visits", "tacit_period")} == {24300, 24301}


def test_periods_begin_by_the_owners_word_and_stay_begun(tmp_path):
    catalog = prepared(tmp_path / "clinic", Clinic(), through="2025-02")
    assert catalog.per.begun == (24300, 24301)
    assert begun_through(catalog, None, (24300, 24301)).per.begun == (24300, 24301)
    with pytest.raises(InvalidInput, match="periods that have begun stay begun"):
        begun_through(catalog, "2025-01", (24300, 24301))
    with pytest.raises(InvalidInput, match="say which periods have begun"):
        begun_through(catalog, None, None)
    with pytest.raises(InvalidInput, match="from 2025-01 on"):
        begun_through(catalog, "2024-12", None)
    with pytest.raises(InvalidInput, match="the name of a month"):
        begun_through(catalog, "September", None)


BAD = {
    'per = "fortnight"': "does not fit",
    'per = "month"\nzone = "Europe/Atlantis"': "is not a time zone",
    'per = "month"\nclosed = "2025"': "is not the name of a month",
    'closed = "2025-01"': "needs per",
    "lifetime = { epsilon = 3 }": "needs per",
    'per = { days = 30, from = "2025-02-31" }': "does not begin at a day",
}


DAY = 'day = { type = "date", bounds = ["2025-01-01", "2025-12-31"], outside = "drop", nulls = "drop" }'


@pytest.mark.parametrize("lines", BAD)
def test_a_wrong_declaration_of_periods_is_told(lines):
    text = f'[budget]\nepsilon = 1\n{lines}\n[tables.t]\nsource = "t.csv"\nunit = "row"\n'
    with pytest.raises(InvalidCatalog) as told:
        parse_catalog(text + (f'period = "day"\n[tables.t.columns]\n{DAY}' if "per = " in lines else ""))
    assert any(BAD[lines] in problem.what for problem in told.value.problems), told.value.problems


TABLE = """[budget]
epsilon = 1
per = "month"
{budget}
[tables.visits]
source = "v.csv"
unit = {{ column = "p" }}
max_rows = 2
period = "{period}"
[tables.visits.columns]
id = {{ key = true }}
cost = {{ bounds = [0, 9] }}
day = {{ type = "date", bounds = ["2025-01-01", "2025-12-31"]{column} }}
{more}
"""
DROP = ', outside = "drop", nulls = "drop"'
LED = '[tables.labs]\nsource = "l.csv"\nunit = { column = "visit", references = "visits.id" }\nmax_rows = 2\nperiod = "taken"\n'


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"period": "cost", "column": DROP}, "must name a declared date column"),
        ({"period": "when", "column": DROP}, "must name a declared date column"),
        ({"column": ""}, "every stored row has a day"),
        ({"column": DROP, "more": LED}, "the unit is looked up in visits"),
        ({"column": DROP, "budget": '[store]\nengine = "spark"\nmaster = "local"'}, "is not supported with per"),
    ],
)
def test_a_table_whose_periods_have_no_proof_is_refused(declared, told):
    text = TABLE.format(**{"budget": "", "period": "day", "column": "", "more": "", **declared})
    with pytest.raises(InvalidCatalog) as refused:
        parse_catalog(text, Path("tacit.toml"))
    assert any(told in problem.what for problem in refused.value.problems), refused.value.problems


@pytest.mark.parametrize("line", ['neighbours = "change-one"\n', '[store]\nchanges = "public"\n'])
def test_what_would_tell_of_a_late_row_is_refused(line):
    text = TABLE.format(budget="", period="day", column=DROP, more="")
    with pytest.raises(InvalidCatalog, match="a problem") as refused:
        parse_catalog(line + text if line.startswith("n") else text + line)
    assert "with per" in refused.value.problems[0].what
