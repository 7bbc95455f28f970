"""`tacit synthesize ...`: synthetic data with a stated privacy guarantee."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tacit.doors.cli.synthesize.family import tables
from tacit.doors.cli.synthesize.map import check_flows, commuter_map, noise_table, state
from tacit.doors.cli.synthesize.table import check_analysis, table

synthesize = typer.Typer(no_args_is_help=True, help="Publish synthetic data: a commuter map, or rows of any table.")

COMMANDS: dict[str, Callable[..., None]] = {
    "check": check_flows,
    "map": commuter_map,
    "table": table,
    "tables": tables,
    "check-analysis": check_analysis,
    "state": state,
    "noise-table": noise_table,
}
