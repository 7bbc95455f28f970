"""The randomizers at the person's side under the contract, and wrong ones planted among them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate, combinations, product
from math import comb, inf, lcm, prod
from typing import Any

import numpy as np

from tacit.accounting.events import RandomizedAnswer
from tacit.evidence.verify.case import Case, Contracted, Exhaustive
from tacit.evidence.verify.contract import Check
from tacit.evidence.verify.trial import Pair
from tacit.mechanisms.noise import choice
from tacit.privacy.law import Law
from tacit.privacy.loss import CHANGE_ONE, Pure
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.numeric import FoldedLaplace, OneBit, Piecewise
from tacit.publish.local.randomizers.randomizer import Channel, LocalMechanism
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.several_questions import Sampled, Split
from tacit.publish.local.randomizers.unary import Unary, unpack

KARY, UNARY, HASHING = "Local, one of four", "Local, unary, one of four", "Local, hashing, one of five"
PIECEWISE, SETS = "Local, a number, piecewise", "Local, at most two of four"
PERMANENT = "Local, RAPPOR on a filter, the permanent answer"
EVERY = "Local, every ratio of every channel"
EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(3))
MOST_PAIRS = 12


def cases() -> list[Contracted]:
    """One of each kind at epsilon 1, on the answers that are farthest apart and on some others."""
    return [Contracted(name, randomizer, pairs(randomizer.channel)) for name, randomizer in randomizers(Fraction(1)).items()]


def every_ratio() -> Exhaustive:
    """All pairs of answers and all reports of the same randomizers at several epsilons."""

    def check() -> Check:
        answers = [(name, each) for epsilon in EPSILONS for name, each in randomizers(epsilon).items()]
        channels = [(name, each.loss.epsilon, each.channel) for name, each in answers]
        above = [name for name, epsilon, channel in channels if not channel.within(epsilon)]
        words = f"{', '.join(above)} can be distinguished better than claimed" if above else "every ratio is within its claim"
        share = max(float(channel.epsilon / epsilon) for _, epsilon, channel in channels)
        return Check("loss", not above, words, share, share)

    return Exhaustive(EVERY, "1 times epsilon", check)


def randomizers(epsilon: Fraction) -> dict[str, LocalMechanism | Told]:
    """One of each kind, small enough to be listed."""
    basic, on_filter = Rappor(3, epsilon), BloomRappor(3, epsilon, bits=2, hashes=2)
    return {
        "Local, yes or no": Binary(epsilon),
        KARY: KAry(4, epsilon),
        UNARY: Unary(4, epsilon),
        "Local, symmetric unary, one of four": Unary.symmetric(4, epsilon),
        HASHING: LocalHashing(5, epsilon, cells=4),
        "Local, hashing to three cells": LocalHashing(5, epsilon, cells=3),
        "Local, Hadamard, one of five": HadamardResponse(5, epsilon),
        "Local, RAPPOR, the permanent answer": basic.permanent,
        "Local, RAPPOR, one report": Told(basic.epsilon_once, basic.channel, basic.randomize),
        "Local, RAPPOR, four reports of one answer": Told(epsilon, several_reports(basic, 4), _several(basic, 4)),
        PERMANENT: Told(epsilon, on_filter.permanent_channel, on_filter.permanent),
        "Local, RAPPOR on a filter, one report": Told(on_filter.epsilon_once, on_filter.channel, on_filter.randomize),
        "Local, a number, one bit": OneBit(0, 4, epsilon),
        PIECEWISE: Piecewise(0, 4, epsilon),
        "Local, a number, Laplace": FoldedLaplace(0, 4, epsilon),
        SETS: Sets(4, 2, epsilon, by="k-ary"),
        "Local, at most two of three, unary": Sets(3, 2, epsilon, by="unary"),
        "Local, two questions, split": Split.evenly([Binary, lambda part: KAry(3, part)], epsilon),
        "Local, two questions, one drawn": Sampled.evenly([Binary, lambda part: KAry(3, part)], epsilon),
    }


@dataclass(frozen=True)
class Told:
    """The visible part of an answer: the loss that is claimed of it, its channel, and the code that draws from that."""

    epsilon: Fraction
    channel: Channel
    draws: Callable[[Any], Any]

    @property
    def event(self) -> RandomizedAnswer:
        """The event that the ledger records for one release."""
        return RandomizedAnswer(self.epsilon, CHANGE_ONE)

    @property
    def loss(self) -> Pure:
        """The loss that is claimed for one release, under its relation."""
        return Pure(self.epsilon, CHANGE_ONE)

    def release(self, value: Any) -> Any:
        """One report for a value."""
        return self.draws(value)

    def law(self, value: Any) -> Law:
        """The law of the report for a value."""
        return self.channel.law(value)


def several_reports(answer: Rappor, times: int) -> Channel:
    """How often each bit is set in `times` fresh reports of one permanent answer, which is all that they disclose."""

    def count_chance(chance: Fraction, count: int) -> Fraction:
        """Of a permanent bit that is set with `chance`: it is drawn once, the reports of it afresh."""
        return sum(
            (weight * comb(times, count) * one**count * (1 - one) ** (times - count))
            for weight, one in ((chance, answer.one), (1 - chance, answer.zero))
        )  # type: ignore[return-value]  # a sum of two fractions

    hits, false_hits = (
        [count_chance(chance, count) for count in range(times + 1)] for chance in (answer.permanent.hit, answer.permanent.false_hit)
    )

    def probability(value: Hashable, counts: Any) -> Fraction:
        return prod(((hits if place == value else false_hits)[count] for place, count in enumerate(counts)), start=Fraction(1))

    return Channel.of(range(answer.size), product(range(times + 1), repeat=answer.size), probability)


def _several(answer: Rappor, times: int) -> Callable[[Any], Any]:
    """Draws those counts: one permanent answer, and reports of it."""

    def draws(value: Any) -> Any:
        kept = answer.permanent.randomize(value)
        return np.sum([unpack(answer.report(kept), answer.size) for _ in range(times)], axis=0, dtype=np.int64)

    return draws


def draw(channel: Channel, value: Hashable) -> Hashable:
    """One report, with exactly the probabilities of the value's row."""
    row = channel.row(value)
    whole = lcm(*(p.denominator for p in row))
    ends = accumulate(int(p * whole) for p in row)
    drawn = choice.uniform_integer(whole)
    return next(report for report, end in zip(channel.outputs, ends, strict=True) if drawn < end)


