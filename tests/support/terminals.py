"""A pseudo-terminal: runs a command in it and types answers when their prompts appear."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 120  # seconds until a prompt that never comes is an error, on a busy machine too
AGAIN = 5  # seconds until a key that ends the command is typed again: one that arrives before the line is edited can be lost
ENDING = ("\x03", "\x04")


def type_into(folder: Path, arguments: Sequence[str], talk: Sequence[tuple[str, str]] = (), keys: bytes = b"\n") -> tuple[int, str]:
    """Run `tacit` with its arguments in a folder; for each pair wait for the prompt, then type the answer. Exit code and output."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(COLUMNS="120", TERM="dumb")
        os.execv(sys.executable, [sys.executable, "-m", "tacit", *arguments])  # noqa: S606
    try:
        said, at = "", 0
        for prompt, answer in talk:
            said, at = _read_until(terminal, said, at, prompt)
            os.write(terminal, answer.encode() + (b"" if answer in ENDING else keys))
        last = talk[-1][1] if talk else ""
        said, _ = _read_until(terminal, said, at, None, again=last.encode() if last in ENDING else b"")
    finally:
        code = _end(child)
        os.close(terminal)
    return code, said.replace("\r\n", "\n")


def _read_until(terminal: int, said: str, at: int, prompt: str | None, again: bytes = b"") -> tuple[str, int]:
    """The output until a prompt appears after `at`, or until the end; and the place behind the prompt. Silence types `again`."""
    limit = time.monotonic() + PATIENCE
    silent = 0
    while prompt is None or (place := said.find(prompt, at)) < 0:
        if time.monotonic() > limit:
            raise AssertionError(f"{prompt!r} does not appear: {said[-2000:]}")
        if not select.select([terminal], [], [], 1)[0]:
            silent += 1
            if again and silent % AGAIN == 0:
                os.write(terminal, again)
        else:
            try:
                read = os.read(terminal, 1 << 16)
            except OSError:  # the command has ended
                read = b""
            if not read and prompt is None:
                return said, len(said)
            if not read:
                raise AssertionError(f"{prompt!r} does not appear: {said[-2000:]}")
            said += read.decode("utf-8", "replace")
    return said, place + len(prompt)


def _end(child: int) -> int:
    """The exit code; a command that still runs is killed."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL
