"""Mechanisms against sensitivities, events against mechanisms, the price against events, and the filter.

A price is a triple (epsilon, rho, delta) that stays true under adaptive composition: accounting/composition.md. Numbers that are
not rational are enclosed, and what is stated must be at or above them, by no more than roundings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit_certificate import numbers
from tacit_certificate.document import Node, Wrong, only, optional, rational, refuse, whole
from tacit_certificate.series import series_moved
from tacit_certificate.stability import Part

GRID = 10**24 * math.lcm(*range(1, 33))  # the sums of a ledger are multiples of 1 / GRID
NEAR = Fraction(1, 10**20)  # by which a stated number may be above a derived one: roundings of 24 places

# --- what events cost --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Outside a weight of `delta`, ratios up to e^epsilon (None: no bound) and Renyi divergences up to rho times the order."""

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction

    def __add__(self, other: Cost) -> Cost:
        epsilon = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Cost(epsilon, self.rho + other.rho, self.delta + other.delta)

    @property
    def rounded(self) -> Cost:
        """The same on the grid of a ledger, rounded up."""
        epsilon = None if self.epsilon is None else _up(self.epsilon)
        return Cost(epsilon, _up(self.rho), _up(self.delta))

    def changed(self) -> Cost:
        """From a unit that comes or goes to one that changes, which does both: composition.md, section 4."""
        moved = numbers.moved_up(self.delta, self.rho)
        if self.epsilon is None:
            return Cost(None, 4 * self.rho, self.delta + moved)
        if not self.delta:
            return Cost(2 * self.epsilon, min(4 * self.rho, numbers.pure_rho(2 * self.epsilon)[1]), self.delta)
        factor = numbers.exp(self.epsilon)[1] if self.epsilon < 1000 else Fraction(10**500)
        return Cost(2 * self.epsilon, 4 * self.rho, self.delta + min(moved, self.delta * factor))

    def covers(self, derived: Cost) -> bool:
        """Whether these numbers are true where derived ones are: larger ones are."""
        bounded = self.epsilon is None or (derived.epsilon is not None and self.epsilon >= derived.epsilon)
        return bounded and self.rho >= derived.rho and self.delta >= derived.delta

    def is_stated_by(self, stated: Cost) -> bool:
        """Whether stated numbers are at or above these, and above them by roundings alone."""
        return self.epsilon == stated.epsilon and all(
            mine <= theirs <= mine * (1 + NEAR) + NEAR for mine, theirs in ((self.rho, stated.rho), (self.delta, stated.delta))
        )

    def __str__(self) -> str:
        return f"epsilon {brief(self.epsilon)}, rho {brief(self.rho)}, delta {brief(self.delta)}"


NOTHING = Cost(Fraction(0), Fraction(0), Fraction(0))


def brief(number: Fraction | None) -> str:
    """A number as people read it."""
    if number is None:
        return "none"
    return str(number) if len(str(number)) < 12 else f"{float(number):.6g}"


def _up(number: Fraction) -> Fraction:
    return Fraction(math.ceil(number * GRID), GRID)


def sums(node: Node) -> Cost:
    """The triple of an object."""
    return Cost(optional(node["epsilon"]), rational(node["rho"]), rational(node["delta"]))


def plain(cost: Cost) -> Node:
    """The object of a triple."""
    return {"epsilon": None if cost.epsilon is None else str(cost.epsilon), "rho": str(cost.rho), "delta": str(cost.delta)}


EVENTS = {
    "laplace": "sensitivity scale neighbours",
    "gaussian": "sensitivity scale delta neighbours",
    "smooth": "epsilon delta alpha beta gamma neighbours",
    "thresholded-keys": "epsilon delta max_groups threshold neighbours",
    "gaussian-keys": "sensitivity scale delta max_groups threshold neighbours",
    "resampling": "epsilon delta neighbours",
    "adaptive-rounds": "epsilon rho delta neighbours",
    "batch": "events",
    "calibrated-gaussian": "events epsilon delta",
    **dict.fromkeys(("bounded-range", "exponential", "noisy-max", "randomized-answer"), "epsilon neighbours"),
}


def cost(event: Node, relation: str) -> Cost:
    """What an event costs under a relation."""
    kind = event["kind"]
    only(event, f"kind {EVENTS.get(kind, '')}")
    if kind == "batch":
        return sum((cost(part, relation) for part in event["events"]), start=NOTHING)
    single, counts_for = alone(event)
    if counts_for == relation:
        return single
    if not counts_for.startswith("add-remove ") or relation != f"change-one {counts_for[11:]}":
        raise Wrong(f"an event counts for {counts_for!r}, and the release for {relation!r}")
    return single.changed()


