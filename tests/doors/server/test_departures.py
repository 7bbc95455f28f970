"""Replies leave at public times: whatever became of a question, and whoever watches.

The statistical tests compare what an attacker sees on two sides that differ in what an engine does, a pair at a time and in an
order drawn by lot. A late reply is one observation like another: it leaves at the next rung, on either side, since the machine is
busy with other things. What differs in the time of an engine is far below the room of a rung, so a busy machine makes both late.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import auc_limit
from departing import Clerk, clerk_of
from neighbouring import CATALOG, OTHERS, VICTIM, write_world
from tacit.doors.server.calls import Reply
from tacit.doors.server.clerk import Departures
from tacit.errors import TooManyFailures
from tacit.evidence.attacks.reply_times import Sides
from tacit.query.price import work
from tacit.release.elsewhere import pool, stays
from tacit.release.elsewhere.stays import COLLECTED, Stay, next_span
from tacit.session import open as open_data

COUNT = "SELECT COUNT(*) AS n FROM visits"
CASES = {
    "a value nobody else has": "SELECT COUNT(*) AS n FROM visits WHERE cost = 49.5",
    "a long text": "SELECT COUNT(*) AS n FROM visits WHERE note LIKE '%victim%'",
    "a person of many rows": "SELECT ward, SUM(cost) AS c FROM visits GROUP BY ward",
    "an empty side of a join": "SELECT COUNT(*) AS n FROM visits JOIN patients ON visits.person = patients.id WHERE ward = 'a'",
    "a stored answer of another analyst": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
}
STORED = CASES["a stored answer of another analyst"]
PAIRS, FEW, MANY = 100, 12, 2_000
MORE = 0.03  # seconds that an engine takes more where the person is in the data
PLANTED = 0.3  # the same for a plant, or twice what the clerk itself took at most: a busy machine must not hide it
LEAST_OF_A_PLANT, MOST = 0.9, 0.75


@pytest.fixture(autouse=True)
def ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ladder from 5 milliseconds."""
    monkeypatch.setattr(work, "LOWEST", 5)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The catalogs of two neighbouring worlds, prepared, with ledgers."""
    made = []
    for name, rows in (("without", OTHERS), ("with", [*OTHERS, *VICTIM])):
        folder = tmp_path_factory.mktemp(name)
        write_world(folder, rows, f"{CATALOG.replace('epsilon = 20', 'epsilon = 100')}\n[server]\npace = 0.85\n")
        with open_data(folder / "tacit.toml", own_process=False) as data:
            data.prepare(yes=True)
            data.begin_scratch("a test")
        made.append(folder / "tacit.toml")
    return made[0], made[1]


@pytest.fixture
def clerks(places: tuple[Path, Path], tmp_path: Path) -> Iterator[tuple[Clerk, Clerk]]:
    copies = [Path(shutil.copytree(place.parent, tmp_path / name)) for name, place in zip(("without", "with"), places, strict=True)]
    with clerk_of(copies[0] / "tacit.toml") as without, clerk_of(copies[1] / "tacit.toml") as there:
        yield without, there


@pytest.fixture
def clerk(clerks: tuple[Clerk, Clerk]) -> Clerk:
    return clerks[0]


def ask(clerk: Clerk, sql: str, epsilon: str, by: str = "ana", **more: Any) -> tuple[float, Reply]:
    return clerk.timed("ask", by, sql=sql, epsilon=epsilon, fresh=True, **more)


NUMBERS = iter(range(10**6))


def a_budget() -> str:
    """A budget that was not asked with before, so that the question is paid for."""
    return f"0.01{next(NUMBERS):06d}1"


# --- stays -------------------------------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def stayed(arrives: float, rung: float, made: float) -> tuple[Stay, float | None]:
    """A stay in which the reply of the engine arrives, and the answer is made, after so many seconds."""
    clock = Clock()
    ours, theirs = socket.socketpair()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now >= 1000 + arrives:
            theirs.send(b"x")

    stay = Stay(clock, sleep)
    stay.grant(None, rung)  # type: ignore[arg-type]
    stay.pay(1)
    with ours, theirs:
        stay.collect(ours, rung, 60)
    clock.sleep(made)
    return stay, stay.settle()


@given(arrives=st.floats(0, 50), made=st.floats(0, 5), place=st.integers(0, 6))
def test_a_reply_leaves_on_a_rung_whenever_it_is_ready(arrives: float, made: float, place: int) -> None:
    rung = 0.05 * 2**place
    stay, due = stayed(arrives, rung, made)
    assert due is not None
    ladder = [rung * 2**number for number in range(20)]
    assert any(due - 1000 == pytest.approx(span) for span in ladder)
    in_time = arrives <= COLLECTED * rung and made <= (1 - COLLECTED) * rung
    assert (stay.missed == 0) == in_time
    assert due - 1000 >= arrives


def test_two_moments_before_a_rung_are_one() -> None:
    assert {stayed(arrives, 0.8, 0.01)[1] for arrives in (0.0, 0.1, 0.59)} == {1000.8}


def test_the_ladder_doubles_to_its_last_rung() -> None:
    spans = [0.05]
    while len(spans) < 13:
        spans.append(next_span(spans[-1]))
    assert spans[:12] == pytest.approx([0.05 * 2**place for place in range(12)])
    assert spans[11] == pytest.approx(stays.LONGEST)
    assert spans[12] == pytest.approx(2 * stays.LONGEST)


def test_what_was_not_paid_for_has_no_departure() -> None:
    stay = Stay()
    assert stay.settle() is None
    stay.grant(None, 5.0)  # type: ignore[arg-type]
    assert stay.settle() is None


def test_departures_leave_in_the_order_of_their_times() -> None:
    gone, departures, over = [], Departures(), threading.Event()
    now = time.monotonic()
    for name, after in (("c", 0.09), ("a", 0.03), ("b", 0.06)):
        departures.at(now + after, lambda name=name: gone.append((name, time.monotonic() - now)))  # type: ignore[misc]
    departures.at(now + 0.12, over.set)
    assert over.wait(30)
    assert [name for name, _ in gone] == ["a", "b", "c"]
    assert all(at >= due for (_, at), due in zip(gone, (0.03, 0.06, 0.09), strict=True))


# --- the clerk ---------------------------------------------------------------------------------------------------------------


def rung_of(clerk: Clerk, sql: str) -> float:
    """The rung of a question in seconds, as its explanation names it."""
    _, reply = clerk.timed("explain", sql=sql, epsilon="0.1")
    return int(json.loads(reply.body)["rung_ms"]) / 1000


def test_a_computed_a_recalled_and_a_failed_reply_take_their_rung(clerk: Clerk) -> None:
    rung, budget = rung_of(clerk, COUNT), a_budget()
    computed, first = ask(clerk, COUNT, budget)
    recalled, second = ask(clerk, COUNT, budget, by="bob")
    assert (first.status, second.status) == (200, 200)
    clerk.work = lambda _: -0.001
    failed, third = ask(clerk, COUNT, a_budget())
    assert third.status == 504
    for took in (computed, recalled, failed):
        assert took >= rung
    assert (first.timed, second.timed, third.timed) == (True, True, True)


def test_an_own_repetition_leaves_at_once_and_after_the_first_reply(clerk: Clerk) -> None:
    budget = a_budget()
    first = clerk.send("ask", sql=COUNT, epsilon=budget)
    while not clerk.data.ledger.head.number or not clerk.client.waiting:
        time.sleep(0.001)
    again = [clerk.send("ask", sql=COUNT, epsilon=budget)]
    while not first.done():
        again.append(clerk.send("budget"))
        time.sleep(0.02)
    at, _ = first.result(60)
    assert again[0].result(60)[0] >= at
    _, reply = clerk.timed("ask", sql=COUNT, epsilon=budget)
    assert reply.status == 200
    assert not reply.timed


def test_nothing_is_kept_before_a_public_time(clerk: Clerk) -> None:
    """The entry of the answer, which moves the numbers of all later ones, waits as the reply does."""
    rung, sent = rung_of(clerk, COUNT), time.monotonic()
    first = clerk.send("ask", sql=COUNT, epsilon=a_budget())
    while "answer" not in {entry.kind for entry in clerk.data.ledger.entries()}:
        time.sleep(0.001)
    kept = time.monotonic()
    assert first.result(60)[0] >= sent + rung
    assert kept >= sent + COLLECTED * rung


def test_the_place_of_an_engine_that_ended_is_not_given_before_its_reply_leaves(clerk: Clerk) -> None:
    assert clerk.data.runner.pool.places == 1  # type: ignore[attr-defined]
    clerk.work = lambda _: -0.001
    failing = clerk.send("ask", sql=COUNT, epsilon=a_budget())
    shared = clerk.data.runner.pool  # type: ignore[attr-defined]
    while not shared._given:
        time.sleep(0.001)
    assert not shared._has_place()
    at, _ = failing.result(60)
    while shared._given and time.monotonic() < at + 60:
        time.sleep(0.001)
    assert shared._has_place()


# --- late replies ------------------------------------------------------------------------------------------------------------


def test_late_replies_are_entries_and_end_answers_until_the_curator_resumes(clerk: Clerk) -> None:
    clerk.work = lambda _: 1.2 * rung
    rung = rung_of(clerk, COUNT)
    for number in range(1, 4):
        took, reply = ask(clerk, COUNT, a_budget())
        assert reply.status == 200
        assert took >= 2 * rung
        assert clerk.late == number
    _, refused = ask(clerk, COUNT, a_budget())
    assert (refused.status, b"too_many_failures" in refused.body, b"late" in refused.body) == (409, True, True)
    clerk.work = lambda _: 0.0
    _, other = ask(clerk, COUNT, a_budget(), by="bob")
    assert other.status == 200, "another analyst has a limit of their own"
    assert [each.kind for each in clerk.data.ledger.entries() if each.kind == "late"] == ["late"] * 3
    assert clerk.data.ledger.head.failures == 0, "late replies are counted apart from failures"
    clerk.data.resume("the machine was busy")
    assert clerk.late == 0
    assert ask(clerk, COUNT, a_budget())[1].status == 200
    assert clerk.data.ledger.verify().whole


def test_thirty_late_replies_of_all_analysts_end_answers(clerk: Clerk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.accounting.ledger.caps.LATE_OF_DATA_SET", 2)
    clerk.work = lambda _: 1.2 * rung_of_count
    rung_of_count = rung_of(clerk, COUNT)
    ask(clerk, COUNT, a_budget())
    ask(clerk, COUNT, a_budget(), by="bob")
    with pytest.raises(TooManyFailures, match="late"):
        clerk.data.session("ana").sql(COUNT, epsilon=0.0123)


# --- what an attacker sees ---------------------------------------------------------------------------------------------------


Watch = Callable[[Clerk, str], float]


def watched(clerks: tuple[Clerk, Clerk], watch: Watch, pairs: int, more: float = MORE) -> Sides:
    """What an attacker sees of two sides, in pairs in an order drawn by lot; at once, unless one would hold up the other."""
    found: tuple[list[float], list[float]] = ([], [])
    clerks[1].work = lambda _: more
    texts = list(CASES.values())
    for number in range(pairs):
        text, seen = texts[number % len(texts)], [0.0, 0.0]

        def look(side: int, text: str = text, seen: list[float] = seen) -> None:
            seen[side] = watch(clerks[side], text)

        order = [0, 1] if secrets.randbits(1) else [1, 0]
        threads = [threading.Thread(target=look, args=(side,)) for side in order]
        for thread in threads:
            thread.start()
            if watch is probes:
                thread.join()
        for thread in threads:
            thread.join()
        for side in (0, 1):
            found[side].append(seen[side])
            clerks[side].look_into()
    return Sides(tuple(found[1]), tuple(found[0]))


def apart(sides: Sides) -> float:
    """How well the sides can be told apart, whichever is slower."""
    return max(sides.auc, 1 - sides.auc)


def reply_time(clerk: Clerk, text: str) -> float:
    """The time of a reply; of the last case, on one side, to a question that another analyst has asked before."""
    budget = a_budget()
    if text == STORED and clerk.work(text):
        ask(clerk, text, budget, by="bob")
    took, reply = ask(clerk, text, budget)
    assert reply.status == 200, reply.body
    return took


def next_in_the_queue(clerk: Clerk, text: str) -> float:
    """The time of a reply to another analyst, who asks while the only engine is held."""
    first = clerk.send("ask", sql=text, epsilon=a_budget(), fresh=True)
    time.sleep(0.02)
    took, reply = ask(clerk, COUNT, a_budget(), by="bob")
    assert reply.status == 200, reply.body
    first.result(60)
    return took


def probes(clerk: Clerk, text: str) -> float:
    """The mean time of a round of what is asked meanwhile and costs nothing, as the clerk replies: without the front's ticks."""
    began, rounds = time.monotonic(), 0
    first = clerk.send("ask", sql=text, epsilon=a_budget(), fresh=True)
    while not first.done():
        clerk.timed("health", by="bob")
        time.sleep(0.002)
        rounds += 1
    return (time.monotonic() - began) / max(1, rounds)


