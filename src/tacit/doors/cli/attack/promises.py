"""`tacit attack floating-point`, `local-sensitivity`, `definitions`, `auxiliary` and `posterior`."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import Annotated, Any

import typer

from tacit.doors.cli.attack.show import ChartOption, JsonOption, SeedOption, show
from tacit.errors import InvalidInput

EpsilonOption = Annotated[str, typer.Option(help="The epsilon that is claimed.")]


class Kind(StrEnum):
    """Mechanisms whose posterior is shown."""

    laplace = "laplace"
    gaussian = "gaussian"
    response = "randomized-response"


class Known(StrEnum):
    """What is known of a person relative to the average."""

    salary = "salary"
    height = "height"


class About(StrEnum):
    """Whom a prior is about."""

    person = "person"
    everybody = "everybody"


MADE_UP = {Known.salary: ((60, 15), (0, 200), 10), Known.height: ((69, 3), (48, 96), -2)}  # mean and spread, bounds, less


def floating_point(
    draws: Annotated[int, typer.Option(help="Outputs of each noise, for each of two neighbouring answers.", min=1)] = 1_000_000,
    timed: Annotated[int, typer.Option(help="Single draws that are timed.", min=100)] = 10_000,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell an answer from which floats its noise can reach (Mironov 2012), or from the clock. Defence: integers on a grid."""
    from tacit.evidence.attacks.samplers import samplers

    found = samplers(draws, timed)
    show(found, chart, as_json)
    if not found.holds:
        raise typer.Exit(1)


def local_sensitivity(epsilon: EpsilonOption = "1", chart: ChartOption = None, as_json: JsonOption = False) -> None:
    """Tell neighbours apart by noise scaled to local sensitivity (Nissim and others 2007). Defence: a smooth bound, unseen."""
    from tacit.evidence.attacks.local_sensitivity import local_sensitivity as measured
    from tacit.privacy.loss import positive_budget

    found = measured(positive_budget(epsilon))
    show(found, chart, as_json)
    if found.smooth_loss > found.epsilon:
        raise typer.Exit(1)


def definitions(chart: ChartOption = None, as_json: JsonOption = False) -> None:
    """Show definitions of privacy that fail, each on a small example. Defence: bound the ratio, for every output."""
    from tacit.evidence.attacks.definitions import gallery

    show(gallery(), chart, as_json)


def auxiliary(
    n: Annotated[int, typer.Option("--n", help="How many people the average is over.", min=2)] = 1000,
    of: Annotated[Known, typer.Option(help="Salaries, 10 below average; or heights in inches, 2 above.")] = Known.salary,
    less: Annotated[int | None, typer.Option(help="How far below the average the person is; above, if negative.")] = None,
    epsilon: EpsilonOption = "1",
    seed: SeedOption = 0,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find a value known to be so far from average, the person in the data or not. Defence: none; the difference is bounded."""
    import numpy as np

    from tacit.evidence.attacks.auxiliary import auxiliary as measured
    from tacit.privacy.loss import positive_budget

    (mean, deviation), bounds, usual = MADE_UP[of]
    values = np.random.default_rng(seed).normal(mean, deviation, n).clip(*bounds).round().astype(int).tolist()
    found = measured(values, bounds, positive_budget(epsilon), usual if less is None else less, of=of.value)
    show(found, chart, as_json)
    if not found.holds:
        raise typer.Exit(1)


def posterior(
    mechanism: Annotated[Kind, typer.Option(help="What is released.")] = Kind.laplace,
    epsilon: EpsilonOption = "1",
    prior: Annotated[str | None, typer.Option(help="The belief in advance: 0.5 of a person, 0.99 of everybody.")] = None,
    about: Annotated[About, typer.Option(help="A secret of one person; or a prior that is wrong about everybody.")] = About.person,
    n: Annotated[int, typer.Option("--n", help="How many people the wrong prior is about.", min=2)] = 20,
    chart: ChartOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an adversary's belief before and after a release, and how far odds can move: at most by e^epsilon."""
    from tacit.evidence.attacks.posterior import posterior_of
    from tacit.evidence.attacks.wrong_prior import wrong_prior
    from tacit.privacy.loss import probability
    from tacit.privacy.rounding import exact

    if about is About.everybody:
        if mechanism is not Kind.laplace:
            raise InvalidInput("a prior about everybody is shown for a count with Laplace noise; leave --mechanism out")
        found = wrong_prior(n, epsilon, "0.99" if prior is None else prior)
        show(found, chart, as_json)
        if not found.holds:
            raise typer.Exit(1)
        return
    belief = probability(exact("0.5" if prior is None else prior, "prior"))
    made, values = _made(mechanism, epsilon)
    show(posterior_of(made, values, {"yes": belief, "no": 1 - belief}), chart, as_json)


def _made(kind: Kind, epsilon: str) -> tuple[Any, dict[Hashable, Any]]:
    """The mechanism, and what it is given if the person has the secret and if not: ten others have it too, in a count."""
    from tacit.mechanisms.gaussian import Gaussian
    from tacit.mechanisms.laplace import Laplace
    from tacit.mechanisms.randomized_response import RandomizedResponse

    if kind is Kind.response:
        return RandomizedResponse(epsilon=epsilon), {"yes": 1, "no": 0}
    if kind is Kind.gaussian:
        return Gaussian.for_budget(sensitivity=1, epsilon=epsilon, delta=1e-6, step=1, on_grid=True), {"yes": 11, "no": 10}
    return Laplace(sensitivity=1, epsilon=epsilon, step=1, on_grid=True), {"yes": 11, "no": 10}
