"""Attacks on the ledger and on its surroundings, one test for each: ways to make budget, to ask for nothing, or to stop it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import tacit
from tacit.accounting.events import Event, ExponentialChoice, GaussianNoise
from tacit.accounting.filter import NOTHING_SPENT, State
from tacit.accounting.ledger.chain import read_chain
from tacit.accounting.ledger.entries import Head, accounts_digest, canonical_json, entry_from, hash_of
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.pages import Line
from tacit.accounting.ledger.rollback import adopt, check_head, remember_head
from tacit.accounting.ledger.selling import Granted, Recalled, Sale
from tacit.accounting.ledger.tables import Store
from tacit.accounting.ledger.units import UNIT, Policy, Units
from tacit.errors import BudgetExceeded, InvalidInput, InvalidValue, StoreUnusable, TooManyFailures, Unforeseen, UnitsChanged
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.loss import Pure
from tacit.publish.synthetic.commuters.model import ONE_JOB
from tacit.publish.synthetic.commuters.sources import ledger_beside, sell_beside
from tacit.release.once import Form, Till, once

ROWS = Units((("visits", '["row",null]'),), public=("wards",))
PEOPLE = Units((("visits", '["pid",null,"drop"]'),), public=("wards",))
ANALYSTS = {name: Analyst(name) for name in ("ana", "ben")}
POLICY = Policy(Budget(Fraction(8), Fraction(1, 10**6)), ANALYSTS, units=ROWS)
IDENTITY = "ab" * 16


def pure(epsilon: object) -> Event:
    return ExponentialChoice(Fraction(str(epsilon)), UNIT)


def sale(analyst: str, key: str = "key", *offers: Event) -> Sale:
    return Sale(offers or (pure("1/2"),), analyst, "q", "v", key, ("visits",))


def answered(ledger: Ledger, wanted: Sale) -> Granted:
    granted = ledger.reserve(wanted)
    assert isinstance(granted, Granted)
    ledger.answered(granted, f"the answer to {wanted.key}")
    return granted


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(file: Path) -> Ledger:
    return begin_ledger(str(file), POLICY, IDENTITY)


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount >= 1


# --- an answer that is recalled by somebody else ---------------------------------------------------------------------------------


def test_a_recalled_gaussian_can_be_restated_for_other_units(file: Path, ledger: Ledger) -> None:
    """Without its event an entry with a delta and no epsilon has no price for other units: one recall closed the way for ever."""
    noise = GaussianNoise(Fraction(1), Fraction(50), Fraction(1, 10**12), UNIT)
    answered(ledger, sale("ana", "key", noise))
    assert isinstance(ledger.reserve(sale("ben", "key", noise)), Recalled)
    people = open_ledger(str(file), replace(POLICY, units=PEOPLE))
    people.accept_units(3, "curator", "at most three visits")
    assert people.spent("ben") == people.spent("ana")
    assert people.spent("ben").rho == 9 * Fraction(1, 5000)
    assert people.verify().whole


def test_a_recall_is_charged_for_what_was_released(file: Path) -> None:
    """The answer is that of the second offer; the first one, which nobody ran, is neither charged nor what a cap looks at."""
    capped = {**ANALYSTS, "ana": Analyst("ana", epsilon_per_query=Fraction(2)), "cyd": Analyst("cyd", Budget(Fraction(1, 2)))}
    ledger = begin_ledger(str(file), replace(POLICY, analysts=capped), IDENTITY)
    assert answered(ledger, sale("ana", "key", pure(3), pure(1))).offer == 1
    found = ledger.reserve(sale("ben", "key", pure(3), pure(1)))
    assert isinstance(found, Recalled)
    assert (found.offer, ledger.spent("ben").epsilon) == (1, 1)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(sale("cyd", "key", pure("1/4"), pure(1)))
    assert ledger.verify().whole


def test_what_the_askers_own_caps_refuse_is_refused_stored_or_not(file: Path) -> None:
    """Failures counted for new questions alone, and a question that is being answered was waited for before any cap was asked."""
    capped = {**ANALYSTS, "cyd": Analyst("cyd", Budget(Fraction(1, 4)))}
    ledger = begin_ledger(str(file), replace(POLICY, analysts=capped), IDENTITY)
    granted = ledger.reserve(sale("ana"))
    assert isinstance(granted, Granted)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(sale("cyd"), patience=0)
    with pytest.raises(StoreUnusable, match="is being answered"):
        ledger.reserve(sale("ana"), patience=0)
    ledger.answered(granted, "it")
    for number in range(3):
        failing = ledger.reserve(sale("ben", f"failing {number}"))
        assert isinstance(failing, Granted)
        ledger.failed(failing, "timed out")
    for key in ("key", "new"):
        with pytest.raises(TooManyFailures):
            ledger.reserve(sale("ben", key))


def test_an_analyst_has_a_name(ledger: Ledger) -> None:
    """What nobody had spent was not restated, and the chain after a change of units was broken for ever."""
    for name in ("", " \t"):
        with pytest.raises(InvalidInput, match="must not be empty"):
            ledger.under(replace(POLICY, analysts={})).reserve(sale(name))


def test_a_failure_over_values_is_counted(ledger: Ledger) -> None:
    """Only errors of the catalog, the store and the disk are public; one that a mechanism raises over values is not."""

    def run(_: Granted) -> str:
        raise InvalidValue("invalid utility")

    with pytest.raises(Unforeseen):
        once(Till(ledger), sale("ana"), run, Form(str, str))
    assert [entry.kind for entry in ledger.entries()][-1] == "failure"


def test_a_ledger_beside_an_output_whose_maker_was_killed_is_begun(tmp_path: Path) -> None:
    """The file was there without a ledger in it, and every later release was refused."""
    out = tmp_path / "map.csv"
    Store(str(ledger_beside(out)), create=True)
    assert sell_beside(out, Pure(1, ONE_JOB), "a map", lambda paid: paid.entry) == 1


# --- one ledger for the same people ----------------------------------------------------------------------------------------------

CATALOG = """
[budget]
epsilon = 8

