"""Mechanisms against sensitivities, events against mechanisms, the price against events, and the filter.

A price is a triple (epsilon, rho, delta) that stays true under adaptive composition: accounting/composition.md. Numbers that are
not rational are enclosed, and what is stated must be at or above them, by no more than roundings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit_certificate import numbers
from tacit_certificate.document import Wrong, only, optional, rational, refuse, whole
from tacit_certificate.series import running
from tacit_certificate.stability import Part, Reach, Sensitivity

Node = Mapping[str, Any]
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


EVENTS = {
    "laplace": "sensitivity scale neighbours",
    "gaussian": "sensitivity scale delta neighbours",
    "smooth": "epsilon delta alpha beta gamma neighbours",
    "thresholded-keys": "epsilon delta max_groups threshold neighbours",
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
    alone, counts_for = _alone(event)
    if counts_for == relation:
        return alone
    if not counts_for.startswith("add-remove ") or relation != f"change-one {counts_for[11:]}":
        raise Wrong(f"an event counts for {counts_for!r}, and the release for {relation!r}")
    return alone.changed()


def counted(event: Node, relation: str, order: Fraction | None) -> Cost:
    """The same with what counts at the Renyi order of a ledger in the place of rho: composition.md, section 7."""
    if event["kind"] == "batch":
        return sum((counted(part, relation, order) for part in event["events"]), start=NOTHING)
    alone = cost(event, relation)
    if order is None or alone.epsilon is None:
        return alone
    pairs = event["kind"] in ("smooth", "thresholded-keys", "resampling") and event["neighbours"] == relation
    least = alone.epsilon / order  # no divergence is above epsilon
    if order * alone.epsilon < 2000 and (pairs or not alone.delta):
        least = min(least, numbers.pure_rho_at(alone.epsilon, order))
    if event["kind"] == "laplace" and 0 < order * alone.epsilon < 1000:
        moved = rational(event["sensitivity"]) * (1 if event["neighbours"] == relation else 2)
        least = min(least, numbers.laplace_rho_at(moved, rational(event["scale"]), order))
    return Cost(alone.epsilon, min(alone.rho, least), alone.delta)


def order_of(text: Any) -> Fraction | None:
    """A Renyi order; None if rhos are summed."""
    order = optional(text)
    refuse(order is not None and order <= 1, "a Renyi order is above 1")
    return order


def at_order(entry: Node, stated: Cost) -> tuple[Fraction | None, Cost]:
    """The Renyi order of an entry of a ledger, and its price with what counts at it in the place of rho."""
    order, counts = ((entry.get("more") or {}).get("orders") or {}).get("sums", (None, None))
    return order_of(order), stated if order is None else Cost(stated.epsilon, rational(counts), stated.delta)


def _alone(event: Node) -> tuple[Cost, str]:
    """The cost of one event, and the relation that it counts for."""
    kind = event["kind"]
    if kind == "calibrated-gaussian":
        parts = [_alone(part) for part in event["events"]]
        refuse(len({relation for _, relation in parts}) != 1, "the events of a group count for different relations")
        noise = sum((one for one, _ in parts), start=NOTHING)
        return Cost(_positive(event, "epsilon"), noise.rho, rational(event["delta"]) + noise.delta), parts[0][1]
    delta = rational(event["delta"]) if "delta" in event else Fraction(0)
    refuse(not 0 <= delta <= 1, "a delta lies between 0 and 1")
    if kind == "adaptive-rounds":
        rho = rational(event["rho"])
        refuse(not 0 <= rho <= 10**40, "the rho of an event is out of range")
        return Cost(None if event["epsilon"] is None else _positive(event, "epsilon"), rho, delta), event["neighbours"]
    if kind == "gaussian":
        rho = _ratio(event) ** 2 / 2
        return Cost(None, rho, delta + numbers.moved_up(delta, rho)), event["neighbours"]
    if kind == "laplace":
        epsilon = _ratio(event)
    elif kind in EVENTS:
        epsilon = _positive(event, "epsilon")
    else:
        raise Wrong(f"an unknown event: {str(kind)[:40]}")
    rho = numbers.pure_rho(epsilon)[1]
    return Cost(epsilon, min(rho, epsilon**2 / 8) if kind == "bounded-range" else rho, delta), event["neighbours"]


def _positive(event: Node, name: str) -> Fraction:
    number = rational(event[name])
    refuse(not 0 <= number <= 10**40, f"the {name} of an event is out of range")
    return number


def _ratio(event: Node) -> Fraction:
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


@dataclass(frozen=True)
class Released:
    """What a mechanism releases of a part, and all that it is checked against."""

    node: Node
    part: Part
    reach: Reach
    events: Sequence[Node]
    sensitivity: Sensitivity | None = None

    def of(self, name: str) -> Fraction:
        """A parameter."""
        return rational(self.node[name])

    def one(self, kind: str) -> Node:
        """The event, if it is the only one, of the kind that belongs to the mechanism and counts for its relation."""
        if [event["kind"] for event in self.events] != [kind]:
            raise Wrong(f"a mechanism of kind {self.node['kind']} is recorded as one {kind} event")
        return self.events[0]


def mechanism(released: Released) -> str:
    """What was checked of a mechanism, in words; raises if its noise is too small for its price."""
    restated = released.node["kind"] == "smooth-quantile"  # priced for a unit that comes or goes, whatever the release is for
    change = "change-one" if released.reach.change and not restated else "add-remove"
    if any(event["neighbours"] != f"{change} unit" for event in released.events):
        raise Wrong(f"an event counts for another relation than {change} unit")
    checks = MECHANISMS.get(released.node["kind"])
    if checks is None:
        raise Wrong(f"an unknown mechanism: {str(released.node['kind'])[:40]}")
    return checks(released)


def _noise(released: Released) -> str:
    if released.sensitivity is None:
        raise Wrong("noise is added to sums alone")
    alone = (released.reach.groups if released.part.private else math.prod(released.part.sizes)) == 1
    return noise(released.node, released.events, released.sensitivity.l1, released.sensitivity.l2_squared, alone)


def _running(released: Released) -> str:
    if released.sensitivity is None or released.part.private:
        raise Wrong("running totals are made of sums over public periods alone")
    moved = released.sensitivity.l1, released.sensitivity.largest
    return running(released.node, released.events, released.part.sizes, moved)


def noise(node: Node, events: Sequence[Node], l1: int, l2_squared: int | Fraction, alone: bool = False) -> str:
    """Noise for how far one unit moves the numbers; `alone` says that there is one number, which moves by a whole one."""
    if [event["kind"] for event in events] != [node["kind"]]:
        raise Wrong(f"noise of kind {node['kind']} is recorded as one event of that kind")
    sensitivity, scale = rational(events[0]["sensitivity"]), rational(events[0]["scale"])
    if rational(node["sensitivity"]) != sensitivity or rational(node["scale"]) != scale:
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


def rounds(node: Node, events: Sequence[Node], rows: int) -> str:
    """Rounds with budgets that follow from what was released: what ran is within the totals (composition.md, section 6)."""
    if [event["kind"] for event in events] != ["adaptive-rounds"] or events[0]["neighbours"] != "add-remove unit":
        raise Wrong("rounds are recorded as one adaptive-rounds event, for a unit that comes or goes")
    total, spent = _alone(events[0])[0], NOTHING
    for each in node["rounds"]:
        noise, choice = each["noise"], _positive(each, "choice")
        sensitivity, scale = rational(noise["sensitivity"]), rational(noise["scale"])
        if noise["kind"] not in ("laplace", "gaussian") or sensitivity != rows or scale <= 0:
            raise Wrong(f"one unit moves a marginal by {rows}; the noise of a round is for {brief(sensitivity)}")
        measured = {"kind": noise["kind"], "sensitivity": noise["sensitivity"], "scale": noise["scale"], "delta": "0"}
        chosen = Cost(choice, min(numbers.pure_rho(choice)[0], choice**2 / 8), Fraction(0))
        spent = spent + chosen + _alone(measured | {"neighbours": "add-remove unit"})[0]
    pure = total.epsilon is None or (spent.epsilon is not None and spent.epsilon <= total.epsilon)
    refuse(not pure or spent.rho > total.rho or spent.delta > total.delta, f"the rounds cost {spent}, and the event has {total}")
    return f"{len(node['rounds'])} rounds cost {spent}, within {total}"


def _keys(released: Released) -> str:
    """selection.md, (D): the chance that a group of one unit shows, in any of its groups, is at most delta."""
    event, most, epsilon = released.one("thresholded-keys"), whole(released.node, "max_groups", 1), released.of("epsilon")
    pairs = [(released.of("epsilon"), rational(event["epsilon"])), (released.of("delta"), rational(event["delta"]))]
    same = [(most, event["max_groups"]), (released.node["threshold"], event["threshold"])]
    if any(one != other for one, other in (*pairs, *same)) or most < released.reach.units:
        raise Wrong(f"one unit is in up to {released.reach.units} groups; the threshold is for {most}")
    scale, threshold = most * (2 if released.reach.change else 1) / epsilon, whole(event, "threshold", 1)
    refuse(released.of("scale") != scale, "the scale of the noise on the numbers of units is groups / epsilon")
    shows = numbers.laplace_tail_up(scale, threshold - 2) / 2  # P[1 + X >= threshold]
    delta = rational(event["delta"])  # of at most `most` groups none shows with a chance of (1 - shows)^most
    if most * shows > delta and 1 - numbers.exp(most * numbers.log(1 - shows)[0])[0] > delta:
        raise Wrong("the threshold is too low for delta")
    declared = [whole(fact, "min_people", 0) for fact in released.part.derived.limits.values()]
    people = max(released.part.group.get("people") or 0, *declared)  # the question may ask for more than the catalog
    refuse(threshold < people or released.node["min_people"] != people, f"the threshold is below min_people, which is {people}")
    return (
        f"at most {most} groups of one unit, threshold {threshold} at epsilon {brief(epsilon)}, delta {brief(released.of('delta'))}"
    )


def _quantile(released: Released) -> str:
    """quantile.md: the weights fall by e^(-epsilon / spread) with each rank; a unit moves the ranks by at most half the spread."""
    if rational(released.one("bounded-range")["epsilon"]) != released.of("epsilon"):
        raise Wrong("the event has another epsilon than the draw")
    rows, call = _rows(released), released.part.node["calls"][released.node["calls"][0]]
    share = optional(call["share"]) or Fraction(0)
    least = 2 * rows if released.reach.change else 2 * rows * max(share, 1 - share)
    refuse(released.of("spread") < least, f"the spread of the ranks is at least {least}, not {brief(released.of('spread'))}")
    return f"{rows} rows of one unit, drawn at epsilon {brief(released.of('epsilon'))}, spread {brief(released.of('spread'))}"


def _rows(released: Released) -> int:
    times = whole(released.node, "rows", 1) if released.node["kind"] == "smooth-quantile" else 1
    if whole(released.node, "max_rows") * times != released.reach.l1:
        raise Wrong(f"one unit has up to {released.reach.l1} rows in all groups together; the mechanism is for another number")
    return released.reach.l1


def _with_interval(released: Released) -> str:
    rows = _rows(released)
    total = sum((rational(event["epsilon"]) for event in released.events), start=Fraction(0))
    if {event["kind"] for event in released.events} != {"bounded-range"} or total != released.of("epsilon"):
        raise Wrong("the draws of a quantile with its interval are bounded-range events that add up to its epsilon")
    return f"{rows} rows of one unit, {len(released.events)} draws at epsilon {brief(total)} together"


def _smooth(released: Released) -> str:
    event, times = released.one("smooth"), whole(released.node, "rows", 1)
    rows = _rows(released)
    if rational(event["epsilon"]) != times * released.of("epsilon") or rational(event["delta"]) != released.of("delta"):
        raise Wrong("the event has another price than the draws for all rows of one unit")
    return f"{rows} rows of one unit, smooth sensitivity at epsilon {brief(rational(event['epsilon']))}, calibrated as stated"


def _tree(released: Released) -> str:
    rows, levels = _rows(released) * (2 if released.reach.change else 1), whole(released.node, "levels", 1)
    if len(released.events) != levels or any(event["kind"] != "laplace" for event in released.events):
        raise Wrong("a tree has one Laplace event a level")
    total = sum((_ratio(event) for event in released.events), start=Fraction(0))
    if any(rational(event["sensitivity"]) < rows or rational(event["scale"]) != released.of("scale") for event in released.events):
        raise Wrong(f"one unit moves the counts of a level by up to {rows}")
    refuse(total != released.of("epsilon"), "the levels of a tree add up to its epsilon")
    return f"{rows} rows of one unit in each of {levels} levels of counts, Laplace noise of scale {brief(released.of('scale'))}"


def _mode(released: Released) -> str:
    """modes.md: rows only come or only go, so that the factor is epsilon / rows; for a unit that changes, half of that."""
    least = Fraction(released.reach.l1, 1 if released.reach.change else 2)
    if released.of("sensitivity") < least or rational(released.one("bounded-range")["epsilon"]) != released.of("epsilon"):
        raise Wrong(f"the sensitivity of a choice by counts is at least {least} here, at the epsilon of its event")
    values, epsilon = released.node["candidates"], brief(released.of("epsilon"))
    return f"{released.reach.l1} rows of one unit, a choice among {values} values at epsilon {epsilon}"


MECHANISMS = {
    "laplace": _noise,
    "gaussian": _noise,
    "running": _running,
    "key-threshold": _keys,
    "quantile": _quantile,
    "quantile-with-interval": _with_interval,
    "smooth-quantile": _smooth,
    "tree": _tree,
    "exponential": _mode,
}


# --- the curve of Gaussian noise ---------------------------------------------------------------------------------------------


def calibrated(event: Node, moves: Sequence[tuple[Sensitivity, bool]]) -> str:
    """How the delta of a calibrated event is shown; empty if no bound of this program reaches it. gaussian_curve.md.

    `moves` has the sensitivity of each of its noises, and whether it is of one number.
    """
    epsilon, delta = rational(event["epsilon"]), rational(event["delta"])
    scales = [rational(part["scale"]) for part in event["events"]]
    squares = [rational(part["sensitivity"]) ** 2 for part in event["events"]]
    rho = sum((_ratio(part) ** 2 / 2 for part in event["events"]), start=Fraction(0))
    if rho <= numbers.largest_rho_down(epsilon, delta):
        return "by the tight conversion of its rho"
    one = len(moves) == 1 and (moves[0][1] or moves[0][0].entries == 1)
    if one and numbers.whole_shift_delta_up(math.isqrt(squares[0].__floor__()), scales[0], epsilon) <= delta:
        return "by the sums of its law, at the largest whole shift"
    if all(scales) and numbers.rounded_delta_up(squares, scales, sum(moved.entries for moved, _ in moves), epsilon) <= delta:
        return "by a normal law of a little less variance, rounded at random"
    return ""


# --- the filter --------------------------------------------------------------------------------------------------------------


def within(cap: tuple[Fraction, Fraction], conversion: Fraction, after: Cost, order: Fraction | None = None) -> bool:
    """Whether sums are within a cap (epsilon, delta): filter.md. `conversion` is the share of delta for the conversion of rho."""
    epsilon, delta = cap
    if after.delta > (1 - conversion) * delta:
        return False
    largest = numbers.largest_rho_down(epsilon, conversion * delta, order)
    return (after.epsilon is not None and after.epsilon <= epsilon) or after.rho <= largest
