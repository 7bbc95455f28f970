"""`tacit attack session` and `timing`: a data set and a server of tacit, attacked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption, show
from tacit.doors.cli.output import console, print_json, progress
from tacit.doors.cli.which_catalog import load_catalog
from tacit.errors import InvalidInput, StoreUnusable
from tacit.files import write

if TYPE_CHECKING:
    from tacit.doors.client import Remote
    from tacit.evidence.attacks.reply_times import Ask, ReplyTimes
    from tacit.evidence.attacks.session_report import SessionReport
    from tacit.privacy.catalog import Catalog

VERDICT_COLOURS = {"failed": "green", "succeeded": "red", "too few to tell": "yellow"}


def session(
    catalog: Annotated[
        Path | None, typer.Option("--catalog", help="Catalog of the data set; a generated hospital if omitted.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Table whose people are attacked.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Column by which the attacker identifies people.")] = None,
    secret: Annotated[str | None, typer.Option(help="Secret to find out, as an SQL condition.")] = None,
    epsilon: Annotated[str, typer.Option(help="Budget of each attack, on a ledger of its own.")] = "1",
    seed: SeedOption = 0,
    seeds: Annotated[int, typer.Option(help="Number of runs, each with new queries and new noise.", min=1)] = 3,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run every applicable attack against a copy of a data set. For the data owner only. Exits with 1 if an attack succeeds.

    Example: tacit attack session --seeds 1
    """
    from tacit.evidence.attacks.against_session import attack_session
    from tacit.evidence.attacks.questioner import chosen_target
    from tacit.privacy.loss import positive_budget

    budget = positive_budget(epsilon)
    with _target_catalog(catalog) as declared:
        target = chosen_target(declared, table, by, secret)
        report = attack_session(declared, target, budget, seed=seed, seeds=seeds, progress=progress)
    if chart is not None:
        report.chart(str(chart))
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)
    if not report.holds:
        raise typer.Exit(1)


@contextmanager
def _target_catalog(given: Path | None) -> Iterator[Catalog]:
    """The named catalog, whose store is copied and left unchanged; or a temporary hospital."""
    from tacit.data.catalog import read_catalog

    if given is not None:
        yield load_catalog(given)
        return
    from tacit.data.prepare import prepare
    from tacit.doors.cli.demo import hospital

    with TemporaryDirectory(prefix="tacit-attack-") as name:
        catalog = read_catalog(hospital.build(Path(name)))
        prepare(catalog)
        yield catalog


