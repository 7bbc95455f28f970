"""The filter as the kernel reads it, followed step by step for both machines; and its numbers are those of the system's headers."""

from __future__ import annotations

import errno
import os
import re
import struct
from pathlib import Path

import pytest

from tacit.doors.server.sandbox import seccomp
from tacit.doors.server.sandbox.kernel import Refused
from tacit.doors.server.sandbox.profiles import CLERK_OF_A_DATABASE, PROFILES
from tacit.doors.server.sandbox.syscalls import LAST, NUMBERS

HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define __NR_(\w+) (\d+)"),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"), r"#define __NR(?:3264)?_(\w+) (\d+)"),
}


def decided(program: bytes, machine: str, number: int, *arguments: int, architecture: int | None = None) -> str:
    """What the filter decides about a call: an error by name, "allow" or "kill"."""
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    words = {0: number, 4: seccomp.ARCHITECTURES[machine] if architecture is None else architecture}
    words |= {16 + 8 * place: value for place, value in enumerate((*arguments, 0, 0, 0, 0, 0, 0)[:6])}
    at = accumulator = 0
    while True:
        code, yes, no, constant = steps[at]
        at += 1
        match code:
            case seccomp.LOAD:
                accumulator = words[constant]
            case seccomp.EQUAL:
                at += yes if accumulator == constant else no
            case seccomp.GREATER:
                at += yes if accumulator > constant else no
            case seccomp.ANY_BIT:
                at += yes if accumulator & constant else no
            case seccomp.RETURN:
                said = {seccomp.ALLOW: "allow", seccomp.KILL: "kill"}
                return said.get(constant) or errno.errorcode[constant & 0xFFFF]
            case _:
                raise AssertionError(f"an instruction that the kernel would not take: {code:#x}")


def filter_of(profile: str, machine: str) -> bytes:
    kind = PROFILES[profile]
    return seccomp.program([name for family in kind.refused for name in family], kind.reads_only, machine=machine)


@pytest.mark.parametrize("machine", NUMBERS)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_filter_refuses_its_list_and_nothing_else(profile, machine):
    made, numbers = filter_of(profile, machine), NUMBERS[machine]
    refused = {name for family in PROFILES[profile].refused for name in family}
    ruled = {"clone", "clone3", "openat2", "open", "openat", "socketpair", "tgkill", *seccomp.OF_ITSELF, *seccomp.NEVER}
    for name, number in numbers.items():
        if name not in ruled:
            assert decided(made, machine, number) == ("EPERM" if name in refused else "allow"), name
    others = set(range(LAST + 1)) - set(numbers.values())
    assert {decided(made, machine, number) for number in others} == {"allow"}


@pytest.mark.parametrize("machine", NUMBERS)
def test_rules_on_arguments(machine):
    made, numbers = filter_of("engine", machine), NUMBERS[machine]
    assert decided(made, machine, numbers["clone"], 0x3D0F00) == "allow"  # a thread, as the C library makes it
    assert decided(made, machine, numbers["clone"], 17) == "EPERM"
    assert decided(made, machine, numbers["clone3"]) == decided(made, machine, numbers["openat2"]) == "ENOSYS"
    assert decided(made, machine, numbers["openat"], 0, 0, os.O_RDONLY | os.O_CLOEXEC) == "allow"
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC):
        assert decided(made, machine, numbers["openat"], 0, 0, flags) == "EPERM"
    assert decided(filter_of("clerk", machine), machine, numbers["openat"], 0, 0, os.O_RDWR) == "allow"


