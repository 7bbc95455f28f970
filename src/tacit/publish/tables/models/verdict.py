"""The result of a checker: whether a model holds, the figure of the worst group, and how much fails."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.privacy.rounding import Number, as_text, exact
from tacit.publish.tables.models.counts import Counts
from tacit.publish.tables.models.rows import Rows


@dataclass(frozen=True, slots=True)
class Figure:
    """The figure of the worst group, and the strictest parameters that hold, in words.

    `worst` is exact where it is rational. A logarithm or a root is rounded to the side that promises less.
    """

    worst: Fraction | float
    holds: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether every group satisfies a model. No such model is differentially private."""

    model: str
    requires: str
    passes: bool
    figure: Figure
    groups: int
    failing_groups: int
    rows: int
    failing_rows: int
    column: str = ""

    @property
    def differentially_private(self) -> bool:
        """Never: a deterministic release is not."""
        return False

    def __str__(self) -> str:
        where = f" of {self.column}" if self.column else ""
        said = self.figure.holds
        if not self.passes:
            failing = f"{self.failing_groups:,} of {self.groups:,} groups, {self.failing_rows:,} of {self.rows:,} rows"
            said = f"{said}; failing: {failing}"
        return f"{self.model}{where}, {self.requires}: {'passes' if self.passes else 'fails'} ({said})"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: figures as exact texts, or as `infinity`."""
        worst = self.figure.worst
        return {
            "model": self.model,
            "column": self.column or None,
            "requires": self.requires,
            "passes": self.passes,
            "worst": "infinity" if worst == math.inf else str(worst),
            "holds": self.figure.holds,
            "groups": self.groups,
            "failing_groups": self.failing_groups,
            "rows": self.rows,
            "failing_rows": self.failing_rows,
            "differentially_private": False,
        }


class SensitiveModel(ABC):
    """A model of the sensitive values in each group: the groups that fail, and the figure of the worst of them."""

    name: ClassVar[str]

    @property
    def title(self) -> str:
        """The name of the model, with its variant if it has any."""
        return self.name

    @property
    @abstractmethod
    def requires(self) -> str:
        """The requirement, in words."""

    @abstractmethod
    def fails(self, counts: Counts) -> NDArray[np.bool_]:
        """Which groups do not satisfy the model, exactly."""

    @abstractmethod
    def figure(self, counts: Counts) -> Figure:
        """The figure of the worst group."""

    def on(self, counts: Counts) -> Verdict:
        """The verdict on the counts of one sensitive column."""
        failing = self.fails(counts)
        lost = int(counts.sizes[failing].sum())
        number = len(counts.sizes), int(failing.sum()), int(counts.sizes.sum()), lost
        return Verdict(self.title, self.requires, not failing.any(), self.figure(counts), *number, counts.name)

    def check(self, rows: Rows, strict: bool = True) -> tuple[Verdict, ...]:
        """A verdict for each sensitive column; with `strict`, the other ones count as quasi-identifiers."""
        if not rows.sensitive:
            raise InvalidInput(f"{self.name} needs a sensitive column; give for example sensitive=income", argument="sensitive")
        return tuple(self.on(rows.counts(name, strict)) for name in rows.sensitive)


def parameter(number: Number, name: str, low: Fraction | int, high: Fraction | int | None = None) -> Fraction:
    """A parameter of a model as the rational that was written, within its range."""
    read = exact(number, name)
    if read < low or (high is not None and read > high):
        limit = f"at least {as_text(Fraction(low))}" + ("" if high is None else f" and at most {as_text(Fraction(high))}")
        example = as_text(Fraction(low if high is None else high))
        raise InvalidInput(f"{name} must be {limit}, not {as_text(read)}; give for example {name}={example}", argument=name)
    return read


def at_most(worst: Fraction | float) -> str:
    """A limit from above for people: six digits, rounded up, so that the printed limit holds.

    >>> at_most(Fraction(1, 3)), at_most(Fraction(1, 2)), at_least(Fraction(2, 3)), at_most(Fraction(20000001))
    ('0.333334', '0.5', '0.666666', '20000001')
    """
    return "infinity" if isinstance(worst, float) else _six_digits(worst, ROUND_CEILING)


def at_least(worst: Fraction) -> str:
    """A limit from below for people: six digits, rounded down."""
    return _six_digits(worst, ROUND_FLOOR)


def _six_digits(number: Fraction, direction: str) -> str:
    digits = max(6, len(str(abs(number.numerator // number.denominator))))
    rounded = Context(prec=digits, rounding=direction).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{rounded.normalize():f}"
