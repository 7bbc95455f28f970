"""People who are asked again: permanent answers do not average out, and the account counts distinct true values."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chance import CHANCE, fewest_hits, most_hits
from tacit.errors import BudgetExceeded, InvalidInput, InvalidValue
from tacit.privacy.loss import CHANGE_ONE, Pure
from tacit.publish.local.estimates.estimate import Tally, estimate
from tacit.publish.local.randomizers.categories import Binary, KAry
from tacit.publish.local.randomizers.longitudinal import Account, permanent, stream_of
from tacit.publish.local.randomizers.numeric import OneBit, Piecewise
from tacit.publish.local.randomizers.sets import Sets
from tacit.publish.local.randomizers.several_questions import Split
from tacit.publish.local.randomizers.unary import Unary

SECRET = bytes(range(32))
MEAL = ("canteen", "meal")


def secrets(count):
    return [number.to_bytes(32, "big") for number in range(count)]


def daily(values, most_values=2, randomizer=None, secret=SECRET):
    """The reports of days with these true values, and the account after them."""
    account = Account(cap=10).opened(*MEAL, randomizer or KAry(5, 1), most_values)
    reports = []
    for value in values:
        report, account = account.answer(secret, *MEAL, value)
        reports.append(report)
    return reports, account


def kept(value, randomizer=None):
    """The permanent answer that an account derives."""
    response = randomizer or KAry(5, 1)
    return permanent(response, value, SECRET, stream_of(MEAL[0], response), MEAL[1])


def test_the_same_value_is_answered_alike_and_paid_once():
    reports, account = daily([3] * 100)
    assert len(set(reports)) == 1
    assert account.loss == Pure(1, CHANGE_ONE)
    assert reports[0] == kept(3)


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(1, 6))
def test_the_loss_is_epsilon_for_each_distinct_value_that_was_reported(values, most_values):
    reports, account = daily(values, most_values)
    told = account.told.get(MEAL, ())
    assert account.loss.epsilon == len(told) == min(len(set(values)), most_values)
    assert set(told) <= set(values)
    assert len(set(reports)) <= max(1, len(told))
    assert account.loss.epsilon <= account.reserved == most_values


def test_beyond_what_is_paid_the_last_answer_is_repeated():
    values = [0, 1, 0, 2, 3]
    reports, account = daily(values, most_values=2)
    zero, one = (kept(value) for value in (0, 1))
    assert reports == [zero, one, zero, zero, zero]
    assert account.loss.epsilon == 2


def averaged(reports):
    """What a collector learns of each person from many days: the answer given most often."""
    return [int(np.mean(each) > 0.5) for each in reports]


def test_fresh_answers_average_out_and_permanent_ones_do_not():
    """200 people asked on 99 days at epsilon 1. Fresh answers (planted) give everybody away: a person is misread with a probability
    below exp(-2 * 99 * 0.231^2) = 3e-5 by Hoeffding. Permanent ones are right as often as one answer is, 73 %.
    """
    days, truth = 99, [person % 2 for person in range(200)]
    response = Binary(1)
    fresh = [response.randomize(np.full(days, value)) for value in truth]
    kept = [daily([value] * days, 1, response, secret)[0] for value, secret in zip(truth, secrets(200), strict=True)]
    right = [np.count_nonzero(np.array(averaged(reports)) == truth) for reports in (fresh, kept)]
    assert right[1] <= most_hits(200, response.hit) < fewest_hits(200, 1 - 3e-5) <= right[0]


def test_permanent_answers_estimate_as_fresh_ones_do():
    response, truth = KAry(3, 1), [person % 10 % 3 for person in range(3000)]
    reports = [daily([value], 1, response, secret)[0][0] for value, secret in zip(truth, secrets(3000), strict=True)]
    found = estimate(response, Tally.of(response, reports), confidence=1 - CHANCE, simultaneous=True)
    shares = np.bincount(truth) / 3000
    assert ((found.low <= shares) & (shares <= found.high)).all()


def history_law(values, response, most_values):
    """The exact law of all reports of a history, for permanent answers that are drawn (the ideal of derived ones)."""
    known: list[int] = []
    told: list[int] = []
    for value in values:
        if value not in known and len(known) < most_values:
            known.append(value)
        told.append(value if value in known else told[-1])
    law = {}
    rows = [response.channel.row(value) for value in known]
    for reports in product(range(response.size), repeat=len(known)):
        seen = tuple(reports[known.index(value)] for value in told)
        law[seen] = law.get(seen, Fraction(0)) + prod(
            (row[report] for row, report in zip(rows, reports, strict=True)), start=Fraction(1)
        )
    return law


def worst_ratio(one, other):
    return max(
        (weight / other[seen] if other.get(seen) else None for seen, weight in one.items()), key=lambda r: (r is None, r or 0)
    )


@pytest.mark.parametrize("days", [1, 2, 3])
def test_a_history_that_is_paid_once_loses_epsilon_whatever_changes(days):
    """All pairs of histories of up to three days: with one value paid for, the whole history is within e^epsilon."""
    response = KAry(3, 1)
    laws = [history_law(values, response, most_values=1) for values in product(range(3), repeat=days)]
    ratio = response.hit / response.false_hit
    assert max(worst_ratio(one, other) for one in laws for other in laws) == ratio


def test_histories_that_change_on_the_same_days_lose_epsilon_for_each_value():
    """All histories of three days, two values paid for: alike in pattern, within e^(epsilon times distinct values)."""
    response, ratio = KAry(3, 1), KAry(3, 1).hit / KAry(3, 1).false_hit
    histories = {values: history_law(values, response, 2) for values in product(range(3), repeat=3) if len(set(values)) <= 2}
    pattern = {values: tuple(values.index(value) for value in values) for values in histories}
    for one, other in product(histories, repeat=2):
        if pattern[one] == pattern[other]:
            assert worst_ratio(histories[one], histories[other]) <= ratio ** len(set(one))


def test_that_something_changed_is_seen():
    """The limit that longitudinal.md states: histories that change on different days can be told apart for certain."""
    response = KAry(3, 1)
    changing, constant = (history_law(values, response, 2) for values in ((0, 1), (0, 0)))
    assert worst_ratio(changing, constant) is None


def test_questions_are_opened_by_public_things_alone():
    account = Account(cap=3).opened(*MEAL, KAry(5, 1), most_values=2)
    spent, unspent = (
        account,
        account.answer(SECRET, *MEAL, 1)[1],
    )
    for each in (spent, unspent):  # what was told so far makes no difference
        with pytest.raises(BudgetExceeded, match="reserve epsilon 2"):
            each.opened("canteen", "drink", KAry(3, 1), most_values=2)
        assert each.opened("canteen", "drink", KAry(3, 1)).reserved == 3


def test_several_questions_add_up():
    account = Account(cap=5).opened(*MEAL, KAry(5, 1), 2).opened("canteen", "money", OneBit(0, 20, "1/2"), 2)
    account = account.opened("canteen", "allergies", Sets(4, 2, 1))
    for question, value in (("meal", 1), ("money", 3), ("money", 3.2), ("money", 9), ("allergies", (2, 1)), ("allergies", {1, 2})):
        _, account = account.answer(SECRET, "canteen", question, value)
    assert account.loss.epsilon == 1 + 2 * Fraction(1, 2) + 1  # 3 and 3.2 are one place on the grid; sets have no order
    assert "told 3, reserved 4, cap 5" in str(account)
    assert "meal" not in repr(account)


def test_what_is_refused():
    account = Account(cap=2).opened(*MEAL, KAry(5, 1))
    with pytest.raises(InvalidInput, match="already open"):
        account.opened(*MEAL, KAry(5, 1))
    with pytest.raises(InvalidInput, match="not open"):
        account.answer(SECRET, "canteen", "shoes", 1)
    with pytest.raises(InvalidInput, match="most_values"):
        account.opened("canteen", "drink", KAry(5, 1), most_values=0)
    with pytest.raises(InvalidInput, match="secret"):
        account.answer(b"short", *MEAL, 1)


def test_a_question_asked_again_with_another_channel_does_not_reuse_its_coins():
    """A collector who asks twice, at two epsilons, would see a contradiction only where the first answer was the lie, and then know
    the truth for certain, if both answers came from the same coins. With coins of their own such pairs tell either truth: of 2,000
    secrets, 665 contradictions are expected where the first is the lie and 148 where the second is; none of a kind: below 10^-60.
    """
    weak, strong = KAry(2, "0.5"), KAry(2, 2)

    def lies(stream):
        pairs = [
            tuple(permanent(each, 1, secret.to_bytes(16, "big"), stream(each), "q") == 0 for each in (weak, strong))
            for secret in range(2000)
        ]
        return {pair for pair in pairs if pair[0] != pair[1]}

    assert lies(lambda each: stream_of("s", each)) == {(True, False), (False, True)}
    assert lies(lambda each: "s") == {(True, False)}  # planted: one name for both channels
    assert stream_of("s", Unary(5, 1)) != stream_of("s", Unary.symmetric(5, 1))


def test_randomizers_of_the_same_numbers_and_another_kind_have_coins_of_their_own():
    """One bit and piecewise hold the same four numbers; inside a split only their kinds tell them apart."""
    one, other = OneBit(0, 10, 1), Piecewise(0, 10, 1)
    assert stream_of("s", one) != stream_of("s", other)
    assert stream_of("s", Split((one,))) != stream_of("s", Split((other,)))
    assert stream_of("s", Split((one,))) == stream_of("s", Split((OneBit(0, 10, 1),)))


@pytest.mark.parametrize("kind", [KAry(5, 1), Sets(5, 2, 1), OneBit(0, 1, 1)], ids=lambda kind: type(kind).__name__)
def test_what_is_no_value_is_refused_without_being_quoted(kind):
    account = Account(cap=4).opened("canteen", "meal", kind)
    with pytest.raises(InvalidValue) as refused:
        account.answer(SECRET, "canteen", "meal", "pork")
    assert "pork" not in str(refused.value)


KEPT = {
    "category": (KAry(5, 1), [3, np.int64(1), 3]),
    "number": (OneBit(0, 10, 1), [2.5, 7, 2.5]),
    "exact number": (OneBit(0, 10, 1), [Fraction(5, 2), 7, 2.5]),
    "set": (Sets(4, 2, 1), [[2, 0], [], (0, 2)]),
    "two questions": (Split((Binary("1/2"), OneBit(0, 10, "1/2"))), [(1, 2.5), (0, 7), (1, 2.5)]),
}


@pytest.mark.parametrize(("randomizer", "values"), KEPT.values(), ids=KEPT)
def test_an_account_is_kept_from_one_day_to_the_next(randomizer, values):
    """Written down after every day and read before the next, it answers and counts as one that never left the memory."""
    fresh = Account(4).opened("survey", "question", randomizer, most_values=2)
    lasting, text = fresh, fresh.to_json()
    for value in values:
        report, lasting = lasting.answer(SECRET, "survey", "question", value)
        again, restored = fresh.restored(text).answer(SECRET, "survey", "question", value)
        text = restored.to_json()
        assert np.array_equal(report, again)
        assert restored.loss == lasting.loss
    assert lasting.loss.epsilon == 2


@pytest.mark.parametrize("text", ["", "[]", "3", '{"survey": 3}', '{"survey": {"question": 3}}'])
def test_what_is_no_account_is_not_restored(text):
    with pytest.raises(InvalidInput, match="invalid account"):
        Account(4).opened("survey", "question", KAry(5, 1)).restored(text)


@pytest.mark.parametrize("text", ['{"survey": {"other": [1]}}', '{"survey": {"question": [1, 2]}}'])
def test_an_account_is_restored_to_the_questions_that_it_is_of(text):
    with pytest.raises(InvalidInput, match="with its original terms"):
        Account(4).opened("survey", "question", KAry(5, 1)).restored(text)
