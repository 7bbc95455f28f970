"""The cells of columns: the units that a marginal counts, and the values of a synthetic row. All of it comes from the catalog.

A category has one cell for each of its values. A number or a date has one for each of its bins, or for each of its values if they
are few and no bins are declared; of many values without bins, those of a grid (grids.py). Every
column that may be NULL has one more cell, the last, for NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.catalog.columns import even_bins
from tacit.errors import NoBounds, NotAllowed, TooManyGroups, UnknownName, WrongType
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.arguments import whole_of
from tacit.privacy.catalog import Catalog, Column, Table, day_of
from tacit.publish.synthetic.rows.grids import MOST_GROUPS, even_begins, even_cells, grid_of
from tacit.publish.synthetic.rows.never import rules_of, splits_of
from tacit.query import plan

MOST_POINTS = 100  # a number or a date with at most this many values needs no bins
MOST_COLUMNS = 100
MOST_CELLS = 10**5  # of one pair of columns: with more, only noise would be left
MOST_CELLS_IN_ALL = 2 * 10**7  # of all pairs of columns, which are counted together: 160 MB
LEFT_OUT = {
    "key": "it identifies people",
    "text": "its values are private",
    "presence": "neither bounds nor values are declared",
}
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Axis:
    """A column in cells: `begins` has the stored offset at which each cell begins, except that of NULL.

    >>> from fractions import Fraction
    >>> age = Axis.of(Column("age", "number", (Fraction(0), Fraction(9)), Fraction(1), bins=(Fraction(0), Fraction(6))))
    >>> age.begins, age.size, age.widths, age.labels
    ((0, 6), 3, (6, 4), ('0 to 5', '6 to 9', 'NULL'))
    """

    column: Column
    begins: tuple[int, ...]
    width: int = 0  # of a grid (grids.py), how many cells are one wide cell

    @classmethod
    def grid(cls, column: Column, splits: Sequence[int] = ()) -> Axis:
        """A public grid over the range of a column of many values, whose bins are chosen privately."""
        return cls(column, *grid_of(column.points, splits))

    @classmethod
    def of(cls, column: Column, splits: Sequence[int] = ()) -> Axis:
        """The cells of a column: its values, or its declared bins; cells begin at `splits` too."""
        if not column.bins or column.bounds is None or column.step is None:
            return cls(column, tuple(range(column.points)))
        return cls(column, tuple(sorted({*(int((begin - column.bounds[0]) / column.step) for begin in column.bins), *splits})))

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def size(self) -> int:
        """The number of cells, including that of NULL."""
        return len(self.begins) + self.column.nullable

    @property
    def histograms(self) -> tuple[int, ...]:
        """The cells of each histogram that is counted of this column alone: of a grid wide ones first."""
        return (-(-len(self.begins) // self.width) + self.column.nullable, self.size) if self.width else (self.size,)

    @property
    def wide(self) -> Codes:
        """The wide cell of each cell of a grid, NULL apart."""
        return np.arange(len(self.begins)) // self.width

    @property
    def counted(self) -> Axis:
        """The cells of the first histogram of this column alone: of a grid the wide ones."""
        return self.joined(self.wide) if self.width else self

    @property
    def counted_groups(self) -> Codes:
        """The cell of `counted` that each cell is in."""
        return (
            np.append(self.wide, [self.counted.size - 1] * self.column.nullable).astype(np.int64)
            if self.width
            else np.arange(self.size)
        )

    def joined(self, groups: Codes) -> Axis:
        """The same column in runs of cells, by the rising group of each cell."""
        firsts = np.unique(groups[: len(self.begins)], return_index=True)[1]
        return Axis(self.column, tuple(self.begins[at] for at in firsts))

    @property
    def groups_at_most(self) -> int:
        """The cells that this column brings to a marginal of several columns, at most; conditions may add a few to a grid."""
        return min(self.size, 2 * MOST_GROUPS + 1 + self.column.nullable) if self.width else self.size

    @property
    def widths(self) -> tuple[int, ...]:
        """How many values are in each cell, except that of NULL."""
        return tuple(int(width) for width in np.diff([*self.begins, self.column.points]))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the cells."""
        ends = [(begin, begin + width - 1) for begin, width in zip(self.begins, self.widths, strict=True)]
        words = [f"{self.value(a)}" if a == b else f"{self.value(a)} to {self.value(b)}" for a, b in ends]
        return (*words, "NULL") if self.column.nullable else tuple(words)

    def cell(self, groups: Codes | None = None) -> plan.Row:
        """SQL for the cell of a row, or for the group of its cell, from the prepared column."""
        stored = plan.Column(0, self.name, 0, self.column.points - 1, self.column.nullable)
        if self.width and groups is None:
            return self._in_grid(stored)
        names = list(range(self.size)) if groups is None else groups.tolist()
        cells, high = names[: len(self.begins)], max(names)
        branches: list[tuple[plan.IsNull | plan.Compare, plan.Literal]] = []
        if self.column.nullable:
            branches.append((plan.IsNull(stored), plan.Literal(names[-1])))
        otherwise: plan.Row = stored
        if len(cells) < self.column.points:
            # A cell whose group continues in the next one needs no branch: its rows match that one.
            ends = [(at, end) for at, end in enumerate(self.begins[1:]) if cells[at] != cells[at + 1]]
            branches += [(plan.Compare("<", stored, plan.Literal(end)), plan.Literal(cells[at])) for at, end in ends]
            otherwise = plan.Literal(cells[-1])
        elif cells != list(range(len(cells))):
            otherwise = plan.Lookup(stored, tuple(cells), 0, high, self.column.nullable)
        return plan.Choose(tuple(branches), otherwise, 0, high, nullable=False) if branches else otherwise

    def _in_grid(self, stored: plan.Column) -> plan.Row:
        """The cell of a grid by arithmetic: that of the even grid, and one more for each other begin that the value has reached."""
        last, points = len(self.begins) - 1, self.column.points
        cells, others = even_cells(points), sorted(set(self.begins) - set(even_begins(points)))
        scaled = plan.Multiply(stored, plan.Literal(cells), 0, (points - 1) * cells, stored.nullable)
        even = plan.Quotient(scaled, points, 0, cells - 1, stored.nullable)
        steps = tuple((plan.Compare("<", stored, plan.Literal(begin)), plan.Literal(at)) for at, begin in enumerate(others))
        more = plan.Choose(steps, plan.Literal(len(others)), 0, len(others), nullable=False)
        cell: plan.Row = plan.Add(even, more, 0, last, stored.nullable) if others else even
        if not stored.nullable:
            return cell
        return plan.Choose(((plan.IsNull(stored), plan.Literal(last + 1)),), cell, 0, last + 1, nullable=False)

    def codes(self, offsets: Codes, missing: NDArray[np.bool_]) -> Codes:
        """The cells of prepared values, computed in the same way; for callers that may see the values."""
        cells = np.searchsorted(np.array(self.begins), offsets, side="right") - 1
        return np.where(missing, len(self.begins), cells).astype(np.int64)

    def value(self, offset: int) -> Any:
        """The value of a stored offset."""
        column = self.column
        if column.kind == "category":
            return column.domain[offset]
        assert column.bounds is not None  # noqa: S101  # the catalog gives bounds and a step to every number and date
        assert column.step is not None  # noqa: S101
        exact = column.bounds[0] + offset * column.step
        if column.kind == "date":
            return day_of(int(exact))
        return int(exact) if exact.denominator == 1 else float(exact)

    def fill(self, codes: Codes) -> Any:
        """An Arrow array with a value for each cell: every value of the cell is equally likely, by secure randomness."""
        import pyarrow as pa

        # The cell of NULL has no values; it gets an entry nevertheless, which is masked below.
        offsets, widths = np.array([*self.begins, 0])[codes], np.array([*self.widths, 1])[codes]
        for width in np.unique(widths[widths > 1]):
            inside = widths == width
            offsets[inside] += uniform_integers(int(width), int(inside.sum()))
        missing = codes == len(self.begins)
        different, places = np.unique(offsets[~missing], return_inverse=True)
        values = pa.array([self.value(int(offset)) for offset in different], type=self._type())
        taken = np.zeros(codes.size, dtype=np.int64)
        taken[~missing] = places
        return values.take(pa.array(taken, mask=missing))

    def _type(self) -> Any:
        import pyarrow as pa

        column = self.column
        if column.kind == "date":
            return pa.date32()
        if column.kind == "category":
            return {str: pa.string(), bool: pa.bool_()}.get(type(column.domain[0]), pa.int64())
        whole = all(number.denominator == 1 for number in (*(column.bounds or ()), column.step or 1))
        return pa.int64() if whole else pa.float64()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The selected columns, and why each of the others is left out."""

    table: Table
    axes: tuple[Axis, ...]
    left_out: Mapping[str, str]


def chosen_columns(
    catalog: Catalog, table: str, columns: Sequence[str] | None = None, bins: int | None = None, grids: bool = False
) -> Chosen:
    """The columns of the synthetic rows: the named ones, else all that have public values or bounds.

    With `grids`, columns of many values that have no bins are counted on a grid; else they are refused.

    `bins` is a number of even bins for each column of many values that has none in the catalog. Refuses, from the catalog alone,
    columns that cannot be counted in public cells.
    """
    declared = catalog.tables.get(table.lower())
    if declared is None:
        raise UnknownName(f"unknown table {table}", remedy=f"expected one of: {', '.join(sorted(catalog.tables))}")
    if declared.public:
        raise NotAllowed(f"{declared.name} is public: it can be published without protection", remedy="name a private table")
    if columns is None:
        left_out = {name: LEFT_OUT[each.kind] for name, each in declared.columns.items() if each.kind in LEFT_OUT}
        kept = [each for name, each in declared.columns.items() if name not in left_out]
    else:
        left_out, kept = {}, [_column_named(declared, name) for name in columns]
    if bins is not None:
        number = whole_of(bins, "bins", 1, MOST_POINTS)
        kept = [replace(each, bins=even_bins(each, number)) if _lacks_bins(each) else each for each in kept]
    if not grids:
        _check_bins(declared, kept)
    axes = tuple((Axis.grid if _lacks_bins(column) else Axis.of)(column, splits_of(declared, column)) for column in kept)
    _check_sizes(declared, axes)
    rules_of(declared, axes)  # refuses what no row could meet
    return Chosen(declared, axes, left_out)


def _column_named(table: Table, name: str) -> Column:
    column = table.columns.get(name.strip().lower())
    if column is None:
        raise UnknownName(f"unknown column {name} of {table.name}", remedy=f"expected one of: {', '.join(table.columns)}")
    if column.kind in LEFT_OUT:
        raise WrongType(f"{table.name}.{column.name} cannot be synthesized: {LEFT_OUT[column.kind]}", remedy="leave it out")
    return column


def _check_bins(table: Table, columns: Sequence[Column]) -> None:
    """Refuse columns of many values without bins, all of them at once."""
    many = [column for column in columns if _lacks_bins(column)]
    if many:
        listed = ", ".join(f"{table.name}.{column.name} ({column.points:,} values)" for column in many)
        names = ", ".join(column.name for column in many)
        raise NoBounds(
            f"no bins for {listed}; marginals need public cells",
            remedy=f"give for example bins=20 for all of them, add bins to {names} in tacit.toml, or name the other columns",
            argument="bins",
        )


def _lacks_bins(column: Column) -> bool:
    return column.kind != "category" and not column.bins and column.points > MOST_POINTS


def _check_sizes(table: Table, axes: Sequence[Axis]) -> None:
    if not axes:
        raise NotAllowed(f"{table.name} has no column that can be synthesized", remedy="declare bounds with bins, or values")
    if len({axis.name for axis in axes}) < len(axes):
        raise NotAllowed("duplicate column", remedy="name each once")
    if len(axes) > MOST_COLUMNS:
        raise TooManyGroups(f"too many columns: {len(axes)}; at most {MOST_COLUMNS}", remedy="name fewer columns")
    *_, second, first = sorted((1, *(axis.groups_at_most for axis in axes)))
    if first * second > MOST_CELLS:
        raise TooManyGroups(
            f"the largest pair of columns has {first * second:,} cells; at most {MOST_CELLS:,}",
            remedy="declare fewer bins, or leave a column out",
        )
    sizes = [axis.groups_at_most for axis in axes]
    cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if cells > MOST_CELLS_IN_ALL:
        raise TooManyGroups(
            f"all pairs of the {len(axes)} columns have {cells:,} cells in total; at most {MOST_CELLS_IN_ALL:,}",
            remedy="declare fewer bins, or leave columns out",
        )
