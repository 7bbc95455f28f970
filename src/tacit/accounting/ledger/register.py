"""The register of ledgers: which ledgers this user of the operating system has begun, and over which sources (register.md).

A second catalog over the same file, a copied folder and a removed `.tacit` would each get the whole budget again. The register,
one file in the user's state folder, holds for each ledger the keyed marks of its sources, so that a new ledger over them is seen.

    register = open_register(os.environ, fresh_key)
    register.sharing(marks)       the ledgers that were begun over a source with one of these marks
    register.copies(ledger, at)   where else the same ledger lies
    register.record(...)          a ledger with its sources; marks are only ever added

A mark is an HMAC under the register's key: without the key, the register confirms no guess of the data.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from tacit.accounting.ledger.entries import canonical_json
from tacit.accounting.ledger.group_commit import turn_of
from tacit.errors import InvalidInput, RegisterUnavailable, StoreUnusable
from tacit.files import replace_file

FORMAT = 1
FILE, LOCK = "ledgers.json", "ledgers.lock"
KEY_BYTES = 32
MOST_MARKS = (
    100_000  # of one ledger; beyond it those that were not seen for longest go, so that the file stays below 10 MB for each
)


@dataclass(frozen=True, slots=True)
class Registered:
    """One ledger: its identity, where it lies, its data set and catalog, the marks of its sources, and when it was registered.

    `place` is empty where another ledger has since taken its place. `marks` are in the order in which they were last new.
    """

    ledger: str
    place: str
    name: str
    catalog: str
    marks: tuple[str, ...]
    at: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of the register's file: its key, and the ledgers."""

    key: bytes
    ledgers: tuple[Registered, ...] = ()


def state_folder(environment: Mapping[str, str]) -> Path | None:
    """Where the register lies: $XDG_STATE_HOME/tacit, else ~/.local/state/tacit; None where neither is an absolute path.

    >>> state_folder({"HOME": "/home/ana"}).as_posix(), state_folder({})
    ('/home/ana/.local/state/tacit', None)
    """
    state, home = environment.get("XDG_STATE_HOME", ""), environment.get("HOME", "")
    if os.path.isabs(state):  # a relative one is to be ignored, by the XDG specification
        return Path(state) / "tacit"
    return Path(home) / ".local" / "state" / "tacit" if os.path.isabs(home) else None


def open_register(environment: Mapping[str, str], fresh_key: Callable[[], bytes]) -> Register:
    """The register of this user, with a new key if it has none; raises RegisterUnavailable if it cannot be stored."""
    folder = state_folder(environment)
    if folder is None:
        raise RegisterUnavailable(
            "no folder for the register of ledgers: neither XDG_STATE_HOME nor HOME is an absolute path", remedy="set one of them"
        )
    return Register(folder, fresh_key)


def mark_of(key: bytes, *parts: bytes) -> str:
    """The mark of something that the parts describe: HMAC-SHA256 under the register's key, of the parts with their lengths.

    >>> mark_of(bytes(32), b"ab", b"c") == mark_of(bytes(32), b"a", b"bc")
    False
    """
    return hmac.digest(key, b"".join(len(part).to_bytes(8, "big") + part for part in parts), "sha256").hex()


