"""Impossible combinations, declared in the catalog: `never = "age < 15 AND income IS NOT NULL"`. No synthetic row meets one.

A condition is written in the language of questions, over the columns of its table, and holds as in SQL: a row meets it only where
it is true, not where it is unknown. Cells are split where a part of a condition changes, so that every cell has one truth and the
conditions of a row follow from its cells alone. They are public. Rows of the data that meet one are counted as they are, and say
nothing by it: no row can cause a refusal, and the synthetic rows have none of them.

Three steps keep them. Rows settle without ever entering an impossible cell (`barriers`); rows start outside of them; and whatever
made the rows, those that still meet a condition are moved to the nearest possible cells at the end (`possible_codes`), which
follows from released numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import NotAllowed, Refused, TooManyGroups
from tacit.mechanisms.noise.choice import uniform_integers
from tacit.privacy.catalog import Column as Declared
from tacit.privacy.catalog import Table
from tacit.query.binding.binder import Binder
from tacit.query.binding.scope import Scope, Source, declared_columns
from tacit.query.engines.public import truths_of
from tacit.query.language.sql import parse_expression
from tacit.query.plan import All, Among, Column, Compare, Condition, Either, IsNull, Literal, Negation, TextColumn, Truth
from tacit.query.trees import nodes_of

MOST_LISTED = 10**6  # values of a column that are listed to see where a part of a condition changes
MOST_TOGETHER = 20_000  # combinations of the parts into which the conditions divide the columns that they tie together
KINDS = ("number", "date", "category")
SMALL = 1e-9  # the weight of a cell that was measured to be empty: it is taken if there is no other

Codes = NDArray[np.int64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Never:
    """One declared condition: its text, its meaning, and its columns."""

    text: str
    condition: Condition
    columns: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Columns that conditions tie together: the class of each of their cells, and which classes can be together."""

    places: tuple[int, ...]
    classes: tuple[Codes, ...]
    possible: Truths

    def holds(self, codes: Sequence[Codes]) -> Truths:
        """Which rows are possible, by the cells of all columns."""
        return np.asarray(self.possible[tuple(of[codes[at]] for of, at in zip(self.classes, self.places, strict=True))])


# --- what is declared --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def conditions_of(table: Table) -> tuple[Never, ...]:
    """The declared conditions of a table, read and bound; refused with the text where one is not valid."""
    return tuple(_read(table, text) for text in table.never)


def _read(table: Table, text: str) -> Never:
    scope = Scope((Source(table.name, declared_columns(0, table.columns), table=table),))
    try:
        condition = Binder(scope).condition(parse_expression(text))
        named = frozenset(node.name for node in nodes_of(condition) if isinstance(node, Column | TextColumn))
        if not named or any(table.columns[name].kind not in KINDS for name in named):
            raise NotAllowed("expected columns with bounds or values, and no others", remedy="write for example age < 15")
        for part in parts_of(condition):
            _check_part(table, part)
    except Refused as refusal:
        message = f"invalid never of {table.name}, {text!r}: {refusal.message}"
        raise type(refusal)(message, remedy=refusal.remedy) from None
    return Never(text, condition, named)


def parts_of(condition: Condition) -> Iterator[Condition]:
    """The parts that AND, OR and NOT join."""
    match condition:
        case All() | Either():
            for part in condition.parts:
                yield from parts_of(part)
        case Negation():
            yield from parts_of(condition.part)
        case _:
            yield condition


def _check_part(table: Table, part: Condition) -> None:
    """Refuse parts whose truth cannot be listed for all cells."""
    columns = [table.columns[name] for name in _columns_in(part)]
    if len(columns) > 1 and prod(column.points + column.nullable for column in columns) > MOST_TOGETHER:
        raise TooManyGroups(
            "it compares columns of many values with each other", remedy="compare each with a constant, or leave the condition out"
        )
    if len(columns) == 1 and _borders(part) is None and columns[0].points > MOST_LISTED:
        raise TooManyGroups("it computes with a column of very many values", remedy="compare the column itself with a constant")


def _columns_in(part: Condition) -> list[str]:
    return sorted({node.name for node in nodes_of(part) if isinstance(node, Column)})


def _borders(part: Condition) -> list[int] | None:
    """The stored offsets at which a plain comparison with a constant may change; None if the part is of another form."""
    match part:
        case Truth() | IsNull(Column()):
            return []
        case Compare(_, Column() as column, Literal(number)) | Compare(_, Literal(number), Column() as column):
            return [] if number is None else [number - column.low, number - column.low + 1]
        case Among(Column() as column, numbers):
            return [border for number in numbers for border in (number - column.low, number - column.low + 1)]
    return None


def splits_of(table: Table, column: Declared) -> tuple[int, ...]:
    """The stored offsets at which cells of a column must begin, so that each has one truth."""
    splits: set[int] = set()
    for part in (part for never in conditions_of(table) for part in parts_of(never.condition)):
        if column.name not in (names := _columns_in(part)):
            continue
        borders = _borders(part)
        if len(names) > 1:
            borders = list(range(column.points))
        elif borders is None:
            truths = truths_of([part], {column.name: (np.arange(column.points), np.zeros(column.points, dtype=bool))})[0]
            borders = (np.flatnonzero(truths[1:] != truths[:-1]) + 1).tolist()
        splits |= {border for border in borders if 0 < border < column.points}
    return tuple(sorted(splits))


