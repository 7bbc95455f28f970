"""Trees of counts so small that every pair of neighbours is tried, and wrong ones planted among them.

All noisy counts of a tree are independent, so the output that tells most is the worst one of each cell by itself. From draws, the
counts and the quantiles that are read from them are judged together: a count that were drawn anew when it is read would tell more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

from tacit.accounting.events import Event
from tacit.evidence.verify.case import Case, Contracted, Exhaustive
from tacit.evidence.verify.claims import measured_both_ways
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.driving import driven, run_spoiled
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.quantile.interval import Enclosed
from tacit.mechanisms.quantile.rank_blocks import Blocks
from tacit.mechanisms.sorted_rows import Grid
from tacit.mechanisms.tree.margins import margins
from tacit.mechanisms.tree.quantiles import Counts, FromTree, enclosed
from tacit.mechanisms.tree.shape import Tree
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Loss
from tacit.privacy.rounding import as_text
from tacit.privacy.universe import Database, units

TREE, CHANGED = "Tree of counts, two rows each, on every pair", "Tree of counts, a changed person, on every pair"
DRAWN = "Tree of counts and what is read from it, from draws"
SHARED = "Tree of counts, two quantiles of one count, as they run"
COVERS = "Interval of a quantile from a tree, at a tie"
WHOLE_ROWS = "the test allows for a part of one row, which here is an eighth of the noise scale"
FEW_DRAWS = "draws show only part of a loss; on every pair of a small world, the same counts reach their full claim"
POINTS, TOLERANCE = 4, 1e-9
SHARES, CONFIDENCE = (Fraction(1, 2), Fraction(1)), Fraction(9, 10)
PAIRS = (([1, 1, 2], [1, 1, 1, 2]),)


@dataclass(frozen=True, slots=True)
class SmallTree:
    """A tree whose loss is claimed, and the noise that runs."""

    claim: Tree
    noise: Laplace

    def check(self) -> Check:
        """The largest loss over every pair of neighbours of at most two units."""
        people = units(tuple(range(POINTS)), self.claim.max_rows).databases_up_to(2)
        near = ((one, other) for one in people for other in one.neighbours(self.claim.neighbours))
        worst, claimed = max(self._loss(one, other) for one, other in near), float(self.claim.epsilon)
        said = f"one unit is distinguished by epsilon {worst:.4g}, where {as_text(self.claim.epsilon)} is claimed"
        return Check("loss", worst <= claimed * (1 + TOLERANCE), said, worst, worst / claimed)

    def _loss(self, one: Database, other: Database) -> float:
        cells = zip(_every_count(self.claim, _rows(one)), _every_count(self.claim, _rows(other)), strict=True)
        return sum(_worst_ratio(self.noise, abs(a - b)) for a, b in cells if a != b)


@dataclass(frozen=True, slots=True)
class ReadTree:
    """All noisy counts of a tree, and the quantiles that are read from them; `actual` is the tree that runs."""

    claim: Tree
    actual: Tree

    @property
    def event(self) -> Event:
        """The event that the ledger records for one release."""
        return self.claim.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release."""
        return self.claim.loss

    def release(self, rows: Any) -> tuple[float, ...]:
        """The counts of all cells, and the value and the interval of each quantile."""
        counts = _counts(self.actual, tuple(rows))
        noisy = [float(count) for path in _paths(self.actual) for count in counts.children(path)]
        read = [enclosed(counts, FromTree(share, CONFIDENCE, self.actual)) for share in SHARES]
        return (*noisy, *(float(end) for quantile in read for end in quantile))


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """Two quantiles that are read from one tree, and its counts after each: the same, or they tell twice."""

    tree: Tree

    def check(self) -> Check:
        """The largest loss over neighbours, by the law of the code that runs."""
        claim = self.tree.loss
        pairs = (((0,), (0, 0)), ((0, 1), (0, 1, 1)))
        laws = {rows: driven(partial(self._read, rows), rare=Decimal("1e-8")) for pair in pairs for rows in pair}
        worst = float(max(measured_both_ways(claim, laws[one], laws[other]) for one, other in pairs))
        claimed = float(self.tree.epsilon)
        said = f"two quantiles distinguish one row by epsilon {worst:.4g}, where {as_text(self.tree.epsilon)} is claimed"
        return Check("loss", worst <= claimed * (1 + TOLERANCE), said, worst, worst / claimed)

    def _read(self, rows: tuple[int, ...]) -> tuple[float, ...]:
        counts, seen = _counts(self.tree, rows), list[float]()
        for share in (Fraction(1, 4), Fraction(3, 4)):
            quantile = enclosed(counts, FromTree(share, CONFIDENCE, self.tree))
            seen += [float(each) for each in (*quantile, *counts.children(()))]
        return tuple(seen)


