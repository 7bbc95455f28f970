"""Offers: a question with its plan, its quotes by preference and the key of its answer, before anything is paid for.

The last ones of each analyst are remembered as they were read and priced, for whoever asks the same again. A memory
follows from its key and from the open catalog and store alone: no row, no answer and no balance has a part in it. The analyst is
part of every key, so that no question becomes faster because another analyst asked the same.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.accounting.events import Event
from tacit.accounting.ledger.by_period import Charge
from tacit.accounting.ledger.caps import Stated, words
from tacit.errors import InvalidInput, NotAllowed
from tacit.mechanisms.residual_shares import read_loss
from tacit.privacy.arguments import whole_of
from tacit.privacy.catalog import Catalog
from tacit.privacy.periods import Runs, named, version_read
from tacit.privacy.rounding import decimal_text
from tacit.query.binding.scope import PublicFacts
from tacit.query.free import Facts, free_columns, may_select_from_answers
from tacit.query.language.syntax import Select, Statement
from tacit.query.passes import rewrite
from tacit.query.periods import charged
from tacit.query.plan import PerUnit, UnitJoin
from tacit.query.price.forecast import declared_rows, has_forecast
from tacit.query.price.needs import placed
from tacit.query.price.price import Quote, Request, check, price
from tacit.query.price.quote import or_one, request_of
from tacit.query.price.stability import rows_are_public, tables_of
from tacit.query.price.work import rung_of
from tacit.query.question import MOST_CELLS, Question, canonical_plan
from tacit.query.trees import below, canonical_text

if TYPE_CHECKING:
    from tacit.accounting.filter import Left
    from tacit.query.answers.plan import Derivation
    from tacit.query.price.explanation import Explanation

MOST = 256  # of all analysts together
LONGEST = 2_000  # characters of a question: what is remembered of a short one is small
MOST_EPSILONS = 20  # of one explanation: its work is that of as many
MOST_GROUP_ROWS = 10**15

Value = TypeVar("Value")


class Remembered:
    """At most `most` results; the one that was not used for the longest time makes room. Errors are not remembered."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._lock = most, Lock()
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    def keeps(self, text: str) -> bool:
        """Whether what follows from a text is small enough to be remembered."""
        return len(text) <= LONGEST

    def of(self, text: str, key: tuple[Hashable, ...], made: Callable[[], Value]) -> Value:
        """The result of `made`, which follows from a text and from the rest of its key.

        >>> known = Remembered()
        >>> known.of("SELECT 1", ("ana",), lambda: "once"), known.of("SELECT 1", ("ana",), lambda: "twice")
        ('once', 'once')
        """
        if not self.keeps(text):
            return made()
        whole = (text, *key)
        with self._lock:
            if whole in self._known:
                self._known.move_to_end(whole)
                value: Value = self._known[whole]
                return value
        value = made()
        with self._lock:
            self._known[whole] = value
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return value


# --- offers ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offer:
    """A question with its quotes; `key` is that of its answer, and `tables` are the private ones that it reads.

    `version` is that of the rows which it reads. `older` are keys under which an answer to it may have been kept, of the time when
    requests differed that now do not, or when its plan was another. `charge` are its periods, where the budget is one of each.
    `without_rank` if it was asked without intervals and has no quantile, which alone could do without.
    """

    question: Question
    quotes: tuple[Quote, ...]
    key: str
    tables: tuple[str, ...]
    older: tuple[str, ...] = ()
    without_rank: bool = False
    charge: Charge | None = None
    version: str = ""

    @property
    def events(self) -> tuple[Event, ...]:
        """The event of each quote."""
        return tuple(quote.event for quote in self.quotes)


Paying = tuple[Offer, Request, str]  # with its budget and its text


def offered(select: Select, asked: Request, catalog: Catalog, public: PublicFacts, version: str, renewed: bool = True) -> Offer:
    """The quotes for a question within a request, on a version of the prepared data; without `renewed`, it is that of its rows.

    A question without quantiles is the same with and without intervals, which only quantiles can do without.
    """
    question = rewrite(select, catalog, public)
    public_rows = rows_are_public(question, catalog)
    quotes = price(question, asked, catalog.change, public_rows, catalog.cores)
    without_rank = not asked.interval and not any(part.ranks for part in quotes[0].parts)
    wanted = replace(asked, interval=True) if without_rank else asked
    quotes = price(question, wanted, catalog.change, public_rows, catalog.cores) if without_rank else quotes
    tables = tuple(dict.fromkeys(table.name for part in question.parts for table in tables_of(part.group)))
    version = _version_read(question, catalog, version) if renewed else version
    key = key_of(quotes[0], version)
    requests = dict.fromkeys((wanted, asked))
    plans = (question, *(() if not _was_another(question) else _earlier(select, catalog, public)))
    every = dict.fromkeys(each for plan in plans for each in (plan, _with_all_groups(plan)))
    keys = (key_of(replace(quotes[0], question=plan, request=each), version) for plan in every for each in requests)
    older = tuple(dict.fromkeys(each for each in keys if each != key))
    return Offer(question, quotes, key, tables, older, without_rank, charge_of(quotes, catalog), version)


