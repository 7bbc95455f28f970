"""A survey by randomized response, from the true share to its estimate: a mechanism with a law and intervals of its own."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import comb
from typing import Any

from tacit.accounting.events import RandomizedAnswer
from tacit.evidence.verify.claims import as_decimal
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.privacy.interval import Interval
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import Pure


@dataclass(frozen=True)
class SurveyedShare:
    """The estimated share of `people` who have a property, when each answers by randomized response.

    >>> survey = SurveyedShare(people=20, response=RandomizedResponse(epsilon=1))
    >>> print(survey.loss, len(survey.law(Fraction(1, 4)).probabilities))
    pure epsilon 1 (change one row) 21
    """

    people: int
    response: RandomizedResponse

    @property
    def event(self) -> RandomizedAnswer:
        """The event that the ledger records for one release."""
        return self.response.event

    @property
    def loss(self) -> Pure:
        """The loss that is claimed for one release, under its relation."""
        return self.response.loss

    def release(self, share: Fraction) -> float:
        """The estimate from one randomized report of each person."""
        ones = self._ones(share)
        return self.estimate(int(sum(self.response.release([1] * ones + [0] * (self.people - ones)))))

    def law(self, share: Fraction) -> Law:
        """Reports of 1 are a sum of two binomials: the ones that were kept and the zeros that were flipped."""
        ones, flip = self._ones(share), self.response.flip
        kept, flipped = _binomial(ones, 1 - flip), _binomial(self.people - ones, flip)
        listed: dict[Any, Decimal] = {}
        for first, weight in enumerate(kept):
            for second, other in enumerate(flipped):
                estimate = self.estimate(first + second)
                listed[estimate] = ARITHMETIC.fma(weight, other, listed.get(estimate, Decimal(0)))
        return Law(listed)

    def interval(self, confidence: float) -> Interval:
        """The interval of the share at a confidence."""
        return self.response.error(self.people, confidence)

    def estimate(self, reported: int) -> float:
        """The mechanism's own estimate from the number of reports of 1."""
        return self.response.estimate([1] * reported + [0] * (self.people - reported))

    def _ones(self, share: Fraction) -> int:
        return int(share * self.people)


def _binomial(trials: int, chance: Fraction) -> list[Decimal]:
    return [as_decimal(comb(trials, k) * chance**k * (1 - chance) ** (trials - k)) for k in range(trials + 1)]
