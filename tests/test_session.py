"""Decide before you look: a session on the full table, replayed on the empty one with the same released numbers, is the same.

Refusals with their texts and places, prices, columns, types, groups, error bars and what is left are functions of the question, the
catalog, the ledger and what was released before. And the whole road, preparation included, moves by no more than was priced.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tacit
from listed import counted
from questions import AGGREGATES, FILTERS, clinic_questions
from tacit.errors import TacitError
from tacit.mechanisms.gaussian import Gaussian
from tacit.privacy.sealed import Sealed
from tacit.query import offers
from tacit.release import noisy

CATALOG = """
[budget]
epsilon = 100000
delta = 0.9

[analysts.ana]
epsilon_per_query = 2
delta_per_query = 0.01

[analysts.bob]
epsilon = 3

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 10000
[tables.patients.columns]
id = { key = true }
sex = { values = ["F", "M"] }

[tables.visits]
source = "visits.csv"
unit = { column = "person", references = "patients.id" }
max_rows = 3
max_rows_per_group = 2
rows_at_most = 10000
no_unit = "drop"
[tables.visits.columns]
ward = { values = ["a", "b", "c"] }
cost = { bounds = [0, 50], step = 0.01 }
age = { bounds = [-3, 7], nulls = "drop" }
day = { type = "date", bounds = ["2020-01-30", "2020-05-02"], nulls = "drop" }
diagnosis = { keys = "private" }
scan = {}

