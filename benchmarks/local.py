"""Randomized answers of a million people, compared with pure-ldp and multi-freq-ldpy: `python -m benchmarks local`.

It covers everything from true answers to estimated shares; what people run and what the collector runs are timed separately. The
peers draw from ordinary generators in floating point; tacit draws exactly, from secure bits. Each peer runs in its own environment.
Their hashing takes minutes, so it is measured on fewer people; `FULL=1` measures it on all. The table shows the processor time of
one core, which other work on the machine disturbs less than wall time: all three run on one thread.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import REPEATS, machine, markdown, peer_python, write_table
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.numeric import by_variance
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.unary import Unary

FULL = os.environ.get("FULL") == "1"
PEOPLE, SIZE, MANY = 1_000_000, 100, 1000
HASHED_BY_PEERS = PEOPLE if FULL else 100_000
SCRIPTS = Path(__file__).parent / "peers"
# Both were written for an xxhash that accepts text; pure-ldp imports the others without declaring them.
PEERS = {
    "pure-ldp": ("pure_local.py", ["pure-ldp==1.2.0", "xxhash<4", "scikit-learn", "statsmodels", "bitarray"]),
    "multi-freq-ldpy": ("multi_local.py", ["multi-freq-ldpy==0.2.5", "xxhash<4"]),
}
COMMON: dict[str, Callable[[], Any]] = {
    "k-ary": lambda: KAry(SIZE, 1),
    "unary, optimized": lambda: Unary(SIZE, 1),
    "unary, symmetric": lambda: Unary.symmetric(SIZE, 1),
    "hashing": lambda: LocalHashing(SIZE, 1),
    "Hadamard": lambda: HadamardResponse(SIZE, 1),
    "RAPPOR, both stages": lambda: Rappor(SIZE, 2),
}
Row = tuple[str, ...]
Seconds = tuple[float, float]


def processor_seconds(work: Callable[[], object]) -> float:
    """The least of several runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def ours(oracle: Any, people: int) -> Seconds:
    """Seconds to randomize, and to estimate all shares; the estimates must be near the truth."""
    truth = np.arange(people) % oracle.size
    hit, miss = float(oracle.hit), float(oracle.false_hit)
    reports = oracle.randomize(truth)
    shares = estimated(oracle, reports)
    assert np.abs(shares - 1 / oracle.size).max() < 10 * (miss * (1 - miss) / people) ** 0.5 / (hit - miss)
    return processor_seconds(lambda: oracle.randomize(truth)), processor_seconds(lambda: estimated(oracle, reports))


def estimated(oracle: Any, reports: Any) -> np.ndarray:
    """The unbiased shares."""
    hit, miss = float(oracle.hit), float(oracle.false_hit)
    return (oracle.supports(reports) / len(reports) - miss) / (hit - miss)


def theirs(name: str) -> dict[str, list[float]] | str:
    """Seconds of a peer by protocol, or the reason why it has none."""
    script, packages = PEERS[name]
    python = peer_python(f"local {name}", packages)
    if python is None:
        return "cannot be installed here"
    command = [str(python), str(SCRIPTS / script), str(SIZE), str(PEOPLE), str(HASHED_BY_PEERS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(r"\{.*\}", done.stdout)
    return dict(json.loads(found[-1])) if found else f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:80]}"


def compare(protocol: str, peers: dict[str, dict[str, list[float]] | str]) -> Row:
    """A line of the table: seconds of each, and for each part the speedup over the fastest peer, per report."""
    own = ours(COMMON[protocol](), PEOPLE)
    people = HASHED_BY_PEERS if protocol == "hashing" else PEOPLE
    found = [each if isinstance(each, str) else each.get(protocol) for each in peers.values()]
    fastest = [min(part) * PEOPLE / people for part in zip(*(each for each in found if isinstance(each, list)), strict=True)]
    ratios = " + ".join(f"{peer / tacit:,.0f}" for peer, tacit in zip(fastest, own, strict=False))
    return protocol, f"{own[0]:.3f} + {own[1]:.3f}", *(_cell(each, people) for each in found), ratios or "-"


def _cell(seconds: list[float] | str | None, people: int) -> str:
    if not isinstance(seconds, list):
        return seconds or "-"
    fewer = f" ({people:,} people)" if people < PEOPLE else ""
    return f"{seconds[0]:.2f} + {seconds[1]:.2f}{fewer}"


def alone() -> list[Row]:
    """What no peer supports, or not at this size."""
    drawn, tallied = ours(LocalHashing(MANY, 1), PEOPLE)
    hashed = ours(LocalHashing(3 * MANY, 4), PEOPLE)
    filtered = ours(BloomRappor(SIZE, 2), PEOPLE)
    held = np.zeros((PEOPLE, SIZE), dtype=np.int8)
    held[np.arange(PEOPLE), np.arange(PEOPLE) % SIZE] = 1
    sets = Sets(SIZE, 3, 1)
    reports = sets.randomize(held)
    rows = [
        ("hashing, 1,000 categories", f"{drawn:.3f}", f"{tallied:.3f}", "aggregation within 5 s"),
        ("hashing, 3,000 categories, epsilon 4", f"{hashed[0]:.3f}", f"{hashed[1]:.3f}", "-"),
        ("RAPPOR on a filter of 32 bits", f"{filtered[0]:.3f}", f"{filtered[1]:.3f}", "-"),
        (
            "sets of at most 3 of 100 items",
            f"{processor_seconds(lambda: sets.randomize(held)):.3f}",
            f"{processor_seconds(lambda: estimated(sets, reports)):.3f}",
            "-",
        ),
    ]
    values = np.arange(PEOPLE) % 101
    for numeric in sorted(by_variance(0, 100, 1), key=lambda each: type(each).__name__):
        randomized = numeric.randomize(values)
        drawn = processor_seconds(lambda: numeric.randomize(values))  # noqa: B023
        tallied = processor_seconds(lambda: numeric.decode(randomized).mean())  # noqa: B023
        rows.append((f"a number from 0 to 100, {type(numeric).__name__}", f"{drawn:.3f}", f"{tallied:.3f}", "-"))
    return rows


def run() -> None:
    """Measures, prints and writes the table."""
    peers = {name: theirs(name) for name in PEERS}
    rows = [compare(protocol, peers) for protocol in COMMON]
    header = ("protocol", "tacit, s", *(f"{name}, s" for name in PEERS), "speedup of each part")
    sizes = f"{PEOPLE:,} people, {SIZE} categories, epsilon 1 (RAPPOR: 2, for all reports of a person)"
    note = f"{machine()} pure-ldp 1.2.0, multi-freq-ldpy 0.2.5. {sizes}; processor seconds to randomize + to estimate."
    others = markdown(("tacit alone", "randomize, s", "estimate, s", "goal"), alone())
    write_table("local", "\n\n".join([note, markdown(header, rows), others]))


if __name__ == "__main__":
    run()
