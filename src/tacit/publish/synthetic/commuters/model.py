"""The map of commuters by Dirichlet resampling, and how many synthetic workers a destination gets.

The map of commuters: at each destination, the homes of its workers are resampled with noise on every cell of a public domain.

    offered(totals, origins, terms)   everything about a release that is public: the noise of each destination, the claim, the price
    draw_map(offer, homes)            the draws, destination by destination; the price is to be paid before
    SyntheticMap                      the draws, as a table

The relation: one job moves its home; the totals of all destinations, and how many synthetic jobs each gets, are public.
A job is at one destination, so one release of all destinations costs as much as the most expensive one.

How many synthetic workers a destination gets: a function of its public number of jobs, and of nothing else.

    same         as many as it has jobs
    each:500     500 at every destination
    share:0.1    a tenth of its jobs, rounded up

Fewer draws need less noise: pure noise falls with their number, probabilistic noise less so. A map of a tenth of the jobs is a
sample in which each worker represents ten; the totals for weighting it are public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat, tee
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.ledger.caps import at_least
from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.dirichlet.calibration import PublicFacts, allowed_ratio, probable_noise
from tacit.mechanisms.dirichlet.counts import renumbered
from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.loss import Approximate, Neighbours, Pure, probability
from tacit.privacy.rounding import Number, exact, log_up
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.commuters.empty_cells import All, ByName, Keeping, read_keeping
from tacit.publish.synthetic.commuters.flows import MOST_JOBS, Homes, Totals
from tacit.publish.synthetic.commuters.geography import Domain, Origins, Zones
from tacit.publish.synthetic.commuters.prior import Even, Prior, read_prior
from tacit.publish.synthetic.commuters.utility import Cells, fake_share

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


# --- the map of commuters ----------------------------------------------------------------------------------------------------


MOST_EPSILON = 100
ONE_JOB = Neighbours("change-one", "unit")
RELATION = (
    "one job moves its home; the number of jobs at every destination, real and synthetic, is public; "
    "a person with j jobs is protected at the ratio to the power of j"
)
AND_DELTA = ", with delta times 1 + ratio + ... + ratio^(j-1)"


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a release: ratio of the resampling, delta (0 is pure), empty cells it keeps, synthetic workers, and a prior.

    >>> print(Terms(ratio=20, delta=1e-5))
    ratio 20 (epsilon 2.99574), delta 1e-05
    >>> print(Terms(ratio=20, workers="share:0.1"))
    ratio 20 (epsilon 2.99574), delta 0, synthetic workers share:1/10
    """

    ratio: Fraction
    delta: Fraction
    keeping: Keeping
    workers: SyntheticWorkers
    prior: Prior

    def __init__(
        self,
        ratio: Number,
        delta: Number = 0,
        keep: str | Keeping = "all",
        workers: str | SyntheticWorkers = "same",
        prior: str | Prior = "even",
    ) -> None:
        object.__setattr__(self, "ratio", allowed_ratio(ratio))
        require_promise(log_up(self.ratio))
        object.__setattr__(self, "delta", probability(delta))
        object.__setattr__(self, "keeping", read_keeping(keep) if isinstance(keep, str) else keep)
        object.__setattr__(self, "workers", read_workers(workers) if isinstance(workers, str) else workers)
        object.__setattr__(self, "prior", read_prior(prior) if isinstance(prior, str) else prior)
        if self.weighted and not isinstance(self.keeping, All):
            raise InvalidInput(
                "a prior is not supported with dropped cells; keep all of them, or remove the prior", argument="prior"
            )

    @property
    def weighted(self) -> bool:
        """Whether fake workers follow a prior."""
        return not isinstance(self.prior, Even)

    def __str__(self) -> str:
        dropping = "" if isinstance(self.keeping, All) else f", empty cells kept by {self.keeping}"
        drawing = "" if isinstance(self.workers, Same) else f", synthetic workers {self.workers}"
        likely = f", prior {self.prior}" if self.weighted else ""
        return f"{ratio_text(self.ratio)}, delta {at_least(self.delta)}{dropping}{drawing}{likely}"


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A release before it is drawn, from public facts alone: one mechanism for each destination."""

    totals: Totals
    origins: Origins
    terms: Terms
    mechanisms: tuple[ProbableDirichlet, ...]

    def domains(self) -> Iterator[Domain]:
        """The domain of each destination in turn."""
        zones = self.totals.destinations
        for zone in self.totals.zones:
            yield self.origins.around(float(zones.latitudes[zone]), float(zones.longitudes[zone]))

    def names(self) -> Iterator[NDArray[Any]]:
        """The names of the cells of each destination in turn; zones are the same for all."""
        if isinstance(self.origins, Zones):
            return repeat(self.origins.names, len(self.totals))
        return (domain.names for domain in self.domains())

    @property
    def ratio(self) -> Fraction:
        """The ratio of the whole release: that of resampling, times the largest factor that dropping adds."""
        return max(mechanism.ratio for mechanism in self.mechanisms)

    @property
    def loss(self) -> Pure | Approximate:
        """The privacy loss of one job, as a ledger counts it."""
        epsilon = max(mechanism.epsilon for mechanism in self.mechanisms)
        return Approximate(epsilon, self.terms.delta, ONE_JOB) if self.terms.delta else Pure(epsilon, ONE_JOB)

    @property
    def noises(self) -> tuple[Fraction, ...]:
        """The fake workers on every cell, by destination."""
        return tuple(mechanism.noise for mechanism in self.mechanisms)

    @property
    def cells(self) -> list[int]:
        """How many cells the map of each destination has."""
        if self.terms.weighted:
            return [len(domain) for domain in self.domains()]
        return [mechanism.facts.blocks for mechanism in self.mechanisms]

    @property
    def fake(self) -> float:
        """The expected share of synthetic jobs from noise; a cell that may be dropped counts as if it were empty."""
        shares = [
            fake_share(sum(each.blocks * each.keep for each in mechanism.facts.classes), mechanism.noise, mechanism.facts.workers)
            for mechanism in self.mechanisms
        ]
        return float(sum(share * many for share, many in zip(shares, self.draws, strict=True)) / sum(self.draws))

    @property
    def draws(self) -> tuple[int, ...]:
        """The synthetic jobs, by destination."""
        return tuple(mechanism.facts.draws for mechanism in self.mechanisms)

    @property
    def relation(self) -> str:
        """The unit that the claim protects, and its meaning for more than one job."""
        return RELATION + (AND_DELTA if self.terms.delta else "")

    def claim(self) -> list[str]:
        """The guarantee of the release, in sentences, including delta for all destinations at once."""
        return [*self.promise(), *self.everywhere()]

    def promise(self) -> list[str]:
        """The limit on what the release may reveal, and about what."""
        kind = "Probabilistic differential privacy" if self.terms.delta else "Pure differential privacy"
        delta = f", exceeded with probability at most {at_least(self.terms.delta)}" if self.terms.delta else ""
        if self.terms.weighted and self.terms.delta:
            kind, delta = "(epsilon, delta)-differential privacy", f" and delta {at_least(self.terms.delta)}"
        said = [f"{kind}: {ratio_text(self.ratio)}{delta}.", f"The relation: {self.relation}."]
        if self.ratio != self.terms.ratio:
            extra = ratio_text(self.ratio / self.terms.ratio)
            said.insert(1, f"Of this, {ratio_text(self.terms.ratio)} is for resampling and {extra} for dropping empty cells.")
        return said

    def everywhere(self) -> list[str]:
        """Delta for the jobs of all destinations at once; empty without a delta, or with one destination."""
        if not self.terms.delta or len(self.totals) == 1 or self.terms.weighted:
            return []
        together = at_least(min(self.terms.delta * len(self.totals), Fraction(1)))
        return [
            "Delta holds for any two neighbours, and for all jobs of one destination at once; "
            f"for those of all {len(self.totals):,} destinations at once it is {together}."
        ]


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticMap:
    """The synthetic jobs: for each destination, the cells that have any, and how many."""

    offer: Offer
    cells: tuple[Cells, ...]

    def table(self) -> dict[str, NDArray[Any]]:
        """Origin, destination and jobs, in the order of destinations and cells, which is public."""
        names = self.offer.totals.names
        sizes = [len(cells) for cells, _ in self.cells]
        origins = [cell_names[cells] for cell_names, (cells, _) in zip(self.offer.names(), self.cells, strict=True)]
        return {
            "origin": np.concatenate(origins).astype(object),
            "destination": np.repeat(np.array(names, dtype=object), sizes),
            "jobs": np.concatenate([jobs for _, jobs in self.cells]),
        }


def offered(totals: Totals, origins: Origins, terms: Terms) -> Offer:
    """The release, decided and priced before any home is read; one without a meaningful guarantee is refused."""
    plain = Offer(totals, origins, terms, ())
    if isinstance(terms.keeping, ByName):
        terms.keeping.require_known(plain.names())
    mechanisms = []
    for domain, jobs, name in zip(plain.domains(), totals.jobs.tolist(), totals.names, strict=True):
        chances = terms.keeping.chances(domain)
        classes = tuple(BlockClass(size, chance) for size, chance in zip(chances.sizes, chances.classes, strict=True))
        if terms.weighted:  # each cell is as many pieces as its weight: dirichlet.md, section 7
            classes = (BlockClass(int(terms.prior.weights(domain, name).sum())),)
        facts = PublicFacts(jobs, draws_at(terms.workers, jobs), classes, count_noise=True)
        mechanisms.append(_mechanism(facts, terms.ratio, terms.delta))
    require_promise(max(mechanism.epsilon for mechanism in mechanisms))
    return Offer(totals, origins, terms, tuple(mechanisms))


def undropped(offer: Offer) -> Offer:
    """The release that keeps all cells with the same total guarantee: the baseline for dropping cells."""
    ratio = Fraction(math.floor(offer.ratio * 1000), 1000)
    return offered(
        offer.totals, offer.origins, Terms(ratio, offer.terms.delta, workers=offer.terms.workers, prior=offer.terms.prior)
    )


def draw_map(offer: Offer, homes: Homes) -> Iterator[Cells]:
    """The synthetic jobs of each destination in turn, drawn exactly and from the secure source; every run is another release."""
    domains, same = tee(offer.domains())
    names = offer.totals.names
    for domain, name, mechanism, counted in zip(domains, names, offer.mechanisms, homes.counts(same), strict=True):
        if offer.terms.weighted:
            yield _in_pieces(mechanism, counted, offer.terms.prior.weights(domain, name))
            continue
        order = offer.terms.keeping.chances(domain).order
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        blocks, draws = mechanism.resample(renumbered(counted, place))
        cells = in_cells(blocks, order)
        sort = np.argsort(cells)
        yield cells[sort], draws[sort]


def _in_pieces(mechanism: ProbableDirichlet, counted: Sealed[Cells], weights: NDArray[np.int64]) -> Cells:
    """The draws where a cell of weight w is w pieces: real workers are in the first, and the pieces are added up afterwards."""
    begins = np.cumsum(weights) - weights
    pieces, draws = mechanism.resample(renumbered(counted, begins))
    together = np.bincount(np.searchsorted(begins, pieces, side="right") - 1, draws, len(weights)).astype(np.int64)
    cells = np.flatnonzero(together)
    return cells, together[cells]


def in_cells(blocks: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cells of an urn's draws: its blocks are numbered class by class, in the order of `order`."""
    return order[blocks]


def ratio_text(ratio: Fraction) -> str:
    """A ratio together with its epsilon.

    >>> ratio_text(Fraction(20))
    'ratio 20 (epsilon 2.99574)'
    """
    return f"ratio {at_least(ratio)} (epsilon {at_least(log_up(ratio))})"


def require_promise(epsilon: Fraction) -> None:
    """Refuse an epsilon that is not a meaningful guarantee."""
    if epsilon > MOST_EPSILON:
        raise InvalidBudget(
            f"an epsilon of {at_least(epsilon)} is not a meaningful guarantee; give a smaller ratio, "
            "and if empty cells are dropped, keep all cells or give a delta"
        )


@lru_cache(maxsize=65536)
def _mechanism(facts: PublicFacts, ratio: Fraction, delta: Fraction) -> ProbableDirichlet:
    """The mechanism of a destination; equal destinations share one."""
    return ProbableDirichlet(facts, probable_noise(facts, ratio, delta), ratio, delta, ONE_JOB)
