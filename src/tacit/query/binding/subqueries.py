"""Sub-queries in FROM and IN: they filter, rename and compute, or they make one row of each unit (stability.md).

What only filters, renames or computes is written in place: its columns are terms over the tables inside. A GROUP BY must keep the
unit, or a key that leads to it; its aggregates are then numbers of one unit, with ranges that follow from the row limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tacit.errors import NotAllowed
from tacit.query.binding.binder import Binder
from tacit.query.binding.naming import keys_of, name_of, of_group, plain
from tacit.query.binding.relations import Built, Part, Relations
from tacit.query.binding.scope import Declared, Identity, Scope, Source
from tacit.query.binding.select_list import has_aggregate
from tacit.query.binding.totals import Totals
from tacit.query.binding.unions import Found, Held, union
from tacit.query.binding.where import possible
from tacit.query.language.syntax import At, Expression, Item, Name, Nested, Query, Select, Star, UnionAll
from tacit.query.plan import (
    Column,
    PerUnit,
    PublicScan,
    Row,
    Rows,
    Term,
    TextColumn,
    Where,
)
from tacit.query.price.stability import rows_of


def nested(relations: Relations, item: Nested) -> Part:
    """A sub-query as an item of FROM."""
    relations.count_query(item.at)
    rows, columns, public, is_plain = _of(relations, item.query)
    known: dict[str, Declared | Term] = {}
    identities: dict[str, Identity] = {}
    for name, held in columns:
        if name in known or name in identities:
            raise NotAllowed(f"duplicate column name in the sub-query: {name[:60]!r}", remedy="give one a name with AS", at=item.at)
        if isinstance(held, Identity):
            identities[name] = held
        else:
            known[name] = held
    return Part(rows, Source(item.alias, known, identities), public, item.at, is_plain)


def _of(relations: Relations, query: Query) -> Found:
    if isinstance(query, UnionAll):
        return union(relations, query, _of)
    if query.limit is not None or query.offset or query.qualify is not None:
        raise NotAllowed(
            "LIMIT in a sub-query would choose among the rows of all people",
            remedy="leave it out, or use MIN, MAX or a quantile",
            at=query.table.at,
        )
    built = relations.of(query)
    grouped = query.group_by or query.distinct or query.having is not None or any(has_aggregate(i.expression) for i in query.items)
    if not grouped:
        columns = [column for item in query.items for column in _columns(item, built)]
        return built.rows, columns, built.public, built.plain
    if built.public or isinstance(built.rows, PublicScan):
        raise NotAllowed(
            "a sub-query over public tables cannot be grouped", remedy="join the public table itself", at=query.table.at
        )
    return (*_per_unit(relations, query, built, built.rows), False, False)


def _columns(item: Item, built: Built) -> Iterator[tuple[str, Held]]:
    """The columns that an item of SELECT gives; a key stays a key while every row of its table is there at most once."""
    if isinstance(item.expression, Star):
        wanted = item.expression.table
        for source in built.scope.sources:
            if wanted is None or source.alias.lower() == wanted.lower():
                yield from _all_of(source, built)
        return
    name = (item.name or name_of(item.expression)).lower()
    found = built.scope.identity(item.expression) if isinstance(item.expression, Name) else None
    if found is not None:
        yield name, _kept(found[1], built)
    else:
        yield name, _held(item.expression, built.scope)


def _all_of(source: Source, built: Built) -> Iterator[tuple[str, Held]]:
    for name, identity in source.identities.items():
        if name not in source.using and not (source.optional and name in source.unit_names):
            yield name, _kept(identity, built)
    for name, held in source.columns.items():
        if name not in source.identities and name not in source.using:
            alone = Scope((source,))
            yield name, held if isinstance(held, Declared) and not source.optional else _held(Name((name,)), alone)


def _kept(identity: Identity, built: Built) -> Identity:
    return identity if built.plain else replace(identity, unique=False)


def _held(expression: Expression, scope: Scope) -> Held:
    if isinstance(expression, Name):
        source, held = scope.find(expression)
        if isinstance(held, Declared) and held.column.kind == "presence" and not source.optional:
            return held
    return Binder(scope).term(expression)


# --- one row for each unit ---------------------------------------------------------------------------------------------------


def _per_unit(relations: Relations, query: Select, built: Built, rows: Rows) -> tuple[Rows, list[tuple[str, Held]]]:
    if query.distinct and query.group_by:
        raise NotAllowed("DISTINCT beside GROUP BY is not supported", remedy="leave one of them out", at=query.table.at)
    source, binder = next(relations.numbers), Binder(built.scope)
    written = [item.expression for item in query.items] if query.distinct and not query.group_by else _keys(query)
    identities: dict[object, tuple[str, Identity]] = {}
    keys: dict[object, tuple[str, Term]] = {}
    nodes: list[tuple[str, Row]] = []
    for each in written:
        expression, _ = of_group(each, query.items, built.scope)
        found = built.scope.identity(expression) if isinstance(expression, Name) else None
        name = f"key {len(nodes)}"
        if found is not None:
            if found[1].node is not None:
                nodes.append((name, found[1].node))
            code = Column(source, name, 0, found[1].node.high, True) if found[1].node is not None else None
            identities[plain(expression, built.scope)] = (name, Identity(found[1].space, code))
            continue
        term = binder.term(expression)
        node = term.node if not isinstance(term.node, TextColumn) else None
        if node is None:
            raise NotAllowed("private text cannot be a key of a sub-query", remedy="declare the column's values", at=each.at)
        nodes.append((name, node))
        keys[plain(expression, built.scope)] = (name, replace(term, node=Column(source, name, node.low, node.high, node.nullable)))
    if not identities:
        raise _loses_the_unit(built.scope, query.table.at)
    if len(keys) == 0 and len(identities) == 1:
        identities = {key: (name, replace(each, unique=each.node is not None)) for key, (name, each) in identities.items()}
    totals = Totals(binder, rows_of(rows), source, keys)
    columns = [column for item in query.items for column in _of_item(item, built, totals, identities)]
    having = totals.written(query.having) if query.having is not None else None
    per = PerUnit(rows, tuple(nodes), tuple(made.total for made in totals.found.values()), source)
    known: dict[str, Declared | Term] = dict(keys.values())
    known |= {made.column.name: made.term for made in totals.found.values()}
    inside = Scope((Source("", known),))
    given: list[tuple[str, Held]] = [
        (name, held if isinstance(held, Identity) else Binder(inside).term(held)) for name, held in columns
    ]
    return (Where(per, possible(having, Binder(inside))) if having is not None else per), given


def _keys(query: Select) -> list[Expression]:
    return keys_of(query.group_by, query.items, has_aggregate)


def _of_item(
    item: Item, built: Built, totals: Totals, identities: Mapping[object, tuple[str, Identity]]
) -> Iterator[tuple[str, Identity | Expression]]:
    if isinstance(item.expression, Star):
        raise NotAllowed("a star cannot stand beside GROUP BY", remedy="name the columns", at=item.expression.at)
    name = (item.name or name_of(item.expression)).lower()
    if (held := identities.get(plain(item.expression, built.scope))) is not None:
        yield name, held[1]
    elif isinstance(item.expression, Name) and built.scope.identity(item.expression) is not None:
        raise NotAllowed(
            f"{'.'.join(item.expression.parts)[:120]} must be in GROUP BY of the sub-query", remedy="add it", at=item.expression.at
        )
    else:
        yield name, totals.written(item.expression)


def _loses_the_unit(scope: Scope, at: At) -> NotAllowed:
    unit = next((name for source in scope.sources for name in source.identities), "the unit")
    return NotAllowed(
        "the sub-query puts rows of different people together before any noise is added",
        remedy=f"add {unit} to its GROUP BY, or ask for the aggregate directly",
        at=at,
    )
