"""Compares functions extracted from Coq with tacit's Python on random inputs, and shows that planted errors are noticed."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import tacit
from tacit.accounting import filter as filters
from tacit.accounting.composition import Cost
from tacit.mechanisms.noise import bits, discrete, enclosure, sampler, table
from tacit.mechanisms.selection import KeyThreshold
from tacit.query.plan import Moment
from tacit.query.price import stability
from tacit.query.price.stability import Reach

Case = tuple[str, Callable[[], str]]
STAGES = (64, 128, 192)
TABLES = {"half": Fraction(1, 2), "one": Fraction(1), "three": Fraction(10, 3), "ten": Fraction(10)}
WIDE = (Fraction(3), Fraction(200), Fraction(10**5), Fraction(10**9), Fraction(10**13), Fraction(10**20))
KEYS = tuple(KeyThreshold(epsilon=1, delta=1e-6, max_groups=groups, min_people=least) for groups in (1, 2) for least in (0, 20, 40))


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
        with patch.object(discrete, "draw_laplace", lambda *_: np.asarray(noise)):
            return str(tacit.NoisyMax(sensitivity=1, epsilon=1, step=1).release(scores))

    return " ".join(["winner", *(binary(s + n) for s, n in zip(scores, noise, strict=True))]), answer


def rule_case(draw: random.Random) -> Case:
    """The l1 sensitivity of a moment, for units that come or go, or change."""
    kind = draw.choice(("rows", "sum", "centred", "squares"))
    low = draw.randrange(-50, 50)
    high = low + draw.randrange(60)
    rows, groups, per_group = draw.randrange(1, 60), draw.randrange(1, 40), draw.randrange(1, 20)
    changes, several = draw.random() < 0.5, draw.random() < 0.5
    moment = Moment(kind, None if kind == "rows" else SimpleNamespace(low=low, high=high))
    touched = Reach(rows, groups, per_group, "change-one" if changes else "add-remove", several)
    numbers = f"{kind} {binary(low)} {binary(high)} {rows} {groups} {per_group} {changes:d} {several:d}"
    return f"rule {numbers}", lambda: binary(stability.l1_sensitivity(moment, touched))


def keys_case(draw: random.Random) -> Case:
    """Groups with noise that is given instead of drawn; many of them are just at the threshold, or one unit away."""
    threshold, size = draw.randrange(len(KEYS)), draw.randrange(1, 6)
    tau = KEYS[threshold].threshold
    units = [draw.randrange(4) for _ in range(size)]
    noise = [draw.choice((tau - n - 1, tau - n, tau - n + 1, draw.randrange(-60, 60))) for n in units]

    def answer() -> str:
        of_present = np.array([0, 0, *(x for n, x in zip(units, noise, strict=True) if n)])
        with patch.object(discrete, "draw_laplace", lambda *_: of_present):
            shown = KEYS[threshold].release((list(range(size)), units))
        return " ".join(f"{key}:{binary(count)}" for key, count in shown)

    pairs = (binary(each) for pair in zip(units, noise, strict=True) for each in pair)
    return " ".join(["keys", binary(tau), *pairs]), answer


@lru_cache
def bounds(name: str) -> tuple[tuple[list[int], list[int]], ...]:
    """The bounds of a table's thresholds at all stages."""
    law = sampler.sampler(sampler.laplace(TABLES[name])).table
    return tuple(law.thresholds(precision) for precision in STAGES)


class NoWordsLeft(Exception):
    """A decision needs more words than were given."""


@contextmanager
def given(words: list[int]) -> Iterator[None]:
    """Words instead of random ones, for as long as the block runs."""
    waiting = list(words)

    def take(count: int) -> np.ndarray:
        if count > len(waiting):
            raise NoWordsLeft
        return np.array([waiting.pop(0) for _ in range(count)], dtype=np.uint64)

    with patch.object(bits, "random_words", take):
        yield


def near(draw: random.Random, number: int, size: int) -> int:
    """A number of that many bits: often the given one, or a neighbour of it."""
    return (number + draw.randrange(-1, 2) if draw.random() < 0.8 else draw.getrandbits(size)) % 2**size


def table_case(draw: random.Random) -> Case:
    """A uniform number that ties with a threshold in its first bits, often in 64 or 128 of them."""
    name = draw.choice(tuple(TABLES))
    (lows, _), (finer, _), (finest, _) = bounds(name)
    place = draw.randrange(len(lows))
    first = near(draw, lows[place], 64)
    words = [draw.getrandbits(48) << 16 | first >> 48, (first << 16) % 2**64 | draw.getrandbits(16)]
    words += [near(draw, finer[place] % 2**64, 64), near(draw, finest[place] % 2**64, 64)]

    def answer() -> str:
        try:
            with given(words):
                return str(sampler.sampler(sampler.laplace(TABLES[name])).table.draw(1)[0])
        except NoWordsLeft:
            return "unsure"

    return " ".join(["table", name, *map(binary, words)]), answer


