"""The most frequent value: all joint outputs of all groups are listed, for every pair of neighbours among small tables.

The planted bugs: a utility of one row for units of several, groups priced as disjoint people, and the price of a unit that comes
or goes used for one that changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log
from typing import Any

import numpy as np
import pytest

from chance import follows_law
from tacit.accounting.composition import loss
from tacit.accounting.events import Batch, BoundedRangeChoice
from tacit.errors import Refused
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.unseal import histogram
from tacit.privacy.loss import Pure
from tacit.privacy.sealed import Sealed
from tacit.query.price.explain import explained
from tacit.query.price.price import Quote, price, request
from tacit.query.price.quote import Mode, candidates
from tacit.release.answer import MODE, Receipt
from tacit.release.elsewhere.packed import packed, unpacked
from tacit.release.noisy import noised
from tacit.release.tabulate import answer
from worlds import PUBLIC, World, clinic, ranked, world_in_memory

GROUPED, ALONE = "SELECT age, MODE(ward) AS m FROM visits WHERE age < 2 GROUP BY age", "SELECT MODE(ward) AS m FROM visits"
ROW = {"ward": 0, "cost": 5000, "age": 3, "day": 0, "diagnosis": "flu", "scan": 0}
VALUES = 3
Rows = tuple[tuple[int, int], ...]  # the group and the value of each row of one unit


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("modes"), max_rows=2), {"visits": [], "wards": PUBLIC}) as made:
        yield made


def quoted(made: World, text: str, change: Any = "add-remove", epsilon: int = 1) -> Quote:
    return price(made.plan(text), request(epsilon=epsilon), change)[0]


# --- every joint output of two groups, exactly -----------------------------------------------------------------------------------


def logs(mechanism: Exponential, rows: Sequence[tuple[int, int]], groups: int) -> np.ndarray:
    """The logarithms of the probabilities of all joint outputs, one value to each group."""
    counted = Counter(rows)
    laws = [mechanism.law([counted[group, value] for value in range(VALUES)]) for group in range(groups)]
    each = [[log(law.probabilities[value]) for value in mechanism.candidates or ()] for law in laws]
    return np.array([sum(parts) for parts in product(*each)])


def units(most: int, groups: int) -> list[Rows]:
    """All that one unit can have: up to `most` rows, each in a group and with a value."""
    cells = list(product(range(groups), range(VALUES)))
    return [unit for size in range(most + 1) for unit in combinations_with_replacement(cells, size)]


def widest(mechanism: Exponential, change: str, groups: int, most: int = 2) -> float:
    """The longest interval that holds the log-ratios of all outputs of two neighbours, over all units and a few others' rows."""
    others: list[Rows] = [(), ((0, 0),), ((0, 0), (0, 1), (1, 2) if groups > 1 else (0, 2)), ((0, 1),) * 3]
    known = units(most, groups)
    after = known if change == "change-one" else [()]
    found = 0.0
    for rest in others:
        laws = {unit: logs(mechanism, (*rest, *unit), groups) for unit in known}
        found = max(found, *(float(np.ptp(laws[one] - laws[two])) for one in known for two in after))
    return found


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize(("text", "groups"), [(ALONE, 1), (GROUPED, 2)])
def test_the_joint_choice_has_bounded_range(place: World, text: str, groups: int, change: Any) -> None:
    """And therefore a loss of epsilon, and of epsilon^2 / 8 concentrated; the interval is reached."""
    (mode,) = quoted(place, text, change).modes
    assert widest(mode.mechanism, change, groups) == pytest.approx(1, abs=1e-9)


def test_the_price_is_reached(place: World) -> None:
    """A loss near epsilon needs a rare value and a unit that has all of its rows there."""
    (mode,) = quoted(place, ALONE, epsilon=3).modes
    others = ((0, 0),) * 20
    without, with_unit = logs(mode.mechanism, others, 1), logs(mode.mechanism, (*others, (0, 1), (0, 1)), 1)
    assert 2.99 < float(np.abs(without - with_unit).max()) <= 3


def test_planted_bugs_are_seen(place: World) -> None:
    (alone,), (grouped,) = quoted(place, ALONE).modes, quoted(place, GROUPED).modes
    by_row = Exponential(Fraction(1, 2), 1, alone.mechanism.candidates)
    assert widest(by_row, "add-remove", 1) > 1.9, "a unit has two rows"
    assert widest(by_row, "add-remove", 2) > 1.9, "and they can be in two groups, which are not two people"
    assert widest(grouped.mechanism, "change-one", 2) > 1.9, "a unit that changes lowers some counts and raises others"


# --- what is quoted, released and said -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize(
    "text", [ALONE, GROUPED, "SELECT diagnosis, MODE(ward) AS m, COUNT(*) AS n FROM visits GROUP BY diagnosis"]
)
def test_one_event_for_all_groups(place: World, text: str, change: Any) -> None:
    quote = price(place.plan(text), request(epsilon=1, delta=1e-6), change)[0]
    (mode,) = quote.modes
    assert isinstance(quote.event, Batch)
    chosen = [event for event in quote.event.events if isinstance(event, BoundedRangeChoice)]
    assert chosen == [mode.event]
    known = loss(mode.event)
    assert isinstance(known, Pure)
    doubled = quote.keys is not None and change == "change-one"  # priced for add/remove, which counts twice
    assert known.epsilon == Fraction(1, (3 if quote.keys else 1) * (2 if doubled else 1))


