"""Questions in the words of other systems: a golden file, and the page that shows forty of them side by side.

`REWRITE=1` in the environment writes plans, prices and refusals of the file anew, to be reviewed like any other change. What must
come, answered, free or refused, is never rewritten.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from guide import TODAY, outcome
from pages import ROOT
from tacit.query.language.nodes import given
from tacit.query.language.sql import read
from tacit.query.language.syntax import Select
from tacit.query.language.writer import written

FILE = Path(__file__).parent.parent / "queries" / "hospital" / "words.sql"
PAGE = ROOT / "docs" / "guides" / "coming-from-other-sql.md"
ENTRY = re.compile(r"^-- (answered|free|refused): (\d+) (.+)\n(.+);\n((?:--.*\n)*)", re.MULTILINE)
ROW = re.compile(r"^\| (`+) ?(.+?) ?\1 \| (PostgreSQL|BigQuery|Snowflake) \| (.+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A question of the golden file, what must come, and what is said of it."""

    mark: str
    number: int
    question: str
    told: str


ENTRIES = [Entry(mark, int(number), question, told) for mark, number, _, question, told in ENTRY.findall(FILE.read_text("utf-8"))]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.mark} {entry.number}")
def test_a_question_is_answered_or_refused_as_marked(entry: Entry) -> None:
    mark, lines = outcome(entry.question)
    assert mark == entry.mark, lines
    told = "".join(f"--   {line}\n" for line in lines)
    if os.environ.get("REWRITE"):
        whole, old = FILE.read_text("utf-8"), f"{entry.question};\n{entry.told}"
        FILE.write_text(whole.replace(old, f"{entry.question};\n{told}"), "utf-8")
    else:
        assert entry.told == told


def test_the_file_has_the_questions_that_people_ask() -> None:
    numbers = [entry.number for entry in ENTRIES]
    assert {24, 25, 26, 27, 28, 34, 35, 36, 38, 39, 40, 47, 52} <= set(numbers)
    assert len(set(numbers)) == len(numbers)


ROWS = [(question.replace("\\|", "|"), told.replace("\\|", "|")) for _, question, _, told in ROW.findall(PAGE.read_text("utf-8"))]


@pytest.mark.parametrize(("question", "told"), ROWS)
def test_the_page_says_what_comes(question: str, told: str) -> None:
    mark, lines = outcome(question)
    assert told.startswith(mark)
    if mark == "refused":
        code, _, said = lines[0].partition(": ")
        said = re.sub(r"^line \d+, column \d+: ", "", said)
        assert told == f'refused (`{code}`): "{said}"'
    elif told.startswith("answered as "):
        statement = read(question, given(None, TODAY)).statement
        assert isinstance(statement, Select)
        assert told == f"answered as `{written(statement)}`"


def test_the_page_has_forty_questions_of_three_systems() -> None:
    assert len(ROWS) >= 40
    assert {system for _, _, system, _ in ROW.findall(PAGE.read_text("utf-8"))} == {"PostgreSQL", "BigQuery", "Snowflake"}
