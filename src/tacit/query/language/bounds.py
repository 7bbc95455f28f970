"""BigQuery's words about the contributions of one unit: the options of a SELECT, and the bounds of an aggregate.

`OPTIONS (...)` after SELECT WITH DIFFERENTIAL_PRIVACY has the budget and limits on what one unit adds. An aggregate may bound what
one unit adds to each group, `contribution_bounds_per_group => (lo, hi)`, in the older form `CLAMPED BETWEEN lo AND hi`; it is then
an `Apply` of `PER_GROUP`, with its two bounds, or one that has none. A quantile and a variance bound each row: their argument is
`Apply("clamped")`. None of these is an aggregate or a function elsewhere, so that a part of the program which does not know them
refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from tacit.errors import InvalidSQL, NotAllowed, WrongType
from tacit.query.language.nodes import read_number
from tacit.query.language.syntax import Apply, At, Constant, Expression, Limits, Name

BOUNDED = ("SUM", "AVG", "COUNT", "PERCENTILE_CONT", "VAR_POP")
CLAMPED = {"ANON_SUM": "SUM", "ANON_AVG": "AVG", "ANON_COUNT": "COUNT"}
PER_GROUP = {"sum": "sum per group", "avg": "avg per group", "count": "count per group"}
PER_ROW = ("quantile", "var_pop")
AGGREGATE = {bounded: plain for plain, bounded in PER_GROUP.items()}
GROUP, ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"
ENDS = ("interval_low", "interval_high")  # of a column of the answer
BUDGET = ("epsilon", "delta", "error", "confidence")
SELECTIONS = ("LAPLACE_THRESHOLD", "PUBLIC_GROUPS")
MOST_LIMIT = 10**9


class Options(exp.Expression):
    """OPTIONS (name = value, ...) after SELECT."""

    arg_types = {"expressions": True}  # noqa: RUF012  # sqlglot's own way to declare a node


class Contribution(exp.Expression):
    """An aggregate with its named arguments, with CLAMPED BETWEEN, or with a word of its own for what one unit adds."""

    arg_types = {"this": True, "bounds": False, "clamped": False, "word": False}  # noqa: RUF012


class Reads(Protocol):
    """The part of the reader that reads bounds and options need."""

    def expression(self, node: exp.Expr) -> Expression: ...
    def only(self, node: exp.Expr, *allowed: str) -> None: ...
    def at(self, node: exp.Expr) -> At: ...


# --- aggregates --------------------------------------------------------------------------------------------------------------


def contribution(reader: Reads, node: exp.Expr) -> Expression:
    """An aggregate whose contributions are bounded, per unit and group or per row."""
    call, name, bounds = reader.expression(node.this), node.args["word"], _bounds_of(reader, node)
    assert isinstance(call, Apply)  # noqa: S101  # as the parser builds them
    if bounds is not None and bounds[0] == ROW:
        if call.function not in PER_ROW:
            raise _misplaced(ROW, "PERCENTILE_CONT and VAR_POP", call.function, reader.at(node))
        clamped = Apply("clamped", (call.arguments[0], *bounds[1]), call.at)
        return replace(call, arguments=(clamped, *call.arguments[1:]))
    if call.function not in PER_GROUP:
        if bounds is None or call.function in PER_ROW:
            raise _misplaced(GROUP, "COUNT, SUM and AVG", call.function, reader.at(node))
        raise NotAllowed(
            f"bounds of {call.function.upper().replace('_', ' ')} are not supported",
            remedy="bound COUNT(x), SUM(x) or AVG(x)",
            at=reader.at(node),
        )
    if bounds is None and name != "ANON_AVG":
        return call  # ANON_COUNT and ANON_SUM add up what the catalog's bounds leave, as COUNT and SUM do
    return Apply(PER_GROUP[call.function], (call.arguments[0], *(bounds[1] if bounds else ())), call.at)


def _bounds_of(reader: Reads, node: exp.Expr) -> tuple[str, tuple[Expression, Expression]] | None:
    """The name of the bounds, and both of them; None without bounds."""
    named = [(str(each.name).lower(), each.expression) for each in node.args.get("bounds") or ()]
    named += [(GROUP, node.args["clamped"])] if node.args.get("clamped") is not None else []
    if not named:
        return None
    if len(named) > 1:
        raise NotAllowed("an aggregate takes one pair of bounds", remedy="leave one of them out", at=reader.at(node))
    ((name, pair),) = named
    if name not in (GROUP, ROW):
        what = f"unknown named argument {name[:60]!r}"
        raise NotAllowed(what, remedy=f"use {GROUP} => (low, high), or {ROW}", at=reader.at(node))
    if not isinstance(pair, exp.Tuple) or len(pair.expressions) != 2:
        raise WrongType(f"{name} takes two bounds", remedy=f"write {name} => (0, 100)", at=reader.at(node))
    low, high = (reader.expression(each) for each in pair.expressions)
    if not (_is_constant(low) and _is_constant(high)):
        raise WrongType("the bounds of a contribution must be constants", remedy=f"write {name} => (0, 100)", at=reader.at(node))
    return name, (low, high)


def _is_constant(expression: Expression) -> bool:
    if isinstance(expression, Apply) and expression.function == "negate":
        return isinstance(expression.arguments[0], Constant)
    return isinstance(expression, Constant)


def _misplaced(bounds: str, allowed: str, function: str, at: At) -> NotAllowed:
    return NotAllowed(f"{bounds} is not an argument of {function.upper()}: it is one of {allowed}", remedy="leave it out", at=at)


def bounded_text(expression: Apply, text: Callable[[Expression], str]) -> str:
    """An aggregate with bounds per group as SQL; `text` writes expressions."""
    over, *bounds = expression.arguments
    if not bounds:
        return f"ANON_AVG({text(over)})"
    return f"{AGGREGATE[expression.function].upper()}({text(over)}, {GROUP} => ({', '.join(map(text, bounds))}))"


def row_bounded_text(expression: Apply, text: Callable[[Expression], str]) -> str | None:
    """An aggregate with bounds per row as SQL; None for one without."""
    clamped = expression.arguments[0] if expression.function in PER_ROW else None
    if not isinstance(clamped, Apply) or clamped.function != "clamped":
        return None
    over, *bounds = map(text, clamped.arguments)
    word = "PERCENTILE_CONT" if expression.function == "quantile" else "VAR_POP"
    return f"{word}({', '.join([over, *map(text, expression.arguments[1:])])}, {ROW} => ({', '.join(bounds)}))"


# --- options -----------------------------------------------------------------------------------------------------------------


def read_options(reader: Reads, node: Options) -> tuple[tuple[tuple[str, Fraction], ...], Limits]:
    """The budget that the options of a SELECT state, and its limits."""
    budget: dict[str, Fraction] = {}
    limits: dict[str, object] = {}
    for each in node.expressions:
        name = each.this.name.lower() if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column) else ""
        if name not in BUDGET and name not in LIMITS:
            shown = name or "this"
            remedy = "write OPTIONS (epsilon = 0.5), with delta, error or confidence, or a limit on contributions"
            raise InvalidSQL(f"{shown[:40]!r} is not a valid option", remedy=remedy, at=reader.at(each))
        if name in budget or name in limits:
            raise InvalidSQL(f"the option {name} is given twice", remedy="give it once", at=reader.at(each))
        if name in BUDGET:
            budget[name] = _number(reader, name, each.expression)
        else:
            limits[name] = LIMITS[name][1](reader, name, each.expression)
    if {"max_groups_contributed", "max_rows_contributed"} <= limits.keys():
        what = "max_groups_contributed and max_rows_contributed exclude each other"
        raise NotAllowed(what, remedy="leave one of them out", at=reader.at(node))
    return tuple(budget.items()), Limits(**{LIMITS[name][0]: value for name, value in limits.items()})  # type: ignore[arg-type]


def _number(reader: Reads, name: str, node: exp.Expr) -> Fraction:
    number = read_number(str(node.this)) if isinstance(node, exp.Literal) and not node.args.get("is_string") else None
    if number is None:
        raise InvalidSQL(f"the option {name} must be a number", remedy=f"write {name} = 0.5", at=reader.at(node))
    return number


def _whole(reader: Reads, name: str, node: exp.Expr) -> int:
    text = str(node.this) if isinstance(node, exp.Literal) and not node.args.get("is_string") else ""
    if not re.fullmatch("[0-9]{1,10}", text) or not 1 <= int(text) <= MOST_LIMIT:
        if isinstance(node, exp.Null):
            what = f"{name} = NULL would leave out a limit: every unit is limited here"
            raise NotAllowed(what, remedy="leave the option out: the catalog's limit holds", at=reader.at(node))
        raise InvalidSQL(f"the option {name} must be an integer of at least 1", remedy=f"write {name} = 1", at=reader.at(node))
    return int(text)


def _column(reader: Reads, name: str, node: exp.Expr) -> Name:
    written = reader.expression(node) if isinstance(node, exp.Column) else None
    if not isinstance(written, Name):
        raise InvalidSQL(f"the option {name} must be a column", remedy=f"write {name} = patient_id", at=reader.at(node))
    return written


def _selection(reader: Reads, name: str, node: exp.Expr) -> str:
    word = node.name.upper() if isinstance(node, exp.Column | exp.Literal) else ""
    if word not in SELECTIONS:
        raise InvalidSQL(f"the option {name} must be one of {' or '.join(SELECTIONS)}", remedy="leave it out", at=reader.at(node))
    return word


LIMITS: Mapping[str, tuple[str, Callable[[Reads, str, exp.Expr], object]]] = {
    "privacy_unit_column": ("unit", _column),
    "max_groups_contributed": ("groups", _whole),
    "max_rows_contributed": ("rows", _whole),
    "group_selection_strategy": ("selection", _selection),
    "min_privacy_units_per_group": ("people", _whole),
}
"""Each option besides the budget: its field of `Limits`, and how it is read."""


def options_text(budget: Mapping[str, str], limits: Limits, text: Callable[[Expression], str]) -> str:
    """The options as SQL; an empty text without options."""
    values = {name: getattr(limits, field) for name, (field, _) in LIMITS.items()}
    written = {name: text(value) if isinstance(value, Name) else str(value) for name, value in values.items() if value is not None}
    listed = ", ".join(f"{name} = {value}" for name, value in {**budget, **written}.items())
    return f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({listed})" if listed else ""
