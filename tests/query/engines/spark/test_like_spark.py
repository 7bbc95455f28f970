"""LIKE on Spark: the same texts match as in the embedded engine, and no text takes longer than its length."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from clusters import SPARK
from tacit.query.binding.comparisons import matches
from tacit.query.engines.spark.like import spark_backend

pytestmark = SPARK
SIGNS = "^$.|?*+()[]{}-&~#/'\"!,:<=>@ \t\n\r\u0085\u2028é\u0301\U0001f600${x}"
TEXTS = [
    "",
    "a",
    "ab",
    "aab",
    "abab",
    "ab\n",
    "\nab",
    "a\n",
    "b" * 9,
    "ba",
    "é",
    "\U0001f600a",
    "a\U0001f600",
    "%",
    "_",
    *SIGNS,
    SIGNS,
]
PATTERNS = [
    *map("".join, product("ab%_", repeat=3)),
    *(f"%{each}%_" for each in SIGNS),
    *SIGNS,
    SIGNS,
    f"%{SIGNS}_%",
    "",
    "%%",
    "____",
]


def asked(session: Any, texts: list[str], patterns: list[str]) -> dict[str, list[bool]]:
    """Which of the texts match each pattern."""
    backend = spark_backend(session)
    session.createDataFrame(list(enumerate(texts)), "place BIGINT, text STRING").createOrReplaceTempView("like_texts")
    rows = backend.table("like_texts")
    found = rows.select("place", **{f"p{at}": rows.text.like(each) for at, each in enumerate(patterns)}).order_by("place")
    table = session.sql(backend.compile(found)).toArrow()
    return {each: table.column(f"p{at}").to_pylist() for at, each in enumerate(patterns)}


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_what_matches(spark: Any, step: int) -> None:
    patterns = PATTERNS[::step]
    found = asked(spark, TEXTS, patterns)
    assert found == {each: [matches(text, each) for text in TEXTS] for each in patterns}
    assert len({tuple(each) for each in found.values()}) > 15


def test_no_text_takes_longer_than_its_length(spark: Any) -> None:
    """Spark's own LIKE takes 18 seconds for five of these parts and a text of 64 letters, and months for ten."""
    patterns = ["%a" * 12 + "%b", "%_a" * 12 + "b%", "a%" * 30 + "_" * 9 + "b", "%" * 40 + "b_%b"]
    assert asked(spark, ["a" * 2000, "a" * 2000 + "b" * 30], patterns) == {each: [False, True] for each in patterns}
