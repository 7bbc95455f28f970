"""The way of a question is short: how many files of tacit a reader opens to follow one road, traced as it is walked.

A file counts if one of its functions is called. Modules are imported before, and what a class body does is not a call. Each limit
is what the tree has reached: a change that makes a road longer joins files first, or says here why the road needs one more.
"""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sources import MODULES, ROOT, SOURCE, nodes, tree_of

# Answers are kept with their released numbers, packed behind the fingerprint of their quote: two files on each road of a question.
# A request passes the file that tells the API from the console.
LIMITS = {
    "count": 84,
    "grouped mean": 89,
    "prepare": 46,
    "request": 99,
    "graph": 19,
}  # a request passes the file that tells the API from the console
MOST_LONELY = 10  # modules of fewer than SMALL lines whose only user stands beside them
SMALL = 100
LEAST_IN_A_FOLDER = 3  # modules, its own `__init__.py` among them, and folders
AT_THEIR_PATH = 0.8  # share of the files of tests
ROADS = Path(__file__).parent / "support" / "roads.py"


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The files of each road, walked in one process of their own."""
    folder = tmp_path_factory.mktemp("roads")
    done = subprocess.run([sys.executable, ROADS, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("road", LIMITS)
def test_no_road_grows(walked, road):
    assert len(walked[road]) <= LIMITS[road], f"{road}: {walked[road]}"


def test_the_trace_sees_what_is_called(walked):
    assert "session.py" in walked["grouped mean"]
    assert "mechanisms/laplace.py" in walked["grouped mean"]
    assert "doors/server/front.py" in walked["request"]
    assert not [file for road in walked.values() for file in road if file.startswith("evidence")]


# --- rooms that belong into their only user ----------------------------------------------------------------------------------


def users() -> dict[str, set[str]]:
    """The modules that import each module, wherever in it."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        for node in nodes(tree_of(path), ast.Import, ast.ImportFrom):
            base = node.module if isinstance(node, ast.ImportFrom) else None
            for alias in node.names:
                name = f"{base}.{alias.name}" if base and f"{base}.{alias.name}" in MODULES else base or alias.name
                found.setdefault(name, set()).add(module)
    return found


def lonely(used: dict[str, set[str]], lines: dict[str, int]) -> list[str]:
    """Small modules whose only user stands beside them."""
    return sorted(
        module
        for module, by in used.items()
        if len(by) == 1
        and lines.get(module, SMALL) < SMALL
        and {each.rpartition(".")[0] for each in by} == {module.rpartition(".")[0]}
    )


def test_few_small_modules_have_one_user_beside_them():
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items() if name.count(".") > 1}
    alone = lonely(users(), lines)
    assert len(alone) <= MOST_LONELY, alone
    assert lonely({"a.b": {"a.c"}, "a.d": {"a.c", "a.b"}, "a.e": {"f.g"}}, {"a.b": 99, "a.d": 9, "a.e": 9}) == ["a.b"]


def sparse(modules: list[Path]) -> list[str]:
    """Folders with too few modules and folders."""
    members = Counter(path.parent for path in modules) + Counter(path.parents[1] for path in modules if path.name == "__init__.py")
    return sorted(str(folder) for folder in {path.parent for path in modules} if members[folder] < LEAST_IN_A_FOLDER)


def test_a_folder_has_at_least_three_modules():
    assert sparse(list(MODULES.values())) == []
    planted = ["a/__init__.py", "a/one.py", "a/b/__init__.py", "a/b/two.py"]
    assert sparse([Path(each) for each in planted]) == ["a/b"]


# --- tests stand where their module does -------------------------------------------------------------------------------------


def module_of(test: str) -> str | None:
    """The module or folder at whose path a file of tests stands: test_laplace.py, or test_laplace_on_paper.py for a part of it."""
    folder, words = SOURCE / Path(test).parent, Path(test).stem.removeprefix("test_").split("_")
    names = ["_".join(words[:length]) for length in range(len(words), 0, -1)]
    return next((name for name in names if (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()), None)


def test_most_tests_stand_at_the_path_of_their_module():
    files = [str(path.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("test_*.py")]
    elsewhere = [file for file in files if module_of(file) is None]
    assert 1 - len(elsewhere) / len(files) >= AT_THEIR_PATH, elsewhere
    assert (module_of("mechanisms/test_laplace.py"), module_of("mechanisms/test_nowhere.py")) == ("laplace", None)
