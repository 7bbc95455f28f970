"""SQL text to a `surface.Select`, by allow-list: what is not in the tables below is refused, with its place in the text.

sqlglot parses; nothing of its tree goes further than this file. Every node must be of a listed class and may carry only the
listed arguments: one that is passed over (a FILTER, an ESCAPE, a NOT) would be a question answered other than it was asked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp, tokens
from sqlglot.dialects.dialect import Dialect

from tacit.errors import NotAllowed, NotUnderstood, Refused
from tacit.query.surface import Apply, At, Constant, Expression, From, Item, Joined, Name, Ordering, Select, Star

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote the question; ours say what to do instead

LONGEST_TEXT = 20_000
MOST_NODES = 2_000
DEEPEST = 60
MOST_DIGITS = 40


class _Ordinary(Dialect):
    """Ordinary SQL: double quotes and backticks are identifiers, single quotes are text. NULLs come last, as in an answer."""

    NULL_ORDERING = "nulls_are_last"  # so that `nulls_first` is there only where NULLS FIRST is written

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  # sqlglot's own way to declare a dialect


def parse(text: str) -> Select:
    """The question that `text` asks.

    >>> parse("SELECT COUNT(*) AS n FROM visits WHERE cost > 10").where
    Apply(function='>', arguments=(Name(parts=('cost',), at=(1, 40)), Constant(value=Fraction(10, 1), at=(1, 47))), at=(1, 40))
    """
    text, options = _budget_in(_checked(text))
    tree = _one_statement(text)
    if not isinstance(tree, exp.Select):
        raise NotAllowed(
            f"only SELECT is answered, not {type(tree).__name__.upper()}", remedy="ask one SELECT ... FROM a declared table"
        )
    return _Reader(text).select(tree, options)


def parse_expression(text: str) -> Expression:
    """One expression, such as the argument of `where` in the Python builder."""
    item = parse_item(text)
    if item.name is not None:
        raise NotAllowed("an expression has no name of its own here", remedy="leave out AS")
    return item.expression


def parse_item(text: str) -> Item:
    """One expression with its name; its places are those in `text`.

    >>> parse_item("avg(cost) AS mean").expression.at
    (1, 1)
    """
    if not isinstance(text, str) or not text.strip():
        raise NotUnderstood("the expression is empty", remedy="write one, for example cost > 100")
    try:
        select = parse(f"SELECT\n{text}\nFROM t")
    except Refused as refusal:
        at = (refusal.at[0] - 1, refusal.at[1]) if refusal.at else None
        raise type(refusal)(refusal.message, remedy=refusal.remedy, at=at) from None
    if select != Select(select.items[:1], select.table):
        raise NotAllowed("one expression is taken here, and nothing after it", remedy="give several as arguments of their own")
    return Item(_line_up(select.items[0].expression), select.items[0].name)


def _line_up(expression: Expression) -> Expression:
    """The expression with its places one line up."""
    at = (expression.at[0] - 1, expression.at[1]) if expression.at else None
    if isinstance(expression, Apply):
        return replace(expression, arguments=tuple(map(_line_up, expression.arguments)), at=at)
    return replace(expression, at=at)


def _checked(text: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise NotUnderstood("the question is empty", remedy="ask for example SELECT COUNT(*) FROM a declared table")
    if len(text) > LONGEST_TEXT:
        raise NotAllowed(f"the question has more than {LONGEST_TEXT} characters", remedy="ask a shorter one")
    if bad := _CONTROL.search(text):
        raise NotUnderstood("the question holds a control character", remedy="remove it", at=_line_and_column(text, bad.start()))
    return text


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_OPTIONS = re.compile(r"\A(\s*SELECT)\s+WITH\s+DIFFERENTIAL_PRIVACY\s+OPTIONS\s*\(([^()'\"`]*)\)", re.IGNORECASE)


def _budget_in(text: str) -> tuple[str, tuple[tuple[str, Fraction], ...]]:
    """The text without its `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, ...)`, blanked so that places stay."""
    found = _OPTIONS.match(text)
    if not found:
        return text, ()
    blank = re.sub(r"[^\n]", " ", text[found.end(1) : found.end()])
    return found.group(1) + blank + text[found.end() :], tuple(_options(found.group(2)))


def _options(text: str) -> Iterator[tuple[str, Fraction]]:
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name.lower() not in ("epsilon", "delta", "error", "confidence"):
            remedy = "write OPTIONS (epsilon = 0.5), with delta, error or confidence"
            raise NotUnderstood(f"{name[:40]!r} is no option", remedy=remedy)
        number = _number(value)
        if number is None:
            raise NotUnderstood(f"the option {name.lower()} needs a number", remedy=f"write {name.lower()} = 0.5")
        yield name.lower(), number


def _number(text: str) -> Fraction | None:
    """A number of at most MOST_DIGITS digits, before and after the point; None for anything else."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or len(number.as_tuple().digits) > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS:
        return None
    return Fraction(number)


