"""The one till: what is checked, spent, run, counted and kept, in which order; and that nothing is paid for elsewhere."""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tacit.accounting.events import ExponentialChoice
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.rollback import remember_head
from tacit.accounting.ledger.selling import Granted, Recalled, Sale
from tacit.accounting.ledger.units import Policy
from tacit.errors import BudgetExceeded, StoppedAfterSpending, StoreUnusable, TimedOut, TooManyFailures, Unforeseen
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.loss import Neighbours
from tacit.release.once import Form, Till, once

SOURCE = Path(__file__).parents[2] / "src" / "tacit"
UNIT = Neighbours("add-remove", "unit")
TEXT: Form[str] = Form(str, str)
ANALYSTS = {name: Analyst(name) for name in ("ana", "ben", "cyd", "dan")}
POLICY = Policy(Budget(Fraction(8)), ANALYSTS)


def event(epsilon: object) -> ExponentialChoice:
    return ExponentialChoice(Fraction(str(epsilon)), UNIT)


def sale(analyst: str = "ana", key: str = "key", *offers: object) -> Sale:
    return Sale(tuple(map(event, offers or ("1/2",))), analyst, "q", "v", key)


@pytest.fixture
def till(tmp_path: Path) -> Till:
    ledger = begin_ledger(str(tmp_path / "ledger.sqlite"), POLICY, "ab" * 16)
    folder = tmp_path / "store"
    remember_head(folder, ledger.head)
    return Till(ledger, folder)


def kinds(till: Till) -> list[str]:
    return [entry.kind for entry in till.ledger.entries(first=1)]


def change(till: Till, tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount >= 1


# --- order -----------------------------------------------------------------------------------------------------------------------


def test_the_spend_is_there_before_the_work_begins_and_the_answer_is_chained_after_it(till: Till) -> None:
    seen: list[list[str]] = []

    def run(granted: Granted) -> str:
        seen.append(kinds(till))
        return "released"

    sold = once(till, sale(), run, TEXT)
    assert (sold.value, sold.entry, sold.repeated, sold.left.epsilon) == ("released", 1, False, Fraction(15, 2))
    assert seen == [["spend"]]
    assert kinds(till) == ["spend", "answer"]
    again = once(till, sale(), lambda _: pytest.fail("it ran twice"), TEXT)
    assert (again.value, again.repeated, kinds(till)) == ("released", True, ["spend", "answer"])


def test_the_first_offer_that_is_admitted_is_the_one_that_runs(till: Till) -> None:
    sold = once(till, sale("ana", "key", 9, 3, 1), lambda granted: f"offer {granted.offer}", TEXT)
    assert (sold.value, sold.offer) == ("offer 1", 1)
    with pytest.raises(BudgetExceeded, match="costs epsilon 7"):
        once(till, sale("ana", "other", 7, 6), lambda _: pytest.fail("it ran"), TEXT)


def test_what_cannot_be_opened_is_found_before_it_is_paid_for(till: Till) -> None:
    def missing() -> None:
        raise StoreUnusable("the data has not been prepared")

    with pytest.raises(StoreUnusable):
        once(Till(till.ledger, till.folder, ready=missing), sale(), lambda _: pytest.fail("it ran"), TEXT)
    assert kinds(till) == []


# --- what is kept is in the chain ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tacit_kept SET text = 'forged'",
        "UPDATE tacit_kept SET text = NULL",
        "UPDATE tacit_kept SET answer = 1",
        'UPDATE tacit_entries SET text = replace(text, \'"kind":"answer"\', \'"kind":"resume"\') WHERE number = 2',
        "UPDATE tacit_entries SET hash = '00' WHERE number = 2",
    ],
)
def test_a_changed_answer_is_not_handed_out(till: Till, tmp_path: Path, statement: str) -> None:
    once(till, sale(), lambda _: "released", TEXT)
    once(till, sale(key="later"), lambda _: "later", TEXT)
    change(till, tmp_path, statement)
    with pytest.raises(StoreUnusable, match="was changed"):
        once(till, sale(), lambda _: pytest.fail("it ran"), TEXT)
    assert not till.ledger.verify().whole


def test_an_answer_forged_with_its_hashes_is_not_handed_out(till: Till, tmp_path: Path) -> None:
    """A forger who writes the answer, the entry and the entry's hash anew breaks the link of the entry after it."""
    from tacit.accounting.ledger.entries import hash_of

    once(till, sale(), lambda _: "released", TEXT)
    once(till, sale(key="later"), lambda _: "later", TEXT)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as connection:
        (text,) = connection.execute("SELECT text FROM tacit_entries WHERE number = 2").fetchone()
        text = text.replace(hash_of("released"), hash_of("forged"))
        connection.execute("UPDATE tacit_entries SET text = ?, hash = ? WHERE number = 2", [text, hash_of(text)])
        connection.execute("UPDATE tacit_kept SET text = 'forged' WHERE answer = 2")
    with pytest.raises(StoreUnusable, match="was changed"):
        once(till, sale(), lambda _: pytest.fail("it ran"), TEXT)


