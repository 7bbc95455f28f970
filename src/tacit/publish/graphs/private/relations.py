"""The unit that a release about a graph protects: one edge, or one person with all edges. Their epsilons cannot be compared.

One edge: neighbours are two graphs on the same people, whose number is public. A person with d edges is protected at d epsilon.
One node: a person with any number of edges is there or not; the number of people is private.
"""

from __future__ import annotations

from tacit.errors import InvalidInput
from tacit.privacy.loss import Neighbours

EDGE = Neighbours("add-remove", "edge")
NODE = Neighbours("add-remove", "node")
RELATIONS = {"edge": EDGE, "node": NODE}
MOST_NODES = 2**31 - 1


def relation_named(name: str) -> Neighbours:
    """The relation of a name.

    >>> print(relation_named("edge"))
    add or remove one edge
    """
    if name not in RELATIONS:
        raise InvalidInput("unknown relation: expected edge or node; give for example --relation edge")
    return RELATIONS[name]


def public_nodes(nodes: int) -> int:
    """A public number of people, which the data owner states: the number of names in a file depends on its edges."""
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= MOST_NODES:
        raise InvalidInput(
            f"the public number of people must be a whole number from 1 to {MOST_NODES:,}; give for example --nodes 1000"
        )
    return nodes
