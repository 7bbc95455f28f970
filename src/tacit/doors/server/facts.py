"""What the clerk knows of the public tables: asked of an engine, and taken in a closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from tacit.data.store import StoreInfo, column_from
from tacit.doors.server.wire import Malformed, read
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Column
from tacit.query.engines.public import REFUSALS, Columns

if TYPE_CHECKING:
    from tacit.doors.server.pool import Pool

OPENED: Mapping[str, type | tuple[type, ...]] = {
    "version": str, "prepared_at": str, "fingerprint": str, "ledger": (str, type(None)), "head": (str, type(None)), "public": dict,
    "limits": dict, "pricing": str,
}  # fmt: skip


@dataclass(slots=True)
class HeldFacts:
    """Public facts, asked of an engine once and kept: an open store never changes."""

    pool: Pool
    tables: Mapping[str, Mapping[str, Column]]
    _known: dict[tuple[str, ...], int] = field(default_factory=dict)

    def columns(self, table: str) -> Mapping[str, Column]:
        return {name.lower(): columns for name, columns in self.tables.items()}[table.lower()]

    def fan_out(self, table: str, column: str) -> int:
        return self._number({"ask": "fan_out", "table": table, "column": column})

    def size(self, table: str) -> int:
        return self._number({"ask": "size", "table": table})

    def _number(self, known: dict[str, str]) -> int:
        key = tuple(known.values())
        if key not in self._known:
            self._known[key] = int(self.pool.told(known, {"number": int})["number"])
        return self._known[key]

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        """The answer to a free question; a refusal is one of a closed list."""
        found = self.pool.told({"ask": "free", "text": text}, {"columns": list, "refused": str})
        if found["refused"]:
            raise REFUSALS.get(found["refused"], REFUSALS["question"])()
        try:
            return [(str(name), tuple(map(_value, values))) for name, values in found["columns"]]
        except (TypeError, ValueError, LookupError, InvalidOperation):
            raise unusable(b"") from None


def _value(value: Any) -> Any:
    """A value of a public table: a text, a number, a truth or nothing."""
    if isinstance(value, dict):
        return Decimal(value["decimal"])
    if type(value) not in (str, int, float, bool, type(None)):
        raise TypeError("a value of another kind")
    return value


def unusable(said: bytes) -> StoreUnusable:
    """The error of an engine that gave a reason, or none: of two lines, so that it is one line of a log."""
    message, remedy = (" ".join(part.split()) for part in f"{said.decode(errors='replace')}\n".split("\n", 1))
    return StoreUnusable(message or "no engine has opened the prepared store", remedy=remedy or "try again, or run: tacit prepare")


def described(content: bytes) -> tuple[StoreInfo, str]:
    """The description of a store by an engine that has opened it, and a hash of what its prices depend on."""
    known = read(content, OPENED)
    try:
        tables = known["public"]
        public = {table: {key: column_from(key, one) for key, one in columns.items()} for table, columns in tables.items()}
    except (AttributeError, TypeError, LookupError, ValueError):
        raise Malformed("columns of another form") from None
    if not all(type(most) is int for most in known["limits"].values()):
        raise Malformed("limits of another form")
    pricing = known.pop("pricing")
    return StoreInfo(**(known | {"public": public})), pricing
