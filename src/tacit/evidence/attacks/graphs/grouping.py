"""Inference from a (k,l)-grouping: the edges of a bipartite graph are published, names only as groups of nodes.

Customers and products are put into groups of at least k and l; who of a group is which node is not published. If two customers of
a group share a product, edges pile up between two groups, and in the worst case every customer of one must have bought every
product of the other. A grouping is *safe* if no two nodes of one group share a neighbour: then no association is more likely than
1 / max(k, l) (Cormode, Srivastava, Yu and Zhang 2008). Here every labelling that fits counts, so the probabilities are exact: those
of groups that known associations touch are listed, and in all others each name is equally likely at each node of its group.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from json import JSONDecodeError
from math import factorial, log10, prod
from pathlib import Path
from typing import Any

from tacit.data.files.kinds import existing, line_blocks
from tacit.errors import InvalidInput
from tacit.release.outputs import receipt_beside

MOST_LABELLINGS = 100_000  # of the groups that known associations touch; all others are counted by a formula
MOST_PAIRS = 250_000
LARGEST = 1 << 26  # bytes of a published file
MOST_EXACT = 10**15  # labellings that are written out
MOST_SHOWN = 64  # pairs for which all groups, and associations that are, are listed in sentences
DRAWN = 30  # customers and products of a chart
Pair = tuple[str, str]
Groups = tuple[tuple[str, ...], ...]
BOUGHT: frozenset[Pair] = frozenset(
    (customer, item) for customers, items in (("AB", "12"), ("CD", "34")) for customer in customers for item in items
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The purchases, and the groups under which they are published: the node of a name is known up to its group."""

    bought: frozenset[Pair]
    customers: Groups
    items: Groups

    def __post_init__(self) -> None:
        for side, groups in enumerate((self.customers, self.items)):
            names = Counter(name for group in groups for name in group)
            if max(names.values(), default=0) > 1 or not {pair[side] for pair in self.bought} <= set(names):
                raise InvalidInput("invalid grouping: every customer and every product must be in one group")
        if sum(map(len, self.customers)) * sum(map(len, self.items)) > MOST_PAIRS:
            raise InvalidInput(f"more than {MOST_PAIRS:,} pairs of customers and products; attack a part of the graph")

    @property
    def safe(self) -> bool:
        """Whether no two nodes of one group share a neighbour, on both sides."""
        for side, groups in enumerate((self.customers, self.items)):
            for group in groups:
                around = Counter(pair[1 - side] for pair in self.bought if pair[side] in group)
                if max(around.values(), default=0) > 1:
                    return False
        return True


UNSAFE = Grouping(BOUGHT, (("A", "B"), ("C", "D")), (("1", "2"), ("3", "4")))
SAFE = Grouping(BOUGHT, (("A", "C"), ("B", "D")), (("1", "3"), ("2", "4")))


def labellings(groups: Groups) -> Iterator[dict[str, str]]:
    """Every way to give the names of each group to its nodes; a node is written as the name that it really has."""
    for ways in product(*(permutations(group) for group in groups)):
        yield {node: name for group, way in zip(groups, ways, strict=True) for node, name in zip(group, way, strict=True)}


