"""Spend, refuse, explain: the one budget of a data set, over everybody, for ever. ledger.md has the promise and its proof.

    ledger.spend(...)     the entry, durable before it is returned; or BudgetExceeded, and nothing is written
    ledger.left(...)      what one further question may cost
    ledger.verify()       the chain of hashes, the sums and the caps, computed again

There is no way to take an entry back, here or below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tacit.accounting.caps import Cap, filter_for, require_for_one, smaller
from tacit.accounting.chain import Chain, checked
from tacit.accounting.composition import Cost, cost_under
from tacit.accounting.entries import NOTHING_BEFORE, Entry, Head, entry_from
from tacit.accounting.events import Event
from tacit.accounting.filter import NOTHING_SPENT, Left, State
from tacit.errors import BudgetExceeded, InvalidInput, StoreUnusable
from tacit.privacy.catalog import Analyst, Catalog

if TYPE_CHECKING:
    from tacit.accounting.store import Books, Line, Store

PAGE = 1000


def open_ledger(address: str, catalog: Catalog, identity: str) -> Ledger:
    """The ledger at an address, under the caps of the catalog; a new one, named `identity`, where there is none.

    `address` is a path, sqlite:///FILE or postgresql://...; `identity` is drawn at random by the caller.
    """
    from tacit.accounting.store import Store  # brings SQLAlchemy, which only those who open a ledger need

    store = Store(address)
    store.begin(_first_entry(identity, catalog))
    return Ledger(store, catalog)


class Ledger:
    """One ledger under one catalog. Many processes and threads may hold one on the same database."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store, self._catalog = store, catalog
        self._whole = Cap(filter_for(catalog.budget, catalog.neighbours), "the budget of the data set", "[budget]")
        first = _first(store.lines(-1, 1))
        if first.price.neighbours != catalog.neighbours:
            raise StoreUnusable(
                f"the ledger counts for '{first.price.neighbours}', and the catalog declares '{catalog.neighbours}'",
                remedy=f'declare `neighbours = "{first.price.neighbours.change}"` again, or begin a new ledger',
            )
        self.identity = first.ledger

    @property
    def head(self) -> Head:
        """The last entry, and the sums after it."""
        return self._head(self._store.books())

    def spend(self, event: Event, analyst: str, question: str, data_version: str) -> Entry:
        """The entry of a spend that passes all caps; it is on the disk when it is returned, and stays.

        `question` says in public what was asked. Raises BudgetExceeded, and writes nothing, where a cap does not admit the event.
        """
        price, policy = self._price(event), self._policy(analyst)
        asked = {"analyst": analyst, "question": question, "data_version": data_version, "event": event}

        def decide(books: Books) -> Entry:
            spent, own = self._after(books, policy, price)
            sums = {"price": price, "spent": spent, "analyst_spent": own, "analyst_cap": policy.budget}
            return self._entry(books, kind="spend", **asked, **sums)

        return self._store.write(analyst, decide)

    def admits(self, event: Event, analyst: str) -> bool:
        """Whether all caps would admit the event now; a spend by somebody else may come first."""
        try:
            self._after(self._store.books(analyst), self._policy(analyst), self._price(event))
        except BudgetExceeded:
            return False
        return True

    def left(self, analyst: str | None = None) -> Left:
        """What one further event may cost under the data set's cap, and under the analyst's where one is named."""
        books = self._store.books(analyst or "")
        whole = self._whole.filter.left(books.spent)
        own = None if analyst is None else self._own(self._policy(analyst))
        return whole if own is None else smaller(whole, own.filter.left(books.analyst_spent))

    def spent(self, analyst: str | None = None) -> State:
        """The sums of everybody, or of one analyst."""
        books = self._store.books(analyst or "")
        return books.spent if analyst is None else books.analyst_spent

    def entries(self, first: int = 0, last: int | None = None, analyst: str | None = None) -> Iterator[Entry]:
        """The entries from number `first` on, or the `last` of them; of everybody, or of one analyst."""
        if last is not None and analyst is None:
            first = max(first, self._store.books().number + 1 - last)
        found = (entry_from(line.text) for line in self._lines(first))
        chosen = found if analyst is None else (entry for entry in found if entry.analyst == analyst)
        return chosen if last is None else iter(deque(chosen, maxlen=last))

    def hash_at(self, number: int) -> str | None:
        """The hash of one entry, None where there is no such entry."""
        return next((line.hash for line in self._store.lines(number - 1, 1) if line.number == number), None)

    def verify(self) -> Chain:
        """Everything computed again from the texts of the entries; what was cut off at the end is found with heads.py only."""
        books, analysts = self._store.everybody()
        lines = takewhile(lambda line: line.number <= books.number, self._lines(0))
        return checked(lines, self._head(books), analysts)

    def adopt(self, carried: Cost, by: str, why: str) -> Entry:
        """The entry by which this ledger takes the place of another one, and counts what that one had spent; see heads.py."""

        def decide(books: Books) -> Entry:
            spent = self._whole.filter.after(books.spent, carried)
            return self._entry(books, kind="adopt", analyst=by, question=why, price=carried, spent=spent)

        return self._store.write(by, decide)

    def remember(self, key: str, entry: int, answer: str) -> None:
        """Keep a released answer under its question's key, so that the same question costs nothing more; the first one stays."""
        self._store.remember(key, entry, answer)

    def recall(self, key: str) -> str | None:
        """The answer that was released under a key."""
        return self._store.recall(key)

    def _price(self, event: Event) -> Cost:
        return cost_under(event, self._catalog.neighbours)

    def _policy(self, name: str) -> Analyst:
        declared = self._catalog.analysts
        if declared and name not in declared:
            raise InvalidInput(f"{name!r} is no analyst of this catalog; declared are: {', '.join(sorted(declared))}")
        return declared.get(name) or Analyst(name)

    def _own(self, policy: Analyst) -> Cap | None:
        if policy.budget is None:
            return None
        return Cap(filter_for(policy.budget, self._catalog.neighbours), f"{policy.name}'s own budget", f"[analysts.{policy.name}]")

    def _after(self, books: Books, policy: Analyst, price: Cost) -> tuple[State, State]:
        """The sums with the price, of everybody and of the analyst, or the refusal of the first cap that does not admit it."""
        require_for_one(policy, price, self._catalog.budget)
        own = self._own(policy)
        after = self._whole.filter.after if own is None else own.require
        return self._whole.require(books.spent, price), after(books.analyst_spent, price)

    def _entry(self, books: Books, **what: Any) -> Entry:
        """The entry that follows what is in the books."""
        if books.identity != self.identity:
            raise StoreUnusable("another ledger was put in the place of the one that is open", remedy="start tacit again")
        return Entry(self.identity, books.number + 1, books.hash, _now(), cap=self._catalog.budget, **what)

    def _head(self, books: Books) -> Head:
        return Head(books.identity, books.number, books.hash, self._catalog.neighbours, books.spent)

    def _lines(self, first: int) -> Iterator[Line]:
        after = first - 1
        while page := self._store.lines(after, PAGE):
            yield from page
            after = page[-1].number


def _first_entry(identity: str, catalog: Catalog) -> Entry:
    nothing = Cost(Fraction(0), Fraction(0), Fraction(0), catalog.neighbours)
    return Entry(identity, 0, NOTHING_BEFORE, _now(), kind="begin", price=nothing, cap=catalog.budget, spent=NOTHING_SPENT)


def _first(lines: list[Line]) -> Entry:
    if not lines or lines[0].number != 0:
        raise StoreUnusable("the ledger has lost its first entry", remedy="put the ledger back from where it is kept safe")
    return entry_from(lines[0].text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
