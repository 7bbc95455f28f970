"""Tables made anonymous the syntactic way: k-anonymity and its relatives. It is not differentially private, and its results say so.

`tacit anonymize` does the same on the command line.

>>> from tacit.tables import Hierarchy, Table, intervals
>>> people = Table.of({"age": [31, 34, 42, 47], "disease": ["flu", "gout", "flu", "flu"]})
>>> print(intervals("age", people["age"].values, [10, 20]))
*
├── 20-39
│   └── 30-39
│       ├── 31
│       └── 34
└── 40-59
    └── 40-49
        ├── 42
        └── 47
"""

from __future__ import annotations

from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.ranges import dates, intervals, prefixes
from tacit.publish.tables.table import Table

__all__ = ["Hierarchy", "Table", "dates", "intervals", "prefixes"]


def __dir__() -> list[str]:
    return __all__
