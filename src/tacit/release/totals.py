"""Which rows of an answer are totals of others: from the question and its public groups alone."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.query.groups import private
from tacit.query.plan import Question
from tacit.query.price.price import Quote
from tacit.query.results import Result
from tacit.release.noisy import Noisy
from tacit.release.tidy import Totals

ADDED = frozenset({"count", "sum"})
Parts = Sequence[tuple[Quote, Noisy]]


def totals_of(parts: Parts, rows: Sequence[tuple[int, int]]) -> Totals | None:
    """The totals of ROLLUP, CUBE and GROUPING SETS over public keys, if all rows are shown and one set refines all others."""
    questions = [quote.question for quote, _ in parts]
    columns = tuple(place for place in range(len(questions[0].outputs)) if _is_added(questions, place))
    if len(parts) < 2 or not columns or any(map(_chooses, questions)):
        return None
    if any(each.group.child != questions[0].group.child for each in questions):
        return None  # not over the same rows
    keys = [{key.term for key in question.group.keys} for question in questions]
    finest = max(range(len(parts)), key=lambda at: len(keys[at]))
    if not all(each < keys[finest] for at, each in enumerate(keys) if at != finest):
        return None
    place_of = {row: place for place, row in enumerate(rows)}
    groups = parts[finest][1].groups
    margins = tuple(_margin(parts, at, finest, place_of) for at in range(len(parts)) if at != finest)
    return Totals(tuple(place_of[finest, at] for at in range(len(groups))), margins, columns)


def _margin(parts: Parts, at: int, finest: int, place_of: dict[tuple[int, int], int]) -> tuple[int, ...]:
    """For every group of the finest set, the row of its total in another one."""
    terms = [key.term for key in parts[finest][0].question.group.keys]
    kept = [terms.index(key.term) for key in parts[at][0].question.group.keys]
    totals = {group: place_of[at, place] for place, group in enumerate(parts[at][1].groups)}
    return tuple(totals[tuple(group[place] for place in kept)] for group in parts[finest][1].groups)


def _chooses(question: Question) -> bool:
    cut = question.limit is not None or question.offset > 0
    return private(question) or question.having is not None or question.qualify is not None or cut


def _is_added(questions: Sequence[Question], place: int) -> bool:
    """Whether a column is the same count or sum in all parts."""
    outs = [(question, question.outputs[place].value) for question in questions]
    calls = {question.calls[out.index] if isinstance(out, Result) else None for question, out in outs}
    call = calls.pop()
    return not calls and call is not None and call.name in ADDED
