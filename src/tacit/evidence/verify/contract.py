"""The laws that every mechanism obeys, checked on ours or on yours.

    loss             no pair of neighbours can be told apart better than the mechanism claims
    price            the ledger's addition for it, in epsilon and in rho, is no less than its laws differ by
    draws            `release` draws from the law that `law` lists
    post-processing  no function of the output tells more than the output may
    composition      asking twice, the second time as the first answer suggests, costs no more than the sum
    coverage         an interval holds the exact value as often as it says
    grid             every output lies on the public grid, and either neighbour can give it (except for the claim's delta)
    purity           a pure claim has a finite ratio at every output

Where a mechanism lists its law the checks are exact and cover every pair; faults that no listing shows (types, digits, noise used
twice) are looked for in draws, and there a sound mechanism is accused with probability at most `Effort.false_alarm` a check.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate
from numbers import Real
from typing import Any

import numpy as np

from tacit.accounting.composition import cost
from tacit.errors import LawViolated
from tacit.evidence.verify.claims import (
    TOLERANCE,
    align,
    as_decimal,
    law_of_function,
    measured_both_ways,
    only_one_can,
    parameter,
    within,
)
from tacit.evidence.verify.composing import compose, surviving_loss, together
from tacit.evidence.verify.coverage import coverage_of_law, coverage_of_outputs, interval_for
from tacit.evidence.verify.epsilon import EpsilonBound, epsilon_of_draws
from tacit.evidence.verify.proportion import proportion_down, proportion_up
from tacit.evidence.verify.score import label_of, read
from tacit.evidence.verify.trial import Effort, Pair, Trial
from tacit.mechanisms.mechanism import Mechanism, WithError
from tacit.privacy.law import Law
from tacit.privacy.loss import Concentrated, Loss, Pure, weakened
from tacit.privacy.rounding import as_text

Function = Callable[[Any], Hashable]
SALTS = ("one", "two", "three", "four")


def text_of(output: Any) -> str:
    """The whole text of an output: its type and its digits, so that 1, 1.0, True and -0.0 differ."""
    if hasattr(output, "tolist"):
        return f"{type(output).__name__} {getattr(output, 'dtype', '')} {output.tolist()!r}"
    return f"{type(output).__name__} {output!r}"


def random_half(salt: str) -> Function:
    """A random set of outputs, the same at every call: whether the output is in it."""
    return lambda output: blake2b(f"{salt} {text_of(output)}".encode(), digest_size=1).digest()[0] < 128


def last_digits(output: Any) -> str:
    """The end of the mantissa of a float, where careless arithmetic leaves its traces; of a vector, of its first entry."""
    entry = _first(output)
    return math.frexp(entry)[0].hex()[-6:-3] if isinstance(entry, float) and math.isfinite(entry) else str(entry)[-1:]


def kind(output: Any) -> str:
    """The types in an output, without its digits."""
    return " ".join([type(output).__name__, type(_first(output)).__name__, str(getattr(output, "dtype", ""))])


def sign_of_zero(output: Any) -> Hashable:
    """Whether a zero is negative."""
    entry = _first(output)
    return math.copysign(1, entry) if isinstance(entry, float) and entry == 0 else "no zero"


def length(output: Any) -> int:
    """The number of characters of an output, which a packet on the wire shows too."""
    return len(text_of(output))


FUNCTIONS: dict[str, Function] = {
    "its last digits": last_digits,
    "its type": kind,
    "the sign of zero": sign_of_zero,
    "its length": length,
    **{f"random set {salt}": random_half(salt) for salt in SALTS},
}


def telling_sets(one: Law, other: Law) -> dict[str, Function]:
    """The sets of outcomes likelier under one law: the ratio above 1, above 2, and the single outcome of largest ratio."""

    def ratio(outcome: Hashable) -> float:
        probability, against = one.probabilities.get(outcome, 0), other.probabilities.get(outcome, 0)
        return math.inf if not against else float(probability) / float(against) if float(against) else 0.0

    worst = max(one.probabilities, key=ratio)
    return {
        "likelier under one": lambda outcome: ratio(outcome) > 1,
        "twice as likely under one": lambda outcome: ratio(outcome) > 2,
        "the most telling outcome": lambda outcome: outcome == worst,
    }


def _first(output: Any) -> Any:
    listed = output.tolist() if hasattr(output, "tolist") else output
    while isinstance(listed, list | tuple) and listed:
        listed = listed[0]
    return listed


# --- does a sampler draw from the law that it lists? -------------------------------------------------------------------------


MOST_EVENTS = 60  # of each kind
ROUNDING = 1e-12  # of a sum of floats; no number of draws resolves it


def disagreement(outputs: Iterable[Any], law: Law, error: float) -> str | None:
    """Where draws disagree with a law, in words, or None; a sampler of that law is accused with probability at most `error`.

    Events are fixed by the law before the draws are seen: all outcomes that are equally likely, which cost the same, outcomes one
    by one, outcomes up to each point, and the likeliest ones together. Each is tested by the bounds of Clopper and Pearson at an
    equal share of `error`.

    >>> from decimal import Decimal
    >>> coin = Law({0: Decimal("0.25"), 1: Decimal("0.75")})
    >>> disagreement([0, 1, 1, 1] * 100, coin, 1e-6)
    >>> disagreement([0, 1] * 100, coin, 1e-6)
    'an event of probability 0.7500 came 100 times in 200 draws'
    """
    counts = Counter(label_of(output) for output in outputs)
    total = counts.total()
    unlisted = sum(count for outcome, count in counts.items() if outcome not in law.probabilities)
    missing = float(law.missing)
    if float(proportion_down(unlisted, total, error / 2)) > missing:
        return f"outputs that the law does not list came {unlisted} times in {total} draws"
    events = _events(law, counts)
    share = error / (4 * len(events))
    low, high = (bound([hits for hits, _ in events], total, share) for bound in (proportion_down, proportion_up))
    for place, (hits, weight) in enumerate(events):
        if low[place] > weight + missing + ROUNDING or high[place] < weight - ROUNDING:
            return f"an event of probability {weight:.4f} came {hits} times in {total} draws"
    return None


def _events(law: Law, counts: Counter[Hashable]) -> list[tuple[int, float]]:
    """The hits and the probability of each event."""
    likeliest = sorted(law.probabilities, key=law.probabilities.__getitem__, reverse=True)
    single = [(counts[outcome], float(law.probabilities[outcome])) for outcome in likeliest[:MOST_EVENTS]]
    return _classes(law, counts) + single + _together(likeliest, law, counts) + _together(_in_order(law), law, counts)


def _classes(law: Law, counts: Counter[Hashable]) -> list[tuple[int, float]]:
    """All outcomes of one probability together, the heaviest classes first: draws of many rare cells are compared by their cost."""
    classes: dict[Decimal, list[Hashable]] = {}
    for outcome, weight in law.probabilities.items():
        classes.setdefault(weight, []).append(outcome)
    heaviest = sorted(classes.items(), key=lambda each: each[0] * len(each[1]), reverse=True)[:MOST_EVENTS]
    return [(sum(counts[outcome] for outcome in same), float(weight * len(same))) for weight, same in heaviest]


def _together(outcomes: list[Hashable], law: Law, counts: Counter[Hashable]) -> list[tuple[int, float]]:
    """The first outcomes of a list together, for lengths whose probabilities are spread evenly."""
    hits = np.array(list(accumulate(counts[outcome] for outcome in outcomes)))
    weights = np.array(list(accumulate(float(law.probabilities[outcome]) for outcome in outcomes)))
    ends = np.unique(np.searchsorted(weights, np.linspace(0, weights[-1], MOST_EVENTS), "left"))
    return [(int(hits[end]), float(weights[end])) for end in ends if end < len(outcomes)]


def _in_order(law: Law) -> list[Hashable]:
    """The outcomes from least to largest where they can be compared, else as listed."""
    try:
        return sorted(law.probabilities)  # type: ignore[type-var]
    except TypeError:
        return list(law.probabilities)


# --- the laws that every mechanism obeys, checked on ours or on yours --------------------------------------------------------


CONFIDENCES = (0.5, 0.9, 0.99)
CONVERTED_AT = 0.01  # the delta at which draws are held against a concentrated claim
EFFORT = Effort()


@dataclass(frozen=True, slots=True)
class Check:
    """One law looked at once: the finding in words, whether it is within the law, and the share of the claim that was reached."""

    law: str
    holds: bool
    found: str
    measured: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Every check of a contract. `require()` raises the first breach; `broken` holds them all."""

    mechanism: str
    checks: tuple[Check, ...]
    samples: int

    @property
    def measured(self) -> float:
        """The largest measure of the loss over the pairs: exact if `samples` is 0, else a lower bound from that number of draws."""
        return max(check.measured for check in self.checks if check.law == "loss" and check.measured is not None)

    @property
    def broken(self) -> tuple[LawViolated, ...]:
        """The breaches, in the order of the checks."""
        return tuple(LawViolated(check.law, f"{self.mechanism}: {check.found}") for check in self.checks if not check.holds)

    @property
    def holds(self) -> bool:
        """Whether no law was shown to be broken."""
        return not self.broken

    def require(self) -> None:
        """Raise `LawViolated` with the name of the first law that does not hold; nothing otherwise."""
        for breach in self.broken:
            raise breach


