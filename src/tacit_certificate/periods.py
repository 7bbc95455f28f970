"""A budget of each period: what is read is what is charged, rows of one period alone, and the price of a whole person.

accounting/periods.md has the proofs. The unit is a person in a period. Rows are *dated* (each has a period), *plain* (of tables
without periods), or *mixed* (plain ones for which dated ones were looked up). A plan is narrowed to one period by the days of it,
as if the catalog declared no others: the ranges that its expressions have then say which rows can be put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

from tacit_certificate import numbers, price
from tacit_certificate.closer import columns_of
from tacit_certificate.document import Node, only, rational, refuse
from tacit_certificate.orders import Cap, charged
from tacit_certificate.price import Cost
from tacit_certificate.ranges import Range
from tacit_certificate.series import square_moved
from tacit_certificate.stability import Part, Sensitivity, demanded

IN_PERIODS = (
    " The budget is one of each period, and protects the rows of a person in one of them: "
    "a person in m periods has m times its epsilon, and a delta that soon says nothing."
)
MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAY_0 = date(1970, 1, 1).toordinal()
MOST_NUMBERS = 10**5  # from the first period to the last one
MOST_PERIODS = 400  # whose rows are told apart: of more it is taken as stated
Pairs = Sequence[tuple[Any, Any]]


def first_day(per: str, number: int) -> date:
    """The first day of a period, by its number.

    >>> [first_day(per, at).isoformat() for per, at in (("month", 24308), ("week", 1), ("30 days from 2024-01-01", 1))]
    ['2025-09-01', '1970-01-05', '2024-01-31']
    """
    if per in MONTHS:
        year, month = divmod(number * MONTHS[per], 12)
        return date(year, month + 1, 1)
    days, _, start = per.partition(" days from ")
    length, first = {"day": (1, DAY_0), "week": (7, DAY_0 - 3)}.get(per) or (int(days), date.fromisoformat(start).toordinal())
    return date.fromordinal(first + length * number)


def numbers_of(runs: Any, gap: int = 1) -> list[int]:
    """The periods of runs, which rise and leave gaps of at least so many between them."""
    ends = [end for run in runs for end in run]
    right = all(type(end) is int for end in ends) and all(len(run) == 2 and run[0] <= run[1] for run in runs)
    right = right and all(one[1] + gap < other[0] for one, other in pairwise(runs))
    refuse(not right or (ends and ends[-1] - ends[0] > MOST_NUMBERS), "the periods are not runs of numbers")
    return [number for low, high in runs for number in range(low, high + 1)]


def days_of(per: str, first: int, last: int) -> str:
    """The days of consecutive periods, in words."""
    return f"{first_day(per, first)} to {date.fromordinal(first_day(per, last + 1).toordinal() - 1)}"


# --- which rows are of which period ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Rows of a plan: dated, plain or mixed, and the periods that dated ones can be of."""

    kind: str
    periods: frozenset[int] = frozenset()


