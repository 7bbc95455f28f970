"""`make mutants` on a toy: what the tests notice is killed, an ineffective test lets it survive, and a reason explains it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import mutants
import passing
from mutants import KINDS, Project, rows_of
from planting import Mutant, Planted

TOY = '''
"""A toy."""
HALF = 0.5


def scaled(value: float) -> float:
    """Half the value 2 * value, or half of its fraction.

    >>> scaled(1) is None
    False
    """
    if value < 0:
        raise ValueError(f"a value of {value + 1} is below {0}")
    while value > 1:
        value -= 1
    return HALF * value
'''
EFFECTIVE = """
import pytest
from toy.scaling import scaled

with open("ran", "a") as log:
    log.write("x")

def test_scaled():
    assert [scaled(0), scaled(0.5), scaled(2), scaled(3)] == [0, 0.25, 0.5, 0.5]

def test_guard():
    with pytest.raises(ValueError):
        scaled(-1)
"""
INEFFECTIVE = """
from toy.scaling import scaled

def test_scaled():
    assert scaled(3) is not None
"""
TRY = """
import sys
from pathlib import Path
from mutants import Project, main
root = Path.cwd()
options = ("-c", str(root / "pytest.ini"))
sys.path.insert(0, str(root / "src"))
places = {"source": root / "src" / "toy", "tests": root / "tests", "survivors": root / "survivors.toml", "kept": root / "kept"}
sys.exit(main(sys.argv[1:], Project(root, "toy", rows=(), page=None, options=options, preloaded=(), spare=1, **places)))
"""


def toy(folder: Path, tests: str, survivors: str = "") -> Path:
    files = {
        "src/toy/__init__.py": "",
        "src/toy/scaling.py": TOY,
        "tests/test_scaling.py": tests,
        "survivors.toml": survivors,
        "pytest.ini": "[pytest]\npythonpath = src\naddopts = --import-mode=importlib\nmarkers = slow: slow\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def tried(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(mutants.__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = [sys.executable, "-c", TRY, *words]
    return subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_what_the_tests_notice_is_killed_once_and_the_checkout_stays(tmp_path):
    folder = toy(tmp_path, EFFECTIVE)
    done = tried(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    planted = len(Planted(folder / "src/toy/scaling.py", "scaling").mutants())
    assert done.stdout.splitlines()[-1] == f"mutants: {planted} planted, {planted} killed, 0 explained, 0 unexplained"
    assert (folder / "src/toy/scaling.py").read_text("utf-8") == TOY
    ran = (folder / "ran").read_text("utf-8")
    assert tried(folder).stdout == done.stdout
    assert (folder / "ran").read_text("utf-8") == ran, "a kill is kept while its test stays as it is"


def test_an_ineffective_test_lets_mutants_survive_until_they_are_explained(tmp_path):
    """Those that loop for ever are killed all the same."""
    folder = toy(tmp_path, INEFFECTIVE)
    done = tried(folder, "scaling")
    assert done.returncode == 1
    alive = [line.partition("scaled: ")[2] for line in done.stdout.splitlines() if "scaled: " in line]
    assert "HALF * value -> HALF" in alive
    assert "value -= 1 -> value += 1" not in alive
    edits = ", ".join(f"'''{edit}'''" for edit in alive)
    entry = "[[scaling]]\nfunction = {!r}\nedits = [{}]\nreason = 'speed: a toy'\n"
    reasons = entry.format("scaled", edits) + entry.format("<module>", "'HALF = 0.5 -> HALF = 1.0'")
    (folder / "survivors.toml").write_text(reasons, "utf-8")
    again = tried(folder, "scaling")
    assert again.returncode == 0, again.stdout
    assert f"{len(alive) + 1} explained, 0 unexplained" in again.stdout
    toy(folder, EFFECTIVE, (folder / "survivors.toml").read_text("utf-8"))
    assert "explained, but a test kills it: scaled: HALF * value -> HALF" in tried(folder).stdout


def test_a_mutant_that_cannot_be_loaded_is_killed(tmp_path):
    """Its tests are not collected then, and none of them can fail."""
    folder = toy(tmp_path, INEFFECTIVE)
    (folder / "src/toy/scaling.py").write_text(TOY.replace("HALF = 0.5", "HALF = [0.1, 0.5][1]"), "utf-8")
    done = tried(folder)
    assert "[0.1, 0.5][1] -> [0.1, 0.5][0]" in done.stdout
    assert "[0.1, 0.5][1] -> [0.1, 0.5][2]" not in done.stdout


def test_tests_that_fail_by_themselves_kill_nothing(tmp_path):
    """Without an edit the module must survive; a test that needs another one to run first would kill everything."""
    folder = toy(tmp_path, "import toy.scaling\nseen = []\ndef test_a():\n    toy.scaling.scaled(1)\n    assert False\n")
    done = tried(folder)
    assert "fails while it is watched, so it meets no mutant" in done.stderr
    assert " 0 killed" in done.stdout


def keys_of(text: str, folder: Path) -> list[str]:
    path = folder / "module.py"
    path.write_text(dedent(text), "utf-8")
    return [each.key for each in Planted(path, "module").mutants()]


def test_each_edit_changes_one_token(tmp_path):
    found = keys_of("def f(x):\n    return -x * 2 < min(x, 3) or exp_up(x) / x == 1\n", tmp_path)
    assert set(found) >= {
        "f: -x * 2 < min(x, 3) -> -x * 2 <= min(x, 3)",
        "f: -x * 2 < min(x, 3) or exp_up(x) / x == 1 -> -x * 2 < min(x, 3) and exp_up(x) / x == 1",
        "f: -x * 2 -> -x / 2",
        "f: -x * 2 -> -x",
        "f: -x * 2 -> 2",
        "f: -x -> x",
        "f: -x * 2 -> -x * 3",
        "f: min(x, 3) -> max(x, 3)",
        "f: min(x, 3) -> min(x, 4)",
        "f: exp_up(x) -> exp_down(x)",
        "f: exp_up(x) / x == 1 -> exp_up(x) / x != 1",
        "f: exp_up(x) / x == 1 -> exp_up(x) / x == 0",
    }
    assert len(found) == len(set(found))


def test_texts_annotations_and_pictures_are_left_alone(tmp_path):
    text = '''
    """1 + 1"""
    from dataclasses import dataclass
    @dataclass(frozen=True)
    class A:
        x: "Annotated[int, 1 + 1]"
        def __repr__(self): return "a" * 2
        def chart(self): return 1 + 1
        def f(self) -> "int | 1":
            "1 + 1"
            if self.x: raise ValueError(1 + 1)
            return f"{1 + 1}"
    '''
    assert keys_of(text, tmp_path) == []


def test_the_name_of_a_mutant_does_not_depend_on_its_line(tmp_path):
    before = keys_of("def f(x):\n    return x + 1, x + 1\n", tmp_path)
    assert keys_of("# moved\n\ndef g(): pass\n\ndef f(x):\n\n    return x + 1, x + 1\n", tmp_path) == before
    assert before[:2] == ["f: x + 1 -> x - 1", "f: x + 1 -> x + 2"]
    assert "f: x + 1 -> x - 1 (2)" in before


def wrong_in_reasons(explained: dict[str, dict[str, str]], project: Project) -> list[str]:
    """What is explained and does not exist, and reasons of an unknown kind."""
    wrong = []
    for module, reasons in explained.items():
        keys = {each.key for each in all_mutants(project, module)}
        wrong += [f"{module}: {key}" for key in reasons if key not in keys]
        wrong += [f"{module}: {reason}" for reason in reasons.values() if reason.partition(":")[0] not in KINDS]
    return wrong


def all_mutants(project: Project, module: str) -> list[Mutant]:
    return Planted(project.modules[module], module).mutants() if module in project.modules else []


def test_what_is_explained_exists_and_has_a_reason():
    project = Project()
    assert wrong_in_reasons(project.explained, project) == []
    planted = {"laplace": {"nowhere: 1 -> 2": "speed: a block"}, "nothing": {"f: 1 -> 2": "because"}}
    assert wrong_in_reasons(planted, project) == ["laplace: nowhere: 1 -> 2", "nothing: f: 1 -> 2", "nothing: because"]


def test_the_page_has_a_row_for_modules_that_exist_and_names_the_others():
    project = Project()
    page = (passing.ROOT / "docs/reference/assurance.md").read_text("utf-8")
    section = page.partition(mutants.BEGIN)[2].partition(mutants.END)[0]
    rows = rows_of(page)
    assert rows
    assert set(rows) <= set(project.modules)
    for module in mutants.chosen_modules(project, ()):
        assert f"`{module}`" in section


def test_a_sample_of_a_real_module_is_killed(tmp_path):
    """The quick form: a few mutants of a real module, against its own tests alone."""
    script = TRY.partition("root = Path.cwd()")[0] + (
        "kept = Path(sys.argv.pop())\n"
        "sys.exit(main(sys.argv[1:], Project(rows=(), page=None, preloaded=(), alone=True, kept=kept)))"
    )
    places = [str(Path(mutants.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    run = [sys.executable, "-c", script, "unseal", "--sample", "3", str(tmp_path)]
    done = subprocess.run(run, cwd=passing.ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^mutants: ([23]) planted, \1 killed, 0 explained, 0 unexplained$", done.stdout, re.MULTILINE)
