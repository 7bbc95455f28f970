"""The declarations of a data owner: tables, columns, bounds, units and budgets. All are public; none is taken from the data.

`data/catalog/` reads them from tacit.toml. Here are the values, and what follows from them alone. Names of tables and columns
match without case, so they are kept in lower case, in the mappings as in the values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Literal
from unicodedata import normalize

from tacit.errors import InvalidCatalog
from tacit.privacy.loss import Change, Neighbours
from tacit.privacy.periods import Per
from tacit.untrusted import without_password

Kind = Literal["number", "category", "date", "text", "key", "presence"]
Value = str | int | bool
EPOCH = date(1970, 1, 1)
BLANKS = " \t\n\r\v\f"  # what is trimmed from texts: a list, since engines and languages differ on what a blank is
SPLIT = Fraction(99, 100)  # the share of delta for the conversion of rho: all but what truncated noise needs (accounting/filter.md)
SPLIT_WITH_PRIVATE_KEYS = Fraction(1, 2)  # every list of private keys has a delta of its own
WAIT_DAYS = 14
QUESTIONS_AT_MOST = 100_000  # paid questions of a data set: side channels are paid for per question, not per epsilon
LARGEST = 2**53  # every prepared number is an offset below this, so that it is exact in a double too
CLUSTER = "spark"  # the engine that has cores to declare
REACH_SECONDS = 120  # in which a cluster answers, where nothing is declared
MOST_CORES = 4096  # as many as tacit counts when it divides what is shuffled
PARTS_PER_CORE = 2  # of what a cluster shuffles; Spark's 200 take two seconds on a small machine, whatever is asked
MOST_PARTS = 512  # of what a question shuffles: the driver starts a task for each
COPIED_ROWS = 10**6  # of a public table that every executor gets whole; by its public number, not by what Spark estimates
ASSUMED_ROWS = 2 * 10**6  # of a private table without rows_at_most: an ordinary question on so many rows is answered
ASSUMED_BEFORE = 10**8  # the same of stores that were prepared before; they may have so many rows
MEMORY = "memory"  # as a source: the rows are given in Python
JOINED_ROWS = 1000  # of one unit after joins, where max_joined_rows is not declared
PACE = Fraction(2)  # of a machine, where [server] declares none
LONGEST_TEXT = 256  # bytes of a private text, where longest is not declared


@dataclass(frozen=True, slots=True)
class Budget:
    """The cap over everything ever released, or an analyst's cap inside it."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Analyst:
    """Policy for one analyst, inside the data set's budget; None means no cap of its own."""

    name: str
    budget: Budget | None = None
    epsilon_per_query: Fraction | None = None
    delta_per_query: Fraction | None = None
    approve_above: Fraction | None = None  # the epsilon of a question above which a curator decides


@dataclass(frozen=True, slots=True)
class Notation:
    """How a source writes values: the decimal sign, the sign between groups of three digits, dates, and what says "missing".

    `format` has the letters of strftime; without one, a date is written with its year first.
    """

    decimal: str = "."
    thousands: str = ""
    format: str | None = None
    missing: tuple[str, ...] = ()


PLAIN = Notation()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows come from when it is prepared.

    `location` is a path, taken from the catalog's folder, or a PostgreSQL URL as declared: `url` puts in its variables. Of the kind
    "memory" it says nothing: the rows are given in Python when the table is prepared.
    `multiline` says of a CSV file whether fields in quotation marks may hold line ends; None where it is not declared.
    `encoding` is the codec that its bytes are read with; None means UTF-8. `separator` parts its fields; None where the header
    tells it. `table` is the table of a database, or the sheet of a workbook.
    """

    kind: Literal["parquet", "csv", "duckdb", "postgres", "xlsx", "memory"]
    location: str
    table: str | None = None
    declared: str = ""
    multiline: bool | None = None
    encoding: str | None = None
    separator: str | None = None

    def __repr__(self) -> str:
        location, declared = (without_password(each) for each in (self.location, self.declared))
        return f"Source(kind={self.kind!r}, location={location!r}, table={self.table!r}, declared={declared!r})"

    @property
    def remote(self) -> bool:
        """Whether the rows are Parquet files at a URL, such as s3a://, which a cluster reads."""
        return self.kind == "parquet" and "://" in self.location

    def url(self, environment: Mapping[str, str]) -> str:
        """The URL to connect to, with `$NAME` replaced from the environment: a password need not stand in the catalog."""
        return expanded(self.location, environment)


