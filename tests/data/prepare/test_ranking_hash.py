"""The keyed hash that orders the rows of a unit: as a model in Python says, fair between rows, and another for every unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pytest

from chance import classes_fit, plausible_hits
from keyed import place_of
from owned import KEY
from stored import number
from tacit.data.dialect import DUCKDB
from tacit.data.prepare import ranking as keyed_hash
from tacit.data.prepare.packing import Keys, Packing, packing_of
from tacit.data.prepare.ranking import Ranking
from tacit.privacy.catalog import Column

LARGEST = 2**53 - 2
OWN = {
    "VARCHAR": ["0", "7", "-7", "07", "7.0", "1e3", "-0", " 7", "é", str(2**63 - 1), str(2**63), str(-(2**63)), "9" * 30],
    "BIGINT": [0, 7, -7, 2**63 - 1, -(2**63)],
    "HUGEINT": [0, 7, -7, 2**63 - 1, 2**63, 10**30],
}
TEXTS = [("", "1:"), ("1:", ""), (None, "é"), ("é", None), (None, None)]


def places(kind: str, shape: Packing, rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """The places that the SQL gives to rows of an own key and packed values."""
    types = {"own": kind, **dict.fromkeys(shape.names, "BIGINT"), **{f'"{column.name}"': "VARCHAR" for column in shape.texts}}
    ranking = Ranking(shape, "own", Keys(kind), None, 1)
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE given (line BIGINT, {', '.join(f'{name} {each}' for name, each in types.items())})")
        slots = ", ".join("?" * (len(types) + 1))
        engine.executemany(f"INSERT INTO given VALUES ({slots})", [(line, *row) for line, row in enumerate(rows)])
        found = engine.execute(
            f"{ranking._rows_with_places('given', 'TRUE', ['line'])} ORDER BY line", ranking.secrets(KEY)
        ).fetchall()
    return [place for *_, place in found]


@pytest.mark.parametrize("kind", OWN)
def test_the_place_of_a_row_is_that_of_the_model(kind: str) -> None:
    """Which gives an integer and its text one place, whatever the type in which keys are compared."""
    shape = packing_of(
        {"x": number("x", 0, LARGEST), "y": number("y", 0, 1000), "b": Column("b", "text"), "a": Column("a", "text")}
    )
    rows = [(own, (LARGEST - line, 53), (line, 10), texts) for line, own in enumerate(OWN[kind]) for texts in TEXTS]
    wanted = [place_of(KEY, own, [x, y], texts) for own, x, y, texts in rows]
    assert list(shape.widths.values()) == [53, 10]
    assert places(kind, shape, [(own, x, y, *texts) for own, (x, _), (y, _), texts in rows]) == wanted
    assert len(set(wanted)) == len(wanted)


def test_a_row_of_many_parts_and_the_largest_numbers_does_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = packing_of({f"x{place}": number(f"x{place}", 0, LARGEST) for place in range(40)})
    rows = [(2**63 - 1, *[2**53 - 1 - step * place for place in range(40)]) for step in (0, 1, 5)]
    wanted = [place_of(KEY, own, [(value, 53) for value in values]) for own, *values in rows]
    assert places("BIGINT", shape, rows) == wanted
    largest = dict.fromkeys(keyed_hash.secrets(KEY, 82), keyed_hash.PRIME - 1)
    monkeypatch.setattr("tacit.data.prepare.ranking.secrets", lambda *_: largest)
    assert len(set(places("BIGINT", shape, rows))) == 3


def test_every_two_rows_are_independent_and_uniform_before_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all secret numbers, with a prime of 5, as the proof says: so each of two rows is the first equally often."""
    monkeypatch.setattr(keyed_hash, "PRIME", 5)
    of_row = re.sub(r"CAST\(\$tacit_lane_0_(.) AS BIGINT\)", r"s\1.range", keyed_hash._sum(["x", "y"], 0, DUCKDB))
    one, other = (re.sub(r"\b([xy])\b", rf"\g<1>{row}.range", of_row) for row in (1, 2))
    ranges = ", ".join(f"range(5) AS {name}" for name in ("s0", "s1", "s2", "x1", "y1", "x2", "y2"))
    found = duckdb.sql(
        f"SELECT count(*), count(DISTINCT (s0.range, s1.range, s2.range)) FROM {ranges} "
        f"WHERE (x1.range, y1.range) <> (x2.range, y2.range) GROUP BY x1.range, y1.range, x2.range, y2.range, {one}, {other}"
    ).fetchall()
    assert set(found) == {(5, 5)}
    assert len(found) == 25 * 24 * 25


def first_rows(place: Callable[[str, int, int], int], units: Sequence[int], values: Sequence[int]) -> Counter[int]:
    """Which of the same rows comes first, in each unit."""
    return Counter(min(values, key=lambda value: place(KEY, unit, value)) for unit in units)


def fair(counts: Counter[int], values: Sequence[int]) -> bool:
    return classes_fit([counts[value] for value in values], [1 / len(values)] * len(values))


def of_model(key: str, own: int, value: int, **how: Any) -> int:
    return place_of(key, own, [(value, 33)], **how)


PLANTED = {
    "no rounds": lambda key, own, value: of_model(key, own, value, rounds=0),
    "one round": lambda key, own, value: of_model(key, own, value, rounds=1),
    "no unit": lambda key, own, value: of_model(key, 0, value),
}


@pytest.mark.parametrize("values", [range(8), [1 << place for place in range(8)], [place * 1_000_003 for place in range(8)]])
def test_every_row_is_the_first_of_equally_many_units(values: Sequence[int]) -> None:
    """Units in a row with the same values: a limit of one keeps each value of equally many."""
    assert fair(first_rows(of_model, range(1000), values), values)


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_keep_the_same_rows_of_many_units(bug: str) -> None:
    assert not fair(first_rows(PLANTED[bug], range(1000), range(8)), range(8))


def test_under_another_key_other_rows_come_first() -> None:
    """Nobody who does not know the key knows which of two rows is the first."""
    counts = Counter(of_model(f"{key}", 7, 3) < of_model(f"{key}", 7, 4) for key in range(1000))
    assert plausible_hits(counts[True], 1000, 1 / 2)


def test_texts_are_hashed_with_the_key() -> None:
    """Or whoever chooses texts could choose two rows with one place."""
    with_text, without = packing_of({"a": Column("a", "text")}), packing_of({"x": number("x", 0, 1)})
    given = [Ranking(shape, "own", Keys(kind), None, 1) for shape, kind in ((with_text, "BIGINT"), (without, "VARCHAR"))]
    assert all(re.search(r"md5_number\(concat\(\$key, ", ranking._rows_with_places("given", "TRUE", [])) for ranking in given)
    assert all(ranking.secrets(KEY)["key"] == KEY for ranking in given)
