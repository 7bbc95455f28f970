"""Tidied answers: whole counts, totals that agree, intervals that still cover; a function of what was released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.evidence.verify.coverage import coverage_of_draws
from tacit.release import tidy
from tacit.release.answer import Answer, Column, Receipt, record, recorded
from tacit.release.tidy import NOT_TIDIED, TIDIED, Totals

SMALL = Totals(parts=(1, 2, 3, 4), margins=((5, 5, 6, 6), (0, 0, 0, 0)), columns=(0,))  # a total, four parts, two sums of two


def made(values: Sequence[float], widths: Sequence[float], simultaneous: bool = True, kind: str = "count") -> Answer:
    """An answer of one column with these numbers and half widths."""
    low, high = ([each + sign * width for each, width in zip(values, widths, strict=True)] for sign in (-1, 1))
    whole: Callable[[Any], tuple[Any, ...]] = (lambda given: tuple(map(int, given))) if kind == "count" else tuple
    column = Column("n", kind, whole(values), whole(low), whole(high))
    return Answer((column,), Fraction(95, 100), Receipt(Fraction(1), Fraction(0)), simultaneous, totals=SMALL)


def agree(values: Sequence[float]) -> bool:
    return values[5] == values[1] + values[2] and values[6] == values[3] + values[4] and values[0] == values[5] + values[6]


def test_totals_agree_with_their_parts() -> None:
    drawn = np.random.default_rng(1)
    for _ in range(50):
        found = made(drawn.integers(-20, 60, 7), drawn.integers(5, 30, 7)).tidy()
        values = found["n"]
        assert agree(values)
        assert all(isinstance(each, int) and each >= 0 for each in values)
        assert TIDIED in found.notes
        assert found.to_dict()["tidied"] is True
        assert TIDIED in str(found)
        assert found.tidy() is found
    assert "tidied" not in made([1] * 7, [1] * 7).to_dict()


def test_values_are_those_of_least_squares() -> None:
    """Against the solution of the normal equations, where nothing is negative."""
    values, widths = [101.5, 20.25, 31.0, 18.5, 33.0, 55.0, 46.0], [3.0, 5.0, 5.0, 7.0, 5.0, 4.0, 9.0]
    summing = np.zeros((7, 4))
    for row, parts in {0: (0, 1, 2, 3), 1: (0,), 2: (1,), 3: (2,), 4: (3,), 5: (0, 1), 6: (2, 3)}.items():
        summing[row, list(parts)] = 1
    root = np.diag(1 / np.array(widths))
    wanted = summing @ np.linalg.lstsq(root @ summing, root @ np.array(values), rcond=None)[0]
    assert made(values, widths, kind="sum").tidy()["n"] == pytest.approx(wanted.tolist(), rel=1e-9)
    assert made([10] * 7, [0] * 7).tidy()["n"]  # numbers without noise
    negative = made([-5, -9, -3, -4, -8, -2, -1], [9] * 7).tidy()
    assert negative["n"] == (0,) * 7


# --- intervals -----------------------------------------------------------------------------------------------------------------


def projection(low: Sequence[int], high: Sequence[int]) -> list[tuple[int, int]] | None:
    """Of all agreeing whole numbers in a box: the least and the largest of each. By trying all."""
    ranges = [range(max(0, low[at]), high[at] + 1) for at in (1, 2, 3, 4)]
    found = []
    for parts in product(*ranges):
        both = (parts[0] + parts[1], parts[2] + parts[3])
        row = (sum(parts), *parts, *both)
        if all(least <= each <= most for least, each, most in zip(low, row, high, strict=True)):
            found.append(row)
    return [(min(each), max(each)) for each in zip(*found, strict=True)] if found else None


def boxes() -> Iterator[tuple[list[int], list[int]]]:
    drawn = np.random.default_rng(2)
    for _ in range(60):
        parts = drawn.integers(0, 5, 4)
        exact = np.array([parts.sum(), *parts, parts[:2].sum(), parts[2:].sum()])
        yield (exact + drawn.integers(-3, 4, 7)).tolist(), drawn.integers(1, 4, 7).tolist()


def loses() -> bool:
    """Whether a tidied interval leaves out a number that agrees and is in the released box."""
    for values, widths in boxes():
        answer = made(values, widths)
        wanted, column = projection(answer.columns[0].low, answer.columns[0].high), answer.tidy().columns[0]  # type: ignore[arg-type]
        if wanted is None:
            continue
        for (least, most), low, high in zip(wanted, column.low or (), column.high or (), strict=True):
            if not low <= least <= most <= high:  # type: ignore[operator]
                return True
    return False


def test_ends_contain_the_projection_of_the_box() -> None:
    assert not loses()
    narrower = [
        (sum(np.subtract(a.tidy().columns[0].high, a.tidy().columns[0].low)), 2 * sum(widths))
        for values, widths in boxes()
        for a in [made(values, widths)]
    ]
    assert sum(after for after, _ in narrower) < 0.9 * sum(before for _, before in narrower)


@pytest.mark.parametrize("bug", ["parts of others forgotten", "cut around the value"])
def test_ends_that_lose_the_projection_are_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = tidy._within

    def forgotten(least: np.ndarray, most: np.ndarray, parts: np.ndarray, margin: np.ndarray) -> None:
        most[parts] = np.minimum(most[parts], most[margin] / 2)

    def cut(low: np.ndarray, high: np.ndarray, *rest: Any) -> tuple[np.ndarray, np.ndarray]:
        least, most = honest(low, high, *rest)
        return least + np.ceil((most - least) / 4), most - np.ceil((most - least) / 4)

    if bug == "parts of others forgotten":
        monkeypatch.setattr(tidy, "_narrow", forgotten)
    else:
        monkeypatch.setattr(tidy, "_within", cut)
    assert loses()


def test_ends_per_value_do_not_narrow_each_other() -> None:
    values, widths = [100, 20, 30, 20, 30, 50, 50], [2, 40, 40, 40, 40, 3, 3]
    alone, both = (made(values, widths, simultaneous=each).tidy().columns[0] for each in (False, True))
    assert (alone.low, alone.high) == ((98, 0, 0, 0, 0, 47, 47), (102, 60, 70, 60, 70, 53, 53))
    assert both.high is not None
    assert both.high[1:3] == (53, 53)


def test_tidied_ends_cover() -> None:
    """Each value by itself at its confidence; with `simultaneous`, all of a release together."""
    drawn, exact, scale = np.random.default_rng(3), np.array([13, 0, 2, 1, 10, 2, 11]), 6
    alone, both = [], []
    for _ in range(600):
        noise = np.rint(drawn.laplace(0, scale, 7)).astype(int)
        one = made(exact + noise, [18] * 7, simultaneous=False).tidy().columns[0]
        every = made(exact + noise, [30] * 7).tidy().columns[0]  # at least 0.95 for seven: 7 e^(-30/6) = 0.047
        alone.append((np.array(one.low) <= exact) & (exact <= np.array(one.high)))
        both.append(((np.array(every.low) <= exact) & (exact <= np.array(every.high))).all())
    assert all(coverage_of_draws(np.array(alone)[:, at], 0.95).holds for at in range(7))
    assert coverage_of_draws(np.array(both), 0.95).holds


# --- as a person uses it ----------------------------------------------------------------------------------------------------------

CATALOG = """
[budget]
epsilon = 100
delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = "row"

