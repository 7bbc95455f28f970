"""The whole process of a map: the public side, the offer, the payment, the homes, the draws, the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tacit.accounting.ledger.caps import at_least
from tacit.errors import InvalidInput
from tacit.privacy.arguments import whole_of
from tacit.privacy.rounding import decimal_text, log_up
from tacit.publish.synthetic.commuters.empty_cells import ByDistance
from tacit.publish.synthetic.commuters.flows import MOST_JOBS, Homes, joined_totals
from tacit.publish.synthetic.commuters.geography import ELSEWHERE, Blocks, read_blocks
from tacit.publish.synthetic.commuters.model import Offer, SyntheticMap, Terms, draw_map, offered
from tacit.publish.synthetic.commuters.prior import Near
from tacit.publish.synthetic.commuters.sources import FlowsFile, Paid, Source, event_of, require_undeclared
from tacit.publish.synthetic.commuters.utility import Cells
from tacit.release.certificates.ways import Way
from tacit.release.outputs import check_output, write_output

STATED = "the loss of resampling a map at its ratio, and of all jobs that one unit has (mechanisms/dirichlet/dirichlet.md)"
Levels = tuple[str | None, str | None]
Watch = Callable[[Iterator[Cells], int], Iterator[Cells]]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A published map with everything behind it. `homes` is the true data: for the data owner's report only."""

    blocks: Blocks
    made: SyntheticMap
    paid: Paid
    homes: Homes
    receipt: dict[str, Any]

    def __repr__(self) -> str:
        return "Release(...)"

    @property
    def offer(self) -> Offer:
        """The offer: the release, decided and priced."""
        return self.made.offer


def synthesize_map(
    flows: str | Path,
    blocks: str | Path,
    out: str | Path,
    terms: Terms,
    levels: Levels = (None, None),
    join: int | None = None,
) -> Release:
    """Publish the map of a file of flows that no catalog declares; the ledger is kept next to `out`.

    With `join`, destinations with fewer jobs than that are joined with their neighbors, by public totals.

    >>> from tempfile import TemporaryDirectory
    >>> from tacit.publish.synthetic.commuters.example_state import made_state
    >>> with TemporaryDirectory() as folder:
    ...     flows, blocks = made_state(blocks=200, workplaces=4, jobs=500).write(folder)
    ...     release = synthesize_map(flows, blocks, f"{folder}/synthetic.csv", Terms(ratio=20, delta=1e-5))
    >>> release.receipt["ratio"], int(release.made.table()["jobs"].sum())
    ('20', 500)
    """
    place = check_output(Path(out), [Path(blocks)])
    require_undeclared(Path(flows))
    return publish_map(FlowsFile(Path(flows), place), read_blocks(blocks), levels, terms, place, join=join)


def publish_map(
    source: Source,
    blocks: Blocks,
    levels: Levels,
    terms: Terms,
    out: Path,
    watch: Watch = lambda draws, _: draws,
    join: int | None = None,
) -> Release:
    """Draw a synthetic map and write it, with its receipt, to `out`; the price is recorded before a home is read.

    `levels` names the domain of origins (a level of zones, or rings) and the level of destinations; None is the usual level of
    the map. `watch` receives each destination as it is drawn.
    """
    source.check(out)
    _require_distances(blocks, terms)
    destinations = blocks.zones(levels[1])
    totals, joined = source.totals(blocks, destinations), dict[str, list[str]]()
    if join is not None:
        totals, joined = joined_totals(totals, whole_of(join, "join", 1, MOST_JOBS))
    origins = blocks.origins(levels[0])
    offer = offered(totals, origins, terms)

    def publish(paid: Paid) -> Release:
        homes = source.homes(blocks, totals)
        made = SyntheticMap(offer, tuple(watch(draw_map(offer, homes), len(totals))))
        receipt = receipt_of(offer, paid, source.note) | ({"joined destinations": joined} if join is not None else {})
        write_output(made.table(), receipt, out)
        if paid.seal is not None:
            paid.seal.beside(way_of(offer, paid), out)
        return Release(blocks, made, paid, homes, receipt)

    return source.sell(
        offer, f"a synthetic map of commuters from {levels[0] or origins.level} to {destinations.level}: {terms}", publish
    )


def _require_distances(blocks: Blocks, terms: Terms) -> None:
    """Refuse rules by distance on a map without coordinates."""
    if not blocks.located and (isinstance(terms.keeping, ByDistance) or isinstance(terms.prior, Near)):
        raise InvalidInput("rules by distance need coordinates; give the map the columns lat and lon, or choose another rule")


def way_of(offer: Offer, paid: Paid) -> Way:
    """The content of a map's certificate: its public parameters, and the price that the proof states."""
    terms, loss = offer.terms, paid.loss
    destinations = {"level": offer.totals.destinations.level, "number": len(offer.totals)}
    plan = {"origins": offer.origins.level, "destinations": destinations, "terms": str(terms)}
    way = Way("commuter-map", "a synthetic map of commuters", plan, stated=[STATED])
    inputs = {"ratio": str(terms.ratio), "delta": str(terms.delta), "keep": str(terms.keeping), "workers": str(terms.workers)}
    inputs |= {"prior": str(terms.prior)} if terms.weighted else {}
    step = way.step("resampled-map", inputs, epsilon=str(loss.epsilon), delta=str(loss.delta))
    event = event_of(loss, loss.neighbours)
    way.drawn("map", step, "resampling", event, epsilon=str(loss.epsilon), delta=str(loss.delta))
    return way


def receipt_of(offer: Offer, paid: Paid, totals: str) -> dict[str, Any]:
    """The receipt of the table: the claim, the relation, the domain and the noise, the ledger. All of it is public."""
    terms, cells = offer.terms, offer.cells
    dropping = offer.ratio / terms.ratio
    return {
        "what": "a synthetic map of commuters: origin, destination, jobs",
        "claim": " ".join(offer.claim()),
        "ratio": at_least(offer.ratio),
        "epsilon": at_least(offer.loss.epsilon),
        "delta": decimal_text(terms.delta),
        "kind": ("approximate" if terms.weighted else "probabilistic") if terms.delta else "pure",
        "prior": {"rule": str(terms.prior), "pieces": max(mechanism.facts.blocks for mechanism in offer.mechanisms)},
        "resampling": {"ratio": at_least(terms.ratio), "epsilon": at_least(log_up(terms.ratio))},
        "dropping": {"keep": str(terms.keeping), "ratio": at_least(dropping), "epsilon": at_least(log_up(dropping))},
        "relation": offer.relation,
        "totals": totals,
        "origins": offer.origins.level,
        "destinations": {"level": offer.totals.destinations.level, "number": len(offer.totals), "left out": offer.totals.left_out},
        "synthetic workers": {"rule": str(terms.workers), "number": sum(offer.draws)},
        "cells": {"least": min(cells), "most": max(cells)},
        "outside": f"origins that are not on the map are {ELSEWHERE!r}",
        "fake workers on a cell": {
            "least": float(min(offer.noises)),
            "median": float(median(offer.noises)),
            "most": float(max(offer.noises)),
        },
        "expected share of fake jobs": round(offer.fake, 6),
        "paid": paid.to_dict(),
    }
