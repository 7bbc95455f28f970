"""Every outcome of a tiny survey with its exact probability, from the randomizer's channel."""

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np


def supports_of_outputs(oracle):
    """For each possible report, which categories it supports."""
    outputs = oracle.channel.outputs
    return {report: [int(n) for n in oracle.supports([report])] for report in outputs}


def surveys(oracle, values):
    """(probability, supports) of every tally that people with these values can make: every combination of their reports."""
    channel, supported = oracle.channel, supports_of_outputs(oracle)
    tallies = {(0,) * oracle.size: Fraction(1)}
    for row in (channel.row(value) for value in values):
        one_more = defaultdict(Fraction)
        for (counts, weight), (report, chance) in product(tallies.items(), zip(channel.outputs, row, strict=True)):
            one_more[tuple(a + b for a, b in zip(counts, supported[report], strict=True))] += weight * chance
        tallies = one_more
    return [(weight, np.array(counts)) for counts, weight in tallies.items()]


def moments(weighted):
    """The exact mean and variance of (probability, number) pairs."""
    pairs = [(Fraction(weight), Fraction(number)) for weight, number in weighted]
    mean = sum((weight * number for weight, number in pairs), start=Fraction(0))
    return mean, sum((weight * (number - mean) ** 2 for weight, number in pairs), start=Fraction(0))
