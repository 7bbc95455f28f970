"""The loops of colour refinement on compressed rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.publish.graphs.compiled import compiled


@compiled
def mix(number: Any) -> Any:
    """A 64-bit number whose every bit depends on every bit of the given one (the finalizer of splitmix64)."""
    number = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled
def first(offsets: Any) -> Any:
    """Colours by degree."""
    nodes = len(offsets) - 1
    colours = np.empty(nodes, np.uint64)
    for node in range(nodes):
        colours[node] = mix(np.uint64(offsets[node + 1] - offsets[node]))
    return colours


@compiled
def refine(offsets: Any, targets: Any, colours: Any) -> Any:
    """The colours of the next round, from a node's colour and the multiset of its neighbours' colours, as a sum of hashes."""
    nodes = len(offsets) - 1
    hashes = np.empty(nodes, np.uint64)
    for node in range(nodes):
        hashes[node] = mix(colours[node] ^ np.uint64(0xD6E8FEB86659FD93))
    new_colours = np.empty(nodes, np.uint64)
    for node in range(nodes):
        total = np.uint64(0)
        for place in range(offsets[node], offsets[node + 1]):
            total += hashes[targets[place]]
        new_colours[node] = mix(mix(colours[node]) + np.uint64(3) * mix(total))
    return new_colours
