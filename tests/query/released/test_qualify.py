"""Questions of several parts (sub-queries that are a value, UNION ALL, margins): meaning, price, noise and what is recorded.

Every unit is taken away in turn: what its rows move in all parts together, at the noise of the quote, is at most the epsilon of the
question. A part that is left out of the price, and margins of private keys that are priced once, are caught by the same check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import tacit
from chance import fewest_hits, most_hits
from tacit.accounting.composition import loss
from tacit.accounting.events import GaussianKeys
from tacit.errors import NotAllowed, Refused, WrongType
from tacit.mechanisms.noise import discrete
from tacit.privacy.loss import Pure
from tacit.query.free import public_tables
from tacit.query.language.sql import parse
from tacit.query.language.writer import written
from tacit.query.passes import rewrite
from tacit.query.price import price as pricing
from tacit.query.price.price import Quote, price, request
from tacit.query.price.shared import Sharing
from tacit.query.price.work import Work, worst
from tacit.query.question import Question, domain, private
from tacit.release.noisy import ran, released
from tacit.session import DataSet
from worlds import opened

CATALOG = """
[budget]
epsilon = 100000
delta = 0.5

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 1000
[tables.patients.columns]
id = { key = true }
sex = { values = ["F", "M"] }

[tables.visits]
source = "visits.csv"
unit = { column = "person", references = "patients.id" }
max_rows = 3
rows_at_most = 1000
[tables.visits.columns]
ward = { values = ["a", "b"] }
kind = { values = ["x", "y", "z"], nulls = "drop" }
cost = { bounds = [-2, 5] }
note = { keys = "private" }

[tables.wards]
source = "wards.csv"
public = true
"""
PATIENTS = ["0,F", "1,M", "2,F", "3,M"]
VISITS = ["0,a,x,5,flu", "0,b,y,5,cold", "0,,z,-2,rare", "1,a,x,0,flu", "1,a,x,,flu", "2,b,z,1,", "2,b,z,4,cold"]
PERCENT = "SELECT ward, COUNT(*) AS n, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) AS percent FROM visits GROUP BY ward"
ROLLUP = "SELECT ward, kind, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ROLLUP (ward, kind)"
CUBE = "SELECT ward, kind, COUNT(*) AS n, COUNT(DISTINCT person) AS people FROM visits GROUP BY CUBE (ward, kind)"
SETS = "SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((ward), (kind), ())"
STACKED = "SELECT 'patients' AS what, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits', COUNT(*) FROM visits"
NOTES = "SELECT note, ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ROLLUP (note, ward)"
BOTH = "SELECT note AS what, COUNT(*) AS n FROM visits GROUP BY note UNION ALL SELECT sex, COUNT(*) FROM patients GROUP BY sex"
EVERY = [PERCENT, ROLLUP, CUBE, SETS, STACKED, NOTES, BOTH]


def data_of(folder: Path, without: int | None = None) -> DataSet:
    folder.mkdir()
    kept = {"patients.csv": ["id,sex", *PATIENTS], "visits.csv": ["person,ward,kind,cost,note", *VISITS]}
    for name, lines in kept.items():
        rows = [line for line in lines if without is None or not line.startswith(f"{without},")]
        (folder / name).write_text("\n".join(rows) + "\n")
    (folder / "wards.csv").write_text("ward,beds\na,4\nb,9\nc,2\n")
    (folder / "tacit.toml").write_text(CATALOG)
    data = tacit.open(folder / "tacit.toml", own_process=False)
    data.prepare(new_ledger=True, reason="a test", yes=True)
    return data


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[DataSet]]:
    """A data set, then the same without each person in turn."""
    folder = tmp_path_factory.mktemp("parts")
    found = [data_of(folder / str(person), person) for person in (None, 0, 1, 2, 3)]
    yield found
    for data in found:
        data.close()


def plan_of(data: DataSet, text: str) -> Question:
    return rewrite(parse(text), data.catalog, data.public)


def exact(data: DataSet, question: Question) -> list[dict[Any, int]]:
    """For every sum of a part the exact number of each group."""
    found = opened(data.engine.run(question.group))
    keys = found.pop() if private(question) else list(product(*(domain(key) for key in question.group.keys)))
    return [dict(zip(keys, map(int, moment), strict=True)) for moment in found]


def worst_loss(quote: Quote, neighbours: list[DataSet]) -> Fraction:
    """The most that a neighbour moves all that is released, each number in scales of its noise: what is really spent."""
    full, *fewer = ([exact(data, part.question) for part in quote.parts] for data in neighbours)
    losses = []
    for less in fewer:
        spent = Fraction(0)
        for part, one, other in zip(quote.parts, full, less, strict=True):
            moved = [sum(abs(a.get(key, 0) - b.get(key, 0)) for key in {**a, **b}) for a, b in zip(one, other, strict=True)]
            spent += sum((Fraction(moved[each.place]) / each.mechanism.scale for each in part.sums), start=Fraction(0))
            if part.keys:
                units = next(at for at, moment in enumerate(part.question.group.moments) if moment.kind == "units")
                spent += Fraction(moved[units]) / part.keys.scale
        losses.append(spent)
    return max(losses)


def laplace_quote(data: DataSet, text: str) -> Quote:
    quotes = price(plan_of(data, text), request(epsilon=1, delta=Fraction(1, 1000)))
    return next(quote for quote in quotes if all(each.mechanism.name == "Laplace" for part in quote.parts for each in part.sums))


# --- price -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", EVERY)
def test_no_unit_moves_all_parts_together_by_more_than_the_price(neighbours: list[DataSet], text: str) -> None:
    quote = laplace_quote(neighbours[0], text)
    assert worst_loss(quote, neighbours) <= quote.epsilon == 1


@pytest.mark.parametrize("text", [PERCENT, STACKED, NOTES, BOTH])
def test_a_part_left_out_of_the_price_is_caught(neighbours: list[DataSet], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also margins of private keys that are priced once for all levels: only the first part has a share."""
    honest = pricing.epsilon_shares

    def first_alone(question: Question, touched: Any, added: Any, weights: Any) -> Any:
        shares = honest(replace(question, beside=(), below=()), touched, {}, weights)
        return {item: next(iter(shares.values())) for item in honest(question, touched, added, weights)}

    monkeypatch.setattr(pricing, "epsilon_shares", first_alone)
    assert worst_loss(laplace_quote(neighbours[0], text), neighbours) > 1


