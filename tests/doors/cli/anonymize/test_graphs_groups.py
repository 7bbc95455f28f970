"""`tacit anonymize graph` by groups: what is printed, written and refused."""

import gzip
import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{each}\t{100 + each * 7 % 40}\n{each}\t{100 + each * 3 % 40}\n" for each in range(40)), "utf-8")
    return path


def run(*words):
    return CliRunner().invoke(app, ["anonymize", "graph", *map(str, words)])


def test_the_example_has_four_four_and_six_worlds():
    shown = json.loads(run("--example", "path4", "--method", "grouping", "--json").stdout)
    assert list(shown["worlds"].values()) == [4, 4, 6]
    assert shown["differentially_private"] is False
    assert run("--example", "path5", "--method", "grouping").exit_code == 2


def test_safe_groups_are_written_with_a_receipt(edges, tmp_path):
    out = tmp_path / "groups.json.gz"
    shown = json.loads(run(edges, "--method", "bipartite", "--k", 3, "--out", out, "--json").stdout)
    assert (shown["k"], shown["l"]) == (3, 3)
    assert shown["checked"]["shared_left"] == shown["checked"]["shared_right"] == 0
    written = json.loads(gzip.decompress(out.read_bytes()))
    assert min(len(group["nodes"]) for group in written["left"]) >= 3
    assert len(written["edges"]) == shown["edges"]
    assert "1/3" in (tmp_path / "groups.json.gz.receipt.json").read_text()


def test_the_bound_is_named_before_any_search(tmp_path):
    path = tmp_path / "hub.tsv"
    path.write_text("".join(f"{each}\thub\n" for each in range(7)) + "0\tother\n", "utf-8")
    refused = run(path, "--method", "bipartite", "--k", 2)
    assert refused.exit_code == 2
    assert "hub has 7 neighbours, so groups of 7 nodes have k <= 1" in refused.stderr


def test_sized_groups_warn_of_what_they_give_away(edges, tmp_path):
    out = tmp_path / "groups.json"
    shown = run(edges, "--method", "grouping", "--k", 4, "--effort", 20, "--out", out, "--report", tmp_path / "r" / "page.html")
    assert shown.exit_code == 0, shown.stderr
    assert "Checked: every group has at least 4 people" in shown.stdout
    assert "Warning: " in shown.stdout
    assert "Not differentially private" in shown.stdout
    written = json.loads(out.read_text())
    assert min(written["sizes"]) >= 4
    assert sum(block[2] for block in written["blocks"]) == len(set(edges.read_text().split("\n")) - {""})
    assert "not protect" in (tmp_path / "r" / "page.html").read_text()


@pytest.mark.parametrize("words", [["--method", "grouping"], ["--method", "grouping", "--k", "1"], ["--method", "bipartite"]])
def test_sizes_are_required(edges, words):
    assert run(edges, *words).exit_code == 2
