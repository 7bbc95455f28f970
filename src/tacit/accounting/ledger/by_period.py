"""A filter for each period: the sums of every period by account, and the decision whether all periods of a sale admit it.

Sums live on the filter's grid as whole numbers, in pages of PAGE periods; within a page, neighbouring periods with equal sums
are one run. So a spend reads and writes the pages of its own periods and nothing else, however many entries were made before
it. Every entry holds a digest of all pages, beside that of the accounts (ledger.md). `accounting/periods.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add
from typing import Any

from tacit.accounting.composition import Cost
from tacit.accounting.events import Event
from tacit.accounting.filter import GRID, NOTHING_SPENT, Filter, Left, State, on_grid_up
from tacit.accounting.ledger.caps import (
    Admission,
    Admitted,
    Cap,
    Standing,
    at_most,
    require_for_one,
    smaller,
    words,
)
from tacit.accounting.ledger.caps import (
    Sums as Totals,
)
from tacit.accounting.ledger.entries import IN_FORCE, ORDERS, PERIODS, AtOrders, Entry, InPeriods, hash_of
from tacit.accounting.ledger.units import Policy
from tacit.errors import BudgetExceeded, NotAllowed
from tacit.privacy.catalog import Analyst
from tacit.privacy.periods import Calendar, Run, Runs, merged, named

PAGE = 128
EVERYBODY = ""  # the account of the data set
PeriodSums = tuple[int | None, int, int, int]  # epsilon (None once an event had none), rho, delta on the grid; and questions
NOTHING: PeriodSums = (0, 0, 0, 0)
Rows = tuple[tuple[int, PeriodSums], ...]  # how many consecutive periods have these sums
EMPTY: Rows = ((PAGE, NOTHING),)
Key = tuple[str, int]  # an account, and the number of a page
Pages = Mapping[Key, Rows]
NO_END = 2**62  # of questions
Reading = Callable[[str, int, int], dict[int, Rows]]  # the pages of an account from one number to another


# --- a page of sums as text --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def rows_text(rows: Rows) -> str:
    """A page as text. A spend needs it for the store and for digests before and after, so the last ones are kept.

    >>> rows_text(((2, (1, 2, 0, 1)), (126, NOTHING)))
    '2:1,2,0,1;7e:0,0,0,0'
    """
    return ";".join(f"{many:x}:{'-' if e is None else f'{e:x}'},{r:x},{d:x},{q:x}" for many, (e, r, d, q) in rows)


@lru_cache(maxsize=512)
def rows_from(text: str) -> Rows:
    """The page of a text.

    >>> rows_from("2:-,2,0,1;7e:0,0,0,0")[0]
    (2, (None, 2, 0, 1))
    """
    parts = [part.split(",") for part in text.replace(":", ",").split(";")]
    return tuple((int(n, 16), (None if e == "-" else int(e, 16), int(r, 16), int(d, 16), int(q, 16))) for n, e, r, d, q in parts)


def page_name(key: Key) -> str:
    """The name under which the digest of the accounts counts a page: no analyst has a name with a blank before it."""
    return f" {key[1]} {key[0]}"


def digests_of(pages: Pages) -> dict[str, str]:
    """The part of pages in the digest of the accounts: their hashes as JSON, under their names."""
    return {page_name(key): f'"{hash_of(rows_text(rows))}"' for key, rows in pages.items()}


# --- charging ----------------------------------------------------------------------------------------------------------------


def pages_of(runs: Runs) -> list[int]:
    """The pages that hold the periods, each once, in order."""
    return list(dict.fromkeys(page for low, high in runs for page in range(low // PAGE, high // PAGE + 1)))


def on_grid(price: Cost, at_order: bool = False) -> PeriodSums:
    """A price as whole numbers on the grid, rounded up, with the one question that it is; its rho, or what counts at an order."""
    epsilon = None if price.epsilon is None else int(on_grid_up(price.epsilon) * GRID)
    return epsilon, int(on_grid_up(price.at_order if at_order else price.rho) * GRID), int(on_grid_up(price.delta) * GRID), 1


def plus(sums: PeriodSums, price: PeriodSums) -> PeriodSums:
    """The sums with a price."""
    epsilon = None if sums[0] is None or price[0] is None else sums[0] + price[0]
    return epsilon, sums[1] + price[1], sums[2] + price[2], sums[3] + price[3]


def state_of(sums: PeriodSums) -> State:
    """The sums as the filter knows them."""
    return State(None if sums[0] is None else Fraction(sums[0], GRID), Fraction(sums[1], GRID), Fraction(sums[2], GRID))


def spans(rows: Rows, page: int, runs: Runs) -> list[tuple[Run, PeriodSums, bool]]:
    """The runs of a page, cut where the charged periods begin and end: their periods, their sums, and whether they are charged."""
    found: list[tuple[Run, PeriodSums, bool]] = []
    at, inside = page * PAGE, [run for run in runs if run[1] >= page * PAGE and run[0] < (page + 1) * PAGE]
    for many, sums in rows:
        end = at + many - 1
        while inside and inside[0][1] < at:
            inside.pop(0)
        for low, high in inside:
            if low > end:
                break
            if low > at:
                found.append(((at, low - 1), sums, False))
                at = low
            found.append(((at, min(high, end)), sums, True))
            at = min(high, end) + 1
        if at <= end:
            found.append(((at, end), sums, False))
        at = end + 1
    return found


def rows_after(cut: Iterable[tuple[Run, PeriodSums, bool]], price: PeriodSums) -> Rows:
    """The page with the price added where it is charged; neighbours with equal sums become one run again."""
    rows: list[tuple[int, PeriodSums]] = []
    for (low, high), sums, charged in cut:
        after = plus(sums, price) if charged else sums
        many = high - low + 1
        if rows and rows[-1][1] == after:
            rows[-1] = (rows[-1][0] + many, after)
        else:
            rows.append((many, after))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class Limits:
    """A filter's three comparisons in whole numbers on its grid, and the most questions of a period."""

    epsilon: int
    rho: int
    delta: int
    questions: int

    @classmethod
    def of(cls, within: Filter, questions: int) -> Limits:
        """Those of a filter: sums on the grid are at most a number if they are at most its floor there."""
        return cls(int(within.epsilon * GRID), int(within.largest_rho * GRID), int(within.delta_events * GRID), questions)

    def hold(self, sums: PeriodSums) -> bool:
        """`Filter.holds`, and the count of questions."""
        pure = sums[0] is not None and sums[0] <= self.epsilon
        return sums[2] <= self.delta and (pure or sums[1] <= self.rho) and sums[3] <= self.questions


