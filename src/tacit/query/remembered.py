"""The last questions of each analyst, as they were read and priced, for whoever asks the same again.

What is remembered follows from its key and from the open catalog and store alone: no row, no answer and no balance has a part in
it. The analyst is part of every key, so that nobody's question becomes faster because somebody else asked the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

MOST = 256  # of all analysts together
LONGEST = 2_000  # characters of a question: what is remembered of a short one is small

Value = TypeVar("Value")


class Remembered:
    """At most `most` results, of which the one that was not used for the longest time makes room. Errors are not remembered."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._lock = most, Lock()
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    def keeps(self, text: str) -> bool:
        """Whether what follows from a text is small enough to be remembered."""
        return len(text) <= LONGEST

    def of(self, text: str, key: tuple[Hashable, ...], made: Callable[[], Value]) -> Value:
        """What `made` returns, which follows from a text and from the rest of its key.

        >>> known = Remembered()
        >>> known.of("SELECT 1", ("ana",), lambda: "once"), known.of("SELECT 1", ("ana",), lambda: "twice")
        ('once', 'once')
        """
        if not self.keeps(text):
            return made()
        whole = (text, *key)
        with self._lock:
            if whole in self._known:
                self._known.move_to_end(whole)
                found: Value = self._known[whole]
                return found
        found = made()
        with self._lock:
            self._known[whole] = found
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found
