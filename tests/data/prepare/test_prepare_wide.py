"""Tables of many columns: what preparation asks the engine grows with them no faster than it must, counted and not timed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stored import catalog, number, table, write_csv
from tacit.data.engine import Workshop
from tacit.data.prepare import prepare
from tacit.data.prepare.public_columns import MOST_ASKED
from tacit.data.prepare.staging import MOST_COUNTS
from tacit.privacy.catalog import Source, Table

ROWS = 20


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that the engine is asked while a table is prepared."""
    seen: list[str] = []
    for name in ("step", "run", "rows"):
        honest = getattr(Workshop, name)

        def heard(self: Workshop, *given: Any, _honest: Any = honest, _at: int = name == "step") -> Any:
            seen.append(given[_at])
            return _honest(self, *given)

        monkeypatch.setattr(Workshop, name, heard)
    return seen


def declared(folder: Path, columns: int) -> Any:
    names = [f"c{place}" for place in range(columns)]
    source = write_csv(
        folder / f"wide-{columns}.csv", names, [[10] * columns, *[[place % 11 for place in range(columns)]] * (ROWS - 1)]
    )
    return catalog(folder, table("wide", source, *(number(name, 0, 9) for name in names)))


def found_in(folder: Path, columns: int) -> Any:
    kinds = [["1", "2.5"], ["2020-01-31", "2021-12-01"], ["a", "b"], ["", ""]]
    rows = [[kinds[place % 4][row % 2] for place in range(columns)] for row in range(ROWS)]
    source = write_csv(folder / f"public-{columns}.csv", [f"c{place}" for place in range(columns)], rows)
    own = table("own", write_csv(folder / "own.csv", ["x"], [[1]]), number("x", 0, 9))
    return catalog(folder, own, Table("public", Source("csv", str(source)), {}, public=True))


def test_no_statement_counts_the_fates_of_many_columns(tmp_path: Path, statements: list[str]) -> None:
    """Planning takes the square of the counts in one statement: 500 columns have 2,500 of them."""
    report = prepare(declared(tmp_path, 120)).tables[0]
    counts = [statement.count("count(*) FILTER") for statement in statements]
    assert sum(counts) > 600
    assert max(counts) <= MOST_COUNTS
    assert len(statements) < 40
    assert [column.fates["above"] for column in report.columns] == [1 + (ROWS - 1) * (place % 11 == 10) for place in range(120)]


def test_layers_are_no_deeper_for_many_columns(tmp_path: Path, statements: list[str]) -> None:
    depths = []
    for columns in (2, 60):
        statements.clear()
        prepare(declared(tmp_path, columns))
        depths.append(max(statement.count("FROM (SELECT") for statement in statements))
    assert depths[0] == depths[1] <= 6


def test_columns_that_are_not_declared_are_looked_at_many_in_a_statement(tmp_path: Path, statements: list[str]) -> None:
    report = prepare(found_in(tmp_path, 400)).tables[1]
    looks = [statement for statement in statements if '"tacit_staged public"' in statement and not statement.startswith("CREATE")]
    assert len(looks) < 400 * 3 * 3 / MOST_ASKED
    assert len(report.columns) == 300
    assert set(report.left_out.values()) == {"it has no values"}


def test_what_is_found_is_the_same_alone_and_among_many(tmp_path: Path) -> None:
    """Answers go back to the column that asked: one statement holds those of columns of every kind."""
    from tacit.data.store import store_info

    found = []
    for columns in (4, 64):
        declared_now = found_in(tmp_path, columns)
        prepare(declared_now)
        info = store_info(declared_now)
        assert info is not None
        found.append(info.public["public"])
    few, many = found
    assert len(many) == 48
    for name, column in many.items():
        alone = few[f"c{int(name[1:]) % 4}"]
        assert (column.kind, column.bounds, column.step, column.values) == (alone.kind, alone.bounds, alone.step, alone.values)
