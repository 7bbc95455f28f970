"""A data set: its catalog with the prepared data and the ledger, and the data owner's actions.

    prepare, begin a ledger, open it, accept changes    the data owner's actions; none of them answers a query
    Opened                                              the store, the ledger and the engine, each opened when it is first needed

The analyst's side is in `session.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tacit.accounting.filter import Left
from tacit.accounting.ledger import rollback
from tacit.accounting.ledger.accounts import Account, accounts_of, room_for
from tacit.accounting.ledger.ledger import Ledger, open_ledger
from tacit.accounting.ledger.ledger import begin_ledger as begin_books
from tacit.accounting.ledger.units import Policy, policy_of
from tacit.data.catalog import Stamp, read_catalog, stamp_of
from tacit.data.catalog.periods import begun_through
from tacit.data.store import StoreInfo, kept_version, prepared_for, require_small_files, store_info
from tacit.errors import InvalidInput, NoLedger, StoreUnusable
from tacit.mechanisms.noise import bits
from tacit.privacy.arguments import text_of, truth_of, whole_of
from tacit.privacy.catalog import ASSUMED_ROWS, Catalog, analyst_name, assuming, fingerprint, having_begun, prepared_under
from tacit.privacy.periods import Period, Run, periods_of
from tacit.privacy.rounding import Number
from tacit.query.engines import EMBEDDED, engine_for, opening
from tacit.query.engines.engine import Engine, StoredFacts
from tacit.query.free import Facts
from tacit.query.offers import Remembered
from tacit.query.price.quote import request
from tacit.release.noisy import Holder, InProcess, Runner
from tacit.release.once import Till

if TYPE_CHECKING:
    from tacit.accounting.ledger.caps import Standing
    from tacit.data.engine import Progress
    from tacit.data.prepare.verdict import Prepared
    from tacit.release.certificates.keys import Signer

CURATOR = "curator"
MOST_STEPS = 10**6  # old units that one new unit touches: beyond this, a restated price is meaningless
OWN_PROCESS = True
REMAINING = "the remaining budget"


@dataclass(frozen=True, slots=True)
class Preparing:
    """How to prepare data: `DataSet.prepare` explains each field."""

    progress: Progress | None = None
    new_ledger: bool = False
    reason: str = ""
    memory: str = "60%"
    accept: bool = False
    keep_version: bool = False
    sources: Mapping[str, Any] | None = None
    through: str | None = None
    add: Sequence[str | Path] | None = None
    afresh: bool = False


def add_data(catalog: Catalog, begun: Callable[[], Ledger | None], asked: Preparing, replaced: Callable[[], None]) -> Prepared:
    """Prepare new files beside the store of a catalog with periods; `replaced` is called once its description is replaced."""
    from tacit.data.prepare.adding import add, check_addition, given_files, registered
    from tacit.data.registering import registration

    if asked.keep_version or asked.new_ledger or asked.sources is not None or asked.afresh:
        raise InvalidInput("add comes with files alone; leave out keep_version, new_ledger, sources and afresh", argument="add")
    given = given_files(catalog, asked.add or ())
    before = begun_in(catalog)
    check_addition(catalog if before is None else begun_through(catalog, None, before), store_info(catalog), given)
    catalog = begun_through(catalog, asked.through, before)
    ledger, reason = begun(), text_of(asked.reason, "reason")
    register = registration(registered(catalog, given), os.environ)
    register.require_alone(None if ledger is None else ledger.identity, reason)
    prepared = add(catalog, given, asked.progress, memory=asked.memory, accept=asked.accept)
    replaced()
    if ledger is not None:
        register.record(ledger.identity)
        if reason:
            ledger.note(CURATOR, reason)
    return replace(prepared, notes=(*prepared.notes, *((register.word,) if register.word else ())))


def prepare_data(catalog: Catalog, begun: Callable[[], Ledger | None], asked: Preparing, replaced: Callable[[], None]) -> Prepared:
    """Copy the declared data into a new store; `replaced` is called once it has replaced the old one.

    `begun` opens the ledger of the data set, if it has one.
    """
    from tacit.data.files.sources import given_tables
    from tacit.data.prepare import prepare
    from tacit.data.registering import KEPT, UNCHANGED, is_unchanged, registration, remember_sources, seen_files

    before = None if catalog.per is None else begun_in(catalog)
    _require_first_rows(catalog, asked)
    catalog = catalog if catalog.per is None and asked.through is None else begun_through(catalog, asked.through, before)
    if asked.keep_version and catalog.per is not None and catalog.per.begun != before:
        raise InvalidInput("keep_version declares that nothing has changed, and a period begins; leave keep_version out")
    given = given_tables(catalog, asked.sources)
    register = registration(catalog, os.environ, given)
    reason, new_ledger = text_of(asked.reason, "reason"), truth_of(asked.new_ledger, "new_ledger")
    ledger = begun()
    register.require_alone(None if ledger is None else ledger.identity, reason)
    if new_ledger and ledger is not None:
        raise InvalidInput("this data set already has a ledger; leave new_ledger out")
    _settle_units(catalog, ledger)
    same, seen = is_unchanged(catalog), seen_files(catalog)
    if asked.keep_version and same is False:
        kept_version(catalog)  # raises if it is the catalog that has changed
        raise StoreUnusable("the sources have changed since the last preparation", remedy="leave keep_version out")
    keep = asked.keep_version or (same is True and catalog.changes == "public" and _has_version(catalog))
    how = {"memory": asked.memory, "accept": asked.accept, "keep_version": keep}
    prepared = prepare(catalog, asked.progress, given=given, **how)  # type: ignore[arg-type]
    replaced()
    remember_sources(catalog, seen)
    if same and not asked.keep_version:
        prepared = replace(prepared, notes=(*prepared.notes, KEPT if keep else UNCHANGED), unchanged=True)
    ledger = begin_unregistered(catalog, reason) if new_ledger else ledger
    if ledger is not None:
        ledger.note_public()  # before anything that is now public is reported
        register.record(ledger.identity)
        if reason and not new_ledger:
            ledger.note(CURATOR, reason)
    return replace(prepared, notes=(*prepared.notes, *((register.word,) if register.word else ())))


def _require_first_rows(catalog: Catalog, asked: Preparing) -> None:
    """Refuse to prepare the declared sources alone, where a store has rows that were added beside them."""
    with suppress(StoreUnusable):
        if catalog.per is not None and (info := store_info(catalog)) is not None and info.added and not asked.afresh:
            raise InvalidInput(
                "the store has rows that were added to it, and preparing reads the declared sources alone; add the new files "
                "with --add, or name all files in source and give --afresh",
                argument="afresh",
            )


def begun_in(catalog: Catalog) -> Run | None:
    """The periods that have begun by the record of the store; None if there is no store of this catalog."""
    with suppress(StoreUnusable):
        info = store_info(catalog)
        return None if info is None or prepared_under(catalog, info.fingerprint) is None else info.begun
    return None


def as_recorded(catalog: Catalog, info: StoreInfo) -> Catalog:
    """The catalog with the periods that have begun, and the versions of their rows, by the record of the store."""
    per = catalog.per
    return catalog if per is None else having_begun(catalog, replace(per, begun=info.begun, versions=info.versions))


def _has_version(catalog: Catalog) -> bool:
    """Whether there is a store of this catalog, whose version can be kept."""
    with suppress(StoreUnusable):
        return bool(kept_version(catalog))
    return False


def _settle_units(catalog: Catalog, ledger: Ledger | None) -> None:
    """Let entries of format 1 count for the units that the store of their version declared, while that store exists."""
    if ledger is None or ledger.head.units:
        return
    with suppress(StoreUnusable):
        if ledger.versions() == {prepared_for(catalog)}:
            ledger.accept_units(1, CURATOR, "the units that the store of these entries declared")


# --- the ledger --------------------------------------------------------------------------------------------------------------


def begin_registered(catalog: Catalog, reason: str, sources: Mapping[str, Any] | None = None) -> Ledger:
    """Begin the ledger of a data set, once, and record it in the register."""
    from tacit.data.files.sources import given_tables
    from tacit.data.registering import registration

    register = registration(catalog, os.environ, given_tables(catalog, sources))
    register.require_alone(None, text_of(reason, "reason"))
    begun = begin_unregistered(catalog, reason)
    register.record(begun.identity)
    return begun


def begin_unregistered(catalog: Catalog, reason: str) -> Ledger:
    """Begin a ledger that is not registered. It takes over the entries of a lost ledger that the prepared data remembers."""
    folder = heads_folder(catalog)
    if catalog.per is not None and rollback.remembered_heads(folder):
        raise StoreUnusable(
            "the ledger was lost, and the sums of its periods are not remembered anywhere else", remedy="restore it from a backup"
        )
    policy = rollback.with_the_split_of(folder, policy_of(catalog))
    begun = begin_books(catalog.ledger_address(os.environ), policy, bits.random_bytes(16).hex(), reason)
    if rollback.remembered_heads(folder):
        rollback.adopt(folder, begun, CURATOR, reason or "begun in the place of a lost one")
    else:
        rollback.remember_head(folder, begun.head)
    return begun


def heads_folder(catalog: Catalog) -> Path:
    """The folder that remembers the last entries of the ledger; what earlier versions kept elsewhere is moved there."""
    return rollback.take_over_heads(catalog.store_folder, catalog.heads_folder)


def own_ledger(catalog: Catalog) -> Ledger:
    """The ledger that was begun, not a copy of its file; catalogs share one only if they declare the same data set name."""
    from tacit.data.registering import require_no_copy

    address = catalog.ledger_address(os.environ)
    ledger = open_ledger(address, policy_of(catalog))
    name = ledger.belongs.get("data_set", catalog.name)
    at_home = catalog.ledger_url is None and catalog.data_set is None  # a folder may be renamed with its content
    if ledger.belongs.get("catalog", catalog.file) != catalog.file if at_home else name != catalog.name:
        raise StoreUnusable(
            f"this ledger belongs to the data set '{name}', and this catalog is that of '{catalog.name}'",
            remedy=f'to share one budget, declare [ledger] data_set = "{name}" in both; else declare another [ledger] url',
        )
    require_no_copy(ledger.identity, address, os.environ)
    return ledger


def adopt_ledger(catalog: Catalog, ledger: Ledger, reason: str) -> int | None:
    """Accept the ledger that was found as the data set's own; returns the number of the entry that records this."""
    entry = rollback.adopt(heads_folder(catalog), ledger, CURATOR, text_of(reason, "reason"))
    return None if entry is None else entry.number


