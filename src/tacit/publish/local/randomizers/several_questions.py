"""Several questions under one epsilon: a part of it for each, or all of it for one that is drawn. Proof in several_questions.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.noise import choice
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number
from tacit.publish.local.randomizers.randomizer import Channel, Coins, LocalMechanism, Randomizer, check_cells

Makers = Sequence[Callable[[Fraction], Randomizer]]


@dataclass(frozen=True)
class Questions(LocalMechanism):
    """The common part of both forms: a randomizer for each question, and answers that are tuples."""

    parts: tuple[Randomizer, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidInput("at least one question is required; give a randomizer for each")

    def written(self, value: Sequence[Any]) -> str:
        """The texts of all parts, with semicolons between them."""
        _one_each(value, self.parts)
        return ";".join(part.written(each) for part, each in zip(self.parts, value, strict=True))

    def input_of(self, value: Sequence[Any]) -> tuple[Any, ...]:
        """The input of each part."""
        _one_each(value, self.parts)
        return tuple(part.input_of(each) for part, each in zip(self.parts, value, strict=True))


@dataclass(frozen=True)
class Split(Questions):
    """All questions are answered, each by its own randomizer; the epsilons add up (basic composition).

    >>> from tacit.publish.local.randomizers.categories import Binary, KAry
    >>> both = Split.evenly([Binary, lambda epsilon: KAry(3, epsilon)], epsilon=1)
    >>> both.epsilon, [str(part.epsilon) for part in both.parts], both.channel.within(1)
    (Fraction(1, 1), ['1/2', '1/2'], True)
    """

    @classmethod
    def evenly(cls, makers: Makers, epsilon: Number) -> Split:
        """The same part of epsilon for every question; `makers` make a randomizer for an epsilon."""
        return cls(tuple(make(positive_budget(epsilon) / len(makers)) for make in makers))

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        """The sum of the epsilons of all questions."""
        return sum((part.epsilon for part in self.parts), start=Fraction(0))

    def randomize(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The reports to all questions, in their order; `values` holds one person's answers, or one column for each question."""
        _one_each(values, self.parts)
        return tuple(part.randomize(value) for part, value in zip(self.parts, values, strict=True))

    def derive(self, value: Sequence[Any], coins: Coins) -> tuple[Any, ...]:
        """The questions in their order, each through its own `derive`."""
        _one_each(value, self.parts)
        return tuple(part.derive(each, coins) for part, each in zip(self.parts, value, strict=True))

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        channels = [part.channel for part in self.parts]
        inputs = list(product(*(each.inputs for each in channels)))
        outputs = list(product(*(each.outputs for each in channels)))
        check_cells(len(inputs), len(outputs))
        rows = [product(*(each.row(value) for each, value in zip(channels, values, strict=True))) for values in inputs]
        return Channel(tuple(inputs), tuple(outputs), tuple(tuple(prod(cell, start=Fraction(1)) for cell in row) for row in rows))


@dataclass(frozen=True)
class Sampled(Questions):
    """One question is drawn, each as likely as the others, and answered with the whole epsilon; which one is part of the report.

    >>> from tacit.publish.local.randomizers.categories import Binary, KAry
    >>> one = Sampled.evenly([Binary, lambda epsilon: KAry(3, epsilon)], epsilon=1)
    >>> one.epsilon, [str(part.epsilon) for part in one.parts], one.channel.within(1)
    (Fraction(1, 1), ['1', '1'], True)
    """

    @classmethod
    def evenly(cls, makers: Makers, epsilon: Number) -> Sampled:
        """The whole epsilon for every question; `makers` make a randomizer for an epsilon."""
        return cls(tuple(make(positive_budget(epsilon)) for make in makers))

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        """The largest epsilon of a question."""
        return max(part.epsilon for part in self.parts)

    def randomize(self, values: Sequence[Any]) -> tuple[int, Any]:
        """For one person's answers: the number of the question that was drawn, and the report to it."""
        _one_each(values, self.parts)
        drawn = int(choice.uniform_integer(len(self.parts)))
        return drawn, self.parts[drawn].randomize(values[drawn])

    def randomize_columns(self, columns: Sequence[Any]) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
        """For many people, one column of answers for each question: which question each person drew, and for each question the
        reports of those who drew it, in their order.
        """
        _one_each(columns, self.parts)
        arrays = [_column(column) for column in columns]
        if len({len(array) for array in arrays}) != 1:
            raise InvalidValue("the columns of answers must have equal length; give one answer per person to each question")
        drawn = uniform_integers(len(self.parts), len(arrays[0]))
        reports = [part.randomize(array[drawn == at]) for at, (part, array) in enumerate(zip(self.parts, arrays, strict=True))]
        return drawn, tuple(reports)

    def derive(self, value: Sequence[Any], coins: Coins) -> tuple[int, Any]:
        """A number below that of the questions, then the `derive` of the one drawn."""
        _one_each(value, self.parts)
        drawn = coins.below(len(self.parts))
        return drawn, self.parts[drawn].derive(value[drawn], coins)

    @cached_property
    def channel(self) -> Channel:
        """The exact probability of every report, for every answer."""
        channels = [part.channel for part in self.parts]
        inputs = list(product(*(each.inputs for each in channels)))
        outputs = [(at, report) for at, each in enumerate(channels) for report in each.outputs]
        check_cells(len(inputs), len(outputs))
        rows = [
            tuple(p / len(channels) for each, v in zip(channels, values, strict=True) for p in each.row(v)) for values in inputs
        ]
        return Channel(tuple(inputs), tuple(outputs), tuple(rows))


def _one_each(values: Any, parts: tuple[Randomizer, ...]) -> None:
    unsized = not isinstance(values, Sized) or (isinstance(values, np.ndarray) and not values.ndim)
    if unsized or len(values) != len(parts):
        raise InvalidValue(f"expected {len(parts)} answers (or columns of answers), exactly one per question")


def _column(answers: Any) -> NDArray[Any]:
    """One answer in each place; sets stay sets, where NumPy would make a matrix of those of one size."""
    if not hasattr(answers, "__array__") and any(isinstance(answer, Iterable) for answer in answers):
        return np.fromiter(answers, dtype=object, count=len(answers))
    return np.asarray(answers)
