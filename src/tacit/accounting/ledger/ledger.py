"""Spend, refuse, explain: the one budget of a data set, over all analysts and all time. ledger.md has the promise and its proof.

    ledger.reserve(sale)    one decision in one transaction: an answer that was released before, or the first offer that all caps
                            admit, spent and durable; or a refusal, and nothing is written
    ledger.answered(...)    keeps the released answer, with its hash in the chain
    ledger.failed(...)      counts a question that did not finish; it stays spent
    ledger.left(...)        the largest cost of one further question
    ledger.verify()         the chain of hashes, the sums, the accounts and the answers, computed again

There is no way to take an entry back, here or below.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from threading import Event as Done
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from tacit.accounting.composition import Cost
from tacit.accounting.events import Event
from tacit.accounting.filter import NOTHING_SPENT, Left, State
from tacit.accounting.ledger import selling
from tacit.accounting.ledger.by_period import EVERYBODY, Charge, Held, PeriodSums, StandingInPeriods, begun_of, held_of
from tacit.accounting.ledger.caps import Admission, Standing, Sums
from tacit.accounting.ledger.chain import Chain, check_chain, nothing
from tacit.accounting.ledger.entries import NOTHING_BEFORE, ORDERS, Entry, Head, Orders, accounts_digest, entry_from, hash_of
from tacit.accounting.ledger.pages import at_orders, entry_after, late_entry, now, orders_carried_over, take_orders
from tacit.accounting.ledger.selling import LEASE, Granted, Recalled, Sale
from tacit.accounting.ledger.turning import accept_budget
from tacit.accounting.ledger.units import UNKNOWN, Policy
from tacit.errors import BudgetExceeded, InvalidInput, NoLedger, StoreUnusable, TacitError
from tacit.privacy.catalog import Analyst, analyst_name

if TYPE_CHECKING:
    from tacit.accounting.ledger.approvals import Decision
    from tacit.accounting.ledger.pages import Asker, Books, Kept, Line, Page
    from tacit.accounting.ledger.tables import Store

PAGE = 1000
PAUSE = 0.02  # seconds between looks at a question that another process is answering
Result = TypeVar("Result")


def open_ledger(address: str, policy: Policy) -> Ledger:
    """The ledger at an address, under a policy; refused where none was begun. One of an older format is converted.

    `address` is a path, sqlite:///FILE or postgresql://...
    """
    from tacit.accounting.ledger.tables import Store, convert_format_1  # and SQLite's driver, for those who open a ledger

    store = Store(address)
    if not convert_format_1(store, policy, now()):
        raise NoLedger("this data set has no ledger", remedy="ask the data owner to run this once: tacit ledger begin")
    return Ledger(store, policy)


def begin_ledger(address: str, policy: Policy, identity: str, reason: str = "") -> Ledger:
    """A new ledger at an address, named `identity`, which the caller draws at random; raises if one exists."""
    from tacit.accounting.ledger.tables import Store, convert_format_1

    store = Store(address, create=True)
    if convert_format_1(store, policy, now()) or not store.begin(_first_entry(identity, policy, reason), policy.units.text):
        raise InvalidInput(
            "this data set already has a ledger: it is begun once, and records everything ever released; go on with it (`tacit "
            "budget` shows what remains), or declare another one in [ledger] url"
        )
    return Ledger(store, policy)


class Awaited(Exception):
    """Another process is answering one of the questions: nothing of the transaction stays."""


def decide_sales(page: Page, sales: Sequence[Sale], caps: Admission) -> list[Granted | Recalled] | int:
    """The outcome of several sales as the ledger stands, each after those before it; a refusal of one undoes all.

    A number if lost questions were counted, or the ledger took its orders: then nothing else is decided in this transaction, since
    a refusal would undo it. Raises Awaited while another process is answering the same question.
    """
    if take_orders(page, caps):
        return 1
    if len(sales) > 1 and (counted := sum(selling.count_lost(page, caps.at(page.books.last), sale.key) for sale in sales)):
        return counted
    decided: list[Granted | Recalled] = []
    for sale in sales:
        outcome = selling.decide_sale(page, sale, caps.at(page.books.last))
        if isinstance(outcome, int):
            return outcome
        if outcome is None:
            raise Awaited
        decided.append(outcome)
    return decided


class Ledger:
    """One ledger under one policy. Many processes and threads may hold one on the same database."""

    def __init__(self, store: Store, policy: Policy) -> None:
        self._store, self.policy = store, policy
        first = _first(store.lines(-1, 1))
        self.identity, self.belongs = first.ledger, _declared_owner(store, first)
        self.caps = Admission(policy, first.for_events)

    @property
    def split(self) -> Fraction:
        """The share of delta for the conversion of rho, as it was when the ledger began."""
        return 1 - self.caps.for_events

    def under(self, policy: Policy) -> Ledger:
        """The same ledger under another policy, such as a budget that was lowered."""
        return self if policy == self.policy else Ledger(self._store, policy)

    # --- a question is paid for, and what became of it -----------------------------------------------------------------------

    def reserve(self, sale: Sale, patience: float = LEASE) -> Granted | Recalled:
        """An answer that was released before, or the first offer that all caps admit, spent; it is on the disk when it is returned.

        Raises BudgetExceeded, and spends nothing, where no offer is admitted. Questions whose processes died are counted first, in
        a transaction of their own. The same question at once from elsewhere is waited for, `patience` seconds at most.
        """
        (decision,) = self.reserve_all([sale], patience)
        return decision

    def reserve_all(self, sales: Sequence[Sale], patience: float = LEASE) -> list[Granted | Recalled]:
        """The decision on each of several sales, in one transaction: all of them are admitted, or none is and nothing is spent."""
        end = time.monotonic() + patience
        while True:
            try:
                outcome = self._write(lambda page: decide_sales(page, sales, self.caps))
            except Awaited:
                if time.monotonic() >= end:
                    raise StoreUnusable(
                        "the same question is being answered for somebody else", remedy="ask again in a minute"
                    ) from None
                time.sleep(PAUSE)
                continue
            if not isinstance(outcome, int):  # else lost questions were counted; the sales are decided after them
                return outcome

    def recalled(self, sale: Sale) -> Recalled | None:
        """The answer if this analyst has paid for it before: read only, without a turn. None if there is more to decide."""
        return self._store.look(lambda page: selling.recall_own_answer(self._own(page), sale, self.caps))

    def require_approved(self, sale: Sale) -> None:
        """Raises `NeedsApproval` for a dear question that no decision admits; before an engine is held for it."""
        if sale.stated is not None:
            from tacit.accounting.ledger.approvals import require

            self._store.look(lambda page: require(self._own(page), sale, self.caps))

    def last_decision(self, subject: str, analyst: str) -> Entry | None:
        """The last decision on a subject of an analyst, or the spend that used it up."""
        from tacit.accounting.ledger.approvals import last_about

        return self._store.look(lambda page: last_about(self._own(page), subject, analyst))

    def is_paid(self, keys: Iterable[str], analyst: str) -> bool:
        """Whether this analyst has paid for an answer that is kept under one of the keys; what others paid for does not count."""
        own = self.caps.analyst(analyst).name
        return self._store.look(lambda page: any(page.has_paid(key, own) for key in keys))

    def lost(self, key: str) -> Entry | None:
        """The entry that paid for something under a key that has no answer, while no process is answering it; else None."""
        return self._store.look(lambda page: selling.lost_entry(page, key))

    def spend(self, event: Event, analyst: str, question: str, data_version: str) -> Entry:
        """The entry of one spend whose result is not kept."""
        granted = self.reserve(Sale((event,), analyst, question, data_version))
        assert isinstance(granted, Granted)  # noqa: S101  # nothing is kept without a key
        return granted.entry

    def answered(self, granted: Granted, text: str) -> bool:
        """Keep an answer that is leaving, so that the same question costs nothing more; False if another one is kept already.

        If the machine loses it, the question costs again, and nothing else: it is not waited for.
        """
        return self._write(lambda page: selling.keep_released_answer(page, granted, text, self.caps), flush=False)

    def failed(self, granted: Granted, reason: str) -> Entry:
        """The entry for a paid question that did not finish; after too many of them no further question is admitted."""
        return self._write(lambda page: selling.record_unfinished(page, granted, reason, self.caps))

    def late(self, number: int) -> Entry:
        """The entry that says that the reply to a paid one leaves late; after too many of them no further question is admitted."""
        return self._write(lambda page: page.append(late_entry(page, self.policy.budget, number)))

    @contextmanager
    def held(self, granted: Granted) -> Iterator[None]:
        """Keep the lease of a question while it is being answered, however long that takes; it ends with the process."""
        if not granted.entry.key:
            yield
            return
        over = Done()
        renewing = Thread(target=self._renew, args=(granted, over), name="tacit lease", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            over.set()
            renewing.join()  # or it would close the ledger's file some time after its last user is done with it

    def _renew(self, granted: Granted, over: Done) -> None:
        while not over.wait(LEASE / 3):
            with suppress(TacitError):
                self._write(lambda page: selling.renew(page, granted), flush=False)

    def stopped(self, granted: Granted) -> None:
        """Records that a paid question was stopped by hand: the next analyst who asks it pays again and need not wait."""
        self._write(lambda page: selling.let_go(page, granted), flush=False)

    # --- the data owner's acts -----------------------------------------------------------------------------------------------

    def adopt(
        self,
        carried: Cost,
        by: str,
        why: str,
        units_known: bool = True,
        counts: tuple[int, int] = (0, 0),
        order: Fraction | None = None,
    ) -> Entry:
        """The entry by which this ledger takes the place of another one, and counts what that one had spent; see rollback.py.

        `counts` are the questions and failures that it had counted, `order` the one at which it counted. Unknown units stop it.
        """
        if self.policy.per is not None and carried != nothing(carried.neighbours):
            raise StoreUnusable(
                "the sums of a lost ledger with periods cannot be carried over: they do not say what each period has spent",
                remedy="restore the ledger from a backup",
            )

        def work(page: Page) -> Entry:
            take_orders(page, self.caps)
            orders = orders_carried_over(page.books.last, order)
            spent = replace(self.caps, orders=orders).persons.after(page.books.last.spent, carried)
            units = page.books.last.units if units_known else UNKNOWN
            said = {"analyst": by, "question": why, "price": carried, "spent": spent, "units": units, "orders": orders}
            said |= {"questions": page.books.last.questions + counts[0], "failures": page.books.last.failures + counts[1]}
            return page.append(entry_after(page.books, self.policy.budget, "adopt", {}, **said))

        return self._write(work)

    def decide(self, decision: Decision, sales: Sequence[Sale]) -> Entry:
        """The entry of a curator's decision on a question; raises if it is approved and the caps do not admit it."""
        from tacit.accounting.ledger.approvals import decide

        return self._write(lambda page: decide(page, self.caps.at(page.books.last), decision, sales))

    def note(self, by: str, why: str) -> Entry:
        """An entry with a remark of the data owner, which changes no sum."""
        said = {"analyst": by, "question": why}
        return self._write(lambda page: page.append(entry_after(page.books, self.policy.budget, "note", {}, **said)))

    def resume(self, by: str, why: str) -> Entry:
        """The entry by which the data owner lets questions go on after failures, which are counted from zero again."""

        def work(page: Page) -> Entry:
            selling.count_lost(page, self.caps)
            accounts = {name: replace(account, failures=0) for name, account in page.books.accounts.items()}
            said = {"analyst": by, "question": why, "failures": 0}
            return page.append(entry_after(page.books, self.policy.budget, "resume", accounts, **said), accounts)

        return self._write(work)

    def accept_units(self, steps: int, by: str, why: str) -> Entry:
        """The entry from which on prices count for the units of the policy, with all that was paid before restated."""
        return self._write(lambda page: selling.accept_units(page, self.policy, steps, by, why))

    def accept_budget(self, by: str, why: str) -> Entry:
        """The entry from which on a raised budget counts, where it is one of each period; a lowered one counts at once."""
        return self._write(lambda page: accept_budget(page, self.policy, by, why))

    def note_public(self) -> None:
        """Remember which tables are declared public: their exact values were released and can never be private again."""
        self._write(lambda page: selling.note_public(page, self.policy))

    # --- reading -------------------------------------------------------------------------------------------------------------

    @property
    def file(self) -> Path | None:
        """The file of the ledger; None for one on a server."""
        return self._store.file

    @property
    def head(self) -> Head:
        """The last entry, and the sums after it."""
        books = self._look()
        return replace(books.last.head, hash=books.hash)

    def admits(self, event: Event, analyst: str) -> bool:
        """Whether all caps would admit the event now; another spend may come first."""
        try:
            standing = self.standing(analyst)
            standing.caps.after(standing.sums, standing.analyst, standing.caps.parts(event))
        except BudgetExceeded:
            return False
        return True

    def left(self, analyst: str | None = None, charge: Charge | None = None) -> Left:
        """The largest cost of one further event under the data set's cap, and under the analyst's if one is named.

        Where the budget is one of each period, the least one: of the periods of a charge, else of those that have begun.
        """
        if self.policy.per is not None:
            standing = self._in_periods(analyst or "", charge)
            return standing.shared if analyst is None else standing.left
        books = self._look()
        sums, who = selling.sums_of(books, analyst_name(analyst or "")), None if analyst is None else self.caps.analyst(analyst)
        return self.caps.at(books.last).left(sums, who)

    def standing(self, analyst: str) -> Standing:
        """The caps and sums of an analyst at this moment: which events are admitted, and how much remains."""
        if self.policy.per is not None:
            return self._in_periods(analyst)
        books = self._look()
        return Standing(self.caps.at(books.last), selling.sums_of(books, analyst_name(analyst)), self.caps.analyst(analyst))

    def _in_periods(self, analyst: str, charge: Charge | None = None) -> StandingInPeriods:
        """The standing of an analyst, or of the data set, in the periods of a charge, else in those that have begun."""
        who = self.caps.analyst(analyst) if analyst else Analyst("")
        runs = charge.runs if charge is not None else begun_of(self.policy)

        def look(page: Page) -> StandingInPeriods:
            caps = self.caps.at(page.books.last)
            read = (page.all_pages_of(EVERYBODY), page.all_pages_of(who.name)) if charge is None else None
            held = held_of(page.pages_of, caps, who, runs) if read is None else Held(caps, who, *read)
            return StandingInPeriods(caps, selling.sums_of(page.books, who.name), who, held, runs)

        return self._store.look(look)

    def by_period(self, analyst: str | None = None) -> list[tuple[str, PeriodSums, Left]]:
        """The periods that have begun, in words, with the sums of the data set or of an analyst, and the remaining budget."""
        now = self._in_periods(analyst or "")
        return now.each() if analyst is not None else now.each(lambda standing: standing.shared, alone=True)

    def room(self, price: Cost, analyst: str | None = None) -> int:
        """How many further questions of that price are admitted, under the data set's cap and the analyst's where one is named.

        Where the budget is one of each period, each question counts in every period that has begun.
        """
        if self.policy.per is not None:
            return self._in_periods(analyst or "").room(price)
        books = self._look()
        return selling.room(books, self.caps.at(books.last), price, None if analyst is None else self.caps.analyst(analyst))

    def spent(self, analyst: str | None = None) -> State:
        """The sums of the whole data set, or of one analyst."""
        sums = self._sums(analyst or "")
        return sums.whole if analyst is None else sums.own

    def changed_units(self) -> list[str]:
        """The differences between the declared units and those that the ledger counts for, in words; empty if they agree."""
        return self._store.look(lambda page: selling.differences(page, self.policy))

    def entries(self, first: int = 0, last: int | None = None, analyst: str | None = None) -> Iterator[Entry]:
        """The entries from number `first` on, or the `last` of them; of all analysts, or of one."""
        if last is not None and analyst is None:
            first = max(first, self._look().last.number + 1 - last)
        every = (entry_from(line.text) for line in self._lines(first))
        wanted = None if analyst is None else analyst_name(analyst)
        chosen = every if wanted is None else (entry for entry in every if analyst_name(entry.analyst) == wanted)
        return chosen if last is None else iter(deque(chosen, maxlen=last))

    def paid_by(self, number: int, analyst: str) -> tuple[Entry, str | None] | None:
        """The entry by which an analyst has paid, with the answer if it is kept; None if the analyst has no such entry."""
        return self._store.look(lambda page: selling.paid_by(page, number, analyst_name(analyst)))

    def paid_entries(self, analyst: str, most: int) -> list[Entry]:
        """The latest entries by which this analyst has paid for kept answers, the newest first; never another analyst's."""

        def look(page: Page) -> list[Entry]:
            lines = map(page.line, page.paying_entries(analyst_name(analyst), most))
            return [entry_from(line.text) for line in lines if line is not None and hash_of(line.text) == line.hash]

        return [entry for entry in self._store.look(look) if analyst_name(entry.analyst) == analyst_name(analyst)]

    def token_left(self, analyst: str, bearer: selling.Bearer) -> Fraction | None:
        """The largest epsilon that the narrow tokens of a bearer still admit; None if none of them has a limit."""
        return self._store.look(lambda page: _left_of(page, bearer, analyst))

    def token_sums(self, analyst: str, numbers: Iterable[int]) -> dict[int, Fraction]:
        """The sums of the epsilons that were asked for with narrow tokens of an analyst, by their numbers."""
        return self._store.look(lambda page: {number: page.token_sum(analyst, number) for number in numbers})

    def last_token(self, analyst: str) -> int:
        """The largest number of a narrow token of an analyst that an entry counts; else 0."""
        return self._store.look(lambda page: page.last_token(analyst))

    def requested(self, request: str, after: int) -> Entry | None:
        """The spend that was recorded for a request, among the entries that follow number `after`."""
        spends = (entry_from(line.text) for line in self._lines(after + 1) if request in line.text)
        return next((entry for entry in spends if entry.details.get("request") == request), None)

    def versions(self) -> set[str]:
        """The versions of prepared data that were ever asked; "adopted" among them, if sums of another ledger were carried over."""
        return {"adopted" if entry.kind == "adopt" else entry.data_version for entry in self.entries()} - {""}

    def hash_at(self, number: int) -> str | None:
        """The hash of one entry, None where there is no such entry."""
        return _hash(self._store.lines(number - 1, 1), number)

    def seen_at(self, number: int) -> tuple[str | None, Head]:
        """The hash of one entry, and the sums after the last one, both as the ledger stands now."""
        return self._store.look(lambda page: (_hash(page.lines(number - 1, 1), number), page.books.last.head))

    def verify(self) -> Chain:
        """Everything computed again from the texts of the entries; only rollback.py detects entries cut off at the end."""
        marks = self._store.marks()
        lines = takewhile(lambda line: line.number <= marks.number, self._lines(0))
        return check_chain(lines, marks, self._answers(), self._askers())

    # --- inside --------------------------------------------------------------------------------------------------------------

    def _write(self, work: Callable[[Page], Result], flush: bool = True) -> Result:
        """The result of `work` on the ledger's page, in one transaction."""
        return self._store.write(lambda page: work(self._own(page)), flush)

    def _own(self, page: Page) -> Page:
        if page.books.last.ledger != self.identity:
            raise StoreUnusable("the open ledger was replaced by another one", remedy="restart tacit")
        return page

    def _look(self) -> Books:
        return self._store.look(lambda page: page.books)

    def _sums(self, analyst: str) -> Sums:
        return selling.sums_of(self._look(), analyst_name(analyst))

    def _lines(self, first: int) -> Iterator[Line]:
        from tacit.accounting.ledger.pages import every_line

        return every_line(self._store.lines, first)

    def _answers(self) -> Iterator[Kept]:
        after = ""
        while page := self._store.answers(after, PAGE):
            yield from page
            after = page[-1].key

    def _askers(self) -> Iterator[Asker]:
        after = ("", "")
        while page := self._store.askers(after, PAGE):
            yield from page
            after = (page[-1].key, page[-1].analyst)


