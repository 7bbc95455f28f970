"""Every documented statement, function and option, asked of real processes in their sandboxes: none of them may end one.

The statements are those of the reference. Words that it documents beside them are asked by `BESIDE`, and a word, a request or an
option that is documented and asked nowhere fails a test.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tacit
from served import served
from serving import Server, serving
from tacit.doors.server import models
from tacit.doors.server.sandbox.kernel import KNOWN
from tacit.errors import StoreUnusable

pytestmark = pytest.mark.skipif(not KNOWN, reason="processes are looked up in /proc")

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PAGES = ("sql.md", "joins.md", "parts.md", "results.md")
CRASH = """
import os, tacit.query.binding.patterns as patterns
matching = patterns.matching
patterns.matching = lambda texts, pattern: os.abort() if pattern == {pattern!r} else matching(texts, pattern)
"""
BESIDE = [
    "SELECT COUNT_IF(urgent) AS n, VARIANCE(cost) AS v FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE day < CURRENT_DATE AND day < TODAY() AND day < NOW()::date",
    "SELECT COUNT(*) AS n FROM visits WHERE DATE_ADD(day, INTERVAL 7 DAY) > DATE '2024-01-01'",
    "SELECT COUNT(*) FROM visits WHERE DATE_SUB(day, INTERVAL 7 DAY) > DATE '2021-01-01' AND DATEADD(day, 1, day) IS NULL",
    "SELECT AVG(DATEDIFF(day, DATE '2020-01-01', day)) AS a, AVG(DATE_DIFF(day, DATE '2020-01-01', DAY)) AS b FROM visits",
    "SELECT STRFTIME(day, '%Y-%m-%d %y %j %b %B %a %A %u %G %V %Q %F') AS d, COUNT(*) AS n FROM visits GROUP BY d",
    "SELECT FORMAT_DATE('%Y-%m', day) AS month, COUNT(*) AS n FROM visits GROUP BY month",
    "SELECT DATE_FORMAT(day, '%Y-%m') AS month, COUNT(*) AS n FROM visits GROUP BY month",
    "SELECT TO_CHAR(day, 'YYYY YY MM DD DDD Q IYYY IW Mon Dy FMMonth FMDay') AS d, COUNT(*) AS n FROM visits GROUP BY d",
    "SELECT SUM(IF(urgent, 1, 0)) AS a, SUM(IIF(urgent, 1, 0)) AS b, SUM(CAST(cost AS DECIMAL)) AS c FROM visits",
    "SELECT SUM(IFNULL(pulse, 0)) AS a, SUM(NVL(pulse, 0)) AS b FROM visits",
    "SELECT SUM(ISNULL(pulse, 0)) AS c, SUM(ZEROIFNULL(pulse)) AS d FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE REGEXP_CONTAINS(ward, 'o.t') AND ward RLIKE 'n.*'",
    "SELECT COUNT(*) AS n FROM visits WHERE kind ~* '^PLANNED|emer' AND kind !~ 'x'",
    "SELECT ward, COUNT(*) AS n, DENSE_RANK() OVER (ORDER BY COUNT(*)) AS a, LEAD(COUNT(*)) OVER (ORDER BY ward) AS b"
    ", FIRST_VALUE(COUNT(*)) OVER (ORDER BY ward) AS c, LAST_VALUE(COUNT(*)) OVER (ORDER BY ward) AS d FROM visits GROUP BY ward",
    "SELECT CAST(AVG(cost) AS INTEGER) AS n FROM visits",
    "SELECT * FROM wards WHERE beds > 30 ORDER BY beds DESC",
    "SELECT UPPER(ward) AS w, STRFTIME(opened, '%B') AS m, MEDIAN(beds) AS b FROM wards WHERE ward ~ 'o' GROUP BY ALL ORDER BY w",
    "SELECT DISTINCT ward FROM visits",
    "SELECT VERSION() AS v, TO_DATE('31.01.2024', 'DD.MM.YYYY') AS a, PARSE_DATE('%d.%m.%Y', '31.01.2024') AS b",
    "SELECT CAST(DATE '2024-01-31' AS TIMESTAMP) AS day, CURRENT_DATE - INTERVAL 1 MONTH AS since",
    "EXPLAIN SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "DESCRIBE visits",
    "DESCRIBE wards",
    "SHOW TABLES",
]  # fmt: skip
NOT_ASKED = {"NATURAL", "POST"}  # documented as refused; a method of HTTP
OPTIONS: dict[str, dict[str, Any]] = {
    "sql": {},
    "params": {"sql": "SELECT COUNT(*) AS n FROM visits WHERE ward = :w AND cost > :c", "params": {"w": "north", "c": 12.5}},
    "epsilon": {"epsilon": "0.0002"},
    "delta": {"delta": "1e-9"},
    "error": {"epsilon": None, "error": "90000", "sql": "SELECT COUNT(*) AS n FROM visits"},
    "confidence": {"confidence": "0.9"},
    "simultaneous": {"simultaneous": True},
    "interval": {"interval": False, "sql": "SELECT MEDIAN(cost) AS m FROM visits"},
    "weights": {"weights": {"n": "2"}},
    "loss": {"loss": "largest"},
    "groups": {"groups": 20_000},
    "fresh": {"fresh": True, "sql": "SELECT COUNT(*) AS n FROM visits"},
}
STREAM = {"sql": "SELECT COUNT(*) AS n FROM visits WHERE day <= :last", "through": "2020-03", "horizon": 12}
STREAM |= {"epsilon": "0.01", "delta": "1e-9"}
NEEDS_PERIODS = {"/v1/streams", "/v1/streams/explain"}  # test_periods.py asks them of a real server whose budget has periods
PLAIN = "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ward"


@dataclass(frozen=True, slots=True)
class Said:
    """A statement of the reference, and the code of its refusal, if it is shown as one that is refused."""

    text: str
    code: str = ""


def statements() -> list[Said]:
    """Every statement of the reference, and those beside it."""
    found = []
    for page in PAGES:
        text = (REFERENCE / page).read_text("utf-8")
        for title, block in re.findall(r"^```(sql|sql refused)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for line in filter(str.strip, block.splitlines()):
                said, _, note = line.partition("-- ")
                found.append(Said(said.strip().rstrip(";"), note.strip() if title == "sql refused" else ""))
    return [*found, *map(Said, BESIDE)]


def documented_words() -> set[str]:
    """The words of SQL in the sentences of the reference."""
    found: set[str] = set()
    for page in PAGES:
        prose = re.sub(r"^```.*?^```$", "", (REFERENCE / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for code in re.findall(r"`([^`\n]+)`", prose):
            found |= set(re.findall(r"[A-Z][A-Z_0-9]+(?![a-z])", code))
    return found


def test_every_documented_word_is_asked():
    asked = " ".join(said.text for said in statements()).upper()
    assert {word for word in documented_words() if not re.search(rf"\b{word}", asked)} - NOT_ASKED == set()
    assert len([said for said in statements() if not said.code]) > 100


def test_every_option_is_asked():
    assert OPTIONS.keys() == models.Asked.model_fields.keys()


# --- the server ------------------------------------------------------------------------------------------------------------------


@contextmanager
def running(folder: Path, planted: str = "") -> Iterator[Server]:
    """A server of the hospital; a curator decides on what costs more than everything that is asked here."""
    with served(folder) as place:
        tokens = place.tokens
    file = folder / "tacit.toml"
    file.write_text(re.sub(r"(\[budget\].*)", r"\1\napprove_above = 0.3", file.read_text("utf-8"), count=1), "utf-8")
    with serving(folder, tokens, engines=2, planted=planted) as server:
        server.wait_until_ready()
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One pattern, which nothing else asks for, is planted to end whichever process matches it."""
    with running(tmp_path_factory.mktemp("reference"), CRASH.format(pattern="^no")) as server:
        yield server


