"""How far one row, or one unit with several rows, can move an answer. All formulas are exact, and proved in sensitivity.md.

>>> import tacit
>>> from tacit.sensitivity import Reach, largest_change, mean, total
>>> total((-2, 6), tacit.ADD_REMOVE), total((-2, 6), tacit.CHANGE_ONE)
(Fraction(6, 1), Fraction(8, 1))
>>> mean((0, 100), rows=50, neighbours=tacit.CHANGE_ONE)
Fraction(2, 1)
>>> largest_change(sum, tacit.Universe((-2, 0, 6)), rows=3, neighbours=tacit.CHANGE_ONE)  # every pair of neighbours, listed
Fraction(8, 1)
>>> Reach(rows=8, groups=8, per_group=1).l2_squared
8
"""

from __future__ import annotations

from tacit.evidence.lessons.sensitivities import quiz, sensitivity_of
from tacit.mechanisms.sensitivity import (
    centred_total,
    count,
    counts_l1,
    counts_l2,
    fraction,
    histogram_l1,
    histogram_l2,
    largest,
    largest_change,
    lower_median,
    mean,
    midpoint_median,
    population_variance,
    sample_variance,
    smallest,
    total,
)
from tacit.mechanisms.smooth.sensitivity import smooth_order_statistic, smooth_trimmed_mean
from tacit.mechanisms.sorted_rows import sorted_rows
from tacit.query.price.stability import Reach

__all__ = [
    "Reach",
    "centred_total",
    "count",
    "counts_l1",
    "counts_l2",
    "fraction",
    "histogram_l1",
    "histogram_l2",
    "largest",
    "largest_change",
    "lower_median",
    "mean",
    "midpoint_median",
    "population_variance",
    "quiz",
    "sample_variance",
    "sensitivity_of",
    "smallest",
    "smooth_order_statistic",
    "smooth_trimmed_mean",
    "sorted_rows",
    "total",
]
