"""The range of every expression of a plan, from the declared bounds of columns upwards.

An expression is a tree of JSON objects; `is` names the kind of each. What it states of its range is not believed: a range that does
not hold everything that the expression can be is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

from tacit_certificate import numbers
from tacit_certificate.document import Node, Wrong, rational, refuse, whole

Range = tuple[int, int] | None  # of the values that are not NULL; None where all are
LARGEST = 1 << 53
FAR = LARGEST**4  # beyond every product of two numbers
MOST_WORK = 100_000  # ranges that are computed, again for each case in which they are narrower: then they are as stated
PARTS = ("left", "right", "child")  # of an expression, other expressions
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
    work: list[int] = field(default_factory=list)  # one number for each range that was computed

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
            self.names.work.append(number)
            if len(self.names.work) > MOST_WORK and "low" in node:
                return self.as_stated(node)
            found = self.rule(node)
            if self.sharp or not holds(node, found):
                from tacit_certificate import closer

                found = closer.closer(self, node, found)
                if not self.sharp and not holds(node, found):
                    found = closer.piece_by_piece(self, node, found)
            if self.sharp and "low" in node:  # shown where it was met first
                found = both(found, (whole(node, "low"), whole(node, "high")))
            if not holds(node, found) and len(self.names.work) > MOST_WORK:  # then of some of its parts, too
                return self.as_stated(node)
            ends = f"{found or 'NULL alone'}, and states {node.get('low')} to {node.get('high')}"
            refuse(not holds(node, found), f"an expression of kind {node['is']} can be {ends}")
            self.known[number] = both(found, self.narrowed[number]) if number in self.narrowed else found
        return self.known[number]

    def rule(self, node: Node) -> Range:
        """The range of an expression by the rule of its kind."""
        return RANGES[node["is"]](self, node)

    def as_stated(self, node: Node) -> Range:
        """The range that an expression states, where it takes too long to show it."""
        self.names.unshown.append(f"the range {whole(node, 'low')} to {whole(node, 'high')} of a long expression")
        return node["low"], node["high"]

    def stated(self, node: Node) -> Range:
        """The range that an expression states, once it is shown to hold everything that the expression can be."""
        found = self.of(node)
        return (whole(node, "low"), whole(node, "high")) if "low" in node else found

    # --- what follows from a condition ---

    def given(self, condition: Node, true: bool) -> Ranges:
        """The ranges in rows in which a condition is true; or not true, which is false or unknown."""
        inside = replace(self, narrowed=dict(self.narrowed), present=set(self.present), known={})
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
        sides, strict = [condition["left"], condition["right"]], condition["operator"] == "<"
        parts = [self.terms(side) for side in sides]
        undivided = [form if {*form} <= {-1} else {self.names.of(side): 1} for form, side in zip(parts, sides, strict=True)]
        for one, other in (undivided, parts) if undivided != parts else (parts,):
            form = added(one, other, -1)
            if true:
                self.present |= {at for at in form if at >= 0}
                self._at_most(form, -int(strict))
            if condition["operator"] == "=" and true:
                self._at_most(added({}, form, -1), 0)
            elif condition["operator"] != "=" and not true:  # not l < r is -l <= -r, and not l <= r is -l < -r
                self._at_most(added({}, form, -1), -int(not strict))
            self.known = {}

    def _at_most(self, form: Mapping[int, int], most: int) -> None:
        ranges = {at: self.of(self.names.nodes[at]) for at in form if at >= 0}
        self.empty |= not ranges and form.get(-1, 0) > most
        for at, one in ranges.items():
            others = [scaled(other, form[number]) for number, other in ranges.items() if number != at]
            sure = all(other == at or other in self.present or not self.may_be_null(self.names.nodes[other]) for other in ranges)
            if sure and None not in others:
                rest = most - form.get(-1, 0) - sum(part[0] for part in others if part is not None)
                ends = (-FAR, rest // form[at]) if form[at] > 0 else (-(rest // -form[at]), FAR)
                self.narrowed[at] = both(one, ends)
                self.empty |= self.narrowed[at] is None and not self.may_be_null(self.names.nodes[at])

    def may_be_null(self, node: Node) -> bool:
        """Whether an expression can be NULL, as far as its parts say."""
        kind = node["is"]
        if self.names.of(node) in self.present:
            return False
        if kind in ("Literal", "Column"):
            return node["value"] is None if kind == "Literal" else _column(self, node)[1]
        if kind == "Choose":
            return any(inside.may_be_null(value) for inside, value in self.cases(node))
        if kind not in ("Add", "Multiply", "Quotient", "Root", "Logarithm", "Lookup"):
            return True
        return None in node.get("table", ()) or any(self.may_be_null(node[part]) for part in PARTS if part in node)

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

    def terms(self, node: Node) -> dict[int, int]:
        """An expression as a sum of others times factors, by their numbers; -1 stands for the constant."""
        if node["is"] == "Literal" and node["value"] is not None:
            return {-1: whole(node, "value")}
        if node["is"] == "Add":
            return added(self.terms(node["left"]), self.terms(node["right"]), 1)
        for one, other in (("left", "right"), ("right", "left")) if node["is"] == "Multiply" else ():
            if node[one]["is"] == "Literal" and node[one]["value"] is not None:
                return added({}, self.terms(node[other]), whole(node[one], "value"))
        return {self.names.of(node): 1}


def holds(node: Node, found: Range) -> bool:
    """Whether the range that an expression states, if it states one, holds another one."""
    return found is None or "low" not in node or whole(node, "low") <= found[0] <= found[1] <= whole(node, "high")


def scaled(one: Range, factor: int) -> Range:
    """The range of a multiple."""
    return None if one is None else (min(one[0] * factor, one[1] * factor), max(one[0] * factor, one[1] * factor))


def added(one: Mapping[int, int], other: Mapping[int, int], factor: int) -> dict[int, int]:
    """A sum, and another one times a factor: what their parts are multiplied by."""
    total = {at: one.get(at, 0) + factor * other.get(at, 0) for at in {**one, **other}}
    return {at: times for at, times in total.items() if times}


def _column(ranges: Ranges, node: Node) -> tuple[Range, bool]:
    columns = ranges.columns.get(whole(node, "source"), {})
    if isinstance(columns, PublicColumns):
        return (whole(node, "low"), whole(node, "high")), True
    if (made := columns.get(node["name"])) is None:
        raise Wrong(f"column {str(node['name'])[:60]!r} does not belong to the relation that it is said to come from")
    return made


def _from_ends(compute: Callable[..., Iterable[int]]) -> Callable[[Ranges, Node], Range]:
    """The rule of an expression that only rises, or only falls, with each part: at ends of its parts it has its own."""

    def rule(ranges: Ranges, node: Node) -> Range:
        parts = [ranges.of(node[part]) for part in PARTS if part in node]
        ends = [] if None in parts else [end for corner in product(*parts) for end in compute(node, *corner)]  # type: ignore[arg-type]
        return (min(ends), max(ends)) if ends else None

    return rule


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


def _root(node: Node, x: int) -> list[int]:
    refuse(x < 0, "a square root of a number that can be negative")
    return [isqrt(x)]


def _logarithm(node: Node, x: int) -> list[int]:
    step, unit = rational(node["step"]), rational(node["unit"])
    refuse(x < 1 or min(step, unit) <= 0, "a logarithm of a number that can be 0 or less")
    ten = numbers.log(Fraction(10)) if node["base"] == "10" else (Fraction(1),)
    slack = Fraction(1, 1 << 200)  # of a whole power of ten the logarithm is whole
    return [(end / base / unit + slack).__floor__() for end in numbers.log(x * step) for base in ten]


RANGES = {
    "Column": lambda ranges, node: _column(ranges, node)[0],
    "Code": lambda ranges, node: (0, LARGEST - 1),
    "Literal": lambda ranges, node: None if node["value"] is None else (whole(node, "value"), whole(node, "value")),
    "Add": _from_ends(lambda node, one, other: [one + other]),
    "Multiply": _from_ends(lambda node, one, other: [one * other]),
    "Quotient": _from_ends(lambda node, x: [x // whole(node, "divisor", 1)]),
    "Ratio": _ratio,
    "Choose": _choose,
    "Lookup": _lookup,
    "Root": _from_ends(_root),
    "Logarithm": _from_ends(_logarithm),
}
