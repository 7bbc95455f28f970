"""The same question from Python: a thin builder that ends in a `surface.Select`, as SQL does.

session.table("visits").where("cost > 100").group_by("sex").agg(n="count(*)").release(epsilon=0.1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from tacit.errors import NotAllowed
from tacit.privacy.arguments import text_of, truth_of, whole_of
from tacit.query.language.nodes import Given
from tacit.query.language.sql import parse_expression, parse_item, readable
from tacit.query.language.syntax import Apply, Expression, From, Item, Joined, Ordering, Select

Released = TypeVar("Released")
MOST_ROWS = 10**18 - 1  # the same as LIMIT takes in SQL


@dataclass(frozen=True, slots=True)
class Frame(Generic[Released]):
    """A question that grows by each call; every call returns a new one. `ask` is what `release` hands it to."""

    select: Select
    ask: Callable[..., Released]
    tell: Callable[..., Any]
    given: Given = field(default_factory=Given)

    def where(self, condition: str) -> Frame[Released]:
        """Only the rows for which the condition holds; several are joined by AND."""
        return self._with(where=_and(self.select.where, parse_expression(condition, self.given)))

    def join(self, table: str, on: str | None = None, using: str | None = None, how: str = "inner") -> Frame[Released]:
        """Each row with its rows of another table: `on` is a condition, or `using` names a column of both; `how` may be "left"."""
        if (on is None) == (using is None):
            raise NotAllowed("a join takes on= or using=, and not both", remedy='write join("wards", using="ward")')
        if how not in ("inner", "left"):
            raise NotAllowed("how must be 'inner' or 'left'", remedy='write join("wards", using="ward", how="left")')
        _name(table, "table")
        _name("" if using is None else using, "using")
        condition = parse_expression(on, self.given) if on is not None else None
        joined = Joined(From(table, table), how, condition, (using,) if using is not None else ())  # type: ignore[arg-type]
        return self._with(joins=(*self.select.joins, joined))

    def group_by(self, *expressions: str, **named: str) -> Frame[Released]:
        """One row of the answer per combination of these."""
        items = _items(expressions, named, self.given)
        keys = tuple(item.expression for item in items)
        return self._with(group_by=(*self.select.group_by, *keys), items=(*self.select.items, *items))

    def agg(self, *expressions: str, **named: str) -> Frame[Released]:
        """The aggregates to release, by name, as in n="count(*)" or cost="avg(cost)"."""
        items = _items(expressions, named, self.given)
        return self._with(items=(*self.select.items, *items))

    def having(self, condition: str) -> Frame[Released]:
        """Only the groups whose released numbers hold the condition; several are joined by AND."""
        return self._with(having=_and(self.select.having, parse_expression(condition, self.given)))

    def qualify(self, condition: str) -> Frame[Released]:
        """Only the groups for which a condition on windows over released numbers holds; several are joined by AND."""
        return self._with(qualify=_and(self.select.qualify, parse_expression(condition)))

    def order_by(self, *expressions: str, descending: bool = False) -> Frame[Released]:
        """The groups in the order of released numbers or keys."""
        down = truth_of(descending, "descending")
        added = tuple(Ordering(parse_expression(text, self.given), down) for text in expressions)
        return self._with(order_by=(*self.select.order_by, *added))

    def limit(self, rows: int) -> Frame[Released]:
        """The first rows of the answer."""
        return self._with(limit=whole_of(rows, "limit", 0, MOST_ROWS))

    def release(self, **budget: Any) -> Released:
        """The answer, for a budget as in `session.sql`."""
        return self.ask(self.select, **budget)

    def explain(self, **budget: Any) -> Any:
        """The cost and the error of the answer; spends nothing, reads nothing."""
        return self.tell(self.select, **budget)

    def _with(self, **changes: Any) -> Frame[Released]:
        return replace(self, select=replace(self.select, **changes))


def _items(expressions: Sequence[str], named: Mapping[str, str], given: Given) -> list[Item]:
    own = [Item(parse_expression(text, given), _name(name, "the name of a column")) for name, text in named.items()]
    return [*(parse_item(text, given) for text in expressions), *own]


def _name(value: str, what: str) -> str:
    return readable(text_of(value, what))


def _and(held: Expression | None, added: Expression) -> Expression:
    return added if held is None else Apply("and", (held, added))


def start(table: str, ask: Callable[..., Released], tell: Callable[..., Any], given: Given | None = None) -> Frame[Released]:
    """A question on one table."""
    name = _name(table, "table")
    return Frame(Select((), From(name, name)), ask, tell, given or Given())