SPACES = "".join(map(chr, (0x85, 0xA0, 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF)))


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How two spellings of a key are one: `trim` leaves out blanks of every kind around it, `zeros` those before a whole number.

    `case` is "lower" if case does not count. Every key is composed (NFC), and ordinary blanks around it never count.
    """

    trim: bool = False
    case: Literal["", "lower"] = ""
    zeros: bool = False


AS_WRITTEN = KeyRule()


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column.

    number      bounds and step; prepared as an offset 0..points-1 from the lower bound
    category    public values; prepared as a code 0..points-1 in the declared order ("other" last, where declared)
    date        bounds as day numbers since 1970-01-01, step 1
    text        values are private: usable as a key through a threshold, and in filters
    key         identifies a unit
    presence    declared without bounds or values: only NULL or not can be asked

    `bins` are the values at which the bins of a number or a date begin, the lower bound first, where bins are declared: the
    cells of marginals for synthetic rows. Questions and the prepared store know nothing of them. `longest` is the most bytes of a
    private text; preparation treats a longer one as missing. `notation` is how the source writes the values. `labels` are words
    for values, which answers show to people; plans, prices and kept answers know nothing of them.
    """

    name: str
    kind: Kind
    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction | None = None
    values: tuple[Value, ...] = ()
    outside: Literal["clamp", "drop", "null"] = "clamp"
    unknown: Literal["null", "drop", "other"] = "null"
    nulls: Literal["keep", "drop"] | Fraction | Value = "keep"
    line: int | None = None
    bins: tuple[Fraction, ...] = ()
    longest: int = LONGEST_TEXT
    notation: Notation = PLAIN
    labels: tuple[tuple[Value, str], ...] = field(default=(), compare=False)
    rule: KeyRule = field(default=AS_WRITTEN, repr=False)
    zone: str | None = None  # in which moments of a date become days, where the catalog declares one (Per.zone)

    @property
    def nullable(self) -> bool:
        """Whether a prepared value may be NULL, by declaration."""
        if self.kind == "key":
            return False
        made_null = (self.kind in ("number", "date") and self.outside == "null") or (
            self.kind == "category" and self.unknown == "null"
        )
        return self.nulls == "keep" or made_null

    @property
    def points(self) -> int:
        """How many different values a prepared value can have, NULL apart."""
        if self.kind == "category":
            return len(self.domain)
        if self.bounds is None or self.step is None:
            return 1
        return (self.bounds[1] - self.bounds[0]) // self.step + 1

    @property
    def domain(self) -> tuple[Value, ...]:
        """The public values of a category, with "other" last where unknown values become it."""
        return (*self.values, "other") if self.unknown == "other" else self.values


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a row is: the value of `column` is the unit, or leads to it as the value of another table's (table, column)."""

    column: str
    references: tuple[str, str] | None = None
    rule: KeyRule = field(default=AS_WRITTEN, repr=False)


