"""`tacit attack reconstruct`, `exponential`, `trace`, `regimes`, `differencing`, `averaging` and `tracker`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption, Shown, show
from tacit.doors.cli.output import progress
from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.evidence.attacks.answerers import Noise
    from tacit.evidence.attacks.reconstruction_curves import Solver
    from tacit.evidence.attacks.trials import Trials

PeopleOption = Annotated[int, typer.Option("--n", help="How many people.", min=1)]
NoiseOption = Annotated[str, typer.Option(help="none, or bounded:SIZE, laplace:SCALE, gaussian:DEVIATION on each answer.")]
QueriesOption = Annotated[int, typer.Option(help="How many random subset counts.", min=1)]
EpsilonOption = Annotated[str, typer.Option(help="The budget of a session, for all questions together.")]
RunsOption = Annotated[int, typer.Option(help="How many times, with other people and questions each time.", min=1)]


class Who(StrEnum):
    """Who answers."""

    noise = "noise"
    session = "session"


class Anyone(StrEnum):
    """Who answers an attack on one person."""

    weak = "weak"
    session = "session"


class Method(StrEnum):
    """How the answers are solved."""

    squares = "squares"
    program = "program"


class Errors(StrEnum):
    """The errors of answers within alpha."""

    random = "random"
    worst = "worst"


class Over(StrEnum):
    """What a curve runs over."""

    noise = "noise"
    queries = "queries"
    feasible = "feasible"


def reconstruct(
    n: PeopleOption = 128,
    queries: QueriesOption = 512,
    noise: NoiseOption = "gaussian:1.4",
    against: Annotated[Who, typer.Option(help="Counts with that noise, or a session of ours.")] = Who.noise,
    epsilon: EpsilonOption = "1",
    method: Annotated[Method, typer.Option(help="Least squares, or a linear program.")] = Method.squares,
    curve: Annotated[Over | None, typer.Option(help="A curve over noise or queries, or the noise that is feasible.")] = None,
    runs: RunsOption = 1,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild secret bits from counts over subsets (Dinur and Nissim 2003). Defence: one budget for all answers."""
    from tacit.evidence.attacks.answerers import Noise

    known = Noise.read(noise)
    if curve is not None:
        show(_curve(curve, n, queries, known, (runs, seed, epsilon), _solver(method)), chart, as_json)
        return
    if against is Who.session:
        show(_against_session(n, queries, epsilon, (runs, seed), _solver(method)), chart, as_json)
        return
    show(_against_noise(n, queries, known, (runs, seed), _solver(method)), chart, as_json)


def _against_noise(people: int, queries: int, noise: Noise, turns: tuple[int, int], solver: Solver) -> Trials:
    from tacit.evidence.attacks.reconstruction_curves import attempt
    from tacit.evidence.attacks.trials import Trials

    runs, seed = turns
    found = (attempt(people, queries, noise, seed + run, solver) for run in range(runs))
    words = "exact counts" if noise.size == 0 else f"counts with {noise.law} noise of {noise.size:g}"
    return Trials(words, tuple(progress(found, runs, "attacking")))


def _against_session(people: int, queries: int, epsilon: str, turns: tuple[int, int], solver: Solver) -> Trials:
    from tacit.evidence.attacks.questioner import reconstruct_people
    from tacit.evidence.attacks.trials import Trials
    from tacit.privacy.loss import positive_budget

    runs, seed = turns
    budget = positive_budget(epsilon)
    found = (reconstruct_people(people, queries, budget, seed=seed + run, solver=solver) for run in range(runs))
    return Trials(f"a session with epsilon {epsilon}", tuple(progress(found, runs, "asking sessions")))


def _curve(curve: Over, people: int, queries: int, noise: Noise, terms: tuple[int, int, str], solver: Solver) -> Shown:
    from tacit.evidence.attacks.reconstruction_curves import feasible, over_noise, over_questions

    runs, seed, epsilon = terms
    if curve is Over.feasible:
        return feasible(people, [queries * 2**power for power in range(6)], epsilon)
    if noise.size == 0:
        raise InvalidInput("a curve needs noise; write for example --noise gaussian:4")
    if curve is Over.noise:
        return over_noise(people, queries, noise.law, runs=runs, seed=seed, solver=solver, progress=progress)
    return over_questions(people, noise, runs=runs, seed=seed, solver=solver, progress=progress)


