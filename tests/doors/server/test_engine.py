"""An engine runs what was paid for and nothing else, and the clerk takes from an engine what it was asked for and nothing else."""

from __future__ import annotations

import json
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hospital import NOW
from served import served
from tacit.accounting.filter import State
from tacit.accounting.ledger.caps import Admission, Standing, Sums
from tacit.accounting.ledger.units import policy_of
from tacit.data.prepare import prepare
from tacit.doors.server import engine as engine_module
from tacit.doors.server.engine import Answering, derived
from tacit.errors import StoreUnusable, TacitError, TimedOut, TooMuchWork
from tacit.privacy.catalog import Analyst, Budget
from tacit.query.intervals.bands import Noisy
from tacit.query.language.sql import read
from tacit.query.offers import offered
from tacit.query.price.price import Quote, Request, request
from tacit.release.elsewhere.frames import ASK, FAILED, NUMBERS, TOLD, Malformed, receive, send, written
from tacit.release.elsewhere.packed import packed, unpacked
from tacit.release.elsewhere.pool import Pool
from tacit.release.elsewhere.quotes import fingerprint_of, pricing_of, request_read, request_written
from tacit.release.noisy import Paid
from tacit.session import DataSet, Session

TEXT = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
ASKED = Request(Fraction(1, 100))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataSet]:
    with served(tmp_path_factory.mktemp("engine")) as place:
        yield place.data


@pytest.fixture
def answering(data: DataSet) -> Answering:
    data.engine.open()
    return Answering(data.catalog, data.engine, data.store)


def quote_of(data: DataSet, text: str = TEXT, asked: Request = ASKED) -> Quote:
    return derived(text, asked, data.catalog, data.public)[0]


def run(data: DataSet, **changed: Any) -> bytes:
    known = {"ask": "run", "text": TEXT, "request": request_written(ASKED), "entry": 1, "seconds": 60, "horizon": None}
    known |= {"fingerprint": fingerprint_of(quote_of(data), data.version)}
    return written(known | changed)


# --- the engine ----------------------------------------------------------------------------------------------------------------


def test_what_was_paid_for_is_run(answering, data):
    kind, content = answering.handle(ASK, run(data))
    assert kind == NUMBERS
    assert len(unpacked(quote_of(data), content[64:]).groups) == 5


def _asked(data: DataSet, asked: Request) -> dict[str, Any]:
    return {"request": request_written(asked), "fingerprint": fingerprint_of(quote_of(data, asked=asked), data.version)}


CHANGES: dict[str, Callable[[DataSet], dict[str, Any]]] = {
    "more epsilon": lambda _: {"request": request_written(Request(Fraction(1)))},
    "another question": lambda _: {"text": "SELECT ward, COUNT(*) AS n, AVG(pulse) AS cost FROM visits GROUP BY ward"},
    "another version": lambda data: {"fingerprint": fingerprint_of(quote_of(data), "0" * 32)},
    "more than the whole budget": lambda data: _asked(data, Request(Fraction(9))),
    "no fingerprint": lambda _: {"fingerprint": ""},
    "a free question": lambda _: {"text": "SELECT COUNT(*) AS n FROM wards"},
    "no SQL": lambda _: {"text": "SELECT FROM"},
    "a measurement of a stream": lambda _: {"horizon": 24},
    "a horizon of zero": lambda _: {"horizon": 0},
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_else_is_run(answering, data, change, monkeypatch):
    monkeypatch.setattr(type(data.engine), "run", lambda *_: pytest.fail("the engine was asked"))
    assert answering.handle(ASK, run(data, **CHANGES[change](data))) == (FAILED, b"")


def test_an_engine_that_does_not_compare_is_caught(answering, data, monkeypatch):
    """Planted: every quote has the same fingerprint, so that an engine runs whatever it is sent."""
    ran = []
    monkeypatch.setattr(engine_module, "fingerprint_of", lambda *_: "x" * 64)
    monkeypatch.setattr(type(data.engine), "run", lambda *_: ran.append(1))
    answering.handle(ASK, run(data, request=request_written(Request(Fraction(1))), fingerprint="x" * 64))
    assert ran, "the test above would not see a missing comparison"


def test_an_entry_is_run_once(answering, data):
    assert answering.handle(ASK, run(data, entry=7))[0] == NUMBERS
    assert answering.handle(ASK, run(data, entry=7)) == (FAILED, b"")


RUN_WITHOUT_HORIZON = written(
    {"ask": "run", "text": TEXT, "request": request_written(ASKED), "entry": 1, "seconds": 60, "fingerprint": ""}
)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"ask":"noisy"}',
        b'{"ask":"open","more":1}',
        b'{"ask":"size","table":1}',
        RUN_WITHOUT_HORIZON,
        pickle.dumps(("open",)),
        b"[" * 10**5,
    ],
    ids=range(8),
)
def test_what_is_not_a_message_ends_an_engine(answering, content):
    with pytest.raises(Malformed):
        answering.handle(ASK, content)


