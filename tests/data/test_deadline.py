"""Work is stopped when its time is up, and what comes after it never is: the moments that a busy machine would hit are planted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.data import deadline
from tacit.data.deadline import stopped_after


class Late(threading.Event):
    """Time is up at the very moment at which the work ends: the one who waits does not see the end at first."""

    def __init__(self) -> None:
        super().__init__()
        self.looks, self.seen = 0, threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        super().wait()
        self.looks += 1
        if self.looks == 2:
            self.seen.set()
        return self.looks == 2


def test_work_is_stopped_again_until_it_ends() -> None:
    """The first stop is lost between two statements."""
    stops, enough = [], threading.Event()

    def stop() -> None:
        stops.append(1)
        if len(stops) == 3:
            enough.set()
        raise RuntimeError("the first engine is gone")  # nobody hears it

    with stopped_after(0.0, stop, again=0.0):
        assert enough.wait(60)


@pytest.mark.parametrize("seconds", [None, 3600.0])
def test_work_in_time_is_not_stopped(seconds: float | None) -> None:
    stops: list[int] = []
    with stopped_after(seconds, lambda: stops.append(1)):
        pass
    assert not stops


def test_a_failure_of_the_work_is_passed_on() -> None:
    with pytest.raises(KeyError), stopped_after(3600.0, lambda: None):
        raise KeyError


def happens(timed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens where time is up as the work ends."""
    late, happened = Late(), ["work"]
    monkeypatch.setattr(deadline, "threading", SimpleNamespace(Event=lambda: late, Lock=threading.Lock, Thread=threading.Thread))
    with timed(1.0, lambda: happened.append("stop")):
        pass
    happened.append("next")
    assert late.seen.wait(60)
    return happened


@contextmanager
def careless(seconds: float, stop: Callable[[], None]) -> Iterator[None]:
    """The planted bug: no second look under the lock."""
    done = deadline.threading.Event()

    def watch() -> None:
        while not done.wait(seconds):
            stop()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def test_time_that_is_up_as_work_ends_does_not_stop_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert happens(stopped_after, monkeypatch) == ["work", "next"]
    assert "stop" in happens(careless, monkeypatch)


def test_an_interrupt_while_the_end_waits_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C a second time: no later question is stopped."""
    stops: list[int] = []
    asked = threading.Event()

    class Lock:
        """A lock at which the end of the work is interrupted; the watcher takes it as ever."""

        def __enter__(self) -> None:
            if threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt

        def __exit__(self, *_: object) -> None:
            asked.set()

    made = SimpleNamespace(Event=threading.Event, Lock=Lock, Thread=threading.Thread)
    monkeypatch.setattr(deadline, "threading", made)
    with pytest.raises(KeyboardInterrupt), stopped_after(0.0, lambda: stops.append(1), again=0.01):
        assert asked.wait(60)
    seen = len(stops)
    time.sleep(0.1)
    assert len(stops) <= seen + 1, "one that had begun"


def test_the_end_waits_for_a_stop_that_has_begun() -> None:
    """A stop on its way to a cluster would arrive there after the next question."""
    begun, go, happened = threading.Event(), threading.Event(), []

    def stop() -> None:
        begun.set()
        assert go.wait(60)
        happened.append("stop")

    def work() -> None:
        with stopped_after(0.0, stop, again=3600.0):
            assert begun.wait(60)
        happened.append("next")

    worker = threading.Thread(target=work)
    worker.start()
    assert begun.wait(60)
    worker.join(0.1)
    assert happened == []
    go.set()
    worker.join(60)
    assert happened == ["stop", "next"]
