"""Each chapter imports lower ones only: the tree of the package is a book that can be read from the front."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "tacit"
ORDER = [
    "untrusted",
    "errors",
    "files",
    "chart",
    "privacy",
    "accounting",
    "mechanisms",
    "data",
    "query",
    "release",
    "session",
    "publish",
    "evidence",
    "doors",
]
FRONT = {"__init__", "__main__"}


def chapter(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imported(tree: ast.AST) -> set[str]:
    """Every module of tacit that a tree imports, also inside functions and under TYPE_CHECKING."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "tacit"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            if node.module and node.module.split(".")[0] == "tacit":
                found |= {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "tacit" else {node.module}
    return found


def breaches(module: str, tree: ast.AST) -> set[str]:
    here = chapter(module)
    if here in FRONT:
        return set()
    rank = ORDER.index(here)
    return {name for name in imported(tree) if chapter(name) in FRONT or ORDER.index(chapter(name)) > rank}


MODULES = {
    ".".join(["tacit", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


@pytest.mark.parametrize("module", MODULES)
def test_imports_lower_chapters_only(module):
    assert breaches(module, ast.parse(MODULES[module].read_text())) == set()


def test_a_planted_breach_is_seen():
    planted = ast.parse("def f():\n    from tacit.doors.cli import main\n")
    assert breaches("tacit.privacy.loss", planted) == {"tacit.doors.cli"}
    assert breaches("tacit.doors.cli", planted) == set()


def test_there_are_nine_chapters_and_no_junk_drawer():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ORDER)
    names = {path.stem for path in SOURCE.rglob("*")}
    assert not names & {"utils", "util", "helpers", "common", "manager", "misc"}
