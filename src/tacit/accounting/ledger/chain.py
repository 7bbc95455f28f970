"""The chain of a ledger, read from the beginning and computed again: hashes, numbers, sums, accounts, units and caps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.accounting.composition import Cost
from tacit.accounting.filter import NOTHING_SPENT, State, on_grid_up
from tacit.accounting.ledger.by_period import (
    EMPTY,
    EVERYBODY,
    NO_END,
    Key,
    Limits,
    Rows,
    charged_pages,
    digests_of,
    rows_text,
    spans,
)
from tacit.accounting.ledger.caps import filter_for
from tacit.accounting.ledger.changes import InForce, Regrouped
from tacit.accounting.ledger.entries import (
    APPROVAL,
    APPROVED,
    IN_FORCE,
    NEW_ACCOUNT,
    NO_ORDERS,
    NOTHING_BEFORE,
    REGROUPED,
    Account,
    Charged,
    Entry,
    InPeriods,
    Orders,
    account_text,
    digest_of_texts,
    entry_from,
    hash_of,
    token_key,
)
from tacit.accounting.ledger.paid import Paid, add_up_pages, paid_by
from tacit.errors import StoreUnusable, TacitError
from tacit.privacy.catalog import Budget, analyst_name
from tacit.privacy.loss import ADD_REMOVE, Neighbours
from tacit.privacy.periods import Runs, merged

if TYPE_CHECKING:
    from tacit.accounting.ledger.pages import Asker, Kept, Line, Marks

FREE = (
    "begin",
    "answer",
    "failure",
    "units",
    "resume",
    "note",
    "format",
    "order",
    "budget",
    "late",
    "decision",
)  # kinds of entries that add nothing to any sum
NEAR = Fraction(1, 10**12)  # by which the order of another machine may be less good
KINDS = (*FREE, "spend", "recall", "adopt")


@dataclass(frozen=True, slots=True)
class Chain:
    """The result of reading the whole ledger: the number of its entries, and its problems."""

    entries: int
    problems: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    @property
    def problem(self) -> str | None:
        """The first thing that is wrong; one change may show in several places."""
        return self.problems[0] if self.problems else None


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of the whole data set and of each analyst."""

    spent: State
    analysts: Mapping[str, State]


