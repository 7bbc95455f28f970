"""The ledger's database, on SQLite and on a real PostgreSQL: one at a time, on the disk before it returns, errors in words."""

import os
import shutil
import sqlite3
import stat
import sys
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from threading import Barrier, Event, Lock, Thread
from time import monotonic, sleep

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledgers import IDENTITY, OTHER_IDENTITY, UNIT, opened, policy, pure, spend
from services import fresh_database
from tacit.accounting.events import GaussianNoise
from tacit.accounting.ledger import connections, postgres
from tacit.accounting.ledger import group_commit as durable
from tacit.accounting.ledger import tables as store_module
from tacit.accounting.ledger.connections import DriverError
from tacit.accounting.ledger.group_commit import GroupCommit
from tacit.accounting.ledger.selling import Sale
from tacit.accounting.ledger.tables import file_of
from tacit.errors import BudgetExceeded, StoreUnusable
from tacit.files import replace_file


@pytest.fixture(params=["sqlite", "postgres"])
def address(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / ".tacit" / "ledger.sqlite")
    return fresh_database(request.getfixturevalue("postgres_url"))


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / ".tacit" / "ledger.sqlite"


def pool_of(ledger):
    return ledger._store._database.pool


def together(*work) -> None:
    """Run all at once, and raise what any of them raised."""
    errors, start = [], Barrier(len(work))

    def one(task) -> None:
        start.wait()
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=one, args=(task,)) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


# --- the same on both --------------------------------------------------------------------------------------------------------


def test_both_databases_hold_the_same_entries(tmp_path, postgres_url, monkeypatch):
    for module in ("pages", "ledger"):
        monkeypatch.setattr(f"tacit.accounting.ledger.{module}.now", lambda: "2026-01-01T00:00:00.000+00:00")
    texts = []
    for address in (str(tmp_path / "ledger.sqlite"), fresh_database(postgres_url)):
        ledger = opened(address, policy(3, "1e-6"), IDENTITY)
        for event in (pure("1/3"), GaussianNoise(Fraction(1), Fraction(20), Fraction(1, 10**9), UNIT), pure("1/37")):
            ledger.spend(event, "curator", "SELECT 'é' \x00 \ud800", "v")
        with pytest.raises(BudgetExceeded):
            spend(ledger, pure(3))
        sale = Sale((pure("1/100"),), "curator", "q", "v", "key")
        ledger.answered(ledger.reserve(sale), "an answer: é")
        assert (ledger.reserve(sale).text, ledger.verify().whole) == ("an answer: é", True)
        texts.append([entry.text for entry in ledger.entries()])
    assert texts[0] == texts[1]
    assert len(texts[0]) == 6


def test_many_make_one_ledger(address):
    """Whoever comes first names it; nobody fails, and nothing is made twice."""
    identities = [f"{number:032x}" for number in range(6)]
    found = []
    together(*(lambda name=name: found.append(opened(address, policy(1), name).identity) for name in identities))
    assert len(found) == 6
    assert len(set(found)) == 1
    assert opened(address, policy(1), OTHER_IDENTITY).verify().entries == 1


def spend_until_refused(spend_once, threads: int = 6) -> int:
    """How many spends several threads get in all."""
    admitted = count()

    def one() -> None:
        while spend_once():
            next(admitted)

    together(*[one] * threads)
    return next(admitted)


def once(ledger):
    def spend_once() -> bool:
        try:
            return spend(ledger, pure("1/20")) is not None
        except BudgetExceeded:
            return False

    return spend_once


def test_threads_together_spend_the_budget_and_no_more(address):
    ledger = opened(address, policy(2), IDENTITY)
    assert spend_until_refused(once(ledger)) == 40
    assert (ledger.spent().epsilon, ledger.verify().whole, ledger.head.number) == (2, True, 40)


def test_read_check_write_is_caught():
    """The planted bug: the sums are read, checked and written without a transaction around it. The same threads overspend."""
    twentieths = [0]

    def naive() -> bool:
        spent = twentieths[0]
        sleep(0.001)
        if spent + 1 <= 40:
            twentieths[0] = spent + 1
        return spent + 1 <= 40

    assert spend_until_refused(naive) > 40


