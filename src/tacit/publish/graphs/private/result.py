"""A private release about a graph: the numbers, the relation that they protect, and the privacy loss paid. Nothing in it is
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.composition import loss
from tacit.accounting.events import Event
from tacit.accounting.ledger.ledger import Ledger
from tacit.errors import InvalidInput, WrongRelation
from tacit.privacy.loss import Neighbours
from tacit.privacy.rounding import as_text
from tacit.publish.graphs.graph import Integers
from tacit.publish.graphs.network import Network, network_of
from tacit.publish.graphs.private.counting import BOUND, EdgeCount, TriangleInterval
from tacit.publish.graphs.private.degrees import DegreeSequence, distribution
from tacit.publish.graphs.private.graphical import nearest_graphical
from tacit.publish.graphs.private.histogram import CutCount, DegreeHistogram
from tacit.publish.graphs.private.relations import EDGE, NODE
from tacit.publish.graphs.private.spending import Paid, relation_of, sell_release
from tacit.publish.graphs.private.theta import BoughtHistogram
from tacit.publish.graphs.saving import save_json
from tacit.release.certificates.certificate import Certificate
from tacit.release.certificates.ways import Way, stated_event
from tacit.release.curators import curators_page, listed, paragraph

AUTO = "auto"
FEW = 4  # edges of a person: a bought theta up to this says little about degrees
SMALL = (
    "; the bought theta is small, since the noise for a larger one would cost more than it shows: spend a larger epsilon, or give "
    "a theta that is known without the graph, for example --theta 20"
)
CONFIDENCE = Fraction(95, 100)
STATED = "the sensitivity of what is released of a graph (publish/graphs/private/private.md)"
PROTECTS = {
    EDGE: "one edge among a public number of people; a person with d edges is protected at d times epsilon",
    NODE: "one person with all edges",
}


@dataclass(frozen=True, slots=True, eq=False)
class PrivateRelease:
    """A differentially private release about a graph, under the relation that it names."""

    what: str
    values: Mapping[str, Any]
    event: Event
    relation: Neighbours
    note: str
    paid: Paid
    differentially_private: ClassVar[bool] = True

    @property
    def guarantee(self) -> str:
        """The relation and the epsilon, in words."""
        return f"Differentially private: {loss(self.event)}. Protects {PROTECTS[self.relation]}."

    def promise(self) -> dict[str, Any]:
        """The statement to every recipient of the release."""
        spent = loss(self.event)
        return {
            "kind": self.what,
            "differentially_private": True,
            "relation": str(self.relation),
            "epsilon": as_text(getattr(spent, "epsilon", Fraction(0))),
            "delta": as_text(spent.delta if hasattr(spent, "delta") else Fraction(0)),
            "protects": PROTECTS[self.relation],
            "note": self.note,
        }

    def to_dict(self) -> dict[str, Any]:
        """The release and its receipt."""
        return {**self.promise(), **self.values, "paid": self.paid.to_dict()}

    def lines(self) -> list[str]:
        """On the screen."""
        shown = [f"{name.replace('_', ' ')}: {_short(value)}" for name, value in self.values.items()]
        return [f"Released: {self.what}.", *shown, f"{self.note}.", self.guarantee, f"Recorded as entry {self.paid.entry}."]

    def save(self, out: Path) -> Path:
        """Write the release as JSON, and a receipt and a certificate beside it."""
        written = save_json(out, {**self.promise(), **self.values}, self.promise(), after="the release stays spent")
        self.paid.seal.beside(self.way, out)
        return written

    @property
    def certificate(self) -> Certificate:
        """Why the price of the release is right, signed; that of a file has its hash, too."""
        return self.paid.seal.of(self.way)

    @property
    def way(self) -> Way:
        """The content of the certificate: the mechanisms, and their sensitivity as the proof page states it."""
        made = Way("graph", self.what, {"what": self.what, "note": self.note}, stated=[STATED])
        return stated_event(made, "stated-for-graphs", self.event, {"what": self.what})

    def page(self) -> str:
        """The release as a page of HTML."""
        return curators_page("A private release about a graph", paragraph(self.guarantee) + listed(self.lines()))


def _short(value: Any) -> str:
    if not isinstance(value, list):
        return f"{value:,}"
    shown = ", ".join(f"{each:,}" for each in value[:12])
    return shown if len(value) <= 12 else f"{shown}, ... ({len(value):,} numbers)"


def release_degrees(
    source: Any, ledger: Ledger, epsilon: Any, nodes: int | None = None, theta: int | str | None = None, repair: bool = False
) -> PrivateRelease:
    """The degree sequence from a ledger of edges, or the projected degree histogram from a ledger of nodes.

    `theta="auto"` buys theta with a quarter of epsilon. `repair` releases the nearest degrees that some graph has.
    """
    if relation_of(ledger) == EDGE:
        _refuse_theta(theta)
        return _sequence(source, ledger, epsilon, nodes, repair)
    if nodes is not None:
        raise InvalidInput("the number of people is private with a ledger of nodes; leave out --nodes")
    if theta == AUTO:
        return _histogram_with_choice(source, ledger, epsilon, repair)
    return _histogram(source, ledger, epsilon, theta, repair)


def release_edges(
    source: Any, ledger: Ledger, epsilon: Any, nodes: int | None = None, theta: int | str | None = None
) -> PrivateRelease:
    """The number of edges; from a ledger of nodes, that of the graph cut to at most `theta` edges of each person."""
    if relation_of(ledger) == NODE:
        return _cut(source, ledger, epsilon, nodes, theta, points=1)
    _refuse_theta(theta)
    count = EdgeCount(_require_nodes(nodes), epsilon)
    within = count.mechanism.interval(CONFIDENCE)
    note = f"95 % interval: {within}"
    return _release(
        source, ledger, count.mechanism.event, ("number of edges", note), lambda net: {"edges": count.release(net.graph)}
    )


def release_stars(source: Any, ledger: Ledger, epsilon: Any, theta: int | str | None, points: int = 2) -> PrivateRelease:
    """The number of stars with `points` edges in the graph cut to at most `theta` edges of each person, from a ledger of nodes."""
    if relation_of(ledger) != NODE:
        raise WrongRelation(
            f"the number of stars is priced for '{NODE}', and this ledger counts for '{relation_of(ledger)}'; give a ledger that "
            "was begun with --relation node"
        )
    return _cut(source, ledger, epsilon, None, theta, points)


def _cut(source: Any, ledger: Ledger, epsilon: Any, nodes: int | None, theta: int | str | None, points: int) -> PrivateRelease:
    """A number of edges or of stars, for one person."""
    if nodes is not None:
        raise InvalidInput("the number of people is private with a ledger of nodes; leave out --nodes")
    count = CutCount(_given_theta(theta), points, epsilon)
    within = count.mechanism.interval(CONFIDENCE)
    what, name = ("number of edges", "edges") if points == 1 else (f"number of stars with {points} edges", "stars")
    note = (
        f"95 % interval: {within}, for the graph cut to at most {count.theta} edges of each person; that is the graph itself if no "
        "person has more"
    )

    def run(network: Network) -> dict[str, Any]:
        return {name: count.release(network.graph, network.names)}

    return _release(source, ledger, count.mechanism.event, (f"{what} of a cut graph", note), run)


def release_triangles(source: Any, ledger: Ledger, epsilon: Any, nodes: int | None) -> PrivateRelease:
    """The number of triangles, with an interval for which part of epsilon buys a bound on the noise."""
    _require_edges(ledger, "number of triangles")
    count = TriangleInterval(_require_nodes(nodes), epsilon)
    note = (
        f"95 % interval, for a graph of at most {nodes:,} people; {as_text(BOUND)} of epsilon bought a bound on the scale of the "
        "noise, which follows the graph and is private"
    )

    def run(network: Network) -> dict[str, Any]:
        released, low, high = count.release(network.graph, CONFIDENCE)
        return {"triangles": released, "interval": [low, high]}

    return _release(source, ledger, count.event, ("number of triangles", note), run)


def _sequence(source: Any, ledger: Ledger, epsilon: Any, nodes: int | None, repair: bool) -> PrivateRelease:
    degrees = DegreeSequence(_require_nodes(nodes), epsilon)
    within = degrees.mechanism.interval(CONFIDENCE)
    note = f"95 % interval of each degree before the regression, which makes most of them much more accurate: {within}"

    def run(network: Network) -> dict[str, Any]:
        sequence = degrees.release(network.graph)
        sequence = nearest_graphical(sequence) if repair else sequence
        return {"degrees": sequence.tolist(), "distribution": distribution(sequence).tolist()}

    what = "degree sequence of some graph, largest first" if repair else "degree sequence, largest first"
    return _release(source, ledger, degrees.mechanism.event, (what, note), run)


def _histogram(source: Any, ledger: Ledger, epsilon: Any, theta: int | str | None, repair: bool) -> PrivateRelease:
    histogram = DegreeHistogram(_given_theta(theta, " or --theta auto"), epsilon)
    note = _projection_note(histogram)

    def run(network: Network) -> dict[str, Any]:
        counts = histogram.release(network.graph, network.names)
        return {"histogram": (repaired_histogram(counts) if repair else counts).tolist()}

    what = "degree histogram of some graph" if repair else "degree histogram"
    return _release(source, ledger, histogram.mechanism.event, (what, note), run)


def repaired_histogram(counts: Integers) -> Integers:
    """The histogram, from degree 1, of the degrees of some graph that are nearest to those that the counts list.

    A released histogram may belong to no graph, if only because its degrees have an odd sum. Post-processing.

    >>> repaired_histogram(np.array([1, 0, 2])).tolist(), repaired_histogram(np.array([3, 0, 1])).tolist()
    ([2, 1], [3, 0, 1])
    """
    degrees = np.repeat(np.arange(len(counts), 0, -1), counts[::-1])
    return np.bincount(nearest_graphical(degrees))[1:] if len(degrees) else counts


def _given_theta(theta: int | str | None, also: str = "") -> int:
    if theta is None:
        what = "missing theta: the most edges of a person that count, chosen without the data; give for example --theta 20"
        raise InvalidInput(f"{what},{also}" if also else what)
    return _whole(theta)


def _refuse_theta(theta: int | str | None) -> None:
    if theta is not None:
        raise InvalidInput("theta belongs to a ledger of nodes, and this one counts for edges; leave out --theta")


def _histogram_with_choice(source: Any, ledger: Ledger, epsilon: Any, repair: bool) -> PrivateRelease:
    """The histogram with a theta that is bought; the note about its noise follows from the released theta."""
    histogram, notes = BoughtHistogram(epsilon), list[str]()

    def run(network: Network) -> dict[str, Any]:
        made, counts = histogram.release(network.graph, network.names)
        notes.append(_projection_note(made) + (SMALL if made.theta <= FEW else ""))
        return {"theta": made.theta, "histogram": (repaired_histogram(counts) if repair else counts).tolist()}

    released = _release(source, ledger, histogram.event, ("degree histogram with a bought theta", ""), run)
    return replace(released, note=notes[0])


def _projection_note(made: DegreeHistogram) -> str:
    within = made.mechanism.interval(CONFIDENCE)
    return (
        f"people with degree 1 to {made.theta} after a projection to at most {made.theta} edges each; "
        f"95 % interval of each number: {within}"
    )


def _whole(theta: int | str) -> int:
    if isinstance(theta, int):
        return theta
    if not (theta.isascii() and theta.isdigit() and len(theta) < 10):
        raise InvalidInput("invalid theta: expected a whole number or auto; give for example --theta 20")
    return int(theta)


def _release(
    source: Any, ledger: Ledger, event: Event, words: tuple[str, str], run: Callable[[Network], dict[str, Any]]
) -> PrivateRelease:
    relation = relation_of(ledger)
    if loss(event).neighbours != relation:
        raise WrongRelation(f"the {words[0]} is priced for '{loss(event).neighbours}', and this ledger counts for '{relation}'")
    values, paid = sell_release(ledger, event, words[0], lambda: run(network_of(source, alone=True)))
    return PrivateRelease(words[0], values, event, relation, words[1], paid)


def _require_edges(ledger: Ledger, what: str) -> None:
    """Refuse a ledger of nodes before any other check: no number of people would help."""
    if relation_of(ledger) != EDGE:
        raise WrongRelation(
            f"the {what} is priced for '{EDGE}', and this ledger counts for '{relation_of(ledger)}'; give a ledger that was begun "
            "with --relation edge, or release dp-degrees, dp-edges or dp-stars with --theta"
        )


def _require_nodes(nodes: int | None) -> int:
    if nodes is None:
        raise InvalidInput("missing number of people, which is public here; state it, for example --nodes 1000")
    return nodes
