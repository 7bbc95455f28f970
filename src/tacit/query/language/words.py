"""Words of other dialects, in terms of the plain ones; each is understood wherever it has one meaning.

A form that fits two readings is refused, with both written out. Which argument of a word for dates is which goes by form: a quoted
unit comes first, as in DATE_TRUNC('month', day); a bare one last, as in DATE_TRUNC(day, MONTH) and DATE_DIFF(a, b, DAY), or first,
as in DATEDIFF(day, a, b). After the dates the unit says that the second is subtracted, before them that the first is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from tacit.errors import NotAllowed, Refused, WrongType
from tacit.query.language.date_formats import of_date_format, of_strftime, of_to_char, of_to_date, read_as
from tacit.query.language.syntax import Apply, Constant, Expression

if TYPE_CHECKING:
    from tacit.query.language.expressions import Expressions

# --- dates: units, parts, differences and formats ----------------------------------------------------------------------------


UNITS = frozenset({"year", "quarter", "month", "week", "isoweek", "day", "hour", "minute", "second"})
UNIT_FIRST = ("DATEDIFF", "TIMESTAMPDIFF")  # no dialect has a bare unit last in them
TIMES = ("hour", "minute", "second")
PARTS = {"dow": "dayofweek", "doy": "dayofyear", "weekday": "dayofweek", "dayofweekiso": "isodow"}


def _unit_named(node: exp.Expr) -> str | None:
    """The unit that a text names, or None."""
    word = str(node.this).lower() if isinstance(node, exp.Literal) and node.args.get("is_string") else ""
    return word.removesuffix("s") if word.removesuffix("s") in UNITS else None


def _bare(node: exp.Expr) -> str | None:
    """The unit that a bare word is; a name in quotes, or one with its table, is a column."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "week" and len(node.expressions) == 1:
        return "isoweek" if node.expressions[0].name.lower() == "monday" else f"week({node.expressions[0].name.lower()})"
    plain = isinstance(node, exp.Column) and not node.args.get("table") and isinstance(node.this, exp.Identifier)
    word = node.name.lower() if plain and not node.this.args.get("quoted") else ""
    return word if word in UNITS else None


def _text(reader: Expressions, node: exp.Expr) -> str:
    """An argument as it is written in a rewritten question."""
    from tacit.query.language.writer import expression_text

    return expression_text(reader.expression(node))[:60]


def _two_readings(reader: Expressions, node: exp.Expr, one: str, other: str) -> NotAllowed:
    what = f"{node.name.upper()} fits two readings here: dialects differ on the order of its arguments"
    return NotAllowed(what, remedy=f"write {one} or {other}", at=reader.at(node))


def truncated(reader: Expressions, node: exp.Expr, first: exp.Expr, last: exp.Expr) -> Expression:
    """DATE_TRUNC, whichever argument is the unit."""
    unit, value = _unit_named(first), last
    if unit is None and (unit := _unit_named(last)) is not None:
        value = first
    if unit is None and (unit := _bare(last)) is not None:
        value = first
        if _bare(first) not in (None, "day"):  # a date truncated to its day is the date itself
            one, other = _bare(first), _text(reader, last)
            raise _two_readings(reader, node, f"DATE_TRUNC('{one}', {other})", f"DATE_TRUNC('{unit}', {_text(reader, first)})")
        if unit == "week":
            monday = f"DATE_TRUNC('week', {_text(reader, first)})"
            raise NotAllowed(
                "a bare WEEK begins on Sunday in one dialect and on Monday in another",
                remedy=f"write {monday}, whose weeks begin on Monday",
                at=reader.at(node),
            )
    if unit is None:
        unit = _bare(first)
    if unit is None or unit in TIMES:
        raise NotAllowed(
            f"{node.name.upper()} requires one of 'year', 'quarter', 'month', 'week' or 'day'",
            remedy="write DATE_TRUNC('month', day)",
            at=reader.at(node),
        )
    if unit.startswith("week("):
        raise NotAllowed("weeks begin on Monday", remedy=f"write DATE_TRUNC('week', {_text(reader, value)})", at=reader.at(node))
    return Apply("date_trunc", (Constant(unit.removeprefix("iso")), reader.as_day(value)), reader.at(node))


