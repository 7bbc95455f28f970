"""`tacit anonymize ...`: tables made anonymous the syntactic way. Nothing here is differentially private."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tacit.doors.cli.anonymize.adversary import adversary
from tacit.doors.cli.anonymize.hierarchy import hierarchy

anonymize = typer.Typer(
    no_args_is_help=True,
    help="Publish a table under k-anonymity, l-diversity, t-closeness and related models. Not differentially private.",
)

COMMANDS: dict[str, Callable[..., None]] = {
    "adversary": adversary,
    "hierarchy": hierarchy,
}
