"""Constants and casts: literals, dates, parts of dates, intervals, and the parameters that are given beside the text."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from fractions import Fraction

from sqlglot import exp

from tacit.errors import NotAllowed, WrongType
from tacit.query.language.date_formats import day_in
from tacit.query.language.nodes import CASTS, DATE_PARTS, MOST_DIGITS, NAMED, Mark, Nodes, constant, decimal_of, read_number
from tacit.query.language.syntax import Apply, At, Constant, Expression
from tacit.untrusted import UNSEEN

DAYS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "DATETIME"})  # tacit has dates, which begin at midnight
READ = {"cast_integer": "an integer", "cast_number": "a number", "cast_boolean": "TRUE or FALSE"}  # of a constant text
TRUTHS = {"true": True, "t": True, "false": False, "f": False}
WHOLE_DAYS = frozenset({"day", "week", "month", "quarter", "year"})
MOST_PRECISE, MOST_DECIMALS = 38, 12  # digits of a NUMERIC(p, s), and those after its point


def _months_away(day: date, sign: str, months: int) -> date | None:
    """The same day a number of months away, or the last one of that month; None where it leaves the calendar."""
    place = day.year * 12 + day.month - 1 + (months if sign == "+" else -months)
    year, month = divmod(place, 12)
    if not 1 <= year < 9999:
        return None
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _is_now(node: exp.Expr) -> bool:
    """Whether a node is NOW(), plus or minus intervals of whole days."""
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval)):
        unit = node.expression.args.get("unit") if isinstance(node, exp.Add | exp.Sub) else None
        if unit is not None and unit.name.lower().rstrip("s") not in WHOLE_DAYS:
            return False
        node = node.this
    called = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    return isinstance(node, exp.CurrentTimestamp) or called in ("NOW", "GETDATE")


class Values(Nodes):
    """Reads constants, casts, dates and parameters."""

    def literal(self, node: exp.Expr) -> Expression:
        if node.args.get("is_string"):
            return Constant(str(node.this), self.at(node))
        number = read_number(str(node.this))
        if number is None:
            raise self.refuse(node, f"a number has at most {MOST_DIGITS} digits")
        return Constant(number, self.at(node))

    def boolean(self, node: exp.Expr) -> Expression:
        return Constant(bool(node.this), self.at(node))

    def null(self, node: exp.Expr) -> Expression:
        return Constant(None, self.at(node))

    # --- casts ---

    def cast(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "to")
        if digits := node.args["to"].expressions:
            return self.decimal(node, digits)
        kind = self.kind(node.args["to"])
        if kind in DAYS:
            return self.cast_to_date(node.this, node)
        if kind not in CASTS:
            raise self.refuse(node, f"a cast to {kind} is not supported")
        if isinstance(node.this, exp.Literal) and node.this.is_string and CASTS[kind] in READ:
            return self.constant_read(node, CASTS[kind])
        return self.apply(CASTS[kind], node, node.this)

    def constant_read(self, node: exp.Expr, cast: str) -> Expression:
        """A cast of a constant text, which is a constant."""
        text = str(node.this.this).strip()
        value = TRUTHS.get(text.lower()) if cast == "cast_boolean" else read_number(text.removeprefix("-"))
        if value is None or (cast == "cast_integer" and Fraction(value).denominator != 1):
            raise WrongType(f"the text is not {READ[cast]}", remedy="write the constant without quotes", at=self.at(node))
        return constant(-value if text.startswith("-") and not isinstance(value, bool) else value, self.at(node))

    def decimal(self, node: exp.Expr, digits: list[exp.Expr]) -> Expression:
        """A cast to a number with a limit of digits, some of them after the point."""
        wanted = node.args["to"]
        written = [str(part.this.this) for part in digits if isinstance(part.this, exp.Literal) and not part.this.is_string]
        whole = len(written) == len(digits) <= 2 and all(re.fullmatch("[0-9]{1,2}", text) for text in written)
        precision, scale = (int(written[0]), int(written[-1]) if len(written) == 2 else 0) if whole else (0, 0)
        if wanted.this.name != "DECIMAL" or not scale <= precision <= MOST_PRECISE or not precision or scale > MOST_DECIMALS:
            limits = f"at most {MOST_PRECISE} digits, {MOST_DECIMALS} of them after the point"
            raise self.refuse(node, f"a cast with digits takes NUMERIC(p, s): {limits}")
        parts = (self.expression(node.this), Constant(Fraction(precision)), Constant(Fraction(scale)))
        return Apply("cast_decimal", parts, self.at(node))

    def kind(self, node: exp.Expr) -> str:
        """The name of a plain type, without width or precision."""
        self.only(node, "this")
        if not isinstance(node, exp.DataType) or not isinstance(node.this, exp.DataType.Type):
            raise self.refuse(node, "a cast to that type is not supported")
        return node.this.name

    def cast_to_date(self, value: exp.Expr, node: exp.Expr) -> Expression:
        """A date: a text is a constant, and now is today."""
        if isinstance(value, exp.Literal) and value.is_string:
            return self.literal_day(str(value.this), node)
        day = self.as_day(value)
        return day if isinstance(day, Constant) and isinstance(day.value, date) else Apply("cast_date", (day,), self.at(node))

    def as_day(self, node: exp.Expr) -> Expression:
        """An expression whose time of day does not matter: NOW() is today in it, also some days or months away."""
        outer, self.day_only = self.day_only, _is_now(node)
        try:
            return self.expression(node)
        finally:
            self.day_only = outer

    def moment(self, node: exp.Expr) -> Expression:
        """NOW() and CURRENT_TIMESTAMP."""
        if self.day_only:
            return self.today(node)
        called = f"{node.name.upper()}()" if isinstance(node, exp.Anonymous) else "CURRENT_TIMESTAMP"
        raise NotAllowed(f"{called} is a time of day, and tacit has dates only", remedy="write CURRENT_DATE", at=self.at(node))

    def literal_day(self, text: str, node: exp.Expr) -> Constant:
        if (day := day_in(text)) is None:
            raise self.refuse(node, "invalid date; write DATE '2020-12-31'")
        return Constant(day, self.at(node))

    # --- what is given beside the text ---

    def today(self, node: exp.Expr) -> Expression:
        """The date in UTC, by the clock of whoever asks."""
        self.only(node, *(["this"] if isinstance(node, exp.Anonymous) else []))
        if self.given.today is None:
            raise NotAllowed("the current date is not known here", remedy="write it out: DATE '2024-12-31'", at=self.at(node))
        self.filled.add("today")
        return Constant(self.given.today, self.at(node))

    def parameter(self, node: exp.Expr) -> Expression:
        """`?`, `:age` or `@age`."""
        self.only(node, "this")
        named = node.args.get("this")
        return self.literal_of(str(self.places.get(id(node), 1)) if named is None else node.name, node)

    def literal_of(self, name: str, node: exp.Expr) -> Expression:
        """The literal that a parameter stands for."""
        held, at = self.given.parameters, self.at(node)
        if name.lower() not in held and self.given.marks:
            return Constant(Mark(name.lower()), at)
        if name.lower() not in held:
            remedy = f'give it: params={{"{name[:40]}": ...}}' if not name.isdigit() else "give its value in params=[...]"
            raise NotAllowed(f"the parameter {name[:60]!r} has no value", remedy=remedy, at=at)
        self.filled.add(name.lower())
        value = held[name.lower()]
        if isinstance(value, str) and UNSEEN.search(value):
            raise NotAllowed(f"the parameter {name[:60]!r} contains a control character", remedy="remove it", at=at)
        if isinstance(value, str | bool | date) or value is None:
            return constant(value, at)
        number = read_number(decimal_of(value) or "")
        if number is None:
            raise NotAllowed(f"the parameter {name[:60]!r} must be a number of at most {MOST_DIGITS} digits", at=at)
        return constant(number, at)

    # --- dates ---

    def extract(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "expression")
        return self.part(node, node.this.name.lower(), node.expression)

    def part(self, node: exp.Expr, name: str, value: exp.Expr) -> Expression:
        """A part of a date, by its name."""
        if NAMED.get(name, name) not in DATE_PARTS:
            raise self.refuse(node, f"{name[:40]} is not a part of a date: supported are {', '.join(sorted(DATE_PARTS))}")
        return self.apply(NAMED.get(name, name), node, value)

    def shift_day(self, sign: str, day: Expression, by: Expression, at: At) -> Expression:
        """A date plus or minus an interval; a constant one is moved here, by months and years too."""
        if isinstance(day, Constant) and isinstance(day.value, date) and isinstance(by, Apply) and by.function == "interval":
            count, unit = (part.value if isinstance(part, Constant) else None for part in by.arguments)
            months = {"month": 1, "quarter": 3, "year": 12}.get(str(unit))
            if isinstance(count, Fraction) and months is not None and (moved := _months_away(day.value, sign, int(count) * months)):
                return Constant(moved, at)
        return Apply(sign, (day, by), at)

    def interval(self, node: exp.Expr) -> Expression:
        self.only(node, "this", "unit")
        if not isinstance(node.this, exp.Literal) or node.args.get("unit") is None:
            raise self.refuse(node, "invalid interval; write INTERVAL 7 DAY")
        count = Constant(Fraction(str(node.this.this)) if re.fullmatch("-?[0-9]{1,9}", str(node.this.this)) else None)
        return Apply("interval", (count, Constant(node.args["unit"].name.lower().rstrip("s"))), self.at(node))
