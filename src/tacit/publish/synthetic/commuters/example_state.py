"""A simulated state for trying out a map of commuters: blocks around a capital, zones, workplaces, and who commutes where.

It is deterministic, and so the same everywhere. Blocks are on a spiral that is denser at the capital. Workplaces are blocks too,
some large and most small. A sequence that spreads evenly over the probabilities of a gravity model assigns the homes, so that near
blocks send many workers and far blocks occasionally one. It is invented data, and publishing from it releases nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.files import write
from tacit.publish.synthetic.commuters.flows import Homes, Totals, homes_of, totals_of
from tacit.publish.synthetic.commuters.geography import Blocks, Codes, Numbers, Zones, kilometres, made_blocks

CAPITAL = (41.8, -71.4)
GOLDEN = (np.sqrt(5.0) - 1) / 2
DEGREE = 111.195  # kilometers per degree on a meridian
WIDEST = 2000  # kilometers; a larger state would come near the pole
REACH = 7.0  # kilometers over which the pull of a workplace falls by a factor of e
FAR = 2e-4  # the pull that remains far away: a worker from the other end of the state


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A map and the flows on it: indexes of the blocks of work and home, and jobs."""

    blocks: Blocks
    work: Codes
    home: Codes
    jobs: Codes

    def totals(self, destinations: Zones) -> Totals:
        """The public totals by destination."""
        return totals_of(destinations.of_block[self.work], self.jobs, destinations)

    def homes(self, totals: Totals) -> Homes:
        """The private side."""
        return homes_of(self.work, self.home, self.jobs, totals)

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write the flows and the map as flows.csv and blocks.csv into a folder, in the columns that are read by default."""
        place = Path(folder)
        names = self.blocks.names
        flows = [f"{names[w]},{names[h]},{n}\n" for w, h, n in zip(self.work, self.home, self.jobs, strict=True)]
        levels = self.blocks.levels
        columns = zip(names, *levels.values(), self.blocks.latitudes.round(6), self.blocks.longitudes.round(6), strict=True)
        head = "w_geocode,h_geocode,S000\n"
        lines = "".join(",".join(map(str, row)) + "\n" for row in columns)
        flows_file = write(place / "flows.csv", head + "".join(flows))
        return flows_file, write(place / "blocks.csv", f"block,{','.join(levels)},lat,lon\n{lines}")


def made_state(blocks: int = 3000, workplaces: int = 60, jobs: int = 20_000, radius: float = 50.0) -> State:
    """A state with the given numbers of blocks, workplaces and jobs, within `radius` kilometers of its capital.

    >>> state = made_state(blocks=400, workplaces=10, jobs=1000)
    >>> len(state.blocks), int(state.jobs.sum()), len(state.blocks.zones("tract")), len(state.blocks.zones("county"))
    (400, 1000, 71, 9)
    """
    if not 0 < radius <= WIDEST:
        raise InvalidInput(
            f"invalid radius {radius:g}; it must be above 0 and at most {WIDEST:,} km, for example radius=50", argument="radius"
        )
    if not 1 <= workplaces <= min(blocks, jobs):
        raise InvalidInput(
            f"invalid number of workplaces {workplaces:,}; expected 1 to {min(blocks, jobs):,}, the fewer of blocks and jobs"
        )
    chart = _spiral(blocks, radius)
    places = np.linspace(0, blocks - 1, workplaces).astype(np.int64)
    wanted = _shares(1 / (np.arange(len(places)) + 2.0), jobs)
    work, home, counted = [], [], []
    for turn, (place, count) in enumerate(zip(places, wanted, strict=True)):
        homes, many = np.unique(_homes(chart, int(place), int(count), turn), return_counts=True)
        work.append(np.full(len(homes), place))
        home.append(homes)
        counted.append(many)
    return State(chart, np.concatenate(work), np.concatenate(home), np.concatenate(counted).astype(np.int64))


def _spiral(blocks: int, radius: float) -> Blocks:
    """Blocks at golden angles, denser at the capital; their zones are the squares of a grid."""
    number = np.arange(blocks)
    reach, angle = radius * ((number + 0.5) / blocks) ** 0.75, 2 * np.pi * GOLDEN * number
    east, north = reach * np.cos(angle), reach * np.sin(angle)
    latitudes = CAPITAL[0] + north / DEGREE
    longitudes = CAPITAL[1] + east / (DEGREE * np.cos(np.radians(CAPITAL[0])))
    county, tract, group = (_square(east, north, radius, cells) for cells in (3, 9, 18))
    names = {"county": _join_codes(county), "tract": _join_codes(county, tract), "blockgroup": _join_codes(county, tract, group)}
    return made_blocks([f"B{place:06d}" for place in number], latitudes, longitudes, names)


def _square(east: Numbers, north: Numbers, radius: float, cells: int) -> NDArray[np.int64]:
    """The square that each block is in, of a grid of cells x cells."""
    column, row = (np.clip((axis / radius + 1) / 2 * cells, 0, cells - 1).astype(np.int64) for axis in (east, north))
    return row * cells + column


def _join_codes(*parts: NDArray[np.int64]) -> list[str]:
    return ["".join(f"{part:03d}" for part in row) for row in zip(*parts, strict=True)]


def _shares(weights: Numbers, whole: int) -> NDArray[np.int64]:
    """`whole` divided in proportion to the weights, with at least 1 each, by rounding cumulative sums."""
    spread = 1 + np.diff(np.rint(np.cumsum(weights) / weights.sum() * (whole - len(weights))), prepend=0)
    return np.asarray(spread.astype(np.int64))


def _homes(chart: Blocks, place: int, count: int, turn: int) -> NDArray[np.int64]:
    """The home blocks of one workplace's jobs, by a gravity model."""
    apart = kilometres(chart.latitudes[place], chart.longitudes[place], chart.latitudes, chart.longitudes)
    pull = np.cumsum(np.exp(-apart / REACH) + FAR)
    even = ((np.arange(count) + 1) * GOLDEN + turn * np.sqrt(2.0)) % 1.0
    return np.asarray(np.minimum(np.searchsorted(pull, even * pull[-1]), len(chart) - 1), dtype=np.int64)
