"""Running totals: the weights of the measurements from their definition, and how far one unit moves them. mechanisms/running.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit_certificate.document import Node, Wrong, refuse, whole
from tacit_certificate.stability import Sensitivity

MOST_PERIODS, MOST_BITS = 400, 20


def weights(periods: int, bits: int) -> list[list[int]]:
    """Column by column, from its own period on: C(2j, j) / 4^j over their length, in units of 2^-bits, rounded half up."""
    root, squares, lengths = 1 << 128, list[int](), list[int]()
    for at in range(periods):
        root = root * (2 * at - 1) // (2 * at) if at else root
        squares.append(root * root)
        lengths.append(squares[at] + (lengths[-1] if at else 0))
    columns = []
    for column in range(periods):
        longest = periods - column
        columns.append([(math.isqrt((square << (2 * bits + 2)) // lengths[longest - 1]) + 1) // 2 for square in squares[:longest]])
    return columns


def square_moved(periods: int, total: int, largest: int, bits: int) -> int:
    """At or above the squared length by which the measurements move: total times the largest entry that G|d| can have."""
    columns = weights(periods, bits)
    if largest >= total:
        return total**2 * max(sum(each * each for each in column) for column in columns)
    most = 0
    for one in range(periods):
        row = sorted((_product(columns[min(one, two)], columns[max(one, two)]) for two in range(periods)), reverse=True)
        left, added = total, 0
        for entry in row:
            moved = min(left, largest)
            added, left = added + moved * entry, left - moved
        most = max(most, added)
    return total * most


def _product(longer: Sequence[int], shorter: Sequence[int]) -> int:
    return sum(map(int.__mul__, longer[len(longer) - len(shorter) :], shorter))


def series_moved(node: Node, sizes: Sequence[int], moved: Sensitivity) -> int:
    """At or above the squared length by which one unit moves the measurements of a series, over all its periods together."""
    shape, bits = [whole({"size": each}, "size", 1) for each in node["shape"]], whole(node, "bits", 1)
    refuse(len(shape) != 3 or not 1 <= shape[1] <= MOST_PERIODS or bits > MOST_BITS, "a series has at most 400 periods")
    refuse(math.prod(shape) != math.prod(sizes) or whole(node, "dimension", 1) != math.prod(shape), "a series for other cells")
    if (whole(node, "total", 0), whole(node, "largest", 0)) != (moved.l1, moved.largest):
        raise Wrong(f"one unit moves the periods by {moved.l1} together, one by {moved.largest}; the noise is for other moves")
    return square_moved(shape[1], moved.l1, moved.largest, bits)
