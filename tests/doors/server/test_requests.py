"""One Idempotency-Key, one debit: retries at once, lost replies, crashes between the spend and the reply."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from served import Served, served
from tacit.accounting.ledger.connections import REASONS
from tacit.accounting.ledger.selling import Sale
from tacit.doors.server import analysts, requests
from tacit.doors.server.calls import Reply
from tacit.doors.server.desk import desk
from tacit.doors.server.requests import FRAME, MOST_UNPAID, Begun, Kept, Requests, digest_of
from tacit.doors.server.turns import Places, Seats
from tacit.errors import StoreUnusable
from tacit.session import Session
from tacit.session import open as open_data

COUNT = "SELECT COUNT(*) AS n FROM visits"


class Crash(BaseException):
    """The process ends here: nothing after it runs."""


def spends(found: Served) -> int:
    return found.data.ledger.head.questions


def code(reply: Reply) -> str:
    return json.loads(reply.body)["error"]["code"]


def restarted(found: Served) -> Served:
    """The same folder after a crash, with a new desk; the tokens are those of before."""
    other = Served.__new__(Served)
    data = open_data(found.folder / "tacit.toml", own_process=False)
    place = desk(data)
    other.desk, other.folder, other.office, other.data, other.tokens = place, found.folder, place.office, data, found.tokens
    return other


def crashing(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, after: bool) -> None:
    """The method ends the process: before it has done anything, or after."""
    whole = getattr(where, name)

    def crashes(*given: Any, **named: Any) -> None:
        if after:
            whole(*given, **named)
        raise Crash

    monkeypatch.setattr(where, name, crashes)


def test_the_same_request_is_the_same_reply_and_another_one_is_refused(tmp_path):
    with served(tmp_path) as found:
        first = found.call("ask", key="k", sql=COUNT, epsilon="0.1")
        assert found.call("ask", key="k", sql=COUNT, epsilon="0.1") == first
        assert code(found.call("ask", key="k", sql=COUNT, epsilon="0.2")) == "key_reused"
        assert spends(found) == 1
        assert found.call("ask", key="k", by="bob", sql="SELECT COUNT(*) FROM patients", epsilon="0.1").status == 200, (
            "another analyst's key says nothing, and stands in nobody's way"
        )
        refused = found.call("ask", key="r", sql="SELECT nothing FROM visits", epsilon="0.1")
        assert found.call("ask", key="r", sql="SELECT nothing FROM visits", epsilon="0.1") == refused
        exact = found.call("ask", key="k", sql=COUNT, epsilon="0.1", form="exact")
        assert json.loads(exact.body)["receipt"]["entry"] == json.loads(first.body)["entry"], "the form is not part of the request"
        assert found.data.ledger.verify().whole


def test_requests_at_once_under_one_key_are_one_debit(tmp_path):
    with served(tmp_path) as found, ThreadPoolExecutor(8) as threads:
        found.desk.places.places = 8
        replies = set(threads.map(lambda _: found.call("ask", key="k", sql=COUNT, epsilon="0.1"), range(8)))
        assert (len(replies), spends(found)) == (1, 1)
        assert not found.office.requests._locks


CRASHES = {
    "before the request is begun": (Requests, "_begin", False),
    "after it is begun": (Requests, "_begin", True),
    "before the answer is made": (Session, "_release", False),
    "after the answer is kept": (Session, "_receipt", True),
    "before the reply is kept": (Requests, "finish", False),
    "after the reply is kept": (Requests, "finish", True),
}


@pytest.mark.parametrize("where", CRASHES)
def test_a_crash_anywhere_is_one_debit(tmp_path, monkeypatch, where):
    with served(tmp_path) as found:
        with monkeypatch.context() as patch:
            crashing(patch, *CRASHES[where])
            with pytest.raises(Crash):
                found.call("ask", key="k", sql=COUNT, epsilon="0.1")
        later = restarted(found)
        reply = later.call("ask", key="k", sql=COUNT, epsilon="0.1")
        assert spends(later) == 1
        assert later.call("ask", key="k", sql=COUNT, epsilon="0.1") == reply
        if where == "before the answer is made":
            assert (reply.status, code(reply)) == (504, "timed_out"), "it was paid for, and has no answer"
        else:
            assert reply.status == 200
            assert json.loads(reply.body)["price"]["epsilon"] == "0.1"
        assert later.data.ledger.verify().whole
        later.office.records.close()
        later.data.close()


TOTAL = f"SELECT a.n + b.n AS s FROM ({COUNT}) a, (SELECT COUNT(*) AS n FROM patients) b"


@pytest.mark.parametrize("where", ["before the answer is made", "before the reply is kept", "after the reply is kept"])
def test_a_crash_in_a_statement_of_two_questions_is_one_debit_of_each(tmp_path, monkeypatch, where):
    with served(tmp_path) as found:
        with monkeypatch.context() as patch:
            crashing(patch, *CRASHES[where])
            with pytest.raises(Crash):
                found.call("ask", key="k", sql=TOTAL, epsilon="0.2")
        later = restarted(found)
        reply = later.call("ask", key="k", sql=TOTAL, epsilon="0.2")
        assert spends(later) == 2
        assert later.call("ask", key="k", sql=TOTAL, epsilon="0.2") == reply
        if where == "before the answer is made":
            assert (reply.status, code(reply)) == (504, "timed_out"), "both were paid for, and have no answer"
        else:
            assert reply.status == 200
            assert [column["name"] for column in json.loads(reply.body)["columns"]] == ["s"], "never the answer to a part of it"
            assert json.loads(reply.body)["price"]["epsilon"] == "0.2"
        later.office.records.close()
        later.data.close()


def test_a_part_of_a_statement_as_its_reply_is_caught(tmp_path, monkeypatch):
    """Planted: the entries do not say that they are of a statement with several questions."""
    monkeypatch.setattr(Sale, "details", property(lambda sale: {"request": sale.request} if sale.request else {}))
    with pytest.raises(AssertionError):
        test_a_crash_in_a_statement_of_two_questions_is_one_debit_of_each(tmp_path, monkeypatch, "before the reply is kept")


def test_a_desk_that_asks_again_after_a_crash_is_caught(tmp_path, monkeypatch):
    """Planted: the ledger is not looked at, and a question that means another day's costs again."""
    with served(tmp_path) as found:
        with monkeypatch.context() as patch:
            crashing(patch, Requests, "finish", after=False)
            with pytest.raises(Crash):
                found.call("ask", key="k", sql=COUNT, epsilon="0.1")
        monkeypatch.setattr(analysts, "_recover", lambda *_: None)
        later = restarted(found)
        monkeypatch.setattr("tacit.query.offers.key_of", lambda *_: "b" * 64)  # the next day, another question
        later.call("ask", key="k", sql=COUNT, epsilon="0.1")
        assert spends(later) == 2
        later.office.records.close()
        later.data.close()


