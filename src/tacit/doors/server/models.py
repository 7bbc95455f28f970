"""The models of the API, from which its OpenAPI document is made: what each operation is given. `shapes.py` has the replies.

The front checks what is given, and the clerk checks it again. An unknown field is refused. Budgets are short decimal texts, so that
no float decides what is spent.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, field_validator

from tacit.query.offers import MOST_EPSILONS, MOST_GROUP_ROWS

MOST_SQL = 65_536  # bytes
MOST_ENTRY = 2**53 - 1
MOST_SECONDS = 120  # less than the lease of a question in the ledger, which is renewed while it runs
AMOUNT = r"^(0|[1-9][0-9]{0,8})(\.[0-9]{1,18})?(e-?[0-9]{1,3})?$"


def shortest(given: object) -> object:
    """A JSON number as its shortest decimal text; all else as it is, to be checked as a text.

    >>> shortest(0.5), shortest(2), shortest("0.5"), shortest(True), shortest(1e-9)
    ('0.5', '2', '0.5', True, '1e-09')
    """
    return given if isinstance(given, bool) or not isinstance(given, int | float) else repr(given)


Amount = Annotated[str, StringConstraints(pattern=AMOUNT, max_length=32), Field(examples=["0.5"])]
Budget = Annotated[Amount, BeforeValidator(shortest, json_schema_input_type=Amount | Annotated[float, Field(ge=0)])]
Name = Annotated[str, StringConstraints(min_length=1, max_length=64), Field(examples=["ana"])]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Days = Annotated[int, Field(ge=1, le=366)]
Grant = Literal[
    "accounts", "answer", "approvals", "ask", "budget", "caps", "catalog", "decide", "explain", "head", "history", "ledger",
    "limits", "log", "pages", "resume", "revoke", "set_caps", "set_limits", "tokens", "verification", "waiting", "withdraw",
]  # fmt: skip  # the operations that a narrow token may have
TokenNumber = Annotated[int, Field(ge=1, le=MOST_ENTRY)]
Entry = Annotated[int, Field(ge=0, le=MOST_ENTRY)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(10**18), le=10**18)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=MOST_SQL), Field(examples=["SELECT COUNT(*) FROM visits"])]
Listed = Text | Annotated[list[Text], Field(min_length=1, max_length=64)]  # several have one budget, one price and one entry
Parameter = Annotated[str, StringConstraints(max_length=4096)] | bool | Whole | Number | None


class Strict(BaseModel):
    """Of exactly these fields and types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Strict):
    """An operation without arguments."""


class Budgeted(Strict):
    """A question with its budget: an epsilon (and delta), or an error with a confidence; or one written in the SQL."""

    sql: Listed
    params: Annotated[dict[Annotated[str, StringConstraints(max_length=64)], Parameter], Field(max_length=100)] | None = None
    epsilon: Budget | None = None
    delta: Budget | None = None
    error: Budget | None = None
    confidence: Budget | None = None
    simultaneous: bool = False
    interval: bool = True
    loss: Literal["squares", "largest"] | None = None
    weights: Annotated[dict[Annotated[str, StringConstraints(max_length=128)], Amount], Field(max_length=100)] | None = None

    @field_validator("sql")
    @classmethod
    def short(cls, sql: str | list[str]) -> str | list[str]:
        """At most 64 KiB together."""
        if sum(len(each.encode()) + 3 for each in ([sql] if isinstance(sql, str) else sql)) > MOST_SQL + 3:
            raise ValueError("SQL is limited to 64 KiB")
        return sql


class Asked(Budgeted):
    """A question to be answered, or a list of them."""

    groups: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    fresh: bool = False


class Question(Asked):
    """The same, with the form of its answer: for people, for a client that makes the same answer of it, or a flat table."""

    form: Literal["plain", "exact", "csv", "arrow"] = "plain"


class Explained(Budgeted):
    """A question, or a list, to be explained: with several epsilons, and with an assumed size of groups, if given."""

    epsilons: Annotated[list[Budget], Field(min_length=1, max_length=MOST_EPSILONS)] | None = None
    group_rows: Annotated[int, Field(ge=1, le=MOST_GROUP_ROWS)] | None = None


Form = Literal["json", "csv", "arrow", "svg", "exact", "certificate"]


class AnswerWanted(Strict):
    """An answer that was paid for, and the form in which it is wanted."""

    entry: Entry
    form: Form = "json"


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
    """A new token in the place of the one that is presented; with `replace = false`, a narrow one beside it."""

    days: Days | None = None
    replace: bool = True
    hours: Annotated[int, Field(ge=1, le=8784)] | None = None
    most: Budget | None = None
    operations: Annotated[list[Grant], Field(min_length=1, max_length=20)] | None = None


class OwnRevocation(Strict):
    """A narrow token that was made from the presented one, by its number; without it, all of them."""

    number: TokenNumber | None = None


class Revocation(OwnRevocation):
    """All tokens of an account, or one by its number, or a narrow one by its number within the account."""

    name: Name
    narrow: TokenNumber | None = None


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
