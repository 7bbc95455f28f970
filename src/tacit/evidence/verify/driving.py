"""The law of the code that runs, beside the listed one: a sampler is run once for every way in which its draws can come out.

By decisions: a coin, an integer below a bound, a choice by weight and a noise are each answered in every way, with their
probabilities to 50 digits; all code above them runs as it is. By bits: these few are driven themselves, by all bit strings of the
one door to randomness, as far as an outcome depends on them. The undecided probability is added to every bound.

Nothing is released from here: the draws of other threads are real, and draws that a script would make ahead are never kept.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial, wraps
from itertools import permutations
from math import comb
from typing import Any, TypeVar

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.verify.claims import as_decimal
from tacit.evidence.verify.score import label_of
from tacit.mechanisms.exponential import weighed
from tacit.mechanisms.noise import bits, choice, discrete, envelope, uniform, urn
from tacit.mechanisms.noise.costs import MixedCosts, NumberCosts
from tacit.mechanisms.noise.discrete_law import DiscreteLaplaceLaw
from tacit.mechanisms.noise.heavy import HeavyTails
from tacit.mechanisms.noise.laplace_tails import LaplaceTails
from tacit.mechanisms.noise.table import Table
from tacit.mechanisms.noise.tails import rounded_law
from tacit.privacy.law import ARITHMETIC, Law
from tacit.publish.local.randomizers import unary

UNDECIDED = Decimal("1e-6")  # the probability that a driven law may leave undecided
RARE = Decimal("1e-11")  # a way that is less likely is not followed
MOST_RUNS = 400_000
FARTHEST = 40  # units that continuous noise is rounded to, on each side; those beyond come as the last ones
WORD = 64
Options = list[tuple[Any, Decimal]]
Run = Callable[[], Any]
Checked = TypeVar("Checked")

_one_at_a_time = threading.RLock()


class TooRare(Exception):
    """All further ways are too unlikely to be followed."""


class Script:
    """Draws that come out in a given way, and from there on in the first one; the others are kept for later."""

    def __init__(self, given: tuple[tuple[Any, Decimal], ...] = (), rare: Decimal = RARE) -> None:
        self.given, self.rare, self.taken, self.weight = given, rare, list[tuple[Any, Decimal]](), Decimal(1)
        self.others: list[tuple[tuple[Any, Decimal], ...]] = []

    def choose(self, options: Callable[[Decimal], Options]) -> Any:
        """One of the options that have at least a probability, which are listed for it."""
        place = len(self.taken)
        if place < len(self.given):
            return self._take(self.given[place])
        likely = options(ARITHMETIC.divide(self.rare, self.weight))
        if not likely:
            raise TooRare
        self.others += [(*self.taken, other) for other in likely[1:]]
        return self._take(likely[0])

    def among(self, options: Iterable[tuple[Any, Decimal]]) -> Any:
        """One of finitely many options."""
        return self.choose(lambda least: [option for option in options if option[1] >= least])

    def below(self, bound: int) -> int:
        """One of 0, ..., bound - 1."""
        if bound > MOST_RUNS:
            raise InvalidInput(f"a law cannot be driven through {bound} integers one by one; use smaller parameters")
        return int(self.among((number, as_decimal(Fraction(1, bound))) for number in range(bound)))

    def coin(self, chance: Fraction) -> bool:
        """True with a chance."""
        return bool(self.among((side, as_decimal(part)) for side, part in ((True, chance), (False, 1 - chance)) if part))

    def _take(self, option: tuple[Any, Decimal]) -> Any:
        self.taken.append(option)
        self.weight = ARITHMETIC.multiply(self.weight, option[1])
        return option[0]


def driven(run: Run, rare: Decimal = RARE) -> Law:
    """The law of the result of `run`, whose draws come from the samplers of `tacit.mechanisms.noise`.

    Ways that are less likely than `rare` are not followed; what they weigh together is missing.

    >>> from tacit.mechanisms.randomized_response import RandomizedResponse
    >>> {bit: round(p, 4) for bit, p in driven(lambda: RandomizedResponse(1).release(0)).probabilities.items()}
    {1: Decimal('0.2689'), 0: Decimal('0.7311')}
    """
    scripts = [Script()]
    with replace_functions(_stand_ins(lambda: scripts[0]) | {bits.random_words: _refuse, bits.random_bytes: _refuse}):
        return _all_ways(run, scripts, rare)


def _all_ways(run: Run, scripts: list[Script], rare: Decimal) -> Law:
    law: dict[Hashable, Decimal] = defaultdict(Decimal)
    waiting: list[tuple[tuple[Any, Decimal], ...]] = [()]
    for _ in range(MOST_RUNS):
        scripts[0] = Script(waiting.pop(), rare)
        try:
            outcome = label_of(run())
        except TooRare:
            pass
        else:
            law[outcome] = ARITHMETIC.add(law[outcome], scripts[0].weight)
        waiting += scripts[0].others
        if not waiting:
            return _law(law)
    raise InvalidInput(f"a law with more than {MOST_RUNS} ways is too long to drive; use smaller parameters")


def _law(probabilities: dict[Hashable, Decimal]) -> Law:
    """The law; the undecided probability may belong to any outcome."""
    missing = Decimal(1)
    for weight in probabilities.values():
        missing = ARITHMETIC.subtract(missing, weight)
    missing = max(missing, Decimal(0))
    return Law(probabilities, missing, missing)


def distance(one: Law, listed: Law) -> Decimal:
    """An upper bound on the total variation between two laws: undecided and unlisted probability is added."""
    outcomes = {**one.probabilities, **listed.probabilities}
    apart = (
        abs(ARITHMETIC.subtract(one.probabilities.get(each, Decimal(0)), listed.probabilities.get(each, Decimal(0))))
        for each in outcomes
    )
    total = Decimal(0)
    for part in apart:
        total = ARITHMETIC.add(total, part)
    return (total + one.missing + listed.missing) / 2


@contextmanager
def replace_functions(others: dict[Callable[..., Any], Callable[..., Any]]) -> Iterator[None]:
    """Some functions of tacit replaced wherever a module or a class holds them, for this thread alone."""
    with _one_at_a_time:
        mine = threading.get_ident()
        changed = [(holder, name, real) for holder in _holders(others) for name, real in _functions(holder) if real in others]
        stand_ins = {real: _for_one_thread(real, other, mine) for real, other in others.items()}
        try:
            for holder, name, real in changed:
                setattr(holder, name, stand_ins[real])
            yield
        finally:
            for holder, name, real in changed:
                setattr(holder, name, real)


def run_spoiled(others: dict[Callable[..., Any], Callable[..., Any]], check: Callable[[], Checked]) -> Checked:
    """The result of a check while some functions are replaced: for a bug that is planted in the code that runs."""
    with replace_functions(others):
        return check()


def _holders(functions: Iterable[Any]) -> list[Any]:
    """The classes of those that are methods, and all modules of tacit."""
    classes = [(each.__module__, each.__qualname__.split(".")[0]) for each in functions if "." in each.__qualname__]
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("tacit.") and module is not None]
    return [*dict.fromkeys(getattr(sys.modules[module], name) for module, name in classes), *modules]


def _functions(holder: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(holder).items() if callable(value) and isinstance(value, Hashable)]


def _for_one_thread(real: Callable[..., Any], other: Callable[..., Any], mine: int) -> Callable[..., Any]:
    @wraps(real)
    def either(*given: Any, **named: Any) -> Any:
        return (other if threading.get_ident() == mine else real)(*given, **named)

    return either


def _refuse(*_: Any) -> Any:
    raise InvalidInput("a draw was made beside the samplers that can be driven; add it to them")


def _stand_ins(script: Callable[[], Script]) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Every sampler, and its stand-in."""

    def coins_of(chance: Fraction, size: int) -> Any:
        return np.array([script().coin(chance) for _ in range(size)], dtype=np.bool_)

    def choose(lengths: Any, costs: Any, factor: Fraction = Fraction(1), size: int = 1) -> Any:
        options = list(enumerate(weights_of(np.asarray(lengths), costs, factor)))
        return np.array([script().among(options) for _ in range(size)], dtype=np.int64)

    def distinct(below: int, size: int) -> Any:
        orders = list(permutations(range(below), size))
        return np.array(orders[script().below(len(orders))], dtype=np.int64)

    def heads(tossed: int) -> int:
        return int(script().among((n, as_decimal(Fraction(comb(tossed, n), 2**tossed))) for n in range(tossed + 1)))

    def noise(masses: Callable[[int], Decimal], size: int) -> Any:
        return np.array([script().choose(lambda least: _around(masses, least)) for _ in range(size)], dtype=np.int64)

    def table(self: Table, count: int) -> Any:
        options = _outcomes(self)
        return np.array([script().among(options) for _ in range(count)], dtype=np.int16)

    return {
        choice.bernoulli: coins_of,
        choice.uniform_integers: lambda below, size: np.array([script().below(below) for _ in range(size)], dtype=np.int64),
        choice.uniform_integer: lambda below, most=None: script().below(below),
        choice.choose: choose,
        envelope.survives: lambda exponent: script().among(_survival(exponent)),
        uniform.uniform_below: lambda bounds: np.array([script().below(int(each)) for each in bounds], dtype=np.uint64),
        uniform.distinct_integers: distinct,
        urn.fair_heads: heads,
        unary.noise_bits: lambda chance, rows, size: np.packbits(coins_of(chance, rows * size).reshape(rows, size), axis=1),
        discrete.draw_laplace: lambda scale, size: noise(DiscreteLaplaceLaw(Fraction(scale)).mass, size),
        discrete.draw_gaussian: lambda scale, size: noise(_gaussian(Fraction(scale)), size),
        HeavyTails.draw: lambda self: Rounding(self, script()),
        LaplaceTails.draw: lambda self: Rounding(self, script()),
        Table.draw: table,
    }


