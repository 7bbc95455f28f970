"""What columns of an answer or a sub-query are called, and which expression GROUP BY means."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacit.errors import UnknownName
from tacit.query.binding.scope import Scope
from tacit.query.language.syntax import Apply, Constant, Expression, Item, Name, Scalar, Star
from tacit.query.language.writer import unplaced_query

WORDS = {
    "+": "plus", "-": "minus", "*": "times", "/": "per", "%": "modulo",
    "=": "is", "<>": "is_not", "<": "below", "<=": "up_to", ">": "above", ">=": "from",
}  # fmt: skip


def of_group(written: Expression, items: tuple[Item, ...], scope: Scope) -> tuple[Expression, str | None]:
    """GROUP BY may name a place in SELECT, or an alias that is not a column."""
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        place = written.value
        if place.denominator != 1 or not 1 <= place <= len(items):
            raise UnknownName(f"GROUP BY {place} is not a position in SELECT", remedy=f"use 1 to {len(items)}", at=written.at)
        item = items[int(place) - 1]
        return item.expression, item.name
    for item in items:
        alias = item.name and isinstance(written, Name) and plain(written) == (item.name.lower(),)
        if alias and isinstance(written, Name) and not scope.has(written):
            return item.expression, item.name
    named = next((item.name for item in items if item.name and plain(item.expression) == plain(written)), None)
    return written, named


def keys_of(written: tuple[Expression, ...], items: tuple[Item, ...], aggregates: Callable[[Expression], bool]) -> list[Expression]:
    """The expressions of GROUP BY; ALL is every item of SELECT without an aggregate."""
    if not any(isinstance(each, Star) for each in written):
        return list(written)
    return [item.expression for item in items if not isinstance(item.expression, Constant) and not aggregates(item.expression)]


def plain(expression: Expression, scope: Scope | None = None) -> object:
    """An expression without its places, to tell whether two say the same; in a scope, x and t.x may be the same column."""
    if isinstance(expression, Apply):
        return (expression.function, *(plain(argument, scope) for argument in expression.arguments))
    if isinstance(expression, Name):
        parts = tuple(part.lower() for part in expression.parts)
        owner = scope.owner(expression) if scope is not None and len(parts) == 1 else None
        return (owner, *parts) if owner is not None else parts
    if isinstance(expression, Scalar):
        return unplaced_query(expression.query)
    return expression.value if isinstance(expression, Constant) else "*"


def name_of(expression: Expression) -> str:
    """What a column of the answer is called where the question does not say."""
    if isinstance(expression, Name):
        return expression.parts[-1].lower()
    if isinstance(expression, Apply):
        words = [name_of(argument) for argument in expression.arguments if not isinstance(argument, Constant | Star)]
        symbol = WORDS.get(expression.function)
        return f"_{symbol}_".join(words or [symbol]) if symbol else "_".join([expression.function, *words])
    return "value"