# --- the decision of one account ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Account:
    """The pages of one account, and its cap in each period; None: it is counted, and has no limit."""

    pages: Mapping[int, Rows]
    cap: Cap | None
    questions: int = NO_END

    def after(self, price: Cost, runs: Runs, calendar: Calendar) -> dict[int, Rows]:
        """The pages with the price in every period of the runs; refused if one of them has too little."""
        more = on_grid(price, self.cap is not None and self.cap.filter.order is not None)
        if self.cap is None:
            return {page: rows_after(spans(self.pages.get(page, EMPTY), page, runs), more) for page in pages_of(runs)}
        limits = Limits.of(self.cap.filter, self.questions)
        cut = {page: spans(self.pages.get(page, EMPTY), page, runs) for page in pages_of(runs)}
        short = [run for parts in cut.values() for run, sums, charged in parts if charged and not limits.hold(plus(sums, more))]
        if short or not self.cap.filter.affords(price):
            raise self._refusal(self.cap, price, (merged(short), runs), calendar)
        return {page: rows_after(parts, more) for page, parts in cut.items()}

    def left(self, runs: Runs) -> Left | None:
        """The largest cost of one further event that all of the periods admit; None without a limit, or a period."""
        if self.cap is None or not runs:
            return None
        return least_left([self.cap.filter.left(state_of(sums)) for sums in {*self.sums(runs)}])

    def room(self, price: Cost, runs: Runs) -> int | None:
        """How many further events of that price all of the periods admit; None if any number."""
        if self.cap is None or not runs:
            return None
        every = {*self.sums(runs)}
        rooms = [self.cap.filter.room(state_of(sums), price) for sums in every]
        counted = min(self.questions - sums[3] for sums in every)
        return min((room for room in (*rooms, counted) if room is not None), default=None)

    def sums(self, runs: Runs) -> Iterator[PeriodSums]:
        """The sums of the periods, those of neighbours with equal ones once."""
        for page in pages_of(runs):
            yield from (sums for _, sums, charged in spans(self.pages.get(page, EMPTY), page, runs) if charged)

    def _refusal(self, cap: Cap, price: Cost, where: tuple[Runs, Runs], calendar: Calendar) -> BudgetExceeded:
        short, runs = where
        left = self.left(short or runs) or least_left([])
        name = "rho" if price.epsilon is None else "epsilon"
        what = f"it costs {words(price)} in each of them, and {name} {at_most(getattr(left, name))} remains"
        full = any(sums[3] >= self.questions for sums in self.sums(short))
        what = f"{self.questions:,} questions were paid for, the limit of a {calendar.word}" if full else what
        enough = without(runs, short) if short else ()
        other = f"ask about {named(enough, calendar)}, which have enough, " if enough else "ask with a smaller epsilon, "
        return BudgetExceeded(
            f"{cap.whose} does not admit this question in {named(short or runs, calendar)}: {what}",
            remedy=f"{other}or ask the data owner to raise {cap.declared} in tacit.toml and to accept that: tacit ledger budget",
            argument="epsilon",
        )


