"""`tacit anonymize graph --method k-neighbourhood`: what is written, who is protected, labels, and refusals."""

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"hub\tp{each}\n" for each in range(6)) + "p0\tp1\na\tb\nb\tc\n", "utf-8")
    return path


def run(*words):
    return CliRunner().invoke(app, ["anonymize", "graph", *map(str, words), "--method", "k-neighbourhood"])


def test_edges_are_added_and_the_result_is_written(edges, tmp_path):
    out = tmp_path / "public.tsv"
    shown = json.loads(run(edges, "--k", 2, "--seed", 1, "--out", out, "--json").stdout)
    told = shown["method"], shown["differentially_private"], shown["candidates"][-1]["knowledge"]
    assert told == ("k-neighbourhood", False, "N")
    assert shown["candidates"][-1]["smallest"] >= 2 > shown["candidates_before"][-1]["smallest"]
    assert len(out.read_text().splitlines()) == shown["edges"] > 9
    assert "Not differentially private" in run(edges, "--k", 2).output


def test_chosen_people_alone_are_protected(edges, tmp_path):
    people = tmp_path / "people.txt"
    people.write_text("b\n\n", "utf-8")
    shown = json.loads(run(edges, "--k", 2, "--only", people, "--json").stdout)
    assert (shown["work"]["people_protected"], "chosen people only" in shown["model"]) == (1, True)
    people.write_text("nobody\n", "utf-8")
    assert "are not in the graph" in run(edges, "--k", 2, "--only", people).output
    people.write_text("b;c\n", "utf-8")
    assert "expected one name" in run(edges, "--k", 2, "--only", people).output
    assert run(edges, "--k", 2, "--only", tmp_path / "missing.txt").exit_code == 2


def test_labels_are_read_generalized_and_written(edges, tmp_path):
    names = ["hub", *(f"p{each}" for each in range(6)), *"abc"]
    labels, levels, out = tmp_path / "labels.csv", tmp_path / "levels.csv", tmp_path / "public.tsv"
    labels.write_text("".join(f"{name};{'nurse' if name == 'hub' else 'cook'}\n" for name in names), "utf-8")
    levels.write_text("nurse;staff\ncook;staff\n", "utf-8")
    shown = json.loads(run(edges, "--k", 2, "--labels", labels, "--hierarchy", levels, "--out", out, "--json").stdout)
    assert (shown["work"]["label_level"], shown["work"]["labels_published"]) == (1, 1)
    assert json.loads((tmp_path / "public.tsv.labels.json").read_text())["labels"] == ["staff"] * 10
    assert "--hierarchy needs labels" in run(edges, "--k", 2, "--hierarchy", levels).output


def test_a_graph_in_which_nothing_can_grow_is_answered_by_turns(tmp_path):
    path = tmp_path / "wheel.tsv"
    path.write_text("".join(f"hub\tp{each}\np{each}\tp{(each + 1) % 9}\n" for each in range(9)), "utf-8")
    shown = json.loads(run(path, "--k", 2, "--max-neighbourhood", 5, "--json").stdout)
    assert (shown["work"]["way"], shown["candidates"][-1]["smallest"] >= 2, shown["edges"] > 18) == ("turns", True, True)
