"""An entry of the ledger: one thing that happened, what it cost, and the hash of the entry before it.

The text of an entry is canonical JSON and holds everything; its hash is the SHA-256 of the text, which a reader can check with
any tool. A text names the hash before it: nothing earlier can be changed, taken out or moved and leave what follows as it was.

Texts of format 1 are read for ever. Format 2 adds what an epsilon needs to mean something: the units that it counts for, the
hashes of the answers, the counts of questions and failures, and a digest of all accounts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from tacit.accounting.composition import Cost
from tacit.accounting.events import Event
from tacit.accounting.filter import NOTHING_SPENT, State
from tacit.accounting.ledger.event_text import canonical_json, event_json, event_of, exact_from, relation_from, relation_text
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Budget
from tacit.privacy.neighbours import Neighbours

FORMAT = 2
PLAIN = ("ledger", "number", "previous", "kind", "at", "analyst", "question", "data_version")  # texts and whole numbers
PLAIN_SINCE_2 = ("units", "key", "about", "answer", "questions", "failures", "accounts")
NOTHING_BEFORE = "0" * 64
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Head:
    """The last entry of a ledger, and the sums after it, under the relation and the units that the ledger counts for."""

    ledger: str
    number: int
    hash: str
    neighbours: Neighbours
    spent: State
    units: str = ""
    questions: int = 0
    failures: int = 0
    for_events: Fraction = HALF

    def __str__(self) -> str:
        return f"entry {self.number} of ledger {self.ledger[:8]}"


@dataclass(frozen=True, slots=True)
class Account:
    """What one analyst has spent, and how many of their questions have failed since the curator last looked."""

    spent: State = NOTHING_SPENT
    failures: int = 0


NEW_ACCOUNT = Account()


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened, whose it is and what it cost. `spent` and `analyst_spent` are the sums after it.

    `for_events` is the share of the cap's delta that events may use; texts call it "split". All entries have that of the first.

    kind    begin    the first entry; `details` name the data set
            spend    a question was paid for: `event` is what will run, `price` its cost under the ledger's relation
            answer   the answer to entry `about` left; `answer` is the hash of its text
            failure  entry `about` had no answer: it did not finish, and stays spent
            recall   an analyst was given the answer to another one's question; it counts for that analyst alone. An answer
                     about it follows, except in ledgers of earlier versions
            adopt    the curator put this ledger in the place of another one, whose sums are carried over as the price
            units    the units are others from here on: every price before it counts `details["steps"]` times
            note     the data owner said something, such as why a second ledger covers the same sources
            resume   the curator looked into the failures, and counts them from zero again
            format   entries before it are of an older format
    """

    ledger: str
    number: int
    previous: str
    at: str
    kind: str
    price: Cost
    cap: Budget
    spent: State
    analyst: str = ""
    question: str = ""
    data_version: str = ""
    event: Event | None = None
    analyst_cap: Budget | None = None
    analyst_spent: State | None = None
    units: str = ""
    key: str = ""
    about: int | None = None
    answer: str = ""
    questions: int = 0
    failures: int = 0
    accounts: str = ""
    for_events: Fraction = HALF
    details: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def text(self) -> str:
        """The canonical text of the entry, over which its hash is taken."""
        plain = {name: getattr(self, name) for name in PLAIN}
        counted = {
            "event": _maybe(event_json, self.event),
            "price": {**_sums_json(self.price), "neighbours": relation_text(self.price.neighbours)},
            "cap": _cap_json(self.cap),
            "analyst_cap": _maybe(_cap_json, self.analyst_cap),
            "spent": _sums_json(self.spent),
            "analyst_spent": _maybe(_sums_json, self.analyst_spent),
        }
        newer = {} if self.format == 1 else {name: getattr(self, name) for name in PLAIN_SINCE_2}
        newer |= {} if self.format == 1 else {"split": str(self.for_events), "details": dict(self.details)}
        return canonical_json({"format": self.format, **plain, **counted, **newer})

    @property
    def hash(self) -> str:
        """The SHA-256 of the text, in hexadecimal."""
        return hash_of(self.text)

    def to_dict(self) -> dict[str, Any]:
        """The entry as its text has it, with its hash; numbers are exact texts."""
        return {**json.loads(self.text), "hash": self.hash}

    @property
    def head(self) -> Head:
        """What names the ledger at this entry, to be kept elsewhere."""
        counts = (self.questions, self.failures)
        return Head(self.ledger, self.number, self.hash, self.price.neighbours, self.spent, self.units, *counts, self.for_events)


