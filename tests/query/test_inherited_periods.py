"""A row that is led to its unit through a table with periods has the period of the row that it leads to (periods.md, section 1).

Worlds are small: keys of visits repeat in several months and of several people, labs carry days of their own, notes are led
through labs. The rows of each (person, month) are taken from the sources, and from the store, in turn.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tacit
from by_month import KEY
from joined import Asked
from moved import check_clinic
from stored import stored, write_csv
from tacit.data.catalog import parse_catalog, periods
from tacit.data.catalog.periods import begun_through
from tacit.data.prepare import prepare
from tacit.errors import InvalidCatalog, NotAllowed
from tacit.privacy.catalog import Catalog, fingerprint
from tacit.privacy.periods import Calendar
from tacit.publish.synthetic.rows.cells import chosen_columns
from tacit.publish.synthetic.rows.marginals import count_marginal
from tacit.publish.synthetic.rows.release import synthesize_independent
from tacit.query.engines import compile as compiled
from tacit.query.periods import charged
from tacit.release.curators import for_the_owner
from tacit.release.reads import reads_of

MONTH = Calendar("month")
LENGTHS = pytest.mark.parametrize("examples", [1, pytest.param(40, marks=pytest.mark.slow)])
WIDELY = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
CATALOG = """[budget]
epsilon = 1
delta = 1e-6
per = "month"
lifetime = { epsilon = 12, delta = 1e-5 }
[tables.patients]
source = "patients.csv"
unit = "row"
[tables.patients.columns]
id = { key = true }
age = { bounds = [0, 9] }
[tables.visits]
source = "visits.csv"
unit = { column = "patient", references = "patients.id" }
period = "day"
max_rows = 2
[tables.visits.columns]
id = { key = true }
day = { type = "date", bounds = ["2025-01-01", "2025-03-31"], outside = "drop", nulls = "drop" }
cost = { bounds = [0, 9], nulls = "drop" }
[tables.labs]
source = "labs.csv"
unit = { column = "visit", references = "visits.id" }
max_rows = 2
[tables.labs.columns]
id = { key = true }
taken = { type = "date", bounds = ["2025-01-01", "2025-03-31"], outside = "drop", nulls = "drop" }
value = { bounds = [0, 99] }
[tables.notes]
source = "notes.csv"
unit = { column = "lab", references = "labs.id" }
max_rows = 3
[tables.notes.columns]
words = { bounds = [0, 99] }
"""
HEADERS = {
    "patients": ("id", "age"),
    "visits": ("id", "patient", "day", "cost"),
    "labs": ("id", "visit", "taken", "value"),
    "notes": ("lab", "words"),
}
VALUES = {"patients": "age", "visits": "cost", "labs": "value", "notes": "words"}
WITH_PERIODS = ("visits", "labs", "notes")
Row = tuple[Any, ...]


@dataclass(frozen=True)
class World:
    """The raw rows of the tables; patients 1 to 3 have their number as age, by which a unit is found again in a store."""

    visits: tuple[Row, ...]
    labs: tuple[Row, ...]
    notes: tuple[Row, ...] = ()
    patients: tuple[Row, ...] = ((1, 1), (2, 2), (3, 3))

    def without(self, person: int, month: int) -> World:
        """The neighbour: the visits of a person in a month are gone, with the labs and notes that led to nothing else."""
        visits = tuple(row for row in self.visits if (row[1], month_of(row[2])) != (person, month))
        left = {row[0] for row in visits}
        gone = {row[0] for row in self.visits} - left
        labs = tuple(row for row in self.labs if row[1] not in gone)
        lost = {row[0] for row in self.labs} - {row[0] for row in labs}
        return replace(self, visits=visits, labs=labs, notes=tuple(row for row in self.notes if row[0] not in lost))


def month_of(day: str) -> int | None:
    return date.fromisoformat(day).month if day else None


def declared(folder: Path, world: World, text: str = CATALOG) -> Catalog:
    folder.mkdir(parents=True, exist_ok=True)
    for name, header in HEADERS.items():
        write_csv(folder / f"{name}.csv", header, getattr(world, name))
    (folder / "tacit.toml").write_text(text)
    return begun_through(parse_catalog(text, folder / "tacit.toml"), "2025-03", None)


def prepared(folder: Path, world: World, text: str = CATALOG) -> Catalog:
    shutil.rmtree(folder, ignore_errors=True)
    made = declared(folder, world, text)
    made.kept.mkdir()
    (made.kept / "rank.key").write_text(KEY)
    prepare(made)
    return made


def held(catalog: Catalog) -> dict[int, Counter[Row]]:
    """What a store has of each person: the table, month, rank and value of each row."""
    people = dict(stored(catalog, "patients", "tacit_unit", "age"))
    found: dict[int, Counter[Row]] = {}
    for name in WITH_PERIODS:
        for unit, month, rank, value in stored(catalog, name, "tacit_unit", "tacit_period", "tacit_rank", VALUES[name]):
            found.setdefault(people[unit], Counter())[name, month % 12 + 1, rank, value] += 1
    return found


def by_hand(world: World) -> dict[str, set[tuple[int, int, int]]]:
    """Whose each lab and note is, and in which month, from the raw rows alone: (person, month, value) of every copy."""
    led: dict[Any, set[tuple[int, int]]] = {}
    for key, person, day, _ in world.visits:
        if (month := month_of(day)) is not None and person is not None:
            led.setdefault(key, set()).add((person, month))
    further: dict[Any, set[tuple[int, int]]] = {}
    for key, visit, _, _ in world.labs:
        further.setdefault(key, set()).update(led.get(visit, ()))
    return {
        "labs": {(*who, value) for _, visit, taken, value in world.labs if taken for who in led.get(visit, ())},
        "notes": {(*who, words) for lab, words in world.notes for who in further.get(lab, ())},
    }


DAYS = st.sampled_from(["2025-01-01", "2025-01-31", "2025-02-01", "2025-02-28", "2025-03-31", ""])
KEYS = st.sampled_from([10, 10, 11, 12])
LABS = st.sampled_from([20, 20, 21, 22])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    visits = draw(st.lists(st.tuples(KEYS, st.integers(1, 3), DAYS, st.integers(0, 9)), min_size=3, max_size=9))
    labs = draw(st.lists(st.tuples(LABS, KEYS, DAYS), min_size=2, max_size=7))
    notes = draw(st.lists(LABS, max_size=5))
    numbered = [(key, visit, day, place) for place, (key, visit, day) in enumerate(labs)]
    return World(tuple(visits), tuple(numbered), tuple((lab, place) for place, lab in enumerate(notes)))


def check_neighbours(folder: Path, world: World, text: str = CATALOG) -> int:
    """A store without (A, p) is the store less the rows of (A, p): nothing else of A, and nothing of anybody else, has moved."""
    whole, checked = held(prepared(folder / "whole", world, text)), 0
    for person, month in {(row[1], month_of(row[2])) for row in world.visits if row[2]}:
        less = held(prepared(folder / "less", world.without(person, month), text))
        wanted = {
            who: Counter({row: n for row, n in rows.items() if (who, row[1]) != (person, month)}) for who, rows in whole.items()
        }
        assert {who: rows for who, rows in wanted.items() if rows} == less, (world, person, month)
        checked += 1
    return checked


@LENGTHS
def test_the_rows_of_a_person_and_period_are_gone_with_it_and_no_others(tmp_path: Path, examples: int) -> None:
    checked = 0

    @settings(WIDELY, max_examples=examples)
    @given(worlds())
    def inner(world: World) -> None:
        nonlocal checked
        checked += check_neighbours(tmp_path, world)

    inner()
    assert checked >= examples


TWICE = World(
    ((10, 1, "2025-01-31", 1), (10, 1, "2025-02-01", 2), (10, 2, "2025-02-28", 3), (11, 1, "2025-03-01", 4), (12, 3, "", 5)),
    (
        (20, 10, "2025-03-31", 1),
        (21, 11, "2025-01-01", 2),
        (22, 12, "2025-01-01", 3),
        (23, 99, "2025-01-01", 4),
        (24, 11, "", 5),
    ),
    ((20, 1), (21, 2), (21, 3), (22, 4), (24, 5)),
)


def test_a_row_is_copied_for_each_person_and_period_that_it_leads_to(tmp_path):
    found = held(prepared(tmp_path / "clinic", TWICE))
    for name, copies in by_hand(TWICE).items():
        assert {(who, row[1], row[3]) for who, rows in found.items() for row in rows if row[0] == name} == copies
    assert by_hand(TWICE)["labs"] == {(1, 1, 1), (1, 2, 1), (2, 2, 1), (1, 3, 2)}, "its own day has no part in it"


def test_an_inherited_period_by_the_own_date_is_caught(tmp_path, monkeypatch):
    """Planted: a lab has the month of its own day, so taking June's visit away takes the owner from July's lab."""
    monkeypatch.setattr(periods, "_led_by", lambda *_: None)
    text = CATALOG.replace('references = "visits.id" }', 'references = "visits.id" }\nperiod = "taken"').replace(
        'references = "labs.id" }', 'references = "labs.id" }\nperiod = "written"'
    )
    text = text.replace(
        "words =", 'written = { type = "date", bounds = ["2025-01-01", "2025-03-31"], outside = "drop", nulls = "drop" }\nwords ='
    )
    monkeypatch.setitem(HEADERS, "notes", ("lab", "words", "written"))
    world = replace(TWICE, notes=tuple((*row, "2025-01-05") for row in TWICE.notes))
    with pytest.raises(AssertionError):
        check_neighbours(tmp_path, world, text)


def test_pairs_of_rows_that_limits_keep_are_caught(tmp_path, monkeypatch):
    """Planted: rows of another period have a say in which rows are kept, by ranks over all periods."""
    from tacit.data.prepare.ranking import Ranking

    first = Ranking._first
    crowd = World(
        tuple((10 + month, 1, f"2025-{month:02}-01", month) for month in (1, 2)),
        tuple((20 + 3 * month + place, 10 + month, "2025-01-01", 3 * month + place) for month in (1, 2) for place in range(3)),
    )
    check_neighbours(tmp_path, crowd)
    monkeypatch.setattr(Ranking, "_first", lambda self, rows: first(replace(self, period=""), rows))
    with pytest.raises(AssertionError):
        check_neighbours(tmp_path, crowd)


# --- questions -----------------------------------------------------------------------------------------------------------------


ALONG = "l.visit = v.id"
ANSWERED = (
    "SELECT COUNT(*), SUM(value) FROM labs",
    "SELECT EXTRACT(MONTH FROM taken) AS m, COUNT(*) FROM labs GROUP BY m",
    f"SELECT DATE_TRUNC('month', v.day) AS m, COUNT(*), SUM(l.value) FROM labs l JOIN visits v ON {ALONG} GROUP BY m",
    f"SELECT COUNT(*) FROM labs l JOIN visits v ON {ALONG} WHERE v.day < DATE '2025-02-01'",
    f"SELECT COUNT(*), COUNT(l.value) FROM visits v LEFT JOIN labs l ON {ALONG}",
    "SELECT COUNT(*) FROM notes n JOIN labs l ON n.lab = l.id",
    f"SELECT COUNT(*) FROM notes n JOIN labs l ON n.lab = l.id JOIN visits v ON {ALONG} JOIN patients p ON p.id = v.patient",
    "SELECT COUNT(*) FROM labs l JOIN labs k ON l.visit = k.visit",
    f"SELECT COUNT(*), SUM(v.cost) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE {ALONG})",
    "SELECT COUNT(*) FROM labs l WHERE l.id IN (SELECT lab FROM notes)",
    "SELECT COUNT(*) FROM labs l WHERE NOT EXISTS (SELECT 1 FROM notes n WHERE n.lab = l.id)",
    "SELECT n, COUNT(*) FROM (SELECT visit, COUNT(*) AS n FROM labs GROUP BY visit) t GROUP BY n",
    "SELECT n, COUNT(*) FROM (SELECT v.patient, DATE_TRUNC('month', v.day) AS m, COUNT(*) AS n FROM visits v"
    f" JOIN labs l ON {ALONG} GROUP BY v.patient, m) t GROUP BY n",
)
REFUSED = {
    "SELECT COUNT(*) FROM visits v JOIN visits w ON v.id = w.id": "must be on the same month",
    "SELECT COUNT(*) FROM labs l JOIN labs k ON l.id = k.id": "no period column is left",
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    found = Asked(prepared(tmp_path_factory.mktemp("clinic") / "c", TWICE))
    yield found
    found.close()


def test_no_persons_period_moves_a_question_further_than_its_price(asked):
    assert check_clinic(asked, ANSWERED, WITH_PERIODS) > 20


@LENGTHS
def test_the_same_in_worlds_of_all_kinds(tmp_path: Path, examples: int) -> None:
    @settings(WIDELY, max_examples=examples)
    @given(worlds())
    def inner(world: World) -> None:
        found = Asked(prepared(tmp_path / "clinic", world))
        check_clinic(found, ANSWERED, WITH_PERIODS)
        found.close()

    inner()


def test_a_join_along_the_reference_over_several_periods_is_caught(tmp_path, monkeypatch):
    """Planted: an engine that trusts the key, which stands in two months of one person."""
    world = World(((10, 1, "2025-01-31", 1), (10, 1, "2025-02-01", 2)), ((20, 10, "", 1), (21, 10, "", 2)))
    text = CATALOG.replace(
        'taken = { type = "date", bounds = ["2025-01-01", "2025-03-31"], outside = "drop", nulls = "drop" }\n', ""
    )
    found = Asked(prepared(tmp_path / "clinic", world, text))
    joined = ["SELECT COUNT(*) FROM labs l JOIN labs k ON l.visit = k.visit"]
    check_clinic(found, joined, WITH_PERIODS)
    monkeypatch.setattr(compiled, "_equal_periods", lambda *_: [])
    found.engine._compiled.clear()
    with pytest.raises(AssertionError):
        check_clinic(found, joined, WITH_PERIODS)
    found.close()


def months(asked: Asked, text: str) -> list[int]:
    return [at % 12 + 1 for low, high in charged(asked.plan(text)) for at in range(low, high + 1)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("SELECT COUNT(*) FROM labs WHERE taken < DATE '2025-02-01'", [1, 2, 3]),
        (f"SELECT COUNT(*) FROM labs l JOIN visits v ON {ALONG} WHERE v.day < DATE '2025-02-01'", [1]),
        (f"SELECT COUNT(*) FROM notes n JOIN labs l ON n.lab = l.id JOIN visits v ON {ALONG} WHERE v.day >= '2025-03-01'", [3]),
    ],
)
def test_the_day_of_the_row_that_leads_says_which_periods_are_read(asked, text, read):
    assert months(asked, text) == read


@pytest.mark.parametrize("text", REFUSED)
def test_keys_that_do_not_lead_to_the_period_are_not_enough(asked, text):
    with pytest.raises(NotAllowed, match=REFUSED[text]):
        asked.plan(text)


# --- ways to publish -----------------------------------------------------------------------------------------------------------


def test_a_way_to_publish_reads_and_charges_the_periods_of_a_led_table(tmp_path):
    """The months are those of the visits; a table without periods would be read whole, and pay from the lifetime alone."""
    declared(tmp_path, TWICE)
    with tacit.open(tmp_path / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True, through="2025-03", reason="a test")
        data.begin_scratch("a test")
        for name, column in (("labs", "value"), ("notes", "words")):
            by_month = [sum(row[1] == month for row in by_hand(TWICE)[name]) for month in (1, 2, 3)]
            chosen = chosen_columns(data.as_prepared, name, [column])
            read = [reads_of(data.as_prepared, chosen.table, data.version, f"2025-{month:02}") for month in (1, 2, 3)]
            read.append(reads_of(data.as_prepared, chosen.table, data.version, None))
            marginals = [count_marginal(chosen.table, chosen.axes, each.engine(data.engine)) for each in read]
            found = [int(np.asarray(for_the_owner(each)).sum()) for each in marginals]
            assert found == [*by_month, sum(by_month)], name
        synthesize_independent(data, "labs", epsilon=Fraction(1, 8), columns=["value"])
        synthesize_independent(data, "notes", epsilon=Fraction(1, 8), columns=["words"], periods="2025-02")
        charged = [entry.in_periods.named for entry in data.ledger.entries() if entry.kind == "spend"]
        assert charged == ["2025-01 to 2025-03", "2025-02"]


# --- declarations --------------------------------------------------------------------------------------------------------------


def test_a_period_of_its_own_is_refused_where_one_is_inherited(tmp_path):
    with pytest.raises(InvalidCatalog) as told:
        declared(tmp_path, TWICE, CATALOG.replace('"visits.id" }', '"visits.id" }\nperiod = "taken"'))
    assert [problem.what for problem in told.value.problems] == [
        "cannot be declared: the unit is looked up in visits, so a row has the period of the row of visits that it leads to"
    ]


def inherited(catalog: Catalog) -> Iterable[str]:
    return {name for name, table in catalog.tables.items() if table.period_of is not None and table.period_of.name == "visits"}


def test_what_is_inherited_follows_from_the_chain_of_references(tmp_path):
    catalog = declared(tmp_path, TWICE)
    assert inherited(catalog) == {"labs", "notes"}
    assert [table.per is None for table in catalog.tables.values()] == [True, False, False, False]
    own = CATALOG.replace('{ column = "visit", references = "visits.id" }', '{ column = "visit" }').replace(
        "[tables.labs]", "[tables.labs]\nperiod = 'taken'"
    )
    other = declared(tmp_path / "own", TWICE, own)
    assert other.tables["labs"].period_of is None
    assert fingerprint(other) != fingerprint(catalog)
    assert other.tables["notes"].period_of.name == "labs"
