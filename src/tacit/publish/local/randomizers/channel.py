"""The exact channel of a randomizer: for every answer the probability of every report, as rationals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidInput, InvalidValue
from tacit.mechanisms.additive import decimal
from tacit.privacy.law import Law
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
        known, seen = tuple(inputs), tuple(outputs)
        check_cells(len(known), len(seen))
        return cls(known, seen, tuple(tuple(probability(value, report) for report in seen) for value in known))

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
    """Refuses a channel that is too large to be written down."""
    if inputs * outputs > MOST_CELLS:
        raise InvalidInput(
            f"a channel of {inputs} answers by {outputs} reports is too large to list; use a randomizer with a smaller size"
        )
