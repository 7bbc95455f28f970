"""`tacit demo`: eight questions on a hospital, and two attacks; on few patients here, so that it is quick."""

from __future__ import annotations

import json
import stat
import tempfile
from importlib import import_module
from math import log

import pytest
from typer.testing import CliRunner

import pages
from chance import fewest_hits, laplace_limit, most_hits
from tacit.doors.cli import app
from tacit.doors.cli.demo import hospital
from tacit.doors.cli.demo import parts as demo_parts
from tacit.errors import BudgetExceeded
from tacit.session import open as open_data

run = CliRunner().invoke
demo_module = import_module("tacit.doors.cli.demo")  # the package has the command under that name


@pytest.fixture(scope="module", autouse=True)
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hospital, "PATIENTS", 2_000)
        patch.setattr(demo_module, "SUBSETS", 150)
        patch.setattr(demo_module, "DRAWS", 5_000)
        yield


@pytest.fixture(scope="module")
def parts():
    """The parts of the one real run, as they came."""
    return []


@pytest.fixture(scope="module")
def kept(tmp_path_factory, parts):
    """A run with its folder kept, and what it told."""
    folder, play = tmp_path_factory.mktemp("demo") / "new" / "hospital", demo_module._parts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_module, "_parts", lambda here: (parts.append(part) or part for part in play(here)))
        result = run(app, ["demo", "--json", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


@pytest.fixture(scope="module")
def shown(tmp_path_factory, kept, parts):
    """The same parts as they are printed, and the folder in which the temporary one was."""
    around = tmp_path_factory.mktemp("around")

    def replay(here):
        (here / "patients.parquet").write_text("private")
        yield from parts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(around))
        patch.setattr(demo_module, "_parts", replay)
        result = run(app, ["demo"])
    assert result.exit_code == 0, result.output
    return around, result.output


def test_eight_questions_are_asked_one_is_refused_and_one_is_drawn(kept):
    folder, told = kept
    assert len(told["questions"]) == 8
    refused = [question["refused"] for question in told["questions"] if "refused" in question]
    assert [(each["code"], "bounds = " in each["remedy"]) for each in refused] == [("no_bounds", True)]
    (drawn,) = [question for question in told["questions"] if "chart" in question]
    assert len(drawn["answer"]["rows"]) == 36
    assert (folder / drawn["chart"]).read_text().startswith("<svg")


def test_the_released_numbers_lie_around_the_exact_ones(kept):
    """Counts: a half-width at 95 % is ln 20 scales of Laplace noise."""
    compared = 0
    for question in kept[1]["questions"]:
        names = [column["name"] for column in question.get("answer", {}).get("columns", [])]
        keys = [name for name in names if name in ("site", "sex", "ward")]
        exact = {tuple(row[: len(keys)]): row for row in question.get("exact", [])}
        for row in question["answer"]["rows"] if exact and keys else []:
            count, truth = row[names[len(keys)]], exact[tuple(row[key] for key in keys)][len(keys)]
            assert abs(count["value"] - truth) <= laplace_limit(count["half_width"] / log(20), among=27)
            compared += 1
    assert compared == 3 + 20 + 2 + 2


def test_visits_per_patient_lie_within_an_interval_that_one_patient_decides(kept):
    """Six half-widths again; and the interval of a mean of 1 to 15 visits is narrow, although there are only 2,000 patients."""
    (question,) = [question for question in kept[1]["questions"] if "WITH per AS" in question["sql"]]
    for row, (_, _, percent, truth) in zip(question["answer"]["rows"], sorted(question["exact"]), strict=True):
        mean, share = row["visits_each"], row["percent"]
        assert abs(share["value"] - float(percent)) <= 6 * share["half_width"] + 0.1
        assert abs(mean["value"] - truth) <= 6 * mean["half_width"]
        assert mean["half_width"] < 2


def test_private_text_is_shown_where_enough_people_have_it(kept, shown):
    """A rare diagnosis has one patient here: it passes with a probability below delta, 5e-8."""
    (question,) = [question for question in kept[1]["questions"] if "GROUP BY written" in question["sql"]]
    names, exact = [row["written"] for row in question["answer"]["rows"]], dict(question["exact"])
    assert 1 <= len(names) < len(exact)
    assert set(hospital.RARE) & set(exact)
    assert not set(hospital.RARE) & set(names)
    for row in question["answer"]["rows"]:
        assert abs(row["patients"]["value"] - exact[row["written"]]) <= 6 * row["patients"]["half_width"]
    assert "The threshold: groups below a noisy number of" in " ".join(shown[1].split())


def test_what_is_left_is_the_cap_less_what_was_spent(kept):
    told = kept[1]
    spent = sum(float(question["answer"]["price"]["epsilon"]) for question in told["questions"] if "answer" in question)
    assert float(told["budget"]["ana"]["left"]) == pytest.approx(2 - spent)
    assert float(told["budget"]["data set"]["left"]) == pytest.approx(3 - spent)
    assert told["budget"]["mallory"] == {"epsilon": "1", "left": "1"}


def test_exact_answers_give_every_diagnosis_away_and_private_ones_none(kept):
    """128 fair bits, each right with 0.502."""
    attack = kept[1]["reconstruction"]
    assert (attack["people"], attack["questions"], attack["epsilon"]) == (128, 150, "1")
    assert attack["exact"] == {"recovered": 1.0, "predicted": 1.0}
    assert fewest_hits(128, 0.498, among=2) <= 128 * attack["private"]["recovered"] <= most_hits(128, 0.502, among=2)
    assert attack["private"]["predicted"] == pytest.approx(0.5, abs=0.01)
    assert attack["next"] == "budget_exceeded"


def test_textbook_noise_gives_its_answer_away_and_ours_does_not(kept):
    attack = kept[1]["floating_point"]
    assert attack["ours"] == 0
    assert attack["textbook"] > 0.5


def test_what_is_kept_is_a_data_set_with_its_ledger(kept):
    folder, told = kept
    data = open_data(folder / "tacit.toml")
    assert data.ledger.verify().whole
    assert data.ledger.head.number == 2 * (7 + 150), "each with its answer"
    question = told["questions"][0]
    again = data.session("ana").sql(question["sql"], **question["asked"])
    assert again.to_dict()["rows"] == question["answer"]["rows"]
    assert again.receipt.again
    with pytest.raises(BudgetExceeded):
        data.session("mallory").sql("SELECT COUNT(*) FROM visits", epsilon=0.01)
    data.engine.close()


def test_what_is_kept_is_for_its_owner_only(kept):
    hidden = kept[0] / ".tacit"
    assert sorted(path.name for path in kept[0].iterdir()) == [
        ".tacit", "patients.parquet", "tacit.toml", "visits.parquet", "visits.svg", "wards.csv",
    ]  # fmt: skip
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in hidden.rglob("*"))


