"""What the doors add to a question: `python -m benchmarks doors`. All times are processor time of the client, user and system.

The driver and the HTTP client ask the same stand-in for a server, in a process of its own, in turns. It sends one recorded
answer, so that the difference is the driver's alone. Imports are measured as whole processes, beside a bare Python. Charts are
written as SVG.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from statistics import median

from benchmarks.tables import machine, markdown, write_table
from tacit.dbapi import connect as connect_driver
from tacit.doors.client import Remote
from tacit.doors.exact_form import MEDIA, exact_text
from tacit.release.answer import Answer, Column, Receipt

TURNS, QUESTIONS, GROUPS = 15, 40, 20
QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
LIMITS = {"driver": 2.0, "chart": 5.0, "import": 150.0}  # milliseconds
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
body = Path(sys.argv[1]).read_bytes()
class Canned(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", 1 << 16
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", sys.argv[2])
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Canned)
print(server.server_port, flush=True)
server.serve_forever()
"""


def answer_of(keys: tuple[object, ...]) -> Answer:
    """An answer with a count for each key."""
    counts = tuple(1_000 + 37 * at % 500 for at in range(len(keys)))
    low, high = (tuple(count + side for count in counts) for side in (-45, 45))
    columns = (Column("ward", "key", keys), Column("n", "count", counts, low, high))
    return Answer(columns, Fraction(19, 20), Receipt(Fraction(1, 2), Fraction(0), Fraction(3), Fraction(0), 7, "0" * 32))


def milliseconds(work: Callable[[], object], times: int) -> float:
    """The processor time of one run, over `times` runs."""
    start = time.process_time()
    for _ in range(times):
        work()
    return 1000 * (time.process_time() - start) / times


@contextmanager
def stand_in() -> Iterator[str]:
    """The URL of a server that sends one recorded answer to every question."""
    with tempfile.TemporaryDirectory() as folder:
        reply = Path(folder, "reply")
        reply.write_text(exact_text(answer_of(tuple(f"ward {at}" for at in range(GROUPS)))), "utf-8")
        run = [sys.executable, "-c", SERVER, str(reply), MEDIA]
        with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
            finally:
                server.terminate()


def measure_driver() -> list[list[str]]:
    """The client and the driver in turns; medians of all turns but the first."""
    with stand_in() as url, Remote(url, "tacit_x") as client, Remote(url, "tacit_x") as other:
        cursor = connect_driver(session=other, epsilon="0.5").cursor()
        ways: dict[str, Callable[[], object]] = {
            "HTTP client": lambda: client.sql(QUESTION, epsilon="0.5"),
            "driver, with all rows fetched": lambda: cursor.execute(QUESTION).fetchall(),
        }
        turns = [[milliseconds(way, QUESTIONS) for way in ways.values()] for _ in range(TURNS + 1)][1:]
    both = [median(each) for each in zip(*turns, strict=True)]
    more = median(driver - plain for plain, driver in turns)
    rows = [["a question", name, f"{each:.2f}", f"{each / both[0]:.2f}", ""] for name, each in zip(ways, both, strict=True)]
    return [*rows, ["a question", "the driver over the client", f"{more:.2f}", "", f"{LIMITS['driver']:g}"]]


def measure_charts() -> list[list[str]]:
    """Bars, many bars and lines with a band; a year of days has a point and its words for each of them."""
    days = [(date(2024, 1, 1) + timedelta(at)).isoformat() for at in range(365)]
    shapes = {
        f"{GROUPS} bars": answer_of(tuple(f"ward {at}" for at in range(GROUPS))),
        "60 bars": answer_of(tuple(f"ward {at}" for at in range(60))),
        "a line of 53 weeks": answer_of(tuple(days[::7])),
        "a line of 365 days": answer_of(tuple(days)),
    }
    found = {name: median(milliseconds(answer.chart().svg, 5) for _ in range(TURNS)) for name, answer in shapes.items()}
    return [["a chart", name, f"{each:.2f}", "", f"{LIMITS['chart']:g}"] for name, each in found.items()]


def of_process(line: str, settings: dict[str, str]) -> float:
    """The processor time of a Python process, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", line], env=settings, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure_imports() -> list[list[str]]:
    """Imports in turns with a bare Python, with bytecode written in the first turn."""
    lines = {"python alone": "", "import tacit.dbapi": "import tacit.dbapi", "import sqlite3, for comparison": "import sqlite3"}
    with tempfile.TemporaryDirectory() as folder:
        known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        settings = {**known, "PYTHONPYCACHEPREFIX": folder}
        turns = [[of_process(line, settings) for line in lines.values()] for _ in range(TURNS + 1)][1:]
    found = [median(each) for each in zip(*turns, strict=True)]
    over = median(driver - bare for bare, driver, _ in turns)
    rows = [["a process", name, f"{each:.0f}", f"{each / found[0]:.1f}", ""] for name, each in zip(lines, found, strict=True)]
    return [*rows, ["a process", "import tacit.dbapi, without Python's start", f"{over:.0f}", "", f"{LIMITS['import']:g}"]]


def run() -> None:
    """Measure, and write the table."""
    lines = [*measure_driver(), *measure_charts(), *measure_imports()]
    headers = ["what", "how", "ms", "ratio to the first", "at most, ms"]
    write_table("doors", f"{machine('httpx')} Medians of {TURNS} turns.\n\n{markdown(headers, lines)}")