def alone(event: Node) -> tuple[Cost, str]:
    """The cost of one event, and the relation that it counts for."""
    kind, delta = event["kind"], rational(event.get("delta", "0"))
    refuse(not 0 <= delta <= 1, "a delta lies between 0 and 1")
    if kind == "calibrated-gaussian":
        parts = [alone(part) for part in event["events"]]
        alike = {part["neighbours"] for part in event["events"]} == {parts[0][1]}
        kinds = {part["kind"] for part in event["events"]} - {"gaussian", "gaussian-keys"}
        refuse(kinds or not alike, "the events of a group are Gaussian noise, and count for one relation")
        noise = sum((one for one, _ in parts), start=NOTHING)
        return Cost(positive(event, "epsilon"), noise.rho, delta + noise.delta), parts[0][1]
    refuse(kind not in EVENTS or "neighbours" not in EVENTS[kind], f"an unknown event: {str(kind)[:40]}")
    if kind == "adaptive-rounds":
        epsilon = None if event["epsilon"] is None else positive(event, "epsilon")
        return Cost(epsilon, positive(event, "rho"), delta), event["neighbours"]
    if kind == "gaussian":
        return gaussian(rational(event["sensitivity"]) ** 2, rational(event["scale"]), delta), event["neighbours"]
    if kind == "gaussian-keys":
        return Cost(None, ratio(event) ** 2 / 2, delta), event["neighbours"]
    epsilon = ratio(event) if kind == "laplace" else positive(event, "epsilon")
    rho = numbers.pure_rho(epsilon)[1]
    return Cost(epsilon, min(rho, epsilon**2 / 8) if kind == "bounded-range" else rho, delta), event["neighbours"]


def gaussian(square: Fraction, scale: Fraction, delta: Fraction) -> Cost:
    """The cost of Gaussian noise on numbers that move by the root of `square`, whose law leaves out a weight of delta."""
    refuse(scale < 0 or (square and not scale), "noise of this scale protects nothing")
    rho = square / scale**2 / 2 if scale else Fraction(0)
    return Cost(None, rho, delta + numbers.moved_up(delta, rho))


def positive(event: Node, name: str) -> Fraction:
    """An epsilon or a rho."""
    number = rational(event[name])
    refuse(not 0 <= number <= 10**40, f"the {name} of an event is out of range")
    return number


def ratio(event: Node) -> Fraction:
    """Sensitivity over scale: the epsilon of Laplace noise."""
    sensitivity, scale = rational(event["sensitivity"]), rational(event["scale"])
    refuse(sensitivity < 0 or scale < 0 or (sensitivity and not scale), "noise of this scale protects nothing")
    return sensitivity / scale if scale else Fraction(0)


def leaves(event: Node) -> Iterator[Node]:
    """The events in an event, in order: those of a batch, and the noises of a calibrated one."""
    if event["kind"] in ("batch", "calibrated-gaussian"):
        for part in event["events"]:
            yield from leaves(part)
    else:
        yield event


# --- mechanisms --------------------------------------------------------------------------------------------------------------


KINDS = {  # of mechanisms, by what they release
    "keys": "key-threshold gaussian-keys",
    "moment": "laplace gaussian running",
    "margin": "added",
    "quantile": "quantile quantile-with-interval smooth-quantile tree",
    "mode": "exponential",
}
EVENT_OF = {  # the kind of the events of each mechanism, if it is not its own
    "running": "gaussian",
    "key-threshold": "thresholded-keys",
    "tree": "laplace",
    "smooth-quantile": "smooth",
    "rounds": "adaptive-rounds",
    **dict.fromkeys(("quantile", "quantile-with-interval", "exponential"), "bounded-range"),
}
SEVERAL = ("tree", "quantile-with-interval")  # of these there may be several events


def recorded(node: Node, events: Sequence[Node], change: bool) -> None:
    """A mechanism is recorded as events of its kind, for its relation."""
    kind, relation = EVENT_OF.get(node["kind"], node["kind"]), f"{'change-one' if change else 'add-remove'} unit"
    if {event["kind"] for event in events} != {kind} or (len(events) > 1 and node["kind"] not in SEVERAL):
        raise Wrong(f"a mechanism of kind {node['kind']} is recorded as an event of kind {kind}")
    refuse(any(event["neighbours"] != relation for event in events), f"an event counts for another relation than {relation}")


def mechanism(node: Node, events: Sequence[Node], part: Part) -> str:
    """What was checked of a mechanism of a part, in words; raises if its noise is too small for its price."""
    kind, moved = node["kind"], part.moved.get(node.get("moment", -1))
    recorded(node, events, part.reach.change and kind != "smooth-quantile")  # which is for one that comes or goes
    if kind not in ("laplace", "gaussian", "running"):
        return _keys(node, events[0], part) if node["releases"] == "keys" else _drawn(node, events, part)
    if moved is None or (kind == "running" and part.private):
        raise Wrong("noise is added to sums alone, and running totals are over public periods")
    if kind == "running":
        return f"measurements of {node['shape'][1]} periods, {noise(node, events, 0, series_moved(node, part.sizes, moved))}"
    return noise(node, events, moved.l1, moved.l2_squared, part.alone)


