"""The ledger against the pure filter; its caps and the words of its refusals; a chain that shows every change."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import IDENTITY, OTHER_IDENTITY, UNIT, events, opened, policy, pure, spend
from tacit.accounting.composition import costs_under
from tacit.accounting.events import GaussianNoise, GaussianNoiseOne, LaplaceNoise, RandomizedAnswer
from tacit.accounting.filter import NOTHING_SPENT, Filter
from tacit.accounting.ledger.caps import Admission, Sums, at_most, require_for_one
from tacit.accounting.ledger.entries import entry_from, hash_of
from tacit.accounting.ledger.selling import Recalled, Sale
from tacit.errors import BudgetExceeded, InvalidInput, StoreUnusable, UnitsChanged, WrongRelation
from tacit.privacy.catalog import Analyst, Budget
from tacit.privacy.conversion import largest_order, pure_rho_up

ANA = Analyst("ana", Budget(Fraction(1), Fraction(1, 10**7)), epsilon_per_query=Fraction(2, 5))
BEN = Analyst("ben")


@pytest.fixture
def file(tmp_path) -> str:
    return str(tmp_path / "ledger.sqlite")


# --- laws against the pure filter --------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(events, st.sampled_from(["ana", "ben"])), max_size=12), st.sampled_from(["add-remove", "change-one"]))
def test_the_ledger_is_the_filter(spends, change):
    """Admits exactly what the filters admit, and holds exactly their sums; reading it back changes nothing."""
    with TemporaryDirectory() as folder:
        declared = policy(2, "1e-7", ANA, BEN, change=change)
        relation = declared.neighbours
        ledger = opened(f"{folder}/ledger.sqlite", declared, IDENTITY)
        order = largest_order(Fraction(2), Fraction(1, 2 * 10**7))
        own, plain = Filter(1, Fraction(1, 10**7), neighbours=relation), Filter(2, Fraction(1, 10**7), neighbours=relation)
        whole = Filter(2, Fraction(1, 10**7), neighbours=relation, order=order)
        states, admitted = {"": NOTHING_SPENT, "ana": NOTHING_SPENT, "ben": NOTHING_SPENT}, []
        for event, analyst in spends:
            price = reduce(add, costs_under(event, relation, order))
            expected = whole.admits(states[""], price)
            if analyst == "ana":
                expected = (
                    expected and own.admits(states["ana"], price) and _passes(ANA, costs_under(event, relation), declared.budget)
                )
            assert ledger.admits(event, analyst) == expected
            if expected:
                admitted.append(spend(ledger, event, analyst))
                states |= {"": whole.after(states[""], price), analyst: plain.after(states[analyst], price)}
                assert (admitted[-1].price, admitted[-1].event) == (price, event)
            else:
                with pytest.raises(BudgetExceeded):
                    spend(ledger, event, analyst)
            assert (ledger.spent(), ledger.spent("ana"), ledger.spent("ben")) == tuple(states.values())
        assert ledger.left() == ledger.left("ben") == whole.left(states[""])
        assert list(ledger.entries(first=1)) == admitted
        assert ledger.verify().whole
        again = opened(f"{folder}/ledger.sqlite", declared, OTHER_IDENTITY)
        assert (again.identity, again.head, again.spent("ana")) == (IDENTITY, ledger.head, states["ana"])


def _passes(analyst, parts, budget) -> bool:
    try:
        require_for_one(analyst, parts, budget)
    except BudgetExceeded:
        return False
    return True


@settings(max_examples=25, deadline=None)
@given(st.lists(events, max_size=5))
def test_what_is_left_is_admitted_and_no_more(spends):
    with TemporaryDirectory() as folder:
        ledger = opened(f"{folder}/ledger.sqlite", policy(2, "1e-7", Analyst("ana", Budget(Fraction(1), Fraction(0)))), IDENTITY)
        for event in spends:
            if ledger.admits(event, "ana"):
                spend(ledger, event, "ana")
        left = ledger.left("ana").epsilon
        assert not ledger.admits(pure(left + Fraction(1, 10**30)), "ana")
        if left:
            spend(ledger, pure(left), "ana")
        assert ledger.left("ana").epsilon == 0


# --- caps ----------------------------------------------------------------------------------------------------------------


def collude(ledger) -> Fraction:
    """What two analysts get together, each within a cap of one: the sum of epsilons of all that was admitted."""
    for _ in range(12):
        for analyst in ("ana", "ben"):
            if ledger.admits(pure("1/4"), analyst):
                spend(ledger, pure("1/4"), analyst)
    return sum((entry.price.epsilon for entry in ledger.entries()), start=Fraction(0))


COLLUDING = policy("1.25", 0, *(Analyst(name, Budget(Fraction(1))) for name in ("ana", "ben")))


def test_analysts_together_have_one_budget(file):
    assert collude(opened(file, COLLUDING, IDENTITY)) == Fraction(5, 4)


def test_caps_of_analysts_alone_are_caught(file):
    """The planted bug: each analyst's cap is checked, the data set's is not. The same collusion shows it, and so does verify."""

    class EachForThemselves(Admission):
        def after(self, sums, analyst, parts):
            price = sum(parts[1:], start=parts[0])
            return Sums(self.whole.filter.after(sums.whole, price), self.own(analyst).require(sums.own, price))

    planted = opened(file, COLLUDING, IDENTITY)
    planted.caps = EachForThemselves(COLLUDING)
    assert collude(planted) == 2
    assert planted.verify().problem == "entry 6: it was admitted beyond the cap"


REFUSALS = {
    "the data set's budget": (
        policy(1),
        [pure("2/3")],
        pure("1/2"),
        "the budget of the data set does not admit this question: it costs epsilon 0.5, and epsilon 0.333333 remains; "
        "ask with epsilon=0.333333 or less, or ask the data owner to raise [budget] in tacit.toml",
    ),
    "nothing left": (
        policy(1),
        [pure(1)],
        pure("1/2"),
        "the budget of the data set does not admit this question: it costs epsilon 0.5, and epsilon 0 remains; "
        "ask the data owner to raise [budget] in tacit.toml",
    ),
    "an analyst's own": (
        policy(5, 0, Analyst("curator", Budget(Fraction(1)))),
        [pure("1/3")],
        pure(1),
        "curator's own budget does not admit this question: it costs epsilon 1, and epsilon 0.666666 remains; "
        "ask with epsilon=0.666666 or less, or ask the data owner to raise [analysts.curator] in tacit.toml",
    ),
    "one question": (
        policy(5, 0, Analyst("curator", epsilon_per_query=Fraction(1, 2))),
        [],
        pure(1),
        "one question of curator may cost at most epsilon 0.5, but this one costs epsilon 1; ask with epsilon=0.5 or less",
    ),
    "the delta of one question": (
        policy(5, "1e-6", Analyst("curator", delta_per_query=Fraction(1, 10**9))),
        [],
        GaussianNoiseOne(Fraction(1), Fraction(9), Fraction(1, 2), Fraction(1, 10**8), UNIT),
        "one question of curator may cost at most delta 1e-09, but this one costs epsilon 0.5, delta 1e-08; "
        "ask for a smaller delta",
    ),
    "the delta of all": (
        policy(5, "1e-8"),
        [],
        GaussianNoiseOne(Fraction(1), Fraction(9), Fraction(1, 2), Fraction(1, 10**8), UNIT),
        "the budget of the data set does not admit this question: it costs epsilon 0.5, delta 1e-08, and delta 5e-09 remains; "
        "ask for a smaller delta, or ask the data owner to raise [budget] in tacit.toml",
    ),
    "Gaussian noise without a delta": (
        policy(5),
        [],
        GaussianNoise(Fraction(1), Fraction(4), Fraction(0), UNIT),
        "the budget of the data set does not admit this question: it costs rho 0.03125, and rho 0 remains; "
        "ask for a smaller epsilon, or omit delta, or ask the data owner to raise [budget] in tacit.toml",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_names_the_cap_what_is_left_and_the_remedy(file, name):
    declared, before, event, words = REFUSALS[name]
    ledger = opened(file, declared, IDENTITY)
    for earlier in before:
        spend(ledger, earlier)
    head = ledger.head
    with pytest.raises(BudgetExceeded) as refused:
        spend(ledger, event)
    assert str(refused.value) == words
    assert (refused.value.code, ledger.head) == ("budget_exceeded", head)


@given(st.fractions(min_value=0, max_value=10**6))
def test_what_is_said_to_be_left_is_left(number):
    assert number - max(Fraction(1, 10**5) * number, Fraction(1, 10**300)) <= Fraction(at_most(number)) <= number


def test_one_question_may_be_gaussian_within_its_own_cap(file):
    """epsilon_per_query is read at the delta of the question, or of the data set: rho 1/2 is epsilon 5.8 at 1e-6, not 4."""
    wide = opened(file, policy(50, "1e-6", Analyst("curator", epsilon_per_query=Fraction(6))), IDENTITY)
    narrow = opened(file, policy(50, "1e-6", Analyst("curator", epsilon_per_query=Fraction(4))), IDENTITY)
    event = GaussianNoise(Fraction(1), Fraction(1), Fraction(0), UNIT)
    assert wide.admits(event, "curator")
    assert not narrow.admits(event, "curator")


def test_who_is_not_declared_may_not_spend(file):
    ledger = opened(file, policy(1, 0, ANA), IDENTITY)
    for ask in (lambda: spend(ledger, pure("1/9"), "eve"), lambda: ledger.admits(pure("1/9"), "eve"), lambda: ledger.left("eve")):
        with pytest.raises(InvalidInput, match="'eve' is not an analyst"):
            ask()


def test_a_cap_may_be_raised_and_lowered_and_history_shows_it(file):
    spend(opened(file, policy(1), IDENTITY), pure("3/4"))
    raised = opened(file, policy(2), IDENTITY)
    spend(raised, pure(1))
    lowered = opened(file, policy(1), IDENTITY)
    assert lowered.left().epsilon == 0
    with pytest.raises(BudgetExceeded):
        spend(lowered, pure("1/100"))
    assert [entry.cap.epsilon for entry in lowered.entries(first=1)] == [1, 2]
    assert lowered.verify().whole


def test_an_event_for_another_relation_has_no_price(file):
    ledger = opened(file, policy(9), IDENTITY)
    for event in (RandomizedAnswer(Fraction(1)), LaplaceNoise(Fraction(1), Fraction(1))):
        with pytest.raises(WrongRelation):
            spend(ledger, event)
    assert ledger.head.number == 0


def test_an_add_remove_event_costs_twice_where_one_unit_changes(file):
    ledger = opened(file, policy(1, change="change-one"), IDENTITY)
    spend(ledger, pure("1/2"))
    assert ledger.left().epsilon == 0


def test_a_ledger_keeps_its_relation(file):
    opened(file, policy(1), IDENTITY)
    with pytest.raises(UnitsChanged, match="counts for 'add or remove"):
        spend(opened(file, policy(1, change="change-one"), IDENTITY), pure("1/8"))


def test_there_is_no_way_back(file):
    """No public name takes anything away; a spend stays spent whatever follows."""
    ledger = opened(file, policy(1), IDENTITY)
    public = {name for name in dir(ledger) if not name.startswith("_")}
    assert public == {
        "accept_budget", "accept_units", "admits", "adopt", "answered", "belongs", "by_period", "caps", "changed_units",
        "entries", "failed", "file", "last_token", "token_left", "token_sums",
        "hash_at", "head", "held", "identity", "is_paid", "left", "lost", "note", "note_public", "paid_by", "paid_entries",
        "decide", "last_decision", "late", "policy", "requested", "require_approved",
        "reserve", "reserve_all", "resume", "recalled", "room", "seen_at", "spend", "spent", "split", "standing", "stopped",
        "under", "verify", "versions",
    }  # fmt: skip


# --- entries, answers --------------------------------------------------------------------------------------------------------


def test_entries_are_read_in_pages_by_analyst_and_from_the_end(file, monkeypatch):
    monkeypatch.setattr("tacit.accounting.ledger.pages.PAGE", 3)
    ledger = opened(file, policy(9, 0, ANA, BEN), IDENTITY)
    for analyst in ["ana", "ben", "ben", "ana", "ben", "ana", "ben"]:
        spend(ledger, pure("1/100"), analyst)
    assert [entry.number for entry in ledger.entries()] == list(range(8))
    assert [entry.number for entry in ledger.entries(last=3)] == [5, 6, 7]
    assert [entry.number for entry in ledger.entries(last=99)] == list(range(8))
    assert [entry.number for entry in ledger.entries(analyst="ana", last=2)] == [4, 6]
    assert [entry.number for entry in ledger.entries(first=6)] == [6, 7]
    assert ledger.verify().entries == 8


def test_an_entry_is_a_text_that_any_tool_can_check(file):
    ledger = opened(file, policy(1), IDENTITY)
    entry = ledger.spend(pure("1/3"), "curator", question="SELECT 'é\ud800\x00'", data_version="v1")
    with closing(sqlite3.connect(file)) as connection:
        text, digest = connection.execute("SELECT text, hash FROM tacit_entries WHERE number = 1").fetchone()
    assert (text, digest) == (entry.text, entry.hash)
    assert entry_from(text) == entry
    known = json.loads(text)
    assert known["price"] == {
        "epsilon": "1/3",
        "rho": str(pure_rho_up(Fraction(1, 3))),
        "delta": "0",
        "neighbours": "add-remove unit",
    }
    assert known["previous"] == ledger.hash_at(0)
    assert entry.to_dict() == known | {"hash": digest}


def test_an_answer_is_kept_once_and_found_again(file):
    ledger = opened(file, policy(1), IDENTITY)
    sale = Sale((pure("1/3"),), "curator", "q", "v", "key")
    granted = ledger.reserve(sale)
    ledger.answered(granted, "first")
    ledger.answered(granted, "second")
    again = opened(file, policy(1), IDENTITY).reserve(sale)
    assert again == Recalled("first", 0, granted.entry.number, own=True)
    assert ledger.spent().epsilon == Fraction(1, 3)


# --- tampering ---------------------------------------------------------------------------------------------------------------

FORGED = "UPDATE tacit_entries SET text = replace(text, '\"1/8\"', '\"1/9\"') WHERE number = 3"
TAMPERING = {
    "a changed text": ([FORGED], "entry 3: its text was changed"),
    "a changed hash": (["UPDATE tacit_entries SET hash = '00' WHERE number = 3"], "entry 3: its text was changed"),
    "an entry taken out": (["DELETE FROM tacit_entries WHERE number = 3"], "entry 4: entries 3 to 3 are missing"),
    "the last taken out": (["DELETE FROM tacit_entries WHERE number = 6"], "entries 6 to 6 are missing at the end"),
    "the first taken out": (["DELETE FROM tacit_entries WHERE number = 0"], "entry 1: entries 0 to 0 are missing"),
    "two exchanged": (
        [
            "UPDATE tacit_entries SET number = 99 WHERE number = 3",
            "UPDATE tacit_entries SET number = 3 WHERE number = 4",
            "UPDATE tacit_entries SET number = 4 WHERE number = 99",
        ],
        "entry 3: it was moved here from another place",
    ),
    "one repeated": (
        [
            "DELETE FROM tacit_entries WHERE number = 4",
            "INSERT INTO tacit_entries SELECT 4, hash, text FROM tacit_entries WHERE number = 3",
        ],
        "entry 4: it was moved here from another place",
    ),
    "no JSON": (["UPDATE tacit_entries SET text = 'x' WHERE number = 3"], "entry 3: its text was changed"),
    "sums of one": (["UPDATE tacit_accounts SET spent = json_set(spent, '$.rho', '0')"], "the account of curator does not match"),
    "failures of one": (["UPDATE tacit_accounts SET failures = 2"], "the account of curator does not match"),
    "sums of nobody": (["UPDATE tacit_accounts SET analyst = 'eve'"], "the account of curator does not match"),
    "no account": (["DELETE FROM tacit_accounts"], "the account of curator does not match"),
    "another head": (["UPDATE tacit_books SET hash = '00'"], "the ledger's row records another last entry"),
    "another name": (["UPDATE tacit_books SET identity = '00'"], "the ledger's row records another last entry"),
    "a changed answer": (["UPDATE tacit_kept SET text = 'other'"], "the answer stored for entry 1 was changed"),
    "an answer taken out": (["DELETE FROM tacit_kept"], "the answer of entry 2 is missing"),
    "an answer moved": (["UPDATE tacit_kept SET key = 'other'"], "the answer stored for entry 1 was changed"),
}


def spent_five_times(file):
    """A ledger of five spends in seven entries; the first spend, entry 1, has its answer, entry 2."""
    ledger = opened(file, policy(1), IDENTITY)
    ledger.answered(ledger.reserve(Sale((pure("1/8"),), "curator", "q", "v", "key")), "answer")
    for _ in range(4):
        spend(ledger, pure("1/8"))
    return ledger


@pytest.mark.parametrize("name", TAMPERING)
def test_every_change_shows(file, name):
    statements, problem = TAMPERING[name]
    ledger = spent_five_times(file)
    assert ledger.verify().whole
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount == 1
    chain = ledger.verify()
    assert not chain.whole
    assert chain.problem.startswith(problem)


def forge(file, number, change) -> None:
    """Change an entry's JSON and write its hash anew, as somebody who knows the format would."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        known = json.loads(connection.execute("SELECT text FROM tacit_entries WHERE number = ?", [number]).fetchone()[0])
        change(known)
        text = json.dumps(known, sort_keys=True, separators=(",", ":"))
        connection.execute("UPDATE tacit_entries SET text = ?, hash = ? WHERE number = ?", [text, hash_of(text), number])