def least_left(lefts: Sequence[Left]) -> Left:
    """The least remainder in each number; zeros of an empty list."""
    return reduce(smaller, lefts) if lefts else Left(Fraction(0), Fraction(0), Fraction(0))


def without(runs: Runs, short: Runs) -> Runs:
    """The periods of the first runs that are not in the second.

    >>> without(((1, 9),), ((2, 3), (9, 9)))
    ((1, 1), (4, 8))
    """
    found: list[Run] = []
    for low, high in runs:
        for one, end in short:
            if low <= end and one <= high:
                found += [(low, one - 1)] if low < one else []
                low = end + 1
        found += [(low, high)] if low <= high else []
    return tuple(found)


# --- all accounts of a sale together -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Charge:
    """The periods that a sale is charged to, and the price of each of its offers for a whole person."""

    runs: Runs
    whole: tuple[Cost, ...]

    def of(self, places: Sequence[int]) -> Charge:
        """The charge of some of the offers."""
        return Charge(self.runs, tuple(self.whole[place] for place in places))


@dataclass(frozen=True, slots=True)
class Held:
    """The accounts of the data set and of one analyst as they stand, under the caps of a policy with periods."""

    caps: Admission
    analyst: Analyst
    everybody: Mapping[int, Rows]
    own: Mapping[int, Rows]

    @property
    def accounts(self) -> tuple[Account, Account]:
        """The account of the data set, and of the analyst."""
        policy = self.caps.policy
        return Account(self.everybody, self.caps.whole, policy.questions_at_most), Account(self.own, self.caps.own(self.analyst))

    def first(self, offers: Sequence[Event], charge: Charge, sums: Totals, shared: bool = True) -> tuple[Admitted, Cost]:
        """The first offer that all caps admit, with its price in each period; its own is that of a whole person."""
        refusals = []
        for place, event in enumerate(offers):
            try:
                return self._after(place, self.caps.parts(event), charge, sums, shared)
            except BudgetExceeded as refused:
                refusals.append(refused)
        raise refusals[0]

    def _after(self, place: int, parts: Sequence[Cost], charge: Charge, sums: Totals, shared: bool) -> tuple[Admitted, Cost]:
        """The analyst's own caps come first: a refusal by them says nothing of what others have spent."""
        price, whole, calendar = reduce(add, parts), self.caps.of_a_person(charge.whole[place]), calendar_of(self.caps.policy)
        require_for_one(self.analyst, parts, self.caps.policy.budget)
        everybody, own = self.accounts
        pages = {(self.analyst.name, page): rows for page, rows in own.after(price, charge.runs, calendar).items()}
        mine = self.caps.counting.after(sums.own, whole)
        if not shared:
            return Admitted(place, whole, Totals(sums.whole, mine), pages), price
        pages |= {(EVERYBODY, page): rows for page, rows in everybody.after(price, charge.runs, calendar).items()}
        lifetime = self.caps.lifetime
        after = self.caps.persons.after(sums.whole, whole) if lifetime is None else lifetime.require(sums.whole, whole)
        return Admitted(place, whole, Totals(after, mine), pages), price

    def left(self, runs: Runs, sums: Totals, alone: bool = False) -> Left:
        """The largest cost of one further event in all of the periods, and of a whole person; of the data set `alone` if asked."""
        everybody, own = self.accounts
        lefts = [everybody.left(runs), *([] if alone else [own.left(runs)])]
        lifetime = self.caps.lifetime
        lefts.append(None if lifetime is None else lifetime.filter.left(sums.whole))
        known = [left for left in lefts if left is not None]
        return least_left(known) if known else self.caps.whole.filter.left(NOTHING_SPENT)