class Register:
    """The register in a folder. Many processes may hold one; `key` is drawn once, by `fresh_key`, when no key exists."""

    def __init__(self, folder: Path, fresh_key: Callable[[], bytes]) -> None:
        self._folder = folder
        with _in_words_of_register(folder, "opened"):
            _make_private(folder)
            content = self._read()
            if content is None:
                with turn_of(folder / LOCK):
                    content = self._read() or self._write(Content(_require_key_length(fresh_key())))
        self.key = content.key

    def sharing(self, marks: Iterable[str], besides: str = "") -> tuple[Registered, ...]:
        """The ledgers, oldest first, that have one of the marks; the one with the identity `besides` is left out."""
        wanted = set(marks)
        ledgers = [one for one in self._current().ledgers if one.ledger != besides and not wanted.isdisjoint(one.marks)]
        return tuple(sorted(ledgers, key=lambda one: (one.at, one.ledger)))

    def copies(self, ledger: str, place: str) -> tuple[Registered, ...]:
        """The same ledger at other places that are still there: each copy would admit the whole budget.

        A file that is gone was moved. Whether a server is still there is not known here, so that one counts until `moved`.
        """
        elsewhere = [one for one in self._current().ledgers if one.ledger == ledger and one.place not in ("", place)]
        return tuple(one for one in elsewhere if not _is_gone(one.place))

    def record(self, new: Registered) -> None:
        """Register a ledger at its place, or add marks to it; on return it is on the disk.

        Another ledger that lay at the place keeps its marks, since what it spent was spent. One that was moved here takes its old
        marks along.
        """
        with self._content_in_turn() as before:
            after = _with(before, new)
            if after != before:
                self._write(after)

    def moved(self, ledger: str, place: str) -> None:
        """The curator's word that a ledger lies at a place no more; its marks stay."""
        with self._content_in_turn() as before:
            self._write(replace(before, ledgers=tuple(_gone_from(one, ledger, place) for one in before.ledgers)))

    @contextmanager
    def _content_in_turn(self) -> Iterator[Content]:
        """The content of the register, in this process's turn to change it."""
        with _in_words_of_register(self._folder, "written"), turn_of(self._folder / LOCK):
            yield self._current()

    def _current(self) -> Content:
        with _in_words_of_register(self._folder, "read"):
            content = self._read() or Content(self.key)
        if content.key != self.key:
            raise StoreUnusable("the register of ledgers was replaced while it was in use", remedy="run the command again")
        return content

    def _read(self) -> Content | None:
        file = self._folder / FILE
        try:
            text = file.read_text("ascii")
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
            return _content(text)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise StoreUnusable(
                f"the register of ledgers is damaged: {file}",
                remedy="restore it from a backup; or delete it, and tacit no longer recognizes the sources of earlier ledgers",
            ) from None

    def _write(self, content: Content) -> Content:
        replace_file(self._folder / FILE, _text(content))
        return content


def _with(before: Content, new: Registered) -> Content:
    """The content after a ledger with its marks was seen at a place."""
    own, others = list[Registered](), list[Registered]()
    for each in before.ledgers:
        same = each.ledger == new.ledger and (each.place in ("", new.place) or _is_gone(each.place))
        (own if same else others).append(each)
    old, now = dict.fromkeys(mark for each in own for mark in each.marks), set(new.marks)
    kept = list(old) if now <= old.keys() else [*(mark for mark in old if mark not in now), *sorted(now)]
    at = min((each.at for each in own), default=datetime.now(UTC).isoformat(timespec="seconds"))
    one = replace(new, marks=tuple(kept[-MOST_MARKS:]), at=at)
    left = tuple(each if each.place != new.place or each.ledger == new.ledger else replace(each, place="") for each in others)
    return replace(before, ledgers=(*left, one)) if own != [one] or left != tuple(others) else before


def _gone_from(registered: Registered, ledger: str, place: str) -> Registered:
    return replace(registered, place="") if (registered.ledger, registered.place) == (ledger, place) else registered


def _is_gone(place: str) -> bool:
    """Whether a file certainly does not exist; False for a server and for a folder without permission, where it is unknown."""
    if not os.path.isabs(place):
        return False
    try:
        os.stat(place)
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR)
    return False


def _text(content: Content) -> str:
    document = {"format": FORMAT, "key": content.key.hex(), "ledgers": [asdict(one) for one in content.ledgers]}
    return canonical_json({**document, "seal": _seal(content.key, document)})


def _content(text: str) -> Content:
    """The content that `_text` wrote; raises if the text differs by a single character."""
    document = json.loads(text)
    if document["format"] != FORMAT:
        raise StoreUnusable("the register of ledgers was written by another version of tacit", remedy="update tacit")
    key = _require_key_length(bytes.fromhex(document["key"]))
    if not hmac.compare_digest(document.pop("seal"), _seal(key, document)):
        raise ValueError("the seal is broken")
    return Content(key, tuple(Registered(**{**one, "marks": tuple(one["marks"])}) for one in document["ledgers"]))


