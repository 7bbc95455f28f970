"""What constants and keys are on released numbers: a number, a date, a text or a truth."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from tacit.errors import WrongType
from tacit.privacy.catalog import day_number
from tacit.query.binding import terms
from tacit.query.plan import BooleanType, CategoryType, DateType, NumberType, Type
from tacit.query.results import Day, Fixed, Number, Out


def constant_out(value: Fraction | str | bool | date | None) -> Out:
    """A constant of a question."""
    match value:
        case Fraction():
            return Number(value)
        case date():
            return Day(day_number(value))
        case _:
            return Fixed(value)


def kind_of(meaning: Type) -> str:
    """What a key is; "value" if it has values of several kinds."""
    match meaning:
        case CategoryType(values):
            kinds = {terms.typed(value)[0] for value in values}
            return kinds.pop() if len(kinds) == 1 else "value"
        case DateType():
            return "date"
        case BooleanType():
            return "truth"
        case NumberType():
            return "number"
        case _:
            return "text"


def as_day(text: Out) -> Out:
    """A constant text beside a date, read as one."""
    try:
        return Day(day_number(date.fromisoformat(str(text.value if isinstance(text, Fixed) else ""))))
    except ValueError:
        raise WrongType("invalid date: expected a text such as '2020-12-31'", remedy="write DATE '2020-12-31'") from None
