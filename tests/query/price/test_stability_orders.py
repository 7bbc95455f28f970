"""Joins cost what they mean: one price for every order and spelling of a tree of inner joins, and it is a bound.

Random trees are written in random orders. By brute force, no unit with any rows that the catalog allows has more rows after the
joins than the bound.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shop import LIMITS, TIED, UNIQUE, planned, shop
from tacit.query.plan import Bound
from tacit.query.price import stability
from tacit.query.price.price import price, request
from tacit.query.price.stability import copies, reach, rows_of
from tacit.query.price.work import worst

GOLDEN = Path(__file__).parents[2] / "queries" / "shop" / "join_orders.txt"
Tie = tuple[int, int, str]


@dataclass(frozen=True)
class Tree:
    """Tables, each perhaps several times, and what ties them: places in the list, and the space of values."""

    tables: tuple[str, ...]
    ties: tuple[Tie, ...]

    def sql(self, order: Sequence[int], turned: Sequence[bool], spelled: int) -> str:
        """The same question in another order: conditions in ON as soon as they can be, or all in WHERE."""
        alias = [f"{'t' if spelled % 2 else 'zyxwvu'[place]}{place}" for place in range(len(self.tables))]
        said = []
        for (one, two, space), turn in zip(self.ties, turned, strict=True):
            pair = [f"{alias[at]}.{TIED[space][self.tables[at]]}" for at in (one, two)]
            said.append(({one, two}, " = ".join(reversed(pair) if turn else pair)))
        text, there = f"FROM {self.tables[order[0]]} AS {alias[order[0]]}", {order[0]}
        for place in order[1:]:
            there |= {place}
            now = [each for each in said if each[0] <= there]
            said = [each for each in said if each not in now]
            name = f"{self.tables[place]} AS {alias[place]}"
            if spelled < 2 and now:
                text += f" JOIN {name} ON {' AND '.join(each for _, each in now)}"
            else:
                said += now
                text += f" CROSS JOIN {name}"
        return f"SELECT COUNT(*) {text}" + (f" WHERE {' AND '.join(each for _, each in said)}" if said else "")


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Connected by what a person could write: each table is tied to one before it, and perhaps to others."""
    tables, ties = [draw(st.sampled_from(list(LIMITS)))], list[Tie]()
    for place in range(1, draw(st.integers(2, 4))):
        ways = [(at, name, space) for at, one in enumerate(tables) for space, held in TIED.items() if one in held for name in held]
        at, name, space = draw(st.sampled_from(ways))
        tables.append(name)
        ties.append((at, place, space))
        more = [
            (other, place, each) for other, one in enumerate(tables[:-1]) for each, held in TIED.items() if {one, name} <= {*held}
        ]
        ties += [tie for tie in draw(st.lists(st.sampled_from(more), max_size=1)) if tie not in ties]
    return Tree(tuple(tables), tuple(ties))


def ways(tree: Tree, data: st.DataObject) -> list[str]:
    orders = data.draw(st.lists(st.permutations(range(len(tree.tables))), min_size=3, max_size=3))
    turned = st.lists(st.booleans(), min_size=len(tree.ties), max_size=len(tree.ties))
    return [tree.sql(order, data.draw(turned), data.draw(st.integers(0, 3))) for order in orders]


@settings(deadline=None, max_examples=60)
@given(trees(), st.fixed_dictionaries({name: st.integers(1, 4) for name in LIMITS}), st.data())
def test_a_tree_of_joins_has_one_price_in_every_order_and_spelling(tree: Tree, limits: dict[str, int], data: st.DataObject) -> None:
    declared, texts = shop(limits), [tree.sql(range(len(tree.tables)), [False] * len(tree.ties), 0), *ways(tree, data)]
    plans = [planned(text, declared) for text in texts]
    assert len({rows_of(plan.group.child) for plan in plans}) == 1, texts
    offers = [price(plan, request(epsilon=1, delta=1e-6)) for plan in plans]
    assert len({tuple(quote.event for quote in quotes) for quotes in offers}) == 1, texts


