"""`tacit attack plant`, `collude` and the others on graphs: what each prints, its JSON, its refusals."""

from __future__ import annotations

import gzip
import json

import pytest
from typer.testing import CliRunner

from small_graphs import random_graph
from tacit.doors.cli import app

run = CliRunner().invoke


def told(*words: str) -> dict:
    result = run(app, ["attack", *words, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def edges(tmp_path_factory) -> str:
    """A compressed edge list of 800 people whose names are numbers from 1000."""
    left, right = random_graph(800, 0.02, 7).ends()
    path = tmp_path_factory.mktemp("graphs") / "edges.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{1000 + one}\t{1000 + two}\n" for one, two in zip(left, right, strict=True)).encode()))
    return str(path)


def test_the_planted_attack_reads_a_file(edges):
    found = told("plant", edges, "--accounts", "8", "--targets", "10", "--degrees", "8:12", "--seed", "1")
    assert (found["succeeded"], found["read"], found["nodes"], found["proved_accounts"]) == (True, 10, 800, 19)
    text = run(app, ["attack", "plant", edges, "--accounts", "8", "--targets", "10", "--degrees", "8:12"]).output
    assert "one match" in text
    assert "Graph ready in" in text


def test_the_simple_form_noise_and_tolerance(edges):
    assert told("plant", edges, "--form", "simple", "--accounts", "12")["targets"] == 12
    words = ["plant", edges, "--accounts", "8", "--targets", "5", "--degrees", "20:30", "--noise", "5"]
    assert told(*words)["read"] == 0
    assert told(*words, "--tolerate", "4:4")["matches"] >= 1


def test_k_degree_anonymity_does_not_stop_a_tolerant_search(edges):
    words = ["plant", edges, "--accounts", "8", "--targets", "5", "--degrees", "20:30", "--publish", "k-degree:5"]
    assert told(*words)["matches"] == 0
    assert told(*words, "--tolerate", "12:1")["read"] == 5
    assert run(app, ["attack", *words[:-1], "k-degree:x"]).exit_code == 2


def test_grouping_stops_the_search_where_relabelling_does_not(edges):
    """The graph that is searched has the published numbers, and no longer the pattern."""
    words = ["plant", edges, "--accounts", "8", "--targets", "5", "--degrees", "20:30"]
    assert told(*words)["read"] == 5
    found = told(*words, "--publish", "grouping:5")
    assert (found["matches"], found["ended"], found["read"], found["succeeded"]) == (0, True, 0, False)
    result = run(app, ["attack", *words, "--publish", "grouping:1"])
    assert (result.exit_code, "k must be from 2" in result.output) == (2, True)


def test_a_curve_over_accounts(edges):
    found = told("plant", edges, "--targets", "5", "--degrees", "8:12", "--curve", "1")
    assert {point["accounts"] for point in found["curve"]} == set(range(4, 12))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["plant"], "expected one graph"),
        (["plant", "--generate", "ring:10:20"], "power-law:NODES:EDGES"),
        (["plant", "--generate", "power-law:100:300", "--tolerate", "2"], "invalid --tolerate"),
        (["plant", "--generate", "power-law:100:300", "--degrees", "2:x"], "invalid --degrees"),
        (["collude"], "expected one graph"),
        (["collude", "--example", "email", "--colluder", "Zoe"], "unknown or repeated name"),
    ],
)
def test_wrong_usage_says_what_is_expected(words, problem):
    result = run(app, ["attack", *words])
    assert result.exit_code == 2
    assert problem in result.output


def test_the_email_example_names_bob_and_ed(edges):
    found = told("collude", "--example", "email")
    assert list(found["identified"]) == ["Bob", "Ed"]
    assert found["learned"] == [["Bob", "Ed"]]
    assert "Bob-Ed" in run(app, ["attack", "collude", "--example", "email"]).output
    assert "no colluders" in run(app, ["attack", "collude", edges]).output
    assert "1003" in told("collude", edges, "--colluder", "1003", "--colluder", "1007", "--spread")["candidates"]


def test_degrees_single_people_out(edges):
    found = told("degree", edges, "--knowledge", "degree", "--knowledge", "refine:2")
    assert [each["knowledge"] for each in found["knowledge"]] == ["degree", "refinement, 2 rounds"]
    assert found["knowledge"][0]["alone"] < found["knowledge"][1]["alone"] <= 800
    assert "neighbours' degrees" in run(app, ["attack", "degree", edges]).output
    assert run(app, ["attack", "degree", edges, "--knowledge", "age"]).exit_code == 2


def test_coalitions_by_size(edges):
    found = told("coalition", edges, "--sizes", "4:5", "--trials", "3", "--targets", "4")
    assert [each["members"] for each in found["sizes"]] == [4, 5]
    assert found["aimed"] == 4
    assert run(app, ["attack", "coalition", edges, "--sizes", "4"]).exit_code == 2


def test_the_two_groupings():
    assert ["A", "1"] in told("grouping", "--example", "unsafe")["certain"]
    safe = told("grouping", "--example", "safe")
    assert (safe["certain"], safe["largest"]) == ([], "1/2")
    assert told("grouping", "--example", "safe", "--known", "A:1")["largest"] == "1"
    assert run(app, ["attack", "grouping", "--known", "A"]).exit_code == 2


def test_a_published_grouping_is_attacked(tmp_path):
    edges = tmp_path / "edges.tsv"
    edges.write_text("A\t1\nB\t2\nC\t3\nD\t4\n")
    out = str(tmp_path / "groups.json.gz")
    made = run(app, ["anonymize", "graph", str(edges), "--method", "bipartite", "--k", "2", "--out", out])
    assert made.exit_code == 0, made.output
    assert told("grouping", out)["largest"] == "1/2"
    found = json.loads(run(app, ["attack", "grouping", out, "--known", "A:1", "--json"]).stdout)
    assert {"customer": "A", "product": "1", "probability": "1"} in found["chances"]
    assert run(app, ["attack", "grouping", str(edges)]).exit_code == 2
