"""Several questions: the epsilons of a split add up, a drawn question costs what it costs alone."""

import math
from fractions import Fraction

import numpy as np
import pytest

from chance import plausible_hits
from every_path import law_of_derive, law_of_randomize, row
from tacit.errors import InvalidInput, InvalidValue
from tacit.privacy.rounding import exp_down
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.numeric import OneBit
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.several_questions import Sampled, Split

MAKERS = [Binary, lambda epsilon: KAry(3, epsilon)]


def test_the_losses_of_a_split_add_up_exactly():
    both = Split.evenly(MAKERS, 1)
    assert both.epsilon == 1
    assert both.channel.worst_ratio == exp_down(Fraction(1, 2)) ** 2
    assert Split((Binary(1), KAry(3, 2))).epsilon == 3


def test_two_questions_at_the_whole_epsilon_each_are_caught():
    """The planted bug: both parts at epsilon 1 under the claim of epsilon 1."""
    assert not Split((Binary(1), KAry(3, 1))).channel.within(1)


def test_a_drawn_question_costs_what_it_costs_alone():
    one = Sampled.evenly(MAKERS, 1)
    assert one.epsilon == 1
    assert one.channel.worst_ratio == exp_down(Fraction(1))
    assert Sampled((Binary(1), KAry(3, 2))).epsilon == 2


@pytest.mark.parametrize("kind", [Split, Sampled])
def test_the_laws_are_those_of_the_channel(kind, monkeypatch):
    questions = kind.evenly(MAKERS, 1)
    for answers in ((0, 0), (1, 2)):
        assert law_of_derive(questions, answers) == law_of_randomize(questions, answers, monkeypatch) == row(questions, answers)
    assert questions.written((1, 2)) == "1;2"


def test_a_column_for_each_question():
    both, one = Split.evenly(MAKERS, 1), Sampled.evenly(MAKERS, 1)
    columns = [np.arange(6) % 2, np.arange(6) % 3]
    first, second = both.randomize(columns)
    assert len(first) == len(second) == 6
    drawn, reports = one.randomize_columns(columns)
    assert [len(each) for each in reports] == np.bincount(drawn, minlength=2).tolist()


def test_questions_are_drawn_equally_often():
    """4,000 people, half for each."""
    drawn, _ = Sampled.evenly(MAKERS, 1).randomize_columns([np.zeros(4000, dtype=int)] * 2)
    assert plausible_hits(drawn.sum(), 4000, 1 / 2)


@pytest.mark.parametrize("kind", [Split, Sampled])
def test_one_answer_to_each_question(kind):
    questions = kind.evenly(MAKERS, 1)
    for call in (questions.randomize, questions.law, questions.written):
        with pytest.raises(InvalidValue, match="expected 2 answers"):
            call((1,))
    with pytest.raises(InvalidInput, match="at least one"):
        kind(())
    with pytest.raises(InvalidValue, match="equal length"):
        Sampled.evenly(MAKERS, 1).randomize_columns([[0, 1], [0]])


@pytest.mark.parametrize("sets", [[{0, 1}, (), [1]], [(0, 1), (0, 1), (0, 1)], [{0}, {1}, {0, 1}]])
def test_a_column_of_sets_stays_one(sets):
    """At epsilon 90 a report is an entry of the set, but for a chance of e^-90; rows of codes are no rows of zeros and ones."""
    one = Sampled((Binary(1), Sets(2, 2, 90, by="k-ary")))
    for _ in range(8):
        drawn, (_, reports) = one.randomize_columns([[0, 1, 1], sets])
        held = [set(each) | set(range(2 + len(each), 4)) for each, at in zip(sets, drawn, strict=True) if at]
        assert len(reports) == len(held)
        assert all(report in entries for report, entries in zip(reports, held, strict=True))


@pytest.mark.parametrize("kind", [Split, Sampled])
def test_the_law_is_of_values_and_not_of_places_on_a_grid(kind):
    """A number 12 of 10 to 14 is at place 2, and a set is what it holds; parts and whole say the same of them."""
    number, items, answer = OneBit(10, 14, 1), Sets(3, 2, 1), Binary(1)
    law = kind((number, items, answer)).law((12, {2, 0}, True)).probabilities
    parts = [number.law(12), items.law([0, 2]), answer.law(1)]
    for at, part in enumerate(parts):
        for report, chance in part.probabilities.items():
            found = sum(p for each, p in law.items() if (each[at] == report if kind is Split else each == (at, report)))
            assert float(found) == pytest.approx(float(chance) / (1 if kind is Split else 3), rel=1e-12)
    with pytest.raises(InvalidValue):
        kind((number, answer)).law((math.nan, 1))


@pytest.mark.parametrize("bad", [None, 3, np.array(3)])
def test_answers_are_a_list_of_them(bad):
    with pytest.raises(InvalidValue, match="exactly one per question"):
        Split.evenly(MAKERS, 1).randomize(bad)
