"""The office, which every operation gets: the data set, the accounts, the requests, and the rules of this server.

Rules on top of the catalog's are caps of analysts, the seconds of a question, and how much of the budget analysts see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, floor
from threading import Lock
from typing import Any

import sqlalchemy as sql

from tacit.accounting.filter import Filter, Left, State
from tacit.accounting.ledger.by_period import StandingInPeriods
from tacit.accounting.ledger.caps import Standing
from tacit.accounting.ledger.selling import Bearer, Token
from tacit.accounting.ledger.units import Policy, policy_of
from tacit.data_set import REMAINING, Door
from tacit.doors.server.records import ANALYST, CAPS, FILE, Account, Accounts, Records
from tacit.doors.server.requests import Requests, Suspects
from tacit.doors.server.turns import Seats
from tacit.errors import InvalidInput
from tacit.privacy.catalog import Analyst, Budget, Catalog
from tacit.privacy.periods import merged
from tacit.privacy.rounding import exact
from tacit.session import DataSet, Session

Caps = Mapping[str, Fraction]  # those of epsilon, delta and epsilon_per_query that were lowered
SECONDS = "seconds"
ROUNDED = "the remaining budget, which is rounded to tenths here,"  # in the words of an explanation
MANY = 32  # seats where nothing gives them up


def as_it_is(_: int) -> None:
    """The limit of a data set without engines of its own stays what it is."""


class Office:
    """One data set behind a door. It calls `limit` with the seconds that a question may take, when they change.

    Whoever reads or explains a question has one of the `seats`; those of the clerk's pool are given up while an engine works.
    """

    def __init__(self, data: DataSet, limit: Callable[[int], None] = as_it_is, seats: Seats | None = None) -> None:
        self.data, self.limit, self.seats = data, limit, seats or Seats(MANY)
        self.records = Records(data.catalog.kept / FILE)
        self.accounts = Accounts(self.records)
        self.requests = Requests(self.records)
        self.suspects = Suspects(self.records, data.catalog.kept)
        self.verifying = Lock()  # one reading of the whole ledger at a time
        self._caps: dict[str, Caps] = self._read_caps()
        words, shown = lambda: REMAINING if self._is_exact else ROUNDED, lambda: self.data.catalog.show_left
        data.behind(Door(self.policy, self.seen, self.balance, words, self.shared_left, shown))
        if (seconds := self.seconds) is not None:
            limit(seconds)

    # --- what analysts see of the budget -------------------------------------------------------------------------------------

    def balance_of(self, session: Session, entries: Iterable[int]) -> Left:
        """The largest cost of a further question: exact under the caps of the analyst and of tokens, else rounded down.

        Where the budget is one of each period, in those of the entries.
        """
        ledger = self.data.ledger
        now = ledger.standing(session.analyst)
        if isinstance(now, StandingInPeriods):
            paid = (ledger.paid_by(entry, session.analyst) for entry in entries)
            charged = [row[0].in_periods for row in paid if row is not None]
            now = now.within(merged(run for each in charged if each is not None for run in each.runs))
        return session.within_tokens(self.balance(self.seen(now)))

    def seen(self, standing: Standing) -> Standing:
        """The ledger as analysts may see it: sums over all analysts in tenths of the budget, rounded up, unless declared exact.

        The ledger admits whatever it admits, since sums only grow. Every balance in a reply to an analyst follows from it.
        """
        if self._is_exact:
            return standing
        if isinstance(standing, StandingInPeriods):
            return standing.rounded(_in_tenths)
        return replace(standing, sums=replace(standing.sums, whole=_in_tenths(standing.sums.whole, standing.caps.whole.filter)))

    def balance(self, seen: Standing) -> Left:
        """The largest cost of a further question, from the visible part of the ledger."""
        both, whole = seen.left, self.shared_left(seen)
        return replace(both, epsilon=min(both.epsilon, whole.epsilon), delta=min(both.delta, whole.delta))

    def shared_left(self, seen: Standing) -> Left:
        """The remaining budget of the data set, as analysts may see it: rounded down to tenths unless it is declared exact."""
        left, cap = seen.shared, self.data.catalog.budget
        if self._is_exact:
            return left
        return replace(left, epsilon=_tenths(left.epsilon, cap.epsilon), delta=_tenths(left.delta, cap.delta))

    @property
    def _is_exact(self) -> bool:
        return self.data.catalog.show_left == "exact"

    def session(self, account: Account) -> Session | None:
        """The session of an analyst; None if the catalog declares analysts, and no longer this one."""
        self.data.refresh()
        declared = self.data.catalog.analysts
        if declared and account.name not in declared:
            return None
        path = tuple(Token(one.number, one.most) for one in account.path)
        return Session(self.data, account.name).with_tokens(Bearer(path, partial(self.accounts.require, account)))

    # --- caps below the catalog's --------------------------------------------------------------------------------------------

    def policy(self, catalog: Catalog) -> Policy:
        """The catalog's policy with the caps that were lowered here; none is above the catalog's, whatever is stored."""
        declared = policy_of(catalog)
        if not self._caps:
            return declared
        names = list(declared.analysts) or self.accounts.names(ANALYST)
        analysts = {
            name: _with_caps(declared.analysts.get(name, Analyst(name)), self._caps.get(name, {}), declared.budget)
            for name in names
        }
        return replace(declared, analysts=analysts)

    def lower(self, name: str, caps: Caps) -> None:
        """Lower the caps of an analyst, or return to the catalog's with none; refused above the catalog's."""
        declared = policy_of(self.data.catalog)
        own = declared.analyst(name)
        if own is None or name not in self.accounts.names(ANALYST):
            raise InvalidInput(f"{name!r} has no analyst account; add the account first")
        budget = own.budget or declared.budget
        most = {"epsilon": budget.epsilon, "delta": budget.delta, "epsilon_per_query": own.epsilon_per_query or budget.epsilon}
        for cap, value in caps.items():
            if not value and cap != "delta":
                raise InvalidInput(f"{cap} must be above 0; to end an account, revoke its tokens", argument=cap)
            if value > most[cap]:
                raise InvalidInput(
                    f"{cap} is above the cap of the catalog; give at most the catalog's, or raise it in tacit.toml", argument=cap
                )
        with self.records.transaction() as connection:
            connection.execute(sql.delete(CAPS).where(CAPS.c.analyst == name))
            if caps:
                connection.execute(sql.insert(CAPS), {"analyst": name, **{cap: str(value) for cap, value in caps.items()}})
        self._caps = self._read_caps()

    @property
    def caps(self) -> dict[str, Caps]:
        """The caps that were lowered, by analyst."""
        return dict(self._caps)

    def _read_caps(self) -> dict[str, Caps]:
        with self.records.reader() as connection:
            rows: list[dict[str, Any]] = [dict(row) for row in connection.execute(sql.select(CAPS)).mappings()]
        return {row.pop("analyst"): {cap: exact(value) for cap, value in row.items() if value is not None} for row in rows}

    # --- time-outs -----------------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> int | None:
        """The seconds that a question may take, if they were changed here."""
        seconds = self.records.setting(SECONDS)
        return None if seconds is None else int(seconds)

    def set_seconds(self, seconds: int) -> None:
        """Change the seconds that a question may take."""
        self.records.set(SECONDS, str(seconds))
        self.limit(seconds)


def _in_tenths(sums: State, cap: Filter) -> State:
    """Sums rounded up to tenths of what their filter admits."""
    epsilon = None if sums.epsilon is None else _tenths_up(sums.epsilon, cap.epsilon)
    return State(epsilon, _tenths_up(sums.rho, cap.largest_rho), _tenths_up(sums.delta, cap.delta_events))


def _tenths(left: Fraction, cap: Fraction) -> Fraction:
    return floor(10 * left / cap) * cap / 10 if cap else Fraction(0)


def _tenths_up(spent: Fraction, cap: Fraction) -> Fraction:
    return ceil(10 * spent / cap) * cap / 10 if cap else Fraction(spent > 0)


def _with_caps(analyst: Analyst, caps: Caps, whole: Budget) -> Analyst:
    if not caps:
        return analyst
    most = analyst.budget or whole
    budget = Budget(min(caps.get("epsilon", most.epsilon), most.epsilon), min(caps.get("delta", most.delta), most.delta))
    own = None if analyst.budget is None and not caps.keys() & {"epsilon", "delta"} else budget
    each = [cap for cap in (analyst.epsilon_per_query, caps.get("epsilon_per_query")) if cap is not None]
    return replace(analyst, budget=own, epsilon_per_query=min(each) if each else None)