def test_public_facts_are_those_of_public_tables_alone(answering):
    assert json.loads(answering.handle(ASK, written({"ask": "size", "table": "wards"}))[1]) == {"number": 4}
    for asked in ({"ask": "size", "table": "visits"}, {"ask": "fan_out", "table": "visits", "column": "ward"}):
        assert answering.handle(ASK, written(asked)) == (FAILED, b"")
    for text in ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(*) AS n FROM wards, visits", "DESCRIBE visits"):
        assert answering.handle(ASK, written({"ask": "free", "text": text})) == (FAILED, b"")


def test_any_failure_is_the_same_reply(answering, data, monkeypatch):
    def fails(*_: Any) -> None:
        raise ValueError("a cell of a marked row")

    monkeypatch.setattr(type(data.engine), "run", fails)
    assert answering.handle(ASK, run(data)) == (FAILED, b"")


def test_fingerprints_tell_quotes_apart(data):
    quotes = [quote_of(data), quote_of(data, asked=Request(Fraction(1, 99))), quote_of(data, TEXT.replace("AVG", "SUM"))]
    quotes += [quote_of(data, asked=Request(Fraction(1, 100), confidence=Fraction(9, 10)))]
    assert len({fingerprint_of(quote, data.version) for quote in quotes}) == len(quotes)
    assert fingerprint_of(quotes[0], data.version) == fingerprint_of(quote_of(data), data.version)
    larger = replace(data.catalog, tables={**data.catalog.tables, "visits": replace(data.catalog.tables["visits"], max_rows=9)})
    assert pricing_of(larger) != pricing_of(data.catalog)
    for asked in (ASKED, Request(None, Fraction(1, 3), Fraction(50), simultaneous=True, groups=10**6)):
        assert request_read(json.loads(json.dumps(request_written(asked)))) == asked


# --- the clerk's side ----------------------------------------------------------------------------------------------------------


Reply = Callable[[dict[str, Any]], tuple[bytes, int, bytes]]


@pytest.fixture
def pooled(data: DataSet) -> Iterator[Callable[[Reply], Pool]]:
    """Makes a pool with one engine that answers `open` as a real one does, and anything else as it is told."""
    pools: list[Pool] = []
    yield lambda reply: with_engine(pools, data, reply)
    for pool in pools:
        pool.close()


def with_engine(pools: list[Pool], data: DataSet, reply: Reply) -> Pool:
    pool = Pool(changed=lambda: None)
    pools.append(pool)
    ours, theirs = socket.socketpair()
    opened = Answering(data.catalog, data.engine, data.store).handle(ASK, written({"ask": "open"}))

    def answer() -> None:
        with theirs:
            try:
                while True:
                    _, number, content = receive(theirs, ASK)
                    asked = json.loads(content)
                    kind, offset, said = (opened[0], 0, opened[1]) if asked["ask"] == "open" else reply(asked)
                    send(theirs, kind, number + offset, said)
            except OSError:
                return

    threading.Thread(target=answer, daemon=True).start()
    pool.add(ours)
    assert pool.info() == data.store
    return pool


def numbers(data: DataSet) -> Noisy:
    return unpacked(quote_of(data), Answering(data.catalog, data.engine, data.store).handle(ASK, run(data))[1][64:])


def test_released_numbers_are_taken_for_the_quote_that_was_paid(data, pooled):
    quote = quote_of(data)
    content = packed(quote, numbers(data))
    seen: list[dict[str, Any]] = []

    def reply(asked: dict[str, Any]) -> tuple[bytes, int, bytes]:
        seen.append(asked)
        return NUMBERS, 0, asked["fingerprint"].encode() + content

    runner = pooled(reply).runner(lambda: data.catalog, data.version)
    runner.open()
    assert len(runner.noisy(quote, Paid(TEXT, 12)).groups) == 5
    assert (seen[0]["entry"], seen[0]["text"]) == (12, TEXT)


