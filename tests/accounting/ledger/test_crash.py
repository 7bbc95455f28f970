"""kill -9 in a loop over dozens of processes: every answer that was seen has a durable entry, and nothing is overspent."""

import json
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from crash import EACH
from ledgers import IDENTITY, opened, policy, pure, spend
from services import fresh_database
from tacit.accounting.ledger import ledger as ledger_module
from tacit.accounting.ledger import selling
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.rollback import check_head
from tacit.accounting.ledger.selling import Granted, Sale
from tacit.accounting.ledger.tables import Store
from tacit.errors import BudgetExceeded, StoreUnusable, TooManyFailures

SCRIPT = Path(__file__).parents[2] / "support" / "crash.py"
ROUND = 3600  # seconds for 400 kills, and a quarter of what the slow test may take: a busy machine needs minutes


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return fresh_database(request.getfixturevalue("postgres_url"))


def killed_in_a_loop(address: str, folder: Path, order: str, *limits: float) -> dict:
    """What was seen, with a budget of `limits[0]` epsilon, until so many processes were killed or so many seconds are over."""
    run = [sys.executable, SCRIPT, address, folder, order, *map(str, limits)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answers_without_entry(ledger, seen: list[int]) -> int:
    """How many more answers were seen than were paid for; an entry that is seen twice is paid for once."""
    return len(seen) - len({entry.number for entry in ledger.entries(first=1)} & set(seen))


def require_all_is_well(address: str, folder: Path, cap: int, report: dict) -> None:
    ledger = opened(address, policy(cap), IDENTITY)
    assert report["errors"] == []
    assert report["seen"]
    assert answers_without_entry(ledger, report["seen"]) == 0
    assert ledger.verify().problems == ()
    assert ledger.spent().epsilon == ledger.head.number * Fraction(EACH) <= cap
    check_head(folder, ledger)


def test_what_was_seen_is_in_the_ledger(address, tmp_path):
    report = killed_in_a_loop(address, tmp_path / "store", "spend-first", 40, 60, 240)
    assert report["kills"] >= 12
    require_all_is_well(address, tmp_path / "store", 40, report)
    ledger = opened(address, policy(40), IDENTITY)
    for _ in range(320 - ledger.head.number):
        spend(ledger, pure(EACH))
    with pytest.raises(BudgetExceeded):
        spend(ledger, pure(EACH))


def test_answering_before_the_debit_is_caught(tmp_path):
    """The planted bug: whoever is killed between the two has shown an answer that nobody paid for."""
    address = str(tmp_path / "ledger.sqlite")
    report = killed_in_a_loop(address, tmp_path / "store", "answer-first", 40, 30, 240)
    assert answers_without_entry(opened(address, policy(40), IDENTITY), report["seen"]) > 0


@pytest.mark.slow
@pytest.mark.timeout(4 * ROUND)
def test_what_was_seen_is_in_the_ledger_after_a_thousand_kills(address, tmp_path):
    """Until the budget has ended and a thousand processes were killed, some of them while others were refused."""
    kills, refused = 0, False
    while kills < 1000 or not refused:
        report = killed_in_a_loop(address, tmp_path / "store", "spend-first", 600, 400, ROUND)
        if not refused:
            require_all_is_well(address, tmp_path / "store", 600, report)
        kills, refused = kills + report["kills"], report["refused"]
    assert opened(address, policy(600), IDENTITY).head.number == 4800


# --- questions whose process died ------------------------------------------------------------------------------------------------

ONE = pure("1/100")


def lost(ledger: Ledger, key: str, analyst: str = "ana") -> Granted:
    """A question that is paid for by a process that then dies."""
    granted = ledger.reserve(Sale((ONE,), analyst, "q", "v", key))
    assert isinstance(granted, Granted)
    return granted


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Move the clock of leases."""
    now = selling.time.time()
    monkeypatch.setattr("tacit.accounting.ledger.selling.time.time", lambda: now + seconds)


def failures(ledger: Ledger) -> list[int | None]:
    """The entries that were counted as lost, in order."""
    return [entry.about for entry in ledger.entries() if entry.kind == "failure"]


def test_the_third_lost_question_is_counted_and_stops_the_analyst(address, monkeypatch):
    """The refusal that the third one causes does not undo that it is counted."""
    ledger = opened(address, policy(8))
    numbers = [lost(ledger, key).entry.number for key in "abc"]
    later(monkeypatch, selling.LEASE + 1)
    for key in ("c", "c", "another"):
        with pytest.raises(TooManyFailures, match="tacit ledger resume"):
            ledger.reserve(Sale((ONE,), "ana", "q", "v", key))
    assert failures(ledger) == numbers, "each of them once"
    assert ledger.spent().epsilon == Fraction(3, 100), "a refusal spends nothing"
    assert isinstance(ledger.reserve(Sale((ONE,), "ben", "q", "v", "c")), Granted), "others go on"
    ledger.resume("curator", "looked")
    assert isinstance(ledger.reserve(Sale((ONE,), "ana", "q", "v", "a")), Granted), "and the questions are not refused for ever"
    assert ledger.verify().whole


def test_a_lost_question_that_is_never_asked_again_is_counted_when_its_lease_ends(address, monkeypatch):
    ledger = opened(address, policy(8))
    number = lost(ledger, "a").entry.number
    answered = lost(ledger, "b")
    ledger.answered(answered, "released")
    later(monkeypatch, selling.LEASE - 10)
    spend(ledger, ONE, "ben")
    assert failures(ledger) == [], "it may still be answered"
    later(monkeypatch, 11)
    spend(ledger, ONE, "ben")
    spend(ledger, ONE, "ben")
    assert failures(ledger) == [number], "by whoever comes next, and once"
    assert ledger.verify().whole


def test_a_question_that_is_being_answered_keeps_its_lease(address, monkeypatch):
    """However long it takes: the lease is renewed. Planted: one that nobody renews is counted while it runs."""
    ledger = opened(address, policy(8))
    slow, dead = lost(ledger, "slow"), lost(ledger, "dead")
    monkeypatch.setattr(ledger_module, "LEASE", 0.03)  # of the pauses between renewals alone
    ends = ledger._store.look(lambda page: page.kept("slow")).until
    with ledger.held(slow):
        later(monkeypatch, selling.LEASE + 1)
        while ledger._store.look(lambda page: page.kept("slow")).until == ends:
            time.sleep(0.01)
        renewing = {thread for thread in threading.enumerate() if thread.name == "tacit lease"}
        spend(ledger, ONE, "ben")
    assert failures(ledger) == [dead.entry.number]
    assert renewing
    assert not renewing & set(threading.enumerate()), "it has let go of the ledger's file"


@pytest.mark.parametrize("taken_over", [False, True])
def test_a_process_that_stands_still_and_then_times_out_is_counted_once(address, monkeypatch, taken_over):
    """Its lease ends, whoever comes next counts it as lost, and then it goes on and reports its time-out."""
    ledger = opened(address, policy(8))
    still = lost(ledger, "a")
    later(monkeypatch, selling.LEASE + 1)
    other = lost(ledger, "a" if taken_over else "b", "ben")
    assert failures(ledger) == [still.entry.number]
    said = ledger.failed(still, "timed out")
    assert (said.kind, said.about, said.question) == ("failure", still.entry.number, "its process ended")
    assert failures(ledger) == [still.entry.number]
    assert ledger.head.failures == 1
    ledger.failed(other, "timed out")
    assert failures(ledger) == [still.entry.number, other.entry.number], "another question is counted for itself"
    assert ledger.verify().whole


def test_a_time_out_is_counted_whatever_the_table_of_questions_says(address):
    """That table is not in the chain: a row that says that nobody is answering does not leave a failure out."""
    ledger = opened(address, policy(8))
    granted = lost(ledger, "a")
    Store(address).convert(lambda connection: connection.run("UPDATE tacit_kept SET until = 0"))
    ledger.failed(granted, "timed out")
    assert failures(ledger) == [granted.entry.number]


@pytest.mark.parametrize("back", [5.0, selling.LEASE])
def test_a_clock_that_is_behind_a_little_does_not_make_a_question_lost(address, monkeypatch, back):
    """Of another machine, or set back meanwhile: whoever asks the same waits for the answer, and no failure is counted."""
    ledger = opened(address, policy(8))
    answering = lost(ledger, "a")
    later(monkeypatch, -back)
    with pytest.raises(StoreUnusable, match="being answered"):
        ledger.reserve(Sale((ONE,), "ben", "q", "v", "a"), patience=0.0)
    assert failures(ledger) == []
    later(monkeypatch, -2 * selling.LEASE)
    assert isinstance(ledger.reserve(Sale((ONE,), "ben", "q", "v", "a")), Granted), "a clock that was wrong holds nobody up"
    assert failures(ledger) == [answering.entry.number]


@pytest.mark.parametrize("change", ["entry = entry + 1", "entry = 0", "\"key\" = 'x'"])
def test_a_lost_question_that_names_no_spend_of_its_own_is_a_changed_ledger(address, monkeypatch, change):
    """Else it would stay lost, and be counted again and again."""
    ledger = opened(address, policy(8))
    lost(ledger, "a")
    lost(ledger, "b")
    Store(address).convert(lambda connection: connection.run(f"UPDATE tacit_kept SET {change} WHERE \"key\" = 'a'"))
    later(monkeypatch, selling.LEASE + 1)
    with pytest.raises(StoreUnusable, match="changed or damaged"):
        ledger.reserve(Sale((ONE,), "ben", "q", "v", "c"))
    assert ledger.head.number == 2, "nothing was written"


def test_resuming_counts_what_was_lost_before_it(address, monkeypatch):
    ledger = opened(address, policy(8))
    for key in "abc":
        lost(ledger, key)
    later(monkeypatch, selling.LEASE + 1)
    ledger.resume("curator", "looked")
    assert len(failures(ledger)) == 3
    assert ledger.head.number == 7
    assert spend(ledger, ONE, "ana"), "what the data owner has looked at is not counted after it"


def test_the_index_of_open_questions_is_made_in_a_ledger_without_it(address):
    lost(opened(address, policy(8)), "a")
    store = Store(address)
    assert store.has_open_index()
    store.convert(lambda connection: connection.run("DROP INDEX tacit_open"))
    assert not store.has_open_index()
    assert spend(opened(address, policy(8)), ONE)
    assert store.has_open_index()
