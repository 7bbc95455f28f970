"""The split of epsilon inside a question: what is released, and what each number of an answer needs of it (needs.md).

Every released sum, quantile, mode and set of private keys is an item with a share of epsilon. A number that the analyst sees is
made of items; how far it misses follows from their noise, by factors that are public or forecast from declared bounds. The split
minimizes the weighted squares of all errors, each relative to what it would be if it were the only one. All of it is exact: whole
roots and fractions, the same on every machine.

Not every sum is measured. ROLLUP (ward, kind) asks for the rows of every ward and kind, of every ward, and of all. Over public keys
the count of a ward is the sum of the counts of its cells: added up, it costs nothing, agrees with them, and has the noise of all of
them. Measured by itself, it has noise once, but epsilon is split further, so that every number has more. Which of the two is better
is decided from how many cells there are and how much noise each number has: public parameters, both (stability.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import lcm, prod
from typing import Literal

from tacit.errors import InvalidInput
from tacit.privacy.rounding import brief
from tacit.query.intervals.aggregates import CHOICES, DRAWN, moments_of
from tacit.query.intervals.misses import beside_in, calls_of
from tacit.query.plan import Moment
from tacit.query.price.stability import Reach, l1_sensitivity, l2_sensitivity, row_range
from tacit.query.question import Call, Output, Question, is_noisy, pause, private, size

# --- sums, quantiles, modes and private keys, and which of them are paid for -------------------------------------------------


def moves(moment: Moment, touched: Reach) -> bool:
    """Whether one unit can change a moment, so that its release has a price."""
    return moment.kind == "list" or l1_sensitivity(moment, touched) > 0


def additive(question: Question) -> list[tuple[int, Moment]]:
    """The sums of a part, with their places among its moments."""
    return [(place, moment) for place, moment in enumerate(question.group.moments) if moment.kind != "list"]


def quantiles(question: Question) -> list[tuple[int, Call]]:
    """The quantiles of a part, each with the place of its list."""
    moments = question.group.moments
    return [(moments.index(moments_of(call, question.calls)[0]), call) for call in question.calls if call.name == "quantile"]


def charged_sums(question: Question) -> list[tuple[int, Moment]]:
    """The sums that are paid for; the number of units is already released with private keys."""
    return [(place, moment) for place, moment in additive(question) if not (private(question) and moment.kind == "units")]


def paid(question: Question, touched: Reach) -> list[tuple[int, Moment]]:
    """The same without those that no unit can change: they are released as they are, and have no share."""
    return [(place, moment) for place, moment in charged_sums(question) if moves(moment, touched)]


def measured(question: Question, added: bool) -> list[tuple[int, Moment]]:
    """The sums of a part that get noise of their own: all that are paid for, or those that cannot be added up."""
    return [(place, moment) for place, moment in charged_sums(question) if not (added and moment.kind in ADDITIVE)]


def besides_sums(question: Question) -> int:
    """How many releases a part has besides sums: its quantiles and modes, and its keys where they are private."""
    return len(quantiles(question)) + len(modes_of(question)) + private(question)


def modes_of(question: Question) -> list[tuple[int, Call]]:
    """The modes that are asked for, each with the place of its list among the moments."""
    moments = question.group.moments
    return [(moments.index(moments_of(call, question.calls)[0]), call) for call in question.calls if call.name in CHOICES]


# --- margins: which sums are measured, and which are added up from a finer part ----------------------------------------------


ADDITIVE = frozenset(
    {"rows", "sum", "centred", "squares", "products"}
)  # of a union of disjoint groups: the sum of those of the groups
MOST_ADDED = 1000  # cells in one margin; from more of them, it is measured

Summed = Mapping[int, tuple[int, int]]
"""The parts whose sums are added up, by number; for each the part with the cells, and how many cells make one of its groups."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Of every part: how many sums can be added up, their squared sensitivities together; and both for all else it releases."""

    parts: tuple[tuple[int, Fraction, int, Fraction], ...]
    concentrated: bool

    def error(self, added: Summed) -> Fraction:
        """The variances of one number of each part, added up, in units that are the same for every choice.

        Epsilon is split over all that is released, so that every variance grows with the square of how much that is; of
        concentrated noise the sums share what they have together.
        """
        measured = [(at, part) for at, part in enumerate(self.parts) if at not in added]
        shares = sum(part[0] for _, part in measured) + sum(part[2] for part in self.parts)
        squares = sum(part[3] for part in self.parts) + sum(part[1] for _, part in measured)
        squares += sum((count * self.parts[source][1] for source, count in added.values()), start=Fraction(0))
        return Fraction(squares) * shares**2 / (max(1, shares) if self.concentrated else 1)


