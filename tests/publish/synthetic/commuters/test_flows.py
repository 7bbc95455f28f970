"""Flows: read as they are written, cleaned without failing, and brought to public totals by at most one home for each job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from tacit.errors import InvalidInput
from tacit.privacy.sealed import Sealed
from tacit.publish.synthetic.commuters import flows as module
from tacit.publish.synthetic.commuters.flows import Columns, declared_totals, homes_of, read_homes, read_totals, totals_of
from tacit.publish.synthetic.commuters.geography import Domain, made_blocks

BLOCKS = made_blocks(["01", "02", "03"], [41.0, 41.1, 42.0], [-71.0, -71.1, -72.0], {"tract": ["A", "A", "B"]})
TRACTS = BLOCKS.zones("tract")


def written(folder: Path, text: str) -> Path:
    place = folder / "flows.csv"
    place.write_text("w_geocode,h_geocode,S000\n" + text)
    return place


def counted(place: Path) -> list[dict[str, int]]:
    totals = read_totals(place, Columns(), BLOCKS, TRACTS)
    homes = read_homes(place, Columns(), BLOCKS, totals)
    domains = [TRACTS.around(0.0, 0.0) for _ in totals.zones]
    return [dict(zip(TRACTS.names[cells], jobs.tolist(), strict=True)) for cells, jobs in map(Sealed.unseal, homes.counts(domains))]


def test_flows_are_summed_by_destination_and_origin(tmp_path):
    place = written(tmp_path, "01,03,2\n02,03,1\n01,01,1\n03,99,4\n")
    totals = read_totals(place, Columns(), BLOCKS, TRACTS)
    assert (totals.names, totals.jobs.tolist(), totals.left_out) == (["A", "B"], [4, 4], 0)
    assert counted(place) == [{"A": 1, "B": 3}, {"elsewhere": 4}]


def test_no_row_makes_a_run_fail(tmp_path):
    """Jobs that are no whole number are none, a missing home is elsewhere, a workplace off the map is left out."""
    rows = [
        "01,03,2",
        "01,,1",
        " 02 , 03 , 3 ",
        "01,03,-1",
        "01,03,x",
        "01,03,",
        "01,03,1e3",
        "77,03,9",
        "03,03,2.0",
        "01,03,99999999999",
    ]
    place = written(tmp_path, "\n".join(rows) + "\n")
    totals = read_totals(place, Columns(), BLOCKS, TRACTS)
    assert (totals.jobs.tolist(), totals.left_out) == ([6, 2], 9)
    assert counted(place) == [{"B": 5, "elsewhere": 1}, {"B": 2}]


@pytest.mark.parametrize("kind", ["csv", "texts", "bytes"])
def test_a_home_that_is_no_text_is_elsewhere(kind, tmp_path):
    """Such a home is first seen after the release is paid for: whether it is there must not be told by a failure."""
    homes = [b"03", b"0\xff3", b"03"]
    place = tmp_path / "flows.csv"
    if kind == "csv":
        place.write_bytes(b"w_geocode,h_geocode,S000\n" + b"".join(b"01," + home + b",2\n" for home in homes))
    else:
        column = arrow.array(homes, arrow.binary())
        origins = column.view(arrow.string()) if kind == "texts" else column
        place = tmp_path / "flows.parquet"
        parquet.write_table(arrow.table({"w_geocode": ["01"] * 3, "h_geocode": origins, "S000": [2] * 3}), place)
    assert counted(place) == [{"B": 4, "elsewhere": 2}]


@pytest.mark.parametrize("origins", [[["03"]], [3.0], [True]])
def test_homes_of_a_type_that_holds_no_names_are_refused_from_the_schema(origins, tmp_path):
    place = tmp_path / "flows.parquet"
    parquet.write_table(arrow.table({"w_geocode": ["01"], "h_geocode": origins, "S000": [2]}), place)
    with pytest.raises(InvalidInput, match="h_geocode"):
        read_totals(place, Columns(), BLOCKS, TRACTS)


@pytest.mark.parametrize("origins", [arrow.array(["03"]).dictionary_encode(), arrow.array(["03"], arrow.large_string())])
def test_homes_are_read_however_parquet_keeps_texts(origins, tmp_path):
    place = tmp_path / "flows.parquet"
    parquet.write_table(arrow.table({"w_geocode": ["01"], "h_geocode": origins, "S000": [2.0]}), place)
    assert counted(place) == [{"B": 2}]


@pytest.mark.parametrize("header", ["w_geocode,home,S000", "w_geocode,h_geocode,S000,h_geocode"])
def test_a_file_without_one_column_of_homes_is_refused_with_its_totals(header, tmp_path):
    place = tmp_path / "flows.csv"
    place.write_text(f"{header}\n01,03,2{',03' * (header.count(',') - 2)}\n")
    with pytest.raises(InvalidInput, match="h_geocode"):
        read_totals(place, Columns(), BLOCKS, TRACTS)


def test_other_names_of_columns_are_told_with_the_option_that_names_them(tmp_path):
    place = tmp_path / "flows.parquet"
    parquet.write_table(arrow.table({"work": ["01"], "home": ["03"], "jobs": [2]}), place)
    with pytest.raises(InvalidInput, match="name others with --columns"):
        read_totals(place, Columns(), BLOCKS, TRACTS)


@pytest.mark.parametrize(
    "first", ["01,0399,2", "Harbour,North0399,few", "Harbour,home of 0399,few", '[{"w_geocode":"01","h_geocode":"0399","S000":2}]']
)
def test_a_row_that_stands_as_the_header_is_not_quoted(first, tmp_path):
    """A home of somebody would be in the message. The planted bug is the list of whatever the first line has."""
    place = tmp_path / "flows.csv"
    place.write_text(f"{first}\n01,03,2\n")
    with pytest.raises(InvalidInput, match=r"its first line must name") as refusal:
        read_totals(place, Columns(), BLOCKS, TRACTS)
    assert "0399" not in str(refusal.value)


def test_totals_are_read_without_the_homes(tmp_path, monkeypatch):
    """Rule: everything is decided before a home is read. The planted bug reads the origin with the totals."""
    place = written(tmp_path, "01,03,2\n")
    asked: list[str] = []
    read = module.read_columns
    monkeypatch.setattr(module, "read_columns", lambda path, names: asked.extend(names) or read(path, names))
    totals = read_totals(place, Columns(), BLOCKS, TRACTS)
    assert "h_geocode" not in asked
    read_homes(place, Columns(), BLOCKS, totals)
    assert "h_geocode" in asked


def test_a_file_of_single_jobs_needs_no_third_column(tmp_path):
    place = tmp_path / "jobs.csv"
    place.write_text("work,home\n01,03\n01,03\n")
    totals = read_totals(place, Columns.read("work,home"), BLOCKS, TRACTS)
    assert totals.jobs.tolist() == [2]


@pytest.mark.parametrize("text", ["one", "a,b,c,d", "a,,c", "a,a,c"])
def test_columns_are_two_or_three(text):
    with pytest.raises(InvalidInput, match="DESTINATION,ORIGIN"):
        Columns.read(text)


def test_a_map_that_knows_no_workplace_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no jobs at destinations"):
        read_totals(written(tmp_path, "77,03,2\n"), Columns(), BLOCKS, TRACTS)
    with pytest.raises(InvalidInput, match="file not found"):
        read_totals(tmp_path / "nothing.csv", Columns(), BLOCKS, TRACTS)
    with pytest.raises(InvalidInput, match="missing column"):
        read_totals(written(tmp_path, ""), Columns("work"), BLOCKS, TRACTS)


def test_declared_totals_name_zones_of_the_map():
    assert declared_totals({"B": 3, "A": 0}, TRACTS).names == ["B"]
    for wrong in ({"C": 1}, {"A": -1}, {"elsewhere": 2}):
        with pytest.raises(InvalidInput, match="in the totals"):
            declared_totals(wrong, TRACTS)


def test_homes_do_not_show_in_a_repr():
    totals = totals_of(np.array([0]), np.array([2]), TRACTS)
    homes = homes_of(np.array([0]), np.array([2]), np.array([2]), totals)
    assert repr(homes) == "Homes(...)"
    domain: Domain = TRACTS.around(0.0, 0.0)
    assert [repr(counted) for counted in homes.counts([domain])] == ["Sealed(...)"]
    assert [counted.unseal()[0].tolist() for counted in homes.counts([domain])] == [[1]]
