"""`tacit survey simulate`: what an estimate would look like, before anybody is asked."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import console, keep_what_is_read, print_json, progress, say
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.publish.local.estimates.simulate import End, Simulation
    from tacit.publish.local.randomizers.randomizer import Randomizer

INFINITE = "infinite"


def end_of(p: str) -> End | None:
    """The end that a flip is, if it is one."""
    from tacit.privacy.rounding import exact
    from tacit.publish.local.estimates.simulate import HALF, End

    flip = exact(p, "p") if p else None
    return End(flip) if flip in (0, HALF) else None


def show_end(end: End, said: str, bits: Any, several: Simulation, head: dict[str, Any], as_json: bool) -> None:
    """One simulated survey at an end, what a single report tells, and the error in between; `known` begins the JSON."""
    share, reports = Fraction(int(bits.sum()), len(bits)), end.randomize(bits)
    estimate, ones = end.estimate(reports), float(reports.mean())
    beliefs = {str(report): end.posterior(share, report) for report in (1, 0)}
    if as_json:
        print_json(head | _end_told(end, len(bits), float(share), estimate, ones, beliefs) | {"errors": several.to_rows()})
        return
    screen = console()
    who = "1 person" if len(bits) == 1 else f"{len(bits):,} people"
    for line in _sentences(end, f"{said}, {who}", float(share), estimate, ones, beliefs):
        screen.print(line, highlight=False, markup=False, soft_wrap=True)
    _print_errors(several, len(bits))


def _end_told(end: End, people: int, truth: float, estimate: float | None, ones: float, beliefs: dict[str, Any]) -> dict[str, Any]:
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


# --- `tacit survey simulate` -------------------------------------------------------------------------------------------------


FOR_THE_CURATOR = (
    "For the data owner only: these figures are computed from the column itself, without protection. Do not publish them."
)
NOTES = {
    "chebyshev as printed": "as in lecture notes, with the variance of a fair coin",
    "chebyshev": "with the exact variance",
    "normal": "an approximation, not a guarantee",
}
MOST_CATEGORIES = 100
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MOST_PEOPLE = 10_000_000
MOST_EPSILON = 30  # beyond it an answer is changed less than once in 10^13, and floats see nothing of it
MOST_ANSWERS = 100_000_000  # in all simulated surveys of the largest size; with more people there are fewer surveys


def simulate(
    truth: Annotated[str, typer.Option(help="True share of yes, or the shares of all options, comma-separated.")] = "0.3",
    n: Annotated[int, typer.Option("--n", min=1, max=MOST_PEOPLE, help="Number of respondents; with --csv, all rows.")] = 20_000,
    p: Annotated[
        str, typer.Option("--p", help="Probability that a yes or no is flipped, from 0 to 0.5; use instead of --epsilon.")
    ] = "",
    epsilon: Annotated[str, typer.Option(help="Epsilon of one answer; 1 if omitted.")] = "",
    epsilons: Annotated[str, typer.Option(help="Epsilons to compare with, comma-separated.")] = "0.5,1,2,4",
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    runs: Annotated[int, typer.Option(min=1, max=1000, help="Number of simulated surveys per figure.")] = 100,
    csv: Annotated[Path | None, typer.Option(help="CSV file with the true answers; for the data owner only.")] = None,
    column: Annotated[str, typer.Option(help="With --csv: name of the column.")] = "",
    bounds: Annotated[str, typer.Option(metavar="LOW,HIGH", help="With --csv: bounds of a numeric column.")] = "",
    chart: Annotated[
        Path | None, typer.Option(help="File for a chart of the error by respondents and epsilon: .svg, .png or .html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate a survey and compare the estimate with the truth at several epsilons.

    Example: tacit survey simulate --truth 0.3 --n 2000 --epsilon 1 --runs 5
    """
    keep_what_is_read(chart, *([csv] if csv else []))
    if not csv and (column or bounds):
        raise InvalidInput("--column and --bounds require --csv; add it, or use --truth")
    if csv and not as_json:
        say(FOR_THE_CURATOR)  # before the file is read: errors also describe the column
    people = _from_column(csv, column, bounds) if csv else _invent(truth, n)
    _check_flip(people, p, epsilon)
    if (end := end_of(p)) is not None:
        several = _several(people, _epsilons(epsilons), runs)
        _draw(several, chart, csv)
        show_end(end, people.said, people.values, several, {"for_the_curator_only": True} if csv else {}, as_json)
        return
    randomizer = _randomizer(people, p, epsilon)
    outcome = _one_survey(people, randomizer, confidence)
    several = _several(people, _epsilons(epsilons, randomizer.epsilon), runs)
    _draw(several, chart, csv)
    if as_json:
        print_json(_as_json(people, randomizer, outcome, several, bool(csv)))
    else:
        _show(people, randomizer, outcome, several, confidence)