@pytest.mark.parametrize("text", EVERY)
@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_the_events_of_all_parts_cost_the_epsilon_that_was_asked(neighbours: list[DataSet], text: str, change: Any) -> None:
    with_keys = "note" in text
    quotes = price(plan_of(neighbours[0], text), request(epsilon=1, delta=Fraction(1, 1000) if with_keys else 0), change)
    quote = next(each for each in quotes if all(kind.mechanism.name == "Laplace" for part in each.parts for kind in part.sums))
    events = [event for part in quote.parts for event in part._events]
    assert quote.event.events == tuple(events)
    spent = sum((loss(event).epsilon for event in events), start=Fraction(0))
    assert float(spent) == pytest.approx(Fraction(1, 2) if change == "change-one" and with_keys else 1)  # which then count twice
    if not with_keys:
        assert all(isinstance(loss(event), Pure) for event in events)
    assert sum((part.keys.delta for part in quote.parts if part.keys), start=Fraction(0)) <= Fraction(1, 1000)


@pytest.mark.usefixtures("apart")
def test_gaussian_sums_of_all_parts_share_one_rho(neighbours: list[DataSet]) -> None:
    asked = request(epsilon=1, delta=Fraction(1, 10**6))
    plan = plan_of(neighbours[0], ROLLUP)
    quote = next(each for each in price(plan, asked) if each.sums[0].mechanism.name == "Gaussian")
    rho = sum(each.mechanism.rho for part in quote.parts for each in part.sums)
    assert float(rho) == pytest.approx(0.028, rel=1e-2)
    assert rho > pricing.calibrate_rho(Fraction(1), asked.delta)
    assert quote.stated == (1, asked.delta)
    *_, together = quote.event.events
    assert together.events == tuple(each.mechanism.event for part in quote.parts for each in part.sums)


@pytest.mark.parametrize("text", [*EVERY, PERCENT.replace("COUNT(*) FROM", "MEDIAN(cost) FROM")])
def test_the_worst_work_is_that_of_all_parts(neighbours: list[DataSet], text: str) -> None:
    question = plan_of(neighbours[0], text)
    alone = [worst(replace(part, beside=(), below=())) for part in question.parts]
    assert worst(question) == sum(alone, start=Work())
    assert len(alone) > 1
    assert all(each.rows and each.steps for each in alone)


