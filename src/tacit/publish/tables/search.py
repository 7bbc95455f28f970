"""The best node of a lattice, and local recoding, which searches it again and again.

The best node of a lattice: every node is decided by predictive tagging, and the best is found without scoring all of them.

Tagging is Flash (Kohlmayer, Prasser, Eckert, Kemper and Kuhn 2012): from each node that is not decided, a path goes upward along
nodes that are not decided, and is searched by halves. A node that complies decides all above it, one that does not all below it.
This requires that the violating rows only fall as groups merge. Where a condition does not ensure that (see conditions.py), the
conditions that do are tagged first, and every node that they leave is counted.

The best node is searched for by bounds (see measures.py): always the node with the least bound is scored next, which raises the
bounds of all nodes above it, until the least bound is not below the best loss. search.md has the proofs.

Local recoding: the lattice is searched again and again, each time for the rows that the passes before have left.

Each pass may leave a share of its rows to the next, so that most rows are published at fine levels and outliers at coarse ones.
Groups of earlier passes stay as they are. A later group with the same forms as an earlier one only makes it larger, and all models
are closed under merging groups that comply. Shares of sensitive values are always compared with those of the whole table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.tables.conditions import Condition, Truths
from tacit.publish.tables.grouping import Integers
from tacit.publish.tables.lattice import Lattice, Node, Rolled
from tacit.publish.tables.measures import FREE, Losses
from tacit.publish.tables.recoded import Recoded, full_domain, join_parts
from tacit.publish.tables.table import Table

Told = Callable[[str, float], None] | None
UNKNOWN, COMPLIES, FAILS = 0, 1, -1
KEPT = 1 << 24  # groups of counted nodes that are kept to roll up from


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a search: the best node and its loss, the tag of every node, and the number of nodes that were counted."""

    node: Node
    loss: float
    measure: str
    tags: NDArray[np.int8]
    counted: int
    suppressed: int

    @property
    def nodes(self) -> int:
        """How many nodes the lattice has."""
        return int(self.tags.size)

    @property
    def satisfying(self) -> int:
        """How many nodes comply."""
        return int((self.tags == COMPLIES).sum())

    def minimal(self) -> list[Node]:
        """The complying nodes with none below them that complies."""
        complies = self.tags == COMPLIES
        least = complies.copy()
        for axis in range(complies.ndim):
            lower = np.zeros_like(complies)
            upper, under = [slice(None)] * complies.ndim, [slice(None)] * complies.ndim
            upper[axis], under[axis] = slice(1, None), slice(None, -1)
            lower[tuple(upper)] = complies[tuple(under)]
            least &= ~lower
        return [tuple(int(level) for level in node) for node in np.argwhere(least)]


