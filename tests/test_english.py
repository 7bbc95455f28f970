"""Texts for people use the usual words: messages, help texts, docstrings and pages have no phrase that readers stumble over.

In messages, help texts and printed lines a value put into a text stands as `{}`. Docstrings and pages name the thing they are
about, functions are a verb or a noun, and variables are the thing.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources import FILES, ROOT, SOURCE, nodes, tree_of

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


# --- the inside voice: docstrings, pages and names ---------------------------------------------------------------------------

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.md")])
VOICE = {  # what docstrings and pages do not contain outside quotations and code, and what is written instead
    r"(?:^|(?<=[.;:!?] ))What(?= [\w`])(?![^.!?]*\?)": "name the thing: 'the cost of a question', not 'What a question costs'",
    r"(?i)\bso many\b": "give the number, or its name: 'at most `limit` rows'",
    r"(?i)\b(?:nobody|everybody|somebody)\b": "name who: 'no analyst', 'each respondent'",
    r"(?i)\bof which\b": "say it in a sentence of its own",
}
QUOTED = r"`[^`]*`|\"[^\"]*\"|\u201c[^\u201d]*\u201d"  # code, and the words of others
MOST_PARTICIPLES = 0.05  # of all functions
MOST_FOUND = 5  # of the names `found` and `known`, in 1,000 lines

# One word alone, ending like a participle: `_falling`, `mended`. English has no mark of its own for the irregular ones, so they
# are listed; `_rows_left` and `is_held` say whose participle it is, and count as phrases. The words in NOUNS only look like one.
IRREGULAR = (
    r"begun|born|bought|bound|broken|brought|built|caught|chosen|dealt|drawn|fed|felt|found|frozen|given|gone|grown|held|hidden"
    r"|kept|known|laid|led|left|lost|made|met|paid|proven|said|seen|sent|shown|sold|sought|spent|spoken|stood|sworn|taken|taught"
    r"|thought|thrown|told|torn|understood|won|worn|written"
)
NOUNS = {"bed", "embed", "feed", "king", "need", "nothing", "red", "ring", "seed", "sibling", "speed", "string", "thing"}


def page_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each paragraph, list item, table cell and heading of a page, without blocks of code and quotations.

    A heading keeps its mark, so that it may begin with "What": it names a question.
    """
    lines, fenced, begun, block = text.splitlines(), False, 1, ""
    for number, line in enumerate([*lines, ""], start=1):
        fence = line.lstrip().startswith(("```", "~~~"))
        apart = fence or fenced or not line.strip() or line.lstrip().startswith(("#", ">", "|", "- ", "* ")) or _item(line)
        if apart and block:
            yield begun, block
            block = ""
        if fence:
            fenced = not fenced
        elif not fenced and line.lstrip().startswith("|"):
            yield from ((number, cell.strip()) for cell in line.split("|") if cell.strip())
        elif not fenced and line.startswith("#"):
            yield number, re.sub(r"^#+ (?:[0-9.]+ )?", "# ", line)
        elif not fenced and line.strip() and not line.lstrip().startswith(("#", ">")):
            begun = begun if block else number
            block = f"{block} {re.sub(r'^(?:[-*]|[0-9]+[.)]) ', '', line.strip())}".strip()


def _item(line: str) -> bool:
    return re.match(r"\s*[0-9]+[.)] ", line) is not None


