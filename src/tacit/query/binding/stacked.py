"""UNION ALL of questions: rows of released numbers one below the other, with columns of one kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.errors import NotAllowed, UnknownName, WrongType
from tacit.query.language.syntax import Constant, Expression, Name, Select
from tacit.query.plan import Question
from tacit.query.results import Order, is_noisy

ANY = frozenset({"null", "value"})  # kinds that can stand with every other


@dataclass(frozen=True, slots=True)
class Part:
    """One question of several, with the kinds of its columns."""

    question: Question
    kinds: tuple[str, ...]


def stacked(select: Select, parts: list[Part]) -> list[Part]:
    """The questions in one: columns are matched by their places and have the names of the first; the order is that of all rows."""
    first = parts[0]
    if any(len(part.kinds) != len(first.kinds) for part in parts):
        raise NotAllowed(
            "the parts of UNION ALL have different numbers of columns", remedy="select as many in each", at=select.table.at
        )
    for place, output in enumerate(first.question.outputs):
        noisy = {is_noisy(part.question.outputs[place].value) for part in parts}
        kinds = {part.kinds[place] for part in parts} - ANY
        if len(noisy) > 1 or len(kinds) > 1:
            mixed = "a released number in one part and a key or constant in another"
            what = mixed if len(noisy) > 1 else f"of several kinds: {', '.join(sorted(kinds))}"
            raise WrongType(
                f"the column {output.name[:60]!r} of UNION ALL is {what}",
                remedy="select columns of one kind in the same place of each part",
                at=select.items[place].expression.at if place < len(select.items) else None,
            )
    places = [(_place(order.expression, select, first), order.descending) for order in select.order_by]
    return [replace(part, question=_ordered(part.question, places)) for part in parts]


def _ordered(question: Question, places: list[tuple[int, bool]]) -> Question:
    return replace(question, order=tuple(Order(question.outputs[place].value, descending) for place, descending in places))


def _place(written: Expression, select: Select, first: Part) -> int:
    """The column that ORDER BY names, by its name or its number."""
    names = [output.name.lower() for output in first.question.outputs]
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        if written.value.denominator == 1 and 1 <= written.value <= len(names):
            return int(written.value) - 1
        raise UnknownName("invalid position in ORDER BY", remedy=f"use 1 to {len(names)}", at=written.at)
    if isinstance(written, Name) and len(written.parts) == 1 and written.parts[0].lower() in names:
        return names.index(written.parts[0].lower())
    raise NotAllowed(
        "ORDER BY after UNION ALL must name a column of the answer", remedy=f"use {', '.join(names)[:120]}", at=written.at
    )
