"""The SQLAlchemy dialect `tacit://`: engines, Core statements and reflection on a catalog or a server.

    create_engine("tacit:///tacit.toml?epsilon=0.1")
    create_engine("tacit+https://ana@stats.example.org/?epsilon=0.1&most=1")

Tables, columns, keys and references are those that the catalog declares, with units and bounds as comments. Nothing can be written.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc, types
from sqlalchemy.engine import URL, Connection, default
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint, ReflectedPrimaryKeyConstraint
from sqlalchemy.sql.compiler import SQLCompiler

from tacit.doors.driver import dbapi
from tacit.doors.limited import Shared

NUMBERS = {"integer": types.BigInteger(), "number": types.Double()}


class TacitCompiler(SQLCompiler):
    """Statements as tacit reads them: limits are written into the text, so that the text alone says whether rows are asked for."""

    def limit_clause(self, select: Any, **how: Any) -> str:
        """LIMIT and OFFSET as numbers."""
        parts = (("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause))  # as every dialect does
        how["literal_execute"] = True
        return "".join(f"\n {word} {self.process(clause, **how)}" for word, clause in parts if clause is not None)


class TacitDialect(default.DefaultDialect):
    """Reads the declared catalog; asks questions through `tacit.dbapi`."""

    name = "tacit"
    driver = "catalog"
    statement_compiler = TacitCompiler
    default_paramstyle = "named"
    supports_statement_cache = True
    supports_alter = False
    supports_comments = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_default_values = False
    supports_empty_insert = False
    supports_sane_rowcount = False
    postfetch_lastrowid = False
    max_identifier_length = 128

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._shared = Shared()  # one limit for all connections of an engine

    def connect(self, *parts: Any, **options: Any) -> Any:
        """A connection under the limit of the engine."""
        return dbapi.connect(*parts, **options, shared=self._shared)

    @classmethod
    def import_dbapi(cls) -> Any:
        """The driver."""
        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """The address as the driver reads it, with the token that `str(url)` hides."""
        return [url.render_as_string(hide_password=False)], {}

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the connection is open; a server is not asked, since a question may be paid for."""
        return not dbapi_connection.closed

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """One: what is released is never undone."""
        return "AUTOCOMMIT"

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """One: what is released is never undone."""
        return "AUTOCOMMIT"

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        """One: what is released is never undone."""
        return ["AUTOCOMMIT"]

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Changes nothing."""

    # --- reflection ----------------------------------------------------------------------------------------------------------

    def get_schema_names(self, connection: Connection, **how: Any) -> list[str]:
        """One schema, as tools expect."""
        return ["main"]

    def _get_default_schema_name(self, connection: Connection) -> str:
        return "main"

    def get_table_names(self, connection: Connection, schema: str | None = None, **how: Any) -> list[str]:
        """The declared tables."""
        return [table["name"] for table in _tables(connection)]

    def get_view_names(self, connection: Connection, schema: str | None = None, **how: Any) -> list[str]:
        """None."""
        return []

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **how: Any) -> bool:
        """Whether the catalog declares the table."""
        return any(table["name"].lower() == table_name.lower() for table in _tables(connection))

    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **how: Any) -> list[ReflectedColumn]:
        """The declared columns with their types; comments have bounds, values and units."""
        table = _table(connection, table_name)
        return [
            {
                "name": column["name"],
                "type": _type(column),
                "nullable": bool(column["nullable"]),
                "default": None,
                "autoincrement": False,
                "comment": _comment(column, table),
            }
            for column in table["columns"]
        ]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **how: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """The declared key."""
        own = (table := _table(connection, table_name)).get("unit") or {}
        keys = [each["name"] for each in table["columns"] if each["kind"] == "key" and each["name"] != own.get("column")]
        return {"constrained_columns": keys, "name": None}

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **how: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        """The column that leads to the privacy unit."""
        unit = _table(connection, table_name).get("unit")
        if not unit or not unit.get("references"):
            return []
        table, column = unit["references"]
        return [
            {
                "name": None,
                "constrained_columns": [unit["column"]],
                "referred_schema": None,
                "referred_table": table,
                "referred_columns": [column],
                "options": {},
            }
        ]

    def get_indexes(self, connection: Connection, table_name: str, schema: str | None = None, **how: Any) -> list[Any]:
        """None."""
        return []

    def get_unique_constraints(self, connection: Connection, table_name: str, schema: str | None = None, **how: Any) -> list[Any]:
        """None besides the key."""
        return []

    def get_check_constraints(self, connection: Connection, table_name: str, schema: str | None = None, **how: Any) -> list[Any]:
        """None: bounds are in the comments."""
        return []

    def get_table_comment(self, connection: Connection, table_name: str, schema: str | None = None, **how: Any) -> Any:
        """The privacy unit and the limits of a table."""
        table = _table(connection, table_name)
        if table["public"]:
            return {"text": "public table: questions about it alone are free"}
        unit = table["unit"]
        who = "each row is one privacy unit" if unit is None else f"privacy unit: {unit['column']}"
        return {"text": f"{who}; at most {table['max_rows']} rows per unit are used"}


class TacitHTTPS(TacitDialect):
    """The same on a server."""

    driver = "https"
    supports_statement_cache = True


class TacitHTTP(TacitDialect):
    """The same on a server of this machine."""

    driver = "http"
    supports_statement_cache = True


def _tables(connection: Connection) -> list[dict[str, Any]]:
    """The declarations of the catalog, read anew for each inspection."""
    raw: Any = connection.connection.dbapi_connection
    with dbapi.pep_errors():
        tables: list[dict[str, Any]] = raw.session.tables()
    return tables


def _table(connection: Connection, name: str) -> dict[str, Any]:
    for table in _tables(connection):
        if table["name"].lower() == name.lower():
            return table
    raise exc.NoSuchTableError(name)


def _type(column: dict[str, Any]) -> Any:
    if column["kind"] == "date":
        return types.Date()
    if column["kind"] == "number":
        whole = column["step"] is not None and "." not in column["step"]
        return NUMBERS["integer" if whole else "number"]
    if column["values"] and all(isinstance(value, bool) for value in column["values"]):
        return types.Boolean()
    if column["values"] and all(isinstance(value, int) for value in column["values"]):
        return NUMBERS["integer"]
    return types.Text()


def _comment(column: dict[str, Any], table: dict[str, Any]) -> str | None:
    unit = table.get("unit") or {}
    if column["name"] == unit.get("column"):
        return "privacy unit"
    if column["bounds"]:
        low, high = column["bounds"]
        return f"{low} to {high}" + (f", step {column['step']}" if column["step"] not in (None, "1") else "")
    if column["values"]:
        shown = ", ".join(map(str, column["values"][:20]))
        return f"values: {shown}" + (", ..." if len(column["values"]) > 20 else "")
    return {"key": "key", "text": "private text"}.get(column["kind"])
