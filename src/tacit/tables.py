"""Tables made anonymous the syntactic way: k-anonymity and its relatives. It is not differentially private, and its results say so.

`tacit anonymize` does the same on the command line.

>>> from tacit.tables import Requirements, Table, anonymize, intervals
>>> people = Table.of({"age": [31, 34, 42, 47], "disease": ["flu", "gout", "flu", "flu"]})
>>> print(intervals("age", people["age"].values, [10]))
*
├── 30-39
│   ├── 31
│   └── 34
└── 40-49
    ├── 42
    └── 47
>>> made = anonymize(people, Requirements(("age",), ("disease",), k=2, made={"age": ("intervals", ([10], 0))}))
>>> print(made)
2 groups of 4 rows, 0 rows suppressed: k-anonymity, k = 2 (not differentially private)
"""

from __future__ import annotations

from tacit.publish.tables.adversary.beliefs import ClassI, ClassII, ClassIII, ClassIV, Prior
from tacit.publish.tables.adversary.numeric import Normal, Pareto, Poisson, range_beliefs
from tacit.publish.tables.adversary.report import group_report
from tacit.publish.tables.anonymized import Anonymized, anonymize
from tacit.publish.tables.blind import AtLeast, Blind
from tacit.publish.tables.cells.bounds import cell_bounds
from tacit.publish.tables.cells.counting import count_tables
from tacit.publish.tables.cells.released import released
from tacit.publish.tables.cells.suppression import suppress
from tacit.publish.tables.configuration import read_configuration
from tacit.publish.tables.consistent import Release, consistent
from tacit.publish.tables.hierarchy import Hierarchy, dates, intervals, prefixes
from tacit.publish.tables.models.closeness import Closeness, DeltaDisclosure
from tacit.publish.tables.models.diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity
from tacit.publish.tables.models.named import strictest
from tacit.publish.tables.models.personalized import PersonalizedPrivacy
from tacit.publish.tables.models.rows import rows_of
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.risk import journalist, prosecutor, sample_risk
from tacit.publish.tables.table import Table

__all__ = [
    "AlphaK",
    "Anonymized",
    "AtLeast",
    "Blind",
    "ClassI",
    "ClassII",
    "ClassIII",
    "ClassIV",
    "Closeness",
    "DeltaDisclosure",
    "DistinctDiversity",
    "EntropyDiversity",
    "FrequencyDiversity",
    "Hierarchy",
    "KAnonymity",
    "Normal",
    "Pareto",
    "PersonalizedPrivacy",
    "Poisson",
    "Prior",
    "RecursiveDiversity",
    "Release",
    "Requirements",
    "Table",
    "Tree",
    "anonymize",
    "cell_bounds",
    "consistent",
    "count_tables",
    "dates",
    "group_report",
    "intervals",
    "journalist",
    "prefixes",
    "prosecutor",
    "range_beliefs",
    "read_configuration",
    "released",
    "rows_of",
    "sample_risk",
    "strictest",
    "suppress",
]
