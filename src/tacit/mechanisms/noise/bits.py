"""The one door to randomness: bytes of the operating system's secure source, expanded by AES-256-CTR.

Every block of bytes has a key of its own from `os.urandom`, which is forgotten as soon as the block is made; a byte is handed
out once and erased. No state is shared between threads or across a fork. Assumptions in bits.md.

Callers write `bits.random_words(...)`, looked up on the module at each call: tests put chosen bits in place of random ones
there, and nowhere else.
"""

from __future__ import annotations

import os
import threading

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit.errors import InvalidInput

AHEAD = 1 << 16  # bytes made at once for small requests
SMALL = AHEAD >> 3  # a request of at least this many bytes gets blocks of its own
PER_KEY = 1 << 20  # bytes made under one key at most
SLACK = 15  # `update_into` asks for room of one AES block less a byte

_ZEROS = memoryview(bytes(PER_KEY))
_unread = threading.local()


def random_bytes(count: int) -> bytes:
    """`count` secure random bytes.

    >>> len(random_bytes(5)), random_bytes(0)
    (5, b'')
    """
    return _random(count, 1).tobytes()


def random_words(count: int) -> NDArray[np.uint64]:
    """`count` secure random 64-bit words, in an array that the caller owns.

    >>> random_words(3).dtype, len(random_words(3))
    (dtype('uint64'), 3)
    """
    return _random(count, 8).view(np.uint64)


def _random(count: int, width: int) -> NDArray[np.uint8]:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InvalidInput(f"the number of random bytes or words must be an integer of at least 0, not {count!r}")
    needed = int(count) * width
    return _unread_bytes(needed) if needed < SMALL else _fresh(needed)


def _unread_bytes(count: int) -> NDArray[np.uint8]:
    """The next bytes of this thread's block, erased there.

    The block is popped, used and put back: whoever interrupts (a signal handler, a finalizer) finds none and makes its own.
    """
    process, block, used = vars(_unread).pop("block", (None, None, AHEAD))
    if process != os.getpid() or used + count > AHEAD:
        process, block, used = os.getpid(), _fresh(AHEAD), 0
    taken: NDArray[np.uint8] = block[used : used + count].copy()
    block[used : used + count] = 0
    _unread.block = (process, block, used + count)
    return taken


def _fresh(count: int) -> NDArray[np.uint8]:
    room = np.empty(count + SLACK, dtype=np.uint8)
    for start in range(0, count, PER_KEY):
        _expand(room.data[start:], min(PER_KEY, count - start))
    return room[:count]


def _expand(room: memoryview, count: int) -> None:
    """Fill `count` bytes with the AES-256-CTR stream of a key that no one else has and no one keeps."""
    cipher = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(bytes(16)))
    cipher.encryptor().update_into(_ZEROS[:count], room)


def _forget() -> None:
    """Drop what the parent drew: a child that used it would repeat the parent's noise."""
    vars(_unread).clear()


os.register_at_fork(after_in_child=lambda: _forget())  # looked up when it runs, so that a test can leave it out
