"""`tacit anonymize lattice`: the known answer on Adult, and a sentence for each kind of bad input."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from anonymity import ADULT, QUASI
from tacit.doors.cli import app


def run(*words: str):
    return CliRunner().invoke(app, ["anonymize", "lattice", *words], prog_name="tacit")


@pytest.fixture
def people(tmp_path):
    rows = [f"{20 + each * 7 % 40},{'FM'[each % 2]},{('flu', 'gout')[each % 3 == 0]}" for each in range(60)]
    (tmp_path / "people.csv").write_text("age,sex,ill\n" + "\n".join([*rows, "?,F,flu"]) + "\n", "utf-8")
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    ages = [f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*" for age in range(20, 60)]
    (folder / "age.csv").write_text("\n".join(ages), "utf-8")
    (folder / "sex.csv").write_text("F;*\nM;*\n", "utf-8")
    return [str(tmp_path / "people.csv"), "--hierarchies", str(folder)]


@pytest.mark.skipif(not ADULT.is_dir(), reason="needs ../shared/data/adult")
def test_adult_prints_67_of_6480():
    where = [str(ADULT / "adult.csv.gz"), "--hierarchies", str(ADULT / "hierarchies")]
    result = run(*where, "--quasi", ",".join(QUASI), "--drop-missing", "?", "--k", "5", "--json")
    told = json.loads(result.output)
    assert (told["satisfying"], told["nodes"], told["rows"]) == (67, 6480, 30162)
    assert told["differentially_private"] is False


def test_words_and_json(people):
    asked = [*people, "--quasi", "age,sex", "--drop-missing", "?", "--k", "5", "--sensitive", "ill", "--l", "2"]
    result = run(*asked, "--suppress", "0.1", "--utility", "discernibility")
    assert result.exit_code == 0, result.output
    assert "generalizations satisfy the models" in result.output
    assert "Not differentially private" in result.output
    told = json.loads(run(*asked, "--json").output)
    assert told["nodes"] == 6
    assert set(told["best"]) == {"age", "sex"}
    assert len(told["minimal"]) >= 1


def test_a_configuration_is_read_and_options_replace_its_keys(people, tmp_path):
    config = tmp_path / "a.toml"
    columns = 'age = { role = "quasi" }\nsex = { role = "quasi" }\nill = { role = "sensitive" }\n'
    config.write_text(f'k = 5\nl = "distinct:2"\ndrop_missing = ["?"]\nhierarchies = "hierarchies"\n[columns]\n{columns}')
    written = json.loads(run(people[0], "--config", str(config), "--json").output)
    options = ["--quasi", "age,sex", "--drop-missing", "?", "--k", "5", "--sensitive", "ill", "--l", "2"]
    assert written == json.loads(run(*people, *options, "--json").output)
    replaced = json.loads(run(people[0], "--config", str(config), "--k", "31", "--json").output)
    assert replaced["satisfying"] < written["satisfying"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--quasi", "age,sex"], "hierarchy of age has no value '?': it must have every value of the column; add a line"),
        (["--quasi", "age,sex", "--drop-missing", "?", "--k", "61"], "k = 61 is above the number of rows"),
        (["--quasi", ""], "no quasi-identifiers"),
        ([], "give for example --quasi age,sex"),
        (["--quasi", "age,zip"], "missing column 'zip'"),
        (["--quasi", "ill"], "missing hierarchy of ill"),
        (["--quasi", "sex", "--sensitive", "sex"], "sex has two roles"),
        (["--quasi", "sex", "--suppress", "2"], "suppress must be a share from 0 to 1"),
        (["--quasi", "sex", "--suppress", "few"], "suppress must be a share from 0 to 1"),
        (["--quasi", "sex", "--utility", "beauty"], "unknown utility 'beauty'"),
        (["--quasi", "sex", "--l", "2"], "needs a sensitive column"),
        (["--quasi", "sex", "--drop-missing", "F,M"], "has no rows without a missing value"),
    ],
)
def test_bad_input_is_a_sentence(people, words, problem):
    result = run(*people, *words)
    assert result.exit_code == 2
    assert problem in result.output


def test_a_file_of_one_column_and_an_empty_one(tmp_path):
    (tmp_path / "one.csv").write_text("sex\nF\nM\n", "utf-8")
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n", "utf-8")
    one = run(str(tmp_path / "one.csv"), "--hierarchies", str(tmp_path), "--quasi", "sex", "--json")
    assert json.loads(one.output)["best"] == {"sex": 1}
    (tmp_path / "none.csv").write_text("sex\n", "utf-8")
    none = run(str(tmp_path / "none.csv"), "--hierarchies", str(tmp_path), "--quasi", "sex")
    assert none.exit_code == 2
    assert "has no rows; check the file" in none.output