def restate_units(ledger: Ledger, steps: int, reason: str) -> int:
    """Let the ledger count for the currently declared units; returns the number of the entry that restates all earlier ones."""
    count = whole_of(steps, "steps", 1, MOST_STEPS)
    return ledger.accept_units(count, CURATOR, text_of(reason, "reason")).number


def resume_answers(ledger: Ledger, reason: str) -> int:
    """Allow queries again after failures; returns the number of the entry that records this."""
    return ledger.resume(CURATOR, text_of(reason, "reason")).number


# --- what a session asks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Door:
    """The changes of a door for analysts: caps below the catalog's, and how they see the ledger, which may be less than it knows.

    All that an explanation says of the ledger follows from `seen` and `balance`, and `remaining` says in words what they count.
    """

    policy: Callable[[Catalog], Policy] = policy_of
    seen: Callable[[Standing], Standing] = lambda standing: standing
    balance: Callable[[Standing], Left] = lambda standing: standing.left
    remaining: Callable[[], str] = lambda: REMAINING
    shared: Callable[[Standing], Left] = lambda standing: standing.shared
    shown: Callable[[], str] = lambda: "exact"


class Opened:
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

    def close(self) -> None:
        """Closes the prepared data if it is open; the next query opens the store as it is then."""
        if "runner" in self.__dict__:
            self.runner.close()
        if "engine" in self.__dict__:
            self.engine.close()
        for name in ("runner", "engine", "store", "public"):
            self.__dict__.pop(name, None)
        self.remembered = Remembered()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def accounts(self, analyst: str | None = None) -> list[Account]:
        """Spent and remaining budget: of the data set, and of every analyst or of one."""
        named = None if analyst is None else analyst_name(text_of(analyst, "analyst"))
        ledger = self.ledger  # this reads a changed catalog
        return accounts_of(self.catalog, ledger, named)

    def questions_left(self, epsilon: Number, delta: Number = 0, analyst: str | None = None) -> int:
        """How many further questions of `epsilon` (and `delta`) are admitted: for all analysts together, or for one."""
        named, asked = None if analyst is None else text_of(analyst, "analyst"), request(epsilon, delta)
        return room_for(self.ledger, asked.epsilon or 0, asked.delta, named)

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
        through: str | None = None,
        add: Sequence[str | Path] | None = None,
        afresh: bool = False,
    ) -> Prepared:
        """Copy the declared data into a new store; `new_ledger` begins the ledger of the data set, once.

        Refuses if another ledger already covers the same sources, unless a reason is given, which the new ledger records. Also
        refuses if the data does not look as declared (no row kept, over half of a column unusable), unless `yes`. The store has a
        new version, so no earlier answer is repeated for it; `keep_version` declares, publicly, that the data has not changed.
        `sources` has the rows of each table declared with `source = "memory"`: a pandas or Polars DataFrame, or an Arrow table,
        prepared as a Parquet file with the same columns would be. `through` names the last period that has begun, where the budget
        is one of each period; by default the one named before. There, `add` names files of new rows, as FILE or "TABLE=FILE", to
        be prepared beside the others; `afresh` prepares the declared sources alone although rows were added.
        """
        asked = Preparing(progress, new_ledger, reason, memory, yes, keep_version, sources, through, add, afresh)
        if add is not None:
            return add_data(self.as_prepared, lambda: self._ledger_or_none, asked, replaced=self.close)
        catalog = assuming(self.catalog, ASSUMED_ROWS)  # not what the old store was prepared under
        return prepare_data(catalog, lambda: self._ledger_or_none, asked, replaced=self.close)

    def begin_ledger(self, reason: str = "", *, sources: Mapping[str, Any] | None = None) -> Ledger:
        """Begin the ledger of this data set, once. It takes over the entries of a lost ledger that the prepared data remembers.

        `sources` has the rows of each table declared with `source = "memory"`: the register needs them to recognize the data.
        """
        return begin_registered(self.catalog, reason, sources)

    def begin_scratch(self, reason: str) -> Ledger:
        """Begin a ledger that is not registered: for a short-lived copy of data whose answers are not published."""
        return begin_unregistered(self.catalog, reason)

    def adopt(self, reason: str) -> int | None:
        """Accept the ledger that was found as this data set's own; returns the number of the entry that records this."""
        return adopt_ledger(self.catalog, self.ledger, reason)

    def accept_units(self, steps: int, reason: str) -> int:
        """Let the ledger count for the currently declared units; returns the number of the entry that restates all earlier ones."""
        return restate_units(self.ledger, steps, reason)

    def resume(self, reason: str) -> int:
        """Allow queries again after failures; returns the number of the entry that records this."""
        return resume_answers(self.ledger, reason)

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger was begun for this data set."""
        return self._ledger_or_none is not None

    @property
    def _ledger_or_none(self) -> Ledger | None:
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
        info = store_info(self.catalog) if self._holder is None else self._holder.info()
        if info is None:
            raise StoreUnusable("the data has not been prepared", remedy="run: tacit prepare")
        if (catalog := prepared_under(self.catalog, info.fingerprint)) is None:
            raise StoreUnusable("the catalog changed after the data was prepared", remedy="run: tacit prepare")
        self._check_cores(catalog)
        self.catalog = as_recorded(catalog, info)
        return info

    def periods(self) -> list[Period]:
        """The periods that have begun, the oldest first: names, days, whether closed, versions. Empty where the budget has none."""
        self.refresh()
        return [] if self.catalog.per is None else periods_of(self.as_prepared.per, self.version)

    @property
    def as_prepared(self) -> Catalog:
        """The catalog, with the number of rows that the store was prepared under, if there is one."""
        with suppress(StoreUnusable):
            _ = self.store
        return self.catalog

    @cached_property
    def engine(self) -> Engine:
        return engine_for(self.catalog, self.version)

    @cached_property
    def runner(self) -> Runner:
        """Where queries run; nothing else decides it."""
        if self._holder is not None:
            return self._holder.runner(lambda: self.catalog, self.version)
        if self.own_process and self.catalog.store_engine == EMBEDDED:  # the work of any other is done elsewhere, and ended there
            from tacit.release.elsewhere.own import OwnProcess

            return OwnProcess(opening(self.catalog, self.version))
        return InProcess(self.engine)

    @cached_property
    def public(self) -> Facts:
        return StoredFacts(self.store.public, self.engine) if self._holder is None else self._holder.facts(self.store)

    @cached_property
    def signer(self) -> Signer:
        """The signer of certificates and heads; its key is made when it is first needed."""
        from tacit.release.certificates.keys import signer_in

        return signer_in(self.catalog.kept)

    @property
    def public_if_prepared(self) -> Facts:
        """The facts about public tables; before anything is prepared, facts that refuse a query of a public table."""
        from tacit.query.price.planned import Unprepared

        try:
            return self.public
        except StoreUnusable:
            return Unprepared()

    @property
    def till(self) -> Till:
        """Where every release from this data set is paid for; the data is opened before it is paid for."""
        ready, catalog = self.runner.open if self._holder else self.engine.open, self.catalog
        folder = catalog.heads_folder if self._holder else heads_folder(catalog)
        return Till(self.ledger, folder, self.store.ledger, ready, catalog.kept)

    @property
    def source_till(self) -> Till:
        """Where a release from the sources themselves is paid for, prepared or not: it opens no store."""
        info = self._store_or_none
        return Till(self.ledger, heads_folder(self.catalog), None if info is None else info.ledger, log=self.catalog.kept)

    @property
    def source_version(self) -> str:
        """The version of the prepared data that such an entry names, if there is any."""
        info = self._store_or_none
        return "not prepared" if info is None else info.version

    @property
    def _store_or_none(self) -> StoreInfo | None:
        try:
            return store_info(self.catalog)
        except StoreUnusable:  # of another format: its sources can be read all the same
            return None

    @property
    def ledger(self) -> Ledger:
        """The ledger, under the budget and the caps that the catalog declares now: a lowered cap also binds open sessions."""
        self.refresh()
        if self.catalog.per is not None and self.catalog.per.begun is None:
            _ = self.as_prepared  # the store says which periods have begun
        return self.open_ledger()

    def open_ledger(self) -> Ledger:
        """The ledger as far as the catalog is known: a clerk opens it before an engine has told which periods have begun."""
        self._opened = ledger = (self._opened or own_ledger(self.catalog)).under(self.door.policy(self.catalog))
        return ledger

    def _check_cores(self, catalog: Catalog) -> None:
        if self._holder is None:  # which checks it where the store is
            require_small_files(catalog)

    def refresh(self) -> None:
        """Read the catalog again if its file has changed; what was prepared must be unchanged."""
        if self.catalog.path is None or self._read_at is None or (now := stamp_of(self.catalog.path)) == self._read_at:
            return
        catalog = read_catalog(self.catalog.path)
        if (now_declared := prepared_under(catalog, fingerprint(self.catalog))) is None:
            raise StoreUnusable("the catalog changed after it was opened", remedy="open it again")
        self._check_cores(now_declared)
        if now_declared.per is not None and self.catalog.per is not None:
            before = self.catalog.per
            now_declared = having_begun(now_declared, replace(now_declared.per, begun=before.begun, versions=before.versions))
        self.catalog, self._read_at = now_declared, now
        self.remembered = Remembered()  # after the catalog
