"""The checker stands alone: no code of tacit, Python's standard library and `cryptography`; short enough to read; in the wheel."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import cryptography
import pytest

from certified import Certified, certified, text_of
from sources import FILES, ROOT, tree_of
from tacit_certificate.check import Certificate

FOLDER = ROOT / "src" / "tacit_certificate"
MODULES = sorted(FOLDER.glob("*.py"))
EXTENSIONS = {  # read by whoever holds a certificate that needs one of them, with the most lines of code of each
    "closer": 80,
    "curve": 70,
    "margins": 120,
    "orders": 100,
    "periods": 240,
    "series": 40,
    "ways": 55,
}
MOST_LINES = 1_500  # of code, without blank lines, comments and docstrings: of all that every certificate is checked with
MOST_IN_ALL = 2_180  # docs/decisions/0019
LONGEST_FILE = 500
ALLOWED = {*sys.stdlib_module_names, "cryptography", "tacit_certificate"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    with certified(tmp_path_factory.mktemp("alone")) as clinic:
        yield clinic


def imported(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." * node.level + (node.module or "").partition(".")[0])
    return found


def test_it_imports_nothing_of_tacit() -> None:
    assert {path.name: imported(tree_of(path)) - ALLOWED for path in MODULES} == {path.name: set() for path in MODULES}
    assert imported(ast.parse("def f():\n    from tacit.accounting import filter\n")) - ALLOWED == {"tacit"}
    assert imported(ast.parse("from .. import tacit")) - ALLOWED == {".."}


def test_nothing_of_tacit_is_computed_with_it() -> None:
    """Only the command line hands files to it: whatever priced a release cannot ask the checker what to say."""
    using = {name for name, path in FILES.items() if "tacit_certificate" in imported(tree_of(path))}
    assert using == {"doors/cli/certificate.py"}


def lines_of_code(path: Path) -> int:
    text = path.read_text("utf-8")
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            told |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if number not in told and line.strip() and not line.strip().startswith("#"))


def test_it_can_be_read_in_an_afternoon() -> None:
    lines = {path.stem: lines_of_code(path) for path in MODULES}
    assert EXTENSIONS.keys() < lines.keys()
    assert sum(count for name, count in lines.items() if name not in EXTENSIONS) <= MOST_LINES
    assert {name: lines[name] for name, most in EXTENSIONS.items() if lines[name] > most} == {}
    assert sum(lines.values()) <= MOST_IN_ALL
    assert max(len(path.read_text("utf-8").splitlines()) for path in MODULES) <= LONGEST_FILE


def test_it_is_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "src/tacit_certificate" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_a_copy_of_its_folder_checks_a_certificate_and_a_ledger(made: Certified, tmp_path: Path) -> None:
    """In a Python without site-packages: only the folder, and what `cryptography` needs, can be imported."""
    alone = tmp_path / "alone"
    shutil.copytree(FOLDER, alone / "tacit_certificate", ignore=shutil.ignore_patterns("__pycache__"))
    packages = Path(cryptography.__file__).parents[1]
    for needed in [packages / "cryptography", *packages.glob("_cffi_backend*"), packages / "cffi", packages / "pycparser"]:
        if needed.exists():
            (alone / needed.name).symlink_to(needed)
    (tmp_path / "c.json").write_bytes(text_of(made.public[0]))
    code = f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; sys.path.insert(0, {str(alone)!r})\n"
    code += "import runpy; runpy.run_module('tacit_certificate', run_name='__main__')\n"

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        given = [sys.executable, "-S", "-I", "-c", code, *map(str, arguments), "--key", str(made.key_file)]
        return subprocess.run(given, capture_output=True, text=True, check=False, cwd=tmp_path)

    valid, ledger = run(tmp_path / "c.json"), run("--ledger", made.export)
    assert (valid.returncode, valid.stderr) == (0, "")
    assert "valid:" in valid.stdout
    assert ledger.returncode == 0
    (tmp_path / "c.json").write_bytes(text_of(made.public[0]).replace(b'"epsilon":"1"', b'"epsilon":"2"'))
    assert run(tmp_path / "c.json").returncode == 1
    assert subprocess.run([sys.executable, "-S", "-I", "-c", "import tacit"], capture_output=True, check=False).returncode == 1


def test_a_check_is_cheap_and_a_certificate_short(made: Certified) -> None:
    """A guard against work without a bound, not a measure of speed: a check takes a few milliseconds."""
    for document in made.public:
        assert len(text_of(document)) < 40_000
        begun = time.process_time()
        assert not Certificate(document).check(made.keys).wrong
        assert time.process_time() - begun < 2
