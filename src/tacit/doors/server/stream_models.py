"""The models of streams over HTTP, which the front checks and the clerk checks again."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tacit.doors.server.models import Budget, Strict, Text
from tacit.doors.server.shapes import Amounts, Shape


class StreamPriced(Strict):
    """A stream to be explained: SQL with :last, the last period to read, the horizon, and the price of a period."""

    sql: Text
    through: Annotated[str, StringConstraints(min_length=4, max_length=10), Field(examples=["2026-09"])]
    horizon: Annotated[int, Field(ge=2, le=10_000, examples=[120])]
    epsilon: Budget
    delta: Budget
    confidence: Budget | None = None


class StreamAsked(StreamPriced):
    """A stream to be read up to a period; what was read before costs nothing."""


class StreamWanted(StreamAsked):
    """The same, with the form of its answer."""

    form: Literal["plain", "exact", "csv", "arrow"] = "plain"


class TotalError(Shape):
    """The half width of the total of the first periods, and that of as many independent answers added up."""

    periods: int
    half_width: float
    added_up: float


class StreamExplanation(Shape):
    """The price of a stream in each period and for a person in all of them, and the errors of its totals."""

    first: str
    horizon: int
    per: str
    price: Amounts
    rho: float
    rho_lifetime: float
    rho_lifetime_of_independent: float
    confidence: float
    errors: list[TotalError]