@dataclass(eq=False)
class Counter:
    """Counts the groups of nodes, each from the smallest set of groups that is kept of a node below it."""

    lattice: Lattice
    conditions: Sequence[Condition]
    limit: int
    counted: int = 0
    _kept: dict[Node, Rolled] = field(default_factory=dict)
    _room: int = KEPT

    def roll_up(self, node: Node) -> Rolled:
        """The groups of a node."""
        if node in self._kept:
            return self._kept[node]
        self.counted += 1
        groups = self.lattice.roll_up(node, self._source(node))
        size = len(groups) + len(groups.cells[0])
        if size <= self._room:
            self._kept[node] = groups
            self._room -= size
        return groups

    def _source(self, node: Node) -> Rolled:
        """The groups to roll up from: of a node right below, which nodes by height mostly have, or else the smallest anywhere
        below.
        """
        right_below = ((*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level)
        near = [self._kept[each] for each in right_below if each in self._kept]
        below = near or [kept for kept in self._kept.values() if all(map(int.__le__, kept.node, node))]
        return min(below, key=len, default=self.lattice.bottom)

    def complying_groups(self, rolled: Rolled, conditions: Sequence[Condition] | None = None) -> Truths:
        """The groups that comply."""
        return self.lattice.meets_all(rolled, self.conditions if conditions is None else conditions)

    def complies(self, node: Node, conditions: Sequence[Condition]) -> bool:
        """Whether at most `limit` rows stand in groups that do not."""
        rolled = self.roll_up(node)
        return int(rolled.sizes[~self.complying_groups(rolled, conditions)].sum()) <= self.limit


def search(
    lattice: Lattice, conditions: Sequence[Condition], losses: Losses, measure: str, limit: int = 0, told: Told = None
) -> Found:
    """The node with the least loss among those with at most `limit` rows in violating groups; without one, an error."""
    best_node = found_in(lattice, conditions, losses, measure, limit, told)
    if best_node is None:
        raise InvalidInput(
            f"no generalization of the table meets {', '.join(map(str, conditions))}: not even the coarsest; "
            "lower the requirement, raise the suppression limit, or add a coarser level"
        )
    return best_node


def found_in(
    lattice: Lattice, conditions: Sequence[Condition], losses: Losses, measure: str, limit: int = 0, told: Told = None
) -> Found | None:
    """The same, or None if no node complies."""
    lattice.check_size()
    counter = Counter(lattice, conditions, limit)
    tags = tag_nodes(counter, told)
    if not (tags == COMPLIES).any():
        return None
    node, loss = best(counter, tags, losses, measure, told)
    rolled = counter.roll_up(node)
    suppressed = int(rolled.sizes[~counter.complying_groups(rolled)].sum())
    return Found(node, loss, measure, tags, counter.counted, suppressed)


def tag_nodes(counter: Counter, told: Told = None) -> NDArray[np.int8]:
    """For every node whether it complies; each tag is the one that counting the node would give."""
    falling = (
        list(counter.conditions) if counter.limit == 0 else [each for each in counter.conditions if counter.lattice.falls(each)]
    )
    tags = np.zeros(counter.lattice.shape, dtype=np.int8)
    if falling:
        _flash(counter, falling, tags, told)
    else:
        tags[...] = COMPLIES
    if len(falling) < len(counter.conditions):
        left = np.argwhere(tags == COMPLIES)
        for number, row in enumerate(left[np.argsort(left.sum(axis=1), kind="stable")]):
            node = tuple(int(level) for level in row)
            tags[node] = COMPLIES if counter.complies(node, counter.conditions) else FAILS
            _tell(told, "counting nodes", number / len(left))
    return tags


def _flash(counter: Counter, conditions: Sequence[Condition], tags: NDArray[np.int8], told: Told) -> None:
    order = _order(counter.lattice)
    nodes = [tuple(map(int, node)) for node in np.argwhere(order >= 0)]
    nodes.sort(key=order.__getitem__)
    for number, start in enumerate(nodes):
        if tags[start] != UNKNOWN:
            continue
        _tell(told, "searching the lattice", number / len(nodes))
        heap: list[tuple[int, Node]] = []
        _halve(counter, conditions, tags, _path(start, tags, order), order, heap)
        while heap:
            _, node = heappop(heap)
            for above in sorted(_successors(node, tags.shape), key=order.__getitem__):
                if tags[above] == UNKNOWN:
                    _halve(counter, conditions, tags, _path(above, tags, order), order, heap)


def _order(lattice: Lattice) -> NDArray[np.int64]:
    """The rank of every node: by height, then by mean relative level, then by the number of forms left."""
    grids = np.indices(lattice.shape)
    height = grids.sum(axis=0)
    relative = sum(grid / max(size - 1, 1) for grid, size in zip(grids, lattice.shape, strict=True))
    forms = np.zeros(lattice.shape)
    for place, levels in enumerate(lattice.above):
        spread = [len(levels) if at == place else 1 for at in range(len(lattice.shape))]
        distinct = np.array([len(np.unique(codes)) for codes in levels])
        forms = forms + (distinct / distinct[0]).reshape(spread)
    ranked = np.lexsort((-forms.ravel(), np.asarray(relative).ravel(), height.ravel()))
    order = np.empty(lattice.nodes, dtype=np.int64)
    order[ranked] = np.arange(lattice.nodes)
    return order.reshape(lattice.shape)


def _successors(node: Node, shape: tuple[int, ...]) -> Iterator[Node]:
    for place, level in enumerate(node):
        if level + 1 < shape[place]:
            yield (*node[:place], level + 1, *node[place + 1 :])


def _path(start: Node, tags: NDArray[np.int8], order: NDArray[np.int64]) -> list[Node]:
    """A way up over nodes that are not decided, each the first of its kind in the order."""
    path = [start]
    while above := [node for node in _successors(path[-1], tags.shape) if tags[node] == UNKNOWN]:
        path.append(min(above, key=order.__getitem__))
    return path


def _halve(
    counter: Counter,
    conditions: Sequence[Condition],
    tags: NDArray[np.int8],
    path: list[Node],
    order: NDArray[np.int64],
    heap: list[tuple[int, Node]],
) -> None:
    """Decide a path by halves; nodes that do not comply wait, so that their other successors are looked at."""
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        node = path[middle]
        if counter.complies(node, conditions):
            tags[tuple(slice(level, None) for level in node)] = COMPLIES
            high = middle - 1
        else:
            tags[tuple(slice(None, level + 1) for level in node)] = FAILS
            heappush(heap, (int(order[node]), node))
            low = middle + 1


def best(counter: Counter, tags: NDArray[np.int8], losses: Losses, measure: str, told: Told = None) -> tuple[Node, float]:
    """The complying node with the least loss; of equal ones the first, by height and then by levels."""
    bounds = np.where(tags == COMPLIES, losses.bounds(measure), np.inf)
    height = np.indices(tags.shape).sum(axis=0)
    open_nodes = tags == COMPLIES
    least_loss: tuple[float, int, Node] | None = None
    waiting = int(open_nodes.sum())
    while open_nodes.any():
        least = bounds[open_nodes].min()
        if least_loss is not None and least > least_loss[0] * (1 + 1e-12):
            break
        level = np.where(open_nodes & (bounds == least), height, height.max() + 1)
        node: Node = tuple(int(each) for each in np.unravel_index(int(level.argmin()), tags.shape))
        open_nodes[node] = False
        rolled = counter.roll_up(node)
        loss = losses.loss(measure, rolled, counter.complying_groups(rolled))
        candidate = (loss, int(height[node]), node)
        least_loss = candidate if least_loss is None or candidate < least_loss else least_loss
        if measure not in FREE:
            everything = np.ones(len(rolled), dtype=np.bool_)
            above = tuple(slice(level, None) for level in node)
            bounds[above] = np.maximum(bounds[above], losses.loss(measure, rolled, everything))
        _tell(told, "comparing nodes", 1 - open_nodes.sum() / waiting)
    assert least_loss is not None  # noqa: S101  # there is a complying node
    return least_loss[2], least_loss[0]


def _tell(told: Told, what: str, share: float) -> None:
    if told is not None:
        told(what, float(share))


# --- local recoding ----------------------------------------------------------------------------------------------------------


LEFT = (Fraction(1, 2), Fraction(1, 5), Fraction(1, 20))  # shares of the rows that a pass may leave, tried in this order
MOST_PASSES = 50


def local(
    lattice: Lattice, conditions: Sequence[Condition], losses: Losses, measure: str, limit: int, told: Told = None
) -> Recoded:
    """The table after as many passes as publish rows; at most `limit` rows are suppressed.

    The rows left at the end may be too skewed for any group. Then passes that leave fewer rows are tried.
    """
    remaining = lattice.table.rows
    for share in (*LEFT, Fraction(limit, lattice.table.rows)):
        recoded = _passes(lattice, conditions, losses, measure, share, told)
        remaining = int(recoded.suppressed.sum()) if recoded is not None else remaining
        if recoded is not None and remaining <= limit:
            return recoded
    raise InvalidInput(
        f"local recoding leaves {remaining:,} rows that no generalization publishes, and {limit:,} may be suppressed; "
        "lower the requirement, or raise the suppression limit"
    )


def _passes(
    lattice: Lattice, conditions: Sequence[Condition], losses: Losses, measure: str, share: Fraction, told: Told
) -> Recoded | None:
    """The table after passes that may each leave a share of their rows; None if not even the first publishes any."""
    totals = {name: lattice.totals(name) for name in lattice.sensitive}
    rows = np.arange(lattice.table.rows)
    parts: list[tuple[Integers, Recoded]] = []
    levels = []
    while len(rows) and len(parts) < MOST_PASSES:
        here = replace(lattice, table=_only(lattice.table, rows), totals_given=totals)
        best_node = found_in(here, conditions, replace(losses, lattice=here), measure, int(share * len(rows)), told)
        if best_node is None:
            break
        recoded = full_domain(here, best_node.node, here.meets_all(here.roll_up(best_node.node), conditions))
        parts.append((rows, recoded))
        levels.append({"levels": dict(zip(lattice.quasi, best_node.node, strict=True)), "rows": len(rows) - best_node.suppressed})
        rows = rows[recoded.suppressed]
    return replace(join_parts(parts, lattice.table.rows), work={"passes": levels}) if parts else None


def _only(table: Table, rows: Integers) -> Table:
    """Some rows with all values of the columns, so that codes mean the same in every pass."""
    return Table(tuple(replace(column, codes=column.codes[rows]) for column in table.columns))
