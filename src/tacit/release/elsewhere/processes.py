"""Answering processes: how one is start_process, recognized and ended. Few imports, so that one can be started early.

A command forks one before it has read a catalog, a question or a ledger: what both processes import is then imported once. Anything
else starts a new program, since a fork of a process with threads, or with a ledger open, would not be safe.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from tacit.errors import InvalidInput

BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tacit.release.elsewhere.worker import serve; serve(int(sys.argv[2]))"
)
LINE = 3  # the descriptor of an answering process's connection
SIGNALS = (signal.SIGINT, signal.SIGALRM, signal.SIGPIPE, signal.SIGTERM)  # whose handlers are not inherited


@dataclass(frozen=True, slots=True)
class Child:
    """An answering process, and the connection to it."""

    process: int
    line: socket.socket
    parent: int

    def lives(self) -> bool:
        """Whether this process started it, and it is still running."""
        if self.parent != os.getpid():
            return False
        try:
            return os.waitpid(self.process, os.WNOHANG) == (0, 0)
        except ChildProcessError:
            return False

    def end(self) -> None:
        """End it at once; a fork of this process only closes the connection."""
        if self.lives():
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
        self.line.close()


_ahead: list[Child] = []


def start_ahead() -> None:
    """Start a process before its store is known, so that it loads in the meantime; a fork of this one if that is safe."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would start with NumPy, spin, and forbid the fork
    if sys.platform != "linux":  # elsewhere, system libraries do not survive a fork
        _ahead.append(_spawn())
        return
    from tacit.release.elsewhere.worker import load_shared

    load_shared()
    _ahead.append(_fork() if _one_thread() else _spawn())


def start_process() -> Child:
    """An answering process: one started ahead, or a new one."""
    while _ahead:
        child = _ahead.pop()
        if child.lives():
            return child
        child.end()
    return _spawn()


def _spawn() -> Child:
    """A new process with one connection and nothing else: input, output and errors lead nowhere, and Ctrl-C does not reach it."""
    if not sys.executable:
        raise InvalidInput("there is no Python program to start a process with; open the data with own_process=False")
    ours, theirs = socket.socketpair()
    nowhere = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in range(3)]
    with theirs:
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-c", BOOT, json.dumps(list(map(str, sys.path))), str(LINE)],
            os.environ,
            file_actions=[*nowhere, (os.POSIX_SPAWN_DUP2, theirs.fileno(), LINE)],
            setpgroup=0,
            setsigdef=SIGNALS,
        )
    return Child(process, ours, os.getpid())


def _one_thread() -> bool:
    """Whether this thread is the only one of this process: a lock that another one holds would stay locked in a fork."""
    return len(os.listdir("/proc/self/task")) == 1


def _fork() -> Child:
    """A fork of this process, which keeps one connection and nothing else that is open here."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        ours.detach()  # an object that is deleted later would close whatever has its number then
        _answer(theirs.detach())
    theirs.close()
    return Child(process, ours, os.getpid())


def _answer(line: int) -> NoReturn:
    """Answer on a connection, as a program does that `_spawn` starts: everything else that was open is closed."""
    try:
        from tacit.release.elsewhere.worker import serve

        os.setpgid(0, 0)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        os.dup2(line, LINE)
        os.closerange(LINE + 1, os.sysconf("SC_OPEN_MAX"))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(LINE):
            os.dup2(nowhere, descriptor)
        os.closerange(LINE + 1, LINE + 2)  # `nowhere` itself, unless one of the first three was free
        serve(LINE)
    finally:
        os._exit(1)  # nothing of the command that was forked is cleaned up, printed or told here
