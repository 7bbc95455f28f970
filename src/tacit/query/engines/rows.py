"""Row expressions and conditions as columns of Ibis, mostly by a table: one function for each kind of node.

Exactness: every row integer is below 2^53 (terms.py). `floor(a / b)` for a constant b goes through a double in Ibis; for 0 <= a <
2^53 that is exact, since a / b is at least 1 / b away from the next integer and its rounding is off by less than that (a 2^-53 / b
< 1 / b).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

import ibis
import ibis.expr.types as ir

from tacit.privacy.rounding import log_up
from tacit.query.named_parts import NAME, Clipped, Divided, Node, Part, Stairs, Steps, Tangent, in_list, in_steps, named
from tacit.query.plan import (
    Add,
    All,
    Among,
    Choose,
    Column,
    Compare,
    Either,
    IsNull,
    Literal,
    Logarithm,
    Lookup,
    Multiply,
    Negation,
    Quotient,
    Ratio,
    Root,
    TextColumn,
    TextIs,
    TextLike,
    Truth,
)

ROOTS = 10  # square roots of the argument of a logarithm


@singledispatch
def value(node: Node, rows: ir.Table) -> Any:
    """The engine's expression for a row integer or a condition."""
    raise TypeError(f"no engine form for {type(node).__name__}")


@value.register
def _(node: Column, rows: ir.Table) -> Any:
    stored = rows[stored_name(node.source, node.name)]
    return stored + whole(node.low) if node.low else stored


@value.register
def _(node: TextColumn, rows: ir.Table) -> Any:
    return rows[stored_name(node.source, node.name)]


@value.register
def _(node: Literal, rows: ir.Table) -> Any:
    return whole(node.value)


@value.register
def _(node: Add, rows: ir.Table) -> Any:
    return value(node.left, rows) + value(node.right, rows)


@value.register
def _(node: Multiply, rows: ir.Table) -> Any:
    return value(node.left, rows) * value(node.right, rows)


