"""Compiles a plan to one Ibis expression, mostly by a table: the engine's SQL comes from the plan, never from the analyst's text.

Its expressions are written by rows.py. Sums are int64 sums of parts below 2^29, so 2^33 rows cannot overflow them; `assemble`
recombines them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce, singledispatch
from operator import or_
from typing import Any

import ibis
import ibis.expr.types as ir

from tacit.privacy.periods import Runs
from tacit.query.engines.engine import TALLY
from tacit.query.engines.rows import above, compute_columns, stored_name, value, whole, without_parts
from tacit.query.named_parts import NAME, in_list
from tacit.query.plan import (
    Bound,
    Code,
    Column,
    Condition,
    Group,
    Join,
    Moment,
    PerUnit,
    PublicScan,
    Relation,
    Row,
    Scan,
    Semi,
    TextColumn,
    Total,
    Union,
    UnitJoin,
    Where,
)
from tacit.query.trees import below, expressions_of, nodes_of

LIMB = 28
MASK = 2**LIMB - 1
UNIT, RANK, OTHER = "tacit_unit", "tacit_rank", "tacit_other"
PERIOD, OTHER_PERIOD = "tacit_period", "tacit_other_period"


# --- relations ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tables:
    """The stored tables by name, and how many rows of a unit a store says that it holds of them at most (store.md)."""

    named: Callable[[str], ir.Table]
    limits: Mapping[str, int] = field(default_factory=dict)

    def keep(self, name: str, most: int) -> bool:
        """Whether every stored row is among the first `most` of its unit, so that no rank needs to be read."""
        return self.limits.get(name.lower(), most + 1) <= most


@dataclass(frozen=True, slots=True)
class Reading:
    """The stored tables, and which of their columns a plan needs: other columns are not read, joined or held."""

    tables: Tables
    needed: frozenset[str]

    @classmethod
    def of(cls, group: Group, tables: Tables) -> Reading:
        """The inputs of a plan: the columns of its expressions, and ranks if rows of a group or groups of a unit are limited."""
        nodes = (node for whole in expressions_of(group) for node in nodes_of(whole))
        columns = {stored_name(node.source, node.name) for node in nodes if isinstance(node, Column | TextColumn)}
        ranked = group.per_group is not None or any(isinstance(step, PerUnit) and step.most is not None for step in below(group))
        ranks = {stored_name(step.source, RANK) for step in below(group) if isinstance(step, Scan)} if ranked else set()
        return cls(tables, frozenset(columns | ranks))

    def stored(self, name: str, source: int) -> tuple[ir.Table, dict[str, Any]]:
        """A stored table with the columns that are needed, by their names in the plan."""
        table = self.tables.named(name.lower())
        return table, {named: table[name] for name in table.columns if (named := stored_name(source, name)) in self.needed}


@singledispatch
def relation(node: Relation, reading: Reading) -> ir.Table:
    """The engine's rows for a relation."""
    raise TypeError(f"no engine form for {type(node).__name__} without a row limit")


@relation.register
def _(node: Bound, reading: Reading) -> ir.Table:
    stored, columns = reading.stored(node.child.table.name, node.child.source)
    kept = reading.tables.keep(node.child.table.name, node.max_rows)
    limited = stored if kept else stored.filter(stored[RANK] < node.max_rows)
    if (node.periods is None) == (PERIOD in stored.columns):
        raise TypeError("a table with periods is read in those that are charged, and no other table is")
    if node.periods is not None:
        limited = _in_periods(limited, node.periods)
    own = [limited[name] for name in (UNIT, PERIOD) if name in limited.columns]
    return limited.select(*own, **{name: limited[column.get_name()] for name, column in columns.items()})


def _in_periods(rows: ir.Table, runs: Runs) -> ir.Table:
    """The rows of the periods that a question is charged to."""
    return rows.filter(reduce(or_, (rows[PERIOD].between(low, high) for low, high in runs), ibis.literal(False)))


def _equal_periods(rows: ir.Table, other: ir.Table, column: str) -> list[Any]:
    """The comparison of two sides by their periods, whatever the text says; none where a side has no periods."""
    return [rows[PERIOD] == other[column]] if PERIOD in rows.columns and column in other.columns else []


@relation.register
def _(node: PublicScan, reading: Reading) -> ir.Table:
    stored, columns = reading.stored(node.table.name, node.source)
    return stored.select(**columns)


@relation.register
def _(node: Join, reading: Reading) -> ir.Table:
    rows = relation(node.child, reading)
    key = stored_name(node.source, node.right)
    public, columns = reading.stored(node.table.name, node.source)
    public = public.select(**{**columns, key: public[node.right]})
    if node.condition is not None:
        public = _filter(public, node.condition)
    rows, (left,) = _side(rows, [node.left])
    return without_parts(rows.join(public, left == public[key], how=node.kind))


