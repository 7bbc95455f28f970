"""A graph on disk, in two arrays that are mapped into memory: a large one opens at once, and only rows that are read are loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tacit.data.files.kinds import existing
from tacit.errors import InvalidInput
from tacit.files import write_together
from tacit.publish.graphs.graph import Graph

OFFSETS, TARGETS = "offsets.npy", "targets.npy"


def save(graph: Graph, folder: str | Path) -> Path:
    """Write a graph into a folder, for its owner alone: it has the edges as they are."""
    place = Path(folder)
    write_together({place / TARGETS: _content(graph.targets), place / OFFSETS: _content(graph.offsets)}, private=True)
    return place


def _content(array: Any) -> Callable[[BinaryIO], object]:
    return lambda file: np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def load(folder: str | Path) -> Graph:
    """A graph that `save` wrote. Its arrays are checked to be compressed rows, as far as their ends show."""
    place = Path(folder)
    offsets, targets = (_map_file(existing(place / name)) for name in (OFFSETS, TARGETS))
    fits = offsets.dtype == np.int64 and targets.dtype == np.int32 and offsets.ndim == targets.ndim == 1 and len(offsets)
    if not fits or offsets[0] != 0 or offsets[-1] != len(targets) or (np.diff(offsets) < 0).any():
        raise _not_stored(place)
    return Graph(offsets, targets)


def _map_file(file: Path) -> Any:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError):
        raise _not_stored(file.parent) from None


def _not_stored(place: Path) -> InvalidInput:
    return InvalidInput(f"{place} is not a stored graph; expected {OFFSETS} and {TARGETS} as written by tacit.graphs.save")
