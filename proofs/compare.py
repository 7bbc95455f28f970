"""Compares functions extracted from Coq with tacit's Python on random inputs, and shows that planted errors are noticed."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

import tacit
from tacit.accounting import filter as filters
from tacit.accounting.composition import Cost
from tacit.mechanisms.noise import discrete
from tacit.query.price.stability import Reach

Case = tuple[str, Callable[[], str]]
PLANTS = (
    "the grid rounds down",
    "one step above the cap is admitted",
    "a cap that is reached is refused",
    "a forgotten group factor",
    "ties go to the last",
)


def binary(number: int) -> str:
    return format(number, "b")


def fraction(number: Fraction) -> str:
    return f"{binary(number.numerator)}/{binary(number.denominator)}"


def rational(draw: random.Random, size: int = 10) -> Fraction:
    """A fraction from 0 to `size`: a decimal, a small fraction, on the grid, or none of these."""
    kind = draw.randrange(4)
    if kind == 0:
        return Fraction(draw.randrange(size * 1000), 1000)
    if kind == 1:
        return Fraction(draw.randrange(size * 12), draw.randrange(1, 33))
    if kind == 2:
        return Fraction(draw.randrange(size * filters.GRID), filters.GRID)
    return Fraction(draw.randrange(1, 10**9) * size, draw.randrange(10**9, 10**10))


def filter_case(draw: random.Random) -> Case:
    """A cap, and spends one after the other; some of them are just what is left, or a step of the grid more."""
    cap = filters.Filter(
        epsilon=rational(draw) + Fraction(1, 100),
        delta=Fraction(1, draw.randrange(100, 10**7)),
        for_events=Fraction(draw.randrange(101), 100),
    )
    costs: list[Cost] = []
    state = filters.NOTHING_SPENT
    for _ in range(draw.randrange(1, 8)):
        pure = draw.random() < 0.6
        epsilon = rational(draw, 3) if pure else None
        if pure and state.epsilon is not None and draw.random() < 0.4:
            epsilon = max(Fraction(0), cap.epsilon - state.epsilon) + Fraction(draw.randrange(3) - 1, filters.GRID)
        rho = (
            rational(draw, 1)
            if draw.random() < 0.7
            else max(Fraction(0), cap.largest_rho - state.rho) + Fraction(draw.randrange(2), filters.GRID)
        )
        cost = Cost(None if epsilon is None else max(epsilon, Fraction(0)), rho, cap.delta * draw.randrange(4) / 20)
        costs.append(cost)
        if cap.admits(state, cost):
            state = cap.after(state, cost)
    numbers = [cap.epsilon, cap.largest_rho, cap.delta_events]
    texts = [fraction(each) for each in numbers]
    texts += ["none" if each is None else fraction(each) for cost in costs for each in (cost.epsilon, cost.rho, cost.delta)]
    return " ".join(["filter", *texts]), lambda: _decisions(cap, costs)


def _decisions(cap: filters.Filter, costs: list[Cost]) -> str:
    state, words = filters.NOTHING_SPENT, []
    for cost in costs:
        admitted = cap.admits(state, cost)
        words.append("1" if admitted else "0")
        state = cap.after(state, cost) if admitted else state
    sums = [None if each is None else each * filters.GRID for each in (state.epsilon, state.rho, state.delta)]
    return " ".join([*words, *("none" if each is None else binary(int(each)) for each in sums)])


def reach_case(draw: random.Random) -> Case:
    rows, groups, per_group = draw.randrange(1, 60), draw.randrange(1, 40), draw.randrange(1, 20)

    def answer() -> str:
        touched = Reach(rows, groups, per_group)
        return f"{touched.l1} {touched.l2_squared}"

    return f"reach {rows} {groups} {per_group}", answer


def winner_case(draw: random.Random) -> Case:
    """Scores with noise that is given instead of drawn."""
    size = draw.randrange(1, 9)
    scores, noise = ([draw.randrange(-4, 5) for _ in range(size)] for _ in range(2))

    def answer() -> str:
        kept, discrete.draw_laplace = discrete.draw_laplace, lambda *_: np.asarray(noise)
        try:
            return str(tacit.NoisyMax(sensitivity=1, epsilon=1, step=1).release(scores))
        finally:
            discrete.draw_laplace = kept

    return " ".join(["winner", *(binary(s + n) for s, n in zip(scores, noise, strict=True))]), answer


def cases(draw: random.Random, count: int) -> Iterator[Case]:
    makers = (filter_case, reach_case, winner_case)
    for place in range(count):
        yield makers[place % 3](draw)


def differences(program: str, count: int, seed: int, plant: str | None = None) -> int:
    """In how many cases the extracted functions and the Python differ."""
    listed = list(cases(random.Random(seed), count))  # noqa: S311  # inputs of a comparison, no noise
    run = subprocess.run([program], input="\n".join(text for text, _ in listed) + "\n", capture_output=True, text=True, check=True)
    expected = run.stdout.splitlines()
    if len(expected) != count:
        raise SystemExit(f"{count} cases were given and {len(expected)} results returned")
    with planted(plant):
        return sum(answer() != result for (_, answer), result in zip(listed, expected, strict=True))


@contextmanager
def planted(plant: str | None) -> Iterator[None]:
    """An error in the Python, for as long as the block runs."""
    kept = (filters.on_grid_up, filters.Filter.holds, Reach.l1, np.argmax)
    step = Fraction(1, filters.GRID)
    if plant == PLANTS[0]:
        filters.on_grid_up = filters.on_grid_down
    elif plant == PLANTS[1]:
        filters.Filter.holds = lambda cap, s: (
            kept[1](cap, s) or kept[1](cap, filters.State(None if s.epsilon is None else s.epsilon - step, s.rho, s.delta))
        )
    elif plant == PLANTS[2]:
        filters.Filter.holds = lambda cap, s: (
            s.delta <= cap.delta_events and ((s.epsilon is not None and s.epsilon < cap.epsilon) or s.rho < cap.largest_rho)
        )
    elif plant == PLANTS[3]:
        Reach.l1 = property(lambda touched: min(touched.rows, touched.per_group))
    elif plant == PLANTS[4]:
        np.argmax = lambda numbers: len(numbers) - 1 - int(kept[3](numbers[::-1]))
    try:
        yield
    finally:
        filters.on_grid_up, filters.Filter.holds, Reach.l1, np.argmax = kept


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("program", help="the extracted functions, built by check.py")
    reader.add_argument("--cases", type=int, default=100_000)
    reader.add_argument("--seed", type=int, default=1)
    words = reader.parse_args()
    different = differences(words.program, words.cases, words.seed)
    print(f"  {words.cases} random inputs: {different} different")
    failed = different > 0
    for plant in PLANTS:
        seen = differences(words.program, min(words.cases, 3000), words.seed, plant)
        print(f"  planted, {plant}: {seen} different")
        failed |= seen == 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
