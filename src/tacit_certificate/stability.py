"""The rows and groups that one unit can reach in a plan, and how far it moves each moment.

Nothing that a plan states about itself is believed: ranges start from the declared bounds of columns, rows from the declared limits
of tables. query/price/stability.md proves the rules; this is computed from the statements of that page.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from typing import Any

from tacit_certificate.document import Wrong, rational, refuse, whole
from tacit_certificate.ranges import Node, PublicColumns, Range, Ranges, hull

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
            some = [each for place, each in enumerate(chosen) if subset >> place & 1]
            cost = prod(each.rows for each in some)
            if cost < least and self.determined(free | {*some}, given) >= {*self.members}:
                least = cost
        return self.fan_out * least * prod(each.rows for each in self.members if each.beside and fixed not in each.sources)

    def determined(self, known: set[Member], given: frozenset[Place]) -> set[Member]:
        """The known members, and all that have at most one row of a unit beside given rows of these."""
        known = set(known)
        while True:
            sources = frozenset(chain.from_iterable(each.sources for each in known))
            classes = [group for group in self._classes(given) if any(one[0] in sources or one in given for one in group)]
            fixed = set(chain.from_iterable(classes))
            more = {each for each in self.members if each not in known and any(columns <= fixed for columns in each.unique)}
            if not more:
                return known
            known |= more

    def _classes(self, given: frozenset[Place]) -> list[set[Place]]:
        classes: list[set[Place]] = [{place} for place in given]
        for pair in self.equal:
            meeting = [one for one in classes if one & {*pair}]
            classes = [one for one in classes if not one & {*pair}] + [set(pair).union(*meeting)]
        return classes


@dataclass
class Derived:
    """What is derived of a relation and everything below it: columns with their ranges, and rows of one unit at its steps."""

    facts: Mapping[str, Node]
    gives: dict[tuple[str, str], int] = field(default_factory=dict)  # rows by rule and place in the plan
    columns: dict[int, dict[str, tuple[Range, bool]]] = field(default_factory=dict)
    public: set[str] = field(default_factory=set)
    per_unit: dict[int, tuple[Node, str]] = field(default_factory=dict)
    limits: dict[int, Node] = field(default_factory=dict)  # the facts of the table of each scan

    def table(self, name: Any, public: bool) -> Node:
        """The facts of a table."""
        fact = self.facts.get(name) if isinstance(name, str) else None
        if fact is None or fact["public"] is not public:
            raise Wrong(f"the facts do not declare {str(name)[:60]!r} as a {'public' if public else 'private'} table")
        return fact

    # --- columns, from the leaves upwards ---

    def look(self, node: Node, at: str) -> None:
        """Everything below a relation, then the relation: the columns that it makes, the limits that it must have."""
        match node["is"]:
            case "Bound":
                self._bound(node)
            case "PublicScan":
                self._public(node, node)
            case "Where":
                self.look(node["child"], f"{at}/child")
            case "Join":
                self.look(node["child"], f"{at}/child")
                whole(node, "fan_out", 1)
                self._public(node, node)
            case "UnitJoin" | "Semi":
                self.look(node["child"], f"{at}/child")
                self.look(node["other"], f"{at}/other")
                if node["is"] == "UnitJoin":
                    refuse(node["kind"] not in ("inner", "left"), "a join is inner or left")
                    self._make(whole(node, "here"), {"here": ((1, 1), True)})
                    if node["kind"] == "left":
                        self._optional(node["other"])
            case "PerUnit":
                self.look(node["child"], f"{at}/child")
                self._make(whole(node, "source"), self._totals(node, f"{at}/child"))
                self.per_unit[whole(node, "source")] = node, f"{at}/child"
            case "Union":
                self._union(node, at)
            case kind:
                raise Wrong("a table has no limit of rows" if kind == "Scan" else f"an unknown relation: {str(kind)[:40]}")

    def _make(self, source: int, columns: dict[str, tuple[Range, bool]]) -> None:
        refuse(source in self.columns, f"two relations have the number {source}")
        self.columns[source] = columns

    def _bound(self, node: Node) -> None:
        scan = node["child"]
        refuse(scan["is"] != "Scan", "a row limit stands above a table alone")
        fact = self.table(scan["table"], public=False)
        if whole(node, "max_rows", 1) != whole(fact, "max_rows", 1):
            raise Wrong(f"{scan['table']} is limited to {node['max_rows']} rows of one unit; declared are {fact['max_rows']}")
        self._make(whole(scan, "source"), {name: _declared(column) for name, column in fact["columns"].items()})
        self.limits[whole(scan, "source")] = fact

    def _public(self, node: Node, scan: Node) -> None:
        self.table(scan["table"], public=True)
        self.public.add(scan["table"])
        self._make(whole(node, "source"), PublicColumns())

    def _optional(self, node: Node) -> None:
        """The columns of the right side of a left join may be NULL."""
        for source in sources_of(node):
            columns = self.columns[source]
            if not isinstance(columns, PublicColumns):
                self.columns[source] = {name: (ends, True) for name, (ends, _) in columns.items()}

    def _totals(self, node: Node, child: str) -> dict[str, tuple[Range, bool]]:
        ranges, rows = Ranges(self.columns), self.rows(node["child"], child)
        made = {name: (ranges.stated(key), ranges.may_be_null(key)) for name, key in node["keys"]}
        for total in node["totals"]:
            value = total["value"]
            ends = (0, 0) if value is None else ranges.stated(value) or (0, 0)
            made[total["name"]] = _total_range(total, ends, rows), value is not None
        return made

    def _union(self, node: Node, at: str) -> None:
        columns: list[list[tuple[Range, bool]]] = []
        for place, (part, values) in enumerate(node["parts"]):
            self.look(part, f"{at}/parts/{place}/0")
            ranges = Ranges(self.columns)
            columns.append([(ranges.stated(value), ranges.may_be_null(value)) for value in values])
        refuse(any(len(each) != len(node["names"]) for each in columns), "the parts of a union have different numbers of columns")
        stacked = zip(*columns, strict=True)
        made = [(hull(*(ends for ends, _ in each)), any(null for _, null in each)) for each in stacked]
        self._make(whole(node, "source"), dict(zip(node["names"], made, strict=True)))

    # --- rows ---

    def rows(self, node: Node, at: str) -> int:
        """The most rows of one unit at a relation."""
        rule, found = "joined-rows", 0
        match node["is"]:
            case "Bound":
                rule, found = "row-limit", whole(node, "max_rows", 1)
            case "PerUnit":  # of each unit all groups, or the first ones alone
                most = [] if node.get("most") is None else [whole(node, "most", 1)]
                rule, found = "one-row-per-key", min(self.rows(node["child"], f"{at}/child"), self.combinations(node), *most)
            case "Union":
                rule = "stacked-rows"
                found = sum(self.rows(part, f"{at}/parts/{place}/0") for place, (part, _) in enumerate(node["parts"]))
            case _:
                found = self.tree(node, at).rows()
        self.gives[rule, at] = found
        return found

    def combinations(self, node: Node, told: Collection[str] = ()) -> int:
        """How many combinations of keys one unit can have in a relation with one row for each; NULL counts.

        In rows that agree in the keys of the names `told`, those of the others.
        """
        ranges = Ranges(self.columns)
        keys = [key for name, key in node["keys"] if name not in told]
        sizes = [(ranges.stated(key), key.get("nullable", True) or ranges.may_be_null(key)) for key in keys]
        return prod((0 if ends is None else ends[1] - ends[0] + 1) + bool(null) for ends, null in sizes)

    def tree(self, node: Node, at: str, present: int | None = None) -> Tree:
        """The tree of joins and filters at a relation. A left join that found a row of the source `present` is an inner one."""
        match node["is"]:
            case "Where":
                inside = self.tree(node["child"], f"{at}/child", present)
                inside.equal += _equal_columns(_demanded(node["condition"]))
            case "Semi":
                inside = self.tree(node["child"], f"{at}/child", present)
            case "Join":
                inside = self.tree(node["child"], f"{at}/child", present)
                inside.fan_out *= whole(node, "fan_out", 1)
            case "UnitJoin":
                inside = self.tree(node["child"], f"{at}/child", present)
                right, pairs = self.tree(node["other"], f"{at}/other", present), _equal_columns(node["pairs"])
                if node["kind"] == "inner" or present in sources_of(node["other"]):
                    inside.members += right.members
                    inside.equal += [*right.equal, *pairs]
                    inside.fan_out *= right.fan_out
                else:
                    rows = max(1, right.rows(frozenset(place for _, place in pairs)))
                    self.gives["rows-beside", f"{at}/other"] = rows
                    everything = frozenset(chain.from_iterable(each.sources for each in right.members))
                    inside.members.append(Member(f"{at}/other", everything, rows, beside=True))
            case _:
                source = whole(node["child"] if node["is"] == "Bound" else node, "source")
                inside = Tree([Member(at, frozenset({source}), self.rows(node, at), self._unique(node, source))])
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


def sources_of(node: Node) -> frozenset[int]:
    """The numbers of all private relations whose rows are a part of the rows of a relation."""
    match node["is"]:
        case "Where" | "Semi" | "Join":
            return sources_of(node["child"])
        case "UnitJoin":
            return sources_of(node["child"]) | sources_of(node["other"])
        case "Bound":
            return frozenset({whole(node["child"], "source")})
        case _:
            return frozenset({whole(node, "source")})


def _demanded(condition: Node) -> list[tuple[Node, Node]]:
    """The pairs of columns that a condition demands to be equal: outside OR and NOT."""
    if condition["is"] == "All":
        return [pair for part in condition["parts"] for pair in _demanded(part)]
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


def _total_range(total: Node, ends: tuple[int, int], rows: int) -> Range:
    """The range of one number about at least one and at most `rows` values between two ends."""
    low, high = ends
    match total["kind"]:
        case "rows":
            return (1 if total["value"] is None else 0), rows
        case "sum":
            return min(low, rows * low), max(high, rows * high)
        case "least" | "largest":
            return low, high
        case "distinct":
            return 0, min(rows, high - low + 1)
        case "mean":
            return 0, (high - low) * whole(total, "times", 1) // whole(total, "divisor", 1)
        case kind:
            raise Wrong(f"an unknown total of a unit: {str(kind)[:40]}")


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
    group: Node = field(init=False)
    derived: Derived = field(init=False)
    ranges: Ranges = field(init=False)

    def __post_init__(self) -> None:
        self.group, self.derived = self.node["group"], Derived(self.facts)
        self.derived.look(self.group["child"], f"{self.at}/group/child")
        self.derived.gives.clear()  # what ranges need is no step
        self.ranges = Ranges(self.derived.columns)

    @property
    def private(self) -> bool:
        """Whether the groups themselves are private."""
        return any(key["term"]["node"]["is"] == "TextColumn" for key in self.group["keys"])

    @property
    def sizes(self) -> list[int]:
        """How many values each key has in the list of groups."""
        return [self.size(key) for key in self.group["keys"]]

    def size(self, key: Node) -> int:
        """How many values a key has; private text counts 1."""
        node, points = key["term"]["node"], key["term"]["points"]
        if key.get("kept") is not None:
            return len(key["kept"])
        if node["is"] == "TextColumn":
            return 1
        if node["is"] == "Literal":
            return (len(points) if points else 1) + (node["value"] is None)
        ends = self.ranges.stated(node)
        return (len(points) if points else 0 if ends is None else ends[1] - ends[0] + 1) + bool(node["nullable"])

    def reach(self, change: bool, fixed: bool) -> Reach:
        """The rows and groups of one unit."""
        rows = self.derived.rows(self.group["child"], f"{self.at}/group/child")
        if not self.group["keys"]:
            return Reach(rows, 1, rows, change, False, fixed)
        cells = rows if self.private else prod(self.sizes)
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
        source = self.group.get("limited", min(limits))
        declared = limits.get(source, {}).get("max_rows_per_group")
        refuse(declared != stated, f"rows in a group are limited to {stated}, which the table of source {source} does not declare")
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

    def sensitivity(self, moment: Node, reach: Reach) -> Sensitivity:
        """How far one unit moves a moment: stability.md, sections 3 and 8."""
        low, high = self._ends(moment, reach)
        counted = reach
        if moment["kind"] == "units":
            counted = replace(reach, rows=reach.units, per_group=1)
        elif moment["kind"] == "distinct" and moment["value"] is not None:
            values = self.ranges.stated(moment["value"])
            counted = replace(reach, per_group=min(reach.per_group, 1 if values is None else values[1] - values[0] + 1))
        l1, squared = counted.l1 * _one(low, high, reach), counted.l2_squared * _one_squared(low, high, reach)
        if moment["together"] is not None:
            most = self._together(moment)
            ends = -most if low < 0 else 0, most if high > 0 else 0
            l1, squared = min(l1, _one(*ends, reach)), min(squared, _one_squared(*ends, reach))
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


def _one(low: int, high: int, reach: Reach) -> int:
    """How far a number between two ends moves when it comes or goes; when it changes, within one group or from one into another."""
    if not reach.change:
        return max(-low, high)
    return 2 * max(-low, high) if reach.several else high - low


def _one_squared(low: int, high: int, reach: Reach) -> int:
    if reach.change and reach.several:
        return 2 * (max(-low, high) ** 2 - low * high)
    return _one(low, high, reach) ** 2
