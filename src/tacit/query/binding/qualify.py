"""Names get their meaning; what is asked of groups becomes calls of aggregates and arithmetic on their released results."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import chain, count

from tacit.errors import NotAllowed, TooMuchWork, UnknownName
from tacit.privacy.catalog import Catalog
from tacit.query.binding.binder import Binder
from tacit.query.binding.naming import keys_of, name_of, of_group
from tacit.query.binding.relations import Relations
from tacit.query.binding.results import Results
from tacit.query.binding.scalars import Scalars
from tacit.query.binding.scope import PublicFacts
from tacit.query.binding.select_list import Asked, is_released, not_alone
from tacit.query.binding.stacked import Part, stacked
from tacit.query.language.grouping_sets import MOST_SETS
from tacit.query.language.syntax import Apply, Constant, Expression, Item, Name, Select, Star
from tacit.query.plan import Group, Key, PublicScan, Question, Rows
from tacit.query.results import Order, Out, Output, Result, Window, nodes

LONGEST_NAME = 60


def qualify(select: Select, catalog: Catalog, public: PublicFacts) -> Question:
    """The question with its meaning, before limits and moments."""
    relations = Relations(catalog, public)
    scalars = Scalars(relations)
    parts = [part for each in (select, *select.below) for part in _parts(each, relations, scalars)]
    if len(parts) > MOST_SETS:
        raise TooMuchWork(f"the question has {len(parts)} parts: the limit is {MOST_SETS}", remedy="ask for fewer at once")
    if select.below:
        parts = stacked(select, parts)
    beside, among = tuple(scalars.questions), len(parts)
    first, *others = (
        replace(part.question, limit=select.limit, offset=select.offset, beside=beside, among=among) for part in parts
    )
    for part in (first, *others):
        if any(isinstance(node, Result) and part.calls[node.index].name == "mode" for node in nodes(part.order)):
            raise not_alone(select.order_by[0].expression.at)
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
    built = relations.of(select)
    if built.public or isinstance(built.rows, PublicScan):
        at = select.table.at
        raise NotAllowed(f"{select.table.alias} is public", remedy="read it where it is; private tables are asked here", at=at)
    binder = Binder(built.scope)
    every = _keys(select, select.group_by, binder)
    sets = [_keys(select, keys, binder) for keys in select.sets] if select.sets else [every]
    _check_sets(select, sets)
    found = []
    for keys in sets:
        absent = tuple(key for key in every if all(key.term != other.term for other in keys))
        found.append(_part(select, built.rows, Asked(Binder(built.scope), keys, absent, scalars.of)))
    return found


def _part(select: Select, rows: Rows, asked: Asked) -> Part:
    """The question over one set of keys."""
    results = Results(asked)
    outputs = _outputs(select.items, results)
    named = results.naming(select.items)
    having = results.naming(select.items, windows=False).test(select.having) if select.having is not None else None
    chosen = named.test(select.qualify) if select.qualify is not None else None
    ordered = () if select.below else select.order_by
    order = tuple(Order(_ordered(item.expression, outputs, select.items, named), item.descending) for item in ordered)
    if not asked.calls:
        raise NotAllowed("the question asks for no aggregate", remedy="add one, for example COUNT(*)")
    question = Question(Group(rows, asked.keys, ()), tuple(asked.calls), outputs, having, order, qualify=chosen)
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
    outputs = []
    for item in items:
        wanted = item.name or name_of(item.expression)[:LONGEST_NAME]
        name = next(name for name in chain([wanted], (f"{wanted}_{number}" for number in count(2))) if name not in names)
        names.append(name)
        outputs.append(Output(name, _output(item.expression, results)))
    return tuple(outputs)


def _output(expression: Expression, results: Results) -> Out:
    """An item of SELECT; a mode is one by itself, and nothing is made of it."""
    if isinstance(expression, Apply) and expression.function == "mode":
        return results.asked.result(results.asked.call(expression))
    return results.out(expression)


def _ordered(written: Expression, outputs: tuple[Output, ...], items: tuple[Item, ...], results: Results) -> Out:
    if isinstance(written, Constant) and isinstance(written.value, Fraction):
        if written.value.denominator != 1 or not 1 <= written.value <= len(items):
            raise UnknownName("invalid position in ORDER BY", remedy=f"use 1 to {len(items)}", at=written.at)
        return outputs[int(written.value) - 1].value
    if isinstance(written, Name) and len(written.parts) == 1:
        for output in outputs:
            if output.name.lower() == written.parts[0].lower():
                return output.value
    return results.out(written)
