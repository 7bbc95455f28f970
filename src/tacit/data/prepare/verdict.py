"""The verdict of `prepare` on a source, for the data owner alone: what looks wrong, an example, and the likely cause.

An example is a value from the data. It is shown on the owner's screen and not stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from tacit.data.declaration import whole_text
from tacit.data.engine import Maker
from tacit.data.ownership import own_key
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Catalog, Column, Table

TOLD = ("unreadable", "unknown", "rounded")  # the fates for which an example is shown
LOST = ("unreadable", "unknown", "too long", "below", "above")
NUMBER = r"[+-]?[0-9]+"
COMMA = re.compile(rf"{NUMBER},[0-9]+")
GROUPED = {
    sign: re.compile(rf"[+-]?[0-9]{{1,3}}({re.escape(sign)}[0-9]{{3}})+") for sign in (",", " ", "'", "\u00a0", "\u202f", "\u2019")
}
POINTS = re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+")
BOTH = {
    'decimal = ",", thousands = "."': re.compile(r"[+-]?[0-9]{1,3}(\.[0-9]{3})+,[0-9]+"),
    'thousands = ","': re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+\.[0-9]+"),
    'decimal = ",", thousands = " "': re.compile(r"[+-]?[0-9]{1,3}( [0-9]{3})+,[0-9]+"),
}
DAY = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})( .*)?")
DIGITS = re.compile(r"[0-9]")
REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """In how many rows a column is missing, unreadable, below or above its bounds, unknown or rounded. For the data owner alone.

    `rounded` counts numbers that are not a grid point of the declared bounds and step (doubles: by more than a thousandth of a
    step), so that the prepared value differs from the written one. `as_text` says whether the source stores the column as text.
    """

    name: str
    fates: Mapping[str, int]
    as_text: bool = False
    examples: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)

    def lost(self) -> int:
        """How many values differ from what was written; numbers of a typed source are rounded on purpose."""
        return sum(self.fates.get(fate, 0) for fate in (*LOST, *(("rounded",) if self.as_text else ())))


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many units two private tables have, and how many they share. For the data owner alone.

    `because` says why they should share some: a declared reference, or keys with the same name; empty if there is no reason.
    """

    tables: tuple[str, str]
    units: tuple[int, int]
    shared: int
    because: str = ""

    @property
    def words(self) -> str:
        """A line for the data owner.

        >>> print(Sharing(("visits", "patients"), (820, 900), 812).words)
        visits and patients share 812 units: visits has 820, patients has 900
        """
        one, other = self.tables
        common = f"{self.shared:,} unit{'' if self.shared == 1 else 's'}"
        return f"{one} and {other} share {common}: {one} has {self.units[0]:,}, {other} has {self.units[1]:,}"

    @property
    def alarm(self) -> str | None:
        """A result that the catalog cannot intend: keys that never match, though it declares that they name the same people."""
        if self.shared or not self.because or not all(self.units):
            return None
        one, other = self.tables
        return f"{one} and {other} have no unit in common, though {self.because}: are the keys written in one way?"


