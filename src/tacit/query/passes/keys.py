"""The groups of the answer: all are known before any data is read, or they must pass a threshold."""

from __future__ import annotations

from math import prod

from tacit.errors import TooManyGroups
from tacit.query.groups import MOST_CELLS, MOST_QUANTILES, drawn_in_groups, size
from tacit.query.plan import Question


def keys(question: Question) -> Question:
    """The query itself; raises if it has too many public groups."""
    cells = prod(size(key) for key in question.group.keys)
    drawn = drawn_in_groups(question)
    most = MOST_QUANTILES // drawn if drawn else MOST_CELLS
    if cells > most:
        many = str(cells) if cells < 10**15 else "more than 10^15"
        raise TooManyGroups(
            f"the question has {many} groups, including empty ones; the limit is {most}",
            remedy="group by fewer or coarser expressions, for example FLOOR(x / 10) * 10",
        )
    return question
