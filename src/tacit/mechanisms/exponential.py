"""The exponential mechanism: one of finitely many candidates, the better the likelier. Proof in exponential.md."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import calibrate
from tacit.accounting.composition import loss
from tacit.accounting.events import BoundedRangeChoice
from tacit.chart import noise_picture, save
from tacit.errors import InvalidInput, InvalidSensitivity, InvalidValue
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.noise.grid import compact
from tacit.mechanisms.unseal import opened
from tacit.privacy.law import ARITHMETIC, Law
from tacit.privacy.loss import ADD_REMOVE, Loss, Neighbours, positive_budget
from tacit.privacy.rounding import Number, as_text, exact, float_up, log_up

EXAMPLE = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Chooses candidate i with probability proportional to exp(epsilon * utility[i] / (2 * sensitivity)), exactly.

    `sensitivity` is the most that the utility of any one candidate differs between neighbours. Pure epsilon: McSherry and Talwar
    2007. The release is the index of a candidate, or the candidate itself if `candidates` are given.

    >>> mechanism = Exponential(sensitivity=1, epsilon=1, candidates=("tea", "coffee"))
    >>> {name: round(p, 4) for name, p in mechanism.law([3, 5]).probabilities.items()}
    {'tea': Decimal('0.2689'), 'coffee': Decimal('0.7311')}
    >>> print(mechanism.loss)
    pure epsilon 1 (add or remove one row)
    """

    sensitivity: Fraction
    epsilon: Fraction
    candidates: tuple[Hashable, ...] | None = None
    neighbours: Neighbours = ADD_REMOVE

    def __init__(
        self,
        sensitivity: Number,
        epsilon: Number,
        candidates: Sequence[Hashable] | None = None,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "sensitivity", positive_sensitivity(sensitivity))
        object.__setattr__(self, "epsilon", positive_budget(epsilon))
        object.__setattr__(self, "candidates", None if candidates is None else _distinct(candidates))
        object.__setattr__(self, "neighbours", neighbours)

    @classmethod
    def for_error(cls, error: Number, confidence: Number, candidates: Sequence[Hashable], sensitivity: Number) -> Exponential:
        """The least epsilon with which the chosen candidate is, with `confidence`, within `error` of the best utility.

        >>> Exponential.for_error(10, 0.95, range(20), sensitivity=1).utility_error(0.95)
        10.0
        """
        wanted = exact(error, "error")
        if wanted <= 0:
            raise InvalidInput(f"error must be a finite number above 0, not {error}; give for example error=10", argument="error")
        log = log_up(len(candidates) / calibrate.miss(confidence))
        return cls(sensitivity, 2 * positive_sensitivity(sensitivity) * log / wanted, candidates)

    @property
    def event(self) -> BoundedRangeChoice:
        """The event that the ledger records for one release."""
        return BoundedRangeChoice(self.epsilon, self.neighbours)

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return loss(self.event)

    @property
    def factor(self) -> Fraction:
        """The increase of the logarithm of a weight for one unit of utility."""
        return self.epsilon / (2 * self.sensitivity)

    def release(self, utilities: Any) -> Any:
        """One candidate (or its index) for the utilities of all: integers, `Fraction`s, or floats, which are read exactly."""
        costs = costs_of(opened(utilities), self.candidates)
        index = int(choose(np.ones(costs.size, dtype=np.int64), costs, self.factor)[0])
        return index if self.candidates is None else self.candidates[index]

    def law(self, utilities: Any) -> Law:
        """The probability of each candidate (or index)."""
        costs = costs_of(opened(utilities), self.candidates)
        names = range(costs.size) if self.candidates is None else self.candidates
        return Law(dict(zip(names, weighed([1] * costs.size, rationals(costs), self.factor), strict=True)))

    def utility_error(self, confidence: Number) -> float:
        """How far, with `confidence`, the chosen candidate's utility is below the best one, at most.

        (2 sensitivity / epsilon) ln(candidates / (1 - confidence)), rounded up (McSherry and Talwar 2007).

        >>> Exponential(sensitivity=1, epsilon=1, candidates=range(100)).utility_error(0.95)
        15.2018...
        """
        if self.candidates is None:
            raise InvalidInput("the error depends on the number of candidates; give candidates= when creating the mechanism")
        return float_up(log_up(len(self.candidates) / calibrate.miss(confidence)) / self.factor)

    def chart(self, utilities: Any = EXAMPLE, path: str | Path | None = None) -> Any:
        """The probability of each candidate for example utilities, at half, all and twice the epsilon.

        The picture of private utilities would show them: this is for public or invented ones.
        """
        curves = {}
        for epsilon in (self.epsilon / 2, self.epsilon, 2 * self.epsilon):
            law = Exponential(self.sensitivity, epsilon).law(utilities)
            curves[f"epsilon {as_text(epsilon)}"] = (
                range(len(law.probabilities)),
                [float(p) for p in law.probabilities.values()],
            )
        return save(noise_picture(curves, None, "Probability of each candidate", axes=("candidate", "probability")), path)


