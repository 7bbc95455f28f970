"""Does a sampler draw from the law that it lists?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from decimal import Decimal
from itertools import accumulate
from typing import Any

import numpy as np

from tacit.evidence.verify.proportion import proportion_down, proportion_up
from tacit.evidence.verify.score import label_of
from tacit.privacy.law import Law

MOST_EVENTS = 60  # of each kind
ROUNDING = 1e-12  # of a sum of floats; no number of draws resolves it


def disagreement(outputs: Iterable[Any], law: Law, error: float) -> str | None:
    """Where draws disagree with a law, in words, or None; a sampler of that law is accused with probability at most `error`.

    Events are fixed by the law before the draws are seen: all outcomes that are equally likely, which cost the same, outcomes one
    by one, outcomes up to each point, and the likeliest ones together. Each is tested by the bounds of Clopper and Pearson at an
    equal share of `error`.

    >>> from decimal import Decimal
    >>> coin = Law({0: Decimal("0.25"), 1: Decimal("0.75")})
    >>> disagreement([0, 1, 1, 1] * 100, coin, 1e-6)
    >>> disagreement([0, 1] * 100, coin, 1e-6)
    'an event of probability 0.7500 came 100 times in 200 draws'
    """
    counts = Counter(label_of(output) for output in outputs)
    total = counts.total()
    unlisted = sum(count for outcome, count in counts.items() if outcome not in law.probabilities)
    missing = float(law.missing)
    if float(proportion_down(unlisted, total, error / 2)) > missing:
        return f"outputs that the law does not list came {unlisted} times in {total} draws"
    events = _events(law, counts)
    share = error / (4 * len(events))
    low, high = (bound([hits for hits, _ in events], total, share) for bound in (proportion_down, proportion_up))
    for place, (hits, weight) in enumerate(events):
        if low[place] > weight + missing + ROUNDING or high[place] < weight - ROUNDING:
            return f"an event of probability {weight:.4f} came {hits} times in {total} draws"
    return None


def _events(law: Law, counts: Counter[Hashable]) -> list[tuple[int, float]]:
    """The hits and the probability of each event."""
    likeliest = sorted(law.probabilities, key=law.probabilities.__getitem__, reverse=True)
    single = [(counts[outcome], float(law.probabilities[outcome])) for outcome in likeliest[:MOST_EVENTS]]
    return _classes(law, counts) + single + _together(likeliest, law, counts) + _together(_in_order(law), law, counts)


def _classes(law: Law, counts: Counter[Hashable]) -> list[tuple[int, float]]:
    """All outcomes of one probability together, the heaviest classes first: draws of many rare cells are compared by their cost."""
    classes: dict[Decimal, list[Hashable]] = {}
    for outcome, weight in law.probabilities.items():
        classes.setdefault(weight, []).append(outcome)
    heaviest = sorted(classes.items(), key=lambda each: each[0] * len(each[1]), reverse=True)[:MOST_EVENTS]
    return [(sum(counts[outcome] for outcome in same), float(weight * len(same))) for weight, same in heaviest]


def _together(outcomes: list[Hashable], law: Law, counts: Counter[Hashable]) -> list[tuple[int, float]]:
    """The first outcomes of a list together, for lengths whose probabilities are spread evenly."""
    hits = np.array(list(accumulate(counts[outcome] for outcome in outcomes)))
    weights = np.array(list(accumulate(float(law.probabilities[outcome]) for outcome in outcomes)))
    ends = np.unique(np.searchsorted(weights, np.linspace(0, weights[-1], MOST_EVENTS), "left"))
    return [(int(hits[end]), float(weights[end])) for end in ends if end < len(outcomes)]


def _in_order(law: Law) -> list[Hashable]:
    """The outcomes from least to largest where they can be compared, else as listed."""
    try:
        return sorted(law.probabilities)  # type: ignore[type-var]
    except TypeError:
        return list(law.probabilities)