def interval_covers() -> Check:
    """The probability that both medians are enclosed, by the law of the code that runs, where half of the rows are on each side.

    Two counts of noise of scale 4: each end misses nearly as often as it may. Ways too rare to be followed count as missed.
    """
    tree = Tree(2, 2, 1, Fraction(1, 4))
    asked = FromTree(Fraction(1, 2), CONFIDENCE, tree)

    def encloses() -> bool:
        found = enclosed(_counts(tree, (0,) * 9 + (1,) * 9), asked)
        return found.low == 0 and found.high == 1

    least = float(driven(encloses, rare=Decimal("1e-6")).probabilities[True])
    found = f"covers {least:.4f} at a tie, says {float(CONFIDENCE):g}"
    return Check("coverage", least >= float(CONFIDENCE), found, least, (1 - least) / float(1 - CONFIDENCE))


def _counts(tree: Tree, rows: tuple[int, ...]) -> Counts:
    return Counts(tree, Blocks.of(Grid(0, tree.points - 1, 1).rows(list(rows)), tree.points))


def _paths(tree: Tree) -> list[tuple[int, ...]]:
    """Every cell that has children."""
    return [path for depth in range(tree.levels) for path in product(range(tree.branches), repeat=depth)]


@cache
def _every_count(tree: Tree, rows: tuple[int, ...]) -> tuple[int, ...]:
    counts = _counts(tree, rows)
    return tuple(int(count) for path in _paths(tree) for count in counts.exactly(path))


@cache
def _worst_ratio(noise: Laplace, moved: int) -> float:
    """Of one noisy count, over its outputs and both directions."""
    alone = noise.resized(1)
    one, other = alone.law(0), alone.law(moved)
    return float(max(worst_log_ratio(one, other), worst_log_ratio(other, one)))


def _rows(database: Database) -> tuple[int, ...]:
    return tuple(sorted(int(str(row)) for unit in database.rows for row in (unit if isinstance(unit, tuple) else (unit,))))


def _trees() -> dict[str, Tree]:
    shared = Tree(POINTS, 2, 2, Fraction(2), max_rows=2)
    return {
        TREE: shared,
        CHANGED: replace(shared, neighbours=CHANGE_ONE),
        DRAWN: replace(shared, max_rows=1, neighbours=ADD_REMOVE),
    }


def cases() -> list[Case]:
    """The trees that run, on every pair of neighbours and from draws."""
    trees = _trees()
    drawn = Contracted(DRAWN, ReadTree(trees[DRAWN], trees[DRAWN]), PAIRS, unreached=FEW_DRAWS)
    return [*(_case(name, SmallTree(trees[name], trees[name].noise)) for name in (TREE, CHANGED)), drawn, *_as_they_run()]


def _as_they_run() -> list[Exhaustive]:
    shared = SharedCounts(Tree(2, 2, 1, Fraction(8)))
    return [
        Exhaustive(SHARED, f"epsilon {as_text(shared.tree.epsilon)}", shared.check),
        Exhaustive(COVERS, f"covers {100 * float(CONFIDENCE):g}%", interval_covers, WHOLE_ROWS),
    ]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    whole = _trees()[TREE]
    every_level, one_row = replace(whole, epsilon=whole.epsilon * whole.levels), replace(whole, max_rows=1)
    levels, unit = f"{TREE}, a whole epsilon for each level (planted)", f"{TREE}, noise for one row (planted)"
    yield "levels", (TREE, _case(levels, SmallTree(whole, every_level.noise)))
    yield "unit", (TREE, _case(unit, SmallTree(whole, one_row.noise)))
    (shared, covers), real, reads = _as_they_run(), margins, enclosed

    def forgetful(counts: Counts, asked: FromTree) -> Enclosed:
        counts._noisy.clear()
        return reads(counts, asked)

    twice, narrow = f"{SHARED}, each time drawn anew (planted)", f"{COVERS}, margins times 0.7 (planted)"
    yield "anew", (SHARED, replace(shared, name=twice, check=partial(run_spoiled, {reads: forgetful}, shared.check)))
    yield (
        "margins",
        (COVERS, replace(covers, name=narrow, check=partial(run_spoiled, {real: lambda *cell: 0.7 * real(*cell)}, covers.check))),
    )


def _case(name: str, tree: SmallTree) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(tree.claim.epsilon)}", tree.check)
