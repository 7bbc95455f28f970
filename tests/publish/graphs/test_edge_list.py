"""Edge lists: every form is read, what is not an edge is counted, and what is written is read back."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidInput
from tacit.publish.graphs import edge_list
from tacit.publish.graphs.edge_list import edge_text, read_columns, read_network
from tacit.publish.graphs.network import Layout, Reading, like, network_of

DATA = Path(__file__).parents[4] / "shared" / "data"
NAMED = {("ann", "bob"), ("bob", "eve")}


def given(folder: Path, text: str, name: str = "edges.tsv") -> Path:
    place = folder / name
    place.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return place


def pairs(network) -> set[tuple[object, object]]:
    return {(network.names[one], network.names[two]) for one, two in zip(*network.graph.ends(), strict=True)}


@pytest.mark.parametrize("name", ["edges.tsv", "edges.txt.gz"])
@pytest.mark.parametrize("delimiter", ["\t", ",", ";", " ", "   ", ", "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_delimiter_and_ending_is_read(tmp_path, name, delimiter, end):
    text = end.join(["# a comment", f"ann{delimiter}bob", "", f'"eve"{delimiter}bob'])
    found = read_network(given(tmp_path, text, name))
    assert pairs(found) == NAMED
    assert found.reading == Reading(edges_read=2, comments=1)


def test_what_is_not_an_edge_is_counted_and_never_fatal(tmp_path):
    lines = ["% x", "// x", "1\t2", "2\t1", "1\t2", "3\t3", "4", "\t5", "6\t", "1\t7\t0.5\tfriend", ""]
    found = read_network(given(tmp_path, "\n".join(lines)))
    assert found.names.tolist() == [1, 2, 3, 7]
    assert found.graph.degrees.tolist() == [2, 1, 0, 1]
    assert found.reading == Reading(5, 2, 3, 1, 2, 1, 1)
    assert len(found.reading.lines()) == 5


def test_numbers_and_texts_in_different_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_list, "line_blocks", lambda path: iter([b"1 2\n2 30\n", b"x 1\n", b"# nothing\n"]))
    assert pairs(read_network(tmp_path)) == {("1", "2"), ("2", "30"), ("1", "x")}


def test_blocks_cut_anywhere_give_the_same_lines(tmp_path):
    from tacit.data.files.kinds import line_blocks

    place = given(tmp_path, "\ufeff" + "".join(f"{each}\t{each + 1}\n" for each in range(50)) + "50\t51")
    whole = b"".join(line_blocks(place))
    for size in (1, 2, 7, 64):
        blocks = list(line_blocks(place, size))
        assert b"".join(blocks) == whole
        assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_leading_zeros_and_long_numbers_stay_apart(tmp_path):
    found = read_network(given(tmp_path, "1\t01\n01\t1234567890123456789012\n"))
    assert sorted(found.names) == ["01", "1", "1234567890123456789012"]
    assert read_network(given(tmp_path, "5\t123456789012345678\n")).names.tolist() == [5, 123456789012345678]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("source,target\nann,bob\neve,bob\n", ("source", "target")),
        ("Ann,Bob\n1,2\n", ("source", "target")),
        ("ann,bob\neve,bob\n", None),
        ("1,2\n", None),
    ],
)
def test_a_header_is_found_and_written_again(tmp_path, text, header):
    found = read_network(given(tmp_path, text))
    assert found.layout == Layout(",", header)
    assert edge_text(found.graph, found.layout, "o.csv").decode().startswith(",".join(header) + "\n" if header else "0,1\n")


@pytest.mark.parametrize("text", ["", "# only\n", "1\n2\n"])
def test_a_file_without_edges_is_refused(tmp_path, text):
    with pytest.raises(InvalidInput, match="has no edges"):
        read_network(given(tmp_path, text))


def test_broken_compression_is_refused(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1 2\n" * 1000)[:-9])
    with pytest.raises(InvalidInput, match="decompressed"):
        read_network(tmp_path / "a.gz")


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_read_back(tmp_path, seed):
    random = np.random.default_rng(seed)
    left, right = random.integers(0, 10 ** (seed + 1), (2, 300))
    lines = "".join(f"{one}\t{two}\n" for one, two in zip(left, right, strict=True))
    first = read_network(given(tmp_path, lines))
    (tmp_path / "again.gz").write_bytes(edge_text(first.graph, first.layout, "again.gz"))
    second = read_network(tmp_path / "again.gz")
    assert second.reading.self_loops == second.reading.repeated == 0
    assert second.graph.edges == first.graph.edges
    here = {one for pair in first.graph.ends() for one in pair.tolist()}
    assert second.names.tolist() == sorted(here)


def test_two_kinds_of_nodes_stay_two_columns(tmp_path):
    columns = read_columns(given(tmp_path, "1\t1\n1\t2\n2\t2\n"))
    assert (columns.left.tolist(), columns.right.tolist()) == ([1, 1, 2], [1, 2, 2])


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
def test_the_real_graphs_have_their_published_sizes():
    found = read_network(DATA / "email-eu-core" / "arcs.tsv.gz")
    assert (found.reading.edges_read, found.reading.self_loops, found.graph.nodes) == (25_571, 642, 1_005)
    assert (found.graph.edges, int((found.graph.degrees > 0).sum())) == (16_064, 986)
    assert found.reading.both_directions == 25_571 - 642 - 16_064
    assert repr(read_network(DATA / "email-enron" / "edges.tsv.gz").graph) == "Graph(nodes=36692, edges=183831)"


def test_networkx_and_igraph_go_in_and_come_out():
    networkx, igraph = pytest.importorskip("networkx"), pytest.importorskip("igraph")
    graph = networkx.DiGraph([("a", "b", {"weight": 2}), ("b", "a"), ("b", "c"), ("c", "c")])
    found = network_of(graph)
    assert found.names.tolist() == ["a", "b", "c"]
    assert found.reading == Reading(4, 0, 0, 1, 1, 1, 1, directed=True)
    assert set(like(graph, found.graph).edges) == {(0, 1), (1, 2)}
    drawn = igraph.Graph.Erdos_Renyi(n=20, m=40)
    assert network_of(like(drawn, network_of(drawn).graph)).graph.targets.tolist() == network_of(drawn).graph.targets.tolist()
    with pytest.raises(InvalidInput, match="unsupported graph"):
        network_of(42)
