"""How a catalog begins: `tacit init` drafts one to fill in, and `tacit schema` has the rules for editors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.output import keep_what_is_read, print_json, say
from tacit.doors.cli.which_catalog import NAME
from tacit.errors import InvalidInput
from tacit.files import write
from tacit.privacy.rounding import counted


def init(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Parquet, CSV (also gzipped) or DuckDB files.")],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="Output path of the catalog.")] = Path(NAME),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing catalog.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Draft a catalog from the names and types of columns. Reads no values; "?" marks what to fill in.

    Example: tacit init patients.parquet --out draft.toml
    """
    from tacit.data.catalog.draft import draft
    from tacit.data.files.columns import tables_in

    keep_what_is_read(out, *files)
    tables = [table for file in files for table in tables_in(file, _seen_from(out, file))]
    if not tables:
        raise InvalidInput("no table found; give files that contain tables")
    text = draft(tables)
    _write(out, text, force)
    columns, places = sum(len(table.fields) for table in tables), _places(text)
    if as_json:
        print_json({"catalog": str(out.absolute()), "tables": len(tables), "columns": columns, "to_fill_in": places})
    else:
        say(
            f"{out}: {counted(len(tables), 'table')}, {counted(columns, 'column')}, "
            f'{counted(places, "place")} marked "?" to fill in'
        )
        say("then `tacit check` says what is left, and `tacit prepare` reads the data")


def _seen_from(out: Path, file: Path) -> str:
    """The path to write: relative where the file lies in the catalog's folder or below it."""
    folder, target = out.absolute().parent.resolve(), Path(os.path.abspath(file.parent.resolve() / file.name))
    return target.relative_to(folder).as_posix() if target.is_relative_to(folder) else target.as_posix()


def _write(out: Path, text: str, force: bool) -> None:
    if out.exists() and not force:
        raise InvalidInput(f"{out} already exists; overwrite it with --force, or choose another file with --out")
    write(out, text, force=force)


def _places(text: str) -> int:
    """How many places are to be filled in."""
    from tacit.data.catalog import parse_catalog
    from tacit.errors import InvalidCatalog

    try:
        parse_catalog(text)
    except InvalidCatalog as unfinished:
        return len(unfinished.problems)
    return 0


def schema(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (always the case).")] = False,
) -> None:
    """Print the JSON Schema of tacit.toml, for editors to validate and complete it.

    Example: tacit schema
    """
    from tacit.data.declaration import schema as of_the_catalog

    print_json(dict(of_the_catalog()))
