"""One of k categories, kept or replaced by another one: k-ary randomized response, and the binary case. Proof in categories.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.mechanisms.noise import choice
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, as_text, log_up
from tacit.publish.local.randomizers.randomizer import (
    MOST_COUNTED,
    Channel,
    Coins,
    LocalMechanism,
    one_or_all,
    ratio_within,
    read_code,
    read_codes,
    read_reports,
    read_size,
)


@dataclass(frozen=True, init=False)
class KAry(LocalMechanism):
    """Reports the true one of `size` categories with probability E/(E + size - 1), each other one with 1/(E + size - 1).

    E is a rational at or below e^epsilon, so that the only ratio above one is E (Kairouz, Oh and Viswanath 2016).

    >>> response = KAry(size=4, epsilon=1)
    >>> round(float(response.hit), 4), round(float(response.false_hit), 4), response.channel.within(1)
    (0.4754, 0.1749, True)
    >>> response.supports([0, 3, 3, 1])
    array([1, 1, 0, 2])
    """

    size: int
    epsilon: Fraction
    hit: Fraction = field(repr=False)
    false_hit: Fraction = field(repr=False)

    def __init__(self, size: int, epsilon: Number) -> None:
        self._set(read_size(size), positive_budget(epsilon), ratio_within(positive_budget(epsilon)))

    @classmethod
    def with_ratio(cls, size: int, ratio: Fraction) -> KAry:
        """The true category is exactly `ratio` > 1 times as likely as another; epsilon is the logarithm of it, rounded up."""
        if ratio <= 1:
            raise InvalidInput(
                f"with a ratio of {as_text(ratio)} the reports contain no information about the answers; give a ratio above 1"
            )
        made = object.__new__(cls)
        made._set(read_size(size), log_up(ratio), ratio)
        return made

    def _set(self, size: int, epsilon: Fraction, ratio: Fraction) -> None:
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "hit", ratio / (ratio + size - 1))
        object.__setattr__(self, "false_hit", 1 / (ratio + size - 1))

    def randomize(self, values: Any) -> Any:
        """The reported codes: an int64 array, or an integer for one value."""
        truth, alone = read_codes(values, self.size)
        kept = choice.bernoulli(self.hit, truth.size)
        others = uniform_integers(self.size - 1, truth.size)
        others += others >= truth
        return one_or_all(np.where(kept, truth, others), alone)

    def derive(self, value: int, coins: Coins) -> int:
        """A coin of probability `hit` keeps the value; else a number below size - 1, plus one from the value on."""
        truth = read_code(value, self.size)
        if coins.coin(self.hit):
            return truth
        other = coins.below(self.size - 1)
        return other + (other >= truth)

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        codes = range(self.size)
        return Channel.of(codes, codes, lambda value, report: self.hit if value == report else self.false_hit)

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """How many reports name each category."""
        if self.size > MOST_COUNTED:
            raise InvalidInput(f"{self.size} categories are too many to tally at once; find the frequent ones with a prefix tree")
        return np.bincount(read_reports(reports, self.size), minlength=self.size)


@dataclass(frozen=True, init=False)
class Binary(LocalMechanism):
    """A yes or a no (1 or 0), flipped with probability `flip`: `mechanisms.RandomizedResponse` seen as two categories.

    >>> answer = Binary.with_flip("1/4")
    >>> answer.flip, answer.hit, float(answer.epsilon)
    (Fraction(1, 4), Fraction(3, 4), 1.0986122886681098)
    """

    response: RandomizedResponse
    pair: KAry = field(repr=False)

    def __init__(self, epsilon: Number) -> None:
        ratio_within(positive_budget(epsilon))
        self._wrap(RandomizedResponse(epsilon))

    @classmethod
    def with_flip(cls, flip: Number) -> Binary:
        """Flips with exactly this probability, above 0 and below 1/2; epsilon is ln((1 - flip)/flip), rounded up."""
        made, response = object.__new__(cls), RandomizedResponse.with_flip(flip)
        if response.flip == Fraction(1, 2):
            raise InvalidInput(
                "flip must be below 1/2: at 1/2 the reports contain no information; give for example flip=1/4", argument="flip"
            )
        made._wrap(response)
        return made

    def _wrap(self, response: RandomizedResponse) -> None:
        object.__setattr__(self, "response", response)
        object.__setattr__(self, "pair", KAry.with_ratio(2, (1 - response.flip) / response.flip))

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        """The privacy loss of one report."""
        return self.response.epsilon

    @property
    def flip(self) -> Fraction:
        """The probability of a lie."""
        return self.response.flip

    @property
    def size(self) -> int:
        """2: a no and a yes."""
        return 2

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports the true category."""
        return 1 - self.flip

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports another given category."""
        return self.flip

    def randomize(self, values: Any) -> Any:
        """The reports of `RandomizedResponse`: an int8 array of bits, or 0 or 1 for one value."""
        truth, alone = read_codes(values, 2)
        return self.response.release(int(truth[0]) if alone else truth) if truth.size else truth.astype(np.int8)

    def derive(self, value: int, coins: Coins) -> int:
        """A coin of probability 1 - `flip` keeps the value; else it is the other one."""
        truth = read_code(value, 2)
        return truth if coins.coin(self.hit) else 1 - truth

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        return self.pair.channel

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """How many reports say no, and how many say yes."""
        return self.pair.supports(reports)
