"""The passive attack: a few friends look for themselves in the published graph, without any planning.

One person asks some contacts to join. Together they know who of them are linked, how many contacts each has, and their names. That
is a pattern as the planted one, only not drawn at random, and the same search finds it (Backstrom, Dwork and Kleinberg 2007,
section 4). A person who alone is a contact of some set of members is then found too. In the semi-passive form the members
add a few links before the graph is published, so that chosen people get such a set of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.evidence.attacks.graphs.planting import relabel
from tacit.evidence.attacks.graphs.recovery import linked_subsets, recover, warm_up
from tacit.publish.graphs.graph import Graph, Integers

SIZES = (3, 8)  # members of a coalition
MOST_MEMBERS = 20
MOST_MATCHES = 1000  # looked at; interchangeable members have many, and their knowledge of outsiders distinguishes them
Subset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One coalition: whether it found itself without doubt, the outsiders it found, and the errors among them."""

    unique: bool
    found: int = 0
    wrong: int = 0
    targets: int = 0


@dataclass(frozen=True, slots=True)
class BySize:
    """Trials with coalitions of one size; the numbers of people found are means over all trials."""

    members: int
    trials: int
    unique: int
    found: float
    targets: float
    wrong: int


@dataclass(frozen=True, slots=True)
class Coalitions:
    """How often coalitions find themselves, by their size."""

    nodes: int
    edges: int
    aimed: int
    sizes: tuple[BySize, ...]

    def summary(self) -> str:
        """A line for each size."""
        lines = [f"{self.nodes:,} people, {self.edges:,} edges, no names. A person and some contacts look for themselves."]
        for each in self.sizes:
            aimed = f", {each.targets:.1f} of {self.aimed} chosen people among them" if self.aimed else ""
            lines.append(
                f"{each.members} members: {each.unique} of {each.trials} coalitions found themselves; "
                f"{each.found:.1f} outsiders identified on average{aimed}; {each.wrong} wrongly."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return asdict(self)

    def chart(self, path: str | None = None) -> Any:
        """The share of coalitions that found themselves, over the people whom they identify."""
        from tacit.chart import COLOURS, charting, save

        alt = charting()
        rows = [{"members": each.members, "share": each.unique / each.trials, "found": each.found} for each in self.sizes]
        title = alt.TitleParams("A few friends find themselves", subtitle=f"{self.nodes:,} people", anchor="start")
        data = alt.Chart(alt.InlineData(values=rows)).mark_bar(color=COLOURS[1]).properties(width=420, height=150)
        members = alt.X("members:O", title="members of the coalition").axis(labelAngle=0)
        share = data.encode(x=members, y=alt.Y("share:Q", title="found themselves").axis(format="%").scale(domain=[0, 1]))
        outsiders = data.mark_bar(color=COLOURS[2]).encode(x=members, y=alt.Y("found:Q", title="outsiders identified"))
        return save(alt.vconcat(share, outsiders).properties(title=title), path)


def gather(graph: Graph, members: int, rng: np.random.Generator) -> Integers:
    """A person and some of their contacts, drawn at random; the person comes first, and all others are linked to it."""
    able = np.flatnonzero(graph.degrees >= members - 1)
    if not len(able):
        raise InvalidInput(f"nobody has {members - 1} contacts in this graph; form smaller coalitions")
    person = int(rng.choice(able))
    return np.concatenate([[person], rng.choice(graph.neighbours(person), members - 1, replace=False)]).astype(np.int64)


def agrees(there: dict[int, Subset], expected: dict[int, Subset]) -> bool:
    """Whether as many nodes are linked to every set of members as people are known to be."""
    return Counter(there.values()) == Counter(expected.values())


def singled_out(subsets: dict[int, Subset]) -> dict[Subset, int]:
    """The people who alone are linked to some set of members, by that set."""
    often = Counter(subsets.values())
    return {subset: person for person, subset in subsets.items() if often[subset] == 1}


def with_targets(graph: Graph, members: Integers, many: int, rng: np.random.Generator) -> tuple[Graph, dict[int, Subset]]:
    """The graph with links from members to chosen strangers; each of them gets a set of members of their own."""
    from tacit.publish.graphs.rows import build

    linked = linked_subsets(graph, members)
    used = set(linked.values())
    free = [subset for size in (2, 3) for subset in combinations(range(len(members)), size) if subset not in used]
    strangers = np.setdiff1d(np.arange(graph.nodes), np.array([*linked, *members.tolist()]))
    many = min(many, len(free), len(strangers))
    people = rng.choice(strangers, many, replace=False).tolist() if many else []
    chosen = {person: free[place] for person, place in zip(people, rng.permutation(len(free)), strict=False)}
    added = np.array([(members[place], person) for person, subset in chosen.items() for place in subset], dtype=np.int64).reshape(
        -1, 2
    )
    left, right = graph.ends()
    return build(np.concatenate([left, added[:, 0]]), np.concatenate([right, added[:, 1]]), graph.nodes).graph, chosen


def attempt(graph: Graph, members: int, seed: int, targets: int = 0) -> Outcome:
    """One coalition looks for itself in the published graph, and for the people whom it singles out."""
    rng = np.random.default_rng([seed, members, 7])
    coalition = gather(graph, members, rng)
    chosen: dict[int, Subset] = {}
    if targets:
        graph, chosen = with_targets(graph, coalition, targets, rng)
    expected = linked_subsets(graph, coalition)
    published = relabel(graph, seed)
    internal = np.array([[graph.has_edge(one, two) for two in coalition.tolist()] for one in coalition.tolist()])
    search = recover(published.graph, internal, graph.degrees[coalition], keep=MOST_MATCHES)
    fitting = [match for match in search.matches if agrees(linked_subsets(published.graph, match), expected)]
    if not search.ended or len(search.matches) == MOST_MATCHES or len(fitting) != 1:
        return Outcome(unique=False)
    named, there = singled_out(expected), singled_out(linked_subsets(published.graph, fitting[0]))
    wrong = sum(there[subset] != int(published.label_of[person]) for subset, person in named.items())
    return Outcome(True, len(named), wrong, sum(person in chosen for person in named.values()))


def by_size(graph: Graph, sizes: tuple[int, int], trials: int, seed: int = 0, targets: int = 0) -> Iterator[BySize]:
    """Trials for every size of coalition, one size after the other."""
    low, high = sizes
    if not 2 <= low <= high <= MOST_MEMBERS:
        raise InvalidInput(f"invalid sizes {low}:{high}: expected 2 to {MOST_MEMBERS} members, the smaller number first")
    warm_up()
    for members in range(low, high + 1):
        outcomes = [attempt(graph, members, seed * 10_000 + trial, targets) for trial in range(trials)]
        means = (float(np.mean([each.found for each in outcomes])), float(np.mean([each.targets for each in outcomes])))
        unique, wrong = sum(each.unique for each in outcomes), sum(each.wrong for each in outcomes)
        yield BySize(members, trials, unique, *means, wrong)
