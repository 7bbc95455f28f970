"""The one place that writes files: each is written whole or not at all.

The content goes into a temporary file in the same folder. That file is on the disk (fsync) before a rename puts it in place, and
the rename is on the disk (fsync of the folder) before the call returns. So a crash leaves the old file or the new one, and readers
never see half a file. A file for its owner alone has mode 600 from the moment it exists. Nothing is written through a link.

`write` and `check` are for files that a user names: their errors are `InvalidInput`, with common messages. The others are for files
that tacit keeps for itself: they raise `OSError`, and the store, the ledger and the register explain it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

from tacit.errors import InvalidInput

if TYPE_CHECKING:
    import sqlite3

Content = str | bytes | Callable[[BinaryIO], object]  # a function receives the open file, and writes to it

OWNER, EVERYBODY = 0o600, 0o666  # modes; the umask of the process restricts the second
OWNER_ALONE = 0o077  # the umask: removes all permissions of group and others
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

NOT_WRITABLE = ("is not writable", "change the permissions, or choose another folder")
FULL = ("cannot be written: the disk is full", "free some space, or choose another disk")
TROUBLES: Mapping[int, tuple[str, str]] = {
    errno.EEXIST: ("already exists", "choose another file, or remove this one"),
    errno.EISDIR: ("is a folder", "choose a file in it"),
    errno.ELOOP: ("is a symbolic link, and nothing is written through a link", "name the file that it leads to"),
    errno.ENODEV: ("is not a regular file", "choose another file"),
    errno.ENOENT: ("cannot be written: its folder does not exist", "create the folder"),
    errno.ENOTDIR: ("cannot be written: a part of its path is not a folder", "choose another folder"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), NOT_WRITABLE),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), FULL),
}
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # from file systems without hard links
TURNS = 10  # times that a log is opened anew because another process put it aside

_numbers = count()


# --- files that a user names ---


def write(place: str | Path, content: Content, *, private: bool = False, force: bool = True, after: str = "") -> Path:
    """Write one file, and return its path. Missing folders are created.

    `private` makes it readable by its owner alone. Without `force`, an existing file is refused. `after` adds to an error what has
    already happened, such as a spend.
    """
    path = Path(place)
    write_together({path: content}, private=private, force=force, after=after)
    return path


def write_together(files: Mapping[Path, Content], *, private: bool = False, force: bool = True, after: str = "") -> None:
    """Write several files. None is put in place before all of them are on the disk; then they follow in the order given."""
    made: dict[Path, Path] = {}
    place = next(iter(files))
    try:
        for place, content in files.items():
            _make_folder(place, private)
            _refuse_others(place, force)
            made[place], descriptor = _beside(place, OWNER if private else EVERYBODY)
            _fill(descriptor, content, None if private else place)
        for place, new in made.items():
            (put if force else _put_first)(new, place)
    except OSError as error:
        raise not_written(place, error, after) from None
    finally:
        for new in made.values():
            with suppress(OSError):
                new.unlink()


def check(place: str | Path, *, private: bool = False, force: bool = True) -> Path:
    """The path, if `write` can write there. Call it before work or budget is spent on the content.

    Missing folders are created. Nothing else is left behind, and an existing file is not changed.
    """
    path = Path(place)
    try:
        _make_folder(path, private)
        _refuse_others(path, force)
        new, descriptor = _beside(path, OWNER)
        os.close(descriptor)
        new.unlink()
    except OSError as error:
        raise not_written(path, error) from None
    return path


def check_links(place: Path) -> None:
    """Refuse a path that the system cannot follow, for example because its links form a circle. It need not exist."""
    try:
        os.path.realpath(place, strict=True)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInput(f"{place} cannot be written: its symbolic links form a circle; choose another folder") from None
        raise not_written(place, error) from None


def not_written(place: Path, error: OSError, after: str = "") -> InvalidInput:
    """The error to raise when the system refuses a file; the system's reason contains no data.

    >>> print(not_written(Path("a.csv"), FileExistsError(errno.EEXIST, "")))
    a.csv already exists; choose another file, or remove this one
    """
    reason = f"cannot be written ({error.strerror or type(error).__name__})"
    what, remedy = TROUBLES.get(error.errno or 0, (reason, "choose another file"))
    return InvalidInput("; ".join([f"{place} {what}", *([after] if after else []), remedy]))


def _refuse_others(place: Path, force: bool) -> None:
    """Refuse to replace what is not a plain file; without `force`, also a plain one."""
    try:
        status = os.lstat(place)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    if not force:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    if not os.access(place, os.W_OK):  # a read-only file is meant to stay
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


# --- files that tacit keeps ---


def replace_file(file: Path, content: Content) -> None:
    """Replace a file, readable by its owner alone; a crash leaves the old file or the new one, whole."""
    new, descriptor = _beside(file, OWNER)
    try:
        _fill(descriptor, content)
        put(new, file)
    finally:
        new.unlink(missing_ok=True)


def write_scratch(file: Path, content: Content) -> None:
    """Write a temporary file for its owner alone, without waiting for the disk."""
    _fill(os.open(file, NEW, OWNER), content, synced=False)


def put(new: Path, place: Path) -> None:
    """Replace a file durably by one that is already on the disk."""
    os.replace(new, place)
    sync_folder(place.parent)


def put_private(new: Path, place: Path) -> None:
    """Replace a file by one that a library wrote, readable by its owner alone."""
    new.chmod(OWNER)
    _sync(new)
    put(new, place)


def link_or_copy(file: Path, place: Path) -> None:
    """Give a file that never changes another name, which must be free; a copy where the file system has no hard links.

    Neither waits for the disk: `put_private` does, when the file is put in its place.
    """
    try:
        os.link(file, place)
    except OSError:
        with file.open("rb") as content:
            write_scratch(place, lambda new: shutil.copyfileobj(content, new))


def append_line(file: Path, line: str, largest: int, older: int = 4) -> None:
    """Append a line to a log for its owner alone. A log above `largest` bytes is first put aside, see `put_aside`.

    Writers take turns (flock), so that a log that several find too large is put aside once, and no line goes into an older one.
    """
    make_private_folder(file.parent)
    for _ in range(TURNS):
        with opened(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(file, descriptor) or (os.fstat(descriptor).st_size > largest and put_aside(file, older)):
                continue  # another one has the name now
            os.fchmod(descriptor, OWNER)
            os.write(descriptor, f"{line}\n".encode("ascii", "backslashreplace"))
            return


def put_aside(file: Path, older: int) -> bool:
    """Rename a log to end in `.1`, an earlier one in `.2`, and so on up to `older`; False for one who may only write it."""
    names = [file, *(file.with_name(f"{file.name}.{number + 1}") for number in range(older))]
    try:
        for former, latter in reversed(list(pairwise(names))):
            if former.exists():
                os.replace(former, latter)
    except PermissionError:
        return False
    return True


def _is_at(file: Path, descriptor: int) -> bool:
    """Whether an open file is the one of that name."""
    try:
        return os.path.samestat(file.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def owned(path: Path) -> Path:
    """The path of a file that a library will write, created empty for its owner alone if it is missing; so are its folders."""
    make_private_folder(path.absolute().parent)
    if not path.exists():
        with opened(path, os.O_WRONLY | os.O_CREAT):  # also if another process creates it at this moment
            pass
    return path


def create_private(file: Path) -> bool:
    """Create an empty file for its owner alone; False if it already exists."""
    try:
        with opened(file, os.O_RDWR | os.O_CREAT | os.O_EXCL):
            return True
    except FileExistsError:
        return False


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, for their owner alone."""
    for each in reversed((folder.absolute(), *folder.absolute().parents)):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of a file, which is for its owner alone if it is created here."""
    descriptor = os.open(path, flags, OWNER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def held_open(path: Path) -> int:
    """A descriptor of a file that stays open for reading and writing; the file is created for its owner alone."""
    make_private_folder(path.absolute().parent)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER)


def sync_folder(folder: Path) -> None:
    """Make names created or replaced in the folder survive a power failure."""
    with opened(folder, os.O_RDONLY) as descriptor:
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a file system that does not sync folders
                raise


_turn = Lock()
_before: list[int] = []  # the umask before each preparation; the first is that of the process


@contextmanager
def files_of_the_owner() -> Iterator[None]:
    """Files created meanwhile, by any library, have mode 600, and folders 700.

    The umask belongs to the whole process. So the first preparation to begin sets it, and the last one to end restores it. Files
    that other threads create in between are more private than usual, never less.
    """
    with _turn:
        _before.append(os.umask(OWNER_ALONE))
    try:
        yield
    finally:
        with _turn:
            mask = _before.pop()
            if not _before:
                os.umask(mask)


@contextmanager
def turn(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction of a SQLite file with exclusive write access: durable at the end, undone by an exception.

    A transaction that cannot be committed (the disk is full, a reader takes too long) is also undone: left open, it would block all
    later ones.

    >>> import sqlite3
    >>> database = sqlite3.connect(":memory:", isolation_level=None)
    >>> with turn(database):
    ...     _ = database.execute("CREATE TABLE seen (number)")
    >>> database.in_transaction, database.execute("SELECT count(*) FROM seen").fetchone()
    (False, (0,))
    >>> database.close()
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


# --- how ---


def _make_folder(place: Path, private: bool) -> None:
    try:
        if private:
            make_private_folder(place.parent)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None


def _beside(place: Path, mode: int) -> tuple[Path, int]:
    """A new file in the same folder, and its descriptor; two writers never share one."""
    while True:
        new = place.with_name(f".tacit-{os.getpid()}-{next(_numbers)}.new")
        with suppress(FileExistsError):  # left by a killed process with the same number, or by another machine
            return new, os.open(new, NEW, mode)


def _fill(descriptor: int, content: Content, like: Path | None = None, synced: bool = True) -> None:
    """Write a new file, and wait until it is on the disk. It has the mode of the file `like` that it replaces, if any."""
    with os.fdopen(descriptor, "wb") as file:
        with suppress(FileNotFoundError):
            if like is not None:
                os.fchmod(descriptor, stat.S_IMODE(like.stat().st_mode) & 0o777)
        if callable(content):
            content(file)
        else:
            file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        if synced:
            os.fsync(descriptor)


def _sync(file: Path) -> None:
    with opened(file, os.O_RDONLY) as descriptor:
        os.fsync(descriptor)


def _put_first(new: Path, place: Path) -> None:
    """Put a file at a path that must still be free: a hard link fails where a rename would replace."""
    try:
        os.link(new, place)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _refuse_others(place, force=False)
        os.replace(new, place)
    sync_folder(place.parent)
