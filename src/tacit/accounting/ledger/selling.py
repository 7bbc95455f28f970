"""One decision in one transaction: an answer that was released before, or the first offer that all caps admit, spent.

The decision depends on the sale, the policy and the ledger alone. ledger.md has the rules and their proofs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.accounting.composition import Cost
from tacit.accounting.events import Event
from tacit.accounting.filter import on_grid_up
from tacit.accounting.ledger.by_period import Charge, first_in_periods, most_questions, required
from tacit.accounting.ledger.caps import (
    Admission,
    Admitted,
    Stated,
    Sums,
    at_least,
    at_most,
    require_few_failures,
    require_to_go_on,
)
from tacit.accounting.ledger.entries import NEW_ACCOUNT, TOKENS, Charged, Counted, Entry, entry_from, hash_of
from tacit.accounting.ledger.pages import DAMAGED, Books, Kept, entry_after
from tacit.accounting.ledger.turning import Turn, regrouped_by, turn
from tacit.accounting.ledger.units import NO_UNITS, UNKNOWN, Policy, Units, require_steps, units_from
from tacit.errors import BudgetExceeded, InvalidInput, NotAllowed, StoreUnusable, TooManyFailures, UnitsChanged
from tacit.privacy.catalog import Analyst

if TYPE_CHECKING:
    from tacit.accounting.ledger.pages import Page

Asked = tuple[Admission, Analyst, bool]  # the caps, the analyst who pays, and whether the data set pays too
PAID = ("spend", "recall")  # kinds of entries by which an analyst pays for an answer
LEASE = 150.0  # seconds for which a question counts as being answered, unless its process renews it (`Ledger.held`)


@dataclass(frozen=True, slots=True)
class Token:
    """A narrow token by its number, with the limit on the sum of the epsilons that are asked for with it, if it has one."""

    number: int
    most: Fraction | None


@dataclass(frozen=True, slots=True)
class Bearer:
    """The narrow token that was presented and those above it, in that order; none if it was not a narrow one.

    `require_live` raises if the presented token, or one that it was made from, has ended. `asked` has the epsilon of each offer.
    """

    path: tuple[Token, ...]
    require_live: Callable[[], None]
    asked: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class Sale:
    """The request of an analyst: offers in the order of preference, and the key under which the answer is kept (none: not kept).

    `question` says in public what was asked; `tables` are the private tables that it reads. `request` names the request of a door
    that the spend is for: the entry holds it, so that a request whose reply was lost is not paid for twice. `bearer` is the token
    that a door was shown: it is charged, and those above it.
    """

    offers: tuple[Event, ...]
    analyst: str
    question: str
    data_version: str
    key: str = ""
    tables: tuple[str, ...] = ()
    request: str = ""
    bearer: Bearer | None = None
    charge: Charge | None = None  # where the budget is one of each period
    among: int = 0  # questions of the statement that selects from its answer; 0 if it is asked by itself
    resumes: bool = False  # whether an earlier process of the same request has certainly ended, and has shown nothing
    stated: Stated | None = None  # of a question of an analyst: what a curator may have to approve
    singly: bool = False  # whether its key is paid for once: what was lost is another sale, under another key

    @property
    def details(self) -> dict[str, str]:
        """The details of the entry, beside its sums."""
        among = {"among": str(self.among)} if self.among else {}
        return {"request": self.request, **among} if self.request else {}


@dataclass(frozen=True, slots=True)
class Granted:
    """A spend that is on the disk: `offer` is the place of the admitted one. It may run now, once."""

    entry: Entry
    offer: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer that was released before. `own` says whether this analyst had asked for it; else it was charged to them now."""

    text: str
    offer: int
    entry: int
    own: bool


