"""k-neighbourhood anonymity of a social network: made, checked, measured and renamed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.candidates import Candidates, candidates
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.measures import utility
from tacit.publish.graphs.neighbourhoods.anonymize import Growth
from tacit.publish.graphs.neighbourhoods.checker import check_k_neighbourhood, class_sizes
from tacit.publish.graphs.neighbourhoods.classes import MOST
from tacit.publish.graphs.neighbourhoods.labelled import Labels
from tacit.publish.graphs.neighbourhoods.limits import TooDense, grown
from tacit.publish.graphs.network import Network, Told, network_of
from tacit.publish.graphs.published import Published, generator
from tacit.publish.graphs.rows import built
from tacit.publish.tables.hierarchy import Hierarchy


def k_neighbourhood(
    source: Any,
    k: int,
    *,
    only: Collection[Any] | None = None,
    labels: Mapping[Any, str] | None = None,
    hierarchy: Hierarchy | None = None,
    max_neighbourhood: int = MOST,
    seed: int | None = None,
    told: Told = None,
) -> Published:
    """The graph with edges added until the contacts of every person are connected like those of at least k - 1 others.

    With `only`, the names of some people, the promise is for them alone; the others they look like may be anybody. With `labels`,
    the label of every person by name, labels match as well, and are published at the lowest level of `hierarchy` that allows it. A
    graph is refused if more than `max_neighbourhood` contacts of a person to protect are, or become, connected with each other.

    >>> star = Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6)
    >>> made = k_neighbourhood(star, k=2, seed=1)
    >>> made.candidates[-1].smallest >= 2, made.utility.edges_deleted, made.banner
    (True, 0, 'not differentially private')
    """
    network, random = network_of(source), generator(seed)
    before, people = network.graph, None if only is None else _numbers(network, only)
    named = None if labels is None else Labels.of(network, labels, hierarchy)
    growth, level = _grown(before, k, people, named, max_neighbourhood, told)
    codes = None if named is None else named.codes[level]
    after = _with(before, growth.classes.added)
    _tell(told, "checking the result", 0.5)
    check_k_neighbourhood(*after.ends(), after.nodes, k, people, before.ends(), codes)
    _tell(told, "looking for people who can still be found", 0.6)
    now, then, use = _known(after, codes), _known(before, codes), utility(before, after, random)
    names = random.permutation(after.nodes).astype(np.int32)
    left, right = after.ends()
    out = built(names[left], names[right], after.nodes).graph
    chosen, held = None if people is None else names[people].tolist(), _renamed(codes, names)
    check_k_neighbourhood(*out.ends(), out.nodes, k, chosen, labels=held)
    work = {"rounds": growth.rounds, "people_protected": after.nodes if people is None else len(people)}
    words = None if named is None or held is None else tuple(named.words[level][code] for code in held)
    work |= {} if named is None else {"label_level": level, "labels_published": len(set(words or ()))}
    return Published(out, network, "k-neighbourhood", _claim(k, people, named), k, now, then, use, work, words)


def _grown(graph: Graph, k: int, people: list[int] | None, named: Labels | None, most: int, told: Told) -> tuple[Growth, int]:
    """The growth, and the level of labels: the lowest that is not refused."""

    def tell(share: float) -> None:
        _tell(told, "adding edges", 0.1 + 0.4 * share)

    levels = [0] if named is None else named.levels(k, people)
    for level in levels[:-1]:
        try:
            return grown(graph, k, people, named.codes[level] if named else None, most, tell), level
        except TooDense:
            continue  # people with coarser labels are alike more often
    return grown(graph, k, people, named.codes[levels[-1]] if named else None, most, tell), levels[-1]


def _renamed(codes: list[int] | None, names: Any) -> list[int] | None:
    if codes is None:
        return None
    held = np.empty(len(codes), dtype=np.int64)
    held[names] = codes
    return [int(code) for code in held]


def _claim(k: int, people: list[int] | None, named: Labels | None) -> str:
    like = f"contacts are connected{' and labelled' if named else ''} like those of at least {k - 1:,} others"
    if people is None:
        return f"k-neighbourhood anonymity, k = {k:,}: every person's {like}"
    return f"k-neighbourhood anonymity of chosen people only, k = {k:,}: their {like}"


def _tell(told: Told, what: str, share: float) -> None:
    if told is not None:
        told(what, share)


def _numbers(network: Network, only: Collection[Any]) -> list[int]:
    """The numbers of the named people; refused if a name is not in the graph."""
    places = {str(name): place for place, name in enumerate(network.names.tolist())}
    wanted = {str(name) for name in only}
    missing = len(wanted - places.keys())
    if missing:
        raise InvalidInput(f"{missing:,} of the {len(wanted):,} people to protect are not in the graph; check their names")
    if not wanted:
        raise InvalidInput("the list of people to protect is empty; name at least one, or protect everybody")
    return sorted(places[name] for name in wanted)


def _with(graph: Graph, added: list[tuple[int, int]]) -> Graph:
    left, right = graph.ends()
    new = np.array(added, dtype=np.int64).reshape(-1, 2)
    return built(np.concatenate([left, new[:, 0]]), np.concatenate([right, new[:, 1]]), graph.nodes).graph


def _known(graph: Graph, codes: list[int] | None) -> list[Candidates]:
    """The candidate sets of every knowledge, that of the neighbourhood last."""
    return [*candidates(graph), Candidates("N", class_sizes(*graph.ends(), graph.nodes, codes))]
