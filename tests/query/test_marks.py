"""The questions that people ask of the hospital, each as it is marked: answered, free or refused.

The list is kept beside the repository, so these tests run where it is present. Each question also stands in a golden file under
tests/queries/hospital, which says what comes in full.
"""

from __future__ import annotations

import pytest

from guide import ENTRY, MARKED, outcome
from pages import ROOT

GOLDEN = ROOT / "tests" / "queries" / "hospital"


@pytest.mark.parametrize(("mark", "number", "question"), MARKED, ids=[f"{mark} {number}" for mark, number, _ in MARKED])
def test_a_question_comes_out_as_it_is_marked(mark: str, number: str, question: str) -> None:
    found, lines = outcome(question)
    assert found == mark, lines


@pytest.mark.skipif(not MARKED, reason="the list of questions is not here")
def test_every_question_stands_in_a_golden_file() -> None:
    golden = {
        (mark, number, question)
        for file in GOLDEN.glob("*.sql")
        for mark, number, question in ENTRY.findall(file.read_text("utf-8"))
    }
    assert {int(number) for _, number, _ in MARKED} == set(range(1, 55))
    assert [entry for entry in MARKED if entry not in golden] == []
