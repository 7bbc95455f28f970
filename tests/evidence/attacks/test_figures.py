"""What results share: plain values and the limit of luck."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from tacit.evidence.attacks.figures import json_figures, lucky_share, plain


@pytest.mark.parametrize(("count", "chance"), [(8, 0.01), (32, 0.5), (128, 0.503), (1000, 0.2)])
def test_luck_passes_its_limit_once_in_a_million_and_no_lower_limit_would_do(count, chance):
    right = round(lucky_share(count, chance) * count)
    assert binom.sf(right, count, chance) <= 1e-6
    assert binom.sf(right - 1, count, chance) > 1e-6


def test_plain_values_are_json():
    values = json_figures(a=np.int64(3), b=[Decimal("0.5"), Fraction(1, 3)], c={1: float("inf")}, d=None, e=np.array([True]))
    assert json.loads(json.dumps(values)) == {"a": 3, "b": [0.5, 1 / 3], "c": {"1": "infinite"}, "d": None, "e": [True]}
    assert plain("words") == "words"