def plant_cases() -> Iterator[tuple[str, tuple[str, Case]]]:
    """The name of a plant, the sound case that it spoils, and the wrong case."""
    sound, one = randomizers(Fraction(1)), Fraction(1)
    wrong = {
        "keep": (KARY, "p and 1-p swapped", _swapped_channel()),
        "bits": (UNARY, "each bit at the whole epsilon", Unary.with_chances(4, Binary(one).hit, Binary(one).flip).channel),
        "hash": (HASHING, "a hash chosen by the answer", _hash_by_answer()),
        "window": (PIECEWISE, "the window cut at the bounds", _cut_window()),
        "blank": (SETS, "one kind of blank", _one_blank()),
        "hashes": (PERMANENT, "the hashes forgotten", BloomRappor(3, 2 * one, bits=2, hashes=2).permanent_channel),
    }
    for plant, (spoiled, what, channel) in wrong.items():
        spoils = Told(sound[spoiled].epsilon, channel, partial(draw, channel))
        yield plant, (spoiled, Contracted(f"{spoiled}, {what} (planted)", spoils, pairs(channel)))


def _swapped_channel() -> Channel:
    """The true category is reported with the probability that belongs to a lie."""
    keep, codes = KAry(4, 1).hit, range(4)
    return Channel.of(codes, codes, lambda value, report: 1 - keep if value == report else keep / 3)


def _hash_by_answer() -> Channel:
    """The hash is a function of the answer, where it should be drawn without looking at it."""
    honest = LocalHashing(5, 1, cells=4)

    def probability(value: Any, report: Any) -> Fraction:
        return honest.probability(value, report) * honest.hashes if report // honest.cells == value else Fraction(0)

    return Channel.of(honest.channel.inputs, honest.channel.outputs, probability)


def _cut_window() -> Channel:
    """No room beyond the bounds: near them fewer reports are likely, and each is likelier for it."""
    honest = Piecewise(0, 4, 1)
    half = honest.window // 2

    def weight(index: Any, report: Any) -> Fraction:
        return honest.ratio if abs(index - report) <= half else Fraction(1)

    points = range(honest.points)
    totals = {index: sum((weight(index, report) for report in points), start=Fraction(0)) for index in points}
    return Channel.of(points, points, lambda index, report: weight(index, report) / totals[index])  # type: ignore[index]


def _one_blank() -> Channel:
    """All blanks are one category, which the empty list then holds twice."""
    honest = Sets(4, 2, 1, by="k-ary")
    blank = honest.size
    inner = KAry.with_ratio(blank + 1, honest.inner.hit / honest.inner.false_hit)

    def probability(items: Any, report: Any) -> Fraction:
        held = Fraction(items.count(report) if report != blank else honest.most - len(items), honest.most)
        return held * inner.hit + (1 - held) * inner.false_hit

    return Channel.of(honest.channel.inputs, range(blank + 1), probability)


def pairs(channel: Channel) -> tuple[Pair, ...]:
    """Neighbouring answers: any two; of many pairs, the farthest one and some spread over the list."""
    pairs = list(combinations(channel.inputs, 2))
    if len(pairs) <= MOST_PAIRS:
        return tuple(pairs)
    worst = max(pairs, key=lambda pair: _ratio(channel, pair))
    return worst, *pairs[:: -(-len(pairs) // MOST_PAIRS)]


def _ratio(channel: Channel, pair: Pair) -> float:
    odds = [(p, q) for a, b in (pair, pair[::-1]) for p, q in zip(channel.row(a), channel.row(b), strict=True)]
    return max(float(p / q) if q else inf for p, q in odds if p)