def _seal(key: bytes, document: Mapping[str, Any]) -> str:
    return mark_of(key, b"register", canonical_json(document).encode())


def _require_key_length(key: bytes) -> bytes:
    if len(key) != KEY_BYTES:
        raise InvalidInput(f"the key of the register must have {KEY_BYTES} bytes, not {len(key)}")
    return key


def _make_private(folder: Path) -> None:
    """Makes sure that the folder exists, belongs to this user and is closed to all others."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "the folder belongs to another user")
    if status.st_mode & 0o077:
        folder.chmod(0o700)


@contextmanager
def _in_words_of_register(folder: Path, what: str) -> Iterator[None]:
    """Turns an error of the file system into one that says what to do."""
    try:
        yield
    except OSError as error:
        raise RegisterUnavailable(
            f"the register of ledgers cannot be {what}: {error.strerror or type(error).__name__} ({folder})",
            remedy="make sure that you own the folder and can write to it, or set XDG_STATE_HOME to another",
        ) from None


# --- where a ledger lies, without user and password --------------------------------------------------------------------------


URL = re.compile(r"\w+(?:\+\w+)?://(?:(?P<user>[^@/]*)@)?(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?", re.DOTALL)
WORDS = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)")
HOST = re.compile(r"(?:\[(?P<inside>[^\]]*)\]|(?P<plain>[^:]*))(?::(?P<port>.*))?", re.DOTALL)
FROM_ENVIRONMENT = {"host": "PGHOST", "port": "PGPORT", "dbname": "PGDATABASE", "user": "PGUSER"}
LOCAL = {"", "localhost", "127.0.0.1", "::1"}
PORT = "5432"


def ledger_place(address: str, environment: Mapping[str, str]) -> str:
    """The place of a ledger: the resolved path of its file, or its first server with port and database.

    >>> ledger_place("postgresql://tacit:secret@DB/ledger", {})
    'postgresql://db:5432/ledger'
    """
    if address.startswith("sqlite:///") or "://" not in address:
        return str(Path(address.removeprefix("sqlite:///")).resolve())
    return server_places(address, environment)[0]


def server_places(address: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The PostgreSQL servers that a URL (or `host=... dbname=...`) names, each with its port and the database.

    The rules are those of PostgreSQL's own clients: what is left out comes from PGHOST, PGPORT, PGDATABASE and PGUSER, else it is
    the local server, port 5432 and the database named like the user. All names of the local machine count as one.

    >>> server_places("postgres://reader:secret@127.0.0.1,Two.example:6000/hospital?sslmode=require", {})
    ('postgresql://localhost:5432/hospital', 'postgresql://two.example:6000/hospital')
    """
    outside = {name: environment[variable] for name, variable in FROM_ENVIRONMENT.items() if variable in environment}
    given = {name: value for name, value in _address_parts(address).items() if value.strip(",")}
    settings = {**outside, **given}
    hosts = (settings.get("host") or settings.get("hostaddr") or "").split(",")
    ports = settings.get("port", "").split(",")
    database = settings.get("dbname") or settings.get("user", "")
    paired = zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False)
    return tuple(f"postgresql://{_host(host)}:{port or PORT}/{database}" for host, port in paired)


def _address_parts(address: str) -> dict[str, str]:
    """The settings in the address itself, under libpq's names; lists are separated by commas."""
    url = URL.fullmatch(address)
    if url is None:
        return {name: value.strip("'") for name, value in WORDS.findall(address)}
    hosts = [host for each in url["hosts"].split(",") if (host := HOST.fullmatch(each))]
    said = {
        "host": ",".join(host["inside"] or unquote(host["plain"] or "") for host in hosts),
        "port": ",".join(host["port"] or "" for host in hosts),
        "dbname": unquote(url["database"] or ""),
        "user": unquote((url["user"] or "").partition(":")[0]),
    }
    return {**said, **dict(parse_qsl(url["query"] or ""))}


def _host(host: str) -> str:
    plain = host.strip().lower().removesuffix(".")
    return "localhost" if plain in LOCAL or plain.startswith(("/", "@")) else plain