def contract(mechanism: Mechanism, neighbours: Iterable[Pair], effort: Effort = EFFORT) -> Report:
    """Check every law on pairs of neighbouring values, and collect the findings.

    In a test: `contract(MyMechanism(epsilon=1), [(0, 1), (5, 4)]).require()`.
    """
    trial = Trial(mechanism, tuple(neighbours), effort)
    checks = tuple(check for law in LAWS.values() for check in law(trial))
    return Report(type(mechanism).__name__, checks, samples=0 if trial.laws else effort.samples)


def loss(trial: Trial) -> Iterator[Check]:
    """Exactly on every pair, or from draws on every pair."""
    claim = trial.mechanism.loss
    for measure in trial.measures:
        yield _exactly("loss", claim, measure)
    if not trial.laws:
        for draws in trial.draws.values():
            yield _from_draws("loss", claim, epsilon_of_draws(read(draws.one), read(draws.other), *_terms(trial, claim)))


def price(trial: Trial) -> Iterator[Check]:
    """The event of a pure mechanism against the listed laws, exactly on every pair: the ledger may not record too little."""
    if trial.laws and isinstance(trial.mechanism.loss, Pure):
        recorded = cost(trial.mechanism.event)
        claims: list[Loss] = [Concentrated(recorded.rho, 0, recorded.neighbours)]
        if recorded.epsilon is not None:
            claims.append(Pure(recorded.epsilon, recorded.neighbours))
        for claim in claims:
            worst = max(measured_both_ways(claim, *pair) for pair in trial.laws)
            yield _exactly("price", claim, worst, "in the ledger")


