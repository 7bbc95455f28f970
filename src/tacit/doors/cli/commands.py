"""How a function becomes a command of `tacit`: the list of commands, the errors that they end with, and their options.

A command line imports the module of its own command alone. The library speaks of its arguments, as in `give for example
confidence=0.95`, and an error carries those that it names. Whoever typed a command has options instead, so the command line says
`--confidence 0.95` wherever the command has that option.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from tacit.doors.cli.output import error_report, print_error, say
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
from tacit.privacy.rounding import is_decimal

DATA_SET, QUESTIONS, SERVER = "Data set", "Questions", "Server"
OTHER_WAYS, EVIDENCE = "Other ways to publish", "Evidence"
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("tacit.doors.cli.init", DATA_SET),
    "check": ("tacit.doors.cli.check", DATA_SET),
    "prepare": ("tacit.doors.cli.prepare", DATA_SET),
    "bounds": ("tacit.doors.cli.bounds", DATA_SET),
    "schema": ("tacit.doors.cli.init", DATA_SET),
    "sql": ("tacit.doors.cli.ask", QUESTIONS),
    "explain": ("tacit.doors.cli.ask", QUESTIONS),
    "margins": ("tacit.doors.cli.margins", QUESTIONS),
    "stream": ("tacit.doors.cli.stream", QUESTIONS),
    "plan": ("tacit.doors.cli.plan", QUESTIONS),
    "budget": ("tacit.doors.cli.accounts", QUESTIONS),
    "history": ("tacit.doors.cli.accounts", QUESTIONS),
    "shell": ("tacit.doors.cli.sessions", QUESTIONS),
    "mcp": ("tacit.doors.cli.sessions", QUESTIONS),
    "login": ("tacit.doors.cli.login", QUESTIONS),
    "reference": ("tacit.doors.cli.reference", QUESTIONS),
    "serve": ("tacit.doors.cli.serve", SERVER),
    "audit": ("tacit.doors.cli.audit", OTHER_WAYS),
    "demo": ("tacit.doors.cli.demo", EVIDENCE),
    "lecture": ("tacit.doors.cli.lecture", EVIDENCE),
    "verify": ("tacit.doors.cli.verify", EVIDENCE),
}
"""A command, the module with the function of its name, and the panel of the help that lists it."""

GROUPS: Mapping[str, tuple[str, str]] = {
    "ledger": ("tacit.doors.cli.accounts", DATA_SET),
    "certificate": ("tacit.doors.cli.certificate", QUESTIONS),
    "token": ("tacit.doors.cli.token", SERVER),
    "approvals": ("tacit.doors.cli.approvals", SERVER),
    "attack": ("tacit.doors.cli.attack", EVIDENCE),
    "show": ("tacit.doors.cli.show", EVIDENCE),
    "release": ("tacit.doors.cli.release", OTHER_WAYS),
    "synthesize": ("tacit.doors.cli.synthesize", OTHER_WAYS),
    "train": ("tacit.doors.cli.train", OTHER_WAYS),
    "survey": ("tacit.doors.cli.survey", OTHER_WAYS),
    "anonymize": ("tacit.doors.cli.anonymize", OTHER_WAYS),
}
"""A group of commands, the module with the application of its name and with its `COMMANDS`, and its panel."""

EXIT_CODES: tuple[tuple[type[TacitError], int], ...] = (
    (LawViolated, 1),
    (Refused, 3),
    (InvalidCatalog, 4),
    (StoreUnusable, 4),
    (Unforeseen, 4),
    (StoppedAfterSpending, 130),
    (TacitError, 2),
)

EXTRAS = {
    **dict.fromkeys(("fastapi", "httpx", "pydantic", "sqlalchemy", "starlette", "uvicorn"), "server"),
    **dict.fromkeys(("adbc_driver_manager", "adbc_driver_postgresql", "psycopg"), "postgres"),
    "dp_accounting": "accounting",
    "mbi": "synthetic",
    "mcp": "mcp",
    "numba": "graphs",
    "prompt_toolkit": "shell",
    "pyspark": "spark",
}
"""Packages that are not installed with tacit, and the extra of tacit that installs each."""

NO_NUMBERS = ("nan", "inf", "infinity")  # which commands refuse in words of their own
OTHERWISE = {"flip": "p", "ratio": "ratios", "half_width": "error"}  # arguments under another name, as one or several


def application(wanted: str | None = None) -> typer.Typer:
    """The application with the one command or group of the given name; with all of them, unless one is named."""
    names = COMMANDS.keys() | GROUPS.keys()
    options = wanted not in names  # --install-completion and --show-completion, which a command line with a command does not have
    app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=options, pretty_exceptions_enable=False)
    app.callback()(tacit)
    only = names & {wanted} or names
    for name, (module, panel) in COMMANDS.items():
        if name in only:
            app.command(cls=Command, rich_help_panel=panel)(reported(getattr(import_module(module), name)))
    for name, (module, panel) in GROUPS.items():
        if name in only:
            app.add_typer(_group(module, name), name=name, cls=Group, rich_help_panel=panel)
    return app


def _group(module: str, name: str) -> typer.Typer:
    family = import_module(module)
    group: typer.Typer = getattr(family, name)
    if not group.registered_commands:
        for each, command in family.COMMANDS.items():
            group.command(each, cls=Command)(reported(command))
    return group


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"tacit {version('tacit')}")
        raise typer.Exit


def tacit(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Answer SQL and publish statistics on private data with differential privacy."""


