"""Random plans with their quotes, of every world that other tests have questions for; nothing is prepared: prices read no data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

import join_questions
import questions
from joined import Hospital, declared
from shop import LIMITS, TIED, Regions, shop
from stored import catalog, category, days, number, table
from tacit.errors import TacitError
from tacit.privacy.catalog import Catalog, Column, Owner
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.price import price, request
from tacit.query.price.quote import Quote


class Wards:
    """The facts of the public table: some rows for each ward."""

    def columns(self, table: str) -> Mapping[str, Column]:
        return {"ward": category("ward", "a", "b", "c"), "site": category("site", "N", "S"), "beds": number("beds", 0, 9)}

    def fan_out(self, table: str, column: str) -> int:
        return {"ward": 2, "beds": 1, "site": 3}[column]

    def size(self, table: str) -> int:
        return 4


WARDS = table("wards", Path("wards.csv"), *Wards().columns("wards").values(), public=True)


@dataclass(frozen=True)
class Asked:
    """A question of a catalog, and the budget that it is asked with."""

    text: str
    catalog: Catalog
    facts: Any
    epsilon: Fraction
    delta: Fraction
    error: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    def quotes(self) -> tuple[Quote, ...]:
        """All quotes; none if the question is refused."""
        budget: dict[str, Any] = {"error": 50} if self.error else {"epsilon": self.epsilon}
        try:
            question = rewrite(parse(self.text), self.catalog, self.facts)
            return price(question, request(delta=self.delta, **budget, **dict(self.options)), self.catalog.change)
        except TacitError:
            return ()


FLOORS = st.sampled_from([0, 30])
CHANGES = st.sampled_from(["add-remove", "add-remove", "change-one"])
EPSILONS = st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(8)])
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 10**9)])
LIMITED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({})"
LIMITS_ASKED = st.sampled_from(
    ["SELECT"] * 5
    + [LIMITED.format(f"{name} = {most}") for name in ("max_rows_contributed", "max_groups_contributed") for most in (1, 2)]
    + [LIMITED.format("min_privacy_units_per_group = 40")]
)
OPTIONS = st.sampled_from([(), (), (("interval", False),), (("confidence", Fraction(99, 100)),)])


def budgets(text: str, known: Catalog, facts: Any) -> st.SearchStrategy[Asked]:
    return st.builds(
        Asked, st.just(text), st.just(known), st.just(facts), EPSILONS, DELTAS, st.sampled_from([False] * 7 + [True]), OPTIONS
    )


@st.composite
def of_rows(draw: st.DrawFn) -> Asked:
    """Expressions over every kind of column."""
    term = draw(questions.numbers(leaves_at_most=4))
    made = [
        f"SUM({term})",
        f"AVG({term})",
        f"VAR_POP({term})",
        f"COUNT({term})",
        f"COUNT(DISTINCT {term})",
        f"MEDIAN({term})",
        "COUNT(*)",
    ]
    aggregates = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    keys = draw(st.lists(questions.keys() | st.just("note"), max_size=2, unique=True))
    where = draw(st.sampled_from(["", "", f" WHERE {draw(questions.conditions())}"]))
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    text = f"SELECT {', '.join([*keys, *aggregates])} FROM t{where}{grouped}"
    rows, limit = draw(st.sampled_from([1, 1, 3, 8])), draw(st.sampled_from([None, 1, 2]))
    owner = Owner("person") if rows > 1 or draw(st.booleans()) else None
    columns = [*questions.COLUMNS, *([Column("person", "key")] if owner else [])]
    one = table("t", Path("t.csv"), *columns, unit=owner, max_rows=rows, max_rows_per_group=limit, rows_at_most=1000)
    return draw(budgets(text, catalog(Path(), one, change=draw(CHANGES)), None))


@st.composite
def of_clinic(draw: st.DrawFn) -> Asked:
    """Every aggregate, joined with a public table, over public and private keys, with margins and released numbers that choose."""
    text = draw(questions.clinic_questions(private_keys=draw(st.booleans())))
    if " GROUP BY " in text:
        text += draw(st.sampled_from(["", "", " HAVING COUNT(*) > 5", " ORDER BY COUNT(*) DESC LIMIT 3"]))
        head, _, keys = text.partition(" GROUP BY ")
        if draw(st.booleans()) and keys.split(" HAVING")[0].split(" ORDER")[0] == keys:
            text = f"{head} GROUP BY {draw(st.sampled_from(['ROLLUP', 'CUBE']))} ({keys})"
    text = text.replace("SELECT", draw(LIMITS_ASKED), 1)
    rows, limit = draw(st.sampled_from([1, 3, 20])), draw(st.sampled_from([None, 2]))
    columns = (
        category("ward", "a", "b", "c"), number("cost", 0, 50, "0.01"), number("age", -3, 7, nulls="drop"),
        days("day", "2020-01-30", "2020-05-02", nulls="drop"), Column("diagnosis", "text"), Column("scan", "presence"),
    )  # fmt: skip
    one = table(
        "visits", Path("visits.csv"), Column("person", "key"), *columns,
        unit=Owner("person"), max_rows=rows, max_rows_per_group=limit, rows_at_most=10**5, min_people=draw(FLOORS),
    )  # fmt: skip
    return draw(budgets(text, catalog(Path(), one, WARDS, change=draw(CHANGES)), Wards()))


@cache
def hospital(folder: Path, visits: int, labs: int, cards: int, keyed: bool, change: str) -> Catalog:
    data = Hospital({}, limits={"visits": visits, "labs": labs, "cards": cards}, keyed=keyed)
    known = declared(folder, data, max_joined_rows=10**6)
    return Catalog(known.budget, known.tables, path=known.path, change=change)  # type: ignore[arg-type]


def of_hospital(folder: Path) -> st.SearchStrategy[Asked]:
    """Joins, semi- and anti-joins, unions and totals of each unit."""

    @st.composite
    def asked(draw: st.DrawFn) -> Asked:
        limits = [draw(st.sampled_from([1, 2, 5])) for _ in range(3)]
        known = hospital(folder, *limits, draw(st.booleans()), draw(CHANGES))
        return draw(budgets(draw(join_questions.questions()), known, Wards()))

    return asked()


@st.composite
def of_shop(draw: st.DrawFn) -> Asked:
    """Trees of joins in any order."""
    random = Random(draw(st.integers(0, 2**32)))
    tables = [random.choice(list(LIMITS))]
    said = []
    for place in range(1, random.randint(2, 5)):
        ways = [(at, name, space) for at, one in enumerate(tables) for space, held in TIED.items() if one in held for name in held]
        at, name, space = random.choice(ways)
        said.append(
            (place, f"t{at}.{TIED[space][tables[at]]} = t{place}.{TIED[space][name]}", random.choice(["JOIN", "JOIN", "LEFT JOIN"]))
        )
        tables.append(name)
    text = f"FROM {tables[0]} AS t0" + "".join(f" {kind} {tables[at]} AS t{at} ON {on}" for at, on, kind in said)
    limits = {name: random.randint(1, 6) for name in LIMITS}
    return draw(budgets(f"SELECT COUNT(*) {text}", shop(limits, random.choice([None, 2])), Regions()))


def every(folder: Path) -> Iterator[tuple[str, st.SearchStrategy[Asked]]]:
    """All worlds, by name."""
    yield from {"rows": of_rows(), "clinic": of_clinic(), "hospital": of_hospital(folder), "shop": of_shop()}.items()
