"""`tacit verify`: the table, the JSON, the plants and the exit codes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app
from tacit.doors.cli.verify import Plant
from tacit.evidence.verify import plants
from tacit.evidence.verify.plants import PLANTED
from tacit.evidence.verify.trial import Effort

run = CliRunner().invoke
LAWS = ("loss:", "coverage:", "smoothness:", "grid:", "filter:", "sampler:", "cells:", "clock:")


@pytest.fixture
def small(monkeypatch):
    """A suite of the planted case alone, or of the last one, with few draws: what is checked here is the command."""
    everything = plants.cases
    monkeypatch.setattr(plants, "QUICK", Effort(samples=16))
    monkeypatch.setattr(plants, "cases", lambda plant=None: [PLANTED[plant][1]] if plant else everything()[-1:])


def test_the_choices_are_the_planted_bugs():
    assert [plant.value for plant in Plant] == list(PLANTED)


@pytest.mark.usefixtures("small")
def test_what_holds_exits_with_zero():
    result = run(app, ["verify", "--quick"])
    assert result.exit_code == 0
    assert "within" in result.output
    assert "exact" in result.output
    assert "broken" not in result.output


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_bug_exits_with_one_and_names_the_law(plant):
    result = run(app, ["verify", "--quick", "--plant", plant])
    assert result.exit_code == 1
    assert "broken" in result.output
    assert any(law in result.output for law in LAWS)


def test_the_table_shows_the_shares_and_why_some_are_small(monkeypatch):
    shown = [case for case in plants.cases() if case.name in ("Ledger's filter", "Local, yes or no")]
    monkeypatch.setattr(plants, "cases", lambda plant=None: shown)
    result = run(app, ["verify", "--quick"])
    lines = {line.split("  ")[0].strip(): line.split() for line in result.output.splitlines()}
    assert "1.00" in lines["Local, yes or no"]
    assert "0.51" in lines["Ledger's filter"]
    assert "Rows that reach less than 0.9 of their claim" in result.output
    assert "Ledger's filter (0.51): half of delta" in result.output
    assert "yes or no (" not in result.output


@pytest.mark.usefixtures("small")
def test_json_is_all_of_standard_output():
    result = run(app, ["verify", "--quick", "--plant", "swap", "--json"])
    told = json.loads(result.stdout)
    assert (result.exit_code, told["holds"]) == (1, False)
    (row,) = told["rows"]
    assert row["broken"][0]["law"] == "coverage"
    assert {"mechanism", "claimed", "measured", "share", "unreached", "samples", "exact", "broken"} == set(row)


def test_another_plant_is_wrong_usage():
    result = run(app, ["verify", "--plant", "weeds"])
    assert result.exit_code == 2
    assert "noise" in result.output


@pytest.mark.slow
@pytest.mark.parametrize("plant", [None, "noise"])
def test_the_whole_table(plant):
    """With one plant for all: each takes the place of one row (test_plants_suite.py), and is found in it (above)."""
    options = ["--plant", plant] if plant else []
    assert run(app, ["verify", "--quick", *options]).exit_code == (1 if plant else 0)
