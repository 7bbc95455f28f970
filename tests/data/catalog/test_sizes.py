"""The most rows of a table: what is assumed, what the data owner declares, and the line that is written."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tacit
from stored import catalog, number, table, write_csv
from tacit.data.catalog import read_catalog
from tacit.data.catalog.sizes import LADDER, rows_from, with_rows
from tacit.data.prepare import check_size, prepare
from tacit.data.store import kept_version, prepared_for
from tacit.doors.cli import app
from tacit.errors import InvalidCatalog, InvalidInput, StoreUnusable, TooMuchWork
from tacit.privacy.catalog import (
    ASSUMED_BEFORE,
    ASSUMED_ROWS,
    Budget,
    Catalog,
    Column,
    Owner,
    Source,
    Table,
    assuming,
    fingerprint,
    prepared_under,
)

CATALOG = """\
# people of a clinic
[budget]
epsilon = 8
delta = 1e-6

[tables.patients]  # one row each
source = "patients.csv"
unit = "row"

  [tables.patients.columns]
  id = { key = true }
  age = { bounds = [0, 110] }

[tables."Visits"]
max_rows = 8   # a year
source = "visits.csv"
unit = { column = "patient", references = "patients.id" }  # whose

[tables."Visits".columns]
cost = { bounds = [0, 5000] }
note = { keys = "private" }
"""
FIRST = [
    "SELECT note, COUNT(*) AS n, SUM(cost), AVG(cost) FROM visits GROUP BY note",
    "SELECT MEDIAN(cost) FROM visits",
    "SELECT age, COUNT(*) FROM visits JOIN patients ON visits.patient = patients.id GROUP BY age",
    "SELECT AVG(age) FROM patients JOIN visits ON visits.patient = patients.id",
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tacit.toml").write_text(CATALOG)
    write_csv(tmp_path / "patients.csv", ["id", "age"], [[1, 30], [2, 40]])
    write_csv(tmp_path / "visits.csv", ["patient", "cost", "note"], [[1, 5, "a"], [2, 7, "b"]])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    return tmp_path / "tacit.toml"


def test_the_first_questions_are_answered_without_a_declaration(place: Path) -> None:
    with tacit.open(place, own_process=False) as data:
        data.prepare()
        data.begin_scratch("a test")
        for text in FIRST:
            data.session().sql(text, epsilon=1, delta=1e-7 if "note" in text else 0)
        large = assuming(data.catalog, 10**7)
    with tacit.open(place, own_process=False) as data:
        _ = data.store
        data.catalog = large
        with pytest.raises(TooMuchWork, match="assumed"):  # the number decides it
            data.session().explain(FIRST[0], epsilon=1, delta=1e-7)


# --- stores that were prepared before ------------------------------------------------------------------------------------------


def test_the_fingerprint_of_older_stores_is_the_one_of_the_older_number() -> None:
    cost = Column("cost", "number", (Fraction(0), Fraction(5)), Fraction(1))
    visits = Table("visits", Source("csv", "visits.csv"), {"cost": cost}, unit=Owner("person"), max_rows=3)
    declared = Catalog(Budget(Fraction(1)), {"visits": visits})
    before = "9058b76784bafe12da1a4e480d155d9875679daf51fe84ccbdfc4f8f19d3fc5c"  # as it was computed when 10^8 were assumed
    found = prepared_under(declared, before)
    assert found is not None
    assert (found.tables["visits"].most_rows, declared.tables["visits"].most_rows) == (ASSUMED_BEFORE, ASSUMED_ROWS)
    assert prepared_under(found, fingerprint(declared)) == declared
    assert prepared_under(declared, "another") is None
    assert prepared_under(replace(declared, tables={"visits": replace(visits, max_rows=4)}), before) is None
    stated = replace(declared, tables={"visits": replace(visits, rows_at_most=ASSUMED_BEFORE)})
    assert fingerprint(stated) == before, "what is declared does not ask what is assumed"


def test_a_store_of_before_stays_valid_and_is_priced_at_its_number(place: Path) -> None:
    with tacit.open(place, own_process=False) as data:
        data.begin_scratch("a test")
    old = assuming(read_catalog(place), ASSUMED_BEFORE)
    prepare(old)
    state = json.loads(CliRunner().invoke(app, ["check", "--json"]).stdout)["store"]["state"]
    assert (state, prepared_for(read_catalog(place)) is not None) == ("ready", True)
    version = kept_version(read_catalog(place))
    with tacit.open(place, own_process=False) as data:
        ana = data.session()
        with pytest.raises(TooMuchWork, match="100,000,000 rows of visits"):
            ana.explain(FIRST[0], epsilon=1, delta=1e-7)
        with pytest.raises(TooMuchWork, match="100,000,000 rows of visits"):
            ana.sql(FIRST[0], epsilon=1, delta=1e-7)
        assert not ana.sql("SELECT COUNT(*) FROM visits", epsilon=1).receipt.again
        place.write_text(CATALOG + "# a comment\n")
        assert ana.sql("SELECT COUNT(*) FROM visits", epsilon=1).receipt.again, "a catalog that is read again"
        data.prepare(keep_version=True)
        assert data.version == version
        assert ana.sql("SELECT COUNT(*) FROM visits", epsilon=1).receipt.again
        ana.explain(FIRST[0], epsilon=1, delta=1e-7)  # now it is prepared under the new number


def test_a_larger_table_stops_with_a_ladder_and_never_with_what_was_counted(tmp_path: Path) -> None:
    (visits,) = catalog(tmp_path, table("visits", tmp_path / "v.csv", number("x", 0, 1))).tables.values()
    check_size(visits, ASSUMED_ROWS)
    texts = set()
    for counted in (ASSUMED_ROWS + 1, 3_141_592, 10**9 + 7):
        with pytest.raises(StoreUnusable) as caught:
            check_size(visits, counted)
        texts.add(str(caught.value))
    (text,) = texts
    assert "[tables.visits]: rows_at_most = 10000000, 100000000 or 1000000000" in text


# --- the line in the catalog ---------------------------------------------------------------------------------------------------


def test_the_line_is_written_and_all_else_stays(place: Path) -> None:
    done = CliRunner().invoke(app, ["prepare", "--declare", "visits=1_000_000", "--declare", "Patients=10^5"])
    assert done.exit_code == 0, done.output
    lines = place.read_text().splitlines()
    assert [line for line in lines if "rows_at_most" not in line] == CATALOG.splitlines()
    assert lines[lines.index("max_rows = 8   # a year") + 1] == "rows_at_most = 1000000"
    assert {name: each.rows_at_most for name, each in read_catalog(place).tables.items()} == {"patients": 10**5, "visits": 10**6}


@pytest.mark.parametrize(
    "given", ["visits", "visits=", "visits=many", "visits=0", "nothing=5", "visits=99999999999", "visits=-1", "visits=1.5"]
)
def test_what_is_no_size_of_a_table_is_refused_and_nothing_is_written(place: Path, given: str) -> None:
    done = CliRunner().invoke(app, ["prepare", "--declare", "patients=1000", "--declare", given])
    assert done.exit_code != 0
    assert place.read_text() == CATALOG


def test_a_size_is_declared_once(place: Path) -> None:
    assert CliRunner().invoke(app, ["prepare", "--declare", "visits=1000"]).exit_code == 0
    before = place.read_text()
    assert CliRunner().invoke(app, ["prepare", "--declare", "visits=2000"]).exit_code != 0
    assert place.read_text() == before


@pytest.mark.parametrize(
    "text",
    [
        '[tables]\nvisits = { source = "v.csv", unit = "row" }\n',
        'tables.visits.source = "v.csv"\n[tables.visits.columns]\n',
        '[other]\nx = """\n[tables.visits]\n"""\n',
    ],
)
def test_a_line_that_would_say_something_else_is_not_written(text: str) -> None:
    with pytest.raises(InvalidCatalog, match="rows_at_most = 1000"):
        with_rows(text, "visits", 1000)


NAMES = st.sampled_from(["visits", '"visits"', "'Visits'"])
COMMENT = st.sampled_from(["", "  # a [tables.visits] b", ' # "'])
VALUES = st.sampled_from(['source = "a # b"', "max_rows = 3", 'unit = { column = "x" }', 'note = """\nsource = 1\n"""'])


@given(NAMES, COMMENT, st.lists(st.tuples(VALUES, COMMENT), unique_by=lambda each: each[0]), st.sampled_from(["\n", "\r\n"]))
def test_any_layout_keeps_its_bytes(name: str, comment: str, values: list[tuple[str, str]], end: str) -> None:
    body = end.join(f"{value}{word}".replace("\n", end) for value, word in values)
    text = f"# head{end}[ tables . {name} ]{comment}{end}{body}{end}{end}[tables.other]{end}source = 1"
    made = with_rows(text, "visits", 1000)
    line = f"rows_at_most = 1000{end}"
    assert made.count(line) == 1
    assert made.replace(line, "") == text


def test_numbers_as_people_write_them() -> None:
    assert [rows_from(said, "t") for said in ("100000", "1,000,000", "10 000 000", "10^8", "1e9")] == list(LADDER)
    for wrong in ("", "a", "1.5", "-3", "1e99", "1,00", "10**6"):
        with pytest.raises(InvalidInput):
            rows_from(wrong, "t")


def test_on_a_terminal_the_owner_is_asked_and_no_number_is_proposed(place: Path) -> None:
    """Two tables of other sizes are asked about in the same words."""
    seen = set()
    for rows in (2, 300):
        place.write_text(CATALOG)
        write_csv(place.parent / "visits.csv", ["patient", "cost", "note"], [[at, 5, "a"] for at in range(rows)])
        seen.add(_typed("\nmany\n10^6\n"))
        assert {name: each.rows_at_most for name, each in read_catalog(place).tables.items()} == {"patients": None, "visits": 10**6}
    (text,) = seen
    assert "The most rows that visits can ever have, from public knowledge (100,000, 1,000,000, 10,000,000, ...;" in text


def _typed(keys: str) -> str:
    """What the command asks on a terminal where these keys are typed: up to the first line of progress."""
    main, terminal = pty.openpty()
    os.write(main, keys.encode())
    command = [sys.executable, "-m", "tacit", "prepare", "--yes"]
    with subprocess.Popen(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "COLUMNS": "400"}
    ) as done:
        os.close(terminal)
        done.communicate()
    os.set_blocking(main, False)
    text = b""
    while True:
        try:
            read = os.read(main, 65536)
        except OSError:
            break
        if not read:
            break
        text += read
    os.close(main)
    assert done.returncode == 0
    return text.decode().partition("is declared for")[0]