@dataclass(frozen=True, slots=True)
class StandingInPeriods(Standing):
    """The standing of an analyst in periods; without a charge, in the `runs` that were ever charged or have begun."""

    held: Held
    runs: Runs

    def within(self, runs: Runs) -> StandingInPeriods:
        """The standing in some of the periods."""
        return replace(self, runs=runs)

    def rounded(self, up: Callable[[State, Filter], State]) -> StandingInPeriods:
        """The same with the sums of all analysts together, in periods and in a lifetime, rounded `up` to what a filter admits.

        The number of questions is left out: a balance does not show it.
        """
        cap, lifetime = self.caps.whole.filter, self.caps.lifetime

        def visible(sums: PeriodSums) -> PeriodSums:
            shown = up(state_of(sums), cap)
            return (*on_grid(Cost(shown.epsilon, shown.rho, shown.delta, cap.neighbours))[:3], 0)

        everybody = {page: tuple((many, visible(sums)) for many, sums in rows) for page, rows in self.held.everybody.items()}
        whole = up(self.sums.whole, cap if lifetime is None else lifetime.filter)
        return replace(self, sums=replace(self.sums, whole=whole), held=replace(self.held, everybody=everybody))

    def each(
        self, balance: Callable[[StandingInPeriods], Left] = lambda standing: standing.left, alone: bool = False
    ) -> list[tuple[str, PeriodSums, Left]]:
        """The periods in words, with the sums of the analyst (`alone`: of the data set) and a balance; equal neighbours are one."""
        listed: list[tuple[Run, PeriodSums, Left]] = []
        for run, sums, own in self._together():
            shown, left = sums if alone else own, balance(self.within((run,)))
            if listed and listed[-1][1:] == (shown, left) and listed[-1][0][1] + 1 == run[0]:
                listed[-1] = ((listed[-1][0][0], run[1]), shown, left)
            else:
                listed.append((run, shown, left))
        calendar = calendar_of(self.caps.policy)
        return [(named((run,), calendar), sums, left) for run, sums, left in listed]

    def _together(self) -> Iterator[tuple[Run, PeriodSums, PeriodSums]]:
        """The runs of periods in which neither the sums of the data set nor those of the analyst change."""
        for page in pages_of(self.runs):
            whole, mine = (rows.get(page, EMPTY) for rows in (self.held.everybody, self.held.own))
            for run, sums, inside in spans(whole, page, self.runs):
                if inside:
                    yield from ((part, sums, own) for part, own, among in spans(mine, page, (run,)) if among)

    def room(self, price: Cost) -> int:
        """How many further questions of that price are admitted, each in all of the periods and once in the lifetime."""
        lifetime, (everybody, own) = self.caps.lifetime, self.held.accounts
        rooms = [everybody.room(price, self.runs), own.room(price, self.runs)]
        rooms.append(None if lifetime is None else lifetime.filter.room(self.sums.whole, self.caps.of_a_person(price)))
        return min((room for room in rooms if room is not None), default=0)

    def admitted(self, offers: Sequence[Event], charge: Charge | None = None) -> int | None:
        """The place of the first offer that all caps would admit, None if they refuse all. Spends nothing."""
        prices = [reduce(add, self.caps.parts(event)) for event in offers]
        try:
            return self.held.first(offers, charge or Charge(self.runs, tuple(prices)), self.sums)[0].offer
        except BudgetExceeded:
            return None

    @property
    def left(self) -> Left:
        """The largest cost of one further event under all caps, in every period."""
        return self.held.left(self.runs, self.sums)

    @property
    def shared(self) -> Left:
        """The same under the caps of the data set alone."""
        return self.held.left(self.runs, self.sums, alone=True)


