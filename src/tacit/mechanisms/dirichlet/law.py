"""The law of Dirichlet resampling on a small map, listed exactly: every output, every set of blocks that may be kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from tacit.errors import InvalidInput
from tacit.mechanisms.additive import decimal
from tacit.privacy.law import Law

MOST_OUTPUTS = 100_000
Chances = Mapping[tuple[int, ...], Fraction]


def urn_chances(masses: Sequence[Fraction], draws: int) -> Chances:
    """The Dirichlet-multinomial law: how often each block is drawn, from an urn with these masses; no mass, no draw.

    The worked example of a tutorial: six draws, all of one block that has 1 or 2 of the urn's 10.

    >>> urn_chances([Fraction(1), Fraction(9)], 6)[6, 0], urn_chances([Fraction(2), Fraction(8)], 6)[6, 0]
    (Fraction(1, 5005), Fraction(1, 715))
    """
    if math.comb(draws + len(masses) - 1, draws) > MOST_OUTPUTS:
        raise InvalidInput(f"{draws} draws of {len(masses)} blocks have too many outputs to list; use fewer draws or blocks")
    whole = math.factorial(draws) / _rising_factorial(sum(masses, Fraction(0)), draws) if draws else Fraction(1)
    return {
        counts: whole
        * math.prod((_rising_factorial(mass, count) / math.factorial(count) for mass, count in zip(masses, counts, strict=True)))
        for counts in _counts(draws, len(masses))
    }


def resampling_chances(workers: Sequence[int], noise: Fraction, keeps: Sequence[Fraction], draws: int) -> Chances:
    """The law of the output for the workers of each block; an empty block is kept with its chance of `keeps`."""
    total: dict[tuple[int, ...], Fraction] = {}
    for kept, chance in _kept_sets(workers, keeps):
        masses = [count + noise if there else Fraction(0) for count, there in zip(workers, kept, strict=True)]
        for output, weight in urn_chances(masses, draws).items():
            total[output] = total.get(output, Fraction(0)) + chance * weight
    return total


def listed(chances: Chances) -> Law:
    """Exact chances as a law of 50 digits."""
    return Law({output: decimal(chance) for output, chance in chances.items()})


def _kept_sets(workers: Sequence[int], keeps: Sequence[Fraction]) -> Iterator[tuple[tuple[bool, ...], Fraction]]:
    """Every set of blocks that may be kept, with its chance; occupied blocks always are."""
    options: Iterable[list[tuple[bool, Fraction]]] = (
        [(True, Fraction(1))] if count or keep == 1 else [(True, keep), (False, 1 - keep)]
        for count, keep in zip(workers, keeps, strict=True)
    )
    for picked in product(*options):
        yield tuple(there for there, _ in picked), math.prod((chance for _, chance in picked), start=Fraction(1))


def _rising_factorial(mass: Fraction, count: int) -> Fraction:
    return math.prod((mass + i for i in range(count)), start=Fraction(1))


def _counts(draws: int, blocks: int) -> Iterator[tuple[int, ...]]:
    if blocks == 1:
        yield (draws,)
        return
    for first in range(draws + 1):
        for others in _counts(draws - first, blocks - 1):
            yield (first, *others)
