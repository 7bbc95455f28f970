"""The rows and groups that one unit can reach in a plan, and how far it moves each moment.

Nothing that a plan states about itself is believed: ranges start from the declared bounds of columns, rows from the declared limits
of tables. query/price/stability.md proves the rules; this is computed from the statements of that page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from typing import Any

from tacit_certificate.document import Node, Wrong, rational, refuse, whole
from tacit_certificate.ranges import Names, PublicColumns, Range, Ranges, hull

Place = tuple[int, str]  # a column: the relation that makes it, and its name
MOST_MEMBERS = 10  # of one tree of joins

# --- rows of one unit --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A relation that joins put together: at most `rows` of one unit, no two of which agree in a set of `unique` columns.

    Of the right side of a left join, `rows` stand beside each row of its left side: it is not a choice of its own.
    """

    at: str
    sources: frozenset[int]
    rows: int
    unique: tuple[frozenset[Place], ...] = ()
    beside: bool = False


@dataclass
class Tree:
    """A tree of joins: its members, the columns that are equal in every row that comes out, the fan-outs of public tables."""

    members: list[Member] = field(default_factory=list)
    equal: list[tuple[Place, Place]] = field(default_factory=list)
    fan_out: int = 1

    def rows(self, given: frozenset[Place] = frozenset(), fixed: int | None = None) -> int:
        """The most rows of one unit: the least product over sets of members that determine all others.

        With values `given` of some columns, or one row `fixed` of the member with that source.
        """
        refuse(len(self.members) > MOST_MEMBERS, f"more than {MOST_MEMBERS} relations are joined")
        free = {each for each in self.members if fixed in each.sources or each.beside or each.rows == 1}
        chosen = [each for each in self.members if each not in free]
        least = prod(each.rows for each in chosen)
        for subset in range(1 << len(chosen)):
            some = {each for place, each in enumerate(chosen) if subset >> place & 1}
            if (cost := prod(each.rows for each in some)) < least and self.determined(free | some, given) >= {*self.members}:
                least = cost
        return self.fan_out * least * prod(each.rows for each in self.members if each.beside and fixed not in each.sources)

    def determined(self, known: set[Member], given: frozenset[Place]) -> set[Member]:
        """The known members, and all that have at most one row of a unit beside given rows of these."""
        while True:
            sources = frozenset(chain.from_iterable(each.sources for each in known))
            fixed = {*given} | {place for pair in self.equal for place in pair if place[0] in sources}
            while more := {place for pair in self.equal if fixed & {*pair} for place in pair} - fixed:
                fixed |= more
            reached = {each for each in self.members if any(columns <= fixed for columns in each.unique)}
            if reached <= known:
                return known
            known = known | reached


