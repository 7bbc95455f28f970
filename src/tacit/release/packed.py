"""Released numbers on their way from the process that answers to the one that asked: bytes that hold numbers and keys alone.

Whoever unpacks them knows the quote, so that of public groups only the numbers travel. Nothing that is unpacked is run, as pickled
objects would be: what answers is kept apart from what asks, and stays apart.
"""

from __future__ import annotations

import json
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tacit.errors import InvalidValue
from tacit.query.passes.keys import domain, size
from tacit.query.price import Quote
from tacit.release.noisy import Floats, Noisy, sized

NUMBER = 8  # bytes
KEYS = (str, int, float, type(None))  # what a key of a group can be


def packed(quote: Quote, noisy: Noisy) -> bytes:
    """The released numbers as bytes: the keys of private groups as a line of JSON, then every number."""
    keys = [list(group) for group in noisy.groups] if quote.keys else None
    return b"".join([json.dumps(keys).encode(), b"\n", *(np.ascontiguousarray(part).tobytes() for part in _arrays(quote, noisy))])


def _arrays(quote: Quote, noisy: Noisy) -> list[Floats]:
    """Every array of numbers, in the order of the quote."""
    sums = [noisy.sums[part.place][1] for part in quote.sums]
    ranks = [ends for part in quote.ranks for ends in noisy.ranks[part.call]]
    return [*sums, *ranks, *([] if noisy.units is None else [noisy.units])]


def unpacked(quote: Quote, data: bytes) -> Noisy:
    """The numbers that `packed` wrote for the same quote; `InvalidValue` for anything else."""
    line, _, numbers = data.partition(b"\n")
    try:
        groups = _groups(quote, json.loads(line))
        cells = len(groups) if quote.keys else prod(size(key) for key in quote.question.group.keys)
        arrays = iter(_split(numbers, cells, len(quote.sums) + 3 * len(quote.ranks) + bool(quote.keys)))
    except (ValueError, TypeError, RecursionError):
        raise InvalidValue("what came back is not an answer to the question") from None
    sums = {part.place: (sized(part, cells) if quote.keys else part, next(arrays)) for part in quote.sums}
    ranks = {part.call: (next(arrays), next(arrays), next(arrays)) for part in quote.ranks}
    return Noisy(groups, sums, ranks, next(arrays) if quote.keys else None)


def _groups(quote: Quote, keys: Any) -> tuple[tuple[Any, ...], ...]:
    if quote.keys is None:
        if keys is not None:
            raise ValueError("keys that are public do not travel")
        return tuple(product(*(domain(key) for key in quote.question.group.keys)))
    groups = tuple(tuple(key) for key in keys)
    expected = len(quote.question.group.keys)
    if not all(len(group) == expected and all(isinstance(value, KEYS) for value in group) for group in groups):
        raise ValueError("keys of another question")
    return groups


def _split(numbers: bytes, cells: int, count: int) -> list[Floats]:
    if len(numbers) != NUMBER * cells * count:
        raise ValueError("numbers of another question")
    whole = np.frombuffer(numbers, dtype=np.float64).copy()
    return [whole[at * cells : (at + 1) * cells] for at in range(count)]