@dataclass(frozen=True, slots=True)
class GroupingAttack:
    """The probability of every association over all labellings that fit."""

    grouping: Grouping
    known: frozenset[Pair]
    labellings: int
    chances: dict[Pair, Fraction]

    @property
    def certain(self) -> tuple[Pair, ...]:
        """Associations that hold in every labelling, those known before excluded."""
        return tuple(sorted(pair for pair, chance in self.chances.items() if chance == 1 and pair not in self.known))

    @property
    def largest(self) -> Fraction:
        """The largest probability of an association that was not known before."""
        return max((chance for pair, chance in self.chances.items() if pair not in self.known), default=Fraction(0))

    def summary(self) -> str:
        """The result in sentences."""
        shown = len(self.chances) <= MOST_SHOWN
        groups = f"customers {_group_text(self.grouping.customers, shown)}, products {_group_text(self.grouping.items, shown)}"
        kind = "safe" if self.grouping.safe else "unsafe: two members of a group share a neighbour"
        sure = ", ".join(f"{customer} bought {item}" for customer, item in self.certain[:MOST_SHOWN]) or "none"
        if len(self.certain) > MOST_SHOWN:
            sure += f" and {len(self.certain) - MOST_SHOWN:,} more"
        return (
            f"Published: every purchase, and names as groups: {groups} ({kind}).\n"
            f"Labellings that fit: {_many(self.labellings)}. Certain associations: {sure}. Largest probability: {self.largest}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values; probabilities are exact texts."""
        return {
            "safe": self.grouping.safe,
            "labellings": self.labellings if self.labellings < MOST_EXACT else _many(self.labellings),
            "certain": [list(pair) for pair in self.certain],
            "largest": str(self.largest),
            "chances": [
                {"customer": pair[0], "product": pair[1], "probability": str(chance)} for pair, chance in self.chances.items()
            ],
        }

    def chart(self, path: str | None = None) -> Any:
        """A table of probabilities, customers down and products across."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        rows = [
            {"customer": pair[0], "product": pair[1], "chance": float(chance), "text": str(chance)}
            for pair, chance in self.chances.items()
            if pair[0] in _names(self.grouping.customers)[:DRAWN] and pair[1] in _names(self.grouping.items)[:DRAWN]
        ]
        kind = "A safe grouping" if self.grouping.safe else "An unsafe grouping"
        base = alt.Chart(alt.InlineData(values=rows), title=alt.TitleParams(f"{kind}: who bought what?", anchor="start")).encode(
            x=alt.X("product:N").axis(labelAngle=0, orient="top"), y=alt.Y("customer:N")
        )
        chance = alt.Color("chance:Q", title="probability").scale(domain=[0, 1], range=["#ffffff", COLOURS[2]]).legend(format="%")
        return save(
            (base.mark_rect(stroke="#cccccc").encode(color=chance) + base.mark_text().encode(text="text:N")).properties(
                width=240, height=240
            ),
            path,
        )


def _group_text(groups: Groups, shown: bool) -> str:
    return " ".join("{" + ", ".join(group) + "}" for group in groups) if shown else f"in {len(groups):,} groups"


def _many(labellings: int) -> str:
    """A number of labellings, or its power of ten.

    >>> _many(1234), _many(3**100)
    ('1,234', 'about 10^47')
    """
    return f"{labellings:,}" if labellings < MOST_EXACT else f"about 10^{int((labellings.bit_length() - 1) * log10(2))}"


def attack_grouping(grouping: Grouping, known: frozenset[Pair] = frozenset()) -> GroupingAttack:
    """Counts, over all labellings that agree with what is known, how often each customer bought each product.

    >>> attack_grouping(UNSAFE).certain[:4], attack_grouping(SAFE).largest
    ((('A', '1'), ('A', '2'), ('B', '1'), ('B', '2')), Fraction(1, 2))
    """
    touched = tuple(
        tuple(group for group in groups if any(pair[side] in group for pair in known))
        for side, groups in enumerate((grouping.customers, grouping.items))
    )
    if prod(factorial(len(group)) for groups in touched for group in groups) > MOST_LABELLINGS:
        raise InvalidInput(f"too many labellings to count: at most {MOST_LABELLINGS:,}; name fewer known associations")
    named, nodes = [set(_names(groups)) for groups in touched], (Counter[Pair](), Counter[Pair]())
    inside = [pair for pair in grouping.bought if pair[0] in named[0] and pair[1] in named[1]]
    both, fitting = Counter[Pair](), 0
    for ways in product(labellings(touched[0]), list(labellings(touched[1]))):
        bought = {(ways[0][customer], ways[1][item]) for customer, item in inside}
        if known <= bought:
            fitting += 1
            both.update(bought)
            for side, way in enumerate(ways):
                nodes[side].update(way.items())
    if not fitting:
        raise InvalidInput("no labelling fits what is known: every known association must be possible in the published graph")
    rest = prod(factorial(len(group)) for groups in (grouping.customers, grouping.items) for group in groups)
    others = rest // prod(factorial(len(group)) for groups in touched for group in groups)
    listed = _Listed(grouping, named, fitting, both, nodes)
    return GroupingAttack(grouping, known, fitting * others, listed.chances())


@dataclass(frozen=True, slots=True)
class _Listed:
    """The labellings of the touched groups that fit: how often each pair is associated, and each name at each node.

    In every other group each name is at each node equally often, whatever the touched ones are.
    """

    grouping: Grouping
    named: list[set[str]]
    fitting: int
    both: Counter[Pair]
    nodes: tuple[Counter[Pair], Counter[Pair]]

    def chances(self) -> dict[Pair, Fraction]:
        """The probability of every association."""
        customers, items = (_by_name(groups) for groups in (self.grouping.customers, self.grouping.items))
        edges = Counter((customers[one], items[two]) for one, two in self.grouping.bought)
        of_customer = Counter((one, items[two]) for one, two in self.grouping.bought)
        of_item = Counter((two, customers[one]) for one, two in self.grouping.bought)
        chances_of_pairs = {}
        for one, two in product(sorted(customers), sorted(items)):
            first, second = customers[one], items[two]
            touched = one in self.named[0], two in self.named[1]
            if all(touched):
                chances_of_pairs[one, two] = Fraction(self.both[one, two], self.fitting)
            elif any(touched):
                side, name, degrees, group, other = (
                    (0, one, of_customer, first, second) if touched[0] else (1, two, of_item, second, first)
                )
                total = sum(self.nodes[side][node, name] * degrees[node, other] for node in group)
                chances_of_pairs[one, two] = Fraction(total, self.fitting * len(other))
            else:
                chances_of_pairs[one, two] = Fraction(edges[first, second], len(first) * len(second))
        return chances_of_pairs


def _by_name(groups: Groups) -> dict[str, tuple[str, ...]]:
    return {name: group for group in groups for name in group}


def read_grouping(path: str | Path) -> Grouping:
    """The grouping that `tacit anonymize graph --method bipartite` published; a node gets any name of its group.

    Which one does not matter: all ways to give the names of a group to its nodes are counted.
    """
    file = Path(path)
    told = read_published(file, "grouped bipartite graph")
    try:
        sides = [
            [(group["nodes"], [str(label) for label in group["labels"]]) for group in told[side]] for side in ("left", "right")
        ]
        left, right = ({node: label for nodes, labels in side for node, label in zip(nodes, labels, strict=True)} for side in sides)
        bought = frozenset((left[one], right[two]) for one, two in told["edges"])
    except (KeyError, TypeError, ValueError):
        raise InvalidInput(f"{file.name} is not a published grouping; expected JSON with left, right and edges") from None
    return Grouping(bought, *(tuple(tuple(labels) for _, labels in side) for side in sides))


def read_published(file: Path, kind: str) -> dict[str, Any]:
    """A published JSON file, also compressed; one whose receipt says another kind is refused."""
    contents: list[Any] = []
    for place in (receipt_beside(file), existing(file)):
        if not place.is_file():
            continue
        text = b""
        for block in line_blocks(place):
            text += block
            if len(text) > LARGEST:
                raise InvalidInput(
                    f"{place.name} is too large for this attack: at most {LARGEST:,} bytes; attack a part of the graph"
                )
        try:
            contents.append(json.loads(text))
        except (JSONDecodeError, UnicodeDecodeError, RecursionError):
            raise InvalidInput(f"{place.name} cannot be read; expected JSON, as tacit anonymize graph writes it") from None
    if not all(isinstance(each, dict) for each in contents) or (len(contents) > 1 and contents[0].get("kind") != kind):
        raise InvalidInput(f"{file.name} is not a {kind}, as its receipt says; attack a file of --method bipartite")
    content: dict[str, Any] = contents[-1]
    return content


def _names(groups: Groups) -> list[str]:
    return sorted(name for group in groups for name in group)
