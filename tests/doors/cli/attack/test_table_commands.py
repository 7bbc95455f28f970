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


# --- linkage, homogeneity ------------------------------------------------------------------------------------------------------


def test_linkage_of_generated_people(tmp_path):
    chart = tmp_path / "linkage.svg"
    found = told("linkage", "--people", "100", "--chart", str(chart))
    assert [way["published"] for way in found["ways"]] == ["names removed", "5-anonymous"]
    assert found["ways"][1]["identified"] == 0
    assert chart.read_text().startswith("<svg")


def test_linkage_of_two_files(tmp_path):
    (tmp_path / "out.csv").write_text("age,sex,ill\n3*,f,flu\n3*,f,flu\n3*,m,gout\n3*,m,flu\n")
    (tmp_path / "voters.csv").write_text("name,age,sex\nann,31,f\nbob,32,m\neve,33,f\n")
    files = ["linkage", str(tmp_path / "out.csv"), str(tmp_path / "voters.csv"), "--quasi", "age,sex", "--sensitive", "ill"]
    (found,) = told(*files, "--family", "age:3*=31,32,33", code=1)["ways"]
    assert (found["people"], found["found"], found["identified"], found["disclosed"]) == (3, 3, 0, 2)
    (tmp_path / "age.csv").write_text("31;3*\n32;3*\n33;3*\n")
    assert told(*files, "--hierarchies", str(tmp_path), code=1)["ways"] == [found]
    assert told(*files)["ways"][0]["found"] == 0
    assert "second file" in run(app, ["attack", *files[:2]]).stderr
    assert "--quasi" in run(app, ["attack", *files[:3]]).stderr


def test_homogeneity_of_a_file_and_of_the_example(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("age,ill\n3*,flu\n3*,flu\n4*,flu\n4*,gout\n")
    words = ["homogeneity", str(path), "--quasi", "age", "--sensitive", "ill"]
    assert told(*words, code=1)["certain_by_facts"] == [2, 4]
    assert told(*words, "--not", "flu", code=1)["certain_by_facts"] == [1]
    printed = run(app, ["attack", "homogeneity", "--chart", str(tmp_path / "out.svg")])
    assert printed.exit_code == 0
    assert "everybody with 130**, 30 to 39 has cancer" in printed.output
    path.write_text("age,ill\n3*,flu\n3*,gout\n")
    assert told(*words)["certain_by_facts"] == [0, 2]


def test_what_tacit_published_itself_is_attacked(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("age,ill\n3*,yes\n3*,no\n3*,no\n3*,no\n")
    words = ["minimality", str(path), "--quasi", "age", "--sensitive", "ill", "--publisher", "tacit", "--protect", "yes"]
    (tmp_path / "age.csv").write_text("30;3*\n31;3*\n")
    found = told(*words, "--hierarchies", str(tmp_path), "--limit", "2/5", code=1)
    assert 0 < found["consistent"] < len(found["classes"])
    assert "--hierarchies" in run(app, ["attack", *words, "--family", "3*=30,31"]).stderr
