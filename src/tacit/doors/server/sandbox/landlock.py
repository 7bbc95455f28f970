"""Landlock: a process gives up all files, ports and signals but those that it names. The kernel numbers what it offers (ABI).

The restriction binds the calling thread and the threads that it starts later. So a process closes it before it has others.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.doors.server.sandbox.kernel import KNOWN, Refused, call

CREATE, ADD, RESTRICT = 444, 445, 446  # the same numbers on every machine
VERSION = 1
BENEATH, PORT = 1, 2  # kinds of rules

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_REG, TRUNCATE = (1 << bit for bit in (0, 1, 2, 3, 5, 8, 14))
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15
BIND, CONNECT = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
PATHS_ABI, TCP_ABI, SCOPES_ABI = 1, 4, 6
HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # rights on files from that ABI on

READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | TRUNCATE
CHANGE = WRITE | MAKE_REG | REMOVE_FILE


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _Port(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


@dataclass(frozen=True, slots=True)
class Reach:
    """The things that stay within reach: rights on paths (and all beneath them), and the ports of TCP connections to others.

    `own_port` is the right to bind a socket to a port that the kernel chooses, until seccomp refuses it.
    """

    paths: Sequence[tuple[Path, int]] = ()
    ports: Sequence[int] = ()
    own_port: bool = False
    signals: bool = False
    sockets: bool = False


def version() -> int:
    """The ABI that the kernel offers; 0 without Landlock."""
    if not KNOWN:
        return 0
    try:
        return call(CREATE, None, 0, VERSION)
    except Refused:
        return 0


def restrict(reach: Reach) -> int:
    """Give up everything but `reach`, as far as the kernel offers it; returns the ABI. Requires no new privileges."""
    abi = version()
    if abi < PATHS_ABI:
        return 0
    scoped = 0 if abi < SCOPES_ABI else (0 if reach.signals else SIGNALS) | (0 if reach.sockets else ABSTRACT_SOCKETS)
    files = HANDLED[max(least for least in HANDLED if least <= abi)]
    rules = _Ruleset(files, BIND | CONNECT if abi >= TCP_ABI else 0, scoped)
    size = 8 if abi < TCP_ABI else 16 if abi < SCOPES_ABI else 24
    descriptor = call(CREATE, _pointer(rules), size, 0)
    try:
        for path, rights in existing_paths(reach.paths):
            _allow_path(descriptor, path, rights & files)
        of_ports = [(port, CONNECT) for port in reach.ports] + [(0, BIND)] * reach.own_port
        for port, right in of_ports if abi >= TCP_ABI else []:
            call(ADD, descriptor, PORT, _pointer(_Port(right, port)), 0)
        call(RESTRICT, descriptor, 0)
    finally:
        os.close(descriptor)
    return abi


def existing_paths(paths: Iterable[tuple[Path, int]]) -> list[tuple[Path, int]]:
    """The paths that are there; what is missing cannot be opened anyway."""
    return [(path, rights) for path, rights in paths if path.exists()]


def _allow_path(ruleset: int, path: Path, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = rights if stat.S_ISDIR(os.fstat(place).st_mode) else rights & OF_FILES
        call(ADD, ruleset, BENEATH, _pointer(_Beneath(allowed, place)), 0)
    finally:
        os.close(place)


def _pointer(structure: ctypes.Structure) -> ctypes.c_void_p:
    return ctypes.cast(ctypes.pointer(structure), ctypes.c_void_p)
