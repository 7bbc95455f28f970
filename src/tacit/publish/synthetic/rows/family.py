"""Synthetic rows of two tables that belong together, such as patients and their visits: parents, then children for each of them.

Parents are made by rounds (rounds.py) with one column more: the number of their children. Children are made by rounds too, from
rows joined with the columns of their parent: each gets a parent first, by the released numbers of children, and then values that
settle on the marginals of its own columns and on those with a column of the parent. Every child has a parent, by construction.

Both tables have the same unit, with one parent row for each. One event and one entry of the ledger pay for both. Proof: family.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from tacit.accounting.events import Batch
from tacit.accounting.ledger.entries import event_json
from tacit.accounting.ledger.selling import Sale
from tacit.errors import InvalidInput, NoBudget, NotAllowed
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.loss import Change
from tacit.privacy.rounding import Number, exact
from tacit.publish.synthetic.rows.cells import MOST_POINTS, Axis, Chosen, Codes, chosen_columns
from tacit.publish.synthetic.rows.certified import way_of_family
from tacit.publish.synthetic.rows.copies import read_copies, varied
from tacit.publish.synthetic.rows.inference import AGAIN, LAST, MOST_ROWS, drawn_codes, fit, read_rows, usual_rows
from tacit.publish.synthetic.rows.marginals import COLUMNS_TOGETHER, Design, Measured, Told
from tacit.publish.synthetic.rows.margins import margins_of
from tacit.publish.synthetic.rows.population import CLOSE, FINAL, require_numba
from tacit.publish.synthetic.rows.release import COPY, _read_record, _record, receipt_json, save_rows, values_of
from tacit.publish.synthetic.rows.rounds import Aim, measure_rounds, rounds_designs, settled
from tacit.query import plan
from tacit.query.engines.engine import Engine
from tacit.query.engines.exact import Exact
from tacit.query.price.price import Request, request
from tacit.query.price.work import afford_counts, afford_sums
from tacit.release.answer import Later, Receipt
from tacit.release.certificates.certificate import Certificate
from tacit.release.once import Form, once
from tacit.session import DataSet

PARENT, CHILD, COUNTED = 0, 1, 2  # sources of the joined relation: of the first table, the other one, and the number of children
HALF = Fraction(1, 2)  # of the budget, for each table
MOST_CHILDREN = 2 * 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Two tables that belong together: the chosen columns of both, and the axes of both designs (children: their own first)."""

    parent: Chosen
    child: Chosen
    number: Axis

    @property
    def of_parent(self) -> tuple[Axis, ...]:
        """The columns of parents, and the number of their children."""
        return (*self.parent.axes, self.number)

    @property
    def of_child(self) -> tuple[Axis, ...]:
        """The columns of children, and those of their parent under names of their own."""
        name = self.parent.table.name
        return (*self.child.axes, *(replace(axis, column=_renamed(axis.column, name)) for axis in self.parent.axes))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The marginals that the rounds of children may measure: pairs with a column of the child."""
        own = {axis.name for axis in self.child.axes}
        names = [axis.name for axis in self.of_child]
        return tuple(pair for pair in combinations(names, 2) if own & set(pair))


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticFamily:
    """Released rows of both tables with keys that fit, the measurements behind them, and the cost. All of it may be published."""

    family: Family
    parents: Measured
    children: Measured
    tables: Mapping[str, Mapping[str, Any]] = field(repr=False)
    receipt: Receipt
    certified: Any = field(repr=False)
    copy: tuple[int, int] | None = None

    @property
    def certificate(self) -> Certificate:
        """Why the price of the rows is right, signed."""
        made: Certificate = self.certified()
        return made

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table has."""
        return {name: len(next(iter(columns.values()))) for name, columns in self.tables.items()}

    def copies(self, number: int = 5, rows: int | None = None) -> tuple[SyntheticFamily, ...]:
        """Copy 0 from the released counts of both tables, and `number` copies from these with fresh noise, for `combine`.

        Post-processing, which costs nothing. Without `rows`, the number of parents varies too. The rule: copies.md.
        """
        number, rows = read_copies(number), read_rows(rows)
        return tuple(replace(self, tables=self._copy(at > 0, rows), copy=(at, number)) for at in range(number + 1))

    def _copy(self, anew: bool, rows: int | None) -> Mapping[str, Mapping[str, Any]]:
        parents, children = (varied(each) if anew else each for each in (self.parents, self.children))
        return drawn_tables(self.family, parents, children, usual_rows(parents) if rows is None else rows, CLOSE)

    def to_arrow(self, table: str) -> Any:
        """The rows of one of the two tables, as an Arrow table."""
        import pyarrow as pa

        if table not in self.tables:
            raise InvalidInput(f"unknown table {table}; expected one of: {', '.join(self.tables)}")
        return pa.table(dict(self.tables[table]))

    def save(self, folder: str | Path, ending: str = ".parquet") -> list[Path]:
        """Write both tables into a folder, each with receipt and certificate beside it; returns their paths."""
        places = [Path(folder) / f"{name}{ending}" for name in self.tables]
        told = self.to_dict()
        for place, (name, columns) in zip(places, self.tables.items(), strict=True):
            own = {**told, "table": name, "margins": told["margins"][name]}  # so that check-analysis reads each by itself
            save_rows(columns, own, place, self.certified)
        return places

    def to_dict(self) -> dict[str, Any]:
        """The release and its cost, without the rows; budgets are exact texts."""
        measured = (self.parents, self.children)
        return {
            "tables": self.rows,
            "keys": keys_of(self.family),
            "margins": {each.design.table.name: [margin.to_dict() for margin in margins_of(each)] for each in measured},
            "left_out": {each.table.name: dict(each.left_out) for each in (self.family.parent, self.family.child)},
            **({} if self.copy is None else {"copy": {"number": self.copy[0], "of": self.copy[1]}}),
            **receipt_json(self.receipt),
            "max_rows": self.family.child.table.max_rows,
            "events": event_json(_together([each.design for each in measured])),
            "notes": self.notes,
        }

    @property
    def notes(self) -> list[str]:
        """Facts that a reader must know about the rows, in sentences."""
        child = self.family.child.table
        words = [f"at most {child.max_rows} rows of {child.name} belong to one row of {self.family.parent.table.name}"]
        words += ["rows with the same parent are alike through its columns alone"]
        words += [COPY.format(*self.copy)] if self.copy and self.copy[0] else []
        return [*words, "measured before: nothing was spent"] if self.receipt.again else words


