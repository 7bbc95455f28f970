"""Checks of a mechanism, ours or yours: lower bounds on its real epsilon, coverage of its intervals, and the contract.

`tacit verify` runs them on every mechanism that tacit has. A mechanism of your own needs `event`, `loss` and `release`; with
`law`, which returns a `Law`, the checks are exact.

>>> import tacit
>>> count = tacit.Laplace(sensitivity=1, epsilon=0.5, step=1, on_grid=True)
>>> print(tacit.verify.epsilon(count, 10, 11))
epsilon >= 0.5000 exactly (the worst event of the listed laws)
>>> print(tacit.verify.coverage(count, 10, confidence=0.95))
covers 0.9624 (exactly), says 0.95
>>> tacit.verify.contract(count, [(10, 11)]).holds
True
"""

from __future__ import annotations

from tacit.evidence.verify.clock import epsilon_with_clock, timed
from tacit.evidence.verify.contract import Check, Report, contract
from tacit.evidence.verify.coverage import Coverage, coverage, coverage_of_draws
from tacit.evidence.verify.epsilon import EpsilonBound, epsilon, epsilon_of_laws, epsilon_of_samplers
from tacit.evidence.verify.trial import Effort
from tacit.privacy.law import Law

__all__ = [
    "Check",
    "Coverage",
    "Effort",
    "EpsilonBound",
    "Law",
    "Report",
    "contract",
    "coverage",
    "coverage_of_draws",
    "epsilon",
    "epsilon_of_laws",
    "epsilon_of_samplers",
    "epsilon_with_clock",
    "timed",
]
