"""The minimality attack on somebody's published file, given the rule and the families that its publisher uses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import Candidate, fitting, tables_that_fit
from tacit.evidence.attacks.tables.minimality import Minimality, Settings, minimality
from tacit.evidence.attacks.tables.own_publisher import own_publisher
from tacit.evidence.attacks.tables.published import Families, families, read_bag
from tacit.evidence.attacks.tables.publishers import FullDomain, LocalRecoding, Publisher, blind
from tacit.evidence.attacks.tables.rules import Both, DifferentValues, GroupSize, MostShare, Rule
from tacit.publish.tables.blind import AtLeast, Blind
from tacit.publish.tables.hierarchy import Hierarchy
from tacit.publish.tables.requirements import Requirements

Track = Callable[[Iterable[Candidate], int], Iterable[Candidate]]


RULES: dict[str, Callable[[str, frozenset[Hashable] | None], Rule]] = {
    "share": lambda number, protected: MostShare(Fraction(number), protected),
    "different": lambda number, _: DifferentValues(int(number)),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The quasi-identifiers and the sensitive column of a file; the families of labels as texts, or a folder of hierarchies."""

    quasi: Sequence[str]
    sensitive: str
    families: Sequence[str]
    hierarchies: Path | None = None

    def known(self) -> list[Families]:
        """The families of each quasi-identifier; a file of the folder is named after its column."""
        written = families(self.families)
        if self.hierarchies is not None:
            files = {name: self.hierarchies / f"{name}.csv" for name in self.quasi if name not in written}
            written |= {name: Families.of(Hierarchy.read(path)) for name, path in files.items()}
        return _by_column(written, self.quasi)


@dataclass(frozen=True, slots=True)
class Suspected:
    """How the file is thought to have been published: the way (local, columns, blind, tacit) and the rule."""

    way: str
    rule: str
    smallest: int
    protected: frozenset[Hashable] | None
    limit: Fraction


def attack_file(path: str | Path, columns: Columns, how: Suspected, track: Track) -> Minimality:
    """The tables that fit the file, those that would have led to it, and what that says of each value."""
    if not columns.quasi:
        raise InvalidInput("no quasi-identifier is named; name the columns with --quasi")
    output = read_bag(path, columns.quasi, columns.sensitive)
    known = columns.known()
    if how.way == "tacit":
        output = frozenset(((label if isinstance(label, tuple) else (label,), value), times) for (label, value), times in output)
    rule, publisher = _tacit(columns, how) if how.way == "tacit" else _publisher(how, known)
    if how.way in ("columns", "tacit"):
        leaves = FullDomain(GroupSize(1), [each.hierarchy() for each in known]).leaves(output)
    else:
        leaves = {label: list(known[0].below(str(label))) for label in {quasi for (quasi, _), _ in output}}
    fit = track(fitting(output, leaves), tables_that_fit(output, leaves))
    return minimality(publisher, output, fit, Settings(rule, how.limit, how.protected))


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


def _tacit(columns: Columns, how: Suspected) -> tuple[str, Publisher]:
    """What `tacit anonymize table` would have published under the rule."""
    kind, _, number = how.rule.partition(":")
    rule = rule_of(how.rule, how.smallest, how.protected)
    if columns.hierarchies is None:
        raise InvalidInput("--publisher tacit needs the hierarchies of the publisher; name their folder with --hierarchies")
    least = f"frequency:{1 / Fraction(number)}" if kind == "share" else f"distinct:{number}"
    protected = {} if how.protected is None or kind != "share" else {columns.sensitive: tuple(map(str, how.protected))}
    asked = Requirements(tuple(columns.quasi), (columns.sensitive,), k=how.smallest, l=least, hierarchies=columns.hierarchies)
    return str(rule), own_publisher(replace(asked, protected=protected))


def _publisher(how: Suspected, known: Sequence[Families]) -> tuple[str, Publisher]:
    rule = rule_of(how.rule, how.smallest, how.protected)
    if how.way == "columns":
        return str(rule), FullDomain(rule, [each.hierarchy() for each in known])
    if len(known) > 1:
        raise InvalidInput("several quasi-identifiers can be attacked with --publisher columns only")
    parents = known[0].parents
    if how.way == "blind":
        return str(GroupSize(how.smallest)), blind(Blind(AtLeast(how.smallest, parents)))
    if set(parents) & set(parents.values()):
        raise InvalidInput("--publisher local lifts rows by one level; give families of one level, or use --publisher columns")
    return str(rule), LocalRecoding(rule, parents)


def _by_column(found: Mapping[str, Families], quasi: Sequence[str]) -> list[Families]:
    """The families of each quasi-identifier."""
    if len(quasi) == 1 and set(found) <= {"", quasi[0]}:
        named = [found[key] for key in ("", quasi[0]) if key in found]
    else:
        named = [found[name] for name in quasi if name in found]
    if len(named) != len(quasi):
        raise InvalidInput(
            "every quasi-identifier needs its families; write them as COLUMN:PARENT=CHILD,CHILD, or name a folder of hierarchies"
        )
    return named