[tables.wards]
source = "wards.csv"
public = true
"""
VISITS = ["person", "ward", "cost", "age", "day", "diagnosis", "scan"]


def visits(people: int) -> list[list[Any]]:
    """Visits of several people, each with up to five, some with hostile values."""
    wards, costs = ["a", "b", "c", "zzz", ""], ["12.5", "0", "1e9", "nan", "", "49.99"]
    found = []
    for at in range(people * 4):
        day = f"2020-{2 + at % 3:02d}-{1 + at % 28:02d}"
        found.append(
            [at * 7 % people, wards[at % 5], costs[at % 6], at % 12 - 4, day, ["flu", "cold", "", "rare"][at % 4], "x" * (at % 2)]
        )
    return found


def written(folder: Path, rows: list[list[Any]], people: list[int], like: Path | None = None) -> Path:
    """A data set on disk, prepared; with the ranking key of another one, which says which rows of a person are used."""
    folder.mkdir(exist_ok=True)
    if like is not None:
        (folder / ".tacit").mkdir(mode=0o700)
        shutil.copy(like / ".tacit" / "rank.key", folder / ".tacit" / "rank.key")
    tables = {
        "visits.csv": [VISITS, *rows],
        "patients.csv": [["id", "sex"], *([person, "FM"[person % 2]] for person in people)],
        "wards.csv": [["ward", "site", "beds"], ["a", "N", 4], ["a", "S", 9], ["b", "N", 4], ["d", "S", 1]],
    }
    for name, lines in tables.items():
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(lines)
    (folder / "tacit.toml").write_text(CATALOG)
    tacit.open(folder / "tacit.toml").prepare(new_ledger=True, reason="a test of neighbours")
    return folder / "tacit.toml"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """The same catalog over a full and over an empty table."""
    folder = tmp_path_factory.mktemp("replay")
    full = tacit.open(written(folder / "full", visits(40), list(range(40))))
    empty = tacit.open(written(folder / "empty", [], []))
    with full, empty:
        yield full, empty


def said(data: Any, analyst: str, text: str, budget: dict[str, Any]) -> Any:
    """All that the analyst gets to see: the answer, or the refusal with its text; and what is left."""
    try:
        answer = data.session(analyst).sql(text, **budget)
    except TacitError as refusal:
        return type(refusal).__name__, str(refusal), data.ledger.left(analyst)
    shape = [(column.name, column.kind, [type(value).__name__ for value in column.values]) for column in answer.columns]
    seen = answer.to_dict()
    seen["data_version"] = None  # drawn at random, each time anew
    return seen, str(answer), shape, data.ledger.left(analyst)


def replayed(two: tuple[Any, Any], analyst: str, text: str, budget: dict[str, Any]) -> tuple[Any, Any]:
    """What is said on the full table; and on the empty one, with the numbers put in place that the full one released."""
    full, empty = two
    released: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full.runner, "observers", [lambda quote, exact, noisy: released.append(noisy)])
        first = said(full, analyst, text, budget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noisy, "noised", lambda quote, exact, observers: released.pop(0))
        second = said(empty, analyst, text, budget)
    assert not released
    return first, second


HAVING = ["", " HAVING COUNT(*) > 3", " HAVING SUM(age) / COUNT(*) > 1 ORDER BY COUNT(*) DESC LIMIT 2"]
HOSTILE = [
    "SELECT SUM(diagnosis) FROM visits",
    "SELECT person FROM visits",
    "SELECT MAX(scan) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE diagnosis = 'rare' GROUP BY cost, day, age",
    "SELECT COUNT(*) FROM patients JOIN visits ON patients.id = visits.person",
    "SELECT AVG(cost) FROM visits WHERE cost / 0 > 1",
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis ORDER BY 2",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE diagnosis LIKE 'r%'",
    "SELECT sex, COUNT(*), COUNT(DISTINCT id) FROM patients GROUP BY sex",
    *(f"SELECT {aggregate} FROM visits WHERE {where}" for aggregate in AGGREGATES[:8] for where in FILTERS[:2]),
]
SEVERAL = [
    "visits v JOIN patients p ON p.id = v.person",
    "patients p LEFT JOIN visits v ON v.person = p.id AND v.age > 2",
    "patients p LEFT JOIN (SELECT person, COUNT(*) AS age, SUM(cost) AS cost FROM visits GROUP BY person) v ON v.person = p.id",
    "(SELECT person, ward, SUM(cost) AS cost, MAX(age) AS age FROM visits GROUP BY person, ward) v"
    " JOIN patients p ON p.id = v.person",
    "visits v JOIN visits p ON p.person = v.person JOIN wards w ON w.ward = p.ward",
    "patients p JOIN (SELECT person, cost, age FROM visits UNION ALL SELECT person, cost, age FROM visits WHERE age > 2) v"
    " ON v.person = p.id",
    "visits v JOIN visits p ON p.age = v.age",
    "patients p RIGHT JOIN visits v ON v.person = p.id",
]
LOOKED_UP = [
    "TRUE",
    "v.cost > 3 AND v.person IN (SELECT id FROM patients WHERE sex = 'F')",
    "v.person NOT IN (SELECT person FROM visits WHERE diagnosis = 'rare')",
    "EXISTS (SELECT 1 FROM visits z WHERE z.person = v.person AND z.diagnosis = 'rare')",
    "EXISTS (SELECT 1 FROM visits z WHERE z.person = v.person OR z.diagnosis = 'rare')",
    "v.ward IN (SELECT ward FROM wards WHERE beds > 3)",
    "v.ward IN (SELECT ward FROM visits WHERE person = 7)",
    "v.cost > (SELECT AVG(cost) FROM visits)",
]
ASKED = [
    "COUNT(*)",
    "SUM(v.cost)",
    "AVG(v.age)",
    "COUNT(v.age)",
    "COUNT(DISTINCT v.person)",
    "MEDIAN(v.cost)",
    "COUNT(DISTINCT p.id)",
]
KEYS = st.sampled_from(["v.age", "p.sex", "v.ward", "v.diagnosis"])
PARTS = st.sampled_from(ASKED), st.sampled_from(SEVERAL), st.sampled_from(LOOKED_UP)
OF_SEVERAL = st.builds("SELECT {} FROM {} WHERE {}".format, *PARTS) | st.builds(
    "SELECT {3}, {0} FROM {1} WHERE {2} GROUP BY {3}".format, *PARTS, KEYS
)
BUDGETS = st.sampled_from(
    [{"epsilon": 1}, {"epsilon": 0.1, "delta": 1e-3}, {"epsilon": 1, "simultaneous": True}, {"epsilon": 5}, {}]
)
ERRORS = st.sampled_from([{"error": 20}, {"error": 5, "confidence": 0.8}, {"error": -1}])


@pytest.mark.parametrize("examples", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_session_replayed_on_the_empty_table_is_the_same(two: tuple[Any, Any], examples: int) -> None:
    asked = st.builds("{}{}".format, clinic_questions(private_keys=True), st.sampled_from(HAVING)) | st.sampled_from(HOSTILE)

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(asked, st.sampled_from(["ana", "bob"]), BUDGETS | ERRORS)
    def check(text: str, analyst: str, budget: dict[str, Any]) -> None:
        first, second = replayed(two, analyst, text, budget)
        assert first == second

    check()


@pytest.mark.parametrize("examples", [80, pytest.param(600, marks=pytest.mark.slow)])
def test_joins_replayed_on_the_empty_tables_are_the_same(two: tuple[Any, Any], examples: int) -> None:
    """Refusals, texts, prices and shapes of questions over several tables: what is answered and what never is."""
    fates = set()

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(OF_SEVERAL, BUDGETS)
    def check(text: str, budget: dict[str, Any]) -> None:
        first, second = replayed(two, "ana", text, budget)
        fates.add(len(first))
        assert first == second

    check()
    assert fates == {3, 4}, "some are refused, and some are answered"


OF_PARTS = [
    "SELECT ward, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits WHERE diagnosis = 'rare') AS share FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > (SELECT MEDIAN(age) FROM visits)",
    "SELECT ward, age, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY ROLLUP (ward, age) ORDER BY n DESC LIMIT 4",
    "SELECT diagnosis, ward, COUNT(*) AS n, GROUPING(diagnosis, ward) AS level FROM visits GROUP BY CUBE (diagnosis, ward)",
    "SELECT 'visits' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT sex, COUNT(*) FROM patients GROUP BY sex ORDER BY n",
    "SELECT diagnosis AS what, COUNT(*) AS n FROM visits GROUP BY diagnosis UNION ALL SELECT 'all', COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits WHERE diagnosis = 'rare')",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward UNION SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
]


@pytest.mark.parametrize("text", OF_PARTS)
def test_questions_of_several_parts_replayed_on_the_empty_tables_are_the_same(two: tuple[Any, Any], text: str) -> None:
    for budget in ({"epsilon": 1, "delta": 1e-3}, {"epsilon": 2}, {"epsilon": 1, "delta": 1e-3, "simultaneous": True}):
        first, second = replayed(two, "ana", text, budget)
        assert first == second


def test_the_ledger_records_the_noise_that_runs_under_private_keys(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaussian noise of an l2 sensitivity that is no whole number, over the keys that are shown: the entry states its event."""
    full, _ = two
    honest, seen = offers.price, []
    monkeypatch.setattr(full.runner, "observers", [lambda quote, exact, noisy: seen.append(noisy)])
    monkeypatch.setattr(
        offers, "price", lambda *asked: [quote for quote in honest(*asked) if isinstance(quote.sums[0].mechanism, Gaussian)]
    )
    text = "SELECT diagnosis, COUNT(*), SUM(age), COUNT(cost) FROM visits GROUP BY diagnosis"
    full.session("ana").sql(text, epsilon=1, delta=0.01)
    *_, entry = (entry for entry in full.ledger.entries() if entry.kind == "spend")
    ran = [part.mechanism for part, _ in seen[0].sums.values()]
    (together,) = entry.event.events
    keys, *sums = together.events
    assert (keys.max_groups, float(keys.sensitivity**2)) == (3, pytest.approx(3))
    assert tuple(sums) == tuple(mechanism.event for mechanism in ran)
    assert [float(event.sensitivity**2) for event in sums] == pytest.approx([5, 5 * 7**2, 5])  # 2^2 + 1 rows
    assert (entry.price.epsilon, entry.price.delta) == (1, Fraction(1, 100)), "epsilon with its delta"
    assert entry.price.rho >= sum(mechanism.rho for mechanism in ran)
    explained = full.session("ana").explain(text, epsilon=1, delta=0.01)
    widths = [mechanism.interval(0.95).above for mechanism in ran]
    assert [expected.error for expected in explained.errors] == [f"± {width:.6g} at 0.95 confidence" for width in widths]


