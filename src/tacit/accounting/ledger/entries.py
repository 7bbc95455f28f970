"""Events and entries as canonical JSON and back, in a format that must still be readable in ten years.

One event has one text: keys sorted, no blanks, ASCII only, exact numbers as strings ("1/3"), counts as integers. The names of kinds
and fields are part of the format, whatever the classes come to be called; the test beside it holds one text of each kind, for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from tacit.accounting.composition import Cost
from tacit.accounting.events import (
    AboveThreshold,
    AdaptiveRounds,
    Batch,
    BoundedRangeChoice,
    CalibratedGaussian,
    Event,
    ExponentialChoice,
    GaussianKeys,
    GaussianNoise,
    GaussianNoiseOne,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    RandomizedAnswer,
    Resampling,
    SmoothNoise,
    ThresholdedKeys,
)  # fmt: skip
from tacit.accounting.filter import NOTHING_SPENT, State
from tacit.accounting.ledger.changes import in_force_from, in_force_json, regrouped_from, regrouped_json
from tacit.errors import InvalidInput, StoreUnusable, UnknownEvent
from tacit.privacy.catalog import Budget
from tacit.privacy.loss import Neighbours, relation_from, relation_text
from tacit.privacy.periods import Runs
from tacit.privacy.rounding import exact_from

KINDS: dict[str, type[Event]] = {
    "laplace": LaplaceNoise,
    "gaussian": GaussianNoise,
    "gaussian-one": GaussianNoiseOne,
    "exponential": ExponentialChoice,
    "bounded-range": BoundedRangeChoice,
    "noisy-max": NoisyMax,
    "above-threshold": AboveThreshold,
    "randomized-answer": RandomizedAnswer,
    "smooth": SmoothNoise,
    "thresholded-keys": ThresholdedKeys,
    "gaussian-keys": GaussianKeys,
    "resampling": Resampling,
    "batch": Batch,
    "calibrated-gaussian": CalibratedGaussian,
    "adaptive-rounds": AdaptiveRounds,
    "parallel": Parallel,
}
NAMES = {kind: name for name, kind in KINDS.items()}


ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """The one text of a JSON value here: sorted keys, no blanks, ASCII.

    >>> canonical_json({"b": [1, None], "a": "1/3"})
    '{"a":"1/3","b":[1,null]}'
    """
    return ENCODER.encode(value)


def event_text(event: Event) -> str:
    """The text of an event; `event_from` has an example."""
    return canonical_json(event_json(event))


def event_from(text: str) -> Event:
    """The event of a text.

    >>> event_from('{"epsilon":"1/3","kind":"noisy-max","neighbours":"add-remove row"}').epsilon
    Fraction(1, 3)
    """
    return event_of(json.loads(text))


def event_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object, for use inside a larger one."""
    if type(event) not in NAMES:
        raise UnknownEvent(f"{type(event).__name__} cannot be stored; record an event of events.py")
    kind = NAMES[type(event)]
    return {"kind": kind, **{name: form.write(getattr(event, name)) for name, form in FIELDS[kind].items()}}


def event_of(document: Any) -> Event:
    """The event that `event_json` wrote; raises for text that it did not write."""
    if not isinstance(document, dict) or document.get("kind") not in KINDS:
        raise UnknownEvent("unknown kind of event; it may come from a newer version: update tacit")
    forms = FIELDS[document["kind"]]
    if document.keys() != {"kind", *forms}:
        raise UnknownEvent(f"an event of kind {document['kind']!r} has unexpected fields, perhaps of a newer version: update tacit")
    return KINDS[document["kind"]](**{name: form.read(document[name]) for name, form in forms.items()})


def _exact_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise InvalidInput(f"an event must hold exact numbers, not {type(value).__name__}; convert it with exact(...) first")
    return str(value if isinstance(value, Fraction) else Fraction(value))


