"""Processes that answer: how one is started, told from another, and ended. Light, so that one can be started early."""

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
LINE = 3  # the descriptor by which a process that answers is spoken to


@dataclass(frozen=True, slots=True)
class Child:
    """A process that answers, and the line to it."""

    process: int
    line: socket.socket
    parent: int

    def lives(self) -> bool:
        """Whether it is this process's own, and there."""
        if self.parent != os.getpid():
            return False
        try:
            return os.waitpid(self.process, os.WNOHANG) == (0, 0)
        except ChildProcessError:
            return False

    def end(self) -> None:
        """End it at once; a process that was forked from this one only lets go of the line."""
        if self.lives():
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
        self.line.close()


_ahead: list[Child] = []


def start_ahead() -> None:
    """Start a process before it is known what it shall open, so that it loads while other things are done."""
    _ahead.append(_spawned())


def started() -> Child:
    """A process that answers: one that was started ahead, or a new one."""
    while _ahead:
        child = _ahead.pop()
        if child.lives():
            return child
        child.end()
    return _spawned()


def _spawned() -> Child:
    """A new process with a line to it and nothing else: its input, output and errors lead nowhere, and Ctrl-C does not reach it."""
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
