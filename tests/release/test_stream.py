"""Streams in a session: what each period pays and when, what is kept, late rows, lost numbers, and neighbouring tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit
from by_month import Clinic, declared
from tacit.accounting.ledger import selling
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import BudgetExceeded, InvalidInput, NotAllowed
from tacit.mechanisms import stream as module
from tacit.mechanisms.stream import Measurement
from tacit.session import DataSet

VISITS = tuple((person, f"2025-{month:02}-{1 + person:02}", person) for person in range(8) for month in range(1, 5))
CLINIC = Clinic(tuple((person, person) for person in range(8)), VISITS, ())
COUNT = (
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY month) AS total "
    "FROM visits WHERE day <= :last GROUP BY month"
)
BUDGET = {"horizon": 24, "epsilon": "0.5", "delta": "1e-7"}


@contextmanager
def clinic(folder: Path, rows: Clinic = CLINIC, budget: str = "") -> Iterator[DataSet]:
    declared(folder, rows, budget=budget)
    with tacit.open(folder / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True, through="2025-04", reason="a test")
        data.begin_scratch("a test")
        yield data


def paid(data: DataSet) -> list[tuple[str, float]]:
    """The periods that each spend was charged to, and its rho in each."""
    entries = [entry for entry in data.ledger.entries() if entry.kind == "spend"]
    return [(entry.in_periods.named, float(entry.in_periods.price.rho)) for entry in entries if entry.in_periods is not None]


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(module.discrete, "draw_gaussian", lambda scale, size: np.zeros(size, dtype=np.int64))


def test_each_period_pays_once_when_it_is_first_read(tmp_path):
    with clinic(tmp_path) as data:
        session = data.session()
        first = session.stream(COUNT, through="2025-02", **BUDGET)
        assert [name for name, _ in paid(data)] == ["2025-01", "2025-02"]
        later = session.stream(COUNT, through="2025-04", **BUDGET)
        assert [name for name, _ in paid(data)] == ["2025-01", "2025-02", "2025-03", "2025-04"]
        assert len({rho for _, rho in paid(data)}) == 1
        again = session.stream(COUNT, through="2025-04", **BUDGET)
        assert (len(paid(data)), again.receipt.again, later.receipt.again) == (4, True, False)
        assert again.to_dict()["rows"] == later.to_dict()["rows"]
        assert later.to_dict()["rows"][0]["total"]["value"] == first.to_dict()["rows"][0]["total"]["value"]
        assert data.ledger.verify().whole
        assert again.to_dict()["periods"] == "2025-01 to 2025-04"


def test_without_noise_the_answer_is_exact(tmp_path, silent):
    with clinic(tmp_path) as data:
        rows = data.session().stream(COUNT, through="2025-04", **BUDGET).to_dict()["rows"]
        assert [(row["month"], row["n"]["value"], row["total"]["value"]) for row in rows] == [
            (f"2025-{month:02}-01", 8, 8 * month) for month in range(1, 5)
        ]


def test_a_late_row_is_in_the_next_measurement_and_changes_nothing_else(tmp_path, silent):
    """Two worlds that differ in one late row of a person's January: entries, prices and refusals are the same."""
    seen = []
    for number, more in enumerate(((), ((7, "2025-01-30", 1),))):
        with clinic(tmp_path / str(number)) as data:
            data.session().stream(COUNT, through="2025-02", **BUDGET)
            declared(tmp_path / str(number), Clinic(CLINIC.patients, VISITS + more, ()))
        with tacit.open(tmp_path / str(number) / "tacit.toml", own_process=False) as data:
            data.prepare(yes=True, through="2025-04", reason="a test")
            answer = data.session().stream(COUNT, through="2025-03", **BUDGET)
            kept = [entry.kind for entry in data.ledger.entries()]
            seen.append((paid(data), kept, str(answer.receipt.left_epsilon), answer.to_dict()["rows"][0], answer.receipt.entries))
    assert seen[0] == seen[1]


def test_the_ledger_keeps_noisy_numbers_alone(tmp_path, silent):
    with clinic(tmp_path) as data:
        data.session().stream(COUNT, through="2025-02", **BUDGET)
        ledger = data.ledger
        kept = [json.loads(each.text or "") for each in ledger._answers()]
        weights = Measurement(module.Stream(2, 24, Fraction(1)), 1).stream.weights
        assert sorted(each["stream"] for each in kept) == sorted([[8 * int(weights(at).sum())] for at in (0, 1)])


# --- lost numbers --------------------------------------------------------------------------------------------------------------


