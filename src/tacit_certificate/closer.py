"""Ranges that the parts of an expression do not show one by one: sums with equal parts, remainders, expressions of one column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tacit_certificate.document import Node, whole
from tacit_certificate.ranges import Range, Ranges, added, both, holds, hull, scaled

MOST_PIECEWORK = 3_000  # expressions whose ranges are computed: beyond that, a range of an expression of one column is as stated


def closer(ranges: Ranges, node: Node, found: Range) -> Range:
    """Of a product with each factor an even number of times, and of a sum, what its parts one by one do not show."""
    if node["is"] == "Multiply" and found is not None:
        factors = _factors(ranges, node)
        even = all(factors.count(each) % 2 == 0 for each in factors)
        return (max(0, found[0]), found[1]) if even else found
    return _as_sum(ranges, node, found) if node["is"] == "Add" else found


def piece_by_piece(ranges: Ranges, node: Node, found: Range) -> Range:
    """The range of an expression of one column, over halves of its range, halved again where that shows too little."""
    columns, number = {ranges.names.of(each) for each in columns_of(node)}, ranges.names.of(node)
    if len(columns) != 1 or number in columns:
        return found
    (column,) = columns
    if column in ranges.narrowed:
        return _halved(ranges, node, column)
    if number not in ranges.names.shown:
        ranges.names.shown[number] = _halved(ranges, node, column)
    return ranges.names.shown[number]


def _halved(ranges: Ranges, node: Node, column: int) -> Range:
    waiting: list[Range] = [ranges.of(ranges.names.nodes[column])]
    shown: list[Range] = []
    if ranges.may_be_null(ranges.names.nodes[column]):
        shown.append(_where(ranges, column, None, node))
    while waiting:
        piece = waiting.pop()
        found = _where(ranges, column, piece, node)
        if holds(node, found) or piece is None or piece[0] == piece[1]:
            shown.append(found)
        elif len(ranges.names.work) > MOST_PIECEWORK:
            return ranges.as_stated(node)
        else:
            middle = (piece[0] + piece[1]) // 2
            waiting += [(piece[0], middle), (middle + 1, piece[1])]
    return hull(*shown)


def _where(ranges: Ranges, column: int, piece: Range, node: Node) -> Range:
    """The range of an expression where a column is NULL, or in a part of its range."""
    present = {*ranges.present} if piece is None else {*ranges.present, column}
    inside = replace(ranges, narrowed={**ranges.narrowed, column: piece}, present=present, known={}, empty=False, sharp=True)
    return closer(inside, node, inside.rule(node))


def _as_sum(ranges: Ranges, node: Node, found: Range) -> Range:
    """A sum in which equal parts are put together, and a - d floor(a / d) is a remainder, from 0 to d - 1."""
    form = ranges.terms(node)
    found = both(found, _sum_range(ranges, form, 0))
    for at, factor in form.items():
        floor: Node = ranges.names.nodes[at] if at >= 0 else {"is": ""}
        if floor["is"] == "Quotient" and factor < 0 and factor % whole(floor, "divisor", 1) == 0:
            times = -factor // whole(floor, "divisor", 1)
            rest = added(added(form, {at: 1}, -factor), ranges.terms(floor["child"]), -times)
            found = both(found, _sum_range(ranges, rest, times * (whole(floor, "divisor", 1) - 1)))
    return found


def _sum_range(ranges: Ranges, form: Mapping[int, int], more: int) -> Range:
    low = high = form.get(-1, 0)
    for at, factor in form.items():
        if at >= 0:
            if (part := scaled(ranges.of(ranges.names.nodes[at]), factor)) is None:
                return None
            low, high = low + part[0], high + part[1]
    return low, high + more


def columns_of(node: Any) -> Iterator[Node]:
    """The columns in an expression."""
    if isinstance(node, dict) and node.get("is") in ("Column", "Code"):
        yield node
    elif isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from columns_of(each)


def _factors(ranges: Ranges, node: Node) -> list[int]:
    if node["is"] == "Multiply":
        return _factors(ranges, node["left"]) + _factors(ranges, node["right"])
    return [ranges.names.of(node)]
