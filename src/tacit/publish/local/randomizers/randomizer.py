"""The interface of a randomizer, which runs on the person's device: only its report leaves the device.

A `Randomizer` is a frozen value. Its `epsilon` is the requested one; its probabilities are rationals chosen so that the ratio of
any output's probabilities under any two answers is at most e^epsilon, exactly. A `FrequencyOracle` is one from whose reports
the shares of `size` categories can be estimated: Wang, Blocki, Li and Jha 2017 call its two constants p* and q*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import RandomizedAnswer
from tacit.errors import InvalidBudget, InvalidInput, InvalidValue
from tacit.mechanisms.additive import decimal
from tacit.mechanisms.noise import grid
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import Law
from tacit.privacy.loss import CHANGE_ONE, Pure
from tacit.privacy.rounding import DIGITS, Number, as_text, exact, exp_down, log_up

MOST_CELLS = 1 << 18


@dataclass(frozen=True, slots=True)
class Channel:
    """A matrix of probabilities, answers by reports; each row sums to one.

    >>> coin = Channel(("no", "yes"), (0, 1), ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))))
    >>> coin.worst_ratio, coin.within(1), coin.within("1.1")
    (Fraction(3, 1), False, True)
    """

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        shape = len(self.rows) == len(self.inputs) and all(len(row) == len(self.outputs) for row in self.rows)
        if not shape or not self.inputs or len(set(self.outputs)) != len(self.outputs):
            raise InvalidInput("a channel requires one row for each input, with one probability for each distinct output")
        if any(sum(row) != 1 or min(row) < 0 for row in self.rows):
            raise InvalidInput("the probabilities in every row of a channel must sum to 1")

    @classmethod
    def of(
        cls,
        inputs: Iterable[Hashable],
        outputs: Iterable[Hashable],
        probability: Callable[[Hashable, Hashable], Fraction],
    ) -> Channel:
        """The channel with `probability(input, output)` in its cells; refused where the cells are too many to be listed."""
        answers, reports = tuple(inputs), tuple(outputs)
        check_cells(len(answers), len(reports))
        return cls(answers, reports, tuple(tuple(probability(value, report) for report in reports) for value in answers))

    @property
    def worst_ratio(self) -> Fraction | None:
        """The largest ratio of two probabilities of one output; None where it is infinite."""
        worst = Fraction(1)
        for column in zip(*self.rows, strict=True):
            if max(column) > 0:
                if min(column) == 0:
                    return None
                worst = max(worst, max(column) / min(column))
        return worst

    @property
    def epsilon(self) -> Fraction:
        """The logarithm of the worst ratio, rounded up."""
        worst = self.worst_ratio
        if worst is None:
            raise InvalidInput("the channel has an infinite epsilon: some output cannot come from every input")
        return log_up(worst) if worst > 1 else Fraction(0)

    def within(self, epsilon: Number) -> bool:
        """Whether every ratio is at most a rational that is itself at or below e^epsilon.

        It is computed with twice the digits with which randomizers are made, to be above theirs.
        """
        worst = self.worst_ratio
        return worst is not None and worst <= exp_down(exact(epsilon, "epsilon"), 2 * DIGITS)

    def law(self, value: Hashable) -> Law:
        """The row of one answer."""
        if value not in self.inputs:
            raise InvalidValue(f"the channel has {len(self.inputs)} inputs, and the value is not one of them")
        return Law({report: decimal(p) for report, p in zip(self.outputs, self.row(value), strict=True)})

    def row(self, value: Hashable) -> Sequence[Fraction]:
        """The exact probabilities of one answer, in the order of `outputs`."""
        return self.rows[self.inputs.index(value)]

    def __str__(self) -> str:
        return f"{len(self.inputs)} answers by {len(self.outputs)} reports, epsilon {as_text(self.epsilon)}"


def check_cells(inputs: int, outputs: int) -> None:
    """Raises if a channel is too large to be listed."""
    if inputs * outputs > MOST_CELLS:
        raise InvalidInput(
            f"a channel of {inputs} answers by {outputs} reports is too large to list; use a randomizer with a smaller size"
        )


# --- the interface of a randomizer -------------------------------------------------------------------------------------------


Codes = NDArray[np.int64]
LARGEST_SIZE = 2**40
MOST_COUNTED = 1 << 27  # numbers in the table from which all categories are tallied: a gigabyte
LARGEST_EPSILON = 100  # a lie in e^100 reports is none


class Chance(Protocol):
    """A probability: a `Fraction`, or a `Ratio`."""

    @property
    def numerator(self) -> int:
        """The number above the line."""

    @property
    def denominator(self) -> int:
        """The number below the line."""


class Ratio(NamedTuple):
    """A probability that is not brought to lowest terms, which takes a second for numbers of 600,000 binary digits."""

    numerator: int
    denominator: int


@runtime_checkable
class Coins(Protocol):
    """The source of chances for a single report: fresh secure bits, or a stream derived from a secret (`longitudinal.py`)."""

    def coin(self, probability: Chance) -> bool:
        """True with exactly `probability`."""

    def below(self, bound: int) -> int:
        """One of 0, 1, ..., bound - 1, all equally likely."""


class Randomizer(Protocol):  # not runtime_checkable: before Python 3.12 such a check would list the channel
    """The client side; also a mechanism of chapter 3, whose `release` is `randomize`."""

    @property
    def epsilon(self) -> Fraction:
        """The claim: no output is more than e^epsilon times as likely under one answer as under another."""

    def randomize(self, values: Any) -> Any:
        """One report for each value, or one for a single value."""

    def derive(self, value: Any, coins: Coins) -> Any:
        """One report of the same law, its chances taken from `coins`: the memoized form, and the one that a browser repeats."""

    def written(self, value: Any) -> str:
        """The true value as it stands in the label of its permanent answer (`longitudinal.py`)."""

    def input_of(self, value: Any) -> Any:
        """The true value as an input of the channel: a code, the place of a number on its grid, a set as a sorted tuple."""

    def law(self, value: Any) -> Law:
        """The law of one report."""

    @property
    def channel(self) -> Channel:
        """The exact matrix of probabilities, where it is small enough to be written down."""


class FrequencyOracle(Randomizer, Protocol):
    """Reports that support categories: from how often each is supported, its share follows."""

    @property
    def size(self) -> int:
        """The number of categories; values are their codes 0, 1, ..., size - 1."""

    @property
    def hit(self) -> Fraction:
        """The probability that a report supports the true value."""

    @property
    def false_hit(self) -> Fraction:
        """The probability that a report supports a given value that is not the true one; the same for all pairs."""

    def supports(self, reports: Any) -> NDArray[np.int64]:
        """For each category the number of reports that support it; additive over batches."""


class LocalMechanism(ABC):
    """The common part of all randomizers: the event, the loss and `release`, from `epsilon` and `randomize`."""

    epsilon: Fraction

    @property
    def event(self) -> RandomizedAnswer:
        """The event that the ledger records for one release."""
        return RandomizedAnswer(self.epsilon, CHANGE_ONE)

    @property
    def loss(self) -> Pure:
        """The loss that is claimed for one release, under its relation."""
        return Pure(self.epsilon, CHANGE_ONE)

    def release(self, value: Any) -> Any:
        """The same as `randomize`, for a value that may be sealed."""
        return self.randomize(opened(value))

    @abstractmethod
    def randomize(self, values: Any) -> Any:
        """One report for each value, or one for a single value."""

    def written(self, value: Any) -> str:
        """The code in decimal."""
        if not isinstance(value, int | np.integer):
            raise InvalidValue("the value of a permanent answer must be its code, a whole number")
        return str(int(value))

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The exact matrix of probabilities."""

    def input_of(self, value: Any) -> Any:
        """The value as an input of the channel: itself."""
        return value

    def law(self, value: Any) -> Law:
        """The law of one report, from the channel."""
        return self.channel.law(self.input_of(opened(value)))