def _filter(rows: ir.Table, condition: Condition) -> ir.Table:
    rows, (tested,) = compute_columns(rows, [condition])
    return without_parts(rows.filter(value(tested, rows)))


@relation.register
def _(node: UnitJoin, reading: Reading) -> ir.Table:
    """Joins on the unit, whatever else is compared: two units may claim one key, with different codes (store.md)."""
    rows, other = relation(node.child, reading), relation(node.other, reading)
    here = stored_name(node.here, "here")
    marked = {here: whole(0)} if here in reading.needed else {}
    other = other.mutate(**{OTHER: other[UNIT]}, **marked).drop(UNIT)
    both = PERIOD in rows.columns and PERIOD in other.columns
    if node.kind == "left" and PERIOD in other.columns and not both:
        raise TypeError("rows without a period cannot be kept beside rows that have one")
    other = other.rename(**{OTHER_PERIOD: PERIOD}) if both else other
    rows, other, on = _equal_sides(rows, other, node.pairs)
    on = [*_equal_periods(rows, other, OTHER_PERIOD), *on]
    if not implies_unit(node.pairs):
        on.insert(0, rows[UNIT] == other[OTHER])
    return without_parts(rows.join(other, on, how=node.kind).drop(OTHER, *([OTHER_PERIOD] if both else [])))


def _equal_sides(rows: ir.Table, other: ir.Table, pairs: Sequence[tuple[Row, Row]]) -> tuple[ir.Table, ir.Table, list[Any]]:
    """Both sides of a join, with what is compared of them, and the comparisons."""
    rows, lefts = _side(rows, [left for left, _ in pairs])
    other, rights = _side(other, [right for _, right in pairs], "other_")
    return rows, other, [left == right for left, right in zip(lefts, rights, strict=True)]


def _side(rows: ir.Table, nodes: Sequence[Row], mark: str = "") -> tuple[ir.Table, list[Any]]:
    """Rows, and what a join compares of them; a lookup in a list is a column first, since a join may not look into a list."""
    rows, compared = compute_columns(rows, nodes, mark)
    made = {place: f"{NAME}{mark}on_{place}" for place, node in enumerate(compared) if any(map(in_list, nodes_of(node)))}
    rows = rows.mutate(**{name: value(compared[place], rows) for place, name in made.items()}) if made else rows
    return rows, [rows[made[place]] if place in made else value(node, rows) for place, node in enumerate(compared)]


@relation.register
def _(node: Semi, reading: Reading) -> ir.Table:
    """A semi- or anti-join: on the unit, if the other rows have one. NULL equals nothing."""
    rows, other = relation(node.child, reading), relation(node.other, reading).view()  # both may be the same rows
    rows, other, on = _equal_sides(rows, other, node.pairs)
    if UNIT in other.columns and not implies_unit(node.pairs):
        on.insert(0, rows[UNIT] == other[UNIT])
    on = [*_equal_periods(rows, other, PERIOD), *on]
    return without_parts(rows.anti_join(other, on) if node.negated else rows.semi_join(other, on))


def implies_unit(pairs: Sequence[tuple[Row, Row]]) -> bool:
    """Whether rows that agree in all pairs are of one unit: a stored code stands for a key and its unit (store.md).

    One comparison of dense integers is what engines join fastest, so the unit is compared only where no code is.
    """
    return any(isinstance(left, Code) and isinstance(right, Code) for left, right in pairs)


@relation.register
def _(node: PerUnit, reading: Reading) -> ir.Table:
    rows = relation(node.child, reading)
    totals = [total for total in node.totals if total.value is not None]
    rows, found = compute_columns(rows, [*(row for _, row in node.keys), *(total.value for total in totals)])
    values = [value(each, rows) for each in found]
    keys = {stored_name(node.source, name): made - whole(row.low) for (name, row), made in zip(node.keys, values, strict=False)}
    over = {total.name: made for total, made in zip(totals, values[len(keys) :], strict=True)}
    rows = rows.mutate(**keys, **over)
    made = {stored_name(node.source, total.name): _total(total, rows) for total in node.totals}
    if node.most is not None:
        return _first_groups(rows, list(keys), made, node.most)
    own = _own(rows)
    return rows.group_by([*own, *keys]).aggregate(**made) if made else rows.select(*own, *keys).distinct()


def _own(rows: ir.Table) -> list[str]:
    """The columns that say whose a row is: its unit, and its period if it has one."""
    return [name for name in (UNIT, PERIOD) if name in rows.columns]


