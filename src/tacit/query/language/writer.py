"""A question as SQL text: what the ledger keeps of one that was built in Python, and what can be asked again as it stands.

`written` is the inverse of `parse`, except for places and blanks. The text is parsed again and compared before it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from typing import cast

from tacit.errors import NotAllowed
from tacit.query.language.bounds import PER_GROUP, PER_ROW, bounded_text, options_text, row_bounded_text
from tacit.query.language.expressions import window_text
from tacit.query.language.margins import MOST_SETS
from tacit.query.language.nodes import MOST_DIGITS
from tacit.query.language.sql import quoted_name, read
from tacit.query.language.syntax import (
    Apply,
    Constant,
    Exists,
    Expression,
    From,
    InQuery,
    Item,
    Joined,
    Limits,
    Name,
    Nested,
    Query,
    Scalar,
    Select,
    Star,
    UnionAll,
    without_places,
)

ATOM = 9
LEVELS = {  # how tightly each binds; what is not listed is a function, and needs no parentheses
    "or": 1, "and": 2, "not": 3,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "in", "between", "like", "ilike", "is_null", "is_true", "is_false"), 4),
    "concat": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7, "negate": 8, "interval": ATOM,
}  # fmt: skip
CHAINED = frozenset({"or", "and", "+", "-", "*", "/", "%", "concat"})  # read from the left: the first operand needs no parentheses
SYMBOLS = {"or": "OR", "and": "AND", "concat": "||", "like": "LIKE", "ilike": "ILIKE"}
SUFFIXES = {"is_null": "IS NULL", "is_true": "IS TRUE", "is_false": "IS FALSE"}
CASTS = {"integer": "BIGINT", "number": "DOUBLE", "date": "DATE", "text": "TEXT", "boolean": "BOOLEAN"}
CALLED = {
    "quantile": "QUANTILE_CONT",
    "concat_all": "CONCAT",
    "interval_low": "DP_INTERVAL_LOW",
    "interval_high": "DP_INTERVAL_HIGH",
}


def written(select: Select) -> str:
    """The question as SQL that is read as the same question; refused where it is larger than a question in SQL may be.

    >>> from tacit.query.language.sql import parse
    >>> written(parse("select count(*) n from visits v where cost*2>10 or (ward='a' and not (a=b))"))
    "SELECT COUNT(*) AS n FROM visits AS v WHERE cost * 2 > 10 OR ward = 'a' AND NOT a = b"
    """
    text = ";\n".join(_select(each) for each in (select, *select.also))
    if without_places(cast(Select, read(text, several=True).statement)) != without_places(select):
        raise NotAllowed("the question cannot be written as SQL, so it cannot be recorded", remedy="ask it with session.sql")
    return text


def _select(select: Select) -> str:
    whole = " UNION ALL ".join([_of_rows(select), *(_of_rows(each, first=False) for each in select.below)])
    parts = [whole]
    if select.order_by:
        orders = (expression_text(order.expression) + " DESC" * order.descending for order in select.order_by)
        parts.append(f"ORDER BY {', '.join(orders)}")
    parts += [f"LIMIT {select.limit}"] if select.limit is not None else []
    parts += [f"OFFSET {select.offset}"] if select.offset else []
    return " ".join(parts)


def _of_rows(select: Select, first: bool = True) -> str:
    """A SELECT without its order and limit; only the first of several writes the options of all."""
    parts = [
        f"SELECT {_options(select)}" if first and (select.options or select.limits != Limits()) else "SELECT",
        *(["DISTINCT"] if select.distinct else []),
        ", ".join(map(_item, select.items)),
        *([] if select.table is None else [f"FROM {_table(select.table)}"]),
        *map(_join, select.joins),
        *([f"WHERE {expression_text(select.where)}"] if select.where is not None else []),
        *([f"GROUP BY {_keys(select)}"] if select.group_by or select.sets else []),
        *([f"HAVING {expression_text(select.having)}"] if select.having is not None else []),
        *([f"QUALIFY {expression_text(select.qualify)}"] if select.qualify is not None else []),
    ]
    return " ".join(parts)


def _options(select: Select) -> str:
    return options_text({name: _number(value) for name, value in select.options}, select.limits, expression_text)


def _keys(select: Select) -> str:
    if not select.sets:
        return ", ".join(map(_key, select.group_by))
    if len(select.sets) > MOST_SETS:  # only MARGINS makes so many
        return f"MARGINS ({max(map(len, select.sets))}, {_list(select.group_by)})"
    return f"GROUPING SETS ({', '.join(f'({_list(keys)})' for keys in select.sets)})"


def _list(expressions: Sequence[Expression]) -> str:
    return ", ".join(map(expression_text, expressions))


def _key(expression: Expression) -> str:
    return "ALL" if isinstance(expression, Star) else expression_text(expression)


def _item(item: Item) -> str:
    return expression_text(item.expression) + (f" AS {quoted_name(item.name)}" if item.name else "")


def _query(query: Query) -> str:
    """The query in parentheses; a name of WITH is written in its place."""
    if isinstance(query, UnionAll):
        return " UNION ALL ".join(map(_query, query.parts))
    return _select(query)


def _table(source: From | Nested) -> str:
    if isinstance(source, Nested):
        return f"({_query(source.query)}) AS {quoted_name(source.alias)}"
    return quoted_name(source.table) + (f" AS {quoted_name(source.alias)}" if source.alias != source.table else "")


def _join(joined: Joined) -> str:
    kind = "LEFT JOIN" if joined.kind == "left" else "JOIN"
    if joined.natural:
        return f"NATURAL {kind} {_table(joined.table)}"
    if joined.using:
        return f"{kind} {_table(joined.table)} USING ({', '.join(map(quoted_name, joined.using))})"
    if joined.on is None:
        return f"CROSS JOIN {_table(joined.table)}"
    return f"{kind} {_table(joined.table)} ON {expression_text(joined.on)}"


# --- expressions -------------------------------------------------------------------------------------------------------------


def expression_text(expression: Expression) -> str:
    """One expression, with parentheses where they are needed."""
    if isinstance(expression, Name):
        return ".".join(map(quoted_name, expression.parts))
    if isinstance(expression, Star):
        return "*" if expression.table is None else f"{quoted_name(expression.table)}.*"
    if isinstance(expression, Exists):
        return f"EXISTS ({_query(expression.query)})"
    if isinstance(expression, Scalar):
        return f"({_query(expression.query)})"
    if isinstance(expression, InQuery):
        return f"{_at_least(5, expression.value)} IN ({_query(expression.query)})"
    if isinstance(expression, Constant):
        return _constant(expression.value)
    return FORMS.get(expression.function, _operator if expression.function in LEVELS else _call)(expression)


def _constant(value: Fraction | str | bool | date | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case Fraction():
            return _number(value)
        case date():
            return f"DATE '{value.isoformat()}'"
        case text:
            return _quote(text)


def _number(value: Fraction) -> str:
    """A number that was read from at most MOST_DIGITS digits, in as many."""
    digits = Context(prec=2 * MOST_DIGITS)
    exact = digits.normalize(digits.divide(Decimal(value.numerator), Decimal(value.denominator)))
    plain = f"{exact:f}"
    return plain if sum(map(str.isdigit, plain)) <= MOST_DIGITS else f"{exact:E}".replace("+", "")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _at_least(level: int, expression: Expression) -> str:
    """An operand, in parentheses where it binds less tightly than it must."""
    own = LEVELS["in"] if isinstance(expression, InQuery) else ATOM
    if isinstance(expression, Apply):
        own = LEVELS.get(expression.function, ATOM)
    own = LEVELS["in"] if isinstance(expression, InQuery) else own
    text = expression_text(expression)
    return text if own >= level else f"({text})"


def _operator(expression: Apply) -> str:
    level, (left, right) = LEVELS[expression.function], expression.arguments
    first = _at_least(level if expression.function in CHAINED else level + 1, left)
    return f"{first} {SYMBOLS.get(expression.function, expression.function)} {_at_least(level + 1, right)}"


def _call(expression: Apply) -> str:
    listed = ", ".join(map(expression_text, expression.arguments))
    return f"{CALLED.get(expression.function, expression.function.upper())}({listed})"


def _operands(expression: Apply) -> str:
    """A call whose arguments the parser reads as operands: a comparison among them is put into parentheses."""
    return f"{expression.function.upper()}({', '.join(_at_least(5, part) for part in expression.arguments)})"


def _suffix(expression: Apply) -> str:
    return f"{_at_least(5, expression.arguments[0])} {SUFFIXES[expression.function]}"


def _not(expression: Apply) -> str:
    return f"NOT {_at_least(4, expression.arguments[0])}"


def _negation(expression: Apply) -> str:
    return f"-{_at_least(ATOM, expression.arguments[0])}"


def _in(expression: Apply) -> str:
    value, *options = expression.arguments
    return f"{_at_least(5, value)} IN ({', '.join(map(expression_text, options))})"


def _between(expression: Apply) -> str:
    value, low, high = (_at_least(5, part) for part in expression.arguments)
    return f"{value} BETWEEN {low} AND {high}"


def _case(expression: Apply) -> str:
    *parts, last = map(expression_text, expression.arguments)
    branches = " ".join(f"WHEN {test} THEN {value}" for test, value in zip(parts[::2], parts[1::2], strict=True))
    return f"CASE {branches} ELSE {last} END"


def _cast(expression: Apply) -> str:
    """A text in parentheses is cast; without them, DATE '...' is a constant."""
    (value,) = expression.arguments
    inner = expression_text(value)
    kind = expression.function.removeprefix("cast_")
    return f"CAST({f'({inner})' if isinstance(value, Constant) else inner} AS {CASTS[kind]})"


def _decimal(expression: Apply) -> str:
    value, *digits = map(expression_text, expression.arguments)
    return f"CAST({value} AS NUMERIC({', '.join(digits)}))"


def _window(expression: Apply) -> str:
    return window_text(expression, expression_text)


def _distinct(expression: Apply) -> str:
    return f"COUNT(DISTINCT {', '.join(map(expression_text, expression.arguments))})"


def _weekday(expression: Apply) -> str:
    return f"EXTRACT(ISODOW FROM {_at_least(5, expression.arguments[0])})"


def _interval(expression: Apply) -> str:
    count, unit = (part.value if isinstance(part, Constant) else None for part in expression.arguments)
    return f"INTERVAL '{'' if count is None else count}' {unit}"


FORMS: Mapping[str, Callable[[Apply], str]] = {
    **dict.fromkeys(SUFFIXES, _suffix),
    **dict.fromkeys((f"cast_{kind}" for kind in CASTS), _cast),
    **dict.fromkeys(("substring", "trim"), _operands),
    "not": _not,
    "negate": _negation,
    "in": _in,
    "between": _between,
    "case": _case,
    "count_distinct": _distinct,
    "isodow": _weekday,
    "interval": _interval,
    "cast_decimal": _decimal,
    "over": _window,
    **dict.fromkeys(PER_GROUP.values(), lambda expression: bounded_text(expression, expression_text)),
    **dict.fromkeys(PER_ROW, lambda expression: row_bounded_text(expression, expression_text) or _call(expression)),
}
