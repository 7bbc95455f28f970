"""The shell: what a line does, several questions in a text, a terminal, and a history without answers."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hospital import files, hospital_session
from tacit.doors.cli import app, commands
from tacit.doors.limited import Limited
from tacit.doors.shell import Leave, Shell, candidates, is_complete, statements
from tacit.session import open as open_data

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"
PIECES = st.sampled_from(["SELECT 1", "'a;b'", '"c;d"', "-- e;f\n", "/* g; */", " ", "\n", "'it''s;'", "x"])


# --- several questions in one text -------------------------------------------------------------------------------------------


@given(st.lists(st.lists(PIECES, max_size=5), max_size=5))
def test_semicolons_in_quotes_and_comments_end_nothing(parts):
    texts = ["".join(part) for part in parts]
    spoken = [text.strip() for text in texts if re.sub(r"--[^\n]*\n|/\* g; \*/", "", text).strip()]
    assert statements(";".join(texts)) == spoken


@given(st.text(alphabet="ab;'\"-/*\n `", max_size=30))
def test_any_text_is_split_without_loss(text):
    parts = statements(text)
    at = 0
    for part in parts:
        at = text.index(part, at) + len(part)
    assert all(part.strip() == part != "" for part in parts)
    assert statements("".join(f"{part}\n;" for part in parts)) == parts or not is_complete(text)


@pytest.mark.parametrize("text", ["", "  ", "\\q", "\\d visits", "SELECT 1;", "\\explain SELECT 1;", "SELECT ';';"])
def test_a_text_that_can_be_sent(text):
    assert is_complete(text)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "\\explain SELECT 1", "SELECT 1 -- ;", "SELECT /* ;"])
def test_a_text_that_goes_on(text):
    assert not is_complete(text)


# --- what a line does --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with hospital_session(tmp_path_factory.mktemp("shell")) as ana:
        yield ana


def shell_of(session, **how):
    said: list[str] = []
    return Shell(Limited(session), said.append, **how), said


def test_the_price_of_the_first_question_is_shown_and_may_be_refused(session):
    asked: list[str] = []

    def confirmed(price: str) -> bool:
        asked.append(price)
        return len(asked) > 1

    shell, said = shell_of(session, epsilon="0.01", confirmed=confirmed)
    before = session.budget()
    shell.run(COUNT.format(1) + ";")
    assert said[-1] == "not sent; nothing was spent"
    assert session.budget() == before
    shell.run(COUNT.format(1) + ";")
    shell.run(COUNT.format(2) + ";")
    assert len(asked) == 2, "the third is asked at once"
    assert "price: epsilon 0.01" in asked[0]
    shell.run("\\confirm on")
    shell.run(COUNT.format(3) + ";")
    assert len(asked) == 3
    assert shell.balance
    assert not shell.failed


def test_commands(session, tmp_path):
    shell, said = shell_of(session, asked=True)
    shell.run(COUNT.format(1) + ";")
    assert said[-1].startswith("error: ")
    shell.run("\\epsilon 0.01")
    shell.run("\\epsilon")
    assert said[-1] == "epsilon: 0.01 a question"
    for line, part in (
        ("\\d", "visits"), ("\\d visits", "cost"), ("\\explain SELECT COUNT(*) FROM visits;", "epsilon"), ("\\budget", "data set"),
        ("\\history 5", "SELECT"), ("\\help", "\\chart"), ("\\?", "\\chart"), ("\\confirm", "confirm: off"),
    ):  # fmt: skip
        said.clear()
        shell.run(line)
        assert part in "\n".join(said), line
        assert not said[0].startswith("error")
    shell.run("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward;")
    shell.run(f"\\chart '{tmp_path / 'a picture.svg'}'")
    assert (tmp_path / "a picture.svg").read_text("utf-8").startswith("<svg")
    with pytest.raises(Leave):
        shell.run("\\q")


@pytest.mark.parametrize(
    "line",
    ["\\x", "\\epsilon much", "\\history 0", "\\history 999", "\\history x", "\\explain", "\\chart", "\\chart a b", "\\confirm so",
     "\\chart 'x", "SELECT;", "\\d nothing\"; x", "SELECT SUM(nothing) FROM visits;"],
)  # fmt: skip
def test_a_wrong_line_is_one_line_of_error(session, line):
    shell, said = shell_of(session, epsilon="0.01", asked=True)
    shell.answer = object()
    shell.run(line)
    assert shell.failed
    assert said[-1].startswith("error: ")


def test_a_picture_that_cannot_be_written_ends_nothing(session):
    shell, said = shell_of(session, epsilon="0.01", asked=True)
    shell.run("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward;")
    shell.run("\\chart /dev/null/all.svg")
    assert said[-1].startswith("error: ")


def test_completion_offers_what_is_declared(session):
    words = candidates(session.tables())
    assert {"SELECT", "\\q", "visits", "cost", "'north'"} <= set(words)
    hostile = [{"name": "a\x1b[2J", "columns": [{"name": "b\n", "values": ["\x07"]}]}]
    assert all(word.isprintable() for word in candidates(hostile))


# --- files and terminals -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def catalog(tmp_path_factory) -> Path:
    path = files(tmp_path_factory.mktemp("questions"))
    with open_data(path, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    return path


def run(catalog: Path, *words: str, text: str | None = None):
    given_words = ["shell", *words, "--catalog", str(catalog), "--analyst", "ana"]
    return CliRunner().invoke(app, given_words, input=text, prog_name="tacit")


def test_questions_of_a_file_or_of_standard_input(catalog, tmp_path):
    many = f"{COUNT.format(1)};\n-- a comment;\n{COUNT.format(2)}\n"
    (tmp_path / "q.sql").write_text(many, "utf-8")
    by_file = run(catalog, "--epsilon", "0.01", "--file", str(tmp_path / "q.sql"))
    assert by_file.exit_code == 0, by_file.output
    assert by_file.output.count("Spent: epsilon") == 2 or by_file.output.lower().count("epsilon 0.01") == 2, by_file.output
    assert run(catalog, "--epsilon", "0.01", text=many).exit_code == 0
    assert run(catalog, "--epsilon", "0.01", "--file", "-", text=many).exit_code == 0


def test_a_refused_question_ends_a_file(catalog):
    before = len(history(catalog))
    refused = run(catalog, "--epsilon", "0.01", text=f"{COUNT.format(11)}; SELECT SUM(nothing) FROM visits; {COUNT.format(12)}")
    assert refused.exit_code == 3
    assert len(history(catalog)) == before + 1, "what follows is not asked"
    assert run(catalog, text=COUNT.format(1)).exit_code == 3, "there is no default epsilon"
    assert run(catalog, "--epsilon", "0.02", "--most", "0.03", text=f"{COUNT.format(21)}; {COUNT.format(22)}").exit_code == 3
    assert run(catalog, "--epsilon", "much", text=COUNT.format(1)).exit_code == 2
    assert run(catalog, "--epsilon", "0.01", text=" " * (2**20 + 1)).exit_code == 2


def history(catalog: Path) -> list[dict]:
    with open_data(catalog, own_process=False) as data:
        return data.session("ana").history(100)


@pytest.mark.parametrize(("module", "extra"), [("mcp", "mcp"), ("prompt_toolkit", "shell")])
def test_a_missing_package_names_the_line_to_install(module, extra):
    told = commands.told(ModuleNotFoundError(f"No module named {module!r}", name=f"{module}.part"), None)
    assert f"pip install 'tacit[{extra}]'" in str(told)


def test_a_person_at_a_terminal(catalog, tmp_path):
    """Type a question, agree to its price, leave; the history has the question, and no number of the answer."""
    main, terminal = pty.openpty()
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path), "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    words = [sys.executable, "-m", "tacit", "shell", "--epsilon", "0.01", "--catalog", str(catalog), "--analyst", "ana"]
    with subprocess.Popen(
        words, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True
    ) as process:
        os.close(terminal)
        try:
            wait_for(main, "left)>")
            type_in(main, "SELECT COUNT(*) AS people FROM patients\r;\r")
            wait_for(main, "Ask?")
            type_in(main, "y")
            wait_for(main, "people")
            wait_for(main, "left)>")
            type_in(main, "\\q\r")
            assert process.wait(60) == 0
        finally:
            process.kill()
            os.close(main)
    kept = tmp_path / "tacit" / "shell-history"
    assert kept.stat().st_mode & 0o777 == 0o600
    lines = [line for line in kept.read_text("utf-8").splitlines() if line.startswith("+")]
    assert lines == ["+SELECT COUNT(*) AS people FROM patients", "+;", "+\\q"]
    assert history(catalog)[0]["question"].startswith("SELECT COUNT(*) AS people")


def type_in(main: int, text: str) -> None:
    os.write(main, text.encode())


def wait_for(main: int, text: str, seconds: float = 120) -> str:
    """What the terminal shows until it shows a text; answers its question for the place of the cursor."""
    shown, end = "", time.monotonic() + seconds
    while text not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown):
        assert time.monotonic() < end, shown
        if select.select([main], [], [], 0.2)[0]:
            new = os.read(main, 65_536).decode("utf-8", "replace")
            shown += new
            if "\x1b[6n" in new:
                os.write(main, b"\x1b[1;1R")
    return shown
