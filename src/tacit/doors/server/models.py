"""What each operation is given: strict models, which the front checks and the clerk checks again. They are the OpenAPI document.

An unknown field is refused. Budgets are short decimal texts, so that no float decides what is spent.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

MOST_SQL = 65_536  # bytes
MOST_ENTRY = 2**53 - 1
MOST_SECONDS = 120  # less than the lease of a question in the ledger, which is renewed while it runs
AMOUNT = r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,18})?(e-?[0-9]{1,3})?$"

Amount = Annotated[str, StringConstraints(pattern=AMOUNT, max_length=32), Field(examples=["0.5"])]
Name = Annotated[str, StringConstraints(min_length=1, max_length=64), Field(examples=["ana"])]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Days = Annotated[int, Field(ge=1, le=366)]
Entry = Annotated[int, Field(ge=0, le=MOST_ENTRY)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(10**18), le=10**18)]
Parameter = Annotated[str, StringConstraints(max_length=4096)] | bool | Whole | Number | None


class Strict(BaseModel):
    """Of exactly these fields and types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Strict):
    """An operation without arguments."""


class Budgeted(Strict):
    """A question with its budget: an epsilon (and delta), or an error with a confidence; or one written in the SQL."""

    sql: Annotated[str, StringConstraints(min_length=1, max_length=MOST_SQL), Field(examples=["SELECT COUNT(*) FROM visits"])]
    params: Annotated[dict[Annotated[str, StringConstraints(max_length=64)], Parameter], Field(max_length=100)] | None = None
    epsilon: Amount | None = None
    delta: Amount | None = None
    error: Amount | None = None
    confidence: Amount | None = None
    simultaneous: bool = False
    interval: bool = True
    weights: Annotated[dict[Annotated[str, StringConstraints(max_length=128)], Amount], Field(max_length=100)] | None = None

    @field_validator("sql")
    @classmethod
    def short(cls, sql: str) -> str:
        """At most 64 KiB."""
        if len(sql.encode()) > MOST_SQL:
            raise ValueError("SQL is limited to 64 KiB")
        return sql


class Asked(Budgeted):
    """A question to be answered."""

    groups: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class Question(Asked):
    """The same, with the form of its answer: for people, or for a client that makes the same answer of it."""

    form: Literal["plain", "exact"] = "plain"


class Explained(Budgeted):
    """A question to be explained."""


class AnswerWanted(Strict):
    """An answer that was paid for, and the form in which it is wanted."""

    entry: Entry
    form: Literal["json", "csv", "arrow", "svg", "exact"] = "json"


class HistoryWanted(Strict):
    """The latest entries of one's own, or those before an entry."""

    last: Annotated[int, Field(ge=1, le=200)] = 20
    before: Entry | None = None


class NewAccount(Strict):
    """A new account and the days that its first token lives."""

    name: Name
    role: Literal["analyst", "curator", "auditor"]
    days: Days = 90


class NewToken(Strict):
    """Another token of an account; with `replace`, in the place of all that it has."""

    name: Name
    days: Days = 90
    replace: bool = False


class OwnToken(Strict):
    """A new token in the place of the one that is presented."""

    days: Days = 90


class Revocation(Strict):
    """All tokens of an account, or one by its number."""

    name: Name
    number: Annotated[int, Field(ge=1, le=MOST_ENTRY)] | None = None


class NewCaps(Strict):
    """Caps of an analyst below those of the catalog; one that is left out is the catalog's."""

    name: Name
    epsilon: Amount | None = None
    delta: Amount | None = None
    epsilon_per_query: Amount | None = None


class NewLimits(Strict):
    """The seconds that a question may take; never below those for which its worst work is bounded."""

    seconds: Annotated[int, Field(ge=60, le=MOST_SECONDS)]


class Resumption(Strict):
    """The reason for which questions go on after failures; the ledger records it."""

    reason: Reason


class LogWanted(Strict):
    """The latest lines of the data owner's log."""

    last: Annotated[int, Field(ge=1, le=1000)] = 100


class LedgerWanted(Strict):
    """Entries of the ledger, from a number on."""

    first: Entry = 0
    count: Annotated[int, Field(ge=1, le=1000)] = 100
