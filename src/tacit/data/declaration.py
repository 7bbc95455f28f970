"""A TOML file read by its schema: the line of each key, the shape of its values, and all of its problems at once."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeVar
from unicodedata import category, normalize

from tacit.errors import InvalidCatalog, Problem
from tacit.untrusted import NOT_ASCII, UNSEEN, without_password

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
    """Whether a key has more than `MOST_PARTS` parts with dots between them, so that reading it would take long.

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
    return ".".join(name if BARE.fullmatch(name) else _toml_text(name) for name in path)


def value_text(value: object) -> str:
    """A value the way TOML writes it on one line, shortened if it is long.

    >>> print(value_text({"bounds": [0, 0.5], "type": "number", "key": True}))
    { bounds = [0, 0.5], type = "number", key = true }
    >>> print(value_text("postgresql://reader:secret@db/hospital"))
    "postgresql://...@db/hospital"
    """
    text = whole_text(_without_secrets(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _without_secrets(value: object) -> object:
    """The value with passwords removed from its URLs: an error message shows the mistake and never the password."""
    if isinstance(value, Mapping):
        return {name: _without_secrets(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(member) for member in value]
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
        return _toml_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _toml_text(text: str) -> str:
    return NOT_ASCII.sub(_in_toml, json.dumps(text, ensure_ascii=False))


def _in_toml(match: re.Match[str]) -> str:
    """Escapes control characters and line-turning marks that JSON leaves as they are; TOML reads the escapes as the same text."""
    return match[0] if match[0].isprintable() else f"\\u{ord(match[0]):04X}" if match[0] <= "\uffff" else f"\\U{ord(match[0]):08X}"


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
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _Lost
        self.line += match[0].count("\n")
        self.at = match.end()
        return match


def _name(written: str) -> str:
    return next(iter(tomllib.loads(f"{written} = 0"))) if written[0] in "\"'" else written


# --- shapes ------------------------------------------------------------------------------------------------------------------


Schema = Mapping[str, Any]
Report = Callable[[Path, str, str], None]  # a key path, what is wrong with it, and the remedy


class LawViolated(Enum):
    """The placeholder for a value whose problem has already been reported."""

    BROKEN = "broken"


BROKEN: Final = LawViolated.BROKEN
PLACEHOLDER = "?"  # marks what the data owner must fill in
LARGEST_EXPONENT = 300  # no column or budget can have a number beyond it
TYPES: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "object": ("a table", lambda value: isinstance(value, Mapping)),
    "array": ("an array", lambda value: isinstance(value, list)),
    "string": ("a text", lambda value: isinstance(value, str)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "number": ("a number", lambda value: isinstance(value, int | Decimal) and not isinstance(value, bool)),
}
LIMITS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("at least", lambda value, limit: value >= limit),
    "maximum": ("at most", lambda value, limit: value <= limit),
    "exclusiveMinimum": ("above", lambda value, limit: value > limit),
    "exclusiveMaximum": ("below", lambda value, limit: value < limit),
}


@cache
def schema() -> Schema:
    """The JSON Schema of tacit.toml."""
    loaded: Schema = json.loads(files("tacit.data.catalog").joinpath("tacit.schema.json").read_text("utf-8"))
    return loaded


def shaped(document: Mapping[str, object], report: Report, rule: Schema | None = None) -> Any:
    """The document, with `BROKEN` in place of every value that does not fit the schema (the catalog's by default).

    A `rule` other than the default must not contain references.
    """
    return _fit_value(document, schema() if rule is None else rule, (), report)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or all known names.

    >>> nearest("bound", ["bounds", "step"]), nearest("x", ["bounds", "step"])
    ('did you mean bounds?', 'known here: bounds, step')
    """
    names = sorted(known)
    close = get_close_matches(name.lower(), names, 1)
    return f"did you mean {key_text(close)}?" if close else "known here: " + ", ".join(key_text([one]) for one in names)


def _fit_value(value: object, rule: Schema, path: Path, report: Report) -> Any:
    rule = _resolve_rule(rule)
    misfit = _misfit(value, rule)
    if misfit:
        report(path, "is not filled in yet" if value == PLACEHOLDER else misfit, _expectation(rule, path))
        return BROKEN
    return _shaped_table(value, _rule_of_table(rule), path, report) if isinstance(value, Mapping) else value


def _shaped_table(table: Mapping[str, object], rule: Schema, path: Path, report: Report) -> dict[str, Any]:
    members: Schema = rule.get("properties", {})
    rest = rule.get("additionalProperties", False)
    for name in rule.get("required", ()):
        if name not in table:
            report((*path, name), "is missing", _expectation(_resolve_rule(members[name]), (*path, name)))
    shaped_members: dict[str, Any] = dict.fromkeys(rule.get("required", ()), BROKEN)
    for name, value in table.items():
        if name in members or rest:
            shaped_members[name] = _fit_value(value, members.get(name, rest), (*path, name), report)
        else:
            report((*path, name), "is not a key that tacit knows", _meant(name, value, members, path))
    return shaped_members


def _meant(name: str, value: object, members: Schema, path: Path) -> str:
    if isinstance(value, Mapping) and "columns" in members:
        return f"a column is declared in [{key_text((*path, 'columns'))}]"
    if isinstance(value, Mapping) and "bounds" in members:
        return f'a name with a dot in it stands in quotes: "{path[-1]}.{name}"'
    return nearest(name, members)


def _resolve_rule(rule: Schema) -> Schema:
    return schema()["definitions"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule


def _rule_of_table(rule: Schema) -> Schema:
    """Of several alternatives, the one that describes a table."""
    return next((one for one in rule.get("anyOf", ()) if one.get("type") == "object"), rule)


def _misfit(value: object, rule: Schema) -> str:
    """The reason why a value does not fit the rule, or an empty text; members of a table are checked one by one later."""
    if "anyOf" in rule:
        return "" if not all(_misfit(value, one) for one in rule["anyOf"]) else f"is {value_text(value)}, which does not fit"
    if "const" in rule or "enum" in rule:
        return _not_listed(value, rule.get("enum", [rule.get("const")]))
    types = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
    if not any(TYPES[name][1](value) for name in types):
        return f"is {value_text(value)}, not {' or '.join(TYPES[name][0] for name in types)}"
    if isinstance(value, list):
        misfits = [misfit for member in value if (misfit := _misfit(member, rule["items"]))]
        return f"has a member that {misfits[0]}" if misfits else _wrong_size(value, rule)
    return _wrong_number(value, rule) if isinstance(value, int | Decimal) else _wrong_size(value, rule)


def _not_listed(value: object, listed: list[object]) -> str:
    if any(value == one and type(value) is type(one) for one in listed):
        return ""
    return f"is {value_text(value)}, not {' or '.join(value_text(one) for one in listed)}"


def _wrong_number(value: int | Decimal, rule: Schema) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        return f"is {value_text(value)}, not a finite number"
    if value and (abs(value.adjusted()) if isinstance(value, Decimal) else value.bit_length() // 3) > LARGEST_EXPONENT:
        return f"is {value_text(value)}, which is too far from 1"
    for name, (words, holds) in LIMITS.items():
        if name in rule and not holds(value, rule[name]):
            return f"is {value_text(value)}, which must be {words} {value_text(rule[name])}"
    return ""


def _wrong_size(value: object, rule: Schema) -> str:
    if isinstance(value, list) and not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        return f"has {len(value)} member{'' if len(value) == 1 else 's'}, not {rule.get('minItems')}" + (
            "" if "maxItems" in rule else " or more"
        )
    if isinstance(value, Mapping | str) and len(value) < rule.get("minProperties", rule.get("minLength", 0)):
        return "is empty"
    if isinstance(value, str) and not _fits(rule.get("pattern", ""), value):
        return f"is {value_text(value)}, which does not fit"
    return ""


def _fits(pattern: str, text: str) -> bool:
    """Whether a text matches a JSON Schema pattern: its $ is the very end, while Python's also matches before a last line break."""
    return re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), text) is not None


