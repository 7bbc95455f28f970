"""Texts for people use the usual words: no message, help text or printed line has a phrase that readers stumble over.

Every text of the source is looked at that is not a docstring, and the docstrings that become help texts or describe an exception.
A value put into a text stands as `{}` in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources import FILES, nodes, tree_of

COMPARED = r"(?:longer|more|less|fewer|later|earlier|larger|nearer|farther|\w+er than)\b"  # "is no longer", "is no larger than"
PHRASES = {  # what does not appear, by words that are always in it, and what people write instead
    " no ": (
        rf"(?<!\b[Tt]here )\b(?:is|are) no (?!{COMPARED})",
        "negate the verb, as in 'X is not a number'; 'there is no row' is fine",
    ),
    " none": (r"\b(?:is|are) none\b", "negate the verb: 'X is not a guarantee'"),
    " told": (r"\b(?:is|are) told\b", "name who says it: 'tacit reports'"),
    "of ours": (r"\bof ours\b", "name it: 'a tacit session'"),
    "there already": (r"\bthere already\b", "'already exists'"),
    " by": (r"\b(?:get|gets|getting) by\b", "'needs more than', 'out of'"),
    " us in": (r"\blets? us in\b", "'cannot connect'"),
    "the own": (r"\bthe own\b", "'their own', 'its own'"),
    "at hand": (r"\bat hand\b", "'available', 'given'"),
    "so many people": (r"\bso many people\b", "give the number, or 'that many people'"),
    "in all": (
        r"\bin all\b(?! (?:of|the|these|those|other|its|their|data|people|private|\w+s)\b)",
        "'in total'; 'in all tables' is fine",
    ),
    "where there is one": (r"\bwhere there is one\b(?=\s*(?:[.,;:)]|$))", "'if any'"),
    "but for": (r"(?<!\bnot )\bbut for\b", "'except'"),
    "beforehand": (r"\bbeforehand\b", "'in advance'"),
}


def texts(tree: ast.Module, commands: bool = False) -> Iterator[tuple[int, str]]:
    """Line and text of all that people may read: literals, f-strings joined, and docstrings of commands and exceptions."""
    docstrings = {id(node.body[0].value): node for node in described(tree)}
    inside = {id(part) for node in nodes(tree, ast.JoinedStr) for part in ast.walk(node) if part is not node}
    for node in nodes(tree, ast.Constant, ast.JoinedStr):
        if id(node) in inside:
            continue
        if id(node) not in docstrings or (commands and _is_read(docstrings[id(node)])):
            text = _text(node)
            if " " in text:
                yield node.lineno, " ".join(text.split())


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def described(tree: ast.Module) -> list[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """What has a docstring."""
    able = nodes(tree, ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in able if ast.get_docstring(node, clean=False) is not None]


def _is_read(node: ast.AST) -> bool:
    """Whether the docstring is one of a command, which is its help, or of an exception."""
    if isinstance(node, ast.ClassDef):
        return any(ast.unparse(base).endswith(("Error", "Exception", "Refused", "InvalidInput")) for base in node.bases)
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def stumbles(text: str) -> list[str]:
    """What is to be written instead of each phrase that the text should not have."""
    return [instead for words, (phrase, instead) in PHRASES.items() if words in text and re.search(phrase, text)]


def test_texts_use_the_usual_words():
    found = [
        f"{name}:{line}: {text!r}: {each}"
        for name, path in FILES.items()
        for line, text in texts(tree_of(path), commands="cli/" in name or name == "errors.py")
        for each in stumbles(text)
    ]
    assert not found, "\n".join(found)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring."""
    return ((node.body[0].lineno, " ".join((ast.get_docstring(node) or "").split())) for node in described(tree))


def test_docstrings_use_the_usual_words():
    found = [
        f"{name}:{line}: {text!r}: {each}"
        for name, path in FILES.items()
        for line, text in docstrings(tree_of(path))
        for each in stumbles(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    [
        'raise InvalidInput(f"{text} is no number; give one")',
        'raise InvalidInput("the groups are no partition")',
        'raise Refused("normal is none", remedy="take best")',
        'raise Refused("not allowed", remedy="take a bound; normal is none")',
        'Option(help="Counts with that noise, or a session of ours.")',
        'say(f"{out} is there already; --force replaces it")',
        'what = "preparation does not get by with 60%"',
        'say("the server does not let us in")',
        'say("everybody randomizes the own answer")',
        'say("for want of data at hand")',
        'say("whose bytes would count as so many people")',
        'help="Jobs in all."',
        'f"the same ratio in all would have {fake} fake jobs"',
        'say("the line of the question, where there is one")',
        'say("all columns but for the key")',
        'say("a range that is known beforehand")',
        'say("what was measured is told to the curator")',
        'def command() -> None:\n    "Says what is told, and to whom."',
        'class RangeTooLarge(TacitError):\n    "An expression that is no integer."',
    ],
)
def test_planted_phrases_are_found(planted):
    assert any(stumbles(text) for _, text in texts(ast.parse(planted), commands=True)), planted


def test_planted_docstrings_are_found():
    planted = ast.parse('"Fine."\nclass Own:\n    "A way\\\n    that is none."\n    def own(self):\n        "It gets by."')
    assert [line for line, text in docstrings(planted) if stumbles(text)] == [3, 6]
    assert [text for _, text in docstrings(planted)] == ["Fine.", "A way that is none.", "It gets by."]


@pytest.mark.parametrize(
    "fine",
    [
        "there is no row in the table",
        "there are no reports yet",
        "the file is no longer read",
        "a delta that is no larger than 1e-6",
        "noise in all cells",
        "the same in all of them",
        "not for publication, and not but for the curator",
        "no rows, or more than 10",
    ],
)
def test_counts_and_comparisons_are_fine(fine):
    assert stumbles(fine) == []


LONGEST_MATCH = 6  # words


def matches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and pattern of every `pytest.raises(..., match=...)`; what is put into one counts as one word."""
    for node in nodes(tree, ast.Call):
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "pytest.raises":
            for given in node.keywords:
                if given.arg == "match" and isinstance(given.value, ast.Constant | ast.JoinedStr):
                    yield node.lineno, _text(given.value)


def test_messages_are_matched_by_a_short_phrase():
    """A test that quotes a whole sentence has to be changed with every better word; a code or a phrase is enough."""
    tests = Path(__file__).parent
    long = [
        f"{path.relative_to(tests)}:{line}: {text!r}"
        for path in sorted(tests.rglob("test_*.py"))
        for line, text in matches(ast.parse(path.read_text("utf-8")))
        if _words(text) > LONGEST_MATCH
    ]
    assert not long, "\n".join(long)


def test_a_whole_sentence_is_found():
    planted = 'with pytest.raises(Refused, match="the question has 20 joins: the limit is 8; join fewer tables"):\n    ask()'
    assert [_words(text) for _, text in matches(ast.parse(planted))] == [12]


def _words(pattern: str) -> int:
    return max(len(part.split()) for part in pattern.split("|"))
