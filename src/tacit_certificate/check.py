"""One certificate, from the first field to the last: everything that it states is derived again, or listed as taken as stated."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tacit_certificate import numbers, price
from tacit_certificate.document import Keys, Wrong, digest, only, rational, read, refuse, verify, whole
from tacit_certificate.margins import Margins
from tacit_certificate.price import Cost
from tacit_certificate.stability import Part, Reach, Sensitivity

Node = Mapping[str, Any]
FIELDS = (
    "about format kind form way asked plan facts relation derivation mechanisms event price cap entry data_version released "
    "intervals stated software signature"
)
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
DECIMAL = re.compile(r"-?[0-9.]{1,100}(E[+-]?[0-9]{1,3})?")
ROUNDING = Fraction(1, 2**40)
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError, RecursionError)


@dataclass
class Report:
    """What was checked, what is taken as stated, and what is wrong, in order."""

    checked: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def section(self, name: str, look: Callable[[], object]) -> bool:
        """Runs one section. What it raises is wrong, and the sections that need it are left out."""
        try:
            look()
        except Wrong as reason:
            self.wrong.append(f"{name}: {reason}")
        except numbers.TooLarge as reason:
            self.wrong.append(f"{name}: {reason}, which is more than this program computes with")
        except MALFORMED as error:
            self.wrong.append(f"{name}: a field is missing or of another type ({type(error).__name__})")
        return not self.wrong


@dataclass
class Certificate:
    """A certificate under examination."""

    node: Node
    report: Report = field(default_factory=Report)
    parts: list[Part] = field(default_factory=list)
    reaches: list[Reach] = field(default_factory=list)
    moved: dict[tuple[int, int], Sensitivity] = field(default_factory=dict)
    shared: dict[int, Sensitivity] = field(default_factory=dict)

    def check(self, keys: Keys) -> Report:
        """The report on the whole certificate."""
        if self.report.section("signature", lambda: self.signature(keys)):
            self.contents()
        return self.report

    def contents(self) -> Report:
        """The same without fields and signature."""
        sections: list[tuple[str, Callable[[], object]]] = [("relation", self.relation)]
        if self.node["way"] == "question":
            sections += [("plan", self.plan), ("derivation", self.derivation), ("mechanisms", self.mechanisms)]
        else:
            sections.append(("mechanisms", self.other_way))
        sections += [("price", self.price), ("cap", self.cap), ("released values", self.released), ("intervals", self.intervals)]
        for name, look in sections:
            if not self.report.section(name, look):
                break
        self.report.stated += [str(each) for each in self.node["stated"]]
        return self.report

    # --- signature and fields ---

    def signature(self, keys: Keys) -> None:
        """The fields are those of the format, and a trusted key signed them."""
        node = self.node
        if not isinstance(node, dict) or node.get("kind") != "certificate" or node.get("format") != 1:
            raise Wrong("this is not a certificate of format 1")
        only(node, FIELDS, "ledger" if node["form"] == "auditor" else "")
        forms = {"public": False, "auditor": True}
        if forms.get(node["form"]) is not ("ledger" in node) or node["way"] not in WAYS:
            raise Wrong("the form is public or auditor, and the auditor's form has its ledger")
        self.report.checked.append(f"signed by key {verify(keys, node, 'certificate')}")
        refuse(node["about"] != ABOUT, "the first line is not the one that says what a certificate cannot show")

    def relation(self) -> None:
        """The neighbours of the promise."""
        refuse(self.node["relation"] != self.node["price"]["relation"], "the price counts for another relation")
        self.report.checked.append(f"the promise is for neighbours by {self.node['relation']}")

    # --- plan, stability, sensitivity ---

    def plan(self) -> None:
        """Every part of the plan, from the facts upwards."""
        plan, facts = self.node["plan"], self.node["facts"]["tables"]
        self.parts = [Part(node, f"/parts/{at}", facts) for at, node in enumerate(plan["parts"])]
        if not self.parts or len(self.parts) != 1 + whole(plan, "beside", 0) + whole(plan, "below", 0):
            raise Wrong("the number of parts is not that of the plan")
        change = self.node["relation"] == "change-one unit" and not any(part.private for part in self.parts)
        fixed = [step["inputs"]["rows_are_public"] for step in self.node["derivation"] if step["rule"] == "reach"]
        if any(fixed):
            if not change or len(self.parts) > 1 or not self.parts[0].may_have_public_rows():
                raise Wrong("the number of rows is taken as public, and plan or facts say that it is private")
            self.report.stated.append("the catalog has one private table, and no column of it can drop a row")
        for part in self.parts:
            for call in part.node["calls"]:
                refuse(not _moments_of(part, call), f"a {str(call['name'])[:20]} is computed from sums that are not in the plan")
        self.reaches = [part.reach(change, any(fixed)) for part in self.parts]
        for at, part in enumerate(self.parts):
            for place, moment in enumerate(part.group["moments"]):
                if moment["kind"] != "list":
                    self.moved[at, place] = part.sensitivity(moment, self.reaches[at])
        public = sorted({name for part in self.parts for name in part.derived.public})
        self.report.checked.append("every expression is in the range that it states, from the declared bounds upwards")
        self.report.stated += [text for part in self.parts for text in dict.fromkeys(part.ranges.names.unshown)]
        if public:
            self.report.stated.append(f"of public tables ({', '.join(public)}): ranges, and the most rows with one value")

    def derivation(self) -> None:
        """Every step of the derivation gives what is derived here."""
        steps = {(step["rule"], step["at"]): step for step in self.node["derivation"]}
        refuse(len(steps) != len(self.node["derivation"]), "a step of the derivation occurs twice")
        for at, (part, reach) in enumerate(zip(self.parts, self.reaches, strict=True)):
            place = f"/parts/{at}/group"
            self._reach(steps.pop(("reach", place)), part, reach)
            for number in range(len(part.group["moments"])):
                if (moved := self.moved.get((at, number))) is not None:
                    self._sensitivity(steps.pop(("sensitivity", f"{place}/moments/{number}")), part.group["moments"][number], moved)
        found = {key: rows for part in self.parts for key, rows in part.derived.gives.items()}
        refuse(lacking := found.keys() - steps.keys(), f"a step is missing: {min(lacking, default=None)}")
        for (rule, at), step in steps.items():
            if found.get((rule, at)) != step["gives"]["rows"]:
                raise Wrong(f"one unit has up to {found.get((rule, at))} rows at {at}, and {step['gives']['rows']} are stated")
            if INPUTS[rule](step["inputs"]) != step["gives"]["rows"]:
                raise Wrong(f"the {rule} at {at} does not give {step['gives']['rows']} rows")
            self.report.checked.append(f"{rule} at {at}: {step['gives']['rows']} rows of one unit ({step['proof']})")

    def _reach(self, step: Node, part: Part, reach: Reach) -> None:
        gives = {name: getattr(reach, name) for name in ("rows", "groups", "per_group", "several", "l1", "l2_squared", "units")}
        sizes = [None if part.private else size for size in part.sizes]
        cells = None if part.private else math.prod(part.sizes)
        inputs = {"rows": reach.rows, "keys": sizes, "cells": cells, "per_group": part.group["per_group"]}
        inputs |= {"rows_are_public": reach.fixed, "change": "change-one" if reach.change else "add-remove"}
        if step["gives"] != gives or step["inputs"] != inputs:
            raise Wrong(f"one unit reaches {gives} from {inputs}; stated are {step['gives']} from {step['inputs']}")
        reached = f"{reach.rows} rows of one unit, in {reach.groups} groups, {reach.per_group} in one"
        self.report.checked.append(f"{reached} ({step['proof']})")

    def _sensitivity(self, step: Node, moment: Node, moved: Sensitivity) -> None:
        gives, l2 = step["gives"], rational(step["gives"]["l2"])
        inputs = {"kind": moment["kind"], "together": moment["together"], "low": moved.ends[0], "high": moved.ends[1]}
        stated = (gives["l1"], gives["entries"], gives["largest"], step["inputs"])
        if stated != (moved.l1, moved.entries, moved.largest, inputs):
            raise Wrong(f"a sensitivity at {step['at']} is {moved}; stated is {gives}")
        if not moved.l2_squared <= l2 * l2 <= moved.l2_squared * (1 + price.NEAR):
            raise Wrong(f"the l2 sensitivity at {step['at']} is the root of {moved.l2_squared}; stated is {step['gives']['l2']}")
        kind = step["inputs"]["kind"]
        self.report.checked.append(f"sensitivity at {step['at']} ({kind}): at most {moved.l1} in l1 ({step['proof']})")

    # --- mechanisms and price ---

    def mechanisms(self) -> None:
        """Every number of every part is released by one mechanism, with noise for its sensitivity, recorded as its events."""
        events, used, done = list(price.leaves(self.node["event"])), list[int](), list[tuple[Any, ...]]()
        margins = None
        for node in self.node["mechanisms"]:
            at = whole(node, "part", 0)
            if node["releases"] in ("shared", "estimate"):
                margins = margins or Margins(self.parts, self.reaches)
                done += self._shared(margins, node, [events[number] for number in node["events"]])
                used += node["events"]
                continue
            part, named = self.parts[at], [events[number] for number in node["events"]]
            place = None if node["releases"] == "keys" else whole(node, "moment", 0)
            done += self._released(node, at, place)
            used += node["events"]
            what = "the keys" if place is None else f"{node['releases']} {place}"
            if node["kind"] == "added":
                text = self._margin(node, at)
            else:
                moved = None if place is None or node["releases"] != "moment" else self.moved[at, place]
                text = price.mechanism(price.Released(node, part, self.reaches[at], named, moved))
            self.report.checked.append(f"part {at}, {what}: {text}")
        refuse(sorted(used) != list(range(len(events))), "an event belongs to no mechanism, or to two")
        wanted = sorted(each for at, part in enumerate(self.parts) for each in _wanted(at, part))
        refuse(sorted(done) != wanted, f"released are {sorted(done)}; the plan needs {wanted}")
        self._curve()

    def _shared(self, margins: Margins, node: Node, events: list[Node]) -> list[tuple[Any, ...]]:
        """A measurement that parts share releases nothing by itself; an estimate is one moment of its part."""
        text, moved, done = margins.released(node, events, self.moved)
        self.shared |= dict.fromkeys(node["events"], moved) if moved else {}
        self.report.checked.append(text)
        return done

    def other_way(self) -> None:
        """Sums over the rows of a table, of which a unit has at most `max_rows`. What is drawn in other ways is as stated."""
        events, used = list(price.leaves(self.node["event"])), list[int]()
        for node in self.node["mechanisms"]:
            used += node["events"]
            step, named = self.node["derivation"][whole(node, "step", 0)], [events[number] for number in node["events"]]
            if node["kind"] == "rounds" and step["rule"] == "rounds":
                rows = whole(self.node["facts"]["tables"][step["inputs"]["table"]], "max_rows", 1)
                self.report.checked.append(f"{node['releases']} of {step['inputs']['table']}: {price.rounds(node, named, rows)}")
                heaviest = whole(step["inputs"], "heaviest", 1)
                self.report.stated.append(
                    f"choices divide their scores by {rows * heaviest}, {rows} rows of one unit, weights to {heaviest}"
                )
                continue
            if node["kind"] not in ("laplace", "gaussian") or step["rule"] not in OF_A_ROW:
                self.report.stated.append(f"{node['releases']}, {node['kind']}: its price follows from its parameters")
                continue
            fact = self.node["facts"]["tables"][step["inputs"]["table"]]
            rows = whole(fact, "max_rows", 1)
            l1, l2_squared = OF_A_ROW[step["rule"]](self._columns(step))
            times = rows * (2 if "change-one" in named[0]["neighbours"] else 1)
            text = price.noise(node, named, times * l1, times**2 * l2_squared)
            self.report.checked.append(f"{node['releases']} of {step['inputs']['table']}, {rows} rows of one unit: {text}")
        refuse(sorted(used) != list(range(len(events))), "an event belongs to no mechanism, or to two")

    def _columns(self, step: Node) -> int:
        """How many columns a classifier learns from: declared ones, each once; 0 for a histogram."""
        if self.node["way"] != "classifier":
            return 0
        named, facts = step["inputs"]["columns"], self.node["facts"]["tables"][step["inputs"]["table"]]["columns"]
        if named != self.node["plan"]["columns"] or len(set(named)) < len(named) or not set(named) <= set(facts):
            raise Wrong("the columns of a classifier are those of its plan, declared, each once")
        return len(named)

    def _released(self, node: Node, at: int, place: int | None) -> list[tuple[Any, ...]]:
        """What a mechanism releases: keys, a moment, or calls over a list."""
        match node["releases"]:
            case "keys":
                return [(at, "keys", 0)]
            case "moment" | "margin":
                refuse((node["releases"] == "margin") != (node["kind"] == "added"), "a margin is added up, and nothing else is")
                return [(at, "moment", place)]
            case "quantile" | "mode":
                name = node["releases"]
                calls = [self.parts[at].node["calls"][call] for call in node["calls"]]
                listed = self.parts[at].group["moments"][place]
                asked = [(call["name"], call["over"]["node"], "list") for call in calls]
                if not calls or any(one != (name, listed["value"], listed["kind"]) for one in asked):
                    raise Wrong(f"a mechanism for a {name} releases another call")
                if (name == "mode") != (node["kind"] == "exponential") or node["kind"] in ("laplace", "gaussian"):
                    raise Wrong("a mode is drawn by the exponential mechanism, and a quantile by one of its own")
                return [(at, "call", call) for call in node["calls"]]
        raise Wrong("a mechanism releases keys, a moment, a quantile, a mode or a margin")

    def _margin(self, node: Node, at: int) -> str:
        """A sum of released numbers: its groups are made of whole groups of another public part over the same rows."""
        source, place = node["from"]
        here, there = self.parts[at].group, self.parts[source].group
        coarse, fine = [key["term"] for key in here["keys"]], [key["term"] for key in there["keys"]]
        moment = here["moments"][node["moment"]]
        rest = [size for key, size in zip(there["keys"], self.parts[source].sizes, strict=True) if key["term"] not in coarse]
        same = here["child"] == there["child"] and there["moments"][place] == moment and all(term in fine for term in coarse)
        if not same or self.parts[source].private or moment["kind"] not in ("rows", "sum", "centred", "squares", "products"):
            raise Wrong("a margin is added up from groups that do not make up its own")
        if node["events"] or whole(node, "count", 1) != math.prod(rest):
            raise Wrong("a margin has no event, and adds up as many numbers as groups of the other part make one of its own")
        return f"added up from {node['count']} released numbers of part {source}"

    def _curve(self) -> None:
        """The delta of a calibrated event, by a bound that is short enough; else it is taken as stated."""
        numbered = {number: node for node in self.node["mechanisms"] for number in node["events"]}
        place = 0
        for event in self.node["event"]["events"] if self.node["event"]["kind"] == "batch" else [self.node["event"]]:
            count = len(list(price.leaves(event)))
            if event["kind"] == "calibrated-gaussian":
                own = [(number, numbered[number]) for number in range(place, place + count)]
                moves = [(self.shared.get(number) or self._moved(node), whole(node, "dimension", 1) == 1) for number, node in own]
                both = [price.brief(rational(event[name])) for name in ("epsilon", "delta")]
                text = f"all Gaussian noise is (epsilon {both[0]}, delta {both[1]})"
                if how := price.calibrated(event, moves):
                    self.report.checked.append(f"{text} {how}")
                else:
                    self.report.stated.append(f"{text} by its curve over all moves of one unit")
            place += count

    def _moved(self, node: Node) -> Sensitivity:
        """How far a unit moves what a mechanism measures: of a series, all measurements."""
        moved = self.moved[node["part"], node["moment"]]
        return replace(moved, entries=whole(node, "dimension", 1)) if node["kind"] == "running" else moved

    def price(self) -> None:
        """The sum over the events is the price, and no more than what was asked for."""
        derived, stated = price.cost(self.node["event"], self.node["relation"]), price.sums(self.node["price"])
        only(self.node["price"], "epsilon rho delta relation")
        refuse(not derived.is_stated_by(stated), f"the events cost {derived}; stated is {stated}")
        asked = self.node["asked"]
        if asked.get("epsilon") is not None and stated.epsilon is not None and stated.epsilon > rational(asked["epsilon"]):
            raise Wrong("the price is above the epsilon that was asked for")
        self.report.checked.append(f"the events cost {stated} (accounting/composition.md)")

    # --- cap and ledger ---

    def cap(self) -> None:
        """The cap admits the price; in the auditor's form, the filter admitted the sums."""
        node = self.node["cap"]
        only(node, "epsilon delta split questions_at_most" + " order" * ("order" in node))
        cap, split = (rational(node["epsilon"]), rational(node["delta"])), rational(node["split"])
        refuse(not (cap[0] > 0 and 0 <= cap[1] < 1 and 0 <= split <= 1), "the cap is not a budget")
        order, stated = price.order_of(node.get("order")), price.sums(self.node["price"])
        alone = price.counted(self.node["event"], self.node["relation"], order)
        refuse(not price.within((cap[0], cap[1]), split, alone.rounded, order), "the cap does not admit the price alone")
        self.report.checked.append(f"within the cap of the data set: epsilon {price.brief(cap[0])}, delta {price.brief(cap[1])}")
        if self.node["form"] == "auditor":
            self._ledger(cap, split, stated, alone)
        else:
            self.report.stated.append(f"the ledger's entry {self.node['entry'][:16]}..., and that the sums before it left room")

    def _ledger(self, cap: tuple[Fraction, Fraction], split: Fraction, stated: Cost, alone: Cost) -> None:
        """The entry is the text that the hash is of, and the sums are those of the filter."""
        ledger = self.node["ledger"]
        only(ledger, "id number text before after")
        refuse(digest(ledger["text"]) != self.node["entry"], "the text of the entry has another hash")
        entry, before, after = read(ledger["text"].encode()), price.sums(ledger["before"]), price.sums(ledger["after"])
        if (entry["ledger"], entry["number"]) != (ledger["id"], ledger["number"]) or price.sums(entry["spent"]) != after:
            raise Wrong("the entry has another place or other sums")
        told = price.sums(entry["price"])
        recalled = entry["kind"] == "recall"
        if told != stated or (entry["event"] != self.node["event"] and not recalled) or entry["kind"] not in ("spend", "recall"):
            raise Wrong("the entry has another event or price")
        if 1 - rational(entry["split"]) != split or (rational(entry["cap"]["epsilon"]), rational(entry["cap"]["delta"])) != cap:
            raise Wrong("the entry has another cap or split")
        order, counts = price.at_order(entry, stated)
        if order != price.order_of(self.node["cap"].get("order")) or counts.rho < alone.rho:
            raise Wrong("the entry counts less than its events, or at another Renyi order")
        if after != (before if recalled else before + counts.rounded):
            raise Wrong("the sums after the entry are not those before it and its price")
        refuse(not recalled and not price.within(cap, split, after, order), "the filter does not admit the sums after the entry")
        self.report.checked.append(f"entry {ledger['number']}: the filter admits its sums, {after} (accounting/filter.md)")

    # --- released values and intervals ---

    def released(self) -> None:
        """The hash is that of the text."""
        node = self.node["released"]
        only(node, "text sha256 names")
        if node["text"] is None:
            where = "the released values stand elsewhere; compare the hash of the file"
            self.report.stated.append(where if node["sha256"] else "no hash of values")
        elif digest(node["text"]) != node["sha256"]:
            raise Wrong("the released values have another hash")
        else:
            self.report.checked.append(f"released values with the hash {node['sha256'][:16]}...")

    def intervals(self) -> None:
        """Half widths by the law of the noise; no other column has ends, unless they are listed as stated."""
        text, outputs = self.node["released"]["text"], self.parts[0].node["outputs"] if self.parts else []
        answer: Any = {"columns": [None] * len(outputs)} if text is None else read(text.encode(), floats=True)
        counts = {len(each) for each in (outputs, answer["columns"], self.node["intervals"], self.node["released"]["names"])}
        if [node["column"] for node in self.node["intervals"]] != [*range(len(outputs))] or len(counts) > 1:
            raise Wrong("the columns of the plan, the answer, its names and the intervals are not the same")
        if text is not None and any(answer[name] != self.node["asked"][name] for name in ("confidence", "simultaneous")):
            raise Wrong("the answer has another confidence than was asked for")
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
                    if noisy or (text is not None and answer["columns"][column][3:5] != [None, None]):
                        raise Wrong(f"column {column} is released with noise or with ends, and its interval is said to be {rule}")
                case rule:
                    raise Wrong(f"an unknown rule of intervals: {str(rule)[:40]}")

    def _width(self, node: Node) -> Fraction:
        """The half width of one sum with noise of its own: the noise exceeds it with a chance of at most `missed`."""
        mechanism, weight = self.node["mechanisms"][whole(node, "mechanism", 0)], rational(node["weight"])
        at, together, missed = mechanism["part"], whole(node, "together", 1), rational(node["missed"])
        confidence = rational(self.node["asked"]["confidence"])
        if missed != (1 - confidence) / together or together < self._least_together(at):
            raise Wrong("the chance of a miss is not the one that the confidence leaves to each number")
        part = self.parts[at].node
        output = part["outputs"][whole(node, "column", 0)]["value"]
        call = part["calls"][output["index"]] if output["is"] == "Result" else {"name": None}
        made = [] if at or call["name"] not in ONE_SUM else _moments_of(self.parts[at], call)
        term = call.get("over")
        numeric = call["name"] == "sum" and term is not None and term["type"]["is"] == "NumberType"
        step = rational(term["type"]["step"]) if numeric and term is not None else Fraction(1)
        if (
            mechanism.get("moment") not in made
            or mechanism["releases"] != "moment"
            or abs(weight) != step
            or mechanism["kind"] not in ("laplace", "gaussian")
        ):
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