def _version_read(question: Question, catalog: Catalog, version: str) -> str:
    """The version of the rows that a question reads: an answer about closed periods stays the same when others are renewed."""
    if catalog.per is None or not catalog.per.versions:
        return version
    beside = any(table.per is None for part in question.parts for table in tables_of(part.group))
    return version_read(catalog.per.versions, charged(question), version, beside)


def charge_of(quotes: Sequence[Quote], catalog: Catalog) -> Charge | None:
    """The periods that a question is charged to, with what each quote costs a whole person; None without periods."""
    if catalog.per is None:
        return None
    from tacit.query.price.lifetime import whole_person

    return Charge(charged(quotes[0].question), tuple(map(whole_person, quotes)))


def _with_all_groups(question: Question) -> Question:
    """The plan as it was before groups that WHERE excludes were left out; what was paid for then has these groups, too."""

    def whole(part: Question) -> Question:
        keys = tuple(replace(key, kept=None) for key in part.group.keys)
        return part if keys == part.group.keys else replace(part, group=replace(part.group, keys=keys))

    beside = tuple(map(whole, question.beside))
    below = tuple(replace(whole(part), beside=beside) for part in question.below)
    return replace(whole(question), beside=beside, below=below)


def _was_another(question: Question) -> bool:
    """Whether the plan may have been another once: private tables are joined, or a sub-query groups by the unit."""
    return any(isinstance(step, UnitJoin | PerUnit) for part in question.parts for step in below(part.group))


def _earlier(select: Select, catalog: Catalog, public: PublicFacts) -> tuple[Question, ...]:
    from tacit.query.price.earlier import earlier_plan

    plan = earlier_plan(select, catalog, public)
    return () if plan is None else (plan,)


def key_of(quote: Quote, version: str) -> str:
    """The identity of a query: the plan, the budget and the prepared data; never the text, nor the column names."""
    by_place = sorted(placed(quote.request.weights, quote.question).items())
    asked = replace(quote.request, groups=None, weights=tuple((str(place), weight) for place, weight in by_place))
    parts: tuple[object, ...] = (version, canonical_plan(quote.question), canonical_text(asked))
    if quote.request.error is not None and any(has_forecast(call, quote.question) for call in quote.question.calls):
        parts = (*parts, declared_rows(quote.question))  # what can be forecast is priced by it
    return hashlib.sha256(canonical_text(parts).encode()).hexdigest()


def stated_in(offers: Sequence[Offer]) -> Stated:
    """A statement as a curator judges it, by its questions: the same whatever their budget and the version of the data."""
    plans = [key_of(replace(offer.quotes[0], request=Request()), "") for offer in offers]
    epsilon, delta = (
        sum((max(getattr(quote, name) for quote in offer.quotes) for offer in offers), start=Fraction(0))
        for name in ("epsilon", "delta")
    )
    return Stated(hashlib.sha256(canonical_text(tuple(plans)).encode()).hexdigest(), epsilon, delta)


# --- a request as plain values, which the ledger keeps with an answer -------------------------------------------------------------


def asked_json(asked: Request) -> dict[str, Any]:
    """A request as plain values, and back with `asked_from`."""
    amounts = {name: _text(getattr(asked, name)) for name in ("epsilon", "delta", "error", "confidence")}
    weights = [[name, str(weight)] for name, weight in asked.weights]
    loss = {} if asked.loss is None else {"loss": asked.loss}
    return {**amounts, "simultaneous": asked.simultaneous, "interval": asked.interval, "weights": weights, **loss}


def asked_from(document: Mapping[str, Any]) -> Request:
    """The request of plain values."""
    epsilon, error = (None if document[name] is None else Fraction(document[name]) for name in ("epsilon", "error"))
    weights = tuple((str(name), Fraction(weight)) for name, weight in document["weights"])
    delta, confidence = Fraction(document["delta"]), Fraction(document["confidence"])
    asked = Request(epsilon, delta, error, confidence, bool(document["simultaneous"]), None, bool(document["interval"]), weights)
    return replace(asked, loss=read_loss(document.get("loss")))


