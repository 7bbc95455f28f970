"""Measurements that the parts of a question share, and whether every part follows from them: mechanisms/residual.md.

A measurement is of the cells of one margin, or of its residuals: along every axis of n values n x - (sum of x), and of two values
their difference. How far one unit moves it follows from its rows, the numbers that a row adds, and the sizes of the axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, combinations
from typing import Any

from tacit_certificate import price
from tacit_certificate.document import Node, Wrong, only, refuse, whole
from tacit_certificate.stability import Part, Sensitivity

Axes = tuple[int, ...]
SUMMED = ("rows", "sum")
FIELDS = "part releases moment kind axes centred sensitivity scale dimension events"
BUDGETS = {"laplace": "epsilon", "gaussian": "rho"}
MOST_SETS = 10**5


@dataclass
class Margins:
    """The parts of a question as margins of one table, the number of values of every axis, and what is measured of each moment."""

    parts: Sequence[Part]
    terms: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    measured: dict[int, set[tuple[Axes, bool]]] = field(default_factory=dict)
    moments: list[tuple[Any, int, int]] = field(default_factory=list)
    axes: list[Axes] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The axes are the keys and conditions of all parts, and the moments theirs, each once, in the order in which they come."""
        split = [_condition(part.group["child"]) for part in self.parts]
        one = all(part.group["child"] == self.parts[0].group["child"] for part in self.parts)
        alike = one or all(rows["is"] == "Bound" and rows == split[0][0] for rows, _ in split)
        common = [test for test in split[0][1] if one or all(test in tests for _, tests in split)]
        for at, part in enumerate(self.parts):
            for place, moment in enumerate(part.group["moments"]):
                if all(moment != known for known, *_ in self.moments):
                    self.moments.append((moment, at, place))
            same = alike and part.reach.rows == self.parts[0].reach.rows
            if not same or part.private or part.group["per_group"] is not None or part.reach.fixed:
                raise Wrong("parts that share measurements have the same rows, public groups and no limit of rows in a group")
            tests = [test for test in split[at][1] if test not in common]
            own = [(key["term"], size) for key, size in zip(part.group["keys"], part.sizes, strict=True)]
            own += [({"where": tests}, 2)] if tests else []  # whether all of these are true
            for term, size in own:
                if term not in self.terms:
                    self.terms.append(term)
                    self.sizes.append(size)
                refuse(self.sizes[self.terms.index(term)] != size, "a key has two numbers of values")
            self.axes.append(tuple(sorted(self.terms.index(term) for term, _ in own)))

    def released(self, node: Node, events: Sequence[Node]) -> tuple[str, int, list[tuple[Any, ...]]]:
        """What was checked of a measurement or an estimate, how many numbers one unit moves, and what it releases."""
        at, place = whole(node, "part", 0), whole(node, "moment", 0)
        if node["releases"] == "estimate":
            return f"part {at}, moment {place}: {self.estimate(node, at)}", 0, [(at, "moment", place)]
        refuse(at != 0, "the shared measurements must be named with the first part")
        text, entries = self.measurement(node, events)
        return f"shared by all parts, moment {place}: {text}", entries, []

    def measurement(self, node: Node, events: Sequence[Node]) -> tuple[str, int]:
        """What was checked of a measurement, in words, and how many numbers one unit moves."""
        only(node, f"{FIELDS} {BUDGETS.get(node['kind'], '')}")
        axes, centred = tuple(node["axes"]), node["centred"]
        listed = all(type(axis) is int and 0 <= axis < len(self.sizes) for axis in axes)
        if not listed or list(axes) != sorted(set(axes)) or type(centred) is not bool or node["kind"] not in BUDGETS:
            raise Wrong("a measurement is of the cells or the residuals of rising axes, with Laplace or Gaussian noise")
        moment, at, place = self.moments[whole(node, "moment", 0)]
        refuse(moment["kind"] not in SUMMED or moment["together"] is not None, "shared measurements are of counts and sums")
        price.recorded(node, events, self.parts[0].reach.change)
        alone = self._moved(axes, centred, self.parts[at].moved[place])
        refuse(whole(node, "dimension", 1) != alone.entries, f"the measurement has {alone.entries} numbers")
        text = price.noise(node, events, alone.l1, alone.l2_squared)
        self.measured.setdefault(node["moment"], set()).add((axes, centred))
        return f"{'residuals' if centred else 'cells'} of the axes {list(axes)}: {text}", alone.entries

    def _moved(self, axes: Axes, centred: bool, moved: Sensitivity) -> Sensitivity:
        """How far one unit moves a measurement: residual.md, Lemma 2."""
        (low, high), rows, sizes = moved.ends, self.parts[0].reach.rows, [self.sizes[axis] for axis in axes]
        refuse(centred and any(size < 2 for size in sizes), "an axis of one value has no residuals")
        along = [_column(size) if centred else (1, 1, 1, size) for size in sizes]
        one, squared, farthest, numbers = (math.prod(each[at] for each in along) for at in range(4))
        largest = max(-low, high)
        if not self.parts[0].reach.change:
            times, square = largest, Fraction(largest**2)
        elif not axes:
            times, square = high - low, Fraction((high - low) ** 2)
        else:
            turned = Fraction(1, min(sizes) - 1) if centred else Fraction(0)
            times, square = 2 * largest, max(2 * largest**2 * (1 + turned), Fraction((high - low) ** 2))
        return Sensitivity((low, high), rows * one * times, rows**2 * squared * square, numbers, rows * farthest * times)

    def estimate(self, node: Node, at: int) -> str:
        """Whether all residuals of a part are measured, of the moment that it has there."""
        only(node, "part releases moment kind axes from events")
        part, axes, source = self.parts[at], self.axes[at], whole(node, "from", 0)
        same = part.group["moments"][whole(node, "moment", 0)] == self.moments[source][0]
        refuse(tuple(node["axes"]) != axes or not same or bool(node["events"]), "an estimate is of its own axes and moment")
        refuse(2 ** len(axes) > MOST_SETS, "an estimate of so many axes is more than this program looks at")
        known = self.measured.get(source, set())
        for some in _subsets(axes):
            free = all(self.sizes[axis] > 1 for axis in some)
            if free and (some, True) not in known and not any(not centred and set(some) <= set(each) for each, centred in known):
                raise Wrong(f"the residuals of the axes {list(some)} are not measured")
        return f"estimated from measurements of moment {source}, which determine all its residuals"


