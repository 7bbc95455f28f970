"""The functions of post-processing tell apart what equality does not."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from tacit.evidence.verify.contract import FUNCTIONS, kind, last_digits, sign_of_zero, telling_sets, text_of
from tacit.privacy.law import Law


@pytest.mark.parametrize(
    ("one", "other", "function"),
    [
        (1, 1.0, kind),
        (1, True, kind),
        (np.float64(1), 1.0, kind),
        (np.array([1, 2], dtype=np.int32), np.array([1, 2], dtype=np.int64), kind),
        (0.0, -0.0, sign_of_zero),
        (0.1 + 0.2, 0.3, last_digits),
        (1, 1.0, text_of),
    ],
)
def test_equal_outputs_that_look_different_are_told_apart(one, other, function):
    assert function(one) != function(other)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("output", [0, 1.5, -0.0, "word", (), (1, "a"), np.array([1.0, 2.0]), np.int64(3), float("inf"), None])
def test_every_function_takes_every_output_and_always_says_the_same(name, output):
    assert FUNCTIONS[name](output) == FUNCTIONS[name](output)
    hash(FUNCTIONS[name](output))


def test_random_sets_hold_about_half_of_the_outputs():
    held = sum(FUNCTIONS["random set one"](output) for output in range(1000))
    assert 400 < held < 600


def test_the_telling_sets_are_those_of_large_ratio():
    one = Law({"a": Decimal("0.7"), "b": Decimal("0.2"), "c": Decimal("0.1")})
    other = Law({"a": Decimal("0.1"), "b": Decimal("0.15"), "c": Decimal("0.75")})
    sets = telling_sets(one, other)
    assert [outcome for outcome in "abc" if sets["likelier under one"](outcome)] == ["a", "b"]
    assert [outcome for outcome in "abc" if sets["twice as likely under one"](outcome)] == ["a"]
    assert [outcome for outcome in "abc" if sets["the most telling outcome"](outcome)] == ["a"]
