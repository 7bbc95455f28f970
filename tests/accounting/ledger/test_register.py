"""The register of ledgers: who has a ledger over the same sources; private, whole, and written by many at once."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tacit.accounting.ledger import register as module
from tacit.accounting.ledger.register import (
    FILE,
    Register,
    Registered,
    ledger_place,
    mark_of,
    open_register,
    server_places,
    state_folder,
)
from tacit.errors import InvalidInput, RegisterUnavailable, StoreUnusable

KEY = bytes(range(32))
_keys = count(1)


def fresh_key() -> bytes:
    """Another one at each call."""
    return next(_keys).to_bytes(32, "big")


def one(ledger: str, *marks: str, place: str = "", name: str = "hospital", catalog: str = "/data/tacit.toml") -> Registered:
    return Registered(ledger, place or f"postgresql://db:5432/{ledger}", name, catalog, marks)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tacit"


def ledgers(found: tuple[Registered, ...]) -> list[str]:
    return [known.ledger for known in found]


# --- what it knows -----------------------------------------------------------------------------------------------------------


def test_ledgers_that_share_a_mark_are_known(folder: Path) -> None:
    register = Register(folder, fresh_key)
    register.record(one("a", "m1", "m2", name="first"))
    register.record(one("b", "m3"))
    assert register.sharing(["m9", "m2"]) == Register(folder, fresh_key).sharing(["m2"])
    (known,) = register.sharing(["m2"])
    assert (known.ledger, known.name, known.catalog, known.marks) == ("a", "first", "/data/tacit.toml", ("m1", "m2"))
    assert known.at.startswith("20")
    assert ledgers(register.sharing(["m1", "m3"])) == ["a", "b"]
    assert ledgers(register.sharing(["m1", "m3"], besides="a")) == ["b"]
    assert register.sharing([]) == register.sharing(["m4"]) == ()


def test_marks_accumulate_and_the_first_date_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register = Register(folder, fresh_key)
    register.record(one("a", "m1"))
    (first,) = register.sharing(["m1"])
    register.record(one("a", "m2", name="renamed"))
    (later,) = register.sharing(["m2"])
    assert (later.marks, later.at, later.name) == (("m1", "m2"), first.at, "renamed")
    monkeypatch.setattr(module, "MOST_MARKS", 2)
    register.record(one("a", "m1", "m3"))
    assert ledgers(register.sharing(["m1"])) == ledgers(register.sharing(["m3"])) == ["a"], "what is seen now is kept"
    assert register.sharing(["m2"]) == (), "what was not seen for longest goes"


def test_what_is_known_is_not_written_again(folder: Path) -> None:
    register = Register(folder, fresh_key)
    register.record(one("a", "m1", "m2"))
    before = (folder / FILE).stat()
    register.record(one("a", "m2"))
    assert (folder / FILE).stat().st_ino == before.st_ino


def test_a_copied_ledger_is_seen_and_a_moved_one_is_not_a_copy(folder: Path, tmp_path: Path) -> None:
    register, old, new = Register(folder, fresh_key), tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    old.touch()
    register.record(one("a", "m1", place=str(old)))
    assert register.copies("a", str(old)) == ()
    new.touch()
    assert ledgers(register.copies("a", str(new))) == ["a"], "both files are there"
    register.record(one("a", "m1", "m2", place=str(new)))
    assert [known.place for known in register.copies("a", str(old))] == [str(new)], "each copy sees the other"
    old.unlink()
    assert register.copies("a", str(new)) == ()
    register.record(one("a", "m3", place=str(new)))
    (known,) = register.sharing(["m1"])
    assert (known.place, known.marks) == (str(new), ("m1", "m2", "m3")), "one that was moved takes its marks along"


def test_a_server_counts_as_there_until_the_curator_says_otherwise(folder: Path) -> None:
    register = Register(folder, fresh_key)
    register.record(one("a", "m1", place="postgresql://old:5432/x"))
    assert ledgers(register.copies("a", "postgresql://new:5432/x")) == ["a"]
    register.moved("a", "postgresql://old:5432/x")
    assert register.copies("a", "postgresql://new:5432/x") == ()
    assert ledgers(register.sharing(["m1"])) == ["a"]


def test_a_ledger_whose_place_was_taken_is_still_known(folder: Path, tmp_path: Path) -> None:
    """`.tacit` was removed and a new ledger begun at the same place: what the first one spent was spent."""
    register, place = Register(folder, fresh_key), tmp_path / "ledger.sqlite"
    place.touch()
    register.record(one("a", "m1", place=str(place)))
    register.record(one("b", "m1", place=str(place)))
    assert ledgers(register.sharing(["m1"], besides="b")) == ["a"]
    assert register.copies("a", "/elsewhere/ledger.sqlite") == (), "it lies there no more"
    assert ledgers(register.copies("b", "/elsewhere/ledger.sqlite")) == ["b"]


# --- the key -----------------------------------------------------------------------------------------------------------------


def test_the_key_is_drawn_once(folder: Path) -> None:
    first = Register(folder, fresh_key)
    assert Register(folder, lambda: pytest.fail("a second key")).key == first.key
    assert len(first.key) == 32
    assert Register(folder.with_name("other"), fresh_key).key != first.key
    with pytest.raises(InvalidInput, match="32 bytes, not 3"):
        Register(folder.with_name("short"), lambda: b"abc")


def test_marks_depend_on_the_key_and_on_every_part() -> None:
    marks = {mark_of(key, *parts) for key in (KEY, bytes(32)) for parts in [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b"")]}
    assert len(marks) == 8
    assert {len(mark) for mark in marks} == {64}


# --- private, whole, and written by many at once -----------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}


def test_folder_and_files_are_for_their_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        register = Register(folder, fresh_key)
        register.record(one("a", "m1"))
    finally:
        os.umask(before)
    assert modes(folder) == {"tacit": 0o700, FILE: 0o600, "ledgers.lock": 0o600}
    folder.chmod(0o755)
    (folder / FILE).chmod(0o644)  # as a careless restore leaves them
    Register(folder, fresh_key)
    assert modes(folder) == {"tacit": 0o700, FILE: 0o600, "ledgers.lock": 0o600}


WRITER = """
import sys
from pathlib import Path
from tacit.accounting.ledger.register import Register, Registered

