"""ROLLUP, CUBE and GROUPING SETS, written out: every question with margins is a list of sets of keys."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.errors import TooMuchWork
from tacit.query.language.syntax import Expression

if TYPE_CHECKING:
    from tacit.query.language.expressions import Expressions

MOST_SETS = 64
Keys = tuple[exp.Expr, ...]


def grouping_sets(reader: Expressions, node: exp.Expr) -> tuple[tuple[Expression, ...], tuple[tuple[Expression, ...], ...]]:
    """All keys of a GROUP BY, each once, and its grouping sets: of several elements, every combination of their sets.

    A key that is written twice is one key: a set has each once.
    """
    elements = [_element(reader, part) for part in node.expressions]
    number = 1
    for element in elements:
        number *= len(element)
    if number > MOST_SETS:
        raise too_many(reader, node)
    combined = [tuple(key for keys in chosen for key in keys) for chosen in product(*elements)]
    read: dict[exp.Expr, Expression] = {key: reader.expression(key) for keys in combined for key in keys}
    return tuple(read.values()), tuple(tuple(read[key] for key in dict.fromkeys(keys)) for keys in combined)


def too_many(reader: Expressions, node: exp.Expr) -> TooMuchWork:
    """The refusal of more sets than a question has."""
    return TooMuchWork(
        f"the question has more than {MOST_SETS} grouping sets", remedy="list those you need in GROUPING SETS", at=reader.at(node)
    )


def _element(reader: Expressions, node: exp.Expr) -> list[Keys]:
    """The sets of one element of GROUP BY."""
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
