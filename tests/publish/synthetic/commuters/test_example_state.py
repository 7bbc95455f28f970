"""A made-up state is the same everywhere, looks like one, and is read back from its files as it was."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.synthetic.commuters.example_state import CAPITAL, made_state
from tacit.publish.synthetic.commuters.flows import Columns, read_homes, read_totals
from tacit.publish.synthetic.commuters.geography import kilometres, read_blocks


def test_it_is_the_same_each_time_and_has_the_jobs_asked_for():
    one, other = made_state(500, 20, 4000, 30.0), made_state(500, 20, 4000, 30.0)
    assert (one.home == other.home).all()
    assert int(one.jobs.sum()) == 4000
    assert len(set(one.work.tolist())) == 20
    reach = kilometres(*CAPITAL, one.blocks.latitudes, one.blocks.longitudes)
    assert reach.max() == pytest.approx(30.0, rel=0.01)


def test_most_live_near_and_a_few_far():
    state = made_state()
    apart = kilometres(
        state.blocks.latitudes[state.work], state.blocks.longitudes[state.work],
        state.blocks.latitudes[state.home], state.blocks.longitudes[state.home],
    )  # fmt: skip
    assert np.average(apart < 15, weights=state.jobs) > 0.6
    assert 0.001 < np.average(apart > 40, weights=state.jobs) < 0.1


def test_its_files_hold_what_it_holds(tmp_path):
    state = made_state(300, 8, 900)
    flows, chart = state.write(tmp_path / "state")
    blocks = read_blocks(chart)
    tracts, read = state.blocks.zones("tract"), blocks.zones("tract")
    assert read.names.tolist() == tracts.names.tolist()
    totals = read_totals(flows, Columns(), blocks, read)
    assert totals.jobs.tolist() == state.totals(tracts).jobs.tolist()
    ours, theirs = state.homes(state.totals(tracts)), read_homes(flows, Columns(), blocks, totals)
    for one, other in zip(ours.jobs.unseal(), theirs.jobs.unseal(), strict=True):
        assert (one == other).all()


@pytest.mark.parametrize(
    ("blocks", "workplaces", "jobs", "radius", "what"),
    [
        (5, 6, 10, 1.0, "invalid number of workplaces"),
        (5, 0, 10, 1.0, "invalid number of workplaces"),
        (5, 3, 2, 1.0, "invalid number of workplaces"),
        *((5, 2, 9, radius, "invalid radius") for radius in (0.0, float("nan"), float("inf"), 2001.0)),
    ],
)
def test_impossible_states_are_refused(blocks, workplaces, jobs, radius, what):
    with pytest.raises(InvalidInput, match=what):
        made_state(blocks, workplaces, jobs, radius)


def test_zones_are_nested():
    levels = made_state(2000, 10, 100).blocks.levels
    for outer, inner in (("county", "tract"), ("tract", "blockgroup")):
        pairs = set(zip(levels[inner], levels[outer], strict=True))
        assert len(pairs) == len({inside for inside, _ in pairs})
