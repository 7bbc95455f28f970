"""An engine of a server: the answering process (release/elsewhere/worker.py) with a catalog of its own and a sandbox.

    open       the store's description of itself, and a hash of the catalog that prices are derived from
    reach      whether the data, if it is on a cluster, can be read now; asked before a question is paid for
    fan_out    public facts, of public tables alone
    size
    free       a question of public tables alone
    run        a question that was paid for: priced anew here, and run only if the fingerprint of its quote is the one that was paid

Exact numbers never leave it, and a failure is a reply of at most one byte: a reason of a closed list, for the data owner's log. It
has one connection, to the clerk, and ends with it; if its data is on Spark, it can connect to the Spark Connect server too.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from tacit.accounting.ledger.caps import Admission
from tacit.accounting.ledger.units import policy_of
from tacit.data.catalog import read_catalog
from tacit.data.spark.connect import ROOTS, Address, end_sessions, located
from tacit.data.store import StoreInfo, column_json, require_small_files, store_info
from tacit.data_set import as_recorded
from tacit.doors.server.calls import AWAY
from tacit.doors.server.sandbox.profiles import (
    ENGINE,
    ENGINE_OF_A_CLUSTER,
    OF_ENGINES,
    Profile,
    close_first,
    close_last,
    reach_of,
)
from tacit.doors.server.settings import OfEngine
from tacit.errors import Refused, StoreUnusable, TacitError, TimedOut
from tacit.privacy.catalog import Catalog, expanded, prepared_under
from tacit.query.binding.scope import PublicFacts
from tacit.query.engines import EMBEDDED, engine_at, load, opening
from tacit.query.engines.engine import Limits, Opening, StoredFacts
from tacit.query.engines.public import REFUSALS
from tacit.query.engines.spark.reasons import GONE, packed_reason
from tacit.query.free import check_free, public_tables
from tacit.query.language.nodes import given
from tacit.query.language.sql import read as read_sql
from tacit.query.language.syntax import Select
from tacit.query.language.writer import written as sql_of
from tacit.query.offers import charge_of
from tacit.query.passes import rewrite
from tacit.query.price.price import Quote, Request, price
from tacit.query.price.stability import rows_are_public
from tacit.query.price.stream import measurement_of, person_price
from tacit.release.elsewhere.frames import ASK, FAILED, GRACE, NUMBERS, TOLD, UNUSABLE, Form, Malformed, receive, send, written
from tacit.release.elsewhere.packed import numbers_of
from tacit.release.elsewhere.quotes import fingerprint_of, pricing_of, request_read
from tacit.release.elsewhere.worker import (
    Sandbox,
    Told,
    answer,
    asked_of,
    begin,
    ended_after,
    open_confined,
    process_bytes,
    told_unusable,
)

FREE = ("fan_out", "size", "free")  # asked of public tables, without a `reach` before it
FORMS: Mapping[str, Form] = {
    "open": {"ask": str},
    "reach": {"ask": str},
    "fan_out": {"ask": str, "table": str, "column": str},
    "size": {"ask": str, "table": str},
    "free": {"ask": str, "text": str},
    "run": {"ask": str, "text": str, "request": dict, "entry": int, "fingerprint": str, "seconds": (int, float),
            "horizon": (int, type(None))},
}  # fmt: skip


def derived(text: str, asked: Request, catalog: Catalog, public: PublicFacts) -> tuple[Quote, ...]:
    """The quotes for a question, from its text."""
    statement = read_sql(text, given(None, datetime.now(UTC).date()), several=True).statement
    if not isinstance(statement, Select):
        raise Malformed("what was paid for is not a question")
    question = rewrite(statement, catalog, public)
    return price(question, asked, catalog.change, rows_are_public(question, catalog), catalog.cores)


class Answering:
    """One store, and the replies to questions about it."""

    def __init__(self, catalog: Catalog, engine: Any, info: StoreInfo) -> None:
        self.catalog, self.engine, self.info = catalog, engine, info
        self.public = StoredFacts(info.public, engine)
        self.ran: set[int] = set()
        self.remote = catalog.store_engine != EMBEDDED

    def handle(self, kind: bytes, content: bytes) -> Told:
        """The reply to one question; a message of another form ends the process."""
        asked = asked_of(content, FORMS)
        name = asked["ask"]
        try:
            if self.remote and name in FREE:
                self.engine.open()  # a lost session is replaced
            told: Told = getattr(self, name)(asked)  # a name of FORMS
            return told
        except Malformed:
            raise
        except TimedOut as error:
            return FAILED, packed_reason(error.why)
        except StoreUnusable as error:
            return (FAILED, packed_reason(GONE if self.remote else "")) if name == "run" else (UNUSABLE, told_unusable(error))
        except Exception:  # one reply for every reason
            return FAILED, b""

    def open(self, _: dict[str, Any]) -> Told:
        """The description of the store."""
        public = {table: {key: column_json(one) for key, one in columns.items()} for table, columns in self.info.public.items()}
        return TOLD, written(asdict(replace(self.info, public={})) | {"public": public, "pricing": pricing_of(self.catalog)})

    def reach(self, _: dict[str, Any]) -> Told:
        """That the data can be read; why it cannot is public, and a lost session of a cluster is replaced."""
        self.engine.open()
        return TOLD, written({})

    def fan_out(self, asked: dict[str, Any]) -> Told:
        """The fan-out of a column of a public table."""
        self.public.columns(asked["table"])  # which knows public tables alone
        return TOLD, written({"number": self.public.fan_out(asked["table"], asked["column"])})

    def size(self, asked: dict[str, Any]) -> Told:
        """The number of rows of a public table."""
        self.public.columns(asked["table"])
        return TOLD, written({"number": self.public.size(asked["table"])})

    def free(self, asked: dict[str, Any]) -> Told:
        """The answer to a question of public tables alone, or the kind of its refusal."""
        statement = read_sql(asked["text"], given(None, None)).statement
        tables = public_tables(statement, self.catalog) if isinstance(statement, Select) else None
        if tables is None or not isinstance(statement, Select):
            return FAILED, b""
        text = sql_of(check_free(statement, tables, self.public))
        try:
            columns = self.public.answered(text, [table.name for table in tables])
        except Refused as refusal:
            return TOLD, written({"columns": [], "refused": _kind_of(refusal)})
        return TOLD, written({"columns": [[name, [_plain(value) for value in values]] for name, values in columns], "refused": ""})

    def run(self, asked: dict[str, Any]) -> Told:
        """The released numbers of a question that was paid for, behind its fingerprint; each entry is run once."""
        if asked["entry"] in self.ran:
            return FAILED, b""
        self.ran.add(asked["entry"])
        limits = self.engine.limits = replace(self.engine.limits, seconds=asked["seconds"])
        with ended_after(limits.together + 2 * GRACE):
            quotes = derived(asked["text"], request_read(asked["request"]), self.catalog, self.public)
            if asked["horizon"] is not None:
                quotes = (measurement_of(quotes[0], asked["horizon"])[0],)
            paid = [quote for quote in quotes if fingerprint_of(quote, self.info.version) == asked["fingerprint"]]
            if not paid or not self._is_affordable(paid[0]):
                return FAILED, b""
            return NUMBERS, numbers_of(paid[0], self.engine.run, asked["fingerprint"])

    def leave(self) -> None:
        """Stop the work of a cluster, which would go on without this process."""
        if self.remote:
            self.engine.interrupt()

    def _is_affordable(self, quote: Quote) -> bool:
        """Whether the whole budget of the catalog could pay for it, by the function that the ledger asks before it spends.

        A clerk that is broken into may not care. The stated epsilon and delta of a question decide nothing: its price does.
        """
        caps = Admission(policy_of(self.catalog))
        charge, lifetime = charge_of((quote,), self.catalog), caps.lifetime
        whole = () if charge is None else person_price(quote) or charge.whole
        return caps.affords(quote.event) and (lifetime is None or all(map(lifetime.filter.affords, whole)))


def _kind_of(refusal: Refused) -> str:
    """The name of a refusal in the closed list; the words stay here."""
    return next(name for name, made in REFUSALS.items() if made().message == refusal.message)


def _plain(value: Any) -> Any:
    """A value of a public table in JSON; decimals keep their digits."""
    return {"decimal": str(value)} if isinstance(value, Decimal) else value


# --- the process -------------------------------------------------------------------------------------------------------------


def main(settings: OfEngine, profile: Profile = ENGINE) -> NoReturn:
    """Close the first part of the sandbox, open the store, close the rest, and answer until the clerk is gone."""
    line = begin(settings.line)
    catalog = replace(read_catalog(Path(settings.catalog)), ledger_url=None)  # it may hold a password, which is not for here
    wanted = opening(catalog, None, Limits(memory=settings.memory, threads=settings.threads))
    pinned = [os.open(path, os.O_PATH) for path in OF_ENGINES if path.exists()]  # their entries in /proc stay the ones allowed
    try:
        wanted, more = _locate(replace(wanted, session=settings.session))
        answering = open_confined(_sandbox(settings, profile, wanted, more), lambda: _open(catalog, wanted, settings.before))
    except TacitError as error:  # of the store, or of the URL of a cluster
        _say_unusable(line, error, 1 if catalog.store_engine == EMBEDDED else AWAY)
    serve(line, answering, pinned)


def serve(line: socket.socket, answering: Answering, _pinned: list[int]) -> NoReturn:
    """Answer the clerk; `_pinned` stays open for as long."""
    answer(line, answering)


def _sandbox(settings: OfEngine, profile: Profile, wanted: Opening, more: tuple[Path, ...]) -> Sandbox:
    """The rights that this engine gives up, in two parts; within reach stay the store's file, and one port of a cluster."""
    profile = profile if wanted.at is None else ENGINE_OF_A_CLUSTER
    profile = replace(profile, memory=process_bytes(settings.memory), left_out=frozenset(settings.left_out))
    reach = reach_of(reads=(wanted.place, *OF_ENGINES, *more), **_network(wanted.at))
    return Sandbox(lambda: close_first(profile, reach, settings.owner), lambda: close_last(profile, settings.owner))


