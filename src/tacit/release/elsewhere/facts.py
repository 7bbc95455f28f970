"""Public facts from engines, for the clerk of a server: the description of the store, and facts of its public tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from tacit.data.store import StoreInfo, column_from
from tacit.errors import StoreUnusable
from tacit.privacy.catalog import Column
from tacit.query.engines.public import REFUSALS, Columns
from tacit.release.elsewhere.frames import Form, Malformed, read


class Asked(Protocol):
    """Engines that are asked what is not paid for."""

    def ask_any(self, asked: Mapping[str, Any], form: Form) -> dict[str, Any]:
        """The reply of any of them."""


OPENED: Form = {
    "version": str, "prepared_at": str, "fingerprint": str, "ledger": (str, type(None)), "head": (str, type(None)), "public": dict,
    "limits": dict, "pricing": str, "begun": (list, type(None)), "closed": (int, type(None)), "versions": list, "added": int,
}  # fmt: skip


@dataclass(slots=True)
class HeldFacts:
    """Public facts, asked of an engine once and kept: an open store never changes."""

    pool: Asked
    tables: Mapping[str, Mapping[str, Column]]
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)

    def columns(self, table: str) -> Mapping[str, Column]:
        return {name.lower(): columns for name, columns in self.tables.items()}[table.lower()]

    def fan_out(self, table: str, column: str) -> int:
        return self._number({"ask": "fan_out", "table": table, "column": column})

    def size(self, table: str) -> int:
        return self._number({"ask": "size", "table": table})

    def _number(self, asked: dict[str, str]) -> int:
        key = tuple(asked.values())
        if key not in self._numbers:
            self._numbers[key] = int(self.pool.ask_any(asked, {"number": int})["number"])
        return self._numbers[key]

    def answered(self, text: str, tables: Sequence[str]) -> Columns:
        """The answer to a free question; a refusal is one of a closed list."""
        reply = self.pool.ask_any({"ask": "free", "text": text}, {"columns": list, "refused": str})
        if reply["refused"]:
            raise REFUSALS.get(reply["refused"], REFUSALS["question"])()
        try:
            return [(str(name), tuple(map(_value, values))) for name, values in reply["columns"]]
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


def description_in(content: bytes) -> tuple[StoreInfo, str]:
    """The description of a store by an engine that has opened it, and a hash of what its prices depend on."""
    told = read(content, OPENED)
    try:
        tables = told["public"]
        public = {table: {key: column_from(key, one) for key, one in columns.items()} for table, columns in tables.items()}
    except (AttributeError, TypeError, LookupError, ValueError):
        raise Malformed("columns of another form") from None
    if not all(type(most) is int for most in told["limits"].values()):
        raise Malformed("limits of another form")
    begun, versions, pricing = told.pop("begun"), told.pop("versions"), told.pop("pricing")
    if begun is not None and [type(each) for each in begun] != [int, int]:
        raise Malformed("periods of another form")
    if not all(isinstance(each, list) and [type(part) for part in each] == [int, int, str] for each in versions):
        raise Malformed("versions of another form")
    in_periods = {"begun": begun and (begun[0], begun[1]), "versions": tuple(tuple(each) for each in versions)}
    return StoreInfo(**(told | {"public": public} | in_periods)), pricing


@dataclass(frozen=True, slots=True)
class Cluster:
    """The words for data on a cluster: the reason in the byte of a failure, silence, and a cluster that cannot be reached."""

    reason: Callable[[bytes], str] = lambda _: ""
    silence: str = ""
    away: Callable[[], StoreUnusable] = lambda: unusable(b"")
