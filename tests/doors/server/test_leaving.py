"""Where the clock is hidden: public ticks, public sizes, and cores of their own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loops import in_own_loop
from tacit.doors.server import leaving
from tacit.doors.server.analysts import FIRST, FORMS
from tacit.doors.server.leaving import FILLING, LEAST, TICK, TIMED, fill, size_of
from tacit.doors.server.settings import cores_of
from tacit.evidence.attacks.reply_times import Sides

SIZES = [LEAST * 4**place for place in range(12)]


@given(length=st.integers(1, 200_000), media=st.sampled_from(sorted(FILLING)))
def test_bodies_of_one_size_class_have_one_length(length: int, media: str) -> None:
    assert len(fill(f"{media}; charset=utf-8", b"1" * length)) == next(size for size in SIZES if size >= length)


@pytest.mark.parametrize("form", ["json", "exact", "svg", "arrow"])
def test_a_filled_body_is_read_as_before(form: str) -> None:
    reply = FORMS[form](FIRST)
    body = fill(reply.media, reply.body)
    assert body.startswith(reply.body)
    assert len(body) in SIZES
    if form in ("json", "exact"):
        assert json.loads(body) == json.loads(reply.body)
    if form == "arrow":
        assert pa.ipc.open_stream(body).read_all().equals(pa.ipc.open_stream(reply.body).read_all())
    if form == "svg":
        assert body.rstrip(b" ") == reply.body.rstrip(b" ")


@pytest.mark.parametrize("media", ["text/csv; charset=utf-8", "application/vnd.tacit.certificate+json"])
def test_what_has_no_room_for_it_is_sent_as_it_is(media: str) -> None:
    assert fill(media, b"n\n1\n") == b"n\n1\n"


def sent(body: bytes, media: bytes = b"application/json", state: dict[str, Any] | None = None) -> tuple[list[Any], float]:
    """The messages of a reply, and the moment at which it leaves."""
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append((time.monotonic(), message))

    async def reply() -> None:
        later = leaving.sender({"state": state or {}}, send)
        headers = [(b"content-type", media), (b"content-length", str(len(body)).encode())]
        await later({"type": "http.response.start", "status": 200, "headers": headers})
        await later({"type": "http.response.body", "body": body})

    in_own_loop(reply())
    return [message for _, message in messages], messages[0][0]


def test_a_reply_has_its_length_and_leaves_after_a_tick() -> None:
    before = time.monotonic()
    (start, body), at = sent(b'{"a": 1}')
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode() == b"1024"
    assert b"content-encoding" not in dict(start["headers"])
    assert at // TICK > before // TICK


def test_what_the_clerk_has_timed_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(_: float) -> None:
        raise AssertionError("it waits for a tick")

    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert len(sent(b"{}", state={TIMED: True})[0]) == 2
    with pytest.raises(AssertionError):
        sent(b"{}")


def test_front_and_clerk_share_no_core_with_engines() -> None:
    assert not set(cores_of(True, [0, 1])) & set(cores_of(False, [0, 1]))
    assert set(cores_of(True, range(8))) | set(cores_of(False, range(8))) == set(range(8))
    assert cores_of(True, [5]) == cores_of(False, [5]) == (5,)


# --- what an observer of the network counts ------------------------------------------------------------------------------------


def told_apart(size: Callable[[bytes], int]) -> float:
    """How well lengths tell answers with a short released value from those with a long one."""
    bodies = [
        [json.dumps({"rows": [{"n": value}]}).encode() for value in values] for values in (range(100), range(10**6, 10**6 + 100))
    ]
    sides = Sides(*(tuple(float(size(body)) for body in side) for side in bodies))
    return max(sides.auc, 1 - sides.auc)


def test_lengths_tell_nothing_within_a_size_class() -> None:
    assert told_apart(lambda body: len(fill("application/json", body))) == 0.5


def test_a_plant_without_filling_is_caught() -> None:
    assert told_apart(len) > 0.9


def test_sizes_are_public_classes() -> None:
    assert [size_of(length) for length in (1, 1024, 1025, 16_384, 16_385)] == [1024, 1024, 4096, 16_384, 65_536]
