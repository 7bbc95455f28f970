"""Answers that an analyst has already: linear images of noisy measurements which this analyst has paid for.

Counts and sums over public groups are estimated from the measurements of the analyst's own entries, by least squares with weights
from public scales (mechanisms/residual.md). Where every number is then at least as exact as the question asks, nothing is spent;
else the answer is offered. The plan and the analyst's own entries decide: no row, and nothing that another analyst has asked.
Proof in implied.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.errors import TacitError
from tacit.mechanisms.combined import variance_of
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.residual import Axes, Estimated, Measurement, Residual, closure, subsets
from tacit.privacy.catalog import Catalog
from tacit.query.excluded import decided, stored_in
from tacit.query.free import Facts, free_columns, may_select_from_answers
from tacit.query.intervals.aggregates import moments_of, weights_of
from tacit.query.intervals.bands import Added, Margin, Noisy, Released, Shared, Sum, Workload, half_width
from tacit.query.intervals.misses import calls_of, missed_in
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.language.syntax import Select, Statement
from tacit.query.language.writer import written
from tacit.query.offers import Offer, Remembered
from tacit.query.passes import rewrite
from tacit.query.plan import Column, Condition, Group, Key, Moment, PublicScan, Term, Where
from tacit.query.price.price import Quote
from tacit.query.price.quote import Request, or_one, request_of, together
from tacit.query.price.shared import SHARED, Sharing, is_margin
from tacit.query.price.stability import reach, tables_of
from tacit.query.question import MOST_CELLS, Question, domain, private
from tacit.release.answer import Answer, Receipt, with_names
from tacit.release.certificates.answers import Paid, quotes_of
from tacit.release.elsewhere.packed import parts_read
from tacit.release.noisy import together as estimated
from tacit.release.tabulate import answer, labels_of

if TYPE_CHECKING:
    from tacit.accounting.filter import Left
    from tacit.accounting.ledger.entries import Entry
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.query.price.explanation import Explanation
    from tacit.release.once import Till

MOST_LOOKED = 50  # of the latest entries of an analyst
MOST_ENTRIES = 10  # whose measurements are combined
MOST_AXES = 12  # of a measurement that is used: its residuals are of all sets of them
MOST_SETS = 4_000  # of axes, of all measurements together


class Holds(Protocol):
    """The parts of a data set by which it is decided what an analyst knows."""

    @property
    def ledger(self) -> Ledger: ...
    @property
    def as_prepared(self) -> Catalog: ...
    @property
    def public(self) -> Facts: ...
    @property
    def remembered(self) -> Remembered: ...
    @property
    def till(self) -> Till: ...
    @property
    def catalog(self) -> Catalog: ...


# --- what is measured by the entries of an analyst -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A measurement that an entry paid for: of a moment by some keys, with its noise and its numbers."""

    entry: int
    moment: Moment
    keys: tuple[Key, ...]
    centred: bool
    noise: Laplace | Gaussian
    numbers: Any

    def along(self, places: Mapping[Term, int]) -> tuple[Measurement, Any]:
        """The same with its axes in another order: the measurement, and its numbers."""
        sizes = [len(domain(key)) for key in self.keys]
        order = sorted(range(len(self.keys)), key=lambda at: places[self.keys[at].term])
        shaped = np.asarray(self.numbers).reshape([1 if self.centred and size == 2 else size for size in sizes])
        axes = tuple(places[self.keys[at].term] for at in order)
        noise = replace(self.noise, dimension=shaped.size)
        return Measurement(axes, self.centred, noise), np.transpose(shaped, order).reshape(-1)


def own_measurements(data: Holds, analyst: str, offer: Offer, group: Group) -> list[Held]:
    """The measurements of the analyst's latest entries, on the version of a question, of the rows and moments of a plan."""
    version = offer.version
    names = [table.name.casefold() for table in tables_of(group)]
    held: list[Held] = []
    for entry in data.ledger.paid_entries(analyst, MOST_LOOKED):
        text = entry.question.casefold()
        if entry.data_version == version and all(name in text for name in names):
            held += _measurements_in(data, entry, analyst, group)
        if len({each.entry for each in held}) >= MOST_ENTRIES:
            break
    return held