def _first_groups(rows: ir.Table, keys: list[str], made: dict[str, Any], most: int) -> ir.Table:
    """The first `most` groups of each unit, in the order of the least ranks of its rows in them; keys decide between equal ranks.

    Both are facts about the rows of that unit alone, so no other unit has a say in which of its groups are kept.
    """
    ranks = [name for name in rows.columns if name.endswith(f":{RANK}")]
    least = {f"tacit_first_{place}": rows[name].min() for place, name in enumerate(ranks)}
    own = _own(rows)
    grouped = rows.group_by([*own, *keys]).aggregate(**made, **least)
    order = [grouped[name] for name in (*least, *keys)]
    placed = grouped.mutate(
        tacit_place=ibis.row_number().over(ibis.window(group_by=[grouped[name] for name in own], order_by=order))
    )
    return placed.filter(placed["tacit_place"] < most).drop("tacit_place", *least)


def _total(total: Total, rows: ir.Table) -> Any:
    """The total of a unit's rows as an offset; its range is below 2^53, so 64-bit sums are exact."""
    if total.value is None:
        return rows.count() - whole(total.low)
    over = rows[total.name]
    match total.kind:
        case "rows":
            total_sum = over.count()
        case "distinct":
            total_sum = over.nunique()
        case "least":
            total_sum = over.min()
        case "largest":
            total_sum = over.max()
        case "sum":
            total_sum = _short_sum(over)
        case _:
            counted = over.count()
            below = ibis.cases((counted == whole(0), ibis.null("int64")), else_=counted) * whole(total.divisor)
            offsets = _short_sum(over - whole(total.value.low)) * whole(total.times)
            total_sum = (offsets / below).floor()
    return total_sum - whole(total.low)


def _short_sum(over: Any) -> Any:
    """A sum below 2^53 as 64 bits. The engine returns 128 bits, and Ibis, which assumes 64, would leave out a plain cast."""
    return over.sum().cast("float64").cast("int64")


@relation.register
def _(node: Union, reading: Reading) -> ir.Table:
    parts = []
    for part, values in node.parts:
        rows = relation(part, reading)
        rows, values = compute_columns(rows, values)
        columns = zip(node.names, node.lows, values, strict=True)
        made = {stored_name(node.source, name): value(row, rows).cast("int64") - whole(low) for name, low, row in columns}
        parts.append(rows.select(*(rows[name] for name in _own(rows)), **made))
    return ibis.union(*parts)


@relation.register
def _(node: Where, reading: Reading) -> ir.Table:
    return _filter(relation(node.child, reading), node.condition)


def group_rows(group: Group, tables: Tables) -> ir.Table:
    """The rows of a group with its keys as columns key_0, key_1, ..., limited in each group if that is declared."""
    rows = relation(group.child, Reading.of(group, tables))
    rows, keys = compute_columns(rows, [key.term.node for key in group.keys])
    rows = without_parts(rows.mutate(**{f"key_{place}": value(key, rows) for place, key in enumerate(keys)}))
    if group.per_group is None:
        return rows
    inside = [*(rows[name] for name in _own(rows)), *(rows[f"key_{place}"] for place in range(len(group.keys)))]
    first = None if group.limited is None else stored_name(group.limited, RANK)
    ranks = sorted((name for name in rows.columns if name.endswith(f":{RANK}")), key=lambda name: name != first)
    others = [name for name in rows.columns if name.startswith("s") and name not in ranks]
    order = [rows[name] for name in (*ranks, *others)]
    numbered = rows.mutate(tacit_place=ibis.row_number().over(ibis.window(group_by=inside, order_by=order)))
    return numbered.filter(numbered["tacit_place"] < group.per_group)


def sums(group: Group, tables: Tables) -> ir.Table:
    """One row per group, private groups in the order of their keys: the keys, and the parts m0_rows, m0_sum0, ... of every sum."""
    rows = group_rows(group, tables)
    summed = {place: moment for place, moment in enumerate(group.moments) if moment.kind != "list"}
    needed = dict.fromkeys(node for moment in summed.values() for node in moment.parts)
    values = {node: f"value_{place}" for place, node in enumerate(needed)}
    rows, written = compute_columns(rows, list(needed))
    rows = rows.mutate(**{f"value_{place}": value(node, rows) for place, node in enumerate(written)})
    parts: dict[str, Any] = {}
    for place, moment in summed.items():
        exact = [rows[values[node]] for node in moment.parts]
        parts |= {f"m{place}_{name}": part for name, part in moment_parts(moment, exact, rows).items()}
    keys = [f"key_{place}" for place in range(len(group.keys))]
    summed_up = rows.group_by(keys).aggregate(**parts) if keys else rows.aggregate(**parts)
    return summed_up.order_by(keys) if any(isinstance(key.term.node, TextColumn) for key in group.keys) else summed_up


