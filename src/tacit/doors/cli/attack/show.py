"""How the result of an attack leaves the command line: as sentences, as JSON, as a chart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from tacit.doors.cli.output import console, print_json

SeedOption = Annotated[
    int, typer.Option(help="Seed for the simulated data and the attacker's queries; never for tacit's noise.", min=0)
]
ChartOption = Annotated[Path | None, typer.Option("--chart", help="File for a chart: .svg, .png or .html.")]
CONFIGURATION = "Configuration of tacit anonymize table that the file was made with (TOML)."
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Shown(Protocol):
    """The result of any attack."""

    def summary(self) -> str:
        """The result in sentences."""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""

    def chart(self, path: Any = None) -> Any:
        """The chart of the result, saved to `path` if there is one."""


def show(result: Shown, chart: Path | None, as_json: bool) -> None:
    """Prints what was tried, what was recovered and what theory predicts; saves the chart if a file is given."""
    if chart is not None:
        result.chart(str(chart))
    if as_json:
        print_json(result.to_dict() | ({} if chart is None else {"chart": str(chart)}))
        return
    screen = console()
    screen.print(result.summary(), soft_wrap=True)
    if chart is not None:
        screen.print(f"chart: {chart}", soft_wrap=True)
