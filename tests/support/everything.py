"""`make everything`: all that is checked, one step after another on one tree, with a summary and a page of the documentation.

    make everything                       runs every step that has not passed on this tree yet
    make everything STEPS="kills mutants" runs these alone

A step that failed does not stop those after it; the exit code is 1 if any step did not pass. What passed is remembered in a folder
that Git ignores, under a hash of all committed files but the page, so that a run that was ended goes on where it was, and the
page can be committed afterwards. With uncommitted changes every step runs, nothing is remembered and the page stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- make everything: begin -->", "<!-- make everything: end -->"
HEAD = "| step | result | counts | duration | commit | date |\n|---|---|---|---|---|---|"
ROW = re.compile(r"^\| `make ([a-z-]+)` \| ([a-z ]+) \| ([^|]*) \| ([^|]*) \| (?:`([0-9a-f]{8})`|) \| ([-\d]*) \|$", re.MULTILINE)
SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z]+,? ?)+) in \d[\d.]*s\b.*$", re.MULTILINE)  # the last line of pytest
COUNTED = ("passed", "failed", "errors", "skipped", "xfailed")
PASSED, FAILED, SKIPPED, NOTHING, NOT_RUN = "passed", "failed", "skipped tests", "nothing ran", "not run"


@dataclass(frozen=True)
class Step:
    """One recipe; `whole` if a skipped test means that what the step is for was not checked."""

    name: str
    command: tuple[str, ...]
    whole: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a step, on which commit and day; `tree` is the hash under which it is remembered."""

    name: str
    result: str = NOT_RUN
    counts: str = ""
    duration: str = ""
    commit: str = ""
    date: str = ""
    tree: str = ""

    @property
    def row(self) -> str:
        commit = f"`{self.commit}`" if self.commit else ""
        return f"| `make {self.name}` | {self.result} | {self.counts} | {self.duration} | {commit} | {self.date} |"


MAKE = os.environ.get("MAKE", "make")
KILLS = "tests/accounting/ledger/test_crash.py"
SPARK = "test_*spark*.py"  # the files of `make test-spark`
APART = f"--deselect {KILLS} --ignore-glob='*/{SPARK}'"  # slow tests that have a step of their own
STEPS = (
    Step("test", (MAKE, "test")),
    Step("verify", (MAKE, "verify", f"APART={APART}")),
    Step("kills", (MAKE, "kills"), whole=True),
    Step("test-spark", (MAKE, "test-spark"), whole=True),
    Step("mutants", (MAKE, "mutants")),
)


@dataclass(frozen=True)
class Everything:
    """The steps of a tree at `root`, what is remembered of them in `folder`, and the page with their last results."""

    root: Path = ROOT
    steps: Sequence[Step] = STEPS
    folder: Path = field(default=ROOT / ".everything")
    page: Path = field(default=ROOT / "docs" / "reference" / "assurance.md")

    def run(self, chosen: Sequence[str] = ()) -> int:
        """Runs the chosen steps, or all; 0 if each of them has passed on this tree."""
        unknown = set(chosen) - {step.name for step in self.steps}
        if unknown:
            print(f"unknown steps: {', '.join(sorted(unknown))}; expected some of {', '.join(step.name for step in self.steps)}")
            return 2
        outcomes = [self._outcome(step) for step in self.steps if not chosen or step.name in chosen]
        print("\n".join(["", *(f"{each.name:12} {each.result:14} {each.duration:>9}  {each.counts}" for each in outcomes)]))
        return int(any(each.result != PASSED for each in outcomes))

    def _outcome(self, step: Step) -> Outcome:
        tree = self.tree()
        before = self._remembered().get(step.name)
        if tree and before is not None and (before.tree, before.result) == (tree, PASSED):
            print(f"{step.name}: has passed on this tree ({before.commit}, {before.date})", flush=True)
            return before
        outcome = self._tried(step)
        if tree and self.tree() == tree:
            outcome = replace(outcome, tree=tree)
            self._remember(outcome)
        else:
            print(f"{step.name}: the tree has uncommitted changes, so this result is not kept", flush=True)
        return outcome

    def _tried(self, step: Step) -> Outcome:
        """Runs a step, with its output on the screen and in a file of the folder."""
        self.folder.mkdir(exist_ok=True)
        print(f"{step.name}: {' '.join(step.command)}", flush=True)
        start, lines = time.monotonic(), []
        with (
            (self.folder / f"{step.name}.log").open("w", encoding="utf-8") as log,
            subprocess.Popen(
                step.command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            ) as process,
        ):
            for line in process.stdout or ():
                print(line, end="", flush=True)
                log.write(line)
                lines.append(line)
        counted = counts("".join(lines))
        today = datetime.now(UTC).date().isoformat()
        return Outcome(step.name, result(step, process.returncode, counted), counted, spent(start), self.commit(), today)

    def _remembered(self) -> dict[str, Outcome]:
        try:
            return {each["name"]: Outcome(**each) for each in json.loads((self.folder / "state.json").read_text("utf-8"))}
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def _remember(self, outcome: Outcome) -> None:
        """Into the folder, and into the page."""
        state = {**self._remembered(), outcome.name: outcome}
        new = self.folder / "state.new"
        new.write_text(json.dumps([asdict(each) for each in state.values()], indent=1), "utf-8")
        new.replace(self.folder / "state.json")
        self.page.write_text(written(self.page.read_text("utf-8"), outcome, self.steps), "utf-8")

    def commit(self) -> str:
        return self._git("rev-parse", "HEAD").strip()[:8]

    def tree(self) -> str:
        """A hash of all committed files but the page; empty if any other file has uncommitted changes."""
        page = str(self.page.relative_to(self.root))
        changes = [line for line in self._git("status", "--porcelain").splitlines() if line[3:] != page]
        files = [line for line in self._git("ls-tree", "-r", "HEAD").splitlines() if line.partition("\t")[2] != page]
        return "" if changes else hashlib.sha256("\n".join(files).encode()).hexdigest()

    def _git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True).stdout


