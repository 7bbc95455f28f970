"""`tacit survey simulate --p 0` and `--p 0.5`: the two ends between which every survey lies."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.doors.cli.output import console, print_json

if TYPE_CHECKING:
    from tacit.publish.local.estimates.ends import End
    from tacit.publish.local.estimates.simulate import Simulation

INFINITE = "infinite"


def end_of(p: str) -> End | None:
    """The end that a flip is, if it is one."""
    from tacit.privacy.rounding import exact
    from tacit.publish.local.estimates.ends import HALF, End

    flip = exact(p, "p") if p else None
    return End(flip) if flip in (0, HALF) else None


def show_end(end: End, said: str, bits: Any, several: Simulation, known: dict[str, Any], as_json: bool) -> None:
    """One simulated survey at an end, what a single report tells, and the error in between; `known` begins the JSON."""
    share, reports = Fraction(int(bits.sum()), len(bits)), end.randomize(bits)
    estimate, ones = end.estimate(reports), float(reports.mean())
    beliefs = {str(report): end.posterior(share, report) for report in (1, 0)}
    if as_json:
        print_json(known | _told(end, len(bits), float(share), estimate, ones, beliefs) | {"errors": several.to_rows()})
        return
    screen = console()
    who = "1 person" if len(bits) == 1 else f"{len(bits):,} people"
    for line in _sentences(end, f"{said}, {who}", float(share), estimate, ones, beliefs):
        screen.print(line, highlight=False, markup=False, soft_wrap=True)
    _print_errors(several, len(bits))


def _told(end: End, people: int, truth: float, estimate: float | None, ones: float, beliefs: dict[str, Any]) -> dict[str, Any]:
    from tacit.privacy.rounding import decimal_text

    return {
        "people": people,
        "epsilon": "0" if end.epsilon == 0 else INFINITE,
        "flip": decimal_text(end.flip),
        "meaning": end.meaning,
        "truth": [truth],
        "reported": ones,
        "estimate": None if estimate is None else [estimate],
        "belief_before": truth,
        "belief_after_report": {report: None if belief is None else float(belief) for report, belief in beliefs.items()},
    }


def _sentences(end: End, said: str, truth: float, estimate: float | None, ones: float, beliefs: dict[str, Any]) -> list[str]:
    epsilon = "0" if end.epsilon == 0 else INFINITE
    seen = (
        f"{ones:.4f} of the reports are yes, whatever the truth is: no estimate is possible (true share: {truth:.4g})"
        if estimate is None
        else f"estimate {estimate:.4f}, true share {truth:.4g}: no error, and no privacy"
    )
    after = [
        f"{float(belief):.4g} after a report of {word}"
        for word, belief in (("yes", beliefs["1"]), ("no", beliefs["0"]))
        if belief is not None
    ]
    return [
        f"{said}, each answer flipped with probability {float(end.flip):g}: epsilon {epsilon}, {end.meaning}",
        seen,
        f"belief that one person's answer is yes: {truth:.4g} before; {', '.join(after)}",
    ]


def _print_errors(several: Simulation, people: int) -> None:
    from rich.table import Table

    from tacit.privacy.rounding import as_text

    errors = Table(
        "between the ends: epsilon", "people", f"typical error of {several.what}", "simulated", box=None, header_style="bold"
    )
    for cell in several.cells:
        if cell.people == people:
            errors.add_row(as_text(cell.epsilon), f"{cell.people:,}", f"{cell.theory:.4g}", f"{cell.simulated:.4g}")
    console().print(errors)
