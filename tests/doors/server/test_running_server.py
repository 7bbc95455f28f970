"""The server as real processes: answers, kills of each kind of process while clients ask, restarts, and what each process has."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from asking_clients import EPSILON, Clients, Told, entries, faults, look_at_kills, new_question, waiting
from served import served
from serving import Server, serving
from tacit.doors.server.sandbox.kernel import KNOWN

pytestmark = pytest.mark.skipif(not KNOWN, reason="processes are looked up in /proc")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    with served(folder) as place:
        tokens = place.tokens
    with serving(folder, tokens) as running:
        yield running


def test_questions_are_answered_and_paid_for(server):
    status, told = server.ask(new_question(), epsilon="0.005")
    assert status == 200, told
    entry = entries(server)[told["entry"]]
    assert (entry.kind, entry.price.epsilon) == ("spend", EPSILON)
    assert server.ask("SELECT site FROM nowhere")[0] == 422
    assert server.ask("SELECT floor, COUNT(*) AS n FROM wards GROUP BY floor")[1]["price"]["epsilon"] == "0"


def test_a_select_from_answers_is_answered_by_the_clerk_and_paid_for_once(server):
    """The engines price and run the questions inside; what is made of them crosses no sandbox."""
    inner = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    status, told = server.ask(f"SELECT t.ward, w.floor, t.n, t.n / SUM(t.n) OVER () AS share FROM ({inner}) t "
                              "JOIN wards w ON t.ward = w.ward", epsilon="0.004")  # fmt: skip
    assert status == 200, told
    assert [column["name"] for column in told["columns"]] == ["ward", "floor", "n", "share"]
    assert entries(server)[told["entry"]].question == inner
    last = max(entries(server))
    again = server.ask(f"SELECT MAX(n) AS most FROM ({inner}) t", epsilon="0.004")[1]
    assert (again["entry"], max(entries(server))) == (told["entry"], last)
    status, both = server.ask(f"SELECT (SELECT MAX(n) FROM ({inner}) t) / (SELECT COUNT(*) FROM patients) AS r", epsilon="0.006")
    assert (status, both["price"]["epsilon"]) == (200, "0.006")
    assert server.ask(f"SELECT COUNT(*) AS n FROM visits v JOIN ({inner}) t ON v.ward = t.ward")[0] == 422


def each_thread(process: int) -> Iterator[dict[str, str]]:
    """What the system says of every thread of a process; one that has just ended is left out."""
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            yield dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)


def test_every_thread_of_every_process_is_restricted(server):
    for kind, processes in server.parts().items():
        assert processes, kind
        for process in processes:
            found = [(each["Seccomp"], each["NoNewPrivs"], each["CapEff"]) for each in each_thread(process)]
            assert set(found) == {("2", "1", "0" * 16)}, kind


def opened_by(process: int) -> Iterator[str]:
    """Where the descriptors of a process lead; one that was just closed is left out."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(link.readlink())


def test_no_process_has_a_descriptor_that_it_does_not_need(server):
    store, ledger = "store.duckdb", "ledger.sqlite"
    for kind, processes in server.parts().items():
        links = list(opened_by(processes[0]))
        assert any(link.endswith(store) for link in links) == (kind == "engine")
        assert any(ledger in link for link in links) == (kind == "clerk")
        assert not any(link.endswith(("rank.key", ".parquet")) for link in links)


def test_no_token_is_in_the_list_of_processes(server):
    for processes in server.parts().values():
        for process in processes:
            shown = Path(f"/proc/{process}/cmdline").read_bytes() + Path(f"/proc/{process}/environ").read_bytes()
            assert not any(token.encode() in shown for token in server.tokens.values())