LIES: dict[str, Callable[[dict[str, Any], bytes], tuple[bytes, int, bytes]]] = {
    "another fingerprint": lambda _, content: (NUMBERS, 0, b"0" * 64 + content),
    "another number": lambda asked, content: (NUMBERS, 1, asked["fingerprint"].encode() + content),
    "another kind": lambda _, content: (TOLD, 0, content),
    "a failure": lambda _, __: (FAILED, 0, b""),
    "another question's numbers": lambda asked, content: (NUMBERS, 0, asked["fingerprint"].encode() + content[:-8]),
    "a pickle": lambda asked, _: (NUMBERS, 0, asked["fingerprint"].encode() + pickle.dumps([1, 2, 3])),
}


@pytest.mark.parametrize("lie", LIES)
def test_anything_else_is_one_error_and_the_end_of_the_engine(data, pooled, lie):
    quote = quote_of(data)
    content = packed(quote, numbers(data))
    pool = pooled(lambda asked: LIES[lie](asked, content))
    runner = pool.runner(lambda: data.catalog, data.version)
    with pytest.raises(TimedOut, match="exceeded its limits"):
        runner.noisy(quote, Paid(TEXT, 1))
    assert not pool._lines


def test_facts_and_free_answers_have_a_closed_form(data, pooled):
    said: dict[str, dict[str, Any]] = {
        "size": {"number": 4},
        "free": {"columns": [["n", [1, "a", None, {"decimal": "1.50"}]]], "refused": ""},
    }
    pool = pooled(lambda asked: (TOLD, 0, written(said[asked["ask"]])))
    facts = pool.facts(data.store)
    assert facts.size("wards") == 4
    assert [str(value) for value in facts.answered("SELECT 1", [])[0][1]] == ["1", "a", "None", "1.50"]
    said["free"] = {"columns": [], "refused": "rows"}
    with pytest.raises(TooMuchWork, match="more than 100,000 rows"):
        facts.answered("SELECT 1", [])
    said["free"] = {"columns": [["n", [["a list"]]]], "refused": ""}
    with pytest.raises(StoreUnusable):
        facts.answered("SELECT 1", [])


def test_an_engine_that_read_another_catalog_is_not_used(data, pooled):
    pool = pooled(lambda _: (FAILED, 0, b""))
    other = replace(data.catalog, change="change-one")
    with pytest.raises(TimeoutError):
        pool.take(pricing_of(other), 0.1)
    assert not pool._lines, "it is started again, and reads the catalog anew"


def test_another_version_of_the_data_is_noticed(data, pooled):
    told = []
    pool = pooled(lambda _: (FAILED, 0, b""))
    pool._changed = lambda: told.append(1)
    opened = Answering(data.catalog, data.engine, replace(data.store, version="f" * 32)).handle(ASK, written({"ask": "open"}))
    ours, theirs = socket.socketpair()
    pool.add(ours)
    _, number, _ = receive(theirs, ASK)
    send(theirs, *(opened[0], number, opened[1]))
    for _ in range(6000):
        if told:
            break
        threading.Event().wait(0.01)
    assert told
    theirs.close()


# --- neighbours ----------------------------------------------------------------------------------------------------------------


def test_replies_over_neighbouring_tables_have_one_size(data, tmp_path_factory):
    """What leaves an engine has the same kind and length, whether one person has rows with long texts or none."""
    import duckdb

    sizes = set()
    for rows in (f"* REPLACE (CASE WHEN patient_id = 3 THEN '{200 * 'x'}' ELSE note END AS note)", "*"):
        with served(tmp_path_factory.mktemp("neighbour")) as place:
            folder: Path = place.folder
            dropped = " WHERE patient_id <> 3" if rows == "*" else ""
            duckdb.sql(f"COPY (SELECT {rows} FROM '{folder}/visits.parquet'{dropped}) TO '{folder}/new.parquet'")
            (folder / "new.parquet").rename(folder / "visits.parquet")
            place.data.close()
            prepare(place.data.catalog, accept=True)
            place.data.engine.open()
            engine = Answering(place.data.catalog, place.data.engine, place.data.store)
            replies = [engine.handle(ASK, run(place.data, entry=entry)) for entry in (1, 2)]
            sizes |= {(kind, len(content)) for kind, content in replies}
    assert len(sizes) == 1


