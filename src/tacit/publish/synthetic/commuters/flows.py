"""The private flows, and counts of the content of a file of them, for the data owner.

The private flows: the destination of each job, and the origin of its worker.

The destinations and the number of jobs at each are public; the origins are private. They are read in that order: `read_totals`
reads no origin, so everything about a release is decided, and paid for, before `read_homes` reads one. A row whose number of jobs
is not an integer counts as no job (the report and the check tell the data owner how many do). A destination that is not on the
map is left out; an origin that is not on it is elsewhere. No row can make a run fail once it has been paid for.

Counts the content of a file of flows, for the data owner, before a map is made from it.

No row makes a release fail, and no message of a release depends on a row. A row whose number of jobs cannot be read counts as no
job, and the release does not report it, since the number of such rows is private. The data owner, who has the file, may count them.
Every number here comes from the file without protection, so it is for the data owner alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.files.columns import read_columns, require_columns, require_names
from tacit.errors import InvalidInput
from tacit.mechanisms.dirichlet.counts import Cells, Triples, by_cell, by_destination, places_among
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.commuters.geography import Blocks, Codes, Domain, Zones, kilometres
from tacit.release.curators import for_the_owner

MOST_JOBS = 10**9  # of one row, and of one destination


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file of flows; without `jobs`, every row is one job.

    >>> Columns.read("w_geocode,h_geocode,S000")
    Columns(destination='w_geocode', origin='h_geocode', jobs='S000')
    """

    destination: str = "w_geocode"
    origin: str = "h_geocode"
    jobs: str | None = "S000"

    @classmethod
    def read(cls, written: str) -> Columns:
        """Parse DESTINATION,ORIGIN,JOBS or DESTINATION,ORIGIN."""
        names = [name.strip() for name in written.split(",")]
        if len(names) not in (2, 3) or not all(names) or len(set(names)) < len(names):
            raise InvalidInput(f"invalid columns {written[:60]!r}; expected DESTINATION,ORIGIN,JOBS or DESTINATION,ORIGIN")
        return cls(names[0], names[1], names[2] if len(names) == 3 else None)


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """The public number of jobs at each destination. `zones` are the indexes of those that have any, in ascending order."""

    destinations: Zones
    zones: Codes
    jobs: Codes
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.zones)

    @property
    def names(self) -> list[str]:
        """The names of the destinations."""
        return [str(self.destinations.names[zone]) for zone in self.zones]


@dataclass(frozen=True, slots=True, eq=False)
class Homes:
    """The private side, sealed: how many jobs each destination (its position in the totals) has from each block.

    `unreadable` is the number of rows whose number of jobs could not be read; they count as no job.
    """

    totals: Totals
    jobs: Sealed[Triples]
    unreadable: Sealed[int]

    def __repr__(self) -> str:
        return "Homes(...)"

    def counts(self, domains: Iterable[Domain]) -> Iterator[Sealed[Cells]]:
        """For each destination in turn, with its domain: the occupied cells in ascending order, and the jobs from each, sealed.

        The jobs are adjusted to the public total: missing jobs come from elsewhere, and surplus jobs are cut from the end. In the
        file that the totals were read from there are neither.
        """
        return by_cell(self.jobs, ((domain.of_block, len(domain)) for domain in domains), self.totals.jobs)


def read_totals(path: str | Path, columns: Columns, blocks: Blocks, destinations: Zones) -> Totals:
    """The public totals of a file: reads only its destinations and jobs, and checks for origins in its header."""
    return _some(found_totals(path, columns, blocks, destinations))


def found_totals(path: str | Path, columns: Columns, blocks: Blocks, destinations: Zones) -> Totals:
    """The same for a file that may have no job that counts: there is nothing to release, but something to investigate."""
    counting = [columns.jobs] if columns.jobs else []
    remedy = "; name others with --columns DESTINATION,ORIGIN,JOBS"
    require_columns(path, [columns.destination, columns.origin, *counting], remedy)
    require_names(path, [columns.destination, columns.origin])
    column, *counted = read_columns(path, [columns.destination, *counting])
    block, jobs = block_indexes(column, blocks), _jobs(counted, len(column))
    return _sum_jobs(destinations.of_block[block], jobs, destinations)


def totals_of(zone: Codes, jobs: Codes, destinations: Zones) -> Totals:
    """Totals from the zone of each row; the index after the last means a zone that is not on the map."""
    return _some(_sum_jobs(zone, jobs, destinations))


def _some(totals: Totals) -> Totals:
    if not len(totals):
        raise InvalidInput(
            "no jobs at destinations on the map; check that the map and the columns are the right ones and that jobs are whole "
            "numbers (`tacit synthesize check` counts them for the data owner)"
        )
    return totals


