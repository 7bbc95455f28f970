"""The commands, and the module that has each. A command line imports the module of its own command alone."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated

import typer

from tacit.doors.cli.failures import reported
from tacit.doors.cli.options import Command, Group
from tacit.doors.cli.output import say

DATA_SET, QUESTIONS, SERVER = "Data set", "Questions", "Server"
OTHER_WAYS, EVIDENCE = "Other ways to publish", "Evidence"
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("tacit.doors.cli.init", DATA_SET),
    "check": ("tacit.doors.cli.check", DATA_SET),
    "prepare": ("tacit.doors.cli.prepare", DATA_SET),
    "schema": ("tacit.doors.cli.schema", DATA_SET),
    "sql": ("tacit.doors.cli.ask", QUESTIONS),
    "explain": ("tacit.doors.cli.ask", QUESTIONS),
    "budget": ("tacit.doors.cli.accounts", QUESTIONS),
    "history": ("tacit.doors.cli.accounts", QUESTIONS),
    "login": ("tacit.doors.cli.login", QUESTIONS),
    "reference": ("tacit.doors.cli.reference", QUESTIONS),
    "serve": ("tacit.doors.cli.serve", SERVER),
    "audit": ("tacit.doors.cli.audit", OTHER_WAYS),
    "demo": ("tacit.doors.cli.demo", EVIDENCE),
    "verify": ("tacit.doors.cli.verify", EVIDENCE),
}
"""A command, the module with the function of its name, and the panel of the help that lists it."""

GROUPS: Mapping[str, tuple[str, str]] = {
    "ledger": ("tacit.doors.cli.accounts", DATA_SET),
    "token": ("tacit.doors.cli.token", SERVER),
    "attack": ("tacit.doors.cli.attack", EVIDENCE),
    "synthesize": ("tacit.doors.cli.synthesize", OTHER_WAYS),
    "survey": ("tacit.doors.cli.survey", OTHER_WAYS),
    "anonymize": ("tacit.doors.cli.anonymize", OTHER_WAYS),
}
"""A group of commands, the module with the application of its name and with its `COMMANDS`, and its panel."""


def application(wanted: str | None = None) -> typer.Typer:
    """The application with the one command or group of the given name; with all of them, unless one is named."""
    app = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    app.callback()(tacit)
    known = COMMANDS.keys() | GROUPS.keys()
    only = known & {wanted} or known
    for name, (module, panel) in COMMANDS.items():
        if name in only:
            app.command(cls=Command, rich_help_panel=panel)(reported(getattr(import_module(module), name)))
    for name, (module, panel) in GROUPS.items():
        if name in only:
            app.add_typer(_group(module, name), name=name, cls=Group, rich_help_panel=panel)
    return app


def _group(module: str, name: str) -> typer.Typer:
    found = import_module(module)
    group: typer.Typer = getattr(found, name)
    if not group.registered_commands:
        for each, command in found.COMMANDS.items():
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
