"""What holds on a machine is tried, and what does not hold is not believed."""

from __future__ import annotations

import os

import pytest

from tacit.doors.server.sandbox import check, landlock, seccomp
from tacit.doors.server.sandbox.check import CALLS, NO_NEW_PRIVILEGES, PATHS, PROTECTIONS, USERS, suffices
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.doors.server.sandbox.limits import user_named
from tacit.errors import InvalidInput


@pytest.mark.skipif(not KNOWN or landlock.version() < landlock.SCOPES_ABI, reason="needs Landlock of ABI 6 and seccomp")
def test_all_of_it_holds_here():
    held = check.protections()
    assert list(held) == list(PROTECTIONS)
    assert {name for name, holds in held.items() if not holds} <= (set() if os.geteuid() == 0 else {USERS})


PLANTED = {
    CALLS: (seccomp, "install"),
    PATHS: (landlock, "restrict"),
    "ports": (landlock, "restrict"),
    "signals": (landlock, "restrict"),
    "abstract sockets": (landlock, "restrict"),
    NO_NEW_PRIVILEGES: (check.limits, "no_new_privileges"),
    "core files": (check.limits, "no_core_files"),
    "memory": (check.limits, "at_most"),
}


@pytest.mark.skipif(not KNOWN, reason="needs Linux")
@pytest.mark.parametrize("name", PLANTED)
def test_a_protection_that_does_nothing_does_not_hold(name, monkeypatch):
    module, function = PLANTED[name]
    monkeypatch.setattr(module, function, lambda *_: 7)  # it says that all is well
    monkeypatch.setattr(os, "execv", lambda *_: None)
    if name == CALLS:
        monkeypatch.setattr(os, "fork", _forked_once(os.fork))
    assert not check._holds(PROTECTIONS[name].attempt)


def _forked_once(fork):
    """The fork of the check itself; the attempt inside then finds that nothing refuses it."""
    calls = []

    def forked() -> int:
        calls.append(1)
        return fork() if len(calls) == 1 else 0

    return forked


def test_the_least_for_more_than_loopback():
    everything = dict.fromkeys(PROTECTIONS, True)
    assert suffices(everything, own_users=False)
    assert suffices(everything | {PATHS: False}, own_users=True)
    assert not suffices(everything | {PATHS: False}, own_users=False)
    assert not suffices(everything | {PATHS: False, USERS: False}, own_users=True)
    for name in (CALLS, NO_NEW_PRIVILEGES):
        assert not suffices(everything | {name: False}, own_users=True)


def test_users_are_those_of_the_system_and_never_root():
    with pytest.raises(InvalidInput, match="unknown user"):
        user_named("no such user")
    with pytest.raises(InvalidInput, match="must not be given to root"):
        user_named("root")
