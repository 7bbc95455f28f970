"""Graphs so small that every pair of neighbours is tried, under edge and under node privacy, and wrong ones planted among them.

Numbers with independent noise tell most at the output that is worst for each of them. The order in which a projection adds edges
is that of a key, and neighbours share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from importlib.util import find_spec
from itertools import combinations
from math import log
from typing import Any

import numpy as np

from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.mechanisms.laplace import Laplace
from tacit.privacy.law import worst_log_ratio
from tacit.privacy.rounding import as_text
from tacit.publish.graphs.graph import Graph

EDGES, TRIANGLES = "Graphs, edges and degrees, on every edge", "Graphs, a bound of triangles, on every edge"
STARS = "Graphs, edges and stars of a cut graph, on every person"
DEGREES = "Graphs, a histogram of degrees, on every person"
PEOPLE, THETA, EPSILON, TOLERANCE = 4, 2, Fraction(1), 1e-9
KEYS = (b"one", b"another")
Links = tuple[tuple[int, int], ...]
Told = Callable[[Links, Links], float]


def _graph(links: Links) -> Graph:
    return Graph.of_edges([left for left, _ in links], [right for _, right in links], PEOPLE)


def _graphs() -> list[Links]:
    pairs = list(combinations(range(PEOPLE), 2))
    return [links for size in range(len(pairs) + 1) for links in combinations(pairs, size)]


def one_edge() -> Iterator[tuple[Links, Links]]:
    """Every graph of four people, with each of its edges and without it."""
    yield from ((links, tuple(each for each in links if each != edge)) for links in _graphs() for edge in links)


def one_node() -> Iterator[tuple[Links, Links]]:
    """Every graph of four people, with each of them and without all edges of that one: a person without edges is in no file."""
    yield from ((links, tuple(each for each in links if person not in each)) for links in _graphs() for person in range(PEOPLE))


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest loss over all pairs of neighbours, against epsilon 1."""

    pairs: Callable[[], Iterator[tuple[Links, Links]]]
    told: Told

    def check(self) -> Check:
        """The largest loss, and whether it is within the claim."""
        worst, claim = max(self.told(one, other) for one, other in self.pairs()), float(EPSILON)
        said = f"one more is distinguished by epsilon {worst:.4g}, where {as_text(EPSILON)} is claimed"
        return Check("loss", worst <= claim * (1 + TOLERANCE), said, worst, worst / claim)


@cache
def _ratio(noise: Laplace, moved: int) -> float:
    alone = noise.resized(1)
    return float(max(worst_log_ratio(alone.law(0), alone.law(moved)), worst_log_ratio(alone.law(moved), alone.law(0))))


def _apart(noise: Laplace, one: Any, other: Any) -> float:
    moved = np.abs(np.atleast_1d(one) - np.atleast_1d(other))
    return sum(_ratio(noise, int(each)) for each in moved if each)


def _of_edges(one: Links, other: Links) -> float:
    """The number of edges, and the degrees in order: whichever tells more."""
    from tacit.publish.graphs.private.counting import EdgeCount
    from tacit.publish.graphs.private.degrees import DegreeSequence, sorted_degrees

    count, degrees = EdgeCount(PEOPLE, EPSILON), DegreeSequence(PEOPLE, EPSILON)
    of_degrees = _apart(degrees.mechanism, *(sorted_degrees(_graph(links), PEOPLE) for links in (one, other)))
    return max(of_degrees, _apart(count.mechanism, _graph(one).edges, _graph(other).edges))


def triangles_are_smooth(bound: Callable[[Graph], Fraction] | None = None) -> Check:
    """How much the bound on the sensitivity of triangles grows with one edge, in parts of beta; and it is a bound."""
    from tacit.publish.graphs.private.counting import TriangleCount

    triangles = TriangleCount(PEOPLE, EPSILON)
    statistics = {links: triangles.statistic(_graph(links)) for links in _graphs()}
    bounds = {links: bound(_graph(links)) if bound else own_bound for links, (_, own_bound) in statistics.items()}
    moved = max(abs(statistics[one][0] - statistics[other][0]) / bounds[each] for one, other in one_edge() for each in (one, other))
    worst = max(abs(log(bounds[one] / bounds[other])) for one, other in one_edge())
    share = max(float(moved), worst / float(triangles.beta))
    said = f"one edge moves the triangles, or the bound of that, by {share:.4g} of what is claimed"
    return Check("smoothness", share <= 1 + TOLERANCE, said, share, share)


def _of_histogram(noise: Laplace | None, one: Links, other: Links) -> float:
    from tacit.publish.graphs.private.histogram import DegreeHistogram, projected_histogram

    made, names = DegreeHistogram(THETA, EPSILON), np.arange(PEOPLE)
    exact = ([projected_histogram(_graph(links), names, THETA, key)[1:] for links in (one, other)] for key in KEYS)
    return max(_apart(noise or made.mechanism, *both) for both in exact)


def _of_cut(noise: Laplace | None, one: Links, other: Links) -> float:
    """The numbers of edges, and of stars of two: whichever tells more."""
    from tacit.publish.graphs.private.histogram import CutCount, projected_histogram, stars_in

    names, worst = np.arange(PEOPLE), 0.0
    for points in (1, 2):
        made = noise or CutCount(THETA, points, EPSILON).mechanism
        for key in KEYS:
            exact = [stars_in(projected_histogram(_graph(links), names, THETA, key), points) for links in (one, other)]
            worst = max(worst, _apart(made, *exact))
    return worst


def cases() -> list[Exhaustive]:
    """Edge and node privacy; none without Numba, which graphs require."""
    if find_spec("numba") is None:
        return []
    return [
        _case(EDGES, Largest(one_edge, _of_edges)),
        Exhaustive(TRIANGLES, "1 times beta", triangles_are_smooth),
        _case(DEGREES, Largest(one_node, partial(_of_histogram, None))),
        _case(STARS, Largest(one_node, partial(_of_cut, None))),
    ]


def _case(name: str, largest: Largest) -> Exhaustive:
    return Exhaustive(name, f"epsilon {as_text(EPSILON)}", largest.check)


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    people, local = f"{EDGES}, a person who leaves (planted)", f"{TRIANGLES}, common neighbours alone (planted)"
    yield "person", (EDGES, _case(people, Largest(one_node, _of_edges)))
    yield "local", (TRIANGLES, Exhaustive(local, "1 times beta", partial(triangles_are_smooth, _common)))
    alone = Laplace(1, EPSILON, step=1, on_grid=True)
    yield "star", (STARS, _case(f"{STARS}, noise for one edge alone (planted)", Largest(one_node, partial(_of_cut, alone))))
    few = Laplace(THETA, EPSILON, step=1, dimension=THETA, on_grid=True)
    yield "theta", (DEGREES, _case(f"{DEGREES}, noise for theta alone (planted)", Largest(one_node, partial(_of_histogram, few))))


def _common(graph: Graph) -> Fraction:
    """The local sensitivity, which one edge can double."""
    from tacit.publish.graphs.private.counting import triangles_and_shared

    return max(Fraction(1), Fraction(int(triangles_and_shared(graph.offsets, graph.targets)[1])))
