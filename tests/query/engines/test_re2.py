"""Regular expressions are matched in linear time: a pattern that takes Python's matcher years is quick, or refused."""

from __future__ import annotations

import time

import pytest

from tacit.errors import InvalidSQL, NotAllowed
from tacit.query.engines.re2 import LONGEST_PATTERN, matching

TEXTS = ["a" * 64 + "!", *("a" * 60 + str(at) for at in range(500))]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a?){30}a{30}b", "(x+x+)+y", "(a*)*(a*)*c", ".{0,500}.{0,500}z"])
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.process_time()
    assert matching(TEXTS, pattern) == []
    assert time.process_time() - began < 2


@pytest.mark.parametrize("pattern", ["((", "a{1000}{1000}", "((a{1,100}){1,100}){1,10}", r"(a)\1", "(?=a)", "[z-a]", "*", "\\"])
def test_what_re2_does_not_read_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidSQL, match="invalid regular expression"):
        matching(["a"], pattern)


def test_a_pattern_has_a_longest() -> None:
    assert matching(["a"], "a|" * 20 + "b") == ["a"]
    with pytest.raises(NotAllowed, match="at most 500 characters"):
        matching(["a"], "a" * (LONGEST_PATTERN + 1))


def test_texts_are_values_and_not_sql() -> None:
    hostile = ["x' OR 1=1 --", "a;b", "", "\n", "é"]
    assert matching(hostile, ".*") == hostile
    assert matching(hostile, "^é$") == ["é"]
    assert matching([], "a") == []
