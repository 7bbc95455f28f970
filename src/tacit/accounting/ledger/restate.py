"""Old prices under new units: what an entry cost a person who is several of the units that it was priced for. units.md proves it.

If one new unit can touch at most m old ones, two new neighbours are m old steps apart, and an event priced (epsilon, rho, delta)
for one step costs

    epsilon   m epsilon                                       ratios multiply
    rho       m^2 rho                                         Bun and Steinke 2016, Proposition 1.9
    delta     (e^(m epsilon) - 1) / (e^epsilon - 1) delta     each step adds a delta, magnified by the steps before it

Entries are restated one by one, and a batch part by part: a Gaussian's rho from its scale, its truncation from that rho.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

from tacit.accounting.composition import Cost, cost_under, moved_weight_up
from tacit.accounting.events import Batch, Event, GaussianNoise
from tacit.errors import StoreUnusable
from tacit.privacy.neighbours import Neighbours
from tacit.privacy.rounding import exp_down, exp_up

LARGEST_EXPONENT = 1000  # e^1000 promises nothing, and takes long to compute


def restated_price(event: Event | None, price: Cost, steps: int) -> Cost:
    """What an entry costs for units of which one touches `steps` of its own; `price` is under the relation of its ledger.

    >>> one = Cost(Fraction(1, 2), Fraction(1, 8), Fraction(0))
    >>> restated_price(None, one, 10).epsilon, restated_price(None, one, 10).rho
    (Fraction(5, 1), Fraction(25, 2))
    """
    if steps == 1:
        return price
    if isinstance(event, Batch):
        parts = [restated_price(part, cost_under(part, price.neighbours), steps) for part in event.events]
        return replace(reduce(add, parts), rho=steps**2 * price.rho)  # as recorded: what a part counts today may be less
    if isinstance(event, GaussianNoise):
        return _gaussian(event, price.neighbours, steps)
    if price.epsilon is None and price.delta:
        raise StoreUnusable(
            "an entry of the ledger has a delta and no epsilon, so it has no price for other units",
            remedy="declare the same units as before",
        )
    epsilon = None if price.epsilon is None else steps * price.epsilon
    return Cost(epsilon, steps**2 * price.rho, _piled(price, steps), price.neighbours)


def under(price: Cost, relation: Neighbours) -> Cost:
    """The same numbers under another relation; the curator's number of steps accounts for the difference."""
    return replace(price, neighbours=relation)


def _gaussian(event: GaussianNoise, relation: Neighbours, steps: int) -> Cost:
    """The noise is what it was, and the shift `steps` times as long (twice that where each step changes a unit)."""
    moved = steps * (2 if relation.change == "change-one" and event.neighbours.change == "add-remove" else 1)
    rho = (moved * event.sensitivity / event.scale) ** 2 / 2 if event.scale else Fraction(0)
    return Cost(None, rho, event.delta + moved_weight_up(event.delta, rho), relation)


def _piled(price: Cost, steps: int) -> Fraction:
    """The sum of e^(i epsilon) delta over i below `steps`, rounded up, and 1 where it promises nothing."""
    if not price.delta or price.epsilon is None:
        return price.delta
    if steps * price.epsilon > LARGEST_EXPONENT:
        return Fraction(1)
    grown, one = exp_up(steps * price.epsilon), exp_down(price.epsilon)
    total = (grown - 1) / (one - 1) if one > 1 else steps * grown
    return min(Fraction(1), total * price.delta)
