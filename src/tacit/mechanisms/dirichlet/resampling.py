"""Dirichlet resampling: synthetic workers drawn from an urn of real ones and fake ones on every block. Proof in dirichlet.md.

A destination has a public number of workers and of synthetic workers; where a worker lives is private. The output says how many
synthetic workers live in each block. Neighbours: one job moves from one block to another. Claims are ratios r; epsilon is ln r.

    DirichletResampling   every block keeps its fake workers; pure
    ProbableDirichlet     pure or probabilistic, for a public number of workers; empty blocks may be left out at random
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Resampling
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.dirichlet.calibration import PublicFacts, allowed_ratio, is_enough, probable_noise, pure_noise
from tacit.mechanisms.dirichlet.dropping import dropping, split_ratio
from tacit.mechanisms.dirichlet.law import listed, resampling_chances
from tacit.mechanisms.noise.urn import BlockClass, polya_urn
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import Law
from tacit.privacy.loss import CHANGE_ONE, Neighbours, Probabilistic, Pure, positive_budget, probability
from tacit.privacy.rounding import Number, as_text, exp_up, log_up

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DirichletResampling:
    """`draws` synthetic workers from an urn with the real workers and `noise` fake ones on each of `blocks` blocks; pure.

    The ratio is (draws + noise) / noise (dirichlet.md, section 2). It covers a job that moves, and a job that comes or goes.
    The example of a tutorial, six draws and one fake worker, ratio 7:

    >>> example = DirichletResampling(blocks=2, noise=1, draws=6)
    >>> print(example.ratio, example.loss)
    7 pure epsilon 1.94591 (change one row)
    >>> str(DirichletResampling.for_ratio(blocks=100, draws=10**6, ratio=20).noise)
    '1000000/19'
    """

    blocks: int
    noise: Fraction
    draws: int
    neighbours: Neighbours = CHANGE_ONE

    def __init__(self, blocks: int, noise: Number, draws: int, neighbours: Neighbours = CHANGE_ONE) -> None:
        PublicFacts(0, draws, (BlockClass(blocks),))  # checks both
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "noise", positive_budget(noise, "noise"))
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "neighbours", neighbours)

    @classmethod
    def for_ratio(cls, blocks: int, draws: int, ratio: Number, neighbours: Neighbours = CHANGE_ONE) -> DirichletResampling:
        """With the least noise for which the ratio is within `ratio`."""
        return cls(blocks, pure_noise(draws, ratio), draws, neighbours)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of two neighbours' probabilities, (draws + noise) / noise."""
        return (self.draws + self.noise) / self.noise

    @property
    def epsilon(self) -> Fraction:
        """The logarithm of the ratio, rounded up."""
        return log_up(self.ratio)

    @property
    def event(self) -> Resampling:
        """The event that the ledger records for one release."""
        return Resampling(self.epsilon, Fraction(0), self.neighbours)

    @property
    def loss(self) -> Pure:
        """The loss that is claimed for one release, under its relation."""
        return Pure(self.epsilon, self.neighbours)

    @property
    def classes(self) -> tuple[BlockClass, ...]:
        """All blocks, kept for certain."""
        return (BlockClass(self.blocks),)

    def release(self, workers: Any) -> Counts:
        """Synthetic workers in each block, for the real workers in each."""
        real = _dense(workers, self.blocks)
        occupied = np.flatnonzero(real)
        return _spread(self.resample((occupied, real[occupied])), self.blocks)

    def resample(self, workers: Any) -> tuple[Counts, Counts]:
        """The same where few blocks are occupied, from those and their workers: blocks that are drawn, and how often."""
        return polya_urn(opened(workers), self.noise, self.classes, self.draws)

    def law(self, workers: Any) -> Law:
        """The law of `release(workers)`, on a small map."""
        return listed(resampling_chances(_dense(workers, self.blocks).tolist(), self.noise, _keeps(self.classes), self.draws))


