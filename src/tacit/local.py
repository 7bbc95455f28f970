"""Local differential privacy: each person randomizes their own answer, and a collector estimates from the reports.

Randomizers run on the respondent's device; `randomize` makes reports, `channel` holds their exact probabilities. Estimates come
with intervals. `tacit.survey` is a whole survey on top of this.

>>> import numpy as np
>>> from tacit.local import choose, estimate, plan
>>> best = choose(size=5, epsilon=2).oracle
>>> reports = best.randomize(np.repeat(np.arange(5), 2000))
>>> shares = estimate(best, reports, simultaneous=True, confidence=0.999999)
>>> bool(((shares.low <= 0.2) & (shares.high >= 0.2)).all())
True
>>> plan(best, half_width=0.02).people
13555
"""

from __future__ import annotations

from tacit.publish.local.estimates.choose import choose
from tacit.publish.local.estimates.compare import compare
from tacit.publish.local.estimates.estimate import Request, Tally, estimate
from tacit.publish.local.estimates.heavy_hitters import PrefixTree, Words, heavy_hitters
from tacit.publish.local.estimates.planning import plan, plan_difference, reach
from tacit.publish.local.estimates.posterior import posterior
from tacit.publish.local.estimates.quantiles import quantiles
from tacit.publish.local.estimates.simulate import End, simulate
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.hadamard import HadamardResponse
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.longitudinal import Account, permanent
from tacit.publish.local.randomizers.numeric import Numeric
from tacit.publish.local.randomizers.rappor import BloomRappor, Rappor
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.several_questions import Sampled, Split
from tacit.publish.local.randomizers.unary import Unary

__all__ = [
    "Account",
    "Binary",
    "BloomRappor",
    "End",
    "HadamardResponse",
    "KAry",
    "LocalHashing",
    "Numeric",
    "PrefixTree",
    "Rappor",
    "Request",
    "Sampled",
    "Sets",
    "Split",
    "Tally",
    "Unary",
    "Words",
    "choose",
    "compare",
    "estimate",
    "heavy_hitters",
    "permanent",
    "plan",
    "plan_difference",
    "posterior",
    "quantiles",
    "reach",
    "simulate",
]
