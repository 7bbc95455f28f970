"""The range of every expression of a plan, from the declared bounds of columns upwards.

An expression is a tree of JSON objects; `is` names the kind of each. What it states of its range is not believed: a range that does
not hold everything that the expression can be is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Any

from tacit_certificate import numbers
from tacit_certificate.document import Wrong, rational, refuse, whole

Node = Mapping[str, Any]
Range = tuple[int, int] | None  # of the values that are not NULL; None where all are
LARGEST = 1 << 53
FAR = LARGEST**4  # beyond every product of two numbers
MOST_WORK = 100_000  # expressions whose ranges are computed, again for each case in which they are narrower
MOST_PIECEWORK = 3_000  # the same where the range of a column is halved: from there on a range is taken as stated
STATED = ("low", "high", "nullable", "together")  # what an expression says of itself

# --- ranges ------------------------------------------------------------------------------------------------------------------


def hull(*ranges: Range) -> Range:
    """The least range that holds all of them."""
    known = [each for each in ranges if each is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def both(one: Range, other: Range) -> Range:
    """What lies in both; None where nothing does."""
    if one is None or other is None or max(one[0], other[0]) > min(one[1], other[1]):
        return None
    return max(one[0], other[0]), min(one[1], other[1])


class PublicColumns(dict[str, tuple[Range, bool]]):
    """Columns of a public table. Their ranges follow from its contents, which a certificate does not have: taken as stated."""


@dataclass
class Names:
    """One number for all expressions with the same parts, whatever ranges they state; and the work that was done so far."""

    by_text: dict[str, int] = field(default_factory=dict)
    by_node: dict[int, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    shown: dict[int, Range] = field(default_factory=dict)  # what halving a column showed, wherever the expression stands
    unshown: list[str] = field(default_factory=list)  # ranges that are taken as stated
    work: int = 0

    def of(self, node: Node) -> int:
        """The number of an expression."""
        if (found := self.by_node.get(id(node))) is not None:
            return found
        text = ",".join(f"{key}={self._text(node[key])}" for key in sorted(node) if key not in STATED)
        number = self.by_text.setdefault(text, len(self.by_text))
        if number == len(self.nodes):
            self.nodes.append(node)
        self.by_node[id(node)] = number
        return number

    def _text(self, value: Any) -> str:
        if isinstance(value, dict):
            return f"#{self.of(value)}"
        return f"[{' '.join(map(self._text, value))}]" if isinstance(value, list) else repr(value)


@dataclass
class Ranges:
    """The ranges of row expressions; in some rows they are known to be `narrowed`, or not NULL (`present`), by their numbers."""

    columns: Mapping[int, Mapping[str, tuple[Range, bool]]]
    names: Names = field(default_factory=Names)
    narrowed: dict[int, Range] = field(default_factory=dict)
    present: set[int] = field(default_factory=set)
    known: dict[int, Range] = field(default_factory=dict)
    empty: bool = False  # whether there are no such rows
    sharp: bool = False  # whether ranges are as narrow as they can be shown to be, and not only as narrow as stated

    def of(self, node: Node) -> Range:
        """The range of an expression, from its parts; an error if it states a narrower one than can be shown."""
        number = self.names.of(node)
        if number not in self.known:
            self.names.work += 1
            refuse(self.names.work > MOST_WORK, "the plan takes more work to check than this program does")
            found = RANGES[node["is"]](self, node)
            if self.sharp or not _holds(node, found):
                found = self._closer(node, found)
            if not self.sharp and not _holds(node, found):
                found = self._piece_by_piece(node, found)
            if self.sharp and "low" in node:  # shown where it was met first
                found = both(found, (whole(node, "low"), whole(node, "high")))
            if not _holds(node, found):
                ends = "NULL alone" if found is None else f"{found[0]} to {found[1]}"
                raise Wrong(f"an expression of kind {node['is']} can be {ends}, and states {node['low']} to {node['high']}")
            self.known[number] = both(found, self.narrowed[number]) if number in self.narrowed else found
        return self.known[number]

    def stated(self, node: Node) -> Range:
        """The range that an expression states, once it is shown to hold everything that the expression can be."""
        found = self.of(node)
        return (whole(node, "low"), whole(node, "high")) if "low" in node else found

    # --- what follows from a condition ---

    def given(self, condition: Node, true: bool) -> Ranges:
        """The ranges in rows in which a condition is true; or not true, which is false or unknown."""
        inside = Ranges(self.columns, self.names, dict(self.narrowed), set(self.present), empty=self.empty, sharp=self.sharp)
        match condition["is"]:
            case "All" if true:
                for part in condition["parts"]:
                    inside = inside.given(part, True)
            case "Negation" if true:
                return self.given(condition["part"], False)
            case "IsNull" if condition["child"]["is"] != "TextColumn":
                inside.empty |= self.of(condition["child"]) is None if not true else not self.may_be_null(condition["child"])
                inside.present |= set() if true else {self.names.of(condition["child"])}
            case "Compare":
                inside._compare(condition, true)
        return inside

    def _compare(self, condition: Node, true: bool) -> None:
        """left - right is at most a number: each part of that sum is narrowed by the least that the others can be.

        Where the comparison is not true, one of its parts may be NULL, which says nothing of the others.
        """
        left, right, operator = condition["left"], condition["right"], condition["operator"]
        sides = [self.terms(left), self.terms(right)]
        whole_sides = [
            terms if set(terms) <= {-1} else {self.names.of(node): 1} for terms, node in zip(sides, (left, right), strict=True)
        ]
        for one, other in (whole_sides, sides) if whole_sides != sides else (sides,):
            form, strict = _sum(one, other, -1), operator == "<"
            if true:
                self.present |= {at for at in form if at >= 0}
            elif operator == "=":
                return
            else:  # not l < r is -l <= -r, and not l <= r is -l < -r
                form, strict = _sum({}, form, -1), not strict
            self._at_most(form, -int(strict))
            if operator == "=":
                self._at_most(_sum({}, form, -1), 0)
            self.known = {}

    def _at_most(self, form: Mapping[int, int], most: int) -> None:
        ranges = {at: self.of(self.names.nodes[at]) for at in form if at >= 0}
        self.empty |= not ranges and form.get(-1, 0) > most
        for at, one in ranges.items():
            others = [_scaled(other, form[number]) for number, other in ranges.items() if number != at]
            sure = all(other == at or other in self.present or not self.may_be_null(self.names.nodes[other]) for other in ranges)
            if sure and None not in others:
                rest = most - form.get(-1, 0) - sum(part[0] for part in others if part is not None)
                ends = (-FAR, rest // form[at]) if form[at] > 0 else (-(rest // -form[at]), FAR)
                self.narrowed[at] = both(one, ends)
                self.empty |= self.narrowed[at] is None and not self.may_be_null(self.names.nodes[at])

    def may_be_null(self, node: Node) -> bool:
        """Whether an expression can be NULL, as far as its parts say."""
        if self.names.of(node) in self.present:
            return False
        match node["is"]:
            case "Literal":
                return node["value"] is None
            case "Column":
                return _column(self, node)[1]
            case "Add" | "Multiply":
                return self.may_be_null(node["left"]) or self.may_be_null(node["right"])
            case "Quotient" | "Root" | "Logarithm":
                return self.may_be_null(node["child"])
            case "Lookup":
                return self.may_be_null(node["child"]) or None in node["table"]
            case "Choose":
                return any(inside.may_be_null(value) for inside, value in self.cases(node))
            case _:
                return True

    def cases(self, node: Node) -> Iterator[tuple[Ranges, Node]]:
        """Every value of a CASE, with what is known where it is taken."""
        rest = self
        for condition, value in node["branches"]:
            inside = rest.given(condition, True)
            if not inside.empty:
                yield inside, value
            rest = rest.given(condition, False)
        if not rest.empty:
            yield rest, node["otherwise"]

    # --- closer ranges, where an expression states one that its parts alone do not show ---

    def _closer(self, node: Node, found: Range) -> Range:
        if node["is"] == "Multiply" and found is not None:
            factors = _factors(self, node)
            even = all(factors.count(each) % 2 == 0 for each in factors)
            return (max(0, found[0]), found[1]) if even else found
        return self._as_sum(node, found) if node["is"] == "Add" else found

    def _piece_by_piece(self, node: Node, found: Range) -> Range:
        """The range of an expression of one column, over halves of its range, halved again where that shows too little."""
        columns, number = {self.names.of(each) for each in _columns(node)}, self.names.of(node)
        if len(columns) != 1 or number in columns:
            return found
        column = columns.pop()
        if column in self.narrowed:
            return self._halved(node, column)
        if number not in self.names.shown:
            self.names.shown[number] = self._halved(node, column)
        return self.names.shown[number]

    def _halved(self, node: Node, column: int) -> Range:
        waiting: list[Range] = [self.of(self.names.nodes[column])]
        shown: list[Range] = []
        if self.may_be_null(self.names.nodes[column]):
            shown.append(self._where(column, None, node))
        while waiting:
            piece = waiting.pop()
            closer = self._where(column, piece, node)
            if _holds(node, closer) or piece is None or piece[0] == piece[1]:
                shown.append(closer)
            elif self.names.work > MOST_PIECEWORK:
                self.names.unshown.append(f"the range {node['low']} to {node['high']} of an expression of one column")
                return whole(node, "low"), whole(node, "high")
            else:
                middle = (piece[0] + piece[1]) // 2
                waiting += [(piece[0], middle), (middle + 1, piece[1])]
        return hull(*shown)

    def _where(self, column: int, piece: Range, node: Node) -> Range:
        """The range of an expression where a column is NULL, or in a part of its range."""
        present = self.present if piece is None else {*self.present, column}
        inside = Ranges(self.columns, self.names, {**self.narrowed, column: piece}, set(present), sharp=True)
        return inside._closer(node, RANGES[node["is"]](inside, node))

    def terms(self, node: Node) -> dict[int, int]:
        """An expression as a sum of others times factors, by their numbers; -1 stands for the constant."""
        if node["is"] == "Literal" and node["value"] is not None:
            return {-1: whole(node, "value")}
        if node["is"] == "Add":
            return _sum(self.terms(node["left"]), self.terms(node["right"]), 1)
        if node["is"] == "Multiply":
            for one, other in (("left", "right"), ("right", "left")):
                if node[one]["is"] == "Literal" and node[one]["value"] is not None:
                    return _sum({}, self.terms(node[other]), whole(node[one], "value"))
        return {self.names.of(node): 1}

    def _as_sum(self, node: Node, found: Range) -> Range:
        """A sum in which equal parts are put together, and a - d floor(a / d) is a remainder, from 0 to d - 1."""
        form = self.terms(node)
        found = both(found, self._sum_range(form, 0))
        for at, factor in form.items():
            floor: Node = self.names.nodes[at] if at >= 0 else {"is": ""}
            if floor["is"] == "Quotient" and factor < 0 and factor % whole(floor, "divisor", 1) == 0:
                times = -factor // whole(floor, "divisor", 1)
                rest = _sum(_sum(form, {at: 1}, -factor), self.terms(floor["child"]), -times)
                found = both(found, self._sum_range(rest, times * (whole(floor, "divisor", 1) - 1)))
        return found

    def _sum_range(self, form: Mapping[int, int], more: int) -> Range:
        low = high = form.get(-1, 0)
        for at, factor in form.items():
            if at >= 0:
                if (part := _scaled(self.of(self.names.nodes[at]), factor)) is None:
                    return None
                low, high = low + part[0], high + part[1]
        return low, high + more


def _columns(node: Any) -> Iterator[Node]:
    """The columns in an expression."""
    if isinstance(node, list):
        for each in node:
            yield from _columns(each)
    elif isinstance(node, dict):
        if node.get("is") in ("Column", "Code"):
            yield node
        else:
            yield from _columns(list(node.values()))


def _holds(node: Node, found: Range) -> bool:
    """Whether the range that an expression states, if it states one, holds another one."""
    return found is None or "low" not in node or whole(node, "low") <= found[0] <= found[1] <= whole(node, "high")


def _scaled(one: Range, factor: int) -> Range:
    return None if one is None else (min(one[0] * factor, one[1] * factor), max(one[0] * factor, one[1] * factor))


def _sum(one: Mapping[int, int], other: Mapping[int, int], factor: int) -> dict[int, int]:
    total = {at: one.get(at, 0) + factor * other.get(at, 0) for at in {**one, **other}}
    return {at: times for at, times in total.items() if times}


def _column(ranges: Ranges, node: Node) -> tuple[Range, bool]:
    columns = ranges.columns.get(whole(node, "source"), {})
    if isinstance(columns, PublicColumns):
        return (whole(node, "low"), whole(node, "high")), True
    if (made := columns.get(node["name"])) is None:
        raise Wrong(f"column {str(node['name'])[:60]!r} does not belong to the relation that it is said to come from")
    return made


def _multiply(ranges: Ranges, node: Node) -> Range:
    one, other = ranges.of(node["left"]), ranges.of(node["right"])
    if one is None or other is None:
        return None
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def _factors(ranges: Ranges, node: Node) -> list[int]:
    if node["is"] == "Multiply":
        return _factors(ranges, node["left"]) + _factors(ranges, node["right"])
    return [ranges.names.of(node)]


def _add(ranges: Ranges, node: Node) -> Range:
    one, other = ranges.of(node["left"]), ranges.of(node["right"])
    return None if one is None or other is None else (one[0] + other[0], one[1] + other[1])


def _quotient(ranges: Ranges, node: Node) -> Range:
    child, divisor = ranges.of(node["child"]), whole(node, "divisor", 1)
    return None if child is None else (child[0] // divisor, child[1] // divisor)


def _ratio(ranges: Ranges, node: Node) -> Range:
    """It is clamped to the range that it states, which so is its range."""
    for part in ("above", "below"):
        ranges.of(node[part])
    return whole(node, "low"), whole(node, "high")


def _choose(ranges: Ranges, node: Node) -> Range:
    return hull(*(inside.of(value) for inside, value in ranges.cases(node)))


def _lookup(ranges: Ranges, node: Node) -> Range:
    child = ranges.of(node["child"])
    refuse(child is not None and not 0 <= child[0] <= child[1] < len(node["table"]), "a table is looked up beyond its end")
    entries = [] if child is None else [each for each in node["table"][child[0] : child[1] + 1] if each is not None]
    return (min(entries), max(entries)) if entries else None


def _root(ranges: Ranges, node: Node) -> Range:
    child = ranges.of(node["child"])
    refuse(child is not None and child[0] < 0, "a square root of a number that can be negative")
    return None if child is None else (isqrt(child[0]), isqrt(child[1]))


def _logarithm(ranges: Ranges, node: Node) -> Range:
    child, step, unit = ranges.of(node["child"]), rational(node["step"]), rational(node["unit"])
    if child is None:
        return None
    refuse(child[0] < 1 or min(step, unit) <= 0, "a logarithm of a number that can be 0 or less")
    ten = numbers.log(Fraction(10)) if node["base"] == "10" else (Fraction(1), Fraction(1))
    ends = [end / base / unit for x in child for end in numbers.log(x * step) for base in ten]
    slack = Fraction(1, 1 << 200)  # of a whole power of ten the logarithm is whole
    return (min(ends) + slack).__floor__(), (max(ends) + slack).__floor__()


RANGES = {
    "Column": lambda ranges, node: _column(ranges, node)[0],
    "Code": lambda ranges, node: (0, LARGEST - 1),
    "Literal": lambda ranges, node: None if node["value"] is None else (whole(node, "value"), whole(node, "value")),
    "Add": _add,
    "Multiply": _multiply,
    "Quotient": _quotient,
    "Ratio": _ratio,
    "Choose": _choose,
    "Lookup": _lookup,
    "Root": _root,
    "Logarithm": _logarithm,
}
