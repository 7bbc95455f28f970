"""The front, the clerk and an engine as they are in service, each of which tries from inside what it must not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import inside_real
from served import served
from tacit.doors.server.certificate import self_signed
from tacit.doors.server.sandbox import landlock
from tacit.doors.server.sandbox.kernel import KNOWN

pytestmark = pytest.mark.skipif(not KNOWN or landlock.version() < landlock.SCOPES_ABI, reason="needs Landlock of ABI 6 and seccomp")

FILES = (
    "patients.parquet", ".tacit/rank.key", ".tacit/store/store.duckdb", ".tacit/ledger.sqlite", ".tacit/server.sqlite",
    ".tacit/heads/ledger.json", "tacit.toml", "server.pem", "server.key",
)  # fmt: skip
MAY = {
    "front": set(),
    "clerk": {f"{what} {name}" for what in ("read", "write") for name in ("ledger.sqlite", "server.sqlite", "ledger.json")}
    | {"read tacit.toml", "put the log aside"},
    "engine": {"read store.duckdb"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inside")
    with served(folder):
        pass
    self_signed(folder / "server.pem", folder / "server.key")
    return folder


@pytest.mark.parametrize("role", MAY)
def test_a_process_in_service_reaches_what_it_needs_and_nothing_else(role, place):
    files = [str(place / name) for name in FILES]
    assert all(Path(file).exists() for file in files)
    reads, writes = os.pipe()
    try:
        subprocess.run(
            [sys.executable, inside_real.__file__, role, str(place / "tacit.toml"), str(writes), *files],
            pass_fds=(writes,),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
            timeout=300,
            check=True,
        )
        said = json.loads(os.read(reads, 100_000))
    finally:
        os.close(reads)
        os.close(writes)
    assert {name for name, error in said.items() if not error} == MAY[role]