def _sum_jobs(zone: Codes, jobs: Codes, destinations: Zones) -> Totals:
    on_map = zone < len(destinations)
    sums = np.bincount(zone[on_map], jobs[on_map], len(destinations)).astype(np.int64)
    zones = np.flatnonzero(sums)
    if int(sums.max(initial=0)) > MOST_JOBS:
        raise InvalidInput(f"a destination has more than {MOST_JOBS:,} jobs; choose a finer level of destinations")
    return Totals(destinations, zones, sums[zones], int(jobs[~on_map].sum()))


def joined_totals(totals: Totals, least: int) -> tuple[Totals, dict[str, list[str]]]:
    """The totals with destinations of few jobs joined, and the members of each joined destination, by the name that it has.

    Again and again, the destination with the fewest jobs is joined with the nearest one (or, without coordinates, with the next by
    name), until each has at least `least`. Public totals and the public map decide that, and nothing else. A joined destination
    has the name of its largest member.
    """
    zones, jobs = totals.zones.tolist(), totals.jobs.tolist()
    groups = [[at] for at in range(len(zones))]
    while len(groups) > 1 and (few := min(range(len(groups)), key=lambda at: (_sum_of(groups[at], jobs), at))) >= 0:
        if _sum_of(groups[few], jobs) >= least:
            break
        nearest = _nearest(totals, groups, few)
        groups[min(few, nearest)] += groups[max(few, nearest)]
        del groups[max(few, nearest)]
    return _regrouped(totals, groups)


def _sum_of(group: list[int], jobs: list[int]) -> int:
    return sum(jobs[at] for at in group)


def _nearest(totals: Totals, groups: list[list[int]], few: int) -> int:
    """The group whose center, weighted by jobs, is nearest to that of another one; the next or last one without coordinates."""
    zones = totals.destinations
    weights = [totals.jobs[group] for group in groups]
    centers = [
        np.array([np.average(axis[totals.zones[group]], weights=each) for group, each in zip(groups, weights, strict=True)])
        for axis in (zones.latitudes, zones.longitudes)
    ]
    if np.isnan(centers[0]).any():
        return few + 1 if few + 1 < len(groups) else few - 1
    apart = kilometres(centers[0][few], centers[1][few], *centers)
    apart[few] = np.inf
    return int(np.argmin(apart))


def _regrouped(totals: Totals, groups: list[list[int]]) -> tuple[Totals, dict[str, list[str]]]:
    zones, names = totals.destinations, totals.names
    first = [max(group, key=lambda at: int(totals.jobs[at])) for group in groups]
    own_zone = np.arange(len(zones) + 1)
    for group, largest in zip(groups, first, strict=True):
        own_zone[totals.zones[group]] = totals.zones[largest]
    joined = replace(zones, of_block=own_zone[zones.of_block])
    order = np.argsort([int(totals.zones[largest]) for largest in first], kind="stable").tolist()
    kept = np.array([int(totals.zones[first[at]]) for at in order], dtype=np.int64)
    jobs = np.array([int(totals.jobs[groups[at]].sum()) for at in order], dtype=np.int64)
    if jobs.size and int(jobs.max()) > MOST_JOBS:
        raise InvalidInput(f"a joined destination has more than {MOST_JOBS:,} jobs; give a smaller --join")
    members = {names[first[at]]: [names[each] for each in sorted(groups[at])] for at in order if len(groups[at]) > 1}
    return replace(totals, destinations=joined, zones=kept, jobs=jobs), members


def declared_totals(declared: Mapping[str, int], destinations: Zones) -> Totals:
    """Declared totals, by the name of the destination; one that is not on the map is refused, since all of this is public."""
    numbers = {str(name): zone for zone, name in enumerate(destinations.names[:-1])}
    if unknown := [name for name in declared if name not in numbers]:
        raise InvalidInput(f"unknown destination {unknown[0]!r} in the totals; the map has no such {destinations.level}")
    if not all(0 <= jobs <= MOST_JOBS for jobs in declared.values()):
        raise InvalidInput(f"invalid number of jobs in the totals; expected a whole number from 0 to {MOST_JOBS:,}")
    zone = np.array([numbers[name] for name in declared], dtype=np.int64)
    return totals_of(zone, np.array(list(declared.values()), dtype=np.int64), destinations)


def read_homes(path: str | Path, columns: Columns, blocks: Blocks, totals: Totals) -> Homes:
    """The private side of a file, for the destinations of the totals."""
    names = [columns.destination, columns.origin, *([columns.jobs] if columns.jobs else [])]
    work, home, *counted = read_columns(path, names)
    unreadable = sum(int(np.count_nonzero(~_readable(column))) for column in counted)
    return homes_of(block_indexes(work, blocks), block_indexes(home, blocks), _jobs(counted, len(work)), totals, unreadable)


