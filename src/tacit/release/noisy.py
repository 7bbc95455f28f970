"""The released numbers of a paid question: the engine runs it, then noise is added as quoted. Only mechanisms open what is sealed.

A runner does both, in this process (`InProcess`) or in another (`elsewhere/`): the last step before anything leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.mechanisms.noise.grid import is_array, read_units
from tacit.mechanisms.quantile.interval import QuantileWithInterval, release_together
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.residual import components, estimate, whole_margins
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree, release_from_tree
from tacit.mechanisms.unseal import histogram
from tacit.privacy.sealed import Sealed
from tacit.query.engines.engine import Engine, out_of_limits
from tacit.query.engines.exact import Exact
from tacit.query.intervals.aggregates import shown_at_most
from tacit.query.intervals.bands import Floats, Integers, Margin, Noisy, Ranks, Shared, Workload
from tacit.query.plan import Group
from tacit.query.price.price import Quote, Rank
from tacit.query.price.quote import Mode, candidates
from tacit.query.question import Call, Question, domain

if TYPE_CHECKING:
    from tacit.data.store import StoreInfo
    from tacit.privacy.catalog import Catalog
    from tacit.query.free import Facts

Observer = Callable[[Quote, Exact, Noisy], None]
"""Sees a quote with its sealed input and its output; passed by the caller that makes a runner, and by nothing in the package."""


# --- where a question runs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Paid:
    """A question that was paid for: its text as the ledger records it, and the number of its entry; of a stream, its horizon."""

    text: str
    entry: int
    horizon: int | None = None


class Runner(Protocol):
    """Runs paid queries on one version of a store."""

    def start(self) -> None:
        """Start without waiting; reads nothing."""

    def open(self, *questions: Question) -> None:
        """Open the store before anything is paid for; reads no row. Anything held for these questions is held until `free`."""

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        """The released numbers of a paid query; raises `TimedOut`. One that asks other processes tells them what was paid."""

    def free(self) -> None:
        """Nothing is held for this query any more."""

    def close(self) -> None:
        """Close the store."""


class Holder(Protocol):
    """Prepared data that other processes hold: this one may not open the store."""

    def info(self) -> StoreInfo | None:
        """The store's description of itself; None if there is no store."""

    def facts(self, info: StoreInfo) -> Facts:
        """The facts of its public tables."""

    def runner(self, catalog: Callable[[], Catalog], version: str) -> Runner:
        """Runs paid queries on one version of it, as the catalog says at that time."""


class InProcess:
    """Runs queries in this process, under the engine's own limits of time and memory. `observers` see every release."""

    def __init__(self, engine: Engine, observers: Sequence[Observer] = ()) -> None:
        self.engine, self.observers = engine, observers

    def start(self) -> None:
        """There is nothing to start."""

    def open(self, *_: Question) -> None:
        self.engine.open()

    def noisy(self, quote: Quote, paid: Paid | None = None) -> Noisy:
        exact = ran(quote, self.engine.run)
        try:
            return released(quote, exact, self.observers)
        except (MemoryError, RecursionError):
            raise out_of_limits() from None

    def free(self) -> None:
        """There is nothing to give back."""

    def close(self) -> None:
        self.engine.close()


# --- noise -------------------------------------------------------------------------------------------------------------------


def ran(quote: Quote, run: Callable[[Group], Exact]) -> list[Exact]:
    """The exact answers to all parts of a question, then those of its sources; to a part that is not measured, an empty one."""
    parts = [run(part.question.group) if part.measured else Exact(()) for part in quote.parts]
    return parts + [run(group) for group in quote.sources]


def released(quote: Quote, exact: Sequence[Exact], observers: Sequence[Observer] = ()) -> Noisy:
    """The released numbers of all parts of a question, from their exact answers; margins are added up from them."""
    own, shared = exact[: len(quote.parts)], exact[len(quote.parts) :]
    parts = [noised(part, result, observers) for part, result in zip(quote.parts, own, strict=True)]
    if quote.workloads:
        parts[0] = replace(parts[0], measured=tuple(_measured(workload, quote, shared) for workload in quote.workloads))
    return together(quote, parts)


def _measured(workload: Workload, quote: Quote, exact: Sequence[Exact]) -> tuple[Integers, ...]:
    """The numbers of measurements that parts share, from the exact cells of the sources."""
    given = {
        axes: each.moments[group.moments.index(workload.moment)]
        for axes, group, each in zip(workload.sources, quote.sources, exact, strict=True)
        if workload.moment in group.moments
    }
    return workload.strategy.release(given)


