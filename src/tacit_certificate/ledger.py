"""A whole ledger, from an export: the chain of its entries, the sums of the filter, the caps, the heads, every certificate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tacit_certificate import orders
from tacit_certificate.check import Certificate
from tacit_certificate.document import Keys, Node, Report, digest, only, rational, read, read_canonical, refuse, verify, whole
from tacit_certificate.orders import Cap
from tacit_certificate.periods import InPeriods
from tacit_certificate.price import NOTHING, Cost, cost, sums

KINDS = "begin answer failure units resume note format order late decision budget spend recall adopt"


@dataclass
class Chain:
    """The entries so far, and the sums after the last one: of the data set, and of each analyst."""

    keys: Keys
    report: Report = field(default_factory=Report)
    ledger: str = ""
    texts: list[str] = field(default_factory=list)
    hashes: list[str] = field(default_factory=lambda: ["0" * 64])
    spent: Cost = NOTHING
    analysts: dict[str, Cost] = field(default_factory=dict)
    split: str = ""
    relation: str = ""
    order: Fraction | None = None
    counts: tuple[int, int] = (0, 0)
    owed: set[int] = field(default_factory=set)  # entries by which something was paid for, without their certificate so far
    valid: int = 0
    cap: Node = field(default_factory=dict)
    answers: dict[int, str] = field(default_factory=dict)  # the hash of what each entry released
    ended: bool = False
    in_periods: InPeriods = field(default_factory=InPeriods)

    def line(self, node: Node) -> None:
        """The next line of an export."""
        refuse(self.ended, "a line comes after the head")
        if not self.ledger:
            only(node, "format kind ledger")
            refuse((node["format"], node["kind"]) != (1, "export"), "the first line is not that of an export of format 1")
            self.ledger = node["ledger"]
        elif node.keys() == {"entry"}:
            self._entry(node["entry"], read_canonical(f"{node['entry']}\n".encode()))
        elif node.keys() == {"certificate"}:
            self._certificate(node["certificate"])
        elif node.keys() == {"missing", "why"}:
            self.owed.remove(node["missing"])
            self.report.stated.append(f"entry {node['missing']} has no certificate: {str(node['why'])[:100]}")
            text = f"what entry {node['missing']} costs a person in all of its periods"
            self.report.stated += [text] if node["missing"] in self.in_periods.before else []
        else:
            only(node, "head")
            self.head(node["head"])
            self.ended = whole(node["head"], "number", 0) == len(self.texts) - 1
            refuse(not self.ended, "the head is not that of the last entry")

    # --- entries ---

    def _entry(self, text: str, entry: Node) -> None:
        number, kind, price = len(self.texts), entry["kind"], sums(entry["price"])
        follows = (entry["ledger"], entry["number"], entry["previous"]) == (self.ledger, number, self.hashes[number])
        refuse(not follows, f"entry {number} does not follow the one before it")
        refuse(kind not in KINDS.split() or (kind == "begin") != (number == 0), f"entry {number} is misplaced: {str(kind)[:20]}")
        self.texts.append(text)
        self.hashes.append(digest(text))
        split, relation = entry.get("split", "1/2"), entry["price"]["neighbours"]
        other = split != self.split or (relation != self.relation and kind != "units")
        refuse(number and other, f"entry {number} has another split of delta, or other neighbours, than those before it")
        self.split, self.relation = split, relation
        self._sums(number, entry, kind, price)
        counts = self.counts[0] + (kind == "spend"), 0 if kind == "resume" else self.counts[1] + (kind == "failure")
        told = entry.get("questions", counts[0]), entry.get("failures", counts[1])
        right = told == counts or (kind == "adopt" and told >= counts)
        refuse(not right, f"the counts of questions and failures after entry {number} are wrong")
        self.counts = told
        self.answers |= {entry["about"]: entry["answer"]} if kind == "answer" else {}

    def _sums(self, number: int, entry: Node, kind: str, price: Cost) -> None:
        """The price is at least what the event costs, the sums are those before and the price, and the cap holds."""
        spent, own = sums(entry["spent"]), None if entry["analyst_spent"] is None else sums(entry["analyst_spent"])
        order, counts = orders.charged(entry, self.relation)
        if order != self.order:
            fresh = self.order is None and (kind == "order" or (self.spent, self.counts[0]) == (NOTHING, 0))
            refuse(not fresh, f"entry {number} counts at another Renyi order than those before it")
            self.order = order
        if kind == "order" and order is not None:
            self.spent = orders.restated(entry, order, self.spent, self.texts[:-1])
        if kind == "units":
            refuse("regrouped" in (entry.get("more") or {}), f"entry {number} restates periods, which this checker cannot derive")
            steps = int(rational(entry["details"]["steps"]))
            rho = self.spent.rho * (steps**2 if order is None else steps)
            least = Cost(self.spent.epsilon and self.spent.epsilon * steps, rho, self.spent.delta)
            refuse(steps < 1 or not spent.covers(least), f"entry {number} restates the sums for other units, and they are less")
            self.report.stated.append(f"entry {number} restates all sums for other units: {steps} steps")
            self.spent, self.analysts = spent, {}
            return
        within = (entry.get("more") or {}).get("periods")
        if kind in ("spend", "recall"):
            least = NOTHING if entry["event"] is None else cost(entry["event"], self.relation)
            each, per = (price, "") if within is None else (sums(within["price"]), within["per"])
            refuse(not each.covers(least), f"entry {number} was priced below what its events cost: {least}")
            refuse(self.counts[0] and per != self.in_periods.per, f"entry {number} has other periods than those before it")
            self.report.stated += [] if entry["event"] else [f"entry {number} has no event; its price is {price}"]
            self.owed.add(number)
        elif kind == "adopt":
            self.report.stated.append(f"entry {number} takes over the sums of another ledger: {price}")
        else:
            refuse(price != NOTHING, f"entry {number} is not paid for, and has a price")
        right = spent == (self.spent if kind == "recall" else self.spent + counts.rounded)
        refuse(not right, f"the sums after entry {number} are not those before it and its price")
        self.spent, conversion, cap = spent, 1 - rational(self.split), entry["cap"]
        if cap != self.cap:
            self.report.checked.append(f"the cap from entry {number} on: epsilon {cap['epsilon']}, delta {cap['delta']}")
            self.cap = cap
        if within is not None:
            refuse(kind not in ("spend", "recall"), f"entry {number} is charged to periods, and is not paid for")
            self.in_periods.charge(entry, within, self.relation, conversion)
        held = cap if within is None else within["lifetime"]
        beyond = kind == "spend" and held is not None and not Cap.of(held, conversion, order).admits(spent)
        refuse(beyond, f"entry {number} was admitted beyond the cap{'' if within is None else ' of a lifetime'}")
        if own is not None:
            before = self.analysts.get(entry["analyst"])
            right = own.covers(price) if before is None else own == before + price.rounded
            refuse(not right, f"the sums of the analyst after entry {number} are not those before it and its price")
            self.analysts[entry["analyst"]] = own

    # --- certificates and heads ---

    def _certificate(self, node: Node) -> None:
        found = Certificate(node).check(self.keys)
        refuse(found.wrong, f"a certificate is not valid: {'; '.join(found.wrong)}")
        ledger, number = node["ledger"], whole(node["ledger"], "number", 0)
        before = NOTHING if not number else sums(read(self.texts[number - 1].encode())["spent"])
        same = (ledger["text"], ledger["id"], sums(ledger["before"])) == (self.texts[number], self.ledger, before)
        same &= ledger.get("periods") == self.in_periods.before.get(number)
        refuse(not same, f"the certificate of entry {number} has another entry, or other sums before it, than the chain")
        if node["released"]["sha256"] != self.answers.get(number):
            why = f"the released values of entry {number} are not those whose hash the chain has"
            refuse(whole(read(self.texts[number].encode()), "format") > 2, why)
            self.report.stated.append(f"{why}: answers of that version were kept with names")
        self.owed.remove(number)
        self.valid += 1
        self.report.stated += [f"entry {number}: {text}" for text in found.stated]

    def head(self, node: Node) -> None:
        """A signed head is one of the entries: nothing before it was cut, changed or exchanged."""
        only(node, "about format kind ledger number hash signature")
        refuse((node["format"], node["kind"]) != (1, "head"), "this is not a head of format 1")
        verify(self.keys, node, "head")
        number = whole(node, "number", 0)
        refuse(node["ledger"] != self.ledger, "the head is of another ledger")
        last = len(self.texts) - 1
        refuse(number > last, f"the ledger ends at entry {last}, and the head is of entry {number}: its end is missing")
        written = digest(self.texts[number]) != node["hash"]
        refuse(written, f"entry {number} has another hash than in the head: the ledger was written anew")
        self.report.checked.append(f"it extends the head of entry {number}")

    def end(self) -> None:
        """Nothing is missing."""
        refuse(not self.ended, "the export has no head at its end")
        refuse(self.owed, f"entries without a certificate: {sorted(self.owed)[:5]}")


def check(lines: Iterable[bytes], heads: Iterable[bytes], keys: Keys) -> Report:
    """The report on an export and on heads that somebody kept."""
    chain = Chain(keys)
    report = chain.report
    for number, line in enumerate(lines, 1):
        if not report.section(f"ledger: line {number}", lambda line=line: chain.line(read_canonical(line))):  # type: ignore[misc]
            return report
    report.section("ledger", chain.end)
    for head in heads:
        report.section("head", lambda head=head: chain.head(read_canonical(head)))  # type: ignore[misc]
    report.checked += [] if report.wrong else [
        f"{len(chain.texts)} entries, each linked to the one before; {chain.valid} valid certificates",
        f"every price is at least what its events cost; together: {chain.spent}",
        *chain.in_periods.totals(),
        f"every sum is that of the prices, and within its cap; the last cap is epsilon {chain.cap['epsilon']}",
    ]  # fmt: skip
    return report
