"""Questions on released numbers, answered or refused as marked: a golden file. `REWRITE=1` writes what is said of them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from guide import quoted
from tacit.errors import RangeTooLarge, Refused
from tacit.query.price.explain import explained

FILE = Path(__file__).parents[2] / "queries" / "hospital" / "results.sql"
ENTRY = re.compile(r"^-- (answered|refused): (\d+) .+\n(.+);\n((?:--   .*\n)*)", re.MULTILINE)
ENTRIES = ENTRY.findall(FILE.read_text("utf-8"))


def outcome(question: str) -> tuple[str, list[str]]:
    """Whether a question is answered, and what is said of it: the plan and its price, or the refusal."""
    try:
        return "answered", [line for line in str(explained(quoted(question))).splitlines() if line]
    except Refused as refusal:
        return "refused", [f"{refusal.code}: {refusal}"]


@pytest.mark.parametrize(("mark", "number", "question", "told"), ENTRIES, ids=lambda value: value if value.isdigit() else "")
def test_a_question_is_answered_or_refused_as_marked(mark: str, number: str, question: str, told: str) -> None:
    found, lines = outcome(question)
    assert found == mark, lines
    text = "".join(f"--   {line}\n" for line in lines)
    if os.environ.get("REWRITE"):
        FILE.write_text(FILE.read_text("utf-8").replace(f"{question};\n{told}", f"{question};\n{text}"), "utf-8")
    else:
        assert told == text


def test_the_file_has_every_question_of_the_list() -> None:
    assert {int(number) for _, number, _, _ in ENTRIES} >= {14, 16, 17, 18, 19, 20}


def test_a_name_in_having_is_a_column_of_group_by_before_it_is_a_name_of_select() -> None:
    """MONTH is both: the key is meant where GROUP BY has it."""
    keyed = quoted("SELECT ward, COUNT(*) AS ward_2 FROM visits GROUP BY ward HAVING ward = 'north'").question
    named = quoted("SELECT kind, COUNT(*) AS ward FROM visits GROUP BY kind HAVING ward > 5 ORDER BY ward + 1").question
    assert keyed.having != named.having
    assert "Result" in str(named.having)
    assert "Result" in str(named.order)
    assert "Result" not in str(keyed.having)


@pytest.mark.parametrize("repeat", [20, 59])
def test_a_short_question_cannot_keep_the_binder_busy(repeat: int) -> None:
    """A part that is named twice is read twice: without a limit, NOT BETWEEN in CASE in BETWEEN ... takes for ever."""
    inner = "COUNT(*)"
    for _ in range(repeat // 3):
        inner = f"CASE WHEN {inner} BETWEEN 1 AND 2 THEN 1 END"
    text = f"SELECT {inner} AS x FROM visits"
    if repeat > 40:
        with pytest.raises(RangeTooLarge):
            quoted(text)
    else:
        quoted(text)
