"""The shape of every reply of the API, for its OpenAPI document: its own, or that of a problem of the closed list."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.doors.server.problems import STATUS

Cell = Any  # a key, or a number with the ends of its interval


class Shape(BaseModel):
    """Of exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class Told(Shape):
    """The error, and what to do."""

    code: Literal[tuple(sorted(STATUS))]  # type: ignore[valid-type]  # the closed list
    message: str
    remedy: str = ""
    line: int | None = None
    column: int | None = None


class Problem(Shape):
    """An error of the closed list."""

    error: Told


class Amounts(Shape):
    """A budget as exact decimal texts."""

    epsilon: str
    delta: str


class Spent(Shape):
    """Sums of privacy loss; no epsilon after a loss that is counted by rho alone."""

    epsilon: str | None
    rho: str
    delta: str


class AnswerColumn(Shape):
    """A column and what it shows."""

    name: str
    kind: str


class Table(Shape):
    """Released numbers with their intervals."""

    columns: list[AnswerColumn]
    rows: list[dict[str, Cell]]
    notes: list[str]


class Priced(Shape):
    """The price of what was released, and what remains."""

    confidence: float
    simultaneous: bool
    price: Amounts
    left: Amounts | None
    entry: int | None
    periods: str | None = None
    data_version: str | None


class Answer(Priced, Table):
    """Released numbers with their intervals, their price and what remains."""


class Answers(Priced):
    """The answers to a list of questions, with the price, the entry and the remainder of the list."""

    answers: list[Table]
    notes: list[str]


class Noise(Shape):
    """One released vector."""

    what: str
    mechanism: str
    sensitivity: str
    scale: str
    cost: str
    why: str
    share: str


class Expected(Shape):
    """The interval of a column, if it is public in advance, in words; and its half width as a decimal text."""

    column: str
    error: str
    half_width: str | None


class AtBudget(Shape):
    """The price at one of several epsilons, and the errors there."""

    price: Amounts
    errors: list[Expected]


class Heading(Shape):
    """A column of the answer in advance, with its declared range; a number that a double would change is a text."""

    name: str
    kind: str
    type: Literal["integer", "number", "text", "date", "boolean"] | None
    nullable: bool
    low: int | float | str | None
    high: int | float | str | None


class KnownParameter(Shape):
    """A parameter of the SQL, and the type that its comparisons imply."""

    name: str
    type: Literal["integer", "number", "text", "date", "boolean"] | None


class Explanation(Shape):
    """The plan, the noise, the errors, the price, and the columns of the answer."""

    tree: list[str]
    groups: str
    noise: list[Noise]
    errors: list[Expected]
    price: Amounts
    confidence: float
    left: str
    takes: list[str]
    columns: list[Heading]
    parameters: list[KnownParameter]
    budgets: list[AtBudget]
    rung_ms: int | None
    charged: list[dict[Literal["periods", "lifetime", "left"], str | None]] | None = None


class OwnBudget(Shape):
    """The caps of an analyst, and what remains."""

    name: str
    cap: Amounts | None
    epsilon_per_query: str | None
    spent: Spent
    left: Amounts


class SharedBudget(Shape):
    """The cap over all analysts, and the remainder, as analysts may see it."""

    cap: Amounts
    left: Amounts
    shown: Literal["tenths", "exact"]


class Budgets(Shape):
    """The largest cost of a further question (in all periods, and in each); of a narrow token, its limit, and what remains."""

    analyst: OwnBudget
    data_set: SharedBudget
    periods: list[dict[Literal["periods", "questions", "left"], Any]] | None = None
    token: dict[Literal["number", "most", "asked", "left"], str | int | None] | None = None


class HistoryEntry(Shape):
    """One entry of the analyst's own."""

    entry: int
    at: str
    kind: Literal["spend", "failure"]
    price: Spent
    question: str
    data_version: str
    about: int | None
    token: int | None
    periods: str | None = None
    price_in_each: Spent | None = None


class History(Shape):
    """Own entries, the latest first; `before` is where to go on."""

    entries: list[HistoryEntry]
    before: int | None


class Catalog(Shape):
    """The declarations of the catalog."""

    budget: Amounts
    neighbours: str
    questions_at_most: int
    tables: list[dict[str, Any]]
    periods: dict[Literal["per", "first", "last", "lifetime"], Any] | None = None


class Issued(Shape):
    """A new token: the only time that it is shown; of a narrow one, also its number and its limits."""

    name: str
    token: str
    expires: str
    number: int | None = None
    most: str | None = None
    operations: list[str] | None = None


class Token(Shape):
    """A token by its number."""

    number: int
    expires: str
    live: bool


class NarrowToken(Token):
    """One by its number within the account: what it was made from, its limits, and what was asked for with it."""

    parent: int | None
    most: str | None
    operations: list[str]
    asked: str | None = None


class OwnTokens(Shape):
    """Those that were made from the presented one."""

    tokens: list[NarrowToken]


class KnownAccount(Shape):
    """An account and its tokens."""

    name: str
    role: Literal["analyst", "curator", "auditor"]
    created: str
    tokens: list[Token]
    narrow: list[NarrowToken]


class Accounts(Shape):
    """Every account."""

    accounts: list[KnownAccount]


class Revoked(Shape):
    """How many tokens were revoked."""

    revoked: int


class Caps(Shape):
    """Lowered caps of an analyst; null is the catalog's."""

    name: str
    epsilon: str | None
    delta: str | None
    epsilon_per_query: str | None


class EveryCap(Shape):
    """Every lowered cap."""

    caps: list[Caps]


class Limits(Shape):
    """Seconds that a question may take."""

    seconds: int


class Recorded(Shape):
    """The entry that records an act."""

    entry: int


class Log(Shape):
    """Lines of the data owner's log."""

    lines: list[str]


class Ledger(Shape):
    """Entries as their texts have them, each with its hash."""

    entries: list[dict[str, Any]]


class Verification(Shape):
    """Whether the ledger is whole, and what is wrong if not."""

    whole: bool
    entries: int
    problems: list[str]


class Head(BaseModel):
    """The last entry and the sums after it."""

    ledger: str
    number: int
    hash: Annotated[str, Field(min_length=64, max_length=64)]
