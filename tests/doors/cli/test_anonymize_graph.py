"""`tacit anonymize graph`: what is written, what is said, and what is refused."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

EDGES = "".join(f"p{each}\tp{each * each % 61}\n" for each in range(61))


@pytest.fixture
def edges(tmp_path):
    place = tmp_path / "edges.tsv.gz"
    place.write_bytes(gzip.compress(EDGES.encode()))
    return place


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["anonymize", "graph", *map(str, words)], prog_name="tacit")
    return result.exit_code, result.output


@pytest.mark.parametrize("name", ["out.tsv.gz", "out.tsv"])
def test_the_output_has_the_form_of_the_input(edges, tmp_path, name):
    out = tmp_path / "public" / name
    code, text = run(edges, "--method", "k-degree", "--k", 5, "--out", out, "--seed", 1)
    assert code == 0, text
    assert "Not differentially private" in text
    raw = out.read_bytes()
    lines = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode().splitlines()
    pairs = [tuple(map(int, line.split("\t"))) for line in lines]
    assert pairs == sorted(set(pairs))
    assert all(one < two for one, two in pairs)


def test_the_receipt_tells_no_name_no_seed_and_nothing_of_the_original(edges, tmp_path):
    out = tmp_path / "public" / "out.tsv"
    assert run(edges, "--method", "k-degree", "--k", 5, "--out", out, "--seed", 987654321)[0] == 0
    receipt = Path(f"{out}.receipt.json").read_text()
    assert json.loads(receipt)["differentially_private"] is False
    assert "987654321" not in receipt
    assert "p1" not in receipt + out.read_text()
    assert set(json.loads(receipt)) == {"kind", "differentially_private", "method", "model", "nodes", "edges", "does_not_protect"}


def test_the_report_is_the_owners_and_stands_elsewhere(edges, tmp_path):
    out, report = tmp_path / "out.tsv", tmp_path / "report.html"
    code, text = run(edges, "--method", "naive", "--out", out, "--report", report)
    assert code == 0
    assert not report.exists()
    page = (tmp_path / ".tacit" / "reports" / "report.html").read_text()
    assert "For the data owner only" in page
    assert "Who can still be found" in page
    assert page.count("<svg") == 2
    assert "instead of" in text


def test_json_has_the_figures(edges):
    code, text = run(edges, "--method", "k-degree", "--k", 5, "--json")
    told = json.loads(text)
    assert (code, told["differentially_private"], told["out"]) == (0, False, None)
    assert [each["knowledge"] for each in told["candidates"]] == ["H1", "H2", "H3", "H*"]
    assert told["candidates"][0]["smallest"] >= 5
    assert told["read"]["self_loops"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "k-degree"], "missing k"),
        (["--method", "magic"], "unknown method"),
        (["--method", "k-degree", "--k", "62"], "k must be at most"),
        (["--method", "naive", "--seed", "-1"], "seed must be"),
    ],
)
def test_what_cannot_be_done_is_refused(edges, words, message):
    code, text = run(edges, *words)
    assert code == 2
    assert message in text


def test_the_input_is_not_overwritten(edges):
    before = edges.read_bytes()
    code, text = run(edges, "--method", "naive", "--out", edges)
    assert code == 2
    assert "is the input" in text
    assert edges.read_bytes() == before