def synthesize_family(
    data: DataSet,
    parent: str,
    child: str,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rows: int | None = None,
    bins: int | None = None,
    analyst: str | None = None,
    told: Told | None = None,
) -> SyntheticFamily:
    """Synthetic rows of a table with one row for each unit, and of a table that refers to it; (epsilon, delta) for each unit.

    Half of the budget goes to each table. `rows` is the number of parents; the noisy total if omitted.
    """
    require_numba()
    if epsilon is None:
        raise NoBudget("missing budget for synthetic rows", remedy="give for example epsilon=1", argument="epsilon")
    family, number = family_of(data.as_prepared, parent, child, bins), read_rows(rows)
    designs = family_designs(family, request(epsilon=epsilon, delta=delta), data.catalog.change)
    _afford(family, data.catalog)
    names = (family.parent.table.name, family.child.table.name)
    session, what = data.session(analyst), f"synthetic rows of {names[0]} and {names[1]}"
    if data.as_prepared.per is not None:
        raise NotAllowed(
            "two tables together are not supported where the budget is one of each period",
            remedy="synthesize each of them by itself: tacit synthesize table",
        )
    sale = Sale(tuple(map(_together, designs)), session.analyst, what, data.version, _fingerprint(designs, data.version), names)
    kept: Form[tuple[Measured, Measured]] = Form(
        lambda measured: _kept(measured, designs, what), lambda text: _read_kept(text, designs)
    )
    sold = once(data.till, sale, lambda granted: measure_family(family, designs[granted.offer], data.engine, told), kept)
    parents, children = sold.value
    receipt = Receipt(exact(epsilon), _delta(parents), sold.left.epsilon, sold.left.delta, sold.entry, data.version, sold.repeated)
    made = drawn_tables(family, parents, children, usual_rows(parents) if number is None else number)
    return SyntheticFamily(family, parents, children, made, receipt, Later(partial(data.certified, sold.entry, session.analyst)))


def _delta(measured: Measured) -> Fraction:
    return measured.design.delta


# --- what may be made: the catalog decides -----------------------------------------------------------------------------------


