"""A hostile session over several tables: every question that would tell of one person through the rows of others is refused.

`tests/queries/hostile_joins.txt` has the questions, each with the reason and the nearest thing that is allowed; whatever the
text below a question is, it is the same on a full and on an empty store. `REWRITE=1` writes the refusals anew, to be reviewed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from joined import Asked, asked_of, hospital
from tacit.errors import Refused, TacitError
from tacit.query.binding import relations, subqueries
from tacit.query.binding.relations import MOST_JOINS, MOST_QUERIES
from tacit.query.language.syntax import Apply
from tacit.query.price.price import price, request

FILE = Path(__file__).parent.parent / "queries" / "hostile_joins.txt"
LIMITS = {"visits": 8, "labs": 8, "cards": 8}
FULL = hospital(
    patients=[(0, "F", 1), (7, "M", 2)],
    visits=[(0, 0, "a", 3), (1, 0, "b", -2), (7, 7, "a", 5)],
    labs=[(0, 1, "s"), (7, 2, "t"), (1, 3, "s")],
    cards=[(0, 1), (7, 2)],
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asked, Asked]]:
    folder = tmp_path_factory.mktemp("hostile")
    full, empty = (asked_of(folder / at, replace(data, limits=LIMITS)) for at, data in (("full", FULL), ("empty", hospital())))
    yield full, empty
    full.close()
    empty.close()


def said(asked: Asked, text: str) -> str:
    """The refusal of a question, or that it is answered."""
    try:
        price(asked.plan(text), request(epsilon=1))
    except Refused as refusal:
        return str(refusal)
    return "ANSWERED"


def written(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Each question of the file with what is written below it."""
    for at, line in enumerate(lines):
        if re.match(r"(SELECT|WITH)\b", line):
            below = lines[at + 1] if at + 1 < len(lines) else ""
            yield line, below.strip().removeprefix("refused: ")


def test_every_question_is_refused_for_the_reason_in_the_file(both: tuple[Asked, Asked]) -> None:
    lines = FILE.read_text("utf-8").splitlines()
    if os.environ.get("REWRITE"):
        kept = [line for line in lines if not line.startswith("    refused: ")]
        asked = {line for line, _ in written(kept)}
        new = [part for line in kept for part in ([line, f"    refused: {said(both[0], line)}"] if line in asked else [line])]
        FILE.write_text("\n".join(new) + "\n", "utf-8")
        return
    check(both, lines)


def check(both: tuple[Asked, Asked], lines: list[str]) -> None:
    found = dict(written(lines))
    assert len(found) > 100
    assert {text: said(both[0], text) for text in found} == found
    assert {text: said(both[1], text) for text in found} == found, "a refusal does not depend on the rows"


def test_refusals_have_a_remedy_and_none_makes_data_public(both: tuple[Asked, Asked]) -> None:
    for text, reason in written(FILE.read_text("utf-8").splitlines()):
        assert reason != "ANSWERED", text
        assert "public = true" not in reason, text
        assert re.search(r"; \S", reason), f"{text}: {reason} has no remedy"
        assert "the unit =" not in reason, "a remedy names real columns"
        assert ".the unit" not in reason, "a remedy names real columns"


# --- nesting ---------------------------------------------------------------------------------------------------------------------


def nested(depth: int) -> str:
    inner = "SELECT id, age FROM patients"
    for _ in range(depth):
        inner = f"SELECT id, age FROM ({inner}) AS t"
    return inner.replace("SELECT id, age", "SELECT COUNT(*)", 1)


def test_sub_queries_and_joins_are_limited(both: tuple[Asked, Asked]) -> None:
    for asked in both:
        assert said(asked, nested(MOST_QUERIES)) == "ANSWERED"
        assert "more than 16 sub-queries" in said(asked, nested(MOST_QUERIES + 1))
        per = "WITH t AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) SELECT COUNT(*) FROM t a"
        again = [f" JOIN t b{at} ON b{at}.patient_id = a.patient_id" for at in range(MOST_JOINS + 1)]
        assert said(asked, per + "".join(again[:-1])) == "ANSWERED"
        assert "9 joins" in said(asked, per + "".join(again))
        twice = " AND ".join(["id IN (SELECT patient_id FROM visits)"] * (MOST_QUERIES + 1))
        assert "more than 16 sub-queries" in said(asked, f"SELECT COUNT(*) FROM patients WHERE {twice}")


@pytest.mark.parametrize("depth", [100, 3000])
def test_deep_nesting_is_refused_and_never_a_crash(both: tuple[Asked, Asked], depth: int) -> None:
    exists = "SELECT COUNT(*) FROM patients p WHERE " + "EXISTS (SELECT 1 FROM visits z WHERE " * depth + "TRUE" + ")" * depth
    for text in (nested(depth), exists, f"SELECT COUNT(*) FROM {'(' * depth}patients{')' * depth}"):
        with pytest.raises(TacitError):
            price(both[0].plan(text), request(epsilon=1))


# --- planted bugs: what would be accepted, the file says is refused ---------------------------------------------------------------


def test_a_tie_under_or_that_is_accepted_is_caught(both: tuple[Asked, Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    def flattened(expression: object) -> Iterator[object]:
        if isinstance(expression, Apply) and expression.function in ("and", "or"):
            for part in expression.arguments:
                yield from flattened(part)
        elif expression is not None:
            yield expression

    monkeypatch.setattr(relations, "conjuncts", flattened)
    with pytest.raises(AssertionError):
        check(both, FILE.read_text("utf-8").splitlines())


def test_an_in_over_other_rows_that_is_accepted_is_caught(both: tuple[Asked, Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the inner rows were those of a public table."""
    honest = subqueries.nested_part
    monkeypatch.setattr(subqueries, "nested_part", lambda *given: replace(honest(*given), public=True))
    with pytest.raises(AssertionError):
        check(both, FILE.read_text("utf-8").splitlines())