def test_a_declared_limit_in_a_group_counts_in_every_order() -> None:
    ties = ((0, 1, "unit"), (1, 2, "order"))
    tree, declared = Tree(("customers", "orders", "lines"), ties), shop(per_group=3)
    found = set()
    for order in permutations(range(3)):
        text = tree.sql(order, [False, False], 1).replace("COUNT(*)", "t0.region, SUM(t2.price)") + " GROUP BY t0.region"
        plan = planned(text, declared)
        found.add((reach(plan), plan.group.per_group))
        (limited,) = (
            step.child for step in stability.below(plan.group) if isinstance(step, Bound) and step.child.table.name == "lines"
        )
        assert plan.group.limited in (None, limited.source)
        assert (plan.group.limited is None) == (limited.source == 0)
    ((touched, per_group),) = found
    assert (touched.rows, touched.per_group, per_group) == (60, 3, 3)


# --- by brute force ------------------------------------------------------------------------------------------------------------

Row = Mapping[str, Any]


def rows_of_a_unit(limits: Mapping[str, int]) -> st.SearchStrategy[dict[str, list[Row]]]:
    """What one unit may have in a store: codes of its keys, one row for each code of a key that is kept unique."""
    code = st.one_of(st.none(), st.integers(0, 2))

    def rows(name: str) -> st.SearchStrategy[list[Row]]:
        spaces = [space for space, held in TIED.items() if name in held and space != "unit"]
        row = st.fixed_dictionaries(dict.fromkeys(spaces, code))
        own = UNIQUE.get(name)
        return st.lists(row, max_size=limits[name]).map(lambda found: _one_of_each(found, own))

    return st.fixed_dictionaries({name: rows(name) for name in LIMITS})


def _one_of_each(rows: list[Row], own: str | None) -> list[Row]:
    seen: set[Any] = set()
    return [row for row in rows if own is None or row[own] is None or not (row[own] in seen or seen.add(row[own]))]


def joined(tree: Tree, rows: Mapping[str, Sequence[Row]]) -> list[tuple[Row, ...]]:
    """The rows of a unit after all joins, which always compare the unit."""
    every = product(*(rows[name] for name in tree.tables))
    keys = [tie for tie in tree.ties if tie[2] != "unit"]
    return [each for each in every if all(each[one][by] is not None and each[one][by] == each[two][by] for one, two, by in keys)]


SMALL = {"customers": 2, "orders": 3, "lines": 3, "returns": 2, "cards": 2}
DOWN = Tree(("customers", "orders", "lines"), ((0, 1, "unit"), (1, 2, "order")))
CARDS = Tree(("orders", "cards"), ((0, 1, "unit"),))
FULL = {
    "customers": [{}, {}],
    "orders": [{"order": at} for at in range(3)],
    "lines": [{"order": 0, "line": at} for at in range(3)],
    "returns": [{"line": 0}] * 2,
    "cards": [{}, {}],
}


def exceeded(tree: Tree, rows: Mapping[str, Sequence[Row]]) -> bool:
    """Whether a unit has more rows than the bound, or one of its rows is in more of them than `copies`."""
    plan = planned(tree.sql(range(len(tree.tables)), [False] * len(tree.ties), 1), shop(SMALL))
    found = joined(tree, rows)
    often = [max((sum(row[at] is one for row in found) for one in rows[name]), default=0) for at, name in enumerate(tree.tables)]
    if any(times > (copies(plan.group.child, at) or 0) for at, times in enumerate(often)):
        return True
    return len(found) > rows_of(plan.group.child)


@settings(deadline=None, max_examples=150)
@given(trees(), rows_of_a_unit(SMALL))
@example(DOWN, FULL)
@example(CARDS, FULL)
def test_no_unit_has_more_rows_after_joins(tree: Tree, rows: dict[str, list[Row]]) -> None:
    assert not exceeded(tree, {name: [dict(row) for row in each] for name, each in rows.items()})


