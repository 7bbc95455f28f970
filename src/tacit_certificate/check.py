"""One certificate, from the first field to the last: everything that it states is derived again, or listed as taken as stated."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit_certificate import numbers, orders, price
from tacit_certificate.curve import calibrated
from tacit_certificate.document import Keys, Node, Report, Wrong, digest, only, optional, rational, read, refuse, verify, whole
from tacit_certificate.margins import Margins, added_up, outputs_of
from tacit_certificate.orders import Cap, caps_of
from tacit_certificate.periods import IN_PERIODS, Dated, in_periods, lifetime, numbers_of
from tacit_certificate.price import KINDS
from tacit_certificate.stability import Part
from tacit_certificate.ways import NOISE, other_way

FIELDS = "about format kind form way asked plan facts relation derivation mechanisms event price cap entry data_version "
FIELDS += "released intervals stated software signature"
ABOUT = (
    "This certificate shows that the price is right for the plan. It cannot show that the program drew its noise, "
    "nor that it read the data that was declared."
)
WAYS = ("question", "synthetic-rows", "contingency-table", "commuter-map", "graph", "classifier")
MAKES = {  # of each kind of moment the aggregates that are computed from it; those of ONE_SUM are one sum times a step
    "rows": "count",
    "units": "units",
    "distinct": "distinct",
    "list": "quantile mode",
    **dict.fromkeys(("sum", "centred"), "sum avg"),
    "squares": "var_pop var_samp stddev_pop stddev_samp",
    "products": "covar_pop covar_samp corr regr_slope regr_intercept linreg_intercept linreg_slope linreg_r2",
}
ONE_SUM = ("count", "sum", "units", "distinct")
DECIMAL = re.compile(r"-?[0-9.]{1,100}([eE][+-]?[0-9]{1,3})?")
ROUNDING = Fraction(1, 2**40)


@dataclass
class Certificate:
    """A certificate under examination."""

    node: Node
    report: Report = field(default_factory=Report)
    parts: list[Part] = field(default_factory=list)
    dated: list[Dated] = field(default_factory=list)
    entries: dict[int, int] = field(default_factory=dict)  # of each event, how many numbers one unit moves

    def check(self, keys: Keys) -> Report:
        """The report on the whole certificate."""
        if self.report.section("signature", lambda: self.signature(keys)):
            self.contents()
        return self.report

    def contents(self) -> Report:
        """The same without fields and signature."""
        of_plan = ("plan", "derivation", "periods") if self.node["way"] == "question" else ()
        for name in (*of_plan, "mechanisms", "price", "cap", "released", "intervals"):
            if not self.report.section(name, getattr(self, name)):
                break
        self.report.stated += [str(each) for each in self.node["stated"]]
        return self.report

    # --- signature and fields ---

    def signature(self, keys: Keys) -> None:
        """The fields are those of the format, and a trusted key signed them."""
        node, forms = self.node, {"public": False, "auditor": True}
        if not isinstance(node, dict) or (node.get("kind"), node.get("format")) != ("certificate", 1):
            raise Wrong("this is not a certificate of format 1")
        only(node, FIELDS, "ledger" * (node["form"] == "auditor") + " periods" * (node["way"] == "question"))
        known = forms.get(node["form"]) is ("ledger" in node) and node["way"] in WAYS
        refuse(not known, "the form is public or auditor, and the auditor's form has its ledger")
        self.report.checked.append(f"signed by key {verify(keys, node, 'certificate')}")
        refuse(
            node["about"] != ABOUT + IN_PERIODS * ("periods" in node),
            "the first line is not the one that says what a certificate cannot show",
        )

    # --- plan, stability, sensitivity ---

    def plan(self) -> None:
        """Every part of the plan, from the facts upwards."""
        plan, facts = self.node["plan"], self.node["facts"]["tables"]
        self.parts = [Part(node, f"/parts/{at}", facts) for at, node in enumerate(plan["parts"])]
        other = len(self.parts) != 1 + whole(plan, "beside", 0) + whole(plan, "below", 0)
        refuse(other, "the number of parts is not that of the plan")
        change = self.node["relation"] == "change-one unit" and not any(part.private for part in self.parts)
        fixed = [step["inputs"]["rows_are_public"] for step in self.node["derivation"] if step["rule"] == "reach"]
        if any(fixed):
            plain = change and len(self.parts) == 1 and self.parts[0].may_have_public_rows()
            refuse(not plain, "the number of rows is taken as public, and plan or facts say that it is private")
            self.report.stated.append("the catalog has one private table, and no column of it can drop a row")
        for part in self.parts:
            for call in part.node["calls"]:
                refuse(not _moments_of(part, call), f"a {str(call['name'])[:20]} is computed from sums that are not in the plan")
            part.derive(change, any(fixed))
        public = sorted({name for part in self.parts for name in part.derived.public})
        self.report.checked.append("every expression is in the range that it states, from the declared bounds upwards")
        self.report.stated += [text for part in self.parts for text in dict.fromkeys(part.derived.unshown)]
        text = f"of public tables ({', '.join(public)}): ranges, and the most rows with one value"
        self.report.stated += [text] if public else []

    def derivation(self) -> None:
        """Every step of the derivation is one that is derived here, from the same inputs, and no other step is there."""
        steps = {(step["rule"], step["at"]): step for step in self.node["derivation"]}
        refuse(len(steps) != len(self.node["derivation"]), "a step of the derivation occurs twice")
        wanted = {(rule, at): (inputs, gives, words) for rule, at, inputs, gives, words in self._steps()}
        refuse(other := steps.keys() ^ wanted.keys(), f"a step is missing, or one too many: {min(other, default=None)}")
        for (rule, at), (inputs, gives, words) in wanted.items():
            step, stated = steps[rule, at], dict(steps[rule, at]["gives"])
            if rule == "sensitivity":
                l2, squared = rational(stated.pop("l2")), gives.pop("l2_squared")
                near = squared <= l2 * l2 <= squared * (1 + price.NEAR)
                refuse(not near, f"the l2 sensitivity at {at} is the root of {squared}; stated is {price.brief(l2)}")
            follows = step["inputs"] == inputs if inputs else INPUTS[rule](step["inputs"]) == gives["rows"]
            refuse(stated != gives or not follows, f"the {rule} at {at} gives {gives}, from {inputs}; stated is {stated}")
            self.report.checked.append(f"{words} ({step['proof']})")

    def _steps(self) -> Iterator[tuple[str, str, Node, dict[str, Any], str]]:
        """The steps that are derived here: rule, place, inputs (not those of rows, which are a witness), conclusion, in words."""
        for at, part in enumerate(self.parts):
            group, reach = f"/parts/{at}/group", part.reach
            gives = {name: getattr(reach, name) for name in ("rows", "groups", "per_group", "several", "l1", "l2_squared", "units")}
            sizes, cells = ([None] * len(part.sizes), None) if part.private else (part.sizes, math.prod(part.sizes))
            inputs = {"rows": reach.rows, "keys": sizes, "cells": cells, "per_group": part.group["per_group"]}
            inputs |= {"rows_are_public": reach.fixed, "change": "change-one" if reach.change else "add-remove"}
            words = f"{reach.rows} rows of one unit, in {reach.groups} groups, {reach.per_group} in one"
            yield "reach", group, inputs, gives, words
            for place, moment in enumerate(part.group["moments"]):
                if moved := part.moved.get(place):
                    given = {"kind": moment["kind"], "together": moment["together"], "low": moved.ends[0], "high": moved.ends[1]}
                    result = {name: getattr(moved, name) for name in ("l1", "l2_squared", "entries", "largest")}
                    where, most = f"{group}/moments/{place}", f"({moment['kind']}): at most {moved.l1} in l1"
                    yield "sensitivity", where, given, result, f"sensitivity at {where} {most}"
            for (rule, where), rows in part.derived.gives.items():
                yield rule, where, {}, {"rows": rows}, f"{rule} at {where}: {rows} rows of one unit"

    def periods(self) -> None:
        """What is read is what is charged, and rows of different periods are kept apart."""
        self.dated, checked, stated = in_periods(self.node, self.parts)
        self.report.checked += checked
        self.report.stated += stated

    # --- mechanisms and price ---

    def mechanisms(self) -> None:
        """Every number of every part is released by one mechanism, with noise for its sensitivity, recorded as its events."""
        if self.node["way"] != "question":
            other_way(self.node, self.report)
            return
        events, used, done, margins = list(price.leaves(self.node["event"])), list[int](), list[tuple[Any, ...]](), None
        for node in self.node["mechanisms"]:
            named = [events[number] for number in node["events"]]
            if node["releases"] in ("shared", "estimate"):
                margins = margins or Margins(self.parts)
                text, entries, released = margins.released(node, named)
            else:
                text, entries, released = self._released(node, named)
            used, done = used + node["events"], done + released
            self.entries |= dict.fromkeys(node["events"], entries)
            self.report.checked.append(text)
        refuse(sorted(used) != list(range(len(events))), "an event belongs to no mechanism, or to two")
        wanted = sorted(each for at, part in enumerate(self.parts) for each in _wanted(at, part))
        refuse(sorted(done) != wanted, f"released are {sorted(done)}; the plan needs {wanted}")
        for text, how in calibrated(self.node["event"], iter([self.entries[number] for number in range(len(events))])):
            listed = self.report.checked if how else self.report.stated
            listed.append(f"{text} {how or 'by its curve over all moves of one unit'}")

    def _released(self, node: Node, events: list[Node]) -> tuple[str, int, list[tuple[Any, ...]]]:
        """What was checked of a mechanism of one part, how many numbers one unit moves, and what it releases."""
        at, kind, what = whole(node, "part", 0), node["kind"], node["releases"]
        refuse(kind not in KINDS.get(what, "").split(), f"{str(what)[:20]} is not released by a mechanism of kind {str(kind)[:40]}")
        part, place = self.parts[at], 0 if what == "keys" else whole(node, "moment", 0)
        if what == "margin":
            return f"part {at}, margin {place}: {added_up(self.parts, node, at)}", 0, [(at, "moment", place)]
        text = f"part {at}, {'the keys' if what == 'keys' else f'{what} {place}'}: {price.mechanism(node, events, part)}"
        if what in ("quantile", "mode"):
            listed, calls = part.group["moments"][place], [part.node["calls"][call] for call in node["calls"]]
            asked = [(call["name"], call["over"]["node"], "list") for call in calls]
            wrong = not calls or any(one != (what, listed["value"], listed["kind"]) for one in asked)
            refuse(wrong, f"a mechanism for a {what} releases another call")
            return text, 0, [(at, "call", call) for call in node["calls"]]
        entries = node["max_groups"] if what == "keys" else 1 if part.alone else part.moved[place].entries
        return text, whole(node, "dimension", 1) if kind == "running" else entries, [(at, what, place)]

    def price(self) -> None:
        """The sum over the events is the price, and no more than what was asked for."""
        within, derived = self.node.get("periods"), price.cost(self.node["event"], self.node["relation"])
        stated = price.sums((within or self.node)["price"])
        only(self.node["price"], "epsilon rho delta relation")
        refuse(self.node["relation"] != self.node["price"]["relation"], "the price counts for another relation")
        self.report.checked.append(f"the promise is for neighbours by {self.node['relation']}")
        refuse(not derived.is_stated_by(stated), f"the events cost {derived}; stated is {stated}")
        most = optional(self.node["asked"].get("epsilon"))
        above = most is not None and stated.epsilon is not None and stated.epsilon > most
        refuse(above, "the price is above the epsilon that was asked for")
        self.report.checked.append(f"the events cost {stated} (accounting/composition.md)" + " in each period" * bool(within))
        if within:
            self.report.checked.append(lifetime(self.node, self.dated))

    # --- cap and ledger ---

    def cap(self) -> None:
        """The cap admits the price; in the auditor's form, the filter admitted the sums."""
        only(self.node["cap"], "epsilon delta split questions_at_most", "order")
        caps = caps_of(self.node)
        for name, (cap, alone) in caps.items():
            refuse(not cap.admits(alone.rounded), "the cap does not admit the price alone")
            whose = (
                "data set" if "periods" not in caps else "data set in each period" if name == "periods" else "lifetime of a person"
            )
            self.report.checked.append(f"within the cap of the {whose}: {cap}")
        if self.node["form"] == "auditor":
            self._ledger({name: cap for name, (cap, _) in caps.items()})
        else:
            self.report.stated.append(f"the ledger's entry {self.node['entry'][:16]}..., and that the sums before it left room")

    def _ledger(self, caps: Mapping[str, Cap]) -> None:
        """The entry is the text that the hash is of, and the sums are those of the filter."""
        ledger, within, node = self.node["ledger"], self.node.get("periods") or {}, self.node
        only(ledger, "id number text before after" + " periods" * bool(within))
        refuse(digest(ledger["text"]) != node["entry"], "the text of the entry has another hash")
        entry, before, after = read(ledger["text"].encode()), price.sums(ledger["before"]), price.sums(ledger["after"])
        charged, recalled = (entry.get("more") or {}).get("periods") or {}, entry["kind"] == "recall"
        told = [*map(entry.get, ("ledger", "number", "spent")), price.sums(entry["price"]), entry["price"]["neighbours"]]
        stated = [*map(ledger.get, ("id", "number", "after")), price.sums(node["price"]), node["relation"]]
        told += [_budget(entry["cap"]), _budget(charged.get("lifetime")), *map(charged.get, ("per", "runs", "price"))]
        stated += [_budget(node["cap"]), _budget(within.get("lifetime")), *map(within.get, ("per", "runs", "price"))]
        same = 1 - rational(entry["split"]) == rational(node["cap"]["split"]) and entry["kind"] in ("spend", "recall")
        same &= told == stated and (recalled or entry["event"] == node["event"])
        refuse(not same, "the entry has another place, event, price, cap, split or periods, or other sums")
        order, counts = orders.charged(entry, node["relation"])
        right, held = after == (before if recalled else before + counts.rounded), [("sums", order, after)]
        if within:
            order, counts = orders.charged(entry, node["relation"], "periods")
            right &= numbers_of([run[:2] for run in ledger["periods"]], gap=0) == numbers_of(within["runs"])
            more = price.NOTHING if recalled else counts.rounded
            held += [("periods", order, price.sums(sums) + more) for _, _, sums in ledger["periods"]]
        refuse(not right, "the sums after the entry are not those before it and its price")
        for name, order, sums in held:
            beyond = name in caps and (caps[name].order != order or not (recalled or caps[name].admits(sums)))
            refuse(beyond, "the filter does not admit the sums after the entry, or counts them at another order")
        self.report.checked.append(f"entry {ledger['number']}: the filter admits its sums, {after} (accounting/filter.md)")

    # --- released values and intervals ---

    def released(self) -> None:
        """The hash is that of the text."""
        node = self.node["released"]
        only(node, "text sha256 names")
        if node["text"] is None:
            where = "the released values stand elsewhere; compare the hash of the file"
            self.report.stated.append(where if node["sha256"] else "no hash of values")
        else:
            refuse(digest(node["text"]) != node["sha256"], "the released values have another hash")
            self.report.checked.append(f"released values with the hash {node['sha256'][:16]}...")

    def intervals(self) -> None:
        """Half widths by the law of the noise; no other column has ends, unless they are listed as stated."""
        text, outputs = self.node["released"]["text"], outputs_of(self.node["plan"], self.parts)
        answer: Any = {"columns": [None] * len(outputs)} if text is None else read(text.encode(), floats=True)
        answer = {**answer, "columns": [one for each in answer.get("answers", [answer]) for one in each["columns"]]}
        counts = {len(each) for each in (outputs, answer["columns"], self.node["intervals"], self.node["released"]["names"])}
        same = len(counts) == 1 and [node["column"] for node in self.node["intervals"]] == [*range(len(outputs))]
        refuse(not same, "the columns of the plan, the answer, its names and the intervals are not the same")
        other = text is not None and any(answer[name] != self.node["asked"][name] for name in ("confidence", "simultaneous"))
        refuse(other, "the answer has another confidence than was asked for")
        for column, node in enumerate(self.node["intervals"]):
            match node["rule"]:
                case "law-of-noise":
                    width = self._width(node)
                    rows = 0 if text is None else _around(answer["columns"][column], width)
                    self.report.checked.append(f"column {column}: ± {price.brief(width)} by the law of its noise, in {rows} rows")
                case "as-stated":
                    self.report.stated.append(f"the interval of column {column}")
                case "exact" | "none" as rule:
                    noisy = rule == "exact" and _is_noisy(outputs[column]["value"])
                    ends = text is not None and answer["columns"][column][3:5] != [None, None]
                    refuse(noisy or ends, f"column {column} is released with noise or with ends, and its interval is {rule}")
                case rule:
                    raise Wrong(f"an unknown rule of intervals: {str(rule)[:40]}")

    def _width(self, node: Node) -> Fraction:
        """The half width of one sum with noise of its own: the noise exceeds it with a chance of at most `missed`."""
        mechanism, weight = self.node["mechanisms"][whole(node, "mechanism", 0)], rational(node["weight"])
        at, together, missed = mechanism["part"], whole(node, "together", 1), rational(node["missed"])
        right = missed == (1 - rational(self.node["asked"]["confidence"])) / together and together >= self._least_together(at)
        refuse("listed" in self.node["plan"] or not right, "the chance of a miss is not the one that the confidence leaves")
        part = self.parts[at].node
        output = part["outputs"][whole(node, "column", 0)]["value"]
        call = part["calls"][output["index"]] if output["is"] == "Result" else {"name": None}
        made = [] if at or call["name"] not in ONE_SUM else _moments_of(self.parts[at], call)
        term = call.get("over") if call["name"] == "sum" else None
        step = rational(term["type"]["step"]) if term and term["type"]["is"] == "NumberType" else Fraction(1)
        own = mechanism["moment"] in made and mechanism["kind"] in NOISE
        if not own or (mechanism["releases"], abs(weight)) != ("moment", step):
            raise Wrong("the interval is by the law of one noise, and the column is not one released sum")
        width, scale = rational(node["half_width"]), rational(mechanism["scale"])
        steps = width / abs(weight)
        tail = numbers.gaussian_tail_up if mechanism["kind"] == "gaussian" else numbers.laplace_tail_up
        if steps.denominator != 1 or not 0 < missed < 1 or tail(scale, int(steps)) > missed * (1 + Fraction(1, 10**5)):
            raise Wrong(f"a half width of {price.brief(width)} misses more often than {price.brief(missed)}")
        return width

    def _least_together(self, at: int) -> int:
        """How many numbers hold together at least, where released numbers choose rows or it is asked for."""
        part = self.parts[at]
        chosen = any(_is_noisy(part.node[name]) for name in ("having", "qualify"))
        chosen |= (part.node["limit"] is not None or bool(part.node["offset"])) and _is_noisy(part.node["order"])
        simultaneous = self.node["asked"]["simultaneous"] is True
        if not (chosen or simultaneous) or part.private:
            return 1
        columns = sum(_is_noisy(output["value"]) for output in part.node["outputs"]) if simultaneous else 1
        return math.prod(part.sizes) * max(1, columns)


