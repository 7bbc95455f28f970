"""One person among many, from counts about many: differencing, averaging and trackers.

**Differencing.** The count over a group, less the count over the group without one person, is that person's bit. No question is
about few people. **Trackers** (Denning, Denning and Schwartz 1979) do it where groups must be neither small nor nearly everyone:
with T about half of the people and C the target, count(C) = count(C or T) + count(C or not T) - count(T) - count(not T), and all
four groups are of a size that is allowed. **Averaging.** Where answers have noise, or are rounded, the same thing is asked many
times in different words: error falls with the square root of the number of times. Here a group is split in two at random, again
and again; the two counts add up to the same number each time, and no two questions are alike, so that remembering answers does
not help.

The defense: noise that all questions pay for from one budget. A refusal of small groups, rounding, and noise that is fresh each
time a question is asked again do not defend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import erfc, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.evidence.attacks.answerers import WEAK, Answerer, MinimumSize, Subset, fair_bits
from tacit.evidence.attacks.figures import Axes, bars, json_figures

Bits = NDArray[np.bool_]
Signed = list[tuple[int, Subset]]
Plan = Callable[[int, int, np.random.Generator], Signed]
SPREADS = {"exact": 0.0, "rounding to 5": 5 / sqrt(12), "counts below 5 suppressed": 0.0, "noise without a ledger": 2 * sqrt(2)}
ROUNDS = {"exact": 1, "rounding to 5": 400, "counts below 5 suppressed": 20, "noise without a ledger": 1200}


@dataclass(frozen=True, slots=True, eq=False)
class Isolation:
    """The attack's conclusion from the answers: for each target an estimate, to be rounded; `truth` is known to the judge alone."""

    attack: str
    questions: int
    refused: int
    estimates: NDArray[np.float64]
    truth: NDArray[np.float64]
    predicted: float | None = None

    @property
    def recovered(self) -> float:
        """The share of targets whose number is found exactly; of bits, a coin finds one half."""
        guessed = np.rint(self.estimates)
        if self.attack != "averaging":
            guessed = np.clip(guessed, 0, 1)
        return float((guessed == self.truth).mean())

    @property
    def error(self) -> float:
        """The root of the mean square error of the estimates."""
        return sqrt(float(np.mean((self.estimates - self.truth) ** 2)))

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"{self.attack}: {self.questions:,} questions, {self.refused:,} of them refused; {self.recovered:.1%} of "
            f"{len(self.truth)} targets found exactly, with a typical error of {self.error:.3g}"
            + ("." if self.predicted is None else f" (theory expects {self.predicted:.1%}).")
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        return json_figures(
            attack=self.attack,
            targets=len(self.truth),
            questions=self.questions,
            refused=self.refused,
            recovered=self.recovered,
            error=self.error,
            predicted=self.predicted,
        )

    def chart(self, path: str | Path | None = None) -> Any:
        """The estimate of each target beside the truth."""
        pairs = zip(self.estimates, self.truth, strict=True)
        rows = [
            {"x": str(at + 1), "y": float(value), "series": series}
            for at, (estimate, real) in enumerate(pairs)
            for series, value in (("estimate", estimate), ("truth", real))
        ][:40]
        return bars(rows, Axes("target", "number"), f"{self.attack.capitalize()}: {self.recovered:.0%} found", path)


@dataclass(frozen=True, slots=True)
class Gallery:
    """One attack on every answerer."""

    attack: str
    found: dict[str, Isolation]

    def summary(self) -> str:
        """A line for each answerer."""
        return "\n".join(f"{name}: {result.summary()}" for name, result in self.found.items())

    def to_dict(self) -> dict[str, Any]:
        """The result against each answerer, as plain values, ready for JSON."""
        return {"attack": self.attack, "against": {name: result.to_dict() for name, result in self.found.items()}}

    def chart(self, path: str | Path | None = None) -> Any:
        """The share found, by answerer."""
        rows = [{"x": name, "y": result.recovered, "series": "found exactly"} for name, result in self.found.items()]
        return bars(rows, Axes("", "share of targets found", share=True), f"{self.attack.capitalize()}, by who answers", path)


def differencing(answerer: Answerer, truth: ArrayLike, *, rounds: int = 1, targets: int | None = None, seed: int = 0) -> Isolation:
    """Each target's bit, as a difference of two counts, averaged over `rounds` random groups (one round: the group is everyone).

    >>> from tacit.evidence.attacks.answerers import Exact
    >>> bits = fair_bits(40, seed=3)
    >>> differencing(Exact(bits), bits).recovered
    1.0
    """
    people = len(np.asarray(truth))

    def plan(target: int, turn: int, generator: np.random.Generator) -> Signed:
        group = np.arange(people) if rounds == 1 else _with(_half(people, generator), target)
        return [(1, group), (-1, group[group != target])]

    return _isolate("differencing", answerer, truth, plan, rounds, targets, seed)


