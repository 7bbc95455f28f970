"""Models by the words of an option: `entropy:2`, `recursive:3:2`, `ordered:0.2`; and the strictest parameters of every model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from tacit.errors import InvalidInput
from tacit.publish.tables.models.closeness import DISTANCES, Closeness, DeltaDisclosure
from tacit.publish.tables.models.diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from tacit.publish.tables.models.k_anonymity import AlphaK, KAnonymity
from tacit.publish.tables.models.rows import Rows
from tacit.publish.tables.models.tree import Tree
from tacit.publish.tables.models.verdict import SensitiveModel, Verdict

DIVERSITIES = "distinct:3, frequency:2, entropy:2 or recursive:3:2 (c, then l)"


class Model(Protocol):
    """The common interface of every checker."""

    def check(self, rows: Rows, strict: bool = True) -> tuple[Verdict, ...]:
        """The verdicts on a table."""


def diversity(text: str, protected: Collection[Any] | None = None) -> SensitiveModel:
    """An l-diversity as it is written; a number alone is the distinct one.

    >>> diversity("entropy:2.5"), diversity("3")
    (EntropyDiversity(l='2.5'), DistinctDiversity(l=3))
    """
    kind, colon, rest = text.partition(":")
    kind, rest = (kind, rest) if colon else ("distinct", text)
    if kind == "distinct":
        return DistinctDiversity(_whole(rest, text))
    if kind == "frequency":
        return FrequencyDiversity(rest, protected)
    if kind == "entropy":
        return EntropyDiversity(rest)
    c, second, number = rest.partition(":")
    if kind == "recursive" and second:
        return RecursiveDiversity(c, _whole(number, text))
    raise InvalidInput(f"unknown l-diversity {text[:40]!r}; expected {DIVERSITIES}")


def closeness(text: str, tree: Tree | None = None, order: Sequence[Any] | None = None) -> Closeness:
    """A t-closeness as it is written; a number alone has the equal distance.

    >>> closeness("ordered:0.2").title, closeness("0.2").title
    ('t-closeness (ordered)', 't-closeness (equal)')
    """
    kind, _, number = text.rpartition(":")
    distance = kind or "equal"
    if distance not in DISTANCES:
        raise InvalidInput(f"unknown t-closeness {text[:40]!r}; expected 0.2, equal:0.2, ordered:0.2 or hierarchical:0.2")
    if distance == "hierarchical" and tree is None:
        raise InvalidInput(
            "hierarchical t-closeness needs a hierarchy of the sensitive column; give its file as hierarchy=FILE",
            argument="hierarchy",
        )
    return Closeness(number, distance, order if distance == "ordered" else None, tree if distance == "hierarchical" else None)


def strictest(rows: Rows, strict: bool = True) -> tuple[Verdict, ...]:
    """Every model in its weakest form, whose figures say which parameters would hold: k, then each sensitive column in turn."""
    verdicts = list(KAnonymity(1).check(rows))
    models = (
        AlphaK(1, 1),
        DistinctDiversity(1),
        FrequencyDiversity(1),
        EntropyDiversity(1),
        RecursiveDiversity(1, 2),
        Closeness(1),
    )
    for name in rows.sensitive:
        counts = rows.counts(name, strict)
        verdicts += [model.on(counts) for model in (*models, DeltaDisclosure(1))]
        try:
            verdicts.append(Closeness(1, "ordered").on(counts))
        except InvalidInput:  # not numbers
            continue
    return tuple(verdicts)


def _whole(number: str, text: str) -> int:
    if not (number.isascii() and number.isdigit()):
        raise InvalidInput(f"invalid l in {text[:40]!r}: expected a whole number, as in {DIVERSITIES}")
    return int(number)
