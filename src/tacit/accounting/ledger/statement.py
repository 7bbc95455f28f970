"""The account of one analyst as plain values: budget and history, the same through every door; amounts are exact texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from tacit.privacy.rounding import decimal_text

if TYPE_CHECKING:
    from fractions import Fraction

    from tacit.accounting.filter import Left
    from tacit.accounting.ledger.by_period import PeriodSums
    from tacit.accounting.ledger.entries import Entry
    from tacit.accounting.ledger.ledger import Ledger
    from tacit.accounting.ledger.selling import Bearer

READ_AT_ONCE = 2_000  # entries of the ledger that one page of a history looks at
PAID = ("spend", "recall", "failure")


@dataclass(frozen=True, slots=True)
class Shown:
    """The remaining budgets that an analyst may see: their own and the data set's; `how` is exact or tenths.

    `periods` are those that have begun, in words, with the analyst's own sums and the remaining budget of each.
    """

    own: Left
    shared: Left
    how: str
    periods: Sequence[tuple[str, PeriodSums, Left]] | None = None


def late_replies(ledger: Ledger) -> dict[str, int]:
    """How many late replies each analyst had since the data owner last resumed."""
    return dict(next(iter(ledger.entries(first=ledger.head.number))).late)


def budget_statement(ledger: Ledger, analyst: str, shown: Shown, bearer: Bearer | None = None) -> dict[str, Any]:
    """The analyst's cap, the sums spent and the largest cost of a further question; of the data set, the cap and the rest.

    Of a narrow token, its number, the sum of the epsilons that were asked for with it, and what it still admits.
    """
    own, whole, spent = ledger.caps.analyst(analyst), ledger.policy.budget, ledger.spent(analyst)
    per_query = own.epsilon_per_query
    return {
        "analyst": {
            "name": analyst,
            "cap": None if own.budget is None else amounts(own.budget.epsilon, own.budget.delta),
            "epsilon_per_query": None if per_query is None else decimal_text(per_query),
            "spent": {
                "epsilon": None if spent.epsilon is None else decimal_text(spent.epsilon),
                "rho": decimal_text(spent.rho),
                "delta": decimal_text(spent.delta),
            },
            "left": amounts(shown.own.epsilon, shown.own.delta),
        },
        "data_set": {
            "cap": amounts(whole.epsilon, whole.delta),
            "left": amounts(shown.shared.epsilon, shown.shared.delta),
            "shown": shown.how,
        },
        **({} if shown.periods is None else {"periods": periods_statement(shown.periods)}),
        **({} if bearer is None or not bearer.path else {"token": _token(ledger, analyst, bearer)}),
    }


def _token(ledger: Ledger, analyst: str, bearer: Bearer) -> dict[str, Any]:
    own, left = bearer.path[0], ledger.token_left(analyst, bearer)
    asked = ledger.token_sums(analyst, (own.number,))[own.number]
    limit = None if own.most is None else decimal_text(own.most)
    return {"number": own.number, "most": limit, "asked": decimal_text(asked), "left": None if left is None else decimal_text(left)}


def amounts(epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    """A budget as exact texts."""
    return {"epsilon": decimal_text(epsilon), "delta": decimal_text(delta)}


def history_page(
    ledger: Ledger, analyst: str, last: int, before: int | None = None, pause: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """The analyst's entries, the latest first. At most `READ_AT_ONCE` of the ledger are looked at; `before` says where to go on."""
    head = ledger.head.number + 1
    end = head if before is None else min(before, head)
    first = max(0, end - READ_AT_ONCE)
    own = [entry for entry in _looked_at(ledger, first, end, pause) if entry.analyst == analyst and entry.kind in PAID]
    shown = own[-last:][::-1]
    further = shown[-1].number if len(own) > len(shown) else first
    return {"entries": [_entry(entry) for entry in shown], "before": further or None}


def whole_history(ledger: Ledger, analyst: str, last: int) -> list[dict[str, Any]]:
    """The latest entries of an analyst, the newest first, from as many pages as they need."""
    entries: list[dict[str, Any]] = []
    before: int | None = None
    while len(entries) < last:
        page = history_page(ledger, analyst, last - len(entries), before)
        entries += page["entries"]
        before = page["before"]
        if before is None:
            break
    return entries


def _looked_at(ledger: Ledger, first: int, end: int, pause: Callable[[], object]) -> Iterator[Entry]:
    for entry in islice(ledger.entries(first=first), end - first):
        pause()
        yield entry


def _entry(entry: Entry) -> dict[str, Any]:
    epsilon = None if entry.price.epsilon is None else decimal_text(entry.price.epsilon)
    price = {"epsilon": epsilon, "rho": decimal_text(entry.price.rho), "delta": decimal_text(entry.price.delta)}
    in_periods = _in_periods(entry)
    kind = "spend" if entry.kind == "recall" else entry.kind  # an analyst never learns that another one had asked the same
    head = {"entry": entry.number, "at": entry.at, "kind": kind, "price": price}
    about = entry.about if entry.kind == "failure" else None
    token = None if entry.charged is None else entry.charged.path[0].number
    return {**head, "question": entry.question, "data_version": entry.data_version, "about": about, "token": token, **in_periods}


def _in_periods(entry: Entry) -> dict[str, Any]:
    """The periods of an entry and its price in each; the price beside it is that of a whole person."""
    if entry.in_periods is None:
        return {}
    paid = entry.in_periods.price
    epsilon = None if paid.epsilon is None else decimal_text(paid.epsilon)
    each = {"epsilon": epsilon, "rho": decimal_text(paid.rho), "delta": decimal_text(paid.delta)}
    return {"periods": entry.in_periods.named, "price_in_each": each}


def periods_statement(periods: Sequence[tuple[str, PeriodSums, Left]]) -> list[dict[str, Any]]:
    """The remaining budget of each period that has begun, the oldest first; neighbours that are equal are one line."""
    return [{"periods": words, "questions": sums[3], "left": amounts(left.epsilon, left.delta)} for words, sums, left in periods]