def required(charge: Charge | None) -> Charge:
    """The charge of a sale; refused for a way to publish that has none."""
    if charge is None:
        raise NotAllowed(
            "this way to publish is not supported where the budget is one of each period",
            remedy="ask the question in SQL, or take per out of [budget] before anything is spent",
        )
    return charge


def held_of(read: Reading, caps: Admission, analyst: Analyst, runs: Runs) -> Held:
    """The accounts of the data set and of an analyst in the pages of some periods."""
    first, last = (runs[0][0] // PAGE, runs[-1][1] // PAGE) if runs else (0, -1)
    return Held(caps, analyst, read(EVERYBODY, first, last), read(analyst.name, first, last))


def first_in_periods(
    read: Reading, charge: Charge, offers: Sequence[Event], asked: tuple[Admission, Analyst, bool, Totals]
) -> tuple[Admitted, dict[str, Any]]:
    """The first offer that the caps admit in every period of a charge, and what its entry says of them."""
    caps, analyst, shared, sums = asked
    admitted, price = held_of(read, caps, analyst, charge.runs).first(offers, charge, sums, shared)
    return admitted, {PERIODS: in_periods(caps.policy, charge, price), IN_FORCE: caps.policy.declared}


def most_questions(policy: Policy, charge: Charge | None) -> int:
    """The most questions of the data set; of a sale that is charged to periods each period counts its own."""
    return NO_END if charge is not None and charge.runs else policy.questions_at_most


def begun_of(policy: Policy) -> Runs:
    """The periods that have begun, as the catalog knows them; none before anything is prepared."""
    return () if policy.per is None or policy.per.begun is None else (policy.per.begun,)


def calendar_of(policy: Policy) -> Calendar:
    """The calendar of a policy that has periods."""
    assert policy.per is not None  # noqa: S101  # else nothing is charged to periods
    return policy.per.calendar


def in_periods(policy: Policy, charge: Charge, price: Cost) -> InPeriods:
    """The periods of a sale, as its entry records them."""
    calendar, lifetime = calendar_of(policy), policy.lifetime
    return InPeriods(calendar.text, charge.runs, named(charge.runs, calendar), price, policy.questions_at_most, lifetime)


def charged_pages(entry: Entry, pages: Pages) -> dict[Key, Rows]:
    """The pages that an entry changes, after it."""
    charged = entry.in_periods
    if charged is None:
        return {}
    accounts = [entry.analyst, *([EVERYBODY] if entry.kind == "spend" else [])]
    at: AtOrders | None = entry.more.get(ORDERS)
    counted = None if at is None else at.in_period
    more = {account: on_grid(replace(charged.price, counted=counted), account == EVERYBODY) for account in accounts}
    return {
        (account, page): rows_after(spans(pages.get((account, page), EMPTY), page, charged.runs), more[account])
        for account in accounts
        for page in pages_of(charged.runs)
    }


@dataclass
class Passed:
    """The sums of the data set in every period, from entries that are taken one after the other."""

    pages: dict[Key, Rows] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Count the entry, which follows those that were taken."""
        self.pages |= charged_pages(entry, self.pages)

    def within(self, runs: Runs) -> tuple[tuple[int, int, State], ...]:
        """The sums in some periods, as runs of equal ones."""
        found: list[tuple[int, int, State]] = []
        for page in pages_of(runs):
            for (low, high), sums, inside in spans(self.pages.get((EVERYBODY, page), EMPTY), page, runs):
                state = state_of(sums)
                if inside and found and found[-1][1:] == (low - 1, state):
                    found[-1] = (found[-1][0], high, state)
                elif inside:
                    found.append((low, high, state))
        return tuple(found)
