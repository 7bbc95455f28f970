"""The pace of a machine, measured with generated data: how much longer a question takes than its worst work states.

Nothing of the owner's data, and no question that an analyst asked, enters. Every question is asked a few times with budgets of its
own, so that each is paid for, run and released; the slowest one counts, and the proposal leaves room for as much again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path

from tacit.doors.cli.demo.hospital import MOST_VISITS, PATIENTS, build
from tacit.files import write
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.price.work import BESIDE, worst
from tacit.session import DataSet
from tacit.session import open as open_data

QUESTIONS = (
    "SELECT COUNT(*) AS n FROM patients WHERE age = 41",
    "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex",
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward",
    "SELECT diagnosis, AVG(cost) AS cost FROM visits JOIN patients ON visits.patient_id = patients.id GROUP BY diagnosis",
    "SELECT COUNT(*) AS n FROM visits JOIN patients ON visits.patient_id = patients.id WHERE note LIKE '%pain%'",
    "SELECT MEDIAN(cost) AS cost FROM visits",
)
TIMES = 5
ROOM = 2  # times the slowest: other work on the machine, and caches that are cold
STEP = Fraction(1, 2)
STATE = "XDG_STATE_HOME"


@dataclass(frozen=True, slots=True)
class Timed:
    """A question on generated data: the milliseconds that it took at most, and those that its worst work states."""

    question: str
    took: float
    stated: float

    @property
    def ratio(self) -> float:
        """How much longer it took."""
        return self.took / self.stated


def measurements(folder: Path) -> Iterator[Timed]:
    """The times of the questions on a generated hospital in a folder."""
    place = build(folder)
    text = place.read_text("utf-8").replace(f"= {2 * PATIENTS * MOST_VISITS}\n", f"= {PATIENTS * MOST_VISITS}\n")
    write(place, text.replace(f"= {2 * PATIENTS} ", f"= {PATIENTS} "))
    with _register_in(folder), open_data(place, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("the pace of this machine")
        data.session("ana").sql(QUESTIONS[1], epsilon=Fraction(1, 100))  # what is loaded with the first question is loaded once
        for question in QUESTIONS:
            yield Timed(question, max(_times(data, question)), stated_work(data, question))


@contextmanager
def _register_in(folder: Path) -> Iterator[None]:
    """The register of ledgers in a folder of its own: the generated hospital may be known here, as that of a demonstration."""
    before = os.environ.get(STATE)
    os.environ[STATE] = str(folder / "state")
    try:
        yield
    finally:
        os.environ.pop(STATE)
        os.environ.update({} if before is None else {STATE: before})


def stated_work(data: DataSet, question: str) -> float:
    """The milliseconds that the worst work of a question states at a pace of 1, with what is beside it."""
    asked = parse(question)
    return float(worst(rewrite(asked, data.as_prepared, data.public)).steps + BESIDE) / 10**6


def _times(data: DataSet, question: str) -> Iterator[float]:
    for number in range(TIMES):
        before = time.monotonic()
        data.session("ana").sql(question, epsilon=Fraction(1, 1000) + Fraction(number, 10**6), fresh=True)
        yield 1000 * (time.monotonic() - before)


def proposal(times: list[Timed]) -> Fraction:
    """The pace to declare: that of the slowest question with room, in halves, and never below a half.

    >>> proposal([Timed("", 30.0, 40.0), Timed("", 100.0, 90.0)])
    Fraction(5, 2)
    """
    return max(STEP, ceil(Fraction(ROOM * max(each.ratio for each in times)) / STEP) * STEP)


def as_declared(pace: Fraction) -> str:
    r"""The lines of tacit.toml.

    >>> as_declared(Fraction(5, 2))
    '[server]\npace = 2.5'
    """
    return f"[server]\npace = {float(pace):g}"
