"""A condition of WHERE that some row can meet; one that the catalog alone decides is refused before it is paid for."""

from __future__ import annotations

from tacit.errors import NeverTrue
from tacit.privacy import catalog
from tacit.privacy.rounding import as_text
from tacit.query.binding.binder import Binder
from tacit.query.binding.identities import conjuncts, names_in
from tacit.query.binding.possible import can_be
from tacit.query.binding.scope import Declared, Scope
from tacit.query.language.syntax import Expression
from tacit.query.plan import Condition, Truth


def possible(written: Expression, binder: Binder) -> Condition:
    """The condition of WHERE; refused where the catalog alone decides that no row can meet it, at the part that says so."""
    for part in conjuncts(written):
        found = binder.condition(part)
        if not can_be(found):
            raise _never(part, found, binder.scope)
    whole = binder.condition(written)
    if not can_be(whole):
        remedy = "check the borders of each"
        raise NeverTrue("the conditions exclude each other: no row can meet all of them", remedy=remedy, at=written.at)
    return whole


def _never(written: Expression, found: Condition, scope: Scope) -> NeverTrue:
    if found == Truth(None):
        return NeverTrue("a comparison with NULL is never true", remedy="use IS NULL or IS NOT NULL", at=written.at)
    held = (scope.find(name)[1] for name in names_in(written))
    columns = dict.fromkeys(each.column for each in held if isinstance(each, Declared))
    declared = ", ".join(f"{column.name} is {words}" for column in columns if (words := declared_range(column)))
    what = "the condition is never true" + (f": {declared}" if declared else "")
    return NeverTrue(what, remedy="compare with a value that can occur", at=written.at)


def declared_range(column: catalog.Column) -> str:
    """What is declared of a column's values, in words; nothing where their values are private."""
    if column.kind == "category":
        return f"one of {', '.join(map(repr, column.domain[:20]))}" + (", ..." if column.domain[20:] else "")
    if column.bounds is None or column.step is None:
        return ""
    if column.kind == "date":
        return f"from {catalog.day_of(int(column.bounds[0]))} to {catalog.day_of(int(column.bounds[1]))}"
    steps = f" in steps of {as_text(column.step)}" if column.step != 1 else ""
    return f"from {as_text(column.bounds[0])} to {as_text(column.bounds[1])}{steps}"