def decide_sale(page: Page, sale: Sale, caps: Admission) -> Granted | Recalled | int | None:
    """The outcome of a sale as the ledger stands; None while another process is answering the same question.

    A number if lost questions were counted: then nothing else is decided in this transaction, since a refusal would undo it.
    """
    analyst = caps.analyst(sale.analyst)
    if counted := count_lost(page, caps, sale.key):
        return counted
    require_units(page, caps.policy, sale.tables)
    kept = page.kept(sale.key) if sale.key else None
    if kept is not None and kept.answer is not None:
        return _recall_answer(page, sale, caps, kept)
    if kept is not None and sale.resumes and (again := _resumed(page, sale, kept)) is not None:
        return again
    if kept is not None and is_leased(kept, time.time()):
        # A refusal by the asker's own caps comes at once, as if no other analyst had asked.
        if page.paying_entry(sale.key, analyst.name) is None:
            admit(page, sale, caps, analyst, shared=False)
        return None
    if kept is not None and sale.singly:
        raise NotAllowed("this was paid for, and its number was lost", remedy="ask again: it is then paid again where it is read")
    return _grant_sale(page, sale, caps, analyst)


def _resumed(page: Page, sale: Sale, kept: Kept) -> Granted | None:
    """The same grant again, for the one release that it paid for: no value of it was shown (ledger.md)."""
    paid = paying_entry(page, kept)
    if (paid.analyst, paid.details.get("request")) != (sale.analyst, sale.request) or paid.event not in sale.offers:
        return None
    page.keep(replace(kept, until=time.time() + LEASE))
    return Granted(paid, sale.offers.index(paid.event))


def recall_own_answer(page: Page, sale: Sale, caps: Admission) -> Recalled | None:
    """The stored answer, for an analyst who has paid for it before. It writes nothing; None leaves the decision to `decided`."""
    analyst = caps.analyst(sale.analyst)
    kept = page.kept(sale.key) if sale.key and units_are_declared(page, caps.policy) else None
    if kept is None or kept.answer is None or page.paying_entry(sale.key, analyst.name) is None:
        return None
    return _recall_answer(page, sale, caps, kept)


def sums_of(books: Books, analyst: str) -> Sums:
    """The sums of all analysts together, and of one analyst."""
    return Sums(books.last.spent, books.accounts.get(analyst, NEW_ACCOUNT).spent)


def room(books: Books, caps: Admission, price: Cost, analyst: Analyst | None = None) -> int:
    """How many further questions of that price are admitted, if no other analyst asks: under all caps and counts."""
    account = NEW_ACCOUNT if analyst is None else books.accounts.get(analyst.name, NEW_ACCOUNT)
    try:
        name = "" if analyst is None else analyst.name
        require_to_go_on(books.last, account, caps.policy.questions_at_most, name)
    except (BudgetExceeded, TooManyFailures):
        return 0
    admitted = caps.room(Sums(books.last.spent, account.spent), price, analyst)
    counted = caps.policy.questions_at_most - books.last.questions
    return counted if admitted is None else min(admitted, counted)


def _grant_sale(page: Page, sale: Sale, caps: Admission, analyst: Analyst) -> Granted:
    account = page.books.accounts.get(analyst.name, NEW_ACCOUNT)
    most = caps.policy.questions_at_most if sale.charge is None else most_questions(caps.policy, sale.charge)
    require_to_go_on(page.books.last, account, most, analyst.name)
    admitted, charged = admit(page, sale, caps, analyst)
    asked = {"analyst": analyst.name, "question": sale.question, "data_version": sale.data_version, "key": sale.key}
    sums = {
        "price": admitted.price,
        "spent": admitted.sums.whole,
        "analyst_spent": admitted.sums.own,
        "analyst_cap": analyst.budget,
    }
    counted = {"event": sale.offers[admitted.offer], "questions": page.books.last.questions + 1}
    changed = {analyst.name: replace(account, spent=admitted.sums.own)}
    told = {**asked, **sums, **counted, "details": sale.details, "more": charged, "pages": admitted.pages, "orders": caps.orders}
    entry = entry_after(page.books, caps.policy.budget, "spend", changed, **told)
    page.append(entry, changed, admitted.pages)
    page.note_tokens(entry)
    if sale.key:
        page.keep(Kept(sale.key, entry.number, time.time() + LEASE, None, None))
        page.note_asker(sale.key, analyst.name, entry.number)
    return Granted(entry, admitted.offer)


