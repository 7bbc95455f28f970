"""What commands print of hostile keys, names and addresses: nothing that a terminal or rich obeys, and no password."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from hostile import caught, tame
from tacit.accounting.ledger.tables import connect
from tacit.doors.cli import app, screen
from tacit.doors.cli.screen import Described, Screen, bars, styled
from tacit.errors import StoreUnusable
from tacit.evidence.attacks.hostile_key import HOSTILE, PEOPLE_OF_A_KEY

run = CliRunner().invoke
TABLE, COLUMN, ANALYST = "t[/x]\u200b", "c[red]\u200b", "[/x]:bomb:\u202e"
ALIAS = "[/x]\u200b=1"
QUESTION = f'SELECT "{COLUMN}" AS "key[/y]", COUNT(*) AS "{ALIAS}" FROM "{TABLE}" GROUP BY "{COLUMN}"'
PAID = ["--epsilon", "1", "--delta", "1e-6"]
CATALOG = f"""
[budget]
epsilon = 50
delta = 1e-3

[analysts."{ANALYST}"]
epsilon = 40

[tables."{TABLE}"]
source = "[bold]keys[x].parquet"
unit = "row"
rows_at_most = 100000

[tables."{TABLE}".columns]
"{COLUMN}" = {{ keys = "private" }}
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "tacit.toml").write_text(CATALOG, encoding="utf-8")
    keys = [key for key in HOSTILE for _ in range(PEOPLE_OF_A_KEY)]
    pq.write_table(pa.table({COLUMN: keys}), folder / "[bold]keys[x].parquet")
    prepared = run(app, ["prepare", "--new-ledger", "--catalog", str(folder)])
    assert prepared.exit_code == 0, prepared.output
    tame(prepared.output)
    return str(folder)


def printed(*words: str, exit_code: int = 0) -> str:
    result = run(app, list(words))
    assert result.exit_code == exit_code, (result.output, result.exception)
    tame(result.output)
    return result.output


def test_an_answer_is_a_table_whatever_its_keys_are(catalog):
    text = printed("sql", QUESTION, *PAID, "--catalog", catalog)
    assert "</script><script>" in text
    assert r"\x1b[2J" in text
    assert "[/x]" in text.splitlines()[1]
    tables = [line for line in text.splitlines() if line.startswith("│")]
    assert len({len(line) for line in tables if line.isascii()}) <= 1


def test_csv_and_json_of_the_same_answer(catalog):
    rows = list(csv.reader(io.StringIO(printed("sql", QUESTION, *PAID, "--csv", "--catalog", catalog)), strict=True))
    assert [len(row) for row in rows] == [4] * (1 + len(HOSTILE))
    assert rows[0][1].startswith("[/x]")
    assert any(cell.startswith("'=HYPERLINK") for row in rows for cell in row)
    told = json.loads(printed("sql", QUESTION, *PAID, "--json", "--catalog", catalog))
    assert {HOSTILE[0], HOSTILE[4], HOSTILE[7]} <= {row["key[/y]"] for row in told["rows"]}
    assert told["columns"][1]["name"] == ALIAS


