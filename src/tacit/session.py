"""The whole process on one screen: a query becomes a plan, a quote, a ledger entry, sealed integers, and an answer.

The data owner's actions are in `owner.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit import owner
from tacit.accounting.ledger.caps import at_most
from tacit.accounting.ledger.ledger import Ledger
from tacit.accounting.ledger.selling import Sale
from tacit.accounting.policy import Policy, policy_of
from tacit.data.catalog import Stamp, read_catalog, stamp_of
from tacit.data.store import StoreInfo, require_small_files, store_info, swept
from tacit.errors import InvalidInput, NeverTrue, NoBudget, NoLedger, StoreUnusable
from tacit.owner import Account, Preparing
from tacit.privacy.arguments import text_of, truth_of
from tacit.privacy.catalog import Catalog, analyst_name, fingerprint
from tacit.privacy.rounding import Number
from tacit.query.engines import EMBEDDED, engine_for, opening
from tacit.query.engines.engine import Engine, StoredFacts
from tacit.query.free import check_free, declared_values, described, public_tables, shown_tables
from tacit.query.groups import MOST_CELLS
from tacit.query.language.given import Parameters, given
from tacit.query.language.places import pointing
from tacit.query.language.sql import Written, read
from tacit.query.language.syntax import Describe, Select, ShowTables, Statement
from tacit.query.language.writer import written
from tacit.query.offers import Offer, offered
from tacit.query.passes import rewrite
from tacit.query.plan import Question
from tacit.query.price.price import Quote, Request, check, price, request
from tacit.query.price.request import weighed
from tacit.query.price.stability import rows_are_public
from tacit.query.remembered import LONGEST, Remembered
from tacit.release.answer import NO_QUANTILE, Answer, Receipt
from tacit.release.free import free_answer, without_rows
from tacit.release.once import Form, Sold, Till, once
from tacit.release.record import record, recorded, renamed
from tacit.release.running import Facts, Holder, InProcess, OwnProcess, Paid, Runner
from tacit.release.tabulate import answer
from tacit.release.unforeseen import one_exit

if TYPE_CHECKING:
    from tacit.accounting.filter import Left
    from tacit.accounting.ledger.caps import Standing
    from tacit.data.engine import Progress
    from tacit.data.prepare import Prepared
    from tacit.query.language.frame import Frame
    from tacit.query.price.explain import Explanation

OWN_PROCESS = True
BIASES = "error bars cover the noise; what limits of rows, bounds and unknown values leave out is not in them"
KEPT = Form(record, recorded)
REMAINING = "the remaining budget"


@dataclass(frozen=True, slots=True)
class Door:
    """What a door for analysts changes: caps below the catalog's, and how they see the ledger, which may be less than it knows.

    All that an explanation says of the ledger follows from `seen` and `balance`, and `remaining` says in words what they count.
    """

    policy: Callable[[Catalog], Policy] = policy_of
    seen: Callable[[Standing], Standing] = lambda standing: standing
    balance: Callable[[Standing], Left] = lambda standing: standing.left
    remaining: Callable[[], str] = lambda: REMAINING


class Session:
    """One analyst's questions. Every answer is paid for from the one budget of the data set."""

    def __init__(self, data: DataSet, analyst: str, clock: Callable[[], datetime] | None = None, request: str = "") -> None:
        self.data, self.analyst, self.clock = data, analyst, clock or partial(datetime.now, UTC)
        self._request = request  # what the ledger is told of a request that must not be paid for twice

    def for_request(self, request: str) -> Session:
        """The same session for one request of a door; the ledger's entry names it."""
        return Session(self.data, self.analyst, self.clock, request)

    @property
    def kept(self) -> Path:
        """The folder of the data owner's log of unforeseen failures."""
        return self.data.catalog.kept

    @one_exit
    def answer(self, select: Select, asked: Request, text: str | None = None) -> Answer:
        """Answer one query within `asked`; the ledger records the cost, with the query as SQL, before any data is read."""
        self.data.refresh()
        self.data.runner.start()
        text = written(select) if text is None else text
        offer = self._offer(select, asked, text)
        quotes, version = offer.quotes, self.data.version
        sale = Sale(offer.events, self.analyst, text + weighed(asked), version, offer.key, offer.tables, self._request)
        till = replace(self.data.till, ready=self.data.runner.open)
        try:
            sale = till.under(sale, offer.older)
            sold = once(till, sale, lambda granted: self._released(quotes[granted.offer], Paid(text, granted.entry.number)), KEPT)
        finally:
            self.data.runner.free()
        names = [output.name for output in offer.question.outputs]
        notes = dict.fromkeys((*sold.value.notes, *([NO_QUANTILE] if offer.older else [])))
        return renamed(replace(sold.value, receipt=self._receipt(quotes[sold.offer], sold), notes=tuple(notes)), names)

    def _offer(self, select: Select, asked: Request, text: str) -> Offer:
        """The quotes for the question that a text asks; remembered by all that they follow from: `groups` is not in an equality."""
        remembered = self.data.remembered  # read before the catalog: what an older one says is never put into a newer memory
        catalog, public, version = self.data.catalog, self.data.public, self.data.version
        key = ("offer", self.analyst, asked, asked.groups, version)
        return remembered.of(text, key, lambda: offered(select, asked, catalog, public, version))

    def _read(self, question: str, params: Parameters) -> Written:
        """What a text asks; without parameters, it follows from the text and the date."""
        today = self._today()
        if params is not None or not isinstance(question, str):
            return read(question, given(params, today))
        return self.data.remembered.of(question, ("read", self.analyst, today), lambda: read(question, given(None, today)))

    def _released(self, quote: Quote, paid: Paid) -> Answer:
        return answer(quote, self.data.runner.noisy(quote, paid), Receipt(quote.epsilon, quote.delta), [BIASES])

    @one_exit
    def sql(self, question: str, *, params: Parameters = None, **budget: Any) -> Answer:
        """The answer to SQL: `epsilon=` (and `delta=`), or `error=` with `confidence=`; a budget written in the SQL counts.

        `params` has the values of `?`, `$1` and `:name`; they are literals of the question, and recorded as such. What asks public
        tables or the catalog alone is free. With `tidy=True` counts are whole and not negative, and totals agree with their parts.
        """
        with pointing(question):
            asked = self._read(question, params)
            text = written(asked.statement) if asked.filled and isinstance(asked.statement, Select) else question
            return self._answered(asked.statement, budget, text)

    def _answered(self, asked: Statement, budget: Mapping[str, Any], text: str | None = None) -> Answer:
        self.data.refresh()
        if (columns := self._free(asked)) is not None:
            return free_answer(columns)
        assert isinstance(asked, Select)  # noqa: S101  # all else is free
        tidy, known = truth_of(budget.get("tidy", False), "tidy"), {name: value for name, value in budget.items() if name != "tidy"}
        if asked.limit == 0:
            return without_rows(self._without_rows(asked), _asked(asked, _priced(asked, known)))
        found = self.answer(asked, _asked(asked, known), text)
        return found.tidy() if tidy else found

    def _free(self, asked: Statement) -> Sequence[tuple[str, tuple[Any, ...]]] | None:
        """The columns of an answer in which no private row can have a part; None for any other question."""
        catalog = self.data.catalog
        if isinstance(asked, ShowTables):
            return shown_tables(catalog)
        if isinstance(asked, Describe):
            return described(asked, catalog, lambda: self.data.public)
        if (tables := public_tables(asked, catalog)) is None:
            return declared_values(asked, catalog)
        text = written(check_free(asked, tables, self.data.public))
        return self.data.public.answered(text, [table.name for table in tables])

    def _without_rows(self, select: Select) -> Question:
        """The plan of a question with LIMIT 0. Its columns are the same if the catalog decides that no row meets its WHERE."""
        try:
            return rewrite(select, self.data.catalog, self.data.public)
        except NeverTrue:
            if all(part.where is None for part in (select, *select.below)):
                raise
            below = tuple(replace(part, where=None) for part in select.below)
            return rewrite(replace(select, where=None, below=below), self.data.catalog, self.data.public)

    @one_exit
    def explain(self, question: str | Select, *, params: Parameters = None, **budget: Any) -> Explanation:
        """What the answer would cost and how good it would be. Spends nothing and opens no data; prices epsilon 1 by default."""
        with pointing(question):
            return self._explained(question, params, budget)

    def _explained(self, question: str | Select, params: Parameters, budget: Mapping[str, Any]) -> Explanation:
        from tacit.query.price.explain import explained_free, explained_without_rows
        from tacit.query.price.shape import Shaped, events_of, shape_of
        from tacit.query.price.takes import Balance, taken

        asked = question if isinstance(question, Select) else self._read(question, params).statement
        if not isinstance(asked, Select) or public_tables(asked, self.data.catalog) or declared_values(asked, self.data.catalog):
            return explained_free(self._left(self._standing()))
        select = asked
        if select.limit == 0:
            self._without_rows(select)
            return explained_without_rows(self._left(self._standing()))
        wanted = _asked(select, {"groups": MOST_CELLS, **_priced(select, budget)})  # free, so any number of groups is
        remembered = self.data.remembered  # as in _offer
        plan, change = rewrite(select, self.data.catalog, self.data.public), self.data.catalog.change
        check(plan, wanted, cores := self.data.catalog.cores)
        shape, fixed, standing = shape_of(plan), rows_are_public(plan, self.data.catalog), self._standing()

        def priced(asked: Request) -> tuple[Quote, ...]:
            return price(shape, asked, change, fixed, cores)

        def admitted(quotes: Sequence[Quote]) -> int | None:
            return standing.admitted(found.events if quotes is found.quotes else events_of(quotes))

        key = ("shape", self.analyst, shape, wanted, wanted.groups, fixed)
        small = isinstance(question, str) and len(question) <= LONGEST
        found = remembered.of("", key, lambda: Shaped.of(priced(wanted))) if small else Shaped.of(priced(wanted))
        balance = Balance(admitted, self.data.door.remaining())
        quote, takes = taken(found.quotes, balance, lambda less: priced(replace(wanted, epsilon=less)))
        return found.explained(quote, self._left(standing), tuple(takes))

    def _standing(self) -> Standing:
        """The ledger as this analyst may see it."""
        return self.data.door.seen(self.data.ledger.standing(self.analyst))

    def questions_left(self, epsilon: Number, delta: Number = 0) -> int:
        """How many further questions of `epsilon` (and `delta`) this analyst may ask, if nobody else asks any."""
        return self.data.questions_left(epsilon, delta, self.analyst)

    def table(self, name: str) -> Frame[Answer]:
        """The same queries built step by step in Python: where, join, group_by, agg, then release."""
        from tacit.query.language.frame import start

        return start(name, lambda select, **budget: self._answered(select, budget), self.explain, given(None, self._today()))

    def _today(self) -> date:
        """Today's date in UTC, by the clock of this session."""
        return self.clock().astimezone(UTC).date()

    def _receipt(self, quote: Quote, sold: Sold[Answer]) -> Receipt:
        """What the answer cost this analyst now, and their remaining budget."""
        left, version = sold.left, self.data.version
        return Receipt(quote.epsilon, quote.delta, left.epsilon, left.delta, sold.entry, version, sold.repeated)

    def _left(self, standing: Standing) -> str:
        left = self.data.door.balance(standing)
        return f"remaining: epsilon {at_most(left.epsilon)}, delta {at_most(left.delta)}"


