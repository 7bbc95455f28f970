"""A graph on disk: what is saved is loaded, mapped into memory, and nothing else is taken for one."""

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.graphs.candidates import colours_of
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.stored import load, save


def test_what_is_saved_is_loaded_without_being_read(tmp_path):
    graph = Graph.of_edges([0, 1, 2, 0], [1, 2, 3, 3], nodes=5)
    found = load(save(graph, tmp_path / "graph"))
    assert isinstance(found.targets, np.memmap)
    assert (found.offsets.tolist(), found.targets.tolist()) == (graph.offsets.tolist(), graph.targets.tolist())
    assert colours_of(found, 3).tolist() == colours_of(graph, 3).tolist()
    assert (tmp_path / "graph" / "targets.npy").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["offsets.npy", "targets.npy"])
@pytest.mark.parametrize("content", [b"", b"not an array", None])
def test_what_is_not_a_graph_is_refused(tmp_path, name, content):
    place = save(Graph.of_edges([0, 1], [1, 2], nodes=3), tmp_path / "graph")
    if content is None:
        np.save(place / name, np.array([0, 7], dtype=np.int64))
    else:
        (place / name).write_bytes(content)
    with pytest.raises(InvalidInput, match="not a stored graph"):
        load(place)


def test_a_missing_graph_is_not_found(tmp_path):
    with pytest.raises(InvalidInput, match="not found"):
        load(tmp_path)
