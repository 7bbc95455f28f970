"""`tacit synthesize check`: a report on a file of flows for its curator, before a map is made from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json
from tacit.doors.cli.synthesize.map import LEVELS, USUAL


def check_flows(
    flows: Annotated[Path, typer.Argument(metavar="FLOWS", help="CSV or Parquet file of flows.")],
    blocks: Annotated[
        Path, typer.Option("--blocks", help="Public map with the columns block, lat, lon and blockgroup, tract, county.")
    ],
    destinations: Annotated[str | None, typer.Option(help=f"Zones of the workplaces: {LEVELS}; {USUAL}.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns DESTINATION,ORIGIN,JOBS of the flows; JOBS is optional. w_geocode,h_geocode,S000 if omitted."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count unreadable rows and jobs outside the map. For the data owner only; releases nothing and spends nothing.

    Example: tacit synthesize check flows.csv --blocks blocks.csv
    """
    from tacit.publish.synthetic.commuters import check as checking
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.geography import read_blocks

    found = checking.check_flows(flows, Columns.read(columns) if columns else Columns(), read_blocks(blocks), destinations)
    if as_json:
        print_json(found.to_dict())
        return
    for sentence in found.sentences():
        console().print(sentence, soft_wrap=True)