def go_on(process: int) -> None:
    """Continue a stopped process, unless the server has ended it together with the one that was killed."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("step", ["paid", pytest.param("any", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["engine", "clerk", "front"])
def test_a_kill_gives_no_answer_without_its_entry_and_spends_nothing_twice(server, kind, step):
    """The kill comes while questions are paid for and not yet answered, or whenever it comes."""
    lost = waiting(server)  # with clerks that were killed before
    with Clients(server) as clients:
        while not clients.answered:
            time.sleep(0.02)
        if step == "paid":
            stopped = server.kill("engine", signal.SIGSTOP)
            while not waiting(server) - lost:  # one for the one engine: nobody else has paid yet
                time.sleep(0.02)
        killed = server.kill(kind)
        if step == "paid" and kind != "engine":
            go_on(stopped)
        server.wait_until_ready()
    assert killed not in server.parts()[kind]
    clients.ask_lost_again()
    assert faults(clients.answered, entries(server)) == []
    look_at_kills(server)


def settled(server: Server, kind: str) -> None:
    """Wait until a process has nothing to do: all its threads sleep, and it has not run since the look before."""
    (process,), before = server.parts()[kind], -1.0
    while (now := time.clock_gettime(~process << 3 | 2)) != before or not all(
        each["State"][0] in "ST" for each in each_thread(process)
    ):
        before = now
        time.sleep(0.3)


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("engine", "drawn"),
        pytest.param("clerk", "drawn", marks=pytest.mark.slow),
        pytest.param("clerk", "kept", marks=pytest.mark.slow),
        pytest.param("front", "kept", marks=pytest.mark.slow),
    ],
)
def test_a_kill_after_the_noise_is_drawn_or_the_answer_is_kept(server, kind, step):
    """Drawn: the engine has sent its numbers, and the clerk has not read them. Kept: the clerk has replied, the front has not."""
    lost = waiting(server)  # with clerks that were killed before
    with Clients(server) as clients:
        while not clients.answered:
            time.sleep(0.02)
        engine = server.kill("engine", signal.SIGSTOP)
        while not waiting(server) - lost:  # one for the one engine
            time.sleep(0.02)
        paid, later = waiting(server) - lost, "clerk" if step == "drawn" else "front"
        stopped = server.kill(later, signal.SIGSTOP)
        os.kill(engine, signal.SIGCONT)
        settled(server, "engine")
        settled(server, "clerk")
        if step == "kept":
            assert not paid & waiting(server), "all of them are answered"
        server.kill(kind)
        if kind != later:
            go_on(stopped)
        server.wait_until_ready()
    clients.ask_lost_again()
    assert faults(clients.answered, entries(server)) == []
    if step == "kept":
        assert paid <= {told.entry for told in clients.answered}, "what is kept reaches whoever asks again"
    look_at_kills(server)


def test_planted_answers_without_their_entries_are_found(server):
    status, told = server.ask(question := new_question(), epsilon="0.005", key="planted")
    assert status == 200
    good, found = Told(question, "planted", told["entry"], EPSILON), entries(server)
    assert faults([good], found) == []
    unpaid = {number: entry for number, entry in found.items() if number != good.entry}
    twice = found | {10**6: replace(found[good.entry], number=10**6)}
    assert faults([good], unpaid) == ["an answer without its entry"]
    assert faults([replace(good, price=EPSILON / 2)], found) == ["an answer without its entry"]
    assert faults([good, replace(good, key="other")], found) == ["two answers for one entry"]
    assert faults([good], twice) == ["a question was paid for twice"]
    assert faults([good], found, cap=EPSILON / 2) == ["more was spent than the cap"]


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


def told_in_files(server: Server) -> list[str]:
    """The files beside the data in which a token stands, after all that was asked and killed."""
    tokens = [token.encode() for token in server.tokens.values()]
    return [file.name for file in server.folder.rglob("*") if any(token in bytes_of(file) for token in tokens)]


def bytes_of(file: Path) -> bytes:
    """What is in a file; nothing in a folder, or if the server has just removed it."""
    with suppress(FileNotFoundError, IsADirectoryError):
        return file.read_bytes()
    return b""


def test_after_kills_no_token_is_in_any_file(server):
    """Planted: a process that writes what it was asked into its log."""
    server.ask("SELECT COUNT(*) AS n FROM nowhere", key="a-key")
    assert told_in_files(server) == []
    log = server.folder / ".tacit" / "log" / "planted.log"
    log.write_text(f"asked by {server.tokens['ana']}")
    try:
        assert told_in_files(server) == ["planted.log"]
    finally:
        log.unlink()


@pytest.mark.slow
def test_a_supervisor_that_is_killed_takes_all_with_it(tmp_path):
    with served(tmp_path) as place:
        tokens = place.tokens
    with serving(tmp_path, tokens) as running:
        processes = [process for found in running.parts().values() for process in found]
        running.process.kill()
        running.process.wait()
        for _ in range(2000):
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
    assert server.process.wait(240) == 0
    assert not any(Path(f"/proc/{process}").exists() for process in processes)
    assert entries(server)
