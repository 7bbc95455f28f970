"""One exit for errors: what is not of the closed list leaves as one constant text, and the data owner's log has a line about it.

An exception that nobody foresaw may quote a cell in its message, in the exception that it came from, or in a variable of one of
its frames. So none of these goes on: a new exception is raised when the old one is gone. The log is for the data owner alone
(mode 600), in the catalog's `.tacit` folder, else in the user's state folder. A line of it has the time, the kinds of the
exceptions and the places in the code, and no message, so that it can be sent to whoever mends it.
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

FILE = "unforeseen.log"
LARGEST = 1 << 20  # bytes; a full log is kept as unforeseen.log.old until the next one is full
MOST_FRAMES = 20
MOST_LINKS = 5  # exceptions that led to one another


class Keeper(Protocol):
    """Whose methods have one exit."""

    @property
    def kept(self) -> Path:
        """The folder of the log."""


Given = ParamSpec("Given")
Value = TypeVar("Value")


def one_exit(method: Callable[Given, Value]) -> Callable[Given, Value]:
    """The method of a keeper, from which errors of tacit leave without what led to them, and any other one as `Unforeseen`."""

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
    """The error without the exceptions and frames behind it, in which rows may lie; to be raised when none is being handled."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def noted(error: BaseException, folder: Path | None = None) -> Unforeseen:
    """What leaves in the place of an error that nobody foresaw, after a line of it is in the owner's log.

    `folder` is the catalog's own; without one, or where nothing can be written there, it is the user's state folder.
    """
    line = line_of(error)
    for place in (folder if folder is not None and folder.is_dir() else None, state_folder(os.environ)):
        with suppress(OSError):  # a log that cannot be written changes nothing of what is told
            if place is not None:
                append_line(place / FILE, line, LARGEST)
                break
    return Unforeseen()


def line_of(error: BaseException) -> str:
    """When, what kinds of exceptions, and where; no message, no value.

    >>> line_of(ValueError("a cell")).split(" ", 1)[1]
    'ValueError at no place'
    """
    return f"{datetime.now(UTC).isoformat(timespec='seconds')} {' after '.join(_links(error))}"


def _links(error: BaseException | None) -> Iterator[str]:
    for _ in range(MOST_LINKS):
        if error is None:
            return
        frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
        places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-MOST_FRAMES:]]
        number = f" {errno.errorcode.get(error.errno, '')}" if isinstance(error, OSError) and error.errno else ""
        yield f"{type(error).__name__}{number} at {' > '.join(places) or 'no place'}"
        error = error.__cause__ or error.__context__