def _measurements_in(data: Holds, entry: Entry, analyst: str, group: Group) -> list[Held]:
    """The measurements of one entry that count the same rows; none if its question cannot be read any more."""
    remembered = data.remembered  # read before the catalog: what an older one says is never put into a newer memory
    catalog, public, key = data.as_prepared, data.public, (analyst, entry.number, entry.data_version)

    def plan() -> Question | None:
        select = read(entry.question, given(None, date.fromisoformat(entry.at[:10]))).statement
        return rewrite(select, catalog, public) if isinstance(select, Select) else None

    try:
        question = remembered.of(entry.question, ("plan", *key), plan)
        if question is None or not any(_serves(part, group) for part in question.parts):
            return []
        row = data.ledger.paid_by(entry.number, analyst)
        if row is None or row[1] is None:
            return []
        paid = Paid(row[0], row[1])
        quotes = remembered.of(entry.question, ("paid", *key), lambda: tuple(quotes_of(paid, catalog, public)))
    except TacitError:  # what was answered then is refused now
        return []
    for quote in quotes:
        if (noisy := parts_read(quote, paid.answer.parts, entry.data_version)) is not None:
            return list(_measurements_of(quote, noisy, entry.number, group))
    return []


def _serves(part: Question, group: Group) -> bool:
    """Whether sums of a part are over the same rows, in public groups that follow from its keys alone."""
    terms = {key.term for key in part.group.keys}
    alike = not private(part) and part.group.per_group is None and part.group.child == group.child
    return alike and len(terms) == len(part.group.keys) and any(moment in group.moments for moment in part.group.moments)


def _measurements_of(quote: Quote, noisy: Noisy, entry: int, group: Group) -> Iterator[Held]:
    for part, numbers in zip(quote.parts, noisy.parts, strict=True):
        if not _serves(part.question, group):
            continue
        for each in part.sums:
            if isinstance(each.mechanism, Laplace | Gaussian) and each.moment in group.moments and each.moment.kind in SHARED:
                yield Held(entry, each.moment, part.question.group.keys, False, each.mechanism, numbers.sums[each.place][1])
    sharing = Sharing.of(quote.question, [part.reach for part in quote.parts], fewest=1) if quote.workloads else None
    if sharing is None or any(sharing.conditions) or not _serves(quote.question, group):
        return
    for workload, released in zip(quote.workloads, noisy.measured, strict=True):
        for measured, values in zip(workload.strategy.measurements, released, strict=True):
            if workload.moment in group.moments:
                keys = tuple(sharing.keys[axis] for axis in measured.axes)
                yield Held(entry, workload.moment, keys, measured.centred, measured.noise, values)


# --- what follows from them ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Implied:
    """The answer to a question from own measurements: its quote of price 0, the numbers, and the entries that paid for them."""

    quote: Quote
    noisy: Noisy
    entries: tuple[int, ...]
    asked: Quote

    @cached_property
    def widths(self) -> tuple[tuple[str, float, float], ...]:
        """The half-width of every count and sum of every part: the name of its column, as it is known, and as it is asked for."""
        listed = []
        names, error = [output.name for output in self.quote.question.outputs], self.asked.request.error
        for at, (mine, other) in enumerate(zip(self.quote.parts, self.asked.parts, strict=True)):
            for name, output in zip(names, mine.question.outputs, strict=True):
                for call in calls_of(output.value, mine.question):
                    missed = missed_in(at, call, self.quote.question, self.quote.request)
                    asked = max(_width(call, other, missed), float(error or 0))
                    listed.append((name, _width(call, mine, missed), asked))
        return tuple(listed)

    @property
    def is_free(self) -> bool:
        """Whether every number is at least as exact as it would be within the budget, or within the error, that is asked for."""
        return all(mine <= asked for _, mine, asked in self.widths)

    @property
    def least_exact(self) -> dict[str, float]:
        """The largest half-width of every column."""
        return {name: max(width for other, width, _ in self.widths if other == name) for name, _, _ in self.widths}

    def answer(self, left: Left, offer: Offer, notes: Sequence[str]) -> Answer:
        """The answer: nothing is spent, and the entries of its receipt are those that paid for the measurements."""
        nothing = Fraction(0)
        receipt = Receipt(nothing, nothing, left.epsilon, left.delta, None, offer.version, again=True, entries=self.entries)
        made = answer(self.quote, self.noisy, receipt, notes)
        return with_names(made, [output.name for output in offer.question.outputs], labels_of(offer.question))

    @property
    def words(self) -> str:
        """One line: what is known, from which entries, and what to do about it."""
        within = ", ".join(f"{name} within ± {width:,.6g}" for name, width in self.least_exact.items())
        told = f"known from {source_words(self.entries)}: {within}"
        return f"{told}; nothing is spent" if self.is_free else f"{told}; this question asks for less error, and is paid for"


