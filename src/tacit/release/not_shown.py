"""What a margin counts and no shown group does: with private keys, the groups below the threshold. From released numbers alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tacit.query.plan import Question
from tacit.query.price.price import Quote
from tacit.query.results import Result
from tacit.release.answer import NOT_SHOWN
from tacit.release.intervals import band_of
from tacit.release.noisy import Noisy

COUNTED = frozenset({"count", "sum"})


def not_shown(parts: Sequence[tuple[Quote, Noisy]]) -> Iterator[str]:
    """For every grouping set with private keys: how much of each count and sum its shown groups leave out, by the next margin.

    Columns have numbers here and not names: an answer is kept, and repeated under the names of another question.
    """
    for quote, noisy in parts:
        margin = _next(quote.question, parts)
        if quote.keys is None or margin is None:
            continue
        for place, output in enumerate(quote.question.outputs, start=1):
            if isinstance(output.value, Result) and quote.question.calls[output.value.index].name in COUNTED:
                whole, shown = (float(np.sum(band_of(output.value, *part).value)) for part in (margin, (quote, noisy)))
                told = f"{NOT_SHOWN}{place}, grouped by {_keys(quote.question)}: {whole - shown:,.6g}"
                yield f"{told} (the margin {_margin(margin[0].question)}, less the groups that are shown)"


def _keys(question: Question) -> str:
    number = len(question.group.keys)
    return "1 key" if number == 1 else f"{number} keys"


def _margin(question: Question) -> str:
    return f"by {_keys(question)}" if question.group.keys else "of all rows"


def _next(question: Question, parts: Sequence[tuple[Quote, Noisy]]) -> tuple[Quote, Noisy] | None:
    """The margin over the same rows with the most of a question's keys, and not all; a public one before a private one."""
    keys = {key.term for key in question.group.keys}
    coarser = [
        part
        for part in parts
        if part[0].question.group.child == question.group.child and {key.term for key in part[0].question.group.keys} < keys
    ]
    public = [part for part in coarser if part[0].keys is None]
    return max(public or coarser, key=lambda part: len(part[0].question.group.keys), default=None)
