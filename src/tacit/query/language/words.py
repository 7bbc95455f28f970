"""Words of other dialects, in terms of the plain ones; each is understood wherever it has one meaning.

What fits two readings is refused, with both written out. Words for dates are in date_words.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.errors import WrongType
from tacit.query.language import date_words
from tacit.query.language.date_formats import of_date_format, of_strftime, of_to_char
from tacit.query.language.syntax import Apply, Constant, Expression

if TYPE_CHECKING:
    from tacit.query.language.expressions import Expressions

Word = Callable[["Expressions", exp.Expr], Expression]


def _taking(least: int, most: int, usage: str, read: Callable[..., Expression]) -> Word:
    """A word that takes so many arguments."""

    def checked(reader: Expressions, node: exp.Expr) -> Expression:
        given = node.expressions
        if not least <= len(given) <= most:
            expected = f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"
            raise WrongType(f"{node.name.upper()} takes {expected}, not {len(given)}", remedy=f"write {usage}", at=reader.at(node))
        return read(reader, node, *given)

    return checked


# --- what only has another name ----------------------------------------------------------------------------------------------


def _renamed(function: str, count: int, usage: str) -> Word:
    return _taking(count, count, usage, lambda reader, node, *given: reader.apply(function, node, *given))


def _if_null(reader: Expressions, node: exp.Expr, *given: exp.Expr) -> Expression:
    parts = [reader.expression(part) for part in given]
    return Apply("coalesce", (*parts, Constant(Fraction(0)))[:2], reader.at(node))


def _null_if_zero(reader: Expressions, node: exp.Expr, value: exp.Expr) -> Expression:
    return Apply("nullif", (reader.expression(value), Constant(Fraction(0))), reader.at(node))


def _count_if(reader: Expressions, node: exp.Expr, condition: exp.Expr) -> Expression:
    if isinstance(condition, exp.Distinct):
        raise reader.refuse(condition, f"{node.name.upper()}(DISTINCT ...) is not supported")
    counted = Apply("case", (reader.expression(condition), Constant(Fraction(1)), Constant(None)), reader.at(node))
    return Apply("count", (counted,), reader.at(node))


def _many(function: str) -> Word:
    return _taking(1, 50, "CONCAT(ward, '-', kind)", lambda reader, node, *given: reader.apply(function, node, *given))


def _pattern(function: str) -> Word:
    return _renamed(function, 2, f"{function.upper()}(ward, 'n')")


WORDS: Mapping[str, Word] = {
    **dict.fromkeys(("COUNTIF", "COUNT_IF"), _taking(1, 1, "COUNTIF(urgent)", _count_if)),
    **dict.fromkeys(("SAFE_DIVIDE",), _renamed("/", 2, "SAFE_DIVIDE(SUM(cost), COUNT(*))")),
    "ISNULL": _taking(2, 2, "COALESCE(pulse, 0)", _if_null),
    "ZEROIFNULL": _taking(1, 1, "COALESCE(pulse, 0)", _if_null),
    "NULLIFZERO": _taking(1, 1, "NULLIF(pulse, 0)", _null_if_zero),
    **dict.fromkeys(
        ("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT"), _renamed("count_distinct", 1, "APPROX_COUNT_DISTINCT(patient_id)")
    ),
    **dict.fromkeys(("STARTS_WITH", "STARTSWITH"), _pattern("starts_with")),
    **dict.fromkeys(("ENDS_WITH", "ENDSWITH"), _pattern("ends_with")),
    "CONTAINS": _pattern("contains"),
    "CONCAT": _many("concat_all"),
    **dict.fromkeys(("REGEXP_MATCHES", "REGEXP_CONTAINS"), _pattern("regexp_matches")),
    **dict.fromkeys(("REGEXP_LIKE", "RLIKE"), _pattern("regexp_like")),
    **dict.fromkeys(
        ("DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "TRUNC"),
        _taking(2, 2, "DATE_TRUNC('month', day)", date_words.truncated),
    ),
    "DATE_PART": _taking(2, 2, "DATE_PART('year', day)", date_words.part),
    **dict.fromkeys(
        ("DATE_DIFF", "DATEDIFF", "TIMESTAMP_DIFF", "TIMESTAMPDIFF", "DATETIME_DIFF"),
        _taking(2, 3, "DATE_DIFF('day', earlier, later)", date_words.difference),
    ),
    **dict.fromkeys(("DATE_ADD", "DATEADD"), _taking(2, 3, "day + INTERVAL 7 DAY", date_words.added("+"))),
    **dict.fromkeys(("DATE_SUB", "DATESUB"), _taking(2, 3, "day - INTERVAL 7 DAY", date_words.added("-"))),
    "TO_CHAR": _taking(2, 2, "TO_CHAR(day, 'YYYY-MM')", date_words.formatted(of_to_char, 1)),
    "FORMAT_DATE": _taking(2, 2, "FORMAT_DATE('%Y-%m', day)", date_words.formatted(of_strftime, 0)),
    "STRFTIME": _taking(2, 2, "STRFTIME(day, '%Y-%m')", date_words.formatted(of_strftime, None)),
    "DATE_FORMAT": _taking(2, 2, "DATE_FORMAT(day, '%Y-%m')", date_words.formatted(of_date_format, 1)),
    "DATE": _taking(1, 3, "DATE '2024-05-01'", date_words.day_of),
    **dict.fromkeys(("TODAY", "CURRENT_DATE"), _taking(0, 0, "CURRENT_DATE", date_words.today)),
    **dict.fromkeys(("NOW", "GETDATE"), _taking(0, 0, "CURRENT_DATE", date_words.moment)),
}  # fmt: skip
