"""Each kind of process tries from inside what it must not; and one restriction that is left out is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from tempfile import TemporaryDirectory

import pytest

import inside
from tacit.doors.server.sandbox import landlock, syscalls
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.doors.server.sandbox.profiles import PROFILES

pytestmark = pytest.mark.skipif(not KNOWN or landlock.version() < landlock.SCOPES_ABI, reason="needs Landlock of ABI 6 and seccomp")

ALLOWED = {
    "front": {"a pair of sockets", "listen", "accept", "a thread"},
    "clerk": {"a pair of sockets", "write to nowhere", "grow an open file", "a thread"},
    "engine": {"a thread"},
}
NAMES = (
    "NETWORK", "INCOMING", "PAIRS", "PROGRAMS", "PROCESSES", "SIGNALS", "OTHERS_MEMORY", "OTHERS_LIMITS", "KERNEL", "RIGHTS",
    "MODES", "CHANGES",
)  # fmt: skip
FAMILIES = {name: ",".join(getattr(syscalls, name)) for name in NAMES}
PLANTED = ["paths", "calls", "processes", "core files", "file size", *(["capabilities"] if os.geteuid() == 0 else []), *FAMILIES]


@cache
def outcomes(profile: str) -> dict[str, dict[str, str]]:
    """What is said to every attempt, with nothing and with one thing left out; each on a folder of its own."""
    left_out = ["", *PLANTED]
    with TemporaryDirectory() as folder:
        given = [FAMILIES.get(name, name) for name in left_out]
        run = subprocess.run(
            [sys.executable, inside.__file__, profile, folder, *given], capture_output=True, text=True, check=True, timeout=300
        )
    return {name: json.loads(line) for name, line in zip(left_out, run.stdout.splitlines(), strict=True)}


def applies(profile: str, left_out: str) -> bool:
    """Whether a profile has a restriction at all."""
    kind = PROFILES[profile]
    if left_out == "file size":
        return kind.reads_only
    return left_out not in FAMILIES or getattr(syscalls, left_out) in kind.refused


@pytest.mark.parametrize("profile", PROFILES)
def test_each_process_is_refused_what_it_must_not_do(profile):
    said = outcomes(profile)[""]
    succeeded = {name for name, error in said.items() if not error or error == "EAGAIN"}
    missing = set() if os.geteuid() == 0 else {"capabilities"}
    assert succeeded <= ALLOWED[profile] | missing
    assert ALLOWED[profile] <= succeeded


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("left_out", PLANTED)
def test_a_restriction_that_is_left_out_is_noticed(profile, left_out):
    if applies(profile, left_out):
        assert outcomes(profile)[left_out] != outcomes(profile)[""]
    else:
        assert outcomes(profile)[left_out] == outcomes(profile)[""]


def test_a_hidden_request_is_answered_as_by_an_old_kernel():
    assert {outcomes("engine")[""][name] for name in ("clone3", "a new call")} == {"ENOSYS"}
