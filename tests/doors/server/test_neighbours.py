"""Two tables that differ in one person, through the door: everything but released digits is the same.

Status, code, text, headers, size and charge are compared, with hostile cells and long texts in the rows of that person.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neighbouring import OTHERS, VICTIM, write_world
from served import seen
from tacit import session
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.desk import Desk, desk
from tacit.doors.server.problems import problem
from tacit.errors import StoreUnusable
from tacit.session import open as open_data

QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost * cost) AS c FROM visits GROUP BY ward HAVING COUNT(*) > 1000000",
    "SELECT MEDIAN(cost) AS m FROM visits WHERE note LIKE '%victim%'",
    "SELECT SUM(cost / (cost - cost)) AS z FROM visits",
    "SELECT sex, COUNT(*) AS n FROM visits JOIN patients ON visits.person = patients.id GROUP BY sex",
    "SELECT COUNT(*) AS n FROM visits WHERE ward = 'victim'",
    "SELECT MAX(cost) FROM visits",
    "SELECT note, COUNT(*) FROM visits WHERE note LIKE '%" + "_" * 200 + "' GROUP BY note",
    "SELECT nothing FROM visits",
    "SELECT COUNT(*) FROM victim",
    "SELECT CAST(note AS INTEGER) FROM visits",
    "DESCRIBE visits",
    "SELECT COUNT(*) AS n FROM visits WHERE cost > 7",
]


def world(folder: Path, rows: list[Any]) -> Desk:
    """A desk on a table of these rows."""
    folder.mkdir()
    write_world(folder, rows)
    data = open_data(folder / "tacit.toml", own_process=False)
    data.prepare(yes=True)
    data.begin_scratch("a test")
    place = desk(data)
    place.tokens = {name: place.office.accounts.add(name, role).token for name, role in (("ana", "analyst"), ("otto", "auditor"))}  # type: ignore[attr-defined]
    return place


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Desk]:
    folder = tmp_path_factory.mktemp("worlds")
    return world(folder / "one", OTHERS), world(folder / "two", [*OTHERS, *VICTIM])


def asked(place: Desk, who: str, operation: str, **given: Any) -> Reply:
    return place.handle(Call(operation, place.tokens[who], given))  # type: ignore[attr-defined]


def transcript(place: Desk, questions: list[str], epsilon: str) -> list[Any]:
    """What an analyst sees, question after question, and what each cost."""
    found: list[Any] = [seen(asked(place, "ana", "catalog"))]
    for sql in questions:
        budget = {} if sql.startswith("DESCRIBE") else {"epsilon": epsilon}
        found.append(
            (sql, seen(asked(place, "ana", "explain", sql=sql, **budget)), seen(asked(place, "ana", "ask", sql=sql, **budget)))
        )
        found.append(place.office.data.ledger.spent("ana"))
    return [*found, seen(asked(place, "ana", "history")), seen(asked(place, "ana", "budget"))]


def test_one_person_changes_nothing_but_released_digits(worlds):
    one, two = (transcript(place, QUESTIONS, "0.1") for place in worlds)
    assert one == two
    assert sum(isinstance(each, tuple) and len(each) == 3 and each[2][0] == 200 for each in one) >= 6, "answers, not refusals alone"


def test_the_catalog_is_the_same_byte_for_byte_on_the_empty_store_too(worlds, tmp_path):
    empty = world(tmp_path / "empty", [])
    assert len({asked(place, "ana", "catalog").body for place in (*worlds, empty)}) == 1


def test_an_engine_that_fails_on_a_row_is_the_same_as_one_that_fails_without(worlds, monkeypatch):
    """The text of an engine quotes a cell: it reaches nobody."""
    sql, seen_of = "SELECT COUNT(*) AS n FROM visits WHERE cost > 33", []
    for place, cell in zip(worlds, ("other", "victim" * 9), strict=True):
        failing(monkeypatch, ValueError(f"Could not convert string '{cell}' to INT32"))
        seen_of.append(seen(asked(place, "ana", "ask", sql=sql, epsilon="0.1")))
        monkeypatch.undo()
    assert seen_of[0] == seen_of[1]
    assert seen_of[0][0] == 503


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("tacit.release.noisy.InProcess.noisy", fails)


# --- planted -----------------------------------------------------------------------------------------------------------------


def differs(worlds: tuple[Desk, Desk], ask: Callable[[Desk], Reply]) -> bool:
    return seen(ask(worlds[0])) != seen(ask(worlds[1]))


def test_an_engines_message_that_is_passed_on_is_caught(worlds, monkeypatch):
    def passed_on(self: Desk, error: Exception) -> Reply:
        return problem("unavailable", str(error))

    monkeypatch.setattr(Desk, "_unavailable", passed_on)
    monkeypatch.setattr(session, "one_exit", lambda method: method)
    cells = iter(("other", "victim"))

    def fails(*_: Any, **__: Any) -> None:
        raise StoreUnusable(f"Could not convert string '{next(cells)}' to INT32")

    monkeypatch.setattr("tacit.release.noisy.InProcess.noisy", fails)
    sql = "SELECT COUNT(*) AS n FROM visits WHERE cost > 34"
    assert differs(worlds, lambda place: asked(place, "ana", "ask", sql=sql, epsilon="0.1"))


def test_a_length_that_follows_a_cell_is_caught(worlds, monkeypatch):
    lengths = iter((7, 8))
    sql = "SELECT COUNT(*) AS n FROM visits WHERE cost > 35"

    def ask(place: Desk) -> Reply:
        monkeypatch.setattr(session, "BIASES", "x" * next(lengths))  # as long as the longest text of a row
        return asked(place, "ana", "ask", sql=sql, epsilon="0.1")

    assert differs(worlds, ask)
