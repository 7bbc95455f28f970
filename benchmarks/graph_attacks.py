"""How long the attacks on published graphs take: `python -m benchmarks graph_attacks`; `FULL=1` for 4.4 million people too.

Prints a table and writes it between the markers of benchmarks/README.md. One core; processor time of one run each, after the
compiled loops are loaded. Memory is the largest of the process up to there.
"""

from __future__ import annotations

import os
import resource
import time

from benchmarks.tables import machine, markdown, write_table
from tacit.evidence.attacks.graphs.planted import aims, recover_planted
from tacit.evidence.attacks.graphs.planting import plant, relabel, walk_plan
from tacit.evidence.attacks.graphs.power_law import power_law
from tacit.evidence.attacks.graphs.recovery import EXACT, Tolerance
from tacit.evidence.attacks.graphs.reidentify import re_identify

FULL = os.environ.get("FULL") == "1"
Row = tuple[str, ...]


def planted(nodes: int, edges: int, goals: tuple[str, str]) -> list[Row]:
    """Building, planting and publishing a graph; then the search, exact and tolerant."""
    started = time.process_time()
    graph = power_law(nodes, edges, seed=1)
    built = time.process_time()
    plan = walk_plan(graph.nodes, 10, aims(graph, 50, 1), 1)
    published = relabel(plant(graph, plan), 1)
    ready = time.process_time()
    size = f"{nodes:,} people, {graph.edges:,} edges"
    rows = [
        (f"draw and build the graph: {size}", "-", f"{built - started:.1f} s", goals[0], _memory()),
        ("plant 10 accounts and relabel", "-", f"{ready - built:.1f} s", "-", _memory()),
    ]
    for name, tolerance, goal in (("exact", EXACT, goals[1]), ("tolerant, 1:1", Tolerance(1, 1), "-")):
        found = recover_planted(graph, plan, published, tolerance)
        told = f"{found.read} of 50 targets, {found.tree:,} tree nodes"
        rows.append((f"recover, {name}", told, f"{found.processor:.3f} s", goal, _memory()))
    return rows


def surroundings(nodes: int, edges: int) -> list[Row]:
    """Candidates under each kind of knowledge that is computed for everybody."""
    graph, rows = power_law(nodes, edges, seed=1), []
    for knowledge in ("degree", "neighbours", "refine:3", "neighbourhood", "hubs"):
        started = time.process_time()
        found = re_identify(graph, [knowledge]).found[0]
        seconds = time.process_time() - started
        rows.append((f"{found.knowledge}: {nodes:,} people", f"{found.alone:,} alone", f"{seconds:.2f} s", "-", _memory()))
    return rows


def run() -> None:
    """Measures, prints and writes the table."""
    planted(1_000, 8_000, ("-", "-"))  # loads the compiled loops
    re_identify(power_law(1_000, 8_000), ["neighbours", "neighbourhood", "hubs"])
    rows = [*surroundings(100_000, 1_000_000), *planted(1_000_000, 17_500_000, ("-", "-"))]
    rows += planted(4_400_000, 77_000_000, ("20 s", "0.5 s")) if FULL else []
    header = ("attack", "found", "time", "goal", "memory")
    write_table("graph_attacks", f"{machine('numba')} One core.\n\n{markdown(header, rows)}")


def _memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB"


if __name__ == "__main__":
    run()