class Reader:
    """Reads lines in order and says what is wrong with each. It is also what sums after a change of units are computed with."""

    def __init__(self) -> None:
        self.number, self.hash, self.ledger, self.format = -1, NOTHING_BEFORE, "", 1
        self.spent, self.accounts = NOTHING_SPENT, dict[str, Account]()
        self.questions = self.failures = 0
        self.late: Mapping[str, int] = {}  # replies since the last resume, by analyst
        self.relation: Neighbours | None = None
        self.for_events: Fraction | None = None
        self.orders = NO_ORDERS
        self.capped: tuple[set[Budget], set[Budget]] = (
            set(),
            set(),
        )  # the caps of spends: on the sums, and on those of each period
        self.units = ""
        self.paid: list[Paid] = []
        self.keys: dict[int, str] = {}
        self.recalls: dict[int, tuple[str, int]] = {}  # the key of a recall, and the entry that first paid for its answer
        self.hashes: dict[int, str] = {}  # of the answer to a spend
        self.answers: dict[int, tuple[str, str, int | None]] = {}
        self.askers: dict[tuple[str, str], int] = {}
        self.decisions: dict[
            int, tuple[str, str, int]
        ] = {}  # for whom, on what, and the last entry that it admits, 0 before the first
        self.tokens: dict[tuple[str, int], Fraction] = {}  # what was asked for with each narrow token
        self.pages: dict[Key, Rows] = {}  # the sums of periods
        self.per: str | None = None  # the calendar of the periods that were charged
        self.in_force: InForce | None = None  # the budgets that the data owner has accepted
        self.page_texts: dict[str, str] = {}  # their digests, by the names under which entries count them

    def read(self, line: Line) -> list[str]:
        """The problems of the next line; its own words are believed from here on, so that one change is one problem."""
        name = f"entry {line.number}"
        problems = [f"{name}: its text was changed"] if hash_of(line.text) != line.hash else []
        if line.number != self.number + 1:
            problems.append(f"{name}: entries {self.number + 1} to {line.number - 1} are missing")
        try:
            entry = entry_from(line.text)
            problems += [f"{name}: {problem}" for problem in self._wrong(entry, line.number)]
            problems += [f"{name}: its fields are not canonical"] if entry.more and entry.text != line.text else []
            self._believe(entry)
        except StoreUnusable as error:  # of a newer version
            problems.append(f"{name}: {error}")
        except (TacitError, ValueError, TypeError, LookupError, AttributeError):
            problems.append(f"{name}: it cannot be read")
        self.number, self.hash = line.number, line.hash
        return problems

    def _wrong(self, entry: Entry, number: int) -> Iterator[str]:
        if entry.number != number or (number and entry.ledger != self.ledger):
            yield "it was moved here from another place"
        if entry.previous != self.hash:
            yield "what comes before it was changed"
        if entry.format < self.format:
            yield "it is of an older format than the entries before it"
        if entry.kind not in KINDS or (entry.kind == "begin") != (number == 0) or (entry.kind == "format" and self.format > 1):
            yield "an entry of its kind does not belong here"
        if self.for_events not in (None, entry.for_events):
            yield "it splits delta differently than the entries before it"
        yield from self._wrong_orders(entry)
        yield from self._wrong_budgets(entry)
        if entry.late != self._late_after(entry):
            yield "its counts of late replies are wrong"
        if entry.kind == "units":
            yield from self._wrong_units(entry)
            return
        if self.relation not in (None, entry.price.neighbours):
            yield f"it counts for '{entry.price.neighbours}', and the ledger for '{self.relation}'"
        yield from self._wrong_sums(entry)
        if entry.format > 1:
            yield from self._wrong_counts(entry)
        if entry.charged is not None:
            yield from self._wrong_tokens(entry, entry.charged)
        if entry.kind == "decision" or APPROVED in entry.more:
            yield from self._wrong_decision(entry)

    def _late_after(self, entry: Entry) -> dict[str, int]:
        """The late replies of each analyst after an entry."""
        one = {entry.analyst: self.late.get(entry.analyst, 0) + 1} if entry.kind == "late" else {}
        return {} if entry.kind == "resume" else {**self.late, **one}

    def _wrong_orders(self, entry: Entry) -> Iterator[str]:
        """A Renyi order is taken once and kept; where anything was paid for before, by an entry that restates it."""
        taken = entry.kind == "order" or not (self.questions or self.spent != NOTHING_SPENT)
        for before, now in zip(astuple(self.orders), astuple(entry.orders), strict=True):
            if now != before and not (before is None and taken and now is not None and now > 1):
                yield "it counts at another Renyi order than the entries before it"
        if entry.kind == "order" and not self._is_restated(entry):
            yield "the restated sums after it are wrong"

    def _is_restated(self, entry: Entry) -> bool:
        """Whether nothing but the sum at the order was restated, to no less than it is, and at the order of the largest cap."""
        least = self.at_orders(entry.orders, entry)
        same = (entry.spent.epsilon, entry.spent.delta) == (self.spent.epsilon, self.spent.delta)
        caps = self.capped[0] | ({entry.cap} if entry.orders.periods is None else set())
        rho, kept = [largest_at(caps, entry.for_events, order) for order in (None, entry.orders.sums)]
        attained = self.orders.sums is not None or entry.orders.sums is None or rho <= kept * (1 + NEAR)
        return same and attained and least.rho <= entry.spent.rho <= self.spent.rho

    def at_orders(self, orders: Orders, entry: Entry) -> State:
        """The sums of everything that was ever paid, as it counts at the order; an order that was taken before has counted it."""
        if orders.sums is None or self.orders.sums is not None:
            return self.spent
        relation = entry.price.neighbours
        counted = (on_grid_up(one.today(relation, orders.sums).at_order) for one in self.paid if one.shared)
        return replace(self.spent, rho=sum(counted, start=Fraction(0)))

    def _wrong_tokens(self, entry: Entry, charged: Charged) -> Iterator[str]:
        """Every token of the path counts what was asked for, once, and none exceeds its limit."""
        numbers = [one.number for one in charged.path]
        if entry.kind not in ("spend", "recall") or not numbers or len({*numbers}) < len(numbers) or charged.epsilon < 0:
            yield "it is charged to tokens, which does not belong here"
        for one in charged.path:
            if one.asked != self.tokens.get((entry.analyst, one.number), 0) + charged.epsilon:
                yield f"the sum of token {one.number} of {entry.analyst} after it is wrong"
            if one.most is not None and one.asked > one.most:
                yield f"it was admitted beyond the limit of token {one.number} of {entry.analyst}"

    def _wrong_decision(self, entry: Entry) -> Iterator[str]:
        """A decision says on whose question it is; one statement is paid for with it, by entries beside one another."""
        if entry.kind == "decision":
            if not entry.details.keys() >= {"decision", "for", "subject", "epsilon", "delta", "until"}:
                yield "it does not say what was decided"
            return
        whose, _, used = self.decisions.get(entry.more[APPROVED], ("", "", 0))
        if entry.kind not in ("spend", "recall") or whose != entry.analyst or (used and used < entry.number - 2):
            yield "no decision admits it"

    def _wrong_sums(self, entry: Entry) -> Iterator[str]:
        own = filter_for(entry.cap, entry.price.neighbours, entry.for_events)
        whole = filter_for(entry.cap, entry.price.neighbours, entry.for_events, entry.orders.sums)
        after = self.spent if entry.kind == "recall" else whole.after(self.spent, entry.price)
        after = entry.spent if entry.kind == "order" else after
        if after != entry.spent or (entry.kind in FREE and entry.price != nothing(entry.price.neighbours)):
            yield "the sums after it are wrong"
        if entry.analyst_spent is not None:
            before = self._account(entry).spent
            if own.after(before, entry.price) != entry.analyst_spent:
                yield f"the sums of {entry.analyst} after it are wrong"
        if entry.in_periods is not None:
            yield from self._wrong_periods(entry, entry.in_periods)
        elif entry.kind == "spend" and not whole.holds(entry.spent):
            yield "it was admitted beyond the cap"

    def _wrong_periods(self, entry: Entry, charged: InPeriods) -> Iterator[str]:
        """Every period that it is charged to is within the cap of a period, and a whole person within that of a lifetime."""
        relation = entry.price.neighbours
        if entry.kind not in ("spend", "recall") or merged(charged.runs) != charged.runs:
            yield "it is charged to periods, which does not belong here"
            return
        if self.per not in (None, charged.per):
            yield "it is charged to other periods than the entries before it"
        orders = entry.orders
        lifetime = None if charged.lifetime is None else filter_for(charged.lifetime, relation, entry.for_events, orders.sums)
        if entry.kind == "spend" and lifetime is not None and not lifetime.holds(entry.spent):
            yield "it was admitted beyond the cap of a lifetime"
        caps = {
            entry.analyst: (entry.analyst_cap, NO_END),
            **({EVERYBODY: (entry.cap, charged.most)} if entry.kind == "spend" else {}),
        }
        for (account, page), rows in charged_pages(entry, self.pages).items():
            cap, most = caps.get(account, (None, NO_END))
            order = orders.periods if account == EVERYBODY else None
            held = None if cap is None else Limits.of(filter_for(cap, relation, entry.for_events, order), most)
            if held and not all(held.hold(sums) for _, sums, mine in spans(rows, page, charged.runs) if mine):
                yield "it was admitted beyond the cap of a period"

    def _wrong_budgets(self, entry: Entry) -> Iterator[str]:
        """The budgets that the data owner has accepted are carried on, and rise by an entry of kind budget alone."""
        now: InForce | None = entry.more.get(IN_FORCE)
        if self.in_force is not None and (now is None or (entry.kind != "budget" and self.in_force.rises(now))):
            yield "it raises a budget that the data owner has not accepted"
        charged = entry.in_periods
        if (
            now is not None
            and entry.kind == "spend"
            and charged is not None
            and (entry.cap, charged.lifetime) != (now.budget, now.lifetime)
        ):
            yield "it was admitted under another budget than the accepted one"

    def _wrong_counts(self, entry: Entry) -> Iterator[str]:
        failures = 0 if entry.kind == "resume" else self.failures + (entry.kind == "failure")
        counts, expected = (entry.questions, entry.failures), (self.questions + (entry.kind == "spend"), failures)
        if counts != expected and not (entry.kind == "adopt" and counts >= expected and entry.failures >= failures):
            yield "its counts of questions and failures are wrong"
        if entry.accounts != self._digest_after(entry):
            yield "the accounts after it are wrong"
        if entry.units != self.units and entry.kind not in ("begin", "format") and (entry.kind, entry.units) != ("adopt", ""):
            yield "it counts for other units than the entries before it"
        if entry.kind in ("answer", "failure", "recall", "late") and not self._is_about(entry):
            yield "it is about another entry than it says"

    def _digest_after(self, entry: Entry) -> str:
        """The digest of the accounts and of the pages of periods after an entry."""
        accounts = {name: account_text(one) for name, one in self.accounts_after(entry).items()}
        return digest_of_texts({**accounts, **self.page_texts, **digests_of(charged_pages(entry, self.pages))})

    def _is_about(self, entry: Entry) -> bool:
        """Whether there is the entry that this one is about, under its key; an answer after a recall is the one that was kept."""
        about = entry.about or 0
        if entry.kind == "answer" and about in self.recalls:
            key, paid = self.recalls[about]
            return (entry.key, entry.answer) == (key, self.hashes.get(paid))
        if entry.kind == "late" and about in self.recalls:
            return entry.key == self.recalls[about][0]
        return self.keys.get(about) == entry.key

    def _wrong_units(self, entry: Entry) -> Iterator[str]:
        sums = self.restated(int(entry.details["steps"]), entry.price.neighbours, entry)
        accounts = {name: replace(account, spent=sums.analysts.get(name, NOTHING_SPENT)) for name, account in self.accounts.items()}
        texts = {name: account_text(one) for name, one in accounts.items()}
        change: Regrouped | None = entry.more.get(REGROUPED)
        pages = {} if change is None else self.regroup(change, int(entry.details["steps"]), entry.orders)[1]
        if sums.spent != entry.spent or entry.accounts != digest_of_texts({**texts, **self.page_texts, **digests_of(pages)}):
            yield "the restated sums after it are wrong"
        if change is None and self.pages and int(entry.details["steps"]) > 1:
            yield "it restates whole persons, and not what their periods have spent"
        if change is not None and (change.old != self.per or change.steps < change.needs(self.charged)):
            yield "it restates periods with too few steps, or others than were charged"
        if entry.price != nothing(entry.price.neighbours) or (entry.questions, entry.failures) != (self.questions, self.failures):
            yield "it changes more than the units"

    @property
    def charged(self) -> Runs:
        """The periods that were ever charged."""
        return merged(run for one in self.paid for run in one.runs)

    def regroup(self, change: Regrouped, steps: int, orders: Orders) -> tuple[list[Paid], dict[Key, Rows]]:
        """Everything that was paid under other periods, and the pages of these; those of the old ones hold zeros from then on."""
        paid = [one.regroup(change, steps) for one in self.paid]
        return paid, {**dict.fromkeys(self.pages, EMPTY), **add_up_pages(paid, orders.periods)}

    def restated(self, steps: int, relation: Neighbours, under: Entry) -> Sums:
        """The sums of everything that was ever paid, if one unit of today touches `steps` of those until now."""
        order = self.orders.sums
        own, whole = (filter_for(under.cap, relation, under.for_events, each) for each in (None, order))
        spent, analysts = NOTHING_SPENT, dict[str, State]()
        for one in self.paid:
            price = replace(one, steps=one.steps * steps).today(relation, order)
            spent = whole.after(spent, price) if one.shared else spent
            if one.analyst:
                analysts[one.analyst] = own.after(analysts.get(one.analyst, NOTHING_SPENT), price)
        return Sums(spent, analysts)

    def accounts_after(self, entry: Entry) -> dict[str, Account]:
        """The accounts of all analysts after an entry."""
        if entry.kind == "format":
            return merge_accounts(self.accounts)
        if entry.kind == "resume":
            return {name: replace(account, failures=0) for name, account in self.accounts.items()}
        before = self._account(entry)
        spent = before.spent if entry.analyst_spent is None else entry.analyst_spent
        after = Account(spent, before.failures + (entry.kind == "failure"))
        changed = entry.analyst_spent is not None or entry.kind == "failure"
        return {**self.accounts, entry.analyst: after} if changed else dict(self.accounts)

    def _account(self, entry: Entry) -> Account:
        return self.accounts.get(entry.analyst, NEW_ACCOUNT)

    def _believe(self, entry: Entry) -> None:
        if entry.kind == "units":
            self._turn(entry)
        else:
            self.accounts = self.accounts_after(entry)
        changed = charged_pages(entry, self.pages)
        self.pages |= changed
        self.page_texts |= digests_of(changed)
        self.spent, self.ledger, self.relation = entry.spent, entry.ledger, entry.price.neighbours
        asked = max(entry.questions - self.questions, 0) if entry.kind == "adopt" else 1
        self.questions = entry.questions if entry.format > 1 else self.questions + (entry.kind == "spend")
        self.failures, self.units, self.format, self.for_events = entry.failures, entry.units, entry.format, entry.for_events
        self.orders, self.in_force, self.late = entry.orders, entry.more.get(IN_FORCE), entry.late
        if entry.kind in ("spend", "recall", "adopt"):
            self.paid.append(paid_by(entry, asked))
            self.per = self.per if entry.in_periods is None else entry.in_periods.per
        if entry.kind == "spend":
            charged = entry.in_periods
            self.capped[charged is not None].add(entry.cap)
            self.capped[0].update(() if charged is None or charged.lifetime is None else (charged.lifetime,))
            self.keys[entry.number] = entry.key
        if entry.kind == "recall":
            self.recalls[entry.number] = entry.key, entry.about or 0
        if entry.kind == "answer" and entry.about not in self.recalls:
            self.hashes[entry.about or 0] = entry.answer
            self.answers[entry.number] = (entry.key, entry.answer, entry.about)
        if entry.kind in ("spend", "recall") and entry.key:
            self.askers[entry.key, entry.analyst] = entry.number
        if entry.kind == "decision":
            told = entry.details
            admits = told["decision"] != "refused"
            self.decisions |= {entry.number: (told["for"], told["subject"], 0)} if admits else {}
            self.askers[f"{APPROVAL}{told['subject']}", told["for"]] = entry.number
        if (at := entry.more.get(APPROVED)) in self.decisions:
            self.decisions[at] = (*self.decisions[at][:2], entry.number)
            self.askers[f"{APPROVAL}{self.decisions[at][1]}", entry.analyst] = entry.number
        for one in () if entry.charged is None else entry.charged.path:
            self.tokens[entry.analyst, one.number] = one.asked
            self.askers[token_key(one.number), entry.analyst] = entry.number

    def _turn(self, entry: Entry) -> None:
        """From here on every earlier price counts more steps."""
        steps = int(entry.details["steps"])
        sums = self.restated(steps, entry.price.neighbours, entry)
        self.accounts = {name: replace(one, spent=sums.analysts.get(name, NOTHING_SPENT)) for name, one in self.accounts.items()}
        if (change := entry.more.get(REGROUPED)) is not None:
            self.paid, pages = self.regroup(change, steps, entry.orders)
            self.pages, self.per = pages, change.new
            self.page_texts |= digests_of(pages)
        self.paid = [replace(one, steps=one.steps * steps) for one in self.paid]


