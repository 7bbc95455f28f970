"""`tacit demo`: three releases from generated data, and what careless noise gives away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import console, print_json

if TYPE_CHECKING:
    from tacit.evidence.attacks.floating_point import FloatingPoint
    from tacit.privacy.loss import Loss

PEOPLE = 20_000
DISTRICTS = ("north", "east", "south", "west")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Shown:
    """One released number beside the exact one, which only a demonstration may show."""

    what: str
    exact: float
    released: float
    low: float
    high: float
    loss: str


def demo(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Release a count, a vector of counts and a median of generated data; then attack textbook noise and ours."""
    from tacit.evidence.attacks.floating_point import floating_point

    shown, loss = _releases()
    attack = floating_point(draws=100_000)
    if as_json:
        print_json(_as_json(shown, loss, attack))
    else:
        _print(shown, loss, attack)


def _releases() -> tuple[list[Shown], Loss]:
    """The released numbers, and what they cost together."""
    from tacit.accounting.composition import sequential
    from tacit.mechanisms.laplace import Laplace
    from tacit.mechanisms.quantile_interval import QuantileWithInterval

    ill, districts, incomes = _town()
    count = Laplace(sensitivity=1, epsilon=0.5, step=1, on_grid=True)
    counts = Laplace(sensitivity=1, epsilon=0.5, step=1, dimension=len(DISTRICTS), on_grid=True)
    median = QuantileWithInterval(0.5, lower=0, upper=100_000, step=100, epsilon=1, confidence=CONFIDENCE)

    around, around_all = count.interval(CONFIDENCE), counts.simultaneous_interval(CONFIDENCE)
    number, vector, middle = count.release(ill), counts.release(districts), median.release(incomes)
    shown = [Shown("people who are ill", ill, number, *around.around(number), str(count.loss))]
    for name, exact, released in zip(DISTRICTS, districts, vector.tolist(), strict=True):
        shown.append(Shown(f"people in the {name}", exact, released, *around_all.around(released), str(counts.loss)))
    true_median = sorted(incomes)[PEOPLE // 2]
    shown.append(Shown("median income", true_median, middle.value, middle.low, middle.high, str(median.loss)))
    return shown, sequential([count.loss, counts.loss, median.loss])


def _town() -> tuple[int, list[int], list[int]]:
    """How many are ill, how many live in each district, and all incomes. Data, not noise: so a seeded generator is right."""
    import numpy as np

    generator = np.random.default_rng(20)
    ill = int((generator.random(PEOPLE) < 0.073).sum())
    districts = generator.multinomial(PEOPLE, [0.41, 0.33, 0.22, 0.04]).tolist()
    incomes = np.clip(generator.lognormal(10.3, 0.5, PEOPLE), 0, 100_000).astype(int).tolist()
    return ill, districts, incomes


def _as_json(shown: list[Shown], loss: Loss, attack: FloatingPoint) -> dict[str, Any]:
    rows = [
        {"what": row.what, "exact": row.exact, "value": row.released, "low": row.low, "high": row.high, "loss": row.loss}
        for row in shown
    ]
    given_away = {"draws": attack.draws, "textbook": attack.textbook, "ours": attack.ours}
    return {"releases": rows, "confidence": CONFIDENCE, "loss": str(loss), "floating_point": given_away}


def _print(shown: list[Shown], loss: Loss, attack: FloatingPoint) -> None:
    from rich.table import Table

    screen = console()
    screen.print(f"\n[bold]A generated town of {PEOPLE:,} people[/bold]: what may be published of it, and what that costs\n")
    table = Table("", box=None, header_style="bold", pad_edge=False)
    for title in ("exact (secret)", "released", f"{CONFIDENCE:.0%} interval"):
        table.add_column(title, justify="right")
    table.add_column("loss", style="dim")
    for row in shown:
        exact, released, low, high = (f"{number:,.10g}" for number in (row.exact, row.released, row.low, row.high))
        table.add_row(row.what, exact, f"[bold]{released}[/bold]", f"{low} to {high}", row.loss)
    screen.print(table)
    screen.print(f"\nIn total: [bold]{loss}[/bold]. The intervals of the four districts hold all at once.\n", highlight=False)
    screen.print("[bold]Noise must not have a fingerprint[/bold]: outputs that only one of two neighbouring answers can give\n")
    screen.print(_comparison(attack))
    screen.print("\nOne such output tells which of the two it was, whatever epsilon says. tacit draws integers on a public grid.\n")


def _comparison(attack: FloatingPoint) -> Any:
    from rich.table import Table

    table = Table("noise", box=None, header_style="bold", pad_edge=False)
    table.add_column("draws", justify="right")
    table.add_column("gives away", justify="right")
    table.add_row("textbook floating-point Laplace", f"{2 * attack.draws:,}", f"[red]{attack.textbook:.1%}[/red]")
    table.add_row("tacit, on the grid", f"{2 * attack.draws:,}", f"[green]{attack.ours:.0%}[/green]")
    return table
