"""One node of sqlglot's tree: its name and place for a refusal, each argument it carries, and the literal of a parameter."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral
from typing import Any

from sqlglot import exp

from tacit.errors import InvalidInput, NotAllowed, WrongType
from tacit.privacy.rounding import is_decimal
from tacit.query.functions import FORMS
from tacit.query.language.syntax import MODEL_WORDS, Apply, At, Constant, Expression, Query

# --- values of parameters and today's date: they become literals -------------------------------------------------------------


Parameter = str | int | float | Decimal | Fraction | bool | date | None
Parameters = Mapping[str, Any] | Sequence[Any] | None


@dataclass(frozen=True, slots=True)
class Given:
    """Parameters by name, those of `?` and `$1` by their number from 1, and the date; `today` is None if it is not given.

    With `marks`, a parameter without a value becomes a `Mark`; without, it is refused.
    """

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    today: date | None = None
    marks: bool = False


class Mark(str):
    """The name of a parameter without a value, in the place of its literal."""

    __slots__ = ()


def given(parameters: Parameters = None, today: date | None = None) -> Given:
    """Parameters and the date, checked.

    >>> given({"age": 65}).parameters, given([65, "F"]).parameters
    ({'age': 65}, {'1': 65, '2': 'F'})
    """
    if parameters is None:
        return Given({}, today)
    if isinstance(parameters, Mapping):
        named = {_name(name): value for name, value in parameters.items()}
    elif isinstance(parameters, Sequence) and not isinstance(parameters, str | bytes):
        named = {str(place): value for place, value in enumerate(parameters, 1)}
    else:
        raise InvalidInput(f"params must be a dictionary or a list, not {type(parameters).__name__}")
    return Given({name: _plain(name, value) for name, value in named.items()}, today)


def _name(name: object) -> str:
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InvalidInput(f"the name of a parameter must be a text, not {type(name).__name__}")
    return str(name).lower()


def _plain(name: str, value: Any) -> Parameter:
    value = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    if isinstance(value, datetime) or not isinstance(value, str | bool | Integral | float | Decimal | Fraction | date | None):
        raise InvalidInput(
            f"the parameter {name!r} must be a text, a number, a date, True, False or None, not {type(value).__name__}",
            argument="params",
        )
    return value if isinstance(value, str | bool | float | Decimal | Fraction | date | None) else int(value)


def decimal_of(value: int | float | Decimal | Fraction) -> str | None:
    """The decimal digits of a number, a float by its shortest form; None where they do not end."""
    if isinstance(value, Fraction):
        rest = value.denominator
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest != 1:
            return None
        value = Decimal(value.numerator) / Decimal(value.denominator)
    return repr(value) if isinstance(value, float) else str(value)


def constant(value: Fraction | str | bool | date | None, at: At) -> Expression:
    """A literal as the reader makes it from text: a number below zero is one with a sign."""
    if isinstance(value, Fraction) and value < 0:
        return Apply("negate", (Constant(-value, at),), at)
    return Constant(value, at)


# --- operators, functions and casts, and how many arguments each takes -------------------------------------------------------


BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.DPipe: "concat",
}  # fmt: skip
UNARY: dict[type[exp.Expr], str] = {exp.Neg: "negate", exp.Not: "not"}
CALLS: dict[type[exp.Expr], str] = {  # the node of each function in sqlglot, which finds it by the same words
    exp.FUNCTION_BY_NAME[word.upper()]: name for name, form in FORMS.items() if form.fields for word in (name, *form.also)
}
TAKES: dict[str, tuple[int, int]] = {  # the least and the most arguments; of any other function, one or more
    **dict.fromkeys(BINARY.values(), (2, 2)),
    **dict.fromkeys(UNARY.values(), (1, 1)),
    **{name: (form.least, form.most) for name, form in FORMS.items() if form.most is not None},
}
CASTS = {
    "INT": "cast_integer", "BIGINT": "cast_integer", "SMALLINT": "cast_integer", "TINYINT": "cast_integer",
    "DOUBLE": "cast_number", "FLOAT": "cast_number", "DECIMAL": "cast_number",
    "DATE": "cast_date", "TEXT": "cast_text", "VARCHAR": "cast_text", "BOOLEAN": "cast_boolean",
}  # fmt: skip
DATE_PARTS = frozenset({"year", "quarter", "month", "day", "dayofyear", "dayofweek", "isodow"})
NAMED = {"dow": "dayofweek", "doy": "dayofyear", "quantile_cont": "quantile", "mod": "%", **{word: word for word in MODEL_WORDS}}


# --- names of constructs in a refusal: the words that people write -----------------------------------------------------------


CALLED: Mapping[type[exp.Expr], str] = {
    exp.Window: "OVER",
    exp.Rollup: "ROLLUP",
    exp.Cube: "CUBE",
    exp.GroupingSets: "GROUPING SETS",
    exp.Subquery: "a sub-query here",
    exp.Select: "a SELECT here",
    exp.Union: "UNION",
    exp.Except: "EXCEPT",
    exp.Intersect: "INTERSECT",
    exp.Distinct: "DISTINCT",
    exp.Table: "this table",
    exp.Values: "VALUES",
    exp.Lateral: "LATERAL",
    exp.Unnest: "UNNEST",
    exp.Array: "a list [...]",
    exp.Bracket: "a place in a list, x[1]",
    exp.Tuple: "a list in parentheses",
    exp.Struct: "a structure {...}",
    exp.Lambda: "a function x -> ...",
    exp.Star: "*",
    exp.Column: "this name",
    exp.Cast: "CAST",
    exp.TryCast: "TRY_CAST or SAFE_CAST: the types are known in advance, so CAST",
    exp.Filter: "FILTER",
    exp.WithinGroup: "WITHIN GROUP",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Escape: "ESCAPE",
    exp.SimilarTo: "SIMILAR TO (use ~)",
    exp.Glob: "GLOB (use LIKE or ~)",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.All: "ALL (...)",
    exp.Any: "ANY (...)",
    exp.Interval: "INTERVAL",
    exp.Placeholder: "a parameter here",
    exp.Parameter: "a parameter here",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^ (use POWER for powers)",
    exp.BitwiseNot: "~ before a number",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.IntDiv: "DIV (use FLOOR(a / b))",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
    exp.Dot: "a name with this many parts",
    exp.Limit: "LIMIT",
    exp.Fetch: "FETCH FIRST (use LIMIT)",
    exp.Offset: "OFFSET",
    exp.Order: "ORDER BY",
    exp.Ordered: "ORDER BY",
    exp.Group: "GROUP BY",
    exp.Join: "JOIN",
    exp.With: "WITH",
    exp.CTE: "WITH",
    exp.Alias: "AS here",
    exp.Aliases: "a list of names",
    exp.TableAlias: "names for the columns of a table",
    exp.Hint: "a hint",
    exp.Collate: "COLLATE",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Pivot: "PIVOT",
    exp.PropertyEQ: ":=",
    exp.EQ: "=",
    exp.In: "IN",
    exp.Between: "BETWEEN",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.Is: "IS",
    exp.RegexpLike: "~",
    exp.DataType: "this type",
    exp.CurrentTime: "a time of day (use CURRENT_DATE)",
    exp.CurrentUser: "CURRENT_USER",
    exp.National: "N'...'",
    exp.HexString: "x'...'",
    exp.BitString: "b'...'",
    exp.ByteString: "a string of bytes",
    exp.RawString: "r'...'",
    exp.Heredoc: "$$...$$",
    exp.Identifier: "this name",
    exp.Var: "this word",
    exp.Xor: "XOR",
    exp.Overlaps: "OVERLAPS",
    exp.PivotAny: "ANY in PIVOT",
    exp.Prior: "PRIOR",
    exp.Kwarg: "name => value",
}
CLAUSES: Mapping[str, str] = {  # by the name under which a tree holds them
    "with_": "WITH here",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "locks": "FOR UPDATE",
    "into": "INTO",
    "hint": "a hint",
    "laterals": "LATERAL",
    "catalog": "a table name of three parts",
    "db": "a schema",
    "nulls_first": "NULLS FIRST",
    "escape": "ESCAPE",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "totals": "WITH TOTALS",
    "on": "ON here",
    "except_": "* EXCEPT",
    "replace": "* REPLACE",
    "rename": "* RENAME",
    "connect": "CONNECT BY",
    "kind": "this kind of SELECT",
    "when": "this form",
    "unnest": "UNNEST",
    "zone": "a time zone",
    "joins": "a join here",
    "order": "ORDER BY here",
    "limit": "LIMIT here",
    "columns": "a list of names for columns",
    "ordinality": "WITH ORDINALITY",
    "alias": "AS here",
    "group": "GROUP BY here",
}


# --- a node ------------------------------------------------------------------------------------------------------------------


MOST_DIGITS = 40
SCHEMAS = (None, "public", "main", "dbo")
_IGNORED = {"big_int", "typed", "safe", "_type", "ignore_nulls", "is_string", "nested", "quoted"}
_NEAREST: dict[type[exp.Expr], str] = {
    exp.Distinct: "use GROUP BY for the different values, or COUNT(DISTINCT ...) of the unit",
    exp.Subquery: "ask the inner question on its own, and write its released number here",
    exp.Union: "use UNION ALL in a sub-query over tables of the same unit, or ask the questions one by one",
    exp.Anonymous: "see: tacit reference sql; a column name with parentheses needs double quotes",
}


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


class Nodes(ABC):
    """The base of every part of the reader; keeps the text, for places."""

    def __init__(self, text: str, given: Given | None = None) -> None:
        self.text, self.given = text, given or Given()
        self.filled: set[str] = set()  # the parameters that became literals, and "today"
        self.places: dict[int, int] = {}  # of each ?, by its node: its number from 1
        self._starts: dict[int, tuple[exp.Expr, int | None]] = {}  # by node, which is held so that no other gets its number
        self.named_queries: dict[str, Query] = {}  # of WITH, by their names in lower case
        self.day_only = False  # inside a cast to DATE or a DATE_TRUNC, where a time of day makes no difference
        self.unnamed = 0  # sub-queries in FROM that were given a name

    @abstractmethod
    def expression(self, node: exp.Expr) -> Expression:
        """Any expression."""

    @abstractmethod
    def query(self, node: exp.Expr) -> Query:
        """The query in parentheses: a SELECT, or several with UNION ALL."""

    def at(self, node: exp.Expr) -> At:
        start = self._start(node)
        return None if start is None else line_and_column(self.text, start)

    def _start(self, node: exp.Expr) -> int | None:
        """Where the first of a node's parts stands in the text; found once for each, as every node around them asks for it."""
        known = self._starts.get(id(node))
        if known is None:
            starts = [node.meta.get("start"), *map(self._start, node.iter_expressions())]
            known = self._starts[id(node)] = (node, min((start for start in starts if start is not None), default=None))
        return known[1]

    def refuse(self, node: exp.Expr, what: str | None = None) -> NotAllowed:
        remedy = _NEAREST.get(type(node), "see: tacit reference sql")
        return NotAllowed(what or f"{self.word(node)} is not supported", remedy=remedy, at=self.at(node))

    def word(self, node: exp.Expr) -> str:
        """The word for a construct as it is written in SQL; never the name that the parser has for it."""
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

    def apply(self, function: str, node: exp.Expr, *parts: exp.Expr | None) -> Apply:
        given = [part for part in parts if part is not None]
        least, most = TAKES.get(function, (1, len(given) or 1))
        if not least <= len(given) <= most:
            expected = f"{least} to {most} arguments" if least < most else f"{least} argument{'s' * (least > 1)}"
            raise WrongType(
                f"{function.upper()} takes {expected}, not {len(given)}",
                remedy=FORMS[function].usage if function in FORMS else "see: tacit reference sql",
                at=self.at(node),
            )
        return Apply(function, tuple(map(self.expression, given)), self.at(node))