[tables.visits]
source = "visits.csv"
{unit}

[tables.visits.columns]
cost = {{ bounds = [0, 100] }}
"""
ROW, PERSON = 'unit = "row"', 'unit = { column = "pid" }\nmax_rows = 10'
COUNT = "SELECT COUNT(*) AS n FROM visits"


def declared(folder: Path, unit: str = ROW, more: str = "") -> Path:
    (folder / "tacit.toml").write_text(CATALOG.format(unit=unit) + more)
    return folder / "tacit.toml"


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    folder = tmp_path / "hospital"
    folder.mkdir()
    (folder / "visits.csv").write_text("\n".join(["pid,cost", *(f"{row % 40},{row % 100}" for row in range(400)), ""]))
    tacit.open(declared(folder)).prepare(new_ledger=True)
    return folder


def test_the_copy_of_a_folder_is_asked_nothing_while_its_original_is_there(hospital: Path, tmp_path: Path) -> None:
    """A copy needs no preparing, so nobody looked: 1 + 7 was spent here and 1 + 7 there, over the same people."""
    tacit.open(hospital / "tacit.toml").session().sql(COUNT, epsilon=1)
    copy = tmp_path / "copy"
    shutil.copytree(hospital, copy)
    for question in (COUNT, f"{COUNT} WHERE cost > 1"):
        with pytest.raises(StoreUnusable, match="these sources are already behind"):
            tacit.open(copy / "tacit.toml").session().sql(question, epsilon=1)
    assert tacit.open(hospital / "tacit.toml").session().sql(f"{COUNT} WHERE cost > 1", epsilon=1).receipt.entry == 3
    shutil.rmtree(hospital)
    assert tacit.open(copy / "tacit.toml").session().sql(f"{COUNT} WHERE cost > 2", epsilon=1).receipt.epsilon == 1, "it was moved"


# --- sums and kept answers that were changed -------------------------------------------------------------------------------------


def test_an_entry_forged_after_the_remembered_head_gives_no_budget(file: Path, ledger: Ledger, tmp_path: Path) -> None:
    """The head that is remembered is the spend's; the answer's entry after it is the one whose sums are believed."""
    granted = answered(ledger, sale("ana", "key", pure(8)))
    remember_head(tmp_path / "store", granted.entry.head)
    check_head(tmp_path / "store", ledger)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        number, text = connection.execute("SELECT number, text FROM tacit_entries ORDER BY number DESC LIMIT 1").fetchone()
        forged = replace(entry_from(text), spent=NOTHING_SPENT, accounts=accounts_digest({}), questions=0)
        connection.execute("UPDATE tacit_entries SET text = ?, hash = ? WHERE number = ?", [forged.text, forged.hash, number])
        connection.execute("UPDATE tacit_books SET hash = ?", [forged.hash])
        connection.execute("DELETE FROM tacit_accounts")
    assert ledger.admits(pure(8), "ana"), "the ledger alone believes it"
    with pytest.raises(StoreUnusable, match="records less than was spent"):
        check_head(tmp_path / "store", ledger)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO tacit_askers VALUES ('key', 'ben', 1)",
        "INSERT INTO tacit_askers VALUES ('key', 'ben', 2)",
        "INSERT INTO tacit_askers VALUES ('key', 'ben', 3)",
    ],
)
def test_nobody_has_an_answer_for_nothing_without_an_entry_that_says_so(file: Path, ledger: Ledger, statement: str) -> None:
    """Who has paid was believed as it stood in a table beside the chain, and `verify` did not look."""
    answered(ledger, sale("ana"))
    answered(ledger, sale("ben", "another"))
    change(file, statement)
    with pytest.raises(StoreUnusable, match="who paid"):
        ledger.reserve(sale("ben"))
    assert "ben has not paid" in str(ledger.verify().problems)


def test_a_forgotten_payer_and_an_exchanged_entry_are_seen(file: Path, ledger: Ledger) -> None:
    answered(ledger, sale("ana"))
    answered(ledger, sale("ben", "another"))
    change(file, "DELETE FROM tacit_askers WHERE analyst = 'ben'")
    assert ledger.verify().problems == ("the record that ben paid by entry 3 is missing",)
    change(file, "UPDATE tacit_kept SET entry = 3 WHERE answer = 2")
    assert ledger.verify().problem == "the answer stored for entry 3 was changed"


def test_a_reservation_of_a_clock_that_was_wrong_blocks_nobody(file: Path, ledger: Ledger) -> None:
    """A process that was killed, and a clock that went back: the question was refused until the old time came again."""
    ledger.reserve(sale("ana"))
    change(file, "UPDATE tacit_kept SET until = until + 86400")
    assert isinstance(ledger.reserve(sale("ana"), patience=0), Granted)


def rewritten(ledger: Ledger, number: int, **forged: object) -> list[str]:
    """What reading shows after an entry was changed and everything after it was written anew, with all hashes."""
    lines, before = list[Line](), "0" * 64
    for entry in ledger.entries():
        text = canonical_json({**json.loads(entry.text), **(forged if entry.number == number else {}), "previous": before})
        before = hash_of(text)
        lines.append(Line(entry.number, before, text))
    return read_chain(lines)[1]


@pytest.mark.parametrize(
    ("number", "forged"),
    [
        (3, {"split": "0"}),
        (2, {"kind": "format", "units": "00"}),
        (2, {"kind": "begin"}),
        (2, {"kind": "gift"}),
        (4, {"questions": 0}),
        (4, {"failures": 7}),
        (3, {"key": "another"}),
        (3, {"about": 2}),
        (4, {"key": "another"}),
        (4, {"answer": "00" * 32}),
    ],
)
def test_a_forger_who_writes_all_hashes_anew_is_found(file: Path, ledger: Ledger, number: int, forged: dict[str, object]) -> None:
    """Each of these was whole to `verify`: another split of delta, units without a price for them, counts set to nothing."""
    answered(ledger, sale("ana"))
    ledger.reserve(sale("ben"))
    people = open_ledger(str(file), replace(POLICY, units=PEOPLE))
    people.accept_units(2, "curator", "two rows")
    assert [entry.kind for entry in people.entries()] == ["begin", "spend", "answer", "recall", "answer", "units"]
    assert rewritten(people, 0) == []
    assert rewritten(people, number, **forged)


# --- a ledger in the place of another one ----------------------------------------------------------------------------------------


def test_what_a_lost_ledger_of_format_1_spent_counts_for_no_units_until_the_data_owner_says(file: Path, tmp_path: Path) -> None:
    """Its head holds no units: epsilon 7 for a row was carried over as 7 for a person with ten of them."""
    remember_head(tmp_path / "store", Head("cd" * 16, 3, "0" * 64, UNIT, State(Fraction(7), Fraction(49, 2))))
    people = begin_ledger(str(file), replace(POLICY, units=PEOPLE), IDENTITY)
    adopt(tmp_path / "store", people, "curator", "it was lost")
    with pytest.raises(UnitsChanged, match="are unknown"):
        people.reserve(sale("ana"))
    assert people.accept_units(10, "curator", "rows, of which a person has ten").spent.epsilon == 70
    assert people.verify().whole


def test_a_table_that_was_prepared_as_public_stays_closed_though_nothing_was_asked(hospital: Path) -> None:
    """Its values are public from then on, to `explain` and to everybody; the ledger noted it at the next spend alone."""
    (hospital / "wards.csv").write_text("ward\nnorth\nsouth\n")
    wards = '[tables.wards]\nsource = "wards.csv"\n{}\n[tables.wards.columns]\nward = {{ values = ["north", "south"] }}\n'
    tacit.open(declared(hospital, more=wards.format("public = true"))).prepare()
    data = tacit.open(declared(hospital, more=wards.format('unit = "row"')))
    data.prepare()
    assert data.ledger.changed_units() == ["wards was public and is now private"]
    data.accept_units(1, "wards are people")
    with pytest.raises(UnitsChanged, match="exact values of it were released"):
        data.session().sql("SELECT COUNT(*) FROM wards", epsilon=1)
    assert data.session().sql(COUNT, epsilon=1).receipt.epsilon == 1
    assert data.ledger.verify().whole


@pytest.mark.parametrize("later", [0, 1, 5])
def test_a_converted_ledger_knows_whose_it_is(tmp_path: Path, later: int) -> None:
    """Its first entry is of format 1 and does not say; so any catalog that named its place could spend from it."""
    kept, folder, other = Path(__file__).parent / "kept" / "format-1" / "people", tmp_path / "people", tmp_path / "other"
    shutil.copytree(kept, folder)
    (folder / "dot-tacit").rename(folder / ".tacit")
    ledger = tacit.open(folder / "tacit.toml").ledger
    for number in range(later):
        ledger.resume("curator", f"{number}")
    assert tacit.open(folder / "tacit.toml").ledger.belongs == {"data_set": "people", "catalog": "tacit.toml"}
    other.mkdir()
    place = f'\n[ledger]\nurl = "sqlite:///{folder}/.tacit/ledger.sqlite"\n'
    (other / "tacit.toml").write_text((kept / "tacit.toml").read_text() + place)
    with pytest.raises(StoreUnusable, match="belongs to the data set 'people'"):
        _ = tacit.open(other / "tacit.toml").ledger


# --- counts, restating twice, and processes that die -----------------------------------------------------------------------------


def test_adopting_carries_questions_and_failures_over(tmp_path: Path) -> None:
    """Else a lost ledger would be a way around questions_at_most and the count of failures."""
    folder, lost = tmp_path / "store", begin_ledger(str(tmp_path / "lost.sqlite"), POLICY, IDENTITY)
    granted = lost.reserve(sale("ana", "one"))
    assert isinstance(granted, Granted)
    lost.failed(granted, "timed out")
    lost.spend(pure("1/4"), "ana", "q", "v")
    remember_head(folder, lost.head)
    found = begin_ledger(str(tmp_path / "new.sqlite"), POLICY, "cd" * 16)
    entry = adopt(folder, found, "curator", "the disk is gone")
    assert entry is not None
    assert (entry.questions, entry.failures, entry.spent) == (2, 1, lost.spent())
    assert found.verify().whole


def test_units_are_not_restated_twice(tmp_path: Path) -> None:
    begin_ledger(str(tmp_path / "ledger.sqlite"), POLICY, IDENTITY).spend(pure("1/4"), "ana", "q", "v")
    changed = open_ledger(str(tmp_path / "ledger.sqlite"), replace(POLICY, units=PEOPLE))
    changed.accept_units(10, "curator", "ten rows")
    with pytest.raises(InvalidInput, match="nothing to restate"):
        changed.accept_units(10, "curator", "ten rows")
    assert changed.spent().epsilon == Fraction(5, 2)


def test_a_process_that_died_while_answering_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begin_ledger(str(tmp_path / "ledger.sqlite"), POLICY, IDENTITY)
    assert isinstance(ledger.reserve(sale("ana", "key")), Granted)
    monkeypatch.setattr("tacit.accounting.ledger.selling.time.time", lambda: 4e9)
    assert isinstance(ledger.reserve(sale("ben", "key")), Granted)
    assert [entry.kind for entry in ledger.entries()] == ["begin", "spend", "failure", "spend"]
    assert ledger.verify().whole


def test_a_reason_is_recorded_where_the_ledger_was_there_before(tmp_path: Path) -> None:
    ledger = begin_ledger(str(tmp_path / "ledger.sqlite"), POLICY, IDENTITY)
    assert ledger.note("curator", "one more study").question == "one more study"
    assert ledger.verify().whole
