"""The console: bytes and drawing of the first page, a price while typing, the front's memory, pages of a ledger of 10^6 entries.

`python -m benchmarks console`. `tacit serve` runs over a million rows with one engine. A price of a new shape is asked for as the
script of the page does, one at a time; processor time is read from /proc for each process. The page is drawn by a headless
Chromium with an empty cache, as is a reply without content of the same server: the difference is what the console adds. It is a
time of the clock, and depends on what else the machine does: the median of nine, in turns.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.server import KINDS, SETTLED, Server, prepared, processor_seconds, serving
from benchmarks.tables import machine, markdown, write_table
from tacit.accounting.ledger.entries import canonical_json, hash_of
from tacit.doors.server.pages.offices import PAGE
from tacit.doors.server.records import FILE, Accounts, Records

TIMES, PRICES, ENTRIES = 9, 60, 10**6
NUMBERS = ("COUNT(*) AS n", "AVG(cost) AS a", "SUM(cost) AS b", "AVG(age) AS c", "SUM(age) AS d")
ALONE = """
import sys
from tacit.doors.server import front
from tacit.doors.server.settings import Settings
class Clerk: pass
if sys.argv[1] == "api":
    held = front.app(Clerk(), Settings())
else:
    from tacit.doors.server.pages.console import with_console
    held = with_console(Clerk(), Settings())
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS:")))
"""


class Session:
    """A visitor with a cookie, over plain sockets."""

    def __init__(self, port: int, token: str) -> None:
        self.base, self.cookie = f"http://127.0.0.1:{port}", ""
        opened = urllib.request.build_opener(_Stay)
        reply = opened.open(self._request("/login", {"token": token}))
        self.cookie = reply.headers["set-cookie"].partition(";")[0]

    def _request(self, path: str, form: dict[str, str] | None = None) -> urllib.request.Request:
        body = None if form is None else urllib.parse.urlencode(form).encode()
        return urllib.request.Request(f"{self.base}{path}", body, {"Origin": self.base, "Cookie": self.cookie})  # noqa: S310

    def get(self, path: str, form: dict[str, str] | None = None) -> bytes:
        """The body of a page."""
        with urllib.request.urlopen(self._request(path, form)) as reply:  # noqa: S310
            return bytes(reply.read())


class _Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow: the reply to a login has the cookie."""

    def http_error_303(self, *given: Any) -> Any:
        return given[1]


def prices(server: Server, session: Session) -> dict[str, float]:
    """Milliseconds of processor time for a price of a new shape, by kind of process."""
    parts = server.parts()
    shapes = [f"SELECT {', '.join(each)} FROM visits" for size in (2, 3) for each in permutations(NUMBERS, size)][:PRICES]  # noqa: S608
    before = {kind: processor_seconds(parts[kind]) for kind in KINDS}
    for sql in shapes:
        found = json.loads(session.get("/price", {"sql": sql, "kind": "epsilon", "epsilon": "0.1"}))
        assert found["price"]["button"] == "Spend ε 0.1", found
        time.sleep(0.25)  # the pause of the page
    return {kind: (processor_seconds(parts[kind]) - before[kind]) / len(shapes) * 1e3 for kind in KINDS}


def page_bytes(session: Session) -> tuple[int, int, int]:
    """Bytes of the first page with all that it loads: without the editor, and the editor alone, as it is and compressed."""
    page = session.get("/")
    files = {address: session.get(address) for address in re.findall(r'"(/static/[^"]+)"', page.decode())}
    editor = next((content for address, content in files.items() if address.endswith("editor.js")), b"")
    return len(page) + sum(map(len, files.values())) - len(editor), len(editor), len(gzip.compress(editor))


