"""SELECT from an answer in a golden file: each shape with its plan and its price, or its refusal.

`REWRITE=1` in the environment writes plans, prices and refusals anew, to be reviewed like any other change. What must come,
answered or refused, is never rewritten.
"""

from __future__ import annotations

import os
import re

import pytest

from guide import outcome
from pages import ROOT

FILE = ROOT / "tests" / "queries" / "hospital" / "answers.sql"
ENTRY = re.compile(r"^-- (answered|refused): (\d+) .+\n(.+);\n((?:--.*\n)*)", re.MULTILINE)
ENTRIES = ENTRY.findall(FILE.read_text("utf-8"))


@pytest.mark.parametrize(("mark", "number", "question", "told"), ENTRIES, ids=[f"{mark} {number}" for mark, number, *_ in ENTRIES])
def test_a_statement_is_answered_or_refused_as_marked(mark: str, number: str, question: str, told: str) -> None:
    found, lines = outcome(question)
    assert found == mark, lines
    now = "".join(f"--   {line}\n" for line in lines)
    if os.environ.get("REWRITE"):
        FILE.write_text(FILE.read_text("utf-8").replace(f"{question};\n{told}", f"{question};\n{now}"), "utf-8")
    else:
        assert told == now


def test_the_file_has_every_shape() -> None:
    assert [int(number) for _, number, *_ in ENTRIES] == list(range(201, 225))