def _first(page: Page, sale: Sale, places: Sequence[int], asked: Asked) -> tuple[Admitted, dict[str, Any]]:
    """The first of some offers that the caps admit, and what its entry says of periods."""
    (caps, analyst, shared), offers = asked, [sale.offers[place] for place in places]
    sums = sums_of(page.books, analyst.name)
    if caps.policy.per is None:
        return caps.first(offers, sums, analyst, shared), {}
    return first_in_periods(page.pages_of, required(sale.charge).of(places), offers, (*asked, sums))


def admit(page: Page, sale: Sale, caps: Admission, analyst: Analyst, shared: bool = True) -> tuple[Admitted, dict[str, Any]]:
    """The first offer that the tokens and then the caps admit, and the charge to each token; or the first refusal.

    The tokens come first: otherwise one that has nothing left would learn, for nothing, what the other caps still admit.
    """
    if sale.bearer is not None:
        sale.bearer.require_live()
    approved = approval_of(page, sale, caps, analyst)
    if sale.bearer is None or not sale.bearer.path:
        admitted, more = _first(page, sale, range(len(sale.offers)), (caps, analyst, shared))
        return admitted, {**more, **approved}
    charges = charges_of(page, sale.bearer, analyst.name)
    within = [place for place, charge in enumerate(charges) if not isinstance(charge, BudgetExceeded)]
    if not within:
        raise next(charge for charge in charges if isinstance(charge, BudgetExceeded))
    admitted, more = _first(page, sale, within, (caps, analyst, shared))
    offer = within[admitted.offer]
    charge = charges[offer]
    assert isinstance(charge, Charged)  # noqa: S101  # all others were left out
    return replace(admitted, offer=offer), {TOKENS: charge, **more, **approved}


def approval_of(page: Page, sale: Sale, caps: Admission, analyst: Analyst) -> dict[str, Any]:
    """The field of an entry that names the decision which admits a dear question; raises `NeedsApproval` without one.

    It follows from the question, the policy and the analyst's own decisions, whether an answer is stored or not.
    """
    above = caps.policy.limit_of(analyst)
    if above is None or sale.stated is None or sale.stated.epsilon <= above:
        return {}
    from tacit.accounting.ledger.approvals import approval

    return approval(page, sale.stated, analyst.name, above)


def charges_of(page: Page, bearer: Bearer, analyst: str) -> list[Charged | BudgetExceeded]:
    """The charge of each offer to the presented token and to all above it, or the refusal of the first whose limit it exceeds."""
    before = [(token, page.token_sum(analyst, token.number)) for token in bearer.path]
    return [_charge(before, on_grid_up(asked)) for asked in bearer.asked]


def _charge(before: Sequence[tuple[Token, Fraction]], epsilon: Fraction) -> Charged | BudgetExceeded:
    for token, asked in before:
        if token.most is not None and asked + epsilon > token.most:
            rest = max(token.most - asked, Fraction(0))
            return BudgetExceeded(
                f"token {token.number} does not admit this question: it asks for epsilon {at_least(epsilon)}, and "
                f"{at_most(rest)} of {at_most(token.most)} remains",
                remedy=(f"ask with epsilon={at_most(rest)} or less, or " if rest else "") + "use a token with a larger limit",
                argument="epsilon",
            )
    return Charged(epsilon, tuple(Counted(token.number, asked + epsilon, token.most) for token, asked in before))


def is_leased(kept: Kept, now: float) -> bool:
    """Whether a question is being answered; an end more than two leases ahead is of a wrong clock (of one, clocks may differ)."""
    return 0 < kept.until - now <= 2 * LEASE


