"""The costs of events, alone and together: the theorem of each event, and the triple that the ledger's filter sums.

`loss(event)` is the event's own theorem. `cost(event)` is the triple (epsilon, rho, delta) that stays true under adaptive
composition; composition.md defines it and proves every rule of this file. Tighter totals for events that are all fixed in
advance are in `batches.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import reduce, singledispatch
from operator import add
from typing import TypeVar

from tacit.accounting.events import (
    AboveThreshold,
    AdaptiveRounds,
    Batch,
    BoundedRangeChoice,
    CalibratedGaussian,
    Event,
    ExponentialChoice,
    GaussianKeys,
    GaussianNoise,
    GaussianNoiseOne,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    RandomizedAnswer,
    Resampling,
    SmoothNoise,
    ThresholdedKeys,
)
from tacit.errors import InvalidBudget, InvalidInput, UnknownEvent, WrongRelation
from tacit.privacy.conversion import laplace_rho_at_up, pure_rho_at_up, pure_rho_up
from tacit.privacy.loss import ADD_REMOVE, Approximate, Concentrated, Loss, Neighbours, Probabilistic, Pure, weakened
from tacit.privacy.rounding import exp_up, log_down, sqrt_down, sqrt_up

Part = TypeVar("Part")


LONGEST, PLACES = 3_000, 10**30  # bits of a denominator that is kept, and the grid of the others


@dataclass(frozen=True, slots=True)
class Cost:
    """The triple that the filter sums: outside a part of weight `delta`, ratios up to e^epsilon and Renyi divergences up to rho a.

    `epsilon` is None where the ratio has no bound. `counted` is the Renyi divergence at the one order of a ledger, divided by the
    order (section 7); None: `rho` counts. composition.md, section 1.

    >>> Cost(Fraction(1, 2), Fraction(1, 8), Fraction(0)) + Cost(None, Fraction(1, 8), Fraction(1, 10**6))
    Cost(epsilon=None, rho=Fraction(1, 4), delta=Fraction(1, 1000000), neighbours=Neighbours(change='add-remove', of='row'))
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction
    neighbours: Neighbours = ADD_REMOVE
    counted: Fraction | None = field(default=None, repr=False, compare=False)

    def __add__(self, other: Cost) -> Cost:
        _one_relation((self, other))
        epsilon = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        counted = None if self.counted is None and other.counted is None else _short_up(self.at_order + other.at_order)
        return Cost(epsilon, _short_up(self.rho + other.rho), self.delta + other.delta, self.neighbours, counted)

    @property
    def at_order(self) -> Fraction:
        """The number that counts at the order of a ledger."""
        return self.rho if self.counted is None else self.counted


def _short_up(rho: Fraction) -> Fraction:
    """The number itself, or one above it of 30 places: the denominators of many scales have thousands of digits together."""
    if rho.denominator.bit_length() <= LONGEST:
        return rho
    return Fraction(math.ceil(rho * PLACES), PLACES)


@singledispatch
def loss(event: Event) -> Loss:
    """The loss that the event's own theorem gives.

    >>> print(loss(LaplaceNoise(Fraction(2), Fraction(4))))
    pure epsilon 0.5 (add or remove one row)
    """
    raise UnknownEvent(f"{type(event).__name__} is an unknown event, without a proved price; record it as an event of events.py")


@loss.register
def _(event: LaplaceNoise) -> Loss:
    """Ratios of exp(-|k| / scale) at l1 distance of at most the sensitivity (Ghosh, Roughgarden and Sundararajan 2009)."""
    return Pure(_over(event.sensitivity, event.scale), event.neighbours)


@loss.register
def _(event: GaussianNoise) -> Loss:
    """sensitivity^2 / (2 scale^2) (Canonne, Kamath and Steinke 2020, Theorem 4); truncation: composition.md, section 5."""
    rho = _over(event.sensitivity, event.scale) ** 2 / 2
    return Concentrated(rho, event.delta + moved_weight_up(event.delta, rho), event.neighbours)


@loss.register
def _(event: GaussianKeys) -> Loss:
    """The rho of the noise, and the delta of the threshold, which is the weight of a part on one side alone (selection.md)."""
    return Concentrated(_over(event.sensitivity, event.scale) ** 2 / 2, event.delta, event.neighbours)


