"""Where long work on a question lets others go first: whoever runs it may pause it there, and no price depends on it.

The work of pricing is a loop over sums. A door that works for many analysts in one process gives a step to whoever had least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PAUSE: ContextVar[Callable[[], None] | None] = ContextVar("what this thread does between two steps", default=None)


def pause() -> None:
    """Between two steps of long work: what `pausing` was given, if anything."""
    if (between := _PAUSE.get()) is not None:
        between()


@contextmanager
def pausing(between: Callable[[], None]) -> Iterator[None]:
    """Call `between` at every pause of the work inside."""
    before = _PAUSE.set(between)
    try:
        yield
    finally:
        _PAUSE.reset(before)
