"""`tacit synthesize ...`: data that looks like the real one and carries a stated guarantee."""

from __future__ import annotations

from collections.abc import Callable

import typer

synthesize = typer.Typer(no_args_is_help=True, help="Publish synthetic data: a map of commuters, or any table.")

COMMANDS: dict[str, Callable[..., None]] = {}
