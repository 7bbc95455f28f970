"""Processes for `make mutants`: tests that are loaded once, forks that run some of them, and code that is put in place."""

from __future__ import annotations

import gc
import importlib.abc
import importlib.util
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

OPTIONS = ("-m", "not slow", "-q", "-s", "--no-header", "--tb=no", "--doctest-modules", "-p", "no:cacheprovider", "-p", "no:xdist")
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of what is loaded before
OPTIONS += ("-p", "no:schemathesis", "-p", "no:anyio")  # of no use to tests of mechanisms, and slow to load
OPTIONS += ("-o", "timeout=600")  # seconds: a test that waits for a process which a mutant has stopped takes no processor time
MEMORY = 8 * 2**30
NOT_WHOLE = 71  # the exit code where a function cannot have its new code
MISPLACED = "the module is not the mutant"
UNLOADED = "what loads it"  # kills a mutant before any test runs
Say = Callable[[str], None]


@dataclass(eq=False)
class Session:
    """A plugin that takes the place of pytest's loop: gives the tests that were collected to whoever wants to run some of them."""

    work: Callable[[Session], None]
    items: list[Any] = field(default_factory=list)
    failed: str = ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        self.work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def first_failed(self, items: Sequence[Any], allowed: dict[str, float], say: Say) -> str:
        """The first test that fails; says each that begins, since one that needs too much time ends the process."""
        for item, following in zip(items, [*items[1:], None][: len(items)], strict=True):
            say(item.nodeid)
            limit_time(allowed[item.nodeid])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed
        return ""


def limit_time(seconds: float) -> None:
    """Processor time after which the kernel ends this process."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def loaded(root: Path, options: Sequence[str], tests: Sequence[str], *plugins: object) -> int:
    """Collects tests as pytest does, and works with them: one of the plugins is a `Session`."""
    return int(pytest.main([*OPTIONS, *options, "--rootdir", str(root), *tests], plugins=plugins))


def functions_of(file: str) -> list[FunctionType]:
    """All functions of a file, wherever they are kept."""
    return [each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__.co_filename == file]


def put_in_place(code: CodeType, functions: Sequence[FunctionType]) -> bool:
    """Gives every function of a file the code that a compiled file has for it; whether that was possible for all of them."""
    new = {(each.co_qualname, each.co_firstlineno): each for each in all_codes(code)}
    whole = True
    for function in functions:
        found = new.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if found is None or found.co_freevars != function.__code__.co_freevars:
            whole = False
        else:
            function.__code__ = found
    return whole


def all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from all_codes(each)


# --- processes ---------------------------------------------------------------------------------------------------------------


@dataclass
class Child:
    """A fork at work; `said` is all that it wrote, `code` its exit code, or the signal that ended it as a negative number."""

    pid: int
    pipe: int
    folder: str
    said: str = ""
    code: int | None = None


def forked(work: Callable[[Say], int | None], wait: bool = False) -> Child:
    """Does some work in a fork that prints nothing."""
    receive, send = os.pipe()
    folder = tempfile.mkdtemp(prefix="mutants-")
    pid = os.fork()
    if pid == 0:
        code = 70

        def say(text: str) -> None:
            write_whole(send, f"{text}\n".encode())

        try:
            os.close(receive)
            tempfile.tempdir = folder
            os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            code = int(work(say) or 0)
        except BaseException as error:
            say(f"{type(error).__name__}: {' '.join(str(error).split())}")
        finally:
            os._exit(code)
    os.close(send)
    child = Child(pid, receive, folder)
    if wait:
        finish([child])
    return child


def write_whole(pipe: int, text: bytes) -> None:
    while text:
        text = text[os.write(pipe, text) :]


def finish(children: list[Child]) -> Child:
    """Waits for the first of some forks that ends; what it left behind is removed."""
    while True:
        ready, _, _ = select.select([child.pipe for child in children], [], [])
        for child in [each for each in children if each.pipe in ready]:
            text = os.read(child.pipe, 1 << 20)
            child.said += text.decode(errors="replace")
            if not text:
                os.close(child.pipe)
                _, status = os.waitpid(child.pid, 0)
                child.code = os.waitstatus_to_exitcode(status)
                shutil.rmtree(child.folder, ignore_errors=True)
                children.remove(child)
                return child


def in_forks(tasks: Iterable[tuple[Any, Callable[[Say], object]]], jobs: int) -> Iterator[tuple[Any, Child]]:
    """Does tasks in forks, some at the same time; the tasks in the order in which they end."""
    running: list[Child] = []
    names: dict[int, Any] = {}
    for name, work in tasks:
        child = forked(work)
        running.append(child)
        names[child.pid] = name
        if len(running) == jobs:
            done = finish(running)
            yield names.pop(done.pid), done
    while running:
        done = finish(running)
        yield names.pop(done.pid), done


def killer(child: Child) -> str:
    """The test that killed a mutant, from what its process said; empty if it survived."""
    lines = child.said.splitlines()
    if lines[-1:] == [MISPLACED]:
        raise SystemExit("pytest has loaded a module in the place of its mutant, so no verdict means anything")
    if child.code == 0:
        return ""
    return lines[-1] if lines else UNLOADED


@dataclass(eq=False)
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads modules from code that is given, by their names."""

    codes: dict[str, CodeType]

    def pytest_sessionstart(self) -> None:
        """As a plugin it stays first, also before pytest's own finder."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        code = self.codes.get(fullname)
        return importlib.util.spec_from_file_location(fullname, code.co_filename, loader=self) if code else None

    def exec_module(self, module: Any) -> None:
        exec(self.codes[module.__name__], module.__dict__)  # noqa: S102  # the code of a module of tacit, with one edit

    def create_module(self, spec: object) -> None:
        return None
