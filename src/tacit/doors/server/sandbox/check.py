"""The protections that hold on this machine: each is applied in a process of its own, which then tries what it forbids.

Run as a program, it prints one JSON object: the name of each protection, and whether it held.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.doors.server.sandbox import landlock, limits, seccomp, syscalls
from tacit.doors.server.sandbox.kernel import prctl

GET_DUMPABLE, GET_NO_NEW_PRIVILEGES = 3, 39
NOBODY = limits.User(65534, 65534)
SMALL, LARGE = 256 * 2**20, 2**30
SECONDS = 30.0
BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tacit.doors.server.sandbox.check import main; main()"

NO_NEW_PRIVILEGES, CALLS, PATHS, USERS = "no new privileges", "system calls", "files", "users of their own"


@dataclass(frozen=True, slots=True)
class Protection:
    """One protection: by what, against what, and an attempt that raises nothing if it holds."""

    by: str
    against: str
    attempt: Callable[[], None]


def _expect_refusal(attempt: Callable[[], object], *numbers: int) -> None:
    """Nothing, if the system refuses the attempt with one of these errors."""
    try:
        attempt()
    except OSError as error:
        if error.errno in numbers:
            return
        raise
    raise RuntimeError("it was not refused")


def _no_new_privileges() -> None:
    limits.no_new_privileges()
    assert prctl(GET_NO_NEW_PRIVILEGES) == 1  # noqa: S101  # a check


def _restrict() -> None:
    limits.no_new_privileges()
    if not landlock.restrict(landlock.Reach()):
        raise RuntimeError("no Landlock")


def _calls() -> None:
    limits.no_new_privileges()
    seccomp.install(seccomp.program((*syscalls.NETWORK, *syscalls.PROGRAMS, *syscalls.OTHERS_MEMORY)))
    for attempt in (socket.socket, os.fork, lambda: os.execv(sys.executable, ["python"])):  # noqa: S606
        _expect_refusal(attempt, errno.EPERM)


def _paths() -> None:
    _restrict()
    _expect_refusal(lambda: os.listdir("/"), errno.EACCES)
    _expect_refusal(lambda: Path(__file__).read_bytes(), errno.EACCES)


def _ports() -> None:
    line = socket.socket()
    _restrict()
    _expect_refusal(lambda: line.bind(("127.0.0.1", 0)), errno.EACCES)


def _signals() -> None:
    _restrict()
    _expect_refusal(lambda: os.kill(os.getppid(), 0), errno.EPERM)


def _abstract() -> None:
    heard, line = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    heard.bind(name := f"\0tacit-check-{os.getpid()}")
    heard.listen()
    if os.fork() == 0:
        try:
            _restrict()
            _expect_refusal(lambda: line.connect(name), errno.EPERM)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.wait()[1]:
        raise RuntimeError("it was not refused")


def _core_files() -> None:
    limits.no_core_files()
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)  # noqa: S101  # a check
    assert prctl(GET_DUMPABLE) == 0  # noqa: S101  # a check


def _memory() -> None:
    limits.at_most(resource.RLIMIT_DATA, SMALL)
    try:
        bytearray(LARGE)
    except MemoryError:
        return
    raise RuntimeError("there was more memory")


def _users() -> None:
    limits.become(NOBODY)
    _expect_refusal(lambda: os.setresuid(0, 0, 0), errno.EPERM)


PROTECTIONS: Mapping[str, Protection] = {
    NO_NEW_PRIVILEGES: Protection("prctl", "programs that run with more rights", _no_new_privileges),
    CALLS: Protection("seccomp", "sockets, new processes, programs, the memory of others", _calls),
    PATHS: Protection("Landlock", "files that a process does not need", _paths),
    "ports": Protection("Landlock", "TCP connections and servers", _ports),
    "signals": Protection("Landlock", "signals to other processes", _signals),
    "abstract sockets": Protection("Landlock", "Unix sockets without a file", _abstract),
    "core files": Protection("setrlimit, prctl", "memory in files and in debuggers", _core_files),
    "memory": Protection("setrlimit", "memory beyond the limit", _memory),
    USERS: Protection("setresuid", "files of other users (root must start the server)", _users),
}


def protections() -> dict[str, bool]:
    """Whether each protection holds here, tried in new processes."""
    run = subprocess.run(  # noqa: S603  # this Python, with a constant program
        [sys.executable, "-P", "-c", BOOT, json.dumps([place for place in sys.path if place])],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    try:
        held = json.loads(run.stdout)
        return {name: held[name] is True for name in PROTECTIONS}
    except (ValueError, KeyError, TypeError):
        return dict.fromkeys(PROTECTIONS, False)


def suffices(held: Mapping[str, bool], own_users: bool) -> bool:
    """Whether this is the least for more than loopback: system calls, no new privileges, and paths or users of their own."""
    return held[CALLS] and held[NO_NEW_PRIVILEGES] and (held[PATHS] or (own_users and held[USERS]))


def main() -> None:
    """Try each protection in a fork, and print what held."""
    held = {name: _holds(protection.attempt) for name, protection in PROTECTIONS.items()}
    os.write(1, json.dumps(held).encode())  # constant names, for the process that started this one


def _holds(attempt: Callable[[], None]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