def asked_by_place(quote: Quote) -> dict[str, Any]:
    """The same with the places of columns in place of names: what two questions have in common that share an answer."""
    by_place = sorted(placed(quote.request.weights, quote.question).items())
    return {**asked_json(quote.request), "weights": [[place, str(weight)] for place, weight in by_place]}


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


def share_of(asked: Request, derivation: Derivation) -> Request:
    """The budget of each question of a statement that selects from answers: an equal share."""
    number = len(derivation.questions)
    if asked.error is not None:
        raise NotAllowed(
            "an error cannot be asked of what is made of answers", remedy="give epsilon, or ask the question itself with error"
        )
    if asked.weights and number > 1:
        raise NotAllowed("weights are those of one question, and the statement has several", remedy="leave out weights")
    return replace(asked, epsilon=None if asked.epsilon is None else asked.epsilon / number, delta=asked.delta / number)


# --- explained, and asked for no row -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asker:
    """The analyst who asks, the catalog, the public tables, and the memory of prices, unless the text is too long for it."""

    analyst: str
    catalog: Catalog
    public: Callable[[], Facts]
    remembered: Remembered | None


@dataclass(frozen=True, slots=True)
class Seen:
    """The ledger as the asker may see it: which events it admits first, its name in a sentence, and the balance in words.

    `within` is the same in some periods, where the budget is one of each: there events come with their charge, and `balance` is
    what remains in them.
    """

    admitted: Callable[..., int | None]
    name: str
    left: str
    within: Callable[[Runs], Seen] | None = None
    balance: Left | None = None


@dataclass(frozen=True, slots=True)
class Assumed:
    """Arguments of an explanation that no question has: the assumed size of a group, and several epsilons in place of one."""

    group_rows: int | None = None
    epsilons: tuple[Any, ...] = ()

    @classmethod
    def of(cls, budget: Mapping[str, Any]) -> Assumed:
        """Those among the arguments, checked."""
        rows, epsilons = budget.get("group_rows"), budget.get("epsilons")
        if epsilons is not None and {"epsilon", "error"} & {name for name, value in budget.items() if value is not None}:
            raise InvalidInput("both epsilons and another budget are given; leave one of them out", argument="epsilons")
        if epsilons is not None and (isinstance(epsilons, str | bytes) or not isinstance(epsilons, Sequence)):
            raise InvalidInput("epsilons must be a list of numbers; give for example epsilons=[0.1, 0.5, 1]", argument="epsilons")
        if epsilons is not None and not 1 <= len(epsilons) <= MOST_EPSILONS:
            raise InvalidInput(
                f"epsilons must have 1 to {MOST_EPSILONS} numbers, not {len(epsilons)}; ask for fewer at a time",
                argument="epsilons",
            )
        return cls(None if rows is None else whole_of(rows, "group_rows", 1, MOST_GROUP_ROWS), tuple(epsilons or ()))


def explained(asked: Statement, budget: Mapping[str, Any], asker: Asker, seen: Callable[[], Seen]) -> Explanation:
    """The price and the error of an answer, for epsilon 1 by default; in words, if it is free or asks for no row.

    With several `epsilons`, the explanation is that of the first, and `budgets` has the price and the errors at each.
    """
    assumed = Assumed.of(budget)
    given = {name: value for name, value in budget.items() if name not in Assumed.__slots__}
    if (columns := free_columns(asked, asker.catalog, asker.public)) is not None:
        explanation = free_explanation(dict(columns), seen().left)
        return explanation if any(values for _, values in columns) else _with_types(explanation, asked, asker)
    assert isinstance(asked, Select)  # noqa: S101  # all else is free
    if may_select_from_answers(asked) and (derivation := _derivation(asked, asker)) is not None:
        return _derivation_explained(derivation, asked, given, asker, seen, assumed)
    if asked.limit == 0:
        return _explained_without_rows(asked, asker, seen)
    return price_explained(asked, requests_of(asked, given, assumed), asker, seen, assumed)


def price_explained(
    asked: Select, requests: Sequence[Request], asker: Asker, seen: Callable[[], Seen], assumed: Assumed
) -> Explanation:
    """The explanation at the first of several budgets, with the price and the errors at each."""
    from tacit.query.price.explanation import AtBudget

    explanations = [_price_explained(asked, wanted, asker, seen, assumed.group_rows) for wanted in requests]
    if not assumed.epsilons:
        return explanations[0]
    return replace(explanations[0], budgets=tuple(AtBudget(each.epsilon, each.delta, each.errors) for each in explanations))


