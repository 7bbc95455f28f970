import importlib.util
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from chance import normal_limit
from tacit.mechanisms.noise import bits, discrete, pool
from tacit.mechanisms.noise.pool import AHEAD, POOLS, SMALL, drawn_ahead

SCALE = Fraction(10)


@pytest.fixture(autouse=True)
def empty_pools() -> Iterator[None]:
    pool._forget()
    yield
    pool._forget()


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """`benchmarks/noise.py`, which measures the correlation of time and magnitude."""
    path = Path(__file__).parents[3] / "benchmarks" / "noise.py"
    if not path.exists():
        pytest.skip("a source distribution leaves the benchmarks out")
    spec = importlib.util.spec_from_file_location("benchmark_noise", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbered() -> Callable[[Fraction, int], np.ndarray]:
    """Draws 1, 2, 3, ...: every value tells which one it is."""
    numbers, lock = count(1), threading.Lock()

    def draw(scale: Fraction, size: int) -> np.ndarray:
        with lock:
            return np.array([next(numbers) for _ in range(size)], dtype=np.int64)

    return draw


def test_values_come_in_order_and_once() -> None:
    draw = numbered()
    taken = np.concatenate([drawn_ahead(draw, SCALE, 1 + step % 7) for step in range(100)])
    assert taken.tolist() == list(range(1, taken.size + 1))


def test_what_is_left_is_too_little() -> None:
    draw = numbered()
    for _ in range(AHEAD // SMALL):
        drawn_ahead(draw, SCALE, SMALL)
    assert drawn_ahead(draw, SCALE, 1).tolist() == [AHEAD + 1]
    drawn_ahead(draw, SCALE, SMALL - 2)
    for _ in range(AHEAD // SMALL - 1):
        drawn_ahead(draw, SCALE, SMALL)
    assert drawn_ahead(draw, SCALE, 2).tolist() == [2 * AHEAD + 1, 2 * AHEAD + 2]  # one was left, and is left behind


def test_many_values_are_drawn_at_once() -> None:
    draw = numbered()
    assert drawn_ahead(draw, SCALE, SMALL + 1).tolist() == list(range(1, SMALL + 2))
    assert pool._blocks() == {}


def test_taken_values_are_erased_and_owned() -> None:
    draw = numbered()
    whole: list[np.ndarray] = []

    def keeping(scale: Fraction, size: int) -> np.ndarray:
        whole.append(draw(scale, size))
        return whole[-1]

    taken = drawn_ahead(keeping, SCALE, 5)
    assert whole[0][:6].tolist() == [0, 0, 0, 0, 0, 6]
    taken[:] = 99
    assert drawn_ahead(keeping, SCALE, 1).tolist() == [6]


def test_pools_are_few_and_the_oldest_goes() -> None:
    draw = numbered()
    for scale in range(1, POOLS + 2):
        drawn_ahead(draw, Fraction(scale), 1)
        drawn_ahead(draw, SCALE, 1)
    kept = [scale for _, scale in pool._blocks()]
    assert len(kept) == POOLS
    assert Fraction(1) not in kept
    assert kept[-1] == SCALE


def test_scales_and_laws_do_not_share_a_pool() -> None:
    one, other = numbered(), numbered()
    assert [drawn_ahead(law, scale, 1)[0] for law in (one, other) for scale in (SCALE, Fraction(2))] == [
        1,
        AHEAD + 1,
        1,
        AHEAD + 1,
    ]


def test_threads_use_each_value_once() -> None:
    draw, taken, start = numbered(), [], threading.Barrier(8)

    def work() -> None:
        start.wait()
        taken.extend(int(value) for _ in range(2000) for value in drawn_ahead(draw, SCALE, 1))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(taken) == 16_000
    assert len(set(taken)) == len(taken)


def test_an_interruption_gets_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that draws while a block is being drawn."""
    draw, inner = numbered(), []

    def interrupted(scale: Fraction, size: int) -> np.ndarray:
        if not inner:
            inner.append(0)
            inner[0] = int(drawn_ahead(interrupted, scale, 1)[0])
        return draw(scale, size)

    outer = [int(drawn_ahead(interrupted, SCALE, 1)[0]) for _ in range(3000)]
    assert len({*inner, *outer}) == 3001


def child_values(amount: int) -> list[int]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writing, discrete.draw_laplace(Fraction(10**9), amount).tobytes())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return list(np.frombuffer(pipe.read(), dtype=np.int64))


def fork_repeats() -> bool:
    """At scale 10^9 two of 192 values agree with probability below 192^2 / 2 / 4e9 = 5e-6; three or more with 1e-16."""
    discrete.draw_laplace(Fraction(10**9), 1)
    drawn = child_values(64) + child_values(64) + list(discrete.draw_laplace(Fraction(10**9), 64))
    return len(set(drawn)) < len(drawn) - 2


def test_a_child_forgets_what_its_parent_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fork_repeats()
    monkeypatch.setattr(pool, "_forget", lambda: None)
    assert not fork_repeats()  # the process id alone is enough
    process = os.getpid()
    monkeypatch.setattr(pool.os, "getpid", lambda: process)
    assert fork_repeats()


@pytest.mark.slow  # a clock is read: other work on the machine can disturb it
@pytest.mark.parametrize("draw", [discrete.draw_laplace, discrete.draw_gaussian])
@pytest.mark.parametrize("scale", [Fraction(10), Fraction(10**6)], ids=str)
def test_time_says_nothing_of_a_value(draw, scale: Fraction, benchmark: ModuleType) -> None:
    """20,000 single draws: without a correlation its deviation is 1 / sqrt(20,000)."""
    assert abs(benchmark.rank_correlation(lambda: draw(scale, 1)[0], 20_000)) <= normal_limit(1, 20_000)


def test_a_sampler_that_counts_up_is_caught(benchmark: ModuleType) -> None:
    """One coin after the other until it fails, which is how a geometric number is often drawn."""

    def counting() -> int:
        value = 0
        while bits.random_words(1)[0] % 16:
            value += 1
        return value

    assert benchmark.rank_correlation(counting, 2000) > 4 * normal_limit(1, 2000)


@pytest.mark.slow  # a clock is read: other work on the machine can disturb it
def test_the_measure_ignores_a_value_that_takes_no_time(benchmark: ModuleType) -> None:
    """Magnitudes up to 256 are objects that Python always holds; others are made anew, and reading those takes longer."""
    values = iter(np.abs(discrete.discrete_laplace(Fraction(10), 5000)).tolist())
    assert abs(benchmark.rank_correlation(lambda: next(values), 5000)) <= normal_limit(1, 5000)


def test_the_measure_sees_a_difference_of_a_microsecond(benchmark: ModuleType) -> None:
    values = iter(discrete.discrete_laplace(Fraction(10), 2000).tolist())

    def leaking() -> int:
        value = next(values)
        until = time.perf_counter_ns() + 1000 * abs(value)
        while time.perf_counter_ns() < until:
            pass
        return value

    assert benchmark.rank_correlation(leaking, 2000) > 4 * normal_limit(1, 2000)
