"""`tacit release`: releases that are declared in releases.toml, planned for a year, asked for when they are due, and published."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import bar, console, print_json, say
from tacit.doors.cli.which_catalog import CatalogOption, find_catalog
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tacit.publish.releases.declaration import Releases
    from tacit.publish.releases.kept import Kept
    from tacit.publish.releases.plan import Plan, Planned
    from tacit.publish.releases.run import Ran
    from tacit.session import DataSet

release = typer.Typer(no_args_is_help=True, help="Plan, run and publish the releases that are declared in releases.toml.")
DeclaredOption = Annotated[
    Path | None,
    typer.Option("--releases", metavar="PATH", help="Declaration of the releases; releases.toml beside the catalog by default."),
]
ThroughOption = Annotated[
    str | None,
    typer.Option(
        "--through",
        metavar="PERIOD",
        help="Last period whose data are complete, if the budget has no periods: for example 2026-09.",
    ),
]
READS_NOTHING = "From public parameters alone: no row was read, and nothing was spent."


def plan(
    releases: DeclaredOption = None, through: ThroughOption = None, as_json: AsJson = False, catalog: CatalogOption = None
) -> None:
    """Plan a year of releases: the cost and the error of each, and the budget that is left for analysts.

    Spends nothing, and reads no private data.

    Example: tacit release plan --through 2026-09
    """
    from tacit.publish.releases.plan import plan_of
    from tacit.publish.releases.run import complete_of

    with _opened(releases, through, catalog) as (data, declared, kept):
        made = plan_of(data, declared, complete_of(data, declared), kept)
    if as_json:
        print_json(made.to_dict())
        return
    _print_plan(made)


def _print_plan(made: Plan) -> None:
    from rich.table import Table

    from tacit.privacy.rounding import as_text, counted

    grid = Table(
        "release", "each", "epsilon", "waiting", "in a year", "expected errors", box=None, header_style="bold", padding=(0, 2)
    )
    for each in made.releases:
        years = f"{each.coming}, epsilon {as_text(each.epsilon * each.coming)}" if each.period else "-"
        grid.add_row(each.name, each.period or "once", _price(each), str(each.waiting), years, _errors(each))
    screen = console()
    screen.print(grid)
    for name, note in ((each.name, note) for each in made.releases for note in each.notes):
        screen.print(f"{name}: {note}.", soft_wrap=True, style="dim")
    where = f"each {made.per}" if made.per else "the data set, for its life"
    screen.print(f"\nBudget of {where}: epsilon {as_text(made.cap)}; remaining now: {as_text(made.left)}.")
    if made.for_analysts < 0:
        screen.print(
            f"The releases need epsilon {as_text(made.needed)}: {as_text(-made.for_analysts)} more than remains.", style="bold"
        )
        screen.print('Lower their epsilons, release less often, or declare a budget for each period: [budget] per = "month".')
    else:
        screen.print(f"The releases need epsilon {as_text(made.needed)}. Left for analysts: {as_text(made.for_analysts)}.")
    if made.lifetime is not None:
        life, enough = made.lifetime, made.lifetime.years
        screen.print(
            f"Budget of a person's lifetime: epsilon {as_text(life.cap)}; remaining now: {as_text(life.left)}. "
            f"The next year of the releases takes {as_text(life.needed)}"
            + ("." if enough is None else f": enough for {counted(enough, 'such year')}.")
        )
    screen.print(READS_NOTHING, style="dim")


def _price(each: Planned) -> str:
    from tacit.privacy.rounding import as_text

    return as_text(each.epsilon) + (f", delta {as_text(each.delta)}" if each.delta else "")


def _errors(each: Planned) -> str:
    lines = [f"{column}: {error}" for column, error in each.errors]
    return "\n".join([*lines, *(f"by {name}" for name in each.mechanisms if name.startswith("Gaussian,"))]) or "-"


def run(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="RELEASE", help="Run this release alone; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what is due, and spend nothing.")] = False,
    releases: DeclaredOption = None,
    through: ThroughOption = None,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Ask for every period that is due and not yet released. Run it from cron or a systemd timer.

    It may be stopped at any moment: the next run goes on from there, and pays for nothing twice. Missed periods are caught up.

    Example: tacit release run --through 2026-09
    """
    from tacit.publish.releases.run import complete_of, steps_of
    from tacit.publish.releases.run import run as run_steps

    with _opened(releases, through, catalog) as (data, declared, kept), kept.alone() as alone:
        if not alone:
            raise InvalidInput("another run of these releases is at work; wait until it has ended")
        steps = steps_of(declared, complete_of(data, declared), kept, only or ())
        if dry_run:
            _say_due([str(step) for step in steps], as_json)
            return
        done: list[Ran] = []
        with bar("releasing") as told:
            for ran in run_steps(data, declared, steps, kept, lambda step: _tell(told, str(step), len(done) / len(steps))):
                done.append(ran)
                if not as_json:
                    _say_done(ran)
    if as_json:
        print_json({"released": [ran.to_dict() for ran in done]})
    elif not done:
        say("Nothing is due.")


def _tell(told: Callable[[str, float], None] | None, words: str, share: float) -> None:
    if told is not None:
        told(words, share)


def _say_due(names: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"due": names})
    else:
        say("\n".join(names) if names else "Nothing is due.")


def _say_done(ran: Ran) -> None:
    name = ran.release if ran.period == "once" else f"{ran.release} {ran.period}"
    delta = f", delta {ran.delta}" if ran.delta != "0" else ""
    spent = "paid for by an earlier run" if ran.recovered else f"spent epsilon {ran.epsilon}{delta}"
    say(f"{name}: {spent}, entry {ran.entry}")


def site(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; files that are as they should be are left alone.")],
    releases: DeclaredOption = None,
    as_json: AsJson = False,
    catalog: CatalogOption = None,
) -> None:
    """Write the static site of all releases: pages, charts, downloads, metadata and a feed. Reads released numbers alone.

    Example: tacit release site public
    """
    from tacit.publish.releases.site import write_site

    with _opened(releases, None, catalog) as (data, declared, kept):
        files, written = write_site(data.catalog, declared, kept, out)
    if as_json:
        print_json({"out": str(out), "files": files, "written": written})
    else:
        say(f"{out} has {files} files; {written} were written now. Open {out / 'index.html'}")


@contextmanager
def _opened(releases: Path | None, through: str | None, catalog: Path | None) -> Iterator[tuple[DataSet, Releases, Kept]]:
    """The data set, the declared releases, and the folder of what was released."""
    from dataclasses import replace

    from tacit.publish.releases.kept import Kept
    from tacit.publish.releases.reading import FILE, read_releases
    from tacit.session import open as open_data

    where = find_catalog(catalog)
    declared = read_releases(releases or where.parent / FILE)
    with open_data(where) as data:
        yield data, declared if through is None else replace(declared, through=through), Kept(data.catalog.kept)


COMMANDS: dict[str, Callable[..., Any]] = {"plan": plan, "run": run, "site": site}
