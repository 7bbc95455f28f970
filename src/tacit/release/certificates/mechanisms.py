"""The mechanisms of a quote with their public parameters, and the laws of the intervals that follow from one of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from tacit.accounting.events import Batch, CalibratedGaussian, Event, GaussianNoise, LaplaceNoise
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.running import Running
from tacit.mechanisms.selection import GaussianKeyThreshold, KeyThreshold
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.query.plan import Moment
from tacit.query.price.quote import Mode, Quote, Rank, candidates


@dataclass(frozen=True, slots=True)
class Made:
    """A mechanism as JSON, and the event that it is recorded as; sums of released numbers have none."""

    document: dict[str, Any]
    event: Event | None


def mechanisms_json(quote: Quote, event: Event) -> list[dict[str, Any]]:
    """Every mechanism of every part, each with the numbers of its events among the leaves of `event`, which is the quote's."""
    waiting = list(enumerate(leaves(event)))
    listed = []
    moments = tuple(dict.fromkeys(moment for part in quote.parts for moment in part.question.group.moments))
    for made in (each for at, part in enumerate(quote.parts) for each in _of_part(at, part, moments)):
        numbers = [] if made.event is None else [_taken(waiting, leaf) for leaf in leaves(made.event)]
        listed.append({**made.document, "events": numbers})
    assert not waiting  # noqa: S101  # every event of a quote is that of a mechanism
    return listed


def _taken(waiting: list[tuple[int, Event]], wanted: Event) -> int:
    """The number of the first waiting leaf that is the wanted event; equal events are the same to a price."""
    return waiting.pop(next(place for place, (_, leaf) in enumerate(waiting) if leaf == wanted))[0]


def leaves(event: Event) -> Iterator[Event]:
    """The events in an event, in order: those of a batch, and the noises of a calibrated one."""
    if isinstance(event, Batch | CalibratedGaussian):
        for part in event.events:
            yield from leaves(part)
    else:
        yield event


def _of_part(at: int, quote: Quote, every: tuple[Moment, ...]) -> Iterator[Made]:
    """Those of one part; `every` are the moments of all parts, by which shared measurements are named."""
    calls = quote.question.calls
    for workload in quote.workloads:
        for measurement in workload.strategy.measurements:
            what = {"axes": list(measurement.axes), "centred": measurement.centred, **parameters(measurement.noise)}
            yield Made({"part": at, "releases": "shared", "moment": every.index(workload.moment), **what}, measurement.noise.event)
    if quote.keys is not None:
        yield Made({"part": at, "releases": "keys", **parameters(quote.keys)}, quote.keys.event)
    for each in quote.sums:
        yield Made({"part": at, "releases": "moment", "moment": each.place, **parameters(each.mechanism)}, each.mechanism.event)
    for margin in quote.margins:
        source = {"from": [margin.part, margin.of], "count": margin.mechanism.count}
        yield Made({"part": at, "releases": "margin", "moment": margin.place, "kind": "added", **source}, None)
    for shared in quote.shared:
        told = {"kind": "estimated", "axes": list(shared.mechanism.axes), "from": every.index(shared.moment)}
        yield Made({"part": at, "releases": "estimate", "moment": shared.place, **told}, None)
    trees: dict[int, list[Rank]] = {}
    for rank in quote.ranks:
        if isinstance(rank.mechanism, FromTree):
            trees.setdefault(rank.place, []).append(rank)
        else:
            document = {"releases": "quantile", "calls": [calls.index(rank.call)], "rows": rank.rows, **parameters(rank.mechanism)}
            yield Made({"part": at, "moment": rank.place, **document}, rank.event)
    for place, ranks in trees.items():
        named = [calls.index(rank.call) for rank in ranks]
        document = {"releases": "quantile", "calls": named, **parameters(ranks[0].mechanism)}
        yield Made({"part": at, "moment": place, **document}, ranks[0].event)
    for mode in quote.modes:
        yield Made(
            {"part": at, "releases": "mode", "moment": mode.place, "calls": [calls.index(mode.call)], **_mode(mode)}, mode.event
        )


