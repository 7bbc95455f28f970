"""An answer: a table of released numbers with intervals, its price, and the remaining budget; and its text in the ledger.

Everything in it may be published. A released answer stays the same forever, at no further cost, so the ledger keeps it as text.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.accounting.ledger.caps import at_most
from tacit.errors import InvalidInput
from tacit.files import write
from tacit.mechanisms.noise.grid import DOUBLE_LIMIT
from tacit.privacy.rounding import as_text, decimal_text
from tacit.release.tidy import NOT_TIDIED, TIDIED, Totals, tidy_answer
from tacit.untrusted import LONGEST_CELL, csv_text, for_json, for_terminal, table_for_html, width

if TYPE_CHECKING:
    from tacit.release.certificates.certificate import Certificate
    from tacit.release.charts import Picture

END = "end"  # the kind of a column with an end of the interval of another one
PUBLIC = "public"  # the kind of a column that is exact: of public tables, or of the catalog
FREE = "Exact, from public tables or the catalog. Nothing was spent."
NO_ROWS = "LIMIT 0 returns the columns only. Nothing was spent."
CHOSEN = "released numbers chose the rows: the intervals of a column hold for all rows before the choice together"
TEXT = "a text made from noisy numbers has no interval: other numbers within the noise may give another text"
MODE = "a most frequent value is chosen at random, more frequent ones with a higher probability; it has no interval"
UNKNOWN = "of a number whose error is unbounded nothing is known: noise decided what it was made of, or it divides by what may be 0"
NO_INTERVAL = "quantiles were released without intervals: all of their epsilon went to their values"
NO_QUANTILE = "leaving out intervals had no effect: only quantiles can be released without them, and this question has none"
NOT_SHOWN = "not shown of column "  # how a note begins on groups of private keys that no row shows
AGAIN = "nothing was spent: this question was answered before"
Numeric = int | float | Decimal
Labels = tuple[tuple[Any, str], ...]  # declared words for values
MOST_SHOWN = 40  # rows that are printed for people
MOST_DIGITS = 38  # of a decimal in Arrow and Polars; one that is longer leaves as text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer: `kind` is "key", the aggregate it shows, or "expression".

    These have no interval: "public", in which nothing is private, "text", made from noisy numbers, "mode", a chosen value, "end",
    that of an interval of another column, and what is made from quantiles that were asked for without one. `bounds` is the range
    that an aggregate has whatever the data; an interval that is all of it says that nothing is known. `labels` are the declared
    words for values; no kept answer has them.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    low: tuple[float | Decimal | str | None, ...] | None = None
    high: tuple[float | Decimal | str | None, ...] | None = None
    bounds: tuple[Any, Any] | None = None
    labels: Labels = field(default=(), compare=False)

    def label(self, at: int) -> Any:
        """The value of a row as people read it: its declared label, if it has one. Values stay values everywhere else."""
        own = self.values[at]
        return next((label for value, label in self.labels if (type(value), value) == (type(own), own)), own)

    @property
    def is_key(self) -> bool:
        """Whether its values are without noise."""
        return self.kind in ("key", PUBLIC)

    @property
    def is_number(self) -> bool:
        """Whether it is a released number."""
        return self.kind not in ("key", PUBLIC, "text", "mode", END)

    def is_unknown(self, at: int) -> bool:
        """Whether the interval of a number is the whole declared range."""
        low, high = ((ends[at] if ends else None) for ends in (self.low, self.high))
        if self.bounds is None or isinstance(low, str) or isinstance(high, str):
            return (low, high) == self.bounds  # dates, which never leave their range
        return isinstance(low, float | int) and isinstance(high, float | int) and low <= self.bounds[0] and high >= self.bounds[1]

    @property
    def has_interval(self) -> bool:
        """Whether it is a released number with its ends."""
        return self.is_number and self.low is not None and self.high is not None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The cost of an answer when it was released, and the ledger entry that records it; `again` if nothing was spent this time."""

    epsilon: Fraction
    delta: Fraction
    left_epsilon: Fraction | None = None
    left_delta: Fraction | None = None
    entry: int | None = None
    data_version: str | None = None
    again: bool = False
    entries: tuple[int, ...] = ()  # of a statement made of several answers: the entry of each
    periods: str = ""  # that it was charged to, each with the whole price, where the budget is one of each period

    @property
    def again_words(self) -> str:
        """Why nothing was spent: the same was answered before, or it follows from numbers that the analyst has paid for."""
        is_same = self.entry is not None or not self.entries
        return AGAIN if is_same else f"nothing was spent: known from {' and '.join(f'entry {each}' for each in self.entries)}"


