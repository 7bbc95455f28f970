"""One node of sqlglot's tree: its place in the text, its name for a refusal, and that nothing it carries is passed over."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from tacit.errors import NotAllowed, WrongType
from tacit.privacy.rounding import is_decimal
from tacit.query.language.functions import TAKES, USAGE
from tacit.query.language.given import Given
from tacit.query.language.syntax import Apply, At, Expression, Query
from tacit.query.language.vocabulary import CALLED, CLAUSES

MOST_DIGITS = 40
SCHEMAS = (None, "public", "main", "dbo")
_IGNORED = {"big_int", "typed", "safe", "_type", "ignore_nulls", "is_string", "nested", "quoted"}
_NEAREST: dict[type[exp.Expr], str] = {
    exp.Distinct: "use GROUP BY for the different values, or COUNT(DISTINCT ...) of the unit",
    exp.Subquery: "ask the inner question on its own, and write its released number here",
    exp.Union: "use UNION ALL in a sub-query over tables of the same unit, or ask the questions one by one",
    exp.Anonymous: "see: tacit reference sql",
}


def read_number(text: str) -> Fraction | None:
    """A number of at most MOST_DIGITS digits, before and after the point; None for anything else."""
    if not is_decimal(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or len(number.as_tuple().digits) > MOST_DIGITS or abs(number.adjusted()) > MOST_DIGITS:
        return None
    return Fraction(number)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class Nodes(ABC):
    """What every part of the reader shares; keeps the text, for places."""

    def __init__(self, text: str, given: Given | None = None) -> None:
        self.text, self.given = text, given or Given()
        self.filled: set[str] = set()  # the parameters that became literals, and "today"
        self.places: dict[int, int] = {}  # of each ?, by its node: its number from 1
        self._starts: dict[int, tuple[exp.Expr, int | None]] = {}  # by node, which is held so that no other gets its number
        self.named_queries: dict[str, Query] = {}  # of WITH, by their names in lower case

    @abstractmethod
    def expression(self, node: exp.Expr) -> Expression:
        """Any expression."""

    @abstractmethod
    def query(self, node: exp.Expr) -> Query:
        """What stands in parentheses: a SELECT, or several with UNION ALL."""

    def at(self, node: exp.Expr) -> At:
        start = self._start(node)
        return None if start is None else line_and_column(self.text, start)

    def _start(self, node: exp.Expr) -> int | None:
        """Where the first of a node's parts stands in the text; found once for each, as every node around them asks for it."""
        known = self._starts.get(id(node))
        if known is None:
            starts = [node.meta.get("start"), *map(self._start, node.iter_expressions())]
            known = self._starts[id(node)] = (node, min((start for start in starts if start is not None), default=None))
        return known[1]

    def refuse(self, node: exp.Expr, what: str | None = None) -> NotAllowed:
        remedy = _NEAREST.get(type(node), "see: tacit reference sql")
        return NotAllowed(what or f"{self.word(node)} is not supported", remedy=remedy, at=self.at(node))

    def word(self, node: exp.Expr) -> str:
        """What a construct is called, in the words of whoever wrote it; never by the name that the parser has for it."""
        if isinstance(node, exp.Anonymous):
            return node.name.upper()[:40]
        if type(node) in CALLED:
            return CALLED[type(node)]
        names = list(map(str, node.sql_names())) if isinstance(node, exp.Func) else []
        written = (name for name in names if re.search(rf"\b{name}\s*\(", self.text, flags=re.IGNORECASE))
        return next(written, names[0] if names else "this expression")

    def only(self, node: exp.Expr, *allowed: str) -> None:
        """Refuses a node that carries an argument which the caller does not read."""
        for name, value in node.args.items():
            if name not in allowed and name not in _IGNORED and value not in (None, False, [], ""):
                clause = CLAUSES.get(name)
                raise self.refuse(
                    node, f"{clause} is not supported" if clause else f"this form of {self.word(node)} is not supported"
                )

    def apply(self, function: str, node: exp.Expr, *parts: exp.Expr | None) -> Apply:
        given = [part for part in parts if part is not None]
        least, most = TAKES.get(function, (1, len(given) or 1))
        if not least <= len(given) <= most:
            expected = f"{least} to {most} arguments" if least < most else f"{least} argument{'s' * (least > 1)}"
            raise WrongType(
                f"{function.upper()} takes {expected}, not {len(given)}",
                remedy=USAGE.get(function, "see: tacit reference sql"),
                at=self.at(node),
            )
        return Apply(function, tuple(map(self.expression, given)), self.at(node))