@pytest.mark.parametrize("machine", NUMBERS)
@pytest.mark.parametrize("profile", PROFILES)
def test_other_processes_are_not_reached_by_arguments(profile, machine):
    made, numbers = filter_of(profile, machine), NUMBERS[machine]
    assert decided(made, machine, numbers["tgkill"], os.getpid(), 1, 6) == "allow"
    assert decided(made, machine, numbers["tgkill"], os.getppid(), 1, 9) == "EPERM"
    for name in seccomp.OF_ITSELF:
        assert [decided(made, machine, numbers[name], whom) for whom in (0, os.getppid())] == ["allow", "EPERM"]
    for name, values in seccomp.NEVER.items():
        assert {decided(made, machine, numbers[name], 3, value) for value in values} == {"EPERM"}
        assert decided(made, machine, numbers[name], 3, 1) == "allow"
    streams, datagrams = (decided(made, machine, numbers["socketpair"], 1, kind | 0x80000) for kind in (1, 2))
    assert (streams, datagrams) == ("EPERM" if profile == "engine" else "allow", "EPERM")


MULTIPATH, SCTP, VSOCK, FAST_OPEN = 262, 132, 40, 0x20000000
CALLS = {  # of a clerk whose ledger is in PostgreSQL: the arguments, and whether they are allowed
    "a TCP socket": ("socket", (2, 1 | 0x80000 | 0x800, 6), True),
    "a TCP socket by default": ("socket", (10, 1, 0), True),
    "a Unix socket": ("socket", (1, 1, 0), True),
    "a datagram": ("socket", (2, 2, 0), False),
    "a raw socket": ("socket", (2, 3, 6), False),
    "multipath TCP": ("socket", (2, 1, MULTIPATH), False),
    "SCTP": ("socket", (2, 1, SCTP), False),
    "the host of a virtual machine": ("socket", (VSOCK, 1, 0), False),
    "sending": ("sendto", (3, 0, 1, 0x4000), True),
    "sending that connects": ("sendto", (3, 0, 1, FAST_OPEN), False),
    "a message": ("sendmsg", (3, 0, 0x4000), True),
    "a message that connects": ("sendmsg", (3, 0, FAST_OPEN), False),
    "messages that connect": ("sendmmsg", (3, 0, 1, FAST_OPEN), False),
}


@pytest.mark.parametrize("machine", NUMBERS)
def test_a_clerk_with_a_database_opens_tcp_alone(machine):
    """What Landlock's ports do not see; planted: each rule left out, which lets its own calls pass and no others."""
    refused = [name for family in CLERK_OF_A_DATABASE.refused for name in family]

    def allowed(names: list[str]) -> set[str]:
        made = seccomp.program(names, machine=machine)
        return {
            what for what, (name, given, _) in CALLS.items() if decided(made, machine, NUMBERS[machine][name], *given) == "allow"
        }

    right = {what for what, (_, _, may) in CALLS.items() if may}
    assert allowed(refused) == right
    for left_out, (call, _) in seccomp.BY_BITS.items():
        wrong = {what for what, (name, _, may) in CALLS.items() if name == call and not may}
        assert allowed([name for name in refused if name != left_out]) == right | wrong


def test_a_filter_that_does_not_bind_every_thread_is_an_error(monkeypatch):
    monkeypatch.setattr(seccomp, "call", lambda *_: 4711)  # the kernel names the thread that it could not bind
    with pytest.raises(Refused):
        seccomp.install(b"")


@pytest.mark.parametrize("machine", NUMBERS)
def test_another_numbering_is_not_a_way_around(machine):
    made = filter_of("engine", machine)
    assert decided(made, machine, 2**30 + NUMBERS[machine]["socket"]) == "ENOSYS"  # x32
    assert decided(made, machine, LAST + 1) == "ENOSYS"
    assert decided(made, machine, 41, architecture=0x40000003) == "kill"  # 32-bit calls


@pytest.mark.parametrize("machine", NUMBERS)
def test_numbers_are_those_of_the_headers(machine):
    file, pattern = HEADERS[machine]
    if not file.exists():
        pytest.skip("install the kernel's headers to compare with them (Debian: apt-get install linux-libc-dev)")
    known = {name: int(number) for name, number in re.findall(pattern, file.read_text())}
    assert len(known) > 200
    assert {name: number for name, number in NUMBERS[machine].items() if known.get(name, number) != number} == {}
