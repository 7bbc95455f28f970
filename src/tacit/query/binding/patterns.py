"""Conditions on texts by their form: LIKE, prefixes, and regular expressions, decided on the declared values.

A regular expression, read in regular.py, becomes a program of a bounded number of steps (Thompson 1968), which is run over each
text with all its states at once; sets of states are remembered, as in RE2. Both the program and the work are limited, so no
pattern takes long, and a pattern that would is refused by the same rule in every process: what decides is the pattern and the
declared values, which are public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from unicodedata import normalize

from tacit.errors import NotAllowed, WrongType
from tacit.query.binding import terms
from tacit.query.binding.comparisons import like
from tacit.query.binding.regular import (
    BEGIN_LINE,
    BEGIN_TEXT,
    BOUNDARY,
    END_LINE,
    END_TEXT,
    NO_BOUNDARY,
    Either,
    Node,
    One,
    Parser,
    Place,
    Repeat,
    Row,
    too_much,
)
from tacit.query.language.syntax import Constant, Expression
from tacit.query.plan import CategoryType, Condition, Term, TextColumn, TextLike
from tacit.query.question import WORKED, pause

PARTS: dict[str, tuple[str, Callable[[str, str], bool]]] = {
    "starts_with": ("{}%", str.startswith),
    "ends_with": ("%{}", str.endswith),
    "contains": ("%{}%", str.__contains__),
}


def pattern_text(expression: Expression, function: str) -> str:
    """The constant text that is looked for, composed as stored texts are."""
    if isinstance(expression, Constant) and isinstance(expression.value, str):
        return normalize("NFC", expression.value)
    raise NotAllowed(f"{function.upper()} requires a constant pattern", remedy="write the pattern as text")


def pattern_condition(function: str, term: Term, pattern: str) -> Condition:
    """The condition that a text has a form; `function` is one of PARTS, like, ilike, regexp_matches or regexp_like."""
    if function in ("like", "ilike"):
        return like(term, pattern, function == "ilike")
    if function in PARTS:
        return _part(function, term, pattern)
    return _match_condition(function, term, pattern)


def _part(function: str, term: Term, text: str) -> Condition:
    form, holds = PARTS[function]
    if isinstance(term.node, TextColumn):
        if any(symbol in text for symbol in "%_\\"):
            raise NotAllowed(f"{function.upper()} on private text cannot look for %, _ or a backslash", remedy="leave the sign out")
        return TextLike(term.node, form.format(text))
    return terms.among(term, [value for value in _values(term, function) if holds(value, text)])


def _match_condition(function: str, term: Term, pattern: str) -> Condition:
    """A part of the text matches; REGEXP_LIKE and RLIKE, which some dialects match with the whole, only where it is the same."""
    if isinstance(term.node, TextColumn):
        raise NotAllowed("a regular expression on private text is not supported", remedy="use LIKE, or declare the column's values")
    values = _values(term, function)
    hits = matching(values, pattern)
    if function == "regexp_like" and hits != matching(values, rf"\A(?:{pattern})\z"):
        raise NotAllowed(
            "REGEXP_LIKE fits two readings here: some dialects match a part of the text, others the whole",
            remedy=f"write x ~ '{pattern[:60]}' for a part, or x ~ '^({pattern[:60]})$' for the whole",
        )
    return terms.among(term, hits)


def _values(term: Term, function: str) -> list[str]:
    if not isinstance(term.type, CategoryType):
        raise WrongType(
            f"{function.upper()} is for text, not for {terms.word(term.type)}", remedy="compare it with <, = or BETWEEN"
        )
    return [value for value in term.type.values if isinstance(value, str)]


LONGEST_PATTERN = 500
MOST_STEPS = 5_000  # of a program
MOST_WORK = 1_000_000  # steps of all patterns of a question, a character in a known state counting an eighth: about a second
MOST_KEPT = 300_000  # steps in states that are remembered: some 30 MB


def matching(texts: Sequence[str], pattern: str) -> list[str]:
    """The texts with a part that matches.

    >>> matching(["north", "south", "east"], "^(n|s).*th$")
    ['north', 'south']
    """
    if len(pattern) > LONGEST_PATTERN:
        raise NotAllowed(f"a regular expression has at most {LONGEST_PATTERN} characters", remedy="write a shorter one")
    matches, work = _matches_of(tuple(texts), pattern)
    worked = WORKED.get([0])
    worked[0] += work  # whether it was remembered or not: so every process decides alike
    if worked[0] > MOST_WORK:
        raise too_much("and those beside it take too much work on the declared values")
    return list(matches)


@lru_cache(maxsize=64)
def _matches_of(texts: tuple[str, ...], pattern: str) -> tuple[tuple[str, ...], int]:
    """The texts, and the work that it took to find them."""
    machine = Machine(program_of(Parser(pattern).whole()))
    return tuple(text for text in texts if machine.finds(text)), machine.work + len(machine.steps)


MATCH = -1
Step = One | Place | tuple[int, ...]  # read a character, be at a place, or go on at any of these steps
Program = list[tuple[Step, int]]  # each step, and the one that follows it


def program_of(tree: Node) -> Program:
    """The program of a tree. Its first step is the last one; MATCH is the end."""
    steps: Program = []
    start = _write(tree, MATCH, steps)
    steps.append(((start,), MATCH))
    return steps


def _write(node: Node, then: int, steps: Program) -> int:
    """Write what stands before the step `then`; returns where it begins."""
    if len(steps) > MOST_STEPS:
        raise too_much(f"has more than {MOST_STEPS:,} steps when its repetitions are written out")
    match node:
        case Row():
            for part in reversed(node.parts):
                then = _write(part, then, steps)
            return then
        case Either():
            return _step(tuple(_write(part, then, steps) for part in node.parts), MATCH, steps)
        case Repeat():
            return _repeat(node, then, steps)
        case _:
            return _step(node, then, steps)


def _repeat(node: Repeat, then: int, steps: Program) -> int:
    if node.most is None:
        again = _step((), MATCH, steps)
        begin = _write(node.part, again, steps)
        steps[again] = (begin, then), MATCH
        then = again
    else:
        after = then
        for _ in range(node.most - node.least):
            then = _step((_write(node.part, then, steps), after), MATCH, steps)
    for _ in range(node.least):
        then = _write(node.part, then, steps)
    return then


def _step(what: Step, then: int, steps: Program) -> int:
    steps.append((what, then))
    return len(steps) - 1


State = tuple[frozenset[int], str]  # steps that are reached, and what stands before: "" at the begin, a line's end, "w" or "."


@dataclass(slots=True)
class Machine:
    """A program, what it has worked so far, and transitions that are remembered; None is a match."""

    steps: Program
    work: int = 0
    kept: int = 0
    known: dict[tuple[State, str], State | None] = field(default_factory=dict)

    def finds(self, text: str) -> bool:
        """Whether some part of a text matches."""
        pause()
        self._work_on(1 + len(text) // 8)
        state: State | None = (frozenset(), "")
        for symbol in (*text, ""):
            assert state is not None  # noqa: S101  # a match has returned
            key = (state, symbol)
            state = self.known[key] if key in self.known else self._after(state, symbol)
            if state is None:
                return True
        return False

    def _after(self, state: State, symbol: str) -> State | None:
        """The state after one more character; "" is the end."""
        reached = self._reach(state, _places(state[1], symbol))
        following: State | None = None
        if MATCH not in reached:
            after = frozenset(then for step, then in map(self.steps.__getitem__, reached) if self._reads(step, symbol))
            following = after, "\n" if symbol == "\n" else "w" if _is_word(symbol) else "."
            self.kept += 1 + len(after)
        if self.kept > MOST_KEPT:
            self.kept = 0
            self.known.clear()
        self.known[state, symbol] = following
        return following

    def _reads(self, step: Step, symbol: str) -> bool:
        if not isinstance(step, One):
            return False
        self._work_on(sum(2 + len(kind.ranges) // 4 for kind in step.kinds))
        return symbol != "" and step.holds(symbol)

    def _reach(self, state: State, places: int) -> set[int]:
        """Every step that is reached without another character; a match may begin anywhere."""
        reached, waiting = set[int](), [*state[0], len(self.steps) - 1]
        while waiting:
            at = waiting.pop()
            if at in reached:
                continue
            reached.add(at)
            self._work_on(1)
            if at == MATCH:
                break
            step, then = self.steps[at]
            if isinstance(step, tuple):
                waiting += step
            elif isinstance(step, Place) and step.what & places:
                waiting.append(then)
        return reached

    def _work_on(self, steps: int) -> None:
        self.work += steps
        if self.work > MOST_WORK:
            raise too_much("takes too much work on the declared values")


def _is_word(symbol: str) -> bool:
    return symbol == "_" or (symbol.isascii() and symbol.isalnum())


def _places(before: str, symbol: str) -> int:
    """The places between two characters; "" before the first, and after the last."""
    boundary = BOUNDARY if (before == "w") is not _is_word(symbol) else NO_BOUNDARY
    begin = BEGIN_TEXT | BEGIN_LINE if before == "" else BEGIN_LINE if before == "\n" else 0
    return boundary | begin | (END_TEXT | END_LINE if symbol == "" else END_LINE if symbol == "\n" else 0)
