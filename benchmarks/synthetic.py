"""Synthetic maps: time and memory of a large sparse draw, the noise table, the Rhode Island map: `python -m benchmarks synthetic`.

Each row is a separate process, including start and imports; its memory is the peak that the operating system reports. For
comparison, the same distribution is drawn with numpy's `dirichlet` and `multinomial`, in floats and from an insecure generator over
the dense map: a yardstick of speed, not something to release with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.tables import machine, markdown, write_table

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data" / "lodes-ri-2019"
WORKERS, DRAWS = 1_000_000, 1_000_000
MANY = 20_000_000
SIZES = {"1": 1_000_000, "1/2": 3_000_000, "0.0378": 4_000_000}  # blocks by the probability to keep an empty one
HEADERS = ("what", "how", "time", "goal", "processor time", "peak memory", "goal")
Row = tuple[str, ...]


def homes() -> tuple[np.ndarray, np.ndarray]:
    """A simulated destination: a million workers in some 250,000 of the eight million blocks, a few of them crowded."""
    generator = np.random.default_rng(1)
    lived_in = generator.choice(sum(SIZES.values()), 300_000, replace=False)
    crowds = 1 / (np.arange(lived_in.size) + 1000.0)
    picked = generator.choice(lived_in, WORKERS, p=crowds / crowds.sum())
    return np.unique(picked, return_counts=True)


def urn() -> str:
    """Calibrated, priced and drawn."""
    from tacit.mechanisms.dirichlet.calibration import PublicFacts
    from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
    from tacit.mechanisms.noise.urn import BlockClass

    blocks, counts = homes()
    facts = PublicFacts(int(counts.sum()), DRAWS, tuple(BlockClass(size, keep) for keep, size in SIZES.items()))
    mechanism = ProbableDirichlet.calibrated(facts, within=20, delta=Fraction(1, 10**5))
    drawn, times = mechanism.resample((blocks, counts))
    assert times.sum() == DRAWS
    return f"{len(blocks):,} inhabited blocks, {len(drawn):,} drawn"


def many() -> str:
    """Twenty times as many draws: in rounds, so that memory does not grow with them."""
    from tacit.mechanisms.dirichlet.calibration import PublicFacts
    from tacit.mechanisms.dirichlet.resampling import ProbableDirichlet
    from tacit.mechanisms.noise.urn import BlockClass

    counts = np.full(5_000, MANY // 5_000)
    facts = PublicFacts(MANY, MANY, (BlockClass(1_000), BlockClass(24_000, "1/10")))
    drawn, times = ProbableDirichlet.calibrated(facts, within=20, delta=Fraction(1, 10**5)).resample(
        (np.arange(counts.size), counts)
    )
    assert times.sum() == MANY
    return f"{counts.size:,} inhabited blocks, {len(drawn):,} drawn"


def floats() -> str:
    """The same distribution by numpy, dense."""
    blocks, counts = homes()
    generator = np.random.default_rng()
    keeps = np.repeat([float(Fraction(keep)) for keep in SIZES], list(SIZES.values()))
    kept = generator.random(keeps.size) < keeps
    kept[blocks] = True
    masses = np.full(keeps.size, 2.58)
    masses[blocks] += counts
    drawn = generator.multinomial(DRAWS, generator.dirichlet(masses[kept]))
    return f"{int((drawn > 0).sum()):,} drawn"


def table() -> str:
    """The command, as typed."""
    printed = _tacit("noise-table", "--n", "1e6", "--m", "1e6", "--blocks", "1e5", "--delta", "1e-5")
    return next(line.split()[3] for line in printed.splitlines() if line.split()[:1] == ["20"]) + " at ratio 20"


def rhode_island() -> str:
    """The command on real data, with the data owner's report."""
    flows, blocks = DATA / "ri_od_main_JT00_2019.csv.gz", DATA / "ri_blocks.csv.gz"
    with tempfile.TemporaryDirectory() as public, tempfile.TemporaryDirectory() as curator:
        places = ["--origins", "tract", "--destinations", "tract", "--ratio", "100", "--delta", "1e-5"]
        written = ["--out", f"{public}/synthetic.parquet", "--report", f"{curator}/report.html"]
        printed = _tacit("map", str(flows), "--blocks", str(blocks), *places, *written)
    return next(line for line in printed.splitlines() if "destinations, " in line).rstrip(".")


CASES: dict[str, tuple[str, Callable[[], str], str, str]] = {
    "urn": ("1 million workers, 1 million draws, 8 million blocks with keep probabilities", urn, "60 s", "4 GB"),
    "floats": ("the same by numpy, dense, in floats", floats, "-", "-"),
    "many": ("20 million workers, 20 million draws, 25,000 blocks with keep probabilities", many, "-", "-"),
    "table": ("noise table, 4 ratios", table, "5 s", "-"),
    "rhode_island": ("Rhode Island, 241 tracts, with the report", rhode_island, "60 s", "-"),
}


def child(name: str) -> None:
    """Runs one case, and prints the result."""
    import resource

    found = CASES[name][1]()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    worked = sum(each.ru_utime + each.ru_stime for each in used)
    print(json.dumps({"found": found, "worked": worked, "megabytes": max(each.ru_maxrss / 1024 for each in used)}))


def rows() -> Iterator[Row]:
    for name, (what, _, goal, room) in CASES.items():
        if name == "rhode_island" and not DATA.exists():
            continue
        begin = time.perf_counter()
        command = [sys.executable, "-c", f"from benchmarks import synthetic; synthetic.child({name!r})"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        seconds, told = time.perf_counter() - begin, json.loads(done.stdout)
        yield what, told["found"], f"{seconds:.1f} s", goal, f"{told['worked']:.1f} s", f"{told['megabytes']:.0f} MB", room


def run() -> None:
    write_table("synthetic", f"{machine('scipy')} One core.\n\n{markdown(HEADERS, list(rows()))}")


def _tacit(*words: str) -> str:
    command = [sys.executable, "-m", "tacit", "synthesize", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
