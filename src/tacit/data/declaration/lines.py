"""TOML as text: the line of each key, which `tomllib` does not report, and how a key or a value is written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tacit.untrusted import NOT_ASCII, without_password

Path = tuple[str, ...]

BARE = re.compile(r"[A-Za-z0-9_-]+")
BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
KEY = re.compile(rf"""[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|{BARE.pattern})[ \t]*""")
CLOSE = re.compile(r"\]{1,2}")
SCALAR = re.compile(
    r'''"""(?:\\.|(?!""").)*"{3,5}|"(?:\\.|[^"\\])*"'''
    r"""|'''(?:(?!''').)*'{3,5}|'[^']*'"""
    r"""|[^,\]}\n#]+""",
    re.DOTALL,
)
MOST_PARTS = 50  # of one key; tomllib's time grows with the square of them
LONGEST = 60  # characters of a value that a message shows


def key_lines(text: str) -> dict[Path, int]:
    r"""The first line of every key path, tables and members of inline tables included, in a text that `tomllib` reads.

    Elements of arrays have no names: the keys of a table inside an array follow the array's own path.

    >>> key_lines('[a]\nb.c = 1  # d = 2\n"e f" = { g = [3] }')
    {('a',): 1, ('a', 'b'): 2, ('a', 'b', 'c'): 2, ('a', 'e f'): 3, ('a', 'e f', 'g'): 3}
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    with suppress(
        _Lost, _TooManyParts, ValueError, RecursionError
    ):  # not TOML, or nested absurdly deep: line numbers help but are not required
        scanner.document()
    return scanner.lines


def has_endless_key(text: str) -> bool:
    """Whether a key has so many parts, with dots between them, that reading it would take long.

    >>> has_endless_key("a.b.c = 1"), has_endless_key(f"[{'a.' * 50}a]")
    (False, True)
    """
    try:
        with suppress(_Lost, ValueError, RecursionError):
            _Scanner(text.replace("\r\n", "\n")).document()
    except _TooManyParts:
        return True
    return False


def key_text(path: Sequence[str]) -> str:
    """A key path the way TOML writes it.

    >>> print(key_text(("tables", "adult", "columns", "hours-per-week")), key_text(("two words",)))
    tables.adult.columns.hours-per-week "two words"
    """
    return ".".join(name if BARE.fullmatch(name) else _quoted(name) for name in path)


def value_text(value: object) -> str:
    """A value the way TOML writes it on one line, shortened if it is long.

    >>> print(value_text({"bounds": [0, 0.5], "type": "number", "key": True}))
    { bounds = [0, 0.5], type = "number", key = true }
    >>> print(value_text("postgresql://reader:secret@db/hospital"))
    "postgresql://...@db/hospital"
    """
    text = whole_text(_shown(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _shown(value: object) -> object:
    """The value with passwords removed from its URLs: an error message shows the mistake and never the password."""
    if isinstance(value, Mapping):
        return {name: _shown(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(member) for member in value]
    return without_password(value) if isinstance(value, str) else value


def whole_text(value: object) -> str:
    """A value the way TOML writes it on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text([name])} = {whole_text(member)}" for name, member in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(whole_text, value)) + "]"
    if isinstance(value, int) and value.bit_length() > LONGEST * 4:
        return f"a number of {value.bit_length()} bits"  # Python refuses to print some of them
    if isinstance(value, str):
        return _quoted(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return NOT_ASCII.sub(_in_toml, json.dumps(text, ensure_ascii=False))


def _in_toml(found: re.Match[str]) -> str:
    """Escapes control characters and line-turning marks that JSON leaves as they are; TOML reads the escapes as the same text."""
    return found[0] if found[0].isprintable() else f"\\u{ord(found[0]):04X}" if found[0] <= "\uffff" else f"\\U{ord(found[0]):08X}"


class _Lost(Exception):
    """The text is not TOML."""


class _TooManyParts(Exception):
    """A key of more parts than any declaration has."""


class _Scanner:
    """Walks over the text once, and skips what it need not understand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        self.skip(BLANK)
        while self.at < len(self.text):
            if self.sees("["):
                self.at += 2 if self.sees("[[") else 1
                table = self.key(())
                self.skip(CLOSE)
            else:
                self.pair(table)
            self.skip(BLANK)

    def pair(self, within: Path) -> None:
        path = self.key(within)
        self.at += len("=")
        self.value(path)

    def key(self, within: Path) -> Path:
        for _ in range(MOST_PARTS):
            within = (*within, _name(self.skip(KEY)[1]))
            self.lines.setdefault(within, self.line)
            if not self.sees("."):
                return within
            self.at += len(".")
        raise _TooManyParts

    def value(self, path: Path) -> None:
        self.skip(BLANK)
        if self.sees("["):
            self.members("]", lambda: self.value(path))
        elif self.sees("{"):
            self.members("}", lambda: self.pair(path))
        else:
            self.skip(SCALAR)

    def members(self, closing: str, read_one: Callable[[], None]) -> None:
        self.at += len("[")
        self.skip(BLANK)
        while not self.sees(closing):
            read_one()
            self.skip(BLANK)
            self.at += len(",") if self.sees(",") else 0
            self.skip(BLANK)
        self.at += len(closing)

    def sees(self, characters: str) -> bool:
        return self.text.startswith(characters, self.at)

    def skip(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _Lost
        self.line += found[0].count("\n")
        self.at = found.end()
        return found


def _name(written: str) -> str:
    return next(iter(tomllib.loads(f"{written} = 0"))) if written[0] in "\"'" else written
