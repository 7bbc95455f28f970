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


def test_triangles_are_refused_by_a_ledger_of_nodes(edges, tmp_path):
    words = ["anonymize", "graph", edges, "--method", "dp-triangles", "--epsilon", "1", "--nodes", 61, "--ledger"]
    refused = run(*words, begun(tmp_path, "node"))
    assert refused.exit_code != 0
    assert "this ledger counts for 'add or remove one node'" in refused.stderr
    unnumbered = run(*words[:7], "--ledger", tmp_path / "node.sqlite")
    assert unnumbered.stderr == refused.stderr, "the number of people would not help"
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


def last_entry(ledger):
    """The number of the last entry: 0 until something is spent."""
    from tacit.publish.graphs.private.spending import open_graph_ledger

    return open_graph_ledger(ledger).head.number


@pytest.mark.parametrize("beside", ["", ".receipt.json"])
def test_a_file_that_exists_is_refused_before_anything_is_spent(edges, tmp_path, beside):
    ledger, out = begun(tmp_path, "edge"), tmp_path / "count.json"
    place = tmp_path / f"count.json{beside}"
    place.write_text("an earlier release")
    words = ["anonymize", "graph", edges, "--method", "dp-edges", "--epsilon", "1", "--nodes", 61, "--ledger", ledger, "--out"]
    refused = run(*words, out)
    assert refused.exit_code == 2
    assert f"{place.name} already exists; choose another file" in refused.stderr
    assert place.read_text() == "an earlier release"
    assert last_entry(ledger) == 0
    assert run(*words, tmp_path / "other.json").exit_code == 0
    assert last_entry(ledger) == 1


def test_an_edge_list_that_is_a_folder_is_called_one(tmp_path):
    ledger = begun(tmp_path, "edge")
    words = ["--method", "dp-edges", "--epsilon", "1", "--nodes", 61, "--ledger", ledger]
    for more in (words, ["--k", 2]):
        assert "is a folder" in run("anonymize", "graph", tmp_path, *more).stderr
    assert last_entry(ledger) == 0


def test_a_second_ledger_in_the_same_file_is_refused_with_a_remedy(tmp_path):
    ledger = begun(tmp_path, "edge")
    again = run("ledger", "begin", "--relation", "edge", "--epsilon", "9", "--ledger", ledger)
    assert again.exit_code == 2
    assert "edge.sqlite already exists: a ledger is begun once" in again.stderr
    assert "--ledger edge.sqlite" in again.stderr


FOREIGN = [
    ("k-degree", ["--repair", "--theta", "5"], "--theta (for dp-degrees, dp-edges, dp-stars), --repair (for dp-degrees)"),
    ("naive", ["--k", "3"], "--k (for k-degree, k-neighbourhood, grouping, bipartite)"),
    ("grouping", ["--greedy"], "--greedy (for k-degree)"),
    ("k-degree", ["--effort", "7"], "--effort (for grouping)"),
    ("bipartite", ["--max-neighbourhood", "9"], "--max-neighbourhood (for k-neighbourhood)"),
    ("dp-triangles", ["--theta", "5"], "--theta (for dp-degrees, dp-edges, dp-stars)"),
]


@pytest.mark.parametrize(("method", "options", "named"), FOREIGN)
def test_an_option_of_another_method_is_refused(edges, method, options, named):
    refused = run("anonymize", "graph", edges, "--method", method, *options)
    assert refused.exit_code == 2
    assert f"--method {method} does not use {named}; remove" in refused.stderr


def test_every_option_of_a_method_has_its_line():
    from dataclasses import fields

    from tacit.doors.cli.anonymize.graphs import METHODS, TAKEN_BY, Asked, GroupTerms, NeighbourhoodTerms, PrivateTerms

    every = {field.name for terms in (Asked, GroupTerms, NeighbourhoodTerms, PrivateTerms) for field in fields(terms)}
    assert every - set(TAKEN_BY) == {"edges", "seed", "told", "groups", "private", "neighbourhoods"}
    assert {method for methods in TAKEN_BY.values() for method in methods} <= set(METHODS)