def _with_types(explanation: Explanation, asked: Statement, asker: Asker) -> Explanation:
    """The explanation of an answer without rows, with the types of the public columns that it would have."""
    from tacit.query.no_rows import columns_of_public

    typed = columns_of_public(asked, asker.catalog, asker.public()) if isinstance(asked, Select) else ()
    if len(typed) != len(explanation.columns):
        return explanation
    named = (replace(each, name=one.name) for each, one in zip(typed, explanation.columns, strict=True))
    return replace(explanation, columns=tuple(named))


def _explained_without_rows(asked: Select, asker: Asker, seen: Callable[[], Seen]) -> Explanation:
    """The explanation of a question, or of rows, with LIMIT 0."""
    from tacit.query.no_rows import columns_of_rows, plan_without_rows
    from tacit.query.price.explain import explained_without_rows
    from tacit.query.price.header import header_of

    public = asker.public()
    columns = columns_of_rows(asked, asker.catalog, public) or header_of(plan_without_rows(asked, asker.catalog, public))
    return explained_without_rows(columns, seen().left)


def _derivation(asked: Select, asker: Asker) -> Derivation | None:
    from tacit.query.answers.levels import derivation_of

    return derivation_of(asked, asker.catalog, asker.public())


def _derivation_explained(
    derivation: Derivation, asked: Select, given: Mapping[str, Any], asker: Asker, seen: Callable[[], Seen], assumed: Assumed
) -> Explanation:
    """The explanation of a SELECT from answers: that of its questions."""
    from tacit.query.answers.explained import explained_derivation
    from tacit.query.price.explain import explained_without_rows

    if asked.limit == 0:
        return explained_without_rows(derivation.header, seen().left)
    requests = [share_of(wanted, derivation) for wanted in requests_of(asked, given, assumed)]
    return explained_derivation(
        derivation, requests, lambda select, wanted: _price_explained(select, wanted, asker, seen, assumed.group_rows)
    )


def requests_of(asked: Select, given: Mapping[str, Any], assumed: Assumed) -> list[Request]:
    """The requests that are explained: one for each of several epsilons, else that of the budget, or of epsilon 1."""
    budgets = [{**given, "epsilon": epsilon} for epsilon in assumed.epsilons] or [or_one(asked.options, given)]
    return [request_of(asked.options, {"groups": MOST_CELLS, **each}) for each in budgets]


def free_explanation(columns: Mapping[str, Sequence[Any]], left: str) -> Explanation:
    """The explanation of an answer that is free: its columns, and the price 0."""
    from tacit.query.price.explain import explained_free
    from tacit.query.price.header import free_header

    return explained_free(free_header(columns.items()), left)


def _price_explained(
    select: Select, wanted: Request, asker: Asker, seen: Callable[[], Seen], group_rows: int | None
) -> Explanation:
    """The ledger is looked at after everything that the question alone decides."""
    from tacit.query.price.explanation import Charged
    from tacit.query.price.shape import Shaped, events_of, shape_of
    from tacit.query.price.takes import Balance, taken

    catalog = asker.catalog
    plan, change, cores = rewrite(select, catalog, asker.public()), catalog.change, catalog.cores
    check(plan, wanted, cores)
    shape, fixed, ledger = shape_of(plan), rows_are_public(plan, catalog), seen()

    def priced(asked: Request) -> tuple[Quote, ...]:
        return price(shape, asked, change, fixed, cores)

    ledger = ledger.within(charged(plan)) if ledger.within is not None else ledger

    def admitted(quotes: Sequence[Quote]) -> int | None:
        events = offer.events if quotes is offer.quotes else events_of(quotes)
        return ledger.admitted(events) if ledger.within is None else ledger.admitted(events, charge_of(quotes, catalog))

    key = ("shape", asker.analyst, shape, wanted, fixed)
    memory = asker.remembered
    offer = Shaped.of(priced(wanted)) if memory is None else memory.of("", key, lambda: Shaped.of(priced(wanted)))
    quote, takes = taken(offer.quotes, Balance(admitted, ledger.name), lambda less: priced(replace(wanted, epsilon=less)))
    explanation = replace(offer.explained(quote, ledger.left, tuple(takes), group_rows), rung=rung_of(plan, catalog))
    charge = charge_of((quote,), catalog)
    if charge is None or catalog.per is None:
        return explanation
    left = None if ledger.balance is None else decimal_text(ledger.balance.epsilon)
    told = Charged(named(charge.runs, catalog.per.calendar), words(charge.whole[0]), left)
    return replace(explanation, tree=(*explanation.tree, str(told)), charged=(told,))
