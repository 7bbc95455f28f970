"""Expressions: operators, conditions, functions, aggregates and windows, each class of node with its reader.

A window, FUNCTION(...) OVER (PARTITION BY ... ORDER BY ... ROWS ...), is an `Apply("over")`, which is also written again here. Its
four arguments are the call, Apply("partition by"), Apply("order by") of Apply("asc") and Apply("desc"), and the frame:
Apply("default frame"), or Apply("rows") of two constants, how many rows before (negative) or after the current one, NULL for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from tacit.errors import NotAllowed
from tacit.query.functions import FORMS, OF_ONE_COLUMN
from tacit.query.language.bounds import Contribution, contribution
from tacit.query.language.nodes import BINARY, CALLS, NAMED, SCHEMAS, UNARY
from tacit.query.language.syntax import Apply, At, Constant, Exists, Expression, InQuery, Name, Ordering, Scalar, Star
from tacit.query.language.values import Values
from tacit.query.language.words import WORDS

# --- windows -----------------------------------------------------------------------------------------------------------------


RANKS: Mapping[type[exp.Expr], str] = {exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.RowNumber: "row_number"}
MOVES: Mapping[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
FIRSTS: Mapping[type[exp.Expr], str] = {exp.FirstValue: "first_value", exp.LastValue: "last_value"}
MOST_AWAY = 10**6  # rows that a frame reaches
ALL = Constant(None)
DEFAULT = Apply("default frame", ())


class Reads(Protocol):
    """The part of the reader that reads windows need."""

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
        parts.append(f"ORDER BY {', '.join(_order_text(each, text) for each in order.arguments)}")
    if frame.function == "rows":
        start, end = (_end(part, word) for part, word in zip(frame.arguments, ("PRECEDING", "FOLLOWING"), strict=True))
        parts.append(f"ROWS BETWEEN {start} AND {end}")
    return f"{text(call)} OVER ({' '.join(parts)})"


def _order_text(each: Expression, text: Callable[[Expression], str]) -> str:
    assert isinstance(each, Apply)  # noqa: S101
    return text(each.arguments[0]) + " DESC" * (each.function == "desc")


def _end(part: Expression, side: str) -> str:
    away = part.value if isinstance(part, Constant) else None
    if not isinstance(away, Fraction):
        return f"UNBOUNDED {side}"
    return "CURRENT ROW" if away == 0 else f"{abs(int(away))} {'PRECEDING' if away < 0 else 'FOLLOWING'}"


# --- every class of node -----------------------------------------------------------------------------------------------------


class Expressions(Values):
    """Reads any expression; a node whose class is not listed is refused."""

    def expression(self, node: exp.Expr) -> Expression:
        reader = READERS.get(type(node))
        if reader is None:
            raise self.refuse(node)
        return reader(self, node)

    def binary(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        call = self.apply(BINARY[type(node)], node, node.this, node.expression)
        left, right = call.arguments
        return self.shift_day(call.function, left, right, call.at) if call.function in ("+", "-") else call

    def unary(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        if isinstance(node.this, exp.Distinct):
            raise self.refuse(node.this, f"{UNARY[type(node)].upper()}(DISTINCT ...) is not supported")
        return self.apply(UNARY[type(node)], node, node.this)

    def call(self, node: exp.Expr) -> Expression:
        """A function of the table, with the arguments that its form lists."""
        name = CALLS[type(node)]
        fields = FORMS[name].fields
        self.only(node, *fields)
        if isinstance(node.this, exp.Distinct) and len(fields) == 1:
            raise self.refuse(node.this, f"{name.upper()}(DISTINCT ...) is not supported")
        given = [node.args.get(field) for field in fields]
        return self.apply(name, node, *(part for each in given for part in (each if isinstance(each, list) else [each])))

    def column(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "table", "db")
        if node.args.get("db") and node.args["db"].name.lower() not in SCHEMAS:
            what = f"a schema {node.args['db'].name[:60]!r} before a column is not supported"
            raise NotAllowed(what, remedy=f"write {node.args['table'].name[:60]}.{node.name[:60]}", at=self.at(node))
        if not node.args.get("table") and node.name.startswith("$") and not node.this.args.get("quoted"):
            return self.literal_of(node.name[1:], node)
        if isinstance(node.this, exp.Star):
            raise self.refuse(node, "rows of private data are not returned; ask for an aggregate, such as COUNT(*)")
        parts = (node.args["table"].name, node.name) if node.args.get("table") else (node.name,)
        return Name(parts, self.at(node))

    def star(self, node: exp.Expr) -> Expression:
        raise self.refuse(node, "rows of private data are not returned; ask for an aggregate, such as COUNT(*)")

    def parenthesis(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        return self.expression(node.this)

    def orderings(self, node: exp.Expr | None) -> tuple[Ordering, ...]:
        if node is None:
            return ()
        self.only(node, "expressions")
        return tuple(self.one_order(part) for part in node.expressions)

    def one_order(self, node: exp.Expr) -> Ordering:
        self.only(node, "this", "desc")
        return Ordering(self.expression(node.this), bool(node.args.get("desc")))

    # --- conditions ---

    def among(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions", "query")
        if query := node.args.get("query"):
            return InQuery(self.expression(node.this), self.query(query), self.at(node))
        if not node.expressions:
            raise self.refuse(node, "IN requires a list of constants or a sub-query")
        return self.apply("in", node, node.this, *node.expressions)

    def exists(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        return Exists(self.query(node.this), self.at(node))

    def scalar(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        return Scalar(self.query(node.this), self.at(node))

    def between(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "low", "high")
        return self.apply("between", node, node.this, node.args["low"], node.args["high"])

    def like(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression", "negate")
        call = self.apply("ilike" if isinstance(node, exp.ILike) else "like", node, node.this, node.expression)
        return Apply("not", (call,), call.at) if node.args.get("negate") else call

    def is_(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        if isinstance(node.expression, exp.Null):
            return self.apply("is_null", node, node.this)
        if isinstance(node.expression, exp.Boolean):
            return self.apply("is_true" if node.expression.this else "is_false", node, node.this)
        raise self.refuse(node, "IS supports NULL, TRUE and FALSE")

    def case(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "ifs", "default")
        parts: list[Expression] = []
        for branch in node.args["ifs"]:
            self.only(branch, "this", "true")
            test = self.expression(branch.this)
            if node.this is not None:
                test = Apply("=", (self.expression(node.this), test), self.at(branch))
            parts += [test, self.expression(branch.args["true"])]
        default = node.args.get("default")
        parts.append(self.expression(default) if default is not None else Constant(None))
        return Apply("case", tuple(parts), self.at(node))

    def if_(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "true", "false")
        otherwise = node.args.get("false")
        last = self.expression(otherwise) if otherwise is not None else Constant(None)
        return Apply("case", (self.expression(node.this), self.expression(node.args["true"]), last), self.at(node))

    def regular_match(self, node: exp.Expr) -> Expression:
        """`~`, `~*`, and RLIKE, which some dialects match with the whole text."""
        self.only(node, "this", "expression")
        if isinstance(node, exp.RegexpFullMatch):
            return self.apply("regexp_like", node, node.this, node.expression)
        pattern = self.expression(node.expression)
        if isinstance(node, exp.RegexpILike) and isinstance(pattern, Constant) and isinstance(pattern.value, str):
            pattern = Constant(f"(?i){pattern.value}", pattern.at)
        return Apply("regexp_matches", (self.expression(node.this), pattern), self.at(node))

    # --- functions ---

    def left_part(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        return Apply(
            "substring", (self.expression(node.this), Constant(Fraction(1)), self.expression(node.expression)), self.at(node)
        )

    def log(self, node: exp.Expr) -> Expression:
        """LOG10(x), whose 10 has no place in the text; LOG(x) is LN in some dialects, and LOG(10, x) has base x in some."""
        self.only(node, "this", "expression")
        if node.expression is None or node.this.name != "10" or "start" in node.this.meta:
            raise NotAllowed(
                "LOG is not supported: its base differs between dialects", remedy="write LN(x) or LOG10(x)", at=self.at(node)
            )
        return self.apply("log10", node, node.expression)

    def call_named(self, node: exp.Expr) -> Expression:
        name = str(node.this).lower()
        if name.upper() in WORDS:
            return WORDS[name.upper()](self, node)
        if name not in NAMED:
            raise self.refuse(node)
        return self.apply(NAMED[name], node, *node.expressions)

    # --- aggregates ---

    def count(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions")
        if node.expressions:
            raise self.refuse(node, "COUNT requires one column or *")
        if isinstance(node.this, exp.Star):
            return Apply("count", (Star(self.at(node.this)),), self.at(node))
        if isinstance(node.this, exp.Distinct):
            self.only(node.this, "expressions")
            return self.apply("count_distinct", node, *node.this.expressions)
        return self.apply("count", node, node.this)

    def grouping_call(self, node: exp.Expr) -> Expression:
        self.only(node, "expressions")
        return self.apply("grouping", node, *node.expressions)

    def filter(self, node: exp.Expr) -> Expression:
        """AGG(x) FILTER (WHERE c) is AGG over x where c holds and NULL elsewhere."""
        self.only(node, "this", "expression")
        call, condition = self.expression(node.this), self.expression(node.expression.this)
        if not isinstance(call, Apply) or call.function not in OF_ONE_COLUMN or len(call.arguments) != 1:
            raise self.refuse(node, "FILTER is supported on aggregates of one column")
        over = Constant(Fraction(1)) if isinstance(call.arguments[0], Star) else call.arguments[0]
        return Apply(call.function, (Apply("case", (condition, over, Constant(None)), call.at),), call.at)

    def within_group(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        call, order = node.this, node.expression
        if isinstance(call, exp.Mode) and call.this is None and len(order.expressions) == 1:
            self.only(order.expressions[0], "this", "nulls_first", "desc")
            return self.apply(CALLS[exp.Mode], node, order.expressions[0].this)
        if not isinstance(call, exp.PercentileCont | exp.PercentileDisc) or len(order.expressions) != 1:
            raise self.refuse(node, "WITHIN GROUP is supported for PERCENTILE_CONT with one column")
        self.only(call, "this")
        self.only(order.expressions[0], "this", "nulls_first", "desc")
        share = self.expression(call.this)
        if order.expressions[0].args.get("desc"):
            share = Apply("-", (Constant(Fraction(1)), share), self.at(node))
        return Apply("quantile", (self.expression(order.expressions[0].this), share), self.at(node))

    def percentile(self, node: exp.Expr) -> Expression:
        """PERCENTILE_CONT(x, q), which one dialect writes without WITHIN GROUP."""
        self.only(node, "this", "expression")
        if node.expression is None:
            raise self.refuse(node, "PERCENTILE_CONT of one argument requires WITHIN GROUP (ORDER BY x)")
        return self.apply("quantile", node, node.this, node.expression)

    def quantiles(self, node: exp.Expr) -> Expression:
        raise NotAllowed(
            "APPROX_QUANTILES is several columns, so it must be an item of SELECT by itself",
            remedy="use QUANTILE_CONT(x, 0.25) inside an expression",
            at=self.at(node),
        )


READERS: dict[type[exp.Expr], Callable[[Expressions, exp.Expr], Expression]] = {
    **dict.fromkeys(BINARY, Expressions.binary),
    **dict.fromkeys(UNARY, Expressions.unary),
    **dict.fromkeys(CALLS, Expressions.call),
    exp.Column: Expressions.column,
    exp.Star: Expressions.star,
    exp.Literal: Expressions.literal,
    exp.Boolean: Expressions.boolean,
    exp.Null: Expressions.null,
    exp.Paren: Expressions.parenthesis,
    exp.Count: Expressions.count,
    exp.In: Expressions.among,
    exp.Exists: Expressions.exists,
    exp.Subquery: Expressions.scalar,
    exp.Grouping: Expressions.grouping_call,
    exp.GroupingId: Expressions.grouping_call,
    exp.Between: Expressions.between,
    exp.Like: Expressions.like,
    exp.ILike: Expressions.like,
    exp.Is: Expressions.is_,
    exp.Case: Expressions.case,
    exp.If: Expressions.if_,
    exp.Filter: Expressions.filter,
    exp.Cast: Expressions.cast,
    exp.Extract: Expressions.extract,
    exp.RegexpLike: Expressions.regular_match,
    exp.RegexpILike: Expressions.regular_match,
    exp.RegexpFullMatch: Expressions.regular_match,
    exp.CurrentDate: Expressions.today,
    exp.CurrentTimestamp: Expressions.moment,
    exp.Placeholder: Expressions.parameter,
    exp.Parameter: Expressions.parameter,
    exp.Interval: Expressions.interval,
    exp.Left: Expressions.left_part,
    exp.WithinGroup: Expressions.within_group,
    exp.PercentileCont: Expressions.percentile,
    exp.ApproxQuantiles: Expressions.quantiles,
    exp.Log: Expressions.log,
    exp.Anonymous: Expressions.call_named,
    Contribution: contribution,
    exp.Window: read_window,
}
