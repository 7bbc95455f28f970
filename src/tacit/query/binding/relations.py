"""FROM and WHERE to a tree of relations, in which every row belongs to exactly one unit (stability.md).

Private tables meet on the unit alone: whatever a question writes, two private rows are joined, or looked for, only if they are of
one unit, and in addition on the keys that the question compares. Public tables meet private rows by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from tacit.errors import NotAllowed, TooMuchWork, UnknownName
from tacit.privacy.catalog import Catalog, Table
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder, has_aggregate
from tacit.query.binding.conditions import (
    codes,
    conjuncts,
    equal,
    identities_of,
    is_equality,
    join_column,
    join_row,
    names_in,
    no_tie,
    not_of_the_unit,
    possible,
    public_numbers,
    same_key,
    sides,
    tie,
    ties_in,
)
from tacit.query.binding.scope import (
    IN_SCHEMA,
    Identity,
    PublicFacts,
    Scope,
    Source,
    declared_columns,
    declared_names,
    source_of,
    spelled,
)
from tacit.query.language.syntax import Apply, At, Exists, Expression, From, InQuery, Joined, Name, Nested, Select
from tacit.query.plan import (
    Bound,
    Condition,
    IsNull,
    Join,
    Negation,
    PublicScan,
    Row,
    Rows,
    Scan,
    Semi,
    UnitJoin,
    Where,
)
from tacit.query.plan import Column as PlanColumn

# --- semi- and anti-joins: EXISTS, IN and their negations --------------------------------------------------------------------


if TYPE_CHECKING:
    pass


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

    NOT IN is read as NOT EXISTS: a NULL among the inner values excludes no row.
    """
    from tacit.query.binding.subqueries import nested_part

    part = nested_part(relations, Nested(asked.query, "the sub-query", asked.at))
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


# --- FROM, joins and WHERE ---------------------------------------------------------------------------------------------------


MOST_JOINS = 8
MOST_QUERIES = 16  # sub-queries of a question; one of WITH counts each time that it is used


@dataclass(frozen=True, slots=True)
class Part:
    """An item of FROM: its rows under one name. `plain` where it is rows of one table, each at most once."""

    rows: Rows | PublicScan
    source: Source
    public: bool
    at: At
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Built:
    """The rows of FROM and WHERE, and the names in them. `outer` are conditions that name columns of the query around it."""

    rows: Rows | PublicScan
    scope: Scope
    public: bool
    plain: bool
    outer: tuple[Expression, ...] = ()


