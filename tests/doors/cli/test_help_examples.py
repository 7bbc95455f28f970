"""Every command's help ends with an example, and every example runs as it is printed, in a folder with the files that it names."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from by_month import Clinic, declared
from pages import ROOT
from served import served
from tacit.data.prepare import prepare
from tacit.doors.cli import app
from tacit.doors.cli.demo import hospital
from tacit.doors.client import Remote
from tacit.evidence.attacks import against_session, questioner
from tacit.evidence.attacks.reply_times import reply_times
from tacit.evidence.verify import plants
from tacit.evidence.verify.trial import Effort
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.local.survey.reports import Form
from tacit.session import open as open_data

EXAMPLE = re.compile(r"^Example: (?P<line>tacit .+?)(?: \(exits with (?P<code>\d+)\))?$", re.MULTILINE)


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its words, those of groups too."""
    parts = getattr(command, "commands", {})
    if not parts:
        yield " ".join(words), command
    for word, part in parts.items():
        yield from leaves(part, (*words, word))


COMMANDS = dict(leaves(get_command(app)))


def example(name: str) -> tuple[list[str], int]:
    """The words of a command's example after `tacit`, and the exit code that it states."""
    found = EXAMPLE.findall(COMMANDS[name].help or "")
    assert len(found) == 1, f"the help of `tacit {name}` needs one line `Example: tacit {name} ...`"
    line, code = found[0]
    assert line.startswith(f"tacit {name}"), f"`{line}` is an example of another command than `tacit {name}`"
    return shlex.split(line)[1:], int(code or 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the examples name: a prepared hospital, a certificate, a survey with reports, flows with their map, a table."""
    place: Path = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(hospital, "PATIENTS", 400)
        with open_data(hospital.build(place)) as data:
            prepare(data.catalog)
            data.begin_scratch("the examples of the help")
        assert run(["token", "add", "ana"]).exit_code == 0
        patch.setenv("TACIT_ANALYST", "ana")
        assert run(["sql", "SELECT COUNT(*) FROM visits", "--epsilon", "0.01"]).exit_code == 0
        training = ["train", "classifier", "patients", "--label", "sex", "--epsilon", "0.1", "--out", "model.json"]
        assert run(training).exit_code == 0
        assert run(["certificate", "show", "1", "--out", "published.json"]).exit_code == 0
        assert run(["certificate", "keys", "--out", "owner-keys.json"]).exit_code == 0
        Path("token.txt").write_text(f"tacit_{'a' * 43}\n", "utf-8")
        releases = 'title = "Visits"\nanalyst = "ana"\n[releases.all]\ntitle = "All"\nepsilon = 0.01\n'
        Path("releases.toml").write_text(f'{releases}sql = "SELECT COUNT(*) AS n FROM visits"\n', "utf-8")
        Path("survey.toml").write_text((ROOT / "examples" / "survey.toml").read_text("utf-8"), "utf-8")
        form = Form.of(read_survey(Path("survey.toml")))
        answers = {"home": 1, "way": 2, "minutes": 35, "missing": [0]}
        lines = [form.text_of(answers, number.to_bytes(32, "big"), number % 3) for number in range(40)]
        Path("reports.txt").write_text("\n".join(lines) + "\n", "utf-8")
        assert run(["survey", "collect", "survey.toml", "reports.txt", "--store", "answers.sqlite"]).exit_code == 0
        assert run(["synthesize", "state", ".", "--blocks", "400", "--workplaces", "6", "--jobs", "1000"]).exit_code == 0
        Path("salaries.csv").write_text("ward,salary\nnorth,100\nnorth,220\nsouth,180\nsouth,90\n", "utf-8")
        Path("hierarchies").mkdir()
        ages = [f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*" for age in range(20, 60)]
        Path("hierarchies", "age.csv").write_text("\n".join(ages) + "\n", "utf-8")
        Path("hierarchies", "sex.csv").write_text("F;*\nM;*\n", "utf-8")
        people = [f"{20 + each * 7 % 40},{'FM'[each % 2]},{('flu', 'asthma', 'gout')[each % 3]}" for each in range(120)]
        Path("people.csv").write_text("age,sex,disease\n" + "\n".join(people) + "\n", "utf-8")
        edges = "".join(f"{each}\t{each * each % 61}\n" for each in range(61))
        Path("edges.tsv.gz").write_bytes(gzip.compress(edges.encode()))
        Path("questions.sql").write_text("SELECT COUNT(*) FROM visits;\nSELECT COUNT(*) FROM patients\n", "utf-8")
        Path("questions.txt").write_text("MAX(salary)\nMAX(salary) WHERE ward = 'north'\n", "utf-8")
    return place


@pytest.fixture
def small(monkeypatch):
    """Sizes that suffice to show that a command runs."""
    monkeypatch.setattr(hospital, "PATIENTS", 400)
    demo = import_module("tacit.doors.cli.demo")  # the package has the command under that name
    monkeypatch.setattr(Remote, "catalog", lambda self: {})  # nobody answers under the name of the example
    monkeypatch.setattr(Remote, "withdraw", lambda self, number: None)
    timing = import_module("tacit.doors.cli.attack.sessions")
    monkeypatch.setattr(timing, "of_own_server", lambda count: reply_times("", (bool, bool), count, rest=0))
    monkeypatch.setattr(demo, "SUBSETS", 16)
    monkeypatch.setattr(demo, "DRAWS", 1_000)
    monkeypatch.setattr(questioner, "MOST_PEOPLE", 26)
    monkeypatch.setattr(against_session, "ATTACKS", against_session.ATTACKS[:1])
    everything = plants.cases
    monkeypatch.setattr(plants, "QUICK", Effort(samples=16))
    monkeypatch.setattr(plants, "cases", lambda plant=None: everything()[-1:])


DECISIONS = ("approvals approve", "approvals reduce", "approvals refuse")
MONTHLY = ("stream", "ledger budget")
FRESH = (*DECISIONS, *MONTHLY, "prepare", "ledger begin", "ledger units", "synthesize tables")  # no ledger, or another catalog


STREAM = (
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY month) AS total "
    "FROM visits WHERE day <= :last GROUP BY month"
)


def by_month(place: Path) -> Path:
    """A clinic whose budget is one of each month, with the question of a stream."""
    declared(place, Clinic(((1, 1),), ((1, "2026-01-02", 1),), ()))
    catalog = place / "tacit.toml"
    catalog.write_text(catalog.read_text("utf-8").replace("2025-", "2026-"), "utf-8")
    (place / "totals.sql").write_text(f"{STREAM}\n", "utf-8")
    with open_data(catalog) as data:
        data.prepare(yes=True, through="2026-04", reason="the examples of the help")
        data.begin_scratch("the examples of the help")
    return place


def raised(place: Path) -> Path:
    """The same, whose budget of a month was raised in the catalog since a question was paid for."""
    catalog = by_month(place) / "tacit.toml"
    with open_data(catalog) as data:
        data.session("ana").sql("SELECT COUNT(*) FROM visits", epsilon=0.1)
    before = catalog.read_text("utf-8")
    catalog.write_text(before.replace("epsilon = 1\n", "epsilon = 2\n", 1), "utf-8")
    assert catalog.read_text("utf-8") != before
    return place


def waiting(place: Path) -> Path:
    """A hospital where three questions of ana wait for a decision."""
    with served(place) as hospital_:
        catalog = place / "tacit.toml"
        limited = re.sub(r"(\[budget\].*)", r"\1\napprove_above = 0.3", catalog.read_text("utf-8"), count=1)
        catalog.write_text(limited, "utf-8")
        for number, column in enumerate(("COUNT(*)", "SUM(cost)", "AVG(cost)"), start=1):
            reply = hospital_.call("ask", sql=f"SELECT {column} FROM visits", epsilon="0.8")
            assert f"it waits as number {number}".encode() in reply.body
    return place


def fresh(name: str, place: Path) -> Path:
    if name in MONTHLY:
        return by_month(place) if name == "stream" else raised(place)
    if name in DECISIONS:
        return waiting(place)
    catalog = hospital.build(place)
    if name == "ledger units":
        with open_data(catalog) as data:
            data.begin_scratch("the examples of the help")
    declared = catalog.read_text("utf-8")
    kept = re.sub(r"^badge\s*=[^\n]*\n", "", declared, flags=re.MULTILINE)  # its values are meant to lie beyond its bounds
    assert kept != declared
    other = {
        "ledger units": (', references = "patients.id"', ""),
        "synthesize tables": ('unit = "row"', 'unit = { column = "id" }\nmax_rows = 1'),
    }
    before, after = other.get(name, ("", ""))
    assert before in kept
    catalog.write_text(kept.replace(before, after) if before else kept, "utf-8")
    if name == "synthesize tables":
        with open_data(catalog) as data:
            prepare(data.catalog)
            data.begin_scratch("the examples of the help")
    return catalog.parent


def run(words: list[str]) -> Any:
    return CliRunner().invoke(app, words, prog_name="tacit")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_the_help_runs(name, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    if name == "approvals withdraw":
        monkeypatch.setenv("TACIT_TOKEN", f"tacit_{'a' * 43}")
    monkeypatch.chdir(fresh(name, tmp_path) if name in FRESH else folder)
    words, code = example(name)
    result = run(words)
    assert result.exit_code == code, result.output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Verify the ledger.", "needs one line"),
        ("Verify.\n\nExample: tacit verify --quick\n\nExample: tacit verify", "needs one line"),
        ("Verify.\n\nExample: tacit attack list", "another command"),
    ],
)
def test_a_missing_or_foreign_example_is_caught(text, problem, monkeypatch):
    monkeypatch.setattr(COMMANDS["verify"], "help", text)
    with pytest.raises(AssertionError, match=problem):
        example("verify")


def test_an_example_may_state_its_exit_code(monkeypatch):
    monkeypatch.setattr(COMMANDS["verify"], "help", "Verify.\n\nExample: tacit verify --plant noise (exits with 1)")
    assert example("verify") == (["verify", "--plant", "noise"], 1)