def largest_at(caps: Iterable[Budget], for_events: Fraction, order: Fraction | None) -> Fraction:
    """The largest rho that one of some caps admits, at the best order of each, or at the given one."""
    return max((filter_for(cap, ADD_REMOVE, for_events, order).largest_rho for cap in caps), default=Fraction(0))


def nothing(relation: Neighbours) -> Cost:
    """The price of what costs nothing."""
    return Cost(NOTHING_SPENT.epsilon, NOTHING_SPENT.rho, NOTHING_SPENT.delta, relation)


def merge_accounts(accounts: Mapping[str, Account]) -> dict[str, Account]:
    """Accounts by the normal form of their names: what two spellings of one name have spent is added up."""
    by_name: dict[str, Account] = {}
    for name, account in accounts.items():
        other = by_name.get(analyst_name(name), NEW_ACCOUNT)
        by_name[analyst_name(name)] = Account(_both(other.spent, account.spent), other.failures + account.failures)
    return by_name


def _both(one: State, other: State) -> State:
    epsilon = None if one.epsilon is None or other.epsilon is None else one.epsilon + other.epsilon
    return State(epsilon, one.rho + other.rho, one.delta + other.delta)


def read_chain(lines: Iterable[Line]) -> tuple[Reader, list[str]]:
    """A reader of all lines, and what it found wrong."""
    reader, problems = Reader(), list[str]()
    for line in lines:
        problems += reader.read(line)
    return reader, problems