def _count(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise InvalidInput(f"an event must hold whole numbers here, not {value!r}")
    return int(value)


@dataclass(frozen=True, slots=True)
class Form:
    """How a field of one type is written and read."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


FORMS = {
    "Fraction": Form(_exact_text, exact_from),
    "Fraction | None": Form(lambda it: None if it is None else _exact_text(it), lambda it: None if it is None else exact_from(it)),
    "int": Form(_count, _count),
    "Neighbours": Form(relation_text, relation_from),
    "tuple[Event, ...]": Form(lambda parts: [event_json(part) for part in parts], lambda parts: tuple(map(event_of, parts))),
}
FIELDS = {name: {at.name: FORMS[str(at.type)] for at in fields(kind)} for name, kind in KINDS.items()}


# --- an entry of the ledger --------------------------------------------------------------------------------------------------


FORMAT = 3
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
    order: Fraction | None = None

    def __str__(self) -> str:
        return f"entry {self.number} of ledger {self.ledger[:8]}"


@dataclass(frozen=True, slots=True)
class Account:
    """The sums of one analyst, and how many of their questions have failed since the data owner last resumed."""

    spent: State = NOTHING_SPENT
    failures: int = 0


NEW_ACCOUNT = Account()


@dataclass(frozen=True, slots=True)
class Counted:
    """A narrow token by its number, the sum of the epsilons that were asked for with it and with those below it, and its limit."""

    number: int
    asked: Fraction
    most: Fraction | None


@dataclass(frozen=True, slots=True)
class Charged:
    """The epsilon that a question was asked with, and the tokens that count it: the presented one first, then those above it."""

    epsilon: Fraction
    path: tuple[Counted, ...]

    def sum_of(self, number: int) -> Fraction:
        """The sum of a token after the entry."""
        return next(one.asked for one in self.path if one.number == number)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event in the life of a ledger, with its analyst and its cost. `spent` and `analyst_spent` are the sums after it.

    `for_events` is the share of the cap's delta that events may use; texts call it "split". All entries have that of the first.
    `more` has the fields that only some entries have, by the names of `MORE`; a text with another name is of a newer version.

    kind    begin    the first entry; `details` name the data set
            spend    a question was paid for: `event` is what will run, `price` its cost under the ledger's relation
            answer   the answer to entry `about` left; `answer` is the hash of its text
            failure  entry `about` had no answer: it did not finish, and stays spent
            recall   an analyst was given the answer to another one's question; it counts for that analyst alone
            adopt    the curator put this ledger in the place of another one, whose sums are carried over as the price
            units    the units are others from here on: every price before it counts `details["steps"]` times
            note     the data owner said something, such as why a second ledger covers the same sources
            resume   the curator looked into the failures, and counts them from zero again
            budget   the data owner accepted a raised budget, where it is one of each period (`more` has the field "in force")
            late     the reply to entry `about` left later than its rung (query/price/work.py)
            order    what was paid before is restated at the one Renyi order that counts from here on (filter.md)
            decision a curator decided on a question of an analyst, which `details` names: approvals.py
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
    more: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def charged(self) -> Charged | None:
        """The narrow tokens that the entry is charged to, if it was asked with one."""
        return self.more.get(TOKENS)

    @property
    def in_periods(self) -> InPeriods | None:
        """The periods that the entry is charged to, where the budget is per period."""
        return self.more.get(PERIODS)

    @property
    def late(self) -> Mapping[str, int]:
        """How many late replies each analyst had since the data owner last resumed."""
        return dict(self.more.get(LATE, {}))

    @property
    def is_spent(self) -> bool:
        """Whether anything was ever paid for in the ledger, up to this entry."""
        return self.questions > 0 or self.spent != NOTHING_SPENT

    @property
    def orders(self) -> Orders:
        """The Renyi orders at which the ledger counts from this entry on."""
        at: AtOrders | None = self.more.get(ORDERS)
        return NO_ORDERS if at is None else at.orders

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
        newer |= {} if self.format < 3 else {"more": {name: MORE[name].write(value) for name, value in self.more.items()}}
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
        """The name of the ledger at this entry, with its sums, to be kept elsewhere."""
        counts = (self.questions, self.failures)
        named = (self.ledger, self.number, self.hash, self.price.neighbours, self.spent, self.units)
        return Head(*named, *counts, self.for_events, self.orders.sums)


def hash_of(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def entry_from(text: str) -> Entry:
    """The entry of a text."""
    document = json.loads(text)
    if document.get("format") not in range(1, FORMAT + 1):
        raise StoreUnusable("the ledger contains entries of an unknown format", remedy="update tacit")
    if document["format"] > 2:
        _require_known(document)
    counted: dict[str, Any] = {
        "event": _maybe(event_of, document["event"]),
        "price": Cost(*_sums(document["price"]), relation_from(document["price"]["neighbours"])),
        "cap": _cap(document["cap"]),
        "analyst_cap": _maybe(_cap, document["analyst_cap"]),
        "spent": State(*_sums(document["spent"])),
        "analyst_spent": _maybe(lambda sums: State(*_sums(sums)), document["analyst_spent"]),
    }
    if document["format"] > 1:
        counted |= {name: document[name] for name in PLAIN_SINCE_2}
        counted |= {"for_events": exact_from(document["split"]), "details": dict(document["details"])}
    if document["format"] > 2:
        counted |= {"more": {name: MORE[name].read(value) for name, value in document["more"].items()}}
        if (at := counted["more"].get(ORDERS)) is not None:
            counted["price"] = replace(counted["price"], counted=at.counted)
    return Entry(**{name: document[name] for name in PLAIN}, **counted, format=document["format"])


# --- fields that only some entries have --------------------------------------------------------------------------------------


TOKENS, PERIODS, ORDERS, LATE, APPROVED = "tokens", "periods", "orders", "late", "approved"


def _charged_json(charged: Charged) -> dict[str, Any]:
    path = [{"number": one.number, "asked": str(one.asked), "most": _maybe(str, one.most)} for one in charged.path]
    return {"epsilon": str(charged.epsilon), "path": path}


def _charged_from(document: Mapping[str, Any]) -> Charged:
    path = (Counted(_count(one["number"]), exact_from(one["asked"]), _maybe(exact_from, one["most"])) for one in document["path"])
    return Charged(exact_from(document["epsilon"]), tuple(path))


@dataclass(frozen=True, slots=True)
class InPeriods:
    """The periods that an entry is charged to, and its price in each; the price of the entry itself is that of a whole person."""

    per: str  # the calendar as text
    runs: Runs
    named: str
    price: Cost
    most: int  # questions of a period
    lifetime: Budget | None = None  # the cap of a whole person


def _in_periods_json(charged: InPeriods) -> dict[str, Any]:
    price, lifetime = _sums_json(charged.price), _maybe(_cap_json, charged.lifetime)
    plain = {name: getattr(charged, name) for name in ("per", "named", "most")}
    return {**plain, "runs": [list(run) for run in charged.runs], "price": price, "lifetime": lifetime}


def _in_periods_from(document: Mapping[str, Any]) -> InPeriods:
    runs = tuple((_count(low), _count(high)) for low, high in document["runs"])
    price, lifetime = Cost(*_sums(document["price"])), _maybe(_cap, document["lifetime"])
    return InPeriods(document["per"], runs, document["named"], price, _count(document["most"]), lifetime)


@dataclass(frozen=True, slots=True)
class Orders:
    """The Renyi orders of a ledger, each kept for ever: of its sums, and of the sums of each period. None: rhos are summed."""

    sums: Fraction | None = None
    periods: Fraction | None = None


NO_ORDERS = Orders()


@dataclass(frozen=True, slots=True)
class AtOrders:
    """The orders of an entry, and what its prices count at them: that of the entry, and that in each period."""

    orders: Orders
    counted: Fraction | None
    in_period: Fraction | None


def _at_orders_json(at: AtOrders) -> dict[str, Any]:
    said = {"sums": (at.orders.sums, at.counted), "periods": (at.orders.periods, at.in_period)}
    return {name: [str(order), str(counted)] for name, (order, counted) in said.items() if order is not None}


def _at_orders_from(document: Mapping[str, Any]) -> AtOrders:
    sums, periods = (tuple(map(exact_from, document.get(name, ()))) or (None, None) for name in ("sums", "periods"))
    return AtOrders(Orders(sums[0], periods[0]), sums[1], periods[1])


MORE: Mapping[str, Form] = {
    TOKENS: Form(_charged_json, _charged_from),
    PERIODS: Form(_in_periods_json, _in_periods_from),
    ORDERS: Form(_at_orders_json, _at_orders_from),
    (REGROUPED := "regrouped"): Form(regrouped_json, regrouped_from),
    (IN_FORCE := "in force"): Form(in_force_json, in_force_from),
    LATE: Form(dict, lambda late: {str(name): _count(number) for name, number in late.items()}),
    APPROVED: FORMS["int"],  # the entry of the decision that the spend needed
}
"""The fields of `more`: how each is written and read. A new field is a new line; the format stays 3 (docs/decisions/0018)."""

TOKEN, APPROVAL = "token ", "approval "  # how keys of narrow tokens and decisions begin; the key of a question is hexadecimal


def token_key(number: int) -> str:
    """The key under which the last entry of a narrow token is noted."""
    return f"{TOKEN}{number}"


COUNTED = ("event", "price", "cap", "analyst_cap", "spent", "analyst_spent", "split", "details", "more", "format")
FIELDS_OF_3 = frozenset((*PLAIN, *PLAIN_SINCE_2, *COUNTED))


def _require_known(document: Mapping[str, Any]) -> None:
    """Refuse an entry with a field that this version does not know: it may change what the entry means."""
    more = document.get("more")
    unknown = sorted({*document} - FIELDS_OF_3 or ({*more} if isinstance(more, dict) else {"more"}) - MORE.keys())
    if unknown:
        what = f"the ledger contains an entry with the unknown field {unknown[0][:40]!r}, which a newer version wrote"
        raise StoreUnusable(what, remedy="update tacit")


# --- accounts and heads as texts ---------------------------------------------------------------------------------------------


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


def _sums(sums: Mapping[str, Any]) -> tuple[Fraction | None, Fraction, Fraction]:
    return _maybe(exact_from, sums["epsilon"]), exact_from(sums["rho"]), exact_from(sums["delta"])


def _cap_json(cap: Budget) -> dict[str, str]:
    return {"epsilon": str(cap.epsilon), "delta": str(cap.delta)}


def _cap(cap: Mapping[str, str]) -> Budget:
    return Budget(exact_from(cap["epsilon"]), exact_from(cap["delta"]))
