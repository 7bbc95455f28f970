"""The models of questions that wait for a curator, which the front checks and the clerk checks again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tacit.doors.server.models import Budget, Name, Strict, TokenNumber
from tacit.doors.server.shapes import Amounts, Explanation, Shape

Why = Annotated[str, StringConstraints(max_length=500)]


class Withdrawal(Strict):
    """A question of one's own that no longer waits."""

    number: TokenNumber


class ApprovalsWanted(Strict):
    """The questions that wait; or one of them, by its account and its number, with the derivation of its price."""

    name: Name | None = None
    number: TokenNumber | None = None


class Verdict(Strict):
    """The decision on a question; reduced ones say the most that it may cost, and the analyst asks anew."""

    name: Name
    number: TokenNumber
    decision: Literal["approved", "reduced", "refused"]
    epsilon: Budget | None = None
    delta: Budget | None = None
    reason: Why = ""


class Waiting(Shape):
    """A question above the limit from which on a curator decides, and what became of it; `most` is what a decision admits."""

    name: str
    number: int
    sql: str | list[str]
    params: dict[str, str | bool | int | float | None] | None
    price: Amounts
    state: Literal["waiting", "approved", "reduced", "refused", "asked", "withdrawn", "expired"]
    at: str
    until: str
    entry: int | None
    most: Amounts | None
    reason: str
    derivation: Explanation | None = None


class EveryWaiting(Shape):
    """Questions that wait or have waited, the latest first."""

    questions: list[Waiting]


class Withdrawn(Shape):
    """The number of a question that was withdrawn."""

    withdrawn: Annotated[int, Field(ge=1)]
