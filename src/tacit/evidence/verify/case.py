"""One line of `tacit verify`: a mechanism that claims a loss, its trial, and the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tacit.accounting.events import Event
from tacit.errors import InvalidInput, LawViolated
from tacit.evidence.verify.claims import claimed_parameter, parameter
from tacit.evidence.verify.contract import CONVERTED_AT, Check, contract
from tacit.evidence.verify.trial import Effort, Pair
from tacit.mechanisms.mechanism import Mechanism
from tacit.privacy.loss import Loss, weakened

ENOUGH = 0.9  # of a claim: noise a tenth too small would show


@dataclass(frozen=True, slots=True)
class Row:
    """The claim, the measure with its number of draws a side (0: exact), and the first breach of each broken law.

    `share` is the measure over the claim. A check whose neighbours reach a small share of the claim says little:
    where it is below `ENOUGH`, `unreached` says why no neighbours reach more.
    """

    name: str
    claimed: str
    measured: str
    samples: int
    broken: tuple[LawViolated, ...]
    share: float
    unreached: str = ""

    @property
    def laws(self) -> list[str]:
        """The names of the laws that broke."""
        return [breach.law for breach in self.broken]


@dataclass(frozen=True, slots=True)
class Contracted:
    """A mechanism under the whole contract, on pairs of neighbours."""

    name: str
    mechanism: Mechanism
    pairs: tuple[Pair, ...]
    patience: int = 1  # how many times the draws of an effort
    unreached: str = ""

    def run(self, effort: Effort) -> Row:
        """The line of this mechanism: its claim, the measure and the breaches."""
        report = contract(self.mechanism, self.pairs, replace(effort, samples=self.patience * effort.samples))
        first = {check.law: check for check in reversed(report.checks) if not check.holds}
        broken = tuple(LawViolated(law, f"{self.name}: {check.found}") for law, check in reversed(first.items()))
        claim = weakened(self.mechanism.loss, CONVERTED_AT) if report.samples else self.mechanism.loss
        share = report.measured / float(claimed_parameter(claim))
        why = self.unreached if share < ENOUGH else ""  # many draws may reach more than few
        return Row(self.name, parameter(claim), f"{report.measured:.4f}", report.samples, broken, share, why)


@dataclass(frozen=True, slots=True)
class Exhaustive:
    """One law, checked without draws on everything that a small world holds."""

    name: str
    claimed: str
    check: Callable[[], Check]
    unreached: str = ""

    def run(self, effort: Effort) -> Row:
        """The same row for every effort."""
        check = self.check()
        broken = () if check.holds else (LawViolated(check.law, f"{self.name}: {check.found}"),)
        if check.measured is None or check.share is None:
            raise InvalidInput(f"{self.name}: an exhaustive check must measure something and report its share of the claim")
        return Row(self.name, self.claimed, f"{check.measured:.4f}", 0, broken, check.share, self.unreached)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A mechanism without its law: its claim and its releases, as seen from outside."""

    inner: Mechanism

    @property
    def event(self) -> Event:
        """The event that the ledger records for one release."""
        return self.inner.event

    @property
    def loss(self) -> Loss:
        """The loss that is claimed for one release, under its relation."""
        return self.inner.loss

    def release(self, value: Any) -> Any:
        """An output of the mechanism inside."""
        return self.inner.release(value)


Case = Contracted | Exhaustive