def ratio_within(epsilon: Fraction) -> Fraction:
    """A rational above 1 and at or below e^epsilon, on which the probabilities of a randomizer are built.

    >>> ratio_within(Fraction(1)) < 2.718281828459046
    True
    """
    ratio = exp_down(epsilon) if epsilon <= LARGEST_EPSILON else Fraction(0)
    if ratio <= 1:
        raise InvalidBudget(f"epsilon for a randomized answer must be from 1e-50 to {LARGEST_EPSILON}, not {as_text(epsilon)}")
    return ratio


def read_size(size: int, least: int = 2) -> int:
    """A number of categories."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not least <= size <= LARGEST_SIZE:
        raise InvalidInput(f"size, the number of categories, must be a whole number from {least} to 2^40, not {size!r}")
    return int(size)


def read_codes(values: Any, size: int) -> tuple[Codes, bool]:
    """The codes as a flat array, and whether one alone was given; raises for a value that is not a code, without quoting it.

    >>> read_codes([0, 2, 1], size=3), read_codes(2, size=3)
    ((array([0, 2, 1]), False), (array([2]), True))
    """
    several = grid.is_array(values)
    array = grid.read_array(values if several else [values])
    if array.ndim != 1:
        raise InvalidValue("the values must be one flat list of codes, one for each person")
    if array.dtype.kind not in "biu" and array.size:
        raise InvalidValue(f"the values must be codes, whole numbers from 0 to {size - 1}")
    if array.size and not (array.min() >= 0 and array.max() < size):
        raise InvalidValue(f"the values must be codes from 0 to {size - 1}")
    return array.astype(np.int64, copy=False), not several


def read_code(value: Any, size: int) -> int:
    """The code of one category, for a permanent answer.

    >>> read_code(np.int8(2), size=3)
    2
    """
    codes, alone = read_codes(value, size)
    if not alone:
        raise InvalidValue("expected the code of one person; give a single code, not a list")
    return int(codes[0])


def read_reports(reports: Any, outputs: int) -> Codes:
    """Reports that are whole numbers below `outputs`, as a flat array."""
    array = np.atleast_1d(report_array(reports))
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "biu" or not (array.min() >= 0 and array.max() < outputs):
        raise InvalidValue(f"the reports must be one flat list of whole numbers from 0 to {outputs - 1}")
    return array.astype(np.int64, copy=False)


def report_array(reports: Any) -> NDArray[Any]:
    """Reports as an array, of any content."""
    try:
        return np.asarray(reports)
    except ValueError:
        raise InvalidValue("the reports must have equal length; count those of another randomizer separately") from None


def one_or_all(reports: NDArray[Any], alone: bool) -> Any:
    """The reports, or the one report as a plain number."""
    return reports[0].item() if alone else reports
