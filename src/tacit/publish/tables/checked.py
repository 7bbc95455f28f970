"""The published rows, judged before they leave by the checkers of models/, which share no code with the anonymizers.

Shares are compared with those of all rows, suppressed ones included, as conditions do. So the rows are checked with suppressed ones
starred. Where these are left out of the file, its readers compare with the rows that are left, so the file is checked as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacit.errors import InvalidInput, LawViolated
from tacit.privacy.rounding import exact
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.models.alpha_k import AlphaK
from tacit.publish.tables.models.delta_disclosure import DeltaDisclosure
from tacit.publish.tables.models.frequency import FrequencyDiversity
from tacit.publish.tables.models.k_anonymity import KAnonymity
from tacit.publish.tables.models.named import closeness, diversity
from tacit.publish.tables.models.rows import rows_of
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.models.verdict import SensitiveModel, Verdict
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Column, Table


def check_published(published: Table, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> tuple[Verdict, ...]:
    """The verdicts on a table with starred rows; raises unless all of them pass."""
    verdicts = _verdicts(published, asked, hierarchies)
    if broken := [verdict for verdict in verdicts if not verdict.passes]:
        raise LawViolated("the check of the published table", f"{broken[0]}; nothing is written, and this is a defect to report")
    return tuple(verdicts)


def check_dropped(published: Table, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Raises if a model that held with the suppressed rows does not hold without them: t and delta compare with all rows."""
    if broken := [verdict for verdict in _verdicts(published, asked, hierarchies) if not verdict.passes]:
        raise InvalidInput(
            f'{broken[0].model} holds with the suppressed rows but not without them; publish them starred (suppressed = "star"), '
            "or require less"
        )


def _verdicts(published: Table, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> list[Verdict]:
    columns = {name: _texts(published[name]) for name in (*asked.quasi, *asked.sensitive)}
    rows = rows_of(columns, asked.quasi, asked.sensitive)
    verdicts = list(KAnonymity(asked.k).check(rows))
    for name in asked.sensitive:
        counts = rows.counts(name, asked.strict)
        verdicts += [model.on(counts) for model in _models(published[name], asked, hierarchies)]
    return verdicts


def _texts(column: Column) -> Any:
    import pyarrow as pa

    return pa.array(column.values, pa.string()).take(pa.array(column.codes))


def _models(column: Column, asked: Requirements, hierarchies: Mapping[str, Hierarchy]) -> Iterator[SensitiveModel]:
    protected = asked.protected.get(column.name)
    if asked.l is not None:
        yield diversity(asked.l, protected)
    if asked.t is not None:
        yield closeness(asked.t, _tree(hierarchies.get(column.name)), column.values)
    if asked.alpha is not None:
        yield AlphaK(asked.alpha, asked.k) if protected is None else FrequencyDiversity(1 / exact(asked.alpha), protected)
    if asked.delta is not None:
        yield DeltaDisclosure(asked.delta)


def _tree(hierarchy: Hierarchy | None) -> Tree | None:
    if hierarchy is None:
        return None
    levels = zip(hierarchy.forms, hierarchy.levels, strict=True)
    return Tree(tuple(zip(*([forms[code] for code in codes] for forms, codes in levels), strict=True)))
