"""Aggregates of private rows, answered or refused as marked: a golden file.

`REWRITE=1` in the environment writes plans, prices and refusals anew, to be reviewed like any other change. What must come,
answered or refused, is never rewritten.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from guide import quoted
from tacit.errors import Refused
from tacit.query.price.explain import explained

FILE = Path(__file__).parents[2] / "queries" / "hospital" / "aggregates.sql"
ENTRY = re.compile(r"^-- (answered|refused): (\d+) .+\n(.+);\n((?:--.*\n)*)", re.MULTILINE)
ENTRIES = ENTRY.findall(FILE.read_text("utf-8"))


def outcome(question: str) -> tuple[str, str]:
    """Whether a question is answered, and what is said of it, as the file has it."""
    try:
        mark, lines = "answered", [line for line in str(explained(quoted(question))).splitlines() if line]
    except Refused as refusal:
        mark, lines = "refused", [f"{refusal.code}: {refusal}"]
    return mark, "".join(f"--   {line}\n" for line in lines)


@pytest.mark.parametrize(("mark", "number", "question", "told"), ENTRIES, ids=[f"{mark} {number}" for mark, number, *_ in ENTRIES])
def test_an_aggregate_is_answered_or_refused_as_marked(mark: str, number: str, question: str, told: str) -> None:
    found, lines = outcome(question)
    assert found == mark, lines
    if os.environ.get("REWRITE"):
        whole = FILE.read_text("utf-8")
        FILE.write_text(whole.replace(f"{question};\n{told}", f"{question};\n{lines}"), "utf-8")
    else:
        assert told == lines


def test_the_file_has_every_aggregate() -> None:
    assert {int(number) for _, number, *_ in ENTRIES} >= {29, 30, 31, 32, 33}
    texts = " ".join(question for mark, _, question, _ in ENTRIES if mark == "answered")
    words = "COUNT(DISTINCT, APPROX_QUANTILES(, CORR(, COVAR_POP(, COVAR_SAMP(, REGR_SLOPE(, REGR_INTERCEPT(, LN(, SQRT(, MODE("
    words += ", LINREG(, LINREG_SLOPE("
    assert [word for word in words.split(", ") if word not in texts] == []
