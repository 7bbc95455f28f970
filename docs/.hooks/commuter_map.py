"""Draws the maps of the guide to commuter maps, `python docs/.hooks/commuter_map.py`: a made-up state, and noise of tacit's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.model import Terms, draw_map, offered
from tacit.publish.synthetic.commuters.report import side_by_side

PLACE = Path(__file__).parent.parent / "guides" / "commuter-map.png"


def main() -> None:
    """One destination of a middling size: real, with a delta, and pure."""
    state = made_state()
    zones = state.blocks.zones("blockgroup")
    totals = state.totals(zones)
    homes, place = state.homes(totals), int(np.argsort(totals.jobs)[-6])
    offers = {"ratio 20, delta 1e-5": offered(totals, zones, Terms(20, 1e-5)), "ratio 20, pure": offered(totals, zones, Terms(20))}
    maps = [(name, list(draw_map(offer, homes))[place]) for name, offer in offers.items()]
    truth = list(homes.counts(offers["ratio 20, pure"].domains()))[place]
    chart = side_by_side(state.blocks, zones, (zones, int(totals.zones[place])), [("real", truth), *maps])
    chart.save(str(PLACE), scale_factor=1)


if __name__ == "__main__":
    main()
