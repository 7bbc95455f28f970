"""The errors that an analyst sees: half widths at the stated confidence, by which two quotes for a question are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from tacit.query.plan import Moment
from tacit.query.price.chances import missed_by, most_groups
from tacit.query.price.needs import Need, needs_of, row_size
from tacit.query.price.quote import Quote


def relative_error(quote: Quote, other: Quote, weights: Mapping[int, Fraction]) -> float:
    """The squared half widths of all numbers of the answer, each relative to the other quote and with its weight, added up."""
    total = 0.0
    for need in needs_of(quote.question, weights):
        mine, theirs = half_width(need, quote), half_width(need, other)
        total += float(need.weight) ** 2 * ((mine / theirs) ** 2 if theirs else 1.0)
    return total


def half_width(need: Need, quote: Quote) -> float:
    """What one number of the answer misses at its confidence, in rows: the root of the squares of what each of its sums does.

    Drawn values and private keys have the same noise in every quote for a question, and count as nothing here.
    """
    part = quote.parts[need.part]
    missed = 1 - quote.request.confidence
    if need.column is not None and part.question in quote.question.shown:
        missed = missed_by(need.column.value, part.question, quote.request, most_groups(part.question))
    known = {each.moment: each.mechanism for each in part.noisy_sums}
    squares = [
        float(square) * (float(known[item.what].interval(1 - missed).above) / row_size(item.what)) ** 2
        for item, square in need.squares
        if isinstance(item.what, Moment) and item.what in known
    ]
    return math.sqrt(sum(squares))
