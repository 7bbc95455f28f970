"""The probability that a sample gives nobody away, against the definition: every sample, every neighbour."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.tables import risk
from tacit.publish.tables.risk import from_counts

ABSENT = 0  # a value of the domain that nobody has
SMALL = [(1,), (3,), (2, 1), (4, 2), (5, 1, 1), (3, 3, 2), (6, 2)]


def bernoulli(sample, counts, rate) -> float:
    if any(drawn > held for drawn, held in zip(sample, counts, strict=True)):
        return 0.0
    return math.prod(math.comb(n, o) * rate**o * (1 - rate) ** (n - o) for o, n in zip(sample, counts, strict=True))


def fixed(sample, counts, _) -> float:
    if any(drawn > held for drawn, held in zip(sample, counts, strict=True)):
        return 0.0
    return math.prod(math.comb(n, o) for o, n in zip(sample, counts, strict=True)) / math.comb(sum(counts), sum(sample))


def moved(counts, take=None, give=None):
    return tuple(n - (at == take) + (at == give) for at, n in enumerate(counts))


def within(chance, sample, counts, neighbours, rate, epsilon) -> bool:
    here = chance(sample, counts, rate)
    others = [chance(sample, each, rate) for each in neighbours]
    return all(other > 0 and abs(math.log(here / other)) <= epsilon for other in others)


def by_definition(chance, counts, rate, epsilon, drawn=None) -> float:
    counts = (*counts, ABSENT, ABSENT)
    places = range(len(counts))
    if drawn is None:
        near = [moved(counts, take=v) for v in places if counts[v]] + [moved(counts, give=v) for v in places]
    else:
        near = [moved(counts, v, w) for v in places if counts[v] for w in places if w != v]
    samples = [each for each in product(*(range(n + 1) for n in counts)) if drawn is None or sum(each) == drawn]
    return sum(chance(each, counts, rate) for each in samples if within(chance, each, counts, near, rate, epsilon))


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize(("rate", "epsilon"), [(0.1, 0.5), (0.3, 1), (0.5, 0.75), (0.2, 3)])
def test_every_sample_of_small_tables_bernoulli(counts, rate, epsilon):
    found = from_counts(np.array(counts), rate, epsilon)
    assert found.low == found.high == pytest.approx(by_definition(bernoulli, counts, rate, epsilon), rel=1e-12)


@pytest.mark.parametrize("counts", SMALL)
@pytest.mark.parametrize("epsilon", [0.3, 1, 2])
def test_every_sample_of_small_tables_fixed(counts, epsilon):
    total = sum(counts)
    for drawn in range(1, total):
        found = from_counts(np.array(counts), f"{drawn}/{total}", epsilon, "fixed")
        expected = by_definition(fixed, counts, None, epsilon, drawn)
        assert found.low == found.high == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_bounds_hold_the_exact_probability(monkeypatch):
    counts = np.array([40] * 30 + [12] * 20 + [4] * 3 + [1] * 2)
    exact = from_counts(counts, 0.05, 0.5, "fixed")
    monkeypatch.setattr(risk, "EXACT_WORK", 0)
    bounds = from_counts(counts, 0.05, 0.5, "fixed")
    assert exact.low == exact.high
    assert bounds.low <= exact.low <= bounds.high
    assert bounds.low < bounds.high


def test_uniques_decide():
    """A million people in ten values, and then a thousand of them alone with theirs: 0.99^1000."""
    common = np.full(10, 100_000)
    rare = np.append(common - 100, np.ones(1000, dtype=np.int64))
    assert from_counts(common, 0.01).low > 1 - 1e-12
    found = from_counts(rare, 0.01)
    assert found.low == pytest.approx(0.99**1000, rel=1e-9)
    assert (found.uniques, found.exposed, found.uniques_at_most(0.95)) == (1000, 10.0, 5)
    assert found.as_dict()["not_to_be_published"] is True
    assert from_counts(rare, 0.01).all_unique == pytest.approx(math.exp(1_000_000 * math.log(0.99)), abs=1e-300)


def test_a_threshold_one_too_high_is_caught(monkeypatch):
    right = risk._most
    monkeypatch.setattr(risk, "_most", lambda *given: right(*given) + 1)
    found = from_counts(np.array((4, 2)), 0.3, 1)
    assert found.low != pytest.approx(by_definition(bernoulli, (4, 2), 0.3, 1), rel=1e-3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((0, 1), "rate"),
        ((1, 1), "rate"),
        ((0.1, 0), "epsilon"),
        ((0.5, 0.1), "absence alone"),
        ((0.1, 1, "other"), "design"),
        ((0.01, 1, "fixed"), "at least one row"),
    ],
)
def test_what_has_no_answer_is_refused(given, words):
    with pytest.raises(InvalidInput, match=words):
        from_counts(np.array((4, 2)), *given)