def lists(group: Group, place: int, tables: Tables, singly: bool = True) -> ir.Table:
    """One row, unordered, per group and value of a moment of kind list: the keys, `value` (relative to its low end) and `rows`.

    Where there can be at least as many values as rows, grouping by them shortens no list for sure, and takes long: then each row
    comes by itself, without `rows`, if `singly` allows it. Declarations decide it, not the data.
    """
    node = group.moments[place].value
    rows = group_rows(group, tables)
    rows, values = compute_columns(rows, [node, node] if node is not None else [])  # Ibis writes it again where it may be NULL
    rows = rows.mutate(value=above(value(values[0], rows), node.low) if node is not None else whole(0))
    rows = rows.filter(rows["value"].notnull()) if node is not None and node.nullable else rows
    listed = [*(f"key_{place}" for place in range(len(group.keys))), "value"]
    most = max((step.table.most_rows for step in below(group) if isinstance(step, Scan)), default=0)
    if singly and node is not None and node.high - node.low >= most > 0:
        return rows.select(*listed)
    return rows.group_by(listed).aggregate(rows=rows.count())


def stored(bound: Bound, columns: Sequence[str], tables: Tables) -> ir.Table:
    """The rows that a limit keeps, with some stored columns under their own names."""
    named = {name: stored_name(bound.child.source, name) for name in columns}
    rows = relation(bound, Reading(tables, frozenset(named.values())))
    return rows.select(**{name: rows[held] for name, held in named.items()})


def tally_of(bound: Bound, columns: Sequence[str], tables: Tables) -> ir.Table:
    """Each combination of values in these rows that occurs, NULL among them, and under `TALLY` how many rows have it."""
    rows = stored(bound, columns, tables)
    return rows.group_by(list(columns)).aggregate(**{TALLY: rows.count()})


def moment_parts(moment: Moment, columns: Sequence[Any], rows: ir.Table) -> dict[str, Any]:
    """The int64 sums that make up a moment of one column, or of two."""
    if moment.kind == "units":
        return {"units": rows[UNIT].nunique()}
    if moment.kind == "distinct":
        return {"distinct": columns[0].nunique()}
    if moment.value is None:
        return {"rows": rows.count()}
    exact = columns[0]
    counted = {"rows": exact.count() if moment.value.nullable else rows.count()}  # all rows: cheaper, and often counted anyway
    if moment.kind == "rows":
        return counted
    offset, spread = above(exact, moment.value.low), moment.value.high - moment.value.low
    counted |= {f"sum{limb}": part.sum() for limb, part in _limbs(offset, spread)}
    if moment.kind == "squares":
        counted |= {f"square{limb}": part.sum() for limb, part in _square_limbs(offset, spread)}
    if moment.kind == "products" and moment.other is not None:
        other, most = above(columns[1], moment.other.low), moment.other.high - moment.other.low
        counted |= {f"other{limb}": part.sum() for limb, part in _limbs(other, most)}
        counted |= {f"product{name}": part.sum() for name, part in _product_limbs(offset, other, spread, most)}
    return counted


def _product_limbs(one: Any, other: Any, largest: int, most: int) -> list[tuple[str, Any]]:
    """The product of two non-negative integers below 2^53, in parts below 2^29: a letter of the product, and a weight in it."""
    if largest * most < 2**53:
        return [(f"A{weight}", part) for weight, part in _limbs(one * other, largest * most)]
    low, high, least, rest = one & MASK, one >> LIMB, other & MASK, other >> LIMB
    products = {"A": low * least, "B": low * rest, "C": high * least, "D": high * rest}
    return [(f"{name}{weight}", part) for name, product in products.items() for weight, part in _limbs(product, 2**56)]


def _limbs(number: Any, largest: int) -> list[tuple[int, Any]]:
    """A non-negative integer in parts below 2^29, each with its weight as a power of two."""
    if largest < 2 ** (LIMB + 1):
        return [(0, number)]
    return [(0, number & MASK), (LIMB, number >> LIMB)]


def _square_limbs(number: Any, largest: int) -> list[tuple[int, Any]]:
    """The square of a non-negative integer below 2^53, in parts below 2^29."""
    if largest < 2**26:
        return _limbs(number * number, largest**2)
    low, high = number & MASK, number >> LIMB
    products = [(0, low * low), (LIMB + 1, low * high), (2 * LIMB, high * high)]
    return [(weight + more, part) for weight, product in products for more, part in _limbs(product, 2**56)]