def test_without_locks_numbers_are_still_taken_once(tmp_path, monkeypatch):
    """The second defence, alone: two writers who read the same books cannot both append, whatever became of the locks."""

    @contextmanager
    def nobody_waits():
        yield

    monkeypatch.setattr(store_module, "PAUSES", (0.002,) * 200)
    ledger = opened(str(tmp_path / "ledger.sqlite"), policy(1), IDENTITY)
    unlocked = replace(ledger._store._connected, turn=nobody_waits, begin="SELECT 1")
    monkeypatch.setattr(ledger._store, "_connected", unlocked)
    monkeypatch.setattr(store_module, "COMMIT", "SELECT 1")
    spending = once(ledger)

    def or_stopped() -> bool:
        """Books that another writer is changing do not agree with themselves, and stop whoever reads them."""
        try:
            return spending()
        except StoreUnusable:
            return False

    assert spend_until_refused(or_stopped, threads=3) <= 20
    numbers = [entry.number for entry in ledger.entries()]
    assert numbers == list(range(len(numbers)))


def test_opening_reads_little(address, monkeypatch):
    """However long the ledger is: is it there, and its first entry."""
    ledger = opened(address, policy(9), IDENTITY)
    for _ in range(5):
        spend(ledger, pure("1/100"))
    statements = []
    for kind in (connections.FileConnection, postgres.ServerConnection):
        run = kind.run
        monkeypatch.setattr(
            kind, "run", lambda own, words, run=run, **values: statements.append(words) or run(own, words, **values)
        )
    opened(address, policy(9), IDENTITY)
    asked = [statement for statement in statements if "tacit" in statement]
    assert len(asked) <= 3, asked
    assert not any("SELECT" in statement and "LIMIT" not in statement and "entries" in statement for statement in asked)


@given(st.text(alphabet="ab/.%20?#@:+é\n", max_size=12))
@example("a%20ledger?x=1")
def test_a_path_is_read_as_sqlalchemy_reads_it(path):
    """Ledgers stay where they are: the same address names the same file, with SQLAlchemy or without."""
    from sqlalchemy import make_url

    assert file_of(f"sqlite:///{path}") == make_url(f"sqlite:///{path}").database
    assert "://" in path or file_of(path) == file_of(f"sqlite:///{path}")


def test_a_connection_left_in_a_transaction_is_given_to_the_next_without_it(address):
    ledger = opened(address, policy(9), IDENTITY)
    with pool_of(ledger).connect() as connection:
        connection.run("BEGIN")
        connection.run("UPDATE tacit_books SET number = 7")
    with pool_of(ledger).connect() as connection:
        connection.run("BEGIN")  # within a transaction, SQLite would refuse it
        assert connection.run("SELECT number FROM tacit_books") == [(0,)]
        connection.run("COMMIT")
    assert ledger.verify().whole


def test_a_connection_put_back_inside_its_transaction_is_caught(file, monkeypatch):
    """The planted bug: what was left open goes to the next thread, whose transaction cannot begin."""
    ledger = opened(str(file), policy(9), IDENTITY)
    monkeypatch.setattr(connections.FileConnection, "is_usable", lambda _: True)
    with pool_of(ledger).connect() as connection:
        connection.run("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnusable, match="cannot be read or written"):
        spend(ledger, pure("1/4"))


def test_connections_to_a_file_are_few_and_each_is_given_once(file, monkeypatch):
    """More than a few wait for one; a connection that failed is not given again, and few stay open."""
    monkeypatch.setattr(durable, "PATIENCE", 0.01)
    pool = pool_of(opened(str(file), policy(9), IDENTITY))
    with ExitStack() as held:
        taken = [held.enter_context(pool.connect()) for _ in range(connections.MOST)]
        assert len(set(map(id, taken))) == connections.MOST
        with pytest.raises(DriverError, match="TimeoutError"), pool.connect():
            pass
        taken[0].invalidate()
    assert len(pool._idle) == connections.KEPT
    assert taken[0] not in pool._idle
    for connection in pool._idle:
        assert connection.run("SELECT 1") == [(1,)]
    pool.dispose()
    assert not pool._idle
    with pool.connect() as connection:
        assert connection.has("tacit_books")
    with pytest.raises(DriverError, match="ProgrammingError"):
        taken[0].run("SELECT 1")


# --- what goes wrong ---------------------------------------------------------------------------------------------------------


def lost_at(ledger, moment: str, action) -> None:
    """Do something just before a statement is sent, once."""
    left, pool = [action], pool_of(ledger)

    class Listened:
        def __init__(self, connection) -> None:
            self.connection = connection

        def __getattr__(self, name):
            return getattr(self.connection, name)

        def run(self, statement: str, **values):
            if left and statement.startswith(moment):
                left.pop()(self.connection)
            return self.connection.run(statement, **values)

    class Listening:
        dispose = staticmethod(pool.dispose)

        @contextmanager
        def connect(self):
            with pool.connect() as connection:
                yield Listened(connection)

    ledger._store._connected = replace(ledger._store._connected, pool=Listening())


def terminate_backend(url):
    """Ends the server's side of a connection, as a crash of the network or the server would."""
    import psycopg

    def terminate(connection) -> None:
        process = connection._connection.connection.dbapi_connection.info.backend_pid
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [process])
            while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [process]).fetchone():
                sleep(0.01)

    return terminate