@dataclass(frozen=True, slots=True)
class Later:
    """Makes the certificate of a release when it is asked for. It does not leave the process: a copy of an answer has none."""

    make: Callable[..., Certificate]

    def __call__(self, *entry: int) -> Certificate:
        return self.make(*entry)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The released table; `limits` are the public facts, other than the noise, that shaped its numbers."""

    columns: tuple[Column, ...]
    confidence: Fraction
    receipt: Receipt
    simultaneous: bool = False
    notes: tuple[str, ...] = field(default=())
    limits: tuple[str, ...] = field(default=())
    totals: Totals | None = field(default=None, repr=False)
    tidied: bool = False
    asked: str = field(default="", repr=False, compare=False)  # the question, where it is known: a picture states its filter
    certified: Callable[[int], Certificate] | None = field(default=None, repr=False, compare=False)  # makes that of an entry
    requested: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)  # of all who share it: for certificates
    parts: str | None = field(default=None, repr=False, compare=False)  # the released numbers that it was made of (derived.py)

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        """The released values of a column."""
        return self.column(name).values

    def column(self, name: str) -> Column:
        """A column by its name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InvalidInput(f"unknown column {name!r}; the answer has {', '.join(column.name for column in self.columns)}")

    @property
    def certificate(self) -> Certificate:
        """Why the price of the answer is right, signed: for whoever checks it without the data."""
        if self.receipt.entries:
            *first, last = map(str, dict.fromkeys(self.receipt.entries))
            several = f"entries {', '.join(first)} and {last}" if first else f"entry {last}"
            raise InvalidInput(
                f"this answer has no certificate of its own: it is made of the answers of {several}; "
                "answer.certificates has one for each of them"
            )
        return self.certificates[0]

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificate of the answer; of a statement made of several answers, that of each, in their order."""
        entries = self.receipt.entries or ((self.receipt.entry,) if self.receipt.entry is not None else ())
        if self.certified is None or not entries:
            raise InvalidInput("this answer has no certificate: nothing was spent for it, or it is a copy of one that has it")
        return tuple(map(self.certified, dict.fromkeys(entries)))

    def tidy(self) -> Answer:
        """The same answer with counts that are whole and not negative, and totals that agree with their parts; it costs nothing."""
        return tidy_answer(self)

    def labelled(self) -> Answer:
        """The same answer with the declared labels in place of the values of its keys, as people read it."""
        columns = (
            replace(each, values=tuple(each.label(at) for at in range(len(each.values))), labels=()) if each.labels else each
            for each in self.columns
        )
        return replace(self, columns=tuple(columns))

    # --- forms ---

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per row: plain keys, and numbers with the ends of their intervals."""
        return [{column.name: _cell(column, at) for column in self.columns} for at in range(len(self))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, as `rows` returns them."""
        return iter(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values; budgets are exact strings, and so are numbers that a double cannot represent."""
        receipt = self.receipt
        return {
            "columns": [{"name": column.name, "kind": column.kind, **_labels_json(column)} for column in self.columns],
            "rows": [_plain(row) for row in self.rows()],
            "confidence": float(self.confidence),
            "simultaneous": self.simultaneous,
            "price": {"epsilon": decimal_text(receipt.epsilon), "delta": decimal_text(receipt.delta)},
            "left": None
            if receipt.left_epsilon is None
            else {"epsilon": decimal_text(receipt.left_epsilon), "delta": decimal_text(receipt.left_delta or Fraction(0))},
            "entry": receipt.entry,
            **{name: told for name, told in (("entries", list(receipt.entries)), ("periods", receipt.periods)) if told},
            "data_version": receipt.data_version,
            **({"tidied": True} if self.tidied else {}),
            "notes": [*self.limits, *self.notes, *([receipt.again_words] if receipt.again else [])],
        }

    def to_json(self) -> str:
        """The answer as JSON, with every value exact; only JSON and Parquet keep a key unchanged."""
        return for_json(self.to_dict())

    def flat(self) -> dict[str, list[Any]]:
        """Plain columns of one type each: every number is followed by its interval, as NAME_low and NAME_high."""
        return {name: values for _, name, values in self._flat()}

    def _flat(self) -> Iterator[tuple[Column, str, list[Any]]]:
        taken = {column.name for column in self.columns}
        for column in self.columns:
            yield column, column.name, _of_one_type(column.values)
            labels = [None if value is None else str(column.label(at)) for at, value in enumerate(column.values)]
            ends = (("low", column.low), ("high", column.high)) if column.has_interval else ()
            for word, values in (*((("label", labels),) if column.labels else ()), *ends):
                name = next(name for more in count() if (name := f"{column.name}_{word}{'_' * more}") not in taken)
                taken.add(name)
                yield column, name, _of_one_type(values or ())

    def to_arrow(self) -> Any:
        """The flat table; a number, or the end of an interval, that is missing in every row is a double all the same."""
        import pyarrow as pa

        columns = {}
        for column, name, values in self._flat():
            array = pa.array(values)
            dates = any(isinstance(each, str) for each in column.values)
            missing = column.is_number and pa.types.is_null(array.type)
            columns[name] = array.cast(pa.string() if dates else pa.float64()) if missing else array
        return pa.table(columns)

    def to_pandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.flat())

    def to_polars(self) -> Any:
        import polars as pl

        return pl.DataFrame(self.flat(), strict=False)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The flat table as CSV text, also written to `path` if given; no cell is a formula to a spreadsheet."""
        text = csv_text(self.flat())
        if path is not None:
            write(path, text)
        return text

    def to_parquet(self, path: str | Path) -> None:
        import pyarrow.parquet as pq

        write(path, lambda file: pq.write_table(self.to_arrow(), file))

    def chart(self, path: str | Path | None = None, column: str | None = None, title: str | None = None) -> Picture:
        """A picture of the numbers with their intervals, or of one: bars for categories, a line with a band for dates."""
        from tacit.release.charts import chart

        return chart(self.labelled(), path, column, title)

    def plot(self, path: str | Path | None = None, column: str | None = None, title: str | None = None) -> Picture:
        """The same as `chart`."""
        return self.chart(path, column, title)

    # --- for people ---

    def __str__(self) -> str:
        table = [[heading(column) for column in self.columns], *self._cells()]
        widths = [max(map(width, cells)) for cells in zip(*table, strict=True)]
        lines = ["  ".join(cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)) for row in table]
        return "\n".join([*(line.rstrip() for line in lines), "", *self.below()])

    __repr__ = __str__

    def footer(self) -> str:
        """The price and the meaning of the error bars, in one line."""
        if self.receipt.entry is None and self.columns and all(column.kind == PUBLIC for column in self.columns):
            return FREE
        if not self.receipt.epsilon and self.receipt.entry is None and not self.receipt.entries:
            return NO_ROWS
        spent = f"{self.receipt.again_words.capitalize()}." if self.receipt.again else f"Spent: {self._price()}."
        left = "" if self.receipt.left_epsilon is None else f" Remaining: epsilon {at_most(self.receipt.left_epsilon)}."
        return f"{self._intervals()}. {spent}{left}"

    def caption(self) -> str:
        """The line of a picture that is published: intervals and price, and never a balance."""
        return FREE if self.footer() == FREE else f"{self._intervals().removesuffix(' (per value)')}, {self._price()}"

    def _intervals(self) -> str:
        if self.columns and not any(column.has_interval for column in self.columns):
            return "No intervals"
        rows = "all rows before the choice together" if CHOSEN in self.notes else "per value"
        return f"{100 * float(self.confidence):.4g} % intervals ({'all values together' if self.simultaneous else rows})"

    def _price(self) -> str:
        delta = f", delta {as_text(self.receipt.delta)}" if self.receipt.delta else ""
        where = f" in each of {self.receipt.periods}" if self.receipt.periods else ""
        return f"epsilon {as_text(self.receipt.epsilon)}{delta}{where}"

    def below(self) -> list[str]:
        """The lines under the table: the number of rows, the price, and the public limits that shaped the numbers."""
        more = [f"{MOST_SHOWN} of {len(self):,} rows are shown; CSV, JSON and Parquet have all"] if len(self) > MOST_SHOWN else []
        printed = (NOT_SHOWN, UNKNOWN, NO_INTERVAL, NO_QUANTILE, TIDIED, NOT_TIDIED)
        missing = [for_terminal(note) for note in self.notes if note.startswith(printed)]
        return [*more, self.footer(), *missing, *([f"limits: {'; '.join(self.limits)}"] if self.limits else [])]

    def _cells(self) -> list[list[str]]:
        """The rows that are printed, as texts."""
        return [[cell_text(column, at) for column in self.columns] for at in range(min(len(self), MOST_SHOWN))]

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(header_style="bold")
        for column in self.columns:
            table.add_column(Text(heading(column)), justify="right" if column.is_number else "left")
        for cells in self._cells():
            table.add_row(*map(Text, cells))
        return Group(table, *(Text(line, style="dim") for line in self.below()))

    def _repr_html_(self) -> str:
        header = [(heading(column), column.is_number) for column in self.columns]
        return table_for_html(header, self._cells(), self.below()) + self._picture()

    def _picture(self) -> str:
        """The chart below the table: an image of its own, whose styles do not reach the page. None without groups to compare."""
        kinds = [column.is_number for column in self.columns]
        if len(self) < 2 or not any(kinds) or not any(column.is_key for column in self.columns):
            return ""
        drawn = b64encode(self.chart().svg().encode()).decode()
        return f'<img alt="chart" style="max-width: 100%; margin-top: 0.6em" src="data:image/svg+xml;base64,{drawn}">'


def heading(column: Column) -> str:
    """The heading of a column."""
    return for_terminal(column.name, LONGEST_CELL)


def cell_text(column: Column, at: int) -> str:
    """A printed cell: a number with its interval, rounded to a precision that the interval allows."""
    value = column.values[at]
    if column.kind in ("text", "mode") or (column.is_number and not column.has_interval and value is not None):
        number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        text = f"{value:,}" if number else "NULL" if value is None else str(value)
        return f"{for_terminal(text, LONGEST_CELL)} (noisy)"
    if column.kind == END and isinstance(value, int | float | Decimal):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.12g}"
    if column.is_key or value is None or column.low is None or column.high is None:
        return "NULL" if value is None else for_terminal(str(column.label(at)), LONGEST_CELL)
    low, high = column.low[at], column.high[at]
    if low is None or high is None:
        return f"{value:,.6g} (error unbounded)" if isinstance(value, int | float | Decimal) else str(value)
    if isinstance(value, str) or isinstance(low, str) or isinstance(high, str):
        return f"{'unknown' if column.is_unknown(at) else value} [{low}, {high}]"
    if column.kind == "quantile" and all(float(number).is_integer() for number in (value, low, high)):
        value, low, high = int(value), int(low), int(high)  # values of the declared grid, not estimates between its steps
    below, above = value - low, high - value
    whole = all(isinstance(number, int) for number in (value, low, high))
    form = "," if whole else f",.{_decimals(float(max(below, above)))}f"
    if column.is_unknown(at):
        return f"unknown [{low:{form}}, {high:{form}}]"
    if abs(float(below - above)) <= 1e-9 * max(1.0, abs(float(above))):
        return f"{value:{form}} ± {above:{form}}"
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def _of_one_type(values: Sequence[Any]) -> list[Any]:
    """The values for a table column of one type: text if any is text, decimals if any exceeds the machine numbers."""
    given = [value for value in values if value is not None]
    texts, truths = (sum(isinstance(value, kind) for value in given) for kind in (str, bool))
    large = any(isinstance(value, Decimal) or (isinstance(value, int) and not -(2**63) <= value < 2**63) for value in given)
    if 0 < texts < len(given) or 0 < truths < len(given):
        return [None if value is None else str(value) for value in values]
    if large:
        decimals = [None if value is None else Decimal(str(value)) for value in values]
        fitting = all(len(number.as_tuple().digits) <= MOST_DIGITS for number in decimals if number is not None)
        return decimals if fitting else [None if number is None else f"{number:f}" for number in decimals]
    if any(isinstance(value, float) for value in given):
        return [None if value is None else float(value) for value in values]
    return list(values)


def _plain(value: Any) -> Any:
    """A value for JSON: a number that a double would change becomes its exact text."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, int) and abs(value) > DOUBLE_LIMIT else value


