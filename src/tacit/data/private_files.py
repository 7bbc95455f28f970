"""Files of their owner alone from the moment they are made, whichever library makes them: a store, its log, what is spilled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

OWNER_ALONE = 0o077  # what the mask takes away: everything of group and others

_turn = Lock()
_before: list[int] = []  # the mask that each preparation found; the first one found that of the process


@contextmanager
def files_of_the_owner() -> Iterator[None]:
    """Files that are made meanwhile have mode 600, and folders 700.

    The mask belongs to the whole process. So the first preparation that begins sets it, and the last one that ends puts back what
    was there before; files that other threads make in between are more private than usual, and never less.
    """
    with _turn:
        _before.append(os.umask(OWNER_ALONE))
    try:
        yield
    finally:
        with _turn:
            found = _before.pop()
            if not _before:
                os.umask(found)
