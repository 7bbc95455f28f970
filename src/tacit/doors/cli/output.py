"""Output that all commands share: lines, JSON, CSV, errors, progress on a terminal. No other module prints.

Printed text may contain a value of the data, a name in a question or that of a file: see screen.py and untrusted.py.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.errors import InvalidInput, TacitError
from tacit.files import check
from tacit.untrusted import for_json, lines_for_terminal, without_passwords

if TYPE_CHECKING:
    from tacit.doors.cli.screen import Screen

Item = TypeVar("Item")
PATIENCE = 2.0  # seconds until a terminal shows that something is still at work


def say(text: str, to_stderr: bool = False) -> None:
    """A text on standard output, or on standard error."""
    print(lines_for_terminal(without_passwords(text)), file=sys.stderr if to_stderr else sys.stdout, flush=to_stderr)


def print_json(answer: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else there."""
    print(for_json(answer, indent=2, plain=not _in_unicode()))


def print_csv(text: str) -> None:
    """CSV on standard output, and nothing else there; its cells were escaped where it was written."""
    print(text, end="")


def _in_unicode() -> bool:
    return (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def print_error(report: str) -> None:
    """The text of `error_report`, on standard error."""
    print(report, file=sys.stderr)


def let_all_letters_pass() -> None:
    """A letter that the terminal's encoding lacks is printed as its escape: an answer that is paid for is printed in any case."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def keep_what_is_read(written: Path | None, *read: Path) -> None:
    """Refuses to write over a file that the same command reads, and, before the work, where nothing can be written."""
    if written is None:
        return
    for path in read:
        if written.resolve() == path.resolve():
            raise InvalidInput(f"{written} is read here and would be lost; write to another file")
    check(written)


def error_report(error: TacitError, as_json: bool, named: Callable[[str], str] = str) -> str:
    """The error as a line for people, or as JSON: `{"error": {"code": ..., "message": ...}}`, with its remedy and place, if any.

    `named` puts the options of the command in the place of the arguments that a message names.
    """
    if not as_json:
        below = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))  # the place in the question
        return f"tacit: {lines_for_terminal(without_passwords(named(str(error)) + below))}"
    code = getattr(error, "code", None) or re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).lower()
    report: dict[str, Any] = {"code": code, "message": without_passwords(named(getattr(error, "message", str(error))))}
    if remedy := getattr(error, "remedy", ""):
        report["remedy"] = without_passwords(named(remedy))
    if at := getattr(error, "at", None):
        report["line"], report["column"] = at
    if problems := getattr(error, "problems", ()):
        report |= {"remedy": problems[0].remedy, "line": problems[0].line, "problems": [asdict(problem) for problem in problems]}
    return for_json({"error": report})


def figure(number: float, sign: str = "") -> str:
    """Four digits, or all before the point: a mean or its error as people write it, and no power of ten for an income.

    >>> figure(2938.4), figure(45123.4), figure(3.14159), figure(0.25, "+"), figure(1e30)
    ('2,938', '45,123', '3.142', '+0.25', '1e+30')
    """
    return f"{number:{sign},.0f}" if 1000 <= abs(number) < 10**15 else f"{number:{sign}.4g}"


def at_terminal() -> bool:
    """Whether questions can be asked: people read the output, and type."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def read_line(prompt: str) -> str:
    """One line that is typed after a prompt, with the keys of readline if it is installed."""
    with suppress(ImportError):
        import readline  # noqa: F401  # its import lets input() edit the line
    return input(lines_for_terminal(without_passwords(prompt)))


def console() -> Screen:
    """Where tables go: standard output, wide enough for them if it is not a terminal."""
    from tacit.doors.cli.screen import Screen

    return Screen() if sys.stdout.isatty() else Screen(width=120)


def progress(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """The items, with a bar on standard error while they come, if that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tacit.doors.cli.screen import bars

    with bars() as shown:
        yield from shown.track(items, total=total, description=what)


@contextmanager
def bar(what: str) -> Iterator[Callable[[str, float], None] | None]:
    """A bar on standard error that shows what is done and how far it is, from 0 to 1; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from tacit.doors.cli.screen import bars

    with bars() as shown:
        task = shown.add_task(what, total=1.0)
        yield lambda words, fraction: shown.update(task, description=words, completed=fraction)


@contextmanager
def clock(what: str) -> Iterator[None]:
    """How long something has taken, on standard error if that is a terminal, for what takes longer than a moment.

    Nothing else is shown of a question: how many tasks it has, and how far they are, would follow the data.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def show() -> None:
        if not done.wait(PATIENCE):
            from tacit.doors.cli.screen import elapsed

            with elapsed() as shown:
                shown.add_task(what, total=None)
                done.wait()

    shower = threading.Thread(target=show, daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()
