"""The public map: zones, rings, distances, and what is refused of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidInput
from tacit.publish.synthetic.commuters.example_state import made_state
from tacit.publish.synthetic.commuters.geography import EARTH, ELSEWHERE, Blocks, kilometres, made_blocks, read_blocks

STATE = made_state(blocks=300, workplaces=5, jobs=500)
MAP = "block,tract,county,lat,lon\n01,A,X,41.0,-71.0\n02,A,X,41.2,-71.0\n03,B,X,42.0,-71.5\n"


def written(folder: Path, text: str) -> Path:
    place = folder / "blocks.csv"
    place.write_text(text)
    return place


@given(*[st.floats(-89, 89)] * 2, *[st.floats(-179, 179)] * 2)
def test_distances_are_symmetric_and_at_most_half_way_round(south, north, west, east):
    there, back = kilometres(south, west, [north], [east]), kilometres(north, east, [south], [west])
    assert there == pytest.approx(back)
    assert 0 <= float(there[0]) <= np.pi * EARTH * (1 + 1e-12)


def test_known_distances():
    degree = np.pi * EARTH / 180
    assert kilometres(0, 0, [0, 1, 0, 90], [0, 0, 1, 0]) == pytest.approx([0, degree, degree, 90 * degree])
    assert kilometres(60, 0, [60], [1])[0] == pytest.approx(degree / 2, rel=1e-3), "meridians meet at the pole"


def test_a_map_is_read_with_its_leading_zeros(tmp_path):
    blocks = read_blocks(written(tmp_path, MAP))
    assert blocks.names.tolist() == ["01", "02", "03"]
    tracts = blocks.zones("tract")
    assert tracts.names.tolist() == ["A", "B", ELSEWHERE]
    assert tracts.latitudes == pytest.approx([41.1, 42.0])
    assert tracts.of_block.tolist() == [0, 0, 1, 2], "what the map does not know is elsewhere"


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (MAP.replace("03", "01"), "duplicate block"),
        (MAP.replace("41.2", "north"), "latitude"),
        (MAP.replace("41.2", "141"), "latitude"),
        (MAP.replace("41.2", "nan"), "latitude"),
        (MAP.replace("lat", "north"), "missing column 'lat'"),
        ("block,lat,lon\n", "no blocks"),
        (MAP + "04,A\n", "latitude"),
    ],
)
def test_a_map_that_is_wrong_is_refused(text, about, tmp_path):
    with pytest.raises(InvalidInput, match=about):
        read_blocks(written(tmp_path, text))


@pytest.mark.parametrize("level", ["block", "blockgroup", "tract", "county", "rings", "rings:1,30"])
def test_every_block_has_one_cell_and_the_last_is_elsewhere(level):
    domain = STATE.blocks.origins(level).around(41.8, -71.4)
    assert domain.names[-1] == ELSEWHERE
    assert len(set(domain.names)) == len(domain)
    assert domain.of_block[-1] == len(domain) - 1
    assert set(domain.of_block[:-1].tolist()) == set(range(len(domain) - 1)), "no cell without a block, none but the last apart"
    assert np.isnan(domain.distances[-1])
    assert np.isfinite(domain.distances[:-1]).all()


def test_the_own_zone_is_at_no_distance_and_rings_are_in_order():
    zones = STATE.blocks.zones("tract")
    here = zones.around(zones.latitudes[4], zones.longitudes[4])
    assert here.distances[4] == 0
    rings = STATE.blocks.origins("rings:5,20").around(41.8, -71.4)
    assert rings.names.tolist() == ["0-5 km", "5-20 km", "20 km or more", ELSEWHERE]
    assert (np.diff(rings.distances[:-1]) > 0).all()
    apart = kilometres(41.8, -71.4, STATE.blocks.latitudes, STATE.blocks.longitudes)
    assert (rings.of_block[:-1] == np.digitize(apart, [5, 20])).all()


@pytest.mark.parametrize("level", ["district", "rings:", "rings:5,2", "rings:0,2", "rings:a", "rings:1,inf"])
def test_levels_that_are_not_there_are_refused(level):
    if level == "rings:":
        assert len(STATE.blocks.origins(level).edges) == 6, "without edges, the usual ones"
        return
    with pytest.raises(InvalidInput, match="rings"):
        STATE.blocks.origins(level)


def test_a_block_named_elsewhere_is_refused():
    for block, tract in ((ELSEWHERE, "t"), ("b", ELSEWHERE)):
        with pytest.raises(InvalidInput, match="elsewhere"):
            made_blocks([block], [0.0], [0.0], {"tract": [tract]})
    assert isinstance(made_blocks(["1"], [0.0], [0.0], {}), Blocks)