class Rounding:
    """Continuous noise; only the whole number that it is rounded to is drawn."""

    def __init__(self, noise: Any, script: Script) -> None:
        self.noise, self.script = noise, script

    def rounded(self, centre: Fraction, scale: Fraction) -> int:
        """The whole number nearest to centre + scale * draw."""
        return int(self.script.among(rounded_chances(self.noise, centre, scale)))


@lru_cache(maxsize=64)
def rounded_chances(noise: Any, centre: Fraction, scale: Fraction) -> Options:
    """Whole numbers near the centre with their probabilities; the first and the last stand for all beyond them."""
    middle = int(centre)
    return list(rounded_law(noise, centre, scale, middle - FARTHEST, middle + FARTHEST).items())


def weights_of(lengths: Any, costs: Any, factor: Fraction) -> list[Decimal]:
    read = costs if isinstance(costs, MixedCosts) else NumberCosts.read(costs, lengths > 0)
    return weighed([int(length) for length in lengths], [read.exponent(index, Fraction(1)) for index in range(read.size)], factor)


def _survival(exponent: Fraction) -> Options:
    stays = ARITHMETIC.exp(-as_decimal(max(exponent, Fraction(0))))
    return [(True, stays), (False, ARITHMETIC.subtract(1, stays))]


def _around(masses: Callable[[int], Decimal], least: Decimal) -> Options:
    """0, 1, -1, 2, -2, ... as long as they are likely enough."""
    options: Options = []
    size = 0
    while (mass := masses(size)) >= least:
        options += [(size, mass), (-size, mass)] if size else [(0, mass)]
        size += 1
    return options


