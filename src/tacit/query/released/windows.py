"""Windows over released numbers: what is ranked, added up or looked at are rows of the answer, never rows of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from tacit.errors import NotAllowed, WrongType
from tacit.query.binding.binder import is_column
from tacit.query.language.syntax import Apply, Constant, Expression, Name, Star
from tacit.query.question import Fixed, KeyValue, Number, Order, Out, RowFrame, Window
from tacit.query.released.calls import Asked

RANKS = ("rank", "dense_rank", "row_number")
MOVES = {"lag": -1, "lead": 1}
FIRSTS = {"first_value": "first", "last_value": "last"}
TOTALS = ("sum", "avg", "min", "max", "count")


class Outs(Protocol):
    """The part of `Results` that windows need."""

    asked: Asked
    windows: bool

    def alone(self) -> Outs: ...
    def out(self, expression: Expression) -> Out: ...
    def number(self, expression: Expression) -> Out: ...
    def kind(self, out: Out) -> str: ...
    def alike(self, expressions: Sequence[Expression], at: Apply) -> tuple[Out, ...]: ...


def window(results: Outs, expression: Apply) -> Out:
    """The window that is asked for; what it is over is read as released numbers, without windows of its own."""
    if not results.windows:
        raise NotAllowed(
            "a window is not allowed here", remedy="use it in SELECT, QUALIFY or ORDER BY, and not inside another", at=expression.at
        )
    inner = results.alone()
    call, partition, order, frame = (part for part in expression.arguments if isinstance(part, Apply))
    keys = tuple(_partition(inner, part) for part in partition.arguments)
    orders = tuple(_order(inner, part) for part in order.arguments if isinstance(part, Apply))
    made = _function(inner, call)
    rows = _frame(frame)
    if rows is not None and made.function not in (*TOTALS, "first", "last"):
        raise NotAllowed(f"{call.function.upper()} does not take a frame", remedy="leave out ROWS", at=expression.at)
    return replace(made, partition=keys, order=orders, frame=rows)


def _function(inner: Outs, call: Apply) -> Window:
    if call.function in RANKS:
        return Window(call.function, None)  # type: ignore[arg-type]
    if call.function in MOVES:
        return _shift(inner, call)
    if call.function == "count" and isinstance(call.arguments[0], Star):
        return Window("count", None)
    if call.function not in (*TOTALS, *FIRSTS):
        raise NotAllowed(
            f"{call.function.upper()} is not supported as a window",
            remedy="use SUM, AVG, MIN, MAX, COUNT, RANK, DENSE_RANK, ROW_NUMBER, LAG, LEAD, FIRST_VALUE or LAST_VALUE",
            at=call.at,
        )
    function = FIRSTS.get(call.function, call.function)
    (argument,) = call.arguments
    _check_released(inner, argument, call)
    child = inner.number(argument) if function in ("sum", "avg") else inner.out(argument)
    _check(inner, child, call)
    return Window(function, child)  # type: ignore[arg-type]


def _check_released(inner: Outs, argument: Expression, call: Apply) -> None:
    """Refuses a column of rows, with the question that was probably meant."""
    if isinstance(argument, Name) and is_column(argument, inner.asked.binder.scope) and inner.asked.key(argument) is None:
        name, function = ".".join(argument.parts)[:60], call.function.upper()
        raise NotAllowed(
            f"{function}({name}) OVER would add up rows of private data: windows are over released numbers",
            remedy=f"write {function}(SUM({name})) OVER (...), with GROUP BY",
            at=call.at,
        )


def _check(inner: Outs, child: Out, call: Apply) -> None:
    if call.function != "count" and inner.kind(child) not in ("number", "date", "null"):
        raise WrongType(f"{call.function.upper()} as a window requires numbers or dates, not a {inner.kind(child)}", at=call.at)


def _shift(inner: Outs, call: Apply) -> Window:
    """LAG and LEAD: the value a number of rows away, else a given one."""
    if not 1 <= len(call.arguments) <= 3:
        raise WrongType(f"{call.function.upper()} takes 1 to 3 arguments", remedy="write LAG(COUNT(*))", at=call.at)
    value, *rest = call.arguments
    away = inner.out(rest[0]) if rest else Number(Fraction(1))
    if not isinstance(away, Number) or away.value.denominator != 1 or not 0 <= away.value <= 10**6:
        raise WrongType(f"the offset of {call.function.upper()} must be a constant from 0 to 1,000,000", at=call.at)
    child, otherwise = inner.alike([value, rest[1] if len(rest) > 1 else Constant(None)], call)
    _check(inner, child, call)
    return Window("shift", child, offset=MOVES[call.function] * int(away.value), otherwise=otherwise)


def _partition(inner: Outs, expression: Expression) -> KeyValue:
    key = inner.out(expression)
    if not isinstance(key, KeyValue):
        raise NotAllowed("PARTITION BY takes columns of GROUP BY", remedy="add it to GROUP BY", at=expression.at)
    return key


def _order(inner: Outs, part: Apply) -> Order:
    by = inner.out(part.arguments[0])
    return Order(Fixed(None) if isinstance(by, Number) else by, part.function == "desc")


def _frame(frame: Apply) -> RowFrame | None:
    if frame.function != "rows":
        return None
    start, end = (part.value if isinstance(part, Constant) else None for part in frame.arguments)
    return RowFrame(*(int(each) if isinstance(each, Fraction) else None for each in (start, end)))
