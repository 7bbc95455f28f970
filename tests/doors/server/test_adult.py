"""Three analysts of the census extract "Adult", each below their own cap: together the data set's cap stops them, at one entry."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tacit
from adult import SOURCE, catalog_text
from serving import Server, serving
from tacit.accounting.ledger.entries import Entry
from tacit.accounting.ledger.units import policy_of
from tacit.doors.server.calls import Call
from tacit.doors.server.desk import Desk, desk
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.privacy.catalog import Budget
from tacit.session import DataSet

pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason="the census extract Adult is not present")

WHOLE, OWN, EACH = Fraction(1), Fraction(1, 2), Fraction(1, 10)
ANALYSTS = ("ana", "ben", "cem")
Ask = Callable[[str, str], tuple[int, Any]]
QUESTIONS = [f"SELECT income, COUNT(*) AS n FROM adult WHERE age > {20 + at} GROUP BY income" for at in range(4 * len(ANALYSTS))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prepared extract; tests work on copies."""
    place: Path = tmp_path_factory.mktemp("adult")
    with gzip.open(SOURCE, "rb") as packed, (place / "adult.csv").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    own = "".join(f"\n[analysts.{name}]\nepsilon = {float(OWN)}\n" for name in ANALYSTS)
    (place / "tacit.toml").write_text(catalog_text(float(WHOLE), 1e-6) + own, "utf-8")
    with tacit.open(place / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    return place


@dataclass
class Stop:
    """What the API answered, in the order of asking: an entry, or a code; and the spends of the ledger."""

    answered: list[int]
    refused: list[str]
    spends: list[Entry]


def tried(ask: Ask, data: DataSet) -> Stop:
    """Each analyst asks in turn, until and beyond the end."""
    answered, refused = [], []
    for at, question in enumerate(QUESTIONS):
        status, told = ask(ANALYSTS[at % len(ANALYSTS)], question)
        (answered if status == 200 else refused).append(told["entry"] if status == 200 else told["error"]["code"])
    assert data.ledger.verify().whole
    return Stop(answered, refused, [entry for entry in data.ledger.entries() if entry.kind == "spend"])


def stopped_together(found: Stop) -> bool:
    """Whether the data set's cap stopped them, at the same entry on the API and in the ledger, with each below the own cap."""
    spent = {
        name: sum((each.price.epsilon or 0 for each in found.spends if each.analyst == name), Fraction(0)) for name in ANALYSTS
    }
    return (
        found.answered == [entry.number for entry in found.spends]
        and set(found.refused) == {"budget_exceeded"}
        and sum(spent.values()) == WHOLE
        and all(0 < each < OWN for each in spent.values())
    )


@contextmanager
def at_a_desk(folder: Path, to: Path) -> Iterator[tuple[Desk, Ask]]:
    """The desk of a copy, without processes."""
    shutil.copytree(folder, to, dirs_exist_ok=True)
    with tacit.open(to / "tacit.toml", own_process=False) as data:
        place = desk(data)
        tokens = {name: place.office.accounts.add(name, "analyst", declared=data.catalog.analysts).token for name in ANALYSTS}

        def ask(who: str, question: str) -> tuple[int, Any]:
            reply = place.handle(Call("ask", tokens[who], {"sql": question, "epsilon": str(float(EACH))}))
            return reply.status, json.loads(reply.body)

        yield place, ask
        place.office.records.close()


def test_the_data_sets_cap_stops_analysts_who_are_below_their_own(folder, tmp_path):
    with at_a_desk(folder, tmp_path) as (place, ask):
        found = tried(ask, place.office.data)
    assert stopped_together(found)
    assert (len(found.answered), len(found.refused)) == (10, 2)


def test_a_door_that_raises_the_cap_of_the_data_set_is_caught(folder, tmp_path):
    """Planted: the policy of the door knows the caps of analysts alone."""
    with at_a_desk(folder, tmp_path) as (place, ask):
        raised = lambda catalog: replace(policy_of(catalog), budget=Budget(Fraction(1000), Fraction(1, 1000)))  # noqa: E731
        place.office.data.door = replace(place.office.data.door, policy=raised)
        assert not stopped_together(tried(ask, place.office.data))


@pytest.mark.slow
@pytest.mark.skipif(not KNOWN, reason="processes are looked up in /proc")
def test_the_same_through_the_real_server(folder, tmp_path):
    with at_a_desk(folder, tmp_path) as (place, _):
        tokens = {name: place.office.accounts.issue(name).token for name in ANALYSTS}
    with serving(tmp_path, tokens) as server, tacit.open(tmp_path / "tacit.toml", own_process=False) as data:
        assert stopped_together(tried(through(server), data))


def through(server: Server) -> Ask:
    return lambda who, question: server.ask(question, who, str(float(EACH)))