# --- rules over cells --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def rules_of(table: Table, axes: tuple[Any, ...]) -> tuple[Rule, ...]:
    """The rules for the cells of some columns; conditions with another column are left out. Refused where no row is possible."""
    if not table.never:
        return ()
    names = [axis.name for axis in axes]
    kept = [never for never in conditions_of(table) if never.columns <= set(names)]
    groups: list[list[Never]] = []
    for never in kept:
        tied = [group for group in groups if any(never.columns & other.columns for other in group)]
        groups = [group for group in groups if group not in tied] + [[never, *(other for group in tied for other in group)]]
    return tuple(
        _rule(axes, [at for at, name in enumerate(names) if any(name in each.columns for each in group)], group) for group in groups
    )


def left_out(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """The texts of conditions with a column that is not among the names."""
    return tuple(never.text for never in conditions_of(table) if not never.columns <= set(names)) if table.never else ()


def _rule(axes: Sequence[Any], places: Sequence[int], group: Sequence[Never]) -> Rule:
    classes, first = zip(*(_classes(axes[at], group) for at in places), strict=True)
    sizes = [len(each) for each in first]
    if prod(sizes) > MOST_TOGETHER:
        tied = ", ".join(axes[at].name for at in places)
        raise TooManyGroups(f"the conditions that tie {tied} have too many combinations", remedy="declare fewer, or simpler ones")
    joint = [part.ravel() for part in np.meshgrid(*(np.array(each) for each in first), indexing="ij")]
    columns = {axes[at].name: _offsets(axes[at], cells) for at, cells in zip(places, joint, strict=True)}
    met = np.logical_or.reduce(truths_of([never.condition for never in group], columns))
    if met.all():
        listed = " and ".join(repr(never.text) for never in group)
        raise NotAllowed(f"no row is possible: every one meets never = {listed}", remedy="correct the condition in tacit.toml")
    return Rule(tuple(places), classes, ~met.reshape(sizes))


def _classes(axis: Any, group: Sequence[Never]) -> tuple[Codes, list[int]]:
    """The class of each cell, and the first cell of each class: cells with the same truths of all parts are one."""
    parts = [part for never in group for part in parts_of(never.condition) if axis.name in _columns_in(part)]
    if any(len(_columns_in(part)) > 1 for part in parts):
        return np.arange(axis.size), list(range(axis.size))
    cells = np.arange(axis.size)
    truths = truths_of([*parts, *(Negation(part) for part in parts)], {axis.name: _offsets(axis, cells)})
    _, first, classes = np.unique(np.stack(truths, axis=1), axis=0, return_index=True, return_inverse=True)
    return classes.ravel().astype(np.int64), first.tolist()


def _offsets(axis: Any, cells: Codes) -> tuple[Codes, Truths]:
    """The stored offsets at which cells begin, and which of them is that of NULL."""
    return np.array([*axis.begins, 0], dtype=np.int64)[cells], cells == len(axis.begins)


# --- rows that keep them -----------------------------------------------------------------------------------------------------


def barrier(rule: Rule, merged: Sequence[Codes]) -> Truths | None:
    """Which joint groups of cells are possible, flat: those with a possible cell. None if there are too many, or all are."""
    groups = [merged[at] for at in rule.places]
    sizes = [int(of.max()) + 1 for of in groups]
    possible = rule.possible
    for at, (of, classes, size) in enumerate(zip(groups, rule.classes, sizes, strict=True)):
        if prod([*sizes[: at + 1], *possible.shape[at + 1 :]]) > 50 * MOST_TOGETHER:
            return None
        has = np.zeros((size, possible.shape[at]), dtype=bool)
        has[of, classes] = True
        possible = np.moveaxis(np.tensordot(has, possible.astype(np.int64), axes=([1], [at])) > 0, 0, at)
    return None if possible.all() else possible.ravel()


def possible_codes(rules: Sequence[Rule], codes: Sequence[Codes], shares: Sequence[Any]) -> tuple[Codes, ...]:
    """The cells of rows, with those that meet a condition moved to the nearest possible ones: as few columns as can be.

    Among equally near ones, by the shares of their cells. No row of the result meets a condition.
    """
    kept = [np.array(each) for each in codes]
    for rule in rules:
        wrong = np.flatnonzero(~rule.holds(kept))
        if wrong.size:
            _move(rule, kept, wrong, [np.clip(np.asarray(share, dtype=np.float64), 0, None) + SMALL for share in shares])
    return tuple(kept)


def _move(rule: Rule, codes: list[Codes], wrong: Codes, shares: Sequence[Any]) -> None:
    allowed = np.argwhere(rule.possible)
    weights = np.ones(len(allowed))
    for at, (place, of) in enumerate(zip(rule.places, rule.classes, strict=True)):
        weights *= np.bincount(of, weights=shares[place], minlength=rule.possible.shape[at])[allowed[:, at]]
    present = np.stack([of[codes[place][wrong]] for of, place in zip(rule.classes, rule.places, strict=True)], axis=1)
    different, inverse = np.unique(present, axis=0, return_inverse=True)
    for at, classes in enumerate(different):
        rows = wrong[inverse.ravel() == at]
        changed = (allowed != classes).sum(axis=1)
        near = np.flatnonzero(changed == changed.min())
        taken = allowed[near[_places(weights[near], rows.size)]]
        for column, (place, of) in enumerate(zip(rule.places, rule.classes, strict=True)):
            for new in np.unique(taken[:, column]):
                moving = rows[(taken[:, column] == new) & (of[codes[place][rows]] != new)]
                cells = np.flatnonzero(of == new)
                codes[place][moving] = cells[_places(shares[place][cells], moving.size)]


def _places(weights: Any, size: int) -> Codes:
    """Positions in proportion to weights, by secure randomness."""
    ends = np.cumsum(weights)
    drawn = uniform_integers(2**40, size) / 2.0**40 * ends[-1] if size else np.zeros(0)
    return np.minimum(np.searchsorted(ends, drawn, side="right"), ends.size - 1).astype(np.int64)
