"""`tacit schema`: the JSON Schema of tacit.toml, for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.doors.cli.output import print_json


def schema(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (always the case).")] = False,
) -> None:
    """Print the JSON Schema of tacit.toml, for editors to validate and complete it.

    Example: tacit schema
    """
    from tacit.data.declaration import schema as of_the_catalog

    print_json(dict(of_the_catalog()))