@dataclass
class Relations:
    """Builds the relations of one question; every one that makes columns gets a number of its own.

    `rows_of` is the maximum number of rows of one unit in a relation (price/stability.py); `most` is the question's own.
    """

    catalog: Catalog
    public: PublicFacts
    rows_of: Callable[[Rows], int]
    numbers: Iterator[int] = field(default_factory=count)
    joins: int = 0
    queries: int = 0
    most: int | None = None

    def aside(self) -> Relations:
        """The same with numbers and limits of its own, to look at a question before it is read."""
        return Relations(self.catalog, self.public, self.rows_of, most=self.most)

    def of(self, select: Select, around: Scope | None = None) -> Built:
        """The rows that a SELECT is over, after its WHERE."""
        built = self._of(select, around)
        if self.most is not None and not built.public and not isinstance(built.rows, PublicScan):
            self._check_most(built.rows, source_of(select).at)
        return built

    def _check_most(self, rows: Rows, at: At) -> None:
        """Refuses rows that a join or UNION ALL multiplies: a unit can have more of them than max_rows_contributed."""
        if (many := self.rows_of(rows)) > (self.most or 0):
            raise NotAllowed(
                f"one unit can have {many:,} rows after joins and UNION ALL, more than max_rows_contributed = {self.most}",
                remedy="leave the option out, or ask one private table",
                at=at,
            )

    def _of(self, select: Select, around: Scope | None) -> Built:
        parts = [self.part(source_of(select)), *(self.part(joined.table) for joined in select.joins)]
        self._count_joins(select)
        pool = list(conjuncts(select.where))
        first, rest = self._in_order(parts, select.joins, pool)
        rows, scope, public = first.rows, Scope((first.source,)), first.public
        while rest:
            part, joined = self._next(scope, rest, pool)
            rest.remove((part, joined))
            rows, scope = self._attach(rows, scope, part, joined, pool)
        outer = [each for each in pool if around is not None and not all(map(scope.has, names_in(each)))]
        inner = [each for each in pool if each not in outer]
        plain = first.plain and len(parts) == 1
        return Built(self._filter(rows, scope, inner, public), scope, public, plain, tuple(outer))

    def part(self, item: From | Nested) -> Part:
        """A table or a sub-query of FROM."""
        if isinstance(item, Nested):
            from tacit.query.binding.subqueries import nested_part

            return nested_part(self, item)
        table, number = self._table(item), next(self.numbers)
        columns = self.public.columns(table.name) if table.public else table.columns
        held = declared_columns(number, columns)
        if table.public:
            scan = PublicScan(table, number, self.public.size(table.name), len(columns))
            return Part(scan, Source(item.alias, held, table=table), True, item.at)
        if self.most is not None and self.most > table.max_rows:
            raise NotAllowed(
                f"max_rows_contributed = {self.most} is more than the catalog allows: {table.max_rows} in {table.name}",
                remedy=f"write at most {table.max_rows}, or leave it out",
                at=item.at,
            )
        rows = Bound(Scan(table, number), table.max_rows if self.most is None else self.most)
        source = Source(item.alias, held, identities_of(self.catalog, table, number), table)
        return Part(rows, source, False, item.at)

    def _table(self, written: From) -> Table:
        found = {name.lower(): table for name, table in self.catalog.tables.items()}.get(written.table.lower())
        if found is None:
            last = written.table.rsplit(".", 1)[-1].lower()  # of a whole path in backticks, or under another schema
            near = next((name for name in self.catalog.tables if name.rsplit(".", 1)[-1].lower() == last), None)
            remedy = f"write {spelled(near, IN_SCHEMA)}" if near else declared_names(self.catalog.tables, IN_SCHEMA)
            raise UnknownName(f"unknown table {written.table[:60]!r}", remedy=remedy, at=written.at)
        return found

    def _count_joins(self, select: Select) -> None:
        self.joins += len(select.joins)
        if self.joins > MOST_JOINS:
            raise TooMuchWork(
                f"the question has {self.joins} joins: the limit is {MOST_JOINS}",
                remedy="join fewer tables",
                at=select.joins[-1].table.at if select.joins else None,
            )

    def _in_order(
        self, parts: Sequence[Part], joins: Sequence[Joined], pool: list[Expression]
    ) -> tuple[Part, list[tuple[Part, Joined]]]:
        """The part to begin with, a private one if there is any, and the rest. Conditions of inner joins go to WHERE's."""
        rest = list(zip(parts[1:], joins, strict=True))
        for joined in joins:
            if joined.kind == "inner":
                pool += conjuncts(joined.on)
        first = parts[0]
        if not first.public or all(part.public for part in parts):
            return first, rest
        if any(joined.kind == "left" for joined in joins):
            raise NotAllowed(
                f"{first.source.alias} is public: a LEFT JOIN keeps its rows, whatever the private rows are",
                remedy="begin FROM with the private table, and LEFT JOIN the public one",
                at=first.at,
            )
        private = next(pair for pair in rest if not pair[0].public)
        rest[rest.index(private)] = (first, replace(private[1], table=From("", first.source.alias)))
        return private[0], rest

    def _next(self, scope: Scope, rest: list[tuple[Part, Joined]], pool: list[Expression]) -> tuple[Part, Joined]:
        """The next part to join: the first that is tied to what is there, where all joins are inner."""
        if any(joined.kind == "left" for _, joined in rest):
            return rest[0]
        return next((pair for pair in rest if pair[1].using or pair[1].natural or self._is_tied(scope, pair[0], pool)), rest[0])

    def _is_tied(self, scope: Scope, part: Part, pool: list[Expression]) -> bool:
        """Whether a condition ties a part to what is there: a private one by keys or units, a public one by an equality."""
        if not part.public:
            return bool(ties_in(scope, part.source, list(pool)))
        own, both = Scope((part.source,)), Scope((*scope.sources, part.source))
        for each in filter(is_equality, pool):
            names = list(names_in(each))
            if all(map(both.has, names)) and any(map(own.has, names)) and not all(map(own.has, names)):
                return True
        return False

    # --- joins ---

    def _attach(
        self, rows: Rows | PublicScan, scope: Scope, part: Part, joined: Joined, pool: list[Expression]
    ) -> tuple[Rows | PublicScan, Scope]:
        alias = part.source.alias.lower()
        if any(source.alias.lower() == alias for source in scope.sources):
            raise NotAllowed(f"duplicate table name {part.source.alias!r}", remedy="give one an alias", at=part.at)
        if isinstance(rows, PublicScan):
            raise NotAllowed(
                "public tables can be joined to private rows only", remedy="begin FROM with a private table", at=part.at
            )
        shared = self._common_names(scope, part, joined)
        conditions = pool if joined.kind == "inner" else list(conjuncts(joined.on))
        if part.public:
            return self._with_public(rows, scope, part, joined, conditions, shared)
        return self._with_private(rows, scope, part, joined, conditions, shared)

    def _common_names(self, scope: Scope, part: Part, joined: Joined) -> tuple[str, ...]:
        """The columns of USING, or those that both sides of a NATURAL join have."""
        if not joined.natural:
            return tuple(name.lower() for name in joined.using)
        return tuple(sorted(name for name in part.source.names if scope.has(Name((name,)))))

    def _with_public(
        self, rows: Rows, scope: Scope, part: Part, joined: Joined, conditions: list[Expression], shared: tuple[str, ...]
    ) -> tuple[Rows, Scope]:
        scan = part.rows
        if not isinstance(scan, PublicScan) or part.source.table is None:
            raise NotAllowed("a sub-query over public tables cannot be joined", remedy="join the public table itself", at=part.at)
        if len(shared) > 1:
            raise NotAllowed("a join with a public table has one column in USING", remedy="write ON with AND", at=part.at)
        left, column = join_column(scope, part.source, conditions, shared, part.at)
        condition = None if joined.kind == "inner" else self._of_right(part, conditions, scope)
        fan_out = max(1, self.public.fan_out(part.source.table.name, column.name.lower()))
        node = join_row(Binder(scope).term(left), column, scan.source, public_numbers(scope), part.at)
        joined_rows = Join(
            rows, scan.table, node, column.name.lower(), joined.kind, fan_out, scan.size, scan.width, scan.source, condition
        )
        source = replace(part.source, optional=joined.kind == "left", using=frozenset(shared))
        return joined_rows, Scope((*scope.sources, source))

    def _with_private(
        self, rows: Rows, scope: Scope, part: Part, joined: Joined, conditions: list[Expression], shared: tuple[str, ...]
    ) -> tuple[Rows, Scope]:
        ties = [*self._ties_of(scope, part, shared), *ties_in(scope, part.source, conditions)]
        if not ties:
            raise no_tie(scope, part.source, part.at)
        pairs = [pair for left, right in ties if (pair := codes(left, right)) is not None]
        pairs += self._equal_columns(scope, part, shared)
        other = part.rows
        if joined.kind == "left":
            pairs += self._pairs_of_left(scope, part, conditions)
            of_right = self._of_right(part, conditions, scope)
            other = Where(other, of_right) if of_right is not None else other
        here = next(self.numbers)
        once = any(right.unique for _, right in ties)
        step = UnitJoin(rows, other, tuple(pairs), joined.kind, once, here)  # type: ignore[arg-type]
        is_here = Negation(IsNull(PlanColumn(here, "here", 1, 1, True)))
        source = replace(part.source, optional=joined.kind == "left", using=frozenset(shared), here=is_here)
        return step, Scope((*scope.sources, source))

    def _ties_of(self, scope: Scope, part: Part, shared: tuple[str, ...]) -> Iterator[tuple[Identity, Identity]]:
        for name in shared:
            left, right = scope.identity(Name((name,))), part.source.identities.get(name)
            if left is not None and right is not None and left[1].space == right.space:
                yield left[1], right

    def _equal_columns(self, scope: Scope, part: Part, shared: tuple[str, ...]) -> Iterator[tuple[Row, Row]]:
        for name in shared:
            left, right = scope.identity(Name((name,))), part.source.identities.get(name)
            if (left and left[1].space) != (right and right.space) or (left is None) != (right is None):
                raise NotAllowed(
                    f"{name} identifies different things on the two sides of the join",
                    remedy="write ON with the columns that are compared",
                    at=part.at,
                )
            if left is None:
                yield equal(Binder(scope).term(Name((name,))), Binder(Scope((part.source,))).term(Name((name,))))

    def _pairs_of_left(self, scope: Scope, part: Part, conditions: list[Expression]) -> Iterator[tuple[Row, Row]]:
        """Equalities of a column on either side, in the ON of a left join; they are taken out of the conditions."""
        alone = Scope((part.source,))
        for each in list(conditions):
            compared = sides(each, scope, alone)
            if compared is not None and not any(len(name.parts) == 1 and scope.has(name) for name in names_in(compared[1])):
                conditions.remove(each)
                yield equal(Binder(scope).term(compared[0]), Binder(alone).term(compared[1]))

    def _of_right(self, part: Part, conditions: list[Expression], scope: Scope) -> Condition | None:
        """The rest of the ON of a left join: a filter of the right side, before the join."""
        alone = Scope((part.source,))
        for each in conditions:
            if not all(map(alone.has, names_in(each))) or any(scope.has(name) and len(name.parts) == 1 for name in names_in(each)):
                raise NotAllowed(
                    "the ON of a LEFT JOIN compares columns with =, or filters the right side: this names the left side",
                    remedy="put the condition into WHERE, or into a CASE in SELECT",
                    at=each.at,
                )
        binder = Binder(alone)
        return terms.all_of([possible(each, binder) for each in conditions]) if conditions else None

    # --- WHERE ---

    def _filter(self, rows: Rows | PublicScan, scope: Scope, conditions: Sequence[Expression], public: bool) -> Rows | PublicScan:
        """The rows that meet all conditions; sub-queries among them are looked up last."""
        binder = Binder(scope)
        plain = [each for each in conditions if looked_up(each) is None and tie(each, scope, scope) is None]
        tests: list[Condition] = [test for each in conditions if (test := same_key(each, scope)) is not None]
        if plain:
            tests.append(possible(plain[0] if len(plain) == 1 else Apply("and", tuple(plain), plain[0].at), binder))
        if tests:
            rows = Where(rows, terms.all_of(tests) if len(tests) > 1 else tests[0])
        for each in conditions:
            if (asked := looked_up(each)) is not None:
                if public or isinstance(rows, PublicScan):
                    raise NotAllowed("a public table cannot be filtered by other rows", remedy="ask the private table", at=each.at)
                rows = semi(self, rows, scope, *asked)
        return rows

    def count_query(self, at: At) -> None:
        self.queries += 1
        if self.queries > MOST_QUERIES:
            raise TooMuchWork(
                f"the question has more than {MOST_QUERIES} sub-queries", remedy="use fewer; one of WITH counts each time", at=at
            )