TRUSTED = {
    "every key, also one that only refers": lambda member, codes: (codes,),
    "a key that is unique only over all units": lambda member, codes: (frozenset(),) if member.table.key else member.unique,
    "no row limit": None,
}


@pytest.mark.parametrize("name", TRUSTED)
def test_a_planted_uniqueness_is_caught(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One code of an order is in three lines. A customer has two rows: their key names the unit, and is unique over all units."""
    honest, planted = stability._member, TRUSTED[name]

    def member(relation: Any) -> stability.Member:
        found = honest(relation)
        if planted is None:
            return replace(found, rows=1)
        columns = frozenset((source, f"tacit_code {column}") for source in found.sources for column in ("order_id",))
        return replace(found, unique=planted(found, columns))

    assert not any(exceeded(tree, FULL) for tree in (DOWN, CARDS))
    monkeypatch.setattr(stability, "_member", member)
    assert any(exceeded(tree, FULL) for tree in (DOWN, CARDS))


def test_a_left_join_keeps_what_it_means() -> None:
    """Rows of the left side are never determined by a right side that may be missing."""
    declared = shop()
    down = "SELECT COUNT(*) FROM orders o LEFT JOIN lines l ON l.order_id = o.order_id"
    up = "SELECT COUNT(*) FROM lines l LEFT JOIN orders o ON l.order_id = o.order_id"
    assert rows_of(planned(down, declared).group.child) == 12 * 60
    assert rows_of(planned(up, declared).group.child) == 60
    further = down + " JOIN customers c ON o.customer_id = c.id"
    assert rows_of(planned(further, declared).group.child) == 12 * 60
    before = "SELECT COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id LEFT JOIN lines l ON l.order_id = o.order_id"
    assert rows_of(planned(before, declared).group.child) == 12 * 60


# --- the shop's orders of joins, to be read ------------------------------------------------------------------------------------


def test_the_orders_of_joins_of_a_shop_have_one_price() -> None:
    declared, lines = shop(), []
    revenue = "SELECT SUM(l.price) FROM {} JOIN {} ON {} JOIN {} ON {}"
    up, down = "l.order_id = o.order_id", "o.customer_id = c.id"
    names = {"l": "lines l", "o": "orders o", "c": "customers c"}
    for first, second, third in permutations("loc"):
        known = {frozenset("lo"): up, frozenset("oc"): down}
        one = known.get(frozenset({first, second}))
        if one is None:  # lines and customers have no column in common: orders come between
            continue
        (two,) = {up, down} - {one}
        text = revenue.format(names[first], names[second], one, names[third], two)
        plan = planned(text, declared)
        (quote,) = price(plan, request(epsilon=1))
        (part,) = quote.sums
        half = f"{part.mechanism.interval(0.95).above:,.0f}"
        rows = worst(plan).rows
        lines += [
            text,
            f"    rows of one customer: {rows_of(plan.group.child)} · revenue ± {half} at epsilon 1 · worst rows {rows:,}",
        ]
    text = "\n".join([*lines, ""])
    if os.environ.get("REWRITE"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    prices = {line.rpartition(" · ")[0] for line in lines if line.startswith(" ")}
    assert len(prices) == 1


def test_a_tree_of_many_joins_is_bounded_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of members are sought, not orders of them: nine tables have 9! orders, and a question must not keep the door busy."""
    seen, honest = [], stability.Joined._with_determined
    monkeypatch.setattr(stability.Joined, "_with_determined", lambda *given: seen.append(1) or honest(*given))
    joined = " ".join(f"JOIN lines l{place} ON l{place}.order_id = l0.order_id" for place in range(1, 9))
    declared = shop({**LIMITS, "lines": 2})
    assert rows_of(planned(f"SELECT COUNT(*) FROM lines l0 {joined}", declared).group.child) == 2**9
    assert len(seen) < 100_000
