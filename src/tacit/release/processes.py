"""Answering processes: how one is started, recognized and ended. Few imports, so that one can be started early."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

from tacit.errors import InvalidInput

BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tacit.release.worker import serve; serve(int(sys.argv[2]))"
LINE = 3  # the descriptor of an answering process's connection


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
    """Start a process before its store is known, so that it loads in the meantime."""
    _ahead.append(_spawned())


def started() -> Child:
    """An answering process: one started ahead, or a new one."""
    while _ahead:
        child = _ahead.pop()
        if child.lives():
            return child
        child.end()
    return _spawned()


def _spawned() -> Child:
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
            setsigdef=[signal.SIGINT, signal.SIGALRM, signal.SIGPIPE, signal.SIGTERM],
        )
    return Child(process, ours, os.getpid())
