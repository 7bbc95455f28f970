import multiprocessing
import os
import threading
import warnings
from itertools import count

import numpy as np
import pytest

from chance import plausible_hits
from tacit.errors import InvalidInput
from tacit.mechanisms.noise import bits

PIECE = 16  # two random pieces of 16 bytes agree with probability 2^-128


def pieces_of(data: bytes) -> set[bytes]:
    return {data[start : start + PIECE] for start in range(len(data) - PIECE + 1)}


def child_bytes(amount: int) -> bytes:
    """What a forked child draws first."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking while other tests' threads live is the point
        child = os.fork()
    if child == 0:
        os.write(writing, bits.random_bytes(amount))
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read()


def fork_repeats() -> bool:
    """Whether parent and two children share a piece of their next bytes."""
    bits.random_bytes(100)
    drawn = [child_bytes(1000), child_bytes(1000), bits.random_bytes(1000)]
    return len(set.union(*map(pieces_of, drawn))) < sum(len(pieces_of(data)) for data in drawn)


def thread_repeats(threads: int = 8, each: int = 500) -> bool:
    """Whether any piece is drawn twice by threads that draw at the same time."""
    drawn: list[bytes] = []
    start = threading.Barrier(threads)

    def draw() -> None:
        start.wait()
        drawn.extend([bits.random_bytes(PIECE) for _ in range(each)])

    workers = [threading.Thread(target=draw) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(drawn) == threads * each
    return len(set(drawn)) < len(drawn)


@pytest.mark.parametrize("amount", [0, 1, 7, 8, bits.SMALL - 1, bits.SMALL, bits.AHEAD + 1, bits.PER_KEY + 5, 3 * bits.PER_KEY])
def test_as_many_as_asked_for(amount: int) -> None:
    assert len(bits.random_bytes(amount)) == amount
    words = bits.random_words(amount)
    assert words.shape == (amount,)
    assert words.dtype == np.uint64
    words += np.uint64(1)  # the caller owns the array


@pytest.mark.parametrize("amount", [-1, 1.5, True, "8", None])
def test_a_count_is_a_number_of_bytes(amount: object) -> None:
    with pytest.raises(InvalidInput, match="integer of at least 0"):
        bits.random_bytes(amount)  # type: ignore[arg-type]


def test_the_stream_is_aes_256_ctr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Published values for a zero key: AESAVS for counter 0, test case 13 of GCM for counter 1."""
    bits.random_bytes(1)  # a block is at hand, which a request of this length does not use
    monkeypatch.setattr(bits.os, "urandom", bytes)
    stream = bits.random_bytes(bits.SMALL)
    assert stream[:16].hex() == "dc95c078a2408989ad48a21492842087"
    assert stream[16:32].hex() == "530f8afbc74536b9a963b4f1c4cb738b"


def test_each_block_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    keys = count(1)
    monkeypatch.setattr(bits.os, "urandom", lambda size: asked.append(size) or next(keys).to_bytes(size, "big"))
    bits.random_bytes(4 * 2**20)  # in plain numbers: bits.md counts on 2^20 bytes for a key at most
    assert asked == [32] * 4


def test_every_bit_is_fair() -> None:
    """Each of 64 bit positions."""
    words = bits.random_words(1 << 18)
    assert plausible_hits([int((words >> np.uint64(place) & np.uint64(1)).sum()) for place in range(64)], 1 << 18, 1 / 2)


def test_bytes_are_erased_when_handed_out() -> None:
    bits._forget()
    bits.random_bytes(1000)
    _, block, used = bits._unread.block
    assert used == 1000
    assert not block[:used].any()
    assert block[used:].any()


def test_a_request_at_the_end_of_a_block_gets_all_its_bytes_from_a_new_one() -> None:
    """No request is short, and none gets bytes that were erased: 16 zero bytes have a chance of 2^-128."""
    drawn = [bits.random_bytes(1000) for _ in range(3 * bits.AHEAD // 1000)]
    assert {len(data) for data in drawn} == {1000}
    assert bytes(PIECE) not in set.union(*map(pieces_of, drawn[-70:]))


def test_an_interruption_gets_other_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that draws in the middle of a draw: here, at the question which process this is."""
    process, inner, handling = os.getpid(), [], threading.Lock()

    def interrupted() -> int:
        if handling.acquire(blocking=False):
            inner.append(bits.random_bytes(PIECE))
            handling.release()
        return process

    monkeypatch.setattr(bits.os, "getpid", interrupted)
    outer = [bits.random_bytes(PIECE) for _ in range(100)]
    assert len(inner) >= 100
    assert len(set(inner + outer)) == len(inner) + len(outer)


def test_children_do_not_repeat_the_parent() -> None:
    assert not fork_repeats()


def test_a_door_that_forgets_to_forget_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    process = os.getpid()
    monkeypatch.setattr(bits, "_forget", lambda: None)
    assert not fork_repeats()  # the process id alone is enough
    monkeypatch.setattr(bits.os, "getpid", lambda: process)
    assert fork_repeats()


def drawn_in_worker(_: int) -> bytes:
    return bits.random_bytes(1000)


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_worker_processes_do_not_repeat(method: str) -> None:
    bits.random_bytes(100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(2) as pool:
            drawn = [*pool.map(drawn_in_worker, range(8), chunksize=1), bits.random_bytes(1000)]
    assert len(set.union(*map(pieces_of, drawn))) == sum(len(pieces_of(data)) for data in drawn)


def test_threads_do_not_share_bytes() -> None:
    assert not thread_repeats()


def test_threads_with_one_key_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits.os, "urandom", bytes)
    assert thread_repeats()
