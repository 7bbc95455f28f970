"""Which ledger pays for a map: the catalog's, or one next to the output.

A file without a catalog has no budget of its own. The ledger next to the output records each release and adds them up, refuses none
until all of them together guarantee nothing, and does not see releases written elsewhere. With a catalog, the flows are a declared
table, and its one budget pays.

Group privacy: a map is priced for one job that moves its home. With a catalog, the real rows are adjusted to declared totals:
missing jobs come from elsewhere, and surplus jobs are cut. Then a person who comes or goes with j jobs moves at most j homes (each
job replaces one from elsewhere, or pushes one out at the end, in the order of cells), and a person whose jobs change moves at most
2 j. Ratios multiply: r^j; the deltas add up as `Approximate.group` says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacit.accounting.events import Event, Resampling
from tacit.accounting.ledger.caps import at_least, at_most
from tacit.accounting.ledger.ledger import Ledger, begin_ledger, open_ledger
from tacit.accounting.ledger.selling import Granted, Sale
from tacit.accounting.ledger.units import Units
from tacit.accounting.policy import Policy
from tacit.errors import BudgetExceeded, InvalidBudget, InvalidInput, NoLedger
from tacit.mechanisms.noise import bits
from tacit.privacy.catalog import Budget, Table
from tacit.privacy.loss import Approximate, Neighbours, Pure, weakened
from tacit.privacy.rounding import as_text, exp_down, exp_up, log_up
from tacit.publish.synthetic.commuters.model import MOST_EPSILON, ONE_JOB, Offer, Terms, offered
from tacit.release.once import Till, once

if TYPE_CHECKING:
    from tacit.session import DataSet

Made = TypeVar("Made")
NO_CAP = Budget(Fraction(10**9), Fraction(1, 2))
HOMES = Units((("flows", '["job"]'),))
TRIES = 20
NOTHING = Approximate(0, 0, ONE_JOB)
KNOWS = "this ledger records only releases to this file; with a catalog, one budget covers all releases of the same flows"


@dataclass(frozen=True, slots=True)
class Paid:
    """Where a release is recorded; for a ledger next to an output, also how many releases it has recorded and their total."""

    ledger: str
    entry: int
    loss: Approximate
    releases: int = 0
    total: Approximate = NOTHING
    note: str = ""

    @property
    def together(self) -> str:
        """Everything that the ledger has recorded, as one claim."""
        return claimed(self.total)

    def to_dict(self) -> dict[str, Any]:
        """The entry for the receipt, rounded up."""
        loss = self.loss
        price = {"ratio": ratio_of(loss.epsilon), "epsilon": at_least(loss.epsilon), "delta": at_least(loss.delta)}
        known = {"ledger": self.ledger, "entry": self.entry, "price": price}
        beside = {"releases": self.releases, "together": self.together, "note": self.note}
        return known | (beside if self.releases else {})


def ratio_of(epsilon: Fraction) -> str:
    """e^epsilon, rounded up; written as a power if it is too large to be meaningful.

    >>> ratio_of(Fraction(3)), ratio_of(Fraction(1000))
    ('20.0856', 'e^1000')
    """
    return at_least(exp_up(epsilon)) if epsilon < MOST_EPSILON else f"e^{at_least(epsilon)}"


def claimed(loss: Approximate) -> str:
    """A loss in words: the ratio, its epsilon, and delta."""
    return f"ratio {ratio_of(loss.epsilon)} (epsilon {at_least(loss.epsilon)}), delta {at_least(loss.delta)}"


def ledger_beside(out: Path) -> Path:
    """The path of the ledger next to an output."""
    return out.with_name(f"{out.name}.ledger.sqlite")


def sold_beside(out: Path, loss: Pure | Approximate, what: str, run: Callable[[Paid], Made]) -> Made:
    """What `run` makes, after the ledger next to its output has recorded the release."""
    place = ledger_beside(out)

    def recorded(granted: Granted) -> Made:
        entry = granted.entry
        total = Approximate(entry.spent.epsilon or 0, entry.spent.delta, ONE_JOB)
        return run(Paid(place.name, entry.number, weakened(loss), entry.questions, total, KNOWS))

    sale = Sale((event_of(loss, ONE_JOB),), "curator", what, "a file without a catalog")
    try:
        return once(Till(_beside(place)), sale, recorded).value
    except BudgetExceeded:
        raise InvalidBudget(
            f"with this release, the total delta in {place.name} would be too large for a meaningful guarantee; "
            "give a smaller delta, or --pure"
        ) from None


def _beside(place: Path) -> Ledger:
    """The ledger next to an output, created if it is missing; its unit is, and always was, the home of a job."""
    address, policy = f"sqlite:///{place.absolute()}", Policy(NO_CAP, neighbours=ONE_JOB, units=HOMES)
    try:
        ledger = open_ledger(address, policy)
    except NoLedger:  # no file, or one without a ledger yet: another process is creating it, or was killed
        with suppress(InvalidInput):  # another process was first
            begin_ledger(address, policy, bits.random_bytes(16).hex())
        ledger = open_ledger(address, policy)
    if ledger.changed_units():
        ledger.accept_units(1, "curator", "homes of jobs, as before")
    return ledger


def sold_from(data: DataSet, sale: Sale, loss: Approximate, run: Callable[[Paid], Made]) -> Made:
    """What `run` makes, paid for from the budget of a catalog; the loss is already under its relation."""
    return once(data.till, sale, lambda granted: run(Paid("the catalog's ledger", granted.entry.number, loss))).value


def homes_moved(table: Table, relation: Neighbours) -> int:
    """The most homes that one person of a catalog moves: see the module."""
    return table.max_rows if relation.change == "add-remove" else 2 * table.max_rows


def for_person(loss: Pure | Approximate, table: Table, relation: Neighbours) -> Approximate:
    """The loss of one person of a catalog, who has at most `max_rows` jobs, under the catalog's relation.

    >>> from tacit.privacy.catalog import Source
    >>> jobs = Table("jobs", Source("csv", "jobs.csv"), {}, max_rows=2)
    >>> print(for_person(Approximate(1, 1e-6, ONE_JOB), jobs, Neighbours("add-remove", "unit")))
    epsilon 2, delta 3.71828e-06 (add or remove one unit)
    """
    moves = homes_moved(table, relation)
    try:
        several = weakened(loss).group(moves)
    except InvalidBudget:
        raise InvalidBudget(
            f"one person of {table.name} moves up to {moves} homes, for which delta {as_text(loss.delta)} grows beyond 1; "
            "use a much smaller delta, --pure, or a smaller max_rows"
        ) from None
    return Approximate(several.epsilon, several.delta, relation)


def affordable(
    offer: Offer, price: Callable[[Offer], Approximate], admits: Callable[[Approximate], bool], epsilon_of_one: Fraction
) -> Offer | None:
    """The same release at a smaller ratio that is admitted, near the largest such ratio and rounded down; None if none fits.

    `epsilon_of_one` is what one job may cost. What dropping adds grows as the ratio falls, so each ratio is priced separately.
    """
    rest = epsilon_of_one - (offer.loss.epsilon - log_up(offer.terms.ratio))
    for _ in range(TRIES):
        ratio = Fraction(at_most(exp_down(rest))) if rest > 0 else Fraction(1)
        if ratio <= 1:
            return None
        try:
            tried = offered(offer.totals, offer.origins, Terms(ratio, offer.terms.delta, offer.terms.keeping, offer.terms.workers))
            if admits(price(tried)):
                return tried
        except InvalidBudget:  # with this much noise, what dropping adds is not meaningful
            return None
        rest -= max(tried.loss.epsilon - epsilon_of_one, rest / 1000)
    return None


def event_of(loss: Pure | Approximate, relation: Neighbours) -> Event:
    """The event for the ledger: it records probabilistic privacy as (ln r, delta), the form that survives post-processing."""
    return Resampling(loss.epsilon, loss.delta, relation)
