"""`make mutants`: plants single-token edits in the mechanisms and samplers, and prints which of them no test notices.

    make mutants                    every module of src/tacit/mechanisms; hours, and goes on where it was ended
    make mutants MODULES=laplace    one module, or several; a folder such as noise stands for all in it

The checkout is never edited. First every test beside the code and every quick row of `tacit verify` runs once, to see which
statements it passes. Then a mutant meets the tests that pass its statement, the nearest and quickest first: those of its own file,
those of files that import its module, and the rows. It meets them in a fork of a process that has loaded everything, where the
code of its functions is put in place. What runs only when a module is loaded, and what survives and runs when tests are loaded,
meets them in a process that loads the mutant instead of the module. A test that fails, or that needs far more processor time than
usual, has killed the mutant.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from forks import (
    MISPLACED,
    NOT_WHOLE,
    Finder,
    Say,
    Session,
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
COUNTED = ("planted", "killed", "explained", "unexplained")
BEGIN, END = "<!-- make mutants: begin -->", "<!-- make mutants: end -->"
HEAD = f"| module | {' | '.join(COUNTED)} | commit |\n|---|---|---|---|---|---|"
ROW = re.compile(r"^\| `([\w/]+)` \|(?: \d+ \|){4} `[0-9a-f]{8}` \|$", re.MULTILINE)


# --- one module --------------------------------------------------------------------------------------------------------------


@dataclass
class Trial:
    """All mutants of one module against its tests."""

    project: Project
    module: str
    jobs: int = 2
    limit: int = 0  # of mutants, spread over the module; 0 for all
    patience: float = PATIENCE

    @cached_property
    def planted(self) -> Planted:
        return Planted(self.project.modules[self.module], self.module)

    @cached_property
    def mutants(self) -> list[Mutant]:
        everything = self.planted.mutants()
        return everything[:: math.ceil(len(everything) / self.limit)] if self.limit else everything

    @cached_property
    def tests(self) -> list[str]:
        return self.project.chosen_tests(self.module)

    @cached_property
    def passing(self) -> dict[str, Passing]:
        """The tests by their names, in the order of their files: those of its own file are nearest."""
        return {each.test: each for file in self.tests for each in measured(self.project, file) if each.test}

    @cached_property
    def at_load(self) -> set[int]:
        """The statements that are passed when the tests are loaded: what they have made by then is not the mutant's."""
        loading = [each for file in self.tests for each in measured(self.project, file) if not each.test]
        return {line for each in loading for line in each.lines.get(self.module, ())}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that pass a mutant's statement, for one that runs at import any statement; nearest and quickest first."""
        own = self.project.own_tests(self.module)

        def meets(each: Passing) -> bool:
            lines = each.lines.get(self.module, [])
            return bool(lines) if mutant.at_import else mutant.statement in lines

        near = {file.partition("::")[0]: place for place, file in enumerate(self.tests)}

        def order(each: Passing) -> tuple[bool, float]:
            return each.test.partition("::")[0] != own, each.seconds * (1 + near.get(each.test.partition("::")[0], 0) / 10)

        chosen, left = [], self.patience
        for each in sorted(filter(meets, self.passing.values()), key=order):
            left -= each.seconds if order(each)[0] else 0
            if left > 0:
                chosen.append(each.test)
        return chosen

    def own(self) -> list[str]:
        file = self.project.own_tests(self.module)
        return [test for test in self.passing if file and test.startswith(f"{file}::")]

    # results that are kept

    @property
    def kept(self) -> Path:
        return self.project.kept / f"{self.module.replace('/', '.')}.json"

    def known(self) -> dict[str, str]:
        """What killed each mutant, or an empty text, where that still holds."""
        if not self.kept.is_file():
            return {}
        source, old = digest(self.planted.path.read_text("utf-8")), json.loads(self.kept.read_text("utf-8"))
        if old["module"] != source:
            return {}
        return {key: each["by"] for key, each in old["mutants"].items() if each["valid"] == self._valid(each["by"])}

    def keep(self, results: dict[str, str]) -> None:
        mutants = {key: {"by": by, "valid": self._valid(by)} for key, by in results.items()}
        write(self.kept, json.dumps({"module": digest(self.planted.path.read_text("utf-8")), "mutants": mutants}, indent=1))

    def _valid(self, by: str) -> str:
        """A hash of the tests on which a result rests: the one that killed, or all that did not."""
        if by:
            return self._digest_of_test(by)
        return digest(*((self.project.root / file.partition("::")[0]).read_text("utf-8") for file in self.tests))

    def _digest_of_test(self, name: str) -> str:
        file, _, function = name.partition("::")
        if not (self.project.root / file).is_file():
            return digest(name)
        text = (self.project.root / file).read_text("utf-8")
        tree = self._trees.setdefault(file, ast.parse(text))
        named = [node for node in ast.walk(tree) if getattr(node, "name", "") == function.partition("[")[0].rpartition("::")[2]]
        return digest(ast.dump(named[0])) if named else digest(text)

    _trees: dict[str, ast.Module] = field(default_factory=dict)

    # the run

    def run(self) -> dict[str, str]:
        """What killed each mutant, by its key; an empty text if nothing did."""
        results = {key: by for key, by in self.known().items() if key in {each.key for each in self.mutants}}
        waiting = [each for each in self.mutants if each.key not in results]
        if not waiting:
            return results
        quick = [each for each in waiting if not each.at_import and self.tests_of(each)]
        survived = {each.key for each in waiting} - {each.key for each in quick}
        statements = {each.key: each.statement for each in quick}
        for key, by, whole in self._swapped(quick):
            if not key:
                self._require_control(by)
            elif not by and (not whole or statements[key] in self.at_load):
                survived.add(key)
            else:
                results[key] = by
                self._progress(results)
        if {each.key for each in waiting} - set(results) - survived:
            raise SystemExit(f"{self.module}: pytest cannot load its tests together")
        self.keep(results)
        again = [each for each in waiting if each.key in survived]
        for mutant, child in in_forks(((each, self._loading(each)) for each in (None, *again) if again), self.jobs):
            if mutant is None:
                self._require_control(killer(child))
                continue
            results[mutant.key] = killer(child)
            self._progress(results)
        self.keep(results)
        return results

    def _require_control(self, by: str) -> None:
        """The module without any edit must survive, or every verdict would mean nothing."""
        if by:
            raise SystemExit(f"{self.module}: killed without any edit, by {by}; no verdict on this module means anything")

    def _progress(self, results: dict[str, str]) -> None:
        if sys.stderr.isatty() or len(results) % 50 == 0:
            print(f"\r{self.module}: {len(results)} of {len(self.mutants)}", end="", file=sys.stderr, flush=True)
        if len(results) % 5 == 0:
            self.keep(results)

    def _swapped(self, mutants: list[Mutant]) -> Iterator[tuple[str, str, bool]]:
        """The mutants, what killed them, and whether all of their code was in place, each in a fork of a process with all tests."""
        if not mutants:
            return
        self.passing  # noqa: B018  # measured before all tests are loaded
        receive, send = os.pipe()
        inner = os.fork()
        if inner == 0:
            os.close(receive)
            try:
                quiet = os.open(os.devnull, os.O_RDWR)
                os.dup2(quiet, 1)
                os.dup2(quiet, 2)
                loaded(
                    self.project.root,
                    self.project.options,
                    self.tests,
                    Session(lambda session: self._swap_all(session, mutants, send)),
                )
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
        functions = functions_of(str(self.planted.path))
        gc.freeze()  # what a fork does not touch stays shared

        def task(mutant: Mutant | None) -> Callable[[Say], int]:
            def work(say: Say) -> int:
                if not put_in_place(self.planted.code(mutant), functions):
                    return NOT_WHOLE
                chosen = [items[name] for name in (self.tests_of(mutant) if mutant else self.own()) if name in items]
                return int(bool(session.first_failed(chosen, self._allowed, say)))

            return work

        for mutant, child in in_forks(((each, task(each)) for each in (None, *mutants)), self.jobs):
            whole = child.code != NOT_WHOLE
            verdict = [mutant.key if mutant else "", killer(child) if whole else "", whole]
            write_whole(pipe, f"{json.dumps(verdict)}\n".encode())

    @cached_property
    def _allowed(self) -> dict[str, float]:
        """Processor time that each test may need."""
        return {name: SLOWER * each.seconds + self.project.spare for name, each in self.passing.items()}

    def _loading(self, mutant: Mutant | None) -> Callable[[Say], int]:
        """Loads the mutant in the place of its module, and runs its tests."""
        names = self.tests_of(mutant) if mutant else self.own()
        files = list(dict.fromkeys(name.partition("::")[0] for name in names))

        def work(say: Say) -> int:
            name = self.project.name(self.module)
            finder = Finder({name: self.planted.code(mutant)})
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
                chosen = [items[name] for name in names if name in items]
                code[0] = int(bool(session.first_failed(chosen, self._allowed, say)))

            if files:
                loaded(self.project.root, self.project.options, files, Session(run), finder)
                return code[0]
            importlib.import_module(self.project.name(self.module))
            return 0

        return work


