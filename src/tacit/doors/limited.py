"""A session that may ask for a limited sum of epsilons: for a driver, a shell, or an agent whose questions come from elsewhere.

On a server the limit is that of a narrow token: the ledger counts it there, whatever runs here. On a catalog of this machine it
is a policy of this process, beside the caps of the catalog, which the ledger holds in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

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


@dataclass
class Shared:
    """One limit of several sessions in this process, such as the connections of an engine: its token, or what was asked for."""

    token: str = field(default="", repr=False)
    asked: Fraction = Fraction(0)
    lock: RLock = field(default_factory=RLock, repr=False)


def limited(session: Session | Remote, most: Number | None = None, shared: Shared | None = None) -> Limited:
    """The session under a limit: on a server by a narrow token, which ends with it unless it is shared; else in this process."""
    limit = limit_of(most)
    if limit is None or not hasattr(session, "narrow_token"):
        return Limited(session, limit, shared)
    remote = cast("Remote", session)
    if shared is None:
        return Limited(remote.narrowed(limit))
    with shared.lock:
        shared.token = shared.token or remote.narrow_token(most=limit).token
    remote.close()
    return Limited(remote.with_token(shared.token))


class Limited:
    """The questions of a session whose epsilons sum to at most `most`; failed questions count, repeats do not."""

    def __init__(self, session: Session | Remote, most: Number | None = None, shared: Shared | None = None) -> None:
        self.session = session
        self.most = limit_of(most)
        self._sum = Shared() if shared is None else shared

    @property
    def left(self) -> Fraction | None:
        """The sum that may still be asked for; None without a limit."""
        return None if self.most is None else self.most - self._sum.asked

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
        with self._sum.lock:
            self._sum.asked -= price

    def _reserve(self, question: str, how: dict[str, Any]) -> Fraction:
        """Take the price of a question from the limit before it is asked; returns it."""
        priced = {name: value for name, value in how.items() if name not in ("groups", "tidy", "fresh")}
        price: Fraction = self.session.explain(question, **priced).epsilon
        with self._sum.lock:
            if self.most is not None and self._sum.asked + price > self.most:
                raise BudgetExceeded(
                    f"epsilon {as_text(price)} exceeds the limit of this session: {as_text(self.most - self._sum.asked)} of "
                    f"{as_text(self.most)} remains",
                    remedy="ask with a smaller epsilon, or start again with a larger limit",
                )
            self._sum.asked += price
        return price

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)
