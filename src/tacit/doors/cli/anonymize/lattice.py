"""`tacit anonymize lattice`: which full-domain generalizations of a table meet a model, and which of them loses least."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.anonymize.options import (
    BANNER,
    Alpha,
    Config,
    Delta,
    DropMissing,
    Hierarchies,
    K,
    L,
    Quasi,
    Sensitive,
    Separate,
    Suppress,
    T,
    Utility,
    given,
    required,
)
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, figure, print_json, say

if TYPE_CHECKING:
    from tacit.publish.tables.requirements import Requirements
    from tacit.publish.tables.search import Found


def lattice(
    file: Annotated[Path, typer.Argument(help="Table: a CSV or Parquet file.")],
    config: Config = None,
    hierarchies: Hierarchies = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    drop_missing: DropMissing = None,
    k: K = None,
    l: L = None,  # noqa: E741  # the field's own name for it
    t: T = None,
    alpha: Alpha = None,
    delta: Delta = None,
    separate: Separate = None,
    suppress: Suppress = None,
    utility: Utility = None,
    as_json: AsJson = False,
) -> None:
    """Search all full-domain generalizations for the one with the least loss. For the data owner; nothing is published.

    Example: tacit anonymize lattice people.csv --hierarchies hierarchies --quasi age,sex --sensitive disease --k 5 --l 2
    """
    options = given(quasi=quasi, sensitive=sensitive, drop_missing=drop_missing, k=k, l=l, t=t, alpha=alpha, delta=delta)
    rest = given(suppress=suppress, utility=utility, hierarchies=hierarchies, separate=separate)
    asked = required(config, options | rest)
    found, rows = _searched(asked, file)
    levels = dict(zip(asked.quasi, found.node, strict=True))
    if as_json:
        print_json(_told(asked, found, rows, levels))
        return
    say(f"{found.satisfying:,} of {found.nodes:,} generalizations satisfy the models; {found.counted:,} were counted.")
    say(
        f"Least loss ({found.measure}): {figure(found.loss)}, at levels {', '.join(f'{name} {at}' for name, at in levels.items())}."
    )
    say(f"Suppressed rows: {found.suppressed:,} of {rows:,}.")
    say(BANNER)


def _searched(asked: Requirements, file: Path) -> tuple[Found, int]:
    from tacit.publish.tables.measures import Losses
    from tacit.publish.tables.search import search

    with bar("reading") as told:
        table = asked.read(file)
        asked = asked.spelled(table)
        hierarchies = asked.hierarchies_of(table)
        conditions = asked.models(hierarchies).conditions(table, list(asked.sensitive))
        whole = asked.lattice(table, hierarchies)
        losses = Losses(whole, asked.k, asked.weights)
        return search(whole, conditions, losses, asked.utility, asked.limit(table), told), table.rows


def _told(asked: Requirements, found: Found, rows: int, levels: dict[str, int]) -> dict[str, Any]:
    return {
        "satisfying": found.satisfying,
        "nodes": found.nodes,
        "counted": found.counted,
        "minimal": [",".join(map(str, node)) for node in found.minimal()],
        "best": levels,
        "utility": found.measure,
        "loss": found.loss,
        "rows": rows,
        "suppressed": found.suppressed,
        "quasi": list(asked.quasi),
        "differentially_private": False,
    }
