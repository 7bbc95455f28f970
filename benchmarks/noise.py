"""Secure noise compared with OpenDP in one run: `python -m benchmarks noise`; `FULL=1` for larger sizes and more scales.

Prints a table and writes it between the markers of benchmarks/README.md. It uses one core and the best of several repeats, to limit
the effect of other work on the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from benchmarks.tables import REPEATS, best_seconds, machine, markdown, write_table
from tacit.evidence.attacks.samplers import rank_correlation
from tacit.evidence.verify.clock import epsilon_with_clock, timed
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.noise import bits
from tacit.mechanisms.noise.choice import choose
from tacit.mechanisms.noise.discrete import discrete_gaussian, discrete_laplace, draw_gaussian, draw_laplace
from tacit.mechanisms.noise.sampler import sampler

FULL = os.environ.get("FULL") == "1"

SCALES = [Fraction(1), Fraction(10), Fraction(1000), Fraction(10**6)]
MORE_SCALES = [Fraction(1, 100), Fraction(1, 2), Fraction(100), Fraction(128), Fraction(2**40)]
DRAWS = 50_000_000 if FULL else 10_000_000
PEER_DRAWS = 200_000 if FULL else 50_000
ROWS = 10_000_000
SINGLE_DRAWS = 100_000 if FULL else 20_000
LAWS = {"Laplace": (discrete_laplace, draw_laplace), "Gaussian": (discrete_gaussian, draw_gaussian)}

IMPORTS = ["import tacit", "from tacit.mechanisms.laplace import Laplace"]

Row = tuple[str, ...]


def peer(law: str, scale: Fraction, vector: bool) -> Callable[[object], object] | None:
    """OpenDP's mechanism for integers, or None if OpenDP is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    maker = {"Laplace": dp.m.make_laplace, "Gaussian": dp.m.make_gaussian}[law]
    atom = dp.atom_domain(T=int)
    if not vector:
        return maker(atom, dp.absolute_distance(T=int if law == "Laplace" else float), scale=float(scale))
    metric = dp.l1_distance(T=int) if law == "Laplace" else dp.l2_distance(T=float)
    return maker(dp.vector_domain(atom), metric, scale=float(scale))


def speed(law: str, scale: Fraction) -> Row:
    """Millions of draws per second: tacit's, OpenDP's, and the ratio."""
    draw = LAWS[law][0]
    draw(scale, 1)
    ours = DRAWS / best_seconds(lambda: draw(scale, DRAWS), 3 if FULL else REPEATS) / 1e6
    mechanism = peer(law, scale, vector=True)
    if mechanism is None:
        return law, str(scale), f"{ours:.0f}", "not installed", "-"
    zeros = [0] * PEER_DRAWS
    theirs = PEER_DRAWS / best_seconds(lambda: mechanism(zeros), 3) / 1e6
    return law, str(scale), f"{ours:.0f}", f"{theirs:.3f}", f"{ours / theirs:.0f}"


def memory(law: str) -> Row:
    """The most memory held beyond the result itself."""
    draw = LAWS[law][0]
    tracemalloc.start()
    drawn = draw(Fraction(1000), DRAWS)
    beyond = tracemalloc.get_traced_memory()[1] - drawn.nbytes
    tracemalloc.stop()
    return f"memory beyond the result, {DRAWS:,} draws of {law}, scale 1000", f"{beyond / 1e6:.1f} MB", "-", "bounded"


def timing(law: str) -> Row:
    """How much the time of a single draw reveals about its magnitude."""
    draw = LAWS[law][1]
    ours = rank_correlation(lambda: int(draw(Fraction(1000), 1)[0]), SINGLE_DRAWS)
    mechanism = peer(law, Fraction(1000), vector=False)
    theirs = "not installed" if mechanism is None else f"{rank_correlation(lambda: mechanism(0), SINGLE_DRAWS):+.3f}"  # type: ignore[arg-type,return-value]
    return f"rank correlation of time and magnitude, single draws of {law}, scale 1000", f"{ours:+.3f}", theirs, "at most 0.05"


