"""The loss by the clock: releases with the time that each took, and a lower bound on epsilon from both together.

An observer of an output also sees how long it took; a sampler that is quick for the best candidate says which one is best.
Releases for two neighbours are timed in turns, in a random order. So all other work of the machine falls on both alike: it can
blur a difference of the two, and cannot make one.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput
from tacit.evidence.verify.epsilon import EpsilonBound, epsilon_of_draws
from tacit.evidence.verify.score import Draws, label_of, read

WARM_UP = 50
WINDOW = 64  # turns whose median is the pace of the machine just then
BINS = 32  # of the times, when an event is looked for
FEW = 600  # times of one output: from here on a tenth is beyond six standard deviations of `unevenness`


@dataclass(frozen=True, slots=True)
class Timed:
    """Outputs of one sampler, and the time of each of them: of the processor, over the median of the turns around it."""

    outputs: list[Any]
    times: NDArray[np.float64]


def timed(releases: Sequence[Callable[[], Any]], count: int) -> tuple[Timed, ...]:
    """`count` calls of each of the `releases`, in one random order, with the collection of garbage put off."""
    turns = np.repeat(np.arange(len(releases)), count)
    np.random.default_rng().shuffle(turns)  # the order of a measurement; nothing is released with it
    for release in releases:
        for _ in range(WARM_UP):
            release()
    outputs, spent = [], []
    with _without_collection():
        for turn in turns.tolist():
            release = releases[turn]
            start = time.thread_time_ns()
            output = release()
            spent.append(time.thread_time_ns() - start)
            outputs.append(output)
    times = np.array(spent) / _pace(np.array(spent, dtype=np.float64))
    labels = [label_of(output) for output in outputs]
    places = [np.flatnonzero(turns == turn) for turn in range(len(releases))]
    return tuple(Timed([labels[place] for place in mine], times[mine]) for mine in places)


def epsilon_with_clock(one: Timed, other: Timed, confidence: float = 0.999) -> EpsilonBound:
    """A lower bound on the epsilon between two samplers for an observer of their outputs and times.

    Times are cut into bins by the first quarter of the draws, on which `epsilon_of_draws` trains; the bound itself is measured on
    the second half, so it is a bound with the stated confidence whatever the bins are.

    >>> slow, quick = Timed(["a"] * 400, np.full(400, 9000)), Timed(["a"] * 400, np.full(400, 4000))
    >>> epsilon_with_clock(slow, quick).refutes(2), epsilon_with_clock(slow, slow).bound
    (True, 0.0)
    """
    quarter = min(len(one.outputs), len(other.outputs)) // 4
    seen = np.concatenate([side.times[:quarter] for side in (one, other)])
    edges = np.unique(np.quantile(seen, np.linspace(0, 1, BINS + 1)[1:-1]))
    return epsilon_of_draws(_bin_times(one, edges), _bin_times(other, edges), confidence)


def epsilon_without_clock(one: Timed, other: Timed, confidence: float = 0.999) -> EpsilonBound:
    """The same from the outputs alone."""
    return epsilon_of_draws(read(one.outputs), read(other.outputs), confidence)


def unevenness(*samples: Timed) -> float:
    """How well times distinguish outputs, or the samplers behind one output: from 0 (not at all) to 1/2 (always).

    It is the largest |P[T < T'] + P[T = T'] / 2 - 1/2| over the times T, T' of two outputs of one sampler, and of one output of
    two samplers, each seen at least 600 times (Mann and Whitney 1947). Where times say nothing, each of these has a standard
    deviation of at most 0.017.

    >>> unevenness(Timed(["a", "b"] * 600, np.array([9, 7] * 600))), unevenness(Timed(["a", "b"] * 600, np.array([8] * 1200)))
    (0.5, 0.0)
    """
    cells = {
        (place, output): sample.times[[index for index, each in enumerate(sample.outputs) if each == output]]
        for place, sample in enumerate(samples)
        for output in set(sample.outputs)
    }
    large = {cell: times for cell, times in cells.items() if len(times) >= FEW}
    near = [(a, b) for a, b in combinations(large, 2) if (a[0] == b[0]) != (a[1] == b[1])]
    if not near:
        raise InvalidInput(f"too few timings: no two outputs have {FEW} each; raise count")
    return max(abs(_earlier(large[a], large[b]) - 0.5) for a, b in near)


def _earlier(one: ArrayLike, other: ArrayLike) -> float:
    """P[T < T'] + P[T = T'] / 2 for a time T of `one` and T' of `other`."""
    ordered, times = np.sort(np.asarray(other)), np.asarray(one)
    after = 2 * len(ordered) - np.searchsorted(ordered, times, "left") - np.searchsorted(ordered, times, "right")
    return float(after.mean() / (2 * len(ordered)))


def _pace(spent: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of the turns around each one, of any sampler: the slowness of the machine for a while."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(spent, (WINDOW // 2, WINDOW - WINDOW // 2 - 1), "reflect"), WINDOW)
    pace: NDArray[np.float64] = np.median(windows, axis=1)
    return pace


@contextmanager
def _without_collection() -> Iterator[None]:
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _bin_times(sample: Timed, edges: NDArray[np.float64]) -> Draws:
    bins = np.searchsorted(edges, sample.times, "right").tolist()
    return Draws(list(zip(sample.outputs, bins, strict=True)), None)
