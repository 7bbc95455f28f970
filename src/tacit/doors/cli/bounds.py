"""`tacit bounds`: bounds of a column, proposed privately from the data and paid for."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.doors.cli.ask import PeriodsOption
from tacit.doors.cli.output import bar, console, print_json
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog

NONE_FOUND = "none found: no range of values has a noisy count above the threshold of {threshold:,}"


def bounds(
    column: Annotated[
        str, typer.Argument(metavar="TABLE.COLUMN", help="A column of a private table, declared without bounds: { }.")
    ],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="Budget to spend; it is spent whatever is found.")],
    periods: PeriodsOption = None,
    analyst: Annotated[
        str | None,
        typer.Option(envvar="TACIT_ANALYST", help="Analyst whose budget pays; required if the catalog declares several."),
    ] = None,
    catalog: CatalogOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Propose bounds of a number privately, from noisy counts of powers of two. Spends epsilon, also if none are found.

    Example: tacit bounds visits.cost --epsilon 0.1
    """
    from tacit.session import open as open_data

    with bar("counting"), open_data(find_catalog(catalog)) as data:
        proposal = data.propose_bounds(column, epsilon, periods=periods or "", analyst=analyst)
    if as_json:
        print_json(proposal.to_dict())
        return
    screen = console()
    screen.print(proposal.line or NONE_FOUND.format(threshold=proposal.threshold), markup=False, highlight=False, soft_wrap=True)
    left = proposal.to_dict()["left"] or {"epsilon": "0"}
    when = "Spent before" if proposal.receipt.again else "Spent"
    screen.print(
        f"{when}: epsilon {proposal.to_dict()['price']['epsilon']}. Remaining: epsilon {left['epsilon']}.", highlight=False
    )
    if proposal.line:
        screen.print(
            "These are powers of two around most values. If better bounds are publicly known, declare those.", highlight=False
        )
