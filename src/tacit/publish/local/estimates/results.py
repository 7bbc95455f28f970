"""The published estimates with their intervals, as values that print, and go to CSV and to a chart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.files import write
from tacit.privacy.rounding import as_text
from tacit.publish.local.estimates.consistent import narrow_intervals, onto_simplex
from tacit.untrusted import LONGEST_CELL, csv_text, distinct, for_chart, for_terminal, for_title, in_columns, width

Floats = NDArray[np.float64]
WIDEST_LABEL = 58  # columns of a category's name in a chart


@dataclass(frozen=True, slots=True)
class Terms:
    """The statement of an interval: its confidence, its bound, for all numbers together or for each, and for which people.

    `rounding` is the part of the half-width that rounding the answers to the public grid may have cost.
    """

    confidence: Fraction
    bound: str
    simultaneous: bool = False
    sampled: bool = False
    rounding: Fraction = Fraction(0)

    def __str__(self) -> str:
        together = "all together" if self.simultaneous else "each"
        whom = "of the population sampled" if self.sampled else "of those who answered"
        rounding = f", with ± {as_text(self.rounding)} for rounding" if self.rounding else ""
        return f"{as_text(100 * self.confidence)} % {together}, {self.bound}, {whom}{rounding}"


class Rows(ABC):
    """Values that can be written as rows: the names of their columns, and the rows."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each row, with the columns as its keys."""

    def to_csv(self, path: str | Path | None = None) -> str:
        """The rows as CSV text, also written to `path` if there is one."""
        return to_csv_text(self.columns, self.to_rows(), path)


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies(Rows):
    """The share of every category: unbiased `values`, the ends of intervals, and the `margin` that no half-width exceeds.

    `exclusive` says that every person has exactly one category, so that the shares sum to one.
    """

    columns: ClassVar = ("category", "share", "low", "high", "consistent")
    people: int
    values: Floats
    low: Floats
    high: Floats
    margin: float
    terms: Terms
    names: tuple[str, ...] = ()
    exclusive: bool = True

    def __len__(self) -> int:
        return len(self.values)

    def named(self, names: Sequence[str]) -> Frequencies:
        """The same with the categories' names."""
        return replace(self, names=read_names(names, len(self)))

    @property
    def consistent(self) -> Floats:
        """The shares made possible: not negative, and of sum one where categories exclude each other; nearer to the truth."""
        return onto_simplex(self.values) if self.exclusive else np.clip(self.values, 0.0, 1.0)

    def narrowed(self) -> Frequencies:
        """Intervals made shorter by the rule that shares sum to one; for simultaneous ones of exclusive categories."""
        if not (self.exclusive and self.terms.simultaneous):
            raise InvalidInput(
                "consistent intervals require simultaneous ones; estimate with simultaneous=True", argument="simultaneous"
            )
        low, high = narrow_intervals(self.low, self.high)
        return replace(self, low=low, high=high)

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary for each category."""
        return rows_of(self.columns, self.names, self.values, self.low, self.high, self.consistent)

    def __str__(self) -> str:
        rows = [(row["category"], *(f"{row[key]:.4f}" for key in self.columns[1:])) for row in self.to_rows()]
        return f"{table(self.columns, rows)}\n{self.people} people; {self.terms}"

    def chart(self, path: str | Path | None = None, title: str = "Estimated shares") -> Any:
        """An Altair chart: a bar of possible values, the unbiased estimate and the interval for each category."""
        return interval_chart(self.to_rows(), "category", "share", title, path)


@dataclass(frozen=True, slots=True)
class Mean(Rows):
    """The mean of a number: the unbiased `value`, the ends of its interval, and the half-width, which is public in advance."""

    columns: ClassVar = ("mean", "low", "high", "people")
    people: int
    value: float
    low: float
    high: float
    margin: float
    terms: Terms

    def to_rows(self) -> list[dict[str, Any]]:
        """One dictionary."""
        return [{"mean": self.value, "low": self.low, "high": self.high, "people": self.people}]

    def __str__(self) -> str:
        return f"mean {self.value:.6g}, from {self.low:.6g} to {self.high:.6g}; {self.people} people; {self.terms}"

    def chart(self, path: str | Path | None = None, title: str = "Estimated mean") -> Any:
        """An Altair chart of the estimate and its interval."""
        return interval_chart([{**row, "name": "mean"} for row in self.to_rows()], "name", "mean", title, path)


def read_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    """The names; raises unless there are `count` of them."""
    if len(names) != count:
        raise InvalidInput(f"{count} categories require {count} names, not {len(names)}")
    return tuple(names)


def rows_of(columns: Sequence[str], names: Sequence[str], *numbers: NDArray[Any]) -> list[dict[str, Any]]:
    """One dictionary for each category, with its name, or its code where it has none, in the first column."""
    called = names or [str(code) for code in range(len(numbers[0]))]
    return [dict(zip(columns, row, strict=True)) for row in zip(called, *(each.tolist() for each in numbers), strict=True)]


def to_csv_text(columns: Sequence[str], rows: Sequence[dict[str, Any]], path: str | Path | None) -> str:
    """Rows as CSV text, saved where a path is given; no text in them is a formula to a spreadsheet."""
    text = csv_text({name: [row.get(name, "") for row in rows] for name in columns})
    if path is not None:
        write(path, text)
    return text


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, the first to the left and the others to the right; a name has no line of its own, and no great length."""
    shown = [[for_terminal(cell, LONGEST_CELL) for cell in row] for row in (heads, *rows)]
    widths = [max(map(width, column)) for column in zip(*shown, strict=True)]
    blanks = [[" " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)] for row in shown]
    lines = [
        [first + blank, *(more + cell for cell, more in zip(cells, before, strict=True))]
        for (first, *cells), (blank, *before) in zip(shown, blanks, strict=True)
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def with_distinct_labels(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The rows with labels that all differ, since rows with the same label are drawn as one."""
    labels = distinct({at: in_columns(for_chart(str(row[name])), WIDEST_LABEL) for at, row in enumerate(rows)})
    return list(for_chart([{**row, name: labels[at]} for at, row in enumerate(rows)]))


def interval_chart(rows: list[dict[str, Any]], name: str, value: str, title: str, path: str | Path | None) -> Any:
    """Intervals as lines with the estimate as a dot, one row for each name; bars of consistent values where there are any."""
    from tacit.chart import COLOURS, charting, save

    alt = charting()
    rows, title = with_distinct_labels(rows, name), for_title(title)
    order = [row[name] for row in rows]
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y(f"{name}:N", title=None, sort=order, axis=alt.Axis(labelLimit=0)))
    across: dict[str, Any] = {"title": value, "axis": alt.Axis(tickCount=6, gridOpacity=0.4)}
    lines = base.mark_rule(strokeWidth=2, color=COLOURS[1]).encode(x=alt.X("low:Q", **across), x2="high:Q")
    dots = base.mark_circle(size=60, color=COLOURS[1], opacity=1).encode(x=f"{value}:Q")
    layers, marks = [lines, dots], "dot: estimate; line: interval"
    if "consistent" in rows[0]:
        layers.insert(0, base.mark_bar(color=COLOURS[0], size=12).encode(x=alt.X("consistent:Q", **across)))
        marks += "; bar: made possible"
    if min(row["low"] for row in rows) < 0:
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        layers.insert(0, zero.mark_rule(color=COLOURS[5], strokeDash=[4, 3]).encode(x=alt.X("zero:Q", **across)))
    head = alt.TitleParams(title, subtitle=marks, anchor="start")
    whole = alt.layer(*layers).properties(title=head, width=480, height=max(60, 24 * len(rows)))
    return save(whole.configure_view(stroke=None), path)
