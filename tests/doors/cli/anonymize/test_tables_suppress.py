"""`tacit anonymize suppress`: small counts are hidden with others, nothing hidden is printed, and what cannot be is said."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

run = CliRunner().invoke


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    counts = {("a", "x"): 20, ("a", "y"): 50, ("b", "x"): 8, ("b", "y"): 19, ("c", "x"): 17, ("c", "y"): 2}
    path.write_text("ward,drug\n" + "".join(f"{ward},{drug}\n" * times for (ward, drug), times in counts.items()))
    return path


def test_small_counts_are_hidden_with_others(people):
    words = ["anonymize", "suppress", str(people), "--columns", "ward,drug", "--below", "5", "--width", "4"]
    found = json.loads(run(app, [*words, "--json"]).stdout)
    assert (found["small"], found["hidden"], found["differentially_private"]) == (1, 4, False)
    counts = {tuple(cell["cell"]): cell["count"] for cell in found["cells"]}
    assert counts["c", "y"] is None
    assert sum(count is None for count in counts.values()) == 4
    printed = run(app, words).output
    assert printed.count("hidden") >= 4
    assert "Not differentially private" in printed
    assert run(app, [*words, "--marginal", "ward,drug"]).exit_code == 2  # the whole table is published: nothing can be hidden


def test_wrong_usage_is_said(people):
    assert "--columns" in run(app, ["anonymize", "suppress", str(people)]).stderr
    assert "narrower" in run(app, ["anonymize", "suppress", str(people), "--columns", "ward,drug", "--width", "500"]).stderr
    assert "not among" in run(app, ["anonymize", "suppress", str(people), "--columns", "ward", "--marginal", "drug"]).stderr
