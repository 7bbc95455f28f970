"""Sets: padding and sampling exactly, the budget that sampling leaves for the inner randomizer, forms of input."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from chance import plausible_hits
from every_path import law_of_derive, law_of_randomize, row
from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import exp_down
from tacit.publish.local.randomizers.categories import KAry
from tacit.publish.local.randomizers.hashing import LocalHashing
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.unary import Unary


@pytest.mark.parametrize("by", ["k-ary", "unary", "hashing"])
def test_every_set_has_the_law_of_the_channel(by, monkeypatch):
    answer = Sets(3, 2, 1, by=by)
    for items in ((), (1,), (0, 2)):
        assert law_of_derive(answer, items) == law_of_randomize(answer, items, monkeypatch) == row(answer, items)


@pytest.mark.parametrize("by", ["k-ary", "unary", "hashing"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_an_item_is_supported_with_hit_if_it_is_in_the_set(by, most):
    answer = Sets(3, most, 1, by=by)
    assert answer.channel.within(1)
    supported = [answer.supports(np.array([report])) for report in answer.channel.outputs]
    for items in (items for count in range(most + 1) for items in combinations(range(3), count)):
        for item in range(3):
            chance = sum(p for p, held in zip(answer.channel.row(items), supported, strict=True) if held[item])
            assert chance == (answer.hit if item in items else answer.false_hit)


def test_sampling_pays_with_k_ary_answers_and_with_no_other():
    """The inner ratio is m (E - 1) + 1 and the outer one still E; the planted bug, the same for unary, is above e^epsilon."""
    ratio = exp_down(Fraction(1))
    answer = Sets(4, 2, 1, by="k-ary")
    assert answer.inner.hit / answer.inner.false_hit == 2 * (ratio - 1) + 1
    assert answer.channel.worst_ratio == ratio
    planted = Sets(2, 2, 1, by="unary")
    object.__setattr__(planted, "inner", Unary(4, answer.inner.epsilon))
    assert not planted.channel.within(1)


def test_the_inner_randomizer_is_the_better_one():
    assert isinstance(Sets(5, 2, 1).inner, KAry)
    assert isinstance(Sets(500, 2, 1).inner, Unary)
    assert isinstance(Sets(500, 2, 1, by="hashing").inner, LocalHashing)


def test_all_forms_of_input_are_the_same_sets():
    answer = Sets(4, 2, 1)
    rows = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
    for values in ([{0, 3}, set(), {1}], [[3, 0], [], [1]], [(0, 3, 3), (), (1,)], rows):
        codes, counts = answer._list_items(values)
        assert codes.tolist() == [0, 3, 1]
        assert counts.tolist() == [2, 0, 1]
    assert isinstance(answer.randomize({0, 3}), int)
    assert isinstance(answer.randomize(()), int)
    assert answer.written([3, 0]) == "0,3"
    assert answer.written(()) == ""


def test_a_hundred_thousand_sets_are_supported_as_often_as_they_should():
    answer, people = Sets(10, 3, 1), 100_000
    rows = np.zeros((people, 10), dtype=np.int8)
    rows[:, [2, 5]] = 1
    counts = answer.supports(answer.randomize(rows))
    expected = np.full(10, float(answer.false_hit))
    expected[[2, 5]] = float(answer.hit)
    assert plausible_hits(counts, people, expected)


@pytest.mark.parametrize(
    "bad",
    [
        [{0, 1, 2}],
        [{4}],
        [{-1}],
        [{0.5}],
        3,
        np.array(3),
        np.ones((2, 4)),
        np.full((1, 4), 2),
        np.zeros((1, 3)),
        np.ma.array([1], mask=[True]),
        [np.ma.array([1], mask=[True])],
    ],
)
def test_what_is_no_such_set_is_refused(bad):
    with pytest.raises(InvalidValue):
        Sets(4, 2, 1).randomize(bad)


@pytest.mark.parametrize("bad", [{"most": 0}, {"most": 5}, {"most": 1.0}, {"by": "magic"}, {"size": 0}])
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(InvalidInput):
        Sets(**{"size": 4, "most": 2, "epsilon": 1, **bad})


def test_what_can_be_gone_through_once_is_the_same_set():
    """At epsilon 90 the report is the item drawn, but for a chance of e^-90: an empty set would report a blank."""
    answer = Sets(4, 2, 90, by="k-ary")
    assert answer.randomize(iter([0, 3])) in (0, 3)
    assert set(answer.randomize(iter([[0, 3], [0, 3]])).tolist()) <= {0, 3}


@pytest.mark.parametrize("bad", [np.array([False, True, False, True]), [True], None, 3])
def test_what_is_no_collection_of_codes_is_refused(bad):
    with pytest.raises(InvalidValue, match="codes"):
        Sets(4, 2, 1).randomize(bad)
