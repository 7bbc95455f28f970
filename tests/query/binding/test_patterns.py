"""Regular expressions are those of RE2, without it: what matches, what is refused, and that no pattern takes long."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InvalidSQL, NotAllowed
from tacit.query.binding.patterns import (
    LONGEST_PATTERN,
    MOST_KEPT,
    MOST_WORK,
    Machine,
    _matches_of,
    matching,
    program_of,
)
from tacit.query.binding.regular import Parser
from tacit.query.question import one_question, pausing

TEXTS = ["a" * 64 + "!", *("a" * 60 + str(at) for at in range(500))]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a?){30}a{30}b", "(x+x+)+y", "(a*)*(a*)*c", ".{0,500}.{0,500}z"])
def test_no_pattern_takes_long(pattern: str) -> None:
    assert matching(TEXTS, pattern) == []
    assert _matches_of(tuple(TEXTS), pattern)[1] < MOST_WORK / 4


def test_matching_lets_others_go_first_after_each_text() -> None:
    paused: list[int] = []
    with pausing(lambda: paused.append(1)):
        matching([f"text {at}" for at in range(50)], "^other$")
    assert len(paused) == 50


HOSTILE = {
    "sets of states without end": (["".join(each) for each in product("ab", repeat=14)], "(a|b)*a(a|b){500}c"),
    "many letters": ([chr(code) * 40 for code in range(0x4E00, 0x6E00)], "(?i)(\\pL\\W?){300}!"),
    "many kinds": ([chr(code) * 40 for code in range(0x4E00, 0x6E00)], "[^" + "aceg" * 50 + "]{1,20}(?i)[" + "aceg" * 50 + "]!"),
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_would_take_long_is_refused_after_a_limited_work(hostile: str) -> None:
    texts, pattern = HOSTILE[hostile]
    machine = Machine(program_of(Parser(pattern).whole()))
    with pytest.raises(NotAllowed, match="too much work"):
        list(map(machine.finds, texts))
    assert machine.work < MOST_WORK + 1_000
    assert sum(1 + len(state[0]) for state in machine.known.values() if state is not None) <= MOST_KEPT


@pytest.mark.parametrize("pattern", ["(a{1000}){1}" * 6, "(?:" + "|".join(["a{900}"] * 8) + ")"])
def test_a_large_program_is_refused_before_it_is_run(pattern: str) -> None:
    with pytest.raises(NotAllowed, match="more than 5,000 steps"):
        matching(["a"], pattern)
    with pytest.raises(NotAllowed, match="60 groups"):
        matching(["a"], "(" * 200 + "a" + ")" * 200)


def test_all_patterns_of_a_question_share_one_limit() -> None:
    """Whether they were matched before or not: a clerk that remembers and an engine that does not decide alike."""
    texts = ["".join(each) for each in product("ab", repeat=12)]
    each = _matches_of(tuple(texts), "^(a|b)*a(a|b){6}$")[1]
    most = MOST_WORK // each
    assert most > 1
    for _ in range(2):
        with one_question():
            for _ in range(most):
                matching(texts, "^(a|b)*a(a|b){6}$")
            with pytest.raises(NotAllowed, match="those beside it"):
                matching(texts, "^(a|b)*a(a|b){6}$")
    matching(texts, "^(a|b)*a(a|b){6}$")


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


# --- against RE2 itself ----------------------------------------------------------------------------------------------------------

ALPHABET = "aAbkKsS1_- \n.éÉσςΣſ\u212aßẞıİ中٣\u0378\u200b"
SAMPLES = [
    "",
    *ALPHABET,
    *map("".join, product("aB1_ é", repeat=2)),
    "aba",
    "a1 b",
    "aab\nb",
    "b\na",
    "kK\u212a",
    "ab-ab",
    "{2}",
    "x{,2}",
]
ATOMS = [
    "a", "b", "é", "1", ".", "^", "$", r"\b", r"\B", r"\A", r"\z", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\pL", r"\PL",
    r"\p{Lu}", r"\pC", r"\PC", r"\p{^Ll}", r"\P{^N}", r"\p{Any}", "[ab]", "[^ab]", "[a-c1-]", "[]a]", "[^]a]", "[[:alpha:]_]",
    "[[:^space:]]", r"[\w-]", r"[\D\n]", r"[^\PL]", "[é-ü]", "(?i)k", "(?i:s)", "(?i)[a-z]", "(?i)[^k]", r"(?i)\w",
    r"(?i)\W", "(?i)σ", "(?i)ß", "(?i)i", "(?s).", "(?m)^", "(?m)$", "(?-s).", r"\x41", r"\x{e9}", r"\101", r"\n", r"\.",
    r"\-", r"\Qa.b\E", "(?P<n>a)", "(?<n>a)", "()", "{", "}", "]", "-", "x{,2}", "{2}", r"(?i)\p{Lu}", "(?i)[[:lower:]]",
    r"\_", r"\é", r"\8", r"\1", r"\07", r"\G", r"\C", r"\Z", "[[:no:]]", r"[a-\d]", r"[\b]", "(?z)", "(?-)", "(?i-)", "(?)",
    "(?:)", "(?=a)", "[b-a]", "(", ")", "[", "\\", r"\x4", r"\x{110000}", r"\pX", r"\p{L", "a{2}{2}", "a**", "a{3,2}",
    "a{1001}",
]  # fmt: skip
SIGNS = ["*", "+", "?", "*?", "{2}", "{1,2}", "{0}", "{2,}", "{0,0}", "{01}"]
PIECES = st.one_of(st.sampled_from(ATOMS), st.sampled_from(SIGNS), st.sampled_from(["|", "(", ")", "(?:", "(?i:"]))
PATTERNS = st.lists(PIECES, max_size=7).map("".join)


def by_re2(pattern: str) -> list[str] | None:
    """Those of the samples that DuckDB's RE2 finds; None where it refuses."""
    query = "SELECT list_transform(?::VARCHAR[], lambda text: regexp_matches(text, ?))"
    try:
        ((held,),) = duckdb.execute(query, [SAMPLES, pattern]).fetchall()
    except duckdb.Error:
        return None
    return [text for text, found in zip(SAMPLES, held, strict=True) if found]


def by_us(pattern: str) -> list[str] | None:
    try:
        return matching(SAMPLES, pattern)
    except InvalidSQL:
        return None


def test_every_form_is_that_of_re2() -> None:
    both = [
        (pattern, by_us(pattern), by_re2(pattern))
        for atom in ATOMS
        for pattern in (atom, f"^{atom}$", f"a{atom}*b", f"^(?:{atom}|b)+$")
    ]
    assert [(pattern, ours, theirs) for pattern, ours, theirs in both if ours != theirs and "\\C" not in pattern] == []


@settings(max_examples=250, deadline=None)
@given(PATTERNS)
def test_patterns_of_all_forms_are_those_of_re2(pattern: str) -> None:
    if "\\C" not in pattern:
        assert by_us(pattern) == by_re2(pattern), pattern


@pytest.mark.slow
@settings(max_examples=30_000, deadline=None)
@given(PATTERNS)
def test_very_many_patterns_are_those_of_re2(pattern: str) -> None:
    if "\\C" not in pattern:
        assert by_us(pattern) == by_re2(pattern), pattern
