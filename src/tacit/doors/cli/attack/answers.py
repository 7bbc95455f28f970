"""`tacit attack` on exact or noisy answers and on refusals, from `reconstruct` to `denial`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption, Shown, show
from tacit.doors.cli.output import console, print_json, progress
from tacit.errors import InvalidInput, LawViolated

if TYPE_CHECKING:
    from tacit.evidence.attacks.answerers import Noise
    from tacit.evidence.attacks.reconstruction import Trials
    from tacit.evidence.attacks.reconstruction_curves import Solver

PeopleOption = Annotated[int, typer.Option("--n", help="Number of people.", min=1)]
NoiseOption = Annotated[str, typer.Option(help="Noise on each answer: none, bounded:SIZE, laplace:SCALE or gaussian:DEVIATION.")]
QueriesOption = Annotated[int, typer.Option(help="Number of random subset counts.", min=1)]
EpsilonOption = Annotated[str, typer.Option(help="Total budget of the attacked session, for all queries together.")]
RunsOption = Annotated[int, typer.Option(help="Number of runs, each with new people and new queries.", min=1)]


class Who(StrEnum):
    """The answerer of the queries."""

    noise = "noise"
    session = "session"


class Anyone(StrEnum):
    """The answerer of the queries in an attack on one person."""

    weak = "weak"
    session = "session"


class Method(StrEnum):
    """How the bits are computed from the answers."""

    squares = "squares"
    program = "program"


class Errors(StrEnum):
    """How the errors of the answers are chosen, all within alpha."""

    random = "random"
    worst = "worst"


class Over(StrEnum):
    """The variable of a curve."""

    noise = "noise"
    queries = "queries"
    feasible = "feasible"


def reconstruct(
    n: PeopleOption = 128,
    queries: QueriesOption = 512,
    noise: NoiseOption = "gaussian:1.4",
    against: Annotated[Who, typer.Option(help="Target: counts with the given noise, or a tacit session.")] = Who.noise,
    epsilon: EpsilonOption = "1",
    method: Annotated[Method, typer.Option(help="Solver: least squares, or a linear program.")] = Method.squares,
    curve: Annotated[Over | None, typer.Option(help="Curve over noise or over queries, or the range of feasible noise.")] = None,
    runs: RunsOption = 1,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reconstruct secret bits from subset counts (Dinur and Nissim 2003). Defense: one budget for all answers.

    Example: tacit attack reconstruct --n 64 --queries 256
    """
    from tacit.evidence.attacks.answerers import Noise

    law = Noise.read(noise)
    if curve is not None:
        show(_curve(curve, n, queries, law, (runs, seed, epsilon), _solver(method)), chart, as_json)
        return
    if against is Who.session:
        show(_against_session(n, queries, epsilon, (runs, seed), _solver(method)), chart, as_json)
        return
    show(_against_noise(n, queries, law, (runs, seed), _solver(method)), chart, as_json)


def _against_noise(people: int, queries: int, noise: Noise, turns: tuple[int, int], solver: Solver) -> Trials:
    from tacit.evidence.attacks.reconstruction import Trials
    from tacit.evidence.attacks.reconstruction_curves import attempt

    runs, seed = turns
    trials = (attempt(people, queries, noise, seed + run, solver) for run in range(runs))
    words = "exact counts" if noise.size == 0 else f"counts with {noise.law} noise of {noise.size:g}"
    return Trials(words, tuple(progress(trials, runs, "attacking")))


def _against_session(people: int, queries: int, epsilon: str, turns: tuple[int, int], solver: Solver) -> Trials:
    from tacit.evidence.attacks.questioner import reconstruct_people
    from tacit.evidence.attacks.reconstruction import Trials
    from tacit.privacy.loss import positive_budget

    runs, seed = turns
    budget = positive_budget(epsilon)
    trials = (reconstruct_people(people, queries, budget, seed=seed + run, solver=solver) for run in range(runs))
    return Trials(f"a session with epsilon {epsilon}", tuple(progress(trials, runs, "asking sessions")))


def _curve(curve: Over, people: int, queries: int, noise: Noise, terms: tuple[int, int, str], solver: Solver) -> Shown:
    from tacit.evidence.attacks.reconstruction_curves import feasible, over_noise, over_questions

    runs, seed, epsilon = terms
    if curve is Over.feasible:
        return feasible(people, [queries * 2**power for power in range(6)], epsilon)
    if noise.size == 0:
        raise InvalidInput("--curve requires noise above 0; give for example --noise gaussian:4")
    if curve is Over.noise:
        return over_noise(people, queries, noise.law, runs=runs, seed=seed, solver=solver, progress=progress)
    return over_questions(people, noise, runs=runs, seed=seed, solver=solver, progress=progress)


def _solver(method: Method) -> Solver:
    from tacit.evidence.attacks.reconstruction import least_absolute
    from tacit.evidence.attacks.reconstruction import reconstruct as least_squares

    return {Method.squares: least_squares, Method.program: least_absolute}[method]