@dataclass(frozen=True, slots=True)
class People:
    """Who is simulated: how many, what they answer, and what randomizes an answer for an epsilon."""

    count: int
    truth: tuple[Fraction, ...]
    values: Any
    make: Callable[[Fraction], Any]
    said: str
    names: tuple[str, ...] = ()  # of the shares; a mean has none

    @property
    def is_number(self) -> bool:
        """Whether the question is about a number, not about categories."""
        return not self.names


def _invent(truth: str, n: int) -> People:
    from tacit.privacy.rounding import as_text, exact
    from tacit.publish.local.estimates.simulate import population

    given = [exact(part.strip(), "truth") for part in truth.split(",")]
    if any(not 0 <= share <= 1 for share in given):
        raise InvalidInput(f"--truth must be one share from 0 to 1, or several separated by commas, not {truth!r}")
    shares = (1 - given[0], given[0]) if len(given) == 1 else tuple(given)
    said = f"a share of {as_text(given[0])}" if len(given) == 1 else f"a share for each of {len(shares)} options"
    names = tuple(f"option {place}" for place in range(1, len(shares) + 1))
    return People(n, shares, population(shares, n), _oracle(len(shares)), said, names)


def _oracle(size: int) -> Callable[[Fraction], Randomizer]:
    from tacit.publish.local.estimates.choose import choose
    from tacit.publish.local.randomizers.categories import Binary

    return Binary if size == 2 else lambda epsilon: choose(size, epsilon).oracle


def _from_column(path: Path, column: str, bounds: str) -> People:
    """The people of a column: a number between bounds, or one of at most a hundred different values."""
    import numpy as np

    from tacit.publish.local.estimates.simulate import population
    from tacit.publish.local.randomizers.numeric import Numeric

    cells = _column(path, column)
    if bounds:
        low, high = _pair(bounds)
        numbers = np.clip(np.array([_number(cell, column) for cell in cells]), float(low), float(high))
        mean = Fraction(float(numbers.mean()))
        return People(len(cells), (mean,), numbers, lambda epsilon: Numeric.best(low, high, epsilon), "a mean")
    counts = Counter(cells)
    if not 2 <= len(counts) <= MOST_CATEGORIES:
        rule = f"categories must be 2 to {MOST_CATEGORIES}, and a number requires --bounds LOW,HIGH"
        raise _wrong(column, f"has {len(counts)} distinct values; {rule}")
    names = tuple(sorted(counts))
    shares = tuple(Fraction(counts[cell], len(cells)) for cell in names)
    said = f"a share for each of {len(shares)} values" if len(shares) > 2 else f"a share of {names[1]!r}"
    return People(len(cells), shares, population(shares, len(cells)), _oracle(len(shares)), said, names)


def _column(path: Path, column: str) -> list[str]:
    from tacit.data.files.columns import read_columns, require_columns

    if not column:
        raise InvalidInput(f"missing --column: give the column of {path} with the true answers")
    require_columns(path, [column], remedy="; choose another one with --column")
    cells = [cell or "" for cell in read_columns(path, [column])[0].to_pylist()]
    if not cells or len(cells) > MOST_PEOPLE:
        raise _wrong(column, f"must have 1 to {MOST_PEOPLE:,} rows")
    return cells


def _wrong(column: str, what: str) -> InvalidInput:
    """An error about the cells, whose message depends on them."""
    return InvalidInput(f"column {column} {what} (for the data owner only: this message depends on the data)")


def _number(cell: str, column: str) -> float:
    with contextlib.suppress(ValueError):
        if not math.isnan(number := float(cell)):
            return number
    raise _wrong(column, "has cells that are not numbers; remove --bounds for categories")


def _pair(text: str) -> tuple[Fraction, Fraction]:
    from tacit.privacy.rounding import exact

    low, comma, high = text.partition(",")
    if not comma:
        raise InvalidInput(f"--bounds must be LOW,HIGH, for example 0,120, not {text!r}")
    return exact(low.strip(), "bounds"), exact(high.strip(), "bounds")


def _check_flip(people: People, p: str, epsilon: str) -> None:
    if p and epsilon:
        raise InvalidInput("--p and --epsilon exclude each other; give only one of them")
    if p and (people.is_number or len(people.truth) != 2):
        raise InvalidInput("--p supports only yes/no answers; use --epsilon")


def _randomizer(people: People, p: str, epsilon: str) -> Randomizer:
    from tacit.privacy.loss import positive_budget
    from tacit.publish.local.randomizers.categories import Binary

    if p:
        flipping = Binary.with_flip(p)
        _small_enough(flipping.epsilon)
        return flipping
    return people.make(_small_enough(positive_budget(epsilon or "1")))  # type: ignore[no-any-return]


def _small_enough(epsilon: Fraction) -> Fraction:
    if epsilon > MOST_EPSILON:
        raise InvalidInput(f"--epsilon must be at most {MOST_EPSILON}: above it, reports equal the true answers")
    return epsilon


