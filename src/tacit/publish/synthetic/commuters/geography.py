"""The public map: blocks with coordinates, the zones that group them, rings around a destination, and distances.

Everything here comes from a public file of blocks, never from the flows. A coarser domain has fewer cells, and so less noise in
total; the set of cells may depend on nothing else. A home that is not in the file belongs to one extra cell, "elsewhere", which
every domain has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.data.files.columns import column_names, read_columns
from tacit.errors import InvalidInput

ELSEWHERE = "elsewhere"
LEVELS = ("block", "blockgroup", "tract", "county")
USUAL = ("tract", "blockgroup", "county")  # of these, the first that a map has; else its blocks
EARTH = 6371.0088  # kilometers, the mean radius
RINGS = (2.0, 5.0, 10.0, 20.0, 40.0, 80.0)
Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The cells that jobs at one destination may come from, `elsewhere` last, with their distance from it in kilometers.

    `of_block` is the cell of each block; its last entry is the cell of all blocks that are not on the map.
    """

    names: NDArray[Any]
    distances: Numbers
    of_block: Codes

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Zones:
    """The zones of one level: names (elsewhere last), centers (the mean of their blocks' coordinates), the zone of each block.

    `of_block` has one more entry than there are blocks: a place that is not on the map is elsewhere, the zone after the last.
    """

    level: str
    names: NDArray[Any]
    latitudes: Numbers
    longitudes: Numbers
    of_block: Codes

    def __len__(self) -> int:
        return len(self.latitudes)

    def around(self, latitude: float, longitude: float) -> Domain:
        """All zones and elsewhere. A job inside the zone of its destination has a distance of 0 km, from center to center."""
        distances = kilometres(latitude, longitude, self.latitudes, self.longitudes)
        return Domain(self.names, np.append(distances, np.nan), self.of_block)


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """Rings of public widths around a destination, as a domain: `edges` in kilometers; the last ring is open."""

    edges: tuple[float, ...]
    latitudes: Numbers
    longitudes: Numbers
    level: str = "rings"

    def around(self, latitude: float, longitude: float) -> Domain:
        """The rings that contain a block, which is public, and elsewhere; a ring's distance is the mean over its blocks."""
        apart = kilometres(latitude, longitude, self.latitudes, self.longitudes)
        there, cell = np.unique(np.digitize(apart, self.edges), return_inverse=True)
        distances = np.bincount(cell, apart) / np.bincount(cell)
        lows = ("0", *(f"{edge:g}" for edge in self.edges))
        names = [
            f"{lows[ring]}-{self.edges[ring]:g} km" if ring < len(self.edges) else f"{lows[ring]} km or more" for ring in there
        ]
        return Domain(np.array([*names, ELSEWHERE], dtype=object), np.append(distances, np.nan), np.append(cell, len(there)))