def _locate(wanted: Opening) -> tuple[Opening, tuple[Path, ...]]:
    """The opening with the address of its cluster, if any; the files that this adds to what stays within reach."""
    if wanted.engine == EMBEDDED or wanted.master is None:
        return wanted, ()
    at = located(expanded(wanted.master, os.environ))
    return replace(wanted, at=at), tuple(Path(os.environ[name]) for name in (ROOTS,) if name in os.environ)


def _network(at: Address | None) -> dict[str, Any]:
    """The reach that stays of the network: one port. gRPC uses IPv6 only if it can first bind a socket to a port of its own."""
    return {} if at is None else {"ports": (at.port,), "own_port": at.is_ipv6}


def _open(catalog: Catalog, wanted: Opening, before: str) -> Answering:
    load(wanted.engine)
    _end_work_of(before, wanted)  # it may keep every core of the cluster
    info = store_info(catalog)
    if info is None:
        raise StoreUnusable("the data has not been prepared", remedy="run: tacit prepare")
    require_small_files(catalog)
    engine = engine_at(replace(wanted, version=info.version))
    engine.open()
    declared = prepared_under(catalog, info.fingerprint) or catalog
    return Answering(as_recorded(declared, info), engine, info)


def _end_work_of(before: str, wanted: Opening) -> None:
    """Ends what an engine that was killed left running on the cluster; it must not wait for the engine that takes its place."""
    if before and wanted.at is not None and wanted.master is not None:
        given = (expanded(wanted.master, os.environ), wanted.at, before)
        threading.Thread(target=end_sessions, args=given, daemon=True).start()


def _say_unusable(line: socket.socket, error: TacitError, code: int) -> NoReturn:
    """The reason, which is public, to the first question; then the end."""
    _, number, _ = receive(line, ASK)
    send(line, UNUSABLE, number, told_unusable(error))
    os._exit(code)
