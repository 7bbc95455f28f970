"""What tests need is installed once, by one process, within a bound; where that fails the tests say what to do."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import services


@pytest.fixture
def root(monkeypatch, tmp_path):
    """Somebody who may install, with nothing installed."""
    monkeypatch.setattr(services.os, "geteuid", lambda: 0)
    monkeypatch.setattr(services.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(services.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_nobody_finds_what_is_half_installed(root, monkeypatch):
    """One process installs, and the program is there before the install is done; another one looks in the meantime."""
    program, half, done = root / "program", threading.Event(), threading.Event()

    def install(words, **_):
        program.touch()
        half.set()
        looked.wait(0.3)  # what looks now waits for its turn, and does not set it
        done.set()
        return subprocess.CompletedProcess(words, 0, "", "")

    def find():
        if half.is_set():
            looked.set()
        return program if program.exists() else None

    looked = threading.Event()
    monkeypatch.setattr(services.subprocess, "run", install)
    with ThreadPoolExecutor(2) as workers:
        first = workers.submit(services._found_or_installed, find, "something")
        assert half.wait(60)
        second = workers.submit(lambda: (services._found_or_installed(find, "something"), done.is_set()))
        assert first.result() == program
        assert second.result() == (program, True)


def refused(words, **_):
    return subprocess.CompletedProcess(words, 100, "", "E: reading\nE: Unable to locate package something\n")


def endless(words, timeout, **_):
    raise subprocess.TimeoutExpired(words, timeout)


@pytest.mark.parametrize(("run", "said"), [(refused, "Unable to locate package something"), (endless, "more than 300 seconds")])
def test_an_install_that_fails_is_a_reason_to_skip(run, said, root, monkeypatch):
    monkeypatch.setattr(services.subprocess, "run", run)
    with pytest.raises(services.Missing, match=said) as missing:
        services._found_or_installed(lambda: None, "something")
    assert "apt-get install -y -qq --no-install-recommends" in str(missing.value)
    assert "run it yourself, and the tests again" in str(missing.value)


def test_whoever_may_not_install_only_looks(root, monkeypatch):
    monkeypatch.setattr(services.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(services.subprocess, "run", None)
    assert services._found_or_installed(lambda: None, "something") is None


def test_a_program_that_does_not_start_is_not_there(tmp_path, monkeypatch):
    for name, ends in (("broken", 1), ("whole", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {ends}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(services, "CHROMIUM", ("broken", "whole"))
    assert services._found_chromium() == Path(tmp_path, "whole")
