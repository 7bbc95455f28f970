"""Sub-queries in FROM and IN: they filter, rename and compute, stack tables, or make one row of each unit (stability.md).

A sub-query that only filters, renames or computes is written in place: its columns are terms over the tables inside. A GROUP BY
must keep the unit, or a key that leads to it; its aggregates are then numbers of one unit, with ranges that follow from the row
limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING
from typing import Literal as Choice

from tacit.errors import NotAllowed, RangeTooLarge, WrongType
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder, check_place, has_aggregate
from tacit.query.binding.comparisons import as_number
from tacit.query.binding.conditions import possible
from tacit.query.binding.curves import public_step
from tacit.query.binding.relations import Built, Part, Relations
from tacit.query.binding.scope import Declared, Identity, Scope, Source, identifies, keys_of, name_of, of_group, plain, source_of
from tacit.query.intervals.aggregates import WRITTEN
from tacit.query.language.syntax import Apply, At, Expression, Item, Name, Nested, Query, Select, Star, UnionAll
from tacit.query.plan import (
    BooleanType,
    CategoryType,
    Column,
    DateType,
    NumberType,
    PerUnit,
    PublicScan,
    Row,
    Rows,
    Term,
    TextColumn,
    Total,
    Type,
    Union,
    Where,
)

if TYPE_CHECKING:
    from tacit.query.binding.relations import Relations

# --- aggregates of a sub-query that groups by the unit -----------------------------------------------------------------------


COARSEST = 40  # powers of ten that a mean's step may be coarser
WHOLE = NumberType(Fraction(1))
Kind = Choice["rows", "sum", "least", "largest", "mean", "distinct"]


@dataclass(frozen=True, slots=True)
class Made:
    """A total as the engine makes it, the column that holds it, and the meaning of its integers: `low` plus a number of steps."""

    total: Total
    column: Column
    type: Type
    low: Fraction = Fraction(0)

    @property
    def term(self) -> Term:
        """The column as a term of the sub-query's rows."""
        held = Term(self.column, self.type)
        return terms.add(held, terms.constant(self.low)) if self.low else held

    def named(self, name: str) -> Made:
        """The same under a name."""
        return replace(self, total=replace(self.total, name=name), column=replace(self.column, name=name))


@dataclass
class Totals:
    """Collects the aggregates of a grouped sub-query as columns of its rows, each once."""

    binder: Binder
    rows: int
    source: int
    keys: Mapping[object, tuple[str, Term]]
    found: dict[Total, Made] = field(default_factory=dict)

    def written(self, expression: Expression) -> Expression:
        """The expression over the rows of the sub-query: aggregates and keys are names of its columns."""
        if (key := self.keys.get(plain(expression, self.binder.scope))) is not None:
            return Name((key[0],), expression.at)
        if isinstance(expression, Apply) and expression.function in WRITTEN:
            return Name((self.total(expression),), expression.at)
        if isinstance(expression, Apply):
            check_place(expression)
            return replace(expression, arguments=tuple(map(self.written, expression.arguments)))
        if isinstance(expression, Name):
            if self.binder.scope.identity(expression) is not None:
                raise identifies(expression)
            raise NotAllowed(
                f"{'.'.join(expression.parts)[:120]} must be in GROUP BY of the sub-query, or inside an aggregate",
                remedy="add it to GROUP BY, or aggregate it",
                at=expression.at,
            )
        return expression

    def total(self, expression: Apply) -> str:
        """The name of the column that holds an aggregate."""
        made = self._total_of(expression)
        return self.found.setdefault(made.total, made.named(f"total {len(self.found)}")).column.name

    def _total_of(self, expression: Apply) -> Made:
        function, (argument, *_) = expression.function, expression.arguments
        if function == "count" and isinstance(argument, Star):
            return self._column(Total("", "rows", None, 1), self.rows, False)
        if function not in TOTALS:
            raise NotAllowed(
                f"{function.upper()} is not supported per unit",
                remedy="use COUNT, SUM, AVG, MIN or MAX in the sub-query",
                at=expression.at,
            )
        return TOTALS[function](self, self.binder.term(argument), expression.at)

    def _column(self, total: Total, high: int, nullable: bool, meaning: Type = WHOLE) -> Made:
        terms.checked(total.low, high)
        return Made(total, Column(self.source, "", total.low, high, nullable), meaning)

    def count(self, term: Term, at: At) -> Made:
        if not term.nullable:
            return self._column(Total("", "rows", None, 1), self.rows, False)
        return self._column(Total("", "rows", _row(term, at), 0), self.rows, False)

    def distinct(self, term: Term, at: At) -> Made:
        node = _row(term, at)
        most = min(self.rows, len(term.points) if term.points else node.high - node.low + 1)
        return self._column(Total("", "distinct", node, 0 if term.nullable else 1), most, False)

    def sum(self, term: Term, at: At) -> Made:
        """At most `rows` values of [a, b]: from rows min(a, 0) to rows max(b, 0), and never more in absolute value together."""
        number = _number(term, "SUM", at)
        node, rows = terms.number_node(number), self.rows
        low, high = min(node.low, rows * node.low), max(node.high, rows * node.high)
        made = self._column(Total("", "sum", node, low), high, node.nullable, number.type)
        return replace(made, column=replace(made.column, together=rows * max(abs(node.low), abs(node.high))))

    def least(self, term: Term, at: At) -> Made:
        return self._extreme(term, at, "least")

    def largest(self, term: Term, at: At) -> Made:
        return self._extreme(term, at, "largest")

    def _extreme(self, term: Term, at: At, kind: Kind) -> Made:
        if isinstance(term.type, CategoryType | BooleanType):
            term = _number(term, "MIN and MAX", at)
        node = _row(term, at)
        return self._column(Total("", kind, node, node.low), node.high, node.nullable, term.type)

    def mean(self, term: Term, at: At) -> Made:
        """The floor of the mean on a public step: the finest power of ten with at most 2^20 steps in the range.

        A coarser one where integers would leave 2^53; refused where that does not help, as with a step of thirteen digits.
        """
        number = _number(term, "AVG", at)
        node, step = terms.number_node(number), terms.number_step(number)
        spread, public = node.high - node.low, public_step((node.high - node.low) * step)
        for coarser in range(COARSEST):
            ratio = step / (public * 10**coarser)
            if max(ratio.numerator * spread * self.rows, ratio.denominator * self.rows) < 2**53:
                total = Total("", "mean", node, 0, ratio.numerator, ratio.denominator)
                made = self._column(total, int(spread * ratio), node.nullable, NumberType(public * 10**coarser))
                return replace(made, low=node.low * step)
        raise RangeTooLarge(
            "AVG per unit exceeds 2^53 steps, the limit of exact arithmetic", remedy="declare a step with fewer digits", at=at
        )


