"""The two ends of randomized response: p = 0, where every report is the answer, and p = 1/2, where it is a fair coin.

The first example of a lecture (Ziani). Neither is a way to ask people: the one protects nobody, the other tells nothing. They are
here to be looked at, in simulations; `RandomizedResponse` and `Binary` refuse them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import choice
from tacit.mechanisms.randomized_response import posterior
from tacit.privacy.rounding import Number, exact

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class End:
    """Reports of bits that are flipped with probability 0 or 1/2.

    >>> End(0).epsilon, End("1/2").epsilon, End(0).estimate([1, 0, 0, 0]), End("1/2").estimate([1, 0, 0, 0])
    (inf, 0.0, 0.25, None)
    """

    flip: Fraction

    def __init__(self, flip: Number) -> None:
        object.__setattr__(self, "flip", exact(flip, "flip"))
        if self.flip not in (0, HALF):
            raise InvalidInput(f"flip must be 0 or 1/2, not {flip}")

    @property
    def epsilon(self) -> float:
        """ln((1 - flip) / flip): infinite, or 0."""
        return inf if self.flip == 0 else 0.0

    @property
    def meaning(self) -> str:
        """What that is, in words."""
        return "no privacy: every report is the answer" if self.flip == 0 else "perfect privacy: every report is a fair coin"

    def randomize(self, bits: Any) -> Any:
        """The reports."""
        truth = np.asarray(bits).astype(np.int64)
        return truth if self.flip == 0 else truth ^ choice.bernoulli(HALF, truth.size).reshape(truth.shape)

    def estimate(self, reports: Any) -> float | None:
        """The share of ones among the answers: exactly, or not at all, since all shares give the same reports."""
        return float(np.mean(reports)) if self.flip == 0 else None

    def posterior(self, prior: Number, report: int) -> Fraction | None:
        """The belief in a one after a report, given `prior` before; None for a report that cannot occur.

        >>> End("1/2").posterior("0.3", 1), End(0).posterior("0.3", 1), End(0).posterior(0, 1)
        (Fraction(3, 10), Fraction(1, 1), None)
        """
        believed = exact(prior, "prior")
        return None if self.flip == 0 and believed == 1 - report else posterior(self.flip, believed, report)