def _lose(data: DataSet, monkeypatch: pytest.MonkeyPatch, through: str, request: str = "") -> None:
    """Spend, and lose the number: the process dies, and its lease ends."""

    class Killed(BaseException):
        pass

    usual = Ledger.answered
    monkeypatch.setattr(Ledger, "answered", lambda *_: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        data.session().for_request(request, resumes=bool(request)).stream(COUNT, through=through, **BUDGET)
    monkeypatch.setattr(Ledger, "answered", usual)
    monkeypatch.setattr(selling, "is_leased", lambda *_: False)


def test_a_lost_number_is_paid_again_by_every_period_that_it_reads(tmp_path, monkeypatch):
    with clinic(tmp_path) as data:
        data.session().stream(COUNT, through="2025-02", **BUDGET)
        _lose(data, monkeypatch, "2025-03")
        data.session().stream(COUNT, through="2025-03", **BUDGET)
        names = [name for name, _ in paid(data)]
        assert names == ["2025-01", "2025-02", "2025-03", "2025-01 to 2025-03"]
        assert data.ledger.verify().whole


def test_a_key_is_paid_for_once(tmp_path, monkeypatch):
    """Whoever finds the key of a lost number is refused in the ledger's transaction: its first price would be too little."""
    with clinic(tmp_path) as data:
        data.session().stream(COUNT, through="2025-01", **BUDGET)
        _lose(data, monkeypatch, "2025-02")
        monkeypatch.setattr(Ledger, "lost", lambda *_: None)
        with pytest.raises(NotAllowed, match="its number was lost"):
            data.session().stream(COUNT, through="2025-02", **BUDGET)
        assert len(paid(data)) == 2


def test_a_run_that_resumes_pays_nothing_again(tmp_path, monkeypatch):
    with clinic(tmp_path) as data:
        _lose(data, monkeypatch, "2025-01", "a run")
        data.session().for_request("a run", resumes=True).stream(COUNT, through="2025-02", **BUDGET)
        assert [name for name, _ in paid(data)] == ["2025-01", "2025-02"]


def test_a_run_does_not_take_up_what_another_request_paid_for(tmp_path, monkeypatch):
    """That one may still be drawing its number: two numbers for one price. Lost, it is paid again, and the run ends well."""
    with clinic(tmp_path) as data:
        _lose(data, monkeypatch, "2025-01")
        for _ in range(2):
            data.session().for_request("a run", resumes=True).stream(COUNT, through="2025-02", **BUDGET)
        assert [name for name, _ in paid(data)] == ["2025-01", "2025-01", "2025-02"]
        drawn = [entry.number for entry in data.ledger.entries() if entry.kind == "spend"][1:]
        assert sorted(each.entry for each in data.ledger._answers()) == drawn


def test_the_question_names_a_stream_and_not_its_layout(tmp_path):
    """Planted: blanks within a text made one stream of two questions."""
    with clinic(tmp_path) as data:
        session = data.session()
        session.stream(COUNT, through="2025-01", **BUDGET)
        assert session.stream(COUNT.replace(" FROM", "\n  -- all\n  FROM"), through="2025-01", **BUDGET).receipt.again
        one = COUNT.replace("day <= :last", "day <= :last AND 'a b' = 'a b'")
        answers = [session.stream(text, through="2025-01", **BUDGET) for text in (one, one.replace("a b", "a  b"))]
        assert [answer.receipt.again for answer in answers] == [False, False]


def test_another_analysts_stream_is_neither_paid_nor_moved(tmp_path):
    """The second analyst gets the numbers of the first, pays in the own accounts alone, and moves nothing else."""
    more = "[analysts.ana]\nepsilon = 1\ndelta = 1e-6\n[analysts.bo]\nepsilon = 1\ndelta = 1e-6\n"
    with clinic(tmp_path, budget=more) as data:
        first = data.session("ana").stream(COUNT, through="2025-02", **BUDGET)
        before = data.session("ana").budget()
        second = data.session("bo").stream(COUNT, through="2025-02", **BUDGET)
        assert first.to_dict()["rows"] == second.to_dict()["rows"]
        after = data.session("ana").budget()
        assert (after["periods"], after["data_set"]["left"]) == (before["periods"], before["data_set"]["left"])
        assert [entry.kind for entry in data.ledger.entries() if entry.kind in ("spend", "recall")] == ["spend"] * 2 + [
            "recall"
        ] * 2
        third = data.session("ana").stream(COUNT, through="2025-03", **BUDGET)
        assert third.to_dict()["rows"][:2] == first.to_dict()["rows"]
        assert data.session("bo").stream(COUNT, through="2025-02", **BUDGET).receipt.again


def test_a_process_of_its_own_draws_the_same_measurement(tmp_path):
    declared(tmp_path, CLINIC)
    with tacit.open(tmp_path / "tacit.toml") as data:
        data.prepare(yes=True, through="2025-04", reason="a test")
        data.begin_scratch("a test")
        answer = data.session().stream(COUNT, through="2025-02", **BUDGET)
        assert data.session().stream(COUNT, through="2025-02", **BUDGET).to_dict()["rows"] == answer.to_dict()["rows"]
        assert [name for name, _ in paid(data)] == ["2025-01", "2025-02"]


# --- neighbours, and what is refused -------------------------------------------------------------------------------------------


def test_one_persons_period_moves_measurements_by_its_column_at_most(tmp_path, silent):
    """The exact measurements of every (person, month), and of a person, against what was paid. Planted: the weights of one row."""
    with clinic(tmp_path / "full") as data:
        data.session().stream(COUNT, through="2025-04", **BUDGET)
        full = _numbers(data)
        costs = [(entry.event, entry.in_periods) for entry in data.ledger.entries() if entry.kind == "spend"]
    event = costs[0][0]
    units, scale = float(event.sensitivity), float(event.scale)
    for month in (3,):
        with clinic(tmp_path / str(month), CLINIC.without(3, month)) as data:
            data.session().stream(COUNT, through="2025-04", **BUDGET)
            moved = np.array(full) - np.array(_numbers(data))
        length = float(np.sqrt((moved.astype(float) ** 2).sum()))
        assert 0 < length <= units
        assert (moved[: month - 1] == 0).all()
    with clinic(tmp_path / "person", Clinic(CLINIC.patients, tuple(row for row in VISITS if row[0] != 3), ())) as data:
        data.session().stream(COUNT, through="2025-04", **BUDGET)
        moved = np.array(full) - np.array(_numbers(data))
        lifetime = sum(float(entry.price.rho) for entry in data.ledger.entries() if entry.kind == "spend")
    lost = float((moved.astype(float) ** 2).sum()) / (2 * scale**2)
    assert lost <= lifetime
    assert lost > (units / 2 / scale) ** 2 / 2, "planted: the price of one period is too little"


def _numbers(data: DataSet) -> list[int]:
    texts = {each.entry: each.text for each in data.ledger._answers()}
    return [json.loads(texts[entry])["stream"][0] for entry in sorted(texts)]


def test_a_period_that_cannot_pay_is_refused_before_anything_is_read(tmp_path):
    with clinic(tmp_path) as data:
        data.session().sql("SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2025-03-01' AND DATE '2025-03-31'", epsilon=1)
        with pytest.raises(BudgetExceeded, match="2025-03"):
            data.session().stream(COUNT, through="2025-04", **BUDGET)
        assert [name for name, _ in paid(data)][1:] == ["2025-01", "2025-02"]


@pytest.mark.parametrize(
    ("text", "more", "what"),
    [
        (COUNT.replace("day <= :last", "day <= DATE '2025-04-30'"), {}, "needs :last"),
        ("SELECT COUNT(*) AS n FROM visits WHERE day <= :last", {}, "one COUNT or SUM for each period"),
        (COUNT.replace("COUNT(*) AS n", "AVG(cost) AS n"), {}, "one COUNT or SUM for each period"),
        (COUNT.replace("day <= :last", "day <= :last AND day >= DATE '2025-02-01' AND day <> DATE '2025-03-01'"), {}, None),
        (COUNT, {"horizon": 3}, "ends after 3 periods"),
        (COUNT, {"delta": 0}, "needs epsilon and delta"),
        (COUNT, {"horizon": 1}, "horizon"),
        (COUNT, {"through": "2025-07"}, "consecutive periods up to"),
    ],
)
def test_what_is_not_a_stream_is_said(tmp_path, text, more, what):
    with clinic(tmp_path) as data:
        asked = {"through": "2025-04", **BUDGET, **more}
        if what is None:
            assert data.session().stream(text, **asked).receipt.periods == "2025-02 to 2025-04"
            return
        with pytest.raises((NotAllowed, InvalidInput), match=what):
            data.session().stream(text, **asked)
        assert paid(data) == []


def test_the_price_is_said_before(tmp_path):
    with clinic(tmp_path) as data:
        told = data.session().explain_stream(COUNT, through="2025-02", **{**BUDGET, "horizon": 120})
        assert "for all 120 measurements" in str(told)
        assert "price for a person with rows in each of 120 periods" in str(told)
        assert round(float(told.rho_lifetime / (120 * told.stream.rho))) == 33
        last = told.to_dict()["errors"][-1]
        assert last["periods"] == 120
        assert 0.18 < last["half_width"] / last["added_up"] < 0.24
        assert paid(data) == []


def test_errors_said_before_are_those_of_the_answer(tmp_path):
    sums = COUNT.replace("COUNT(*)", "SUM(cost)")
    with clinic(tmp_path) as data:
        for text in (COUNT, sums):
            told = data.session().explain_stream(text, through="2025-02", **BUDGET)
            rows = data.session().stream(text, through="2025-04", **BUDGET).to_dict()["rows"]
            for periods, width, _ in told.half_widths([1, 4]):
                total = rows[periods - 1]["total"]
                assert (total["high"] - total["low"]) / 2 == pytest.approx(width, abs=1)
