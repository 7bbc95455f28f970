"""The checker of k-neighbourhood anonymity: it sees the edges that are to be published, and shares no code with what made them.

Neighbourhoods are sorted by marks that isomorphic ones share. Within a mark, each is compared with one of every class so far by a
search for an isomorphism, node by node with backtracking. Codes are not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tacit.errors import InvalidInput, LawViolated

CHECK = "the check of the published graph"
DEFECT = "nothing is written, and this is a defect to report"
MOST_STEPS = 1_000_000  # of a comparison of two components; graphs of people need about one for each node
Table = dict[int, frozenset[int]]


def check_k_neighbourhood(
    left: Any,
    right: Any,
    nodes: int,
    k: int,
    only: Collection[int] | None = None,
    kept: tuple[Any, Any] | None = None,
    labels: Sequence[int] | None = None,
) -> None:
    """Raise unless the edges are a simple graph that holds all of `kept`, and everybody (or all in `only`) is in a class of k.

    With `labels`, a number for each person, neighbourhoods and people are alike only if their labels match.

    >>> check_k_neighbourhood([0, 1, 2], [1, 2, 0], nodes=3, k=3)
    """
    pairs = [(min(pair), max(pair)) for pair in zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True)]
    if any(low < 0 or high >= nodes for low, high in pairs):
        raise LawViolated(CHECK, f"an edge leads to nobody; {DEFECT}")
    if any(low == high for low, high in pairs):
        raise LawViolated(CHECK, f"a person is their own neighbour; {DEFECT}")
    present = set(pairs)
    if len(present) < len(pairs):
        raise LawViolated(CHECK, f"an edge is repeated; {DEFECT}")
    if kept is not None and not present.issuperset(zip(*(np.asarray(side).tolist() for side in kept), strict=True)):
        raise LawViolated(CHECK, f"an edge of the original is missing; {DEFECT}")
    sizes = class_sizes(left, right, nodes, labels)
    smallest = min((int(sizes[person]) for person in (range(nodes) if only is None else only)), default=k)
    if smallest < k:
        raise LawViolated(CHECK, f"only {smallest:,} of the people have some neighbourhood, and k is {k:,}; {DEFECT}")


def class_sizes(left: Any, right: Any, nodes: int, labels: Sequence[int] | None = None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For every person, how many people have a neighbourhood that is isomorphic to theirs, themselves included.

    >>> class_sizes([0, 1], [1, 2], nodes=3).tolist()
    [2, 1, 2]
    """
    contacts: list[set[int]] = [set() for _ in range(nodes)]
    for one, two in zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True):
        contacts[one].add(two)
        contacts[two].add(one)
    held, sizes = labels if labels is not None else [0] * nodes, np.zeros(nodes, dtype=np.int64)
    for people in _sorted_by(range(nodes), lambda person: _first_mark(contacts, person, held)):
        for members in _divided(contacts, people, held):
            sizes[members] = len(members)
    return sizes


def _sorted_by(people: Collection[int], mark: Any) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for person in people:
        found.setdefault(mark(person), []).append(person)
    return list(found.values())


def _first_mark(contacts: list[set[int]], person: int, labels: Sequence[int]) -> tuple[Any, ...]:
    """The person's label, and of all contacts the labels and degrees within the neighbourhood; without edges this says all."""
    own = contacts[person]
    return labels[person], *sorted(Counter((labels[each], len(contacts[each] & own)) for each in own).items())


def _divided(contacts: list[set[int]], people: list[int], labels: Sequence[int]) -> list[list[int]]:
    """People with one first mark, divided into classes."""
    if len(people) == 1 or not _table(contacts, people[0]):
        return [people]
    tables = {person: _table(contacts, person) for person in people}
    tints = {person: _tints(tables[person], labels) for person in people}
    found: list[list[int]] = []
    for group in _sorted_by(people, lambda person: tuple(sorted(tints[person].values()))):
        classes: list[list[int]] = []
        for person in group:
            for members in classes:
                if _isomorphic(tables[members[0]], tints[members[0]], tables[person], tints[person]):
                    members.append(person)
                    break
            else:
                classes.append([person])
        found += classes
    return found


def _table(contacts: list[set[int]], person: int) -> Table:
    """The neighbourhood without the contacts who know none of the others: these are alike in all of one first mark."""
    own = contacts[person]
    return {each: frozenset(near) for each in own if (near := contacts[each] & own)}


def _tints(table: Table, labels: Sequence[int]) -> dict[int, int]:
    """A number for every node that depends on labels and structure within three steps alone."""
    tints = {node: hash((labels[node], len(near))) for node, near in table.items()}
    for _ in range(3):
        tints = {node: hash((tints[node], tuple(sorted(tints[each] for each in near)))) for node, near in table.items()}
    return tints


def _isomorphic(one: Table, tints: dict[int, int], two: Table, others: dict[int, int]) -> bool:
    """Whether the components of two neighbourhoods are isomorphic in pairs. Any of its like will do."""
    free = _pieces(two)
    for piece in _pieces(one):
        for index, other in enumerate(free):
            if len(piece) == len(other) and _piece_fits(piece, tints, other, others):
                del free[index]
                break
        else:
            return False
    return not free


def _pieces(table: Table) -> list[Table]:
    """The connected components."""
    found, left = [], dict(table)
    while left:
        edge, piece = {next(iter(left))}, Table()
        while edge:
            piece.update((node, left.pop(node)) for node in edge)
            edge = {near for node in edge for near in piece[node]} & left.keys()
        found.append(piece)
    return found


def _piece_fits(one: Table, tints: dict[int, int], two: Table, others: dict[int, int]) -> bool:
    """Whether some map keeps edges, non-edges and tints. Nodes are placed along edges, rare tints first."""
    order = _walk(one, tints)
    choices: dict[int, list[int]] = {}
    for node in two:
        choices.setdefault(others[node], []).append(node)
    placed: dict[int, int] = {}
    used: set[int] = set()
    steps = 0
    options = [iter(choices.get(tints[order[0]], []))]
    while options:
        depth = len(options) - 1
        node = order[depth]
        used.discard(placed.pop(node, -1))
        steps += 1
        if steps > MOST_STEPS:
            raise InvalidInput(
                f"the result cannot be checked: two neighbourhoods of {len(one):,} people were compared in {MOST_STEPS:,} steps "
                "without a decision; protect fewer people with --only"
            )
        for image in options[-1]:
            if image not in used and _fits(node, image, one, two, placed):
                placed[node] = image
                used.add(image)
                break
        else:
            options.pop()
            continue
        if depth + 1 == len(order):
            return True
        options.append(iter(choices.get(tints[order[depth + 1]], [])))
    return False


def _fits(node: int, image: int, one: Table, two: Table, placed: dict[int, int]) -> bool:
    return all((seen in one[node]) == (there in two[image]) for seen, there in placed.items())


def _walk(table: Table, tints: dict[int, int]) -> list[int]:
    rare: dict[int, int] = {}
    for node in table:
        rare[tints[node]] = rare.get(tints[node], 0) + 1
    order: list[int] = []
    reached: set[int] = set()
    waiting = set(table)
    while waiting:
        node = min(waiting & reached or waiting, key=lambda each: (rare[tints[each]], each))
        order.append(node)
        waiting.discard(node)
        reached |= table[node]
    return order
