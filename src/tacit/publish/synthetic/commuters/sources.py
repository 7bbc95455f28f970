"""Where flows come from and which ledger pays: a file, with a ledger next to the output; or a declared table, with its catalog's.

Both work in the same order: the public totals, the payment, and only then the homes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.accounting.ledger.caps import at_least
from tacit.accounting.ledger.selling import Sale
from tacit.data.catalog import read_catalog
from tacit.data.files.columns import read_columns
from tacit.data.store import read_files
from tacit.errors import BudgetExceeded, InvalidCatalog, InvalidInput, NotAllowed, UnknownName, WrongType
from tacit.mechanisms.dirichlet_counts import Codes, coded_blocks, named_blocks, tallied_jobs
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.loss import Approximate
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.commuters.flows import (
    Columns,
    Homes,
    Totals,
    declared_totals,
    homes_of,
    numbered,
    read_homes,
    read_totals,
)
from tacit.publish.synthetic.commuters.geography import Blocks, Zones
from tacit.publish.synthetic.commuters.model import Offer, undropped
from tacit.publish.synthetic.commuters.spending import (
    Made,
    Paid,
    affordable,
    claimed,
    event_of,
    for_person,
    homes_moved,
    sold_beside,
    sold_from,
)
from tacit.query.engines import check_tallies
from tacit.query.engines.engine import TALLY
from tacit.query.plan import Bound, Scan
from tacit.release.outputs import check_apart, check_output

if TYPE_CHECKING:
    from tacit.session import DataSet

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
        """What `run` makes of the homes, once; the price is durable before it is called."""

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
        """What `run` makes, after the ledger next to the output has recorded it."""
        return sold_beside(self.out, offer.loss, what, run)

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
        """What `run` makes, after the catalog's ledger has recorded it."""
        loss = self._price(offer)
        event, tables = event_of(loss, self.data.catalog.neighbours), (_table(self.data.catalog, self.table).name,)
        sale = Sale((event,), self.analyst, what, self.data.version, tables=tables)
        try:
            return sold_from(self.data, sale, loss, run)
        except BudgetExceeded as refused:
            raise BudgetExceeded(refused.message, remedy=self._within_budget(offer)) from None

    def _price(self, offer: Offer) -> Approximate:
        """What the release costs for all jobs that one person may have."""
        return for_person(offer.loss, _table(self.data.catalog, self.table), self.data.catalog.neighbours)

    def _within_budget(self, offer: Offer) -> str:
        """An alternative that fits: an admitted ratio with its price, without dropping if necessary. All of it is public."""
        raised = "ask the data owner to raise that budget in tacit.toml"
        if found := self._admitted(offer):
            keep = "" if found.terms.keeping == offer.terms.keeping else "keep=all "
            return f"give {keep}ratio={at_least(found.terms.ratio)}, which costs {claimed(self._price(found))}, or {raised}"
        return f"give a smaller delta, or --pure, or {raised}" if self._most() and offer.terms.delta else raised

    def _admitted(self, offer: Offer) -> Offer | None:
        """The release at a ratio that the ledger admits; if dropping leaves no such ratio, the one that keeps all cells."""
        catalog = self.data.catalog
        most = self._most() / homes_moved(_table(catalog, self.table), catalog.neighbours)

        def admits(loss: Approximate) -> bool:
            return self.data.ledger.admits(event_of(loss, catalog.neighbours), self.analyst)

        found = affordable(offer, self._price, admits, most)
        return found or affordable(undropped(offer), self._price, admits, most)

    def _most(self) -> Fraction:
        """The largest epsilon that one release of this analyst may have now."""
        left, policy = self.data.ledger.left(self.analyst).epsilon, self.data.catalog.analysts.get(self.analyst)
        most = policy.epsilon_per_query if policy else None
        return left if most is None else min(left, most)

    def homes(self, blocks: Blocks, totals: Totals) -> Homes:
        """The homes, from the version that was opened before the payment, and from no other."""
        table, chosen = _table(self.data.catalog, self.table), self._columns()
        counted = self.data.engine.tallies(Bound(Scan(table), table.max_rows), self._names())
        work, home = (_blocks(counted, column, blocks) for column in chosen)
        return homes_of(work, home, tallied_jobs(counted, TALLY), totals)

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
            undeclared(path, read_catalog(place))
        except InvalidCatalog:
            if path.name in place.read_text(encoding="utf-8", errors="replace"):
                raise


def undeclared(path: Path, catalog: Catalog) -> None:
    """Refuse a file that a catalog declares: a separate ledger would miss what the catalog's has paid for."""
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
    known = numbered(arrow.array([str(value) for value in column.domain], arrow.string()), blocks)
    return coded_blocks(rows, column.name, np.append(known, len(blocks)))