def docstring_sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each paragraph of each docstring, without its examples."""
    for node in described(tree):
        prose = re.sub(r"(?m)^\s*>>>(?:.*\n?)*?(?=^\s*$|\Z)", "", ast.get_docstring(node) or "")
        yield from ((node.body[0].lineno, " ".join(part.split())) for part in re.split(r"\n\s*\n", prose))


def phrases(text: str) -> list[str]:
    """What is to be written instead of each phrase of VOICE in one paragraph, once for each time it appears."""
    plain = re.sub(r"\*\*|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", re.sub(QUOTED, "`", text))
    return [instead for phrase, instead in VOICE.items() for _ in re.findall(phrase, plain)]


def is_participle(name: str) -> bool:
    """Whether a function is named by one participle."""
    word = name.strip("_")
    return "_" not in word and word not in NOUNS and re.fullmatch(rf"\w*(?:ed|ing)|{IRREGULAR}", word) is not None


def test_docstrings_and_pages_name_the_thing():
    blocks = [(path, *each) for path in FILES.values() for each in docstring_sentences(tree_of(path))]
    blocks += [(path, *each) for path in PAGES for each in page_sentences(path.read_text("utf-8"))]
    spots = [f"{path.relative_to(ROOT)}:{line}: {text[:60]!r}: {each}" for path, line, text in blocks for each in phrases(text)]
    assert not spots, "\n".join(spots)


def functions(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and name of every function."""
    return [(node.lineno, node.name) for node in nodes(tree, ast.FunctionDef, ast.AsyncFunctionDef)]


def test_functions_are_named_by_a_verb_or_a_noun():
    named = [(path, line, name) for path in FILES.values() for line, name in functions(tree_of(path))]
    spots = [f"{path.relative_to(ROOT)}:{line}: {name}" for path, line, name in named if is_participle(name)]
    assert len(spots) <= MOST_PARTICIPLES * len(named), "\n".join(spots)


def vague(text: str) -> list[int]:
    """The lines of a source on which a name is `found` or `known`; once for each."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.start[0] for token in tokens if token.type == tokenize.NAME and token.string in ("found", "known")]


def test_variables_are_named_by_the_thing():
    sources = {path: path.read_text("utf-8") for path in FILES.values()}
    spots = [f"{path.relative_to(ROOT)}:{line}" for path, text in sources.items() for line in vague(text)]
    assert 1000 * len(spots) <= MOST_FOUND * sum(text.count("\n") for text in sources.values()), "\n".join(spots)


@pytest.mark.parametrize(
    ("planted", "times"),
    [
        ("What a question costs.", 1),
        ("A price. What it leaves is the rest; What it takes is gone.", 2),
        ("**What is released.** A table.", 1),
        ("It is paid. What `prepare` prints is not, and What HAVING does.", 1),
        ("Takes so many connections.", 1),
        ("Nobody reads it, and everybody and Somebody pays.", 3),
        ("Two tables, of which one is private.", 1),
        ("What does it cost? Events and their sums.", 0),
        ("The budget, and what it leaves.", 0),
        ('The message "nobody asked so many" and `What it is`.', 0),
        ("Whatever an attacker knows.", 0),
    ],
)
def test_planted_voices_are_counted(planted, times):
    assert len(phrases(planted)) == times


def test_pages_are_read_in_paragraphs():
    page = "# 1. What it is\n\nWhat it\ndoes.\n> What they say\n\n- one\n- What two is\n\n```sql\nWhat code\n```\n"
    page += "| a | What a cell is |\n1. What is numbered\n# Nobody\n"
    assert list(page_sentences(page)) == [
        (1, "# What it is"),
        (3, "What it does."),
        (7, "one"),
        (8, "What two is"),
        (13, "a"),
        (13, "What a cell is"),
        (14, "What is numbered"),
        (15, "# Nobody"),
    ]
    assert [line for line, text in page_sentences(page) if phrases(text)] == [3, 8, 13, 14, 15]


def test_docstrings_are_read_without_their_examples():
    tree = ast.parse('def own():\n    """Rows.\n\n    What is left.\n\n    >>> 1\n    What\n\n    Nobody.\n    """\n')
    assert [text for _, text in docstring_sentences(tree)] == ["Rows.", "What is left.", "Nobody."]


def test_planted_names_are_counted():
    tree = ast.parse(
        "def _falling(): ...\nasync def told(): ...\ndef rows_held(): ...\ndef string(): ...\nclass A:\n    def mended(self): ..."
    )
    assert sorted(name for _, name in functions(tree) if is_participle(name)) == ["_falling", "mended", "told"]
    assert vague("found = known = 1  # found\nunknown = 'known' + found.found\n") == [1, 1, 2, 2]