@dataclass(frozen=True, slots=True)
class ProbableDirichlet:
    """Dirichlet resampling for a public number of workers: outside outputs of probability `delta` the ratio is within `ratio`.

    `within` is the ratio that the noise answers for; what leaving empty blocks out at random costs comes on top, and `ratio` is
    both together (dirichlet.md, sections 3 and 5). With delta 0 all is pure. A noise that is too small for the claim is refused.

    >>> every = ProbableDirichlet.for_ratio(PublicFacts(1041, 1041, (BlockClass(244),)), ratio=20, delta=1e-5)
    >>> print(every.noise, every.loss)
    29/19 probabilistic epsilon 2.99573, delta 1e-05 (change one row)
    >>> sparse = PublicFacts(1041, 1041, (BlockClass(44), BlockClass(200, keep=0.2)))
    >>> some = ProbableDirichlet.for_ratio(sparse, ratio=1000, delta=1e-5)
    >>> float(some.within), round(float(some.extra), 3), as_text(some.ratio)
    (186.054, 1.682, '999.998')
    """

    facts: PublicFacts
    noise: Fraction
    within: Fraction
    delta: Fraction = Fraction(0)
    neighbours: Neighbours = CHANGE_ONE

    def __post_init__(self) -> None:
        noise, within, delta = positive_budget(self.noise, "noise"), allowed_ratio(self.within, "within"), probability(self.delta)
        for name, value in {"noise": noise, "within": within, "delta": delta}.items():
            object.__setattr__(self, name, value)
        if self.facts.draws and not (self.facts.workers or self.facts.certain):
            raise InvalidInput(
                "draws must be 0 without a worker or a block that is always kept: there may be nothing to draw from",
                argument="draws",
            )
        if not is_enough(self.facts, noise, within, delta):
            raise InvalidBudget(
                f"noise {as_text(noise)} is not shown to be enough for a ratio of {as_text(within)} with delta {as_text(delta)}; "
                f"{probable_noise(self.facts, within, delta)} is"
            )

    @classmethod
    def calibrated(
        cls, facts: PublicFacts, within: Number, delta: Number = 0, neighbours: Neighbours = CHANGE_ONE
    ) -> ProbableDirichlet:
        """With the noise for a ratio of `within`; what dropping costs comes on top."""
        return cls(facts, probable_noise(facts, within, delta), allowed_ratio(within), probability(delta), neighbours)

    @classmethod
    def for_ratio(
        cls, facts: PublicFacts, ratio: Number, delta: Number = 0, neighbours: Neighbours = CHANGE_ONE
    ) -> ProbableDirichlet:
        """With the noise for which all together, the price of dropping included, stays within `ratio`."""
        split = split_ratio(facts, ratio, delta)
        return cls(facts, split.noise, split.ratio, probability(delta), neighbours)

    @property
    def extra(self) -> Fraction:
        """The cost of leaving empty blocks out, in epsilon."""
        return dropping(self.facts, self.noise).epsilon

    @property
    def epsilon(self) -> Fraction:
        """The logarithm of the ratio, with that of dropping, rounded up."""
        return log_up(self.within) + self.extra

    @property
    def ratio(self) -> Fraction:
        """The ratio outside of the bad outputs, with that of dropping."""
        return exp_up(self.epsilon) if self.extra else self.within

    @property
    def event(self) -> Resampling:
        """The event that the ledger records for one release."""
        return Resampling(self.epsilon, self.delta, self.neighbours)

    @property
    def loss(self) -> Pure | Probabilistic:
        """The loss that is claimed for one release, under its relation."""
        return Probabilistic(self.epsilon, self.delta, self.neighbours) if self.delta else Pure(self.epsilon, self.neighbours)

    def release(self, workers: Any) -> Counts:
        """Synthetic workers in each block, for the real workers in each; those sum to the public number."""
        real = _dense(workers, self.facts.blocks)
        occupied = np.flatnonzero(real)
        return _spread(self.resample((occupied, real[occupied])), self.facts.blocks)

    def resample(self, workers: Any) -> tuple[Counts, Counts]:
        """The same where few blocks are occupied, from those and their workers: blocks that are drawn, and how often."""
        occupied, counts = opened(workers)
        numbers = np.asarray(counts)
        if numbers.size and numbers.dtype.kind not in "iu":
            raise InvalidValue("the number of workers per block must be a whole number")
        if sum(numbers.ravel().tolist()) != self.facts.workers:
            raise InvalidValue(f"the workers do not sum to the public {self.facts.workers}; pad or truncate them first")
        return polya_urn((occupied, numbers), self.noise, self.facts.classes, self.facts.draws)

    def law(self, workers: Any) -> Law:
        """The law of `release(workers)`, on a small map."""
        real, keeps = _dense(workers, self.facts.blocks).tolist(), _keeps(self.facts.classes)
        return listed(resampling_chances(real, self.noise, keeps, self.facts.draws))


def _dense(workers: Any, blocks: int) -> Counts:
    try:
        real = np.asarray(opened(workers))
    except ValueError:  # rows of different lengths
        real = np.zeros(0)
    if real.shape != (blocks,) or real.dtype.kind not in "iu":
        raise InvalidValue(f"workers must be {blocks} whole numbers, one for each block")
    return real.astype(np.int64)


def _spread(drawn: tuple[Counts, Counts], blocks: int) -> Counts:
    spread = np.zeros(blocks, dtype=np.int64)
    spread[drawn[0]] = drawn[1]
    return spread


def _keeps(classes: Sequence[BlockClass]) -> list[Fraction]:
    return [each.keep for each in classes for _ in range(each.blocks)]
