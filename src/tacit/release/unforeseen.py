"""One exit for errors: an error outside the closed list leaves as one constant text, and a line about it goes to the owner's log.

An unforeseen exception may quote a cell in its message, in its cause, or in a variable of one of its frames. So none of these is
passed on: a new exception is raised after the old one is gone. The log is for the data owner alone (mode 600), in the catalog's
`.tacit/log` folder, else in the user's state folder. A line has the time, the types of the exceptions and the places in the code,
and no message, so that the owner can send it to a maintainer.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar, cast

from tacit.accounting.ledger.register import state_folder
from tacit.errors import TacitError, Unforeseen
from tacit.files import append_line

FILE = "log/unforeseen.log"  # in a folder of its own, where a confined process may rename files
LARGEST = 1 << 20  # bytes; a full log is renamed to end in .1, and earlier ones in .2 to .4
OLDER = 4
MOST_FRAMES = 20
MOST_LINKS = 5  # chained exceptions in one line


class Keeper(Protocol):
    """An object whose methods have one exit."""

    @property
    def kept(self) -> Path:
        """The folder of the log."""


Given = ParamSpec("Given")
Value = TypeVar("Value")


def one_exit(method: Callable[Given, Value]) -> Callable[Given, Value]:
    """A method of a keeper: tacit's own errors leave it without their causes, and any other error leaves as `Unforeseen`."""

    @wraps(method)
    def guarded(*given: Given.args, **named: Given.kwargs) -> Value:
        try:
            return method(*given, **named)
        except TacitError as error:
            leaving = alone(error)
        except Exception as error:
            leaving = noted(error, cast(Keeper, given[0]).kept)
        raise leaving

    return guarded


def alone(error: TacitError) -> TacitError:
    """The error without the exceptions and frames behind it, which may contain rows; raise it outside any handler."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def noted(error: BaseException, folder: Path | None = None) -> Unforeseen:
    """The error that replaces an unforeseen one, after a line about it is in the owner's log.

    `folder` is the catalog's own; without one, or if it cannot be written to, the log goes to the user's state folder.
    """
    log_line(line_of(error), folder)
    return Unforeseen()


def log_line(line: str, folder: Path | None = None) -> None:
    """Add a line, with the time, to the owner's log: in the catalog's own folder, else in the user's state folder."""
    for place in (folder if folder is not None and folder.is_dir() else None, state_folder(os.environ)):
        with suppress(OSError):  # a log that cannot be written does not change what is reported
            if place is not None:
                append_line(place / FILE, f"{datetime.now(UTC).isoformat(timespec='seconds')} {line}", LARGEST, OLDER)
                break


def latest(folder: Path, most: int) -> list[str]:
    """The latest lines of the log, the last one at the end; older files are read only if they are needed."""
    lines: list[str] = []
    for name in (FILE, *(f"{FILE}.{number + 1}" for number in range(OLDER))):
        with suppress(OSError):
            lines = (folder / name).read_text("ascii", "replace").splitlines() + lines
        if len(lines) >= most:
            break
    return lines[-most:]


def line_of(error: BaseException) -> str:
    """The types of the exceptions, and the places in the code; no message, no value.

    >>> line_of(ValueError("a cell"))
    'ValueError at no place'
    """
    return " after ".join(_links(error))


def _links(error: BaseException | None) -> Iterator[str]:
    for _ in range(MOST_LINKS):
        if error is None:
            return
        frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-MOST_FRAMES:]]
        number = f" {errno.errorcode.get(error.errno, '')}" if isinstance(error, OSError) and error.errno else ""
        yield f"{type(error).__name__}{number} at {' > '.join(places) or 'no place'}"
        error = error.__cause__ or error.__context__
