"""The checker of k-neighbourhood anonymity: it sees the edges that are to be published, and shares no code with the methods that
made them.

Neighbourhoods are sorted by marks that isomorphic ones share. Within a mark, each is compared with one of every class so far by a
search for an isomorphism: a node of one is set against each that it could be in the other, tints are refined in both, and the map
that tints leave is checked edge by edge. Codes are not used. A search that is given up counts as a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tacit.errors import LawViolated

CHECK = "the check of the published graph"
DEFECT = "nothing is written, and this is a defect to report"
MOST_STEPS = 2_000  # nodes that are set against another in a comparison of two components; graphs of people need a few
Table = dict[int, frozenset[int]]


def check_k_neighbourhood(
    left: Any,
    right: Any,
    nodes: int,
    k: int,
    only: Collection[int] | None = None,
    kept: tuple[Any, Any] | None = None,
    labels: Sequence[int] | None = None,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Raise unless the edges are a simple graph that holds all of `kept`, and each person (or each in `only`) is in a class of k.

    With `labels`, a number for each person, neighbourhoods and people are alike only if their labels match. Returns the size of
    each person's class.

    >>> check_k_neighbourhood([0, 1, 2], [1, 2, 0], nodes=3, k=3).tolist()
    [3, 3, 3]
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
    return sizes


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
        for members in _divide(contacts, people, held):
            sizes[members] = len(members)
    return sizes


def _sorted_by(people: Collection[int], mark: Any) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for person in people:
        groups.setdefault(mark(person), []).append(person)
    return list(groups.values())


def _first_mark(contacts: list[set[int]], person: int, labels: Sequence[int]) -> tuple[Any, ...]:
    """The person's label, and of all contacts the labels and degrees within the neighbourhood; without edges this says all."""
    own = contacts[person]
    return labels[person], *sorted(Counter((labels[each], len(contacts[each] & own)) for each in own).items())


def _divide(contacts: list[set[int]], people: list[int], labels: Sequence[int]) -> list[list[int]]:
    """People with one first mark, divided into classes."""
    if len(people) == 1 or not _table(contacts, people[0]):
        return [people]
    tables = {person: _table(contacts, person) for person in people}
    tints = {person: _tints(tables[person], labels) for person in people}
    all_classes: list[list[int]] = []
    for group in _sorted_by(people, lambda person: tuple(sorted(tints[person].values()))):
        classes: list[list[int]] = []
        for person in group:
            for members in classes:
                if _isomorphic(tables[members[0]], tints[members[0]], tables[person], tints[person]):
                    members.append(person)
                    break
            else:
                classes.append([person])
        all_classes += classes
    return all_classes


def _table(contacts: list[set[int]], person: int) -> Table:
    """The neighbourhood without the contacts who know none of the others: these are alike in all of one first mark."""
    own = contacts[person]
    return {each: frozenset(near) for each in own if (near := contacts[each] & own)}


def _tints(table: Table, labels: Sequence[int]) -> dict[int, int]:
    """A number for every node that depends on labels and structure within three steps alone."""
    tints = {node: hash((labels[node], len(near))) for node, near in table.items()}
    for _ in range(3):
        tints = _next(table, tints)
    return tints


def _next(table: Table, tints: dict[int, int]) -> dict[int, int]:
    """The tints with those of the neighbours, whose order does not count."""
    return {node: hash((tints[node], sum(map(tints.__getitem__, near)))) for node, near in table.items()}


def _refine(table: Table, tints: dict[int, int]) -> dict[int, int]:
    """The tints after as many further steps as tell more nodes apart."""
    count = 0
    while count < (now := len(set(tints.values()))):
        count, tints = now, _next(table, tints)
    return tints


def _isomorphic(one: Table, tints: dict[int, int], two: Table, others: dict[int, int]) -> bool:
    """Whether the components of two neighbourhoods are isomorphic in pairs. Any of its like will do."""
    free: dict[tuple[int, ...], list[Table]] = {}
    for piece in _pieces(two):
        free.setdefault(_mark(piece, others), []).append(piece)
    for piece in _pieces(one):
        alike = free.get(_mark(piece, tints), [])
        place = next((at for at, other in enumerate(alike) if _piece_fits(piece, tints, other, others)), None)
        if place is None:
            return False
        del alike[place]
    return not any(free.values())


def _mark(piece: Table, tints: dict[int, int]) -> tuple[int, ...]:
    return tuple(sorted(map(tints.__getitem__, piece)))


def _pieces(table: Table) -> list[Table]:
    """The connected components."""
    pieces, left = [], dict(table)
    while left:
        edge, piece = {next(iter(left))}, Table()
        while edge:
            piece.update((node, left.pop(node)) for node in edge)
            edge = {near for node in edge for near in piece[node]} & left.keys()
        pieces.append(piece)
    return pieces


def _piece_fits(one: Table, tints: dict[int, int], two: Table, others: dict[int, int]) -> bool:
    """Whether some map keeps edges, non-edges and tints; False if a search of MOST_STEPS steps finds none."""
    left, right = ({node: kept[node] for node in piece} for piece, kept in ((one, tints), (two, others)))
    waiting, steps = [(left, right)], 0
    while waiting:
        left, right = (_refine(piece, kept) for piece, kept in zip((one, two), waiting.pop(), strict=True))
        if sorted(left.values()) != sorted(right.values()):
            continue
        here, there = _cells(left), _cells(right)
        several = [tint for tint, nodes in here.items() if len(nodes) > 1 and not (_twins(one, nodes) and _twins(two, there[tint]))]
        if not several:
            if _keeps({node: image for tint in here for node, image in zip(here[tint], there[tint], strict=True)}, one, two):
                return True
            continue
        rare = min(several, key=lambda tint: (len(here[tint]), tint))
        steps += len(there[rare])
        if steps > MOST_STEPS:
            return False
        chosen = hash((rare, steps))
        waiting += [(left | {here[rare][0]: chosen}, right | {image: chosen}) for image in there[rare]]
    return False


def _cells(tints: dict[int, int]) -> dict[int, list[int]]:
    cells: dict[int, list[int]] = {}
    for node, tint in tints.items():
        cells.setdefault(tint, []).append(node)
    return cells


def _twins(table: Table, nodes: list[int]) -> bool:
    """Whether all have the same neighbours, themselves aside: then it is all the same which is which."""
    first = table[nodes[0]]
    if nodes[1] in first:
        return all(table[node] | {node} == first | {nodes[0]} for node in nodes)
    return all(table[node] == first for node in nodes)


def _keeps(images: dict[int, int], one: Table, two: Table) -> bool:
    return all({images[each] for each in near} == two[images[node]] for node, near in one.items())