def positive_sensitivity(sensitivity: Number) -> Fraction:
    """A sensitivity above zero: what does not depend on the data is chosen without a mechanism."""
    number = exact(sensitivity, "sensitivity", InvalidSensitivity)
    if number <= 0:
        raise InvalidSensitivity(
            f"sensitivity must be a finite number above 0, not {sensitivity}; give for example sensitivity=1",
            argument="sensitivity",
        )
    return number


def costs_of(utilities: Any, candidates: Sequence[Hashable] | None) -> NDArray[Any]:
    """Exact costs that fall as the utilities rise, one for each candidate; only their differences have a meaning."""
    array = _exact_array(utilities)
    if array.ndim != 1 or array.size == 0 or (candidates is not None and array.size != len(candidates)):
        expected = "at least one" if candidates is None else f"exactly {len(candidates)}"
        raise InvalidValue(f"the utilities must be one flat list of {expected}, one for each candidate")
    if array.dtype.kind in "biu":
        return np.invert(array.astype(np.uint64 if array.dtype.kind == "u" else np.int64))  # -1 - utility, which cannot overflow
    return -array


def rationals(numbers: NDArray[Any]) -> list[Fraction]:
    """The numbers as they are, without rounding."""
    return [Fraction(*number.as_integer_ratio()) for number in numbers.tolist()]


def weighed(lengths: Sequence[int], costs: Sequence[Fraction], factor: Fraction) -> list[Decimal]:
    """Probabilities in proportion to length * e^(-factor * cost), to 50 digits."""
    least = min(costs)
    weights = [ARITHMETIC.multiply(length, _exp(factor * (least - cost))) for length, cost in zip(lengths, costs, strict=True)]
    total = reduce(ARITHMETIC.add, weights)
    return [ARITHMETIC.divide(weight, total) for weight in weights]


def _exp(exponent: Fraction) -> Decimal:
    return ARITHMETIC.exp(ARITHMETIC.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))


def _distinct(candidates: Sequence[Hashable]) -> tuple[Hashable, ...]:
    options = tuple(candidates)
    if not options or len(set(options)) != len(options):
        raise InvalidInput(
            "candidates must be distinct, and at least one; they are public and fixed before any data is read",
            argument="candidates",
        )
    return options


def _exact_array(utilities: Any) -> NDArray[Any]:
    """The utilities as integers, doubles or `Fraction`s, none of them rounded."""
    if isinstance(utilities, np.ma.MaskedArray):
        raise InvalidValue("masked arrays are not supported: they hide utilities; give array.filled(...)")
    array = np.asarray(utilities, dtype=None if hasattr(utilities, "__array__") else object)
    if array.dtype == object and (kinds := {type(number) for number in array.flat}) in ({int}, {float}):
        array = array.astype(float) if kinds == {float} else compact(array)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8 and np.isfinite(array).all():
        return array.astype(np.float64)
    return array if array.dtype.kind in "biu" else _fractions(array)


def _fractions(array: NDArray[Any]) -> NDArray[Any]:
    try:
        exactly = [Fraction(*map(int, number.as_integer_ratio())) for number in array.flat]
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise InvalidValue("invalid utility: every candidate requires a finite number, not NaN or Infinity") from None
    return np.array([*exactly, None], dtype=object)[:-1].reshape(array.shape)
