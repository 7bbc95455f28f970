"""A process of the server with its sandbox closed as in service, which then tries what it must not, instead of serving.

    python inside_real.py ROLE CATALOG DESCRIPTOR OTHER_FILES...

The engine has opened its store, the clerk its ledger and its records, the front its certificate. What the system said to each
attempt goes to the descriptor as one line of JSON.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tacit.doors.server import clerk, engine, front_process, parts
from tacit.doors.server.settings import OfEngine
from tacit.files import append_line
from tacit.release.once import LOG

MULTIPATH = 262  # IPPROTO_MPTCP
FAST_OPEN = 0x20000000


def attempts(catalog: Path, files: list[Path]) -> dict[str, Callable[[], Any]]:
    parent = os.getppid()
    reading = {f"read {path.name}": (lambda path=path: os.close(os.open(path, os.O_RDONLY))) for path in files}
    writing = {f"write {path.name}": (lambda path=path: os.close(os.open(path, os.O_WRONLY))) for path in files}
    return {
        **reading,
        **writing,
        "list the folder": lambda: os.listdir(catalog.parent),
        "make a file": lambda: (catalog.parent / ".tacit" / "new").touch(),
        "put the log aside": lambda: _put_aside(catalog.parent / ".tacit" / LOG),
        "environment of the supervisor": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
        "open a socket": lambda: socket.socket().close(),
        "a datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).close(),
        "another family": lambda: socket.socket(socket.AF_VSOCK).close(),
        "another protocol": lambda: socket.socket(proto=MULTIPATH).close(),
        "connect to the ledger": lambda: _connected("TACIT_LEDGER_PORT"),
        "connect elsewhere": lambda: _connected("TACIT_OTHER_PORT"),
        "connect by sending": _connected_by_sending,
        "fork": os.fork,
        "execute": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606
        "signal the supervisor": lambda: os.kill(parent, 0),
        "root": lambda: os.setresuid(0, 0, 0),
    }


def _connected(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(os.environ.get(port, "1"))), 5).close()


def _connected_by_sending() -> None:
    """TCP Fast Open: the kernel connects without asking Landlock."""
    with socket.socket() as line:
        line.sendto(b"x", FAST_OPEN, ("127.0.0.1", int(os.environ.get("TACIT_OTHER_PORT", "1"))))


def _put_aside(log: Path) -> None:
    """Two lines of a log that is full after each."""
    for _ in range(2):
        append_line(log, "a line", 0)
    if not log.with_name(f"{log.name}.1").exists():
        raise PermissionError(errno.EPERM, "it goes on with a full log")


def tell(where: int, catalog: Path, files: list[Path]) -> NoReturn:
    said = {}
    for name, attempt in attempts(catalog, files).items():
        try:
            attempt()
            said[name] = ""
        except OSError as error:
            said[name] = errno.errorcode.get(error.errno or 0, "?")
    os.write(where, json.dumps(said).encode() + b"\n")
    os._exit(0)


def main() -> None:
    role, catalog, where, *files = sys.argv[1:]
    left_out = os.environ.get("TACIT_LEFT_OUT", "")
    place, named = Path(catalog), [Path(file) for file in files]
    line, _other = socket.socketpair()

    def instead(*_: Any) -> NoReturn:
        tell(int(where), place, named)

    if role == "engine":
        engine.serve = instead  # type: ignore[assignment]
        engine.main(OfEngine(catalog, line.detach(), "500MB", 1, left_out=tuple(filter(None, left_out.split(";")))))
    elif role == "clerk":
        clerk.serve = instead  # type: ignore[assignment]
        parts._clerk({"catalog": catalog, "control": line.detach(), "left_out": list(filter(None, left_out.split(";")))})
    else:
        front_process.asyncio.run = instead  # type: ignore[assignment]
        listening = socket.create_server(("127.0.0.1", 0))
        own = {"host": "127.0.0.1", "port": 1, "names": [], "certificate": files[-2], "key": files[-1], "behind_proxy": False}
        known = {"control": line.detach(), "listening": listening.detach(), "left_out": [], "settings": own}
        parts._front(known)


if __name__ == "__main__":
    main()
