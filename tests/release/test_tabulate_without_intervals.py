"""`interval=False`: a quantile is one draw with all of its epsilon, and the answer says that it has no interval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from hospital import hospital_session
from tacit.accounting.events import BoundedRangeChoice
from tacit.errors import InvalidInput
from tacit.mechanisms.quantile.quantile import Quantile
from tacit.query.language.sql import parse
from tacit.query.offers import key_of
from tacit.query.passes import rewrite
from tacit.query.price.explain import explained
from tacit.query.price.price import price, request
from tacit.query.price.quote import Request
from tacit.query.price.stability import rows_are_public
from tacit.query.trees import canonical_text
from tacit.release.answer import NO_INTERVAL, NO_QUANTILE, Answer, Receipt, record, recorded
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from tacit.session import Session
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

ROW = {"ward": 0, "cost": 0, "age": 0, "day": 0, "diagnosis": None, "scan": None}
MEDIAN = "SELECT MEDIAN(cost) AS half, MEDIAN(cost) * 2 AS twice, COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    rows = ranked([[{**ROW, "cost": cost}] for cost in range(0, 5000, 5)])
    with world_in_memory(clinic(tmp_path_factory.mktemp("alone"), max_rows=1), {"visits": rows, "wards": PUBLIC}) as made:
        yield made


def asked(place: World, text: str, **budget: Any) -> Answer:
    (quote,) = price(place.plan(text), request(**budget))
    return answer(quote, noised(quote, place.engine.run(quote.question.group)), Receipt(quote.epsilon, quote.delta))


def test_all_of_epsilon_goes_to_the_value(place: World) -> None:
    (quote,) = price(place.plan("SELECT MEDIAN(cost), MAX(cost) FROM visits"), request(epsilon=1, interval=False))
    assert all(type(rank.mechanism) is Quantile for rank in quote.ranks)
    assert [rank.event for rank in quote.ranks] == [
        BoundedRangeChoice(Fraction(1, 2), rank.mechanism.neighbours) for rank in quote.ranks
    ]


def test_no_interval_is_shown_of_what_a_quantile_decides(place: World) -> None:
    found = asked(place, MEDIAN, epsilon=50, interval=False)
    assert found["half"][0] == pytest.approx(25, abs=2)
    assert (found.column("half").low, found.column("twice").high) == (None, None)
    assert found.column("n").has_interval
    assert NO_INTERVAL in found.notes
    assert NO_INTERVAL in str(found)
    assert list(found.flat()) == ["half", "twice", "n", "n_low", "n_high"]
    assert found.rows()[0]["half"] == {"value": found["half"][0], "low": None, "high": None}
    assert str(recorded(record(found))) == str(found)


def test_an_answer_of_nothing_else_has_no_intervals(place: World) -> None:
    found = asked(place, "SELECT MEDIAN(cost) AS half FROM visits", epsilon=50, interval=False)
    assert "No intervals. Spent: epsilon 50." in str(found)
    assert "(noisy)" in str(found)
    assert found.chart() is not None


def test_released_numbers_still_choose_rows(place: World) -> None:
    text = "SELECT ward, MEDIAN(cost) AS half FROM visits GROUP BY ward HAVING MEDIAN(cost) >= 0 ORDER BY half LIMIT 2"
    assert len(asked(place, text, epsilon=5, interval=False)) == 2


def test_with_intervals_nothing_is_said(place: World) -> None:
    found = asked(place, MEDIAN, epsilon=50)
    assert all(column.has_interval for column in found.columns)
    assert NO_INTERVAL not in found.notes


def test_it_makes_another_question_and_leaves_old_keys_as_they_were() -> None:
    with_one, without = request(epsilon=1), request(epsilon=1, interval=False)
    assert canonical_text(with_one) != canonical_text(without)
    assert "interval" not in canonical_text(with_one), "answers stored before the option existed are still found"
    assert with_one == Request(Fraction(1))


def test_it_is_true_or_false() -> None:
    with pytest.raises(InvalidInput, match="interval"):
        request(epsilon=1, interval="no")  # type: ignore[arg-type]


def test_explain_says_so(place: World) -> None:
    (quote,) = price(place.plan(MEDIAN), request(epsilon=1, interval=False))
    told = str(explained(quote))
    assert "one draw without an interval" in told
    assert "half: no interval" in told


# --- the same question, with and without -------------------------------------------------------------------------------------

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost < {}"
HALF = "SELECT MEDIAN(cost) AS half FROM visits WHERE cost < {}"


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with hospital_session(tmp_path_factory.mktemp("hospital")) as session:
        yield session


def numbers(found: Answer) -> list[Any]:
    return [(column.values, column.low, column.high) for column in found.columns]


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("SELECT COUNT(*) AS n, AVG(cost) AS mean FROM visits", True),
        ("SELECT COUNT(*) AS n, MAX(cost) AS most FROM visits", False),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING MEDIAN(cost) >= 0", False),
    ],
)
def test_that_it_has_no_effect_is_said_where_no_quantile_is_drawn(ana: Session, text: str, without: bool) -> None:
    """Also one that only HAVING asks for counts: its value gets the epsilon of its interval."""
    found = ana.sql(text, epsilon=0.01, interval=False)
    assert (NO_QUANTILE in found.notes, NO_QUANTILE in str(found)) == (without, without)
    assert (NO_QUANTILE in found.to_dict()["notes"]) is without
    assert NO_QUANTILE not in ana.sql(text, epsilon=0.01).notes


@pytest.mark.parametrize("first", [True, False])
def test_a_question_without_quantiles_is_paid_for_once(ana: Session, first: bool) -> None:
    """Each asker reads whether it had an effect, whoever asked first."""
    text = COUNT.format(100 + first)
    one = ana.sql(text, epsilon=0.01, interval=first)
    other = ana.sql(text, epsilon=0.01, interval=not first)
    assert (one.receipt.again, other.receipt.again, one.receipt.entry) == (False, True, other.receipt.entry)
    assert numbers(one) == numbers(other)
    assert ((NO_QUANTILE in one.notes), (NO_QUANTILE in other.notes)) == (not first, first)
    assert [note for note in one.notes if note != NO_QUANTILE] == [note for note in other.notes if note != NO_QUANTILE]


def test_a_quantile_is_another_question_without_its_interval(ana: Session) -> None:
    one, other = (ana.sql(HALF.format(100), epsilon=0.01, interval=interval) for interval in (True, False))
    assert not other.receipt.again
    assert other.receipt.entry > one.receipt.entry
    *_, where = (ana.sql(HALF.format(100) + " HAVING COUNT(*) > 0", epsilon=0.01, interval=interval) for interval in (True, False))
    assert not where.receipt.again


def test_answers_of_before_are_found_under_their_old_keys(ana: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were kept under a key that says that intervals were left out; whoever paid for them does not pay again."""
    text, now = COUNT.format(300), Session._offer
    with monkeypatch.context() as earlier:

        def before(self: Session, *given: Any) -> Any:
            found = now(self, *given)
            return replace(found, key=found.older[0], older=()) if found.older else found

        earlier.setattr(Session, "_offer", before)
        kept = ana.sql(text, epsilon=0.01, interval=False)
        *_, old = (entry.key for entry in ana.data.ledger.entries() if entry.kind == "spend")
    again = ana.sql(text, epsilon=0.01, interval=False)
    assert (again.receipt.again, again.receipt.entry, numbers(again)) == (True, kept.receipt.entry, numbers(kept))
    assert again.notes.count(NO_QUANTILE) == 1
    named, asked = COUNT.format(300), request(epsilon=0.01, interval=False)
    plan = rewrite(parse(named), ana.data.catalog, ana.data.public)
    (quote,) = price(plan, asked, ana.data.catalog.change, rows_are_public(plan, ana.data.catalog))
    assert key_of(quote, ana.data.version) == old, "the key as it was made before"