def spent(start: float) -> str:
    seconds = round(time.monotonic() - start)
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


def counts(output: str) -> str:
    """What a step says that it has counted: tests of every run of pytest together, rows of `tacit verify`, and mutants."""
    total = dict.fromkeys(COUNTED, 0)
    for summary in SUMMARY.findall(output):
        for number, word in re.findall(r"(\d+) ([a-z]+)", summary):
            name = "errors" if word == "error" else word
            if name in total:
                total[name] += int(number)
    tests = ", ".join(f"{number:,} {name}" for name, number in total.items() if number)
    within, broken = (len(re.findall(word, output, re.MULTILINE)) for word in (r"  within *$", r"  broken: [a-z, ]+$"))
    rows = f"{within} rows within" + (f", {broken} rows broken" if broken else "") if within or broken else ""
    mutants = re.findall(r"^mutants: (.+)$", output, re.MULTILINE)
    return "; ".join(part for part in (f"tests: {tests}" if tests else "", rows, *mutants[-1:]) if part)


def result(step: Step, code: int, counted: str) -> str:
    """Passed only if something was counted; a check in which nothing runs cannot fail."""
    if code:
        return FAILED
    if not counted:
        return NOTHING
    return SKIPPED if step.whole and "skipped" in counted else PASSED


def outcomes_of(page: str) -> list[Outcome]:
    """The rows of a page, in their order."""
    section = page.partition(BEGIN)[2].partition(END)[0]
    return [Outcome(*row) for row in ROW.findall(section)]


def written(page: str, outcome: Outcome, steps: Sequence[Step] = STEPS) -> str:
    """The page with one outcome in the place of that step's last one."""
    known = {each.name: each for each in (*outcomes_of(page), outcome)}
    rows = [known.get(step.name, Outcome(step.name)) for step in steps]
    before, _, rest = page.partition(BEGIN)
    return (
        "\n".join([f"{before}{BEGIN}", "", verdict(rows), "", HEAD, *(each.row for each in rows), "", END]) + rest.partition(END)[2]
    )


def verdict(rows: Sequence[Outcome]) -> str:
    """Whether all steps have passed on one commit."""
    commits = {each.commit for each in rows}
    if all(each.result == PASSED for each in rows) and len(commits) == 1:
        return f"Every step has passed on commit `{rows[0].commit}`, {max(each.date for each in rows)}."
    return "Not every step has passed on one commit yet; the table shows the last result of each step."


if __name__ == "__main__":
    sys.exit(Everything().run(sys.argv[1:]))
