"""Synthetic rows of a table, from the request to the file: decided before the data is seen, paid once, closer than a baseline."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from adult import SOURCE, adult_data
from chance import next_run_limit
from cohort import listening, moved, real_codes
from tacit.accounting.composition import cost_under
from tacit.data.prepare import prepare
from tacit.errors import BudgetExceeded, InvalidInput, NoBudget, Refused, StoppedAfterSpending, TacitError
from tacit.publish.synthetic.rows import release as tables
from tacit.publish.synthetic.rows.cells import Axis, Codes
from tacit.publish.synthetic.rows.inference import Branch, Model
from tacit.publish.synthetic.rows.marginals import Measured
from tacit.publish.synthetic.rows.release import SyntheticTable, synthesize_independent, synthesize_table, synthesize_tree
from tacit.publish.synthetic.rows.rounds import Aim
from tacit.session import DataSet

CATALOG = """
neighbours = "{change}"
[budget]
epsilon = 70
delta = 1e-4
split = 0.5

[analysts.ana]
epsilon_per_query = 20

[tables.trips]
source = "trips.csv"
unit = {{ column = "person" }}
max_rows = 2

[tables.trips.columns]
person = {{ key = true }}
town = {{ values = ["north", "east", "south", "west"] }}
shop = {{ values = ["north", "east", "south", "west"], unknown = "other" }}
money = {{ bounds = [0, 100], step = 0.5, bins = 5 }}
day = {{ type = "date", bounds = ["2020-01-01", "2020-12-31"], bins = ["2020-04-01", "2020-07-01", "2020-10-01"] }}
member = {{ values = [true, false], nulls = false, unknown = "drop" }}
note = {{ keys = "private" }}
"""
TOWNS = ("north", "east", "south", "west")


def trips(people: int) -> list[str]:
    """Trips made up by rule: people shop in their own town, at a price that follows it, and members in summer."""
    rows = []
    for person in range(people):
        for trip in range(3):  # one more than is used
            at = 7 * person + 3 * trip
            town = TOWNS[at % 4]
            shop = town if at % 10 else "elsewhere"
            month = 1 + at % 12
            member = "true" if month in (6, 7, 8) and at % 5 else ""
            rows.append(
                f"{person},{town if at % 13 else ''},{shop},{20 * (at % 4) + at % 19},2020-{month:02d}-15,{member},{person} x"
            )
    return rows


def written(folder: Path, rows: list[str], change: str = "add-remove") -> DataSet:
    folder.mkdir(exist_ok=True)
    (folder / "trips.csv").write_text("\n".join(["person,town,shop,money,day,member,note", *rows, ""]))
    (folder / "tacit.toml").write_text(CATALOG.format(change=change))
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=not data.has_ledger, reason="a test")
    return data


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trips of 400 people, prepared: nobody works in it, but in copies of it."""
    folder = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # a register that does not know of the copies
        written(folder / "trips", trips(400)).close()
    return folder / "trips"


@contextmanager
def copied(prepared: Path, folder: Path) -> Iterator[DataSet]:
    shutil.copytree(prepared, folder)
    with tacit.open(folder / "tacit.toml") as opened:
        yield opened


@pytest.fixture
def data(prepared: Path, tmp_path: Path) -> Iterator[DataSet]:
    with copied(prepared, tmp_path / "trips") as opened:
        yield opened


@pytest.fixture(scope="module")
def tree(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DataSet, SyntheticTable]]:
    """Rows of one model for all who look at what comes out: to fit one takes longer than all the rest."""
    with copied(prepared, tmp_path_factory.mktemp("tree") / "trips") as opened:
        yield opened, synthesize_tree(opened, "trips", epsilon=5, rows=800)