def _axes(workload: Workload, quote: Quote, at: int) -> tuple[int, ...]:
    return next(each.mechanism.axes for each in quote.parts[at].shared if each.moment == workload.moment)


def together(quote: Quote, parts: Sequence[Noisy]) -> Noisy:
    """The parts in one, with the margins that are added up from released sums: work on what is public already."""
    if len(parts) == 1 and not quote.workloads:
        return parts[0]
    estimates = _estimated(quote, parts[0].measured)
    whole = [
        replace(
            noisy,
            sums={
                **noisy.sums,
                **{each.place: (each, _margin(each, part, quote, parts)) for each in part.margins},
                **{place: (each, numbers) for place, (each, numbers, _) in estimates[at].items()},
            },
            centres={place: centre for place, (_, _, centre) in estimates[at].items()},
        )
        for at, (part, noisy) in enumerate(zip(quote.parts, parts, strict=True))
    ]
    number = len(quote.beside)
    beside = tuple(whole[1 : 1 + number])
    return replace(whole[0], beside=beside, below=tuple(replace(part, beside=beside) for part in whole[1 + number :]))


Estimates = dict[int, tuple[Shared, Integers, Floats]]


def _estimated(quote: Quote, measured: Sequence[Sequence[Integers]]) -> list[Estimates]:
    """The sums of every part that are estimated from shared measurements: as whole numbers that agree, and before rounding."""
    estimates: list[Estimates] = [{} for _ in quote.parts]
    for workload, numbers in zip(quote.workloads, measured, strict=True):
        wanted = [_axes(workload, quote, at) for at, _, _ in workload.parts]
        found = components(workload.strategy, numbers)
        margins = whole_margins(workload.strategy, found, dict.fromkeys(wanted))
        for (at, place, order), axes in zip(workload.parts, wanted, strict=True):
            part = next(each for each in quote.parts[at].shared if each.place == place)
            back = [order.index(key) for key in range(len(order))]
            centre = estimate(workload.strategy, found, axes)
            keys = len(quote.parts[at].question.group.keys)
            whole, exact = (_shown(np.transpose(each, back), keys).reshape(-1) for each in (margins[axes], centre))
            estimates[at][place] = part, whole, exact
    return estimates


def _shown(cells: Any, keys: int) -> Any:
    """The cells of a part by its keys: of one with a condition, which is the last axis, those where it is true."""
    return cells[..., 1] if cells.ndim > keys else cells


def _margin(margin: Margin, part: Quote, quote: Quote, parts: Sequence[Noisy]) -> Integers:
    """The released sums of another part, added up over the keys that this one does not have."""
    keys = quote.parts[margin.part].question.group.keys
    wanted = [key.term for key in part.question.group.keys]
    kept = [next(at for at, key in enumerate(keys) if key.term == term) for term in wanted]
    cells = np.asarray(parts[margin.part].sums[margin.of][1])
    largest = max(abs(int(cells.max())), abs(int(cells.min()))) if len(cells) else 0
    whole = cells if largest * margin.mechanism.count < 2**62 else cells.astype(object)
    shaped = whole.reshape([len(domain(key)) for key in keys])
    over = tuple(at for at in range(len(keys)) if at not in kept)
    left = [at for at in range(len(keys)) if at in kept]
    added = np.sum(shaped, axis=over) if over else shaped
    return np.asarray(np.transpose(added, [left.index(at) for at in kept])).reshape(-1)


def noised(quote: Quote, exact: Exact, observers: Sequence[Observer] = ()) -> Noisy:
    """The released form of every number that the quote names for one part."""
    noisy = _with_private_keys(quote, exact) if quote.keys else _with_public_keys(quote, exact)
    for look in observers:
        look(quote, exact, noisy)
    return noisy


def _with_public_keys(quote: Quote, exact: Exact) -> Noisy:
    groups = tuple(product(*(domain(key) for key in quote.question.group.keys)))
    sums = {part.place: (part, _flat(part.mechanism.release_units(exact.moments[part.place]))) for part in quote.sums}
    return Noisy(groups, sums, _draw_all(quote, exact.moments))