Origins = Zones | Rings


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of a map: their names, coordinates, and the zone of each level in the file."""

    names: NDArray[Any]
    latitudes: Numbers
    longitudes: Numbers
    levels: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def located(self) -> bool:
        """Whether the blocks have coordinates."""
        return not np.isnan(self.latitudes).any()

    @property
    def usual(self) -> str:
        """The level that is taken where none is named: tracts if the map has them."""
        return next((level for level in USUAL if level in self.levels), "block")

    def zones(self, level: str | None) -> Zones:
        """The blocks grouped into the zones of a level, or of the usual one.

        >>> four = Blocks(np.array(list("abcd")), np.array([0, 0, 2, 4.0]), np.zeros(4), {"tract": np.array(["1", "1", "2", "2"])})
        >>> four.zones("tract").latitudes
        array([0., 3.])
        """
        level = level or self.usual
        if level == "block":
            return Zones(level, np.append(self.names, ELSEWHERE), self.latitudes, self.longitudes, np.arange(len(self) + 1))
        if level not in self.levels:
            expected = ", ".join(("block", *self.levels))
            raise InvalidInput(f"the map has no level {level!r}; expected {expected}, or for origins rings or rings:2,5,10 (km)")
        names, of_block = np.unique(self.levels[level], return_inverse=True)
        north, east = (np.bincount(of_block, axis) / np.bincount(of_block) for axis in (self.latitudes, self.longitudes))
        return Zones(level, np.append(names, ELSEWHERE), north, east, np.append(of_block, len(names)).astype(np.int64))

    def origins(self, level: str | None) -> Origins:
        """The zones of a level, or rings: `rings` for 2, 5, 10, 20, 40 and 80 km, `rings:1,10,100` for others; None is usual."""
        kind, _, written = (level or "").partition(":")
        if kind != "rings":
            return self.zones(level)
        if not self.located:
            raise InvalidInput("rings need coordinates; give the map the columns lat and lon, or choose a level of zones")
        return Rings(_edges(written) if written else RINGS, self.latitudes, self.longitudes)


def read_blocks(path: str | Path) -> Blocks:
    """The map in a CSV or Parquet file: column block, and any of lat and lon, blockgroup, tract and county."""
    there = {name.lower(): name for name in column_names(path)}
    needed = ("block", "lat", "lon") if {"lat", "lon"} & there.keys() else ("block",)
    wanted = [name for name in ("block", "lat", "lon", *LEVELS[1:]) if name in there or name in needed]
    columns = dict(zip(wanted, read_columns(path, [there.get(name, name) for name in wanted]), strict=True))
    levels = {name: _texts(columns[name]) for name in LEVELS[1:] if name in columns}
    names = _texts(columns["block"])
    if "lat" not in columns:
        nowhere = np.full(len(names), np.nan)
        return made_blocks(names, nowhere, nowhere, levels)
    return made_blocks(names, _degrees(columns["lat"], 90), _degrees(columns["lon"], 180), levels)


def made_blocks(names: ArrayLike, latitudes: ArrayLike, longitudes: ArrayLike, levels: Mapping[str, ArrayLike]) -> Blocks:
    """A map from its columns; each block appears once."""
    blocks = Blocks(
        np.asarray(names, dtype=object),
        np.asarray(latitudes, dtype=np.float64),
        np.asarray(longitudes, dtype=np.float64),
        {name: np.asarray(column, dtype=object) for name, column in levels.items()},
    )
    if not len(blocks):
        raise InvalidInput("the map has no blocks; give a file with one line per block")
    if len(set(blocks.names)) < len(blocks) or any(ELSEWHERE in column for column in (blocks.names, *blocks.levels.values())):
        raise InvalidInput(f"the map has a duplicate block, or a zone {ELSEWHERE!r}, which is reserved for places outside the map")
    return blocks


def kilometres(latitude: ArrayLike, longitude: ArrayLike, latitudes: ArrayLike, longitudes: ArrayLike) -> Numbers:
    """Great-circle distances (haversine formula on a sphere).

    >>> kilometres(41.824, -71.4128, [40.7128], [-74.006]).round(1)      # Providence to New York
    array([249.5])
    """
    north, east, norths, easts = (
        np.radians(np.asarray(angle, dtype=np.float64)) for angle in (latitude, longitude, latitudes, longitudes)
    )
    half = np.sin((norths - north) / 2) ** 2 + np.cos(north) * np.cos(norths) * np.sin((easts - east) / 2) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


def _edges(written: str) -> tuple[float, ...]:
    try:
        edges = tuple(float(edge) for edge in written.split(","))
    except ValueError:
        edges = ()
    if not edges or list(edges) != sorted({edge for edge in edges if 0 < edge < np.inf}):
        raise InvalidInput(f"invalid rings {written[:40]!r}; expected increasing kilometers, for example rings:2,5,10,20")
    return edges


def _texts(column: Any) -> NDArray[Any]:
    return np.array(column.fill_null("").to_pylist(), dtype=object)


def _degrees(column: Any, most: int) -> Numbers:
    try:
        angles = np.array([float(text) for text in _texts(column)])
    except ValueError:
        angles = np.array([np.nan])
    if not (np.abs(angles) <= most).all():
        raise InvalidInput(
            f"every block of the map needs a latitude and a longitude in degrees, of at most {most} in absolute value"
        )
    return angles
