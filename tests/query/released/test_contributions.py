"""Limits on contributions: what they mean row by row, how far one unit moves them, and the bugs that this catches.

The clinic of `worlds.py`: at most 3 rows per person, cost from 0 to 50 in steps of 0.01, age from -3 to 7, wards a, b, c or none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from checked import report_on
from drift import by_group, moved
from hospital import hospital_session
from questions import clinic_units
from tacit.errors import Refused
from tacit.mechanisms.laplace import Laplace
from tacit.query import passes
from tacit.query.binding import binder
from tacit.query.engines import compile as compiled
from tacit.query.plan import Term
from tacit.query.price import stability
from tacit.query.price.price import price, request
from tacit.query.question import canonical_plan
from tacit.session import Session
from worlds import PUBLIC, World, clinic, ranked, without, world_in_memory

PRIVATE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS"
ROW = {"ward": 0, "cost": 5000, "age": 10, "day": 0, "diagnosis": "flu", "scan": 0}
LENGTHS = pytest.mark.parametrize("examples", [12, pytest.param(400, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in_memory(clinic(tmp_path_factory.mktemp("bounds")), {"visits": [], "wards": PUBLIC}) as made:
        yield made


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with hospital_session(tmp_path_factory.mktemp("hospital")) as session:
        yield session


def with_units(place: World, units: Sequence[Sequence[Mapping[str, Any]]], max_rows: int = 3) -> World:
    made = place.with_rows("visits", ranked(units))
    return made.with_catalog(clinic(Path("/nowhere"), max_rows))


# --- how far one unit moves an answer ----------------------------------------------------------------------------------------


def check(made: World, text: str) -> None:
    """Every unit is taken away in turn; what moved is at most what each mechanism was told, with either noise."""
    rows, quotes = made.tables["visits"], price(made.plan(text), request(epsilon=1, delta=Fraction(1, 10**6)))
    full = by_group(quotes[0].question, made)
    for unit in sorted({row["tacit_unit"] for row in rows}):
        less = by_group(quotes[0].question, made.with_rows("visits", without(rows, unit)))
        for part in (part for quote in quotes for part in quote.sums):
            one, other = full[part.place], less[part.place]
            moves = [moved(one.get(key, 0), other.get(key, 0)) for key in one | other]
            size, laplace = part.mechanism.sensitivity, isinstance(part.mechanism, Laplace)
            assert sum(moves) <= size if laplace else sum(move**2 for move in moves) <= size**2, (text, part, moves)
    made.with_rows("visits", rows)


def caught(made: World, text: str) -> bool:
    made.engine._compiled.clear()  # what was compiled without the planted bug
    try:
        check(made, text)
    except AssertionError:
        return True
    return False


AGGREGATES = st.sampled_from([
    "COUNT(*, contribution_bounds_per_group => (0, 1))",
    "COUNT(cost, contribution_bounds_per_group => (1, 1))",
    "COUNT(*)",
    "COUNT(DISTINCT person)",
    "SUM(cost)",
    "SUM(cost, contribution_bounds_per_group => (0, 40))",
    "SUM(cost, contribution_bounds_per_group => (0.5, 0.75))",
    "SUM(age, contribution_bounds_per_group => (-3, 4))",
    "SUM(age, contribution_bounds_per_group => (1, 2))",
    "SUM(age * 2 - 1, contribution_bounds_per_group => (-7, -1))",
    "AVG(age, contribution_bounds_per_group => (-1, 2))",
    "AVG(cost, contribution_bounds_per_group => (0, 10.5))",
    "ANON_COUNT(* CLAMPED BETWEEN 0 AND 1)",
    "ANON_SUM(age CLAMPED BETWEEN -2 AND 5)",
    "ANON_AVG(cost)",
])  # fmt: skip
OPTIONS = st.sampled_from(["", "max_groups_contributed = 1", "max_groups_contributed = 2", "max_rows_contributed = 1"])
GROUPS = st.sampled_from(["", "ward", "age", "ward, age", "site"])


@st.composite
def bounded_questions(draw: st.DrawFn) -> str:
    chosen = draw(st.lists(AGGREGATES, min_size=1, max_size=3, unique=True))
    options, keys = draw(OPTIONS), draw(GROUPS)
    select = f"{PRIVATE} ({options})" if options else "SELECT"
    joined = " JOIN wards USING (ward)" if keys == "site" and not options.startswith("max_rows") else ""
    keys = "ward" if keys == "site" and not joined else keys
    where = draw(st.sampled_from(["", " WHERE age > 0", " WHERE cost < 25"]))
    named = ", ".join([*filter(None, [keys]), *chosen])
    return f"{select} {named} FROM visits{joined}{where}" + (f" GROUP BY {keys}" if keys else "")


@LENGTHS
def test_no_unit_moves_a_bounded_answer_further_than_its_sensitivity(place: World, examples: int) -> None:
    tried, answered = 0, 0

    @settings(max_examples=examples, deadline=None)
    @given(bounded_questions(), clinic_units(least=1, most=3), st.sampled_from([1, 3]))
    def inner(text: str, units: Any, max_rows: int) -> None:
        nonlocal tried, answered
        tried += 1
        made = with_units(place, units, max_rows)
        try:
            made.plan(text)
        except Refused as refusal:
            if re.search("wider|one possible value|always 0|more than the catalog", str(refusal)) is None:
                raise
            return
        check(made, text)
        for quote in price(made.plan(text), request(epsilon=1, delta=Fraction(1, 10**6))):
            assert not report_on(quote).wrong, text  # the hook of all tests sees a quote when its event is asked for
        answered += 1

    inner()
    assert answered > tried // 3, "many generated questions are answered"


WORST = {
    "SELECT SUM(cost, contribution_bounds_per_group => (0, 1)) FROM visits": ([ROW] * 3, [100]),
    "SELECT age, SUM(cost, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY age": (
        [{**ROW, "age": age} for age in (1, 2, 3)],
        [300],
    ),
    "SELECT age, COUNT(*, contribution_bounds_per_group => (0, 2)) FROM visits GROUP BY age": (
        [{**ROW, "age": age} for age in (1, 2, 3)],
        [3],
    ),
    f"{PRIVATE} (max_groups_contributed = 2) age, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY age": (
        [{**ROW, "age": age} for age in (1, 2, 3)],
        [2],
    ),
    f"{PRIVATE} (max_rows_contributed = 2) COUNT(*) FROM visits": ([ROW] * 3, [2]),
    "SELECT VAR_POP(age, contribution_bounds_per_row => (0, 4)) FROM visits": ([{**ROW, "age": 7}] * 3, [3, 12, 48]),
}


@pytest.mark.parametrize("text", WORST)
def test_narrower_bounds_are_priced_and_reached(place: World, text: str) -> None:
    """Each sensitivity is that of the narrower bounds, and one unit moves the answer by exactly so much."""
    rows, expected = WORST[text]
    made = with_units(place, [rows])
    (quote,) = [
        each for each in price(made.plan(text), request(epsilon=1)) if all(isinstance(p.mechanism, Laplace) for p in each.sums)
    ]
    assert [part.mechanism.sensitivity for part in quote.sums] == expected
    full = by_group(quote.question, made)
    less = by_group(quote.question, made.with_rows("visits", []))
    made.with_rows("visits", ranked([rows]))
    moves = [
        sum(moved(full[p.place].get(k, 0), less[p.place].get(k, 0)) for k in full[p.place] | less[p.place]) for p in quote.sums
    ]
    if "VAR_POP" not in text:  # whose three sums are not at their most for the same unit
        assert moves == expected


def test_gaussian_noise_follows_the_groups_of_a_unit(place: World) -> None:
    """One row for each unit and group: three groups move by 1 each, the square root of 3 together, and not by 3."""
    text = "SELECT age, COUNT(*, contribution_bounds_per_group => (0, 1)) AS n, COUNT(*) FROM visits GROUP BY age"
    question = with_units(place, [[ROW]]).plan(text)
    (moment, _) = question.group.moments
    squared = stability.l2_sensitivity(moment, stability.reach(question)) ** 2
    assert 3 <= squared <= 3 + Fraction(1, 10**6)


# --- planted bugs ------------------------------------------------------------------------------------------------------------


def test_a_group_too_many_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{PRIVATE} (max_groups_contributed = 2) age, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY age"
    made = with_units(place, [[{**ROW, "age": age} for age in (1, 2, 3)]])
    assert not caught(made, text)
    honest = compiled._first_groups
    monkeypatch.setattr(compiled, "_first_groups", lambda rows, keys, totals, most: honest(rows, keys, totals, most + 1))
    assert caught(made, text)


def test_groups_counted_over_all_units_are_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the first groups of the table and not of each unit, so that one unit decides which rows of others count."""
    text = f"{PRIVATE} (max_groups_contributed = 1) age, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY age"
    made = with_units(place, [[{**ROW, "age": 1}], [{**ROW, "age": 2}], [{**ROW, "age": 2}]])
    assert not caught(made, text)
    window = compiled.ibis.window
    monkeypatch.setattr(compiled.ibis, "window", lambda group_by, order_by: window(order_by=order_by))
    assert caught(made, text)


