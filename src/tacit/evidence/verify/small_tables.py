"""Synthetic tables so small that the outputs which tell most about a person are found exactly, and wrong ones planted among them.

The generator releases noisy columns, pairs of columns in the order of their choice, and noisy pairs; rows are drawn from these
alone. The chance of an output is a product over cells and choices, each given what was released before. Noise is at its worst in
each cell by itself, and the choices after some noisy columns that are tried here: an attacker can reach the loss that is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import inf, log

import numpy as np

from tacit.accounting.composition import cost
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.mechanisms.farthest import Farthest
from tacit.privacy.catalog import Column, Source, Table
from tacit.privacy.law import Law, worst_log_ratio
from tacit.privacy.rounding import as_text
from tacit.publish.synthetic.rows.cells import Axis
from tacit.publish.synthetic.rows.marginals import Counts, Design, Measured, Noise, Pair, guesses, tree_designs
from tacit.query.plan import Literal, NumberType, Term
from tacit.query.price import quote
from tacit.query.price.price import UNIT, request
from tacit.query.price.stability import Reach
from tacit.query.question import Call

TABLE = "Synthetic table, two rows each"
MODE, CHANGED_MODE = "MODE, two rows each in two groups", "MODE, a changed person of two rows"
MODE_EPSILON, CROWD = Fraction(2), 12  # rows of the first value in each group: a unit beside them is seen best
MAX_ROWS, TOLERANCE = 2, 1e-9
ROWS = ((0, 0, 0), (0, 1, 1), (1, 1, 0))
PEOPLE = tuple(own for size in range(1, MAX_ROWS + 1) for own in combinations_with_replacement(ROWS, size))
OTHERS = ((), *PEOPLE[: len(ROWS)])  # the other people in the table: none, or one person of one row
# Noisy columns: cells above and below all counts, in which a row is near the guess of a pair, or far from it.
RELEASED = ((90, -1), (-1, 90), (90, 6), (6, 90))
Rows = tuple[tuple[int, ...], ...]
Tree = tuple[Pair, ...]
Chooses = Callable[[Design, Sequence[Counts], Sequence[Counts]], Sequence[float]]


@dataclass(frozen=True, eq=False)
class SmallTable:
    """A design that runs on three columns of two cells, how its pairs are chosen, and the epsilon that is claimed of it."""

    design: Design
    claim: Fraction
    chooses: Chooses

    def check(self) -> Check:
        """The largest loss, and whether it is within the claim."""
        worst = max(self._largest_loss(others, (*others, *own)) for others in OTHERS for own in PEOPLE)
        said = f"one person more or less is distinguished by epsilon {worst:.4g}, where {as_text(self.claim)} is claimed"
        return Check("loss", worst <= float(self.claim) * (1 + TOLERANCE), said, worst, worst / float(self.claim))

    def _largest_loss(self, fewer: Rows, more: Rows) -> float:
        """The largest loss over the outputs that are tried, in both directions."""
        of_pairs = {sign: {tree: self._of_pairs(tree, fewer, more, sign) for tree in self._ordered_trees()} for sign in (1, -1)}
        counts, worst = (column_counts(fewer), column_counts(more)), -inf
        for singles in product(RELEASED, repeat=3):
            noise, trees = noise_ratio(self.design.single, *counts, singles), list(self._trees(fewer, more, singles))
            for sign, told in of_pairs.items():
                worst = max(worst, sign * noise + max(sign * ratio + told[tree] for tree, ratio in trees))
        return worst

    def _ordered_trees(self) -> list[Tree]:
        """Any two pairs of three columns are a tree, in the order of choosing."""
        return list(permutations(self.design.candidates, 2))

    def _trees(self, fewer: Rows, more: Rows, singles: Rows) -> Iterator[tuple[Tree, float]]:
        """Every tree that is possible, and how much more likely it is with `more`."""
        likely, others = (self._law(tuple(sorted(rows)), singles) for rows in (more, fewer))
        yield from ((tree, log_ratio(likely[tree], others[tree])) for tree in likely if likely[tree] or others[tree])

    @cache  # noqa: B019  # the laws of a small world are kept as long as the world is
    def _law(self, rows: Rows, singles: Rows) -> Mapping[Tree, float]:
        """Every tree, in the order of choosing, with its chance after these noisy columns."""
        guess, exact = self._guesses(singles), pair_counts(self.design, rows)
        firsts = self._chances(self.design.candidates, guess, exact)
        rest = {first: [pair for pair in self.design.candidates if pair != first] for first in firsts}
        seconds = {first: self._chances(joining, guess, exact) for first, joining in rest.items()}
        return {(first, second): firsts[first] * seconds[first][second] for first, second in self._ordered_trees()}

    @cache  # noqa: B019  # as above
    def _guesses(self, singles: Rows) -> Mapping[Pair, Counts]:
        return guesses(Measured(self.design, tuple(np.array(single) for single in singles), {}))

    def _chances(self, joining: Sequence[Pair], guess: Mapping[Pair, Counts], exact: Mapping[Pair, Counts]) -> dict[Pair, float]:
        law = self.chooses(self.design, [guess[each] for each in joining], [exact[each] for each in joining])
        return dict(zip(joining, law, strict=True))

    def _of_pairs(self, tree: Tree, fewer: Rows, more: Rows, sign: int) -> float:
        """The loss of the pairs at the outputs that tell most."""
        assert self.design.pair is not None  # noqa: S101  # three columns have pairs
        without, with_one = pair_counts(self.design, fewer), pair_counts(self.design, more)
        cells = [(int(a), int(b)) for pair in tree for a, b in zip(without[pair], with_one[pair], strict=True)]
        return sum(worst_ratio(self.design.pair, b - a, sign) for a, b in cells if a != b)


def column_counts(rows: Rows) -> list[int]:
    """How many rows are in each cell of each column, in a line."""
    return [sum(row[place] == cell for row in rows) for place in range(3) for cell in range(2)]


def pair_counts(design: Design, rows: Rows) -> dict[Pair, Counts]:
    """The exact histogram of every pair of columns."""
    cells = {pair: [2 * row[pair[0]] + row[pair[1]] for row in rows] for pair in design.candidates}
    return {pair: np.bincount(np.array(codes, dtype=np.int64), minlength=4) for pair, codes in cells.items()}


def noise_ratio(noise: Noise, fewer: Sequence[int], more: Sequence[int], released: Rows) -> float:
    outputs = [output for single in released for output in single]
    return sum(
        log_ratio(_law_of(noise, b)[output], _law_of(noise, a)[output])
        for a, b, output in zip(fewer, more, outputs, strict=True)
        if a != b
    )


@cache
def worst_ratio(noise: Noise, more: int, sign: int) -> float:
    one, other = _law_of(noise, more), _law_of(noise, 0)
    return max(sign * log_ratio(one[output], other[output]) for output in one.keys() & other.keys())


@cache
def _law_of(noise: Noise, count: int) -> dict[int, float]:
    """The law of one noisy cell, from the mechanism that runs."""
    return {int(str(output)): float(chance) for output, chance in noise.over(1).law(count).probabilities.items()}


def log_ratio(one: float, other: float) -> float:
    return log(one / other) if one and other else inf if one else -inf


def exponential(design: Design, guess: Sequence[Counts], exact: Sequence[Counts]) -> list[float]:
    """How likely each pair is chosen, by the choice that runs."""
    law = Farthest(guess, design.table.max_rows, design.choice or Fraction(0), UNIT).law(exact).probabilities
    return [float(law[place]) for place in range(len(guess))]


def _without_noise(design: Design, guess: Sequence[Counts], exact: Sequence[Counts]) -> list[float]:
    """Planted: the pair that is farthest, for certain, as if looking cost nothing."""
    distances = [int(np.abs(counts - own).sum()) for own, counts in zip(guess, exact, strict=True)]
    return [float(place == distances.index(max(distances))) for place in range(len(guess))]


def _sound() -> SmallTable:
    values = ("no", "yes")
    columns = {name: Column(name, "category", values=values, unknown="drop", nulls="drop") for name in "abc"}
    table = Table("small", Source("csv", "small.csv"), columns, max_rows=MAX_ROWS)
    design = tree_designs(table, [Axis.of(column) for column in columns.values()], request(epsilon=1), "add-remove")[0]
    return SmallTable(design, cost(design.event).epsilon or Fraction(0), exponential)


@dataclass(frozen=True, slots=True)
class SmallModes:
    """The most frequent of three values in two groups, for units of two rows, as it is priced for all groups together."""

    touched: Reach
    priced: Reach

    def check(self) -> Check:
        """The largest loss over every unit that comes, goes or changes, beside a crowd in both groups that has the first value."""
        call = Call("mode", Term(Literal(0), NumberType(Fraction(1)), points=(0, 1, 2)))
        mechanism = quote._mechanism(call, MODE_EPSILON, self.priced)
        counts = [np.array([own.count(row) + CROWD * (row % 3 == 0) for row in range(6)]) for own in self._units()]
        laws = [[mechanism.law(each) for each in (count[:3], count[3:])] for count in counts]
        near = (
            [(0, n) for n in range(len(laws))] if self.touched.change == "add-remove" else list(permutations(range(len(laws)), 2))
        )
        worst = max(max(_told_by(laws[a], laws[b]), _told_by(laws[b], laws[a])) for a, b in near)
        said = f"one unit is distinguished by epsilon {worst:.4g}, where {as_text(MODE_EPSILON)} is claimed"
        return Check("loss", worst <= float(MODE_EPSILON) * (1 + TOLERANCE), said, worst, worst / float(MODE_EPSILON))

    def _units(self) -> list[tuple[int, ...]]:
        """Nothing, and up to two rows of a group and a value; where units change, they are all there."""
        none = [()] if self.touched.change == "add-remove" else []
        return none + [own for size in (1, 2) for own in combinations_with_replacement(range(6), size)]


def _told_by(laws: Sequence[Law], others: Sequence[Law]) -> float:
    return float(sum(worst_log_ratio(one, other) for one, other in zip(laws, others, strict=True)))


def _modes() -> dict[str, SmallModes]:
    goes, changes = Reach(rows=2, groups=2, per_group=2, several=True), Reach(2, 2, 2, "change-one", several=True)
    return {MODE: SmallModes(goes, goes), CHANGED_MODE: SmallModes(changes, changes)}


def exhaustive() -> list[Exhaustive]:
    """The generator's own design at epsilon 1, on every table of a small world and every person more; and the mode of a column."""
    return [_case(TABLE, _sound()), *(_mode_case(name, small) for name, small in _modes().items())]


def _mode_case(name: str, small: SmallModes) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(MODE_EPSILON)}", small.check)


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    sound = _sound()
    assert sound.design.pair is not None  # noqa: S101  # three columns have pairs
    whole = replace(sound.design.pair, budget=2 * sound.design.pair.budget)
    yield "tree", (TABLE, _case(f"{TABLE}, pairs chosen without noise (planted)", replace(sound, chooses=_without_noise)))
    yield (
        "share",
        (
            TABLE,
            _case(f"{TABLE}, a budget given to both pairs (planted)", replace(sound, design=replace(sound.design, pair=whole))),
        ),
    )
    goes, changes = _modes().values()
    one_row = replace(goes, priced=replace(goes.priced, per_group=1, groups=1))
    yield "mode", (MODE, _mode_case(f"{MODE}, noise for one row (planted)", one_row))
    yield (
        "changed",
        (CHANGED_MODE, _mode_case(f"{CHANGED_MODE}, priced as one that goes (planted)", replace(changes, priced=goes.priced))),
    )


def _case(name: str, table: SmallTable) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(table.claim)}", table.check)
