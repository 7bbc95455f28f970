"""Which catalog a command works on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Catalog

NAME = "tacit.toml"
VARIABLE = "TACIT_CATALOG"

CatalogOption = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="PATH", help=f"The catalog; else ${VARIABLE}, else the nearest {NAME} here or above."),
]


def find_catalog(given: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """The catalog that is named, or the nearest one in the current folder or above; a folder stands for the one in it."""
    named = given or (Path(environment[VARIABLE]) if environment.get(VARIABLE) else None)
    if named is not None:
        path = named / NAME if named.is_dir() else named
        if not path.is_file():
            by = "--catalog" if given else f"${VARIABLE}"
            raise InvalidCatalog(f"{by} names {path}, and there is no such file; `tacit init FILE...` drafts one")
        return path.absolute()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME).is_file():
            return folder / NAME
    raise InvalidCatalog(
        f"there is no {NAME} in {here} or above; `tacit init FILE...` drafts one, and --catalog PATH or ${VARIABLE} names one"
    )


def from_above(options: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> str | None:
    """The catalog of a command, relative to the current folder, if it was found in a folder above; None if it was named or is here.

    `options` are those of the command: only one with --catalog works on a catalog, and one with --server does not.
    """
    if "catalog" not in options or options["catalog"] or options.get("server") or environment.get(VARIABLE):
        return None
    with suppress(InvalidCatalog, OSError):
        path = find_catalog(None, environment)
        return None if path.parent == Path.cwd() else os.path.relpath(path)
    return None


def load_catalog(given: Path | None = None) -> Catalog:
    """The catalog that a command works on, read and found sound; what a killed preparation left beside its store is gone."""
    from tacit.data.catalog import read_catalog
    from tacit.data.store import swept

    return swept(read_catalog(find_catalog(given)))
