"""Bounds of a column that has none yet, proposed privately for the data owner, who declares them or others (mechanisms/bounds.md).

The source is prepared as by `tacit prepare`, with this column alone, into a folder of its own that is removed at the end: the
same cleaning, the same units, the same limit of rows. The headers of the sources are checked first, and the ledger has the entry
before any row is read. Whatever the rows, the answer is a proposal or "none found"; both cost the same.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.accounting.ledger.selling import Sale
from tacit.data.declaration import key_text, whole_text
from tacit.data.files.sources import source_files
from tacit.data.ownership import links
from tacit.data.prepare import LedgerMark, prepare
from tacit.data.prepare.staging import check_sources
from tacit.errors import NotAllowed, UnknownName
from tacit.mechanisms.bounds import BEGINS, LARGEST, Proposal, ProposedBounds
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.rounding import Number, as_text, exact
from tacit.privacy.sealed import Sealed
from tacit.query.engines import engine_for
from tacit.query.plan import Bound, Choose, Compare, Group, Key, Literal, Moment, NumberType, Row, Scan, Term
from tacit.query.plan import Column as Stored
from tacit.query.price.price import UNIT
from tacit.release.answer import Receipt
from tacit.release.once import Form, Till, once
from tacit.release.reads import Reads, reads_of

STEP = Fraction(1, 10**6)
MOST_ROWS = 2**33  # so that no size stops it after the spend


@dataclass(frozen=True, slots=True)
class BoundsProposal:
    """The released proposal for a column; `bounds` is None where no bin had a noisy count above the threshold."""

    table: str
    column: str
    bounds: Proposal
    max_rows: int
    threshold: int
    receipt: Receipt

    @property
    def line(self) -> str | None:
        """The line to paste into the catalog."""
        if self.bounds is None:
            return None
        whole = all(end.denominator == 1 for end in self.bounds)
        declared = {"bounds": [int(end) if whole else float(end) for end in self.bounds]} | ({} if whole else {"step": 0.015625})
        return f"{key_text([self.column])} = {whole_text(declared)}"

    def to_dict(self) -> dict[str, Any]:
        """The proposal and its cost as plain values; budgets are exact texts."""
        left = self.receipt.left_epsilon
        return {
            "table": self.table,
            "column": self.column,
            "bounds": None if self.bounds is None else [float(end) for end in self.bounds],
            "line": self.line,
            "max_rows": self.max_rows,
            "threshold": self.threshold,
            "price": {"epsilon": as_text(self.receipt.epsilon), "delta": "0"},
            "left": None if left is None else {"epsilon": as_text(left)},
            "entry": self.receipt.entry,
            **({"periods": self.receipt.periods} if self.receipt.periods else {}),
            "again": self.receipt.again,
        }


def propose_bounds(
    till: Till, catalog: Catalog, named: str, epsilon: Number, paying: Sale, periods: str | None = None
) -> BoundsProposal:
    """The proposed bounds of `table.column`; spends epsilon of the data set before a row of the source is read.

    `paying` says who pays, and under which version. The same proposal of the same files is not paid for again. Where the budget is
    one of each period, all that have begun are read and pay, or those of `periods`.
    """
    table, column = _named_column(catalog, named)
    reads = reads_of(catalog, table, paying.data_version, periods)
    staged = _catalog_of(catalog, table, column)
    check_sources(staged)
    budget = exact(epsilon)
    own = budget / 2 if catalog.change == "change-one" else budget  # an event for add/remove counts twice there
    proposing = ProposedBounds(table.max_rows, own, UNIT)
    asked, what = (table.name, column, as_text(budget), reads.key), f"bounds of {table.name}.{column}"
    sale = replace(paying, offers=(proposing.event,), question=what, key=_key_of(staged, asked), tables=(table.name,))
    sale = replace(sale, charge=reads.charge(sale.offers))
    sold = once(till, sale, lambda granted: proposing.release(_counts(staged, table, column, reads)), KEPT)
    receipt = Receipt(budget, Fraction(0), sold.left.epsilon, sold.left.delta, sold.entry, paying.data_version, sold.repeated)
    receipt = replace(receipt, periods=reads.words)
    return BoundsProposal(table.name, column, sold.value, table.max_rows, proposing.threshold, receipt)


def _read(text: str) -> Proposal:
    ends = json.loads(text)
    return None if ends is None else (Fraction(ends[0]), Fraction(ends[1]))


KEPT: Form[Proposal] = Form(lambda ends: json.dumps(None if ends is None else [str(end) for end in ends]), _read)


def _key_of(staged: Catalog, asked: tuple[str, ...]) -> str:
    """Under which a proposal is kept: what is declared, and when the files were written last; none where rows are not in files."""
    tables = [staged.tables[name] for name in sorted(staged.tables)]
    if any(each.source.kind == "postgres" for each in tables):
        return ""
    declared = [(each.name, each.columns, each.unit, each.max_rows, each.no_unit, each.notation) for each in tables]
    read = [(each.source.multiline, each.source.encoding, each.source.separator, each.source.table) for each in tables]
    written = [[file.stat().st_mtime_ns for file in source_files(staged, each.source)] for each in tables]
    return hashlib.sha256(repr(("bounds", asked, staged.change, declared, read, written)).encode()).hexdigest()


def _named_column(catalog: Catalog, named: str) -> tuple[Table, str]:
    """The private table and its column, by names alone; refused before anything is spent."""
    parted = [(named[:at].lower(), named[at + 1 :].lower()) for at, sign in enumerate(named) if sign == "."]
    found = [(catalog.tables[table], column) for table, column in parted if table in catalog.tables]
    if not found:
        raise UnknownName(f"unknown column {named}; expected table.column of: {', '.join(sorted(catalog.tables))}")
    table, column = next(((table, column) for table, column in found if column in table.columns), found[0])
    if table.public:
        raise NotAllowed(f"{table.name} is public: its bounds can be read from it", remedy="name a column of a private table")
    if column not in table.columns:
        raise UnknownName(
            f"{table.name} does not declare {column}", remedy=f"add {key_text([column])} = {{ }} to its columns first"
        )
    if table.columns[column].kind not in ("presence", "number"):
        raise NotAllowed(f"{table.name}.{column} is declared as something else than a number", remedy="declare it as { } first")
    return table, column


def _counts(staged: Catalog, table: Table, column: str, reads: Reads) -> Sealed[Any]:
    """The exact counts of all bins, sealed, from a store of its own.

    A file that is not what the catalog declares stops it, as it stops `tacit prepare`: if it were read in another way instead, one
    row would change how all others are read.
    """
    try:
        return _counted(staged, table, column, reads)
    finally:
        with suppress(OSError):
            shutil.rmtree(staged.store_folder)


def _counted(staged: Catalog, table: Table, column: str, reads: Reads) -> Sealed[Any]:
    version = prepare(staged, mark=LedgerMark()).version
    engine = engine_for(staged, version)
    try:
        own = staged.tables[table.name]
        key = Key(column, Term(_bin(own.columns[column]), NumberType(Fraction(1))))
        (moment,) = reads.engine(engine).run(Group(Bound(Scan(own), own.max_rows), (key,), (Moment("rows"),))).moments
        assert isinstance(moment, Sealed)  # noqa: S101  # a number of rows is not a list
        return moment
    finally:
        engine.close()


def _catalog_of(catalog: Catalog, table: Table, column: str) -> Catalog:
    """The catalog with this column alone, and the tables that lead to its units; its store is a folder of its own."""
    numbers = Column(column, "number", (-LARGEST, LARGEST), STEP, nulls="drop", notation=table.columns[column].notation)
    keys = {name: each for name, each in table.columns.items() if each.kind == "key" or name == table.period}
    tables = {table.name: replace(table, columns={**keys, column: numbers}, rows_at_most=MOST_ROWS)}
    for link in links(catalog, table):
        own = {name: each for name, each in link.table.columns.items() if each.kind == "key" or name == link.table.period}
        tables[link.table.name] = replace(link.table, columns=own, rows_at_most=MOST_ROWS)
    if table.unit is not None and table.unit.references is not None:
        for name, each in catalog.tables.items():  # the tables that a reference names, also where the value itself is the unit
            if name not in tables and not each.public:
                kept = {key: one for key, one in each.columns.items() if one.kind == "key" or key == each.period}
                tables[name] = replace(each, columns=kept, rows_at_most=MOST_ROWS)
    place = catalog.kept / f"bounds-{bits.random_bytes(8).hex()}"
    return replace(catalog, tables=tables, store_path=str(place), store_engine="duckdb", store_master=None, store_cores=None)


def _bin(column: Column) -> Row:
    """The bin of a prepared value."""
    stored = Stored(0, column.name, 0, column.points - 1, column.nullable)
    ends = [int((begin + LARGEST) / STEP) for begin in BEGINS[1:]]
    branches = tuple((Compare("<", stored, Literal(end)), Literal(place)) for place, end in enumerate(ends))
    return Choose(branches, Literal(len(ends)), 0, len(ends), nullable=False)
