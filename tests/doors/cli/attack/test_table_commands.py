"""Attacks on published tables from the command line: the examples of the tutorial, and files of one's own."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app

run = CliRunner().invoke
SLIDE = "q,cancer\nQ,yes\nQ,yes\nQ,no\nQ,no\nq2,no\nq2,no\n"


def told(*words: str, code: int = 0) -> dict:
    result = run(app, ["attack", *words, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


# --- minimality ------------------------------------------------------------------------------------------------------------------


def test_the_tutorials_example_has_nine_classes_and_posterior_one():
    found = told("minimality", "--example", "tutorial")
    assert (len(found["classes"]), found["assignments"], found["consistent"], found["posterior"]) == (9, "16", 1, "1")
    assert found["stated"]["consistent"] == 0
    printed = run(app, ["attack", "minimality", "--example", "tutorial"]).output
    assert printed.count("satisfies the rule as it is") == 6
    assert "P(yes | q1) is 1 " in printed


def test_a_published_file_is_attacked(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text(SLIDE)
    words = ["minimality", str(path), "--quasi", "q", "--sensitive", "cancer", "--family", "Q=q1,q2"]
    assert told(*words, "--protect", "yes", code=1)["breached"] is True
    assert told(*words, "--protect", "yes", "--rule", "different:2")["consistent"] == 0
    assert told(*words, "--publisher", "blind", "--smallest", "2")["breached"] is False
    (tmp_path / "q.csv").write_text("q1;Q\nq2;Q\n")
    assert told(*words[:-2], "--hierarchies", str(tmp_path), "--protect", "yes", code=1)["consistent"] == 1
    assert "with the algorithm" in run(app, ["attack", *words, "--protect", "yes"]).output


def test_a_file_with_two_columns_at_one_level_each(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("age,zip,ill\n3*,021,yes\n3*,021,yes\n3*,021,no\n3*,021,no\n")
    words = ["minimality", str(path), "--quasi", "age,zip", "--sensitive", "ill", "--publisher", "columns", "--protect", "yes"]
    found = told(*words, "--family", "age:3*=30,31", "--family", "zip:02*=021,022")
    assert found["consistent"] > 0
    (tmp_path / "age.csv").write_text("30;3*;3*\n31;3*;3*\n")
    (tmp_path / "zip.csv").write_text("021;02*;*\n022;02*;*\n")
    assert told(*words, "--hierarchies", str(tmp_path))["consistent"] == found["consistent"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--quasi"),
        (["--quasi", "q", "--sensitive", "cancer"], "families"),
        (["--quasi", "q", "--sensitive", "cancer", "--family", "Q"], "PARENT=CHILD"),
        (["--quasi", "q", "--sensitive", "cancer", "--family", "Q=q1,q2", "--rule", "loud"], "share:FRACTION"),
        (["--quasi", "q", "--sensitive", "cancer", "--family", "Q=q1", "--family", "R=q1"], "two parents"),
        (["--quasi", "q", "--sensitive", "cancer", "--family", "Q=q1,q2", "--family", "*=Q"], "one level"),
        (["--quasi", "q", "--sensitive", "absent", "--family", "Q=q1,q2"], "absent"),
    ],
)
def test_wrong_usage_of_minimality_is_said(words, message, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text(SLIDE)
    result = run(app, ["attack", "minimality", str(path), *words])
    assert result.exit_code == 2, result.output
    assert message in result.stderr


# --- cells -----------------------------------------------------------------------------------------------------------------------


def test_hair_and_eyes():
    found = told("cells", "--example", "tutorial")
    assert [[cell["low"], cell["high"]] for cell in found["cells"]] == [[0, 12], [0, 12], [2, 14], [4, 16]]
    assert found["tables"] == 13
    assert found["slide"] == {"valid": True, "not_sharp": ["brown, brown", "brown, blue"]}
    printed = run(app, ["attack", "cells", "--example", "tutorial"]).output
    assert all(bound in printed for bound in ("[0,12]", "[2,14]", "[4,16]", "13 tables fit", "valid and not sharp in 2 cells"))


def test_cells_of_a_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("hair,eyes,ill\n" + "blond,blue,no\n" * 3 + "brown,blue,yes\n" + "brown,brown,no\n" * 2)
    assert told("cells", str(path), "--columns", "hair,eyes")["way"] == "formula"
    words = [
        "cells",
        str(path),
        "--columns",
        "hair,eyes,ill",
        "--marginal",
        "hair,eyes",
        "--marginal",
        "eyes,ill",
        "--marginal",
        "hair,ill",
    ]
    found = told(*words, code=1)
    assert (found["way"], found["tables"]) == ("integer programs", 1)
    assert "1 tables fit" in run(app, ["attack", *words]).output
    assert run(app, ["attack", "cells", str(path)]).exit_code == 2
    assert "which is not among" in run(app, ["attack", "cells", str(path), "--columns", "hair", "--marginal", "eyes"]).stderr


def test_rows_of_a_file_are_rebuilt(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("block,sex,age,race\n" + "".join(f"{n % 3},{'fm'[n % 2]},{n % 5},{'ab'[n % 4 // 3]}\n" for n in range(12)))
    found = told("rebuild", str(path), "--columns", "sex,age,race")
    assert (found["people"], len(found["blocks"])) == (12, 3)
    assert told("rebuild", str(path), "--columns", "sex,age", "--marginal", "sex", "--marginal", "age")["certain"] < 12
    assert "which is not among" in run(app, ["attack", "rebuild", str(path), "--columns", "sex", "--marginal", "age"]).stderr
