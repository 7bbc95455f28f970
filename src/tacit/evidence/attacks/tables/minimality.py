"""The minimality attack, and the tutorial's example of it.

The minimality attack: which tables would have made this publisher give this output?

A publisher that generalizes as little as its rule allows tells by its choice that everything cheaper failed. The attacker lists the
tables that fit the output, runs the publisher on each, discards those that would have been published otherwise, and reads each
person's value off the remaining tables (Wong, Fu, Wang and Pei 2007). It needs the algorithm and nothing else, so it works on any
publisher that can be run. A refusal is an output too: the attacker conditions on everything that became visible.

All beliefs are exact fractions. `without` is the belief of an attacker who sees the output and does not know the algorithm.

The six-row example of the tutorial: sixteen assignments, nine count classes, one table that fits, and a posterior of 1.

One quasi-identifier with the values q1 and q2, which generalize to Q. The output has two rows (Q, yes), two (Q, no), two (q2, no).
The slides go through the tables by how often q1 occurs: 4, 3, 3, 1, 1, 2.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.attacks.figures import Axes, bars
from tacit.evidence.attacks.tables.bags import Bag, Candidate, Row, bag, fitting_tables, groups_of, possible_tables
from tacit.evidence.attacks.tables.publishers import (
    REFUSED,
    DifferentValues,
    LocalRecoding,
    MostShare,
    Output,
    Publisher,
    Rule,
    blind,
)
from tacit.publish.tables.blind import AtLeast, Blind


@dataclass(frozen=True, slots=True)
class Considered:
    """A table that fits, the number of assignments it stands for, and the publisher's output for it."""

    table: Bag
    weight: Fraction
    chance: Fraction
    cost: int | None

    @property
    def verdict(self) -> str:
        """Why the table is kept or discarded."""
        if self.chance:
            return "gives this output" if self.chance == 1 else f"gives this output with probability {self.chance}"
        if self.cost == 0:
            return "satisfies the rule as it is"
        return "gives another output" if self.cost is None else f"gives another output, at a cost of {self.cost}"


@dataclass(frozen=True, slots=True)
class Belief:
    """The belief about a person with certain quasi-identifiers: without the algorithm, and with it (None if nothing fits)."""

    quasi: Hashable
    value: Hashable
    without: Fraction | None
    posterior: Fraction | None

    @property
    def is_moved(self) -> bool:
        """Whether knowing the algorithm changed the belief."""
        return self.without != self.posterior

    @property
    def is_raised(self) -> bool:
        """Whether knowing the algorithm raised the belief."""
        return self.posterior is not None and (self.without is None or self.posterior > self.without)


