"""How many fake workers a block needs: pure differential privacy, and probabilistic with its delta. Proofs in dirichlet.md.

The probability of a bad output is not a monotone function of the noise (its threshold jumps at multiples of 1/(ratio - 1)): a noise
is never assumed to hold because a smaller one does. Whatever is returned here was checked itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.errors import InvalidBudget, InvalidInput
from tacit.mechanisms.dirichlet.tails import far_tail_up, tail_up
from tacit.mechanisms.noise.urn import BlockClass
from tacit.privacy.loss import probability
from tacit.privacy.rounding import Number, exact, float_down

MOST = 10**15  # workers, draws and blocks of one map: far more than any country has, and whole numbers of floats
NEAREST_RATIO, LARGEST_RATIO = 1 + Fraction(1, 10**9), Fraction(10**100)


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """The public facts of a destination: its real workers, its synthetic workers (`draws`), and the blocks of its map.

    With `count_noise` the fake workers of the blocks that are kept for certain are counted on to be in the urn, whatever the data;
    else none are. To leave them out is on the safe side, and costs noise where blocks are many.

    >>> facts = PublicFacts(1041, 1041, (BlockClass(44), BlockClass(200, keep=0.2)), count_noise=True)
    >>> facts.blocks, facts.certain, facts.mass_besides(Fraction(2))
    (244, 44, Fraction(1127, 1))
    """

    workers: int
    draws: int
    classes: tuple[BlockClass, ...]
    count_noise: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        for name in ("workers", "draws"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInput(f"{name} must be a whole number of at least 0, not {value!r}", argument=name)
        if max(self.workers, self.draws, self.blocks) > MOST:
            raise InvalidInput(f"a map has at most {MOST:,} workers, draws and blocks")
        if not self.blocks:
            raise InvalidInput("classes must contain at least one block; give for example classes=(BlockClass(244),)")

    @property
    def blocks(self) -> int:
        """How many blocks the map has."""
        return sum(each.blocks for each in self.classes)

    @property
    def certain(self) -> int:
        """How many blocks keep their noise whatever the data."""
        return sum(each.blocks for each in self.classes if each.keep == 1)

    def mass_besides(self, noise: Fraction) -> Fraction:
        """The smallest mass of the urn over all homes, minus the noise of one block."""
        return self.workers + noise * (max(0, self.certain - 1) if self.count_noise else 0)


def allowed_ratio(value: Number, name: str = "ratio") -> Fraction:
    """An exact ratio r = e^epsilon above 1, by a billionth at least; from 10^100 on nothing is promised."""
    ratio = exact(value, name, InvalidBudget)
    if ratio <= 1:
        raise InvalidBudget(
            f"{name} must be above 1 (it is e^epsilon), not {value}; give for example {name}=20 (epsilon = ln 20 = 2.996)",
            argument=name,
        )
    if not NEAREST_RATIO <= ratio <= LARGEST_RATIO:
        raise InvalidBudget(
            f"{name} must be from 1 + 1e-9 (only noise) to 1e100 (no privacy); give for example {name}=20", argument=name
        )
    return ratio


def pure_noise(draws: int, ratio: Number) -> Fraction:
    """The least noise for which (draws + noise) / noise <= ratio: draws / (ratio - 1), exactly.

    >>> [math.ceil(pure_noise(10**6, ratio)) for ratio in (5, 10, 20, 50)]
    [250000, 111112, 52632, 20409]
    """
    allowed = allowed_ratio(ratio)
    return max(draws, 1) / (allowed - 1)


def probable_noise(facts: PublicFacts, ratio: Number, delta: Number) -> Fraction:
    """A noise t / (ratio - 1), t whole, with a bad output of probability at most `delta`; that of t - 1 was tried and is too small.

    >>> facts = PublicFacts(10**6, 10**6, (BlockClass(10**5),))
    >>> [str(probable_noise(facts, ratio, 1e-5)) for ratio in (5, 10, 20, 50)]
    ['43/2', '17/3', '41/19', '36/49']
    """
    allowed, weight = allowed_ratio(ratio), probability(delta)
    if not weight:
        return pure_noise(facts.draws, allowed)
    return _probable_noise(facts, allowed, weight)


@lru_cache(maxsize=4096)
def _probable_noise(facts: PublicFacts, ratio: Fraction, delta: Fraction) -> Fraction:
    """Bisection between a number of steps that fails and one that holds; draws / (ratio - 1) is pure and always holds."""
    fails, holds = 0, max(facts.draws, 1)
    while holds - fails > 1:
        tried = min((fails + holds) // 2, 2 * fails + 1)
        if is_enough(facts, tried / (ratio - 1), ratio, delta):
            holds = tried
        else:
            fails = tried
    return holds / (ratio - 1)


def bad_weight_up(facts: PublicFacts, noise: Fraction, ratio: Fraction) -> Fraction:
    """An upper bound on the probability of outputs that some neighbour changes by more than `ratio`, for all homes.

    blocks * max over c of T_c, where c is how many workers a block has (dirichlet.md, section 3). All c are covered: one by one
    until a bound on all that follow is below the largest so far.

    >>> facts = PublicFacts(10**6, 10**6, (BlockClass(10**5),))
    >>> [f"{float(bad_weight_up(facts, Fraction(t, 4), Fraction(5))):.2e}" for t in (85, 86)]
    ['1.01e-05', '7.87e-06']
    """
    return min(Fraction(1), facts.blocks * Fraction(_worst_up(facts, noise, ratio)))


def is_enough(facts: PublicFacts, noise: Fraction, ratio: Fraction, delta: Fraction) -> bool:
    """Whether `bad_weight_up` is at most `delta`; it stops as soon as that is decided."""
    limit = float_down(delta / facts.blocks)
    return _worst_up(facts, noise, ratio, floor=limit, ceiling=limit) <= limit


def _worst_up(facts: PublicFacts, noise: Fraction, ratio: Fraction, floor: float = 0.0, ceiling: float = 1.0) -> float:
    """At or above every T_c, c = 0, 1, ..., workers; it stops at one above `ceiling`, or when all that follow are below `floor`."""
    if noise <= 0:
        return 1.0
    if (ratio - 1) * noise >= facts.draws or not facts.workers:
        return 0.0
    worst, workers, step = max(floor, excess_up(facts, noise, ratio, 0)), 1, 1
    mass = facts.mass_besides(noise) + noise
    while workers <= facts.workers and worst <= ceiling:
        if far_tail_up(facts.draws, noise + workers - 1, mass, ratio) <= worst:
            break
        last = min(workers + step - 1, facts.workers)
        together = excess_up(facts, noise, ratio, workers, last)
        if together > worst and last > workers:
            step //= 2
            continue
        worst, workers, step = max(worst, together), last + 1, 2 * step
    return worst


def excess_up(facts: PublicFacts, noise: Fraction, ratio: Fraction, workers: int, last: int | None = None) -> float:
    """At or above T_c, c = `workers`: the chance that a block of c workers is drawn too often (dirichlet.md, section 3).

    With `last`, at or above T_c for every c from `workers` to `last`: the lowest of their limits for the largest of their masses.
    """
    most = workers if last is None else last
    limit = (ratio - 1) * (noise + max(workers - 1, 0))
    return tail_up(facts.draws, noise + most, facts.mass_besides(noise) - most, math.floor(limit) + 1)
