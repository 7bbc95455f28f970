"""Counts the content of a file of flows, for the data owner, before a map is made from it.

No row makes a release fail, and no message of a release depends on a row. A row whose number of jobs cannot be read counts as no
job, and the release does not report it, since the number of such rows is private. The data owner, who has the file, may count them.
Every number here comes from the file without protection, so it is for the data owner alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from tacit.data.files.columns import read_columns
from tacit.publish.synthetic.commuters.flows import Columns, found_totals, read_homes
from tacit.publish.synthetic.commuters.geography import Blocks
from tacit.release.curators import for_the_owner

NOTICE = "For the data owner only: these are exact counts of the private flows, without protection. Do not publish them."


@dataclass(frozen=True, slots=True)
class Checked:
    """What a release would use of a file: rows and jobs, and how many do not count, are left out or are elsewhere."""

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
    """What a release at a level of destinations (None: the usual one) would use of a file of flows; releases and spends nothing.

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
