"""The command line. Each command is a module of its own that imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.doors.cli.accounts import adopt, begin, budget, history, resume, units
from tacit.doors.cli.accounts import ledger as ledger_commands
from tacit.doors.cli.anonymize import COMMANDS as ANONYMIZING
from tacit.doors.cli.anonymize import anonymize
from tacit.doors.cli.ask import explain, sql
from tacit.doors.cli.attack import COMMANDS as ATTACKS
from tacit.doors.cli.attack import attack
from tacit.doors.cli.audit import audit
from tacit.doors.cli.check import check
from tacit.doors.cli.demo import demo
from tacit.doors.cli.init import init
from tacit.doors.cli.login import login
from tacit.doors.cli.options import Command, Group, in_options, options_of
from tacit.doors.cli.output import error_report, let_all_letters_pass, print_error, say
from tacit.doors.cli.prepare import prepare
from tacit.doors.cli.reference import reference
from tacit.doors.cli.schema import schema
from tacit.doors.cli.serve import serve
from tacit.doors.cli.survey import COMMANDS as SURVEYS
from tacit.doors.cli.survey import survey
from tacit.doors.cli.synthesize import COMMANDS as SYNTHESES
from tacit.doors.cli.synthesize import synthesize
from tacit.doors.cli.token import COMMANDS as TOKENS
from tacit.doors.cli.token import token as token_commands
from tacit.doors.cli.verify import verify
from tacit.doors.cli.which_catalog import find_catalog
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
from tacit.release.processes import start_ahead

EXIT_CODES: tuple[tuple[type[TacitError], int], ...] = (
    (LawViolated, 1),
    (Refused, 3),
    (InvalidCatalog, 4),
    (StoreUnusable, 4),
    (Unforeseen, 4),
    (StoppedAfterSpending, 130),
    (TacitError, 2),
)

app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


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
            error = _told(caught, options.get("catalog"))
        else:
            return
        named = partial(in_options, options=options_of(command))
        print_error(error_report(error, as_json=options.get("as_json", False), named=named))
        raise typer.Exit(_exit_code(error))

    return run


def _exit_code(error: TacitError) -> int:
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def _told(caught: Exception, catalog: Any) -> TacitError:
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
    from tacit.release.unforeseen import noted

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


DATA_SET, QUESTIONS, SERVER = "Data set", "Questions", "Server"
OTHER_WAYS, EVIDENCE = "Other ways to publish", "Evidence"
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    DATA_SET: (init, check, prepare, schema),
    QUESTIONS: (sql, explain, budget, history, login, reference),
    SERVER: (serve,),
    OTHER_WAYS: (audit,),
    EVIDENCE: (demo, verify),
}
for panel, commands in PANELS.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=panel)(reported(command))
for act in (begin, units, resume, adopt):
    ledger_commands.command(cls=Command)(reported(act))
app.add_typer(ledger_commands, name="ledger", cls=Group, rich_help_panel=DATA_SET)
for name, handing in TOKENS.items():
    token_commands.command(name, cls=Command)(reported(handing))
app.add_typer(token_commands, name="token", cls=Group, rich_help_panel=DATA_SET)
for name, attacking in ATTACKS.items():
    attack.command(name, cls=Command)(reported(attacking))
app.add_typer(attack, name="attack", cls=Group, rich_help_panel=EVIDENCE)
for name, synthesizing in SYNTHESES.items():
    synthesize.command(name, cls=Command)(reported(synthesizing))
app.add_typer(synthesize, name="synthesize", cls=Group, rich_help_panel=OTHER_WAYS)
for name, surveying in SURVEYS.items():
    survey.command(name, cls=Command)(reported(surveying))
app.add_typer(survey, name="survey", cls=Group, rich_help_panel=OTHER_WAYS)
for name, anonymizing in ANONYMIZING.items():
    anonymize.command(name, cls=Command)(reported(anonymizing))
app.add_typer(anonymize, name="anonymize", cls=Group, rich_help_panel=OTHER_WAYS)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"tacit {version('tacit')}")
        raise typer.Exit


@app.callback()
def tacit(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Answer SQL and publish statistics on private data with differential privacy."""


def main() -> None:
    """The entry point of the command `tacit`."""
    if sys.argv[1:2] == ["sql"] and "TACIT_SERVER" not in os.environ and not any(w.startswith("--server") for w in sys.argv):
        start_ahead()  # the process that will answer loads while this one reads the question
    if sys.argv[1:2] in (["sql"], ["explain"], ["budget"], ["history"]):
        gc.disable()  # such a process ends after one answer; looking for garbage takes a quarter of a second of its start
    let_all_letters_pass()
    try:
        app(prog_name="tacit")
    except Exception as caught:  # outside of every command, such as in reading its options
        error = _told(caught, None)
    else:
        return
    print_error(error_report(error, as_json="--json" in sys.argv))
    sys.exit(_exit_code(error))
