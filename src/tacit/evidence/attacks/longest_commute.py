"""The longest commute: a co-worker who knows that Bob comes from farther away than all others looks for him on the map.

Alice knows who works with her, where all the others live, and that Bob's way to work is the longest (the adversary of
Machanavajjhala, Kifer, Abowd, Gehrke and Vilhuber 2008). On the true map the farthest origin is Bob's. On a naive map, resampled
with noise on the occupied origins only, a synthetic worker in an origin proves that a real one lives there: whenever Bob's origin
is drawn at all, Alice has him, and knows that she does. On a private map every origin has its fake workers, and the best that
Alice can do is Bayes' rule: the odds of two origins without other workers move by (noise + draws of one) / (noise + draws of the
other), which is at most the ratio outside of outputs of probability delta.

The defense: fake workers on every origin of a public domain, enough of them for the ratio. Hiding the amount of noise is not one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars, json_figures
from tacit.mechanisms.noise.urn import BlockClass, polya_urn
from tacit.publish.synthetic.commuters.empty_cells import All
from tacit.publish.synthetic.commuters.flows import Homes
from tacit.publish.synthetic.commuters.geography import Domain
from tacit.publish.synthetic.commuters.model import Offer, draw_map
from tacit.publish.synthetic.commuters.utility import Cells
from tacit.release.curators import for_the_owner

Publish = Callable[[Cells], Cells]
NAIVE = "noise on occupied origins only"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Bob: alone in the farthest origin of a destination.

    `candidates` are the origins that Alice holds possible: at least as far as the next worker's, and without other workers.
    """

    destination: int
    truth: Cells
    home: int
    candidates: NDArray[np.int64]
    distances: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an adversary fared against one way to publish: over how many maps, and with which share of Bobs.

    found       the guess is Bob's origin
    certain     the map itself proves that the guess is right, and the adversary knows it
    guessing    the share that a guess among the candidates would find without any map
    odds        the largest factor by which a map moved the odds of two candidates; infinite where it proved one
    """

    name: str
    trials: int
    found: float
    certain: float
    guessing: float
    odds: float

    def summary(self) -> str:
        """One sentence."""
        odds = "without limit" if self.odds == float("inf") else f"by {self.odds:.3g} at most"
        return (
            f"{self.name}: {self.found:.1%} of targets found ({self.guessing:.1%} by guessing without a map), {self.certain:.1%} "
            f"with certainty; the odds of two homes moved {odds} in {self.trials:,} maps."
        )


@dataclass(frozen=True, slots=True)
class Commutes:
    """The adversary against every way to publish."""

    targets: int
    ratio: float
    outcomes: tuple[Outcome, ...]

    @property
    def holds(self) -> bool:
        """Whether no private map moved the odds of two homes beyond its ratio; each may, with probability delta."""
        return self.outcomes[-1].odds <= self.ratio

    def summary(self) -> str:
        """A line for each way to publish."""
        lines = [f"The longest commute: {self.targets} destinations at which one worker lives farther away than all others."]
        return "\n".join(lines + [outcome.summary() for outcome in self.outcomes])

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        against = {
            each.name: json_figures(
                trials=each.trials, found=each.found, certain=each.certain, guessing=each.guessing, odds=each.odds
            )
            for each in self.outcomes
        }
        return {"attack": "longest commute", "targets": self.targets, "ratio": self.ratio, "against": against, "holds": self.holds}

    def chart(self, path: str | Path | None = None) -> Any:
        """The share of Bobs that is found, and found with certainty."""
        rows = [
            {"x": each.name, "y": share, "series": series}
            for each in self.outcomes
            for series, share in (("found", each.found), ("with certainty", each.certain), ("by guessing", each.guessing))
        ]
        return bars(rows, Axes("", "share of targets", share=True), "The longest commute, by what is published", path)


def targets(domains: Sequence[Domain], truth: Sequence[Cells]) -> Iterator[Target]:
    """Every destination whose farthest origin has one worker only, and at least one other candidate."""
    for place, (domain, cells) in enumerate(zip(domains, truth, strict=True)):
        has_distance = ~np.isnan(domain.distances[cells[0]])
        occupied, jobs = cells[0][has_distance], cells[1][has_distance]
        if len(occupied) < 2:
            continue
        order = np.argsort(domain.distances[occupied], kind="stable")
        bob, others = occupied[order[-1]], occupied[order[:-1]]
        reach = domain.distances[others[-1]]
        candidates = np.flatnonzero(np.nan_to_num(domain.distances, nan=-1.0) >= reach)
        candidates = np.setdiff1d(candidates, others)
        if jobs[order[-1]] == 1 and len(candidates) >= 2:
            yield Target(place, cells, int(bob), candidates, domain.distances)


def naive(noise: Fraction, draws: int) -> Publish:
    """Resampling with noise on the occupied origins only. It is a breach."""

    def publish(truth: Cells) -> Cells:
        occupied, jobs = truth
        cells, counts = polya_urn((np.arange(len(occupied)), jobs), noise, [BlockClass(len(occupied))], draws)
        return occupied[cells], counts

    return publish


def longest_commute(offer: Offer, homes: Homes, maps: int = 5) -> Commutes:
    """The adversary against the true map, the naive one with the same noise, and the private one, on `maps` maps of each kind.

    >>> from tacit.publish.synthetic.commuters.model import Terms, offered
    >>> from tacit.publish.synthetic.commuters.example_state import made_state
    >>> state = made_state(blocks=1000, workplaces=10, jobs=2000)
    >>> totals = state.totals(state.blocks.zones("tract"))
    >>> found = longest_commute(offered(totals, state.blocks.zones("blockgroup"), Terms(20, 1e-9)), state.homes(totals))
    >>> [outcome.name for outcome in found.outcomes], found.outcomes[0].found, found.holds
    (['true map', 'noise on occupied origins only', 'private map'], 1.0, True)
    """
    if offer.terms.weighted:
        raise InvalidInput("a prior is not supported: the adversary's rule requires the same noise on every origin")
    if not isinstance(offer.terms.keeping, All):
        raise InvalidInput(
            "keep-chances are not supported: the adversary's rule requires maps on which every origin keeps its noise"
        )
    domains = list(offer.domains())
    looked_for = tuple(targets(domains, [for_the_owner(counted) for counted in homes.counts(domains)]))
    if not looked_for:
        raise InvalidInput("no target found: no destination has its farthest worker alone in an origin")
    private = [list(draw_map(offer, homes)) for _ in range(maps)]
    noises, draws, rounds = offer.noises, offer.draws, range(maps)
    shown = [naive(noises[t.destination], draws[t.destination])(t.truth) for _ in rounds for t in looked_for]
    outcomes = (
        attack_naive_map(looked_for, [target.truth for target in looked_for], "true map"),
        attack_naive_map(looked_for * maps, shown, NAIVE),
        attack_private_map(
            looked_for * maps, [private[turn][t.destination] for turn in rounds for t in looked_for], noises, "private map"
        ),
    )
    return Commutes(len(looked_for), float(offer.ratio), outcomes)


def attack_naive_map(looked_for: Sequence[Target], shown: Sequence[Cells], name: str) -> Outcome:
    """The adversary where only origins of real workers can appear: a candidate on the map is Bob's, for certain."""
    hits = certain = guessing = 0.0
    for target, cells in zip(looked_for, shown, strict=True):
        seen = target.candidates[_draws(cells, target.candidates) > 0]
        certain += len(seen) == 1
        hits += (target.home in seen) if len(seen) else 1 / len(target.candidates)
        guessing += 1 / len(target.candidates)
    many = len(looked_for)
    return Outcome(name, many, hits / many, certain / many, guessing / many, float("inf") if certain else 1.0)


def attack_private_map(looked_for: Sequence[Target], shown: Sequence[Cells], noises: Sequence[Fraction], name: str) -> Outcome:
    """The adversary where every origin has fake workers: the candidate with most draws is the likeliest; none is ever certain."""
    hits = guessing = odds = 0.0
    for target, cells in zip(looked_for, shown, strict=True):
        draws = _draws(cells, target.candidates)
        best = target.candidates[draws == draws.max()]
        hits += (target.home in best) / len(best)
        guessing += 1 / len(target.candidates)
        odds = max(odds, _odds(draws, float(noises[target.destination])))
    many = len(looked_for)
    return Outcome(name, many, hits / many, 0.0, guessing / many, odds)


def _draws(cells: Cells, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many jobs a map shows from each candidate."""
    place = np.searchsorted(cells[0], candidates)
    there = (place < len(cells[0])) & (cells[0][np.minimum(place, len(cells[0]) - 1)] == candidates)
    return np.where(there, cells[1][np.minimum(place, len(cells[1]) - 1)], 0)


def _odds(draws: NDArray[np.int64], noise: float) -> float:
    """The odds of the candidate with most draws over the one with fewest: the map's effect on an even prior."""
    return (noise + int(draws.max())) / (noise + int(draws.min()))