def check_chain(lines: Iterable[Line], marks: Marks, answers: Iterable[Kept], askers: Iterable[Asker]) -> Chain:
    """The chain up to the last entry that the ledger named before the lines were read, all kept answers, and who paid for them."""
    reader, problems = read_chain(lines)
    if reader.number != marks.number:
        problems.append(f"entries {reader.number + 1} to {marks.number} are missing at the end")
    if (reader.ledger, reader.hash) != (marks.ledger, marks.hash):
        problems.append("the ledger's row records another last entry")
    names = reader.accounts.keys() | marks.accounts.keys()
    wrong = sorted(name for name in names if reader.accounts.get(name) != marks.accounts.get(name))
    problems += [f"the account of {name} does not match the entries" for name in wrong]
    pages = {key: rows_text(rows) for key, rows in reader.pages.items()}
    if pages != marks.pages:
        problems.append("the sums of periods do not match the entries")
    return Chain(reader.number + 1, (*problems, *_wrong_answers(reader, answers), *_wrong_askers(reader, askers)))


def _wrong_answers(reader: Reader, answers: Iterable[Kept]) -> Iterator[str]:
    """Every answer that left is kept as it was, and nothing else is."""
    missing = set(reader.answers)
    for kept in answers:
        if kept.answer is not None and kept.answer > reader.number:
            continue  # it came after the head that is being checked
        digest = None if kept.text is None else hash_of(kept.text)
        if reader.answers.get(kept.answer or 0) != (kept.key, digest, kept.entry):
            yield f"the answer stored for entry {kept.entry} was changed"
        missing.discard(kept.answer or 0)
    for number in sorted(missing):
        yield f"the answer of entry {number} is missing"


def _wrong_askers(reader: Reader, askers: Iterable[Asker]) -> Iterator[str]:
    """Checks that everyone who may reuse an answer has paid for it, and that every payment is recorded."""
    missing = dict(reader.askers)
    for one in askers:
        paid = missing.pop((one.key, one.analyst), None)
        if one.entry <= reader.number and one.entry != paid:
            is_token = " " in one.key
            last = f"entry {one.entry} is not the last entry of {one.key} of {one.analyst}"
            yield last if is_token else f"{one.analyst} has not paid for the stored answer by entry {one.entry}"
    for (key, analyst), number in sorted(missing.items(), key=lambda item: item[1]):
        what = f"asked with {key}" if " " in key else "paid"
        yield f"the record that {analyst} {what} by entry {number} is missing"
