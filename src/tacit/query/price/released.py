"""What a question releases, and what of it is paid for: sums, quantiles, modes and private keys."""

from __future__ import annotations

from tacit.query.groups import private
from tacit.query.plan import Call, Moment, Question
from tacit.query.price.aggregates import moments_of
from tacit.query.price.margins import ADDITIVE
from tacit.query.price.modes import modes_of
from tacit.query.price.stability import Reach, l1_sensitivity


def moves(moment: Moment, touched: Reach) -> bool:
    """Whether one unit can change a moment, so that its release has a price."""
    return moment.kind == "list" or l1_sensitivity(moment, touched) > 0


def additive(question: Question) -> list[tuple[int, Moment]]:
    """The sums of a part, with their places among its moments."""
    return [(place, moment) for place, moment in enumerate(question.group.moments) if moment.kind != "list"]


def quantiles(question: Question) -> list[tuple[int, Call]]:
    """The quantiles of a part, each with the place of its list."""
    moments = question.group.moments
    return [(moments.index(moments_of(call, question.calls)[0]), call) for call in question.calls if call.name == "quantile"]


def charged(question: Question) -> list[tuple[int, Moment]]:
    """The sums that are paid for; the number of units is already released with private keys."""
    return [(place, moment) for place, moment in additive(question) if not (private(question) and moment.kind == "units")]


def paid(question: Question, touched: Reach) -> list[tuple[int, Moment]]:
    """The same without those that no unit can change: they are released as they are, and have no share."""
    return [(place, moment) for place, moment in charged(question) if moves(moment, touched)]


def measured(question: Question, added: bool) -> list[tuple[int, Moment]]:
    """The sums of a part that get noise of their own: all that are paid for, or those that cannot be added up."""
    return [(place, moment) for place, moment in charged(question) if not (added and moment.kind in ADDITIVE)]


def besides_sums(question: Question) -> int:
    """What a part releases besides sums: its quantiles and modes, and its keys where they are private."""
    return len(quantiles(question)) + len(modes_of(question)) + private(question)
