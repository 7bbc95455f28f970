"""Files are written whole or not at all, and refused in one wording; turns of SQLite files end."""

import errno
import os
import sqlite3
import stat

import pytest

from tacit import files
from tacit.errors import InvalidInput
from tacit.files import owned, turn


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


# --- written whole or not at all ---------------------------------------------------------------------------------------------


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def open_mask():
    old = os.umask(0o022)
    yield
    os.umask(old)


@pytest.mark.parametrize("content", ["caf\u00e9", "caf\u00e9".encode(), lambda file: file.write("caf\u00e9".encode())])
def test_a_file_is_written_with_its_folders(tmp_path, content):
    place = tmp_path / "new" / "deep" / "a.txt"
    assert files.write(place, content) == place
    assert (place.read_text("utf-8"), left_in(place.parent)) == ("caf\u00e9", ["a.txt"])


def test_modes_are_the_owners_where_asked_and_else_as_usual_or_as_before(tmp_path, open_mask):
    assert mode(files.write(tmp_path / "a", "x")) == 0o644
    (tmp_path / "a").chmod(0o640)
    assert mode(files.write(tmp_path / "a", "y")) == 0o640, "what was kept from others stays so"
    assert mode(files.write(tmp_path / "a", "z", private=True)) == 0o600
    private = files.write(tmp_path / "new" / "b", "x", private=True)
    assert (mode(private), mode(private.parent)) == (0o600, 0o700)


def test_a_private_file_is_never_readable_by_others_while_it_is_written(tmp_path, open_mask):
    seen = []
    files.write(tmp_path / "a", lambda file: seen.append([mode(each) for each in tmp_path.iterdir()]), private=True)
    assert seen == [[0o600]]


class Killed(BaseException):
    pass


def stopped_at(step, monkeypatch):
    """Stops the writer as if it were killed, at one of the calls that it makes to the system."""

    def stop(*_):
        raise Killed

    monkeypatch.setattr(os, step, stop)


@pytest.mark.parametrize("step", ["open", "fdopen", "fsync", "replace"])
def test_whoever_is_stopped_leaves_the_old_file_whole(tmp_path, monkeypatch, step):
    place = files.write(tmp_path / "a", "old")
    stopped_at(step, monkeypatch)
    with pytest.raises(Killed):
        files.write(place, "new")
    assert place.read_text() == "old"


def test_a_content_that_fails_half_way_leaves_nothing(tmp_path):
    def half(file):
        file.write(b"half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        files.write(tmp_path / "a", half)
    assert left_in(tmp_path) == []


def order_of_calls(write, tmp_path, monkeypatch):
    """What the system is asked for, in order: fsync of files and folders, and renames."""
    seen = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda at: (seen.append("folder" if stat.S_ISDIR(os.fstat(at).st_mode) else "file"), fsync(at))[1]
    )
    monkeypatch.setattr(os, "replace", lambda *given: (seen.append("rename"), replace(*given))[1])
    write(tmp_path / "a")
    return seen


def test_a_file_is_on_the_disk_before_its_name_and_the_name_before_we_go_on(tmp_path, monkeypatch):
    assert order_of_calls(lambda place: files.write(place, "x"), tmp_path, monkeypatch) == ["file", "rename", "folder"]


def test_so_are_files_that_tacit_keeps(tmp_path, monkeypatch):
    assert order_of_calls(lambda place: files.replace_file(place, "x"), tmp_path, monkeypatch) == ["file", "rename", "folder"]


def test_a_writer_that_does_not_wait_for_the_disk_is_caught(tmp_path, monkeypatch):
    def careless(place):
        place.with_name("new").write_text("x")
        os.replace(place.with_name("new"), place)

    assert order_of_calls(careless, tmp_path, monkeypatch) == ["rename"]


def test_several_files_take_their_places_after_all_are_written(tmp_path):
    one, other = files.write(tmp_path / "one", "old"), tmp_path / "other"

    def fail(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InvalidInput, match=r"other cannot be written"):
        files.write_together({one: "new", other: fail}, after="it is paid for")
    assert (one.read_text(), left_in(tmp_path)) == ("old", ["one"])


def test_two_writers_at_once_never_mix(tmp_path):
    """The second one writes while the first one does; the last to end wins, whole."""
    place = tmp_path / "a"

    def slow(file):
        file.write(b"first, ")
        files.write(place, "second")
        file.write(b"whole")

    files.write(place, slow)
    assert (place.read_text(), left_in(tmp_path)) == ("first, whole", ["a"])