def _epsilons(text: str, *own: Fraction) -> list[Fraction]:
    from tacit.privacy.loss import positive_budget

    asked = {positive_budget(part.strip(), "epsilons") for part in text.split(",") if part.strip()}
    if asked and max(asked) > MOST_EPSILON:
        raise InvalidInput(f"--epsilons must be at most {MOST_EPSILON}: above it, reports equal the true answers")
    if not asked | set(own):
        raise InvalidInput("--epsilons must not be empty; give for example --epsilons 1,2")
    return sorted(asked | set(own))


@dataclass(frozen=True, slots=True)
class Found:
    """One simulated survey: the truth and its estimate, number by number, and half-widths by bound."""

    truth: list[float]
    estimate: list[float]
    half_widths: dict[str, float]


def _one_survey(people: People, randomizer: Randomizer, confidence: float) -> Found:
    from tacit.publish.local.estimates.estimate import Request, estimate
    from tacit.publish.local.estimates.planning import reach
    from tacit.publish.local.estimates.results import Mean

    seen = estimate(randomizer, randomizer.randomize(people.values), confidence)
    half_width, bounds = reach(randomizer, Request(confidence))
    values = [seen.value] if isinstance(seen, Mean) else [float(value) for value in seen.values]
    truth = [float(mean) for mean in people.truth] if people.is_number else _held(people)
    first = 1 if len(truth) == 2 else 0  # of yes and no, the yes alone
    return Found(truth[first:], values[first:], {bound: half_width(bound, people.count) for bound in bounds})


def _held(people: People) -> list[float]:
    """The share of each answer among these people: of three, none has it at 30 %."""
    import numpy as np

    return [count / people.count for count in np.bincount(people.values, minlength=len(people.truth)).tolist()]


def _several(people: People, epsilons: list[Fraction], runs: int) -> Simulation:
    """The error at several epsilons and numbers of people, up to those there are."""
    from tacit.publish.local.estimates.simulate import Simulation, simulate

    truth = people.values.tolist() if people.is_number else people.truth
    sizes = sorted({size for size in SIZES if size < people.count} | {people.count})[-5:]
    times = max(2, min(runs, MOST_ANSWERS // (people.count * len(epsilons))))
    parts = progress((simulate(people.make, truth, [each], sizes, times) for each in epsilons), len(epsilons), "simulating")
    made = list(parts)
    return Simulation(made[0].what, tuple(cell for part in made for cell in part.cells))


def _draw(several: Simulation, chart: Path | None, csv: Path | None) -> None:
    if chart is not None:
        several.chart(chart, note=FOR_THE_CURATOR if csv else "")


def _as_json(people: People, randomizer: Randomizer, outcome: Found, several: Simulation, curator: bool) -> dict[str, Any]:
    from tacit.privacy.rounding import decimal_text

    content: dict[str, Any] = {"for_the_curator_only": True} if curator else {}
    content |= {"people": people.count, "epsilon": decimal_text(randomizer.epsilon)}
    if hasattr(randomizer, "flip"):
        content["flip"] = decimal_text(randomizer.flip)
    content |= {"truth": outcome.truth, "estimate": outcome.estimate, "half_widths": outcome.half_widths}
    return content | {"errors": several.to_rows()}


def _show(people: People, randomizer: Randomizer, outcome: Found, several: Simulation, confidence: float) -> None:
    from rich.table import Table

    from tacit.privacy.rounding import as_text

    flip = f", each answer flipped with probability {as_text(randomizer.flip)}" if hasattr(randomizer, "flip") else ""
    who = "1 person" if people.count == 1 else f"{people.count:,} people"
    say(f"{people.said}, {who}{flip}: epsilon {as_text(randomizer.epsilon)}")
    names = [f"{name or '(empty)'}: " for name in people.names] if len(people.names) > 2 else [""]
    for name, truth, estimate in zip(names, outcome.truth, outcome.estimate, strict=True):
        say(f"{name}estimate {_four_decimals(estimate)}, true value {truth:.4g}")
    table = Table("half-width", f"at {100 * confidence:g} %", "", box=None, header_style="bold")
    for bound, half in outcome.half_widths.items():
        table.add_row(bound, _four_decimals(half), NOTES.get(bound, ""))
    console().print(table)
    errors = Table("epsilon", "people", f"typical error of {several.what}", "simulated", box=None, header_style="bold")
    for cell in several.cells:
        if cell.people == people.count:
            errors.add_row(as_text(cell.epsilon), f"{cell.people:,}", f"{cell.theory:.4g}", f"{cell.simulated:.4g}")
    console().print(errors)


def _four_decimals(number: float) -> str:
    """Four decimals, or the leading digits where those would be nought, or too many.

    >>> [_four_decimals(number) for number in (0.0120, -0.5, 3e-7, 6e38, 0)]
    ['0.0120', '-0.5000', '3e-07', '6e+38', '0.0000']
    """
    return f"{number:.4f}" if number == 0 or 0.0001 <= abs(number) < 1e9 else f"{number:.4g}"