def test_the_limit_of_an_auc_leaves_room_for_luck() -> None:
    assert auc_limit(PAIRS, among=10) < MOST


def test_neighbours_have_the_same_times(clerks: tuple[Clerk, Clerk]) -> None:
    assert apart(watched(clerks, reply_time, PAIRS)) <= MOST


@pytest.mark.parametrize("watch", [next_in_the_queue, probes])
def test_neighbours_look_the_same_to_others(clerks: tuple[Clerk, Clerk], watch: Watch) -> None:
    assert apart(watched(clerks, watch, PAIRS)) <= MOST


def require_alike_on_the_real_ladder(clerks: tuple[Clerk, Clerk], pairs: int, most: float) -> None:
    for text in (COUNT, *CASES.values()):
        assert rung_of(clerks[0], text) in (0.1, 0.2)
    sides = watched(clerks, reply_time, pairs)
    assert apart(sides) <= most, f"AUC {sides.auc:.3f}, {sides.auc_interval}"


def test_the_comparison_on_the_real_ladder_runs(clerks: tuple[Clerk, Clerk], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LOWEST", 50)
    require_alike_on_the_real_ladder(clerks, 5, 1.0)


@pytest.mark.slow
def test_neighbours_have_the_same_times_on_the_real_ladder(clerks: tuple[Clerk, Clerk], monkeypatch: pytest.MonkeyPatch) -> None:
    """An AUC of 0.55 is the power of the test with so many pairs, and not a guarantee."""
    monkeypatch.setattr(work, "LOWEST", 50)
    assert auc_limit(MANY) < 0.55
    require_alike_on_the_real_ladder(clerks, MANY, 0.55)


# --- planted -----------------------------------------------------------------------------------------------------------------


def planted(clerks: tuple[Clerk, Clerk]) -> float:
    """The seconds that an engine takes more in a plant, by what a question takes without them."""
    for each in clerks:
        each.work = lambda _: 0.0
    return max(PLANTED, 2 * max(computed_time(clerk, COUNT) - rung_of(clerk, COUNT) for clerk in clerks for _ in range(3)))


def when_done(self: Stay, line: socket.socket, rung: float, patience: float) -> bool:
    while not stays.is_readable(line):
        time.sleep(0.001)
    self.length = 0.0
    return True


def test_a_plant_that_replies_when_it_is_done_is_caught(clerks: tuple[Clerk, Clerk], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stay, "collect", when_done)
    monkeypatch.setattr(Stay, "settle", lambda self: time.monotonic() if self.is_paid else None)
    assert apart(watched(clerks, computed_time, FEW, planted(clerks))) > LEAST_OF_A_PLANT


def test_a_plant_that_rounds_up_to_a_public_tick_is_caught(clerks: tuple[Clerk, Clerk], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever chooses when to ask puts a tick between two running times; here ticks are as short as that."""
    monkeypatch.setattr(Stay, "collect", when_done)
    tick = 0.02
    monkeypatch.setattr(Stay, "settle", lambda self: (time.monotonic() // tick + 1) * tick if self.is_paid else None)
    assert apart(watched(clerks, computed_time, FEW, planted(clerks))) > LEAST_OF_A_PLANT


def test_a_plant_that_frees_a_place_when_the_work_is_done_is_caught(
    clerks: tuple[Clerk, Clerk], monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = pool.PooledRunner.noisy

    def freed(self: Any, quote: Any, paid: Any = None) -> Any:
        stay = stays.STAY.get()
        assert stay is not None
        collect = Stay.collect
        granted, length = stay.granted, stay.length
        monkeypatch.setattr(Stay, "collect", when_done)
        try:
            return noisy(self, quote, paid)
        finally:
            monkeypatch.setattr(Stay, "collect", collect)
            stay.granted, stay.length = granted, length
            stay.leave()

    monkeypatch.setattr(pool.PooledRunner, "noisy", freed)
    assert apart(watched(clerks, next_in_the_queue, FEW, planted(clerks))) > LEAST_OF_A_PLANT


def test_a_plant_with_engines_on_the_core_of_the_clerk_is_caught(clerks: tuple[Clerk, Clerk]) -> None:
    for each in clerks:
        each.spins = True
    assert apart(watched(clerks, probes, FEW, planted(clerks))) > LEAST_OF_A_PLANT


def computed_time(clerk: Clerk, text: str) -> float:
    took, reply = ask(clerk, text, a_budget())
    assert reply.status == 200, reply.body
    return took