def exponential(
    n: PeopleOption = 40,
    alpha: Annotated[float | None, typer.Option(help="Largest error of an answer; n / 40 if omitted.", min=0)] = None,
    answers: Annotated[
        Errors, typer.Option(help="Errors of the answers: random, or the worst case, which hides up to 4 alpha rows.")
    ] = Errors.worst,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reconstruct rows from all 2^n subset counts: all but 4 alpha rows are right. Defense: fewer answers, more noise.

    Example: tacit attack exponential --n 20
    """
    from tacit.evidence.attacks.answerers import fair_bits
    from tacit.evidence.attacks.exponential_adversary import HalfWay, exponential_adversary

    bits, error = fair_bits(n, seed), n / 40 if alpha is None else alpha
    show(exponential_adversary(bits, error, HalfWay.worst(bits, error) if answers is Errors.worst else None, seed), chart, as_json)


def trace(
    n: PeopleOption = 100,
    d: Annotated[int, typer.Option("--d", help="Number of published proportions.", min=1)] = 5000,
    noise: Annotated[
        list[float] | None, typer.Option(help="Standard deviation of the noise to try; may be repeated.", min=0)
    ] = None,
    runs: RunsOption = 10,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Distinguish members from non-members by many proportions (Homer et al. 2008). Defense: noise of at least sqrt(d) / n.

    Example: tacit attack trace --n 50 --d 500 --runs 2
    """
    from tacit.evidence.attacks.tracing import tracing

    show(tracing(n, d, noise or None, runs=runs, seed=seed, progress=progress), chart, as_json)


def regimes(
    n: PeopleOption = 100,
    runs: RunsOption = 2,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how accurate d statistics can be before rows are reconstructed or members recognized: below sqrt(d) / n, both are.

    Example: tacit attack regimes --n 20 --runs 1
    """
    from tacit.evidence.attacks.reconstruction_curves import regimes as measured

    show(measured(n, [n * factor for factor in (2, 5, 10, 20, 50)], runs=runs, seed=seed), chart, as_json)


def differencing(
    against: Annotated[Anyone, typer.Option(help="Target: all weak release methods, or a tacit session.")] = Anyone.weak,
    n: PeopleOption = 64,
    targets: Annotated[int, typer.Option(help="Number of people to attack.", min=1)] = 16,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute one person's bit as the difference of two large counts. Defense: noise on both counts, paid from one budget.

    Example: tacit attack differencing --targets 4
    """
    show(_isolate("differencing", against, (n, targets, seed), epsilon), chart, as_json)


def averaging(
    against: Annotated[Anyone, typer.Option(help="Target: all weak release methods, or a tacit session.")] = Anyone.weak,
    n: PeopleOption = 64,
    targets: Annotated[int, typer.Option(help="Number of groups to count exactly.", min=1)] = 8,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Repeat a query in other words and average the noise away. Defense: every new answer costs budget.

    Example: tacit attack averaging --targets 4
    """
    show(_isolate("averaging", against, (n, targets, seed), epsilon), chart, as_json)


def tracker(
    against: Annotated[Anyone, typer.Option(help="Target: all weak release methods, or a tacit session.")] = Anyone.weak,
    n: PeopleOption = 64,
    targets: Annotated[int, typer.Option(help="Number of people to attack.", min=1)] = 16,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Circumvent a minimum group size with four large groups (Denning et al. 1979). Defense: noise, not refusals.

    Example: tacit attack tracker --targets 4
    """
    show(_isolate("tracker", against, (n, targets, seed), epsilon), chart, as_json)


def _isolate(attack: str, against: Anyone, sizes: tuple[int, int, int], epsilon: str) -> Shown:
    from tacit.evidence.attacks.isolation import gallery
    from tacit.evidence.attacks.questioner import isolate_people

    people, targets, seed = sizes
    if people < 40:
        raise InvalidInput(f"--n must be at least 40, not {people}: the weak release methods hide small counts")
    if against is Anyone.weak:
        return gallery(attack, people, min(people, targets), seed)
    return isolate_people(attack, people, min(people, targets), epsilon, seed=seed)


# --- `tacit attack denial` ---------------------------------------------------------------------------------------------------


class DenialExample(StrEnum):
    """The textbook example, or a table of random values."""

    max = "max"
    random = "random"


def denial(
    example: Annotated[
        DenialExample, typer.Option(help="Data to attack: the five values of the textbook example, or random values.")
    ] = DenialExample.max,
    people: Annotated[int, typer.Option(help="Number of rows of the random example.", min=3, max=3000)] = 60,
    chart: Annotated[Path | None, typer.Option(help="File for a chart of the disclosed values: .svg, .png or .html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Infer values from the refusals of an auditor that looks at the answer. Exits with 1 if a simulatable auditor leaks too.

    Example: tacit attack denial
    """
    from tacit.evidence.attacks.denial import denial as run
    from tacit.evidence.attacks.denial import example_values
    from tacit.publish.audited.examples import MAX_VALUES

    report = run(MAX_VALUES, group=5) if example is DenialExample.max else run(example_values(people))
    if chart is not None:
        report.chart(str(chart))
    if as_json:
        print_json(_as_values(report))
    else:
        _show(report)
    if report.simulatable.named or report.value_based.wrong:
        raise LawViolated(
            "simulatable", "refusals of the simulatable auditor disclosed a value, or the attack inferred a wrong one"
        )


def _as_values(report: Any) -> dict[str, Any]:
    return {"rows": report.people, "value_based": _outcome(report.value_based), "simulatable": _outcome(report.simulatable)}


def _outcome(outcome: Any) -> dict[str, Any]:
    named = {f"x{row + 1}": value for row, value in sorted(outcome.named.items())}
    return {"asked": outcome.asked, "refused": outcome.refused, "named": named, "wrong": outcome.wrong}


def _show(report: Any) -> None:
    from tacit.doors.cli.screen import styled

    screen = console()
    screen.print(styled(("Values from refusals", "bold"), " · query the maximum of a group, then of the group without one row"))
    for name, outcome in (("value-based", report.value_based), ("simulatable", report.simulatable)):
        named = [f"x{row + 1} = {value:g}" for row, value in sorted(outcome.named.items())]
        more = f" and {len(named) - 8} more" if len(named) > 8 else ""
        sure = (f"{', '.join(named[:8])}{more}", "red") if named else ("nothing", "green")
        screen.print(styled(f"  {name}: {outcome.refused} of {outcome.asked} refused; the refusals disclose ", sure))
    screen.print(report.summary())