folder, name = Path(sys.argv[1]), sys.argv[2]
register = Register(folder, lambda: name.encode().ljust(32, b"-"))
for number in range(10):
    register.record(Registered(f"{name}{number}", f"postgresql://db:5432/{name}{number}", "x", "/x", (f"{name}{number}", "all")))
    register.record(Registered("everybody", "postgresql://db:5432/e", "x", "/x", (f"of {name} {number}",)))
print(register.key.hex())
"""


def written_by_many(folder: Path) -> tuple[set[str], Register]:
    """The keys that processes saw which began the register and wrote it at the same time, and the register after them."""
    names = "abcd"
    commands = [[sys.executable, "-c", WRITER, str(folder), name] for name in names]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    keys = {process.communicate(timeout=300)[0].strip() for process in started}
    assert all(process.returncode == 0 for process in started)
    return keys, Register(folder, fresh_key)


def test_many_processes_begin_and_write_it_at_once(folder: Path) -> None:
    keys, register = written_by_many(folder)
    assert keys == {register.key.hex()}
    assert sorted(ledgers(register.sharing(["all"]))) == [f"{name}{number}" for name in "abcd" for number in range(10)]
    assert [ledgers(register.sharing([f"of {name} {number}"])) for name in "abcd" for number in range(10)] == [["everybody"]] * 40


def lost_by_threads(folder: Path) -> int:
    """How many of the ledgers that threads recorded at once are not in the register afterwards."""
    register = Register(folder, fresh_key)
    names = [f"ledger {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: register.record(one(name, "all")), names))
    return len(set(names) - set(ledgers(register.sharing(["all"]))))


def test_nothing_is_lost_between_threads_and_a_missing_turn_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost_by_threads(folder) == 0
    real, both = module._with, Barrier(2)

    def met(before: Any, new: Registered) -> Any:
        both.wait(60)  # two are here at once, which a turn forbids
        return real(before, new)

    monkeypatch.setattr(module, "turn_of", lambda path: nullcontext())
    monkeypatch.setattr(module, "_with", met)
    monkeypatch.setattr(module, "replace_file", lambda file, content: file.write_text(content))
    register = Register(folder.with_name("planted"), fresh_key)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: register.record(one(name, "all")), "ab"))
    assert len(register.sharing(["all"])) == 1, "one of the two is lost"


def test_a_crash_leaves_the_old_register_or_the_new_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register = Register(folder, fresh_key)
    register.record(one("a", "m1"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            register.record(one("b", "m1"))
    assert ledgers(register.sharing(["m1"])) == ["a"]
    register.record(one("b", "m1"))
    assert ledgers(register.sharing(["m1"])) == ["a", "b"]


# --- where it cannot be kept -------------------------------------------------------------------------------------------------


def test_the_state_folder() -> None:
    assert state_folder({"XDG_STATE_HOME": "/state", "HOME": "/home/ana"}) == Path("/state/tacit")
    assert state_folder({"XDG_STATE_HOME": "relative", "HOME": "/home/ana"}) == Path("/home/ana/.local/state/tacit")
    assert state_folder({"XDG_STATE_HOME": "", "HOME": "relative"}) is None
    assert state_folder({}) is None


def test_without_a_home_there_is_a_clear_error() -> None:
    with pytest.raises(RegisterUnavailable, match="neither XDG_STATE_HOME nor HOME is"):
        open_register({}, fresh_key)


def test_the_register_of_the_environment(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    open_register(environment, fresh_key).record(one("a", "m1"))
    assert ledgers(open_register(environment, fresh_key).sharing(["m1"])) == ["a"]
    assert open_register({"HOME": str(tmp_path)}, fresh_key).sharing(["m1"]) == (), "another home, another register"


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(RegisterUnavailable, match=r"cannot be opened"):
        Register(tmp_path / "state" / "tacit", fresh_key)


def test_a_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(RegisterUnavailable, match="the folder belongs to another user"):
        Register(folder, fresh_key)


def refuse_writing(*_: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_register_that_cannot_be_written_is_still_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Register(folder, fresh_key).record(one("a", "m1"))
    monkeypatch.setattr(module, "replace_file", refuse_writing)
    monkeypatch.setattr(module, "turn_of", refuse_writing)
    register = Register(folder, fresh_key)
    assert ledgers(register.sharing(["m1"])) == ["a"]
    with pytest.raises(RegisterUnavailable, match="cannot be written: Read-only file system") as told:
        register.record(one("b", "m1"))
    assert told.value.code == "register"
    with pytest.raises(RegisterUnavailable, match="cannot be opened: Read-only file system"):
        Register(folder.with_name("new"), fresh_key)


@contextmanager
def as_somebody_without_rights() -> Iterator[None]:
    """Root may write everywhere, so it steps down."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_home_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with as_somebody_without_rights(), pytest.raises(RegisterUnavailable, match="cannot be opened: Permission denied"):
            Register(tmp_path / "state", fresh_key)
    finally:
        tmp_path.chmod(0o700)


