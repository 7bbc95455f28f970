"""Social networks: reading, building, refinement and anonymity: `python -m benchmarks graphs`.

Processor time of one thread, after the compiler. Large graphs are random with a power law (expected degrees from a Pareto law).
SciPy builds the same rows by sorting; networkx reads the same edge list and hashes the same neighbourhoods. No maintained package
makes a graph k-degree or k-neighbourhood anonymous. `FULL=1` adds the graph of 77 million edges, and an annealing of ten minutes,
with which that of one minute is compared.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine, markdown, write_table
from tacit.graphs import Graph, build, colours_of, k_degree, k_neighbourhood, read
from tacit.publish.graphs.degree_sequence import anonymous_degrees, optimal_groups
from tacit.publish.graphs.least_edges import edges_for, edges_for_any
from tacit.publish.graphs.supernodes.annealing import anneal

ROOT = Path(__file__).parents[1]
ENRON = Path(os.environ.get("ENRON", ROOT / ".." / "shared" / "data" / "email-enron" / "edges.tsv.gz"))
EMAILS = {"email-Eu-core": "email-eu-core", "Enron": "email-enron"}
NODES, EDGES, MORE, MOST = 1_000_000, 10_000_000, 17_000_000, (4_400_000, 77_000_000)
MINUTE = 1_000  # proposals per node of Enron that take about a minute of processor time
SHAPE = 1.3  # of the Pareto law
Row = tuple[str, ...]


def power_law(nodes: int, edges: int, seed: int = 1) -> tuple[Any, Any]:
    """The ends of random edges, each end drawn by weights of a Pareto law."""
    random = np.random.default_rng(seed)
    weights = random.pareto(SHAPE, nodes) + 1
    shares = np.cumsum(np.minimum(weights, 8 * np.sqrt(weights.sum())))
    shares /= shares[-1]
    return tuple(np.searchsorted(shares, random.random(edges)).astype(np.int32) for _ in range(2))  # type: ignore[return-value]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def by_scipy(left: Any, right: Any, nodes: int) -> Any:
    """The same rows: both directions, summed, without the diagonal."""
    from scipy.sparse import coo_array

    kept = left != right
    ends = np.concatenate([left[kept], right[kept]]), np.concatenate([right[kept], left[kept]])
    found = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(nodes, nodes)).tocsr()
    found.sort_indices()
    return found


def warm_up() -> None:
    small = Graph.of_edges([0, 0, 0, 1], [1, 2, 3, 2], nodes=9)
    k_degree(small, 2, seed=1)
    ends = np.array([0, 1], dtype=np.int32)
    build(ends, ends[::-1].copy(), 2)


def row(what: str, goal: str, ours: float, note: str, peer: float | None = None) -> Row:
    beside = ("-", "-") if peer is None else (f"{peer:.2f} s", f"{peer / ours:.0f}")
    return what, goal, f"{ours:.2g} s" if ours < 1 else f"{ours:.1f} s", note, *beside


def enron_rows() -> list[Row]:
    import networkx

    theirs = seconds(lambda: networkx.read_edgelist(ENRON, delimiter="\t", nodetype=int))
    graph = networkx.read_edgelist(ENRON, delimiter="\t", nodetype=int)
    network = read(ENRON)
    hashed = seconds(lambda: networkx.weisfeiler_lehman_subgraph_hashes(graph, iterations=3))
    made = k_degree(network, 10, seed=1)
    note = f"{made.utility.edges_added / made.utility.edges_before:.2%} edges added"
    return [
        row("Enron: read the edge list", "-", seconds(lambda: read(ENRON)), str(network.graph), theirs),
        row("Enron: three rounds of refinement", "-", seconds(lambda: colours_of(network.graph, 3)), "-", hashed),
        row("Enron: k-degree, k = 10, whole run", "below 2 s", seconds(lambda: k_degree(ENRON, 10, seed=1)), note),
    ]


def degree_rows() -> list[Row]:
    """k-degree: edges added, beside what the chosen degrees need at least and what every anonymous graph needs at least."""
    data = {name: read(ENRON.parents[1] / folder / "edges.tsv.gz").graph for name, folder in EMAILS.items()}
    data["power law"] = build(*power_law(100_000, 1_000_000, seed=3), 100_000).graph
    if (papers := ENRON.parents[1] / "condmat-authors" / "author_paper.tsv.gz").is_file():
        data["cond-mat"] = coauthors(papers)
    rows = []
    for name, graph in data.items():
        for k in (2, 10, 50):
            made: list[Any] = []
            whole = seconds(lambda graph=graph, k=k, made=made: made.append(k_degree(graph, k, seed=1)))  # type: ignore[misc]
            added, least = made[0].utility.edges_added, made[0].work["least_edges"]
            wide = 2 * edges_for(graph, anonymous_degrees(graph.degrees, k) - graph.degrees)[1] + 2
            every = edges_for_any(graph, k, {k, *range(1, wide, max(1, wide // 24))})
            note = f"{graph.edges:,} edges, {added:,} added; needed: {least:,} for these degrees, {every:,} for any"
            rows.append(row(f"{name}: k-degree, k = {k}", f"at most {1.15 * least:,.0f} edges", whole, note))
    return rows


def coauthors(papers: Path) -> Graph:
    """Who wrote a paper with whom, from a list of authors and their papers."""
    authors, paper = np.loadtxt(papers, dtype=np.int64).T
    groups = np.split(authors[np.argsort(paper, kind="stable")], np.cumsum(np.unique(paper, return_counts=True)[1])[:-1])
    ends = np.array([pair for group in groups for pair in combinations(group.tolist(), 2)])
    names, places = np.unique(authors, return_inverse=True)[0], np.searchsorted(np.unique(authors), ends)
    return build(places[:, 0], places[:, 1], len(names)).graph


def large_rows() -> list[Row]:
    left, right = power_law(NODES, MORE)
    graph = build(left, right, NODES).graph
    degrees = np.sort(graph.degrees)[::-1].copy()
    sums, mass = np.concatenate([[0], np.cumsum(degrees)]), np.arange(NODES + 1)
    size, scipy = f"{NODES:,} nodes, {graph.edges:,} edges", seconds(lambda: by_scipy(left, right, NODES))
    rows = [
        row("build compressed rows", "-", seconds(lambda: build(left, right, NODES)), size, scipy),
        row("refinement to the third round", "below 5 s", seconds(lambda: colours_of(graph, 3)), size),
        row("k-degree: dynamic program, k = 50", "below 0.2 s", seconds(lambda: optimal_groups(degrees, sums, mass, 50)), size),
    ]
    graph = build(*power_law(NODES, EDGES, seed=2), NODES).graph
    made: list[Any] = []
    whole = seconds(lambda: made.append(k_degree(graph, 10, seed=1)))
    note = f"{graph.edges:,} edges, {made[0].utility.edges_added / graph.edges:.1%} added"
    return [*rows, row("k-degree, k = 10, whole run with measures", "below 60 s", whole, note)]


def neighbourhood_rows() -> list[Row]:
    """k-neighbourhood anonymity of a sparse graph with hubs, which grows, and of a dense one, which is turned."""
    import networkx

    source, rows = networkx.barabasi_albert_graph(10_000, 2, seed=1), []
    for k in (2, 5):
        made: list[Any] = []
        whole = seconds(lambda k=k, made=made: made.append(k_neighbourhood(source, k, seed=1)))  # type: ignore[misc]
        note = (
            f"10,000 nodes, {source.number_of_edges():,} edges, {made[0].utility.edges_added / source.number_of_edges():.1%} added"
        )
        rows.append(row(f"k-neighbourhood, k = {k}, whole run with measures", "-", whole, note))
    dense: list[Any] = []
    whole = seconds(lambda: dense.append(k_neighbourhood(ENRON.parents[1] / "email-eu-core" / "edges.tsv.gz", 5, seed=1)))
    note = f"16,064 edges, {dense[0].utility.edges_added / 16_064:.0%} added by turns"
    return [*rows, row("email-Eu-core: k-neighbourhood, k = 5", "-", whole, note)]


def annealing_rows() -> list[Row]:
    graph = read(ENRON).graph
    anneal(graph, 10, 1, 2)
    short, minute = _annealed(graph, MINUTE)
    rows = [row("Enron: annealing, k = 10", "60 s", minute, f"ln W = {short:,.0f}, {MINUTE:,} proposals per node")]
    if os.environ.get("FULL"):
        long, whole = _annealed(graph, 10 * MINUTE)
        note = f"ln W = {long:,.0f}; that of a minute is {short / long - 1:.1%} above it"
        rows.append(row("Enron: annealing, k = 10, the reference", "at most 2 % below", whole, note))
    return rows


def _annealed(graph: Graph, per_node: int) -> tuple[float, float]:
    """ln W, and the seconds that it took."""
    made: list[Any] = []
    whole = seconds(lambda: made.append(anneal(graph, 10, 1, per_node)))
    return made[0].log_worlds, whole


def largest_rows() -> list[Row]:
    if not os.environ.get("FULL"):
        return []
    nodes, edges = MOST
    left, right = power_law(nodes, edges)
    ours = seconds(lambda: build(left, right, nodes))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [row("build compressed rows", "below 20 s, 8 GB", ours, f"{nodes:,} nodes, {edges:,} edges; {memory:.1f} GB")]


def attack_rows() -> list[Row]:
    """Those of benchmarks/graph_attacks.py, in the same columns."""
    if find_spec("benchmarks.graph_attacks") is None:
        return []
    return list(import_module("benchmarks.graph_attacks").rows())


def run() -> None:
    if not ENRON.is_file():
        print(f"no data at {ENRON}; set ENRON to the edge list of the Enron graph")
        return
    warm_up()
    rows = [*enron_rows(), *degree_rows(), *neighbourhood_rows(), *annealing_rows(), *large_rows(), *largest_rows(), *attack_rows()]
    header = ("what", "goal", "tacit", "work", "peer", "ratio")
    write_table("graphs", f"{machine('numba', 'scipy', 'networkx')}\n\n{markdown(header, rows)}")