# --- clerk and engine agree ------------------------------------------------------------------------------------------------------

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("SELECT COUNT(*) AS n FROM visits", {"epsilon": "0.01"}),
    ("select Ward, count(*) n, avg(cost) from VISITS where cost > 10.5 group by 1 order by n desc limit 3", {"epsilon": "0.01"}),
    ("SELECT ward, SUM(cost) AS cost FROM visits GROUP BY ward", {"epsilon": "0.01", "delta": "1e-9"}),
    ("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis", {"epsilon": "0.01", "delta": "1e-9"}),
    ("SELECT MEDIAN(cost) AS m, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS p FROM visits", {"epsilon": "0.01"}),
    ("SELECT COUNT(*) AS n FROM visits WHERE day > CURRENT_DATE - INTERVAL '400' DAY", {"epsilon": "0.01"}),
    ("SELECT COUNT(*) AS n FROM visits WHERE cost > ? AND ward = ?", {"epsilon": "0.01", "params": [Fraction(21, 2), "north"]}),
    ("SELECT floor, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY floor", {"epsilon": "0.01"}),
    ("SELECT sex, AVG(age) AS age FROM patients GROUP BY sex HAVING COUNT(*) > 3", {"epsilon": "0.01"}),
    ("SELECT sex, COUNT(*) AS n FROM patients GROUP BY ROLLUP (sex)", {"epsilon": "0.01"}),
    ("SELECT COUNT(*) AS n FROM patients", {"error": "20000", "confidence": "0.9", "simultaneous": True}),
    ("SELECT MEDIAN(cost) AS m FROM visits", {"epsilon": "0.01", "interval": False}),
    ("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward", {"epsilon": "0.01", "weights": {"cost": 3}}),
    ('SELECT COUNT(*) AS n, SUM(cost) AS "/*" FROM visits', {"epsilon": "0.01", "weights": {"/*": 3}}),  # comments of SQL nest
    ("SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost", {"epsilon": "0.01", "groups": 10**6}),
    (
        "WITH per AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) SELECT AVG(n) AS n FROM per",
        {"epsilon": "0.01"},
    ),
]


@pytest.mark.parametrize("asked", QUESTIONS, ids=range(len(QUESTIONS)))
def test_an_engine_derives_the_quote_that_was_paid_for(data, answering, asked, monkeypatch):
    """From the text that the ledger records and the request; else a question would be paid for and not run."""
    seen: list[tuple[Quote, Paid]] = []

    def noisy(_: object, quote: Quote, paid: Paid) -> None:
        seen.append((quote, paid))
        raise TimedOut("enough")

    monkeypatch.setattr(type(data.runner), "noisy", noisy)
    text, given = asked
    with pytest.raises(TimedOut):
        Session(data, "ana", clock=lambda: NOW).sql(text, **given)
    data.resume("the test stopped it")
    quote, paid = seen[0]
    request = request_read(json.loads(json.dumps(request_written(quote.request))))
    found = derived(paid.text, request, answering.catalog, answering.public)
    assert fingerprint_of(quote, data.version) in {fingerprint_of(each, data.version) for each in found}


# --- whatever the ledger admits, an engine runs ----------------------------------------------------------------------------------

WIDE = f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE age > {age}) AS n{age}' for age in range(90))} FROM patients"
TEXTS = [text for text, given in QUESTIONS if "params" not in given and "groups" not in given] + [WIDE]
SHARED = {
    "confidence": st.sampled_from(["0.5", "0.9", "0.999"]),
    "simultaneous": st.just(True),
    "interval": st.just(False),
    "groups": st.just(20_000),
}
BY_EPSILON = st.fixed_dictionaries(
    {"epsilon": st.sampled_from(["0.0001", "0.02", "0.3", "2", "8", "9", "50"])},
    optional=SHARED | {"delta": st.sampled_from(["1e-30", "1e-9", "1e-7", "2e-7", "1e-5", "0.001", "0.3"])},
)
BY_ERROR = st.fixed_dictionaries({"error": st.sampled_from(["1", "40", "20000", "1000000"])}, optional=SHARED)
CAPS = st.one_of(
    st.just(Analyst("ana")),
    st.builds(
        Analyst, st.just("ana"), st.sampled_from([None, Budget(Fraction(8), Fraction(1, 10**7)), Budget(Fraction(1), Fraction(0))]),
        st.sampled_from([None, Fraction(3, 10), Fraction(8)]), st.sampled_from([None, Fraction(0), Fraction(1, 10**8)]),
    ),
)  # fmt: skip
SPENT = st.sampled_from([State(), State(Fraction(7), Fraction(1, 100)), State(None, Fraction(1, 2), Fraction(1, 10**9))])