@pytest.mark.parametrize(
    "moment", ["BEGIN", "FOR UPDATE", "INSERT INTO tacit_entries", "UPDATE tacit_books", "INSERT INTO tacit_accounts"]
)
def test_a_connection_lost_before_commit_is_made_good(postgres_url, moment):
    url = fresh_database(postgres_url)
    ledger = opened(url, policy(1), IDENTITY)
    lost_at(ledger, moment, terminate_backend(postgres_url))
    assert spend(ledger, pure("1/4")).number == 1
    assert (ledger.spent().epsilon, ledger.verify().whole) == (Fraction(1, 4), True)


def test_a_commit_whose_fate_is_unknown_is_not_tried_again(postgres_url):
    url = fresh_database(postgres_url)
    ledger = opened(url, policy(1), IDENTITY)
    lost_at(ledger, "COMMIT", terminate_backend(postgres_url))
    with pytest.raises(StoreUnusable, match="did not confirm the last entry"):
        spend(ledger, pure("1/4"))
    assert spend(ledger, pure("1/4")).number == ledger.head.number
    assert ledger.verify().whole


def test_a_failing_commit_or_disk_is_not_tried_again(file, monkeypatch):
    ledger = opened(str(file), policy(1), IDENTITY)

    def fails(_) -> None:
        raise DriverError("SQLITE_IOERR_WRITE", "OperationalError")

    lost_at(ledger, "COMMIT", fails)
    with pytest.raises(StoreUnusable, match="did not confirm"):
        spend(ledger, pure("1/4"))
    assert ledger.head.number == 0

    def no_disk(_) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(durable, "_flush", no_disk)
        with pytest.raises(StoreUnusable, match="did not confirm"):
            spend(ledger, pure("1/4"))
    assert ledger.spent().epsilon == Fraction(1, 4)
    assert spend(ledger, pure("1/4")).number == 2


def test_a_program_that_holds_the_file_is_waited_for(file):
    """As a curator's own sqlite3 would; nobody hears that the database is locked."""
    ledger = opened(str(file), policy(1), IDENTITY)
    held, done = Event(), []

    def hold() -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            held.set()
            sleep(0.3)
            connection.execute("COMMIT")
            done.append(monotonic())

    holder = Thread(target=hold)
    holder.start()
    held.wait()
    spend(ledger, pure("1/4"))
    holder.join()
    assert done[0] <= monotonic()


def test_a_program_that_never_lets_go_is_named(file, monkeypatch):
    monkeypatch.setattr(durable, "WORD", 0.05)
    monkeypatch.setattr(durable, "PATIENCE", 0.2)
    ledger = opened(str(file), policy(1), IDENTITY)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnusable, match="another program holds the ledger"):
            spend(ledger, pure("1/4"))
        connection.execute("ROLLBACK")
    assert spend(ledger, pure("1/4")).number == 1


def test_a_file_that_was_replaced_while_open_takes_no_spend(file):
    ledger = opened(str(file), policy(1), IDENTITY)
    spend(ledger, pure("1/4"))
    for part in list(file.parent.glob("ledger.sqlite*")):
        shutil.move(part, part.with_name(f"old-{part.name}"))
    for put_back in (False, True):
        if put_back:
            opened(str(file), policy(1), OTHER_IDENTITY)
        with pytest.raises(StoreUnusable, match="moved or replaced while it"):
            spend(ledger, pure("1/4"))