@dataclass
class Dated:
    """A part of a question: its rows, the periods that its tables are read in, and how often a whole person has those of one."""

    part: Part
    within: Node
    rows: Rows = field(init=False)
    read: set[int] = field(default_factory=set)
    stated: list[str] = field(default_factory=list)
    narrowed: dict[int, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        group = self.part.group
        self.rows = self.look(group["child"], f"{self.part.at}/group/child", ())
        limited = self.rows.kind == "mixed" and group["per_group"] is not None
        refuse(limited, "rows that are looked up in several periods have no limit in each group")

    @cached_property
    def times(self) -> tuple[int, int]:
        """How often a whole person has the rows of one period: in all groups, and in one of them."""
        most = max(1, len(self.rows.periods)) if self.rows.kind == "dated" else 1
        keys = [key["term"]["node"] for key in self.part.group["keys"]]
        return most, 1 if most > 1 and self._tell(keys) else most

    def moved(self, place: int) -> Sensitivity:
        """How far all rows of a person move a moment."""
        part, reach, (steps, in_one) = self.part, self.part.reach, self.times
        rows, cells = reach.rows * steps, reach.rows * steps if self.part.private else self.part.cells
        wider = replace(reach, rows=rows, groups=min(rows, cells), per_group=min(rows, reach.per_group * in_one))
        wider = wider if part.group["keys"] else replace(reach, rows=rows, per_group=rows)
        return part.sensitivity(part.group["moments"][place], wider, steps)

    def look(self, node: Node, at: str, equal: Pairs) -> Rows:
        """The rows of a relation in which only those that are `equal` in some pairs of expressions count."""
        match node["is"]:
            case "Bound":
                return self._scanned(node)
            case "Where":
                return self.look(node["child"], f"{at}/child", [*equal, *demanded(node["condition"])])
            case "UnitJoin" | "Semi" if self.part.derived.sources[f"{at}/other"]:
                return self._together(node, at, equal)
            case "PerUnit":
                rows = self.look(node["child"], f"{at}/child", ())
                over = rows.kind == "dated" and not self._tell([key for _, key in node["keys"]], rows)
                refuse(rows.kind == "mixed" or over, "a row of a person is made of those of several periods")
                return rows
            case "Union":
                parts = [self.look(part, f"{at}/parts/{place}/0", ()) for place, (part, _) in enumerate(node["parts"])]
                refuse({part.kind for part in parts} not in ({"dated"}, {"plain"}), "a union is of rows with and without periods")
                return Rows(parts[0].kind, frozenset[int]().union(*(part.periods for part in parts)))
        return self.look(node["child"], f"{at}/child", equal)

    def _scanned(self, node: Node) -> Rows:
        fact, runs = self.part.facts[node["child"]["table"]], node.get("periods")
        if not {"period", "period_of"} & fact.keys():
            refuse(runs is not None, "a table without periods is read in some of them")
            refuse(self.within["lifetime"] is None, "a table has no period, and there is no cap of a whole person")
            return Rows("plain")
        day = fact["columns"][fact["period"]] if "period" in fact else {"kind": "date", "nullable": False}  # that of another row
        refuse((day["kind"], day["nullable"]) != ("date", False), "a period is that of a date, which no row is without")
        periods = numbers_of(runs)
        refuse(not periods, "a table with periods is read in none of them")
        self.read |= {*periods}
        return Rows("dated", frozenset(periods))

    def _together(self, node: Node, at: str, equal: Pairs) -> Rows:
        """A join, or rows for which others are looked up: of two dated sides on the same period."""
        inner, semi = node["is"] == "UnitJoin" and node["kind"] == "inner", node["is"] == "Semi"
        left = self.look(node["child"], f"{at}/child", equal)
        right = self.look(node["other"], f"{at}/other", equal if inner else ())
        kinds = left.kind, right.kind
        refuse("mixed" in kinds and not (semi and kinds == ("mixed", "plain")), "rows looked up in several periods are joined")
        refuse(kinds == ("plain", "dated") and not inner and not semi, "a left join keeps rows that have no period")
        if kinds != ("dated", "dated"):
            kind = "mixed" if semi and kinds == ("plain", "dated") else left.kind if semi or right.kind == "plain" else right.kind
            return Rows(kind, left.periods if semi else left.periods | right.periods)
        of_left, of_right = (self.part.derived.sources[f"{at}/{name}"] for name in ("child", "other"))
        turned = [pair for one, other in equal for pair in ((one, other), (other, one))] if inner else []
        pairs = [pair for pair in [*node["pairs"], *turned] if _is_of(pair[0], of_left) and _is_of(pair[1], of_right)]
        led = any(_is_code(one) and _is_code(other) and (self._leads(one) or self._leads(other)) for one, other in pairs)
        refuse(not led and not self._apart(left, right, pairs), "rows of two periods are put together")
        return Rows("dated", left.periods & right.periods if inner or (semi and not node["negated"]) else left.periods)

    # --- what tells periods apart ---

    def _tell(self, keys: Sequence[Any], rows: Rows | None = None) -> bool:
        """Whether some expressions of a row tell its period; one that can be NULL says nothing."""
        rows = rows or self.rows
        if any(self._leads(key) for key in keys):
            return True
        never = [key for key in keys if "low" in key and not self.part.ranges.may_be_null(key)]
        return self._apart(rows, rows, [(key, key) for key in never])

    def _leads(self, node: Node) -> bool:
        """Whether an expression is the key by which rows of a table are led to those whose period they have."""
        while node.get("source") in self.part.derived.per_unit:
            keys = dict(self.part.derived.per_unit[node["source"]][0]["keys"])
            node = keys.get(node["name"], {})
        fact = self.part.derived.limits.get(node.get("source", -1), {})
        return "period_of" in fact and node["name"] == f"tacit_code {fact['unit']['column']}"

    def _apart(self, one: Rows, other: Rows, pairs: Pairs) -> bool:
        """Whether rows of two periods never agree in all pairs: by the range of each expression in each period."""
        many = len(one.periods | other.periods)
        if many < 2 or not pairs:
            return many < 2
        if many > MOST_PERIODS:
            self.stated.append(f"that rows of one of {many} periods are put together with those of the same alone")
            return True
        boxes = sorted(
            (box, period, side) for side, rows in enumerate((one, other)) for period in rows.periods
            if None not in (box := [self._in(period).ranges.of(pair[side]) for pair in pairs])
        )  # fmt: skip
        for at, (box, period, side) in enumerate(boxes):
            for near, another, across in islice(boxes, at + 1, None):
                if near[0][0] > box[0][1]:  # type: ignore[index]  # none of them is None
                    break
                if period != another and side != across and all(map(_meet, box, near)):
                    return False
        return True

    def _in(self, period: int) -> Part:
        """The part as it is if no other period is declared."""
        if period not in self.narrowed:
            facts = {name: _of_period(fact, self.within["per"], period) for name, fact in self.part.facts.items()}
            self.narrowed[period] = Part(self.part.node, self.part.at, facts, self.part.ranges.names)
        return self.narrowed[period]


def _of_period(fact: Node, per: str, period: int) -> Node:
    """The declarations of a table with no other days than those of a period; the nearest one, if it has none of them."""
    if "period" not in fact:
        return fact
    name, day = fact["period"], fact["columns"][fact["period"]]
    low, high = (int(bound) for bound in day["bounds"])
    ends = (first_day(per, period + next_).toordinal() - DAY_0 - next_ for next_ in (0, 1))
    first, last = (min(max(end, low), high) for end in ends)
    narrow = {**day, "bounds": [str(first), str(last)], "points": last - first + 1}
    return {**fact, "columns": {**fact["columns"], name: narrow}}


def _is_of(node: Any, sources: frozenset[int]) -> bool:
    return "low" in node and {column["source"] for column in columns_of(node)} <= sources


def _is_code(node: Node) -> bool:
    return str(node.get("name", "")).startswith("tacit_code ")


def _meet(one: Range, other: Range) -> bool:
    return one is None or other is None or max(one[0], other[0]) <= min(one[1], other[1])


def in_periods(document: Node, parts: Sequence[Part]) -> tuple[list[Dated], list[str], list[str]]:
    """The parts of a question in their periods, what was checked of these, and what is taken as stated."""
    if (within := document.get("periods")) is None:
        named = any({"period", "period_of"} & fact.keys() for fact in document["facts"]["tables"].values())
        refuse(named, "a table has periods, and none are charged")
        return [], [], []
    only(within, "per runs price lifetime")
    dated, charged = [Dated(part, within) for part in parts], numbers_of(within["runs"])
    read = {number for part in dated for number in part.read}
    refuse(read != {*charged}, "the periods that are read are not those that are charged")
    most = max(part.times[0] for part in dated)
    days = "; ".join(days_of(within["per"], low, high) for low, high in within["runs"]) or "none"
    apart = f"rows of two periods are kept apart; a person can be in {most} (accounting/periods.md)"
    stated = dict.fromkeys(text for part in dated for text in part.stated)
    return dated, [f"charged to {len(charged)} periods, which alone are read: {days}", apart], [*stated]


# --- the price of a whole person ---------------------------------------------------------------------------------------------


def lifetime(document: Node, dated: Sequence[Dated]) -> str:
    """The price of a certificate is at least what a person in all periods pays: periods.md, section 5."""
    events, relation, stated = list(price.leaves(document["event"])), document["relation"], price.sums(document["price"])
    derived = price.cost(document["event"], relation)
    if any(part.times[0] > 1 for part in dated):
        named = ((node, [events[number] for number in node["events"]]) for node in document["mechanisms"])
        derived = sum((one for node, own in named for one in _of_person(node, own, dated[node["part"]], relation)), price.NOTHING)
    refuse(not stated.covers(derived), f"a whole person pays {derived}; stated is {stated}")
    return f"a person in all of them pays {stated} (accounting/periods.md, section 5)"


def _of_person(node: Node, events: Sequence[Node], dated: Dated, relation: str) -> Iterator[Cost]:
    """Sums by how far all rows of the person move them; all else as many steps as there are periods."""
    steps, moved = dated.times[0], dated.moved(node["moment"]) if node["releases"] == "moment" else None
    for event in events:
        if event["kind"] == "gaussian":
            scale, delta = rational(event["scale"]), rational(event["delta"])
            square = (steps * rational(event["sensitivity"])) ** 2
            if moved is not None:
                series = (node["shape"][1], moved.l1, moved.largest, node["bits"]) if node["kind"] == "running" else None
                square = Fraction(square_moved(*series) if series else moved.l2_squared)
            yield price.gaussian(square, scale, delta if moved is None else steps * delta)
        elif moved is None:
            yield _over(price.cost(event, relation), steps)
        else:
            yield price.cost({**event, "sensitivity": str(moved.l1)}, relation)


def _over(cost: Cost, steps: int) -> Cost:
    """The cost to a unit that is `steps` of those it is for, one after the other: accounting/ledger/units.md."""

    def weighed(step: int) -> Fraction:  # at or above what a set of weight delta weighs so many steps on
        if not step or not cost.delta:
            return cost.delta
        if cost.epsilon is None:
            return numbers.moved_up(cost.delta, step**2 * cost.rho)
        return cost.delta * numbers.exp(step * cost.epsilon)[1] if step * cost.epsilon < 700 else Fraction(1)

    epsilon, delta = None if cost.epsilon is None else cost.epsilon * steps, sum(map(weighed, range(steps)), start=Fraction(0))
    return Cost(epsilon, steps**2 * cost.rho, min(Fraction(1), delta))


# --- the sums of every period, from the entries of a ledger ------------------------------------------------------------------


@dataclass
class InPeriods:
    """The sums of the data set ("") and of each analyst in every period, with the number of questions."""

    per: str = ""
    sums: dict[str, dict[int, tuple[Cost, int]]] = field(default_factory=dict)
    before: dict[int, list[Any]] = field(default_factory=dict)  # of each entry, the sums of its periods in runs of equal ones

    def charge(self, entry: Node, within: Node, relation: str, share: Fraction) -> None:
        """Every period of an entry admits its price, and has it from now on. Analysts' caps sum rhos."""
        number, periods, own = entry["number"], numbers_of(within["runs"]), price.sums(within["price"])
        order, counted = charged(entry, relation, "periods")
        self.per, self.before[number] = within["per"], self._runs(periods)
        accounts: list[tuple[str, Any, Any, Cost]] = [(entry["analyst"], entry["analyst_cap"], None, own.rounded)]
        accounts += [("", entry["cap"], order, counted.rounded)] if entry["kind"] == "spend" else []
        for name, cap, at, more in accounts:
            account, after = self.sums.setdefault(name, {}), dict[tuple[Cost, int], tuple[Cost, int]]()
            held = None if cap is None else Cap.of(cap, share, at)
            for old in {account.get(period, (price.NOTHING, 0)) for period in periods}:
                after[old] = old[0] + more, old[1] + 1
                beyond = (name == "" and old[1] >= within["most"]) or (held and not held.admits(after[old][0]))
                refuse(beyond, f"entry {number} was admitted beyond the cap of a period")
            account |= {period: after[account.get(period, (price.NOTHING, 0))] for period in periods}

    def _runs(self, periods: Sequence[int]) -> list[Any]:
        """The sums of the data set in some periods, as runs of equal ones."""
        found, account = list[Any](), self.sums.get("", {})
        for period in periods:
            spent = price.plain(account.get(period, (price.NOTHING, 0))[0])
            if found and found[-1][1:] == [period - 1, spent]:
                found[-1][1] = period
            else:
                found.append([period, period, spent])
        return found

    def totals(self) -> Iterator[str]:
        """The sums of every period that anything was charged to, in words."""
        for low, high, spent in self._runs(sorted(self.sums.get("", {}))):
            yield f"in each period of {days_of(self.per, low, high)}: {price.sums(spent)}"