def outputs_of(plan: Node, parts: Sequence[Part]) -> list[Node]:
    """The columns of the answer: those of the first part; of a list, those of the first part of every question."""
    shown = [*parts[:1], *parts[1 + plan["beside"] :]] if parts else []
    listed = plan.get("listed", [len(shown)] if shown else [])
    ends = list(accumulate(listed, initial=0))
    whole_list = all(type(each) is int and each > 0 for each in listed) and ends[-1] == len(shown)
    refuse(not whole_list, "the parts of the questions of the list are not those of the plan")
    return [output for first in ends[:-1] for output in shown[first].node["outputs"]]


def _condition(rows: Node) -> tuple[Node, list[Node]]:
    """The rows below a condition, and its parts."""
    test: Any = rows.get("condition") if rows["is"] == "Where" else {"is": "All", "parts": []}
    return rows["child"] if rows["is"] == "Where" else rows, test["parts"] if test["is"] == "All" else [test]


def _subsets(axes: Axes) -> Iterator[Axes]:
    return (some for size in range(len(axes) + 1) for some in combinations(axes, size))


def _column(size: int) -> tuple[int, int, int, int]:
    """How far one row moves residuals along an axis: l1, squared l2, one number; and how many numbers there are."""
    return (1, 1, 1, 1) if size == 2 else (2 * (size - 1), size * (size - 1), size - 1, size)


def added_up(parts: Sequence[Part], node: Node, at: int) -> str:
    """A sum of released numbers: its groups are made of whole groups of another public part over the same rows."""
    source, place = node["from"]
    here, there = parts[at].group, parts[source].group
    coarse, fine = [key["term"] for key in here["keys"]], [key["term"] for key in there["keys"]]
    moment = here["moments"][node["moment"]]
    rest = [size for key, size in zip(there["keys"], parts[source].sizes, strict=True) if key["term"] not in coarse]
    same = here["child"] == there["child"] and there["moments"][place] == moment and all(term in fine for term in coarse)
    if not same or parts[source].private or moment["kind"] not in ("rows", "sum", "centred", "squares", "products"):
        raise Wrong("a margin is added up from groups that do not make up its own")
    added = not node["events"] and whole(node, "count", 1) == math.prod(rest)
    refuse(not added, "a margin has no event, and adds up as many numbers as groups of the other part make one of its own")
    return f"added up from {node['count']} released numbers of part {source}"
