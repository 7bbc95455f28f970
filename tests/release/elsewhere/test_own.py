"""A question runs in a process of its own: what comes back is what would be released here, or one error; and the process ends."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from questions import clinic_questions
from tacit.errors import InvalidValue, StoreUnusable, TimedOut
from tacit.privacy.sealed import SealBroken
from tacit.query.engines.engine import Limits, Opening
from tacit.query.intervals.bands import Noisy
from tacit.query.price.price import Quote, price, request
from tacit.release.elsewhere.frames import ASK, FAILED, OWN_NUMBERS, QUOTE, TOLD, written
from tacit.release.elsewhere.own import OwnProcess
from tacit.release.elsewhere.packed import packed, unpacked
from tacit.release.elsewhere.processes import Child
from tacit.release.elsewhere.quotes import quote_read, quote_written
from tacit.release.noisy import InProcess, noised
from worlds import PUBLIC, World, clinic, ranked, world, world_in_memory

ROWS = [
    [{"ward": at % 3, "cost": 100 * at, "age": at % 11, "day": at, "diagnosis": ["flu", "cold", None][at % 3], "scan": 0}] * 2
    for at in range(40)
]
CERTAIN = {"epsilon": 10**6, "delta": Fraction(1, 100)}  # noise that vanishes
SAID = (
    "the query exceeded its limits of time or memory; its budget stays spent; "
    "ask a smaller question, or ask the data owner for higher limits"
)
LONG = "SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%" + 400 * "_" + "b'"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A store in which one text is so long that the engine, once it looks at it, hears nothing for a minute."""
    folder = tmp_path_factory.mktemp("running")
    cell = [{"ward": None, "cost": None, "age": 0, "day": 0, "diagnosis": "a" * 10**8, "scan": None}]
    with world(folder, clinic(folder, max_rows=2), {"visits": ranked([*ROWS, cell]), "wards": PUBLIC}) as made:
        yield made


@pytest.fixture(scope="module")
def own(place: World) -> Iterator[OwnProcess]:
    """Started by a thread that is gone when questions come: some systems end processes with the thread that started them."""
    runner = OwnProcess(Opening(place.engine.path))
    thread = threading.Thread(target=runner.open)
    thread.start()
    thread.join()
    yield runner
    runner.close()


def quoted(place: World, text: str, **budget: Any) -> Quote:
    return price(place.plan(text), request(**(budget or CERTAIN)))[0]


def plain(noisy: Noisy) -> tuple[Any, ...]:
    """All that was released, as plain values."""
    sums = {at: (part, values.tolist()) for at, (part, values) in noisy.sums.items()}
    ranks = {call: [ends.tolist() for ends in three] for call, three in noisy.ranks.items()}
    return noisy.groups, sums, ranks, None if noisy.units is None else noisy.units.tolist()


# --- what comes back ---------------------------------------------------------------------------------------------------------

ASKED = [
    "SELECT ward, COUNT(*), SUM(cost), AVG(age) FROM visits WHERE day < '2020-03-20' GROUP BY ward",
    "SELECT diagnosis, COUNT(*), COUNT(DISTINCT person) FROM visits WHERE ward IS NOT NULL GROUP BY diagnosis",
    "SELECT site, STDDEV(age) FROM visits JOIN wards USING (ward) GROUP BY site",
]


@pytest.mark.parametrize("text", ASKED)
def test_what_comes_back_is_what_would_be_released_here(place: World, own: OwnProcess, text: str) -> None:
    """Under a budget with which noise vanishes."""
    quote = quoted(place, text)
    here = InProcess(place.engine).noisy(quote)
    assert plain(own.noisy(quote)) == plain(here)


def test_noise_is_drawn_anew_in_the_process_that_answers(place: World, own: OwnProcess) -> None:
    quote = quoted(place, "SELECT day, COUNT(*) FROM visits GROUP BY day", epsilon="0.001")
    draws = [tuple(own.noisy(quote).sums[0][1].tolist()) for _ in range(2)] + [tuple(noised_here(place, quote).sums[0][1].tolist())]
    assert len(set(draws)) == 3  # 94 numbers of scale 2000: alike by bad luck once in far more than a million


