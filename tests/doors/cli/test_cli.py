"""The command line as a whole: version, help, errors and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest
import typer
from typer.testing import CliRunner

from chance import laplace_limit
from sources import ROOT
from tacit.doors.cli import app
from tacit.doors.cli.commands import EXTRAS, reported
from tacit.errors import BudgetExceeded, InvalidBudget, InvalidCatalog, LawViolated, NoBounds, Unforeseen

run = CliRunner().invoke


def test_the_version_is_printed():
    result = run(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("tacit 0.")


def test_help_names_the_commands():
    result = run(app, ["--help"])
    assert result.exit_code == 0
    assert all(name in result.output for name in ("demo", "verify"))


def test_wrong_usage_is_two():
    assert run(app, ["no-such-command"]).exit_code == 2


def test_the_shell_completes_commands(monkeypatch):
    completing = {"_TACIT_COMPLETE": "complete_bash", "COMP_WORDS": "tacit ini", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from tacit.doors.cli import main; import sys; sys.argv = ['tacit']; main()"],
        env={**os.environ, **completing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["init"]), done.stderr


def test_completion_is_offered_by_tacit_alone():
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "--install-completion" in shown
    assert "--install-completion" not in CliRunner().invoke(app, ["sql", "--help"]).stdout


def test_a_name_with_a_hyphen_is_hinted_at(tmp_path, monkeypatch):
    catalog = '[budget]\nepsilon = 1\n[tables.people]\nsource = "people.csv"\nunit = "row"\nrows_at_most = 1000\n'
    (tmp_path / "tacit.toml").write_text(catalog + 'columns."hours-per-week" = { bounds = [0, 99] }\n')
    (tmp_path / "people.csv").write_text("hours-per-week\n40\n")
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["prepare", "--new-ledger"]).exit_code == 0
    told = CliRunner().invoke(app, ["explain", "SELECT AVG(hours-per-week) FROM people", "--epsilon", "1"]).stderr
    assert "unknown column 'hours'; write names with other signs in double quotes: \"hours-per-week\"" in told


def failing(error: Exception) -> typer.Typer:
    """An application with one command, which fails."""
    made = typer.Typer()

    @made.command()
    @reported
    def fail(as_json: bool = typer.Option(False, "--json")) -> None:
        raise error

    return made


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LawViolated("loss", "too large"), 1),
        (InvalidBudget("epsilon must be above 0"), 2),
        (BudgetExceeded("nothing is left"), 3),
        (InvalidCatalog("tacit.toml is missing"), 4),
    ],
)
def test_an_error_of_tacit_is_a_line_on_standard_error_and_an_exit_code(error, code):
    result = run(failing(error), [])
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr == f"tacit: {error}\n"


def test_a_file_that_the_system_withholds_is_told_in_a_line_without_a_traceback():
    result = run(failing(PermissionError(13, "Permission denied", "shares.svg")), [])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "tacit: shares.svg cannot be used (Permission denied); name another place, or have it made readable and writable\n"
    )


def test_a_full_disk_behind_the_output_is_told_in_a_line():
    result = run(failing(OSError(28, "No space left on device")), [])
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith("tacit: the disk or the output failed (No space left on device); ")


def test_an_output_that_cannot_be_encoded_is_told_in_a_line():
    result = run(failing(UnicodeEncodeError("ascii", "± 4711", 0, 1, "ordinal not in range(128)")), [])
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith("tacit: a name or the output has a character that this terminal or file system cannot write; ")


@pytest.mark.parametrize("error", [IndexError("the cell 4711"), OSError("the cell 4711"), MemoryError("4711")])
def test_what_tacit_did_not_foresee_is_one_constant_line(error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    (tmp_path / "tacit.toml").write_text("")
    (tmp_path / ".tacit").mkdir()
    result = run(failing(error), [])
    assert (result.exit_code, result.stdout, result.stderr) == (4, "", f"tacit: {Unforeseen()}\n")
    (line,) = (tmp_path / ".tacit" / "log" / "unforeseen.log").read_text().splitlines()
    assert f" {type(error).__name__} at " in line
    assert "4711" not in line
    shown = run(failing(error), ["--json"])
    assert json.loads(shown.stderr)["error"] == {"code": "unforeseen", "message": Unforeseen.message, "remedy": Unforeseen.remedy}


def test_an_answer_that_nothing_can_be_written_of_is_an_error_and_no_traceback():
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "tacit", "schema"]
        result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr.count("\n")) == (4, 1)
    assert "the disk or the output failed (No space left on device)" in result.stderr


def test_a_reader_that_went_away_is_no_error():
    command = f"{sys.executable} -m tacit schema | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr
    assert "unforeseen" not in result.stderr


@pytest.mark.parametrize("command", [["synthesize", "state"], ["demo", "--folder"]])
def test_a_folder_below_a_file_is_told_so(command, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run(app, [*command, str(tmp_path / "file" / "folder")])
    assert result.exit_code == 2
    assert "is not a folder" in result.stderr or "cannot be used (Not a directory)" in result.stderr


def test_a_package_of_an_extra_that_is_not_installed_is_an_error_with_the_line_to_install():
    """`tacit serve` and `tacit token` import SQLAlchemy as they start."""
    result = run(failing(ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy.exc")), [])
    assert (result.exit_code, result.stdout) == (2, "")
    told = "tacit: this command requires the package sqlalchemy, which is not installed; run: pip install 'tacit[server]'\n"
    assert result.stderr == told
    assert run(failing(ModuleNotFoundError("No module named 'x'", name="x")), []).exit_code == 4


def test_every_package_of_an_extra_is_named_with_it():
    written = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = tomllib.loads(written)["project"]["optional-dependencies"]
    for package, extra in EXTRAS.items():
        brings = {"pydantic": "fastapi", "starlette": "fastapi"}.get(package, package).replace("_", "-")
        assert any(re.match(rf"{brings}\b", each) for each in extras[extra]), package
    assert not any(name.partition("[")[0] in written.partition("[project.optional")[0] for name in ("sqlalchemy", "dp-accounting"))


@pytest.mark.parametrize("words", [("serve", "--demo"), ("token", "list")])
def test_a_server_without_its_packages_says_what_to_install(words, tmp_path):
    loud = f"import sys; sys.modules['sqlalchemy'] = None; sys.argv = {['tacit', *words]!r}\n"
    loud += "from tacit.doors.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", loud], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "run: pip install 'tacit[server]'" in done.stderr


def test_an_error_is_json_where_that_was_asked_for():
    error = NoBounds("cost has no bounds", remedy="declare them", at=(1, 8))
    result = run(failing(error), ["--json"])
    assert result.exit_code == 3
    assert json.loads(result.stderr) == {
        "error": {"code": "no_bounds", "message": "cost has no bounds", "remedy": "declare them", "line": 1, "column": 8}
    }


def test_an_error_without_a_code_is_named_for_its_class():
    result = run(failing(InvalidBudget("epsilon must be above 0")), ["--json"])
    assert json.loads(result.stderr)["error"]["code"] == "invalid_budget"


def test_python_m_tacit_is_the_command_and_loads_nothing_heavy():
    loud = "import sys, runpy; sys.argv = ['tacit', '--version']\ntry: runpy.run_module('tacit', run_name='__main__')\n"
    loud += "except SystemExit: pass\nheavy = {'numpy', 'scipy', 'altair', 'rich.table', 'pydantic', 'sqlglot'}\n"
    loud += "print(sorted(heavy & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", loud], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[0].startswith("tacit 0.")
    assert result.stdout.splitlines()[1] == "[]"


NOT_FOR_A_QUESTION = [
    *("ibis", "pyarrow", "pandas", "scipy", "numba", "altair", "dp_accounting", "pydantic", "networkx"),
    *("sqlalchemy", "asyncio", "ssl"),
    *("rich.progress", "tacit.data.prepare", "tacit.data.files", "tacit.doors.cli.demo", "tacit.doors.cli.attack"),
]


PEOPLE = '[budget]\nepsilon = 1\n[tables.people]\nsource = "people.csv"\nunit = "row"\ncolumns.age = { bounds = [0, 110] }\n'


def prepare_people(folder):
    import tacit

    (folder / "tacit.toml").write_text(PEOPLE)
    (folder / "people.csv").write_text("age\n" + "40\n" * 100)
    tacit.open(folder / "tacit.toml").prepare(new_ledger=True)


@pytest.mark.parametrize(("epsilon", "code"), [("0.5", 0), ("2", 3)])
def test_a_question_closes_its_ledger_before_its_process_ends_at_once(epsilon, code, tmp_path):
    """SQLite removes its log when it is closed; a copy of the ledger without its log would lack what was spent last."""
    prepare_people(tmp_path)
    asked = [sys.executable, "-m", "tacit", "sql", "SELECT COUNT(*) FROM people", "--epsilon", epsilon]
    result = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (result.returncode, "nanobind" in result.stderr) == (code, False)
    assert {each.name for each in (tmp_path / ".tacit").glob("ledger.sqlite-*")} == set()


def test_a_question_is_answered_by_another_process_which_alone_loads_the_engine(tmp_path):
    """What loads in two processes at once loads in half the time; and what is loaded there cannot be reached from here."""
    prepare_people(tmp_path)
    loud = "import sys; sys.argv = ['tacit', 'sql', 'SELECT COUNT(*) FROM people', '--epsilon', '1', '--json']\n"
    loud += "from tacit.doors.cli import run\ntry: run('sql')\nexcept SystemExit as ended: print(ended.code)\n"
    loud += f"print(sorted(set({NOT_FOR_A_QUESTION}) & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", loud], capture_output=True, text=True, check=True, cwd=tmp_path)
    *answer, code, loaded = result.stdout.splitlines()
    assert (code, loaded, result.stderr) == ("0", "[]", "")
    assert abs(json.loads("".join(answer))["rows"][0]["count"]["value"] - 100) < laplace_limit(1)
