"""The modules, tests and other checks of a project, and which statements each test passes: for `make mutants`."""

from __future__ import annotations

import ast
import builtins
import gc
import hashlib
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from forks import Finder, Say, Session, forked, loaded
from planting import Planted

ROOT = Path(__file__).parents[2]
PRELOADED = ("numpy", "scipy.special", "scipy.optimize", "scipy.stats", "hypothesis", "hypothesis.strategies", "duckdb", "pyarrow")
PRELOADED += ("ibis", "sqlglot.optimizer", "cryptography.hazmat.primitives.ciphers", "rich.console", "mpmath")
SPARE = 2  # seconds of processor time that a test may need beside a multiple of its own


@dataclass(frozen=True)
class Project:
    """Where modules, their tests and other checks of them are; a toy has other folders than tacit."""

    root: Path = ROOT
    package: str = "tacit.mechanisms"
    source: Path = ROOT / "src" / "tacit" / "mechanisms"
    tests: Path = ROOT / "tests" / "mechanisms"
    rows: tuple[str, ...] = ("tests/evidence/verify/test_plants_suite.py::test_every_mechanism_is_within_its_claim",)
    survivors: Path = ROOT / "tests" / "mechanisms" / "survivors.toml"
    kept: Path = ROOT / ".mutants"
    page: Path | None = ROOT / "docs" / "reference" / "assurance.md"
    options: tuple[str, ...] = ()
    preloaded: tuple[str, ...] = PRELOADED
    alone: bool = False  # whether a module meets its own tests only
    spare: float = SPARE

    @cached_property
    def modules(self) -> dict[str, Path]:
        return {str(path.relative_to(self.source).with_suffix("")): path for path in sorted(self.source.rglob("*.py"))}

    def name(self, module: str) -> str:
        return f"{self.package}.{module.replace('/', '.')}"

    def own_tests(self, module: str) -> str | None:
        path = self.tests / Path(module).parent / f"test_{Path(module).name}.py"
        return str(path.relative_to(self.root)) if path.is_file() else None

    @cached_property
    def importing(self) -> dict[str, set[str]]:
        """The modules that each file of tests imports."""
        return {str(path.relative_to(self.root)): _imported(path) for path in sorted(self.tests.rglob("test_*.py"))}

    def near_tests(self, module: str) -> list[str]:
        """The files with the tests of a module: its own, and the examples in its docstrings."""
        own = self.own_tests(module)
        examples = [] if self.alone else [str(self.modules[module].relative_to(self.root))]
        return [*([own] if own else []), *examples]

    def far_tests(self, module: str) -> list[str]:
        """Other files that pass the code of a module, those that import it first, and the rows."""
        if self.alone:
            return []
        name, own = self.name(module), self.own_tests(module)
        passing = [file for file in self.importing if file != own and (name in self.importing[file] or self._pass(file, module))]
        return [*sorted(passing, key=lambda file: name not in self.importing[file]), *self.rows]

    def _pass(self, file: str, module: str) -> bool:
        return any(each.test and module in each.lines for each in measured(self, file))

    @cached_property
    def explained(self) -> dict[str, dict[str, str]]:
        """The reasons of survivors, by module and key."""
        if not self.survivors.is_file():
            return {}
        listed = tomllib.loads(self.survivors.read_text("utf-8"))
        return {
            module: {f"{each['function']}: {edit}": each["reason"] for each in entries for edit in each["edits"]}
            for module, entries in listed.items()
        }


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


# --- which statements a test passes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Passing:
    """A test, its processor time, and the statements that it passes, as lines by module; without a name, what loads its file."""

    test: str
    seconds: float
    lines: dict[str, list[int]]


def measured(project: Project, file: str) -> list[Passing]:
    """What each test of a file passes; kept until the file, a module or this measurement changes."""
    sources = [path.read_text("utf-8") for path in project.modules.values()]
    own = [Path(__file__).with_name(f"{name}.py").read_text("utf-8") for name in ("passing", "planting", "forks")]
    key = digest((project.root / file.partition("::")[0]).read_text("utf-8"), *sources, *own)
    kept = project.kept / "passed" / f"{digest(file)}.json"
    if kept.is_file() and (old := json.loads(kept.read_text("utf-8")))["key"] == key:
        return [Passing(**each) for each in old["tests"]]

    def work(say: Say) -> int:
        passed: set[tuple[str, int]] = set()
        vars(builtins)["__passed__"] = lambda file, line: passed.add((file, line))
        paths = {module: path for module, path in project.modules.items() if path.stem != "__init__"}
        watching = Finder({project.name(module): Planted(path, module).watched() for module, path in paths.items()})
        sys.meta_path.insert(0, watching)
        session = Session(lambda session: say(json.dumps(_measured(project, session, passed))))
        return loaded(project.root, project.options, [file], session, watching)

    result = forked(work, wait=True)
    lines = result.said.splitlines()
    tests = json.loads(lines[-1]) if lines and lines[-1].startswith("[") else None
    if tests is None:
        raise SystemExit(f"{file}: pytest cannot collect the tests; repair them first: {result.said[-500:]}")
    for each in tests:
        if each["seconds"] < 0:
            print(f"{each['test']}: fails while it is watched, so it meets no mutant", file=sys.stderr)
    tests = [each for each in tests if each["seconds"] >= 0]
    write(kept, json.dumps({"key": key, "tests": tests}))
    return [Passing(**each) for each in tests]


def _measured(project: Project, session: Session, passed: set[tuple[str, int]]) -> list[dict[str, Any]]:
    """Runs all tests, with functions that say which statements they pass."""
    by_file = {str(path): module for module, path in project.modules.items()}

    def lines_of(seen: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
        lines: dict[str, list[int]] = {}
        for file, line in sorted(seen):
            lines.setdefault(by_file[file], []).append(line)
        return lines

    found: list[dict[str, Any]] = [{"test": "", "seconds": 0.0, "lines": lines_of(passed)}]
    caches = [
        each
        for each in gc.get_objects()
        if hasattr(type(each), "cache_clear") and getattr(each, "__module__", "").startswith(project.package)
    ]
    shared: dict[Any, set[tuple[str, int]]] = {}
    if not session.items:
        return found
    session.items[0].config.pluginmanager.register(_Fixtures(passed, shared))
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        for each in caches:
            each.cache_clear()
        passed.clear()
        session.failed, start = "", time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        seconds = -1.0 if session.failed else time.process_time() - start
        named = getattr(item, "_fixtureinfo", None)
        used = {each for definitions in (named.name2fixturedefs.values() if named else ()) for each in definitions}
        seen = passed.union(*(lines for definition, lines in shared.items() if definition in used))
        found.append({"test": item.nodeid, "seconds": seconds, "lines": lines_of(seen)})
    return found


@dataclass(eq=False)
class _Fixtures:
    """What a fixture passes that several tests share counts for each of them."""

    passed: set[tuple[str, int]]
    shared: dict[Any, set[tuple[str, int]]]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = set(self.passed)
        self.passed.clear()
        yield
        if fixturedef.scope != "function":
            self.shared[fixturedef] = set(self.passed)
        self.passed |= before


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".new{os.getpid()}")
    new.write_text(text, "utf-8")
    new.replace(path)
