"""Resampling of a contingency table: its law on every neighbour, what a unit of several rows costs, and the road of a request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.errors import InvalidInput, NoBudget, TacitError, TooManyGroups
from tacit.mechanisms.dirichlet.resampling import DirichletResampling
from tacit.publish.synthetic.rows import contingency
from tacit.publish.synthetic.rows.cells import chosen_columns
from tacit.publish.synthetic.rows.contingency import synthesize_contingency, urn_for
from tacit.session import DataSet

CATALOG = """
neighbours = "{change}"
[budget]
epsilon = 9

[tables.visits]
source = "visits.csv"
unit = {{ column = "person" }}
max_rows = {max_rows}

[tables.visits.columns]
ward = {{ values = ["a", "b"] }}
pain = {{ bounds = [0, 10], bins = [4, 8], nulls = "drop" }}
day = {{ type = "date", bounds = ["2020-01-01", "2020-12-31"], bins = 90 }}
hour = {{ bounds = [0, 99999], bins = 1000 }}
"""


def written(folder: Path, people: int, max_rows: int = 3, change: str = "add-remove") -> DataSet:
    folder.mkdir(exist_ok=True)
    rows = [f"{person},{'ab'[person % 2]},{person % 11},2020-03-01,5" for person in range(people) for _ in range(4)]
    (folder / "visits.csv").write_text("\n".join(["person,ward,pain,day,hour", *rows, ""]))
    (folder / "tacit.toml").write_text(CATALOG.format(max_rows=max_rows, change=change))
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True, reason="a test")
    return data


def chances(urn: DirichletResampling, cells: Sequence[int]) -> dict[Any, float]:
    return {output: float(chance) for output, chance in urn.law(np.array(cells)).probabilities.items()}


def worst_ratio(urn: DirichletResampling, rows: int) -> float:
    """Over all tables of at most so many rows, and all that differ by one row that comes, goes or changes."""
    tables = [cells for cells in product(range(rows + 1), repeat=urn.blocks) if sum(cells) <= rows]
    laws = {cells: chances(urn, cells) for cells in tables}
    worst = 1.0
    for one, other in product(tables, tables):
        moves = np.subtract(one, other)
        if max(moves.clip(min=0).sum(), (-moves).clip(min=0).sum()) == 1:
            worst = max(worst, *(laws[one][output] / laws[other][output] for output in laws[one]))
    return worst


@pytest.mark.parametrize(("blocks", "noise", "draws"), [(2, 1, 3), (3, Fraction(1, 2), 2), (2, Fraction(5, 4), 1), (1, 2, 4)])
def test_every_neighbour_is_within_the_claim(blocks: int, noise: Any, draws: int) -> None:
    urn = DirichletResampling(blocks, noise, draws)
    found = worst_ratio(urn, rows=3)
    assert found <= float(urn.ratio) * (1 + 1e-12)
    assert blocks == 1 or found > 0.99 * float(urn.ratio), "and the claim is as sharp as can be: an empty cell reaches it"


def test_planted_bugs_of_resampling_are_seen() -> None:
    claimed = DirichletResampling(2, 1, 3)
    assert worst_ratio(DirichletResampling(2, Fraction(9, 10), 3), rows=3) > float(claimed.ratio), "a tenth less noise"

    def only_occupied(cells: tuple[int, int]) -> set[Any]:
        """The outputs that are possible with noise on cells that occur, and on no others."""
        places = [place for place, count in enumerate(cells) if count]
        outputs = chances(DirichletResampling(len(places), 1, 3), [cells[place] for place in places])
        return {tuple(dict(zip(places, output, strict=True)).get(place, 0) for place in (0, 1)) for output in outputs}

    assert only_occupied((1, 1)) - only_occupied((2, 0)), "impossible for a neighbour: the ratio has no bound"


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
@pytest.mark.parametrize("epsilon", ["1", "0.1", "7", "1/3"])
def test_a_unit_of_several_rows_is_priced_for_all_of_them(tmp_path: Path, change: str, epsilon: str) -> None:
    with written(tmp_path, 1, max_rows=3, change=change) as data:
        chosen = chosen_columns(data.catalog, "visits", ["ward", "pain"])
        urn = urn_for(chosen, epsilon, rows=200)
        event = contingency._event(urn, chosen, data.catalog.neighbours)
        assert urn.blocks == 3 * 3
        assert 3 * urn.epsilon == event.epsilon <= Fraction(epsilon)
        assert event.epsilon >= Fraction(epsilon) * Fraction(99, 100), "little is given away by rounding"
        assert event.neighbours == data.catalog.neighbours
        planted = urn_for(chosen, 3 * Fraction(epsilon), rows=200)  # priced for one row
        assert 3 * planted.epsilon > Fraction(epsilon)


def test_resampling_is_paid_for_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(tmp_path / "data", 20) as data:
        seen = []
        genuine = data.engine.run
        monkeypatch.setattr(data.engine, "run", lambda group: (seen.append(data.ledger.head.number), genuine(group))[1])
        made = synthesize_contingency(data, "visits", ["ward", "pain"], epsilon=3, rows=90)
        assert seen == [1]
        entry, _ = list(data.ledger.entries(first=1))
        assert entry.price.epsilon == made.receipt.epsilon <= 3
        assert int(made.counts.sum()) == made.rows == len(made.to_arrow()) == 90
        wards = made.to_arrow().to_pydict()
        assert set(wards["ward"]) <= {"a", "b", None}
        assert all(0 <= value <= 10 for value in wards["pain"])
        again = synthesize_contingency(data, "visits", ["ward", "pain"], epsilon=3, rows=90)
        assert again.counts.tolist() == made.counts.tolist()
        assert again.receipt == replace(made.receipt, again=True)
        assert seen == [1], "the same request is answered from what was released"
        assert made.save(tmp_path / "rows.csv").exists()
        first, second, third = made.claim
        assert first.startswith("add or remove one unit, with its rows (at most 3 are used): no output is more than")
        assert "ratio" in second
        assert "fake rows on each of 9 cells: if the table itself has 90 rows, " in third
        assert math.isclose(float(made.urn.ratio) ** 3, math.exp(3), rel_tol=0.01)


def test_resampling_an_empty_table_looks_the_same(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [
        {"columns": ["ward", "pain"], "epsilon": 1, "rows": 30},
        {"columns": ["ward"], "epsilon": 2, "rows": 0},
        {"columns": ["day", "hour", "ward"], "epsilon": 1, "rows": 5},
        {"columns": ["name"], "epsilon": 1, "rows": 5},
        {"columns": ["ward"], "epsilon": 0, "rows": 5},
        {"columns": ["ward"], "epsilon": 1, "rows": -1},
        {"columns": ["ward"], "epsilon": 7, "rows": 5},
    ]

    def told(data: DataSet) -> list[Any]:
        replies: list[Any] = []
        for wanted in asked:
            try:
                made = synthesize_contingency(data, "visits", **wanted)
                replies.append({**made.to_dict(), "data_version": "", "schema": str(made.to_arrow().schema)})
            except TacitError as refusal:
                replies.append(str(refusal))
        return replies

    with written(tmp_path / "full", 30) as full, written(tmp_path / "empty", 0) as empty:
        assert told(full) == told(empty)


def test_what_is_too_large_or_too_small_is_refused(tmp_path: Path) -> None:
    with written(tmp_path, 1) as data:
        with pytest.raises(TooManyGroups, match="allows at most 100,000"):
            synthesize_contingency(data, "visits", ["day", "hour", "ward"], epsilon=1, rows=5)
        chosen = chosen_columns(data.catalog, "visits", ["ward"])
        with pytest.raises(NoBudget, match="is not a meaningful guarantee"):
            urn_for(chosen, 1000, rows=5)
        with pytest.raises(NoBudget, match="only noise"):
            urn_for(chosen, "1e-80", rows=5)
        with pytest.raises(InvalidInput, match="invalid number of rows"):
            synthesize_contingency(data, "visits", ["ward"], epsilon=1, rows=1.5)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="missing number of rows"):
            synthesize_contingency(data, "visits", ["ward"], epsilon=1, rows=None)  # type: ignore[arg-type]