def test_weights_are_recorded_and_make_another_question(two: tuple[Any, Any]) -> None:
    full, _ = two
    ana = full.session("ana")
    text = "SELECT COUNT(*) AS n, SUM(age) AS age FROM visits"
    plain = ana.sql(text, epsilon=0.25)
    heavy = ana.sql(text, epsilon=0.25, weights={"age": 3})
    *_, entry = (entry for entry in full.ledger.entries() if entry.kind == "spend")
    assert not heavy.receipt.again
    assert heavy.receipt.entry == entry.number > plain.receipt.entry
    assert entry.question == f"{text} /* weights: age = 3 */"
    assert ana.sql(text, epsilon=0.25, weights={"AGE": "3"}).receipt.again
    from tacit.query.language.sql import parse

    odd = 'SELECT COUNT(*) AS n, SUM(age) AS "a /* b */" FROM visits'
    ana.sql(odd, epsilon=0.25, weights={"a /* b */": 2}, fresh=True)
    *_, entry = (entry for entry in full.ledger.entries() if entry.kind == "spend")
    assert parse(entry.question).items == parse(odd).items, "what the ledger records can be read again"
    assert ana.table("visits").agg(n="count(*)", age="sum(age)").release(epsilon=0.25, weights={"age": 3}).receipt.again