def _expectation(rule: Schema, path: Path) -> str:
    """The schema's description of a key, and how to write it."""
    examples = " or ".join(f"{key_text(path[-1:])} = {value_text(one)}" for one in rule["examples"])
    says = rule["description"].rstrip(".")
    return f"{says[0].lower()}{says[1:]}; for example {examples}"


# --- problems, with the lines of their keys ----------------------------------------------------------------------------------


T = TypeVar("T")
OURS = "tacit_"  # prefix of the prepared store's own columns and tables


class Wrong(Exception):
    """An invalid declaration: its key, relative to what is being read, what is wrong, and the remedy."""

    def __init__(self, key: str, what: str, remedy: str) -> None:
        super().__init__(f"{key} {what}; {remedy}")
        self.key, self.what, self.remedy = key, what, remedy


def folded(name: str) -> str:
    """The form in which names of tables and columns are compared.

    >>> folded("Hours-Per-Week")
    'hours-per-week'
    """
    return normalize("NFC", normalize("NFC", name).lower())


class Reading:
    """The only mutable state while a catalog is read: the list of problems."""

    def __init__(self, lines: Mapping[Path, int]) -> None:
        self.lines = lines
        self.problems: list[Problem] = []

    def report(self, path: Path, what: str, remedy: str) -> None:
        self.problems.append(Problem(key_text(path), what, remedy, self.line(path)))

    def attempt(self, path: Path, read: Callable[[], T]) -> T | LawViolated:
        """The value that was read, or `BROKEN` after recording a problem."""
        try:
            return read()
        except Wrong as wrong:
            self.report((*path, wrong.key) if wrong.key else path, wrong.what, wrong.remedy)
            return BROKEN

    def line(self, path: Path) -> int | None:
        """The line of the key, or of the nearest enclosing table."""
        return next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)

    def check_names(self, path: Path, members: Mapping[str, Any]) -> None:
        for name in members:
            if not name or any(category(character) == "Cc" for character in name):
                self.report((*path, name), "is not a name", "a name has one character or more, and no control characters")

    def folded(self, path: Path, members: Mapping[str, Any]) -> dict[str, str]:
        """Maps folded names of tables or columns to the names as written."""
        self.check_names(path, members)
        names: dict[str, str] = {}
        for name in members:
            if UNSEEN.search(name) and not any(category(character) == "Cc" for character in name):
                self.report((*path, name), "has a mark of writing direction", "no question can name it; rename it")
            if folded(name).startswith(OURS):
                self.report((*path, name), f"begins with {OURS}", "such names are tacit's own; rename it")
            if folded(name) in names:
                twin = key_text((*path, names[folded(name)]))
                self.report((*path, name), f"differs from {twin} in case only", "names match without case; rename one")
            names.setdefault(folded(name), name)
        return names

    def unusable(self, name: str) -> InvalidCatalog:
        problems = sorted(self.problems, key=lambda problem: problem.line or 0)
        count = f"{len(problems)} problems" if len(problems) > 1 else "a problem"
        return InvalidCatalog(f"{name} has {count}:", tuple(problems))
