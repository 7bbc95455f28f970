"""The order of things on the road: what is spent when, what stays spent, and what stops every answer."""

import json
import shutil
from fractions import Fraction
from threading import Thread

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from tacit.data.prepare import prepare
from tacit.data.store import store_file
from tacit.doors.cli import app
from tacit.errors import (
    BudgetExceeded,
    InvalidCatalog,
    InvalidInput,
    NoBudget,
    Refused,
    StoppedAfterSpending,
    StoreUnusable,
    TimedOut,
    Unforeseen,
)
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits

CATALOG = """
[budget]
epsilon = 10
delta = 1e-6

[analysts.ana]
epsilon = 4
epsilon_per_query = 2

[analysts.bob]

[tables.visits]
source = "visits.csv"
unit = { column = "person" }
max_rows = 3

[tables.visits.columns]
person = { key = true }
cost = { bounds = [0, 100], nulls = "drop" }
ward = { values = ["a", "b"], unknown = "drop" }
"""


@pytest.fixture
def folder(tmp_path):
    draw = np.random.default_rng(7)  # rows, not noise
    rows = [f"{draw.integers(0, 200)},{draw.integers(0, 101)},{draw.choice(['a', 'b'])}" for _ in range(600)]
    (tmp_path / "visits.csv").write_text("\n".join(["person,cost,ward", *rows]))
    (tmp_path / "tacit.toml").write_text(CATALOG)
    tacit.open(tmp_path / "tacit.toml").prepare(new_ledger=True)
    return tmp_path


@pytest.fixture
def data(folder):
    return tacit.open(folder / "tacit.toml")


COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def entries(data):
    """How many questions were paid for."""
    return sum(entry.kind == "spend" for entry in data.ledger.entries())


def test_an_answer_has_a_receipt_for_a_durable_entry(data):
    answer = data.session("ana").sql(COUNT, epsilon=1)
    assert answer.receipt.entry == entries(data) == 1
    assert (answer.receipt.epsilon, answer.receipt.left_epsilon) == (1, 3)
    assert answer["ward"] == ("a", "b")
    assert all(
        low <= value <= high for value, low, high in zip(answer["n"], answer.column("n").low, answer.column("n").high, strict=True)
    )


def test_the_entry_is_written_before_the_engine_runs(data, monkeypatch):
    seen = []

    def run(self, group):
        seen.append(entries(data))
        raise RuntimeError("the engine fell over")

    monkeypatch.setattr(DuckDBEngine, "run", run)
    with pytest.raises(Unforeseen):
        data.session("ana").sql(COUNT, epsilon=1)
    assert seen == [1]
    assert entries(data) == 1, "what failed after the spend stays spent"
    assert [entry.kind for entry in data.ledger.entries()] == ["begin", "spend", "failure"]


@pytest.mark.parametrize(
    ("question", "budget", "kind"),
    [
        ("SELECT SUM(nothing) FROM visits", {"epsilon": 1}, Refused),
        ("SELECT cost FROM visits", {"epsilon": 1}, Refused),
        (COUNT, {"epsilon": 3}, BudgetExceeded),
        (COUNT, {}, NoBudget),
        (COUNT, {"epsilon": 1, "error": 5}, NoBudget),
        (COUNT, {"epsilon": -1}, InvalidInput),
        ("SELECT AVG(cost) FROM visits", {"error": 1}, Refused),
    ],
)
def test_a_refusal_spends_nothing_and_reads_nothing(data, monkeypatch, question, budget, kind):
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("the engine was asked"))
    with pytest.raises(kind):
        data.session("ana").sql(question, **budget)
    assert entries(data) == 0


def test_the_same_question_has_the_same_answer_at_no_charge(data):
    ana, bob = data.session("ana"), data.session("bob")
    first = ana.sql(COUNT, epsilon=1)
    again = ana.sql("select  WARD, count(*) as n from VISITS group by 1", epsilon="1.0")
    assert again.rows() == first.rows()
    assert (again.receipt.again, again.receipt.left_epsilon) == (True, first.receipt.left_epsilon)
    assert "Nothing was spent: this question was answered before." in str(again)
    other_names = bob.sql("SELECT ward AS place, COUNT(*) FROM visits GROUP BY ward", epsilon=1)
    assert [column.name for column in other_names.columns] == ["place", "count"]
    assert other_names["count"] == first["n"]
    assert entries(data) == 1
    assert ana.sql(COUNT, epsilon="0.5", fresh=True).receipt.entry == data.ledger.head.number - 1