def part(reader: Expressions, node: exp.Expr, unit: exp.Expr, value: exp.Expr) -> Expression:
    """DATE_PART: every dialect has the part first, quoted or bare."""
    literal = isinstance(unit, exp.Literal) and unit.args.get("is_string")
    word = str(unit.this if literal else unit.name).lower()
    return reader.part(node, PARTS.get(word, word), value)


def difference(reader: Expressions, node: exp.Expr, *given: exp.Expr) -> Expression:
    """DATE_DIFF and DATEDIFF."""
    at, name = reader.at(node), node.name.upper()
    if len(given) == 2:
        return Apply("-", tuple(map(reader.expression, given)), at)
    quoted, first, last = _unit_named(given[0]), _bare(given[0]), _bare(given[2])
    if name in UNIT_FIRST and first is not None:
        last = None
    if quoted is None and None not in (first, last) and given[0].name.lower() != given[2].name.lower():
        one = f"DATE_DIFF('{first}', {_text(reader, given[1])}, {_text(reader, given[2])})"
        other = f"DATE_DIFF('{last}', {_text(reader, given[1])}, {_text(reader, given[0])})"
        raise _two_readings(reader, node, one, other)
    unit = quoted or first or last
    if unit is None or unit in TIMES:
        raise NotAllowed(
            f"{name} requires a unit: year, quarter, month or day", remedy="write DATE_DIFF('day', earlier, later)", at=at
        )
    later, earlier = (given[0], given[1]) if quoted is None and first is None else (given[2], given[1])
    return _between(reader.expression(later), reader.expression(earlier), unit, node, reader)


def _between(later: Expression, earlier: Expression, unit: str, node: exp.Expr, reader: Expressions) -> Expression:
    """How often a unit of time begins after `earlier`, up to `later`."""
    at = reader.at(node)
    if unit == "day":
        return Apply("-", (later, earlier), at)
    if unit not in ("year", "quarter", "month"):
        raise NotAllowed(
            "dialects differ on the difference in weeks",
            remedy="divide the days by 7, for example FLOOR(DATE_DIFF('day', a, b) / 7)",
            at=at,
        )
    ends = [_unit_count(end, unit, reader.at(node)) for end in (later, earlier)]
    return Apply("-", tuple(ends), at)


def _unit_count(day: Expression, unit: str, at: tuple[int, int] | None) -> Expression:
    year = Apply("year", (day,), at)
    if unit == "year":
        return year
    per = Constant(Fraction(12 if unit == "month" else 4))
    return Apply("+", (Apply("*", (year, per), at), Apply(unit, (day,), at)), at)


def added(sign: str) -> Callable[..., Expression]:
    """DATE_ADD(day, INTERVAL 7 DAY), DATEADD(day, 7, x), or DATE_ADD(day, 7)."""

    def read(reader: Expressions, node: exp.Expr, *given: exp.Expr) -> Expression:
        at = reader.at(node)
        if len(given) == 2:
            return reader.shift_day(sign, reader.expression(given[0]), reader.expression(given[1]), at)
        unit = _unit_named(given[0]) or _bare(given[0])
        count = reader.expression(given[1])
        if isinstance(count, Apply) and count.function == "negate":
            count, sign_now = count.arguments[0], {"+": "-", "-": "+"}[sign]
        else:
            sign_now = sign
        if unit is None or not isinstance(count, Constant):
            raise NotAllowed(f"{node.name.upper()} requires a unit and a constant", remedy="write DATEADD(day, 7, x)", at=at)
        return reader.shift_day(sign_now, reader.expression(given[2]), Apply("interval", (count, Constant(unit)), at), at)

    return read


# --- dates as text, and today ------------------------------------------------------------------------------------------------


