"""An error bar around a released number."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Interval:
    """From `value - below` to `value + above`; both distances are at least zero.

    >>> print(Interval(11.983, 11.983), Interval(3.1, 4.7), sep="; ")
    ± 11.98; -3.1 / +4.7
    >>> Interval(1, 2).around(10)
    (9, 12)
    """

    below: float
    above: float

    def __post_init__(self) -> None:
        if not (self.below >= 0 and self.above >= 0):
            raise InvalidInput(f"the two distances of an interval must be at least 0, not {self.below} and {self.above}")

    def around(self, value: float) -> tuple[float, float]:
        """The two ends, for a released value."""
        return value - self.below, value + self.above

    def __str__(self) -> str:
        if self.below == self.above:
            return f"± {self.below:.4g}"
        return f"-{self.below:.4g} / +{self.above:.4g}"
