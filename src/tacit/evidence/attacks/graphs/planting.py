"""From the attacker's plan to the published graph: a secret pattern, planted before the names are taken off.

The accounts that an attacker plants in a graph before it is published: a secret pattern between them, and links to targets.

The accounts form a path, and every other pair of them is linked by a fair coin. Each target gets a set of accounts of its own, and
links to strangers bring every account to the degree that was drawn for it (Backstrom, Dwork and Kleinberg 2007). A plan is refused
or drawn again if it could not be found again for certain:

* the pattern must match itself in one way only, degrees included;
* the accounts of a target or of a stranger must not be the neighbours of some account, or the person could be mistaken for it;
* strangers are linked once and targets at least twice, so that no stranger is mistaken for a target.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, log2

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.publish.graphs.graph import MOST_NODES, Graph, Integers

FEWEST = 4  # accounts; with three, the accounts of any target are the neighbours of an account
SUBSET_SIZES = (2, 3)  # accounts linked to one target
MOST_DRAWS = 300  # of a pattern; with seven accounts or more a few suffice
DEGREES = (20, 60)  # the links of one account to people; few people have as many, and no account stands out

Pattern = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The attacker's secret: the links between accounts, the accounts of every target, and the strangers of every account."""

    internal: Pattern
    targets: Integers
    subsets: tuple[tuple[int, ...], ...]
    strangers: tuple[tuple[int, ...], ...]

    @property
    def accounts(self) -> int:
        """How many accounts the attacker registers."""
        return len(self.internal)

    @property
    def degrees(self) -> Integers:
        """The number of links of every account: to accounts, to targets and to strangers."""
        return np.asarray(self.internal.sum(axis=1) + outside(self), dtype=np.int64)


def outside(plan: Plan) -> Integers:
    """The number of links of every account to people."""
    linked = np.array([account for subset in plan.subsets for account in subset], dtype=np.int64)
    strangers = np.array([len(row) for row in plan.strangers], dtype=np.int64)
    return np.asarray(np.bincount(linked, minlength=plan.accounts) + strangers, dtype=np.int64)


def proved_accounts(nodes: int, delta: float = 0.0) -> int:
    """(2 + delta) log2 N, rounded down: with more accounts the pattern is unique in any graph of N nodes with high probability.

    Backstrom, Dwork and Kleinberg 2007, Theorem 2.1; delta is any positive constant, so at 0 this is what the proof needs at least.

    >>> proved_accounts(4_400_000)
    44
    """
    return int((2 + delta) * log2(max(nodes, 2)))


def self_matches(internal: Pattern, degrees: Integers, most: int = 2) -> int:
    """In how many ways the pattern matches itself with the degrees respected, counted up to `most`; the identity is one.

    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> self_matches(path, np.array([5, 9, 5])), self_matches(path, np.array([5, 9, 6]))
    (2, 1)
    """
    count, accounts = 0, len(internal)
    stack: list[tuple[int, ...]] = [()]
    while stack and count < most:
        image = stack.pop()
        here = len(image)
        if here == accounts:
            count += 1
            continue
        for other in range(accounts):
            fits = other not in image and degrees[other] == degrees[here]
            if fits and all(internal[image[earlier], other] == internal[earlier, here] for earlier in range(here)):
                stack.append((*image, other))
    return count


def mistakable(internal: Pattern, subset: tuple[int, ...]) -> bool:
    """Whether a target linked to these accounts has the links of some account, and could be taken for it."""
    linked = np.zeros(len(internal), dtype=bool)
    linked[list(subset)] = True
    return any(
        np.array_equal(np.where(np.arange(len(internal)) == place, False, linked), row) for place, row in enumerate(internal)
    )


def clear(internal: Pattern, degrees: Integers) -> bool:
    """Whether nothing but the pattern looks like it: one self-match, and no account that a person with one link could stand for."""
    one_link = any(mistakable(internal, (account,)) for account in range(len(internal)))
    return not one_link and self_matches(internal, degrees) == 1


def walk_plan(nodes: int, accounts: int, aims: Integers, seed: int = 0, degrees: tuple[int, int] = DEGREES) -> Plan:
    """A plan of the walk-based attack on the people `aims`: each is linked to two or three accounts that no other target has.

    >>> plan = walk_plan(5000, accounts=10, aims=np.arange(50), seed=1)
    >>> len(set(plan.subsets)), self_matches(plan.internal, plan.degrees), bool(20 <= outside(plan).min())
    (50, 1, True)
    """
    (low, high), targets = degrees, len(aims)
    _check(nodes, accounts, aims)
    if not 1 <= low <= high:
        raise InvalidInput(f"invalid external degrees {low}:{high}: the first must be at least 1 and at most the second")
    most = sum(comb(accounts, size) for size in SUBSET_SIZES)
    if targets > most:
        raise InvalidInput(f"{accounts} accounts have {most} sets of two or three; plant more accounts, or aim at {most} targets")
    rng = np.random.default_rng([seed, accounts, 0])
    for _ in range(MOST_DRAWS if SUBSET_SIZES[0] * targets <= accounts * high else 0):
        internal, wanted = _draw(accounts, rng), rng.integers(low, high, accounts, endpoint=True)
        if not clear(internal, internal.sum(axis=1) + wanted):
            continue
        subsets = _subsets(internal, wanted, targets, rng)
        if subsets is not None:
            return _with_strangers(nodes, (internal, wanted), aims, subsets, rng)
    raise InvalidInput(
        f"{targets} targets do not fit: {accounts} accounts have {low} to {high} links to people each; "
        "raise --degrees, plant more accounts, or aim at fewer targets"
    )


