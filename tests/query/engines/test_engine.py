"""The seam: engines are made in one place, by the name that a catalog declares, and private rows leave them sealed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tacit.data import store
from tacit.data.catalog import parse_catalog
from tacit.errors import StoreUnusable, TimedOut, TooMuchWork
from tacit.privacy.sealed import Sealed
from tacit.query import engines
from tacit.query.engines.engine import TALLY, Engine, Opening, out_of_limits
from tacit.query.plan import Bound, Scan
from tacit.session import DataSet
from worlds import PUBLIC, World, clinic, ranked, world

ROWS = [[{"ward": at % 3, "cost": at, "age": 1, "day": 0, "diagnosis": f"d{at}", "scan": 0}] * 3 for at in range(4)]
TOML = '[budget]\nepsilon = 8\n[store]\nengine = "duckdb"\n[tables.people]\nsource = "people.csv"\nunit = "row"'


@pytest.fixture
def place(tmp_path: Path) -> Any:
    with world(tmp_path, clinic(tmp_path, max_rows=2), {"visits": ranked(ROWS), "wards": PUBLIC}) as made:
        yield made


def tallies_of(place: World, max_rows: int, *columns: str) -> Any:
    return place.engine.tallies(Bound(Scan(place.catalog.tables["visits"]), max_rows), columns)


def test_tallies_are_sealed_and_count_as_many_rows_of_each_unit_as_the_limit_keeps(place: World) -> None:
    sealed = tallies_of(place, 2, "diagnosis", "cost")
    assert isinstance(sealed, Sealed)
    found = sealed.unseal()
    assert found.column_names == ["diagnosis", "cost", TALLY]
    assert sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == [(f"d{at}", at, 2) for at in range(4)]
    wards = tallies_of(place, 1, "ward").unseal()
    assert sorted(zip(*(column.to_pylist() for column in wards.columns), strict=True)) == [(0, 2), (1, 1), (2, 1)]


def test_what_fails_while_rows_are_counted_is_said_in_one_way(place: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own words quote a cell; none of them gets out."""
    place.engine.open()
    quoting = "SELECT CAST(diagnosis AS BIGINT) FROM visits"
    with pytest.raises(duckdb.ConversionException, match=r"d[0-3]"):
        place.engine._connection.execute(quoting).fetchall()
    monkeypatch.setattr(place.engine, "_arrow", lambda *_: place.engine._connection.execute(quoting).fetchall())
    with pytest.raises(TimedOut) as failed:
        tallies_of(place, 2, "cost")
    assert str(failed.value) == str(out_of_limits())


def test_every_engine_that_a_catalog_may_name_is_there_with_its_store() -> None:
    schema = json.loads(files("tacit.data.catalog").joinpath("tacit.schema.json").read_text())
    named = schema["properties"]["store"]["properties"]["engine"]["enum"]
    assert set(named) == set(engines.ENGINES) == set(store.NAMES)
    assert parse_catalog(TOML).store_engine == parse_catalog(TOML.replace('[store]\nengine = "duckdb"\n', "")).store_engine


@dataclass
class Toy:
    """An engine that is there for its name alone."""

    opening: Opening

    def open(self) -> None:
        raise StoreUnusable("this is the toy", remedy="")

    def close(self) -> None:
        """Nothing was opened."""


def test_another_engine_is_one_entry_in_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: Any = engines.Kind(Toy, lambda: None)  # type: ignore[arg-type]
    monkeypatch.setattr(engines, "ENGINES", {**engines.ENGINES, "toy": made})
    monkeypatch.setattr(store, "NAMES", {**store.NAMES, "toy": "store.toy"})
    catalog = replace(clinic(tmp_path, max_rows=2), store_engine="toy")
    data = DataSet(catalog, own_process=False)
    data.store = store.StoreInfo("7", "", "")  # type: ignore[misc]
    engine: Engine = data.engine
    assert isinstance(engine, Toy)
    assert engine.opening == Opening(catalog.store_folder / "store.toy", "toy", "7", tables=tuple(catalog.tables))
    with pytest.raises(StoreUnusable, match="the toy"):
        data.runner.open()
    data.close()


@pytest.mark.parametrize("columns", [["ward"], ["ward", "cost"], ["diagnosis"], ["diagnosis", "ward"]])
def test_the_number_of_tallies_is_bounded_by_declarations(place: World, columns: list[str]) -> None:
    table = place.catalog.tables["visits"]
    assert tallies_of(place, 2, *columns).unseal().num_rows <= engines.tallies_at_most(table, columns) <= table.most_rows
    small = replace(table, rows_at_most=2)
    assert engines.tallies_at_most(small, columns) == 2


def test_a_cluster_does_not_count_more_than_its_driver_holds(place: World) -> None:
    """Of private text nothing but the rows is declared; where the embedded engine counts, nothing moves to another machine."""
    many = replace(place.catalog.tables["visits"], rows_at_most=engines.MOST_TALLIES + 1)
    on_spark = replace(place.catalog, store_engine="spark")
    with pytest.raises(TooMuchWork, match="combinations of values"):
        engines.check_tallies(on_spark, many, ["diagnosis"])
    engines.check_tallies(on_spark, many, ["ward"])
    engines.check_tallies(on_spark, replace(many, rows_at_most=engines.MOST_TALLIES), ["diagnosis"])
    engines.check_tallies(place.catalog, many, ["diagnosis"])