@dataclass
class Derived:
    """What is derived of a relation and everything below it: columns with their ranges, and rows of one unit at its steps."""

    facts: Mapping[str, Node]
    gives: dict[tuple[str, str], int] = field(default_factory=dict)  # rows by rule and place in the plan
    columns: dict[int, dict[str, tuple[Range, bool]]] = field(default_factory=dict)
    public: set[str] = field(default_factory=set)
    per_unit: dict[int, tuple[Node, str]] = field(default_factory=dict)
    limits: dict[int, Node] = field(default_factory=dict)  # the facts of the table of each scan
    sources: dict[str, frozenset[int]] = field(default_factory=dict)  # private relations whose rows are a part, by place
    unshown: list[str] = field(default_factory=list)  # ranges that are taken as stated
    names: Names | None = None  # of the same plan over other facts; then ranges are as narrow as they can be shown to be

    def ranges(self) -> Ranges:
        """The ranges of expressions of these columns, as they are so far."""
        names = Names(unshown=self.unshown) if self.names is None else replace(self.names, shown={}, unshown=self.unshown)
        return Ranges(self.columns, names, sharp=self.names is not None)

    # --- columns, from the leaves upwards ---

    def look(self, node: Node, at: str) -> None:
        """Everything below a relation, then the relation: the columns that it makes, the limits that it must have."""
        inside = [name for name in ("child", "other") if name in node and node["is"] != "Bound"]
        for name in inside:
            self.look(node[name], f"{at}/{name}")
        below = [self.sources[f"{at}/{name}"] for name in inside if node["is"] != "Semi" or name == "child"]
        sources = frozenset(chain.from_iterable(below))
        match node["is"]:
            case "Where" | "Semi":
                pass
            case "Bound":
                sources = self._bound(node)
            case "PublicScan" | "Join":
                refuse(self._table(node["table"])["public"] is not True, f"{str(node['table'])[:60]} is not a public table")
                self.public.add(node["table"])
                self._make(whole(node, "source"), PublicColumns())
            case "UnitJoin":
                refuse(node["kind"] not in ("inner", "left"), "a join is inner or left")
                self._make(whole(node, "here"), {"here": ((1, 1), True)})
                for source in self.sources[f"{at}/other"] if node["kind"] == "left" else ():  # its columns may be NULL
                    self.columns[source] = {name: (ends, True) for name, (ends, _) in self.columns[source].items()}
            case "PerUnit":
                sources = self._make(whole(node, "source"), self._totals(node, f"{at}/child"))
                self.per_unit[whole(node, "source")] = node, f"{at}/child"
            case "Union":
                sources = self._union(node, at)
            case kind:
                raise Wrong("a table has no limit of rows" if kind == "Scan" else f"an unknown relation: {str(kind)[:40]}")
        self.sources[at] = sources

    def _table(self, name: Any) -> Node:
        refuse(name not in self.facts, f"the facts do not declare {str(name)[:60]!r}")
        return self.facts[name]

    def _make(self, source: int, columns: dict[str, tuple[Range, bool]]) -> frozenset[int]:
        refuse(source in self.columns, f"two relations have the number {source}")
        self.columns[source] = columns
        return frozenset({source})

    def _bound(self, node: Node) -> frozenset[int]:
        scan, fact = node["child"], self._table(node["child"]["table"])
        refuse(scan["is"] != "Scan" or fact["public"] is not False, "a row limit stands above a private table alone")
        most, declared = whole(node, "max_rows", 1), whole(fact, "max_rows", 1)  # a question may ask for fewer
        refuse(most > declared, f"{scan['table']} is limited to {most} rows of one unit; declared are {declared}")
        self.limits[whole(scan, "source")] = fact
        return self._make(scan["source"], {name: _declared(column) for name, column in fact["columns"].items()})

    def _totals(self, node: Node, child: str) -> dict[str, tuple[Range, bool]]:
        ranges, rows = self.ranges(), self.rows(node["child"], child)
        made = {name: (ranges.of(key), ranges.may_be_null(key)) for name, key in node["keys"]}
        for total in node["totals"]:
            value = total["value"]
            low, high = (0, 0) if value is None else ranges.stated(value) or (0, 0)
            refuse(total["kind"] not in TOTALS, f"an unknown total of a unit: {str(total['kind'])[:40]}")
            made[total["name"]] = TOTALS[total["kind"]](total, low, high, rows), value is not None
        return made

    def _union(self, node: Node, at: str) -> frozenset[int]:
        columns: list[list[tuple[Range, bool]]] = []
        for place, (part, values) in enumerate(node["parts"]):
            self.look(part, f"{at}/parts/{place}/0")
            ranges = self.ranges()
            columns.append([(ranges.of(value), ranges.may_be_null(value)) for value in values])
        refuse(any(len(each) != len(node["names"]) for each in columns), "the parts of a union have different numbers of columns")
        made = [(hull(*(ends for ends, _ in each)), any(null for _, null in each)) for each in zip(*columns, strict=True)]
        return self._make(whole(node, "source"), dict(zip(node["names"], made, strict=True)))

    # --- rows ---

    def rows(self, node: Node, at: str) -> int:
        """The most rows of one unit at a relation."""
        rule = {"Bound": "row-limit", "PerUnit": "one-row-per-key", "Union": "stacked-rows"}.get(node["is"], "joined-rows")
        match node["is"]:
            case "Bound":
                found = whole(node, "max_rows", 1)
            case "PerUnit":  # of each unit all groups, or the first ones alone
                most = [] if node.get("most") is None else [whole(node, "most", 1)]
                found = min(self.rows(node["child"], f"{at}/child"), self.combinations(node), *most)
            case "Union":
                found = sum(self.rows(part, f"{at}/parts/{place}/0") for place, (part, _) in enumerate(node["parts"]))
            case _:
                found = self.tree(node, at).rows()
        self.gives[rule, at] = found
        return found

    def combinations(self, node: Node, told: Collection[str] = ()) -> int:
        """How many combinations of keys one unit can have in a relation with one row for each; NULL counts.

        In rows that agree in the keys of the names `told`, those of the others.
        """
        ranges = self.ranges()
        keys = [key for name, key in node["keys"] if name not in told]
        sizes = [(ranges.stated(key), key.get("nullable", True) or ranges.may_be_null(key)) for key in keys]
        return prod((0 if ends is None else ends[1] - ends[0] + 1) + bool(null) for ends, null in sizes)

    def tree(self, node: Node, at: str, present: int | None = None) -> Tree:
        """The tree of joins and filters at a relation. A left join that found a row of the source `present` is an inner one."""
        if node["is"] not in ("Where", "Semi", "Join", "UnitJoin"):
            source = whole(node["child"] if node["is"] == "Bound" else node, "source")
            return Tree([Member(at, frozenset({source}), self.rows(node, at), self._unique(node, source))])
        inside = self.tree(node["child"], f"{at}/child", present)
        if node["is"] == "Where":
            inside.equal += _equal_columns(demanded(node["condition"]))
        elif node["is"] == "Join":
            inside.fan_out *= whole(node, "fan_out", 1)
        elif node["is"] == "UnitJoin":
            right, pairs = self.tree(node["other"], f"{at}/other", present), _equal_columns(node["pairs"])
            if node["kind"] == "inner" or present in self.sources[f"{at}/other"]:
                inside.members += right.members
                inside.equal += [*right.equal, *pairs]
                inside.fan_out *= right.fan_out
            else:
                rows = max(1, right.rows(frozenset(place for _, place in pairs)))
                self.gives["rows-beside", f"{at}/other"] = rows
                everything = frozenset(chain.from_iterable(each.sources for each in right.members))
                inside.members.append(Member(f"{at}/other", everything, rows, beside=True))
        return inside

    def _unique(self, node: Node, source: int) -> tuple[frozenset[Place], ...]:
        if node["is"] == "PerUnit":
            return (frozenset((source, name) for name, _ in node["keys"]),)
        key = self.limits[source]["key"] if node["is"] == "Bound" else None
        return () if key is None else (frozenset({(source, f"tacit_code {key}")}),)

    def copies(self, node: Node, at: str, source: int) -> int | None:
        """In how many rows of a relation one row of a source can be; None if it is not a part of them."""
        tree = self.tree(node, at, source)
        return tree.rows(fixed=source) if any(source in each.sources for each in tree.members) else None


