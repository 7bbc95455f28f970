"""The allow-list: a tree of sqlglot to a `syntax.Select`, with its place in the text for every refusal.

Every node must be of a listed class and may carry only the listed arguments: one that is passed over (a FILTER, an ESCAPE, a NOT)
would be a question answered other than it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, count, product
from math import comb
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.errors import InvalidSQL, NotAllowed, TooMuchWork, WrongType
from tacit.query.language.bounds import Options, read_options
from tacit.query.language.expressions import Expressions
from tacit.query.language.margins import MOST_MARGINS, MOST_SETS
from tacit.query.language.nodes import SCHEMAS
from tacit.query.language.syntax import (
    Apply,
    Constant,
    Expression,
    From,
    Item,
    Joined,
    Limits,
    Nested,
    Query,
    Select,
    Star,
    UnionAll,
)

if TYPE_CHECKING:
    from tacit.query.language.expressions import Expressions

# --- ROLLUP, CUBE and GROUPING SETS, written out as a list of sets of keys ---------------------------------------------------


Keys = tuple[exp.Expr, ...]


def grouping_sets(reader: Expressions, node: exp.Expr) -> tuple[tuple[Expression, ...], tuple[tuple[Expression, ...], ...]]:
    """All keys of a GROUP BY, each once, and its grouping sets: of several elements, every combination of their sets.

    A key that is written twice is one key: a set has each once.
    """
    elements = [_element(reader, part) for part in node.expressions]
    number = 1
    for element in elements:
        number *= len(element)
    if number > (MOST_MARGINS if any(map(is_margins, node.expressions)) else MOST_SETS):
        raise too_many(reader, node)
    combined = [tuple(key for keys in chosen for key in keys) for chosen in product(*elements)]
    read: dict[exp.Expr, Expression] = {key: reader.expression(key) for keys in combined for key in keys}
    return tuple(read.values()), tuple(tuple(read[key] for key in dict.fromkeys(keys)) for keys in combined)


def too_many(reader: Expressions, node: exp.Expr) -> TooMuchWork:
    """The refusal of more sets than a question has."""
    return TooMuchWork(
        f"the question has more than {MOST_SETS} grouping sets", remedy="list those you need in GROUPING SETS", at=reader.at(node)
    )


def is_margins(node: exp.Expr) -> bool:
    """Whether an element of GROUP BY is MARGINS (2, a, b, c): every set of one or two of the columns."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "MARGINS"


def _margins(reader: Expressions, node: exp.Expr) -> list[Keys]:
    """The sets of MARGINS: of one column, then of two, and so on."""
    first, *columns = node.expressions or [exp.Null()]
    whole = isinstance(first, exp.Literal) and not first.is_string and str(first.this).isdigit()
    if not whole or not 1 <= int(str(first.this)) <= len(columns):
        raise InvalidSQL(
            "MARGINS needs a number of columns at a time, and at least as many columns",
            remedy="write MARGINS (2, a, b, c)",
            at=reader.at(node),
        )
    most = int(str(first.this))
    if sum(comb(len(columns), size) for size in range(1, most + 1)) > MOST_MARGINS:
        raise TooMuchWork(
            f"MARGINS has more than {MOST_MARGINS:,} sets of columns",
            remedy="take fewer columns, or fewer at a time",
            at=reader.at(node),
        )
    return [each for size in range(1, most + 1) for each in combinations(columns, size)]


def _element(reader: Expressions, node: exp.Expr) -> list[Keys]:
    """The sets of one element of GROUP BY."""
    if is_margins(node):
        return _margins(reader, node)
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
        reader.only(node, "expressions")
    if isinstance(node, exp.GroupingSets):
        return [keys for part in node.expressions for keys in _element(reader, part)]
    parts = [_keys(reader, part) for part in node.expressions]
    if isinstance(node, exp.Rollup):
        chosen = [tuple(parts[:length]) for length in range(len(parts), -1, -1)]
    elif isinstance(node, exp.Cube):
        if 2 ** len(parts) > MOST_SETS:
            raise too_many(reader, node)
        chosen = [each for length in range(len(parts), -1, -1) for each in combinations(parts, length)]
    else:
        return [_keys(reader, node)]
    return [tuple(key for keys in each for key in keys) for each in chosen]


def _keys(reader: Expressions, node: exp.Expr) -> Keys:
    """One key, or several in parentheses; none in ()."""
    if isinstance(node, exp.Tuple):
        reader.only(node, "expressions")
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


# --- statements --------------------------------------------------------------------------------------------------------------


UNITS = "leave it out, or group by the unit and use HAVING"
_CLAUSES = (
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset", "distinct", "with_",
)  # fmt: skip