def count_lost(page: Page, caps: Admission, key: str = "") -> int:
    """Counts the questions that were paid for and neither answered nor let go: their processes died, and each is a failure.

    Of all whose leases have ended, and the one under `key` if its lease does not hold; returns how many there were.
    """
    now = time.time()
    lost = {kept.key: kept for kept in page.lost_questions(now)}
    same = page.kept(key) if key else None
    if same is not None and same.answer is None and same.until and not is_leased(same, now):
        lost[same.key] = same
    for kept in lost.values():
        record_unfinished(page, Granted(paying_entry(page, kept), 0), "its process ended", caps)
    return len(lost)


def paying_entry(page: Page, kept: Kept) -> Entry:
    """The spend that a question names; it must name the question too, or that would be found lost again without end."""
    line = page.line(kept.entry)
    entry = None if line is None or hash_of(line.text) != line.hash else entry_from(line.text)
    if entry is None or (entry.kind, entry.key) != ("spend", kept.key):
        raise _changed_answer(kept)
    return entry


def lost_entry(page: Page, key: str) -> Entry | None:
    """The entry that paid for something without an answer that no process is answering; else None."""
    kept = page.kept(key)
    if kept is None or kept.answer is not None or is_leased(kept, time.time()):
        return None
    return paying_entry(page, kept)


def _recall_answer(page: Page, sale: Sale, caps: Admission, kept: Kept) -> Recalled:
    """The stored answer, as the chain has it; an analyst who has not asked for it yet pays the full price.

    The released event counts, whichever offer would be the first now: so the entry holds it, too. Another entry says that the
    answer left, as after a spend: so the numbers of their entries do not tell analysts that another one has asked the same.
    """
    paid, text = kept_answer(page, kept)
    analyst = caps.analyst(sale.analyst)
    offer = next((place for place, event in enumerate(sale.offers) if event == paid.event), 0)
    released = sale.offers[offer] if paid.event is None else paid.event
    if (entry := page.paying_entry(sale.key, analyst.name)) is not None:
        require_paid(page, kept, entry, analyst.name)
        return Recalled(text, offer, entry, own=True)
    account = page.books.accounts.get(analyst.name, NEW_ACCOUNT)
    require_few_failures(page.books.last, account, analyst.name)
    asked_with = None if sale.bearer is None else replace(sale.bearer, asked=sale.bearer.asked[offer : offer + 1])
    charge = None if sale.charge is None else Charge(sale.charge.runs, (paid.price,))  # its price is that of a whole person
    paying = replace(sale, offers=(released,), bearer=asked_with, charge=charge)
    admitted, more = admit(page, paying, caps, analyst, shared=False)
    asked = {"analyst": analyst.name, "question": sale.question, "data_version": sale.data_version, "key": sale.key}
    sums = {"price": admitted.price, "analyst_spent": admitted.sums.own, "analyst_cap": analyst.budget}
    changed = {analyst.name: replace(account, spent=admitted.sums.own)}
    told = {"about": kept.entry, "event": released, "details": sale.details, "more": more, "pages": admitted.pages}
    charged = entry_after(page.books, caps.policy.budget, "recall", changed, **asked, **sums, **told)
    page.append(charged, changed, admitted.pages)
    page.note_tokens(charged)
    page.append(_answer_entry(page, charged, text, caps))
    page.note_asker(sale.key, analyst.name, charged.number)
    return Recalled(text, offer, charged.number, own=False)


def kept_answer(page: Page, kept: Kept) -> tuple[Entry, str]:
    """The entry that paid for an answer, and its text, if it is the one whose hash is in the chain."""
    said, paid, after = page.line(kept.answer or 0), page.line(kept.entry), page.line((kept.answer or 0) + 1)
    linked = page.books.hash if after is None else entry_from(after.text).previous
    if said is None or paid is None or not linked == said.hash == hash_of(said.text) or hash_of(paid.text) != paid.hash:
        raise _changed_answer(kept)
    entry = entry_from(said.text)
    if (entry.kind, entry.key, entry.about) != ("answer", kept.key, kept.entry) or entry.answer != hash_of(kept.text or ""):
        raise _changed_answer(kept)
    return entry_from(paid.text), kept.text or ""