def test_the_screen_tells_both_stories(shown):
    for words in (
        "A generated hospital", "SELECT site, COUNT(*)", "joined on the patient", "visits_each", "(exact)", "± 50",
        "refused (no_bounds)", "36 months", "visits.svg, which --folder keeps",
        "the smallest epsilon", "The budget", "reconstruct diagnoses", "128 of 128", "question 151 is refused (budget_exceeded)",
        "textbook floating-point Laplace", "tacit demo --folder",
    ):  # fmt: skip
        assert words in shown[1], words
    assert max(map(len, shown[1].splitlines())) <= 110


def test_nothing_is_left_behind(shown):
    assert list(shown[0].iterdir()) == []


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    result = run(app, ["demo", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert run(app, ["demo", "--folder", str(tmp_path / "mine.txt")]).exit_code == 2


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo_parts.Prepared, "show", lambda self: 1 / 0)
    assert run(app, ["demo"]).exit_code == 4
    assert list(tmp_path.iterdir()) == []


def excerpt():
    """What the README shows below `make demo`, as a part of what is printed."""
    page = (pages.ROOT / "README.md").read_text("utf-8")
    return next(f"...\n{command.shown}" for command in pages.commands(page) if command.words == ("make", "demo"))


def test_the_readme_shows_what_is_printed(shown):
    assert pages.agrees(excerpt(), shown[1])


def test_a_readme_that_shows_something_else_is_caught(shown):
    assert "diagnoses" in excerpt()
    assert not pages.agrees(excerpt().replace("diagnoses", "names"), shown[1])