BAD_ADDRESSES = {
    "sqlite://": "a ledger in memory is not supported",
    "sqlite:///:memory:": "a ledger in memory is not supported",
    "sqlite:///file:x?mode=memory": "a ledger in memory is not supported",
    "mysql://localhost/x": "unsupported ledger database: mysql",
    "sqlite:///{here}/ledger.txt/x.sqlite": "cannot be opened (File exists)",
    "sqlite:///{here}/ledger.txt": "the ledger's file is not a SQLite database",
    "no address://:": "invalid ledger URL",
    "postgresql://nobody:secret@127.0.0.1:1/x": "cannot connect to the ledger's PostgreSQL",
}


@pytest.mark.parametrize("bad", BAD_ADDRESSES)
def test_an_address_that_does_not_work_is_told_without_its_password(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(store_module, "PAUSES", ())
    (tmp_path / "ledger.txt").write_text("not a database, and longer than a header of one would be " * 20)
    with pytest.raises(StoreUnusable) as told:
        opened(bad.format(here=tmp_path), policy(1), IDENTITY)
    assert BAD_ADDRESSES[bad] in str(told.value)
    assert told.value.remedy
    assert "secret" not in str(told.value)


def test_a_server_that_may_lose_commits_is_told_not_to(postgres_url):
    import psycopg

    url = fresh_database(postgres_url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
    with psycopg.connect(url) as other:
        assert other.execute("SHOW synchronous_commit").fetchone() == ("off",)
    ledger = opened(url, policy(1), IDENTITY)
    with pool_of(ledger).connect() as own:
        assert own.run("SHOW synchronous_commit") == [("on",)]


def test_a_lock_in_postgresql_is_waited_for_with_a_word_and_then_no_longer(postgres_url, monkeypatch, capsys):
    import psycopg

    monkeypatch.setattr(durable, "WORD", 0.1)
    monkeypatch.setattr(durable, "PATIENCE", 0.3)
    address = fresh_database(postgres_url)
    ledger = opened(address, policy(1), IDENTITY)
    with psycopg.connect(address) as other:
        other.execute("SELECT * FROM tacit_books FOR UPDATE")
        with pytest.raises(StoreUnusable, match="another program holds the ledger"):
            spend(ledger, pure("1/4"))
        assert capsys.readouterr().err == f"{durable.WAITING}\n"
        assert ledger.spent().epsilon == 0, "reading needs no turn"
    assert spend(ledger, pure("1/4")).number == 1


@contextmanager
def turned_off(server, setting):
    """The server without one of its safeguards."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as owner:
        for change, wanted in ((f"ALTER SYSTEM SET {setting} = off", "off"), (f"ALTER SYSTEM RESET {setting}", "on")):
            owner.execute(change)
            owner.execute("SELECT pg_reload_conf()")
            while owner.execute(f"SHOW {setting}").fetchone() != (wanted,):
                sleep(0.01)
            if wanted == "off":
                yield


@pytest.mark.parametrize(("setting", "other"), [("fsync", "full_page_writes"), ("full_page_writes", "fsync")])
def test_a_server_that_may_lose_a_spend_keeps_no_ledger(postgres_alone, setting, other, monkeypatch):
    address = fresh_database(postgres_alone)
    with turned_off(postgres_alone, setting):
        with pytest.raises(StoreUnusable, match=f"{setting} = off"):
            opened(address, policy(1), IDENTITY)
        with monkeypatch.context() as planted:
            planted.setattr(postgres, "DURABLE", (other,))
            assert opened(address, policy(1), IDENTITY).head.number == 0, "who looks at the other setting alone sees nothing"
    assert spend(opened(address, policy(1), IDENTITY), pure("1/4")).number == 1


# --- on the disk -------------------------------------------------------------------------------------------------------------


def test_files_are_for_their_owner(file):
    old = os.umask(0)
    try:
        ledger = opened(str(file), policy(1), IDENTITY)
        spend(ledger, pure("1/4"))
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {part.name: stat.S_IMODE(part.stat().st_mode) for part in file.parent.iterdir()} == dict.fromkeys(
        ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite.lock", "ledger.sqlite.flush"], 0o600
    )


def power_fails(file: Path, monkeypatch, ask) -> list[int]:
    """The entries found again if the power failed after `ask`: of all files, what they held when the last flush began."""
    survived = file.parent / "survived"

    def keep(log: Path) -> None:
        shutil.rmtree(survived, ignore_errors=True)
        survived.mkdir()
        for part in (file, log):
            shutil.copy(part, survived / part.name)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "_flush", keep)
        ask()
    return [entry.number for entry in opened(str(survived / file.name), policy(9), OTHER_IDENTITY).entries()]


def test_a_spend_that_returned_survives_a_power_failure(file, monkeypatch):
    ledger = opened(str(file), policy(9), IDENTITY)
    for number in range(1, 8):
        assert power_fails(file, monkeypatch, lambda: spend(ledger, pure("1/4"))) == list(range(number + 1))


def test_flushing_before_the_commit_is_caught(file, monkeypatch):
    """The planted bug: the log is brought to the disk, and then the commit is written into it."""
    ledger = opened(str(file), policy(9), IDENTITY)
    spend(ledger, pure("1/4"))
    lost_at(ledger, "COMMIT", lambda _: durable._flush(file.with_name("ledger.sqlite-wal")))
    monkeypatch.setattr(ledger._store, "_connected", replace(ledger._store._connected, settle=lambda _: None))
    assert power_fails(file, monkeypatch, lambda: spend(ledger, pure("1/4"))) == [0, 1]


class Watched:
    """A log whose flushes take a while, and who was let go although no flush had begun after their writing."""

    def __init__(self, folder: Path, commit: type[GroupCommit], monkeypatch) -> None:
        self.group = commit(folder / "log", folder / "counters", folder / "flushing")
        self.turn, self.clock = Lock(), count(1)
        self.flushes, self.early = [0], []
        monkeypatch.setattr(durable, "_flush", self.flush)

    def flush(self, _) -> None:
        began = next(self.clock)
        sleep(0.002)
        self.flushes.append(began)

    def write(self) -> None:
        for _ in range(10):
            with self.turn:
                written = next(self.clock)
                number = self.group.take_number()
            self.group.settle(number)
            if max(self.flushes) < written:
                self.early.append(number)


def test_one_flush_serves_many_and_nobody_goes_early(tmp_path, monkeypatch):
    watched = Watched(tmp_path, GroupCommit, monkeypatch)
    together(*[watched.write] * 8)
    assert watched.early == []
    assert len(watched.flushes) - 1 <= 60  # of 80 writes


def flushes_of_what_is_written_during_one(commit, folder, monkeypatch):
    """How many flushes it takes until an entry is let go that was written while the first flush ran."""
    group, flushes, during = commit(folder / "log", folder / "counters", folder / "flushing"), [], []

    def flush(_) -> None:
        flushes.append(len(during))
        if not during:
            during.append(group.take_number())

    monkeypatch.setattr(durable, "_flush", flush)
    group.settle(group.take_number())
    group.settle(during[0])
    return len(flushes)


def test_counting_after_the_flush_is_caught(tmp_path, monkeypatch):
    """The planted bug: what was written while the flush ran is taken for flushed."""

    class Late(GroupCommit):
        def settle(self, number: int) -> None:
            with durable.turn_of(self.flushing), durable.opened(self.counters, os.O_RDWR) as descriptor:
                if not number <= durable._counter(descriptor, 8):
                    durable._flush(self.log)
                    os.pwrite(descriptor, durable._counter(descriptor, 0).to_bytes(8, "big"), 8)

    sound, late = (tmp_path / name for name in ("sound", "late"))
    sound.mkdir(), late.mkdir()
    assert flushes_of_what_is_written_during_one(GroupCommit, sound, monkeypatch) == 2
    assert flushes_of_what_is_written_during_one(Late, late, monkeypatch) == 1


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 16, (9).to_bytes(8, "big") + (10**6).to_bytes(8, "big"), b"\xff" * 5, b"\xff" * 16]
)
def test_counters_that_a_crash_left_behind_let_nobody_go_early(tmp_path, monkeypatch, content):
    watched = Watched(tmp_path, GroupCommit, monkeypatch)
    (tmp_path / "counters").write_bytes(content)
    watched.write()
    assert watched.early == []


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    target = tmp_path / "file"
    replace_file(target, "old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no disk")))
    with pytest.raises(OSError, match="no disk"):
        replace_file(target, "new")
    assert target.read_text() == "old"


def test_a_missing_toolkit_is_an_error_with_the_line_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(StoreUnusable) as refused:
        store_module.connect("postgresql://db/ledger")
    assert refused.value.remedy == "run: pip install 'tacit[postgres]'"
