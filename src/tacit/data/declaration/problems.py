"""The problems found while a catalog is read, and the lines of its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from unicodedata import category, normalize

from tacit.data.declaration.lines import Path, key_text
from tacit.data.declaration.shape import BROKEN, LawViolated
from tacit.errors import InvalidCatalog, Problem
from tacit.untrusted import UNSEEN

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
        found: dict[str, str] = {}
        for name in members:
            if UNSEEN.search(name) and not any(category(character) == "Cc" for character in name):
                self.report((*path, name), "has a mark of writing direction", "no question can name it; rename it")
            if folded(name).startswith(OURS):
                self.report((*path, name), f"begins with {OURS}", "such names are tacit's own; rename it")
            if folded(name) in found:
                twin = key_text((*path, found[folded(name)]))
                self.report((*path, name), f"differs from {twin} in case only", "names match without case; rename one")
            found.setdefault(folded(name), name)
        return found

    def unusable(self, name: str) -> InvalidCatalog:
        found = sorted(self.problems, key=lambda problem: problem.line or 0)
        count = f"{len(found)} problems" if len(found) > 1 else "a problem"
        return InvalidCatalog(f"{name} has {count}:", tuple(found))