def _print(report: SessionReport) -> None:
    from rich.table import Table

    from tacit.doors.cli.screen import styled

    table = Table("attack", "measure", box=None, header_style="bold")
    for heading in ("figure", "chance limit", "expected"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for one in report.findings:
        expected = "" if one.predicted is None else f"{one.predicted:.3g}"
        verdict = styled((one.verdict, VERDICT_COLOURS[one.verdict]))
        table.add_row(one.attack, one.measure, f"{one.figure:.3g}", f"{one.limit:.3g}", expected, verdict)
    screen = console()
    screen.print(styled(("For the data owner only; not for publication.", "bold"), " The figures are computed from the true data."))
    screen.print(table)
    screen.print(f"{report.setting} {report.verdict}")


# --- a server on this machine over the generated hospital without one person -------------------------------------------------


ANALYST = "ana"
PROCESS_CLOCK = 2  # with the complement of a process in front: clock_getcpuclockid of Linux


@dataclass(frozen=True, slots=True)
class Running:
    """A server, and an analyst who is logged in to it."""

    process: subprocess.Popen[str]
    remote: Remote

    @property
    def watched(self) -> bool:
        """Whether the operating system shows the processor time of others."""
        return sys.platform == "linux"

    def processor_seconds(self) -> float:
        """Processor time of the server's processes so far, all threads together."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(time.clock_gettime(~int(child) << 3 | PROCESS_CLOCK) for child in children)


@contextmanager
def own_server(leave_out: int) -> Iterator[Running]:
    """A server over the hospital without the person of a badge; it is gone afterwards."""
    with TemporaryDirectory(prefix="tacit-timing-") as folder, _run_server(*_prepare_hospital(Path(folder), leave_out)) as server:
        yield server


def _prepare_hospital(folder: Path, leave_out: int) -> tuple[Path, str]:
    """The catalog of a prepared hospital, and the token of an analyst."""
    from tacit.doors.cli.demo.hospital import build
    from tacit.doors.server.records import FILE, Accounts, Records
    from tacit.session import open as open_data

    place = build(folder)
    without(folder, leave_out)
    with open_data(place) as data:
        data.prepare(yes=True)
        data.begin_scratch("the attack on the clock")
        records = Records(data.catalog.kept / FILE)
        token = Accounts(records).add(ANALYST, "analyst", declared=data.catalog.analysts).token
    records.close()
    return place, token


def without(folder: Path, badge: int) -> None:
    """Take the person of a badge, with all visits, out of the files of a hospital."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    tables = {name: pq.read_table(folder / f"{name}.parquet") for name in ("patients", "visits")}
    person = tables["patients"].filter(pc.equal(tables["patients"]["badge"], badge))["id"]
    for name, column in (("patients", "id"), ("visits", "patient_id")):
        kept = tables[name].filter(pc.invert(pc.is_in(tables[name][column], value_set=person)))
        write(folder / f"{name}.parquet", partial(pq.write_table, kept))


@contextmanager
def _run_server(place: Path, token: str) -> Iterator[Running]:
    from tacit.doors.client import Remote

    command = [sys.executable, "-m", "tacit", "serve", "--catalog", str(place), "--port", "0", "--engines", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # this tacit
        try:
            assert process.stderr is not None  # noqa: S101  # it is a pipe
            said = next((line for line in process.stderr if "ready at" in line), None)
            if said is None:
                raise StoreUnusable("the server of the demonstration did not start", remedy="see: tacit serve --demo")
            with Remote(said.split()[-1], token) as remote:
                yield Running(process, remote)
        finally:
            process.send_signal(signal.SIGTERM)


# --- `tacit attack timing` ---------------------------------------------------------------------------------------------------


PRESENT, ABSENT = 7, 8  # badges: of a person who works in the generated hospital, and of one who is left out of it
QUESTION = "SELECT MEDIAN(cost) AS middle FROM visits JOIN patients ON visits.patient_id = patients.id WHERE badge = {}"


def timing(
    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="Server to ask; one over a generated hospital if omitted.")
    ] = None,
    question: Annotated[str | None, typer.Option(help="With --server: a question about a person who is in the data.")] = None,
    control: Annotated[str | None, typer.Option(help="With --server: the same about a person who is not.")] = None,
    count: Annotated[int, typer.Option(help="Number of replies to time, for each of the two.", min=20)] = 200,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell by the time of a reply whether a person is in the data. No defense yet: the server does not hide its clock.

    Example: tacit attack timing --count 20
    """
    if server is None:
        if question or control:
            raise InvalidInput("--question and --control require --server; add it, or remove them")
        report = of_own_server(count)
    elif question is None or control is None:
        raise InvalidInput("--server requires --question, about somebody in the data, and --control, about somebody who is not")
    else:
        report = of_server(server, question, control, count)
    show(report, chart, as_json)


def of_server(url: str, question: str, control: str, count: int) -> ReplyTimes:
    """The reply times of another server, with the token of `tacit login`."""
    from tacit.doors.cli.login import connected
    from tacit.evidence.attacks.reply_times import reply_times

    with connected(url) as remote:
        return reply_times(question, (asking(remote, question), asking(remote, control)), count)


def of_own_server(count: int) -> ReplyTimes:
    """The reply times of a server over the generated hospital without one person, and its processor time."""
    from tacit.evidence.attacks.reply_times import reply_times

    present, absent = QUESTION.format(PRESENT), QUESTION.format(ABSENT)
    with own_server(leave_out=ABSENT) as server:
        asks = (asking(server.remote, present), asking(server.remote, absent))
        return reply_times(present, asks, count, server.processor_seconds if server.watched else None)


def asking(remote: Remote, text: str) -> Ask:
    """Asks one question, with the budget that is given; always anew, because known answers would hide what the engine takes."""
    return lambda epsilon: remote.sql(text, epsilon=epsilon, fresh=True)