def test_one_entry_and_a_repeated_answer(neighbours: list[DataSet]) -> None:
    data = neighbours[0]
    before = data.ledger.head.number
    first = data.session().sql(NOTES, epsilon=1, delta=1e-3)
    assert data.ledger.head.number - before == 2  # the spend, and the answer that is kept
    *_, entry = (entry for entry in data.ledger.entries() if entry.kind == "spend")
    (together,) = entry.event.events
    kinds = [type(event) for event in together.events]
    assert sorted(map(kinds.count, {*kinds})) == [2, 6], "keys of two parts, counts and sums of three"
    assert {type(event) for event in together.events if event.delta} == {GaussianKeys}
    assert together.delta + sum(event.delta for event in together.events) <= Fraction(1, 1000)
    again = data.session().sql(NOTES.replace("AS n", "AS many"), epsilon=1, delta=1e-3)
    assert again.receipt.again
    assert again["many"] == first["n"]
    other = NOTES.replace("ROLLUP (note, ward)", "GROUPING SETS ((note, ward), (note))")
    assert not data.session().sql(other, epsilon=1, delta=1e-3).receipt.again


# --- meaning ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, so that an answer is what it means."""
    monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))


def plain() -> Any:
    """The same rows in another engine."""
    engine = duckdb.connect()
    engine.execute("CREATE TABLE patients (id INT, sex TEXT)")
    engine.execute("CREATE TABLE visits (person INT, ward TEXT, kind TEXT, cost INT, note TEXT)")
    engine.execute("CREATE TABLE wards (ward TEXT, beds INT)")
    engine.execute("INSERT INTO wards VALUES ('a', 4), ('b', 9), ('c', 2)")
    for name, lines in (("patients", PATIENTS), ("visits", VISITS)):
        for line in lines:
            cells = [cell or None for cell in line.split(",")]
            engine.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(cells))})", cells)
    return engine


GROUPED = "SELECT ward, kind, GROUPING(ward) AS w, GROUPING(ward, kind) AS level, COUNT(*) AS n, AVG(cost) AS mean FROM visits "
MEANT = [
    PERCENT,
    ROLLUP,
    CUBE,
    SETS,
    STACKED,
    GROUPED + "GROUP BY CUBE (ward, kind)",
    GROUPED + "GROUP BY ward, ROLLUP (kind)",
    GROUPED + "GROUP BY GROUPING SETS ((ward, kind), (kind), ()) HAVING GROUPING(kind) = 0 AND COUNT(*) > 0",
    "SELECT kind, COUNT(*) AS n FROM visits GROUP BY ROLLUP (kind) HAVING COUNT(*) >= (SELECT COUNT(*) FROM patients)",
    "SELECT kind, COUNT(*) AS n, COUNT(*) - (SELECT SUM(cost) FROM visits) AS less FROM visits GROUP BY kind",
    "SELECT COUNT(*) / (SELECT COUNT(*) FROM wards) AS n FROM visits",
    "SELECT ward, CASE WHEN cost > 3 THEN 'high' WHEN cost > 0 THEN 'some' ELSE 'none' END AS band, COUNT(*) AS n FROM visits"
    " GROUP BY CUBE (ward, band)",  # two margins that are both made of three cells
    "SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((kind, ward), (ward, kind, cost), (ward), ())",
    "SELECT kind, COUNT(*) AS n, (SELECT COUNT(*) FROM patients) AS people FROM visits GROUP BY ALL",
    "SELECT sex AS what, COUNT(*) AS n FROM patients GROUP BY sex UNION ALL SELECT kind, COUNT(*) FROM visits GROUP BY kind",
    "SELECT kind, COUNT(*) AS n FROM visits GROUP BY ROLLUP (kind) UNION ALL SELECT 'patients', COUNT(*) FROM patients",
]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("text", MEANT)
def test_without_noise_the_rows_are_those_of_plain_sql(neighbours: list[DataSet], text: str) -> None:
    answer = neighbours[0].session().sql(text, epsilon=7)
    mine = {_row(values) for values in zip(*(column.values for column in answer.columns), strict=True)}
    wanted = {_row(row) for row in plain().execute(text).fetchall()}
    place = [column.name for column in answer.columns].index("n")
    assert wanted <= mine
    assert all(row[place] == 0 for row in mine - wanted), "besides, only groups without rows"


def _row(values: Any) -> tuple[Any, ...]:
    return tuple(value if value is None or isinstance(value, str) else round(float(value), 6) for value in values)


