"""Attacks on a budget of each month: the measured loss of a person against the claim, by a weaker way and by a tacit session.

    many months   the same person's rows in every month; the weaker way counts months alone
    late row      a row that comes after its month was asked; the weaker way prepares anew only the months in which rows came
    anti-join     visits without a lab in any month; the weaker way charges the months of the visits
    totals        visits of each person over two months; the weaker way prices a removal, and it is a move

The data is made up, so losses are exact: how far the exact numbers move when the rows of a person, of one month or of every month,
are taken away, divided by the scale of the Laplace noise that was priced. No exact number of a prepared store is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

from tacit.errors import BudgetExceeded, InvalidInput, NotAllowed
from tacit.evidence.attacks.figures import Axes, bars, json_figures
from tacit.evidence.attacks.scratch import made_data, prepared_again
from tacit.privacy.loss import positive_budget
from tacit.privacy.rounding import Number, as_text
from tacit.session import DataSet, Session

CATALOG = """\
[budget]
epsilon = {epsilon}
delta = 0
per = "month"
lifetime = {{ epsilon = {lifetime} }}

[tables.visits]
source = "visits.csv"
unit = {{ column = "person" }}
period = "day"
rows_at_most = 10000
max_rows = 1
[tables.visits.columns]
person = {{ bounds = [0, 9] }}
day = {{ type = "date", bounds = ["2024-01-01", "2025-12-31"], outside = "drop", nulls = "drop" }}

[tables.labs]
source = "labs.csv"
unit = {{ column = "person" }}
period = "taken"
rows_at_most = 10000
max_rows = 1
[tables.labs.columns]
person = {{ bounds = [0, 9] }}
taken = {{ type = "date", bounds = ["2024-01-01", "2025-12-31"], outside = "drop", nulls = "drop" }}
"""
COUNT = "SELECT COUNT(*) AS visits FROM visits WHERE day >= DATE 'MONTH-01' AND day <= DATE 'MONTH-28'"
ANY_MONTH = "SELECT COUNT(*) AS visits FROM visits v WHERE NOT EXISTS (SELECT 1 FROM labs l WHERE l.person = v.person)"
SAME_MONTH = ANY_MONTH[:-1] + " AND DATE_TRUNC('month', v.day) = DATE_TRUNC('month', l.taken))"
OVER_BOTH = "SELECT n, COUNT(*) AS people FROM (SELECT person, COUNT(*) AS n FROM visits WHERE GROUP BY person) t GROUP BY n"
OF_EACH = OVER_BOTH.replace("person,", "person, DATE_TRUNC('month', day) AS m,").replace("BY person", "BY person, m")
PEOPLE = 8  # others, with a visit in every month; person 0 is attacked
MOST_MONTHS = 24
Visit = tuple[int, int]  # a person and a month, from 0 on
Rows = frozenset[Visit]


@dataclass(frozen=True, slots=True)
class Way:
    """One attack: the claim, the loss that the weaker way gives away, that of tacit's answers, and what tacit says."""

    name: str
    claim: Fraction
    weaker: float
    tacit: Fraction | float
    said: str
    unit: str = "a person's rows of one month"

    @property
    def holds(self) -> bool:
        """Whether tacit keeps the claim that the weaker way breaks."""
        return self.tacit <= self.claim < self.weaker


