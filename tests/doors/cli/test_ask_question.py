"""The question of a command: from its argument, a file or standard input, with parameters; and where a refusal points."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hospital import files
from tacit.doors.cli import app
from tacit.doors.cli.ask import parameters, text_of
from tacit.doors.cli.reference import Page
from tacit.errors import InvalidInput
from tacit.session import open as open_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("question")
    with open_data(files(place), own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    return place


def run(folder: Path, *words: str, given: str | None = None) -> tuple[int, str]:
    words = (*words, "--catalog", str(folder / "tacit.toml"), "--analyst", "ana")
    done = CliRunner().invoke(app, list(words), input=given)
    return done.exit_code, done.output


def test_a_question_comes_from_standard_input_and_from_a_file(folder: Path) -> None:
    text = "SELECT ward, beds FROM wards WHERE floor = :floor ORDER BY beds"
    (folder / "asked.sql").write_text(f"\ufeff{text}\n", "utf-8")
    expected = "ward,beds\nnorth,42\nsouth,60\n"
    for words, given in ((("-",), text), (("--file", str(folder / "asked.sql")), None), (("--file", "-"), text), ((text,), None)):
        code, said = run(folder, "sql", *words, "--param", "floor=1", "--csv", given=given)
        assert (code, said.replace("\r", "")) == (0, expected)


def test_parameters_are_recorded_as_literals(folder: Path) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE ward = ? AND cost > $2"
    code, said = run(folder, "sql", text, "--param", "1=north", "--param", "2=-5", "--epsilon", "0.1", "--json")
    assert code == 0, said
    with open_data(folder / "tacit.toml", own_process=False) as data:
        questions = [entry.question for entry in data.ledger.entries()]
    assert "SELECT COUNT(*) AS n FROM visits WHERE ward = 'north' AND cost > -5" in questions
    code, said = run(folder, "explain", "SELECT COUNT(*) FROM visits WHERE ward = :w", "--param", "w=nort")
    assert (code, "did you mean 'north'?" in said) == (3, True)


def test_free_statements_need_no_epsilon(folder: Path) -> None:
    assert run(folder, "sql", "SELECT 1 AS x, 'a' || 'b' AS y", "--csv") == (0, "x,y\n1,ab\n")
    assert run(folder, "sql", "SELECT ward FROM visits GROUP BY ward ORDER BY 1 DESC LIMIT 1", "--csv") == (0, "ward\nwest\n")
    code, said = run(folder, "sql", "EXPLAIN SELECT COUNT(*) AS n FROM visits")
    assert code == 0
    assert "price: epsilon 1; remaining" in said
    code, said = run(folder, "sql", "SELECT (SELECT COUNT(*) FROM visits) AS n")
    assert code == 3


def test_limit_0_prints_the_columns_and_costs_nothing(folder: Path) -> None:
    with open_data(folder / "tacit.toml", own_process=False) as data:
        before = len(list(data.ledger.entries()))
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward LIMIT 0"
    assert run(folder, "sql", text, "--csv") == (0, "ward,n,n_low,n_high\n")
    code, said = run(folder, "sql", text, "--json")
    assert (code, json.loads(said)["rows"], json.loads(said)["entry"]) == (0, [], None)
    assert [column["name"] for column in json.loads(said)["columns"]] == ["ward", "n"]
    assert "Nothing was spent" in run(folder, "sql", text, "--epsilon", "1")[1]
    with open_data(folder / "tacit.toml", own_process=False) as data:
        assert len(list(data.ledger.entries())) == before


NO_ROWS = "no rows: LIMIT 0 returns the columns only"


@pytest.mark.parametrize("end", ["LIMIT 0", "FETCH FIRST 0 ROWS ONLY"])
def test_limit_0_is_explained_in_three_lines(folder: Path, end: str) -> None:
    """Without the empty lines of a table of noise and one of errors, which it does not have."""
    text = f"SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward {end}"
    code, said = run(folder, "explain", text)
    assert code == 0, said
    *first, price = said.splitlines()
    assert first == [NO_ROWS, "groups: none", ""]
    assert price.startswith("price: epsilon 0; remaining: epsilon ")
    code, said = run(folder, "explain", text, "--json")
    found = json.loads(said)
    assert (code, found["tree"], found["groups"], found["noise"], found["errors"]) == (0, [NO_ROWS], "none", [], [])
    assert found["price"] == {"epsilon": "0", "delta": "0"}


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM visits", "SELECT AVG(cost) FROM visits", "SHOW TABLES"])
def test_an_explanation_has_one_empty_line_between_its_sections(folder: Path, text: str) -> None:
    code, said = run(folder, "explain", text)
    assert code == 0, said
    assert "\n\n" in said
    assert "\n\n\n" not in said


def test_a_refusal_shows_its_place(folder: Path) -> None:
    code, said = run(folder, "sql", "SELECT COUNT(*)\nFROM visits WHERE csot > 3", "--epsilon", "1")
    assert code == 3
    assert said.splitlines()[-2:] == ["  FROM visits WHERE csot > 3", "                    ^"]
    code, said = run(folder, "sql", "SELECT COUNT(*)\nFROM visits WHERE csot > 3", "--epsilon", "1", "--json")
    error = json.loads(said)["error"]
    assert (error["code"], error["line"], error["column"]) == ("unknown_name", 2, 19)
    assert "\n" not in error["message"]


def test_what_cannot_be_read_is_refused(folder: Path) -> None:
    (folder / "latin.sql").write_bytes("SELECT 'é'".encode("latin-1"))
    for words in ((), ("SELECT 1", "--file", "x.sql"), ("--file", str(folder / "latin.sql")), ("--file", str(folder / "none.sql"))):
        assert run(folder, "sql", *words)[0] == 2
    with pytest.raises(InvalidInput, match="only one of them"):
        text_of(None, None)
    for wrong in (["age"], ["=5"], ["a=1", "A=2"]):
        with pytest.raises(InvalidInput):
            parameters(wrong)


def test_the_reference_is_printed() -> None:
    for page in Page:
        done = CliRunner().invoke(app, ["reference", page.value])
        assert done.exit_code == 0
        assert done.output.startswith("# ")
    assert "DATE_TRUNC(day, MONTH)" in CliRunner().invoke(app, ["reference"]).output


def test_a_quantile_is_released_without_its_interval(folder: Path) -> None:
    text = "SELECT MEDIAN(cost) AS half, COUNT(*) AS n FROM visits"
    code, said = run(folder, "sql", text, "--epsilon", "0.2", "--no-interval", "--json")
    assert code == 0, said
    row, notes = json.loads(said)["rows"][0], json.loads(said)["notes"]
    assert (row["half"]["low"], row["half"]["high"]) == (None, None)
    assert row["n"]["low"] is not None
    assert "quantiles were released without intervals: all of their epsilon went to their values" in notes
    code, with_one = run(folder, "sql", text, "--epsilon", "0.2", "--json")
    assert (code, json.loads(with_one)["rows"][0]["half"]["low"] is None) == (0, False), "another question, not the stored answer"
    code, said = run(folder, "explain", text, "--epsilon", "0.2", "--no-interval")
    assert (code, "one draw without an interval" in said) == (0, True)


def test_leaving_out_intervals_without_a_quantile_is_said_to_have_no_effect(folder: Path) -> None:
    code, said = run(folder, "sql", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "0.01", "--no-interval")
    assert (code, "leaving out intervals had no effect" in " ".join(said.split())) == (0, True), said


def test_an_answer_is_tidied_on_request(folder: Path) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
    told = []
    for option in (["--tidy"], []):
        code, said = run(folder, "sql", text, "--epsilon", "0.01", "--json", *option)
        assert code == 0, said
        told.append(json.loads(said))
    neat, plain = told
    assert neat["tidied"] is True
    assert "tidied" not in plain
    assert plain["entry"] == neat["entry"]
    counts = [row["n"]["value"] for row in neat["rows"]]
    assert min(counts) >= 0
    assert counts[-1] == sum(counts[:-1])


def test_weights_are_given_by_column(folder: Path) -> None:
    words = ("explain", "SELECT COUNT(*) AS n, SUM(cost) AS cost FROM visits", "--epsilon", "1", "--json")
    code, said = run(folder, *words, "--weight", "cost=3", "--weight", "n=1")
    assert code == 0
    assert [noise["share"] for noise in json.loads(said)["noise"]] == ["32 % of epsilon, for n", "68 % of epsilon, for cost"]
    for bad, message in (
        ("cost", "must be COLUMN=NUMBER"),
        ("=3", "must be COLUMN=NUMBER"),
        ("cost=much", "finite number"),
        ("age=3", "unknown column"),
    ):
        code, said = run(folder, *words, "--weight", bad)
        assert code != 0
        assert message in said
    code, said = run(folder, *words, "--weight", "cost=3", "--weight", "cost=4")
    assert code != 0
    assert "given twice" in said


def test_a_letter_that_the_terminal_cannot_read_is_not_called_a_control_character(folder: Path) -> None:
    """Under LANG=C a letter outside ASCII arrives as bytes that no encoding has read."""
    undecoded = "é".encode().decode("ascii", "surrogateescape")
    code, said = run(folder, "explain", f"SELECT COUNT(*) FROM visits WHERE ward = '{undecoded}'", "--epsilon", "1")
    assert code != 0
    assert "cannot be read in the encoding of this terminal; set PYTHONUTF8=1" in said
    assert "control character" not in said


WITHOUT_CHARTS = """
import sys
sys.modules["altair"] = sys.modules["vl_convert"] = None
from tacit.doors.cli import main
main()
"""


def asked_without_charts(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`tacit` in a process that can import neither package of the extra `charts`."""
    words = (*words, "--catalog", str(folder / "tacit.toml"), "--analyst", "ana")
    return subprocess.run([sys.executable, "-c", WITHOUT_CHARTS, *words], capture_output=True, text=True, check=False)


def test_the_main_road_needs_no_charting_library(folder: Path, tmp_path: Path) -> None:
    text = ("sql", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "--epsilon", "0.05")
    done = asked_without_charts(folder, *text, "--chart", str(tmp_path / "wards.svg"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "wards.svg").read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize("name", ["wards.png", "wards.html"])
def test_a_chart_that_needs_the_extra_is_refused_before_anything_is_spent(folder: Path, tmp_path: Path, name: str) -> None:
    with open_data(folder / "tacit.toml", own_process=False) as data:
        before = data.ledger.head.number
        text = ("sql", "SELECT COUNT(*) AS n FROM visits WHERE cost > 7", "--epsilon", "0.05")
        done = asked_without_charts(folder, *text, "--chart", str(tmp_path / name))
        assert data.ledger.head.number == before
    assert (done.returncode, "pip install 'tacit[charts]'" in " ".join(done.stderr.split())) == (2, True), done.stderr
