"""Every sampler as it runs, beside the law that is listed, and wrong ones planted among them.

The samplers of noise are driven by bits, and all that draws from them by decisions (see driving.py). The listed law and the code
that draws differ in form: the ends of an interval are listed cell by cell and drawn by their distance first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain, permutations, product, repeat
from math import log2, prod
from typing import Any

import numpy as np

from tacit.evidence.verify import hard_pairs, local_answers
from tacit.evidence.verify.case import Case, Exhaustive
from tacit.evidence.verify.claims import as_decimal
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.driving import (
    UNDECIDED,
    distance,
    driven,
    driven_by_bits,
    driven_by_strings,
    replace_functions,
    run_spoiled,
    weights_of,
)
from tacit.evidence.verify.survey import SurveyedShare
from tacit.mechanisms import additive
from tacit.mechanisms.dirichlet.calibration import PublicFacts
from tacit.mechanisms.dirichlet.resampling import DirichletResampling, ProbableDirichlet
from tacit.mechanisms.exponential import Exponential, weighed
from tacit.mechanisms.farthest import Farthest
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Listed
from tacit.mechanisms.noise import bits, choice, discrete, envelope, heavy, sampler, uniform, urn
from tacit.mechanisms.noise.coins import packed_coins
from tacit.mechanisms.noise.costs import MixedCosts
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.noise.urn import BlockClass
from tacit.mechanisms.noisy_max import NoisyMax
from tacit.mechanisms.quantile import rank_blocks
from tacit.mechanisms.quantile.cells import Box, Cell, Cells
from tacit.mechanisms.quantile.ends import Intervals
from tacit.mechanisms.quantile.interval import QuantileWithInterval
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.mechanisms.quantile.rank_blocks import Blocks, Rank
from tacit.mechanisms.randomized_response import RandomizedResponse
from tacit.mechanisms.selection import GaussianKeyThreshold, KeyThreshold
from tacit.mechanisms.smooth.bound import SmoothBound
from tacit.mechanisms.smooth.estimates import SmoothQuantile, SmoothTrimmedMean
from tacit.mechanisms.smooth.noise import Grid, SmoothMechanism
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.mechanisms.sparse_vector import SparseVector
from tacit.privacy.law import ARITHMETIC, Law
from tacit.publish.local.randomizers import unary
from tacit.publish.local.randomizers.rappor import Rappor
from tacit.publish.local.randomizers.unary import pack, unpack

HALF, ONE = Fraction(1, 2), Fraction(1)
OVERLAP = f"overlap {1 - UNDECIDED}"
INTEGERS, WEIGHTS = "Coins and uniform integers, by every bit", "Choices by weight, by every bit"
NOISE, TAILS = "Discrete noise, by every bit", "Heavy tails, by every bit"
NUMBERS, CHOICES, SMOOTH = "Noise on numbers, as it runs", "Choices, as they run", "Smooth sensitivity, as it runs"
RANKS, ENDS, BEYOND = (
    "Quantiles, as they run",
    "Both ends of an interval, as they run",
    "Quantiles beyond what is listed, as they run",
)
LOCAL, MAPS = "Local randomizers, as they run", "Synthetic maps, as they run"
CELLS, UNLISTED = "Cells of both ends, on every candidate", "Ranks that are not listed"
Laws = dict[str, Callable[[], tuple[Law, Law]]]


def overlap(laws: Callable[[], Laws]) -> Check:
    """The overlap of the law that runs and the listed one where it is least; the first breach ends it."""
    apart: dict[str, Decimal] = {}
    for name, both in laws().items():
        apart[name] = distance(*both())
        if apart[name] > UNDECIDED:
            break
    worst = max(apart, key=apart.__getitem__)
    least = float(1 - apart[worst])
    words = f"{worst}: what runs and what is listed overlap by {least:.7f}"
    return Check("sampler", apart[worst] <= UNDECIDED, words, least, least)


def _even(outcomes: int) -> Law:
    return Law(dict.fromkeys(range(outcomes), as_decimal(Fraction(1, outcomes))))


def _coin(chance: Fraction | Decimal) -> Law:
    heads = chance if isinstance(chance, Decimal) else as_decimal(chance)
    return Law({True: heads, False: ARITHMETIC.subtract(1, heads)})


def _two_coins(chance: Fraction) -> Law:
    sides = {1: chance, 0: 1 - chance}
    return Law({((one, two),): as_decimal(sides[one] * sides[two]) for one in sides for two in sides})


def _integers() -> Laws:
    """Coins of one bias, by words and packed; integers below bounds of each size, by 32 bits, 64 bits and bytes."""
    third, large, word = Fraction(1, 3), 3 * 2**20, np.array([6], dtype=np.uint64)
    orders = Law({pair: as_decimal(Fraction(1, 20)) for pair in ((a, b) for a in range(5) for b in range(5) if a != b)})
    two_heads = Law({n: as_decimal(Fraction(count, 64)) for n, count in enumerate((9, 30, 25))})
    runs: dict[str, tuple[Callable[[], Any], Law]] = {
        "uniform_integer": (lambda: choice.uniform_integer(5), _even(5)),
        "bernoulli": (lambda: choice.bernoulli(third, 1)[0], _coin(third)),
        "noise_bits": (lambda: unpack(unary.noise_bits(Fraction(5, 8), 1, 2), 2), _two_coins(Fraction(5, 8))),
        "binomial": (lambda: urn.binomial(2, Fraction(5, 8)), two_heads),
        "uniform_integer, up to a public number": (lambda: choice.uniform_integer(5, most=2**40), _even(5)),
        "uniform_integers, small": (lambda: choice.uniform_integers(6, 1)[0], _even(6)),
        "uniform_integers, large": (lambda: choice.uniform_integers(large, 1)[0] // 2**18, _even(12)),
        "uniform_below": (lambda: uniform.uniform_below(word)[0], _even(6)),
    }
    by_bits = {name: partial(_by_bits, *each) for name, each in runs.items()}
    all_orders = Law(dict.fromkeys(permutations(range(3)), as_decimal(Fraction(1, 6))))
    return by_bits | {
        "distinct_integers": lambda: (driven(lambda: uniform._first_seen(5, 2)), orders),
        "packed coins without a last digit": lambda: (driven_by_strings(lambda: packed_coins(third, 1)[0] & 1 > 0), _coin(third)),
        "shuffles": lambda: (_begun_anew(driven_by_strings(lambda: uniform._shuffle(3), width=5, most=15)), all_orders),
    }


def _begun_anew(law: Law) -> Law:
    """The law of a draw that begins anew, with all words of its own, where a first round of words does not decide it."""
    decided = ARITHMETIC.subtract(1, law.missing)
    return Law({outcome: ARITHMETIC.divide(weight, decided) for outcome, weight in law.probabilities.items()}, Decimal("1e-40"))


def _by_bits(run: Callable[[], Any], listed: Law) -> tuple[Law, Law]:
    return driven_by_bits(run, depth=26, words=24), listed


def _weights() -> Laws:
    lengths, costs, factor = [1, 2, 1], [0, 1, 3], HALF
    chances = weighed(lengths, [Fraction(cost) for cost in costs], factor)
    far = MixedCosts(np.array([0, 2, 9]), np.array([0, 1, 0], dtype=np.int8), (0, 1), 2)
    ends = weighed([5, 3, 4], [Fraction(0), Fraction(5, 2), Fraction(3)], factor)
    runs: dict[str, tuple[Callable[[], Any], Law]] = {
        "survives": (lambda: envelope.survives(Fraction(3, 2)), _coin(ARITHMETIC.exp(Decimal("-1.5")))),
        "choose": (lambda: choice.choose(lengths, costs, factor)[0], Law(dict(enumerate(chances)))),
        "choose_listed": (
            lambda: choice.choose_listed(np.array([5, 3, 7]), far, factor, others=4, farthest=3),
            Law(dict(zip((0, 1, 3), ends, strict=True))),
        ),
    }
    return {name: partial(_by_bits, *each) for name, each in runs.items()}


def _noise() -> Laws:
    narrow = DiscreteLaplaceLaw(HALF)
    laplace = Law({k: narrow.mass(k) for k in range(-20, 21)}, Decimal("1e-16"))
    ratio = ARITHMETIC.exp(Decimal(-4))
    falling: dict[Hashable, Decimal] = {
        k: ARITHMETIC.multiply(ARITHMETIC.subtract(1, ratio), ARITHMETIC.power(ratio, k)) for k in range(20)
    }
    return {
        "discrete_laplace": partial(_by_bits, lambda: discrete.discrete_laplace(HALF, 1)[0], laplace),
        "discrete_gaussian": partial(
            _by_bits, lambda: discrete.discrete_gaussian(HALF, 1)[0], Gaussian(1, 2, step=1, on_grid=True).law(0)
        ),
        "geometric": partial(_by_bits, lambda: sampler.geometric(Fraction(4), 1)[0], Law(falling, Decimal("1e-16"))),
    }


def _tails() -> Laws:
    """The rejection of heavy tails: for a uniform number that is given, how often it is kept."""
    laws: Laws = {}
    for top, power, eighths in ((4, 1, 1), (4, 1, 6), (4, 3, 3), (4, 3, 7), (5, 2, 5)):
        word = eighths << 61
        size = ARITHMETIC.power(as_decimal(Fraction(eighths, 8)), as_decimal(Fraction(top, power)))
        listed = _coin(ARITHMETIC.divide(1, ARITHMETIC.add(1, size)))
        run = partial(_is_kept, top, power, word)
        laws[f"heavy tails, {top}/{power} at {eighths}/8"] = partial(_by_bits, run, listed)
    return laws


def _is_kept(top: int, power: int, word: int) -> bool:
    others = (int(bits.random_words(1)[0]) for _ in repeat(None))
    return heavy._keep(top, power, chain([word], others)) is not None


def as_it_runs(mechanism: Listed, value: Any, listed: Listed | None = None) -> tuple[Law, Law]:
    """The law of `release(value)`, driven by decisions, and the one that is listed."""
    return driven(lambda: mechanism.release(value)), (listed or mechanism).law(value)


def _all_as_they_run(*cases: tuple[str, Listed, Any]) -> Laws:
    return {name: partial(as_it_runs, mechanism, value) for name, mechanism, value in cases}


def _numbers() -> Laws:
    return _all_as_they_run(
        ("Laplace", Laplace(1, 1, step=1, on_grid=True), 5),
        ("Laplace, a real number", Laplace(1, 1, step="1/4"), 0.3),
        ("Laplace, two counts", Laplace(1, 2, step=1, dimension=2, on_grid=True), (0, 1)),
        ("Gaussian", Gaussian(1, "1/2", step=1, on_grid=True), 5),
        ("Gaussian, two counts", Gaussian(1, "1/2", step=1, dimension=2, on_grid=True), (0, 1)),
        ("Randomized response", RandomizedResponse(1), (0, 1)),
        ("Randomized response, a share", SurveyedShare(4, RandomizedResponse(1)), Fraction(1, 4)),
    )


def _choices() -> Laws:
    return _all_as_they_run(
        ("Exponential", Exponential(1, 1), (3, 2, 2)),
        ("Farthest", Farthest(((0, 3), (20, 1), (20, 9)), 1, 1), ((9, 0), (3, 6), (0, 9))),
        ("Noisy max", NoisyMax(1, 6, step=1), (3, 2, 2)),
        ("Sparse vector, one positive", SparseVector(1, 4, 8, positives=1, threshold=2, step=1), (1, 2, 3)),
        ("Sparse vector, two positives", SparseVector(1, 4, 16, positives=2, threshold=2, step=1), (1, 2, 3)),
        ("Keys by threshold", KeyThreshold(16, 0.01, max_groups=2), (("a", "b"), (2, 1))),
        ("Keys by a Gaussian threshold", GaussianKeyThreshold(4, 0.01, max_groups=2), (("a", "b"), (2, 1))),
    )


def _ranks() -> Laws:
    middle, highest = (Quantile(q, lower=0, upper=40, step=1, epsilon=1) for q in (HALF, 1))
    small = QuantileWithInterval(HALF, lower=0, upper=6, step=1, epsilon=1)
    return _all_as_they_run(
        ("a median", middle, hard_pairs.at_the_end(middle)[0]),
        ("a median of several", middle, [0, 3, 3, 17, 40, 40]),
        ("a maximum", highest, hard_pairs.above_the_aim(highest)[0]),
        ("a median with its interval", small, [1, 2, 2, 5]),
        ("a maximum with its interval", QuantileWithInterval(1, lower=0, upper=20, step=1, epsilon=1), [1, 2, 2, 19]),
    )


def _law_of(between: Intervals) -> Law:
    return Law({ends: chance for ends, chance in between.law(HALF).items()})  # noqa: C416  # of any outcomes, for the type


def _ends() -> Laws:
    enclosed = QuantileWithInterval(HALF, lower=0, upper=20, step=1, epsilon=1)
    hard, _ = hard_pairs.under_both_ends(enclosed.of_many.low, enclosed.of_many.high)
    between = intervals_of([3, 20, 20, 21], HALF, 1, points=35)  # a grid with stretches of two points
    return {"ends of four rows": lambda: (driven(lambda: between.draw(HALF)), _law_of(between))} | _all_as_they_run(
        ("ends of many rows", enclosed.of_many, hard),
        ("ends of few rows", enclosed.of_few.ends, [0, 19]),
    )


def _beyond() -> Laws:
    """The list ends after one rank: the ranks behind it must not lose probability, nor gain any."""
    rows, ends = [1, 2, 2, 3, 5, 5, 8, 9], QuantileWithInterval(HALF, lower=0, upper=10, step=1, epsilon=2).of_many
    middle = Quantile(HALF, lower=0, upper=10, step=1, epsilon=1)
    return {"a median": partial(_listed_shortly, middle, rows), "both ends": partial(_listed_shortly, ends, rows * 3)}


class Anew(Exception):
    """A draw that was rejected begins anew."""


def _listed_shortly(mechanism: Listed, value: Any) -> tuple[Law, Law]:
    """The law of a draw that is not rejected; one that is has the same law again."""
    rounds: list[int] = []
    short: dict[Any, Any] = {choice.reach: lambda candidates, factor: 1, Intervals.farthest: lambda self, factor: 1}
    once: dict[Any, Any] = {real: partial(_once, real, rounds) for real in (choice.choose_listed, Cells.drawn)}

    def first_round() -> Any:
        rounds.clear()
        try:
            return mechanism.release(value)
        except Anew:
            return Anew

    with replace_functions(short | once):
        probabilities = dict(driven(first_round).probabilities)
    again = ARITHMETIC.subtract(1, probabilities.pop(Anew, Decimal(0)))
    kept = {outcome: ARITHMETIC.divide(weight, again) for outcome, weight in probabilities.items()}
    missing = max(Decimal(0), 1 - sum(kept.values(), start=Decimal(0)))
    return Law(kept, missing + Decimal("1e-40")), mechanism.law(value)


def _once(real: Callable[..., Any], rounds: list[int], *given: Any, **named: Any) -> Any:
    if rounds:
        raise Anew
    rounds.append(1)
    return real(*given, **named)


def _smooth() -> Laws:
    bound = SmoothBound(SmoothQuantile(HALF, lower=0, upper=40, step=1, epsilon=4), epsilon=40)
    return _all_as_they_run(
        ("a median, heavy tails", SmoothQuantile(HALF, 0, 6, 1, 1), [1, 2, 2, 5]),
        ("a median, Laplace tails", SmoothQuantile(HALF, 0, 6, 1, 1, Fraction(1, 1000), None), [1, 2, 2, 5]),
        ("a trimmed mean", SmoothTrimmedMean(1, 0, 6, 1, 1), [1, 2, 2, 5]),
        ("a bound on the scale", bound, [20, 20]),
    )


def _local() -> Laws:
    """All but the reports of a permanent answer, which are driven from a given one."""
    every = local_answers.randomizers(ONE)
    alone = {name: each for name, each in every.items() if "report" not in name}
    one_report = {"RAPPOR, a report of a permanent answer": _one_report}
    return _all_as_they_run(*((name, each, local_answers.pairs(each.channel)[0][0]) for name, each in alone.items())) | one_report


def _one_report() -> tuple[Law, Law]:
    answer, kept = Rappor(3, ONE), (1, 0, 1)
    chances = [answer.one if bit else answer.zero for bit in kept]
    reports = product((0, 1), repeat=3)
    listed = {bits: prod(p if bit else 1 - p for bit, p in zip(bits, chances, strict=True)) for bits in reports}
    law = driven(lambda: unpack(answer.report(pack([kept])[0]), 3))
    return law, Law({bits: as_decimal(Fraction(chance)) for bits, chance in listed.items()})


def _maps() -> Laws:
    dropped = PublicFacts(1, 2, (BlockClass(1), BlockClass(2, "1/2")))
    return _all_as_they_run(
        ("a map", DirichletResampling(blocks=2, noise="1/2", draws=3), (1, 1)),
        ("a map with blocks dropped", ProbableDirichlet(dropped, Fraction(3, 4), Fraction(5)), (1, 0, 0)),
    )


ROWS: dict[str, Callable[[], Laws]] = {
    INTEGERS: _integers,
    WEIGHTS: _weights,
    NOISE: _noise,
    TAILS: _tails,
    NUMBERS: _numbers,
    CHOICES: _choices,
    RANKS: _ranks,
    ENDS: _ends,
    BEYOND: _beyond,
    SMOOTH: _smooth,
    LOCAL: _local,
    MAPS: _maps,
}


def intervals_of(rows: list[int], share: Fraction, margin: int, points: int) -> Intervals:
    """The interval of a share of rows, `margin` ranks wide on both sides."""
    aims = (Rank(share.numerator * len(rows) + shift * share.denominator, share.denominator) for shift in (-margin, margin))
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Intervals(Blocks.of(sorted_rows(values, 0, points - 1, counts), points), *aims)


def every_cell() -> Check:
    """For every candidate, the cells that are drawn for it: each has its distance, by counting rows, and each appears once."""
    right = total = 0
    for rows, share, margin, farthest in (
        ([3, 20, 20, 21], HALF, 1, 30),
        ([], HALF, 2, 30),
        ([0, 1, 1, 5, 30, 34, 34], Fraction(1, 3), 2, 1),
        ([17] * 9, Fraction(2, 3), 1, 30),
    ):
        between = intervals_of(rows, share, margin, points=35)
        costs_of = _cells_drawn(between, farthest)
        expected = {cell: _by_counting(cell, rows, between) for cell in between.cells.listed()}
        total += len(expected)
        drawn_once = [cell for cell, costs in costs_of.items() if len(costs) == 1]
        right += sum(abs(costs_of[cell][0]) == expected[cell] or 0 <= -costs_of[cell][0] <= expected[cell] for cell in drawn_once)
    said = f"{right} of {total} cells are drawn once, at their distance"
    return Check("cells", right == total, said, right / total, right / total)


def _cells_drawn(between: Intervals, farthest: int) -> dict[Cell, list[Fraction]]:
    """The costs at which each cell is drawn, as many as its probability is of one cell; negative: this or more."""
    candidates, costs_of = between.candidates(farthest), dict[Cell, list[Fraction]]()
    for index, length in enumerate(candidates.lengths.tolist()):
        outer, inner = (Box(*(int(end[at]) for end in candidates.boxes)) for at in (index + 1, index))
        law: Any = driven(partial(between.cells.drawn, outer, inner)).probabilities if length else {}
        cost = candidates.costs.exponent(index, ONE) * (1 if index < len(candidates.lengths) - 1 else -1)
        for (low, high), chance in law.items():
            costs_of.setdefault(Cell(low, high), []).extend([cost] * round(chance * length))
    return costs_of


def _by_counting(cell: Cell, rows: list[int], between: Intervals) -> Fraction:
    last = between.blocks.points - 1

    def away(value: int, rank: Fraction) -> Fraction:
        above = sum(row < value for row in rows) - rank if value > 0 else Fraction(0)
        below = rank - sum(row <= value for row in rows) if value < last else Fraction(0)
        return max(Fraction(0), above, below)

    ends = zip(cell, (between.low, between.high), strict=True)
    return max(min(away(value, Fraction(*rank)) for value in range(first, end + 1)) for (first, end), rank in ends)


def rarely_beyond() -> Check:
    """How often the candidates that are not listed are proposed, as bits: the clock may tell it, so it must not happen."""
    rows = [at // 3 for at in range(123)]
    middle = Quantile(HALF, lower=0, upper=40, step=1, epsilon=1)
    between = intervals_of(rows, HALF, 10, points=41)
    asked: dict[str, tuple[Callable[[], Any], int]] = {
        "a median": (lambda: middle.release(rows), 64),
        "both ends": (lambda: between.draw(ONE), 36),
    }
    shares = {name: allowed / -log2(_of_the_last(draw)) for name, (draw, allowed) in asked.items()}
    worst = max(shares, key=shares.__getitem__)
    said = f"{worst}: candidates beyond the list come once in 2^{asked[worst][1] / shares[worst]:.1f} draws"
    return Check("clock", shares[worst] <= 1, said, shares[worst], shares[worst])


def _of_the_last(draw: Callable[[], Any]) -> float:
    """The largest probability that a choice of this draw gives its last candidate."""
    seen: list[Decimal] = []

    def choose(lengths: Any, costs: Any, factor: Fraction = ONE, size: int = 1) -> Any:
        seen.append(weights_of(np.asarray(lengths), costs, factor)[-1])
        return np.array([int(np.argmax(lengths))])

    with replace_functions({choice.choose: choose}):
        draw()
    return float(max(seen))


def cases() -> list[Exhaustive]:
    """Every sampler, the cells of both ends, and the unlisted candidates."""
    return [
        *(Exhaustive(name, OVERLAP, partial(overlap, laws)) for name, laws in ROWS.items()),
        Exhaustive(CELLS, "1 of 1 cells", every_cell),
        Exhaustive(UNLISTED, "1 times the bits", rarely_beyond),
    ]


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case: one line of the code that runs is another one."""
    sound = {each.name: each for each in cases()}
    for plant, (name, what, real, wrong) in _plants().items():
        case = sound[name]
        spoiling = partial(run_spoiled, {real: wrong}, case.check)
        yield plant, (name, Exhaustive(f"{name}, {what} (planted)", case.claimed, spoiling))


