"""Synthetic rows, tables, maps and classifiers: sums over the rows of a table. What is drawn in other ways is taken as stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from tacit_certificate import numbers, price
from tacit_certificate.document import Node, Report, Wrong, rational, refuse, whole

NOISE = ("laplace", "gaussian")
ONE = 2**10  # a feature of a row is from -ONE to ONE, and a row has one constant and one feature of each column that is not 0
OF_A_ROW: Mapping[str, Callable[[int], tuple[int, ...]]] = {  # how far one row moves a vector: in l1, and squared in l2
    "marginal": lambda columns: (1, 1),
    "second-moments": lambda columns: tuple(each * (columns + 1) * (columns + 2) // 2 for each in (ONE**2, ONE**4)),
    "gradient": lambda columns: (ONE**2 * (columns + 1), ONE**4 * (columns + 1)),
}


def other_way(document: Node, report: Report) -> None:
    """Sums over the rows of a table, of which a unit has at most `max_rows`. What is drawn in other ways is as stated."""
    events, used = list(price.leaves(document["event"])), list[int]()
    for node in document["mechanisms"]:
        used += node["events"]
        step, named = document["derivation"][whole(node, "step", 0)], [events[number] for number in node["events"]]
        if (node["kind"], step["rule"]) != ("rounds", "rounds") and (node["kind"] not in NOISE or step["rule"] not in OF_A_ROW):
            report.stated.append(f"{node['releases']}, {node['kind']}: its price follows from its parameters")
            continue
        table = step["inputs"]["table"]
        rows, change = whole(document["facts"]["tables"][table], "max_rows", 1), "change-one" in named[0]["neighbours"]
        price.recorded(node, named, change and node["kind"] != "rounds")
        if node["kind"] == "rounds":
            text, heaviest = rounds(node, named[0], rows), whole(step["inputs"], "heaviest", 1)
            choices = f"choices divide their scores by {rows * heaviest}, {rows} rows of one unit, weights to {heaviest}"
            report.stated.append(choices)
        else:
            l1, l2_squared = OF_A_ROW[step["rule"]](_columns(document, step))
            times = rows * (2 if change else 1)
            text = f"{rows} rows of one unit: {price.noise(node, named, times * l1, times**2 * l2_squared)}"
        report.checked.append(f"{node['releases']} of {table}, {text}")
    refuse(sorted(used) != list(range(len(events))), "an event belongs to no mechanism, or to two")


def _columns(document: Node, step: Node) -> int:
    """How many columns a classifier learns from: declared ones, each once; 0 for a histogram."""
    if document["way"] != "classifier":
        return 0
    named, facts = step["inputs"]["columns"], document["facts"]["tables"][step["inputs"]["table"]]["columns"]
    if named != document["plan"]["columns"] or len(set(named)) < len(named) or not set(named) <= set(facts):
        raise Wrong("the columns of a classifier are those of its plan, declared, each once")
    return len(named)


def rounds(node: Node, event: Node, rows: int) -> str:
    """Rounds with budgets that follow from what was released: what ran is within the totals (composition.md, section 6)."""
    total, spent = price.alone(event)[0], price.NOTHING
    for each in node["rounds"]:
        noise, choice = each["noise"], price.positive(each, "choice")
        if noise["kind"] not in ("laplace", "gaussian") or rational(noise["sensitivity"]) != rows or rational(noise["scale"]) <= 0:
            raise Wrong(f"one unit moves a marginal by {rows}; the noise of a round is for {str(noise['sensitivity'])[:40]}")
        chosen = price.Cost(choice, min(numbers.pure_rho(choice)[0], choice**2 / 8), Fraction(0))
        spent = spent + chosen + price.alone({**noise, "delta": "0", "neighbours": event["neighbours"]})[0]
    pure = total.epsilon is None or (spent.epsilon is not None and spent.epsilon <= total.epsilon)
    refuse(not pure or spent.rho > total.rho or spent.delta > total.delta, f"the rounds cost {spent}, and the event has {total}")
    return f"{len(node['rounds'])} rounds cost {spent}, within {total}"
