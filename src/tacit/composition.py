"""The cost of several releases together: fixed in advance, or chosen one by one under a filter.

Events are what mechanisms record (`tacit.Laplace(...).event`). `cost` is what the ledger's `Filter` adds for one; `batch_loss` and
the forms beside it hold only for events that are all fixed in advance.

>>> import tacit
>>> from tacit.composition import NOTHING_SPENT, Filter, batch_loss, cost
>>> small = tacit.Gaussian(sensitivity=1, rho="0.001", step=1, on_grid=True)
>>> print(batch_loss([small.event] * 100, delta=1e-6))
epsilon 2.14194, delta 1e-06 (add or remove one row)
>>> Filter(epsilon=1, delta=1e-6).admits(NOTHING_SPENT, cost(small.event))
True
"""

from __future__ import annotations

from tacit.accounting import events
from tacit.accounting.batches import advanced, advanced_tighter, batch_loss, exact_pure
from tacit.accounting.composition import cost, loss, parallel, sequential
from tacit.accounting.filter import NOTHING_SPENT, Filter
from tacit.evidence.lessons.totals import compare_totals
from tacit.privacy.loss import for_change_one

__all__ = [
    "NOTHING_SPENT",
    "Filter",
    "advanced",
    "advanced_tighter",
    "batch_loss",
    "compare_totals",
    "cost",
    "events",
    "exact_pure",
    "for_change_one",
    "loss",
    "parallel",
    "sequential",
]
