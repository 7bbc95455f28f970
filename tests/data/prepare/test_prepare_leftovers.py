"""What a preparation leaves behind: nothing raw, nothing that others may read; and clear words where it cannot write."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit.data import store
from tacit.data.store import new_store_folder, swept
from tacit.doors.cli import app
from tacit.errors import StoreUnusable
from tacit.files import files_of_the_owner

CATALOG = """
[budget]
epsilon = 8
[tables.people]
source = "people.csv"
unit = "row"
columns = { age = { bounds = [0, 99] } }
"""
KILLED = """
import os, signal, sys, tacit
tacit.open(sys.argv[1]).prepare(lambda words, _: os.kill(os.getpid(), signal.SIGKILL) if words.startswith("writing") else None)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(map(str, range(90))) + "\n")
    (tmp_path / "tacit.toml").write_text(CATALOG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_CATALOG", raising=False)
    tacit.open(tmp_path / "tacit.toml").prepare(new_ledger=True)
    return tmp_path


def left_in(folder: Path) -> list[str]:
    return [path.name for path in (folder / ".tacit" / "store").glob("preparing-*")]


def left_behind(folder: Path) -> Path:
    """What a killed preparation leaves, by hand."""
    raw = folder / ".tacit" / "store" / "preparing-0123"
    (raw / "spill").mkdir(parents=True)
    (raw / "store.duckdb").write_text("raw rows")
    return raw


# --- nothing raw -------------------------------------------------------------------------------------------------------------


def test_after_a_killed_preparation_the_next_command_removes_what_it_wrote(folder: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder / "tacit.toml")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(left_in(folder)) == 1, "else this test shows nothing"
    assert CliRunner().invoke(app, ["budget"]).exit_code == 0
    assert left_in(folder) == []


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["sql", "SELECT COUNT(*) FROM people", "--epsilon", "1"],
        ["explain", "SELECT COUNT(*) FROM people"],
        ["budget"],
        ["history"],
        ["ledger", "resume", "--reason", "none"],
        ["prepare"],
        ["sql", "SELECT no sense"],
    ],
)
def test_whatever_the_next_command_is(folder: Path, words: list[str]) -> None:
    left_behind(folder)
    CliRunner().invoke(app, words)
    assert left_in(folder) == []


def test_what_is_still_being_prepared_stays(folder: Path) -> None:
    catalog = tacit.open(folder / "tacit.toml").catalog
    with suppress(KeyError), new_store_folder(catalog) as own:
        assert swept(catalog) is catalog
        assert own.is_dir()
        raise KeyError("no new store")
    assert left_in(folder) == []


def test_what_may_not_be_removed_stops_no_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left_behind(folder)
    monkeypatch.setattr("shutil.rmtree", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert CliRunner().invoke(app, ["budget"]).exit_code == 0


# --- nothing that others may read --------------------------------------------------------------------------------------------


def modes_while_written(folder: Path) -> set[int]:
    """The modes of all files beside the store while it is written, by a process that would let everybody read and write."""
    seen: set[int] = set()

    def look(words: str, share: float) -> None:
        for path in (folder / ".tacit" / "store").glob("preparing-*/**/*"):
            if path.is_file():
                seen.add(stat.S_IMODE(path.stat().st_mode))

    old = os.umask(0)
    try:
        tacit.open(folder / "tacit.toml").prepare(look)
        assert os.umask(0) == 0, "the mask of the process is as before"
    finally:
        os.umask(old)
    return seen


def test_a_store_is_for_its_owner_while_it_is_written(folder: Path) -> None:
    assert modes_while_written(folder) == {0o600}
    assert stat.S_IMODE((folder / ".tacit" / "store" / "store.duckdb").stat().st_mode) == 0o600


def test_a_store_that_others_may_read_while_it_is_written_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "files_of_the_owner", nullcontext)
    assert modes_while_written(folder) != {0o600}


def test_the_mask_comes_back_when_the_last_preparation_ends() -> None:
    def mask() -> int:
        found = os.umask(0)
        os.umask(found)
        return found

    old = os.umask(0o022)
    try:
        first, second = files_of_the_owner(), files_of_the_owner()
        seen = []
        for step in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None)):
            step()
            seen.append(mask())
        second.__exit__(None, None, None)
        assert (seen, mask()) == ([0o077] * 3, 0o022)
    finally:
        os.umask(old)


# --- nothing can be written --------------------------------------------------------------------------------------------------


def read_only(*_: object, **__: object) -> Iterator[None]:
    raise OSError(30, "Read-only file system", "somewhere")


@pytest.mark.parametrize("broken", ["os.mkdir", "os.replace", "os.fsync"])
def test_a_disk_that_is_read_only_is_told_and_the_exit_code_is_four(
    folder: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    before = (folder / ".tacit" / "store" / "store.duckdb").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(f"tacit.data.store.{broken}", read_only)
        result = CliRunner().invoke(app, ["prepare"])
    assert (result.exit_code, result.stdout) == (4, "")
    assert "the store cannot be written in " in result.stderr
    assert "(Read-only file system); make the folder writable" in result.stderr
    assert (folder / ".tacit" / "store" / "store.duckdb").read_bytes() == before, "the old store stays"
    assert left_in(folder) == []


@pytest.mark.parametrize("place", ["people.csv/store", "/proc/tacit/store"])
def test_so_is_a_place_in_which_no_folder_can_be_made(folder: Path, place: str) -> None:
    (folder / "tacit.toml").write_text(f'[store]\npath = "{place}"\n{CATALOG}')
    result = CliRunner().invoke(app, ["prepare"])
    assert (result.exit_code, result.stdout) == (4, "")
    assert "the store cannot be written in " in result.stderr


def test_an_error_of_the_file_system_does_not_leave_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.data.store.os.mkdir", read_only)
    prepare: Callable[[], object] = tacit.open(folder / "tacit.toml").prepare
    with pytest.raises(StoreUnusable):
        prepare()