@value.register
def _(node: Quotient, rows: ir.Table) -> Any:
    """Shifted by a whole multiple of the divisor to be non-negative, so that the division is exact."""
    shift = -(node.child.low // node.divisor)
    moved = value(node.child, rows) + whole(shift * node.divisor)
    return (moved / whole(node.divisor)).floor() - whole(shift)


@value.register(Ratio)
@value.register(Logarithm)
def _(node: Ratio | Logarithm, rows: ir.Table) -> Any:
    return value(in_steps(node), rows)


@value.register
def _(node: Divided, rows: ir.Table) -> Any:
    above, below = value(node.above, rows) * whole(node.times), value(node.below, rows)
    guarded = ibis.cases((below == whole(0), ibis.null("int64")), else_=below)
    return (above.cast("float64") / guarded.cast("float64")).floor()


@value.register
def _(node: Clipped, rows: ir.Table) -> Any:
    """NULL is neither below nor above."""
    child, low, high = value(node.child, rows), whole(node.low), whole(node.high)
    return ibis.cases((child < low, low), (child > high, high), else_=child)


@value.register
def _(node: Choose, rows: ir.Table) -> Any:
    if isinstance(steps := in_steps(node), Stairs):
        return value(steps, rows)
    branches = [(value(test, rows), value(result, rows)) for test, result in node.branches]
    return ibis.cases(*branches, else_=value(node.otherwise, rows))


@value.register
def _(node: Lookup, rows: ir.Table) -> Any:
    """Codes with the same image share a branch; a long table becomes a list with an index."""
    if in_list(node):
        code = value(node.child, rows)
        return _where_known(_in_list(node.table, code), code, node.child.nullable)
    images: dict[int | None, list[int]] = {}
    for code, image in enumerate(node.table):
        images.setdefault(image, []).append(code)
    child = value(node.child, rows)
    branches = [(child.isin(codes), whole(image)) for image, codes in images.items() if image is not None]
    return ibis.cases(*branches, else_=ibis.null("int64")) if branches else ibis.null("int64")


@value.register
def _(node: Stairs, rows: ir.Table) -> Any:
    """The value between two borders, by the bucket of a row."""
    row, buckets = value(node.row, rows), node.buckets(node.row.low, node.row.high)
    offset = above(row, node.row.low)
    at = offset >> buckets.power
    below = offset < _in_list(buckets.borders, at)
    step = ibis.cases((below, _in_list(buckets.first, at)), else_=_in_list(buckets.then, at))
    return _where_known(step, row, node.row.nullable)


def _in_list(images: Sequence[int | None], place: Any) -> Any:
    """The image at a place of a list, written as one text: an engine takes as long to plan a constant as to run hundreds of rows.

    A list that is made of a text has no NULL: a number that is not an image stands for it.
    """
    unknown = max((image for image in images if image is not None), default=0) + 1
    written = ibis.literal(",".join(str(unknown if image is None else image) for image in images))
    entry = written.split(",").cast("array<int64>")[place.cast("int32")]  # which Spark requires; a place is always in the list
    return entry.nullif(whole(unknown)) if None in images else entry


def _where_known(entry: Any, row: Any, nullable: bool) -> Any:
    """The entry of a list, NULL where the row is: Spark with ANSI errors takes an entry for not NULL."""
    return ibis.cases((row.isnull(), ibis.null("int64")), else_=entry) if nullable else entry


@value.register
def _(node: Root, rows: ir.Table) -> Any:
    return value(node.child, rows).cast("float64").sqrt().floor()


@value.register
def _(node: Tangent, rows: ir.Table) -> Any:
    """By roots, products and quotients alone, which every engine rounds alike (curves.md)."""
    root = value(node.child, rows).cast("float64")
    for _ in range(ROOTS):
        root = root.sqrt()
    return (root - _double(1)) / (root + _double(1))


@value.register
def _(node: Steps, rows: ir.Table) -> Any:
    """Close calls are moved off the border (curves.md).

    ln x = 2^11 artanh z with z the tangent; of the series of artanh four terms are left.
    """
    z, child = value(node.tangent, rows), value(node.child, rows)
    square = z * z
    series = z * (_double(1) + square * (_double(1 / 3) + square * (_double(1 / 5) + square * _double(1 / 7))))
    scale = log_up(Fraction(10)) * node.unit if node.base == "10" else node.unit
    steps = series * _double(float(2 ** (ROOTS + 1) / scale)) + _double(float(log_up(node.step) / scale))
    moved = [(child.isin(list(values)), _double(half)) for values, half in ((node.up, 0.5), (node.down, -0.5)) if values]
    steps = steps + ibis.cases(*moved, else_=_double(0)) if moved else steps
    return steps.floor()


@value.register
def _(node: Part, rows: ir.Table) -> Any:
    return rows[node.name]


def _double(number: float) -> Any:
    """A double as a cast of its shortest text: an engine takes a bare literal for a decimal."""
    return ibis.literal(repr(float(number))).cast("float64")


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {"<": operator.lt, "<=": operator.le, "=": operator.eq}


@value.register
def _(node: Compare, rows: ir.Table) -> Any:
    return _COMPARISONS[node.operator](value(node.left, rows), value(node.right, rows))


@value.register
def _(node: Among, rows: ir.Table) -> Any:
    return value(node.child, rows).isin(list(node.values))


@value.register
def _(node: IsNull, rows: ir.Table) -> Any:
    return value(node.child, rows).isnull()


@value.register
def _(node: All, rows: ir.Table) -> Any:
    return _in_halves(operator.and_, [value(part, rows) for part in node.parts])


@value.register
def _(node: Either, rows: ir.Table) -> Any:
    return _in_halves(operator.or_, [value(part, rows) for part in node.parts])


@value.register
def _(node: Negation, rows: ir.Table) -> Any:
    return ~value(node.part, rows)


@value.register
def _(node: Truth, rows: ir.Table) -> Any:
    return ibis.null("boolean") if node.value is None else ibis.literal(node.value, type="boolean")


@value.register
def _(node: TextIs, rows: ir.Table) -> Any:
    return value(node.child, rows).isin(list(node.texts))


@value.register
def _(node: TextLike, rows: ir.Table) -> Any:
    return value(node.child, rows).like(node.pattern)


def _in_halves(joined: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    """All parts joined in halves: one after another, a list of a thousand would be nested a thousand deep."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return joined(_in_halves(joined, parts[:half]), _in_halves(joined, parts[half:]))


def whole(number: int | None) -> Any:
    """A 64-bit constant, written as a cast of its text: an engine reads a bare literal as 32 bits, which overflow."""
    return ibis.null("int64") if number is None else ibis.literal(str(number)).cast("int64")


def above(number: Any, low: int) -> Any:
    """How far a number is above a bound."""
    return number - whole(low) if low else number


def compute_columns(rows: ir.Table, nodes: Sequence[Any], mark: str = "") -> tuple[ir.Table, tuple[Any, ...]]:
    """Rows with a column for each part of some expressions that gets a name, and the expressions with these names in them.

    A view keeps Ibis from putting the queries together again.
    """
    parts, columns = named(nodes, mark), rows.columns
    for level in parts.levels:
        rows = rows.select(*columns, *level.kept, **{name: value(node, rows) for name, node in level.parts}).view()
    return rows, parts.nodes


def without_parts(rows: ir.Table) -> ir.Table:
    """The same rows without the named parts."""
    parts = [name for name in rows.columns if name.startswith(NAME)]
    return rows.drop(*parts) if parts else rows


def stored_name(source: int, name: str) -> str:
    """The name of a stored column once tables are joined: unique per source."""
    return f"s{source}:{name}"