def family_of(catalog: Catalog, parent: str, child: str, bins: int | None = None) -> Family:
    """The columns of both tables; refused if they do not belong together in a way that this supports."""
    first, second = (chosen_columns(catalog, name, None, bins) for name in (parent, child))
    one, other = first.table, second.table
    refers = None if other.unit is None else other.unit.references
    if one.unit is None and refers is not None and refers[0] == one.name:
        declared = f'declare unit = {{ column = "{refers[1]}" }} and max_rows = 1 in {one.name}'
        raise NotAllowed(f"every row of {one.name} is a unit without a key", remedy=f"{declared}, or synthesize each table alone")
    if one.unit is None or other.unit is None or other.unit.references != (one.name, one.unit.column) or one.unit.references:
        refer = f'declare unit = {{ column = ..., references = "{one.name}.KEY" }} in {other.name}'
        raise NotAllowed(
            f"{other.name} does not refer to the unit of {one.name}", remedy=f"{refer}, or synthesize each table alone"
        )
    if one.max_rows != 1:
        raise NotAllowed(
            f"{one.name} may have {one.max_rows} rows for each unit: parents must have one",
            remedy=f"declare max_rows = 1 in {one.name}, or synthesize each table alone",
        )
    if other.max_rows >= MOST_POINTS:
        raise NotAllowed(f"max_rows of {other.name} must be below {MOST_POINTS}", remedy="declare a smaller max_rows")
    number = Column(f"rows_of_{other.name}", "number", (Fraction(0), Fraction(other.max_rows)), Fraction(1), nulls="drop")
    family = Family(first, second, Axis.of(number))
    keys = keys_of(family)
    for table, axes in ((one, family.of_parent), (other, family.of_child)):
        names = [*(axis.name for axis in axes), keys[table.name]]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise NotAllowed(
                f"{twice} of {table.name} would be two columns", remedy="declare the key as { key = true }, or rename it"
            )
    return family


def _renamed(column: Column, table: str) -> Column:
    return replace(column, name=f"{table}__{column.name}")


def keys_of(family: Family) -> dict[str, str]:
    """The key column of each table."""
    tables = (family.parent.table, family.child.table)
    return {table.name: table.unit.column for table in tables if table.unit is not None}


def family_designs(family: Family, asked: Request, change: Change) -> list[tuple[Design, Design]]:
    """The designs of both tables, each for half of the epsilon, or with a delta of the rho; both have the same law of noise."""
    parents = rounds_designs(family.parent.table, family.of_parent, asked, change, Aim(share=HALF))
    children = rounds_designs(family.child.table, family.of_child, asked, change, Aim(workload=family.pairs, share=HALF))
    laws = {design.single.law: design for design in children}
    return [(design, laws[design.single.law]) for design in parents]


def _together(designs: Sequence[Design]) -> Batch:
    parts = [part for design in designs for part in (design.event.events if isinstance(design.event, Batch) else (design.event,))]
    return Batch(tuple(parts))


def _afford(family: Family, catalog: Catalog) -> None:
    """Refuse joins and counts that could take too long, by public declarations."""
    for relation, table, axes in (
        (parents_of(family), family.parent.table, family.of_parent),
        (children_of(family), family.child.table, family.of_child),
    ):
        afford_sums(plan.Group(relation, (), (plan.Moment("rows"),)), table, catalog.cores)
        afford_counts(table, [axis.cell() for axis in axes if axis.name in table.columns], 2 * COLUMNS_TOGETHER, catalog.cores)


# --- the data ----------------------------------------------------------------------------------------------------------------


def parents_of(family: Family) -> plan.UnitJoin:
    """Each parent, with the number of rows that its unit has in the other table, after the limit of both."""
    parent, child = family.parent.table, family.child.table
    counted = plan.PerUnit(_limited(child, CHILD), (), (plan.Total(family.number.name, "rows", None, 0),), COUNTED)
    return plan.UnitJoin(_limited(parent, PARENT), counted, (), "left", once=True, here=COUNTED + 1)


def children_of(family: Family) -> plan.UnitJoin:
    """Each child with the row of its parent, after the limit of both."""
    parent, child = family.parent.table, family.child.table
    return plan.UnitJoin(_limited(child, CHILD), _limited(parent, PARENT), (), "inner", once=True, here=COUNTED + 1)


def _limited(table: Table, source: int) -> plan.Bound:
    return plan.Bound(plan.Scan(table, source), table.max_rows)


@dataclass(frozen=True, slots=True)
class Linked:
    """An engine for counts of a joined relation: counts of one table, by columns of both."""

    engine: Engine
    relation: plan.UnitJoin
    columns: Mapping[str, plan.Row]

    def run(self, group: plan.Group) -> Exact:
        """The same counts over the joined relation."""
        return self.engine.run(relinked(group, self.relation, self.columns))


def relinked(group: plan.Group, relation: plan.UnitJoin, columns: Mapping[str, plan.Row]) -> plan.Group:
    """Counts of a limited table, as counts of a relation whose limits are its own, by other expressions of columns."""
    if not isinstance(group.child, plan.Bound):
        raise InvalidInput("only counts of one table can be joined with another")
    return replace(group, child=relation, keys=tuple(_moved(key, columns) for key in group.keys))


