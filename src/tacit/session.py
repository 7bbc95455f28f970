"""The whole road on one screen: a question becomes a plan, a quote, an entry in the ledger, sealed integers, and an answer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.accounting.caps import at_most
from tacit.accounting.events import Event
from tacit.accounting.filter import Left, State
from tacit.accounting.heads import adopt, check_head, remember_head
from tacit.accounting.ledger import Ledger, open_ledger
from tacit.errors import InvalidInput, NoBudget, StoppedAfterSpending, StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Budget, Catalog, fingerprint
from tacit.privacy.catalog_file import read_catalog
from tacit.query.passes import rewrite
from tacit.query.price import Quote, Request, price, request
from tacit.query.sql import parse
from tacit.query.store import StoreInfo, store_info
from tacit.query.surface import Select
from tacit.release.answer import Answer, Receipt
from tacit.release.record import record, recorded, renamed
from tacit.release.running import InProcess, OwnProcess, Runner
from tacit.release.tabulate import answer

if TYPE_CHECKING:
    from tacit.query.engines import DuckDBEngine, StoredFacts
    from tacit.query.explain import Explanation
    from tacit.query.frame import Frame

OWN_PROCESS = True
BIASES = "error bars cover the noise; what limits of rows, bounds and unknown values leave out is not in them"


class Session:
    """One analyst's questions. Every answer is paid for from the one budget of the data set."""

    def __init__(self, data: DataSet, analyst: str) -> None:
        self.data, self.analyst = data, analyst

    def answer(self, select: Select, asked: Request, text: str) -> Answer:
        """Answer one question within `asked`; the cost is recorded, with the question's text, before any data is read."""
        self.data.runner.start()
        question = rewrite(select, self.data.catalog, self.data.public)
        quotes = price(question, asked, self.data.catalog.change)
        known = _fingerprint(quotes[0], self.data.version)
        if earlier := self.data.ledger.recall(known):
            return renamed(recorded(earlier), [output.name for output in question.outputs])
        quote = next((quote for quote in quotes if self.data.ledger.admits(quote.event, self.analyst)), quotes[0])
        entry = self.data.spend(quote.event, self.analyst, text, self.data.runner)
        try:
            released = answer(quote, self.data.runner.noisy(quote), self._receipt(quote, entry), [BIASES])
        except KeyboardInterrupt:
            raise StoppedAfterSpending(f"stopped; entry {entry} of the ledger stays spent") from None
        self.data.ledger.remember(known, entry, record(released))
        return released

    def sql(self, question: str, **budget: Any) -> Answer:
        """The answer to SQL: `epsilon=` (and `delta=`), or `error=` with `confidence=`; a budget written in the SQL counts."""
        select = parse(question)
        return self.answer(select, _asked(select, budget), question)

    def explain(self, question: str | Select, **budget: Any) -> Explanation:
        """What the answer would cost and how good it would be. Spends nothing and opens no data; prices epsilon 1 by default."""
        from tacit.query.explain import explained

        select = parse(question) if isinstance(question, str) else question
        given = {name: value for name, value in budget.items() if value is not None}
        default = {} if select.options or {"epsilon", "error"} & set(given) else {"epsilon": 1}
        asked = _asked(select, {**default, **given})
        quote = price(rewrite(select, self.data.catalog, self.data.public), asked, self.data.catalog.change)[0]
        return explained(quote, self._left())

    def table(self, name: str) -> Frame[Answer]:
        """The same questions from Python, built step by step: where, join, group_by, agg, then release."""
        from tacit.query.frame import start

        return start(
            name, lambda select, **budget: self.answer(select, _asked(select, budget), f"a question on {name}"), self.explain
        )

    def _receipt(self, quote: Quote, entry: int) -> Receipt:
        left = self.data.ledger.left(self.analyst)
        return Receipt(quote.epsilon, quote.delta, left.epsilon, left.delta, entry, self.data.version)

    def _left(self) -> str:
        left = self.data.ledger.left(self.analyst)
        return f"left: epsilon {at_most(left.epsilon)}, delta {at_most(left.delta)}"


@dataclass(frozen=True, slots=True)
class Account:
    """A cap, the sums of what was spent under it, and what one further question may cost."""

    name: str
    cap: Budget
    spent: State
    left: Left


