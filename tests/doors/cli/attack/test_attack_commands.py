"""`tacit attack ...`: what each prints, its JSON, its chart and its exit code. Small sizes: the mathematics is tested beside it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from chance import most_hits
from tacit.doors.cli import app
from tacit.doors.cli.attack import COMMANDS
from tacit.doors.cli.demo import hospital
from tacit.evidence.attacks import against_session, hostile_key, questioner
from tacit.mechanisms.noise import discrete

run = CliRunner().invoke
QUICK = {
    "reconstruct": ["--n", "32", "--queries", "128"],
    "exponential": ["--n", "6"],
    "trace": ["--n", "30", "--d", "500", "--runs", "2"],
    "regimes": ["--n", "20", "--runs", "1"],
    "differencing": ["--n", "60", "--targets", "2"],
    "averaging": ["--n", "60", "--targets", "2"],
    "tracker": ["--n", "60", "--targets", "2"],
    "floating-point": ["--draws", "2000", "--timed", "200"],
    "local-sensitivity": [],
    "definitions": [],
    "periods": ["--months", "3"],
    "auxiliary": ["--n", "200"],
    "posterior": [],
    "longest-commute": ["--maps", "2"],
    "degree": ["--generate", "power-law:2000:16000"],
    "coalition": ["--generate", "power-law:2000:16000", "--trials", "2"],
    "grouping": [],
    "plant": ["--generate", "power-law:2000:16000", "--targets", "20"],
    "collude": ["--example", "email"],
    "minimality": [],
    "cells": [],
    "linkage": ["--people", "60"],
    "homogeneity": [],
    "downcoding": ["--rows", "30"],
    "rebuild": ["--blocks", "4"],
}


def told(*words: str) -> dict:
    result = run(app, ["attack", *words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_attack_is_listed_with_what_it_shows():
    listed = told("list")["attacks"]
    assert [attack["name"] for attack in listed] == [name for name in COMMANDS if name != "list"]
    assert {*QUICK, "session", "denial", "timing"} == {attack["name"] for attack in listed}
    assert all(len(attack["shows"]) > 40 for attack in listed)
    assert "floating-point" in run(app, ["attack", "list"]).output


@pytest.mark.parametrize("name", QUICK)
def test_it_prints_sentences_json_and_a_chart(name, tmp_path):
    chart = tmp_path / "out.svg"
    result = run(app, ["attack", name, *QUICK[name], "--chart", str(chart)])
    assert result.exit_code == 0, result.output
    assert len(result.output) > 80
    assert chart.read_text().startswith("<svg")
    assert told(name, *QUICK[name])


def test_reconstruction_recovers_what_is_promised():
    found = told("reconstruct", "--n", "128", "--queries", "512", "--noise", "gaussian:1.4", "--seed", "1")
    assert found["recovered"] > 0.95
    assert found["predicted"] == pytest.approx(0.99977, abs=1e-4)
    again = told("reconstruct", "--n", "128", "--queries", "512", "--noise", "gaussian:1.4", "--seed", "1")
    assert found == again


def test_reconstruction_against_a_session_recovers_little():
    """24 fair bits, each right with 0.51."""
    found = told("reconstruct", "--n", "24", "--queries", "30", "--against", "session", "--epsilon", "1")
    assert found["recovered"] <= most_hits(24, 0.51) / 24 < 1
    assert "session" in found["answers"]


def test_a_program_and_curves():
    assert told("reconstruct", "--n", "32", "--queries", "128", "--method", "program")["method"] == "linear programming"
    assert told("reconstruct", "--n", "32", "--queries", "128", "--curve", "noise")["over"] == "noise"
    assert told("reconstruct", "--n", "32", "--noise", "gaussian:3", "--curve", "queries")["over"] == "questions"
    assert len(told("reconstruct", "--n", "32", "--queries", "128", "--curve", "feasible")["private"]) == 6


def test_tracing_has_a_line_for_each_noise():
    result = run(app, ["attack", "trace", "--n", "100", "--d", "5000", "--runs", "1"])
    assert result.output.count("noise ") == 4
    rates = [level["recovered"] for level in told("trace", "--n", "100", "--d", "5000", "--runs", "2")["levels"]]
    assert rates[0] == 1
    assert rates[2] < 0.1


def test_what_was_given_is_what_is_printed():
    tall = run(app, ["attack", "auxiliary", "--n", "200", "--of", "height"]).output
    assert "known to be 2 above the average" in tall
    assert "10" not in tall.split("known to be")[1].split("is guessed")[0]
    assert told("auxiliary", "--n", "200", "--less", "-25")["known"] == "25 above the average"


def test_a_prior_that_is_wrong_about_everybody():
    found = told("posterior", "--about", "everybody", "--n", "15")
    assert found["before"] == 0.99 > 0.01 > found["after_out"] >= found["after_in"]
    assert found["recovered"] == 1
    assert "three arms" in run(app, ["attack", "posterior", "--about", "everybody"]).output


def test_the_worst_answers_show_wrong_rows_and_none_beyond_four():
    found = told("exponential", "--answers", "worst", "--n", "12", "--alpha", "1")
    assert found["by_rows_wrong"] == [1, 0, 4, 0, 1]
    assert len(found["wrong"]) == found["farthest"] == found["bound"] == 4


def test_one_person_against_a_session():
    found = told("differencing", "--n", "40", "--targets", "3", "--against", "session")
    assert (found["questions"], found["refused"]) == (12, 0)
    assert found["predicted"] < 0.6


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "randomized-response"])
def test_beliefs_of_each_mechanism(mechanism):
    found = told("posterior", "--mechanism", mechanism, "--prior", "0.1")
    assert found["prior"]["yes"] == pytest.approx(0.1)
    assert found["largest"]["yes"] < 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reconstruct", "--noise", "loud:3"], "laplace:SCALE"),
        (["reconstruct", "--noise", "none", "--curve", "noise"], "--curve requires noise"),
        (["reconstruct", "--against", "session", "--epsilon", "0"], "epsilon"),
        (["exponential", "--n", "40", "--alpha", "10"], "candidates"),
        (["differencing", "--n", "10"], "at least 40"),
        (["posterior", "--prior", "1.5"], "below 1"),
        (["posterior", "--about", "everybody", "--n", "100"], "at most 60"),
        (["posterior", "--about", "everybody", "--mechanism", "gaussian"], "--mechanism"),
        (["definitions", "--chart", "picture.bmp"], ".svg"),
    ],
)
def test_wrong_usage_is_said(words, message):
    result = run(app, ["attack", *words])
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(hospital, "PATIENTS", 400)
    monkeypatch.setattr(questioner, "MOST_PEOPLE", 26)
    for name, value in (("TARGETS", 3), ("GROUPS", 2), ("REPEATS", 2)):
        monkeypatch.setattr(against_session, name, value)


@pytest.mark.usefixtures("small")
def test_a_session_holds_on_the_hospital():
    """Each limit is passed by luck with a chance of 1e-6. On 26 people, most of them do not tell."""
    result = run(app, ["attack", "session", "--seeds", "1"])
    assert result.exit_code == 0, result.output
    assert "For the data owner only; not for publication" in result.output
    names = ("least squares", "tracing", "differencing", "averaging", "tracker", "timing", "changed unit", "hostile key")
    assert all(name in result.output for name in names)
    assert "too few to tell" in result.output
    assert "No attack succeeded, but 7 of 14 had too few" in " ".join(result.output.split())


@pytest.mark.usefixtures("small")
def test_a_broken_session_exits_with_one(monkeypatch):
    """The planted bug: noise that is always zero."""
    monkeypatch.setattr(discrete, "draw_laplace", lambda scale, size: np.zeros(size, dtype=np.int64))
    monkeypatch.setattr(hostile_key, "FORMATS", {"CSV": hostile_key.FORMATS["CSV"]})
    result = run(app, ["attack", "session", "--seeds", "1", "--json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert not report["holds"]
    assert not next(row for row in report["attacks"] if row["attack"] == "reconstruction by least squares")["failed"]


def test_a_catalog_without_a_store_is_said(tmp_path):
    catalog = tmp_path / "tacit.toml"
    catalog.write_text(
        '[budget]\nepsilon = 1\n[tables.t]\nsource = "t.csv"\nunit = "row"\n'
        '[tables.t.columns]\na = { bounds = [1, 9] }\nb = { values = ["x"] }\n'
    )
    result = run(app, ["attack", "session", "--catalog", str(catalog)])
    assert result.exit_code == 4
    assert "tacit prepare" in result.stderr