def demanded(condition: Node) -> list[tuple[Node, Node]]:
    """The pairs of columns that a condition demands to be equal: outside OR and NOT."""
    if condition["is"] == "All":
        return [pair for part in condition["parts"] for pair in demanded(part)]
    return [(condition["left"], condition["right"])] if condition["is"] == "Compare" and condition["operator"] == "=" else []


def _equal_columns(pairs: Any) -> list[tuple[Place, Place]]:
    columns = [(one, other) for one, other in pairs if {one["is"], other["is"]} <= {"Column", "Code"}]
    return [((whole(one, "source"), one["name"]), (whole(other, "source"), other["name"])) for one, other in columns]


def _declared(column: Node) -> tuple[Range, bool]:
    """The stored numbers of a declared column: `points` of them from its lower bound on, in steps."""
    points, bounds, step = whole(column, "points", 0), column["bounds"], column["step"]
    if bounds is None or step is None or column["kind"] == "category":
        return (0, max(points - 1, 0)), column["nullable"]
    low, high, size = rational(bounds[0]), rational(bounds[1]), rational(step)
    refuse(size <= 0 or points != (high - low) // size + 1, "a column has another number of values than its bounds and step say")
    start = low / size
    first = start.numerator if start.denominator == 1 else 0
    return (first, first + points - 1), column["nullable"]


TOTALS: Mapping[str, Callable[[Node, int, int, int], Range]] = {  # of one to `rows` values from `low` to `high`
    "rows": lambda total, low, high, rows: (1 if total["value"] is None else 0, rows),
    "sum": lambda total, low, high, rows: (min(low, rows * low), max(high, rows * high)),
    "least": lambda total, low, high, rows: (low, high),
    "largest": lambda total, low, high, rows: (low, high),
    "distinct": lambda total, low, high, rows: (0, min(rows, high - low + 1)),
    "mean": lambda total, low, high, rows: (0, (high - low) * whole(total, "times", 1) // whole(total, "divisor", 1)),
}

# --- the groups of a part, and what one unit can do there --------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """At most `rows` rows of one unit, in `groups` groups, `per_group` in one; `change`: a unit changes, or comes and goes."""

    rows: int
    groups: int
    per_group: int
    change: bool
    several: bool
    fixed: bool = False

    @property
    def l1(self) -> int:
        """The most rows in all groups together."""
        return min(self.rows, self.groups * self.per_group)

    @property
    def l2_squared(self) -> int:
        """The largest sum of squares of whole numbers with that sum, none above `per_group`."""
        full, rest = divmod(self.l1, self.per_group)
        return full * self.per_group**2 + rest**2

    @property
    def units(self) -> int:
        """The most groups that one unit is in."""
        return min(self.rows, self.groups)


@dataclass(frozen=True)
class Sensitivity:
    """How far one unit moves the numbers of a moment over all groups: l1, the square of l2, entries, the largest entry."""

    ends: tuple[int, int]
    l1: int
    l2_squared: Any  # a whole number; of residuals, a rational
    entries: int
    largest: int


@dataclass
class Part:
    """A part of a question: what follows of its relation, its groups and its moments."""

    node: Node
    at: str
    facts: Mapping[str, Node]
    names: Names | None = None
    group: Node = field(init=False)
    derived: Derived = field(init=False)
    ranges: Ranges = field(init=False)
    reach: Reach = field(init=False)
    moved: dict[int, Sensitivity] = field(init=False)  # by the place of each moment that is summed

    def __post_init__(self) -> None:
        self.group, self.derived = self.node["group"], Derived(self.facts, names=self.names)
        self.derived.look(self.group["child"], f"{self.at}/group/child")
        self.derived.gives.clear()  # what ranges need is no step
        self.ranges = self.derived.ranges()

    @property
    def private(self) -> bool:
        """Whether the groups themselves are private."""
        return any(key["term"]["node"]["is"] == "TextColumn" for key in self.group["keys"])

    @property
    def sizes(self) -> list[int]:
        """How many values each key has in the list of groups."""
        return [self.size(key) for key in self.group["keys"]]

    @property
    def cells(self) -> int:
        """How many groups are listed."""
        return prod(self.sizes)

    def size(self, key: Node) -> int:
        """How many values a key has; private text counts 1."""
        node, points = key["term"]["node"], key["term"]["points"]
        if key.get("kept") is not None:
            return len(key["kept"])
        if node["is"] == "TextColumn":
            return 1
        null = node["value"] is None if node["is"] == "Literal" else node["nullable"]
        ends = (0, 0) if node["is"] == "Literal" else self.ranges.stated(node)
        return (len(points) if points else 0 if ends is None else ends[1] - ends[0] + 1) + bool(null)

    @property
    def alone(self) -> bool:
        """Whether one unit is in one group, and that is all there is."""
        return (self.reach.groups if self.private else self.cells) == 1

    def derive(self, change: bool, fixed: bool) -> None:
        """The rows and groups of one unit, and how far it moves every moment."""
        self.reach, moments = self._reach(change, fixed), enumerate(self.group["moments"])
        self.moved = {place: self.sensitivity(moment, self.reach) for place, moment in moments if moment["kind"] != "list"}

    def _reach(self, change: bool, fixed: bool) -> Reach:
        rows = self.derived.rows(self.group["child"], f"{self.at}/group/child")
        if not self.group["keys"]:
            return Reach(rows, 1, rows, change, False, fixed)
        cells = rows if self.private else self.cells
        per_group = min(rows, self._in_one_group(rows), rows if self.group["per_group"] is None else self._limit())
        return Reach(rows, min(rows, cells), per_group, change, self.private or cells > 1)

    def _in_one_group(self, rows: int) -> int:
        """The most rows of one unit in a group, of a sub-query with one for each combination of its keys: stability.md, section 3.

        They agree in the keys of the question, so that those which are keys of the sub-query do not tell them apart.
        """
        child = self.group["child"]
        while child["is"] == "Where":
            child = child["child"]
        if child["is"] != "PerUnit":
            return rows
        nodes = [key["term"]["node"] for key in self.group["keys"]]
        told = {node["name"] for node in nodes if node["is"] == "Column" and node["source"] == child["source"]}
        return min(rows, self.derived.combinations(child, told))

    def _limit(self) -> int:
        """The limit of rows in one group; it must be the declared one of the table by whose rank the rows are numbered."""
        limits, stated = self.derived.limits, whole(self.group, "per_group", 1)
        declared = limits.get(self.group.get("limited", min(limits)), {}).get("max_rows_per_group")
        refuse(declared != stated, f"rows in a group are limited to {stated}, which their table does not declare")
        return stated

    def may_have_public_rows(self) -> bool:
        """Whether the number of its rows can be public, as far as is told: all rows of one table of rows, one group, no NULL."""
        child = self.group["child"]
        if self.group["keys"] or child["is"] != "Bound":
            return False
        fact = self.facts[child["child"]["table"]]
        values = [moment[name] for moment in self.group["moments"] for name in ("value", "other", "text")]
        plain = (fact["unit"], fact["key"], fact["max_rows"]) == (None, None, 1)
        return plain and not any(value is not None and self.ranges.may_be_null(value) for value in values)

    # --- moments ---

    def sensitivity(self, moment: Node, reach: Reach, steps: int = 1) -> Sensitivity:
        """How far one unit moves a moment, or one that has `steps` times the totals: stability.md, sections 3 and 8."""
        low, high = self._ends(moment, reach)
        counted = reach
        if moment["kind"] == "units":
            counted = replace(reach, rows=reach.units, per_group=1)
        elif moment["kind"] == "distinct" and moment["value"] is not None:
            values = self.ranges.stated(moment["value"])
            counted = replace(reach, per_group=min(reach.per_group, 1 if values is None else values[1] - values[0] + 1))
        one, square = _moves(low, high, reach)
        l1, squared = counted.l1 * one, counted.l2_squared * square
        if moment["together"] is not None:
            most = self._together(moment) * steps
            ends = -most if low < 0 else 0, most if high > 0 else 0
            l1, squared = map(min, (l1, squared), _moves(*ends, reach))
        units = moment["kind"] == "units"
        entries = (reach.units if units else reach.groups) * (2 if reach.change and reach.several else 1)
        alone = 1 if units else min(l1, counted.per_group * (high - low if reach.change else max(-low, high)))
        return Sensitivity((low, high), l1, squared, entries, alone)

    def _ends(self, moment: Node, reach: Reach) -> tuple[int, int]:
        """The least and the most that one row adds; 0 lies between them, since a row may not count, unless the rows are public."""
        kind = moment["kind"]
        if kind in ("rows", "units", "distinct", "list"):
            return int(kind == "rows" and reach.fixed), 1
        low, high = self.ranges.stated(moment["value"]) or (0, 0)
        if kind == "sum":
            return (low, high) if reach.fixed else (min(low, 0), max(high, 0))
        width = high - low
        if kind == "products":
            other = self.ranges.stated(moment["other"]) or (0, 0)
            width *= other[1] - other[0]
        elif kind == "squares":
            width *= width
        elif kind != "centred":
            raise Wrong(f"an unknown moment: {str(kind)[:40]}")
        return -width, width

    def _together(self, moment: Node) -> int:
        """The most that all totals of one unit add up to, over all groups: stability.md, section 2b."""
        value, stated = _before_clamping(moment["value"]), whole(moment, "together", 0)
        found = self.derived.per_unit.get(value["source"]) if moment["kind"] == "sum" and value["is"] == "Column" else None
        named = [each for each in found[0]["totals"] if each["name"] == value["name"]] if found else []
        copies = self.derived.copies(self.group["child"], f"{self.at}/group/child", value["source"]) if named else None
        if found is None or not named or named[0]["kind"] not in ("sum", "rows") or copies is None:
            raise Wrong("a moment is bounded by the totals of a unit, and is not a sum of totals")
        low, high = (0, 1) if named[0]["kind"] == "rows" else self.ranges.stated(named[0]["value"]) or (0, 0)
        least = copies * self.derived.rows(found[0]["child"], found[1]) * max(abs(low), abs(high))
        refuse(stated < least, f"the totals of one unit add up to at most {least}, and {stated} is stated")
        return stated


def _before_clamping(value: Node) -> Node:
    """The number that a CASE keeps between constants with 0 among them, and so brings no farther from 0; or the value itself."""
    if value["is"] != "Choose":
        return value
    kept: Node = value["otherwise"]
    for test, end in value["branches"]:
        sides, low = (test.get("left"), test.get("right")), test.get("left") == kept  # `kept < end` or `end < kept`
        if test["is"] != "Compare" or test["operator"] != "<" or sides not in ((kept, end), (end, kept)) or end["is"] != "Literal":
            return value
        if whole(end, "value") > 0 if low else whole(end, "value") < 0:
            return value
    return kept


def _moves(low: int, high: int, reach: Reach) -> tuple[int, int]:
    """How far a number between two ends moves when it comes or goes, and the square of that in l2.

    When it changes: within one group, or from one into another.
    """
    most = max(-low, high)
    if reach.change and reach.several:
        return 2 * most, 2 * (most**2 - low * high)
    one = high - low if reach.change else most
    return one, one**2
