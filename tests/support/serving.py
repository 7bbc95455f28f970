"""The server as it runs: a supervisor in a process of its own, and the front, the clerk and the engines that it starts.

Run as a program it is that supervisor: python serving.py CATALOG PORT_FILE ENGINES [USERS OF FRONT, CLERK, ENGINES]
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLANTED = "TACIT_TEST_PLANTED"
WAIT = 240.0  # seconds, on a machine that does other things too: the end of a test that would never end, and no measure


@dataclass(frozen=True, slots=True)
class Server:
    """A server on loopback, without TLS, and the tokens of its accounts."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path
    tokens: dict[str, str]

    def request(self, method: str, path: str, by: str = "", body: Any = None, key: str = "", seconds: float = WAIT) -> Any:
        """Status, headers and body of a reply; status 0 where the connection ended without one."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.tokens[by]}"} if by else {})
        headers |= {"Idempotency-Key": key} if key else {}
        data = None if body is None else json.dumps(body).encode()
        wanted = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(wanted, timeout=seconds) as reply:  # noqa: S310
                return reply.status, dict(reply.headers), reply.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()
        except (OSError, http.client.HTTPException):  # also in the middle of a reply
            return 0, {}, b""

    def ask(self, text: str, by: str = "ana", epsilon: str = "0.01", key: str = "", seconds: float = WAIT) -> tuple[int, Any]:
        """The status and the body of the reply to a question."""
        status, _, body = self.request("POST", "/v1/questions", by, {"sql": text, "epsilon": epsilon}, key, seconds)
        return status, json.loads(body) if body else None

    def parts(self) -> dict[str, list[int]]:
        """The processes by what they are."""
        found: dict[str, list[int]] = {"front": [], "clerk": [], "engine": []}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if f"PPid:\t{self.process.pid}\n" in (place / "status").read_text():
                    words = (place / "cmdline").read_bytes().split(b"\0")
                    if len(words) > 5 and words[5].decode() in found:
                        found[words[5].decode()].append(int(place.name))
            except OSError:
                continue
        return found

    def kill(self, kind: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to a process of a kind, as soon as there is one; returns which it was."""
        while True:
            for process in self.parts()[kind]:
                with suppress(ProcessLookupError):  # it may end by itself at this very moment, and is started again
                    os.kill(process, number)
                    return process
            time.sleep(0.02)

    def wait_until_ready(self, seconds: float = WAIT) -> None:
        """Wait until a free question is answered."""
        begun = time.monotonic()
        while self.ask("SELECT COUNT(*) AS n FROM wards")[0] != 200:
            if time.monotonic() - begun > seconds:
                raise TimeoutError("the server is not ready")
            time.sleep(0.05)


@contextmanager
def serving(
    folder: Path, tokens: dict[str, str], engines: int = 1, python: tuple[str, ...] = (sys.executable,),
    users: tuple[str, ...] = (), seconds: float = WAIT, said: Path | None = None, planted: str = "",
) -> Iterator[Server]:  # fmt: skip
    """A server over the prepared catalog in a folder, ready in some seconds; it is ended at the end. `said` gets what it says.

    `planted` is a bug: Python that each of its processes runs before anything else.
    """
    port_file = folder / "port"
    own = [place for place in sys.path if not Path(place).is_relative_to(sys.base_prefix)]  # a Python has a library of its own
    environment = os.environ | {PLANTED: planted, "PYTHONPATH": os.pathsep.join([*own, str(Path(__file__).parent)])}
    words = [*python, __file__, str(folder / "tacit.toml"), str(port_file), str(engines), *users]
    with ExitStack() as stack:
        errors = None if said is None else stack.enter_context(said.open("wb"))
        process = subprocess.Popen(words, env=environment, stderr=errors)
    try:
        begun = time.monotonic()
        while not port_file.exists():
            if process.poll() is not None or time.monotonic() - begun > seconds:
                raise RuntimeError("the server did not start")
            time.sleep(0.02)
        yield Server(process, int(port_file.read_text()), folder, tokens)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    from tacit.data.catalog import read_catalog
    from tacit.doors.server import parts
    from tacit.doors.server.sandbox.limits import user_named
    from tacit.doors.server.settings import Settings
    from tacit.doors.server.supervisor import Plan, Supervisor

    parts.BOOT = parts.BOOT.replace("; run(", f"; exec({os.environ[PLANTED]!r}); run(")
    catalog, port_file, engines, *names = sys.argv[1:]
    front, clerk, engine = map(user_named, names) if names else (None, None, None)
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = listening.getsockname()[1]
    plan = Plan(read_catalog(Path(catalog)), Settings(port=port), int(engines), memory="500MB", users=(front, clerk, engine))

    def ready() -> None:
        new = Path(f"{port_file}.new")
        new.write_text(str(port))
        new.rename(port_file)

    Supervisor(plan, listening, lambda said: print(said, file=sys.stderr)).run(ready)


if __name__ == "__main__":
    main()