def _one_statement(text: str) -> exp.Expr:
    try:
        statements = [tree for tree in sqlglot.parse(text, dialect=_Ordinary) if tree is not None]
    except sqlglot.errors.ParseError as error:
        first: dict[str, Any] = error.errors[0] if error.errors else {}
        at = (first["line"], max(1, first["col"] - len(first.get("highlight") or "") + 1)) if first.get("line") else None
        raise NotUnderstood("the SQL cannot be read here", remedy="check the spelling at that place", at=at) from None
    except sqlglot.errors.TokenError:
        raise NotUnderstood("the SQL holds a quote that is not closed, or a character that is none of SQL's") from None
    except RecursionError:
        raise NotAllowed("the question is nested too deeply", remedy="ask a simpler one") from None
    if len(statements) != 1:
        raise NotAllowed(f"one statement is answered at a time, not {len(statements)}", remedy="send them one by one")
    _limit_size(statements[0])
    return statements[0]


def _limit_size(tree: exp.Expr) -> None:
    stack, nodes = [(tree, 0)], 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > MOST_NODES or depth > DEEPEST:
            raise NotAllowed("the question is too large or nested too deeply", remedy="ask a simpler one")
        stack.extend((child, depth + 1) for child in node.iter_expressions())


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


# --- the allow-list -----------------------------------------------------------------------------------------------------------

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Nullif: "nullif", exp.Pow: "power", exp.DPipe: "concat",
}  # fmt: skip
_UNARY: dict[type[exp.Expr], str] = {
    exp.Neg: "negate", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sign: "sign",
    exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length", exp.Trim: "trim",
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.Quarter: "quarter",
    exp.DayOfWeek: "dayofweek", exp.DayOfYear: "dayofyear",
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
}  # fmt: skip
_MANY: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}
_IGNORED = {"big_int", "typed", "safe", "_type", "ignore_nulls", "is_string", "nested", "quoted"}
_CASTS = {
    "INT": "cast_integer", "BIGINT": "cast_integer", "SMALLINT": "cast_integer", "TINYINT": "cast_integer",
    "DOUBLE": "cast_number", "FLOAT": "cast_number", "DECIMAL": "cast_number",
    "DATE": "cast_date", "TEXT": "cast_text", "VARCHAR": "cast_text", "BOOLEAN": "cast_boolean",
}  # fmt: skip
_PARTS = frozenset({"year", "quarter", "month", "day", "dayofyear", "dayofweek", "isodow"})
_FILTERED = frozenset({_UNARY[kind] for kind in _UNARY if issubclass(kind, exp.AggFunc)} | {"count"})
_NAMED = {"dow": "dayofweek", "doy": "dayofyear", "quantile_cont": "quantile", "mod": "%"}
_NEAREST = {
    "Distinct": "use GROUP BY for the different values, or COUNT(DISTINCT ...) of the unit",
    "Subquery": "ask the inner question on its own",
    "Window": "windows rank single rows; ask for an aggregate with GROUP BY",
    "Union": "ask the two questions one by one",
    "CTE": "write the inner expression in place",
    "Anonymous": "use one of the functions in the reference",
}