def summed(question: Question, spread: Spread) -> Summed:
    """The parts whose sums are added up: among choices from none to all that can be, the one with the least error.

    Those that would be made from the most cells are measured first. Of equal choices the one that measures least is taken.
    """
    parts = question.parts
    sources = {at: list(_sources(at, parts)) for at in range(len(parts)) if spread.parts[at][0]}
    largest = sorted((at for at in sources if sources[at]), key=lambda at: min(count for _, count in sources[at]))
    choices = [_from_measured(largest[:kept], sources, spread) for kept in range(len(largest), -1, -1)]
    return min(choices, key=spread.error)


def _from_measured(wanted: list[int], sources: Mapping[int, list[tuple[int, int]]], spread: Spread) -> Summed:
    """Each of these parts with the measured part from which it has the least noise; one that has none is measured itself."""
    found: dict[int, tuple[int, int]] = {}
    for at in wanted:
        measured = [(source, count) for source, count in sources[at] if source not in wanted]
        if measured:
            found[at] = min(measured, key=lambda each: each[1] * spread.parts[each[0]][1])
    return found


def _sources(at: int, parts: tuple[Question, ...]) -> Iterator[tuple[int, int]]:
    """The parts over the same rows whose public groups make up those of one part, with how many make one group."""
    part = parts[at]
    keys, needed = {key.term for key in part.group.keys}, {each for each in part.group.moments if each.kind in ADDITIVE}
    for number, other in enumerate(parts):
        finer = {key.term for key in other.group.keys} > keys and other.group.child == part.group.child
        if finer and not private(other) and needed <= set(other.group.moments):
            count = prod(size(key) for key in other.group.keys if key.term not in keys)
            if count <= MOST_ADDED:
                yield number, count


# --- what each number needs --------------------------------------------------------------------------------------------------


MEAN_ANYWHERE = Fraction(1, 3)  # the square of a mean that is anywhere between -1 and 1 with equal chance, on average
PLACES = 10**12  # of a root


@dataclass(frozen=True, slots=True)
class Item:
    """An item with a share of epsilon: a sum, a drawn value or the private keys of the part with the number `part`."""

    part: int
    what: Moment | Call | Literal["keys"]


@dataclass(frozen=True, slots=True)
class Need:
    """A number of the answer: its column, its weight, and the squared factor with which each item's noise enters its error.

    `place` is that of the column in its part.
    """

    column: Output | None
    part: int
    weight: Fraction
    squares: tuple[tuple[Item, Fraction], ...]
    place: int | None = None


Touched = Sequence[Reach]


def items_of(question: Question, touched: Touched, added: Summed) -> list[Item]:
    """All that is paid for, in the order of the parts."""
    items: list[Item] = []
    for at, part in enumerate(question.parts):
        items += [Item(at, "keys")] if private(part) else []
        items += [Item(at, moment) for _, moment in measured(part, at in added) if moves(moment, touched[at])]
        items += [Item(at, call) for _, call in (*quantiles(part), *modes_of(part))]
    return items


def needs_of(question: Question, weights: Mapping[int, Fraction]) -> list[Need]:
    """Every aggregate of every column, those that HAVING or ORDER BY use alone, and private keys; items are of its own part."""
    return [need for at, part in enumerate(question.parts) for need in _of_part(at, part, question, weights)]