[tables.visits.columns]
ward = { values = ["a", "b", "c"], nulls = "drop" }
kind = { values = ["x", "y"], nulls = "drop" }
cost = { bounds = [0, 10], nulls = "drop" }
"""
CUBE = "SELECT ward, kind, COUNT(*) AS n, SUM(cost) AS cost, AVG(cost) AS mean FROM visits GROUP BY CUBE (ward, kind)"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tacit.DataSet]:
    folder: Path = tmp_path_factory.mktemp("tidy")
    rows = [f"{'abc'[at % 3]},{'xy'[at % 2]},{at % 11}" for at in range(60)]
    (folder / "visits.csv").write_text("\n".join(["ward,kind,cost", *rows]) + "\n")
    (folder / "tacit.toml").write_text(CATALOG)
    with tacit.open(folder / "tacit.toml", own_process=False) as made:
        made.prepare(new_ledger=True, reason="a test", yes=True)
        yield made


@pytest.mark.parametrize(
    "text", [CUBE, CUBE.replace("CUBE", "ROLLUP"), CUBE.replace("CUBE (ward, kind)", "GROUPING SETS ((ward, kind), (kind), ())")]
)
def test_tidying_spends_nothing(data: tacit.DataSet, text: str) -> None:
    ana = data.session()
    plain = ana.sql(text, epsilon=Fraction(1, 4), simultaneous=True)
    before = data.ledger.head.number
    neat = ana.sql(text, epsilon=Fraction(1, 4), simultaneous=True, tidy=True)
    assert data.ledger.head.number == before
    assert neat.receipt.again
    assert not plain.tidied
    assert replace(plain.tidy(), receipt=neat.receipt) == neat
    totals = neat.totals
    assert totals is not None
    assert len(totals.parts) == 12  # wards and kinds, each with NULL
    assert len(set(totals.margins)) == (3 if "CUBE" in text else 2)
    for margin in totals.margins:
        for name in ("n", "cost"):
            added = np.bincount(margin, [neat[name][at] for at in totals.parts], minlength=len(neat))
            assert [added[at] for at in sorted(set(margin))] == pytest.approx([neat[name][at] for at in sorted(set(margin))])
        for part, total in zip(totals.parts, margin, strict=True):
            assert {neat["ward"][total], neat["kind"][total]} <= {neat["ward"][part], neat["kind"][part], None}
    assert neat["mean"] == plain["mean"]
    kept = recorded(record(plain))
    assert kept.tidy().columns == neat.columns


def test_what_does_not_add_up_is_left_alone(data: tacit.DataSet) -> None:
    ana = data.session()
    cut = ana.sql(f"{CUBE} ORDER BY n DESC LIMIT 4", epsilon=1, tidy=True)
    assert cut.totals is None
    assert all(each >= 0 for each in cut["n"])
    sets = CUBE.replace("CUBE (ward, kind)", "GROUPING SETS ((ward), (kind))")
    assert ana.sql(sets, epsilon=1).totals is None
    with pytest.raises(tacit.errors.TacitError, match="tidy must be"):
        ana.sql(CUBE, epsilon=1, tidy="yes")


def test_tidying_without_counts_and_totals_says_that_it_has_no_effect(data: tacit.DataSet) -> None:
    ana = data.session()
    found = ana.sql("SELECT AVG(cost) AS mean FROM visits", epsilon=1, tidy=True)
    assert (NOT_TIDIED in found.notes, TIDIED in found.notes) == (True, False)
    assert NOT_TIDIED in str(found)
