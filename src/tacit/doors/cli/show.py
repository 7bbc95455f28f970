"""`tacit show`: what a class sees. Two neighbouring laws, sensitivities of numbers called out, and totals of many releases.

Everything is computed from what is typed: no command here opens a catalog.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.chart import check_format
from tacit.doors.cli.ask import AsJson
from tacit.doors.cli.output import print_json, say
from tacit.errors import InvalidInput
from tacit.files import check

if TYPE_CHECKING:
    from tacit.evidence.lessons.blackboard import Example
    from tacit.evidence.lessons.laws import Laws
    from tacit.evidence.lessons.sensitivities import Sensitivity
    from tacit.evidence.lessons.totals import Totals

show = typer.Typer(no_args_is_help=True, help="Show mechanisms, sensitivities and composition on typed numbers, for a class.")

Values = Annotated[str, typer.Option("--values", metavar="A,B", help="The exact answers on two neighbours.")]
Epsilon = Annotated[str, typer.Option("--epsilon", help="Epsilon of the mechanism.")]
Distance = Annotated[str | None, typer.Option("--sensitivity", help="Sensitivity, instead of the distance of the values.")]
InSet = Annotated[str | None, typer.Option("--set", help="Set whose probabilities are compared, for example 'x >= 11'.")]
From = Annotated[str | None, typer.Option("--from", help="Least number of the set, instead of --set.")]
To = Annotated[str | None, typer.Option("--to", help="Largest number of the set, instead of --set.")]
Chart = Annotated[Path | None, typer.Option("--chart", help="Picture: a .svg, .png or .html file.")]


def laplace(
    values: Values = "10,11",
    epsilon: Epsilon = "1",
    sensitivity: Distance = None,
    inside: InSet = None,
    low: From = None,
    high: To = None,
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Show Laplace noise on two neighbouring values: both laws, their ratio, and the probabilities of a set.

    Example: tacit show laplace --values 10,11 --epsilon 1 --set "x >= 11"
    """
    _laws("laplace", values, epsilon, _set(inside, low, high), chart, as_json, sensitivity=sensitivity)