@loss.register(GaussianNoiseOne)
@loss.register(ThresholdedKeys)
def _(event: GaussianNoiseOne | ThresholdedKeys) -> Loss:
    """As stated in the event; the proof is at the mechanism."""
    return Approximate(event.epsilon, event.delta, event.neighbours)


@loss.register(ExponentialChoice)
@loss.register(BoundedRangeChoice)
@loss.register(NoisyMax)
@loss.register(RandomizedAnswer)
def _(event: ExponentialChoice | BoundedRangeChoice | NoisyMax | RandomizedAnswer) -> Loss:
    return Pure(event.epsilon, event.neighbours)


@loss.register
def _(event: AboveThreshold) -> Loss:
    return Pure(event.epsilon_threshold + event.epsilon_answers, event.neighbours)


@loss.register(SmoothNoise)
@loss.register(Resampling)
def _(event: SmoothNoise | Resampling) -> Loss:
    stated = Approximate(event.epsilon, event.delta, event.neighbours)
    return stated if stated.delta else Pure(stated.epsilon, event.neighbours)


@loss.register
def _(event: Batch) -> Loss:
    return sequential([loss(part) for part in event.events])


@loss.register
def _(event: CalibratedGaussian) -> Loss:
    """As stated in the event: the curve of the noise at epsilon (gaussian_curve.md)."""
    return Approximate(event.epsilon, event.delta, _one_relation([loss(part) for part in _some(event.events)]))


@loss.register
def _(event: AdaptiveRounds) -> Loss:
    """The totals of the filter inside the event (composition.md, section 6)."""
    if event.epsilon is None:
        return Concentrated(event.rho, event.delta, event.neighbours)
    return Approximate(event.epsilon, event.delta, event.neighbours) if event.delta else Pure(event.epsilon, event.neighbours)


@loss.register
def _(event: Parallel) -> Loss:
    losses = [loss(part) for part in event.events]
    return parallel(losses, _require_add_remove(_one_relation(losses)))


@singledispatch
def cost(event: Event) -> Cost:
    """The cost that the filter adds for the event, under the event's own relation.

    >>> parts = cost(Batch((ExponentialChoice(Fraction(1)), ExponentialChoice(Fraction(1)))))
    >>> round(float(parts.rho), 3), round(float(pure_rho_up(Fraction(2))), 3)          # not that of the sum of epsilons
    (0.924, 1.523)
    """
    return cost_of(loss(event))


@cost.register
def _(event: BoundedRangeChoice) -> Cost:
    """Log-ratios in an interval of length epsilon have rho epsilon^2 / 8 (Cesar and Rogers 2021): composition.md, section 2."""
    pure = cost_of(loss(event))
    return replace(pure, rho=min(pure.rho, event.epsilon**2 / 8))


@cost.register
def _(event: Batch) -> Cost:
    return reduce(add, [cost(part) for part in _some(event.events)])


@cost.register
def _(event: CalibratedGaussian) -> Cost:
    """Epsilon with its delta, and the rho of the noise: composition.md, section 2. The delta of truncated samplers is added."""
    noise = reduce(add, [cost(part) for part in _some(event.events)])
    return Cost(event.epsilon, noise.rho, event.delta + noise.delta, noise.neighbours)


@cost.register
def _(event: AdaptiveRounds) -> Cost:
    """The three totals. Each holds on every path: composition.md, section 6."""
    return Cost(event.epsilon, event.rho, event.delta, event.neighbours)


@cost.register
def _(event: Parallel) -> Cost:
    """The largest of each number: a neighbour differs in one part only (composition.md, section 3)."""
    parts = [cost(part) for part in _some(event.events)]
    relation = _require_add_remove(_one_relation(parts))
    ratios = [part.epsilon for part in parts if part.epsilon is not None]
    epsilon = max(ratios) if len(ratios) == len(parts) else None
    return Cost(epsilon, max(part.rho for part in parts), max(part.delta for part in parts), relation)


def cost_of(stated: Loss) -> Cost:
    """The triple that a loss implies; a probabilistic one counts as approximate (composition.md, section 2)."""
    if isinstance(stated, Concentrated):
        return Cost(None, stated.rho, stated.delta, stated.neighbours)
    return Cost(stated.epsilon, pure_rho_up(stated.epsilon), stated.delta, stated.neighbours)


