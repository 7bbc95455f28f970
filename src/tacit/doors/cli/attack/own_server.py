"""A server on this machine over the generated hospital without one person, so that somebody is known not to be in the data."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tacit.errors import StoreUnusable
from tacit.files import write

if TYPE_CHECKING:
    from tacit.doors.client import Remote

ANALYST = "ana"
PROCESS_CLOCK = 2  # with the complement of a process in front: clock_getcpuclockid of Linux


@dataclass(frozen=True, slots=True)
class Running:
    """A server, and an analyst who is logged in to it."""

    process: subprocess.Popen[str]
    remote: Remote

    @property
    def watched(self) -> bool:
        """Whether the operating system shows the processor time of others."""
        return sys.platform == "linux"

    def processor_seconds(self) -> float:
        """Processor time of the server's processes so far, all threads together."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(time.clock_gettime(~int(child) << 3 | PROCESS_CLOCK) for child in children)


@contextmanager
def own_server(leave_out: int) -> Iterator[Running]:
    """A server over the hospital without the person of a badge; it is gone afterwards."""
    with TemporaryDirectory(prefix="tacit-timing-") as folder, _running(*_prepared(Path(folder), leave_out)) as server:
        yield server


def _prepared(folder: Path, leave_out: int) -> tuple[Path, str]:
    """The catalog of a prepared hospital, and the token of an analyst."""
    from tacit.doors.cli.demo.hospital import build
    from tacit.doors.server.accounts import Accounts
    from tacit.doors.server.records import FILE, Records
    from tacit.session import open as open_data

    place = build(folder)
    without(folder, leave_out)
    with open_data(place) as data:
        data.prepare(yes=True)
        data.begin_scratch("the attack on the clock")
        records = Records(data.catalog.kept / FILE)
        token = Accounts(records).add(ANALYST, "analyst", declared=data.catalog.analysts).token
    records.close()
    return place, token


def without(folder: Path, badge: int) -> None:
    """Take the person of a badge, with all visits, out of the files of a hospital."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in ("patients", "visits")}
    person = tables["patients"].filter(pc.equal(tables["patients"]["badge"], badge))["id"]
    for name, column in (("patients", "id"), ("visits", "patient_id")):
        kept = tables[name].filter(pc.invert(pc.is_in(tables[name][column], value_set=person)))
        write(folder / f"{name}.parquet", partial(pq.write_table, kept))


@contextmanager
def _running(place: Path, token: str) -> Iterator[Running]:
    from tacit.doors.client import Remote

    command = [sys.executable, "-m", "tacit", "serve", "--catalog", str(place), "--port", "0", "--engines", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # noqa: S603  # this tacit
    try:
        assert process.stderr is not None  # noqa: S101  # it is a pipe
        said = next((line for line in process.stderr if "ready at" in line), None)
        if said is None:
            raise StoreUnusable("the server of the demonstration did not start", remedy="see: tacit serve --demo")
        with Remote(said.split()[-1], token) as remote:
            yield Running(process, remote)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