def formatted(translate: Callable[[str], str], form_at: int | None) -> Callable[..., Expression]:
    """A date as text; `form_at` is the place of its format, None where the text of the two is the format."""

    def read(reader: Expressions, node: exp.Expr, *given: exp.Expr) -> Expression:
        texts = [place for place, part in enumerate(given) if isinstance(part, exp.Literal) and part.args.get("is_string")]
        place = form_at if form_at is not None else texts[0] if len(texts) == 1 else None
        if place is None or place not in texts:
            raise NotAllowed(
                f"{node.name.upper()} requires a date and a constant format",
                remedy="write TO_CHAR(day, 'YYYY-MM') or STRFTIME(day, '%Y-%m')",
                at=reader.at(node),
            )
        try:
            form = translate(str(given[place].this))
        except Refused as refusal:
            raise type(refusal)(refusal.message, remedy=refusal.remedy, at=reader.at(node)) from None
        return Apply("strftime", (reader.expression(given[1 - place]), Constant(form)), reader.at(node))

    return read


def day_of(reader: Expressions, node: exp.Expr, *given: exp.Expr) -> Expression:
    """DATE(x) is a cast, and DATE(2024, 5, 1) a constant."""
    if len(given) == 1:
        return reader.cast_to_date(given[0], node)
    if len(given) == 2 or not all(isinstance(part, exp.Literal) for part in given):
        raise WrongType("DATE takes a date, or a year, a month and a day", remedy="write DATE '2024-05-01'", at=reader.at(node))
    return reader.literal_day("-".join(f"{part.name:0>{width}}" for part, width in zip(given, (4, 2, 2), strict=True)), node)


def day_read(translate: Callable[[str], str], form_at: int) -> Callable[..., Expression]:
    """TO_DATE of a constant text, which is a constant: a column of dates needs none."""

    def read(reader: Expressions, node: exp.Expr, *given: exp.Expr) -> Expression:
        parts = [reader.expression(part) for part in given]
        texts = [part.value for part in parts if isinstance(part, Constant) and isinstance(part.value, str)]
        name = node.name.upper()
        if len(texts) < 2:
            raise NotAllowed(
                f"{name} requires a constant text and a constant format",
                remedy="write DATE '2024-05-01'; a declared date is a date already",
                at=reader.at(node),
            )
        try:
            return Constant(read_as(texts[1 - form_at], translate(texts[form_at])), reader.at(node))
        except Refused as refusal:
            raise type(refusal)(refusal.message, remedy=refusal.remedy, at=reader.at(node)) from None

    return read


def version(reader: Expressions, node: exp.Expr) -> Expression:
    """tacit's own version: two words such as PostgreSQL's begin with, and never that name, at which programs ask its own tables."""
    from importlib import metadata

    return Constant(f"tacit {metadata.version('tacit')}", reader.at(node))


def today(reader: Expressions, node: exp.Expr) -> Expression:
    """Today's date."""
    return reader.today(node)


def moment(reader: Expressions, node: exp.Expr) -> Expression:
    """NOW(): today, where its time of day makes no difference, and a refusal elsewhere."""
    return reader.moment(node)


# --- all words ---------------------------------------------------------------------------------------------------------------


Word = Callable[["Expressions", exp.Expr], Expression]


def _word_of(least: int, most: int, usage: str, read: Callable[..., Expression]) -> Word:
    """A word that takes from `least` to `most` arguments."""

    def checked(reader: Expressions, node: exp.Expr) -> Expression:
        given = node.expressions
        if not least <= len(given) <= most:
            expected = f"{least} argument{'s' * (least != 1)}" if least == most else f"{least} to {most} arguments"
            raise WrongType(f"{node.name.upper()} takes {expected}, not {len(given)}", remedy=f"write {usage}", at=reader.at(node))
        return read(reader, node, *given)

    return checked


# --- what only has another name ----------------------------------------------------------------------------------------------


def _synonym(function: str, count: int, usage: str) -> Word:
    return _word_of(count, count, usage, lambda reader, node, *given: reader.apply(function, node, *given))


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
    return _word_of(1, 50, "CONCAT(ward, '-', kind)", lambda reader, node, *given: reader.apply(function, node, *given))


