"""Attacks on published tables from the command line: the examples of the tutorial, and files of one's own."""

from __future__ import annotations

import json
from pathlib import Path

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


@pytest.mark.parametrize(("label", "leaves"), [("Q", "q1,q2"), ("3*", "30,31"), ("under 40", "30,31")])
def test_a_file_with_one_column_at_one_level(label, leaves, tmp_path):
    """Two of yes and four of no: 15 tables fit, and not generalizing fails the rule for 6 of them."""
    path = tmp_path / "out.csv"
    path.write_text("q,cancer\n" + f"{label},yes\n" * 2 + f"{label},no\n" * 4)
    words = ["minimality", str(path), "--quasi", "q", "--sensitive", "cancer", "--family", f"{label}={leaves}", "--protect", "yes"]
    found = told(*words, "--publisher", "columns")
    assert (len(found["classes"]), found["assignments"], found["consistent"]) == (15, "64", 6)
    assert {each["posterior"] for each in found["beliefs"]} == {"13/30", "17/30"}


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


HAIR = ["blond,brown,2", "blond,blue,10", "brown,brown,12", "brown,blue,6"]


def test_a_table_of_counts_is_not_counted_by_lines(tmp_path):
    """Four lines are four people, of whom three tables could be made; the counts on them are of 30, of whom 13 could be."""
    path = tmp_path / "counts.csv"
    path.write_text("hair,eyes,n\n" + "\n".join(HAIR) + "\n")
    words = ["cells", str(path), "--columns", "hair,eyes"]
    assert told(*words)["tables"] == 3
    assert "4 lines counts as one person" in run(app, ["attack", *words]).stderr
    found = told(*words, "--counts", "n")
    assert found["tables"] == 13
    assert sorted([cell["low"], cell["high"]] for cell in found["cells"]) == [[0, 12], [0, 12], [2, 14], [4, 16]]
    assert "one person" not in run(app, ["attack", *words, "--counts", "n"]).stderr
    path.write_text("hair,eyes,n\nblond,blue,many\n")
    assert "not a count" in run(app, ["attack", *words, "--counts", "n"]).stderr


