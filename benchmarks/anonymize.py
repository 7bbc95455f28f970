"""Anonymizers: the optimum of the Adult lattice, and Mondrian, beside plain ways to do the same: `python -m benchmarks anonymize`.

Processor time of one thread, from coded columns to the result. The plain ways count every node by sorting rows (a sample of nodes,
extrapolated to all) and cut one part after the other. No maintained Python peer searches a lattice for its optimum; ARX, in Java,
published 0.027 s for Adult on a desktop of 2012. anjana, which looks for some k-anonymous table, runs in an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np

from benchmarks.anonymize_check import processor_seconds
from benchmarks.tables import machine, markdown, peer_python, write_table
from tacit.publish.tables.conditions import KAnonymity
from tacit.publish.tables.hierarchy import Hierarchy, read_hierarchies
from tacit.publish.tables.lattice import Lattice
from tacit.publish.tables.measures import Losses
from tacit.publish.tables.partitions import mondrian
from tacit.publish.tables.search import Found, search
from tacit.publish.tables.table import Column, Table

ROOT = Path(__file__).parents[1]
ADULT = Path(os.environ.get("ADULT", ROOT / ".." / "shared" / "data" / "adult"))
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
ROWS, CHANGED, K, SAMPLED = 1_000_000, 0.1, 5, 20
ANJANA, SECONDS_FOR_ANJANA = "anjana==1.2.3", 120
Row = tuple[str, ...]


def resampled(table: Table) -> Table:
    """A million rows of Adult drawn again; a tenth of all cells is drawn from another row, so that new tuples occur."""
    random = np.random.default_rng(1)
    picked = random.integers(0, table.rows, ROWS)
    columns = []
    for column in table.columns:
        other = column.codes[random.integers(0, table.rows, ROWS)]
        codes = np.where(random.random(ROWS) < CHANGED, other, column.codes[picked])
        columns.append(Column(column.name, column.values, codes))
    return Table(tuple(columns))


def optimum(table: Table, hierarchies: dict[str, Hierarchy], limit: float = 0.0, measure: str = "ncp") -> Found:
    lattice = Lattice(table, QUASI, hierarchies)
    return search(lattice, [KAnonymity(K)], Losses(lattice, K), measure, int(limit * table.rows))


def plain_node_seconds(table: Table, hierarchies: dict[str, Hierarchy]) -> float:
    """What a node takes when all rows are generalized and sorted, without tuples, tags and roll-up."""
    random = np.random.default_rng(2)
    levels = [hierarchies[name].of_column(table[name]) for name in QUASI]
    nodes = [[int(random.integers(len(each))) for each in levels] for _ in range(SAMPLED)]
    start = time.process_time()
    for node in nodes:
        forms = [levels[at][level][table[name].codes] for at, (name, level) in enumerate(zip(QUASI, node, strict=True))]
        key = np.zeros(table.rows, dtype=np.int64)
        for at, form in enumerate(forms):
            key = key * len(hierarchies[QUASI[at]].leaves) + form
        np.unique(key, return_counts=True)[1].min()
    return (time.process_time() - start) / SAMPLED


def plain_mondrian(table: Table, k: int) -> int:
    """Strict Mondrian, one part after the other, on arrays of ranks; the number of parts."""
    ranks = np.stack([table[name].codes for name in QUASI])
    reach = np.maximum(ranks.max(axis=1) - ranks.min(axis=1), 1)
    waiting, parts = [np.arange(ranks.shape[1])], 0
    while waiting:
        rows = waiting.pop()
        here = ranks[:, rows]
        for column in np.argsort(-(here.max(axis=1) - here.min(axis=1)) / reach, kind="stable"):
            values = here[column]
            left = values <= np.partition(values, len(values) // 2)[len(values) // 2]
            left = left if not left.all() else values < values.max()
            if min(left.sum(), (~left).sum()) >= k:
                waiting += [rows[left], rows[~left]]
                break
        else:
            parts += 1
    return parts


def lattice_rows(name: str, table: Table, hierarchies: dict[str, Hierarchy], goal: str) -> list[Row]:
    found = optimum(table, hierarchies)
    ours = processor_seconds(lambda: optimum(table, hierarchies))
    plain = plain_node_seconds(table, hierarchies) * found.nodes
    counted = f"{found.counted:,} of {found.nodes:,}"
    return [(f"optimum, {name}", goal, f"{ours:.3f} s", counted, f"{plain:,.0f} s", f"{plain / ours:,.0f}")]


def suppressing_row(table: Table, hierarchies: dict[str, Hierarchy], limit: float) -> Row:
    found = optimum(table, hierarchies, limit)
    ours = processor_seconds(lambda: optimum(table, hierarchies, limit))
    return f"optimum, Adult, {limit:.0%} suppressed", "-", f"{ours:.3f} s", f"{found.counted:,} of {found.nodes:,}", "-", "-"


def mondrian_row(name: str, table: Table, hierarchies: dict[str, Hierarchy], k: int, goal: str) -> Row:
    made = mondrian(Lattice(table, QUASI, hierarchies), [KAnonymity(k)])
    ours = processor_seconds(lambda: mondrian(Lattice(table, QUASI, hierarchies), [KAnonymity(k)]))
    start = time.process_time()
    plain_mondrian(table, k)
    plain = time.process_time() - start
    parts = f"{made.work['parts']:,} parts"
    return f"Mondrian, {name}, k = {k}", goal, f"{ours:.3f} s", parts, f"{plain:.1f} s", f"{plain / ours:.0f}"


def anjana_row() -> Row:
    """anjana's processor time for some 5-anonymous form of Adult, which need not be the best one."""
    python = peer_python("anjana", [ANJANA])
    if python is None:
        return "some node, Adult, anjana", "-", "cannot be installed here", "-", "-", "-"
    command = [str(python), str(Path(__file__).parent / "peers" / "anjana_seconds.py"), str(ADULT), str(K), *QUASI]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_FOR_ANJANA, check=True)
    except subprocess.TimeoutExpired:
        return "some node, Adult, anjana", "-", f"more than {SECONDS_FOR_ANJANA} s", "-", "-", "-"
    return "some node, Adult, anjana", "-", f"{json.loads(done.stdout)['seconds']:.1f} s", "-", "-", "-"


def run() -> None:
    if not ADULT.is_dir():
        print(f"no data at {ADULT}; set ADULT to the folder of adult.csv.gz and its hierarchies")
        return
    table = Table.read(ADULT / "adult.csv.gz", QUASI).drop_missing(["?"])
    hierarchies = read_hierarchies(ADULT / "hierarchies", QUASI)
    large = resampled(table)
    tuples = len(Lattice(large, QUASI, hierarchies).tuples)
    rows = [
        *lattice_rows("Adult", table, hierarchies, "below 0.3 s"),
        suppressing_row(table, hierarchies, 0.02),
        *lattice_rows(f"{ROWS:,} rows", large, hierarchies, "below 3 s"),
        mondrian_row("Adult", table, hierarchies, 10, "-"),
        mondrian_row(f"{ROWS:,} rows", large, hierarchies, 10, "below 1.5 s"),
        anjana_row(),
    ]
    said = f"{machine()} k = {K}, eight quasi-identifiers, normalized certainty penalty. {ROWS:,} rows: {tuples:,} distinct tuples."
    header = ("what", "goal", "tacit", "work", "plain NumPy", "ratio")
    write_table("anonymize", f"{said}\n\n{markdown(header, rows)}")
