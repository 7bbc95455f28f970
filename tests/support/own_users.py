"""Root starts the server as docs/guides/server.md says, and gives each process to a user of its own: how, and whose they are."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import sys
from pathlib import Path

from serving import Server
from tacit.doors.server.sandbox.kernel import KNOWN

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "server.md"
USERS = ("www-data", "daemon", "nobody")  # of front, clerk and engines
KINDS = ("front", "clerk", "engine")


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


def with_the_units_capabilities() -> tuple[str, ...]:
    """How to start root with the rights that the unit of the guide leaves it."""
    (line,) = re.findall(r"^CapabilityBoundingSet=(.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    names = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in line.split())
    return ("setpriv", "--bounding-set", f"-all,{names}") if shutil.which("setpriv") else ()


def given_away(folder: Path) -> None:
    """What the guide says to do before root serves; the server also has a key."""
    (folder / "server.key").write_text("a key")
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


def assert_each_is_its_user(server: Server) -> None:
    """Every process is its own user in every form, has no capability, and has a filter of system calls."""
    for kind, user in zip(KINDS, USERS, strict=True):
        entry = pwd.getpwnam(user)
        for process in server.parts()[kind]:
            known = status(process)
            assert set(known["Uid"].split()) == {str(entry.pw_uid)}, kind
            assert set(known["Gid"].split()) == {str(entry.pw_gid)}, kind
            assert known["Groups"].split() == [], kind
            assert int(known["CapEff"], 16) == int(known["CapPrm"], 16) == 0
            assert (known["NoNewPrivs"].strip(), known["Seccomp"].strip()) == ("1", "2")
