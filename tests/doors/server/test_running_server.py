"""The server as real processes: answers, kills of each kind of process while clients ask, restarts, and what each process has."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from served import served
from serving import Server, serving
from tacit.accounting.ledger.entries import Entry
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.session import open as open_data

pytestmark = pytest.mark.skipif(not KNOWN, reason="processes are looked up in /proc")

EPSILON = Fraction(1, 200)
numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with served(folder) as place:
        tokens = place.tokens
    with serving(folder, tokens) as running:
        yield running


def new_question() -> str:
    """A question that was never asked."""
    return f"SELECT COUNT(*) AS n FROM visits WHERE cost > {next(numbers)}"


def entries(server: Server) -> dict[int, Entry]:
    """Every entry by its number, from the ledger itself."""
    with open_data(server.folder / "tacit.toml", own_process=False) as data:
        assert data.ledger.verify().whole
        return {entry.number: entry for entry in data.ledger.entries()}


def test_questions_are_answered_and_paid_for(server):
    status, told = server.ask(new_question(), epsilon="0.005")
    assert status == 200, told
    entry = entries(server)[told["entry"]]
    assert (entry.kind, entry.price.epsilon) == ("spend", EPSILON)
    assert server.ask("SELECT site FROM nowhere")[0] == 422
    assert server.ask("SELECT floor, COUNT(*) AS n FROM wards GROUP BY floor")[1]["price"]["epsilon"] == "0"


def test_every_thread_of_every_process_is_restricted(server):
    for kind, processes in server.parts().items():
        assert processes, kind
        for process in processes:
            for task in Path(f"/proc/{process}/task").iterdir():
                status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
                assert (status["Seccomp"], status["NoNewPrivs"], status["CapEff"]) == ("2", "1", "0" * 16), kind


def test_no_process_has_a_descriptor_that_it_does_not_need(server):
    store, ledger = "store.duckdb", "ledger.sqlite"
    for kind, processes in server.parts().items():
        links = [str(link.readlink()) for link in Path(f"/proc/{processes[0]}/fd").iterdir() if link.is_symlink()]
        assert any(link.endswith(store) for link in links) == (kind == "engine")
        assert any(ledger in link for link in links) == (kind == "clerk")
        assert not any(link.endswith(("rank.key", ".parquet")) for link in links)


def test_no_token_is_in_the_list_of_processes(server):
    for processes in server.parts().values():
        for process in processes:
            shown = Path(f"/proc/{process}/cmdline").read_bytes() + Path(f"/proc/{process}/environ").read_bytes()
            assert not any(token.encode() in shown for token in server.tokens.values())


class Clients:
    """Some clients that ask new questions until they are stopped, each request under a key of its own."""

    def __init__(self, server: Server, number: int = 3) -> None:
        self.server, self.stop, self.answered = server, threading.Event(), list[tuple[str, str, int, Fraction]]()
        self.lost = list[tuple[str, str, int]]()
        self.threads = [threading.Thread(target=self._ask, args=(at,)) for at in range(number)]

    def _ask(self, at: int) -> None:
        while not self.stop.is_set():
            question, key = new_question(), f"k{next(numbers)}"
            status, told = self.server.ask(question, epsilon="0.005", key=key)
            if status == 200:
                self.answered.append((question, key, told["entry"], Fraction(told["price"]["epsilon"])))
            else:
                self.lost.append((question, key, status))
                time.sleep(0.05)

    def __enter__(self) -> Clients:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize("step", ["paid", pytest.param("any", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["engine", "clerk", "front"])
def test_a_kill_gives_no_answer_without_its_entry_and_spends_nothing_twice(server, kind, step):
    """The kill comes while questions are paid for and not yet answered, or whenever it comes."""
    with Clients(server) as clients:
        while not clients.answered:
            time.sleep(0.02)
        if step == "paid":
            stopped = server.kill("engine", signal.SIGSTOP)
            while not waiting(server):  # one for the one engine: nobody else has paid yet
                time.sleep(0.02)
        killed = server.kill(kind)
        if step == "paid" and kind != "engine":
            os.kill(stopped, signal.SIGCONT)
        took = server.wait_until_ready()
    assert killed not in server.parts()[kind]
    assert took < 25
    spent = [entry for _, _, entry, _ in clients.answered]
    assert len(set(spent)) == len(spent), "two answers for one entry"
    for question, key, status in clients.lost:
        again, told = server.ask(question, epsilon="0.005", key=key)
        assert again in (200, 504), (status, told)  # the answer, or that its time was up; nothing is paid for again
    found = entries(server)
    assert all((found[entry].kind, found[entry].price.epsilon) == ("spend", price) for _, _, entry, price in clients.answered)
    asked = [entry.question for entry in found.values() if entry.kind == "spend"]
    assert len(asked) == len(set(asked)), "a question was paid for twice"
    total = sum(entry.price.epsilon for entry in found.values() if entry.kind == "spend")
    assert total == Fraction(len(asked), 200) <= 2
    assert server.request("POST", "/v1/resume", "cara", {"reason": "a kill that was meant"})[0] == 200


def waiting(server: Server) -> set[int]:
    """The entries that are paid for, and have no answer and no failure yet."""
    found = entries(server).values()
    return {entry.number for entry in found if entry.kind == "spend"} - {entry.about for entry in found if entry.about is not None}


@pytest.mark.slow
def test_a_lowered_cap_binds_at_once(server):
    catalog = server.folder / "tacit.toml"
    text = catalog.read_text("utf-8")
    lowered = text.replace("\nepsilon = 2\n", "\nepsilon = 0.001\n")
    assert lowered != text
    try:
        catalog.write_text(lowered, "utf-8")
        for _ in range(400):
            status, told = server.ask(new_question(), epsilon="0.005")
            if status == 409:
                break
            assert status in (503, 0), (status, told)
            time.sleep(0.05)
        assert told["error"]["code"] == "budget_exceeded"
    finally:
        catalog.write_text(text, "utf-8")
        time.sleep(1)
        server.wait_until_ready()


@pytest.mark.slow
def test_a_supervisor_that_is_killed_takes_all_with_it(tmp_path):
    with served(tmp_path) as place:
        tokens = place.tokens
    with serving(tmp_path, tokens) as running:
        processes = [process for found in running.parts().values() for process in found]
        running.process.kill()
        running.process.wait()
        for _ in range(200):
            alive = [process for process in processes if _runs(process)]
            if not alive:
                break
            time.sleep(0.05)
        assert not alive


def _runs(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.mark.slow
def test_what_cannot_be_served_is_said_at_the_start(tmp_path, capfd):
    with served(tmp_path):
        (tmp_path / ".tacit" / "store" / "store.duckdb").unlink()
    with pytest.raises(RuntimeError), serving(tmp_path, {}):
        pass
    assert "the data has not been prepared" in capfd.readouterr().err


def test_json_of_the_api_is_what_the_desk_says(server):
    status, headers, body = server.request("GET", "/v1/catalog", "otto")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body)


def test_the_server_ends_with_all_its_processes(server):
    """The last one on this server."""
    processes = [process for found in server.parts().values() for process in found]
    assert len(processes) == 3
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(20) == 0
    assert not any(Path(f"/proc/{process}").exists() for process in processes)
    assert entries(server)
