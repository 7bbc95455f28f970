"""How a catalog begins: `tacit init` drafts one to fill in, and `tacit schema` has the rules for editors."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.output import keep_what_is_read, print_json, say
from tacit.doors.cli.which_catalog import NAME
from tacit.errors import InvalidInput
from tacit.files import write
from tacit.privacy.rounding import counted


def init(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="CSV, Parquet, DuckDB or Excel files, folders or patterns of CSV or Parquet files, or PostgreSQL URLs.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="Output path of the catalog.")] = Path(NAME),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing catalog.")] = False,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of CSV files, for example windows-1252.")] = "utf-8",
    separator: Annotated[
        str, typer.Option(metavar="SIGN", help="Sign between the fields of CSV files; by default, as the header shows.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Draft a catalog from the names and types of columns. Reads no values; "?" marks what to fill in.

    Example: tacit init patients.parquet --out draft.toml
    """
    from tacit.data.catalog.draft import draft
    from tacit.data.files.columns import SCHEMES, tables_at

    keep_what_is_read(out, *(Path(each) for each in files if not each.startswith(SCHEMES)))
    text = text_form(encoding, separator)
    tables = [table for source in files for table in tables_at(source, partial(_seen_from, out), text)]
    if not tables:
        raise InvalidInput("no table found; give files that contain tables")
    drafted = draft(tables)
    _write(out, drafted, force)
    columns, places = sum(len(table.fields) for table in tables), _places(drafted)
    if as_json:
        print_json({"catalog": str(out.absolute()), "tables": len(tables), "columns": columns, "to_fill_in": places})
    else:
        say(
            f"{out}: {counted(len(tables), 'table')}, {counted(columns, 'column')}, "
            f'{counted(places, "place")} marked "?" to fill in'
        )
        if any("$PGPASSWORD" in str(table.source) and "$PGPASSWORD" not in " ".join(files) for table in tables):
            say("the password is not written: set PGPASSWORD in the environment of `tacit prepare`")
        say("then `tacit check` says what is left, and `tacit prepare` reads the data")


def text_form(encoding: str, separator: str) -> dict[str, str]:
    """The encoding and the separator of CSV files as a catalog declares them, where they are not the default."""
    from tacit.data.catalog.columns import read_encoding
    from tacit.data.declaration import Wrong
    from tacit.data.declaration import schema as of_the_catalog

    signs = of_the_catalog()["definitions"]["table"]["properties"]["separator"]["enum"]
    sign = separator.replace("\\t", "\t")
    if sign and sign not in signs:
        raise InvalidInput(
            f"unsupported separator {separator!r}; expected one of {' '.join(map(repr, signs))}", argument="separator"
        )
    try:
        codec = read_encoding(encoding)
    except Wrong as wrong:
        raise InvalidInput(f"encoding {wrong.what}; {wrong.remedy}", argument="encoding") from None
    return {**({} if codec == "utf-8" else {"encoding": encoding}), **({"separator": sign} if sign else {})}


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
