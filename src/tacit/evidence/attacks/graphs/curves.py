"""How often the planted attack succeeds, by the number of accounts: in its simple form, and walk-based with few and many links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np

from tacit.evidence.attacks.graphs.pattern import DEGREES, FEWEST, SUBSET_SIZES, Plan, simple_plan, walk_plan
from tacit.evidence.attacks.graphs.planted import Change, PlantedAttack, aims, attack
from tacit.evidence.attacks.graphs.recovery import EXACT, Tolerance
from tacit.publish.graphs.graph import Graph

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
        lines = [f"{form}: {', '.join(self._told(form))}" for form in FORMS if self._told(form)]
        trials = self.points[0].trials if self.points else 0
        head = f"Found without doubt, in percent of {trials} trials, by the number of accounts:"
        return "\n".join([self.attack.summary(), head, *lines])

    def _told(self, form: str) -> list[str]:
        return [f"{point.accounts}: {point.found / point.trials:.0%}" for point in self.points if point.form == form]

    def to_dict(self) -> dict[str, Any]:
        """The attack and the points as plain values."""
        return self.attack.to_dict() | {"curve": [asdict(point) for point in self.points]}

    def chart(self, path: str | None = None) -> Any:
        """A line for each form."""
        import altair as alt

        from tacit.chart import COLOURS, save

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
    found = [attack(graph, _plan(graph, form, accounts, seed), seed, *terms) for seed in seeds]
    sure = [each for each in found if each.unique and each.right]
    read = float(np.mean([each.read / each.sizes.targets for each in found]))
    return Point(form, accounts, len(seeds), len(sure), read, float(np.mean([each.tree for each in found])))


def _plan(graph: Graph, form: str, accounts: int, seed: int) -> Plan:
    """A plan with as many targets as fit easily: a target takes two or three of the links that an account has."""
    if form == "simple":
        return simple_plan(graph.nodes, aims(graph, accounts, seed), seed)
    low, high = FORMS[form]
    targets = max(1, min(accounts * low // 4, sum(comb(accounts, size) for size in SUBSET_SIZES) // 4))
    return walk_plan(graph.nodes, accounts, aims(graph, targets, seed), seed, (low, high))
