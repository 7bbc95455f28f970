"""How many synthetic workers a destination gets: a function of its public number of jobs, and of nothing else.

    same         as many as it has jobs
    each:500     500 at every destination
    share:0.1    a tenth of its jobs, rounded up

Fewer draws need less noise: pure noise falls with their number, probabilistic noise less so. A map of a tenth of the jobs is a
sample in which each worker represents ten; the totals for weighting it are public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, exact
from tacit.publish.synthetic.commuters.flows import MOST_JOBS

MOST_SHARE = 1000


@dataclass(frozen=True, slots=True)
class Same:
    """As many as there are jobs.

    >>> str(Same()), Same().draws(1041)
    ('same', 1041)
    """

    def draws(self, jobs: int) -> int:
        """The synthetic workers of a destination: its jobs."""
        return jobs

    def __str__(self) -> str:
        return "same"


@dataclass(frozen=True, slots=True)
class Each:
    """The same number at every destination."""

    number: int

    def __init__(self, number: Number) -> None:
        read = exact(number, "synthetic workers")
        if read.denominator != 1 or not 1 <= read <= MOST_JOBS:
            raise InvalidInput(
                f"invalid number of synthetic workers {str(number)[:40]}; expected a whole number from 1 to {MOST_JOBS:,}"
            )
        object.__setattr__(self, "number", int(read))

    def draws(self, jobs: int) -> int:
        """The synthetic workers of a destination: the same number everywhere."""
        return self.number

    def __str__(self) -> str:
        return f"each:{self.number}"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the jobs, rounded up: a destination that has jobs gets at least one synthetic worker."""

    share: Fraction

    def __init__(self, share: Number) -> None:
        read = exact(share, "share")
        if not 0 < read <= MOST_SHARE:
            raise InvalidInput(
                f"invalid share of synthetic workers {str(share)[:40]}; it must be above 0 and at most {MOST_SHARE:,}"
            )
        object.__setattr__(self, "share", read)

    def draws(self, jobs: int) -> int:
        """The synthetic workers of a destination: a share of its jobs, rounded up."""
        return math.ceil(self.share * jobs)

    def __str__(self) -> str:
        return f"share:{self.share}"


SyntheticWorkers = Same | Each | Share


def read_workers(written: str) -> SyntheticWorkers:
    """The rule in the notation that the module describes.

    >>> [read_workers(rule).draws(1041) for rule in ("same", "each:500", "share:0.1", "share:2")]
    [1041, 500, 105, 2082]
    """
    kind, _, rest = written.partition(":")
    if kind not in KINDS or (kind == "same") != (not rest):
        raise InvalidInput(f"invalid synthetic workers {written[:60]!r}; expected same, each:500 or share:0.1")
    return KINDS[kind](rest)


def draws_at(rule: SyntheticWorkers, jobs: int) -> int:
    """The synthetic workers of a destination with the given number of jobs; raises if there are too many. All of it is public."""
    draws = rule.draws(jobs)
    if draws > MOST_JOBS:
        raise InvalidInput(f"a destination would get more than {MOST_JOBS:,} synthetic workers; give a smaller share")
    return draws


KINDS: Mapping[str, Callable[[str], SyntheticWorkers]] = {"same": lambda _: Same(), "each": Each, "share": Share}
