"""The chance with which each released number may miss, so that every interval of the answer holds with its confidence."""

from __future__ import annotations

from fractions import Fraction

from tacit.errors import NotAllowed
from tacit.query.groups import private, shown_at_most
from tacit.query.plan import Call, Question
from tacit.query.price.misses import beside_in, calls_behind, chooses, pieces
from tacit.query.price.quote import cells_of
from tacit.query.price.request import Request
from tacit.query.results import Out, is_noisy


def missed_by(out: Out, question: Question, asked: Request, groups: int) -> Fraction:
    """The chance that each released number of an output may miss, so that the output misses with at most 1 - confidence.

    Where released numbers choose the rows, or where it is asked for, all rows hold together; then also all columns.
    """
    together = asked.simultaneous or chooses(question)
    columns = sum(1 for output in question.outputs if is_noisy(output.value)) if asked.simultaneous else 1
    parts = question.among if together else 1
    return (1 - asked.confidence) / (pieces(out, question, groups, together) * max(1, columns) * parts)


def missed_for(question: Question, asked: Request, call: Call) -> Fraction:
    """The strictest chance of a miss among the outputs that use a call; private keys count as many groups as can be shown."""
    if asked.simultaneous and private(question):
        raise NotAllowed("with private keys, intervals hold per value only", remedy="leave out simultaneous")
    outs = [output.value for output in question.outputs if call in calls_behind(output.value, question)]
    return min((missed_by(out, question, asked, most_groups(question)) for out in outs), default=1 - asked.confidence)


def missed_in(at: int, call: Call, question: Question, asked: Request) -> Fraction:
    """The same for the call of a part; where it stands beside the question, among the outputs that use its number."""
    part, index = question.parts[at], at - 1
    if not 0 <= index < len(question.beside):
        return missed_for(part, asked, call)
    if asked.simultaneous and any(map(private, question.shown)):
        raise NotAllowed("with private keys, intervals hold per value only", remedy="leave out simultaneous")
    used = [(each, out.value) for each in question.shown for out in each.outputs if index in beside_in(out.value)]
    return min((missed_by(out, each, asked, most_groups(each)) for each, out in used), default=1 - asked.confidence)


def most_groups(question: Question) -> int:
    """How many groups an answer can have."""
    return shown_at_most(question) if private(question) else cells_of(question)
