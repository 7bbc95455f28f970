"""A published file: its rows, and the values that its labels stand for.

The meaning of the labels of a published file: its receipt, and the hierarchies that its publisher generalized by.

A file of `tacit anonymize table` has a receipt, which names the quasi-identifiers, the method and the columns that have a
hierarchy. Hierarchies come from a configuration, a folder or families. A label that none of them explains is refused: an attack
that reads a label as a value finds no person, and would call the file safe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from tacit.data.files.columns import read_columns
from tacit.data.files.kinds import kind_of
from tacit.errors import InvalidInput
from tacit.evidence.attacks.tables.bags import Bag, bag
from tacit.evidence.attacks.tables.linkage import Person
from tacit.publish.tables.blind import above
from tacit.publish.tables.configuration import read_configuration
from tacit.publish.tables.hierarchy import TOP, Hierarchy, read_hierarchies
from tacit.publish.tables.requirements import Requirements, made_from
from tacit.publish.tables.table import MISSING
from tacit.release.outputs import receipt_beside
from tacit.untrusted import from_csv

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Families:
    """The parents of the labels of one column: from a label to the next more general one."""

    parents: Mapping[str, str]
    levels: Mapping[str, Sequence[str]] | None = None

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Families:
        """The families of a hierarchy that was read from a file."""
        rows = [
            [forms[code] for forms, code in zip(hierarchy.forms, leaf, strict=True)] for leaf in zip(*hierarchy.levels, strict=True)
        ]
        parents = {low: high for row in rows for low, high in pairwise(row) if low != high}
        return cls(parents, {row[0]: row for row in rows})

    @cached_property
    def leaves(self) -> list[str]:
        """The labels that stand above nothing; all values of a hierarchy that was read from a file."""
        if self.levels is not None:
            return list(self.levels)
        parents = set(self.parents.values())
        return [label for label in self.parents if label not in parents]

    @cached_property
    def forms(self) -> dict[str, list[str]]:
        """For each label, the leaves that it may stand for."""
        leaves_of: dict[str, list[str]] = {}
        for leaf in self.leaves:
            for label in dict.fromkeys([leaf, *map(str, above(leaf, self.parents))] if self.levels is None else self.levels[leaf]):
                leaves_of.setdefault(label, []).append(leaf)
        return leaves_of

    def below(self, label: str) -> list[str]:
        """The leaves that a published label may stand for; itself if it stands above nothing.

        >>> Families({"q1": "Q", "q2": "Q"}).below("Q")
        ['q1', 'q2']
        """
        return self.forms.get(label, [label])

    def hierarchy(self) -> dict[str, list[str]]:
        """Per leaf, its labels from itself to the most general one; all leaves must have as many."""
        if self.levels is not None:
            return {leaf: list(labels) for leaf, labels in self.levels.items()}
        labels_of = {leaf: [leaf, *map(str, above(leaf, self.parents))] for leaf in self.leaves}
        if len({len(labels) for labels in labels_of.values()}) > 1:
            raise InvalidInput("the values of a column must have equally many levels above them; complete the families")
        return labels_of


def families(texts: Sequence[str]) -> dict[str, Families]:
    """Families by column, each written `COLUMN:PARENT=CHILD,CHILD`; the column may be left out if there is one only (it is "").

    >>> families(["Q=q1,q2"])[""].below("Q")
    ['q1', 'q2']
    """
    parents_of: dict[str, dict[str, str]] = {}
    for text in texts:
        named, equals, children = text.partition("=")
        column, colon, parent = named.rpartition(":")
        if not equals or not parent or not all(children.split(",")):
            raise InvalidInput("a family is written PARENT=CHILD,CHILD or COLUMN:PARENT=CHILD,CHILD")
        for child in children.split(","):
            if parents_of.setdefault(column if colon else "", {}).setdefault(child, parent) != parent:
                raise InvalidInput("a label has two parents; put it into one family")
    return {column: Families(parents) for column, parents in parents_of.items()}


def read_bag(path: str | Path, quasi: Sequence[str], sensitive: str, changed: Collection[str] = ()) -> Bag:
    """The rows of a published file, with a tuple of quasi-identifiers; in `changed` columns CSV has apostrophes to take off."""
    columns = _texts(path, [*quasi, sensitive])
    columns = [
        list(map(from_csv, each)) if name in changed else each for name, each in zip([*quasi, sensitive], columns, strict=True)
    ]
    if not columns[0]:
        raise InvalidInput("the file has no rows; there is nothing to attack")
    if len(columns[0]) > MOST_ROWS:
        raise InvalidInput(f"the file has more than {MOST_ROWS:,} rows; attack one group, or a smaller table")
    return bag(zip(zip(*columns[:-1], strict=True), columns[-1], strict=True))


def read_people(path: str | Path, quasi: Sequence[str], name: str) -> list[Person]:
    """The people of a register, with their quasi-identifiers."""
    return [Person(row[0], tuple(row[1:])) for row in zip(*_texts(path, [name, *quasi]), strict=True)]


def _texts(path: str | Path, names: Sequence[str]) -> list[list[str]]:
    """The named columns as an anonymizer reads them: trimmed, and an empty text where a value is missing."""
    return [[(value or MISSING).strip() for value in column.to_pylist()] for column in read_columns(path, names)]


# --- the meaning of the labels of a published file ---------------------------------------------------------------------------


KIND = "anonymized table"
LARGEST = 1 << 20  # bytes of a receipt
LONGEST_SHOWN = 60  # characters of a label in a message
GIVE = "give the publisher's hierarchies with --config, --hierarchies or --family"
Values = frozenset[str]


@dataclass(frozen=True, slots=True)
class Receipt:
    """How a file was published; `changed` are the columns in which CSV has an apostrophe before some texts."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    models: tuple[str, ...]
    method: str
    hierarchies: tuple[str, ...]
    left_out: bool
    changed: frozenset[str]


