"""What nobody foresaw leaves with constant words, alone; the data owner's log has a line about it, and not a word of the data."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tacit
from tacit import files
from tacit.accounting.ledger import rollback as heads
from tacit.accounting.ledger.register import state_folder
from tacit.errors import InvalidInput, InvalidValue, StoppedAfterSpending, StoreUnusable, TacitError, TimedOut, Unforeseen
from tacit.files import append_line
from tacit.query.engines.duckdb import DuckDBEngine
from tacit.release import once
from tacit.release.once import alone, line_of, noted, one_exit

WORDS = "tacit failed unexpectedly, and what was already spent stays spent; ask the data owner to look at unforeseen.log"
COUNT = "SELECT COUNT(*) AS n FROM people"
CATALOG = '[budget]\nepsilon = 8\n[tables.people]\nsource = "people.csv"\nunit = "row"\n'


@pytest.fixture
def data(tmp_path: Path) -> tacit.DataSet:
    (tmp_path / "people.csv").write_text("name\nann\nbob\n")
    (tmp_path / "tacit.toml").write_text(CATALOG)
    found = tacit.open(tmp_path / "tacit.toml")
    found.prepare(new_ledger=True)
    return found


def cell() -> str:
    """A value that stands in no frame of a test, only where it is read."""
    return f"the cell {47}11"


def behind(error: BaseException | None) -> Iterator[str]:
    """Everything that can be reached from an exception: messages, those that it came from, and the variables of all frames."""
    while error is not None:
        yield repr(error)
        trace = error.__traceback__
        while trace is not None:
            yield from map(repr, trace.tb_frame.f_locals.values())
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def leaks(work: Callable[[], Any]) -> bool:
    """Whether the cell can be reached from what `work` raises."""
    try:
        work()
    except BaseException as error:
        return any(cell() in text for text in behind(error))
    return pytest.fail("nothing was raised")


class Owner:
    def __init__(self, kept: Path, kind: type[BaseException] = ValueError) -> None:
        self.kept, self.kind = kept, kind

    @one_exit
    def ask(self) -> None:
        row = cell()
        raise self.kind(f"cannot convert {row}")

    @one_exit
    def refuse(self) -> None:
        row = cell()
        try:
            raise ValueError(row)
        except ValueError:
            raise TimedOut("the engine did not finish") from None

    def ask_from_none(self) -> None:
        """The planted bug: the words are right, and the exception behind them is only hidden from the screen."""
        try:
            row = cell()
            raise ValueError(row)
        except ValueError:
            raise Unforeseen from None


# --- words, and what can be reached from them --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ValueError, MemoryError, RecursionError, KeyError, OSError, AssertionError, UnicodeError])
def test_whatever_it_is_the_words_are_the_same_and_nothing_is_behind_them(tmp_path: Path, kind: type[Exception]) -> None:
    owner = Owner(tmp_path, kind)
    with pytest.raises(Unforeseen) as caught:
        owner.ask()
    assert (str(caught.value), caught.value.code) == (WORDS, "unforeseen")
    assert not leaks(owner.ask)
    assert str(pickle.loads(pickle.dumps(caught.value))) == WORDS  # noqa: S301


def test_an_error_of_tacits_own_leaves_without_what_led_to_it(tmp_path: Path) -> None:
    with pytest.raises(TimedOut, match="did not finish"):
        Owner(tmp_path).refuse()
    assert not leaks(Owner(tmp_path).refuse)


def test_hiding_the_exception_behind_it_is_caught(tmp_path: Path) -> None:
    assert leaks(Owner(tmp_path).ask_from_none)


def test_ctrl_c_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Owner(tmp_path, KeyboardInterrupt).ask()
    assert not list(tmp_path.iterdir())


# --- the log -----------------------------------------------------------------------------------------------------------------


def test_the_log_has_the_kind_and_the_places_and_no_message(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    old = os.umask(0)
    try:
        with pytest.raises(Unforeseen):
            Owner(tmp_path).ask()
    finally:
        os.umask(old)
    file = tmp_path / "log" / "unforeseen.log"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (line,) = file.read_text().splitlines()
    assert " ValueError at once.py:" in line
    assert line.endswith(" ask")
    assert "cell" not in line


def test_a_chain_is_logged_by_its_kinds_and_an_error_of_the_system_by_its_name() -> None:
    try:
        try:
            raise KeyError(cell())
        except KeyError:
            raise OSError(28, cell()) from None
    except OSError as error:
        line = line_of(error)
    assert line.startswith("OSError ENOSPC at test_once_exit.py:")
    assert " after KeyError at " in line
    assert cell() not in line


def test_without_a_catalog_the_log_lies_in_the_users_state_folder(tmp_path: Path) -> None:
    there = state_folder(os.environ)
    assert there is not None
    noted(ValueError(), tmp_path / "not prepared")
    noted(ValueError())
    assert len((there / "log" / "unforeseen.log").read_text().splitlines()) == 2
    assert not (tmp_path / "not prepared").exists()


def test_a_log_that_cannot_be_written_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "unforeseen.log").symlink_to(tmp_path / "elsewhere")
    assert isinstance(noted(ValueError(), tmp_path), Unforeseen)
    assert not (tmp_path / "elsewhere").exists(), "a link is not followed"


def test_a_full_log_is_put_aside_and_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "LARGEST_LOG", 100)
    for number in range(40):
        noted(KeyError() if number % 2 else ValueError(), tmp_path)
    kept = sorted((tmp_path / "log").iterdir())
    assert [file.name for file in kept] == ["unforeseen.log", *(f"unforeseen.log.{number}" for number in range(1, 5))]
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}
    assert all(file.stat().st_size < 300 for file in kept)
    shown = once.latest(tmp_path, 7)
    assert [line.split()[1] for line in shown] == ["KeyError", *("ValueError", "KeyError") * 3]
    assert len(once.latest(tmp_path, 1000)) == sum(len(file.read_text().splitlines()) for file in kept)


def test_writers_at_once_lose_no_line(tmp_path: Path) -> None:
    """Two who find a log too large put it aside once: with room for all lines in the files that are kept, all are there."""
    file = tmp_path / "a.log"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: append_line(file, f"{number:03}", 200, older=20), range(400)))
    lines = [line for each in tmp_path.iterdir() for line in each.read_text().splitlines()]
    assert sorted(lines) == [f"{number:03}" for number in range(400)]


def test_a_log_that_is_put_aside_twice_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: nobody looks whether the open file still has its name. The line goes into an older file."""
    file = tmp_path / "a.log"
    append_line(file, "x" * 50, 10)
    once, first = files.opened, []

    @contextmanager
    def another_comes_first(path: Path, flags: int, *more: Any) -> Iterator[int]:
        with once(path, flags, *more) as descriptor:
            if not first:
                first.append(files.put_aside(file, 4))
                append_line(file, "the other's", 10)
            yield descriptor

    for right in (True, False):
        first.clear()
        with monkeypatch.context() as patch:
            patch.setattr(files, "opened", another_comes_first)
            if not right:
                patch.setattr(files, "_is_at", lambda *_: True)
            append_line(file, "mine", 10_000)
        assert file.read_text().splitlines() == ["the other's", *(["mine"] if right else [])]