def test_another_analysts_answer_costs_the_asker_what_a_new_one_would(data):
    """To the asker it looks like a new answer: nothing says that somebody asked before, or what is left for them."""
    ana, bob = data.session("ana"), data.session("bob")
    first = ana.sql(COUNT, epsilon=1)
    given = bob.sql(COUNT, epsilon=1)
    assert given.rows() == first.rows()
    assert (given.receipt.epsilon, given.notes) == (1, first.notes)
    assert given.receipt.entry != first.receipt.entry
    assert data.ledger.spent().epsilon == data.ledger.spent("bob").epsilon == data.ledger.spent("ana").epsilon == 1
    assert "answered before" not in str(given)
    assert "answered before" in str(bob.sql(COUNT, epsilon=1))


def test_what_an_analysts_own_caps_refuse_is_refused_whether_stored_or_not(data):
    """Ana's cap of one question is 2; bob has none, and his answer at epsilon 3 is stored."""
    data.session("bob").sql(COUNT, epsilon=3)
    with pytest.raises(BudgetExceeded) as stored:
        data.session("ana").sql(COUNT, epsilon=3)
    with pytest.raises(BudgetExceeded) as fresh:
        data.session("ana").sql(COUNT.replace("COUNT(*)", "SUM(cost)"), epsilon=3)
    assert str(stored.value) == str(fresh.value)


@pytest.mark.parametrize("spelling", ["Ana", " ANA ", "ana"])
def test_a_name_has_one_account(data, spelling):
    data.session("ana").sql(COUNT, epsilon=1)
    assert "answered before" in str(data.session(spelling).sql(COUNT, epsilon=1))


def test_a_comment_in_the_catalog_makes_no_new_question(data, folder):
    """Lines and absolute paths are not part of the key of an answer."""
    data.session("ana").sql(COUNT, epsilon=1)
    (folder / "tacit.toml").write_text("# one more line\n" + (folder / "tacit.toml").read_text())
    assert tacit.open(folder / "tacit.toml").session("ana").sql(COUNT, epsilon=1).receipt.again
    moved = folder.parent / "moved"
    folder.rename(moved)
    assert tacit.open(moved / "tacit.toml").session("ana").sql(COUNT, epsilon=1).receipt.again


def test_a_lowered_budget_binds_sessions_that_are_open(data, folder):
    ana = data.session("ana")
    ana.sql(COUNT, epsilon=1)
    (folder / "tacit.toml").write_text(CATALOG.replace("epsilon = 10", "epsilon = 1"))
    with pytest.raises(BudgetExceeded, match="data set"):
        ana.sql(COUNT, epsilon="0.5", fresh=True)


def test_a_catalog_that_is_gone_stops_sessions_that_are_open(data, folder):
    ana = data.session("ana")
    (folder / "tacit.toml").unlink()
    with pytest.raises(InvalidCatalog, match="file not found"):
        ana.sql(COUNT, epsilon=1)


def test_the_same_question_at_once_is_paid_once(folder):
    """Eight threads, a data set of their own each, as eight processes would have: one pays, the others are given its answer."""
    answers = []

    def ask() -> None:
        with tacit.open(folder / "tacit.toml") as own:
            answers.append(own.session("ana").sql(COUNT, epsilon=1))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len({str(answer.rows()) for answer in answers}) == 1
    assert sum(not answer.receipt.again for answer in answers) == 1
    assert entries(tacit.open(folder / "tacit.toml")) == 1


def test_preparing_again_resets_no_budget_and_keeps_no_answer(data, folder):
    data.session("ana").sql(COUNT, epsilon=1)
    before = data.version
    data.prepare()
    anew = tacit.open(folder / "tacit.toml")
    assert anew.version != before
    assert anew.session("ana").sql(COUNT, epsilon=1).receipt.left_epsilon == 2
    assert entries(anew) == 2


def test_one_budget_over_everybody(data):
    bob = data.session("bob")
    for turn in range(9):
        bob.sql(f"SELECT COUNT(*) AS n{turn} FROM visits WHERE cost > {turn}", epsilon=1)
    with pytest.raises(BudgetExceeded, match="data set"):
        data.session("ana").sql(COUNT, epsilon=2)
    assert data.session("ana").sql(COUNT, epsilon=1).receipt.left_epsilon == 0


def test_unknown_analysts_do_not_ask(data):
    with pytest.raises(InvalidInput, match="ana, bob"):
        data.session()
    with pytest.raises(InvalidInput, match="ana, bob"):
        data.session("eve")