def hash_of(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def entry_from(text: str) -> Entry:
    """The entry of a text."""
    known = json.loads(text)
    if known.get("format") not in range(1, FORMAT + 1):
        raise StoreUnusable("the ledger contains entries of an unknown format", remedy="update tacit")
    counted: dict[str, Any] = {
        "event": _maybe(event_of, known["event"]),
        "price": Cost(*_sums(known["price"]), relation_from(known["price"]["neighbours"])),
        "cap": _cap(known["cap"]),
        "analyst_cap": _maybe(_cap, known["analyst_cap"]),
        "spent": State(*_sums(known["spent"])),
        "analyst_spent": _maybe(lambda sums: State(*_sums(sums)), known["analyst_spent"]),
    }
    if known["format"] > 1:
        counted |= {name: known[name] for name in PLAIN_SINCE_2}
        counted |= {"for_events": exact_from(known["split"]), "details": dict(known["details"])}
    return Entry(**{name: known[name] for name in PLAIN}, **counted, format=known["format"])


def accounts_digest(accounts: Mapping[str, Account]) -> str:
    """One hash over the accounts of all analysts, which every entry holds: none can be changed, added or removed unseen."""
    return digest_of_texts({name: account_text(one) for name, one in accounts.items()})


def digest_of_texts(accounts: Mapping[str, str]) -> str:
    """The same from the text of each account: the hash of one canonical JSON object, put together from its parts."""
    return hash_of(f"{{{','.join(f'{_name_text(name)}:{accounts[name]}' for name in sorted(accounts))}}}")


def account_text(account: Account) -> str:
    """An account as canonical JSON.

    >>> account_text(Account(failures=2))
    '[{"delta":"0","epsilon":"0","rho":"0"},2]'
    """
    return f"[{state_text(account.spent)},{account.failures}]"


@lru_cache(maxsize=4096)
def _name_text(name: str) -> str:
    return canonical_json(name)


def heads_text(heads: Sequence[Head]) -> str:
    """Heads as a text, and back with `heads_from`."""
    known = [
        {name: getattr(head, name) for name in ("ledger", "number", "hash", "units", "questions", "failures")}
        | {"neighbours": relation_text(head.neighbours), "spent": _sums_json(head.spent), "split": str(head.for_events)}
        for head in heads
    ]
    return canonical_json({"format": FORMAT, "heads": known})


def heads_from(text: str) -> tuple[Head, ...]:
    """The heads of a text."""
    return tuple(_head(at) for at in json.loads(text)["heads"])


def _head(at: Mapping[str, Any]) -> Head:
    relation, spent = relation_from(at["neighbours"]), State(*_sums(at["spent"]))
    counts = (int(at.get("questions", 0)), int(at.get("failures", 0)))
    known = (str(at["ledger"]), int(at["number"]), str(at["hash"]), relation, spent, str(at.get("units", "")))
    return Head(*known, *counts, exact_from(at.get("split", str(HALF))))  # heads of earlier versions have none: it was a half


def state_text(state: State) -> str:
    """Sums as a text.

    >>> state_text(State(None, Fraction(1, 8)))
    '{"delta":"0","epsilon":null,"rho":"1/8"}'
    """
    return canonical_json(_sums_json(state))


def state_from(text: str) -> State:
    """The sums that a text holds."""
    return State(*_sums(json.loads(text)))


def _maybe(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _sums_json(sums: State | Cost) -> dict[str, Any]:
    return {"epsilon": _maybe(str, sums.epsilon), "rho": str(sums.rho), "delta": str(sums.delta)}


def _sums(known: Mapping[str, Any]) -> tuple[Fraction | None, Fraction, Fraction]:
    return _maybe(exact_from, known["epsilon"]), exact_from(known["rho"]), exact_from(known["delta"])


def _cap_json(cap: Budget) -> dict[str, str]:
    return {"epsilon": str(cap.epsilon), "delta": str(cap.delta)}


def _cap(known: Mapping[str, str]) -> Budget:
    return Budget(exact_from(known["epsilon"]), exact_from(known["delta"]))