def source_words(entries: Sequence[int]) -> str:
    """The entries in words.

    >>> source_words((12, 14))
    'entry 12 and entry 14'
    """
    return " and ".join(f"entry {each}" for each in entries)


def _width(call: Any, quote: Quote, missed: Fraction) -> float:
    """The half-width of a count or a sum, as it is shown."""
    sums = {each.moment: each for each in quote.noisy_sums}
    calls = quote.question.calls
    factors = zip(moments_of(call, calls), weights_of(call, calls) or (), strict=True)
    return sum(abs(float(weight)) * float(half_width(sums[moment], missed).above) for moment, weight in factors if moment in sums)


Implies = Callable[[Select, Request, str], Implied | None]


def with_words(explanation: Explanation, data: Holds, implies: Implies, asked: Statement, budget: Mapping[str, Any]) -> Explanation:
    """The explanation of a question with a line on the answer that the analyst's entries imply, if they do."""
    if not isinstance(asked, Select) or asked.limit == 0 or budget.get("epsilons") is not None:
        return explanation
    if free_columns(asked, data.catalog, lambda: data.public) is not None or may_select_from_answers(asked):
        return explanation
    budget = {name: value for name, value in budget.items() if name not in ("group_rows", "epsilons")}
    wanted = request_of(asked.options, {"groups": MOST_CELLS, **or_one(asked.options, budget)})
    implied = implies(asked, wanted, written(asked))
    return explanation if implied is None else replace(explanation, takes=(*explanation.takes, implied.words))


def implied_unless_paid(data: Holds, offer: Offer, analyst: str) -> Implied | None:
    """The same, unless the analyst has an entry of this very question, whose answer is then given."""
    data.till.check()
    return None if data.ledger.is_paid((offer.key, *offer.older), analyst) else implied_by_own(data, offer, analyst)


def implied_by_own(data: Holds, offer: Offer, analyst: str) -> Implied | None:
    """The answer that the analyst's own entries imply; None if they do not determine all of it."""
    question = offer.question
    touched = [reach(part) for part in question.parts]
    alike = all(part.group.child == question.group.child for part in question.parts)
    same = all(set(part.group.moments) == set(question.group.moments) for part in question.parts)
    if question.beside or not alike or not same or not all(map(is_margin, question.parts, touched)):
        return None
    if any(len({key.term for key in part.group.keys}) < len(part.group.keys) for part in question.parts):
        return None
    held = own_measurements(data, analyst, offer, question.group)
    ways = [each for each in (_as_measured(held, offer.quotes[0]), _by_least_squares(held, offer.quotes[0])) if each is not None]
    where = question.group.child
    if len(question.parts) == 1 and isinstance(where, Where) and not isinstance(where.child, PublicScan):
        rows = replace(question.group, child=where.child)
        wider, asked = own_measurements(data, analyst, offer, rows), offer.quotes[0]
        some = [_under_condition(wider, asked, where.condition), _one_cell_each(wider, asked, where.condition, rows)]
        ways += [each for each in some if each is not None]
    return min(ways, key=lambda each: (not each.is_free, sum(each.least_exact.values())), default=None)


def _as_measured(held: Sequence[Held], asked: Quote) -> Implied | None:
    """The question by numbers that were measured as it asks for them, with the noise that each has."""
    quotes, numbers, used = [], [], set[int]()
    for part in asked.parts:
        keys, sums = part.question.group.keys, dict[int, tuple[Released, Any]]()
        for place, moment in enumerate(part.question.group.moments):
            same = [each for each in held if not each.centred and each.moment == moment and set(each.keys) == set(keys)]
            same = [each for each in same if _fits(each, {key.term: key for key in keys})]
            if not same:
                return None
            best = min(same, key=lambda each: variance_of(each.noise))
            _, values = best.along({key.term: at for at, key in enumerate(keys)})
            sums[place], used = (Sum(place, moment, best.noise), values), used | {best.entry}
        quotes.append(_without_price(part, sums=tuple(each for each, _ in sums.values())))
        numbers.append(Noisy(_groups(part.question), sums, {}))
    return Implied(together(quotes), estimated(together(quotes), numbers), tuple(sorted(used)), asked)