@pytest.mark.parametrize(
    "statement",
    [
        """UPDATE tacit_accounts SET spent = '{"delta":"0","epsilon":"0","rho":"0"}'""",
        "DELETE FROM tacit_accounts",
        "UPDATE tacit_books SET hash = '00'",
        "UPDATE tacit_books SET format = 4",
        "UPDATE tacit_entries SET text = replace(text, '\"1/2\"', '\"1/9\"')",
    ],
)
def test_sums_that_are_not_those_of_the_chain_answer_nothing(till: Till, tmp_path: Path, statement: str) -> None:
    once(till, sale(), lambda _: "released", TEXT)
    change(till, tmp_path, statement)
    anew = Till(open_ledger(str(tmp_path / "ledger.sqlite"), POLICY), till.folder)
    for key in ("key", "new"):
        with pytest.raises(StoreUnusable):
            once(anew, sale(key=key), lambda _: pytest.fail("it ran"), TEXT)


def test_what_an_analyst_paid_for_needs_no_data_and_no_turn(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    once(till, sale(), lambda _: "released", TEXT)
    monkeypatch.setattr(Ledger, "_write", lambda *_: pytest.fail("it took a turn"))
    found = once(replace(till, ready=lambda: pytest.fail("it opened the data")), sale(), lambda _: pytest.fail("it ran"), TEXT)
    assert (found.value, found.entry, found.repeated) == ("released", 1, True)


def test_another_analyst_takes_the_long_way(till: Till) -> None:
    """What somebody else paid for is given as a new answer is: after the data is opened, with an entry of its own."""
    opened: list[str] = []
    once(till, sale(), lambda _: "released", TEXT)
    found = once(replace(till, ready=lambda: opened.append("data")), sale("ben"), lambda _: pytest.fail("it ran"), TEXT)
    assert (found.value, found.entry, found.repeated, opened) == ("released", 3, False, ["data"])
    assert kinds(till) == ["spend", "answer", "recall", "answer"], "as many as for a new question"


def test_a_recall_that_asks_for_no_entry_is_caught(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(page: Any, wanted: Sale, _: object) -> Recalled:
        return Recalled(page.kept(wanted.key).text, 0, 1, own=True)

    once(till, sale(), lambda _: "released", TEXT)
    monkeypatch.setattr("tacit.accounting.ledger.selling.recall_own_answer", careless)
    with pytest.raises(AssertionError):
        test_another_analyst_takes_the_long_way(till)


def test_the_head_is_checked_before_a_kept_answer_is_given(till: Till, tmp_path: Path) -> None:
    """A ledger brought back from a copy holds the answer, and lacks what came after it."""
    once(till, sale(), lambda _: "released", TEXT)
    old = {path: path.read_bytes() for path in tmp_path.glob("ledger.sqlite*")}
    once(till, sale(key="later"), lambda _: "later", TEXT)
    for path in tmp_path.glob("ledger.sqlite*"):
        path.unlink()
    for path, content in old.items():
        path.write_bytes(content)
    restored = Till(open_ledger(str(tmp_path / "ledger.sqlite"), POLICY), till.folder)
    with pytest.raises(StoreUnusable, match="older"):
        once(restored, sale(), lambda _: pytest.fail("it ran"), TEXT)


# --- what does not finish --------------------------------------------------------------------------------------------------------


def time_out(granted: Granted) -> str:
    raise TimedOut("too long")


def test_failures_are_entries_and_end_further_questions_until_the_data_owner_looks(till: Till) -> None:
    for turn in range(3):
        with pytest.raises(TimedOut):
            once(till, sale(key=str(turn)), time_out, TEXT)
    assert kinds(till) == ["spend", "failure"] * 3
    with pytest.raises(TooManyFailures, match="tacit ledger resume"):
        once(till, sale(key="more"), lambda _: "released", TEXT)
    assert once(till, sale("ben", "more"), lambda _: "released", TEXT).value == "released", "another analyst goes on"
    assert once(till, sale("ben", "more"), lambda _: pytest.fail("it ran"), TEXT).repeated, "what is kept costs no clock"
    till.ledger.resume("curator", "a slow disk")
    assert once(till, sale(key="more 2"), lambda _: "released", TEXT).value == "released"
    assert till.ledger.verify().whole


def test_ten_failures_of_everybody_end_the_questions_of_all(till: Till) -> None:
    for turn in range(10):
        with pytest.raises(TimedOut):
            once(till, sale(("ana", "ben", "cyd", "dan")[turn // 3], str(turn)), time_out, TEXT)
    with pytest.raises(TooManyFailures):
        once(till, sale("dan", "more"), lambda _: "released", TEXT)


def test_an_engine_that_falls_over_is_counted_as_well(till: Till) -> None:
    def fall(granted: Granted) -> str:
        raise RuntimeError("a bug, or too little memory")

    with pytest.raises(Unforeseen):
        once(till, sale(), fall, TEXT)
    assert kinds(till) == ["spend", "failure"]


def test_stopping_by_hand_stays_spent_and_lets_the_next_one_ask(till: Till) -> None:
    def interrupt(granted: Granted) -> str:
        raise KeyboardInterrupt

    with pytest.raises(StoppedAfterSpending, match="entry 1 of the ledger"):
        once(till, sale(), interrupt, TEXT)
    assert once(till, sale(), lambda _: "released", TEXT).entry == 2
    assert till.ledger.spent().epsilon == 1


def test_questions_are_counted_and_end(tmp_path: Path) -> None:
    ledger = begin_ledger(str(tmp_path / "ledger.sqlite"), Policy(Budget(Fraction(8)), ANALYSTS, questions_at_most=3), "ab" * 16)
    for turn in range(3):
        once(Till(ledger), sale(key=str(turn), analyst="ana"), lambda _: "released", TEXT)
    with pytest.raises(BudgetExceeded, match=r"at most 3 questions"):
        once(Till(ledger), sale(key="more"), lambda _: pytest.fail("it ran"), TEXT)
    assert once(Till(ledger), sale(key="0"), lambda _: pytest.fail("it ran"), TEXT).repeated


# --- the same question at once ---------------------------------------------------------------------------------------------------


def test_who_comes_second_waits_for_the_answer(till: Till) -> None:
    begun, may_end = Event(), Event()
    given: list[Any] = []

    def slowly(granted: Granted) -> str:
        begun.set()
        assert may_end.wait(60)
        return "released"

    first = Thread(target=lambda: given.append(once(till, sale(), slowly, TEXT)))
    first.start()
    assert begun.wait(60)
    second = Thread(target=lambda: given.append(once(till, sale("ben"), lambda _: pytest.fail("it ran twice"), TEXT)))
    second.start()
    with pytest.raises(StoreUnusable, match="is being answered"):
        till.ledger.reserve(sale("cyd"), patience=0.05)
    may_end.set()
    first.join(60)
    second.join(60)
    assert [sold.value for sold in given] == ["released", "released"]
    assert till.ledger.spent().epsilon == Fraction(1, 2)
    assert till.ledger.spent("ben").epsilon == Fraction(1, 2)


def test_after_a_crash_the_question_can_be_asked_again(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed answers nothing: its hold on the question ends by the clock."""
    assert isinstance(till.ledger.reserve(sale()), Granted)
    monkeypatch.setattr("tacit.accounting.ledger.selling.time.time", lambda: 4e9)
    assert once(till, sale(), lambda _: "released", TEXT).entry == 3, "after the failure, which is counted"


# --- the only one ----------------------------------------------------------------------------------------------------------------

SPENDING = {"reserve", "spend"}


def calls_that_spend(text: str) -> list[int]:
    """The lines on which a ledger is asked to spend, by any receiver."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return [call.lineno for call in calls if call.func.attr in SPENDING]  # type: ignore[attr-defined]


def test_nothing_is_paid_for_elsewhere() -> None:
    """But for an attack on a ledger itself, on a copy that is gone afterwards: it spends and reads no row."""
    found = {str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if calls_that_spend(file.read_text())}
    assert found == {"release/once.py", "accounting/ledger/ledger.py", "evidence/attacks/against_session.py"}


@pytest.mark.parametrize("planted", ["data.ledger.spend(event, 'ana', 'q', 'v')", "self._ledger.reserve(sale)"])
def test_another_till_is_caught(planted: str) -> None:
    assert calls_that_spend(f"def release(data):\n    {planted}\n") == [2]


def run_before_spending(till: Till, sold: Sale, run: Callable[[Granted | None], str]) -> str:
    """The planted bug: the work first, the spend when it succeeded; a time-out is free."""
    value = run(None)
    till.ledger.reserve(sold)
    return value


def free_time_outs(asked: Callable[[Till, Sale, Any], Any], till: Till) -> bool:
    """Whether an analyst can have time-outs without paying for them."""
    with pytest.raises(TimedOut):
        asked(till, sale(), time_out)
    return till.ledger.spent().epsilon == 0


def test_a_till_that_spends_after_the_work_is_caught(till: Till) -> None:
    assert free_time_outs(run_before_spending, till)
    assert not free_time_outs(lambda *given: once(*given, TEXT), till)
    assert isinstance(till.ledger, Ledger)
