"""`tacit bounds`: the source is read after the spend, as preparation reads it, and nothing but the proposal depends on it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import tacit
from tacit.doors.cli import app
from tacit.errors import BudgetExceeded, InvalidCatalog, InvalidInput, NotAllowed, TacitError, UnknownName
from tacit.mechanisms.bounds import BINS, ProposedBounds, bin_of
from tacit.release import bounds

CATALOG = """\
[budget]
epsilon = 3000

[tables.patients]
source = "patients.csv"
unit = "row"
rows_at_most = 1000
[tables.patients.columns]
id = { key = true }
age = { bounds = [0, 110] }

[tables.visits]
source = "visits.csv"
unit = { column = "patient_id", references = "patients.id" }
max_rows = 2
rows_at_most = 10
decimal = ","
[tables.visits.columns]
cost = { }
ward = { keys = "private" }
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tacit.toml").write_text(CATALOG)
    (tmp_path / "patients.csv").write_text("id;age\n" + "".join(f"{place};50\n" for place in range(200)))
    rows = [f"{place};{3 + place % 90},5;A\n" for place in range(200)] + ["1;1000000;B\n"] * 500 + ["2;x;\n", ";5;\n", "3;;\n"]
    (tmp_path / "visits.csv").write_text("patient_id;cost;ward\n" + "".join(rows))
    with tacit.open("tacit.toml", own_process=False) as opened:
        opened.begin_ledger()
        yield opened


def test_a_unit_counts_with_max_rows_at_most(data, monkeypatch):
    given = []
    monkeypatch.setattr(
        ProposedBounds, "release", lambda self, counts: given.append(counts.unseal()) or (Fraction(2), Fraction(128))
    )
    proposal = data.propose_bounds("visits.cost", 1)
    assert proposal.line == "cost = { bounds = [2, 128] }"
    assert data.accounts()[0].spent.epsilon == 1
    (counts,) = given
    assert len(counts) == BINS
    assert counts[bin_of(10**6)] + 198 <= sum(counts) <= 201  # of the 501 rows of one patient two count at most
    assert counts[bin_of(10**6)] <= 2
    assert not list(data.catalog.kept.glob("bounds-*"))


def test_none_found_is_an_answer_and_is_charged(data, tmp_path):
    (tmp_path / "visits.csv").write_text("patient_id;cost;ward\n1;5;A\n")
    proposal = data.propose_bounds("visits.cost", "0.5")
    assert proposal.bounds is None
    assert data.accounts()[0].spent.epsilon == Fraction(1, 2)


def test_it_is_paid_before_the_source_is_read(data, monkeypatch):
    seen = []
    monkeypatch.setattr(bounds, "prepare", lambda *_, **__: seen.append(data.accounts()[0].spent.epsilon) or 1 / 0)
    with pytest.raises(TacitError):
        data.propose_bounds("visits.cost", 1)
    assert seen == [1]


def test_a_planted_look_before_the_spend_is_seen(data, monkeypatch):
    """The same test, with the spend moved behind the look."""
    seen = []
    monkeypatch.setattr(bounds, "once", lambda till, sale, run, form: run(None))
    monkeypatch.setattr(bounds, "prepare", lambda *_, **__: seen.append(data.accounts()[0].spent.epsilon) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        data.propose_bounds("visits.cost", 1)
    assert seen == [0]


def test_refusals_come_before_the_spend(data):
    for named, error in {
        "cost": UnknownName,
        "visits.price": UnknownName,
        "visits.ward": NotAllowed,
        "patients.id": NotAllowed,
    }.items():
        with pytest.raises(error):
            data.propose_bounds(named, 1)
    with pytest.raises(BudgetExceeded):
        data.propose_bounds("visits.cost", 5000)
    assert data.accounts()[0].spent.epsilon == 0


def _declared(tmp_path, old: str, new: str):
    """The data set with another declaration."""
    (tmp_path / "tacit.toml").write_text((tmp_path / "tacit.toml").read_text().replace(old, new))
    return tacit.open("tacit.toml", own_process=False)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("cost = { }", "cost = { }\nprice = { }", "missing column 'price'"),
        ('source = "visits.csv"', 'source = "visit.csv"', "not found"),
        ('source = "patients.csv"', 'source = "nowhere.parquet"', "not found"),
        ('source = "visits.csv"', 'source = { parquet = "s3a://bucket/visits" }', "a cluster reads"),
        ('source = "patients.csv"', 'source = "memory"', "memory"),
    ],
)
def test_what_no_row_tells_is_refused_before_the_spend(data, tmp_path, old, new, told):
    if "s3a" in new:
        _declared(tmp_path, "[tables.patients]", '[store]\nengine = "spark"\n[tables.patients]').close()
    with _declared(tmp_path, old, new) as changed:
        with pytest.raises(TacitError, match=told):
            changed.propose_bounds("visits.price" if "price" in new else "visits.cost", 1)
        assert changed.accounts()[0].spent.epsilon == 0


