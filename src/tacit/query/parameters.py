"""The parameters of a text (`?`, `$1`, `:name`): their names, the types that comparisons imply, and values for an explanation.

A price and a header seldom depend on the constants of a question. So a question can be explained before its parameters have values:
a declared value stands in for each one that is compared with a column, and the explanation says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import TypeGuard

from tacit.errors import Refused
from tacit.privacy.catalog import Catalog, Column, day_of
from tacit.privacy.rounding import as_text
from tacit.query.free import nodes_in, tables_by_name
from tacit.query.language import nodes
from tacit.query.language.nodes import DATE_PARTS, Given, Mark
from tacit.query.language.sql import read
from tacit.query.language.syntax import Apply, Constant, From, Name
from tacit.query.price.header import common_type, type_of_value

SIGN = re.compile("[:?$@]")  # of a parameter; a text without one has none
COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "between"})
PATTERNS = frozenset({"like", "ilike", "starts_with", "ends_with", "contains", "regexp_matches"})
AGGREGATES = {
    **dict.fromkeys(("count", "count_distinct"), "integer"),
    **dict.fromkeys(("sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"), "number"),
}
ROWS = {**dict.fromkeys(DATE_PARTS, "integer"), **dict.fromkeys(("+", "-", "*", "/", "%"), "number")}
ANY_TEXT = "a"  # stands in for a value of private text


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a text; `type` is None where no comparison tells it."""

    name: str
    type: str | None
    stand_in: nodes.Parameter = field(default=None, compare=False)


def parameters_of(text: object, catalog: Catalog, today: date | None) -> tuple[Parameter, ...]:
    """The parameters of a text in the order of its clauses; none of a text that cannot be read without their values."""
    if not isinstance(text, str) or not SIGN.search(text):
        return ()
    try:
        statement = read(text, Given({}, today, marks=True)).statement
        parts = list(nodes_in(statement))
    except Refused:
        return ()
    names = dict.fromkeys(str(node.value) for node in filter(_is_mark, parts))
    compared = list(_comparisons(parts, _columns_of(parts, catalog)))
    return tuple(_parameter(name, [(kind, value) for mark, kind, value in compared if mark == name]) for name in names)


def _parameter(name: str, compared: list[tuple[str | None, nodes.Parameter]]) -> Parameter:
    """A parameter by its comparisons; those with different types leave its type open."""
    types = {kind for kind, _ in compared if kind is not None}
    kind = common_type(types) if len(types) == 1 or types == {"integer", "number"} else None
    value = next((value for _, value in compared if value is not None), None)
    return Parameter(name, kind, value if kind else None)


def _comparisons(parts: list[object], columns: Mapping[str, Column]) -> Iterator[tuple[str, str | None, nodes.Parameter]]:
    """Every parameter that is compared, with the type and a value of what it is compared with."""
    for node in parts:
        if not isinstance(node, Apply) or node.function not in COMPARISONS | PATTERNS:
            continue
        for place, each in enumerate(node.arguments):
            if not _is_mark(each):
                continue
            for other in node.arguments:
                if not _is_mark(other):
                    column = columns.get(".".join(other.parts).lower()) if isinstance(other, Name) else None
                    kind, value = _of_column(column, _end(node.function, place)) if column else _of_expression(other)
                    yield str(each.value), "text" if node.function in PATTERNS else kind, value


def _is_mark(node: object) -> TypeGuard[Constant]:
    return isinstance(node, Constant) and isinstance(node.value, Mark)


def _end(function: str, place: int) -> str:
    """Which value of a column leaves its rows in a comparison: as a lower limit its least, as an upper limit its largest."""
    if function == "between":
        return {1: "low", 2: "high"}.get(place, "middle")
    if function[0] not in "<>" or function == "<>":
        return "middle"
    return "low" if (function[0] == ">") == (place == 1) else "high"


def _of_expression(other: object) -> tuple[str | None, nodes.Parameter]:
    """The type of anything else, and 0 for an aggregate; of other expressions, no value is known to occur."""
    if isinstance(other, Apply) and other.function in AGGREGATES:
        return AGGREGATES[other.function], 0
    if isinstance(other, Apply):
        return ROWS.get(other.function), None
    if isinstance(other, Constant):
        return "number" if isinstance(other.value, Fraction) else "date" if isinstance(other.value, date) else None, None
    return None, None


def _of_column(column: Column, end: str) -> tuple[str | None, nodes.Parameter]:
    """The type of a column, and a value in the middle or at an end of its range."""
    if column.kind == "category":
        return common_type(map(type_of_value, column.domain)), column.domain[0]
    if column.kind == "text":
        return "text", ANY_TEXT
    if column.bounds is None or column.step is None:
        return None, None
    (low, high), step = column.bounds, column.step
    value = {"low": low, "high": high}.get(end, low + step * ((high - low) / step // 2))
    if column.kind == "date":
        return "date", day_of(int(value))
    return "integer" if low.denominator == step.denominator == 1 else "number", value


def _columns_of(parts: list[object], catalog: Catalog) -> dict[str, Column]:
    """The declared columns by the names that a question can call them; a name that two tables have belongs to the first."""
    declared, columns = tables_by_name(catalog), dict[str, Column]()
    for source in (node for node in parts if isinstance(node, From)):
        table = declared.get(source.table.lower())
        for name, column in table.columns.items() if table else ():
            columns.setdefault(name.lower(), column)
            columns.setdefault(f"{source.alias}.{name}".lower(), column)
    return columns


# --- values for those that have none -----------------------------------------------------------------------------------------


def completed(parameters: tuple[Parameter, ...], params: nodes.Parameters) -> tuple[nodes.Parameters, tuple[str, ...]]:
    """The given values with a stand-in for each parameter of known type without one, and a line on each of these."""
    values = nodes.given(params).parameters
    missing = [each for each in parameters if each.name not in values and each.stand_in is not None]
    if not missing:
        return params, ()
    lines = tuple(f"parameter {each.name} has no value: explained with {_words(each.stand_in)}" for each in missing)
    return {**values, **{each.name: each.stand_in for each in missing}}, lines


def named_types(parameters: tuple[Parameter, ...], params: nodes.Parameters) -> tuple[tuple[str, str | None], ...]:
    """The name and type of every parameter; of a text that cannot be read without values, the names that are given."""
    if parameters:
        return tuple((each.name, each.type) for each in parameters)
    return tuple((name, None) for name in nodes.given(params).parameters)


def _words(value: nodes.Parameter) -> str:
    return as_text(value) if isinstance(value, Fraction) else value.isoformat() if isinstance(value, date) else str(value)