# --- errors ------------------------------------------------------------------------------------------------------------------


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with an error turned into a line on standard error (JSON if asked for) and an exit code.

    An error that tacit does not foresee is one constant line there, and a line in the data owner's log.
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
        named = partial(with_options, arguments=error.arguments, options=options_of(command))
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
    if isinstance(caught, ModuleNotFoundError) and (package := (caught.name or "").partition(".")[0]) in EXTRAS:
        install = f"pip install 'tacit[{EXTRAS[package]}]'"
        return InvalidInput(f"this command requires the package {package}, which is not installed; run: {install}")
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


# --- options -----------------------------------------------------------------------------------------------------------------


def options_of(command: Callable[..., None]) -> dict[str, str]:
    """The options of a command, by the names of its parameters.

    >>> from tacit.doors.cli.ask import sql
    >>> options_of(sql)["epsilon"], options_of(sql)["as_csv"]
    ('--epsilon', '--csv')
    """
    hints = get_type_hints(command, include_extras=True)
    declared = {name: info for name, hint in hints.items() for info in getattr(hint, "__metadata__", ())}
    named = {name: _option(name, info) for name, info in declared.items() if isinstance(info, OptionInfo)}
    return {argument: named[other] for argument, other in OTHERWISE.items() if other in named} | named


def _option(name: str, info: OptionInfo) -> str:
    names = (info.default, *(info.param_decls or ()))  # inside of Annotated, typer takes the first name for a default
    return next((each for each in names if isinstance(each, str) and each.startswith("--")), f"--{name.replace('_', '-')}")


def with_options(text: str, arguments: Iterable[str], options: Mapping[str, str]) -> str:
    """The message of an error, with each of the arguments that it carries named as the option of a command.

    An argument is the first word of a message, or has its value behind it.

    >>> with_options("flip is below 1/2, not 2; give for example flip=1/4", ["flip"], {"flip": "--p"})
    '--p is below 1/2, not 2; give for example --p 1/4'
    >>> with_options("estimate with simultaneous=True", ["simultaneous"], {"simultaneous": "--simultaneous"})
    'estimate with --simultaneous'
    """
    words = text.split(" ")
    for argument in options.keys() & set(arguments):
        words = [_option_for(word, argument, options[argument]) for word in words]
        if words[0] == argument:
            words[0] = options[argument]
    return " ".join(words)


def _option_for(word: str, argument: str, option: str) -> str:
    """`confidence=0.95` as `--confidence 0.95`, and `simultaneous=True` as `--simultaneous`; any other word as it is."""
    name, _, value = word.partition("=")
    if name != argument or not value:
        return word
    return option if value == "True" else f"{option} {value}"


class Command(TyperCommand):
    """A command whose help shows no type beside an option that takes no value, and whose numbers are ASCII decimals."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with numbers and flags described plainly in the help."""
        return _flags_without_type(list(map(_with_plain_numbers, super().get_params(ctx))))


class Group(TyperGroup):
    """A group of commands, with the same in its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with flags described plainly in the help."""
        return _flags_without_type(list(map(_with_plain_numbers, super().get_params(ctx))))


def _with_plain_numbers(parameter: Any) -> Any:
    """The parameter, with a number refused that Python would read and people would not: " 1", "1_0", digits of other scripts."""
    if not isinstance(parameter.process_value, partial):
        parameter.process_value = partial(_process, parameter, parameter.process_value)
    return parameter


def _process(parameter: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    if _needs_no_reading(parameter, value):
        taken = () if value is None and (parameter.multiple or parameter.nargs != 1) else value
        return parameter.callback(ctx, parameter, taken) if parameter.callback else taken
    read = process(ctx, value)
    plain = not isinstance(value, str) or is_decimal(value) or value.lower().lstrip("+-") in NO_NUMBERS
    if isinstance(read, int | float) and not isinstance(read, bool) and not plain:
        raise typer.BadParameter(f"{value!r} is not a plain number; write it like 20, 0.5 or 1e-6")
    return read


def _needs_no_reading(parameter: Any, value: Any) -> bool:
    """Whether typer would take a value as it is: an option not given, or a text in ASCII. Typer loads pydantic to find out."""
    if value is None:
        return not parameter.required
    declared = getattr(parameter, "type_descriptor", None)
    return declared is not None and declared.annotation is str and type(value) is str and value.isascii()


def _flags_without_type(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False) and each.metavar is None:
            each.metavar = " "  # nothing at all would be read as: not given, so show the type
    return parameters