def _budget(cap: Node | None) -> list[Any]:
    return [] if cap is None else [cap["epsilon"], cap["delta"]]


def _multiplied(inputs: Node) -> int:
    return max(1, math.prod(whole(one, "factor", 1) for one in inputs["order"]) * whole(inputs, "fan_out", 1))


INPUTS: Mapping[str, Callable[[Node], Any]] = {  # what the inputs of a step give, by its rule
    "row-limit": lambda inputs: inputs["max_rows"],
    "one-row-per-key": lambda inputs: min(inputs[name] for name in ("rows", "combinations", "most") if name in inputs),
    "stacked-rows": lambda inputs: sum(inputs["rows"]),
    "joined-rows": _multiplied,
    "rows-beside": _multiplied,
}


def _wanted(at: int, part: Part) -> Iterator[tuple[Any, ...]]:
    """Everything of a part that must be released: keys, sums, quantiles and modes. With private keys come numbers of units."""
    if part.private:
        yield at, "keys", 0
    for place, moment in enumerate(part.group["moments"]):
        if moment["kind"] != "list" and not (part.private and moment["kind"] == "units"):
            yield at, "moment", place
    for place, call in enumerate(part.node["calls"]):
        if call["name"] in ("quantile", "mode"):
            yield at, "call", place


