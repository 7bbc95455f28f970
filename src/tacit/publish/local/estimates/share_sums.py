"""How far the sum of the estimated shares of some categories strays: of the first ones, or of the last. Proofs in quantiles.md.

The shares of one survey are estimated from the same reports, so that their errors hang together in a way of each oracle's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, singledispatch

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.local.estimates.concentration import Scatter
from tacit.publish.local.randomizers.fields import field_of
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.randomizer import FrequencyOracle
from tacit.publish.local.randomizers.rappor import Rappor
from tacit.publish.local.randomizers.unary import Unary

Codes = NDArray[np.int64]
MOST_LISTED = 32  # categories of an oracle whose channel is listed, since it has no closed form here


@lru_cache(maxsize=64)
def scatters(oracle: FrequencyOracle, people: int, sampled: bool) -> tuple[Scatter, ...]:
    """For each number of categories below all, how far the sum of that many shares strays: of the first, up to half of all; else
    one less the sum of the others. A sample adds a term that is 0 or 1 for each person.

    >>> one, two, three = scatters(HadamardResponse(4, epsilon=2), people=100, sampled=False)
    >>> one.variance < two.variance > three.variance
    True
    """
    own = Fraction(1) if sampled else Fraction(0)
    return tuple(Scatter((v + own / 4) / people, (r + own) / people, far / people) for v, r, far in terms_of(oracle))


Terms = list[tuple[Fraction, Fraction, Fraction]]  # of one person: the variance, the squared ranges, and the farthest from a mean


@singledispatch
def terms_of(oracle: FrequencyOracle) -> Terms:
    """Of one person, at each point but the last. Without a closed form it is the law of the number of supported categories on a
    side, for each true value, from the channel.
    """
    if oracle.size > MOST_LISTED:
        rule = "use KAry, Unary, LocalHashing or HadamardResponse for a grid"
        raise InvalidInput(f"{type(oracle).__name__} over {oracle.size} points is too large; {rule}")
    supported = np.array([oracle.supports([report]) for report in oracle.channel.outputs])
    chances = np.array(oracle.channel.rows, dtype=np.float64)
    found, slope = [], oracle.hit - oracle.false_hit
    for count in range(1, oracle.size):
        side = slice(0, count) if count <= oracle.size // 2 else slice(count, oracle.size)
        hits = supported[:, side].sum(axis=1)
        worst = float((chances @ hits**2 - (chances @ hits) ** 2).max()) * (1 + 1e-9)  # upward: the rounding of floats
        spread = int(hits.max() - hits.min()) / slope
        found.append((Fraction(worst) / slope**2, spread**2, spread))
    return found


@terms_of.register
def _(oracle: Unary | Rappor) -> Terms:
    """The bits of unary reports are independent: their variances add, and every bit is a term of its own."""
    hit, false_hit, slope = oracle.hit, oracle.false_hit, oracle.hit - oracle.false_hit
    absent, farthest = false_hit * (1 - false_hit), max(hit, 1 - false_hit) / slope
    most = max(absent, hit * (1 - hit))
    return [(((count - 1) * absent + most) / slope**2, count / slope**2, farthest) for count in _counts(oracle.size)]


@terms_of.register
def _(oracle: LocalHashing | HadamardResponse) -> Terms:
    """A report supports most pairs of categories independently; those that are tied, through the true one, more often together."""
    hit, false_hit, slope = oracle.hit, oracle.false_hit, oracle.hit - oracle.false_hit
    absent, present = false_hit * (1 - false_hit), hit * (1 - hit)
    inside, outside = tied_pairs(oracle)
    found = []
    for count, within, beyond in zip(_counts(oracle.size), inside, outside, strict=True):
        worst = max((count - 1) * absent + present + within * slope * false_hit, count * absent + beyond * slope * false_hit)
        farthest = max(count * (1 - false_hit), count * false_hit + slope)
        found.append((worst / slope**2, Fraction(count) ** 2 / slope**2, farthest / slope))
    return found


def tied_pairs(oracle: LocalHashing | HadamardResponse) -> tuple[list[int], list[int]]:
    """The most ordered pairs of categories of a side that one true value ties, for each side of `scatters`: a true value of the
    side itself, and one beyond it.
    """
    size, half = oracle.size, oracle.size // 2
    inside, outside = np.zeros((2, 2, half + 1), dtype=np.int64)  # for the first ones and for the last, by their number
    for value, ties in enumerate(ties_of(oracle)):
        for end, (place, names) in enumerate(((value, ties), (size - 1 - value, ties[::-1]))):
            pairs = np.append(0, np.cumsum(2 * _seen_before(names[:half])))
            np.maximum(inside[end, place + 1 :], pairs[place + 1 :], out=inside[end, place + 1 :])
            np.maximum(outside[end, : place + 1], pairs[: place + 1], out=outside[end, : place + 1])
    chosen = [(0, count) if count <= half else (1, size - count) for count in range(1, size)]
    return [int(inside[at]) for at in chosen], [int(outside[at]) for at in chosen]


def ties_of(oracle: LocalHashing | HadamardResponse) -> Iterator[Codes]:
    """For each true value a name of every category, alike where two of them are tied by it."""
    return _lines(oracle) if isinstance(oracle, LocalHashing) else _products(oracle.size)


def _products(size: int) -> Iterator[Codes]:
    """Two rows of a Hadamard matrix are tied by the third that is their product."""
    rows = np.arange(1, size + 1)
    return (np.minimum(rows, rows ^ row) for row in range(1, size + 1))


def _lines(oracle: LocalHashing) -> Iterator[Codes]:
    """Two vectors are tied by a third that lies on one line with them; a line is named by its direction."""
    cells, digits = oracle.cells, oracle.digits
    field = field_of(cells)
    minus = field.sums[:, np.argmax(field.sums == 0, axis=1)]  # [a, b] is a - b
    places = cells ** np.arange(digits)
    vectors = np.arange(oracle.hashes)[:, None] // places % cells
    lead = vectors[np.arange(oracle.hashes), np.argmax(vectors != 0, axis=1)]
    inverse = np.argmax(field.products == 1, axis=1)
    direction = field.products[inverse[lead][:, None], vectors].astype(np.int64) @ places
    own = np.ascontiguousarray(vectors[: oracle.size].T)
    return (
        direction[sum(minus[part, part[value]] * place for part, place in zip(own, places, strict=True))]
        for value in range(oracle.size)
    )


def _seen_before(names: Codes) -> Codes:
    """For each place, how many places before it have the same name."""
    order = np.argsort(names, kind="stable")
    fresh = np.append(True, np.diff(names[order]) != 0)
    places = np.arange(names.size)
    found = np.empty_like(places)
    found[order] = places - np.maximum.accumulate(np.where(fresh, places, 0))
    return found


def _counts(size: int) -> list[int]:
    """Of the categories on the side with fewer, at each point but the last."""
    return [min(count, size - count) for count in range(1, size)]