def simple_plan(nodes: int, aims: Integers, seed: int = 0) -> Plan:
    """A plan of the simple form: one account for every target, linked to it and to no other person.

    >>> plan = simple_plan(5000, aims=np.arange(12), seed=1)
    >>> plan.subsets[:3], self_matches(plan.internal, plan.degrees)
    (((0,), (1,), (2,)), 1)
    """
    accounts = len(aims)
    _check(nodes, accounts, aims)
    rng = np.random.default_rng([seed, len(aims), 1])
    subsets = tuple((account,) for account in range(accounts))
    wanted = np.ones(accounts, dtype=np.int64)
    for _ in range(MOST_DRAWS):
        internal = _draw(accounts, rng)
        if clear(internal, internal.sum(axis=1) + wanted):
            return _with_strangers(nodes, (internal, wanted), aims, subsets, rng)
    raise InvalidInput(f"no pattern of {accounts} accounts matches itself in one way only; plant at least 8 accounts")


def _check(nodes: int, accounts: int, aims: Integers) -> None:
    if accounts < FEWEST:
        raise InvalidInput(f"an attack needs at least {FEWEST} accounts, not {accounts}")
    if not 1 <= len(aims) <= nodes or len(np.unique(aims)) < len(aims) or aims.min() < 0 or aims.max() >= nodes:
        raise InvalidInput(f"targets must be different people, from 1 to {nodes:,} of them", argument="targets")


def _draw(accounts: int, rng: np.random.Generator) -> Pattern:
    """A path, and every other pair by a fair coin."""
    above = np.triu(rng.integers(0, 2, (accounts, accounts), dtype=np.int8).astype(bool), 2) | np.eye(accounts, k=1, dtype=bool)
    return above | above.T


def _subsets(internal: Pattern, wanted: Integers, targets: int, rng: np.random.Generator) -> tuple[tuple[int, ...], ...] | None:
    """Distinct sets of accounts, within the links that each account has; None if they do not suffice."""
    left = wanted.copy()
    subsets: list[tuple[int, ...]] = []
    every = [subset for size in SUBSET_SIZES for subset in combinations(range(len(internal)), size)]
    for place in rng.permutation(len(every)):
        subset = every[place]
        if len(subsets) == targets:
            break
        if all(left[list(subset)] > 0) and not mistakable(internal, subset):
            left[list(subset)] -= 1
            subsets.append(subset)
    return tuple(subsets) if len(subsets) == targets else None


def _with_strangers(
    nodes: int, drawn: tuple[Pattern, Integers], aims: Integers, subsets: tuple[tuple[int, ...], ...], rng: np.random.Generator
) -> Plan:
    """Strangers for the links that are still missing: every one another person, and none of them a target."""
    internal, wanted = drawn
    lacking = wanted - np.bincount(np.array([account for subset in subsets for account in subset]), minlength=len(internal))
    needed = len(aims) + int(lacking.sum())
    if needed > nodes:
        raise InvalidInput(
            f"the plan needs {needed:,} different people and the graph has {nodes:,}; lower --degrees, or plant fewer accounts"
        )
    drawn_people = rng.choice(nodes, needed, replace=False)
    people = drawn_people[~np.isin(drawn_people, aims)][: needed - len(aims)].tolist()
    ends = np.cumsum(lacking).tolist()
    strangers = tuple(tuple(people[end - many : end]) for end, many in zip(ends, lacking.tolist(), strict=True))
    return Plan(internal, np.array(aims, dtype=np.int64), subsets, strangers)


# --- from the attacker's plan to the published graph -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A graph under random labels; `label_of[v]` is the label of node v, which only the publisher knows."""

    graph: Graph
    label_of: Integers


