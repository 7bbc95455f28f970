"""Every mechanism of tacit as a case: parameters whose laws can be listed, and neighbours that try them hardest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

from tacit.accounting.composition import counted_at
from tacit.accounting.filter import Filter
from tacit.evidence.verify import (
    hard_pairs,
    local_answers,
    samplers,
    small_families,
    small_graphs,
    small_grids,
    small_maps,
    small_margins,
    small_rounds,
    small_tables,
    small_training,
    small_trees,
)
from tacit.evidence.verify import interval_cases as covering
from tacit.evidence.verify.case import Case, Contracted, Drawn, Exhaustive
from tacit.evidence.verify.claims import as_decimal, claimed_parameter, parameter, within
from tacit.evidence.verify.composing import Move, Rule, concentrated_move, failing_move, pure_move, worst_composition, worst_delta
from tacit.evidence.verify.contract import EFFORT, Check
from tacit.evidence.verify.survey import SurveyedShare
from tacit.evidence.verify.trial import Pair, Trial
from tacit.mechanisms.bounds import BINS, ProposedBounds
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noisy_max import NoisyMax
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.running import Running
from tacit.mechanisms.selection import GaussianKeyThreshold, KeyThreshold
from tacit.mechanisms.smooth.bound import SmoothBound
from tacit.mechanisms.smooth.estimates import SmoothQuantile
from tacit.mechanisms.smooth.sensitivity import order_statistic, smooth_order_statistic
from tacit.mechanisms.sorted_rows import SortedRows, sorted_rows
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.mechanisms.stream import Measurement, Stream
from tacit.privacy.conversion import largest_order
from tacit.privacy.loss import ADD_REMOVE, CHANGE_ONE, Neighbours
from tacit.privacy.rounding import as_text, exp_down, exp_up
from tacit.privacy.universe import Database, Universe, units

Statistic = Callable[[Database], Fraction]
ROUNDING = 1 + Fraction(1, 10**50)  # of the exponentials on both sides


def smooth_everywhere(
    statistic: Statistic, bound: Statistic, beta: Fraction, databases: Iterable[Database], relation: Neighbours
) -> Check:
    """Whether neighbours' answers differ by at most the bound of either, and their bounds by at most a factor e^beta.

    Nissim, Raskhodnikova and Smith 2007, Definition 2.1; noise scaled to a bound without both gives neighbours away.

    >>> from tacit.privacy.loss import ADD_REMOVE
    >>> from tacit.privacy.universe import Universe
    >>> world = list(Universe((0, 1)).databases_up_to(3))
    >>> def ones(rows): return Fraction(rows.counts[1])
    >>> smooth_everywhere(ones, lambda rows: Fraction(1), Fraction(1, 2), world, ADD_REMOVE).holds
    True
    >>> smooth_everywhere(ones, lambda rows: Fraction(1, 2), Fraction(1, 2), world, ADD_REMOVE).found
    'the answers of two neighbours differ by 1, but the bound is 0.5'
    """
    answer, bounded, pairs = cache(statistic), cache(bound), 0
    growth: Fraction | float = Fraction(1)
    for one in databases:
        for other in one.neighbours(relation):
            pairs += 1
            change, limit, next_limit = abs(answer(one) - answer(other)), bounded(one), bounded(other)
            if change > limit:
                words = f"the answers of two neighbours differ by {as_text(change)}, but the bound is {as_text(limit)}"
                return Check("smoothness", False, words, math.inf, math.inf)
            if limit > 0:
                growth = max(growth, limit / next_limit if next_limit else math.inf)
    measured = math.log(growth)
    words = f"bounds of {pairs} pairs of neighbours differ by up to e^{measured:.4f} where e^{as_text(beta)} is claimed"
    return Check("smoothness", growth <= exp_up(beta) * ROUNDING, words, measured, measured / float(beta))


# --- every mechanism of tacit as a case --------------------------------------------------------------------------------------


HALF, WORLD = Fraction(1, 2), Universe((0, 1, 2, 3, 4))
BETA = Fraction(35, 100)
SMOOTH_CLAIM = f"beta {as_text(BETA)}"
COUNT, TWO_ROWS, REAL = "Laplace, a count", "Laplace, a person of two rows", "Laplace, a real number"
SPARSE, SPARSE_TWO, MAXIMUM = "Sparse vector, one positive", "Sparse vector, two positives", "Exponential, a maximum"
ENDS = "Exponential, both ends of an interval"
ENCLOSED, HEAVY = "Exponential, a median with its interval", "Smooth sensitivity, a median, heavy tails"
CHANGED = "Exponential, a median, a changed row"
PROPOSED = "Proposed bounds, three rows"
BOUND = "Smooth sensitivity, a bound on the scale"
SHARE, MEDIAN, FILTER = "Randomized response, a share", "Smooth sensitivity of a median, on every pair", "Ledger's filter"
FEW_DRAWS = "draws show only part of a loss; with a listed law, the same noise reaches its full claim"
TWO_PARTS = "a shift and a stretch of the noise are most visible at different outputs; at gamma 4, both together reach at most 0.89"
ONE_OF_MANY = "a period pays once for all measurements that read it, and the row has one of them"
TWO_DELTAS = "half of delta is reserved for the conversion of rho, which uses a bound instead of the tail itself"
CAP = Fraction(1), Fraction(1, 10)  # the cap's epsilon and delta: large, so that few moves fill it
MOVES = (concentrated_move(Fraction(11, 10)), failing_move(Fraction(1), CAP[1]), failing_move(Fraction(1), CAP[1] / 2))
FILTER_AT_ORDER = "Ledger's filter, at one order"
ORDER = largest_order(CAP[0], CAP[1] / 2)


def moves_at(order: Fraction) -> tuple[Move, ...]:
    """Randomized response of two ratios, counted at a Renyi order without the sum of its epsilons, and an event with a delta."""
    pure = [pure_move(ratio) for ratio in (Fraction(11, 10), Fraction(3, 2))]
    counted = [replace(move, cost=replace(counted_at(move.cost, order), epsilon=None)) for move in pure]
    return *counted, failing_move(Fraction(1), CAP[1] / 2)


def sound() -> list[Case]:
    """All cases, none of them spoiled."""
    contracted = [*_additive(), *_choices(), *_quantiles(), *_surveys(), *_smooth(), *small_maps.contracted_cases()]
    short = [case for case in contracted if case.name != BOUND]  # that law is too long to compose with all others
    smooth_bound = Exhaustive(MEDIAN, SMOOTH_CLAIM, lambda: smooth_median(_bound))
    whole = [
        smooth_bound,
        *small_maps.exhaustive(),
        *small_tables.exhaustive(),
        *small_rounds.exhaustive(),
        *small_grids.exhaustive(),
        *small_families.exhaustive(),
        *small_training.exhaustive(),
        *small_margins.exhaustive(),
        composition_case(short),
        filter_case(FILTER, Filter(*CAP), unreached=TWO_DELTAS),
        filter_case("Ledger's filter, events with a delta", Filter(*CAP, for_events=1)),
        filter_case(FILTER_AT_ORDER, Filter(*CAP, order=ORDER), moves_at(ORDER), unreached=TWO_DELTAS),
    ]
    drawn = [*local_answers.cases(), local_answers.every_ratio(), *_from_draws(), *small_trees.cases()]
    return [*contracted, *drawn, *whole, *covering.cases(), *small_graphs.cases(), *samplers.cases()]


def _from_draws() -> list[Contracted]:
    """Without their laws, with the default step, and in more dimensions than can be listed."""
    nothing = (0,) * 10
    laplace = Laplace(10, 1, step=1, dimension=10, on_grid=True)
    gaussian = Gaussian.for_budget(1, 2, 1e-2, step=1, dimension=10, on_grid=True)
    return [
        Contracted("Laplace, a count, from draws", Drawn(Laplace(1, 1)), ((0, 1),), 10, FEW_DRAWS),
        Contracted("Laplace, ten counts, from draws", Drawn(laplace), ((nothing, (10, *nothing[1:])),), 5, FEW_DRAWS),
        Contracted(PROPOSED, ProposedBounds(3, 1), (filled_bins(3),)),
        Contracted("Gaussian, ten counts, from draws", Drawn(gaussian), ((nothing, (1, *nothing[1:])),), 5, FEW_DRAWS),
    ]


def filled_bins(rows: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The counts of all bins with and without a unit whose rows are in one bin, which the threshold then decides."""
    at = ProposedBounds(rows, 1).threshold
    return tuple([0] * (BINS - 1) + [at - rows]), tuple([0] * (BINS - 1) + [at])


