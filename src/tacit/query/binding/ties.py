"""What ties rows together: equalities of columns that name a unit or a key, and of columns with values."""

from __future__ import annotations

from tacit.errors import NotAllowed
from tacit.query.binding import terms
from tacit.query.binding.identities import names_in
from tacit.query.binding.scope import Identity, Scope, Source
from tacit.query.language.syntax import Apply, At, Expression, Name
from tacit.query.plan import Compare, Condition, Row, Term


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
    found = []
    for each in list(conditions):
        tied = tie(each, scope, Scope((source,)))
        if tied is not None and all(
            len(name.parts) > 1 or not (scope.has(name) and name.parts[-1].lower() in source.names) for name in names_in(each)
        ):
            conditions.remove(each)
            found.append(tied)
    return found


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
    one, two, _ = terms.aligned(left, right)
    return one, two


def unit_of(scope: Scope) -> str:
    """A column of the question that names the unit, or a key that leads to it, as people would write it."""
    found = [(each.space is not None, source.alias, name) for source in scope.sources for name, each in source.identities.items()]
    return ".".join(min(found, key=lambda each: each[0])[1:]) if found else "the unit"


def untied(scope: Scope, source: Source, at: At) -> NotAllowed:
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