def _moments_of(part: Part, call: Node) -> list[int]:
    """The places of the moments from which an aggregate is computed; some, if it is one that there is and all of it is measured."""
    over, found = call["over"] and call["over"]["node"], []
    for place, one in enumerate(part.group["moments"]):
        fits = one["kind"] == "units" or over in (one["value"], one["other"], one["text"])
        if call["name"] in MAKES[one["kind"]].split() and (fits or (one["kind"], one["value"]) == ("rows", None)):
            found.append(place)
    return found


def _is_noisy(node: Any) -> bool:
    """Whether a released number stands anywhere in it."""
    if isinstance(node, dict):
        return node.get("is") in ("Result", "Beside") or any(map(_is_noisy, node.values()))
    return isinstance(node, list) and any(map(_is_noisy, node))


def _around(column: list[Any], width: Fraction) -> int:
    """How many rows of a column have their ends at a half width from their value, up to the rounding of doubles."""
    rows = [row for row in zip(*column[2:5], strict=True) if row[0] is not None]
    for number, row in enumerate(rows):
        value, low, high = map(_exact, row)
        slack = ROUNDING * max(map(abs, (value, low, high)))
        wrong = abs(value - width - low) > slack or abs(value + width - high) > slack
        refuse(wrong, f"row {number} of column {str(column[0])[:40]!r} has ends that are not at ± {price.brief(width)}")
    return len(rows)


def _exact(number: Any) -> Fraction:
    text = number["decimal"] if isinstance(number, dict) else repr(number)
    refuse(not isinstance(text, str) or not DECIMAL.fullmatch(text), "a released number is not a decimal of at most 100 digits")
    return Fraction(text)
