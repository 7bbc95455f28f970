"""Names get their meaning; what is asked of groups becomes calls of aggregates and arithmetic on their released results."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from tacit.errors import NotAllowed, UnknownName, WrongType
from tacit.privacy.catalog import Catalog, Column, Table, Value
from tacit.query import plan, terms
from tacit.query.binding import AGGREGATES, Binder, PublicFacts, Scope, Source, as_number, column_term
from tacit.query.plan import (
    Arithmetic,
    BooleanType,
    Call,
    CategoryType,
    Condition,
    DateType,
    Group,
    Join,
    Key,
    KeyValue,
    Literal,
    Number,
    NumberType,
    Order,
    Out,
    Output,
    Question,
    Result,
    Rounded,
    Row,
    Scan,
    Term,
    Test,
    TextColumn,
    TextIs,
    Where,
)
from tacit.query.surface import Apply, Constant, Expression, From, Item, Joined, Name, Select, Star

QUANTILES = {"min": Fraction(0), "max": Fraction(1), "median": Fraction(1, 2)}


def qualify(select: Select, catalog: Catalog, public: PublicFacts) -> Question:
    """The question with its meaning, before limits and moments."""
    table = _table(select.table, catalog)
    if table.public:
        raise NotAllowed(
            f"{table.name} is public", remedy="read it where it is; private tables are asked here", at=select.table.at
        )
    scope = Scope((Source(select.table.alias, table, _columns(table, public)),))
    relation: Scan | Join = Scan(table)
    for joined in select.joins:
        scope, relation = _join(scope, relation, joined, catalog, public)
    binder = Binder(scope)
    where = binder.condition(select.where) if select.where is not None else None
    asked = _Asked(binder, _keys(select, binder))
    outputs = _outputs(select.items, asked)
    having = asked.test(select.having) if select.having is not None else None
    order = tuple(Order(_ordered(item.expression, outputs, select.items, asked), item.descending) for item in select.order_by)
    if not asked.calls:
        raise NotAllowed("the question asks for no aggregate", remedy="add one, for example COUNT(*)")
    child = Where(relation, where) if where is not None else relation
    return Question(Group(child, asked.keys, ()), tuple(asked.calls), outputs, having, order, select.limit, select.offset)


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
    source = Source(joined.table.alias, table, _columns(table, public), optional=joined.kind == "left")
    left, right = _sides(scope, source, joined)
    fan_out = max(1, public.fan_out(table.name, right.name.lower()))
    node = _translated(Binder(scope).term(left), column_term(0, right, False), right)
    relation = Join(child, table, node, right.name.lower(), joined.kind, fan_out)
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
        if item.name and isinstance(written, Name) and written.parts == (item.name,) and not _is_column(written, scope):
            return item.expression, item.name
    named = next((item.name for item in items if item.name and _plain(item.expression) == _plain(written)), None)
    return written, named


def _is_column(name: Name, scope: Scope) -> bool:
    return any(name.parts[-1].lower() in source.columns for source in scope.sources)


def _plain(expression: Expression) -> object:
    """An expression without its places, to tell whether two say the same."""
    if isinstance(expression, Apply):
        return (expression.function, *map(_plain, expression.arguments))
    if isinstance(expression, Name):
        return tuple(part.lower() for part in expression.parts)
    return expression.value if isinstance(expression, Constant) else "*"


def _outputs(items: tuple[Item, ...], asked: _Asked) -> tuple[Output, ...]:
    names: list[str] = []
    outputs = []
    for item in items:
        wanted = name = item.name or _name(item.expression)
        while name in names:
            name = f"{wanted}_{names.count(name) + sum(n.startswith(f'{wanted}_') for n in names) + 1}"
        names.append(name)
        outputs.append(Output(name, asked.out(item.expression)))
    return tuple(outputs)


def _name(expression: Expression) -> str:
    """What a column of the answer is called where the question does not say."""
    if isinstance(expression, Name):
        return expression.parts[-1]
    if isinstance(expression, Apply):
        words = [_name(argument) for argument in expression.arguments if not isinstance(argument, Constant | Star)]
        function = {"+": "plus", "-": "minus", "*": "times", "/": "per"}.get(expression.function, expression.function)
        return (
            "_".join([function, *words])
            if expression.function.isalpha() or "_" in expression.function
            else f"_{function}_".join(words or [function])
        )
    return "value"


def _ordered(written: Expression, outputs: tuple[Output, ...], items: tuple[Item, ...], asked: _Asked) -> Out:
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        if written.value.denominator != 1 or not 1 <= written.value <= len(items):
            raise UnknownName("ORDER BY names no place in SELECT", remedy=f"use 1 to {len(items)}", at=written.at)
        return outputs[int(written.value) - 1].value
    if isinstance(written, Name) and len(written.parts) == 1:
        for output in outputs:
            if output.name.lower() == written.parts[0].lower():
                return output.value
    return asked.out(written)


@dataclass
class _Asked:
    """Collects the calls of aggregates, each once, while expressions over groups are read."""

    binder: Binder
    keys: tuple[Key, ...]
    calls: list[Call] = field(default_factory=list)

    def out(self, expression: Expression) -> Out:
        """An expression over released numbers and keys."""
        if isinstance(expression, Apply) and expression.function in AGGREGATES:
            return self.result(self.call(expression))
        if (key := self.key(expression)) is not None:
            return key
        if isinstance(expression, Constant) and isinstance(expression.value, Fraction):
            return Number(expression.value)
        if isinstance(expression, Apply) and expression.function in ("+", "-", "*", "/"):
            left, right = (self.out(argument) for argument in expression.arguments)
            return Arithmetic(expression.function, left, right)  # type: ignore[arg-type]
        if isinstance(expression, Apply) and expression.function in ("negate", "cast_number"):
            inner = self.out(expression.arguments[0])
            return inner if expression.function == "cast_number" else Arithmetic("-", Number(Fraction(0)), inner)
        if isinstance(expression, Apply) and expression.function in ("round", "cast_integer"):
            return Rounded(self.out(expression.arguments[0]), self.decimals(expression))
        raise NotAllowed(
            "every expression must be an aggregate, a column of GROUP BY, or arithmetic on them",
            remedy="add it to GROUP BY, or aggregate it",
            at=expression.at,
        )

    def decimals(self, expression: Apply) -> int:
        if len(expression.arguments) == 1:
            return 0
        value = expression.arguments[1]
        if (
            isinstance(value, Constant)
            and isinstance(value.value, Fraction)
            and value.value.denominator == 1
            and abs(value.value) <= 12
        ):
            return int(value.value)
        raise WrongType("ROUND takes a whole number of decimals", at=expression.at)

    def key(self, expression: Expression) -> KeyValue | None:
        """The key that an expression is; None where it is none."""
        if not self.keys or _has_aggregate(expression) or isinstance(expression, Constant):
            return None
        if isinstance(expression, Name) and not _is_column(expression, self.binder.scope):
            named = [i for i, key in enumerate(self.keys) if key.name.lower() == expression.parts[-1].lower()]
            return KeyValue(named[0]) if named else None
        term = self.binder.term(expression)
        return next((KeyValue(index) for index, key in enumerate(self.keys) if key.term == term), None)

    def result(self, call: Call) -> Result:
        if call not in self.calls:
            self.calls.append(call)
        return Result(self.calls.index(call))

    def call(self, expression: Apply) -> Call:
        """The aggregate that is asked for."""
        function, arguments = expression.function, expression.arguments
        if function == "count_distinct":
            return self.units(expression)
        if function == "count" and isinstance(arguments[0], Star):
            return Call("count")
        if function == "count" and (present := self.present(arguments[0])) is not None:
            return present
        term = as_number(self.binder.term(arguments[0]))
        if function == "count":
            return Call("count", term) if term.nullable else Call("count")
        if isinstance(term.type, CategoryType | TextColumn) or isinstance(term.node, TextColumn):
            raise WrongType(
                f"{function.upper()} needs a number, not {terms.word(term.type)}", remedy="count it instead", at=expression.at
            )
        if isinstance(term.node, Literal):
            raise NotAllowed(f"{function.upper()} of a constant tells nothing", remedy="use COUNT(*)", at=expression.at)
        if function == "quantile" or function in QUANTILES:
            return Call("quantile", term, self.share(expression))
        if isinstance(term.type, DateType | BooleanType):
            raise WrongType(f"{function.upper()} needs a number, not {terms.word(term.type)}", at=expression.at)
        return Call(function, term)

    def present(self, argument: Expression) -> Call | None:
        """COUNT of a column of which only its presence is known."""
        if isinstance(argument, Name) and self.binder.scope.find(argument)[1].kind == "presence":
            index, column = self.binder.scope.find(argument)
            return Call("count", Term(plan.Column(index, column.name.lower(), 0, 0, True), NumberType(Fraction(1))))
        return None

    def units(self, expression: Apply) -> Call:
        """COUNT(DISTINCT u) is answered where u identifies the unit."""
        argument = expression.arguments[0]
        if len(expression.arguments) == 1 and isinstance(argument, Name):
            index, column = self.binder.scope.find(argument)
            table = self.binder.scope.sources[0].table
            owner = table.unit.column.lower() if table.unit else None
            if index == 0 and (column.kind == "key" or column.name.lower() == owner) and owner in (None, column.name.lower()):
                return Call("units")
        raise NotAllowed(
            "COUNT(DISTINCT ...) is answered for the column that identifies the unit",
            remedy="use GROUP BY with COUNT(*) to see how many have each value",
            at=expression.at,
        )

    def share(self, expression: Apply) -> Fraction:
        if expression.function in QUANTILES:
            return QUANTILES[expression.function]
        value = terms.constant_of(self.binder.term(expression.arguments[1])) if len(expression.arguments) == 2 else None
        if value is None or not 0 <= value <= 1:
            raise WrongType(
                "a quantile needs a constant share from 0 to 1", remedy="write PERCENTILE_CONT(0.5)", at=expression.at
            )
        return value

    # --- HAVING ---

    def test(self, expression: Expression) -> Test:
        if isinstance(expression, Apply):
            if expression.function in ("and", "or", "not"):
                return Test(expression.function, tuple(self.test(part) for part in expression.arguments))  # type: ignore[arg-type]
            if expression.function in ("=", "<>", "<", "<=", ">", ">="):
                return Test(expression.function, tuple(self.side(part) for part in expression.arguments))  # type: ignore[arg-type]
            if expression.function == "between":
                value, low, high = expression.arguments
                return Test("and", (self.test(Apply(">=", (value, low))), self.test(Apply("<=", (value, high)))))
            if expression.function == "in":
                value, *options = expression.arguments
                return Test("or", tuple(self.test(Apply("=", (value, option))) for option in options))
        raise NotAllowed(
            "HAVING compares aggregates and keys with constants", remedy="for example HAVING COUNT(*) > 100", at=expression.at
        )

    def side(self, expression: Expression) -> Out | Value | None:
        if isinstance(expression, Constant) and not isinstance(expression.value, Fraction):
            value = expression.value
            return value.isoformat() if isinstance(value, date) else value
        return self.out(expression)


def _has_aggregate(expression: Expression) -> bool:
    if not isinstance(expression, Apply):
        return False
    return expression.function in AGGREGATES or any(_has_aggregate(argument) for argument in expression.arguments)