def _moved(node: Any, columns: Mapping[str, plan.Row]) -> Any:
    """The expression with each column replaced by what it stands for."""
    if isinstance(node, plan.Column):
        return columns[node.name]
    if isinstance(node, tuple):
        return tuple(_moved(each, columns) for each in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    return replace(node, **{each.name: _moved(getattr(node, each.name), columns) for each in fields(node) if each.init})


def parent_columns(family: Family) -> dict[str, plan.Row]:
    """The expression behind each column of parents in `parents_of`. A unit without a row in the other table has the number 0."""
    number, most = family.number.name, family.child.table.max_rows
    counted = plan.Column(COUNTED, number, 0, most, nullable=True)
    zero = ((plan.IsNull(counted), plan.Literal(0)),)
    own = {axis.name: _column(axis, PARENT) for axis in family.parent.axes}
    return {**own, number: plan.Choose(zero, counted, 0, most, nullable=False)}


def child_columns(family: Family) -> dict[str, plan.Row]:
    """The expression behind each column of children in `children_of`: of their own, and of their parent under its other name."""
    renamed = family.of_child[len(family.child.axes) :]
    of_parent = {other.name: _column(axis, PARENT) for axis, other in zip(family.parent.axes, renamed, strict=True)}
    return {**of_parent, **{axis.name: _column(axis, CHILD) for axis in family.child.axes}}


def _column(axis: Axis, source: int) -> plan.Column:
    return plan.Column(source, axis.name, 0, axis.column.points - 1, axis.column.nullable)


def measure_family(family: Family, designs: tuple[Design, Design], engine: Engine, told: Told | None) -> tuple[Measured, Measured]:
    """The released marginals of both tables: parents first. Only mechanisms see counts."""
    say = told or (lambda words, share: None)
    parents: Any = Linked(engine, parents_of(family), parent_columns(family))
    children: Any = Linked(engine, children_of(family), child_columns(family))
    return (
        measure_rounds(designs[0], parents, lambda words, share: say(words, share / 2)),
        measure_rounds(designs[1], children, lambda words, share: say(words, 0.5 + share / 2)),
    )


# --- the rows ----------------------------------------------------------------------------------------------------------------


def drawn_tables(
    family: Family, parents: Measured, children: Measured, number: int, temperature: float = FINAL
) -> dict[str, dict[str, Any]]:
    """Both tables, from released numbers alone: keys are 1, 2, 3, ... and every child has the key of its parent."""
    import pyarrow as pa

    number = min(number, MOST_ROWS, MOST_CHILDREN // family.child.table.max_rows)
    codes = drawn_codes(parents, fit(parents, number, temperature), number)
    keys = np.repeat(np.arange(1, number + 1), codes[-1])
    own = drawn_children(family, children, [each[keys - 1] for each in codes[:-1]], temperature)
    one, other = keys_of(family).values()
    names = (family.parent.table.name, family.child.table.name)
    first = {one: pa.array(np.arange(1, number + 1)), **values_of(family.parent, codes[:-1])}
    return {names[0]: first, names[1]: {other: pa.array(keys), **values_of(family.child, own)}}


def drawn_children(family: Family, measured: Measured, given: Sequence[Codes], temperature: float) -> tuple[Codes, ...]:
    """The cells of the children whose parents have the given cells: own columns settle, those of the parents stay."""
    total, own = int(given[0].size) if given else 0, len(family.child.axes)
    if not total:
        return tuple(np.zeros(0, dtype=np.int64) for _ in range(own))
    rows = settled(measured, total).resized(total)
    for place, cells in enumerate(given):
        rows.rows[:, own + place] = measured.merged_groups[own + place][cells]
    rows.moving, rows.temperature = own, temperature
    rows.settle(LAST + AGAIN)
    return drawn_codes(measured, rows, total)[:own]


# --- a release stays the same forever ----------------------------------------------------------------------------------------


def _fingerprint(designs: Sequence[tuple[Design, Design]], version: str) -> str:
    """The identity of a request: cells, budget and the prepared data; not the number of rows."""
    told = (
        "synthetic family",
        version,
        [repr((each.table.name, each.axes, each.single, each.rounds)) for two in designs for each in two],
    )
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _kept(measured: tuple[Measured, Measured], designs: Sequence[tuple[Design, Design]], what: str) -> str:
    parts = [json.loads(_record(each, [two[at] for two in designs], what)) for at, each in enumerate(measured)]
    return json.dumps({"certificate": way_of_family(*measured, what).kept, "parts": parts})


def _read_kept(text: str, designs: Sequence[tuple[Design, Design]]) -> tuple[Measured, Measured]:
    parts = [json.dumps(part) for part in json.loads(text)["parts"]]
    first, second = (_read_record(part, [two[at] for two in designs]) for at, part in enumerate(parts))
    return first, second
