"""Semi- and anti-joins: EXISTS, IN and their negations, over rows of the same unit or over public tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.errors import NotAllowed
from tacit.query.binding.binder import Binder
from tacit.query.binding.scope import Scope
from tacit.query.binding.select_list import has_aggregate
from tacit.query.binding.ties import codes, equal, not_of_the_unit, sides, tie
from tacit.query.language.syntax import Apply, Exists, Expression, InQuery, Name, Nested, Select
from tacit.query.plan import IsNull, Negation, Rows, Semi, Where

if TYPE_CHECKING:
    from tacit.query.binding.relations import Relations


def looked_up(written: Expression) -> tuple[Exists | InQuery, bool] | None:
    """A sub-query that is a condition of its own, and whether it is negated."""
    negated = False
    while isinstance(written, Apply) and written.function == "not":
        (written,), negated = written.arguments, not negated
    return (written, negated) if isinstance(written, Exists | InQuery) else None


def semi(relations: Relations, rows: Rows, scope: Scope, asked: Exists | InQuery, negated: bool) -> Rows:
    """The rows that have, or have not, a row in the sub-query."""
    if isinstance(asked, Exists):
        return _exists(relations, rows, scope, asked, negated)
    return _among(relations, rows, scope, asked, negated)


def _exists(relations: Relations, rows: Rows, scope: Scope, asked: Exists, negated: bool) -> Rows:
    """EXISTS: the conditions that name outer columns are equalities, one of them of the unit where the inside is private."""
    query = asked.query
    if not isinstance(query, Select) or query.group_by or query.having or query.qualify or query.limit is not None or query.offset:
        raise NotAllowed(
            "EXISTS is answered over SELECT ... FROM ... WHERE", remedy="leave out GROUP BY, HAVING and LIMIT", at=asked.at
        )
    if any(has_aggregate(item.expression) for item in query.items):
        raise NotAllowed(
            "EXISTS over an aggregate is always true: there is a row even if no row is counted",
            remedy="write EXISTS (SELECT 1 FROM ...)",
            at=asked.at,
        )
    relations.count_query(asked.at)
    built = relations.of(query, around=scope)
    ties, pairs = [], []
    for each in built.outer:
        tied = tie(each, scope, built.scope)
        compared = None if tied else sides(each, scope, built.scope)
        if tied is not None:
            ties.append(tied)
        elif compared is not None:
            pairs.append(equal(Binder(scope).term(compared[0]), Binder(built.scope).term(compared[1])))
        else:
            raise NotAllowed(
                "inside EXISTS, a condition may compare the outer row with = only, joined with AND",
                remedy="move other conditions to one of the two queries",
                at=each.at,
            )
    if not built.public and not ties:
        raise not_of_the_unit("EXISTS", scope, asked.at)
    if built.public and not pairs:
        raise NotAllowed("EXISTS does not depend on the row", remedy="compare a column of both with =", at=asked.at)
    pairs += [pair for left, right in ties if (pair := codes(left, right)) is not None]
    return Semi(rows, built.rows, tuple(pairs), negated)


def _among(relations: Relations, rows: Rows, scope: Scope, asked: InQuery, negated: bool) -> Rows:
    """IN: the unit or a key of it among those of the inner rows, or a value among those of a public table.

    NOT IN is read as NOT EXISTS: a NULL among the inner values excludes nobody.
    """
    from tacit.query.binding.subqueries import nested

    part = nested(relations, Nested(asked.query, "the sub-query", asked.at))
    if len(part.source.names) != 1:
        raise NotAllowed("the sub-query of IN has one column", remedy="write IN (SELECT id FROM ...)", at=asked.at)
    (name,) = part.source.names
    if not part.public:
        left = scope.identity(asked.value) if isinstance(asked.value, Name) else None
        right = part.source.identities.get(name)
        if left is None or right is None or left[1].space != right.space:
            raise not_of_the_unit("IN", scope, asked.at)
        pair = codes(left[1], right)
        return Semi(rows, part.rows, (pair,) if pair else (), negated)
    value = Binder(scope).term(asked.value)
    inner = Binder(Scope((part.source,))).term(Name((name,)))
    if negated and value.nullable:
        rows = Where(rows, Negation(IsNull(value.node)))
    return Semi(rows, part.rows, (equal(value, inner),), negated)
