"""Messages keep their form on the way, and what is not a message ends the connection."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.doors.server import calls
from tacit.doors.server.calls import Call, Reply
from tacit.release.elsewhere.frames import Malformed

TEXTS = st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)


@given(st.builds(Call, TEXTS, TEXTS, st.dictionaries(TEXTS, VALUES, max_size=3), TEXTS))
def test_a_call_keeps_its_form(call):
    assert calls.call_read(calls.call_written(call)) == call


@given(
    st.builds(Reply, st.integers(200, 599), st.binary(max_size=40), PLAIN, st.lists(st.tuples(PLAIN, PLAIN), max_size=3).map(tuple))
)
def test_a_reply_keeps_its_form(reply):
    assert calls.reply_read(calls.reply_written(reply)) == reply


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
        calls.call_read(content)


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
        calls.reply_read(json.dumps(known).encode() + b"\n")
