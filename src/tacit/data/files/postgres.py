"""PostgreSQL through ADBC (the extra `postgres`): rows in Arrow batches, so that memory stays bounded, and declared facts.

The facts are for `tacit init`: types, keys, references, NOT NULL, comments, enumerations, and the bounds and values of CHECK
constraints. They are read from the server's catalog alone: no row of a table, and no statistics that the server keeps of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tacit.data.declaration import folded
from tacit.data.dialect import name
from tacit.data.files.kinds import Field, Found, Limit
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


def postgres_header(source: Source, environment: Mapping[str, str]) -> list[str]:
    """The columns of a table, case-folded, from the catalog of the database alone."""
    with closing(_connect_to(source.url(environment))) as connection, closing(connection.cursor()) as cursor:
        try:
            return [*_types_of(cursor, source.table or "")]
        except connection.Error:
            raise InvalidCatalog("cannot read the catalog of the PostgreSQL database; check the permissions") from None


def _types_of(cursor: Any, table: str) -> dict[str, tuple[str, str]]:
    """The names and types of a table's columns, by their case-folded names."""
    cursor.execute(COLUMNS, (table,))
    types: dict[str, tuple[str, str]] = {}
    for column, kind in cursor.fetchall():
        types.setdefault(folded(column), (column, kind))
    if not types:
        raise InvalidCatalog(f'unknown table {table} in the database; correct `table`, for example "public.visits"')
    return types


def _select_rows(cursor: Any, table: str, wanted: Mapping[str, object] | None) -> pa.RecordBatchReader:
    types = _types_of(cursor, table)
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


# --- the declared facts of a database, for a draft ---------------------------------------------------------------------------


FACTS = """
SELECT c.oid::bigint, CASE WHEN n.nspname = 'public' THEN '' ELSE n.nspname || '.' END || c.relname,
  quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attnum::int, a.attname::text,
  CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END,
  t.typtype::text, a.attnotnull OR t.typnotnull, coalesce(col_description(c.oid, a.attnum), ''), a.atttypid::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%' AND n.nspname NOT LIKE 'pg_temp%'
  AND has_table_privilege(c.oid, 'SELECT')
ORDER BY n.nspname <> 'public', n.nspname, c.relname, a.attnum
"""
RULES = """
SELECT conrelid::bigint, contype::text, conkey[1]::int, confrelid::bigint, confkey[1]::int,
  coalesce(pg_get_expr(conbin, conrelid), '')
FROM pg_constraint WHERE contype IN ('p', 'f', 'c') AND cardinality(conkey) = 1 AND conrelid <> 0 ORDER BY conrelid, conname
"""
LISTED = "SELECT enumtypid::bigint, enumlabel::text FROM pg_enum ORDER BY enumtypid, enumsortorder"
OF_DOMAINS = "SELECT contypid::bigint, pg_get_expr(conbin, 0) FROM pg_constraint WHERE contype = 'c' AND contypid <> 0"
TYPES = {
    "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT", "real": "FLOAT", "double precision": "DOUBLE",
    "numeric": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "uuid": "UUID", "json": "JSON", "jsonb": "JSON", "bytea": "BLOB",
    "timestamp without time zone": "TIMESTAMP", "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|-?\d+(?:\.\d+)?|[A-Za-z_]\w*|::|<=|>=|<>|\S""")
SIDES = {">=": 0, ">": 0, "<=": 1, "<": 1}
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
END_OF_TYPE = ("AND", "OR", "NOT")
INTEGERS = ("SMALLINT", "INTEGER", "BIGINT")
PASSWORD = re.compile(r"^([a-z]+://[^:/@]*:)(?!\$)([^@]+)@")


def postgres_tables(url: str, environment: Mapping[str, str]) -> tuple[Found, ...]:
    """The tables and views that the user of a URL may read, with what the server declares about their columns."""
    source = Source("postgres", url)
    with closing(_connect_to(source.url(environment))) as connection, closing(connection.cursor()) as cursor:
        try:
            listed, rules, labels, domains = (_all_rows(cursor, query) for query in (FACTS, RULES, LISTED, OF_DOMAINS))
        except connection.Error:
            raise InvalidCatalog("cannot read the catalog of the PostgreSQL database; check the permissions") from None
    named = {(row[0], row[3]): (row[1], row[4]) for row in listed}
    tables: dict[int, Found] = {}
    for oid, table, sql, place, *column in listed:
        own = [rule for rule in rules if rule[0] == oid and rule[2] == place]
        values = tuple(label for kind, label in labels if kind == column[5])
        checks = [rule[5] for rule in own if rule[1] == "c"] + [text for kind, text in domains if kind == column[5]]
        fact = _fact(column, own, values, [_limits(check, column[0]) for check in checks], named)
        before = tables.get(oid, Found(table, {"postgres": without_secret(url), "table": sql}, ()))
        tables[oid] = replace(before, fields=(*before.fields, fact))
    return tuple(tables.values())