def test_an_existing_file_is_replaced_with_force_alone(tmp_path):
    place = files.write(tmp_path / "a", "old", force=False)
    with pytest.raises(InvalidInput, match="a already exists; choose another file"):
        files.write(place, "new", force=False)
    with pytest.raises(InvalidInput, match="already exists"):
        files.check(place, force=False)
    assert place.read_text() == "old"
    assert files.write(place, "new").read_text() == "new"


def test_without_force_a_file_that_comes_meanwhile_stays(tmp_path):
    place = tmp_path / "a"
    with pytest.raises(InvalidInput, match="already exists"):
        files.write(place, lambda file: place.write_text("theirs"), force=False)
    assert (place.read_text(), left_in(tmp_path)) == ("theirs", ["a"])


def test_without_force_also_where_there_are_no_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    assert files.write(tmp_path / "a", "x", force=False).read_text() == "x"
    assert left_in(tmp_path) == ["a"]


@pytest.mark.parametrize("links", [True, False])
def test_another_name_of_a_file_or_a_copy_where_there_are_no_hard_links(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").chmod(0o600)
    files.link_or_copy(tmp_path / "a", tmp_path / "b")
    assert ((tmp_path / "b").read_text(), stat.S_IMODE((tmp_path / "b").stat().st_mode)) == ("x", 0o600)
    assert os.path.samefile(tmp_path / "a", tmp_path / "b") == links
    (tmp_path / "c").write_text("theirs")
    with pytest.raises(FileExistsError):
        files.link_or_copy(tmp_path / "a", tmp_path / "c")
    assert (tmp_path / "c").read_text() == "theirs"


def make(kind, tmp_path):
    place = tmp_path / "out"
    if kind == "link":
        (tmp_path / "real").write_text("real")
        place.symlink_to(tmp_path / "real")
    elif kind == "dangling":
        place.symlink_to(tmp_path / "nowhere")
    elif kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "below a file":
        place.write_text("real")
        place = place / "a"
    return place


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("link", "out is a symbolic link, and nothing is written through a link; name the file that it leads to"),
        ("dangling", "out is a symbolic link"),
        ("folder", "out is a folder; choose a file in it"),
        ("pipe", "out is not a regular file; choose another file"),
        ("below a file", "out/a cannot be written: "),
    ],
)
def test_what_is_not_a_plain_file_is_refused_before_the_work_and_at_it(tmp_path, kind, words):
    place = make(kind, tmp_path)
    before = left_in(tmp_path)
    for attempt in (files.check, lambda path: files.write(path, "x")):
        with pytest.raises(InvalidInput) as refused:
            attempt(place)
        assert words in str(refused.value)
    assert left_in(tmp_path) == before
    if kind == "link":
        assert (tmp_path / "real").read_text() == "real"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "a is not writable; change the permissions, or choose another folder"),
        (errno.EROFS, "a is not writable"),
        (errno.ENOSPC, "a cannot be written: the disk is full; free some space, or choose another disk"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EIO, "a cannot be written (Input/output error); choose another file"),
    ],
)
def test_every_trouble_has_its_words_and_a_remedy(tmp_path, monkeypatch, number, words):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    for attempt in (files.check, lambda path: files.write(path, "x")):
        with pytest.raises(InvalidInput) as refused:
            attempt(tmp_path / "a")
        assert words in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_was_made_read_only_stays(tmp_path):
    place = files.write(tmp_path / "a", "kept")
    place.chmod(0o400)
    with pytest.raises(InvalidInput, match="a is not writable"):
        files.write(place, "new")
    assert place.read_text() == "kept"


def test_checking_leaves_nothing_behind(tmp_path):
    files.write(tmp_path / "a", "kept")
    assert files.check(tmp_path / "a").read_text() == "kept"
    assert not files.check(tmp_path / "new" / "b").exists()
    assert left_in(tmp_path / "new") == []


def test_what_a_killed_process_left_is_stepped_over(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_numbers", iter(range(9)))
    (tmp_path / f".tacit-{os.getpid()}-0.new").write_text("half")
    assert files.write(tmp_path / "a", "whole").read_text() == "whole"


def test_a_folder_that_cannot_be_synced_is_no_reason_to_fail(tmp_path, monkeypatch):
    fsync = os.fsync

    def refuse(at):
        if stat.S_ISDIR(os.fstat(at).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(at)

    monkeypatch.setattr(os, "fsync", refuse)
    assert files.write(tmp_path / "a", "x").read_text() == "x"
