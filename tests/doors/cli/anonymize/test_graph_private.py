"""`tacit ledger begin --relation` and the private methods of `tacit anonymize graph`."""

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{each}\t{each * each % 61}\n" for each in range(61)), "utf-8")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def begun(tmp_path, relation):
    file = tmp_path / f"{relation}.sqlite"
    made = run("ledger", "begin", "--relation", relation, "--epsilon", "1", "--delta", "0", "--ledger", file, "--json")
    assert json.loads(made.stdout)["relation"] == f"add or remove one {relation}"
    return file


def test_a_degree_sequence_is_paid_for(edges, tmp_path):
    ledger, out = begun(tmp_path, "edge"), tmp_path / "degrees.json"
    words = ["anonymize", "graph", edges, "--method", "dp-degrees", "--epsilon", "0.75", "--nodes", 61, "--ledger", ledger]
    shown = json.loads(run(*words, "--out", out, "--json").stdout)
    assert (shown["relation"], shown["epsilon"], shown["paid"]["left"]["epsilon"]) == ("add or remove one edge", "0.75", "0.25")
    assert len(shown["degrees"]) == 61
    assert json.loads(out.read_text())["degrees"] == shown["degrees"]
    assert json.loads((tmp_path / "degrees.json.receipt.json").read_text())["differentially_private"] is True
    again = run(*words)
    assert again.exit_code == 3, "the budget is spent"


def test_a_histogram_is_paid_for_by_a_ledger_of_nodes(edges, tmp_path):
    ledger = begun(tmp_path, "node")
    words = ["anonymize", "graph", edges, "--method", "dp-degrees", "--epsilon", "1", "--ledger", ledger]
    assert run(*words).exit_code == 2, "theta is missing, and nothing is spent"
    shown = run(*words, "--theta", 5)
    assert "Differentially private: pure epsilon 1 (add or remove one node)" in shown.stdout
    assert "Not differentially private" not in shown.stdout


@pytest.mark.parametrize("method", ["dp-edges", "dp-triangles"])
def test_counts_are_refused_by_a_ledger_of_nodes(edges, tmp_path, method):
    words = ["anonymize", "graph", edges, "--method", method, "--epsilon", "1", "--nodes", 61, "--ledger"]
    refused = run(*words, begun(tmp_path, "node"))
    assert refused.exit_code != 0
    assert "this ledger counts for 'add or remove one node'" in refused.stderr
    assert run(*words, begun(tmp_path, "edge")).exit_code == 0


def test_what_is_missing_is_named(edges, tmp_path):
    words = ["anonymize", "graph", edges, "--method", "dp-edges"]
    assert "missing ledger" in run(*words).stderr
    ledger = begun(tmp_path, "edge")
    assert "missing epsilon" in run(*words, "--ledger", ledger).stderr
    assert "number of people" in run(*words, "--ledger", ledger, "--epsilon", 1).stderr
    assert "takes no seed" in run(*words, "--ledger", ledger, "--epsilon", 1, "--nodes", 61, "--seed", 1).stderr
    assert "requires --relation" in run("ledger", "begin", "--epsilon", "1").stderr
    assert "expected edge or node" in run("ledger", "begin", "--relation", "x", "--epsilon", "1", "--ledger", tmp_path / "x").stderr
