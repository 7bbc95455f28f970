"""The filter: what counts at the one Renyi order of a ledger, and whether sums are within a cap. accounting/filter.md.

A ledger takes its order with its first spend, or restates what was paid before, and keeps it. Ledgers of earlier versions sum rhos.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit_certificate.document import Node, optional, rational, read, refuse
from tacit_certificate.numbers import exp, largest_rho_down, log
from tacit_certificate.price import NOTHING, Cost, brief, cost, sums

PAIRS = ("smooth", "thresholded-keys", "resampling")  # whose parts are a pure pair times 1 - delta


@dataclass(frozen=True)
class Cap:
    """A budget, the share of its delta that converts rho, and the order that its sums count at, if they do."""

    epsilon: Fraction
    delta: Fraction
    share: Fraction
    order: Fraction | None

    @classmethod
    def of(cls, node: Node, share: Fraction, order: Fraction | None = None) -> Cap:
        """The cap of an object."""
        cap = cls(rational(node["epsilon"]), rational(node["delta"]), share, order or of(node.get("order")))
        refuse(not (cap.epsilon > 0 and 0 <= cap.delta < 1 and 0 <= share <= 1), "the cap is not a budget")
        return cap

    def admits(self, sums: Cost) -> bool:
        """Whether sums are within the cap: all of their ratios, or what counts of their divergences."""
        pure = sums.epsilon is not None and sums.epsilon <= self.epsilon
        rest = self.share * self.delta
        return sums.delta <= self.delta - rest and (pure or sums.rho <= largest(self.epsilon, rest, self.order))

    def __str__(self) -> str:
        return f"epsilon {brief(self.epsilon)}, delta {brief(self.delta)}"


def caps_of(document: Node) -> dict[str, tuple[Cap, Cost]]:
    """The caps of a certificate, by the sums that they are of, each with the price as it counts there.

    A budget of each period is a cap of `periods`; then `sums` are those of whole persons, with a cap if a lifetime has one.
    """
    node, within = document["cap"], document.get("periods")
    cap = Cap.of(node, rational(node["split"]))
    caps = {"periods" if within else "sums": (cap, counted(document["event"], document["relation"], cap.order))}
    if within and within["lifetime"] is not None:
        life = Cap.of(within["lifetime"], cap.share)
        caps["sums"] = life, price_at(sums(document["price"]), life.order)
    return caps


def largest(epsilon: Fraction, delta: Fraction, order: Fraction | None) -> Fraction:
    """The largest rho of a cap: at the best order, or at the given one."""
    if order is None or delta <= 0:
        return largest_rho_down(epsilon, delta)
    above = order - 1
    return max(Fraction(0), (epsilon + log(order / above)[0] + (log(order)[0] - log(1 / delta)[1]) / above) / order)


def counted(event: Node, relation: str, order: Fraction | None) -> Cost:
    """The cost of an event, with the number that counts at the order in the place of rho: composition.md, section 7."""
    if event["kind"] == "batch":
        return sum((counted(part, relation, order) for part in event["events"]), start=NOTHING)
    price, own = cost(event, relation), event.get("neighbours") == relation
    found = price_at(price, order, own and event["kind"] in PAIRS)
    if event["kind"] != "laplace" or order is None or not price.epsilon or order * price.epsilon >= 1000:
        return found
    least = laplace_rho_at(rational(event["sensitivity"]) * (2 - own), rational(event["scale"]), order)
    return Cost(found.epsilon, min(found.rho, least), found.delta)


def price_at(price: Cost, order: Fraction | None, is_pair: bool = False) -> Cost:
    """The same of a price alone."""
    if order is None or not price.epsilon:
        return price
    least = price.epsilon / order  # no divergence is above epsilon
    if (is_pair or not price.delta) and order * price.epsilon < 1000:
        least = min(least, pure_rho_at(price.epsilon, order))
    return Cost(price.epsilon, min(price.rho, least), price.delta)


def pure_rho_at(epsilon: Fraction, order: Fraction) -> Fraction:
    """At or above the Renyi divergence of randomized response at the order, divided by it.

    >>> round(float(22 * pure_rho_at(Fraction(1, 20), Fraction(22))), 5)
    0.02342
    """
    total = (exp(order * epsilon)[1] + exp((1 - order) * epsilon)[1]) / (1 + exp(epsilon)[0])
    return log(total)[1] / (order * (order - 1))


def laplace_rho_at(moved: Fraction, scale: Fraction, order: Fraction) -> Fraction:
    """The same of discrete Laplace noise on whole numbers that move by `moved` in l1.

    >>> near = laplace_rho_at(Fraction(1), Fraction(2), Fraction(4)) - pure_rho_at(Fraction(1, 2), Fraction(4))
    >>> abs(near) < Fraction(1, 10**50)
    True
    """
    (low, high), (slow, fast) = exp(-1 / scale), exp((1 - 2 * order) / scale)
    if fast >= 1:
        return moved / scale / order
    grows, falls = (1 + (1 - low) * fast / (1 - fast)) / (1 + low), (high - slow) / (1 - fast) / (1 + low)
    total = grows * exp((order - 1) * moved / scale)[1] + falls * exp(-order * moved / scale)[1]
    return log(total)[1] / (order * (order - 1))


def of(text: Any) -> Fraction | None:
    """An order; None if rhos are summed."""
    order = optional(text)
    refuse(order is not None and order <= 1, "a Renyi order is above 1")
    return order


def charged(entry: Node, relation: str, sums_of: str = "sums") -> tuple[Fraction | None, Cost]:
    """The order of an entry, of the sums or of those of `periods`, and its price as it is summed: no less than its event counts."""
    more = entry.get("more") or {}
    of_person = "periods" in more and sums_of == "sums"  # the price of a whole person is of more than the event
    price = sums((more["periods"] if sums_of == "periods" else entry)["price"])
    if (said := (more.get("orders") or {}).get(sums_of)) is None:
        return None, price
    order, told = of(said[0]), Cost(price.epsilon, rational(said[1]), price.delta)
    least = price_at(price, order) if of_person or entry["event"] is None else counted(entry["event"], relation, order)
    refuse(told.rho < least.rho, f"entry {entry['number']} counts less than its events have at the order of the ledger")
    return order, told


def restated(entry: Node, order: Fraction, before: Cost, texts: Sequence[str]) -> Cost:
    """The sums before, as an entry states them at the order of the largest cap: no less than what was paid for counts there."""
    paid = [one for one in map(read, map(str.encode, texts)) if one["kind"] in ("spend", "adopt")]
    spent, least = sums(entry["spent"]), Fraction(0)
    for one in paid:
        price, of_event = sums(one["price"]), one["event"] is not None and not _caps(one)[1]
        told = counted(one["event"], one["price"]["neighbours"], order) if of_event else price_at(price, order)
        least += Cost(None, min(price.rho, told.rho), Fraction(0)).rounded.rho
    refuse(not least <= spent.rho <= before.rho, f"entry {entry['number']} restates the sums at a Renyi order, and they are less")
    share = 1 - rational(entry.get("split", "1/2"))
    caps = [(rational(cap["epsilon"]), share * rational(cap["delta"])) for one in (*paid, entry) for cap in _caps(one)[0]]
    best, kept = (max((largest(*cap, each) for cap in caps), default=Fraction(0)) for each in (None, order))
    refuse(best > kept * (1 + Fraction(1, 10**9)), f"the Renyi order of entry {entry['number']} is not that of the largest cap")
    return Cost(before.epsilon, spent.rho, before.delta)


def _caps(entry: Node) -> tuple[list[Node], bool]:
    """The caps on the ledger's sums that an entry names, which are those of a lifetime if it is charged to periods; and whether."""
    more = entry.get("more") or {}
    if (within := more.get("periods")) is not None:
        return [] if within["lifetime"] is None else [within["lifetime"]], True
    return [] if "periods" in (more.get("orders") or {}) else [entry["cap"]], False