def test_stopping_by_hand_says_that_the_budget_is_spent(data, monkeypatch):
    def run(self, group):
        raise KeyboardInterrupt

    monkeypatch.setattr(DuckDBEngine, "run", run)
    with pytest.raises(StoppedAfterSpending, match=r"entry 1 .* stays spent"):
        data.session("ana").sql(COUNT, epsilon=1)


def test_a_time_out_costs_what_an_answer_costs(data, monkeypatch):
    data.engine = DuckDBEngine(store_file(data.catalog), Limits(seconds=0.2))
    endless = "SELECT sum(i) FROM range(10000000000000) t(i)"
    monkeypatch.setattr(DuckDBEngine, "_fetch", lambda self, *_: self._connection.execute(endless))
    with pytest.raises(TimedOut, match="stays spent"):
        data.session("ana").sql(COUNT, epsilon=1)
    assert entries(data) == 1


def test_a_missing_or_older_ledger_stops_answers_until_it_is_adopted(data, folder):
    kept = folder / ".tacit"
    data.session("ana").sql(COUNT, epsilon=1)
    ledgers = sorted(kept.glob("ledger.sqlite*"))
    old = {path: path.read_bytes() for path in ledgers}
    data.session("ana").sql(COUNT, epsilon="0.5", fresh=True)
    data._opened = None
    for path in kept.glob("ledger.sqlite*"):
        path.unlink()
    for path, content in old.items():
        path.write_bytes(content)
    older = tacit.open(folder / "tacit.toml")
    with pytest.raises(StoreUnusable, match="older"):
        older.session("ana").sql(COUNT, epsilon="0.25")
    assert older.adopt("restored from a backup") == 3
    assert older.ledger.spent().epsilon == Fraction(3, 2), "adopting never makes budget"
    assert older.session("ana").sql(COUNT, epsilon="0.25", fresh=True).receipt.entry == 4
    for path in kept.glob("ledger.sqlite*"):
        path.unlink()
    with pytest.raises(StoreUnusable, match="ledger"):
        tacit.open(folder / "tacit.toml").session("ana").sql(COUNT, epsilon="0.125")


def test_an_unprepared_or_changed_catalog_stops_answers(folder):
    shutil.rmtree(folder / ".tacit" / "store")
    with pytest.raises(StoreUnusable, match="tacit prepare"):
        tacit.open(folder / "tacit.toml").session("ana").sql(COUNT, epsilon=1)
    prepare(tacit.open(folder / "tacit.toml").catalog)
    (folder / "tacit.toml").write_text(CATALOG.replace("[0, 100]", "[0, 200]"))
    with pytest.raises(StoreUnusable, match="changed"):
        tacit.open(folder / "tacit.toml").session("ana").sql(COUNT, epsilon=1)


def test_explaining_spends_nothing_and_reads_no_private_data(data, monkeypatch):
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("the engine was asked"))
    told = str(data.session("ana").explain("SELECT ward, AVG(cost), COUNT(*) AS n FROM visits GROUP BY ward"))
    assert "at most 3 rows per unit" in told
    assert "price: epsilon 1" in told
    assert entries(data) == 0


def test_the_builder_asks_the_same_question_as_sql(data):
    ana = data.session("ana")
    built = ana.table("visits").where("cost > 10").group_by("ward").agg(n="count(*)").release(epsilon=1)
    assert ana.sql("SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 10 GROUP BY ward", epsilon=1).rows() == built.rows()
    assert entries(data) == 1


def test_a_budget_written_in_the_question_counts_once(data):
    ana = data.session("ana")
    question = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) ward, COUNT(*) AS n FROM visits GROUP BY ward"
    assert ana.sql(question).receipt.epsilon == Fraction(1, 2)
    with pytest.raises(NoBudget, match="leave one of them out"):
        ana.sql(question, epsilon=1)


def test_nobody_watches_the_last_step_unless_a_test_does(data, monkeypatch):
    """A runner starts without observers, and no name of a catalog, an option or the environment gives it one."""
    monkeypatch.setenv("TACIT_OBSERVERS", "1")
    data.session("ana").sql(COUNT, epsilon=1)
    assert data.runner.observers == ()
    seen = []
    monkeypatch.setattr(data.runner, "observers", [lambda quote, exact, released: seen.append((quote, repr(exact)))])
    data.session("ana").sql(COUNT, epsilon="0.5", fresh=True)
    assert len(seen) == 1
    assert "Sealed(...)" in seen[0][1]


