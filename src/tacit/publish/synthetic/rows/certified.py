"""The content of certificates of synthetic rows: histograms with noise, and choices; or the urn (marginals.md, contingency.md)."""

from __future__ import annotations

from typing import Any

from tacit.accounting.events import BoundedRangeChoice, Resampling
from tacit.mechanisms.dirichlet.resampling import DirichletResampling
from tacit.publish.synthetic.rows.cells import Chosen
from tacit.publish.synthetic.rows.marginals import Measured, Round
from tacit.query.price.price import UNIT
from tacit.release.certificates.mechanisms import parameters
from tacit.release.certificates.ways import Way, facts_of

JOINED = "rows of both tables are joined on the unit, so that a unit has no more of them than in its table (family.md)"


def way_of(measured: Measured, what: str) -> Way:
    """Noisy marginals: every column, the choices of pairs, and the pairs; or the rounds; in the order of the design's event."""
    table, names = measured.design.table, [axis.name for axis in measured.design.axes]
    pairs = 0 if measured.design.pair is None else len(measured.design.axes) - 1
    columns = [{"name": axis.name, "cells": axis.size} for axis in measured.design.axes]
    way = Way("synthetic-rows", what, {"table": table.name, "columns": columns, "pairs": pairs}, facts_of(table, names))
    _add_marginals(way, measured)
    return way


def way_of_family(parents: Measured, children: Measured, what: str) -> Way:
    """Two tables of the same units, one after the other: the noise of each is for the rows that a unit has in it (family.md)."""
    parts = [(each.design.table, each.design.axes) for each in (parents, children)]
    plan = {"tables": [{"table": table.name, "columns": [axis.name for axis in axes]} for table, axes in parts]}
    facts: dict[str, Any] = {"tables": {}}
    for table, axes in parts:
        facts["tables"] |= facts_of(table, [axis.name for axis in axes])["tables"]
    way = Way("synthetic-rows", what, plan, facts, [JOINED])
    for measured in (parents, children):
        _add_marginals(way, measured)
    return way


def _add_marginals(way: Way, measured: Measured) -> None:
    design = measured.design
    table, names = design.table, [axis.name for axis in design.axes]
    pairs = 0 if design.pair is None else len(design.axes) - 1
    moved = {"l1": table.max_rows, "l2": str(table.max_rows)}
    for axis in design.axes:
        step = way.step("marginal", {"table": table.name, "columns": [axis.name], "max_rows": table.max_rows}, **moved)
        for size in axis.histograms:
            way.noise("marginal", step, design.single.over(size))
    step = way.step("marginal", {"table": table.name, "columns": None, "max_rows": table.max_rows}, **moved) if pairs else 0
    if design.choice is not None:
        for _ in range(pairs):
            event = BoundedRangeChoice(design.choice, UNIT)
            way.drawn("choice", step, "farthest", event, epsilon=str(design.choice), max_rows=table.max_rows)
    if design.pair is not None:
        for _ in range(pairs):
            way.noise("pair", step, design.pair.over(1))
    if design.rounds is not None:
        rounds = [_round(each, names) for each in measured.rounds]
        step = way.step(
            "rounds", {"table": table.name, "max_rows": table.max_rows, "heaviest": max(design.rounds.weights)}, **moved
        )
        way.drawn("rounds", step, "rounds", design.rounds.event, rounds=rounds)


def _round(each: Round, names: list[str]) -> dict[str, Any]:
    """One round as it was released: the chosen columns, the epsilon of the choice, and the noise, without its numbers."""
    noise = parameters(each.noise.over(1))
    return {"columns": [names[at] for at in each.places], "choice": str(each.choice), "noise": noise}


def way_of_urn(urn: DirichletResampling, chosen: Chosen, event: Resampling, what: str) -> Way:
    """Rows drawn from an urn: the price is that of one row, for each row that a unit may have."""
    table, names = chosen.table, [axis.name for axis in chosen.axes]
    plan = {"table": table.name, "columns": names, "cells": urn.blocks, "rows": urn.draws}
    way = Way("contingency-table", what, plan, facts_of(table, names))
    inputs = {"table": table.name, "max_rows": table.max_rows, "draws": urn.draws, "noise": str(urn.noise)}
    step = way.step("resampled-rows", inputs, epsilon=str(event.epsilon))
    way.drawn("rows", step, "resampling", event, epsilon=str(event.epsilon), delta=str(event.delta))
    return way