# --- the road ----------------------------------------------------------------------------------------------------------------


def failing(kind: type[BaseException], *words: object) -> Callable[..., Any]:
    def fall(*_: object, **__: object) -> Any:
        row = cell()
        raise kind(*words, row)

    return fall


def kinds(data: tacit.DataSet) -> list[str]:
    return [entry.kind for entry in data.ledger.entries(first=1)]


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("tacit.query.engines.duckdb.DuckDBEngine.run", RuntimeError),
        ("tacit.query.engines.duckdb.DuckDBEngine.run", MemoryError),
        ("tacit.release.noisy.released", RuntimeError),
        ("tacit.session.answer", RuntimeError),
        ("tacit.session.answer", MemoryError),
    ],
)
def test_a_failure_after_the_spend_is_constant_counted_and_alone(
    data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch, place: str, kind: type[Exception]
) -> None:
    monkeypatch.setattr(place, failing(kind))
    with pytest.raises(Unforeseen, match=WORDS):
        data.session().sql(COUNT, epsilon=1)
    assert kinds(data) == ["spend", "failure"]
    assert not leaks(lambda: data.session().table("people").agg("count(*)").release(epsilon=1))
    assert (data.catalog.kept / "log" / "unforeseen.log").read_text().count(kind.__name__) == 2


@pytest.mark.parametrize(
    ("kind", "leaving"), [(InvalidValue, Unforeseen), (InvalidInput, InvalidInput), (StoreUnusable, StoreUnusable)]
)
def test_a_value_that_no_mechanism_takes_counts_as_a_failure(
    data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch, kind: type[TacitError], leaving: type[TacitError]
) -> None:
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: (_ for _ in ()).throw(kind("not finite")))
    with pytest.raises(leaving):
        data.session().sql(COUNT, epsilon=1)
    assert kinds(data) == (["spend"] if leaving is StoreUnusable else ["spend", "failure"]), "only the store's own is no row's"


def test_what_cannot_be_kept_is_a_failure_too(data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is made and cannot be written down, as when memory ends."""
    from tacit.session import KEPT

    monkeypatch.setattr("tacit.session.KEPT", type(KEPT)(failing(MemoryError), KEPT.read))
    with pytest.raises(Unforeseen):
        data.session().sql(COUNT, epsilon=1)
    assert kinds(data) == ["spend", "failure"]


def test_stopping_by_hand_leaves_no_frame_of_the_work(data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBEngine, "run", failing(KeyboardInterrupt))
    with pytest.raises(StoppedAfterSpending):
        data.session().sql(COUNT, epsilon=1)
    assert not leaks(lambda: data.session().sql(COUNT, epsilon=1))


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_head_that_cannot_be_brought_to_the_disk_stops_the_answer(
    data: tacit.DataSet, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    ana = data.session()
    monkeypatch.setattr(DuckDBEngine, "run", lambda *_: pytest.fail("the engine was asked"))
    with monkeypatch.context() as patch:
        patch.setattr(os, broken, failing(OSError, 5))
        with pytest.raises(StoreUnusable, match=r"after the spend, which stays") as caught:
            ana.sql(COUNT, epsilon=1)
    assert cell() not in str(caught.value)
    assert kinds(data) == ["spend"]
    monkeypatch.undo()
    assert ana.sql(COUNT, epsilon=1).receipt.entry == 2, "nobody waits for the one that failed"
    assert heads.remembered_heads(data.catalog.heads_folder)[0].number == 2


def test_an_error_that_is_raised_while_another_is_handled_is_cut_off() -> None:
    try:
        raise ValueError(cell())
    except ValueError as first:
        second = TimedOut("late")
        second.__cause__ = first
    assert list(behind(alone(second))) == [repr(second)]
