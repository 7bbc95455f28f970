"""What anyone reads from a (k,l)-grouping: the edges of a bipartite graph are published, names only as groups of nodes.

Customers and products are put into groups of at least k and l; who of a group is which node is not published. If two customers of
a group share a product, edges pile up between two groups, and in the worst case every customer of one must have bought every
product of the other. A grouping is *safe* if no two nodes of one group share a neighbour: then no association is more likely than
1 / max(k, l) (Cormode, Srivastava, Yu and Zhang 2008). Here every labelling that fits is counted, so the probabilities are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod
from typing import Any

from tacit.errors import InvalidInput

MOST_LABELLINGS = 100_000
Pair = tuple[str, str]
Groups = tuple[tuple[str, ...], ...]
BOUGHT: frozenset[Pair] = frozenset(
    (customer, item) for customers, items in (("AB", "12"), ("CD", "34")) for customer in customers for item in items
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Who bought what, and the groups under which it is published: the node of a name is known up to its group."""

    bought: frozenset[Pair]
    customers: Groups
    items: Groups

    def __post_init__(self) -> None:
        for side, groups in enumerate((self.customers, self.items)):
            names = Counter(name for group in groups for name in group)
            if max(names.values(), default=0) > 1 or not {pair[side] for pair in self.bought} <= set(names):
                raise InvalidInput("invalid grouping: every customer and every product must be in one group")
        if prod(factorial(len(group)) for group in (*self.customers, *self.items)) > MOST_LABELLINGS:
            raise InvalidInput(f"too many labellings to count: at most {MOST_LABELLINGS:,}; use smaller groups or fewer of them")

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
        groups = f"customers {_told(self.grouping.customers)}, products {_told(self.grouping.items)}"
        kind = "safe" if self.grouping.safe else "unsafe: two members of a group share a neighbour"
        sure = ", ".join(f"{customer} bought {item}" for customer, item in self.certain) or "none"
        return (
            f"Published: every purchase, and names as groups: {groups} ({kind}).\n"
            f"Labellings that fit: {self.labellings:,}. Certain associations: {sure}. Largest probability: {self.largest}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values; probabilities are exact texts."""
        return {
            "safe": self.grouping.safe,
            "labellings": self.labellings,
            "certain": [list(pair) for pair in self.certain],
            "largest": str(self.largest),
            "chances": [
                {"customer": pair[0], "product": pair[1], "probability": str(chance)} for pair, chance in self.chances.items()
            ],
        }

    def chart(self, path: str | None = None) -> Any:
        """A table of probabilities, customers down and products across."""
        import altair as alt

        from tacit.chart import COLOURS, save

        rows = [
            {"customer": pair[0], "product": pair[1], "chance": float(chance), "text": str(chance)}
            for pair, chance in self.chances.items()
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


def _told(groups: Groups) -> str:
    return " ".join("{" + ", ".join(group) + "}" for group in groups)


def attack_grouping(grouping: Grouping, known: frozenset[Pair] = frozenset()) -> GroupingAttack:
    """Counts, over all labellings that agree with what is known, how often each customer bought each product.

    >>> attack_grouping(UNSAFE).certain[:4], attack_grouping(SAFE).largest
    ((('A', '1'), ('A', '2'), ('B', '1'), ('B', '2')), Fraction(1, 2))
    """
    counts, fitting = Counter[Pair](), 0
    for left, right in product(labellings(grouping.customers), list(labellings(grouping.items))):
        bought = {(left[customer], right[item]) for customer, item in grouping.bought}
        if known <= bought:
            fitting += 1
            counts.update(bought)
    if not fitting:
        raise InvalidInput("no labelling fits what is known: every known association must be possible in the published graph")
    names = [(customer, item) for customer in _names(grouping.customers) for item in _names(grouping.items)]
    return GroupingAttack(grouping, known, fitting, {pair: Fraction(counts[pair], fitting) for pair in names})


def _names(groups: Groups) -> list[str]:
    return sorted(name for group in groups for name in group)
