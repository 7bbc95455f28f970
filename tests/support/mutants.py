"""`make mutants`: plants single-token edits in the mechanisms and samplers, and prints which of them no test notices.

    make mutants                    every module of src/tacit/mechanisms; hours, and goes on where it was ended
    make mutants MODULES=laplace    one module, or several; a folder such as noise stands for all in it

The checkout is never edited. First each test runs once, to see which statements it passes. Then a mutant meets the tests that pass
its statement: those of its own file and its docstrings, and if it survives without a reason, those of other files beside the code
and the quick rows of `tacit verify`. It meets them in a fork of a process that has loaded them, where the code of its functions is
put in place. What runs only when a module is loaded, and what survives and runs when tests are loaded, meets them in a process that
loads the mutant instead of the module. A test that fails, or that needs far more processor time than usual, has killed the mutant.

Survivors are explained in tests/mechanisms/survivors.toml, by module, function and edit; the exit code is 1 if any other survives.
Results are kept in .mutants: a kill until the module or the test that killed changes, a survival until any of its tests changes.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.abc
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fingerprints import fingerprint
from forks import (
    MISPLACED,
    NOT_WHOLE,
    Finder,
    Say,
    Session,
    forked,
    functions_of,
    in_forks,
    killer,
    limit_time,
    loaded,
    put_in_place,
    write_whole,
)
from passing import Passing, Project, digest, measured, write
from planting import Mutant, Planted

KINDS = ("equivalent", "message", "picture", "speed", "wider", "guard", "unreachable")  # with what the reason of a survivor begins
SLOWER = 8  # times its processor time, and a few seconds more: what a test may need
PATIENCE = 15.0  # seconds of processor time for the tests of other files and the rows, the quickest first
SHORT = 1.0  # and for a mutant with a reason, of the tests nearby
COUNTED = ("planted", "killed", "explained", "unexplained")
BEGIN, END = "<!-- make mutants: begin -->", "<!-- make mutants: end -->"
HEAD = f"| module | {' | '.join(COUNTED)} | commit |\n|---|---|---|---|---|---|"
ROW = re.compile(r"^\| `([\w/]+)` \|(?: \d+ \|){4} `[0-9a-f]{8}` \|$", re.MULTILINE)


# --- one module --------------------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """All mutants of one module: each against the tests nearby, and what they leave without a reason against all others."""

    project: Project
    module: str
    jobs: int = 2
    limit: int = 0  # of mutants, spread over the module; 0 for all
    patience: float = PATIENCE
    nearby: bool = False  # whether the tests of other files are left out

    @cached_property
    def planted(self) -> Planted:
        return Planted(self.project.modules[self.module], self.module)

    @cached_property
    def mutants(self) -> list[Mutant]:
        everything = self.planted.mutants()
        return everything[:: math.ceil(len(everything) / self.limit)] if self.limit else everything

    @cached_property
    def source(self) -> str:
        """A hash of the module without what no mutant is planted in: docstrings, comments and the words of errors."""
        return fingerprint(ast.parse(self.planted.path.read_text("utf-8")).body)

    @cached_property
    def reasons(self) -> dict[str, str]:
        return self.project.explained.get(self.module, {})

    @cached_property
    def near(self) -> list[str]:
        return self.project.near_tests(self.module)

    @cached_property
    def far(self) -> list[str]:
        return self.project.far_tests(self.module)

    def run(self) -> dict[str, str]:
        """The test that killed each mutant, by its key; an empty text if none did."""
        results = {key: by for key, by in self.known().items() if key in {each.key for each in self.mutants}}
        for near in (True,) if self.nearby else (True, False):
            waiting = [each for each in self.mutants if each.key not in results]
            if not waiting:
                break
            for key, by in Meeting(self, self.near if near else self.far, near).verdicts(waiting):
                if by or not near or key in self.reasons:
                    results[key] = by
                    self._progress(results)
            self.keep(results)
        return results

    def _progress(self, results: dict[str, str]) -> None:
        if sys.stderr.isatty() or len(results) % 50 == 0:
            print(f"\r{self.module}: {len(results)} of {len(self.mutants)}", end="", file=sys.stderr, flush=True)
        if len(results) % 5 == 0:
            self.keep(results)

    # results that are kept

    @property
    def kept(self) -> Path:
        return self.project.kept / f"{self.module.replace('/', '.')}.json"

    def known(self) -> dict[str, str]:
        """What killed each mutant, or an empty text, where that still holds."""
        if not self.kept.is_file():
            return {}
        old = json.loads(self.kept.read_text("utf-8"))
        if old["module"] != self.source:
            return {}
        return {key: each["by"] for key, each in old["mutants"].items() if each["valid"] == self._valid(key, each["by"])}

    def keep(self, results: dict[str, str]) -> None:
        mutants = {key: {"by": by, "valid": self._valid(key, by)} for key, by in results.items()}
        write(self.kept, json.dumps({"module": self.source, "mutants": mutants}, indent=1))

    def _valid(self, key: str, by: str) -> str:
        """A hash of the tests on which a result rests: the one that killed, or all that did not."""
        name = by or ("near" if key in self.reasons else "all")
        if name not in self._digests:
            self._digests[name] = (
                self._digest_of_test(by) if by else self._digest_of(self.near if name == "near" else [*self.near, *self.far])
            )
        return self._digests[name]

    def _digest_of(self, files: Sequence[str]) -> str:
        return digest(*((self.project.root / file.partition("::")[0]).read_text("utf-8") for file in files))

    def _digest_of_test(self, name: str) -> str:
        file, _, function = name.partition("::")
        if not (self.project.root / file).is_file():
            return digest(name)
        text = (self.project.root / file).read_text("utf-8")
        tree = self._trees.setdefault(file, ast.parse(text))
        named = [node for node in ast.walk(tree) if getattr(node, "name", "") == function.partition("[")[0].rpartition("::")[2]]
        return digest(ast.dump(named[0])) if named else digest(text)

    _trees: dict[str, ast.Module] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)


@dataclass
class Meeting:
    """Mutants of a module and the tests of some files: those nearby, or those of other files and the rows."""

    trial: Trial
    files: list[str]
    near: bool
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)  # by function and test
    met: Counter[str] = field(default_factory=Counter)  # by function

    @cached_property
    def passing(self) -> dict[str, Passing]:
        """The tests by their names."""
        return {each.test: each for file in self.files for each in measured(self.trial.project, file) if each.test}

    @cached_property
    def at_load(self) -> set[int]:
        """The statements that are passed when the tests are loaded: what they have made by then is not the mutant's."""
        loading = [each for file in self.files for each in measured(self.trial.project, file) if not each.test]
        return {line for each in loading for line in each.lines.get(self.trial.module, ())}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that pass a mutant's statement, for one that runs at import any statement, the most promising first.

        That is the least time for a kill, by how many mutants of the same function each test has killed so far. A mutant with a
        reason meets the quickest tests alone.
        """
        distance = {file.partition("::")[0]: 0 if self.near else place / 10 for place, file in enumerate(self.files)}

        def meets(each: Passing) -> bool:
            lines = each.lines.get(self.trial.module, [])
            return bool(lines) if mutant.at_import else mutant.statement in lines

        def cost(each: Passing) -> float:
            return (each.seconds + 0.01) * (1 + distance.get(each.test.partition("::")[0], 0))

        def worth(each: Passing) -> float:
            return cost(each) * (1 + self.met[mutant.function]) / (1 + self.kills[mutant.function, each.test])

        explained = mutant.key in self.trial.reasons
        left = SHORT if explained else math.inf if self.near else self.trial.patience
        chosen = []
        for each in sorted(filter(meets, self.passing.values()), key=cost):
            left -= each.seconds
            if left > 0:
                chosen.append(each)
        return [each.test for each in sorted(chosen, key=worth)]

    def verdicts(self, waiting: Sequence[Mutant]) -> Iterator[tuple[str, str]]:
        """The mutants by their keys, and what killed them, or an empty text."""
        by_key = {each.key: each for each in waiting}
        untested = {each.key for each in waiting if not self.tests_of(each)}
        if not self.near:
            yield from ((key, "") for key in untested)
            waiting = [each for each in waiting if each.key not in untested]
        again = [each for each in waiting if each.at_import or each.key in untested]
        swapped = [each for each in waiting if not each.at_import and each.key not in untested]
        count = 0
        for key, by, whole in self._swapped(swapped):
            if not key:
                self._require_control(by)
                continue
            count += 1
            if not by and (not whole or by_key[key].statement in self.at_load):
                again.append(by_key[key])
            else:
                yield key, by
        if count < len(swapped):
            raise SystemExit(f"{self.trial.module}: pytest cannot load its tests together")
        killers = set()
        for mutant, child in in_forks(((each, self._loading(each)) for each in again), self.trial.jobs):
            by = killer(child)
            self._note(mutant, by)
            killers.add(by)
            yield mutant.key, by
        if again:
            self._require_control(killer(forked(self._loading(None, killers), wait=True)))

    def _note(self, mutant: Mutant, by: str) -> None:
        self.met[mutant.function] += 1
        self.kills[mutant.function, by] += bool(by)

    def _require_control(self, by: str) -> None:
        """The module without any edit must survive the tests that killed, or every verdict would mean nothing."""
        if by:
            self.trial.kept.unlink(missing_ok=True)
            raise SystemExit(f"{self.trial.module}: killed without any edit, by {by}; no verdict on this module means anything")

    def _swapped(self, mutants: list[Mutant]) -> Iterator[tuple[str, str, bool]]:
        """The mutants, what killed them, and whether all of their code was in place, each in a fork of a process with all tests."""
        if not mutants:
            return
        self.passing  # noqa: B018  # measured before all tests are loaded
        project = self.trial.project
        receive, send = os.pipe()
        inner = os.fork()
        if inner == 0:
            os.close(receive)
            try:
                quiet = os.open(os.devnull, os.O_RDWR)
                os.dup2(quiet, 1)
                os.dup2(quiet, 2)
                loaded(project.root, project.options, self.files, Session(lambda session: self._swap_all(session, mutants, send)))
            finally:
                os._exit(0)
        os.close(send)
        with os.fdopen(receive, encoding="utf-8") as lines:
            for line in lines:
                key, by, whole = json.loads(line)
                yield key, by, whole
        os.waitpid(inner, 0)

    def _swap_all(self, session: Session, mutants: list[Mutant], pipe: int) -> None:
        items = {item.nodeid: item for item in session.items}
        planted = self.trial.planted
        functions = functions_of(str(planted.path))
        gc.freeze()  # what a fork does not touch stays shared

        def task(mutant: Mutant | None) -> Callable[[Say], int]:
            def work(say: Say) -> int:
                if not put_in_place(planted.code(mutant), functions):
                    return NOT_WHOLE
                chosen = [items[name] for name in (self.tests_of(mutant) if mutant else sorted(killers)) if name in items]
                return int(bool(session.first_failed(chosen, self._allowed, say)))

            return work

        killers = set()
        for mutant, child in in_forks(((each, task(each)) for each in mutants), self.trial.jobs):
            whole = child.code != NOT_WHOLE
            by = killer(child) if whole else ""
            self._note(mutant, by)
            killers.add(by)
            write_whole(pipe, f"{json.dumps([mutant.key, by, whole])}\n".encode())
        write_whole(pipe, f"{json.dumps(['', killer(forked(task(None), wait=True)), True])}\n".encode())

    @cached_property
    def _allowed(self) -> dict[str, float]:
        """Processor time that each test may need."""
        return {name: SLOWER * each.seconds + self.trial.project.spare for name, each in self.passing.items()}

    def _loading(self, mutant: Mutant | None, tests: Collection[str] = ()) -> Callable[[Say], int]:
        """Loads the mutant in the place of its module, and runs its tests; without a mutant, these tests."""
        project = self.trial.project
        name = project.name(self.trial.module)

        def work(say: Say) -> int:
            names = self.tests_of(mutant) if mutant else sorted(test for test in tests if test in self.passing)
            files = list(dict.fromkeys(test.partition("::")[0] for test in names))
            finder = Finder({name: self.trial.planted.code(mutant)})
            sys.meta_path.insert(0, finder)
            limit_time(60)
            code = [1]

            def run(session: Session) -> None:
                if sys.modules[name].__loader__ is not finder:
                    say(MISPLACED)
                    return
                items = {item.nodeid: item for item in session.items}
                if not items or session.items[0].session.testsfailed:
                    return  # a file of tests cannot be loaded with the mutant, which kills it
                chosen = [items[test] for test in names if test in items]
                code[0] = int(bool(session.first_failed(chosen, self._allowed, say)))

            if files:
                loaded(project.root, project.options, files, Session(run), finder)
                return code[0]
            importlib.import_module(name)
            return 0

        return work


# --- the recipe --------------------------------------------------------------------------------------------------------------


def chosen_modules(project: Project, names: Sequence[str]) -> list[str]:
    """The modules of these names, or in these folders, in their order, that have anything to edit; all without names."""
    unknown = [name for name in names if name not in project.modules and not (project.source / name).is_dir()]
    if unknown:
        raise SystemExit(f"unknown modules: {', '.join(unknown)}; expected paths below {project.source.relative_to(project.root)}")
    wanted = [each for name in names for each in project.modules if each == name or each.startswith(f"{name}/")]
    return [each for each in dict.fromkeys(wanted if names else project.modules) if Planted(project.modules[each], each).mutants()]


def report(project: Project, module: str, results: dict[str, str], mutants: Sequence[Mutant]) -> Counter[str]:
    """Prints what came of a module, and every survivor without a reason."""
    reasons = project.explained.get(module, {})
    alive = [each for each in mutants if not results.get(each.key)]
    unexplained = [each for each in alive if each.key not in reasons]
    count = Counter(planted=len(mutants), killed=len(mutants) - len(alive), explained=len(alive) - len(unexplained))
    count["unexplained"] = len(unexplained)
    print(f"{module}: {shown(count)}", flush=True)
    for each in unexplained:
        print(f"    {project.modules[module].relative_to(project.root)}:{each.line} {each.key}")
    for key in sorted(set(reasons) & {each.key for each in mutants} - {each.key for each in alive}):
        print(f"    explained, but a test kills it: {key}")
    return count


def shown(count: Counter[str]) -> str:
    return ", ".join(f"{count[name]:,} {name}" for name in COUNTED)


def rows_of(page: str) -> dict[str, str]:
    """The rows of the page by module."""
    return {found[1]: found[0] for found in ROW.finditer(page.partition(BEGIN)[2].partition(END)[0])}


def written(page: str, project: Project, module: str, count: Counter[str]) -> str:
    """The page with one module's numbers in the place of its last ones, and the names of the modules without any."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project.root, capture_output=True, text=True, check=True).stdout[:8]
    numbers = " | ".join(f"{count[name]}" for name in COUNTED)
    known = {**rows_of(page), module: f"| `{module}` | {numbers} | `{commit}` |"}
    rows = [known[each] for each in project.modules if each in known]
    waiting = [f"`{each}`" for each in chosen_modules(project, ()) if each not in known]
    before, _, rest = page.partition(BEGIN)
    missing = [f"Not run yet: {', '.join(waiting)}.", ""] if waiting else []
    return "\n".join([f"{before}{BEGIN}", "", HEAD, *rows, "", *missing, END]) + rest.partition(END)[2]


def main(words: Sequence[str], project: Project | None = None) -> int:
    parser = argparse.ArgumentParser(description="Plant single-token edits and show which of them no test notices.")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--sample", type=int, default=0, help="mutants of each module; all by default")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for the tests of other files and the rows")
    parser.add_argument("--nearby", action="store_true", help="leave out the tests of other files and the rows: a quick look")
    given = parser.parse_args(words)
    project = project or Project()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    sys.path.insert(0, str(project.root))  # as `python -m pytest` does: processes that a test starts import the test from there
    for name in project.preloaded:
        importlib.import_module(name)
    gc.freeze()  # so that no fork looks for garbage in what is loaded here
    total: Counter[str] = Counter()
    for module in chosen_modules(project, given.modules):
        trial = Trial(project, module, given.jobs, given.sample, given.patience, given.nearby)
        count = report(project, module, trial.run(), trial.mutants)
        total += count
        if project.page and not given.sample and not (given.nearby and count["unexplained"]):
            project.page.write_text(written(project.page.read_text("utf-8"), project, module, count), "utf-8")
    gc.unfreeze()
    print(f"mutants: {shown(total)}")
    return int(total["unexplained"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