def draws(trial: Trial) -> Iterator[Check]:
    """The outputs for both values of the worst pair against their laws."""
    if trial.laws:
        drawn = trial.draws[trial.worst]
        for outputs, law in zip((drawn.one, drawn.other), trial.laws[trial.worst], strict=True):
            words = disagreement(outputs, law, trial.effort.false_alarm)
            yield Check("draws", words is None, words or "draws agree with the listed law")


def post_processing(trial: Trial) -> Iterator[Check]:
    """Every function of the family, on the listed laws of the worst pair and on the outputs as they come."""
    claim = surviving_loss(trial.mechanism.loss)
    if trial.laws:
        law, against = align(*trial.laws[trial.worst])
        for name, function in {**FUNCTIONS, **telling_sets(law, against)}.items():
            measure = measured_both_ways(claim, law_of_function(law, function), law_of_function(against, function))
            yield _exactly("post-processing", claim, measure, name)
    drawn = trial.draws[trial.worst]
    for name, function in FUNCTIONS.items():
        one, other = (read([str(function(output)) for output in outputs]) for outputs in (drawn.one, drawn.other))
        yield _from_draws("post-processing", claim, epsilon_of_draws(one, other, *_terms(trial, claim)), name)


def composition(trial: Trial) -> Iterator[Check]:
    """Twice in a row: on the listed laws with an adaptive second question, and on outputs for (a, b) against (b, a)."""
    claim = together(trial.mechanism.loss, trial.mechanism.loss)
    if trial.laws:
        pair = trial.laws[trial.worst]
        yield _exactly("composition", claim, measured_both_ways(claim, *compose(pair, pair)), "asked twice")
    drawn = trial.draws[trial.worst]
    bound = epsilon_of_draws(read(drawn.forth), read(drawn.back), *_terms(trial, claim))
    yield _from_draws("composition", claim, bound, "asked twice")


