"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
import sys

LINUX = sys.platform == "linux"
MACHINE = platform.machine()
KNOWN = LINUX and MACHINE in ("x86_64", "aarch64")

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(OSError):
    """The kernel does not offer a restriction, or not to this process."""


def call(number: int, *arguments: int | ctypes.c_void_p | None) -> int:
    """The result of a system call; raises `Refused` with the error of the system."""
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *given))


def prctl(option: int, *arguments: int) -> int:
    """An operation on this process or thread; raises `Refused`."""
    return _check(_libc.prctl(option, *(ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4])))


def _check(result: int) -> int:
    if result < 0:
        raise Refused(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