@pytest.mark.parametrize("text", [text for text in WORST if "SUM(" in text])
def test_bounds_that_are_priced_and_not_applied_are_caught(place: World, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The planted bug: the range is narrowed, and no number is clamped; in an engine that would be a clamp after the sum."""
    made = with_units(place, [WORST[text][0]])
    assert not caught(made, text)
    honest = binder.clamped

    def claimed(term: Term, low: Term, high: Term) -> Term:
        kept = honest(term, low, high)
        return replace(kept, node=replace(kept.node, branches=((kept.node.branches[0][0], kept.node.otherwise),)))

    monkeypatch.setattr(binder, "clamped", claimed)
    assert caught(made, text)


def test_a_clamp_of_rows_and_not_of_a_unit_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: bounds per group that clamp each row; then a unit of three rows adds three times as much."""
    text = "SELECT COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits"
    made = with_units(place, [[ROW] * 3])
    (unit,) = by_group(made.plan(text), made)
    assert unit == {(): 1}
    rows = "SELECT SUM(CASE WHEN cost IS NULL THEN 0 ELSE 1 END) FROM visits"
    assert by_group(made.plan(rows), made) == [{(): 3}]
    monkeypatch.setattr(stability, "l1_sensitivity", lambda moment, touched: 1)
    monkeypatch.setattr("tacit.query.price.quote.l1_sensitivity", lambda moment, touched: 1)
    assert caught(made, rows)


def test_a_total_taken_to_be_near_zero_although_its_bounds_are_not_is_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: totals together move a clamped sum by no more than their values, also where the bounds leave 0 out."""
    text = "SELECT age, COUNT(cost, contribution_bounds_per_group => (3, 3)) FROM visits GROUP BY age"
    made = with_units(place, [[{**ROW, "age": age} for age in (1, 2, 3)]])
    assert not caught(made, text)
    honest = passes.clamped_of
    monkeypatch.setattr(passes, "clamped_of", lambda node, around_zero: honest(node))
    assert caught(made, text)


def test_groups_of_other_keys_counted_as_one_are_caught(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: one row of a unit in each group, although the sub-query tells rows apart by a key that is left out above."""
    text = "SELECT ward, COUNT(*) FROM (SELECT person, ward, age FROM visits GROUP BY person, ward, age) AS t GROUP BY ward"
    made = with_units(place, [[{**ROW, "age": age} for age in (1, 2, 3)]])
    question = made.plan(text)
    (moment,), (counts,) = question.group.moments, by_group(question, made)
    squares = sum(int(number) ** 2 for number in counts.values())
    assert squares <= stability.l2_sensitivity(moment, stability.reach(question)) ** 2
    monkeypatch.setattr(stability, "_rows_in_one_group", lambda group: 1)
    assert squares > stability.l2_sensitivity(moment, stability.reach(question)) ** 2


# --- what they mean ----------------------------------------------------------------------------------------------------------


def clamp(number: int, low: int, high: int) -> int:
    return min(max(number, low), high)


@settings(max_examples=15, deadline=None, phases=[Phase.generate])
@given(units=clinic_units(least=0, most=3))
def test_bounds_per_group_clamp_what_a_unit_adds_to_a_group(place: World, units: Any) -> None:
    made = with_units(place, units)
    text = (
        "SELECT ward, SUM(age, contribution_bounds_per_group => (-2, 5)) AS a, "
        "COUNT(*, contribution_bounds_per_group => (0, 2)) AS n, "
        "SUM(cost, contribution_bounds_per_group => (0, 60)) AS c FROM visits GROUP BY ward"
    )
    ages, counts, costs = by_group(made.plan(text), made)
    whose: dict[Any, list[Any]] = defaultdict(list)
    for row in made.tables["visits"]:
        if row["tacit_rank"] < 3:  # the row limit, below everything else
            whose[row["tacit_unit"], row["ward"]].append(row)
    expected: dict[Any, list[int]] = {key: [0, 0, 0] for key in ages}
    for (_, ward), rows in whose.items():
        known = [row["cost"] for row in rows if row["cost"] is not None]
        each = [
            clamp(sum(row["age"] - 3 for row in rows), -2, 5),
            clamp(len(rows), 0, 2),
            clamp(sum(known), 0, 6000) if known else 0,
        ]
        expected[(ward,)] = [a + b for a, b in zip(expected[(ward,)], each, strict=True)]
    assert {key: [int(ages[key]), int(counts[key]), int(costs[key])] for key in ages} == expected


@settings(max_examples=15, deadline=None, phases=[Phase.generate])
@given(units=clinic_units(least=0, most=3), most=st.integers(1, 2))
def test_the_first_groups_of_a_unit_are_those_of_its_first_rows(place: World, units: Any, most: int) -> None:
    made = with_units(place, units)
    text = f"{PRIVATE} (max_groups_contributed = {most}) age, COUNT(*) AS n FROM visits GROUP BY age"
    (counts,) = by_group(made.plan(text), made)
    expected: dict[Any, int] = dict.fromkeys(counts, 0)
    mine: dict[int, list[Any]] = defaultdict(list)
    for row in sorted(made.tables["visits"], key=lambda row: row["tacit_rank"]):
        if row["tacit_rank"] < 3:
            mine[row["tacit_unit"]].append(row["age"] - 3)
    for ages in mine.values():
        for age in list(dict.fromkeys(ages))[:most]:
            expected[(age,)] += ages.count(age)
    assert {key: int(number) for key, number in counts.items()} == expected


def test_the_mean_is_that_of_the_means_of_units(place: World) -> None:
    """As in BigQuery: the mean of each unit counts once, however many rows it has."""
    made = with_units(place, [[{**ROW, "age": 3 + 6}] * 3, [{**ROW, "age": 3 + 2}]])
    each = "SELECT AVG(age, contribution_bounds_per_group => (-3, 7)) AS a FROM visits"
    rows, total = by_group(made.plan(each), made)
    step = made.plan(each).calls[0].over
    assert rows == {(): 2}
    ends = step.node.low + step.node.high
    assert (Fraction(int(total[()]) + 2 * ends, 2) * step.type.step) / 2 == 4


PLANS = [
    "SELECT ward, SUM(cost) AS x FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost, contribution_bounds_per_group => (0, 20)) AS x FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost, contribution_bounds_per_group => (0, 20.01)) AS x FROM visits GROUP BY ward",
    f"{PRIVATE} (max_groups_contributed = 1) ward, SUM(cost) AS x FROM visits GROUP BY ward",
    f"{PRIVATE} (max_groups_contributed = 2) ward, SUM(cost) AS x FROM visits GROUP BY ward",
    f"{PRIVATE} (max_rows_contributed = 2) ward, SUM(cost) AS x FROM visits GROUP BY ward",
    f"{PRIVATE} (max_rows_contributed = 1) ward, SUM(cost) AS x FROM visits GROUP BY ward",
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    f"{PRIVATE} (min_privacy_units_per_group = 40) diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    f"{PRIVATE} (min_privacy_units_per_group = 41) diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
]
SAME = [
    (
        PLANS[0],
        f"{PRIVATE} (max_rows_contributed = 3, privacy_unit_column = person) ward, SUM(cost) AS x FROM visits GROUP BY ward",
    ),
    (PLANS[0], f"{PRIVATE} (max_groups_contributed = 3, epsilon = 0.5) ward, SUM(cost) AS x FROM visits GROUP BY 1"),
    (PLANS[1], "SELECT ward, ANON_SUM(cost CLAMPED BETWEEN 0 AND 20) AS x FROM visits GROUP BY ward"),
    (
        "SELECT ward, SUM(cost, contribution_bounds_per_group => (0, 150)), COUNT(*) FROM visits GROUP BY ward",
        "SELECT w, SUM(c), SUM(n) FROM (SELECT person, ward AS w, SUM(cost) AS c, COUNT(*) AS n "
        "FROM visits GROUP BY person, ward) t GROUP BY w",
    ),
]


def test_a_narrower_bound_is_another_question(place: World) -> None:
    made = with_units(place, [])
    assert len({canonical_plan(made.plan(text)) for text in PLANS}) == len(PLANS)
    for one, other in SAME:
        assert canonical_plan(made.plan(one)) == canonical_plan(made.plan(other)), other


def test_what_is_made_of_bounded_numbers_is_free(place: World) -> None:
    """Windows, HAVING and ORDER BY read the same released number, by its name or written again."""
    bounded = "COUNT(*, contribution_bounds_per_group => (0, 1))"
    text = (
        f"SELECT ward, {bounded} AS n, SUM({bounded}) OVER () AS whole, RANK() OVER (ORDER BY {bounded} DESC) AS place "
        f"FROM visits GROUP BY ward HAVING n > 3 AND {bounded} < 100 ORDER BY {bounded} DESC, ward LIMIT 2"
    )
    question = with_units(place, []).plan(text)
    assert (len(question.calls), len(question.group.moments)) == (1, 1)
    assert [output.name for output in question.outputs] == ["ward", "n", "whole", "place"]


def test_a_kept_answer_is_that_of_the_same_bounds(ana: Session) -> None:
    text = "SELECT SUM(cost, contribution_bounds_per_group => (0, {})) AS x FROM visits"
    first = ana.sql(text.format(100), epsilon=0.1)
    again, other = ana.sql(text.format("100.0"), epsilon=0.1), ana.sql(text.format(101), epsilon=0.1)
    assert again.receipt.again
    assert again.columns[0].values == first.columns[0].values
    assert not other.receipt.again


# --- beyond the catalog ------------------------------------------------------------------------------------------------------

REFUSED = {
    "SELECT SUM(cost, contribution_bounds_per_group => (0, 151)) FROM visits": "wider than what the catalog allows, 0 to 150",
    "SELECT SUM(age, contribution_bounds_per_group => (-10, 5)) FROM visits": "wider than what the catalog allows, -9 to 21",
    "SELECT COUNT(*, contribution_bounds_per_group => (0, 4)) FROM visits": "wider than what the catalog allows, 1 to 3",
    "SELECT AVG(age, contribution_bounds_per_group => (-4, 5)) FROM visits": "wider than what the catalog allows, -3 to 7",
    "SELECT MEDIAN(age) FROM visits WHERE age > 1 HAVING COUNT(*, contribution_bounds_per_group => (0, 1)) > 1": "MEDIAN cannot",
    "SELECT VAR_POP(cost, contribution_bounds_per_row => (0, 51)) FROM visits": "wider than what the catalog allows, 0 to 50",
    "SELECT PERCENTILE_CONT(cost, 0.5, contribution_bounds_per_row => (-1, 5)) FROM visits": "wider",
    "SELECT SUM(cost, contribution_bounds_per_group => (5, 1)) FROM visits": "above the upper one",
    "SELECT SUM(cost, contribution_bounds_per_group => (0, age)) FROM visits": "must be constants",
    "SELECT VAR_POP(cost, contribution_bounds_per_row => (0, 1 + 1)) FROM visits": "must be constants",
    "SELECT SUM(cost, contribution_bounds_per_group => (NULL, 5)) FROM visits": "must be constants",
    "SELECT SUM(cost, bounds => (0, 5)) FROM visits": "unknown named argument 'bounds'",
    "SELECT SUM(cost, contribution_bounds_per_row => (0, 5)) FROM visits": "not an argument of SUM",
    "SELECT VAR_POP(cost, contribution_bounds_per_group => (0, 5)) FROM visits": "not an argument of VAR_POP",
    "SELECT COUNT(DISTINCT age, contribution_bounds_per_group => (0, 5)) FROM visits": "invalid SQL|not supported",
    "SELECT diagnosis, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY diagnosis": "private text",
    "SELECT ward, COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits GROUP BY CUBE (ward)": "one set of keys",
    "SELECT n FROM (SELECT person, AVG(age, contribution_bounds_per_group => (0, 1)) n FROM visits GROUP BY person) t": "itself",
    f"{PRIVATE} (max_rows_contributed = 4) COUNT(*) FROM visits": "more than the catalog allows: 3 in visits",
    f"{PRIVATE} (max_rows_contributed = 1) COUNT(*) FROM visits JOIN wards USING (ward)": "can have 3 rows after joins",
    f"{PRIVATE} (max_rows_contributed = 0) COUNT(*) FROM visits": "integer of at least 1",
    f"{PRIVATE} (max_groups_contributed = NULL) COUNT(*) FROM visits": "every unit is limited",
    f"{PRIVATE} (max_groups_contributed = 1, max_rows_contributed = 1) COUNT(*) FROM visits": "exclude each other",
    f"{PRIVATE} (max_rows_contributed = 1, max_rows_contributed = 2) COUNT(*) FROM visits": "given twice",
    f"{PRIVATE} (privacy_unit_column = ward) COUNT(*) FROM visits": "not the privacy unit",
    f"{PRIVATE} (privacy_unit_column = ward) COUNT(*, contribution_bounds_per_group => (0, 1)) FROM visits": "not the privacy unit",
    f"{PRIVATE} (group_selection_strategy = PUBLIC_GROUPS) diagnosis, COUNT(*) FROM visits GROUP BY diagnosis": "are private",
    f"{PRIVATE} (group_selection_strategy = LAPLACE_THRESHOLD) ward, COUNT(*) FROM visits GROUP BY ward": "no threshold",
    f"{PRIVATE} (group_selection_strategy = ANY) COUNT(*) FROM visits": "must be one of|invalid SQL",
    f"{PRIVATE} (min_privacy_units_per_group = 5) ward, COUNT(*) FROM visits GROUP BY ward": "private keys alone",
    f"{PRIVATE} (kappa = 5) COUNT(*) FROM visits": "'kappa' is not a valid option",
    f"SELECT COUNT(*) FROM ({PRIVATE} (epsilon = 1) ward FROM visits) t": "options are those of the whole question",
    f"SELECT COUNT(*) FROM visits WHERE EXISTS ({PRIVATE} (max_rows_contributed = 1) 1 FROM wards)": "whole question",
}


@pytest.mark.parametrize("text", REFUSED)
def test_nothing_goes_beyond_the_catalog(place: World, text: str) -> None:
    with pytest.raises(Refused, match=REFUSED[text]):
        with_units(place, []).plan(text)


@pytest.mark.usefixtures("otherwise_priced")  # the checker too finds that no cap admits it
def test_an_epsilon_without_noise_is_refused(ana: Session) -> None:
    with pytest.raises(Refused, match="epsilon"):
        ana.sql(f"{PRIVATE} (epsilon = 1e20, delta = 0.01) COUNT(*) AS n FROM visits")


def test_too_few_people_are_refused(ana: Session) -> None:
    least = max(table.min_people for table in ana.data.catalog.tables.values())
    if least > 1:
        few = f"{PRIVATE} (min_privacy_units_per_group = {least - 1}) diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"
        with pytest.raises(Refused, match="less than the catalog allows"):
            ana.explain(few, epsilon=1, delta=1e-6)


def test_groups_need_the_number_of_units_that_is_asked_for(place: World) -> None:
    """With a large delta the threshold is that number itself, and never below the catalog's."""
    text = "diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"
    made = with_units(place, [])
    asked = request(epsilon=1, delta=Fraction(1, 100))
    low, high = (
        price(made.plan(f"{PRIVATE} (min_privacy_units_per_group = {people}) {text}"), asked)[0].keys for people in (1, 10**6)
    )
    assert low is not None and high is not None  # noqa: PT018
    assert (low.threshold < 10**6, high.threshold) == (True, 10**6)


# --- ends of intervals -------------------------------------------------------------------------------------------------------


def test_an_end_is_that_of_the_interval_that_is_printed(ana: Session) -> None:
    ends = ", DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(cost) AS most"
    text = f"SELECT ward, COUNT(*) AS n, SUM(cost) AS cost{ends} FROM visits GROUP BY ward"
    answer = ana.sql(text, epsilon=0.2)
    _, n, cost, low, most = answer.columns
    assert (low.values, most.values) == (n.low, cost.high)
    assert (low.low, low.high, most.low) == (None, None, None)
    assert (low.kind, most.kind, n.kind) == ("end", "end", "count")
    assert "(noisy)" not in str(answer) and not any("quantile" in note for note in answer.notes)  # noqa: PT018
    whole = ana.sql(
        "SELECT COUNT(*, contribution_bounds_per_group => (0, 1)) AS n, DP_INTERVAL_LOW(n) AS low FROM visits", epsilon=0.2
    )
    assert f"{int(whole.columns[1].values[0]):,}" in str(whole)  # a whole number is printed as one
    assert ".0" not in str(whole).split("95 %")[0]
    empty = ana.sql(f"{text} LIMIT 0", epsilon=0.2)
    assert [column.kind for column in empty.columns] == [column.kind for column in answer.columns]
    one, other = (str(ana.explain(each, epsilon=0.2)).splitlines() for each in (text, text.replace(ends, "")))
    assert [line for line in one if "sensitivity" in line] == [line for line in other if "sensitivity" in line]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(m) FROM visits", "takes the name of another column"),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(COUNT(*)) FROM visits", "takes the name of another column"),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) + 1 AS x FROM visits", "items of SELECT by themselves"),
        ("SELECT COUNT(*) AS n FROM visits HAVING DP_INTERVAL_LOW(n) > 5", "items of SELECT by themselves"),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM visits ORDER BY low", "does not order rows"),
        ("SELECT ward AS w, COUNT(*) AS n, DP_INTERVAL_LOW(w) FROM visits GROUP BY ward", "has no interval"),
        ("SELECT MODE(ward) AS w, DP_INTERVAL_LOW(w) FROM visits", "has no interval"),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS a, DP_INTERVAL_HIGH(a) FROM visits", "has no interval"),
        ("SELECT COUNT(*) FROM visits WHERE DP_INTERVAL_LOW(cost) > 5", "items of SELECT by themselves"),
        ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM visits UNION ALL SELECT COUNT(*), 5 FROM visits", "released number in one"),
    ],
)
def test_an_end_stands_beside_its_number(place: World, text: str, match: str) -> None:
    with pytest.raises(Refused, match=match):
        with_units(place, []).plan(text)