FORGERIES = {
    "a price": (lambda known: known["price"].update(epsilon="1/9"), "entry 3: the sums after it are wrong"),
    "the sums": (lambda known: known["spent"].update(epsilon="0"), "entry 3: the sums after it are wrong"),
    "whose it is": (lambda known: known.update(analyst="eve"), "entry 3: the sums of eve after it are wrong"),
    "the cap": (lambda known: known["cap"].update(epsilon="1/10"), "entry 3: it was admitted beyond the cap"),
    "the relation": (
        lambda known: known["price"].update(neighbours="add-remove row"),
        "entry 3: it counts for 'add or remove one row', and the ledger for 'add or remove one unit'",
    ),
    "what was asked": (lambda known: known.update(question="other"), "entry 4: what comes before it was changed"),
    "unknown kind of event": (lambda known: known["event"].update(kind="?"), "entry 3: it cannot be read"),
    "a format": (lambda known: known.update(format=4), "entry 3: the ledger contains entries of an unknown format; update tacit"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forger_who_writes_the_hash_anew_is_found(file, name):
    change, problem = FORGERIES[name]
    ledger = spent_five_times(file)
    forge(file, 3, change)
    assert ledger.verify().problem == problem


def test_a_ledger_that_lost_its_first_entry_or_its_row_is_not_opened(file):
    spent_five_times(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("DELETE FROM tacit_entries WHERE number = 0")
    with pytest.raises(StoreUnusable, match="lost its first entry"):
        opened(file, policy(1), IDENTITY)


def test_a_ledger_put_in_the_place_of_an_open_one_takes_no_spend(file):
    ledger = spent_five_times(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE tacit_books SET identity = ?", [OTHER_IDENTITY])
    with pytest.raises(StoreUnusable, match="the accounts of the ledger"):
        spend(ledger, pure("1/8"))
    assert Path(file).exists()