def geometric(
    values: Values = "10,11",
    epsilon: Epsilon = "1",
    sensitivity: Distance = None,
    inside: InSet = None,
    low: From = None,
    high: To = None,
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Show geometric noise (Laplace on whole numbers) on two neighbouring values.

    Example: tacit show geometric --values 10,11 --epsilon 1 --from 11
    """
    _laws("geometric", values, epsilon, _set(inside, low, high), chart, as_json, sensitivity=sensitivity)


def gaussian(
    values: Values = "10,11",
    epsilon: Epsilon = "1",
    delta: Annotated[str, typer.Option("--delta", help="Delta; the default is large, so that its area can be seen.")] = "0.01",
    sensitivity: Distance = None,
    inside: InSet = None,
    low: From = None,
    high: To = None,
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Show Gaussian noise on two neighbouring values, with delta as the area above e^epsilon times the other law.

    Example: tacit show gaussian --values 10,11 --epsilon 1 --delta 0.01
    """
    _laws("gaussian", values, epsilon, _set(inside, low, high), chart, as_json, sensitivity=sensitivity, delta=delta)


def randomized_response(
    values: Values = "0,1", epsilon: Epsilon = "1", inside: InSet = None, chart: Chart = None, as_json: AsJson = False
) -> None:
    """Show the reports of randomized response on the bits 0 and 1.

    Example: tacit show randomized-response --epsilon 1
    """
    _laws("randomized-response", values, epsilon, inside, chart, as_json)


def exponential(
    values: Annotated[str, typer.Option("--values", metavar="LIST", help="The utility of each candidate.")] = "3,5,2",
    others: Annotated[
        str | None, typer.Option("--others", metavar="LIST", help="The utilities on the neighbour; by default the best one falls.")
    ] = None,
    candidates: Annotated[str | None, typer.Option("--candidates", metavar="LIST", help="The names of the candidates.")] = None,
    epsilon: Epsilon = "1",
    sensitivity: Annotated[str, typer.Option("--sensitivity", help="The most that one utility differs between neighbours.")] = "1",
    inside: InSet = None,
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Show the choices of the exponential mechanism on two neighbouring lists of utilities.

    Example: tacit show exponential --values 3,5,2 --candidates tea,coffee,water --epsilon 1
    """
    more = {"others": None if others is None else _list(others), "candidates": None if candidates is None else _list(candidates)}
    _laws("exponential", values, epsilon, inside, chart, as_json, sensitivity=sensitivity, **more)


def sensitivity(
    statistic: Annotated[
        str | None, typer.Argument(help="median, mean, max, min, trimmed-mean, variance or iqr.", show_default=False)
    ] = None,
    values: Annotated[str, typer.Option("--values", metavar="LIST", help="The numbers, at most 200.")] = "1,2,3,1000",
    bounds: Annotated[
        str, typer.Option("--bounds", metavar="LOW,HIGH", help="The least and the largest number allowed.")
    ] = "0,1000",
    beta: Annotated[str, typer.Option("--beta", help="How fast A(s) decays with the distance s.")] = "2",
    trim: Annotated[int, typer.Option("--trim", min=0, help="Numbers that a trimmed mean leaves out at each end.")] = 1,
    quiz: Annotated[bool, typer.Option("--quiz", help="Solve the quiz of global sensitivities instead.")] = False,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Number of rows of the quiz.")] = 100,
    epsilon: Epsilon = "1",
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Show global, local and smooth sensitivity of typed numbers, or the quiz of sensitivities.

    Example: tacit show sensitivity median --values 1,2,3,1000 --bounds 0,1000 --beta 2
    """
    if quiz:
        if chart is not None:
            raise InvalidInput("--quiz has no picture; remove --chart, or name a statistic, for example median")
        _quiz(rows, epsilon, as_json)
        return
    if statistic is None:
        raise InvalidInput("the statistic is missing; give for example: tacit show sensitivity median, or --quiz")
    from tacit.evidence.lessons.sensitivities import sensitivity_of

    ends = _list(bounds)
    if len(ends) != 2:
        raise InvalidInput("--bounds must be two numbers; give for example --bounds 0,1000")
    _ready(chart)
    _print(sensitivity_of(statistic, _list(values), (ends[0], ends[1]), beta, trim), chart, as_json)


def composition(
    epsilon: Annotated[str, typer.Option("--epsilon", help="Epsilon of each release.")] = "0.1",
    times: Annotated[int, typer.Option("--times", min=1, help="Number of releases, at most 10,000.")] = 100,
    delta: Annotated[str, typer.Option("--delta", help="Delta of the total.")] = "1e-6",
    chart: Chart = None,
    as_json: AsJson = False,
) -> None:
    """Show what many releases cost together: basic, advanced, zCDP and tight composition.

    Example: tacit show composition --epsilon 0.1 --times 100 --delta 1e-6
    """
    from tacit.evidence.lessons.totals import compare_totals

    _ready(chart)
    _print(compare_totals(epsilon, times, delta), chart, as_json)


def urn(
    mass: Annotated[str, typer.Option("--mass", help="All workers in the urn, real and fake.")] = "10",
    noise: Annotated[str, typer.Option("--noise", help="Fake workers on the block.")] = "1",
    draws: Annotated[int, typer.Option("--draws", min=1, help="Synthetic workers, all from that block.")] = 6,
    as_json: AsJson = False,
) -> None:
    """Show the outcome of Dirichlet resampling whose ratio between two neighbours is largest.

    Example: tacit show urn --mass 10 --noise 1 --draws 6
    """
    from tacit.evidence.lessons.blackboard import urn as example

    _print_example(example(mass, noise, draws), as_json)


def counties(
    noise: Annotated[str, typer.Option("--noise", help="Fake workers on each county that gets noise.")] = "1",
    others: Annotated[int, typer.Option("--others", min=1, help="Workers from elsewhere.")] = 9,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Synthetic workers.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show why noise on occupied counties alone reveals where a worker lives: Somerset or Fayette.

    Example: tacit show counties --noise 1
    """
    from tacit.evidence.lessons.blackboard import counties as example

    _print_example(example(noise, others, draws), as_json)


def colours(
    rows: Annotated[int, typer.Option("--rows", min=2, max=5, help="Rows of a database.")] = 5,
    epsilon: Epsilon = "1",
    as_json: AsJson = False,
) -> None:
    """Show two neighbours of blue, green and red rows, and what a histogram tells of them with and without noise.

    Example: tacit show colours --rows 5 --epsilon 1
    """
    from tacit.evidence.lessons.blackboard import colours as example

    _print_example(example(rows, epsilon), as_json)


def difference(
    bits: Annotated[str, typer.Option("--bits", help="The secret bits, as zeros and ones.")] = "10110",
    person: Annotated[int, typer.Option("--person", min=1, help="The person that the second count leaves out.")] = 5,
    epsilon: Epsilon = "1",
    as_json: AsJson = False,
) -> None:
    """Show two counts whose difference is one person, exact and with noise.

    Example: tacit show difference --bits 10110 --person 5
    """
    from tacit.evidence.lessons.blackboard import difference as example

    _print_example(example(bits, person, epsilon), as_json)


def thresholds(people: Annotated[int, typer.Option("--n", min=2, help="Number of people.")] = 40, as_json: AsJson = False) -> None:
    """Show how many rows answers within n/40, ..., n/2 reveal if all subset counts are answered.

    Example: tacit show thresholds --n 40
    """
    from tacit.evidence.lessons.blackboard import thresholds as example

    _print_example(example(people), as_json)


def weeding(
    truth: Annotated[str, typer.Option("--truth", help="The database d, as zeros and ones.")] = "0011001",
    candidate: Annotated[str, typer.Option("--candidate", help="The candidate c.")] = "0110011",
    alpha: Annotated[str, typer.Option("--alpha", help="Largest error of an answer.")] = "0.7",
    as_json: AsJson = False,
) -> None:
    """Show the question that rules out a candidate too far from the truth (Dinur and Nissim 2003).

    Example: tacit show weeding --truth 0011001 --candidate 0110011 --alpha 0.7
    """
    from tacit.evidence.lessons.blackboard import weeding as example

    _print_example(example(truth, candidate, alpha), as_json)


def audit(
    statistic: Annotated[str, typer.Argument(help="max, min or median (the lower one).")] = "max",
    values: Annotated[str, typer.Option("--values", metavar="LIST", help="The values, at most 6.")] = "3,7,2,8,10",
    ask: Annotated[
        list[str] | None, typer.Option("--ask", metavar="ROWS", help="Rows of a question, as 1-5 or 1,2,4; up to three times.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show an auditor that looks at the answer before it refuses, what its refusal discloses, and a simulatable auditor.

    Example: tacit show audit max --values 3,7,2,8,10 --ask 1-5 --ask 1-4
    """
    from tacit.evidence.lessons.audits import audit as example

    _print_example(example(statistic, _list(values), [_rows(each) for each in ask or ["1-5", "1-4"]]), as_json)


def commutes(
    ratio: Annotated[str, typer.Option("--ratio", help="Privacy ratio of the map.")] = "100",
    delta: Annotated[str, typer.Option("--delta", help="Probability that the ratio is exceeded.")] = "1e-5",
    reach: Annotated[float, typer.Option("--reach", help="Kilometers over which commutes become e times as rare.")] = 5.0,
    far: Annotated[float, typer.Option("--far", min=0, max=1, help="Share of commutes that do not follow distance.")] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Show which commutes of a synthetic map are overestimated, on a made-up state whose flows follow distance.

    Example: tacit show commutes --ratio 100 --reach 5
    """
    from tacit.evidence.lessons.commutes import commutes as example

    _print_example(example(ratio, delta, reach, far), as_json)


COMMANDS = {
    "laplace": laplace,
    "gaussian": gaussian,
    "geometric": geometric,
    "randomized-response": randomized_response,
    "exponential": exponential,
    "sensitivity": sensitivity,
    "composition": composition,
    "urn": urn,
    "counties": counties,
    "colours": colours,
    "difference": difference,
    "thresholds": thresholds,
    "weeding": weeding,
    "audit": audit,
    "commutes": commutes,
}


def _laws(mechanism: str, values: str, epsilon: str, inside: str | None, chart: Path | None, as_json: bool, **more: Any) -> None:
    from tacit.evidence.lessons.laws import neighbouring_laws

    _ready(chart)
    _print(neighbouring_laws(mechanism, _list(values), epsilon, inside, **more), chart, as_json)


def _rows(text: str) -> list[int]:
    """The rows that a text names: numbers and ranges."""
    found: list[int] = []
    for part in _list(text):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or int(last or first) > 1000:
            raise InvalidInput(f"--ask takes rows such as 1-5 or 1,2,4, not {text[:40]!r}")
        found += range(int(first), int(last or first) + 1)
    return found


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _set(inside: str | None, low: str | None, high: str | None) -> str | None:
    """The set of --set, or of --from and --to."""
    if low is None and high is None:
        return inside
    if inside is not None:
        raise InvalidInput("--set and --from or --to are two ways to give one set; leave one out")
    return f"x >= {low}" if high is None else f"x <= {high}" if low is None else f"{low} <= x <= {high}"


def _ready(chart: Path | None) -> None:
    """Refuses a file that cannot be written, before the work."""
    if chart is not None:
        check_format(chart)
        check(chart)


def _print_example(example: Example, as_json: bool) -> None:
    if as_json:
        print_json(example.to_dict())
        return
    for line in example.explanation():
        say(line)


def _print(result: Laws | Sensitivity | Totals, chart: Path | None, as_json: bool) -> None:
    if chart is not None:
        result.chart(chart)
    if as_json:
        print_json(result.to_dict())
        return
    for line in result.explanation():
        say(line)
    if chart is not None:
        say(f"chart: {chart}")


def _quiz(rows: int, epsilon: str, as_json: bool) -> None:
    from tacit.evidence.lessons.sensitivities import SIZES, quiz

    solved = quiz(rows, epsilon)
    if as_json:
        print_json({"rows": rows, "epsilon": epsilon, "queries": solved})
        return
    table = [["query", "values", "change one", "add/remove", *(f"n={size:,}" for size in SIZES), "useful"]]
    for each in solved:
        errors = ("infinite" if error is None else f"{100 * error:.3g} %" for error in each["errors"].values())
        table.append(
            [each["query"], each["domain"], each["change_one"], each["add_remove"], *errors, "yes" if each["useful"] else "no"]
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    say("")
    say(f"Global sensitivities for {rows:,} rows, or at least as many if rows come and go.")
    say(f"n: 95 % error of Laplace noise at epsilon {epsilon}, as a share of the largest answer, when one row changes.")
    say("Laplace noise is useful if that share falls as rows are added.")
