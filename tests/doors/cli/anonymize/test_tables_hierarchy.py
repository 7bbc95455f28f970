"""`tacit anonymize hierarchy`: the tree, and the sentence where levels cross."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from tacit.doors.cli import app


def run(*words: str):
    return CliRunner().invoke(app, ["anonymize", "hierarchy", *words], prog_name="tacit")


def test_the_tree_is_drawn(tmp_path):
    file = tmp_path / "sex.csv"
    file.write_text("F;*\nM;*\n", "utf-8")
    assert run(str(file)).output == "sex: 2 levels with 2, 1 values.\n*\n├── F\n└── M\n"
    assert json.loads(run(str(file), "--json").output)["forms"] == [2, 1]


def test_crossing_levels_are_refused(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("1;a;b\n2;a;c\n", "utf-8")
    result = run(str(file))
    assert result.exit_code == 2
    assert "do not nest" in result.output