def test_margins_alone_give_the_same_bounds(tmp_path):
    path, chart = tmp_path / "margins.csv", tmp_path / "cells.svg"
    path.write_text("hair,eyes,n\nblond,,12\nbrown,,18\n,brown,14\n,blue,16\n")
    words = ["cells", str(path), "--columns", "hair,eyes", "--counts", "n", "--margins"]
    found = told(*words, "--chart", str(chart))
    assert (found["tables"], found["marginals"]) == (13, [["hair"], ["eyes"]])
    assert sorted([cell["low"], cell["high"]] for cell in found["cells"]) == [[0, 12], [0, 12], [2, 14], [4, 16]]
    assert "Cells that may have people and one possible count: 0 of 4" in run(app, ["attack", *words]).output
    assert chart.read_text().startswith("<svg")
    path.write_text("hair,eyes,n\nblond,,3\nbrown,,0\n,brown,1\n,blue,2\n")
    assert told(*words, code=1)["determined"] == 2
    for lines, message in [
        ("blond,,12\nbrown,,18\n,brown,14\n,blue,15\n", "different totals"),
        ("blond,brown,1\nblond,blue,2\nbrown,brown,3\n", "lacks a combination"),
        ("blond,,1\nblond,,2\n", "two counts"),
        ("blond,brown,1\nblond,blue,2\nbrown,brown,3\nbrown,blue,4\nblond,,4\nbrown,,6\n", "contradict"),
    ]:
        path.write_text(f"hair,eyes,n\n{lines}")
        assert message in run(app, ["attack", *words]).stderr
    assert "--margins needs" in run(app, ["attack", *words[:4], "--margins"]).stderr


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
    missing = run(app, ["attack", *files, "--hierarchies", str(tmp_path)])
    assert (missing.exit_code, "missing hierarchy of sex" in missing.stderr) == (2, True)
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    assert told(*files, "--hierarchies", str(tmp_path), code=1)["ways"] == [found]
    unread = run(app, ["attack", *files])
    assert (unread.exit_code, "no value of age is in the register" in unread.stderr) == (2, True)
    assert "second file" in run(app, ["attack", *files[:2]]).stderr
    assert "--quasi" in run(app, ["attack", *files[:3]]).stderr


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A table of 60 people made 5-anonymous as a user does it, with a register of the same people: its name by method."""
    monkeypatch.chdir(tmp_path)
    people = [(20 + 7 * n % 50, "fm"[n % 2], ["flu", "gout", "asthma"][n % 3]) for n in range(60)]
    Path("people.csv").write_text("age,sex,ill\n" + "".join(f"{age},{sex},{ill}\n" for age, sex, ill in people))
    Path("voters.csv").write_text("name,age,sex\n" + "".join(f"p{n},{age},{sex}\n" for n, (age, sex, _) in enumerate(people)))
    Path("forms").mkdir()
    Path("forms/age.csv").write_text("".join(f"{age};{age // 10}*;*\n" for age in range(20, 70)))
    Path("forms/sex.csv").write_text("f;*\nm;*\n")
    columns = 'age = { role = "quasi", intervals = [5, 10] }\nsex = { role = "quasi", flat = true }\nill = { role = "sensitive" }\n'
    Path("made.toml").write_text(f"k = 5\n[columns]\n{columns}")
    Path("read.toml").write_text(
        'k = 5\nhierarchies = "forms"\n[columns]\n' + columns.replace(", intervals = [5, 10]", "").replace(", flat = true", "")
    )

    def make(config, *words, out="out/public.csv"):
        result = run(app, ["anonymize", "table", "people.csv", "--config", config, "--out", out, *words])
        assert result.exit_code == 0, result.output
        return out

    return make


@pytest.mark.parametrize("words", [(), ("--suppress", "0.2"), ("--method", "local"), ("--method", "mondrian")])
@pytest.mark.parametrize(("config", "out"), [("read.toml", "out/public.csv"), ("made.toml", "out/public.parquet")])
def test_everybody_fits_the_file_that_tacit_published(config, out, words, published):
    file = published(config, *words, out=out)
    (found,) = told("linkage", file, "voters.csv", "--config", config)["ways"]
    assert (found["people"], found["found"], found["identified"]) == (60, 60, 0)
    if config == "read.toml":
        assert told("linkage", file, "voters.csv", "--hierarchies", "forms")["ways"] == [found]


def test_linkage_refuses_a_file_whose_labels_it_cannot_read(published):
    """It used to find that nobody fits, and to exit with 0."""
    file = published("read.toml")
    for words, message in [
        ([], "missing hierarchy of age: the receipt says that the column has one"),
        (["--quasi", "age,sex", "--sensitive", "ill"], "missing hierarchy of age"),
        (["--config", "made.toml"], "is not in its hierarchy"),
        (["--family", "age:3*=31"], "missing hierarchy of sex"),
    ]:
        result = run(app, ["attack", "linkage", file, "voters.csv", *words])
        assert (result.exit_code, message in result.stderr) == (2, True), result.output
    Path(f"{file}.receipt.json").write_text("{")
    assert "cannot be read" in run(app, ["attack", "linkage", file, "voters.csv"]).stderr
    Path(f"{file}.receipt.json").write_text('{"kind": "synthetic rows"}')
    assert "rows are not people" in run(app, ["attack", "linkage", file, "voters.csv"]).stderr


def test_linkage_refuses_means_of_groups(published):
    config = Path("made.toml").read_text().replace('sex = { role = "quasi", flat = true }\n', "")
    Path("numbers.toml").write_text(config)
    file = published("numbers.toml", "--method", "mdav")
    assert "means of groups" in run(app, ["attack", "linkage", file, "voters.csv", "--config", "numbers.toml"]).stderr


def test_minimality_follows_the_receipt(tmp_path, monkeypatch):
    """A file of tacit is attacked as tacit publishes: by its configuration, or else refused."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,ill\n30,yes\n31,no\n31,no\n31,no\n")
    Path("age.csv").write_text("30;3*\n31;3*\n")
    ill = 'ill = { role = "sensitive", protected = ["yes"] }'
    Path("a.toml").write_text(f'k = 1\nl = "frequency:2"\nhierarchies = "."\n[columns]\nage = {{ role = "quasi" }}\n{ill}\n')
    assert run(app, ["anonymize", "table", "people.csv", "--config", "a.toml", "--out", "out/p.csv"]).exit_code == 0
    found = told("minimality", "out/p.csv", "--config", "a.toml", "--protect", "yes")
    assert (found["consistent"], len(found["classes"])) == (2, 8)  # yes alone at 30, or alone at 31
    named = told("minimality", "out/p.csv", "--hierarchies", ".", "--protect", "yes", "--rule", "share:1/2")
    assert (named["beliefs"], named["consistent"]) == (found["beliefs"], 2)
    other = run(app, ["attack", "minimality", "out/p.csv", "--hierarchies", ".", "--rule", "different:2"])
    assert (other.exit_code, "not published under this rule" in other.stderr) == (2, True)
    both = run(app, ["attack", "minimality", "out/p.csv", "--config", "a.toml", "--rule", "different:2"])
    assert (both.exit_code, "--config names the models" in both.stderr) == (2, True)
    Path("made.toml").write_text('k = 1\n[columns]\nage = { role = "quasi", intervals = [10] }\nill = { role = "sensitive" }\n')
    made = run(app, ["attack", "minimality", "out/p.csv", "--config", "made.toml"])
    assert (made.exit_code, "values that the attacker lacks" in made.stderr) == (2, True)


def test_homogeneity_follows_the_receipt(published):
    """Suppressed rows may be anybody's: a group with one value is not certain if a suppressed row has another."""
    file = published("read.toml")
    assert told("homogeneity", file)["rows"] == 60
    Path("stars.csv").write_text("age,ill\n3*,flu\n3*,flu\n4*,gout\n4*,flu\n*,gout\n")
    words = ["homogeneity", "stars.csv", "--quasi", "age", "--sensitive", "ill"]
    found = told(*words)
    assert (found["groups"], found["smallest_group"], found["certain_by_facts"]) == (2, 2, [0, 5])
    assert "everybody" not in run(app, ["attack", *words]).output
    Path("stars.csv").write_text("age,ill\n3*,flu\n3*,flu\n4*,gout\n4*,flu\n*,flu\n")
    assert told(*words, code=1)["certain_by_facts"] == [2, 5]
    assert "everybody with 3* has flu" in run(app, ["attack", *words]).output


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
