"""Root starts the server, and gives each process to a user of its own, as docs/guides/server.md says: what each is, and reads."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import served
from serving import Server, serving
from tacit.doors.server.sandbox.kernel import KNOWN

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "server.md"
USERS = ("www-data", "daemon", "nobody")  # of front, clerk and engines
KINDS = ("front", "clerk", "engine")
FILES = (
    "patients.parquet",
    ".tacit/rank.key",
    ".tacit/store/store.duckdb",
    ".tacit/ledger.sqlite",
    ".tacit/server.sqlite",
    "server.key",
)
MAY = {"front": set(), "clerk": {"ledger.sqlite", "server.sqlite"}, "engine": set()}


def python_for_all() -> str | None:
    """A Python of this version that every user can start; the one of the tests may lie in root's own folder."""
    place = Path(sys.executable).resolve()
    others = Path(f"/usr/bin/python3.{sys.version_info.minor}")
    if all(folder.stat().st_mode & 0o5 == 0o5 for folder in place.parents):
        return sys.executable
    return str(others) if others.exists() else None


def missing() -> str:
    if os.geteuid() != 0 or not KNOWN:
        return "needs root on Linux"
    if not {pwd_entry.pw_name for pwd_entry in pwd.getpwall()} >= set(USERS):
        return f"needs the users {', '.join(USERS)}"
    return "" if python_for_all() else "needs a Python that every user can start (Debian: apt-get install python3)"


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="tacit-users-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with served(folder) as place:
            tokens = place.tokens
        (folder / "server.key").write_text("a key")
        given_away(folder)
        python = (*with_the_units_capabilities(), python_for_all() or "")
        with serving(folder, tokens, python=python, users=USERS) as running:
            yield running


def with_the_units_capabilities() -> tuple[str, ...]:
    """How to start root with the rights that the unit of the guide leaves it."""
    (line,) = re.findall(r"^CapabilityBoundingSet=(.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    names = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in line.split())
    return ("setpriv", "--bounding-set", f"-all,{names}") if shutil.which("setpriv") else ()


def given_away(folder: Path) -> None:
    """What the guide says to do before root serves."""
    for place in (folder / ".tacit", *(folder / ".tacit").rglob("*")):
        shutil.chown(place, USERS[1], pwd.getpwnam(USERS[1]).pw_gid)
    for place in (folder / ".tacit" / "store", *(folder / ".tacit" / "store").rglob("*"), folder / ".tacit" / "rank.key"):
        shutil.chown(place, 0, 0)
    folder.chmod(0o755)
    (folder / "tacit.toml").chmod(0o644)
    for file in (folder / "patients.parquet", folder / "visits.parquet", folder / "server.key"):
        file.chmod(0o600)


def status(process: int) -> dict[str, str]:
    return dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line)


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
    for kind, user in zip(KINDS, USERS, strict=True):
        entry = pwd.getpwnam(user)
        for process in server.parts()[kind]:
            known = status(process)
            assert set(known["Uid"].split()) == {str(entry.pw_uid)}, kind
            assert set(known["Gid"].split()) == {str(entry.pw_gid)}, kind
            assert known["Groups"].split() == [], kind
            assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == 0
            assert (known["NoNewPrivs"].strip(), known["Seccomp"].strip()) == ("1", "2")


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
    for file in (server.folder / ".tacit").rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, file.name
