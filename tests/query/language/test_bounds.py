"""Options of a SELECT and bounds of aggregates are read by the parser, wherever they stand, and written as they are read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit.errors import Refused
from tacit.query.language.nodes import given
from tacit.query.language.sql import parse
from tacit.query.language.syntax import Limits, Name, without_places
from tacit.query.language.writer import written

PRIVATE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS"
ALL = (
    "epsilon = 0.5, delta = 0.000001, privacy_unit_column = v.id, max_groups_contributed = 3, "
    "group_selection_strategy = PUBLIC_GROUPS, min_privacy_units_per_group = 5"
)


def test_every_option_is_read() -> None:
    asked = parse(f"{PRIVATE} ({ALL}) COUNT(*) AS n FROM visits AS v")
    assert dict(asked.options) == {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10**6)}
    unit = asked.limits.unit
    assert unit is not None
    assert unit.parts == ("v", "id")
    assert (asked.limits.groups, asked.limits.selection, asked.limits.people) == (3, "PUBLIC_GROUPS", 5)


@pytest.mark.parametrize(
    "text",
    [
        f"{PRIVATE} ({ALL}) COUNT(*) AS n FROM visits AS v",
        f"{PRIVATE} (max_rows_contributed = 2) COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) FROM patients",
        "SELECT SUM(a, contribution_bounds_per_group => (-0.5, 100)), COUNT(*, contribution_bounds_per_group => (0, 1)) FROM v",
        "SELECT ANON_AVG(a), VAR_POP(x, contribution_bounds_per_row => (0, 5)) FROM v",
        "SELECT AVG(a, contribution_bounds_per_group => (0, 1)) FROM v",
        "SELECT PERCENTILE_CONT(day, 0.5, contribution_bounds_per_row => (DATE '2020-01-01', DATE '2021-01-01')) FROM v",
        "SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n) AS high FROM v",
    ],
)
def test_what_is_read_is_written_and_read_again(text: str) -> None:
    assert without_places(parse(written(parse(text)))) == without_places(parse(text))
    assert written(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT /* WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9) */ COUNT(*) FROM t",
        'SELECT COUNT(*) AS "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9)" FROM t',
        "SELECT COUNT(*) FROM t WHERE x = 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9)'",
        "SELECT SUM(x) FROM t WHERE y = 'CLAMPED BETWEEN 0 AND 1'",
    ],
)
def test_words_in_texts_and_comments_are_no_options(text: str) -> None:
    asked = parse(text)
    assert (asked.options, asked.limits) == ((), Limits())


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT * FROM t) SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM a",
        "select with differential_privacy options(epsilon=5e-1) count(*) from t",
        "SELECT WITH ANONYMIZATION OPTIONS (/* half ( */ epsilon -- ) of it\n = 0.5) ANON_COUNT(*) FROM t",
    ],
)
def test_options_stand_wherever_the_parser_reads_them(text: str) -> None:
    assert dict(parse(text).options) == {"epsilon": Fraction(1, 2)}


def test_parameters_are_bounds_and_never_names() -> None:
    text = "SELECT SUM(x, contribution_bounds_per_group => (:low, :high)) FROM t"
    asked = parse(text, given({"low": -3, "high": 5}))
    assert written(asked) == "SELECT SUM(x, contribution_bounds_per_group => (-3, 5)) FROM t"
    with pytest.raises(Refused, match="must be a column"):
        parse(f"{PRIVATE} (privacy_unit_column = :unit) COUNT(*) FROM t", given({"unit": "id"}))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (f"{PRIVATE} (epsilon = 1, kappa = 2) COUNT(*) FROM t", (1, 56)),
        ("SELECT COUNT(*),\n SUM(x, bounds => (1, 2)) FROM t", (2, 2)),
        (f"{PRIVATE} (epsilon = 1,\n epsilon = 2) COUNT(*) FROM t", (2, 2)),
    ],
)
def test_a_refusal_points_at_its_place(text: str, at: tuple[int, int]) -> None:
    with pytest.raises(Refused) as refused:
        parse(text)
    assert refused.value.at == at


def test_a_name_of_the_unit_has_no_place_when_compared() -> None:
    one, other = (parse(f"{PRIVATE} ({blank}privacy_unit_column = id) COUNT(*) FROM t") for blank in ("", "   "))
    assert one != other
    assert without_places(one) == without_places(other)
    assert without_places(one).limits.unit == Name(("id",))
