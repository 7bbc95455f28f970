"""Rows of a PostgreSQL table in Arrow batches through ADBC (the extra `postgres`), streamed so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from tacit.data.declaration import folded
from tacit.data.dialect import name
from tacit.data.files.tolerant import mend_texts
from tacit.errors import InvalidCatalog
from tacit.privacy.catalog import Source

if TYPE_CHECKING:
    import pyarrow as pa

AS_THEY_ARE = {"smallint", "integer", "bigint", "boolean", "real", "double precision", "text", "character varying"}
DAYS = {
    "date": "{0}",
    "timestamp without time zone": "{0}::date",
    "timestamp with time zone": "({0} AT TIME ZONE 'UTC')::date",
}
BY_DAY = (None, "date", "presence")
COLUMNS = """
SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


@contextmanager
def postgres_batches(
    source: Source, wanted: Mapping[str, object] | None, environment: Mapping[str, str]
) -> Iterator[pa.RecordBatchReader]:
    """The requested columns of a table, or all of them, in one statement and so from one snapshot of the database."""
    with closing(_connect_to(source.url(environment))) as connection, closing(connection.cursor()) as cursor:
        try:
            batches = _select_rows(cursor, source.table or "", wanted)
        except connection.Error:
            raise InvalidCatalog(f"cannot read the PostgreSQL table {source.table}; check its name and the permissions") from None
        yield _with_valid_texts(batches)


def _select_rows(cursor: Any, table: str, wanted: Mapping[str, object] | None) -> pa.RecordBatchReader:
    cursor.execute(COLUMNS, (table,))
    types: dict[str, tuple[str, str]] = {}
    for column, kind in cursor.fetchall():
        types.setdefault(folded(column), (column, kind))
    if not types:
        raise InvalidCatalog(f'unknown table {table} in the database; correct `table`, for example "public.visits"')
    kinds = dict.fromkeys(types) if wanted is None else {key: wanted[key] for key in types if key in wanted}
    chosen = [f"{_column_sql(*types[key], kind)} AS {name(key)}" for key, kind in kinds.items()] or ["1 AS nothing"]
    cursor.execute(f"SELECT {', '.join(chosen)} FROM {_name_by_server(table, cursor)}")
    return cursor.fetch_record_batch()


def _connect_to(url: str) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise InvalidCatalog("a PostgreSQL source needs the extra `postgres`: pip install 'tacit[postgres]'") from None
    try:
        return dbapi.connect(url)
    except dbapi.Error:  # its message may repeat parts of the URL, and so a password
        raise InvalidCatalog(
            "cannot connect to PostgreSQL; check the URL and the credentials, and that the server is running"
        ) from None


def _name_by_server(table: str, cursor: Any) -> str:
    """The table as the server quotes it, so that only a name can appear here."""
    cursor.execute("SELECT to_regclass($1)::text", (table,))
    return str(cursor.fetchone()[0])


def _column_sql(column: str, kind: str, declared: object) -> str:
    """The SQL expression for one column, chosen so that no value fails in transfer.

    Arrow has no infinite or very distant days: they become the days next to the years 1 to 9999, which every bound excludes. Types
    without a safe counterpart are transferred as texts, which are exact.
    """
    if kind in DAYS and declared in BY_DAY:
        day = DAYS[kind].format(name(column))
        return f"greatest(least({day}, DATE '10000-01-01'), DATE '0001-12-31 BC')"
    return name(column) if kind in AS_THEY_ARE else f"{name(column)}::text"


def _with_valid_texts(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """A text column made valid UTF-8: a database without a declared encoding may contain any bytes."""
    import pyarrow as pa

    texts = [pa.types.is_string(field.type) or pa.types.is_large_string(field.type) for field in batches.schema]
    schema = pa.schema(
        [(each.name, pa.large_string() if is_text else each.type) for each, is_text in zip(batches.schema, texts, strict=True)]
    )

    def convert_batches() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [mend_texts(column) if is_text else column for column, is_text in zip(batch.columns, texts, strict=True)]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, convert_batches())
