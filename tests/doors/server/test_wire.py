"""Messages keep their form on the way, and what is not a message ends the connection."""

from __future__ import annotations

import json
import pickle
import socket
import struct
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.doors.server import wire
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.wire import CALL, HEAD, LONGEST, NUMBERS, REPLY, Malformed

TEXTS = st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)


@given(st.builds(Call, TEXTS, TEXTS, st.dictionaries(TEXTS, VALUES, max_size=3), TEXTS))
def test_a_call_keeps_its_form(call):
    assert wire.call_read(wire.call_written(call)) == call


@given(
    st.builds(Reply, st.integers(200, 599), st.binary(max_size=40), PLAIN, st.lists(st.tuples(PLAIN, PLAIN), max_size=3).map(tuple))
)
def test_a_reply_keeps_its_form(reply):
    assert wire.reply_read(wire.reply_written(reply)) == reply


CONTENTS = [
    b"",
    b"[]",
    b"{}",
    b"nothing",
    b'{"operation":"ask"}',
    b'{"operation":1,"credential":"","arguments":{},"key":""}',
    b'{"operation":"ask","credential":"","arguments":[],"key":""}',
    b'{"operation":"ask","credential":"","arguments":{},"key":"","more":1}',
    b'{"operation":"ask","operation":"log","credential":"","arguments":{},"key":""}',
    b'{"operation":"ask","credential":"","arguments":{"n":NaN},"key":""}',
    b'{"operation":"ask","credential":"","arguments":{"n":' + b"[" * 10**5 + b"},",
    pickle.dumps({"operation": "ask", "credential": "", "arguments": {}, "key": ""}),
]


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
def test_what_is_not_a_call_is_refused(content):
    with pytest.raises(Malformed):
        wire.call_read(content)


@pytest.mark.parametrize(
    "known",
    [
        {"status": 99, "media": "a", "headers": []},
        {"status": True, "media": "a", "headers": []},
        {"status": 200, "media": "a\r\nSet-Cookie: x", "headers": []},
        {"status": 200, "media": "a", "headers": [["a", "b\nc"]]},
        {"status": 200, "media": "a", "headers": [["a"]]},
        {"status": 200, "media": "a", "headers": [["a", "b"]] * 33},
    ],
)
def test_a_reply_adds_no_line_to_http(known):
    with pytest.raises(Malformed):
        wire.reply_read(json.dumps(known).encode() + b"\n")


def test_lengths_are_not_believed():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(HEAD.pack(CALL, 1, LONGEST[CALL] + 1))
        with pytest.raises(Malformed):
            wire.receive(ours, CALL)
    with pytest.raises(Malformed):
        wire.framed(CALL, 1, bytes(LONGEST[CALL] + 1))


@pytest.mark.parametrize("kind", [REPLY, NUMBERS, b"x"])
def test_only_kinds_that_are_expected_are_taken(kind):
    with pytest.raises(Malformed):
        wire.head_of(HEAD.pack(kind, 1, 0), CALL)


def test_a_slow_sender_does_not_outlast_the_deadline():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        frame = wire.framed(CALL, 1, b"x" * 100)
        stop = threading.Event()

        def trickle() -> None:
            for byte in frame:
                if stop.wait(0.02):
                    return
                theirs.sendall(bytes([byte]))

        sender = threading.Thread(target=trickle)
        sender.start()
        with pytest.raises(TimeoutError):
            wire.receive(ours, CALL, time.monotonic() + 0.2)
        stop.set()
        sender.join()


def test_the_head_is_what_the_other_side_expects():
    assert struct.calcsize(HEAD.format) == 13
    assert set(LONGEST) == {CALL, REPLY, wire.ASK, wire.TOLD, NUMBERS, wire.UNUSABLE, wire.FAILED}
