"""A ledger in PostgreSQL behind the server: the clerk reaches that port, and nothing else of the network."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import inside_real
from hospital import files
from served import BOB, ROLES
from services import fresh_database
from serving import Server, serving
from tacit.doors.server.desk import desk
from tacit.doors.server.sandbox import database, landlock
from tacit.doors.server.sandbox.database import places_of, settled
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.session import open as open_data

needs_kernel = pytest.mark.skipif(
    not KNOWN or landlock.version() < landlock.SCOPES_ABI, reason="needs Landlock of ABI 6 and seccomp"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> tuple[Path, dict[str, str], int]:
    """The hospital with its ledger in PostgreSQL, under a name: its folder, its tokens and the port."""
    folder = tmp_path_factory.mktemp("postgres")
    url = fresh_database(postgres_url)
    catalog = files(folder)
    named = url.replace("127.0.0.1", "localhost")
    catalog.write_text(f'{catalog.read_text("utf-8")}{BOB}\n[ledger]\nurl = "{named}"\n', "utf-8")
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        office = desk(data).office
        tokens = {name: office.accounts.add(name, role, declared=data.catalog.analysts).token for name, role in ROLES.items()}
        office.records.close()
    return folder, tokens, urlsplit(url).port or 0


@pytest.fixture(scope="module")
def server(place: tuple[Path, dict[str, str], int]) -> Iterator[Server]:
    with serving(place[0], place[1]) as running:
        yield running


@needs_kernel
def test_questions_are_paid_for_in_postgres_from_inside_the_sandbox(server):
    question = "SELECT COUNT(*) AS n FROM visits WHERE cost < 1000"
    status, told = server.ask(question, key="a")
    assert (status, told["price"]["epsilon"]) == (200, "0.01")
    assert server.ask(question, key="a") == (200, told)
    assert [entry["entry"] for entry in json.loads(server.request("GET", "/v1/history", "ana")[2])["entries"]] == [told["entry"]]
    assert not list((server.folder / ".tacit").glob("ledger.sqlite*"))


@needs_kernel
@pytest.mark.slow  # clerk and engine start again
def test_a_clerk_that_is_killed_finds_its_ledger_again(server):
    question = "SELECT COUNT(*) AS n FROM visits WHERE cost < 1001"
    first = server.ask(question, key="b")
    server.kill("clerk")
    server.wait_until_ready()
    assert server.ask(question, key="b") == first


def tried(place: tuple[Path, dict[str, str], int], left_out: str = "") -> dict[str, str]:
    """What the system said to each attempt of a clerk whose ledger is in PostgreSQL."""
    folder, _, port = place
    reads, writes = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as other:
        more = {"TACIT_LEDGER_PORT": str(port), "TACIT_OTHER_PORT": str(other.getsockname()[1]), "TACIT_LEFT_OUT": left_out}
        more |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
        words = [
            sys.executable,
            inside_real.__file__,
            "clerk",
            str(folder / "tacit.toml"),
            str(writes),
            str(folder / "visits.parquet"),
        ]
        try:
            subprocess.run(words, pass_fds=(writes,), env=os.environ | more, timeout=300, check=True)
            return dict(json.loads(os.read(reads, 100_000)))
        finally:
            os.close(reads)
            os.close(writes)


@needs_kernel
def test_the_clerk_reaches_the_ledger_and_nothing_else(place):
    said = tried(place)
    assert {name for name, error in said.items() if not error} == {
        "read tacit.toml", "open a socket", "connect to the ledger", "put the log aside",
    } & set(said)  # fmt: skip
    assert said["connect elsewhere"] == "EACCES", "by Landlock"
    assert {said[name] for name in ("a datagram", "another family", "another protocol", "connect by sending")} == {"EPERM"}


@needs_kernel
@pytest.mark.slow  # test_seccomp.py has the same without a process
def test_rules_on_sockets_that_are_left_out_are_noticed(place):
    """Planted: the filter lets other sockets and TCP Fast Open pass. Landlock, which is still there, sees neither."""
    said = tried(place, "socket of another kind;sendto that connects")
    assert (said["a datagram"], said["connect by sending"], said["connect elsewhere"]) == ("", "", "EACCES")


# --- where it is -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "environment", "places"),
    [
        ("postgresql://u:p@db.example:6000/x", {}, [("db.example", 6000)]),
        ("postgresql://db.example/x?port=7000", {}, [("db.example", 7000)]),
        ("postgresql://db.example/x", {"PGPORT": "8000"}, [("db.example", 8000)]),
        ("postgresql:///x", {"PGHOST": "a,b", "PGPORT": "1,2"}, [("a", 1), ("b", 2)]),
        ("postgresql:///x?host=/run/postgresql", {}, [("/run/postgresql", 5432)]),
        ("postgresql://[::1]:6001/x", {}, [("::1", 6001)]),
        ("postgresql://a:b:c/", {}, []),
    ],
)
def test_hosts_and_ports_are_those_that_libpq_would_take(address, environment, places):
    assert places_of(address, environment) == places


def test_a_name_is_looked_up_once_and_before_the_sandbox_closes(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port, known = listening.getsockname()[1], dict[str, str]()
        assert settled(f"postgresql://localhost:{port}/x", known)
        assert known == {database.ADDRESS: "127.0.0.1"}
        assert settled(f"postgresql://192.0.2.1:{port}/x", empty := {})
        assert empty == {}, "an address needs no look-up"
    assert not settled("postgresql:///x?host=a.invalid,b.invalid", {}), "several names are looked up again each time"
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    assert not settled("postgresql://a.invalid/x", {})