def memory_of(kind: str) -> float:
    """Mebibytes of a process that has made the application: of the API alone, or with the console."""
    done = subprocess.run([sys.executable, "-c", ALONE, kind], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def drawn(session: Session) -> tuple[float, float]:
    """Milliseconds until the first page, and until a page without content, is drawn: medians, each with an empty cache."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from services import chromium_browser, chromium_server

    found: dict[str, list[float]] = {"/": [], "/v1/health": []}
    name, _, value = session.cookie.partition("=")
    with chromium_server() as address, chromium_browser(address) as browser:
        for _ in range(TIMES):
            for path, times in found.items():
                with browser.new_context() as context:
                    context.add_cookies([{"name": name, "value": value, "url": session.base}])
                    page = context.new_page()
                    page.goto(f"{session.base}{path}")
                    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
                    while (at := page.evaluate(paint)) is None:
                        time.sleep(0.02)
                    times.append(at)
    return statistics.median(found["/"]), statistics.median(found["/v1/health"])


def lengthen(folder: Path) -> None:
    """Makes the ledger `ENTRIES` long: its last spend again and again, with the links and sums that such a chain has."""
    (file,) = folder.glob(".tacit/*ledger*.sqlite")
    with closing(sqlite3.connect(file)) as ledger, ledger:
        number, previous, text = ledger.execute("SELECT number, hash, text FROM tacit_entries ORDER BY number DESC").fetchone()
        spends = (json.loads(each) for (each,) in ledger.execute("SELECT text FROM tacit_entries ORDER BY number DESC"))
        entry, last = next(each for each in spends if each["kind"] == "spend"), json.loads(text)
        sums = {name: Fraction(last["spent"][name]) for name in ("epsilon", "rho", "delta")}
        price = {name: Fraction(entry["price"][name]) for name in sums}

        def chain() -> Iterator[tuple[int, str, str]]:
            nonlocal number, previous
            while number < ENTRIES - 1:
                number += 1
                for name in sums:
                    sums[name] += price[name]
                spent = {name: str(total) for name, total in sums.items()}
                entry.update(number=number, previous=previous, questions=entry["questions"] + 1, spent=spent, analyst_spent=spent)
                written = canonical_json(entry)
                previous = hash_of(written)
                yield number, previous, written

        ledger.executemany("INSERT INTO tacit_entries VALUES (?, ?, ?)", chain())
        ledger.execute("UPDATE tacit_books SET number = ?, hash = ?", (number, previous))


def ledger_pages(server: Server, session: Session) -> tuple[float, float, float]:
    """Milliseconds of a page of 100 entries, the last ones and those from the middle on: medians; and of processor time."""
    parts, found = server.parts(), []
    before = sum(processor_seconds(parts[kind]) for kind in ("front", "clerk"))
    for path in ("/auditor", f"/auditor?first={ENTRIES // 2}"):
        times = []
        for _ in range(TIMES):
            begun = time.perf_counter()
            page = session.get(path).decode()
            times.append((time.perf_counter() - begun) * 1e3)
            assert page.count("<details>") == PAGE, page[:2000]
        found.append(statistics.median(times))
    spent = sum(processor_seconds(parts[kind]) for kind in ("front", "clerk")) - before
    return found[0], found[1], spent / (2 * TIMES) * 1e3


def run() -> None:
    """Measures, and writes the table."""
    with TemporaryDirectory(prefix="tacit-benchmark-") as name:
        folder = Path(name)
        tokens = prepared(folder)
        with serving(folder, tokens) as server:
            server.back()
            time.sleep(SETTLED)
            session = Session(server.port, tokens[0])
            size, editor, packed = page_bytes(session)
            session.get("/price", {"sql": "SELECT COUNT(*) FROM visits", "kind": "epsilon", "epsilon": "0.1"})
            spent = prices(server, session)
            first, empty = drawn(session)
        records = Records(folder / ".tacit" / FILE)
        auditor = Accounts(records).add("auditor", "auditor").token
        records.close()
        lengthen(folder)
        with serving(folder, tokens) as server:
            server.back()
            newest, middle, processor = ledger_pages(server, Session(server.port, auditor))
    api, whole = memory_of("api"), memory_of("console")
    lines = [
        ["first page drawn, later than an empty one", "200 ms", f"{first - empty:.0f} ms ({first:.0f} and {empty:.0f})"],
        ["first page without the editor", "150 kB", f"{size / 1e3:.0f} kB"],
        ["the editor", "-", f"{editor / 1e3:.0f} kB ({packed / 1e3:.0f} compressed)"],
        [
            "processor time of a price of a new shape",
            "35 ms",
            f"{sum(spent.values()):.1f} ms (clerk {spent['clerk']:.1f}, front {spent['front']:.1f})",
        ],
        ["processor time of a page of 100 of 10^6 ledger entries", "100 ms", f"{processor:.0f} ms"],
        ["the same by the clock", "-", f"{newest:.0f} ms (from the middle on {middle:.0f})"],
        ["memory that the console adds to the front", "20 MB", f"{whole - api:.1f} MiB"],
    ]
    load = f"{machine('fastapi', 'uvicorn')} Load average {os.getloadavg()[0]:.0f}."
    write_table("console", "\n\n".join([load, markdown(["measure", "goal", "tacit"], lines)]))