TOTALS = {
    "count": Totals.count,
    "count_distinct": Totals.distinct,
    "sum": Totals.sum,
    "avg": Totals.mean,
    "min": Totals.least,
    "max": Totals.largest,
}


def _row(term: Term, at: At) -> Row:
    if isinstance(term.node, TextColumn):
        raise WrongType("private text cannot be aggregated per unit", remedy="declare the column's values, or count rows", at=at)
    return term.node


def _number(term: Term, word: str, at: At) -> Term:
    _row(term, at)
    if isinstance(term.type, CategoryType | DateType):
        raise WrongType(f"{word} needs a number, not {terms.word(term.type)}", remedy="count it instead", at=at)
    return as_number(term)


# --- UNION ALL over private tables -------------------------------------------------------------------------------------------


Held = Declared | Term | Identity
Found = tuple[Rows | PublicScan, list[tuple[str, Held]], bool, bool]


def union(relations: Relations, query: UnionAll, of: Callable[[Relations, Query], Found]) -> Found:
    """The rows of all parts, aligned by position; what names a unit there still names it."""
    found = [of(relations, part) for part in _flat(query)]
    widths = {len(columns) for _, columns, _, _ in found}
    if any(public for _, _, public, _ in found):
        raise NotAllowed("UNION ALL is answered over private tables", remedy="leave the public tables out", at=query.at)
    if len(widths) != 1:
        raise NotAllowed("the parts of UNION ALL have different numbers of columns", remedy="select the same columns", at=query.at)
    source, columns, rows = next(relations.numbers), [], [[] for _ in found]  # type: ignore[var-annotated]
    names, lows = [], []
    for place, (name, _) in enumerate(found[0][1]):
        held = [part[1][place][1] for part in found]
        if all(isinstance(each, Identity) for each in held):
            spaces = {each.space for each in held if isinstance(each, Identity)}
            if len(spaces) > 1:
                raise _apart(name, query.at)
            identity = held[0]
            nodes = [each.node for each in held if isinstance(each, Identity) and each.node is not None]
            if nodes:
                names.append(name)
                lows.append(0)
                for part, node in zip(rows, nodes, strict=True):
                    part.append(node)
                node = replace(nodes[0], source=source, name=name)
                identity = Identity(identity.space, node)  # type: ignore[union-attr]
            columns.append((name, identity))
            continue
        if not all(isinstance(each, Term) or (isinstance(each, Declared) and each.column.kind != "presence") for each in held):
            raise _apart(name, query.at)
        aligned, meaning = _align_types([_term(each) for each in held])
        low, high = min(row.low for row in aligned), max(row.high for row in aligned)
        names.append(name)
        lows.append(low)
        for part, row in zip(rows, aligned, strict=True):
            part.append(row)
        columns.append((name, Term(Column(source, name, low, high, any(row.nullable for row in aligned)), meaning)))
    parts = tuple((part[0], tuple(values)) for part, values in zip(found, rows, strict=True))
    return Union(parts, tuple(names), tuple(lows), source), columns, False, False  # type: ignore[arg-type]