def tracker(answerer: Answerer, truth: ArrayLike, *, rounds: int = 1, targets: int | None = None, seed: int = 0) -> Isolation:
    """Each target's bit by a general tracker: four groups of about half of the people.

    >>> from tacit.evidence.attacks.answerers import Exact
    >>> bits = fair_bits(40, seed=3)
    >>> rule = MinimumSize(Exact(bits), people=40, least=5)
    >>> rule.query(np.array([7])), tracker(rule, bits).recovered
    (None, 1.0)
    """
    people = len(np.asarray(truth))

    def plan(target: int, turn: int, generator: np.random.Generator) -> Signed:
        half = _half(people, generator)
        rest = np.setdiff1d(np.arange(people), half)
        return [(1, _with(half, target)), (1, _with(rest, target)), (-1, half), (-1, rest)]

    return _isolate("tracker", answerer, truth, plan, rounds, targets, seed)


def averaging(answerer: Answerer, truth: ArrayLike, *, rounds: int = 1, targets: int = 8, seed: int = 0) -> Isolation:
    """The exact count of each of several groups of half of the people, asked in two random parts of uneven size, `rounds` times.

    >>> from tacit.evidence.attacks.answerers import Exact
    >>> bits = fair_bits(60, seed=3)
    >>> averaging(Exact(bits), bits).recovered
    1.0
    """
    bits, generator = np.asarray(truth).astype(np.float64), np.random.default_rng([seed, 7])
    groups = [_half(len(bits), generator) for _ in range(targets)]

    def plan(target: int, turn: int, generator: np.random.Generator) -> Signed:
        left = generator.random(len(groups[target])) < generator.uniform(0.25, 0.75)
        left[generator.permutation(len(left))[:2]] = True, False  # a count over an empty group is not a question
        return [(1, groups[target][left]), (1, groups[target][~left])]

    counts = np.array([bits[group].sum() for group in groups])
    return _isolate("averaging", answerer, counts, plan, rounds, targets, seed)


def gallery(attack: str, people: int = 100, targets: int = 8, seed: int = 0) -> Gallery:
    """One of the three attacks on every weak answerer, each with as many rounds as it takes (a tracker behind a minimum size).

    >>> {name: result.recovered for name, result in gallery("tracker", targets=4).found.items()}
    {'exact': 1.0, 'rounding to 5': 1.0, 'counts below 5 suppressed': 1.0, 'noise without a ledger': 1.0}
    """
    bits, run = fair_bits(people, seed), ATTACKS[attack]
    results = {}
    for name, made in WEAK.items():
        answerer: Answerer = made(bits, seed)
        if attack == "tracker":
            answerer = MinimumSize(answerer, people)
        result = run(answerer, bits, rounds=ROUNDS[name], targets=targets, seed=seed)
        results[name] = replace(result, predicted=predicted_share(attack, SPREADS[name], ROUNDS[name]))
    return Gallery(attack, results)


def predicted_share(attack: str, deviation: float, rounds: int) -> float:
    """The share of targets expected to be found, where each answer has an error of its own with this deviation.

    An estimate adds up 2 answers (a tracker 4), so that its error has deviation * sqrt(2 / rounds); it is found if that is below
    1/2. A bit is lost on one side only.

    >>> predicted_share("differencing", 0, 1), round(predicted_share("differencing", 182, 1), 3)
    (1.0, 0.501)
    """
    spread = deviation * sqrt((4 if attack == "tracker" else 2) / rounds)
    if spread == 0:
        return 1.0
    lost = erfc(0.5 / spread / sqrt(2))
    return 1 - lost if attack == "averaging" else 1 - lost / 2


def _isolate(
    attack: str, answerer: Answerer, truth: ArrayLike, plan: Plan, rounds: int, targets: int | None, seed: int
) -> Isolation:
    real = np.asarray(truth).astype(np.float64)[:targets]
    generator, asked, refused = np.random.default_rng([seed, 11]), 0, 0
    estimates = np.zeros(len(real))
    for target in range(len(real)):
        sums = []
        for turn in range(rounds):
            answers = list(_answers(answerer, plan(target, turn, generator)))
            asked, refused = asked + len(answers), refused + answers.count(None)
            sums.append(None if None in answers else sum(answer for answer in answers if answer is not None))
        sums_known = [value for value in sums if value is not None]
        estimates[target] = np.mean(sums_known) if sums_known else 0.5
    return Isolation(attack, asked, refused, estimates, real)


def _answers(answerer: Answerer, questions: Iterable[tuple[int, Subset]]) -> Iterator[float | None]:
    for sign, subset in questions:
        answer = answerer.query(subset)
        yield None if answer is None else sign * float(answer)


def _half(people: int, generator: np.random.Generator) -> Subset:
    return np.sort(generator.permutation(people)[: people // 2])


def _with(group: Subset, person: int) -> Subset:
    return np.union1d(group, [person])


ATTACKS: dict[str, Callable[..., Isolation]] = {"differencing": differencing, "averaging": averaging, "tracker": tracker}