def coverage(trial: Trial) -> Iterator[Check]:
    """Intervals around the outputs for the first value of the worst pair, where it is a number or several and has intervals."""
    mechanism, value = trial.mechanism, trial.pairs[trial.worst][0]
    if isinstance(mechanism, WithError) and _is_numbers(value):
        for confidence in CONFIDENCES:
            interval = interval_for(mechanism, value, confidence)
            if trial.laws:
                measure = coverage_of_law(trial.laws[trial.worst][0], value, interval, confidence)
            else:
                outputs = trial.draws[trial.worst].one
                measure = coverage_of_outputs(outputs, value, interval, confidence, trial.effort.confidence)
            yield Check("coverage", measure.holds, str(measure))


def grid(trial: Trial) -> Iterator[Check]:
    """Outputs, drawn and listed, as multiples of the mechanism's step; and outcomes that one neighbour alone can give."""
    step = getattr(trial.mechanism, "step", None)
    if step is not None:
        drawn = trial.draws[trial.worst]
        listed = (law.probabilities for pair in trial.laws for law in pair)
        off = sum(not _on_grid(output, Fraction(step)) for outputs in (drawn.one, drawn.other, *listed) for output in outputs)
        yield Check("grid", off == 0, f"{off} outputs lie off the grid of step {as_text(Fraction(step))}")
    for pair in trial.laws:
        alone = max(only_one_can(*pair), only_one_can(*reversed(pair)))
        allowed = as_decimal(trial.mechanism.loss.delta) + TOLERANCE
        yield Check("grid", alone <= allowed, f"outputs of probability {alone:.3g} come from one neighbour alone")


def purity(trial: Trial) -> Iterator[Check]:
    """A pure claim and an outcome of infinite ratio do not go together."""
    if isinstance(trial.mechanism.loss, Pure):
        for measure in trial.measures:
            yield Check("purity", measure.is_finite(), "every ratio is finite" if measure.is_finite() else "a ratio is infinite")


LAWS: dict[str, Callable[[Trial], Iterator[Check]]] = {
    "loss": loss,
    "price": price,
    "draws": draws,
    "post-processing": post_processing,
    "composition": composition,
    "coverage": coverage,
    "grid": grid,
    "purity": purity,
}


def _exactly(law: str, claim: Loss, measure: Decimal, of: str = "") -> Check:
    words = f"{of + ': ' if of else ''}{float(measure):.4g} where {parameter(claim)} is claimed"
    return Check(law, within(claim, measure), words, float(measure))


def _from_draws(law: str, claim: Loss, bound: EpsilonBound, of: str = "") -> Check:
    allowed = weakened(claim, CONVERTED_AT).epsilon
    words = f"{of + ': ' if of else ''}at least {bound.bound:.4g} ({bound.event}) where {parameter(claim)} is claimed"
    return Check(law, not bound.refutes(allowed), words, bound.bound)


def _terms(trial: Trial, claim: Loss) -> tuple[float, Fraction]:
    """The confidence and the delta with which draws are held against a claim."""
    return trial.effort.confidence, weakened(claim, CONVERTED_AT).delta


def _is_numbers(value: Any) -> bool:
    entries = label_of(value)
    return all(isinstance(entry, Real) for entry in (entries if isinstance(entries, tuple) else (entries,)))


def _on_grid(output: Any, step: Fraction) -> bool:
    entries = np.atleast_1d(np.asarray(output, dtype=object))
    return all((Fraction(entry) / step).denominator == 1 for entry in entries)