@pytest.mark.usefixtures("quiet")
def test_order_and_limit_are_those_of_all_rows(neighbours: list[DataSet]) -> None:
    text = "SELECT sex AS what, COUNT(*) AS n FROM patients GROUP BY sex UNION ALL SELECT kind, COUNT(*) FROM visits GROUP BY kind"
    answer = neighbours[0].session().sql(f"{text} ORDER BY n DESC, what LIMIT 3 OFFSET 1", epsilon=7)
    assert list(zip(answer["what"], answer["n"], strict=True)) == [("z", 3), ("F", 2), ("M", 2)]
    margins = neighbours[0].session().sql(f"{SETS} ORDER BY GROUPING(ward), COUNT(*) DESC LIMIT 2", epsilon=7)
    assert list(zip(margins["ward"], margins["n"], strict=True)) == [("a", 3), ("b", 3)]


@pytest.mark.parametrize("text", [*MEANT, NOTES, BOTH, f"{STACKED} ORDER BY n DESC LIMIT 1"])
def test_a_question_of_several_parts_is_written_as_it_is_read(text: str) -> None:
    assert written(parse(written(parse(text)))) == written(parse(text))


# --- margins ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every margin has noise of its own or is added up: measurements that parts share are not offered."""
    monkeypatch.setattr(Sharing, "of", lambda *_: None)


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize(("text", "noise", "measured"), [
    (ROLLUP, "Laplace", [2, 0, 0]),
    (ROLLUP, "Gaussian", [2, 2, 2]),  # whose variances grow with the number of sums, not with its square
    ("SELECT ward, kind, COUNT(*), SUM(cost) FROM visits GROUP BY GROUPING SETS ((ward, kind), (kind))", "Gaussian", [2, 0]),
])  # fmt: skip
def test_margins_that_are_added_up_agree_with_their_parts(
    neighbours: list[DataSet], text: str, noise: str, measured: list[int]
) -> None:
    quotes = price(plan_of(neighbours[0], text), request(epsilon=1, delta=Fraction(1, 1000)))
    quote = next(each for each in quotes if each.sums[0].mechanism.name == noise)
    assert [len(part.sums) for part in quote.parts] == measured
    noisy = released(quote, ran(quote, neighbours[0].engine.run))
    for part in quote.parts:
        for margin in part.margins:
            keys = quote.parts[margin.part].question.group.keys
            cells = noisy.parts[margin.part].sums[margin.of][1].reshape([len(domain(key)) for key in keys])
            kept = [key.term for key in part.question.group.keys]
            over = tuple(at for at, key in enumerate(keys) if key.term not in kept)
            number = quote.parts.index(part)
            assert np.ravel(cells.sum(axis=over)).tolist() == noisy.parts[number].sums[margin.place][1].tolist()


def test_what_is_not_a_sum_of_its_parts_is_measured(neighbours: list[DataSet]) -> None:
    """A person counts once in every ward and once in all: their number is no sum."""
    for text in (CUBE, CUBE.replace("COUNT(*)", "MEDIAN(cost)"), CUBE.replace("COUNT(*)", "COUNT(DISTINCT person) + 1")):
        quote = price(plan_of(neighbours[0], text), request(epsilon=1))[0]
        assert all("units" in [each.moment.kind for each in part.sums] for part in quote.parts)
        assert all(len(part.ranks) == text.count("MEDIAN") for part in quote.parts)


@pytest.mark.usefixtures("apart")
def test_a_margin_of_many_cells_is_measured(neighbours: list[DataSet]) -> None:
    """Two margins of many cells: one number with the noise of all of them would be worse than a third of epsilon."""
    wide = "SELECT cost, kind, ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((cost, kind, ward), (cost), (kind), ())"
    quote = price(plan_of(neighbours[0], wide), request(epsilon=1))[0]
    assert [len(part.sums) for part in quote.parts] == [1, 1, 1, 0]
    assert quote.parts[3].margins[0].part == 2  # of three cells, where the first part has 81


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize(("delta", "noise"), [(0, "Laplace"), (Fraction(1, 100), "Gaussian")])
def test_intervals_of_margins_that_are_added_up_cover(neighbours: list[DataSet], delta: Fraction, noise: str) -> None:
    """4,000 draws at 0.9. The interval of one cell, planted, covers too few."""
    asked = request(epsilon=1, delta=delta, confidence=Fraction(9, 10))
    text = "SELECT ward, kind, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward, kind), (kind))"
    quote = next(each for each in price(plan_of(neighbours[0], text), asked) if each.sums[0].mechanism.name == noise)
    margin = next(part.margins[0] for part in quote.parts if part.margins)
    wide, one = (float(each.interval(Fraction(9, 10)).above) for each in (margin.mechanism, margin.mechanism.mechanism))
    draws = np.asarray(margin.mechanism.mechanism.resized(4000 * margin.mechanism.count)._noise(4000 * margin.mechanism.count))
    summed = np.abs(draws.reshape(4000, -1).sum(axis=1))
    assert (summed <= wide).sum() >= fewest_hits(4000, 0.9) > (summed <= one).sum()
    assert (summed <= wide - 1).sum() <= most_hits(4000, 0.9), "no wider than it must be"