def homes_of(work: Any, home: Any, jobs: Any, totals: Totals, unreadable: int = 0) -> Homes:
    """The private side, from indexes of blocks, sealed or not (the index after the last means a block that is not on the map).

    Without `jobs`, every row is one job.
    """
    place_of_zone = np.full(len(totals.destinations) + 1, -1)
    place_of_zone[totals.zones] = np.arange(len(totals))
    by_place = by_destination(work, home, jobs, place_of_zone[totals.destinations.of_block])
    return Homes(totals, by_place, Sealed(unreadable))


def block_indexes(column: Any, blocks: Blocks) -> Codes:
    """The index of each block in the map; the index after the last for those that are not in it."""
    return places_among(column, blocks.names.tolist())


def _jobs(counted: list[Any], rows: int) -> NDArray[np.int64]:
    import pyarrow as arrow
    import pyarrow.compute as compute

    if not counted:
        return np.ones(rows, dtype=np.int64)
    text = compute.utf8_trim_whitespace(counted[0].fill_null(""))
    digits = compute.replace_substring_regex(compute.if_else(_readable(counted[0]), text, "0"), r"\..*$", "")
    return np.asarray(digits.cast(arrow.int64()).to_numpy(zero_copy_only=False)).astype(np.int64)


def _readable(column: Any) -> NDArray[np.bool_]:
    """Which rows have an integer number of jobs, of at most nine digits."""
    import pyarrow.compute as compute

    text = compute.utf8_trim_whitespace(column.fill_null(""))
    return np.asarray(compute.match_substring_regex(text, r"^[0-9]{1,9}(\.0*)?$").to_numpy(zero_copy_only=False), dtype=np.bool_)


# --- counts the content of a file of flows, for the data owner, before a map is made from it ---------------------------------


NOTICE = "For the data owner only: these are exact counts of the private flows, without protection. Do not publish them."


@dataclass(frozen=True, slots=True)
class Checked:
    """The part of a file that a release would use: rows and jobs, and how many do not count, are left out or are elsewhere."""

    rows: int
    unreadable: int
    jobs: int
    left_out: int
    elsewhere: int
    destinations: int
    least: int
    median: float
    most: int

    def to_dict(self) -> dict[str, int | float | bool]:
        """Plain values for JSON; the first key says whom they are for."""
        return {"for_the_curator_only": True, **asdict(self)}

    def sentences(self) -> list[str]:
        """Sentences for people; the first says whom they are for."""
        return [
            NOTICE,
            f"{self.rows:,} rows.",
            f"{self.unreadable:,} rows have an unreadable number of jobs and count as no job.",
            self._destinations_said(),
            f"{self.left_out:,} jobs are at destinations that are not on the map; they are left out.",
            f"{self.elsewhere:,} jobs have homes that are not on the map; they come from elsewhere.",
        ]

    def _destinations_said(self) -> str:
        if not self.destinations:
            return "No jobs at destinations on the map: a release would be refused; check the map and the columns."
        spread = f"jobs per destination: {self.least:,} to {self.most:,} (median {self.median:,.10g})"
        return f"{self.jobs:,} jobs at {self.destinations:,} destinations; {spread}."


def check_flows(path: str | Path, columns: Columns, blocks: Blocks, level: str | None = None) -> Checked:
    """The part of a file of flows that a release at a level (None: the usual one) would use; releases and spends nothing.

    >>> from tempfile import TemporaryDirectory
    >>> from tacit.publish.synthetic.commuters.example_state import made_state
    >>> state = made_state(blocks=200, workplaces=4, jobs=500)
    >>> with TemporaryDirectory() as folder:
    ...     flows, _ = state.write(folder)
    ...     found = check_flows(flows, Columns(), state.blocks)
    >>> found.jobs, found.unreadable, found.elsewhere
    (500, 0, 0)
    """
    totals = found_totals(path, columns, blocks, blocks.zones(level))
    each = totals.jobs.tolist() or [0]
    homes = read_homes(path, columns, blocks, totals)
    _, block, jobs = for_the_owner(homes.jobs)
    return Checked(
        rows=len(read_columns(path, [columns.destination])[0]),
        unreadable=for_the_owner(homes.unreadable),
        jobs=int(totals.jobs.sum()),
        left_out=totals.left_out,
        elsewhere=int(jobs[block == len(blocks)].sum()),
        destinations=len(totals),
        least=min(each),
        median=float(median(each)),
        most=max(each),
    )