@dataclass(frozen=True, slots=True)
class Table:
    """One declared table; `unit` is None where every row is one person, and for public tables.

    `rows_at_most` and `max_joined_rows` are public limits, from which the worst work of a question follows (query/price/work.md).
    Without the first, the store has at most `assumed_rows`: a number of the version of tacit that prepared it.
    `min_rows` is the size of a group for which an error is forecast (query/price/forecast.py), and nothing else.
    """

    name: str
    source: Source
    columns: Mapping[str, Column]
    public: bool = False
    unit: Owner | None = None
    max_rows: int = 1
    max_rows_per_group: int | None = None
    no_unit: Literal["drop", "own"] = "drop"
    min_people: int = 0
    line: int | None = None
    rows_at_most: int | None = None
    max_joined_rows: int | None = None
    notation: Notation = PLAIN
    min_rows: int | None = None
    assumed_rows: int = ASSUMED_ROWS
    period: str | None = None  # the date column that says in which period a row is
    period_of: Table | None = None  # the table with that column in which units are looked up: a row has the period it leads to
    per: Per | None = None  # what a period is, if its rows have one
    never: tuple[str, ...] = ()  # conditions that no synthetic row meets; preparation and questions know nothing of them

    @property
    def most_rows(self) -> int:
        """The most rows that the store may hold of a private table: as declared, else assumed."""
        return self.assumed_rows if self.rows_at_most is None else self.rows_at_most

    @property
    def most_joined_rows(self) -> int:
        """The most rows that one unit may have after joins, never below `max_rows`."""
        return max(self.max_rows, JOINED_ROWS if self.max_joined_rows is None else self.max_joined_rows)

    @property
    def key(self) -> str | None:
        """The column declared `key = true`; a table has one at most."""
        return next((name for name, column in self.columns.items() if column.kind == "key"), None)

    def rule_of(self, column: str) -> KeyRule:
        """How spellings of a key column are compared."""
        if self.unit is not None and self.unit.column == column:
            return self.unit.rule
        return self.columns[column].rule if column in self.columns else AS_WRITTEN

    def __hash__(self) -> int:
        return hash(self.name)  # its columns are a mapping, which has no hash

    @property
    def rows_per_group(self) -> int:
        """The most rows of one unit in one group."""
        return self.max_rows if self.max_rows_per_group is None else min(self.max_rows, self.max_rows_per_group)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The whole configuration of a data set."""

    budget: Budget
    tables: Mapping[str, Table]
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    change: Change = "add-remove"
    path: Path | None = None
    ledger_url: str | None = field(default=None, repr=False)  # it may hold a password
    store_path: str | None = None
    store_engine: str = "duckdb"
    store_master: str | None = None
    store_parquet: str | None = None
    store_cores: int | None = None
    reach_seconds: int = REACH_SECONDS
    questions_at_most: int = QUESTIONS_AT_MOST
    data_set: str | None = None
    show_left: Literal["tenths", "exact"] = "tenths"  # how a server shows analysts what the data set has left
    declared_split: Fraction | None = None
    changes: Literal["private", "public"] = "private"  # whether analysts may know that nothing changed between preparations
    per: Per | None = None  # the budget is one of each period
    pace: Fraction = PACE  # by which the worst work of a question is multiplied for its rung (query/price/work.py)
    approve_above: Fraction | None = None  # of analysts who have none of their own
    wait_days: int = WAIT_DAYS  # that a question waits for a curator, and that a decision holds

    @property
    def file(self) -> str:
        """The name of the catalog's file."""
        return "tacit.toml" if self.path is None else self.path.name

    @property
    def name(self) -> str:
        """The name of the data set: as declared in `[ledger] data_set`, else that of the catalog's folder (and file)."""
        if self.data_set is not None:
            return self.data_set
        return self.folder.name if self.file == "tacit.toml" else f"{self.folder.name}/{self.file}"

    @property
    def neighbours(self) -> Neighbours:
        """The one relation that every event is priced for."""
        return Neighbours(self.change, "unit")

    @property
    def private_keys(self) -> tuple[str, ...]:
        """The columns of private tables whose values are private, as `table.column`."""
        private = (table for table in self.tables.values() if not table.public)
        return tuple(f"{table.name}.{name}" for table in private for name, column in table.columns.items() if column.kind == "text")

    @property
    def split(self) -> Fraction:
        """The share of delta that a new ledger keeps for the conversion of rho; the rest is for the deltas of events."""
        if self.declared_split is not None:
            return self.declared_split
        return SPLIT_WITH_PRIVATE_KEYS if self.private_keys else SPLIT

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the catalog start from."""
        return Path.cwd() if self.path is None else self.path.absolute().parent

    @property
    def kept(self) -> Path:
        """The folder of what tacit keeps for this catalog: the store and the ledger where not declared, and the ranking key."""
        return self.folder / ".tacit"

    @property
    def store_folder(self) -> Path:
        """The folder of the prepared store."""
        return self.kept / "store" if self.store_path is None else self.folder / self.store_path

    @property
    def cores(self) -> int | None:
        """How many cores of a cluster the worst work of a question is divided among; None where no cluster is declared.

        It is declared, and never counted: what a cluster has at the moment must not decide what is refused.
        """
        return None if self.store_engine != CLUSTER else self.store_cores or 1

    @property
    def heads_folder(self) -> Path:
        """The folder that remembers the last entries of the ledger: beside that of the store, on which a spender needs no right."""
        return self.kept / "heads" if self.store_path is None else self.store_folder.with_name(f"{self.store_folder.name}-heads")

    def ledger_address(self, environment: Mapping[str, str]) -> str:
        """The ledger's URL: as declared, with variables put in and a relative SQLite file taken from the catalog's folder."""
        if self.ledger_url is None:
            return f"sqlite:///{self.kept / 'ledger.sqlite'}"
        url = expanded(self.ledger_url, environment)
        file = url.removeprefix("sqlite:///")
        return url if file == url or file.startswith(":") else f"sqlite:///{self.folder / file}"


def having_begun(catalog: Catalog, per: Per | None) -> Catalog:
    """The catalog under a declaration of periods, such as the same one after some have begun; its tables know it too."""
    tables = {name: replace(table, per=per if table.period or table.period_of else None) for name, table in catalog.tables.items()}
    return replace(catalog, per=per, tables=tables)


def fingerprint(catalog: Catalog) -> str:
    """A hash of what preparation depends on: the declared tables, columns and units, and nothing that is in the data.

    A store that was prepared under another fingerprint is stale. Budgets, analysts and the relation may change without it;
    so may max_rows_per_group, max_joined_rows, min_people and min_rows, which questions alone read, and the cores of a cluster.
    """
    declared: dict[str, object] = {name: _prepared_from(table) for name, table in sorted(catalog.tables.items())}
    if catalog.per is not None:
        declared |= {"": [catalog.per.calendar.text, catalog.per.zone]}  # no table has this name
    return sha256(json.dumps(declared, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def assuming(catalog: Catalog, rows: int) -> Catalog:
    """The catalog with the number of rows that is assumed of tables without `rows_at_most`."""
    return replace(catalog, tables={name: replace(table, assumed_rows=rows) for name, table in catalog.tables.items()})


def prepared_under(catalog: Catalog, stored: str) -> Catalog | None:
    """The catalog with what was assumed when the store of a fingerprint was prepared; None if it was prepared for another one."""
    ways = (catalog, *(assuming(catalog, rows) for rows in (ASSUMED_ROWS, ASSUMED_BEFORE)))
    return next((each for each in ways if fingerprint(each) == stored), None)


def fingerprint_of_format_1(catalog: Catalog) -> str:
    """The fingerprint as stores of format 1 have it, over fewer declarations: it tells the units of an old store."""
    declared = {}
    for name, table in sorted(catalog.tables.items()):
        facts = _prepared_from(table)
        columns = {key: _column_facts(column)[:6] for key, column in table.columns.items()}
        facts |= {"source": [table.source.kind, table.source.declared or table.source.location, table.source.table]}
        since = ("rows_at_most", "notation", "encoding", "separator", "rules")
        declared[name] = {key: value for key, value in facts.items() if key not in since} | {"columns": columns}
    return sha256(json.dumps(declared, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _prepared_from(table: Table) -> dict[str, object]:
    """The declarations that preparation depends on. Later keys are in it only if declared: older stores stay valid."""
    source, unit = table.source, table.unit
    written = {"notation": _notation_facts(table.notation)} if table.notation != PLAIN else {}
    encoded = {key: value for key in ("encoding", "separator") if (value := getattr(source, key)) is not None}
    return {
        "source": [source.kind, source.declared or source.location, source.table, source.multiline],
        "public": table.public,
        "unit": None if unit is None else [unit.column, unit.references],
        "max_rows": table.max_rows,
        "rows_at_most": None if table.public else table.most_rows,
        "no_unit": table.no_unit,
        "columns": {name: _column_facts(column) for name, column in table.columns.items()},
        **written,
        **encoded,
        **_key_rules(table),
        **({"period": table.period} if table.period else {}),
        **({"period_of": table.period_of.name} if table.period_of else {}),
    }


def _key_rules(table: Table) -> dict[str, object]:
    """The rules of keys that are declared."""
    columns = sorted({*table.columns, *([table.unit.column] if table.unit else [])})
    rules = {column: rule for column in columns if (rule := table.rule_of(column)) != AS_WRITTEN}
    return {"rules": {column: [rule.trim, rule.case, rule.zeros] for column, rule in rules.items()}} if rules else {}


def _column_facts(column: Column) -> list[object]:
    """Everything declared about a column except its line; the text "1", the number 1 and True differ."""
    values = [[type(value).__name__, str(value)] for value in (*column.values, column.nulls)]
    bounds, longest = [str(bound) for bound in column.bounds or ()], column.longest if column.kind == "text" else None
    facts: list[object] = [column.kind, bounds, str(column.step), column.outside, column.unknown, values, longest]
    return facts if column.notation == PLAIN else [*facts, _notation_facts(column.notation)]


def _notation_facts(notation: Notation) -> list[object]:
    return [notation.decimal, notation.thousands, notation.format, list(notation.missing)]


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with `$NAME` and `${NAME}` replaced from the environment, and `$$` by a dollar sign.

    >>> expanded("postgresql://reader:$SECRET@db/hospital", {"SECRET": "x"})
    'postgresql://reader:x@db/hospital'
    """
    try:
        return Template(text).substitute(environment)
    except KeyError as missing:
        raise InvalidCatalog(f"the catalog names ${missing.args[0]}, which is not set in the environment; set it") from None
    except ValueError:
        raise InvalidCatalog(
            "invalid variable in a URL: $ must be followed by a name, as in $NAME; write $$ for a literal $"
        ) from None


def canonical(value: Value) -> Value:
    """The one way to write a value: a text is composed (NFC) and has no ASCII blanks around it; others stay as they are.

    >>> canonical(" e\u0301 ") == "\u00e9", canonical(3)
    (True, 3)
    """
    return normalize("NFC", value).strip(BLANKS) if isinstance(value, str) else value


def analyst_name(name: str) -> str:
    """The one normal form of an analyst's name: composed (NFC), without case, single blanks and none around it.

    >>> analyst_name(" Ana  Lu ") == analyst_name("ana lu"), analyst_name("Zoe\u0308") == analyst_name("zo\u00eb")
    (True, True)
    """
    return normalize("NFC", normalize("NFC", " ".join(name.split())).casefold())


def day_number(day: date) -> int:
    """Days since 1970-01-01.

    >>> day_number(date(2020, 1, 1))
    18262
    """
    return (day - EPOCH).days


def day_of(number: int) -> date:
    """The date of a day number."""
    return EPOCH + timedelta(days=number)
