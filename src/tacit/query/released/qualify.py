"""The meaning of a SELECT: calls of aggregates, and arithmetic on their released results, in one question or in several.

Several are the parts of UNION ALL and of grouping sets, whose rows stand below each other, and sub-queries that are a value, whose
numbers stand beside the others. Each is asked and paid for once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, count

from tacit.errors import NotAllowed, TooMuchWork, UnknownName, WrongType
from tacit.privacy.catalog import Catalog
from tacit.query.binding.binder import Binder
from tacit.query.binding.relations import Built, Relations
from tacit.query.binding.scope import PublicFacts, keys_of, name_of, of_group, source_of
from tacit.query.intervals.aggregates import CHOICES
from tacit.query.intervals.linear_models import MODEL, MOST_REGRESSORS
from tacit.query.language.bounds import ENDS
from tacit.query.language.margins import MOST_SETS
from tacit.query.language.syntax import Apply, Constant, Expression, Item, Limits, Name, Query, Scalar, Select, Star, unplaced_query
from tacit.query.language.writer import CALLED as CALLED_ENDS
from tacit.query.plan import Group, Key, PublicScan, Rows
from tacit.query.question import (
    Beside,
    End,
    Fixed,
    Number,
    Order,
    Out,
    Output,
    Question,
    Result,
    Window,
    is_noisy,
    nodes,
    private,
)
from tacit.query.released.calls import Asked, is_bounded, is_released, not_alone, over_groups
from tacit.query.released.contributions import check_limits, per_unit_and_group
from tacit.query.released.expressions import Results

# --- UNION ALL: rows of released numbers, with columns of one kind -----------------------------------------------------------


ANY = frozenset({"null", "value"})  # kinds that can stand with every other


@dataclass(frozen=True, slots=True)
class Part:
    """One question of several, with the kinds of its columns."""

    question: Question
    kinds: tuple[str, ...]


def stack_parts(select: Select, parts: list[Part]) -> list[Part]:
    """The questions in one: columns are matched by their places and have the names of the first; the order is that of all rows."""
    first = parts[0]
    if any(len(part.kinds) != len(first.kinds) for part in parts):
        raise NotAllowed(
            "the parts of UNION ALL have different numbers of columns", remedy="select as many in each", at=source_of(select).at
        )
    for place, output in enumerate(first.question.outputs):
        values = [part.question.outputs[place].value for part in parts]
        noisy = {is_noisy(value) or isinstance(value, End) for value in values}
        kinds = {part.kinds[place] for part in parts} - ANY
        if len(noisy) > 1 or len(kinds) > 1:
            mixed = "a released number in one part and a key or constant in another"
            what = mixed if len(noisy) > 1 else f"of several kinds: {', '.join(sorted(kinds))}"
            raise WrongType(
                f"the column {output.name[:60]!r} of UNION ALL is {what}",
                remedy="select columns of one kind in the same place of each part",
                at=select.items[place].expression.at if place < len(select.items) else None,
            )
    places = [(_place(order.expression, select, first), order.descending) for order in select.order_by]
    return [replace(part, question=_with_order(part.question, places)) for part in parts]


def _with_order(question: Question, places: list[tuple[int, bool]]) -> Question:
    return replace(question, order=tuple(Order(question.outputs[place].value, descending) for place, descending in places))


def _place(written: Expression, select: Select, first: Part) -> int:
    """The column that ORDER BY names, by its name or its number."""
    names = [output.name.lower() for output in first.question.outputs]
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        if written.value.denominator == 1 and 1 <= written.value <= len(names):
            return int(written.value) - 1
        raise UnknownName("invalid position in ORDER BY", remedy=f"use 1 to {len(names)}", at=written.at)
    if isinstance(written, Name) and len(written.parts) == 1 and written.parts[0].lower() in names:
        return names.index(written.parts[0].lower())
    raise NotAllowed(
        "ORDER BY after UNION ALL must name a column of the answer", remedy=f"use {', '.join(names)[:120]}", at=written.at
    )


# --- sub-queries that are a value --------------------------------------------------------------------------------------------


@dataclass
class Scalars:
    """Collects the sub-queries of one question; two that say the same are one."""

    relations: Relations
    questions: list[Question] = field(default_factory=list)
    known: dict[Query, Out] = field(default_factory=dict)

    def of(self, written: Scalar) -> Out:
        """The number of a sub-query: of the i-th question beside, or a constant where its table is public."""
        query = written.query
        if not isinstance(query, Select) or len(query.items) != 1 or not _is_plain(query):
            raise NotAllowed(
                "a sub-query as a value has one aggregate and one row",
                remedy="write (SELECT COUNT(*) FROM ... WHERE ...), without GROUP BY, HAVING, ORDER BY and LIMIT",
                at=written.at,
            )
        said = unplaced_query(query)
        if said not in self.known:
            self.relations.count_query(written.at)
            built = self.relations.of(query)
            self.known[said] = self._public(query, built) if built.public else self._private(query, built)
        return self.known[said]

    def _private(self, query: Select, built: Built) -> Out:
        asked = Asked(Binder(built.scope), ())
        results = Results(asked)
        expression = query.items[0].expression
        out = results.out(expression)
        if not asked.calls or results.kind(out) != "number":
            raise NotAllowed(
                "a sub-query as a value must be a number made of aggregates", remedy="for example COUNT(*)", at=expression.at
            )
        assert not isinstance(built.rows, PublicScan)  # noqa: S101  # the caller has looked
        self.questions.append(Question(Group(built.rows, (), ()), tuple(asked.calls), (Output("value", out),)))
        return Beside(len(self.questions) - 1)

    def _public(self, query: Select, built: Built) -> Number:
        """The number of rows of a public table is public; more of it is read where it is."""
        expression = query.items[0].expression
        counted = isinstance(expression, Apply) and expression.function == "count" and isinstance(expression.arguments[0], Star)
        if not counted or not isinstance(built.rows, PublicScan):
            raise NotAllowed(
                f"{source_of(query).alias} is public: of a public table a sub-query as a value counts all rows",
                remedy="write COUNT(*) without WHERE, or the number itself",
                at=expression.at,
            )
        return Number(Fraction(built.rows.size))


def _is_plain(query: Select) -> bool:
    """Whether a query has neither groups nor an order of its own."""
    return (
        not (query.group_by or query.sets or query.having or query.order_by or query.distinct or query.offset)
        and query.limit is None
    )


# --- LINREG: one column for each part of a linear model -----------------------------------------------------------------------


def with_models(select: Select) -> Select:
    """The question with a column for each part of a LINREG: the intercept, every slope, and R2."""
    return replace(select, items=tuple(chain.from_iterable(map(_of_model, select.items))))


def _of_model(item: Item) -> tuple[Item, ...]:
    call = item.expression
    if not isinstance(call, Apply) or call.function != MODEL:
        return (item,)
    if not 2 <= len(call.arguments) <= MOST_REGRESSORS + 1:
        what = f"LINREG takes a column and 1 to {MOST_REGRESSORS} regressors, not {len(call.arguments)} arguments"
        raise NotAllowed(what, remedy="write LINREG(y, x1, x2)", at=call.at)
    begin = f"{item.name}_" if item.name else ""
    slopes = [
        Item(
            Apply("linreg_slope", (Constant(Fraction(place), call.at), *call.arguments), call.at),
            f"{begin}slope_{each.parts[-1] if isinstance(each, Name) else place}"[:LONGEST_NAME],
        )
        for place, each in enumerate(call.arguments[1:], start=1)
    ]
    first, last = (
        Item(Apply(function, call.arguments, call.at), f"{begin}{word}"[:LONGEST_NAME])
        for function, word in (("linreg_intercept", "intercept"), ("linreg_r2", "r2"))
    )
    return (first, *slopes, last)


# --- the question ------------------------------------------------------------------------------------------------------------


LONGEST_NAME = 60


def qualify(select: Select, catalog: Catalog, public: PublicFacts, rows_of: Callable[[Rows], int]) -> Question:
    """The question with its meaning, before limits and moments."""
    select = replace(with_models(select), below=tuple(map(with_models, select.below)))
    relations = Relations(catalog, public, rows_of, most=select.limits.rows)
    scalars = Scalars(relations)
    parts = [part for each in (select, *select.below) for part in _parts(each, relations, scalars)]
    most = max(MOST_SETS, len(select.sets) if not select.below else 0)  # MARGINS has a limit of its own
    if len(parts) > most:
        raise TooMuchWork(f"the question has {len(parts)} parts: the limit is {MOST_SETS}", remedy="ask for fewer at once")
    if select.below:
        parts = stack_parts(select, parts)
    beside, among = tuple(scalars.questions), len(parts)
    first, *others = (
        replace(part.question, limit=select.limit, offset=select.offset, beside=beside, among=among) for part in parts
    )
    for part in (first, *others):
        if any(isinstance(node, Result) and part.calls[node.index].name in CHOICES for node in nodes(part.order)):
            raise not_alone(select.order_by[0].expression.at)
        if any(isinstance(node, End) for node in nodes(part.order)):
            raise NotAllowed("an end of an interval does not order rows", remedy="order by the number itself")
    return replace(first, below=tuple(others))


def _parts(select: Select, relations: Relations, scalars: Scalars) -> list[Part]:
    """A SELECT as one question for each of its grouping sets; one without them is one question."""
    if select.distinct:
        raise NotAllowed(
            "SELECT DISTINCT would return rows of private data", remedy="use GROUP BY with COUNT(*) to see how many have each value"
        )
    for item in select.items:
        if isinstance(item.expression, Star):
            raise NotAllowed(
                "rows of private data are not returned", remedy="ask for an aggregate, such as COUNT(*)", at=item.expression.at
            )
    limited = select.limits != Limits() or any(map(is_bounded, over_groups(select)))
    select = per_unit_and_group(select, relations) if limited else select
    built = relations.of(select)
    if built.public or isinstance(built.rows, PublicScan):
        at = source_of(select).at
        raise NotAllowed(f"{source_of(select).alias} is public", remedy="read it where it is; private tables are asked here", at=at)
    binder = Binder(built.scope)
    every = _keys(select, select.group_by, binder)
    sets = [_keys(select, keys, binder) for keys in select.sets] if select.sets else [every]
    _check_sets(select, sets)
    if limited:
        check_limits(select.limits, built.scope, every, source_of(select).at)
    parts = []
    for keys in sets:
        absent = tuple(key for key in every if all(key.term != other.term for other in keys))
        parts.append(_part(select, built.rows, Asked(Binder(built.scope), keys, absent, scalars.of)))
    return parts


def _part(select: Select, rows: Rows, asked: Asked) -> Part:
    """The question over one set of keys."""
    results = Results(asked)
    outputs = _outputs(select.items, results)
    named = results.with_names(select.items)
    having = results.with_names(select.items, windows=False).test(select.having) if select.having is not None else None
    chosen = named.test(select.qualify) if select.qualify is not None else None
    ordered = () if select.below else select.order_by
    order = tuple(Order(_order_value(item.expression, outputs, select.items, named), item.descending) for item in ordered)
    if not asked.calls:
        raise NotAllowed("the question asks for no aggregate", remedy="add one, for example COUNT(*)")
    group = Group(rows, asked.keys, ())
    question = Question(group, tuple(asked.calls), outputs, having, order, qualify=chosen)
    if private(question):
        question = replace(question, group=replace(group, people=select.limits.people))
    windowed = any(isinstance(node, Window) for part in (*outputs, *order) for node in nodes(part)) or chosen is not None
    if len(select.sets) > 1 and windowed:
        raise NotAllowed(
            "windows and QUALIFY are not supported with ROLLUP, CUBE and GROUPING SETS: they would mix margins and cells",
            remedy="ask for one set of keys",
            at=select.group_by[0].at if select.group_by else None,
        )
    return Part(question, tuple(results.kind(output.value) for output in outputs))


def _check_sets(select: Select, sets: list[tuple[Key, ...]]) -> None:
    """Refuses a grouping set that is listed twice: its rows would be the same, and be paid for again."""
    seen = set()
    for keys in sets:
        terms = frozenset(key.term for key in keys)
        if terms in seen:
            named = ", ".join(key.name for key in keys)
            raise NotAllowed(f"duplicate grouping set ({named})", remedy="list each set once", at=select.group_by[0].at)
        seen.add(terms)


def _keys(select: Select, expressions: tuple[Expression, ...], binder: Binder) -> tuple[Key, ...]:
    keys: list[Key] = []
    for written in keys_of(expressions, select.items, is_released):
        expression, name = of_group(written, select.items, binder.scope)
        if isinstance(expression, Name) and binder.scope.identity(expression) is not None:
            raise NotAllowed(
                f"GROUP BY {'.'.join(expression.parts)[:120]} would return one row per person",
                remedy="group by it in a sub-query, and aggregate over its rows",
                at=written.at,
            )
        term = binder.term(expression)
        if all(key.term != term for key in keys):
            keys.append(Key(name or name_of(expression), term))
    return tuple(keys)


def _outputs(items: tuple[Item, ...], results: Results) -> tuple[Output, ...]:
    names: list[str] = []
    outputs: list[Output] = []
    for item in items:
        wanted = item.name or name_of(item.expression)[:LONGEST_NAME]
        name = next(name for name in chain([wanted], (f"{wanted}_{number}" for number in count(2))) if name not in names)
        names.append(name)
        outputs.append(Output(name, _output(item.expression, results)))
    return tuple(
        replace(output, value=_end(item, items, outputs, results) or output.value)
        for item, output in zip(items, outputs, strict=True)
    )


def _end(item: Item, items: tuple[Item, ...], outputs: list[Output], results: Results) -> End | None:
    """DP_INTERVAL_LOW(n) and DP_INTERVAL_HIGH(n): an end of the interval of the column n; None for any other item."""
    expression = item.expression
    if not isinstance(expression, Apply) or expression.function not in ENDS:
        return None
    (named,) = expression.arguments
    word = CALLED_ENDS[expression.function]
    name = named.parts[-1].lower() if isinstance(named, Name) and len(named.parts) == 1 else None
    place = next((at for at, other in enumerate(items) if other.name and other.name.lower() == name), None)
    if place is None:
        known = ", ".join(other.name for other in items if other.name and other is not item)
        raise NotAllowed(
            f"{word} takes the name of another column of the answer",
            remedy=f"use one of: {known[:200]}" if known else f"write COUNT(*) AS n, {word}(n)",
            at=expression.at,
        )
    out = outputs[place].value
    if not is_noisy(out) or results.kind(out) not in ("number", "date"):
        raise NotAllowed(
            f"{items[place].name} has no interval: it is not a released number",
            remedy="name a count, a sum or another number",
            at=named.at,
        )
    return End(place, "low" if expression.function == "interval_low" else "high")


def _output(expression: Expression, results: Results) -> Out:
    """An item of SELECT; a mode is one by itself, and nothing is made of it. An end of an interval is found when all are known."""
    if isinstance(expression, Apply) and expression.function in ENDS:
        return Fixed(None)
    if isinstance(expression, Apply) and expression.function in CHOICES:
        return results.asked.result(results.asked.call(expression))
    return results.out(expression)


def _order_value(written: Expression, outputs: tuple[Output, ...], items: tuple[Item, ...], results: Results) -> Out:
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        if written.value.denominator != 1 or not 1 <= written.value <= len(items):
            raise UnknownName("invalid position in ORDER BY", remedy=f"use 1 to {len(items)}", at=written.at)
        return outputs[int(written.value) - 1].value
    if isinstance(written, Name) and len(written.parts) == 1:
        for output in outputs:
            if output.name.lower() == written.parts[0].lower():
                return output.value
    return results.out(written)
