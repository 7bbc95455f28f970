"""The cost of a Gaussian question to the data set's budget, and the largest epsilon that still fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.accounting.composition import cost
from tacit.privacy.rounding import as_text
from tacit.query.price.quote import Quote

MOST_SEARCHED = 250  # sums of a question for which an epsilon that fits is searched: each step prices all of them again
STEPS = 7  # of the search for an epsilon that fits: to less than a hundredth of the one asked for


@dataclass(frozen=True, slots=True)
class Balance:
    """The budget as the asker sees it: the place of the first quote that it admits, or None, and its name in a sentence."""

    admitted: Callable[[Sequence[Quote]], int | None]
    name: str


def taken(quotes: Sequence[Quote], balance: Balance, priced: Callable[[Fraction], Sequence[Quote]]) -> tuple[Quote, list[str]]:
    """The quote that would be answered, and lines on what it takes, or on why the best one does not fit.

    The least noise for an epsilon and a delta has more rho than a cap of the same epsilon and delta holds: one release is
    (epsilon, delta) by its own curve, and a sequence of releases only by the sum of their rhos. `priced` gives the quotes for
    another epsilon.
    """
    best, offer = quotes[0], balance.admitted(quotes)
    if offer is not None and not _gaussian(quotes[offer]):
        return quotes[offer], _instead(best, quotes[offer], balance) if _gaussian(best) else []
    if offer is None:
        return best, _smaller(best, balance, priced) if _gaussian(best) else []
    quote = quotes[offer]
    charged = cost(quote.event)
    epsilon = f"epsilon {as_text(charged.epsilon)}, " if charged.epsilon is not None else ""
    delta = f"delta {as_text(charged.delta)}, " if charged.delta else ""
    lines = _instead(best, quote, balance) if _gaussian(best) and replace(quote, stated=best.stated) != best else []
    return quote, [*lines, f"takes from the budget of the data set: {epsilon}{delta}rho {as_text(charged.rho)}"]


def _gaussian(quote: Quote) -> bool:
    return any(each.mechanism.concentrated for part in quote.parts for each in part.sums)


def _instead(best: Quote, quote: Quote, balance: Balance) -> list[str]:
    needed = as_text(cost(best.event).rho)
    kind = "Gaussian noise of a smaller rho" if _gaussian(quote) else "Laplace noise"
    return [f"the least Gaussian noise takes rho {needed}, which {balance.name} does not admit; {kind} fits"]


def _smaller(best: Quote, balance: Balance, priced: Callable[[Fraction], Sequence[Quote]]) -> list[str]:
    if sum(len(part.sums) for part in best.parts) > MOST_SEARCHED:
        return [f"it takes rho {as_text(cost(best.event).rho)}, which {balance.name} does not admit; ask for a smaller epsilon"]
    low, high = Fraction(0), best.epsilon
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if balance.admitted(priced(middle)) is not None else (low, middle)
    fits = f"epsilon {as_text(low)} fits" if low else "ask the data owner for a larger budget"
    return [f"it takes rho {as_text(cost(best.event).rho)}, which {balance.name} does not admit; {fits}"]
