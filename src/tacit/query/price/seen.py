"""The errors that an analyst sees: half widths at the stated confidence, by which two quotes for a question are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.mechanisms.mechanism import Additive
from tacit.query.pauses import pause
from tacit.query.plan import Moment
from tacit.query.price.chances import missed_by, most_groups
from tacit.query.price.margins import Added
from tacit.query.price.needs import Need, needs_of, row_size
from tacit.query.price.quote import Quote

Widths = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The numbers of an answer, each with the chance that it may miss, by which quotes for it are compared.

    Quotes for one question have most of their noise in common. What was computed of one mechanism is kept, here and no longer.
    """

    needs: tuple[tuple[Need, Fraction], ...]
    _known: dict[tuple[Additive | Added, Fraction], float] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, quote: Quote, weights: Mapping[int, Fraction]) -> Seen:
        """The numbers of the question of a quote."""
        return cls(tuple((need, _missed(need, quote)) for need in needs_of(quote.question, weights)))

    def relative_error(self, mine: Widths, other: Widths) -> float:
        """The squared half widths of all numbers of the answer, each relative to the other quote and with its weight, added up."""
        total = 0.0
        for (need, _), width, theirs in zip(self.needs, mine, other, strict=True):
            total += float(need.weight) ** 2 * ((width / theirs) ** 2 if theirs else 1.0)
        return total

    def half_widths(self, quote: Quote) -> Widths:
        """What each number of the answer misses at its confidence, in rows: the root of the squares of what each of its sums does.

        Drawn values and private keys have the same noise in every quote for a question, and count as nothing here.
        """
        known = [{each.moment: each.mechanism for each in part.noisy_sums} for part in quote.parts]
        return tuple(self._half_width(need, missed, known[need.part]) for need, missed in self.needs)

    def _half_width(self, need: Need, missed: Fraction, known: Mapping[Moment, Additive | Added]) -> float:
        squares = [
            float(square) * (self._interval(known[item.what], missed) / row_size(item.what)) ** 2
            for item, square in need.squares
            if isinstance(item.what, Moment) and item.what in known
        ]
        return math.sqrt(sum(squares))

    def _interval(self, mechanism: Additive | Added, missed: Fraction) -> float:
        key = mechanism, missed
        if key not in self._known:
            pause()
            self._known[key] = float(mechanism.interval(1 - missed).above)
        return self._known[key]


def _missed(need: Need, quote: Quote) -> Fraction:
    """The chance that one number of the answer may miss."""
    part = quote.parts[need.part]
    if need.column is not None and part.question in quote.question.shown:
        return missed_by(need.column.value, part.question, quote.request, most_groups(part.question))
    return 1 - quote.request.confidence
