"""What a filter admits, asked one by one."""

from __future__ import annotations

from tacit.accounting.composition import Cost
from tacit.accounting.filter import NOTHING_SPENT, Filter, State


def spent(rule: Filter, *costs: Cost) -> State:
    state = NOTHING_SPENT
    for cost in costs:
        state = rule.after(state, cost)
    return state


def how_many(rule: Filter, cost: Cost) -> int:
    state, count = NOTHING_SPENT, 0
    while rule.admits(state, cost):
        state, count = rule.after(state, cost), count + 1
    return count