def replied(server: Server, method: str, path: str, by: str = "", body: Any = None) -> Any:
    """Status, headers and body of a reply; whoever is beyond the rate of an account waits."""
    while (reply := server.request(method, path, by, body))[0] == 429:
        time.sleep(0.2)
    return reply


def sent(server: Server, path: str, body: dict[str, Any], by: str = "ana") -> tuple[int, Any]:
    """The status and the code of a reply, or what it says."""
    status, headers, told = replied(server, "POST", path, by, body)
    plain = json.loads(told) if told and "json" in headers.get("content-type", "") else None
    return status, plain["error"]["code"] if plain and "error" in plain else plain


def patiently(ask: Callable[[], Any]) -> Any:
    """What a client is answered; where the account is beyond its rate, a little later."""
    while True:
        try:
            return ask()
        except StoreUnusable as error:
            if "too many requests" not in str(error):
                raise
            time.sleep(0.2)


def unexpected(server: Server, path: str, said: Said, by: str = "ana") -> list[Any]:
    """What is wrong with the reply to a statement; nothing if it is the documented one."""
    body = {"sql": said.text} | ({} if "OPTIONS (" in said.text else {"epsilon": "0.0002"})
    status, told = sent(server, path, body, by)
    if (status, told, said.code) == (422, "no_budget", ""):  # a list of private keys
        status, told = sent(server, path, body | {"delta": "1e-9"}, by)
    fine = status == 200 if not said.code else told == said.code
    if said.code == "too_many_groups" and path == "/v1/explain":  # which is free, so that it takes any number
        fine = status in (200, 422)
    return [] if fine else [(path, said.text, status, told)]


