"""The hospital of docs/guides/catalog.md: its catalog, and what its public table holds, as the store would say it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path

import pyarrow as pa

import pages
from tacit.data.catalog import parse_catalog
from tacit.errors import NoBudget, Refused
from tacit.privacy.catalog import Catalog, Column
from tacit.query.answers.explained import explained_derivation
from tacit.query.answers.levels import derivation_of
from tacit.query.answers.plan import Derivation
from tacit.query.engines.public import PublicTable, asked_of_public
from tacit.query.free import Columns, declared_values, may_select_from_answers, public_tables
from tacit.query.language.nodes import given
from tacit.query.language.sql import parse, read
from tacit.query.language.syntax import Select, Statement
from tacit.query.offers import share_of
from tacit.query.passes import rewrite
from tacit.query.price.explain import explained, explained_free
from tacit.query.price.explanation import Explanation
from tacit.query.price.price import Quote, Request, price, request

TODAY = date(2025, 1, 1)
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "catalog.md"
LIST = pages.ROOT.parent / "shared" / "questions.sql"  # kept beside the repository
ENTRY = re.compile(r"^-- (answered|free|refused): (\d+)(?: .*)?\n(.+);$", re.MULTILINE)
MARKED = ENTRY.findall(LIST.read_text("utf-8")) if LIST.exists() else []


class Wards:
    """The four wards, each with its floor and its beds."""

    def columns(self, table: str) -> Mapping[str, Column]:
        whole = {"bounds": (Fraction(0), Fraction(100)), "step": Fraction(1)}
        ward = Column("ward", "category", values=("north", "south", "east", "west"))
        return {"ward": ward, "floor": Column("floor", "number", **whole), "beds": Column("beds", "number", **whole)}  # type: ignore[arg-type]

    def fan_out(self, table: str, column: str) -> int:
        return 1

    def size(self, table: str) -> int:
        return 4

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        """The rows themselves: floors 1 to 4, and ten beds more on each."""
        rows = pa.table({"ward": [0, 1, 2, 3], "floor": [1, 2, 3, 4], "beds": [10, 20, 30, 40]})
        return asked_of_public(text, {name: PublicTable(rows, self.columns(name)) for name in tables})


@cache
def hospital() -> Catalog:
    block = next(block for block in pages.blocks(PAGE.read_text(encoding="utf-8")) if block.title == "tacit.toml")
    return parse_catalog(block.text)


def quoted(question: str) -> Quote:
    """The question, understood and priced at epsilon 1; a budget written in it counts. Of several, the first."""
    select = parse(question)
    if may_select_from_answers(select) and (derivation := derivation_of(select, hospital(), Wards())) is not None:
        share = share_of(request(**{"epsilon": 1, "delta": "1e-8", **dict(select.options)}), derivation)
        return next(price(plan, share)[0] for plan in derivation.plans)
    return price(rewrite(select, hospital(), Wards()), request(**{"epsilon": 1, **dict(select.options)}))[0]


def is_free(statement: Statement) -> bool:
    if not isinstance(statement, Select):
        return True
    return public_tables(statement, hospital()) is not None or declared_values(statement, hospital()) is not None


def _explained(derivation: Derivation) -> Explanation:
    """What is said of a SELECT from answers at epsilon 1; with a delta, where one of its questions needs it."""

    def explain(select: Select, asked: Request) -> Explanation:
        return explained(price(rewrite(select, hospital(), Wards()), asked)[0])

    try:
        return explained_derivation(derivation, [share_of(request(epsilon=1), derivation)], explain)
    except NoBudget:
        return explained_derivation(derivation, [share_of(request(epsilon=1, delta="1e-8"), derivation)], explain)


def outcome(question: str) -> tuple[str, list[str]]:
    """Whether a question is answered or free, and what is said of it: the plan and its price, or the refusal."""
    try:
        statement = read(question, given(None, TODAY)).statement
        if is_free(statement):
            return "free", [line for line in str(explained_free()).splitlines() if line]
        assert isinstance(statement, Select)
        if may_select_from_answers(statement) and (derivation := derivation_of(statement, hospital(), Wards())) is not None:
            return "answered", [line for line in str(_explained(derivation)).splitlines() if line]
        plan = rewrite(statement, hospital(), Wards())
        try:
            quote = price(plan, request(epsilon=1))[0]
        except NoBudget:
            quote = price(plan, request(epsilon=1, delta="1e-8"))[0]
        return "answered", [line for line in str(explained(quote)).splitlines() if line]
    except Refused as refusal:
        return "refused", [f"{refusal.code}: {refusal}"]
