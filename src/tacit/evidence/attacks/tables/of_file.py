"""Attacks on a published file and on tacit's own publisher: minimality and linkage.

Attacks on a published file, given its receipt, the hierarchies and the rule of its publisher: minimality and linkage.

`tacit anonymize table` under attack: the minimality attack on tacit's own publisher.

It searches for the best generalization that satisfies the models. With a model of the sensitive column that choice depends on the
values, and the attack applies; with k-anonymity alone it does not, and the attack learns nothing from it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import Candidate, Row, fitting_tables, rows_of, tables_that_fit
from tacit.evidence.attacks.tables.labels import Columns, Families, Receipt, Register, read_bag, read_people, receipt_of
from tacit.evidence.attacks.tables.linkage import Linkage, link
from tacit.evidence.attacks.tables.minimality import Minimality, Settings, minimality
from tacit.evidence.attacks.tables.publishers import (
    BlackBox,
    Both,
    DifferentValues,
    FullDomain,
    GroupSize,
    LocalRecoding,
    MostShare,
    Publisher,
    Rule,
    blind,
)
from tacit.publish.tables.anonymized import anonymize
from tacit.publish.tables.blind import AtLeast, Blind
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.requirements import Requirements
from tacit.publish.tables.table import Table


@dataclass(frozen=True, slots=True)
class OwnPublisher:
    """Publishes rows whose quasi-identifiers are a tuple, one for each column of the requirements."""

    asked: Requirements

    def publish(self, rows: Sequence[Row]) -> list[Row] | None:
        """The published rows; None where no generalization satisfies the models, which is a refusal."""
        quasi = [_parts(row[0]) for row in rows]
        columns = {name: [parts[place] for parts in quasi] for place, name in enumerate(self.asked.quasi)}
        (sensitive,) = self.asked.sensitive
        table = Table.of({**columns, sensitive: [str(row[1]) for row in rows]})
        try:
            published = anonymize(table, replace(self.asked, suppressed="star")).table
        except InvalidInput:
            return None
        labels = zip(*(published[name].texts().tolist() for name in self.asked.quasi), strict=True)
        return [(tuple(label), value) for label, value in zip(labels, published[sensitive].texts().tolist(), strict=True)]


def own_publisher(asked: Requirements) -> BlackBox:
    """The attackable form. Hierarchies must come from files: those made from values would depend on the data."""
    if len(asked.sensitive) != 1 or asked.made:
        raise InvalidInput("the attack needs one sensitive column, and hierarchies from files")
    return BlackBox(OwnPublisher(asked).publish)


def _parts(quasi: object) -> tuple[str, ...]:
    return tuple(map(str, quasi)) if isinstance(quasi, tuple) else (str(quasi),)


# --- attacks on a published file ---------------------------------------------------------------------------------------------


USUAL = "share:1/2"
Track = Callable[[Iterable[Candidate], int], Iterable[Candidate]]


RULES: dict[str, Callable[[str, frozenset[Hashable] | None], Rule]] = {
    "share": lambda number, protected: MostShare(Fraction(number), protected),
    "different": lambda number, _: DifferentValues(int(number)),
}


@dataclass(frozen=True, slots=True)
class Suspected:
    """How the file is thought to have been published: the way (local, columns, blind, tacit) and the rule; None by the receipt."""

    way: str | None
    rule: str | None
    smallest: int
    protected: frozenset[Hashable] | None
    limit: Fraction


def attack_file(path: str | Path, columns: Columns, how: Suspected, track: Track) -> Minimality:
    """The tables that fit the file, those that would have led to it, and the beliefs about each value that follow."""
    receipt = receipt_of(path)
    columns = columns.complete(receipt)
    how = replace(how, way=how.way or ("local" if receipt is None and columns.config is None else "tacit"))
    output = read_bag(path, columns.quasi, columns.sensitive, () if receipt is None else receipt.changed)
    families_of = _by_column(columns)
    if how.way == "tacit":
        rule, publisher = _tacit(columns, how, receipt, Table.of({columns.sensitive: [row[1] for row in rows_of(output)]}))
    else:
        rule, publisher = _publisher(how, families_of)
    if how.way in ("columns", "tacit"):
        leaves = FullDomain(GroupSize(1), [each.hierarchy() for each in families_of]).leaves(output)
    else:
        output = frozenset(((_only(label), value), times) for (label, value), times in output)
        leaves = {label: list(families_of[0].below(str(label))) for label in {quasi for (quasi, _), _ in output}}
    fit = track(fitting_tables(output, leaves), tables_that_fit(output, leaves))
    return minimality(publisher, output, fit, Settings(rule, how.limit, how.protected))


def link_file(path: str | Path, register: str | Path, columns: Columns, name: str) -> Linkage:
    """The people of a register against a published file, whose labels are read by its receipt and its hierarchies."""
    receipt = receipt_of(path)
    columns = columns.complete(receipt)
    table = read_bag(path, columns.quasi, columns.sensitive, () if receipt is None else receipt.changed)
    people = read_people(register, columns.quasi, name)
    values = {column: frozenset(person.quasi[place] for person in people) for place, column in enumerate(columns.quasi)}
    keys: set[Any] = {label for (label, _), _ in table}
    labels = {column: {label[place] for label in keys} for place, column in enumerate(columns.quasi)}
    covers = Register(columns, receipt, values).covers(labels)
    return link(table, people, lambda place, label: covers[columns.quasi[place]][label], Path(path).name)


def rule_of(text: str, smallest: int, protected: frozenset[Hashable] | None) -> Rule:
    """A rule as it is written on the command line: `share:1/2` or `different:2`, and a smallest group.

    >>> str(rule_of("share:1/2", 1, frozenset({"yes"})))
    'at most 1/2 of a group has yes'
    """
    kind, _, number = text.partition(":")
    try:
        rule = RULES[kind](number, protected)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise InvalidInput("unknown rule; expected share:FRACTION or different:NUMBER, for example share:1/2") from error
    return Both(GroupSize(smallest), rule) if smallest > 1 else rule


def _tacit(columns: Columns, how: Suspected, receipt: Receipt | None, table: Table) -> tuple[str, Publisher]:
    """The table that `tacit anonymize table` would have published as configured, or else under the rule."""
    declared = columns.configuration
    if declared is not None and (how.rule is not None or how.smallest > 1):
        raise InvalidInput("--config names the models of --publisher tacit; leave out --rule and --smallest")
    asked = replace(declared, keep=()) if declared is not None else _by_rule(columns, how)
    publisher = own_publisher(asked)
    models = _models(asked, table)
    if receipt is not None:
        if (set(receipt.quasi), list(receipt.models), receipt.method) != (set(asked.quasi), models, asked.method):
            said = f"the receipt says {receipt.method} with {', '.join(receipt.models)}"
            raise InvalidInput(f"the file was not published under this rule: {said}; give its configuration with --config")
        if receipt.left_out and asked.suppress:
            raise InvalidInput(
                "suppressed rows were left out, and the attack must see how many; publish them with --suppressed star"
            )
    rule = str(rule_of(how.rule or USUAL, how.smallest, how.protected)) if declared is None else ", ".join(models)
    return rule, publisher


def _by_rule(columns: Columns, how: Suspected) -> Requirements:
    """The requirements of a rule as it is written on the command line."""
    rule_of(how.rule or USUAL, how.smallest, how.protected)
    kind, _, number = (how.rule or USUAL).partition(":")
    if columns.hierarchies is None:
        raise InvalidInput(
            "--publisher tacit needs the hierarchies of the publisher; give --config, or their folder as --hierarchies"
        )
    least = f"frequency:{1 / Fraction(number)}" if kind == "share" else f"distinct:{number}"
    protected = {} if how.protected is None or kind != "share" else {columns.sensitive: tuple(map(str, how.protected))}
    asked = Requirements(tuple(columns.quasi), (columns.sensitive,), k=how.smallest, l=least, hierarchies=columns.hierarchies)
    return replace(asked, protected=protected)


def _models(asked: Requirements, table: Table) -> list[str]:
    """The models in the words of a receipt."""
    trees = {name: Hierarchy.read(path, name) for name, path in asked.files.items() if name in asked.sensitive}
    return [str(condition) for condition in asked.models(trees).conditions(table, list(asked.sensitive))]


def _publisher(how: Suspected, families_of: Sequence[Families]) -> tuple[str, Publisher]:
    rule = rule_of(how.rule or USUAL, how.smallest, how.protected)
    if how.way == "columns":
        return str(rule), FullDomain(rule, [each.hierarchy() for each in families_of])
    if len(families_of) > 1:
        raise InvalidInput("several quasi-identifiers can be attacked with --publisher columns only")
    parents = families_of[0].parents
    if how.way == "blind":
        return str(GroupSize(how.smallest)), blind(Blind(AtLeast(how.smallest, parents)))
    if set(parents) & set(parents.values()):
        raise InvalidInput("--publisher local lifts rows by one level; give families of one level, or use --publisher columns")
    return str(rule), LocalRecoding(rule, parents)


def _by_column(columns: Columns) -> list[Families]:
    """The families of each quasi-identifier."""
    made = () if columns.configuration is None else columns.configuration.made
    families_of = columns.from_files()
    if named := [name for name in columns.quasi if name not in families_of and name in made]:
        raise InvalidInput(
            f"the hierarchy of {named[0]} is made from values that the attacker lacks; give it as a file or as families"
        )
    if len(families_of) < len(columns.quasi) or any(name not in families_of for name in columns.quasi):
        raise InvalidInput(
            "every quasi-identifier needs its families; write them as COLUMN:PARENT=CHILD,CHILD, or name a folder of hierarchies"
        )
    return [families_of[name] for name in columns.quasi]


def _only(label: Any) -> Hashable:
    """The label of the one quasi-identifier."""
    (alone,) = label
    return str(alone)