@contextmanager
def nothing_ends(server: Server) -> Iterator[None]:
    """No process ends inside, and nothing that nobody foresaw happens."""
    before, log = server.parts(), server.folder / ".tacit" / "log"
    lines = sorted(file.read_text() for file in log.glob("*"))
    yield
    assert server.parts() == before
    assert sorted(file.read_text() for file in log.glob("*")) == lines


def ask_all(server: Server, path: str, at_once: int = 1) -> list[Any]:
    """Every statement in order, or from several threads and both analysts at once; returns what was not as documented."""
    with ThreadPoolExecutor(at_once) as pool:
        jobs = [
            pool.submit(unexpected, server, path, said, "ana" if number % 2 or at_once == 1 else "bob")
            for number, said in enumerate(statements())
        ]
        return [wrong for job in jobs for wrong in job.result()]


def test_every_statement_is_explained_by_an_idle_server(server):
    with nothing_ends(server):
        assert ask_all(server, "/v1/explain") == []


def test_every_statement_is_answered_by_a_loaded_server(server):
    with nothing_ends(server):
        assert ask_all(server, "/v1/questions", at_once=6) == []


@pytest.mark.slow
def test_every_statement_is_answered_by_an_idle_server_and_explained_by_a_loaded_one(tmp_path):
    with running(tmp_path) as server, nothing_ends(server):
        assert ask_all(server, "/v1/questions") == []
        assert ask_all(server, "/v1/explain", at_once=6) == []


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_understood(server, name):
    body = {"sql": PLAIN, "epsilon": "0.0001"} | OPTIONS[name]
    body = {key: value for key, value in body.items() if value is not None}
    with nothing_ends(server):
        for path in ("/v1/questions", "/v1/explain"):
            given = {key: value for key, value in body.items() if path == "/v1/questions" or key in models.Explained.model_fields}
            assert sent(server, path, given)[0] == 200