def _with_private_keys(quote: Quote, exact: Exact) -> Noisy:
    """Releases first the keys that pass the threshold, then the other numbers of those keys alone."""
    assert quote.keys is not None  # noqa: S101  # the caller has looked
    assert exact.keys is not None  # noqa: S101
    units = next(place for place, moment in enumerate(quote.question.group.moments) if moment.kind == "units")
    others = [*(part.place for part in quote.sums), *(part.place for part in quote.drawn)]
    most, columns = shown_at_most(quote.question), tuple(exact.moments[place] for place in others)
    shown = quote.keys.release_with(exact.keys, exact.moments[units], columns, most)
    kept = dict(zip(others, shown.others, strict=True))
    sums = {part.place: (part, _flat(part.mechanism.release_each(kept[part.place]))) for part in quote.sums}
    ranks = _draw_all(quote, kept)
    groups = tuple(key if isinstance(key, tuple) else (key,) for key in shown.keys)
    return Noisy(groups, sums, ranks, _flat(list(shown.counts)))


def _draw_all(quote: Quote, cells: Mapping[int, Any] | Sequence[Any]) -> dict[Call, Ranks]:
    """The draws of every group: quantiles, made to agree, and modes."""
    quantiles = in_order(_quantiles(quote.ranks, cells))
    return quantiles | {part.call: _modes(part, cells[part.place]) for part in quote.modes}


def _modes(part: Mode, cells: Sealed[Any] | Sequence[Sealed[Any]]) -> Ranks:
    """The place of the chosen value among the candidates, in every group; the ends are those of the candidates."""
    listed, offsets = _cells_listed(cells), part.offsets
    place_of = {value: place for place, value in enumerate(candidates(part.call))}
    chosen = [place_of[part.mechanism.release(histogram(cell, offsets))] for cell in listed]
    values = np.array(chosen, dtype=np.float64)
    return values, np.zeros_like(values), np.full_like(values, len(offsets) - 1)


def _quantiles(parts: Sequence[Rank], cells: Mapping[int, Any] | Sequence[Any]) -> dict[Call, Ranks]:
    """Value, low and high in every group, in steps from zero: those of one list are drawn together, which sorts it once."""
    drawn = {
        part.call: _smooth(part, part.mechanism, cells[part.place]) for part in parts if isinstance(part.mechanism, SmoothQuantile)
    }
    by_list: dict[int, list[Rank]] = {}
    for part in parts:
        if not isinstance(part.mechanism, SmoothQuantile):
            by_list.setdefault(part.place, []).append(part)
    for place, alike in by_list.items():
        read = [part.mechanism for part in alike if isinstance(part.mechanism, FromTree)]
        apart = [part.mechanism for part in alike if isinstance(part.mechanism, Quantile | QuantileWithInterval)]
        drawn_cells = [
            release_from_tree(read, cell) if read else release_together(apart, cell) for cell in _cells_listed(cells[place])
        ]
        for at, part in enumerate(alike):
            ends = np.array([triples[at] for triples in drawn_cells], dtype=np.float64).reshape(-1, 3) + _low(part)
            drawn[part.call] = (ends[:, 0], ends[:, 1], ends[:, 2])
    return drawn


def _smooth(part: Rank, mechanism: SmoothQuantile, cells: Any) -> Ranks:
    """The scale of the noise is private, so only the bounds of the value are known."""
    low = _low(part)
    alone = np.array([mechanism.release(cell) for cell in _cells_listed(cells)], dtype=np.float64) + low
    return alone, np.full_like(alone, low), np.full_like(alone, low + float(mechanism.upper))


def _low(part: Rank) -> int:
    return getattr(part.call.over.node, "low", 0) if part.call.over else 0


def _cells_listed(cells: Sealed[Any] | Sequence[Sealed[Any]]) -> Sequence[Sealed[Any]]:
    return cells if isinstance(cells, Sequence) else ()


def in_order(ranks: Mapping[Call, Ranks]) -> dict[Call, Ranks]:
    """Quantiles of one expression made to agree: in each group none is above one of a larger share. Post-processing, so free.

    Values are sorted. Low ends take the least of those at their share or above, high ends the largest at their share or below:
    an interval only grows, so that it holds as often as before, and the sorted value lies in it (quantile.md).
    """
    agreed: dict[Call, Ranks] = dict(ranks)
    for over in {call.over for call in ranks}:
        calls = sorted((call for call in ranks if call.over == over), key=lambda call: call.share or 0)
        values, lows, highs = (np.array([ranks[call][end] for call in calls]) for end in range(3))
        values.sort(axis=0)
        lows = np.minimum.accumulate(lows[::-1], axis=0)[::-1]
        highs = np.maximum.accumulate(highs, axis=0)
        agreed |= {call: (values[at], lows[at], highs[at]) for at, call in enumerate(calls)}
    return agreed


def _flat(units: Any) -> Integers:
    """Released integers unchanged: 64-bit integers if all fit, else Python's."""
    return np.asarray(read_units(units if is_array(units) else [units]))