def restated(price: Cost, relation: Neighbours) -> Cost:
    """The cost under `relation`: itself, or from add/remove to change-one, which is a removal and an addition.

    >>> restated(Cost(Fraction(1), Fraction(1, 2), Fraction(0)), Neighbours("change-one")).epsilon
    Fraction(2, 1)
    """
    if price.neighbours == relation:
        return price
    if (price.neighbours.change, relation.change) != ("add-remove", "change-one") or price.neighbours.of != relation.of:
        raise WrongRelation(
            f"an event priced for '{price.neighbours}' has no price for '{relation}'; "
            f"use a mechanism stated for '{relation}', or for 'add or remove one {relation.of}'"
        )
    moved = moved_weight_up(price.delta, price.rho)
    if price.epsilon is None:
        return Cost(None, 4 * price.rho, price.delta + moved, relation)
    if price.delta == 0:
        return Cost(2 * price.epsilon, min(4 * price.rho, pure_rho_up(2 * price.epsilon)), price.delta, relation)
    if price.epsilon < 1000:
        moved = min(moved, price.delta * exp_up(price.epsilon))
    return Cost(2 * price.epsilon, 4 * price.rho, price.delta + moved, relation)


def cost_under(event: Event, relation: Neighbours) -> Cost:
    """The cost that the filter adds for the event under `relation`; parts of a batch are restated one by one, which costs less.

    >>> parts = Batch((ThresholdedKeys(Fraction(1), Fraction(1, 10**6), 1, 15), ExponentialChoice(Fraction(5))))
    >>> change = Neighbours("change-one")
    >>> float(cost_under(parts, change).delta), float(restated(cost(parts), change).delta) > 1e-4
    (3.718281828459045e-06, True)
    """
    return reduce(add, costs_under(event, relation))


def costs_under(event: Event, relation: Neighbours, order: Fraction | None = None) -> tuple[Cost, ...]:
    """The costs of the parts of a batch, each under `relation`; of any other event its own cost. `order` is that of a ledger.

    >>> (part,) = costs_under(ExponentialChoice(Fraction(1, 20)), ADD_REMOVE, Fraction(22))
    >>> round(float(22 * part.rho), 4), round(float(22 * part.at_order), 4)
    (0.0275, 0.0234)
    """
    if isinstance(event, Batch):
        return tuple(part for each in _some(event.events) for part in costs_under(each, relation, order))
    price = restated(cost(event), relation)
    return (price if order is None else counted_at(price, order, event),)


SCALED_PAIRS = (GaussianNoiseOne, ThresholdedKeys, SmoothNoise, Resampling)  # their parts are a pure pair times 1 - delta


def counted_at(price: Cost, order: Fraction, event: Event | None = None) -> Cost:
    """A price with what counts of it at one Renyi order: less than its rho for pure ratios, and for the law of a known event.

    composition.md, section 7.
    """
    counted = price.rho
    if price.epsilon is not None:
        alike = not price.delta or (isinstance(event, SCALED_PAIRS) and event.neighbours == price.neighbours)
        counted = min(counted, pure_rho_at_up(price.epsilon, order) if alike else price.epsilon / order)
    if isinstance(event, LaplaceNoise) and event.scale:
        moved = event.sensitivity * (1 if event.neighbours == price.neighbours else 2)
        counted = min(counted, laplace_rho_at_up(moved, event.scale, order))
    return replace(price, counted=counted)


def sequential(losses: Iterable[Loss]) -> Loss:
    """The loss of all together, on the same people: numbers add, after conversion to one kind where kinds differ.

    >>> print(sequential([Pure(1), Concentrated("1/2")]))
    concentrated rho 0.962117 (add or remove one row)
    """
    return reduce(add, _one_kind(_some(list(losses))))