@dataclass(frozen=True, slots=True)
class PeriodAttacks:
    """The loss by each attack, against the claim."""

    months: int
    ways: tuple[Way, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether every claim was kept."""
        return all(way.holds for way in self.ways)

    def summary(self) -> str:
        """A line for each attack: the claim for its unit, the loss by the weaker way, and by tacit."""
        lines = ["Losses against the claim, for a budget of each month."]
        for way in self.ways:
            weaker, tacit = ("infinite" if loss == inf else as_text(Fraction(loss)) for loss in (way.weaker, way.tacit))
            claimed = f"{way.name}: claimed {as_text(way.claim)} for {way.unit}"
            lines.append(f"{claimed}; the weaker way loses {weaker}, tacit {tacit}. {way.said}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values, ready for JSON."""
        names = ("name", "unit", "claim", "weaker", "tacit", "said", "holds")
        listed = [json_figures(**{name: getattr(way, name) for name in names}) for way in self.ways]
        return {"months": self.months, "holds": self.holds, "attacks": listed}

    def chart(self, path: str | Path | None = None) -> Any:
        """The losses as bars in units of the claim; an infinite one is cut at the largest other."""
        most = max((way.weaker / float(way.claim) for way in self.ways if way.weaker != inf), default=1.0)
        rows = [
            {"x": way.name, "y": min(most, float(loss) / float(way.claim)), "series": series}
            for way in self.ways
            for series, loss in (("weaker way", way.weaker), ("tacit", way.tacit))
        ]
        return bars(rows, Axes("", "loss, in units of the claim"), "A budget of each month", path, rule=1.0)


def periods(months: int = 12, epsilon: Number = 1, lifetime: Number | None = None) -> PeriodAttacks:
    """All four attacks on made-up visits of `months` months, at `epsilon` a month and a `lifetime` budget (a third of the months).

    >>> report = periods(months=3, epsilon="1/2", lifetime=1)
    >>> report.holds, [(way.name, way.weaker) for way in report.ways]
    (True, [('many months', 1.5), ('late row', inf), ('anti-join', 1.0), ('totals', 1.0)])
    """
    each = positive_budget(epsilon, "epsilon")
    whole = each * max(1, months // 3) if lifetime is None else positive_budget(lifetime, "lifetime")
    if not 3 <= months <= MOST_MONTHS:
        raise InvalidInput(
            f"months must be from 3 to {MOST_MONTHS}, so that a person is seen in several; give months=12", argument="months"
        )
    if not each <= whole < months * each:
        raise InvalidInput(
            "lifetime must be at least epsilon and less than epsilon in every month; give for example lifetime=4",
            argument="lifetime",
        )
    clinic = _Clinic(months, each, whole)
    with clinic.open() as data:
        session = data.session()
        refused = (_anti_join(clinic, session), _totals(clinic, session))  # before the budget is spent
        many = _many_months(clinic, session)
    return PeriodAttacks(months, (many, _late_row(clinic), *refused))


# --- the clinic --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Clinic:
    """One visit of each person in every month; one lab of person 0, in the second month."""

    months: int
    epsilon: Fraction
    lifetime: Fraction

    @property
    def visits(self) -> Rows:
        return frozenset((person, month) for person in range(PEOPLE + 1) for month in range(self.months))

    @property
    def labs(self) -> Rows:
        return frozenset({(0, 1)})

    @property
    def through(self) -> str:
        return self.name(self.months - 1)

    def name(self, month: int) -> str:
        """The name of a month."""
        return f"{2024 + month // 12}-{month % 12 + 1:02}"

    def count(self, month: int) -> str:
        """The question for the visits of one month."""
        return COUNT.replace("MONTH", self.name(month))

    def file(self, column: str, rows: Rows, late: Sequence[Visit] = ()) -> bytes:
        """Rows as CSV; a late row is a second one of its person and month."""
        lines = [f"{person},{self.name(month)}-15" for person, month in sorted(rows)]
        return "\n".join([f"person,{column}", *lines, *(f"{person},{self.name(month)}-16" for person, month in late), ""]).encode()

    @contextmanager
    def open(self) -> Iterator[DataSet]:
        """The clinic, prepared, with a scratch ledger."""
        text = CATALOG.format(epsilon=float(self.epsilon), lifetime=float(self.lifetime))
        files = {"visits.csv": self.file("day", self.visits), "labs.csv": self.file("taken", self.labs)}
        with made_data(text, files, self.through) as data:
            yield data


def _without(rows: Rows, person: int, month: int | None = None) -> Rows:
    return frozenset(row for row in rows if row[0] != person or month not in (None, row[1]))


def _largest(clinic: _Clinic, moved: Callable[[int], int]) -> int:
    """The farthest that an answer moves when the rows of person 0 in one of the months are taken away."""
    return max(moved(month) for month in range(clinic.months))


def _scale(session: Session, question: str, epsilon: Fraction) -> Fraction:
    """The scale of the noise that a question would get."""
    return Fraction(session.explain(question, epsilon=as_text(epsilon)).noise[0].scale)


def _judged(name: str, session: Session, weak: tuple[str, int], kept: tuple[str, int], epsilon: Fraction) -> Way:
    """A question that a weaker way answers, and the one that keeps months apart: each with the farthest that it moves.

    Tacit's loss is that of the first if tacit answers it, else that of the second.
    """
    question, moved = weak
    try:
        loss, said = moved / _scale(session, question, epsilon), "Answered."
    except NotAllowed as refused:
        loss, said = kept[1] / _scale(session, kept[0], epsilon), f"Refused: {refused.message}; {refused.remedy}."
    return Way(name, epsilon, float(moved * epsilon), loss, said)


# --- the attacks -------------------------------------------------------------------------------------------------------------


def _many_months(clinic: _Clinic, session: Session) -> Way:
    """Ask about one month after the other. Person 0 is in each of them, so the answered months are the loss of the whole person."""
    answered, said = 0, "All months were answered."
    for month in range(clinic.months):
        question = clinic.count(month)
        try:
            session.sql(question, epsilon=as_text(clinic.epsilon))
        except BudgetExceeded as refused:
            said = f"After {answered} of {clinic.months} months: {refused.message.partition(':')[0]}."
            break
        answered += 1
    lost = clinic.months * clinic.epsilon
    return Way("many months", clinic.lifetime, float(lost), answered * clinic.epsilon, said, "a person over all months")


def _late_row(clinic: _Clinic) -> Way:
    """Ask, let the data be prepared anew with a late row of person 0 or without one, and ask again: was it paid for again?

    By the weaker way the answer is free again unless a row came, as with a digest of the month for a version.
    """
    question, price = clinic.count(0), clinic.epsilon / 2
    worlds = [clinic.file("day", clinic.visits, late) for late in ((), ((0, 0),))]
    told_apart = len({sha256(visits).digest() for visits in worlds}) == 2
    seen = []
    for visits in worlds:
        with clinic.open() as data:
            data.session().sql(question, epsilon=as_text(price))
            with prepared_again(data, {"visits.csv": visits}, clinic.through) as later:
                again = later.session().sql(question, epsilon=as_text(price)).receipt
                seen.append((again.again, again.left_epsilon, again.left_delta, again.epsilon))
    if seen[0] != seen[1]:
        return Way("late row", clinic.epsilon, inf, inf, "What was paid again differed.")
    said = "Every preparation gives a new version to the month, late row or not: what is paid again says nothing."
    return Way("late row", clinic.epsilon, inf if told_apart else 0.0, 2 * price, said)


def _anti_join(clinic: _Clinic, session: Session) -> Way:
    """Visits of people without a lab in any month: without the month of the lab, all other months' visits count."""

    def alone(visits: Rows, labs: Rows) -> int:
        return sum(person not in {each for each, _ in labs} for person, _ in visits)

    def together(visits: Rows, labs: Rows) -> int:
        return len(visits - labs)

    def moved(counted: Callable[[Rows, Rows], int]) -> int:
        full = counted(clinic.visits, clinic.labs)
        return _largest(
            clinic, lambda month: abs(full - counted(_without(clinic.visits, 0, month), _without(clinic.labs, 0, month)))
        )

    return _judged("anti-join", session, (ANY_MONTH, moved(alone)), (SAME_MONTH, moved(together)), clinic.epsilon)


def _totals(clinic: _Clinic, session: Session) -> Way:
    """How many people have how many visits over two months: without one of the months, a person moves from one total to another."""
    where = f"WHERE day >= DATE '{clinic.name(0)}-01' AND day <= DATE '{clinic.name(1)}-28'"
    question, asked = OVER_BOTH.replace("WHERE", where), OF_EACH.replace("WHERE", where)
    two = frozenset(row for row in clinic.visits if row[1] < 2)

    def over_both(rows: Rows) -> dict[int, int]:
        return _histogram([person for person, _ in rows])

    def moved(histogram: Callable[[Rows], dict[int, int]]) -> int:
        full = histogram(two)
        return _largest(clinic, lambda month: _apart(full, histogram(_without(two, 0, month))))

    of_each = moved(lambda rows: _histogram([*rows]))
    return _judged("totals", session, (question, moved(over_both)), (asked, of_each), clinic.epsilon)


def _histogram(owners: Sequence[Any]) -> dict[int, int]:
    """How many owners have how many rows."""
    counts = [owners.count(owner) for owner in {*owners}]
    return {many: counts.count(many) for many in counts}


def _apart(one: dict[int, int], other: dict[int, int]) -> int:
    return sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in {*one, *other})
