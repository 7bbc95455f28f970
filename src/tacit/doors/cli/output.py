"""What every command prints in the same way: JSON, errors, progress on a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import InvalidInput, TacitError

if TYPE_CHECKING:
    from rich.console import Console

Item = TypeVar("Item")


def print_json(answer: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else there."""
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def keep_what_is_read(written: Path | None, *read: Path) -> None:
    """Refuses to write over a file that the same command reads."""
    for path in read:
        if written is not None and written.resolve() == path.resolve():
            raise InvalidInput(f"{written} is read here and would be lost; write to another file")


def error_report(error: TacitError, as_json: bool, named: Callable[[str], str] = str) -> str:
    """What is wrong, for people, or as JSON: `{"error": {"code": ..., "message": ...}}`, with remedy and place where known.

    `named` puts the options of the command in the place of the arguments that a message names.
    """
    if not as_json:
        return f"tacit: {named(str(error))}"
    code = getattr(error, "code", None) or re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
    known: dict[str, Any] = {"code": code, "message": named(getattr(error, "message", str(error)))}
    if remedy := getattr(error, "remedy", ""):
        known["remedy"] = named(remedy)
    if at := getattr(error, "at", None):
        known["line"], known["column"] = at
    if problems := getattr(error, "problems", ()):
        known |= {"remedy": problems[0].remedy, "line": problems[0].line, "problems": [asdict(problem) for problem in problems]}
    return json.dumps({"error": known}, ensure_ascii=False)


def figure(number: float, sign: str = "") -> str:
    """Four digits, or all before the point: a mean or its error as people write it, and no power of ten for an income.

    >>> figure(2938.4), figure(45123.4), figure(3.14159), figure(0.25, "+"), figure(1e30)
    ('2,938', '45,123', '3.142', '+0.25', '1e+30')
    """
    return f"{number:{sign},.0f}" if 1000 <= abs(number) < 10**15 else f"{number:{sign}.4g}"


def console() -> Console:
    """Where tables go: standard output, wide enough for them where it is no terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=120)


def progress(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """The items, with a bar on standard error while they come, if that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, description=what, total=total, console=Console(stderr=True), transient=True)
