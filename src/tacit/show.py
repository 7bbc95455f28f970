"""Numbers and pictures for a class, on typed values and never on a data set; `tacit show` prints the same.

>>> from tacit.show import compare_totals, neighbouring_laws, sensitivity_of
>>> print(neighbouring_laws("randomized-response", [0, 1], epsilon=1).explanation()[0])
Randomized response that lies with probability 0.26894, on 0 and on 1.
>>> sensitivity_of("max", [1, 2, 3], bounds=(0, 10), beta=1).here
Fraction(7, 1)
>>> round(float(compare_totals(epsilon=0.1, times=100, delta=1e-6).totals["tight"]), 2)
4.77
"""

from __future__ import annotations

from tacit.evidence.lessons.audits import audit
from tacit.evidence.lessons.blackboard import Example, colours, counties, difference, thresholds, urn, weeding
from tacit.evidence.lessons.commutes import commutes
from tacit.evidence.lessons.laws import Laws, neighbouring_laws
from tacit.evidence.lessons.sensitivities import Sensitivity, quiz, sensitivity_of
from tacit.evidence.lessons.totals import Totals, compare_totals

__all__ = [
    "Example",
    "Laws",
    "Sensitivity",
    "Totals",
    "audit",
    "colours",
    "commutes",
    "compare_totals",
    "counties",
    "difference",
    "neighbouring_laws",
    "quiz",
    "sensitivity_of",
    "thresholds",
    "urn",
    "weeding",
]
