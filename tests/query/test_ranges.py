"""Columns in intervals: digits that say the interval of every value, the question, and words for what cannot be asked."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest

from stored import catalog, category, number, table
from tacit.errors import InvalidInput, UnknownName
from tacit.privacy.catalog import Column, Owner
from tacit.query.language.sql import parse
from tacit.query.passes import rewrite
from tacit.query.question import domain
from tacit.query.ranges import Ranged, layout_of

FOLDER = Path("/nowhere")
DAYS = (Fraction(18262), Fraction(18262 + 90))
COLUMNS = (
    Column("person", "key"),
    category("ward", "a", "b", "c"),
    number("age", 18, 93),
    number("pulse", -7, 120, nulls="drop"),
    Column("day", "date", DAYS, Fraction(1), nulls="drop"),
)


def declared():
    return catalog(FOLDER, table("visits", FOLDER / "visits.csv", *COLUMNS, unit=Owner("person"), max_rows=2, rows_at_most=1000))


def layout(*columns, prefixes=(), **more):
    return layout_of(declared(), "visits", columns, prefixes, more)


@pytest.mark.parametrize("column", ["age:10", "age:5/10/20", "pulse:10", "pulse:2/14", "day:7/28", "age:1"])
@pytest.mark.parametrize("cumulative", [False, True])
def test_every_value_is_in_the_interval_that_its_digits_say(column, cumulative):
    name = column.partition(":")[0]
    (ranged,) = layout(column, prefixes=[name] if cumulative else []).columns
    assert isinstance(ranged, Ranged)
    low, high = next(each.bounds for each in COLUMNS if each.name == name)
    for value in range(int(low), int(high) + 1):
        place = math.floor((value - ranged.start) / ranged.width)
        digits = []
        for at in range(len(ranged.digits)):
            digits.append(
                place // math.prod(ranged.digits[at + 1 :]) % ranged.digits[at] if at else place // math.prod(ranged.digits[1:])
            )
        assert all(0 <= digit < base for digit, base in zip(digits, ranged.digits, strict=True))
        for width, many in ranged.levels:
            inside = ranged.place(digits[:many])
            assert inside == math.floor((value - ranged.start) / width), "the interval of this width"
    assert ranged.place([base - 1 for base in ranged.digits]) == (
        ranged.bins - 1 if math.prod(ranged.digits) == ranged.bins else None
    )
    assert ranged.place([None, *ranged.digits[1:]]) is None


def test_intervals_are_as_they_are_shown():
    (ages,) = layout("age:5/20").columns
    assert (ages.start, ages.key_names) == (0, ("age_from", "age_to"))
    assert ages.ends(3, len(ages.digits)) == (15, 20)
    assert ages.ends(3, 1) == (60, 80)
    (days,) = layout("day:7", prefixes=["day"]).columns
    assert (days.key_names, days.ends(0, len(days.digits))) == (("day_below",), ("2020-01-08",))


def test_the_question_is_a_plain_one_with_a_key_for_each_digit():
    asked = layout("age:10/20", "ward", ways=2, where="pulse > 60")
    plan = rewrite(parse(asked.sql), declared(), {})
    assert [[len(domain(key)) for key in part.group.keys] for part in plan.parts] == [
        [5, 2], [5], [4], [5, 2, 4], [5, 4],
    ]  # fmt: skip  # two widths of age, ward, and both with ward: wards may be unknown, ages are asked for
    assert len(asked.sets) == len(plan.parts)
    assert asked.loss == "squares"
    assert layout("age:10", "ward", prefixes=["age"]).loss == "cumulative"


@pytest.mark.parametrize(
    ("columns", "prefixes", "says"),
    [
        (["age:7/10"], [], "multiple of the next smaller one"),
        (["age:0"], [], "multiple of its step"),
        (["age:1/2"], ["ward"], "no bounds"),
        (["age:10", "age:5"], [], "given twice"),
        (["ward:2"], [], "no bounds"),
        (["age:10"], ["pulse"], "pulse must be among the columns"),
        (["age:0.5"], [], "multiple of its step"),
    ],
)
def test_what_cannot_be_asked_says_why(columns, prefixes, says):
    with pytest.raises(InvalidInput, match=says):
        layout(*columns, *(["ward"] if "ward" in prefixes else []), prefixes=prefixes)


def test_unknown_names_and_sums_are_refused():
    with pytest.raises(UnknownName, match="weight"):
        layout("weight:10")
    with pytest.raises(UnknownName, match="table"):
        layout_of(declared(), "nothing", ["age:10"], [], {})
    with pytest.raises(InvalidInput, match="sums"):
        layout("age:10", sums=["pulse"])
    with pytest.raises(InvalidInput, match="the limit is 64"):
        layout("age:1/2/4/8", "pulse:1/2/4/8", "day:7/14/28", ways=3)