def _of_part(at: int, part: Question, question: Question, weights: Mapping[int, Fraction]) -> Iterator[Need]:
    beside, used = 0 <= at - 1 < len(question.beside), set[Call]()
    for place, output in enumerate(part.outputs):
        weight = _beside(at - 1, question, weights) if beside else weights.get(place, Fraction(1))
        for call in dict.fromkeys(calls_of(output.value, part)):
            used.add(call)
            yield Need(output, at, weight, tuple(_factors(at, part, call)), place)
    for call in dict.fromkeys(part.calls):
        if call not in used:
            yield Need(None, at, Fraction(1), tuple(_factors(at, part, call)))
    if private(part):
        yield Need(None, at, Fraction(1), ((Item(at, "keys"), Fraction(1)),))


def _beside(index: int, question: Question, weights: Mapping[int, Fraction]) -> Fraction:
    """The largest weight of a column that uses the number of a question beside this one."""
    columns = [place for part in question.shown for place, out in enumerate(part.outputs) if index in beside_in(out.value)]
    return max((weights.get(place, Fraction(1)) for place in columns), default=Fraction(1))


def _factors(at: int, part: Question, call: Call) -> Iterator[tuple[Item, Fraction]]:
    """The items of a call, each with its squared factor, in what one row can add to it."""
    if call.name in DRAWN:
        yield Item(at, call), Fraction(1)
        return
    moments = moments_of(call, part.calls)
    for moment, square in zip(moments, _forecast(call, moments), strict=True):
        counted = private(part) and moment.kind == "units"
        yield (Item(at, "keys"), Fraction(1)) if counted else (Item(at, moment), square)


def _forecast(call: Call, moments: tuple[Moment, ...]) -> tuple[Fraction, ...]:
    """The squared factors: known for counts and sums, forecast for a mean; others need all their sums alike (needs.md)."""
    node = call.over.node if call.over is not None else None
    low, high = Fraction(getattr(node, "low", 0)), Fraction(getattr(node, "high", 0))
    if call.other is not None or len(moments) != 2:
        return tuple(Fraction(1) for _ in moments)
    if call.name == "avg" and moments[1].kind == "centred":
        return MEAN_ANYWHERE, Fraction(1)
    if call.name == "avg":
        return (low**2 + low * high + high**2) / (3 * max(Fraction(1), low**2, high**2)), Fraction(1)
    return ((low + high) / max(Fraction(1), high - low)) ** 2, Fraction(1)


# --- the split ---------------------------------------------------------------------------------------------------------------


def epsilon_shares(question: Question, touched: Touched, added: Summed, weights: Mapping[int, Fraction]) -> dict[Item, Fraction]:
    """The share of epsilon of every item; they add up to 1. An error grows as 1 / share: each is as the cube root of its need."""
    return _shares(question, touched, added, weights, l1=True)


def rho_shares(
    question: Question, touched: Touched, added: Summed, weights: Mapping[int, Fraction], among: Sequence[Item] | None = None
) -> dict[Item, Fraction]:
    """The share of rho of sums with Gaussian noise: all, or of the items `among`, which may be private keys.

    A squared error grows as 1 / share: the square root.
    """
    return _shares(question, touched, added, weights, l1=False, among=among)


def spread_out(moment: Moment, touched: Reach) -> Fraction:
    """The square of the l2 sensitivity over the l1: 1 where one unit moves one group, less where it moves many."""
    return (l2_sensitivity(moment, touched) / max(1, l1_sensitivity(moment, touched))) ** 2


