"""Names get their meaning; what is asked of groups becomes calls of aggregates and arithmetic on their released results."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, count

from tacit.errors import NeverTrue, NotAllowed, TooMuchWork, UnknownName, WrongType
from tacit.privacy.catalog import Catalog, Column, Table
from tacit.query.binding import terms
from tacit.query.binding.binder import Binder
from tacit.query.binding.possible import can_be
from tacit.query.binding.scope import PublicFacts, Scope, Source, column_term, declared_range
from tacit.query.binding.select_list import Asked, is_column
from tacit.query.language.syntax import Apply, At, Constant, Expression, From, Item, Joined, Name, Select, Star
from tacit.query.plan import (
    CategoryType,
    Choose,
    Condition,
    DateType,
    Group,
    Join,
    Key,
    Literal,
    NumberType,
    Order,
    Out,
    Output,
    Question,
    Row,
    Scan,
    Term,
    TextColumn,
    TextIs,
    Truth,
    Where,
)
from tacit.query.plan import Column as PlanColumn
from tacit.query.size_limit import nodes_of

WORDS = {
    "+": "plus", "-": "minus", "*": "times", "/": "per", "%": "modulo",
    "=": "is", "<>": "is_not", "<": "below", "<=": "up_to", ">": "above", ">=": "from",
}  # fmt: skip
LONGEST_NAME = 60
MOST_JOINS = 8


def qualify(select: Select, catalog: Catalog, public: PublicFacts) -> Question:
    """The question with its meaning, before limits and moments."""
    table = _table(select.table, catalog)
    if table.public:
        raise NotAllowed(f"{table.name} is public", remedy="read it where it is; private tables are asked here", at=select.table.at)
    scope = Scope((Source(select.table.alias, table, _columns(table, public)),))
    relation: Scan | Join = Scan(table)
    if len(select.joins) > MOST_JOINS:
        raise TooMuchWork(
            f"the question has {len(select.joins)} joins: at most {MOST_JOINS} are answered",
            remedy="join fewer tables",
            at=select.joins[MOST_JOINS].table.at,
        )
    for joined in select.joins:
        scope, relation = _join(scope, relation, joined, catalog, public)
    binder = Binder(scope)
    where = _possible(select.where, binder) if select.where is not None else None
    asked = Asked(catalog, binder, _keys(select, binder))
    outputs = _outputs(select.items, asked)
    having = asked.test(select.having) if select.having is not None else None
    order = tuple(Order(_ordered(item.expression, outputs, select.items, asked), item.descending) for item in select.order_by)
    if not asked.calls:
        raise NotAllowed("the question asks for no aggregate", remedy="add one, for example COUNT(*)")
    child = Where(relation, where) if where is not None else relation
    return Question(Group(child, asked.keys, ()), tuple(asked.calls), outputs, having, order, select.limit, select.offset)


def _possible(written: Expression, binder: Binder) -> Condition:
    """The condition of WHERE; refused where the catalog alone decides that no row can meet it, at the part that says so."""
    for part in _joined_by_and(written):
        found = binder.condition(part)
        if not can_be(found):
            raise _never(part, found, binder.scope)
    whole = binder.condition(written)
    if not can_be(whole):
        remedy = "check the borders of each"
        raise NeverTrue("the conditions exclude each other: no row can meet all of them", remedy=remedy, at=written.at)
    return whole


def _joined_by_and(written: Expression) -> Iterator[Expression]:
    if isinstance(written, Apply) and written.function == "and":
        for part in written.arguments:
            yield from _joined_by_and(part)
    else:
        yield written


def _never(written: Expression, found: Condition, scope: Scope) -> NeverTrue:
    if found == Truth(None):
        return NeverTrue("a comparison with NULL is never true", remedy="use IS NULL or IS NOT NULL", at=written.at)
    columns = dict.fromkeys(scope.find(name)[1] for name in _names(written))
    declared = ", ".join(f"{column.name} is {words}" for column in columns if (words := declared_range(column)))
    what = "the condition is never true" + (f": {declared}" if declared else "")
    return NeverTrue(what, remedy="compare with a value that can occur", at=written.at)


def _names(written: Expression) -> Iterator[Name]:
    if isinstance(written, Name):
        yield written
    elif isinstance(written, Apply):
        for part in written.arguments:
            yield from _names(part)


def _table(written: From, catalog: Catalog) -> Table:
    found = {name.lower(): table for name, table in catalog.tables.items()}.get(written.table.lower())
    if found is None:
        declared = ", ".join(sorted(catalog.tables)[:20]) or "none"
        raise UnknownName(f"no table {written.table[:60]!r} is declared", remedy=f"declared are: {declared}", at=written.at)
    return found


def _columns(table: Table, public: PublicFacts) -> dict[str, Column]:
    known = public.columns(table.name) if table.public else table.columns
    return {name.lower(): column for name, column in known.items()}


# --- joins -------------------------------------------------------------------------------------------------------------------


def _join(scope: Scope, child: Scan | Join, joined: Joined, catalog: Catalog, public: PublicFacts) -> tuple[Scope, Join]:
    table = _table(joined.table, catalog)
    if not table.public:
        raise NotAllowed(
            f"{table.name} is private; only public tables can be joined",
            remedy="declare public = true if it is",
            at=joined.table.at,
        )
    if any(source.alias.lower() == joined.table.alias.lower() for source in scope.sources):
        raise NotAllowed(f"two tables are called {joined.table.alias!r}", remedy="give one an alias", at=joined.table.at)
    source = Source(joined.table.alias, table, _columns(table, public), joined.kind == "left", (joined.using or "").lower())
    left, right = _sides(scope, source, joined)
    fan_out = max(1, public.fan_out(table.name, right.name.lower()))
    node = _translated(_mapped(Binder(scope).term(left), joined.table.at), column_term(0, right, False), right)
    size, width = public.size(table.name), len(source.columns)
    relation = Join(child, table, node, right.name.lower(), joined.kind, fan_out, size, width)
    return Scope((*scope.sources, source)), relation


def _sides(scope: Scope, source: Source, joined: Joined) -> tuple[Expression, Column]:
    """The expression on the private side, and the column of the joined table."""
    alone = Scope((source,))
    if joined.using is not None:
        return Name((joined.using,)), alone.find(Name((joined.using,)))[1]
    for left, right in ((joined.left, joined.right), (joined.right, joined.left)):
        if isinstance(right, Name) and left is not None and _belongs(right, source, scope):
            return left, alone.find(right)[1]
    raise NotAllowed("a join needs an equality with a column of the joined table", at=joined.table.at)


def _mapped(term: Term, at: At) -> Term:
    """The private side of a join: a column, or an expression that maps declared values; refused where it is more than that.

    What chooses (CASE, and what is made of it) may look at one column: a condition on several, or on private text, belongs to
    WHERE.
    """
    choices = [node for node in nodes_of(term.node) if isinstance(node, Choose)]
    columns = [{leaf for leaf in nodes_of(choice) if isinstance(leaf, PlanColumn | TextColumn)} for choice in choices]
    private = [used for used in columns if any(leaf.source == 0 for leaf in used)]
    if any(len(used) > 1 or any(isinstance(leaf, TextColumn) for leaf in used) for used in private):
        raise NotAllowed(
            "ON compares a CASE over several columns or over private text: it may map the declared values of one column",
            remedy="join on a column, and put the condition into WHERE",
            at=at,
        )
    return term


def _belongs(name: Name, source: Source, scope: Scope) -> bool:
    if len(name.parts) > 1:
        return name.parts[0].lower() == source.alias.lower()
    elsewhere = any(name.parts[-1].lower() in known.columns for known in scope.sources)
    return name.parts[-1].lower() in source.columns and not elsewhere


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


# --- what is asked of the groups ---------------------------------------------------------------------------------------------


def _keys(select: Select, binder: Binder) -> tuple[Key, ...]:
    keys: list[Key] = []
    for written in select.group_by:
        expression, name = _of_group(written, select.items, binder.scope)
        term = binder.term(expression)
        if all(key.term != term for key in keys):
            keys.append(Key(name or _name(expression), term))
    return tuple(keys)


def _of_group(written: Expression, items: tuple[Item, ...], scope: Scope) -> tuple[Expression, str | None]:
    """GROUP BY may name a place in SELECT, or an alias that is no column."""
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        place = written.value
        if place.denominator != 1 or not 1 <= place <= len(items):
            raise UnknownName(f"GROUP BY {place} names no place in SELECT", remedy=f"use 1 to {len(items)}", at=written.at)
        item = items[int(place) - 1]
        return item.expression, item.name
    for item in items:
        alias = item.name and isinstance(written, Name) and _plain(written) == (item.name.lower(),)
        if alias and isinstance(written, Name) and not is_column(written, scope):
            return item.expression, item.name
    named = next((item.name for item in items if item.name and _plain(item.expression) == _plain(written)), None)
    return written, named


def _plain(expression: Expression) -> object:
    """An expression without its places, to tell whether two say the same."""
    if isinstance(expression, Apply):
        return (expression.function, *map(_plain, expression.arguments))
    if isinstance(expression, Name):
        return tuple(part.lower() for part in expression.parts)
    return expression.value if isinstance(expression, Constant) else "*"


def _outputs(items: tuple[Item, ...], asked: Asked) -> tuple[Output, ...]:
    names: list[str] = []
    outputs = []
    for item in items:
        wanted = item.name or _name(item.expression)[:LONGEST_NAME]
        name = next(name for name in chain([wanted], (f"{wanted}_{number}" for number in count(2))) if name not in names)
        names.append(name)
        outputs.append(Output(name, asked.out(item.expression)))
    return tuple(outputs)


def _name(expression: Expression) -> str:
    """What a column of the answer is called where the question does not say."""
    if isinstance(expression, Name):
        return expression.parts[-1].lower()
    if isinstance(expression, Apply):
        words = [_name(argument) for argument in expression.arguments if not isinstance(argument, Constant | Star)]
        symbol = WORDS.get(expression.function)
        return f"_{symbol}_".join(words or [symbol]) if symbol else "_".join([expression.function, *words])
    return "value"


def _ordered(written: Expression, outputs: tuple[Output, ...], items: tuple[Item, ...], asked: Asked) -> Out:
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        if written.value.denominator != 1 or not 1 <= written.value <= len(items):
            raise UnknownName("ORDER BY names no place in SELECT", remedy=f"use 1 to {len(items)}", at=written.at)
        return outputs[int(written.value) - 1].value
    if isinstance(written, Name) and len(written.parts) == 1:
        for output in outputs:
            if output.name.lower() == written.parts[0].lower():
                return output.value
    return asked.out(written)
