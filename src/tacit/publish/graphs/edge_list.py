"""Edge lists as files: read in blocks of lines, and written in the form in which one was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.files.kinds import compressed, line_blocks
from tacit.errors import InvalidInput
from tacit.publish.graphs.edge_text import BAD, BLANKS, COMMENT, EDGE, LONGER, edges_to_text, join_names, parse_lines
from tacit.publish.graphs.graph import Graph
from tacit.publish.graphs.network import Layout, Network, Reading
from tacit.publish.graphs.rows import build

HEADERS = {"source", "target", "src", "dst", "from", "to", "node1", "node2", "left", "right", "u", "v", "fromnodeid", "tonodeid"}
DENSE = 4  # numbers below this multiple of the number of ends are renamed by a table, else by sorting


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """The two names on each line: both arrays of numbers, or both Arrow arrays of texts."""

    left: Any
    right: Any
    layout: Layout
    reading: Reading


def read_columns(path: str | Path, alone: bool = False) -> Columns:
    """The two columns of an edge list as they are written. In a bipartite graph they name two kinds of nodes.

    If lines are to be read `alone`, no line has a say in how another is read, as differential privacy requires: the file's name
    says what separates names (a comma in .csv, a tab in .tsv, else blanks), names are texts, and a file may have no edge. The first
    line is a header if it has the usual words of one.
    """
    layout, counts = _of_name(path) if alone else None, np.zeros(5, np.int64)
    parts: list[Any] = []
    for at, block in enumerate(line_blocks(path)):
        if layout is None:
            layout = _layout(block)
        elif alone:
            layout = _layout_alone(layout, block if at == 0 else b"")
        text = np.frombuffer(block, dtype=np.uint8)
        kinds, spans, numbers = parse_lines(text, BLANKS if layout is None or layout.delimiter == " " else ord(layout.delimiter))
        if layout is not None and layout.header and not parts:  # a header that is read alone is the first line of all
            kinds[np.flatnonzero(kinds <= LONGER)[:1]] = COMMENT
            counts[COMMENT] -= 1
        counts += np.bincount(kinds, minlength=5)
        parts += _pairs(text, kinds <= LONGER, spans, numbers, alone)
    if alone and not parts:
        parts = [_no_texts()]
    if not parts or layout is None:
        raise InvalidInput(f"{Path(path).name} has no edges; expected two names on each line, such as: 1<TAB>2")
    edges = int(counts[EDGE] + counts[LONGER])
    reading = Reading(edges, int(counts[COMMENT]), int(counts[BAD]), further_columns=int(counts[LONGER]))
    left, right = _numbers(parts) if all(isinstance(part, np.ndarray) for part in parts) else _texts(parts)
    return Columns(left, right, layout, reading)


def _layout(block: bytes) -> Layout | None:
    """The delimiter of the first line that is not a comment, and its names if they look like a header."""
    lines = (line.strip() for line in block.decode("utf-8", "replace").splitlines())
    content = [line for _, line in zip(range(100), lines, strict=False) if line and not line.startswith(("#", "%", "//"))]
    if not content:
        return None
    delimiter = next((each for each in "\t,;" if each in content[0]), " ")
    cells = [cell.strip().strip('"') for cell in (content[0].split() if delimiter == " " else content[0].split(delimiter))][:2]
    return Layout(delimiter, _header(cells, content[1:]))


def _header(cells: list[str], others: list[str]) -> tuple[str, str] | None:
    """The names of the columns, if the first line has them. Words that are not usual ones are not repeated: they may be people."""
    if len(cells) == 2 and {cell.lower() for cell in cells} <= HEADERS:
        return cells[0], cells[1]
    numbers = bool(others) and all(line[:1].isdigit() for line in others)
    return ("source", "target") if len(cells) == 2 and numbers and not any(cell[:1].isdigit() for cell in cells) else None


def _of_name(path: str | Path) -> Layout:
    """The layout that the name of a file says; no header."""
    plain = Path(path).name.lower().removesuffix(".gz")
    return Layout({".csv": ",", ".tsv": "\t"}.get(Path(plain).suffix, " "), None)


def _layout_alone(layout: Layout, block: bytes) -> Layout:
    """The same, with a header if the first line has the usual words of one."""
    line = block.split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    cells = [cell.strip().strip('"') for cell in (line.split() if layout.delimiter == " " else line.split(layout.delimiter))][:2]
    usual = len(cells) == 2 and {cell.lower() for cell in cells} <= HEADERS
    return Layout(layout.delimiter, (cells[0], cells[1]) if usual else None)


def _no_texts() -> Any:
    import pyarrow as pa

    return pa.array([], pa.large_binary())


def _pairs(text: Any, edges: Any, spans: Any, numbers: Any, as_texts: bool) -> Iterator[Any]:
    """The names on the lines that are edges: an array of two columns of numbers, or an Arrow array with the two in turn."""
    if not edges.any():
        return
    if not as_texts and (numbers[edges] >= 0).all():
        yield numbers[edges]
        return
    import pyarrow as pa

    letters, offsets = join_names(text, spans[edges])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    yield pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _numbers(parts: list[Any]) -> tuple[Any, Any]:
    return tuple(np.concatenate([part[:, side] for part in parts]) for side in (0, 1))  # type: ignore[return-value]


def _texts(parts: list[Any]) -> tuple[Any, Any]:
    """Texts of all blocks, also of those that had only numbers."""
    import pyarrow as pa

    whole = pa.chunked_array(
        [
            pa.array(part.ravel()).cast(pa.string()).cast(pa.large_binary()) if isinstance(part, np.ndarray) else part
            for part in parts
        ]
    ).combine_chunks()
    order = np.arange(len(whole))
    return whole.take(pa.array(order[::2])), whole.take(pa.array(order[1::2]))


def encode(*columns: Any) -> tuple[Any, list[Any]]:
    """The names in all columns, each once and ascending, and for each column the place of every name among them.

    >>> names, (left, right) = encode(np.array([7, 3]), np.array([3, 9]))
    >>> names.tolist(), left.tolist(), right.tolist()
    ([3, 7, 9], [1, 0], [0, 2])
    """
    if isinstance(columns[0], np.ndarray):
        return _encode_numbers(columns)
    import pyarrow as pa
    from pyarrow import compute

    names = compute.unique(pa.concat_arrays(columns))
    names = names.take(compute.sort_indices(names))
    places = [compute.index_in(column, value_set=names).to_numpy(zero_copy_only=False).astype(np.int32) for column in columns]
    return np.array([name.decode("utf-8", "replace") for name in names.to_pylist()], dtype=object), places


def _encode_numbers(columns: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    largest, ends = max(int(column.max()) for column in columns), sum(map(len, columns))
    if largest >= DENSE * ends + 1024:
        names, places = np.unique(np.concatenate(columns), return_inverse=True)
        return names, np.split(places.astype(np.int32), np.cumsum([len(column) for column in columns])[:-1])
    seen = np.zeros(largest + 1, dtype=np.bool_)
    for column in columns:
        seen[column] = True
    rank = (np.cumsum(seen) - 1).astype(np.int32)
    return np.flatnonzero(seen), [rank[column] for column in columns]


def read_network(path: str | Path, alone: bool = False) -> Network:
    """The network in an edge list; nodes are numbered in the order of their names. `alone` is that of `read_columns`."""
    columns = read_columns(path, alone)
    names, (left, right) = encode(columns.left, columns.right)
    made, seen = build(left, right, len(names)), columns.reading
    counts = (seen.edges_read, seen.comments, seen.bad_lines, made.self_loops, made.repeated, made.both_directions)
    return Network(made.graph, names, columns.layout, Reading(*counts, seen.further_columns))


def edge_text(graph: Graph, layout: Layout, name: str) -> bytes:
    """The edges as a file of the given name: smaller number first, in ascending order, with a header if the input had one."""
    head = f"{layout.delimiter.join(layout.header)}\n".encode() if layout.header else b""
    text = head + edges_to_text(*graph.ends(), ord(layout.delimiter)).tobytes()
    return compressed(text) if name.lower().endswith(".gz") else text
