"""The allow-list: a tree of sqlglot to a `surface.Select`, with its place in the text for every refusal.

Every node must be of a listed class and may carry only the listed arguments: one that is passed over (a FILTER, an ESCAPE, a NOT)
would be a question answered other than it was asked.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from tacit.errors import NotAllowed, WrongType
from tacit.privacy.rounding import is_decimal
from tacit.query.language.given import Given, constant, decimal_of
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
from tacit.query.language.vocabulary import CALLED, CLAUSES
from tacit.query.language.windows import read_window
from tacit.query.language.words import WORDS
from tacit.untrusted import UNSEEN

UNITS = "leave it out, or group by the unit and use HAVING"
MOST_DIGITS = 40
MOST_PRECISE, MOST_DECIMALS = 38, 12  # digits of a NUMERIC(p, s), and those after its point
SCHEMAS = (None, "public", "main", "dbo")


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
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median", exp.Mode: "mode",
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
_NEAREST: dict[type[exp.Expr], str] = {
    exp.Distinct: "use GROUP BY for the different values, or COUNT(DISTINCT ...) of the unit",
    exp.Subquery: "ask the inner question on its own, and write its released number here",
    exp.Union: "use UNION ALL in a sub-query over tables of the same unit, or ask the questions one by one",
    exp.Anonymous: "see: tacit reference sql",
}


_USAGE = {
    "count": "write COUNT(*) or COUNT(column)",
    "quantile": "write QUANTILE_CONT(column, 0.5)",
    "substring": "write SUBSTRING(column, 1, 3)",
}


def _usage(function: str) -> str:
    return _USAGE.get(function, "see: tacit reference sql")


def _moved(day: date, sign: str, months: int) -> date | None:
    """The same day so many months away, or the last one of that month; None where it leaves the calendar."""
    place = day.year * 12 + day.month - 1 + (months if sign == "+" else -months)
    year, month = divmod(place, 12)
    if not 1 <= year < 9999:
        return None
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


class Reader:
    """Reads one tree; keeps the text, for places."""

    def __init__(self, text: str, given: Given | None = None) -> None:
        self.text, self.given = text, given or Given()
        self.filled: set[str] = set()  # the parameters that became literals, and "today"
        self.places: dict[int, int] = {}  # of each ?, by its node: its number from 1
        self.named_queries: dict[str, Query] = {}  # of WITH, by their names in lower case

    def at(self, node: exp.Expr) -> At:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return line_and_column(self.text, min(starts)) if starts else None

    def refuse(self, node: exp.Expr, what: str | None = None) -> NotAllowed:
        remedy = _NEAREST.get(type(node), "see: tacit reference sql")
        return NotAllowed(what or f"{self.word(node)} is not supported", remedy=remedy, at=self.at(node))

    def word(self, node: exp.Expr) -> str:
        """What a construct is called, in the words of whoever wrote it; never by the name that the parser has for it."""
        if isinstance(node, exp.Anonymous):
            return node.name.upper()[:40]
        if type(node) in CALLED:
            return CALLED[type(node)]
        names = list(map(str, node.sql_names())) if isinstance(node, exp.Func) else []
        written = (name for name in names if re.search(rf"\b{name}\s*\(", self.text, flags=re.IGNORECASE))
        return next(written, names[0] if names else "this expression")

    def only(self, node: exp.Expr, *allowed: str) -> None:
        """Refuses a node that carries an argument which the caller does not read."""
        for name, value in node.args.items():
            if name not in allowed and name not in _IGNORED and value not in (None, False, [], ""):
                clause = CLAUSES.get(name)
                raise self.refuse(
                    node, f"{clause} is not supported" if clause else f"this form of {self.word(node)} is not supported"
                )

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
            items=tuple(item for node in tree.expressions for item in self.items(node)),
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
        first, *others = (self.one_of_several(each) for each in self.parts(tree))
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

    def one_of_several(self, tree: exp.Select) -> Select:
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

    def items(self, node: exp.Expr) -> tuple[Item, ...]:
        """An expression of SELECT; APPROX_QUANTILES(x, n) is n + 1 of them, each with its number in its name."""
        inner = node.this if isinstance(node, exp.Alias) else node
        if not isinstance(inner, exp.ApproxQuantiles):
            return (self.item(node),)
        self.only(inner, "this", "expression")
        parts = inner.expression
        if not isinstance(parts, exp.Literal) or not re.fullmatch("[1-9][0-9]?", str(parts.this)):
            raise WrongType(
                "APPROX_QUANTILES requires a number of parts from 1 to 99", remedy="write APPROX_QUANTILES(x, 4)", at=self.at(inner)
            )
        name, count, over = node.alias or "quantile", int(str(parts.this)), self.expression(inner.this)
        shares = [Constant(Fraction(part, count)) for part in range(count + 1)]
        return tuple(Item(Apply("quantile", (over, share), self.at(inner)), f"{name}_{at}") for at, share in enumerate(shares))

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
        if node.args.get("catalog"):
            what = "a table name of three parts is not supported: the catalog's tables have no schema"
            raise NotAllowed(what, remedy=f"write {node.name[:60]}", at=self.at(node))
        self.only(node, "this", "alias", "db")
        if node.args.get("alias"):
            self.only(node.args["alias"], "this")
        schema = node.args["db"].name.lower() if node.args.get("db") else None
        if schema not in SCHEMAS:
            what = f"unknown schema {node.args['db'].name[:60]!r}: the catalog's tables have none"
            raise NotAllowed(what, remedy=f"write {node.name[:60]}", at=self.at(node))
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
        self.only(node, "expressions", "all")
        if node.args.get("all"):
            return (Star(self.at(node)),), ()
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
        if isinstance(value, exp.Placeholder):
            held = self.parameter(value)
            if isinstance(held, Constant) and isinstance(held.value, Fraction) and held.value.denominator == 1:
                return int(held.value)
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
        found = self.apply(_BINARY[type(node)], node, node.this, node.expression)
        left, right = found.arguments
        return self.shifted(found.function, left, right, found.at) if found.function in ("+", "-") else found

    def unary(self, node: exp.Expr) -> Expression:
        self.only(node, "this")
        if isinstance(node.this, exp.Distinct):
            raise self.refuse(node.this, f"{_UNARY[type(node)].upper()}(DISTINCT ...) is not supported")
        return self.apply(_UNARY[type(node)], node, node.this)

    def many(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expressions")
        return self.apply(_MANY[type(node)], node, node.this, *node.expressions)

    def column(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "table", "db")
        if node.args.get("db") and node.args["db"].name.lower() not in SCHEMAS:
            what = f"unknown schema {node.args['db'].name[:60]!r}: the catalog's tables have none"
            raise NotAllowed(what, remedy=f"write {node.args['table'].name[:60]}.{node.name[:60]}", at=self.at(node))
        if not node.args.get("table") and node.name.startswith("$") and not node.this.args.get("quoted"):
            return self.literal_of(node.name[1:], node)
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
        if kind == "DATE":
            return self.cast_to_date(node.this, node)
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

    def kind(self, node: exp.Expr) -> str:
        """The name of a plain type, without width or precision."""
        self.only(node, "this")
        if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DataType.Type):
            raise self.refuse(node, "a cast to that type is not supported")
        return node.this.name

    def cast_to_date(self, value: exp.Expr, node: exp.Expr) -> Expression:
        """A date: a text is a constant, and now is today."""
        if isinstance(value, exp.Literal) and value.is_string:
            return self.literal_day(str(value.this), node)
        called = value.name.upper() if isinstance(value, exp.Anonymous) else ""
        if isinstance(value, exp.CurrentTimestamp) or called in ("NOW", "GETDATE"):
            return self.today(value)
        return self.apply("cast_date", node, value)

    def literal_day(self, text: str, node: exp.Expr) -> Constant:
        try:
            return Constant(date.fromisoformat(text), self.at(node))
        except ValueError:
            raise self.refuse(node, "invalid date; write DATE '2020-12-31'") from None

    # --- what is given beside the text ---

    def today(self, node: exp.Expr) -> Expression:
        """The date in UTC, by the clock of whoever asks."""
        self.only(node, *(["this"] if isinstance(node, exp.Anonymous) else []))
        if self.given.today is None:
            raise NotAllowed("the current date is not known here", remedy="write it out: DATE '2024-12-31'", at=self.at(node))
        self.filled.add("today")
        return Constant(self.given.today, self.at(node))

    def parameter(self, node: exp.Expr) -> Expression:
        """`?`, `:age` or `@age`."""
        self.only(node, "this")
        named = node.args.get("this")
        return self.literal_of(str(self.places.get(id(node), 1)) if named is None else node.name, node)

    def literal_of(self, name: str, node: exp.Expr) -> Expression:
        """The literal that a parameter stands for."""
        held, at = self.given.parameters, self.at(node)
        if name.lower() not in held:
            remedy = f'give it: params={{"{name[:40]}": ...}}' if not name.isdigit() else "give its value in params=[...]"
            raise NotAllowed(f"the parameter {name[:60]!r} has no value", remedy=remedy, at=at)
        self.filled.add(name.lower())
        value = held[name.lower()]
        if isinstance(value, str) and UNSEEN.search(value):
            raise NotAllowed(f"the parameter {name[:60]!r} contains a control character", remedy="remove it", at=at)
        if isinstance(value, str | bool | date) or value is None:
            return constant(value, at)
        number = read_number(decimal_of(value) or "")
        if number is None:
            raise NotAllowed(f"the parameter {name[:60]!r} must be a number of at most {MOST_DIGITS} digits", at=at)
        return constant(number, at)

    def extract(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        return self.part(node, node.this.name.lower(), node.expression)

    def part(self, node: exp.Expr, name: str, value: exp.Expr) -> Expression:
        """A part of a date, by its name."""
        if _NAMED.get(name, name) not in _PARTS:
            raise self.refuse(node, f"{name[:40]} is not a part of a date: supported are {', '.join(sorted(_PARTS))}")
        return self.apply(_NAMED.get(name, name), node, value)

    def shifted(self, sign: str, day: Expression, by: Expression, at: At) -> Expression:
        """A date plus or minus an interval; a constant one is moved here, by months and years too."""
        if isinstance(day, Constant) and isinstance(day.value, date) and isinstance(by, Apply) and by.function == "interval":
            count, unit = (part.value if isinstance(part, Constant) else None for part in by.arguments)
            months = {"month": 1, "quarter": 3, "year": 12}.get(str(unit))
            if isinstance(count, Fraction) and months is not None and (moved := _moved(day.value, sign, int(count) * months)):
                return Constant(moved, at)
        return Apply(sign, (day, by), at)

    def matched(self, node: exp.Expr) -> Expression:
        """`~`, `~*`, and RLIKE, which some dialects match with the whole text."""
        self.only(node, "this", "expression")
        if isinstance(node, exp.RegexpFullMatch):
            return self.apply("regexp_like", node, node.this, node.expression)
        pattern = self.expression(node.expression)
        if isinstance(node, exp.RegexpILike) and isinstance(pattern, Constant) and isinstance(pattern.value, str):
            pattern = Constant(f"(?i){pattern.value}", pattern.at)
        return Apply("regexp_matches", (self.expression(node.this), pattern), self.at(node))

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
        if isinstance(call, exp.Mode) and call.this is None and len(order.expressions) == 1:
            self.only(order.expressions[0], "this", "nulls_first", "desc")
            return self.apply("mode", node, order.expressions[0].this)
        if not isinstance(call, exp.PercentileCont | exp.PercentileDisc) or len(order.expressions) != 1:
            raise self.refuse(node, "WITHIN GROUP is supported for PERCENTILE_CONT with one column")
        self.only(call, "this")
        self.only(order.expressions[0], "this", "nulls_first", "desc")
        share = self.expression(call.this)
        if order.expressions[0].args.get("desc"):
            share = Apply("-", (Constant(Fraction(1)), share), self.at(node))
        return Apply("quantile", (self.expression(order.expressions[0].this), share), self.at(node))

    def quantiles(self, node: exp.Expr) -> Expression:
        raise NotAllowed(
            "APPROX_QUANTILES is several columns, so it must be an item of SELECT by itself",
            remedy="use QUANTILE_CONT(x, 0.25) inside an expression",
            at=self.at(node),
        )

    def log(self, node: exp.Expr) -> Expression:
        """LOG10(x), whose 10 has no place in the text; LOG(x) is LN in some dialects, and LOG(10, x) has base x in some."""
        self.only(node, "this", "expression")
        if node.expression is None or node.this.name != "10" or "start" in node.this.meta:
            raise NotAllowed(
                "LOG is not supported: its base differs between dialects", remedy="write LN(x) or LOG10(x)", at=self.at(node)
            )
        return self.apply("log10", node, node.expression)

    def named(self, node: exp.Expr) -> Expression:
        name = str(node.this).lower()
        if name.upper() in WORDS:
            return WORDS[name.upper()](self, node)
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
    exp.RegexpLike: Reader.matched,
    exp.RegexpILike: Reader.matched,
    exp.RegexpFullMatch: Reader.matched,
    exp.CurrentDate: Reader.today,
    exp.Placeholder: Reader.parameter,
    exp.Parameter: Reader.parameter,
    exp.Interval: Reader.interval,
    exp.Round: Reader.round,
    exp.Substring: Reader.substring,
    exp.Left: Reader.left,
    exp.WidthBucket: Reader.bucket,
    exp.Quantile: Reader.quantile,
    exp.WithinGroup: Reader.within_group,
    exp.ApproxQuantiles: Reader.quantiles,
    exp.Log: Reader.log,
    exp.Anonymous: Reader.named,
    exp.Window: read_window,
}