def _first_entry(identity: str, policy: Policy, reason: str) -> Entry:
    free = {"price": nothing(policy.neighbours), "cap": policy.budget, "spent": NOTHING_SPENT, "accounts": accounts_digest({})}
    said = {
        "question": reason,
        "units": policy.units.fingerprint,
        "for_events": 1 - policy.split,
        "details": {"data_set": policy.data_set, "catalog": policy.catalog},
    }
    if policy.order is not None:  # of a lost ledger
        said["more"] = {ORDERS: at_orders(Orders(policy.order), nothing(policy.neighbours), None)}
    return Entry(identity, 0, NOTHING_BEFORE, now(), "begin", **free, **said)  # type: ignore[arg-type]


def _first(lines: list[Line]) -> Entry:
    if not lines or lines[0].number != 0:
        raise StoreUnusable("the ledger has lost its first entry", remedy="restore the ledger from a backup")
    return entry_from(lines[0].text)


def _hash(lines: list[Line], number: int) -> str | None:
    return next((line.hash for line in lines if line.number == number), None)


def _declared_owner(store: Store, first: Entry) -> Mapping[str, str]:
    """Whose the ledger is: its first entry says it, or the first one after those of format 1, which is found by halves.

    A ledger with a damaged entry on the way does not say; it is still opened, so that `verify` can tell what is wrong.
    """
    low, high, entry = 0, store.marks().number if first.format == 1 else 0, first
    try:
        while low < high:
            middle = (low + high + 1) // 2
            tried = entry_from(store.lines(middle - 1, 1)[0].text)
            low, high, entry = (middle, high, entry) if tried.format == 1 else (low, middle - 1, tried)
    except (TacitError, ValueError, TypeError, LookupError, AttributeError):
        return {}
    return entry.details


def _left_of(page: Page, bearer: selling.Bearer, analyst: str) -> Fraction | None:
    """The largest epsilon that the tokens still admit; None if none of them has a limit."""
    lefts = (token.most - page.token_sum(analyst, token.number) for token in bearer.path if token.most is not None)
    return min(lefts, default=None)
