"""Joins with public tables: by an equality with one of their columns, whose values are public."""

from __future__ import annotations

from collections.abc import Sequence, Set

from tacit.errors import NotAllowed, WrongType
from tacit.privacy.catalog import Column
from tacit.query.binding import terms
from tacit.query.binding.identities import names_in
from tacit.query.binding.scope import Declared, Scope, Source, column_term
from tacit.query.language.syntax import Apply, At, Expression, Name
from tacit.query.plan import CategoryType, Choose, Condition, DateType, Literal, NumberType, Row, Term, TextColumn, TextIs
from tacit.query.plan import Column as PlanColumn
from tacit.query.size_limit import nodes_of


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


def matching(left: Term, column: Column, source: int, public: Set[int], at: At) -> Row:
    """The left side of a join in the stored offsets of a public column, NULL where the column has no such value."""
    return _translated(_mapped(left, public, at), column_term(source, column, False), column)


def public_numbers(scope: Scope) -> frozenset[int]:
    """The numbers of the public tables of a scope."""
    held = (column for source in scope.sources if source.table and source.table.public for column in source.columns.values())
    return frozenset(column.number for column in held if isinstance(column, Declared))


def _mapped(term: Term, public: Set[int], at: At) -> Term:
    """The private side of a join: a column, or an expression that maps declared values; refused where it is more than that.

    What chooses (CASE, and what is made of it) may look at one column: a condition on several, or on private text, belongs to
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


def _translated(left: Term, right: Term, column: Column) -> Row:
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