class Reader(Expressions):
    """Reads one tree: a question with its clauses."""

    def select(self, tree: exp.Select, outermost: bool = False) -> Select:
        """A SELECT, also one inside another, which has no options."""
        hint = tree.args.get("hint")
        if isinstance(hint, Options) and not outermost:
            raise NotAllowed(
                "options are those of the whole question", remedy="write them once, after its first SELECT", at=self.at(tree)
            )
        self.only(tree, *_CLAUSES, *(["hint"] if isinstance(hint, Options) else []))
        options, limits = read_options(self, hint) if isinstance(hint, Options) else ((), Limits())
        outer = dict(self.named_queries)
        self.read_with(tree.args.get("with_"))
        source = tree.args.get("from_")
        if source is not None:
            self.only(source, "this")
        elif not tree.expressions:
            raise NotAllowed("SELECT without anything to select", remedy="write for example SELECT COUNT(*) FROM a declared table")
        if distinct := tree.args.get("distinct"):
            self.only(distinct)
        where, having, order, chosen = (tree.args.get(name) for name in ("where", "having", "order", "qualify"))
        group, sets = self.group(tree.args.get("group"))
        found = Select(
            items=tuple(item for node in tree.expressions for item in self.items(node)),
            table=None if source is None else self.source(source.this),
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
            limits=limits,
        )
        self.named_queries = outer
        return found

    def questions(self, tree: exp.Expr) -> Select:
        """A SELECT, or several with UNION ALL: one question, whose order and limit are those of all rows."""
        if isinstance(tree, exp.Select):
            return self.select(tree, outermost=True)
        self.only(tree, "this", "expression", "distinct", "with_", "order", "limit", "offset")
        self.read_with(tree.args.get("with_"))
        first, *others = (self.one_of_several(each, place == 0) for place, each in enumerate(self.parts(tree)))
        return replace(
            first,
            order_by=self.orderings(tree.args.get("order")),
            limit=self.whole(tree.args.get("limit"), "LIMIT"),
            offset=self.whole(tree.args.get("offset"), "OFFSET") or 0,
            below=tuple(replace(other, limits=first.limits) for other in others),
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

    def one_of_several(self, tree: exp.Select, first: bool) -> Select:
        """One question of several; it has no order of its own, and the options of all are those of the first."""
        select = self.select(tree, outermost=first)
        if select.order_by or select.limit is not None or select.offset:
            raise NotAllowed(
                "a part of UNION ALL has ORDER BY or LIMIT of its own: they apply to the whole answer",
                remedy="write them once, after the last part",
                at=self.at(tree),
            )
        return select

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
        """The query in parentheses: a SELECT, or several with UNION ALL."""
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
        select = self.select(node)
        if select.sets:
            raise NotAllowed(
                "ROLLUP, CUBE and GROUPING SETS are not supported in a sub-query",
                remedy="use them in the question itself",
                at=self.at(node.args["group"]),
            )
        return select

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
        return Item(self.expression(node), self.word_named(node))

    def word_named(self, node: exp.Expr) -> str | None:
        """The name of VERSION() and CURRENT_DATE, which are constants by now and would be named by their values."""
        if isinstance(node, exp.CurrentDate):
            return "current_date"
        return "version" if isinstance(node, exp.Anonymous) and node.name.lower() == "version" else None

    # --- clauses ---

    def source(self, node: exp.Expr) -> From | Nested:
        """A table, a name of WITH, or a sub-query with a name."""
        if isinstance(node, exp.Subquery):
            self.only(node, "this", "alias")
            if node.args.get("alias"):
                self.only(node.args["alias"], "this")
            return Nested(self.query(node.this), node.alias or self.new_name(), self.at(node))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise self.refuse(node, "only tables declared in the catalog can be queried")
        if node.args.get("catalog"):
            what = "a table name of three parts is not supported: the catalog's tables have no schema"
            raise NotAllowed(what, remedy=f"write {node.name[:60]}", at=self.at(node))
        self.only(node, "this", "alias", "db")
        if node.args.get("alias"):
            self.only(node.args["alias"], "this")
        schema = node.args["db"].name.lower() if node.args.get("db") else None
        if schema not in SCHEMAS:  # of a table that was declared under the name that it has in PostgreSQL
            return From(f"{node.args['db'].name}.{node.name}", node.alias or node.name, self.at(node))
        named = self.named_queries.get(node.name.lower()) if schema is None else None
        if named is not None:
            return Nested(named, node.alias or node.name, self.at(node))
        return From(node.name, node.alias or node.name, self.at(node))

    def new_name(self) -> str:
        """A name for a sub-query in FROM that has none: one that the text does not contain."""
        text = self.text.lower()
        name = next(name for place in count(self.unnamed + 1) if (name := f"derived_{place}") not in text)
        self.unnamed = int(name.removeprefix("derived_"))
        return name

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
        if not any(isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) or is_margins(part) for part in node.expressions):
            return tuple(self.expression(part) for part in node.expressions), ()
        return grouping_sets(self, node)

    def whole(self, node: exp.Expr | None, word: str) -> int | None:
        if node is None:
            return None
        if isinstance(node, exp.Fetch):
            self.only(node, "count", "direction", "limit_options")
            if options := node.args.get("limit_options"):
                self.only(options, "rows")
            value = node.args.get("count") or exp.Literal.number(1)
        else:
            self.only(node, "expression")
            value = node.expression
        if isinstance(value, exp.Placeholder):
            held = self.parameter(value)
            if isinstance(held, Constant) and isinstance(held.value, Fraction) and held.value.denominator == 1:
                return int(held.value)
        if not isinstance(value, exp.Literal) or not re.fullmatch("[0-9]{1,18}", str(value.this)):
            raise self.refuse(node, f"{word} requires an integer")
        return int(value.this)
