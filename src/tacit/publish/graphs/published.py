"""An anonymized graph: the published part, its promise, and the facts that the data owner should know before publication.

None of the methods that make one is differentially private, and the type says so. Nodes are renamed by a random order and edges are
written in ascending order of the new numbers, so that neither names nor the order of the file leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from tacit.errors import InvalidInput
from tacit.files import check, check_links, write_together
from tacit.publish.graphs.candidates import Candidates
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.measures import Utility
from tacit.publish.graphs.network import Network
from tacit.release.outputs import receipt_beside
from tacit.untrusted import for_json

BANNER = "not differentially private"
NOT_PROTECTED = (
    "Structure beyond the model: whoever knows the degrees of a person's contacts, or their contacts' contacts, can tell many "
    "people apart.",
    "Active attacks: accounts that were planted before the release are found again, and with them the people they were linked to.",
    "Collusion: people who find themselves find their neighbours, and so on.",
    "A second release of the same people can be matched with this one.",
    "Edges: no edge is hidden by the method itself. Whoever finds two people sees whether they are connected.",
)
NOT_WRITTEN = "nothing is published"


class Result(Protocol):
    """The common interface of every way to publish a graph, for the command line."""

    @property
    def differentially_private(self) -> bool:
        """Whether it is."""

    def to_dict(self) -> dict[str, Any]:
        """For the data owner, as JSON."""

    def lines(self) -> list[str]:
        """For the data owner, as sentences on the screen."""

    def save(self, out: Path) -> Path:
        """Write the published file, and a receipt beside it; returns the receipt's path."""

    def page(self) -> str:
        """The data owner's report, a page of HTML."""


@dataclass(frozen=True, eq=False)
class Published:
    """A graph that was made anonymous by its structure. It is not differentially private, and says so wherever it is shown."""

    graph: Graph
    source: Network
    method: str
    claim: str  # the model that the checker has confirmed
    k: int | None
    candidates: list[Candidates]
    before: list[Candidates]  # of the graph as it was
    utility: Utility
    work: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] | None = None  # of the published nodes, if they have any

    differentially_private: ClassVar[bool] = False
    banner: ClassVar[str] = BANNER

    def promise(self) -> dict[str, Any]:
        """The statement to every recipient of the graph. No count of the original, and no seed: it would undo the renaming."""
        return {
            "kind": "anonymized graph",
            "differentially_private": False,
            "method": self.method,
            "model": self.claim,
            "nodes": self.graph.nodes,
            "edges": self.graph.edges,
            "does_not_protect": list(NOT_PROTECTED),
        }

    def to_dict(self) -> dict[str, Any]:
        """For the data owner: the source, the changes, and who can still be found."""
        told = {key: value for key, value in self.promise().items() if key not in ("kind", "does_not_protect")}
        left_out = {name: getattr(self.source.reading, name) for name in self.source.reading.__slots__}
        return {
            **told,
            "k": self.k,
            "read": left_out,
            "utility": self.utility.to_dict(),
            "candidates": [each.to_dict() for each in self.candidates],
            "candidates_before": [each.to_dict() for each in self.before],
            "work": dict(self.work),
        }

    def lines(self) -> list[str]:
        """For the data owner: the checked model, the changes, and how many people can still be found."""
        sets = {each.knowledge: each for each in self.candidates}
        read, last = self.source.graph, sets["H*"]
        return [
            f"Read: {read.nodes:,} people and {read.edges:,} edges.",
            *(f"{line[0].upper()}{line[1:]}." for line in self.source.reading.lines()),
            f"Published: {self.graph.edges:,} edges; {self.utility.changes()}.",
            f"Checked: {self.claim}. Smallest candidate set by degree: {sets['H1'].smallest:,}.",
            f"Still singled out: {sets['H1'].alone:,} people by their degree, {sets['H2'].alone:,} by their neighbours' degrees, "
            f"{last.alone:,} by all structure around them.",
        ]

    def save(self, out: Path) -> Path:
        """Write the edge list in the form of the input, compressed if the name ends in .gz, and a receipt beside it."""
        from tacit.publish.graphs.edge_list import edge_text

        text = edge_text(self.graph, self.source.layout, out.name)
        receipt = receipt_beside(out)
        files: dict[Path, Any] = {receipt: f"{for_json(self.promise(), indent=2)}\n", out: text}
        if self.labels is not None:
            files[labels_beside(out)] = f"{for_json({'labels': list(self.labels)}, indent=2)}\n"
        write_together(files, after=NOT_WRITTEN)
        return receipt

    def page(self) -> str:
        """The data owner's report."""
        from tacit.publish.graphs.report import report_page

        return report_page(self)


def labels_beside(out: Path) -> Path:
    """Where the labels of published nodes stand, in the order of their numbers.

    >>> labels_beside(Path("public/edges.tsv.gz")).name
    'edges.tsv.gz.labels.json'
    """
    return out.with_name(f"{out.name}.labels.json")


def check_out(out: Path, source: Path | None, paid: bool = False) -> Path:
    """The path, if a file can be written there and it is not the input. Call it before the work.

    A release that is paid for replaces no file: an earlier one cannot be made again without paying again.
    """
    check_links(out)
    if source is not None and out.resolve() == source.resolve():
        raise InvalidInput(f"{out} is the input and would be lost; choose another file with --out")
    check(out, force=not paid)
    check(receipt_beside(out), force=not paid)
    return out


def generator(seed: int | None) -> np.random.Generator:
    """Random numbers of a seed, or of the operating system. Whoever knows the seed can undo a renaming."""
    if seed is not None and seed < 0:
        raise InvalidInput("the seed must be a non-negative integer")
    return np.random.default_rng(seed)


def rename(graph: Graph, random: np.random.Generator) -> Graph:
    """The same graph with its nodes numbered anew, in a random order."""
    from tacit.publish.graphs.rows import build

    names = random.permutation(graph.nodes).astype(np.int32)
    left, right = graph.ends()
    return build(names[left], names[right], graph.nodes).graph
