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
from tacit.publish.tables.models.alpha_k import AlphaK
from tacit.publish.tables.models.closeness import Closeness
from tacit.publish.tables.models.delta_disclosure import DeltaDisclosure
from tacit.publish.tables.models.distinct import DistinctDiversity
from tacit.publish.tables.models.entropy import EntropyDiversity
from tacit.publish.tables.models.frequency import FrequencyDiversity
from tacit.publish.tables.models.k_anonymity import KAnonymity
from tacit.publish.tables.models.named import strictest
from tacit.publish.tables.models.personalized import PersonalizedPrivacy
from tacit.publish.tables.models.recursive import RecursiveDiversity
from tacit.publish.tables.models.rows import rows_of
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.ranges import dates, intervals, prefixes
from tacit.publish.tables.risk import journalist, prosecutor
from tacit.publish.tables.sampling import sample_risk
from tacit.publish.tables.table import Table

__all__ = [
    "AlphaK",
    "Closeness",
    "DeltaDisclosure",
    "DistinctDiversity",
    "EntropyDiversity",
    "FrequencyDiversity",
    "Hierarchy",
    "KAnonymity",
    "PersonalizedPrivacy",
    "RecursiveDiversity",
    "Table",
    "Tree",
    "dates",
    "intervals",
    "journalist",
    "prefixes",
    "prosecutor",
    "rows_of",
    "sample_risk",
    "strictest",
]


def __dir__() -> list[str]:
    return __all__
