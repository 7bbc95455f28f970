"""What a transaction sees of a ledger: the last entry with all accounts, lines as stored, kept answers; and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tacit.accounting.ledger.chain import nothing
from tacit.accounting.ledger.entries import Account, Entry, account_text, digest_of_texts
from tacit.privacy.catalog import Budget


@dataclass(frozen=True, slots=True)
class Books:
    """The last entry, its hash, and the account of every analyst, which agrees with it."""

    last: Entry
    hash: str
    accounts: Mapping[str, Account]
    texts: Mapping[str, str]  # of the accounts, of which every entry holds a digest

    def following(self, last: Entry, digest: str, changed: Mapping[str, Account]) -> Books:
        """The books after an entry that changes these accounts."""
        return Books(last, digest, {**self.accounts, **changed}, self.texts_with(changed))

    def texts_with(self, changed: Mapping[str, Account]) -> dict[str, str]:
        """The texts of all accounts, with these changed."""
        return {**self.texts, **{name: account_text(one) for name, one in changed.items()}}


@dataclass(frozen=True, slots=True)
class Marks:
    """The unchecked state of a ledger: its name, its last entry and its accounts."""

    ledger: str
    number: int
    hash: str
    accounts: Mapping[str, Account]


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as it is stored."""

    number: int
    hash: str
    text: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A question that is being answered (until a moment by the clock), or was: `answer` is the entry with its text's hash."""

    key: str
    entry: int
    until: float
    answer: int | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Asker:
    """Who has paid for what is kept under a key, and by which entry."""

    key: str
    analyst: str
    entry: int


def following(books: Books, cap: Budget, kind: str, changed: Mapping[str, Account], **what: Any) -> Entry:
    """The entry that follows what is in the books; `changed` are the accounts that it changes, and the rest is as it was."""
    last = books.last
    same = {"price": nothing(last.price.neighbours), "spent": last.spent, "units": last.units, "for_events": last.for_events}
    counts = {"questions": last.questions, "failures": last.failures}
    digest = digest_of_texts(books.texts_with(changed))
    told: dict[str, Any] = {**same, **counts, "accounts": digest, "cap": cap, **what}
    return Entry(last.ledger, last.number + 1, books.hash, now(), kind, **told)


def now() -> str:
    """The moment, as entries write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
