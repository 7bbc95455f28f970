"""Edges are added until every person is in a class of at least k (after Zhou and Pei 2008).

In each round the class with the largest neighbourhoods among those with fewer than k members is the seed. Either it grows into a
class that is large enough, or its members and the people with the most similar neighbourhoods grow into one that contains all of
theirs, whichever adds fewer edges. New edges change other neighbourhoods too; classes that fall below k are open again.

The run ends: every round adds at least one edge, and edges only grow. In the complete graph all people with the same label are
alike, and every label has at least k people.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

from tacit.errors import LawViolated
from tacit.publish.graphs.neighbourhoods.classes import Classes, Key
from tacit.publish.graphs.neighbourhoods.filling import Filling
from tacit.publish.graphs.neighbourhoods.target import Target, target_of

SORTED = 8  # times that a round looks at all classes
WINDOW = 32  # classes of similar size whose cost is computed


@dataclass(slots=True)
class _Group:
    """People who are to look alike: their target, the people, and the edges around them now."""

    target: Target
    people: list[int]
    now: int

    def cost(self, edges: int) -> int:
        """The edges to add if each of them comes to have `edges` edges."""
        return edges * len(self.people) - self.now


class Growth:
    """One run: the classes, the people to protect, and the rounds so far."""

    def __init__(self, classes: Classes, k: int, only: Collection[int] | None = None) -> None:
        self.k, self.classes, self.rounds = k, classes, 0
        self.people = None if only is None else frozenset(only)
        self.open: set[Key] = set()
        self._reopen(set(self.classes.alike))

    def people_waiting(self) -> list[int]:
        """The people to protect who are in open classes, or whose neighbourhood is too large to have a code."""
        return sorted(
            person for key in self.open for person in self.classes.alike[key] if self.people is None or person in self.people
        )

    def largest(self) -> Key | None:
        """The open class with the largest neighbourhoods; None if no class is open."""
        return max(self.open, key=lambda key: (self.classes.size(key), key), default=None)

    def round(self, seed: Key) -> None:
        """Settle the class `seed`, as far as ripples allow; at least one edge is added."""
        before, self.rounds = len(self.classes.added), self.rounds + 1
        self.classes.count_work(SORTED * len(self.classes.alike))
        group = self._group(seed)
        Filling(self.classes, self.k, group.people).run(group.target)
        if len(self.classes.added) == before:
            self.classes.add(*self._any_edge(group.people))
        self._reopen(self.classes.renew())

    def _reopen(self, keys: set[Key]) -> None:
        """Look again at these classes: open are those with fewer than k members of whom one is to be protected."""
        self.open -= keys
        for key in keys:
            members = self.classes.alike.get(key, set())
            if 0 < len(members) < self.k and (self.people is None or not self.people.isdisjoint(members)):
                self.open.add(key)

    def _near(self, seed: Key, keys: Collection[Key]) -> list[Key]:
        """Classes of people with the same label, the most similar sizes first."""
        people, edges = self.classes.size(seed)
        near = [(self.classes.size(key), key) for key in keys if key[0] == seed[0] and key != seed]
        return [key for _, key in sorted(near, key=lambda each: (2 * abs(each[0][0] - people) + abs(each[0][1] - edges), each[1]))]

    def _group(self, seed: Key) -> _Group:
        """The people who are to look alike, and their target: the cheaper of joining a class that is large enough and making
        one.
        """
        alike, kinds = self.classes.alike, self.classes.kinds
        made = self._new_group(seed)
        least = made.cost(made.target.edges(kinds))
        for key in self._near(seed, [key for key in alike if len(alike[key]) >= self.k])[:WINDOW]:
            joint, edges = target_of(kinds, key).join(kinds, seed), sum(self.classes.size(key))
            joins = _Group(joint, sorted(alike[seed]), sum(self.classes.size(seed)) * len(alike[seed]))
            if joint.edges(kinds) == edges and joins.cost(edges) < least:
                made, least = joins, joins.cost(edges)
        return made

    def _new_group(self, seed: Key) -> _Group:
        """A group of k around the seed: open classes, and members of large ones that can spare them."""
        alike, kinds = self.classes.alike, self.classes.kinds
        group = _Group(target_of(kinds, seed), sorted(alike[seed]), sum(self.classes.size(seed)) * len(alike[seed]))
        spare = [key for key in alike if len(alike[key]) > self.k]
        waiting = self._near(seed, self.open)[:WINDOW] + self._near(seed, spare)[:WINDOW]
        used = {seed}
        while len(group.people) < self.k:
            waiting = waiting or self._near(seed, [key for key in alike if key not in used])[:WINDOW]
            if not waiting:
                break
            key, target = self._cheapest(group, waiting)
            waiting.remove(key)
            used.add(key)
            taken = self._members_to_take(key, self.k - len(group.people))
            group = _Group(target, group.people + taken, group.now + sum(self.classes.size(key)) * len(taken))
        return group

    def _cheapest(self, group: _Group, waiting: list[Key]) -> tuple[Key, Target]:
        """The class whose members cost least, for each person that they bring, and the target with them."""
        kinds, wanted = self.classes.kinds, self.k - len(group.people)
        prices = list[tuple[float, int, Target]]()
        for index, key in enumerate(waiting):
            target, brought = group.target.join(kinds, key), min(len(self.classes.alike[key]), wanted)
            edges = target.edges(kinds)
            prices.append(((group.cost(edges) + (edges - sum(self.classes.size(key))) * brought) / brought, index, target))
        _, index, target = min(prices, key=lambda each: each[:2])
        return waiting[index], target

    def _members_to_take(self, key: Key, wanted: int) -> list[int]:
        """The members of a class who come along: as many as are wanted and it can spare; all of a class that has none to spare."""
        members = sorted(self.classes.alike[key])
        spare = len(members) - self.k
        return members[: min(wanted, spare)] if spare > 0 else members

    def _any_edge(self, members: list[int]) -> tuple[int, int]:
        """Some missing edge, of a member if there is one. There is one while classes are open."""
        rows, people = self.classes.rows, range(len(self.classes.rows))
        near = ((one, two) for one in members for two in people if two != one and two not in rows[one])
        far = ((one, two) for one, two in combinations(people, 2) if two not in rows[one])
        missing = next(near, None) or next(far, None)
        if missing is None:
            raise LawViolated("the growth of a graph", "people differ in the complete graph; this is a defect to report")
        return missing
