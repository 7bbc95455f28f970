"""Tables given in Python: pandas and Polars frames, Arrow tables, and any other object that exports an Arrow stream.

The catalog declares such a table with `source = "memory"`, and `prepare(sources={"visits": frame})` supplies its rows. Preparation
writes them as Parquet into its own folder, which only the owner can open and which is removed afterwards, and reads them from
there. So a frame is prepared exactly as a Parquet file with the same columns, by the same reader: what store.md says about Parquet
holds for frames.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.declaration.problems import folded
from tacit.data.files.tolerant import SECOND, held_moments
from tacit.errors import InvalidInput
from tacit.files import write_scratch
from tacit.privacy.catalog import MEMORY, Catalog, Source, Table

if TYPE_CHECKING:
    import pyarrow as pa

    Given = Mapping[str, pa.Table]

EXPECTED = "a pandas or Polars DataFrame, or an Arrow table"


def given_tables(catalog: Catalog, sources: Mapping[str, Any] | None) -> Given:
    """The rows of every table declared with `source = "memory"`, as Arrow tables by their names in the catalog."""
    if sources is not None and not isinstance(sources, Mapping):
        raise InvalidInput(f"sources must be a mapping of table names to frames, not {type(sources).__name__}")
    found = {folded(str(name)): frame for name, frame in (sources or {}).items()}
    for name in found:
        if name not in catalog.tables:
            raise InvalidInput(f"unknown table {name!r} in sources; the catalog declares: {', '.join(catalog.tables)}")
        if catalog.tables[name].source.kind != MEMORY:
            raise InvalidInput(f'{name} has a source in the catalog; declare source = "memory", or leave it out of sources')
    if missing := [table.name for table in memory_tables(catalog) if table.name not in found]:
        raise InvalidInput(
            f'missing rows of {missing[0]}, declared with source = "memory"; '
            f'pass them in Python, for example db.prepare(sources={{"{missing[0]}": frame}})'
        )
    return {name: as_arrow(frame, name) for name, frame in found.items()}


def memory_tables(catalog: Catalog) -> list[Table]:
    """The tables declared with `source = "memory"`."""
    return [table for table in catalog.tables.values() if table.source.kind == MEMORY]


def as_arrow(frame: Any, name: str) -> pa.Table:
    """A frame as an Arrow table. An error names the type of the object and quotes none of its content.

    >>> as_arrow({"cost": [12, 30]}, "visits")
    Traceback (most recent call last):
    ...
    tacit.errors.InvalidInput: unsupported type of sources['visits']: dict; expected a pandas or Polars DataFrame, or an Arrow table
    """
    what = f"sources[{name!r}]"
    if not _is_frame(frame):
        raise InvalidInput(f"unsupported type of {what}: {type(frame).__name__}; expected {EXPECTED}")
    try:
        table = _converted(frame)
    except Exception:  # a library's message may quote a cell
        raise InvalidInput(f"{what} cannot be converted to an Arrow table; give every column values of one type") from None
    if not table.num_columns:
        raise InvalidInput(f"{what} has no columns; expected {EXPECTED} with named columns")
    _require_parquet(table.schema, what)
    return table


def _is_frame(frame: Any) -> bool:
    """Arrow tables, batches and readers, Polars and pandas (from 2.2 on) export a stream; older pandas is recognized by name."""
    return hasattr(frame, "__arrow_c_stream__") or _is_pandas(frame)


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns")


def _converted(frame: Any) -> pa.Table:
    import pyarrow as pa

    table = pa.table(frame) if hasattr(frame, "__arrow_c_stream__") else pa.Table.from_pandas(frame)
    for place, field in enumerate(table.schema):
        table = table.set_column(place, field.name, _plain(table.column(place)))
    return table


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in a form that Parquet and the engine accept, whatever its values."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(_without_view(kind))
    if pa.types.is_dictionary(kind) and _without_view(kind.value_type) != kind.value_type:
        values = _without_view(kind.value_type)
        named = [pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(values)) for each in column.chunks]
        return pa.chunked_array(named, pa.dictionary(kind.index_type, values))
    return held_moments(column) if pa.types.is_timestamp(kind) and kind.unit in SECOND else column


def _without_view(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    texts = pa.large_string() if pa.types.is_string_view(kind) else kind
    return pa.large_binary() if pa.types.is_binary_view(kind) else texts


def _require_parquet(schema: pa.Schema, what: str) -> None:
    """Refuse a type that Parquet cannot store; only the types are checked."""
    import pyarrow as pa
    from pyarrow import parquet

    for field in schema:
        file = io.BytesIO()
        try:
            parquet.write_table(pa.schema([field]).empty_table(), file)
        except (pa.ArrowException, OSError):
            raise InvalidInput(
                f"unsupported type of column {field.name!r} in {what}: {field.type}; convert it to numbers, texts or dates"
            ) from None


def placed(catalog: Catalog, given: Given, folder: Path) -> Catalog:
    """The catalog with Parquet files in `folder` as the sources of the given tables, to be read once."""
    import pyarrow as pa
    from pyarrow import parquet

    tables = dict(catalog.tables)
    for number, (name, table) in enumerate(given.items()):
        place = folder / f"memory-{number}.parquet"
        try:
            write_scratch(place, partial(parquet.write_table, table))
        except pa.ArrowException:  # about values deep inside a nested column
            raise InvalidInput(f"sources[{name!r}] cannot be written as Parquet; leave out nested columns") from None
        tables[name] = replace(tables[name], source=Source("parquet", str(place), declared=MEMORY))
    return replace(catalog, tables=tables)
