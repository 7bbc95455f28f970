"""seccomp: system calls that a process will not make again, as a program for the kernel's packet filter (BPF).

A call that is refused returns EPERM. Some have a rule of their own: `clone` makes threads and no processes, `clone3` and `openat2`
hide what they ask for behind a pointer and return ENOSYS, upon which the C library uses the older ones, and `open` and `openat`
read only where files are not to be written. `socketpair` makes streams: a datagram socket, even one of a pair, sends to any name.
`tgkill` reaches this process alone, `prlimit64` and the calls of scheduling the caller alone, and `fcntl` and `ioctl` do not name
whom the kernel is to signal. A process that may open TCP connections opens no other sockets. Calls of another machine's numbering,
and those newer than the table, are not offered.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence

from tacit.doors.server.sandbox.kernel import MACHINE, Refused, call
from tacit.doors.server.sandbox.syscalls import LAST, NUMBERS

SET_FILTER, ALL_THREADS = 1, 1
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # places in what the kernel shows of a call; arguments of 8 bytes
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
THREAD = 0x00010000  # CLONE_THREAD
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HIDDEN = ("clone3", "openat2")
NOT_STREAMS = 0xE  # bits of the kind of a socket that SOCK_STREAM does not have
OF_ITSELF = ("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")  # the first argument is 0
NEVER = {  # by the second argument: F_SETOWN, F_SETSIG, F_SETOWN_EX; FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX
    "fcntl": (8, 10, 15),
    "ioctl": (0x8901, 0x8902, 0x5412, 0x541C),
}
FAST_OPEN = 0x20000000  # MSG_FASTOPEN: data that opens a connection, past Landlock
BY_BITS: Mapping[str, tuple[str, tuple[tuple[int, int], ...]]] = {  # the call, and bits of its arguments of which none may be set
    "socket of another kind": (
        "socket",
        ((0, 0xFFFFFFF0), (1, NOT_STREAMS), (2, 0xFFFFFFF9)),
    ),  # Unix and TCP; no VSOCK, SCTP, MPTCP
    "sendto that connects": ("sendto", ((3, FAST_OPEN),)),
    "sendmsg that connects": ("sendmsg", ((2, FAST_OPEN),)),
    "sendmmsg that connects": ("sendmmsg", ((3, FAST_OPEN),)),
}

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def program(refused: Iterable[str], reading: bool = False, threads: bool = True, machine: str = MACHINE) -> bytes:
    """The filter in the kernel's form. `reading` refuses files opened for writing; without `threads`, `clone` is not restricted."""
    numbers, refused = NUMBERS[machine], tuple(refused)
    steps: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (GREATER, 0, 1, LAST),  # also the x32 calls of x86-64, which begin at 2**30
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
    ]
    for name in HIDDEN if threads else HIDDEN[1:]:
        steps += [(EQUAL, 0, 1, numbers[name]), (RETURN, 0, 0, ERROR | errno.ENOSYS)]
    for name in refused:
        if name in numbers:
            steps += _refusal(name, numbers[name])
        elif name in BY_BITS:
            steps += _on_bits(numbers[BY_BITS[name][0]], BY_BITS[name][1])
    if "socketpair" not in refused:
        steps += _on_argument(numbers["socketpair"], 1, NOT_STREAMS, refused_if_set=True)
    if threads:
        steps += _on_argument(numbers["clone"], 0, THREAD, refused_if_set=False)
    for name, place in (("open", 1), ("openat", 2)) if reading else ():
        if name in numbers:
            steps += _on_argument(numbers[name], place, WRITING, refused_if_set=True)
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _refusal(name: str, number: int) -> list[Instruction]:
    """Refuse a call: always, or by its arguments."""
    refuse, allow = (RETURN, 0, 0, ERROR | errno.EPERM), (RETURN, 0, 0, ALLOW)
    if name in NEVER:
        each = [step for value in NEVER[name] for step in ((EQUAL, 0, 1, value), refuse)]
        return [(EQUAL, 0, len(each) + 2, number), (LOAD, 0, 0, FIRST_ARGUMENT + 8), *each, allow]
    if name == "tgkill" or name in OF_ITSELF:
        own = os.getpid() if name == "tgkill" else 0
        return [(EQUAL, 0, 4, number), (LOAD, 0, 0, FIRST_ARGUMENT), (EQUAL, 0, 1, own), allow, refuse]
    return [(EQUAL, 0, 1, number), refuse]


def _on_bits(number: int, rules: Sequence[tuple[int, int]]) -> list[Instruction]:
    """Refuse one call if any of these bits of its arguments is set."""
    refuse, allow = (RETURN, 0, 0, ERROR | errno.EPERM), (RETURN, 0, 0, ALLOW)
    each = [step for place, bits in rules for step in ((LOAD, 0, 0, FIRST_ARGUMENT + 8 * place), (ANY_BIT, 0, 1, bits), refuse)]
    return [(EQUAL, 0, len(each) + 1, number), *each, allow]


def _on_argument(number: int, place: int, bits: int, refused_if_set: bool) -> list[Instruction]:
    """Allow or refuse one call by bits of one argument."""
    last = [(RETURN, 0, 0, ERROR | errno.EPERM), (RETURN, 0, 0, ALLOW)]
    return [
        (EQUAL, 0, 4, number),
        (LOAD, 0, 0, FIRST_ARGUMENT + 8 * place),
        (ANY_BIT, 0, 1, bits),
        *(last if refused_if_set else reversed(last)),
    ]


def install(filters: bytes) -> None:
    """Apply a filter to all threads of this process, for good. Requires no new privileges."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    loaded = Program(len(filters) // 8, filters)
    where = ctypes.cast(ctypes.pointer(loaded), ctypes.c_void_p)
    if call(NUMBERS[MACHINE]["seccomp"], SET_FILTER, ALL_THREADS, where):  # the thread that could not be bound; then none is
        raise Refused("a thread has another filter")
