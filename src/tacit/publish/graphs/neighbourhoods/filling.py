"""Neighbourhoods grown into a target, with as little change elsewhere as possible.

A new edge between two contacts changes every common contact of both as well. So a component is laid out on contacts of few
contacts, who know none of the others and share no contact but the person; failing that, on strangers who share no contact at all.
Strangers who become contacts are taken from classes that stay large enough without them, if they come to one that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from tacit.publish.graphs.neighbourhoods.classes import Classes, Key
from tacit.publish.graphs.neighbourhoods.target import Target

SCAN = 40  # classes, and members of each, that are looked at together for a place
LAST = 400  # people of low degree who are looked at when no class has anybody


class Filling:
    """A round: the people who are to look alike, and the people who have a place in one of their neighbourhoods."""

    def __init__(self, classes: Classes, k: int, members: list[int]) -> None:
        self.classes, self.k, self.members = classes, k, members
        self._taken = set(members)  # one place per person and round
        self._moved: Counter[Key] = Counter()  # people who came to a class in this round, less those who left it
        self._after: dict[tuple[Key, int], Key] = {}
        self._small_first = sorted(classes.alike, key=lambda key: (classes.size(key), key))

    def run(self, target: Target) -> None:
        """Add the edges that give all members the components of the target, and then equally many contacts of every label."""
        for person in self.members:
            self._components(person, target)
        labels = self.classes.labels
        people = [Counter(labels[name] for name in self.classes.rows[person]) for person in self.members]
        wanted = {label: max(target.people.get(label, 0), *(held[label] for held in people)) for label in set(labels)}
        for person, held in zip(self.members, people, strict=True):
            for label, count in sorted(wanted.items()):
                for _ in range(count - held[label]):
                    stranger = self._stranger(person, label, set())
                    if stranger is not None:
                        self.classes.add(person, stranger)

    def _components(self, person: int, target: Target) -> None:
        """Lay out the components that a person lacks. Hosts have at most half as many contacts, so that no large class breaks."""
        classes, forms, most = self.classes, self.classes.kinds.forms, sum(target.people.values()) // 2
        alone = (nodes[0] for nodes in classes.components(person) if len(nodes) == 1)
        hosts = sorted((len(classes.rows[name]), name) for name in alone if len(classes.rows[name]) <= most)
        free = [name for _, name in hosts if name not in self._taken]
        for kind in sorted(target.missing_components(classes.key(person)), key=lambda kind: (-forms[kind].size, kind)):
            self._lay_out(person, kind, free)

    def _lay_out(self, person: int, kind: int, free: list[int]) -> None:
        """Lay a component out along its edges, from a node of highest degree; gives up if no person is left for a place."""
        classes, form = self.classes, self.classes.kinds.forms[kind]
        near: list[set[int]] = [set() for _ in form.labels]
        for low, high in form.edges:
            near[low].add(high)
            near[high].add(low)
        placed: dict[int, int] = {}
        for place in _along(near):
            due = {placed[other] for other in near[place] if other in placed}
            host = self._host(form.labels[place], due, {person, *placed.values()}, free)
            if host is None:
                host = self._stranger(person, form.labels[place], due)
            if host is None:
                return
            placed[place] = host
            self._taken.add(host)
            classes.add(person, host)
            for other in due:
                classes.add(host, other)

    def _host(self, label: int, due: set[int], allowed: set[int], free: list[int]) -> int | None:
        """A contact who knows none of the others, for a place next to `due`."""
        rows = self.classes.rows
        for index, name in enumerate(free):
            if self.classes.labels[name] == label and all(rows[name] & rows[other] <= allowed for other in due):
                return free.pop(index)
        return None

    def _stranger(self, person: int, label: int, due: set[int]) -> int | None:
        """A new contact for a place next to `due`, without common contacts and at the least cost for others."""
        rows = self.classes.rows
        self.classes.count_work(len(self._small_first))
        for key in self._classes_in_order(person, label):
            for name in islice(self.classes.alike[key], SCAN):
                if name in self._taken or name in rows[person] or not rows[name].isdisjoint(rows[person]):
                    continue
                if all(rows[name].isdisjoint(rows[other]) for other in due):
                    self._moved[key] -= 1
                    self._moved[self._with_one_more(key, person)] += 1
                    self._taken.add(name)
                    return name
        return self._any(person, label, due)

    def _any(self, person: int, label: int, due: set[int]) -> int | None:
        """A person of low degree with few common contacts; None if all people with the label are contacts."""
        rows = self.classes.rows
        strangers = (
            name
            for key in self._small_first
            if key[0] == label
            for name in sorted(self.classes.alike[key])
            if name != person and name not in rows[person]
        )
        best, least = None, 0
        for name in islice(strangers, LAST):
            common = len(rows[name] & rows[person] - due) + sum(len(rows[name] & rows[other]) for other in due)
            ripples = 2 * common + (name in self._taken)
            if best is None or ripples < least:
                best, least = name, ripples
        return best

    def _classes_in_order(self, person: int, label: int) -> Iterator[Key]:
        """Classes of a label, the small neighbourhoods first; in each batch by how many people would be open."""
        ordered = [key for key in self._small_first if key[0] == label]
        for begin in range(0, len(ordered), SCAN):
            yield from sorted(ordered[begin : begin + SCAN], key=lambda key: self._newly_open(key, person))

    def _newly_open(self, key: Key, person: int) -> int:
        """How many more people are in classes of fewer than k when a member of this class becomes a contact of the person."""
        alike, after = self.classes.alike, self._with_one_more(key, person)
        here, there = (len(alike.get(each, ())) + self._moved[each] for each in (key, after))
        leaving = self.k - 1 if here == self.k else -1 if here < self.k else 0
        coming = -there if there == self.k - 1 else 1 if there < self.k - 1 else 0
        return leaving + coming

    def _with_one_more(self, key: Key, person: int) -> Key:
        """The class of a member who gets this person as a contact, who knows none of the others."""
        alone = self.classes.kinds.alone(self.classes.labels[person])
        if (key, alone) not in self._after:
            parts = dict(key[1])
            parts[alone] = parts.get(alone, 0) + 1
            self._after[key, alone] = key[0], tuple(sorted(parts.items()))
        return self._after[key, alone]


def _along(near: list[set[int]]) -> list[int]:
    """Nodes in breadth-first order from one of highest degree."""
    order = [max(range(len(near)), key=lambda node: (len(near[node]), -node))]
    seen = set(order)
    for node in order:
        fresh = sorted(near[node] - seen)
        order += fresh
        seen.update(fresh)
    return order