class TestCommands:
    run = staticmethod(CliRunner().invoke)

    def ask(self, folder, *words):
        return self.run(app, [*words, "--catalog", str(folder / "tacit.toml")])

    def test_json_has_the_shape_of_the_design(self, folder):
        done = self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "ana", "--json")
        known = json.loads(done.stdout)
        assert done.exit_code == 0
        assert known["columns"] == [{"name": "ward", "kind": "key"}, {"name": "n", "kind": "count"}]
        assert set(known["rows"][0]["n"]) == {"value", "low", "high", "half_width"}
        assert known["price"] == {"epsilon": "1", "delta": "0"}
        assert known["left"]["epsilon"] == "3"

    def test_csv_and_table_and_chart(self, folder, tmp_path):
        done = self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "bob", "--csv")
        assert done.stdout.splitlines()[0] == "ward,n,n_low,n_high"
        drawn = tmp_path / "chart.svg"
        done = self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "bob", "--chart", str(drawn))
        assert "<svg" in drawn.read_text()
        assert "±" in done.stdout

    def test_a_chart_that_cannot_be_drawn_costs_neither_budget_nor_answer(self, folder, tmp_path):
        done = self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "ana", "--chart", "answer.pdf")
        assert (done.exit_code, done.stdout) == (2, "")
        assert ".svg, .png, .html" in done.stderr
        (tmp_path / "taken").write_text("a file, and no folder")
        done = self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "ana", "--chart", str(tmp_path / "taken" / "a.svg"))
        assert (done.exit_code, done.stdout) == (2, "")
        after = self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "ana")
        assert "Spent: epsilon 1. Remaining: epsilon 3." in after.stdout, "both questions before it cost nothing"

    @pytest.mark.parametrize(
        ("words", "code", "error"),
        [
            (("sql", "SELECT SUM(x) FROM visits", "--epsilon", "1", "--analyst", "ana", "--json"), 3, "unknown_name"),
            (("sql", COUNT, "--epsilon", "2.5", "--analyst", "ana", "--json"), 3, "budget_exceeded"),
            (("sql", COUNT, "--analyst", "ana", "--json"), 3, "no_budget"),
            (("sql", COUNT, "--epsilon", "x", "--analyst", "ana", "--json"), 2, "invalid_budget"),
            (("sql", COUNT, "--epsilon", "1", "--json"), 2, "invalid_input"),
        ],
    )
    def test_errors_have_codes(self, folder, words, code, error):
        done = self.ask(folder, *words)
        assert done.exit_code == code
        assert json.loads(done.stderr)["error"]["code"] == error
        assert done.stdout == ""

    def test_accounts(self, folder):
        self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "ana")
        known = json.loads(self.ask(folder, "budget", "--json").stdout)
        assert [account["name"] for account in known["accounts"]] == ["data set", "ana", "bob"]
        assert known["accounts"][0]["left"]["epsilon"] == "9"
        shown = self.ask(folder, "history")
        assert shown.exit_code == 0
        assert "the chain of 3 entries is whole" in shown.stdout
        assert json.loads(self.ask(folder, "history", "--json").stdout)["entries"][-1]["analyst"] == "ana"

    def test_what_is_said_to_be_left_is_left(self, folder):
        """Of 4, a third is spent: 2.66667, which is nearest to what is left, would be refused."""
        asked = self.ask(folder, "sql", COUNT, "--epsilon", "4/3", "--analyst", "ana")
        assert "Remaining: epsilon 2.66666.\n" in asked.stdout
        assert " 2.66666 " in self.ask(folder, "budget").stdout
        explained = self.ask(folder, "explain", COUNT, "--epsilon", "1", "--analyst", "ana")
        assert "remaining: epsilon 2.66666, " in explained.stdout

    def test_a_tampered_ledger_ends_with_one(self, folder):
        import sqlite3

        self.ask(folder, "sql", COUNT, "--epsilon", "1", "--analyst", "ana")
        forge = ('"analyst":"ana"', '"analyst":"eve"')
        with sqlite3.connect(folder / ".tacit" / "ledger.sqlite") as ledger:
            tables = [name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                columns = [row[1] for row in ledger.execute(f"PRAGMA table_info({table})")]
                if "text" in columns and "hash" in columns:
                    ledger.execute(f"UPDATE {table} SET text = replace(text, ?, ?)", forge)
        done = self.ask(folder, "history")
        assert done.exit_code == 1
        assert "broken" in done.stdout
