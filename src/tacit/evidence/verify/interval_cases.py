"""Intervals as cases of `tacit verify`: how often they hold the exact value, computed from the laws of the outputs."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.weighted import Draws
from tacit.evidence.verify.case import Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.coverage import coverage
from tacit.evidence.verify.survey import SurveyedShare
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import WithError
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.privacy.universe import Universe
from tacit.publish.local.estimates import intervals
from tacit.publish.local.randomizers.categories import KAry
from tacit.query.intervals.linear_models import MODEL_PARTS, model_ends
from tacit.query.intervals.ratios import Released
from tacit.query.plan import Column, NumberType, Term
from tacit.query.question import Call

CONFIDENCE = Fraction(95, 100)
CLAIMED = "covers 95%"
TAIL_BOUND = "the width is a bound for every true share, so no interval of this width is exact"
SEPARATE = "each of six sums has a width of its own, and seldom does more than one noise come near to it"
EVERY_VALUE = "the width allows for a draw at every value of the grid, but most draws are near their target"


def cases() -> list[Exhaustive]:
    """Every kind of interval that comes with a release.

    The share is of the misses that an interval allows. Whole numbers have few widths: with noise of many steps, or at a confidence
    that a width just reaches, the intervals of noise use up all that they allow.
    """
    pair, just_reached = Laplace(1, 1, step=1, dimension=2, on_grid=True), Fraction(947, 1000)
    share = SurveyedShare(40, RandomizedResponse(1))
    simple: list[tuple[str, WithError, Any, Fraction, str]] = [
        ("Interval of Laplace, a count", Laplace(1, "1/20", step=1, on_grid=True), 5, CONFIDENCE, ""),
        ("Interval of Laplace, a real number", Laplace(1, 1, step="1/4"), 0.3, CONFIDENCE, ""),
        ("Interval of Laplace, two counts at once", pair, (5, 6), just_reached, ""),
        ("Interval of Gaussian, a count", Gaussian(1, "1/800", step=1, on_grid=True), 5, CONFIDENCE, ""),
        ("Interval of a surveyed share", share, Fraction(12, 40), CONFIDENCE, TAIL_BOUND),
    ]
    return [
        *(
            Exhaustive(name, f"covers {100 * float(confidence):g}%", partial(_covers, mechanism, value, confidence), unreached)
            for name, mechanism, value, confidence, unreached in simple
        ),
        Exhaustive("Interval of a median, on every list", CLAIMED, median_covers, EVERY_VALUE),
        Exhaustive("Intervals of a linear model, on every outcome", CLAIMED, model_covers, SEPARATE),
        Exhaustive("Intervals of a surveyed category, on every count", CLAIMED, shares_cover, TAIL_BOUND),
    ]


def median_covers() -> Check:
    """The least probability, over every list of one to three of the values 0 to 4, that the median lies in its interval."""
    mechanism = QuantileWithInterval("1/2", lower=0, upper=4, step=1, epsilon=3, confidence=CONFIDENCE)
    lists = [list(database.rows) for database in Universe(tuple(range(5))).databases_up_to(3) if database.size]
    least = min(_enclosing_chance(mechanism, rows) for rows in lists)
    words = f"covers {least:.4f} at the worst list, says {float(CONFIDENCE):g}"
    return Check("coverage", least >= float(CONFIDENCE), words, least, _missed_share(least))


def model_covers() -> Check:
    """The least probability that a part of a linear model lies in its interval, over every noise of its six sums up to 2."""
    steps, scale = np.arange(-2, 3), Fraction(3, 10)
    noise = Laplace(1, 1 / scale, step=1, on_grid=True)
    law = [float(noise.law(0).probabilities[int(step)]) for step in steps]
    rows = [(-2, 0), (0, 0), (2, 2), (0, 2), (2, 4), (4, 4)] * 20
    least = min(_model_enclosed(name, rows, steps, law, scale) for name in MODEL_PARTS)
    words = f"covers {least:.4f} at the worst part, says {float(CONFIDENCE):g}"
    return Check("coverage", least >= float(CONFIDENCE), words, least, _missed_share(least))


def _model_enclosed(name: str, rows: list[tuple[int, int]], steps: NDArray[np.int64], law: list[float], scale: Fraction) -> float:
    """Two columns of whole numbers from -4 to 4, doubled as centered sums have them; noise beyond 2 counts as a miss."""
    y, x = np.array(rows, dtype=np.float64).T
    terms = [Term(Column(1, each, -4, 4, False), NumberType(Fraction(1))) for each in ("y", "x")]
    call = Call(name, terms[0], Fraction(1) if name == "linreg_slope" else None, others=(terms[1],))
    slope, start = np.polyfit(x, y, 1)
    exact = {"linreg_slope": slope, "linreg_intercept": start, "linreg_r2": np.corrcoef(x, y)[0, 1] ** 2}[name]
    squares = [(8 * each**2 - 64).sum() for each in ((y, x) if name == "linreg_r2" else (x,))]
    sums = [float(len(x)), 2 * y.sum(), 2 * x.sum(), *squares, (4 * x * y).sum()]
    grid = np.array(np.meshgrid(*([np.arange(len(steps))] * len(sums)), indexing="ij")).reshape(len(sums), -1)
    noises = Draws("Laplace", scale)
    released = [Released(value + steps[at], noises) for value, at in zip(sums, grid, strict=True)]
    low, high = model_ends(call, released, 1 - CONFIDENCE)
    chances = np.prod(np.array(law)[grid], axis=0)
    slack = 1e-9
    return float(chances[(low <= exact + slack) & (exact - slack <= high)].sum())


def shares_cover() -> Check:
    """The least probability, over every number of people with a category and every guaranteed bound, that its share is enclosed."""
    oracle, people = KAry.with_ratio(5, Fraction(3)), 30
    setting = intervals.Setting(oracle.hit, oracle.false_hit, people, 1 - CONFIDENCE)
    guaranteed = [name for name, bound in intervals.BOUNDS.items() if bound.guaranteed]
    least, worst = min((_least_enclosed(setting, bound), bound) for bound in guaranteed)
    words = f"{worst} covers {float(least):.4f} at the worst count, says {float(CONFIDENCE):g}"
    return Check("coverage", least >= CONFIDENCE, words, float(least), _missed_share(float(least)))


def _least_enclosed(setting: intervals.Setting, bound: str) -> Fraction:
    """Over every true count, by the law of the supports: a sum of two binomials."""
    people = setting.people
    low, high = intervals.share_ends(setting, bound, np.arange(people + 1))
    covered = []
    for having in range(people + 1):
        law = np.convolve(_binomial(having, setting.hit), _binomial(people - having, setting.false_hit))
        share = having / people
        covered.append(sum((weight for weight, a, b in zip(law, low, high, strict=True) if a <= share <= b), start=Fraction(0)))
    return min(covered)


def _binomial(trials: int, chance: Fraction) -> NDArray[np.object_]:
    return np.array([comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)], dtype=object)


def _enclosing_chance(mechanism: QuantileWithInterval, rows: list[Any]) -> float:
    """The probability that the interval holds the lower and the upper median, and all between them."""
    low, high = sorted(rows)[(len(rows) - 1) // 2], sorted(rows)[len(rows) // 2]
    law: dict[Any, Any] = dict(mechanism.law(rows).probabilities)
    return float(sum(weight for (_, below, above), weight in law.items() if below <= low and high <= above))


def _covers(mechanism: WithError, value: Any, confidence: Fraction = CONFIDENCE) -> Check:
    measure = coverage(mechanism, value, float(confidence))
    return Check("coverage", measure.holds, str(measure), measure.low, _missed_share(measure.low, confidence))


def _missed_share(covered: float, confidence: Fraction = CONFIDENCE) -> float:
    """The share of the allowed misses that happen."""
    return (1 - covered) / float(1 - confidence)