def paid_by(page: Page, number: int, analyst: str) -> tuple[Entry, str | None] | None:
    """The entry by which an analyst has paid, with the answer if it is kept; None if the analyst has no such entry."""
    line = page.line(number)
    entry = None if line is None or hash_of(line.text) != line.hash else entry_from(line.text)
    if entry is None or entry.kind not in PAID or entry.analyst != analyst:
        return None
    kept = page.kept(entry.key) if entry.key else None
    if kept is None or kept.answer is None or page.paying_entry(entry.key, analyst) != number:
        return entry, None
    return entry, kept_answer(page, kept)[1]


def require_paid(page: Page, kept: Kept, entry: int, analyst: str) -> None:
    """Raises if no entry shows that the analyst has paid for the answer."""
    line = page.line(entry)
    paid = None if line is None or hash_of(line.text) != line.hash else entry_from(line.text)
    if paid is None or paid.kind not in PAID or (paid.key, paid.analyst) != (kept.key, analyst):
        raise StoreUnusable(f"the record of who paid for the answer of entry {kept.entry} was changed", remedy=DAMAGED)


def _changed_answer(kept: Kept) -> StoreUnusable:
    return StoreUnusable(f"the answer stored for entry {kept.entry} was changed or damaged", remedy=DAMAGED)


# --- what became of it -------------------------------------------------------------------------------------------------------


def keep_released_answer(page: Page, granted: Granted, text: str, caps: Admission) -> bool:
    """Keep an answer, with its hash in the chain, and say so; where the key was taken over in the meantime, the first one stays."""
    kept = page.kept(granted.entry.key)
    if kept is None or kept.entry != granted.entry.number or kept.answer is not None:
        return False
    entry = page.append(_answer_entry(page, granted.entry, text, caps))
    page.keep(replace(kept, answer=entry.number, text=text))
    return True


def _answer_entry(page: Page, paid: Entry, text: str, caps: Admission) -> Entry:
    """The entry that says that an answer left to whoever paid for it."""
    about = {"analyst": paid.analyst, "key": paid.key, "about": paid.number}
    return entry_after(page.books, caps.policy.budget, "answer", {}, answer=hash_of(text), **about)


def record_unfinished(page: Page, granted: Granted, reason: str, caps: Admission) -> Entry:
    """The entry that says that a paid question did not finish, and counts it once: one that was counted as lost has its entry."""
    if (before := _recorded_failure(page, granted)) is not None:
        return before
    analyst = granted.entry.analyst
    account = page.books.accounts.get(analyst, NEW_ACCOUNT)
    changed = {analyst: replace(account, failures=account.failures + 1)}
    about = {"analyst": analyst, "key": granted.entry.key, "about": granted.entry.number, "question": reason}
    failures = page.books.last.failures + 1
    entry = entry_after(page.books, caps.policy.budget, "failure", changed, failures=failures, **about)
    page.append(entry, changed)
    let_go(page, granted)
    return entry


def _recorded_failure(page: Page, granted: Granted) -> Entry | None:
    """The failure that is recorded of a spend, if its process stood still until others counted it as lost.

    The chain decides. It is read only if the question is no longer open, or was taken over.
    """
    paid = granted.entry
    kept = page.kept(paid.key) if paid.key else None
    if not paid.key or (kept is not None and kept.entry == paid.number and kept.until):
        return None
    lines = (page.line(number) for number in range(paid.number + 1, page.books.last.number + 1))
    entries = (entry_from(line.text) for line in lines if line is not None and "failure" in line.text)
    return next((entry for entry in entries if (entry.kind, entry.about) == ("failure", paid.number)), None)


