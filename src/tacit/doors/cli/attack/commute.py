"""`tacit attack longest-commute`: find the co-worker with the longest commute on a true, a naive and a private map."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, show


def longest_commute(
    ratio: Annotated[str, typer.Option(help="Privacy ratio of the private map, e^epsilon.")] = "20",
    delta: Annotated[str, typer.Option(help="Probability that the ratio bound is exceeded.")] = "1e-9",
    maps: Annotated[int, typer.Option(help="Number of maps of each kind.", min=1, max=1000)] = 20,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the person with the longest commute on a simulated map. Defense: fake workers at every origin of a public map.

    Example: tacit attack longest-commute --maps 2
    """
    from tacit.evidence.attacks.longest_commute import longest_commute as run
    from tacit.publish.synthetic.commuters.example_state import made_state
    from tacit.publish.synthetic.commuters.model import Terms, offered

    state = made_state()
    totals = state.totals(state.blocks.zones("tract"))
    found = run(offered(totals, state.blocks.zones("blockgroup"), Terms(ratio, delta)), state.homes(totals), maps)
    show(found, chart, as_json)
    if not found.holds:
        raise typer.Exit(1)