def _flat(query: Query) -> Iterator[Query]:
    if isinstance(query, UnionAll):
        for part in query.parts:
            yield from _flat(part)
    else:
        yield query


def _apart(name: str, at: At) -> NotAllowed:
    return NotAllowed(
        f"the column {name[:60]!r} of UNION ALL is not of one kind in all parts",
        remedy="select the same columns in all parts",
        at=at,
    )


def _term(held: Held) -> Term:
    if isinstance(held, Term):
        return held
    assert isinstance(held, Declared)  # noqa: S101  # the caller has looked
    return Binder(Scope((Source("t", {"x": held}),))).term(Name(("x",)))


def _align_types(columns: list[Term]) -> tuple[list[Row], NumberType | CategoryType | DateType | BooleanType]:
    """Terms as integers of one meaning."""
    meaning = columns[0]
    for term in columns[1:]:
        _, node, kind = terms.on_one_step(meaning, term)
        meaning = Term(node, kind)
    return [terms.on_one_step(meaning, term)[1] for term in columns], meaning.type  # type: ignore[return-value]


# --- sub-queries -------------------------------------------------------------------------------------------------------------


def nested_part(relations: Relations, item: Nested) -> Part:
    """A sub-query as an item of FROM."""
    relations.count_query(item.at)
    rows, columns, public, is_plain = _of(relations, item.query)
    names: dict[str, Declared | Term] = {}
    identities: dict[str, Identity] = {}
    for name, held in columns:
        if name in names or name in identities:
            raise NotAllowed(f"duplicate column name in the sub-query: {name[:60]!r}", remedy="give one a name with AS", at=item.at)
        if isinstance(held, Identity):
            identities[name] = held
        else:
            names[name] = held
    return Part(rows, Source(item.alias, names, identities), public, item.at, is_plain)


def columns_of(relations: Relations, query: Query) -> list[tuple[str, Held]]:
    """The columns of a sub-query, in their order."""
    return _of(relations, query)[1]


def _of(relations: Relations, query: Query) -> Found:
    if isinstance(query, UnionAll):
        return union(relations, query, _of)
    if query.limit is not None or query.offset or query.qualify is not None:
        raise NotAllowed(
            "LIMIT in a sub-query would choose among the rows of all people",
            remedy="leave it out, or use MIN, MAX or a quantile",
            at=source_of(query).at,
        )
    built = relations.of(query)
    grouped = query.group_by or query.distinct or query.having is not None or any(has_aggregate(i.expression) for i in query.items)
    if not grouped:
        columns = [column for item in query.items for column in _columns(item, built)]
        return built.rows, columns, built.public, built.plain
    if built.public or isinstance(built.rows, PublicScan):
        raise NotAllowed(
            "a sub-query over public tables cannot be grouped", remedy="join the public table itself", at=source_of(query).at
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
    holder = built.scope.identity(item.expression) if isinstance(item.expression, Name) else None
    if holder is not None:
        yield name, _identity_of(holder[1], built)
    else:
        yield name, _column_of(item.expression, built.scope)


def _all_of(source: Source, built: Built) -> Iterator[tuple[str, Held]]:
    for name, identity in source.identities.items():
        if name not in source.using and not (source.optional and name in source.unit_names):
            yield name, _identity_of(identity, built)
    for name, held in source.columns.items():
        if name not in source.identities and name not in source.using:
            alone = Scope((source,))
            yield name, held if isinstance(held, Declared) and not source.optional else _column_of(Name((name,)), alone)


def _identity_of(identity: Identity, built: Built) -> Identity:
    return identity if built.plain else replace(identity, unique=False)


def _column_of(expression: Expression, scope: Scope) -> Held:
    if isinstance(expression, Name):
        source, held = scope.find(expression)
        if isinstance(held, Declared) and held.column.kind == "presence" and not source.optional:
            return held
    return Binder(scope).term(expression)


# --- one row for each unit ---------------------------------------------------------------------------------------------------


def _per_unit(relations: Relations, query: Select, built: Built, rows: Rows) -> tuple[Rows, list[tuple[str, Held]]]:
    if query.distinct and query.group_by:
        raise NotAllowed("DISTINCT beside GROUP BY is not supported", remedy="leave one of them out", at=source_of(query).at)
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
        raise _loses_the_unit(built.scope, source_of(query).at)
    if len(keys) == 0 and len(identities) == 1:
        identities = {key: (name, replace(each, unique=each.node is not None)) for key, (name, each) in identities.items()}
    totals = Totals(binder, relations.rows_of(rows), source, keys)
    columns = [column for item in query.items for column in _of_item(item, built, totals, identities)]
    having = totals.written(query.having) if query.having is not None else None
    per = PerUnit(rows, tuple(nodes), tuple(made.total for made in totals.found.values()), source, query.limits.groups)
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
