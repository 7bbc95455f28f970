"""`tacit anonymize table` as something to attack: the minimality attack on tacit's own publisher.

It searches for the best generalization that satisfies the models. With a model of the sensitive column that choice depends on the
values, and the attack applies; with k-anonymity alone it does not, and the attack learns nothing from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import Row
from tacit.evidence.attacks.tables.publishers import BlackBox
from tacit.publish.tables.anonymized import anonymize
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Table


@dataclass(frozen=True, slots=True)
class OwnPublisher:
    """Publishes rows whose quasi-identifiers are a tuple, one for each column of the requirements."""

    asked: Requirements

    def publish(self, rows: Sequence[Row]) -> list[Row] | None:
        """The published rows; None where no generalization satisfies the models, which is a refusal."""
        quasi = [_parts(row[0]) for row in rows]
        columns = {name: [parts[place] for parts in quasi] for place, name in enumerate(self.asked.quasi)}
        (sensitive,) = self.asked.sensitive
        table = Table.of({**columns, sensitive: [str(row[1]) for row in rows]})
        try:
            found = anonymize(table, replace(self.asked, suppressed="star")).table
        except InvalidInput:
            return None
        labels = zip(*(found[name].texts().tolist() for name in self.asked.quasi), strict=True)
        return [(tuple(label), value) for label, value in zip(labels, found[sensitive].texts().tolist(), strict=True)]


def own_publisher(asked: Requirements) -> BlackBox:
    """The attackable form. Hierarchies must come from files: those made from values would depend on the data."""
    if len(asked.sensitive) != 1 or asked.made:
        raise InvalidInput("the attack needs one sensitive column, and hierarchies from files")
    return BlackBox(OwnPublisher(asked).publish)


def _parts(quasi: object) -> tuple[str, ...]:
    return tuple(map(str, quasi)) if isinstance(quasi, tuple) else (str(quasi),)