def _decimals(width: float) -> int:
    """How many decimals to show for an error of this size: two digits of the error."""
    return int(min(8, max(0, 1 - np.floor(np.log10(width))))) if np.isfinite(width) and width > 0 else 2


def _labels_json(column: Column) -> dict[str, Any]:
    return {"labels": {str(value): label for value, label in column.labels}} if column.labels else {}


def _cell(column: Column, at: int) -> Any:
    value = column.values[at]
    if column.is_key:
        return value
    low, high = ((ends[at] if ends else None) for ends in (column.low, column.high))
    cell: dict[str, Any] = {"value": value, "low": low, "high": high}
    if all(isinstance(number, Numeric) for number in (value, low, high)):
        cell["half_width"] = max(cell["value"] - cell["low"], cell["high"] - cell["value"])  # the wider side, if they differ
    if column.is_unknown(at):
        cell["unknown"] = True
    return cell


# --- as the ledger keeps it --------------------------------------------------------------------------------------------------

DECIMAL = "decimal"


def record(answer: Answer) -> str:
    """The answer as text, column by column, to be stored. A receipt belongs to the analyst who asks, so it is not stored."""
    columns = [
        [column.name, column.kind, column.values, column.low, column.high, *([column.bounds] if column.bounds else [])]
        for column in answer.columns
    ]
    kept = {
        "columns": columns,
        "confidence": str(answer.confidence),
        "amounts": [str(answer.receipt.epsilon), str(answer.receipt.delta)],
        "simultaneous": answer.simultaneous,
        "notes": answer.notes,
        "limits": answer.limits,
        **({} if answer.totals is None else {"totals": [answer.totals.parts, answer.totals.margins, answer.totals.columns]}),
        **({} if answer.requested is None else {"asked": answer.requested}),
        **({} if answer.parts is None else {"parts": answer.parts}),
    }
    return for_json(kept, other=_written_decimal)


