"""Conditions of ON and WHERE: the columns by which rows of two tables may meet, and whether a condition can hold at all.

Rows meet by columns that name a unit or a key, and by columns of public tables. A condition that no row can meet, by the declared
ranges alone, is refused before it is paid for. That errs to one side: `can_be` is False only where no prepared row could make the
condition so, whatever the data holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from tacit.errors import NeverTrue, NotAllowed, WrongType
from tacit.privacy import catalog
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.privacy.rounding import as_text
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder
from tacit.query.binding.scope import Declared, Identity, Scope, Source, column_term
from tacit.query.language.syntax import Apply, At, Expression, InQuery, Name
from tacit.query.plan import (
    All,
    Among,
    CategoryType,
    Choose,
    Code,
    Compare,
    Condition,
    DateType,
    Either,
    IsNull,
    Literal,
    Negation,
    NumberType,
    Row,
    Term,
    TextColumn,
    TextIs,
    Truth,
)
from tacit.query.plan import Column as PlanColumn
from tacit.query.trees import nodes_of

# --- columns by which rows of two tables may meet ----------------------------------------------------------------------------


# --- columns that name the unit, or a key that leads to it -------------------------------------------------------------------


MOST_CODES = 2**53 - 1


def code_column(source: int, name: str) -> Code:
    """The code of a key in the store: compared with others, never shown or computed with."""
    from tacit.data.ownership import code_name

    return Code(source, code_name(name), 0, MOST_CODES, True)


def identities_of(catalog: Catalog, table: Table, source: int) -> dict[str, Identity]:
    """The identities of a private table: its own key (the unit, or what leads to it), and keys in which others look theirs up."""
    from tacit.data.ownership import coded_keys, led_through, own_key

    identities: dict[str, Identity] = {}
    own, through = own_key(table), led_through(catalog, table)
    if own is not None and through is None:
        identities[own.lower()] = Identity(None)
    for column, space in coded_keys(catalog)[table.name].items():
        named = table.key == column and (own != column or through is not None)  # then preparation keeps one row of a unit
        identities.setdefault(column.lower(), Identity(space, code_column(source, column), named))
    return identities


def conjuncts(written: Expression | None) -> Iterator[Expression]:
    """The conditions that AND joins."""
    if isinstance(written, Apply) and written.function == "and":
        for part in written.arguments:
            yield from conjuncts(part)
    elif written is not None:
        yield written


def names_in(written: Expression) -> Iterator[Name]:
    """Every column that an expression names, sub-queries apart."""
    if isinstance(written, Name):
        yield written
    elif isinstance(written, Apply):
        for part in written.arguments:
            yield from names_in(part)
    elif isinstance(written, InQuery):
        yield from names_in(written.value)


# --- equalities between private tables ---------------------------------------------------------------------------------------


def is_equality(written: Expression) -> bool:
    """Whether a condition is a comparison with =."""
    return isinstance(written, Apply) and written.function == "="


def tie(written: Expression, left: Scope, right: Scope) -> tuple[Identity, Identity] | None:
    """The two identities that an equality compares, where they have the same values."""
    if not isinstance(written, Apply) or written.function != "=":
        return None
    one, two = written.arguments
    if not isinstance(one, Name) or not isinstance(two, Name):
        return None
    for first, second in ((one, two), (two, one)):
        near, far = left.identity(first), right.identity(second)
        if near is not None and far is not None and near[0] is not far[0] and near[1].space == far[1].space:
            return near[1], far[1]
    return None


def ties_in(scope: Scope, source: Source, conditions: list[Expression]) -> list[tuple[Identity, Identity]]:
    """The ties between what is there and a new source; they are taken out of the conditions."""
    ties = []
    for each in list(conditions):
        tied = tie(each, scope, Scope((source,)))
        if tied is not None and all(
            len(name.parts) > 1 or not (scope.has(name) and name.parts[-1].lower() in source.names) for name in names_in(each)
        ):
            conditions.remove(each)
            ties.append(tied)
    return ties


def codes(left: Identity, right: Identity) -> tuple[Row, Row] | None:
    """The codes that are compared; of the unit itself nothing more, since it always is."""
    return (left.node, right.node) if left.node is not None and right.node is not None else None


def same_key(written: Expression, scope: Scope) -> Condition | None:
    """A comparison of two keys of sources that are joined already."""
    tied = tie(written, scope, scope)
    pair = codes(*tied) if tied is not None else None
    return Compare("=", *pair) if pair is not None else None


def sides(written: Expression, left: Scope, right: Scope) -> tuple[Expression, Expression] | None:
    """The sides of an equality between a column of the left scope and one of the right."""
    if not isinstance(written, Apply) or written.function != "=":
        return None
    one, two = written.arguments
    for near, far in ((one, two), (two, one)):
        ours, others = list(names_in(near)), list(names_in(far))
        here = all(left.has(name) and not right.has(name) for name in ours)  # what both have is of the inner query
        if ours and others and here and all(map(right.has, others)):
            return near, far
    return None


def equal(left: Term, right: Term) -> tuple[Row, Row]:
    """Two terms as integers of one meaning."""
    one, two, _ = terms.on_one_step(left, right)
    return one, two


def unit_of(scope: Scope) -> str:
    """A column of the question that names the unit, or a key that leads to it, as people would write it."""
    names = [(each.space is not None, source.alias, name) for source in scope.sources for name, each in source.identities.items()]
    return ".".join(min(names, key=lambda each: each[0])[1:]) if names else "the unit"


def no_tie(scope: Scope, source: Source, at: At) -> NotAllowed:
    """The refusal of a join between rows of different units."""
    return NotAllowed(
        f"{source.alias} is private: it can be joined with other private rows of the same unit only",
        remedy=_way(scope, source),
        at=at,
    )


def _way(scope: Scope, source: Source) -> str:
    """How a source could be joined: on the unit, or on the key that leads to it."""
    for near, far in ((source, scope.sources), (scope.sources[0], (source,))):
        if not near.identities:
            return f"select the column of the unit in {near.alias}, and join on it"
        if not near.unit_names:
            name, identity = next(iter(near.identities.items()))
            table, column = identity.space or ("", "")
            alias = next((each.alias for each in far if each.table is not None and each.table.name == table), table)
            return f"join it with {table} on the key: ON {near.alias}.{name} = {alias}.{column}"
    return f"join on the unit: ON {unit_of(scope)} = {source.alias}.{source.unit_names[0]}"


def not_of_the_unit(word: str, scope: Scope, at: At) -> NotAllowed:
    """The refusal of a sub-query over rows of other units."""
    unit = unit_of(scope)
    inside = f"{unit} IN (the units of the inner rows)" if word == "IN" else f"WHERE t.{unit.split('.')[-1]} = {unit} AND ..."
    named = any(source.identities for source in scope.sources)
    return NotAllowed(
        f"{word} looks at rows of other units: a private sub-query must be tied to the unit of the outer row",
        remedy=f"compare the unit: {inside}" if named else "select the column of the unit in the outer sub-query, and compare it",
        at=at,
    )


# --- joins with public tables, by values that are public ---------------------------------------------------------------------


def join_column(
    scope: Scope, source: Source, conditions: list[Expression], shared: Sequence[str], at: At
) -> tuple[Expression, Column]:
    """The expression on the private side, and the column of the public table; their equality is taken out of the conditions."""
    alone = Scope((source,))
    for name in shared:
        return Name((name,)), _column(alone, Name((name,)))
    for each in conditions:
        if not isinstance(each, Apply) or each.function != "=":
            continue
        one, two = each.arguments
        for left, right in ((one, two), (two, one)):
            if isinstance(right, Name) and _belongs(right, source, scope) and all(map(scope.has, names_in(left))):
                conditions.remove(each)
                return left, _column(alone, right)
    raise NotAllowed(
        f"the join with {source.alias} needs an equality with one of its columns",
        remedy=f"write ON t.x = {source.alias}.x",
        at=at,
    )


def _column(scope: Scope, name: Name) -> Column:
    held = scope.find(name)[1]
    if not isinstance(held, Declared):
        raise NotAllowed("a join with a public table needs one of its columns", remedy="join the table itself", at=name.at)
    return held.column


def _belongs(name: Name, source: Source, scope: Scope) -> bool:
    if len(name.parts) > 1:
        return name.parts[0].lower() == source.alias.lower()
    return name.parts[-1].lower() in source.columns and not scope.has(name)


def join_row(left: Term, column: Column, source: int, public: Set[int], at: At) -> Row:
    """The left side of a join in the stored offsets of a public column, NULL where the column has no such value."""
    return _translate(_private_side(left, public, at), column_term(source, column, False), column)


def public_numbers(scope: Scope) -> frozenset[int]:
    """The numbers of the public tables of a scope."""
    held = (column for source in scope.sources if source.table and source.table.public for column in source.columns.values())
    return frozenset(column.number for column in held if isinstance(column, Declared))


def _private_side(term: Term, public: Set[int], at: At) -> Term:
    """The private side of a join: a column, or an expression that maps declared values; refused where it is more than that.

    A choice (CASE, and anything made of it) may look at one column: a condition on several, or on private text, belongs to
    WHERE.
    """
    choices = [node for node in nodes_of(term.node) if isinstance(node, Choose)]
    columns = [{leaf for leaf in nodes_of(choice) if isinstance(leaf, PlanColumn | TextColumn)} for choice in choices]
    private = [used for used in columns if any(leaf.source not in public for leaf in used)]
    if any(len(used) > 1 or any(isinstance(leaf, TextColumn) for leaf in used) for used in private):
        raise NotAllowed(
            "ON compares a CASE over several columns or over private text: it may map the declared values of one column",
            remedy="join on a column, and put the condition into WHERE",
            at=at,
        )
    return term


def _translate(left: Term, right: Term, column: Column) -> Row:
    """The left side in the stored offsets of the right column, NULL where the right column has no such value."""
    if isinstance(left.node, TextColumn) and isinstance(right.type, CategoryType):
        branches: list[tuple[Condition, Row]] = [
            (TextIs(left.node, (value,)), Literal(code)) for code, value in enumerate(right.type.values) if isinstance(value, str)
        ]
        return terms.choose(branches, Literal(None))
    if isinstance(left.type, CategoryType) and isinstance(right.type, CategoryType):
        places = {value: code for code, value in enumerate(right.type.values)}
        return terms.lookup(left, [places.get(value) for value in left.type.values])
    if isinstance(left.type, NumberType) and isinstance(right.type, NumberType):
        offset = terms.subtract(left, terms.constant(column.bounds[0])) if column.bounds else left
        if (terms.number_step(offset) / right.type.step).denominator != 1:
            raise WrongType("the two sides of the join have different steps", remedy="declare the same step for both")
        return terms.on_step(offset, right.type.step)
    if isinstance(left.type, DateType) and isinstance(right.type, DateType) and not isinstance(left.node, TextColumn):
        return terms.plus(left.node, Literal(-right.node.low if not isinstance(right.node, TextColumn) else 0))
    raise WrongType("the two sides of the join are of different kinds", remedy="join like with like")


def can_be(condition: Condition, wanted: bool = True) -> bool:
    """Whether some row could make the condition true (or false, if that is wanted).

    >>> from tacit.query.plan import Column
    >>> age = Column(0, "age", 0, 110, nullable=True)
    >>> can_be(Compare("<", Literal(500), age)), can_be(Compare("<", Literal(50), age))
    (False, True)
    """
    match condition:
        case Truth():
            return condition.value is wanted
        case Negation():
            return can_be(condition.part, not wanted)
        case All() | Either():
            joint = isinstance(condition, All) == wanted  # all parts at once, or one of them
            each = [can_be(part, wanted) for part in condition.parts]
            return all(each) and _together(condition.parts, wanted) if joint else any(each)
        case IsNull():
            return condition.child.nullable if wanted else condition.child != Literal(None)
        case Compare():
            return _compares(condition, wanted)
        case Among():
            return _meets(condition.child, condition.values, wanted)
        case _:
            return True  # of private text nothing is declared


def always_null(row: Row) -> bool:
    """Whether a value is NULL in every row: a CASE none of whose conditions can hold, without ELSE."""
    if isinstance(row, Choose):
        reached = [value for condition, value in row.branches if can_be(condition)]
        return all(map(always_null, [*reached, row.otherwise]))
    return row == Literal(None)


def _compares(condition: Compare, wanted: bool) -> bool:
    left, right = condition.left, condition.right
    if Literal(None) in (left, right):
        return False
    match condition.operator:
        case "<":
            return left.low < right.high if wanted else left.high >= right.low
        case "<=":
            return left.low <= right.high if wanted else left.high > right.low
        case _:
            if wanted:
                return left.low <= right.high and right.low <= left.high
            return not left.low == left.high == right.low == right.high


def _meets(child: Row, values: Sequence[int], wanted: bool) -> bool:
    inside = {value for value in values if child.low <= value <= child.high}
    return bool(inside) if wanted else len(inside) < child.high - child.low + 1


# --- several conditions on the same number at once ---------------------------------------------------------------------------


@dataclass
class _Left:
    """The part of the range of one number that conditions leave."""

    low: int
    high: int
    allowed: set[int] | None = None
    excluded: set[int] = field(default_factory=set)

    def is_empty(self) -> bool:
        if self.allowed is not None:
            return not any(self.low <= value <= self.high and value not in self.excluded for value in self.allowed)
        inside = sum(self.low <= value <= self.high for value in self.excluded)
        return self.high - self.low + 1 <= inside


def _together(parts: Sequence[Condition], wanted: bool) -> bool:
    """Whether all of these could be so at once, as far as each compares one number with constants."""
    left: dict[Row, _Left] = {}
    for condition, is_so in _flat(parts, wanted):
        constraint = _constraint(condition, is_so)
        if constraint is None:
            continue
        child, low, high, values, is_in = constraint
        rest = left.setdefault(child, _Left(child.low, child.high))
        rest.low, rest.high = max(rest.low, low), min(rest.high, high)
        if values is not None and is_in:
            rest.allowed = set(values) if rest.allowed is None else rest.allowed & set(values)
        elif values is not None:
            rest.excluded |= set(values)
    return not any(rest.is_empty() for rest in left.values())


def _flat(parts: Sequence[Condition], wanted: bool) -> Iterator[tuple[Condition, bool]]:
    """The conditions that must be true (or false) together, without the ANDs (or ORs) and NOTs around them."""
    for part in parts:
        if isinstance(part, Negation):
            yield from _flat((part.part,), not wanted)
        elif isinstance(part, All if wanted else Either):
            yield from _flat(part.parts, wanted)
        else:
            yield part, wanted


_Constraint = tuple[Row, int, int, tuple[int, ...] | None, bool]


def _constraint(condition: Condition, wanted: bool) -> _Constraint | None:
    """A number, the range that it must lie in, and the values that it must (or must not) have; None for other conditions."""
    if isinstance(condition, Among):
        return condition.child, condition.child.low, condition.child.high, condition.values, wanted
    if not isinstance(condition, Compare):
        return None
    for child, other, mirrored in ((condition.left, condition.right, False), (condition.right, condition.left, True)):
        if isinstance(other, Literal) and other.value is not None and not isinstance(child, Literal):
            return _against(condition.operator, child, other.value, mirrored, wanted)
    return None


def _against(operator: str, child: Row, value: int, mirrored: bool, wanted: bool) -> _Constraint:
    """child operator value, or value operator child if mirrored, or the opposite where it must be false."""
    if operator == "=":
        return child, child.low, child.high, (value,), wanted
    strict, at_least = (operator == "<") == wanted, mirrored == wanted
    border = value + (strict if at_least else -strict)
    return (child, border, child.high, None, True) if at_least else (child, child.low, border, None, True)


# --- a condition of WHERE that some row can meet -----------------------------------------------------------------------------


def possible(written: Expression, binder: Binder) -> Condition:
    """The condition of WHERE; refused where the catalog alone decides that no row can meet it, at the part that says so."""
    for part in conjuncts(written):
        condition = binder.condition(part)
        if not can_be(condition):
            raise _never(part, condition, binder.scope)
    whole = binder.condition(written)
    if not can_be(whole):
        remedy = "check the borders of each"
        raise NeverTrue("the conditions exclude each other: no row can meet all of them", remedy=remedy, at=written.at)
    return whole


def _never(written: Expression, condition: Condition, scope: Scope) -> NeverTrue:
    if condition == Truth(None):
        return NeverTrue("a comparison with NULL is never true", remedy="use IS NULL or IS NOT NULL", at=written.at)
    held = (scope.find(name)[1] for name in names_in(written))
    columns = dict.fromkeys(each.column for each in held if isinstance(each, Declared))
    declared = ", ".join(f"{column.name} is {words}" for column in columns if (words := declared_range(column)))
    what = "the condition is never true" + (f": {declared}" if declared else "")
    return NeverTrue(what, remedy="compare with a value that can occur", at=written.at)


def declared_range(column: catalog.Column) -> str:
    """The declared values of a column, in words; empty if they are private."""
    if column.kind == "category":
        return f"one of {', '.join(map(repr, column.domain[:20]))}" + (", ..." if column.domain[20:] else "")
    if column.bounds is None or column.step is None:
        return ""
    if column.kind == "date":
        return f"from {catalog.day_of(int(column.bounds[0]))} to {catalog.day_of(int(column.bounds[1]))}"
    steps = f" in steps of {as_text(column.step)}" if column.step != 1 else ""
    return f"from {as_text(column.bounds[0])} to {as_text(column.bounds[1])}{steps}"