def _pattern(function: str) -> Word:
    return _synonym(function, 2, f"{function.upper()}(ward, 'n')")


WORDS: Mapping[str, Word] = {
    **dict.fromkeys(("COUNTIF", "COUNT_IF"), _word_of(1, 1, "COUNTIF(urgent)", _count_if)),
    **dict.fromkeys(("SAFE_DIVIDE",), _synonym("/", 2, "SAFE_DIVIDE(SUM(cost), COUNT(*))")),
    "ISNULL": _word_of(2, 2, "COALESCE(pulse, 0)", _if_null),
    "ZEROIFNULL": _word_of(1, 1, "COALESCE(pulse, 0)", _if_null),
    "NULLIFZERO": _word_of(1, 1, "NULLIF(pulse, 0)", _null_if_zero),
    **dict.fromkeys(
        ("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT"), _synonym("count_distinct", 1, "APPROX_COUNT_DISTINCT(patient_id)")
    ),
    **dict.fromkeys(("STARTS_WITH", "STARTSWITH"), _pattern("starts_with")),
    **dict.fromkeys(("ENDS_WITH", "ENDSWITH"), _pattern("ends_with")),
    "CONTAINS": _pattern("contains"),
    "DP_INTERVAL_LOW": _synonym("interval_low", 1, "COUNT(*) AS n, DP_INTERVAL_LOW(n)"),
    "DP_INTERVAL_HIGH": _synonym("interval_high", 1, "COUNT(*) AS n, DP_INTERVAL_HIGH(n)"),
    "CONCAT": _many("concat_all"),
    "VERSION": _word_of(0, 0, "VERSION()", version),
    **dict.fromkeys(("TO_DATE", "TO_TIMESTAMP"), _word_of(2, 2, "TO_DATE('2024-05-01', 'YYYY-MM-DD')", day_read(of_to_date, 1))),
    "PARSE_DATE": _word_of(2, 2, "PARSE_DATE('%Y-%m-%d', '2024-05-01')", day_read(of_strftime, 0)),
    **dict.fromkeys(("REGEXP_MATCHES", "REGEXP_CONTAINS"), _pattern("regexp_matches")),
    **dict.fromkeys(("REGEXP_LIKE", "RLIKE"), _pattern("regexp_like")),
    **dict.fromkeys(
        ("DATE_TRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC", "TRUNC"),
        _word_of(2, 2, "DATE_TRUNC('month', day)", truncated),
    ),
    "DATE_PART": _word_of(2, 2, "DATE_PART('year', day)", part),
    **dict.fromkeys(
        ("DATE_DIFF", "DATEDIFF", "TIMESTAMP_DIFF", "TIMESTAMPDIFF", "DATETIME_DIFF"),
        _word_of(2, 3, "DATE_DIFF('day', earlier, later)", difference),
    ),
    **dict.fromkeys(("DATE_ADD", "DATEADD"), _word_of(2, 3, "day + INTERVAL 7 DAY", added("+"))),
    **dict.fromkeys(("DATE_SUB", "DATESUB"), _word_of(2, 3, "day - INTERVAL 7 DAY", added("-"))),
    "TO_CHAR": _word_of(2, 2, "TO_CHAR(day, 'YYYY-MM')", formatted(of_to_char, 1)),
    "FORMAT_DATE": _word_of(2, 2, "FORMAT_DATE('%Y-%m', day)", formatted(of_strftime, 0)),
    "STRFTIME": _word_of(2, 2, "STRFTIME(day, '%Y-%m')", formatted(of_strftime, None)),
    "DATE_FORMAT": _word_of(2, 2, "DATE_FORMAT(day, '%Y-%m')", formatted(of_date_format, 1)),
    "DATE": _word_of(1, 3, "DATE '2024-05-01'", day_of),
    **dict.fromkeys(("TODAY", "CURRENT_DATE"), _word_of(0, 0, "CURRENT_DATE", today)),
    **dict.fromkeys(("NOW", "GETDATE"), _word_of(0, 0, "CURRENT_DATE", moment)),
}  # fmt: skip
