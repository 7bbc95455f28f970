"""How long the attacks take: `python -m benchmarks attacks`; `FULL=1` for the largest linear program too.

Prints a table and writes it between the markers of benchmarks/README.md. One core; one run each, since each takes seconds.
"""

from __future__ import annotations

import os
import resource
import time
from math import sqrt

import numpy as np

from benchmarks.tables import machine, markdown, write_table
from tacit.evidence.attacks.answerers import Noise, fair_bits
from tacit.evidence.attacks.reconstruction import Subsets, least_absolute, reconstruct
from tacit.evidence.attacks.reconstruction_curves import attempt
from tacit.evidence.attacks.samplers import samplers
from tacit.evidence.attacks.tracing import tracing

FULL = os.environ.get("FULL") == "1"
Row = tuple[str, ...]


def least_squares(people: int = 10_000, questions: int = 40_000, deviation: float = 25.0) -> Row:
    """Least squares without the dense matrix: its rows are drawn again at every pass."""
    subsets, bits, before = Subsets(people, questions, seed=1), fair_bits(people, 1), _megabytes()
    answers = subsets.operator() @ bits.astype(float) + np.random.default_rng(6).normal(0, deviation, questions)
    started = time.perf_counter()
    found = reconstruct(subsets, answers, truth=bits, deviation=deviation)
    seconds = time.perf_counter() - started
    what = f"least squares, {people:,} people, {questions:,} questions; {_megabytes() - before:.0f} MB more memory"
    return what, f"{found.recovered:.3f}", f"{found.predicted:.3f}", f"{seconds:.1f} s", "60 s"


def linear_program(people: int, goal: str) -> Row:
    """The least sum of absolute errors over four times as many questions, noise bounded by sqrt(n) / 4."""
    started = time.perf_counter()
    found = attempt(people, 4 * people, Noise("bounded", sqrt(people) / 4), seed=1, solver=least_absolute)
    seconds = time.perf_counter() - started
    return f"linear program, {people:,} people, {4 * people:,} questions", f"{found.recovered:.3f}", "-", f"{seconds:.1f} s", goal


def others() -> list[Row]:
    """Tracing, and the two million draws of the attack on floats."""
    started = time.perf_counter()
    traced = tracing(100, 5000, [0.0], runs=10).levels[0]
    between = time.perf_counter()
    floats = samplers(1_000_000, 1_000)
    ended = time.perf_counter()
    rate, seconds = f"{traced.recovered:.3f}", f"{between - started:.1f} s"
    return [
        ("tracing, 100 people, 5,000 proportions, 10 runs", rate, f"{traced.predicted:.3f}", seconds, "-"),
        ("textbook floats, 1,000,000 draws of each", f"{floats.laplace.textbook:.3f}", "-", f"{ended - between:.1f} s", "-"),
    ]


def run() -> None:
    """Measures, prints and writes the table."""
    rows = [least_squares(), linear_program(500, "10 s")]
    rows += [linear_program(2000, "600 s")] if FULL else []
    rows += others()
    header = ("attack", "recovered", "predicted", "time", "goal")
    write_table("attacks", f"{machine('scipy')} One core.\n\n{markdown(header, rows)}")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    run()
