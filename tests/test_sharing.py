"""One server for all processes of a run: started once, stopped with its last user, whatever ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import services
import sharing

SUPPORT = Path(sharing.__file__).parent
KEEPER = """
import sys
sys.path.insert(0, {support!r})
from contextlib import contextmanager
from pathlib import Path
from services import Missing
from sharing import keep

@contextmanager
def counted():
    with Path({log!r}).open("a") as log:
        log.write("started\\n")
        log.flush()
        try:
            yield f"server {{len(Path({log!r}).read_text().split())}}"
        finally:
            log.write("stopped\\n")

def missing():
    raise Missing("install it")

keep(sys.argv[1], Path(sys.argv[2]), {{"counted": counted, "missing": missing, "broken": lambda: 1 / 0}})
"""
USER = """
import sys
sys.path.insert(0, {support!r})
from pathlib import Path
from sharing import shared

with shared("counted", Path({folder!r}), Path({keeper!r})) as address:
    print(address, flush=True)
    sys.stdin.readline()
"""


class Run:
    """A run of tests with a server that notes when it starts and stops."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.keeper = folder, folder / "log", folder / "keeper.py"
        self.keeper.write_text(KEEPER.format(support=str(SUPPORT), log=str(self.log)))
        self.users: list[subprocess.Popen[str]] = []

    def user(self) -> subprocess.Popen[str]:
        """A process that uses the server until it is told to let go."""
        script = USER.format(support=str(SUPPORT), folder=str(self.folder), keeper=str(self.keeper))
        command = [sys.executable, "-c", script]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.users.append(subprocess.Popen(command, text=True, start_new_session=True, **pipes))
        return self.users[-1]

    def noted(self) -> list[str]:
        return self.log.read_text().split()

    def close(self) -> None:
        for user in self.users:
            user.kill()
            user.communicate()


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path)
    yield run
    run.close()


def let_go(user) -> int:
    user.communicate("\n")
    return user.returncode


def ends(run) -> bool:
    """Whether the server stops in the end, with nobody to wait for it."""
    end = time.monotonic() + 120
    while run.noted() != ["started", "stopped"] and time.monotonic() < end:
        time.sleep(0.01)
    return run.noted() == ["started", "stopped"]


def test_all_processes_have_one_server_and_the_last_one_ends_it(run):
    users = [run.user() for _ in range(4)]
    assert {user.stdout.readline() for user in users} == {"server 1\n"}
    assert [let_go(user) for user in users[:3]] == [0, 0, 0]
    assert run.noted() == ["started"]
    assert let_go(users[3]) == 0
    assert run.noted() == ["started", "stopped"], "it has stopped when the last user returns"
    assert sorted(path.name for path in run.folder.glob("counted.*")) == ["counted.turn", "counted.users"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_user_that_is_killed_does_not_take_it_away_and_does_not_leave_it_behind(number, run):
    """The whole group gets the signal, as from a terminal: the keeper, whom the first user started, is not in it."""
    first, second = run.user(), run.user()
    first.stdout.readline()
    second.stdout.readline()
    os.killpg(first.pid, number)
    assert first.wait(120) != 0
    late = run.user()
    assert late.stdout.readline() == "server 1\n"
    assert run.noted() == ["started"]
    for user in (second, late):
        os.killpg(user.pid, number)
    assert ends(run)


def test_whoever_comes_after_the_end_has_a_server_of_their_own(run):
    for number in (1, 3):
        user = run.user()
        assert user.stdout.readline() == f"server {number}\n"
        assert let_go(user) == 0
    assert run.noted() == ["started", "stopped"] * 2


def test_what_is_missing_is_told_to_every_user(run):
    for _ in range(2):
        with pytest.raises(services.Missing, match="install it"), sharing.shared("missing", run.folder, run.keeper):
            pass


def test_a_server_that_does_not_start_fails_with_its_reason(run):
    with pytest.raises(AssertionError, match="ZeroDivisionError"), sharing.shared("broken", run.folder, run.keeper):
        pass


def test_processes_of_one_run_have_databases_of_their_own(postgres_url):
    """Two that are made on the same server see nothing of each other."""
    import psycopg

    one, other = services.fresh_database(postgres_url), services.fresh_database(postgres_url)
    with psycopg.connect(one) as connection:
        connection.execute("CREATE TABLE seen (n int)")
    with psycopg.connect(other) as connection:
        assert connection.execute("SELECT to_regclass('seen')").fetchone() == (None,)


def test_contexts_of_one_browser_keep_nothing_for_each_other(browser, run_folder, tmp_path):
    """Also of two processes that connect to it: the same page, a value in its storage, and another connection's look."""
    (tmp_path / "page.html").write_text("<p>")
    look = "\n".join(
        (
            f"import sys; sys.path.insert(0, {str(SUPPORT)!r})",
            "from services import chromium_browser",
            f"with chromium_browser({sharing._address('chromium', run_folder)!r}) as browser, browser.new_context() as context:",
            f"    page = context.new_page(); page.goto({(tmp_path / 'page.html').as_uri()!r})",
            "    print(page.evaluate('[localStorage.length, document.cookie]'), len(browser.contexts))",
        )
    )
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.evaluate("localStorage.setItem('name', 'value')")
        other = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
        assert other.stdout == "[0, ''] 1\n"
        assert page.evaluate("localStorage.length") == 1, "the other connection closed nothing here"
