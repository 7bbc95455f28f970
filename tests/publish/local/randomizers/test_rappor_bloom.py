"""RAPPOR on a filter: its channel and constants exactly, the cohort in four bytes, both tallies."""

import math
from fractions import Fraction

import numpy as np
import pytest

from chance import mean_limit, most_hits, plausible_hits
from every_path import law_of_derive, law_of_randomize, row
from tacit.errors import InvalidInput, InvalidValue
from tacit.publish.local.randomizers.rappor import BloomRappor
from tacit.publish.local.randomizers.unary import unpack


def test_the_laws_of_randomize_and_derive_are_the_channel(monkeypatch):
    answer = BloomRappor(2, 1, bits=2)
    for value in (0, 1):
        assert law_of_derive(answer, value) == row(answer, value)
        assert law_of_randomize(answer, value, monkeypatch) == row(answer, value)


@pytest.mark.parametrize(("bits", "hashes"), [(2, 1), (3, 1), (2, 2)])
def test_a_cell_of_the_channel_is_the_product_over_its_bits(bits, hashes):
    """One cell after the other, from the definition: a cohort, and then each bit by itself."""
    answer = BloomRappor(3, 1, bits=bits, hashes=hashes)
    true, false = answer.set_if_true, answer.set_if_false
    for value in range(3):
        for report, found in zip(answer.channel.outputs, answer.channel.row(value), strict=True):
            cohort, filled = np.array([int.from_bytes(report[:4])]), unpack(np.array(report[4:], dtype=np.uint8), answer.length)
            sets = {block * bits + int(cell[0]) for block, cell in enumerate(answer._cells(cohort, np.array([value])))}
            chances = [true if place in sets else false for place in range(answer.length)]
            bit_by_bit = math.prod((p if bit else 1 - p for p, bit in zip(chances, filled, strict=True)), start=Fraction(1))
            assert found == bit_by_bit / answer.cohorts


@pytest.mark.parametrize(("bits", "hashes"), [(2, 1), (2, 2), (3, 1)])
def test_hit_and_false_hit_are_those_of_the_channel(bits, hashes):
    answer = BloomRappor(3, 1, bits=bits, hashes=hashes)
    supported = [answer.supports(np.array([report])) for report in answer.channel.outputs]
    for value, chances in zip(answer.channel.inputs, answer.channel.rows, strict=True):
        for other in range(3):
            chance = sum(p for p, supports in zip(chances, supported, strict=True) if supports[other])
            assert chance == (answer.hit if other == value else answer.false_hit)


@pytest.mark.parametrize("hashes", [1, 2])
def test_the_permanent_filter_is_within_epsilon(hashes):
    """Without the second stage, which is the most that all reports together can tell."""
    answer = BloomRappor(3, 1, bits=2, hashes=hashes, one="999999/1000000", zero="1/1000000")
    assert answer.channel.within(1)
    assert answer.channel.epsilon > Fraction(999, 1000)
    assert answer.channel.epsilon <= answer.epsilon_once
    permanent = BloomRappor(3, 1, bits=2, hashes=hashes).permanent_channel
    assert permanent.within(1)
    assert permanent.epsilon > Fraction(999, 1000)


@pytest.mark.parametrize("hashes", [1, 2])
def test_forty_categories_are_supported_as_often_as_they_should(hashes):
    answer, people = BloomRappor(40, 3, bits=8, hashes=hashes), 30_000
    counts = answer.supports(answer.randomize(np.full(people, 17)))
    expected = np.full(40, float(answer.false_hit))
    expected[17] = float(answer.hit)
    assert plausible_hits(counts, people, expected)


def test_a_report_holds_its_cohort_and_its_filter():
    answer = BloomRappor(1000, 20, bits=16, hashes=1, one="999999/1000000", zero="1/1000000")
    kept = answer.permanent(np.arange(1000))
    cohorts = kept[:, :4].astype(np.int64) @ [2**24, 2**16, 2**8, 1]
    assert (cohorts < answer.cohorts).all()
    expected = 4096 * (1 - (1 - 1 / 4096) ** 1000)
    assert abs(len(np.unique(cohorts)) - expected) < 1000 * mean_limit(1000)  # one person changes it by one (McDiarmid)
    assert kept.shape == (1000, 6)
    lies = most_hits(16_000, math.exp(-10))
    assert abs(int(unpack(kept[:, 4:], 16).sum()) - 1000) <= lies, "one bit set for each"


def test_asking_again_reports_the_same_cohort():
    answer = BloomRappor(1000, 2)
    kept = answer.permanent(5)
    again = [answer.report(kept) for _ in range(20)]
    assert {tuple(report[:4]) for report in again} == {tuple(kept[:4])}
    assert len({tuple(report) for report in again}) > 1


def test_what_is_no_report_is_refused():
    answer = BloomRappor(20, 1, bits=4)
    assert answer.supports(np.zeros((0, 5), dtype=np.uint8)).tolist() == [0] * 20
    for bad in ([[0, 0, 0, 0]], [[255, 0, 0, 0, 0]], [[0, 0, 0, 0, 1]], [[-1, 0, 0, 0, 0]]):
        with pytest.raises(InvalidValue):
            answer.supports(bad)


@pytest.mark.parametrize("bad", [{"hashes": 0}, {"hashes": 9}, {"bits": 6}, {"size": 10**6, "hashes": 4, "bits": 16}])
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(InvalidInput):
        BloomRappor(**{"size": 10, "epsilon": 1, **bad})


def test_what_one_report_tells_is_less_than_all_of_them():
    answer = BloomRappor(1000, 2, hashes=2)
    assert 0 < answer.epsilon_once < 2
    assert math.isclose(float(answer.truth), math.exp(0.5) / (math.exp(0.5) + 1))


def test_a_person_keeps_the_cohort():
    answer = BloomRappor(10, 1, bits=4)
    first = answer.permanent(3)
    cohort = int.from_bytes(first[:4].tobytes(), "big")
    again = answer.permanent([8, 9], cohort)
    assert (again[:, :4] == first[:4]).all()
    with pytest.raises(InvalidValue):
        answer.permanent(3, answer.cohorts)


def test_a_table_that_is_too_large_is_refused():
    with pytest.raises(InvalidInput, match="prefix tree"):
        BloomRappor(2**30, 1).supports(np.zeros((1, 8), dtype=np.uint8))