def test_the_candidates_are_the_declared_values(place: World) -> None:
    for text, values in [
        ("MODE(ward)", (0, 1, 2)), ("MODE(age)", tuple(range(-3, 8))), ("MODE(age > 2)", (0, 1)),
        ("MODE(EXTRACT(month FROM day))", (1, 2, 3, 4, 5)),
    ]:  # fmt: skip
        (mode,) = quoted(place, f"SELECT {text} FROM visits").modes
        assert candidates(mode.call) == values
    assert histogram(Sealed((np.array([5, 2, 9, 0]), np.array([1, 1, 7, 3]))), (0, 2, 4)).unseal().tolist() == [3, 1, 0]


def test_the_release_follows_the_law(place: World) -> None:
    """Through the engine, in each of two groups; a NULL counts nowhere."""
    seen = [{**ROW, "ward": value} for value in (0, 1, 1, 2, 2, 2, None, None)]
    made = place.with_rows("visits", ranked([[row] for row in seen]))
    quote = quoted(made, "SELECT age, MODE(ward) AS m FROM visits WHERE age IN (0, 1) GROUP BY age")
    (mode,) = quote.modes
    exact, groups = made.engine.run(quote.question.group), [0, 1]
    place.with_rows("visits", [])
    drawn = [noised(quote, exact).ranks[mode.call][0] for _ in range(600)]
    for group, counts in ((groups.index(0), [1, 2, 3]), (groups.index(1), [0, 0, 0])):
        law = mode.mechanism.law(counts)
        assert follows_law([int(values[group]) for values in drawn], law.probabilities, among=2)


def test_an_empty_table_has_an_answer_of_the_same_shape(place: World) -> None:
    quote = quoted(place, "SELECT age, MODE(ward) AS m FROM visits GROUP BY age")
    shapes = []
    for people in ([], [[ROW]] * 40):
        made = place.with_rows("visits", ranked(people))
        noisy = noised(quote, made.engine.run(quote.question.group))
        sent = packed(quote, noisy)
        said = answer(quote, unpacked(quote, sent), Receipt(quote.epsilon, quote.delta))
        column = said.column("m")
        assert set(column.values) <= {"a", "b", "c"}
        assert (column.kind, column.low, column.high, column.is_number) == ("mode", None, None, False)
        assert MODE in said.notes
        assert "(noisy)" in str(said)
        shapes.append((len(sent), len(said), said.notes, said.limits))
    place.with_rows("visits", [])
    assert shapes[0] == shapes[1]


def test_a_clear_winner_is_found(place: World) -> None:
    made = place.with_rows("visits", ranked([[{**ROW, "ward": 1}]] * 100))
    quote = quoted(made, ALONE)
    noisy = noised(quote, made.engine.run(quote.question.group))
    place.with_rows("visits", [])
    assert answer(quote, noisy, Receipt(quote.epsilon, quote.delta))["m"] == ("b",)  # fails once in 2 e^50 times


def test_explain_says_how_far_the_choice_falls_short(place: World) -> None:
    quote = quoted(place, ALONE)
    short = log(3 / 0.05) * 2  # two rows of a unit at epsilon 1
    (error,) = explained(quote).errors
    assert (
        error.error == f"a chosen value, without an interval; at most {short:.6g} rows below the most frequent at 0.95 confidence"
    )
    (noise,) = explained(quote).noise
    assert (noise.sensitivity, noise.scale) == ("2 rows", "2")
    (changed,) = explained(quoted(place, ALONE, "change-one")).noise
    assert (changed.sensitivity, changed.scale) == ("4 rows", "4")


def test_quantiles_of_the_same_column_stay_as_they_are(place: World) -> None:
    """A mode is no quantile: the agreement of quantiles leaves it alone."""
    made = place.with_rows("visits", ranked([[{**ROW, "age": 10}]] * 200))
    quote = quoted(made, "SELECT MODE(age) AS m, MEDIAN(age) AS half, MIN(age) AS low FROM visits", epsilon=6)
    noisy = noised(quote, made.engine.run(quote.question.group))
    place.with_rows("visits", [])
    said = answer(quote, noisy, Receipt(quote.epsilon, quote.delta))
    assert (said["m"], said["half"]) == ((7,), (7.0,))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT MODE(diagnosis) FROM visits", "wrong_type"),
        ("SELECT MODE(cost * age) FROM visits", "too_wide"),
        ("SELECT MODE(3) FROM visits", "not_allowed"),
        ("SELECT MODE(age) + 1 FROM visits", "not_allowed"),
        ("SELECT age, MODE(ward) AS m FROM visits GROUP BY age ORDER BY 2", "not_allowed"),
        ("SELECT age, MODE(ward) AS m FROM visits GROUP BY age HAVING m = 'a'", "not_allowed"),
        ("SELECT COUNT(*) / (SELECT MODE(age) FROM visits) FROM visits", "not_allowed"),
        ("SELECT MODE(ward) AS m FROM visits UNION ALL SELECT COUNT(*) FROM visits", "wrong_type"),
    ],
)
def test_what_is_refused(place: World, text: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        quoted(place, text)
    assert caught.value.code == code


def test_an_error_cannot_be_asked_for(place: World) -> None:
    with pytest.raises(Refused, match="MODE is a chosen value"):
        price(place.plan(ALONE), request(error=5))


def test_a_mode_of_another_sensitivity_is_another_mode(place: World) -> None:
    """Mechanisms are compared by what they do, so a quote that is priced otherwise is not the same quote."""
    quote = quoted(place, ALONE)
    (mode,) = quote.modes
    cheaper = Mode(mode.place, mode.call, Exponential(Fraction(1, 2), 1, mode.mechanism.candidates, mode.mechanism.neighbours))
    assert replace(quote, modes=(cheaper,)) != quote
