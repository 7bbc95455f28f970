"""Servers that tests talk to, started on the loopback for as long as they are needed."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

INSTALL = "install PostgreSQL (Debian: apt-get install postgresql) and run the tests again"
INSTALL_CHROMIUM = "install Chromium (Debian: apt-get install chromium) and run the tests again"
INSTALL_JAVA = "install Java 17 or newer (Debian: apt-get install default-jre-headless) and run the tests again"
INSTALL_NGINX = "install nginx (Debian: apt-get install nginx-light) and run the tests again"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET_BROWSER = (  # root has no sandbox; nothing of the browser's own goes to the network
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
INSTALL_SECONDS = 300  # less than a test may take
PATIENCE = 300_000  # milliseconds for one step in a browser, on a machine that does other things too
PORTS = range(20_000, 32_000)  # below those that the kernel gives to whoever asks for any
MEMORY, ROOM = Path("/dev/shm"), 2 * 2**30  # noqa: S108  # the bytes that all databases of a run need, and as many again
ACCOUNTS = ("postgres", "nobody")  # the server refuses to run as root


class Missing(Exception):
    """A server that is not installed here; says what to install."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a new PostgreSQL server with an empty database, gone at the end. It listens on 127.0.0.1 alone."""
    programs = _postgres_programs()
    folder = Path(tempfile.mkdtemp(prefix="tacit-postgres-", dir=_quick_folder()))
    if os.geteuid() == 0:
        shutil.chown(folder, _account().pw_uid)
    data = folder / "data"
    try:
        _run(programs / "initdb", "-D", data, "-U", "tacit", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        port = _free_port()
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="  # with fsync on, as the ledger asks
        _run(programs / "pg_ctl", "-D", data, "-l", folder / "log", "-o", settings, "-t", "300", "-w", "start")
        try:
            yield f"postgresql://tacit@127.0.0.1:{port}/postgres"
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-t", "300", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def _quick_folder() -> Path | None:
    """Memory where there is plenty: dozens of databases are made and removed, and no test here cuts off the power."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM else None


def fresh_database(server: str) -> str:
    """The URL of a new database on a PostgreSQL server."""
    import psycopg

    name = f"tests_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.rsplit("/", 1)[0] + f"/{name}"


@contextmanager
def chromium_server() -> Iterator[str]:
    """The address of a headless Chromium that Playwright connects to, closed at the end. It listens on 127.0.0.1 alone."""
    program = _found_or_installed(_found_chromium, "chromium")
    if program is None:
        raise Missing(INSTALL_CHROMIUM)
    try:
        from playwright._impl._driver import compute_driver_executable, get_driver_env
    except ImportError:
        raise Missing("install Playwright (pip install playwright) and run the tests again") from None
    with tempfile.TemporaryDirectory(prefix="tacit-chromium-") as folder:
        config = Path(folder, "launch.json")
        config.write_text(json.dumps({"executablePath": str(program), "args": QUIET_BROWSER, "host": "127.0.0.1"}))
        run = [*compute_driver_executable(), "launch-server", "--browser", "chromium", "--config", config]
        environment = {**get_driver_env(), "TMPDIR": folder}  # so that its profile is removed with it
        with subprocess.Popen(run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().strip()
                assert address.startswith("ws://127.0.0.1:"), "Chromium does not start"
                yield address
            finally:
                server.terminate()  # it closes the browser


@contextmanager
def chromium_browser(address: str) -> Iterator[Any]:
    """The browser at an address, for Playwright; what is opened in it here is closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.connect(address, timeout=PATIENCE)
        opened = browser.new_context

        def patient(**given: Any) -> Any:
            context = opened(**given)
            context.set_default_timeout(PATIENCE)
            return context

        browser.new_context = patient
        try:
            yield browser
        finally:
            browser.close()


NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/log;
events {{ worker_connections 256; }}
http {{
  access_log off; ignore_invalid_headers off; underscores_in_headers on; large_client_header_buffers 4 64k;
  keepalive_timeout 0; client_header_timeout 2s; client_body_timeout 2s;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d;
  scgi_temp_path {folder}/e;
  upstream tacit {{ server 127.0.0.1:{behind}; keepalive 1; }}
  server {{
    listen 127.0.0.1:{port};
    proxy_pass_header Server; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost;
    location / {{ proxy_pass http://tacit; }}
    location /streamed/ {{ proxy_request_buffering off; proxy_pass http://tacit/; }}
  }}
}}
"""


@contextmanager
def nginx_server(behind: int) -> Iterator[int]:
    """The port of an nginx in front of a port, which keeps one connection to it for all clients; on 127.0.0.1 alone."""
    program = _found_or_installed(_found_nginx, "nginx-light")
    if program is None:
        raise Missing(INSTALL_NGINX)
    with tempfile.TemporaryDirectory(prefix="tacit-nginx-") as folder:
        port, config = _free_port(), Path(folder, "nginx.conf")
        config.write_text(NGINX.format(folder=folder, port=port, behind=behind))
        with subprocess.Popen(
            [program, "-p", folder, "-e", Path(folder, "log"), "-c", config], stderr=subprocess.DEVNULL
        ) as server:
            try:
                while server.poll() is None:
                    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                        break
                    time.sleep(0.02)
                assert server.poll() is None, Path(folder, "log").read_text()
                yield port
            finally:
                server.terminate()


def _found_nginx() -> Path | None:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(found) if found and _runs(found, "-v") else None


def java_program() -> Path:
    """The Java that Spark runs on."""
    found = _found_or_installed(_found_java, "default-jre-headless")
    if found is None:
        raise Missing(INSTALL_JAVA)
    return found


def _found_java() -> Path | None:
    named = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else None
    found = named if named is not None and named.exists() else shutil.which("java")
    return Path(found) if found and _runs(str(found)) else None


def _found_chromium() -> Path | None:
    return next((Path(found) for name in CHROMIUM if (found := shutil.which(name)) and _runs(found)), None)


def _runs(program: str, version: str = "--version") -> bool:
    """Whether it starts at all: an install that was broken off leaves programs that do not."""
    return subprocess.run([program, version], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def _postgres_programs() -> Path:
    found = _found_or_installed(_found_programs, "postgresql")
    if found is None:
        raise Missing(INSTALL)
    return found


def _found_or_installed(find: Callable[[], Path | None], package: str) -> Path | None:
    """What `find` finds, after installing Debian's package where that is possible.

    One process looks at a time: while another one installs, half of a program is there already.
    """
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return find()
    with Path(tempfile.gettempdir(), "tacit-install.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find() or _installed(find, package)


def _installed(find: Callable[[], Path | None], package: str) -> Path | None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    words = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=60", package]
    try:
        done = subprocess.run(
            words, env=quiet, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False, timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"{' '.join(words)} took more than {INSTALL_SECONDS} seconds; run it yourself, and the tests again") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or "it says nothing").splitlines()[-1]
        raise Missing(f"{' '.join(words)} failed ({last}); run it yourself, and the tests again")
    return find()


def _found_programs() -> Path | None:
    """The newest version in Debian's place, or what is on the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    initdb = versions[-1] if versions else Path(on_path).resolve() if on_path else None
    return None if initdb is None else initdb.parent


def _run(program: Path, *arguments: object) -> None:
    account = _account() if os.geteuid() == 0 else None
    who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    done = subprocess.run(
        [program, *map(str, arguments)], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **who
    )
    assert done.returncode == 0, done.stderr


def _account() -> pwd.struct_passwd:
    known = {account.pw_name: account for account in pwd.getpwall()}
    return next(known[name] for name in ACCOUNTS if name in known)


def on_loopback(address: str) -> bool:
    """Whether a server can listen on this address of the loopback."""
    try:
        socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    """A port that nobody uses, and that no connection gets by chance before the server that it is for."""
    while True:
        port = PORTS[secrets.randbelow(len(PORTS))]
        with suppress(OSError), socket.socket() as chosen:
            chosen.bind(("127.0.0.1", port))
            return port
