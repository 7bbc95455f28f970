"""Where the number of rows is public, one row is exchanged for another: every pair of rows of a small table.

The number is public only in a catalog with one private table, a unit for each row, and nothing that can drop one. Each planted bug
is the rule without one of its conditions; it is caught by two files that differ in one row, prepared and asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import tacit
from drift import by_group, moved
from stored import catalog as catalog_of
from stored import category, number, table
from tacit.accounting.composition import cost_under
from tacit.privacy.catalog import Catalog, Column, Owner, Source
from tacit.privacy.loss import Neighbours
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.price import Quote, price, request
from tacit.query.price.stability import rows_are_public
from worlds import World, ranked, world_in_memory

CHANGED = Neighbours("change-one", "unit")
PAY, PLACE = number("pay", 10, 14, nulls=Fraction(10)), category("place", "x", "y", unknown="other", nulls="other")
ROWS = [{"pay": pay, "place": place} for pay in (0, 2, 4) for place in (0, 2)]
ASKED = [
    "SELECT COUNT(*), SUM(pay) FROM people",
    "SELECT SUM(pay - 30) FROM people",
    "SELECT AVG(pay) FROM people",
    "SELECT VAR_SAMP(pay), COUNT(pay), COUNT(DISTINCT place) FROM people",
    "SELECT MEDIAN(pay), COUNT(*) FROM people",
    "SELECT SUM(CASE WHEN place = 'x' THEN pay ELSE 0 END), COUNT(*) FROM people",
    "SELECT CORR(pay, pay * pay), COUNT(*) FROM people",
    "SELECT SUM(pay) AS total FROM people HAVING COUNT(*) > 1",
]


def people(folder: Path, *columns: Column, **declared: Any) -> Catalog:
    return catalog_of(folder, table("people", folder / "people.csv", *(columns or (PAY, PLACE)), **declared), change="change-one")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(people(tmp_path_factory.mktemp("fixed"), rows_at_most=100), {"people": []}) as made:
        yield made


def quoted(made: World, text: str, **budget: Any) -> tuple[Quote, ...]:
    plan = made.plan(text)
    return price(plan, request(**budget or {"epsilon": 1}), made.catalog.change, rows_are_public(plan, made.catalog))


def check(quotes: Sequence[Quote], made: World, before: list[Any], after: list[Any]) -> None:
    """From one list of stored rows to another, no sum moves further than the sensitivity of its mechanism."""
    stored = (ranked([[row] for row in rows]) for rows in (before, after))
    one, other = (by_group(quotes[0].question, made.with_rows("people", rows)) for rows in stored)
    for part in (part for quote in quotes for part in quote.sums):
        key = next(iter(one[part.place] | other[part.place]))
        found = moved(one[part.place].get(key, 0), other[part.place].get(key, 0))
        assert found <= part.mechanism.sensitivity, (part, found)


@pytest.mark.parametrize("text", ASKED)
def test_no_exchanged_row_moves_an_answer_further_than_its_sensitivity(place: World, text: str) -> None:
    assert rows_are_public(place.plan(text), place.catalog)
    quotes = quoted(place, text, epsilon=1, delta=Fraction(1, 10**6))
    for before, after in combinations(ROWS, 2):
        check(quotes, place, [ROWS[3], before], [ROWS[3], after])


def sensitivities(quote: Quote) -> dict[str, Fraction]:
    return {part.moment.kind: part.mechanism.sensitivity for part in quote.sums}


def test_counts_are_exact_sums_move_by_their_range_and_all_epsilon_is_for_what_moves(place: World) -> None:
    (quote,) = quoted(place, "SELECT COUNT(*), SUM(pay) FROM people")
    assert sensitivities(quote) == {"rows": 0, "sum": 4}  # 14 if the row might not count
    count, total = quote.sums
    assert (count.mechanism.scale, total.mechanism.scale) == (0, 4)  # sensitivity over all of epsilon
    assert cost_under(quote.event, CHANGED).epsilon == 1
    (average,) = quoted(place, "SELECT AVG(pay) FROM people")
    assert {part.moment.kind: part.mechanism.scale for part in average.sums} == {"rows": 0, "centred": 8}  # in half steps
    assert cost_under(average.event, CHANGED).epsilon == 1


def test_concentrated_noise_has_no_share_for_what_is_exact(place: World) -> None:
    asked = (f"SELECT {what} FROM people" for what in ("COUNT(*), SUM(pay)", "SUM(pay)"))
    both, alone = (quoted(place, text, epsilon=1, delta=Fraction(1, 10**6)) for text in asked)
    assert {each.sums[-1].mechanism.name for each in both} == {"Laplace", "Gaussian"}
    assert [each.sums[-1].mechanism for each in both] == [each.sums[-1].mechanism for each in alone]
    for one, other in zip(both, alone, strict=True):
        assert cost_under(one.event, CHANGED) == cost_under(other.event, CHANGED)


def test_an_error_is_paid_for_by_what_moves(place: World) -> None:
    (both,), (alone,) = (quoted(place, f"SELECT {what} FROM people", error=20) for what in ("COUNT(*), SUM(pay)", "SUM(pay)"))
    assert (both.epsilon, both.sums[-1].mechanism) == (alone.epsilon, alone.sums[0].mechanism)
    assert cost_under(both.event, CHANGED).epsilon == both.epsilon


def test_a_count_alone_is_priced_as_if_it_were_private(place: World) -> None:
    (quote,) = quoted(place, "SELECT COUNT(*) FROM people")
    assert sensitivities(quote) == {"rows": 1}
    assert cost_under(quote.event, CHANGED).epsilon == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*), SUM(pay) FROM people WHERE pay > 11",
        "SELECT place, COUNT(*), SUM(pay) FROM people GROUP BY place",
        "SELECT COUNT(*), SUM(pay) FILTER (WHERE place = 'x') FROM people",
        "SELECT COUNT(*) FILTER (WHERE place = 'x'), SUM(pay) FROM people",
        "SELECT COUNT(*), SUM(NULLIF(pay, 12)) FROM people",
        "SELECT COUNT(*), SUM(pay) FROM (SELECT pay FROM people WHERE pay > 11) AS some",
        "SELECT COUNT(*), SUM(pay) FROM people UNION ALL SELECT COUNT(*), SUM(pay) FROM people",
        "SELECT SUM(pay), (SELECT COUNT(*) FROM people) FROM people",
        "SELECT place, COUNT(*), SUM(pay) FROM people GROUP BY ROLLUP (place)",
    ],
)
def test_other_questions_have_the_usual_price(place: World, text: str) -> None:
    plan = place.plan(text)
    assert not rows_are_public(plan, place.catalog)
    assert quoted(place, text) == price(plan, request(epsilon=1), "change-one")


def test_other_catalogs_have_the_usual_price(tmp_path: Path) -> None:
    def public(catalog: Catalog) -> bool:
        with world_in_memory(catalog, dict.fromkeys(catalog.tables, ())) as made:
            return rows_are_public(made.plan("SELECT SUM(pay), COUNT(*) FROM people"), catalog)

    usual = people(tmp_path)
    assert public(usual)
    assert public(people(tmp_path, PAY, Column("note", "text")))  # a column that may be NULL and is not asked for
    assert not public(replace(usual, change="add-remove"))
    for column in (
        replace(PAY, nulls="drop"), replace(PAY, outside="drop"), replace(PLACE, unknown="drop"), replace(PLACE, nulls="drop"),
        Column("note", "text", nulls="drop"), Column("scan", "presence", nulls="drop"), Column("id", "key"),
        replace(PAY, nulls="keep"), replace(PAY, outside="null"),
    ):  # fmt: skip
        rest = [each for each in (PAY, PLACE) if each.name != column.name]
        assert not public(people(tmp_path, *rest, column)), column
    assert not public(people(tmp_path, PAY, PLACE, Column("id", "key"), unit=Owner("id"), max_rows=2))
    staff = table("staff", tmp_path / "staff.csv", PAY, PLACE)
    assert not public(replace(usual, tables={**usual.tables, "staff": staff}))
    assert public(replace(usual, tables={**usual.tables, "staff": replace(staff, public=True)}))
    assert not public(people(tmp_path, PAY))
    memory = table("people", Source("memory", "people"), PAY)
    assert public(replace(usual, tables={"people": memory}))


# --- planted bugs: the rule without one of its conditions, on files that differ in one row ----------------------------------------

TOML = """
neighbours = "change-one"
[budget]
epsilon = 100
{tables}
"""
TABLE = """
[tables.{name}]
source = "{name}.csv"
unit = "row"
rows_at_most = 1000
[tables.{name}.columns]
{columns}
"""
TEN = "pay = { bounds = [10, 14], step = 1, nulls = 10 }"
OTHER = 'place = { values = ["x", "y"], unknown = "other", nulls = "y" }'
SUM = "SELECT COUNT(*), SUM(pay) FROM people"
Files = dict[str, list[str]]


def prepared(folder: Path, files: Files, *columns: str) -> Any:
    """A data set of real files, each with a line for the names and these lines."""
    folder.mkdir()
    names = ",".join(column.split(" =")[0] for column in columns)
    for name, lines in files.items():
        (folder / f"{name}.csv").write_text("\n".join([names, *lines, ""]))
    tables = "".join(TABLE.format(name=name, columns="\n".join(columns)) for name in files)
    (folder / "tacit.toml").write_text(TOML.format(tables=tables))
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True, reason="a test of neighbours")
    return data


DROPPED, KEPT = OTHER.replace('"other"', '"drop"'), TEN.replace("= 10 }", '= "keep" }')
LAST = ["12,x", "14,x"]  # of which the second changes
PLANTED: dict[str, tuple[str, Files, Files, list[str]]] = {  # the question, files before and after one row changes, the columns
    "another column drops rows": (SUM, {"people": LAST}, {"people": ["12,x", "14,z"]}, [TEN, DROPPED]),
    "a filter": (SUM + " WHERE pay > 11", {"people": LAST}, {"people": ["12,x", "10,x"]}, [TEN, OTHER]),
    "two private tables": (SUM, {"people": LAST, "staff": []}, {"people": ["12,x"], "staff": ["14,x"]}, [TEN, OTHER]),
    "a value that may be NULL": (SUM, {"people": LAST}, {"people": ["12,x", ",x"]}, [KEPT, OTHER]),
    "a key of two rows": (SUM, {"people": ["12,1", "14,2"]}, {"people": ["12,1", "14,1"]}, [TEN, "id = { key = true }"]),
    "an empty line": (SUM, {"people": ["12", "14"]}, {"people": ["12", ""]}, [TEN]),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_the_rule_without_a_condition_is_caught(planted: str, tmp_path: Path) -> None:
    text, before, after, columns = PLANTED[planted]
    found = []
    for at, files in enumerate((before, after)):
        with prepared(tmp_path / str(at), files, *columns) as data:
            plan, catalog = rewrite(parse(text), data.catalog, data.public), data.catalog
            found.append([int(moment.unseal()[0]) for moment in data.engine.run(plan.group).moments])
    moves = [abs(one - two) for one, two in zip(*found, strict=True)]
    honest, wrong = (price(plan, request(epsilon=1), "change-one", fixed)[0] for fixed in (rows_are_public(plan, catalog), True))
    assert all(moves[part.place] <= part.mechanism.sensitivity for part in honest.sums)
    assert any(moves[part.place] > part.mechanism.sensitivity for part in wrong.sums)


def test_a_session_tells_the_number_of_rows_and_pays_for_the_rest_alone(tmp_path: Path) -> None:
    with prepared(tmp_path / "one", {"people": ["12,x", "14,x", ",z", "99,"]}, TEN, OTHER) as data:
        before = data.ledger.left("ana").epsilon
        answer = data.session("ana").sql("SELECT COUNT(*) AS n, AVG(pay) AS mean FROM people", epsilon=1)
        assert before - data.ledger.left("ana").epsilon == 1
        count, mean = answer.columns
        assert list(count.values) == [4]
        assert 10 <= mean.values[0] <= 14
        told = str(data.session("ana").explain("SELECT COUNT(*), AVG(pay) FROM people"))
        assert "count: Laplace, sensitivity 0 (l1), scale 0, pure epsilon 0" in told