def plant(graph: Graph, plan: Plan) -> Graph:
    """The graph with the accounts behind its nodes: account i is node `graph.nodes + i`.

    An account has a larger number than every person, so that its links stand at the ends of people's rows: the rows in between are
    copied as they are, and a plan costs one copy of the graph whatever its size.
    """
    people, accounts = graph.nodes, plan.accounts
    if people + accounts > MOST_NODES:
        raise InvalidInput(f"a graph has at most {MOST_NODES:,} nodes, accounts included")
    pairs = [(int(person), account) for person, subset in zip(plan.targets, plan.subsets, strict=True) for account in subset]
    pairs += [(person, account) for account, row in enumerate(plan.strangers) for person in row]
    linked = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    rows: list[np.ndarray] = []
    before = 0
    for person, account in linked:
        end = int(graph.offsets[person + 1])
        rows += [graph.targets[before:end], np.array([people + account], dtype=np.int32)]
        before = end
    rows.append(graph.targets[before:])
    for account in range(accounts):
        inside = people + np.flatnonzero(plan.internal[account])
        rows.append(np.concatenate([linked[linked[:, 1] == account, 0], inside]).astype(np.int32))
    added = np.bincount(linked[:, 0], minlength=people)
    degrees = np.concatenate([graph.degrees + added, plan.degrees])
    return Graph(np.concatenate([[0], np.cumsum(degrees)]), np.concatenate(rows))


def relabel(graph: Graph, seed: int = 0) -> Published:
    """Naive anonymization: the same graph, its nodes in random order.

    >>> path = Graph.of_edges([0, 1], [1, 2], nodes=3)
    >>> published = relabel(path, seed=3)
    >>> sorted(published.graph.degrees.tolist()), published.graph.has_edge(*published.label_of[:2].tolist())
    ([1, 1, 2], True)
    """
    from tacit.evidence.attacks.graphs.loops import relabel_rows

    node_of = np.random.default_rng([seed, 3]).permutation(graph.nodes)
    label_of = np.empty_like(node_of)
    label_of[node_of] = np.arange(graph.nodes)
    return Published(Graph(*relabel_rows(graph.offsets, graph.targets, label_of, node_of)), label_of)


def disturb(graph: Graph, share: float, seed: int = 0) -> Graph:
    """The graph with a share of its edges removed at random, and as many random edges added.

    >>> graph = Graph.of_edges([0, 1, 2, 3], [1, 2, 3, 4], nodes=100)
    >>> disturb(graph, 0.5).edges
    4
    """
    from tacit.publish.graphs.rows import build

    if not 0 <= share <= 1:
        raise InvalidInput("the share of edges to change must be from 0 to 1")
    rng = np.random.default_rng([seed, 4])
    left, right = graph.ends()
    many = round(share * graph.edges)
    gone = rng.choice(graph.edges, many, replace=False)
    before = left * graph.nodes + right
    added = np.empty(0, dtype=np.int64)
    room = graph.nodes * (graph.nodes - 1) // 2 - graph.edges
    while len(added) < min(many, room):
        ends = np.sort(rng.integers(0, graph.nodes, (2 * many + 16, 2)), axis=1)
        drawn = ends[ends[:, 0] < ends[:, 1]] @ np.array([graph.nodes, 1])
        added = np.unique(np.concatenate([added, np.setdiff1d(drawn, before)]))
    pairs = np.concatenate([np.delete(before, gone), rng.permutation(added)[:many]])
    return build(*np.divmod(pairs, max(graph.nodes, 1)), graph.nodes).graph


def k_degree(graph: Graph, k: int, seed: int = 0) -> Graph:
    """The graph with edges added until at least k people share every degree, its nodes in the same order."""
    from tacit.publish.graphs.k_degree import supergraph

    return supergraph(graph, k, np.random.default_rng([seed, 8]))[0]


def k_neighbourhood(graph: Graph, k: int, seed: int = 0) -> Graph:
    """The graph with edges added until k people share every neighbourhood, its nodes in the same order; nothing is drawn.

    >>> k_neighbourhood(Graph.of_edges([0, 1], [1, 2], nodes=4), k=2).edges
    4
    """
    from tacit.publish.graphs.neighbourhoods.limits import addition

    added = addition(graph, k).edges
    left, right = graph.ends()
    return Graph.of_edges(np.concatenate([left, added[:, 0]]), np.concatenate([right, added[:, 1]]), graph.nodes)


def sized_groups(graph: Graph, k: int, seed: int = 0) -> Graph:
    """A graph with the numbers that a k-sized grouping publishes, drawn uniformly; each node stands in its own group.

    The publication itself has no nodes to search, so the attacker searches one of the equally likely graphs.

    >>> ring = Graph.of_edges([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0], nodes=6)
    >>> drawn = sized_groups(ring, k=3)
    >>> drawn.nodes, drawn.edges
    (6, 6)
    """
    from tacit.publish.graphs.supernodes.annealing import anneal
    from tacit.publish.graphs.supernodes.blocks import blocks_of
    from tacit.publish.graphs.supernodes.published import Supergraph, publish
    from tacit.publish.graphs.supernodes.worlds import sampled

    if not 2 <= k <= max(graph.nodes, 2):
        raise InvalidInput(f"k must be from 2 to the number of nodes, not {k}", argument="k")
    groups = anneal(graph, k, seed).groups
    publish(graph, groups, k)  # checks the grouping
    world = sampled(Supergraph(blocks_of(graph, groups), k), seed)
    node_of = np.argsort(groups, kind="stable")  # a world numbers the nodes of the first group first
    left, right = world.ends()
    return Graph.of_edges(node_of[left], node_of[right], graph.nodes)