def noise(node: Node, events: Sequence[Node], l1: int, l2_squared: int | Fraction, alone: bool = False) -> str:
    """Noise for how far one unit moves the numbers; `alone` says that there is one number, which moves by a whole one."""
    sensitivity, scale = rational(node["sensitivity"]), rational(node["scale"])
    if (sensitivity, scale) != (rational(events[0]["sensitivity"]), rational(events[0]["scale"])):
        raise Wrong("a mechanism and its event have other numbers")
    if node["kind"] == "laplace":
        epsilon = rational(node["epsilon"])
        if sensitivity != l1 or scale * epsilon * bool(l1) != l1:
            raise Wrong(f"one unit moves the numbers by {l1} in l1; the noise is for {sensitivity}, of scale {brief(scale)}")
        return f"l1 {l1}, Laplace noise of scale {brief(scale)}, epsilon {brief(epsilon)}"
    root, rho = numbers.sqrt(Fraction(l2_squared)), rational(node["rho"])
    near = sensitivity == root[0].__floor__() if alone else l2_squared <= sensitivity**2 and sensitivity <= root[1] * (1 + NEAR)
    if not near or not sensitivity**2 <= 2 * rho * scale**2 <= sensitivity**2 * (1 + Fraction(1, 10**12)):
        raise Wrong(f"one unit moves the numbers by the root of {l2_squared} in l2; the noise is for {brief(sensitivity)}")
    return f"l2 {brief(sensitivity)}, Gaussian noise of scale {brief(scale)}, rho {brief(rho)}"


def _keys(node: Node, event: Node, part: Part) -> str:
    """selection.md, (D): the chance that a group of one unit shows, in any of its groups, is at most delta."""
    most, units, gaussian = whole(node, "max_groups", 1), part.reach.units, node["kind"] == "gaussian-keys"
    same = all(node[name] == event[name] for name in ("epsilon", "delta", "max_groups", "threshold") if name in event)
    refuse(not same or most < units, f"one unit is in up to {units} groups; the threshold is for {most}")
    moved, amount = most * (2 if part.reach.change else 1), rational(node["rho" if gaussian else "epsilon"])
    scale, delta, threshold = rational(node["scale"]), rational(node["delta"]), whole(event, "threshold", 1)
    if gaussian:
        noise(node, [event], 0, moved)
    refuse(not gaussian and scale * amount != moved, "the scale of the noise on the numbers of units is groups / epsilon")
    tail = numbers.gaussian_tail_up if gaussian else numbers.laplace_tail_up
    shows = tail(scale, threshold - 2) / 2 / (1 + gaussian * Fraction(1, 10**5))  # P[1 + X >= threshold], bounded that closely
    # of at most `most` groups none shows with a chance of (1 - shows)^most
    beyond = most * shows > delta and 1 - numbers.exp(most * numbers.log(1 - shows)[0])[0] > delta
    refuse(beyond, "the threshold is too low for delta")
    declared = [whole(fact, "min_people", 0) for fact in part.derived.limits.values()]
    people = max(part.group.get("people") or 0, *declared)  # the question may ask for more than the catalog
    refuse(threshold < people or node["min_people"] != people, f"the threshold is below min_people, which is {people}")
    price = f"{'rho' if gaussian else 'epsilon'} {brief(amount)}, delta {brief(delta)}"
    return f"at most {most} groups of one unit, threshold {threshold} at {price}"


def _drawn(node: Node, events: Sequence[Node], part: Part) -> str:
    """Quantiles, trees of counts and modes: one unit moves ranks and counts by its rows, in all groups together."""
    rows, change, kind = part.reach.l1, part.reach.change, node["kind"]
    times = whole(node, "rows", 1) if kind == "smooth-quantile" else 1
    prices = [alone(event)[0] for event in events]
    total = sum((price.epsilon or Fraction(0) for price in prices), start=Fraction(0))
    refuse(total != times * rational(node["epsilon"]), "the draws of a mechanism add up to its epsilon")
    refuse(kind != "exponential" and whole(node, "max_rows") * times != rows, f"one unit has up to {rows} rows, not those stated")
    least, stated = Fraction(0), Fraction(0)  # of the number by which the chances of values are kept close
    match kind:
        case "quantile":  # quantile.md: weights fall by e^(-epsilon / spread) a rank, of which a unit moves half the spread
            share = optional(part.node["calls"][node["calls"][0]]["share"]) or Fraction(0)
            least, stated = 2 * rows * (Fraction(1) if change else max(share, 1 - share)), rational(node["spread"])
        case "exponential":  # modes.md: rows only come or only go; for a unit that changes, half of that
            least, stated = Fraction(rows, 1 if change else 2), rational(node["sensitivity"])
        case "tree":
            least, stated = Fraction(rows * (2 if change else 1)), min(rational(event["sensitivity"]) for event in events)
            alike = {rational(event["scale"]) for event in events} == {rational(node["scale"])}
            refuse(len(events) != whole(node, "levels", 1) or not alike, "a tree has one Laplace event of its scale a level")
        case "smooth-quantile":  # its calibration is taken as stated
            refuse(prices[0].delta != rational(node["delta"]), "the event has another delta than the draws")
    refuse(stated < least, f"{rows} rows of one unit need {brief(least)}; the {kind} is for {brief(stated)}")
    return f"{rows} rows of one unit, {len(events)} draws or levels of a {kind} at epsilon {brief(total)}"
