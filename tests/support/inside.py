"""What a process of the server tries from inside its sandbox: run as a program, it prints what the system said to each attempt.

    python inside.py PROFILE FOLDER LEFT_OUT ...

One process for each restriction that is left out ("" leaves out nothing); a line of JSON for each. FOLDER has a file named
`secret`, which the profile may not read.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit.doors.server.sandbox.kernel import MACHINE, call, prctl
from tacit.doors.server.sandbox.profiles import PROFILES, close_first, close_last, reach_of
from tacit.doors.server.sandbox.syscalls import NUMBERS

TGKILL = {"x86_64": 234, "aarch64": 131}[MACHINE]
GET_DUMPABLE = 3


def attempts(folder: Path, parent: int, before: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    numbers = NUMBERS[MACHINE]
    port = before["listening"].getsockname()[1]

    def raw(name: str, *given: int) -> Callable[[], Any]:
        return lambda: call(numbers[name], *given) if name in numbers else None

    return {
        "read a secret": lambda: (folder / "secret").read_bytes(),
        "read the environment of another": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
        "read the memory of another": lambda: os.close(os.open(f"/proc/{parent}/mem", os.O_RDONLY)),
        "list the processes": lambda: os.listdir("/proc"),
        "write a file": lambda: (folder / "new").write_text("x"),
        "write to nowhere": lambda: os.close(os.open("/dev/null", os.O_WRONLY)),
        "grow an open file": lambda: os.write(before["file"], b"x"),
        "truncate": lambda: os.truncate(folder / "secret", 0),
        "remove": lambda: (folder / "secret").unlink(),
        "rename": lambda: (folder / "secret").rename(folder / "other"),
        "open a socket": lambda: socket.socket().close(),
        "connect an open socket": lambda: before["socket"].connect(("127.0.0.1", port)),
        "connect to an abstract name": lambda: before["unix"].connect(before["name"]),
        "bind an open socket": lambda: before["other"].bind(("127.0.0.1", 0)),
        "listen": lambda: before["bound"].listen(),
        "accept": lambda: before["listening"].accept(),
        "a pair of sockets": lambda: [each.close() for each in socket.socketpair()],
        "fork": _forks,
        "fork by its number": lambda: _forked(raw("fork")()),
        "execute": lambda: os.execv("/bin/true", ["true"]),  # noqa: S606
        "execute by descriptor": lambda: os.execve(before["program"], ["true"], {}),  # noqa: S606
        "a file in memory": lambda: os.close(os.memfd_create("x")),
        "signal another": lambda: call(TGKILL, parent, parent, 0),
        "signal by a descriptor": lambda: fcntl.fcntl(before["socket"], fcntl.F_SETOWN, parent),
        "limit another": raw("prlimit64", parent, resource.RLIMIT_NOFILE, 0, 0),
        "make another slow": lambda: os.sched_setaffinity(parent, os.sched_getaffinity(0)),
        "change a mode": lambda: (folder / "secret").chmod(0o644),
        "change a time": lambda: os.utime(folder / "secret", (0, 0)),
        "a pair that sends to any name": lambda: [each.close() for each in socket.socketpair(type=socket.SOCK_DGRAM)],
        "signal oneself": lambda: os.kill(os.getpid(), 0),
        "trace": raw("ptrace", 0, 0, 0, 0),
        "read memory by number": raw("process_vm_readv", parent, 0, 0, 0, 0, 0),
        "shared memory": raw("shmget", 0, 4096, 0o1600),
        "io_uring": raw("io_uring_setup", 1, 0),
        "mount": raw("mount", 0, 0, 0, 0, 0),
        "another user": lambda: os.setresuid(-1, -1, -1),
        "clone3": raw("clone3", 0, 0),
        "a new call": lambda: call(1000),
        "core files": lambda: _say(resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 and prctl(GET_DUMPABLE) == 0),
        "capabilities": lambda: _say("CapEff:\t0000000000000000" in before["status"]()),
        "a thread": _thread,
    }


def _say(held: bool) -> None:
    if held:
        raise PermissionError(errno.EPERM, "held")


def _forked(child: int | None) -> None:
    if child == 0:
        os._exit(0)
    if child:
        os.waitpid(child, 0)


def _forks() -> None:
    _forked(os.fork())


def _thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def _prepared(folder: Path) -> dict[str, Any]:
    """What is open before the sandbox closes, so that each attempt meets one restriction and not two."""
    listening, bound, unix = socket.create_server(("127.0.0.1", 0)), socket.socket(), socket.socket(socket.AF_UNIX)
    listening.setblocking(False)
    bound.bind(("127.0.0.1", 0))
    heard = socket.socket(socket.AF_UNIX)
    heard.bind(name := f"\0tacit-{os.getpid()}")
    heard.listen()
    status = os.open("/proc/self/status", os.O_RDONLY)
    return {
        "listening": listening,
        "bound": bound,
        "unix": unix,
        "heard": heard,
        "name": name,
        "socket": socket.socket(),
        "other": socket.socket(),
        "file": os.open(folder / "open", os.O_WRONLY | os.O_CREAT),
        "program": os.open("/bin/true", os.O_RDONLY),
        "status": lambda: os.pread(status, 10_000, 0).decode(),
    }


def tried(profile: str, folder: Path, left_out: str, parent: int) -> dict[str, str]:
    """What the system said to each attempt: the name of an error, or nothing."""
    before = _prepared(folder)
    kind = replace(PROFILES[profile], left_out=frozenset(filter(None, left_out.split(","))))
    close_first(kind, reach_of())
    close_last(kind)
    said = {}
    for name, attempt in attempts(folder, parent, before).items():
        said[name] = ""
        try:
            attempt()
        except OSError as error:
            said[name] = errno.errorcode.get(error.errno or 0, "?")
    return said


def main() -> None:
    profile, folder, *left_out = sys.argv[1:]
    for each in left_out:
        (Path(folder) / "secret").write_text("secret")
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                import signal

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                os.write(writes, json.dumps(tried(profile, Path(folder), each, os.getppid())).encode())
            os._exit(0)
        os.close(writes)
        with open(reads) as line:
            print(line.read(), flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