def happens_case(draw: random.Random) -> Case:
    """A probability, and a uniform number that often ties with it."""
    share = Fraction(draw.randrange(1, 1000), 1000) if draw.random() < 0.5 else Fraction(draw.randrange(1, 2**20), 2**20)
    low, high = (lambda p: int(share * 2**p)), (lambda p: -int(-share * 2**p // 1))
    first, second = near(draw, low(64), 64), near(draw, low(128) % 2**64, 64)

    def answer() -> str:
        try:
            with given([second]):
                return f"{enclosure.happens(lambda precision: (low(precision), high(precision)), first):d}"
        except NoWordsLeft:
            return "unsure"

    numbers = (low(64), high(64), low(128), high(128), first, second)
    return " ".join(["happens", *map(binary, numbers)]), answer


def placed_case(draw: random.Random) -> Case:
    """An outcome of the table with its low bits, or a tail with what lies beyond the blocks."""
    law = sampler.sampler(sampler.laplace(draw.choice(WIDE)))
    outcome = draw.randrange(law.tails + 2) if draw.random() < 0.8 else law.tails + draw.randrange(2)
    low, beyond = draw.getrandbits(law.shift) if law.shift else 0, draw.randrange(-30, 30)
    size = next(size for size in (16, 32, 64) if law.shift <= size)

    def answer() -> str:
        if outcome < law.tails:
            with given([low << (size - law.shift)]):
                return binary(int(law._place(np.array([outcome], dtype=np.int16))[0]))
        with given([0]), patch.object(sampler.Sampler, "draw", lambda *_: np.array([beyond])):
            return binary(law._tail(outcome - law.tails))

    return f"placed {law.shift} {law.blocks} {outcome} {binary(low)} {binary(beyond)}", answer


def cases(draw: random.Random, count: int) -> Iterator[Case]:
    makers = (filter_case, reach_case, winner_case, rule_case, keys_case, table_case, happens_case, placed_case)
    for place in range(count):
        yield makers[place % len(makers)](draw)


def preamble() -> list[str]:
    """The bounds of all tables, which the program keeps."""
    rows = (["bounds", name, *(",".join(map(binary, side)) for stage in bounds(name) for side in stage)] for name in TABLES)
    return [" ".join(row) for row in rows]


def differences(program: str, count: int, seed: int, plant: str | None = None) -> int:
    """In how many cases the extracted functions and the Python differ."""
    listed = list(cases(random.Random(seed), count))  # noqa: S311  # inputs of a comparison, no noise
    lines = [*preamble(), *(text for text, _ in listed)]
    run = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    expected = run.stdout.splitlines()[len(TABLES) :]
    if len(expected) != count:
        raise SystemExit(f"{count} cases were given and {len(expected)} results returned")
    with planted(plant):
        return sum(answer() != result for (_, answer), result in zip(listed, expected, strict=True))


# --- planted errors ----------------------------------------------------------------------------------------------------------

HOLDS, PLACE, ARGMAX = filters.Filter.holds, sampler.Sampler._place, np.argmax
STEP = Fraction(1, filters.GRID)


def _one_step_more(cap: filters.Filter, state: filters.State) -> bool:
    less = None if state.epsilon is None else state.epsilon - STEP
    return HOLDS(cap, state) or HOLDS(cap, filters.State(less, state.rho, state.delta))


def _less(cap: filters.Filter, state: filters.State) -> bool:
    pure = state.epsilon is not None and state.epsilon < cap.epsilon
    return state.delta <= cap.delta_events and (pure or state.rho < cap.largest_rho)


def _one_end(ends: tuple[int, int], touched: Reach) -> int:
    return max(-ends[0], ends[1])


def _at_most(probability: Callable[[int], tuple[int, int]], drawn: int) -> bool:
    return drawn <= probability(64)[0]


def _from_zero(law: sampler.Sampler, outcomes: Any) -> Any:
    values = PLACE(law, outcomes)
    return np.where(values < 0, values + 1, values)


def _largest_last(numbers: Any) -> int:
    return len(numbers) - 1 - int(ARGMAX(numbers[::-1]))


def _stops(law: table.Table, drawn: int) -> int:
    return int(np.searchsorted(law.low, np.uint64(drawn), side="right"))


PLANTS: dict[str, tuple[object, str, object]] = {
    "the grid rounds down": (filters, "on_grid_up", filters.on_grid_down),
    "one step above the cap is admitted": (filters.Filter, "holds", _one_step_more),
    "< for <= in the rule of the filter": (filters.Filter, "holds", _less),
    "a forgotten group factor": (Reach, "l1", property(lambda touched: min(touched.rows, touched.per_group))),
    "a change that is counted once": (stability, "_l1_of", _one_end),
    "ties go to the last": (np, "argmax", _largest_last),
    "a choice that stops at 64 bits": (table.Table, "refined", _stops),
    "< for <= in a choice": (table, "bisect_right", bisect_left),
    "<= for < in an event": (enclosure, "happens", _at_most),
    "negative integers that begin at 0": (sampler.Sampler, "_place", _from_zero),
}
OFF_BY_ONE = "a threshold of keys that is off by one"


@contextmanager
def planted(plant: str | None) -> Iterator[None]:
    """An error in the Python, for as long as the block runs."""
    if plant == OFF_BY_ONE:
        for keys in KEYS:
            object.__setattr__(keys, "threshold", keys.threshold - 1)
        try:
            yield
        finally:
            for keys in KEYS:
                object.__setattr__(keys, "threshold", keys.threshold + 1)
    elif plant:
        with patch.object(*PLANTS[plant]):
            yield
    else:
        yield


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("program", help="the extracted functions, built by check.py")
    reader.add_argument("--cases", type=int, default=100_000)
    reader.add_argument("--seed", type=int, default=1)
    words = reader.parse_args()
    different = differences(words.program, words.cases, words.seed)
    print(f"  {words.cases} random inputs: {different} different")
    failed = different > 0
    for plant in (*PLANTS, OFF_BY_ONE):
        seen = differences(words.program, min(words.cases, 3000), words.seed, plant)
        print(f"  planted, {plant}: {seen} different")
        failed |= seen == 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