class DataSet:
    """A catalog with its prepared data and its ledger; each is opened when it is first needed.

    Questions run in a process of their own, which is ended when their time is up; or in this one, where it is said.
    """

    def __init__(self, catalog: Catalog, own_process: bool | None = None) -> None:
        self.catalog, self.own_process = catalog, OWN_PROCESS if own_process is None else own_process

    def session(self, analyst: str | None = None) -> Session:
        """The questions of one analyst: the named one, or the only one declared, or "curator" where none is."""
        declared = sorted(self.catalog.analysts)
        name = analyst or (declared[0] if len(declared) == 1 else None) or (None if declared else "curator")
        if name is None or (declared and name not in declared):
            raise InvalidInput(f"name the analyst who asks; declared are: {', '.join(declared)}")
        return Session(self, name)

    def spend(self, event: Event, analyst: str, question: str, runner: Runner | None = None) -> int:
        """The number of the durable entry; only after it is written may the engine run, here or where questions run."""
        (runner or self.engine).open()
        check_head(self._folder, self.ledger, self.store.ledger)
        entry = self.ledger.spend(event, analyst, question, self.version)
        remember_head(self._folder, entry.head)
        return entry.number

    def close(self) -> None:
        """Lets go of the prepared data, if it was opened."""
        if "runner" in self.__dict__:
            self.runner.close()
        if "engine" in self.__dict__:
            self.engine.close()

    def __enter__(self) -> DataSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def accounts(self, analyst: str | None = None) -> list[Account]:
        """What was spent and what is left: of the data set, and of every analyst or of one."""
        named = [analyst] if analyst else sorted(self.catalog.analysts)
        whole = Account("data set", self.catalog.budget, self.ledger.spent(), self.ledger.left())
        own = [
            Account(
                name, self.catalog.analysts[name].budget or self.catalog.budget, self.ledger.spent(name), self.ledger.left(name)
            )
            for name in named
            if name in self.catalog.analysts
        ]
        return [whole, *own]

    def adopt(self, reason: str) -> int | None:
        """For the curator: accept the ledger at hand as this data set's; the number of the entry that records it."""
        entry = adopt(self._folder, self.ledger, "curator", reason)
        return None if entry is None else entry.number

    @property
    def _folder(self) -> Path:
        return self.catalog.store_file.parent

    @property
    def version(self) -> str:
        return self.store.version

    @cached_property
    def store(self) -> StoreInfo:
        """What the prepared store says of itself; refused where there is none, or one of another catalog."""
        found = store_info(self.catalog.store_file)
        if found is None:
            raise StoreUnusable("the data is not prepared", remedy="run: tacit prepare")
        if found.fingerprint != fingerprint(self.catalog):
            raise StoreUnusable("the catalog has changed since the data was prepared", remedy="run: tacit prepare")
        return found

    @cached_property
    def engine(self) -> DuckDBEngine:
        from tacit.query.engines import DuckDBEngine

        return DuckDBEngine(self.catalog.store_file, version=self.version)

    @cached_property
    def runner(self) -> Runner:
        """Where questions run; the one place that decides it."""
        if self.own_process:
            return OwnProcess(self.catalog.store_file, version=self.version)
        return InProcess(self.engine)

    @cached_property
    def public(self) -> StoredFacts:
        from tacit.query.engines import StoredFacts

        return StoredFacts(self.store.public, self.engine)

    @cached_property
    def ledger(self) -> Ledger:
        return open_ledger(self.catalog.ledger_address(os.environ), self.catalog, identity=bits.random_bytes(16).hex())


def open(path: str | Path = "tacit.toml", own_process: bool | None = None) -> DataSet:  # noqa: A001  # read as tacit.open
    """The data set that a catalog declares; with `own_process=False` questions run in this process, where nothing can end them."""
    return DataSet(read_catalog(Path(path)), own_process)


def _asked(select: Select, budget: Mapping[str, Any]) -> Request:
    """The budget that was given, else the one written in the question; both is one too many."""
    given = {name: value for name, value in budget.items() if value is not None and value is not False}
    if select.options and {"epsilon", "delta", "error"} & set(given):
        raise NoBudget("the budget is written in the question and given beside it", remedy="leave one of them out")
    return request(**{**dict(select.options), **given})


def _fingerprint(quote: Quote, version: str) -> str:
    """What makes two questions the same: the plan, the budget and the prepared data; never the text, nor the names it gives."""
    outputs = tuple(replace(output, name="") for output in quote.question.outputs)
    keys = tuple(replace(key, name="") for key in quote.question.group.keys)
    plan = replace(quote.question, outputs=outputs, group=replace(quote.question.group, keys=keys))
    return hashlib.sha256(repr((version, plan, quote.request)).encode()).hexdigest()
