"""A ledger of format 1 becomes one of today's: its entries stay as they are, and the chain goes on over both.

The whole chain is read first, and a broken one is refused. The first entry of the new format carries over the accounts (what two
spellings of one name had spent is added up) and the number of questions. Which units the old entries counted for is not written
in them: until that is said, by the store that they were paid for or by the curator, nothing more is admitted (units.md).

The old row of the ledger is renamed, so that a program of the old format finds no ledger, and cannot begin one over these entries.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from tacit.accounting.ledger.chain import Reader, merged, nothing, read_chain
from tacit.accounting.ledger.connections import Connection
from tacit.accounting.ledger.entries import Account, Entry, accounts_digest, entry_from, state_from, state_text
from tacit.accounting.ledger.pages import BOOKS, PUT_ACCOUNT, create_tables, every_line, index_open, read_lines
from tacit.accounting.ledger.tables import Store
from tacit.accounting.ledger.units import UNKNOWN
from tacit.accounting.policy import Policy
from tacit.errors import StoreUnusable

OLD, OLD_SPENT, SET_ASIDE = "tacit_ledger", "tacit_spent", "tacit_ledger_of_format_1"
BROKEN = "restore the ledger from a backup; it was changed before it was converted"


def upgraded(store: Store, policy: Policy, now: str) -> bool:
    """Whether there is a ledger at all; one of format 1 is converted, once, in one transaction."""
    if store.has(BOOKS):
        _index(store)
        return True
    if not store.has(OLD):
        return False
    store.convert(lambda connection: _convert(connection, policy, now))
    return True


def _index(store: Store) -> None:
    """Index the open questions of a ledger that was begun without it; where that is not permitted, they are searched for."""
    with suppress(StoreUnusable):
        if not store.has_open_index():
            store.convert(index_open)


def _convert(connection: Connection, policy: Policy, now: str) -> None:
    if not connection.has(OLD):
        return  # another process was first
    if connection.kind == "postgresql":
        connection.run(f"LOCK TABLE {OLD} IN ACCESS EXCLUSIVE MODE")  # no older program writes meanwhile
    reader, last = _read(connection)
    entry = _next(reader, last, policy, now)
    accounts = merged(reader.accounts)
    create_tables(connection, entry, entry.hash, policy.units.text)
    for name, one in accounts.items():
        connection.run(PUT_ACCOUNT, analyst=name, spent=state_text(one.spent), failures=one.failures)
    connection.run(f"ALTER TABLE {OLD} RENAME TO {SET_ASIDE}")


def _read(connection: Connection) -> tuple[Reader, Entry]:
    """The old chain, whole, with the sums that were kept beside it."""
    lines = list(every_line(partial(read_lines, connection)))
    reader, problems = read_chain(lines)
    rows = connection.run(f"SELECT identity, number, hash, spent FROM {OLD}")  # noqa: S608  # a constant
    kept = connection.run(f"SELECT analyst, spent FROM {OLD_SPENT}")  # noqa: S608
    same = [row[:3] for row in rows] == [(reader.ledger, reader.number, reader.hash)]
    sums = {name: Account(state_from(spent)) for name, spent in kept}
    if problems or not same or state_from(rows[0][3]) != reader.spent or sums != reader.accounts:
        first = problems[0] if problems else "its sums do not match its entries"
        raise StoreUnusable(f"the ledger is damaged: {first}", remedy=BROKEN)
    return reader, entry_from(lines[-1].text)


def _next(reader: Reader, last: Entry, policy: Policy, now: str) -> Entry:
    """The first entry of the new format. Where nothing was ever paid for, there are no old units to ask about."""
    return Entry(
        reader.ledger,
        reader.number + 1,
        reader.hash,
        now,
        kind="format",
        price=nothing(last.price.neighbours),
        cap=last.cap,
        spent=reader.spent,
        units=UNKNOWN if reader.paid else policy.units.fingerprint,
        questions=reader.questions,
        accounts=accounts_digest(merged(reader.accounts)),
        details={"data_set": policy.data_set, "catalog": policy.catalog},
    )