def admitted(data: DataSet, text: str, asked: Request, caps: Admission, spent: State) -> Quote | None:
    """The quote that a ledger under these caps would sell, after these sums."""
    quotes = offered(read(text).statement, asked, data.catalog, data.public, data.version).quotes
    standing = Standing(caps, Sums(spent, spent), caps.analyst("ana"))
    place = standing.admitted(tuple(quote.event for quote in quotes))
    return None if place is None else quotes[place]


def reply_to(data: DataSet, answering: Answering, text: str, quote: Quote) -> bytes:
    """The kind of an engine's reply to a question that was paid for."""
    known = {"text": text, "request": request_written(quote.request), "fingerprint": fingerprint_of(quote, data.version)}
    return answering.handle(ASK, run(data, **known, entry=len(answering.ran)))[0]


def check_that_it_runs(data: DataSet, drawn: tuple[str, dict[str, Any], Analyst, State, Fraction]) -> bool:
    """Whether it was admitted; if so, an engine must run it."""
    text, given, analyst, spent, for_events = drawn
    caps = Admission(replace(policy_of(data.catalog), analysts={"ana": analyst}), for_events)
    try:
        quote = admitted(data, text, request(**given), caps, spent)
    except TacitError:  # refused before it is priced
        return False
    if quote is None:
        return False
    data.engine.open()
    assert reply_to(data, Answering(data.catalog, data.engine, data.store), text, quote) == NUMBERS, drawn
    return True


DRAWN = st.tuples(st.sampled_from(TEXTS), BY_EPSILON | BY_ERROR, CAPS, SPENT, st.sampled_from([Fraction(1, 2), Fraction(1, 100)]))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(DRAWN)
def test_whatever_is_admitted_an_engine_runs(data, drawn):
    check_that_it_runs(data, drawn)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(DRAWN)
def test_whatever_is_admitted_an_engine_runs_in_many_forms(data, drawn):
    check_that_it_runs(data, drawn)


KNOWN = {
    "a delta above the catalog's": (QUESTIONS[2][0], {"epsilon": "0.0005", "delta": "1e-4"}),
    "a delta far above the catalog's": (QUESTIONS[2][0], {"epsilon": "0.0001", "delta": "0.001"}),
    "an epsilon above the catalog's, of many small ones": (WIDE, {"epsilon": "9"}),
}


@pytest.mark.parametrize("known", KNOWN)
def test_what_is_admitted_by_its_price_is_run_whatever_it_states(data, known):
    text, asked = KNOWN[known]
    assert check_that_it_runs(data, (text, asked, Analyst("ana"), State(), Fraction(1, 2)))


@pytest.mark.parametrize("known", KNOWN)
def test_an_engine_that_compares_the_stated_delta_is_caught(data, known, monkeypatch):
    """Planted: the stated epsilon and delta against the budget, as if they were the price."""
    budget = data.catalog.budget
    planted = lambda _, quote: quote.epsilon <= budget.epsilon and quote.delta <= budget.delta  # noqa: E731
    monkeypatch.setattr(Answering, "_is_affordable", planted)
    text, asked = KNOWN[known]
    with pytest.raises(AssertionError):
        check_that_it_runs(data, (text, asked, Analyst("ana"), State(), Fraction(1, 2)))


def test_a_delta_above_the_catalogs_is_answered_by_a_server_as_in_python(data, pooled):
    """Through the till and the pool: no spend without an answer, and no failure."""
    data.engine.open()
    own = Answering(data.catalog, data.engine, data.store)

    def engine(asked: dict[str, Any]) -> tuple[bytes, int, bytes]:
        kind, content = own.handle(ASK, written(asked))
        return kind, 0, content

    behind = DataSet(data.catalog, holder=pooled(engine))
    for place, by in ((behind, "ana"), (data, "bob")):
        found = place.session(by).sql("SELECT ward, SUM(cost) AS cost FROM visits GROUP BY ward", epsilon="0.0005", delta="1e-4")
        assert found.receipt.delta == Fraction(1, 10**4)
    assert behind.ledger.head.number == data.ledger.head.number
    assert not [entry for entry in data.ledger.entries() if entry.kind == "failure" and entry.analyst == "bob"]


def test_an_engine_with_another_budget_is_not_used(data, pooled):
    """Else it could refuse what a clerk that has read a raised budget has sold."""
    budget = replace(data.catalog.budget, epsilon=data.catalog.budget.epsilon * 2)
    with pytest.raises(TimeoutError):
        pooled(lambda _: (FAILED, 0, b"")).take(pricing_of(replace(data.catalog, budget=budget)), 0.1)
