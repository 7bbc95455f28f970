"""Two small groupings of customers and products: one from which anyone reads who bought what, and one that is safe."""

from __future__ import annotations

import numpy as np

from tacit.publish.graphs.bipartite.publishing import Grouped, as_published
from tacit.publish.graphs.bipartite.two_sided import TwoSided


def unsafe_example() -> Grouped:
    """Customers A and B and products 1 and 2 share their groups, and both customers bought both: the four edges say so.

    >>> unsafe_example().likeliest
    Fraction(1, 1)
    """
    graph = TwoSided.of_labels([*"AABBCD"], [*"121234"])
    return as_published(graph, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))


def safe_example() -> Grouped:
    """The same purchases with A and C, B and D, 1 and 3, 2 and 4 together: no association is more likely than 1/2.

    >>> safe_example().likeliest
    Fraction(1, 2)
    """
    graph = TwoSided.of_labels([*"AABBCD"], [*"121234"])
    return as_published(graph, np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]))


EXAMPLES = {"unsafe": unsafe_example, "safe": safe_example}
