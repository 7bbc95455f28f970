"""A session that may ask for a limited sum of epsilons: for a driver, a shell, or an agent whose questions come from elsewhere.

The limit is a policy of this process, beside the caps of the catalog, which the ledger holds whatever runs here. On a server a
narrower token is the stronger limit, since the clerk counts it.
"""

from __future__ import annotations

from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any

from tacit.errors import BudgetExceeded, InvalidInput, NoBudget
from tacit.privacy.rounding import Number, as_text, exact

if TYPE_CHECKING:
    from tacit.doors.client import Remote
    from tacit.release.answer import Answer
    from tacit.session import Session


def limit_of(most: Number | None) -> Fraction | None:
    """The limit as an exact number; None without one."""
    limit = None if most is None else exact(most, "most")
    if limit is not None and limit <= 0:
        raise InvalidInput("most must be above 0: it limits the sum of the epsilons that are asked for", argument="most")
    return limit


class Limited:
    """The questions of a session whose epsilons sum to at most `most`; failed questions count, repeats do not."""

    def __init__(self, session: Session | Remote, most: Number | None = None) -> None:
        self.session = session
        self.most = limit_of(most)
        self._asked, self._lock = Fraction(0), Lock()

    @property
    def left(self) -> Fraction | None:
        """The sum that may still be asked for; None without a limit."""
        return None if self.most is None else self.most - self._asked

    def sql(self, question: str, **how: Any) -> Answer:
        """The answer to a question; refused before it is sent if its epsilon exceeds what is left."""
        if self.most is None:
            return self.session.sql(question, **how)
        price = self._reserve(question, how)
        try:
            answer = self.session.sql(question, **how)
        except NoBudget:  # it named no price, so that none can have been paid
            self._give_back(price)
            raise
        if answer.receipt.again:
            self._give_back(price)
        return answer

    def _give_back(self, price: Fraction) -> None:
        with self._lock:
            self._asked -= price

    def _reserve(self, question: str, how: dict[str, Any]) -> Fraction:
        """Take the price of a question from the limit before it is asked; returns it."""
        priced = {name: value for name, value in how.items() if name not in ("groups", "tidy")}
        price: Fraction = self.session.explain(question, **priced).epsilon
        with self._lock:
            if self.most is not None and self._asked + price > self.most:
                raise BudgetExceeded(
                    f"epsilon {as_text(price)} exceeds the limit of this session: {as_text(self.most - self._asked)} of "
                    f"{as_text(self.most)} remains",
                    remedy="ask with a smaller epsilon, or start again with a larger limit",
                )
            self._asked += price
        return price

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)
