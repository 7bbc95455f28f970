"""Names get their meaning; what is asked of groups becomes calls of aggregates and arithmetic on their released results."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, count

from tacit.errors import NotAllowed, UnknownName
from tacit.privacy.catalog import Catalog
from tacit.query.binding.binder import Binder
from tacit.query.binding.naming import keys_of, name_of, of_group
from tacit.query.binding.relations import Relations
from tacit.query.binding.results import Results
from tacit.query.binding.scope import PublicFacts
from tacit.query.binding.select_list import Asked, has_aggregate
from tacit.query.language.syntax import Constant, Expression, Item, Name, Select, Star
from tacit.query.plan import Group, Key, PublicScan, Question
from tacit.query.results import Order, Out, Output

LONGEST_NAME = 60


def qualify(select: Select, catalog: Catalog, public: PublicFacts) -> Question:
    """The question with its meaning, before limits and moments."""
    if select.distinct:
        raise NotAllowed(
            "SELECT DISTINCT would return rows of private data", remedy="use GROUP BY with COUNT(*) to see how many have each value"
        )
    for item in select.items:
        if isinstance(item.expression, Star):
            raise NotAllowed(
                "rows of private data are not returned", remedy="ask for an aggregate, such as COUNT(*)", at=item.expression.at
            )
    built = Relations(catalog, public).of(select)
    if built.public or isinstance(built.rows, PublicScan):
        at = select.table.at
        raise NotAllowed(f"{select.table.alias} is public", remedy="read it where it is; private tables are asked here", at=at)
    asked = Asked(Binder(built.scope), _keys(select, Binder(built.scope)))
    results = Results(asked)
    outputs = _outputs(select.items, results)
    named = results.naming(select.items)
    having = results.naming(select.items, windows=False).test(select.having) if select.having is not None else None
    chosen = named.test(select.qualify) if select.qualify is not None else None
    order = tuple(Order(_ordered(item.expression, outputs, select.items, named), item.descending) for item in select.order_by)
    if not asked.calls:
        raise NotAllowed("the question asks for no aggregate", remedy="add one, for example COUNT(*)")
    group = Group(built.rows, asked.keys, ())
    return Question(group, tuple(asked.calls), outputs, having, order, select.limit, select.offset, chosen)


def _keys(select: Select, binder: Binder) -> tuple[Key, ...]:
    keys: list[Key] = []
    for written in keys_of(select.group_by, select.items, has_aggregate):
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
        outputs.append(Output(name, results.out(item.expression)))
    return tuple(outputs)


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
