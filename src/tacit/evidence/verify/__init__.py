"""Lower bounds on the real epsilon, coverage of intervals, and the contract that every mechanism obeys.

>>> from tacit.evidence import verify
>>> from tacit.mechanisms.laplace import Laplace
>>> count = Laplace(sensitivity=1, epsilon=0.5, step=1, on_grid=True)
>>> print(verify.epsilon(count, 10, 11))
epsilon >= 0.5000 exactly (the worst event of the listed laws)
>>> print(verify.coverage(count, 10, confidence=0.95))
covers 0.9624 (exactly), says 0.95
>>> verify.contract(count, [(10, 11)]).holds
True
"""

from tacit.evidence.verify.contract import Check, Report, contract
from tacit.evidence.verify.coverage import Coverage, coverage, coverage_of_draws
from tacit.evidence.verify.epsilon import EpsilonBound, epsilon, epsilon_of_laws, epsilon_of_samplers
from tacit.evidence.verify.trial import Effort

__all__ = [
    "Check",
    "Coverage",
    "Effort",
    "EpsilonBound",
    "Report",
    "contract",
    "coverage",
    "coverage_of_draws",
    "epsilon",
    "epsilon_of_laws",
    "epsilon_of_samplers",
]
