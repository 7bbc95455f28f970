"""PEP 249 on a catalog and on a server: what it costs, what it refuses, and what it never shows."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction

import httpx
import pandas as pd
import polars as pl
import pytest

from hospital import files
from served import Served, listening, served
from tacit import dbapi, errors
from tacit.doors.client import Remote
from tacit.doors.driver.dbapi import KINDS, _with_type, pep_errors
from tacit.doors.server.turns import Places
from tacit.session import open as open_data

WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
OVER = "SELECT COUNT(*) AS n FROM visits WHERE cost > :c"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    path = files(tmp_path_factory.mktemp("driver"))
    path.write_text(path.read_text("utf-8").replace("epsilon = 2\n", "epsilon = 7\n"), "utf-8")
    with open_data(path, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
        yield path, data


@pytest.fixture
def connection(catalog):
    with dbapi.connect(session=catalog[1].session("ana"), epsilon="0.01") as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[Served, str]]:
    with served(tmp_path_factory.mktemp("served")) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        with listening(found.desk) as url:
            yield found, url


def spent(data) -> Fraction:
    return data.ledger.spent("ana").epsilon


# --- PEP 249 -----------------------------------------------------------------------------------------------------------------


def test_the_module_is_one_of_pep_249():
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "named")
    for kind in (dbapi.InterfaceError, dbapi.DatabaseError):
        assert issubclass(kind, dbapi.Error)
    for kind in ("DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError", "NotSupportedError"):
        assert issubclass(getattr(dbapi, kind), dbapi.DatabaseError)
        assert getattr(dbapi.Connection, kind) is getattr(dbapi, kind)
    assert dbapi.DateFromTicks(0).year in (1969, 1970)
    assert dbapi.TimestampFromTicks(0).date() == dbapi.DateFromTicks(0)
    assert dbapi.TimeFromTicks(0) == dbapi.TimestampFromTicks(0).time()
    assert dbapi.STRING == "text"
    assert dbapi.NUMBER == "integer"
    assert dbapi.NUMBER != dbapi.STRING
    assert hash(dbapi.NUMBER) != hash(dbapi.STRING)


def test_a_question_and_its_rows(connection):
    cursor = connection.cursor()
    assert (cursor.rowcount, cursor.description) == (-1, None)
    assert cursor.execute(WARDS) is cursor
    assert [column[0] for column in cursor.description] == ["ward", "n", "n_low", "n_high"]
    assert [column[1] == dbapi.NUMBER for column in cursor.description] == [False, True, True, True]
    assert (cursor.rowcount, cursor.rownumber) == (5, 0)
    first = cursor.fetchone()
    assert first[2] <= first[1] <= first[3]
    assert len(cursor.fetchmany(2)) == 2
    assert len(cursor.fetchall()) == 2
    assert cursor.fetchone() is None
    assert next(iter(cursor.execute(WARDS))) == first, "a repeated question has the same answer"
    assert any("epsilon" in line for _, line in cursor.messages)
    with connection.cursor() as plain:
        plain.setinputsizes([1])
        plain.setoutputsize(1)
        assert plain.nextset() is None
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        plain.fetchone()


def test_intervals_may_be_left_out(catalog):
    with dbapi.connect(session=catalog[1].session("ana"), epsilon="0.01", intervals="none") as connection:
        assert [column[0] for column in connection.cursor().execute(WARDS).description] == ["ward", "n"]


def test_nothing_is_committed_or_refunded(connection, catalog):
    connection.cursor().execute("SELECT COUNT(*) AS n FROM visits WHERE pulse > 71")
    before = spent(catalog[1])
    connection.commit()
    connection.rollback()
    assert spent(catalog[1]) == before


def test_what_is_closed_stays_closed(catalog):
    connection = dbapi.connect(session=catalog[1].session("ana"), epsilon="0.01")
    cursor = connection.cursor()
    with pytest.raises(dbapi.ProgrammingError, match="execute a question first"):
        cursor.fetchall()
    connection.close()
    connection.close()
    for act in (connection.cursor, connection.commit, connection.rollback, lambda: cursor.execute(WARDS), cursor.fetchall):
        with pytest.raises(dbapi.InterfaceError, match="closed") as raised:
            act()
        assert raised.value.code == "closed"


def test_many_executions_are_refused(connection):
    with pytest.raises(dbapi.NotSupportedError, match="executemany"):
        connection.cursor().executemany(OVER, [{"c": 1}, {"c": 2}])


# --- budgets -----------------------------------------------------------------------------------------------------------------


def test_there_is_no_default_epsilon(catalog):
    path, data = catalog
    before = spent(data)
    with dbapi.connect(f"tacit:///{path}?analyst=ana") as connection:
        with pytest.raises(dbapi.ProgrammingError) as raised:
            connection.cursor().execute(WARDS)
        assert raised.value.code == "no_budget"
        assert connection.cursor().execute("SELECT ward FROM wards").rowcount == 4, "a public table is free"
    assert spent(data) == before


def test_limit_zero_is_free_and_describes_the_columns(connection, catalog):
    before = spent(catalog[1])
    cursor = connection.cursor().execute(f"{WARDS} LIMIT 0")
    assert [column[0] for column in cursor.description] == ["ward", "n", "n_low", "n_high"]
    assert cursor.fetchall() == []
    assert spent(catalog[1]) == before


TYPES = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward LIMIT 0"
OF_QUESTION = {"ward": "text", "n": "integer", "cost": "double"} | dict.fromkeys(("n_low", "n_high"), "integer")
OF_ROWS = {"day": "date", "urgent": "boolean", "pulse": "integer", "cost": "double", "ward": "text", "patient_id": "text"}


def described(cursor):
    return {column[0]: column[1] for column in cursor.description}


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        (TYPES, OF_QUESTION),
        (
            "SELECT n * 2 AS m FROM (SELECT COUNT(*) AS n FROM visits) AS virtual_table LIMIT 0",
            {"m": "integer", "m_low": "integer"},
        ),
        ("SELECT * FROM visits WHERE 1 <> 1 LIMIT 0", OF_ROWS),
        ("SELECT * FROM (SELECT * FROM visits WHERE urgent) AS virtual_table LIMIT 0", OF_ROWS),
    ],
)
def test_the_description_has_the_types_of_the_plan_where_no_value_has_them(connection, catalog, sql, types):
    before = spent(catalog[1])
    assert described(connection.cursor().execute(sql)).items() >= types.items()
    assert spent(catalog[1]) == before


def test_types_that_cannot_be_had_lose_no_answer(catalog, monkeypatch):
    """Planted: a server that explains nothing. The answer was paid for, and is there."""
    with dbapi.connect(session=catalog[1].session("ana"), epsilon="0.01") as connection:
        monkeypatch.setattr(type(connection), "explain", lambda *_: (_ for _ in ()).throw(errors.TimedOut("too long")))
        assert described(connection.cursor().execute(TYPES))["n"] == "text"


def test_most_limits_a_connection(catalog):
    with dbapi.connect(session=catalog[1].session("ana"), epsilon="0.02", most="0.04") as connection:
        connection.cursor().execute(OVER, {"c": 3001})
        connection.cursor().execute(OVER, {"c": 3001})  # again, and free
        connection.cursor().execute(OVER, {"c": 3003})
        before = spent(catalog[1])
        with pytest.raises(dbapi.OperationalError, match="limit of this session") as raised:
            connection.cursor().execute(OVER, {"c": 3002})
        assert raised.value.code == "budget_exceeded"
        assert raised.value.remedy
        assert spent(catalog[1]) == before


def test_parameters_by_name_and_by_place(connection):
    named = connection.cursor().execute(OVER, {"c": 100}).fetchall()
    assert connection.cursor().execute(OVER.replace(":c", "?"), [100]).fetchall() == named
    assert connection.cursor().execute(OVER.replace(":c", "$1"), (100,)).fetchall() == named
    with pytest.raises(dbapi.Error):
        connection.cursor().execute(OVER, {"c": object()})
    text = "SELECT COUNT(*) AS n FROM visits WHERE ward = :w"
    hostile = "north' OR 'a' = 'a"
    with pytest.raises(dbapi.DatabaseError):
        connection.cursor().execute(text, {"w": hostile, "x": 1})  # a parameter that the question does not have


# --- errors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "kind", "code"),
    [
        ("SELECT SUM(nothing) FROM visits", dbapi.ProgrammingError, "unknown_name"),
        ("SELECT ward FROM visits", dbapi.NotSupportedError, "not_allowed"),
        ("SELECT COUNT(*) FROM visits WHERE", dbapi.ProgrammingError, None),
        ("INSERT INTO visits VALUES (1)", dbapi.DatabaseError, None),
        ("SELECT COUNT(*) FROM visits WHERE cost = 'x'", dbapi.DatabaseError, None),
    ],
)
def test_an_error_has_its_code_and_its_remedy(connection, catalog, sql, kind, code):
    before = spent(catalog[1])
    with pytest.raises(kind) as raised:
        connection.cursor().execute(sql)
    assert code is None or raised.value.code == code
    assert isinstance(raised.value.__cause__, errors.TacitError)
    assert raised.value.code == getattr(raised.value.__cause__, "code", "invalid")
    assert spent(catalog[1]) == before


def test_every_error_of_tacit_is_one_of_pep_249():
    own = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TacitError)]
    for kind in own:
        error = kind.__new__(kind, "a text")  # whatever else it needs
        with pytest.raises(dbapi.DatabaseError), pep_errors():
            raise error
    assert all(issubclass(mine, dbapi.DatabaseError) for _, mine in KINDS)


@pytest.mark.parametrize("address", ["mysql://x", "tacit:///nowhere/tacit.toml?epsilon=1", "tacit:///a?epsilon=x"])
def test_a_wrong_address_is_an_error_of_pep_249(address):
    with pytest.raises(dbapi.Error):
        dbapi.connect(address)


def test_types_of_columns():
    assert _with_type([1, None, 2]) == ("integer", [1, None, 2])
    assert _with_type([1, 2.5])[0] == "double"
    assert _with_type([True, None])[0] == "boolean"
    assert _with_type([Decimal("1.5")])[0] == "decimal"
    assert _with_type(["2024-01-31", None]) == ("date", [date(2024, 1, 31), None])
    assert _with_type([None], "integer") == ("integer", [None])
    assert _with_type(["2024-01-31", "x"])[0] == _with_type([])[0] == _with_type([None])[0] == "text"


# --- programs ----------------------------------------------------------------------------------------------------------------


def test_polars_reads_a_connection(connection):
    frame = pl.read_database(WARDS, connection)
    assert frame.columns == ["ward", "n", "n_low", "n_high"]
    assert frame.height == 5  # a ward may be missing


def test_polars_knows_the_types_of_columns_without_rows(connection):
    """A type code is a name that Polars reads, or the column would have no type there."""
    schema = pl.read_database("SELECT * FROM visits LIMIT 0", connection).schema
    assert [schema[name] for name in ("ward", "urgent", "day", "cost", "pulse")] == [
        pl.String,
        pl.Boolean,
        pl.Date,
        pl.Float64,
        pl.Int64,
    ]


def test_pandas_reads_a_connection(connection):
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pd.read_sql(OVER, connection, params={"c": 7})
    assert list(frame.columns) == ["n", "n_low", "n_high"]


# --- a server ----------------------------------------------------------------------------------------------------------------


def test_a_server_is_asked_with_the_token_of_the_address(server):
    found, url = server
    token = found.tokens["ana"]
    address = f"{url.replace('http', 'tacit+http', 1)}/?epsilon=0.01&most=0.05".replace("//", f"//ana:{token}@", 1)
    with dbapi.connect(address) as connection:
        rows = connection.cursor().execute(WARDS).fetchall()
        assert rows == dbapi.connect(session=found.data.session("ana"), epsilon="0.01").cursor().execute(WARDS).fetchall()
        assert token not in repr(connection) + repr(connection.address) + repr(connection.session)
        with pytest.raises(dbapi.ProgrammingError) as raised:
            connection.cursor().execute("SELECT SUM(nothing) FROM visits")
        assert (raised.value.code, token in str(raised.value)) == ("unknown_name", False)
    for wrong in (address.replace(token, "tacit_wrong"), address.replace(token, "tacit_wrong").replace("&most=0.05", "")):
        refusing = pytest.raises(dbapi.OperationalError, match="revoked; ask the curator")
        with refusing as raised, dbapi.connect(wrong) as connection:
            connection.cursor().execute(WARDS)
        assert (raised.value.code, "tacit_wrong" in str(raised.value)) == ("unauthenticated", False)


def test_most_on_a_server_is_a_narrow_token_that_ends_with_the_connection(server):
    found, url = server
    ana = Remote(url, found.tokens["ana"])
    before = len(ana.tokens())
    connection = dbapi.connect(session=Remote(url, found.tokens["ana"]), epsilon="0.01", most="0.02")
    for place in range(2):
        connection.cursor().execute(f"SELECT COUNT(*) FROM visits WHERE cost > {place + 40}")
    with pytest.raises(dbapi.OperationalError, match=r"token \d+ does not admit") as refused:
        connection.cursor().execute("SELECT COUNT(*) FROM visits WHERE cost > 42")
    assert (refused.value.code, "larger limit" in refused.value.remedy) == ("budget_exceeded", True)
    narrow = ana.tokens()[before]
    assert (narrow["most"], narrow["asked"], narrow["live"]) == ("0.02", "0.02", True)
    connection.close()
    assert not ana.tokens()[before]["live"]
    live = dbapi.connect(session=Remote(url, found.tokens["ana"]), epsilon="0.01", most="0.02")
    ana.revoke()
    with pytest.raises(dbapi.OperationalError, match="was revoked"):
        live.cursor().execute("SELECT COUNT(*) FROM visits WHERE cost > 43")
    live.close()
    ana.close()


def test_a_lost_reply_is_paid_for_once(server):
    found, url = server

    class Losing(httpx.HTTPTransport):
        lost = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            reply = super().handle_request(request)
            if self.lost < 2:
                self.lost += 1
                reply.read()
                raise httpx.ReadError("lost")
            return reply

    before = found.data.ledger.head.questions
    remote = Remote(url, found.tokens["ana"], transport=Losing(), pauses=(0.0, 0.0))
    with dbapi.connect(session=remote, epsilon="0.01") as connection:
        assert connection.cursor().execute(OVER, {"c": 4001}).rowcount == 1
    assert found.data.ledger.head.questions == before + 1


@contextmanager
def replying(body: bytes) -> Iterator[str]:
    """A server on this machine that replies the same to everything."""

    class Reply(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            with suppress(OSError):
                self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Reply) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>", b"[" * 100_000, b"{}", b'{"answer": null}', b'{"answer": [], "receipt": 1}', b" " * 5000,
        json.dumps({"answer": {"columns": [{"name": 1, "values": "x"}]}, "receipt": {"left": [None, []]}}).encode(),
    ],
)  # fmt: skip
def test_the_replies_of_a_hostile_server_are_one_error(body, monkeypatch):
    monkeypatch.setattr("tacit.doors.client.MOST_REPLY", 200_000 if body.startswith(b"[") else 4000)
    with replying(body) as url:
        for options in ({}, {"most": "1"}):
            with pytest.raises(dbapi.OperationalError), Remote(url, "tacit_x", pauses=()) as remote:
                dbapi.connect(session=remote, epsilon="0.1", **options).cursor().execute(WARDS)


def answer_of(**changes) -> dict:
    """The reply of a server to a question, with parts that a hostile one changes."""
    answer = {"columns": [["n", "count", [3], [1], [5], None]], "amounts": ["1/10", "0"], "confidence": "19/20"}
    answer |= {"simultaneous": False, "notes": [], "limits": []}
    receipt = {"left": ["1", "0"], "entry": 4, "data_version": "a", "again": False}
    return {
        "answer": answer | {name: value for name, value in changes.items() if name in answer},
        "receipt": receipt | {name: value for name, value in changes.items() if name in receipt},
    }


PLANTED = [
    {"columns": [["n", "count", [3, 4], [1], [5], None]]},  # of different lengths
    {"columns": [["n", "key", [3]], ["m", "key", [3, 4]]]},
    {"columns": [[7, "key", [3]]]},
    {"columns": [["n", "key", [[3]]]]},
    {"columns": [["n", "key", [{"decimal": "1E+999999999"}]]]},  # as a text without an exponent, a gigabyte
    {"columns": [["n", "key", [{"decimal": "NaN"}]]]},
    {"columns": [["n", "key", [{"__class__": "os.system"}]]]},
    {"columns": [["n", "key", [1]]] * 10_001},
    {"columns": [["n" * 100_001, "key", [1]]]},
    {"amounts": ["1e999999999", "0"]},  # as a fraction, more memory than any machine has
    {"confidence": "1e999999999"},
    {"left": ["1e999999999", "0"]},
    {"left": ["9" * 5000, "0"]},
    {"notes": [{"a": 1}]},
    {"entry": "../../etc/passwd"},
    {"data_version": 7},
    {"again": "yes"},
]


@pytest.mark.parametrize("changes", PLANTED, ids=lambda changes: str(changes)[:60])
def test_planted_answers_are_one_error(changes):
    """Without the check, most become errors of Python in the cursor, and those with exponents never end."""
    assert replied(answer_of()).cursor().execute(WARDS).fetchall() == [(3, 1, 5)]
    with pytest.raises(dbapi.OperationalError, match="words of tacit") as raised:
        replied(answer_of(**changes)).cursor().execute(WARDS)
    assert "update tacit here" in raised.value.remedy


def replied(content: dict, **options) -> dbapi.Connection:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=content))
    return dbapi.connect(session=Remote("https://x.org", "t", transport=transport, pauses=()), epsilon="0.1", **options)


@pytest.mark.parametrize(
    "changes", [{"name": 7}, {"columns": 3}, {"columns": [{"name": "a"}]}, {"unit": {"column": 1}}, {"unit": []}]
)
def test_planted_declarations_are_one_error(changes):
    table = {"name": "visits", "public": False, "unit": None, "columns": []} | changes
    with pytest.raises(errors.StoreUnusable, match="words of tacit"):
        replied({"tables": [table]}).session.tables()


def test_a_server_of_a_newer_version_may_add_fields():
    answer = answer_of()
    answer["answer"]["newer"], answer["receipt"]["newer"] = {"a": [1]}, "b"
    assert replied(answer).cursor().execute(WARDS).fetchall() == [(3, 1, 5)]
    heading = {"name": "n", "kind": "count", "type": "integer", "nullable": False, "low": None, "high": None, "newer": 1}
    noise = {"what": "n", "mechanism": "Laplace", "sensitivity": "1", "scale": "1", "cost": "1", "newer": []}
    told = {
        "tree": [], "groups": "one", "noise": [noise], "errors": [{"column": "n", "error": "± 3", "newer": 2}], "newer": 3,
        "price": {"epsilon": "0.5", "delta": "0"}, "confidence": 0.95, "left": "", "columns": [heading],
    }  # fmt: skip
    assert replied(told).session.explain(WARDS).columns[0].name == "n"
    told["price"]["epsilon"] = "1e999999999"
    with pytest.raises(errors.StoreUnusable, match="words of tacit"):
        replied(told).session.explain(WARDS)


@pytest.mark.parametrize("value", [b"x", [1], {"a": 1}, object(), 1j])
def test_a_parameter_of_a_wrong_type_is_a_data_error(connection, value):
    remote = replied(answer_of())
    for opened in (connection, remote):
        with pytest.raises(dbapi.DataError, match="must be a text, a number"):
            opened.cursor().execute(OVER, {"c": value})


def test_nothing_of_a_reply_is_written_to_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a file was opened"))
    cursor = replied(answer_of(data_version="../../x")).cursor().execute(WARDS)
    assert cursor.fetchall() == [(3, 1, 5)]
    assert list(tmp_path.iterdir()) == []


def test_free_statements_need_no_budget_on_a_server(server):
    found, url = server
    before = found.data.ledger.head.number
    address = url.replace("http://", f"tacit+http://ana:{found.tokens['ana']}@", 1)
    with dbapi.connect(address) as connection:  # without epsilon
        cursor = connection.cursor()
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
        assert cursor.execute("SELECT 'a' || 'b' AS x, 1 + 1 AS y").fetchall() == [("ab", 2)]
        assert cursor.execute("SELECT ward FROM visits GROUP BY ward ORDER BY 1 LIMIT 2").fetchall() == [("east",), ("north",)]
        (price,) = (line for (line,) in cursor.execute(f"EXPLAIN {WARDS}") if line.startswith("price: "))
        assert price.startswith("price: epsilon 1")
        assert cursor.execute("SELECT CURRENT_DATE").fetchone()[0].year >= 2024
        with pytest.raises(dbapi.ProgrammingError) as raised:
            cursor.execute("SELECT COUNT(*) AS n FROM visits")
        assert (raised.value.code, bool(raised.value.remedy)) == ("no_budget", True)
    assert found.data.ledger.head.number == before
