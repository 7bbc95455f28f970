"""The source of flows, and the ledger that pays for a map.

The source is a file, with a ledger next to the output; or a declared table, with its catalog's ledger.

Both work in the same order: the public totals, the payment, and only then the homes.

Which ledger pays for a map: the catalog's, or one next to the output.

A file without a catalog has no budget of its own. The ledger next to the output records each release and adds them up, refuses none
until all of them together guarantee nothing, and does not see releases written elsewhere. With a catalog, the flows are a declared
table, and its one budget pays.

Group privacy: a map is priced for one job that moves its home. With a catalog, the real rows are adjusted to declared totals:
missing jobs come from elsewhere, and surplus jobs are cut. Then a person who comes or goes with j jobs moves at most j homes (each
job replaces one from elsewhere, or pushes one out at the end, in the order of cells), and a person whose jobs change moves at most
2 j. Ratios multiply: r^j; the deltas add up as `Approximate.group` says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tacit.accounting.events import Event, Resampling
from tacit.accounting.ledger.caps import at_least, at_most
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.selling import Granted, Sale
from tacit.accounting.ledger.units import Policy, Units
from tacit.data.catalog import read_catalog
from tacit.data.files.columns import read_columns
from tacit.data.store import read_files
from tacit.errors import BudgetExceeded, InvalidBudget, InvalidCatalog, InvalidInput, NoLedger, NotAllowed, UnknownName, WrongType
from tacit.mechanisms.dirichlet.counts import Codes, coded_blocks, named_blocks, tallied_jobs
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import QUESTIONS_AT_MOST, Budget, Catalog, Column, Table
from tacit.privacy.loss import Approximate, Neighbours, Pure, weakened
from tacit.privacy.rounding import as_text, exp_down, exp_up, log_up
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.commuters.flows import (
    Columns,
    Homes,
    Totals,
    block_indexes,
    declared_totals,
    homes_of,
    read_homes,
    read_totals,
)
from tacit.publish.synthetic.commuters.geography import Blocks, Zones
from tacit.publish.synthetic.commuters.model import MOST_EPSILON, ONE_JOB, Offer, Terms, offered, undropped
from tacit.query.engines import check_tallies
from tacit.query.engines.engine import TALLY
from tacit.query.plan import Bound, Scan
from tacit.release.certificates.keys import signer_in
from tacit.release.certificates.ways import Seal
from tacit.release.once import Till, once
from tacit.release.outputs import check_apart, check_output
from tacit.release.reads import Reads, reads_of

if TYPE_CHECKING:
    from tacit.session import DataSet

Made = TypeVar("Made")
NO_CAP = Budget(Fraction(10**9), Fraction(1, 2))
HOMES = Units((("flows", '["job"]'),))
TRIES = 20
NOTHING = Approximate(0, 0, ONE_JOB)
KNOWS = "this ledger records only releases to this file; with a catalog, one budget covers all releases of the same flows"


@dataclass(frozen=True, slots=True)
class Paid:
    """Where a release is recorded; for a ledger next to an output, also how many releases it has recorded and their total."""

    ledger: str
    entry: int
    loss: Approximate
    releases: int = 0
    total: Approximate = NOTHING
    note: str = ""
    seal: Seal | None = field(default=None, repr=False, compare=False)  # signs the certificate

    @property
    def together(self) -> str:
        """Everything that the ledger has recorded, as one claim."""
        return claim_text(self.total)

    def to_dict(self) -> dict[str, Any]:
        """The entry for the receipt, rounded up."""
        loss = self.loss
        price = {"ratio": ratio_of(loss.epsilon), "epsilon": at_least(loss.epsilon), "delta": at_least(loss.delta)}
        record = {"ledger": self.ledger, "entry": self.entry, "price": price}
        beside = {"releases": self.releases, "together": self.together, "note": self.note}
        return record | (beside if self.releases else {})


def ratio_of(epsilon: Fraction) -> str:
    """e^epsilon, rounded up; written as a power if it is too large to be meaningful.

    >>> ratio_of(Fraction(3)), ratio_of(Fraction(1000))
    ('20.0856', 'e^1000')
    """
    return at_least(exp_up(epsilon)) if epsilon < MOST_EPSILON else f"e^{at_least(epsilon)}"


def claim_text(loss: Approximate) -> str:
    """A loss in words: the ratio, its epsilon, and delta."""
    return f"ratio {ratio_of(loss.epsilon)} (epsilon {at_least(loss.epsilon)}), delta {at_least(loss.delta)}"


def ledger_beside(out: Path) -> Path:
    """The path of the ledger next to an output."""
    return out.with_name(f"{out.name}.ledger.sqlite")


def sell_beside(out: Path, loss: Pure | Approximate, what: str, run: Callable[[Paid], Made]) -> Made:
    """The result of `run`, after the ledger next to its output has recorded the release."""
    place = ledger_beside(out)

    def run_recorded(granted: Granted) -> Made:
        entry = granted.entry
        total = Approximate(entry.spent.epsilon or 0, entry.spent.delta, ONE_JOB)
        seal = Seal(entry, QUESTIONS_AT_MOST, lambda: signer_in(place.absolute().parent / ".tacit"))
        return run(Paid(place.name, entry.number, weakened(loss), entry.questions, total, KNOWS, seal))

    sale = Sale((event_of(loss, ONE_JOB),), "curator", what, "a file without a catalog")
    try:
        return once(Till(_beside(place)), sale, run_recorded).value
    except BudgetExceeded:
        raise InvalidBudget(
            f"with this release, the total delta in {place.name} would be too large for a meaningful guarantee; "
            "give a smaller delta, or --pure"
        ) from None


def _beside(place: Path) -> Ledger:
    """The ledger next to an output, created if it is missing; its unit is, and always was, the home of a job."""
    address, policy = f"sqlite:///{place.absolute()}", Policy(NO_CAP, neighbours=ONE_JOB, units=HOMES)
    try:
        ledger = open_ledger(address, policy)
    except NoLedger:  # no file, or one without a ledger yet: another process is creating it, or was killed
        with suppress(InvalidInput):  # another process was first
            begin_ledger(address, policy, bits.random_bytes(16).hex())
        ledger = open_ledger(address, policy)
    if ledger.changed_units():
        ledger.accept_units(1, "curator", "homes of jobs, as before")
    return ledger


def sell_from(data: DataSet, sale: Sale, loss: Approximate, run: Callable[[Paid], Made]) -> Made:
    """The result of `run`, paid for from the budget of a catalog; the loss is already under its relation."""
    return once(data.till, sale, lambda granted: run(_paid_from(data, granted, loss))).value


def _paid_from(data: DataSet, granted: Granted, loss: Approximate) -> Paid:
    seal = Seal(granted.entry, data.catalog.questions_at_most, lambda: data.signer)
    return Paid("the catalog's ledger", granted.entry.number, loss, seal=seal)


def homes_moved(table: Table, relation: Neighbours) -> int:
    """The most homes that one person of a catalog moves: see the module."""
    return table.max_rows if relation.change == "add-remove" else 2 * table.max_rows


def for_person(loss: Pure | Approximate, table: Table, relation: Neighbours) -> Approximate:
    """The loss of one person of a catalog, who has at most `max_rows` jobs, under the catalog's relation.

    >>> from tacit.privacy.catalog import Source
    >>> jobs = Table("jobs", Source("csv", "jobs.csv"), {}, max_rows=2)
    >>> print(for_person(Approximate(1, 1e-6, ONE_JOB), jobs, Neighbours("add-remove", "unit")))
    epsilon 2, delta 3.71828e-06 (add or remove one unit)
    """
    moves = homes_moved(table, relation)
    try:
        several = weakened(loss).group(moves)
    except InvalidBudget:
        raise InvalidBudget(
            f"one person of {table.name} moves up to {moves} homes, for which delta {as_text(loss.delta)} grows beyond 1; "
            "use a much smaller delta, --pure, or a smaller max_rows"
        ) from None
    return Approximate(several.epsilon, several.delta, relation)


def affordable(
    offer: Offer, price: Callable[[Offer], Approximate], admits: Callable[[Approximate], bool], epsilon_of_one: Fraction
) -> Offer | None:
    """The same release at a smaller ratio that is admitted, near the largest such ratio and rounded down; None if none fits.

    `epsilon_of_one` is the most that one job may cost. The cost of dropping grows as the ratio falls, so each ratio is priced
    separately.
    """
    rest = epsilon_of_one - (offer.loss.epsilon - log_up(offer.terms.ratio))
    for _ in range(TRIES):
        ratio = Fraction(at_most(exp_down(rest))) if rest > 0 else Fraction(1)
        if ratio <= 1:
            return None
        try:
            old = offer.terms
            terms = Terms(ratio, old.delta, old.keeping, old.workers, old.prior)
            tried = offered(offer.totals, offer.origins, terms)
            if admits(price(tried)):
                return tried
        except InvalidBudget:  # with this much noise, the cost of dropping is too high
            return None
        rest -= max(tried.loss.epsilon - epsilon_of_one, rest / 1000)
    return None


def event_of(loss: Pure | Approximate, relation: Neighbours) -> Event:
    """The event for the ledger: it records probabilistic privacy as (ln r, delta), the form that survives post-processing."""
    return Resampling(loss.epsilon, loss.delta, relation)


# --- where flows come from and which ledger pays -----------------------------------------------------------------------------


FROM_THE_FILE = "the totals of destinations are exact counts of the flows; they are published without protection"
CATALOG = "tacit.toml"
LODES = Columns()
DECLARED = "the totals of destinations are declared in the catalog; the flows were adjusted to them"


class Source(Protocol):
    """Flows, and the ledger that pays for them."""

    @property
    def note(self) -> str:
        """Where the totals come from, for the receipt."""

    def check(self, out: Path) -> None:
        """Refuse an output that cannot be written, that would replace an input, or that would later be read as flows."""

    def totals(self, blocks: Blocks, destinations: Zones) -> Totals:
        """The public totals; no home is read."""

    def sell(self, offer: Offer, what: str, run: Callable[[Paid], Made]) -> Made:
        """The result of `run` on the homes, once; the price is durable before it is called."""

    def homes(self, blocks: Blocks, totals: Totals) -> Homes:
        """The private side."""


@dataclass(frozen=True, slots=True)
class FlowsFile:
    """A file of flows that no catalog declares; the ledger is kept next to `out`."""

    path: Path
    out: Path
    columns: Columns = LODES
    note: str = FROM_THE_FILE

    def check(self, out: Path) -> None:
        """Refuses an output that would overwrite the flows."""
        check_output(out, [self.path])

    def totals(self, blocks: Blocks, destinations: Zones) -> Totals:
        """The public number of jobs at each destination."""
        return read_totals(self.path, self.columns, blocks, destinations)

    def sell(self, offer: Offer, what: str, run: Callable[[Paid], Made]) -> Made:
        """The result of `run`, after the ledger next to the output has recorded it."""
        return sell_beside(self.out, offer.loss, what, run)

    def homes(self, blocks: Blocks, totals: Totals) -> Homes:
        """The homes of all workers: private."""
        return read_homes(self.path, self.columns, blocks, totals)


@dataclass(frozen=True, slots=True)
class DeclaredFlows:
    """A private table of a catalog, one row per job; `declared` is a public table with the columns destination and jobs."""

    data: DataSet
    table: str
    columns: Columns
    declared: str
    analyst: str
    note: str = DECLARED
    periods: str | None = None

    def check(self, out: Path) -> None:
        """Refuses an output that would overwrite a file of the catalog."""
        check_apart(self.data.catalog, out)
        check_output(out, read_files(self.data.catalog))

    def totals(self, blocks: Blocks, destinations: Zones) -> Totals:
        """The public number of jobs at each destination, from the declared table."""
        check_tallies(self.data.catalog, _table(self.data.catalog, self.table), self._names())
        table = _table(self.data.catalog, self.declared)
        if not table.public or table.source.kind not in ("csv", "parquet"):
            raise NotAllowed(
                f"{table.name} does not declare public totals",
                remedy="declare a public table of a CSV or Parquet file with the columns destination and jobs",
            )
        place = self.data.catalog.folder / table.source.location
        names, counted = (column.to_pylist() for column in read_columns(place, ["destination", "jobs"], table.source.encoding))
        if not all(jobs and jobs.isascii() and jobs.isdigit() for jobs in counted) or len(set(names)) < len(names):
            raise InvalidInput(f"{table.name} must have a whole number of jobs in every row, and each destination once")
        return declared_totals({str(name): int(jobs) for name, jobs in zip(names, counted, strict=True)}, destinations)

    def sell(self, offer: Offer, what: str, run: Callable[[Paid], Made]) -> Made:
        """The result of `run`, after the catalog's ledger has recorded it."""
        loss = self._price(offer)
        event, tables = event_of(loss, self.data.catalog.neighbours), (_table(self.data.catalog, self.table).name,)
        sale = Sale((event,), self.analyst, what, self.data.version, tables=tables, charge=self._reads().charge([event]))
        try:
            return sell_from(self.data, sale, loss, run)
        except BudgetExceeded as refused:
            raise BudgetExceeded(refused.message, remedy=self._within_budget(offer), argument=("keep", "ratio")) from None

    def _price(self, offer: Offer) -> Approximate:
        """The cost of the release for all jobs that one person may have."""
        return for_person(offer.loss, _table(self.data.catalog, self.table), self.data.catalog.neighbours)

    def _within_budget(self, offer: Offer) -> str:
        """An alternative that fits: an admitted ratio with its price, without dropping if necessary. All of it is public."""
        raised = "ask the data owner to raise that budget in tacit.toml"
        if self.data.catalog.per is not None:
            return f"give a smaller ratio or delta, choose other periods, or {raised}"
        if other := self._admitted_offer(offer):
            keep = "" if other.terms.keeping == offer.terms.keeping else "keep=all "
            return f"give {keep}ratio={at_least(other.terms.ratio)}, which costs {claim_text(self._price(other))}, or {raised}"
        return f"give a smaller delta, or --pure, or {raised}" if self._most() and offer.terms.delta else raised

    def _admitted_offer(self, offer: Offer) -> Offer | None:
        """The release at a ratio that the ledger admits; if dropping leaves no such ratio, the one that keeps all cells."""
        catalog = self.data.catalog
        most = self._most() / homes_moved(_table(catalog, self.table), catalog.neighbours)

        def admits(loss: Approximate) -> bool:
            return self.data.ledger.admits(event_of(loss, catalog.neighbours), self.analyst)

        affordable_offer = affordable(offer, self._price, admits, most)
        return affordable_offer or affordable(undropped(offer), self._price, admits, most)

    def _most(self) -> Fraction:
        """The largest epsilon that one release of this analyst may have now."""
        left, policy = self.data.ledger.left(self.analyst).epsilon, self.data.catalog.analysts.get(self.analyst)
        most = policy.epsilon_per_query if policy else None
        return left if most is None else min(left, most)

    def homes(self, blocks: Blocks, totals: Totals) -> Homes:
        """The homes, from the version that was opened before the payment, and from no other."""
        table, chosen = _table(self.data.catalog, self.table), self._columns()
        engine = self._reads().engine(self.data.engine)
        counted = engine.tallies(Bound(Scan(table), table.max_rows), self._names())
        work, home = (_blocks(counted, column, blocks) for column in chosen)
        return homes_of(work, home, tallied_jobs(counted, TALLY), totals)

    def _reads(self) -> Reads:
        return reads_of(self.data.as_prepared, _table(self.data.as_prepared, self.table), self.data.version, self.periods)

    def _names(self) -> list[str]:
        return list(dict.fromkeys(column.name for column in self._columns()))

    def _columns(self) -> tuple[Column, Column]:
        """The two columns of the table, declared so that the names of blocks can be read from the store."""
        table = _table(self.data.catalog, self.table)
        if table.public:
            raise NotAllowed(f"{table.name} is public and needs no protection", remedy="name the private table of jobs")
        destination, origin = (_column(table, name) for name in (self.columns.destination, self.columns.origin))
        return destination, origin


