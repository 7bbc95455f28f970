"""Everything that is asked of an anonymized table, checked before a file is read: columns, models, suppression and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.declaration.problems import folded
from tacit.errors import InvalidInput
from tacit.privacy.rounding import exact
from tacit.publish.tables.hierarchy import Hierarchy, read_hierarchies
from tacit.publish.tables.table import Table
from tacit.publish.tables.wanted import Models

if TYPE_CHECKING:
    from tacit.publish.tables.lattice import Lattice

METHODS = ("lattice", "mondrian", "mondrian-relaxed", "local", "mdav")
UTILITIES = ("discernibility", "average", "precision", "ncp", "entropy", "kl", "queries")


@dataclass(frozen=True)
class Requirements:
    """What is asked: `made` has hierarchies that are made from the values of a column once these are known."""

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
                "no quasi-identifiers: they are the columns that may be linked to outside data; give for example quasi=age,sex"
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
            raise InvalidInput(f"suppress must be a share from 0 to 1, not {self.suppress}; give for example suppress=0.02")

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
        known = {folded(name): table[name].name for name in self.columns}

        def named(keys: Mapping[str, Any]) -> dict[str, Any]:
            return {known.get(folded(name), name): value for name, value in keys.items()}

        changes: dict[str, Any] = {key: named(getattr(self, key)) for key in ("files", "made", "weights", "protected")}
        for role in ("quasi", "sensitive", "keep"):
            changes[role] = tuple(known[folded(name)] for name in getattr(self, role))
        return replace(self, **changes)

    def hierarchies_of(self, table: Table, needed: bool = True) -> dict[str, Hierarchy]:
        """The hierarchies of the quasi-identifiers, and of sensitive columns that have one; from files, folder or values."""
        used = {*self.quasi, *self.sensitive}
        found = {name: Hierarchy.read(path, name) for name, path in self.files.items() if name in used}
        for name, (kind, given) in self.made.items():
            if name in used:
                found[name] = made_from(kind, name, table[name].values, given)
        missing = [name for name in self.quasi if name not in found]
        if missing and self.hierarchies is not None:
            found |= read_hierarchies(self.hierarchies, missing)
        elif missing and needed:
            raise InvalidInput(
                f"missing hierarchy of {missing[0]}; give a folder with {missing[0]}.csv, or declare it in a configuration"
            )
        for name in self.quasi:
            if name in found:
                found[name].covers(table[name])
        return found

    def models(self, hierarchies: Mapping[str, Hierarchy]) -> Models:
        """The models, with what they need to know of columns."""
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
            f"suppress must be a share from 0 to 1, not {str(text)[:40]!r}; give for example suppress=0.02"
        ) from None


def made_from(kind: str, name: str, values: Sequence[str], given: Any) -> Hierarchy:
    """The hierarchy of some values that a configuration declares without a file: intervals, dates, prefixes or flat."""
    from tacit.publish.tables.ranges import dates, intervals, prefixes

    if kind == "intervals":
        return intervals(name, values, given[0], given[1])
    if kind == "dates":
        return dates(name, values, given)
    if kind == "prefixes":
        return prefixes(name, values, given)
    return Hierarchy.flat(name, values)