def noised_here(place: World, quote: Quote) -> Noisy:
    return noised(quote, place.engine.run(quote.question.group))


def test_numbers_travel_as_they_are(tmp_path: Path) -> None:
    with world_in_memory(clinic(tmp_path, max_rows=2), {"visits": ranked(ROWS), "wards": PUBLIC}) as made:

        @settings(max_examples=12, deadline=None)
        @given(clinic_questions(private_keys=True), st.sampled_from([("1", "0.001"), ("0.01", "0.5"), ("10", "1e-9")]))
        def check(text: str, budget: tuple[str, str]) -> None:
            for quote in price(made.plan(text), request(epsilon=budget[0], delta=budget[1])):
                noisy = noised_here(made, quote)
                for narrow in (False, True):
                    there = unpacked(quote_read(quote_written(quote)), packed(quote, noisy, narrow))
                    assert plain(there) == plain(noisy)
                    assert [each.dtype for _, each in there.sums.values()] == [each.dtype for _, each in noisy.sums.values()]

        check()


@pytest.mark.parametrize("text", ASKED)
def test_what_is_no_answer_is_not_taken_for_one(place: World, text: str) -> None:
    """Whatever the other process sends, nothing but `InvalidValue` comes of it, or numbers in the shape of the question."""
    quote = quoted(place, text)
    sound = packed(quote, noised_here(place, quote))

    @settings(max_examples=60, deadline=None)
    @given(st.binary(max_size=80) | st.builds(mutated, st.just(sound), st.binary(max_size=9), st.floats(0, 1)))
    def check(sent: bytes) -> None:
        try:
            found = unpacked(quote, sent)
        except InvalidValue:
            return
        assert all(len(values) == len(found.groups) for _, values in found.sums.values())

    check()


def mutated(sound: bytes, put: bytes, share: float) -> bytes:
    at = int(share * len(sound))
    return sound[:at] + put + sound[at + len(put) :]


def test_exact_numbers_cannot_be_sent(place: World) -> None:
    exact = place.engine.run(quoted(place, ASKED[0]).question.group)
    with pytest.raises(SealBroken):
        pickle.dumps(exact)


# --- limits ------------------------------------------------------------------------------------------------------------------


def child_of(runner: OwnProcess) -> Child:
    assert runner._child is not None
    return runner._child


def gone(process: int, seconds: float = 60) -> bool:
    """Whether a process ends; also one that nobody waits for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):  # before the file is opened, and before it is read
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


def of_ended_children() -> float:
    """The seconds that a processor was at work for processes that were started here and have ended, however busy the machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_question_that_hangs_inside_one_cell_is_ended(place: World, own: OwnProcess) -> None:
    """It would take a minute, of which the engine alone notices nothing; then the next question is answered."""
    own.open()
    before, begun, own.limits = child_of(own).process, of_ended_children(), Limits(seconds=0.1, planning=0.1)
    try:
        with pytest.raises(TimedOut) as caught:
            own.noisy(quoted(place, LONG))
    finally:
        own.limits = Limits()
    assert of_ended_children() - begun < 20
    assert str(caught.value) == SAID
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert gone(before)
    own.open()
    assert child_of(own).process != before
    assert plain(own.noisy(quoted(place, ASKED[0])))


def test_a_process_that_dies_is_one_error_and_the_next_question_has_another_process(place: World, own: OwnProcess) -> None:
    own.open()
    os.kill(child_of(own).process, signal.SIGKILL)
    own.open()  # noticed before anything is paid for
    assert plain(own.noisy(quoted(place, ASKED[0])))
    os.kill(child_of(own).process, signal.SIGKILL)
    for _ in range(2):  # then there is none that could be asked
        with pytest.raises(TimedOut) as caught:
            own.noisy(quoted(place, ASKED[0]))
        assert str(caught.value) == SAID


def test_memory_is_limited_beside_the_engine_too() -> None:
    script = "from tacit.release.elsewhere.worker import limit_memory; limit_memory('12MB'); import numpy; numpy.ones(3 * 10**8)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr


