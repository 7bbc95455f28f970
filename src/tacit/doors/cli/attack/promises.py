"""`tacit attack floating-point`, `local-sensitivity`, `definitions`, `auxiliary`, `posterior` and `periods`."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import Annotated, Any

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption, show
from tacit.errors import InvalidInput

EpsilonOption = Annotated[str, typer.Option(help="Claimed epsilon.")]


class Kind(StrEnum):
    """Mechanisms whose posterior is shown."""

    laplace = "laplace"
    gaussian = "gaussian"
    response = "randomized-response"


class Known(StrEnum):
    """The attacker's knowledge about a person relative to the average."""

    salary = "salary"
    height = "height"


class About(StrEnum):
    """Whom the prior is about."""

    person = "person"
    everybody = "everybody"


MADE_UP = {Known.salary: ((60, 15), (0, 200), 10), Known.height: ((69, 3), (48, 96), -2)}  # mean and spread, bounds, less


def floating_point(
    draws: Annotated[
        int, typer.Option(help="Number of outputs per noise, for each of two neighbouring answers.", min=1)
    ] = 1_000_000,
    timed: Annotated[int, typer.Option(help="Number of single draws to time.", min=100)] = 10_000,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Identify an answer by the floats that its noise can reach (Mironov 2012), or by timing. Defense: integers on a grid.

    Example: tacit attack floating-point --draws 1000 --timed 100
    """
    from tacit.evidence.attacks.samplers import samplers

    report = samplers(draws, timed)
    show(report, chart, as_json)
    if not report.holds:
        raise typer.Exit(1)


def local_sensitivity(epsilon: EpsilonOption = "1", chart: ChartOption = None, as_json: JsonOption = False) -> None:
    """Distinguish neighbours by noise scaled to local sensitivity (Nissim et al. 2007). Defense: a smooth bound that stays private.

    Example: tacit attack local-sensitivity
    """
    from tacit.evidence.attacks.local_sensitivity import local_sensitivity as measured
    from tacit.privacy.loss import positive_budget

    report = measured(positive_budget(epsilon))
    show(report, chart, as_json)
    if report.smooth_loss > report.epsilon:
        raise typer.Exit(1)


def definitions(chart: ChartOption = None, as_json: JsonOption = False) -> None:
    """Show definitions of privacy that fail, each on a small example. Defense: bound the ratio for every output.

    Example: tacit attack definitions
    """
    from tacit.evidence.attacks.definitions import gallery

    show(gallery(), chart, as_json)


def auxiliary(
    n: Annotated[int, typer.Option("--n", help="Number of people in the average.", min=2)] = 1000,
    of: Annotated[
        Known, typer.Option(help="Data: salaries (the person is 10 below average), or heights in inches (2 above).")
    ] = Known.salary,
    less: Annotated[int | None, typer.Option(help="Distance of the person below the average; negative if above.")] = None,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a person's value from a known distance to the average. No defense exists: it works for people outside the data too.

    Example: tacit attack auxiliary --n 100
    """
    import numpy as np

    from tacit.evidence.attacks.posterior import auxiliary as measured
    from tacit.privacy.loss import positive_budget

    (mean, deviation), bounds, usual = MADE_UP[of]
    values = np.random.default_rng(seed).normal(mean, deviation, n).clip(*bounds).round().astype(int).tolist()
    report = measured(values, bounds, positive_budget(epsilon), usual if less is None else less, of=of.value)
    show(report, chart, as_json)
    if not report.holds:
        raise typer.Exit(1)


def posterior(
    mechanism: Annotated[Kind, typer.Option(help="Mechanism of the release.")] = Kind.laplace,
    epsilon: EpsilonOption = "1",
    prior: Annotated[str | None, typer.Option(help="Prior belief; if omitted, 0.5 for `person` and 0.99 for `everybody`.")] = None,
    about: Annotated[
        About, typer.Option(help="Subject of the prior: one `person`, or `everybody` (a wrong prior).")
    ] = About.person,
    n: Annotated[int, typer.Option("--n", help="Number of people of the wrong prior.", min=2)] = 20,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an adversary's belief before and after a release. The odds move by a factor of at most e^epsilon.

    Example: tacit attack posterior --epsilon 0.5
    """
    from tacit.evidence.attacks.posterior import posterior_of, wrong_prior
    from tacit.privacy.loss import probability
    from tacit.privacy.rounding import exact

    if about is About.everybody:
        if mechanism is not Kind.laplace:
            raise InvalidInput("--about everybody supports only a count with Laplace noise; remove --mechanism")
        report = wrong_prior(n, epsilon, "0.99" if prior is None else prior)
        show(report, chart, as_json)
        if not report.holds:
            raise typer.Exit(1)
        return
    belief = probability(exact("0.5" if prior is None else prior, "prior"))
    made, values = _mechanism_and_inputs(mechanism, epsilon)
    show(posterior_of(made, values, {"yes": belief, "no": 1 - belief}), chart, as_json)


def periods(
    months: Annotated[int, typer.Option(help="Number of months in which the attacked person has a row.", min=3, max=24)] = 12,
    epsilon: EpsilonOption = "1",
    lifetime: Annotated[
        str | None, typer.Option(help="Budget of a person over all months; by default a third of the months'.")
    ] = None,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Attack a budget of each month: many months, a late row, an anti-join, totals. Defense: a lifetime, rows of one month.

    Example: tacit attack periods --months 6
    """
    from tacit.evidence.attacks.periods import periods as measured

    report = measured(months, epsilon, lifetime)
    show(report, chart, as_json)
    if not report.holds:
        raise typer.Exit(1)


def _mechanism_and_inputs(kind: Kind, epsilon: str) -> tuple[Any, dict[Hashable, Any]]:
    """The mechanism, and what it is given if the person has the secret and if not: ten others have it too, in a count."""
    from tacit.mechanisms.gaussian import Gaussian
    from tacit.mechanisms.laplace import Laplace
    from tacit.mechanisms.randomized_response import RandomizedResponse

    if kind is Kind.response:
        return RandomizedResponse(epsilon=epsilon), {"yes": 1, "no": 0}
    if kind is Kind.gaussian:
        return Gaussian.for_budget(sensitivity=1, epsilon=epsilon, delta=1e-6, step=1, on_grid=True), {"yes": 11, "no": 10}
    return Laplace(sensitivity=1, epsilon=epsilon, step=1, on_grid=True), {"yes": 11, "no": 10}
