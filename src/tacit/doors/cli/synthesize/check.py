"""`tacit synthesize check`: what is in a file of flows, for its curator, before a map is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import console, print_json


def check_flows(
    flows: Annotated[Path, typer.Argument(metavar="FLOWS", help="A CSV or Parquet file of flows.")],
    blocks: Annotated[Path, typer.Option("--blocks", help="The public map: block, lat, lon and blockgroup, tract, county.")],
    destinations: Annotated[str, typer.Option(help="Zones of the workplaces: block, blockgroup, tract, county.")] = "tract",
    columns: Annotated[
        str | None, typer.Option(help="DESTINATION,ORIGIN,JOBS in the flows, or without JOBS; else w_geocode,h_geocode,S000.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """For the curator alone: count rows that cannot be read, and jobs that the map does not know. Releases and spends nothing."""
    from tacit.publish.synthetic.commuters import check as checking
    from tacit.publish.synthetic.commuters.flows import Columns
    from tacit.publish.synthetic.commuters.geography import read_blocks

    found = checking.check_flows(flows, Columns.read(columns) if columns else Columns(), read_blocks(blocks), destinations)
    if as_json:
        print_json(found.to_dict())
        return
    for sentence in found.sentences():
        console().print(sentence, soft_wrap=True)