# --- a question about some of the rows, from cells of all of them --------------------------------------------------------------


MOST_CHOSEN = 10**5  # cells from which a condition chooses
Choice = tuple[Callable[[Any], Any], int]
"""Adds up the chosen cells of an array, by the keys of a question; and how many cells the largest of these sums has."""


def _under_condition(held: Sequence[Held], asked: Quote, condition: Condition) -> Implied | None:
    """The numbers as sums of noisy cells that were measured as they are, whose keys decide the condition."""
    released, numbers, used = list[Sum | Margin](), dict[int, tuple[Released, Any]](), set[int]()
    for place, moment in enumerate(asked.question.group.moments):
        direct = [each for each in held if each.moment == moment and not each.centred]
        candidates = [(choice, each) for each in direct if (choice := _choice(each.keys, asked.question, condition))]
        if not candidates:
            return None
        (chosen, count), each = min(candidates, key=lambda one: one[0][1] * variance_of(one[1].noise))
        added = Added(each.noise, count)
        released.append(Margin(place, moment, 0, place, added) if count > 1 else Sum(place, moment, each.noise))
        numbers[place], used = (released[-1], chosen(each.numbers)), used | {each.entry}
    sums = tuple(each for each in released if isinstance(each, Sum))
    quote = _without_price(asked, sums=sums, margins=tuple(each for each in released if isinstance(each, Margin)))
    return Implied(quote, Noisy(_groups(asked.question), numbers, {}), tuple(sorted(used)), asked)


def _one_cell_each(held: Sequence[Held], asked: Quote, condition: Condition, rows: Group) -> Implied | None:
    """The numbers as estimated cells by more keys of all `rows`, where the condition leaves one cell for each of them."""
    question, columns = asked.question, stored_in(condition, {})
    every = {key.term: key for each in held for key in each.keys}
    tested = [term for term in every if isinstance(term.node, Column) and (term.node.source, term.node.name) in columns]
    wanted = dict.fromkeys([*(key.term for key in question.group.keys), *tested])
    if not tested or not wanted.keys() <= every.keys():
        return None
    keys = tuple(every[term] for term in wanted)
    choice = _choice(keys, question, condition)
    if choice is None or choice[1] > 1:
        return None
    wider = replace(question, group=replace(rows, keys=keys))
    wide = _by_least_squares(held, replace(asked, question=wider))
    if wide is None:
        return None
    chosen = choice[0]
    sums = {place: (part, chosen(values)) for place, (part, values) in wide.noisy.sums.items()}
    centres = {place: np.asarray(chosen(values), dtype=np.float64) for place, values in wide.noisy.centres.items()}
    quote = _without_price(asked, shared=wide.quote.shared)
    return Implied(quote, Noisy(_groups(question), sums, {}, centres=centres), wide.entries, asked)


def _choice(keys: Sequence[Key], question: Question, condition: Condition) -> Choice | None:
    """The cells by these keys in which a condition is true, by the keys of a question; None if the keys do not decide it."""
    terms, listed = [key.term for key in keys], [domain(key) for key in keys]
    wanted, sizes = [key.term for key in question.group.keys], [len(each) for each in listed]
    whole = all(key.kept is None for key in keys) and len({*terms}) == len(terms) <= MOST_AXES
    own = {(term.node.source, term.node.name) for term in terms if isinstance(term.node, Column)}
    if not keys or not whole or not {*wanted} <= {*terms} or prod(sizes) > MOST_CHOSEN or not stored_in(condition, {}) <= own:
        return None
    places = np.indices(sizes).reshape(len(sizes), -1)
    points = {
        (term.node.source, term.node.name): np.array([_stored(term.node, value) for value in values], dtype=np.int64)[at]
        for term, values, at in zip(terms, listed, places, strict=True)
        if isinstance(term.node, Column)
    }
    true = decided(condition, points)
    if true is None or not true.any():
        return None
    order = sorted(
        range(len(terms)), key=lambda at: (terms[at] not in wanted, wanted.index(terms[at]) if terms[at] in wanted else at)
    )
    named = [{value: place for place, value in enumerate(listed[at])} for at in order]
    kept = [[names[value] for value in domain(key)] for names, key in zip(named, question.group.keys, strict=False)]

    def chosen(cells: Any) -> Any:
        of = np.where(true, np.asarray(cells).reshape(-1), np.zeros_like(np.asarray(cells), shape=()))
        shaped = np.transpose(of.reshape(sizes), order)
        added = shaped.reshape(*shaped.shape[: len(wanted)], -1).sum(axis=-1)
        return np.asarray(added[np.ix_(*kept)] if kept else added).reshape(-1)

    return chosen, int(chosen(true.astype(np.int64)).max())


