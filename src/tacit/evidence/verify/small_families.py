"""Synthetic rows of two tables so small that the largest loss of one unit, with its rows in both, is found exactly.

An attacker sees the noisy columns of both tables and the noisy pair of each, by the noise of the designs that run. A unit is a
parent with some children. The join keeps at most as many of them as are declared. The other units change nothing in a sum of noise
and counts, and with one pair for each table a choice tells nothing. Choices are in small_rounds.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from tacit.accounting.composition import cost
from tacit.accounting.events import Batch
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.small_tables import MAX_ROWS, TOLERANCE, worst_ratio
from tacit.privacy.catalog import Column, Owner, Source, Table
from tacit.privacy.rounding import as_text
from tacit.publish.synthetic.rows.cells import Axis, Chosen
from tacit.publish.synthetic.rows.family import Family, family_designs
from tacit.publish.synthetic.rows.marginals import Counts, Design, Noise
from tacit.publish.synthetic.rows.rounds import Pace
from tacit.query.price.price import request

NAME = "Synthetic families, two children each"
CHILDREN = 3  # one more than a unit may have


@dataclass(frozen=True, eq=False)
class SmallFamily:
    """The designs that run on parents and children, the children of a unit that are counted, and the epsilon that is claimed."""

    designs: tuple[Design, Design]
    claim: Fraction
    kept: int = MAX_ROWS

    def check(self) -> Check:
        """The largest loss over all units of one parent with up to three children, in both directions."""
        units = [own for size in range(CHILDREN + 1) for own in combinations_with_replacement(range(2), size)]
        worst = max(self._of_unit(own, sign) for own in units for sign in (1, -1))
        said = f"one unit more or less is distinguished by epsilon {worst:.4g}, where {as_text(self.claim)} is claimed"
        return Check("loss", worst <= float(self.claim) * (1 + TOLERANCE), said, worst, worst / float(self.claim))

    def _of_unit(self, wards: tuple[int, ...], sign: int) -> float:
        """A parent in the first cell with a child in each of these wards, as far as they are kept, in all histograms."""
        counted = wards[: self.kept]
        parents, children = ((0, len(counted)),), tuple((ward, 0) for ward in counted)
        return sum(self._of_table(design, rows, sign) for design, rows in zip(self.designs, (parents, children), strict=True))

    def _of_table(self, design: Design, rows: tuple[tuple[int, int], ...], sign: int) -> float:
        alone = [_counts([row[place] for row in rows]) for place in range(2)]
        told = sum(_loss(design.single, counts, sign) for counts in alone)
        assert design.rounds is not None  # noqa: S101  # `rounds_designs` of two columns
        pace, pairs = Pace(design.rounds), _counts([2 * (CHILDREN + 1) * row[0] + row[1] for row in rows])
        while budget := pace.next_round():
            told += _loss(budget[1], pairs, sign)
        return told


def _counts(cells: list[int]) -> Counts:
    return np.bincount(np.array(cells, dtype=np.int64))


def _loss(noise: Noise, counts: Counts, sign: int) -> float:
    return sum(worst_ratio(noise, int(count), sign) for count in counts[counts > 0])


def _sound() -> SmallFamily:
    sex, ward = (Column(name, "category", values=("a", "b"), unknown="drop", nulls="drop") for name in ("sex", "ward"))
    parent = Table("parents", Source("csv", "parents.csv"), {"sex": sex}, unit=Owner("id"), max_rows=1)
    child = Table("children", Source("csv", "children.csv"), {"ward": ward}, unit=Owner("id", ("parents", "id")), max_rows=MAX_ROWS)
    number = Column("number", "number", (Fraction(0), Fraction(MAX_ROWS)), Fraction(1), nulls="drop")
    family = Family(Chosen(parent, (Axis.of(sex),), {}), Chosen(child, (Axis.of(ward),), {}), Axis.of(number))
    ((first, second),) = family_designs(family, request(epsilon=1), "add-remove")
    return SmallFamily((first, second), cost(Batch((first.event, second.event))).epsilon or Fraction(0))


def exhaustive() -> list[Exhaustive]:
    """The designs that run at epsilon 1, for every unit with its children."""
    return [_case(NAME, _sound())]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    sound = _sound()
    parents, children = sound.designs
    one_child = replace(children, single=replace(children.single, max_rows=1))
    yield "child", (NAME, _case(f"{NAME}, noise for one child (planted)", replace(sound, designs=(parents, one_child))))
    yield "unlimited", (NAME, _case(f"{NAME}, children without a limit (planted)", replace(sound, kept=CHILDREN)))


def _case(name: str, family: SmallFamily) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(family.claim)}", family.check)
