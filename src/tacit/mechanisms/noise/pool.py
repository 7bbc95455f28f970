"""Values drawn ahead of need, so that the time of one answer says nothing of its noise.

A pool is a block of values of one law and scale, private to a thread. A request takes the next values; the block is drawn anew
after a fixed number of them, whatever they were. Each value is used once: it is erased when taken, and a forked child forgets
what its parent drew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

AHEAD = 1024  # values in a block
SMALL = 128  # a request for more is drawn at once: its time tells of a sum over many values
POOLS = 64  # blocks kept by a thread; the one unused for longest goes first

Draw = Callable[[Fraction, int], NDArray[Any]]

_pools = threading.local()


def drawn_ahead(draw: Draw, scale: Fraction, size: int) -> NDArray[Any]:
    """`size` values of `draw(scale, ...)`, from the block drawn ahead if they are few."""
    if size > SMALL:
        return draw(scale, size)
    blocks = _blocks()
    # popped, used and put back: whoever interrupts (a signal handler, a finalizer) finds none and draws its own
    unused = blocks.pop((draw, scale), None)
    if unused is None or unused.size < size:
        unused = draw(scale, AHEAD)
    taken = unused[:size].copy()
    unused[:size] = 0
    blocks[draw, scale] = unused[size:]
    while len(blocks) > POOLS:
        del blocks[next(iter(blocks))]
    return taken


def _blocks() -> dict[tuple[Draw, Fraction], NDArray[Any]]:
    """The blocks of this thread by law and scale, the one used last at the end."""
    state = vars(_pools)
    if state.get("process") != os.getpid():
        state.update(process=os.getpid(), blocks={})
    blocks: dict[tuple[Draw, Fraction], NDArray[Any]] = state["blocks"]
    return blocks


def _forget() -> None:
    vars(_pools).clear()


os.register_at_fork(after_in_child=lambda: _forget())  # looked up when it runs, so that a test can leave it out
