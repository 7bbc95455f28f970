"""Questions that one means to ask: their errors at several budgets and limits of rows, and a split that levels relative errors.

Everything follows from the questions, the catalog and an assumed size of a group: no row is read, no ledger is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.errors import InvalidInput, Refused, StoreUnusable
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.rounding import decimal_text
from tacit.query.free import Columns, Facts
from tacit.query.language.syntax import Select, Statement
from tacit.query.offers import Asker, Seen, explained
from tacit.query.passes import rewrite
from tacit.query.price.explanation import AtBudget, Expected, Explanation
from tacit.query.price.quote import LEAST_EPSILON
from tacit.query.question import Question

MOST_QUESTIONS = 200
ROUNDS = 8  # of moving epsilon to the questions with larger errors; with Laplace noise, one is enough
FINEST = 10**6  # parts of epsilon: a share is rounded down to one
COUNTED = ("count", "distinct", "units")
NO_LEDGER = Seen(lambda events: 0, "the budget", "")


class Unprepared:
    """Facts about public tables where nothing is prepared: a question that needs one is refused."""

    def columns(self, table: str) -> Mapping[str, Column]:
        raise StoreUnusable(f"{table} is public, and has not been prepared", remedy="run: tacit prepare")

    def fan_out(self, table: str, column: str) -> int:
        """No fact is known."""
        raise StoreUnusable(f"{table} is public, and has not been prepared", remedy="run: tacit prepare")

    def size(self, table: str) -> int:
        """No fact is known."""
        raise StoreUnusable(f"{table} is public, and has not been prepared", remedy="run: tacit prepare")

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        """No public row is known."""
        raise StoreUnusable(f"{tables[0]} is public, and has not been prepared", remedy="run: tacit prepare")


@dataclass(frozen=True, slots=True)
class Asking:
    """The conditions under which questions are planned: the catalog, public tables, further arguments of `explain`."""

    catalog: Catalog
    public: Callable[[], Facts]
    budget: Mapping[str, Any]

    @property
    def group_rows(self) -> int | None:
        """The size of a group that is assumed, if any."""
        rows: int | None = self.budget.get("group_rows")
        return rows

    def with_max_rows(self, most: int | None) -> Asking:
        """The same under another limit of rows for all tables whose rows have a unit; None is what is declared."""
        if most is None:
            return self
        tables = {name: _limited(table, most) for name, table in self.catalog.tables.items()}
        return replace(self, catalog=replace(self.catalog, tables=tables))

    def explained(self, asked: Statement, **budget: Any) -> Explanation:
        """The price and errors of a question; the ledger has no part in it."""
        asker = Asker("", self.catalog, self.public, None)
        return explained(asked, {**self.budget, **budget}, asker, lambda: NO_LEDGER)


def _limited(table: Table, most: int) -> Table:
    return table if table.public or table.unit is None else replace(table, max_rows=most)


@dataclass(frozen=True, slots=True)
class Row:
    """The errors of one question under one limit of rows, at each budget; or the refusal. None is the declared limit."""

    question: int
    max_rows: int | None
    budgets: tuple[AtBudget, ...] = ()
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        told = {"question": self.question, "max_rows": self.max_rows}
        return told | ({"refused": self.refused} if self.refused else {"budgets": [each.to_dict() for each in self.budgets]})


def errors_of(questions: Sequence[Statement], asking: Asking, epsilons: Sequence[Any], limits: Sequence[int | None]) -> list[Row]:
    """The errors of each question under each limit of rows, at each epsilon; a refusal takes its place."""
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise InvalidInput(f"a plan has 1 to {MOST_QUESTIONS} questions, not {len(questions)}; split the file")
    return [
        _row(place, asked, most, asking.with_max_rows(most), epsilons)
        for place, asked in enumerate(questions, 1)
        for most in limits
    ]


def _row(place: int, asked: Statement, most: int | None, asking: Asking, epsilons: Sequence[Any]) -> Row:
    try:
        return Row(place, most, asking.explained(asked, epsilons=list(epsilons)).budgets)
    except Refused as refusal:
        return Row(place, most, refused=str(refusal))


# --- the split of a budget ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a budget for one question, its errors there, and the largest of them relative to the size of its column."""

    question: int
    epsilon: Fraction
    errors: tuple[Expected, ...]
    relative: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        told = {"question": self.question, "epsilon": decimal_text(self.epsilon), "relative_error": f"{float(self.relative):.6g}"}
        return told | {"errors": [each.to_dict() for each in self.errors]}


