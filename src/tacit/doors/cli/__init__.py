"""The command line. Each command is a module of its own, imported when the command runs, so that commands start quickly."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import typer

ONE_ANSWER = ("sql", "explain", "budget", "history")


def __getattr__(name: str) -> Any:
    """`app`: all commands as one application, made on first use."""
    if name == "app":
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _app() -> typer.Typer:
    from tacit.doors.cli.commands import application

    return application()


def main() -> None:
    """The entry point of the command `tacit`."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    if asked not in ONE_ANSWER:
        run(asked)
        return
    try:
        run(asked)
    except SystemExit as ended:
        _leave(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    _leave(0)


def run(asked: str) -> None:
    """Run the command line, whose command is `asked`; raises SystemExit at its end."""
    if asked in ONE_ANSWER:
        gc.disable()  # such a process ends after one answer: collecting garbage while it loads finds none
    if asked == "sql" and "TACIT_SERVER" not in os.environ and not any(word.startswith("--server") for word in sys.argv):
        from tacit.release.elsewhere.processes import start_ahead

        start_ahead()  # the process that will answer loads while this one reads the question
    from tacit.doors.cli.commands import application, exit_code, told
    from tacit.doors.cli.output import error_report, let_all_letters_pass, print_error

    let_all_letters_pass()
    try:
        application(asked)(prog_name="tacit")
    except Exception as caught:  # outside of every command, such as in reading its options
        error = told(caught, None)
    else:
        return
    print_error(error_report(error, as_json="--json" in sys.argv))
    sys.exit(exit_code(error))


def _leave(code: int) -> NoReturn:
    """End this process, with what must be closed closed, but without taking it apart object by object, a tenth of a second."""
    atexit._run_exitfuncs()  # a ledger that is left open would leave its log beside it
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # told already, where it was written
            stream.flush()
    os._exit(code)
