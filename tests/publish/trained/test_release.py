"""A classifier of a table, from the request to the file: decided before the data is seen, paid once, measured by a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit.accounting.composition import cost_under
from tacit.errors import InvalidInput, TacitError, TooMuchWork
from tacit.publish.trained import release
from tacit.publish.trained.release import explain_classifier, read_classifier, train_classifier
from tacit.publish.trained.steps import Trained
from tacit.release.certificates import keys
from tacit.session import DataSet
from tacit_certificate.check import Certificate as Checking
from tacit_certificate.document import read_keys

CATALOG = """
[budget]
epsilon = 300
delta = 1e-4

[analysts.ana]
epsilon_per_query = 60

[tables.trips]
source = "trips.csv"
unit = { column = "person" }
max_rows = 2
rows_at_most = 100000

[tables.trips.columns]
person = { key = true }
town = { values = ["north", "it's south", "east"] }
"day trip" = { type = "date", bounds = ["2020-01-01", "2020-12-31"] }
money = { bounds = [0, 100], step = 0.5 }
member = { values = [true, false], nulls = false, unknown = "drop" }
"""
TOWNS = ("north", "it's south", "east")


def trips(people: int) -> list[str]:
    """Members by rule: those who spend much, less often in the south; some rows have no town."""
    rows = []
    for person in range(people):
        money, town = person * 7 % 101, person % 3
        member = money + (person * 13 % 40) - 20 * (town == 1) > 55
        rows.append(f"{person},{TOWNS[town] if person % 17 else ''},2020-{1 + person % 12:02d}-15,{money},{str(member).lower()}")
    return rows


def written(folder: Path, rows: list[str]) -> DataSet:
    folder.mkdir(exist_ok=True)
    (folder / "trips.csv").write_text("\n".join(["person,town,day trip,money,member", *rows, ""]))
    (folder / "tacit.toml").write_text(CATALOG)
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True, reason="a test")
    return data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataSet]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with written(tmp_path_factory.mktemp("data") / "trips", trips(3000)) as opened:
            yield opened


@pytest.fixture(scope="module")
def model(data: DataSet) -> release.Classifier:
    """One model for all who look at what comes out."""
    return train_classifier(data, "trips", "member", epsilon=50, delta="1e-6", analyst="ana")


def test_the_model_is_close_to_the_rule_and_says_what_it_is(model: release.Classifier) -> None:
    names = ["intercept", "town = it's south", "town = east", "day trip", "money"]
    assert list(model.coefficients) == names
    assert model.coefficients["money"] > 0 > model.coefficients["town = it's south"]
    assert abs(model.rows - 3000 * 16 / 17) < 100, "rows with NULL do not count"
    assert str(model).startswith("logistic regression for member = true of trips")


def test_accuracy_is_a_release_of_its_own(data: DataSet, model: release.Classifier) -> None:
    """The question is priced and paid for like any other, and finds what the model says of each row in plain Python."""
    entries = len(list(data.ledger.entries()))
    answer = model.accuracy(data.session("ana"), epsilon=20)
    assert (answer.receipt.epsilon, answer.receipt.entry) == (20, entries)
    found = model.probabilities(columns_of(trips(3000)))
    truth = [row.endswith(",true") for row in trips(3000) if row.split(",")[1]]
    right = sum((chance > 0.5) == member for chance, member in zip(found, truth, strict=True)) / len(truth)
    assert abs(answer["accuracy"][0] - right) < 0.01
    assert right > 0.85
    assert abs(answer["class_share"][0] - sum(truth) / len(truth)) < 0.01
    assert '"day trip"' in model.accuracy_sql()
    assert "'it''s south'" in model.accuracy_sql()


def columns_of(rows: list[str]) -> dict[str, list[Any]]:
    split = [row.split(",") for row in rows if row.split(",")[1]]
    return {
        "town": [row[1] for row in split],
        "day trip": [row[2] for row in split],
        "money": [float(row[3]) for row in split],
    }


def test_a_saved_model_is_read_and_its_certificate_is_checked(data: DataSet, model: release.Classifier, tmp_path: Path) -> None:
    """The noise of the matrix and of every step is derived again from max_rows and the columns."""
    read = read_classifier(model.save(tmp_path / "model.json"))
    assert (read.terms, read.label, read.score) == (model.terms, model.label, model.score)
    beside = (tmp_path / "model.json.certificate.json").read_text().rstrip()
    assert beside == model.certificate.to_json() == data.certificate(model.receipt.entry).to_json()
    document = json.loads(beside)
    trusted = read_keys(json.dumps(keys.public_keys(data.catalog.kept)).encode())
    report = Checking(document).check(trusted)
    assert not report.wrong
    assert sum("2 rows of one unit" in line for line in report.checked) == 21
    for change in ("rows", "columns", "scale", "more"):
        changed = json.loads(model.certificate.to_json())
        if change == "rows":
            changed["facts"]["tables"]["trips"]["max_rows"] = 3
        elif change == "columns":
            changed["plan"]["columns"] = changed["derivation"][0]["inputs"]["columns"] = ["town"]
        elif change == "more":
            changed["derivation"][1]["inputs"]["columns"] = ["money"]
        else:
            changed["mechanisms"][3]["scale"] = "1"
        assert Checking(changed).contents().wrong, change
    (tmp_path / "other.json").write_text('{"kind": "head", "format": 1}')
    with pytest.raises(InvalidInput, match="is not a model"):
        read_classifier(tmp_path / "other.json")
    with pytest.raises(InvalidInput, match="has no certificate"):
        _ = read.certificate
    with pytest.raises(InvalidInput, match="missing column money"):
        read.probabilities({"town": [], "day trip": []})


def test_the_same_request_again_costs_nothing(data: DataSet, model: release.Classifier) -> None:
    before = data.ledger.left("ana").epsilon
    again = train_classifier(data, "trips", "member=true", epsilon=50, delta="1e-6", analyst="ana")
    assert again.receipt.again
    assert again.terms == model.terms
    assert data.ledger.left("ana").epsilon == before


def test_explaining_spends_nothing_and_reads_nothing(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.engine, "run", None)
    entries = len(list(data.ledger.entries()))
    planned = explain_classifier(data, "trips", "member", ["money"], epsilon=1, delta="1e-6", rows=10_000)
    assert len(list(data.ledger.entries())) == entries
    assert planned.noise is not None
    assert list(planned.noise) == ["intercept", "money"]
    assert "± " in str(planned)
    more = explain_classifier(data, "trips", "member", ["money"], epsilon=1, delta="1e-6", rows=40_000)
    assert more.noise is not None
    assert more.noise["money"] < planned.noise["money"] / 3
    unknown = explain_classifier(data, "trips", "member", ["money"], epsilon=1)
    assert "assume one with rows=10000" in str(unknown)
    assert unknown.to_dict()["noise"] is None


def test_the_spend_is_there_before_the_first_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(tmp_path / "trips", trips(40)) as data:
        seen, genuine = [], data.engine.run

        def run(group: Any) -> Any:
            seen.append(data.ledger.head.number)
            return genuine(group)

        monkeypatch.setattr(data.engine, "run", run)
        made = train_classifier(data, "trips", "member", ["money"], epsilon=1, analyst="ana")
        assert set(seen) == {1}
        assert len(seen) == 11
        entry, _ = list(data.ledger.entries(first=1))
        assert entry.question == "a classifier of trips: member = true by money"
        assert cost_under(entry.event, data.catalog.neighbours).epsilon == made.receipt.epsilon == 1


REQUESTS: list[dict[str, Any]] = [
    {"epsilon": 1},
    {"epsilon": "0.5", "label": "town=east", "features": ["money"]},
    {"epsilon": 1},  # as before: nothing is spent
    {"epsilon": 1, "label": "town"},
    {"epsilon": 1, "features": ["nothing"]},
    {"epsilon": 1, "table": "nothing"},
    {},
    {"epsilon": 61},  # above the cap of one question
]


def test_the_same_request_on_an_empty_table_looks_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but the coefficients: refusals with their texts, prices, the form of the reply, notes and entries."""
    genuine, told = release.train, []

    def recorded(*given: Any) -> Trained:
        told.append(genuine(*given))
        return told[-1]

    def again(design: Any, engine: Any, say: Any) -> Trained:
        genuine(design, engine, say)
        first = told.pop(0)
        assert first.design.event == design.event
        return replace(first, design=design)

    with written(tmp_path / "full", trips(50)) as full, written(tmp_path / "empty", []) as empty:
        monkeypatch.setattr(release, "train", recorded)
        one = [asked(full, wanted) for wanted in REQUESTS]
        monkeypatch.setattr(release, "train", again)
        other = [asked(empty, wanted) for wanted in REQUESTS]
        assert one == other
        refused = [each[0] for each in one if isinstance(each[0], str)]
        assert refused == ["InvalidInput", "UnknownName", "UnknownName", "NoBudget", "BudgetExceeded"]
        assert [entry.price for entry in full.ledger.entries()] == [entry.price for entry in empty.ledger.entries()]


def asked(data: DataSet, wanted: dict[str, Any]) -> Any:
    """All that can be seen of a reply but the version of the data."""
    try:
        made = train_classifier(data, **{"table": "trips", "label": "member", "analyst": "ana", **wanted})
    except TacitError as refusal:
        return type(refusal).__name__, str(refusal)
    told = made.to_dict()
    del told["data_version"]
    return told, str(made), made.receipt.again, made.receipt.left_epsilon


def test_too_many_rows_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    with written(tmp_path / "trips", trips(5)) as data:
        entries = len(list(data.ledger.entries()))
    (tmp_path / "trips" / "tacit.toml").write_text(CATALOG.replace("= 100000", "= 8000000000"))
    with tacit.open(tmp_path / "trips" / "tacit.toml") as data:
        data.prepare()
        with pytest.raises(TooMuchWork, match="8,000,000,000 rows of trips"):
            train_classifier(data, "trips", "member", epsilon=1, analyst="ana")
        assert len(list(data.ledger.entries())) == entries
