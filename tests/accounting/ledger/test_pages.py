"""What a page believes of the accounts: rows whose digest the last entry holds, in their one text, read anew each time."""

import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgers import IDENTITY, opened, policy, pure, spend
from tacit.accounting.filter import State
from tacit.accounting.ledger import pages
from tacit.accounting.ledger.entries import Account, accounts_digest, canonical_json, hash_of
from tacit.errors import StoreUnusable

SUMS = st.builds(State, st.none() | st.fractions(0), st.fractions(0), st.fractions(0))


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(), st.builds(Account, SUMS, st.integers(0, 9))))
def test_the_digest_is_that_of_one_canonical_object(accounts):
    """The format of entries: put together from texts of accounts, it is the JSON that earlier versions wrote."""
    shown = {
        name: [{"epsilon": None if one.spent.epsilon is None else str(one.spent.epsilon), "rho": str(one.spent.rho),
                "delta": str(one.spent.delta)}, one.failures]
        for name, one in accounts.items()
    }  # fmt: skip
    assert accounts_digest(accounts) == hash_of(canonical_json(shown))


TWO_IN_ONE = """UPDATE tacit_accounts SET spent = spent || ',0],"ben":[' || (SELECT spent FROM tacit_accounts WHERE analyst = 'ben')
    WHERE analyst = 'ana'"""
CHANGES = {
    "two accounts in one row": [TWO_IN_ONE, "DELETE FROM tacit_accounts WHERE analyst = 'ben'"],
    "a smaller sum": ["""UPDATE tacit_accounts SET spent = '{"delta":"0","epsilon":"0","rho":"0"}' WHERE analyst = 'ana'"""],
    "another text": ["UPDATE tacit_accounts SET spent = replace(spent, ',', ', ')"],
    "no JSON": ["UPDATE tacit_accounts SET spent = ''"],
}


@pytest.mark.parametrize("change", CHANGES)
def test_accounts_that_change_under_an_open_ledger_are_refused(tmp_path, change):
    ledger = _changed(tmp_path / "ledger.sqlite", CHANGES[change])
    with pytest.raises(StoreUnusable, match="do not match"):
        ledger.spent("ben")


def test_books_remembered_by_their_entry_alone_are_caught(tmp_path, monkeypatch):
    books, known = pages._books, {}

    def forgetful(identity, line, rows, digests):
        return known[line] if line in known else known.setdefault(line, books(identity, line, rows, digests))

    monkeypatch.setattr(pages, "_books", forgetful)
    assert _changed(tmp_path / "ledger.sqlite", CHANGES["a smaller sum"]).spent("ana").epsilon == Fraction(1, 10)


def _changed(file, statements):
    """A ledger that has been read, and whose file somebody changes then."""
    ledger = opened(str(file), policy(2), IDENTITY)
    for analyst in ("ana", "ben"):
        spend(ledger, pure("1/10"), analyst)
    assert ledger.spent("ana").epsilon == Fraction(1, 10)
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return ledger