def composition_case(contracted: Sequence[Contracted]) -> Exhaustive:
    """Every pair of mechanisms one after the other, against the sum that the accountant asks for."""

    def check() -> Check:
        trials = {case.name: Trial(case.mechanism, case.pairs[-2:], EFFORT) for case in contracted}
        releases = [(name, each.mechanism.loss, each.laws[each.worst]) for name, each in trials.items() if each.laws]
        names, claim, measure = worst_composition(releases)
        words = f"{names}: {float(measure):.4g} where {parameter(claim)} is claimed"
        share = float(measure / as_decimal(claimed_parameter(claim)))
        return Check("composition", within(claim, measure), words, share, share)

    return Exhaustive("Every pair, composed", "1 times the sum", check)


def _additive() -> list[Contracted]:
    count, vector = ((0, 1), (5, 4)), (((0, 0), (1, 0)), ((0, 0), (0, -1)))
    return [
        Contracted(COUNT, Laplace(1, 1, step=1, on_grid=True), count),
        Contracted(TWO_ROWS, Laplace(2, 1, step=1, on_grid=True), ((0, 2), (0, -2), (0, 1))),
        Contracted(REAL, Laplace(1, 1, step="1/4"), ((0.3, 1.3), (0.3, -0.7), (0.3, 0.8))),
        Contracted("Laplace, two counts", Laplace(1, 1, step=1, dimension=2, on_grid=True), vector),
        Contracted("Laplace, two real numbers", Laplace(1, 2, step=1, dimension=2), (((0.4, 0.4), (0.9, 0.9)), ((0, 0), (1, 0)))),
        Contracted("Gaussian, a count", Gaussian(1, "1/2", step=1, on_grid=True), count),
        Contracted("Gaussian, two counts", Gaussian(1, "1/2", step=1, dimension=2, on_grid=True), vector),
        Contracted("Gaussian, running totals", Running(1, 1, HALF, (1, 2, 1), bits=1), vector),
        Contracted(
            "Gaussian, a measurement of a stream", Measurement(Stream(1, 2, HALF, bits=1), 1), vector, unreached=ONE_OF_MANY
        ),
        Contracted("Gaussian, a count, own sums", Gaussian.for_budget(1, 1, 1e-6, step=1, on_grid=True), count),
    ]