def require_undeclared(path: Path, *named: Path) -> None:
    """Refuse a file that a catalog declares: one of the named catalogs, or one in a folder above the file.

    An invalid catalog declares nothing, unless it contains the name of the file.
    """
    for place in (*named, *(folder / CATALOG for folder in path.absolute().parents)):
        if not place.is_file():
            continue
        try:
            refuse_declared(path, read_catalog(place))
        except InvalidCatalog:
            if path.name in place.read_text(encoding="utf-8", errors="replace"):
                raise


def refuse_declared(path: Path, catalog: Catalog) -> None:
    """Raises if a catalog declares the file: a separate ledger would miss the catalog's spending."""
    for table in catalog.tables.values():
        is_file = table.source.kind in ("csv", "parquet")
        if not table.public and is_file and (catalog.folder / table.source.location).resolve() == path.resolve():
            raise NotAllowed(
                f"{path.name} is the table {table.name} of {catalog.path}, whose budget pays for every release of it",
                remedy=f"give --catalog {catalog.path}, and {table.name} instead of the file",
            )


def _table(catalog: Catalog, name: str) -> Table:
    if name.lower() not in catalog.tables:
        raise UnknownName(f"unknown table {name}", remedy=f"expected one of: {', '.join(catalog.tables)}")
    return catalog.tables[name.lower()]


def _column(table: Table, name: str) -> Column:
    column = table.columns.get(name.lower())
    if column is None:
        raise UnknownName(f"unknown column {name} of {table.name}", remedy='declare it, for example { keys = "private" }')
    if column.kind not in ("text", "category"):
        raise WrongType(
            f"{table.name}.{name} is declared as a {column.kind}, but names of blocks must be text",
            remedy='declare it as { keys = "private" }, or with its values',
        )
    return column


def _blocks(rows: Sealed[Any], column: Column, blocks: Blocks) -> Sealed[Codes]:
    """The index of the block in each row, from the text or the code in the store."""
    import pyarrow as arrow

    if column.kind == "text":
        return named_blocks(rows, column.name, blocks.names.tolist())
    indexes = block_indexes(arrow.array([str(value) for value in column.domain], arrow.string()), blocks)
    return coded_blocks(rows, column.name, np.append(indexes, len(blocks)))
