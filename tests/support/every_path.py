"""The exact law of code that tosses coins: every way that the coins can fall is run once, and its probability kept as a rational.

`law_of_derive` runs a randomizer's `derive`; `law_of_randomize` runs its `randomize` with the samplers replaced by the same coins;
`exact_law` runs a sampler that draws fair coins, integers below bounds, and different integers.

`tacit.evidence.verify.driving` does the same for `tacit verify`, to 50 digits and without the rarest ways: it has samplers whose
probabilities are not rational. Here laws are compared by equality.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np

from tacit.evidence.verify.score import label_of
from tacit.mechanisms.noise import choice, urn
from tacit.publish.local.randomizers import categories, hadamard, hashing, numeric, rappor, sets, unary
from tacit.publish.local.randomizers import several_questions as several

MODULES = (rappor, categories, hadamard, hashing, numeric, numeric, several, sets)


class Walker:
    """Coins that follow a given way, and the first of all ways from there on."""

    def __init__(self, given):
        self.given, self.taken, self.choices, self.weight = given, [], [], Fraction(1)

    def coin(self, chance):
        probability = Fraction(chance.numerator, chance.denominator)
        return self.among([(value, p) for value, p in ((True, probability), (False, 1 - probability)) if p])

    def among(self, ways):
        value, p = ways[self._next(len(ways))]
        self.weight *= p
        return value

    def below(self, bound):
        self.weight /= bound
        return self._next(bound)

    def _next(self, ways):
        place = len(self.taken)
        self.taken.append(self.given[place] if place < len(self.given) else 0)
        self.choices.append(ways)
        return self.taken[-1]


def law_of(run):
    """The probability of everything that `run(coins)` can return."""
    law, waiting = defaultdict(Fraction), [()]
    while waiting:
        given = waiting.pop()
        walker = Walker(given)
        law[label_of(run(walker))] += walker.weight
        for place in range(len(given), len(walker.taken)):
            waiting += [(*walker.taken[:place], way) for way in range(1, walker.choices[place])]
    assert sum(law.values()) == 1
    return dict(law)


def law_of_derive(randomizer, value):
    return law_of(lambda coins: randomizer.derive(value, coins))


def law_of_randomize(randomizer, value, monkeypatch):
    """`randomize(value)` with every sampler that it calls for one person replaced."""

    def run(coins):
        def bernoulli(probability, size):
            return np.array([coins.coin(probability) for _ in range(size)], dtype=np.bool_)

        def uniform_integers(below, size):
            return np.array([coins.below(below) for _ in range(size)], dtype=np.int64)

        def noise_bits(probability, rows, size):
            return unary.pack([[coins.coin(probability) for _ in range(size)] for _ in range(rows)])

        with monkeypatch.context() as patch:
            patch.setattr(choice, "bernoulli", bernoulli)
            patch.setattr(choice, "uniform_integer", coins.below)
            for module in MODULES:
                if hasattr(module, "uniform_integers"):
                    patch.setattr(module, "uniform_integers", uniform_integers)
            for module in (unary, rappor, rappor):
                patch.setattr(module, "noise_bits", noise_bits)
            return randomizer.randomize(value)

    return law_of(run)


def exact_law(sampler, monkeypatch):
    """`sampler()` with the draws of the binomial and of the urn replaced."""

    def run(coins):
        def fair_heads(tossed):
            return coins.among([(heads, Fraction(comb(tossed, heads), 2**tossed)) for heads in range(tossed + 1)])

        def uniform_below(bounds):
            return np.array([coins.below(int(bound)) for bound in bounds], dtype=np.uint64)

        def distinct_integers(below, size):
            orders = list(permutations(range(below), size))
            return np.array(orders[coins.below(len(orders))], dtype=np.int64)

        with monkeypatch.context() as patch:
            patch.setattr(urn, "fair_heads", fair_heads)
            patch.setattr(urn, "uniform_below", uniform_below)
            patch.setattr(urn, "distinct_integers", distinct_integers)
            return sampler()

    return law_of(run)


def row(randomizer, value):
    """The row of the channel, without what cannot happen."""
    channel = randomizer.channel
    return {report: p for report, p in zip(channel.outputs, channel.row(value), strict=True) if p}