def test_every_other_request_is_replied_to(server):
    """Each path of the document with its method, and each form of an answer."""
    paths = json.loads(server.request("GET", "/v1/openapi.json")[2])["paths"]
    entry = sent(server, "/v1/questions", {"sql": PLAIN, "epsilon": "0.0003"})[1]["entry"]
    sent_elsewhere = {"/v1/questions", "/v1/explain", "/v1/token", "/v1/accounts", "/v1/tokens", "/v1/revocations"}
    bodies: dict[str, Any] = {"/v1/caps": {"name": "bob"}, "/v1/limits": {"seconds": 60}, "/v1/resume": {"reason": "a test"}}
    bodies |= {"/v1/token/revocations": {}, **dict.fromkeys(NEEDS_PERIODS, STREAM)}
    bodies |= {"/v1/waiting/withdrawals": {"number": 1}, "/v1/approvals": {"name": "ana", "number": 2, "decision": "refused"}}
    with nothing_ends(server):
        for dear in ("0.4", "0.5"):
            assert sent(server, "/v1/questions", {"sql": PLAIN, "epsilon": dear}) == (409, "needs_approval")
        for path, methods in paths.items():
            for method in methods:
                if method == "post" and path in sent_elsewhere:
                    continue
                place = path.replace("{entry}", str(entry))
                replies = {replied(server, method.upper(), place, by, bodies.get(path))[0] for by in ("ana", "cara", "otto", "")}
                if path in NEEDS_PERIODS:
                    assert sent(server, path, STREAM) == (422, "not_allowed")
                else:
                    assert 200 in replies, (method, path)
                assert not {0, 503, 504} & replies, (method, path)
        for form in ("json", "csv", "arrow", "svg", "exact"):
            assert replied(server, "GET", f"/v1/answers/{entry}?form={form}", "ana")[0] == 200
        assert sent(server, "/v1/accounts", {"name": "dan", "role": "auditor"}, "cara")[0] == 200
        assert sent(server, "/v1/tokens", {"name": "dan"}, "cara")[0] == 200
        assert sent(server, "/v1/revocations", {"name": "dan"}, "cara")[0] == 200


def test_the_python_client_is_answered(server):
    """Which asks for the exact form."""
    with nothing_ends(server), tacit.connect(f"http://127.0.0.1:{server.port}", token=server.tokens["ana"]) as ana:
        found = patiently(lambda: ana.sql(PLAIN, epsilon="0.0004"))
        assert len(found) == len(patiently(lambda: ana.answer(found.receipt.entry))) == 5
        assert patiently(lambda: ana.explain(PLAIN, epsilon="0.0004"))
        assert patiently(ana.budget)
        assert patiently(lambda: ana.history(last=1))


# --- a request that ends a process ---------------------------------------------------------------------------------------------


def test_a_request_that_ends_the_clerk_twice_is_refused_until_the_curator_looks(server):
    """The planted pattern: the checks above would see it, and the third request is refused. The last one on this server."""
    question = "SELECT COUNT(*) AS n FROM visits WHERE ward ~ '^no'"
    for _ in range(2):
        with pytest.raises(AssertionError), nothing_ends(server):
            assert unexpected(server, "/v1/explain", Said(question)) == []
        server.wait_until_ready()
    clerk = server.parts()["clerk"]
    for path in ("/v1/explain", "/v1/questions"):
        assert sent(server, path, {"sql": f" {question}\n", "epsilon": "0.3"}, "ana") == (409, "too_many_failures")
    assert sent(server, "/v1/explain", {"sql": question.replace("^no", "^so")})[0] == 200
    assert server.parts()["clerk"] == clerk
    log = json.loads(server.request("GET", "/v1/log", "cara")[2])["lines"]
    assert sum("of 'ana' ended the clerk" in line for line in log) == 2
    assert not [line for line in log if "^no" in line], "the log has fingerprints, and no question"
    assert sent(server, "/v1/explain", {"sql": question}, "bob")[0] in (0, 503), "it is refused to nobody else"
    server.wait_until_ready()
    assert server.request("POST", "/v1/resume", "cara", {"reason": "looked"})[0] == 200
    assert sent(server, "/v1/explain", {"sql": question})[0] in (0, 503), "it ends the clerk again"