def test_private_keys_say_what_is_not_shown(neighbours: list[DataSet]) -> None:
    answer = neighbours[0].session().sql(NOTES, epsilon=0.9, delta=1e-9)  # the note without a ward is shown once in 10^9
    quote = price(plan_of(neighbours[0], NOTES), request(epsilon=1, delta=Fraction(1, 1000)))[0]
    assert [part.keys is not None for part in quote.parts] == [True, True, False]
    assert all(part.margins == () for part in quote.parts)
    told = [note for note in answer.notes if note.startswith("not shown of column 3")]
    shown = sum(n for note, ward, n in zip(answer["note"], answer["ward"], answer["n"], strict=True) if note and ward)
    assert len(told) == 2
    assert told[0].startswith(f"not shown of column 3, grouped by 2 keys: {answer['n'][-1] - shown:,}")
    assert told[0] in str(answer)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, (SELECT COUNT(*) FROM visits) AS n FROM wards",
        "SELECT ward, beds FROM wards UNION ALL SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        "SELECT COUNT(*) FROM wards GROUP BY GROUPING SETS ((beds > (SELECT COUNT(*) FROM visits)))",
    ],
)
def test_a_part_over_a_private_table_is_never_free(neighbours: list[DataSet], text: str) -> None:
    assert public_tables(parse(text), neighbours[0].catalog) is None
    before = neighbours[0].ledger.head.number
    with pytest.raises(Refused):
        neighbours[0].session().sql(text, epsilon=1)
    assert neighbours[0].ledger.head.number == before


# --- refusals --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)", NotAllowed, "beside released numbers only"),
        ("SELECT SUM(cost - (SELECT AVG(cost) FROM visits)) FROM visits", NotAllowed, "beside released numbers only"),
        ("SELECT COUNT(*) FILTER (WHERE cost > (SELECT AVG(cost) FROM visits)) FROM visits", NotAllowed, "released numbers only"),
        ("SELECT COUNT(*) FROM visits GROUP BY cost > (SELECT AVG(cost) FROM visits)", NotAllowed, "beside released numbers only"),
        ("SELECT COUNT(*) / (SELECT COUNT(*) FROM visits GROUP BY ward) FROM visits", NotAllowed, "one aggregate and one row"),
        ("SELECT COUNT(*) / (SELECT cost FROM visits) FROM visits", NotAllowed, "every expression must be an aggregate"),
        ("SELECT COUNT(*) / (SELECT SUM(beds) FROM wards) FROM visits", NotAllowed, "wards is public"),
        ("SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM patients", NotAllowed, "UNION removes rows"),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT sex, COUNT(*) FROM patients GROUP BY sex", NotAllowed, "different numbers"),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward UNION ALL SELECT COUNT(*), 1 FROM patients", WrongType, "a released"),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward UNION ALL SELECT cost, COUNT(*) FROM visits GROUP BY cost",
         WrongType, "several kinds: number, text"),
        ("(SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 1) UNION ALL SELECT sex, COUNT(*) FROM patients GROUP BY sex",
         NotAllowed, "of its own"),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM patients ORDER BY ward", NotAllowed, "must name a column"),
        ("SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), (ward))", NotAllowed, "duplicate grouping set"),
        ("SELECT COUNT(*) FROM visits GROUP BY CUBE (ward, kind, cost, note, ward, kind, cost)", Refused, "64 grouping sets"),
        ("SELECT GROUPING(cost), COUNT(*) FROM visits GROUP BY ward", NotAllowed, "GROUPING takes"),
        ("SELECT COUNT(*) FROM (SELECT person, COUNT(*) FROM visits GROUP BY ROLLUP (person)) AS t", NotAllowed, "in a sub-query"),
    ],
)  # fmt: skip
def test_what_is_refused(neighbours: list[DataSet], text: str, error: type[Refused], says: str) -> None:
    with pytest.raises(error, match=says):
        plan_of(neighbours[0], text)
