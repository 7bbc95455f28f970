"""Cells of a grid by their definition: every pair of values is put where it belongs, and costs what its nearest one costs."""

from fractions import Fraction

import numpy as np

APART = 16


def depth_of(low, high):
    """The longest stretches, of 2^depth points, that are 16 places apart at least; else single points."""
    depth = np.zeros_like(low)
    for trial in range(1, 62):
        far = (high >> trial) - (low >> trial) >= APART
        if not far.any():
            return depth
        depth[far] = trial
    raise AssertionError


def distance(rows, value, rank, points):
    """How far a value is from a rank if any number of rows may stand at both ends of the grid."""
    above = sum(x < value for x in rows) - rank if value > 0 else 0
    below = rank - sum(x <= value for x in rows) if value < points - 1 else 0
    return max(Fraction(0), above, below)


def cells_with_costs(points, at_low, at_high):
    """First value, last value and cost of every cell, for the cost of every value as an end."""
    low, high = np.triu_indices(points)
    depth = depth_of(low, high)
    first, last = low >> depth << depth, np.minimum((((high >> depth) + 1) << depth) - 1, points - 1)
    ends, cell = np.unique(first * points + last, return_inverse=True)
    nearest = [np.full(ends.size, np.inf) for _ in range(2)]
    for found, costs, values in zip(nearest, (at_low, at_high), (low, high), strict=True):
        np.minimum.at(found, cell, np.asarray(costs, dtype=float)[values])
    return ends // points, ends % points, np.maximum(*nearest)
