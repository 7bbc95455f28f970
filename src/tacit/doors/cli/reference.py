"""`tacit reference`: a page of the reference, as it is in the documentation of this version."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.output import say
from tacit.errors import InvalidInput


class Page(StrEnum):
    """The pages that messages mention."""

    SQL = "sql"
    JOINS = "joins"
    ERRORS = "errors"


def reference(page: Annotated[Page, typer.Argument(help="Page of the reference.")] = Page.SQL) -> None:
    """Print a page of the reference: what SQL may be asked, how tables are joined, what each error means.

    Example: tacit reference sql
    """
    say(text_of(page))


def text_of(page: Page) -> str:
    """The page: beside this module where tacit is installed, in `docs` where it runs from its sources."""
    here = Path(__file__)
    for place in (here.parent / "pages", *(above / "docs" / "reference" for above in here.parents[4:5])):
        if (file := place / f"{page.value}.md").is_file():
            return file.read_text(encoding="utf-8").rstrip()
    raise InvalidInput(f"the page {page.value} is not installed; read it in the documentation")
