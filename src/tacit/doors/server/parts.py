"""Starting a process of the server: by `exec`, with the descriptors that it needs, a minimal environment and nothing else.

`Part` says when one that ended is started again.
"""

from __future__ import annotations

import gc
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.data.spark.connect import ROOTS
from tacit.doors.server.sandbox.profiles import program_folders
from tacit.doors.server.settings import OfClerk, OfEngine, OfFront, Settings
from tacit.privacy.catalog import Catalog

BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tacit.doors.server.parts import run; run(*sys.argv[2:])"
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",  # libraries ask for it; it has nothing
    "OPENBLAS_NUM_THREADS": "1",  # threads that start with an import would stay outside the sandbox
    "OMP_NUM_THREADS": "1",
}
FAREWELL = 2  # seconds that the front waits for replies under way when it is to end
VARIABLE = re.compile(r"\$\{?(\w+)")
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds before a process that died soon twice is started again, doubled each time
LONGEST_AWAY = 60.0  # the longest for an engine whose cluster cannot be reached
WELL = 30.0  # seconds after which a process counts as having started well
STATE = ("HOME", "XDG_STATE_HOME")  # where the register of ledgers lies


@dataclass(slots=True)
class Part:
    """One process that is to run, and when it may be started again."""

    name: str
    process: subprocess.Popen[bytes] | None = None
    control: socket.socket | None = None
    ready: bool = False
    due: float = 0.0
    wait: float = 0.0
    since: float = 0.0
    away: bool = False  # whether it ended without having reached its data
    session: str = ""  # of an engine: the name of its first session on a cluster
    before: str = ""  # that of the last engine in its place that may have left work there

    def lives(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def ended(self, away: bool = False) -> None:
        """Note that it ended, and when it may be started again: later each time that it dies soon, or finds its data `away`."""
        now = time.monotonic()
        well, longest = now - self.since > WELL and not away, LONGEST_AWAY if away else LONGEST_WAIT
        wait = 0.0 if well else min(longest, self.wait)
        self.process, self.ready, self.due, self.away = None, False, now + wait, away
        self.wait = min(longest, max(FIRST_WAIT, 2 * wait))
        if self.control is not None:
            self.control.close()
            self.control = None

    def start_at_once(self) -> None:
        """Forget how long to wait before it is started again."""
        self.due, self.wait = time.monotonic(), 0.0

    def new_session(self) -> dict[str, Any]:
        """The names of the session of an engine that is started now, and of the one before it."""
        from tacit.mechanisms.noise import bits  # numpy, which the front does without

        self.before, self.session = self.before if self.away else self.session, bits.random_bytes(16).hex()
        return {"session": self.session, "before": self.before}

    def end(self, seconds: float = 0.0) -> int | None:
        """End it, at once or if it has not ended by itself in some seconds, and wait until it is gone.

        Returns its code if it ended by itself.
        """
        code = None
        if self.process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self.process.wait(seconds)
            self.process.kill()
            self.process.wait()
            self.ended()
        return code


def started(role: str, settings: Any, descriptors: Iterable[int], more: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """A new process in its own session: input, output and errors lead nowhere, and Ctrl-C does not reach it."""
    return subprocess.Popen(  # noqa: S603  # this Python, with a constant program
        [sys.executable, "-P", "-c", BOOT, json.dumps(_path()), role, json.dumps(asdict(settings))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=tuple(descriptors),
        env=ENVIRONMENT | ({"PYTHONDONTWRITEBYTECODE": "1"} if sys.dont_write_bytecode else {}) | dict(more or {}),
        cwd="/",
        start_new_session=True,
    )


def _path() -> list[str]:
    """Where Python looks for modules: its own folders, packages, and tacit; never the current folder."""
    own = [place for place in sys.path if place and any(Path(place).is_relative_to(folder) for folder in program_folders())]
    return [*own, *(place for place in sys.path if place.endswith(".zip")), str(Path(__file__).resolve().parents[3])]


def environment_of_an_engine(catalog: Catalog) -> dict[str, str]:
    """The variables that an engine needs: those in the URL of a cluster, and where gRPC finds certificates."""
    names = (*VARIABLE.findall(catalog.store_master or ""), *((ROOTS,) if catalog.store_master else ()))
    return {name: os.environ[name] for name in names if name in os.environ}


def environment_of_the_clerk(catalog: Catalog, same_user: bool) -> dict[str, str]:
    """The variables that the clerk needs: where its user's register lies, and those that the ledger's URL names."""
    named = VARIABLE.findall(catalog.ledger_url or "")
    postgres = [name for name in os.environ if name.startswith("PG")] if catalog.ledger_url else []
    return {name: os.environ[name] for name in (*(STATE if same_user else ()), *named, *postgres) if name in os.environ}


def run(role: str, settings: str) -> None:
    """The whole life of a process, from its settings. All that it loads stays: nothing of it is garbage."""
    gc.disable()
    given = json.loads(settings)
    if given.get("cores"):
        os.sched_setaffinity(0, given["cores"])  # before there is another thread
    ROLES[role](given)


def _engine(given: dict[str, Any]) -> None:
    from tacit.doors.server import engine

    engine.main(OfEngine(**_tuples(given)))


def _clerk(given: dict[str, Any]) -> None:
    from tacit.doors.server import clerk
    from tacit.doors.server.desk import desk

    own = OfClerk(**_tuples(given))
    clerk.main(own, lambda data, pool, seats: desk(data, pool.limit, seats, own.died))


def _front(given: dict[str, Any]) -> None:
    from tacit.doors.server import front_process
    from tacit.doors.server.front_process import Listening
    from tacit.doors.server.gate import configured
    from tacit.doors.server.pages.console import with_console
    from tacit.doors.server.problems import problem

    own = OfFront(**_tuples(given))
    values = dict(own.settings or {})
    paths = {name: None if values[name] is None else Path(values[name]) for name in ("certificate", "key")}
    lists = {name: tuple(values.get(name, ())) for name in ("names", "forwarded_by")}
    wanted = Settings(**{**values, **paths, **lists})
    tls = {} if wanted.certificate is None else {"ssl_certfile": str(wanted.certificate), "ssl_keyfile": str(wanted.key)}
    front_process.main(
        own,
        lambda clerk: configured(with_console(clerk, wanted), loop="asyncio", timeout_graceful_shutdown=FAREWELL, **tls),
        problem("unavailable"),
        lambda descriptor: Listening(descriptor, wanted.connections_each, wanted.forwarded_by),
    )


def _reports(given: dict[str, Any]) -> None:
    from tacit.doors.server import reports

    reports.main(given)


def _tuples(given: dict[str, Any]) -> dict[str, Any]:
    return given | {name: tuple(given.get(name, ())) for name in ("left_out", "cores")}


ROLES = {"engine": _engine, "clerk": _clerk, "front": _front, "reports": _reports}
