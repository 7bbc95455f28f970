"""FUNCTION(...) OVER (PARTITION BY ... ORDER BY ... ROWS ...) as an `Apply("over")`: read from sqlglot's tree, and written again.

Its four arguments are the call, Apply("partition by"), Apply("order by") of Apply("asc") and Apply("desc"), and the frame:
Apply("default frame"), or Apply("rows") of two constants, how many rows before (negative) or after the current one, NULL for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from tacit.errors import NotAllowed
from tacit.query.language.syntax import Apply, At, Constant, Expression, Ordering

RANKS: Mapping[type[exp.Expr], str] = {exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.RowNumber: "row_number"}
MOVES: Mapping[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
FIRSTS: Mapping[type[exp.Expr], str] = {exp.FirstValue: "first_value", exp.LastValue: "last_value"}
MOST_AWAY = 10**6  # rows that a frame reaches
ALL = Constant(None)
DEFAULT = Apply("default frame", ())


class Reads(Protocol):
    """What reading a window needs of the reader."""

    def expression(self, node: exp.Expr) -> Expression: ...
    def orderings(self, node: exp.Expr | None) -> tuple[Ordering, ...]: ...
    def only(self, node: exp.Expr, *allowed: str) -> None: ...
    def refuse(self, node: exp.Expr, what: str | None = None) -> NotAllowed: ...
    def at(self, node: exp.Expr) -> At: ...


def read_window(reader: Reads, node: exp.Expr) -> Apply:
    """The window of sqlglot's tree; refused where it has a part that is not read here."""
    if node.args.get("alias"):
        raise NotAllowed("named windows are not supported", remedy="write OVER (ORDER BY ...) in place", at=reader.at(node))
    reader.only(node, "this", "partition_by", "order", "spec", "over")
    partition = tuple(reader.expression(part) for part in node.args.get("partition_by") or ())
    orders = reader.orderings(node.args.get("order"))
    sorts = tuple(Apply("desc" if each.descending else "asc", (each.expression,)) for each in orders)
    frame = _frame(reader, node.args.get("spec"), bool(sorts))
    parts = (_call(reader, node.this), Apply("partition by", partition), Apply("order by", sorts), frame)
    return Apply("over", parts, reader.at(node))


def _call(reader: Reads, node: exp.Expr) -> Expression:
    kind = type(node)
    if kind in RANKS:
        reader.only(node)
        return Apply(RANKS[kind], ())
    if kind in MOVES:
        reader.only(node, "this", "offset", "default")
        given = [node.this, node.args.get("offset"), node.args.get("default")]
        return Apply(MOVES[kind], tuple(reader.expression(part) for part in given if part is not None), reader.at(node))
    if kind in FIRSTS:
        reader.only(node, "this")
        return Apply(FIRSTS[kind], (reader.expression(node.this),), reader.at(node))
    return reader.expression(node)


def _frame(reader: Reads, spec: exp.Expr | None, ordered: bool) -> Apply:
    if spec is None:
        return DEFAULT
    reader.only(spec, "kind", "start", "start_side", "end", "end_side")
    start, end = _away(reader, spec, "start"), _away(reader, spec, "end")
    if spec.args.get("kind") == "ROWS":
        return Apply("rows", (start, end))
    if spec.args.get("kind") == "RANGE" and start == ALL and end == (Constant(Fraction(0)) if ordered else ALL):
        return DEFAULT
    if spec.args.get("kind") == "RANGE" and start == end == ALL:
        return Apply("rows", (ALL, ALL))
    raise NotAllowed(
        "this frame is not supported: only ROWS frames may have their own ends",
        remedy="write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        at=reader.at(spec),
    )


def _away(reader: Reads, spec: exp.Expr, which: str) -> Constant:
    """How many rows an end of a frame lies away; None where it has none. A frame without an end goes to the current row."""
    value, side = spec.args.get(which), spec.args.get(f"{which}_side")
    if value in (None, "CURRENT ROW"):
        return Constant(Fraction(0))
    if value == "UNBOUNDED" and side == ("PRECEDING" if which == "start" else "FOLLOWING"):
        return ALL
    if isinstance(value, exp.Literal) and re.fullmatch("[0-9]{1,7}", str(value.this)) and int(value.this) <= MOST_AWAY:
        return Constant(Fraction(int(value.this) * (-1 if side == "PRECEDING" else 1)))
    raise NotAllowed(
        f"an end of a frame must be a constant of at most {MOST_AWAY:,} rows", remedy="write 2 PRECEDING", at=reader.at(spec)
    )


# --- written -----------------------------------------------------------------------------------------------------------------


def window_text(expression: Apply, text: Callable[[Expression], str]) -> str:
    """The window as SQL; `text` writes expressions."""
    call, partition, order, frame = expression.arguments
    assert isinstance(partition, Apply) and isinstance(order, Apply) and isinstance(frame, Apply)  # noqa: S101, PT018
    parts = [f"PARTITION BY {', '.join(map(text, partition.arguments))}"] if partition.arguments else []
    if order.arguments:
        parts.append(f"ORDER BY {', '.join(_sorted(each, text) for each in order.arguments)}")
    if frame.function == "rows":
        start, end = (_end(part, word) for part, word in zip(frame.arguments, ("PRECEDING", "FOLLOWING"), strict=True))
        parts.append(f"ROWS BETWEEN {start} AND {end}")
    return f"{text(call)} OVER ({' '.join(parts)})"


def _sorted(each: Expression, text: Callable[[Expression], str]) -> str:
    assert isinstance(each, Apply)  # noqa: S101
    return text(each.arguments[0]) + " DESC" * (each.function == "desc")


def _end(part: Expression, side: str) -> str:
    away = part.value if isinstance(part, Constant) else None
    if not isinstance(away, Fraction):
        return f"UNBOUNDED {side}"
    return "CURRENT ROW" if away == 0 else f"{abs(int(away))} {'PRECEDING' if away < 0 else 'FOLLOWING'}"