class _Reader:
    """Reads one tree; keeps the text, for places."""

    def __init__(self, text: str) -> None:
        self.text = text

    def at(self, node: exp.Expr) -> At:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return _line_and_column(self.text, min(starts)) if starts else None

    def refuse(self, node: exp.Expr, what: str | None = None) -> NotAllowed:
        kind = type(node).__name__
        word = node.name.upper()[:40] if isinstance(node, exp.Anonymous) else kind.upper()
        remedy = _NEAREST.get(kind, "see the reference for what may be asked")
        return NotAllowed(what or f"{word} is not answered here", remedy=remedy, at=self.at(node))

    def only(self, node: exp.Expr, *allowed: str) -> None:
        """Refuses a node that carries an argument which the caller does not read."""
        for name, value in node.args.items():
            if name not in allowed and name not in _IGNORED and value not in (None, False, [], ""):
                raise self.refuse(node, f"{type(node).__name__.upper()} with {name.rstrip('_').upper()} is not answered here")

    # --- the question ---

    def select(self, tree: exp.Select, options: tuple[tuple[str, Fraction], ...]) -> Select:
        self.only(tree, "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset")
        source = tree.args.get("from_")
        if source is None:
            raise NotAllowed("the question names no table", remedy="add FROM and a declared table")
        self.only(source, "this")
        where, having, order = (tree.args.get(name) for name in ("where", "having", "order"))
        return Select(
            items=tuple(self.item(node) for node in tree.expressions),
            table=self.table(source.this),
            joins=tuple(self.join(node) for node in tree.args.get("joins") or ()),
            where=self.expression(where.this) if where else None,
            group_by=self.group(tree.args.get("group")),
            having=self.expression(having.this) if having else None,
            order_by=self.orderings(order),
            limit=self.whole(tree.args.get("limit"), "LIMIT"),
            offset=self.whole(tree.args.get("offset"), "OFFSET") or 0,
            options=options,
        )

    def item(self, node: exp.Expr) -> Item:
        if isinstance(node, exp.Alias):
            self.only(node, "this", "alias")
            return Item(self.expression(node.this), node.alias)
        return Item(self.expression(node), None)

    def table(self, node: exp.Expr) -> From:
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise self.refuse(node, "only declared tables can be asked")
        self.only(node, "this", "alias")
        if node.args.get("alias"):
            self.only(node.args["alias"], "this")
        return From(node.name, node.alias or node.name, self.at(node))

    def join(self, node: exp.Join) -> Joined:
        self.only(node, "this", "side", "kind", "on", "using")
        if node.side not in ("", "LEFT") or node.kind not in ("", "INNER", "OUTER"):
            raise self.refuse(node, f"a {node.side or node.kind} JOIN is not answered here; INNER and LEFT joins are")
        kind, table = ("left" if node.side == "LEFT" else "inner"), self.table(node.this)
        if using := node.args.get("using"):
            if len(using) != 1:
                raise self.refuse(node, "a join has one column in USING")
            return Joined(table, kind, None, None, using[0].name)  # type: ignore[arg-type]
        on = node.args.get("on")
        if not isinstance(on, exp.EQ):
            raise self.refuse(node, "a join needs ON with one equality of two columns")
        return Joined(table, kind, self.expression(on.this), self.expression(on.expression))  # type: ignore[arg-type]

    def group(self, node: exp.Expr | None) -> tuple[Expression, ...]:
        if node is None:
            return ()
        self.only(node, "expressions")
        return tuple(self.expression(part) for part in node.expressions)

    def orderings(self, node: exp.Expr | None) -> tuple[Ordering, ...]:
        if node is None:
            return ()
        self.only(node, "expressions")
        return tuple(self.ordering(part) for part in node.expressions)

    def ordering(self, node: exp.Expr) -> Ordering:
        self.only(node, "this", "desc")
        return Ordering(self.expression(node.this), bool(node.args.get("desc")))

    def whole(self, node: exp.Expr | None, word: str) -> int | None:
        if node is None:
            return None
        self.only(node, "expression")
        value = node.expression
        if not isinstance(value, exp.Literal) or not re.fullmatch("[0-9]{1,18}", str(value.this)):
            raise self.refuse(node, f"{word} needs a whole number")
        return int(value.this)

    # --- expressions ---

    def expression(self, node: exp.Expr) -> Expression:
        reader = _READERS.get(type(node))
        if reader is None:
            raise self.refuse(node)
        return reader(self, node)

    def apply(self, function: str, node: exp.Expr, *parts: exp.Expr | None) -> Apply:
        return Apply(function, tuple(self.expression(part) for part in parts if part is not None), self.at(node))

    def binary(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        return self.apply(_BINARY[type(node)], node, node.this, node.expression)

    def unary(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        if isinstance(node.this, exp.Distinct):
            raise self.refuse(node.this, f"{_UNARY[type(node)].upper()}(DISTINCT ...) is not answered here")
        return self.apply(_UNARY[type(node)], node, node.this)

    def many(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions")
        return self.apply(_MANY[type(node)], node, node.this, *node.expressions)

    def column(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "table")
        if isinstance(node.this, exp.Star):
            raise self.refuse(node, "rows are not shown; ask for an aggregate, such as COUNT(*)")
        parts = (node.args["table"].name, node.name) if node.args.get("table") else (node.name,)
        return Name(parts, self.at(node))

    def star(self, node: exp.Expr) -> Expression:
        raise self.refuse(node, "rows are not shown; ask for an aggregate, such as COUNT(*)")

    def literal(self, node: exp.Expr) -> Expression:
        if node.args.get("is_string"):
            return Constant(str(node.this), self.at(node))
        number = _number(str(node.this))
        if number is None:
            raise self.refuse(node, f"a number has at most {MOST_DIGITS} digits")
        return Constant(number, self.at(node))

    def boolean(self, node: exp.Expr) -> Expression:
        return Constant(bool(node.this), self.at(node))

    def null(self, node: exp.Expr) -> Expression:
        return Constant(None, self.at(node))

    def parenthesis(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        return self.expression(node.this)

    def count(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions")
        if node.expressions:
            raise self.refuse(node, "COUNT takes one column or the star")
        if isinstance(node.this, exp.Star):
            return Apply("count", (Star(self.at(node.this)),), self.at(node))
        if isinstance(node.this, exp.Distinct):
            self.only(node.this, "expressions")
            return self.apply("count_distinct", node, *node.this.expressions)
        return self.apply("count", node, node.this)

    def among(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions")
        if not node.expressions:
            raise self.refuse(node, "IN needs a list of constants")
        return self.apply("in", node, node.this, *node.expressions)

    def between(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "low", "high")
        return self.apply("between", node, node.this, node.args["low"], node.args["high"])

    def like(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression", "negate")
        found = self.apply("ilike" if isinstance(node, exp.ILike) else "like", node, node.this, node.expression)
        return Apply("not", (found,), found.at) if node.args.get("negate") else found

    def is_(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        if isinstance(node.expression, exp.Null):
            return self.apply("is_null", node, node.this)
        if isinstance(node.expression, exp.Boolean):
            return self.apply("is_true" if node.expression.this else "is_false", node, node.this)
        raise self.refuse(node, "IS is answered with NULL, TRUE and FALSE")

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

    def filter(self, node: exp.Expr) -> Expression:
        """AGG(x) FILTER (WHERE c) is AGG over x where c holds and NULL elsewhere."""
        self.only(node, "this", "expression")
        call, condition = self.expression(node.this), self.expression(node.expression.this)
        if not isinstance(call, Apply) or call.function not in _FILTERED or len(call.arguments) != 1:
            raise self.refuse(node, "FILTER belongs to an aggregate of one column")
        over = Constant(Fraction(1)) if isinstance(call.arguments[0], Star) else call.arguments[0]
        return Apply(call.function, (Apply("case", (condition, over, Constant(None)), call.at),), call.at)

    def cast(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "to")
        kind = self.kind(node.args["to"])
        if kind == "DATE" and isinstance(node.this, exp.Literal) and node.this.is_string:
            return Constant(self.day(node.this), self.at(node))
        if kind not in _CASTS:
            raise self.refuse(node, f"a cast to {kind} is not answered here")
        return self.apply(_CASTS[kind], node, node.this)

    def kind(self, node: exp.Expr) -> str:
        """The name of a plain type, without width or precision."""
        self.only(node, "this")
        if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DataType.Type):
            raise self.refuse(node, "a cast to that type is not answered here")
        return node.this.name

    def day(self, node: exp.Expr) -> date:
        try:
            return date.fromisoformat(str(node.this))
        except ValueError:
            raise self.refuse(node, "a date is written DATE '2020-12-31'") from None

    def extract(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        name = node.this.name.lower()
        if _NAMED.get(name, name) not in _PARTS:
            raise self.refuse(node, f"EXTRACT takes one of {', '.join(sorted(_PARTS))}")
        return self.apply(_NAMED.get(name, name), node, node.expression)

    def truncate(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "unit")
        unit = Constant(str(node.args["unit"].name).lower())
        return Apply("date_trunc", (unit, self.expression(node.this)), self.at(node))

    def interval(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "unit")
        if not isinstance(node.this, exp.Literal) or node.args.get("unit") is None:
            raise self.refuse(node, "an interval is written INTERVAL 7 DAY")
        count = Constant(Fraction(str(node.this.this)) if re.fullmatch(r"-?\d{1,9}", str(node.this.this)) else None)
        return Apply("interval", (count, Constant(node.args["unit"].name.lower().rstrip("s"))), self.at(node))

    def round(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "decimals")
        return self.apply("round", node, node.this, node.args.get("decimals"))

    def substring(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "start", "length")
        return self.apply("substring", node, node.this, node.args.get("start"), node.args.get("length"))

    def left(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        return Apply(
            "substring", (self.expression(node.this), Constant(Fraction(1)), self.expression(node.expression)), self.at(node)
        )

    def bucket(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "min_value", "max_value", "num_buckets")
        return self.apply("width_bucket", node, node.this, *(node.args.get(n) for n in ("min_value", "max_value", "num_buckets")))

    def quantile(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "quantile")
        return self.apply("quantile", node, node.this, node.args["quantile"])

    def within_group(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        call, order = node.this, node.expression
        if not isinstance(call, exp.PercentileCont | exp.PercentileDisc) or len(order.expressions) != 1:
            raise self.refuse(node, "WITHIN GROUP is answered for PERCENTILE_CONT with one column")
        self.only(call, "this")
        self.only(order.expressions[0], "this", "nulls_first", "desc")
        share = self.expression(call.this)
        if order.expressions[0].args.get("desc"):
            share = Apply("-", (Constant(Fraction(1)), share), self.at(node))
        return Apply("quantile", (self.expression(order.expressions[0].this), share), self.at(node))

    def named(self, node: exp.Expr) -> Expression:
        name = str(node.this).lower()
        if name not in _NAMED:
            raise self.refuse(node)
        return self.apply(_NAMED[name], node, *node.expressions)


_READERS: dict[type[exp.Expr], Callable[[_Reader, exp.Expr], Expression]] = {
    **dict.fromkeys(_BINARY, _Reader.binary),
    **dict.fromkeys(_UNARY, _Reader.unary),
    **dict.fromkeys(_MANY, _Reader.many),
    exp.Column: _Reader.column,
    exp.Star: _Reader.star,
    exp.Literal: _Reader.literal,
    exp.Boolean: _Reader.boolean,
    exp.Null: _Reader.null,
    exp.Paren: _Reader.parenthesis,
    exp.Count: _Reader.count,
    exp.In: _Reader.among,
    exp.Between: _Reader.between,
    exp.Like: _Reader.like,
    exp.ILike: _Reader.like,
    exp.Is: _Reader.is_,
    exp.Case: _Reader.case,
    exp.If: _Reader.if_,
    exp.Filter: _Reader.filter,
    exp.Cast: _Reader.cast,
    exp.Extract: _Reader.extract,
    exp.DateTrunc: _Reader.truncate,
    exp.TimestampTrunc: _Reader.truncate,
    exp.Interval: _Reader.interval,
    exp.Round: _Reader.round,
    exp.Substring: _Reader.substring,
    exp.Left: _Reader.left,
    exp.WidthBucket: _Reader.bucket,
    exp.Quantile: _Reader.quantile,
    exp.WithinGroup: _Reader.within_group,
    exp.Anonymous: _Reader.named,
}