def parallel(losses: Iterable[Loss], relation: Neighbours, within: Iterable[Loss] = ()) -> Loss:
    """The loss of events on disjoint parts, one person in at most one part; `losses` are under add/remove.

    Add/remove: the largest. Change-one: a person moves between two parts (the two largest together) or changes inside one:
    `within`, the parts' own losses under change-one, or twice the add/remove loss where none is given.

    >>> print(parallel([Pure(1), Pure("1/2")], ADD_REMOVE))
    pure epsilon 1 (add or remove one row)
    >>> parts, change = [Pure(1), Pure("1/2")], Neighbours("change-one")
    >>> print(parallel(parts, change), parallel(parts, change, within=[Pure(1, change), Pure(1, change)]), sep="; ")
    pure epsilon 2 (change one row); pure epsilon 1.5 (change one row)
    """
    parts = _some(list(losses))
    if _require_add_remove(_one_relation(parts)).of != relation.of:
        raise WrongRelation(f"parts priced for '{parts[0].neighbours}' have no price for '{relation}'")
    if relation.change == "add-remove":
        return _largest(_one_kind(parts), relation, count=1)
    inside = list(within) or [_change_one_loss(part, relation) for part in parts]
    if len(inside) != len(parts) or any(part.neighbours != relation for part in inside):
        raise WrongRelation(f"`within` must contain one loss for '{relation}' per part")
    return _largest(_one_kind([_largest(_one_kind(parts), relation, count=2), *inside]), relation, count=1)


def moved_weight_up(delta: Fraction, rho: Fraction) -> Fraction:
    """At or above what a set of weight `delta` can weigh under a law at concentrated distance `rho`.

    exp(-(sqrt(ln(1/delta)) - sqrt(rho))^2) for rho < ln(1/delta), else 1: composition.md, section 4.

    >>> float(moved_weight_up(Fraction(1, 10**20), Fraction(1, 2))) < 1e-16
    True
    """
    if delta == 0:
        return Fraction(0)
    root = sqrt_down(max(Fraction(0), log_down(1 / delta))) - sqrt_up(rho)
    return exp_up(-(root**2)) if root > 0 else Fraction(1)


def _change_one_loss(part: Loss, relation: Neighbours) -> Loss:
    if isinstance(part, Concentrated):
        return Concentrated(4 * part.rho, part.delta + moved_weight_up(part.delta, part.rho), relation)
    if isinstance(part, Pure):
        return Pure(2 * part.epsilon, relation)
    both = weakened(part).group(2)
    return Approximate(both.epsilon, both.delta, relation)


def _one_kind(losses: Sequence[Loss]) -> Sequence[Loss]:
    kinds = {type(each) for each in losses}
    if len(kinds) == 1:
        return losses
    if Concentrated in kinds:
        return [each if isinstance(each, Concentrated) else _as_concentrated(each) for each in losses]
    if kinds == {Pure, Probabilistic}:
        return [each.probabilistic() if isinstance(each, Pure) else each for each in losses]
    return [weakened(each) for each in losses]


def _as_concentrated(stated: Pure | Approximate | Probabilistic) -> Concentrated:
    return Concentrated(pure_rho_up(stated.epsilon), stated.delta, stated.neighbours)


def _largest(losses: Sequence[Loss], relation: Neighbours, count: int) -> Loss:
    """For each number of one kind of loss, the sum of its `count` largest."""
    names = [each.name for each in fields(losses[0]) if each.name != "neighbours"]
    largest = {name: sum(sorted((getattr(each, name) for each in losses), reverse=True)[:count]) for name in names}
    return replace(losses[0], neighbours=relation, **largest)


def _over(sensitivity: Fraction, scale: Fraction) -> Fraction:
    if sensitivity < 0 or scale < 0 or (scale == 0 and sensitivity > 0):
        raise InvalidBudget(f"noise of scale {scale} gives no privacy at sensitivity {sensitivity}; give a scale above 0")
    return sensitivity / scale if scale else Fraction(0)


def _some(parts: Sequence[Part]) -> Sequence[Part]:
    if not parts:
        raise InvalidInput("nothing to compose; give at least one event or loss")
    return parts


def _one_relation(parts: Sequence[Loss | Cost]) -> Neighbours:
    relations = {part.neighbours for part in _some(parts)}
    if len(relations) > 1:
        names = " and ".join(sorted(f"'{relation}'" for relation in relations))
        raise WrongRelation(f"{names} cannot be composed; restate all of them for one relation first")
    return relations.pop()


def _require_add_remove(relation: Neighbours) -> Neighbours:
    """`relation`, which must be add/remove: a part loses or gains a person who moves between parts."""
    if relation.change != "add-remove":
        raise WrongRelation(
            f"disjoint parts are priced under add/remove, not '{relation}': a change can move a {relation.of} from one part "
            "to another; state the parts' events for add/remove, then restate the whole"
        )
    return relation
