"""Frames keep their form on the way, no length is believed, and no slow sender outlasts a deadline."""

from __future__ import annotations

import socket
import struct
import threading
import time

import pytest

from tacit.release.elsewhere import frames
from tacit.release.elsewhere.frames import CALL, HEAD, LONGEST, NUMBERS, REPLY, Malformed


def test_lengths_are_not_believed():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(HEAD.pack(CALL, 1, LONGEST[CALL] + 1))
        with pytest.raises(Malformed):
            frames.receive(ours, CALL)
    with pytest.raises(Malformed):
        frames.framed(CALL, 1, bytes(LONGEST[CALL] + 1))


@pytest.mark.parametrize("kind", [REPLY, NUMBERS, b"x"])
def test_only_kinds_that_are_expected_are_taken(kind):
    with pytest.raises(Malformed):
        frames.head_of(HEAD.pack(kind, 1, 0), CALL)


def test_a_slow_sender_does_not_outlast_the_deadline():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        frame = frames.framed(CALL, 1, b"x" * 100)
        stop = threading.Event()

        def trickle() -> None:
            for byte in frame:
                if stop.wait(0.02):
                    return
                theirs.sendall(bytes([byte]))

        sender = threading.Thread(target=trickle)
        sender.start()
        with pytest.raises(TimeoutError):
            frames.receive(ours, CALL, time.monotonic() + 0.2)
        stop.set()
        sender.join()


def test_the_head_is_what_the_other_side_expects():
    assert struct.calcsize(HEAD.format) == 17
    assert set(LONGEST) == {
        CALL,
        REPLY,
        frames.ASK,
        frames.QUOTE,
        frames.TOLD,
        NUMBERS,
        frames.OWN_NUMBERS,
        frames.UNUSABLE,
        frames.FAILED,
    }
