"""`tacit anonymize ...`: tables and graphs made anonymous the syntactic way. Nothing here is differentially private."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tacit.doors.cli.anonymize.checks import adversary, check_table, sample_risk
from tacit.doors.cli.anonymize.graphs import graph
from tacit.doors.cli.anonymize.tables import hierarchy, lattice, suppress_cells, table

anonymize = typer.Typer(
    no_args_is_help=True,
    help="Publish a table under k-anonymity, l-diversity and related models, or a social network. Not differentially private.",
)

COMMANDS: dict[str, Callable[..., None]] = {
    "table": table,
    "graph": graph,
    "lattice": lattice,
    "check": check_table,
    "hierarchy": hierarchy,
    "sample-risk": sample_risk,
    "suppress": suppress_cells,
    "adversary": adversary,
}
