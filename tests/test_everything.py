"""`make everything` on toy steps: goes on after a failure, runs nothing twice on one tree, writes a page that it can read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import everything
from everything import (
    BEGIN,
    END,
    FAILED,
    NOT_RUN,
    NOTHING,
    PASSED,
    SKIPPED,
    STEPS,
    Everything,
    Outcome,
    Step,
    counts,
    outcomes_of,
    result,
    verdict,
    written,
)

PAGE = f"# A page\n\nWords before.\n\n{BEGIN}\n{END}\n\nWords after.\n"
MAKEFILE = (everything.ROOT / "Makefile").read_text("utf-8")


def git(root: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *words], cwd=root, capture_output=True, text=True, check=True).stdout


def toy(name: str, says: str, code: int = 0, whole: bool = False) -> Step:
    """A step that adds a line to a file that Git ignores, says something, and ends."""
    script = f"open('ran', 'a').write('{name} '); print({says!r}); raise SystemExit({code})"
    return Step(name, (sys.executable, "-c", script), whole)


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    (tmp_path / "code").write_text("1", "utf-8")
    (tmp_path / ".gitignore").write_text("ran\n.everything/\n", "utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def run_of(root: Path, *steps: Step) -> Everything:
    return Everything(root, steps, root / ".everything", root / "page.md")


def ran(root: Path) -> list[str]:
    """The steps that ran since the last call."""
    file = root / "ran"
    names = file.read_text("utf-8").split() if file.exists() else []
    file.unlink(missing_ok=True)
    return names


SOUND, LATER = toy("sound", "3 passed in 0.1s"), toy("later", "= 4 passed, 1 skipped in 2.00s =")
BROKEN = toy("broken", "1 failed, 2 passed in 0.1s", code=1)


def test_a_failed_step_does_not_stop_the_others_and_is_run_again(root, capsys):
    steps = run_of(root, SOUND, BROKEN, LATER)
    assert steps.run() == 1
    assert ran(root) == ["sound", "broken", "later"]
    assert re.search(r"broken +failed +\d+ s +tests: 2 passed, 1 failed\nlater +passed", capsys.readouterr().out)
    assert steps.run() == 1
    assert ran(root) == ["broken"]
    assert (root / ".everything" / "broken.log").read_text("utf-8") == "1 failed, 2 passed in 0.1s\n"


def test_what_has_passed_is_remembered_until_a_file_other_than_the_page_changes(root):
    steps = run_of(root, SOUND, LATER)
    assert steps.run() == 0
    assert ran(root) == ["sound", "later"]
    git(root, "commit", "-qam", "the page with the result")
    assert steps.run() == 0
    assert ran(root) == []
    (root / "code").write_text("2", "utf-8")
    git(root, "commit", "-qam", "other code")
    assert steps.run(["later"]) == 0
    assert ran(root) == ["later"]
    assert steps.run(["late"]) == 2
    assert ran(root) == []


def test_with_uncommitted_changes_nothing_is_kept(root, capsys):
    steps = run_of(root, SOUND)
    (root / "code").write_text("2", "utf-8")
    assert steps.run() == 0
    assert steps.run() == 0
    assert ran(root) == ["sound", "sound"]
    assert "not kept" in capsys.readouterr().out
    assert (root / "page.md").read_text("utf-8") == PAGE


def test_a_tree_that_changes_under_a_step_is_not_kept(root):
    changing = Step("sound", (sys.executable, "-c", "open('code', 'a').write('2'); print('3 passed in 1s')"))
    assert run_of(root, changing).run() == 0
    assert (root / "page.md").read_text("utf-8") == PAGE
    git(root, "checkout", "-q", "code")
    assert run_of(root, SOUND).run() == 0
    assert ran(root) == ["sound"]


def test_a_damaged_memory_is_as_none(root):
    steps = run_of(root, SOUND)
    assert steps.run() == 0
    (root / ".everything" / "state.json").write_text("{", "utf-8")
    assert steps.run() == 0
    assert ran(root) == ["sound", "sound"]


def test_the_page_has_the_commit_and_the_day_of_each_step(root):
    steps = run_of(root, SOUND, BROKEN, LATER)
    steps.run(["sound"])
    first = git(root, "rev-parse", "HEAD")[:8]
    git(root, "commit", "-qam", "the page")
    (root / "code").write_text("2", "utf-8")
    git(root, "commit", "-qam", "other code")
    steps.run(["broken"])
    page = (root / "page.md").read_text("utf-8")
    sound, broken, later = outcomes_of(page)
    assert (sound.result, sound.commit) == (PASSED, first)
    assert (broken.result, broken.commit) == (FAILED, git(root, "rev-parse", "HEAD")[:8])
    assert (later.result, later.commit, later.date) == (NOT_RUN, "", "")
    assert page.startswith("# A page\n\nWords before.\n")
    assert page.endswith("\n\nWords after.\n")
    assert written(page, sound, steps.steps) == page


def test_only_a_step_that_counts_something_has_passed():
    assert result(SOUND, 0, "tests: 3 passed") == PASSED
    assert result(SOUND, 1, "tests: 3 passed") == FAILED
    assert result(SOUND, 0, "") == NOTHING
    skipped = counts("1 passed, 1 skipped in 3.00s\n")
    assert result(Step("kills", (), whole=True), 0, skipped) == SKIPPED
    assert result(SOUND, 0, skipped) == PASSED
    assert result(SOUND, 0, counts("no tests ran in 0.01s\n2 deselected in 0.1s\n")) == NOTHING


def test_tests_rows_and_mutants_are_counted():
    tests = "= 2171 passed, 60 deselected in 256.33s (0:04:16) =\n5 failed, 1 passed, 1 error in 2s\n"
    assert counts(tests) == "tests: 2,172 passed, 5 failed, 1 errors"
    assert (
        counts("Laplace  1  0.9  exact   within    \nGaussian  1  2.0  exact   broken: loss, grid\n")
        == "1 rows within, 1 rows broken"
    )
    assert counts("mutants: 9 killed\nmutants: 10 killed, 1 explained\n") == "10 killed, 1 explained"
    assert counts("what is within the claim\n") == ""


def test_all_have_passed_only_on_one_commit():
    rows = [Outcome("test", PASSED, "", "", "a" * 8, "2026-01-01"), Outcome("verify", PASSED, "", "", "a" * 8, "2026-01-02")]
    assert verdict(rows) == "Every step has passed on commit `aaaaaaaa`, 2026-01-02."
    for other in (Outcome("verify", PASSED, "", "", "b" * 8), Outcome("verify", FAILED, "", "", "a" * 8), Outcome("verify")):
        assert verdict([rows[0], other]).startswith("Not every step")


def wrong_in_page(page: str) -> list[str]:
    """What does not have the form that the steps of today would write."""
    rows = outcomes_of(page)
    if [each.name for each in rows] != [step.name for step in STEPS]:
        return ["a row for each step, in their order"]
    undated = [each.name for each in rows if (each.result != NOT_RUN) != bool(each.commit and each.date and each.duration)]
    return undated + (["the words above the table"] if written(page, rows[0]) != page else [])


def test_the_page_of_today_has_its_form():
    page = Everything().page.read_text("utf-8")
    assert wrong_in_page(page) == []
    assert wrong_in_page(page.replace("| `make verify`", "| `make believe`")) != []
    assert wrong_in_page(written(page, Outcome("verify", PASSED, "tests: 1 passed"))) == ["verify"]
    assert wrong_in_page(page.replace("very step has", "very step had")) != []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_every_step_is_a_recipe(step):
    assert re.search(rf"^{step.name}: ", MAKEFILE, re.MULTILINE)
    assert step.command[1] == step.name


TOYS = ["tests/test_other.py", "tests/data/test_rows.py", everything.KILLS]
TOYS_ON_SPARK = ["tests/test_a_spark.py", "tests/data/test_spark.py", "tests/doors/server/test_spark_session.py"]


def collected(root: Path, apart: str) -> set[str]:
    """The files of which pytest would run a slow test, with the words that the step passes to the recipe."""
    words = f"{sys.executable} -m pytest tests -m slow --collect-only -q -p no:cacheprovider -p no:xdist {apart}"
    done = subprocess.run(["bash", "-euc", words], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}


def test_verify_leaves_out_what_has_a_step_of_its_own(tmp_path):
    """Slow tests on Spark take longest: they ran twice, in `verify` and in `test-spark`, which runs the same files whole."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\naddopts = --import-mode=importlib\n", "utf-8")
    for name in (*TOYS, *TOYS_ON_SPARK):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import pytest\n\n@pytest.mark.slow\ndef test_it():\n    pass\n", "utf-8")
    apart = next(word for step in STEPS if step.name == "verify" for word in step.command if word.startswith("APART="))
    assert collected(tmp_path, apart.removeprefix("APART=")) == {*TOYS} - {everything.KILLS}
    assert collected(tmp_path, f"--deselect {everything.KILLS}") == {*TOYS, *TOYS_ON_SPARK} - {everything.KILLS}, "planted"


def test_what_verify_leaves_out_is_run_by_other_steps():
    recipes = {name: MAKEFILE.partition(f"\n{name}: ")[2].partition("\n\n")[0] for name in ("verify", "kills", "test-spark")}
    assert "$(APART)" in recipes["verify"]
    assert everything.KILLS in recipes["kills"]
    assert f'find tests -name "{everything.SPARK}"' in recipes["test-spark"]
    assert "-m " not in recipes["test-spark"].replace("-m pytest", ""), "slow and quick ones"
    assert all("HYPOTHESIS_PROFILE=verify" in recipes[name] for name in ("verify", "test-spark")), "with examples of their own"
