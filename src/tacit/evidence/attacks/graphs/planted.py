"""The planted attack from beginning to end: plan, plant, publish, find the accounts again, read the targets and their edges.

Register a few accounts before the graph is published, link them among themselves at random and to the people of interest, and
look for them afterwards (Backstrom, Dwork and Kleinberg, "Wherefore art thou R3579X?", 2007). The proof asks for (2 + delta) log2 N
accounts; ten do in practice, also among millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from math import comb
from typing import Any

import numpy as np

from tacit.evidence.attacks.graphs.drawing import drawing, on_circle
from tacit.evidence.attacks.graphs.planting import (
    DEGREES,
    FEWEST,
    SUBSET_SIZES,
    Plan,
    Published,
    plant,
    proved_accounts,
    relabel,
    simple_plan,
    walk_plan,
)
from tacit.evidence.attacks.graphs.recovery import EXACT, Tolerance, edges_between, read_targets, recover, warm_up
from tacit.publish.graphs.graph import Graph, Integers

Change = Callable[[Graph], Graph]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of the graph before the attack, and of the attack."""

    nodes: int
    edges: int
    accounts: int
    targets: int


@dataclass(frozen=True, slots=True)
class PlantedAttack:
    """The result of one attack, and how much of it is right. The attacker knows `unique`; only the publisher could check the
    rest.
    """

    sizes: Sizes
    matches: int
    unique: bool
    ended: bool
    tree: int
    seconds: float
    processor: float
    right: bool = False
    read: int = 0
    misread: int = 0
    linked: int = 0
    mislinked: int = 0
    drawn: tuple[tuple[str, str, str], ...] = ()

    @property
    def pairs(self) -> int:
        """The pairs of targets whose link, or absence of one, the attacker now knows."""
        return comb(self.read + self.misread, 2)

    @property
    def succeeded(self) -> bool:
        """Whether the accounts were found, and no target or edge was read wrongly."""
        return self.unique and self.right and self.read == self.sizes.targets and not self.misread and not self.mislinked

    def summary(self) -> str:
        """The result in sentences."""
        size = self.sizes
        planted = (
            f"{size.accounts} accounts planted in a graph of {size.nodes:,} people and {size.edges:,} edges, aimed at "
            f"{size.targets} targets (the proof requires more than {proved_accounts(size.nodes)} accounts, (2 + d) log2 N)."
        )
        effort = f"{self.tree:,} tree nodes, {self.processor:.4f} s"
        if not self.ended:
            return f"{planted}\nRecovery: stopped at the limit of the search; {effort}."
        if self.matches == 0:
            return f"{planted}\nRecovery: no match; {effort}. The published graph no longer contains the pattern."
        if not self.unique:
            return f"{planted}\nRecovery: at least {self.matches} matches, so the attacker cannot tell which is theirs; {effort}."
        read = f"Targets read: {self.read} of {self.sizes.targets}" + (f", and {self.misread} wrongly" if self.misread else "")
        wrong = f", {self.mislinked} of these answers wrong" if self.mislinked else ""
        return (
            f"{planted}\nRecovery: one match{'' if self.right else ', a wrong one'}; {effort}.\n"
            f"{read}. Pairs of targets decided: {self.pairs:,}; {self.linked:,} of them are linked{wrong}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        told = {name: value for name, value in asdict(self).items() if name not in ("drawn", "sizes")}
        return (
            asdict(self.sizes)
            | told
            | {"pairs": self.pairs, "succeeded": self.succeeded, "proved_accounts": proved_accounts(self.sizes.nodes)}
        )

    def chart(self, path: str | None = None) -> Any:
        """A drawing of the accounts and of the targets that were read, as found in the published graph."""
        from tacit.chart import save

        names = dict.fromkeys(name for one, two, _ in self.drawn for name in (one, two))
        accounts, targets = ([name for name in names if name.startswith(kind)] for kind in ("x", "w"))
        kinds = {name: "account" if name.startswith("x") else "target" for name in names}
        places = on_circle(sorted(targets, key=_number), 2.2) | on_circle(sorted(accounts, key=_number), 0.8)
        return save(drawing(places, kinds, self.drawn, "What the attacker reads from the published graph"), path)


def _number(name: str) -> int:
    return int(name[1:])


def aims(graph: Graph, many: int, seed: int = 0) -> Integers:
    """People to aim at: as far as possible a person and one of their contacts, so that some targets are linked.

    >>> aims(Graph.of_edges([0, 1, 2], [1, 2, 3], nodes=4), 4, seed=1).tolist() != []
    True
    """
    rng, chosen = np.random.default_rng([seed, 5]), dict[int, None]()
    for person in rng.permutation(graph.nodes)[: 4 * many].tolist():
        chosen[person] = None
        row = graph.neighbours(person)
        if len(row):
            chosen[int(rng.choice(row))] = None
        if len(chosen) >= many:
            break
    return np.array(list(chosen)[:many], dtype=np.int64)


def attack(graph: Graph, plan: Plan, seed: int = 0, tolerance: Tolerance = EXACT, change: Change | None = None) -> PlantedAttack:
    """Plants the accounts, publishes the graph under random labels, changed by `change` before, and looks for them."""
    planted = plant(graph, plan)
    published = relabel(planted if change is None else change(planted), seed)
    del planted
    return recover_planted(graph, plan, published, tolerance)


def recover_planted(graph: Graph, plan: Plan, published: Published, tolerance: Tolerance = EXACT) -> PlantedAttack:
    """The attacker's reading of the published graph; the graph before and the labels only tell how much of it is right."""
    warm_up()
    recovery = recover(published.graph, plan.internal, plan.degrees, tolerance)
    sizes = Sizes(graph.nodes, graph.edges, plan.accounts, len(plan.targets))
    counts = PlantedAttack(
        sizes, len(recovery.matches), recovery.unique, recovery.ended, recovery.tree, recovery.seconds, recovery.processor
    )
    if not recovery.unique:
        return counts
    accounts = recovery.matches[0]
    nodes = read_targets(published.graph, plan, accounts, tolerance)
    truth = published.label_of[plan.targets].tolist()
    read = sum(node == there for node, there in zip(nodes, truth, strict=True))
    edges_read = edges_between(published.graph, nodes)
    there = {place for place, node in enumerate(nodes) if node is not None}
    real = edges_between(graph, tuple(target if place in there else None for place, target in enumerate(plan.targets.tolist())))
    return replace(
        counts,
        right=bool((accounts == published.label_of[graph.nodes :]).all()),
        read=read,
        misread=len(there) - read,
        linked=len(edges_read),
        mislinked=len(edges_read ^ real),
        drawn=_edges_to_draw(published.graph, plan, nodes, accounts),
    )


def _edges_to_draw(graph: Graph, plan: Plan, nodes: tuple[int | None, ...], accounts: Integers) -> tuple[tuple[str, str, str], ...]:
    """The edges of a drawing: between accounts, from accounts to targets, and between targets."""
    inside = edges_between(graph, tuple(accounts.tolist()))
    return (
        *(
            (f"x{account + 1}", f"w{place + 1}", "planted")
            for place, subset in enumerate(plan.subsets)
            if nodes[place] is not None
            for account in subset
        ),
        *((f"w{one + 1}", f"w{two + 1}", "disclosed") for one, two in sorted(edges_between(graph, nodes))),
        *((f"x{one + 1}", f"x{two + 1}", "pattern") for one, two in sorted(inside)),
    )


# --- how often the planted attack succeeds, by the number of accounts --------------------------------------------------------


FEW = (2, 4)  # links of an account to people: as many as most people have
FORMS = {"simple": (1, 1), f"walk, {FEW[0]} to {FEW[1]} links": FEW, f"walk, {DEGREES[0]} to {DEGREES[1]} links": DEGREES}
SIMPLE_FEWEST = 7  # accounts: smaller patterns that match themselves in one way only are rare
ACCOUNTS = tuple(range(FEWEST, 12))


@dataclass(frozen=True, slots=True)
class Point:
    """Trials with one form of the attack and one number of accounts."""

    form: str
    accounts: int
    trials: int
    found: int
    read: float
    tree: float


@dataclass(frozen=True, slots=True)
class SuccessCurve:
    """One attack, and the share of trials in which the accounts were found without doubt, by their number."""

    attack: PlantedAttack
    points: tuple[Point, ...]

    def summary(self) -> str:
        """The attack in sentences, then a line for each form."""
        lines = [f"{form}: {', '.join(self._shares_text(form))}" for form in FORMS if self._shares_text(form)]
        trials = self.points[0].trials if self.points else 0
        head = f"Found without doubt, in percent of {trials} trials, by the number of accounts:"
        return "\n".join([self.attack.summary(), head, *lines])

    def _shares_text(self, form: str) -> list[str]:
        return [f"{point.accounts}: {point.found / point.trials:.0%}" for point in self.points if point.form == form]

    def to_dict(self) -> dict[str, Any]:
        """The attack and the points as plain values."""
        return self.attack.to_dict() | {"curve": [asdict(point) for point in self.points]}

    def chart(self, path: str | None = None) -> Any:
        """A line for each form."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        rows = [{"form": point.form, "accounts": point.accounts, "share": point.found / point.trials} for point in self.points]
        title = alt.TitleParams(
            "A few accounts find themselves in the published graph",
            subtitle=f"{self.attack.sizes.nodes:,} people, {self.attack.sizes.edges:,} edges; {self.points[0].trials} trials each",
            anchor="start",
        )
        form = alt.Color("form:N", title=None, sort=list(FORMS)).scale(domain=list(FORMS), range=[COLOURS[5], *COLOURS[1:3]])
        chart = alt.Chart(alt.InlineData(values=rows), title=title).mark_line(point=True, strokeWidth=2)
        share = alt.Y("share:Q", title="found without doubt").axis(format="%").scale(domain=[0, 1])
        accounts = alt.X("accounts:Q", title="accounts planted").axis(tickMinStep=1, format="d", grid=False).scale(zero=False)
        return save(chart.encode(x=accounts, y=share, color=form).properties(width=480, height=260), path)


def points_of(
    graph: Graph, trials: int, seed: int = 0, tolerance: Tolerance = EXACT, change: Change | None = None
) -> Iterator[Point]:
    """The points of the curve, one after the other; each trial has other accounts, targets and labels."""
    for accounts in ACCOUNTS:
        for form in FORMS:
            if form != "simple" or accounts >= SIMPLE_FEWEST:
                yield _point(graph, form, accounts, [seed * 1000 + trial for trial in range(trials)], (tolerance, change))


def points(accounts: tuple[int, ...] = ACCOUNTS) -> int:
    """The number of points that `points_of` yields."""
    return sum(form != "simple" or each >= SIMPLE_FEWEST for each in accounts for form in FORMS)


def _point(graph: Graph, form: str, accounts: int, seeds: list[int], terms: tuple[Tolerance, Change | None]) -> Point:
    attacks = [attack(graph, _plan(graph, form, accounts, seed), seed, *terms) for seed in seeds]
    sure = [each for each in attacks if each.unique and each.right]
    read = float(np.mean([each.read / each.sizes.targets for each in attacks]))
    return Point(form, accounts, len(seeds), len(sure), read, float(np.mean([each.tree for each in attacks])))


def _plan(graph: Graph, form: str, accounts: int, seed: int) -> Plan:
    """A plan with as many targets as fit easily: a target takes two or three of the links that an account has."""
    if form == "simple":
        return simple_plan(graph.nodes, aims(graph, accounts, seed), seed)
    low, high = FORMS[form]
    targets = max(1, min(accounts * low // 4, sum(comb(accounts, size) for size in SUBSET_SIZES) // 4))
    return walk_plan(graph.nodes, accounts, aims(graph, targets, seed), seed, (low, high))
