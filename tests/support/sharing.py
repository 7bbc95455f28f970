"""One server for a whole run of tests: the first process that asks starts it, and it ends with the last one that uses it.

A keeper, a process of its own session, starts the server and stops it. Every user holds a shared lock on a file, and the keeper
waits for the exclusive one. The kernel gives it when the last user has let go or died, whatever it died of: Ctrl-C, a crash of one
worker and the end of all of them leave nothing behind.

    folder/KIND.turn      one process at a time looks for the server, and starts it
    folder/KIND.users     locked: shared by whoever uses the server, exclusive by the keeper that stops it
    folder/KIND.address   where the server is, as long as it runs
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from services import Missing, chromium_server, postgres_server

SERVERS = {"postgres": postgres_server, "chromium": chromium_server}
END_SECONDS = 240  # that a server may take to stop on a busy machine
LOOK = 0.02  # seconds between two looks

Servers = Mapping[str, Callable[[], AbstractContextManager[str]]]


@contextmanager
def shared(kind: str, folder: Path, keeper: Path = Path(__file__)) -> Iterator[str]:
    """The address of the one server of a kind for all who name the same folder. The last user returns when it has stopped."""
    with (folder / f"{kind}.users").open("a") as users:
        with (folder / f"{kind}.turn").open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # a keeper that is stopping a server is waited for
            address = _address(kind, folder) or _started(kind, folder, keeper)
        yield address
    _last_one_waits(kind, folder)


def _address(kind: str, folder: Path) -> str | None:
    try:
        return (folder / f"{kind}.address").read_text()
    except FileNotFoundError:  # also if the keeper takes it away at this very moment
        return None


def _started(kind: str, folder: Path, keeper: Path) -> str:
    run = [sys.executable, str(keeper), kind, str(folder)]
    done = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True)
    said = json.loads(done.stdout or "{}")
    if "missing" in said:
        raise Missing(said["missing"])
    assert "address" in said, f"the keeper of {kind} did not start a server:\n{done.stderr}"
    return str(said["address"])


def _last_one_waits(kind: str, folder: Path) -> None:
    end = time.monotonic() + END_SECONDS
    while _address(kind, folder) is not None and not _others_use(kind, folder):
        assert time.monotonic() < end, f"the keeper of {kind} does not end"
        time.sleep(LOOK)


def _others_use(kind: str, folder: Path) -> bool:
    """Whether somebody shares the lock: it can be shared once more, and not be taken alone."""
    with (folder / f"{kind}.users").open("a") as users:
        return not _takes(users.fileno(), fcntl.LOCK_EX) and _takes(users.fileno(), fcntl.LOCK_SH)


def _takes(descriptor: int, lock: int) -> bool:
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# --- the keeper --------------------------------------------------------------------------------------------------------------


def keep(kind: str, folder: Path, servers: Servers = SERVERS) -> None:
    """Start a server, say where it is, and stop it when nobody uses it any more."""
    if os.fork():
        os._exit(0)  # whoever started the keeper has no child that it would have to wait for
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    said = folder / f"{kind}.address"
    with (folder / f"{kind}.users").open("a") as users:  # locked until the server has stopped and its address is gone
        try:
            with servers[kind]() as address:
                said.write_text(address)
                _say(address=address)
                fcntl.flock(users, fcntl.LOCK_EX)
        except Missing as missing:
            _say(missing=str(missing))
        finally:
            said.unlink(missing_ok=True)


def _say(**what: str) -> None:
    """One line for whoever waits, and nothing after it."""
    print(json.dumps(what), flush=True)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os.dup2(nowhere.fileno(), sys.stderr.fileno())


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]))
