"""Checks of k, l and t on a million rows, and pycanon beside tacit on Adult: `python -m benchmarks anonymize_check`.

Processor time of one thread, from columns of texts to verdicts. pycanon runs in an environment of its own; its figures are written
as the golden file that the tests compare with.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.tables import REPEATS, machine, markdown, peer_python, write_table
from tacit.data.files.columns import read_columns
from tacit.data.files.kinds import level_rows
from tacit.publish.tables.models.closeness import Closeness, DeltaDisclosure
from tacit.publish.tables.models.diversity import EntropyDiversity, RecursiveDiversity
from tacit.publish.tables.models.k_anonymity import KAnonymity
from tacit.publish.tables.models.rows import rows_of

ROOT = Path(__file__).parents[1]
ADULT = Path(os.environ.get("ADULT", ROOT / ".." / "shared" / "data" / "adult"))
GOLDEN = ROOT / "tests" / "publish" / "tables" / "models" / "pycanon.json"
PYCANON = "pycanon==1.3.6"
ROWS, SIZES, VALUES = 1_000_000, (74, 8, 16, 7, 14, 5, 2, 41), 20  # as many values as Adult's columns have
CASE = "income by eight"


def processor_seconds(work: Callable[[], object]) -> float:
    """The least of several runs, after one to warm up."""
    work()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def million() -> tuple[dict[str, Any], list[str]]:
    """Columns of texts, some values far more frequent than others."""
    random = np.random.default_rng(1)

    def column(size: int) -> Any:
        weights = 1 / np.arange(1, size + 1) ** 1.2
        return pa.array([f"value {value}" for value in range(size)]).take(
            pa.array(random.choice(size, ROWS, p=weights / weights.sum()))
        )

    quasi = {f"q{place}": column(size) for place, size in enumerate(SIZES)}
    return quasi | {"s": column(VALUES)}, list(quasi)


def adult(levels: dict[str, int], sensitive: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Adult without missing values, with each quasi-identifier at its level, as the peer makes it."""
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "income"]
    there = dict(zip(names, (each.to_pylist() for each in read_columns(ADULT / "adult.csv.gz", names)), strict=True))
    kept = [at for at, row in enumerate(zip(*there.values(), strict=True)) if "?" not in row]
    columns = {name: [there[name][at] for at in kept] for name in (*levels, *sensitive)}
    for name, level in levels.items():
        forms = {row[0]: row[level] for row in level_rows(ADULT / "hierarchies" / f"{name}.csv")}
        columns[name] = [forms[value] for value in columns[name]]
    return {name: pa.array(values) for name, values in columns.items()}, list(levels)


def models() -> dict[str, Any]:
    return {
        "k-anonymity": KAnonymity(5),
        "entropy l-diversity": EntropyDiversity(2),
        "recursive (c,l)-diversity": RecursiveDiversity(3, 2),
        "t-closeness, equal": Closeness("0.2"),
        "delta-disclosure": DeltaDisclosure(1),
    }


def theirs() -> dict[str, Any] | None:
    """pycanon's figures and seconds, written as the golden file; None where it cannot be installed."""
    python = peer_python("pycanon", [PYCANON])
    if python is None:
        return None
    command = [str(python), str(Path(__file__).parent / "peers" / "pycanon_figures.py"), str(ADULT)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    GOLDEN.write_text(json.dumps({name: each for name, each in found.items() if name != "seconds"}, indent=1) + "\n", "utf-8")
    return dict(found)


def run() -> None:
    """Measures, prints and writes the table."""
    columns, quasi = million()

    def three() -> None:
        rows = rows_of(columns, quasi, ["s"])
        for model in (KAnonymity(5), EntropyDiversity(2), Closeness("0.2")):
            model.check(rows)

    grouped = rows_of(columns, quasi, ["s"])
    grouped.counts("s")
    lines = [
        ("from texts to groups and counts", "", f"{processor_seconds(lambda: rows_of(columns, quasi, ['s']).counts('s')):.3f}")
    ]
    lines += [(name, "", f"{processor_seconds(lambda m=model: m.check(grouped)):.4f}") for name, model in models().items()]
    lines.append(("k, entropy l and t together, from texts", "below 1 s", f"{processor_seconds(three):.3f}"))
    size = f"{ROWS:,} rows, {len(SIZES)} quasi-identifiers, {len(grouped.groups.sizes):,} groups, {VALUES} sensitive values"
    note = f"{machine()} {size}."
    parts = [note, markdown(("check", "goal", "processor s"), lines)]
    if (found := theirs()) is not None:
        case = found["cases"][CASE]
        small, names = adult(case["levels"], case["sensitive"])
        beside = []
        for name, model in (("k", KAnonymity(5)), ("entropy l", EntropyDiversity(2)), ("t", Closeness("0.2"))):
            own = processor_seconds(lambda m=model: m.check(rows_of(small, names, case["sensitive"])))
            beside.append((name, f"pycanon {found['pycanon']}", f"{found['seconds'][name]:.3f}", f"{own:.4f}"))
        parts.append(
            markdown(("Adult, 30,162 rows, 8 quasi-identifiers", "peer", "pycanon, s", "tacit, s, grouping included"), beside)
        )
    write_table("anonymize_check", "\n\n".join(parts))


if __name__ == "__main__":
    run()
