"""Limits that every Unix has: no core files, no way back to more rights, and an upper end of memory, files and descriptors."""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
from contextlib import suppress
from dataclasses import dataclass

from tacit.doors.server.sandbox.kernel import LINUX, MACHINE, call, prctl
from tacit.errors import InvalidInput

SET_DUMPABLE, SET_NO_NEW_PRIVILEGES, DROP_FROM_BOUNDING = 4, 38, 24
CAPSET = {"x86_64": 126, "aarch64": 91}
CAPABILITIES_3 = 0x20080522  # the version of the structure: two words of 32 bits for each set
MOST_CAPABILITIES = 64


@dataclass(frozen=True, slots=True)
class User:
    """A user of the operating system by numbers."""

    user: int
    group: int


def user_named(name: str) -> User:
    """The user of a name, with the group that belongs to it."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise InvalidInput(f"unknown user {name!r}: the operating system has no such user; create it, or name another") from None
    if entry.pw_uid == 0:
        raise InvalidInput("a process of the server must not be given to root; name a user without rights")
    return User(entry.pw_uid, entry.pw_gid)


def no_new_privileges() -> None:
    """No program that is executed from here on gains rights; the other restrictions require it."""
    prctl(SET_NO_NEW_PRIVILEGES, 1)


def no_core_files() -> None:
    """The memory of this process reaches no file, and no other process of the same user can look into it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if LINUX:
        prctl(SET_DUMPABLE, 0)


def at_most(kind: int, wanted: int) -> None:
    """A limit that can only be lowered from here on."""
    _, hard = resource.getrlimit(kind)
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(OSError, ValueError):  # a system without such a limit
        resource.setrlimit(kind, (value, value))


def become(user: User) -> None:
    """The rest of this process, all of its threads, is another user's; there is no way back."""
    os.setgroups([])
    os.setresgid(user.group, user.group, user.group)
    os.setresuid(user.user, user.user, user.user)


def no_capabilities() -> None:
    """Root without the rights of root: what is left are the rights of the owner of its files. Called before there are threads."""
    if not LINUX or os.geteuid() != 0 or MACHINE not in CAPSET:
        return
    for capability in range(MOST_CAPABILITIES):
        with suppress(OSError):  # beyond the last one that the kernel knows
            prctl(DROP_FROM_BOUNDING, capability)
    head, sets = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    call(CAPSET[MACHINE], ctypes.cast(head, ctypes.c_void_p), ctypes.cast(sets, ctypes.c_void_p))