@pytest.fixture
def any_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is a function of what was released, so that where it does not matter any will do: here one of even shares."""

    def even(measured: Measured, rows: int = 0) -> Model:
        return Model(tuple(Branch(at, None, np.ones(int(groups.max()) + 1)) for at, groups in enumerate(measured.merged_groups)))

    monkeypatch.setattr(tables, "fit", even)


# --- decided before the data is looked at ------------------------------------------------------------------------------------

REQUESTS: list[dict[str, Any]] = [
    {"epsilon": 1, "rows": 50},
    {"epsilon": 1},
    {"epsilon": "0.1", "delta": "1e-6", "rows": 20},
    {"epsilon": 2, "columns": ["money"]},
    {"epsilon": 2, "columns": ["Town", "shop"], "rows": 0},
    {"epsilon": 1, "rows": 70},  # as before, for other rows: nothing more is spent
    {"epsilon": 1, "columns": ["note"]},
    {"epsilon": 1, "columns": ["town", "town"]},
    {"epsilon": 1, "table": "nothing"},
    {"epsilon": 0},
    {},
    {"epsilon": 1, "rows": -3},
    {"epsilon": 21},  # above the cap of one question
    {"epsilon": 20},
    {"epsilon": 20, "columns": ["day", "shop"]},
    {"epsilon": 20, "columns": ["day", "town"]},  # the budget ends here
]


MAKERS = pytest.mark.parametrize("make", [synthesize_table, synthesize_tree], ids=["rounds", "tree"])


def asked(data: DataSet, wanted: dict[str, Any], make: Any = synthesize_tree) -> Any:
    """All that can be seen of a reply but the rows: a refusal with its text, or the shape and the price."""
    try:
        made = make(data, **{"table": "trips", **wanted})
    except TacitError as refusal:
        return type(refusal).__name__, str(refusal)
    told = made.to_dict()
    del told["data_version"]
    return told, str(made.to_arrow().schema), str(made), made.notes


def replayed(
    full: DataSet, empty: DataSet, monkeypatch: pytest.MonkeyPatch, requests: list[dict[str, Any]], make: Any = synthesize_tree
) -> list[tuple[Any, Any]]:
    """Every request on all rows and on none, where the second releases the marginals that the first one did."""
    genuine, said = tables.measure_by, []

    def recorded(*given: Any) -> Measured:
        said.append(genuine(*given))
        return said[-1]

    def again(design: Any, engine: Any, told: Any) -> Measured:
        genuine(design, engine, told)  # it runs all the same, on no rows
        measured = said[-1]
        assert repr(measured.design.event) == repr(design.event)
        return Measured(design, measured.singles, measured.pairs, measured.rounds)

    pairs = []
    for wanted in requests:
        monkeypatch.setattr(tables, "measure_by", recorded)
        one = asked(full, wanted, make)
        monkeypatch.setattr(tables, "measure_by", again)
        pairs.append((one, asked(empty, wanted, make)))
    return pairs


@MAKERS
@pytest.mark.usefixtures("any_model")
def test_the_same_request_on_an_empty_table_looks_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    with written(tmp_path / "full", trips(50)) as full, written(tmp_path / "empty", []) as empty:
        pairs = replayed(full, empty, monkeypatch, REQUESTS, make)
        assert [one for one, _ in pairs] == [other for _, other in pairs]
        refused = [name for one, _ in pairs if isinstance(name := one[0], str)]
        assert refused == [
            "WrongType",
            "NotAllowed",
            "UnknownName",
            "InvalidBudget",
            "NoBudget",
            "InvalidInput",
            "BudgetExceeded",
            "BudgetExceeded",
        ]
        assert [entry.price for entry in full.ledger.entries()] == [entry.price for entry in empty.ledger.entries()]
        assert len(list(full.ledger.entries())) == 1 + 2 * 6, "the beginning, each request that was paid for, and its answer"


@pytest.mark.usefixtures("any_model")
def test_an_exact_number_of_rows_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the default number of rows is counted after the choice, in the data, where it should be the noisy total."""
    with written(tmp_path / "full", trips(50)) as full, written(tmp_path / "empty", []) as empty:
        genuine = tables._draw

        def planted(chosen: Any, measured: Any, receipt: Any, rows: Any, *more: Any, **named: Any) -> Any:
            folder = full if receipt.data_version == full.version else empty
            exact = len((folder.catalog.folder / "trips.csv").read_text().splitlines())
            return genuine(chosen, measured, receipt, exact if rows is None else rows, *more, **named)

        monkeypatch.setattr(tables, "_draw", planted)
        pairs = replayed(full, empty, monkeypatch, REQUESTS[3:4])
        assert [one for one, _ in pairs] != [other for _, other in pairs]