def _stored(column: Column, value: int | None) -> int:
    """A value of a key as `decided` takes it: NULL stands one above the largest."""
    return column.high + 1 if value is None else value


# --- least squares over all of them --------------------------------------------------------------------------------------------


def _by_least_squares(held: Sequence[Held], asked: Quote) -> Implied | None:
    """The question by the estimates from measurements, if they determine every moment of every part."""
    question = asked.question
    keys = {key.term: key for part in question.parts for key in part.group.keys}
    own = dict(keys)
    for each in held:
        for key in each.keys:
            keys.setdefault(key.term, key)
    places = {term: at for at, term in enumerate(keys)}
    sizes = tuple(len(domain(key)) for key in keys.values())
    fitting = [each for each in held if _fits(each, keys)]
    parts = [tuple(sorted(places[key.term] for key in part.group.keys)) for part in question.parts]
    workloads, numbers, used = list[Workload](), list[tuple[Any, ...]](), set[int]()
    for moment in question.group.moments:
        chosen = [each for each in fitting if each.moment == moment]
        chosen = _relevant(chosen, own)
        made = [each.along(places) for each in chosen]
        if not made or len(closure(measured.axes for measured, _ in made)) > MOST_SETS:
            return None
        strategy = Residual(sizes, tuple(measured for measured, _ in made))
        if not all(strategy.is_known(some) for axes in parts for some in subsets(axes)):
            return None
        order = [_order(part, axes, places) for part, axes in zip(question.parts, parts, strict=True)]
        named = tuple((at, part.group.moments.index(moment), order[at]) for at, part in enumerate(question.parts))
        workloads.append(Workload(moment, strategy, named, ()))
        numbers.append(tuple(values for _, values in made))
        used |= {each.entry for each in chosen}
    quote = _quote(asked, parts, workloads)
    blank = [Noisy(_groups(part), {}, {}) for part in question.parts]
    blank[0] = replace(blank[0], measured=tuple(numbers))
    return Implied(quote, estimated(quote, blank), tuple(sorted(used)), asked)


def _fits(each: Held, keys: Mapping[Term, Key]) -> bool:
    """Whether its keys have the same public values, and are not too many."""
    return len(each.keys) <= MOST_AXES and all(keys[key.term].kept == key.kept for key in each.keys)


def _relevant(held: Sequence[Held], own: Mapping[Term, Key]) -> list[Held]:
    """Those that say something of the question's keys: residuals of other keys are of nothing that is asked."""
    return [each for each in held if not each.centred or all(key.term in own for key in each.keys)]


def _order(part: Question, axes: Axes, places: Mapping[Term, int]) -> tuple[int, ...]:
    """The places of the keys of a part in the order of their axes."""
    own = [places[key.term] for key in part.group.keys]
    return tuple(own.index(axis) for axis in axes)


def _quote(asked: Quote, parts: Sequence[Axes], workloads: Sequence[Workload]) -> Quote:
    """The question at price 0, each sum an estimate from own measurements."""
    quotes = []
    for part, axes in zip(asked.parts, parts, strict=True):
        shared = tuple(
            Shared(place, moment, Estimated(workload.strategy, axes, (1,) * len(axes), 0.0))
            for place, moment in enumerate(part.question.group.moments)
            for workload in workloads
            if workload.moment == moment
        )
        quotes.append(_without_price(part, shared=shared))
    return replace(together(quotes), workloads=tuple(workloads))


def _without_price(part: Quote, **released: Any) -> Quote:
    """A part whose numbers are released already."""
    nothing: dict[str, Any] = dict.fromkeys(("sums", "margins", "shared", "workloads", "sources", "beside", "below"), ())
    return replace(part, stated=None, epsilon=Fraction(0), delta=Fraction(0), **{**nothing, **released})


def _groups(part: Question) -> tuple[tuple[Any, ...], ...]:
    return tuple(product(*(domain(key) for key in part.group.keys)))
