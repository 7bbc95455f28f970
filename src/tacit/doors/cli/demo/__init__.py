"""`tacit demo`: a generated hospital, eight queries with intervals, and two attacks that fail here and work elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import sqrt
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.demo.parts import Answered, Attacked, Budgets, Drawn, Fingerprint, Part, Prepared, Question, TurnedDown
from tacit.doors.cli.output import console, print_json, progress
from tacit.errors import InvalidInput, Refused

if TYPE_CHECKING:
    from rich.text import Text

    from tacit.doors.cli.demo.hospital import Plain
    from tacit.session import Session

SUBSETS = 256
DRAWS = 50_000
WIDTH = 100
NEXT = 'tacit sql "SELECT COUNT(*) FROM visits" --error 100 --analyst ana'
SITES = Question(
    "1. A table, with a join to public data",
    "SELECT site, COUNT(*) AS visits, AVG(cost) AS cost\nFROM visits JOIN wards ON visits.ward = wards.ward\nGROUP BY site",
    {"epsilon": "0.5"},
)
QUANTILES = Question(
    "2. Quantiles",
    "SELECT MEDIAN(cost) AS median,\n       PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS ninth_decile\nFROM visits",
    {"epsilon": "0.5"},
)
WHO_AND_WHERE = Question(
    "3. Two private tables, joined on the patient",
    "SELECT sex, ward, COUNT(*) AS visits, AVG(cost) AS cost\n"
    "FROM visits JOIN patients ON visits.patient_id = patients.id\nGROUP BY sex, ward",
    {"epsilon": "0.4"},
)
PER_PATIENT = Question(
    "4. Visits per patient, and percent of total",
    "WITH per AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)\n"
    "SELECT sex, COUNT(*) AS patients, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent,\n"
    "       AVG(n) AS visits_each\n"
    "FROM patients JOIN per ON per.patient_id = patients.id\nGROUP BY sex",
    {"epsilon": "0.1"},
)
WRITTEN = Question(
    "5. Groups of private text: only those of enough people are shown",
    "SELECT written, COUNT(*) AS patients\nFROM patients GROUP BY written ORDER BY patients DESC",
    {"epsilon": "0.2", "delta": "5e-8"},
)
OLD = Question(
    "6. At a requested error, for the smallest epsilon",
    "SELECT sex, COUNT(*) AS patients\nFROM patients WHERE age >= 65\nGROUP BY sex",
    {"error": "50"},
)
WEIGHT = Question("7. A query that is refused; nothing is spent", "SELECT AVG(weight) AS weight FROM patients", {"epsilon": "0.5"})
MONTHS = Question(
    "8. A chart",
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits\nFROM visits GROUP BY month",
    {"epsilon": "0.1"},
)


def demo(
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Folder in which to keep the hospital for your own queries; must be new or empty."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Generate a hospital, prepare it, ask eight queries, and attack exact and private answers. Takes half a minute.

    Example: tacit demo --folder hospital
    """
    told: dict[str, Any] = {"questions": []}
    with _place(folder) as here:
        for part in _parts(here):
            part.tell(told)
            if not as_json:
                _print(part)
    if as_json:
        print_json(told | {"folder": None if folder is None else str(folder)})
    else:
        console().print(_farewell(folder), soft_wrap=True)


def _print(part: Part) -> None:
    screen = console()
    for piece in part.show():
        screen.print(piece, width=min(WIDTH, screen.width))


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder to keep, or a temporary one."""
    if folder is None:
        with TemporaryDirectory(prefix="tacit-demo-") as name:
            yield Path(name)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty: the demo overwrites no data and resets no budget; give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _farewell(folder: Path | None) -> Text:
    from tacit.doors.cli.screen import styled

    if folder is None:
        gone = "\nThe temporary folder was deleted. To keep the hospital, run: "
        return styled(gone, ("tacit demo --folder hospital", "bold"), "\n")
    return styled("\nThe hospital is kept. Next, run: ", (f"cd {quote(str(folder))} && {NEXT}", "bold"), "\n")


def _parts(here: Path) -> Iterator[Part]:
    """The demonstration, part by part, each as soon as it is done."""
    from tacit.data.prepare import prepare
    from tacit.doors.cli.demo import hospital
    from tacit.evidence.attacks.samplers import floating_point
    from tacit.session import open as open_data

    started = time.perf_counter()
    data = open_data(hospital.build(here))
    generated = time.perf_counter()
    report = prepare(data.catalog)
    data.begin_scratch("the demonstration")
    yield Prepared({table.name: table.kept for table in report.tables}, generated - started, time.perf_counter() - generated)
    with hospital.plainly(here) as plain:
        yield from _questions(data.session("ana"), plain, here / "visits.svg")
        yield Budgets(data.accounts())
        yield _attack(data.session("mallory"), plain)
    yield Fingerprint(floating_point(DRAWS))
    data.close()


def _questions(ana: Session, plain: Plain, chart: Path) -> Iterator[Part]:
    for question in (SITES, QUANTILES, WHO_AND_WHERE, PER_PATIENT, WRITTEN, OLD):
        yield Answered(question, ana.sql(question.sql, **question.budget), plain.rows(question.sql))
    yield TurnedDown(WEIGHT, _refusal(ana, WEIGHT.sql, **WEIGHT.budget))
    answer = ana.sql(MONTHS.sql, **MONTHS.budget)
    answer.chart(chart)
    yield Drawn(MONTHS, answer, chart)


def _refusal(session: Session, sql: str, **budget: Any) -> Refused:
    try:
        session.sql(sql, **budget)
    except Refused as refusal:
        return refusal
    raise AssertionError(f"expected a refusal: {sql}")


def _attack(mallory: Session, plain: Plain) -> Attacked:
    """The same counts from a plain engine and from a session with epsilon 1 for all of them; then one more."""
    from tacit.doors.cli.demo.hospital import STAFF
    from tacit.evidence.attacks.reconstruction import Subsets, reconstruct

    subsets, epsilon = Subsets(STAFF, SUBSETS, seed=1), Fraction(1, SUBSETS)
    texts = [_count(subset + 1) for subset in subsets]
    truth = [bit for (bit,) in plain.rows("SELECT diagnosis = 'chronic' FROM patients WHERE badge > 0 ORDER BY badge")]
    exact = reconstruct(subsets, [plain.rows(text)[0][0] for text in texts], truth=truth, deviation=0)
    answers = [mallory.sql(text, epsilon=epsilon).rows()[0]["n"] for text in progress(texts, SUBSETS, "asking mallory's questions")]
    noisy = [answer["value"] for answer in answers]
    private = reconstruct(subsets, noisy, truth=truth, deviation=sqrt(2) / float(epsilon))
    refusal = _refusal(mallory, _count(range(1, STAFF + 1)), epsilon=epsilon)
    return Attacked(texts[0], exact, private, epsilon * SUBSETS, answers[0]["half_width"], refusal)


def _count(badges: Iterable[int]) -> str:
    listed = ", ".join(map(str, badges))
    return f"SELECT COUNT(*) AS n FROM patients\nWHERE diagnosis = 'chronic' AND badge IN ({listed})"  # noqa: S608  # the attacker's own text
