"""What a data owner asks for, in words such as `entropy:2` or `ordered:0.2`, as conditions on the groups of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tacit.errors import InvalidInput
from tacit.privacy.rounding import exact
from tacit.publish.tables.conditions import (
    Closeness,
    Condition,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    OrderedCloseness,
    RecursiveDiversity,
    Share,
    TreeCloseness,
)
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.table import Column, Table


@dataclass(frozen=True)
class Models:
    """The models of privacy that are asked for; those on sensitive values hold for each sensitive column.

    >>> people = Table.of({"age": [31, 34], "disease": ["flu", "gout"]})
    >>> for condition in Models(k=2, l="entropy:2", t="0.2").conditions(people, ["disease"]):
    ...     print(condition)
    k-anonymity, k = 2
    entropy l-diversity of disease, l = 2
    t-closeness of disease (equal distance), t = 1/5
    """

    k: int = 1
    l: str | None = None  # noqa: E741  # the field's own name for it
    t: str | None = None
    alpha: str | None = None
    delta: str | None = None
    protected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)

    def conditions(self, table: Table, sensitive: list[str]) -> list[Condition]:
        """The conditions, in the order of the models."""
        self._check(table, sensitive)
        found: list[Condition] = [KAnonymity(self.k)]
        for name in sensitive:
            column = table[name]
            found += [make(self, column, text) for option, make in MADE.items() if (text := getattr(self, option)) is not None]
        return found

    def _check(self, table: Table, sensitive: list[str]) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise InvalidInput(f"invalid k {self.k!r}: it must be a whole number of at least 1; give for example k=5")
        if self.k > table.rows:
            rows = f"{table.rows:,} row{'' if table.rows == 1 else 's'}"
            raise InvalidInput(f"k = {self.k:,} is above the number of rows: the table has {rows}; choose a smaller k")
        if not sensitive and (given := [option for option in MADE if getattr(self, option) is not None]):
            raise InvalidInput(f"{given[0]} needs a sensitive column; name one, for example sensitive=income")


def _diversity(models: Models, column: Column, text: str) -> Condition:
    kind, _, rest = text.partition(":") if ":" in text else ("distinct", "", text)
    name, values = column.name, len(column.values)
    if kind == "distinct":
        return DistinctDiversity(name, _whole("l", rest, values, name))
    if kind == "entropy":
        return EntropyDiversity(name, _above("l", rest, Fraction(1)))
    if kind == "frequency":
        least = _above("l", rest, Fraction(1))
        return Share(name, 1 / least, _protected(models, column), f"frequency l-diversity of {name}, l = {least}")
    if kind == "recursive" and ":" in rest:
        c, _, least_rank = rest.partition(":")
        return RecursiveDiversity(name, _above("c", c, Fraction(0)), _whole("l", least_rank, values, name))
    raise InvalidInput(f"invalid l {text[:40]!r}: expected distinct:2, entropy:2, frequency:2 or recursive:3:2 (c, then l)")


def _closeness(models: Models, column: Column, text: str) -> Condition:
    kind, _, rest = text.partition(":") if ":" in text else ("equal", "", text)
    t = _above("t", rest, Fraction(0), allow=True, most=Fraction(1))
    if kind == "equal":
        return Closeness(column.name, t)
    if kind == "ordered":
        return OrderedCloseness(column.name, t)
    if kind == "hierarchical":
        return TreeCloseness(column.name, t, _parents(models, column))
    raise InvalidInput(f"invalid t {text[:40]!r}: expected 0.2, ordered:0.2 or hierarchical:0.2")


def _alpha(models: Models, column: Column, text: str) -> Condition:
    share = _above("alpha", text, Fraction(0), most=Fraction(1))
    return Share(column.name, share, _protected(models, column), f"(alpha, k)-anonymity of {column.name}, alpha = {share}")


def _delta(models: Models, column: Column, text: str) -> Condition:
    return DeltaDisclosure(column.name, _above("delta", text, Fraction(0)))


MADE: Mapping[str, Callable[[Models, Column, str], Condition]] = {
    "l": _diversity,
    "t": _closeness,
    "alpha": _alpha,
    "delta": _delta,
}


def _protected(models: Models, column: Column) -> tuple[int, ...] | None:
    named = models.protected.get(column.name)
    if named is None:
        return None
    if unknown := [value for value in named if value not in column.values]:
        raise InvalidInput(f"protected value {unknown[0][:60]!r} does not occur in {column.name}; check its spelling")
    return tuple(column.values.index(value) for value in named)


def _parents(models: Models, column: Column) -> tuple[tuple[int, ...], ...]:
    """For each level the place of each node's parent, the values of the column first."""
    hierarchy = models.hierarchies.get(column.name)
    if hierarchy is None:
        raise InvalidInput(f"hierarchical t-closeness needs a hierarchy of {column.name}; give one, or use ordered or equal")
    if len(hierarchy.forms[-1]) > 1:
        raise InvalidInput(f"hierarchy of {column.name} has no single top: hierarchical t-closeness needs one; add a level with *")
    first = hierarchy.of_column(column)[1]
    rest = [hierarchy.up(level, level + 1) for level in range(1, hierarchy.height)]
    return tuple(tuple(int(place) for place in np.asarray(each)) for each in (first, *rest))


def _above(name: str, text: str, low: Fraction, allow: bool = False, most: Fraction | None = None) -> Fraction:
    """A number above `low`, or at it where that is allowed, and at most `most`."""
    try:
        number = exact(text)
    except ValueError:
        number = None
    if number is None or number < low or (number == low and not allow) or (most is not None and number > most):
        words = f"{'at least' if allow else 'above'} {low}" + ("" if most is None else f" and at most {most}")
        raise InvalidInput(f"invalid {name} {text[:40]!r}: it must be a number {words}; give for example {name}={low + 1}")
    return Fraction(number)


def _whole(name: str, text: str, most: int, column: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise InvalidInput(f"invalid {name} {text[:40]!r}: it must be a whole number of at least 1; give for example {name}=2")
    if int(text) > most:
        raise InvalidInput(f"{name} = {text} is above the number of values: {column} has {most:,}; choose a smaller {name}")
    return int(text)