class DataSet:
    """A catalog with its prepared data and its ledger; each is opened when it is first needed.

    Queries run in a process of their own, which is ended when their time is up; or in this process, if requested; or wherever the
    `holder` of the data runs them, which then alone opens the store.
    """

    def __init__(
        self, catalog: Catalog, own_process: bool | None = None, read_at: Stamp | None = None, holder: Holder | None = None
    ) -> None:
        self.catalog, self.own_process = catalog, OWN_PROCESS if own_process is None else own_process
        self._read_at, self._holder = read_at, holder
        self._opened: Ledger | None = None
        self.remembered = Remembered()
        self.door = Door()

    def behind(self, door: Door) -> None:
        """Put the data set behind a door for analysts: once, and before the ledger is opened."""
        if self.door != Door() or self._opened is not None:
            raise RuntimeError("a data set gets its door once, before its ledger is opened")
        self.door = door

    def session(self, analyst: str | None = None) -> Session:
        """The session of one analyst: the named one, else the only one declared, else "curator"."""
        declared = sorted(self.catalog.analysts)
        wanted = None if analyst is None else analyst_name(text_of(analyst, "analyst"))
        name = wanted or (declared[0] if len(declared) == 1 else None) or (None if declared else "curator")
        if name is None or (declared and name not in declared):
            raise InvalidInput(f"missing analyst; the catalog declares: {', '.join(declared)}")
        return Session(self, name)

    def close(self) -> None:
        """Closes the prepared data if it is open; the next query opens the store as it is then."""
        if "runner" in self.__dict__:
            self.runner.close()
        if "engine" in self.__dict__:
            self.engine.close()
        for known in ("runner", "engine", "store", "public"):
            self.__dict__.pop(known, None)
        self.remembered = Remembered()

    def __enter__(self) -> DataSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def accounts(self, analyst: str | None = None) -> list[Account]:
        """What is spent and what remains: for the data set, and for every analyst or for one."""
        named = None if analyst is None else analyst_name(text_of(analyst, "analyst"))
        ledger = self.ledger  # this reads a changed catalog
        return owner.accounts(self.catalog, ledger, named)

    def questions_left(self, epsilon: Number, delta: Number = 0, analyst: str | None = None) -> int:
        """How many further questions of `epsilon` (and `delta`) are admitted: for all analysts together, or for one."""
        named, asked = None if analyst is None else text_of(analyst, "analyst"), request(epsilon, delta)
        return owner.questions_left(self.ledger, asked.epsilon or 0, asked.delta, named)

    # --- for the data owner ---

    def prepare(
        self,
        progress: Progress | None = None,
        *,
        new_ledger: bool = False,
        reason: str = "",
        memory: str = "60%",
        yes: bool = False,
        keep_version: bool = False,
        sources: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Copy the declared data into a new store; `new_ledger` begins the ledger of the data set, once.

        Refuses if another ledger already covers the same sources, unless a reason is given, which the new ledger records. Also
        refuses if the data does not look as declared (no row kept, over half of a column unusable), unless `yes`. The store has a
        new version, so no earlier answer is repeated for it; `keep_version` declares, publicly, that the data has not changed.
        `sources` has the rows of each table declared with `source = "memory"`: a pandas or Polars DataFrame, or an Arrow table,
        prepared as a Parquet file with the same columns would be.
        """
        asked = Preparing(progress, new_ledger, reason, memory, yes, keep_version, sources)
        return owner.prepare_data(self.catalog, lambda: self._begun, asked, replaced=self.close)

    def begin_ledger(self, reason: str = "", *, sources: Mapping[str, Any] | None = None) -> Ledger:
        """Begin the ledger of this data set, once. What the prepared data remembers of a lost ledger is carried over.

        `sources` has the rows of each table declared with `source = "memory"`: the register needs them to recognize the data.
        """
        return owner.begin_ledger(self.catalog, reason, sources)

    def begin_scratch(self, reason: str) -> Ledger:
        """Begin a ledger that is not registered: for a short-lived copy of data whose answers are not published."""
        return owner.begin_scratch(self.catalog, reason)

    def adopt(self, reason: str) -> int | None:
        """Accept the ledger that was found as this data set's own; returns the number of the entry that records this."""
        return owner.adopt(self.catalog, self.ledger, reason)

    def accept_units(self, steps: int, reason: str) -> int:
        """Let the ledger count for the currently declared units; returns the number of the entry that restates all earlier ones."""
        return owner.accept_units(self.ledger, steps, reason)

    def resume(self, reason: str) -> int:
        """Allow queries again after failures; returns the number of the entry that records this."""
        return owner.resume(self.ledger, reason)

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger was begun for this data set."""
        return self._begun is not None

    @property
    def _begun(self) -> Ledger | None:
        """The ledger of this data set, if one was begun."""
        try:
            return self.ledger
        except NoLedger:
            return None

    @property
    def version(self) -> str:
        return self.store.version

    @cached_property
    def store(self) -> StoreInfo:
        """The prepared store's description of itself; raises if the store is missing, or belongs to another catalog."""
        found = store_info(self.catalog) if self._holder is None else self._holder.info()
        if found is None:
            raise StoreUnusable("the data has not been prepared", remedy="run: tacit prepare")
        if found.fingerprint != fingerprint(self.catalog):
            raise StoreUnusable("the catalog changed after the data was prepared", remedy="run: tacit prepare")
        self._check_cores(self.catalog)
        return found

    @cached_property
    def engine(self) -> Engine:
        return engine_for(self.catalog, self.version)

    @cached_property
    def runner(self) -> Runner:
        """Where queries run; nothing else decides it."""
        if self._holder is not None:
            return self._holder.runner(lambda: self.catalog, self.version)
        if self.own_process and self.catalog.store_engine == EMBEDDED:  # the work of any other is done elsewhere, and ended there
            return OwnProcess(opening(self.catalog, self.version))
        return InProcess(self.engine)

    @cached_property
    def public(self) -> Facts:
        return StoredFacts(self.store.public, self.engine) if self._holder is None else self._holder.facts(self.store)

    @property
    def till(self) -> Till:
        """Where every release from this data set is paid for; the data is opened before it is paid for."""
        ready, catalog = self.runner.open if self._holder else self.engine.open, self.catalog
        folder = catalog.heads_folder if self._holder else owner.heads_folder(catalog)
        return Till(self.ledger, folder, self.store.ledger, ready, catalog.kept)

    @property
    def ledger(self) -> Ledger:
        """The ledger, under the budget and the caps that the catalog declares now: a lowered cap also binds open sessions."""
        self.refresh()
        self._opened = found = (self._opened or owner.own_ledger(self.catalog)).under(self.door.policy(self.catalog))
        return found

    def _check_cores(self, catalog: Catalog) -> None:
        if self._holder is None:  # which checks it where the store is
            require_small_files(catalog)

    def refresh(self) -> None:
        """Read the catalog again if its file has changed; what was prepared must be unchanged."""
        if self.catalog.path is None or self._read_at is None or (now := stamp_of(self.catalog.path)) == self._read_at:
            return
        found = read_catalog(self.catalog.path)
        if fingerprint(found) != fingerprint(self.catalog):
            raise StoreUnusable("the catalog changed after it was opened", remedy="open it again")
        self._check_cores(found)
        self.catalog, self._read_at = found, now
        self.remembered = Remembered()  # after the catalog


def open(path: str | Path = "tacit.toml", own_process: bool | None = None) -> DataSet:  # noqa: A001  # read as tacit.open
    """The data set that a catalog declares; with `own_process=False`, queries run in this process, where nothing can end them."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidInput(f"the catalog must be a path, not {type(path).__name__}; give for example 'tacit.toml'")
    read_at = stamp_of(Path(path))
    return DataSet(swept(read_catalog(Path(path))), own_process, read_at)


def _priced(select: Select, budget: Mapping[str, Any]) -> dict[str, Any]:
    """A budget, by default epsilon 1, for what is not paid for."""
    known = {name: value for name, value in budget.items() if value is not None}
    return known if select.options or {"epsilon", "error"} & set(known) else {"epsilon": 1, **known}


def _asked(select: Select, budget: Mapping[str, Any]) -> Request:
    """The budget that was given, else the one written in the query; giving both is an error."""
    if unknown := sorted(set(budget) - set(Request.__dataclass_fields__)):
        raise InvalidInput(
            f"unknown argument {unknown[0]!r}; a budget is epsilon and delta, or error, with confidence, simultaneous, "
            "interval and weights"
        )
    given = {name: value for name, value in budget.items() if value is not None and (value is not False or name == "interval")}
    if select.options and {"epsilon", "delta", "error"} & set(given):
        raise NoBudget("the budget is given twice: in the question and as an argument", remedy="leave one of them out")
    return request(**{**dict(select.options), **given})
