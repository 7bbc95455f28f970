"""The server: requests per second, processor time of each process, start, restarts, memory: `python -m benchmarks server`.

`tacit serve` runs over a million rows, with two engines; 64 clients of 64 accounts ask over loopback, each one request after the
other. The clients are one process of their own, which shares the two cores with the server. Processor time is read from /proc for
each process of the server, and hardly depends on what else the machine does; requests per second and the seconds of a start do.
The server starts from bytecode, as an installed package does: the first start, which writes it, is not measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.server_client import Load, asked, idle
from benchmarks.tables import machine, markdown, write_table

ROWS, CLIENTS, ENGINES = 1_000_000, 64, 2
SECONDS = 20 if os.environ.get("FULL") == "1" else 6
TICKS = os.sysconf("SC_CLK_TCK")
SETTLED = 3.0  # seconds after which all engines have started
KINDS = ("front", "clerk", "engine")
MORE: tuple[str, ...] = ()  # options of `tacit serve`
CATALOG = f"""
[budget]
epsilon = 1000000
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit = {{ column = "person" }}
max_rows = 8
rows_at_most = {2 * ROWS}
[tables.visits.columns]
person = {{ key = true }}
ward = {{ bounds = [0, 9], nulls = "drop" }}
cost = {{ bounds = [0, 8000], nulls = "drop" }}
age = {{ bounds = [0, 110], nulls = "drop" }}
"""
QUESTION = "SELECT ward, COUNT(*) AS n, AVG(cost) AS mean FROM visits WHERE age > {} AND cost < {} GROUP BY ward"


@dataclass(slots=True)
class Server:
    """A running `tacit serve`, and the tokens of its analysts."""

    process: subprocess.Popen[str]
    port: int
    tokens: list[str]
    ready: float
    spent: float  # processor seconds of all processes until it was ready
    numbers: Iterator[int] = field(default_factory=count)

    def parts(self) -> dict[str, list[int]]:
        """The processes by what they are."""
        found: dict[str, list[int]] = {kind: [] for kind in KINDS}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if f"PPid:\t{self.process.pid}\n" in (place / "status").read_text():
                    words = (place / "cmdline").read_bytes().split(b"\0")
                    found[words[5].decode()].append(int(place.name))
            except (OSError, LookupError):
                continue
        return found

    def new(self) -> dict[str, str]:
        """A question that was never asked."""
        number = next(self.numbers)
        return {"sql": QUESTION.format(number % 100, 8000 - number // 100), "epsilon": "0.01"}

    def one(self) -> int:
        """The status of the reply to one new question; 0 where the connection ended without one."""
        return asyncio.run(asked(self.port, self.tokens[0], "/v1/questions", self.new()))

    def back(self) -> float:
        """Seconds until a new question is answered."""
        begun = time.monotonic()
        while self.one() != 200:
            time.sleep(0.05)
        return time.monotonic() - begun

    def killed(self, kind: str) -> tuple[float, float]:
        """Seconds until a new question is answered after a kill, and the processor time of all that was started for it."""
        before = {process for processes in self.parts().values() for process in processes}
        os.kill(self.parts()[kind][0], signal.SIGKILL)
        seconds = self.back()
        new = [process for processes in self.parts().values() for process in processes if process not in before]
        return seconds, processor_seconds(new)


def prepared(folder: Path) -> list[str]:
    """A million visits, prepared, and an account for each client."""
    import duckdb

    from tacit.doors.server.records import FILE, Accounts, Records
    from tacit.session import open as open_data

    drawn = "(hash(range + {}) % {})::INTEGER"
    named = {"ward": drawn.format(0, 10), "cost": drawn.format(1, 8001), "age": drawn.format(2, 111)}
    columns = ", ".join(f"{sql} AS {name}" for name, sql in named.items())
    with duckdb.connect() as engine:
        engine.execute(f"COPY (SELECT range // 8 AS person, {columns} FROM range({ROWS})) TO '{folder / 'visits.parquet'}'")  # noqa: S608
    (folder / "tacit.toml").write_text(CATALOG)
    with open_data(folder / "tacit.toml", own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a benchmark")
        records = Records(data.catalog.kept / FILE)
    accounts = Accounts(records)
    tokens = [accounts.add(f"analyst{number}", "analyst").token for number in range(CLIENTS)]
    records.close()
    return tokens


@contextmanager
def serving(folder: Path, tokens: list[str]) -> Iterator[Server]:
    """The server, ready; ended at the end."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "tacit", "serve", "--catalog", str(folder / "tacit.toml"), "--port", "0"]
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen([*command, "--engines", str(ENGINES), *MORE], stderr=subprocess.PIPE, text=True, env=known)
    assert process.stderr is not None
    try:
        said = next((line for line in process.stderr if "ready at" in line), None)
        if said is None:
            raise RuntimeError("the server did not start")
        server = Server(process, int(said.rsplit(":", 1)[1]), tokens, time.monotonic() - begun, 0.0)
        server.spent = processor_seconds([process.pid, *(each for part in server.parts().values() for each in part)])
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


