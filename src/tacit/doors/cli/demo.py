"""`tacit demo`: a generated hospital, five questions with error bars, and two attacks that fail here and work elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.demo_parts import Asked, Attacked, Budgets, Fingerprint, Part, Prepared
from tacit.doors.cli.output import console, print_json, progress
from tacit.errors import InvalidInput, Refused

if TYPE_CHECKING:
    from tacit.session import DataSet, Session

SUBSETS = 256
DRAWS = 100_000
CHART = "visits.svg"
QUESTIONS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "A table, with a join to public data",
        "SELECT site, COUNT(*) AS visits, AVG(cost) AS cost\nFROM visits JOIN wards ON visits.ward = wards.ward\nGROUP BY site",
        {"epsilon": "0.5"},
    ),
    (
        "Quantiles",
        "SELECT MEDIAN(cost) AS median, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS ninth_decile\nFROM visits",
        {"epsilon": "0.5"},
    ),
    (
        "By the error that is wanted: the least epsilon that gives it is spent",
        "SELECT sex, COUNT(*) AS patients\nFROM patients WHERE age >= 65\nGROUP BY sex",
        {"error": "50"},
    ),
    ("One that is refused, before anything is spent", "SELECT AVG(weight) AS weight FROM patients", {"epsilon": "0.5"}),
    (
        "A chart",
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS visits\nFROM visits GROUP BY month",
        {"epsilon": "0.1"},
    ),
)


def demo(
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Keep the hospital in this folder, new or empty, to ask questions of your own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Generate a hospital, prepare it, ask five questions, and attack exact and private answers. Takes half a minute."""
    told: dict[str, Any] = {"questions": []}
    with _place(folder) as here:
        for part in _parts(here):
            part.tell(told)
            if not as_json:
                console().print(*part.show(), sep="\n", highlight=False)
    if as_json:
        print_json(told | {"folder": None if folder is None else str(folder)})
    else:
        console().print(_farewell(folder), highlight=False, soft_wrap=True)


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder to keep, or one that is gone afterwards."""
    if folder is None:
        with TemporaryDirectory(prefix="tacit-demo-") as name:
            yield Path(name)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty; name a new folder, so that nothing is overwritten and no budget starts anew")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _farewell(folder: Path | None) -> str:
    if folder is None:
        return "[dim]All of it was in a temporary folder, and is gone.[/dim] Keep it with: [bold]tacit demo --folder hospital[/bold]\n"
    return f'Ask on: [bold]cd {folder} && tacit sql "SELECT COUNT(*) FROM visits" --error 100 --analyst ana[/bold]\n'


def _parts(here: Path) -> Iterator[Part]:
    """The demonstration, part by part, each as soon as it is done."""
    from tacit.doors.cli import hospital
    from tacit.evidence.attacks.floating_point import floating_point
    from tacit.query.prepare import prepare
    from tacit.session import open as open_data

    started = time.perf_counter()
    data = open_data(hospital.build(here))
    generated = time.perf_counter()
    report = prepare(data.catalog)
    yield Prepared({table.name: table.kept for table in report.tables}, generated - started, time.perf_counter() - generated)
    with hospital.plainly(here) as plain:
        ana = data.session("ana")
        for why, sql, budget in QUESTIONS:
            yield _asked(ana, plain, here / CHART, (why, sql, budget))
        yield _budgets(data)
        yield _attacked(data.session("mallory"), plain)
    yield Fingerprint(floating_point(DRAWS))
    data.close()


def _asked(session: Session, plain: Any, chart: Path, question: tuple[str, str, dict[str, str]]) -> Asked:
    """One question with its answer or its refusal; what is drawn is drawn, what is shown is shown beside the exact numbers."""
    why, sql, budget = question
    try:
        answer = session.sql(sql, **budget)
    except Refused as refusal:
        return Asked(why, sql, budget, refusal=refusal)
    if why == "A chart":
        answer.chart(chart)
        return Asked(why, sql, budget, answer, chart=chart)
    return Asked(why, sql, budget, answer, exact=plain.rows(sql))


def _budgets(data: DataSet) -> Budgets:
    catalog, ledger = data.catalog, data.ledger
    rows = [("the data set", catalog.budget, ledger.left())]
    rows += [(name, analyst.budget, ledger.left(name)) for name, analyst in catalog.analysts.items() if analyst.budget]
    return Budgets(tuple((name, cap.epsilon, left.epsilon) for name, cap, left in rows))


def _attacked(session: Session, plain: Any) -> Attacked:
    """The same counts from a plain engine and from a session with epsilon 1 for all of them; then one more."""
    from tacit.doors.cli.hospital import STAFF
    from tacit.evidence.attacks.reconstruction import Subsets, reconstruct

    subsets, epsilon = Subsets(STAFF, SUBSETS, seed=1), Fraction(1, SUBSETS)
    texts = [_count(subset.tolist()) for subset in subsets]
    truth = [bit for (bit,) in plain.rows(f"SELECT diagnosis = 'chronic' FROM patients WHERE badge BETWEEN 1 AND {STAFF} ORDER BY badge")]
    exactly = reconstruct(subsets, [plain.rows(text)[0][0] for text in texts], truth=truth, deviation=0)
    answers = [session.sql(text, epsilon=epsilon)["n"][0] for text in progress(texts, SUBSETS, "asking mallory's questions")]
    private = reconstruct(subsets, answers, truth=truth, deviation=sqrt(2) / float(epsilon))
    try:
        session.sql(_count(list(range(STAFF))), epsilon=epsilon)
    except Refused as refusal:
        return Attacked(texts[0], exactly, private, epsilon * SUBSETS, refusal)
    raise AssertionError("the ledger has let an analyst pass her cap")


def _count(places: list[int]) -> str:
    badges = ", ".join(str(place + 1) for place in places)
    return f"SELECT COUNT(*) AS n FROM patients WHERE diagnosis = 'chronic' AND badge IN ({badges})"
