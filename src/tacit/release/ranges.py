"""Margins with columns in intervals, from the numbers of their question: histograms as they are, cumulative counts added up.

All of it is work on released numbers. A cumulative count is the sum of released whole numbers, and its interval is by the law of
all noises that enter it (mechanisms/ranges.md), moved to whole numbers as that of every estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.errors import InvalidInput, NotAllowed
from tacit.mechanisms.ranges import SumOfCells
from tacit.privacy.arguments import truth_of
from tacit.query.intervals.bands import Noisy, ends_of
from tacit.query.language.sql import parse
from tacit.query.language.syntax import Select
from tacit.query.plan import Key
from tacit.query.price.price import Quote
from tacit.query.price.quote import Request, request_of
from tacit.query.question import domain, key_value
from tacit.query.ranges import Layout, Ranged, layout_of
from tacit.release.answer import Answer, Column
from tacit.release.elsewhere.packed import parts_read

if TYPE_CHECKING:
    from tacit.privacy.catalog import Catalog
    from tacit.query.offers import Offer
    from tacit.query.price.explanation import Explanation

Row = tuple[tuple[Any, ...], int, float, float]


@dataclass(frozen=True)
class Part:
    """One grouping set of the question: its columns with their digits, the quote and the numbers."""

    layout: Layout
    chosen: tuple[tuple[int, int], ...]
    quote: Quote
    noisy: Noisy
    order: tuple[int, ...] = ()  # of shared measurements: the places of the keys in the order of the axes

    @cached_property
    def spans(self) -> tuple[tuple[int, int, int], ...]:
        """For every column: its number, where its keys begin among those of the part, and how many they are."""
        spans, first = [], 0
        for at, many in self.chosen:
            spans.append((at, first, max(many, 1)))
            first += max(many, 1)
        return tuple(spans)

    @cached_property
    def cumulative_places(self) -> tuple[int, ...]:
        """The columns that are counted cumulatively, by their place in `chosen`."""
        return tuple(place for place, (at, _) in enumerate(self.chosen) if _is_cumulative(self.layout.columns[at]))

    @cached_property
    def values(self) -> tuple[tuple[Any, ...], ...]:
        """The possible values of every column, in order: the places of intervals, or stored values."""
        listed = list[tuple[Any, ...]]()
        for at, first, many in self.spans:
            column, keys = self.layout.columns[at], self.quote.question.group.keys[first : first + many]
            domains = list(map(domain, keys))
            if isinstance(column, Ranged):
                places = {place for digits in product(*domains) if (place := column.place(digits)) is not None}
                listed.append(tuple(sorted(places)))
            else:
                listed.append(domains[0])
        return tuple(listed)

    def rows(self, missed: Fraction) -> Iterator[Row]:
        """The keys of every row as they are shown, its count, and the ends of its interval."""
        numbers, (low, high) = self._by_column(self.noisy.sums[0][1]), map(self._by_column, ends_of(self.noisy, 0, missed))
        if self.cumulative_places:
            centres = self._by_column(self.noisy.centres[0])
            for place in self.cumulative_places:
                numbers, centres = np.cumsum(numbers, axis=place), np.cumsum(centres, axis=place)
            widths = self._widths(missed)
            low = np.minimum(np.ceil(centres - widths), numbers)
            high = np.maximum(np.floor(centres + widths), numbers)
        for index in np.ndindex(numbers.shape):
            yield self._key_values(index), int(numbers[index]), float(low[index]), float(high[index])

    def _by_column(self, flat: Any) -> Any:
        """Numbers of groups by the values of every column; groups that no row can be in are left out."""
        places = [{value: at for at, value in enumerate(values)} for values in self.values]
        shaped = np.zeros([len(each) for each in places], dtype=np.asarray(flat).dtype)
        for group, number in zip(self.noisy.groups, flat, strict=True):
            index = [self._place(span, group) for span in self.spans]
            if all(value in of for value, of in zip(index, places, strict=True)):
                shaped[tuple(of[value] for value, of in zip(index, places, strict=True))] = number
        return shaped

    def _place(self, span: tuple[int, int, int], group: Sequence[Any]) -> Any:
        at, first, many = span
        column = self.layout.columns[at]
        return column.place(group[first : first + many]) if isinstance(column, Ranged) else group[first]

    def _key_values(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        """The values of all key columns of the answer in one row: of an interval both ends; None for a column that it lacks."""
        shown: dict[int, tuple[Any, ...]] = {}
        for (at, first, many), place, values in zip(self.spans, index, self.values, strict=True):
            column = self.layout.columns[at]
            if isinstance(column, Ranged):
                shown[at] = column.ends(values[place], many)
            else:
                shown[at] = (key_value(self.quote.question.group.keys[first].term, values[place]),)
        return tuple(
            value
            for at, column in enumerate(self.layout.columns)
            for value in shown.get(at, (None,) * (len(column.key_names) if isinstance(column, Ranged) else 1))
        )

    def _widths(self, missed: Fraction) -> Any:
        """The half-width of every row: it follows from the places along the cumulative columns alone."""
        lengths = [len(values) for values in self.values]
        widths = np.zeros([length if place in self.cumulative_places else 1 for place, length in enumerate(lengths)])
        for index in np.ndindex(widths.shape):
            widths[index] = float(self.noise([index[place] for place in self.cumulative_places]).interval(1 - missed).above)
        return widths

    def noise(self, last: Sequence[int]) -> SumOfCells:
        """The noise of the cumulative counts whose last interval is at these places of the cumulative columns."""
        estimated = self.quote.shared[0].mechanism  # what is cumulative shares measurements
        axis_of = dict(zip(self.order, estimated.axes, strict=True))
        factors: Any = np.ones(())
        axes: list[int] = []
        for place, end in zip(self.cumulative_places, last, strict=True):
            at, first, many = self.spans[place]
            column = self.layout.columns[at]
            assert isinstance(column, Ranged)  # noqa: S101  # only such are cumulative
            domains = [domain(key) for key in self._keys(first, many)]
            inside = [column.place(digits) for digits in product(*domains)]
            rows = np.array([each is not None and each <= self.values[place][end] for each in inside], dtype=np.float64)
            factors = np.multiply.outer(factors, rows.reshape([len(each) for each in domains]))
            axes += [axis_of[key] for key in range(first, first + many)]
        rising = sorted(range(len(axes)), key=axes.__getitem__)
        digits = tuple(axes[at] for at in rising)
        return SumOfCells(estimated.strategy, estimated.axes, digits, np.transpose(factors, rising))

    def _keys(self, first: int, many: int) -> tuple[Key, ...]:
        return self.quote.question.group.keys[first : first + many]


def _is_cumulative(column: Ranged | str) -> bool:
    return isinstance(column, Ranged) and column.cumulative


# --- the answer --------------------------------------------------------------------------------------------------------------


def parts_of(layout: Layout, quote: Quote, noisy: Noisy) -> list[Part]:
    """The grouping sets of the question, in their order."""
    orders = {at: order for workload in quote.workloads for at, _, order in workload.parts}
    listed = zip(layout.sets, quote.parts, noisy.parts, strict=True)
    return [Part(layout, chosen, part, numbers, orders.get(at, ())) for at, (chosen, part, numbers) in enumerate(listed)]


class Holds(Protocol):
    """The parts of a data set that a question in intervals needs."""

    @property
    def as_prepared(self) -> Catalog: ...
    def refresh(self) -> None: ...


class Asks(Protocol):
    """The parts of a session that answer a question."""

    @property
    def data(self) -> Holds: ...
    def answer(self, select: Select, asked: Request, text: str | None = None, fresh: bool = False) -> Answer: ...
    def explain(self, question: str, **budget: Any) -> Explanation: ...


Offers = Callable[[Select, Request, str], "Offer"]
Margins = tuple[str, Sequence[str], int, Sequence[str], str]
"""Table, columns, ways, sums and condition."""


def margins_in_intervals(asking: Asks, offer: Offers, margins: Margins, budget: dict[str, Any]) -> Answer:
    """The answer to margins with columns in intervals: their question, then its numbers as intervals."""
    layout = _layout(asking, margins, budget)
    select, wanted = select_of(layout, budget)
    paid = asking.answer(select, wanted, layout.sql, fresh=True)
    return ranged_answer(layout, offer(select, wanted, layout.sql), paid)


def explained_in_intervals(asking: Asks, margins: Margins, budget: dict[str, Any]) -> Explanation:
    """The explanation of the same question."""
    layout = _layout(asking, margins, budget)
    return asking.explain(layout.sql, **{"loss": layout.loss, **budget})


def _layout(asking: Asks, margins: Margins, budget: dict[str, Any]) -> Layout:
    """The question; takes the columns that are counted cumulatively out of the budget."""
    table, columns, ways, sums, where = margins
    asking.data.refresh()
    prefixes = budget.pop("prefixes", None) or ()
    return layout_of(asking.data.as_prepared, table, columns, prefixes, {"ways": ways, "sums": sums, "where": where})


def select_of(layout: Layout, budget: Mapping[str, Any]) -> tuple[Select, Request]:
    """The statement and the request of a question for margins in intervals."""
    if truth_of(budget.get("tidy", False), "tidy"):
        raise InvalidInput("tidy is not supported for columns in intervals; leave it out", argument="tidy")
    given = {name: value for name, value in budget.items() if name not in ("tidy", "fresh")}
    select = parse(layout.sql)
    return select, request_of(select.options, {"loss": layout.loss, **given})


def ranged_answer(layout: Layout, offer: Offer, paid: Answer) -> Answer:
    """The answer in intervals: for every column that has them where each begins and ends, then the counts."""
    quote, noisy = noisy_of(offer, paid)
    parts = parts_of(layout, quote, noisy)
    number = sum(prod(map(len, part.values)) for part in parts) if quote.request.simultaneous else 1
    rows = [row for part in parts for row in part.rows((1 - quote.request.confidence) / number)]
    shown = zip(*(row[0] for row in rows), strict=True)
    keys = [Column(name, "key", values) for name, values in zip(_names(layout), shown, strict=True)]
    values, low, high = (tuple(_whole(row[at]) for row in rows) for at in (1, 2, 3))
    counts = Column(paid.columns[-1].name, "count", values, low, high)
    return replace(paid, columns=(*keys, counts), totals=None, parts=None)


def _names(layout: Layout) -> Iterator[str]:
    for column in layout.columns:
        yield from column.key_names if isinstance(column, Ranged) else (column,)


def _whole(number: Any) -> Any:
    return int(number) if float(number).is_integer() else float(number)


def noisy_of(offer: Offer, paid: Answer) -> tuple[Quote, Noisy]:
    """The quote that was paid for with the numbers that were kept beside the answer."""
    for quote in offer.quotes:
        if (noisy := parts_read(quote, paid.parts, offer.version)) is not None:
            return quote, noisy
    raise NotAllowed("the answer was kept without the numbers that intervals are made of", remedy="ask with a larger width")