def choosing(candidates: int) -> Row:
    """One of many candidates by the exponential mechanism."""
    lengths, costs = np.ones(candidates, dtype=np.int64), np.arange(candidates) % 1000
    seconds = best_seconds(lambda: choose(lengths, costs, Fraction(1, 4)), 20)
    return f"one of {candidates:,} candidates by the exponential mechanism", f"{seconds * 1e3:.2f} ms", "-", "-"


def choosing_by_the_clock() -> Row:
    """What an observer of an index and its time learns: a lower bound on epsilon, at confidence 0.999."""
    choice = Exponential(1, Fraction(1, 2))
    samples = timed([lambda: choice.release([10, 10]), lambda: choice.release([10, 11])], SINGLE_DRAWS)
    name = "epsilon of a choice of epsilon 0.5 if its time is observed, utilities (10, 10) and (10, 11)"
    return name, f"at least {epsilon_with_clock(*samples).bound:.2f}", "-", "at most 0.5"


def entropy() -> Row:
    """Secure bytes per second from the source of all noise."""
    count = 1 << 17
    seconds = best_seconds(lambda: bits.random_words(count), 50)
    return "secure random bytes, 1 MiB at a time", f"{8 * count / seconds / 1e6:,.0f} MB/s", "-", "400 MB/s"


def new_scale(law: str) -> Row:
    """The first draw at a new scale, when its table is built; a table from the cache would spoil the figure."""
    draw = LAWS[law][0]
    scales = iter(range(10**6 + 1, 10**6 + 100))
    made = sampler.cache_info().misses
    seconds = best_seconds(lambda: draw(Fraction(next(scales)), 1), 20)
    assert sampler.cache_info().misses >= made + 20
    return f"first {law} draw at a new scale", f"{seconds * 1e3:.1f} ms", "-", "-"


def median() -> Row:
    """Smooth sensitivity of the median of ten million sorted values, the slowest of several shapes and rates."""
    name = f"smooth sensitivity of the median of {ROWS:,} sorted values"
    try:
        from tacit.mechanisms.smooth.sensitivity import smooth_order_statistic
        from tacit.mechanisms.sorted_rows import sorted_rows
    except ImportError:
        return name, "not there", "-", "below 2 s"
    uniform = np.sort(bits.random_words(ROWS) >> np.uint64(34)).astype(np.int64)  # below 2^30
    seconds = [
        best_seconds(lambda: smooth_order_statistic(sorted_rows(values, 0, 2**30), Fraction(1, 2), rate), 3)  # noqa: B023
        for values in (uniform, uniform >> 20, uniform**2 >> 30)
        for rate in (Fraction(1), Fraction(1, 100), Fraction(1, 10**5), Fraction(1, 10**7))
    ]
    return name, f"{max(seconds):.2f} s", "-", "below 2 s"


def importing(statement: str) -> Row:
    """The time of an import in a fresh interpreter, measured inside it."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", code]
    seconds = min(float(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(REPEATS))
    return f"`{statement}`", f"{seconds:.3f} s", "-", "below 0.3 s"


def show(title: str, header: Row, rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def run() -> None:
    """Measures, prints and writes the table."""
    speeds = [speed(law, scale) for law in LAWS for scale in (sorted(SCALES + MORE_SCALES) if FULL else SCALES)]
    speed_header = ("law", "scale", "tacit, million/s", "OpenDP, million/s", "ratio")
    show("secure draws per second, one core (goal: 10 million, 30 times OpenDP)", speed_header, speeds)
    others = [measure(law) for measure in (timing, memory, new_scale) for law in LAWS]
    others += [choosing_by_the_clock(), choosing(2), choosing(10**6), entropy(), median(), *map(importing, IMPORTS)]
    other_header = ("measure", "tacit", "OpenDP", "goal")
    show("time, memory and start-up", other_header, others)
    sizes = f"{DRAWS:,} draws at a time (OpenDP {PEER_DRAWS:,}), best of several runs"
    note = f"{machine('cryptography', 'opendp')} {sizes}; the goal is 10 million per second and 30 times OpenDP."
    write_table("noise", "\n\n".join([note, markdown(speed_header, speeds), markdown(other_header, others)]))


if __name__ == "__main__":
    run()