@dataclass(frozen=True, slots=True)
class TableReport:
    """Counts of the rows of one table that were kept, dropped or shared. For the data owner alone.

    `kept` rows are stored once for each owner, `copies` in total. Of the rows that no value drops, `shared` have several owners (at
    most `most_owners`), and `unnamed` have none: these are dropped, or are units of their own, as declared. `dropped` counts rows
    by reason: "value" (a column says drop), "no unit", "limit" (beyond max_rows, or repeating a key). `left_out` names the
    undeclared columns of a public table that cannot be read from the data, and why. If rows exceed a limit, `would_keep` is the
    number of copies that a larger max_rows would keep. `alike` counts, for each key column, the keys that differ from another in
    case, blanks or leading zeros only: the same people, perhaps, as two units. `alarms` are results that the catalog cannot intend.
    """

    name: str
    public: bool
    read: int
    kept: int
    dropped: Mapping[str, int]
    columns: tuple[ColumnReport, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    unnamed: int = 0
    copies: int = 0
    shared: int = 0
    most_owners: int = 1
    would_keep: Mapping[int, int] = field(default_factory=dict)
    alarms: tuple[str, ...] = ()
    alike: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The result of preparation. Its counts are exact and private: they are for the data owner alone.

    So is `unchanged`: whether sources and catalog are known to be those of the preparation before.
    """

    store: Path
    version: str
    tables: tuple[TableReport, ...]
    sharing: tuple[Sharing, ...] = ()
    notes: tuple[str, ...] = ()
    unchanged: bool = False

    @property
    def alarms(self) -> tuple[str, ...]:
        """Results that the catalog cannot intend, within tables and between them."""
        own = [f"{table.name}: {alarm}" for table in self.tables for alarm in table.alarms]
        return (*own, *(each.alarm for each in self.sharing if each.alarm))


class NotAccepted(StoreUnusable):
    """The data does not look as the catalog declares it: `prepared` has the details. The old store stays."""

    def __init__(self, prepared: Prepared) -> None:
        super().__init__(
            "the data does not look as the catalog declares it; the old store stays",
            remedy="correct the catalog as `tacit prepare` shows, or accept what it found: tacit prepare --yes",
        )
        self.prepared = prepared


def alarms(read: int, kept: int, columns: tuple[ColumnReport, ...]) -> tuple[str, ...]:
    """Results that the catalog cannot intend: no row kept, or over half of the values of a column lost or moved.

    >>> alarms(4, 4, (ColumnReport("cost", {"missing": 1, "unreadable": 2}),))
    ('cost: 2 of 3 values cannot be used as they are written',)
    """
    problems = ["no row is kept"] if read and not kept else []
    for column in columns:
        there, lost = read - column.fates.get("missing", 0), column.lost()
        if 2 * lost > there:
            problems.append(f"{column.name}: {lost:,} of {there:,} values cannot be used as they are written")
    return tuple(problems)


def likely_cause(column: Column, fate: str, value: str) -> str:
    """The likely reason why a value could not be read: a question, and the line of the catalog that would fix it.

    >>> from fractions import Fraction
    >>> cost = Column("cost", "number", (Fraction(0), Fraction(9000)), Fraction(1))
    >>> print(likely_cause(cost, "unreadable", "4812,35"))
    is the decimal sign a comma? decimal = ","
    >>> print(likely_cause(cost, "rounded", "962.692"))
    does the point part thousands? thousands = "."
    """
    if REPLACEMENT in value:
        return 'is the file in another encoding? encoding = "windows-1252"'
    if column.kind == "category":
        return _unknown(column, value)
    if not DIGITS.search(value):
        return f"is it written where a value is missing? missing = [{whole_text(value)}]"
    return _day(column, value) if column.kind == "date" else _number(column, fate, value)


def _unknown(column: Column, value: str) -> str:
    same = [each for each in column.values if str(each).casefold() == value.casefold()]
    if same:
        return f"case counts: it is declared as {whole_text(same[0])}; add it to values, and group by the LOWER of this column"
    return f"is it one of the values, or written where a value is missing? missing = [{whole_text(value)}]"


def _number(column: Column, fate: str, value: str) -> str:
    if fate == "rounded":
        grouped = POINTS.fullmatch(value) is not None and column.notation.decimal == "."
        decimals = re.fullmatch(rf"[^eE]*{re.escape(column.notation.decimal)}([0-9]{{1,6}})", value)
        smaller = f" step = 0.{'1':0>{len(decimals[1])}}" if decimals else ""
        return 'does the point part thousands? thousands = "."' if grouped else f"is a smaller step meant?{smaller}"
    if COMMA.fullmatch(value) and GROUPED[","].fullmatch(value):
        return 'does the comma part thousands, or is it the decimal sign? thousands = ",", or decimal = ","'
    if COMMA.fullmatch(value):
        return 'is the decimal sign a comma? decimal = ","'
    signs = (f"thousands = {whole_text(sign)}" for sign, pattern in GROUPED.items() if pattern.fullmatch(value))
    both = (declared for declared, pattern in BOTH.items() if pattern.fullmatch(value))
    points = ('thousands = "."',) if POINTS.fullmatch(value) else ()
    declared = next(iter((*signs, *both, *points)), None)
    return f"are digits parted in groups? {declared}" if declared else "is there more beside the number, such as a unit?"


def _day(column: Column, value: str) -> str:
    parts = DAY.fullmatch(value)
    if parts is None:
        return 'is it written in another way? format = "%Y%m%d"' if re.fullmatch("[0-9]{8}", value) else "is it a date?"
    first, sign, second, year, time = parts.groups()
    rest = ("%Y" if len(year) == 4 else "%y") + (" %H:%M" if time else "")
    forms = [f'format = "{order.replace(".", sign)}{sign}{rest}"' for order in ("%d.%m", "%m.%d")]
    if int(first) > 12 or (sign == "." and int(second) <= 12):
        forms = forms[:1]
    elif int(second) > 12:
        forms = forms[1:]
    if column.notation.format is not None and f'format = "{column.notation.format}"' in forms:
        return f"not a day of the calendar; is it written where a value is missing? missing = [{whole_text(value)}]"
    return f"does the year stand last? {', or '.join(forms)}"


# --- how many units the private tables have in common, for the data owner alone ----------------------------------------------


def units_in_common(workshop: Maker, catalog: Catalog, ranked: Mapping[str, str]) -> tuple[Sharing, ...]:
    """Every pair of tables with named units; `ranked` are the engine's tables of their rows, by table name."""
    if len(ranked) < 2:
        return ()
    units = {table: f"SELECT tacit_holder FROM {rows} WHERE tacit_rank = 0" for table, rows in ranked.items()}
    counts = {table: int(workshop.rows(f"SELECT count(*) FROM ({holders})")[0][0]) for table, holders in units.items()}
    pairs = []
    for one, other in combinations(ranked, 2):
        both = f"SELECT count(*) FROM ({units[one]}) JOIN ({units[other]}) USING (tacit_holder)"
        shared, because = int(workshop.rows(both)[0][0]), _because(catalog, catalog.tables[one], catalog.tables[other])
        pairs.append(Sharing((one, other), (counts[one], counts[other]), shared, because))
    return tuple(pairs)


def _because(catalog: Catalog, one: Table, other: Table) -> str:
    """Why two tables should have units in common, according to the catalog alone."""
    for here, there in ((one, other), (other, one)):
        if there.name in _led_to(catalog, here):
            return f"{here.name} refers to {there.name}"
    return f"both have the key {own_key(one)}" if own_key(one) == own_key(other) else ""


def _led_to(catalog: Catalog, table: Table) -> set[str]:
    """The tables that a table refers to, directly or through others."""
    reached: set[str] = set()
    while table.unit is not None and table.unit.references is not None and table.unit.references[0] not in reached:
        table = catalog.tables[table.unit.references[0]]
        reached.add(table.name)
    return reached
