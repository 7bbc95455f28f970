"""Questions over several tables and of several parts, answered or refused as marked: golden files, and the pages that show them.

`REWRITE=1` in the environment writes plans, prices and refusals anew, in the files and on the pages, to be reviewed like any other
change. What must come, answered or refused, is never rewritten.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from guide import quoted
from pages import ROOT
from tacit.errors import Refused
from tacit.query.price.explain import explained

FOLDER, PAGES = Path(__file__).parent.parent / "queries" / "hospital", ROOT / "docs" / "reference"
FILES = {FOLDER / "several_tables.sql": PAGES / "joins.md", FOLDER / "parts.sql": PAGES / "parts.md"}
ENTRY = re.compile(r"^-- (answered|refused): (\d+) (.+)\n(.+);\n((?:--.*\n)*)", re.MULTILINE)
SHOWN = re.compile(r"^```(sql|sql refused)\n([^\n]+);(?: +-- (\w+))?\n```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """A question of a golden file, what must come, and what is said of it."""

    file: Path
    mark: str
    number: int
    question: str
    told: str


ENTRIES = [
    Entry(file, mark, int(number), question, told)
    for file in FILES
    for mark, number, _, question, told in ENTRY.findall(file.read_text("utf-8"))
]


def outcome(question: str) -> tuple[str, list[str]]:
    """Whether a question is answered, and what is said of it: the plan and its price, or the refusal."""
    try:
        return "answered", [line for line in str(explained(quoted(question))).splitlines() if line]
    except Refused as refusal:
        return "refused", [f"{refusal.code}: {refusal}"]


def commented(lines: list[str]) -> str:
    return "".join(f"--   {line}\n" for line in lines)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.file.stem} {entry.mark} {entry.number}")
def test_a_question_is_answered_or_refused_as_marked(entry: Entry) -> None:
    mark, lines = outcome(entry.question)
    assert mark == entry.mark, lines
    if os.environ.get("REWRITE"):
        whole, old = entry.file.read_text("utf-8"), f"{entry.question};\n{entry.told}"
        entry.file.write_text(whole.replace(old, f"{entry.question};\n{commented(lines)}"), "utf-8")
    else:
        assert entry.told == commented(lines)


def test_the_file_has_every_form() -> None:
    """Numbers are those of a list of questions that people ask; a form that is lost here is a form that nobody looks at."""
    several, parts = ([entry.number for entry in ENTRIES if entry.file == file] for file in FILES)
    assert {*several} >= {*range(1, 14), 36, 37, *range(41, 47), *range(48, 55)}
    assert {*parts} >= {15, 21, 22, 23}
    assert len({*several}) + len({*parts}) == len(ENTRIES)
    texts = " ".join(entry.question for entry in ENTRIES if entry.mark == "answered")
    words = ("LEFT JOIN", "USING", "NOT EXISTS", "NOT IN", "WITH ", "UNION ALL", "HAVING", "MEDIAN(", ", patients p WHERE")
    assert [word for word in words if word not in texts] == []


@pytest.mark.parametrize(("file", "least"), [*zip(FILES, (15, 6), strict=True)], ids=["joins", "parts"])
def test_the_page_shows_what_the_file_says(file: Path, least: int) -> None:
    told = {entry.question: (entry.mark, entry.told.replace("--   ", "")) for entry in ENTRIES if entry.file == file}
    page = FILES[file].read_text("utf-8")
    shown = SHOWN.findall(page)
    assert len(shown) >= least
    for language, question, code, below in shown:
        mark, plain = told[question]
        assert language == ("sql" if mark == "answered" else "sql refused")
        assert mark == "answered" or plain.startswith(f"{code}: ")
        if not os.environ.get("REWRITE"):
            assert below == plain, question
    if os.environ.get("REWRITE"):
        FILES[file].write_text(SHOWN.sub(lambda found: _with(found, told[found[2]][1]), page), "utf-8")


def _with(found: re.Match[str], plain: str) -> str:
    whole, start = found[0], found.start()
    return whole[: found.start(4) - start] + plain + whole[found.end(4) - start :]