@lru_cache(maxsize=16)
def _gaussian(scale: Fraction) -> Callable[[int], Decimal]:
    """Weights e^(-k^2 / (2 scale^2)) over their sum; beyond 20 scales, nothing shows in 50 digits."""
    reach = int(20 * scale) + 2
    weights = [ARITHMETIC.exp(-as_decimal(Fraction(k * k) / (2 * scale**2))) for k in range(reach)]
    total = ARITHMETIC.subtract(2 * sum(weights), weights[0])
    return lambda k: ARITHMETIC.divide(weights[k], total) if k < reach else Decimal(0)


def _outcomes(table: Table) -> Options:
    """The outcomes of a table by the middle of the bounds on their weights, to about 50 digits."""
    middles = [low + high for low, high in table.weights(200)]
    return [(place, as_decimal(Fraction(middle, sum(middles)))) for place, middle in enumerate(middles)]


ONES = 2**WORD - 1
MIXED = 0x9E3779B97F4A7C15  # an odd number whose multiples have no pattern
Fixed = dict[tuple[int, int], int]
Fill = tuple[int, ...]


class Words:
    """Words with some bits fixed, as (word, bit), and the others filled in; it counts the words that were asked for."""

    def __init__(self, fixed: Fixed, fill: Fill) -> None:
        self.fixed, self.fill, self.asked = fixed, fill, 0

    def next(self) -> int:
        """The next word; those that are filled in come to an end, which is an outcome of its own."""
        if self.asked == len(self.fill):
            raise TooRare
        word, place = self.fill[self.asked], self.asked
        for (at, bit), value in self.fixed.items():
            if at == place:
                word = word & ~(1 << bit) | value << bit
        self.asked += 1
        return word

    def words(self, count: int) -> Any:
        """As `bits.random_words`."""
        return np.array([self.next() for _ in range(count)], dtype=np.uint64)

    def bytes(self, count: int) -> bytes:
        """As `bits.random_bytes`; words begin with their first bits."""
        return b"".join(self.next().to_bytes(8, "big") for _ in range(-(-count // 8)))[:count]


def driven_by_bits(run: Run, depth: int = 27, words: int = 16) -> Law:
    """The law of the result of `run` for all bit strings: bits are fixed, one after the other, as far as an outcome depends on
    them.

    At most `depth` bits are fixed on one way, and at most `words` asked for; the probability undecided there is missing. An outcome
    depends on a word if that of the word's least and largest value, or of one without a pattern, is another one.

    >>> law = driven_by_bits(lambda: choice.uniform_integer(3))
    >>> [round(law.probabilities[k], 6) for k in range(3)], law.missing < UNDECIDED
    ([Decimal('0.333333'), Decimal('0.333333'), Decimal('0.333333')], True)
    """
    law: dict[Hashable, Decimal] = defaultdict(Decimal)
    current = [Words({}, ())]
    doors = {bits.random_words: lambda count: current[0].words(count), bits.random_bytes: lambda count: current[0].bytes(count)}
    fills = [tuple(MIXED * (place + first) % 2**WORD for place in range(words)) for first in (1, 10**6)]

    def outcome(fixed: Fixed, fill: Fill) -> tuple[Hashable, int]:
        """The outcome, and the number of words that it takes."""
        current[0] = Words(fixed, fill)
        try:
            return label_of(run()), current[0].asked
        except TooRare:
            return TooRare, words

    with replace_functions(doors):
        waiting: list[Fixed] = [{}]
        while waiting:
            fixed = waiting.pop()
            result, bit = _telling_bit(partial(outcome, fixed), fixed, fills)
            if bit is None and result is not TooRare:
                law[result] = ARITHMETIC.add(law[result], ARITHMETIC.power(Decimal("0.5"), len(fixed)))
            elif bit is not None and len(fixed) < depth:
                waiting += [{**fixed, bit: value} for value in (0, 1)]
    return _law(law)


class Exhausted(Exception):
    """A string has no more bits."""


def driven_by_strings(run: Run, width: int = 1, most: int = 30) -> Law:
    """The law of the result of `run` for every bit string of a small source, exactly: each weighs 2^-length.

    A word of the source has `width` bits, again and again over all 64: so words are ordered as their bits are, and with one bit
    all 64 lanes are alike. A string that does not suffice is tried with one word more, up to `most` bits; what is undecided then
    is missing.

    >>> from tacit.mechanisms.noise.coins import packed_coins
    >>> law = driven_by_strings(lambda: int(packed_coins(Fraction(1, 3), 1)[0]) & 1)
    >>> law.missing < UNDECIDED, round(law.probabilities[1], 6)
    (True, Decimal('0.333333'))
    """
    law, waiting = defaultdict[Hashable, Decimal](Decimal), [tuple[int, ...]()]
    repeated, left = (2**WORD - 1) // (2**width - 1), list[int]()

    def words(count: int) -> Any:
        if len(left) < count:
            raise Exhausted
        return np.array([left.pop(0) * repeated for _ in range(count)], dtype=np.uint64)

    with replace_functions({bits.random_words: words, bits.random_bytes: _refuse}):
        while waiting:
            given = waiting.pop()
            left[:] = given
            try:
                outcome = label_of(run())
            except Exhausted:
                if (len(given) + 1) * width <= most:
                    waiting += [(*given, word) for word in range(2**width)]
            else:
                law[outcome] = ARITHMETIC.add(law[outcome], ARITHMETIC.power(Decimal("0.5"), width * len(given)))
    return _law(law)


def _telling_bit(
    outcome: Callable[[Fill], tuple[Hashable, int]], fixed: Fixed, fills: Sequence[Fill]
) -> tuple[Hashable, tuple[int, int] | None]:
    """An outcome, and a bit on which it depends: the first such one after the last that was fixed of its word.

    Each word is the least, the largest and the one without a pattern; so is the next one, on which it may depend whether it tells.
    """
    first, _ = outcome(fills[0])
    for fill in fills:
        mine, asked = outcome(fill)
        for word in range(asked):
            following = min(word + 1, len(fill) - 1)
            for value in (fill[following], 0, ONES):
                ends = [_with(_with(fill, following, value), word, end) for end in (fill[word], 0, ONES)]
                tried = [(end, out) for end in ends if (out := outcome(end)[0]) is not TooRare]
                if len({out for _, out in tried}) > 1:
                    return first, (word, _bit_of(word, lambda end: outcome(end)[0], fixed, tried))
        if mine != first:  # then one of the words tells that lead from one fill to the other
            ways = [(*fill[:word], *fills[0][word:]) for word in range(len(fill) + 1)]
            outs = [outcome(way)[0] for way in ways]
            word = next(word for word in range(len(fill)) if outs[word] != outs[word + 1])
            pair = [(ways[at], outs[at]) for at in (word, word + 1)]
            return first, (word, _bit_of(word, lambda end: outcome(end)[0], fixed, pair))
    return first, None


def _bit_of(word: int, outcome: Callable[[Fill], Hashable], fixed: Fixed, tried: Sequence[tuple[Fill, Hashable]]) -> int:
    last = next((bit for at, bit in reversed(fixed) if at == word), 0)
    free = [bit % WORD for bit in range(last + WORD - 1, last - 1, -1) if (word, bit % WORD) not in fixed]
    changes = (bit for bit in free for fill, result in tried if outcome(_with(fill, word, fill[word] ^ 1 << bit)) != result)
    return next(changes, free[0])


def _with(fill: Fill, word: int, value: int) -> Fill:
    return (*fill[:word], value, *fill[word + 1 :])