def renew(page: Page, granted: Granted) -> None:
    """Extend the lease of a question that is still being answered."""
    kept = page.kept(granted.entry.key)
    if kept is not None and kept.entry == granted.entry.number and kept.answer is None and kept.until:
        page.keep(replace(kept, until=time.time() + LEASE))


def let_go(page: Page, granted: Granted) -> None:
    """End the lease of a question that is no longer being answered; its price stays spent."""
    kept = page.kept(granted.entry.key) if granted.entry.key else None
    if kept is not None and kept.entry == granted.entry.number and kept.answer is None:
        page.keep(replace(kept, until=0.0))


# --- units that a ledger knows, and others that it comes to know -------------------------------------------------------------


REMEDY = "ask the data owner to state how many old units one new unit can affect: tacit ledger units --steps N --reason WHY"
BY_ITSELF = "tables declared public"


def require_units(page: Page, policy: Policy, tables: tuple[str, ...]) -> None:
    """Refuse to count for units that the ledger does not know, and tables that it must not count at all.

    Tables that are newly declared public are noted: exact values of them were released, and can never be private again.
    """
    if units_are_declared(page, policy) and not policy.units.closed:
        return  # and so nothing closed
    if changes := differences(page, policy):
        raise UnitsChanged(f"the ledger counts for other units: {'; '.join(changes)}", remedy=REMEDY)
    counted = units_of(page)
    if closed := sorted({*counted.closed, *policy.units.closed} & set(tables)):
        raise UnitsChanged(
            f"{', '.join(closed)} is or was public, and exact values of it were released: no budget covers them",
            remedy="declare it public again, or ask about other tables",
        )
    note_public(page, policy)


def units_are_declared(page: Page, policy: Policy) -> bool:
    """Whether the ledger counts for just what the policy declares."""
    last = page.books.last
    return (last.units, last.price.neighbours) == (policy.units.fingerprint, policy.neighbours)


def note_public(page: Page, policy: Policy) -> None:
    """Note tables that are newly declared public; the units of private ones stay what they are in the ledger."""
    last = page.books.last
    if last.units == UNKNOWN or last.price.neighbours != policy.neighbours:
        return  # nothing is admitted before the data owner has spoken, and then these are noted
    counted = units_of(page)
    if not counted.notes(policy.units):
        told = Units(public=policy.units.public, closed=policy.units.closed, opened=policy.units.opened)
        turn(page, policy, Turn(counted.accepting(told)), "", BY_ITSELF)


def differences(page: Page, policy: Policy) -> list[str]:
    """The differences between the declared units and those that the ledger counts for, in words; empty if they agree."""
    last = page.books.last
    if last.price.neighbours != policy.neighbours:
        return [f"it counts for '{last.price.neighbours}', and the catalog declares '{policy.neighbours}'"]
    if last.units == UNKNOWN:
        return ["the units of its older entries are unknown"]
    return units_of(page).differences(policy.units)


def units_of(page: Page) -> Units:
    """The units that the ledger counts for."""
    if page.books.last.units == UNKNOWN:
        return NO_UNITS
    text = page.units(page.books.last.units)
    if text is None:
        raise StoreUnusable("the ledger has lost its declaration of units", remedy="restore the ledger from a backup")
    return units_from(text)


def accept_units(page: Page, policy: Policy, steps: int, by: str, why: str) -> Entry:
    """The entry from which on prices count for the units of the policy; one of them touches at most `steps` of the old ones.

    Everything that was paid before is restated one by one. The sums after it may exceed the cap: then nothing more is admitted.
    """
    require_steps(steps, page.books.last.price.neighbours, policy.neighbours)
    if not differences(page, policy):
        raise InvalidInput("the ledger already counts for the declared units; there is nothing to restate")
    change = regrouped_by(units_of(page), policy, steps) if page.books.last.is_spent else None
    return turn(page, policy, Turn(units_of(page).accepting(policy.units), steps, change), by, why)