def test_records_that_cannot_be_written_stop_a_request_before_it_spends(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.doors.server.records.PATIENCE", 0.05)
    with served(tmp_path) as found:
        found.data.ledger  # noqa: B018  # opened
        holder = sqlite3.connect(found.office.records.file, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        reply = found.call("ask", key="k", sql=COUNT, epsilon="0.1")
        assert (reply.status, spends(found)) == (503, 0)
        holder.execute("ROLLBACK")
        holder.close()
        assert found.call("ask", key="k", sql=COUNT, epsilon="0.1").status == 200
        assert "SQLITE_BUSY" in json.loads(found.call("log", by="cara").body)["lines"][-1]


def limit_ledger(pool: Any, limit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call `limit` with each connection of a ledger that is about to be used."""
    taken = pool._take_connection

    def limited() -> Any:
        connection = taken()
        limit(connection._connection)
        return connection

    monkeypatch.setattr(pool, "_take_connection", limited)


@pytest.mark.parametrize("which", ["records", "ledger"])
def test_a_disk_that_is_really_full_pays_nothing_and_locks_nobody_out(tmp_path, which, monkeypatch):
    """SQLite itself refuses the next page of the file; what fitted before is still read."""
    with served(tmp_path) as found:
        found.desk.places = Places(rate=1e9, burst=1e9)
        assert found.call("ask", key="first", sql=COUNT, epsilon="0.1").status == 200
        full: list[object] = []

        def limit(connection: Any, *_: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {1 if full else 2**30}")  # never below the pages that there are

        if which == "records":
            event.listen(found.office.records._engine, "checkout", limit)
        else:
            limit_ledger(found.data.ledger._store._database.pool, limit, monkeypatch)
        full.append(True)
        for at in range(3, 80):  # until the free room of the pages that there are is used up
            before = spends(found)
            reply = found.call("ask", key=f"k{at}" * 20, sql=f"{COUNT} WHERE cost < {at}", epsilon="0.001")
            if reply.status != 200:
                break
        assert (reply.status, code(reply)) == (503, "unavailable")
        spent = spends(found)
        assert spent - before <= (which == "ledger"), "a full ledger may have spent and kept no answer; full records stop it before"
        assert found.call("budget").status == 200, "nobody is locked out"
        full.clear()
        assert found.call("ask", key="new", sql=f"{COUNT} WHERE cost < 2", epsilon="0.001").status == 200
        assert spends(found) == spent + 1
        assert found.data.ledger.verify().whole


@pytest.mark.parametrize("why", ["SQLITE_FULL", "SQLITE_BUSY"])
def test_a_ledger_that_cannot_be_written_is_unavailable_and_spends_nothing(tmp_path, monkeypatch, why):
    message, remedy = REASONS[why]

    def fails(*_: Any) -> None:
        raise StoreUnusable(message, remedy=remedy)

    with served(tmp_path) as found:
        with monkeypatch.context() as patch:
            patch.setattr("tacit.accounting.ledger.tables.Store.write", fails)
            replies = {found.call("ask", key="k", sql=COUNT, epsilon="0.1"), found.call("ask", sql=COUNT, epsilon="0.1")}
        assert [(each.status, code(each)) for each in replies] == [(503, "unavailable")]
        assert message in json.loads(found.call("log", by="cara").body)["lines"][-1]
        assert spends(found) == 0
        assert found.call("ask", key="k", sql=COUNT, epsilon="0.1").status == 200
        assert spends(found) == 1


def test_clocks_that_jump_have_closed_codes_and_bring_nothing_back(tmp_path):
    with served(tmp_path) as found:
        now = [time.time()]
        found.office.accounts._clock = lambda: now[0]
        for step in (-1e9, 2e9, -3e9, 1e12):
            assert found.call("ask", key=f"{step:g}", sql=COUNT, epsilon="0.1").status in (200, 401)
            now[0] += step
        assert found.call("budget").status == 401, "a token that expired once stays expired"
        assert spends(found) == 1


def test_a_reply_that_cannot_be_kept_still_leaves_and_the_ledger_decides_later(tmp_path, monkeypatch):
    with served(tmp_path) as found:
        with monkeypatch.context() as patch:
            patch.setattr(Requests, "finish", lambda *_: None)
            first = json.loads(found.call("ask", key="k", sql=COUNT, epsilon="0.1").body)
        again = json.loads(found.call("ask", key="k", sql=COUNT, epsilon="0.1").body)
        assert again == first
        assert spends(found) == 1


def test_keys_that_spent_are_remembered_and_others_only_so_many(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.doors.server.requests.MOST_UNPAID", 3)
    with served(tmp_path) as found:
        paid = found.call("ask", key="paid", sql=COUNT, epsilon="0.1")
        for number in range(6):
            found.call("ask", key=f"free {number}".replace(" ", "-"), sql="SELECT ward FROM wards")
        with found.office.records.reader() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM requests").scalar() == 4
        assert found.call("ask", key="paid", sql=COUNT, epsilon="0.1") == paid
    assert MOST_UNPAID == 1000


def test_no_two_keys_of_analysts_are_one():
    assert digest_of("a", "bc") != digest_of("ab", "c")
    assert Begun("a", "k", 0, again=False).finished is None
    assert Kept(200, "{}").entry is None


# --- long replies ------------------------------------------------------------------------------------------------------------


def kept_bytes(found: Served) -> list[int]:
    with found.office.records.reader() as connection:
        return [size or 0 for (size,) in connection.exec_driver_sql("SELECT length(reply) FROM requests ORDER BY begun")]


def test_a_long_reply_is_kept_as_a_frame_and_comes_back_byte_for_byte(tmp_path, monkeypatch):
    with served(tmp_path) as found:
        ask = {"sql": 'SELECT ward, COUNT(*) AS n, AVG(cost) AS "a <name>" FROM visits GROUP BY ward', "epsilon": "0.1"}
        whole = [found.call("ask", key="whole", form=form, **ask) for form in ("plain", "exact")]
        monkeypatch.setattr(requests, "SHORT", 10)
        framed = [found.call("ask", key="framed", form=form, **ask) for form in ("plain", "exact", "plain", "exact")]
        assert framed[:2] == framed[2:]
        with found.office.records.reader() as connection:
            texts = [zlib.decompress(row[0]).decode() for row in connection.exec_driver_sql("SELECT reply FROM requests")]
        assert sorted(text.startswith(FRAME) for text in texts) == [False, True]
        assert len(min(texts, key=len)) < len(max(texts, key=len)) / 2
        assert [json.loads(each.body)["rows"] for each in (whole[0], framed[0])] == [json.loads(whole[0].body)["rows"]] * 2
        found.call("ask", by="bob", sql=ask["sql"].replace("a <name>", "of bob"), epsilon="0.1")
        found.call("ask", sql=COUNT, epsilon="0.1")
        assert found.call("ask", key="framed", **ask) == framed[0], "neither another's names nor a later balance"
        later = restarted(found)
        assert later.call("ask", key="framed", **ask) == framed[0]
        assert spends(later) == 2
        later.office.records.close()
        later.data.close()


def test_a_frame_that_would_make_another_reply_is_not_kept(tmp_path, monkeypatch):
    """Planted: a ledger whose stored answer is another one. The reply is then kept whole, and stays the same."""
    with served(tmp_path) as found:
        monkeypatch.setattr(requests, "SHORT", 10)
        monkeypatch.setattr(analysts, "_stored_text", lambda *_: None)
        first = found.call("ask", key="k", sql=COUNT, epsilon="0.1")
        assert found.call("ask", key="k", sql=COUNT, epsilon="0.1") == first


def test_a_frame_whose_answer_is_gone_is_unavailable_and_pays_nothing(tmp_path, monkeypatch):
    with served(tmp_path) as found:
        monkeypatch.setattr(requests, "SHORT", 10)
        found.call("ask", key="k", sql=COUNT, epsilon="0.1")
        monkeypatch.setattr(analysts, "_stored_text", lambda *_: None)
        assert code(found.call("ask", key="k", sql=COUNT, epsilon="0.1")) == "unavailable"
        assert spends(found) == 1


def test_long_replies_that_cost_nothing_are_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(requests, "MOST_FREE", 20)
    with served(tmp_path) as found:
        first = found.call("ask", key="k", sql="SELECT ward FROM wards")
        assert kept_bytes(found) == [0]
        assert found.call("ask", key="k", sql="SELECT ward FROM wards") == first
        assert code(found.call("ask", key="k", sql="SELECT ward FROM wards LIMIT 1")) == "key_reused"
        assert spends(found) == 0


@pytest.mark.parametrize("sound", [True, False], ids=["sound", "planted"])
def test_who_waits_for_a_request_of_the_same_key_keeps_nobody_from_the_desk(tmp_path, monkeypatch, sound):
    """Planted: a seat is taken before the turn of the key, and held until a slow question with that key has its answer."""
    with served(tmp_path) as found:
        monkeypatch.setattr(found.office, "seats", Seats(1))
        if not sound:
            taken = Requests.alone

            @contextmanager
            def seated(*given):
                with found.office.seats.seat(), taken(*given) as begun:
                    found.office.seats.leave()
                    yield begun

            monkeypatch.setattr(Requests, "alone", seated)
        explained = threading.Event()
        again = threading.Thread(target=lambda: found.call("ask", key="k", sql=COUNT, epsilon="0.1"))
        other = threading.Thread(target=lambda: (found.call("explain", by="bob", sql=COUNT, epsilon="0.1"), explained.set()))
        which, requests = ("ana", digest_of("ana", "k")), found.office.requests
        with requests._turn(which):  # the first request with the key is still worked on
            again.start()
            while requests._waiting[which] < 2:
                time.sleep(0.01)
            other.start()
            assert explained.wait(60 if sound else 1) is sound
        again.join()
        other.join()