HOSTILE = ["999,north,,nan,2020-02-30,true,x", "999,,elsewhere,-1e300,,,", "999,north,north,1e300,9999-12-31,false,"]


@pytest.mark.usefixtures("any_model")
def test_one_person_moves_no_input_by_more_than_two_rows_from_the_file_to_the_noise(tmp_path: Path) -> None:
    """The whole road, preparation included, with and without a person of nine rows that try every border of the catalog."""
    rows = trips(12)
    with written(tmp_path / "with", [*rows, *(3 * HOSTILE)]) as more:
        with listening() as heard:
            synthesize_tree(more, "trips", epsilon=1, rows=5)
        (tmp_path / "without" / ".tacit").mkdir(parents=True, mode=0o700)
        shutil.copy(tmp_path / "with" / ".tacit" / "rank.key", tmp_path / "without" / ".tacit" / "rank.key")
    with written(tmp_path / "without", rows) as fewer, listening(heard) as again:
        synthesize_tree(fewer, "trips", epsilon=1, rows=5)
    distances = [moved(one, other) for one, other in zip(heard, again, strict=True)]
    assert max(distances) == 2, "max_rows, and no less: the person is there"
    assert [one.mechanism.event for one in heard] == [other.mechanism.event for other in again]


# --- paid once, before -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("any_model")
def test_the_price_is_on_disk_before_the_data_is_read(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    genuine = data.engine.run

    def run(group: Any) -> Any:
        seen.append(data.ledger.head.number)
        return genuine(group)

    monkeypatch.setattr(data.engine, "run", run)
    made = synthesize_tree(data, "trips", epsilon=1, rows=10)
    assert set(seen) == {1}
    entry, _ = list(data.ledger.entries(first=1))
    assert entry.event == made.measured.design.event
    assert entry.question == "synthetic rows of trips"
    assert cost_under(entry.event, data.catalog.neighbours).epsilon == made.receipt.epsilon == 1
    assert made.receipt.entry == 1
    assert made.to_dict()["events"]["kind"] == "batch"


def test_a_failure_after_the_spend_gives_nothing_back(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(group: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(data.engine, "run", stopped)
    with pytest.raises(StoppedAfterSpending, match="entry 1"):
        synthesize_tree(data, "trips", epsilon=1)
    assert data.ledger.spent().epsilon == 1


def test_who_stops_a_fit_is_told_that_it_is_paid_for(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(measured: Measured, rows: int = 0) -> Model:
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "fit", stopped)
    for _ in range(2):
        with pytest.raises(StoppedAfterSpending, match=r"entry 1 of the ledger"):
            synthesize_tree(data, "trips", epsilon=1)
    assert data.ledger.spent().epsilon == 1


@pytest.mark.usefixtures("any_model")
def test_the_same_marginals_are_paid_for_once(data: DataSet) -> None:
    first = synthesize_tree(data, "trips", epsilon=1, rows=30)
    again = synthesize_tree(data, "trips", epsilon=1, rows=2000)
    assert (again.rows, again.recalled, again.receipt) == (2000, True, replace(first.receipt, again=True))
    assert [single.tolist() for single in again.measured.singles] == [single.tolist() for single in first.measured.singles]
    assert data.ledger.spent().epsilon == 1
    assert "nothing was spent" in again.notes[-1]
    other = synthesize_independent(data, "trips", epsilon=1, rows=30)
    assert not other.recalled
    assert data.ledger.spent().epsilon == 2
    assert first.redrawn(5).rows == 5
    assert first.redrawn().rows == round(first.measured.total)


@pytest.mark.usefixtures("any_model")
def test_other_cells_columns_budgets_and_data_are_another_request(data: DataSet) -> None:
    """Bins may change without a preparation: what was released of other bins is not taken for an answer, and the price is new."""

    def paid(opened: DataSet, **wanted: Any) -> tuple[bool, int]:
        made = synthesize_tree(opened, "trips", **{"epsilon": 1, "rows": 5, "columns": ["town", "money"], **wanted})
        assert [single.size for single in made.measured.singles] == [axis.size for axis in made.chosen.axes]
        return made.recalled, sum(entry.kind == "spend" for entry in opened.ledger.entries())

    assert paid(data) == (False, 1)
    assert paid(data, columns=["money", "town"]) == (False, 2)
    assert paid(data, columns=["shop", "money"]) == (False, 3), "another column of as many cells"
    assert paid(data, epsilon="1.5") == (False, 4)
    assert paid(data, delta="1e-9") == (False, 5)
    file = data.catalog.folder / "tacit.toml"
    for bins, expected in (("bins = 6", (False, 6)), ("bins = [1, 2, 3, 4]", (False, 7)), ("bins = 5", (True, 7))):
        file.write_text(CATALOG.format(change="add-remove").replace("bins = 5", bins))
        with tacit.open(file) as changed:
            assert paid(changed) == expected, bins
    with tacit.open(file) as again:
        prepare(again.catalog)
    with tacit.open(file) as again:
        assert paid(again) == (False, 8), "prepared anew: other data, for all that is known"


@pytest.mark.usefixtures("any_model")
def test_where_one_unit_changes_the_noise_is_twice_as_large(tmp_path: Path) -> None:
    with written(tmp_path / "plain", trips(3)) as plain, written(tmp_path / "change", trips(3), "change-one") as change:
        one, other = (synthesize_tree(each, "trips", epsilon=1, rows=1).measured.design for each in (plain, change))
        assert other.single.budget == one.single.budget / 2
        assert change.ledger.spent().epsilon == 1


@pytest.mark.parametrize(("make", "package"), [(synthesize_table, "numba"), (synthesize_tree, "mbi")])
def test_without_the_package_nothing_is_spent(data: DataSet, monkeypatch: pytest.MonkeyPatch, make: Any, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "tacit.publish.synthetic.rows.steps", raising=False)
    with pytest.raises(InvalidInput, match=r'pip install "tacit\[synthetic\]"'):
        make(data, "trips", epsilon=1)
    assert data.ledger.head.number == 0


def test_a_cap_is_a_cap(data: DataSet) -> None:
    with pytest.raises(BudgetExceeded, match="20"):
        synthesize_tree(data, "trips", epsilon=21)
    with pytest.raises(NoBudget, match="epsilon=1"):
        synthesize_tree(data, "trips")
    with pytest.raises(InvalidInput, match="ana"):
        synthesize_tree(data, "trips", epsilon=1, analyst="bob")


# --- what comes out ----------------------------------------------------------------------------------------------------------


def test_the_columns_have_the_declared_values(tree: tuple[DataSet, SyntheticTable], tmp_path: Path) -> None:
    data, made = tree
    rows = made.to_arrow().to_pydict()
    assert list(rows) == ["town", "shop", "money", "day", "member"]
    assert set(rows["town"]) <= {*TOWNS, None}
    assert set(rows["shop"]) <= {*TOWNS, "other"}
    assert set(rows["member"]) <= {True, False}
    assert all(0 <= value <= 100 and 2 * value == int(2 * value) for value in rows["money"] if value is not None)
    assert made.notes[:2] == ["person is left out: it identifies people", "note is left out: its values are private"]
    receipt = made.save(tmp_path / "rows.parquet")
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "rows.parquet").to_pydict() == rows
    assert json.loads(receipt.read_text())["price"] == {"epsilon": "5", "delta": "0"}
    made.save(tmp_path / "rows.csv")
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 801
    assert made.to_pandas().shape == (800, 5)
    with pytest.raises(Refused):
        synthesize_tree(data, "trips", epsilon=1, columns=["person"])


def error_of_pairs(axes: tuple[Axis, ...], one: tuple[Codes, ...], other: tuple[Codes, ...]) -> float:
    """The mean total variation of all pairs of columns."""
    found = []
    for a, b in combinations(range(len(axes)), 2):
        cells = axes[a].size * axes[b].size
        shares = [np.bincount(axes[b].size * codes[a] + codes[b], minlength=cells) / codes[a].size for codes in (one, other)]
        found.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return float(np.mean(found))


def errors(data: DataSet, *made: SyntheticTable) -> list[float]:
    """Of each table's pairs, against the real rows."""
    return [error_of_pairs(each.chosen.axes, real_codes(data.catalog, each.chosen), each.codes) for each in made]


def test_pairs_are_closer_than_by_independent_columns(tree: tuple[DataSet, SyntheticTable]) -> None:
    """On a table where columns go together. In 14 runs 0.06 to 0.08, against 0.32 to 0.34: spreads of less than 0.006."""
    data, made = tree
    along, alone = errors(data, made, synthesize_independent(data, "trips", epsilon=5, rows=800))
    luck = next_run_limit(0.006, 14, among=2)
    assert along < 0.07 + luck < 0.33 - luck < alone


ADULT = pytest.mark.skipif(not SOURCE.exists(), reason="the Adult data is not here")
FEW = ["education-num", "education", "marital-status", "relationship"]


@ADULT
def test_adult_at_epsilon_1_quickly(tmp_path: Path) -> None:
    """Four columns that go together: in twelve runs 0.014 to 0.017 against 0.275 to 0.280, spreads of 0.001."""
    with adult_data(tmp_path) as data:
        wanted: dict[str, Any] = {"epsilon": 1, "rows": 32561, "columns": FEW}
        along, alone = errors(data, synthesize_tree(data, "adult", **wanted), synthesize_independent(data, "adult", **wanted))
        luck = next_run_limit(0.001, 12, among=2)
        assert along < 0.0155 + luck < 0.2775 - luck < alone


@ADULT
@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**9)])
def test_adult_at_epsilon_1(tmp_path: Path, delta: Fraction) -> None:
    """All fifteen columns: 0.039 to 0.044 in fifteen runs, by the tree that is chosen, against 0.080, which hardly moves.

    Their mean is 0.042 and their spread 0.0016.
    """
    with adult_data(tmp_path) as data:
        for run in range(2):
            wanted: dict[str, Any] = {"epsilon": 1 + Fraction(run, 10**6), "rows": 32561, "delta": delta}
            along, alone = errors(data, synthesize_tree(data, "adult", **wanted), synthesize_independent(data, "adult", **wanted))
            assert along < 0.042 + next_run_limit(0.0016, 15, among=2) < 0.07 < alone


def test_rounds_are_closer_than_a_tree(prepared: Path, tmp_path: Path) -> None:
    """On a table where columns go together: rows of all pairs, and the same rows again at no cost, in any number.

    The mean of fifteen runs is 0.045, their spread 0.0078.
    """
    with copied(prepared, tmp_path / "rounds") as data:
        made = synthesize_table(data, "trips", epsilon=5, rows=800)
        (along,) = errors(data, made)
        assert along < 0.045 + next_run_limit(0.0078, 15) < 0.32, "independent columns have 0.32 to 0.34"
        assert made.certificate.document["way"] == "synthetic-rows"
        again = synthesize_table(data, "trips", epsilon=5, rows=30)
        assert (again.recalled, again.rows, again.pairs) == (True, 30, made.pairs)
        assert again.redrawn(20_000).rows == 20_000
        aimed = synthesize_table(data, "trips", epsilon=1, rows=30, aim=Aim(target="shop", steps=3))
        assert not aimed.recalled
        assert len(aimed.measured.rounds) <= 3
