"""What each trick of a cold start saves: `python -m benchmarks cold_start`. Figures for docs/decisions/0017-cold-start.md.

A command runs as it is, and with one trick undone, in turns, so that a busy machine slows both. Times are processor time, user and
system, of the command and of the processes that it starts, on the hospital of `tacit demo`, with bytecode written in advance.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.tables import machine, markdown, write_table

TURNS = 9
QUESTION = "SELECT COUNT(*) FROM visits WHERE cost < {number}"
SQL, EXPLAIN = ("sql", QUESTION, "--epsilon", "0.0001"), ("explain", QUESTION, "--epsilon", "0.0001")
RUN = "import sys\nsys.argv = {words!r}\n{undone}from tacit.doors.cli import main\nmain()\n"


@dataclass(frozen=True)
class Trick:
    """One trick, a command that it serves, and the lines of Python that undo it."""

    name: str
    words: tuple[str, ...]
    undone: str


TRICKS = (
    Trick(
        "the answering process is forked, not started anew",
        SQL,
        "import tacit.release.elsewhere.processes as p\np._one_thread = lambda: False\n",
    ),
    Trick(
        "the answering process is started ahead",
        SQL,
        "import tacit.release.elsewhere.processes as p\np.start_ahead = lambda: None\n",
    ),
    Trick("BLAS starts no threads", SQL, "import os\nos.environ['OPENBLAS_NUM_THREADS'] = '2'\n"),
    Trick("Ibis imports one dialect", SQL, "import tacit.query.engines.duckdb as d\nd.dialects_on_demand = lambda: None\n"),
    Trick(
        "a command imports its own module",
        SQL,
        "import tacit.doors.cli.commands as c\nall = c.application\nc.application = lambda _: all()\n",
    ),
    Trick("a command that answers once collects no garbage", SQL, "import gc\ngc.disable = lambda: None\n"),
    Trick("the process ends without taking itself apart", SQL, "import tacit.doors.cli as c\nc._leave = sys.exit\n"),
    Trick("the same", EXPLAIN, "import tacit.doors.cli as c\nc._leave = sys.exit\n"),
    Trick(
        "options in plain ASCII need no pydantic",
        SQL,
        "import tacit.doors.cli.commands as c\nc._needs_no_reading = lambda *_: False\n",
    ),
    Trick("the same", ("budget",), "import tacit.doors.cli.commands as c\nc._needs_no_reading = lambda *_: False\n"),
    Trick("a ledger in a file needs no SQLAlchemy", SQL, "import sqlalchemy\n"),
    Trick("libraries are imported where they are used", SQL, "import altair, pyarrow, rich.progress, scipy.special\n"),
    Trick(
        "public names are loaded on first use", ("--version",), "import tacit\n[getattr(tacit, name) for name in tacit.__all__]\n"
    ),
)


def seconds(folder: Path, trick: Trick, undone: str, number: int) -> float:
    """The processor time of a command and of all that it starts."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings = {**known, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "TACIT_ANALYST": "ana"}
    script = RUN.format(words=["tacit", *(word.format(number=number) for word in trick.words)], undone=undone)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script], cwd=folder / "hospital", env=settings, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, trick: Trick, numbers: range) -> list[str]:
    """A line of the table: the medians with and without a trick, after a turn that writes bytecode. No question is asked twice."""
    pairs = [[seconds(folder, trick, "", 2 * number), seconds(folder, trick, trick.undone, 2 * number + 1)] for number in numbers]
    times = [median(each) for each in zip(*pairs[1:], strict=True)]
    return [trick.name, f"tacit {trick.words[0]}", *(f"{1000 * each:.0f}" for each in times), f"{1000 * (times[1] - times[0]):.0f}"]


def run() -> None:
    """Measure every trick, and write the table."""
    import tacit
    from tacit.data.prepare import prepare
    from tacit.doors.cli.demo import hospital

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hospital").mkdir()
        with tacit.open(hospital.build(folder / "hospital")) as data:
            prepare(data.catalog)
            data.begin_scratch("a benchmark")
        steps = (range(start, start + TURNS + 1) for start in range(100, 10**6, TURNS + 1))
        lines = [measure(folder, trick, numbers) for trick, numbers in zip(TRICKS, steps, strict=False)]
    headers = ["trick", "command", "with it, ms", "without, ms", "saved, ms"]
    write_table("cold_start", f"{machine('ibis-framework', 'typer')} Medians of {TURNS} turns.\n\n{markdown(headers, lines)}")
