"""Columns as features: integers from -1024 to 1024, each a function of its row alone. All of it comes from the catalog.

A number or a date is one feature, its declared range laid over -1 to 1. A category has one feature for each value but the first,
1 for a row with that value and 0 for others. One more feature is always 1: its coefficient is the intercept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InvalidInput, NotAllowed, TooManyGroups, UnknownName, WrongType
from tacit.privacy.catalog import Catalog, Table, Value
from tacit.privacy.catalog import Column as Declared
from tacit.query.binding.terms import choose, floor_by, plus, times
from tacit.query.plan import All, Bound, Column, Compare, IsNull, Literal, Negation, Row, Rows, Scan, Where

ONE = 1024  # the integer that stands for 1
FINEST = 2**20  # points of a number that are told apart
MOST_FEATURES = 60
UNUSABLE = {
    "key": "it identifies people",
    "text": "its values are private",
    "presence": "neither bounds nor values are declared",
}


@dataclass(frozen=True, slots=True)
class Feature:
    """A number or a date over its declared range, or the indicator of one value of a category; without a column, the constant 1."""

    column: Declared | None = None
    code: int | None = None

    @property
    def name(self) -> str:
        """The name of the column, with the value that it indicates."""
        if self.column is None:
            return "intercept"
        return self.column.name if self.code is None else f"{self.column.name} = {plain(self.value)}"

    @property
    def value(self) -> Value | None:
        """The value that it indicates."""
        return None if self.column is None or self.code is None else self.column.domain[self.code]

    @property
    def middle_and_half(self) -> tuple[Fraction, Fraction]:
        """The middle of the declared range and half its width, in the units of the column; a date counts days since 1970."""
        assert self.column is not None  # noqa: S101
        assert self.column.bounds is not None  # noqa: S101  # the catalog gives bounds to every number and date
        low, high = self.column.bounds
        return (low + high) / 2, (high - low) / 2

    @property
    def row(self) -> Row:
        """The feature of a row as an integer from -1024 to 1024, in exact arithmetic."""
        if self.column is None:
            return Literal(ONE)
        stored = stored_column(self.column)
        if self.code is not None:
            return choose([(Compare("=", stored, Literal(self.code)), Literal(ONE))], Literal(0))
        width = -(-self.column.points // FINEST)
        most = (self.column.points - 1) // width
        centred = plus(times(floor_by(stored, width), Literal(2)), Literal(-most))
        return floor_by(times(centred, Literal(ONE)), most)


@dataclass(frozen=True, slots=True)
class Label:
    """The class to predict: rows whose column has one declared value, against all others."""

    column: Declared
    code: int

    @property
    def row(self) -> Row:
        """1 for a row of the class, 0 for any other."""
        return choose([(Compare("=", stored_column(self.column), Literal(self.code)), Literal(1))], Literal(0))

    @property
    def value(self) -> Value:
        return self.column.domain[self.code]

    def __str__(self) -> str:
        return f"{self.column.name} = {plain(self.value)}"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of a training: a table, the columns of its features in order, the features, and the label.

    Rows in which a column of these is NULL do not count.
    """

    table: Table
    columns: tuple[Declared, ...]
    features: tuple[Feature, ...]
    label: Label

    @property
    def most_at_once(self) -> int:
        """At most this many features of a row are not 0: the constant, and one for each column."""
        return 1 + len(self.columns)

    @property
    def rows(self) -> Rows:
        """The rows that count: at most `max_rows` of a unit, chosen before any NULL is left out."""
        kept = Bound(Scan(self.table), self.table.max_rows)
        nullable = [Column(0, each.name, 0, each.points - 1, True) for each in (*self.columns, self.label.column) if each.nullable]
        return Where(kept, All(tuple(Negation(IsNull(column)) for column in nullable))) if nullable else kept


def plain(value: Value | None) -> str:
    """A declared value as text.

    >>> plain(True), plain("north"), plain(3)
    ('true', 'north', '3')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def stored_column(column: Declared) -> Column:
    """A column as it is stored: offsets from 0, in rows that count, where it is not NULL."""
    return Column(0, column.name, 0, column.points - 1, False)


def inputs_of(catalog: Catalog, table: str, label: str, features: Sequence[str] | None = None) -> Inputs:
    """The inputs that are asked for; refuses, from the catalog alone, what cannot be a feature or a label.

    `label` is a column of two values, whose second one is predicted (true, if they are true and false), or "column=value".
    Without `features`, all other columns are used that can be.
    """
    declared = catalog.tables.get(table.lower())
    if declared is None:
        raise UnknownName(f"unknown table {table}", remedy=f"expected one of: {', '.join(sorted(catalog.tables))}")
    if declared.public:
        raise NotAllowed(f"{declared.name} is public: a model of it needs no protection", remedy="name a private table")
    predicted = _label_of(declared, label)
    columns = _columns_of(declared, predicted, features)
    made = [Feature(), *(feature for column in columns for feature in _features_of(column))]
    if len(made) > MOST_FEATURES:
        raise TooManyGroups(
            f"{len(made)} coefficients, one for each value of a category; at most {MOST_FEATURES}",
            remedy="name fewer columns",
            argument="features",
        )
    return Inputs(declared, tuple(columns), tuple(made), predicted)


def _columns_of(table: Table, label: Label, features: Sequence[str] | None) -> list[Declared]:
    if features is None:
        named = [column for column in table.columns.values() if column != label.column and _why_not(column) is None]
    else:
        named = [_column_named(table, name) for name in features]
    names = [column.name for column in named]
    if not named:
        raise InvalidInput(f"{table.name} has no column to learn from: a feature needs declared bounds or values")
    if label.column.name in names or len(set(names)) < len(names):
        what = f"{label.column.name} is the label" if label.column.name in names else "duplicate column"
        raise InvalidInput(f"{what}: each feature must be another column; name each once", argument="features")
    return named


def _features_of(column: Declared) -> list[Feature]:
    return [Feature(column, code) for code in range(1, column.points)] if column.kind == "category" else [Feature(column)]


def _why_not(column: Declared) -> str | None:
    """Why a column cannot be a feature; None if it can."""
    return UNUSABLE.get(column.kind) or ("it has one value only" if column.points < 2 else None)


def _column_named(table: Table, name: str) -> Declared:
    column = table.columns.get(name.strip().lower())
    if column is None:
        raise UnknownName(f"unknown column {name} of {table.name}", remedy=f"expected one of: {', '.join(table.columns)}")
    if (reason := _why_not(column)) is not None:
        raise WrongType(f"{table.name}.{column.name} cannot be used for training: {reason}", remedy="name another column")
    return column


def _label_of(table: Table, label: str) -> Label:
    name, sign, wanted = label.partition("=")
    column = _column_named(table, name)
    if column.kind != "category":
        raise WrongType(
            f"the label {table.name}.{column.name} must be a category with declared values", remedy="name a column with values"
        )
    if sign:
        texts = [plain(value) for value in column.domain]
        said = wanted.strip()
        if said not in texts:
            raise InvalidInput(f"unknown value {said} of {column.name}; expected one of: {', '.join(texts)}", argument="label")
        return Label(column, texts.index(said))
    if column.points != 2:
        example = f"{column.name}={column.domain[0]}"
        raise InvalidInput(
            f"the label {column.name} has {column.points} values, not 2; give for example {example}", argument="label"
        )
    return Label(column, column.domain.index(True) if True in column.domain and isinstance(column.domain[0], bool) else 1)
