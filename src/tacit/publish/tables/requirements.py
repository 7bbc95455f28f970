"""The requirements of an anonymized table, checked before a file is read: columns, models, suppression and measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.declaration import folded
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
from tacit.publish.tables.hierarchy import Hierarchy, read_hierarchies
from tacit.publish.tables.table import Column, Table

if TYPE_CHECKING:
    from tacit.publish.tables.lattice import Lattice


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
        conditions_of_models: list[Condition] = [KAnonymity(self.k)]
        for name in sensitive:
            column = table[name]
            conditions_of_models += [
                make(self, column, text) for option, make in MADE.items() if (text := getattr(self, option)) is not None
            ]
        return conditions_of_models

    def _check(self, table: Table, sensitive: list[str]) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise InvalidInput(f"invalid k {self.k!r}: it must be a whole number of at least 1; give for example k=5", argument="k")
        if self.k > table.rows:
            rows = f"{table.rows:,} row{'' if table.rows == 1 else 's'}"
            raise InvalidInput(f"k = {self.k:,} is above the number of rows: the table has {rows}; choose a smaller k")
        if not sensitive and (given := [option for option in MADE if getattr(self, option) is not None]):
            raise InvalidInput(
                f"{given[0]} needs a sensitive column; name one, for example sensitive=income", argument=(given[0], "sensitive")
            )


def _diversity(models: Models, column: Column, text: str) -> Condition:
    kind, _, rest = text.partition(":") if ":" in text else ("distinct", "", text)
    name, values = column.name, len(column.values)
    if kind == "distinct":
        return DistinctDiversity(name, _whole("l", rest, values, name))
    if kind == "entropy":
        return EntropyDiversity(name, _above("l", rest, Fraction(1)))
    if kind == "frequency":
        least = _above("l", rest, Fraction(1))
        return Share(name, 1 / least, _protected_codes(models, column), f"frequency l-diversity of {name}, l = {least}")
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
    return Share(column.name, share, _protected_codes(models, column), f"(alpha, k)-anonymity of {column.name}, alpha = {share}")


def _delta(models: Models, column: Column, text: str) -> Condition:
    return DeltaDisclosure(column.name, _above("delta", text, Fraction(0)))


MADE: Mapping[str, Callable[[Models, Column, str], Condition]] = {
    "l": _diversity,
    "t": _closeness,
    "alpha": _alpha,
    "delta": _delta,
}


def _protected_codes(models: Models, column: Column) -> tuple[int, ...] | None:
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
        raise InvalidInput(
            f"invalid {name} {text[:40]!r}: it must be a number {words}; give for example {name}={low + 1}", argument=name
        )
    return Fraction(number)


def _whole(name: str, text: str, most: int, column: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise InvalidInput(
            f"invalid {name} {text[:40]!r}: it must be a whole number of at least 1; give for example {name}=2", argument=name
        )
    if int(text) > most:
        raise InvalidInput(f"{name} = {text} is above the number of values: {column} has {most:,}; choose a smaller {name}")
    return int(text)


# --- everything that is asked of an anonymized table, checked before a file is read ------------------------------------------


METHODS = ("lattice", "mondrian", "mondrian-relaxed", "local", "mdav")
UTILITIES = ("discernibility", "average", "precision", "ncp", "entropy", "kl", "queries")


@dataclass(frozen=True)
class Requirements:
    """The requirements; `made` has hierarchies that are derived from the values of a column once the table is read."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    k: int = 2
    l: str | None = None  # noqa: E741
    t: str | None = None
    alpha: str | None = None
    delta: str | None = None
    suppress: Fraction = Fraction(0)
    utility: str = "ncp"
    method: str = "lattice"
    strict: bool = True
    drop_missing: tuple[str, ...] | None = None
    suppressed: str = "star"
    hierarchies: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    made: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    protected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.quasi:
            raise InvalidInput(
                "no quasi-identifiers: they are the columns that may be linked to outside data; give for example quasi=age,sex",
                argument="quasi",
            )
        named = [*self.quasi, *self.sensitive, *self.keep]
        if twice := [name for name in named if named.count(name) > 1]:
            raise InvalidInput(f"{twice[0]} has two roles: a column is quasi-identifying, sensitive or kept; name it once")
        if self.utility not in UTILITIES:
            raise InvalidInput(f"unknown utility {self.utility[:40]!r}; expected one of: {', '.join(UTILITIES)}")
        if self.method not in METHODS:
            raise InvalidInput(f"unknown method {self.method[:40]!r}; expected one of: {', '.join(METHODS)}")
        if self.suppressed not in ("star", "drop"):
            raise InvalidInput(f"unknown treatment of suppressed rows {self.suppressed[:40]!r}; expected star or drop")
        if not 0 <= self.suppress <= 1:
            raise InvalidInput(
                f"suppress must be a share from 0 to 1, not {self.suppress}; give for example suppress=0.02", argument="suppress"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read: quasi-identifiers, sensitive ones, then kept ones."""
        return (*self.quasi, *self.sensitive, *self.keep)

    def generalized(self) -> tuple[str, ...]:
        """The quasi-identifiers that are published as forms of a hierarchy, where their method uses one."""
        if self.method == "mdav":
            return ()
        return tuple(name for name in self.quasi if name in self.files or name in self.made or self.hierarchies is not None)

    def read(self, path: str | Path) -> Table:
        """The table with the columns that are asked for, without rows that have a missing value where these are dropped."""
        table = Table.read(path, self.columns)
        left = table if self.drop_missing is None else table.drop_missing(self.drop_missing)
        if left.rows == 0:
            why = "has no rows" if table.rows == 0 else "has no rows without a missing value"
            raise InvalidInput(f"{Path(path).name} {why}; check the file, or keep missing values")
        return left

    def spelled(self, table: Table) -> Requirements:
        """The same with every column named as the table names it: names match without case."""
        spelling = {folded(name): table[name].name for name in self.columns}

        def respell(keys: Mapping[str, Any]) -> dict[str, Any]:
            return {spelling.get(folded(name), name): value for name, value in keys.items()}

        changes: dict[str, Any] = {key: respell(getattr(self, key)) for key in ("files", "made", "weights", "protected")}
        for role in ("quasi", "sensitive", "keep"):
            changes[role] = tuple(spelling[folded(name)] for name in getattr(self, role))
        return replace(self, **changes)

    def hierarchies_of(self, table: Table, needed: bool = True) -> dict[str, Hierarchy]:
        """The hierarchies of the quasi-identifiers, and of sensitive columns that have one; from files, folder or values."""
        used = {*self.quasi, *self.sensitive}
        hierarchies = {name: Hierarchy.read(path, name) for name, path in self.files.items() if name in used}
        for name, (kind, given) in self.made.items():
            if name in used:
                hierarchies[name] = made_from(kind, name, table[name].values, given)
        missing = [name for name in self.quasi if name not in hierarchies]
        if missing and self.hierarchies is not None:
            hierarchies |= read_hierarchies(self.hierarchies, missing)
        elif missing and needed:
            raise InvalidInput(
                f"missing hierarchy of {missing[0]}; give a folder with {missing[0]}.csv, or declare it in a configuration"
            )
        for name in self.quasi:
            if name in hierarchies:
                hierarchies[name].covers(table[name])
        return hierarchies

    def models(self, hierarchies: Mapping[str, Hierarchy]) -> Models:
        """The models, with the facts about columns that they need."""
        return Models(self.k, self.l, self.t, self.alpha, self.delta, self.protected, hierarchies)

    def lattice(self, table: Table, hierarchies: Mapping[str, Hierarchy]) -> Lattice:
        """The lattice of the quasi-identifiers."""
        from tacit.publish.tables.lattice import Lattice

        return Lattice(table, self.quasi, hierarchies, self.sensitive, self.strict)

    def limit(self, table: Table) -> int:
        """How many rows may be suppressed."""
        return int(self.suppress * table.rows)


def share(text: object) -> Fraction:
    """A share from 0 to 1, as written."""
    try:
        return exact(text)  # type: ignore[arg-type]  # whatever it is, it is refused in words
    except ValueError:
        raise InvalidInput(
            f"suppress must be a share from 0 to 1, not {str(text)[:40]!r}; give for example suppress=0.02", argument="suppress"
        ) from None


def made_from(kind: str, name: str, values: Sequence[str], given: Any) -> Hierarchy:
    """The hierarchy of some values that a configuration declares without a file: intervals, dates, prefixes or flat."""
    from tacit.publish.tables.hierarchy import dates, intervals, prefixes

    if kind == "intervals":
        return intervals(name, values, given[0], given[1])
    if kind == "dates":
        return dates(name, values, given)
    if kind == "prefixes":
        return prefixes(name, values, given)
    return Hierarchy.flat(name, values)
