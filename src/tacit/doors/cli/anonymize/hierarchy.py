"""`tacit anonymize hierarchy`: a hierarchy of values, checked and drawn as a tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import print_json, say
from tacit.privacy.rounding import counted


def hierarchy(
    file: Annotated[Path, typer.Argument(help="File with one value per line and its coarser forms, separated by semicolons.")],
    most: Annotated[int, typer.Option(help="Most forms to draw under one form.", min=2)] = 12,
    as_json: AsJson = False,
) -> None:
    """Check that the levels of a hierarchy nest, and draw it as a tree.

    Example: tacit anonymize hierarchy hierarchies/age.csv
    """
    from tacit.publish.tables.hierarchy import Hierarchy

    read = Hierarchy.read(file)
    forms = [len(each) for each in read.forms]
    if as_json:
        print_json({"name": read.name, "levels": len(forms), "forms": forms, "tree": list(read.tree(most))})
        return
    say(f"{read.name}: {counted(len(forms), 'level')} with {', '.join(f'{each:,}' for each in forms)} values.")
    say("\n".join(read.tree(most)))
