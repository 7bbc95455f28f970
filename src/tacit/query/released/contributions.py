"""Limits on what one unit adds to an answer, as BigQuery writes them, made of sub-queries that group by the unit.

`SUM(cost, contribution_bounds_per_group => (0, 100))` by ward is the sum of clamped numbers of a sub-query with one row for each
unit and ward: of `SELECT patient_id, ward, SUM(cost) ... GROUP BY patient_id, ward`. Its price, its work and its proof are those of
sub-queries (stability.md). Bounds are never wider than what the catalog says; a narrower pair is another plan, and so another
question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from tacit.errors import NotAllowed
from tacit.query.binding.binder import Binder, has_aggregate
from tacit.query.binding.relations import Built, Relations
from tacit.query.binding.scope import Scope, keys_of, name_of, of_group, plain, source_of
from tacit.query.language.bounds import AGGREGATE, GROUP
from tacit.query.language.syntax import (
    Apply,
    At,
    Expression,
    Item,
    Limits,
    Name,
    Nested,
    Ordering,
    Select,
    Star,
)
from tacit.query.plan import Key, PublicScan, TextColumn
from tacit.query.question import size
from tacit.query.released.calls import is_bounded, over_groups

ROWS, UNIT = "rows of one unit", "the unit"
SEPARATE = "ask for it in a question of its own"


def per_unit_and_group(select: Select, relations: Relations) -> Select:
    """The question with its bounds per group, and its limit of groups, as a sub-query; the same one where neither narrows it."""
    bounded = any(map(is_bounded, over_groups(select)))
    if not bounded and select.limits.groups is None:
        return select
    built = relations.aside().of(select)
    if built.public or isinstance(built.rows, PublicScan):
        return select  # refused by whoever asked for private rows
    _check_unit(select.limits, built.scope)
    if select.sets:
        raise NotAllowed(
            "contributions are limited in the groups of one set of keys, not with ROLLUP, CUBE and GROUPING SETS",
            remedy="ask for each set of keys by itself",
            at=select.group_by[0].at if select.group_by else None,
        )
    keys = _keys_of(select, built)
    if not bounded and not _narrows(select.limits, keys, built, relations):
        return select
    units = [Name((source.alias, name)) for source in built.scope.sources if not source.optional for name in source.unit_names]
    if not units:
        return _of_single_rows(select, built)
    return _Rewriting(built.scope, keys).of(select, units[0])


def _is_released(expression: Expression) -> bool:
    return is_bounded(expression) or has_aggregate(expression)


@dataclass(frozen=True, slots=True)
class _Key:
    """A key as it is written, and as the sub-query calls it."""

    expression: Expression
    name: str
    size: int


def _keys_of(select: Select, built: Built) -> list[_Key]:
    binder, keys = Binder(built.scope), []
    for written in keys_of(select.group_by, select.items, _is_released):
        expression, name = of_group(written, select.items, built.scope)
        if isinstance(expression, Name) and built.scope.identity(expression) is not None:
            raise NotAllowed(
                f"GROUP BY {'.'.join(expression.parts)[:120]} would return one row per person",
                remedy="group by it in a sub-query, and aggregate over its rows",
                at=written.at,
            )
        term = binder.term(expression)
        if isinstance(term.node, TextColumn):
            raise NotAllowed(
                "contributions per group cannot be limited in groups of private text",
                remedy="declare the values of the column, use max_rows_contributed, or leave the limit out",
                at=written.at,
            )
        keys.append(_Key(expression, name or name_of(expression), size(Key("", term))))
    return keys


def _narrows(limits: Limits, keys: list[_Key], built: Built, relations: Relations) -> bool:
    """Whether a unit can be in more groups than max_groups_contributed allows."""
    assert not isinstance(built.rows, PublicScan)  # noqa: S101  # the caller has looked
    return limits.groups is not None and min(relations.rows_of(built.rows), prod(key.size for key in keys)) > limits.groups


def _of_single_rows(select: Select, built: Built) -> Select:
    """The question where each row is a unit of its own: what a unit adds to a group is what its row adds."""
    assert not isinstance(built.rows, PublicScan)  # noqa: S101  # the caller has looked

    def written(expression: Expression) -> Expression:
        if not isinstance(expression, Apply):
            return expression
        if expression.function not in AGGREGATE:
            return replace(expression, arguments=tuple(map(written, expression.arguments)))
        over, *bounds = expression.arguments
        if expression.function == "count per group":
            raise NotAllowed(
                "each row is a unit of its own here, which adds 1 to a count: its bounds change nothing",
                remedy="write COUNT(*) or COUNT(x)",
                at=expression.at,
            )
        clamped = Apply("clamped", (over, *bounds), over.at) if bounds else over
        return Apply(AGGREGATE[expression.function], (clamped,), expression.at)

    return _with(select, written)


def _with(select: Select, written: Callable[[Expression], Expression]) -> Select:
    """The question with its expressions over groups written again; every column keeps its name."""
    return replace(
        select,
        items=tuple(Item(written(item.expression), item.name or _named(item.expression)) for item in select.items),
        having=None if select.having is None else written(select.having),
        qualify=None if select.qualify is None else written(select.qualify),
        order_by=tuple(Ordering(written(order.expression), order.descending) for order in select.order_by),
    )


def _named(expression: Expression) -> str:
    """The name of a column that has none: that of the same aggregate without bounds."""
    if isinstance(expression, Apply):
        arguments = expression.arguments[:1] if expression.function in AGGREGATE else expression.arguments
        parts = tuple(part if not isinstance(part, Apply) else Name((_named(part),)) for part in arguments)
        expression = replace(expression, function=AGGREGATE.get(expression.function, expression.function), arguments=parts)
    return name_of(expression)


@dataclass
class _Rewriting:
    """Writes a question over a sub-query with one row for each unit and group, which has each total once."""

    scope: Scope
    keys: list[_Key]
    totals: dict[object, Item] = field(default_factory=dict)

    def of(self, select: Select, unit: Name) -> Select:
        """The question over the sub-query."""
        columns = [Item(key.expression, f"group {place}") for place, key in enumerate(self.keys)]
        outer = _with(select, self.written)
        inner = Select(
            items=(Item(unit, UNIT), *columns, *self.totals.values()),
            table=select.table,
            joins=select.joins,
            where=select.where,
            group_by=(unit, *(key.expression for key in self.keys)),
            limits=Limits(groups=select.limits.groups),
        )
        nested = Nested(inner, ROWS, source_of(select).at)
        groups = tuple(Name((column.name or "",)) for column in columns)
        named = {plain(name): key.name for name, key in zip(groups, self.keys, strict=True)}
        items = tuple(
            Item(item.expression, named.get(plain(item.expression), item.name) if original.name is None else item.name)
            for item, original in zip(outer.items, select.items, strict=True)
        )
        limits = replace(select.limits, unit=None, groups=None)
        return replace(outer, items=items, table=nested, joins=(), where=None, group_by=groups, limits=limits)

    def written(self, expression: Expression) -> Expression:
        """An expression over groups; aggregates and keys are made of columns of the sub-query."""
        same = plain(expression, self.scope)
        for place, key in enumerate(self.keys):
            if plain(key.expression, self.scope) == same or (
                isinstance(expression, Name) and expression.parts == (key.name,) and not self.scope.has(expression)
            ):
                return Name((f"group {place}",), expression.at)
        if isinstance(expression, Name) and self._is_unit(expression):
            return Name((UNIT,), expression.at)
        if not isinstance(expression, Apply):
            return expression
        if expression.function in AGGREGATE:
            return self._bounded(expression)
        if expression.function == "over":  # its own function is one over released numbers
            call, *rest = expression.arguments
            call = replace(call, arguments=tuple(map(self.written, call.arguments))) if isinstance(call, Apply) else call
            return replace(expression, arguments=(call, *map(self.written, rest)))
        if expression.function in ("count", "sum"):
            return self._over("sum", self._total(expression.function, expression.arguments[0], expression.at), expression.at)
        if expression.function == "count_distinct" and len(expression.arguments) == 1:
            (counted,) = expression.arguments
            if isinstance(counted, Name) and self._is_unit(counted):
                return replace(expression, arguments=(Name((UNIT,), counted.at),))
        if has_aggregate(replace(expression, arguments=())):
            raise NotAllowed(
                f"{expression.function.upper().replace('_DISTINCT', '(DISTINCT ...)')} cannot stand beside limits of contributions "
                "per group: beside them stand COUNT, SUM, and AVG with bounds",
                remedy=f"give AVG its {GROUP}, or {SEPARATE}",
                at=expression.at,
            )
        return replace(expression, arguments=tuple(map(self.written, expression.arguments)))

    def _bounded(self, expression: Apply) -> Expression:
        """The sum, or the mean, of what each unit adds to a group, clamped."""
        plainly = AGGREGATE[expression.function]
        total = self._total(plainly, expression.arguments[0], expression.at)
        clamped = Apply("clamped", (total, *expression.arguments[1:]), expression.at) if expression.arguments[1:] else total
        return self._over("avg" if plainly == "avg" else "sum", clamped, expression.at)

    def _over(self, function: str, value: Expression, at: At) -> Apply:
        return Apply(function, (value,), at)

    def _total(self, function: str, over: Expression, at: At) -> Name:
        said = (function, "*" if isinstance(over, Star) else plain(over, self.scope))
        total = Item(Apply(function, (over,), at), f"total {len(self.totals)}")
        return Name((self.totals.setdefault(said, total).name or "",), at)

    def _is_unit(self, name: Name) -> bool:
        named = self.scope.named(name)
        return named is not None and named[1].space is None and not named[0].optional


# --- the other options -------------------------------------------------------------------------------------------------------


def check_limits(limits: Limits, scope: Scope, keys: Sequence[Key], at: At) -> None:
    """Refuses a unit that is not the catalog's, and a way to choose groups that is not that of these keys."""
    _check_unit(limits, scope)
    hidden = [key.name for key in keys if isinstance(key.term.node, TextColumn)]
    if limits.selection == "PUBLIC_GROUPS" and hidden:
        raise NotAllowed(
            f"the groups of {hidden[0][:60]} are private: its values are not declared, so PUBLIC_GROUPS cannot show them",
            remedy="declare its values, or leave group_selection_strategy out",
            at=at,
        )
    if limits.selection == "LAPLACE_THRESHOLD" and not hidden:
        raise NotAllowed(
            "all groups are public by the catalog and are shown, so there is no threshold",
            remedy="write PUBLIC_GROUPS, or leave group_selection_strategy out",
            at=at,
        )
    if limits.people is not None and not hidden:
        raise NotAllowed(
            "min_privacy_units_per_group hides groups of private keys alone: these groups are public and all of them are shown",
            remedy="leave it out, or write HAVING COUNT(DISTINCT unit) >= n",
            at=at,
        )
    least = max((source.table.min_people for source in scope.sources if source.table is not None), default=0)
    if limits.people is not None and limits.people < least:
        raise NotAllowed(
            f"min_privacy_units_per_group = {limits.people} is less than the catalog allows: min_people is {least}",
            remedy=f"write at least {least}, or leave it out",
            at=at,
        )


def _check_unit(limits: Limits, scope: Scope) -> None:
    """The unit is the catalog's; the option can say which column names it, and no more."""
    if limits.unit is None:
        return
    known = [name for source in scope.sources if not source.optional for name in source.unit_names]
    holder = scope.named(limits.unit)
    if holder is None or holder[1].space is not None or holder[0].optional:
        raise NotAllowed(
            f"privacy_unit_column = {'.'.join(limits.unit.parts)[:120]} is not the privacy unit, which the catalog declares",
            remedy=f"write {known[0]}, or leave it out" if known else "leave it out: each row is a unit of its own",
            at=limits.unit.at,
        )
