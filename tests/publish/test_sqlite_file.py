"""Files that their owner alone reads, and turns that end."""

import sqlite3
import stat

import pytest

from tacit.publish.sqlite_file import owned, turn


@pytest.fixture
def database(tmp_path):
    opened = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None, timeout=0)
    opened.execute("CREATE TABLE seen (number)")
    yield opened
    opened.close()


def seen(database):
    return [number for (number,) in database.execute("SELECT number FROM seen")]


def in_one_turn(database, *statements, then=None):
    with turn(database):
        for statement in statements:
            database.execute(statement)
        if then is not None:
            raise then


def test_a_turn_is_kept_at_its_end_and_undone_by_an_exception(database):
    in_one_turn(database, "INSERT INTO seen VALUES (1)")
    with pytest.raises(KeyboardInterrupt):
        in_one_turn(database, "INSERT INTO seen VALUES (2)", then=KeyboardInterrupt)
    assert seen(database) == [1]


def test_a_turn_that_the_database_undid_itself_says_why(database):
    database.execute("CREATE UNIQUE INDEX once ON seen (number)")
    with pytest.raises(sqlite3.IntegrityError, match="seen"):
        in_one_turn(database, "INSERT INTO seen VALUES (1)", "INSERT OR ROLLBACK INTO seen VALUES (1)")
    assert seen(database) == []


def test_nobody_else_writes_in_a_turn(database, tmp_path):
    other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None, timeout=0)
    with turn(database), pytest.raises(sqlite3.OperationalError, match="locked"), turn(other):
        pass
    in_one_turn(other, "INSERT INTO seen VALUES (3)")
    other.close()
    assert seen(database) == [3]


def test_a_turn_that_cannot_be_ended_is_undone(database, tmp_path):
    reader = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    assert seen(reader) == []
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        in_one_turn(database, "INSERT INTO seen VALUES (1)")
    reader.close()
    in_one_turn(database, "INSERT INTO seen VALUES (2)")
    assert seen(database) == [2]


def test_files_and_new_folders_are_their_owners(tmp_path):
    path = owned(tmp_path / "new" / "deeper" / "a.sqlite")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    path.write_text("kept")
    assert owned(path).read_text() == "kept"


def test_two_that_make_the_file_at_the_same_moment_both_get_it(tmp_path, monkeypatch):
    """Both looked before either made it."""
    path = owned(tmp_path / "a.sqlite")
    monkeypatch.setattr(type(path), "exists", lambda self: False)
    path.write_text("kept")
    assert owned(path).read_text() == "kept"