def _plants() -> dict[str, tuple[str, str, Any, Any]]:
    """By name: the sound case, the change in words, and the function that runs with its wrong form."""
    laplace, survives, kept, noisy = sampler.laplace, envelope.survives, heavy._keep, additive.noisy
    put_bits, copied = unary.put_bits, urn._first_of
    return {
        "integers": (INTEGERS, "one integer too many", choice.uniform_integer, _one_too_many),
        "exponent": (WEIGHTS, "half of an exponent", survives, lambda exponent: survives(exponent / 2)),
        "scale": (NOISE, "a scale 10% too small", laplace, lambda scale: laplace(scale * Fraction(9, 10))),
        "power": (TAILS, "another power", kept, lambda top, power, source: kept(top, power + 1, source)),
        "added": (NUMBERS, "noise added twice", noisy, lambda units, noise: noisy(units, 2 * noise)),
        "best": (CHOICES, "the best candidate for certain", Exponential.release, _the_best),
        "factor": (RANKS, "twice the factor", Quantile.draw_from, _twice_the_factor),
        "inner": (ENDS, "all cells of a cost or less", Cells.drawn, _without_the_inner_box),
        "beyond": (BEYOND, "all that is not listed is kept", rank_blocks._keeps, lambda beyond, factor: True),
        "alpha": (SMOOTH, "noise without its alpha", SmoothMechanism._noisy, _without_alpha),
        "told": (LOCAL, "the true bit always set", put_bits, lambda reports, own, bits: put_bits(reports, own, bits | True)),
        "copies": (MAPS, "copies of the first draw", copied, lambda named: 0 * copied(named)),
        "places": (CELLS, "all cells of a cost or less", Cells.drawn, _without_the_inner_box),
        "rare": (UNLISTED, "a list that ends too early", choice.reach, lambda candidates, factor: 3),
    }


def _one_too_many(below: int, most: int | None = None) -> int:
    return min(int(uniform.uniform_below(np.array([below + 1], dtype=np.uint64))[0]), below - 1)


def _the_best(self: Exponential, utilities: Any) -> int:
    return int(np.argmax(utilities))


def _twice_the_factor(self: Quantile, blocks: Blocks) -> int:
    return blocks.draw(self.aim(blocks.size), 2 * self.epsilon / self.spread)


def _without_the_inner_box(self: Cells, outer: Box, inner: Box | None = None) -> Cell:
    """A cell of a cost from all cells of that cost or less."""
    return self.at(choice.uniform_integer(int(self.meeting(Box(*(np.array([end]) for end in outer)))[0])), outer)


def _without_alpha(self: SmoothMechanism, grid: Grid, rows: Any) -> int:
    answer, bound = self.statistic(rows)
    return min(max(self.calibration.noise.draw().rounded(answer, bound), grid.lower), grid.upper)
