"""How far the exact answers of two neighbours are apart, group by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.tree.quantiles import FromTree
from tacit.query.price.quote import Rank
from tacit.query.question import Question, domain, private
from worlds import World


def by_group(question: Question, made: World) -> list[dict[Any, Any]]:
    """For every moment the exact answer of each group that is there."""
    found = made.exact(question)
    keys = found.pop() if private(question) else list(product(*(domain(key) for key in question.group.keys)))
    return [dict(zip(keys, moment, strict=True)) for moment in found]


def moved(one: Any, other: Any) -> int:
    """How far one group's answer moved; for a list, how many rows came or went."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        before, after = (Counter(counted(side)) for side in (one, other))
        return sum(((before - after) + (after - before)).values())
    return abs(int(one) - int(other))


def counted(side: Any) -> Mapping[int, int]:
    return dict(zip(side[0].tolist(), side[1].tolist(), strict=True)) if isinstance(side, tuple) else {}


def most_rows(rank: Rank) -> int:
    """How many rows one unit may add to the lists of all groups, by what the mechanism was told."""
    mechanism = rank.mechanism
    if isinstance(mechanism, FromTree):
        return mechanism.tree.max_rows
    return mechanism.max_rows * (rank.rows if isinstance(mechanism, SmoothQuantile) else 1)