def test_no_row_is_read_before_the_spend(data, tmp_path):
    """A row that would stop preparation is found after the spend; the header alone is looked at before."""
    data = _declared(tmp_path, 'source = "visits.csv"', 'source = { csv = "visits.csv", multiline = true }')
    (tmp_path / "visits.csv").write_text('patient_id;cost;ward\n1;5;a"b\n')
    with pytest.raises(BudgetExceeded):
        data.propose_bounds("visits.cost", 5000)
    with pytest.raises(InvalidCatalog, match="multiline"):
        data.propose_bounds("visits.cost", 1)
    assert data.accounts()[0].spent.epsilon == 1


@pytest.mark.parametrize("declared", ['{ csv = "visits.csv", multiline = true }', '"visits.csv"'])
def test_one_row_does_not_change_how_the_others_are_read(data, tmp_path, monkeypatch, declared):
    """Every row has a line end in a field. A row of one more patient breaks the rule: nothing may be counted by another rule."""
    data = _declared(tmp_path, 'source = "visits.csv"', f"source = {declared}")
    given = []
    monkeypatch.setattr(ProposedBounds, "release", lambda self, counts: given.append(sum(counts.unseal())))
    rows = "".join(f'{place};5;"A\n{place};7;A"\n' for place in range(100))
    (tmp_path / "visits.csv").write_text("patient_id;cost;ward\n" + rows)
    for more in ("", '100;5;a"b\n'):
        (tmp_path / "visits.csv").write_text("patient_id;cost;ward\n" + rows + more)
        with suppress(InvalidCatalog):
            data.propose_bounds("visits.cost", 1)
    assert max(given, default=0) - min(given, default=0) <= 2
    assert given in ([100], [])


def test_the_same_proposal_is_not_paid_for_again(data, tmp_path):
    first = data.propose_bounds("visits.cost", 1)
    again = data.propose_bounds("visits.cost", "1.0")
    assert (again.bounds, again.receipt.entry) == (first.bounds, first.receipt.entry)
    assert (first.receipt.again, again.receipt.again) == (False, True)
    assert data.accounts()[0].spent.epsilon == 1
    data.propose_bounds("visits.cost", 2)
    assert data.accounts()[0].spent.epsilon == 3
    os.utime(tmp_path / "patients.csv", ns=(1, 1))
    data.propose_bounds("visits.cost", 1)  # of a file that was written since
    assert data.accounts()[0].spent.epsilon == 4


@pytest.mark.parametrize("rows", ["", "1;7;A\n", "2;1e999;A\n" * 50, '"\n', "1;NaN;A\n2;-inf;\n"])
def test_no_row_changes_anything_but_the_counts(data, tmp_path, monkeypatch, rows):
    """On neighbouring files, the same entry, the same price and the same shape; the mechanism gets all counts, sealed."""
    data = _declared(tmp_path, 'source = "visits.csv"', 'source = { csv = "visits.csv", multiline = false }')
    (tmp_path / "visits.csv").write_text("patient_id;cost;ward\n1;5;A\n" + rows)
    given = []
    monkeypatch.setattr(ProposedBounds, "release", lambda self, counts: given.append(repr(counts)))
    proposal = data.propose_bounds("visits.cost", 1)
    assert given == ["Sealed(...)"]
    assert (proposal.max_rows, proposal.receipt.epsilon) == (2, 1)


def test_the_command_prints_the_line_to_paste(data, tmp_path):
    (tmp_path / "visits.csv").write_text(
        "patient_id;cost;ward\n" + "".join(f"{place};{3 + place % 90};A\n" for place in range(200))
    )
    told = CliRunner().invoke(app, ["bounds", "visits.cost", "--epsilon", "1000"])
    assert told.exit_code == 0, told.output
    assert "cost = { bounds = [2, 128] }" in told.output
    told = CliRunner().invoke(app, ["bounds", "visits.cost", "--epsilon", "1000", "--json"])
    assert json.loads(told.stdout)["line"] == "cost = { bounds = [2, 128] }"


def test_a_declared_analyst_pays(data, tmp_path):
    analysts = "[analysts.ann]\nepsilon = 1\n[analysts.bob]\nepsilon = 2\n"
    with _declared(tmp_path, "[budget]\nepsilon = 3000\n", f"[budget]\nepsilon = 3000\n{analysts}") as changed:
        with pytest.raises(InvalidInput, match="missing analyst"):
            changed.propose_bounds("visits.cost", 1)
        with pytest.raises(BudgetExceeded):
            changed.propose_bounds("visits.cost", 2, analyst="ann")
        assert changed.propose_bounds("visits.cost", 2, analyst="bob").receipt.left_epsilon == 0
