"""k-neighbourhood anonymity of a social network: made, checked, measured and renamed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.publish.graphs.candidates import Candidates, candidates
from tacit.publish.graphs.graph import Graph, Integers
from tacit.publish.graphs.measures import utility
from tacit.publish.graphs.neighbourhoods.checker import check_k_neighbourhood, class_sizes
from tacit.publish.graphs.neighbourhoods.classes import MOST
from tacit.publish.graphs.neighbourhoods.labelled import Labels
from tacit.publish.graphs.neighbourhoods.limits import addition
from tacit.publish.graphs.neighbourhoods.rotating import Pairs
from tacit.publish.graphs.network import Network, Told, network_of
from tacit.publish.graphs.published import Published, generator
from tacit.publish.graphs.rows import build
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
    the label of every person by name, labels match as well, and are published at the lowest level of `hierarchy` that allows it.

    Neighbourhoods grow into each other while that is possible: not if more than `max_neighbourhood` contacts of a person to protect
    are, or become, connected with each other, and not without end. Failing that, edges are added until the graph can be turned onto
    itself in k ways, which protects all people and is possible for every graph; `work["way"]` says which way was used.

    >>> star = Graph.of_edges([0, 0, 0, 0, 1], [1, 2, 3, 4, 5], nodes=6)
    >>> made = k_neighbourhood(star, k=2, seed=1)
    >>> made.candidates[-1].smallest >= 2, made.utility.edges_deleted, made.banner
    (True, 0, 'not differentially private')
    """
    network, random = network_of(source), generator(seed)
    before, people = network.graph, None if only is None else _numbers(network, only)
    named = None if labels is None else Labels.of(network, labels, hierarchy)
    levels = [0] if named is None else named.levels(k, people)
    held_at = [None] if named is None else [named.codes[each] for each in levels]
    added = addition(before, k, people, held_at, max_neighbourhood, lambda share: _tell(told, "adding edges", 0.1 + 0.4 * share))
    level, codes, after = levels[added.level], held_at[added.level], _with(before, added.edges)
    _tell(told, "checking the result", 0.5)
    sizes = check_k_neighbourhood(*after.ends(), after.nodes, k, people, before.ends(), codes)
    _tell(told, "looking for people who can still be found", 0.6)
    now, then = _candidate_sets(after, sizes), _candidate_sets(before, class_sizes(*before.ends(), before.nodes, codes))
    use = utility(before, after, random)
    names = random.permutation(after.nodes).astype(np.int32)
    left, right = after.ends()
    out = build(names[left], names[right], after.nodes).graph
    chosen, held = None if people is None else names[people].tolist(), _renumber(codes, names)
    check_k_neighbourhood(*out.ends(), out.nodes, k, chosen, labels=held)
    work: dict[str, Any] = {"way": "turns" if added.rounds is None else "growth", "rounds": added.rounds or 0}
    work |= {"people_protected": after.nodes if people is None else len(people)}
    words = None if named is None or held is None else tuple(named.words[level][code] for code in held)
    work |= {} if named is None else {"label_level": level, "labels_published": len(set(words or ()))}
    return Published(out, network, "k-neighbourhood", _claim(k, people, named), k, now, then, use, work, words)


def _renumber(codes: list[int] | None, names: Any) -> list[int] | None:
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


def _with(graph: Graph, new: Pairs) -> Graph:
    left, right = graph.ends()
    return build(np.concatenate([left, new[:, 0]]), np.concatenate([right, new[:, 1]]), graph.nodes).graph


def _candidate_sets(graph: Graph, sizes: Integers) -> list[Candidates]:
    """The candidate sets of every knowledge, that of the neighbourhood last."""
    return [*candidates(graph), Candidates("N", sizes)]
