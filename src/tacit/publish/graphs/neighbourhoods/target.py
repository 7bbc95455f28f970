"""One neighbourhood that several people's neighbourhoods grow into, so that they become isomorphic and only gain edges.

Every kind of component of two or more people occurs as often as in the member who has most of it. Nothing else in a neighbourhood
is touched: a missing component is laid out on contacts who know none of the others, or on new contacts. Contacts who know none of
the others then fill up, label by label, to the number of the largest member, or to what the components need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tacit.publish.graphs.neighbourhoods.classes import Key, Kinds

Tally: TypeAlias = dict[int, int]


@dataclass(frozen=True, slots=True)
class Target:
    """The kinds of components of two or more people with their numbers, and the number of people of each label."""

    core: Tally
    people: Tally

    def join(self, kinds: Kinds, key: Key) -> Target:
        """The least target that also contains the neighbourhoods of a class."""
        other = target_of(kinds, key)
        core, people = _most(self.core, other.core), _most(self.people, other.people)
        bound = dict[int, int]()
        for kind, count in core.items():
            for label, each in kinds.tallies[kind].items():
                bound[label] = bound.get(label, 0) + each * count
        return Target(core, _most(people, bound))

    def missing_components(self, key: Key) -> list[int]:
        """The components that the neighbourhoods of a class lack, each as often as it is lacking."""
        held = dict(key[1])
        return [kind for kind, count in self.core.items() for _ in range(count - held.get(kind, 0))]

    def edges(self, kinds: Kinds) -> int:
        """The edges of a person with such a neighbourhood, and those between the contacts. The missing ones are the cost."""
        return sum(self.people.values()) + sum(kinds.forms[kind].code[1] * count for kind, count in self.core.items())


def target_of(kinds: Kinds, key: Key) -> Target:
    """The neighbourhoods of a class as they are.

    >>> kinds = Kinds()
    >>> alone, pair = kinds.alone(0), kinds.of([{1}, {0}], (0, 0))
    >>> target_of(kinds, (0, ((alone, 3),))).join(kinds, (0, ((alone, 2), (pair, 1))))
    Target(core={1: 1}, people={0: 4})
    """
    people: Tally = {}
    for kind, count in key[1]:
        for label, each in kinds.tallies[kind].items():
            people[label] = people.get(label, 0) + each * count
    return Target({kind: count for kind, count in key[1] if kinds.forms[kind].size > 1}, people)


def _most(one: Tally, two: Tally) -> Tally:
    largest = dict(one)
    for each, count in two.items():
        largest[each] = max(largest.get(each, 0), count)
    return largest