def test_a_question_from_python_stands_in_the_ledger_as_sql_that_is_the_same_question(two: tuple[Any, Any]) -> None:
    full, _ = two
    ana = full.session("ana")
    built = ana.table("visits").where("cost > 10").where("age < 3 OR ward = 'b'").group_by("ward").agg(n="count(*)")
    first = built.order_by("n", descending=True).limit(2).release(epsilon=0.25)
    *_, entry = (entry for entry in full.ledger.entries() if entry.kind == "spend")
    assert entry.question == (
        "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 10 AND (age < 3 OR ward = 'b') GROUP BY ward ORDER BY n DESC LIMIT 2"
    )
    again = ana.sql(entry.question, epsilon=0.25)
    assert again.receipt.again
    assert again.receipt.entry == first.receipt.entry == entry.number
    assert [column.values for column in again.columns] == [column.values for column in first.columns]


def test_a_refusal_that_looks_at_the_data_is_caught(two: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a question whose answer would be empty is refused."""
    honest = noisy.noised

    def looking(quote: Any, exact: Any, *more: Any) -> Any:
        if not any(int(sum(moment.unseal())) for moment in exact.moments if isinstance(moment, Sealed)):
            raise tacit.errors.NotAllowed("there is nobody in this group")
        return honest(quote, exact, *more)

    monkeypatch.setattr(noisy, "noised", looking)
    text = "SELECT COUNT(*) FROM visits WHERE age > 3 AND ward = 'b'"
    full, empty = (said(data, "ana", text, {"epsilon": 1}) for data in two)
    assert full[0] != empty[0]
    assert empty[0] == "NotAllowed"


# --- the whole road, preparation included ----------------------------------------------------------------------------------------

ROAD = [
    "SELECT ward, COUNT(*), SUM(cost), COUNT(DISTINCT person), MEDIAN(age) FROM visits GROUP BY ward",
    "SELECT AVG(cost), STDDEV(age), COUNT(scan) FROM visits WHERE day < '2020-04-10'",
    "SELECT site, COUNT(*) FROM visits LEFT JOIN wards USING (ward) GROUP BY site",
    "SELECT sex, COUNT(*) FROM patients GROUP BY sex",
    "SELECT ward, COUNT(DISTINCT diagnosis), COVAR_POP(cost, age), SUM(LN(cost + 1)) FROM visits GROUP BY ward",
]


def exact(data: Any, text: str) -> tuple[Any, list[Any]]:
    from tacit.query.language.sql import parse
    from tacit.query.passes import rewrite
    from tacit.query.price.price import price, request

    quote = price(rewrite(parse(text), data.catalog, data.public), request(epsilon=1))[0]
    return quote, list(data.engine.run(quote.question.group).moments)


def test_taking_a_person_out_of_the_sources_moves_no_answer_further_than_was_priced(tmp_path: Path) -> None:
    """Through the files: the ranks of other people's rows, their units and their values stay what they were."""
    rows, people = visits(5), [0, 1, 2, 3]  # the fifth has visits and no row among the patients: a unit all the same
    full = tacit.open(written(tmp_path / "full", rows, people))
    before = {text: exact(full, text) for text in ROAD}
    for person in range(5):
        kept = [row for row in rows if row[0] != person]
        others = [other for other in people if other != person]
        less = tacit.open(written(tmp_path / f"without-{person}", kept, others, like=tmp_path / "full"))
        for text, (quote, moments) in before.items():
            _, fewer = exact(less, text)
            for part in quote.sums:
                one, two = (side[part.place].unseal() for side in (moments, fewer))
                assert sum(abs(int(a) - int(b)) for a, b in zip(one, two, strict=True)) <= part.mechanism.sensitivity
            for rank in quote.ranks:
                lists = zip(moments[rank.place], fewer[rank.place], strict=True)
                assert sum(_changed(one.unseal(), two.unseal()) for one, two in lists) <= rank.mechanism.max_rows
        less.close()
    full.close()


def _changed(one: Any, two: Any) -> int:
    before, after = counted(one), counted(two)
    return sum(abs(before[value] - after[value]) for value in before | after)
