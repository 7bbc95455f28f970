"""What tests of every chapter may ask for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from clusters import quick_session
from equality import EQUAL
from services import Missing, chromium_browser, fresh_database, postgres_server
from sharing import shared

# Time is measured in benchmarks, never in tests. `make test` tries the same examples every time; `make verify` tries new ones.
# `make mutants` wants to know whether a test fails, and not the shortest example.
BUSY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("test", derandomize=True, **BUSY)
settings.register_profile("verify", **BUSY)
settings.register_profile("mutants", derandomize=True, phases=(Phase.explicit, Phase.generate), **BUSY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))

# What a terminal, another program's settings or a build server would change in what is printed, asked or connected to.
OF_OTHERS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CLICOLOR_FORCE", "GITHUB_ACTIONS", "NOTIFY_SOCKET")
OWN = ("TACIT_CATALOG", "TACIT_ANALYST", "TACIT_SERVER", "TACIT_TOKEN")
for name in [name for name in os.environ if name in (*OF_OTHERS, *OWN) or name.startswith("PG")]:
    del os.environ[name]

# Some tests press Ctrl-C in a process of their own, which ignores it where this one does: a shell starts jobs in the background so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = count()


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The register of ledgers of this user is never touched: the tests and what they start have state folders of their own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def _own_state_folder(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each test: the same few rows in two tests are not one data set."""
    monkeypatch.setenv("XDG_STATE_HOME", str(state_folder / f"{next(TESTS)}"))


@pytest.fixture(scope="session", autouse=True)
def in_this_process() -> None:
    """Questions run in this process, where tests can watch them and put bugs in; a test of a process of its own says so."""
    from tacit import data_set

    data_set.OWN_PROCESS = False


@pytest.fixture(scope="session", autouse=True)
def second_opinions() -> Iterator[None]:
    """Every quote made in this process is checked by the program that checks certificates: it shares no code with prices."""
    from checked import SecondOpinion
    from tacit.query.price.quote import Quote

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Quote, "event", property(SecondOpinion(Quote.event.fget)))
        yield


@pytest.fixture
def disagreeing() -> None:
    """For a test that plants a bug in prices: the checker must disagree."""


@pytest.fixture
def otherwise_priced() -> None:
    """For a test of prices that are not today's, or whose quotes nobody could be given: the checker may disagree."""


@pytest.fixture(autouse=True)
def _both_agree(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test fails if the checker disagrees with a quote that was made in it; one with a planted bug, if it does not.

    Fixtures of a module come before the first test that asks for them, and their disagreements are that test's.
    """
    from checked import DISAGREEMENTS

    yield
    found = DISAGREEMENTS.copy()
    DISAGREEMENTS.clear()
    if "disagreeing" in request.fixturenames:
        assert found, "the checker of certificates does not see the planted bug"
    elif "otherwise_priced" not in request.fixturenames:
        assert not found


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """A runner of commands would make all of them anew for each that it runs, 0.08 s; a command keeps nothing of a run."""
    import typer.testing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.testing._get_command))
        yield


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of the tests share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def postgres_url(run_folder: Path) -> Iterator[str]:
    """A database of this test process's own, on the one PostgreSQL server of the run."""
    with _or_skipped(shared("postgres", run_folder)) as server:
        yield fresh_database(server)


@pytest.fixture(scope="module")
def postgres_alone() -> Iterator[str]:
    """A PostgreSQL server of its own, for tests that change the settings of a server."""
    with _or_skipped(postgres_server()) as server:
        yield server


@pytest.fixture(scope="session")
def browser(run_folder: Path) -> Iterator[Any]:
    """The one Chromium of the run: what one context keeps, no other context sees."""
    with _or_skipped(shared("chromium", run_folder)) as address, chromium_browser(address) as connected:
        yield connected


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of the run, on this machine: all files with "spark" in their name run in one process."""
    with _or_skipped(quick_session()) as session:
        yield session


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files go to whoever is idle, but all that use Spark to the same process: its session costs more than its tests."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            return "spark" if "spark" in Path(file).name else file

    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Adds what a process of xdist has compared."""
    EQUAL.update(getattr(node, "workeroutput", {}).get("equal", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["equal"] = dict(EQUAL)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How much was the same on both engines, where that was compared."""
    if EQUAL:
        questions, preparations = EQUAL["questions"], EQUAL["preparations"]
        terminalreporter.write_line(f"{questions} questions and {preparations} preparations equal on both engines")


@contextmanager
def _or_skipped(server: AbstractContextManager[Any]) -> Iterator[Any]:
    try:
        with server as address:
            yield address
    except Missing as missing:
        pytest.skip(str(missing))