def receipt_of(path: str | Path) -> Receipt | None:
    """The receipt beside a file, or in a Parquet file's metadata; None if it has none. Another kind of release is refused."""
    file = Path(path)
    if (text := _receipt_text(file)) is None:
        return None
    try:
        told = json.loads(text)
        kind = told["kind"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise _unreadable(file) from None
    if kind != KIND:
        raise InvalidInput(f"the receipt of {file.name} does not say {KIND!r}: its rows are not people; attack another file")
    try:
        return Receipt(
            _names(told["quasi"]),
            _names(told["sensitive"]),
            _names(told["models"]),
            str(told["method"]),
            _names(told.get("hierarchies", told["quasi"])),  # a receipt of an earlier version does not say
            told["suppressed_rows"] == "left out",
            frozenset(_names(told.get("csv", {}).get("changed", []))),
        )
    except (KeyError, TypeError, AttributeError):
        raise _unreadable(file) from None


def _unreadable(file: Path) -> InvalidInput:
    return InvalidInput(f"the receipt of {file.name} cannot be read; restore it, or remove it to attack the rows alone")


def _receipt_text(file: Path) -> bytes | None:
    beside = receipt_beside(file)
    if beside.is_file():
        with beside.open("rb") as opened:
            return opened.read(LARGEST)
    if not file.is_file() or kind_of(file) != "parquet":
        return None
    from pyarrow import ArrowException, parquet

    try:
        kept: bytes | None = (parquet.read_metadata(file).metadata or {}).get(b"tacit.receipt")
        return kept
    except (ArrowException, OSError):
        return None  # the reader of the rows reports the problem of the file


def _names(listed: Any) -> tuple[str, ...]:
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise TypeError
    return tuple(listed)


@dataclass(frozen=True)
class Columns:
    """The columns of a published file, and how it was generalized: families as texts, a folder of hierarchies, a configuration."""

    quasi: Sequence[str]
    sensitive: str
    families: Sequence[str] = ()
    hierarchies: Path | None = None
    config: Path | None = None

    @cached_property
    def configuration(self) -> Requirements | None:
        """The requirements that the configuration declares; the named columns and folder replace its own."""
        if self.config is None:
            return None
        options: dict[str, Any] = {"quasi": tuple(self.quasi)} if self.quasi else {}
        if self.sensitive:
            options["sensitive"] = (self.sensitive,)
        if self.hierarchies is not None:
            options["hierarchies"] = self.hierarchies
        return Requirements(**{**read_configuration(self.config), **options})

    def complete(self, receipt: Receipt | None) -> Columns:
        """The same with the columns of the configuration or the receipt where none are named."""
        declared = self.configuration
        quasi, sensitive = (receipt.quasi, receipt.sensitive) if receipt is not None else ((), ())
        if declared is not None:
            quasi, sensitive = declared.quasi, declared.sensitive
        chosen = tuple(self.quasi) or quasi
        if not chosen:
            raise InvalidInput("no quasi-identifier is named; name the columns with --quasi, separated by commas")
        if not self.sensitive and len(sensitive) != 1:
            raise InvalidInput("no sensitive column is named; name one with --sensitive")
        return replace(self, quasi=chosen, sensitive=self.sensitive or sensitive[0])

    def from_files(self) -> dict[str, Families]:
        """The families of columns: as written, else from the file of each. A folder must have the file of every other column."""
        families_of = families(self.families)
        if len(self.quasi) == 1 and "" in families_of:
            families_of = {self.quasi[0]: families_of[""]} | families_of
        made: Collection[str] = ()
        folder = self.hierarchies
        if self.configuration is not None:
            files = {
                name: path for name, path in self.configuration.files.items() if name in self.quasi and name not in families_of
            }
            families_of |= {name: Families.of(Hierarchy.read(path, name)) for name, path in files.items()}
            made, folder = self.configuration.made, self.configuration.hierarchies
        if folder is not None:
            missing = [name for name in self.quasi if name not in families_of and name not in made]
            families_of |= {name: Families.of(each) for name, each in read_hierarchies(folder, missing).items()}
        return families_of


@dataclass(frozen=True, slots=True)
class Register:
    """The values that each column of an outside register has: the meaning of a label is sought among them."""

    columns: Columns
    receipt: Receipt | None
    values: Mapping[str, Values]

    def covers(self, labels: Mapping[str, Collection[str]]) -> dict[str, dict[str, Values]]:
        """For each column and label, the values of the register that it may stand for."""
        if self.receipt is not None and self.receipt.method == "mdav":
            raise InvalidInput("the method mdav publishes means of groups, which no value equals; link a file of another method")
        families_of = self.columns.from_files()
        return {name: self._column(name, labels[name], families_of.get(name)) for name in self.columns.quasi}

    def _column(self, name: str, labels: Collection[str], families_of: Families | None) -> dict[str, Values]:
        values = self.values[name]
        covers = {TOP: values} | (boxes(labels, values) if self._in_boxes(name) else {})
        rest = [label for label in labels if label not in covers]
        declared = self.columns.configuration
        if families_of is not None:
            covers |= {label: values & frozenset(families_of.below(_form(name, label, families_of))) for label in rest}
        elif declared is not None and name in declared.made:
            covers |= _made_covers(name, rest, values, declared.made[name])
        elif self.receipt is not None and name in self.receipt.hierarchies and rest:
            raise InvalidInput(f"missing hierarchy of {name}: the receipt says that the column has one; {GIVE}")
        elif rest and not values.intersection(rest) and len(covers) == 1:
            raise InvalidInput(f"no value of {name} is in the register: the published values may be generalized; {GIVE}")
        else:
            covers |= {label: values & {label} for label in rest}
        return covers

    def _in_boxes(self, name: str) -> bool:
        return self.receipt is not None and self.receipt.method.startswith("mondrian") and name in self.receipt.quasi


def _form(name: str, label: str, families_of: Families) -> str:
    """The label, if the hierarchy that was read from a file has it."""
    if families_of.levels is not None and label not in families_of.forms:
        raise _unknown(name, label)
    return label


def _unknown(name: str, label: str) -> InvalidInput:
    what = f"published value {label[:LONGEST_SHOWN]!r} of {name} is not in its hierarchy"
    return InvalidInput(f"{what}; use the hierarchy of the publisher")


def boxes(labels: Collection[str], values: Values) -> dict[str, Values]:
    """The values in the labels that Mondrian writes: a range of numbers such as [30, 34], or a list such as {flu, gout}.

    >>> boxes(["[30, 34]", "{f, m}", "North"], frozenset({"31", "f"})) == {"[30, 34]": {"31"}, "{f, m}": {"f"}}
    True
    """
    covers = {}
    for label in labels:
        if (ends := re.fullmatch(r"\[(\S+), (\S+)\]", label)) and (low := _number(ends[1])) is not None:
            high = _number(ends[2])
            inside = {
                value for value in values if (number := _number(value)) is not None and high is not None and low <= number <= high
            }
            covers[label] = frozenset(inside)
        elif label.startswith("{") and label.endswith("}"):
            listed = f", {label[1:-1]}, "  # a value that has a comma of its own is a run of parts
            covers[label] = frozenset(value for value in values if f", {value}, " in listed)
    return covers


def _made_covers(name: str, labels: Collection[str], values: Values, how: tuple[str, Any]) -> dict[str, Values]:
    """The values below labels of a hierarchy without a file, made from the register and one value of each label."""
    kind, given = how
    samples = {label: EXAMPLES[kind](label) for label in labels}
    try:
        levels = Families.of(made_from(kind, name, sorted(values | {each for each in samples.values() if each}), given))
    except InvalidInput:
        levels = Families.of(made_from(kind, name, sorted(values), given))
    return {label: values & frozenset(levels.below(_form(name, label, levels))) for label in labels}


def _in_interval(label: str) -> str:
    """A number in an interval as `intervals` writes it; not a whole one where only other numbers are written with brackets."""
    if ends := re.fullmatch(r"\[(\S+), (\S+)\)", label):
        low, high = _number(ends[1]), _number(ends[2])
        if low is None or high is None:
            return ""
        return str(low if low < 0 else low + (high - low) * Decimal("0.123456789"))
    low_end = label.split("-")[0] if re.fullmatch(r"\d+-\d+", label) else label
    return low_end if _number(low_end) is not None else ""


def _in_span(label: str) -> str:
    """A day in a span of dates as `dates` writes it."""
    if quarter := re.fullmatch(r"(\d{4})-Q([1-4])", label):
        return f"{quarter[1]}-{3 * int(quarter[2]) - 2:02d}-01"
    if re.fullmatch(r"\d{4}(-\d{4})?", label):
        return f"{label[:4]}-01-01"
    return f"{label}-01" if re.fullmatch(r"\d{4}-\d{2}", label) else label


EXAMPLES: Mapping[str, Callable[[str], str]] = {
    "intervals": _in_interval,
    "dates": _in_span,
    "prefixes": lambda label: label.replace("*", "0"),
    "flat": lambda label: label,
}


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