def _shares(
    question: Question,
    touched: Touched,
    added: Summed,
    weights: Mapping[int, Fraction],
    l1: bool,
    among: Sequence[Item] | None = None,
) -> dict[Item, Fraction]:
    items = items_of(question, touched, added)
    items = [item for item in items if (l1 or isinstance(item.what, Moment) if among is None else item in among)]
    needed = dict.fromkeys(items, Fraction(0))
    degree = 3 if l1 else 2
    for need in needs_of(question, weights):
        pause()
        parts = [(item, square) for item, square in _measured_parts(need, touched, added, l1) if item in needed]
        alone = sum((root(square, degree) for _, square in parts), start=Fraction(0)) ** degree
        for item, square in parts:
            needed[item] += need.weight**2 * square / alone if alone else 0
    return dict(zip(items, round_shares([root(each, degree) for each in needed.values()]), strict=True))


def _measured_parts(need: Need, touched: Touched, added: Summed, l1: bool) -> Iterator[tuple[Item, Fraction]]:
    """The items measured for a number, with the squares of what their noise does to it: of a margin, those of its cells."""
    for item, square in need.squares:
        if not isinstance(item.what, Moment):
            yield item, square
            continue
        source, count = added.get(item.part, (item.part, 1)) if item.what.kind in ADDITIVE else (item.part, 1)
        size = (l1_sensitivity if l1 else l2_sensitivity)(item.what, touched[source])
        yield Item(source, item.what), square * count * (Fraction(size) / row_size(item.what)) ** 2


def row_size(moment: Moment) -> int:
    """The most that one row adds to a moment."""
    return max(1, *map(abs, row_range(moment)))


@lru_cache(maxsize=1024)  # most questions have the needs of another one
def root(number: Fraction, degree: int) -> Fraction:
    """The square or cube root of a number of at least 0, rounded down to 12 places, by whole numbers alone.

    >>> root(Fraction(8, 27), 3), root(Fraction(1, 4), 2)
    (Fraction(333333333333, 500000000000), Fraction(1, 2))
    """
    wanted = number.numerator * PLACES**degree // number.denominator
    low, high = 0, 1 << (wanted.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= wanted else (low, middle)
    return Fraction(low, PLACES)


def round_shares(sizes: Sequence[Fraction]) -> list[Fraction]:
    """Shares in proportion to `sizes`, in hundredths (of more than nine: thousandths, and so on); each above 0, together exactly 1.

    >>> round_shares([Fraction(2), Fraction(1)]), round_shares([Fraction(5)] * 3)[0]
    ([Fraction(67, 100), Fraction(33, 100)], Fraction(1, 3))
    """
    count = len(sizes)
    if not sizes or min(sizes) == max(sizes):
        return [Fraction(1, count)] * count
    common, whole = lcm(*(size.denominator for size in sizes)), 10 ** (1 + len(str(count)))
    scaled = [int(size * common) for size in sizes]
    total = sum(scaled)
    parts = [max(1, each * whole // total) for each in scaled]
    step = 1 if sum(parts) < whole else -1
    queue = [(step * (parts[at] * total - scaled[at] * whole), at) for at in range(count)]  # who is farthest from its due first
    heapify(queue)
    while sum(parts) != whole:
        due, at = heappop(queue)
        if parts[at] + step > 0:
            parts[at] += step
            heappush(queue, (due + total, at))
    return [Fraction(part, whole) for part in parts]


# --- weights -----------------------------------------------------------------------------------------------------------------


def placed(weights: Sequence[tuple[str, Fraction]], question: Question) -> dict[int, Fraction]:
    """The weights by the places of their columns; raises for a column that the answer does not have, or that has no noise."""
    places = {output.name.casefold(): place for place, output in enumerate(question.outputs)}
    weights_at: dict[int, Fraction] = {}
    for name, weight in weights:
        place = places.get(name.casefold())
        names = ", ".join(output.name for output in question.outputs if is_noisy(output.value))
        if place is None:
            raise InvalidInput(f"unknown column in weights: {brief(name)}; expected one of: {names}")
        if not is_noisy(question.outputs[place].value):
            raise InvalidInput(f"{brief(name)} has no noise, so it needs no weight; expected one of: {names}")
        weights_at[place] = weight
    return weights_at
