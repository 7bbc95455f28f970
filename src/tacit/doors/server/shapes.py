"""What comes back, for the OpenAPI document: the shape of every reply, and the closed list of problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.doors.server.problems import STATUS

Form = Literal["json", "csv", "arrow", "svg", "exact"]
Cell = Any  # a key, or a number with the ends of its interval


class Shape(BaseModel):
    """Of exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class Told(Shape):
    """What is wrong, and what to do."""

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


class Answer(Shape):
    """Released numbers with their intervals, their price and what remains."""

    columns: list[AnswerColumn]
    rows: list[dict[str, Cell]]
    confidence: float
    simultaneous: bool
    price: Amounts
    left: Amounts | None
    entry: int | None
    data_version: str | None
    notes: list[str]


class Noise(Shape):
    """One released vector."""

    what: str
    mechanism: str
    sensitivity: str
    scale: str
    cost: str
    why: str


class Expected(Shape):
    """The interval of a column, if it is public in advance."""

    column: str
    error: str


class Explanation(Shape):
    """The plan, the noise, the errors and the price."""

    tree: list[str]
    groups: str
    noise: list[Noise]
    errors: list[Expected]
    price: Amounts
    confidence: float
    left: str


class OwnBudget(Shape):
    """The caps of an analyst, and what remains."""

    name: str
    cap: Amounts | None
    epsilon_per_query: str | None
    spent: Spent
    left: Amounts


class SharedBudget(Shape):
    """The cap over everybody, and what remains of it, as analysts may see it."""

    cap: Amounts
    left: Amounts
    shown: Literal["tenths", "exact"]


class Budgets(Shape):
    """What one further question may cost."""

    analyst: OwnBudget
    data_set: SharedBudget


class HistoryEntry(Shape):
    """One entry of the analyst's own."""

    entry: int
    at: str
    kind: Literal["spend", "failure"]
    price: Spent
    question: str
    data_version: str
    about: int | None


class History(Shape):
    """Own entries, the latest first; `before` is where to go on."""

    entries: list[HistoryEntry]
    before: int | None


class Catalog(Shape):
    """What is declared."""

    budget: Amounts
    neighbours: str
    questions_at_most: int
    tables: list[dict[str, Any]]


class Issued(Shape):
    """A new token: the only time that it is shown."""

    name: str
    token: str
    expires: str


class Token(Shape):
    """A token by its number."""

    number: int
    expires: str
    live: bool


class KnownAccount(Shape):
    """An account and its tokens."""

    name: str
    role: Literal["analyst", "curator", "auditor"]
    created: str
    tokens: list[Token]


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


class Health(Shape):
    """The clerk answers."""

    status: Literal["ready"]


def replies(shape: type[BaseModel], closed: Iterable[str] = STATUS) -> dict[int | str, dict[str, Any]]:
    """The replies of an operation: its own shape, and the problems of the closed list by their status."""
    codes: dict[int | str, list[str]] = {}
    for code in closed:
        codes.setdefault(STATUS[code], []).append(code)
    problems = {status: {"model": Problem, "description": ", ".join(sorted(known))} for status, known in sorted(codes.items())}
    return {200: {"model": shape, "description": shape.__doc__ or ""}, **problems}


def answer(forms: Iterable[str] = ()) -> dict[int | str, dict[str, Any]]:
    """The replies of an operation that returns an answer, as JSON or in other forms."""
    known = replies(Answer)
    exact = {"application/vnd.tacit.answer+json": {"schema": {"type": "object"}}}
    others = {media: {"schema": {"type": "string", "format": "binary"}} for media in forms}
    return {**known, 200: {**known[200], "content": {**others, **exact}}}
