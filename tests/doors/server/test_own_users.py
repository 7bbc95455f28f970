"""Root starts the server, and gives each process to a user of its own, as docs/guides/server.md says: what each is, and reads."""

from __future__ import annotations

import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from own_users import KINDS, USERS, assert_each_is_its_user, given_away, missing, python_for_all, with_the_units_capabilities
from served import served
from serving import Server, serving

FILES = (
    "patients.parquet",
    ".tacit/rank.key",
    ".tacit/store/store.duckdb",
    ".tacit/ledger.sqlite",
    ".tacit/server.sqlite",
    "server.key",
)
MAY = {"front": set(), "clerk": {"ledger.sqlite", "server.sqlite"}, "engine": set()}


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="tacit-users-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with served(folder) as place:
            tokens = place.tokens
        given_away(folder)
        python = (*with_the_units_capabilities(), python_for_all() or "")
        with serving(folder, tokens, python=python, users=USERS) as running:
            yield running


def read_by(user: str, folder: Path) -> set[str]:
    """The names of the files that a user can read, without any sandbox."""
    entry = pwd.getpwnam(user)
    found = set()
    for name in FILES:
        words = ["/bin/cat", str(folder / name)]
        done = subprocess.run(words, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, check=False)
        found |= set() if done.returncode else {Path(name).name}
    return found


def test_each_process_is_a_user_of_its_own_and_has_no_way_back(server):
    assert server.ask("SELECT COUNT(*) AS n FROM visits WHERE cost < 77")[0] == 200
    assert_each_is_its_user(server)


@pytest.mark.slow  # three processes start again
def test_after_a_kill_it_is_the_same_users_and_the_same_ledger(server):
    first = server.ask("SELECT COUNT(*) AS n FROM visits WHERE cost < 78", key="k")
    for kind in KINDS:
        server.kill(kind)
        server.wait_until_ready()
    assert server.ask("SELECT COUNT(*) AS n FROM visits WHERE cost < 78", key="k") == first
    test_each_process_is_a_user_of_its_own_and_has_no_way_back(server)


def test_files_are_not_readable_across_users_even_without_the_sandbox(server):
    assert {kind: read_by(user, server.folder) for kind, user in zip(KINDS, USERS, strict=True)} == MAY


def test_a_store_that_was_left_to_the_clerk_is_noticed(server):
    """Planted: the step of the guide that gives the store back to root was left out."""
    store = server.folder / ".tacit" / "store"
    shutil.chown(store, USERS[1])
    shutil.chown(store / "store.duckdb", USERS[1])
    try:
        assert read_by(USERS[1], server.folder) == MAY["clerk"] | {"store.duckdb"}
    finally:
        shutil.chown(store, 0)
        shutil.chown(store / "store.duckdb", 0)


def test_what_one_process_wrote_is_its_owners_alone(server):
    modes = dict[str, int]()
    for file in (server.folder / ".tacit").rglob("*"):
        with suppress(FileNotFoundError):  # one that stood in for another, and has taken its place
            modes[file.name] = file.stat().st_mode & 0o077
    assert modes == dict.fromkeys(modes, 0)
    assert {"ledger.sqlite", "server.sqlite"} <= set(modes)