# --- damage ------------------------------------------------------------------------------------------------------------------


def damages(text: str) -> dict[str, bytes]:
    known = json.loads(text)
    other_key = json.dumps({**known, "key": "00" * 32})
    fewer = json.dumps({**known, "ledgers": []})
    return {
        "empty": b"",
        "cut off": text[: len(text) // 2].encode(),
        "no JSON": b"\x00" * 100,
        "not an object": b"[]",
        "nested endlessly": b"[" * 100_000,
        "no key": json.dumps({"format": 1, "ledgers": []}).encode(),
        "another key": other_key.encode(),
        "a ledger less": fewer.encode(),
        "one mark": text.replace('"m1"', '"m7"').encode(),
    }


@pytest.mark.parametrize("what", damages('{"format":1,"key":"","ledgers":["m1"]}'))
def test_every_damage_is_seen_and_has_a_remedy(folder: Path, what: str) -> None:
    register = Register(folder, fresh_key)
    register.record(one("a", "m1"))
    (folder / FILE).write_bytes(damages((folder / FILE).read_text())[what])
    for use in (lambda: Register(folder, fresh_key), lambda: register.sharing(["m1"]), lambda: register.record(one("b", "m1"))):
        with pytest.raises(StoreUnusable, match=r"register of ledgers is damaged") as told:
            use()
        assert not isinstance(told.value, RegisterUnavailable)


def test_without_its_seal_a_changed_mark_would_pass(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Register(folder, fresh_key).record(one("a", "m1"))
    (folder / FILE).write_bytes(damages((folder / FILE).read_text())["one mark"])
    monkeypatch.setattr(module.hmac, "compare_digest", lambda *_: True)
    assert Register(folder, fresh_key).sharing(["m1"]) == (), (
        "the planted bug: a source that is no longer recognized, without a word"
    )


def test_a_register_of_a_newer_version_is_left_alone(folder: Path) -> None:
    Register(folder, fresh_key)
    text = (folder / FILE).read_text().replace('"format":1', '"format":2')
    (folder / FILE).write_text(text)
    with pytest.raises(StoreUnusable, match="another version of tacit; update tacit"):
        Register(folder, fresh_key)
    assert (folder / FILE).read_text() == text


def test_a_register_that_is_exchanged_while_it_is_open(folder: Path) -> None:
    """Marks under the old key say nothing under the new one."""
    register = Register(folder, fresh_key)
    (folder / FILE).unlink()
    Register(folder, fresh_key)
    for use in (lambda: register.sharing(["m1"]), lambda: register.record(one("a", "m1"))):
        with pytest.raises(StoreUnusable, match="replaced while it was in use"):
            use()


# --- places ------------------------------------------------------------------------------------------------------------------

SAME = [
    "postgresql://reader:secret@localhost/hospital",
    "postgres://other@127.0.0.1:5432/hospital?sslmode=require",
    "postgresql://r:pass[word#?@[::1]/hospital",
    "postgresql:///hospital?host=/var/run/postgresql&password=secret",
    "postgresql://%2Fvar%2Frun%2Fpostgresql/hospital",
    "postgresql+psycopg://hospital:secret@LOCALHOST.",
    "host=localhost dbname=hospital user=reader password='se cret'",
]


@pytest.mark.parametrize("url", SAME)
def test_one_database_has_one_place_however_it_is_written(url: str) -> None:
    assert server_places(url, {}) == ("postgresql://localhost:5432/hospital",)
    assert "secret" not in ledger_place("postgresql://ana:secret@db:1/x?password=secret", {})


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://db/hospital", "postgresql://db:5432/hospital"),
        ("postgresql://localhost:5433/hospital", "postgresql://localhost:5433/hospital"),
        ("postgresql://localhost/Hospital", "postgresql://localhost:5432/Hospital"),
        ("postgresql://[fe80::1]:7/hospital", "postgresql://fe80::1:7/hospital"),
    ],
)
def test_other_databases_have_other_places(url: str, place: str) -> None:
    assert server_places(url, {}) == (place,)


def test_what_a_url_leaves_out_comes_from_the_environment() -> None:
    environment = {"PGHOST": "one,two", "PGPORT": "6000", "PGDATABASE": "x", "PGUSER": "ana"}
    assert server_places("postgresql://", environment) == ("postgresql://one:6000/x", "postgresql://two:6000/x")
    assert server_places("postgresql://db:1/y", environment) == ("postgresql://db:1/y",)
    assert server_places("postgresql://h1:4,h2/y", {}) == ("postgresql://h1:4/y", "postgresql://h2:5432/y")


def test_a_ledger_in_a_file_is_where_its_path_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    expected = str((tmp_path / "real" / "ledger.sqlite").resolve())
    assert ledger_place(f"sqlite:///{tmp_path}/link/ledger.sqlite", {}) == expected
    assert ledger_place(str(tmp_path / "link" / ".." / "real" / "ledger.sqlite"), {}) == expected