def _choices() -> list[Contracted]:
    votes = (((0, 0, 0), (1, 0, 0)), ((3, 2, 2), (2, 3, 3)), ((20, 0, 20), (19, 1, 19)))
    series = (((0, 0, 0, 0), (1, 1, 1, 1)), hard_pairs.rising_and_falling(10, 1), hard_pairs.rising_and_falling(9, 2))
    guesses = ((0, 3), (20, 1), (20, 9))
    histograms = (
        (((3, 0),) * 3, ((4, 0),) * 3),
        (((0, 0),) * 3, ((1, 0),) * 3),
        (((9, 0), (3, 6), (0, 9)), ((9, 1), (3, 7), (0, 10))),
    )
    groups = (
        (((), ()), (("a", "b"), (1, 1))),
        ((("a", "b"), (20, 20)), (("a", "b"), (21, 21))),
        ((("a",), (5,)), (("a", "b"), (6, 1))),
    )
    return [
        Contracted("Exponential, three candidates", Exponential(1, 1), votes),
        Contracted("Exponential, the farthest of three histograms", Farthest(guesses, 1, 1), histograms),
        Contracted("Noisy max of three counts", NoisyMax(1, 1, step=1), votes),
        Contracted(SPARSE, SparseVector(1, HALF, HALF, positives=1, threshold=2, step=1), series),
        Contracted(SPARSE_TWO, SparseVector(1, HALF, HALF, positives=2, threshold=2, step=1), series),
        Contracted("Keys by threshold, two groups each", KeyThreshold(1, 0.01, max_groups=2), groups),
        Contracted(
            "Keys by a Gaussian threshold, two groups each", GaussianKeyThreshold(HALF, Fraction(1, 10**30), max_groups=2), groups
        ),
    ]


def _quantiles() -> list[Contracted]:
    """On every list of a few values, spread over a grid that is wide enough for one of them to try the claim hard."""
    middle, highest = (Quantile(q, lower=0, upper=40, step=1, epsilon=1) for q in (HALF, 1))
    own_rank = replace(highest, shift=Fraction(0))
    shared = Quantile(HALF, lower=0, upper=40, step=1, epsilon=1, max_rows=2)
    changed = Quantile(HALF, lower=0, upper=40, step=1, epsilon=1, neighbours=CHANGE_ONE)
    spread = row_pairs(Universe((0, 20, 39, 40)), 2, ADD_REMOVE)
    return [
        Contracted("Exponential, a median", middle, (*spread, hard_pairs.at_the_end(middle))),
        Contracted(MAXIMUM, highest, (*spread, hard_pairs.above_the_aim(highest))),
        Contracted("Exponential, a maximum at its own rank", own_rank, spread),
        Contracted("Exponential, a median, two rows each", shared, row_pairs(units((0, 39, 40), 2), 2, ADD_REMOVE)),
        Contracted(CHANGED, changed, (*row_pairs(Universe((0, 20, 40)), 2, CHANGE_ONE), ([39, 0], [39, 40]))),
        *_enclosed_cases(QuantileWithInterval(HALF, lower=0, upper=20, step=1, epsilon=1)),
    ]


