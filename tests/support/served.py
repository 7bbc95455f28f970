"""The hospital behind a door, in this process: a desk with accounts of every role, and the front in front of it."""

from __future__ import annotations

import asyncio
import asyncio.constants
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hospital import files
from tacit.doors.server.calls import Call, Reply
from tacit.doors.server.desk import Desk, desk
from tacit.doors.server.gate import configured
from tacit.doors.server.pages.console import with_console
from tacit.doors.server.settings import Settings
from tacit.session import open as open_data

ROLES = {"ana": "analyst", "bob": "analyst", "cara": "curator", "otto": "auditor"}
COUNT = "SELECT COUNT(*) AS n FROM visits"
GIVEN: dict[str, dict[str, Any]] = {
    "ask": {"sql": "SELECT ward FROM wards"},
    "explain": {"sql": COUNT, "epsilon": "0.1"},
    "stream": {"sql": COUNT, "through": "2025-02", "horizon": 12, "epsilon": "0.1", "delta": "1e-9"},
    "explain_stream": {"sql": COUNT, "through": "2025-02", "horizon": 12, "epsilon": "0.1", "delta": "1e-9"},
    "answer": {"entry": 999},
    "add_account": {"name": "dan", "role": "auditor"},
    "add_token": {"name": "dan"},
    "revoke": {"name": "dan"},
    "set_caps": {"name": "ana"},
    "set_limits": {"seconds": 60},
    "resume": {"reason": "a test"},
}
BOB = "\n[analysts.bob]\nepsilon = 1\n"


class Served:
    """A desk, its tokens by name, and the folder of its catalog."""

    def __init__(self, place: Desk, folder: Path) -> None:
        self.desk, self.folder, self.office, self.data = place, folder, place.office, place.office.data
        self.tokens = {
            name: self.office.accounts.add(name, role, declared=self.data.catalog.analysts).token for name, role in ROLES.items()
        }

    def call(self, operation: str, by: str = "ana", key: str = "", **arguments: object) -> Reply:
        return self.desk.handle(Call(operation, self.tokens.get(by, by), arguments, key))


@cache
def _prepared() -> tempfile.TemporaryDirectory[str]:
    """The hospital, prepared once for all tests of a process."""
    folder = tempfile.TemporaryDirectory()
    catalog = files(Path(folder.name))
    catalog.write_text(catalog.read_text("utf-8") + BOB, "utf-8")
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    return folder


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """The prepared hospital with two analysts, a curator and an auditor: a copy of its own in an empty folder."""
    shutil.copytree(_prepared().name, folder, dirs_exist_ok=True)
    with open_data(folder / "tacit.toml", own_process=False) as data:
        place = desk(data)
        yield Served(place, folder)
        place.office.records.close()


class InProcess:
    """The clerk without its process: what the front holds, in a thread."""

    def __init__(self, place: Desk) -> None:
        self.desk = place

    async def ask(self, call: Call) -> Reply:
        return await asyncio.to_thread(self.desk.handle, call)


@contextmanager
def listening(place: Desk, certificate: tuple[Path, Path] | None = None, made: Any = None) -> Iterator[str]:
    """The URL of a real Uvicorn in a thread, in front of a desk; with TLS if there is a certificate and its key.

    `made` is the application, if it was made before.
    """
    files = {} if certificate is None else {"ssl_certfile": certificate[0], "ssl_keyfile": certificate[1]}
    line, handshake = socket.create_server(("127.0.0.1", 0)), asyncio.constants.SSL_HANDSHAKE_TIMEOUT
    named = {} if certificate is None else {"certificate": certificate[0], "key": certificate[1]}
    server = uvicorn.Server(configured(made or with_console(InProcess(place), Settings(**named)), **files))
    server.config.timeout_keep_alive = 600  # seconds: a busy machine may take its time between two requests
    thread = threading.Thread(target=server.run, args=([line],))
    thread.start()
    try:
        yield f"{'http' if certificate is None else 'https'}://localhost:{line.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        line.close()
        asyncio.constants.SSL_HANDSHAKE_TIMEOUT = handshake  # which this door has changed for its whole process


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files[1].write_bytes(key.private_bytes(*form))
    return files


def masked(value: Any, inside: bool = False) -> Any:
    """JSON without released digits, the random version of the data and moments; rows of private keys are themselves released.

    That a number is unknown is read off its released interval.
    """
    if isinstance(value, dict):
        return {
            name: "#" if name in ("data_version", "at") else masked(each, inside or name == "rows")
            for name, each in value.items()
            if not (inside and name == "unknown")
        }
    if isinstance(value, list):
        return [masked(each, inside) for each in value]
    return "#" if inside and isinstance(value, int | float) and not isinstance(value, bool) else value


def seen(reply: Reply, size: bool = True) -> tuple[Any, ...]:
    """All that a client sees of a reply, but for released digits."""
    if reply.media != "application/json":
        return reply.status, reply.media, reply.headers
    text = json.dumps(masked(json.loads(reply.body)), sort_keys=True)
    return reply.status, reply.media, reply.headers, text, len(text) if size else 0
