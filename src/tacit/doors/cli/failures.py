"""What a command does with an error: a line on standard error, or JSON, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import typer

from tacit.doors.cli.options import in_options, options_of
from tacit.doors.cli.output import error_report, print_error
from tacit.doors.cli.which_catalog import find_catalog, from_above
from tacit.errors import (
    InvalidCatalog,
    InvalidInput,
    LawViolated,
    Refused,
    StoppedAfterSpending,
    StoreUnusable,
    TacitError,
    Unforeseen,
)

EXIT_CODES: tuple[tuple[type[TacitError], int], ...] = (
    (LawViolated, 1),
    (Refused, 3),
    (InvalidCatalog, 4),
    (StoreUnusable, 4),
    (Unforeseen, 4),
    (StoppedAfterSpending, 130),
    (TacitError, 2),
)


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an error turned into a line on standard error (JSON if asked for) and an exit code.

    What tacit does not foresee is one constant line there, and a line in the data owner's log.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as caught:
            error = told(caught, options.get("catalog"))
        else:
            return
        if not isinstance(error, Unforeseen) and (above := from_above(options)) is not None:
            error.add_note(f"(catalog: {above})")
        named = partial(in_options, options=options_of(command))
        print_error(error_report(error, as_json=options.get("as_json", False), named=named))
        raise typer.Exit(exit_code(error))

    return run


def exit_code(error: TacitError) -> int:
    """The exit code of a command that ends with an error."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def told(caught: Exception, catalog: Any) -> TacitError:
    """The error in words of tacit: its own, those of the system about a file or a full disk, or the constant ones."""
    if isinstance(caught, TacitError):
        return caught
    if isinstance(caught, UnicodeEncodeError):
        what = "a name or the output has a character that this terminal or file system cannot write"
        return StoreUnusable(what, remedy="set PYTHONUTF8=1, or choose another name; to ask the same again costs nothing more")
    if isinstance(caught, OSError) and caught.errno:
        why = os.strerror(caught.errno)
        if isinstance(caught.filename, str):
            return InvalidInput(
                f"{caught.filename} cannot be used ({why}); name another place, or have it made readable and writable"
            )
        _forget_output()
        return StoreUnusable(
            f"the disk or the output failed ({why})", remedy="check both; to ask the same again costs nothing more"
        )
    from tacit.release.once import noted

    return noted(caught, _log_folder(catalog))


def _forget_output() -> None:
    """Nothing more is written to a standard output that fails; else the interpreter would try again as it ends, and say so."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log_folder(catalog: Any) -> Path | None:
    """The folder that is kept beside the catalog of a command, if it has one."""
    with suppress(TacitError, OSError):
        return find_catalog(catalog if isinstance(catalog, Path) else None).parent / ".tacit"
    return None
