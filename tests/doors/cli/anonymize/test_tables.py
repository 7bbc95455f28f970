"""`tacit anonymize table`: options over configuration, files and report, and nothing written where something is wrong."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tacit.doors.cli import app


def run(*words: str):
    return CliRunner().invoke(app, ["anonymize", "table", *words], prog_name="tacit")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + each * 7 % 40},{'FM'[each % 2]},{('flu', 'gout')[each % 3 == 0]},p{each}" for each in range(60)]
    (tmp_path / "people.csv").write_text("age,sex,ill,name\n" + "\n".join(rows) + "\n", "utf-8")
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n", "utf-8")
    (tmp_path / "crossing.csv").write_text("F;a;x\nM;a;y\n", "utf-8")
    (tmp_path / "lacking.csv").write_text("F;*\n", "utf-8")
    columns = 'age = { role = "quasi", intervals = [5, 10, 20] }\nsex = { role = "quasi", hierarchy = "sex.csv" }\n'
    (tmp_path / "a.toml").write_text(f'k = 3\n[columns]\n{columns}ill = {{ role = "sensitive" }}\n', "utf-8")
    return tmp_path


ASKED = ("people.csv", "--config", "a.toml", "--out", "public/out.csv")


def test_configuration_options_and_report(folder):
    result = run(*ASKED, "--k", "5", "--l", "2", "--suppress", "0.1", "--report", "mine/report.html")
    assert result.exit_code == 0, result.output
    assert "(not differentially private)" in result.output
    assert (folder / "mine" / "report.html").stat().st_mode & 0o777 == 0o600
    lines = (folder / "public" / "out.csv").read_text("utf-8").splitlines()
    assert lines[0] == "age,sex,ill"
    assert len(lines) == 61
    told = json.loads(run(*ASKED, "--method", "mondrian", "--json").output)
    assert told["models"] == ["k-anonymity, k = 3"]
    assert told["smallest_group"] >= 3
    assert told["differentially_private"] is False


def test_an_option_replaces_the_columns_of_the_configuration(folder):
    """A hierarchy that is declared for a column without a role any more is not looked at."""
    (folder / "sex.csv").unlink()
    result = run(*ASKED, "--quasi", "age")
    assert result.exit_code == 0, result.output
    assert (folder / "public" / "out.csv").read_text("utf-8").startswith("age,ill\n")


def test_a_report_beside_the_table_goes_elsewhere(folder):
    result = run("people.csv", "--config", "a.toml", "--out", "out.parquet", "--report", "report.html")
    assert "For the data owner only: .tacit/reports/report.html (instead of report.html" in " ".join(result.output.split())
    assert (folder / ".tacit" / "reports" / "report.html").is_file()
    assert (folder / "out.parquet").is_file()


@pytest.mark.parametrize(
    ("words", "problem", "code"),
    [
        (("--k", "61"), "k = 61 is above the number of rows: the table has 60 rows; choose a smaller k", 2),
        (("--quasi", ""), "no quasi-identifiers", 2),
        (("--quasi", "age,name"), "missing hierarchy of name", 2),
        (("--l", "3"), "l = 3 is above the number of values: ill has 2; choose a smaller l", 2),
        (("--method", "magic"), "unknown method", 2),
        (("--hierarchies", "none", "--quasi", "age,name"), "missing hierarchy of name: expected none/name.csv", 2),
        (("--delta-disclosure", "0.0001", "--k", "60", "--t", "0", "--l", "entropy:2"), "no generalization of the table meets", 2),
        (("--config", "b.toml"), "configuration not found", 4),
        (("--report", "report.txt"), "the report is a page of HTML", 2),
        (("--out", "out.xlsx"), "the name of the output ends in one of", 2),
        (("--out", "people.csv"), "people.csv is read, and would be lost", 2),
    ],
)
def test_bad_input_is_a_sentence_and_nothing_is_written(folder, words, problem, code):
    before = (folder / "people.csv").read_text("utf-8")
    result = run(*ASKED, *words)
    assert result.exit_code == code, result.output
    assert problem in " ".join(result.output.split())
    assert not list(folder.glob("public/*"))
    assert (folder / "people.csv").read_text("utf-8") == before


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("crossing.csv", "levels of the hierarchy of sex do not nest: 'a' of level 1 is in both 'x' and 'y' of level 2"),
        ("lacking.csv", "hierarchy of sex has no value 'M': it must have every value of the column; add a line for it"),
        ("nowhere.csv", "file not found"),
    ],
)
def test_a_bad_hierarchy_is_a_sentence_and_nothing_is_written(folder, file, problem):
    text = (folder / "a.toml").read_text("utf-8").replace("sex.csv", file)
    (folder / "a.toml").write_text(text, "utf-8")
    result = run(*ASKED)
    assert result.exit_code == 2
    assert problem in " ".join(result.output.split())
    assert not list(folder.glob("public/*"))


def test_a_file_of_one_column(folder):
    (folder / "one.csv").write_text("age\n31\n34\n", "utf-8")
    result = run("one.csv", "--config", "a.toml", "--out", "public/out.csv")
    assert result.exit_code == 2
    assert "missing column 'sex' in one.csv" in " ".join(result.output.split())
    (folder / "a.toml").write_text('[columns]\nage = { role = "quasi", intervals = [10] }\n', "utf-8")
    assert run("one.csv", "--config", "a.toml", "--out", "public/out.csv").exit_code == 0
    assert (folder / "public" / "out.csv").read_text("utf-8") == "age\n30-39\n30-39\n"