@dataclass(frozen=True, slots=True)
class Minimality:
    """The result of the attack on one output; a breach is a belief in a protected value above `limit`."""

    rule: str
    considered: tuple[Considered, ...]
    beliefs: tuple[Belief, ...]
    limit: Fraction
    protected: frozenset[Hashable] | None

    @property
    def consistent(self) -> tuple[Considered, ...]:
        """The tables that may have led to the output."""
        return tuple(each for each in self.considered if each.chance)

    @property
    def assignments(self) -> Fraction:
        """The weight of all tables that fit; the number of assignments of leaves to rows if these are equally likely."""
        return sum((each.weight for each in self.considered), start=Fraction(0))

    @property
    def breaches(self) -> tuple[Belief, ...]:
        """Beliefs in protected values that the algorithm raised above the limit."""
        return tuple(each for each in self.beliefs if each.is_raised and self._above(each))

    def _above(self, belief: Belief) -> bool:
        named = self.protected is None or belief.value in self.protected
        return named and belief.posterior is not None and belief.posterior > self.limit

    def of(self, quasi: Hashable, value: Hashable) -> Belief:
        """The belief about a person with these quasi-identifiers."""
        return next(each for each in self.beliefs if (each.quasi, each.value) == (quasi, value))

    def summary(self) -> str:
        """The verdict in sentences."""
        many = "table fits" if len(self.considered) == 1 else "tables fit"
        fit = f"{len(self.considered):,} {many} the output ({self.assignments} assignments of rows)"
        if not self.consistent:
            return f"{fit}, and none of them would have led to it: the publisher does not follow this rule ({self.rule})."
        conclusion = f"{fit}; {len(self.consistent):,} would have led to it under the rule: {self.rule}."
        if not self.breaches:
            return f"{conclusion}\nNo belief in a protected value rises above {self.limit} because the algorithm is known."
        worst = max(self.breaches, key=lambda each: each.posterior or 0)
        return (
            f"{conclusion}\nBreach: P({label_text(worst.value)} | {label_text(worst.quasi)}) is {worst.posterior} for an attacker "
            f"who knows the algorithm, and {worst.without} for one who does not."
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values; probabilities are exact fractions, as text."""
        return {
            "rule": self.rule,
            "assignments": str(self.assignments),
            "classes": [
                {"table": _counts(each.table), "weight": str(each.weight), "chance": str(each.chance), "cost": each.cost}
                for each in self.considered
            ],
            "consistent": len(self.consistent),
            "beliefs": [
                {
                    "quasi": label_text(each.quasi),
                    "value": label_text(each.value),
                    "without": _text(each.without),
                    "posterior": _text(each.posterior),
                }
                for each in self.beliefs
            ],
            "limit": str(self.limit),
            "breached": bool(self.breaches),
        }

    def chart(self, path: str | Path | None = None) -> Any:
        """The beliefs in protected values, without and with the algorithm."""
        rows = [
            {"x": f"{label_text(each.value)} given {label_text(each.quasi)}", "y": belief, "series": series}
            for each in self.beliefs
            if self.protected is None or each.value in self.protected
            for series, belief in (("output alone", each.without), ("output and algorithm", each.posterior))
            if belief is not None
        ]
        return bars(rows, Axes("", "belief", share=True), "What the publisher's choice adds", path, rule=float(self.limit))


def minimality(publisher: Publisher, output: Output, candidates: Iterable[Candidate], settings: Settings) -> Minimality:
    """Run the publisher on every candidate and condition on the output.

    >>> from tacit.evidence.attacks.tables.minimality import attack_tutorial
    >>> attack_tutorial().of("q1", "yes").posterior
    Fraction(1, 1)
    """
    considered = []
    for each in candidates:
        choice = publisher.choice(each.table)
        considered.append(Considered(each.table, each.weight, choice.chances.get(output, Fraction(0)), choice.cost))
    if not considered:
        raise InvalidInput("no table fits the output; check the labels, and what is known of the quasi-identifiers")
    return Minimality(settings.rule, tuple(considered), _beliefs(considered), settings.limit, settings.protected)


@dataclass(frozen=True, slots=True)
class Settings:
    """The definition of a breach: a belief above `limit` in a protected value, all values if none is named; the rule in words."""

    rule: str
    limit: Fraction
    protected: frozenset[Hashable] | None = None


@dataclass(frozen=True, slots=True)
class Attacker:
    """The attacker's knowledge: the leaves below each label; how often each leaf occurs; a prior over values, for refusals."""

    leaves: Mapping[Any, Sequence[Any]] = field(default_factory=dict)
    known: Mapping[Any, int] | None = None
    prior: Mapping[Any, Fraction] | None = None

    def candidates(self, output: Output) -> Iterable[Candidate]:
        """The tables to consider before the algorithm is."""
        if self.prior is not None and self.known is not None:
            return possible_tables(self.known, self.prior)
        if not isinstance(output, frozenset):
            raise InvalidInput("a refusal shows no rows: give the known quasi-identifiers and a prior over values")
        return fitting_tables(output, self.leaves, self.known)


def against(
    publisher: Publisher,
    published: Sequence[Row] | None,
    attacker: Attacker,
    limit: Fraction = Fraction(1, 2),
    protected: Any = None,
) -> Minimality:
    """The attack on published rows, or on a refusal (None). `protected` names the values to protect; all by default.

    >>> from tacit.evidence.attacks.tables.publishers import LocalRecoding
    >>> from tacit.evidence.attacks.tables.publishers import MostShare
    >>> minimal = LocalRecoding(MostShare(Fraction(1, 2), frozenset({"yes"})), {"q1": "Q", "q2": "Q"})
    >>> rows = [("Q", "yes"), ("Q", "yes"), ("Q", "no"), ("Q", "no"), ("q2", "no"), ("q2", "no")]
    >>> against(minimal, rows, Attacker({"Q": ["q1", "q2"]}), protected={"yes"}).of("q1", "yes").posterior
    Fraction(1, 1)
    """
    output: Output = REFUSED if published is None else bag(published)
    rule = str(getattr(publisher, "rule", "that of the publisher"))
    settings = Settings(rule, limit, None if protected is None else frozenset(protected))
    return minimality(publisher, output, attacker.candidates(output), settings)


def _beliefs(considered: Sequence[Considered]) -> tuple[Belief, ...]:
    quasis = sorted({quasi for each in considered for (quasi, _), _ in each.table}, key=repr)
    values = sorted({value for each in considered for (_, value), _ in each.table}, key=repr)
    shares = {id(each): groups_of(each.table) for each in considered}
    return tuple(
        Belief(
            quasi,
            value,
            _mean([(each.weight, shares[id(each)].get(quasi)) for each in considered], value),
            _mean([(each.weight * each.chance, shares[id(each)].get(quasi)) for each in considered], value),
        )
        for quasi in quasis
        for value in values
    )


def _mean(weighted: Iterable[tuple[Fraction, dict[Hashable, int] | None]], value: Hashable) -> Fraction | None:
    """The mean share of a value among people with the same quasi-identifiers, over the tables that have such people."""
    total = part = Fraction(0)
    for weight, counts in weighted:
        if counts:
            total += weight
            part += weight * Fraction(counts.get(value, 0), sum(counts.values()))
    return part / total if total else None


def label_text(label: Hashable) -> str:
    """A label or a combination of labels in words."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _counts(table: Bag) -> list[dict[str, Any]]:
    return [
        {"quasi": label_text(quasi), "value": label_text(value), "rows": times} for (quasi, value), times in sorted(table, key=repr)
    ]


def _text(belief: Fraction | None) -> str | None:
    return None if belief is None else str(belief)


# --- the six-row example of the tutorial -------------------------------------------------------------------------------------


ROWS: list[Row] = [("q1", "yes"), ("q1", "yes"), ("q2", "no"), ("q2", "no"), ("q2", "no"), ("q2", "no")]
OUTPUT = bag([("Q", "yes"), ("Q", "yes"), ("Q", "no"), ("Q", "no"), ("q2", "no"), ("q2", "no")])
PARENTS = {"q1": "Q", "q2": "Q"}
LEAVES = {"Q": ("q1", "q2")}
HALF = Fraction(1, 2)
YES: frozenset[Any] = frozenset({"yes"})
SHARE = MostShare(HALF, YES)
STATED = DifferentValues(2)
EVERYTHING = MostShare(HALF)
ORDER = (4, 3, 1, 2, 0)  # occurrences of q1, as the slides take them; a table without q1 is not on them
BLIND = Blind(AtLeast(3, PARENTS))


@dataclass(frozen=True, slots=True)
class Tutorial:
    """The example under the rule that it uses, under the rule that it states, with every value protected; and the defense."""

    used: Minimality
    stated: Minimality
    everything: Minimality
    defended: Minimality

    def classes(self) -> list[Considered]:
        """The nine classes in the order of the slides."""
        return sorted(
            self.used.considered, key=lambda each: (ORDER.index(_size(each.table, "q1")), -_size(each.table, "q1", "yes"))
        )

    def summary(self) -> str:
        """The attack, the other readings and the defense, in sentences."""
        shown = self.defended.of("q1", "yes")
        return (
            f"{self.used.summary()}\n"
            f"The rule as the slide states it ({self.stated.rule}): the group q2 of the slide's own output has one value, so "
            f"the rule rejects that output, and {len(self.stated.consistent)} tables lead to it.\n"
            f"With no protected too ({self.everything.rule}), {len(self.everything.consistent)} tables lead to it. The example "
            "works because learning no is considered fine.\n"
            f"Defense: a publisher that looks at the quasi-identifiers alone (groups of at least 3). P(yes | q1) is "
            f"{shown.posterior} with the algorithm and {shown.without} without it."
        )

    def to_dict(self) -> dict[str, Any]:
        """The classes in the order of the slides, and the other readings."""
        ordered = Minimality(self.used.rule, tuple(self.classes()), self.used.beliefs, self.used.limit, self.used.protected)
        others = {"stated": self.stated, "everything_protected": self.everything, "defended": self.defended}
        posterior = self.used.of("q1", "yes").posterior
        return ordered.to_dict() | {"posterior": str(posterior)} | {name: each.to_dict() for name, each in others.items()}

    def chart(self, path: str | Path | None = None) -> Any:
        """The beliefs in yes."""
        return self.used.chart(path)


def tutorial() -> Tutorial:
    """The example in all readings.

    >>> found = tutorial()
    >>> len(found.used.considered), len(found.used.consistent), len(found.stated.consistent)
    (9, 1, 0)
    """
    return Tutorial(attack_tutorial(), attack_tutorial(STATED, None), attack_tutorial(EVERYTHING, None), attack_blind())


def attack_tutorial(rule: Rule = SHARE, protected: frozenset[Any] | None = YES) -> Minimality:
    """The attack on the output of the slides, by a publisher that lifts as few rows as the rule needs."""
    return minimality(LocalRecoding(rule, PARENTS), OUTPUT, fitting_tables(OUTPUT, LEAVES), Settings(str(rule), HALF, protected))


def attack_blind() -> Minimality:
    """The attack on the blind publisher's output for the same rows."""
    output = bag(BLIND.publish(ROWS) or [])
    return minimality(blind(BLIND), output, fitting_tables(output, LEAVES), Settings("groups of at least 3 rows", HALF, YES))


def _size(table: Bag, quasi: str, value: str | None = None) -> int:
    counts = groups_of(table).get(quasi, {})
    return sum(counts.values()) if value is None else counts.get(value, 0)