def levelled(questions: Sequence[Statement], asking: Asking, total: Fraction) -> tuple[list[Share], dict[int, str]]:
    """The split of `total` at which the relative errors of questions are nearly equal, and why others have no part in it.

    An error is relative to the largest value that its column can have in a group of the assumed size; of an average or a quantile,
    to the width of its declared range.
    """
    known, left_out = dict[int, Statement](), dict[int, str]()
    for place, asked in enumerate(questions, 1):
        reason = _why_not(asked, asking)
        known |= {} if reason else {place: asked}
        left_out |= {place: reason} if reason else {}
    if not known:
        return [], left_out
    if total < LEAST_EPSILON * len(known):
        raise InvalidInput(f"epsilon {decimal_text(total)} is too little for {len(known)} questions; give a larger one")
    parts = dict.fromkeys(known, Fraction(1, len(known)))
    shares = _shares(known, asking, total, parts)
    for _ in range(ROUNDS):
        weights = {share.question: share.relative * share.epsilon for share in shares}
        parts = {place: weight / sum(weights.values()) for place, weight in weights.items()}
        shares = _shares(known, asking, total, parts)
    return shares, left_out


def _why_not(asked: Statement, asking: Asking) -> str:
    """Why a question has no part in the split; empty if it has one."""
    try:
        explanation = asking.explained(asked, epsilon=1)
    except Refused as refusal:
        return str(refusal)
    if not explanation.epsilon:
        return "it is free"
    sized = _sizes(explanation, asked, asking)
    if any(error.half_width is not None and sized.get(error.column) for error in explanation.errors):
        return ""
    return "its error is not known in advance" if asking.group_rows else "its size is not known; give --group-rows"


def _shares(known: Mapping[int, Statement], asking: Asking, total: Fraction, parts: Mapping[int, Fraction]) -> list[Share]:
    return [_share(place, asked, asking, max(LEAST_EPSILON, _rounded_down(total * parts[place]))) for place, asked in known.items()]


def _rounded_down(epsilon: Fraction) -> Fraction:
    return Fraction(int(epsilon * FINEST), FINEST)


def _share(place: int, asked: Statement, asking: Asking, epsilon: Fraction) -> Share:
    explanation = asking.explained(asked, epsilon=epsilon)
    sized = _sizes(explanation, asked, asking)
    wide = [(Fraction(error.half_width), sized.get(error.column)) for error in explanation.errors if error.half_width is not None]
    relative = max((width / size for width, size in wide if size), default=Fraction(0))
    return Share(place, epsilon, explanation.errors, relative)


def _sizes(explanation: Explanation, asked: Statement, asking: Asking) -> dict[str, Fraction]:
    """The size of each column of an answer: its declared range, or what a group of the assumed size can make of it."""
    sizes, rows = dict[str, Fraction](), asking.group_rows
    for heading in explanation.columns:
        if isinstance(heading.low, int | float) and isinstance(heading.high, int | float) and heading.type != "date":
            sizes[heading.name] = Fraction(heading.high) - Fraction(heading.low)
        elif rows and heading.kind in COUNTED:
            sizes[heading.name] = Fraction(rows)
    if rows and isinstance(asked, Select):
        summed = [heading.name for heading in explanation.columns if heading.kind == "sum"]
        with suppress(Refused):  # a SELECT from answers: its sums are those of a question inside it
            sizes |= dict(zip(summed, _largest_sums(rewrite(asked, asking.catalog, asking.public()), rows), strict=False))
    return sizes


def _largest_sums(question: Question, rows: int) -> list[Fraction]:
    """The largest absolute value of each SUM over a number of rows, in the order of the query."""
    terms = [call.over for call in question.calls if call.name == "sum" and call.over is not None]
    steps = [getattr(term.type, "step", Fraction(1)) for term in terms]
    return [
        rows * step * max(abs(getattr(term.node, "low", 0)), abs(getattr(term.node, "high", 0)))
        for term, step in zip(terms, steps, strict=True)
    ]