def record_for_all(answer: Answer) -> str:
    """The same for whoever pays for the answer: without the names that the first of them gave its columns."""
    return record(with_names(answer, plain_names(len(answer.columns))))


def plain_names(many: int) -> list[str]:
    """The names of columns that have none."""
    return [f"column {number}" for number in range(1, many + 1)]


def _written_decimal(value: object) -> dict[str, str]:
    """A decimal as an object of its own."""
    if not isinstance(value, Decimal):
        raise TypeError(f"an answer has no {type(value).__name__}")
    return {DECIMAL: str(value)}


def _recorded_column(name: str, kind: str, values: Sequence[Any], low: Any, high: Any, bounds: Any = None) -> Column:
    low, high, bounds = (None if end is None else tuple(end) for end in (low, high, bounds))
    return Column(name, kind, tuple(values), low, high, bounds)


def recorded(text: str) -> Answer:
    """The answer that `record` wrote."""
    kept = json.loads(text, object_hook=lambda fields: Decimal(fields[DECIMAL]) if set(fields) == {DECIMAL} else fields)
    columns = [_recorded_column(*column) for column in kept["columns"]]
    epsilon, delta = map(Fraction, kept["amounts"])
    notes, limits = tuple(kept["notes"]), tuple(kept["limits"])
    made = Answer(tuple(columns), Fraction(kept["confidence"]), Receipt(epsilon, delta), kept["simultaneous"], notes, limits)
    parts, margins, added = kept.get("totals", ((), (), ()))
    totals = Totals(tuple(parts), tuple(map(tuple, margins)), tuple(added)) if "totals" in kept else None
    return replace(made, totals=totals, parts=kept.get("parts"))


def with_names(answer: Answer, names: Sequence[str], labels: Sequence[Labels] = ()) -> Answer:
    """The same answer with the column names of another query, and the labels that the catalog declares now."""
    given = [*labels, *((),) * (len(names) - len(labels))]
    columns = zip(answer.columns, names, given, strict=True)
    return replace(answer, columns=tuple(replace(column, name=name, labels=each) for column, name, each in columns))
