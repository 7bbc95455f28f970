"""The allow-list: a tree of sqlglot to a `surface.Select`, with its place in the text for every refusal.

Every node must be of a listed class and may carry only the listed arguments: one that is passed over (a FILTER, an ESCAPE, a NOT)
would be a question answered other than it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from tacit.errors import NotAllowed, WrongType
from tacit.privacy.rounding import is_decimal
from tacit.query.language.grouping_sets import grouping_sets
from tacit.query.language.syntax import (
    Apply,
    At,
    Constant,
    Exists,
    Expression,
    From,
    InQuery,
    Item,
    Joined,
    Name,
    Nested,
    Ordering,
    Query,
    Scalar,
    Select,
    Star,
    UnionAll,
)
from tacit.query.language.windows import read_window

UNITS = "leave it out, or group by the unit and use HAVING"
MOST_DIGITS = 40
MOST_PRECISE, MOST_DECIMALS = 38, 12  # digits of a NUMERIC(p, s), and those after its point


def read_number(text: str) -> Fraction | None:
    """A number of at most MOST_DIGITS digits, before and after the point; None for anything else."""
    if not is_decimal(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or len(number.as_tuple().digits) > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS:
        return None
    return Fraction(number)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Nullif: "nullif", exp.Pow: "power", exp.DPipe: "concat",
    exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp", exp.Corr: "corr",
    exp.RegrSlope: "regr_slope", exp.RegrIntercept: "regr_intercept",
}  # fmt: skip
_UNARY: dict[type[exp.Expr], str] = {
    exp.Neg: "negate", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sign: "sign",
    exp.Sqrt: "sqrt", exp.Ln: "ln", exp.Exp: "exp",
    exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length", exp.Trim: "trim",
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.Quarter: "quarter",
    exp.DayOfWeek: "dayofweek", exp.DayOfYear: "dayofyear",
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
}  # fmt: skip
_MANY: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}
_TAKES: dict[str, tuple[int, int]] = {  # the least and the most arguments; of what is not listed, one or more
    **dict.fromkeys(_BINARY.values(), (2, 2)),
    **dict.fromkeys(_UNARY.values(), (1, 1)),
    "log10": (1, 1), "count": (1, 1), "quantile": (2, 2), "round": (1, 2), "substring": (2, 3), "width_bucket": (4, 4),
}  # fmt: skip
_CLAUSES = (
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset", "distinct", "with_",
)  # fmt: skip
_IGNORED = {"big_int", "typed", "safe", "_type", "ignore_nulls", "is_string", "nested", "quoted"}
_CASTS = {
    "INT": "cast_integer", "BIGINT": "cast_integer", "SMALLINT": "cast_integer", "TINYINT": "cast_integer",
    "DOUBLE": "cast_number", "FLOAT": "cast_number", "DECIMAL": "cast_number",
    "DATE": "cast_date", "TEXT": "cast_text", "VARCHAR": "cast_text", "BOOLEAN": "cast_boolean",
}  # fmt: skip
_PARTS = frozenset({"year", "quarter", "month", "day", "dayofyear", "dayofweek", "isodow"})
_FILTERED = frozenset({_UNARY[kind] for kind in _UNARY if issubclass(kind, exp.AggFunc)} | {"count", "count_distinct"})
_NAMED = {"dow": "dayofweek", "doy": "dayofyear", "quantile_cont": "quantile", "mod": "%"}
_NEAREST = {
    "Distinct": "use GROUP BY for the different values, or COUNT(DISTINCT ...) of the unit",
    "Subquery": "ask the inner question on its own, and write its released number here",
    "Union": "use UNION ALL in a sub-query over tables of the same unit, or ask the questions one by one",
    "Anonymous": "use one of the functions in the reference",
}


_USAGE = {
    "count": "write COUNT(*) or COUNT(column)",
    "quantile": "write QUANTILE_CONT(column, 0.5)",
    "substring": "write SUBSTRING(column, 1, 3)",
}


def _usage(function: str) -> str:
    return _USAGE.get(function, "see the reference for its arguments")


class Reader:
    """Reads one tree; keeps the text, for places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.named_queries: dict[str, Query] = {}  # of WITH, by their names in lower case

    def at(self, node: exp.Expr) -> At:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return line_and_column(self.text, min(starts)) if starts else None

    def refuse(self, node: exp.Expr, what: str | None = None) -> NotAllowed:
        kind = type(node).__name__
        word = node.name.upper()[:40] if isinstance(node, exp.Anonymous) else kind.upper()
        remedy = _NEAREST.get(kind, "see the reference for what may be asked")
        return NotAllowed(what or f"{word} is not supported", remedy=remedy, at=self.at(node))

    def only(self, node: exp.Expr, *allowed: str) -> None:
        """Refuses a node that carries an argument which the caller does not read."""
        for name, value in node.args.items():
            if name not in allowed and name not in _IGNORED and value not in (None, False, [], ""):
                raise self.refuse(node, f"{type(node).__name__.upper()} with {name.rstrip('_').upper()} is not supported")

    # --- the question ---

    def select(self, tree: exp.Select, options: tuple[tuple[str, Fraction], ...] = ()) -> Select:
        """A SELECT, also one inside another."""
        self.only(tree, *_CLAUSES)
        outer = dict(self.named_queries)
        self.read_with(tree.args.get("with_"))
        source = tree.args.get("from_")
        if source is None:
            raise NotAllowed("missing FROM: the question names no table", remedy="add FROM and a declared table", at=self.at(tree))
        self.only(source, "this")
        if distinct := tree.args.get("distinct"):
            self.only(distinct)
        where, having, order, chosen = (tree.args.get(name) for name in ("where", "having", "order", "qualify"))
        group, sets = self.group(tree.args.get("group"))
        found = Select(
            items=tuple(self.item(node) for node in tree.expressions),
            table=self.source(source.this),
            joins=tuple(self.join(node) for node in tree.args.get("joins") or ()),
            where=self.expression(where.this) if where else None,
            group_by=group,
            having=self.expression(having.this) if having else None,
            order_by=self.orderings(order),
            limit=self.whole(tree.args.get("limit"), "LIMIT"),
            offset=self.whole(tree.args.get("offset"), "OFFSET") or 0,
            options=options,
            distinct=bool(distinct),
            sets=sets,
            qualify=self.expression(chosen.this) if chosen else None,
        )
        self.named_queries = outer
        return found

    def questions(self, tree: exp.Expr, options: tuple[tuple[str, Fraction], ...] = ()) -> Select:
        """A SELECT, or several with UNION ALL: one question, whose order and limit are those of all rows."""
        if isinstance(tree, exp.Select):
            return self.select(tree, options)
        self.only(tree, "this", "expression", "distinct", "with_", "order", "limit", "offset")
        self.read_with(tree.args.get("with_"))
        first, *others = (self.part(each) for each in self.parts(tree))
        return replace(
            first,
            order_by=self.orderings(tree.args.get("order")),
            limit=self.whole(tree.args.get("limit"), "LIMIT"),
            offset=self.whole(tree.args.get("offset"), "OFFSET") or 0,
            options=options,
            below=tuple(others),
        )

    def parts(self, tree: exp.Expr) -> Iterator[exp.Select]:
        """The questions that UNION ALL puts one below the other."""
        if isinstance(tree, exp.Subquery):
            self.only(tree, "this")
            yield from self.parts(tree.this)
        elif isinstance(tree, exp.Union):
            if tree.args.get("distinct"):
                raise NotAllowed(
                    "UNION removes rows of the answer that are equal: questions are put one below the other by UNION ALL",
                    remedy="write UNION ALL",
                    at=self.at(tree),
                )
            yield from self.parts(tree.this)
            yield from self.parts(tree.expression)
        elif isinstance(tree, exp.Select):
            yield tree
        else:
            raise self.refuse(tree)

    def part(self, tree: exp.Select) -> Select:
        """One question of several; it has no order of its own."""
        found = self.select(tree)
        if found.order_by or found.limit is not None or found.offset:
            raise NotAllowed(
                "a part of UNION ALL has ORDER BY or LIMIT of its own: they apply to the whole answer",
                remedy="write them once, after the last part",
                at=self.at(tree),
            )
        return found

    def read_with(self, node: exp.Expr | None) -> None:
        """The queries of WITH: each may use those before it."""
        if node is None:
            return
        if node.args.get("recursive"):
            raise self.refuse(node, "WITH RECURSIVE is not supported")
        self.only(node, "expressions")
        for each in node.expressions:
            self.only(each, "this", "alias")
            self.only(each.args["alias"], "this")
            self.named_queries[each.alias.lower()] = self.query(each.this)

    def query(self, node: exp.Expr) -> Query:
        """What stands in parentheses: a SELECT, or several with UNION ALL."""
        if isinstance(node, exp.Subquery):
            self.only(node, "this")
            return self.query(node.this)
        if isinstance(node, exp.Union):
            self.only(node, "this", "expression", "distinct", "with_")
            if node.args.get("distinct"):
                raise self.refuse(node, "UNION is not supported: it removes rows that two people may share")
            self.read_with(node.args.get("with_"))
            return UnionAll((self.query(node.this), self.query(node.expression)), self.at(node))
        if not isinstance(node, exp.Select):
            raise self.refuse(node)
        if node.args.get("qualify"):
            raise NotAllowed("QUALIFY in a sub-query would choose among rows of all people", remedy=UNITS, at=self.at(node))
        found = self.select(node)
        if found.sets:
            raise NotAllowed(
                "ROLLUP, CUBE and GROUPING SETS are not supported in a sub-query",
                remedy="use them in the question itself",
                at=self.at(node.args["group"]),
            )
        return found

    def item(self, node: exp.Expr) -> Item:
        if isinstance(node, exp.Alias):
            self.only(node, "this", "alias")
            return Item(self.expression(node.this), node.alias)
        if isinstance(node, exp.Star):
            self.only(node)
            return Item(Star(self.at(node)), None)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            self.only(node, "this", "table")
            return Item(Star(self.at(node), node.args["table"].name), None)
        return Item(self.expression(node), None)

    def source(self, node: exp.Expr) -> From | Nested:
        """A table, a name of WITH, or a sub-query with a name."""
        if isinstance(node, exp.Subquery):
            self.only(node, "this", "alias")
            if not node.alias:
                raise NotAllowed("a sub-query in FROM needs a name", remedy="write (SELECT ...) AS t", at=self.at(node))
            self.only(node.args["alias"], "this")
            return Nested(self.query(node.this), node.alias, self.at(node))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise self.refuse(node, "only tables declared in the catalog can be queried")
        self.only(node, "this", "alias", "db")
        if node.args.get("alias"):
            self.only(node.args["alias"], "this")
        schema = node.args["db"].name.lower() if node.args.get("db") else None
        if schema not in (None, "public", "main"):
            raise self.refuse(node, "tables have no schema here; write the table's name alone")
        named = self.named_queries.get(node.name.lower()) if schema is None else None
        if named is not None:
            return Nested(named, node.alias or node.name, self.at(node))
        return From(node.name, node.alias or node.name, self.at(node))

    def join(self, node: exp.Join) -> Joined:
        """A join; its ON is read whole, and what it means is for the binder."""
        self.only(node, "this", "side", "kind", "on", "using", "method")
        kinds = {"": "inner", "LEFT": "left"}
        if node.side not in kinds or node.kind not in ("", "INNER", "OUTER", "CROSS") or node.method not in ("", "NATURAL"):
            words = " ".join(filter(None, (node.method, node.side, node.kind)))
            raise NotAllowed(f"{words} JOIN is not supported", remedy="use INNER JOIN or LEFT JOIN", at=self.at(node))
        kind, table, on = kinds[node.side], self.source(node.this), node.args.get("on")
        if kind == "left" and on is None and not node.args.get("using") and not node.method:
            raise NotAllowed("LEFT JOIN needs ON or USING", remedy="write LEFT JOIN t ON a.x = t.x", at=self.at(node))
        using = tuple(part.name for part in node.args.get("using") or ())
        return Joined(table, kind, self.expression(on) if on is not None else None, using, node.method == "NATURAL")  # type: ignore[arg-type]

    def group(self, node: exp.Expr | None) -> tuple[tuple[Expression, ...], tuple[tuple[Expression, ...], ...]]:
        """The expressions of GROUP BY, and the grouping sets where there are several."""
        if node is None:
            return (), ()
        self.only(node, "expressions")
        if not any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) for part in node.expressions):
            return tuple(self.expression(part) for part in node.expressions), ()
        return grouping_sets(self, node)

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
            raise self.refuse(node, f"{word} requires an integer")
        return int(value.this)

    # --- expressions ---

    def expression(self, node: exp.Expr) -> Expression:
        reader = _READERS.get(type(node))
        if reader is None:
            raise self.refuse(node)
        return reader(self, node)

    def apply(self, function: str, node: exp.Expr, *parts: exp.Expr | None) -> Apply:
        given = [part for part in parts if part is not None]
        least, most = _TAKES.get(function, (1, len(given) or 1))
        if not least <= len(given) <= most:
            expected = f"{least} to {most} arguments" if least < most else f"{least} argument{'s' * (least > 1)}"
            raise WrongType(f"{function.upper()} takes {expected}, not {len(given)}", remedy=_usage(function), at=self.at(node))
        return Apply(function, tuple(map(self.expression, given)), self.at(node))

    def binary(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        return self.apply(_BINARY[type(node)], node, node.this, node.expression)

    def unary(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        if isinstance(node.this, exp.Distinct):
            raise self.refuse(node.this, f"{_UNARY[type(node)].upper()}(DISTINCT ...) is not supported")
        return self.apply(_UNARY[type(node)], node, node.this)

    def many(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions")
        return self.apply(_MANY[type(node)], node, node.this, *node.expressions)

    def column(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "table")
        if isinstance(node.this, exp.Star):
            raise self.refuse(node, "rows of private data are not returned; ask for an aggregate, such as COUNT(*)")
        parts = (node.args["table"].name, node.name) if node.args.get("table") else (node.name,)
        return Name(parts, self.at(node))

    def star(self, node: exp.Expr) -> Expression:
        raise self.refuse(node, "rows of private data are not returned; ask for an aggregate, such as COUNT(*)")

    def literal(self, node: exp.Expr) -> Expression:
        if node.args.get("is_string"):
            return Constant(str(node.this), self.at(node))
        number = read_number(str(node.this))
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
            raise self.refuse(node, "COUNT requires one column or *")
        if isinstance(node.this, exp.Star):
            return Apply("count", (Star(self.at(node.this)),), self.at(node))
        if isinstance(node.this, exp.Distinct):
            self.only(node.this, "expressions")
            return self.apply("count_distinct", node, *node.this.expressions)
        return self.apply("count", node, node.this)

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

    def grouping(self, node: exp.Expr) -> Expression:
        self.only(node, "expressions")
        return self.apply("grouping", node, *node.expressions)

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

    def filter(self, node: exp.Expr) -> Expression:
        """AGG(x) FILTER (WHERE c) is AGG over x where c holds and NULL elsewhere."""
        self.only(node, "this", "expression")
        call, condition = self.expression(node.this), self.expression(node.expression.this)
        if not isinstance(call, Apply) or call.function not in _FILTERED or len(call.arguments) != 1:
            raise self.refuse(node, "FILTER is supported on aggregates of one column")
        over = Constant(Fraction(1)) if isinstance(call.arguments[0], Star) else call.arguments[0]
        return Apply(call.function, (Apply("case", (condition, over, Constant(None)), call.at),), call.at)

    def cast(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "to")
        if digits := node.args["to"].expressions:
            return self.decimal(node, digits)
        kind = self.kind(node.args["to"])
        if kind == "DATE" and isinstance(node.this, exp.Literal) and node.this.is_string:
            return Constant(self.day(node.this), self.at(node))
        if kind not in _CASTS:
            raise self.refuse(node, f"a cast to {kind} is not supported")
        return self.apply(_CASTS[kind], node, node.this)

    def decimal(self, node: exp.Expr, digits: list[exp.Expr]) -> Expression:
        """A cast to a number of so many digits, some of them after the point."""
        wanted = node.args["to"]
        written = [str(part.this.this) for part in digits if isinstance(part.this, exp.Literal) and not part.this.is_string]
        whole = len(written) == len(digits) <= 2 and all(re.fullmatch("[0-9]{1,2}", text) for text in written)
        precision, scale = (int(written[0]), int(written[-1]) if len(written) == 2 else 0) if whole else (0, 0)
        if wanted.this.name != "DECIMAL" or not scale <= precision <= MOST_PRECISE or not precision or scale > MOST_DECIMALS:
            limits = f"at most {MOST_PRECISE} digits, {MOST_DECIMALS} of them after the point"
            raise self.refuse(node, f"a cast with digits takes NUMERIC(p, s): {limits}")
        parts = (self.expression(node.this), Constant(Fraction(precision)), Constant(Fraction(scale)))
        return Apply("cast_decimal", parts, self.at(node))

    def logarithm(self, node: exp.Expr) -> Expression:
        """LOG10. What LOG of one or two numbers means differs between systems."""
        self.only(node, "this", "expression")
        if node.expression is None or "start" in node.this.meta or node.this.name != "10":
            raise NotAllowed("LOG has a different base in different systems", remedy="write LN(x) or LOG10(x)", at=self.at(node))
        return self.apply("log10", node, node.expression)

    def kind(self, node: exp.Expr) -> str:
        """The name of a plain type, without width or precision."""
        self.only(node, "this")
        if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DataType.Type):
            raise self.refuse(node, "a cast to that type is not supported")
        return node.this.name

    def day(self, node: exp.Expr) -> date:
        try:
            return date.fromisoformat(str(node.this))
        except ValueError:
            raise self.refuse(node, "invalid date; write DATE '2020-12-31'") from None

    def extract(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        name = node.this.name.lower()
        if _NAMED.get(name, name) not in _PARTS:
            raise self.refuse(node, f"EXTRACT supports {', '.join(sorted(_PARTS))}")
        return self.apply(_NAMED.get(name, name), node, node.expression)

    def truncate(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "unit")
        unit = Constant(str(node.args["unit"].name).lower())
        return Apply("date_trunc", (unit, self.expression(node.this)), self.at(node))

    def interval(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "unit")
        if not isinstance(node.this, exp.Literal) or node.args.get("unit") is None:
            raise self.refuse(node, "invalid interval; write INTERVAL 7 DAY")
        count = Constant(Fraction(str(node.this.this)) if re.fullmatch("-?[0-9]{1,9}", str(node.this.this)) else None)
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
            raise self.refuse(node, "WITHIN GROUP is supported for PERCENTILE_CONT with one column")
        self.only(call, "this")
        self.only(order.expressions[0], "this", "nulls_first", "desc")
        share = self.expression(call.this)
        if order.expressions[0].args.get("desc"):
            share = Apply("-", (Constant(Fraction(1)), share), self.at(node))
        return Apply("quantile", (self.expression(order.expressions[0].this), share), self.at(node))

    def log(self, node: exp.Expr) -> Expression:
        """LOG10(x), which is LOG(10, x); LOG(x) alone means LN in some dialects and LOG10 in others."""
        self.only(node, "this", "expression")
        if node.expression is None or not isinstance(node.this, exp.Literal) or str(node.this.this) != "10":
            raise NotAllowed(
                "LOG is not supported: its base differs between dialects", remedy="write LN(x) or LOG10(x)", at=self.at(node)
            )
        return self.apply("log10", node, node.expression)

    def named(self, node: exp.Expr) -> Expression:
        name = str(node.this).lower()
        if name not in _NAMED:
            raise self.refuse(node)
        return self.apply(_NAMED[name], node, *node.expressions)


_READERS: dict[type[exp.Expr], Callable[[Reader, exp.Expr], Expression]] = {
    **dict.fromkeys(_BINARY, Reader.binary),
    **dict.fromkeys(_UNARY, Reader.unary),
    **dict.fromkeys(_MANY, Reader.many),
    exp.Column: Reader.column,
    exp.Star: Reader.star,
    exp.Literal: Reader.literal,
    exp.Boolean: Reader.boolean,
    exp.Null: Reader.null,
    exp.Paren: Reader.parenthesis,
    exp.Count: Reader.count,
    exp.In: Reader.among,
    exp.Exists: Reader.exists,
    exp.Subquery: Reader.scalar,
    exp.Grouping: Reader.grouping,
    exp.GroupingId: Reader.grouping,
    exp.Between: Reader.between,
    exp.Like: Reader.like,
    exp.ILike: Reader.like,
    exp.Is: Reader.is_,
    exp.Case: Reader.case,
    exp.If: Reader.if_,
    exp.Filter: Reader.filter,
    exp.Cast: Reader.cast,
    exp.Extract: Reader.extract,
    exp.DateTrunc: Reader.truncate,
    exp.TimestampTrunc: Reader.truncate,
    exp.Interval: Reader.interval,
    exp.Round: Reader.round,
    exp.Substring: Reader.substring,
    exp.Left: Reader.left,
    exp.WidthBucket: Reader.bucket,
    exp.Quantile: Reader.quantile,
    exp.WithinGroup: Reader.within_group,
    exp.Log: Reader.log,
    exp.Anonymous: Reader.named,
    exp.Window: read_window,
    exp.Log: Reader.logarithm,
}