# --- the recipe --------------------------------------------------------------------------------------------------------------


def chosen_modules(project: Project, names: Sequence[str]) -> list[str]:
    """The modules of these names, or in these folders, that have anything to edit; all without names."""
    unknown = [name for name in names if name not in project.modules and not (project.source / name).is_dir()]
    if unknown:
        raise SystemExit(f"unknown modules: {', '.join(unknown)}; expected paths below {project.source.relative_to(project.root)}")
    wanted = [each for each in project.modules if not names or each in names or any(each.startswith(f"{name}/") for name in names)]
    return [each for each in wanted if Planted(project.modules[each], each).mutants()]


def report(project: Project, module: str, results: dict[str, str], mutants: Sequence[Mutant]) -> Counter[str]:
    """Prints what came of a module, and every survivor without a reason."""
    reasons = project.explained.get(module, {})
    alive = [each for each in mutants if not results[each.key]]
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
    given = parser.parse_args(words)
    project = project or Project()
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    sys.path.insert(0, str(project.root))  # as `python -m pytest` does: processes that a test starts import the test from there
    for name in project.preloaded:
        importlib.import_module(name)
    total: Counter[str] = Counter()
    for module in chosen_modules(project, given.modules):
        trial = Trial(project, module, given.jobs, given.sample, given.patience)
        count = report(project, module, trial.run(), trial.mutants)
        total += count
        if project.page and not given.sample:
            project.page.write_text(written(project.page.read_text("utf-8"), project, module, count), "utf-8")
    print(f"mutants: {shown(total)}")
    return int(total["unexplained"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