def _enclosed_cases(enclosed: QuantileWithInterval) -> list[Contracted]:
    """A median with its interval, and its draws one by one: one that takes too much could hide behind the others."""
    value, ends = enclosed.of_few
    hard, few = (hard_pairs.under_both_ends(both.low, both.high) for both in (enclosed.of_many, ends))
    small = row_pairs(Universe((0, 19, 20)), 2, ADD_REMOVE)
    return [
        Contracted(ENCLOSED, enclosed, (hard,)),
        Contracted(ENDS, enclosed.of_many, (*small, hard)),
        Contracted(f"{ENDS}, few rows", ends, (*small, few)),
        Contracted("Exponential, the value of an interval, few rows", value, (*small, hard_pairs.at_the_end(value))),
    ]


def _surveys() -> list[Contracted]:
    response = RandomizedResponse(1)
    share = SurveyedShare(people=40, response=response)
    return [
        Contracted("Randomized response, one bit", response, ((0, 1),)),
        Contracted(SHARE, share, ((Fraction(12, 40), Fraction(13, 40)), (Fraction(0), Fraction(1, 40)))),
    ]


def _smooth() -> list[Contracted]:
    pairs = row_pairs(Universe((0, 20, 40)), 3, ADD_REMOVE)
    heavy, far_heavy = hard_pairs.far_end_median(1, gamma=4, far=100)
    lighter, far_lighter = hard_pairs.far_end_median(1, gamma=10, far=400)
    light, far_light = hard_pairs.far_end_median(1, delta=Fraction(1, 1000), gamma=None, far=100)
    mean, far_mean = hard_pairs.far_end_trimmed_mean(1, gamma=10, kept=88)
    bound = SmoothBound(SmoothQuantile(HALF, lower=0, upper=40, step=1, epsilon=4), epsilon=4)
    return [
        Contracted(HEAVY, heavy, (*pairs, far_heavy), unreached=TWO_PARTS),
        Contracted("Smooth sensitivity, a median, lighter tails", lighter, (far_lighter,)),
        Contracted("Smooth sensitivity, a median, Laplace tails", light, (*pairs, far_light)),
        Contracted("Smooth sensitivity, a trimmed mean", mean, (*pairs, far_mean)),
        Contracted(BOUND, bound, (([20, 20], [20, 20, 20]),)),
    ]


def filter_case(name: str, rule: Rule, moves: Iterable[Move] = MOVES, depth: int = 20, unreached: str = "") -> Exhaustive:
    """The best adaptive strategy against a filter, by exhaustion, as a delta at the cap's epsilon."""
    epsilon, delta = CAP

    def check() -> Check:
        worst = worst_delta(rule, tuple(moves), depth, exp_down(epsilon))
        words = f"an adaptive strategy of {depth} events reaches delta {as_text(worst)} where the cap is {as_text(delta)}"
        return Check("filter", worst <= delta, words, float(worst), float(worst / delta))

    return Exhaustive(name, f"delta {as_text(delta)} at epsilon {as_text(epsilon)}", check, unreached)


def smooth_median(bound: Callable[[SortedRows], Fraction]) -> Check:
    """Whether a bound on the median's sensitivity is smooth on every database of at most four of the values 0 to 4."""

    def rows(database: Database) -> SortedRows:
        return sorted_rows([int(str(row)) for row in database.rows], 0, 4)

    databases = WORLD.databases_up_to(4)
    return smooth_everywhere(
        lambda database: order_statistic(rows(database), HALF),
        lambda database: bound(rows(database)),
        BETA,
        databases,
        ADD_REMOVE,
    )


def row_pairs(universe: Universe, size: int, relation: Neighbours) -> tuple[Pair, ...]:
    """Every pair of neighbours of at most `size` elements, as lists of their rows."""
    return tuple(
        (_rows(one), _rows(other))
        for one in universe.databases_up_to(size)
        for other in one.neighbours(relation)
        if one.counts < other.counts
    )


def _bound(rows: SortedRows) -> Fraction:
    return smooth_order_statistic(rows, HALF, BETA)


def _rows(database: Database) -> list[int]:
    """The rows of a database whose elements are rows, or units of several."""
    return [row for element in database.rows for row in (element if isinstance(element, tuple) else (element,))]