def _all_rows(cursor: Any, query: str) -> list[tuple[Any, ...]]:
    cursor.execute(query)
    return list(cursor.fetchall())


def _fact(column: list[Any], rules: list[tuple[Any, ...]], values: tuple[str, ...], checks: list[Any], named: Any) -> Field:
    name, written, _, required, comment, _ = column
    kind = _type_of(written)
    ends: list[list[Limit]] = [[], []]
    listed: tuple[str | int, ...] = values
    for limits, values_of_check in checks:
        listed = listed or tuple(values_of_check)
        for sign, limit in limits:
            ends[SIDES[sign]].append(_inclusive(sign, limit, kind))
    bounds = (max(ends[0], key=_sortable), min(ends[1], key=_sortable)) if all(ends) else None
    led_to = next((named.get((rule[3], rule[4])) for rule in rules if rule[1] == "f"), None)
    is_key = any(rule[1] == "p" for rule in rules)
    return Field(name, kind, is_key, bool(required), comment, led_to, None if listed else bounds, listed)


def _type_of(written: str) -> str:
    """The engine's name for a type of the server; a text for every type that is transferred as one.

    >>> [_type_of(each) for each in ("numeric(8,2)", "character varying(9)", "integer[]", "timestamp(3) without time zone")]
    ['DECIMAL(8,2)', 'VARCHAR', 'VARCHAR[]', 'TIMESTAMP']
    """
    if written.endswith("]"):
        return "VARCHAR[]"
    if (digits := NUMERIC.fullmatch(written)) and int(digits[1]) <= 38:
        return f"DECIMAL({digits[1]},{digits[2]})"
    return TYPES.get(re.sub(r"\(\d+\)", "", written), "VARCHAR")


def _inclusive(sign: str, limit: Limit, kind: str) -> Limit:
    if kind in INTEGERS and isinstance(limit, int) and sign in "<>":
        return limit + (1 if sign == ">" else -1)
    return limit


def _sortable(limit: Limit) -> tuple[bool, Any]:
    return isinstance(limit, str), limit


Limits = tuple[list[tuple[str, Limit]], list[str | int]]


def _limits(check: str, column: str) -> Limits:
    """The comparisons and the listed values of a CHECK, if it is nothing but these; the server writes it in one normal form.

    >>> _limits("((age >= 0) AND (age <= 110))", "age")
    ([('>=', 0), ('<=', 110)], [])
    >>> _limits("((sex)::text = ANY ((ARRAY['F'::character varying, 'M'::character varying])::text[]))", "sex")
    ([], ['F', 'M'])
    >>> _limits("((age >= 0) OR (age IS NULL))", "age")
    ([], [])
    """
    tokens = [each for each in _without_casts(TOKEN.findall(check)) if each not in "()"]
    names, nothing = {column, '"' + column.replace('"', '""') + '"', "VALUE"}, (list[Any](), list[Any]())
    if len(tokens) > 5 and tokens[0] in names and tokens[1:5] == ["=", "ANY", "ARRAY", "["] and tokens[-1] == "]":
        values = [_constant(each) for each in tokens[5:-1:2]]
        listed = [each for each in values if isinstance(each, str | int)]
        return nothing if len(listed) < len(values) or set(tokens[6:-1:2]) - {","} else ([], listed)
    limits = []
    for start in range(0, len(tokens), 4):
        name, sign, value, *joint = tokens[start : start + 4] + [""] * (3 - len(tokens[start : start + 4]))
        limit = _constant(value)
        if name not in names or sign not in SIDES or limit is None or joint not in (["AND"], []):
            return nothing
        if isinstance(limit, str) and not DAY.fullmatch(limit):
            return nothing
        limits.append((sign, limit))
    return limits, []


def _without_casts(tokens: list[str]) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        if tokens[at] != "::":
            yield tokens[at]
            at += 1
            continue
        at += 1
        while at < len(tokens) and re.fullmatch(r'\w+|"[^"]*"|\.', tokens[at]) and tokens[at] not in END_OF_TYPE:
            at += 1
        if tokens[at : at + 1] == ["("]:  # the digits of a type
            at = tokens.index(")", at) + 1
        at += 2 if tokens[at : at + 2] == ["[", "]"] else 0


def _constant(token: str) -> Limit | None:
    text = token[1:-1].replace("''", "'") if token.startswith("'") else token
    if re.fullmatch(r"-?\d+", text) and not token.startswith("'"):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text) and not token.startswith("'"):
        return Decimal(text)
    return text if token.startswith("'") else None


def without_secret(url: str) -> str:
    """The URL to write into a catalog: a password in it gives way to a variable of the environment.

    >>> without_secret("postgresql://reader:secret@db/hospital")
    'postgresql://reader:$PGPASSWORD@db/hospital'
    """
    return PASSWORD.sub(r"\1$PGPASSWORD@", url)
