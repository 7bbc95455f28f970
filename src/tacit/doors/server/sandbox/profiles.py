"""The three kinds of process, as data: what each gives up. server.md says what each can and cannot do, and why that suffices."""

from __future__ import annotations

import os
import resource
import sys
import sysconfig
from dataclasses import dataclass, field, replace
from pathlib import Path

from tacit.doors.server.sandbox import syscalls
from tacit.doors.server.sandbox.kernel import KNOWN, Refused
from tacit.doors.server.sandbox.landlock import CHANGE, READ, WRITE, Reach, restrict
from tacit.doors.server.sandbox.limits import User, at_most, become, no_capabilities, no_core_files, no_new_privileges
from tacit.doors.server.sandbox.seccomp import install, program

COMMON = (
    syscalls.PROGRAMS, syscalls.PROCESSES, syscalls.SIGNALS, syscalls.OTHERS_MEMORY, syscalls.OTHERS_LIMITS, syscalls.KERNEL,
    syscalls.RIGHTS, syscalls.MODES,
)  # fmt: skip
SYSTEM = (
    "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/ssl/openssl.cnf", "/dev/urandom", "/proc/meminfo", "/proc/cpuinfo", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
)  # fmt: skip
OF_ENGINES = (Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))  # DuckDB ends the process where it may not read its limits there
NOWHERE = "/dev/null"
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Profile:
    """The calls and limits that one kind of process gives up, besides all files, ports and signals that are not in its reach."""

    name: str
    refused: tuple[tuple[str, ...], ...]  # families of system calls
    reads_only: bool = True
    descriptors: int = 256
    memory: int = 4 * GIB
    left_out: frozenset[str] = field(default=frozenset())  # for tests alone: restrictions that are not applied


FRONT = Profile("front", (*COMMON, syscalls.NETWORK, syscalls.CHANGES), descriptors=4096, memory=2 * GIB)
CLERK = Profile("clerk", (*COMMON, syscalls.NETWORK, syscalls.INCOMING), reads_only=False, descriptors=1024)
CLERK_WITH_NAMES = replace(CLERK, refused=(*COMMON, syscalls.INCOMING, ("bind",)))  # of several servers, which it looks up by name
CLERK_OF_A_DATABASE = replace(CLERK_WITH_NAMES, refused=(*CLERK_WITH_NAMES.refused, syscalls.TO_OTHERS))
ENGINE = Profile("engine", (*COMMON, syscalls.NETWORK, syscalls.INCOMING, syscalls.PAIRS, syscalls.CHANGES))
ENGINE_OF_A_CLUSTER = replace(
    ENGINE, refused=(*COMMON, syscalls.INCOMING, ("bind",), syscalls.PAIRS, syscalls.TO_OTHERS, syscalls.CHANGES)
)  # TCP alone, and by Landlock to one port
PROFILES = {profile.name: profile for profile in (FRONT, CLERK, ENGINE)}


def program_folders() -> list[Path]:
    """The folders of Python, of its packages and of tacit: public code, which is loaded when it is first needed."""
    places = sysconfig.get_paths()
    named = {places[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} | set(_packages())
    return [*map(Path, sorted(named)), Path(__file__).resolve().parents[3]]


def is_public(path: Path) -> bool:
    """Whether every process can read a path, because it lies with the programs or the system."""
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in (*program_folders(), *map(Path, SYSTEM)))


def _packages() -> list[str]:
    """Folders of packages on the path; never the current folder, which may be that of the data."""
    return [place for place in sys.path if Path(place).name in ("site-packages", "dist-packages", "lib-dynload")]


def reach_of(reads: tuple[Path, ...] = (), writes: tuple[Path, ...] = (), changes: tuple[Path, ...] = (), **more: object) -> Reach:
    """The programs, what every process reads of the system, and the paths that are named: to read, to write, to make files in."""
    public = [(path, READ) for path in (*program_folders(), *map(Path, SYSTEM))]
    own = [(path, rights) for paths, rights in ((reads, READ), (writes, WRITE), (changes, CHANGE)) for path in paths]
    return Reach((*public, (Path(NOWHERE), WRITE), *own), **more)  # type: ignore[arg-type]


def close_first(profile: Profile, reach: Reach, user: User | None = None) -> None:
    """Give up files, ports, signals, core files and rights: before anything is opened, and before there are threads."""
    left_out = profile.left_out
    at_most(resource.RLIMIT_NOFILE, profile.descriptors)
    at_most(resource.RLIMIT_DATA, profile.memory)
    if profile.reads_only and "file size" not in left_out:
        at_most(resource.RLIMIT_FSIZE, 0)
    os.umask(0o077)
    if "core files" not in left_out:
        no_core_files()
    if not KNOWN:
        return
    no_new_privileges()
    if user is None and "capabilities" not in left_out:
        no_capabilities()
    if "paths" not in left_out:
        if len(os.listdir("/proc/self/task")) > 1:
            raise RuntimeError("a thread that is already there would stay outside the sandbox")
        restrict(reach)


def close_last(profile: Profile, user: User | None = None) -> None:
    """Give up the rights of the user that started this, and system calls, by all threads: when everything is open."""
    if user is not None:
        become(user)
    if "core files" not in profile.left_out:
        no_core_files()  # a change of user resets it
    if KNOWN and "calls" not in profile.left_out:
        names = [name for family in profile.refused for name in family if name not in profile.left_out]
        install(program(names, profile.reads_only, threads="processes" not in profile.left_out))


def closed(profile: Profile, reach: Reach, user: User | None = None) -> bool:
    """Both at once, for a process that opens nothing in between; False where the kernel refuses."""
    try:
        close_first(profile, reach, user)
        close_last(profile, user)
    except Refused:
        return False
    return True