@singledispatch
def parameters(mechanism: object) -> dict[str, Any]:
    """The kind of a mechanism and its public parameters."""
    raise TypeError(f"{type(mechanism).__name__} is not a mechanism of a question")


@parameters.register
def _(mechanism: Laplace) -> dict[str, Any]:
    return {"kind": "laplace", "epsilon": str(mechanism.epsilon), **_additive(mechanism.event, mechanism.dimension)}


@parameters.register
def _(mechanism: Gaussian) -> dict[str, Any]:
    return {"kind": "gaussian", "rho": str(mechanism.rho), **_additive(mechanism.noise, mechanism.dimension)}


@parameters.register
def _(mechanism: Running) -> dict[str, Any]:
    moved = {"total": mechanism.total, "largest": mechanism.largest, "shape": list(mechanism.shape), "bits": mechanism.bits}
    noise = {"sensitivity": str(mechanism.units), "scale": str(mechanism.noise_scale), "dimension": mechanism.dimension}
    return {"kind": "running", "rho": str(mechanism.rho), **moved, **noise}


def _additive(noise: LaplaceNoise | GaussianNoise, dimension: int) -> dict[str, Any]:
    return {"sensitivity": str(noise.sensitivity), "scale": str(noise.scale), "dimension": dimension}


@parameters.register
def _(mechanism: KeyThreshold) -> dict[str, Any]:
    amounts = {"epsilon": str(mechanism.epsilon), "delta": str(mechanism.delta), "scale": str(mechanism.scale)}
    limits = {"max_groups": mechanism.max_groups, "min_people": mechanism.min_people, "threshold": mechanism.threshold}
    return {"kind": "key-threshold", **amounts, **limits}


@parameters.register
def _(mechanism: GaussianKeyThreshold) -> dict[str, Any]:
    amounts = {"rho": str(mechanism.rho), "delta": str(mechanism.delta)}
    amounts |= {"sensitivity": str(mechanism.length), "scale": str(mechanism.scale)}
    limits = {"max_groups": mechanism.max_groups, "min_people": mechanism.min_people, "threshold": mechanism.threshold}
    return {"kind": "gaussian-keys", **amounts, **limits}


@parameters.register
def _(mechanism: Quantile) -> dict[str, Any]:
    shared = {"epsilon": str(mechanism.epsilon), "points": mechanism.grid.points, "max_rows": mechanism.max_rows}
    return {"kind": "quantile", **shared, "spread": str(mechanism.spread)}


@parameters.register
def _(mechanism: QuantileWithInterval) -> dict[str, Any]:
    shared = {"epsilon": str(mechanism.epsilon), "points": mechanism.grid.points, "max_rows": mechanism.max_rows}
    return {"kind": "quantile-with-interval", **shared, "confidence": str(mechanism.confidence)}


@parameters.register
def _(mechanism: SmoothQuantile) -> dict[str, Any]:
    tails = {"gamma": None if mechanism.gamma is None else str(mechanism.gamma), "delta": str(mechanism.delta)}
    return {"kind": "smooth-quantile", "epsilon": str(mechanism.epsilon), "max_rows": mechanism.max_rows, **tails}


@parameters.register
def _(mechanism: FromTree) -> dict[str, Any]:
    tree = mechanism.tree
    shape = {"points": tree.points, "branches": tree.branches, "levels": tree.levels, "max_rows": tree.max_rows}
    return {"kind": "tree", "epsilon": str(tree.epsilon), **shape, "scale": str(tree.noise.scale)}


def _mode(mode: Mode) -> dict[str, Any]:
    mechanism = mode.mechanism
    shared = {"epsilon": str(mechanism.epsilon), "sensitivity": str(mechanism.sensitivity)}
    return {"kind": "exponential", **shared, "candidates": len(candidates(mode.call))}