# --- what is read from /proc -------------------------------------------------------------------------------------------------


def processor_seconds(processes: list[int]) -> float:
    """Processor time of these processes so far."""
    spent = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / TICKS


def memory(process: int) -> float:
    """Resident memory in MiB, shared libraries included."""
    status = Path(f"/proc/{process}/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))) / 1024


def loaded(
    server: Server, path: str, body: Callable[[int], dict[str, Any]], clients: int = CLIENTS
) -> tuple[float, dict[str, float]]:
    """Requests per second of all clients, and milliseconds of processor time for each request, by kind of process."""
    parts = server.parts()
    before = {kind: processor_seconds(parts[kind]) for kind in KINDS}
    load = Load(
        server.port, path, [(server.tokens[at], [json.dumps(body(at)) for _ in range(400)]) for at in range(clients)], SECONDS
    )
    done, seconds = load.run()
    spent = {kind: (processor_seconds(parts[kind]) - before[kind]) / done * 1e3 for kind in KINDS}
    return done / seconds, spent


# --- the tables --------------------------------------------------------------------------------------------------------------


def row(name: str, goal: str, found: tuple[float, dict[str, float]]) -> list[str]:
    """A line of the first table."""
    speed, spent = found
    total = sum(spent.values())
    allowed = min(2e3 / total, 1e3 / spent["front"], 1e3 / spent["clerk"])
    return [name, goal, f"{speed:.0f}", *(f"{spent[kind]:.2f}" for kind in KINDS), f"{total:.2f}", f"{allowed:.0f}"]


def speeds(server: Server) -> tuple[list[list[str]], float]:
    """The lines of the first table, and what HTTP and sockets add to a question, in milliseconds of processor time."""
    fixed = [server.new() for _ in range(CLIENTS)]
    health = loaded(server, "/v1/health", lambda _: {})
    questions = loaded(server, "/v1/questions", lambda _: server.new())
    explained = loaded(server, "/v1/explain", lambda _: server.new())
    loaded(server, "/v1/questions", lambda at: fixed[at])  # which the first round pays for
    stored = loaded(server, "/v1/questions", lambda at: fixed[at])
    lines = [
        row("questions, all different", "30 per second", questions),
        row("explanations, all different", "300 per second", explained),
        row("stored answers, asked again", "250 per second", stored),
        row("health", "-", health),
    ]
    return lines, questions[1]["front"] + health[1]["clerk"]


def others(server: Server, added: float) -> list[list[str]]:
    """Start, restarts, memory and idle connections."""
    parts = server.parts()
    rest = {kind: memory(processes[0]) for kind, processes in parts.items()}
    before = memory(server.parts()["front"][0])
    held, slowest = asyncio.run(idle(server.port, 1000))
    after = memory(server.parts()["front"][0])
    lines = [
        ["processor time that HTTP and sockets add to a question", "2 ms", f"{added:.2f} ms"],
        ["start of `tacit serve` until it is ready", "3 s", f"{server.ready:.1f} s"],
        ["processor time of that start, all processes", "-", f"{server.spent:.1f} s"],
        *(
            [f"memory of the {kind} at rest", f"{goal} MB", f"{rest[kind]:.0f} MiB"]
            for kind, goal in zip(KINDS, (80, 130, 230), strict=True)
        ),
        [f"memory that {held:,} idle connections add", "50 MB", f"{after - before:.0f} MiB"],
        ["slowest of 20 health requests meanwhile", "100 ms", f"{slowest * 1e3:.0f} ms"],
    ]
    for kind in KINDS:
        seconds, spent = server.killed(kind)
        shown = f"{seconds:.1f} s ({spent:.1f} s of processor time)"
        lines.append([f"a new question is answered after a kill of the {kind}", "5 s", shown])
        time.sleep(SETTLED)
    return lines


def run() -> None:
    """Measures, and writes the tables."""
    with TemporaryDirectory(prefix="tacit-benchmark-") as name:
        folder = Path(name)
        tokens = prepared(folder)
        with serving(folder, tokens):
            pass
        with serving(folder, tokens) as server:
            server.back()
            time.sleep(SETTLED)
            rest = others(server, 0.0)
        with serving(folder, tokens) as server:
            time.sleep(2 * SETTLED)
            lines, added = speeds(server)
    rest[0][2] = f"{added:.2f} ms"
    waiting = os.getloadavg()[0]
    note = (
        f"{machine('fastapi', 'uvicorn')} {ROWS:,} rows, {ENGINES} engines, {CLIENTS} clients, {SECONDS} s each; "
        f"load average {waiting:.0f}. "
        "Milliseconds of processor time per request, by process; the last column is what two cores "
        "would allow, clients aside: all of it together on two, the front and the clerk on one each."
    )
    first = markdown(["64 clients", "goal", "per second", *KINDS, "together", "2 cores allow"], lines)
    write_table("server", "\n\n".join([note, first, markdown(["measure", "goal", "tacit"], rest)]))