def _solver(method: Method) -> Solver:
    from tacit.evidence.attacks.linear_programming import least_absolute
    from tacit.evidence.attacks.reconstruction import reconstruct as least_squares

    return {Method.squares: least_squares, Method.program: least_absolute}[method]


def exponential(
    n: PeopleOption = 40,
    alpha: Annotated[float | None, typer.Option(help="The largest error of an answer; n / 40 by default.", min=0)] = None,
    answers: Annotated[Errors, typer.Option(help="Random errors, or those that hide most: up to 4 alpha rows.")] = Errors.worst,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep who agrees with all 2^n subset counts: within 4 alpha rows of the truth. Defence: fewer answers, less exact."""
    from tacit.evidence.attacks.answerers import fair_bits
    from tacit.evidence.attacks.exponential_adversary import exponential_adversary
    from tacit.evidence.attacks.subset_answers import HalfWay

    bits, error = fair_bits(n, seed), n / 40 if alpha is None else alpha
    show(exponential_adversary(bits, error, HalfWay.worst(bits, error) if answers is Errors.worst else None, seed), chart, as_json)


def trace(
    n: PeopleOption = 100,
    d: Annotated[int, typer.Option("--d", help="How many proportions are published.", min=1)] = 5000,
    noise: Annotated[list[float] | None, typer.Option(help="A deviation to try; may be repeated.", min=0)] = None,
    runs: RunsOption = 10,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell members from strangers by many proportions (Homer and others 2008). Defence: noise of at least sqrt(d) / n."""
    from tacit.evidence.attacks.tracing import tracing

    show(tracing(n, d, noise or None, runs=runs, seed=seed, progress=progress), chart, as_json)


def regimes(
    n: PeopleOption = 100,
    runs: RunsOption = 2,
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how exact d statistics may be before rows are rebuilt or members recognized: below sqrt(d) / n, both."""
    from tacit.evidence.attacks.regimes import regimes as measured

    show(measured(n, [n * factor for factor in (2, 5, 10, 20, 50)], runs=runs, seed=seed), chart, as_json)


def differencing(
    against: Annotated[Anyone, typer.Option(help="All weak answerers, or a session of ours.")] = Anyone.weak,
    n: PeopleOption = 64,
    targets: Annotated[int, typer.Option(help="How many people to find out about.", min=1)] = 16,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find one person's bit as the difference of two counts over many. Defence: noise on both, from one budget."""
    show(_isolated("differencing", against, (n, targets, seed), epsilon), chart, as_json)


def averaging(
    against: Annotated[Anyone, typer.Option(help="All weak answerers, or a session of ours.")] = Anyone.weak,
    n: PeopleOption = 64,
    targets: Annotated[int, typer.Option(help="How many groups to count exactly.", min=1)] = 8,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the same thing in other words until the noise is gone. Defence: every answer is paid for, none is fresh."""
    show(_isolated("averaging", against, (n, targets, seed), epsilon), chart, as_json)


def tracker(
    against: Annotated[Anyone, typer.Option(help="All weak answerers, or a session of ours.")] = Anyone.weak,
    n: PeopleOption = 64,
    targets: Annotated[int, typer.Option(help="How many people to find out about.", min=1)] = 16,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Get round a minimum group size with four large groups (Denning and others 1979). Defence: noise, not refusals."""
    show(_isolated("tracker", against, (n, targets, seed), epsilon), chart, as_json)


def _isolated(attack: str, against: Anyone, sizes: tuple[int, int, int], epsilon: str) -> Shown:
    from tacit.evidence.attacks.isolation import gallery
    from tacit.evidence.attacks.questioner import isolate_people

    people, targets, seed = sizes
    if people < 40:
        raise InvalidInput(f"the weak answerers hide small counts, so take at least 40 people, not {people}")
    if against is Anyone.weak:
        return gallery(attack, people, min(people, targets), seed)
    return isolate_people(attack, people, min(people, targets), epsilon, seed=seed)