def test_whatever_goes_wrong_there_is_one_reply(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen from inside: failures of the engine, of the noise and of the packing, with words or without."""
    from tacit.release import noisy
    from tacit.release.elsewhere import worker

    served = worker.Worker()
    asked = {"ask": "open", "place": str(place.engine.path), "version": None, **asdict(Limits())}
    assert served.handle(ASK, written(asked)) == (TOLD, b"{}")
    quote = quote_written(quoted(place, ASKED[0]))
    assert served.handle(QUOTE, quote)[0] == OWN_NUMBERS
    for failure in (MemoryError("secret"), ValueError("secret"), TimedOut("secret"), RecursionError()):

        def fail(*_: Any, failure: Exception = failure) -> Any:
            raise failure

        monkeypatch.setattr(noisy, "noised", fail)
        assert served.handle(QUOTE, quote) == (FAILED, b"")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    served.engine.close()


def test_the_operating_system_ends_what_nobody_waits_for() -> None:
    script = "from tacit.release.elsewhere.worker import ended_after\nwith ended_after(0.2):\n    while True: pass"
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=300)
    assert done.returncode == -signal.SIGALRM


# --- whose process it is -----------------------------------------------------------------------------------------------------

PARENT = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_own import LONG, ASKED, quoted, child_of
from worlds import clinic, PUBLIC
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.query.engines.engine import Limits, Opening, StoredFacts
from tacit.release.elsewhere.own import OwnProcess
folder = Path(sys.argv[1])
from worlds import World
catalog = clinic(folder, max_rows=2)
engine = DuckDBEngine(folder / "store.duckdb")
public = {table.name: table.columns for table in catalog.tables.values() if table.public}
place = World(catalog, {}, engine, StoredFacts(public, engine))
own = OwnProcess(Opening(folder / "store.duckdb", limits=Limits(seconds=300)))
own.open()
quote = quoted(place, LONG)
engine.close()
try:
    print(child_of(own).process, flush=True)
    own.noisy(quote)
except KeyboardInterrupt:
    print("stopped", own._child, flush=True)
own.open()
print(child_of(own).process, flush=True)
own.noisy(quote)
"""


def test_it_ends_with_ctrl_c_and_with_the_process_that_asks(place: World) -> None:
    """In the middle of a question, in a cell that the engine does not leave."""
    folders = [str(place.engine.path.parent), str(Path(__file__).parent), str(Path(__file__).parents[2] / "support")]
    command = [sys.executable, "-c", PARENT, *folders]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdout is not None
        first = int(parent.stdout.readline())
        begun = time.clock_gettime(~first << 3 | 2)
        while time.clock_gettime(~first << 3 | 2) < begun + 0.2:  # until it works on the question
            time.sleep(0.02)
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stdout.readline() == "stopped None\n"
        assert gone(first)
        second = int(parent.stdout.readline())
        parent.kill()
        assert gone(second)


def test_it_goes_with_the_last_who_could_ask_it(place: World) -> None:
    runner = OwnProcess(Opening(place.engine.path))
    runner.start()
    process = child_of(runner).process
    del runner
    assert gone(process)


def test_a_fork_has_a_process_of_its_own(place: World, own: OwnProcess) -> None:
    """Two who read from one line would each get parts of the other's answers."""
    own.open()
    child = child_of(own)
    copy = Child(child.process, child.line, parent=child.parent + 1)
    assert not copy.lives()
    assert child.lives()


def test_what_is_wrong_with_a_store_is_said_before_anything_is_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.release.elsewhere import worker

    runner = OwnProcess(Opening(tmp_path / "none.duckdb", version="1"))
    monkeypatch.setattr(runner, "start", lambda: None)
    monkeypatch.setattr(runner, "_reply_to", lambda asked: worker.Worker().handle(ASK, written(asked)))
    with pytest.raises(StoreUnusable, match="the data has not been prepared"):
        runner.open()
    with pytest.raises(TimedOut):
        runner.noisy(None)  # type: ignore[arg-type]  # there is nobody to ask


def test_answers_are_numbers_of_the_question(place: World, own: OwnProcess) -> None:
    own.open()
    noisy = own.noisy(quoted(place, "SELECT COUNT(*) FROM visits"))
    assert noisy.sums[0][1].dtype == np.int64
    assert noisy.sums[0][1].tolist() == [81]