def _multiplied(inputs: Node) -> int:
    return max(1, math.prod(whole(one, "factor", 1) for one in inputs["order"]) * whole(inputs, "fan_out", 1))


ONE = 2**10  # a feature of a row is from -ONE to ONE, and a row has one constant and one feature of each column that is not 0
OF_A_ROW: Mapping[str, Callable[[int], tuple[int, int]]] = {  # how far one row moves a vector: in l1, and squared in l2
    "marginal": lambda columns: (1, 1),
    "second-moments": lambda columns: (
        ONE**2 * (columns + 1) * (columns + 2) // 2,
        ONE**4 * (columns + 1) * (columns + 2) // 2,
    ),
    "gradient": lambda columns: (ONE**2 * (columns + 1), ONE**4 * (columns + 1)),
}
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


def _decimal(text: Any) -> Fraction:
    refuse(not isinstance(text, str) or not DECIMAL.fullmatch(text), "a released number is not a decimal of at most 100 digits")
    return Fraction(text)


def _is_noisy(node: Any) -> bool:
    """Whether a released number stands anywhere in it."""
    if isinstance(node, dict):
        return node.get("is") in ("Result", "Beside") or any(map(_is_noisy, node.values()))
    return isinstance(node, list) and any(map(_is_noisy, node))


def _around(column: list[Any], width: Fraction) -> int:
    """How many rows of a column have their ends at a half width from their value, up to the rounding of doubles."""
    _, _, values, lows, highs, *_ = column
    rows = 0
    for value, low, high in zip(values, lows, highs, strict=True):
        if value is None:
            continue
        exact = [_decimal(each["decimal"]) if isinstance(each, dict) else Fraction(each) for each in (value, low, high)]
        slack = ROUNDING * max(map(abs, exact))
        if abs(exact[0] - width - exact[1]) > slack or abs(exact[0] + width - exact[2]) > slack:
            raise Wrong(f"row {rows} of column {str(column[0])[:40]!r} has ends that are not at ± {price.brief(width)}")
        rows += 1
    return rows
