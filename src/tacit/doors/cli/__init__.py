"""The command line. Each command is a module of its own that imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any

import typer

from tacit.doors.cli.accounts import adopt, begin, budget, history, resume, units
from tacit.doors.cli.accounts import ledger as ledger_commands
from tacit.doors.cli.ask import explain, sql
from tacit.doors.cli.attack import COMMANDS as ATTACKS
from tacit.doors.cli.attack import attack
from tacit.doors.cli.audit import audit
from tacit.doors.cli.check import check
from tacit.doors.cli.demo import demo
from tacit.doors.cli.init import init
from tacit.doors.cli.options import Command, Group, in_options, options_of
from tacit.doors.cli.output import error_report, let_all_letters_pass, print_error, say
from tacit.doors.cli.prepare import prepare
from tacit.doors.cli.schema import schema
from tacit.doors.cli.survey import COMMANDS as SURVEYS
from tacit.doors.cli.survey import survey
from tacit.doors.cli.synthesize import COMMANDS as SYNTHESES
from tacit.doors.cli.synthesize import synthesize
from tacit.doors.cli.verify import verify
from tacit.errors import Broken, CatalogUnusable, InvalidInput, Refused, StoppedAfterSpending, StoreUnusable, TacitError
from tacit.release.processes import start_ahead

EXIT_CODES: tuple[tuple[type[TacitError], int], ...] = (
    (Broken, 1),
    (Refused, 3),
    (CatalogUnusable, 4),
    (StoreUnusable, 4),
    (StoppedAfterSpending, 130),
    (TacitError, 2),
)

app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an error of tacit turned into a line on standard error (JSON if asked for) and an exit code.

    So is a file that the system does not let be read or written: a folder that is read-only is no fault of the program.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except (TacitError, OSError) as caught:
            error = caught if isinstance(caught, TacitError) else _of_the_system(caught)
            named = partial(in_options, options=options_of(command))
            print_error(error_report(error, as_json=options.get("as_json", False), named=named))
            raise typer.Exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind))) from None

    return run


def _of_the_system(error: OSError) -> InvalidInput:
    """The same error in our words; raises it again where it is about no file, such as a pipe that was closed."""
    if not isinstance(error.filename, str) or error.strerror is None:
        raise error
    return InvalidInput(
        f"{error.filename} cannot be used ({error.strerror}); name another place, or have it made readable and writable"
    )


for command in (demo, init, check, prepare, sql, explain, budget, history, schema, verify, audit):
    app.command(cls=Command)(reported(command))
for act in (begin, units, resume, adopt):
    ledger_commands.command(cls=Command)(reported(act))
app.add_typer(ledger_commands, name="ledger", cls=Group)
for name, attacking in ATTACKS.items():
    attack.command(name, cls=Command)(reported(attacking))
app.add_typer(attack, name="attack", cls=Group)
for name, synthesizing in SYNTHESES.items():
    synthesize.command(name, cls=Command)(reported(synthesizing))
app.add_typer(synthesize, name="synthesize", cls=Group)
for name, surveying in SURVEYS.items():
    survey.command(name, cls=Command)(reported(surveying))
app.add_typer(survey, name="survey", cls=Group)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"tacit {version('tacit')}")
        raise typer.Exit


@app.callback()
def tacit(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Publish what is learnt from people's data without publishing the people."""


def main() -> None:
    """The entry point of the command `tacit`."""
    if sys.argv[1:2] == ["sql"]:
        start_ahead()  # the process that will answer loads while this one reads the question
    if sys.argv[1:2] in (["sql"], ["explain"], ["budget"], ["history"]):
        gc.disable()  # such a process ends after one answer; looking for garbage takes a quarter of a second of its start
    let_all_letters_pass()
    app(prog_name="tacit")