@pytest.mark.parametrize(
    "words", [["check"], ["budget"], ["history"], ["explain", QUESTION, *PAID], ["sql", QUESTION, *PAID, "--chart", "chart[x].svg"]]
)
def test_every_command_prints_names_as_they_are(words, catalog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed("sql", QUESTION, *PAID, "--catalog", catalog)  # an entry for the history; asked again, it costs nothing
    assert "[/x]" in printed(*words, "--catalog", catalog)
    if "--chart" not in words:
        assert json.loads(printed(*words, "--json", "--catalog", catalog))


def test_a_refusal_is_the_message_the_line_of_the_question_and_a_caret(catalog):
    for name in ("\u200b[/x]\n", "x" * 5000):
        words = ["sql", f'SELECT SUM("{name}") FROM "{TABLE}"', "--epsilon", "1", "--catalog", catalog]
        text = printed(*words, exit_code=3)
        assert text.count("\n") == 3, "what is in a name adds no line"
        assert len(text) < 2000
        assert json.loads(printed(*words, "--json", exit_code=3))["error"]["code"] == "unknown_name"


def test_rich_would_have_failed_for_ever(catalog, monkeypatch):
    """The planted bug: markup as rich has it. Each later `tacit history` fails."""
    printed("sql", QUESTION, *PAID, "--catalog", catalog)
    monkeypatch.setattr(Screen, "render_str", lambda self, text, **more: Console.render_str(self, text, **{**more, "markup": True}))
    assert run(app, ["history", "--catalog", catalog]).exit_code == 4


def test_what_a_screen_does_not_escape_is_caught(catalog, monkeypatch):
    monkeypatch.setattr(screen, "lines_for_terminal", str)
    caught(printed, "check", "--catalog", catalog)


def test_a_style_ends_where_it_should_and_a_file_has_any_name():
    shown = io.StringIO()
    name = "a[/bold]\\\\\\"  # three backslashes, which rich's own escape does not get right
    Screen(file=shown, width=80, color_system=None).print(styled((name, "bold"), " is \x1b[1m sound"))
    assert shown.getvalue() == f"{name} is \\x1b[1m sound\n"
    reading = bars()
    reading.add_task("reading [/x]\x1b[2J", total=1)
    assert Described().render(reading.tasks[0]).plain == r"reading [/x]\x1b[2J"


@pytest.mark.slow
def test_letters_that_the_terminal_lacks_do_not_cost_the_answer(catalog, monkeypatch):
    """It is paid for: a key in another alphabet is printed as escapes, and JSON stays JSON."""
    words = [sys.executable, "-m", "tacit", "sql", QUESTION, *PAID, "--catalog", catalog]
    poor = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(words, env=poor, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    monkeypatch.setattr("tacit.doors.cli.output._in_unicode", lambda: False)
    told = printed("sql", QUESTION, *PAID, "--json", "--catalog", catalog)
    assert told.isascii()
    assert ALIAS in json.loads(told)["rows"][0]


# --- passwords ---------------------------------------------------------------------------------------------------------------

SECRET = "sekret"  # noqa: S105
ADDRESSED = """
[budget]
epsilon = 1
[ledger]
url = {ledger}
[tables.v]
source = {source}
unit = "row"
rows_at_most = 100000
"""
URL = '"postgresql://ana:sekret@127.0.0.1:1/x"'
FILE = '"v.parquet"'
ADDRESSES = [  # ledger, source
    ('"mysql://ana:sekret@db/x"', FILE),
    (URL, FILE),
    (URL, URL),
    ('"sqlite:///ledger.sqlite"', f'{{ postgres = [{URL}], table = "t" }}'),
    ('"sqlite:///ledger.sqlite"', '{ postgres = "postgresql://127.0.0.1:1/x?user=ana&password=sekret", table = "t" }'),
    ('"sqlite:///ledger.sqlite"', '{ postgres = "postgresql://ana:pass@word/sekret@127.0.0.1:1/x", table = "t" }'),
    ('"postgresql://ana:a-password-that-is-cut-before-the-end-of-what-is-shown-sekret@db/x"', URL),
    ('"sqlite:///ledger.sqlite"', '{ duckdb = "postgresql://ana:sekret@db/x", table = "t" }'),
]


def everything_said(folder: Path, commands: tuple[str, ...] = ("check", "check --json", "prepare", "budget --json")) -> str:
    told = [run(app, [*command.split(), "--catalog", str(folder)]) for command in commands]
    assert not any(isinstance(result.exception, Exception) for result in told), [result.exception for result in told]
    return "\n".join(result.output for result in told)


@pytest.mark.parametrize("url", ["sqlite://ana:sekret@host/x", "sqlite://ana:sekret@host"])
def test_a_url_in_the_place_of_a_file_is_printed_without_its_password(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = ["ledger", "begin", "--relation", "edge", "--epsilon", "1", "--ledger", url]
    for words in (
        graph,
        graph,
        ["check", "--catalog", url],
        ["check", "--catalog", url, "--json"],
        ["init", url],
        ["prepare", "--catalog", url],
    ):
        found = run(app, words)
        assert found.exit_code != 0
        assert SECRET not in found.output
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_of_sqlite_has_no_host(tmp_path, monkeypatch):
    """The host and the password were left out without a word, and another file was opened."""
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite://ana:sekret@host/x", "sqlite://host/x"):
        with pytest.raises(StoreUnusable, match="invalid ledger URL") as told:
            connect(url, create=True)
        assert SECRET not in str(told.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ledger", "source"), ADDRESSES)
def test_no_command_prints_a_password(ledger, source, tmp_path):
    (tmp_path / "tacit.toml").write_text(ADDRESSED.format(ledger=ledger, source=source))
    said = everything_said(tmp_path)
    assert said
    assert SECRET not in said
    assert "a-password-that" not in said


def test_a_password_that_is_not_hidden_is_caught(tmp_path, monkeypatch):
    for place in ("tacit.errors.without_passwords", "tacit.data.declaration.without_password"):
        monkeypatch.setattr(place, str)
    (tmp_path / "tacit.toml").write_text(ADDRESSED.format(ledger=ADDRESSES[0][0], source=FILE))
    monkeypatch.setattr("tacit.doors.cli.output.without_passwords", str)
    assert SECRET in everything_said(tmp_path, ("check",))


def test_a_reason_is_recorded_without_the_password_in_it(catalog):
    reason = "moved from postgresql://ana:sekret@db/x\x1b[2J"
    run(app, ["ledger", "adopt", "--reason", reason, "--catalog", catalog])
    for more in ([], ["--json"]):
        assert SECRET not in printed("history", *more, "--catalog", catalog)
