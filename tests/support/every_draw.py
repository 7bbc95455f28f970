"""The exact law of a sampler: it is run once for every way in which its choices can come out."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tacit.mechanisms.noise import binomial, urn


class Script:
    """Choices taken in a fixed way, and how likely that way is."""

    def __init__(self, wanted: list[int]) -> None:
        self.wanted, self.taken, self.weight = wanted, list[tuple[int, int]](), Fraction(1)

    def choose(self, options: Sequence[tuple[Any, Fraction]]) -> Any:
        place = self.wanted[len(self.taken)] if len(self.taken) < len(self.wanted) else 0
        self.taken.append((place, len(options)))
        self.weight *= options[place][1]
        return options[place][0]

    def following(self) -> list[int] | None:
        """The next way; None after the last."""
        taken = self.taken.copy()
        while taken:
            place, count = taken.pop()
            if place + 1 < count:
                return [earlier for earlier, _ in taken] + [place + 1]
        return None


def exact_law(monkeypatch: pytest.MonkeyPatch, sampler: Callable[[], Hashable]) -> dict[Hashable, Fraction]:
    """What `sampler` gives, with its exact probability, where it draws through the three primitives below."""
    law: dict[Hashable, Fraction] = {}
    wanted: list[int] | None = []
    while wanted is not None:
        script = Script(wanted)
        monkeypatch.setattr(binomial, "fair_heads", lambda coins, script=script: script.choose(_fair(coins)))
        monkeypatch.setattr(urn, "uniform_below", lambda bounds, script=script: _uniform(script, bounds))
        monkeypatch.setattr(urn, "distinct_integers", lambda below, size, script=script: _distinct(script, below, size))
        outcome = sampler()
        law[outcome] = law.get(outcome, Fraction(0)) + script.weight
        wanted = script.following()
    return law


def _fair(coins: int) -> list[tuple[int, Fraction]]:
    return [(heads, Fraction(math.comb(coins, heads), 2**coins)) for heads in range(coins + 1)]


def _uniform(script: Script, bounds: np.ndarray) -> np.ndarray:
    return np.array([script.choose([(k, Fraction(1, int(bound))) for k in range(int(bound))]) for bound in bounds], dtype=np.uint64)


def _distinct(script: Script, below: int, size: int) -> np.ndarray:
    options = list(permutations(range(below), size))
    return np.array(script.choose([(option, Fraction(1, len(options))) for option in options]), dtype=np.int64)
