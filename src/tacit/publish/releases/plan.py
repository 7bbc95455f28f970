"""`tacit release plan`: a year ahead, what each release will cost and how good it will be, and what is left for analysts.

From public parameters alone: the questions are explained, and nothing is spent or read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.accounting.ledger.caps import Admission
from tacit.accounting.ledger.units import policy_of
from tacit.privacy.rounding import counted, decimal_text, exact
from tacit.publish.releases.declaration import Release, Releases
from tacit.publish.releases.due import A_YEAR, Complete, Due, due_periods, next_periods
from tacit.publish.releases.kept import Kept

if TYPE_CHECKING:
    from tacit.session import DataSet, Session

MOST_SHOWN = 6  # errors of one release


@dataclass(frozen=True, slots=True)
class Planned:
    """A release: the price of one period, its expected errors, how many periods wait and how many come in a year.

    `lifetime` is the part of the lifetime budget that the year takes of a person who is in every period of it.
    """

    name: str
    title: str
    period: str
    epsilon: Fraction
    delta: Fraction
    errors: tuple[tuple[str, str], ...]
    mechanisms: tuple[str, ...]
    waiting: int
    coming: int
    lifetime: Fraction | None = None
    notes: tuple[str, ...] = ()

    @property
    def in_total(self) -> Fraction:
        """The sum of the epsilons of all periods that wait or come."""
        return self.epsilon * (self.waiting + self.coming)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; budgets are exact texts."""
        price = {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}
        return {
            "release": self.name, "title": self.title, "period": self.period or None, "price": price,
            "errors": [{"column": column, "error": error} for column, error in self.errors], "mechanisms": list(self.mechanisms),
            "waiting": self.waiting, "coming": self.coming, "epsilon_in_total": decimal_text(self.in_total),
            "lifetime": None if self.lifetime is None else decimal_text(self.lifetime), "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The budget of a person over all periods: what is left of it, and how many whole years of releases fit; None: no release."""

    cap: Fraction
    left: Fraction
    needed: Fraction

    @property
    def years(self) -> int | None:
        """How many years like the next one it admits; a stream costs more in each year than in the one before."""
        return None if self.needed <= 0 else int(self.left / self.needed)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        told = {"cap": decimal_text(self.cap), "left": decimal_text(self.left), "needed": decimal_text(self.needed)}
        return {**told, "years": self.years}


@dataclass(frozen=True, slots=True)
class Plan:
    """All releases, and the budget: of the data set's life, or of each period where the budget has periods.

    There, `lifetime` is the budget of a person over all of them, if one is declared.
    """

    releases: tuple[Planned, ...]
    cap: Fraction
    left: Fraction
    per: str = ""
    lifetime: Lifetime | None = None

    @property
    def needed(self) -> Fraction:
        """The epsilon that a year of releases takes: of each period, where the budget has periods."""
        if not self.per:
            return sum((each.in_total for each in self.releases), start=Fraction(0))
        times = {name: max(1, A_YEAR[name] // max(1, A_YEAR[self.per])) for name in A_YEAR}
        return sum((each.epsilon * times[each.period] for each in self.releases), start=Fraction(0))

    @property
    def for_analysts(self) -> Fraction:
        """The epsilon that remains for analysts after that; below zero, the budget is too small for the plan."""
        return self.left - self.needed

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; budgets are exact texts."""
        budget = {"cap": decimal_text(self.cap), "left": decimal_text(self.left), "needed": decimal_text(self.needed)}
        analysts = {"left_for_analysts": decimal_text(self.for_analysts), "enough": self.for_analysts >= 0}
        lifetime = {} if self.lifetime is None else {"lifetime": self.lifetime.to_dict()}
        whole = {"per": self.per or None, **budget, **analysts, **lifetime}
        return {"releases": [each.to_dict() for each in self.releases], "budget": whole}


def plan_of(data: DataSet, declared: Releases, complete: Complete, kept: Kept) -> Plan:
    """The plan for the year after the last complete period."""
    session = data.session(declared.analyst)
    planned = []
    for release in declared.releases:
        kept.check(release)
        due = due_periods(release, complete)
        waiting = [each for each in due if not kept.has(release, each)]
        coming = next_periods(release, complete, A_YEAR[release.period])
        counts = len(waiting), len(coming)
        if release.horizon is None:
            planned.append(_planned(session, release, (*waiting, *due[-1:], *coming), counts))
        else:
            planned.append(_planned_stream(session, release, coming, counts))
    per = data.catalog.per
    left = data.catalog.budget.epsilon if per is not None or not data.has_ledger else _left(data, session)
    lifetime = None if per is None or per.lifetime is None else _lifetime(data, per.lifetime[0], planned)
    return Plan(tuple(planned), data.catalog.budget.epsilon, left, "" if per is None else per.calendar.kind, lifetime)


def _lifetime(data: DataSet, cap: Fraction, planned: Sequence[Planned]) -> Lifetime:
    """The lifetime budget: a person in every period pays for every release."""
    left = max(Fraction(0), cap - _spent_of_lifetime(data)) if data.has_ledger else cap
    takes = (each.epsilon * each.coming if each.lifetime is None else each.lifetime for each in planned)
    return Lifetime(cap, left, sum(takes, start=Fraction(0)))


def _spent_of_lifetime(data: DataSet) -> Fraction:
    """The spent part of a lifetime budget; where some of it was by rho alone, in proportion to what the filter admits."""
    spent, lifetime = data.ledger.spent(), data.ledger.caps.lifetime
    if spent.epsilon is not None or lifetime is None:
        return spent.epsilon or Fraction(0)
    return lifetime.filter.epsilon * spent.rho / lifetime.filter.largest_rho


def _left(data: DataSet, session: Session) -> Fraction:
    """The rest of the data set's epsilon; where some of it was spent by rho alone, what its filter still admits."""
    spent = data.ledger.spent().epsilon
    return data.ledger.left(session.analyst).epsilon if spent is None else max(Fraction(0), data.catalog.budget.epsilon - spent)


def _planned(session: Session, release: Release, periods: Sequence[Due], counts: tuple[int, int]) -> Planned:
    amounts = release.amounts
    if release.synthetic is not None:
        both = exact(amounts["epsilon"]), exact(amounts.get("delta", 0))
        whole = _periods_of(session, release) * counts[1] * both[0]
        return Planned(
            release.name, release.title, release.period, *both, (), ("noisy marginals of columns and of pairs",), *counts, whole
        )
    if release.period and not periods:
        return Planned(release.name, release.title, release.period, exact(amounts.get("epsilon", 0)), Fraction(0), (), (), *counts)
    told = session.explain(release.sql, params=periods[0].parameters or None, **amounts)
    errors = tuple((each.column, each.error) for each in told.errors[:MOST_SHOWN])
    mechanisms = tuple(dict.fromkeys(each.mechanism for each in told.noise))
    return Planned(release.name, release.title, release.period, told.epsilon, told.delta, errors, mechanisms, *counts)


def _periods_of(session: Session, release: Release) -> int:
    """The number of periods of the budget that one period of a release of rows reads."""
    per = session.data.catalog.per
    if per is None or not release.period or per.calendar.kind not in A_YEAR:
        return 1
    return max(1, A_YEAR[per.calendar.kind] // A_YEAR[release.period])


def _planned_stream(session: Session, release: Release, coming: Sequence[Due], counts: tuple[int, int]) -> Planned:
    """A stream: every period pays once; in a lifetime each measurement is paid for, and later ones cost a person more."""
    price = exact(release.amounts["epsilon"]), exact(release.amounts["delta"])
    per = session.data.as_prepared.per
    if per is None or per.through is None:
        return Planned(release.name, release.title, release.period, *price, (), (), *counts)
    told = session.explain_stream(release.sql, through=per.through, horizon=release.horizon or 0, **release.amounts)
    horizon, word = told.stream.horizon, told.calendar.word
    places = [at for each in coming if 0 <= (at := told.calendar.numbered(each.name) - told.first) < horizon]
    points = dict.fromkeys((*(each + 1 for each in (*places[:1], *places[-1:])), horizon))
    errors = tuple((f"total of {counted(each, word)}", f"± {width:.3g}") for each, width, _ in told.half_widths(list(points)))
    data = session.data
    lifetime = (data.ledger.caps if data.has_ledger else Admission(policy_of(data.catalog))).lifetime
    paid = sum((told.rho_of_person(at) for at in places), start=Fraction(0))
    share = None if lifetime is None else lifetime.filter.epsilon * paid / lifetime.filter.largest_rho
    ends = () if len(places) == len(coming) else (f"the horizon of {horizon} ends within the year: declare another stream then",)
    times = float(told.rho_lifetime / (horizon * told.stream.rho))
    cost = f"over {counted(horizon, word)} a person pays {times:.3g} times what independent answers cost in the lifetime budget"
    mechanisms = ("Gaussian, on a measurement of a stream",)
    return Planned(release.name, release.title, release.period, *price, errors, mechanisms, *counts, share, (cost, *ends))
